# Released volumes go, and only they: the real daemon, a real control plane, real LVM metadata.

setup_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  start_cluster
  make_node worker 4G
  start_daemon worker
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  stop_cluster
}

setup() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  before=$(free_bytes worker)
  make_claim data
  eventually 30 claim_is data Bound
  volume=$(volume_of data)
}

teardown() {
  delete_claim data
  kill -CONT "$(process_id "$work" worker)" || true
  rm -f "$work"/worker/{open,broken,hold-*,held-*}
  eventually 30 is_gone pvc data
  [ -z "$volume" ] || "$work/worker/lvremove" -qq -y "worker/$volume" || true
}

selected() { [ -n "$(kubectl get pvc "$1" -o 'jsonpath={.metadata.annotations.volume\.kubernetes\.io/selected-node}')" ]; }
only_volumes_of() {
  local name
  [ "$(kubectl get pv -o name | wc -l)" = $# ] || return 1
  for name in "$@"; do kubectl get pv "$(volume_of "$name")"; done
}

@test "deleting the claim removes volume and logical volume, and the space is free again" {
  make_lv worker "$volume"
  delete_claim data
  eventually 30 is_gone pv "$volume"
  lv_is_gone worker "$volume"
  [ "$(free_bytes worker)" = "$before" ]
}

@test "a volume that was never mounted has nothing to remove" {
  delete_claim data
  eventually 30 is_gone pv "$volume"
}

@test "a logical volume that is open waits, says so, and goes once it is closed" {
  make_lv worker "$volume"
  touch "$work/worker/open"
  delete_claim data
  eventually 30 event_says "pv/$volume" VolumeFailedDelete "is in use and is not removed yet"
  lv_exists worker "$volume"
  kubectl get pv "$volume"
  rm "$work/worker/open"
  eventually 30 is_gone pv "$volume"
  lv_is_gone worker "$volume"
}

@test "a volume that waits keeps no other waiting" {
  make_lv worker "$volume"
  touch "$work/worker/open"
  delete_claim data
  eventually 30 event_says "pv/$volume" VolumeFailedDelete "is in use and is not removed yet"
  make_claim other
  eventually 30 claim_is other Bound
  other=$(volume_of other)
  delete_claim other
  eventually 30 is_gone pv "$other"
  lv_exists worker "$volume"
}

is_ordered() { kubectl get volumecopies -o json | jq -en --arg claim "$1" 'input | any(.items[]; .spec.claim.name == $claim)'; }

# hold_making CLAIM: it waits for its volume, which the daemon has begun to make.
hold_making() {
  if is_central; then # the leader has ordered it, and the agent stands still
    kill -STOP "$(process_id "$work" worker)"
    make_claim "$1"
    eventually 30 is_ordered "$1"
  else
    stop_processes "$work" worker
    touch "$work/worker/hold-vgs"
    start_daemon worker
    make_claim "$1"
    eventually 30 selected "$1"
    eventually 30 test -e "$work/worker/held-vgs"
  fi
}

@test "a claim that is deleted while its volume is being made leaves nothing" {
  hold_making other
  delete_claim other
  eventually 30 is_gone pvc other
  rm -f "$work/worker/hold-vgs"
  kill -CONT "$(process_id "$work" worker)"
  # By the time that another claim has its volume the deleted one's would be there, too.
  make_claim third
  eventually 30 claim_is third Bound
  eventually 30 only_volumes_of data third
  delete_claim third
  eventually 30 is_gone pvc third
}

# A create that arrives late is a PersistentVolume for a claim that has gone.
@test "a volume that was made for a claim that is gone is taken back" {
  late=pvc-$(</proc/sys/kernel/random/uuid)
  kubectl get pv "$volume" -o json | jq --arg name "$late" '
    del(.status, .metadata.uid, .metadata.resourceVersion, .metadata.creationTimestamp)
    | .metadata.name = $name | .spec.claimRef.uid = $name[4:] | .spec.claimRef.name = "late"
    | .metadata.annotations["flexlocal.io/order"] |= (fromjson | .volume = $name
      | .claim.uid = $name[4:] | .claim.name = "late" | tojson)
    | del(.spec.claimRef.resourceVersion)' | kubectl create -f -
  eventually 30 is_gone pv "$late"
}

@test "a logical volume whose tags name another owner stays, and so does the PersistentVolume" {
  make_lv worker "$volume" somebody-else
  delete_claim data
  eventually 30 event_says "pv/$volume" VolumeFailedDelete "its tags do not say that it is this claim's"
  lv_exists worker "$volume"
  kubectl get pv "$volume"
  # Removed by a person, the PersistentVolume can go.
  "$work/worker/lvremove" -qq -y "worker/$volume"
  eventually 30 is_gone pv "$volume"
}

@test "when LVM fails nothing is taken for gone" {
  make_lv worker "$volume"
  touch "$work/worker/broken"
  delete_claim data
  eventually 30 event_says "pv/$volume" VolumeFailedDelete "disk on fire"
  kubectl get pv "$volume"
  rm "$work/worker/broken"
  eventually 30 is_gone pv "$volume"
  lv_is_gone worker "$volume"
}

@test "with Retain the data outlives claim and PersistentVolume" {
  make_lv worker "$volume"
  kubectl patch pv "$volume" -p '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}'
  delete_claim data
  eventually 30 volume_is "$volume" Released
  lv_exists worker "$volume"
  kubectl delete pv "$volume" --timeout=30s
  lv_exists worker "$volume"
  is_retained "$volume"
}

@test "a retained volume that a person gives to another claim has that claim's access mode" {
  strictest_mode
  make_lv worker "$volume"
  kubectl patch pv "$volume" -p '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}'
  record_says worker "$volume" ReadWriteOnce data
  delete_claim data
  eventually 30 volume_is "$volume" Released
  kubectl patch pv "$volume" --type merge -p "{\"spec\":{\"claimRef\":null,\"accessModes\":[\"$mode\"]}}"
  make_claim heir 512Mi flexlocal "accessModes: [$mode]
  volumeName: $volume"
  eventually 30 claim_is heir Bound
  eventually 30 record_says worker "$volume" "$mode" heir
  lv_exists worker "$volume"
  delete_claim heir
  eventually 30 volume_is "$volume" Released
  kubectl delete pv "$volume" --timeout=30s
}

@test "a PersistentVolume that is deleted under its claim keeps object and data" {
  make_lv worker "$volume"
  kubectl delete pv "$volume" --wait=false
  eventually 30 event_says "pv/$volume" VolumeFailedDelete "the claim is still bound to this volume"
  lv_exists worker "$volume"
  kubectl get pv "$volume"
  delete_claim data
  eventually 30 is_gone pv "$volume"
  lv_is_gone worker "$volume"
}

@test "what happened while the daemon was away is done when it comes back" {
  make_lv worker "$volume"
  stop_processes "$work" worker
  delete_claim data
  eventually 30 volume_is "$volume" Released
  start_daemon worker
  eventually 30 is_gone pv "$volume"
  lv_is_gone worker "$volume"
}

# Who decides is away, and the node's daemon goes on, where these are two.
@test "a volume that is released, and then retained, while nobody decides keeps its data" {
  make_data worker "$volume"
  decider=leader
  is_central || decider=worker
  stop_processes "$work" "$decider"
  delete_claim data
  eventually 30 volume_is "$volume" Released
  kubectl patch pv "$volume" -p '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}'
  if is_central; then start_leader_as; else start_daemon worker; fi
  eventually 60 copy_has 'input | .spec.desiredState == "Retained" and .spec.reclaimPolicy == "Retain"
    and .status.state == "Retained" and .status.observedGeneration == .metadata.generation'
  # What comes after it has been decided, too.
  make_claim other
  eventually 30 claim_is other Bound
  delete_claim other
  eventually 30 is_gone pvc other
  volume_is "$volume" Released
  lv_exists worker "$volume"
  kubectl delete pv "$volume" --timeout=30s
  lv_exists worker "$volume"
  is_retained "$volume"
}

# copy_has CONDITION: jq, of the volume's one copy.
copy_has() { kubectl get volumecopies -o json | jq --arg volume "$volume" '.items[] | select(.spec.volume == $volume)' | jq -en "$1"; }

# has_failed TIMES: as often has the daemon failed to remove the volume.
has_failed() { (($(grep -c "will be tried again.*$volume" "$work/log/worker.log") >= $1)); }

@test "data is not destroyed on what the daemon remembers while it cannot ask" {
  make_lv worker "$volume"
  touch "$work/worker/open"
  delete_claim data
  eventually 30 event_says "pv/$volume" VolumeFailedDelete "is in use"
  # The daemon stands still while an administrator decides otherwise and the device is closed. Not in
  # the middle of a try: one that has asked already goes by the answer it got. After five failures
  # the next try is two seconds away.
  eventually 30 has_failed 5
  kill -STOP "$(process_id "$work" worker)"
  kubectl patch pv "$volume" -p '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}'
  rm "$work/worker/open"
  kill -CONT "$(process_id "$work" worker)"
  make_claim other
  eventually 30 claim_is other Bound # by now it has worked on all that waited
  lv_exists worker "$volume"
  delete_claim other
  # The PersistentVolume was deleted before the order to remove was given.
  eventually 30 is_gone pv "$volume"
  eventually 30 is_retained "$volume"
}

@test "a daemon that is killed in mid-work leaves nothing that the next one cannot finish" {
  make_lv worker "$volume"
  delete_claim data
  kill_daemon worker
  start_daemon worker
  eventually 30 is_gone pv "$volume"
  lv_is_gone worker "$volume"
}

# Wiping needs the volume's device, which is not there in this tier.
@test "a volume that cannot be wiped stays, and its space with it" {
  make_class wiped 'onDelete: zero'
  make_claim secret 512Mi wiped
  eventually 30 claim_is secret Bound
  secret=$(volume_of secret)
  make_lv worker "$secret"
  delete_claim secret
  eventually 30 event_says "pv/$secret" VolumeFailedDelete "looking at /dev/mapper/worker-pvc--"
  lv_exists worker "$secret"
  kubectl get pv "$secret"
  [ "$(free_bytes worker)" = $((before - 512 * 1024 * 1024)) ]
}

@test "whoever keeps a volume whose wiping has begun is told that it is not whole, also by the next daemon" {
  secret=$(kubectl get pv -o json | jq -r '.items[] | select(.spec.storageClassName == "wiped") | .metadata.name')
  stop_processes "$work" worker
  kubectl patch pv "$secret" -p '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}'
  start_daemon worker
  eventually 75 event_says "pv/$secret" VolumeWiping "the volume is to be kept since its wiping began: part of it is wiped and lost"
  lv_exists worker "$secret"
  kubectl patch pv "$secret" -p '{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}'
  "$work/worker/lvremove" -qq -y "worker/$secret"
  eventually 30 is_gone pv "$secret"
}
