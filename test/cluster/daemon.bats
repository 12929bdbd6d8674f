# The daemon as a program: its flags, its start, its end, and a control plane that goes away.

setup_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  start_cluster
  make_node worker 4G
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  stop_cluster
}

setup() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
}

# one_line TEXT FLAG...: it fails at once, with one line that says TEXT.
one_line() {
  run env -i timeout 30 "$provisioner" "${@:2}"
  echo "$status: $output"
  [ "$status" != 0 ]
  [ "$status" != 124 ]
  [ "${#lines[@]}" = 1 ]
  [[ $output == *"$1"* ]]
}

@test "wrong flags are one clear line each" {
  one_line "no role"
  one_line 'role "nodes" is not known; accepted: node, cluster, budget' nodes --node-name=worker
  one_line "--node-name is missing" node
  one_line "unrecognised option '--colour'" node --node-name=worker --colour
  one_line "--worker-threads: accepted are 1 to 64" node --node-name=worker --worker-threads=0
  one_line "--timeout=soon: accepted are durations such as 500ms, 30s, 5m" node --node-name=worker --timeout=soon
  one_line "this is no pod" node --node-name=worker "--node-config=$work/worker.conf"
  one_line "node.conf is missing; write" node --node-name=worker --node-config=/nowhere/node.conf
}

@test "an API server that cannot be reached, or is not trusted, is one clear line" {
  sed 's#server: .*#server: https://127.0.0.1:1#' "$work/daemon.kubeconfig" >"$work/nowhere.kubeconfig"
  one_line "https://127.0.0.1:1" node --node-name=worker --kubeconfig="$work/nowhere.kubeconfig" --node-config="$work/worker.conf"
  sed '/certificate-authority-data/d' "$work/daemon.kubeconfig" >"$work/no-ca.kubeconfig"
  one_line "certificate" node --node-name=worker --kubeconfig="$work/no-ca.kubeconfig" --node-config="$work/worker.conf"
  one_line "nodes \"nobody\" not found" node --node-name=nobody --kubeconfig="$work/daemon.kubeconfig" --node-config="$work/worker.conf"
}

@test "SIGTERM ends it in order" {
  start_daemon worker
  eventually 20 grep -q 'msg="node daemon started"' "$work/log/worker.log"
  stop_processes "$work" worker
  grep -q 'msg="node daemon stopped"' "$work/log/worker.log"
}

@test "the API server goes away and comes back: the daemon goes on" {
  start_daemon worker
  make_claim first
  eventually 30 claim_is first Bound
  "$BATS_TEST_DIRNAME/../lab/control-plane" restart-api "$work/cluster"
  make_claim second
  eventually 60 claim_is second Bound
  stop_processes "$work" worker
  delete_claim first
  delete_claim second
}

@test "nothing that the daemon asked for was forbidden" {
  nothing_forbidden none
  grep -q 'system:serviceaccount:flexlocal-system:flexlocal-node' "$work/cluster/audit.log"
}
