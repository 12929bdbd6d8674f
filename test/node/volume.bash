# shellcheck shell=bash disable=SC2034 # what is set here is for the tests
# What the node tier's tests share: a fresh plugin configuration and how kubelet calls. Starting
# programs is what costs most in the guest, so bash does itself what it can.

: "${group:?the volume group, set by setup_file}"
readonly kubelet=/var/lib/kubelet
readonly plugin=${FLEXLOCAL:?the plugin to test}
readonly cluster_id=6f2d3c5e-1111-4222-8333-944455556666
# The object of the API server's by which each copy is ordered, in its first generation.
readonly order='{"uid":"7a3e4d6f-2222-4333-8444-a55566667777","generation":1,"term":1,"claim":"data"}'

# volume_name NUMBER: a volume of our shape, different for each number.
volume_name() { printf -v name 'pvc-00000000-0000-4000-8000-%012d' "$1"; }

# configure GROUP [LINE...]: node.conf with the pool "default" on GROUP, and more lines.
configure() {
  printf '%s\n' "[pool.default]" "volume-group = $1" "${@:2}" >/etc/flexlocal/node.conf
}

# folder_for NAME [POD]: makes the folder that kubelet would, and sets `folder`.
folder_for() {
  folder=$kubelet/pods/${2:-pod-1}/volumes/flexlocal.io~flexlocal/$1
  mkdir -p "$folder"
}

# What the next volume is, beside name and size: a test may change it.
backend=lvm fs_type=xfs access_mode=ReadWriteOnce
# More of what was ordered: (onDelete=zero readIOPS=100 mountOptions=noatime,noexec)
more_options=()
# The id of its copy; empty: one that is made of the name.
copy=''

# options_for NAME [MIB] [NAMESPACE] [READWRITE]: sets `options`, the JSON as kubelet writes it for a
# pod of that namespace, and `record`, the node daemon's promise to the namespace shop, which it
# makes when there is no record yet.
options_for() {
  local digits=${1//-/}
  local id=${copy:-${digits: -16}}
  record_for "$1" $((${2:-320} * 1024 * 1024)) "$id"
  promise "$1"
  printf -v options '{"flexlocal.io/copy":"%s","kubernetes.io/fsType":"%s","kubernetes.io/pod.name":"web-0","kubernetes.io/pod.namespace":"%s","kubernetes.io/pod.uid":"%s","kubernetes.io/pvOrVolumeName":"%s","kubernetes.io/readwrite":"%s","kubernetes.io/serviceAccount.name":"default"}' \
    "$id" "$fs_type" "${3:-shop}" "${pod_uid:-1}" "$1" "${4:-rw}"
}

# record_for NAME BYTES COPY: sets `record`.
record_for() {
  local line value on_delete=discard more=''
  for line in "${more_options[@]}"; do
    value=${line#*=}
    case $line in
    onDelete=*) on_delete=$value ;;
    mountOptions=*) more+=",\"mountOptions\":[\"${value//,/\",\"}\"]" ;;
    *) more+=",\"${line%%=*}\":\"$value\"" ;;
    esac
  done
  printf -v record '{"version":2,"name":"%s","state":"promised","attempt":"","deviceUUID":"","volumeGroup":"","copy":"%s","clusterID":"%s","claimNamespace":"shop","pool":"default","backend":"%s","fsType":"%s","size":"%s","onDelete":"%s","accessMode":"%s"%s,"claimUID":"%s","order":%s}' \
    "$1" "$3" "$cluster_id" "$backend" "$fs_type" "$2" "$on_delete" "$access_mode" "$more" "${1#pvc-}" "$order"
}

readonly records=/var/lib/flexlocal/volumes

# promise NAME: writes `record`, as the node daemon does by an order, when there is none yet: what
# `engine-call promise` would write.
promise() {
  [ ! -e "$records/$1" ] || return 0
  mkdir -p "$records"
  (umask 077 && printf '%s\n' "$record" >"$records/$1")
}

# promise_again NAME: as on a host whose records are of before the volume, from a backup say.
promise_again() {
  rm -f "$records/$1"
  promise "$1"
}

# restore_record: as the node daemon does where the records are lost: made anew from what is on the
# disk, and brought to the order.
restore_record() {
  engine_call settle && expect_success
  engine_call follow "$record" && expect_success
}

# expect_taken_up: the host loses all records. The volume is mounted with its data, the file `precious`, once
# the daemon has made its record anew and brought it to its order.
expect_taken_up() {
  rm -r "$records"
  call mount "$folder" "$options"
  expect_failure "has not promised it here"
  engine_call settle && expect_success
  [[ $(<"$records/$name") != *claimUID* && $(<"$records/$name") != *order* ]] ||
    fail "it names a claim, or an order: $(<"$records/$name")"
  call mount "$folder" "$options"
  expect_failure "the volume's record names no claim"
  expect_unmounted "$folder"
  engine_call follow "$record" && expect_success
  [[ $(<"$records/$name") == *'"accessMode":"ReadWriteOncePod"'*"\"claimUID\":\"${name#pvc-}\""*"\"order\":$order"* ]] ||
    fail "it is not the claim's: $(<"$records/$name")"
  call mount "$folder" "$options" && expect_success
  [ "$(<"$folder/file")" = precious ] || fail "the data is another: $(<"$folder/file")"
}

# expect_only_promises: no volume is recorded as made, or begun.
expect_only_promises() {
  local file
  for file in "$records"/*; do
    [ -e "$file" ] || continue
    [[ $(<"$file") == *'"state":"promised"'* ]] ||
      fail "$file says more than a promise: $(<"$file")"
  done
}

# expect_unmade: no volume is made, or begun.
expect_unmade() {
  [ -z "$(lvs --noheadings "$group")" ] || fail "there is a logical volume: $(lvs "$group")"
  expect_only_promises
}

# mount_volume NAME [POD] [MIB]: calls the plugin as kubelet does, stdout and stderr together.
# Sets `status`, `answer`.
mount_volume() {
  folder_for "$1" "${2:-pod-1}"
  options_for "$1" "${3:-320}"
  call mount "$folder" "$options"
}

call() {
  status=0
  answer=$("$plugin" "$@" 2>&1) || status=$?
}

# engine_call OPERATION...: what only the daemon does (see engine_call.cc); sets the same.
engine_call() {
  status=0
  answer=$("${plugin%/*}/engine-call" "$@" 2>&1) || status=$?
}

expect_success() {
  if [ "$status" != 0 ] || [[ $answer != *'"status":"Success"'* ]]; then fail "no success: $answer"; fi
}

# expect_failure TEXT: the answer, after what was logged, is a Failure that says TEXT.
expect_failure() {
  if [ "$status" != 1 ] || [[ ${answer##*$'\n'} != '{"status":"Failure",'*"$1"* ]]; then
    fail "no failure that says '$1': $answer"
  fi
}

fail() {
  echo "$1" >&2
  return 1
}

# By the kernel's own table. Two functions, since bats does not notice a failing `! command`.
expect_mounted() { [[ $(</proc/self/mountinfo) == *" $1 "* ]] || fail "nothing is mounted at $1"; }
expect_unmounted() { [[ $(</proc/self/mountinfo) != *" $1 "* ]] || fail "something is mounted at $1"; }

# device_of NAME: sets `device`.
device_of() { device=/dev/mapper/$group-${1//-/--}; }

# The tags and uuid of a volume's LV, or nothing.
lv_of() { lvs --noheadings -o "${2:-lv_tags}" --select "lv_name=$1" "$group"; }

# Puts a program between plugin and tool: SCRIPT is run with the tool's path in $tool.
wrap_tool() {
  local name=$1 script=$2 path
  path=$(type -P "$name")
  printf '#!/bin/bash\ntool=%s\n%s\n' "$path" "$script" >"/run/wrapped-$name"
  chmod +x "/run/wrapped-$name"
}

# Takes away what calls have mounted for pods.
unmount_pods() {
  local line mounts
  mapfile -t mounts </proc/self/mountinfo
  for line in "${mounts[@]}"; do
    # shellcheck disable=SC2086 # the line's fields
    set -- $line
    case $5 in "$kubelet"/pods/*) umount "$5" ;; esac
  done
}

# Leaves the group as if nothing had been: called after each test.
forget_volumes() {
  unmount_pods
  lvremove -qq -f "$group" >/dev/null 2>&1 || lvremove -f "$group"
  rm -rf "$kubelet/pods" "$records" "${records%/*}/pools"
}
