# etcd is put back to a backup: what was made since is on the nodes' disks, and the API server does not
# know of it. No volume that holds data is covered by an empty one, and none is removed.

# shellcheck disable=SC2119 # functions whose arguments may be left out
setup_file() {
  . "$BATS_TEST_DIRNAME/put-back.bash"
  start_cluster
  start_two_nodes
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/put-back.bash"
  stop_cluster
}

setup() {
  . "$BATS_TEST_DIRNAME/put-back.bash"
  . "$BATS_TEST_DIRNAME/../lab/documents.bash"
}

teardown() {
  for daemon in one two leader; do
    process_id "$work" "$daemon" || case $daemon in leader) start_leader ;; *) start_agent "$daemon" ;; esac
  done
  kubectl uncordon one two
  kubectl label nodes one two flexlocal.io/roll-call-
  kubectl delete pods --all --grace-period=0 --force
  kubectl delete pvc --all --wait=false
  give_up_retained
  eventually 90 no_volumes
  eventually 90 no_records
  kubectl delete events --all
}

# The etcd's revisions: given a second time, or none of them.
has_its_volume_again() {
  local revisions=$1
  make_waiting_claim data
  back_up
  make_pod data
  eventually 60 claim_is data Bound
  find_volume data
  make_ready "$node"
  put_back one two
  claim_is data Pending
  no_volumes
  make_pod data
  eventually 90 claim_is data Bound
  copies_of data 'length == 1 and .[0].spec.origin == "Existing"'
  [ "$(copy_of_volume "$volume")" = "$copy" ]
  kubectl get pv "$volume" -o json | jq -en --arg id "$id" 'input | .spec.flexVolume.options["flexlocal.io/copy"] == $id'
  [ "$(records | jq -s length)" = 1 ]
}
@test "a claim whose volume was made after the backup has that volume again" { has_its_volume_again ''; }
@test "also when etcd gives no revision twice (--bump-revision)" { has_its_volume_again bumped; }

@test "a leader that saw nothing of it keeps the volume until a person chooses" {
  make_waiting_claim data
  back_up
  make_pod data
  eventually 60 claim_is data Bound
  find_volume data
  kill_daemon leader
  put_back one two
  start_leader
  make_pod data
  eventually 90 event_says pvc/data VolumeRetained 'retained, and no other is made beside it'
  says '.spec.desiredState == "Retained" and .spec.origin == "Existing"'
  claim_is data Pending
  [ "$(records | jq -s length)" = 1 ]
  choose "$copy" Serving
  eventually 60 claim_is data Bound
  [ "$(copy_of_volume "$volume")" = "$copy" ]
}

@test "a claim that was made after the backup, and is made anew by its name, gets no empty volume" {
  back_up
  make_claim data
  eventually 60 claim_is data Bound
  find_volume data
  make_ready "$node"
  put_back one two
  is_gone pvc data
  is_gone volumecopy "$copy"
  make_claim data
  eventually 90 event_says pvc/data VolumeRetained 'has the volume of an earlier claim of this name'
  [ "$(copy_holding data)" = "$copy" ]
  says '.spec.desiredState == "Retained"'
  claim_is data Pending
  lv_exists "$node" "$volume"
  choose "$copy" Removed
  eventually 90 claim_is data Bound
  [ "$(volume_of data)" != "$volume" ]
  eventually 30 lv_is_gone "$node" "$volume"
}

@test "before a node that is silent was heard nothing new is made, unless a person says so" {
  back_up
  await_beats
  stop_processes "$work" two
  "$BATS_TEST_DIRNAME/../lab/control-plane" put-back "$work/cluster"
  eventually 60 has_ended one
  start_agent one
  kubectl cordon two
  make_claim data
  eventually 90 event_says pvc/data WaitingForNodes 'node two gives no sign of life'
  claim_is data Pending
  no_volumes
  # The event names the command of operating.md.
  command=$(in_sentence operating.md 'kubectl label node')
  command=${command/NODE/two}
  eventually 90 event_says pvc/data WaitingForNodes "$command"
  bash -ec "$command"
  eventually 60 claim_is data Bound
}

@test "a node whose Lease the backup has not is waited for" {
  make_waiting_claim data
  back_up_without_leases
  make_pod data
  eventually 60 claim_is data Bound
  find_volume data
  make_ready "$node"
  put_back "$([ "$node" = one ] && echo two || echo one)"
  kubectl cordon "$node"
  make_pod data
  eventually 90 event_says pvc/data WaitingForNodes "node $node gives no sign of life"
  copies_of data 'length == 0'
  claim_is data Pending
  start_agent "$node"
  # Where that node decides for itself, the scheduler has to send the claim there.
  is_central || kubectl annotate --overwrite pvc data "volume.kubernetes.io/selected-node=$node"
  eventually 90 claim_is data Bound
  [ "$(kubectl get volumecopies -o json | jq --arg node "$node" '[.items[] | select(.spec.nodeName != $node)] | length')" = 0 ]
}

@test "a volume that was removed after the backup is lost, and is not made anew" {
  make_claim data
  eventually 60 claim_is data Bound
  find_volume data
  back_up
  delete_claim data
  eventually 60 is_gone pv "$volume"
  eventually 30 no_records
  put_back one two
  eventually 60 claim_is data Bound
  eventually 60 says '.status.state == "Lost"'
  no_records
  eventually 30 event_says pvc/data VolumeLost 'cannot serve the volume'
}

@test "a volume whose order was changed after the backup goes with its claim" {
  make_claim data
  eventually 60 claim_is data Bound
  find_volume data
  back_up
  # The leader takes that back, so that the host follows a generation that the backup has not.
  choose "$copy" Retained
  eventually 60 record_follows 3
  put_back one two
  eventually 60 says '.metadata.generation == 1 and any(.status.conditions[]; .reason == "RolledBack")'
  delete_claim data
  eventually 90 is_gone pv "$volume"
  eventually 30 no_records
}

has_no_definition() { is_gone crd volumecopies.flexlocal.io; }
# ordered_again UID: the copy's object is another one than that, for what is there.
ordered_again() {
  says ".metadata.uid != \"$1\" and .spec.origin == \"Existing\" and .spec.desiredState == \"Serving\"
    and .status.state == \"Ready\" and .status.observedGeneration == .metadata.generation"
}

@test "all copies and their definition are deleted, and made again: what was there serves on" {
  make_claim data
  eventually 60 claim_is data Bound
  find_volume data
  make_ready "$node"
  eventually 30 is_state Ready
  was=$(says .metadata.uid | tr -d '"')
  from=$(date -u +%FT%T.%6NZ)
  # Which of them the leader has ordered again by then goes with the definition.
  kubectl delete volumecopies --all --wait=false
  kubectl delete crd volumecopies.flexlocal.io
  eventually 60 has_no_definition
  for daemon in one two leader; do process_id "$work" "$daemon"; done
  lv_exists "$node" "$volume"
  apply_definition
  eventually 120 ordered_again "$was"
  # Until then the API server forbids what its policies cannot look up.
  echo "$from $(date -u +%FT%T.%6NZ)" >>"$work/cluster/unready"
  lv_exists "$node" "$volume"
  [ "$(records | jq -rs '.[] | "\(.copy) \(.state)"')" = "$id ready" ]
  claim_is data Bound
  make_claim other
  eventually 90 claim_is other Bound
  copies_of other 'length == 1 and .[0].spec.origin == "New"'
  copies_of data 'length == 1'
  lv_exists "$node" "$volume"
}

@test "leader and agents need no other rights than they have" {
  nothing_forbidden none
}
