# The agent of a node on a real API server and real LVM metadata: what it makes of orders, and how it
# answers. Without a device-mapper nothing can be made here: a made volume is put there by the test.

# shellcheck disable=SC2016,SC2119 # jq's variables, and functions whose arguments may be left out
setup_file() {
  . "$BATS_TEST_DIRNAME/agent.bash"
  start_cluster
  make_node worker 4G
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/agent.bash"
  stop_cluster
}

setup() {
  . "$BATS_TEST_DIRNAME/agent.bash"
  start_agent
  new_volume
}

teardown() {
  stop_processes "$work" worker
  kubectl delete volumecopies --all
  "$work/worker/lvremove" -qq -y worker || true
  rm -rf "$work/worker/state/volumes" "$work/worker/open" "$work/worker/hold-vgs"
}

@test "an order is judged, recorded and then answered" {
  order
  eventually 30 is_state Promised
  # It is begun anew all the time.
  eventually 30 record_is '.state == "promised" and .claimUID == "'"$uid"'" and .size == "536870912"'
  says '.status.promised and (.status.made | not) and (.status.host | length == 32)'
  record_is ".order == {uid: $(says .metadata.uid), generation: 1, term: 7, claim: \"data\"}"
  eventually 30 lease_says '$roll.told == [] and $roll.term == 7 and ($roll.orders | length) == 32'
}

@test "what there is no room for is refused with figures, and withdrawn when that is ordered" {
  order '.spec.size = "100Gi"'
  eventually 30 is_state Refused
  reasons NotPossibleHere 'pool \"default\" has'
  [ ! -e "$record" ]
  change '{"desiredState": "Removed"}'
  eventually 30 is_state Removed
}

# A look is good for ten seconds, whatever happens: more must have gone since the last that succeeded.
is_old() { [ $(($(date +%s) - $(stat -c %Y "$1"))) -gt 11 ]; }

# begin_held: the agent has just started and looked at its disks, and each look since hangs in LVM, for
# longer than any look is good. A host's first look has no metadata to go by: it does not know yet which
# disks the group has.
begin_held() {
  eventually 30 [ -e "$work/worker/state/groups/worker.json" ]
  stop_processes "$work" worker
  rm "$work/log/worker.log"
  start_agent worker --http-endpoint=127.0.0.1:0
  eventually 30 is_ready
  touch "$work/worker/hold-vgs"
}
is_ready() {
  local address
  address=$(grep 'status pages are served' "$work/log/worker.log" | grep -o '127\.0\.0\.1:[1-9][0-9]*') || return
  [ "$(curl -s "http://$address/readyz")" = ok ]
}

@test "while nobody has changed LVM's metadata, no program stands between an order and its promise" {
  begin_held
  eventually 60 is_old "$work/worker/hold-vgs"
  order
  eventually 30 is_state Promised
}

@test "once somebody has, an order is judged by a look" {
  begin_held
  "$work/worker/lvcreate" -qq -an -Zn -Wn -L 1G -n of-a-person worker
  eventually 60 is_old "$work/worker/hold-vgs"
  order '.spec.size = "3500Mi"'
  rm "$work/worker/hold-vgs"
  eventually 30 is_state Refused
}

@test "a pool that the node does not have is refused in words" {
  order '.spec.pool = "fast"'
  eventually 30 is_state Refused
  reasons NotPossibleHere 'pool \"fast\"'
}

# without_program PATH: as if the node of the daemon that is started did not have it.
without_program() {
  # shellcheck disable=SC2034 # start_node_daemon reads it
  daemon_environment=(unshare --mount sh -c 'mount --bind /dev/null "$0" && exec "$@"' "$1")
}

@test "what a node does not have the program for is refused, and says which" {
  stop_processes "$work" worker
  without_program "$(readlink -f "$(type -P mkfs.ext4)")"
  start_agent
  order '.spec.fsType = "ext4"'
  eventually 30 is_state Refused
  reasons NotPossibleHere 'mkfs.ext4 is not on this node; install the package e2fsprogs'
  [ ! -e "$record" ]
  new_volume
  order
  eventually 30 is_state Promised
}

@test "orders that fit alone and not together: one is promised, one refused" {
  first=$copy
  order '.spec.size = "3Gi"'
  new_volume
  order '.spec.size = "3Gi"'
  eventually 30 says '.status.state != null'
  eventually 30 says '.status.state != null' "$first"
  [ "$(kubectl get volumecopies -o json | jq -r '[.items[].status.state] | sort | join(" ")')" = "Promised Refused" ]
}

@test "a promise that the host has lost is not made anew" {
  order
  eventually 30 is_state Promised
  stop_processes "$work" worker
  rm "$record"
  start_agent
  eventually 30 is_state Lost
  reasons DataGone 'is not made anew and empty'
  [ ! -e "$record" ]
}

@test "nothing is removed because an order is gone, and the Lease tells of it" {
  order
  eventually 30 is_state Promised
  make_ready
  eventually 30 is_state Ready
  kubectl delete volumecopy "$copy"
  eventually 60 lease_says '$roll.told == [{volume: "'"$volume"'", copy: "'"$id"'", namespace: "default",
    pool: "default", backend: "lvm", fsType: "xfs", size: "536870912", onDelete: "none",
    claimUID: "'"$uid"'", claim: "data", ready: true}]'
  lv_exists worker "$volume"
  order '.spec.origin = "Existing"'
  eventually 30 is_state Ready
  record_is ".order.uid == $(says .metadata.uid)"
}

@test "a ready copy grows as ordered, and says what it has where there is no room" {
  order
  eventually 30 is_state Promised
  make_ready
  eventually 30 is_state Ready
  says '.status.size == "512Mi" and .status.made'
  change '{"size": "1Gi"}'
  eventually 30 says '.status.size == "1Gi"'
  change '{"size": "100Gi"}'
  eventually 30 reasons NotGrown 'more asked'
  says '.status.state == "Ready" and .status.size == "1Gi"'
  change '{"size": "1Gi"}'
  eventually 30 says 'any(.status.conditions[]; .type == "AsOrdered" and .status == "True")'
}

@test "a copy is kept, served again and removed as ordered" {
  order
  eventually 30 is_state Promised
  make_ready
  eventually 30 is_state Ready
  change '{"desiredState": "Retained"}'
  eventually 30 is_state Retained
  record_is '.retained'
  [[ $("$work/worker/lvs" --noheadings -o lv_tags "worker/$volume") == *flexlocal.io/retained* ]]
  change '{"desiredState": "Serving"}'
  eventually 30 is_state Ready
  record_is '.retained | not'
  change '{"desiredState": "Removed"}'
  eventually 30 is_state Removed
  lv_is_gone worker "$volume"
  [ ! -e "$record" ]
  says '.status.promised and .status.made'
}

@test "a volume that is in use is closed to further pods, and removed when it is free" {
  order
  eventually 30 is_state Promised
  touch "$work/worker/open"
  make_ready
  eventually 30 is_state Ready
  says '.status.mounted'
  change '{"desiredState": "Removed"}'
  eventually 30 reasons InUse 'mounted or open'
  record_is '.state == "ready" and has("claimUID") == false'
  rm "$work/worker/open"
  eventually 60 is_state Removed
  lv_is_gone worker "$volume"
}

@test "a second copy of a volume waits until the first is removed" {
  order
  eventually 30 is_state Promised
  first=$copy
  id=fedcba9876543210 copy=pvc-$uid-fedcba9876543210
  order
  eventually 30 reasons AnotherCopy 'has its place'
  record_is '.copy != "fedcba9876543210"'
  change '{"desiredState": "Removed"}' "$first"
  eventually 30 is_state Removed "$first"
  eventually 30 is_state Promised
  record_is '.copy == "fedcba9876543210"'
}

@test "an order of an earlier leader's term removes nothing" {
  order
  eventually 30 is_state Promised
  make_ready
  eventually 30 is_state Ready
  # As an etcd that was put back has it.
  kubectl delete volumecopy "$copy"
  order '.spec.term = 6 | .spec.desiredState = "Removed"'
  eventually 30 reasons InDoubt 'put back to an earlier time'
  lv_exists worker "$volume"
  change '{"term": 8}'
  eventually 30 is_state Removed
}

@test "a host that was set up anew under the Node's name promises nothing for the Node of before" {
  order '.spec.nodeUID = "00000000-0000-4000-8000-000000000000"'
  eventually 30 reasons NotHere 'another Node'
  [ ! -e "$record" ]
}

@test "of two daemons on one host the second one ends, in words" {
  eventually 30 kubectl -n flexlocal-nodes get lease node-worker
  run -1 env -i "$provisioner" node --node-name=worker \
    --kubeconfig="$work/worker.kubeconfig" --node-config="$work/worker.conf" \
    --state-dir="$work/worker/state" --lock-dir="$work/worker/locks"
  [[ $output == *"another node daemon works on this host"* ]]
}

@test "while another host beats for the Node, nothing is promised" {
  eventually 30 kubectl -n flexlocal-nodes get lease node-worker
  stop_processes "$work" worker
  beat_as another
  start_agent
  eventually 30 grep -q 'another host beats for Node worker' "$work/log/worker.log"
  order
  beat_as another
  [ "$(kubectl get volumecopy "$copy" -o 'jsonpath={.status}')" = "" ]
  # Silent from now on.
  eventually 90 is_state Promised
}

beat_as() {
  kubectl -n flexlocal-nodes patch lease node-worker --type merge -p \
    "{\"spec\": {\"holderIdentity\": \"$1\", \"renewTime\": \"$(date -u +%FT%T.%6NZ)\"}}"
}

@test "the agent needs no other rights than it has" {
  nothing_forbidden none
}
