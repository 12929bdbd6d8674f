# shellcheck shell=bash
# The part of the bench that needs LVM and XFS: test/bench/run has test/lab/guest run it. FLEXLOCAL
# and STOPWATCH name the two programs. Prints "sample NAME OURS OTHER" for each repetition; every
# other line is for people. Exit status: not 0 when something could not be measured.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
export group=data
# shellcheck source-path=SCRIPTDIR
. "$here/../node/volume.bash"
readonly stopwatch=${STOPWATCH:?the program that measures}
readonly first_pairs=15 usual_pairs=7 again_pairs=41 quota_pairs=15
readonly shared=/run/shared quota_mib=16 # all of them fit, since their limits are never lifted
readonly mount_options=nodev,nosuid,prjquota

# Both sides get the environment that the plugin gives to what it starts, or else LVM would look
# for other things in a bare call than in the plugin's.
unset DM_DISABLE_UDEV
export LC_ALL=C LVM_SUPPRESS_FD_WARNINGS=1

# The tools are called without a search for them, as the plugin does.
find_tools() {
  mount=$(type -P mount)
  umount=$(type -P umount)
  lvcreate=$(type -P lvcreate)
  vgs=$(type -P vgs)
  lvs=$(type -P lvs)
  blkid=$(type -P blkid)
  mkdir=$(type -P mkdir)
  xfs_quota=$(type -P xfs_quota)
  mkfs=$(type -P mkfs.xfs)
}

# Volume 1, made by the plugin, whose calls of lvcreate and mkfs.xfs are kept: the bare side makes
# the very same ones, whatever they are today. Sets `lvcreate_call`, `mkfs_call`: the arguments.
learn_calls() {
  local tool
  for tool in lvcreate mkfs.xfs; do
    # shellcheck disable=SC2016 # expanded by the wrapper
    wrap_tool "$tool" 'printf "%s\0" "$@" >"$0.call" && exec "$tool" "$@"'
  done
  configure "$group" "[tool]" "lvcreate = /run/wrapped-lvcreate" "mkfs.xfs = /run/wrapped-mkfs.xfs"
  volume_name 1
  learned=${name#pvc-}
  mount_volume "$name"
  expect_success
  mapfile -d '' -t lvcreate_call </run/wrapped-lvcreate.call
  mapfile -d '' -t mkfs_call </run/wrapped-mkfs.xfs.call
  configure "$group"
}

# The kernel's own word on how `folder` is mounted: source, type and all options; sets `mounted`.
look_at_mount() {
  mounted=$(findmnt -n -o SOURCE,FSTYPE,OPTIONS "$folder") || fail "nothing is mounted at $folder"
  mounted=${mounted//"${name//-/--}"/VOLUME}
  mounted=${mounted//"$name"/VOLUME}
}

# Fast, but not by doing less: the bare side has to mount as the plugin does.
expect_same_mount() {
  [ "$1" = "$2" ] || fail "the plugin mounts '$1' and the bench '$2': correct test/bench/guest.bash"
}

prepare_bare_mount() {
  device_of "$name"
  folder_for "$name"
  bare_mount=("$mount" -t xfs -o "$mount_options" -- "$device" "$folder")
}

# The learned calls, for volume NAME: sets `bare_lvcreate`, `bare_mkfs`, `bare_first`.
prepare_bare_first() {
  local uid=${name#pvc-}
  prepare_bare_mount
  bare_lvcreate=("${lvcreate_call[@]//"$learned"/"$uid"}")
  bare_mkfs=("${mkfs_call[@]//"$learned"/"$uid"}")
  bare_mkfs=("${bare_mkfs[@]//"${learned//-/--}"/"${uid//-/--}"}")
  bare_first=("$lvcreate" "${bare_lvcreate[@]}" --then "$mkfs" "${bare_mkfs[@]}"
    --then "${bare_mount[@]}")
}

# What a driver does that looks before each step: is there room, is the volume there, how large has
# it become, is it blank. Sets `usual_first`.
# shellcheck disable=SC2034 # used by its name
prepare_usual_first() {
  local report=(--reportformat json --units b --nosuffix)
  local look=("$lvs" "${report[@]}" -o "lv_name,lv_size,lv_tags" --select "lv_name=$name" -- "$group")
  prepare_bare_first
  usual_first=("$vgs" "${report[@]}" -o "vg_name,vg_size,vg_free" -- "$group"
    --then "${look[@]}" --then "$lvcreate" "${bare_lvcreate[@]}" --then "${look[@]}"
    --then --exits 2 "$blkid" -p -- "$device"
    --then "$mkfs" "${bare_mkfs[@]}" --then "${bare_mount[@]}")
}

# prepare_plugin_mount [MIB]
prepare_plugin_mount() {
  folder_for "$name"
  options_for "$name" "${1:-320}"
  plugin_mount=("$plugin" mount "$folder" "$options")
}

# What was removed by hand since is no news to the plugin then, as on a node with a daemon.
look_as_daemon() {
  "${plugin%/*}/engine-call" inventory >/dev/null || fail "the daemon's look failed"
}

# time_side SIDE...: sets `took`.
time_side() {
  took=$("$stopwatch" "$@") || fail "$1 could not be measured, see above"
}

plugin_first() {
  volume_name "$1"
  prepare_plugin_mount
  look_as_daemon
  time_side "${plugin_mount[@]}"
  ours=$took
  look_at_mount
  ours_mounted=$mounted
  forget_volumes
}

# other_first KIND NUMBER: KIND is bare or usual.
other_first() {
  local -n side=$1_first
  volume_name "$2"
  "prepare_$1_first"
  time_side "${side[@]}"
  other=$took
  look_at_mount
  other_mounted=$mounted
  forget_volumes
}

# measure_first KIND SAMPLES PAIRS: each volume is fresh and gone before the next one, so that both
# sides find the same group.
measure_first() {
  local pair ours other ours_mounted other_mounted
  for ((pair = -1; pair < $3; pair++)); do
    if ((pair % 2)); then
      other_first "$1" $((2 * pair + 12))
      plugin_first $((2 * pair + 13))
    else
      plugin_first $((2 * pair + 12))
      other_first "$1" $((2 * pair + 13))
    fi
    expect_same_mount "$ours_mounted" "$other_mounted"
    ((pair < 0)) || echo "sample $2 $ours $other"
  done
}

plugin_again() {
  time_side "${plugin_mount[@]}"
  ours_mount=$took
  expect_mounted "$folder"
  time_side "$plugin" unmount "$folder"
  ours_unmount=$took
  expect_unmounted "$folder"
}

bare_again() {
  time_side "${bare_mount[@]}"
  other_mount=$took
  expect_mounted "$folder"
  time_side "$umount" -- "$folder"
  other_unmount=$took
  expect_unmounted "$folder"
}

# With no tool that could be started, so what succeeds has run none.
measure_again() {
  local pair ours_mount ours_unmount other_mount other_unmount
  make_volume 1
  configure "$group" "[tool]" {blkid,lvchange,lvcreate,lvremove,lvs,mkfs.xfs,vgs}" = /run/no-tool"
  for ((pair = -1; pair < again_pairs; pair++)); do
    if ((pair % 2)); then
      bare_again
      plugin_again
    else
      plugin_again
      bare_again
    fi
    ((pair >= 0)) || continue
    echo "sample plugin.mount.again $ours_mount $other_mount"
    echo "sample plugin.unmount $ours_unmount $other_unmount"
  done
  configure "$group"
  forget_volumes
}

# make_volume NUMBER: ready and not mounted.
make_volume() {
  volume_name "$1"
  mount_volume "$name"
  expect_success
  call unmount "$folder"
  expect_success
  prepare_plugin_mount
  prepare_bare_mount
}

# programs_of SIDE...: the names of the programs that it ran, in `programs`.
programs_of() {
  local output
  output=$("$stopwatch" -p "$@") || fail "the programs of $1 could not be counted, see above"
  mapfile -t programs <<<"$output"
}

# The plugin itself is not counted: for kubelet it takes the place of the bare side's caller.
ours_are_counted() {
  programs_of "$plugin" "$@"
  ours=("${programs[@]:1}")
}

others_are_counted() {
  programs_of "$@"
  others=("${programs[@]}")
}

report_programs() {
  echo "$1 starts: ${ours[*]:-nothing}; the other side: ${others[*]}"
  echo "sample $1.programs ${#ours[@]} ${#others[@]}"
}

# Apart from what is timed: a process that is followed is slow.
count_programs() {
  local -a ours others
  volume_name 1
  prepare_bare_first
  others_are_counted "${bare_first[@]}"
  forget_volumes
  look_as_daemon
  prepare_plugin_mount
  ours_are_counted "${plugin_mount[@]:1}"
  report_programs plugin.mount.first

  others_are_counted "$umount" -- "$folder"
  ours_are_counted "${plugin_mount[@]:1}"
  ours_are_counted unmount "$folder"
  report_programs plugin.unmount

  prepare_bare_mount
  others_are_counted "${bare_mount[@]}"
  "$umount" -- "$folder"
  ours_are_counted "${plugin_mount[@]:1}"
  report_programs plugin.mount.again
  forget_volumes
}

# An XFS with project quotas beside the group, and the pool on it.
mount_shared() {
  mkdir -p "$shared"
  truncate -s 1G /run/disks/shared.img
  mkfs.xfs -q /run/disks/shared.img
  mount -o loop,prjquota /run/disks/shared.img "$shared"
  configure "$group" "quota-path = $shared"
  backend=quota
}

# Sets `bare_quota`: the same folder with the same limit, by the tools. NUMBER is its project.
prepare_bare_quota() {
  local home=$shared/.flexlocal/volumes/$name bytes=$((quota_mib * 1024 * 1024))
  folder_for "$name"
  bare_quota=("$mkdir" -- "$home" --then "$xfs_quota" -x -c "project -s -p $home $1"
    -c "limit -p bhard=$bytes $1" -- "$shared"
    --then "$mount" -o "bind,nodev,nosuid" -- "$home" "$folder")
}

forget_folder() {
  umount "$folder"
  rm -rf "$shared/.flexlocal/volumes/$name" "${records:?}/$name"
}

plugin_quota() {
  volume_name "$1"
  prepare_plugin_mount "$quota_mib"
  time_side "${plugin_mount[@]}"
  ours=$took
  look_at_mount
  ours_mounted=$mounted
  forget_folder
}

bare_quota() {
  volume_name "$1"
  prepare_bare_quota "$((1000000 + $1))"
  time_side "${bare_quota[@]}"
  other=$took
  look_at_mount
  other_mounted=$mounted
  forget_folder
}

# The pool's own folders are made by its very first volume, which is not counted.
measure_quota() {
  local pair ours other ours_mounted other_mounted
  local -a bare_quota
  mount_shared
  for ((pair = -1; pair < quota_pairs; pair++)); do
    plugin_quota $((2 * pair + 12))
    bare_quota $((2 * pair + 13))
    expect_same_mount "$ours_mounted" "$other_mounted"
    ((pair < 0)) || echo "sample plugin.quota.first $ours $other"
  done
  count_quota_programs
}

count_quota_programs() {
  local -a ours others
  volume_name 1
  prepare_bare_quota 1000001
  others_are_counted "${bare_quota[@]}"
  forget_folder
  prepare_plugin_mount "$quota_mib"
  ours_are_counted "${plugin_mount[@]:1}"
  forget_folder
  report_programs plugin.quota.first
}

"$here/../lab/guest-disk" "$group" 1G >/dev/null
find_tools
learn_calls
forget_volumes
count_programs
measure_again
measure_first bare plugin.mount.first "$first_pairs"
measure_first usual plugin.mount.first.usual "$usual_pairs"
measure_quota
