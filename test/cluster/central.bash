# shellcheck shell=bash disable=SC2154 # shared with central.bats
# A cluster whose leader gives all orders, and agents on two nodes that carry them out.
# shellcheck source-path=SCRIPTDIR
. "$BATS_TEST_DIRNAME/agent.bash"

# What the leader needs beside what the cluster daemon has already.
give_controller_rights() {
  kubectl apply -f - <<'END'
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: flexlocal-controller}
rules:
  - {apiGroups: [flexlocal.io], resources: [volumecopies], verbs: [get, list, watch, create, patch, delete]}
  - {apiGroups: [""], resources: [persistentvolumes], verbs: [create]}
  - {apiGroups: [""], resources: [persistentvolumeclaims], verbs: [get]}
  - {apiGroups: [""], resources: [namespaces], resourceNames: [kube-system], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: flexlocal-controller}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: flexlocal-controller}
subjects: [{kind: ServiceAccount, name: flexlocal-cluster, namespace: flexlocal-system}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: flexlocal-controller, namespace: flexlocal-system}
rules:
  - {apiGroups: [storage.k8s.io], resources: [csistoragecapacities], verbs: [create, patch]}
  - {apiGroups: [apps], resources: [daemonsets], resourceNames: [flexlocal-node], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: flexlocal-controller, namespace: flexlocal-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: flexlocal-controller}
subjects: [{kind: ServiceAccount, name: flexlocal-cluster, namespace: flexlocal-system}]
END
  eventually 30 account_kubeconfig flexlocal-cluster leader
}

# Without its CSIDriver the scheduler does not ask for room, so that what a node refuses is seen.
start_leader() { start_cluster_daemon leader --provisioning=central --register=false --capacity-poll-interval=5s; }
leads() { grep -q 'orders are given' "$work/log/leader.log"; }
start_agent_on() { daemon_kubeconfig=$work/agent.kubeconfig start_daemon "$1" --provisioning=central; }
agent_is_ready() {
  kubectl -n flexlocal-system get lease "node-$1" -o json |
    jq -en 'input | .metadata.annotations | .["flexlocal.io/ready"] == "true" and has("flexlocal.io/copies")'
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
