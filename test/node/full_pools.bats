# Thin pools without room for data or metadata, and growth onto a disk's bad region.

setup_file() {
  export group=pools
  . "$BATS_TEST_DIRNAME/failing_disk.bash"
  make_failing_disk "$group"
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  . "$BATS_TEST_DIRNAME/failing_disk.bash"
  configure "$group"
}

teardown() {
  heal_disk
  forget_volumes
}

# A thin pool that fails writes at once when it is full, where the default is to wait for a minute.
make_pool() {
  lvcreate -qq -y --type thin-pool -n tp "$@" "$group"
  lvchange -qq --errorwhenfull y "$group/tp"
  configure "$group" 'thin-pool = tp' 'overcommit = 3'
  backend=thin
}

@test "a thin pool full of data takes no new volume; those it has keep what was synced" {
  make_pool -L 340M
  volume_name 2 && mount_volume "$name" && expect_success
  echo precious >"$folder/file"
  sync -f "$folder"
  kept=$name kept_folder=$folder kept_options=$options
  volume_name 1 && mount_volume "$name" && expect_success
  run dd if=/dev/zero of="$folder/full" bs=1M count=300 oflag=direct status=none
  [ "$status" = 1 ]
  [ "$(lvs --noheadings -o data_percent "$group/tp" | xargs)" = 100.00 ]
  full_folder=$folder
  volume_name 3 && mount_volume "$name"
  expect_failure "its data is 100 % full"
  [ -z "$(lv_of "$name")" ]
  [[ $(<"$records/$name") == *promised* ]]
  expect_unmounted "$folder"
  for folder in "$full_folder" "$kept_folder"; do call unmount "$folder" && expect_success; done
  lvextend -qq -L +300M "$group/tp"
  call mount "$kept_folder" "$kept_options" && expect_success
  [ "$(<"$kept_folder/file")" = precious ]
  lv_of "$kept" | grep -q owner=flexlocal
}

# Puts metadata with COUNT devices that LVM does not know into the pool, each with a block of
# 4 KiB: what makes them one by one starts a program for each.
add_devices() {
  local id
  lvchange -qq -an "$group/tp"
  lvcreate -qq -y -an -n spare -L 4M "$group"
  lvconvert -qq -y --thinpool "$group/tp" --poolmetadata "$group/spare"
  lvchange -qq -ay "$group/spare"
  {
    echo '<superblock uuid="" time="0" transaction="0" version="2" data_block_size="128" nr_data_blocks="6080">'
    for ((id = 1000; id < 1000 + $1; id++)); do
      echo "<device dev_id=\"$id\" mapped_blocks=\"0\" transaction=\"0\" creation_time=\"0\" snap_time=\"0\"></device>"
    done
    echo '</superblock>'
  } >/run/metadata.xml
  thin_restore -q -i /run/metadata.xml -o "/dev/$group/spare"
  lvchange -qq -an "$group/spare"
  lvconvert -qq -y --thinpool "$group/tp" --poolmetadata "$group/spare"
  lvchange -qq -ay "$group/tp"
}

@test "a thin pool full of metadata takes no new volume" {
  make_pool -L 380M --poolmetadatasize 4M
  add_devices 900
  volume_name 1 && mount_volume "$name" && expect_success
  echo precious >"$folder/file"
  id=5000
  while dmsetup message "$group-tp-tpool" 0 "create_thin $id" 2>/dev/null; do id=$((id + 1)); done
  used=$folder
  volume_name 2 && mount_volume "$name"
  expect_failure "its metadata is"
  [ -z "$(lv_of "$name")" ]
  [[ $(<"$records/$name") == *promised* ]]
  [ "$(<"$used/file")" = precious ]
  call unmount "$used" && expect_success
}

@test "growth onto a bad region of the disk: an error, the data stays, and again once it is whole" {
  volume_name 1 && mount_volume "$name" && expect_success
  echo precious >"$folder/file"
  sync -f "$folder"
  break_disk 400
  call expandfs "$options" '' "$folder" $((640 << 20)) $((320 << 20))
  expect_failure "xfs_growfs"
  [ "$(<"$folder/file")" = precious ]
  heal_disk
  call unmount "$folder" && expect_success
  call mount "$folder" "$options" && expect_success
  [ "$(<"$folder/file")" = precious ]
  call expandfs "$options" '' "$folder" $((640 << 20)) $((320 << 20)) && expect_success
  [ "$(($(stat -f -c '%b * %S' "$folder") >> 20))" -gt 540 ]
}

@test "growth on a disk that is dead: an error, and again once it is back" {
  volume_name 1 && mount_volume "$name" && expect_success
  echo precious >"$folder/file"
  sync -f "$folder"
  break_disk
  call expandfs "$options" '' "$folder" $((640 << 20)) $((320 << 20))
  [ "$status" = 1 ]
  heal_disk
  call unmount "$folder" && expect_success
  call mount "$folder" "$options" && expect_success
  [ "$(<"$folder/file")" = precious ]
  call expandfs "$options" '' "$folder" $((640 << 20)) $((320 << 20)) && expect_success
}
