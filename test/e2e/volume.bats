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
  stop_cluster
}

setup() {
  . "$BATS_TEST_DIRNAME/cluster.bash"
}

@test "the installation is applied and becomes ready" {
  free_bytes >"$work/free-before"
  kubectl apply -k "$root/examples/install"
  eventually 60 daemon_is_ready
  on_node /usr/libexec/kubernetes/kubelet-plugins/volume/exec/flexlocal.io~flexlocal/flexlocal --version
}

@test "a StatefulSet's claim becomes an XFS on its own logical volume" {
  kubectl apply -f "$root/examples/storageclass.yaml" -f "$root/examples/statefulset.yaml"
  eventually 90 pod_is_ready store-0
  volume=$(volume_of data-store-0)
  lv_exists "$volume"
  [[ $(kubectl get pv "$volume" -o 'jsonpath={.spec.nodeAffinity}') == *'"node-1"'* ]]
  line=$(in_pod store-0 'grep " /data " /proc/mounts')
  [[ $line == "/dev/mapper/data-${volume//-/--} /data xfs rw,"* ]]
  [[ $line == *nosuid* && $line == *nodev* && $line == *prjquota* ]]
}

@test "the claim of the examples gets a second volume in a pod of its own" {
  kubectl apply -f "$root/examples/pvc.yaml" -f "$root/examples/pod.yaml"
  eventually 90 pod_is_ready writer
  in_pod writer 'echo untouched >/data/file'
}

@test "writing past the size is ENOSPC, and the neighbour does not notice" {
  in_pod store-0 'echo precious >/data/file; sync'
  before=$(in_pod writer 'df -k /data | tail -n 1')
  run in_pod store-0 'dd if=/dev/zero of=/data/fill bs=1M count=600'
  [ "$status" != 0 ]
  [[ $output == *"No space left on device"* ]]
  [ "$(in_pod writer 'df -k /data | tail -n 1')" = "$before" ]
  in_pod writer 'echo more >>/data/file'
  in_pod store-0 'rm /data/fill'
}

@test "a pod that is deleted comes back to its data" {
  before=$(kubectl get pod store-0 -o 'jsonpath={.metadata.uid}')
  kubectl delete pod store-0
  eventually 60 pod_is_ready store-0
  [ "$(kubectl get pod store-0 -o 'jsonpath={.metadata.uid}')" != "$before" ]
  [ "$(in_pod store-0 'cat /data/file')" = precious ]
}

@test "the daemon copies ready into the volume's tags, off the mount's path" {
  ready() { [[ $(on_node lvs --noheadings -o lv_tags "data/$(volume_of data-store-0)") == *flexlocal.io/state=ready* ]]; }
  eventually 90 ready
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
  eventually 90 finds writer untouched
  eventually 90 finds store-0 precious
}

# finds POD TEXT: the pod's file begins with TEXT.
finds() { [[ $(in_pod "$1" 'cat /data/file') == "$2"* ]]; }

@test "deleting pods and claims gives every byte back" {
  volumes=("$(volume_of data-store-0)" "$(volume_of data)")
  kubectl delete -f "$root/examples/pod.yaml" -f "$root/examples/pvc.yaml" -f "$root/examples/statefulset.yaml"
  kubectl delete pvc data-store-0
  for volume in "${volumes[@]}"; do eventually 60 is_gone pv "$volume"; done
  [ "$(on_node lvs --noheadings data)" = "" ]
  [ "$(free_bytes)" = "$(<"$work/free-before")" ]
  [ -z "$(on_node ls /var/lib/flexlocal/volumes)" ]
}

@test "the installation can be taken away again" {
  kubectl delete -k "$root/examples/install"
  on_node /usr/libexec/kubernetes/kubelet-plugins/volume/exec/flexlocal.io~flexlocal/flexlocal uninstall \
    /usr/libexec/kubernetes/kubelet-plugins/volume/exec
  [ -z "$(on_node ls -A /usr/libexec/kubernetes/kubelet-plugins/volume/exec)" ]
}
