# What a killed lvextend leaves of a volume's device works again with the next call, or with the
# daemon's next look: nobody waits for ever, no neighbour in the thin pool does, and no block that the
# lvextend had not committed is ever used.

setup_file() {
  export group=frozen
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 2G >/dev/null
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  . "$BATS_TEST_DIRNAME/waiting.bash"
  . "$BATS_TEST_DIRNAME/suspended.bash"
  lvcreate -qq -y --type thin-pool -L 700M -n tp "$group"
  configure "$group" 'thin-pool = tp'
}

teardown() {
  resume_by_hand
  forget_volumes
}

@test "a second pod's mount of a volume that a killed lvextend left suspended" {
  for kind in 'lvm uncommitted' 'thin committed'; do
    read -r backend kind <<<"$kind"
    have_data 1
    leave "$kind"
    folder_for "$name" pod-2
    in_time call mount "$folder" "$options"
    expect_success
    expect_none_suspended
    expect_committed
    expect_data
    echo works >"$folder/more"
    forget_volume
  done
}

@test "the unmount of one, and its mount after that" {
  for backend in lvm thin; do
    have_data 1
    leave committed
    in_time call unmount "$folder"
    expect_success
    expect_unmounted "$folder"
    expect_none_suspended
    expect_committed
    call mount "$folder" "$options" && expect_success
    expect_data
    forget_volume
  done
}

@test "the growth of one" {
  for kind in 'lvm preloaded' 'lvm uncommitted' 'thin committed'; do
    read -r backend kind <<<"$kind"
    have_data 1
    leave "$kind"
    in_time engine_call grow "$record" $((500 << 20))
    expect_success
    expect_none_suspended
    expect_committed
    [ "$(lv_size)" = 500.00 ]
    [ "$(($(stat -f -c '%b * %S' "$folder") >> 20))" -gt 400 ] || fail "the pod does not see it"
    expect_data
    forget_volume
  done
}

@test "the removal of one" {
  for backend in lvm thin; do
    have_data 1
    call unmount "$folder" && expect_success
    leave committed
    in_time engine_call remove "$record"
    expect_success
    [ -z "$(lv_of "$name")" ] || fail "it is still there: $answer"
    expect_none_suspended
  done
}

# The extents are free again by LVM's metadata, and the next volume's.
@test "what a killed lvextend had taken and not committed is safely another volume's" {
  for kind in preloaded uncommitted; do
    have_data 1
    leave "$kind"
    in_time engine_call resume-suspended
    expect_success
    have_data 2
    neighbour=$name neighbour_folder=$folder neighbour_options=$options
    fill "$folder"
    sum=$(sum_of "$folder")
    volume_name 1 && folder_for "$name" && options_for "$name"
    in_time engine_call grow "$record" $((400 << 20))
    expect_success
    expect_committed
    fill "$folder"
    call unmount "$folder" && expect_success
    in_time engine_call remove "$record"
    expect_success
    call unmount "$neighbour_folder" && expect_success
    call mount "$neighbour_folder" "$neighbour_options" && expect_success
    [ "$(sum_of "$neighbour_folder")" = "$sum" ] || fail "$kind: the neighbour's data is not what it was"
    name=$neighbour
    forget_volume
  done
}

@test "the removal of a volume whose lvextend was not committed leaves the neighbour its data" {
  have_data 1
  leave uncommitted
  resume_by_hand # which takes up the table
  have_data 2
  sum=$(sum_of "$folder")
  neighbour_folder=$folder neighbour_options=$options
  volume_name 1 && folder_for "$name" && options_for "$name"
  call unmount "$folder" && expect_success
  in_time engine_call remove "$record"
  expect_success
  call unmount "$neighbour_folder" && expect_success
  call mount "$neighbour_folder" "$neighbour_options" && expect_success
  [ "$(sum_of "$neighbour_folder")" = "$sum" ] || fail "the neighbour's data is not what it was"
}

@test "the daemon's look resumes a volume and its pool, and a neighbour's write goes on" {
  backend=thin
  have_data 2
  neighbour=$folder
  have_data 1
  leave uncommitted
  start_write "$neighbour/more"
  in_time engine_call resume-suspended
  expect_success
  [[ $answer == *'finished what a killed LVM command had left'* ]] || fail "nothing is said of it: $answer"
  expect_none_suspended
  expect_committed
  expect_written "$neighbour/more"
  expect_data
  engine_call resume-suspended && expect_success
  [[ $answer != *finished* ]] || fail "there was nothing to resume: $answer"
}

@test "a thin pool that is suspended by itself holds up neither the daemon, nor a mount or unmount" {
  backend=thin
  for doing in resume mount unmount; do
    have_data 1
    dmsetup suspend --noflush --nolockfs "$group-tp-tpool"
    case $doing in
      resume)
        start_write "$folder/more"
        in_time engine_call resume-suspended
        ;;
      mount)
        start_write "$folder/more"
        folder_for "$name" pod-2
        in_time call mount "$folder" "$options"
        ;;
      unmount) in_time call unmount "$folder" ;;
    esac
    expect_success
    expect_none_suspended
    [ "$doing" = unmount ] || expect_written "$folder/more"
    forget_volume
  done
}

@test "the daemon's look leaves strangers' volumes alone" {
  lvcreate -qq -y -L 64M -n theirs "$group"
  dmsetup suspend "$group-theirs"
  in_time engine_call resume-suspended
  expect_success
  [ "$(suspended_devices)" = "$group-theirs" ] || fail "suspended: $(suspended_devices)"
}

@test "another group whose LVM lock is held does not keep the daemon's look" {
  "$BATS_TEST_DIRNAME/../lab/guest-disk" other 64M >/dev/null
  have_data 1
  leave uncommitted
  mkfifo /run/release
  flock -x /run/lock/lvm/V_other bash -c 'echo >/run/is-locked; read -r </run/release' 3>&- &
  until [ -e /run/is-locked ]; do read -r -t 0.1 <>/run/guest || true; done
  in_time engine_call resume-suspended
  echo >/run/release
  expect_success
  expect_none_suspended
  expect_committed
}

@test "a growth whose lvextend is killed leaves nothing suspended" {
  for kind in 'lvm uncommitted' 'thin committed'; do
    read -r backend kind <<<"$kind"
    have_data 1
    leave "$kind"
    mend_by_hand
    # shellcheck disable=SC2154 # set by leave
    wrap_tool lvextend "exec $tracer --kill-at $place --phase exit --report /run/report -- \"\$tool\" \"\$@\""
    configure "$group" 'thin-pool = tp' '[tool]' "lvextend = /run/wrapped-lvextend"
    in_time engine_call grow "$record" $((400 << 20))
    [[ $(</run/report) == "killed at "* ]] || fail "lvextend was not killed: $(</run/report)"
    [ "$status" = 1 ] || fail "lvextend was killed, and it says $answer"
    expect_none_suspended
    expect_committed
    expect_data
    configure "$group" 'thin-pool = tp'
    engine_call grow "$record" $((400 << 20)) && expect_success
    expect_committed
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
