# Older metadata of LVM's that have a volume at extents which are another's by now.

. "$BATS_TEST_DIRNAME/older_metadata.bash"

# boot_with_older: volumes are active by older metadata, as after a boot.
boot_with_older() {
  vgchange -qq -an "$group"
  go_back
  rm -rf /run/flexlocal
  vgchange -qq -ay "$group"
}

# two_at_one_place: volume 1, that was moved, at the extents of volume 2 by the metadata that are kept.
# Sets `first_record`, and for each its sum; both are unmounted.
two_at_one_place() {
  volume_name 1 && mount_volume "$name" && expect_success
  first=$name first_record=$record old=$(ranges "$name")
  keep_metadata
  pvmove -qq -n "$first" "$(disk_below "$first")"
  write_data "$folder" 100
  first_sum=$sum
  call unmount "$folder" && expect_success
  volume_name 2 && mount_volume "$name" pod-2 && expect_success
  [ "$(ranges "$name")" = "$old" ] || fail "it has $(ranges "$name"), not $old"
  write_data "$folder" 200
  second_sum=$sum
  call unmount "$folder" && expect_success
}

# expect_whole NUMBER SUM: the volume's data is what was written; it is mounted for that.
expect_whole() {
  volume_name "$1" && mount_volume "$name" "pod-$1" && expect_success
  data=$folder/data sum=$2
  expect_data_whole
  call unmount "$folder" && expect_success
}

@test "a volume that was moved to other extents stays there" {
  volume_name 1 && mount_volume "$name" && expect_success
  keep_metadata
  pvmove -qq -n "$name" "$(disk_below "$name")"
  engine_call inventory && expect_success
  table=$(dmsetup table "$group-${name//-/--}")
  write_data "$folder" 200
  go_back
  engine_call settle
  device_of "$name"
  dmsetup suspend "$device"
  in_time engine_call resume-suspended
  expect_none_suspended
  [ "$(dmsetup table "$group-${name//-/--}")" = "$table" ] || fail "$(dmsetup table)"
  expect_data_whole
}

@test "a volume that they make active at boot is not used: its old extents are another's" {
  two_at_one_place
  boot_with_older
  [ "$(ranges "$first")" = "$old" ]
  volume_name 1 && mount_volume "$name"
  expect_failure "LVM's metadata are older than its volumes"
  # Nor because somebody has looked at it.
  device_of "$name"
  mkdir -p /run/sub
  mount -o nouuid "$device" /run/sub
  mount_volume "$name"
  expect_failure "LVM's metadata are older than its volumes"
  umount /run/sub
  # Where newer ones are back, its device has the old extents still.
  bring_newer_back
  expect_whole 1 "$first_sum"
  expect_whole 2 "$second_sum"
  boot_with_older
  engine_call inventory && expect_success
  bring_newer_back
  engine_call remove "$first_record" && expect_success
  expect_whole 2 "$second_sum"
}

@test "a removed volume that older metadata bring back is not wiped: its extents are another's" {
  volume_name 3 && mount_volume "$name" pod-3 && expect_success
  removed=$name removed_record=$record
  call unmount "$folder" && expect_success
  engine_call settle && expect_success
  keep_metadata
  engine_call remove "$removed_record" && expect_success
  volume_name 1 && mount_volume "$name" && expect_success
  write_data "$folder" 200
  go_back
  engine_call settle
  [ ! -e "$records/$removed" ] || fail "it has a record again"
  engine_call remove "$removed_record"
  expect_failure "LVM's metadata are older than its volumes"
  expect_data_whole
}
