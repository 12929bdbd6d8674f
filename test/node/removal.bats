# Removing a logical volume: only what is proven ours, wiped before its space is given back.

setup_file() {
  export group=removal
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 1G >/dev/null
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  configure "$group"
}

teardown() {
  forget_volumes
}

secret='the-old-tenants-secret'

# A volume full of a pattern, unmounted; with what OPTION=VALUE its options say.
make_full() {
  more_options=("$@")
  volume_name 1 && mount_volume "$name" && expect_success
  yes "$secret" | dd of="$folder/file" bs=1M iflag=fullblock oflag=direct status=none || true
  call unmount "$folder"
  device_of "$name"
  first_extent=$(lvs --noheadings -o seg_pe_ranges "$group/$name" | xargs)
  grep -q -a -m 1 "$secret" "$device" || fail "the pattern is not on the device: nothing is tested"
}

# Not one byte of it on the same extents, made into a raw volume by somebody else.
expect_wiped() {
  [ -z "$(lv_of "$name")" ]
  [ ! -e "$records/$name" ]
  lvcreate -qq -y -Zn -Wn -n raw -L 320M "$group"
  [ "$(lvs --noheadings -o seg_pe_ranges "$group/raw" | xargs)" = "$first_extent" ]
  if grep -q -a -m 1 "$secret" "/dev/$group/raw"; then fail "the pattern can be read"; fi
}

# Until it is done: a removal that zeroes comes back after some seconds of it.
remove() {
  for ((calls = 1; calls < 100; calls++)); do
    engine_call remove "$record" && expect_success
    [[ $answer == *'"done":false'* ]] || return 0
  done
  fail "not done after $calls calls: $answer"
}

@test "onDelete discard: nothing of the old data can be read from the same extents" {
  make_full onDelete=discard
  remove
  expect_wiped
}

@test "onDelete discard on a device that cannot: the volume is zeroed" {
  make_full onDelete=discard
  read -r _ minor < <(dmsetup info -c --noheadings --separator ' ' -o major,minor "${device##*/}")
  echo 0 >"/sys/block/dm-$minor/queue/discard_max_bytes"
  remove
  expect_wiped
}

@test "onDelete discard on a device that only says that it did: the volume is zeroed" {
  make_full onDelete=discard
  # shellcheck disable=SC2016 # expanded by the wrapper
  wrap_tool blkdiscard 'case $* in *zeroout*) exec "$tool" "$@" ;; esac'
  configure "$group" '[tool]' 'blkdiscard = /run/wrapped-blkdiscard'
  remove
  expect_wiped
}

@test "onDelete zero on a volume that an administrator gave a cache: it is zeroed, and removed" {
  make_full onDelete=zero
  lvcreate -qq -y --type cache-pool -L 64M -n fast "$group"
  lvconvert -qq -y --type cache --cachepool fast "$group/$name"
  # shellcheck disable=SC2016 # expanded by the wrapper
  wrap_tool blkdiscard 'case $* in *zeroout*) exec "$tool" "$@" ;; esac; exit 1'
  configure "$group" '[tool]' 'blkdiscard = /run/wrapped-blkdiscard'
  remove
  expect_wiped
}

@test "a cache that holds writes back is no way to wipe a volume: it is refused until it is gone" {
  for kind in cache writecache; do
    make_full onDelete=zero
    lvcreate -qq -y -L 64M -n fast "$group"
    if [ "$kind" = cache ]; then
      lvconvert -qq -y --type cache --cachevol fast --cachemode writeback "$group/$name"
    else
      lvchange -qq -an "$group/$name" "$group/fast"
      lvconvert -qq -y --type writecache --cachevol fast "$group/$name"
      lvchange -qq -ay "$group/$name"
    fi
    engine_call remove "$record"
    expect_failure "lvconvert --uncache $group/$name"
    lvconvert -qq -y --uncache "$group/$name"
    remove
    expect_wiped
    lvremove -qq -y "$group/raw"
  done
}

@test "a snapshot that an administrator made is not removed with the volume, and not filled" {
  for kind in discard none; do
    make_full "onDelete=$kind"
    lvcreate -qq -y -s -L 400M -n backup "$group/$name"
    engine_call remove "$record"
    expect_failure 'has a snapshot'
    [ "$(lvs --noheadings -o data_percent "$group/backup" | xargs)" = 0.00 ]
    lvremove -qq -y "$group/backup"
    remove
    [ -z "$(lv_of "$name")" ]
  done
}

@test "a thin volume that an administrator made on top of a volume is not removed with it" {
  lvcreate -qq -y --type thin-pool -L 100M -n tp "$group"
  make_full onDelete=none
  lvchange -qq -an "$group/$name"
  lvchange -qq -pr "$group/$name"
  lvcreate -qq -y -s --thinpool tp -n theirs "$group/$name"
  engine_call remove "$record"
  expect_failure 'has a snapshot'
  [ -n "$(lv_of theirs lv_name)" ]
  lvremove -qq -y "$group/theirs" "$group/tp"
  lvchange -qq -prw "$group/$name"
  remove
  [ -z "$(lv_of "$name")" ]
}

@test "a volume with another name is not taken for gone" {
  make_full onDelete=discard
  lvrename -qq "$group" "$name" kept-by-hand
  engine_call remove "$record"
  expect_failure "lvrename $group kept-by-hand $name"
  [ -e "$records/$name" ]
  lvrename -qq "$group" kept-by-hand "$name"
  remove
  expect_wiped
}

@test "onDelete zero: killed in the middle it goes on, and is never mounted again" {
  make_full onDelete=zero
  # shellcheck disable=SC2016
  wrap_tool blkdiscard '"$tool" "$@"; kill -9 $PPID'
  configure "$group" '[tool]' 'blkdiscard = /run/wrapped-blkdiscard'
  engine_call remove "$record"
  [ "$status" = 137 ]
  [[ $(lv_of "$name") == *flexlocal.io/state=wiping* ]]
  [[ $(<"$records/$name") == *'"state":"wiping"'* ]]
  configure "$group"
  call mount "$folder" "$options"
  expect_failure 'is being removed and is not mounted'
  promise_again "$name" # by its tags, too
  call mount "$folder" "$options"
  expect_failure 'is being removed and its blocks are wiped'
  remove
  expect_wiped
}

@test "onDelete none removes at once" {
  make_full onDelete=none
  configure "$group" '[tool]' 'blkdiscard = /bin/false'
  remove
  [ "$calls" = 1 ]
  [ -z "$(lv_of "$name")" ]
}

@test "a thin volume's blocks are not shown to the next one" {
  lvcreate -qq -y --type thin-pool -L 400M -n tp "$group"
  configure "$group" 'thin-pool = tp'
  backend=thin
  make_full onDelete=zero
  remove
  lvcreate -qq -y -V 320M --thinpool tp -n raw "$group"
  # Written a little, so that blocks of the pool are given to it.
  for ((at = 0; at < 320; at += 4)); do
    echo x | dd of="/dev/$group/raw" bs=512 count=1 seek=$((at * 2048)) conv=notrunc,sync status=none
  done
  if grep -q -a -m 1 "$secret" "/dev/$group/raw"; then fail "the pattern can be read"; fi
}

@test "an inactive volume is wiped and removed as well" {
  make_full onDelete=zero
  lvchange -qq -an "$group/$name"
  remove
  expect_wiped
}

@test "a retained volume is kept by its tags, listed so, mounted for nobody, and removed as ever" {
  make_full onDelete=discard
  engine_call retain "$record" && expect_success
  rm -r "$records" # a host that lost them knows it all the same
  [[ $(lv_of "$name") == *flexlocal.io/retained* ]]
  [[ $("$plugin" list) == *"$name "*' retained '* ]]
  [[ $("$plugin" status "$name") == *'deleted under the policy Retain'* ]]
  restore_record
  call mount "$folder" "$options"
  expect_failure "the volume is retained"
  engine_call take-up "$record" && expect_success
  call mount "$folder" "$options" && expect_success
  [[ $("$plugin" list) == *"$name "*' ready '* ]]
  [[ $(lv_of "$name") != *flexlocal.io/retained* ]]
  call unmount "$folder"
  engine_call retain "$record" && expect_success
  remove
  expect_wiped
}

@test "invariant 4: a volume that is mounted is not removed, and not wiped" {
  more_options=(onDelete=zero)
  volume_name 1 && mount_volume "$name" && expect_success
  echo precious >"$folder/file"
  engine_call remove "$record"
  expect_failure 'is in use and is not removed yet'
  [ "$(<"$folder/file")" = precious ]
  [[ $(lv_of "$name") != *wiping* ]]
}

@test "invariant 4: nothing is removed by its name alone" {
  volume_name 1 && folder_for "$name" && options_for "$name"
  lvcreate -qq -y -n "$name" -L 320M --addtag somebody "$group"
  engine_call remove "$record"
  expect_failure 'its tags do not say that it is'
  [ -n "$(lv_of "$name")" ]
}

@test "a removal that was done is done again without a word" {
  volume_name 1 && mount_volume "$name" && expect_success
  call unmount "$folder"
  remove
  remove
  [ "$calls" = 1 ]
}
