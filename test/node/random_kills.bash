# shellcheck shell=bash disable=SC2034,SC2154 # shared with volume.bash, remains.bash and the test
# Rounds of parallel calls that are killed at random instants; see random-kills.bats.

readonly kill_after=${plugin%/*}/kill-after
readonly parallel=8 pods=(pod-1 pod-2 pod-3)

# have_volume NUMBER BACKEND FSTYPE: one more volume for the rounds.
have_volume() {
  volume_name "$1"
  declare_volume "$name" "$2" "$3" 320
  volumes+=("$name")
}

# kill_at_random KILLS SEED
kill_at_random() {
  local killed=0 unkilled=0 rounds=0
  declare -A removed has_data
  echo "# seed $2" >&3
  RANDOM=$(($2 % 32768))
  read_baseline
  while [ "$killed" -lt "$1" ]; do
    start_calls
    judge_calls
    expect_safe_mounts
    settle_volumes
    rounds=$((rounds + 1))
    [ $((rounds % 20)) != 0 ] || echo "# $killed killed in $rounds rounds" >&3
  done
  echo "# $killed calls killed, $unkilled ended by themselves, in $rounds rounds" >&3
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
  pick mount mount mount unmount remove
  call=$picked
  if [ "$call" = remove ] && { mounts_volume "$name" || called_before mount; }; then call=mount; fi
  [ -z "${removed[$name]:-}" ] || call=remove
  called="$call $name"
  case $call in
  mount) command=("$plugin" mount "$folder" "$options") ;;
  unmount) command=("$plugin" unmount "$folder") ;;
  remove)
    command=("${plugin%/*}/engine-call" remove "$options")
    removed[$name]=yes
    ;;
  esac
}

# Whether some pod mounts it now.
mounts_volume() {
  slurp /proc/self/mountinfo
  [[ $content == *"/volumes/flexlocal.io~flexlocal/$1 "* ]]
}

# Whether this round has such a call for the volume.
called_before() { [[ " ${calls[*]} " == *" $1 $name "* ]]; }

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

# A call that was not killed succeeds.
judge_call() {
  slurp "/run/answer-$1"
  if [ "$status" = 137 ]; then
    [ -z "$content" ] || fail "${calls[$1]}: killed, and yet it said $content"
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

settle_removal() {
  local tries
  for ((tries = 0; tries < 100; tries++)); do
    engine_call remove "$options"
    expect_success
    [[ $answer == *'"done":false'* ]] || break
  done
  has_data[$name]=''
  [ ! -e "$records/$name" ] || fail "removed, and its record is there: $(<"$records/$name")"
}
