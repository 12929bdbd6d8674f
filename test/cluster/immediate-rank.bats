# Claims that do not wait for a pod, placed by the node daemons among themselves, on two nodes of
# different size. At first there is no cluster daemon at all.

setup_file() {
  export PROVISIONING=distributed
  . "$BATS_TEST_DIRNAME/daemon.bash"
  . "$BATS_TEST_DIRNAME/immediate.bash"
  start_immediate_cluster
  immediate_class zoned 'allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [south]}]}]'
  kubectl label node small zone=south
  start_daemon small --immediate=rank
  start_daemon large --immediate=rank
  eventually 30 tells_of_room small
  eventually 30 tells_of_room large
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  stop_cluster
}

setup() {
  . "$BATS_TEST_DIRNAME/leaders.bash"
  . "$BATS_TEST_DIRNAME/immediate.bash"
}

teardown() {
  kubectl delete pvc --all --wait=false
  eventually 60 no_volumes
}

# room NODE: what it tells of class `immediate`, in bytes; nothing where it tells nothing.
room() {
  kubectl -n flexlocal-system get csistoragecapacities -l "flexlocal.io/node=$1" -o json |
    jq -r '.items[] | select(.storageClassName == "immediate") | .capacity' | numfmt --from=auto
}
tells_of_room() { [ "$(room "$1")" -ge "${2:-1}" ]; }
restart_node() {
  stop_processes "$work" "$1"
  start_daemon "$@"
}

@test "without a cluster daemon, claims that just fill both nodes are all bound, and none is handed back" {
  make_claims immediate 1Gi a b c d
  eventually 60 bound_is 4
  [ "$(volumes_on large)" = 3 ]
  [ "$(volumes_on small)" = 1 ]
  [ "$(handed_back)" = 0 ]
}

@test "a class with allowedTopologies has volumes only there, whatever label it goes by" {
  make_claims pinned 512Mi a
  make_claims zoned 512Mi b c
  eventually 60 bound_is 3
  [ "$(volumes_on small)" = 3 ]
}

@test "claims of a node whose daemon is gone are taken by the next, while its room is still told" {
  eventually 30 tells_of_room large $((3 << 30))
  kill_daemon large
  make_claims immediate 300Mi a b c d e f
  eventually 60 bound_is 6
  [ "$(volumes_on small)" = 6 ]
  tells_of_room large
  start_daemon large --immediate=rank
}

@test "a node that is cordoned, or does not take part, takes none" {
  kubectl cordon large
  restart_node small --immediate=off
  eventually 30 tells_of_room small $((1 << 30))
  restart_node large --immediate=rank
  local before
  before=$(beats_of large)
  make_claims immediate 512Mi a b
  eventually 60 has_beaten large $((before + 2))
  [ "$(bound)" = 0 ]
  kubectl uncordon large
  eventually 60 bound_is 2
  [ "$(volumes_on large)" = 2 ]
  restart_node small --immediate=rank
}
# How often its daemon has renewed its Lease.
beats_of() {
  jq -r --arg name "node-$1" 'select(.verb == "update" and .objectRef.resource == "leases" and .objectRef.name == $name)
    | .auditID' "$work/cluster/audit.log" | sort -u | wc -l
}
has_beaten() { [ "$(beats_of "$1")" -ge "$2" ]; }

@test "without room the claim is told why, and bound when there is room" {
  start_cluster_daemon first --immediate=rank
  make_claims immediate 1Gi a b c d e
  eventually 60 bound_is 4
  last=$(waiting)
  eventually 60 event_says "pvc/$last" ProvisioningFailed '0 of 2 nodes have 1Gi in pool "default" for backend lvm: 2 pool full'
  claim_is "$last" Pending
  [ "$(handed_back)" = 0 ]
  gone=$(kubectl get pvc -o json | jq -r 'first(.items[] | select(.status.phase == "Bound") | .metadata.name)')
  kubectl delete pvc "$gone"
  eventually 90 claim_is "$last" Bound
}

@test "while a cluster daemon chooses, too, each claim has one node all the same" {
  stop_processes "$work" first
  start_cluster_daemon first --immediate=central
  eventually 40 leads first
  make_claims immediate 512Mi a b c d
  eventually 60 bound_is 4
  [ "$(kubectl get pv -o name | wc -l)" = 4 ]
}

@test "nothing that the daemons asked for was forbidden" {
  nothing_forbidden none
}
