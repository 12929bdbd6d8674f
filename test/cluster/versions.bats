# Daemons whose versions are one apart. Orders and reports say what the reader does not know, under a definition that
# lets it pass: nothing is done by what is half understood, it is told of, and all goes on once it is understood.

# shellcheck disable=SC2016,SC2119 # jq's variables, and functions whose arguments may be left out
setup_file() {
  . "$BATS_TEST_DIRNAME/versions.bash"
  start_for_versions
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/versions.bash"
  stop_cluster
}

setup() { . "$BATS_TEST_DIRNAME/versions.bash"; }

teardown() { leave_nothing; }

# ordered_as_later CHANGE BACK: nothing comes of that, and all goes on behind it.
ordered_as_later() {
  order_as_later "$1"
  others_are_served
  is_untouched
  says '.status.state == "Ready" and .status.made'
  copies_of data 'length == 1'
  change "$2"
  eventually 30 is_state Ready
  says 'any(.status.conditions[]; .type == "AsOrdered" and .status == "True")'
}

@test "an order of a later version changes nothing of a volume with data, is told of, and goes on when it is understood" {
  make_used
  ordered_as_later '{"desiredState": "Sealed"}' '{"desiredState": "Serving"}'
  ordered_as_later '{"backend": "zoned"}' '{"backend": "lvm"}'
  ordered_as_later '{"moveTo": "another", "desiredState": "Removed"}' '{"moveTo": null, "desiredState": "Serving"}'
  ordered_as_later '{"limits": {"burst": 7}}' '{"limits": null}'
  is_state Ready
  lv_exists worker "$volume"
}

@test "a new order of a later version is not recorded, and is once it is understood" {
  stop_processes "$work" leader
  new_volume
  order '.spec.desiredState = "Receiving" | .spec.source = {nodeName: "another"}'
  eventually 30 reasons NotUnderstood 'does not understand its order: spec.'
  says '.status.state == null and (.status.promised | not)'
  [ ! -e "$record" ]
  lv_is_gone worker "$volume"
  change '{"desiredState": "Serving", "source": null}'
  eventually 30 is_state Promised
  change '{"desiredState": "Removed"}'
  eventually 30 is_state Removed
}

@test "the volume of a deleted claim stays while its order is not understood, and goes then" {
  make_used
  order_as_later '{"later": "yes"}'
  delete_claim data
  eventually 30 is_gone pvc data
  others_are_served
  says '.spec.desiredState == "Serving" and .spec.later == "yes"'
  is_untouched
  eventually 30 event_says "pv/$volume" NotUnderstood 'its order: spec.later is not known to this version'
  change '{"later": null}'
  eventually 60 lv_is_gone worker "$volume"
  eventually 60 is_gone pv "$volume"
}

@test "a claim whose copy is in a state of a later version waits, and is bound when that is known" {
  pause worker
  make_claim_for worker data
  eventually 30 copies_of data 'length == 1'
  copy=$(copy_of_volume "pvc-$(kubectl get pvc data -o 'jsonpath={.metadata.uid}')")
  patch_status '{"state": "Sealed", "observedGeneration": 1}'
  go_on worker
  eventually 30 reasons NotUnderstood 'does not understand status.state'
  eventually 30 event_says pvc/data NotUnderstood "VolumeCopy $copy is left as it is, for status.state"
  others_are_served
  claim_is data Pending
  copies_of data 'length == 1 and .[0].spec.desiredState == "Serving" and .[0].status.state == "Sealed"'
  patch_status '{"state": null}'
  eventually 60 claim_is data Bound
}

@test "a copy in a state of a later version is given no other order, and is told of" {
  make_used
  stop_processes "$work" worker
  patch_status '{"state": "Sealed", "observedGeneration": 1}'
  delete_claim data
  eventually 30 event_says "pv/$volume" NotUnderstood 'is left as it is, for status.state'
  start_agent worker
  others_are_served
  says '.spec.desiredState == "Serving"'
  lv_exists worker "$volume"
  patch_status '{"state": "Ready"}'
  eventually 60 lv_is_gone worker "$volume"
}

@test "a status with fields of a later version is read, and keeps them" {
  make_used
  patch_status '{"checked": "yes"}'
  change '{"size": "1Gi"}'
  eventually 30 says '.status.size == "1Gi"'
  says '.status.checked == "yes"'
}

# beat_as CHANGE: the node's Lease, changed by jq, as an agent of another version would renew it now.
beat_as() {
  kubectl -n flexlocal-nodes get lease node-worker -o json |
    jq --arg now "$(now)" ".spec.renewTime = \$now | $1" | kubectl replace -f -
}
now() { date -u +%FT%T.%6NZ; }
tells_of() { beat_as "$1" && told worker "$2"; }
pools() { echo ".metadata.annotations[\"flexlocal.io/pools\"] |= (fromjson | $1 | tojson)"; }

@test "the Lease of a later version is read as far as it is known" {
  eventually 60 told worker '. == "4092Mi"'
  stop_processes "$work" worker
  eventually 60 tells_of "$(pools '.default.lvm.free = (3 * 1073741824) | .default.lvm.wear = 7
      | .default.zoned = {size: 5, free: "much"}')
    | .metadata.annotations[\"flexlocal.io/version\"] = \"99.0\" | .metadata.annotations[\"flexlocal.io/later\"] = \"{}\"
    | .metadata.annotations[\"flexlocal.io/copies\"] |= (fromjson | .later = [1] | tojson)" '. == "3Gi" or . == "3072Mi"'
}

@test "the Lease of an older version, without what is newer: its room is told as it says" {
  eventually 60 told worker '. == "4092Mi"'
  stop_processes "$work" worker
  eventually 60 tells_of "$(pools '.default.lvm |= {size, free: (2 * 1073741824)}')
    | del(.metadata.annotations[\"flexlocal.io/budget\"])" '. == "2Gi" or . == "2048Mi"'
}

@test "the Lease of a version that carries out no orders: no room is told, and no order given" {
  eventually 60 told worker '. == "4092Mi"'
  stop_processes "$work" worker
  eventually 60 no_room_after 'del(.metadata.annotations["flexlocal.io/copies"])'
  make_claim_for worker data
  eventually 60 handed_back_after 'del(.metadata.annotations["flexlocal.io/copies"])'
  copies_of data 'length == 0'
}
no_room_after() { beat_as "$1" && { no_room_of_class flexlocal || told worker '. == "0"'; }; }
handed_back_after() {
  beat_as "$1" && kubectl get pvc data -o json |
    jq -en 'input | .metadata.annotations["volume.kubernetes.io/selected-node"] == null'
}

@test "leader and agent need no other rights than they have" {
  nothing_forbidden none
}
