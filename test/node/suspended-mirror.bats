# A mirror has five devices, and its kernel part may begin to copy between its legs when it takes up a
# table: what a killed lvextend leaves of one, wherever it was killed, works again and is whole.

setup_file() {
  export group=mirrors
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 2G 2G >/dev/null
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  . "$BATS_TEST_DIRNAME/waiting.bash"
  . "$BATS_TEST_DIRNAME/suspended.bash"
  configure "$group" 'layout = raid1'
}

teardown() {
  resume_by_hand
  forget_volumes
}

# expect_whole_mirror [LARGER]: both legs there, alike, as large as the volume, and nothing else loaded
# anywhere. A leg may be LARGER, no MiB else, where an lvextend was killed before its commit: LVM takes up
# the legs' tables before that (dm_tree_preload_children in libdm-deptree.c). The mirror uses of a leg
# what it is itself large, and the next change of the volume loads the leg's table anew.
expect_whole_mirror() {
  local leg device more
  expect_none_suspended
  expect_committed
  wait_until_in_sync
  [ -z "$(lvs --noheadings -o lv_health_status "$group/$name" | xargs)" ] ||
    fail "its health: $(lvs -a -o name,lv_health_status,devices "$group")"
  for leg in 0 1; do
    device=/dev/mapper/$group-${name//-/--}_rimage_$leg
    more=$((($(blockdev --getsize64 "$device") >> 20) - $(lv_size | cut -d. -f1)))
    ((more == 0 || more == ${1:-0})) ||
      fail "leg $leg is $(dmsetup table "$device"), the volume $(lv_size)M"
  done
  [ -z "$(dmsetup info -c --noheadings -o name,tables_loaded -S 'tables_loaded!=Live')" ] ||
    fail "tables: $(dmsetup info -c -o name,tables_loaded)"
}

wait_until_in_sync() {
  local tries
  for ((tries = 0; tries < 300; tries++)); do
    [[ $(lvs --noheadings -o sync_percent "$group/$name") != *100.00* ]] || return 0
    read -r -t 0.1 <>/run/guest || true
  done
  fail "the mirror is not in sync: $(lvs -a "$group")"
}

# What the daemon does within a second and within a minute.
look() {
  local doing
  for doing in resume-suspended settle; do
    in_time engine_call "$doing"
    expect_success
  done
}

@test "a mirror whose lvextend was killed, anywhere, works again, is whole, and grows" {
  local place killed=0 size step=4
  [ "${STEPS:-}" != both ] || step=1 # the soak
  have_data 1
  for ((place = 1; place < 2000; place += step)); do
    "$tracer" --kill-at "$place" --phase exit --report /run/report -- \
      "$(type -P lvextend)" -qq --size +4M "$group/$name" >/dev/null 2>&1 3>&- || true
    [[ $(</run/report) != "ran to the end after "* ]] || break
    killed=$((killed + 1))
    look
    expect_whole_mirror 4
    expect_data
  done
  [ "$killed" -gt 10 ] || fail "killed only $killed times"
  size=$(lv_size)
  in_time engine_call grow "$record" $(((${size%.*} + 40) << 20))
  expect_success
  expect_whole_mirror
  fill "$folder"
  expect_data
  echo "# killed $killed times, $(</run/report)" >&3
}
