# What a class may ask for is in the volume's order; what it may not is refused in words.

setup_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  start_cluster
  make_node worker 4G
  start_daemon worker
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  stop_cluster
}

setup() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
}

teardown() {
  delete_claim data
  kubectl delete storageclass odd --ignore-not-found
  eventually 30 is_gone pvc data
  eventually 30 no_volumes
}

# ordered FILTER: jq's filter is true of the order of the claim `data`'s volume.
ordered() { order_of "$(volume_of data)" | jq -en "input | $1"; }

# wrong TEXT PARAMETER... [-- LINE...]: a class like that is refused.
wrong() {
  make_class odd "${@:2}"
  refused "StorageClass odd: $1" 512Mi odd
}

@test "wiping, limits and mount options are ordered and recorded, and no option that a pod's author could write" {
  make_class odd 'onDelete: none' 'readIOPS: "100"' 'writeIOPS: "200"' 'readBandwidth: 10Mi' \
    'writeBandwidth: 5M' 'ioLimits: required' -- 'mountOptions: [noatime, noexec]'
  make_claim data 512Mi odd
  eventually 30 claim_is data Bound
  ordered '.onDelete == "none" and .mountOptions == ["noatime", "noexec"] and .limits == {readIOPS: 100,
    writeIOPS: 200, readBandwidth: "10Mi", writeBandwidth: "5000000", required: true}'
  jq -en 'input | .onDelete == "none" and .mountOptions == ["noatime", "noexec"] and .readIOPS == "100"
    and .writeIOPS == "200" and .readBandwidth == "10485760" and .writeBandwidth == "5000000"
    and .ioLimits == "required"' "$work/worker/state/volumes/$(volume_of data)"
  kubectl get pv "$(volume_of data)" -o json |
    jq -en 'input | .spec.flexVolume.options | keys == ["flexlocal.io/copy"]'
  # kubelet refuses a FlexVolume with these.
  [ "$(kubectl get pv "$(volume_of data)" -o 'jsonpath={.spec.mountOptions}')" = "" ]
}

@test "an ext4 class makes small volumes, too" {
  make_class odd 'csi.storage.k8s.io/fstype: ext4' 'onDelete: none'
  make_claim data 32Mi odd
  eventually 30 claim_is data Bound
  [ "$(kubectl get pv "$(volume_of data)" -o 'jsonpath={.spec.flexVolume.fsType}')" = ext4 ]
  ordered '.fsType == "ext4"'
}

@test "a mirror takes its room twice" {
  make_node pair 700M 700M
  pool_says pair 'layout = raid1'
  start_daemon pair
  kubectl cordon worker
  make_claim data 512Mi
  eventually 30 claim_is data Bound
  eventually 20 pod_is_on data pair
  [ "$(kubectl get pvc data -o 'jsonpath={.status.capacity.storage}')" = 512Mi ]
  make_claim second 300Mi
  # 2 x 696 MiB less 2 x (512 MiB and an extent of metadata)
  eventually 30 event_says pvc/second ProvisioningFailed \
    "no room on node pair: pool \"default\" has 360 MiB free for backend lvm, 300 MiB asked, and one volume can have 176 MiB"
  delete_claim second
  eventually 30 is_gone pvc second
  kubectl cordon pair
  kubectl uncordon worker
}

@test "a limit of nothing is refused" { wrong 'readIOPS "0" is not a whole number of operations per second, 1 or more' 'readIOPS: "0"'; }

@test "a bandwidth that is no quantity is refused" { wrong 'writeBandwidth "fast" is not a quantity of bytes per second such as 100Mi' 'writeBandwidth: fast'; }

@test "required limits without a limit are refused" { wrong 'ioLimits "required" needs a limit: readIOPS, writeIOPS, readBandwidth or writeBandwidth' 'ioLimits: required'; }

@test "a way to wipe that is not known is refused" { wrong 'onDelete "shred" is not known; accepted: discard, zero, none' 'onDelete: shred'; }

@test "a mount option that weakens the volume is refused" { wrong 'mount option "dev" is not possible here; accepted: noatime, nodiratime, relatime, strictatime, noexec, discard' -- 'mountOptions: [noatime, dev]'; }

@test "zeroing a quota folder is refused, since its blocks are shared" { wrong 'onDelete zero is not possible with backend quota' 'backend: quota' 'onDelete: zero'; }

@test "zeroing a thin volume is refused, since its pool does that" { wrong 'onDelete zero is not possible with backend thin' 'backend: thin' 'onDelete: zero'; }

@test "a node without a thin pool hands the claim back, and says so" {
  make_class odd 'backend: thin'
  refused 'its node.conf has no pool "default" for backend thin, or LVM does not show it' 512Mi odd
  eventually 10 handed_back
}

handed_back() { [ "$(kubectl get pvc data -o json | jq -r '.metadata.annotations["volume.kubernetes.io/selected-node"]')" = null ]; }

# The classes of using.md, on the one pool that there is; with Retain the next test would find the volume.
make_documented_classes() {
  awk '/^    apiVersion: storage/ { print "---"; code = 1 } /^[^ ]/ { code = 0 } code { print substr($0, 5) }' \
    "$BATS_TEST_DIRNAME/../../examples/using.md" | sed -E 's/^(  pool:).*/\1 default/; s/^(reclaimPolicy:).*/\1 Delete/' |
    kubectl apply -f -
}

@test "the classes of using.md are understood" {
  make_documented_classes
  make_claim data 512Mi postgres
  eventually 30 claim_is data Bound
  ordered '.backend == "lvm" and .fsType == "xfs" and .onDelete == "discard" and .mountOptions == ["noatime"]'
  delete_claim data
  eventually 30 is_gone pvc data
  make_claim data 512Mi search
  eventually 30 claim_is data Bound
  ordered '.limits == {readBandwidth: "800Mi", writeBandwidth: "400Mi"}'
  delete_claim data
  eventually 30 is_gone pvc data
  eventually 30 no_volumes
  refused 'its node.conf has no pool "default" for backend quota' 512Mi small
  kubectl delete storageclass postgres search small
}
