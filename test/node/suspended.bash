# shellcheck shell=bash disable=SC2034,SC2154 # shared with volume.bash and the test
# Kills lvextend where it leaves devices suspended, and looks at who waits; see suspended.bats.

readonly tracer=${plugin%/*}/tracer

# A mounted volume with data.
have_data() {
  volume_name "$1" && mount_volume "$name" && expect_success
  echo precious >"$folder/file"
  sync -f "$folder/file"
}

expect_data() { [ "$(<"$folder/file")" = precious ] || fail "the data is not what it was"; }

# fill FOLDER: to the last block; sum_of FOLDER: of what it then has.
fill() { dd if=/dev/urandom of="$1/fill" bs=1M status=none 2>/dev/null || sync -f "$1"; }
sum_of() { cat "$1"/* | md5sum; }

forget_volume() {
  unmount_pods
  lvremove -qq -y "$group/$name"
  rm -rf "${kubelet:?}/pods" "$records"
}

lv_size() { lvs --noheadings --units m --nosuffix -o lv_size "$group/$name" | xargs; }

# tables_of: "Live" for a device with one table, "Both" for one with a second.
tables_of() { dmsetup info -c --noheadings -o tables_loaded "$group-${name//-/--}"; }

# The device is what LVM's metadata say, and nothing else is loaded.
expect_committed() {
  [ "$(($(blockdev --getsize64 "/dev/mapper/$group-${name//-/--}") >> 20)).00" = "$(lv_size)" ] ||
    fail "the device is $(dmsetup table "$group-${name//-/--}"), the volume $(lv_size)M"
  [ "$(tables_of)" = Live ] || fail "tables: $(tables_of)"
}

# is_left KIND BEFORE: what a killed lvextend left, of a volume that had BEFORE:
#   preloaded    its new table loaded, nothing suspended, nothing committed
#   uncommitted  the volume suspended, and a thin one's pool with it; nothing committed
#   committed    the same, and committed
is_left() {
  local devices
  devices=$(suspended_devices)
  case $1 in
    preloaded)
      [ -z "$devices" ] && [ "$(tables_of)" = Both ] && [ "$(lv_size)" = "$2" ]
      return
      ;;
    uncommitted) [ "$(lv_size)" = "$2" ] || return ;;
    committed) [ "$(lv_size)" != "$2" ] || return ;;
  esac
  [[ $devices == *"$group-${name//-/--}"* ]] && [[ $backend = lvm || $devices == *"$group-tp-tpool"* ]]
}

# leave KIND: kills an lvextend of the volume where it leaves that. Which system call it is depends on
# LVM's version, so that several are tried; it is then in $place.
leave() {
  local known=/run/place-$backend-$1 before
  place=1
  [ ! -e "$known" ] || place=$(<"$known")
  for (( ; place < 400; place++)); do
    before=$(lv_size)
    "$tracer" --kill-at "$place" --phase exit --report /run/report -- \
      "$(type -P lvextend)" -qq --size +4M "$group/$name" >/dev/null 2>&1 3>&- || true
    if is_left "$1" "$before"; then
      echo "$place" >"$known"
      return 0
    fi
    mend_by_hand
  done
  fail "no kill of lvextend left the volume $1: nothing is tested"
}

mend_by_hand() {
  local tries
  for tries in 1 2; do lvchange -qq --refresh "$group/$name" 3>&-; done
}
