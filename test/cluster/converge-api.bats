# Whatever the API server and the way to it do, in the end every claim has its one volume, and no
# volume is left over.

setup_file() {
  # Tokens that end with a Secret name no Node. Each test starts the leader by what it is about.
  export without_policies=yes leader=leader
  . "$BATS_TEST_DIRNAME/daemon.bash"
  start_cluster
  make_node worker 100G
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  stop_cluster
}

setup() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  . "$BATS_TEST_DIRNAME/converge.bash"
  . "$BATS_TEST_DIRNAME/flood.bash"
  # Each has a kubeconfig of its name. The last one gives the orders.
  daemons=(worker)
  ! is_central || daemons+=(leader)
  daemon_kubeconfig=$work/worker.kubeconfig
  # Those of an earlier test have other tokens and another CA.
  eventually 30 write_kubeconfigs
  rm -f "$work"/log/{worker,leader}.log
}

teardown() {
  end_test worker leader relay
}

account_of() { if [ "$1" = leader ]; then echo flexlocal-cluster; else echo flexlocal-node; fi; }
write_kubeconfigs() {
  local name
  for name in "${daemons[@]}"; do account_kubeconfig "$(account_of "$name")" "$name" || return; done
}

# start_daemons [FLAG...]: each that there is with these flags.
start_daemons() {
  start_daemon worker "$@"
  ! is_central || start_leader "$@"
}
start_leader() { start_cluster_daemon leader --register=false --capacity-poll-interval=5s "$@"; }

# daemons_logged TEXT [DAEMON...]: each of them, or each that there is.
daemons_logged() {
  local name of=("${@:2}")
  [ ${#of[@]} -gt 0 ] || of=("${daemons[@]}")
  for name in "${of[@]}"; do grep -q -e "$1" "$work/log/$name.log" || return; done
}

# send_signal NAME: to each daemon.
send_signal() {
  local name
  for name in "${daemons[@]}"; do kill "-$1" "$(process_id "$work" "$name")"; done
}

volumes_are() { [ "$(kubectl get pv -o name | wc -l)" = "$1" ]; }

# answered CODE: how often who gives the orders was, so far.
answered() {
  jq -s --argjson code "$1" --arg user "system:serviceaccount:flexlocal-system:$(account_of "${daemons[-1]}")" \
    '[.[] | select(.user.username == $user and .responseStatus.code == $code)] | length' "$work/cluster/audit.log"
}

# lists_from_cache DAEMON: how often the API server had all of a list to give it without asking etcd, so
# far: as a stream, or in one piece.
lists_from_cache() {
  jq -r --arg user "system:serviceaccount:flexlocal-system:$(account_of "$1")" 'select(.user.username == $user
    and .responseStatus.code == 200 and (.requestURI | test("[?&]resourceVersion=[1-9]"))
    and ((.verb == "list" and (.requestURI | test("[?&]limit=") | not))
      or (.verb == "watch" and (.requestURI | contains("sendInitialEvents=true"))))) | .requestURI' \
    "$work/cluster/audit.log" | wc -l
}

# come_and_go ROUNDS [COMMAND...]: claims are made and dropped, and COMMAND is run each time.
come_and_go() {
  local round
  for ((round = 0; round < $1; round++)); do
    make_claims 6
    "${@:2}"
    mount_claims 2
    drop_claims 3
  done
}

# Makes kubeconfigs with CA and token in files, so that both can be replaced.
use_files() {
  local name
  cp "$work/cluster/pki/ca.crt" "$work/ca.crt"
  for name in "${daemons[@]}"; do
    cat >"$work/$name.kubeconfig" <<END
apiVersion: v1
kind: Config
clusters: [{name: lab, cluster: {server: "https://127.0.0.1:$API_PORT", certificate-authority: ca.crt}}]
users: [{name: lab, user: {tokenFile: $name.token}}]
contexts: [{name: lab, context: {cluster: lab, user: lab}}]
current-context: lab
END
  done
}

# renew_tokens NAME [DAEMON...]: each of them, or each that there is, has one that holds as long as its
# Secret of that name does.
renew_tokens() {
  local name uid of=("${@:2}")
  [ ${#of[@]} -gt 0 ] || of=("${daemons[@]}")
  for name in "${of[@]}"; do
    uid=$(kubectl -n flexlocal-system create secret generic "$1-$name" -o 'jsonpath={.metadata.uid}')
    kubectl create -f - --raw "/api/v1/namespaces/flexlocal-system/serviceaccounts/$(account_of "$name")/token" >"$work/token.json" <<END
{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600,
 "boundObjectRef": {"apiVersion": "v1", "kind": "Secret", "name": "$1-$name", "uid": "$uid"}}}
END
    jq -er .status.token "$work/token.json" >"$work/token.new"
    mv "$work/token.new" "$work/$name.token"
  done
}

# end_tokens NAME [DAEMON...]: tokens end with their Secrets; the API server remembers for ten seconds
# that they were good.
end_tokens() {
  local of=("${@:2}")
  [ ${#of[@]} -gt 0 ] || of=("${daemons[@]}")
  kubectl -n flexlocal-system delete secret "${of[@]/#/$1-}"
}

@test "etcd is compacted while the daemons watch" {
  start_daemons
  come_and_go 5 lab compact
  eventually "$resync" all_is_right
}

@test "etcd is compacted, and the API server begun anew, while the daemons stand still: they list anew" {
  # A leader whose term has ended meanwhile would begin another one, and take no list from a cache.
  election=(--leader-election-lease-duration=120s --leader-election-renew-deadline=100s)
  start_daemons
  come_and_go 1
  eventually 90 claims_are_right
  send_signal STOP
  lab restart-api # what comes now is not in the buffers of its connections
  make_claims 10
  drop_claims 5
  lab compact
  lab restart-api
  make_claims 1
  send_signal CONT
  eventually "$resync" all_is_right
  for name in "${daemons[@]}"; do
    daemons_logged 'code=gone' "$name"
    [ "$(lists_from_cache "$name")" -gt 0 ]
  done
}

listens() { : </dev/tcp/127.0.0.1/"$1"; }

@test "every connection is cut after one second" {
  port=$(free_ports 1)
  start_process "$work" relay socat "TCP-LISTEN:$port,bind=127.0.0.1,reuseaddr,fork" \
    "EXEC:timeout -s KILL 1 socat - TCP\:127.0.0.1\:$API_PORT"
  # A daemon that reaches no API server at its start ends.
  eventually 20 listens "$port"
  for name in "${daemons[@]}"; do sed -i "s/127.0.0.1:$API_PORT/127.0.0.1:$port/" "$work/$name.kubeconfig"; done
  start_daemons
  come_and_go 10
  eventually "$resync" all_is_right
  daemons_logged 'msg="watch failed"'
}

@test "the tokens are replaced again and again, and each old one ends" {
  use_files
  renew_tokens first
  start_daemons
  make_claims 3
  for name in second third fourth fifth; do
    renew_tokens "$name"
    end_tokens "${old:-first}"
    old=$name
    # So that the API server takes no token for good that is not.
    lab restart-api
    come_and_go 1
  done
  eventually "$resync" all_is_right
  drop_all # which needs the tokens
  end_tokens fifth
}

@test "tokens that have ended are refused, and everything is made up for once there are new ones" {
  use_files
  renew_tokens ends
  start_daemons
  come_and_go 1
  eventually 90 claims_are_right
  end_tokens ends
  lab restart-api
  make_claims 6
  drop_claims 3
  eventually 90 daemons_logged 'HTTP 401'
  volumes_are 3 # nothing is made, nothing is removed
  renew_tokens new
  eventually "$resync" all_is_right
  drop_all # which needs the tokens
  end_tokens new
}

is_handed_back() { kubectl get pvc -o json | jq -en 'input | any(.items[]; .metadata.annotations | has("volume.kubernetes.io/selected-node") | not)'; }

# Without the leader's nothing is ordered; without the agent's no order is answered.
@test "while the token of one daemon has ended, whichever it is, nothing is made or removed" {
  use_files
  renew_tokens old
  start_daemons
  come_and_go 1
  eventually 90 claims_are_right
  for name in "${daemons[@]}"; do
    before=$(kubectl get pv -o name | wc -l)
    end_tokens old "$name"
    lab restart-api
    make_claims 3
    drop_claims 2
    eventually 90 daemons_logged 'HTTP 401' "$name"
    [ "$name" = "${daemons[-1]}" ] || eventually 60 is_handed_back
    volumes_are "$before"
    renew_tokens new "$name"
    eventually "$resync" all_is_right
  done
  drop_all # which needs the tokens
  end_tokens new
}

@test "the server's certificate and its CA are replaced" {
  use_files
  renew_tokens lasting
  start_daemons
  come_and_go 1
  eventually 90 claims_are_right
  lab renew-pki
  make_claims 6
  eventually 90 daemons_logged 'certificate'
  cp "$work/cluster/pki/ca.crt" "$work/ca.new"
  mv "$work/ca.new" "$work/ca.crt"
  drop_claims 3
  eventually "$resync" all_is_right
  drop_all # which needs the tokens
  end_tokens lasting
}

@test "the API server answers most requests with 429" {
  before=$(answered 429)
  lab restart-api --enable-priority-and-fairness=false --max-requests-inflight=1 \
    --max-mutating-requests-inflight=1
  start_daemons --worker-threads=32 --kube-api-qps=0
  come_and_go 5
  eventually "$resync" all_is_right
  echo "429: $(($(answered 429) - before))"
  [ $(($(answered 429) - before)) -gt 20 ]
  lab restart-api
}

# fill_namespace NAME COUNT: claims of another class, each with 200 kB of somebody's annotations.
fill_namespace() {
  kubectl create namespace "$1"
  jq -n --arg text "$(text_of x 100000)" '{
    apiVersion: "v1", kind: "PersistentVolumeClaim",
    metadata: {generateName: "large-", annotations: {"example.com/a": $text, "example.com/b": $text}},
    spec: {storageClassName: "", accessModes: ["ReadWriteOnce"], resources: {requests: {storage: "1Gi"}}}
  }' | make_many "$@"
}

# More than a daemon takes at once, so that it has to ask for smaller pages.
@test "the list of claims is 75 MB long" {
  fill_namespace others 370
  make_claims 10
  text=$(text_of y 100000)
  kubectl annotate pvc --all "example.com/a=$text" "example.com/b=$text"
  [ "$(kubectl get --raw /api/v1/persistentvolumeclaims | wc -c)" -gt 75000000 ]
  start_daemons
  come_and_go 2
  eventually "$resync" all_is_right
  for name in "${daemons[@]}"; do has_stayed_small "$name"; done
  kubectl delete namespace others --wait=false
}
