# Invariant 2: every step can be killed at any instant and repeated. Here: around every program
# that a first mount starts, with the real LVM and mkfs.

setup_file() {
  export group=kill
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 1G >/dev/null
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
}

teardown() {
  forget_volumes
}

# killed_at TOOL SCRIPT: a first mount in which the plugin is killed from within TOOL, then a
# clean one; there must be one right volume and nothing else.
killed_at() {
  volume_name 1
  wrap_tool "$1" "$2"
  configure "$group" "[tool]" "$1 = /run/wrapped-$1"
  mount_volume "$name"
  [ "$status" = 137 ] || fail "the plugin was not killed: $status $answer"
  expect_unmounted "$folder"
  configure "$group"
  call mount "$folder" "$options" && expect_success
  echo works >"$folder/file"
  [ "$(lvs --noheadings -o lv_name "$group" | wc -l)" = 1 ]
  [ "$(echo "$records"/*)" = "$records/$name" ]
  [[ $(<"$records/$name") == *'"state":"ready"'* ]]
}

@test "killed before lvcreate" {
  # shellcheck disable=SC2016 # expanded by the wrapper
  killed_at lvcreate 'kill -9 $PPID'
}

@test "killed while lvcreate runs, which goes on" {
  # shellcheck disable=SC2016
  killed_at lvcreate 'kill -9 $PPID; exec "$tool" "$@"'
}

@test "killed after lvcreate" {
  # shellcheck disable=SC2016
  killed_at lvcreate '"$tool" "$@"; kill -9 $PPID'
}

@test "killed before mkfs" {
  # shellcheck disable=SC2016
  killed_at mkfs.xfs 'kill -9 $PPID'
}

@test "killed while mkfs runs: the next call waits for it" {
  # shellcheck disable=SC2016
  killed_at mkfs.xfs 'kill -9 $PPID; read -t 1 <>/run/guest; exec "$tool" "$@"'
}

@test "killed after mkfs: the file system is adopted, not made again" {
  # shellcheck disable=SC2016
  killed_at mkfs.xfs '"$tool" "$@"; kill -9 $PPID'
}

@test "an lvcreate that was killed before it wiped: another tenant's remains are not adopted" {
  volume_name 1
  # The old tenant's file system on the same extents, complete and with another uuid.
  lvcreate -qq -y -n old -L 320M "$group"
  mkfs.xfs -q "/dev/$group/old"
  lvremove -qq -f "$group/old"
  # shellcheck disable=SC2016
  wrap_tool lvcreate 'args=("$@"); for i in "${!args[@]}"; do
      case "${args[i]}" in -W | -Z) args[i + 1]=n ;; esac
    done
    "$tool" "${args[@]}"; kill -9 $PPID'
  configure "$group" "[tool]" "lvcreate = /run/wrapped-lvcreate"
  mount_volume "$name"
  [ "$status" = 137 ]
  device_of "$name"
  [ "$(blkid -p -s TYPE -o value "$device")" = xfs ] || fail "the remains are not there: nothing was tested"
  configure "$group"
  call mount "$folder" "$options" && expect_success
  [ "$(blkid -p -s UUID -o value "$device")" = "${name#pvc-}" ]
}
