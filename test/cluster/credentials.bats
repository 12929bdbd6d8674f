# How the daemons prove themselves to the real API server: by what a credential program gives out.

setup_file() {
  # Tokens of Secrets name no Node. The leader is started by what a test is about.
  export without_policies=yes leader=leader
  . "$BATS_TEST_DIRNAME/daemon.bash"
  start_cluster
  make_node worker 4G
  write_program
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  stop_cluster
}

setup() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  daemons=(worker)
  ! is_central || daemons+=(leader)
  daemon_kubeconfig=$work/worker.kubeconfig
}

teardown() {
  stop_processes "$work" worker leader
}

account_of() { if [ "$1" = leader ]; then echo flexlocal-cluster; else echo flexlocal-node; fi; }

# The program lies in a folder beside the kubeconfigs that name it, and prints the token in the folder of
# the daemon that it is run for.
write_program() {
  local name
  mkdir "$work/bin"
  cat >"$work/bin/give-token" <<'END'
#!/bin/sh
here=${0%/bin/*}/credentials/$1
[ -e "$here/token" ] || { echo "no token for you" >&2; exit 1; }
printf '{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential",'
printf '"status":{"token":"%s"%s}}' "$(cat "$here/token")" "$(cat "$here/expiry")"
echo run >>"$here/runs"
END
  chmod +x "$work/bin/give-token"
  for name in worker leader; do
    eventually 30 account_kubeconfig "$(account_of "$name")" "$name"
    mkdir -p "$work/credentials/$name"
    kubectl --kubeconfig "$work/$name.kubeconfig" config view --raw \
      -o 'jsonpath={.users[?(@.name=="daemon")].user.token}' >"$work/credentials/$name/good"
    kubectl --kubeconfig "$work/$name.kubeconfig" config unset users.daemon
    kubectl --kubeconfig "$work/$name.kubeconfig" config set-credentials daemon \
      --exec-command=bin/give-token --exec-arg="$name" --exec-api-version=client.authentication.k8s.io/v1beta1
  done
}

# give_token DAEMON TOKEN [EXPIRY]: what the program prints from now on; how often it has, begins anew.
give_token() {
  local folder=$work/credentials/$1
  : >"$folder/runs"
  printf '%s' "${3:+,\"expirationTimestamp\":\"$3\"}" >"$folder/expiry"
  printf '%s' "$2" >"$folder/token.new"
  mv "$folder/token.new" "$folder/token"
}

# Another token of the daemon's account: the API server takes each until its Secret is deleted.
# make_token NAME DAEMON
make_token() {
  kubectl -n flexlocal-system apply -f - <<END
apiVersion: v1
kind: Secret
metadata: {name: $1-$2, annotations: {kubernetes.io/service-account.name: $(account_of "$2")}}
type: kubernetes.io/service-account-token
END
  eventually 30 has_token "$1-$2"
}
token_of() { kubectl -n flexlocal-system get secret "$1" -o 'jsonpath={.data.token}' | base64 -d; }
has_token() { [ -n "$(token_of "$1")" ]; }

runs() { wc -l <"$work/credentials/$1/runs"; }
has_run() { [ "$(runs "$1")" -ge "$2" ]; }

start_leader() { start_cluster_daemon leader --register=false --capacity-poll-interval=5s; }
start_daemons() {
  start_daemon worker
  ! is_central || start_leader
}

@test "where the credential program fails a node daemon ends with one clear line" {
  rm -f "$work/credentials/worker/token"
  run env -i timeout 30 "$provisioner" node --node-name=worker --kubeconfig="$work/worker.kubeconfig" \
    --node-config="$work/worker.conf"
  echo "$status: $output"
  [ "$status" = 1 ]
  [ "$(grep -c 'no token for you' <<<"$output")" = 1 ]
  [[ $output == *"give-token: it ended with exit code 1: no token for you"* ]]
}

# A candidate waits for the API server, whatever keeps it from it.
@test "where the credential program fails a cluster daemon says so once, and leads when there is a token" {
  rm -f "$work/credentials/leader/token"
  start_leader
  log=$work/log/leader.log
  eventually 30 grep 'give-token: it ended with exit code 1: no token for you' "$log"
  ! grep msg=leading "$log" || false
  give_token leader "$(<"$work/credentials/leader/good")"
  eventually 30 grep msg=leading "$log"
  [ "$(grep -c 'no token for you' "$log")" = 1 ]
}

@test "the daemons work with what the program gives out, and with its next token after a 401" {
  for name in "${daemons[@]}"; do
    make_token first "$name"
    make_token second "$name"
    give_token "$name" "$(token_of "first-$name")"
  done
  start_daemons
  make_claim one
  eventually 60 claim_is one Bound
  for name in "${daemons[@]}"; do
    [ "$(runs "$name")" = 1 ]
    give_token "$name" "$(token_of "second-$name")"
    # The API server goes on to take a token that it knows for some seconds.
    kubectl -n flexlocal-system delete secret "first-$name"
  done
  for name in "${daemons[@]}"; do eventually 60 has_run "$name" 1; done
  make_claim two
  eventually 60 claim_is two Bound
  delete_claim one
  delete_claim two
}

@test "a token that expires is replaced by the next, and no request is refused" {
  soon=$(date -u -d '+10 seconds' +%FT%TZ)
  for name in "${daemons[@]}"; do give_token "$name" "$(<"$work/credentials/$name/good")" "$soon"; done
  rm -f "$work"/log/{worker,leader}.log
  start_daemons
  for name in "${daemons[@]}"; do
    eventually 30 has_run "$name" 1
    : >"$work/credentials/$name/expiry"
  done
  make_claim three
  eventually 60 claim_is three Bound
  for name in "${daemons[@]}"; do
    eventually 60 has_run "$name" 2
    ! grep credential "$work/log/$name.log" || false
  done
  delete_claim three
}
