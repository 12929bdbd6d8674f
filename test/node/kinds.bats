# What a logical volume can be: thin, striped, mirrored, ext4; on a real kernel.

setup_file() {
  export group=kinds
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 1G 1G >/dev/null
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  configure "$group"
}

teardown() {
  forget_volumes
}

make_thin_pool() {
  lvcreate -qq -y --type thin-pool -L "${1:-400M}" "${@:2}" -n tp "$group"
  configure "$group" 'thin-pool = tp' "overcommit = ${overcommit:-1}"
  backend=thin
}

# Discarding a large device takes minutes on some arrays; what a volume leaves is onDelete's.
@test "making a file system discards nothing" {
  for fs_type in xfs ext4; do
    lvcreate -qq -y -n before -L 320M "$group"
    yes "what was there before" | dd of="/dev/$group/before" bs=1M iflag=fullblock oflag=direct status=none || true
    before=$(lvs --noheadings -o seg_pe_ranges "$group/before" | xargs)
    lvremove -qq -f "$group/before"
    volume_name 1 && mount_volume "$name" && expect_success
    [ "$(lvs --noheadings -o seg_pe_ranges "$group/$name" | xargs)" = "$before" ]
    device_of "$name"
    # Neither is anything of it to be seen in the volume: only raw, where nobody in a pod reads.
    grep -q -a -m 1 "what was there before" "$device" || fail "$fs_type: the device was cleared"
    forget_volumes
  done
}

@test "a thin volume is a thin volume of the pool, with a hard limit" {
  make_thin_pool
  volume_name 1 && mount_volume "$name" && expect_success
  [ "$(lvs --noheadings -o pool_lv,lv_size --units m "$group/$name" | xargs)" = "tp 320.00m" ]
  run dd if=/dev/zero of="$folder/full" bs=1M count=400 status=none
  [[ $output == *"No space left on device"* ]]
}

@test "a thin pool that has promised all it may is refused with figures" {
  make_thin_pool
  volume_name 1 && mount_volume "$name" && expect_success
  volume_name 2 && mount_volume "$name"
  expect_failure "thin pool $group/tp of 400 MiB may promise 400 MiB (overcommit 1.00), has promised 320 MiB, and 320 MiB more are asked"
  [ -z "$(lv_of "$name")" ]
  [[ $(<"$records/$name") == *promised* ]]
  configure "$group" 'thin-pool = tp' 'overcommit = 1.6'
  call mount "$folder" "$options" && expect_success
}

@test "a thin pool that does not zero its blocks is refused with the command that helps" {
  make_thin_pool 400M -Zn
  volume_name 1 && mount_volume "$name"
  expect_failure "run \`lvchange --zero y $group/tp\`"
  [ -z "$(lv_of "$name")" ]
}

@test "a pool without a thin pool, or whose thin pool is gone, has no thin volumes" {
  backend=thin
  volume_name 1 && mount_volume "$name"
  expect_failure 'pool \"default\" has no thin-pool in node.conf'
  configure "$group" 'thin-pool = lost'
  call mount "$folder" "$options"
  expect_failure 'there is no thin pool \"lost\"'
}

@test "an ext4 volume keeps its data, and mounting it again starts no program" {
  fs_type=ext4
  volume_name 1 && mount_volume "$name" pod-1 64 && expect_success
  [ "$(findmnt -n -o FSTYPE "$folder")" = ext4 ]
  echo precious >"$folder/file"
  call unmount "$folder"
  configure "$group" '[tool]' 'lvs = /bin/false' 'blkid = /bin/false' 'mkfs.ext4 = /bin/false'
  call mount "$folder" "$options" && expect_success
  [ "$(<"$folder/file")" = precious ]
}

@test "a striped volume lies on both disks, a mirrored one on both twice" {
  configure "$group" 'layout = striped:2'
  volume_name 1 && mount_volume "$name" && expect_success
  [ "$(lvs --noheadings -o segtype,stripes "$group/$name" | xargs)" = "striped 2" ]
  configure "$group" 'layout = raid1'
  volume_name 2 && mount_volume "$name" && expect_success
  [ "$(lvs --noheadings -o segtype,stripes "$group/$name" | xargs)" = "raid1 2" ]
  echo works >"$folder/file"
  call unmount "$folder"
  call mount "$folder" "$options" && expect_success
  [ "$(<"$folder/file")" = works ]
}

# lose_records [CALL]: all that a host knew of its volumes is gone, and what is on the disks is there. CALL:
# one of the daemon's before that.
lose_records() {
  volume_name 1 && mount_volume "$name" && expect_success
  echo precious >"$folder/file"
  call unmount "$folder"
  [ $# = 0 ] || { engine_call "$1" && expect_success; }
  expect_taken_up
}

@test "on a host that lost its records the daemon takes the volume up, and then it is mounted with its data" {
  access_mode=ReadWriteOncePod
  lose_records # its tags say that it is new
  forget_volumes
  lose_records settle # and here that it is complete
  forget_volumes
  make_thin_pool
  lose_records
}

@test "a layout that needs more disks is refused with figures, never made linear" {
  configure "$group" 'layout = striped:3'
  volume_name 1 && mount_volume "$name"
  expect_failure 'with layout striped:3 needs room on 3 disks; 2 of its 2 disks have any'
  [ -z "$(lv_of "$name")" ]
  configure "$group" 'layout = raid1'
  lvcreate -qq -y -n other -L 800M "$group" "$(pvs --noheadings -o pv_name --select "vg_name=$group" | head -n 1 | xargs)"
  call mount "$folder" "$options"
  expect_failure 'with layout raid1 needs room on 2 disks'
  [ -z "$(lv_of "$name")" ]
}

@test "an XFS that would be too small is refused with advice" {
  volume_name 1 && mount_volume "$name" pod-1 64
  expect_failure '64 MiB is too small: an xfs file system needs at least 300 MiB; for less take backend quota or file system ext4'
  [ -z "$(lv_of "$name")" ]
}
