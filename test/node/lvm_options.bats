# Whatever an administrator's lvm.conf says, one switch after the other turned against its default: a
# volume is made, grown and removed all the same, or the call fails in words and the next one, without
# the switch, brings it to its end. STEPS=both: all switches, else one in ten.

setup_file() {
  export group=switches
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 1G >/dev/null
  cp /etc/lvm/lvm.conf /run/lvm.conf
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  configure "$group"
}

teardown() {
  cp /run/lvm.conf /etc/lvm/lvm.conf
  forget_volumes
}

# Of these LVM says no, or says yes and does nothing; the others must not be noticed.
readonly refusing=' global/activation global/metadata_read_only global/test devices/use_devicesfile '
# Of what a guest has none: udev, D-Bus, daemons of LVM's, the deduplication module.
readonly elsewhere='udev|dbus|lvmpolld|lvmlockd|event_activation|monitoring|vdo_|lvmetad'

# switches: "section/key=value" for each, turned.
switches() {
  local line section='' key
  while read -r line; do
    line=${line//[#$'\t' ]/}
    case $line in
    *'{') section=${line%'{'} ;;
    *=[01])
      key=$section/${line%=*}
      [[ $key =~ $elsewhere ]] || echo "$key=$((1 - ${line#*=}))"
      ;;
    esac
  done < <(lvmconfig --type default)
}

# turn SWITCH, in the section where the guest's own settings are, or in one of its own.
turn() {
  local key=${1#*/}
  grep -v "^${1%%/*} {" /run/lvm.conf >/etc/lvm/lvm.conf || true
  sed -n "s/^${1%%/*} { *\(.*\) }$/\1/p" /run/lvm.conf | tr ' ' '\n' | grep -v "^${key%=*}=" >/run/section || true
  printf '%s {\n%s\n%s\n}\n' "${1%%/*}" "$(</run/section)" "$key" >>/etc/lvm/lvm.conf
  [ "$(lvmconfig "${1%=*}" 2>/dev/null)" = "$key" ] || fail "$1 is not in force: $(lvmconfig "${1%=*}" 2>&1)"
}

# attempt CALL...: sets `failed` when it fails, in words; then once more, without the switch.
attempt() {
  "$@"
  [ "$status" != 0 ] || { expect_success && return; }
  [[ $answer == *'"status":"Failure"'*'"message":"'?* ]] || fail "$switch: $* says $answer"
  failed+=" $switch"
  echo "# $switch: $answer"
  cp /run/lvm.conf /etc/lvm/lvm.conf
  "$@"
  expect_success
}

live_with() {
  cp /run/lvm.conf /etc/lvm/lvm.conf
  turn "$switch"
  options_for "$name"
  attempt call mount "$folder" "$options"
  echo precious >"$folder/file"
  attempt engine_call grow "$record" $((400 << 20))
  [ "$(($(stat -f -c '%b * %S' "$folder") >> 20))" -gt 300 ] || fail "$switch: the file system is as it was"
  attempt engine_call settle
  attempt call unmount "$folder"
  attempt call mount "$folder" "$options"
  [ "$(<"$folder/file")" = precious ] || fail "$switch: the data is lost"
  attempt call unmount "$folder"
  attempt engine_call remove "$record"
  cp /run/lvm.conf /etc/lvm/lvm.conf
  [ -z "$(lvs --noheadings "$group")" ] || fail "$switch: something is left: $(lvs "$group")"
  [ ! -e "$records/$name" ] || fail "$switch: its record is left"
}

@test "each switch of lvm.conf, turned against its default" {
  local switch step=10 at=0 failed=''
  [ "${STEPS:-}" != both ] || step=1
  mapfile -t all < <(switches)
  [ ${#all[@]} -gt 50 ] || fail "only these switches were found: ${all[*]}"
  volume_name 1 && folder_for "$name"
  for ((at = 0; at < ${#all[@]}; at += step)); do
    switch=${all[at]}
    live_with
  done
  for switch in $failed; do
    [[ $refusing == *" ${switch%=*} "* ]] || fail "LVM says no with $switch, and nobody expects it"
  done
  echo "# $((${#all[@]} / step)) switches, and LVM says no with:${failed:- none}" >&3
}
