# shellcheck shell=bash disable=SC2034,SC2154 # shared with volume.bash and the tests
# Calls and writes that must not wait for a device that a killed command left suspended.

suspended_devices() {
  local file content
  for file in /sys/block/dm-*/dm/suspended; do
    [ -e "$file" ] || continue
    read -r content <"$file"
    [ "$content" = 0 ] || cat "${file%suspended}name"
  done
}

expect_none_suspended() {
  local devices
  devices=$(suspended_devices)
  [ -z "$devices" ] || fail "suspended: $devices"
}

# What waits for it could not be killed, and the guest would not end.
resume_by_hand() {
  local device
  for device in $(suspended_devices); do dmsetup resume "$device"; done
}

# in_time COMMAND...: a call that must end, its status and answer as ever. One that does not is
# freed after a minute, and is a failure.
in_time() {
  local tries caller
  rm -f /run/ended
  {
    "$@"
    printf '%s\n' "$status" "$answer" >/run/answer
    mv /run/answer /run/ended
  } 3>&- &
  caller=$!
  for ((tries = 0; tries < 600; tries++)); do
    [ ! -e /run/ended ] || break
    read -r -t 0.1 <>/run/guest || true
  done
  [ -e /run/ended ] || {
    resume_by_hand
    wait "$caller"
    fail "it waits for a device that is suspended: $*"
    return
  }
  wait "$caller"
  { read -r status && answer=$(cat); } </run/ended
}

# start_write FILE: a pod's write that is to reach the disk; expect_written FILE, once it may.
start_write() {
  dd if=/dev/zero of="$1" bs=64k count=16 conv=fsync status=none 3>&- &
  writer=$!
}

expect_written() {
  local tries
  for ((tries = 0; tries < 300; tries++)); do
    kill -0 "$writer" 2>/dev/null || break
    read -r -t 0.1 <>/run/guest || true
  done
  ! kill -0 "$writer" 2>/dev/null || fail "the write to $1 still waits"
  wait "$writer"
  [ "$(stat -c %s "$1")" = 1048576 ] || fail "$1 is not whole"
}
