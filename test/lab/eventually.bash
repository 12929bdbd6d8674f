# shellcheck shell=bash
# Waiting for a condition with a deadline: source it. The tests that use it set `work`, a folder,
# and a function `show_state` that prints what a person would look at when it did not come true.

# eventually SECONDS COMMAND...: until COMMAND succeeds; else shows its last output and the state. It
# looks less often the longer it waits, and the longer a look takes: each starts programs, which others
# could use the time of.
#   PATIENCE  a machine that is busy with other things may wait so many times as long; 1
eventually() {
  local seconds=$(($1 * ${PATIENCE:-1})) end=$((SECONDS + $1 * ${PATIENCE:-1})) looks=0 began pause least
  shift
  until
    began=${EPOCHREALTIME/[.,]/}
    "$@" >"${work:?}/last" 2>&1
  do
    if ((SECONDS >= end)); then
      echo "not within $seconds s: $*" >&2
      cat "$work/last" >&2
      show_state >&2 || true
      return 1
    fi
    # In microseconds.
    pause=$((2 * (${EPOCHREALTIME/[.,]/} - began)))
    if ((++looks <= 5)); then least=100000; elif ((looks <= 15)); then least=400000; else least=1000000; fi
    ((pause > least)) || pause=$least
    ((pause < 5000000)) || pause=5000000
    printf -v pause %d.%06d $((pause / 1000000)) $((pause % 1000000))
    sleep "$pause"
  done
}
