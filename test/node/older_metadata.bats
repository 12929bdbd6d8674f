# LVM's metadata put back to what they were before (vgcfgrestore), under volumes that have gone on since: what
# the kernel has is newer, and is neither cut off nor forgotten.

setup_file() {
  export group=older
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 2G >/dev/null
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  configure "$group"
}

teardown() {
  unmount_pods
  [ ! -e /run/newer ] || vgcfgrestore -qq -y -f /run/newer "$group"
  rm -f /run/older /run/newer
  forget_volumes
}

mib=$((1024 * 1024))

# go_back: to what keep_metadata has kept.
keep_metadata() { vgcfgbackup -qq -f /run/older "$group"; }
go_back() {
  vgcfgbackup -qq -f /run/newer "$group"
  vgcfgrestore -qq -y -f /run/older "$group"
}

# sectors: what the kernel has of the volume's device.
sectors() { device_of "$name" && blockdev --getsz "$device"; }

@test "a device is not cut off under a file system that has grown" {
  for fs_type in xfs ext4; do
    volume_name 1 && mount_volume "$name" && expect_success
    keep_metadata
    engine_call grow "$options" $((640 * mib)) && expect_success
    dd if=/dev/urandom of="$folder/data" bs=1M count=400 status=none
    sync
    sum=$(md5sum <"$folder/data")
    go_back
    engine_call settle
    [ "$(sectors)" = $((640 * 2048)) ] || fail "its device has $(sectors) sectors"
    engine_call grow "$options" $((700 * mib))
    expect_failure "LVM's metadata are older than the volume"
    [ "$(sectors)" = $((640 * 2048)) ] || fail "its device has $(sectors) sectors"
    # As an LVM command that is killed now leaves it.
    device_of "$name"
    dmsetup suspend "$device"
    engine_call resume-suspended
    expect_failure "LVM's metadata are older than the volume"
    [ "$(sectors)" = $((640 * 2048)) ] || fail "its device has $(sectors) sectors"
    dmsetup resume "$device"
    echo 3 >/proc/sys/vm/drop_caches
    [ "$(md5sum <"$folder/data")" = "$sum" ] || fail "the data is not what was written"
    vgcfgrestore -qq -y -f /run/newer "$group"
    engine_call grow "$options" $((700 * mib)) && expect_success
    [ "$(md5sum <"$folder/data")" = "$sum" ] || fail "the data is not what was written"
    forget_volumes
  done
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
    engine_call remove "$options"
    expect_failure "LVM's metadata are older than the volume"
    [ -e "$records/$name" ] || fail "$state: its record is gone"
    call unmount "$folder" && expect_success
  done
  vgcfgrestore -qq -y -f /run/newer "$group"
  call mount "$folder" "$options" && expect_success
  [ "$(<"$folder/file")" = precious ]
  call unmount "$folder" && expect_success
  engine_call remove "$options" && expect_success
}

@test "a retained volume stays one" {
  volume_name 1 && mount_volume "$name" && expect_success
  call unmount "$folder" && expect_success
  keep_metadata
  engine_call retain "$options" && expect_success
  go_back
  [[ $(lv_of "$name") != *retained* ]] || fail "the tag is still there: nothing is tested"
  "$plugin" list | grep -q "$name.*retained" || fail "$("$plugin" list)"
  engine_call take-up "$options" && expect_success
  ! "$plugin" list | grep -q "$name.*retained" || fail "$("$plugin" list)"
}
