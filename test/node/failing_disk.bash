# shellcheck shell=bash
# A disk that can be made to fail while it is in use: a device-mapper device between LVM and the
# memory it lies in. Its start is at an offset there, so that LVM finds its label only once.

readonly disk_sectors=$((1000 * 2048))

# Called in setup_file: makes GROUP on such a disk.
make_failing_disk() {
  truncate -s 1100M /run/failing.img
  losetup --find --show /run/failing.img >/run/failing.loop
  dmsetup create failing --table "$(whole_disk)"
  vgcreate -qq "$1" /dev/mapper/failing >&2
}

whole_disk() { echo "0 $disk_sectors linear $(</run/failing.loop) 2048"; }

# Changes the disk under what is open on it, as a failure does: nothing is flushed before.
switch_disk() {
  dmsetup suspend --noflush --nolockfs failing
  dmsetup load failing <<<"$1"
  dmsetup resume failing
}

heal_disk() { switch_disk "$(whole_disk)"; }

# break_disk [MIB]: every access fails, or only those behind the first MIB.
break_disk() {
  local good=$((${1:-0} * 2048)) table=''
  [ "$good" = 0 ] || table="0 $good linear $(</run/failing.loop) 2048"$'\n'
  switch_disk "$table$good $((disk_sectors - good)) error"
}

# flakey_disk FEATURE: drop_writes (they seem to succeed) or error_writes; reading works. 0 s up
# and then down for ever: see dm-flakey.rst of the kernel.
flakey_disk() { switch_disk "0 $disk_sectors flakey $(</run/failing.loop) 2048 0 86400 1 $1"; }

# A tool before which the disk changes: `strike_at mkfs.xfs break_disk`.
strike_at() {
  wrap_tool "$1" ". $BATS_TEST_DIRNAME/failing_disk.bash; ${*:2} >&2; exec \"\$tool\" \"\$@\""
  # shellcheck disable=SC2154 # set by setup_file; not there when a wrapper reads this file
  configure "$group" "[tool]" "$1 = /run/wrapped-$1"
}
