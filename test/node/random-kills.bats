# Invariants 2 and 5: calls at once, killed at instants of chance, and after each round one clean
# call for each volume: the right volumes, the right data, no leftovers.
#
#   KILLS   how many calls are killed; 24 (the soak: 1000)
#   SEED    of what is chosen, printed by each run; instants shift with the machine's load

setup_file() {
  export group=chance
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 3G >/dev/null
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  . "$BATS_TEST_DIRNAME/remains.bash"
  . "$BATS_TEST_DIRNAME/random_kills.bash"
  configure "$group"
}

teardown() {
  [ -z "${looks:-}" ] || kill "$looks"
  unmount_pods
  forget_shared
  forget_volumes
}

@test "invariants 1 to 5: parallel calls, killed at random, leave one right volume each" {
  volumes=()
  make_thin_pool 1100
  make_shared 700
  have_volume lvm xfs 320
  have_volume lvm ext4 64
  have_volume thin xfs 320
  have_volume thin ext4 64
  have_volume quota xfs 32
  kill_at_random "${KILLS:-24}" "${SEED:-$SRANDOM}"
}
