#!/usr/bin/env bash
# How long the refusal of another namespace's pod takes: test/bench/run starts it in a mount namespace
# of its own, where it puts ETC over /etc. Prints a line for each pair: nanoseconds of ours, of `true`.
#
#   refuse.bash ETC PAIRS
set -euo pipefail
here=$(dirname "$(realpath "$0")")
export group=data
# shellcheck source-path=SCRIPTDIR
. "$here/../node/volume.bash"
readonly stopwatch=${STOPWATCH:?the program that measures}

mount --bind "$1" /etc
# The volume is promised and refused calls are counted, but not on this machine.
mount -t tmpfs none /var/lib
mount -t tmpfs none /run
configure "$group"
volume_name 1
options_for "$name" 320 thief
folder=$kubelet/pods/pod-1/volumes/flexlocal.io~flexlocal/$name
call mount "$folder" "$options"
expect_failure 'a pod of \"thief\" may not mount it'
exec "$stopwatch" -n "$2" -w 20 -- --exits 1 "$plugin" mount "$folder" "$options" \
  --against "$(type -P true)"
