# The stock scheduler knows where there is room: real daemons of both roles, two nodes of different
# size, and a scheduler that asks for room (that of Kubernetes 1.20 by a gate).

setup_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  export leader=first
  start_cluster
  own_objects
  eventually 30 account_kubeconfig flexlocal-cluster first
  make_class lean 'diskPerRam: "0.05"'
  make_node small 2G
  make_node large 4G
  start_daemon small --capacity-poll-interval=2s
  start_daemon large --capacity-poll-interval=2s
  start_cluster_daemon first --capacity-poll-interval=2s
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  stop_cluster
}

setup() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
}

# The shipped DaemonSet, for no node: it only is to own.
own_objects() {
  kubectl create -f "$examples/install/core/daemonset.yaml" --dry-run=client -o json |
    jq '.spec.template.spec.nodeSelector = {"flexlocal.io/lab": "none"}' | kubectl apply -f -
}

capacities() { kubectl -n flexlocal-system get csistoragecapacities "$@"; }

# room NODE [CLASS]: what the scheduler is told, in bytes; nothing where it is told nothing.
room() {
  capacities -l "flexlocal.io/node=$1" -o json |
    jq -r --arg class "${2:-flexlocal}" '.items[] | select(.storageClassName == $class) | .capacity' |
    numfmt --from=auto
}
room_is() { [ "$(room "$1")" = "$2" ]; }
# What is free on the node's disks, less what is promised of it.
tells_truth() { room_is "$1" "$(($(free_bytes "$1") - ${2:-0}))"; }

driver() { [ "$(kubectl get csidriver flexlocal.io -o json | jq "$1")" = true ]; }

pod_says() { event_says "pod/$1" FailedScheduling "$2"; }
# How many nodes refused a claim that the scheduler had sent to them.
refusals() {
  kubectl get events -o json | jq --arg claim "$1" '[.items[] | select(.involvedObject.name == $claim
    and (.message | test("no room on node|cannot have the volume")))] | length'
}

@test "each node tells of its room for each class, in objects that go with the DaemonSet" {
  eventually 30 tells_truth small
  eventually 30 tells_truth large
  uid=$(kubectl -n flexlocal-system get daemonset flexlocal-node -o 'jsonpath={.metadata.uid}')
  capacities -o json | jq -en --arg uid "$uid" 'input | (.items | length) == 4
    and all(.items[]; .metadata.ownerReferences == [{apiVersion: "apps/v1", kind: "DaemonSet",
      name: "flexlocal-node", uid: $uid, controller: true}]
      and .nodeTopology.matchLabels["kubernetes.io/hostname"] == .metadata.labels["flexlocal.io/node"])'
  # 16 GiB x 0.85 x 0.05, in whole extents.
  [ "$(room large lean)" = $((696 * 1024 * 1024)) ]
}

@test "the CSIDriver is made, and says that there is room to ask for" {
  eventually 30 driver '.spec.storageCapacity and .spec.attachRequired == false and .spec.podInfoOnMount
    and .spec.volumeLifecycleModes == ["Persistent"]'
}

@test "a pod goes to the node with room, another stays pending for want of it until there is" {
  make_claim first 3Gi
  eventually 30 claim_is first Bound
  eventually 10 pod_is_on first large
  eventually 5 tells_truth large $((3 << 30))
  make_claim second 3Gi
  eventually 30 pod_says second 'did not have enough free storage'
  # Nobody was asked in vain, and the claim itself says why.
  eventually 60 event_says pvc/second ProvisioningFailed '0 of 2 nodes have 3Gi in pool "default" for backend lvm: 2 pool full'
  claim_is second Pending
  [ "$(refusals first)" = 0 ]
  [ "$(refusals second)" = 0 ]
  delete_claim first
  # This scheduler tries again what it could not place once a minute.
  eventually 150 claim_is second Bound
  eventually 10 pod_is_on second large
  delete_claim second
  eventually 30 no_volumes
  eventually 10 tells_truth large
}

# Its gate StorageCapacityScoring is on since 1.37. All else is the same on both nodes, or speaks for
# the one with fewer pods.
@test "the scheduler prefers the node with most room, by what its budget leaves" {
  version=$(sed -n 's/^version=//p' "$work/cluster/ports" | tr -d '"')
  [ "${version#1.}" -ge 37 ] || skip "version: the scheduler of $version does not look where there is most room"
  for promised in 0 512 1024; do
    eventually 10 tells_truth large $((promised << 20))
    make_claim "data-$promised" 512Mi
    eventually 30 claim_is "data-$promised" Bound
    eventually 10 pod_is_on "data-$promised" large
  done
  # Of its budget of 1392 MiB less is left than of the other's, though more of its disks is free.
  make_class roomy 'diskPerRam: "0.1"'
  eventually 10 room_is_for small roomy $((1392 << 20))
  delete_claim data-1024
  delete_claim data-512
  eventually 30 room_is_for large roomy $((880 << 20))
  make_claim by-budget 512Mi roomy
  eventually 30 claim_is by-budget Bound
  eventually 10 pod_is_on by-budget small
  kubectl delete storageclass roomy
  delete_claim by-budget
  delete_claim data-0
  eventually 30 no_volumes
  eventually 10 tells_truth large
  eventually 10 tells_truth small
}
room_is_for() { [ "$(room "$1" "$2")" = "$3" ]; }

@test "what a node loses of its room is told at once, what it cannot make volumes of as none" {
  make_claim data 1Gi
  eventually 30 claim_is data Bound
  node=$(kubectl get pv "$(volume_of data)" -o 'jsonpath={.metadata.labels.flexlocal\.io/node}')
  eventually 2 tells_truth "$node" $((1 << 30))
  delete_claim data
  eventually 30 no_volumes
  touch "$work/small/broken"
  stop_processes "$work" small
  start_daemon small --capacity-poll-interval=2s
  eventually 20 room_is small 0
  rm "$work/small/broken"
  stop_processes "$work" small
  start_daemon small --capacity-poll-interval=2s
  eventually 20 tells_truth small
}

@test "what somebody else does to the objects is over soon" {
  capacities -l flexlocal.io/node=small -o name | xargs kubectl -n flexlocal-system patch --type=merge -p '{"capacity": "1Ti"}'
  eventually 10 tells_truth small
  kubectl -n flexlocal-system delete csistoragecapacities --all
  eventually 10 tells_truth small
  eventually 10 tells_truth large
}

@test "objects that nobody keeps go: of a class that is gone, of a daemon that is silent" {
  kubectl delete storageclass lean
  eventually 20 is_told_of_no lean
  kill_daemon small
  eventually 90 room_is small ""
  start_daemon small --capacity-poll-interval=2s
  eventually 20 tells_truth small
}
is_told_of_no() { [ -z "$(room small "$1")$(room large "$1")" ]; }

@test "another CSIDriver than ours is reported, and never written" {
  stop_processes "$work" first
  kubectl delete csidriver flexlocal.io
  kubectl create -f - <<'END'
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: flexlocal.io}
spec: {attachRequired: true, podInfoOnMount: true, volumeLifecycleModes: [Persistent]}
END
  start_cluster_daemon first --capacity-poll-interval=2s
  eventually 30 event_says csidriver/flexlocal.io DriverDiffers 'attachRequired is not false, storageCapacity is not true'
  driver '.spec.attachRequired'
  kubectl delete csidriver flexlocal.io
  eventually 30 driver '.spec.storageCapacity'
}

# By it the scheduler of 1.37 would look for flexlocal in CSINode, and find no node.
@test "a CSIDriver that keeps pods from every node is reported" {
  stop_processes "$work" first
  kubectl delete csidriver flexlocal.io
  sed '$a\  preventPodSchedulingIfMissing: true' "$examples/install/csidriver.yaml" | kubectl create --validate=false -f -
  missing=$(driver .spec.preventPodSchedulingIfMissing || echo no)
  start_cluster_daemon first --capacity-poll-interval=2s
  [ -n "$missing" ] || {
    eventually 30 event_says csidriver/flexlocal.io DriverDiffers 'preventPodSchedulingIfMissing is not false'
    make_claim nowhere 512Mi
    eventually 30 pod_says nowhere 'CSI driver'
    delete_claim nowhere
  }
  kubectl delete csidriver flexlocal.io
  eventually 30 driver '.spec.storageCapacity'
  [ -z "$missing" ] || skip "version: this Kubernetes has no preventPodSchedulingIfMissing"
}

# The cluster daemon has looked at the nodes' objects once more: it removes what nobody keeps.
has_looked() {
  kubectl create -f - <<'END'
apiVersion: storage.k8s.io/v1
kind: CSIStorageCapacity
metadata: {name: forgotten, namespace: flexlocal-system, labels: {flexlocal.io/node: gone}}
storageClassName: flexlocal
capacity: 1Gi
END
  eventually 60 is_gone -n flexlocal-system csistoragecapacity forgotten
}

@test "with --register=false the CSIDriver is the administrator's, who has one to apply" {
  stop_processes "$work" first
  kubectl delete csidriver flexlocal.io
  start_cluster_daemon first --capacity-poll-interval=2s --register=false
  has_looked
  is_gone csidriver flexlocal.io
  kubectl apply -f "$examples/install/csidriver.yaml"
  driver '.spec.storageCapacity'
}

@test "with --enable-capacity=false nothing is told" {
  if is_central; then
    stop_processes "$work" first
    kubectl -n flexlocal-system delete csistoragecapacities --all
    start_cluster_daemon first --capacity-poll-interval=2s --enable-capacity=false
    has_looked
    room_is small ""
    room_is large ""
    return
  fi
  stop_processes "$work" small
  kubectl -n flexlocal-system delete csistoragecapacities -l flexlocal.io/node=small
  start_daemon small --enable-capacity=false
  make_claim tiny 512Mi
  eventually 30 claim_is tiny Bound
  eventually 10 pod_is_on tiny large
  room_is small ""
  delete_claim tiny
}

@test "nothing that the daemons asked for was forbidden" {
  nothing_forbidden none
}
