# What the kernel has is newer than metadata of LVM's that were put back.

. "$BATS_TEST_DIRNAME/older_metadata.bash"

@test "a device is not cut off under a file system that has grown" {
  for fs_type in xfs ext4; do
    volume_name 1 && mount_volume "$name" && expect_success
    keep_metadata
    engine_call grow "$record" $((640 * mib)) && expect_success
    # Then its superblock is not in memory but for what a mount reads of it.
    call unmount "$folder" && expect_success
    echo 3 >/proc/sys/vm/drop_caches
    call mount "$folder" "$options" && expect_success
    write_data "$folder" 400
    go_back
    look_at_it
    engine_call grow "$record" $((700 * mib))
    expect_failure "LVM's metadata are older than its volumes"
    has_sectors_of 640
    expect_data_whole
    bring_newer_back
    engine_call grow "$record" $((700 * mib)) && expect_success
    expect_data_whole
    forget_volumes
  done
}

@test "a device is not cut off under a file system of which only a folder is mounted" {
  volume_name 1 && mount_volume "$name" && expect_success
  mkdir -p "$folder/sub" /run/sub
  keep_metadata
  engine_call grow "$record" $((640 * mib)) && expect_success
  mount --bind "$folder/sub" /run/sub
  call unmount "$folder" && expect_success
  write_data /run/sub 400
  go_back
  look_at_it
  expect_data_whole
  umount /run/sub
}

@test "an administrator's snapshot with a name like that of a pool's volume is no sign of them" {
  volume_name 1 && mount_volume "$name" && expect_success
  # Its device is as large as the volume, and LVM says the 64 MiB that it may change.
  lvcreate -qq -y -s -L 64M -n flexlocal-default-snap "$group/$name"
  volume_name 2
  mount_volume "$name" pod-2 && expect_success
  engine_call inventory && expect_success
  [[ $answer != *"are older"* ]] || fail "$answer"
  lvremove -qq -y "$group/flexlocal-default-snap"
}

@test "nothing is made, grown or removed in the group of a volume that LVM knows as a smaller one" {
  volume_name 2 && mount_volume "$name" pod-2 && expect_success
  other=$name other_record=$record
  volume_name 1 && mount_volume "$name" && expect_success
  keep_metadata
  engine_call grow "$record" $((640 * mib)) && expect_success
  write_data "$folder" 500
  go_back
  engine_call grow "$other_record" $((640 * mib))
  expect_failure "LVM's metadata are older than its volumes"
  volume_name 3 && mount_volume "$name" pod-3
  expect_failure "LVM's metadata are older than its volumes"
  [ -z "$(lv_of "$name")" ]
  engine_call inventory
  [[ $answer == *'"free":0,'* ]] || fail "it offers room: $answer"
  folder_for "$other" pod-2
  call unmount "$folder" && expect_success
  engine_call remove "$other_record"
  expect_failure "LVM's metadata are older than its volumes"
  [ -n "$(lv_of "$other")" ]
  expect_data_whole
  bring_newer_back
  mount_volume "$name" pod-3 && expect_success
}

@test "metadata that were put back while nothing ran are refused as well, across a reboot" {
  volume_name 1 && mount_volume "$name" && expect_success
  keep_metadata
  engine_call grow "$record" $((640 * mib)) && expect_success
  write_data "$folder" 500
  call unmount "$folder" && expect_success
  engine_call inventory && expect_success
  vgchange -qq -an "$group"
  go_back
  # What a reboot takes away.
  rm -rf /run/flexlocal
  vgchange -qq -ay "$group"
  engine_call inventory
  [[ $answer == *'"free":0,'* ]] || fail "it offers room: $answer"
  volume_name 2 && mount_volume "$name" pod-2
  expect_failure "LVM's metadata are older than its volumes"
  vgchange -qq -an "$group"
  bring_newer_back
  volume_name 1 && mount_volume "$name" && expect_success
  expect_data_whole
}

@test "the one disk that a device stands on is told, and the metadata that the disk has" {
  local disks disk made
  mapfile -t disks < <(pvs --noheadings -o pv_name --select "vg_name=$group" | xargs -n 1)
  lvcreate -qq -y -n pvc-linear -L 32M "$group" "${disks[1]}"
  engine_call only-disk "/dev/mapper/$group-pvc--linear" "${disks[@]}" && expect_success
  [[ $answer == *"\"disk\":\"${disks[1]}\""* ]] || fail "$answer"
  engine_call only-disk "/dev/mapper/$group-pvc--linear" "${disks[0]}"
  [[ $status = 1 && $answer == *not-found* ]] || fail "$answer"
  lvcreate -qq -y -n pvc-striped -L 32M -i 2 "$group"
  engine_call only-disk "/dev/mapper/$group-pvc--striped" "${disks[@]}"
  [[ $status = 1 && $answer == *not-found* ]] || fail "$answer"
  for made in "tp 64M ${disks[0]}" "tpm 8M ${disks[1]}"; do
    # shellcheck disable=SC2086 # three words
    set -- $made
    lvcreate -qq -y -n "$1" -L "$2" "$group" "$3"
  done
  lvconvert -qq -y --type thin-pool --poolmetadata "$group/tpm" "$group/tp"
  lvcreate -qq -y -n pvc-thin -V 32M --thinpool "$group/tp"
  engine_call only-disk "/dev/mapper/$group-pvc--thin" "${disks[@]}"
  [[ $status = 1 && $answer == *not-found* ]] || fail "$answer"
  # By another path to the disk, whose pages stay in memory while it is open.
  dmsetup create path --table "0 $(blockdev --getsz "${disks[0]}") linear ${disks[0]} 0"
  exec 9</dev/mapper/path
  local only='devices { global_filter = [ "a|loop|", "r|.*|" ] }'
  for disk in 1 2; do
    engine_call seqno /dev/mapper/path && expect_success
    [[ $answer == *"\"seqno\":$(vgs --config "$only" --noheadings -o vg_seqno "$group" | xargs)}"* ]] ||
      fail "$answer"
    lvchange -qq --config "$only" --addtag "tag-$disk" "$group/pvc-linear"
  done
}

@test "a disk that does not answer, and is the group's no more, keeps nobody from it" {
  volume_name 1 && mount_volume "$name" && expect_success
  call unmount "$folder" && expect_success
  local disk
  disk=$("$BATS_TEST_DIRNAME/../lab/guest-disk" leaving 64M)
  vgremove -qq leaving
  # Not from its start, where LVM would find the same label twice.
  dmsetup create leaving --table "0 $(($(blockdev --getsz "$disk") - 2048)) linear $disk 2048"
  vgextend -qq "$group" /dev/mapper/leaving
  engine_call inventory && expect_success
  grep -q leaving "${records%/*}/groups/$group.json"
  vgreduce -qq "$group" /dev/mapper/leaving
  dmsetup suspend leaving
  call mount "$folder" "$options"
  dmsetup resume leaving
  expect_success
  [[ $answer != *"without a look"* ]] || fail "$answer"
  ! grep leaving "${records%/*}/groups/$group.json" || fail "the disk is noted still"
  dmsetup remove leaving
}

@test "what is meant by the administrator is taken once they say so" {
  keep_metadata
  volume_name 1 && mount_volume "$name" && expect_success
  call unmount "$folder" && expect_success
  lvchange -qq -an "$group/$name"
  go_back
  rm /run/newer "$records/$name"
  volume_name 2 && mount_volume "$name" pod-2
  expect_failure "remove ${records%/*}/groups/$group.json"
  rm "${records%/*}/groups/$group.json"
  mount_volume "$name" pod-2 && expect_success
}

@test "a device without its node is there all the same" {
  keep_metadata
  volume_name 1 && mount_volume "$name" && expect_success
  go_back
  device_of "$name"
  rm "$device"
  engine_call inventory
  [[ $answer == *'"free":0,'* ]] || fail "it offers room: $answer"
  engine_call remove "$record"
  expect_failure "LVM's metadata are older than its volumes"
  [ -e "$records/$name" ]
  dmsetup mknodes
}

@test "older metadata and a suspended thin pool: nothing waits for ever" {
  lvcreate -qq -y --type thin-pool -L 600M -n tp "$group"
  configure "$group" 'thin-pool = tp' 'overcommit = 8'
  backend=thin
  volume_name 2 && mount_volume "$name" pod-2 && expect_success
  volume_name 1 && mount_volume "$name" && expect_success
  old_folder=$folder
  keep_metadata
  engine_call grow "$record" $((512 * mib)) && expect_success
  go_back
  volume_name 2
  leave committed
  in_time call unmount "$old_folder"
  in_time engine_call resume-suspended
  expect_none_suspended
}

@test "what LVM does not know any more and the kernel has is not taken for removed" {
  keep_metadata
  volume_name 1 && mount_volume "$name" && expect_success
  echo precious >"$folder/file"
  engine_call inventory && expect_success
  [[ $answer != *'"free":0,'* ]] || fail "it offers no room: $answer"
  go_back
  engine_call inventory
  [[ $answer == *'"free":0,'* ]] || fail "it offers room: $answer"
  for state in mounted unmounted; do
    engine_call remove "$record"
    expect_failure "LVM's metadata are older than its volumes"
    [ -e "$records/$name" ] || fail "$state: its record is gone"
    call unmount "$folder" && expect_success
  done
  bring_newer_back
  engine_call follow "$record" && expect_success # a removal lets nobody mount it any more
  call mount "$folder" "$options" && expect_success
  [ "$(<"$folder/file")" = precious ]
  call unmount "$folder" && expect_success
  engine_call remove "$record" && expect_success
}

@test "a retained volume stays one" {
  volume_name 1 && mount_volume "$name" && expect_success
  call unmount "$folder" && expect_success
  keep_metadata
  engine_call retain "$record" && expect_success
  go_back
  [[ $(lv_of "$name") != *retained* ]] || fail "the tag is still there: nothing is tested"
  "$plugin" list | grep -q "$name.*retained" || fail "$("$plugin" list)"
  bring_newer_back
  engine_call take-up "$record" && expect_success
  ! "$plugin" list | grep -q "$name.*retained" || fail "$("$plugin" list)"
}

@test "a disk that does not answer holds up no call for ever" {
  truncate -s 1G /run/disks/silent.img
  loop=$(losetup --find --show /run/disks/silent.img)
  # LVM finds no label on the loop device itself.
  dmsetup create silent --table "0 $((900 * 2048)) linear $loop 2048"
  vgcreate -qq silent /dev/mapper/silent
  configure silent
  volume_name 1 && mount_volume "$name" && expect_success
  # So that its header is not read from memory.
  echo 3 >/proc/sys/vm/drop_caches
  dmsetup suspend --nolockfs silent
  volume_name 2
  in_time mount_volume "$name" pod-2
  expect_failure "reading LVM's metadata on the disks of volume group"
  dmsetup resume silent
  mount_volume "$name" pod-2 && expect_success
  forget_volumes
  vgremove -qq -f silent
  dmsetup remove silent
  losetup -d "$loop"
  rm /run/disks/silent.img
}
