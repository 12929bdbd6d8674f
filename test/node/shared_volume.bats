# A pool with quota-size: the file system that its quota volumes share is made, and found again.

setup_file() {
  export group=shared
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 2G >/dev/null
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  backend=quota
  pools=/run/flexlocal-pools
  configure "$group" "quota-size = 1Gi"
  volume_name 1
}

teardown() {
  local line mounts
  mapfile -t mounts </proc/self/mountinfo
  for line in "${mounts[@]}"; do
    # shellcheck disable=SC2086 # the line's fields
    set -- $line
    case $5 in "$kubelet"/pods/*) umount "$5" ;; esac
  done
  for line in "$pools"/*; do ! mountpoint -q "$line" || umount "$line"; done
  rm -rf "$pools"
  forget_volumes
}

expect_one_shared_volume() {
  read -r lv tags < <(lvs --noheadings -o lv_name,lv_tags "$group" | paste -sd ' ')
  [ "$lv" = flexlocal-default ] || fail "$lv $tags"
  for tag in owner=flexlocal shared-pool=default state=ready; do
    [[ ,$tags, == *,flexlocal.io/$tag,* ]] || fail "$lv $tags"
  done
  [ "$(lvs --noheadings "$group" | wc -l)" = 1 ] || fail "$(lvs "$group")"
}

@test "the first volume makes the shared file system; more volumes and mounts only use it" {
  mount_volume "$name" pod-1 32 && expect_success
  expect_one_shared_volume
  read -r source options < <(findmnt -n -o SOURCE,OPTIONS "$pools/default")
  [ "$source" = "/dev/mapper/$group-flexlocal--default" ]
  for option in nodev nosuid prjquota; do [[ ,$options, == *,$option,* ]]; done
  echo precious >"$folder/file"
  call unmount "$folder" && expect_success
  configure "$group" "quota-size = 1Gi" "[tool]" "lvs = /bin/false" "lvcreate = /bin/false" \
    "mkfs.xfs = /bin/false" "mount = /bin/false"
  mount_volume "$name" pod-2 32 && expect_success
  [ "$(<"$folder/file")" = precious ]
  volume_name 2 && mount_volume "$name" pod-2 32 && expect_success
}

@test "before there is one, the inventory has what it will surely offer; a mount keeps the promise" {
  engine_call inventory && expect_success
  promised=$(jq -r '.spaces[] | select(.id == "quota:default") | .free' <<<"$answer")
  ((promised > 700 << 20))
  [ -z "$(lvs --noheadings "$group")" ]
  mount_volume "$name" pod-1 $((promised >> 20)) && expect_success
}

@test "after a reboot the first call mounts it again, a removal too" {
  mount_volume "$name" pod-1 32 && expect_success
  echo precious >"$folder/file"
  call unmount "$folder"
  umount "$pools/default" && vgchange -qq -an "$group"
  call mount "$folder" "$options" && expect_success
  [ "$(<"$folder/file")" = precious ]
  call unmount "$folder"
  umount "$pools/default" && vgchange -qq -an "$group"
  engine_call remove "$record" && expect_success
  [ -z "$(ls "$pools/default/.flexlocal/volumes")" ]
  expect_one_shared_volume
}

# LVM's own archive has the metadata of the moment before the tag.
@test "metadata of before it was ready, restored: the shared file system stays, with all that is in it" {
  mount_volume "$name" pod-1 32 && expect_success
  echo precious >"$folder/file"
  call unmount "$folder" && expect_success
  umount "$pools/default"
  for state in there gone; do
    lvchange -qq --deltag flexlocal.io/state=ready --addtag flexlocal.io/state=new "$group/flexlocal-default"
    [ "$state" = there ] || rm /var/lib/flexlocal/pools/*
    call mount "$folder" "$options" && expect_success
    [ "$(<"$folder/file")" = precious ]
    call unmount "$folder" && expect_success
    umount "$pools/default"
  done
  volume_name 2 && mount_volume "$name" pod-1 32 && expect_success
  volume_name 1
  [ "$(<"$pools/default/.flexlocal/volumes/$name/file")" = precious ]
}

@test "a pool's logical volume that is gone, or carries nothing any more, is not made anew" {
  mount_volume "$name" pod-1 32 && expect_success
  call unmount "$folder" && umount "$pools/default"
  dd if=/dev/zero of="/dev/mapper/$group-flexlocal--default" bs=64K count=1 conv=fsync status=none
  sed -i 's/"state":"ready"/"state":"new"/' /var/lib/flexlocal/pools/flexlocal-default
  call mount "$folder" "$options"
  expect_failure "carries no readable file system"
  sed -i 's/"state":"new"/"state":"ready"/' /var/lib/flexlocal/pools/flexlocal-default
  lvremove -qq -f "$group/flexlocal-default"
  call mount "$folder" "$options"
  expect_failure "held data and is gone"
  [ -z "$(lvs --noheadings "$group")" ]
  rm /var/lib/flexlocal/pools/*
}

@test "a larger quota-size in node.conf makes the file system larger, under its pods" {
  mount_volume "$name" pod-1 32 && expect_success
  echo precious >"$folder/file"
  before=$(stat -f -c %b "$pools/default")
  configure "$group" "quota-size = 1536Mi"
  engine_call settle && expect_success
  [ "$(stat -f -c %b "$pools/default")" -gt $((before + before / 3)) ] || fail "$(df "$pools/default")"
  [ "$(lvs --noheadings --units m -o lv_size "$group" | xargs)" = 1536.00m ]
  [ "$(<"$folder/file")" = precious ]
  engine_call settle && expect_success
  configure "$group" "quota-size = 512Mi"
  engine_call settle && expect_success
  [ "$(lvs --noheadings --units m -o lv_size "$group" | xargs)" = 1536.00m ]
}

# The way to take flexlocal away in examples/operating.md; a pool that was mounted below /var/lib/flexlocal lost its data.
@test "removing the host's files does not reach into a pool, and uninstalling refuses while it has data" {
  mount_volume "$name" pod-1 32 && expect_success
  echo precious >"$folder/file"
  call unmount "$folder" && expect_success
  engine_call retain "$record" && expect_success
  mkdir -p /run/exec && "$plugin" install /run/exec
  run "$plugin" uninstall /run/exec
  [ "$status" = 1 ] && [[ $output == *"there are volumes on this node still: $name (retained)"* ]] || fail "$output"
  [ -x /run/exec/flexlocal.io~flexlocal/flexlocal ]
  [ -s "$records/$name" ]
  rm -r /var/lib/flexlocal/*
  [ "$(<"$pools/default/.flexlocal/volumes/$name/file")" = precious ]
  run "$plugin" uninstall /run/exec
  [ "$status" = 1 ] && [[ $output == *"$name (no-record)"* ]] || fail "$output"
  # A pool that cannot be seen may have anything in it.
  umount "$pools/default" && mount -t tmpfs none "$pools/default"
  run "$plugin" uninstall /run/exec
  [ "$status" = 1 ] && [[ $output == *"cannot tell whether there are volumes"* ]] || fail "$output"
  umount "$pools/default"
  engine_call remove "$record" && expect_success
  run "$plugin" uninstall /run/exec
  [ "$status" = 0 ] || fail "$output"
  expect_unmounted "$pools/default"
  [ -z "$(ls -A /run/exec)" ]
  [ ! -e "$pools" ]
  [ ! -e /run/flexlocal ]
  expect_one_shared_volume
}

@test "killed before, in or after each program, one clean call makes the one right volume" {
  # shellcheck disable=SC2016 # expanded by the wrapper
  for tool in lvs lvcreate mkfs.xfs lvchange mount; do
    for script in 'kill -9 $PPID' 'kill -9 $PPID; exec "$tool" "$@"' '"$tool" "$@"; kill -9 $PPID'; do
      wrap_tool "$tool" "$script"
      configure "$group" "quota-size = 1Gi" "[tool]" "$tool = /run/wrapped-$tool"
      mount_volume "$name" pod-1 32
      [ "$status" = 137 ] || fail "not killed in $tool: $answer"
      configure "$group" "quota-size = 1Gi"
      call mount "$folder" "$options" && expect_success
      expect_one_shared_volume
      mountpoint -q "$pools/default"
      teardown
    done
  done
}

@test "a mount that goes on when its call is killed keeps the pool's lock: the next call waits" {
  mkfifo /run/go
  # shellcheck disable=SC2016 # expanded by the wrapper
  wrap_tool mount 'kill -9 $PPID; read -r _ </run/go; exec "$tool" "$@"'
  configure "$group" "quota-size = 1Gi" "[tool]" "mount = /run/wrapped-mount"
  mount_volume "$name" pod-1 32
  [ "$status" = 137 ] || fail "not killed in mount: $answer"
  configure "$group" "quota-size = 1Gi"
  ! flock --nonblock /run/flexlocal/pool-default true || fail "the pool's lock is free"
  echo >/run/go
  call mount "$folder" "$options" && expect_success
  expect_one_shared_volume
  [ "$(grep -c " $pools/default " /proc/self/mountinfo)" = 1 ]
}

@test "a failing mkfs leaves nothing; a group without room is refused with figures" {
  wrap_tool mkfs.xfs 'echo "disk on fire" >&2; exit 1'
  configure "$group" "quota-size = 1Gi" "[tool]" "mkfs.xfs = /run/wrapped-mkfs.xfs"
  mount_volume "$name" pod-1 32
  expect_failure "disk on fire"
  [ -z "$(lvs --noheadings "$group")" ]
  configure "$group" "quota-size = 1Ti"
  mount_volume "$name" pod-1 32
  expect_failure "has 1.99 GiB free"
  engine_call inventory && expect_success
  [ "$(jq -r '.spaces[] | select(.id == "quota:default") | .free' <<<"$answer")" = 0 ]
  expect_unmounted "$folder"
}

@test "a stranger's volume of that name is left alone" {
  lvcreate -qq -y -n flexlocal-default -L 320M --addtag somebody "$group"
  mount_volume "$name" pod-1 32
  expect_failure "its tags do not say that it belongs to this pool"
  [ "$(lvs --noheadings -o lv_tags "$group" | tr -d ' ')" = somebody ]
}

@test "eight first mounts at once make one shared file system" {
  pids=()
  for number in 1 2 3 4 5 6 7 8; do
    volume_name "$number" && folder_for "$name" && options_for "$name" 32
    "$plugin" mount "$folder" "$options" >"/run/answer-$number" 2>&1 &
    pids+=($!)
  done
  for i in "${!pids[@]}"; do wait "${pids[i]}" || fail "call $i: $(<"/run/answer-$((i + 1))")"; done
  expect_one_shared_volume
  [ "$(find "$pools/default/.flexlocal/volumes" -mindepth 1 -maxdepth 1 | wc -l)" = 8 ]
}
