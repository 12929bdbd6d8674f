# shellcheck shell=bash disable=SC2154 # what is used here is set in guest.bash
# The part of guest.bash about backend quota: a folder with a project quota on a shared XFS, made
# by the plugin, and by mkdir, xfs_quota and a bind mount.

readonly shared=/srv/shared quota_size_mib=64

make_shared() {
  truncate -s 1G /run/disks/shared.img
  mkfs.xfs -q /run/disks/shared.img
  mkdir -p "$shared"
  "$mount" -t xfs -o loop,prjquota /run/disks/shared.img "$shared"
  mkdir "$shared/bare"
}

# Volume 1, made by the plugin, whose call of xfs_quota is kept: the bare side makes the same one,
# for another folder and project. Sets `xfs_quota_call`, `quota_learned`, `project_learned`.
learn_quota_call() {
  # shellcheck disable=SC2016 # expanded by the wrapper
  wrap_tool xfs_quota 'printf "%s\0" "$@" >"$0.call" && exec "$tool" "$@"'
  configure "$group" "quota-path = $shared" "[tool]" "xfs_quota = /run/wrapped-xfs_quota"
  volume_name 1
  prepare_quota_mount
  call mount "$folder" "$options"
  expect_success
  mapfile -d '' -t xfs_quota_call </run/wrapped-xfs_quota.call
  quota_learned=$shared/.flexlocal/new/$name
  read -r project_learned _ < <(lsattr -pd "$folder")
  configure "$group" "quota-path = $shared"
  forget_quota
}

prepare_quota_mount() {
  folder_for "$name"
  options_for "$name" "$quota_size_mib"
  plugin_mount=("$plugin" mount "$folder" "$options")
}

# Sets `bare_quota`: for volume NUMBER, in a project of its own.
prepare_bare_quota() {
  local call place=$shared/bare/$name
  folder_for "$name"
  call=("${xfs_quota_call[@]//"$quota_learned"/"$place"}")
  call=("${call[@]//"$project_learned"/"$((5000 + $1))"}")
  bare_quota=("$mkdir" -- "$place" --then "$xfs_quota" "${call[@]}" --then
    "$mount" -o bind,nodev,nosuid -- "$place" "$folder")
}

# As if nothing had been, limits included.
forget_quota() {
  local id commands=()
  forget_volumes
  for id in $("$xfs_quota" -x -c 'report -p -b -n -N' "$shared" | awk '$4 > 0 { print substr($1, 2) }'); do
    commands+=(-c "limit -p bhard=0 ihard=0 $id")
  done
  [ ${#commands[@]} = 0 ] || "$xfs_quota" -x "${commands[@]}" "$shared"
  rm -rf "$shared"/bare/* "$shared"/.flexlocal/volumes/*
}

# The kernel's word on the mount and on the limit: both sides did the same.
look_at_quota() {
  mounted=$(findmnt -n -o FSTYPE,OPTIONS,SIZE,USED -b "$folder") || fail "nothing is mounted at $folder"
}

plugin_quota() {
  volume_name "$1"
  prepare_quota_mount
  time_side "${plugin_mount[@]}"
  ours=$took
  look_at_quota
  ours_mounted=$mounted
  forget_quota
}

bare_quota() {
  volume_name "$1"
  prepare_bare_quota "$1"
  time_side "${bare_quota[@]}"
  other=$took
  look_at_quota
  other_mounted=$mounted
  forget_quota
}

measure_quota() {
  local pair ours other ours_mounted other_mounted
  for ((pair = -1; pair < first_pairs; pair++)); do
    if ((pair % 2)); then
      bare_quota $((2 * pair + 12))
      plugin_quota $((2 * pair + 13))
    else
      plugin_quota $((2 * pair + 12))
      bare_quota $((2 * pair + 13))
    fi
    expect_same_mount "$ours_mounted" "$other_mounted"
    ((pair < 0)) || echo "sample plugin.quota.first $ours $other"
  done
}

count_quota_programs() {
  local -a ours others
  volume_name 1
  prepare_bare_quota 1
  others_are_counted "${bare_quota[@]}"
  forget_quota
  prepare_quota_mount
  ours_are_counted "${plugin_mount[@]:1}"
  report_programs plugin.quota.first
  "$umount" -- "$folder"
  others_are_counted "$mount" -o bind,nodev,nosuid -- "$shared/.flexlocal/volumes/$name" "$folder"
  "$umount" -- "$folder"
  ours_are_counted "${plugin_mount[@]:1}"
  report_programs plugin.quota.again
  forget_quota
}

bench_quota() {
  local backend=quota
  mkdir=$(type -P mkdir)
  xfs_quota=$(type -P xfs_quota)
  make_shared
  learn_quota_call
  count_quota_programs
  measure_quota
  configure "$group"
}
