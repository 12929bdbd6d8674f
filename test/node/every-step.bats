# Invariant 2: every step can be killed at any instant and repeated; here each place in turn where
# it matters. Before the repeated call invariant 3 is looked at, and the data after it: invariant 1.

setup_file() {
  export group=steps
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 2G >/dev/null
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  . "$BATS_TEST_DIRNAME/remains.bash"
  . "$BATS_TEST_DIRNAME/every_step.bash"
  configure "$group"
}

teardown() {
  unmount_pods
  forget_shared
  forget_volumes
}

@test "the tracer kills before a call at its entry and after it at its exit" {
  made=/run/made-here
  "$tracer" --kill-at 1 --report /run/report -- /usr/bin/mkdir "$made" || status=$?
  [ "$status" = 137 ]
  [ "$(</run/report)" = "killed at 1: mkdir (entry) $made" ]
  [ ! -e "$made" ]
  status=0
  "$tracer" --kill-at 2 --report /run/report -- /usr/bin/mkdir "$made" || status=$?
  [ "$status" = 137 ]
  [ "$(</run/report)" = "killed at 2: mkdir (exit) $made" ]
  [ -d "$made" ]
  "$tracer" --kill-at 99 --report /run/report -- /usr/bin/mkdir -p "$made"
  [[ $(</run/report) == "ran to the end after "*" points" ]]
}

@test "invariant 2: a first mount, killed at every step and repeated (lvm, xfs)" {
  at_every_step lvm xfs first_mount
}

@test "invariant 2: a mount of what is there, killed at every step and repeated (lvm, xfs)" {
  at_every_step lvm xfs again_mount
}

@test "invariant 3: a read-only mount, killed at every step, is never writable (lvm, xfs)" {
  at_every_step lvm xfs read_only_mount
}

@test "invariant 2: a second pod's mount, killed at every step and repeated (lvm, xfs)" {
  at_every_step lvm xfs second_pod
}

@test "invariant 2: an unmount, killed at every step and repeated (lvm, xfs)" {
  at_every_step lvm xfs unmount
}

@test "invariants 2 and 4: a removal, killed at every step and repeated (lvm, xfs)" {
  at_every_step lvm xfs delete
}

@test "invariant 2: growing under a pod, killed at every step and repeated (lvm, xfs)" {
  at_some_steps lvm xfs expandfs
}

@test "invariant 2: growing what is not mounted, killed at every step and repeated (lvm, xfs)" {
  at_some_steps lvm xfs grow_unmounted
}

@test "invariant 2: the mount after such growing, killed at every step and repeated (lvm, xfs)" {
  at_some_steps lvm xfs grown_mount
}

@test "invariant 2: marking as retained, killed at every step and repeated" {
  at_every_step lvm xfs retain
  make_thin_pool 1000
  at_some_steps thin xfs retain
}

@test "invariant 2: marking a quota folder as retained, killed at every step and repeated" {
  make_shared 800
  at_every_step quota xfs retain
}

@test "invariants 2 and 4: a removal that zeroes, killed at every step and repeated (lvm, xfs)" {
  more_options=(onDelete=zero)
  at_some_steps lvm xfs delete
}

@test "invariant 2: a first mount, growth and removal, killed and repeated (lvm, ext4)" {
  at_some_steps lvm ext4 first_mount
  at_some_steps lvm ext4 expandfs
  at_some_steps lvm ext4 delete
}

@test "invariant 2: a first mount, growth and removal, killed and repeated (thin, xfs)" {
  make_thin_pool 1000
  at_some_steps thin xfs first_mount
  at_some_steps thin xfs expandfs
  at_some_steps thin xfs delete
}

@test "invariant 2: a first mount, growth and removal, killed and repeated (thin, ext4)" {
  make_thin_pool 1000
  at_some_steps thin ext4 first_mount
  at_some_steps thin ext4 expandfs
  at_some_steps thin ext4 delete
}

@test "invariant 2: a first mount of a quota folder, killed and repeated" {
  make_shared 800
  at_some_steps quota xfs first_mount
}

@test "invariants 2 and 3: more mounts of a quota folder, killed and repeated" {
  make_shared 800
  at_some_steps quota xfs again_mount
  at_some_steps quota xfs read_only_mount
  at_some_steps quota xfs second_pod
}

@test "invariant 2: growth and removal of a quota folder, killed and repeated" {
  make_shared 800
  at_some_steps quota xfs expandfs
  at_some_steps quota xfs delete
}

@test "invariant 2: making and mounting a pool's shared file system, killed and repeated" {
  configure_shared 800
  at_some_steps quota xfs shared_first_mount
  at_some_steps quota xfs shared_again_mount
}
