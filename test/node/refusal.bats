# What the plugin refuses on a real node: in words, and leaving nothing behind.

setup_file() {
  export group=refusal
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 1G >/dev/null
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  configure "$group"
}

teardown() {
  forget_volumes
}

expect_nothing_left() {
  expect_unmounted "$folder"
  expect_unmade
}

@test "a full volume group is refused with figures" {
  volume_name 1 && mount_volume "$name" pod-1 5000
  expect_failure "cannot create volume $name: pool \\\"default\\\" (volume group \\\"$group\\\") has 1020 MiB free, 4.88 GiB asked"
  expect_nothing_left
}

@test "a volume group that is not there, and a pool that is not defined" {
  volume_name 1
  configure nowhere
  mount_volume "$name"
  expect_failure 'volume group \"nowhere\" is not on this node'
  printf '[pool.other]\nvolume-group = %s\n' "$group" >/etc/flexlocal/node.conf
  mount_volume "$name"
  expect_failure 'pool \"default\" is not defined on this node'
  expect_nothing_left
}

@test "a missing tool is named with its package" {
  volume_name 1
  mkdir -p /run/empty
  for place in /usr/sbin /sbin; do mv "$place/mkfs.xfs" /run/empty/ 2>/dev/null || true; done
  mount_volume "$name"
  mv /run/empty/mkfs.xfs /usr/sbin/
  expect_failure "install the package xfsprogs"
  expect_nothing_left
}

@test "no node.conf: the message says what to write" {
  rm /etc/flexlocal/node.conf
  volume_name 1 && mount_volume "$name"
  expect_failure "node.conf is missing; write"
}

@test "a failing mkfs leaves no volume" {
  volume_name 1
  wrap_tool mkfs.xfs 'echo "disk on fire" >&2; exit 1'
  configure "$group" "[tool]" "mkfs.xfs = /run/wrapped-mkfs.xfs"
  mount_volume "$name"
  expect_failure "disk on fire"
  expect_nothing_left
}

@test "a volume below the smallest XFS leaves nothing" {
  volume_name 1 && mount_volume "$name" pod-1 64
  expect_failure "300"
  expect_nothing_left
}

@test "a stranger's volume of our name is neither formatted nor removed" {
  volume_name 1
  lvcreate -qq -y -n "$name" -L 320M --addtag somebody "$group"
  device_of "$name"
  mkfs.ext4 -q "$device"
  before=$(md5sum <"$device")
  mount_volume "$name"
  expect_failure "its tags do not say that it belongs to this claim"
  [ "$(md5sum <"$device")" = "$before" ]
  expect_only_promises
}

@test "a ready volume with a destroyed superblock is an error for a person, never formatted" {
  volume_name 1 && mount_volume "$name" && expect_success
  call unmount "$folder"
  device_of "$name"
  dd if=/dev/zero of="$device" bs=512 count=1 status=none conv=fsync
  before=$(md5sum <"$device")
  call mount "$folder" "$options"
  expect_failure "the volume is not formatted again"
  promise_again "$name" # even when the host's record is older, once the tags say ready
  lvchange -qq --addtag flexlocal.io/state=ready --deltag flexlocal.io/state=new "$group/$name"
  call mount "$folder" "$options"
  expect_failure "it is not formatted"
  [ "$(md5sum <"$device")" = "$before" ]
  expect_unmounted "$folder"
}

@test "on a host that lost volume and records, or was set up anew, nothing is made in its place" {
  volume_name 1 && mount_volume "$name" && expect_success
  call unmount "$folder"
  lvremove -qq -f "$group/$name"
  rm -r "$records"
  call mount "$folder" "$options"
  expect_failure "is not made anew and empty"
  expect_nothing_left
}

@test "a promise of before the volume, and another group in node.conf: no second one is made" {
  "$BATS_TEST_DIRNAME/../lab/guest-disk" elsewhere 600M >/dev/null
  volume_name 1 && mount_volume "$name" && expect_success
  echo precious >"$folder/file"
  call unmount "$folder" && expect_success
  rm "$records/$name"
  configure elsewhere
  mount_volume "$name"
  expect_failure 'correct node.conf'
  [ -z "$(lvs --noheadings elsewhere)" ]
  configure "$group"
  mount_volume "$name" && expect_success
  [ "$(<"$folder/file")" = precious ]
}

@test "a volume that was removed does not come back by its old PersistentVolume" {
  volume_name 1 && mount_volume "$name" && expect_success
  call unmount "$folder"
  engine_call remove "$record"
  expect_success
  call mount "$folder" "$options"
  expect_failure "has not promised it here"
  expect_nothing_left
}

@test "a promise is kept, may be made again by its order alone, and goes when it is withdrawn" {
  volume_name 1 && folder_for "$name" && options_for "$name"
  rm -r "$records"
  engine_call promise "$record" && expect_success
  promised=$(<"$records/$name")
  [ "$promised" = "$record" ] || fail "it is not what is ordered: $promised"
  engine_call promise "$record" && expect_success
  for other in "${record/7a3e4d6f/7a3e4d60}" "${record/\"shop\"/\"bank\"}" "${record/335544320/335544321}"; do
    engine_call promise "$other"
    expect_failure 'says \"promised\"; nothing is changed'
  done
  [ "$(<"$records/$name")" = "$promised" ]
  expect_unmade
  [ "$(stat -c %a "$records/$name")" = 600 ]
  engine_call withdraw "$record" && expect_success
  call mount "$folder" "$options"
  expect_failure "has not promised it here"
  engine_call promise "$record" && expect_success
  call mount "$folder" "$options" && expect_success
  echo precious >"$folder/file"
  for word in promise withdraw; do
    engine_call "$word" "$record"
    expect_failure 'says \"ready\"; nothing is changed'
  done
  [[ $(<"$records/$name") == *'"state":"ready"'*"\"order\":$order"* ]]
  [ "$(<"$folder/file")" = precious ]
}

@test "another namespace's pod is refused" {
  volume_name 1 && mount_volume "$name" && expect_success
  call unmount "$folder"
  options_for "$name" 320 thief
  call mount "$folder" "$options"
  expect_failure 'a pod of \"thief\" may not mount it'
  expect_unmounted "$folder"
}

@test "nothing that a pod's author may write gets a volume, or changes it" {
  volume_name 1 && folder_for "$name" && options_for "$name"
  own='"flexlocal.io/copy":"8000000000000001"'
  for other in "$own,\"flexlocal.io/size\":\"671088640\"" "$own,\"flexlocal.io/claimNamespace\":\"thief\""; do
    call mount "$folder" "${options/"$own"/"$other"}"
    [[ $status = 1 && $answer =~ "option flexlocal.io/"[a-zN]+" is not known to this version of flexlocal" ]] ||
      fail "$answer"
  done
  call mount "$folder" "${options/"$own,"/}"
  expect_failure "option flexlocal.io/copy is missing"
  call mount "$folder" "${options/8000000000000001/zz}"
  expect_failure 'option flexlocal.io/copy is \"zz\", which is not the id of a copy'
  call mount "$folder" "${options/8000000000000001/0123456789abcdef}"
  expect_failure "the PersistentVolume, or the pod's author, names copy \\\"0123456789abcdef\\\" of the volume; this node has copy \\\"8000000000000001\\\""
  volume_name 2 && folder_for "$name"
  call mount "$folder" "${options/pvc-*-000000000001/$name}"
  expect_failure "has not promised it here"
  expect_nothing_left
}

@test "refused calls are counted, those that are only wrong are not" {
  local count=/var/lib/flexlocal/counters/mounts-refused
  rm -f "$count"
  volume_name 1 && folder_for "$name" && options_for "$name" 320 thief
  call mount "$folder" "$options"
  [ "$(<"$count")" = 1 ]
  options_for "$name"
  call mount "$folder" "${options/8000000000000001/0123456789abcdef}"
  [ "$(<"$count")" = 2 ]
  call mount "$folder" "${options/8000000000000001/zz}"
  rm "$records/$name"
  call mount "$folder" "$options"
  expect_failure "has not promised it here"
  [ "$(<"$count")" = 2 ]
}

@test "a volume whose tags say another size than the record is refused" {
  volume_name 1 && mount_volume "$name" pod-1 640 && expect_success
  call unmount "$folder"
  sed -i 's/"state":"ready"/"state":"new"/; s/"size":"671088640"/"size":"335544320"/' "$records/$name"
  call mount "$folder" "$options"
  expect_failure "was made with 640 MiB"
  expect_unmounted "$folder"
}

@test "a folder that is a link or outside kubelet's is refused" {
  volume_name 1 && options_for "$name"
  folder_for other && folder=${folder%/*}/$name
  mkdir -p /run/target && ln -s /run/target "$folder"
  call mount "$folder" "$options"
  expect_failure "is a link or no folder"
  call mount /run/target "$options"
  expect_failure "is not a volume folder of kubelet"
  expect_unmounted /run/target
  expect_nothing_left
}

@test "the answer is one JSON value although descriptors leak in and LVM warns" {
  volume_name 1
  exec 7</dev/null 8>/run/leak
  mount_volume "$name"
  exec 7<&- 8>&-
  expect_success
  [ "$(jq -s length <<<"$answer")" = 1 ]
}
