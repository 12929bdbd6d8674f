# What the API server lets the daemons of examples/central write: for each rule a request that must be
# refused, and one that must pass.

# shellcheck disable=SC2119 # functions whose arguments may be left out
setup_file() {
  . "$BATS_TEST_DIRNAME/policies.bash"
  start_cluster
  has_policies || skip "version: this API server has no ValidatingAdmissionPolicies"
  apply_definition
  give_central_rights
  for node in one two; do "$BATS_TEST_DIRNAME/../lab/control-plane" node "$work/cluster" "$node" 16Gi; done
  eventually 30 node_kubeconfig one
  eventually 30 account_kubeconfig flexlocal-cluster leader
  for policy in node-copies node-leases node-events cluster-volumes cluster-changes inline-volumes; do
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
  lease flexlocal-cluster | kubectl create -f -
  refuses 'only the Lease node-one' as_node replace -f - <<<"$(lease flexlocal-cluster)"
}

@test "a node speaks of its own Node only" {
  event Node one | as_node create -f -
  refuses 'only events on that Node' as_node create -f - <<<"$(event Node two)"
  refuses 'only events on that Node' as_node create -f - <<<"$(event PersistentVolumeClaim one)"
}

@test "a node's token that names no node writes nothing" {
  kubectl --kubeconfig "$work/daemon.kubeconfig" -n flexlocal-system get lease node-one
  refuses 'names no node' kubectl --kubeconfig "$work/daemon.kubeconfig" replace -f - <<<"$(lease node-one)"
}

@test "a node reads no claim, pod or Secret, and writes no volume" {
  for what in 'get secrets' 'list pods' 'list persistentvolumeclaims' 'patch persistentvolumeclaims' \
    'create persistentvolumes' 'get persistentvolumes' 'patch nodes' 'delete volumecopies' 'create volumecopies'; do
    # shellcheck disable=SC2086 # two words
    [ "$(as_node auth can-i $what -A)" = no ]
  done
}

@test "the leader makes volumes of flexlocal's shape, and no others" {
  volume_of_shape . | as_leader create -f -
  for change in '.spec.flexVolume.secretRef = {name: "x", namespace: "kube-system"}' '.metadata.name = "mine"' \
    '.spec.flexVolume.driver = "another/driver"' 'del(.metadata.annotations)' \
    'del(.spec.flexVolume) | .spec.hostPath = {path: "/"}'; do
    refuses 'may write only PersistentVolumes pvc-' as_leader create -f - <<<"$(volume_of_shape ".metadata.name = \"pvc-b\" | $change")"
  done
  volume_of_shape 'del(.spec.flexVolume) | .spec.hostPath = {path: "/"} | .metadata.name = "theirs"' | kubectl create -f -
  refuses 'may write only PersistentVolumes pvc-' as_leader delete pv theirs
  refuses 'may write only PersistentVolumes pvc-' as_leader patch pv theirs -p '{"metadata": {"annotations": {"a": "b"}}}'
  as_leader patch pv pvc-a -p '{"spec": {"capacity": {"storage": "2Gi"}}}'
  as_leader delete pv pvc-a --wait=false
  kubectl delete pv theirs
}

@test "of claims the leader takes the chosen node back, and nothing else" {
  make_claim_for one data
  for change in '{"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "y"}]}}' \
    '{"metadata": {"finalizers": ["a.io/b"]}}' '{"spec": {"volumeName": "x"}}'; do
    refuses 'may not change the spec, finalizers or ownerReferences' as_leader patch pvc data -p "$change"
  done
  refuses 'may change no label' as_leader patch pvc data -p '{"metadata": {"labels": {"flexlocal.io/ready": "true"}}}'
  refuses 'may change no annotation' as_leader patch pvc data -p '{"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "two"}}}'
  refuses 'may change no annotation' as_leader patch pvc data -p '{"metadata": {"annotations": {"a": "b"}}}'
  refuses 'cannot delete' as_leader delete pvc data
  as_leader patch pvc data -p '{"metadata": {"annotations": {"volume.kubernetes.io/selected-node": null}}}'
  kubectl delete pvc data
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
