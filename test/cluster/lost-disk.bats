# A node that has lost its root disk with all records, and kept its data disks; and the reverse. The real
# daemons, and real LVM metadata.

# shellcheck disable=SC2016,SC2119 # jq's variables, and functions whose arguments may be left out
setup_file() {
  . "$BATS_TEST_DIRNAME/central.bash"
  start_cluster
  make_node worker 4G
  note_what_is_made
  start_agent worker
  lead worker
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/central.bash"
  stop_cluster
}

setup() { . "$BATS_TEST_DIRNAME/central.bash"; }

# make_volumes: one that holds data and one that is promised, whose daemon is killed then.
make_volumes() {
  make_claim_for worker used
  make_claim_for worker waiting
  eventually 90 claim_is used Bound
  eventually 90 claim_is waiting Bound
  find_volume waiting
  waiting=$copy waiting_volume=$volume
  find_volume used
  make_ready worker
  eventually 60 is_state Ready
  is_state Promised "$waiting"
  kill_daemon worker
  rm -f "$work/made"
}

teardown() {
  kubectl delete pvc --all --wait=false
  eventually 90 no_volumes
  kubectl delete events --all
}

# What lvcreate is asked for; nothing comes of it here.
note_what_is_made() {
  sed -i "2i echo \"\$*\" >>\"$work/made\"" "$work/worker/no-lvcreate"
}
# nothing_made VOLUME: by this daemon, which has looked at its disks and at the order.
nothing_made() { [ ! -e "$work/made" ] || ! grep -q "$1" "$work/made"; }

is_lost() { is_state Lost "$1" && reasons DataGone 'is not made anew and empty' "$1"; }

@test "the root disk is lost: what is on the data disks stays, what was only promised is lost and said" {
  make_volumes
  uuid=$("$work/worker/lvs" --noheadings -o lv_uuid "worker/$volume")
  pv=$(kubectl get pv "$volume" -o 'jsonpath={.metadata.uid}')
  rm -r "$work/worker/state"
  start_agent worker
  # The host has another id now: that of before has to be silent first.
  eventually 120 is_lost "$waiting"
  # By its tags it is known, and no other is made. That its file system is whole, for its record to be made
  # anew, only a node with a device-mapper can see.
  eventually 60 grep -q "copy=$copy .*so that its record is not made anew" "$work/log/worker.log"
  says '.status.state != "Lost" and .status.made'
  [ "$("$work/worker/lvs" --noheadings -o lv_uuid "worker/$volume")" = "$uuid" ]
  [ "$(kubectl get pv "$volume" -o 'jsonpath={.metadata.uid}')" = "$pv" ]
  copies_of used 'length == 1'
  eventually 30 event_says pvc/waiting VolumeLost 'node worker cannot serve the volume'
  [ ! -e "$work/worker/state/volumes/$waiting_volume" ]
  nothing_made "$waiting_volume"
  nothing_made "$volume"
  # And new ones are made beside them.
  make_claim_for worker other
  eventually 90 claim_is other Bound
}

@test "the data disk is lost, and another is in its place: no volume is made anew and empty" {
  make_volumes
  device=$(<"$work/worker.loop")
  dd if=/dev/zero of="$device" bs=1M count=4 conv=fsync
  "$work/worker/vgcreate" -qq worker "$device"
  start_agent worker
  eventually 120 is_lost "$copy"
  eventually 30 event_says pvc/used VolumeLost 'node worker cannot serve the volume'
  claim_is used Bound
  copies_of used 'length == 1'
  nothing_made "$volume"
  # What was promised and never used is made there as well as on the old disk.
  is_state Promised "$waiting"
}

@test "leader and agent need no other rights than they have" {
  nothing_forbidden none
}
