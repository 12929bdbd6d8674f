# The cluster role: real daemons against a real control plane, with the shipped RBAC. Two daemons
# stand for election; they have ServiceAccounts of their own with the same rights, so that the audit
# log tells them apart.

setup_file() {
  . "$BATS_TEST_DIRNAME/leaders.bash"
  export leader=first
  start_cluster
  second_account
  eventually 30 account_kubeconfig flexlocal-cluster first
  eventually 30 account_kubeconfig flexlocal-cluster-2 second
  make_node worker 4G
  start_daemon worker
  start_leader first
  lead_by first
  start_leader second
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  stop_cluster
}

setup() {
  . "$BATS_TEST_DIRNAME/leaders.bash"
}

# start_leader NAME [FLAG...]
start_leader() {
  start_cluster_daemon "$@" --node-lost-after=5s --node-delete-policy=delete --node-delete-grace=5s
}

# chosen NAME NODE: a claim that waits for NODE, as the scheduler would have chosen it.
chosen() {
  kubectl apply -f - <<END
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: $1, annotations: {volume.kubernetes.io/selected-node: $2}}
spec:
  storageClassName: flexlocal
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 512Mi}}
END
}
no_choice() { [ -z "$(kubectl get pvc "$1" -o 'jsonpath={.metadata.annotations.volume\.kubernetes\.io/selected-node}')" ]; }

# writes_of ACCOUNT [SINCE]: what it changed of anything but Leases, that was not refused.
writes_of() {
  jq -r --arg user "system:serviceaccount:flexlocal-system:$1" --arg since "${2:-}" 'select(
    .user.username == $user and (.verb | IN("create", "update", "patch", "delete"))
    and .objectRef.resource != "leases" and .requestReceivedTimestamp >= $since)
    | "\(.requestReceivedTimestamp) \(.verb) \(.requestURI)"' "$work/cluster/audit.log"
}
# took_over ACCOUNT SINCE: when it wrote the leader's Lease for the first time since then.
took_over() {
  jq -r --arg user "system:serviceaccount:flexlocal-system:$1" --arg since "$2" 'select(
    .user.username == $user and .verb == "update" and .responseStatus.code == 200
    and .objectRef.resource == "leases" and .requestReceivedTimestamp >= $since) | .requestReceivedTimestamp' \
    "$work/cluster/audit.log" | head -n 1
}

heartbeat_says() {
  kubectl -n flexlocal-nodes get lease "node-$1" -o json | jq -en "input | $2"
}

@test "the node daemon's Lease says version, readiness and room, and belongs to the Node" {
  version=$("$provisioner" --version)
  eventually 20 heartbeat_says worker '.metadata.annotations["flexlocal.io/ready"] == "true"'
  heartbeat_says worker ".metadata.annotations[\"flexlocal.io/version\"] == \"${version#* }\"
    and .spec.holderIdentity != \"\" and .spec.leaseDurationSeconds == 60
    and (.metadata.annotations[\"flexlocal.io/pools\"] | fromjson | .default.lvm.free > 4000000000)
    and .metadata.ownerReferences[0].uid == \"$(kubectl get node worker -o 'jsonpath={.metadata.uid}')\""
  renewed=$(kubectl -n flexlocal-nodes get lease node-worker -o 'jsonpath={.spec.renewTime}')
  eventually 40 heartbeat_says worker ".spec.renewTime > \"$renewed\""
}

# writes_in NAMESPACE: what a node's token may write there, and the kinds that everybody may ask by: VERB
# GROUP/RESOURCE.
writes_in() {
  jq -n --arg namespace "$1" '{apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", spec: {namespace: $namespace}}' |
    kubectl create --validate=false --as="$node_daemon" -o json -f - |
    jq -r '.status.resourceRules[] | .apiGroups[] as $group | .resources[] as $resource | .verbs[]
      | select(IN("get", "list", "watch") | not) | "\(.) \($group)/\($resource)"' | sort -u
}

@test "a node's token has no right on the leader's Lease, and writes Leases in their own namespace, and nothing else there" {
  node_daemon=system:serviceaccount:flexlocal-system:flexlocal-node
  for verb in get list watch create update patch delete; do
    run kubectl auth can-i "$verb" leases/flexlocal-cluster -n flexlocal-system --as="$node_daemon"
    [ "${lines[-1]}" = no ]
  done
  everywhere=$(writes_in default)
  [[ $everywhere == *'create /events'* ]]
  [[ $everywhere != *leases* ]]
  [ "$(comm -13 <(echo "$everywhere") <(writes_in flexlocal-nodes))" = $'create coordination.k8s.io/leases\nupdate coordination.k8s.io/leases' ]
  rooms=$(is_central || printf '%s storage.k8s.io/csistoragecapacities\n' create patch)
  [ "$(comm -13 <(echo "$everywhere") <(writes_in flexlocal-system))" = "$rooms" ]
}

label_is() {
  [ "$(kubectl get node worker -o 'jsonpath={.metadata.labels.flexlocal\.io/ready}')" = "$1" ]
}

@test "a node daemon that cannot make volumes says why in its Lease, and its Node has the label" {
  eventually 20 label_is true
  touch "$work/worker/broken"
  stop_processes "$work" worker
  start_daemon worker
  eventually 20 heartbeat_says worker '.metadata.annotations["flexlocal.io/ready"] == "false"
    and (.metadata.annotations["flexlocal.io/reason"] | contains("disk on fire"))'
  eventually 20 label_is false
  rm "$work/worker/broken"
  stop_processes "$work" worker
  start_daemon worker
  eventually 20 heartbeat_says worker '.metadata.annotations["flexlocal.io/ready"] == "true"
    and (.metadata.annotations["flexlocal.io/reason"] == null)'
  eventually 20 label_is true
}

@test "a claim whose selected node is gone goes back to the scheduler, and says so" {
  chosen ghost nowhere
  eventually 30 no_choice ghost
  eventually 10 event_says pvc/ghost ProvisioningFailed "node nowhere is gone; another node is looked for"
  # The same again is the same event, which counts.
  kubectl annotate pvc ghost volume.kubernetes.io/selected-node=nowhere
  eventually 30 told_twice ghost
  eventually 30 no_choice ghost
  kubectl delete pvc ghost
}

told_twice() {
  kubectl get events -o json |
    jq -en --arg name "$1" 'input | any(.items[]; .involvedObject.name == $name and .reason == "ProvisioningFailed" and .count == 2)'
}

@test "a claim whose selected node is not Ready for long goes back" {
  "$BATS_TEST_DIRNAME/../lab/control-plane" node "$work/cluster" tired 16Gi
  kubectl proxy --port=0 >"$work/proxy" 3>&- &
  proxy=$!
  eventually 10 grep -q 'Starting to serve' "$work/proxy"
  curl -sS --fail -o "$work/last" -X PATCH -H 'Content-Type: application/strategic-merge-patch+json' \
    "http://$(grep -oE '127.0.0.1:[0-9]+' "$work/proxy")/api/v1/nodes/tired/status" \
    -d '{"status":{"conditions":[{"type":"Ready","status":"False","reason":"Lab"}]}}'
  kill "$proxy"
  chosen sleepy tired
  eventually 40 no_choice sleepy
  eventually 10 event_says pvc/sleepy ProvisioningFailed "node tired has not been Ready for"
  kubectl delete pvc sleepy
  kubectl delete node tired
}

@test "when no node has room the claim says for each reason how many nodes" {
  "$BATS_TEST_DIRNAME/../lab/control-plane" node "$work/cluster" bare 16Gi
  kubectl cordon bare
  make_claim large 100Gi
  eventually 90 event_says pvc/large ProvisioningFailed '0 of 2 nodes have 100Gi in pool "default" for backend lvm: 1 no node daemon, 1 pool full'
  delete_claim large
  make_class thrifty 'diskPerRam: "0.001"'
  make_claim thrifty 512Mi thrifty
  eventually 90 event_says pvc/thrifty ProvisioningFailed '0 of 2 nodes have 512Mi in pool "default" for backend lvm: 1 no node daemon, 1 RAM budget'
  delete_claim thrifty
  kubectl delete node bare
}

@test "a leader that was killed is followed by the other, which goes on with the work" {
  leads first
  since=$(now)
  kill_daemon first
  chosen ghost nowhere
  lead_by second
  eventually 30 no_choice ghost
  [ -n "$(took_over flexlocal-cluster-2 "$since")" ]
  kubectl delete pvc ghost
  start_leader first
  eventually 20 grep -q 'msg="another leads"' "$work/log/first.log"
}

@test "a leader that stood still writes nothing once another leads" {
  leads second
  chosen before nowhere
  eventually 30 no_choice before
  [ -n "$(writes_of flexlocal-cluster-2)" ]
  since=$(now)
  kill -STOP "$(process_id "$work" second)"
  # What it would do next is waiting for it when it comes back.
  chosen during nowhere
  lead_by first
  eventually 30 no_choice during
  kill -CONT "$(process_id "$work" second)"
  chosen after nowhere
  eventually 30 no_choice after
  eventually 20 grep -q 'msg="no longer leading"' "$work/log/second.log"
  taken=$(took_over flexlocal-cluster "$since")
  [ -n "$taken" ]
  writes_of flexlocal-cluster-2 "$taken" >"$work/late"
  cat "$work/late"
  [ ! -s "$work/late" ]
  kubectl delete pvc before during after
}

@test "a leader that is told to end gives the Lease back, and the other leads at once" {
  leads first
  stop_processes "$work" first
  grep -q 'msg="lease given back"' "$work/log/first.log"
  eventually 5 leads second
  start_leader first
}

@test "a claim whose node daemon died goes back to the scheduler" {
  chosen served worker
  eventually 30 claim_is served Bound
  kill_daemon worker
  chosen stuck worker
  eventually 90 no_choice stuck
  why='the flexlocal daemon of node worker has given no sign of life for'
  ! is_central || why='the node daemon of node worker has not answered for 10 s'
  eventually 10 event_says pvc/stuck ProvisioningFailed "$why"
  eventually 30 label_is false
  kubectl delete pvc stuck
}

@test "a volume of a deleted node is told of, and goes only once its claim is gone" {
  volume=$(volume_of served)
  kubectl delete node worker
  eventually 60 event_says pvc/served NodeDeleted "node worker was deleted, and the data of volume $volume is on its disks"
  claim_is served Bound
  kubectl delete pvc served
  eventually 60 is_gone pv "$volume"
  eventually 60 is_gone -n flexlocal-nodes lease node-worker
}

@test "a single daemon can work without an election" {
  stop_processes "$work" first
  stop_processes "$work" second
  start_leader first --leader-election=false
  chosen ghost nowhere
  eventually 30 no_choice ghost
  kubectl delete pvc ghost
}

@test "nothing that the daemons asked for was forbidden" {
  nothing_forbidden none
}
