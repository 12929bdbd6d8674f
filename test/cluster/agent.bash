# shellcheck shell=bash disable=SC2154 # shared with agent.bats
# Orders written by hand, and what the agent of a node makes of them.
# shellcheck source-path=SCRIPTDIR
. "$BATS_TEST_DIRNAME/daemon.bash"
. "$BATS_TEST_DIRNAME/../lab/api.bash"

bats_require_minimum_version 1.5.0

# The rights of examples/central, in place of those that start_cluster gave.
give_central_rights() {
  kubectl apply -f "$examples/central/rbac.yaml"
  ! has_policies || kubectl apply -f "$examples/central/admission-policy.yaml"
  export rights_of=central
}

# node_kubeconfig NODE: $work/NODE.kubeconfig, for a pod of the DaemonSet on that Node.
node_kubeconfig() {
  kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: agent-$1, namespace: flexlocal-system}
spec: {nodeName: $1, serviceAccountName: flexlocal-node, containers: [{name: c, image: none}]}
END
  account_kubeconfig flexlocal-node "$1" "agent-$1"
}

has_policies() { ! is_older_than 1.30; }

apply_definition() {
  kubectl apply --validate=false -f "$examples/central/volumecopy.yaml"
  eventually 60 kubectl get volumecopies
}

# start_agent [NODE]: with a token that names the Node, as the policies want it.
start_agent() {
  local node=${1:-worker}
  [ -e "$work/$node.kubeconfig" ] || eventually 30 node_kubeconfig "$node"
  daemon_kubeconfig=$work/$node.kubeconfig start_daemon "$node" --provisioning=central
}

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

# order [CHANGE]: the order of that volume on `node`, or `worker`, changed by jq.
order() {
  local node=${node:-worker}
  kubectl create -f - < <(
    jq -n --arg uid "$uid" --arg id "$id" \
      --arg node "$node" --arg node_uid "$(kubectl get node "$node" -o 'jsonpath={.metadata.uid}')" \
      --arg cluster "$(kubectl get namespace kube-system -o 'jsonpath={.metadata.uid}')" '
      {apiVersion: "flexlocal.io/v1alpha1", kind: "VolumeCopy",
       metadata: {name: "pvc-\($uid)-\($id)", labels: {"flexlocal.io/node": $node}},
       spec: {volume: "pvc-\($uid)", copy: $id, origin: "New", nodeName: $node, nodeUID: $node_uid,
              hostname: $node, clusterID: $cluster,
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

# make_ready [NODE]: what a pod's mount, or the agent, would have made: the logical volume, and the
# record of it.
make_ready() {
  local node=${1:-worker} cluster size=536870912 lv group
  stop_processes "$work" "$node"
  cluster=$(kubectl get namespace kube-system -o 'jsonpath={.metadata.uid}')
  "$work/$node/lvcreate" -qq -an -Zn -Wn -n "$volume" -L "${size}b" \
    --addtag "flexlocal.io/size=$size" --addtag flexlocal.io/owner=flexlocal \
    --addtag "flexlocal.io/claim-uid=$uid" --addtag "flexlocal.io/copy=$id" \
    --addtag "flexlocal.io/cluster=$cluster" --addtag flexlocal.io/claim-namespace=default \
    --addtag flexlocal.io/pool=default --addtag flexlocal.io/on-delete=none --addtag flexlocal.io/fs=xfs \
    --addtag flexlocal.io/state=ready "$node"
  read -r lv group < <("$work/$node/lvs" --noheadings -o lv_uuid,vg_uuid "$node/$volume")
  jq -c --arg uuid "LVM-${group//-/}${lv//-/}" --arg group "$node" \
    '.state = "ready" | .volumeGroup = $group | .deviceUUID = $uuid' "$record" >"$work/ready"
  mv "$work/ready" "$record"
  start_agent "$node"
}

lease_says() {
  kubectl -n flexlocal-system get lease node-worker -o json |
    jq -en "input | (.metadata.annotations[\"flexlocal.io/copies\"] | fromjson) as \$roll | $1"
}
