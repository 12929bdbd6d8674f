# What the API server lets a node's daemon of examples/install-distributed write: for each rule a request that must be
# refused, and one that must pass. Its PersistentVolumes are for claims.bats.

# shellcheck disable=SC2119 # functions whose arguments may be left out
setup_file() {
  export PROVISIONING=distributed
  . "$BATS_TEST_DIRNAME/policies.bash"
  start_cluster
  has_policies || skip "version: this API server has no ValidatingAdmissionPolicies"
  for node in one two; do "$BATS_TEST_DIRNAME/../lab/control-plane" node "$work/cluster" "$node" 16Gi; done
  eventually 30 node_kubeconfig one
  for policy in node-volumes node-leases node-copies node-capacities; do eventually 60 is_checked "flexlocal-$policy"; done
  # The API server hears of a policy some time after it was made; the last one is at work.
  eventually 60 refuses 'only CSIStorageCapacities of that node' as_node create --dry-run=server -f - <<<"$(room two)"
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/policies.bash"
  # Its requests are no daemon's.
  RIGHTS_USED='' stop_cluster
}

setup() { . "$BATS_TEST_DIRNAME/policies.bash"; }

# room NODE [CHANGE]: what a node's daemon tells the scheduler of it, changed by jq.
room() {
  jq -n --arg node "$1" '{apiVersion: "storage.k8s.io/v1", kind: "CSIStorageCapacity",
    metadata: {name: "room-\($node)", namespace: "flexlocal-system", labels: {"flexlocal.io/node": $node}},
    nodeTopology: {matchLabels: {"kubernetes.io/hostname": $node}}, storageClassName: "flexlocal", capacity: "1Gi"} | '"${2:-.}"
}

# patch_room NODE: with the node's token. (kubectl would read it first, which no daemon may.)
patch_room() { patch_as one "/apis/storage.k8s.io/v1/namespaces/flexlocal-system/csistoragecapacities/room-$1" '{"capacity": "2Gi"}'; }

# ordered NODE: a VolumeCopy of it, as a person made it; sets `copy`.
ordered() {
  new_volume
  node=$1 order
}

@test "a node gives its own orders, and none of another node's" {
  ordered two
  kubectl get volumecopy "$copy" -o json | jq 'del(.status, .metadata.uid, .metadata.resourceVersion, .metadata.creationTimestamp,
    .metadata.generation, .metadata.managedFields)' >"$work/copy.json"
  kubectl delete volumecopy "$copy"
  refuses 'may write only VolumeCopies of that node' as_node create -f "$work/copy.json"
  # A label alone does not make it its own.
  refuses 'may write only VolumeCopies of that node' as_node create -f - < <(jq '.metadata.labels["flexlocal.io/node"] = "one"' "$work/copy.json")
  refuses 'may write only VolumeCopies of that node' as_node create -f - < <(jq '.spec.nodeName = "one"' "$work/copy.json")
  jq '.metadata.labels["flexlocal.io/node"] = "one" | .spec.nodeName = "one"' "$work/copy.json" | as_node create -f -
  answer_as_node "$copy"
  as_node patch volumecopy "$copy" --type merge -p '{"spec": {"term": 8}}'
  refuses 'may write only VolumeCopies of that node' as_node label volumecopy "$copy" flexlocal.io/node=two --overwrite
  as_node delete volumecopy "$copy"
}

@test "a node changes, answers and deletes no order of another node" {
  ordered two
  refuses 'may write only VolumeCopies of that node' answer_as_node "$copy"
  refuses 'may write only VolumeCopies of that node' as_node patch volumecopy "$copy" --type merge -p '{"spec": {"desiredState": "Removed"}}'
  refuses 'may write only VolumeCopies of that node' as_node label volumecopy "$copy" flexlocal.io/node=one --overwrite
  refuses 'may write only VolumeCopies of that node' as_node delete volumecopy "$copy"
  says '.spec.desiredState == "Serving" and .spec.nodeName == "two" and .status.host == null'
  kubectl delete volumecopy "$copy"
}

@test "a node beats for itself, and takes no other's Lease nor the leader's" {
  lease node-one | as_node create -f -
  lease node-one | as_node replace -f -
  refuses 'may write only the Lease node-one' as_node create -f - <<<"$(lease node-two)"
  lease node-two | kubectl create -f -
  refuses 'may write only the Lease node-one' as_node replace -f - <<<"$(lease node-two)"
  refuses 'cannot create resource "leases"' as_node create -f - <<<"$(lease flexlocal-cluster flexlocal-system)"
}

@test "a node tells of its own room, and of no other's" {
  room one | as_node create -f -
  patch_room one
  refuses 'only CSIStorageCapacities of that node' as_node create -f - <<<"$(room two)"
  refuses 'only CSIStorageCapacities of that node' \
    as_node create -f - <<<"$(room two '.metadata.labels["flexlocal.io/node"] = "one"')"
  refuses 'only CSIStorageCapacities of that node' \
    as_node create -f - <<<"$(room one '.metadata.name = "wide" | .nodeTopology = {}')"
  room two | kubectl create -f -
  refuses 'only CSIStorageCapacities of that node' patch_room two
  refuses 'cannot delete resource' as_node -n flexlocal-system delete --wait=false csistoragecapacity room-two
}

@test "a token that names no node writes nothing" {
  refuses 'names no node' kubectl --kubeconfig "$work/daemon.kubeconfig" create -f - <<<"$(room one)"
  refuses 'names no node' kubectl --kubeconfig "$work/daemon.kubeconfig" replace -f - <<<"$(lease node-one)"
  ordered one
  refuses 'names no node' kubectl --kubeconfig "$work/daemon.kubeconfig" patch volumecopy "$copy" --type merge -p '{"spec": {"term": 8}}'
  kubectl delete volumecopy "$copy"
}
