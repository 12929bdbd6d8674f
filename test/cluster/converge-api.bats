# Whatever the API server and the way to it do, in the end every claim has its one volume, and no
# volume is left over.

setup_file() {
  export PROVISIONING=distributed without_policies=yes
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
  rm -f "$work/log/worker.log"
}

teardown() {
  end_test worker relay
}

daemon_logged() { grep -q -e "$1" "$work/log/worker.log"; }

# answered CODE: how often the daemon was, so far.
answered() {
  jq -s --argjson code "$1" '[.[] | select(.user.username == "system:serviceaccount:flexlocal-system:flexlocal-node"
    and .responseStatus.code == $code)] | length' "$work/cluster/audit.log"
}

# How often the API server had all of a list to give without asking etcd, so far: as a stream, or in
# one piece.
lists_from_cache() {
  jq -r 'select(.user.username == "system:serviceaccount:flexlocal-system:flexlocal-node"
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

# Takes a kubeconfig with its CA and token in files, so that both can be replaced.
use_files() {
  cp "$work/cluster/pki/ca.crt" "$work/ca.crt"
  daemon_kubeconfig=$work/files.kubeconfig
  cat >"$daemon_kubeconfig" <<END
apiVersion: v1
kind: Config
clusters: [{name: lab, cluster: {server: "https://127.0.0.1:$API_PORT", certificate-authority: ca.crt}}]
users: [{name: lab, user: {tokenFile: token}}]
contexts: [{name: lab, context: {cluster: lab, user: lab}}]
current-context: lab
END
}

# renew_token NAME: one that holds as long as the Secret NAME does.
renew_token() {
  local uid
  uid=$(kubectl -n flexlocal-system create secret generic "$1" -o 'jsonpath={.metadata.uid}')
  kubectl create -f - --raw /api/v1/namespaces/flexlocal-system/serviceaccounts/flexlocal-node/token >"$work/token.json" <<END
{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600,
 "boundObjectRef": {"apiVersion": "v1", "kind": "Secret", "name": "$1", "uid": "$uid"}}}
END
  jq -r .status.token "$work/token.json" >"$work/token.new"
  mv "$work/token.new" "$work/token"
}

# The token ends with its Secret; the API server remembers for ten seconds that it was good.
end_token() { kubectl -n flexlocal-system delete secret "$1"; }

@test "etcd is compacted while the daemon watches" {
  start_daemon worker
  come_and_go 5 lab compact
  eventually "$resync" all_is_right
}

@test "etcd is compacted, and the API server begun anew, while the daemon stands still: it lists anew" {
  start_daemon worker
  come_and_go 1
  eventually 90 claims_are_right
  kill -STOP "$(process_id "$work" worker)"
  lab restart-api # what comes now is not in the buffers of its connections
  make_claims 10
  drop_claims 5
  lab compact
  lab restart-api
  make_claims 1
  kill -CONT "$(process_id "$work" worker)"
  eventually "$resync" all_is_right
  daemon_logged 'code=gone'
  [ "$(lists_from_cache)" -gt 0 ]
}

listens() { : </dev/tcp/127.0.0.1/"$1"; }

@test "every connection is cut after one second" {
  port=$(free_ports 1)
  start_process "$work" relay socat "TCP-LISTEN:$port,bind=127.0.0.1,reuseaddr,fork" \
    "EXEC:timeout -s KILL 1 socat - TCP\:127.0.0.1\:$API_PORT"
  # A daemon that reaches no API server at its start ends.
  eventually 20 listens "$port"
  daemon_kubeconfig=$work/relay.kubeconfig
  sed "s/127.0.0.1:$API_PORT/127.0.0.1:$port/" "$work/daemon.kubeconfig" >"$daemon_kubeconfig"
  start_daemon worker
  come_and_go 10
  eventually "$resync" all_is_right
  daemon_logged 'msg="watch failed"'
}

@test "the token is replaced again and again, and each old one ends" {
  use_files
  renew_token first
  start_daemon worker
  make_claims 3
  for name in second third fourth fifth; do
    renew_token "$name"
    end_token "${old:-first}"
    old=$name
    # So that the API server takes no token for good that is not.
    lab restart-api
    come_and_go 1
  done
  eventually "$resync" all_is_right
  drop_all # which needs the token
  end_token fifth
}

@test "a token that has ended is refused, and everything is made up for once there is a new one" {
  use_files
  renew_token ends
  start_daemon worker
  come_and_go 1
  eventually 90 claims_are_right
  end_token ends
  lab restart-api
  make_claims 6
  drop_claims 3
  eventually 90 daemon_logged 'HTTP 401'
  [ "$(kubectl get pv -o name | wc -l)" = 3 ] # nothing is made, nothing is removed
  renew_token new
  eventually "$resync" all_is_right
  drop_all # which needs the token
  end_token new
}

@test "the server's certificate and its CA are replaced" {
  use_files
  renew_token lasting
  start_daemon worker
  come_and_go 1
  eventually 90 claims_are_right
  lab renew-pki
  make_claims 6
  eventually 90 daemon_logged 'certificate'
  cp "$work/cluster/pki/ca.crt" "$work/ca.new"
  mv "$work/ca.new" "$work/ca.crt"
  drop_claims 3
  eventually "$resync" all_is_right
  # For the tests that follow.
  service_account_token
  drop_all # which needs the token
  end_token lasting
}

@test "the API server answers most requests with 429" {
  before=$(answered 429)
  lab restart-api --enable-priority-and-fairness=false --max-requests-inflight=1 \
    --max-mutating-requests-inflight=1
  start_daemon worker --worker-threads=32 --kube-api-qps=0
  come_and_go 5
  eventually "$resync" all_is_right
  echo "429: $(($(answered 429) - before))"
  [ $(($(answered 429) - before)) -gt 20 ]
  lab restart-api
}

# fill_namespace NAME COUNT: claims of another class, each with 200 kB of somebody's annotations.
fill_namespace() {
  kubectl create namespace "$1"
  jq -n --arg text "$(head -c 100000 /dev/zero | tr '\0' x)" '{
    apiVersion: "v1", kind: "PersistentVolumeClaim",
    metadata: {generateName: "large-", annotations: {"example.com/a": $text, "example.com/b": $text}},
    spec: {storageClassName: "", accessModes: ["ReadWriteOnce"], resources: {requests: {storage: "1Gi"}}}
  }' >"$work/large.json"
  # One request for each number: the parameter is there for it alone.
  curl -sS --fail -o /dev/null --cacert "$work/cluster/pki/ca.crt" -H 'Content-Type: application/json' \
    -H "Authorization: Bearer $(cut -d, -f1 "$work/cluster/pki/tokens.csv")" -d "@$work/large.json" \
    "https://127.0.0.1:$API_PORT/api/v1/namespaces/$1/persistentvolumeclaims?fieldManager=[1-$2]"
}

# More than the daemon takes at once, so that it has to ask for smaller pages.
@test "the list of claims is 75 MB long" {
  fill_namespace others 370
  make_claims 10
  text=$(head -c 100000 /dev/zero | tr '\0' y)
  kubectl annotate pvc --all "example.com/a=$text" "example.com/b=$text"
  [ "$(kubectl get --raw /api/v1/persistentvolumeclaims | wc -c)" -gt 75000000 ]
  start_daemon worker
  come_and_go 2
  eventually "$resync" all_is_right
  most=$(awk '/VmHWM/ { print $2 }' "/proc/$(process_id "$work" worker)/status")
  echo "resident at most: $most kB"
  [ "$most" -lt $((128 * 1024)) ] # what examples/install gives it
  kubectl delete namespace others --wait=false
}
