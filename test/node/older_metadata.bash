# shellcheck shell=bash
# What tests of metadata share that were put back to what they were before (vgcfgrestore), under volumes that
# have gone on since: what the kernel has is newer, and is neither cut off nor forgotten.

setup_file() {
  export group=older
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 2G 2G >/dev/null
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  . "$BATS_TEST_DIRNAME/waiting.bash"
  . "$BATS_TEST_DIRNAME/suspended.bash"
  configure "$group"
}

teardown() {
  resume_by_hand
  exec 9<&-
  ! dmsetup info path >/dev/null 2>&1 || dmsetup remove path
  ! mountpoint -q /run/sub || umount /run/sub
  unmount_pods
  bring_newer_back
  rm -f /run/older
  forget_volumes
  ! vgs --noheadings "$group/tp" >/dev/null 2>&1 || lvremove -qq -f "$group/tp"
  # The daemon's look takes back what it has noted of the group.
  engine_call inventory && expect_success
}

# shellcheck disable=SC2034 # the tests read it
mib=$((1024 * 1024))

# go_back: to what keep_metadata has kept.
keep_metadata() { vgcfgbackup -qq -f /run/older "$group"; }
go_back() {
  vgcfgbackup -qq -f /run/newer "$group"
  vgcfgrestore -qq -y --force -f /run/older "$group"
}

bring_newer_back() {
  [ -e /run/newer ] || return 0
  vgcfgrestore -qq -y --force -f /run/newer "$group"
  rm /run/newer
  engine_call inventory && expect_success
}

# sectors: what the kernel has of the volume's device.
sectors() { device_of "$name" && blockdev --getsz "$device"; }
has_sectors_of() { [ "$(sectors)" = $(($1 * 2048)) ] || fail "its device has $(sectors) sectors"; }

# ranges NAME: its extents, as "/dev/loop0:0-127".
ranges() { lvs --noheadings -o seg_pe_ranges "$group/$1" | xargs; }
disk_below() { ranges "$1" | sed 's/:.*//'; }

# write_data FOLDER MIB: sets `data` and `sum`.
write_data() {
  data=$1/data
  dd if=/dev/urandom of="$data" bs=1M count="$2" status=none
  sync
  sum=$(md5sum <"$data")
}

expect_data_whole() {
  echo 3 >/proc/sys/vm/drop_caches
  [ "$(md5sum <"$data")" = "$sum" ] || fail "the data is not what was written"
}

# As the daemon does: while a killed LVM command has left the device suspended, before anybody has
# read of it, and once it is not.
look_at_it() {
  device_of "$name"
  dmsetup suspend "$device"
  in_time engine_call resume-suspended
  # What is logged comes first.
  [[ $status = 1 && $answer == *"LVM's metadata are older than its volumes"* ]] || fail "$answer"
  has_sectors_of 640
  dmsetup resume "$device"
  engine_call settle
  has_sectors_of 640
}
