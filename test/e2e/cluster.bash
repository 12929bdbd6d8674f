# shellcheck shell=bash
# A whole cluster with one real node or more, for the e2e tests and for the demo. The caller sets
# `work`, a new folder for all that the cluster writes, and `image`, the container image's archive.

: "${work:?a new folder}" "${image:?the container image}"
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
# The node that the functions below act on; of several each is named for the call: node=big on_node lvs
node='node-1'

. "$root/test/lab/progress.bash"
. "$root/test/lab/api.bash"

# No single call takes longer, or it hangs.
kubectl() { timeout 900 kubectl "$@"; }

# Of pods, claims, volumes and events what says how far things are, without times and counts: what is
# tried again and again with the same words does not move.
progress_mark() {
  kubectl get nodes,pods,pvc,pv,events,daemonsets,deployments,csistoragecapacities -A -o json | jq -c '[.items[]
    | [.kind, .metadata.uid, .metadata.deletionTimestamp, .metadata.annotations, .capacity, .status.phase,
       .status.capacity, .status.numberReady, .status.readyReplicas, .spec.nodeName, .spec.volumeName,
       [(.status.conditions // [])[] | [.type, .status]],
       [(.status.containerStatuses // [])[] | .state | keys], .reason, .message]] | sort' | sha256sum
}

start_cluster() {
  start_control_plane
  start_node
}

start_control_plane() {
  "$root/test/lab/control-plane" up "$work/cluster"
  # shellcheck source=/dev/null
  . "$work/cluster/env"
  # For pods with a FlexVolume of their own or the node's network.
  kubectl label namespace default pod-security.kubernetes.io/enforce=privileged
}

# A node for volumes of every backend.
start_node() {
  power_on --disk 3G
  on_node lvcreate -qq -y --type thin-pool -L 400M -n thin data
  on_node lvcreate -qq -y -L 320M -n shared data
  on_node sh -c 'mkfs.xfs -q /dev/data/shared && mkdir /srv/shared && mount -o prjquota /dev/data/shared /srv/shared'
  write_node_conf 'thin-pool = thin' 'quota-path = /srv/shared'
}

# power_on FLAG...: with these flags of the lab's node up.
power_on() {
  "$root/test/lab/node" up "$work" "$node" --cluster "$work/cluster" --image "$image" "$@"
}

# write_node_conf [LINE...]: as the node's administrator would; the pool has these lines, too.
write_node_conf() {
  on_node sh -c 'mkdir -p /etc/flexlocal &&
    printf "%s\n" "[pool.default]" "volume-group = data" "$@" >/etc/flexlocal/node.conf' sh "$@"
}

# The folder that is for this Kubernetes: an API server before 1.30 knows no admission policies.
installation() {
  if is_older_than 1.30; then echo "$root/examples/install/core"; else echo "$root/examples/install"; fi
}

install_flexlocal() { apply_folder "$(installation)"; }

# stop_cluster NODE...
stop_cluster() {
  local name
  for name in "$@"; do "$root/test/lab/node" down "$work" "$name" || true; done
  "$root/test/lab/control-plane" down "$work/cluster"
}

on_node() { "$root/test/lab/node" exec "$work" "$node" -- "$@"; }

# in_pod POD SCRIPT: in the pod's first container.
#
# The lab's kubelet collects dead containers every few seconds, and sometimes one that it is only
# just starting: another takes its place at once. What had no container to run in is tried again.
in_pod() {
  local tries status errors=$work/in-pod-errors
  for ((tries = 0; tries < 30; tries++)); do
    status=0
    kubectl exec "$1" -- sh -c "$2" 2>"$errors" || status=$?
    grep -qE 'container not found|CONTAINER_EXITED|no running task found' "$errors" || break
    kubectl wait --for=condition=Ready "pod/$1" --timeout=5s >/dev/null 2>&1 || true
  done
  cat "$errors" >&2
  return "$status"
}

free_bytes() { on_node vgs --noheadings --units b --nosuffix -o vg_free data | tr -d ' \r\n'; }
lv_exists() { on_node lvs --noheadings -o lv_name --select "lv_name=$1" data | grep -q "$1"; }
volume_of() { kubectl get pvc "$1" -o 'jsonpath={.spec.volumeName}'; }
claim_offers() { [ "$(kubectl get pvc "$1" -o 'jsonpath={.status.capacity.storage}')" = "$2" ]; }
pod_is_ready() { kubectl wait --for=condition=Ready "pod/$1" --timeout=0; }
is_gone() { [[ $(kubectl get "$@" 2>&1) == *"(NotFound)"* ]]; }
# daemons_are_ready COUNT
daemons_are_ready() {
  [ "$(kubectl -n flexlocal-system get daemonset flexlocal-node -o 'jsonpath={.status.numberReady}')" = "$1" ]
}

# What Kubernetes and the daemon say.
show_state() {
  kubectl get pods,pvc,pv -A
  kubectl get events -A --sort-by=.lastTimestamp -o custom-columns=O:.involvedObject.name,R:.reason,M:.message |
    tail -n 12
  kubectl -n flexlocal-system logs daemonset/flexlocal-node --tail=10
}

# make_pod NAME VOLUME [POD-FIELD [MOUNT]]: a pod that sleeps, with VOLUME at /data; all in YAML's
# flow style, MOUNT is one more of its mounts. It keeps the Pod Security standard `restricted`.
make_pod() { pod_yaml "$@" | kubectl apply -f -; }

pod_yaml() {
  cat <<END
---
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  terminationGracePeriodSeconds: 1
  ${3:-securityContext: {fsGroup: 2000\}}
  containers:
    - name: c
      image: busybox:1.37
      command: [sleep, "1000000"]
      securityContext:
        {allowPrivilegeEscalation: false, runAsNonRoot: true, runAsUser: 1000, runAsGroup: 3000,
         capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}
      volumeMounts: [{name: v, mountPath: /data}${4:+, $4}]
  volumes: [{name: v, $2}]
END
}

# The scheduler knows of room for the class; in Kubernetes 1.20 a pod that comes before that is looked
# at again only after a minute.
knows_room() {
  kubectl -n flexlocal-system get csistoragecapacities -o json |
    jq -en --arg class "$1" 'input | any(.items[]; .storageClassName == $class)'
}

# make_claim NAME SIZE [PARAMETERS]: with a class of its own, of the same name.
make_claim() {
  { class_yaml "$1" "${3:-}" && claim_yaml "$1" "$2" "$1"; } | kubectl apply -f -
  wait_until knows_room "$1"
}

# class_yaml NAME PARAMETERS
class_yaml() {
  cat <<END
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: $1}
provisioner: flexlocal.io
parameters: {$2}
volumeBindingMode: WaitForFirstConsumer
END
}

# claim_yaml NAME SIZE CLASS
claim_yaml() {
  cat <<END
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: $1}
spec:
  storageClassName: $3
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: $2}}
END
}

claim_volume() { echo "persistentVolumeClaim: {claimName: $1${2:+, $2}}"; }

# event_says NAME TEXT: an event on the object of that name, of any namespace. (`input` fails where there is none; of no
# input at all jq -e says yes.)
event_says() {
  kubectl get events -A -o json | jq -en --arg name "$1" --arg text "$2" \
    'input | any(.items[]; .involvedObject.name == $name and (.message | contains($text)))'
}
