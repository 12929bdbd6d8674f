# Volumes that somebody or something damaged, copied or took: a person must look, so the plugin
# says at what, and changes nothing.

setup_file() {
  export group=damage
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 1500M >/dev/null
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  configure "$group"
}

teardown() {
  umount /run/copy 2>/dev/null || true
  forget_volumes
}

# A volume of ours, unmounted; sets `device`.
make_volume() {
  volume_name 1 && mount_volume "$name" && expect_success
  echo precious >"$folder/file"
  sync -f "$folder"
  call unmount "$folder" && expect_success
  device_of "$name"
}

# expect_untouched TEXT: the mount fails with TEXT, and not a byte of the device changes.
expect_untouched() {
  local before
  before=$(md5sum <"$device")
  call mount "$folder" "$options"
  expect_failure "$1"
  expect_unmounted "$folder"
  [ "$(md5sum <"$device")" = "$before" ] || fail "the device was written to"
}

@test "a superblock with a wrong checksum" {
  make_volume
  printf 'garbage!' | dd of="$device" bs=1 seek=8 conv=notrunc,fsync status=none # sb_dblocks
  expect_untouched "Structure needs cleaning; the volume is not formatted again"
  [[ $answer == *"xfs_repair -n $device"* ]]
}

@test "a log that cannot be read" {
  make_volume
  start=$(xfs_db -r -c "sb 0" -c "print logstart" "$device")
  sector=$(xfs_db -r -c "convert fsblock ${start##* } daddr" "$device")
  sector=${sector#*(} sector=${sector%)*}
  dd if=/dev/urandom of="$device" bs=512 seek="$sector" count=2048 conv=notrunc,fsync status=none
  expect_untouched "the volume is not formatted again"
}

@test "a copy of the volume that is mounted elsewhere is named as the reason" {
  make_volume
  lvcreate -qq -y -n copy -L 320M "$group"
  dd if="$device" of="/dev/$group/copy" bs=4M conv=fsync status=none
  mkdir -p /run/copy
  mount "/dev/$group/copy" /run/copy
  expect_untouched 'if the log says \"duplicate UUID\", a copy of the volume is mounted: unmount that'
  umount /run/copy
  call mount "$folder" "$options" && expect_success
  [ "$(<"$folder/file")" = precious ]
}

@test "a volume of our name that another cluster made" {
  make_volume
  other=99999999-9999-4999-8999-999999999999
  promise_again "$name"
  lvchange -qq --addtag "flexlocal.io/cluster=$other" --deltag "flexlocal.io/cluster=$cluster_id" "$group/$name"
  expect_untouched "its tags do not say that it belongs to this claim"
}

@test "a volume of our name that is another copy" {
  make_volume
  promise_again "$name"
  lvchange -qq --addtag flexlocal.io/copy=0123456789abcdef --deltag flexlocal.io/copy=8000000000000001 "$group/$name"
  expect_untouched "its tags do not say that it belongs to this claim"
}

@test "a volume whose tags name two claims is nobody's" {
  make_volume
  promise_again "$name"
  lvchange -qq --addtag flexlocal.io/claim-uid=99999999-9999-4999-8999-999999999999 "$group/$name"
  expect_untouched "its tags do not say that it belongs to this claim"
}

@test "a volume that was replaced by a stranger's of the same name" {
  make_volume
  lvremove -qq -f "$group/$name"
  lvcreate -qq -y -n "$name" -L 320M "$group"
  mkfs.ext4 -q "$device"
  expect_untouched "is not the device of logical volume $group/$name"
}

@test "a ready volume that is gone is not made anew" {
  make_volume
  lvremove -qq -f "$group/$name"
  call mount "$folder" "$options"
  expect_failure "held data and is gone; is a disk missing?"
  [ -z "$(lvs --noheadings "$group")" ]
}

# A root disk that was restored from a backup has records of before the volume was ready.
@test "a record of before, and a superblock that is gone: tags that say ready forbid to format" {
  make_volume
  engine_call settle && expect_success
  [[ $(lv_of "$name") == *state=ready* ]]
  sed -i 's/"state":"ready"/"state":"new"/' "$records/$name"
  dd if=/dev/zero of="$device" bs=64K count=1 conv=notrunc,fsync status=none
  expect_untouched "carries no readable file system of this claim"
}

@test "a pipe in the record's place is refused at once, and so is one where it is written" {
  make_volume
  kept=$(<"$records/$name")
  rm "$records/$name" && mkfifo "$records/$name"
  call mount "$folder" "$options"
  expect_failure "$records/$name is not a plain file"
  rm "$records/$name"
  printf '%s\n' "${kept/ready/new}" >"$records/$name"
  mkfifo "$records/$name.new"
  call mount "$folder" "$options"
  expect_failure "$records/$name.new"
  rm "$records/$name.new"
  call mount "$folder" "$options" && expect_success
  [ "$(<"$folder/file")" = precious ]
}

@test "unmounting needs nothing of node.conf" {
  volume_name 1 && mount_volume "$name" && expect_success
  printf '[pool.default]\nvolumegroup = %s\n' "$group" >/etc/flexlocal/node.conf
  call unmount "$folder" && expect_success
  expect_unmounted "$folder"
  call mount "$folder" "$options"
  expect_failure "key pool.default.volumegroup: not known"
  configure "$group"
  call mount "$folder" "$options" && expect_success
  rm /etc/flexlocal/node.conf
  call unmount "$folder" && expect_success
  expect_unmounted "$folder"
}

@test "a record that cannot be read stops the mount" {
  make_volume
  for text in '' '{' 'null' '{"version":2}' "${record/:2,/:1,}" "${record/shop/SHOP}" $'\xff'; do
    printf %s "$text" >"$records/$name"
    call mount "$folder" "$options"
    expect_failure "record /var/lib/flexlocal/volumes/$name"
  done
  expect_untouched "record /var/lib/flexlocal/volumes/$name"
}

@test "something else that is mounted on the folder stays there" {
  make_volume
  mount -t tmpfs stale "$folder"
  call mount "$folder" "$options"
  expect_failure "stale is mounted on $folder already; unmount it first"
  expect_mounted "$folder"
  call unmount "$folder" && expect_success
  call mount "$folder" "$options" && expect_success
}

@test "a folder that vanished: nothing is made for it, and unmounting it is done" {
  volume_name 1 && folder_for "$name" && options_for "$name"
  rmdir "$folder"
  call mount "$folder" "$options"
  expect_failure "No such file or directory"
  expect_unmade
  call unmount "$folder" && expect_success
}

# On a host without udev LVM itself makes the nodes in /dev/mapper, and takes them away, at the end.
@test "a node of the device that a killed command did not make, or left behind" {
  volume_name 2 && mount_volume "$name" && expect_success
  device_of "$name"
  other=$(stat -L -c 'b 0x%t 0x%T' "$device")
  volume_name 1 && mount_volume "$name" && expect_success
  echo precious >"$folder/file"
  device_of "$name"
  for left in '' 'b 250 250' "$other"; do
    call unmount "$folder" && expect_success
    rm "$device"
    # shellcheck disable=SC2086 # mknod's three words
    [ -z "$left" ] || mknod "$device" $left
    call mount "$folder" "$options" && expect_success
    [ "$(<"$folder/file")" = precious ]
  done
  call unmount "$folder" && expect_success
  lvchange -qq -an "$group/$name"
  # shellcheck disable=SC2086 # as above
  mknod "$device" $other
  engine_call remove "$record" && expect_success
  [ -z "$(lv_of "$name")" ] || fail "it is still there"
  volume_name 2 && folder_for "$name"
  echo works >"$folder/file"
}
