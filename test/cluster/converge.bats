# Whoever is killed in between, in the end every claim has its one volume, and no volume is left over.
#
#   KILLS=200 CLAIMS=500    more of it: make soak

setup_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  start_cluster
  make_node worker 400G
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  stop_cluster
}

setup() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  . "$BATS_TEST_DIRNAME/converge.bash"
  kills=${KILLS:-20} claims=${CLAIMS:-60}
}

teardown() {
  end_test worker twin cluster leader
}

@test "the API server is killed ten times while claims come and go" {
  start_daemon worker
  for round in {1..10}; do
    make_claims 10
    lab restart-api
    mount_claims 2
    drop_claims 4
  done
  eventually "$resync" all_is_right
  [ "${#numbers[@]}" = 60 ]
}

@test "the daemon is killed at random instants while claims come and go" {
  made=0
  for ((round = 1; round <= kills; round++)); do
    start_daemon worker
    share=$((claims * round / kills - made))
    made=$((made + share))
    if ((share > 0)); then make_claims "$share"; fi
    mount_claims 1
    if ((share > 0 && round % 2 == 1)); then drop_claims "$share"; fi
    # Between nothing and three seconds into its work.
    read -r -t "$((RANDOM % 3)).$((RANDOM % 1000))" <> <(:) || true
    kill_daemon worker
    # And what gives the orders, which takes longer to begin: not each time.
    if is_central && ((round % 5 == 0)); then kill_daemon leader; fi
  done
  start_daemon worker
  eventually "$resync" all_is_right
}

@test "two daemons for one node by mistake make each volume once, and remove each" {
  # The log of the tests before says the same of a daemon that has ended.
  rm -f "$work/log/worker.log"
  start_daemon worker
  eventually 30 grep -q 'msg="node daemon started"' "$work/log/worker.log"
  start_twin "${way[@]}"
  eventually 30 twin_has_ended
  grep -q 'another node daemon works on this host' "$work/log/twin.log"
  make_claims 40
  eventually "$resync" claims_are_right
  mount_claims 10
  drop_claims 20
  eventually "$resync" all_is_right
}

start_twin() {
  start_process "$work" twin env -i "$provisioner" node --node-name=worker \
    --kubeconfig="$work/daemon.kubeconfig" --node-config="$work/worker.conf" \
    --state-dir="$work/worker/state" --lock-dir="$work/worker/locks" "$@"
}
twin_has_ended() { ! process_id "$work" twin >/dev/null; }

# event_at TEST: whether the time of some event is so, as jq says it.
event_at() { kubectl get events -o json | jq -en "input | any(.items[].lastTimestamp // empty | fromdate; $1)"; }

@test "the clock of both daemons is set an hour back and forth" {
  stop_daemons worker
  daemon_environment=("LD_PRELOAD=$(dpkg -L libfaketime | grep '/libfaketimeMT.so.1$')"
    "FAKETIME_TIMESTAMP_FILE=$work/clock" FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1)
  echo +0 >"$work/clock"
  start_daemon worker
  is_central || {
    eventually 30 account_kubeconfig flexlocal-cluster cluster
    start_cluster_daemon cluster
  }
  for offset in +0 +1h -1h +1h +0 -1h; do
    echo "$offset" >"$work/clock"
    make_claims 6
    eventually "$resync" claims_are_right
    mount_claims 2
    drop_claims 3
  done
  eventually "$resync" all_is_right
  # It was so for the daemons: their events say the time.
  event_at '. > now + 3000'
  event_at '. < now - 3000'
}
