# sizeFrom podMemory goes by the scheduler's own arithmetic: a pod that fits a node to the last byte,
# and not one with a byte less, has a claim of just that size.

setup_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  start_cluster
  kubectl apply -f "$installation/read-pods.yaml"
  make_class sized 'onDelete: none' 'diskPerRam: "1"' 'sizeFrom: podMemory'
  make_node worker 2G
  start_daemon worker
  kubectl apply -f - <<END
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: heavy}
handler: none
overhead: {podFixed: {memory: 100Mi}}
END
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  stop_cluster
}

setup() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  . "$BATS_TEST_DIRNAME/../lab/api.bash"
}

teardown() {
  delete_claim data
  eventually 30 is_gone pvc data
  eventually 30 no_volumes
}

# The budget goes by the node's capacity, the scheduler by what is allocatable of it.
has_memory() { api_patch "$work/cluster" /api/v1/nodes/worker/status '{"status": {"allocatable": {"memory": "'"$1"'"}}}'; }
asks() { printf '{name: %s, image: none, resources: {requests: {memory: %s}}%s}' "$1" "$2" "${3:-}"; }
sidecar() { asks "$1" "$2" ', restartPolicy: Always'; }
capacity_is() { [ "$(kubectl get pvc data -o 'jsonpath={.status.capacity.storage}')" = "$1" ]; }

# make_sized_claim: `data`, which asks for less than its pod's memory makes of it.
make_sized_claim() {
  kubectl apply -f - <<END
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: sized
  resources: {requests: {storage: 300Mi}}
  accessModes: [ReadWriteOnce]
END
}

# needs MIB LINE...: a pod with these fields needs so much memory, by the scheduler and by us.
needs() {
  local mib=$1
  has_memory "$(($1 * 1024 * 1024 - 1))"
  make_sized_claim
  kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: data}
spec:
  terminationGracePeriodSeconds: 0
  volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]
$(printf '  %s\n' "${@:2}")
END
  eventually 30 event_says pod/data FailedScheduling 'Insufficient memory'
  claim_is data Pending
  has_memory "${mib}Mi"
  eventually 90 claim_is data Bound
  capacity_is "${mib}Mi"
}

# need FIELD: it is one of the pods of this Kubernetes.
need() { kubectl explain "pod.spec.$1" || skip "version: this Kubernetes has no $1"; }

@test "containers that run together, and init containers before them" {
  needs 400 "containers: [$(asks a 300Mi), $(asks b 100Mi)]" "initContainers: [$(asks i 350Mi)]"
}

@test "an init container that needs more than all that runs later" {
  needs 600 "containers: [$(asks a 300Mi), $(asks b 100Mi)]" "initContainers: [$(asks i 600Mi), $(asks j 10Mi)]"
}

@test "a sidecar beside the containers" {
  need initContainers.restartPolicy
  needs 500 "containers: [$(asks a 400Mi)]" "initContainers: [$(sidecar s 100Mi), $(asks i 300Mi)]"
}

@test "an init container beside the sidecars before it, not those after it" {
  need initContainers.restartPolicy
  needs 700 "containers: [$(asks a 400Mi)]" \
    "initContainers: [$(sidecar s 100Mi), $(asks i 600Mi), $(sidecar t 56Mi)]"
}

@test "what the pod asks for as a whole, in place of its containers' sum" {
  need resources
  needs 800 "containers: [$(asks a 300Mi)]" "initContainers: [$(sidecar s 100Mi)]" \
    'resources: {requests: {memory: 800Mi}}'
}

@test "a pod's overhead on top of the whole, and of its containers" {
  needs 500 "containers: [$(asks a 400Mi)]" 'runtimeClassName: heavy'
  delete_claim data
  eventually 30 is_gone pvc data
  need resources
  needs 900 "containers: [$(asks a 400Mi)]" 'resources: {requests: {memory: 800Mi}}' 'runtimeClassName: heavy'
}

# The scheduler prefers it, and knows nothing but the 300 MiB that the claim asks for.
@test "a node that has no room for what the pod's memory makes of the claim is not chosen for ever" {
  kubectl apply -f "$examples/install/csidriver.yaml" # else the scheduler asks nobody for room
  make_node small 360M
  start_agent small
  has_memory 1000Mi
  make_sized_claim
  eventually 60 shows_room small
  kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: data}
spec:
  terminationGracePeriodSeconds: 0
  affinity:
    nodeAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
        - {weight: 100, preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [small]}]}}
  containers: [$(asks a 400Mi)]
  volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]
END
  eventually 60 event_says pvc/data ProvisioningFailed 'no room on node small'
  eventually 90 claim_is data Bound
  capacity_is 400Mi
  [ "$(kubectl get pv -o 'jsonpath={.items[*].metadata.labels.flexlocal\.io/node}')" = worker ]
  stop_processes "$work" small
  kubectl delete node small
  kubectl delete -f "$examples/install/csidriver.yaml"
}
# shows_room NODE: the scheduler is told that the claim would fit.
shows_room() {
  kubectl get csistoragecapacities -A -o json | jq -en --arg node "$1" 'input
    | any(.items[]; .nodeTopology.matchLabels["kubernetes.io/hostname"] == $node and .storageClassName == "sized"
      and (.capacity | IN("0", "0Ki", "0Mi") | not))'
}
