# What a killed lvextend leaves suspended works again with the next call, or with the daemon's next
# look: nobody waits for ever, and no neighbour in the thin pool does.

setup_file() {
  export group=frozen
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 2G >/dev/null
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  . "$BATS_TEST_DIRNAME/suspended.bash"
  lvcreate -qq -y --type thin-pool -L 700M -n tp "$group"
  configure "$group" 'thin-pool = tp'
}

teardown() {
  resume_by_hand
  forget_volumes
}

@test "a second pod's mount of a volume that a killed lvextend left suspended" {
  for backend in lvm thin; do
    have_data 1
    leave_suspended
    folder_for "$name" pod-2
    in_time call mount "$folder" "$options"
    expect_success
    expect_none_suspended
    expect_data
    echo works >"$folder/more"
    forget_volume
  done
}

@test "the unmount of one, and its mount after that" {
  for backend in lvm thin; do
    have_data 1
    leave_suspended
    in_time call unmount "$folder"
    expect_success
    expect_unmounted "$folder"
    expect_none_suspended
    call mount "$folder" "$options" && expect_success
    expect_data
    forget_volume
  done
}

@test "the growth of one" {
  for backend in lvm thin; do
    have_data 1
    leave_suspended
    in_time engine_call grow "$options" $((500 << 20))
    expect_success
    expect_none_suspended
    [ "$(lvs --noheadings --units m --nosuffix -o lv_size "$group/$name" | xargs)" = 500.00 ]
    [ "$(($(stat -f -c '%b * %S' "$folder") >> 20))" -gt 400 ] || fail "the pod does not see it"
    expect_data
    forget_volume
  done
}

@test "the removal of one" {
  for backend in lvm thin; do
    have_data 1
    call unmount "$folder" && expect_success
    leave_suspended
    in_time engine_call remove "$options"
    expect_success
    [ -z "$(lv_of "$name")" ] || fail "it is still there: $answer"
    expect_none_suspended
  done
}

@test "the daemon's look resumes a volume and its pool, and a neighbour's write goes on" {
  backend=thin
  have_data 2
  neighbour=$folder
  have_data 1
  leave_suspended
  start_write "$neighbour/more"
  in_time engine_call resume-suspended
  expect_success
  [[ $answer == *'resumed a device that was left suspended'* ]] || fail "nothing is said of it: $answer"
  expect_none_suspended
  expect_written "$neighbour/more"
  expect_data
  engine_call resume-suspended && expect_success
  [[ $answer != *resumed* ]] || fail "there was nothing to resume: $answer"
}

@test "the daemon's look resumes a thin pool that is suspended by itself" {
  backend=thin
  have_data 1
  dmsetup suspend --noflush --nolockfs "$group-tp-tpool"
  start_write "$folder/more"
  in_time engine_call resume-suspended
  expect_success
  expect_none_suspended
  expect_written "$folder/more"
}

@test "the daemon's look leaves strangers' volumes alone" {
  lvcreate -qq -y -L 64M -n theirs "$group"
  dmsetup suspend "$group-theirs"
  in_time engine_call resume-suspended
  expect_success
  [ "$(suspended_devices)" = "$group-theirs" ] || fail "suspended: $(suspended_devices)"
}

@test "a growth whose lvextend is killed leaves nothing suspended" {
  for backend in lvm thin; do
    have_data 1
    find_place
    wrap_tool lvextend "exec $tracer --kill-at $place --phase exit --report /run/report -- \"\$tool\" \"\$@\""
    configure "$group" 'thin-pool = tp' '[tool]' "lvextend = /run/wrapped-lvextend"
    in_time engine_call grow "$options" $((400 << 20))
    [[ $(</run/report) == "killed at "* ]] || fail "lvextend was not killed: $(</run/report)"
    [ "$status" = 1 ] || fail "lvextend was killed, and it says $answer"
    expect_none_suspended
    expect_data
    configure "$group" 'thin-pool = tp'
    engine_call grow "$options" $((400 << 20)) && expect_success
    forget_volume
  done
}

@test "another's device that is suspended is not unmounted, and the call says so" {
  lvcreate -qq -y -L 320M -n theirs "$group"
  mkfs.xfs -q "/dev/mapper/$group-theirs"
  volume_name 1 && folder_for "$name"
  mount "/dev/mapper/$group-theirs" "$folder"
  dmsetup suspend "$group-theirs"
  in_time call unmount "$folder"
  expect_failure 'is suspended, so that its unmount may wait for ever'
  dmsetup resume "$group-theirs"
  call unmount "$folder" && expect_success
}
