# What an operator sees of the daemon: its health, its metrics, its log.

setup_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  export leader=cluster
  promtool=$("$BATS_TEST_DIRNAME/../lab/promtool")
  export promtool
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

teardown() {
  rm -f "$work/worker/broken"
  stop_processes "$work" worker
  stop_processes "$work" cluster limited
}

# served NAME: sets `pages` to where the daemon NAME serves its status pages.
served() {
  eventually 20 grep -q 'status pages are served' "$work/log/$1.log"
  pages=http://$(grep 'status pages are served' "$work/log/$1.log" | grep -o '127\.0\.0\.1:[1-9][0-9]*')
}

# The daemon that decides about claims, without status pages, where the node's does not.
start_decider() {
  is_central || return 0
  [ -e "$work/cluster.kubeconfig" ] || eventually 30 account_kubeconfig flexlocal-cluster cluster
  rm -f "$work/log/cluster.log"
  # Other tests here have disks that fail, and no scheduler would send them a claim.
  start_cluster_daemon cluster --register=false "$@"
}

# start_operated [FLAG...]: a daemon with status pages at a free port; sets `pages`.
start_operated() {
  rm -f "$work/log/worker.log"
  start_daemon worker --http-endpoint=127.0.0.1:0 "$@"
  served worker
}

# page PATH STATUS TEXT
page() {
  local status
  status=$(curl -s -o "$work/page" -w '%{http_code}' "$pages$1")
  echo "$status $(<"$work/page")"
  [ "$status" = "$2" ] && grep -qF "$3" "$work/page"
}

# shows LINE...: each is a line of the metrics, whole.
shows() {
  local line
  curl -fsS "$pages/metrics" >"$work/metrics" || return
  for line in "$@"; do grep -xF "$line" "$work/metrics" || { echo "not shown: $line"; return 1; }; done
}

# shown NAME...: of each there is at least one value.
shown() {
  local name
  curl -fsS "$pages/metrics" >"$work/metrics" || return
  for name in "$@"; do grep -qE "^${name}[ {]" "$work/metrics" || { echo "not shown: $name"; return 1; }; done
}

@test "it is healthy at once, and ready when it knows the cluster and its disks" {
  start_operated
  page /healthz 200 ok
  eventually 20 page /readyz 200 ok
  page /nothing 404 /metrics
}

@test "disks that cannot be looked at make it unready, in words, until they are mended" {
  start_operated
  eventually 20 page /readyz 200 ok
  touch "$work/worker/broken"
  # For want of room the disks are looked at anew, and else each minute.
  make_claim data 100Gi
  eventually 90 page /readyz 503 "the last look at this node's disks failed"
  page /readyz 503 "disk on fire"
  page /healthz 200 ok
  shows 'flexlocal_ready 0'
  rm "$work/worker/broken"
  eventually 30 page /readyz 200 ok
  shows 'flexlocal_ready 1'
  delete_claim data
}

@test "a plugin that no kubelet has called is warned of, while the daemon is ready still" {
  start_operated
  eventually 20 page /readyz 200 ok
  rm "$work/worker/locks/kubelet-init"
  eventually 60 grep -F "kubelet does not use this daemon's plugin" "$work/log/worker.log"
  grep -F "kubelet has not called the plugin's init" "$work/log/worker.log"
  page /readyz 200 ok
}

@test "promtool finds nothing to complain about while claims come and go" {
  start_operated
  eventually 20 page /readyz 200 ok
  "$promtool" check metrics <<<"$(curl -fsS "$pages/metrics")"
  start_decider
  make_claim data
  eventually 30 claim_is data Bound
  make_claim big 100Gi
  eventually 30 event_says pvc/big ProvisioningFailed "no room"
  delete_claim data
  delete_claim big
  eventually 30 no_volumes
  run "$promtool" check metrics <<<"$(curl -fsS "$pages/metrics")"
  echo "$output"
  [ "$status" = 0 ]
  [ -z "$output" ]
}

@test "a leader that may not read what it decides by is not ready, and says what it lacks" {
  kubectl create serviceaccount limited -n default
  account_namespace=default eventually 30 account_kubeconfig limited limited
  start_cluster_daemon limited --http-endpoint=127.0.0.1:0 --register=false --leader-election=false
  served limited
  eventually 20 page /readyz 503 "no complete list yet of persistentvolumeclaims, persistentvolumes, storageclasses, nodes, leases, volumecopies"
  page /healthz 200 ok
  kubectl create clusterrolebinding limited --clusterrole=cluster-admin --serviceaccount=default:limited
  eventually 60 page /readyz 200 ok
}

@test "the cluster daemon counts what it did, and the nodes without a daemon" {
  [ -e "$work/cluster.kubeconfig" ] || eventually 30 account_kubeconfig flexlocal-cluster cluster
  start_operated
  eventually 20 page /readyz 200 ok
  # Other tests here have disks that fail, and no scheduler would send them a claim.
  start_cluster_daemon cluster --http-endpoint=127.0.0.1:0 --register=false
  served cluster
  eventually 30 shows 'flexlocal_leader 1' 'flexlocal_nodes{daemon="ready"} 1' \
    'flexlocal_nodes{daemon="absent"} 0'
  # One that the scheduler chose before it was lost.
  kubectl create -f - <<END
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: lost
  annotations: {volume.kubernetes.io/selected-node: gone}
spec: {storageClassName: flexlocal, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
END
  eventually 30 shows 'flexlocal_claims_handed_back_total 1'
  kubectl delete pvc lost
  stop_processes "$work" worker
  # Its Lease runs out.
  eventually 75 shows 'flexlocal_nodes{daemon="absent"} 1'
  shown flexlocal_lost_volumes_removed_total flexlocal_lost_volumes_told_total \
    flexlocal_claims_without_room_told_total rest_client_requests_total workqueue_depth \
    flexlocal_reflector_lists_total process_resident_memory_bytes
  run "$promtool" check metrics <<<"$(curl -fsS "$pages/metrics")"
  echo "$output"
  [ "$status" = 0 ]
  [ -z "$output" ]
}

@test "promtool does complain about metrics that are wrong" {
  run "$promtool" check metrics <<<'# TYPE x counter
x 1'
  echo "$output"
  [ "$status" != 0 ]
}

@test "claims, volumes and pools are counted" {
  start_operated
  decider=worker
  if is_central; then
    start_decider --http-endpoint=127.0.0.1:0
    decider=cluster
  fi
  make_claim data
  eventually 30 claim_is data Bound
  eventually 20 shows 'flexlocal_ready 1' \
    "flexlocal_pool_size_bytes{pool=\"default\",backend=\"lvm\"} $("$work/worker/vgs" --noheadings --units b --nosuffix -o vg_size worker | tr -d ' ')" \
    "flexlocal_pool_free_bytes{pool=\"default\",backend=\"lvm\"} $(free_bytes worker)" \
    'flexlocal_mounts_without_io_limits_total 0' 'flexlocal_mounts_refused_total 0'
  eventually 20 shows 'flexlocal_volume_copies{state="Promised"} 1' 'flexlocal_volume_copies{state="Lost"} 0'
  served "$decider"
  eventually 10 shows 'controller_persistentvolumeclaim_provision_total{class="flexlocal",source=""} 1' \
    'controller_persistentvolumeclaim_provision_duration_seconds_count{class="flexlocal",source=""} 1' \
    'flexlocal_volumes{phase="Bound"} 1' 'flexlocal_informer_objects{kind="persistentvolumes"} 1'
  delete_claim data
  eventually 30 no_volumes
  eventually 10 shows 'controller_persistentvolume_delete_total{class="flexlocal"} 1'
}

@test "requests, watches, the queue and the process are shown" {
  start_operated
  eventually 20 page /readyz 200 ok
  start_decider
  make_claim data
  eventually 30 claim_is data Bound
  shown 'rest_client_requests_total\{code="200",method="PATCH"\}' flexlocal_volume_copies
  shown rest_client_requests_total rest_client_request_duration_seconds_bucket workqueue_depth \
    workqueue_adds_total workqueue_retries_total workqueue_queue_duration_seconds_count \
    workqueue_work_duration_seconds_count flexlocal_reflector_lists_total \
    flexlocal_reflector_watches_total flexlocal_reflector_watch_failures_total \
    process_cpu_seconds_total process_resident_memory_bytes \
    process_open_fds process_start_time_seconds
  version=$("$provisioner" --version)
  shows "flexlocal_build_info{version=\"${version#* }\"} 1"
  delete_claim data
  eventually 30 no_volumes
}

@test "requests are limited only where the API server has no priority and fairness" {
  start_operated
  eventually 20 shows 'flexlocal_api_requests_per_second_limit 0'
  stop_processes "$work" worker
  "$BATS_TEST_DIRNAME/../lab/control-plane" restart-api "$work/cluster" --enable-priority-and-fairness=false
  start_operated
  eventually 20 page /readyz 200 ok
  shows 'flexlocal_api_requests_per_second_limit 100'
  stop_processes "$work" worker
  "$BATS_TEST_DIRNAME/../lab/control-plane" restart-api "$work/cluster"
  start_operated --kube-api-qps=7
  eventually 20 page /readyz 200 ok
  shows 'flexlocal_api_requests_per_second_limit 7'
}

@test "with --log-format=json each line of the log is one object with time, level and message" {
  touch "$work/worker/broken"
  start_operated --log-format=json --log-level=debug
  start_decider --log-format=json --log-level=debug
  make_claim data
  eventually 30 page /readyz 503 "disk on fire"
  eventually 30 grep -qE 'will be tried again|could not be brought together' "$work/log/worker.log"
  rm "$work/worker/broken"
  eventually 60 claim_is data Bound
  volume=$(volume_of data)
  delete_claim data
  eventually 30 no_volumes
  stop_processes "$work" worker
  stop_processes "$work" cluster
  jq -es 'length > 5 and all(.[]; (.time | test("^[0-9-]{10}T[0-9:]{8}[.][0-9]{3}Z$"))
    and (.level | IN("debug", "info", "warning", "error")) and (.message | length > 0))' "$work/log/worker.log"
  # Lines about the claim say which, and which volume is its own.
  says_of_claim worker "copy promised" "copy withdrawn"
  decider=worker
  ! is_central || decider=cluster
  says_of_claim "$decider" "copy ordered" "volume provisioned" "volume let go"
}

# says_of_claim NAME MESSAGE...: that daemon's log.
says_of_claim() {
  local message
  for message in "${@:2}"; do
    jq -es --arg message "$message" --arg volume "$volume" 'map(select(.message == $message)) |
      length > 0 and all(.[]; .namespace == "default" and .claim == "data" and .volume == $volume)' "$work/log/$1.log"
  done
}

@test "an address that cannot be listened at is one clear line, and the daemon does not start" {
  start_operated
  run env -i timeout 30 "$provisioner" node --node-name=worker --kubeconfig="$work/daemon.kubeconfig" \
    --node-config="$work/worker.conf" --http-endpoint="${pages#http://}"
  echo "$output"
  [ "$status" = 1 ]
  [ "${#lines[@]}" = 1 ]
  [[ $output == *"--http-endpoint: listening at ${pages#http://}: Address already in use"* ]]
}

@test "without --http-endpoint nothing listens" {
  rm -f "$work/log/worker.log"
  start_daemon worker
  eventually 20 grep -q 'msg="node daemon started"' "$work/log/worker.log"
  run ss -Hlntp
  echo "$output"
  [ "$status" = 0 ]
  [[ $output != *"pid=$(process_id "$work" worker),"* ]]
}
