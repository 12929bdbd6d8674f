# See killed-tools.bats; here volumes that share a pool or lie on two disks.

setup_file() {
  export group=pools
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 1G 1G >/dev/null
}

setup() {
  . "$BATS_TEST_DIRNAME/killed_tools.bash"
  configure "$group"
}

teardown() { forget_all; }

@test "tools killed in a first mount, in growth and in removal (thin, xfs)" {
  make_thin_pool 1000
  have_neighbour thin
  at_tool_steps thin xfs first_mount
  at_tool_steps thin xfs expandfs
  at_tool_steps thin xfs delete
}

@test "tools killed in a first mount, in growth and in removal (quota)" {
  make_shared 800
  have_neighbour quota
  at_tool_steps quota xfs first_mount
  at_tool_steps quota xfs expandfs
  at_tool_steps quota xfs delete
}

@test "tools killed in making a pool's shared file system, and in mounting it" {
  configure_shared 800
  at_tool_steps quota xfs shared_first_mount
  at_tool_steps quota xfs shared_again_mount
}

@test "tools killed in a first mount, in growth and in removal (raid1, xfs)" {
  configure "$group" 'layout = raid1'
  devices_each=5
  have_neighbour lvm
  at_tool_steps lvm xfs first_mount
  at_tool_steps lvm xfs expandfs
  at_tool_steps lvm xfs delete
}
