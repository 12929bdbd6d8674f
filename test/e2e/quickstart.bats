# README's quick start, word for word, on a node that has nothing but kubelet and a disk, in a cluster
# whose pods must keep the standard `restricted`; then what the other documents say of such an
# installation, its removal, and the quick start with nodes that decide. The tests build on one another,
# in this order.

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
  . "$root/test/lab/documents.bash"
  plugin=/usr/libexec/kubernetes/kubelet-plugins/volume/exec/flexlocal.io~flexlocal/flexlocal
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
  run_commands "$commands"
}

# run_commands TEXT: on the node where it says so.
run_commands() {
  echo "$1"
  if [[ $1 == "# on each node"* ]]; then
    NODE_EXEC_TIMEOUT=600 on_node sh -c "cd /run/lab/files && set -e
$1"
  else
    (cd "$root" && bash -ec "$1")
  fi
}

@test "without a volume group the installation waits, and doctor says what is missing" {
  follow 2 2
  install_flexlocal
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

@test "the commands of operating.md say how the daemons and the volume are" {
  volume=$(volume_of data)
  # The node's Lease has it after a beat.
  wait_until says "$(block operating.md 'Where free space is seen')" "$node " ' lvm ' ' 512 MiB '
  says "$(block operating.md 'What the scheduler knows')" $'\nflexlocal-' " $node"
  of_lease=$(block operating.md 'The daemons')
  says "${of_lease/node-NAME/node-$node}" 'flexlocal.io/ready: "true"'
  says "$(block operating.md 'The daemons' 2)" 'node daemon started' 'cluster daemon started' "$volume"
  of_node=$(block operating.md 'On the node')
  says "# on each node
${of_node/VOLUME/$volume}" 'kubelet called' " $volume " 'default/data'
}

# says COMMANDS TEXT...: what they print has each of the texts.
says() {
  local text
  run run_commands "$1"
  echo "$output"
  [ "$status" = 0 ] || return 1
  for text in "${@:2}"; do [[ $output == *"$text"* ]] || { echo "not said: $text" >&2; return 1; }; done
}

@test "the command of using.md makes the volume grow under its pod" {
  run_commands "$(block using.md Growth)"
  wait_until claim_offers data 1Gi
  [ "$(in_pod writer 'cat /data/file')" = works ]
}

@test "the commands of operating.md make a thin pool that zeroes its blocks" {
  make=$(in_sentence operating.md 'lvcreate --type thin-pool') mend=$(in_sentence operating.md 'lvchange --zero y bulk')
  make=${make//bulk/data}
  run_commands "# on each node
${make/SIZE/200M}"
  zeroes
  on_node lvchange -qq --zero n data/pool0
  [ -z "$(on_node lvs --noheadings -o zero data/pool0 | xargs)" ]
  run_commands "# on each node
${mend//bulk/data}"
  zeroes
  on_node lvremove -qq -f data/pool0
}
zeroes() { [ "$(on_node lvs --noheadings -o zero data/pool0 | xargs)" = zero ]; }

@test "the command of operating.md removes an orphan" {
  kubectl create -f - <<END
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: left
  annotations: {volume.kubernetes.io/selected-node: "$node"}
spec: {storageClassName: flexlocal, accessModes: [ReadWriteOnce], resources: {requests: {storage: 300Mi}}}
END
  wait_until claim_offers left 300Mi
  volume=$(volume_of left)
  wait_until on_node lvs "data/$volume"
  kubectl delete pv "$volume" --wait=false
  kubectl patch pv "$volume" -p '{"metadata":{"finalizers":null}}'
  kubectl delete pvc left
  wait_until is_gone pv "$volume"
  wait_until is_gone pvc left
  copy=$(kubectl get volumecopies -o json | jq -er --arg volume "$volume" '.items[] | select(.spec.volume == $volume).metadata.name')
  on_node lvs "data/$volume"
  command=$(block operating.md Orphans)
  run_commands "${command/NAME/$copy}"
  wait_until is_gone volumecopy "$copy"
  run on_node lvs "data/$volume"
  [ "$status" != 0 ]
  [[ $output == *"Failed to find logical volume"* ]]
}

@test "the command of operating.md starts the node daemons anew, and the pod keeps its volume" {
  before=$(node_pod)
  run_commands "$(in_sentence operating.md 'kubectl -n flexlocal-system rollout restart')"
  run_commands "$(step 3 | grep 'rollout status')"
  [ "$(node_pod)" != "$before" ]
  [ "$(in_pod writer 'cat /data/file')" = works ]
}
node_pod() {
  kubectl -n flexlocal-system get pods -l app.kubernetes.io/component=node -o json |
    jq -er '.items[] | select(.metadata.deletionTimestamp == null).metadata.uid'
}

@test "the removal refuses while there is a volume, and after that leaves nothing" {
  volume=$(volume_of data) commands=$(block operating.md Removal)
  of_cluster=${commands%%# on each node*} of_node="# on each node${commands#*# on each node}"
  [[ $of_cluster == *"kubectl delete -k examples/install"* && $of_node == *uninstall* ]]
  run run_commands "$of_node"
  [ "$status" != 0 ]
  [[ $output == *"$volume"* ]]
  kubectl delete -f "$root/examples/pod.yaml" -f "$root/examples/pvc.yaml"
  wait_until is_gone pv "$volume"
  run_commands "${of_cluster/-k examples\/install/-k $(installation)}"
  run_commands "$of_node"
  left=$(flexlocal_objects)
  [ -z "$left" ] || { echo "$left"; return 1; }
  left=$(on_node sh -c "ls -d ${plugin%/*} /var/lib/flexlocal /run/flexlocal 2>/dev/null || true")
  [ -z "$left" ]
  [ "$(kubectl get nodes -o json | jq '[.items[].metadata.labels | keys[] | select(startswith("flexlocal.io/"))] | length')" = 0 ]
}
flexlocal_objects() {
  local names kind kinds=(namespaces clusterroles clusterrolebindings customresourcedefinitions csidrivers)
  is_older_than 1.30 || kinds+=(validatingadmissionpolicies validatingadmissionpolicybindings flowschemas prioritylevelconfigurations)
  for kind in "${kinds[@]}"; do
    names=$(kubectl get "$kind" -o name) || return 1
    grep flexlocal <<<"$names" || true
  done
}

# has_the_patches: kustomize's, of the overlay.
has_the_patches() { ! is_older_than 1.31 || skip "version: this kubectl does not take the patches"; }

@test "steps 3 and 5 with examples/install-distributed: the node's own daemon gives the pod its volume" {
  has_the_patches
  apply_folder "$root/examples/install-distributed"
  run_commands "$(step 3 | grep -v 'apply -k')"
  wait_until knows_room flexlocal
  free_bytes >"$work/free-before"
  wait_until follow 5
  [[ $(in_pod writer 'grep " /data " /proc/mounts') == "/dev/mapper/data-pvc--"*" /data xfs rw,"* ]]
  [ "$(kubectl -n flexlocal-nodes get lease "node-$node" -o 'jsonpath={.metadata.annotations.flexlocal\.io/provisioning}')" = distributed ]
  jq -en --arg volume "$(volume_of data)" '[inputs | select(.verb == "create" and .responseStatus.code == 201
    and .objectRef.resource == "persistentvolumes" and .objectRef.name == $volume).user.username]
    == ["system:serviceaccount:flexlocal-system:flexlocal-node"]' "$work/cluster/audit.log"
}

@test "that volume is limited hard, and the next pod finds its data" {
  has_the_patches
  in_pod writer 'echo precious >/data/file; sync'
  run in_pod writer 'dd if=/dev/zero of=/data/fill bs=1M count=600'
  [ "$status" != 0 ]
  [[ $output == *"No space left on device"* ]]
  in_pod writer 'rm /data/fill'
  before=$(kubectl get pod writer -o 'jsonpath={.metadata.uid}')
  kubectl delete pod writer
  wait_until follow 5
  [ "$(kubectl get pod writer -o 'jsonpath={.metadata.uid}')" != "$before" ]
  [ "$(in_pod writer 'cat /data/file')" = precious ]
}

@test "when its claim is deleted, that volume is gone from the node and from the API" {
  has_the_patches
  volume=$(volume_of data)
  lv_exists "$volume"
  kubectl delete -f "$root/examples/pod.yaml" -f "$root/examples/pvc.yaml"
  wait_until is_gone pv "$volume"
  ! lv_exists "$volume" || false
  [ "$(free_bytes)" = "$(<"$work/free-before")" ]
  left=$(on_node ls /var/lib/flexlocal/volumes)
  [ -z "$left" ]
  # The object stays for a while, so that nobody takes an answer that comes late for a new one.
  kubectl get volumecopies -o json | jq -en --arg volume "$volume" 'input | all(.items[]; .spec.volume == $volume and .status.state == "Removed")'
}
