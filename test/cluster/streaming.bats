# Lists that come as streams (WatchList), and what an API server says by the way: on one that has
# them, on one that has them switched off, and on one that is older than they are.

setup_file() {
  export leader=first
  . "$BATS_TEST_DIRNAME/daemon.bash"
  start_cluster
  . "$BATS_TEST_DIRNAME/../lab/api.bash"
  eventually 30 account_kubeconfig flexlocal-cluster first
  make_node worker 4G
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  stop_cluster
}

setup() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  . "$BATS_TEST_DIRNAME/../lab/api.bash"
  rm -f "$work"/log/{worker,first}.log
  of_node=(volumecopies nodes) decider=first
  is_central || of_node=("${of_cluster[@]}") decider=worker
}

teardown() {
  stop_processes "$work" worker
  stop_processes "$work" first
  delete_claim data
}

# requests ROLE SINCE: its lists and watches of what its reflectors follow, as "RESOURCE CODE QUERY".
requests() {
  jq -r --arg user "system:serviceaccount:flexlocal-system:flexlocal-$1" --arg since "$2" 'select(
    .user.username == $user and .requestReceivedTimestamp >= $since and (.verb | IN("list", "watch"))
    and (.objectRef.resource | IN("persistentvolumeclaims", "persistentvolumes", "storageclasses", "nodes", "volumecopies")))
    | "\(.objectRef.resource) \(.responseStatus.code) \(.requestURI | split("?")[1])"' "$work/cluster/audit.log" | sort -u
}
now() { date -u +%FT%T.%6NZ; }

# follows ROLE SINCE PATTERN RESOURCE...: a request for each resource that fits.
follows() {
  local resource
  requests "$1" "$2" >"$work/requests"
  for resource in "${@:4}"; do grep -qE "^$resource $3" "$work/requests" || return 1; done
}

# Their opposites.
never_asks() {
  requests "$1" "$2" >"$work/requests"
  ! grep -E "$3" "$work/requests"
}
never_logged() { ! grep -hE "$1" "$work"/log/{worker,first}.log; }

readonly streams='200 (.*&)?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds='
readonly refused_streams='(400|422) .*sendInitialEvents=true'
readonly from_cache='200 (.*&)?resourceVersion=0$'
readonly consistent='200 (.*&)?limit=500$'
# What whoever gives orders follows; an agent that gives none follows only what it carries out. DECIDER:
# whose log tells of PersistentVolumes.
readonly of_cluster=(persistentvolumeclaims persistentvolumes storageclasses nodes volumecopies)

# A claim that is made while the daemons run gets its volume, and is followed to its end.
works() {
  make_claim data
  eventually 60 claim_is data Bound
  delete_claim data
  eventually 60 no_volumes
}

@test "the daemons' lists come as streams, and as nothing else" {
  ! is_older_than 1.34 || skip "version: this API server has no streaming lists"
  since=$(now)
  start_daemon worker
  start_cluster_daemon first
  eventually 60 follows node "$since" "$streams" "${of_node[@]}"
  eventually 60 follows cluster "$since" "$streams" "${of_cluster[@]}"
  works
  never_asks node "$since" 'limit=|resourceVersion=0$'
  never_asks cluster "$since" 'limit=|resourceVersion=0$'
  never_logged 'list failed|watch failed|no streaming lists'
}

@test "the API server's warnings are logged, each once" {
  ! is_older_than 1.30 || skip "version: this API server has no policies that warn"
  kubectl apply -f - <<END
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: warn}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [persistentvolumes]}]
  validations: [{expression: "false", message: "local disks are old-fashioned"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: warn}
spec: {policyName: warn, validationActions: [Warn]}
END
  start_daemon worker
  start_cluster_daemon first
  # The API server hears of a policy some time after it is made.
  warned() {
    works && grep -q 'msg="the API server warns".*local disks are old-fashioned' "$work/log/$decider.log"
  }
  eventually 120 warned
  works
  [ "$(grep -c 'local disks are old-fashioned' "$work/log/$decider.log")" = 1 ]
  kubectl delete validatingadmissionpolicybinding,validatingadmissionpolicy warn
}

# The last one: the API server stays so.
@test "without streaming lists an agent reads them from the cache, and whoever gives orders consistent ones" {
  is_older_than 1.34 || "$BATS_TEST_DIRNAME/../lab/control-plane" restart-api "$work/cluster" --feature-gates=WatchList=false
  # It is ready before its caches are (429, "storage is (re)initializing").
  eventually 60 kubectl get "$(IFS=, && echo "${of_cluster[*]}")" -A
  since=$(now)
  start_daemon worker
  start_cluster_daemon first
  eventually 60 follows node "$since" "$refused_streams" "${of_node[@]}"
  if is_central; then
    eventually 60 follows node "$since" "$from_cache" "${of_node[@]}"
    [ "$(grep -c 'no streaming lists' "$work/log/worker.log")" = ${#of_node[@]} ]
  else
    eventually 60 follows node "$since" "$consistent" "${of_node[@]}"
  fi
  eventually 60 follows cluster "$since" "$consistent" "${of_cluster[@]}"
  works
  # The node's memory may be as old as the cache, whoever gives orders.
  if is_central; then never_asks node "$since" limit=; else never_asks node "$since" '^[^n].*resourceVersion=0$'; fi
  never_asks cluster "$since" 'resourceVersion=0$'
  never_logged 'list failed'
}
