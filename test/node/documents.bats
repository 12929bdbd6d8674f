# Commands of operating.md for the node's administrator, word for word, with a real journal and real LVM.

setup_file() {
  export group=data
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 2G 2G >/dev/null
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  . "$BATS_TEST_DIRNAME/../lab/documents.bash"
  configure "$group"
}

teardown() {
  [ -z "${journal:-}" ] || kill "$journal"
  forget_volumes
  engine_call inventory && expect_success
}

# await COMMAND...: for as long as anything here takes.
await() {
  local end=$((SECONDS + 60))
  until "$@"; do
    ((SECONDS < end)) || fail "it did not come: $*"
    # The guest's FIFO that nobody writes: a pause without a program.
    read -r -t 0.1 <>/run/guest || true
  done
}

# start_journal: systemd's own, which listens where programs write to the system's log, and asks for the
# host's cgroups.
start_journal() {
  mountpoint -q /sys/fs/cgroup || mount -t cgroup2 cgroup /sys/fs/cgroup
  mkdir -p /run/log/journal /run/systemd/journal
  head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n' >/etc/machine-id
  ln -sfn /run/systemd/journal/dev-log /dev/log
  /lib/systemd/systemd-journald 3>&- &
  journal=$!
  await test -S /run/systemd/journal/dev-log
}

journal_has() { [[ $(bash -ec "$command" 2>/dev/null) == *"$1"* ]]; }

@test "journalctl has every call of kubelet's, refusals included" {
  command=$(in_sentence operating.md journalctl)
  start_journal
  volume_name 1 && mount_volume "$name" && expect_success
  await journal_has "flexlocal["
  await journal_has "msg=\"call done\" volume=$name pod=web-0 "
  options_for "$name" 320 elsewhere
  folder_for "$name" pod-2
  call mount "$folder" "$options"
  expect_failure "of another namespace"
  await journal_has 'msg="call failed"'
}

# follow WORDS: the command of operating.md that begins so, for this group; sets `status` and `answer`.
follow() {
  local command
  command=$(in_sentence operating.md "$1")
  status=0
  answer=$(bash -ec "${command//GROUP/$group}" 2>&1) || status=$?
}
is_active() { [ -e "/dev/mapper/$group-${1//-/--}" ]; }

# go_back: to what was saved before, as somebody does by mistake, or means to.
keep_metadata() { vgcfgbackup -qq -f /run/older "$group"; }
go_back() { vgcfgrestore -qq -y --force -f /run/older "$group"; }

@test "newer metadata of LVM are brought back under a pod that goes on" {
  volume_name 2 && mount_volume "$name" pod-2 && expect_success
  call unmount "$folder" && expect_success
  unused=$name
  volume_name 1 && mount_volume "$name" && expect_success
  used=$name used_folder=$folder
  keep_metadata
  engine_call grow "$record" $((640 * 1024 * 1024)) && expect_success
  dd if=/dev/urandom of="$used_folder/data" bs=1M count=400 status=none
  sync
  sum=$(md5sum <"$used_folder/data")
  go_back
  volume_name 3 && mount_volume "$name" pod-3
  expect_failure "LVM's metadata are older than its volumes"
  follow 'lvchange -an'
  [[ $answer == *"$used contains a filesystem in use"* ]] || fail "$answer"
  is_active "$used"
  ! is_active "$unused" || fail "it is active still: $answer"
  follow 'vgcfgrestore --list'
  [[ $status = 0 && $answer == *"/etc/lvm/backup/$group"* ]] || fail "$answer"
  follow 'vgcfgrestore GROUP' <<<y
  [[ $status = 0 && $answer == *"Restored volume group $group"* ]] || fail "$answer"
  volume_name 3 && mount_volume "$name" pod-3 && expect_success
  volume_name 2 && mount_volume "$name" pod-2 && expect_success
  echo 3 >/proc/sys/vm/drop_caches
  [ "$(md5sum <"$used_folder/data")" = "$sum" ]
}

@test "older metadata of LVM are taken where they are meant, once no pod has a volume" {
  volume_name 1 && mount_volume "$name" && expect_success
  keep_metadata
  volume_name 2 && mount_volume "$name" pod-2 && expect_success
  go_back
  follow 'vgchange -an'
  [[ $status != 0 && $answer == *"open logical volume"* ]] || fail "$answer"
  call unmount "$folder" && expect_success
  folder_for "$(volume_name 1 && echo "$name")" && call unmount "$folder" && expect_success
  follow 'vgchange -an'
  [ "$status" = 0 ] || fail "$answer"
  volume_name 3 && mount_volume "$name" pod-3
  expect_failure "LVM's metadata are older than its volumes"
  # Volume 2, which these metadata do not have, is the one that is left.
  follow 'dmsetup ls'
  [[ $status = 0 && $answer == "$group-pvc--"*"000002"* && $answer != *$'\n'* ]] || fail "$answer"
  command=$(in_sentence operating.md 'dmsetup remove')
  bash -ec "${command/DEVICE/${answer%%[[:space:]]*}}"
  file=$(in_sentence operating.md /var/lib/flexlocal/groups/)
  rm "${file/GROUP/$group}"
  mount_volume "$name" pod-3 && expect_success
}
