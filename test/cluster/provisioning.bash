# shellcheck shell=bash disable=SC2034,SC2154 # shared with daemon.bash
# Who gives the orders in a file's cluster: a leader; or, with PROVISIONING=distributed, each node's
# daemon for its own node, by examples/install-distributed.

# shellcheck source-path=SCRIPTDIR
. "$BATS_TEST_DIRNAME/../lab/api.bash"

# A file that starts its own leader says so: the name of it.
#   export leader=first
is_central() { [ "${PROVISIONING:-central}" = central ]; }

# Their folder, and how both daemons are told.
installation=$examples/install way=()
is_central || installation=$examples/install-distributed way=(--provisioning=distributed)

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
  kubectl apply --validate=false -f "$examples/install/core/volumecopy.yaml"
  eventually 60 kubectl get volumecopies
}

# make_nothing [NODE]: its lvcreate fails, so that what is promised stays so.
make_nothing() {
  local node=${1:-worker}
  printf '#!/bin/bash\necho "no volumes today" >&2\nexit 5\n' >"$work/$node/no-lvcreate"
  chmod +x "$work/$node/no-lvcreate"
  echo "lvcreate = $work/$node/no-lvcreate" >>"$work/$node.conf"
}

# record_ready NODE VOLUME: the record of the logical volume that is there says that it was made.
record_ready() {
  local record=$work/$1/state/volumes/$2
  jq -c --arg uuid "LVM-$("$work/$1/lvs" --noheadings -o vg_uuid,lv_uuid "$1/$2" | tr -d ' -')" --arg group "$1" \
    'del(.used) | .state = "ready" | .volumeGroup = $group | .deviceUUID = $uuid' "$record" >"$work/ready"
  mv "$work/ready" "$record"
}

# make_data NODE VOLUME: as a pod has used it, and as its record says.
make_data() {
  # Not ready without the volume, where `eventually` goes on behind a failure.
  make_lv "$1" "$2" default ready && record_ready "$1" "$2"
}

# start_agent [NODE [FLAG...]]: with a token that names the Node, as the policies want it; unless a test
# has another one.
start_agent() {
  local node=${1:-worker}
  if [ -n "$daemon_kubeconfig" ] || [ -n "${without_policies:-}" ]; then
    start_node_daemon "$node" "${@:2}"
  else
    [ -e "$work/$node.kubeconfig" ] || eventually 30 node_kubeconfig "$node"
    daemon_kubeconfig=$work/$node.kubeconfig start_node_daemon "$node" "${@:2}"
  fi
}

# stop_daemons NODE: nobody decides about its volumes any more.
stop_daemons() {
  stop_processes "$work" "$1"
  ! is_central || stop_processes "$work" "${leader:-leader}"
}

# Rights, and what a leader and agents need beside them. A file whose tokens name no Node says so:
#   export without_policies=yes
give_rights() {
  kubectl apply -f "$installation/core/rbac.yaml"
  is_central || kubectl apply -f "$installation/core/room-rbac.yaml"
  apply_definition
  ! has_policies || [ -n "${without_policies:-}" ] || kubectl apply -f "$installation/admission-policy.yaml"
  eventually 30 account_kubeconfig flexlocal-cluster leader
}

# start_leader_as FLAG...: the cluster daemon that gives orders, unless one with these flags runs.
start_leader_as() {
  local flags="$*"
  [ ! -e "$work/pids/leader" ] || [ "$flags" != "$(cat "$work/leader.flags")" ] || return 0
  stop_processes "$work" leader
  echo "$flags" >"$work/leader.flags"
  start_cluster_daemon leader --register=false --capacity-poll-interval=5s "$@"
}

# start_central NODE [FLAG...]: agent and leader; each gets the flags that are its own. Where the agent
# gives the orders, it gets all of them.
start_central() {
  local node=$1 flag of_leader=() of_agent=()
  is_central || {
    start_agent "$@"
    return
  }
  shift
  for flag in "$@"; do
    case $flag in
      --orphan-*) of_leader+=("$flag") ;;
      *) of_agent+=("$flag") ;;
    esac
  done
  start_agent "$node" "${of_agent[@]}"
  [ -n "${leader:-}" ] || start_leader_as "${of_leader[@]}"
}
