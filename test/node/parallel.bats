# Invariant 5: two calls for one volume, or twenty for one volume group, may run at once. Here 64:
# half of them for one volume, the others for one volume each, of all backends mixed.

setup_file() {
  export group=many
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 10G >/dev/null
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  . "$BATS_TEST_DIRNAME/remains.bash"
  configure "$group"
}

teardown() {
  unmount_pods
  forget_shared
  forget_volumes
}

# Volume 0 is the one that 32 pods want. A new backend is one more line.
kinds=("lvm xfs 320" "lvm ext4 64" "thin xfs 320" "thin ext4 64" "quota xfs 32")

declare_volumes() {
  local number
  volumes=()
  for ((number = 0; number <= 32; number++)); do
    volume_name "$number"
    # shellcheck disable=SC2086 # backend, file system and size
    declare_volume "$name" ${kinds[number % ${#kinds[@]}]}
    volumes+=("$name")
  done
}

# Sets `names` and `folders` of all 64 calls, the two halves taking turns.
name_calls() {
  local number
  names=() folders=()
  for ((number = 1; number <= 32; number++)); do
    for name in "${volumes[0]}" "${volumes[number]}"; do
      folder_for "$name" "pod-$number"
      names+=("$name") folders+=("$folder")
    done
  done
}

# at_once PROGRAM...: starts one call more; all_succeed waits for all.
at_once() {
  "$@" >"/run/answer-${#processes[@]}" 2>&1 3>&- &
  processes+=($!)
}

all_succeed() {
  local number content failed=0
  for number in "${!processes[@]}"; do
    wait "${processes[number]}" || failed=$((failed + 1))
    slurp "/run/answer-$number"
    [[ $content == '{"status":"Success"'* ]] || { echo "call $number: $content" && failed=$((failed + 1)); }
  done
  processes=()
  [ "$failed" = 0 ] || fail "$failed calls failed"
}

@test "invariant 5: 64 mounts at once, half of them of one volume, then 64 unmounts, then 33 removals" {
  make_thin_pool 3200
  make_shared 800
  read_baseline
  declare_volumes
  name_calls
  processes=()
  calls=()
  for number in "${!names[@]}"; do
    declared_options "${names[number]}"
    calls+=("$options")
  done
  for number in "${!names[@]}"; do at_once "$plugin" mount "${folders[number]}" "${calls[number]}"; done
  all_succeed
  expect_mount_count 64
  expect_safe_mounts
  expect_volumes "${volumes[@]}"
  for number in "${!names[@]}"; do
    folder=${folders[number]}
    is_mounted "$folder" || fail "nothing is mounted at $folder"
    # What the first pod wrote, all others read.
    [ -e "$folder/file" ] || write_data "${names[number]}"
    expect_data "${names[number]}"
  done

  for folder in "${folders[@]}"; do at_once "$plugin" unmount "$folder"; done
  all_succeed
  expect_mount_count 0
  expect_volumes "${volumes[@]}"

  for name in "${volumes[@]}"; do
    declared_options "$name"
    at_once "${plugin%/*}/engine-call" remove "$record"
  done
  all_succeed
  expect_volumes
}
