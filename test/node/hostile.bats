# The real program with arguments, streams and tools that mean harm: always one JSON object, soon,
# and nothing done.

setup_file() {
  export group=hostile
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 1G >/dev/null
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  configure "$group"
}

teardown() {
  forget_volumes
}

# expect_refused ARG...: a Failure in one JSON object on one line, valid UTF-8, of a few KiB.
expect_refused() {
  call "$@"
  [ "$status" = 1 ] || fail "exit status $status: ${answer:0:300}"
  [ "${#answer}" -lt 4096 ] || fail "a long answer: ${answer:0:300}"
  printf '%s\n' "$answer" >>/run/refusals
}

# All answers at once: starting jq takes longer than the calls.
expect_answers() {
  iconv -f UTF-8 -t UTF-8 /run/refusals >/dev/null || fail "an answer is not UTF-8"
  [ "$(jq -c 'select(.status == "Failure" and (.message | length) > 0)' /run/refusals | wc -l)" = "$1" ]
  [ "$(wc -l </run/refusals)" = "$1" ]
  rm /run/refusals
}

expect_nothing_done() {
  expect_unmounted "$folder"
  expect_unmade
}

@test "arguments as long as the kernel takes them, and as many" {
  volume_name 1 && folder_for "$name" && options_for "$name"
  printf -v long '%131071s' '' # MAX_ARG_STRLEN, with the NUL
  expect_refused mount "$folder" "$long"
  expect_refused mount "$folder" "{\"a\":\"${long:8}\"}"
  expect_refused mount "$folder" "${long// /[}"
  expect_refused mount "$long" "$options"
  expect_refused unmount "$long"
  local many=()
  printf -v many '%s' '' && mapfile -t many < <(yes x | head -n 20000)
  expect_refused mount "${many[@]}"
  expect_answers 6
  expect_nothing_done
}

@test "arguments that are no text, no JSON, or somebody else's" {
  volume_name 1 && folder_for "$name" && options_for "$name"
  expect_refused mount "$folder" $'\xff\xfe'
  expect_refused mount "$folder" "${options/xfs/$'\xff'}"
  expect_refused mount "$folder"$'\xc3' "$options"
  expect_refused mount "$folder" "${options%\}},\"kubernetes.io/pod.namespace\":\"shop\"}"
  expect_refused mount "$folder" "${options/8000000000000001/0x80000000000001}"
  expect_refused mount "$folder" "${options/8000000000000001/800000000000000A}"
  expect_refused mount "$folder" "${options/8000000000000001/8000000000000002}"
  expect_refused mount "$folder" "${options//$name/..\/..\/etc}"
  expect_refused mount "/etc" "$options"
  expect_refused mount "$folder/../$name" "$options"
  expect_refused mount "" ""
  expect_refused unmount /
  expect_refused unmount "$kubelet/pods/../../../../"
  expect_refused
  expect_answers 14
  expect_nothing_done
}

@test "streams that are closed: the call is done all the same, and no file is written to instead" {
  volume_name 1 && folder_for "$name" && options_for "$name"
  status=0
  "$plugin" mount "$folder" "$options" <&- >&- 2>&- || status=$?
  [ "$status" = 0 ]
  expect_mounted "$folder"
  [ "$(jq -r .state "$records/$name")" = ready ]
  [ ! -s /run/flexlocal/volume-"$name" ]
  "$plugin" unmount "$folder" <&- >&- 2>&-
  expect_unmounted "$folder"
}

@test "a reader that is gone: the call is done all the same" {
  volume_name 1 && folder_for "$name" && options_for "$name"
  mkfifo /run/gone
  exec 5<>/run/gone
  exec 6>/run/gone
  exec 5>&-
  "$plugin" mount "$folder" "$options" >&6 2>&6 || true
  exec 6>&-
  expect_mounted "$folder"
}

@test "a tool that floods stderr: the call ends with a short message" {
  volume_name 1
  wrap_tool mkfs.xfs 'for ((i = 0; i < 40; i++)); do printf "%1048576s\n" "" >&2; done; printf "\xff\n{}\n" >&2; exit 1'
  configure "$group" "[tool]" "mkfs.xfs = /run/wrapped-mkfs.xfs"
  folder_for "$name" && options_for "$name"
  expect_refused mount "$folder" "$options"
  wrap_tool mkfs.xfs 'printf "disk \xff on\n\"fire\xc3\"}\n" >&2; exit 1'
  expect_refused mount "$folder" "$options"
  [[ $answer == *"disk ? on"* ]]
  expect_answers 2
  expect_unmounted "$folder"
  [ -z "$(lvs --noheadings "$group")" ]
}

@test "a tool that floods stdout, or prints what is no report: an error, and never an empty list" {
  volume_name 1 && mount_volume "$name" && expect_success
  call unmount "$folder"
  vgchange -qq -an "$group"
  # With such a record LVM is asked.
  sed -i 's/"state":"ready"/"state":"intent"/' "$records/$name"
  configure "$group" "[tool]" "lvs = /run/wrapped-lvs"
  wrap_tool lvs 'exec head -c 40000000 /dev/zero'
  expect_refused mount "$folder" "$options"
  for report in '' '{' '{"report":[]}' '{"report":[{"lv":[{}]}]}' '[[[[[['; do
    wrap_tool lvs "echo '$report'"
    expect_refused mount "$folder" "$options"
  done
  expect_answers 6
  expect_unmounted "$folder"
  configure "$group"
  [ -n "$(lv_of "$name")" ]
  call mount "$folder" "$options" && expect_success
}

@test "a tool that is missing, or is no program, is named" {
  volume_name 1
  for tool in /run/nowhere /etc/hostname /run; do
    configure "$group" "[tool]" "lvcreate = $tool"
    mount_volume "$name"
    expect_failure "starting $tool"
  done
  expect_unmounted "$folder"
}
