# A leader that stands still before each kind of its writes, and sends what it was about to send when
# another has led for long and has done the work: nothing comes about twice, and nothing is lost.

# shellcheck disable=SC2016,SC2119 # jq's variables, and functions whose arguments may be left out
setup_file() {
  load_all
  start_cluster
  kubectl apply -f "$installation/read-pods.yaml"
  make_class growing 'onDelete: none' 'fsType: ext4' -- 'allowVolumeExpansion: true'
  g++ -std=c++20 -O1 -shared -fPIC -o "$work/stop-before.so" "$BATS_TEST_DIRNAME/stop_before.cc"
  second_account
  allow_second clusterrolebinding/flexlocal-cluster-pods
  eventually 30 account_kubeconfig flexlocal-cluster first
  eventually 30 account_kubeconfig flexlocal-cluster-2 second
  for node in one two; do
    make_node "$node" 4G
    start_agent "$node"
  done
  # What makes a file system larger does nothing: no volume is active here.
  printf '#!/bin/sh\n' >"$work/one/resize2fs"
  chmod +x "$work/one/resize2fs"
  echo "resize2fs = $work/one/resize2fs" >>"$work/one.conf"
  start_stoppable first
  lead_by first
  start_stoppable second
  eventually 60 agent_is_ready one
  eventually 60 agent_is_ready two
  bind_used removed kept gone order capacity status
  delete_claim removed
}

# bind_used CLAIM...: on node `one`, with data, in one go: after each change of leaders a new volume has to
# wait for a heartbeat of every node.
bind_used() {
  local claim
  for claim; do make_claim_for one "$claim" growing; done
  for claim; do eventually 60 claim_is "$claim" Bound; done
  stop_processes "$work" one
  for claim; do make_data one "$(volume_of "$claim")"; done
  start_agent one
  for claim; do
    find_volume "$claim"
    eventually 60 is_state Ready
  done
}

teardown_file() {
  load_all
  for name in first second; do ! process_id "$work" "$name" || go_on "$name"; done
  stop_cluster
}

load_all() {
  . "$BATS_TEST_DIRNAME/central.bash"
  . "$BATS_TEST_DIRNAME/leaders.bash"
}

# Who leads is stopped, and the other one follows it.
setup() {
  load_all
  old=first new=second
  leads first || old=second new=first
  lead_by "$old"
}

teardown() {
  rm -f "$work"/*.stop
  for name in one two first second; do ! process_id "$work" "$name" || go_on "$name"; done
  ! mountpoint -q "$work/pod" || umount "$work/pod"
  volume=$(kubectl get pvc data --ignore-not-found -o 'jsonpath={.spec.volumeName}')
  delete_claim data
  [ -z "$volume" ] || eventually 90 is_gone pv "$volume"
}

start_stoppable() {
  local daemon_environment=("LD_PRELOAD=$work/stop-before.so" "STOP_BEFORE=$work/$1.stop")
  start_cluster_daemon "$1" --register=false --capacity-poll-interval=5s
}

# stop_before METHOD PATH [PART]: whoever leads stops before it sends such a request with that part.
stop_before() {
  request="$1 $2"
  stop_one_before "$old" "$@"
}
# stop_one_before LEADER METHOD PATH [PART]
stop_one_before() {
  rm -f "$work/$1.stop.met"
  printf '%s %s\n%s\n' "$2" "$3" "${4:-}" >"$work/new.stop"
  mv "$work/new.stop" "$work/$1.stop"
}
is_stopped() { grep -q '^State:.T' "/proc/$(process_id "$work" "$1")/status"; }
stands_still() { [ -e "$work/$1.stop.met" ] && is_stopped "$1"; }
# await_successor: the request was met, and the other leads.
await_successor() {
  eventually 60 stands_still "$old"
  lead_by "$new"
}

# send_late: the request is sent now, and answered. late_was CODE: by that.
send_late() {
  late_since=$(now)
  go_on "$old"
  eventually 30 is_answered
  go_on "$old"
  eventually 30 leads_no_more
}
late_code() {
  local account=flexlocal-cluster verb path=${request#* }
  path=${path% HTTP}
  [ "$old" = first ] || account=flexlocal-cluster-2
  case $request in POST*) verb=create ;; *) verb=${request%% *} verb=${verb,,} ;; esac
  jq -r --arg user "system:serviceaccount:flexlocal-system:$account" --arg verb "$verb" --arg path "$path" \
    --arg since "$late_since" 'select(.user.username == $user and .verb == $verb and .requestReceivedTimestamp >= $since
      and (.requestURI | startswith($path))) | .responseStatus.code' "$work/cluster/audit.log"
}
is_answered() { [ -n "$(late_code)" ]; }
late_was() {
  local code
  code=$(late_code)
  [ "$code" = "$1" ] || {
    echo "the API server said $code" >&2
    return 1
  }
}
leads_no_more() { ! leads "$old"; }

# serves CLAIM NODE: it is bound there, by one copy of which all that is there says the same.
serves() {
  local volume copy
  volume=$(volume_of "$1")
  copy=$(kubectl get pv "$volume" -o 'jsonpath={.spec.flexVolume.options.flexlocal\.io/copy}')
  claim_is "$1" Bound && [ "$(kubectl get pv "$volume" -o 'jsonpath={.metadata.labels.flexlocal\.io/node}')" = "$2" ] &&
    copies_of "$1" "[.[] | select(.spec.desiredState | IN(\"Removed\", \"Withdrawn\") | not)] | length == 1
      and .[0].spec.copy == \"$copy\" and .[0].spec.nodeName == \"$2\"" &&
    copies_of "$1" 'all(.[]; .spec.desiredState == "Serving" or .status.state == "Removed")' &&
    records | jq -ens --arg copy "$copy" --arg volume "${volume#pvc-}" \
      'inputs | [.[] | select(.claimUID == $volume)] | length == 1 and .[0].copy == $copy'
}
choose_node() { kubectl annotate --overwrite pvc "$1" "volume.kubernetes.io/selected-node=$2"; }

# It is removed since setup_file. Its copy's id is never drawn again: what bears the name is the same copy.
@test "an order's object is not deleted late, when it is another object by then" {
  copy=$(kubectl get volumecopies -o json | jq -er '.items[] | select(.spec.claim.name == "removed").metadata.name')
  stop_before DELETE "/apis/flexlocal.io/v1alpha1/volumecopies/$copy"
  kubectl get volumecopy "$copy" -o json | jq 'del(.metadata.uid, .metadata.resourceVersion, .status)' >"$work/again"
  await_successor
  kubectl delete volumecopy "$copy"
  kubectl create -f "$work/again"
  again=$(kubectl get volumecopy "$copy" -o 'jsonpath={.metadata.uid}')
  send_late
  late_was 409
  [ "$(kubectl get volumecopy "$copy" -o 'jsonpath={.metadata.uid}')" = "$again" ]
}

@test "an order that comes late, for a claim that has its volume elsewhere: that one stays, and no other" {
  # Not the trial of an order that may come before it.
  stop_before POST '/apis/flexlocal.io/v1alpha1/volumecopies HTTP'
  make_claim_for one data
  await_successor
  choose_node data two
  eventually 90 claim_is data Bound
  find_volume data
  make_ready two
  eventually 60 is_state Ready
  send_late
  late_was 201
  copies_of data 'length == 2'
  eventually 60 serves data two
  lv_exists two "$volume"
  is_state Ready
}

@test "a PersistentVolume that comes late, for a copy that was withdrawn, gives way to that of the right one" {
  stop_before POST /api/v1/persistentvolumes
  make_claim_for one data
  stop_one_before "$new" POST /api/v1/persistentvolumes
  choose_node data two
  await_successor
  volume=pvc-$(kubectl get pvc data -o 'jsonpath={.metadata.uid}')
  eventually 60 stands_still "$new"
  copies_of data 'any(.spec.nodeName == "one" and .status.state == "Removed")'
  send_late
  late_was 201
  go_on "$new"
  go_on "$new"
  eventually 90 serves data two
  [ "$(kubectl get pv -o json | jq --arg volume "$volume" '[.items[] | select(.metadata.name == $volume)] | length')" = 1 ]
}
no_records_of() { [ ! -e "$work/one/state/volumes/$1" ] && [ ! -e "$work/two/state/volumes/$1" ]; }

@test "a PersistentVolume that comes late, for a copy that a pod has had since, serves it" {
  stop_before POST /api/v1/persistentvolumes
  make_claim_for one data
  eventually 60 copies_of data 'any(.status.state == "Promised")'
  stop_processes "$work" one
  stop_one_before "$new" POST /api/v1/persistentvolumes
  choose_node data two
  await_successor
  volume=pvc-$(kubectl get pvc data -o 'jsonpath={.metadata.uid}')
  eventually 60 stands_still "$new"
  copies_of data 'any(.spec.nodeName == "one" and .spec.desiredState == "Withdrawn" and .status.state == "Promised")'
  send_late
  late_was 201
  make_data one "$volume"
  # Before its leader can tell it otherwise.
  start_agent one
  eventually 60 copies_of data 'any(.spec.nodeName == "one" and .status.state == "Retained")'
  go_on "$new"
  go_on "$new"
  eventually 90 serves data one
  lv_exists one "$volume"
}

@test "a PersistentVolume that comes late, for a claim that is gone, goes as well" {
  stop_before POST /api/v1/persistentvolumes
  make_claim_for one data
  await_successor
  eventually 60 claim_is data Bound
  volume=$(volume_of data)
  delete_claim data
  eventually 60 is_gone pv "$volume"
  send_late
  late_was 201
  eventually 60 is_gone pv "$volume"
  no_records_of "$volume"
}

@test "a claim that is handed back late keeps the node that was chosen since" {
  stop_before PATCH /api/v1/namespaces/default/persistentvolumeclaims/data volume.kubernetes.io/selected-node
  make_claim_for nowhere data
  await_successor
  eventually 60 has_no_node data
  choose_node data two
  send_late
  late_was 409
  [ "$(kubectl get pvc data -o 'jsonpath={.metadata.annotations.volume\.kubernetes\.io/selected-node}')" = two ]
}
has_no_node() { [ -z "$(kubectl get pvc "$1" -o 'jsonpath={.metadata.annotations.volume\.kubernetes\.io/selected-node}')" ]; }

@test "a withdrawal that comes late removes no volume that was promised, bound and used since" {
  pause one
  stop_before PATCH /apis/flexlocal.io/v1alpha1/volumecopies Withdrawn
  make_claim_for one data
  eventually 60 stands_still "$old"
  go_on one
  lead_by "$new"
  eventually 60 claim_is data Bound
  find_volume data
  make_ready one
  send_late
  late_was 409
  says '.spec.desiredState == "Serving"'
  eventually 30 is_state Ready
  serves data one
  lv_exists one "$volume"
}

@test "a PersistentVolume is not deleted late, when a person has said since that it is kept" {
  find_volume kept
  stop_before DELETE "/api/v1/persistentvolumes/$volume"
  delete_claim kept
  eventually 60 stands_still "$old"
  kubectl patch pv "$volume" -p '{"spec": {"persistentVolumeReclaimPolicy": "Retain"}}'
  await_successor
  eventually 60 is_state Retained
  send_late
  late_was 409
  volume_is "$volume" Released
  lv_exists one "$volume"
  is_state Retained
}

@test "an order of removal that comes late finds the volume removed" {
  find_volume gone
  stop_before PATCH "/apis/flexlocal.io/v1alpha1/volumecopies/$copy" Removed
  delete_claim gone
  await_successor
  eventually 60 is_gone pv "$volume"
  send_late
  late_was 409
  is_state Removed
  lv_is_gone one "$volume"
  serves order one
}

# grow_past CLAIM: the old leader is about to write something of a growth to 668Mi, the successor does
# that and another growth to 1Gi: nothing becomes smaller again.
grow_past() {
  claim=$1
  ask 700M
  await_successor
  eventually 60 has_grown 668Mi
  ask 1Gi
  eventually 60 has_grown 1Gi
  send_late
  late_was 409
  has_grown 1Gi
  [ "$("$work/one/lvs" --noheadings --units m --nosuffix -o lv_size "one/$volume" | tr -d ' ')" = 1024.00 ]
}
ask() { kubectl patch pvc "$claim" -p "{\"spec\": {\"resources\": {\"requests\": {\"storage\": \"$1\"}}}}"; }
# No pod has it: the claim's status follows when one mounts it.
has_grown() {
  says ".spec.size == \"$1\" and .status.size == \"$1\"" && [ "$(kubectl get pv "$volume" -o 'jsonpath={.spec.capacity.storage}')" = "$1" ] &&
    kubectl get pvc "$claim" -o json | jq -en --arg size "$1" 'input | any(.status.conditions[]?; .type == "FileSystemResizePending")
      or .status.capacity.storage == $size'
}

@test "an order to grow that comes late makes nothing smaller" {
  find_volume order
  stop_before PATCH "/apis/flexlocal.io/v1alpha1/volumecopies/$copy" '"size"'
  grow_past order
}

@test "a capacity that is told late makes nothing smaller" {
  find_volume capacity
  stop_before PATCH "/api/v1/persistentvolumes/$volume" '"capacity"'
  grow_past capacity
}

@test "a claim's status that is written late makes nothing smaller" {
  find_volume status
  # As a pod's mount is seen; without one the claim's status waits for it.
  touch "$work/one/open"
  mkdir "$work/pod"
  mount -t tmpfs -o size=4k "/dev/mapper/one-${volume//-/--}" "$work/pod"
  stop_before PATCH /api/v1/namespaces/default/persistentvolumeclaims/status/status
  grow_past status
}

@test "leaders and agents need no other rights than they have" {
  nothing_forbidden none
}
