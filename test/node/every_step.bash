# shellcheck shell=bash disable=SC2034,SC2154 # shared with volume.bash, remains.bash and the tests
# Kills one call at every place where it can matter, and looks at what a repeated call makes of it.
#
# An operation NAME is two functions: before_NAME brings the volume to where the call starts and
# sets `command`; after_NAME says what must be true once the call has succeeded.

readonly tracer=${plugin%/*}/tracer
# Entries and exits of system calls, or only the exits: the world is the same at an exit and at
# the next entry, unless a tool is running.
readonly phase=${STEPS:-exit}

# at_every_step BACKEND FSTYPE OPERATION: for n = 1, 2, ... the call killed at n, then repeated once.
at_every_step() { at_steps 1 "$@"; }

# at_some_steps, the same: only one place in five, unless all are asked for: what most kinds of
# volumes have in common is tried at every place with one of them.
at_some_steps() {
  if [ "$phase" = both ]; then at_steps 1 "$@"; else at_steps 5 "$@"; fi
}

at_steps() {
  local n report content times=0 step=$1
  shift
  start_with "$1" "$2"
  for ((n = 1; n < 1000; n += step)); do
    access=rw
    "before_$3"
    kill_at "$n"
    [[ $report != "ran to the end after "* ]] || break
    expect_killed
    times=$((times + 1))
    expect_safe_mounts "$access"
    repeat_call
    expect_success
    "after_$3"
  done
  [ "$n" -lt 1000 ] || fail "it has more places than were tried"
  expect_success
  "after_$3"
  # A call without a single point would have shown nothing.
  [ "$times" -gt 0 ] || fail "there was no place to kill it at"
  echo "# $1 $2 $3: killed $times times, $report" >&3
}

# start_with BACKEND FSTYPE: the volume that all operations are on; a test's second one is another.
start_with() {
  [ -n "${baseline_mounts:-}" ] || read_baseline
  volume_name 1
  folder_for "$name"
  if [ -n "${backend_of[$name]:-}" ]; then
    be_unmounted
    remove_volume
  fi
  grown=320
  [ "$1" != quota ] || grown=32
  declare_volume "$name" "$1" "$2" "$grown"
}

kill_at() {
  status=0
  answer=$("$tracer" --kill-at "$1" --phase "$phase" --report /run/report -- "${command[@]}" 2>&1) ||
    status=$?
  slurp /run/report
  report=${content%$'\n'}
  echo "$report" # shown when the test fails
}

# The call says nothing before its end: kubelet would read half a word.
expect_killed() {
  [[ $report == "killed at $n: "* ]] || fail "the tracer says '$report', the call '$answer'"
  [ "$status" = 137 ] || fail "not killed: $status"
  [ -z "$answer" ] || fail "killed, and yet it said $answer"
}

repeat_call() {
  status=0
  answer=$("${command[@]}" 2>&1) || status=$?
}

# --- The operations ---------------------------------------------------------------------------

# On a node that has never seen a volume: the folders of locks and records are not there either.
before_first_mount() {
  be_unmounted
  forget_volume
  rm -f "$records/$name"
  [ ${#others[@]} -gt 0 ] || rm -rf "$locks" "$records"
  ask_for_mount
}

ask_for_mount() {
  declared_options "$name"
  command=("$plugin" mount "$folder" "$options")
}
after_first_mount() {
  expect_mounted_once
  [ ! -e "$folder/file" ] || fail "there is data of the volume before"
  write_data "$name"
  expect_data "$name"
  expect_volumes "$name"
}

# The very first one of a pool with quota-size: the shared file system is made, too.
before_shared_first_mount() {
  be_unmounted
  forget_shared
  lvremove -qq -f "$group" >/dev/null 2>&1
  rm -rf "$locks" "$records"
  ask_for_mount
}
after_shared_first_mount() {
  expect_mount_count 2
  write_data "$name"
  expect_data "$name"
  expect_volumes "$name"
}

# After a reboot, the shared file system is mounted again.
before_shared_again_mount() {
  have_data
  be_unmounted
  slurp /proc/self/mountinfo
  [[ $content != *" $shared "* ]] || umount "$shared"
  ask_for_mount
}
after_shared_again_mount() {
  expect_mount_count 2
  expect_data "$name"
  expect_volumes "$name"
}

before_again_mount() {
  have_data
  be_unmounted
  declared_options "$name" "$access"
  command=("$plugin" mount "$folder" "$options")
}
after_again_mount() {
  expect_mounted_once
  expect_data "$name"
  expect_volumes "$name"
}

before_read_only_mount() {
  access=ro
  before_again_mount
}
after_read_only_mount() { after_again_mount; }

# Beside another pod's mount of the same volume, which must stay.
before_second_pod() {
  have_data
  be_unmounted
  folder_for "$name" pod-2
  be_mounted
  folder_for "$name"
  command=("$plugin" mount "$folder" "$options")
}
after_second_pod() {
  expect_data "$name"
  folder_for "$name" pod-2
  expect_data "$name"
  folder_for "$name"
  expect_mount_count 2
  expect_volumes "$name"
}

before_unmount() {
  have_data
  be_mounted
  command=("$plugin" unmount "$folder")
}
after_unmount() {
  expect_mount_count 0
  expect_volumes "$name"
  be_mounted
  expect_data "$name"
}

before_delete() {
  have_data
  be_unmounted
  declared_options "$name"
  command=("${plugin%/*}/engine-call" remove "$record")
}
after_delete() {
  complete_removal
  expect_mount_count 0
  expect_volumes
}

# By the node daemon, before it lets the PersistentVolume go. Of an LV its tags say it, of a folder
# the record.
before_retain() {
  have_data
  be_unmounted
  declared_options "$name"
  engine_call take-up "$record"
  expect_success
  command=("${plugin%/*}/engine-call" retain "$record")
}
after_retain() {
  if [ "${backend_of[$name]}" = quota ]; then
    [[ $(<"$records/$name") == *'"retained":true'* ]] || fail "not marked: $(<"$records/$name")"
  else
    [[ $(lv_of "$name") == *flexlocal.io/retained* ]] || fail "not marked: $(lv_of "$name")"
  fi
  engine_call take-up "$record"
  expect_success
  be_mounted
  expect_data "$name"
  expect_volumes "$name"
}

# The size is the volume's own all the time; what it has grown to is counted beside it.
before_grow() {
  have_data
  "$1"
  grown=$((grown + 16))
  declared_options "$name"
}
after_grow() {
  declared_growth "$name" "$grown"
  be_mounted
  expect_mounted_once
  expect_offers "$grown"
  expect_data "$name"
  expect_volumes "$name"
}

# Under a pod, by kubelet.
before_expandfs() {
  before_grow be_mounted
  command=("$plugin" expandfs "$options" '' "$folder" $((grown * 1048576)) 1)
}
after_expandfs() { after_grow; }

# Not mounted, by the node daemon: the file system grows with the next mount.
before_grow_unmounted() {
  before_grow be_unmounted
  command=("${plugin%/*}/engine-call" grow "$record" $((grown * 1048576)))
}
after_grow_unmounted() { after_grow; }

# That next mount.
before_grown_mount() {
  before_grow be_unmounted
  engine_call grow "$record" $((grown * 1048576))
  expect_success
  command=("$plugin" mount "$folder" "$options")
}
after_grown_mount() { after_grow; }

# expect_offers MIB: the mounted file system has that, less 64 MiB for the log of an XFS of its own
# and a little.
expect_offers() {
  local blocks size
  [ "${backend_of[$name]}" = quota ] || set -- $(($1 - 80))
  read -r blocks size < <(stat -f -c '%b %S' "$folder")
  [ $((blocks * size / 1048576)) -ge "$1" ] || fail "$((blocks * size / 1048576)) MiB, not $1"
}

# --- How the operations bring a volume to where they start ------------------------------------

# Made, with a file in it; mounted or not.
have_data() {
  [ ! -e "$records/$name" ] || [[ $(<"$records/$name") == *promised* ]] || return 0
  be_mounted
  write_data "$name"
}

be_mounted() {
  declared_options "$name"
  ! is_mounted "$folder" || return 0
  call mount "$folder" "$options"
  expect_success
}

be_unmounted() {
  is_mounted "$folder" || return 0
  call unmount "$folder"
  expect_success
}

remove_volume() {
  [ -e "$records/$name" ] || return 0
  declared_options "$name"
  engine_call remove "$record"
  complete_removal
}

# Without the engine, where that is possible: its removal takes many tools, and has tests of its own.
forget_volume() {
  if [ "${backend_of[$name]}" = quota ]; then
    remove_volume
  elif [ -e "$records/$name" ]; then
    # The next one lies in the same place, and must not be found complete there.
    device_of "$name"
    [ -b "$device" ] || fail "$device is no device"
    head -c 1M /dev/zero >"$device"
    lvremove -qq -f "$group/$name"
  fi
}

# One call removes what it can in a few seconds; the daemon calls again until it is done.
complete_removal() {
  local tries
  for ((tries = 0; tries < 100; tries++)); do
    expect_success
    [[ $answer == *'"done":false'* ]] || return 0
    engine_call remove "$record"
  done
  fail "the removal does not come to an end"
}

# At `folder` and nowhere else, with the access that was asked.
expect_mounted_once() {
  expect_mount_count 1
  expect_safe_mounts "$access"
  slurp /proc/self/mountinfo
  [[ $content == *" $folder $access,"* ]] || fail "not mounted $access: $content"
}
