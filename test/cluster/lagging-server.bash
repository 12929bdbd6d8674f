# shellcheck shell=bash disable=SC2119,SC2120,SC2154 # shared with lagging-server.bats
# A second API server of the cluster whose view of etcd can be made to stand still, and balancers by which a
# daemon's reads go to it and its writes to the first one.
# shellcheck source-path=SCRIPTDIR
. "$BATS_TEST_DIRNAME/central.bash"
. "$BATS_TEST_DIRNAME/leaders.bash"

declare -gA collections=(
  [pvc]=/api/v1/namespaces/default/persistentvolumeclaims
  [pv]=/api/v1/persistentvolumes
  [vc]=/apis/flexlocal.io/v1alpha1/volumecopies
)

# start_balancer NAME [GLOBAL-LINE]: haproxy, by what is read.
start_balancer() {
  {
    printf 'global\n  tune.h2.max-concurrent-streams 1000\n  %s\n' "${2:-}"
    printf 'defaults\n  mode http\n  retries 0\n  timeout connect 5s\n'
    printf '  timeout %s 1h\n' client server tunnel
    cat
  } >"$work/$1.cfg"
  start_process "$work" "$1" haproxy -db -f "$work/$1.cfg"
}

# start_forwarder NAME PORT: to etcd. What is stopped is this process, not the one that answers the pings
# of either side: both go on as if all were well.
start_forwarder() {
  start_balancer "$1" <<END
listen $1
  mode tcp
  bind 127.0.0.1:$2
  server etcd 127.0.0.1:$etcd_port
END
}

# start_lagging_server: with the flags of the lab's own. Between it and etcd are two forwarders, one for the
# watches and one for all else.
start_lagging_server() {
  local ports etcd_port
  etcd_port=$(sed -n 's/^etcd_port=//p' "$work/cluster/ports" | tr -d '"')
  mapfile -t ports < <(free_ports 4)
  start_forwarder watches "${ports[0]}"
  start_forwarder values "${ports[1]}"
  start_balancer etcd-requests <<END
frontend requests
  bind 127.0.0.1:${ports[2]} proto h2
  use_backend watches if { path_beg /etcdserverpb.Watch/ }
  default_backend values
backend watches
  server forwarder 127.0.0.1:${ports[0]} proto h2
backend values
  server forwarder 127.0.0.1:${ports[1]} proto h2
END
  export lagging_port=${ports[3]} requests_port=${ports[2]}
  mkdir -p "$work/lagging"
  make_front_certificate
  run_lagging_server
}

# run_lagging_server [FLAG...]: until it is ready; see restart_api in the lab's control-plane.
run_lagging_server() {
  local command from
  from=$(now)
  stop_processes "$work" lagging-server
  mapfile -d '' -t command <"/proc/$(process_id "$work/cluster" kube-apiserver)/cmdline"
  # Two such flags would be two servers to choose from.
  command=("${command[@]/--etcd-servers=*/--etcd-servers=http://127.0.0.1:$requests_port}")
  start_process "$work" lagging-server "${command[@]}" --secure-port="$lagging_port" \
    --audit-log-path="$work/lagging/audit.log" "$@"
  eventually 60 ask_lagging /readyz
  echo "$from $(now)" >>"$work/cluster/unready"
}

# stand_still: its watches of etcd bring nothing more. cut_off: nor does etcd answer it.
stand_still() { kill -STOP "$(process_id "$work" watches)"; }
cut_off() {
  stand_still
  kill -STOP "$(process_id "$work" values)"
}
catch_up() { kill -CONT "$(process_id "$work" values)" "$(process_id "$work" watches)"; }

# ask_lagging PATH [CURL-OPTION...]
ask_lagging() {
  local token
  token=$(cut -d, -f1 "$work/cluster/pki/tokens.csv")
  curl -sS --fail-with-body --max-time 10 --cacert "$work/cluster/pki/ca.crt" -H @/dev/fd/3 "${@:2}" \
    "https://127.0.0.1:$lagging_port$1" 3<<<"Authorization: Bearer $token"
}

# lagging_has KIND NAME CONDITION: jq, of the object in its cache, with kind pvc, pv or vc; null: not there.
lagging_has() {
  ask_lagging "${collections[$1]}?resourceVersion=0" |
    jq -en --arg name "$2" "input | ([.items[] | select(.metadata.name == \$name)] | first) | $3"
}

# start_front DAEMON: a balancer for it, and its kubeconfig says so. Its writes go to the first server, its
# reads to the lagging one, or where read_from says.
start_front() {
  local ports
  mapfile -t ports < <(free_ports 2)
  echo "${ports[1]}" >"$work/front-$1.control"
  start_balancer "front-$1" "stats socket ipv4@127.0.0.1:${ports[1]} level admin" <<END
frontend api
  bind 127.0.0.1:${ports[0]} ssl crt $work/front.pem alpn h2,http/1.1
  acl resumes url_param(resourceVersion) -m found
  acl watches url_param(watch) -m found
  acl lists url_param(sendInitialEvents) -m found
  http-request return status 410 if watches resumes !lists { srv_is_up(switches/forgets) }
  use_backend reads if METH_GET
  default_backend writes
backend reads
  default-server ssl verify required ca-file $work/cluster/pki/ca.crt alpn h2
  server lagging 127.0.0.1:$lagging_port
  server first 127.0.0.1:$API_PORT disabled
backend writes
  server first 127.0.0.1:$API_PORT ssl verify required ca-file $work/cluster/pki/ca.crt alpn h2
backend switches
  server forgets 127.0.0.1:1 disabled
END
  sed -i "s/127.0.0.1:$API_PORT/127.0.0.1:${ports[0]}/" "$work/$1.kubeconfig"
  eventually 10 read_from "$1" lagging
}

make_front_certificate() {
  (
    . "$BATS_TEST_DIRNAME/../lab/pki.bash"
    pki_sign "$work/cluster/pki" front /CN=front IP:127.0.0.1
    cat "$work"/cluster/pki/front.{crt,key} >"$work/front.pem"
  )
}

# control_front DAEMON COMMAND: of haproxy's own, which says nothing when it is done.
control_front() {
  local answer
  answer=$(socat - "TCP:127.0.0.1:$(<"$work/front-$1.control")" <<<"$2") || return
  [ -z "$answer" ] || {
    echo "$2: $answer" >&2
    return 1
  }
}

# read_from DAEMON lagging|first: from now on; its watches of the other are broken off.
read_from() {
  local other=lagging
  [ "$2" != lagging ] || other=first
  control_front "$1" "enable server reads/$2" &&
    control_front "$1" "disable server reads/$other" &&
    control_front "$1" "shutdown sessions server reads/$other"
}

# forgets DAEMON enable|disable: its watches are answered as by a server that has forgotten their versions.
forgets() { control_front "$1" "$2 server switches/forgets"; }
