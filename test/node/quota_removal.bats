# Removing volumes of backend quota on a real kernel.
# shellcheck disable=SC2016 # much here is expanded by another shell

setup_file() {
  . "$BATS_TEST_DIRNAME/quota.bash"
  make_shared_disk
}

setup() {
  . "$BATS_TEST_DIRNAME/quota.bash"
  mount_shared
}

teardown() {
  [ -z "${holder:-}" ] || kill "$holder"
  forget_quota_volumes
}

# Waits until the shell command is true.
eventually() {
  local tries
  for ((tries = 0; tries < 100; tries++)); do
    ! eval "$1" || return 0
    read -r -t 0.1 <>/run/guest || true
  done
  fail "it did not come true: $1"
}

# remove_whole: calls remove for `record` until it is done.
remove_whole() {
  local calls
  for ((calls = 1; calls < 100; calls++)); do
    engine_call remove "$record" && expect_success
    [[ $answer == *'"done":false'* ]] || return 0
  done
  fail "the removal does not end: $answer"
}

@test "a removal takes files, limit and record; what is gone is done" {
  volume_name 1 && made "$name"
  mkdir -p "$folder/a/b" && echo x >"$folder/a/b/file" && ln -s /etc/passwd "$folder/link"
  call unmount "$folder" && expect_success
  remove_whole
  expect_no_volume
  [ -s /etc/passwd ]
  remove_whole
}

@test "a folder that no pod has had goes by a withdrawal, and one that a pod has had stays" {
  volume_name 1 && folder_for "$name" && options_for "$name" 32
  engine_call make "$record" && expect_success
  engine_call remove-unused "$record" && expect_success
  expect_no_volume
  made "$name"
  echo precious >"$folder/file"
  call unmount "$folder" && expect_success
  engine_call remove-unused "$record"
  expect_failure 'a pod may have had volume'
  # The record of between the making and the first mount, put back.
  sed -i 's/"claimUID"/"used":false,"claimUID"/' "$records/$name"
  [[ $(<"$records/$name") == *'"used":false'* ]]
  engine_call remove-unused "$record"
  expect_failure 'the files in it'
  # The record of the promise, put back: the folder was there before it.
  promise_again "$name"
  engine_call make "$record" && expect_success
  engine_call remove-unused "$record"
  expect_failure 'a pod may have had volume'
  made "$name"
  [ "$(<"$folder/file")" = precious ]
}

@test "a full volume is marked as retained, listed so, and removed as ever" {
  volume_name 1 && made "$name"
  dd if=/dev/zero of="$folder/full" bs=1M status=none || true
  call unmount "$folder" && expect_success
  engine_call retain "$record" && expect_success
  [[ $("$plugin" list) == *"$name "*' retained '* ]] || fail "$("$plugin" list)"
  remove_whole
  expect_no_volume
}

@test "a volume that is mounted in any mount namespace is not removed" {
  volume_name 1 && made "$name"
  engine_call remove "$record"
  [[ $answer == *'"code":"busy"'*"is in use"* ]] || fail "$answer"
  mkdir -p /run/sub "$folder/sub"
  unshare --mount bash -c 'mount --bind "$1/sub" /run/sub && echo ready >/run/held && read -r -t 60 <>/run/guest' _ "$folder" &
  holder=$!
  eventually '[ -e /run/held ]'
  call unmount "$folder" && expect_success
  engine_call remove "$record"
  [[ $answer == *'"code":"busy"'*" of process $holder\""* ]] || fail "$answer"
  kill "$holder"
  wait "$holder" || true
  holder=
  remove_whole
  expect_no_volume
}

@test "what is mounted in a volume is not deleted with it" {
  volume_name 1 && made "$name"
  mkdir "$folder/other"
  call unmount "$folder"
  mkdir -p /run/precious && echo precious >/run/precious/file
  mount --bind /run/precious "$shared/.flexlocal/volumes/$name/other"
  engine_call remove "$record"
  [[ $answer == *'"code":"busy"'* ]] || fail "$answer"
  umount "$shared/.flexlocal/volumes/$name/other"
  [ "$(</run/precious/file)" = precious ]
  remove_whole
  expect_no_volume
}

@test "a hostile tree is removed: deep, immutable, of another project, full of links" {
  volume_name 1 && made "$name"
  touch "$folder"/wide{1..300} && ln -s / "$folder/root" && mkfifo "$folder/fifo"
  # Deeper than any path can be long.
  perl -e 'chdir shift or die; for (1 .. 3000) { mkdir "d" and chdir "d" or die }' "$folder"
  mkdir "$folder/stiff" && echo x >"$folder/stiff/file"
  chattr +i "$folder/stiff/file" "$folder/stiff"
  mkdir "$folder/moved" && echo x >"$folder/moved/file" && chattr -p 7 "$folder/moved"
  mkdir -p "$folder/above/moved/below" && chattr -p 7 "$folder/above/moved"
  chattr +i "$folder"
  call unmount "$folder" && expect_success
  remove_whole
  expect_no_volume
}

# Where nothing can be removed for want of room, nothing ever gets room again.
@test "on a shared file system without a free block or inode a volume is removed as ever" {
  configure_quota "overcommit = 4"
  volume_name 1 && made "$name" 512
  # As an object store's: nothing of it can be removed without going down.
  for i in 1 2 3 4 5 6 7 8 9; do mkdir -p "$folder/bucket-alpha-$i/object/part" && echo x >"$folder/bucket-alpha-$i/object/part/meta"; done
  filled=$folder record_of_first=$record
  volume_name 2 && made "$name" 1000
  dd if=/dev/zero of="$folder/full" bs=1M status=none 2>/dev/null || true
  # What is left is less than a file's worth, and then less than an inode's.
  dd if=/dev/zero of="$shared/full" bs=4096 status=none 2>/dev/null || true
  number=0
  while (: >"$shared/none$number") 2>/dev/null; do number=$((number + 1)); done
  ! mkdir "$shared/probe" 2>/dev/null || fail "there is room for a folder"
  call unmount "$filled" && expect_success
  record=$record_of_first
  remove_whole
  volume_name 1
  [ ! -e "$shared/.flexlocal/volumes/$name" ]
  [ -z "$(ls -A "$shared/.flexlocal/trash")" ]
  rm -f "$shared"/none* "$shared/full"
}

@test "a volume at its own limit, full of folders in folders, is removed as ever" {
  volume_name 1 && made "$name"
  for i in 1 2 3 4 5 6 7 8 9; do mkdir -p "$folder/a$i/b/c" && echo x >"$folder/a$i/b/c/f"; done
  dd if=/dev/zero of="$folder/a1/b/c/full" bs=4096 status=none 2>/dev/null || true
  call unmount "$folder" && expect_success
  remove_whole
  expect_no_volume
}

@test "a removal that is killed goes on where it was" {
  volume_name 1 && made "$name"
  mkdir "$folder/sub" && echo x >"$folder/sub/file"
  call unmount "$folder"
  wrap_tool xfs_quota 'kill -9 $PPID'
  configure_quota "[tool]" "xfs_quota = /run/wrapped-xfs_quota"
  engine_call remove "$record"
  [ "$status" = 137 ] || fail "the removal was not killed: $answer"
  call mount "$folder" "$options"
  expect_failure "is being removed"
  configure_quota
  promise_again "$name"
  call mount "$folder" "$options"
  expect_failure "is being removed"
  rm -r "$records"
  engine_call settle && expect_success
  [ ! -e "$records/$name" ] || fail "it has a record again"
  remove_whole
  expect_no_volume
  call mount "$folder" "$options"
  expect_failure "has not promised it here"
  promise "$name"
  call mount "$folder" "$options" && expect_success
}

@test "the daemon in a pod sees the host's files through its first process" {
  volume_name 1 && made "$name"
  host=/proc/$BASHPID
  in_pod() {
    status=0
    answer=$(unshare --mount bash -c 'umount -l "$1" && shift && exec "$@"' _ "$shared" \
      "${plugin%/*}/engine-call" "--host-proc=$host" "$@" 2>&1) || status=$?
  }
  in_pod inventory && expect_success
  [ "$(jq -r '.holdings[0].size' <<<"$answer")" = $((32 << 20)) ]
  in_pod grow "$record" $((64 << 20)) && expect_success
  expect_size $((64 << 20))
  in_pod remove "$record"
  [[ $answer == *'"code":"busy"'* ]] || fail "$answer"
  call unmount "$folder"
  in_pod remove "$record" && expect_success
  expect_no_volume
}
