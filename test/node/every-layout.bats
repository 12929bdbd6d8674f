# Invariant 2 for volumes that lie on two disks; see every-step.bats.

setup_file() {
  export group=layouts
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 2G 2G >/dev/null
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  . "$BATS_TEST_DIRNAME/remains.bash"
  . "$BATS_TEST_DIRNAME/every_step.bash"
}

teardown() {
  forget_volumes
}

@test "invariant 2: a first mount, growth and removal, killed and repeated (striped, xfs)" {
  configure "$group" 'layout = striped:2'
  at_some_steps lvm xfs first_mount
  at_some_steps lvm xfs expandfs
  at_some_steps lvm xfs delete
}

@test "invariant 2: a first mount, growth and removal, killed and repeated (raid1, xfs)" {
  configure "$group" 'layout = raid1'
  devices_each=5
  at_some_steps lvm xfs first_mount
  at_some_steps lvm xfs expandfs
  at_some_steps lvm xfs delete
}
