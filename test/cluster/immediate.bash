# shellcheck shell=bash
# Claims that do not wait for a pod, and what became of them: source it after daemon.bash. The two
# nodes are `small` and `large`, with room for one and for three GiB.

# The cluster, its first account, the classes and the nodes; no daemon runs yet.
start_immediate_cluster() {
  start_cluster
  eventually 30 account_kubeconfig flexlocal-cluster first
  immediate_class immediate
  immediate_class pinned 'allowedTopologies: [{matchLabelExpressions: [{key: kubernetes.io/hostname, values: [small]}]}]'
  make_node small 2G
  make_node large 4G
}

# immediate_class NAME [FIELD]
immediate_class() {
  kubectl apply -f - <<END
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: $1}
provisioner: flexlocal.io
volumeBindingMode: Immediate
parameters: {onDelete: none}
${2:-}
END
}

# make_claims CLASS SIZE NAME...: without pods.
make_claims() {
  local name
  for name in "${@:3}"; do
    cat <<END
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: $name}
spec: {storageClassName: $1, accessModes: [ReadWriteOnce], resources: {requests: {storage: $2}}}
END
  done | kubectl apply -f -
}

bound() { kubectl get pvc -o json | jq '[.items[] | select(.status.phase == "Bound")] | length'; }
bound_is() { [ "$(bound)" = "$1" ]; }
volumes_on() { kubectl get pv -l "flexlocal.io/node=$1" -o name | wc -l; }
# How often a node refused a claim that it had.
handed_back() { kubectl get events -o json | jq '[.items[] | select(.message | test("no room on node|cannot have the volume"))] | length'; }
waiting() { kubectl get pvc -o json | jq -r '.items[] | select(.status.phase == "Pending") | .metadata.name'; }
