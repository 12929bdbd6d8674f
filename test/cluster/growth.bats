# Claims that ask for more get it: the real daemon, the real expand controller, real LVM metadata.
# No volume is active in this tier, so file systems do not grow here: the mount table names a volume's
# device where a test has it so, and the tool that makes an ext4 larger does nothing.

setup_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  start_cluster
  make_class growing 'onDelete: none' 'fsType: ext4' -- 'allowVolumeExpansion: true'
  make_node worker 2G
  printf '#!/bin/sh\n' >"$work/worker/resize2fs"
  chmod +x "$work/worker/resize2fs"
  echo "resize2fs = $work/worker/resize2fs" >>"$work/worker.conf"
  start_daemon worker
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  stop_cluster
}

setup() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  make_claim data 512Mi growing
  eventually 30 claim_is data Bound
  volume=$(volume_of data)
}

teardown() {
  [ -z "${controllers:-}" ] || kill -CONT "$controllers"
  [ ! -e "$work/worker/lvextend.whole" ] || mv "$work/worker/lvextend.whole" "$work/worker/lvextend"
  rm -f "$work"/worker/{open,broken,hold-*,held-*}
  ! mountpoint -q "$work/worker/pod" || umount "$work/worker/pod"
  kubectl delete quota storage --ignore-not-found
  delete_claim other
  delete_claim data
  eventually 30 is_gone pvc data
  eventually 30 is_gone pvc other
  eventually 30 no_volumes
}

# The daemon finds the volume as one that a pod has used: made, ready, and with a record, by which its
# file system may have to grow.
use_volume() {
  local record=$work/worker/state/volumes/$volume uuid used
  stop_processes "$work" worker
  make_lv worker "$volume" default ready
  uuid=$("$work/worker/lvs" --noheadings -o vg_uuid,lv_uuid --select "lv_name=$volume" worker | tr -d ' -')
  used=$(jq -c --arg uuid "LVM-$uuid" '.state = "ready" | .deviceUUID = $uuid | .volumeGroup = "worker"
    | .growFileSystem = true' "$record")
  echo "$used" >"$record"
  start_daemon worker
}

# As a pod's mount is seen.
pretend_mounted() {
  touch "$work/worker/open"
  mkdir -p "$work/worker/pod"
  mount -t tmpfs -o size=4k "/dev/mapper/worker-${volume//-/--}" "$work/worker/pod"
}

ask() { kubectl patch pvc "${2:-data}" -p '{"spec":{"resources":{"requests":{"storage":"'"$1"'"}}}}'; }
capacity_is() { [ "$(kubectl get pv "$volume" -o 'jsonpath={.spec.capacity.storage}')" = "$1" ]; }
claim_has() { [ "$(kubectl get pvc "${2:-data}" -o 'jsonpath={.status.capacity.storage}')" = "$1" ]; }
pending() {
  [ "$(kubectl get pvc data -o 'jsonpath={.status.conditions[?(@.type=="FileSystemResizePending")].status}')" = True ]
}
not_pending() { ! pending; }
lv_size() { "$work/worker/lvs" --noheadings --units m --nosuffix -o lv_size "worker/$volume" | tr -d ' '; }
lv_is() { [ "$(lv_size)" = "$1.00" ]; }

# What Kubernetes keeps of a growth in the claim beside that, since 1.32.
keeps_growths() { [ "$(sed -n 's/^version=//p' "$work/cluster/ports" | tr -d '"')" != 1.20 ]; }
need_growths() { keeps_growths || skip "version: Kubernetes 1.20 keeps nothing of a growth, and takes no smaller request"; }
resize_status_is() { [ "$(kubectl get pvc data -o 'jsonpath={.status.allocatedResourceStatuses.storage}')" = "$1" ]; }
allocated_is() { [ "$(kubectl get pvc data -o 'jsonpath={.status.allocatedResources.storage}')" = "$1" ]; }
nothing_is_left_of_growth() {
  kubectl get pvc data -o json | jq -e --arg allocated "$1" '.status.allocatedResourceStatuses == null
    and .status.allocatedResources.storage == $allocated
    and all(.status.conditions[]?; .type == "Unused")'
}
says_failed() {
  resize_status_is ControllerResizeInfeasible && allocated_is 512Mi && capacity_is 512Mi && claim_has 512Mi &&
    kubectl get pvc data -o json | jq -e --arg message "the volume keeps 512 MiB and does not grow to $1 now" \
      '[.status.conditions[] | select(.type != "Unused")] | length == 1 and .[0].type == "ControllerResizeError"
        and (.[0].message | startswith($message))'
}
quota_is_charged() {
  local used
  used=$(kubectl get quota storage -o 'jsonpath={.status.used.requests\.storage}')
  [ "$(numfmt --from=auto "$used")" = "$(numfmt --from=auto "$1")" ]
}
failures() {
  kubectl get events -o json | jq '[.items[] | select(.involvedObject.name == "data"
    and .reason == "VolumeResizeFailed") | .count] | add'
}
# By it a claim that is bound anew would be told an old size; the controller takes it away.
has_no_former_size() {
  kubectl get pv "$volume" -o json | jq -e '.metadata.annotations | has("volume.alpha.kubernetes.io/pre-resize-capacity") | not'
}
# The controller is through with the request, whatever the daemon makes of it.
ask_slowly() {
  touch "$work/worker/hold-lvextend"
  ask "$1"
  eventually 30 test -e "$work/worker/held-lvextend"
  eventually 30 resize_status_is NodeResizePending
}

# As it is under load, when kube-controller-manager comes late to a claim.
@test "a claim has its volume before it is marked, and grows without a mark" {
  controllers=$(process_id "$work/cluster" kube-controller-manager)
  kill -STOP "$controllers"
  make_claim other 512Mi growing
  volume=pvc-$(kubectl get pvc other -o 'jsonpath={.metadata.uid}')
  eventually 30 kubectl get pv "$volume"
  claim_is other Pending
  kill -CONT "$controllers"
  eventually 30 claim_is other Bound
  [ "$(volume_of other)" = "$volume" ]
  # It is marked after all where that controller hears of the claim before it hears of the volume.
  kubectl annotate pvc other volume.beta.kubernetes.io/storage-provisioner- volume.kubernetes.io/storage-provisioner-
  use_volume
  pretend_mounted
  ask 1Gi other
  eventually 30 claim_has 1Gi other
  capacity_is 1Gi
}

@test "a claim that asks for more has it on the disk, in the capacity and in its status" {
  use_volume
  pretend_mounted
  ask 1Gi
  eventually 30 claim_has 1Gi
  capacity_is 1Gi
  lv_is 1024
  not_pending
  eventually 10 event_says pvc/data FileSystemResizeSuccessful "have 1 GiB on node worker"
  # Its order keeps the first size, and so does the host's record.
  [ "$(order_of "$volume" | jq -r .size)" = 512Mi ]
  [ "$(jq -r .size "$work/worker/state/volumes/$volume")" = 536870912 ]
}

@test "a size between two extents is rounded up, and the capacity says so" {
  use_volume
  ask 700M
  eventually 30 lv_is 668
  eventually 30 capacity_is 668Mi
}

@test "without a mount the claim says that its file system follows, and keeps its status" {
  use_volume
  ask 1Gi
  eventually 30 pending
  eventually 30 lv_is 1024
  capacity_is 1Gi
  claim_has 512Mi
  # And grows further from there.
  pretend_mounted
  ask 1100Mi
  eventually 30 claim_has 1100Mi
  eventually 10 not_pending
}

@test "without room the claim is told the figures, stays as it is, and grows once there is room" {
  make_claim other 1Gi growing
  eventually 30 claim_is other Bound
  use_volume
  ask 1100Mi
  eventually 30 event_says pvc/data VolumeResizeFailed \
    "from 512 MiB to 1.07 GiB on node worker: pool \"default\" has 508 MiB free for backend lvm, 588 MiB more asked"
  # The expand controller raises the capacity all the same; the claim's status is the truth.
  claim_has 512Mi
  lv_is 512
  delete_claim other
  eventually 30 lv_is 1100
  # What is asked for and not granted takes nothing from others.
  ask 100Ti
  eventually 30 event_says pvc/data VolumeResizeFailed "to 100 TiB"
  make_claim other 512Mi growing
  eventually 30 claim_is other Bound
}

@test "a claim beside a growth does not get what the growth has taken" {
  use_volume
  touch "$work/worker/hold-lvextend"
  ask 1Gi
  eventually 30 test -e "$work/worker/held-lvextend"
  make_claim other 1100Mi growing
  eventually 30 event_says pvc/other ProvisioningFailed "no room on node worker"
  claim_is other Pending
  rm "$work/worker/hold-lvextend"
  eventually 30 lv_is 1024
}

@test "disks that fail leave the volume as it was, and the growth is tried again" {
  use_volume
  touch "$work/worker/broken"
  ask 1Gi
  eventually 30 event_says pvc/data VolumeResizeFailed "disk on fire"
  rm "$work/worker/broken"
  eventually 30 lv_is 1024
}

@test "a daemon that is killed before the disks have grown leaves what the next one completes" {
  use_volume
  pretend_mounted
  touch "$work/worker/hold-lvextend"
  ask 1Gi
  eventually 30 test -e "$work/worker/held-lvextend"
  kill_daemon worker
  rm "$work/worker/hold-lvextend" # the tool goes on alone, as an orphaned program would
  start_daemon worker
  eventually 30 claim_has 1Gi
  capacity_is 1Gi
  lv_is 1024
}

@test "a daemon that is killed once the disks have grown leaves what the next one completes" {
  use_volume
  pretend_mounted
  stop_processes "$work" worker
  "$work/worker/lvextend" -qq -L 1g "worker/$volume"
  ask 1Gi
  start_daemon worker
  eventually 30 claim_has 1Gi
  capacity_is 1Gi
  lv_is 1024
}

@test "a daemon that is killed behind the capacity leaves what the next one completes" {
  use_volume
  pretend_mounted
  stop_processes "$work" worker
  "$work/worker/lvextend" -qq -L 1g "worker/$volume"
  ask 1Gi
  kubectl patch pv "$volume" -p '{"spec":{"capacity":{"storage":"1Gi"}}}'
  start_daemon worker
  eventually 30 claim_has 1Gi
  lv_is 1024
}

@test "killed at random while it grows step by step, it ends with what was asked for" {
  use_volume
  pretend_mounted
  for size in 600 700 800 900 1000 1100; do
    ask "${size}Mi"
    sleep "0.$((RANDOM % 10))" # any moment will do: nothing is waited for
    kill_daemon worker
    start_daemon worker
  done
  eventually 60 claim_has 1100Mi
  capacity_is 1100Mi
  lv_is 1100
}

@test "a growth that is done leaves nothing in the claim, and quota is charged for what it asks" {
  need_growths
  kubectl create quota storage --hard=requests.storage=10Gi
  use_volume
  pretend_mounted
  ask_slowly 700M
  eventually 30 capacity_is 700M
  rm "$work/worker/hold-lvextend"
  eventually 30 claim_has 668Mi
  eventually 30 nothing_is_left_of_growth 700M
  eventually 30 has_no_former_size
  capacity_is 668Mi
  eventually 30 quota_is_charged 700M
  # The next one begins anew, and not with what the controller remembers of the first.
  ask_slowly 1Gi
  allocated_is 1Gi
  rm "$work/worker/hold-lvextend"
  eventually 30 claim_has 1Gi
  eventually 30 nothing_is_left_of_growth 1Gi
  eventually 30 quota_is_charged 1Gi
}

@test "a capacity that the controller writes when all is done does not stay" {
  use_volume
  pretend_mounted
  ask 700M
  eventually 30 claim_has 668Mi
  kubectl patch pv "$volume" -p '{"spec":{"capacity":{"storage":"700M"}}}'
  eventually 30 capacity_is 668Mi
  claim_has 668Mi
}

@test "without room the claim and its volume say what there is, and a smaller request ends well" {
  need_growths
  kubectl create quota storage --hard=requests.storage=10Gi
  make_claim other 1Gi growing
  eventually 30 claim_is other Bound
  use_volume
  pretend_mounted
  ask 1100Mi
  eventually 30 says_failed 1100Mi
  quota_is_charged 2124Mi
  # For which there is no room either.
  ask 1050Mi
  eventually 30 says_failed 1050Mi
  eventually 30 quota_is_charged 2074Mi
  ask 600M
  eventually 30 claim_has 576Mi
  eventually 30 nothing_is_left_of_growth 600M
  lv_is 576
  capacity_is 576Mi
  eventually 30 quota_is_charged $(((1 << 30) + 600000000))
  # And nobody goes on about it: a whole other growth, and not one event more.
  failed=$(failures)
  ask 620M
  eventually 30 claim_has 592Mi
  eventually 30 nothing_is_left_of_growth 620M
  [ "$(failures)" = "$failed" ]
  # What was refused is asked for again, and there is room for it now.
  delete_claim other
  eventually 30 is_gone pvc other
  ask 1050Mi
  eventually 30 claim_has 1052Mi
  eventually 30 nothing_is_left_of_growth 1050Mi
  eventually 30 quota_is_charged 1050Mi
}

@test "disks that cannot make a volume larger leave the claim saying what there is" {
  need_growths
  use_volume
  pretend_mounted
  mv "$work/worker/lvextend" "$work/worker/lvextend.whole"
  printf '#!/bin/bash\necho "disk on fire" >&2\nexit 5\n' >"$work/worker/lvextend"
  chmod +x "$work/worker/lvextend"
  ask 1Gi
  eventually 30 says_failed 1Gi
  event_says pvc/data VolumeResizeFailed "disk on fire"
  mv "$work/worker/lvextend.whole" "$work/worker/lvextend"
  eventually 30 claim_has 1Gi
  eventually 30 nothing_is_left_of_growth 1Gi
  capacity_is 1Gi
}

@test "what the disks hold already is charged for, whatever the request was lowered to" {
  need_growths
  kubectl create quota storage --hard=requests.storage=10Gi
  use_volume
  pretend_mounted
  stop_processes "$work" worker
  "$work/worker/lvextend" -qq -L 1g "worker/$volume"
  ask 1Gi
  eventually 30 resize_status_is NodeResizePending
  ask 700Mi
  start_daemon worker
  eventually 30 claim_has 1Gi
  eventually 30 nothing_is_left_of_growth 1Gi
  capacity_is 1Gi
  eventually 30 quota_is_charged 1Gi
}
