# Disks as other hosts have them: a volume larger than any one of them, a partition, a disk with two paths,
# a list of the devices that LVM may see (man lvmdevices), an lvremove that discards by itself
# (issue_discards).

setup_file() {
  export group=odd
  local whole partitioned
  mkdir -p /run/disks
  truncate -s 700M /run/disks/whole.img
  truncate -s 800M /run/disks/partitioned.img
  whole=$(losetup --find --show /run/disks/whole.img)
  # An MBR's table with one entry: type 8e, 750 MiB from the first MiB on.
  printf '\0\0\0\0\x8e\0\0\0\x00\x08\0\0\x00\x70\x17\0' |
    dd of=/run/disks/partitioned.img bs=1 seek=446 conv=notrunc status=none
  printf '\x55\xaa' | dd of=/run/disks/partitioned.img bs=1 seek=510 conv=notrunc status=none
  partitioned=$(losetup --partscan --find --show /run/disks/partitioned.img)
  vgcreate -qq "$group" "$whole" "${partitioned}p1"
  printf '%s\n' "$whole" "${partitioned}p1" >/run/disks/devices
  sed -i 's/use_devicesfile=0/use_devicesfile=1 issue_discards=1/' /etc/lvm/lvm.conf
  mkdir -p /etc/lvm/devices
  lvm lvmdevices -qq -y --adddev "$whole"
  lvm lvmdevices -qq -y --adddev "${partitioned}p1"
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  configure "$group"
  mapfile -t disks </run/disks/devices
}

teardown() {
  forget_volumes
}

live_once() {
  volume_name 1 && folder_for "$name" && options_for "$name" "$1"
  call mount "$folder" "$options" && expect_success
  [ "$(($(stat -f -c '%b * %S' "$folder") >> 20))" -gt $(($1 - 100)) ]
  dd if=/dev/urandom of="$folder/data" bs=1M count=$(($1 - 120)) status=none
  sum=$(md5sum <"$folder/data")
  engine_call grow "$record" $((($1 + 200) << 20)) && expect_success
  [ "$(($(stat -f -c '%b * %S' "$folder") >> 20))" -gt $(($1 + 100)) ]
  call unmount "$folder" && expect_success
  call mount "$folder" "$options" && expect_success
  [ "$(md5sum <"$folder/data")" = "$sum" ] || fail "the data is not what was written"
  call unmount "$folder" && expect_success
  engine_call remove "$record" && expect_success
  [ -z "$(lv_of "$name")" ] || fail "it is still there"
}

@test "LVM goes by its list of devices, and one of them is a partition" {
  [ "$(lvm lvmdevices | grep -c IDNAME)" = 2 ] || fail "$(lvm lvmdevices)"
  [ "$(pvs --noheadings -o pv_name | xargs)" = "${disks[*]}" ] || fail "$(pvs)"
}

@test "a volume larger than any one disk is made, grown and removed" {
  live_once 900
  more_options=(onDelete=none)
  live_once 900
}

@test "a volume on the partition alone" {
  pvchange -qq -x n "${disks[0]}"
  live_once 400
  pvchange -qq -x y "${disks[0]}"
}

@test "a disk that LVM is not to see any more: what is made is mounted, and nothing is made anew" {
  volume_name 1 && mount_volume "$name" && expect_success
  echo precious >"$folder/file"
  call unmount "$folder" && expect_success
  lvm lvmdevices -qq -y --deldev "${disks[1]}"
  lvm lvmdevices -qq -y --deldev "${disks[0]}"
  call mount "$folder" "$options" && expect_success
  [ "$(<"$folder/file")" = precious ]
  call unmount "$folder" && expect_success
  engine_call remove "$record"
  [ "$status" = 1 ] || fail "it cannot be seen, and is said to be gone: $answer"
  [ -e "$records/$name" ] || fail "its record is gone"
  first=$name
  volume_name 2 && mount_volume "$name"
  expect_failure 'volume group'
  for disk in "${disks[@]}"; do lvm lvmdevices -qq -y --adddev "$disk"; done
  volume_name 1 && folder_for "$name" && options_for "$name"
  [ "$name" = "$first" ]
  engine_call follow "$record" && expect_success # a removal lets nobody mount it any more
  call mount "$folder" "$options" && expect_success
  [ "$(<"$folder/file")" = precious ]
}

# As multipathd makes them, but for the target that chooses a path: half of it lies behind each. LVM leaves
# such a device's parts alone, which are the same disk twice (multipath_component_detection).
@test "a disk that has two paths" {
  local path paths half
  truncate -s 800M /run/disks/paths.img
  for path in 0 1; do paths[path]=$(losetup --find --show /run/disks/paths.img); done
  half=$((400 << 11))
  printf '%s\n' "0 $half linear ${paths[0]} 0" "$half $half linear ${paths[1]} $half" |
    dmsetup create --uuid mpath-3600508b400105e210000900000490000 mpatha
  lvm lvmdevices -qq -y --adddev /dev/mapper/mpatha
  vgcreate -qq paths /dev/mapper/mpatha
  lvm lvmdevices | grep -q 'IDTYPE=mpath_uuid.*/dev/mapper/mpatha' || fail "$(lvm lvmdevices)"
  group=paths && configure paths
  live_once 500
  volume_name 1 && folder_for "$name" && options_for "$name" 500
  call mount "$folder" "$options" && expect_success
  dmsetup suspend "paths-${name//-/--}"
  engine_call resume-suspended && expect_success
  [ "$(dmsetup info -c --noheadings -o suspended "paths-${name//-/--}")" = Active ]
  echo precious >"$folder/file"
  call unmount "$folder" && expect_success
  engine_call remove "$record" && expect_success
  vgremove -qq paths
  dmsetup remove mpatha
}
