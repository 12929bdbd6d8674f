# An administrator's lvm.conf that prints everything another way: what is read of LVM stays the same.

setup_file() {
  export group=turned
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 1G >/dev/null
  cat >>/etc/lvm/lvm.conf <<'END'
report {
  binary_values_as_numeric=1 compact_output=1 list_item_separator="|" separator="#"
  prefixes=1 quoted=0 aligned=0 headings=0 columns_as_rows=1 mark_hidden_devices=0
  vgs_sort="-vg_free" lvs_sort="-lv_name" lvs_sort_full="-lv_name"
}
log { report_command_log=1 verbose=2 prefix="### " command_names=1 indent=0 }
global { units="g" suffix=1 si_unit_consistency=0 }
END
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  configure "$group"
}

teardown() {
  forget_volumes
}

@test "the settings are in force: LVM prints figures, its own prefix and no quotes" {
  lvcreate -qq -y -n control -L 8M "$group" >/dev/null
  run lvs --reportformat json -o lv_active_locally "$group/control"
  [[ $output == *'### '*'LVM2_LV_ACTIVE_LOCALLY'* || $output == *'### '*'"lv_active_locally":"1'* ]] || fail "$output"
}

@test "a volume is made, listed, grown and removed" {
  volume_name 1 && mount_volume "$name" && expect_success
  echo precious >"$folder/file"
  engine_call grow "$record" $((400 << 20)) && expect_success
  engine_call settle && expect_success
  engine_call inventory && expect_success
  [ "$(jq -r '.holdings[0].size' <<<"$answer")" = $((400 << 20)) ] || fail "$answer"
  [ "$(jq -r '.spaces[0].id' <<<"$answer")" = "group:$group" ] || fail "$answer"
  [[ $("$plugin" list) == *"$name "*' ready '* ]] || fail "$("$plugin" list)"
  # Its tags are read as they are: without its record the data is taken up again.
  call unmount "$folder" && expect_success
  rm "$records/$name"
  restore_record
  call mount "$folder" "$options" && expect_success
  [ "$(<"$folder/file")" = precious ]
  engine_call remove "$record"
  [[ $answer == *'"code":"busy"'* ]] || fail "$answer"
  call unmount "$folder" && expect_success
  engine_call remove "$record" && expect_success
  device_of "$name"
  [ ! -e "$device" ] || fail "it is there still"
}

@test "a thin pool that does not zero is refused, and doctor says the same" {
  backend=thin
  lvcreate -qq -y --type thin-pool --zero n -L 400M -n tp "$group" >/dev/null
  configure "$group" 'thin-pool = tp'
  volume_name 1 && mount_volume "$name"
  expect_failure "does not zero"
  run "$plugin" doctor
  [[ $output == *"pool.default.thin-pool"*"does not zero"* ]] || fail "$output"
  lvchange -qq --zero y "$group/tp" >/dev/null
  call mount "$folder" "$options" && expect_success
  run "$plugin" doctor
  [[ $output != *"does not zero"* ]] || fail "$output"
}

@test "a pool's shared file system is made, and found again" {
  backend=quota
  configure "$group" 'quota-size = 512Mi'
  volume_name 1 && mount_volume "$name" pod-1 32 && expect_success
  echo precious >"$folder/file"
  call unmount "$folder" && umount /run/flexlocal-pools/default
  call mount "$folder" "$options" && expect_success
  [ "$(<"$folder/file")" = precious ]
  call unmount "$folder" && umount /run/flexlocal-pools/default
}
