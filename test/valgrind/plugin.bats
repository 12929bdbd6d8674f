# The plugin under valgrind: no wrong read or write, no use of what was never set, no leak, no
# descriptor left open. The answers are looked at too, so that it is known which way was taken.

# valgrind's own words go to a file: what the plugin prints is the answer.
setup_file() {
  export VALGRIND_LOG=/run/work/valgrind program=$FLEXLOCAL
  printf '#!/bin/bash\nexec valgrind -q --leak-check=full --show-leak-kinds=definite,indirect,possible --errors-for-leak-kinds=definite,indirect,possible --error-exitcode=99 --child-silent-after-fork=yes --track-fds=yes --log-file=%s %s "$@"\n' \
    "$VALGRIND_LOG" "$program" >/run/work/plugin
  chmod +x /run/work/plugin
}

setup() {
  export FLEXLOCAL=/run/work/plugin group=none
  . "$BATS_TEST_DIRNAME/../node/volume.bash"
  configure "$group"
  rm -rf /var/lib/flexlocal "$kubelet/pods"
}

teardown() {
  [ "$status" != 99 ] || cat "$VALGRIND_LOG"
}

# Of those that the program itself opened, valgrind says where.
has_open_descriptor() { grep -A 1 'Open file descriptor' "$VALGRIND_LOG" | grep -q ' at 0x'; }

# expect_clean: valgrind had nothing to say of the last call.
expect_clean() {
  [ "$status" != 99 ] || fail "valgrind found something"
  ! has_open_descriptor || fail "a descriptor is left open: $(<"$VALGRIND_LOG")"
}

# tool NAME SCRIPT: what the plugin is to find in place of the host's.
tool() {
  mkdir -p /run/work/tools
  printf '#!/bin/sh\n%s\n' "$2" >"/run/work/tools/$1"
  chmod +x "/run/work/tools/$1"
}

# A promised first mount with these tools.
mount_first() {
  rm -rf /var/lib/flexlocal
  configure data "[tool]" "lvcreate = /run/work/tools/lvcreate" "lvs = /run/work/tools/lvs" \
    "vgs = /run/work/tools/vgs"
  volume_name 1 && mount_volume "$name"
}

@test "valgrind finds what is wrong, or these tests would show nothing" {
  cc -x c -O0 -g -o /run/work/wrong - <<'C'
#include <fcntl.h>
#include <stdlib.h>
int main(void) {
  volatile int *p = malloc(8);
  int x = p[1] ? 1 : 2;
  p = 0;
  return x > 2 || open("/dev/null", O_RDONLY) < 0;
}
C
  sed 's|/[^ ]* "$@"$|/run/work/wrong "$@"|' /run/work/plugin >/run/work/control
  status=0
  bash /run/work/control || status=$?
  [ "$status" = 99 ]
  grep -q "definitely lost" "$VALGRIND_LOG"
  grep -q "depends on uninitialised" "$VALGRIND_LOG"
  has_open_descriptor
}

@test "init" {
  call init && expect_success
  expect_clean
}

@test "what people ask" {
  for word in --help --version; do
    call "$word"
    [ "$status" = 0 ]
    expect_clean
  done
  call uninstall relative
  [ "$status" = 2 ]
  expect_clean
  call install /run/work/exec
  [ "$status" = 0 ]
  expect_clean
}

@test "calls that are none" {
  call
  expect_failure "no call"
  expect_clean
  for arguments in attach mount "mount a" "mount a b c" unmount "unmount a b" "mount a {}" "mount a [" "unmount /"; do
    # shellcheck disable=SC2086 # the words
    call $arguments
    [ "$status" = 1 ]
    expect_clean
  done
}

@test "calls that the host's record does not allow, and no record" {
  volume_name 1 && folder_for "$name" && options_for "$name" 320 thief
  call mount "$folder" "$options"
  expect_failure 'a pod of \"thief\" may not mount it'
  expect_clean
  options_for "$name"
  call mount "$folder" "${options/8000000000000001/0123456789abcdef}"
  expect_failure 'names copy \"0123456789abcdef\" of the volume'
  expect_clean
  call mount "$folder" "${options/8000000000000001/zz}"
  expect_failure 'option flexlocal.io/copy is \"zz\", which is not the id of a copy'
  expect_clean
  promised=$(<"$records/$name")
  echo "${promised%,\"claimUID\"*}}" >"$records/$name"
  call mount "$folder" "$options"
  expect_failure "the volume's record names no claim"
  expect_clean
  echo '{"version":2,' >"$records/$name"
  call mount "$folder" "$options"
  expect_failure "record $records/$name"
  expect_clean
  rm "$records/$name"
  call mount "$folder" "$options"
  expect_failure "has not promised it here"
  expect_clean
}

@test "unmounting what is not there" {
  volume_name 1 && folder_for "$name"
  call unmount "$folder" && expect_success
  expect_clean
  rm -r "$kubelet/pods"
  call unmount "$folder" && expect_success
  expect_clean
}

@test "no node.conf, and a wrong one" {
  volume_name 1 && folder_for "$name" && options_for "$name"
  rm /etc/flexlocal/node.conf
  call mount "$folder" "$options"
  expect_failure "node.conf is missing"
  expect_clean
  configure "$group" "color = blue"
  call mount "$folder" "$options"
  expect_failure "not known"
  expect_clean
}

@test "tools that fail, flood, die, and are missing" {
  tool lvs 'exit 1'
  tool vgs 'exit 1'
  mount_first
  expect_failure "vgs failed (exit code 1)"
  expect_clean
  tool vgs "echo '{\"report\":[{\"vg\":[{\"vg_name\":\"data\",\"vg_uuid\":\"a-b\",\"vg_seqno\":\"1\",\"pv_name\":\"/dev/none\"}]}]}'"
  tool lvcreate 'echo no >&2; exit 5'
  mount_first
  expect_failure "lvcreate failed (exit code 5): no"
  expect_clean
  tool lvcreate 'exec head -c 20000000 /dev/zero'
  mount_first
  expect_failure "printed more than 16 MiB"
  expect_clean
  tool lvcreate 'kill -9 $$'
  mount_first
  expect_failure "was ended by signal 9"
  expect_clean
  tool lvcreate ''
  mount_first
  expect_failure "looking at /dev/mapper/data-"
  expect_clean
  rm /run/work/tools/lvcreate
  mount_first
  expect_failure "starting /run/work/tools/lvcreate"
  expect_clean
}

@test "LVM's reports: a stranger's volume, a full group, a damaged one" {
  volume='{"vg_name":"data","vg_uuid":"a-b","lv_name":"x","lv_uuid":"c-d","lv_size":"1","lv_tags":"t","lv_device_open":"","lv_active":""}'
  tool lvcreate 'exit 5'
  tool lvs "echo '{\"report\":[{\"lv\":[$volume]}]}'"
  mount_first
  expect_failure "its tags do not say that it belongs to this claim"
  expect_clean
  tool lvs "echo '{\"report\":[{\"lv\":[]}]}'"
  tool vgs "echo '{\"report\":[{\"vg\":[{\"vg_name\":\"data\",\"vg_size\":\"9\",\"vg_free\":\"1\",\"vg_extent_size\":\"4\",\"vg_uuid\":\"a-b\",\"vg_seqno\":\"1\",\"pv_name\":\"/dev/none\"}]}]}'"
  mount_first
  expect_failure "has 1 B free"
  expect_clean
  tool lvs "echo '{\"report\":[{\"lv\":[$volume'"
  mount_first
  expect_failure "lvcreate failed"
  expect_clean
}
