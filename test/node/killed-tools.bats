# Not only a call is killed, as in every-step.bats, but the tools that it runs: by their deadline, for
# want of memory, with the container that they run in. Whatever was theirs to do is then done half;
# the call, or the next one, brings it to its end, nobody waits for ever, and no neighbour notices.

setup_file() {
  export group=tools
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 1G 1G >/dev/null
}

setup() {
  . "$BATS_TEST_DIRNAME/killed_tools.bash"
  configure "$group"
}

teardown() { forget_all; }

@test "the tracer kills a tool where it changes something, and lets the caller go on" {
  made=/run/made-here
  caller=("$(type -P env)" sh -c "mkdir $made; echo \$?; sync")
  "$tracer" --kill-at 1 --phase exit --victim tool --report /run/report -- "${caller[@]}" >/run/said
  [ "$(</run/report)" = "killed at 1: mkdir: mkdir (exit) $made" ]
  [ "$(</run/said)" = 137 ]
  [ -d "$made" ]
  rmdir "$made"
  "$tracer" --kill-at 1 --victim both --report /run/report -- "${caller[@]}" >/run/said || status=$?
  [ "$status" = 137 ]
  [ "$(</run/report)" = "killed at 1: mkdir: mkdir (entry) $made" ]
  [ ! -s /run/said ]
  [ ! -e "$made" ]
}

@test "tools killed in a first mount, in growth and in removal (lvm, xfs)" {
  have_neighbour lvm
  at_tool_steps lvm xfs first_mount
  at_tool_steps lvm xfs expandfs
  at_tool_steps lvm xfs grow_unmounted
  at_tool_steps lvm xfs delete
}

@test "tools killed in growing by a mount and in marking as retained (lvm, xfs)" {
  have_neighbour lvm
  at_tool_steps lvm xfs grown_mount
  at_tool_steps lvm xfs retain
}

@test "tools killed in a first mount, and in growth (lvm, ext4)" {
  have_neighbour lvm
  at_tool_steps lvm ext4 first_mount
  at_tool_steps lvm ext4 expandfs
  at_tool_steps lvm ext4 grown_mount
}
