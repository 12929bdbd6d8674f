# The plugin on a real kernel: device-mapper, LVM, XFS.

setup_file() {
  export group=data
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 3G >/dev/null
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  configure "$group"
}

teardown() {
  forget_volumes
}

@test "init answers without a configuration, and leaves the mark of its version" {
  rm /etc/flexlocal/node.conf
  rm -rf /run/flexlocal
  call init
  expect_success
  [ "flexlocal $(</run/flexlocal/kubelet-init)" = "$("$plugin" --version)" ]
  [ "$(ls /run/flexlocal)" = kubelet-init ]
}

# On a full tmpfs there is no room for the mark's one block, or not even for its name.
@test "init answers the same where there is no room for its mark" {
  call init
  local usual=$answer full left
  mkdir -p /run/flexlocal
  for full in size=4k nr_inodes=1; do
    mount -t tmpfs -o "$full" full /run/flexlocal
    head -c 4096 /dev/zero >/run/flexlocal/filler || true
    call init
    left=$(find /run/flexlocal -name 'kubelet-init*')
    umount /run/flexlocal
    expect_success
    [ "$answer" = "$usual" ]
    [ -z "$left" ]
  done
}

@test "a first mount makes an XFS on a logical volume of its own, tagged with its owner" {
  volume_name 1
  mount_volume "$name"
  expect_success
  device_of "$name"
  read -r source fstype options < <(findmnt -n -o SOURCE,FSTYPE,OPTIONS "$folder")
  [ "$source" = "$device" ]
  [ "$fstype" = xfs ]
  for option in nodev nosuid prjquota; do [[ ,$options, == *,$option,* ]]; done
  tags=$(lv_of "$name")
  for tag in owner=flexlocal "cluster=$cluster_id" "claim-uid=${name#pvc-}" claim-namespace=shop copy=8000000000000001; do
    [[ $tags == *"flexlocal.io/$tag"* ]]
  done
  [[ $(<"$records/$name") == *'"state":"ready"'* ]]
}

@test "the size is a hard limit, and a neighbour does not notice" {
  volume_name 1 && mount_volume "$name" && expect_success
  first=$folder
  volume_name 2 && mount_volume "$name" && expect_success
  before=$(stat -f -c %a "$folder")
  run dd if=/dev/zero of="$first/full" bs=1M count=400 status=none
  [ "$status" = 1 ]
  [[ $output == *"No space left on device"* ]]
  [ "$(stat -f -c %a "$folder")" = "$before" ]
  echo data >"$folder/file"
}

@test "mounting again runs no LVM command and finds the data" {
  volume_name 1 && mount_volume "$name" && expect_success
  echo precious >"$folder/file"
  call unmount "$folder" && expect_success
  expect_unmounted "$folder"
  configure "$group" "[tool]" "lvs = /bin/false" "lvcreate = /bin/false" "vgs = /bin/false" \
    "lvchange = /bin/false" "blkid = /bin/false" "mkfs.xfs = /bin/false"
  mount_volume "$name" pod-2 && expect_success
  [ "$(<"$folder/file")" = precious ]
  # Once more on the same folder: success, and no second layer.
  call mount "$folder" "$options" && expect_success
  call unmount "$folder" && expect_success
  expect_unmounted "$folder"
}

@test "a read-only mount refuses writes" {
  volume_name 1 && mount_volume "$name" && expect_success
  call unmount "$folder"
  options_for "$name" 320 shop ro
  call mount "$folder" "$options" && expect_success
  run touch "$folder/file"
  [[ $output == *"Read-only file system"* ]]
}

@test "a reader and a writer of one volume, in either order" {
  volume_name 1 && folder_for "$name" reader
  for first in ro rw; do
    second=$([ "$first" = ro ] && echo rw || echo ro)
    options_for "$name" 320 shop "$first"
    folder_for "$name" "pod-$first" && call mount "$folder" "$options" && expect_success
    options_for "$name" 320 shop "$second"
    folder_for "$name" "pod-$second" && call mount "$folder" "$options" && expect_success
    folder_for "$name" pod-rw && echo "$first" >"$folder/file"
    folder_for "$name" pod-ro && [ "$(<"$folder/file")" = "$first" ]
    run touch "$folder/other"
    [[ $output == *"Read-only file system"* ]]
    [[ $(findmnt -n -o OPTIONS "$folder") == *nosuid,nodev* ]]
    call unmount "$folder" && expect_success
    folder_for "$name" pod-rw && call unmount "$folder" && expect_success
  done
}

@test "unmount is content with what is not mounted or not there" {
  volume_name 1 && folder_for "$name"
  call unmount "$folder" && expect_success
  rmdir "$folder"
  call unmount "$folder" && expect_success
  rm -r "$kubelet/pods"
  call unmount "$folder" && expect_success
}

@test "unmount of a volume in use fails, says so, and leaves it mounted" {
  volume_name 1 && mount_volume "$name" && expect_success
  exec 9>"$folder/open"
  call unmount "$folder"
  expect_failure "busy"
  expect_mounted "$folder"
  exec 9>&-
  call unmount "$folder" && expect_success
}

@test "stacked mounts are all taken off" {
  volume_name 1 && mount_volume "$name" && expect_success
  mount --bind "$folder" "$folder"
  call unmount "$folder" && expect_success
  expect_unmounted "$folder"
}

@test "after a reboot the inactive volume is activated and has its data" {
  volume_name 1 && mount_volume "$name" && expect_success
  echo precious >"$folder/file"
  call unmount "$folder"
  vgchange -qq -an "$group"
  call mount "$folder" "$options" && expect_success
  [ "$(<"$folder/file")" = precious ]
}

@test "two pods with one volume and eight volumes at once, in parallel" {
  pids=()
  for number in 1 1 2 3 4 5 6 7 8; do
    volume_name "$number"
    folder_for "$name" "pod-${#pids[@]}"
    options_for "$name" 320
    "$plugin" mount "$folder" "$options" >"/run/answer-${#pids[@]}" 2>&1 &
    pids+=($!)
  done
  for i in "${!pids[@]}"; do
    wait "${pids[i]}" || fail "call $i: $(<"/run/answer-$i")"
  done
  [ "$(lvs --noheadings "$group" | wc -l)" = 8 ]
  [ "$(grep -c "flexlocal.io~flexlocal" /proc/self/mountinfo)" = 9 ]
}
