# A node gives away disk in proportion to its memory: the real daemon on a node of 16 GiB whose disk
# is larger than what a lean class may have of it.

setup_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  start_cluster
  make_class lean 'onDelete: none' 'diskPerRam: "0.05"' -- 'allowVolumeExpansion: true'
  make_node worker 8G
  start_daemon worker
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  stop_cluster
}

setup() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  make_claim data 512Mi lean
  eventually 30 claim_is data Bound
}

teardown() {
  for claim in data other; do
    delete_claim "$claim"
    eventually 30 is_gone pvc "$claim"
  done
  eventually 30 no_volumes
}

# As kubelet would write it after the machine got another memory.
have_memory() {
  kubectl get node worker -o json | jq --arg memory "$1" '.status.capacity.memory = $memory' |
    kubectl replace --raw /api/v1/nodes/worker/status -f -
}

lease_says() {
  kubectl -n flexlocal-nodes get lease node-worker -o json |
    jq -en "input | .metadata.annotations[\"flexlocal.io/budget\"] | fromjson | $1"
}


@test "a node whose RAM budget is smaller than its disk stops at the budget, and the event says so" {
  make_claim other 400Mi lean
  eventually 30 event_says pvc/other ProvisioningFailed \
    'no room on node worker: pool "default" has 184.31 MiB left of its RAM budget of 696.31 MiB (16 GiB of RAM x 0.85 x 0.05), 400 MiB asked; another node is looked for'
  claim_is other Pending
  # What a volume gives back is there for the next one.
  delete_claim data
  eventually 90 claim_is other Bound
}

@test "volumes of all classes count, and a class with more disk for its RAM has more left" {
  make_claim other 1Gi flexlocal
  eventually 30 claim_is other Bound
  eventually 30 lease_says '.memory == 17179869184 and .ramFraction == "0.85" and .diskPerRam == "32"
    and .pools.default == {budget: 467292441804, used: 1610612736, free: 465681829068}'
}

@test "the table for people has a line for the node, and says what ends first" {
  make_claim other 1Gi flexlocal
  eventually 30 claim_is other Bound
  eventually 30 lease_says '.pools.default.used == 1610612736'
  run "$provisioner" budget --kubeconfig="$KUBECONFIG"
  [ "$status" = 0 ]
  [ "${lines[0]}" = 'NODE    POOL     BACKEND  BUDGET    USED     FREE      LIMIT' ]
  [ "${lines[1]}" = 'worker  default  lvm      7.99 GiB  1.5 GiB  6.49 GiB  disk' ]
  [ "${#lines[@]}" = 2 ]
  run "$provisioner" budget --kubeconfig="$work/none"
  [ "$status" = 1 ]
  [[ $output == *"$work/none"* ]]
}

@test "growth keeps within the budget, and goes on when the node has more memory" {
  volume=$(volume_of data)
  # An agent grows what is made.
  stop_daemons worker
  make_data worker "$volume"
  start_daemon worker
  kubectl patch pvc data -p '{"spec":{"resources":{"requests":{"storage":"700Mi"}}}}'
  eventually 30 event_says pvc/data VolumeResizeFailed \
    'from 512 MiB to 700 MiB on node worker: pool "default" has 696.31 MiB left of its RAM budget'
  [ "$(kubectl get pvc data -o 'jsonpath={.status.capacity.storage}')" = 512Mi ]
  have_memory 32Gi
  # At once: with the next look at the disks it would take a minute.
  eventually 15 has_grown "$volume"
}
has_grown() {
  [ "$("$work/worker/lvs" --noheadings --units m --nosuffix -o lv_size "worker/$1" | tr -d ' ')" = 700.00 ]
}

# A claim of 400Mi, and a pod with that memory that uses it.
make_sized() {
  make_claim sized 400Mi sized
  kubectl delete pod sized --grace-period=0 --force
  kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: sized}
spec:
  containers: [{name: c, image: none, resources: {requests: {memory: $1}}}]
  initContainers: [{name: i, image: none, resources: {requests: {memory: 1Mi}}}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: sized}}]
END
}

@test "a class may take its volumes' sizes from the pods' memory, once the daemon may read pods" {
  make_class sized 'onDelete: none' 'diskPerRam: "2"' 'sizeFrom: podMemory'
  make_sized 512Mi
  eventually 30 event_says pvc/sized ProvisioningFailed \
    'sizeFrom podMemory needs leave to read pods, which this daemon does not have: kubectl apply -f read-pods.yaml of the folder'
  kubectl apply -f "$installation/read-pods.yaml"
  eventually 60 claim_is sized Bound
  [ "$(kubectl get pvc sized -o 'jsonpath={.status.capacity.storage}')" = 1Gi ]
  delete_claim sized
  eventually 30 is_gone pvc sized
}

@test "nothing else that the daemon asked for was forbidden" {
  nothing_forbidden pods # which it may not read before the test that gives it leave
}
