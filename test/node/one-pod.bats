# ReadWriteOncePod on a real kernel: of two pods one has the volume, whatever kubelet asks.

setup_file() {
  export group=single shared=/srv/shared
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 2G >/dev/null
  truncate -s 512M /run/shared.img
  mkfs.xfs -q /run/shared.img
  mkdir -p "$shared"
  mount -o loop,prjquota /run/shared.img "$shared"
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  . "$BATS_TEST_DIRNAME/../lab/eventually.bash"
  configure "$group" "quota-path = $shared"
  access_mode=ReadWriteOncePod
  work=$BATS_TEST_TMPDIR # for eventually
  children=()
  mib=320
  volume_name 1
}

teardown() {
  [ "${#children[@]}" = 0 ] || kill -KILL "${children[@]}"
  leave_cgroups
  unmount_pods
  rm -rf "$shared"/.flexlocal/{volumes,new,trash}/* /run/flexlocal/pod-names
  forget_volumes
}

readonly first=0b1c2d3e-0000-4000-8000-0000000000f1 second=0b1c2d3e-0000-4000-8000-0000000000f2
readonly cgroups=/sys/fs/cgroup

show_state() { grep -e "$name" -e cgroup /proc/self/mountinfo; }

# asks POD [READWRITE]: kubelet's call for that pod.
asks() {
  folder_for "$name" "$1"
  pod_uid=$1 options_for "$name" "$mib" shop "${2:-rw}"
  call mount "$folder" "$options"
}

# leaves POD: kubelet's unmount.
leaves() {
  folder_for "$name" "$1"
  call unmount "$folder"
  expect_success
}

expect_refused_for() {
  expect_failure "volume uses the ReadWriteOncePod access mode and is already in use by another pod: $1 has it at "
  expect_unmounted "$folder"
}

# mounts_of_pods: how many there are of the volume.
mounts_of_pods() { grep -c " $kubelet/pods/[^ ]*/$name " /proc/self/mountinfo || true; }

enter_cgroups() { mountpoint -q "$cgroups" || mount -t cgroup2 cgroup "$cgroups"; }
leave_cgroups() {
  mountpoint -q "$cgroups" || return 0
  eventually 20 find "$cgroups" -mindepth 1 -depth -type d -delete
  umount "$cgroups"
}

# container_of POD: a process in the pod's cgroup that has the mounted folder in a mount namespace
# of its own, as a container has it; in `container`.
container_of() {
  enter_cgroups
  local cgroup=$cgroups/kubepods/pod$1/c
  mkdir -p "$cgroup" /mnt/data
  rm -f /run/entered
  # shellcheck disable=SC2016 # for the shell inside
  unshare --mount --propagation private bash -c '
    echo $$ >"$1/cgroup.procs"
    mount --bind "$2" /mnt/data
    umount "$2"
    cd /
    : >/run/entered
    exec sleep infinity' container "$cgroup" "$folder" 3>&- &
  container=$!
  children+=("$container")
  eventually 20 test -e /run/entered
}

ends() {
  kill -KILL "$1"
  wait "$1" 2>/dev/null || true
  children=()
}

second_waits_for_first() {
  asks "$first" && expect_success
  echo precious >"$folder/file"
  asks "$second"
  expect_refused_for "shop/web-0 (uid $first)"
  asks "$second" ro
  expect_refused_for "shop/web-0 (uid $first)"
  # kubelet's restart, and a container's: the same call for the same pod.
  asks "$first" && expect_success
  [ "$(mounts_of_pods)" = 1 ]
  leaves "$first"
  asks "$first" && expect_success
  leaves "$first"
  asks "$second" && expect_success
  [ "$(<"$folder/file")" = precious ]
  asks "$first"
  expect_refused_for "shop/web-0 (uid $second)"
}

@test "a second pod is refused while the first has the volume, and then gets it with its data" {
  second_waits_for_first
}

@test "the same with a quota folder, whose neighbour on the file system does not matter" {
  backend=quota mib=32
  volume_name 2
  asks "$second" && expect_success
  volume_name 1
  second_waits_for_first
}

@test "ReadWriteOnce lets two pods of the node mount" {
  access_mode=ReadWriteOnce
  asks "$first" && expect_success
  asks "$second" && expect_success
  [ "$(mounts_of_pods)" = 2 ]
}

@test "a claim that the volume is bound to later has its own mode from the next mount on" {
  access_mode=ReadWriteOnce
  asks "$first" && expect_success
  access_mode=ReadWriteOncePod
  options_for "$name" "$mib"
  # The volume is named after the claim that it was made for.
  claim=0b1c2d3e-0000-4000-8000-0000000000c2
  bound="\"claimUID\":\"$claim\""
  engine_call follow "${record/\"claimUID\":\"${name#pvc-}\"/$bound}" && expect_success
  [[ $(<"$records/$name") == *'"accessMode":"ReadWriteOncePod"'*"\"claimUID\":\"$claim\""* ]]
  asks "$second"
  expect_failure 'is already in use by another pod'
  leaves "$first"
  asks "$second" && expect_success
}

@test "of two pods in parallel exactly one gets the volume, and the other when that one has left" {
  for round in 1 2 3 4 5 6 7 8; do
    folder_for "$name" "$second" && folder_for "$name" "$first"
    options_for "$name" "$mib"
    pids=()
    for pod in "$first" "$second"; do
      folder_for "$name" "$pod"
      "$plugin" mount "$folder" "$options" >"/run/answer-$pod" 2>&1 &
      pids+=($!)
    done
    wait "${pids[0]}" && loser=$second winner=$first || loser=$first winner=$second
    wait "${pids[1]}" || true
    [[ $(<"/run/answer-$winner") == *Success* ]]
    [[ $(<"/run/answer-$loser") == *"in use by another pod: shop/web-0 (uid $winner) has it"* ]]
    [ "$(mounts_of_pods)" = 1 ]
    leaves "$winner"
    asks "$loser" && expect_success
    leaves "$loser"
    # Every other round begins with a volume that has to be made.
    [ $((round % 2)) = 0 ] || forget_volumes
  done
}

@test "the first pod's call killed anywhere: the second gets the volume exactly where the first has not" {
  asks "$first" && expect_success
  leaves "$first"
  local had=0 free=0 n killed
  for ((n = 1; n < 1000; n += 2)); do
    folder_for "$name" "$first"
    options_for "$name" "$mib"
    killed=0
    "${plugin%/*}/tracer" --kill-at "$n" --phase exit --report /run/report -- \
      "$plugin" mount "$folder" "$options" >/dev/null 2>&1 || killed=$?
    if [ "$(mounts_of_pods)" = 1 ]; then
      had=$((had + 1))
      asks "$second"
      expect_refused_for "shop/web-0 (uid $first)"
    else
      free=$((free + 1))
      asks "$second" && expect_success
      leaves "$second"
    fi
    asks "$first" && expect_success
    [ "$(mounts_of_pods)" = 1 ]
    leaves "$first"
    [ "$killed" = 137 ] || break
  done
  echo "# killed with the mount there $had times, without it $free times" >&3
  [ "$had" -gt 0 ]
  [ "$free" -gt 0 ]
}

@test "after a reboot the next pod gets the volume, whoever had it before" {
  asks "$first" && expect_success
  # What a power cut leaves: the records on the disk, and none of the mounts.
  umount "$folder"
  vgchange -qq -an "$group"
  asks "$second" && expect_success
  umount "$folder"
  rm -rf /run/flexlocal
  asks "$first" && expect_success
}

@test "a subPath that is left in the first pod's folder keeps the volume" {
  asks "$first" && expect_success
  mkdir "$folder/sub"
  subpath=$kubelet/pods/$first/volume-subpaths/$name/c/0
  mkdir -p "$subpath"
  mount --bind "$folder/sub" "$subpath"
  leaves "$first"
  asks "$second"
  expect_refused_for "shop/web-0 (uid $first)"
  umount "$subpath"
  asks "$second" && expect_success
}

@test "kubelet's unmount under a running container keeps the volume until that has ended" {
  asks "$first" && expect_success
  container_of "$first"
  leaves "$first"
  asks "$second"
  expect_refused_for "shop/web-0 (uid $first)"
  [[ $answer == *"at /mnt/data of process $container;"* ]] || fail "$answer"
  asks "$first" && expect_success
  leaves "$first"
  ends "$container"
  asks "$second" && expect_success
}

@test "a lazy unmount under a running container keeps the volume as well, also a quota folder" {
  backend=quota mib=32
  asks "$first" && expect_success
  container_of "$first"
  umount --lazy "$folder"
  asks "$second"
  expect_refused_for "shop/web-0 (uid $first)"
  ends "$container"
  asks "$second" && expect_success
}

@test "a process of no pod that has an old copy of the mounts keeps nobody away" {
  asks "$first" && expect_success
  rm -f /run/entered
  unshare --mount --propagation private bash -c ': >/run/entered; exec sleep infinity' 3>&- &
  children+=($!)
  eventually 20 test -e /run/entered
  leaves "$first"
  asks "$second" && expect_success
}
