# The API server is away for long, and all that is told to it: daemons wait for it at little cost and touch nothing,
# and go on where they were when it is back. AWAY: for so many seconds; `make soak` has an hour of it.

# shellcheck disable=SC2016,SC2119 # jq's variables, and functions whose arguments may be left out
away=${AWAY:-75}

setup_file() {
  . "$BATS_TEST_DIRNAME/away.bash"
  export leader=first
  start_cluster
  second_account
  eventually 30 account_kubeconfig flexlocal-cluster first
  eventually 30 account_kubeconfig flexlocal-cluster-2 second
  for node in "${nodes[@]}"; do
    make_node "$node" 4G
    start_shipped_agent "$node"
  done
  start_shipped_leader first
  eventually 60 leads first
  start_shipped_leader second
  for node in "${nodes[@]}"; do eventually 60 agent_is_ready "$node"; done
  for node in "${nodes[@]}"; do bind_used "$node"; done
}

# bind_used NODE: two volumes there, with data.
bind_used() {
  local claim claims=("used-$1" "more-$1")
  for claim in "${claims[@]}"; do make_claim_for "$1" "$claim"; done
  for claim in "${claims[@]}"; do eventually 60 claim_is "$claim" Bound; done
  stop_processes "$work" "$1"
  for claim in "${claims[@]}"; do make_data "$1" "$(volume_of "$claim")"; done
  start_shipped_agent "$1"
  for claim in "${claims[@]}"; do
    find_volume "$claim"
    eventually 60 is_state Ready
  done
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/away.bash"
  stop_cluster
}

setup() { . "$BATS_TEST_DIRNAME/away.bash"; }

teardown() { ! process_id "$work" two || go_on two; }

# begin NUMBER: notes what there is: beside the volumes with data a claim on `one` that is bound and not made, which is
# begun anew all the time.
begin() {
  local node
  made=made-$1 ordered=ordered-$1
  make_claim_for one "$made"
  eventually 60 claim_is "$made" Bound
  for node in "${nodes[@]}"; do eventually 60 tells_room "$node"; done
  rooms >"$work/rooms"
  nodes_say >"$work/nodes"
  objects >"$work/objects"
  disks >"$work/disks"
  note_costs
}

# live_without SECONDS SERVER...: from when a claim on `two` is ordered, of which its agent has not heard, or only that.
live_without() {
  pause two
  make_claim_for two "$ordered"
  eventually 30 copies_of "$ordered" 'length == 1'
  volume=pvc-$(kubectl get pvc "$ordered" -o 'jsonpath={.metadata.uid}')
  stop_servers "${@:2}"
  go_on two
  pass "$1"
  judge_costs "$1"
  is_as "$work/disks" disks "$volume"
  start_servers
}

# go_on_as_before: somebody leads, what was begun is done, new claims are served, and what there was is as it was.
go_on_as_before() {
  local node claim=after-$ordered
  make_claim "$claim"
  # An order that is not answered for ten seconds is withdrawn, and the claim chosen for again, where a pod has it.
  make_pod "$ordered"
  eventually 60 one_leads
  took "somebody leads"
  for node in "${nodes[@]}"; do eventually 60 has_beaten "$node"; done
  took "all nodes have said how they are"
  eventually 60 claim_is "$ordered" Bound
  took "what was ordered is bound"
  eventually 60 claim_is "$claim" Bound
  took "a new claim is bound"
  eventually 60 is_as "$work/objects" objects_but "$ordered" "$claim"
  eventually 60 is_as "$work/nodes" nodes_say
  is_as "$work/rooms" rooms
  for node in "${nodes[@]}"; do eventually 60 tells_room "$node"; done
  took "the room is told"
  is_as "$work/disks" disks "$(volume_of "$ordered")" "$(volume_of "$claim")"
  [ "$(removals)" = '' ]
}
# objects_but CLAIM...: and of their volumes.
objects_but() {
  local claim but=()
  for claim; do but+=(-e "$claim" -e "pvc-$(kubectl get pvc "$claim" -o 'jsonpath={.metadata.uid}')"); done
  objects | grep -vF "${but[@]}"
}

@test "without API server and etcd daemons wait at little cost, and go on where they were" {
  begin 1
  live_without "$away" kube-scheduler kube-controller-manager kube-apiserver etcd
  go_on_as_before
}

@test "the same where the API server is there, and has no etcd" {
  begin 2
  live_without 45 etcd
  go_on_as_before
}

@test "leaders and agents need no other rights than they have" {
  nothing_forbidden none
}
