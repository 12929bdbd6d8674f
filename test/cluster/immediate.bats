# Claims that do not wait for a pod: the cluster daemon chooses their node, on two nodes of different
# size.

setup_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  export leader=first
  . "$BATS_TEST_DIRNAME/immediate.bash"
  start_immediate_cluster
  start_daemon small
  start_daemon large
  start_cluster_daemon first
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  stop_cluster
}

setup() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  . "$BATS_TEST_DIRNAME/immediate.bash"
}

teardown() {
  kubectl delete pvc --all --wait=false
  eventually 60 no_volumes
}

@test "claims get volumes where there is most room, as many as fit, and the next when one goes" {
  make_claims immediate 1Gi a b c d e
  eventually 60 bound_is 4
  [ "$(volumes_on large)" = 3 ]
  [ "$(volumes_on small)" = 1 ]
  last=$(waiting)
  eventually 60 event_says "pvc/$last" ProvisioningFailed '0 of 2 nodes have 1Gi in pool "default" for backend lvm: 2 pool full'
  [ "$(handed_back)" = 0 ]
  gone=$(kubectl get pvc -o json | jq -r 'first(.items[] | select(.status.phase == "Bound") | .metadata.name)')
  kubectl delete pvc "$gone"
  eventually 90 claim_is "$last" Bound
}

@test "a class with allowedTopologies has volumes only there" {
  make_claims pinned 512Mi a b
  eventually 60 bound_is 2
  [ "$(volumes_on small)" = 2 ]
  make_claims pinned 3Gi c
  eventually 60 event_says pvc/c ProvisioningFailed '0 of 1 nodes have 3Gi in pool "default" for backend lvm: 1 pool full'
}

choice_of() { kubectl get pvc "$1" -o 'jsonpath={.metadata.annotations.volume\.kubernetes\.io/selected-node}'; }

@test "switched off, such claims stay pending and are told so" {
  stop_processes "$work" first
  start_cluster_daemon first --immediate=off
  make_claims immediate 512Mi a
  eventually 60 event_says pvc/a ProvisioningFailed '(--immediate=off); use a class with WaitForFirstConsumer'
  claim_is a Pending
  no_volumes
  [ -z "$(choice_of a)" ]
}

# It has less room than the other: nobody here would choose it.
@test "switched off, such a claim has a volume on the node that somebody else's controller chooses" {
  make_claims immediate 512Mi a b
  for claim in a b; do
    eventually 60 event_says "pvc/$claim" ProvisioningFailed '(--immediate=off)'
    claim_is "$claim" Pending
  done
  no_volumes
  kubectl annotate pvc a volume.kubernetes.io/selected-node=small
  eventually 60 claim_is a Bound
  [ "$(volumes_on small)" = 1 ]
  claim_is b Pending
  kubectl annotate pvc b volume.kubernetes.io/selected-node=large
  eventually 60 claim_is b Bound
  [ "$(volumes_on large)" = 1 ]
}

@test "nothing that the daemons asked for was forbidden" {
  nothing_forbidden none
}
