# shellcheck shell=bash disable=SC2034,SC2119,SC2120 # what is set here is for the tests
# What the tests of backend quota share: a file system with project quotas beside volume.bash.

export group=unused shared=/srv/shared
# shellcheck source-path=SCRIPTDIR
. "$BATS_TEST_DIRNAME/volume.bash"
backend=quota

# Sets `device` to a disk with a new XFS, one for each file of tests.
make_shared_disk() {
  local image=/run/disks/${BATS_TEST_FILENAME##*/}.img
  mkdir -p /run/disks "$shared"
  truncate -s 1G "$image"
  mkfs.xfs -q "$image"
  device=$(losetup --find --show "$image")
  export device
}

# The pool "default" is on it.
mount_shared() {
  mount -t xfs -o prjquota "$device" "$shared"
  configure_quota
}

# configure_quota [LINE...]: node.conf with the pool "default" on the shared file system.
configure_quota() {
  printf '%s\n' "[pool.default]" "quota-path = $shared" "$@" >/etc/flexlocal/node.conf
}

# As if nothing had been, but for the counter of project ids.
forget_quota_volumes() {
  local id commands=()
  unmount_pods
  mountpoint -q "$shared" || mount -t xfs -o prjquota "$device" "$shared"
  for id in $(limited_ids); do commands+=(-c "limit -p bhard=0 ihard=0 $id"); done
  [ "${#commands[@]}" = 0 ] || xfs_quota -x "${commands[@]}" "$shared"
  rm -rf "$shared"/.flexlocal/{volumes,new,trash}/* "$kubelet/pods" "$records"
  umount "$shared"
}

# limited_ids: the projects with a limit.
limited_ids() { xfs_quota -x -c 'report -p -b -n -N' "$shared" | awk '$4 > 0 { print substr($1, 2) }'; }

# project_of NAME: the folder's project id, which the kernel knows.
project_of() { lsattr -pd "$shared/.flexlocal/volumes/$1" | { read -r id _ && echo "$id"; }; }

# expect_size BYTES: what the volume that is mounted at `folder` offers.
expect_size() {
  local size
  read -r size < <(df --output=size -B1 "$folder" | tail -n 1)
  [ "$size" = "$1" ] || fail "$folder offers $size bytes, not $1"
}

# made NAME [MIB]: sets `folder`, with the volume mounted there.
made() { mount_volume "$1" pod-1 "${2:-32}" && expect_success; }

# What a failed call and a removal leave: at most the promise.
expect_no_volume() {
  local left
  left=$(find "$shared"/.flexlocal/{volumes,new,trash} -mindepth 1)
  [ -z "$left" ] || fail "left: $left"
  [ -z "$(limited_ids)" ] || fail "limits are left: $(limited_ids)"
  expect_only_promises
}
