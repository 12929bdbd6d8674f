# The whole path on a real node: kubelet, containerd, udev, LVM, XFS, with the manifests of
# examples/ as a user would apply them. The tests build on one another, in this order.

setup_file() {
  export work=$BATS_FILE_TMPDIR image=${IMAGE:?the container image to test}
  . "$BATS_TEST_DIRNAME/cluster.bash"
  start_cluster
  export KUBECONFIG PATH
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/cluster.bash"
  stop_cluster "$node"
}

setup() {
  . "$BATS_TEST_DIRNAME/cluster.bash"
}

@test "the installation is applied and becomes ready" {
  free_bytes >"$work/free-before"
  install_flexlocal
  wait_until daemons_are_ready 1
  on_node /usr/libexec/kubernetes/kubelet-plugins/volume/exec/flexlocal.io~flexlocal/flexlocal --version
}

@test "the cluster daemon runs twice, as nobody in particular, and one of the two leads" {
  wait_until cluster_daemons_are_ready
  wait_until has_leader
  [ "$(kubectl -n flexlocal-system get pods -l app.kubernetes.io/component=cluster \
    -o 'jsonpath={.items[*].status.containerStatuses[0].restartCount}')" = "0 0" ]
}

cluster_daemons_are_ready() {
  [ "$(kubectl -n flexlocal-system get deployment flexlocal-cluster -o 'jsonpath={.status.readyReplicas}')" = 2 ]
}
has_leader() {
  [ -n "$(kubectl -n flexlocal-system get lease flexlocal-cluster -o 'jsonpath={.spec.holderIdentity}')" ]
}

@test "a StatefulSet's claim becomes an XFS on its own logical volume" {
  kubectl apply -f "$root/examples/storageclass.yaml"
  wait_until knows_room flexlocal
  kubectl apply -f "$root/examples/statefulset.yaml"
  wait_until pod_is_ready store-0
  volume=$(volume_of data-store-0)
  lv_exists "$volume"
  [[ $(kubectl get pv "$volume" -o 'jsonpath={.spec.nodeAffinity}') == *'"node-1"'* ]]
  line=$(in_pod store-0 'grep " /data " /proc/mounts')
  [[ $line == "/dev/mapper/data-${volume//-/--} /data xfs rw,"* ]]
  [[ $line == *nosuid* && $line == *nodev* && $line == *prjquota* ]]
}

@test "the claim of the examples gets a second volume in a pod of its own" {
  kubectl apply -f "$root/examples/pvc.yaml" -f "$root/examples/pod.yaml"
  wait_until pod_is_ready writer
  in_pod writer 'echo untouched >/data/file'
}

# All at once: most of their time is the container runtime's.
@test "two more pods share a volume, and classes of other kinds get theirs" {
  make_pod user "$(claim_volume data)" 'securityContext: {fsGroup: 2000}' \
    '{name: v, mountPath: /inner, subPath: inner/part}'
  make_pod reader "$(claim_volume data 'readOnly: true')"
  make_claim small 64Mi 'fsType: ext4, onDelete: zero'
  make_pod small "$(claim_volume small)"
  make_claim thin 320Mi 'backend: thin'
  make_pod thin "$(claim_volume thin)"
  make_claim folder 64Mi 'backend: quota'
  make_pod folder "$(claim_volume folder)"
  for pod in user reader small thin folder; do wait_until pod_is_ready "$pod"; done
}

@test "a pod with fsGroup writes as somebody else than root" {
  [ "$(in_pod user 'id -u')" = 1000 ]
  in_pod user 'echo mine >/data/by-user'
  [ "$(in_pod writer 'cat /data/by-user')" = mine ]
  [ "$(in_pod writer 'stat -c %u:%g /data/by-user')" = 1000:2000 ]
}

@test "a subPath is a part of the same volume" {
  in_pod user 'echo part >/inner/file'
  [ "$(in_pod writer 'cat /data/inner/part/file')" = part ]
}

@test "a pod that asked for it read-only reads what others write, and cannot write" {
  [ "$(in_pod reader 'cat /data/by-user')" = mine ]
  run in_pod reader 'echo no >/data/no'
  [ "$status" != 0 ]
  [[ $output == *"Read-only file system"* ]]
  in_pod writer 'echo still >/data/by-writer'
  [ "$(in_pod reader 'cat /data/by-writer')" = still ]
}

@test "an ext4 class gives an ext4 with a hard limit, too" {
  line=$(in_pod small 'grep " /data " /proc/mounts')
  [[ $line == /dev/mapper/data-pvc--*" /data ext4 rw,"* && $line == *nosuid* && $line == *nodev* ]]
  run in_pod small 'dd if=/dev/zero of=/data/fill bs=1M count=80'
  [ "$status" != 0 ]
  [[ $output == *"No space left on device"* ]]
}

@test "a thin class makes a thin volume in the node's thin pool" {
  [ "$(on_node lvs --noheadings -o pool_lv "data/$(volume_of thin)" | tr -d ' \r\n')" = thin ]
  in_pod thin 'echo thin >/data/file; sync'
  [[ $(in_pod thin 'grep " /data " /proc/mounts') == *" /data xfs rw,"* ]]
}

@test "a quota class makes a folder with a hard limit on the node's shared file system" {
  [[ $(in_pod folder 'grep " /data " /proc/mounts') == "/dev/mapper/data-shared /data xfs rw,"*prjquota* ]]
  run in_pod folder 'dd if=/dev/zero of=/data/fill bs=1M count=80'
  [ "$status" != 0 ]
  [[ $output == *"No space left on device"* ]]
  [ "$(in_pod folder 'du -sm /data' | cut -f 1)" -le 64 ]
}

@test "a pod's author gets nobody's volume by a FlexVolume, whatever it says, and nothing is made" {
  volume=$(volume_of data)
  forged=pvc-$(</proc/sys/kernel/random/uuid)
  options=$(kubectl get pv "$volume" -o json | jq -c '.spec.flexVolume.options')
  kubectl create namespace thief
  kubectl label namespace thief pod-security.kubernetes.io/enforce=privileged
  wait_until kubectl -n thief get serviceaccount default
  is_older_than 1.30 || refused_inline "$volume" "$options"
  # Without its policy the API server takes such pods, once it has heard that it is gone.
  wait_until make_forger thief stolen "$volume" "$options"
  make_forger default copied "$volume" '{"flexlocal.io/copy": "0123456789abcdef"}'
  make_forger default bare "$volume" '{}'
  make_forger default none "$forged" "$options"
  wait_until event_says stolen 'a pod of "thief" may not mount it'
  wait_until event_says copied 'names copy "0123456789abcdef" of the volume; this node has copy'
  wait_until event_says bare "option flexlocal.io/copy is missing"
  wait_until event_says none "has not promised it here"
  for pod in copied bare none; do ! pod_is_ready "$pod" || false; done
  ! kubectl -n thief wait --for=condition=Ready pod/stolen --timeout=0 || false
  ! lv_exists "$forged" || false
  ! on_node test -e "/var/lib/flexlocal/volumes/$forged" || false
  [ "$(in_pod writer 'cat /data/by-user')" = mine ]
  kubectl delete namespace thief
  kubectl delete pod copied bare none
  is_older_than 1.30 || kubectl apply -f "$root/examples/install/admission-policy.yaml"
}

# refused_inline VOLUME OPTIONS: the policy refuses such a pod; then it is taken away.
refused_inline() {
  run make_forger thief stolen "$@"
  [ "$status" != 0 ]
  [[ $output == *'had by a PersistentVolumeClaim'* ]]
  kubectl delete validatingadmissionpolicybinding flexlocal-inline-volumes
}

# make_forger NAMESPACE NAME VOLUME OPTIONS: a pod with an inline volume of that name.
make_forger() {
  jq -n --arg space "$1" --arg name "$2" --arg volume "$3" --argjson options "$4" '{apiVersion: "v1", kind: "Pod",
    metadata: {name: $name, namespace: $space},
    spec: {containers: [{name: "c", image: "busybox:1.37", command: ["sleep", "1000000"],
      volumeMounts: [{name: $volume, mountPath: "/data"}]}], terminationGracePeriodSeconds: 1,
      volumes: [{name: $volume, flexVolume: {driver: "flexlocal.io/flexlocal", fsType: "xfs", options: $options}}]}}' |
    kubectl apply -f -
}

@test "a claim that asks for more grows under its pods" {
  kubectl patch pvc data -p '{"spec":{"resources":{"requests":{"storage":"640Mi"}}}}'
  wait_until claim_offers data 640Mi
  is_larger_than writer 500
  [ "$(in_pod writer 'cat /data/by-user')" = mine ]
  [ "$(on_node lvs --noheadings --units m --nosuffix -o lv_size "data/$(volume_of data)" | tr -d ' \r\n')" = 640.00 ]
}

# is_larger_than POD MIB: what its volume offers, which is less than its size by 64 MiB of log. df
# gives a long name of a device a line of its own.
is_larger_than() { [ "$(in_pod "$1" 'df -m /data | tail -n 1' | awk '{ print $(NF - 4) }')" -gt "$2" ]; }

@test "pods and claims of the other classes go, and their volumes with them" {
  volumes=("$(volume_of small)" "$(volume_of thin)" "$(volume_of folder)")
  kubectl delete pod user reader small thin folder
  kubectl delete pvc small thin folder
  for volume in "${volumes[@]}"; do wait_until is_gone pv "$volume"; done
  [ -z "$(on_node lvs --noheadings -o lv_name --select 'pool_lv=thin' data)" ]
  [ -z "$(on_node find /srv/shared -name "${volumes[2]}*")" ]
}

@test "a pod that finds no room waits, says why, and runs once there is some" {
  kubectl get csidriver flexlocal.io
  # Discarded space is read back, which takes an emulated processor a minute.
  make_claim hog "$(($(free_bytes) / 1048576 - 200))Mi" 'onDelete: none'
  make_pod hog "$(claim_volume hog)"
  wait_until pod_is_ready hog
  make_claim waits 320Mi
  make_pod waits "$(claim_volume waits)"
  wait_until event_says waits 'did not have enough free storage'
  wait_until event_says waits '0 of 1 nodes have 320Mi in pool "default" for backend lvm: 1 pool full'
  kubectl delete pod hog
  kubectl delete pvc hog
  wait_until pod_is_ready waits
  volume=$(volume_of waits)
  kubectl delete pod waits
  kubectl delete pvc waits
  wait_until is_gone pv "$volume"
}

@test "writing past the size is ENOSPC, and the neighbour does not notice" {
  in_pod store-0 'echo precious >/data/file; sync'
  before=$(in_pod writer 'sync; df -k /data | tail -n 1')
  run in_pod store-0 'dd if=/dev/zero of=/data/fill bs=1M count=600'
  [ "$status" != 0 ]
  [[ $output == *"No space left on device"* ]]
  [ "$(in_pod writer 'df -k /data | tail -n 1')" = "$before" ]
  in_pod writer 'echo more >>/data/file'
  in_pod store-0 'rm /data/fill'
}

# What lies behind its end makes another file of a program. The next tests unmount and mount with it;
# the node's daemon puts the image's own back in its place when it starts anew.
# shellcheck disable=SC2016 # for the node's shell
@test "another version of the program takes over while volumes are mounted" {
  on_node sh -c 'set -e
    folder=/usr/libexec/kubernetes/kubelet-plugins/volume/exec
    program=$folder/flexlocal.io~flexlocal/flexlocal
    cp "$program" /srv/other && echo >>/srv/other
    /srv/other install "$folder"
    [ "$(sha256sum <"$program")" = "$(sha256sum </srv/other)" ]
    rm /srv/other'
  [ "$(in_pod store-0 'cat /data/file')" = precious ]
}

@test "a pod that is deleted comes back to its data" {
  before=$(kubectl get pod store-0 -o 'jsonpath={.metadata.uid}')
  kubectl delete pod store-0
  wait_until pod_is_ready store-0
  [ "$(kubectl get pod store-0 -o 'jsonpath={.metadata.uid}')" != "$before" ]
  [ "$(in_pod store-0 'cat /data/file')" = precious ]
}

@test "the daemon copies ready into the volume's tags, off the mount's path" {
  ready() { [[ $(on_node lvs --noheadings -o lv_tags "data/$(volume_of data-store-0)") == *flexlocal.io/state=ready* ]]; }
  wait_until ready
}

@test "the program refuses to go while volumes are mounted" {
  run on_node /usr/libexec/kubernetes/kubelet-plugins/volume/exec/flexlocal.io~flexlocal/flexlocal uninstall \
    /usr/libexec/kubernetes/kubelet-plugins/volume/exec
  [ "$status" = 1 ]
  [[ $output == *"volumes are mounted"*"$(volume_of data-store-0)"* ]]
}

@test "after a power cut of the node the pods find their data" {
  on_node sync
  "$root/test/lab/node" reset "$work" "$node"
  # The pods are Ready by the API's word of before the cut; only the data itself shows that they run.
  wait_until finds writer untouched
  wait_until finds store-0 precious
}

# finds POD TEXT: the pod's file begins with TEXT.
finds() { [[ $(in_pod "$1" 'cat /data/file') == "$2"* ]]; }

@test "deleting pods and claims gives every byte back" {
  volumes=("$(volume_of data-store-0)" "$(volume_of data)")
  kubectl delete -f "$root/examples/pod.yaml" -f "$root/examples/pvc.yaml" -f "$root/examples/statefulset.yaml"
  kubectl delete pvc data-store-0
  for volume in "${volumes[@]}"; do wait_until is_gone pv "$volume"; done
  [ -z "$(on_node lvs --noheadings -o lv_name --select 'lv_name=~^pvc-' data)" ]
  [ "$(free_bytes)" = "$(<"$work/free-before")" ]
  [ -z "$(on_node ls /var/lib/flexlocal/volumes)" ]
}

@test "the installation can be taken away again" {
  kubectl delete -k "$(installation)"
  kubectl delete csidriver flexlocal.io
  on_node /usr/libexec/kubernetes/kubelet-plugins/volume/exec/flexlocal.io~flexlocal/flexlocal uninstall \
    /usr/libexec/kubernetes/kubelet-plugins/volume/exec
  [ -z "$(on_node ls -A /usr/libexec/kubernetes/kubelet-plugins/volume/exec)" ]
  [ "$(on_node sh -c 'ls -d /var/lib/flexlocal* /run/flexlocal* /etc/flexlocal/* 2>/dev/null')" = /etc/flexlocal/node.conf ]
  [[ $(on_node cat /proc/self/mountinfo) != */run/flexlocal* ]]
}
