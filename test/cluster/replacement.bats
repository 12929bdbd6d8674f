# What a node promised and cannot make, before any pod had it: the volume gets another node, under the
# same claim.

# shellcheck disable=SC2016,SC2119 # jq's variables, and functions whose arguments may be left out
setup_file() {
  . "$BATS_TEST_DIRNAME/central.bash"
  start_cluster
  kubectl apply -f "$installation/read-pods.yaml"
  start_two_nodes
  for node in one two; do begin_anew "$node"; done
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/central.bash"
  stop_cluster
}

setup() { . "$BATS_TEST_DIRNAME/central.bash"; }

teardown() {
  local node
  process_id "$work" leader || start_leader
  # Each test finds both nodes with all their room, and told so.
  for node in one two; do
    go_on "$node" || true
    "$work/$node/lvremove" -qq -f "$node/filler" 2>/dev/null || true
    begin_anew "$node"
  done
  kubectl delete pods --all --grace-period=0 --force
  kubectl delete pvc --all --wait=false
  eventually 90 no_volumes
  eventually 90 no_records
  for node in one two; do eventually 60 told "$node" '. == "4092Mi"'; done
  kubectl delete events --all
}

# fill NODE: somebody takes all that its volume group has left.
fill() { "$work/$1/lvcreate" -qq -an -Zn -Wn -n filler -l 100%FREE "$1"; }

# Without a device-mapper nobody tells an agent of it; one that begins looks.
begin_anew() {
  stop_processes "$work" "$1"
  start_agent "$1" --give-up-promises
}
has_no_room() { told "$1" '. == "0"'; }

# promise NAME: a claim and its pod; the volume is promised, and cannot be made. Sets what find_volume
# does, and other, the node that has it not.
promise() {
  make_claim "$1"
  eventually 60 claim_is "$1" Bound
  find_volume "$1"
  [ "$node" = one ] && other=two || other=one
  eventually 30 reasons NotMade 'no volumes today'
}

# is_replaced CLAIM: its PersistentVolume is of the other node, and of another copy.
is_replaced() {
  claim_is "$1" Bound && kubectl get pv "$volume" -o json | jq -en --arg other "$other" --arg id "$id" --arg uid "$uid" '
    input | .metadata.labels["flexlocal.io/node"] == $other and .spec.claimRef.uid == $uid
    and .metadata.deletionTimestamp == null and .status.phase == "Bound"
    and .spec.flexVolume.options["flexlocal.io/copy"] != $id
    and .spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].values == [$other]'
}

@test "a promise that cannot be kept goes to another node, and the pod that waits is named" {
  promise data
  eventually 60 pod_is_on data "$node"
  fill "$node"
  eventually 60 event_says pvc/data PromiseGivenUp "node $node cannot make the volume that it promised"
  eventually 60 is_replaced data
  eventually 30 event_says pvc/data VolumeReplaced "volume $volume is on node $other now; delete pod data"
  eventually 30 is_state Removed "$copy"
  [ ! -e "$record" ]
  jq -en --arg uid "$uid" 'input | .claimUID == $uid' "$work/$other/state/volumes/$volume"
  # The pod has its place where the volume is, once it is made again; and what it writes stays.
  kubectl delete pod data --grace-period=0 --force
  make_pod data
  eventually 60 pod_is_on data "$other"
  eventually 90 is_gone volumecopy "$copy"
  find_volume data
  make_data "$other" "$volume"
  eventually 60 is_state Ready
  lv_exists "$other" "$volume"
}

@test "it does so also where the leader is killed with the PersistentVolume gone" {
  promise data
  # Nothing is answered there before the leader is gone.
  pause "$other"
  fill "$node"
  eventually 60 says '.spec.desiredState == "Withdrawn" and .metadata.annotations["flexlocal.io/given-up"] == "true"'
  eventually 60 copies_of data 'length == 2'
  kill_daemon leader
  kubectl delete pv "$volume" --wait=false
  kubectl patch pv "$volume" -p '{"metadata": {"finalizers": null}}'
  eventually 60 claim_is data Lost
  go_on "$other"
  start_leader
  eventually 90 is_replaced data
  copies_of data 'map(select(.spec.desiredState == "Serving")) | length == 1'
}

@test "where no other node has room the claim says so, and goes when there is some" {
  promise data
  fill "$other"
  begin_anew "$other"
  eventually 60 has_no_room "$other"
  fill "$node"
  eventually 60 event_says pvc/data PromiseGivenUp 'no other node has room for it now'
  claim_is data Bound
  copies_of data 'length == 1'
  "$work/$other/lvremove" -qq -f "$other/filler"
  begin_anew "$other"
  eventually 90 is_replaced data
}

@test "a claim that is deleted meanwhile leaves nothing" {
  promise data
  pause "$other"
  fill "$node"
  eventually 60 copies_of data 'length == 2'
  delete_claim data
  eventually 60 is_gone pv "$volume"
  go_on "$other"
  eventually 90 has_no_copies
  no_records
}

# Of the volume that was found last.
has_no_copies() {
  local left
  left=$(kubectl get volumecopies -o json | jq --arg volume "$volume" '[.items[] | select(.spec.volume == $volume)] | length')
  [ "$left" = 0 ]
}

@test "leader and agents need no other rights than they have" {
  nothing_forbidden none
}
