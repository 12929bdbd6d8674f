# What happens to a node in its life, with volumes mounted on it: kubelet restarts, the installation is
# replaced, the node is drained; and the ways a volume is used that only a real kubelet shows. The
# tests build on one another, in this order.

folder=/usr/libexec/kubernetes/kubelet-plugins/volume/exec

setup_file() {
  export work=$BATS_FILE_TMPDIR image=${IMAGE:?the container image to test}
  : "${FLEXLOCAL:?the plugin to test}" "${PROVISIONER:?the daemon to test}"
  . "$BATS_TEST_DIRNAME/cluster.bash"
  start_control_plane
  export KUBECONFIG PATH
  cp "$FLEXLOCAL" "$work/flexlocal"
  power_on --disk 3G --file "$work/flexlocal" --file "$root/test/lab/systemctl"
  write_node_conf
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/cluster.bash"
  . "$root/test/lab/process.bash"
  stop_processes "$work" leader
  stop_cluster "$node"
}

setup() {
  . "$BATS_TEST_DIRNAME/cluster.bash"
}

needs_read_write_once_pod() { ! version_is_old || skip "version: Kubernetes 1.20 has no ReadWriteOncePod"; }

version_is_old() { [ "$(cluster_version "$work/cluster")" = 1.20 ]; }

# kubelet watches its plugin folder already. What the plugin answers shows that kubelet found it.
@test "the plugin is found where a plain cp has put it" {
  on_node sh -c "mkdir $folder/flexlocal.io~flexlocal && cp /run/lab/files/flexlocal $folder/flexlocal.io~flexlocal/"
  kubectl apply -f - <<'END'
apiVersion: v1
kind: Pod
metadata: {name: inline}
spec:
  containers: [{name: c, image: "busybox:1.37", volumeMounts: [{name: v, mountPath: /data}]}]
  volumes: [{name: v, flexVolume: {driver: flexlocal.io/flexlocal, options: {flexlocal.io/copy: 0123456789abcdef}}}]
END
  wait_until event_says inline '"v" is not the name of a flexlocal volume'
  kubectl delete pod inline
}

@test "a pod writes to its volume all the time" {
  install_flexlocal
  wait_until daemons_are_ready 1
  kubectl apply -f "$root/examples/storageclass.yaml"
  wait_until knows_room flexlocal
  make_claim steady 320Mi
  make_pod steady "$(claim_volume steady)"
  wait_until pod_is_ready steady
  # busybox's sleep, so that each line is a write of its own; what fails is kept.
  in_pod steady '(while :; do date +%s >>/data/lines && sync /data/lines || echo "failed: $?" >>/data/failed; sleep 1; done) >/dev/null 2>&1 &'
  wait_until in_pod steady 'test -e /data/lines'
  writes_on
  mounted_as >"$work/mounted"
  [ -s "$work/mounted" ]
}

# The volume's mount in the pod's folder of kubelet's, by the kernel's own number.
# shellcheck disable=SC2016 # awk's
mounted_as() { on_node awk -v name="$(volume_of steady)" '$5 ~ "/pods/.*/volumes/.*" name "$" { print $1, $3, $5 }' /proc/1/mountinfo; }

# Lines are added now, none has failed, and it is the container that began.
writes_on() {
  local before
  [ "$(kubectl get pod steady -o 'jsonpath={.status.containerStatuses[0].restartCount}')" = 0 ]
  before=$(in_pod steady 'wc -l </data/lines')
  wait_until has_more_lines_than "$before"
  ! in_pod steady 'test -e /data/failed'
}

has_more_lines_than() { [ "$(in_pod steady 'wc -l </data/lines')" -gt "$1" ]; }

restart_kubelet() {
  local before
  before=$(on_node pidof kubelet)
  on_node bash /run/lab/files/systemctl restart kubelet
  [ "$(on_node pidof kubelet)" != "$before" ]
}

# A pod that starts shows that the new kubelet has looked at what is mounted before.
@test "kubelet restarts, and what is mounted stays mounted and written" {
  restart_kubelet
  make_claim later 320Mi
  make_pod later "$(claim_volume later)"
  wait_until pod_is_ready later
  [ "$(mounted_as)" = "$(<"$work/mounted")" ]
  writes_on
  kubectl delete pod later
  kubectl delete pvc later
  wait_until no_volume_but "$(volume_of steady)"
}

no_volume_but() { [ "$(kubectl get pv -o name)" = "persistentvolume/$1" ]; }

# As a killed lvextend leaves it; test/node/suspended.bats kills one.
@test "a volume whose device is left suspended works again by itself, and its pod writes on" {
  local name
  name=$(volume_of steady)
  on_node dmsetup suspend "data-${name//-/--}"
  wait_until nothing_is_suspended
  writes_on
}

nothing_is_suspended() { [ "$(on_node dmsetup info -c --noheadings -o suspended | sort -u)" = Active ]; }

@test "the DaemonSet rolls out another image, and what is mounted stays mounted and written" {
  on_node ctr -n k8s.io images tag flexlocal.io/flexlocal:0.1 flexlocal.io/flexlocal:0.2
  kubectl -n flexlocal-system set image daemonset/flexlocal-node install=flexlocal.io/flexlocal:0.2 provisioner=flexlocal.io/flexlocal:0.2
  wait_until kubectl -n flexlocal-system rollout status daemonset/flexlocal-node --timeout=20s
  [ "$(kubectl -n flexlocal-system get pods -l app.kubernetes.io/component=node \
    -o 'jsonpath={.items[*].spec.containers[0].image}')" = flexlocal.io/flexlocal:0.2 ]
  [ "$(mounted_as)" = "$(<"$work/mounted")" ]
  writes_on
}

@test "a second pod does not get a ReadWriteOncePod volume while the first has it" {
  needs_read_write_once_pod
  claim_yaml once 320Mi flexlocal | sed 's/\[ReadWriteOnce\]/[ReadWriteOncePod]/' | kubectl apply -f -
  make_pod first "$(claim_volume once)"
  wait_until pod_is_ready first
  # The scheduler would hold it back: it names its node itself.
  make_pod second "$(claim_volume once)" "nodeName: $node"
  wait_until event_says second 'default/first'
  in_pod first 'echo first >/data/file; sync'
  ! pod_is_ready second || false
}

# end_container POD: its process is killed, and kubelet starts another.
end_container() {
  local uid
  uid=$(kubectl get pod "$1" -o 'jsonpath={.metadata.uid}')
  # shellcheck disable=SC2016 # for the node's shell
  on_node bash -c 'for process in $(pgrep -x sleep); do
    ! grep -q "pod$1" "/proc/$process/cgroup" || kill -KILL "$process"
  done' bash "$uid"
}

container_of() { kubectl get pod "$1" -o 'jsonpath={.status.containerStatuses[0].containerID}'; }

has_other_container_than() { [ "$(container_of "$1")" != "$2" ] && pod_is_ready "$1"; }

@test "the first comes back to it when its container or kubelet starts again, and the second still waits" {
  needs_read_write_once_pod
  local before pod
  before=$(container_of first)
  end_container first
  wait_until has_other_container_than first "$before"
  in_pod first 'echo container >>/data/file; sync'
  # kubelet tries one that it refused later and later, but a new pod at once.
  make_pod second-after-container "$(claim_volume once)" "nodeName: $node"
  wait_until event_says second-after-container 'default/first'
  before=$(refusals second)
  restart_kubelet
  # The new kubelet tries all of them.
  make_pod second-after-kubelet "$(claim_volume once)" "nodeName: $node"
  wait_until event_says second-after-kubelet 'default/first'
  wait_until has_more_refusals_than second "$before"
  in_pod first 'echo kubelet >>/data/file; sync'
  for pod in second second-after-container second-after-kubelet; do
    ! pod_is_ready $pod || false
  done
  kubectl delete pod second second-after-container second-after-kubelet
}

# refusals POD: how often an event on it named the first.
refusals() {
  kubectl get events -o json | jq --arg name "$1" '[.items[] |
    select(.involvedObject.name == $name and (.message | contains("default/first"))) | .count // 1] | add // 0'
}

has_more_refusals_than() { [ "$(refusals "$1")" -gt "$2" ]; }

# What sleeps there hears no SIGTERM, and has time enough: it ends when it has been looked at. It marks
# each second that it still has the volume, by a line more: one that is killed while it writes leaves the
# lines before. The one that waits is a new pod: kubelet tries again later and later.
@test "a first that is ending keeps it to its last moment, and only then another gets it, with its data" {
  needs_read_write_once_pod
  local started
  in_pod first '(while :; do date +%s >>/data/beat; sleep 1; done) >/dev/null 2>&1 &'
  kubectl delete pod first --grace-period=600 --wait=false
  make_pod third "$(claim_volume once)" "nodeName: $node"
  wait_until event_says third 'default/first'
  wait_until in_pod first "[ \$(tail -n 1 /data/beat) -ge $(in_pod first 'date +%s') ]"
  ! pod_is_ready third || false
  end_container first
  wait_until pod_is_ready third
  [ "$(in_pod third 'cat /data/file')" = $'first\ncontainer\nkubelet' ]
  started=$(date -d "$(kubectl get pod third -o 'jsonpath={.status.containerStatuses[0].state.running.startedAt}')" +%s)
  # Whoever still wrote would have marked these seconds.
  wait_until in_pod third "[ \$(date +%s) -ge $((started + 3)) ]"
  [ "$(in_pod third 'tail -n 1 /data/beat')" -le "$started" ]
  kubectl delete pod third
  kubectl delete pvc once
}

@test "a volume that a pod brings with it is made, and goes with the pod" {
  local template='ephemeral: {volumeClaimTemplate: {spec: {storageClassName: flexlocal, accessModes: [ReadWriteOnce], resources: {requests: {storage: 320Mi}}}}}'
  ! version_is_old || skip "version: Kubernetes 1.20 has them behind a gate"
  make_pod brings "$template"
  wait_until pod_is_ready brings
  volume=$(volume_of brings-v)
  in_pod brings 'echo mine >/data/file; sync'
  lv_exists "$volume"
  kubectl delete pod brings
  wait_until is_gone pvc brings-v
  wait_until is_gone pv "$volume"
  ! lv_exists "$volume" || false
}

# 24 MiB at 4 MiB a second take more than 5 seconds on any machine. fsync: what is only in memory is
# not written.
@test "writeBandwidth limits what a pod writes, synced, and stands in the pod's io.max" {
  ! version_is_old || skip "version: cgroup v1 limits only what goes past the page cache, and containers within a second of their start"
  make_claim slow 320Mi 'writeBandwidth: 4Mi, ioLimits: required, onDelete: none'
  make_pod slow "$(claim_volume slow)"
  wait_until pod_is_ready slow
  [[ $(io_max slow) == *" wbps=4194304 "* ]]
  [ "$(seconds_to_write slow)" -ge 5 ]
  kubectl delete pod slow
  kubectl delete pvc slow
}

# What the kernel holds of the pod's limits.
# shellcheck disable=SC2016 # for the node's shell
io_max() {
  on_node sh -c 'cat "$(find /sys/fs/cgroup -type d -name "*pod$1" | head -n 1)/io.max"' sh \
    "$(kubectl get pod "$1" -o 'jsonpath={.metadata.uid}')"
}

# shellcheck disable=SC2016 # for the pod's shell
seconds_to_write() {
  in_pod "$1" 'start=$(date +%s); dd if=/dev/zero of=/data/fill bs=1M count=24 conv=fsync 2>/dev/null; echo $(($(date +%s) - start))'
}

# The cluster daemon goes from the only node, too: here it runs elsewhere, as on a control-plane node.
start_leader() {
  . "$root/test/lab/process.bash"
  start_process "$work" leader env -i "$PROVISIONER" cluster --kubeconfig="$KUBECONFIG" --namespace=flexlocal-system
}

@test "on a cordoned, drained and tainted node the daemon goes on, and reclaims" {
  make_claim going 320Mi
  make_pod going "$(claim_volume going)"
  wait_until pod_is_ready going
  volume=$(volume_of going)
  kubectl delete pod steady --wait=false
  kubectl drain "$node" --ignore-daemonsets --force --delete-emptydir-data --timeout=600s
  kubectl taint node "$node" lab/out=yes:NoExecute
  before=$(kubectl -n flexlocal-system get pods -l app.kubernetes.io/component=node -o 'jsonpath={.items[*].metadata.uid}')
  kubectl -n flexlocal-system delete pod -l app.kubernetes.io/component=node
  wait_until daemons_are_ready 1
  [ "$(kubectl -n flexlocal-system get pods -l app.kubernetes.io/component=node -o 'jsonpath={.items[*].metadata.uid}')" != "$before" ]
  start_leader
  kubectl delete pvc going
  wait_until is_gone pv "$volume"
  ! lv_exists "$volume" || false
  stop_processes "$work" leader
}

@test "back in service the node mounts what it kept" {
  kubectl taint node "$node" lab/out-
  kubectl uncordon "$node"
  make_pod steady "$(claim_volume steady)"
  wait_until pod_is_ready steady
  [ "$(in_pod steady 'wc -l </data/lines')" -gt 1 ]
}
