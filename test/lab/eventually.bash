# shellcheck shell=bash
# Waiting for a condition with a deadline: source it. The tests that use it set `work`, a folder,
# and a function `show_state` that prints what a person would look at when it did not come true.

# eventually SECONDS COMMAND...: until COMMAND succeeds; else shows its last output and the state. It
# looks less often the longer it waits: each look starts programs, which others could use the time of.
#   PATIENCE  a machine that is busy with other things may wait so many times as long; 1
eventually() {
  local seconds=$(($1 * ${PATIENCE:-1})) end=$((SECONDS + $1 * ${PATIENCE:-1})) looks=0
  shift
  until "$@" >"${work:?}/last" 2>&1; do
    if ((SECONDS >= end)); then
      echo "not within $seconds s: $*" >&2
      cat "$work/last" >&2
      show_state >&2 || true
      return 1
    fi
    if ((++looks <= 5)); then sleep 0.1; elif ((looks <= 15)); then sleep 0.4; else sleep 1; fi
  done
}
