# shellcheck shell=bash disable=SC2154 # shared with agent.bats
# Orders written by hand, and what the agent of a node makes of them.
# shellcheck source-path=SCRIPTDIR
. "$BATS_TEST_DIRNAME/daemon.bash"

bats_require_minimum_version 1.5.0

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

# make_ready [NODE [NAMESPACE]]: what a pod's mount, or the agent, would have made: the logical volume, and the
# record of it.
make_ready() {
  local node=${1:-worker} cluster size=536870912
  stop_processes "$work" "$node"
  cluster=$(kubectl get namespace kube-system -o 'jsonpath={.metadata.uid}')
  "$work/$node/lvcreate" -qq -an -Zn -Wn -n "$volume" -L "${size}b" \
    --addtag "flexlocal.io/size=$size" --addtag flexlocal.io/owner=flexlocal \
    --addtag "flexlocal.io/claim-uid=$uid" --addtag "flexlocal.io/copy=$id" \
    --addtag "flexlocal.io/cluster=$cluster" --addtag "flexlocal.io/claim-namespace=${2:-default}" \
    --addtag flexlocal.io/pool=default --addtag flexlocal.io/on-delete=none --addtag flexlocal.io/fs=xfs \
    --addtag flexlocal.io/state=ready "$node"
  record_ready "$node" "$volume"
  start_agent "$node"
}

lease_says() {
  kubectl -n flexlocal-nodes get lease node-worker -o json |
    jq -en "input | (.metadata.annotations[\"flexlocal.io/copies\"] | fromjson) as \$roll | $1"
}
