# shellcheck shell=bash
# A whole cluster with one real node, for the e2e tests and for the demo. The caller sets `work`,
# a new folder for all that the cluster writes, and `image`, the container image's archive.

: "${work:?a new folder}" "${image:?the container image}"
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
# shellcheck disable=SC2034 # the demo says it
node='node-1'

. "$root/test/lab/eventually.bash"

# start_cluster: control plane, node, and the node.conf that its administrator would write.
start_cluster() {
  "$root/test/lab/control-plane" up "$work/cluster"
  # shellcheck source=/dev/null
  . "$work/cluster/env"
  start_node
}

start_node() {
  "$root/test/lab/node" up "$work" "$node" --cluster "$work/cluster" --image "$image"
  on_node sh -c 'mkdir -p /etc/flexlocal && printf "[pool.default]\nvolume-group = data\n" >/etc/flexlocal/node.conf'
}

stop_cluster() {
  "$root/test/lab/node" down "$work" "$node" || true
  "$root/test/lab/control-plane" down "$work/cluster"
}

on_node() { "$root/test/lab/node" exec "$work" "$node" -- "$@"; }

# in_pod POD SCRIPT: in the pod's first container.
in_pod() { kubectl exec "$1" -- sh -c "$2"; }

free_bytes() { on_node vgs --noheadings --units b --nosuffix -o vg_free data | tr -d ' \r\n'; }
lv_exists() { on_node lvs --noheadings -o lv_name --select "lv_name=$1" data | grep -q "$1"; }
volume_of() { kubectl get pvc "$1" -o 'jsonpath={.spec.volumeName}'; }
pod_is_ready() { kubectl wait --for=condition=Ready "pod/$1" --timeout=0; }
is_gone() { [[ $(kubectl get "$@" 2>&1) == *"(NotFound)"* ]]; }
daemon_is_ready() {
  [ "$(kubectl -n flexlocal-system get daemonset flexlocal-node -o 'jsonpath={.status.numberReady}')" = 1 ]
}

# What Kubernetes and the daemon say.
show_state() {
  kubectl get pods,pvc,pv -A
  kubectl get events -A --sort-by=.lastTimestamp -o custom-columns=O:.involvedObject.name,R:.reason,M:.message |
    tail -n 12
  kubectl -n flexlocal-system logs daemonset/flexlocal-node --tail=10
}
