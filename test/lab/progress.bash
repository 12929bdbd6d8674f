# shellcheck shell=bash
# Waiting that goes by progress: source it. A slow machine is waited for as long as anything moves; what
# stands still is given up. The caller sets `work`, a folder, and these functions:
#   progress_mark   prints what changes while there is progress, and only then
#   show_state      prints what a person would look at when it did not come true

# wait_until COMMAND...: until COMMAND, which must end by itself, succeeds. Fails once nothing has moved
# for five minutes, and after an hour in any case, with COMMAND's last output and the state. Says each
# half a minute what it is waiting for. After the first seconds it looks once a second: each look starts
# programs, and takes the time of those that are waited for.
wait_until() {
  local began=$SECONDS moved=$SECONDS looked=$SECONDS told=$SECONDS mark last='' reason=''
  until "$@" >"${work:?}/last" 2>&1; do
    if ((SECONDS - looked >= 10)); then
      looked=$SECONDS mark=$(progress_mark 2>/dev/null || true)
      [ "$mark" = "$last" ] || last=$mark moved=$SECONDS
    fi
    if ((SECONDS - moved >= 300)); then
      reason="nothing has moved for $((SECONDS - moved)) s"
    elif ((SECONDS - began >= 3600)); then
      reason="an hour is over"
    fi
    if [ -n "$reason" ]; then
      echo "waited $((SECONDS - began)) s for: $*; $reason" >&2
      cat "$work/last" >&2
      show_state >&2 || true
      return 1
    fi
    if ((SECONDS - told >= 30)); then
      told=$SECONDS
      tell_waiting "$((SECONDS - began)) s, last change $((SECONDS - moved)) s ago" "$@"
    fi
    if ((SECONDS - began < 3)); then sleep 0.2; else sleep 1; fi
  done
}

# tell_waiting SINCE COMMAND...
tell_waiting() { echo "# waiting for: ${*:2} ($1)" >&2; }
