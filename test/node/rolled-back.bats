# A record and tags that are not of the same time, on real LVM and XFS: the answers of
# ../rolled_back.inc where there is data to lose, or where it seems as if there were none.

setup_file() {
  export group=rolled
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 1G >/dev/null
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  configure "$group"
  volume_name 1 && folder_for "$name"
  device_of "$name"
  export LVM_SUPPRESS_FD_WARNINGS=1 # the test's own lvs inherits bats's descriptors (man lvm)
}

teardown() {
  forget_volumes
}

# be_ready: the volume, with a file in it and mounted nowhere. What it was is kept in /run, since most
# answers change nothing of it.
be_ready() {
  [ -z "$(lv_of "$name")" ] || lvremove -qq -y "$group/$name"
  rm -f "$records/$name"
  options_for "$name"
  call mount "$folder" "$options" && expect_success
  echo precious >"$folder/file"
  call unmount "$folder" && expect_success
  cp "$records/$name" /run/ready-record
  keep_disk
  tags=$(lv_of "$name" | xargs)
  uuid=$(lv_of "$name" lv_uuid)
}

keep_disk() { dd if="$device" of=/run/ready-disk bs=64k count=1 status=none; }

set_record() {
  cp /run/ready-record "$records/$name"
  case $1 in
  none) rm "$records/$name" ;;
  damaged) echo '{"version":2,' >"$records/$name" ;;
  promised) promise_again "$name" ;;
  *)
    sed -i "s/\"state\":\"ready\"/\"state\":\"${1%-other}\"/" "$records/$name"
    case $1 in
    *-other)
      sed -i 's/"attempt":"[0-9a-f]*"/"attempt":"00000000000000000000000000000000"/
        s/"deviceUUID":"LVM-[^"]*"/"deviceUUID":"LVM-another"/' "$records/$name"
      ;;
    esac
    [[ $1 != intent* ]] || sed -i 's/"deviceUUID":"[^"]*"/"deviceUUID":""/' "$records/$name"
    ;;
  esac
}

# tags_of KIND: what they are to be, a line each.
tags_of() {
  local tag
  [ "$1" != stranger ] || return 0
  for tag in ${tags//,/ }; do
    case $tag in
    flexlocal.io/state=*) [ "$1" = other ] || tag=flexlocal.io/state=$1 ;;
    flexlocal.io/claim-uid=*)
      [ "$1" != other ] || tag=flexlocal.io/claim-uid=99999999-9999-4999-8999-999999999999
      ;;
    esac
    echo "$tag"
  done
}

# set_tags KIND: LVM takes no tag away that it is told to add in the same command, and none twice.
set_tags() {
  local tag now wanted arguments=()
  if [ "$1" = absent ]; then
    lvremove -qq -y "$group/$name"
    return
  fi
  now=$(lv_of "$name" | xargs) wanted=$(tags_of "$1")
  for tag in ${now//,/ }; do
    [[ $'\n'$wanted$'\n' == *$'\n'"$tag"$'\n'* ]] || arguments+=(--deltag "$tag")
  done
  for tag in $wanted; do [[ ,$now, == *",$tag,"* ]] || arguments+=(--addtag "$tag"); done
  [ ${#arguments[@]} = 0 ] || lvchange -qq "${arguments[@]}" "$group/$name"
}

set_disk() {
  [ -n "$(lv_of "$name")" ] || return 0
  case $1 in
  1) head -c 64k /dev/zero ;;
  2) { head -c 126 /run/ready-disk && printf '\1' && tail -c +128 /run/ready-disk; } ;;
  3) cat /run/ready-disk ;;
  5) head -c 64k /dev/zero | tr '\0' x ;;
  esac | dd of="$device" bs=64k conv=fsync,nocreat status=none
}

# what_there_is: what a refusal must not change: tags, record, and the device, that nothing is written to. A
# promise may have become the intent of an lvcreate that failed, for which the table has the same answers.
what_there_is() {
  local node content
  lvs --noheadings -o lv_name,lv_uuid,lv_size,lv_tags "$group"
  [ ! -e "$records/$name" ] ||
    sed -E 's/"state":"(promised|intent)",("attempt".*"volumeGroup":"[^"]*",)?/"state":"promised",/' "$records/$name"
  [ -b "$device" ] || return 0
  node=$(stat -c %Hr:%Lr "$device")
  read -ra content <"/sys/dev/block/$node/stat"
  echo "sectors written: ${content[6]}, discarded: ${content[13]}"
}

# restore_if_possible: what the daemon does about a lost record. Before that, nothing is mounted.
restore_if_possible() {
  call mount "$folder" "$options"
  expect_failure "has no record on this node"
  engine_call settle
  engine_call follow "$record"
  # Of what is not taken up there is still none.
  [ "$status" = 0 ] || expect_failure "has no record on this node"
}

# find_answer: sets `given` to what a mount does, in the table's letters.
find_answer() {
  local before
  before=$(what_there_is)
  call mount "$folder" "$options"
  given=R
  if [ "$status" != 0 ]; then
    [ "$(what_there_is)" = "$before" ] || fail "refused, and yet changed: $before, now $(what_there_is)"
    return 0
  fi
  given=M
  [ "$(cat "$folder/file" 2>/dev/null)" = precious ] || given=F
  [ "$(lv_of "$name" lv_uuid)" = "$uuid" ] || given=N
  call unmount "$folder" && expect_success
  [ "$given" != M ] || keep_disk
}

# check_row RECORD TAGS ANSWERS DISKS
check_row() {
  local disk given
  for disk in $4; do
    [ "$whole" = yes ] || be_ready
    set_record "$1"
    set_tags "$2"
    set_disk "$disk"
    [ "$1" != none ] || restore_if_possible
    find_answer
    whole=yes
    [[ $2 != absent && $given != [FN] ]] || whole=no
    [ "$given" = "${3:disk-1:1}" ] || fail "record $1, tags $2, disk $disk: $given, not ${3:disk-1:1}: $answer"
    count=$((count + 1))
  done
}

# check_rows COUNT DISKS TAGS...: of the table, those with these tags, so many with all the disks.
check_rows() {
  local line wanted=$1 disks=$2 whole=no count=0
  shift 2
  while IFS= read -r line; do
    [[ $line =~ ^ROW\(\"(.*)\",\ \"(.*)\",\ \"(.*)\"\)$ ]] || continue
    [[ " $* " == *" ${BASH_REMATCH[2]} "* ]] || continue
    check_row "${BASH_REMATCH[@]:1:3}" "$disks"
  done <"$BATS_TEST_DIRNAME/../rolled_back.inc"
  [ "$count" = "$wanted" ] || fail "$count rows of the table were read, not $wanted"
  echo "# $count rows" >&3
}

@test "tags that say that it is new, with any record" {
  check_rows 40 '1 2 3 5' new
}

@test "tags that say that it is ready, with any record" {
  check_rows 30 '1 3 5' ready
}

@test "tags that say that it is being removed, or that it is nobody's or another's, with any record" {
  check_rows 30 3 wiping stranger other
}

@test "no logical volume, with any record" {
  check_rows 10 1 absent
}
