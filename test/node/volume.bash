# shellcheck shell=bash disable=SC2034 # what is set here is for the tests
# What the node tier's tests share: a fresh plugin configuration and how kubelet calls. Starting
# programs is what costs most in the guest, so bash does itself what it can.

: "${group:?the volume group, set by setup_file}"
readonly kubelet=/var/lib/kubelet
readonly plugin=${FLEXLOCAL:?the plugin to test}
readonly cluster_id=6f2d3c5e-1111-4222-8333-944455556666

# volume_name NUMBER: a volume of our shape, different for each number.
volume_name() { printf -v name 'pvc-00000000-0000-4000-8000-%012d' "$1"; }

# Writes the grant key, and node.conf with the pool "default" on GROUP, and more lines.
configure() {
  (umask 077 && echo "$grant_key" >/etc/flexlocal/grant.key)
  printf '%s\n' "[pool.default]" "volume-group = $1" "${@:2}" >/etc/flexlocal/node.conf
}

# folder_for NAME [POD]: makes the folder that kubelet would, and sets `folder`.
folder_for() {
  folder=$kubelet/pods/${2:-pod-1}/volumes/flexlocal.io~flexlocal/$1
  mkdir -p "$folder"
}

# What the next volume is, beside name, size and namespace: a test may change it.
backend=lvm fs_type=xfs
# More of the driver's options, without their prefix: (onDelete=zero readIOPS=100)
more_options=()
# Any 32 bytes; test/node/volume.bash is the provisioner here.
readonly grant_key=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff
declare -gA grants

# options_for NAME [MIB] [NAMESPACE] [READWRITE]: the JSON as kubelet writes it, granted to the
# namespace shop; in `options`.
options_for() {
  local size=$((${2:-320} * 1024 * 1024)) line lines body=''
  lines=("backend=$backend" claimNamespace=shop "clusterID=$cluster_id" pool=default "size=$size"
    onDelete=discard)
  for line in "${more_options[@]}"; do
    [ "${line%%=*}" != onDelete ] || lines=("${lines[@]/#onDelete=*/}")
    lines+=("$line")
  done
  grant_for "$1" "${lines[@]}"
  promise "$1" "$size"
  for line in "${lines[@]}" "grant=$grant"; do
    [ -z "$line" ] || body+="\"flexlocal.io/${line%%=*}\":\"${line#*=}\","
  done
  printf -v options '{%s"kubernetes.io/fsType":"%s","kubernetes.io/pod.name":"web-0","kubernetes.io/pod.namespace":"%s","kubernetes.io/pod.uid":"%s","kubernetes.io/pvOrVolumeName":"%s","kubernetes.io/readwrite":"%s","kubernetes.io/serviceAccount.name":"default"}' \
    "$body" "$fs_type" "${3:-shop}" "${pod_uid:-1}" "$1" "${4:-rw}"
}

readonly records=/var/lib/flexlocal/volumes

# What the node daemon records with the promise; empty: as one did that knew no access modes.
access_mode=''

# promise NAME MIB: the record that the node daemon writes before it offers the volume, when there
# is none yet: test/node/volume.bash is the node daemon here, too.
promise() {
  [ ! -e "$records/$1" ] || return 0
  local access=''
  [ -z "$access_mode" ] ||
    printf -v access ',"accessMode":"%s","accessClaim":"%s"' "$access_mode" "${1#pvc-}"
  mkdir -p "$records"
  (umask 077 && printf '{"version":1,"name":"%s","state":"promised","clusterID":"%s","claimNamespace":"shop","fsType":"%s","size":"%s","backend":"%s"%s}\n' \
    "$1" "$cluster_id" "$fs_type" "$2" "$backend" "$access" >"$records/$1")
}

# expect_only_promises: no volume is recorded as made, or begun.
expect_only_promises() {
  local record
  for record in "$records"/*; do
    [ -e "$record" ] || continue
    [[ $(<"$record") == *'"state":"promised"'* ]] ||
      fail "$record says more than a promise: $(<"$record")"
  done
}

# expect_unmade: no volume is made, or begun.
expect_unmade() {
  [ -z "$(lvs --noheadings "$group")" ] || fail "there is a logical volume: $(lvs "$group")"
  expect_only_promises
}

# grant_for NAME OPTION=VALUE...: sets `grant`, as flexvolume/engine/contract/grant.h describes it.
grant_for() {
  local IFS=$'\n' message id mac name=$1
  shift
  message="flexlocal grant 1
name=$name
fsType=$fs_type
$(printf '%s\n' "$@" | sed '/^$/d; s|^|flexlocal.io/|' | LC_ALL=C sort)"
  if [ -z "${grants[$message]:-}" ]; then
    id=$(hmac 'flexlocal key id')
    mac=$(hmac "$message")
    grants[$message]=1-${id:0:8}-$mac
  fi
  grant=${grants[$message]}
}

# hmac TEXT: its HMAC-SHA256 by grant_key, in hexadecimal.
hmac() {
  local answer
  answer=$(printf %s "$1" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$grant_key")
  echo "${answer##* }"
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

# expect_failure TEXT: the answer is a Failure that says TEXT.
expect_failure() {
  if [ "$status" != 1 ] || [[ $answer != '{"status":"Failure",'*"$1"* ]]; then
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
