# What a killed command of LVM's leaves active, so that LVM never activates the rest, is cleared. What
# an administrator did is left alone.

setup_file() {
  export group=remains
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 1G 1G >/dev/null
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  remains=()
  make_pool
  configure "$group" 'thin-pool = tp'
  backend=thin
}

shared=/run/flexlocal-pools/default

teardown() {
  unmount_pods
  ! mountpoint -q "$shared" || umount "$shared"
  clear_remains
  forget_volumes
}

make_pool() { lvcreate -qq -y --type thin-pool -L 500M -n tp "$group"; }

# With remains of it LVM does not remove a volume; of one in use it refuses.
clear_remains() {
  local component
  for component in "${remains[@]}"; do
    lvchange -qq -an "$group/$component" 2>/dev/null || true
  done
}

# leave_remains LV COMPONENT...: what a kill leaves that hits LVM while it takes the LV up or down:
# nothing is active but the devices of these components, by the names, uuids and tables that LVM
# gave them.
leave_remains() {
  local lv=$1 device
  declare -A table uuid
  shift
  remains=("$@")
  for device in "${remains[@]//-/--}"; do
    table[$device]=$(dmsetup table "$group-$device")
    uuid[$device]=$(dmsetup info -c --noheadings -o uuid "$group-$device")
  done
  lvchange -qq -an "$group"
  for device in "${remains[@]//-/--}"; do
    dmsetup create "$group-$device" --uuid "${uuid[$device]}" --table "${table[$device]}"
  done
  run lvchange -ay "$group/$lv"
  [[ $status != 0 && $output == *"is prohibited while logical volume"* ]] ||
    fail "LVM takes no offence at the remains: nothing is tested: $output"
}

# A mounted volume with data, which is unmounted again.
have_volume() {
  volume_name 1 && mount_volume "$name" && expect_success
  echo precious >"$folder/file"
  call unmount "$folder" && expect_success
}

# As the node daemon does: again until it is done.
remove_volume() {
  for ((tries = 0; tries < 20; tries++)); do
    engine_call remove "$record" && expect_success
    [[ $answer == *'"done":false'* ]] || break
  done
  [ -z "$(lv_of "$name")" ] || fail "it is still there: $(lvs "$group")"
  [ ! -e "$records/$name" ] || fail "removed, and its record is there: $(<"$records/$name")"
}

@test "remains of a thin pool do not keep a first volume from being made" {
  leave_remains tp tp_tmeta tp_tdata
  volume_name 1 && mount_volume "$name" && expect_success
  echo works >"$folder/file"
}

@test "remains of one component alone are cleared as well" {
  leave_remains tp tp_tdata
  volume_name 1 && mount_volume "$name" && expect_success
}

@test "remains do not keep a volume from being mounted with its data" {
  have_volume
  leave_remains tp tp_tmeta tp_tdata
  call mount "$folder" "$options" && expect_success
  [ "$(<"$folder/file")" = precious ]
}

@test "remains do not keep a volume from growing" {
  have_volume
  leave_remains tp tp_tmeta
  engine_call grow "$record" $((400 << 20)) && expect_success
  [ "$(lvs --noheadings --units m --nosuffix -o lv_size "$group/$name" | xargs)" = 400.00 ]
}

@test "remains do not keep a volume from being removed" {
  have_volume
  leave_remains tp tp_tmeta tp_tdata
  remove_volume
}

@test "an empty pool that is not active has room all the same; one with volumes stays down" {
  leave_remains tp tp_tmeta tp_tdata
  engine_call inventory && expect_success
  [[ $answer == *"\"thin:$group/tp\""* ]] || fail "no room in the pool: $answer"
  have_volume
  lvchange -qq -an "$group"
  engine_call inventory && expect_success
  [[ $answer != *'"id":"thin:'* ]] || fail "it is not active, and its room is offered: $answer"
  [ -z "$(lvs --noheadings -o lv_active "$group/tp" | xargs)" ] || fail "inventory made it active"
}

@test "metadata that an administrator looks at is left alone, and the call says what is in the way" {
  have_volume
  lvchange -qq -an "$group"
  lvchange -qq -y -ay "$group/tp_tmeta"
  call mount "$folder" "$options"
  expect_failure "is prohibited while logical volume $group/tp_tmeta is active"
  expect_unmounted "$folder"
  [ -b "/dev/mapper/$group-tp_tmeta" ] || fail "it was taken from the administrator"
  lvchange -qq -an "$group/tp_tmeta"
  call mount "$folder" "$options" && expect_success
  [ "$(<"$folder/file")" = precious ]
}

@test "remains of a mirror do not keep it from being mounted, grown and removed" {
  configure "$group" 'layout = raid1'
  backend=lvm
  have_volume
  leave_remains "$name" "${name}_rimage_0" "${name}_rmeta_1"
  call mount "$folder" "$options" && expect_success
  [ "$(<"$folder/file")" = precious ]
  call unmount "$folder" && expect_success
  leave_remains "$name" "${name}_rimage_1"
  engine_call grow "$record" $((400 << 20)) && expect_success
  call mount "$folder" "$options" && expect_success
  [ "$(<"$folder/file")" = precious ]
  call unmount "$folder" && expect_success
  leave_remains "$name" "${name}_rmeta_0"
  remove_volume
}

@test "remains of a mirror do not keep the shared file system from being mounted" {
  configure "$group" 'layout = raid1' 'quota-size = 480Mi'
  backend=quota more_options=(onDelete=none)
  have_volume
  umount "$shared"
  leave_remains flexlocal-default flexlocal-default_rimage_0
  call mount "$folder" "$options" && expect_success
  [ "$(<"$folder/file")" = precious ]
}

# make_untold: as a kill leaves it that hits lvcreate when it has committed the volume and not told the pool
# (a message that is due stands in LVM's metadata); the record says no more than that it was begun.
make_untold() {
  local id transaction at=/run/untold
  id=$(lvs --noheadings -o thin_id "$group/$name" | xargs)
  lvchange -qq -an "$group/$name"
  transaction=$(dmsetup status "$group-tp-tpool" | cut -d' ' -f4)
  dmsetup message "$group-tp-tpool" 0 "delete $id"
  dmsetup message "$group-tp-tpool" 0 "set_transaction_id $transaction $((transaction - 1))"
  vgcfgbackup -qq -f "$at" "$group"
  sed -i "s/^\(\t*\)zero_new_blocks = 1/&\nmessage1 {\ncreate = \"$name\"\n}/" "$at"
  vgcfgrestore -qq --force -y -f "$at" "$group" 2>/dev/null
  only_begun
  run lvchange -ay "$group/$name"
  [[ $status != 0 && $output == *'No data available'* ]] || fail "LVM activates it: nothing is tested: $output"
}

# only_begun: the record of the volume, and its tags, are those of a call that has begun to make it.
only_begun() {
  lvchange -qq --addtag flexlocal.io/state=new --deltag flexlocal.io/state=ready "$group/$name"
  sed -i 's/"state":"ready"/"state":"intent"/' "$records/$name"
}

@test "a volume that the pool was never told of is made all the same" {
  volume_name 1 && mount_volume "$name" && expect_success
  call unmount "$folder" && expect_success
  make_untold
  lvchange -qq -an "$group"
  call mount "$folder" "$options" && expect_success
  echo works >"$folder/file"
  # LVM goes on from there.
  lvcreate -qq -y -V 64M --thinpool tp -n other "$group"
  lvremove -qq -y "$group/other"
  [ "$(<"$folder/file")" = works ]
}

@test "a volume that the pool was never told of is removed" {
  volume_name 1 && mount_volume "$name" && expect_success
  call unmount "$folder" && expect_success
  make_untold
  remove_volume
}

@test "data behind an outdated record outlive an activation that fails" {
  have_volume
  only_begun
  lvchange -qq -an "$group/$name"
  # shellcheck disable=SC2016 # for the wrapper's shell
  wrap_tool lvchange '[[ " $* " != *" -a y --select "* ]] || exit 5; exec "$tool" "$@"'
  configure "$group" 'thin-pool = tp' '[tool]' 'lvchange = /run/wrapped-lvchange'
  call mount "$folder" "$options"
  expect_failure 'File exists'
  configure "$group" 'thin-pool = tp'
  call mount "$folder" "$options" && expect_success
  [ "$(<"$folder/file")" = precious ]
}

@test "a volume that had data is not made anew where its pool has lost it" {
  local id
  have_volume
  id=$(lvs --noheadings -o thin_id "$group/$name" | xargs)
  lvchange -qq -an "$group/$name"
  dmsetup message "$group-tp-tpool" 0 "delete $id"
  call mount "$folder" "$options"
  expect_failure 'No data available'
  # The pool takes this from one that has no such volume only.
  dmsetup message "$group-tp-tpool" 0 "create_thin $id"
}

@test "while an administrator looks at the pool's metadata nothing in it is removed" {
  local on_delete
  for on_delete in none discard; do
    more_options=("onDelete=$on_delete")
    have_volume
    lvchange -qq -an "$group"
    lvchange -qq -y -ay "$group/tp_tmeta"
    engine_call remove "$record"
    [[ $status = 1 && $answer == *"is prohibited while logical volume $group/tp_tmeta is active"* ]] ||
      fail "$answer"
    [ -n "$(lv_of "$name")" ] || fail "it failed, and the volume is gone"
    lvchange -qq -an "$group/tp_tmeta"
    remove_volume
  done
}

@test "nothing is removed from a pool that is to stay down, nor from one that takes no changes" {
  local pool=$group-tp-tpool table
  more_options=(onDelete=none)
  have_volume
  lvchange -qq -an "$group"
  lvchange -qq -ky "$group/tp"
  lvchange -qq -y -ay "$group/tp_tmeta"
  engine_call remove "$record"
  [[ $status = 1 && $answer == *"thin pool $group/tp is not active"* ]] || fail "$answer"
  lvchange -qq -an "$group/tp_tmeta"
  lvchange -qq -kn "$group/tp"
  # What is active already LVM leaves as it is.
  lvchange -qq -ay "$group/tp" "$group/$name"
  table=$(dmsetup table "$pool")
  dmsetup reload "$pool" --table "${table% 0*} 1 read_only"
  dmsetup resume "$pool"
  engine_call remove "$record"
  [[ $status = 1 && $answer == *"thin pool $group/tp is metadata_read_only"* ]] || fail "$answer $table"
  lvchange -qq -an "$group"
  engine_call follow "$record" && expect_success # a removal lets nobody mount it any more
  call mount "$folder" "$options" && expect_success
  [ "$(<"$folder/file")" = precious ]
}

@test "an empty pool that is to stay down has no room" {
  lvchange -qq -an "$group"
  lvchange -qq -ky "$group/tp"
  engine_call inventory && expect_success
  [[ $answer != *'"id":"thin:'* ]] || fail "it is to stay down, and its room is offered: $answer"
}

@test "a pool with volumes that an administrator took down is not brought up for a new one" {
  have_volume
  lvchange -qq -an "$group"
  volume_name 2 && mount_volume "$name"
  expect_failure "$group/tp is not active"
  [ -z "$(lvs --noheadings -o lv_active "$group/tp" | xargs)" ] || fail "the pool is active"
}

# killed_mount MILLISECONDS: a pool's first mount that is killed then, tools and all.
killed_mount() {
  volume_name 1 && folder_for "$name" && options_for "$name"
  status=0
  "${plugin%/*}/kill-after" $(($1 * 1000)) --with-tools -- "$plugin" mount "$folder" "$options" \
    >/run/killed 2>&1 || status=$?
  [ "$status" = 137 ] || [[ $(</run/killed) == *'"status":"Success"'* ]] ||
    fail "neither killed nor a success: $status $(</run/killed)"
}

@test "a pool's first volume is made, or removed, after a kill at any instant" {
  local at
  # LVM is at work between the first of these instants and the last.
  for ((at = 100; at <= 600; at += 25)); do
    killed_mount "$at"
    if [ $((at % 50)) = 0 ]; then
      unmount_pods
      remove_volume
      options_for "$name"
    fi
    call mount "$folder" "$options" && expect_success
    forget_volumes
    make_pool
  done
}
