# Waiting has an end: an LVM lock that somebody holds, and a tool that hangs. Both calls run into
# their deadline of 120 s at once, before the tests.

setup_file() {
  export group=locked
  "$BATS_TEST_DIRNAME/../lab/guest-disk" locked 1G >/dev/null
  "$BATS_TEST_DIRNAME/../lab/guest-disk" free 1G >/dev/null
  . "$BATS_TEST_DIRNAME/volume.bash"
  mkdir -p /run/answers
  # The daemon's look: then a first mount starts with lvcreate.
  configure locked
  engine_call inventory && expect_success
  rm /run/flexlocal/group-locked
  run_into_lock 3>&- &
  until_there /run/flexlocal/group-locked # node.conf was read by then
  run_into_hang 3>&- &
  wait
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
}

# start_mount ANSWER NUMBER: a call whose answer and time go to a file.
start_mount() {
  volume_name "$2"
  SECONDS=0
  mount_volume "$name"
  printf '%s\n' "$status" "$SECONDS" "$answer" >"/run/answers/$1"
}

run_into_lock() {
  configure locked
  mkfifo /run/release
  flock -x /run/lock/lvm/V_locked bash -c 'echo >/run/is-locked; read -r </run/release' &
  until_there /run/is-locked
  start_mount lock 1
  echo >/run/release
  wait
}

run_into_hang() {
  # shellcheck disable=SC2016 # expanded by the wrapper
  wrap_tool lvcreate 'trap "" TERM INT HUP
    (trap "" TERM; echo $BASHPID >/run/hanging-child; read -r <>/run/guest) &
    echo $$ >/run/hanging
    read -r <>/run/guest'
  configure free "[tool]" "lvcreate = /run/wrapped-lvcreate"
  start_mount hang 2
}

# Waits for a condition in setup_file, 30 s at most.
until_there() {
  local tries
  for ((tries = 0; tries < 300; tries++)); do
    [ ! -e "$1" ] || return 0
    read -r -t 0.1 <>/run/guest || true
  done
  fail "$1 did not appear"
}

answer_of() {
  { read -r status && read -r took && read -r answer; } <"/run/answers/$1"
}

@test "an LVM lock that somebody holds: the call ends, and says where to look" {
  configure locked
  volume_name 1 && answer_of lock
  expect_failure "cannot create volume $name: /usr/sbin/lvcreate did not end within 120 s and was killed"
  [[ $answer == *"see \`lsof /run/lock/lvm\`"* ]]
  [ "$took" -lt 150 ]
  # Now that the lock is free, the same call does it.
  mount_volume "$name" && expect_success
  [ "$(lvs --noheadings locked | wc -l)" = 1 ]
}

@test "a tool that hangs and ignores signals is killed and reaped, with what it started" {
  answer_of hang
  expect_failure "/run/wrapped-lvcreate did not end within 120 s and was killed"
  [ "$took" -lt 150 ]
  # The child was reaped by the plugin; its own child belongs to process 1 by now.
  [ ! -e "/proc/$(</run/hanging)" ]
  local state=gone
  [ ! -e "/proc/$(</run/hanging-child)" ] || state=$(<"/proc/$(</run/hanging-child)/stat")
  case $state in gone | *") Z "*) ;; *) fail "what the tool started still runs: $state" ;; esac
  configure free
  volume_name 2 && mount_volume "$name" && expect_success
}
