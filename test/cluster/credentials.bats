# How the daemon proves itself to the real API server: by what a credential program gives out.

setup_file() {
  export PROVISIONING=distributed without_policies=yes
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
}

teardown() {
  stop_processes "$work" worker
}

# The program lies in a folder beside the kubeconfig that names it, and prints the token of a file.
write_program() {
  local config=$work/daemon.kubeconfig
  kubectl --kubeconfig "$config" config view --raw \
    -o 'jsonpath={.users[?(@.name=="daemon")].user.token}' >"$work/token.good"
  mkdir "$work/bin"
  cat >"$work/bin/give-token" <<'END'
#!/bin/sh
here=${0%/bin/*}
[ -e "$here/token" ] || { echo "no token for you" >&2; exit 1; }
printf '{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential",'
printf '"status":{"token":"%s"%s}}' "$(cat "$here/token")" "$(cat "$here/token.expiry")"
echo run >>"$here/token.runs"
END
  chmod +x "$work/bin/give-token"
  : >"$work/token.expiry"
  kubectl --kubeconfig "$config" config unset users.daemon
  kubectl --kubeconfig "$config" config set-credentials daemon \
    --exec-command=bin/give-token --exec-api-version=client.authentication.k8s.io/v1beta1
}

give_token() {
  printf '%s' "$1" >"$work/token.new"
  mv "$work/token.new" "$work/token"
}

# Another token of the same account: the API server takes each until its Secret is deleted.
make_token() {
  kubectl -n flexlocal-system apply -f - <<END
apiVersion: v1
kind: Secret
metadata: {name: $1, annotations: {kubernetes.io/service-account.name: flexlocal-node}}
type: kubernetes.io/service-account-token
END
}
token_of() { kubectl -n flexlocal-system get secret "$1" -o 'jsonpath={.data.token}' | base64 -d; }
has_token() { [ -n "$(token_of "$1")" ]; }

has_run() { [ "$(wc -l <"$work/token.runs")" -ge "$1" ]; }

@test "a failing credential program is one clear line" {
  rm -f "$work/token"
  run env -i timeout 30 "$provisioner" node --node-name=worker --kubeconfig="$work/daemon.kubeconfig" \
    --node-config="$work/worker.conf"
  echo "$status: $output"
  [ "$status" = 1 ]
  [ "$(grep -c 'no token for you' <<<"$output")" = 1 ]
  [[ $output == *"give-token: it ended with exit code 1: no token for you"* ]]
}

@test "the daemon works with what the program gives out, and with its next token after a 401" {
  make_token first
  make_token second
  eventually 30 has_token first
  eventually 30 has_token second
  : >"$work/token.runs"
  give_token "$(token_of first)"
  start_daemon worker
  make_claim one
  eventually 60 claim_is one Bound
  [ "$(wc -l <"$work/token.runs")" = 1 ]
  give_token "$(token_of second)"
  # The API server goes on to take a token that it knows for some seconds.
  kubectl -n flexlocal-system delete secret first
  eventually 60 has_run 2
  make_claim two
  eventually 60 claim_is two Bound
  delete_claim one
  delete_claim two
}

@test "a token that expires is replaced by the next, and no request is refused" {
  give_token "$(cat "$work/token.good")"
  printf ',"expirationTimestamp":"%s"' "$(date -u -d '+10 seconds' +%FT%TZ)" >"$work/token.expiry"
  : >"$work/token.runs"
  start_daemon worker
  eventually 30 has_run 1
  : >"$work/token.expiry"
  make_claim three
  eventually 60 claim_is three Bound
  eventually 60 has_run 2
  [ "$(grep -c credential "$work/log/worker.log")" = 0 ]
  delete_claim three
}
