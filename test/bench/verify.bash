#!/usr/bin/env bash
# How long the refusal of a forged grant takes: test/bench/run starts it in a mount namespace of its
# own, where it puts ETC over /etc. Prints a line for each pair: nanoseconds of ours, of `true`.
#
#   verify.bash ETC PAIRS
set -euo pipefail
here=$(dirname "$(realpath "$0")")
export group=data
# shellcheck source-path=SCRIPTDIR
. "$here/../node/volume.bash"
readonly stopwatch=${STOPWATCH:?the program that measures}

mount --bind "$1" /etc
# Refused calls are counted, but not on this machine.
mount -t tmpfs none /var/lib
mount -t tmpfs none /run
configure "$group"
# A forged call is refused before anybody looks for a promise: none is left on this machine.
promise() { :; }
volume_name 1
options_for "$name"
# Right but for its last digit: the whole proof is computed before it can be refused.
forged=${grant%?}0
[ "$forged" != "$grant" ] || forged=${grant%?}1
options=${options//"$grant"/"$forged"}
folder=$kubelet/pods/pod-1/volumes/flexlocal.io~flexlocal/$name
call mount "$folder" "$options"
expect_failure "grant"
exec "$stopwatch" -n "$2" -w 20 -- --exits 1 "$plugin" mount "$folder" "$options" \
  --against "$(type -P true)"
