# Claims become volumes: the real daemon against a real control plane, with the shipped RBAC.

setup_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  start_cluster
  make_node small 700M
  make_node large 8G
  kubectl cordon large
  start_daemon small
  start_daemon large
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
  kubectl cordon large
  kubectl uncordon small
  eventually 30 is_gone pvc data
  eventually 30 no_volumes
}

@test "a late-bound claim is bound to a volume of the selected node" {
  make_claim data 512Mi
  eventually 30 claim_is data Bound
  volume=$(volume_of data)
  kubectl get pv "$volume" -o json | jq -en --arg uid "$(kubectl get pvc data -o 'jsonpath={.metadata.uid}')" \
    --arg cluster "$(kubectl get namespace kube-system -o 'jsonpath={.metadata.uid}')" 'input |
    (.metadata.annotations["flexlocal.io/order"] | fromjson) as $order |
    .metadata.name == "pvc-" + $uid and .spec.claimRef.uid == $uid
    and .metadata.annotations["pv.kubernetes.io/provisioned-by"] == "flexlocal.io"
    and .metadata.labels["flexlocal.io/node"] == "small"
    and (.metadata.finalizers | contains(["flexlocal.io/reclaim"]))
    and .spec.storageClassName == "flexlocal" and .spec.capacity.storage == "512Mi"
    and .spec.persistentVolumeReclaimPolicy == "Delete"
    and .spec.nodeAffinity.required.nodeSelectorTerms
      == [{matchExpressions: [{key: "kubernetes.io/hostname", operator: "In", values: ["small"]}]}]
    and .spec.flexVolume.driver == "flexlocal.io/flexlocal" and .spec.flexVolume.fsType == "xfs"
    and .spec.flexVolume.options == {"flexlocal.io/copy": $order.copy}
    and ($order.copy | test("^[0-9a-f]{16}$")) and $order.volume == .metadata.name
    and $order.clusterID == $cluster and $order.claim == {namespace: "default", name: "data", uid: $uid}
    and $order.backend == "lvm" and $order.pool == "default" and $order.size == "512Mi"
    and $order.onDelete == "none" and $order.nodeName == "small"'
  # By which the plugin mounts.
  order_of "$volume" | jq -en 'input as $order | input | (.state == "promised" or .state == "intent") and .copy == $order.copy
    and .claimUID == $order.claim.uid and .claimNamespace == "default" and .size == "536870912"' \
    - "$work/small/state/volumes/$volume"
  eventually 10 event_says pvc/data ProvisioningSucceeded "512 MiB"
  eventually 10 pod_is_on data small
}

@test "the size is rounded up to whole extents, and the capacity says so" {
  make_claim data 330M
  eventually 30 claim_is data Bound
  [ "$(kubectl get pvc data -o 'jsonpath={.status.capacity.storage}')" = 316Mi ]
}

@test "without room the claim goes back to the scheduler, which finds the node that has it" {
  make_claim data 2Gi
  eventually 30 event_says pvc/data ProvisioningFailed "no room on node small: pool \"default\" has 696 MiB free for backend lvm, 2 GiB asked"
  kubectl cordon small
  kubectl uncordon large
  eventually 60 claim_is data Bound
  [ "$(kubectl get pv "$(volume_of data)" -o 'jsonpath={.metadata.labels.flexlocal\.io/node}')" = large ]
}

@test "what is promised is not promised twice, though nothing is on the disk yet" {
  make_claim data 400Mi
  eventually 30 claim_is data Bound
  make_claim second 400Mi
  eventually 30 event_says pvc/second ProvisioningFailed "has 296 MiB free for backend lvm, 400 MiB asked"
  delete_claim second
  eventually 30 is_gone pvc second
}

# lose_claim NODE VOLUME: the record says what tags say, and for nobody: as one that was made anew from
# the disk, which needs device-mapper.
lose_claim() {
  local record=$work/$1/state/volumes/$2 less
  kill_daemon "$1"
  less=$(jq -c 'del(.claimUID, .readIOPS, .mountOptions) | .accessMode = "ReadWriteOnce"' "$record")
  echo "$less" >"$record"
  start_daemon "$1"
}

@test "the access mode is recorded on the host with the promise, and stays when the list is edited" {
  strictest_mode
  make_claim data 320Mi flexlocal "accessModes: [$mode]"
  eventually 30 claim_is data Bound
  volume=$(volume_of data)
  record_says small "$volume" "$mode" data
  [ "$(kubectl get pv "$volume" -o 'jsonpath={.spec.accessModes}')" = "[\"$mode\"]" ]
  kubectl patch pv "$volume" --type merge -p '{"spec":{"accessModes":["ReadWriteOnce"]}}'
  # Where the other record is completed, this one has been looked at as well.
  make_claim second 300Mi
  eventually 30 claim_is second Bound
  lose_claim small "$(volume_of second)"
  eventually 30 record_says small "$(volume_of second)" ReadWriteOnce second
  record_says small "$volume" "$mode" data
  delete_claim second
  eventually 30 is_gone pvc second
}

@test "a record that says what tags say is completed from the PersistentVolume" {
  strictest_mode
  make_class limited 'onDelete: none' 'readIOPS: "100"' -- 'mountOptions: [noatime]'
  make_claim data 512Mi limited "accessModes: [$mode]"
  eventually 30 claim_is data Bound
  volume=$(volume_of data)
  before=$(jq -c .copy "$work/small/state/volumes/$volume")
  lose_claim small "$volume"
  eventually 30 record_says small "$volume" "$mode" data
  jq -en --argjson copy "$before" 'input | .copy == $copy and .readIOPS == "100"
    and .mountOptions == ["noatime"]' "$work/small/state/volumes/$volume"
  kubectl delete storageclass limited
}

@test "volumeMode Block is refused in words" {
  refused "volumeMode Block is not supported" 512Mi flexlocal $'accessModes: [ReadWriteOnce]\n  volumeMode: Block'
}

@test "a volume for many nodes is refused in words" {
  refused "access mode ReadWriteMany is not possible" 512Mi flexlocal "accessModes: [ReadWriteMany]"
}

# 1.20 drops the first, and knows of no kinds but two.
@test "volume attributes are refused in words, before a volume is made that nothing binds" {
  [[ $(kubectl explain pvc.spec) == *volumeAttributesClassName* ]] || skip "version: this Kubernetes has none"
  refused "volumeAttributesClassName gold is not supported" 512Mi flexlocal \
    $'accessModes: [ReadWriteOnce]\n  volumeAttributesClassName: gold'
}

@test "on a claim that is bound volume attributes do no harm" {
  [[ $(kubectl explain pvc.spec) == *volumeAttributesClassName* ]] || skip "version: this Kubernetes has none"
  make_claim data 320Mi
  eventually 30 claim_is data Bound
  kubectl patch pvc data -p '{"spec": {"volumeAttributesClassName": "gold"}}'
  eventually 10 pod_is_on data small
  # The daemon has seen the change once it has seen what came after it.
  make_claim after 300Mi
  eventually 30 claim_is after Bound
  claim_is data Bound
  ! event_says pvc/data ProvisioningFailed volumeAttributes || false
  delete_claim after
  eventually 30 is_gone pvc after
}

@test "data sources of every kind are refused in words" {
  refused "dataSource is not supported: a local volume starts empty" 512Mi flexlocal \
    $'accessModes: [ReadWriteOnce]\n  dataSource: {kind: PersistentVolumeClaim, name: other}'
  delete_claim data
  eventually 30 is_gone pvc data
  refused "dataSource is not supported: a local volume starts empty" 512Mi flexlocal \
    $'accessModes: [ReadWriteOnce]\n  dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: s}'
  [[ $(kubectl explain pvc.spec) == *dataSourceRef* ]] || return 0
  delete_claim data
  eventually 30 is_gone pvc data
  refused "dataSource is not supported: a local volume starts empty" 512Mi flexlocal \
    $'accessModes: [ReadWriteOnce]\n  dataSourceRef: {apiGroup: example.org, kind: Anything, name: x}'
}

@test "a volume too small for its file system is refused in words" {
  refused "100 MiB is too small: an xfs file system needs at least 300 MiB" 100Mi
}

@test "an unknown class parameter is refused with what is accepted, and works once it is mended" {
  make_class odd 'color: blue'
  refused 'parameter "color" is not known; accepted: backend, pool, fsType, diskPerRam, sizeFrom, onDelete, readIOPS, writeIOPS, readBandwidth, writeBandwidth, ioLimits' 512Mi odd
  kubectl delete storageclass odd
  make_class odd 'onDelete: none'
  eventually 30 claim_is data Bound
  kubectl delete storageclass odd
}

@test "another provisioner's claim is left alone" {
  kubectl apply -f - <<END
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: other}
provisioner: example.com/other
volumeBindingMode: WaitForFirstConsumer
END
  make_claim data 512Mi other
  make_claim ours 300Mi
  eventually 30 claim_is ours Bound
  claim_is data Pending
  delete_claim ours
  kubectl delete storageclass other
}

# create_volume ACCOUNT [CHANGE]: with that kubeconfig, a PersistentVolume as a node's daemon makes them,
# changed by jq; nothing is left of it.
create_volume() {
  jq -n --arg uid "$(</proc/sys/kernel/random/uuid)" '
    {apiVersion: "v1", kind: "PersistentVolume",
     metadata: {name: "pvc-\($uid)", labels: {"flexlocal.io/node": "small"},
       annotations: {"pv.kubernetes.io/provisioned-by": "flexlocal.io"}},
     spec: {capacity: {storage: "1Gi"}, accessModes: ["ReadWriteOnce"], storageClassName: "flexlocal",
       claimRef: {namespace: "default", name: "data", uid: $uid},
       flexVolume: {driver: "flexlocal.io/flexlocal"},
       nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions:
         [{key: "kubernetes.io/hostname", operator: "In", values: ["small"]}]}]}}}}
    | '"${2:-.}" | kubectl --kubeconfig "$work/$1.kubeconfig" create --dry-run=server -f -
}

# The node's kubelet could read it.
@test "with a node's token no PersistentVolume is made that names a Secret" {
  if is_central; then
    run kubectl auth can-i create persistentvolumes --as=system:serviceaccount:flexlocal-system:flexlocal-node
    [ "${lines[-1]}" = no ]
    return
  fi
  has_policies || skip "this Kubernetes has no policies that say what a node may write"
  create_volume small
  for change in '.spec.flexVolume.secretRef = {namespace: "kube-system", name: "any"}' \
    '.metadata.name = "pvc-other"' '.metadata.labels["flexlocal.io/node"] = "large"' \
    '.metadata.ownerReferences = [{apiVersion: "v1", kind: "Node", name: "small", uid: "u"}]'; do
    run create_volume small "$change"
    echo "$change: $output"
    [ "$status" != 0 ]
    [[ $output == *"may "*"only PersistentVolumes"* ]]
  done
}
