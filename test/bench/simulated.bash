# shellcheck shell=bash
# Node daemons without disks (node_simulator.cc) and a real leader on a control plane of their own:
# what runs on one in this folder sources it, with `here`, `simulator`, `provisioner`,
# `scratch` (a new folder) and `deadline` (s) set.
# `limits=shipped`: kube-controller-manager and kube-scheduler limit their requests as Kubernetes ships
# them; hardly at all unless it is set.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2034 # what is set for those that source it
: "${here:?}" "${simulator:?}" "${provisioner:?}" "${scratch:?}" "${deadline:?}"
. "$here/../lab/api.bash"
. "$here/../lab/eventually.bash"
work=$scratch
# Of the installation, and of the nodes' Leases.
readonly name_space=flexlocal-system lease_space=flexlocal-nodes
processes=() pipes=() others=() watcher='' leaders=0 synced_ms=0
readonly claims_path=/api/v1/namespaces/default/persistentvolumeclaims

say() { echo "bench: $1" >&2; }

fail() {
  say "$1"
  exit 1
}

show_state() { tail -n 3 "$scratch/log"; }

# shellcheck disable=SC2317 # called by the trap
stop() {
  local status=$?
  trap - EXIT
  trap : INT TERM HUP # a second signal must not cut this short
  for process in "${processes[@]}" "${others[@]}" $watcher; do kill "$process" 2>/dev/null || true; done
  end_cluster
  exit "$status"
}

# start_cluster NODE...: as Node objects, and the class.
start_cluster() {
  local node
  mkdir -p "$scratch"
  trap stop EXIT
  trap 'trap : INT TERM HUP; exit 130' INT
  trap 'trap : INT TERM HUP; exit 143' TERM HUP
  "$here/../lab/control-plane" up "$scratch/cluster" --node-grace 3600s \
    ${limits:+--client-limits "$limits"} >&2
  # shellcheck source=/dev/null
  . "$scratch/cluster/env"
  api_port "$scratch/cluster" >"$scratch/port"
  for node; do "$here/../lab/control-plane" node "$scratch/cluster" "$node" 64Gi; done
  make_class flexlocal WaitForFirstConsumer
}

end_cluster() { "$here/../lab/control-plane" down "$scratch/cluster" >&2; }

# claim_json NAME EXTRA [CLASS]: `extra` is more of its metadata.
claim_json() {
  printf '{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"%s"%s},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"%s","resources":{"requests":{"storage":"1Gi"}}}}' "$1" "$2" "${3:-flexlocal}"
}

# volume_json NAME: a PersistentVolume that waits for the claim of that name, as an administrator makes
# it beforehand.
volume_json() {
  printf '{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"%s"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"storageClassName":"flexlocal","persistentVolumeReclaimPolicy":"Retain","claimRef":{"namespace":"default","name":"%s"},"flexVolume":{"driver":"flexlocal.io/flexlocal"}}}' "$1" "$1"
}

# post PATH FILE [COUNT]: each line of FILE as an object, so many requests at once, 50 unless given, on
# few connections. One that is answered with 5xx, as an API server with more than it can do answers some,
# is sent again.
post() {
  local token number=0 line at
  token=$(cut -d, -f1 "$scratch/cluster/pki/tokens.csv")
  at=$(mktemp -d "$scratch/post.XXXXXX")
  while IFS= read -r line; do
    printf %s "$line" >"$at/$number"
    [ "$number" = 0 ] || echo next
    printf 'url="https://127.0.0.1:%s%s"\ndata="@%s"\noutput="/dev/null"\nfail\nsilent\nshow-error\nretry=5\n' \
      "$(<"$scratch/port")" "$1" "$at/$number"
    printf 'cacert="%s"\nheader="Content-Type: application/json"\nheader="Authorization: Bearer %s"\n' \
      "$scratch/cluster/pki/ca.crt" "$token"
    number=$((number + 1))
  done <"$2" >"$at/requests"
  curl --no-progress-meter --parallel --parallel-immediate --parallel-max "${3:-50}" --config "$at/requests"
  rm -r "$at"
}

# bind PREFIX COUNT: makes so many claims from the file PREFIX.claims, and pods from PREFIX.pods if
# there is one; sets `took`, in ns, until all are Bound. That is read from
# the API server's audit log: it ends a watch that cannot keep up. What it could not say of a write
# in time (5xx) may have been written all the same: those claims are asked for. Fails after
# `deadline`.
bind() {
  local start status=0
  rm -f "$scratch/watch" && mkfifo "$scratch/watch"
  tail --lines=0 --follow "$scratch/cluster/audit.log" >"$scratch/watch" &
  watcher=$!
  exec 4<"$scratch/watch"
  start=$(date +%s%N)
  { post "$claims_path" "$scratch/$1.claims" && post_pods "$1"; } &
  # That controller writes a claim's status once, when it is bound. Interactive: each line when it comes.
  # shellcheck disable=SC2016 # awk expands it
  timeout "$deadline" mawk -W interactive -v prefix="$1" -v claims="$2" '
    /"verb":"update"/ && /"resource":"persistentvolumeclaims"/ && /"subresource":"status"/ &&
      /:persistent-volume-binder"/ && /"code":(200|5..)/ && match($0, "\"name\":\"" prefix "-[0-9]+\"") {
        name = substr($0, RSTART + 8, RLENGTH - 9)
        if ($0 ~ /"code":200/) sure[name] = 1
        if (!seen[name]++ && ++count == claims) exit
      }
    END {
      for (name in seen) if (!sure[name]) print name
      exit count != claims
    }' <&4 >"$scratch/unsure" || status=$?
  [ "$status" != 0 ] || await_bound "$scratch/unsure" || status=$?
  took=$(($(date +%s%N) - start))
  wait "$!"
  kill "$watcher" && watcher=''
  exec 4<&-
  return "$status"
}

# await_bound FILE: a name a line.
await_bound() {
  local name
  while read -r name; do eventually 60 is_bound "$name" || return 1; done <"$1"
}
is_bound() { [ "$(kubectl get pvc "$1" -o jsonpath='{.status.phase}')" = Bound ]; }

post_pods() {
  [ ! -e "$scratch/$1.pods" ] || post /api/v1/namespaces/default/pods "$scratch/$1.pods"
}

# start_simulator NODE[,NODE...] BYTES orders|off|rank: its words come through a pipe of its own. The
# last two as node_simulator.cc has them.
start_simulator() {
  local pipe fifo=$scratch/${#pipes[@]}.out
  [ -p "$fifo" ] || mkfifo "$fifo"
  exec {pipe}<>"$fifo"
  # The variable is the image's, see scripts/image.
  GNUTLS_NO_IMPLICIT_INIT=1 "$simulator" "$1" "$KUBECONFIG" "$2" "$name_space" "$lease_space" "$3" \
    1>&"$pipe" 2>>"$scratch/log" &
  processes+=($!)
  pipes+=("$pipe")
}

# start_simulators NODES ORDERS: `sim-0` and the following, at most twenty to a process, but ten
# processes at least. `size_of N` says how many GiB each node of the Nth process has.
start_simulators() {
  local first last each
  each=$(nodes_in_process "$1")
  for ((first = 0; first < $1; first += each)); do
    last=$((first + each < $1 ? first + each - 1 : $1 - 1))
    start_simulator "$(seq --separator=, --format=sim-%g "$first" "$last")" \
      $(($(size_of $((first / each))) << 30)) "$2"
  done
  await_synced
}
nodes_in_process() { echo $((($1 + 9) / 10 < 20 ? ($1 + 9) / 10 : 20)); }

# What orders are, and where Leases lie.
prepare_orders() {
  local space
  for space in "$name_space" "$lease_space"; do kubectl create namespace "$space" >&2; done
  kubectl apply -f "$here/../../examples/install/core/volumecopy.yaml" >&2
  eventually 60 kubectl get volumecopies
}

# make_class NAME MODE: when its claims are bound.
make_class() {
  kubectl apply -f - >&2 <<END
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: $1}
provisioner: flexlocal.io
volumeBindingMode: $2
END
}

# are_told NODES CLASSES: Leases and capacities of all nodes are there, of each class.
are_told() {
  [ "$(kubectl -n "$name_space" get csistoragecapacities -o name | wc -l)" = $(($1 * $2)) ] &&
    [ "$(kubectl -n "$lease_space" get leases -o name | grep -c /node-)" = "$1" ]
}

# start_leader FLAG...: the cluster daemon, whose requests are limited as they are for everybody.
start_leader() {
  env -i GNUTLS_NO_IMPLICIT_INIT=1 "$provisioner" cluster --kubeconfig="$KUBECONFIG" "$@" 2>"$scratch/log.cluster" &
  others=($!)
  eventually 60 is_leading "${others[0]}"
}
is_leading() {
  kill -0 "$1" && kubectl -n "$name_space" get lease flexlocal-cluster -o json |
    jq -en 'input | .spec.holderIdentity != ""'
}

# await_orders NODE: a new leader orders nothing before it has heard all nodes, which takes a
# heartbeat; a claim that is not measured waits for that.
await_orders() {
  local name=first$((++leaders))
  claim_json "$name-0" ",\"annotations\":{\"volume.kubernetes.io/selected-node\":\"$1\"}" >"$scratch/$name.claims"
  echo >>"$scratch/$name.claims"
  bind "$name" 1 || fail "no volume was ordered of $1 after $deadline s: $(tail -n 3 "$scratch/log.cluster")"
}

stop_leader() {
  kill "${others[@]}"
  wait "${others[@]}" || fail "the cluster daemon failed: $(tail -n 3 "$scratch/log.cluster")"
  others=()
}

# cpu_of PID...: what they have taken, ms.
cpu_of() {
  local pid ticks sum=0
  for pid; do
    ticks=$(cut -d' ' -f14,15 "/proc/$pid/stat")
    sum=$((sum + ${ticks% *} + ${ticks#* }))
  done
  echo $((sum * 1000 / $(getconf CLK_TCK)))
}

# peak_of PID: its memory, KiB.
peak_of() { awk '$1 == "VmHWM:" { print $2 }' "/proc/$1/status"; }

# Sets `synced_ms`: the last one's time from its start to complete lists.
await_synced() {
  local pipe word
  for pipe in "${pipes[@]}"; do
    read -r -t 60 -u "$pipe" word synced_ms || word=''
    [ "$word" = synced ] || fail "a daemon has not synced: $(tail -n 3 "$scratch/log")"
  done
}

# Sets `used`: what the daemons say of themselves, a line each.
end_simulators() {
  local number pipe line
  used=''
  for number in "${!processes[@]}"; do
    kill "${processes[number]}" 2>/dev/null || true
    wait "${processes[number]}" || fail "a daemon failed: $(tail -n 3 "$scratch/log")"
    pipe=${pipes[number]}
    read -r -t 5 -u "$pipe" line || fail "a daemon said nothing at its end"
    exec {pipe}<&-
    used+=$line$'\n'
  done
  processes=() pipes=()
}

# sum FIELD: of what the daemons said.
sum() { jq -s "map(.$1) | add" <<<"$used"; }

requests() {
  jq -r 'select(.userAgent | startswith("flexlocal-provisioner")) | .verb' \
    "$scratch/cluster/audit.log" | grep -cv watch || true
}
