# A class's limits on a real kernel's blk-throttle: how fast a container really is, by both versions
# of cgroups. The kernel offers the controller to one hierarchy at a time; v2 comes first, since it
# has it at first.

setup_file() {
  export group=data
  # No loop device: its threads keep a cgroup's state for a minute after the cgroup is gone
  # (drivers/block/loop.c, LOOP_IDLE_WORKER_TIMEOUT), and the controller could not change hands.
  modprobe brd rd_nr=1 rd_size=$((1024 * 1024))
  vgcreate -qq "$group" /dev/ram0
}

teardown_file() {
  vgremove -qq -f "$group"
  rmmod brd
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  . "$BATS_TEST_DIRNAME/../lab/eventually.bash"
  configure "$group"
  rm -rf /var/lib/flexlocal/counters
  pod_uid=0b1c2d3e-0000-4000-8000-00000000000b
  more_options=()
  work=$BATS_TEST_TMPDIR # for eventually
}

teardown() {
  forget_volumes
  leave_cgroups
}

show_state() { grep cgroup /proc/self/mountinfo; }

readonly cgroups=/sys/fs/cgroup
readonly read_iops=120 write_iops=80 read_bandwidth=12582912 write_bandwidth=8388608
readonly all_limits=("readIOPS=$read_iops" "writeIOPS=$write_iops"
  "readBandwidth=$read_bandwidth" "writeBandwidth=$write_bandwidth")

enter_v2() { mount -t cgroup2 cgroup "$cgroups"; }
enter_v1() { eventually 20 mount -t cgroup -o blkio cgroup "$cgroups"; }

# Nothing of this test is left in the hierarchy, so that another version can have the controller.
# The kernel takes a removed cgroup apart in the background, and what it still has cached holds it.
leave_cgroups() {
  mountpoint -q "$cgroups" || return 0
  eventually 20 find "$cgroups" -mindepth 1 -depth -type d -delete
  [ ! -e "$cgroups/cgroup.subtree_control" ] || echo -io >"$cgroups/cgroup.subtree_control"
  echo 3 >/proc/sys/vm/drop_caches
  umount "$cgroups"
}

# rate_in CGROUP UNIT DD_OPERAND...: sets `rate`, in units a second by the monotonic clock that dd
# reads, of what a process in the cgroup copies.
rate_in() {
  local cgroup=$1 unit=$2 said micros
  shift 2
  said=$( (echo "$BASHPID" >"$cgroup/cgroup.procs" && LC_ALL=C exec dd "$@") 2>&1)
  [[ $said =~ ([0-9]+)\ bytes.*\ ([0-9]+)\.([0-9]+)\ s, ]] || fail "dd says: $said"
  micros=${BASH_REMATCH[3]}000000
  micros=$((BASH_REMATCH[2] * 1000000 + 10#${micros:0:6}))
  rate=$((BASH_REMATCH[1] * 1000000 / unit / micros))
}

# expect_rate LIMIT: `rate` is within 15 % of it.
expect_rate() {
  echo "# $BATS_TEST_DESCRIPTION: $rate a second, limit $1" >&3
  ((rate * 100 >= $1 * 85 && rate * 100 <= $1 * 115)) || fail "$rate a second, the limit is $1"
}

# expect_limits CGROUP: all four, each by two to three seconds of direct I/O on FOLDER.
expect_limits() {
  local file=$folder/file
  rate_in "$1" 1 if=/dev/zero "of=$file" bs=1M count=20 oflag=direct conv=notrunc
  expect_rate "$write_bandwidth"
  rate_in "$1" 1 "if=$file" of=/dev/null bs=1M count=30 iflag=direct
  expect_rate "$read_bandwidth"
  rate_in "$1" 4096 if=/dev/zero "of=$file" bs=4k count=200 oflag=direct conv=notrunc
  expect_rate "$write_iops"
  rate_in "$1" 4096 "if=$file" of=/dev/null bs=4k count=300 iflag=direct
  expect_rate "$read_iops"
}

# A file that is there before the pod, so that its blocks are.
make_volume_with_file() {
  volume_name "$1" && mount_volume "$name" filler && expect_success
  dd if=/dev/zero "of=$folder/file" bs=1M count=40 oflag=direct status=none
  call unmount "$folder" && expect_success
}

# have_limits: what the class says, of a volume that is there.
have_limits() {
  more_options=("${all_limits[@]}")
  options_for "$name"
  engine_call follow "$record" && expect_success
}

expect_count() {
  local file=/var/lib/flexlocal/counters/io-limits-not-applied count=0
  [ ! -e "$file" ] || read -r count <"$file"
  [ "$count" = "$1" ] || fail "$count mounts without limits are counted, not $1"
}

@test "v2: a container has the four limits, and a neighbour on another volume none" {
  enter_v2
  local pod=$cgroups/kubepods/burstable/pod$pod_uid
  local other=$cgroups/kubepods/pod11111111-2222-4333-8444-555555555555
  mkdir -p "$pod" "$other"
  volume_name 2 && mount_volume "$name" other && expect_success
  local others=$folder/file
  make_volume_with_file 1
  have_limits
  mount_volume "$name" "$pod_uid" && expect_success
  expect_count 0
  mkdir "$pod/container" "$other/container"
  expect_limits "$pod/container"
  # While the one is held back, the other is many times as fast.
  (echo "$BASHPID" >"$pod/container/cgroup.procs" &&
    exec dd if=/dev/zero "of=$folder/file" bs=1M count=16 oflag=direct conv=notrunc status=none) &
  rate_in "$other/container" 1 if=/dev/zero "of=$others" bs=1M count=100 oflag=direct
  ((rate > 4 * write_bandwidth)) || fail "the neighbour writes $rate bytes a second"
  kill -0 $! || fail "the limited pod was done before its neighbour"
  wait $!
}

@test "v2: the systemd driver's pod is found, its uid in underscores" {
  enter_v2
  local slice=$cgroups/kubepods.slice/kubepods-burstable.slice
  slice+=/kubepods-burstable-pod${pod_uid//-/_}.slice
  mkdir -p "$slice"
  more_options=("${all_limits[@]}")
  volume_name 1 && mount_volume "$name" "$pod_uid" && expect_success
  [[ $(<"$slice/io.max") == *"rbps=$read_bandwidth wbps=$write_bandwidth riops=$read_iops wiops=$write_iops"* ]]
}

@test "v1: a container made after the mount has the four limits from the next refresh on" {
  enter_v1
  local pod=$cgroups/kubepods/burstable/pod$pod_uid
  mkdir -p "$pod"
  make_volume_with_file 1
  have_limits
  mount_volume "$name" "$pod_uid" && expect_success
  expect_count 0
  mkdir "$pod/container"
  "${plugin%/*}/engine-call" refresh-io-limits
  expect_limits "$pod/container"
  # The pod's own was limited by the mount.
  rate_in "$pod" 4096 if=/dev/zero "of=$folder/file" bs=4k count=200 oflag=direct conv=notrunc
  expect_rate "$write_iops"
}

@test "without cgroups the volume is mounted, which is warned of and counted" {
  more_options=("${all_limits[@]}")
  volume_name 1 && mount_volume "$name" "$pod_uid" && expect_success
  expect_mounted "$folder"
  expect_count 1
}

@test "without cgroups a class that requires its limits is refused, and nothing is left" {
  more_options=("${all_limits[@]}" ioLimits=required)
  volume_name 1 && mount_volume "$name" "$pod_uid"
  expect_failure "ioLimits: required"
  expect_unmounted "$folder"
  expect_count 0
  expect_unmade
}

@test "a kernel that has the controller elsewhere is said to be so" {
  enter_v1
  mkdir "$cgroups/kubepods" # keeps the controller in v1
  mkdir -p /run/unified && mount -t cgroup2 cgroup /run/unified
  umount "$cgroups" # its hierarchy lives on, unseen
  mkdir -p "/run/unified/kubepods/pod$pod_uid"
  more_options=("${all_limits[@]}" ioLimits=required)
  volume_name 1 && mount_volume "$name" "$pod_uid"
  expect_failure "does not offer the controller io"
  expect_unmounted "$folder"
  rmdir "/run/unified/kubepods/pod$pod_uid" /run/unified/kubepods
  umount /run/unified
  enter_v1 # for the teardown: the same hierarchy again
}
