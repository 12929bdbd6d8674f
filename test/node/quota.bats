# Backend quota on a real kernel: folders on one XFS, each with a hard project quota.

setup_file() {
  . "$BATS_TEST_DIRNAME/quota.bash"
  make_shared_disk
}

setup() {
  . "$BATS_TEST_DIRNAME/quota.bash"
  mount_shared
}

teardown() {
  ! mountpoint -q /usr/sbin || umount /usr/sbin /run/whole
  forget_quota_volumes
}

@test "a first mount makes a limited folder and binds it; mounting again starts no program" {
  volume_name 1 && made "$name"
  read -r root options < <(findmnt -n -o FSROOT,OPTIONS "$folder")
  [ "$root" = "/.flexlocal/volumes/$name" ]
  for option in nodev nosuid; do [[ ,$options, == *,$option,* ]]; done
  [ "$(stat -c '%a %u %g' "$folder")" = "755 0 0" ]
  read -r total used < <(df --output=size,used -B1 "$folder" | tail -n 1)
  [ "$total $used" = "$((32 << 20)) 0" ] || fail "df shows $total $used"
  echo precious >"$folder/file"
  call unmount "$folder" && expect_success
  configure_quota "[tool]" "xfs_quota = /bin/false"
  mount_volume "$name" pod-2 32 && expect_success
  [ "$(<"$folder/file")" = precious ]
  call mount "$folder" "$options" && expect_success
  call unmount "$folder" && expect_success
  expect_unmounted "$folder"
}

@test "the size is a hard limit to the byte, and a neighbour does not notice" {
  volume_name 1 && made "$name"
  first=$folder
  volume_name 2 && made "$name"
  before=$(stat -f -c %a "$folder")
  run dd if=/dev/zero of="$first/full" bs=4096 count=10000 status=none
  [ "$status" = 1 ]
  [[ $output == *"No space left on device"* ]]
  [ "$(stat -c %s "$first/full")" = $((32 << 20)) ]
  [ "$(stat -f -c %a "$folder")" = "$before" ]
  dd if=/dev/zero of="$folder/full" bs=1M count=32 status=none
}

@test "a size that is no whole number of blocks is rounded up to one" {
  volume_name 1
  folder_for "$name" && options_for "$name" "1 * 1024 * 1024 + 1 + 0"
  call mount "$folder" "$options" && expect_success
  run dd if=/dev/zero of="$folder/full" bs=512 count=10000 status=none
  [ "$(stat -c %s "$folder/full")" = $(((1 << 20) + 4096)) ]
}

@test "files without data are limited as well" {
  volume_name 1 && made "$name" 1
  read -r inodes < <(df --output=itotal "$folder" | tail -n 1)
  [ "$inodes" = 4096 ]
}

@test "a shared file system that is not mounted, no XFS, or without prjquota is refused" {
  volume_name 1
  umount "$shared"
  mount_volume "$name" pod-1 32
  expect_failure "nothing is mounted at $shared"
  mount -t tmpfs none "$shared"
  mount_volume "$name" pod-1 32
  expect_failure "$shared is of type tmpfs"
  umount "$shared"
  mount -t xfs "$device" "$shared"
  mount_volume "$name" pod-1 32
  expect_failure "is mounted without prjquota"
  [ ! -e "$shared/.flexlocal/volumes/$name" ]
  umount "$shared"
  mount -t xfs -o pqnoenforce "$device" "$shared"
  mount_volume "$name" pod-1 32
  expect_failure "is mounted without prjquota"
  umount "$shared"
  expect_unmounted "$folder"
}

@test "eight volumes at once get eight projects" {
  pids=() ids=()
  for number in 1 2 3 4 5 6 7 8; do
    volume_name "$number" && folder_for "$name" && options_for "$name" 32
    "$plugin" mount "$folder" "$options" >"/run/answer-$number" 2>&1 &
    pids+=($!)
  done
  for i in "${!pids[@]}"; do wait "${pids[i]}" || fail "call $i: $(<"/run/answer-$((i + 1))")"; done
  for number in 1 2 3 4 5 6 7 8; do
    volume_name "$number" && ids+=("$(project_of "$name")")
  done
  [ "$(printf '%s\n' "${ids[@]}" | sort -u | wc -l)" = 8 ] || fail "${ids[*]}"
}

@test "ids survive a reboot and are not used again after a removal" {
  volume_name 1 && made "$name"
  first=$(project_of "$name")
  echo precious >"$folder/file"
  unmount_pods && umount "$shared"
  mount -t xfs -o prjquota "$device" "$shared"
  made "$name"
  [ "$(<"$folder/file")" = precious ]
  [ "$(project_of "$name")" = "$first" ]
  call unmount "$folder" && engine_call remove "$record" && expect_success
  volume_name 2 && made "$name"
  [ "$(project_of "$name")" -gt "$first" ]
}

@test "a lost counter is begun above the ids that are used, and an administrator's id is skipped" {
  volume_name 1 && made "$name"
  first=$(project_of "$name")
  rm "$shared/.flexlocal/next-project-id"
  xfs_quota -x -c "limit -p bhard=1m $((first + 1))" "$shared"
  volume_name 2 && made "$name"
  [ "$(project_of "$name")" = $((first + 2)) ]
}

@test "a volume grows under a running writer, again and again the same" {
  volume_name 1 && made "$name"
  (
    for ((i = 0; i < 4000; i++)); do printf '%065536d' "$i"; done >"$folder/stream" 2>/run/writer
  ) &
  engine_call grow "$record" $((64 << 20)) && expect_success
  engine_call grow "$record" $((64 << 20)) && expect_success
  wait $! || true
  expect_size $((64 << 20))
  engine_call grow "$record" $((32 << 20))
  [[ $answer == *'"code":"invalid"'*"cannot shrink"* ]] || fail "$answer"
  call unmount "$folder"
  call mount "$folder" "$options" && expect_success
  expect_size $((64 << 20))
}

# As on a host where lvm2 and dmsetup were never installed.
hide_lvm() {
  local program
  mkdir -p /run/whole /run/without-lvm
  mount --bind /usr/sbin /run/whole
  for program in /run/whole/*; do
    case ${program##*/} in
    lv* | vg* | pv* | dm*) ;;
    *) ln -sf "$program" /run/without-lvm ;;
    esac
  done
  mount --bind /run/without-lvm /usr/sbin
}

@test "a node that has nothing of LVM makes, shows, grows and removes quota folders" {
  hide_lvm
  volume_name 1 && made "$name"
  engine_call inventory && expect_success
  [[ $answer == *'"id":"quota:default"'*'"volume":"'"$name"* ]] || fail "$answer"
  engine_call settle && expect_success
  engine_call resume-suspended && expect_success
  engine_call grow "$record" $((64 << 20)) && expect_success
  expect_size $((64 << 20))
  "$plugin" list | grep -q "$name" || fail "$("$plugin" list)"
  call unmount "$folder" && expect_success
  engine_call remove "$record" && expect_success
  expect_no_volume
}

@test "growing past the pool is refused with figures and changes nothing" {
  volume_name 1 && made "$name"
  engine_call grow "$record" $((8 << 30))
  [[ $answer == *'"code":"no-space"'*"free of "*"asked"* ]] || fail "$answer"
  expect_size $((32 << 20))
  volume_name 2
  folder_for "$name" && options_for "$name" 32
  engine_call grow "$record" $((64 << 20))
  [[ $answer == *'"code":"not-found"'* ]] || fail "$answer"
}

@test "the sum of limits never exceeds the pool; overcommit allows more" {
  volume_name 1 && made "$name" 700
  volume_name 2 && mount_volume "$name" pod-1 700
  expect_failure "cannot create volume $name: no room: pool"
  [ ! -e "$shared/.flexlocal/new/$name" ]
  configure_quota "overcommit = 2"
  made "$name" 700
  engine_call inventory && expect_success
  free=$(jq -r '.spaces[] | select(.id == "quota:default") | .free' <<<"$answer")
  ((free > 0 && free < 700 << 20))
  [ "$(jq -r '[.holdings[].size] | add' <<<"$answer")" = $((1400 << 20)) ]
}

# killed_at SCRIPT: a first mount in which the plugin is killed from within xfs_quota, then a clean
# one: one right volume and nothing else.
killed_at() {
  volume_name 1
  wrap_tool xfs_quota "$1"
  configure_quota "[tool]" "xfs_quota = /run/wrapped-xfs_quota"
  mount_volume "$name" pod-1 32
  [ "$status" = 137 ] || fail "the plugin was not killed: $status $answer"
  expect_unmounted "$folder"
  configure_quota
  call mount "$folder" "$options" && expect_success
  expect_size $((32 << 20))
  [ "$(find "$shared"/.flexlocal/{volumes,new,trash} -mindepth 1)" = "$shared/.flexlocal/volumes/$name" ]
  [ "$(limited_ids)" = "$(project_of "$name")" ]
}

@test "killed before xfs_quota" {
  # shellcheck disable=SC2016 # expanded by the wrapper
  killed_at 'kill -9 $PPID'
}

@test "killed while xfs_quota runs: the next call waits for it" {
  # shellcheck disable=SC2016
  killed_at 'kill -9 $PPID; read -t 1 <>/run/guest; exec "$tool" "$@"'
}

@test "killed after xfs_quota" {
  # shellcheck disable=SC2016
  killed_at '"$tool" "$@"; kill -9 $PPID'
}

@test "an xfs_quota that lies, fails or is missing leaves nothing" {
  volume_name 1
  # shellcheck disable=SC2016 # expanded by the wrapper
  for script in 'exit 0' 'echo "no such luck" >&2; exit 1' '"$tool" "$@"; exit 1'; do
    wrap_tool xfs_quota "if [[ \$* == *project* ]]; then $script; else exec \$tool \"\$@\"; fi"
    configure_quota "[tool]" "xfs_quota = /run/wrapped-xfs_quota"
    mount_volume "$name" pod-1 32
    expect_failure "cannot create volume $name: xfs_quota"
    expect_unmounted "$folder"
    expect_no_volume
  done
}

@test "a stranger's folder of our name is neither used nor removed" {
  volume_name 1 && made "$name"
  call unmount "$folder" && engine_call remove "$record" && expect_success
  promise "$name"
  mkdir "$shared/.flexlocal/volumes/$name"
  echo theirs >"$shared/.flexlocal/volumes/$name/file"
  call mount "$folder" "$options"
  expect_failure "does not say that it belongs to this claim"
  engine_call remove "$record"
  [[ $answer == *'"code":"denied"'* ]] || fail "$answer"
  [ "$(<"$shared/.flexlocal/volumes/$name/file")" = theirs ]
}

@test "a volume that lost its limit is not mounted, and the message mends it" {
  volume_name 1 && made "$name"
  call unmount "$folder"
  xfs_quota -x -c "limit -p bhard=0 $(project_of "$name")" "$shared"
  call mount "$folder" "$options"
  expect_failure "is not limited as it was made; set its limit again with"
  command=$(jq -r .message <<<"$answer") && command=${command#*\`} && command=${command%\`*}
  eval "$command" >/dev/null
  call mount "$folder" "$options" && expect_success
}

@test "on a host that lost its records the daemon takes the volume up, and then it is mounted with its data" {
  access_mode=ReadWriteOncePod
  volume_name 1 && made "$name"
  echo precious >"$folder/file"
  call unmount "$folder"
  expect_taken_up
}

@test "another file system at the place of the volume's is noticed, not filled anew" {
  volume_name 1 && made "$name"
  call unmount "$folder"
  mv "$shared/.flexlocal/volumes/$name" "$shared/elsewhere"
  call mount "$folder" "$options"
  expect_failure "held data and is gone; is another file system mounted at"
  engine_call remove "$record"
  [[ $answer == *'"code":"unavailable"'* ]] || fail "$answer"
  mv "$shared/elsewhere" "$shared/.flexlocal/volumes/$name"
  engine_call follow "$record" && expect_success # a removal lets nobody mount it any more
  call mount "$folder" "$options" && expect_success
}

@test "a read-only mount refuses writes, beside a writer" {
  volume_name 1 && made "$name"
  folder_for "$name" reader && options_for "$name" 32 shop ro
  call mount "$folder" "$options" && expect_success
  run touch "$folder/file"
  [[ $output == *"Read-only file system"* ]]
  folder_for "$name" pod-1 && touch "$folder/file"
}

@test "onDelete zero is refused in words" {
  volume_name 1
  more_options=(onDelete=zero)
  mount_volume "$name" pod-1 32
  expect_failure "accepted: discard, none"
}
