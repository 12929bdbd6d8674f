# shellcheck shell=bash disable=SC2154 # shared with central.bats
# A cluster whose leader gives all orders, and agents on two nodes that carry them out.
# shellcheck source-path=SCRIPTDIR
. "$BATS_TEST_DIRNAME/agent.bash"

# Without its CSIDriver the scheduler does not ask for room, so that what a node refuses is seen.
start_leader() { start_cluster_daemon leader --register=false --capacity-poll-interval=5s; }
leads() { grep -q 'orders are given' "$work/log/leader.log"; }
# lease_of NODE WHAT: jq.
lease_of() { kubectl -n flexlocal-nodes get lease "node-$1" -o json | jq -enr "input | $2"; }
agent_is_ready() { lease_of "$1" '.metadata.annotations | .["flexlocal.io/ready"] == "true" and has("flexlocal.io/copies")'; }

# An agent that answers nothing, and beats no more: what a test does meanwhile has the time that a
# Lease is believed for, so that no scheduler is waited for.
pause() { kill -STOP "$(process_id "$work" "$1")"; }
go_on() { kill -CONT "$(process_id "$work" "$1")"; }

# make_claim_for NODE NAME [CLASS]: as a scheduler would have chosen, with no pod.
make_claim_for() {
  kubectl apply -f - <<END
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: $2, annotations: {volume.kubernetes.io/selected-node: $1}}
spec: {storageClassName: ${3:-flexlocal}, resources: {requests: {storage: 512Mi}}, accessModes: [ReadWriteOnce]}
END
}

# Enough that what they said in the whole of a test is there.
show_state() { tail -n 40 "$work"/log/*.log; }

# find_volume CLAIM: of one that is bound, sets volume, uid, copy, id, node and record.
find_volume() {
  volume=$(volume_of "$1")
  uid=${volume#pvc-}
  copy=$(copy_of_volume "$volume")
  id=${copy##*-}
  node=$(kubectl get volumecopy "$copy" -o 'jsonpath={.spec.nodeName}')
  record=$work/$node/state/volumes/$volume
}

# copies_of CLAIM CONDITION: jq, of the list of the copies of its volume.
copies_of() {
  local uid
  uid=$(kubectl get pvc "$1" -o 'jsonpath={.metadata.uid}')
  kubectl get volumecopies -o json |
    jq -en --arg volume "pvc-$uid" "input | [.items[] | select(.spec.volume == \$volume)] | $2"
}
copy_of_volume() { kubectl get volumecopies -o json | jq -enr --arg volume "$1" 'input | .items[] | select(.spec.volume == $volume) | .metadata.name'; }
no_copies() { [ -z "$(kubectl get volumecopies -o name)" ]; }
# Of all nodes: what their records say.
records() { cat "$work"/{one,two}/state/volumes/* 2>/dev/null; }
no_records() { [ -z "$(records)" ]; }

# told NODE CONDITION: jq, of the room that the scheduler is told of there, a quantity.
told() {
  kubectl -n flexlocal-system get csistoragecapacities -l "flexlocal.io/node=$1" -o json |
    jq -en "input | .items[] | select(.storageClassName == \"flexlocal\") | .capacity | $2"
}

# How many objects tell of room for the class.
rooms_of_class() { kubectl -n flexlocal-system get csistoragecapacities -o json | jq --arg class "$1" '[.items[] | select(.storageClassName == $class)] | length'; }
room_of_class() { [ "$(rooms_of_class "$1")" -gt 0 ]; }
no_room_of_class() { [ "$(rooms_of_class "$1")" = 0 ]; }

# make_sized_claim NAME CLASS SIZE MEMORY: its pod asks for that memory.
make_sized_claim() {
  kubectl apply -f - <<END
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: $1}
spec: {storageClassName: $2, resources: {requests: {storage: $3}}, accessModes: [ReadWriteOnce]}
---
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: none, resources: {requests: {memory: $4}}}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: $1}}]
END
}

# start_two_nodes: `one` and `two`, with 4 GiB each and an agent, and a leader.
start_two_nodes() {
  for node in one two; do
    make_node "$node" 4G
    start_agent "$node"
  done
  lead one two
}

# lead NODE...: a leader, for nodes whose agents have been started; until it gives orders and they are ready.
lead() {
  local node
  start_leader
  eventually 60 leads
  for node; do eventually 60 agent_is_ready "$node"; done
}
