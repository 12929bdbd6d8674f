# shellcheck shell=bash disable=SC2154 # shared with agent.bats
# Orders written by hand, and what the agent of a node makes of them.
# shellcheck source-path=SCRIPTDIR
. "$BATS_TEST_DIRNAME/daemon.bash"

bats_require_minimum_version 1.5.0

# The rights of a daemon that carries out orders, and nothing else.
give_agent_rights() {
  kubectl apply -f - <<'END'
apiVersion: v1
kind: ServiceAccount
metadata: {name: flexlocal-agent, namespace: flexlocal-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: flexlocal-agent}
rules:
  - {apiGroups: [flexlocal.io], resources: [volumecopies], verbs: [get, list, watch]}
  - {apiGroups: [flexlocal.io], resources: [volumecopies/status], verbs: [patch]}
  - {apiGroups: [""], resources: [nodes], verbs: [get]}
  - {apiGroups: [""], resources: [events], verbs: [create, patch]}
  - {apiGroups: [""], resources: [namespaces], resourceNames: [kube-system], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: flexlocal-agent}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: flexlocal-agent}
subjects: [{kind: ServiceAccount, name: flexlocal-agent, namespace: flexlocal-system}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: flexlocal-agent, namespace: flexlocal-system}
rules:
  - {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: flexlocal-agent, namespace: flexlocal-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: flexlocal-agent}
subjects: [{kind: ServiceAccount, name: flexlocal-agent, namespace: flexlocal-system}]
END
  eventually 30 account_kubeconfig flexlocal-agent agent
}

apply_definition() {
  kubectl apply --validate=false -f "$examples/install/volumecopy.yaml"
  eventually 60 kubectl get volumecopies
}

start_agent() { daemon_kubeconfig=$work/agent.kubeconfig start_daemon worker --provisioning=central; }

# make_nothing [NODE]: its lvcreate fails, so that what is promised stays so.
make_nothing() {
  local node=${1:-worker}
  printf '#!/bin/bash\necho "no volumes today" >&2\nexit 5\n' >"$work/$node/no-lvcreate"
  chmod +x "$work/$node/no-lvcreate"
  echo "lvcreate = $work/$node/no-lvcreate" >>"$work/$node.conf"
}

# A volume that nobody has heard of: sets uid, id, volume and copy.
new_volume() {
  uid=$(</proc/sys/kernel/random/uuid)
  id=$(head -c 8 /dev/urandom | od -An -tx1 | tr -d ' \n')
  volume=pvc-$uid copy=pvc-$uid-$id
  record=$work/worker/state/volumes/$volume
}

# order [CHANGE]: the order of that volume on `worker`, changed by jq.
order() {
  kubectl create -f - < <(
    jq -n --arg uid "$uid" --arg id "$id" \
      --arg node "$(kubectl get node worker -o 'jsonpath={.metadata.uid}')" \
      --arg cluster "$(kubectl get namespace kube-system -o 'jsonpath={.metadata.uid}')" '
      {apiVersion: "flexlocal.io/v1alpha1", kind: "VolumeCopy",
       metadata: {name: "pvc-\($uid)-\($id)", labels: {"flexlocal.io/node": "worker"}},
       spec: {volume: "pvc-\($uid)", copy: $id, origin: "New", nodeName: "worker", nodeUID: $node,
              hostname: "worker", clusterID: $cluster,
              claim: {namespace: "default", name: "data", uid: $uid}, storageClassName: "flexlocal",
              reclaimPolicy: "Delete", backend: "lvm", pool: "default", fsType: "xfs", size: "512Mi",
              onDelete: "none", accessMode: "ReadWriteOnce", desiredState: "Serving", term: 7}}
      | '"${1:-.}"
  )
}

# change PATCH [COPY]: the order is written anew.
change() { kubectl patch volumecopy "${2:-$copy}" --type merge -p "{\"spec\": $1}"; }

# says CONDITION [COPY]: jq, of the object. (`input` fails where there is none; of no input at all
# jq -e says yes.)
says() { kubectl get volumecopy "${2:-$copy}" -o json | jq -en "input | $1"; }
is_state() { says ".status.state == \"$1\" and .status.observedGeneration == .metadata.generation" "${2:-$copy}"; }
# reasons REASON WORDS [COPY]: why the copy is not as ordered.
reasons() {
  says "any(.status.conditions[]?; .type == \"AsOrdered\" and .status == \"False\" and .reason == \"$1\"
    and (.message | contains(\"$2\")))" "${3:-$copy}"
}
record_is() { jq -en "input | $1" "$record"; }

# What a pod's mount, or the agent, would have made: the logical volume, and the record of it.
make_ready() {
  local cluster size=536870912 lv group
  stop_processes "$work" worker
  cluster=$(kubectl get namespace kube-system -o 'jsonpath={.metadata.uid}')
  "$work/worker/lvcreate" -qq -an -Zn -Wn -n "$volume" -L "${size}b" \
    --addtag "flexlocal.io/size=$size" --addtag flexlocal.io/owner=flexlocal \
    --addtag "flexlocal.io/claim-uid=$uid" --addtag "flexlocal.io/copy=$id" \
    --addtag "flexlocal.io/cluster=$cluster" --addtag flexlocal.io/claim-namespace=default \
    --addtag flexlocal.io/pool=default --addtag flexlocal.io/on-delete=none --addtag flexlocal.io/fs=xfs \
    --addtag flexlocal.io/state=ready worker
  read -r lv group < <("$work/worker/lvs" --noheadings -o lv_uuid,vg_uuid "worker/$volume")
  jq -c --arg uuid "LVM-${group//-/}${lv//-/}" \
    '.state = "ready" | .volumeGroup = "worker" | .deviceUUID = $uuid' "$record" >"$work/ready"
  mv "$work/ready" "$record"
  start_agent
}

lease_says() {
  kubectl -n flexlocal-system get lease node-worker -o json |
    jq -en "input | (.metadata.annotations[\"flexlocal.io/copies\"] | fromjson) as \$roll | $1"
}
