# shellcheck shell=bash disable=SC2034,SC2154 # shared with volume.bash, remains.bash and the tests
# Kills the tools that one call runs, each of their steps in turn, and looks at what the call itself
# and a repeated one make of it. The operations are every_step.bash's.
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/volume.bash"
. "$here/remains.bash"
. "$here/every_step.bash"
. "$here/waiting.bash"

# forget_all: what a test of these has left, whatever it ended with.
forget_all() {
  resume_by_hand
  unmount_pods
  forget_shared
  forget_volumes
}

# at_tool_steps BACKEND FSTYPE OPERATION: a tool killed at step n of all the steps of all the tools
# that the call runs, for n = 1, 2, ...: with the call, and alone, in turns. Without STEPS=both it is
# TOOL_SAMPLES of the steps, 8 unless told otherwise.
at_tool_steps() {
  local n report content victim times=0 killed=0 step=1 total samples=${TOOL_SAMPLES:-8}
  start_with "$1" "$2"
  access=rw
  # The first may still do what an earlier test has left.
  count_tool_steps "$3"
  count_tool_steps "$3"
  [ "$phase" = both ] || step=$(((total + samples - 1) / samples))
  for ((n = (step + 1) / 2; n <= total; n += step)); do
    # Each growth is a little more, and there are hundreds.
    [ "$grown" -lt 560 ] || start_with "$1" "$2"
    victim=tool
    [ $((times % 2)) = 0 ] || victim=both
    kill_a_tool "$@"
    times=$((times + 1))
  done
  # How many steps there are differs a little from one time to the next.
  if [ "$killed" = 0 ] || [ "$killed" -lt $((times - 2)) ]; then
    fail "only $killed kills in $times calls"
  fi
  echo "# $1 $2 $3: $killed kills of tools at $total steps" >&3
}

# The call, undisturbed: sets `total`.
count_tool_steps() {
  "before_$1"
  trace_tools 0 tool
  expect_success
  "after_$1"
  [[ $report == "ran to the end after "* ]] || fail "the tracer says '$report'"
  total=${report#ran to the end after } total=${total% points}
  [ "$total" -gt 0 ] || fail "the call runs no tool that changes anything"
}

# trace_tools N VICTIM: `command`, its tools killed at N. It has to end in time.
trace_tools() {
  in_time trace_call --kill-at "$1" --victim "$2"
  slurp /run/report
  report=${content%$'\n'}
  echo "$report" # shown when the test fails
}

trace_call() {
  status=0
  answer=$("$tracer" "$@" --phase exit --report /run/report -- "${command[@]}" 2>/run/said) ||
    status=$?
}

kill_a_tool() {
  "before_$3"
  trace_tools "$n" "$victim"
  [ -z "$neighbour" ] || start_write "$neighbour/written"
  # How many steps there are differs by a few from one time to the next.
  if [[ $report != "ran to the end after "* ]]; then
    expect_tool_killed
    killed=$((killed + 1))
    expect_safe_mounts "$access"
  fi
  if [ "$status" != 0 ]; then
    # Each second pair of times the daemon's look comes first.
    if [ $((times / 2 % 2)) = 1 ]; then
      be_resumed
      [ -z "$neighbour" ] || expect_written "$neighbour/written"
      [ -z "$neighbour" ] || start_write "$neighbour/written"
    fi
    in_time repeat_call
  fi
  expect_success
  expect_none_suspended
  [ -z "$neighbour" ] || expect_written "$neighbour/written"
  "after_$3"
  [ -z "$neighbour" ] || [ "$(<"$neighbour/file")" = precious ] || fail "the neighbour's data is lost"
}

# A call whose tool was killed alone answers, and is believed.
expect_tool_killed() {
  [[ $report == "killed at $n: "* ]] || fail "the tracer says '$report', the call '$answer'"
  case $victim-$status in
    both-137) [ -z "$answer" ] || fail "killed, and yet it said $answer" ;;
    tool-0) expect_success ;;
    tool-1) expect_failure '' ;;
    *) fail "the call ended with $status: $answer" ;;
  esac
}

be_resumed() {
  local said=$answer failed=$status
  in_time engine_call resume-suspended
  expect_success
  expect_none_suspended
  answer=$said status=$failed
}

neighbour=''

# have_neighbour BACKEND: mounted at `neighbour`, a volume beside, of the same kind, that a pod writes to.
have_neighbour() {
  volume_name 77
  declare_volume "$name" "$1" xfs 320
  [ "$1" != quota ] || declare_volume "$name" quota xfs 32
  folder_for "$name" neighbour
  declared_options "$name"
  call mount "$folder" "$options" && expect_success
  echo precious >"$folder/file"
  neighbour=$folder
  others=("$name")
}
