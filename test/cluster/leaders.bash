# shellcheck shell=bash disable=SC2154 # shared with cluster_role, immediate-rank and stopped-leader
# Two cluster daemons, `first` and `second`, that stand for election.
# shellcheck source-path=SCRIPTDIR
. "$BATS_TEST_DIRNAME/daemon.bash"

# The other's, with the same rights, so that the audit log tells them apart.
second_account() {
  kubectl -n flexlocal-system create serviceaccount flexlocal-cluster-2
  allow_second -n flexlocal-system rolebinding/flexlocal-cluster
  allow_second -n flexlocal-nodes rolebinding/flexlocal-cluster-nodes
  allow_second clusterrolebinding/flexlocal-cluster
}
# allow_second BINDING: what that allows the first.
allow_second() {
  kubectl patch "$@" --type json -p '[{"op": "add", "path": "/subjects/-",
    "value": {"kind": "ServiceAccount", "name": "flexlocal-cluster-2", "namespace": "flexlocal-system"}}]'
}

leads() { [ "$(grep -E 'msg="?(leading|no longer leading|lease given back)' "$work/log/$1.log" | tail -n 1 | grep -c 'msg=leading')" = 1 ]; }
lead_by() { eventually 40 leads "$1"; }
now() { date -u +%FT%T.%6NZ; }
