# What the node daemon notices of its volumes while it starts no program: what anybody makes, grows or
# removes, at once, and what LVM alone notes, with the next turn. Looks at them are no changes.

setup_file() {
  export group=changes
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 1G 300M >/dev/null
}

setup() {
  bats_require_minimum_version 1.5.0
  . "$BATS_TEST_DIRNAME/volume.bash"
  change_call=${plugin%/*}/change-call
}

teardown() { lvremove -qq -y "$group"; }

# expect WORDS WHEN PROGRAM...
expect() {
  local said
  said=$("$change_call" "${@:2}" 2>/dev/null) || fail "it failed: ${*:2}: $said"
  [ "${said##*$'\n'}" = "$1" ] || fail "${*:2}: $said, and not $1"
}

# expect_alone WORDS WHEN TOOL...: without a copy of LVM's metadata, so that the kernel alone tells of it.
expect_alone() {
  expect "$1" "$2" "$3" -qq -y --config 'backup { backup=0 archive=0 }' "${@:4}"
}

@test "a volume that is made, grown, turned off and removed is noticed at once" {
  expect_alone changed after lvcreate -L 100M -n data "$group"
  expect_alone changed after lvextend -L +100M "$group/data"
  expect_alone changed after lvchange -an "$group/data"
  expect_alone changed after lvchange -ay "$group/data"
  expect_alone changed after lvremove "$group/data"
}

@test "whoever waits is woken" {
  expect_alone changed during lvcreate -L 100M -n data "$group"
}

@test "armed anew, what was noticed is over" {
  expect_alone 'changed unchanged' twice lvcreate -L 100M -n data "$group"
}

@test "a thin pool that runs full is noticed" {
  lvcreate -qq -y --type thin-pool -L 20M -n tp "$group"
  lvchange -qq --errorwhenfull y "$group/tp"
  lvcreate -qq -y -V 100M --thin -n data "$group/tp"
  expect changed after bash -c "! dd if=/dev/zero of=/dev/$group/data bs=1M count=30 oflag=direct 2>/dev/null"
}

@test "looking, mounting and writing are no changes" {
  lvcreate -qq -y -L 320M -n data "$group"
  mkfs.xfs -q "/dev/$group/data"
  expect unchanged after vgs -o +lv_tags
  expect unchanged after lvs -a -o +lv_all
  expect unchanged after dmsetup info -c
  mkdir -p /run/mounted
  expect unchanged after mount "/dev/$group/data" /run/mounted
  expect unchanged after touch /run/mounted/file
  expect unchanged after umount /run/mounted
}

# Nothing of it is in the kernel.
@test "a tag, and a disk that is taken from its group and added to it, are noticed with the next turn" {
  local disk
  disk=$(pvs --noheadings -o pv_name -S "vg_name=$group && pv_size<500m" | xargs)
  expect changed after vgreduce -qq "$group" "$disk"
  expect changed after vgextend -qq "$group" "$disk"
  lvcreate -qq -y -L 100M -n data "$group"
  expect changed after lvchange -qq --addtag one "$group/data"
}

# look: sets `heads` to what an inventory notes of LVM's metadata. They are known from the first one on.
look() {
  engine_call inventory && expect_success
  engine_call inventory && expect_success
  heads=$(jq -ce .heads <<<"$answer")
}
# is_as_seen true|false: by the metadata alone, with no tool to ask.
is_as_seen() {
  local tool
  cp /etc/flexlocal/node.conf /run/node.conf
  { echo '[tool]'; for tool in vgs lvs lvchange lvcreate; do echo "$tool = /nowhere/$tool"; done; } >>/etc/flexlocal/node.conf
  engine_call as-seen "$heads" && expect_success
  mv /run/node.conf /etc/flexlocal/node.conf
  [ "$(jq -c .same <<<"$answer")" = "$1" ] || fail "same: $answer, and not $1"
}

@test "while no metadata change, what was seen is known to be so without a program" {
  configure "$group"
  lvcreate -qq -y -L 320M -n data "$group"
  mkfs.xfs -q "/dev/$group/data"
  look
  is_as_seen true
  mkdir -p /run/mounted
  mount "/dev/$group/data" /run/mounted
  touch /run/mounted/file
  is_as_seen true
  umount /run/mounted
  lvchange -qq -an "$group/data"
  is_as_seen true
}

@test "whatever anybody changes of a group's metadata shows, active or not" {
  local disk change
  configure "$group"
  lvcreate -qq -y -L 20M -n other "$group"
  disk=$(pvs --noheadings -o pv_name -S "vg_name=$group && pv_size<500m" | xargs)
  for change in 'lvcreate -qq -y -an -Zn -Wn -L 20M -n data' 'lvextend -qq -L +20M changes/data' \
    'lvchange -qq --addtag one changes/data' 'lvrename -qq changes data renamed' \
    "vgreduce -qq changes $disk" "vgextend -qq changes $disk" 'lvremove -qq -y changes/renamed'; do
    [[ $change != lvcreate* ]] || change+=" $group"
    look
    is_as_seen true
    $change
    is_as_seen false
  done
}

@test "of a thin pool, which fills without that, and of a group that nobody has looked at, it is not known" {
  configure "$group"
  heads='[]'
  is_as_seen false
  lvcreate -qq -y --type thin-pool -L 20M -n tp "$group"
  configure "$group" 'thin-pool = tp'
  look
  [ "$heads" = '[]' ]
}

@test "where there is no device-mapper it says why" {
  mkdir -p /run/nowhere
  run -0 "$change_call" --root=/run/nowhere after true
  [[ ${lines[0]} == *"/dev/mapper/control"* ]]
  [ "${lines[1]}" = unchanged ]
}
