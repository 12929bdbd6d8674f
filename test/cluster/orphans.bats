# Logical volumes without a PersistentVolume: the real daemon, a real control plane, real LVM
# metadata. Only what is nobody's any more is removed, and only when it is told to.

setup_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  start_cluster
  make_node worker 4G
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  stop_cluster
}

# A claim that is bound, so that the list of PersistentVolumes is not empty.
setup() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  start_daemon worker
  make_claim data 512Mi
  eventually 30 claim_is data Bound
  volume=$(volume_of data)
  stop_daemons worker
  cluster=$(kubectl get namespace kube-system -o 'jsonpath={.metadata.uid}')
}

teardown() {
  rm -f "$work"/worker/open
  stop_daemons worker
  start_daemon worker
  delete_claim data
  eventually 30 is_gone pvc data
  eventually 30 no_volumes
  stop_daemons worker
  "$work/worker/lvremove" -qq -y worker || true
  kubectl delete events --all
}

# make_orphan CLUSTER: an LV of a claim that nobody has heard of; its name is $orphan. Where a leader
# gives orders, it was made by the order of one, unless it is another cluster's.
make_orphan() {
  local uid
  uid=$(</proc/sys/kernel/random/uuid)
  orphan=pvc-$uid
  "$work/worker/lvcreate" -qq -an -Zn -Wn -n "$orphan" -L 300m \
    --addtag flexlocal.io/size=314572800 --addtag flexlocal.io/owner=flexlocal \
    --addtag flexlocal.io/copy=0123456789abcdef \
    --addtag "flexlocal.io/claim-uid=$uid" --addtag "flexlocal.io/cluster=$1" \
    --addtag flexlocal.io/claim-namespace=default --addtag flexlocal.io/pool=default \
    --addtag flexlocal.io/fs=xfs --addtag flexlocal.io/on-delete=none \
    --addtag flexlocal.io/state=ready worker
  [ "$1" != "$cluster" ] || order_orphan "$uid"
}

# order_orphan UID: the VolumeCopy of that volume, whose PersistentVolume and claim are gone.
order_orphan() {
  kubectl get volumecopies -o json | jq --arg uid "$1" --arg volume "$volume" '
    first(.items[] | select(.spec.volume == $volume))
    | {apiVersion, kind, metadata: {name: "pvc-\($uid)-0123456789abcdef", labels: .metadata.labels},
       spec: (.spec | .volume = "pvc-\($uid)" | .copy = "0123456789abcdef" | .origin = "Existing"
         | .desiredState = "Serving" | .reclaimPolicy = "Delete" | .size = "300Mi" | .claim.name = "gone" | .claim.uid = $uid)}' | kubectl create -f -
}

not_said() { ! event_says "$@"; }

lose_volume() {
  kubectl delete pv "$volume" --wait=false
  kubectl patch pv "$volume" -p '{"metadata":{"finalizers":null}}'
  eventually 30 is_gone pv "$volume"
}

@test "an orphan is reported on the Node, and stays, unless the policy says delete" {
  make_orphan "$cluster"
  start_daemon worker --orphan-grace=2s
  eventually 30 event_says node/worker OrphanedVolume \
    "$orphan (300 MiB, namespace default"
  lv_exists worker "$orphan"
}

@test "an orphan is removed when the policy says delete, and nothing else is" {
  make_lv worker "$volume"
  make_orphan "$cluster"
  ours=$orphan
  make_orphan "$(</proc/sys/kernel/random/uuid)"
  "$work/worker/lvcreate" -qq -an -Zn -Wn -n "pvc-$(</proc/sys/kernel/random/uuid)" -L 8m worker
  strangers=$("$work/worker/lvs" --noheadings -o lv_name worker | grep -cv -e "$ours")
  start_daemon worker --orphan-grace=2s --orphan-policy=delete
  eventually 30 lv_is_gone worker "$ours"
  eventually 30 event_says node/worker OrphanedVolumeDeleted "$ours (300 MiB, namespace default"
  [ "$("$work/worker/lvs" --noheadings -o lv_name worker | wc -l)" = "$strangers" ]
  lv_exists worker "$orphan"
  lv_exists worker "$volume"
}

@test "an orphan is left alone within its grace" {
  make_orphan "$cluster"
  start_daemon worker --orphan-policy=delete
  make_claim data 512Mi
  eventually 30 claim_is data Bound
  lv_exists worker "$orphan"
  not_said node/worker OrphanedVolume "$orphan"
}

@test "an orphan that is open waits, says so, and goes once it is closed" {
  make_orphan "$cluster"
  touch "$work/worker/open"
  start_daemon worker --orphan-grace=2s --orphan-policy=delete
  eventually 30 event_says node/worker OrphanedVolume "is in use and is not removed yet"
  lv_exists worker "$orphan"
  rm "$work/worker/open"
  eventually 30 lv_is_gone worker "$orphan"
}

# Whether there is a PersistentVolume or a claim the API server is asked by name.
@test "an orphan is removed from a node without any PersistentVolume, too" {
  make_data worker "$volume"
  delete_claim data
  eventually 30 is_gone pvc data
  lose_volume
  start_daemon worker --orphan-grace=2s --orphan-policy=delete
  eventually 30 lv_is_gone worker "$volume"
  eventually 30 event_says node/worker OrphanedVolumeDeleted "$volume"
}

# Its node had only promised it when its daemon went, and a pod had it made since.
@test "what a pod had made while its node's daemon was away is told as an orphan, and not removed" {
  copy=$(kubectl get volumecopies -o json | jq -er --arg volume "$volume" '.items[] | select(.spec.volume == $volume) | .metadata.name')
  copy_says '.status.state == "Promised" and (.status.made | not)'
  make_data worker "$volume"
  delete_claim data
  eventually 30 is_gone pvc data
  lose_volume
  ! is_central || withdraw_without_agent
  start_daemon worker --orphan-grace=2s
  eventually 60 copy_says '.spec.desiredState == "Withdrawn" and .status.state == "Retained" and .status.made'
  eventually 60 event_says node/worker OrphanedVolume "$volume"
  lv_exists worker "$volume"
  kubectl patch volumecopy "$copy" --type merge -p '{"spec": {"desiredState": "Removed"}}'
  eventually 60 lv_is_gone worker "$volume"
}
# The leader leaves it to the node, and waits for who could answer.
withdraw_without_agent() {
  start_leader_as --orphan-grace=2s
  eventually 60 copy_says '.spec.desiredState == "Withdrawn" and .status.state == "Promised"'
  lv_exists worker "$volume"
}
copy_says() { kubectl get volumecopy "$copy" -o json | jq -en "input | $1"; }

@test "a node that was created anew tells the claims of volumes that it has not got" {
  make_lv worker "$volume"
  make_claim other 512Mi
  start_daemon worker
  eventually 30 claim_is other Bound # never mounted, so that nothing of it is on the disk
  kubectl delete node worker
  "$BATS_TEST_DIRNAME/../lab/control-plane" node "$work/cluster" worker 16Gi
  stop_daemons worker
  rm -r "$work/worker/state" # it was set up anew: no promise of the earlier one is there
  start_daemon worker
  eventually 30 event_says pvc/other VolumeLost \
    "node worker cannot serve the volume: the copy was promised or made, and neither is on this host's disks"
  delete_claim other
  eventually 30 is_gone pvc other
}

@test "the data of a claim whose PersistentVolume was deleted by force stays, and the claim is told" {
  make_data worker "$volume"
  start_daemon worker --orphan-grace=1s --orphan-policy=delete
  make_claim other 512Mi
  eventually 30 claim_is other Bound
  lose_volume
  eventually 30 event_says pvc/data OrphanedVolume \
    "PersistentVolume $volume was deleted while this claim exists; its data,"
  lv_exists worker "$volume"
  # It is the claim that keeps it.
  delete_claim data
  eventually 30 lv_is_gone worker "$volume"
  delete_claim other
  eventually 30 is_gone pvc other
}

# retain_volume: the claim goes, and a person deletes the PersistentVolume that stayed.
retain_volume() {
  kubectl patch pv "$volume" -p '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}'
  delete_claim data
  eventually 30 volume_is "$volume" Released
  kubectl get pv "$volume" -o json | jq 'del(.status, .metadata.uid, .metadata.resourceVersion,
    .metadata.creationTimestamp)' >"$work/saved.json"
  kubectl delete pv "$volume" --wait=false
}

is_not_retained() { lv_exists worker "$1" && ! is_retained "$1"; }

@test "what the policy Retain keeps is no orphan, whatever the orphans' policy says" {
  make_data worker "$volume"
  make_orphan "$cluster"
  start_daemon worker --orphan-grace=1s --orphan-policy=delete --http-endpoint=127.0.0.1:0
  make_claim other 512Mi
  eventually 30 claim_is other Bound
  retain_volume
  eventually 30 is_gone pv "$volume"
  is_retained "$volume"
  # By the time that two of them have gone, it would have gone, too.
  eventually 30 lv_is_gone worker "$orphan"
  make_orphan "$cluster"
  eventually 60 lv_is_gone worker "$orphan"
  lv_exists worker "$volume"
  not_said node/worker OrphanedVolume "$volume"
  delete_claim other
  eventually 30 is_gone pvc other
}

@test "a daemon that is killed while it lets a retained volume go leaves no orphan" {
  make_data worker "$volume"
  touch "$work/worker/hold-lvchange"
  start_daemon worker --orphan-grace=1s --orphan-policy=delete
  make_claim other 512Mi
  eventually 30 claim_is other Bound
  retain_volume
  eventually 30 test -e "$work/worker/held-lvchange"
  kubectl get pv "$volume" # not before it is marked
  kill_daemon worker
  rm "$work"/worker/{hold,held}-lvchange
  start_daemon worker --orphan-grace=1s --orphan-policy=delete
  eventually 30 is_gone pv "$volume"
  is_retained "$volume"
  delete_claim other
  eventually 30 is_gone pvc other
}

@test "a volume group that is not to be seen keeps the PersistentVolume of what is to be retained" {
  make_data worker "$volume"
  start_daemon worker
  touch "$work/worker/broken"
  retain_volume
  eventually 30 event_says "pv/$volume" VolumeFailedDelete 'disk on fire'
  kubectl get pv "$volume"
  rm "$work/worker/broken"
  eventually 30 is_gone pv "$volume"
  is_retained "$volume"
}

@test "an administrator removes retained data by creating its PersistentVolume again with policy Delete" {
  make_data worker "$volume"
  start_daemon worker
  retain_volume
  eventually 30 is_gone pv "$volume"
  jq '.spec.persistentVolumeReclaimPolicy = "Delete"' "$work/saved.json" >"$work/deleted.json"
  kubectl create -f "$work/deleted.json"
  eventually 30 is_gone pv "$volume"
  lv_is_gone worker "$volume"
}

@test "retained data that has a claim again is an ordinary volume, and can be retained again" {
  make_data worker "$volume"
  start_daemon worker
  retain_volume
  eventually 30 is_gone pv "$volume"
  is_retained "$volume"
  jq '.spec.claimRef = {namespace: "default", name: "again"}' "$work/saved.json" | kubectl create -f -
  kubectl apply -f - <<END
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: again}
spec:
  storageClassName: flexlocal
  volumeName: $volume
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 512Mi}}
END
  eventually 30 claim_is again Bound
  # A daemon that begins looks at the disks first; this one would within a minute.
  stop_daemons worker
  start_daemon worker
  eventually 30 is_not_retained "$volume"
  kubectl delete pvc again
  kubectl delete pv "$volume" --timeout=30s
  is_retained "$volume"
}

# await_orphan: by the time that one has gone, so would have gone whatever the daemons take for one. What is
# made beside a daemon that runs it would see a minute later.
await_orphan() {
  stop_daemons worker
  make_orphan "$cluster"
  start_daemon worker --orphan-grace=1s --orphan-policy=delete
  eventually 60 lv_is_gone worker "$orphan"
}

# relabel LABEL: the PersistentVolume's, by a person: `flexlocal.io/node=other`, or `flexlocal.io/node-`.
# Its claim then goes under policy Retain, on a cluster that removes orphans as soon as it may.
relabel() {
  make_data worker "$volume"
  start_daemon worker
  make_claim other 512Mi # so that the node has a PersistentVolume
  eventually 30 claim_is other Bound
  kubectl label --overwrite pv "$volume" "$1"
  await_orphan
  lv_exists worker "$volume"
  kubectl patch pv "$volume" -p '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}'
  delete_claim data
  eventually 30 volume_is "$volume" Released
  await_orphan
  lv_exists worker "$volume"
  volume_is "$volume" Released
}

# put_right: with its label again all is as it was.
put_right() {
  kubectl label --overwrite pv "$volume" flexlocal.io/node=worker
  kubectl delete pv "$volume" --timeout=60s
  lv_exists worker "$volume"
  is_retained "$volume"
  delete_claim other
  eventually 30 is_gone pvc other
}

@test "a PersistentVolume whose label of the node a person removes keeps its data" {
  relabel flexlocal.io/node-
  put_right
}

@test "a PersistentVolume whose label a person makes that of no node keeps its data" {
  relabel flexlocal.io/node=nowhere
  put_right
}

# The last, since a node that is there and silent is waited for before anything new is ordered.
@test "a PersistentVolume whose label a person makes another node's keeps its data" {
  make_node second 1G
  kubectl cordon second
  start_daemon second --orphan-grace=1s --orphan-policy=delete
  relabel flexlocal.io/node=second
  put_right
}
