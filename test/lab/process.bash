# shellcheck shell=bash
# Servers that outlive the script that starts them: source it. They are kept by
# name in a folder: DIR/pids/NAME and DIR/log/NAME.log.

# A process id alone may name a stranger by now; with the start time it cannot.
# Field 22 of stat, counted behind the name, which may hold anything: proc(5). A
# process whose first thread is a zombie still has its ports while others (field
# 20) end.
_start_time() {
  local stat fields
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  read -r -a fields <<<"${stat##*) }"
  [[ ${fields[0]} != Z || ${fields[17]} -gt 1 ]] && echo "${fields[19]}"
}

# start_process DIR NAME COMMAND...: nothing of the caller's is held open: a
# pipe that a server keeps would make whoever reads it, bats say, wait forever.
start_process() {
  local dir=$1 name=$2
  shift 2
  mkdir -p "$dir/log" "$dir/pids"
  (
    for fd in /proc/self/fd/*; do
      fd=${fd##*/}
      [ "$fd" -lt 3 ] || eval "exec $fd>&-"
    done
    exec setsid "$@"
  ) </dev/null >>"$dir/log/$name.log" 2>&1 &
  echo "$! $(_start_time $!)" >"$dir/pids/$name"
}

# process_id DIR NAME: prints it while that very process is running.
process_id() {
  local pid began
  read -r pid began 2>/dev/null <"$1/pids/$2" || return 1
  [ -n "$began" ] && [ "$(_start_time "$pid")" = "$began" ] && echo "$pid"
}

# stop_processes DIR NAME...: asks them all, and ends after five seconds
# whoever is still there. Whoever is gone already is no error.
stop_processes() {
  local dir=$1 name pid deadline=$((SECONDS + 5))
  shift
  for name in "$@"; do
    ! pid=$(process_id "$dir" "$name") || kill "$pid" 2>/dev/null || true
  done
  for name in "$@"; do
    while pid=$(process_id "$dir" "$name"); do
      ((SECONDS < deadline)) || kill -KILL "$pid" 2>/dev/null || true
      sleep 0.05
    done
    rm -f "$dir/pids/$name"
  done
}

# end_jobs: asks all that this shell runs in the background to end, and waits until it has.
end_jobs() {
  local running
  running=$(jobs -pr)
  # shellcheck disable=SC2086 # one word each
  [ -z "$running" ] || kill $running 2>/dev/null || true
  # A signal ends `wait`, too.
  while [ -n "$(jobs -pr)" ]; do wait || true; done
}

# await SECONDS WHAT DIR NAME COMMAND...: until COMMAND succeeds; gives up when
# the time is over or the server NAME has died, and shows its log's end.
await() {
  local deadline=$((SECONDS + $1)) what=$2 dir=$3 name=$4 reason=''
  shift 4
  until "$@" >/dev/null 2>&1; do
    if ! process_id "$dir" "$name" >/dev/null; then
      reason="$name has died"
    elif ((SECONDS >= deadline)); then
      reason="the time is over"
    fi
    if [ -n "$reason" ]; then
      tail -n 20 "$dir/log/$name.log" >&2 || true
      echo "$(basename "$0"): waited for $what, but $reason: see above and $dir/log" >&2
      return 1
    fi
    sleep 0.1
  done
}

# free_ports COUNT: prints loopback ports that nobody listens on, below the
# range the kernel hands out by itself. They are reserved for two minutes, time
# enough to listen on them, so that runs side by side never get the same.
free_ports() {
  local root count=$1 port listening lock
  root=$(cache_root)
  mkdir -p "$root/ports" "$root/locks"
  exec {lock}>"$root/locks/ports"
  flock "$lock"
  find "$root/ports" -type f -mmin +2 -delete
  listening=" $(ss -Htan | awk '{ sub(/.*:/, "", $4); printf "%s ", $4 }')"
  while ((count > 0)); do
    port=$((20000 + RANDOM % 12000))
    [[ $listening != *" $port "* && ! -e $root/ports/$port ]] || continue
    : >"$root/ports/$port"
    echo "$port"
    count=$((count - 1))
  done
  exec {lock}>&-
}
