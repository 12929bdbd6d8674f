# shellcheck shell=bash disable=SC2154 # shared with api-away.bats
# Servers of the control plane that are gone for a while, and what becomes of daemons and disks meanwhile.
# shellcheck source-path=SCRIPTDIR
. "$BATS_TEST_DIRNAME/central.bash"
. "$BATS_TEST_DIRNAME/leaders.bash"

nodes=(one two three)
daemons=(first second "${nodes[@]}")

# Daemons with the times that they ship with, for what they cost is measured. No kubelet restarts them.
start_shipped_agent() {
  call_init "$1"
  [ -e "$work/$1.kubeconfig" ] || eventually 30 node_kubeconfig "$1"
  start_process "$work" "$1" env -i "$provisioner" node --node-name="$1" --kubeconfig="$work/$1.kubeconfig" \
    --node-config="$work/$1.conf" --state-dir="$work/$1/state" --lock-dir="$work/$1/locks" --http-endpoint=127.0.0.1:0
}
start_shipped_leader() {
  start_process "$work" "$1" env -i "$provisioner" cluster --kubeconfig="$work/$1.kubeconfig" --http-endpoint=127.0.0.1:0
}

# stop_servers NAME...: as their machine dies; how they were started is kept for start_servers.
stop_servers() {
  local name pid
  gone_since=$(now)
  for name; do
    pid=$(process_id "$work/cluster" "$name")
    cp "/proc/$pid/cmdline" "$work/$name.cmdline"
    kill -KILL "$pid"
    stop_processes "$work/cluster" "$name"
  done
}

# start_servers: those that were stopped. The API server is judged by once it is ready; its clients end where it is not
# so within ten seconds.
start_servers() {
  start_again etcd
  start_again kube-apiserver
  eventually 120 api "$work/cluster" GET /readyz
  back_since=$(now) back_at=$SECONDS
  echo "$gone_since $back_since" >>"$work/cluster/unready"
  start_again kube-controller-manager
  start_again kube-scheduler
}
start_again() {
  local command=()
  [ -e "$work/$1.cmdline" ] || return 0
  mapfile -d '' command <"$work/$1.cmdline"
  rm -f "$work/$1.cmdline"
  start_process "$work/cluster" "$1" "${command[@]}"
}

# pass SECONDS: what is waited for is the time itself.
pass() {
  local end=$((SECONDS + $1))
  eventually $(($1 + 60)) is_over "$end"
}
is_over() { ((SECONDS >= $1)); }

# metric NAME DAEMON: the sum of all its values.
metric() {
  local address
  address=$(grep 'status pages are served' "$work/log/$2.log" | tail -n 1 | grep -o '127\.0\.0\.1:[1-9][0-9]*') || return
  curl -fsS "http://$address/metrics" | awk -v "name=$1" '$1 ~ "^" name "({|$)" { sum += $NF } END { print sum + 0 }'
}

# costs_of DAEMON: its process, seconds of processor with its children's, requests of watches and work, how often a
# thread of it woke, lines of log, KiB of memory, open files. An election and heartbeats count no requests: each wakes.
costs_of() {
  local pid stat ticks requests
  pid=$(process_id "$work" "$1") || {
    echo "$1 is not running any more" >&2
    return 1
  }
  stat=$(<"/proc/$pid/stat")
  read -r -a stat <<<"${stat##*) }"
  ticks=$((stat[11] + stat[12] + stat[13] + stat[14]))
  requests=$(metric rest_client_requests_total "$1") || return
  echo "$pid $((ticks / $(getconf CLK_TCK))) $requests" \
    "$(cat "/proc/$pid"/task/*/status | awk '/^voluntary/ { sum += $2 } END { print sum }') $(wc -l <"$work/log/$1.log")" \
    "$(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status") $(find "/proc/$pid/fd" -mindepth 1 | wc -l)"
}
note_costs() {
  local name
  for name in "${daemons[@]}"; do costs_of "$name" >"$work/$name.costs" || return 1; done
}

# judge_costs SECONDS: all are the processes that they were, and what they did since note_costs is bounded. The
# figures are printed.
judge_costs() {
  local name before after failed=''
  for name in "${daemons[@]}"; do
    read -r -a before <"$work/$name.costs"
    after=$(costs_of "$name") || return 1
    read -r -a after <<<"$after"
    echo "# $name, $1 s: $((after[1] - before[1])) s of processor, $((after[2] - before[2])) requests," \
      "woken $((after[3] - before[3])) times, $((after[4] - before[4])) lines of log, $((after[5] - before[5])) KiB more," \
      "${before[6]} files open and then ${after[6]}" >&3
    { [ "${after[0]}" = "${before[0]}" ] && is_cheap "$1"; } || failed+=" $name"
  done
  [ -z "$failed" ] || {
    echo "too much:$failed" >&2
    return 1
  }
}
# A fiftieth of a processor, a request in two seconds, a line in five; of each some that come at once; and no memory
# or descriptor for each attempt. An agent looks at its devices each second, which wakes it eight times.
is_cheap() {
  ((after[1] - before[1] <= 3 + $1 / 50 && after[2] - before[2] <= 60 + $1 / 2 && after[3] - before[3] <= 500 + $1 * 15 &&
    after[4] - before[4] <= 60 + $1 / 5 && after[5] - before[5] <= 8192 && after[6] <= before[6] + 20))
}

# disks [VOLUME...]: what is on all disks, and all records but those of these volumes. One that is promised is begun
# all the time, and its record says so for a moment.
disks() {
  local node but=() volume
  for volume; do but+=(! -name "$volume"); done
  for node in "${nodes[@]}"; do
    "$work/$node/lvs" --noheadings -o lv_name,lv_uuid,lv_size,lv_tags "$node" || return
    find "$work/$node/state/volumes" -type f -name 'pvc-*' "${but[@]}" -exec cat {} + |
      jq -cS 'if .state == "ready" then . else {copy, claimUID, size, order} end' | sort || return
  done
}

# objects: what the API server has of volumes, without what every look changes, and without orders that were withdrawn:
# those go by themselves.
objects() {
  kubectl get volumecopies,pv,pvc -o json | jq -er '.items[] | select(.spec.desiredState | IN("Removed", "Withdrawn") | not) | [.kind, .metadata.name, .metadata.uid, .metadata.deletionTimestamp,
    .spec.desiredState, .status.state, .status.phase, .spec.volumeName, .spec.claimRef.uid] | join(" ")' | sort
}
# nodes_say: the conditions, the labels and taints of Nodes.
nodes_say() {
  kubectl get nodes -o json | jq -er '.items[] | "\(.metadata.name) \(.metadata.labels) \(.spec.taints)
    \([.status.conditions[] | "\(.type) \(.status)"])"' | sort
}
rooms() {
  kubectl -n flexlocal-system get csistoragecapacities -o json |
    jq -er '.items[] | "\(.metadata.uid) \(.metadata.labels["flexlocal.io/node"]) \(.storageClassName)"' | sort
}
# tells_room NODE: what is free of 4 GiB beside what is served there, in volumes of 512 MiB.
tells_room() {
  local volumes
  volumes=$(kubectl get volumecopies -o json | jq --arg node "$1" '[.items[] | select(.spec.nodeName == $node
    and .spec.desiredState == "Serving")] | length')
  told "$1" ". == \"$((4092 - 512 * volumes))Mi\""
}

# is_as FILE COMMAND...: it prints what is in the file.
is_as() {
  "${@:2}" >"$work/as" && diff "$1" "$work/as"
}

# removals: requests of ours that take something away of what there was before the servers went.
removals() {
  jq -r --arg since "$gone_since" --rawfile before "$work/objects" 'select(
    (.user.username // "" | startswith("system:serviceaccount:flexlocal-system:"))
    and .requestReceivedTimestamp >= $since and (.verb | IN("delete", "deletecollection")) and .objectRef.resource != "leases"
    and (.objectRef.name // "" | . as $name | $before | contains($name)))
    | "\(.user.username) \(.verb) \(.requestURI)"' "$work/cluster/audit.log"
}

# has_beaten NODE: since the API server is back.
has_beaten() { lease_of "$1" ".spec.renewTime > \"$back_since\" and .metadata.annotations[\"flexlocal.io/ready\"] == \"true\""; }
one_leads() {
  local holder
  holder=$(kubectl -n flexlocal-system get lease flexlocal-cluster -o json |
    jq -er --arg since "$back_since" 'select(.spec.renewTime > $since).spec.holderIdentity')
  [ -n "$holder" ] && { leads first || leads second; }
}
# took WHAT: prints when that was so.
took() { echo "# $1 $((SECONDS - back_at)) s after the API server was back" >&3; }
