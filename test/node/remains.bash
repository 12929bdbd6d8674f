# shellcheck shell=bash disable=SC2034,SC2154 # shared with volume.bash and the tests
# What must be there after calls that were killed and repeated, and that nothing else is. Needs
# volume.bash; read_baseline first, then declare_volume for each volume, then expect_volumes.

# The test's own lvs inherits bats's descriptors (man lvm).
export LVM_SUPPRESS_FD_WARNINGS=1
readonly locks=/run/flexlocal
# What a volume was asked to be, by its name.
declare -gA backend_of fs_type_of mebibytes_of
# What its logical volume has grown to.
declare -gA lv_mebibytes_of
# Logical volumes and devices that are the node's own: of its thin pool.
own_lvs=() own_devices=() pool_lines=()
# device-mapper's devices for one volume: a mirror has an image and its metadata on each disk, too.
devices_each=1

# declare_volume NAME BACKEND FSTYPE MIB
declare_volume() {
  backend_of[$1]=$2 fs_type_of[$1]=$3 mebibytes_of[$1]=$4 lv_mebibytes_of[$1]=$4
}

# declared_growth NAME MIB
declared_growth() { lv_mebibytes_of[$1]=$2; }

# make_thin_pool MIB: of the group's, for volumes of backend thin.
make_thin_pool() {
  lvcreate -qq -y --type thin-pool -L "$1M" -n tp "$group"
  own_lvs+=(tp) pool_lines+=('thin-pool = tp')
  own_devices+=("$group-tp-tpool" "$group-tp_tdata" "$group-tp_tmeta")
  configure "$group" "${pool_lines[@]}"
}

# declared_options NAME [READWRITE]: options_for the volume as declared.
declared_options() {
  backend=${backend_of[$1]} fs_type=${fs_type_of[$1]}
  options_for "$1" "${mebibytes_of[$1]}" shop "${2:-rw}"
}

# make_shared MIB: the shared file system of the pool, by a first volume that is gone again, for
# volumes of backend quota. Before read_baseline.
make_shared() {
  configure_shared "$1"
  volume_name 99
  declare_volume "$name" quota xfs 32
  folder_for "$name"
  declared_options "$name"
  call mount "$folder" "$options" && expect_success
  call unmount "$folder" && expect_success
  engine_call remove "$record" && expect_success
}

configure_shared() {
  own_lvs+=(flexlocal-default) pool_lines+=("quota-size = $1Mi")
  own_devices+=("$group-flexlocal--default")
  configure "$group" "${pool_lines[@]}"
}

readonly shared=/run/flexlocal-pools/default

forget_shared() {
  local mounts
  slurp /proc/self/mountinfo
  [[ $content != *" $shared "* ]] || umount "$shared"
  rm -rf "${shared%/*}" "${records%/*}/pools"
}

# slurp FILE: sets `content`, without the fork of $(<FILE): that is what costs here.
slurp() { IFS= read -r -d '' content <"$1" || true; }

read_baseline() {
  local mounts loops
  mapfile -t mounts </proc/self/mountinfo
  loops=(/sys/block/loop*/loop/backing_file)
  baseline_mounts=${#mounts[@]} baseline_loops=${#loops[@]}
}

# Volumes that are there beside those which a test is about.
others=()

# Exactly these volumes and the others, ready and as declared, and no trace of any call.
expect_volumes() {
  set -- "$@" "${others[@]}"
  await_tools
  expect_records "$@"
  expect_no_other_files
  expect_logical_volumes "$@"
  expect_devices "$@"
  [[ " ${own_lvs[*]} " != *" flexlocal-default "* ]] || expect_quota_folders "$@"
}

# Tools that went on alone have ended, and nobody holds a lock.
await_tools() {
  local tries running content
  for ((tries = 0; tries < 600; tries++)); do
    find_tools
    [ -n "$running" ] || break
    read -r -t 0.05 <>/run/guest || true
  done
  [ -z "$running" ] || fail "still running: $running"
  slurp /proc/locks
  [[ $content != *FLOCK* ]] || fail "a lock is held: $content"
}

# Sets `running` to what runs beside the test and is no thread of the kernel's or zombie: those
# have no command line.
find_tools() {
  local file program
  running=''
  for file in /proc/[0-9]*/cmdline; do
    { IFS= read -r -d '' program <"$file"; } 2>/dev/null || continue
    case ${program##*/} in
    lv* | vg* | pv* | dm* | mk* | mount | umount | xfs* | *2fs* | e2* | blk* | thin_* | flexlocal | engine-call)
      running+=" $program"
      ;;
    esac
  done
}

# A record for each volume, ready, and no file beside them.
expect_records() {
  local files name content
  files=("$records"/* "$records"/.[!.]*)
  for name in "$@"; do
    slurp "$records/$name"
    [[ $content == *'"state":"ready"'* ]] || fail "the record of $name is not ready: $content"
  done
  present_only
  [ "${#files[@]}" = $# ] || fail "records: ${files[*]}"
}

# Keeps in `files` what is there: a pattern without a match stays as it is.
present_only() {
  local file present=()
  for file in "${files[@]}"; do
    case $file in
    "$records" | "${records%/*}/pools" | "${records%/*}/groups") ;;
    *) [ ! -e "$file" ] || present+=("$file") ;;
    esac
  done
  files=("${present[@]}")
}

# Locks are only the files that stay, no loop device is new, and folders are kubelet's to make.
expect_no_other_files() {
  local files file loops
  files=(/var/lib/flexlocal/* /var/lib/flexlocal/.[!.]* "$locks"/* "$locks"/.[!.]*)
  present_only
  for file in "${files[@]}"; do
    case $file in
    "$locks"/volume-* | "$locks"/group-* | "$locks"/pool-* | "$locks"/disks-*) ;;
    *) fail "left behind: $file" ;;
    esac
  done
  loops=(/sys/block/loop*/loop/backing_file)
  [ "${#loops[@]}" = "$baseline_loops" ] || fail "loop devices: ${loops[*]}"
  files=("$kubelet"/pods/*/volumes/*/*)
  present_only
  for file in "${files[@]}"; do
    [ -n "${backend_of[${file##*/}]:-}" ] || fail "a folder was made: $file"
  done
}

# Sets `on_lvm` to those of the volumes that are logical volumes.
select_on_lvm() {
  local name
  on_lvm=()
  for name in "$@"; do
    [ "${backend_of[$name]}" = quota ] || on_lvm+=("$name")
  done
}

# expect_parts NAME...: hidden logical volumes are parts of these, or of the node's own, or the spare that LVM
# keeps for a thin pool's metadata.
expect_parts() {
  local part lv whole
  while read -r part; do
    [[ $part == \[*\] ]] || continue
    part=${part#[} part=${part%]} whole=no
    for lv in "$@" "${own_lvs[@]}"; do [[ $part != "$lv"_* ]] || whole=yes; done
    [ "$whole" = yes ] || [[ $part == lvol*_pmspare ]] || fail "a hidden logical volume is left: $part"
  done < <(lvs -a --noheadings -o lv_name "$group")
}

# One logical volume for each volume, of its size and with its owner's tags, and no other.
expect_logical_volumes() {
  local lines line lv size tags on_lvm own
  select_on_lvm "$@"
  mapfile -t lines < <(lvs --noheadings --separator ' ' --units m --nosuffix \
    -o lv_name,lv_size,lv_tags "$group")
  [ "${#lines[@]}" = $((${#on_lvm[@]} + ${#own_lvs[@]})) ] || fail "logical volumes: ${lines[*]}"
  expect_parts "${on_lvm[@]}"
  own=" ${own_lvs[*]} "
  for line in "${lines[@]}"; do
    read -r lv size tags <<<"$line"
    [[ $own != *" $lv "* ]] || continue
    [[ " ${on_lvm[*]} " == *" $lv "* ]] || fail "a logical volume too many: $line"
    [ "$size" = "${lv_mebibytes_of[$lv]}.00" ] || fail "not ${lv_mebibytes_of[$lv]} MiB: $line"
    expect_tags "$lv" "$tags"
  done
}

# A folder for each volume of backend quota with one limit, of its size, and nothing half made, in
# the trash, or limited without a folder.
expect_quota_folders() {
  local name files mebibytes lines id used soft hard rest limits='' wanted='' folders=''
  for name in "$@"; do
    [ "${backend_of[$name]}" = quota ] || continue
    mebibytes=${lv_mebibytes_of[$name]}
    wanted+=" $((mebibytes * 1024))" folders+=" $shared/.flexlocal/volumes/$name"
  done
  files=("$shared"/.flexlocal/{volumes,new,trash}/* "$shared"/.flexlocal/{volumes,new,trash}/.[!.]*)
  present_only
  [ "${files[*]}" = "${folders# }" ] || fail "quota folders: ${files[*]}, expected:$folders"
  mapfile -t lines < <(xfs_quota -x -c 'report -p -b -n -N' "$shared")
  for id in "${lines[@]}"; do
    read -r id used soft hard rest <<<"$id"
    [ "${hard:-0}" = 0 ] || limits+=" $hard"
  done
  # Ids are given in the order of making, which is not the names'.
  # shellcheck disable=SC2086 # one word a line
  [ "$(printf '%s\n' $limits | sort)" = "$(printf '%s\n' $wanted | sort)" ] ||
    fail "limits:$limits, expected:$wanted"
}

# expect_tags NAME TAGS
expect_tags() {
  local tag digits=${1//-/}
  for tag in owner=flexlocal "copy=${digits: -16}" "cluster=$cluster_id" "claim-uid=${1#pvc-}" claim-namespace=shop; do
    [[ ,$2, == *",flexlocal.io/$tag,"* ]] || fail "tag $tag is missing at $1: $2"
  done
  [[ $2 != *state=wiping* ]] || fail "$1 is being wiped: $2"
}

# device-mapper's own view: a device for each volume on LVM, no other, none suspended, and no table
# of a volume's that was loaded and not taken up.
expect_devices() {
  local lines line name state tables names='' count=0 on_lvm content
  select_on_lvm "$@"
  mapfile -t lines < <(dmsetup info -c --noheadings --separator ' ' -o name,suspended,tables_loaded)
  for line in "${lines[@]}"; do
    read -r name state tables <<<"$line"
    [ "$line" != "No devices found" ] || continue
    [ "$state" = Active ] || fail "$name is left suspended"
    # LVM takes a new pool's own device down for its first volume, and a kill there leaves it so.
    [ "$name" != "$group-tp" ] || continue
    names+=" $name " count=$((count + 1))
    [[ $tables = Live || " ${own_devices[*]} " == *" $name "* ]] || fail "$name has tables: $tables"
  done
  for name in "${on_lvm[@]}"; do expect_device "$name"; done
  [ "$count" = $((${#on_lvm[@]} * devices_each + ${#own_devices[@]})) ] || fail "devices:$names"
}

expect_device() {
  local sectors
  device_of "$1"
  [[ $names == *" ${device##*/} "* ]] || fail "no device of $1:$names"
  # Of 512 bytes.
  sectors=$(blockdev --getsz "$device")
  [ "$sectors" = $((lv_mebibytes_of[$1] * 2048)) ] || fail "the device of $1 has $sectors sectors"
}

# Invariant 3 for killed calls: what is mounted is so with its flags, at any instant. ACCESS: ro
# when nothing may be writable.
expect_safe_mounts() {
  local line mounts
  mapfile -t mounts </proc/self/mountinfo
  for line in "${mounts[@]}"; do
    # shellcheck disable=SC2086 # the line's fields
    set -- "${1:-}" $line
    case $6 in
    "$kubelet"/pods/*)
      [[ ,$7, == *,nosuid,* && ,$7, == *,nodev,* ]] || fail "mounted without its flags: $line"
      [[ $1 != ro || ,$7, == *,ro,* ]] || fail "mounted writable: $line"
      ;;
    esac
  done
}

# All mounts count, also those that are not below kubelet's folder.
expect_mount_count() {
  local mounts
  mapfile -t mounts </proc/self/mountinfo
  [ "${#mounts[@]}" = $((baseline_mounts + $1)) ] ||
    fail "$((${#mounts[@]} - baseline_mounts)) mounts instead of $1: ${mounts[*]:baseline_mounts}"
}

is_mounted() {
  slurp /proc/self/mountinfo
  [[ $content == *" $1 "* ]]
}

# write_data NAME, expect_data NAME: the volume's own words, at `folder`.
write_data() { echo "precious $1" >"$folder/file"; }
expect_data() {
  slurp "$folder/file"
  [ "$content" = "precious $1"$'\n' ] || fail "the data of $1 is not what was written: '$content'"
}
