# shellcheck shell=bash disable=SC2154 # shared with policies.bats
# Requests with the daemons' own tokens.
# shellcheck source-path=SCRIPTDIR
. "$BATS_TEST_DIRNAME/central.bash"

as_node() { kubectl --kubeconfig "$work/one.kubeconfig" "$@"; }
as_leader() { kubectl --kubeconfig "$work/leader.kubeconfig" "$@"; }

# as_kubelet: with the certificate that whoever is root on `one` finds there.
as_kubelet() {
  local pki=$work/cluster/pki
  [ -e "$pki/kubelet-one.crt" ] || (
    . "$BATS_TEST_DIRNAME/../lab/pki.bash"
    pki_sign "$pki" kubelet-one /O=system:nodes/CN=system:node:one
  ) || return
  kubectl --kubeconfig /dev/null --server "https://127.0.0.1:$(api_port "$work/cluster")" --certificate-authority "$pki/ca.crt" \
    --client-certificate "$pki/kubelet-one.crt" --client-key "$pki/kubelet-one.key" "$@"
}

# label_as_kubelet NODE: as one that is ready for volumes. (kubectl would read it first, which no other node may.)
label_as_kubelet() {
  curl -sS --fail-with-body --max-time 10 --cacert "$work/cluster/pki/ca.crt" --cert "$work/cluster/pki/kubelet-one.crt" \
    --key "$work/cluster/pki/kubelet-one.key" -X PATCH -H 'Content-Type: application/merge-patch+json' \
    -d '{"metadata": {"labels": {"flexlocal.io/ready": "true"}}}' "https://127.0.0.1:$(api_port "$work/cluster")/api/v1/nodes/$1"
}

# answer_as_node COPY, event_as_node NAME: says something of it. (kubectl would read it first, which no
# node may.)
answer_as_node() { patch_as one "/apis/flexlocal.io/v1alpha1/volumecopies/$1/status" '{"status": {"host": "00000000000000000000000000000001"}}'; }
event_as_node() { patch_as one "/api/v1/namespaces/default/events/$1" '{"count": 2}'; }

patch_as() { request_as "$1" "$2" -X PATCH -H 'Content-Type: application/merge-patch+json' -d "$3"; }

# request_as NAME PATH [CURL-OPTION...]: with the token of $work/NAME.kubeconfig.
request_as() {
  local token
  token=$(kubectl --kubeconfig "$work/$1.kubeconfig" config view --raw -o 'jsonpath={.users[?(@.name=="daemon")].user.token}')
  curl -sS --fail-with-body --max-time 10 --cacert "$work/cluster/pki/ca.crt" -H @/dev/fd/3 "${@:3}" \
    "https://127.0.0.1:$(api_port "$work/cluster")$2" 3<<<"Authorization: Bearer $token"
}

# is_in_flow SCHEMA NAME PATH: that FlowSchema, and the priority level of the same name, take the request.
is_in_flow() {
  local head schema level
  schema=$(kubectl get flowschema "$1" -o 'jsonpath={.metadata.uid}')
  level=$(kubectl get prioritylevelconfiguration "$1" -o 'jsonpath={.metadata.uid}')
  head=$(request_as "$2" "$3" -o /dev/null -D -)
  grep -iq "^x-kubernetes-pf-flowschema-uid: $schema" <<<"$head" && grep -iq "^x-kubernetes-pf-prioritylevel-uid: $level" <<<"$head"
}

# refuses TEXT COMMAND...: fails, and says so.
refuses() {
  local text=$1 said
  shift
  ! said=$("$@" 2>&1) || {
    echo "was not refused: $*" >&2
    return 1
  }
  [[ $said == *"$text"* ]] || {
    echo "$said" >&2
    return 1
  }
}

# claim_status_as_leader CLAIM CHANGE
claim_status_as_leader() { patch_as leader "/api/v1/namespaces/default/persistentvolumeclaims/$1/status" "$2"; }

# The API server has compiled the policy, and has no doubt about a type in it.
is_checked() {
  kubectl get validatingadmissionpolicy "$1" -o json | jq -en 'input |
    .status.observedGeneration == .metadata.generation and (.status.typeChecking.expressionWarnings // [] | length) == 0'
}

# lease NAME [NAMESPACE]
lease() {
  jq -n --arg name "$1" --arg namespace "${2:-flexlocal-nodes}" '{apiVersion: "coordination.k8s.io/v1", kind: "Lease",
    metadata: {name: $name, namespace: $namespace}, spec: {holderIdentity: "me"}}'
}

# event KIND NAME: on that object.
event() {
  jq -n --arg kind "$1" --arg name "$2" '{apiVersion: "v1", kind: "Event",
    metadata: {generateName: "e-", namespace: "default"}, type: "Normal", reason: "Said", message: "so",
    involvedObject: {apiVersion: "v1", kind: $kind, name: $name, namespace: (if $kind == "Node" then null else "default" end)}}'
}

# volume_of_shape CHANGE: as the leader makes it, changed by jq.
volume_of_shape() {
  jq -n '{apiVersion: "v1", kind: "PersistentVolume",
    metadata: {name: "pvc-a", labels: {"flexlocal.io/node": "one"}, finalizers: ["flexlocal.io/reclaim"],
               annotations: {"pv.kubernetes.io/provisioned-by": "flexlocal.io"}},
    spec: {capacity: {storage: "1Gi"}, accessModes: ["ReadWriteOnce"], storageClassName: "none",
           claimRef: {apiVersion: "v1", kind: "PersistentVolumeClaim", namespace: "default", name: "none", uid: "a"},
           nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [
             {key: "kubernetes.io/hostname", operator: "In", values: ["one"]}]}]}},
           flexVolume: {driver: "flexlocal.io/flexlocal", fsType: "xfs"}}} | '"$1"
}

csi_driver() {
  jq -n --arg name "$1" '{apiVersion: "storage.k8s.io/v1", kind: "CSIDriver", metadata: {name: $name},
    spec: {attachRequired: false, storageCapacity: true}}'
}

inline_pod() {
  cat <<END
apiVersion: v1
kind: Pod
metadata: {name: inline}
spec:
  containers: [{name: c, image: none}]
  volumes: [{name: v, flexVolume: {driver: flexlocal.io/flexlocal}}]
END
}
