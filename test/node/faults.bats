# Disks that fail at mkfs, at mount and under a mounted volume: what the plugin says, and that it
# neither formats nor leaves anything.

setup_file() {
  export group=fault
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

expect_nothing_left() {
  expect_unmounted "$folder"
  expect_unmade
}

# A volume with a file in it, unmounted.
make_precious() {
  volume_name 1 && mount_volume "$name" && expect_success
  echo precious >"$folder/file"
  call unmount "$folder" && expect_success
}

expect_precious() {
  call mount "$folder" "$options" && expect_success
  [ "$(<"$folder/file")" = precious ] || fail "the data is gone"
}

@test "a disk on which only LVM's metadata can be written: lvcreate says so, nothing is left" {
  volume_name 1
  break_disk 1
  mount_volume "$name"
  expect_failure "cannot create volume $name: lvcreate failed"
  expect_nothing_left
}

@test "a disk with a bad region: mkfs says so, nothing is left" {
  volume_name 1
  break_disk 64
  mount_volume "$name"
  expect_failure "mkfs.xfs failed"
  [[ $answer == *"Input/output error"* ]]
  expect_nothing_left
}

@test "a disk that dies under mkfs: what cannot be removed is taken up when the disk is back" {
  volume_name 1
  strike_at mkfs.xfs break_disk
  mount_volume "$name"
  expect_failure "mkfs.xfs failed"
  expect_unmounted "$folder"
  heal_disk
  configure "$group"
  call mount "$folder" "$options" && expect_success
  [ "$(lvs --noheadings "$group" | wc -l)" = 1 ]
}

# That the volume is removed again is dropped as well, so it is there once the disk is whole.
@test "a disk that drops writes under mkfs: no volume is made of it until it is whole" {
  volume_name 1
  strike_at mkfs.xfs flakey_disk drop_writes
  mount_volume "$name"
  expect_failure "mkfs.xfs"
  expect_unmounted "$folder"
  heal_disk
  configure "$group"
  call mount "$folder" "$options" && expect_success
  [ "$(lvs --noheadings "$group" | wc -l)" = 1 ]
}

@test "a disk that loses mkfs's last write: mkfs is not believed" {
  volume_name 1
  # shellcheck disable=SC2016 # expanded by the wrapper
  wrap_tool mkfs.xfs '"$tool" "$@" && exec dd if=/dev/zero of="${!#}" bs=4k count=1 oflag=direct status=none'
  configure "$group" "[tool]" "mkfs.xfs = /run/wrapped-mkfs.xfs"
  mount_volume "$name"
  expect_failure "does the disk lose writes?"
  expect_nothing_left
}

@test "a disk that is dead at a mount: an error, and the data once it is back" {
  make_precious
  break_disk
  call mount "$folder" "$options"
  expect_failure "Input/output error; the volume is not formatted again"
  expect_unmounted "$folder"
  heal_disk
  expect_precious
}

@test "a disk that refuses writes at a mount leaves no mount that is half there" {
  make_precious
  flakey_disk error_writes
  call mount "$folder" "$options"
  # The kernel may find out at the mount or at the first write after it.
  if [ "$status" = 0 ]; then
    run touch "$folder/other"
    sync -f "$folder" || true
    call unmount "$folder" && expect_success
  else
    expect_failure "the volume is not formatted again"
  fi
  expect_unmounted "$folder"
  heal_disk
  expect_precious
}

@test "a disk that dies under mounted volumes: they can be unmounted, stacked ones too" {
  make_precious
  call mount "$folder" "$options" && expect_success
  mount --bind "$folder" "$folder"
  break_disk
  run touch "$folder/other"
  sync -f "$folder" || true
  call unmount "$folder" && expect_success
  expect_unmounted "$folder"
  heal_disk
  expect_precious
}

@test "a disk that is gone: the volume group is said to be missing, nothing is made" {
  volume_name 1
  break_disk
  mount_volume "$name"
  expect_failure "volume group \\\"$group\\\" is not on this node"
  heal_disk
  expect_nothing_left
}

@test "power is lost with two volumes in use: both come back with what was synced" {
  folders=()
  for number in 1 2; do
    volume_name "$number" && mount_volume "$name" && expect_success
    folders+=("$folder") all_options+=("$options")
    echo "precious $number" >"$folder/file"
    sync -f "$folder"
    echo lost >"$folder/later"
  done
  break_disk # nothing gets to the disk from here on
  for folder in "${folders[@]}"; do umount "$folder"; done
  heal_disk
  vgchange -qq -an "$group"
  rm -rf /run/flexlocal
  for i in 0 1; do
    call mount "${folders[i]}" "${all_options[i]}" && expect_success
    [ "$(<"${folders[i]}/file")" = "precious $((i + 1))" ]
  done
}
