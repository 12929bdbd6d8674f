# Growing a logical volume and its file system, under a pod and without one.

setup_file() {
  export group=growth
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 2G >/dev/null
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  configure "$group"
}

teardown() {
  forget_volumes
}

mib=$((1024 * 1024))

# expand MIB [OLD-MIB]: as kubelet calls it, without the pod's keys.
expand() {
  call expandfs "$options" '' "$folder" $(($1 * mib)) $((${2:-320} * mib))
}

# What the mounted file system offers, in MiB.
offers() { echo $(($(stat -f -c '%b * %S' "$folder") / mib)); }

size_of() { lvs --noheadings --units m --nosuffix -o lv_size "$group/$name" | sed 's/\..*//; s/ //g'; }

@test "a volume grows under a pod that writes, and is still a hard limit" {
  for fs_type in xfs ext4; do
    volume_name 1 && mount_volume "$name" && expect_success
    echo precious >"$folder/file"
    before=$(offers)
    exec 9>"$folder/open"
    expand 640 && expect_success
    echo written >&9
    exec 9>&-
    [ "$(size_of)" = 640 ]
    [ "$(offers)" -gt $((before + 250)) ]
    [ "$(<"$folder/file")" = precious ]
    run dd if=/dev/zero of="$folder/full" bs=1M count=700 status=none
    [[ $output == *"No space left on device"* ]]
    expand 640 && expect_success # repeated
    forget_volumes
  done
}

# As of Kubernetes' quantity 500M, which LVM does not take in bytes.
@test "a size that is no whole number of sectors is rounded up" {
  volume_name 1
  record_for "$name" 399999999 8000000000000001
  promise "$name"
  mount_volume "$name" && expect_success
  [ "$(size_of)" = 384 ]
  record_for "$name" 399999999 8000000000000001
  engine_call grow "$record" 499999999 && expect_success
  [ "$(size_of)" = 480 ]
}

@test "a volume that is not mounted grows at once, its file system with the next mount" {
  volume_name 1 && mount_volume "$name" && expect_success
  before=$(offers)
  call unmount "$folder"
  engine_call grow "$record" $((640 * mib)) && expect_success
  [ "$(size_of)" = 640 ]
  call mount "$folder" "$options" && expect_success
  [ "$(offers)" -gt $((before + 250)) ]
  [[ $(<"$records/$name") != *growFileSystem* ]]
  call unmount "$folder"
  configure "$group" '[tool]' 'xfs_growfs = /bin/false'
  call mount "$folder" "$options" && expect_success
}

@test "a growth is completed where its record is lost, or older, or an administrator began it" {
  volume_name 1 && mount_volume "$name" && expect_success
  before=$(offers)
  call unmount "$folder" && expect_success
  engine_call settle && expect_success
  for way in lost older extended; do
    if [ "$way" = extended ]; then
      lvextend -qq -L +320M "$group/$name"
      engine_call grow "$record" $(($(size_of) * mib)) && expect_success
    else
      engine_call grow "$record" $((($(size_of) + 320) * mib)) && expect_success
      rm "$records/$name"
      if [ "$way" = lost ]; then restore_record; else promise "$name"; fi
    fi
    call mount "$folder" "$options" && expect_success
    [ "$(offers)" -gt $((before + 250)) ] || fail "$way: it offers $(offers) MiB of $(size_of)"
    [[ $(<"$records/$name") != *growFileSystem* ]] || fail "$way: $(<"$records/$name")"
    before=$(offers)
    call unmount "$folder" && expect_success
  done
}

@test "a mounted volume whose record says that it is behind is completed by the daemon's look" {
  for fs_type in xfs ext4; do
    volume_name 1 && mount_volume "$name" && expect_success
    before=$(offers)
    engine_call settle && expect_success
    lvextend -qq -L +320M "$group/$name"
    rm "$records/$name"
    engine_call settle && expect_success
    [ "$(offers)" -gt $((before + 250)) ] || fail "it offers $(offers) MiB of $(size_of)"
    [[ $(<"$records/$name") != *growFileSystem* ]] || fail "$(<"$records/$name")"
    forget_volumes
  done
}

@test "beside a pod that only reads, a volume grows through the one that writes" {
  for fs_type in xfs ext4; do
    volume_name 1 && folder_for "$name" reader && options_for "$name" 320 shop ro
    call mount "$folder" "$options" && expect_success
    before=$(offers)
    engine_call grow "$record" $((400 * mib)) && expect_success
    [ "$(size_of)" = 400 ]
    [ "$(offers)" = "$before" ]
    folder_for "$name" writer && options_for "$name"
    call mount "$folder" "$options" && expect_success
    [ "$(offers)" -gt $((before + 60)) ] || fail "$fs_type: it offers $(offers) MiB"
    expand 640 && expect_success
    [ "$(offers)" -gt $((before + 250)) ] || fail "$fs_type: it offers $(offers) MiB"
    forget_volumes
  done
}

@test "a volume that is mounted only where nobody sees it is not told as grown" {
  volume_name 1 && mount_volume "$name" && expect_success
  before=$(offers)
  unshare --mount bash -c 'echo ready >/run/held && read -r -t 60 <>/run/guest' &
  holder=$!
  for ((i = 0; i < 100; i++)); do [ -s /run/held ] && break || read -r -t 0.1 <>/run/guest || true; done
  umount "$folder"
  engine_call grow "$record" $((400 * mib))
  [[ $answer == *'"code":"busy"'*"in use where no mount of it is seen"* ]] || fail "$answer"
  kill "$holder" && wait "$holder" || true
  engine_call grow "$record" $((400 * mib)) && expect_success
  call mount "$folder" "$options" && expect_success
  [ "$(offers)" -gt $((before + 60)) ]
}

@test "growing beyond the pool is refused with figures and changes nothing" {
  volume_name 1 && mount_volume "$name" && expect_success
  before=$(offers)
  expand 5000
  expect_failure "cannot grow volume $name to 4.88 GiB: pool \\\"default\\\" (volume group \\\"$group\\\") has 1.68 GiB free, 4.57 GiB more asked"
  [ "$(size_of)" = 320 ]
  [ "$(offers)" = "$before" ]
}

@test "a thin volume grows within what its pool may promise" {
  lvcreate -qq -y --type thin-pool -L 600M -n tp "$group"
  configure "$group" 'thin-pool = tp'
  backend=thin
  volume_name 1 && mount_volume "$name" && expect_success
  expand 512 && expect_success
  [ "$(size_of)" = 512 ]
  expand 900
  expect_failure 'may promise 600 MiB (overcommit 1.00), has promised 512 MiB, and 388 MiB more are asked'
  [ "$(size_of)" = 512 ]
}

@test "shrinking is refused, in either way to ask for it" {
  volume_name 1 && mount_volume "$name" && expect_success
  expand 320 640
  expect_failure 'a volume cannot shrink, from 640 MiB to 320 MiB'
  expand 300 300
  expect_failure 'made with 320 MiB and cannot shrink to 300 MiB'
  expand 640 && expect_success
  # An older wish, while the volume offers more already: nothing to do, and nothing is taken away.
  expand 400 && expect_success
  [ "$(size_of)" = 640 ]
}

@test "before its first mount, of another copy, without a record, or when another made it, nothing grows" {
  volume_name 1 && folder_for "$name" && options_for "$name"
  expand 640
  expect_failure 'its first mount makes it'
  call mount "$folder" "$options" && expect_success
  right=$options
  options=${options/8000000000000001/0123456789abcdef}
  expand 640
  expect_failure 'names copy \"0123456789abcdef\" of the volume; this node has copy \"8000000000000001\"'
  options=$right
  mv "$records/$name" /run/record
  expand 640
  expect_failure 'has not promised it here'
  mv /run/record "$records/$name"
  lvchange -qq --deltag flexlocal.io/owner=flexlocal "$group/$name"
  expand 640
  expect_failure 'is not extended'
  [ "$(size_of)" = 320 ]
}

@test "invariant 2: an lvextend that was killed when it had committed is completed" {
  for suspended in no yes; do
    volume_name 1 && mount_volume "$name" && expect_success
    echo precious >"$folder/file"
    device_of "$name"
    table=$(dmsetup table "$device")
    lvextend -qq -L 640M "$group/$name"
    # The device as it was: this is what the kill leaves.
    dmsetup suspend "$device"
    dmsetup load "$device" --table "$table"
    dmsetup resume "$device"
    [ "$(offers)" -lt 320 ]
    [ "$suspended" = no ] || dmsetup suspend --nolockfs "$device"
    expand 640 && expect_success
    [ "$(size_of)" = 640 ]
    [ "$(offers)" -gt 500 ] || fail "it says success, and the pod sees $(offers) MiB"
    echo works >"$folder/more"
    [ "$(<"$folder/file")" = precious ]
    forget_volumes
  done
}

@test "invariant 2: killed around lvextend or xfs_growfs, the same call again completes it" {
  for tool in lvextend xfs_growfs; do
    # shellcheck disable=SC2016 # expanded by the wrapper
    for script in 'kill -9 $PPID' '"$tool" "$@"; kill -9 $PPID'; do
      volume_name 1 && mount_volume "$name" && expect_success
      echo precious >"$folder/file"
      wrap_tool "$tool" "$script"
      configure "$group" '[tool]' "$tool = /run/wrapped-$tool"
      expand 640
      [ "$status" = 137 ] || fail "the plugin was not killed: $answer"
      [ "$(<"$folder/file")" = precious ]
      configure "$group"
      expand 640 && expect_success
      [ "$(size_of)" = 640 ]
      [ "$(offers)" -gt 500 ]
      [ "$(<"$folder/file")" = precious ]
      forget_volumes
    done
  done
}
