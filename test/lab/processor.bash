# shellcheck shell=bash
# Which processor a user-mode Linux runs on: source it.

# processor_at NUMBER: prints that one of this machine's processors, counted round; -1 is the last.
# Such a guest has one processor, yet its kernel and its processes are several processes here: moved
# between two of the machine's processors, starting a program takes five times as long.
processor_at() {
  local list part processors=()
  list=$(taskset -cp $$)
  for part in $(tr , ' ' <<<"${list##*: }"); do
    mapfile -t -O "${#processors[@]}" processors < <(seq "${part%-*}" "${part#*-}")
  done
  echo "${processors[$1 % ${#processors[@]}]}"
}
