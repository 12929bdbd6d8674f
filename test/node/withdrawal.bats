# A copy that was withdrawn goes only where no pod has had it, by what the host itself has noted.

setup_file() {
  export group=withdrawal
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 1G >/dev/null
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  . "$BATS_TEST_DIRNAME/waiting.bash"
  configure "$group"
  volume_name 1
}

teardown() {
  resume_by_hand
  forget_volumes
}

# promised: a volume that is promised and not made.
promised() { folder_for "$name" && options_for "$name"; }

# goes: it is removed, and nothing of it is left.
goes() {
  engine_call remove-unused "$record" && expect_success
  expect_unmade
}

# stays: it is not, and holds what it held.
stays() {
  engine_call remove-unused "$record"
  expect_failure 'a pod may have had volume'
}

@test "what is made ahead of its pod goes" {
  promised
  engine_call make "$record" && expect_success
  engine_call make "$record" && expect_success
  [[ $(<"$records/$name") == *'"used":false'* ]]
  goes
}

@test "what a pod has had stays with what it wrote, also when it is unmounted" {
  promised
  engine_call make "$record" && expect_success
  call mount "$folder" "$options" && expect_success
  [[ $(<"$records/$name") != *'"used"'* ]]
  echo precious >"$folder/file"
  stays
  call unmount "$folder" && expect_success
  stays
  call mount "$folder" "$options" && expect_success
  [ "$(<"$folder/file")" = precious ]
}

@test "what a mount made stays, too" {
  promised
  call mount "$folder" "$options" && expect_success
  call unmount "$folder" && expect_success
  stays
}

@test "without its record, or with an earlier one, it stays" {
  promised
  before=$(<"$records/$name")
  engine_call make "$record" && expect_success
  printf '%s' "$before" >"$records/$name"
  stays
  engine_call make "$record" && expect_success
  stays
  rm "$records/$name"
  stays
  engine_call settle && expect_success
  stays
}

# As a host that was rolled back to between the two, or a plugin that does not note pods.
@test "without a word of its pod, what holds a file stays" {
  for fs_type in xfs ext4; do
    promised
    engine_call make "$record" && expect_success
    before=$(<"$records/$name")
    call mount "$folder" "$options" && expect_success
    echo precious >"$folder/file"
    call unmount "$folder" && expect_success
    printf '%s' "$before" >"$records/$name"
    stays
    [[ $answer == *'the files in it'* ]] || fail "$answer"
    [[ $(<"$records/$name") != *'"used"'* ]]
    call mount "$folder" "$options" && expect_success
    [ "$(<"$folder/file")" = precious ]
    rm "$folder/file"
    [ "$fs_type" = xfs ] || echo found >"$folder/lost+found/#12"
    call unmount "$folder" && expect_success
    printf '%s' "$before" >"$records/$name"
    [ "$fs_type" = xfs ] || stays
    [ "$fs_type" = ext4 ] || goes
  done
}

@test "an ext4 that no pod has had goes with its lost+found, and nothing stays mounted" {
  fs_type=ext4
  promised
  engine_call make "$record" && expect_success
  goes
}

@test "a file system that cannot be read stays, and so does another one in its place" {
  promised
  engine_call make "$record" && expect_success
  before=$(<"$records/$name")
  device=/dev/$group/$name
  dd if="$device" of="$BATS_TEST_TMPDIR/start" bs=1M count=1 status=none
  dd if=/dev/zero of="$device" bs=4096 seek=1 count=200 conv=fsync status=none
  stays
  dd if="$BATS_TEST_TMPDIR/start" of="$device" bs=1M count=1 conv=fsync status=none
  printf '%s' "$before" >"$records/$name"
  mkfs.ext4 -q -F "$device"
  stays
  wipefs -qa "$device"
}

# rolled_back: a pod has left a file, and the record is of before it. Sets `device`.
rolled_back() {
  promised
  engine_call make "$record" && expect_success
  before=$(<"$records/$name")
  call mount "$folder" "$options" && expect_success
  echo precious >"$folder/lost+found/file"
  call unmount "$folder" && expect_success
  printf '%s' "$before" >"$records/$name"
  device=/dev/$group/$name
}

# block_of INODE: sets `at`, where its first block begins, and `size`, of a block.
block_of() {
  size=$(dumpe2fs -h "$device" 2>/dev/null | awk '/^Block size:/ { print $3 }')
  at=$(($(debugfs -R "blocks <$1>" "$device" 2>/dev/null | awk '{ print $1 }') * size))
}

# overwrite AT COUNT: with zeros, and what the kernel remembers of it is dropped.
overwrite() {
  dd if=/dev/zero of="$device" bs=1 seek="$1" count="$2" conv=notrunc,fsync status=none
  echo 3 >/proc/sys/vm/drop_caches
}

@test "an ext4 that shows less than it has stays" {
  fs_type=ext4
  rolled_back
  block_of 11
  overwrite "$at" "$size"
  stays
  printf '%s' "$before" >"$records/$name"
  block_of 2
  overwrite "$at" 12
  stays
}

@test "what has lost its file system stays" {
  for fs_type in xfs ext4; do
    volume_name "${#fs_type}"
    promised
    engine_call make "$record" && expect_success
    device=/dev/$group/$name
    overwrite 0 4096
    stays
    [[ $answer == *'lost its file system'* ]] || fail "$answer"
  done
}

@test "a suspended volume is resumed before it is looked into" {
  promised
  engine_call make "$record" && expect_success
  echo 3 >/proc/sys/vm/drop_caches
  device_of "$name"
  dmsetup suspend --nolockfs "$device"
  in_time engine_call remove-unused "$record"
  expect_success
  expect_unmade
}

@test "by older metadata of LVM's nothing is mounted for a look" {
  promised
  engine_call make "$record" && expect_success
  vgcfgbackup -qq -f /run/older "$group"
  volume_name 2 && promised
  engine_call make "$record" && expect_success
  vgcfgbackup -qq -f /run/newer "$group"
  vgcfgrestore -qq --force -y -f /run/older "$group" 2>/dev/null
  volume_name 1 && promised
  dmesg -C
  engine_call remove-unused "$record"
  mounted=$(dmesg)
  vgcfgrestore -qq --force -y -f /run/newer "$group" 2>/dev/null
  engine_call inventory
  [[ $mounted != *Mounting* ]] || fail "$mounted"
}

@test "what has a snapshot is not looked into, which would fill it" {
  promised
  engine_call make "$record" && expect_success
  lvcreate -qq -s -n snap -L 8M "$group/$name" 2>/dev/null
  before=$(lvs --noheadings -o snap_percent "$group/snap")
  engine_call remove-unused "$record"
  after=$(lvs --noheadings -o snap_percent "$group/snap")
  lvremove -qq -f "$group/snap"
  expect_failure 'has a snapshot'
  [ "$after" = "$before" ] || fail "it was filled to $before percent, and is to $after"
  goes
}

@test "a mount that came to nothing has noted it first" {
  promised
  engine_call make "$record" && expect_success
  mount -t tmpfs none "$folder"
  call mount "$folder" "$options"
  expect_failure 'is mounted on'
  umount "$folder"
  stays
}
