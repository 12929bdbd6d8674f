# Every volume carries a grant, made by a key that the host has first. The Secret is a file here,
# as kubelet would mount it.

setup_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  start_cluster
  make_node worker 4G
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  stop_cluster
}

setup() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  . "$BATS_TEST_DIRNAME/grant.bash"
}

host_key() { cat "$work/worker/grant.key"; }
host_has() { [ "$(host_key)" = "$(printf '%s\n' "$@")" ]; }

@test "without the Secret the daemon runs, provisions nothing, and the claim says what to do" {
  rm "$work/secret"
  start_daemon worker
  eventually 20 grep -q 'level=warning msg="nothing is provisioned" why="no grant key: create the Secret' "$work/log/worker.log"
  refused "no grant key: create the Secret flexlocal-grant: kubectl -n flexlocal-system create secret generic flexlocal-grant --from-literal=grant.key=\$(openssl rand -hex 32)"
  [ ! -e "$work/worker/grant.key" ]
}

@test "what is no key is refused, too, and none of it is told" {
  write_secret "open sesame"
  eventually 30 event_says pvc/data ProvisioningFailed "a grant key file has 1 to 8 lines of 64 hexadecimal digits"
  no_volumes
  write_secret "$first_key"
  chmod 0444 "$work/secret"
  eventually 30 event_says pvc/data ProvisioningFailed "can be read by others than root"
  no_volumes
  [ ! -e "$work/worker/grant.key" ]
  run grep -r "sesame\|$first_key" "$work/log"
  [ "$status" = 1 ]
}

@test "when the key appears the claim gets its volume by itself, and the host the key" {
  write_secret "$first_key"
  eventually 30 claim_is data Bound
  [ "$(stat -c %a "$work/worker/grant.key")" = 600 ]
  host_has "$first_key"
  grant_is_of "$first_key" data
  ! grant_is_of "$second_key" data || false
}

@test "a new key on top signs what comes next, and the host knows both" {
  write_secret "$second_key" "$first_key"
  make_claim second
  eventually 30 claim_is second Bound
  host_has "$second_key" "$first_key"
  grant_is_of "$second_key" second
  grant_is_of "$first_key" data
}

@test "a Secret that lost a key which a volume here needs is not taken over" {
  write_secret "$second_key"
  make_claim third
  eventually 30 event_says pvc/third ProvisioningFailed "the Secret flexlocal-grant has lost a key: 1 volume(s) of this node, $(volume_of data)"
  host_has "$second_key" "$first_key"
  claim_is third Pending
  # Once that volume is gone nothing needs the old key.
  delete_claim data
  eventually 30 claim_is third Bound
  host_has "$second_key"
}

@test "a host that lost the key gets it back before the next grant" {
  rm "$work/worker/grant.key"
  make_claim fourth
  eventually 30 claim_is fourth Bound
  host_has "$second_key"
}

@test "volumes are removed whatever their grant says" {
  volume=$(volume_of second)
  write_secret "$first_key"
  stop_processes "$work" worker
  start_daemon worker
  delete_claim second
  eventually 30 is_gone pv "$volume"
}

@test "no key is in the log, and no event has one" {
  run grep -r "$first_key\|$second_key" "$work/log"
  [ "$status" = 1 ]
  run grep "$first_key\|$second_key" <(kubectl get events,pv,pvc -A -o json)
  [ "$status" = 1 ]
}
