# shellcheck shell=bash
# What the cluster tier's tests share: a real control plane, real LVM metadata, node daemons.
#
# This machine's kernel needs no device-mapper here: LVM keeps its metadata on a loop device and
# is told not to activate anything (--driverloaded n), which is all that the daemon asks of it.

# shellcheck source-path=SCRIPTDIR
. "$BATS_TEST_DIRNAME/../lab/cache.bash"
. "$BATS_TEST_DIRNAME/../lab/process.bash"
. "$BATS_TEST_DIRNAME/../lab/eventually.bash"

provisioner=$(realpath "${PROVISIONER:?the daemon to test}")
plugin=$(realpath "${FLEXLOCAL:?the plugin of the same build}")
examples=$BATS_TEST_DIRNAME/../../examples
. "$BATS_TEST_DIRNAME/provisioning.bash"

# Once a file: a control plane, the shipped RBAC and class, and the daemon's own credentials.
start_cluster() {
  export work=$BATS_FILE_TMPDIR
  "$BATS_TEST_DIRNAME/../lab/control-plane" up "$work/cluster" --node-grace 3600s
  # shellcheck source=/dev/null
  . "$work/cluster/env"
  export KUBECONFIG PATH
  # The tests' pods never run, and say no more than the scheduler asks.
  kubectl label namespace default pod-security.kubernetes.io/enforce=privileged
  kubectl apply -f "$examples/install/core/namespace.yaml" -f "$examples/install/core/rbac.yaml"
  give_rights
  # Without a device-mapper nothing can be wiped here: the tests' volumes go as they are.
  make_class flexlocal 'onDelete: none'
  eventually 30 service_account_token
}

# make_class NAME [PARAMETER...] [-- LINE...]: each parameter as `name: value`; lines are fields of
# the class itself.
make_class() {
  local indent='  '
  cat >"$work/class.yaml" <<END
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: $1}
provisioner: flexlocal.io
volumeBindingMode: WaitForFirstConsumer
parameters:
END
  shift
  while (($#)); do
    if [ "$1" = -- ]; then indent=''; else echo "$indent$1"; fi
    shift
  done >>"$work/class.yaml"
  kubectl apply -f "$work/class.yaml"
}

# The daemon runs with the ServiceAccount that is shipped, so a missing right fails a test.
service_account_token() { account_kubeconfig flexlocal-node daemon; }

# account_kubeconfig ACCOUNT NAME [POD]: makes $work/NAME.kubeconfig, for that ServiceAccount, with a
# token of a day, as that pod of it has one. (kubectl 1.20 has no command for it.)
# `account_namespace`: another than the installation's.
account_kubeconfig() {
  local token config=$work/$2.kubeconfig pod=null namespace=${account_namespace:-flexlocal-system}
  [ -z "${3:-}" ] || pod=$(kubectl -n flexlocal-system get pod "$3" -o json |
    jq -c '{apiVersion: "v1", kind: "Pod", name: .metadata.name, uid: .metadata.uid}')
  token=$(kubectl create -f - --raw "/api/v1/namespaces/$namespace/serviceaccounts/$1/token" \
    <<<'{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
         "spec": {"expirationSeconds": 86400, "boundObjectRef": '"$pod"'}}' |
    jq -re .status.token) || return 1
  cp "$KUBECONFIG" "$config"
  kubectl --kubeconfig "$config" config set-credentials daemon --token "$token"
  kubectl --kubeconfig "$config" config set-context --current --user daemon
}

# Also after a test that failed half-way: nothing that was started or taken is left.
stop_cluster() {
  local name
  for name in "$work"/pids/*; do
    [ ! -e "$name" ] || stop_processes "$work" "$(basename "$name")"
  done
  for name in "$work"/*.loop; do
    [ ! -e "$name" ] || xargs -n 1 losetup -d <"$name"
  done
  [ -z "${RIGHTS_USED:-}" ] || "$BATS_TEST_DIRNAME/rights" note "$work/cluster" "$RIGHTS_USED" "$(basename "$installation")"
  "$BATS_TEST_DIRNAME/../lab/control-plane" down "$work/cluster"
}

# make_node NAME DISK...: a Node object without a kubelet, and a volume group for its daemon, on so
# many disks.
make_node() {
  local name=$1 disk devices=()
  "$BATS_TEST_DIRNAME/../lab/control-plane" node "$work/cluster" "$name" 16Gi
  shift
  for disk in "$@"; do
    truncate -s "$disk" "$work/$name.${#devices[@]}.img"
    devices+=("$(losetup --find --show "$work/$name.${#devices[@]}.img")")
    printf '%s\n' "${devices[@]}" >"$work/$name.loop"
  done
  write_tools "$name" "${devices[@]}"
  "$work/$name/vgcreate" -qq "$name" "${devices[@]}" 2>"$work/last"
  {
    printf '[pool.default]\nvolume-group = %s\n[tool]\n' "$name"
    for tool in lvs vgs lvremove lvchange lvextend; do echo "$tool = $work/$name/$tool"; done
  } >"$work/$name.conf"
  make_nothing "$name"
}

# pool_says NODE LINE...: more lines about the node's pool.
pool_says() {
  local line
  for line in "${@:2}"; do sed -i "/^volume-group/a $line" "$work/$1.conf"; done
}

# LVM's tools with this node's disks only. An LV that is not active cannot be open; LVM without a
# driver says "unknown". A test that wants an open one makes the file `open`.
write_tools() {
  local tool config disks
  printf -v disks '"a|^%s$|",' "${@:2}"
  config="devices{filter=[$disks\"r|.*|\"] use_devicesfile=0 obtain_device_list_from_udev=0}"
  # Other files' groups have the same names, at the same time.
  config+=" global{locking_dir=\"$work/$1/lvm-locks\"} backup{backup=0 archive=0}"
  mkdir -p "$work/$1/lvm-locks" "$work/$1/lvm"
  echo "$config" >"$work/$1/lvm/lvm.conf" # the programs have a --config of their own, which can be there once
  for tool in lvs vgs lvremove lvchange lvextend lvcreate vgcreate; do
    cat >"$work/$1/$tool" <<END
#!/bin/bash
export LVM_SUPPRESS_FD_WARNINGS=1 LVM_SYSTEM_DIR="$work/$1/lvm"
[ ! -e "$work/$1/broken" ] || { echo "disk on fire" >&2; exit 5; }
# A test holds a tool: \`touch NODE/hold-TOOL\`; what waits says so by NODE/held-TOOL.
while [ -e "$work/$1/hold-$tool" ]; do touch "$work/$1/held-$tool"; sleep 0.05; done
set -o pipefail
open=\$([ ! -e "$work/$1/open" ] || echo open)
$(type -P "$tool") --driverloaded n "\$@" |
  sed "s/\"lv_device_open\":\"unknown\"/\"lv_device_open\":\"\$open\"/"
END
    chmod +x "$work/$1/$tool"
  done
}

# For tests that need others: start_daemon's kubeconfig, the environment of both daemons, and the times of
# an election.
daemon_kubeconfig='' daemon_environment=()
election=(--leader-election-{lease-duration=6s,renew-deadline=4s,retry-period=1s})

# call_init NODE: as a kubelet would, so that the node's daemon finds the mark of it. The plugin's
# places are fixed: for this call the daemon's folder of locks is at /run/flexlocal.
call_init() {
  mkdir -p "$work/$1/locks"
  # shellcheck disable=SC2016
  unshare --mount --propagation private bash -euc '
    mount -t tmpfs none /run
    mkdir /run/flexlocal
    mount --bind "$1" /run/flexlocal
    "$2" init' _ "$work/$1/locks" "$plugin" >/dev/null
}

# start_daemon NODE [FLAG...]: waits for nothing; its log is $work/log/NODE.log.
start_daemon() {
  start_central "$@"
}
start_node_daemon() {
  local name=$1
  shift
  call_init "$name"
  start_process "$work" "$name" env -i "${daemon_environment[@]}" "$provisioner" node "${way[@]}" --node-name="$name" \
    --kubeconfig="${daemon_kubeconfig:-$work/daemon.kubeconfig}" --node-config="$work/$name.conf" \
    --state-dir="$work/$name/state" --lock-dir="$work/$name/locks" \
    --retry-interval-start=200ms --retry-interval-max=2s "$@"
}

# start_cluster_daemon NAME [FLAG...]: the cluster role, as the ServiceAccount of $work/NAME.kubeconfig;
# its log is $work/log/NAME.log.
start_cluster_daemon() {
  local name=$1
  shift
  start_process "$work" "$name" env -i "${daemon_environment[@]}" "$provisioner" cluster "${way[@]}" --kubeconfig="$work/$name.kubeconfig" \
    --retry-interval-start=200ms --retry-interval-max=2s "${election[@]}" "$@"
}

# Killed by signal 9, as a node's loss would.
kill_daemon() {
  kill -KILL "$(process_id "$work" "$1")"
  stop_processes "$work" "$1"
}

# nothing_forbidden RESOURCE|none [AUDIT-LOG]: fails with what the daemons asked for and were forbidden, but for what
# a test made them ask without the right; also when they asked for nothing at all.
# An API server that is not ready yet forbids what it has not read the roles of: that is not judged. Nor is
# what it says no to in a namespace that is being deleted, whoever asks: nothing is made there any more.
# Of a request whose client went away before it was known the log has no user.
nothing_forbidden() {
  local denied
  touch "$work/cluster/unready"
  denied=$(jq -n -r --arg but "$1" --rawfile unready "$work/cluster/unready" '
    [$unready | split("\n")[] | select(. != "") | split(" ")] as $times
    | reduce (inputs | select((.user.username // "" | startswith("system:serviceaccount:flexlocal-system:"))
        and .responseStatus.code != null)) as $answer ({asked: 0, denied: []};
      .asked += 1 | $answer.requestReceivedTimestamp as $at
      | if $answer.responseStatus.code == 403 and $answer.objectRef.resource != $but
          and ($answer.responseStatus.message // "" | contains("because it is being terminated") | not)
          and all($times[]; $at < .[0] or $at > .[1])
        then .denied += ["\($answer.user.username) \($answer.verb) \($answer.requestURI)"] else . end)
    | if .asked == 0 then "the daemons asked for nothing" else .denied[] end' "${2:-$work/cluster/audit.log}")
  [ -z "$denied" ] || {
    sort -u <<<"$denied" >&2
    return 1
  }
}

show_state() { tail -n 5 "$work"/log/*.log; }

# make_claim NAME [SIZE] [CLASS] [EXTRA-YAML]: a claim and a pod that uses it.
make_claim() {
  kubectl apply -f - <<END
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: $1}
spec:
  storageClassName: ${3:-flexlocal}
  resources: {requests: {storage: ${2:-512Mi}}}
  ${4:-accessModes: [ReadWriteOnce]}
END
  make_pod "$1"
}

# make_pod NAME: one that uses the claim of that name.
make_pod() {
  kubectl apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: none}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: $1}}]
END
}

# strictest_mode: sets `mode` to ReadWriteOncePod where the API server knows it; 1.20 does not.
# shellcheck disable=SC2034 # the caller's
strictest_mode() {
  mode=ReadWriteOncePod
  kubectl create --dry-run=server -f - <<END || mode=ReadWriteOnce
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: asks-for-$RANDOM}
spec: {accessModes: [ReadWriteOncePod], resources: {requests: {storage: 1Gi}}}
END
}

# record_says NODE VOLUME MODE CLAIM: the host's record has that mode, and is for the claim.
record_says() {
  jq -en --arg mode "$3" --arg claim "$(kubectl get pvc "$4" -o 'jsonpath={.metadata.uid}')" \
    'input | .accessMode == $mode and .claimUID == $claim' "$work/$1/state/volumes/$2"
}

delete_claim() {
  kubectl delete pod "$1" --grace-period=0 --force --ignore-not-found
  kubectl delete pvc "$1" --wait=false --ignore-not-found
}

# refused TEXT [SIZE [CLASS [EXTRA]]]: the claim `data` stays pending and says why.
refused() {
  make_claim data "${@:2}"
  eventually 30 event_says pvc/data ProvisioningFailed "$1"
  claim_is data Pending
  no_volumes
}

no_volumes() { [ -z "$(kubectl get pv -o name)" ]; }
pod_is_on() { [ "$(kubectl get pod "$1" -o 'jsonpath={.spec.nodeName}')" = "$2" ]; }
volume_is() { [ "$(kubectl get pv "$1" -o 'jsonpath={.status.phase}')" = "$2" ]; }
claim_is() { [ "$(kubectl get pvc "$1" -o 'jsonpath={.status.phase}')" = "$2" ]; }
is_gone() { ! kubectl get "$@" && [[ $(kubectl get "$@" 2>&1) == *NotFound* ]]; }
volume_of() { kubectl get pvc "$1" -o 'jsonpath={.spec.volumeName}'; }

# event_says KIND/NAME REASON TEXT. (jq's `input` fails where there is none, as after a kubectl that
# failed; of no input at all jq -e says yes.) Of a claim or pod that there is, not of one that had its
# name before.
event_says() {
  local uid=''
  case $1 in pvc/* | pod/*) uid=$(kubectl get "$1" -o 'jsonpath={.metadata.uid}' 2>/dev/null || true) ;; esac
  kubectl get events -A -o json |
    jq -en --arg name "${1#*/}" --arg uid "$uid" --arg reason "$2" --arg text "$3" 'input | any(.items[];
      .involvedObject.name == $name and ($uid == "" or .involvedObject.uid == $uid) and .reason == $reason
      and (.message | contains($text)))'
}

# order_of VOLUME: what it was ordered with, as JSON.
order_of() { kubectl get pv "$1" -o 'jsonpath={.metadata.annotations.flexlocal\.io/order}'; }

# As the plugin would have made it on the node: an LV with the tags of the volume's own order.
# make_lv NODE VOLUME [NAMESPACE [STATE]]
make_lv() {
  local node=$1 volume=$2 order copy cluster on_delete fs_type size
  order=$(order_of "$volume")
  read -r copy cluster on_delete fs_type size < <(
    jq -er '"\(.copy) \(.clusterID) \(.onDelete) \(.fsType) \(.size)"' <<<"$order")
  size=$(numfmt --from=auto "$size")
  "$work/$node/lvcreate" -qq -an -Zn -Wn -n "$volume" \
    -L "${size}b" --addtag "flexlocal.io/size=$size" \
    --addtag flexlocal.io/owner=flexlocal --addtag "flexlocal.io/claim-uid=${volume#pvc-}" \
    --addtag "flexlocal.io/copy=$copy" --addtag "flexlocal.io/cluster=$cluster" \
    --addtag "flexlocal.io/claim-namespace=${3:-default}" --addtag flexlocal.io/pool=default \
    --addtag "flexlocal.io/on-delete=$on_delete" \
    --addtag "flexlocal.io/fs=$fs_type" --addtag "flexlocal.io/state=${4:-new}" "$node"
}

lv_exists() { [ -n "$("$work/$1/lvs" --noheadings -o lv_name --select "lv_name=$2" "$1")" ]; }
lv_is_gone() { ! lv_exists "$@"; }
free_bytes() { "$work/$1/vgs" --noheadings --units b --nosuffix -o vg_free "$1" | tr -d ' '; }
tags_of() { "$work/worker/lvs" --noheadings -o lv_tags --select "lv_name=$1" worker; }
# is_retained VOLUME: its tags on `worker` say so.
is_retained() { [[ $(tags_of "$1") == *flexlocal.io/retained* ]]; }
