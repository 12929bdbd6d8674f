# What a person at the node is told by doctor, list and status, on a real kernel.

setup_file() {
  export group=cli
  "$BATS_TEST_DIRNAME/../lab/guest-disk" "$group" 2G >/dev/null
}

setup() {
  . "$BATS_TEST_DIRNAME/volume.bash"
  configure "$group"
}

teardown() {
  forget_volumes
}

readonly plugin_dir=/run/exec

# ask WORD...: sets `answer` to standard output alone, and `status`.
ask() {
  status=0
  answer=$("$plugin" "$@" 2>/run/stderr) || status=$?
}

doctor() { ask doctor --plugin-dir "$plugin_dir" "$@"; }

# expect_finding LEVEL CHECK FOUND [ADVICE]: a line of doctor's text, and the line below it.
expect_finding() {
  local pattern="$1 +$2 +[^"$'\n'"]*$3"
  [ $# -lt 4 ] || pattern+="[^"$'\n'"]*"$'\n'" +-> [^"$'\n'"]*$4"
  [[ $answer =~ $pattern ]] || fail "no finding '$pattern' in: $answer"
}

expect_status() { [ "$status" = "$1" ] || fail "exit status $status: $answer"; }

# expect_json FILTER: jq's filter is true of the one JSON value that was printed.
expect_json() { jq -es "length == 1 and (.[0] | $1)" <<<"$answer" >/dev/null || fail "not $1: $answer"; }

# volume_json: the one volume `name` of a list.
of_list() { expect_json "(.volumes | map(select(.name == \"$name\"))) as \$v | (\$v | length) == 1 and (\$v[0] | $1)"; }

@test "a healthy node has no error; a wrong word is usage" {
  mkdir -p "$plugin_dir" && "$plugin" install "$plugin_dir"
  doctor
  expect_status 0
  expect_finding ok pool.default.volume-group "$group, .* free of .* on 1 disk"
  expect_finding ok tools.lvm2 '2\.[0-9.]+.*lvcreate'
  expect_finding ok plugin "in $plugin_dir"
  [[ $answer == *$'\n'"0 error(s), "* ]]
  doctor --output json
  expect_status 0
  expect_json '.errors == 0 and (.version | length) > 0 and ([.findings[] | select(.level == "error")] | length) == 0'
  expect_json 'all(.findings[]; (.check | length) > 0 and (.found | length) > 0 and has("advice"))'
  ask doctor --frobnicate
  expect_status 2
  [ -z "$answer" ]
}

@test "what node.conf lacks is said, with what to do" {
  rm -f /etc/flexlocal/node.conf
  doctor
  expect_status 1
  expect_finding error node.conf 'node.conf is missing' 'correct /etc/flexlocal/node.conf'
  configure "$group" "colour = green"
  doctor
  expect_status 1
  expect_finding error node.conf 'colour.*not known'
  configure nowhere
  doctor
  expect_status 1
  expect_finding error pool.default.volume-group '"nowhere" is not on this node' 'vgcreate nowhere'
}

@test "a missing tool, a missing driver and too few disks are said" {
  rm -rf "$plugin_dir"
  configure "$group" "layout = striped:3" "[tool]" "mkfs.xfs = /run/no-such-program"
  doctor
  expect_status 1
  expect_finding error tools.xfsprogs 'mkfs.xfs not to be found' 'install the package xfsprogs'
  expect_finding error pool.default.layout "striped:3 needs 3 disks and $group has 1" vgextend
  expect_finding error plugin "$plugin_dir is not there" "flexlocal install $plugin_dir"
}

@test "a thin pool that does not zero is said, and the advice mends it" {
  configure "$group" "thin-pool = tp"
  lvcreate -qq -y --type thin-pool --zero n -L 64M -n tp "$group"
  doctor
  expect_status 1
  expect_finding error pool.default.thin-pool 'does not zero' "lvchange --zero y $group/tp"
  [[ $answer =~ "\`"(lvchange --zero y [a-z/]+)"\`" ]]
  ${BASH_REMATCH[1]}
  doctor
  expect_finding ok pool.default.thin-pool "$group/tp, data 0 %"
}

@test "a quota path without prjquota is said, and mounted as advised it is ok" {
  configure "$group" "quota-path = /run/fast"
  lvcreate -qq -y -L 320M -n shared "$group"
  mkfs.xfs -q "/dev/$group/shared"
  mkdir -p /run/fast
  doctor
  expect_status 1
  expect_finding error pool.default.quota-path 'nothing is mounted at /run/fast' '-o prjquota'
  mount "/dev/$group/shared" /run/fast
  doctor
  expect_status 1
  expect_finding error pool.default.quota-path 'without prjquota' '-o prjquota'
  umount /run/fast
  mount -o prjquota "/dev/$group/shared" /run/fast
  doctor
  umount /run/fast
  expect_finding ok pool.default.quota-path '/run/fast on /dev/'
}

@test "a mounted volume is listed with what it uses, and its status is fine" {
  volume_name 1 && pod_uid=77aa && mount_volume "$name" 77aa && expect_success
  dd if=/dev/zero of="$folder/file" bs=1M count=5 conv=fsync status=none
  ask list
  expect_status 0
  [[ $answer =~ NAME\ +CLAIM\ +BACKEND\ +POOL/GROUP\ +SIZE\ +USED\ +STATE\ +MOUNTED ]]
  [[ $answer =~ $name\ +shop/${name#pvc-}\ +lvm\ +default/$group\ +320\ MiB\ +[0-9.]+\ MiB\ +ready\ +77aa ]]
  ask list --output json
  expect_status 0
  of_list ".claimNamespace == \"shop\" and .claimUID == \"${name#pvc-}\" and .clusterID == \"$cluster_id\""
  of_list ".backend == \"lvm\" and .pool == \"default\" and .volumeGroup == \"$group\" and .fsType == \"xfs\""
  of_list '.sizeBytes == 335544320 and .usedBytes > 5000000 and .state == "ready" and .wipedBytes == null'
  of_list ".mounts == [{\"path\": \"$folder\", \"podUID\": \"77aa\"}]"
  ask status "${name#pvc-}"
  expect_status 0
  [[ $answer == *"state         ready"*"mounted       $folder, "* ]]
  ask status --output json "$name"
  expect_status 0
  expect_json ".name == \"$name\" and .logicalVolume.inUse and .logicalVolume.ours and .record.state == \"ready\""
  expect_json 'all(.findings[]; .level == "ok")'
}

@test "a quota folder is listed with its pool, its limit and what it uses" {
  configure "$group" "quota-path = /run/fast"
  lvcreate -qq -y -L 320M -n shared "$group"
  mkfs.xfs -q "/dev/$group/shared"
  mkdir -p /run/fast
  mount -o prjquota "/dev/$group/shared" /run/fast
  backend=quota
  volume_name 1 && mount_volume "$name" 77aa 16 && expect_success
  dd if=/dev/zero of="$folder/file" bs=1M count=5 conv=fsync status=none
  ask status "$name"
  [[ $answer == *"project id "* ]]
  ask list --output json
  expect_status 0
  # Not by the plugin, whose answer would be in the way.
  umount "$folder" /run/fast
  of_list '.backend == "quota" and .pool == "default" and .state == "ready" and .device == null'
  of_list '.sizeBytes == 16777216 and .usedBytes >= 5242880 and .usedBytes < 16777216'
  of_list '.mounts[0].podUID == "77aa"'
}

@test "an unmounted volume, one without a record and one that is gone are told apart" {
  volume_name 1 && mount_volume "$name" && expect_success
  call unmount "$folder" && expect_success
  ask list --output json
  of_list '.state == "ready" and .usedBytes == null and .mounts == []'
  mv "$records/$name" /run/record
  ask list --output json
  of_list '.state == "no-record"'
  ask status "$name"
  expect_status 0
  expect_finding warning record 'none on this host'
  mv /run/record "$records/$name"
  lvremove -qq -y "$group/$name"
  ask list --output json
  of_list '.state == "no-volume"'
  ask status "$name"
  expect_status 1
  expect_finding error volume 'is gone' 'bring back the disk'
}

@test "a stranger's volume is not listed, and its status says whose it is not" {
  volume_name 1
  lvcreate -qq -y -n "$name" -L 16M --addtag somebody "$group"
  ask list --output json
  expect_status 0
  expect_json '.volumes == [] and .notices == []'
  ask status "$name"
  expect_status 1
  [[ $answer == *"state         foreign"* ]]
  expect_finding error volume 'do not say that flexlocal made it' lvrename
  volume_name 2 && ask status "$name"
  expect_status 1
  [ -z "$answer" ]
  [[ $(</run/stderr) == *"is not on this node"* ]]
}

@test "a record that cannot be read is said by all three" {
  volume_name 1 && mount_volume "$name" && expect_success
  call unmount "$folder"
  engine_call settle && expect_success
  echo '{"version":2,' >"$records/$name"
  doctor
  expect_status 1
  expect_finding error records "record /var/lib/flexlocal/volumes/$name" 'move the file away'
  ask list --output json
  of_list '.state == "bad-record"'
  ask status "$name"
  expect_status 1
  # The advice is true: without the file the daemon takes the volume up again by what is on it.
  mv "$records/$name" /run/torn
  restore_record
  call mount "$folder" "$options" && expect_success
}

@test "without node.conf the list says so and shows what it can" {
  volume_name 1 && mount_volume "$name" && expect_success
  rm /etc/flexlocal/node.conf
  ask list --output json
  expect_status 1
  of_list '.state == "ready"'
  expect_json '.notices[0] | contains("node.conf is missing")'
}
