# Two API servers of which one lags, and daemons whose reads go to that one and whose writes to the other, as
# behind a balancer. No claim has two volumes, nothing is removed that is in use, and when the server has caught
# up all is as if it had never lagged.
#
# What such a server of 1.37 does: where its watches of etcd stand still, it answers a list of version 0, or of
# one that it has had, from its cache as it is, keeps watches open in silence, also from versions that are yet to
# come, and says 504 ("Too large resource version") after 3 s to a list or a streaming one of a version it has not
# had. Every get, and after 3 s every consistent list, is answered from etcd, and so is never old; a consistent
# streaming list is refused by the same 504. Where etcd does not answer it at all, gets and consistent lists wait
# until their time is over, and all else is as before.

# shellcheck disable=SC2016,SC2119 # jq's variables, and functions whose arguments may be left out
setup_file() {
  . "$BATS_TEST_DIRNAME/lagging-server.bash"
  start_cluster
  start_lagging_server
  second_account
  eventually 30 account_kubeconfig flexlocal-cluster first
  eventually 30 account_kubeconfig flexlocal-cluster-2 second
  make_node one 4G
  make_node two 4G
  eventually 30 node_kubeconfig two
  start_front first
  start_front two
  read_from two first
  start_agent one
  start_agent two
  lead_alone first
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/lagging-server.bash"
  catch_up
  stop_cluster
}

setup() { . "$BATS_TEST_DIRNAME/lagging-server.bash"; }

# Whatever a test that failed left, the next one finds as it was at first.
teardown() {
  catch_up
  [ -z "${with_flags:-}" ] || run_lagging_server
  forgets first disable
  read_from first lagging
  read_from two first
  for name in one two first; do ! process_id "$work" "$name" || go_on "$name"; done
  for name in one two; do process_id "$work" "$name" || start_agent "$name"; done
  if process_id "$work" second || ! process_id "$work" first; then
    stop_processes "$work" first second
    lead_alone first
  fi
  kubectl delete pvc --all --wait=false
  eventually 120 no_volumes
  eventually 60 no_records
}

# lead_alone NAME: without an election, so that it never hears that another leads; until it gives orders.
# `first` reads by its balancer, `second` is another leader, with no balancer.
lead_alone() {
  local begun
  begun=$(terms_of "$1")
  start_cluster_daemon "$1" --register=false --capacity-poll-interval=5s --leader-election=false
  eventually 60 has_begun "$1" "$begun"
}
terms_of() { grep -sc 'orders are given' "$work/log/$1.log" || true; }
has_begun() { (($(terms_of "$1") > ${2:-0})); }

# answers CODE VERB PATH [LOG]: how many of the daemons' requests for such a path were answered so since `since`;
# by the first server, or as that log says.
answers() {
  jq -nR --arg code "$1" --arg verb "$2" --arg path "$3" --arg since "$since" '[inputs | fromjson? // empty
    | select(.verb == $verb and .requestReceivedTimestamp >= $since and (.requestURI | test($path))
      and (.user.username // "" | startswith("system:serviceaccount:flexlocal-system:flexlocal-"))
      and "\(.responseStatus.code)" == $code)] | length' "${4:-$work/cluster/audit.log}"
}
was_answered() { [ "$(answers "$@")" -gt 0 ]; }
was_never_answered() {
  local times
  times=$(answers "$@") && [ "$times" = 0 ]
}

# use_volume CLAIM NODE: bound there and ready; see find_volume.
use_volume() {
  make_claim_for "$2" "$1"
  eventually 90 claim_is "$1" Bound
  find_volume "$1"
  make_ready "$2"
  eventually 60 is_state Ready
}
# serves CLAIM NODE: bound there, by its one copy, of which no host but that has a record.
serves() {
  claim_is "$1" Bound && copies_of "$1" "[.[] | select(.spec.desiredState | IN(\"Removed\", \"Withdrawn\") | not)]
    | length == 1 and .[0].spec.nodeName == \"$2\" and .[0].spec.desiredState == \"Serving\"" &&
    [ "$(records_of "$1")" = "$2" ]
}
records_of() {
  local uid node
  uid=$(kubectl get pvc "$1" -o 'jsonpath={.metadata.uid}')
  for node in one two; do [ ! -e "$work/$node/state/volumes/pvc-$uid" ] || echo "$node"; done
}

@test "a server that lags answers from its cache what is old, and asks etcd for the rest" {
  make_claim_for nowhere data
  eventually 30 lagging_has pvc data '. != null'
  stand_still
  kubectl delete pvc data
  lagging_has pvc data '. != null'
  is_not_there "${collections[pvc]}/data"
  ask_lagging "${collections[pvc]}?limit=500" | jq -en 'input | .items | length == 0'
  catch_up
  eventually 30 lagging_has pvc data '. == null'
}
is_not_there() { ask_lagging "$1" | jq -en 'input | .code == 404'; }

@test "a promise that the leader does not hear of is not withdrawn" {
  # A new leader has waited for the nodes to beat before it orders that.
  make_claim_for two other
  eventually 60 claim_is other Bound
  pause one
  make_claim_for one data
  eventually 60 copies_of data 'length == 1'
  copy=$(copies_of data '.[0].metadata.name' | tr -d '"')
  eventually 30 lagging_has vc "$copy" '. != null'
  stand_still
  since=$(now)
  go_on one
  eventually 30 is_state Promised
  eventually 60 was_answered 409 patch "${collections[vc]}/$copy"
  is_state Promised
  says '.spec.desiredState == "Serving"'
  catch_up
  eventually 60 serves data one
}

@test "a PersistentVolume that was made anew is not deleted for the one of before" {
  use_volume data one
  pause first
  kubectl delete pvc data
  eventually 60 lagging_has pv "$volume" '.status.phase == "Released"'
  stand_still
  make_volume_anew
  since=$(now)
  go_on first
  eventually 60 was_answered 409 delete "${collections[pv]}/$volume"
  kubectl get pv "$volume" -o json | jq -en 'input | .metadata | .deletionTimestamp == null'
  says '.spec.desiredState == "Serving"'
  catch_up
  claim=$(kubectl get pvc data -o 'jsonpath={.metadata.uid}')
  eventually 60 says ".spec.claim.uid == \"$claim\" and .status.state == \"Ready\""
  claim_is data Bound
  lv_exists one "$volume"
}
# make_volume_anew: by a person, by force; for a claim of the same name.
make_volume_anew() {
  kubectl get pv "$volume" -o json | jq 'del(.metadata.uid, .metadata.resourceVersion, .metadata.deletionTimestamp,
    .spec.claimRef.uid, .spec.claimRef.resourceVersion, .status)' >"$work/anew"
  kubectl delete pv "$volume" --wait=false
  kubectl patch pv "$volume" --type merge -p '{"metadata": {"finalizers": null}}'
  eventually 30 is_gone pv "$volume"
  kubectl create -f "$work/anew"
  make_claim_for one data
  eventually 60 claim_is data Bound
}

# The agent of `one` hears of nothing that is late.
@test "a claim that another leader has bound elsewhere has no second volume that serves" {
  pause first
  make_claim_for one data
  eventually 30 lagging_has pvc data '. != null'
  stand_still
  kubectl annotate --overwrite pvc data volume.kubernetes.io/selected-node=two
  lead_alone second
  eventually 90 claim_is data Bound
  find_volume data
  make_ready two
  eventually 60 is_state Ready
  stop_processes "$work" second
  since=$(now)
  go_on first
  eventually 60 was_answered 201 create "${collections[vc]}"
  # By then the other node has promised it, of which this leader does not hear.
  eventually 60 was_answered 409 patch "${collections[vc]}/$volume"
  volume_is_that_of two
  catch_up
  eventually 90 serves data two
  volume_is_that_of two
  is_state Ready
}
# volume_is_that_of NODE: the one there is.
volume_is_that_of() {
  kubectl get pv -o json | jq -en --arg volume "$volume" --arg id "$id" --arg node "$1" 'input | [.items[]
    | [.metadata.name, .metadata.labels["flexlocal.io/node"], .spec.flexVolume.options["flexlocal.io/copy"]]]
    == [[$volume, $node, $id]]' && lv_exists "$1" "$volume"
}

# take_back [LAG]: until then the server at which `two` reads says no more than that its volume is to be removed.
take_back() {
  pause first
  change '{"desiredState": "Removed"}'
  eventually 30 lagging_has vc "$copy" '.spec.desiredState == "Removed"'
  "${1:-stand_still}"
  change '{"desiredState": "Serving"}'
}

@test "an order to remove that was taken back is not followed by an agent that has not heard of that" {
  read_from two lagging
  use_volume data two
  pause two
  take_back
  go_on two
  eventually 60 is_state Ready
  lv_exists two "$volume"
}

@test "nor is it followed while the API server does not answer what the order is now" {
  read_from two lagging
  use_volume data two
  pause two
  take_back cut_off
  begun=$(wc -l <"$work/log/two.log")
  go_on two
  eventually 90 has_asked_in_vain
  lv_exists two "$volume"
  catch_up
  eventually 90 is_state Ready
  lv_exists two "$volume"
}
has_asked_in_vain() { tail -n "+$((begun + 1))" "$work/log/two.log" | grep -q "$copy.*reading the order anew"; }

# begins_by_it: an agent, which finds out what is ordered now.
begins_by_it() {
  read_from two lagging
  use_volume data two
  stop_processes "$work" two
  take_back
  since=$(now)
  start_agent two
  eventually 90 is_state Ready
  lv_exists two "$volume"
}
@test "nor is it followed by an agent that is started meanwhile" { begins_by_it; }

# Where a server has no streaming lists, an agent's first list is what its cache has.
@test "nor by one whose first list is an old one" {
  with_flags=yes
  run_lagging_server --feature-gates=WatchList=false
  eventually 60 lagging_has vc none '. == null'
  begins_by_it
  was_answered 200 list "${collections[vc]}.*resourceVersion=0" "$work/lagging/audit.log"
}

@test "a leader that begins by a server that lags goes by what there is" {
  use_volume other one
  released=$volume released_copy=$copy
  use_volume data one
  stop_processes "$work" first
  kubectl delete pvc data other
  for name in "$volume" "$released"; do eventually 60 lagging_has pv "$name" '.status.phase == "Released"'; done
  stand_still
  make_volume_anew
  since=$(now)
  lead_alone first
  # By the answers to what it wrote itself.
  eventually 60 says '.spec.desiredState == "Removed"' "$released_copy"
  was_answered 200 delete "${collections[pv]}/$released"
  was_never_answered 409 delete "${collections[pv]}/$volume"
  says '.spec.desiredState == "Serving"'
  catch_up
  eventually 60 is_gone pv "$released"
  eventually 60 is_state Ready
  claim_is data Bound
  lv_exists one "$volume"
}

@test "a leader that lists anew at a server that lags keeps what it knows" {
  read_from first first
  pause first
  make_claim_for one data
  eventually 30 lagging_has pvc data '. != null'
  stand_still
  go_on first
  eventually 60 claim_is data Bound
  find_volume data
  since=$(now)
  forgets first enable
  read_from first lagging
  for kind in persistentvolumeclaims persistentvolumes volumecopies; do
    eventually 60 was_answered 200 list "/$kind\\?" "$work/lagging/audit.log"
  done
  forgets first disable
  catch_up
  eventually 30 lagging_has pvc data '.status.phase == "Bound"'
  was_never_answered 201 create "${collections[vc]}"
  serves data one
}

@test "when the server has caught up each claim has its volume, and nothing is left over" {
  read_from two lagging
  for node in one two; do
    make_claim_for "$node" "kept-$node"
    make_claim_for "$node" "dropped-$node"
  done
  for node in one two; do
    eventually 60 claim_is "kept-$node" Bound
    eventually 60 claim_is "dropped-$node" Bound
  done
  stand_still
  for node in one two; do make_claim_for "$node" "new-$node"; done
  kubectl delete pvc dropped-one dropped-two
  # The leader hears of that by the other server, and of what comes of it nothing.
  since=$(now)
  read_from first first
  eventually 60 was_answered 201 create "${collections[vc]}"
  eventually 60 was_answered 200 delete "${collections[pv]}"
  read_from first lagging
  catch_up
  for node in one two; do
    for claim in kept new; do eventually 90 serves "$claim-$node" "$node"; done
  done
  # A copy's object stays for a while.
  eventually 150 counts_are 4
}
# counts_are NUMBER: of PersistentVolumes, of copies and of records.
counts_are() {
  [ "$(kubectl get pv -o name | wc -l)" = "$1" ] && [ "$(kubectl get volumecopies -o name | wc -l)" = "$1" ] &&
    [ "$(records | jq -s length)" = "$1" ]
}

@test "leaders and agents need no other rights than they have" {
  # Reads are in the one log, writes in the other. Both servers go on writing: neither log is touched.
  nothing_forbidden none
  nothing_forbidden none "$work/lagging/audit.log"
}
