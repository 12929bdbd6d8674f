# shellcheck shell=bash disable=SC2034,SC2154 # shared with volume.bash, remains.bash and the test
# Rounds of parallel calls that are killed at random instants; see random-kills.bats.

readonly kill_after=${plugin%/*}/kill-after
readonly parallel=8 pods=(pod-1 pod-2 pod-3)

# have_volume BACKEND FSTYPE MIB: one more volume for the rounds.
have_volume() {
  volume_name "${#volumes[@]}"
  declare_volume "$name" "$@"
  volumes+=("$name")
}

# kill_at_random KILLS SEED
kill_at_random() {
  local killed=0 unkilled=0 rounds=0
  # By volume: what this round did, and what is known of it.
  declare -A removed has_data asked
  echo "# seed $2" >&3
  RANDOM=$(($2 % 32768))
  look_after_devices 3>&- &
  looks=$!
  read_baseline
  while [ "$killed" -lt "$1" ]; do
    start_calls
    judge_calls
    expect_safe_mounts
    settle_volumes
    rounds=$((rounds + 1))
    [ $((rounds % 10)) != 0 ] || echo "# $killed killed in $rounds rounds" >&3
  done
  echo "# $killed calls killed, $unkilled ended by themselves, in $rounds rounds" >&3
}

# As the node daemon does every second: a killed lvextend leaves its volume suspended, or the thin
# pool with all volumes, and a call that is in the middle of one then waits for this.
look_after_devices() {
  while :; do
    "${plugin%/*}/engine-call" resume-suspended >/dev/null 2>&1 || true
    read -r -t 1 <>/run/guest || true
  done
}

# pick WORD...: sets `picked` to one of them.
pick() { picked=${*:RANDOM % $# + 1:1}; }

start_calls() {
  local slot
  calls=() processes=()
  removed=()
  for ((slot = 0; slot < parallel; slot++)); do
    choose_call
    calls+=("$called")
    choose_end
    "$kill_after" "${end[@]}" -- "${command[@]}" >"/run/answer-$slot" 2>&1 3>&- &
    processes+=($!)
  done
}

# Sets `command`, and `called` for the log. A volume whose removal has begun stays so: nobody asks
# for its mount again before it is gone, and Kubernetes does not remove what a pod mounts.
choose_call() {
  local picked call
  pick "${volumes[@]}"
  name=$picked
  pick "${pods[@]}"
  folder_for "$name" "$picked"
  declared_options "$name"
  pick mount mount mount unmount remove grow
  call=$picked
  if [ "$call" = remove ] && is_wanted; then call=mount; fi
  if [ "$call" = grow ] && ! may_grow; then call=mount; fi
  [ -z "${removed[$name]:-}" ] || call=remove
  called="$call $name"
  case $call in
  mount) command=("$plugin" mount "$folder" "$options") ;;
  grow)
    asked[$name]=$((${asked[$name]:-${lv_mebibytes_of[$name]}} + 4))
    command=("$plugin" expandfs "$options" '' "$folder" $((asked[$name] * 1048576)) 0)
    ;;
  unmount) command=("$plugin" unmount "$folder") ;;
  remove)
    command=("${plugin%/*}/engine-call" remove "$record")
    removed[$name]=yes
    ;;
  esac
}

# Whether some pod mounts it now, or some call of this round is for one.
is_wanted() {
  slurp /proc/self/mountinfo
  [[ $content == *"/volumes/flexlocal.io~flexlocal/$name "* ]] ||
    [[ " ${calls[*]} " =~ \ (mount|grow)\ $name\  ]]
}

# A volume grows once it is made, and here not without end.
may_grow() {
  local made=${mebibytes_of[$name]}
  [ -n "${has_data[$name]:-}" ] && [ "${lv_mebibytes_of[$name]}" -lt $((made + 128)) ]
}

# Sets `end`: after a time between 1 ms and 1 s by the calls' own length, so that the first steps
# are as much at risk as the last; one in four takes its tools along.
choose_end() {
  local picked
  pick 1 2 4 8 16 32 64 128 256 512
  end=($((picked * (1000 + RANDOM % 1000))))
  [ $((RANDOM % 4)) != 0 ] || end+=(--with-tools)
}

judge_calls() {
  local slot
  for slot in "${!processes[@]}"; do
    status=0
    wait "${processes[slot]}" || status=$?
    judge_call "$slot"
  done
}

# A call that was not killed succeeds; one that was says nothing, or has just said its last word.
judge_call() {
  slurp "/run/answer-$1"
  if [ "$status" = 137 ]; then
    [[ -z $content || $content == '{"status":"Success"'*'}'$'\n' ]] ||
      fail "${calls[$1]}: killed, and it said $content"
    killed=$((killed + 1))
    return 0
  fi
  unkilled=$((unkilled + 1))
  [[ $content != *'"status":"Success"'* ]] || return 0
  fail "${calls[$1]}: status $status: $content"
}

# One clean call for each volume; then a random half is left mounted for the next round.
settle_volumes() {
  local pod mounted=0
  for name in "${volumes[@]}"; do
    declared_options "$name"
    [ -z "${removed[$name]:-}" ] || settle_removal
    for pod in "${pods[@]:1}"; do leave "$pod"; done
    [ -z "${asked[$name]:-}" ] || settle_growth
    folder_for "$name" pod-1
    call mount "$folder" "$options"
    expect_success
    [ -z "${has_data[$name]:-}" ] || expect_data "$name"
    write_data "$name"
    has_data[$name]=yes
    mounted=$((mounted + 1))
    if [ $((RANDOM % 2)) = 0 ]; then
      leave pod-1
      mounted=$((mounted - 1))
    fi
  done
  expect_mount_count "$mounted"
  expect_volumes "${volumes[@]}"
}

# leave POD
leave() {
  folder_for "$name" "$1"
  is_mounted "$folder" || return 0
  call unmount "$folder"
  expect_success
}

settle_growth() {
  engine_call grow "$record" $((asked[$name] * 1048576))
  expect_success
  declared_growth "$name" "${asked[$name]}"
  asked[$name]=''
}

settle_removal() {
  local tries
  for ((tries = 0; tries < 100; tries++)); do
    engine_call remove "$record"
    expect_success
    [[ $answer == *'"done":false'* ]] || break
  done
  has_data[$name]='' asked[$name]=''
  declared_growth "$name" "${mebibytes_of[$name]}"
  [ ! -e "$records/$name" ] || fail "removed, and its record is there: $(<"$records/$name")"
  declared_options "$name" # for the next one
}
