# What the API server lets the daemons of examples/install write: for each rule a request that must be
# refused, and one that must pass.

# shellcheck disable=SC2086,SC2119 # commands in variables, and functions whose arguments may be left out
setup_file() {
  . "$BATS_TEST_DIRNAME/policies.bash"
  start_cluster
  has_policies || skip "version: this API server has no ValidatingAdmissionPolicies"
  for node in one two; do "$BATS_TEST_DIRNAME/../lab/control-plane" node "$work/cluster" "$node" 16Gi; done
  eventually 30 node_kubeconfig one
  for policy in node-copies node-leases node-events cluster-volumes cluster-changes cluster-driver inline-volumes; do
    eventually 60 is_checked "flexlocal-$policy"
  done
  # The API server hears of a policy some time after it was made; the last one is at work.
  eventually 60 refuses 'had by a PersistentVolumeClaim' kubectl create --dry-run=server -f - <<<"$(inline_pod)"
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/policies.bash"
  # Its requests are no daemon's.
  RIGHTS_USED='' stop_cluster
}

setup() { . "$BATS_TEST_DIRNAME/policies.bash"; }

@test "a node says what became of its own orders, and of no others" {
  new_volume
  node=one order
  answer_as_node "$copy"
  says '.status.host != null'
  refuses 'cannot patch resource' as_node patch volumecopy "$copy" --type merge -p '{"spec": {"term": 8}}'
  new_volume
  node=two order
  refuses 'only the status of VolumeCopies whose spec.nodeName is that node' \
    answer_as_node "$copy"
  says '.status.host == null'
  kubectl delete volumecopies --all
}

@test "a node beats for itself, and takes no other's Lease nor the leader's" {
  lease node-one | as_node create -f -
  refuses 'only the Lease node-one' as_node create -f - <<<"$(lease node-two)"
  refuses 'only the Lease node-one' as_node create -f - <<<"$(lease flexlocal-cluster)"
  refuses 'cannot create resource "leases"' as_node create -f - <<<"$(lease flexlocal-cluster flexlocal-system)"
  lease flexlocal-cluster flexlocal-system | kubectl create -f -
  refuses 'cannot get resource "leases"' as_node get -n flexlocal-system lease flexlocal-cluster
  refuses 'cannot update resource' request_as one /apis/coordination.k8s.io/v1/namespaces/flexlocal-system/leases/flexlocal-cluster \
    -X PUT -H 'Content-Type: application/json' -d "$(lease flexlocal-cluster flexlocal-system)"
}

@test "a node speaks of its own Node only" {
  event Node one | as_node create -f -
  refuses 'only events on that Node' as_node create -f - <<<"$(event Node two)"
  refuses 'only events on that Node' as_node create -f - <<<"$(event PersistentVolumeClaim one)"
  own=$(event Node one | as_node create -f - -o 'jsonpath={.metadata.name}')
  others=$(event Node two | kubectl create -f - -o 'jsonpath={.metadata.name}')
  event_as_node "$own"
  refuses 'only events on that Node' event_as_node "$others"
}

@test "a node's token that names no node writes nothing" {
  lease node-one | kubectl apply -f -
  refuses 'names no node' kubectl --kubeconfig "$work/daemon.kubeconfig" replace -f - <<<"$(lease node-one)"
}

@test "a node reads no claim, pod or Secret, and writes no volume" {
  for what in 'get secrets' 'list pods' 'list persistentvolumeclaims' 'patch persistentvolumeclaims' \
    'create persistentvolumes' 'get persistentvolumes' 'patch nodes' 'delete volumecopies' 'create volumecopies'; do
    # shellcheck disable=SC2086 # two words
    [ "$(as_node auth can-i $what -A)" = no ]
  done
}

@test "kubelet's own identity gives no order, answers none, and gets no token of the daemons" {
  as_kubelet get node one # it is one that the API server knows
  new_volume
  node=one order
  for what in 'get volumecopies' 'patch volumecopies' 'patch volumecopies/status' 'create volumecopies' 'delete volumecopies' \
    'create persistentvolumes' 'patch persistentvolumes' 'patch persistentvolumeclaims' 'list secrets' \
    'patch leases.coordination.k8s.io' 'patch csistoragecapacities'; do
    # with its reason, where it has one
    [[ $(as_kubelet auth can-i ${what/volumecopies\/status/volumecopies --subresource=status} -n flexlocal-nodes) == no* ]] || {
      echo "may $what" >&2
      return 1
    }
  done
  lease node-one | kubectl apply -f -
  refuses 'forbidden' as_kubelet replace -f - <<<"$(lease node-one)"
  refuses 'forbidden' as_kubelet create token flexlocal-cluster -n flexlocal-system
  refuses 'forbidden' as_kubelet create token flexlocal-node -n flexlocal-system
  refuses 'is not allowed to modify node' label_as_kubelet two
  label_as_kubelet one
  kubectl delete volumecopies --all
}

@test "the leader makes volumes of flexlocal's shape, each for the claim that it is named after" {
  volume_of_shape . | as_leader create -f -
  for change in '.spec.flexVolume.driver = "another/driver"' 'del(.metadata.annotations)' \
    'del(.spec.flexVolume) | .spec.hostPath = {path: "/"}'; do
    refuses 'only PersistentVolumes that flexlocal provisioned' as_leader create -f - <<<"$(volume_of_shape "$change")"
  done
  for change in '.spec.flexVolume.secretRef = {name: "x", namespace: "kube-system"}' '.metadata.name = "pvc-b"' \
    'del(.spec.claimRef)' 'del(.spec.claimRef.uid)' 'del(.spec.nodeAffinity)' 'del(.metadata.labels)' \
    '.spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key = "a"' \
    '.metadata.ownerReferences = [{apiVersion: "v1", kind: "Pod", name: "x", uid: "y"}]'; do
    refuses 'make only PersistentVolumes pvc-' as_leader create -f - <<<"$(volume_of_shape "$change")"
  done
}

@test "of volumes the leader changes the capacity and takes its finalizer away, and of others nothing" {
  for change in '{"spec": {"claimRef": {"name": "mine"}}}' '{"spec": {"persistentVolumeReclaimPolicy": "Delete"}}' \
    '{"spec": {"mountOptions": ["suid"]}}' '{"spec": {"accessModes": ["ReadWriteMany"]}}' '{"spec": {"storageClassName": "other"}}' \
    '{"metadata": {"finalizers": ["a.io/b"]}}' '{"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "y"}]}}'; do
    refuses 'may change only the capacity' as_leader patch pv pvc-a -p "$change"
  done
  refuses 'only PersistentVolumes that flexlocal provisioned' as_leader patch pv pvc-a -p '{"metadata": {"annotations": null}}'
  as_leader patch pv pvc-a -p '{"spec": {"capacity": {"storage": "2Gi"}}}'
  as_leader patch pv pvc-a --type json -p '[{"op": "test", "path": "/metadata/finalizers/0", "value": "flexlocal.io/reclaim"},
    {"op": "remove", "path": "/metadata/finalizers/0"}]'
  # What kube-controller-manager protects stays so, but for one that is being deleted.
  kubectl patch pv pvc-a --type merge -p '{"metadata": {"finalizers": ["kubernetes.io/pv-protection", "a.io/b"]}}'
  refuses 'may change only the capacity' as_leader patch pv pvc-a --type merge -p '{"metadata": {"finalizers": ["a.io/b"]}}'
  as_leader delete pv pvc-a --wait=false
  refuses 'may change only the capacity' as_leader patch pv pvc-a --type merge -p '{"metadata": {"finalizers": null}}'
  as_leader patch pv pvc-a --type merge -p '{"metadata": {"finalizers": ["a.io/b"]}}'
  kubectl patch pv pvc-a --type merge -p '{"metadata": {"finalizers": null}}'
  volume_of_shape 'del(.spec.flexVolume) | .spec.hostPath = {path: "/"} | .metadata.name = "theirs"' | kubectl create -f -
  refuses 'only PersistentVolumes that flexlocal provisioned' as_leader delete pv theirs
  refuses 'only PersistentVolumes that flexlocal provisioned' as_leader patch pv theirs -p '{"spec": {"capacity": {"storage": "2Gi"}}}'
  kubectl patch pv theirs --type merge -p '{"metadata": {"finalizers": null}}'
  kubectl delete pv theirs
}

@test "of claims the leader takes the chosen node back and writes the status, and nothing else" {
  make_claim_for one data
  for as in 'as_leader patch pvc data -p' 'claim_status_as_leader data'; do
    for change in '{"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "y"}]}}' \
      '{"metadata": {"finalizers": ["a.io/b"]}}'; do
      refuses 'may not change the spec, finalizers or ownerReferences' $as "$change"
    done
    refuses 'may change no label' $as '{"metadata": {"labels": {"flexlocal.io/ready": "true"}}}'
    refuses 'may change no annotation' $as '{"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "two"}}}'
    refuses 'may change no annotation' $as '{"metadata": {"annotations": {"a": "b"}}}'
  done
  refuses 'may not change the spec' as_leader patch pvc data -p '{"spec": {"volumeName": "x"}}'
  refuses 'may change no annotation' claim_status_as_leader data '{"metadata": {"annotations": {"volume.kubernetes.io/selected-node": null}}}'
  refuses 'cannot delete' as_leader delete pvc data
  eventually 30 is_marked data
  claim_status_as_leader data '{"status": {"conditions": [{"type": "FileSystemResizePending", "status": "True"}]}}'
  as_leader patch pvc data -p '{"metadata": {"annotations": {"volume.kubernetes.io/selected-node": null}}}'
  kubectl delete pvc data
  make_class other -- && kubectl get storageclass other -o json | jq '.provisioner = "other.io" | .metadata = {name: "others"}' | kubectl create -f -
  make_claim_for one data others
  refuses 'of claims of flexlocal' as_leader patch pvc data -p '{"metadata": {"annotations": {"volume.kubernetes.io/selected-node": null}}}'
  kubectl delete pvc data
}
is_marked() { [ "$(kubectl get pvc "$1" -o 'jsonpath={.metadata.annotations.volume\.kubernetes\.io/storage-provisioner}')" = flexlocal.io ]; }

@test "the leader registers flexlocal's driver, and no other" {
  refuses 'may make only the CSIDriver' as_leader create -f - <<<"$(csi_driver another.io)"
  csi_driver flexlocal.io | as_leader create -f -
  kubectl delete csidriver flexlocal.io
}

@test "of Nodes the leader writes the label flexlocal.io/ready, and nothing else" {
  as_leader label node one flexlocal.io/ready=true
  as_leader label node one flexlocal.io/ready=false --overwrite
  as_leader label node one flexlocal.io/ready-
  refuses 'may change no label' as_leader label node one a=b
  refuses 'may change no label' as_leader label node one kubernetes.io/hostname-
  refuses 'may change no annotation' as_leader annotate node one a=b
  refuses 'may not change the spec' as_leader patch node one -p '{"spec": {"unschedulable": true}}'
}

@test "no pod has a volume of flexlocal inline" {
  refuses 'had by a PersistentVolumeClaim' kubectl create -f - <<<"$(inline_pod)"
  inline_pod | sed s,flexlocal.io/flexlocal,another.io/driver, | kubectl create --dry-run=server -f -
  make_pod data
  kubectl delete pod data --grace-period=0 --force
}

@test "the daemons' requests have queues of their own, and their Leases another" {
  kubectl apply -k "$examples/install/flow-control"
  lease node-one | kubectl apply -f -
  eventually 60 is_in_flow flexlocal-leases one /apis/coordination.k8s.io/v1/namespaces/flexlocal-nodes/leases/node-one
  eventually 60 is_in_flow flexlocal one /apis/flexlocal.io/v1alpha1/volumecopies
  eventually 60 is_in_flow flexlocal leader /api/v1/persistentvolumes
  eventually 60 is_in_flow flexlocal-leases leader /apis/coordination.k8s.io/v1/namespaces/flexlocal-nodes/leases
  ! is_in_flow flexlocal leader /apis/coordination.k8s.io/v1/namespaces/flexlocal-nodes/leases || false
  kubectl get flowschemas -o json | jq -en 'input | all(.items[] | select(.metadata.name | startswith("flexlocal"));
    any(.status.conditions[]; .type == "Dangling" and .status == "False"))'
}
