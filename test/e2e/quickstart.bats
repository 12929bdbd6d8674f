# README's quick start, word for word, on a node that has nothing but kubelet and a disk, in a cluster
# whose pods must keep the standard `restricted`. The tests build on one another, in this order.

setup_file() {
  export work=$BATS_FILE_TMPDIR image=${IMAGE:?the container image to test}
  . "$BATS_TEST_DIRNAME/cluster.bash"
  cp "$image" "$work/image.tar"
  "$root/test/lab/control-plane" up "$work/cluster"
  # shellcheck source=/dev/null
  . "$work/cluster/env"
  export KUBECONFIG PATH
  "$root/test/lab/node" up "$work" "$node" --cluster "$work/cluster" --bare --file "$work/image.tar"
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/cluster.bash"
  stop_cluster "$node"
}

setup() {
  . "$BATS_TEST_DIRNAME/cluster.bash"
}

# step NUMBER [BLOCK]: that block of commands of that step; blocks are what is indented in it.
step() {
  awk -v step="$1" -v block="${2:-1}" '
    /^## / { inside = ($0 == "## Quick start on a cluster"); number = 0 }
    inside && /^[0-9]+\. / { number = $1 + 0; blocks = 0; code = 0 }
    inside && number == step && /^       / { if (!code) blocks++; code = 1; if (blocks == block) print substr($0, 8); next }
    { code = 0 }' "$root/README.md"
}

# node_pod_is PHASE: the installation's pod on the node.
node_pod_is() {
  [ "$(kubectl -n flexlocal-system get pods -l app.kubernetes.io/component=node -o 'jsonpath={.items[*].status.phase}')" = "$1" ]
}

# follow NUMBER [BLOCK]: runs it where it says; one that is not there is a failure.
follow() {
  local commands
  commands=$(step "$@")
  [ -n "$commands" ] || { echo "the quick start has no commands at $*" >&2; return 1; }
  echo "$commands"
  if [[ $commands == "# on each node"* ]]; then
    NODE_EXEC_TIMEOUT=600 on_node sh -c "cd /run/lab/files && set -e
$commands"
  else
    (cd "$root" && bash -ec "$commands")
  fi
}

@test "without a volume group the installation waits, and doctor says what is missing" {
  follow 2 2
  install_flexlocal
  plugin=/usr/libexec/kubernetes/kubelet-plugins/volume/exec/flexlocal.io~flexlocal/flexlocal
  wait_until on_node test -x "$plugin"
  wait_until node_pod_is Running
  ! daemons_are_ready 1 || false
  run follow 4
  [ "$status" != 0 ]
  [[ $output == *"node.conf"* ]]
  on_node sh -c 'mkdir -p /etc/flexlocal && printf "[pool.default]\nvolume-group = data\n" >/etc/flexlocal/node.conf'
  run follow 4
  [ "$status" != 0 ]
  [[ $output == *'volume group "data"'* || $output == *"volume group data"* ]]
  on_node rm /etc/flexlocal/node.conf
  kubectl delete -k "$(installation)"
  on_node rm -r "${plugin%/*}"
}

@test "steps 1 to 3 install it" {
  follow 1
  # Step 2 makes the image; it is the one that is tested here.
  [[ $(step 2) == "make image"* ]]
  if is_older_than 1.25; then
    follow 3 2
    (cd "$root" && bash -ec "$(step 3 | grep -v 'apply -k')")
  else
    follow 3
  fi
  wait_until knows_room flexlocal
}

doctor_knows_kubelet() { follow 4 | grep -E '^ok +init +kubelet called '; }

@test "step 4 finds the node in order, and that kubelet has called the plugin" {
  follow 4
  wait_until doctor_knows_kubelet
}

@test "step 5 ends with a pod that has a file system of its own, of the size that it asked for" {
  wait_until follow 5
  [[ $(in_pod writer 'grep " /data " /proc/mounts') == "/dev/mapper/data-pvc--"*" /data xfs rw,"* ]]
  [ "$(on_node lvs --noheadings --units m -o lv_size "data/$(volume_of data)" | xargs)" = 512.00m ]
  in_pod writer 'echo works >/data/file'
}

@test "a pod that names a FlexVolume itself is refused where the standard is restricted" {
  [ "$(cluster_version "$work/cluster")" != 1.20 ] || skip "version: Kubernetes 1.20 has no Pod Security"
  run kubectl apply -f - <<'END'
apiVersion: v1
kind: Pod
metadata: {name: inline}
spec:
  securityContext: {runAsNonRoot: true, runAsUser: 1000, seccompProfile: {type: RuntimeDefault}}
  containers:
    - {name: c, image: "busybox:1.37", volumeMounts: [{name: v, mountPath: /data}],
       securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}
  volumes: [{name: v, flexVolume: {driver: flexlocal.io/flexlocal}}]
END
  [ "$status" != 0 ]
  [[ $output == *"restricted volume types"*flexVolume* ]]
}
