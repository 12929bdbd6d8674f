# A leader that decides and agents that carry out, on a real API server with its controllers and
# scheduler. Without a device-mapper no volume is made here, so that copies stay promised.

# shellcheck disable=SC2016,SC2119 # jq's variables, and functions whose arguments may be left out
setup_file() {
  . "$BATS_TEST_DIRNAME/central.bash"
  start_cluster
  make_class now 'onDelete: none' -- 'volumeBindingMode: Immediate'
  make_class growing 'onDelete: none' -- 'allowVolumeExpansion: true'
  make_class by-memory 'onDelete: none' 'diskPerRam: "1"' 'sizeFrom: podMemory'
  kubectl apply -f "$installation/read-pods.yaml"
  for node in one two; do
    make_node "$node" 4G
    start_agent "$node"
  done
  # One whose kubelet never calls the plugin: what comes of it is seen at the end.
  make_node three 1G
  kubectl cordon three
  start_agent three
  rm "$work/three/locks/kubelet-init"
  lead one two
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/central.bash"
  stop_cluster
}

setup() { . "$BATS_TEST_DIRNAME/central.bash"; }

# Whatever a test that failed had stopped or cordoned, the next one finds as it was at first.
teardown() {
  go_on one
  kubectl uncordon one two
  kubectl delete pods --all --grace-period=0 --force
  kubectl delete pvc --all --wait=false
  eventually 60 no_volumes
  eventually 60 no_records
  # What is said of Nodes stays for the test that looks for it.
  kubectl delete events --field-selector involvedObject.kind!=Node
}

@test "a claim is ordered, promised, bound and given back" {
  make_claim data
  eventually 30 claim_is data Bound
  volume=$(volume_of data)
  copies_of data 'length == 1 and .[0].status.promised and .[0].spec.term > 0'
  copy=$(copy_of_volume "$volume")
  kubectl get pv "$volume" -o json | jq -en --arg copy "${copy##*-}" 'input |
    .spec.flexVolume.options == {"flexlocal.io/copy": $copy}
    and any(.metadata.finalizers[]; . == "flexlocal.io/reclaim")'
  records | jq -en --arg copy "${copy##*-}" 'input | .copy == $copy'
  delete_claim data
  eventually 30 is_gone pv "$volume"
  eventually 30 no_records
  eventually 30 is_state Removed "$copy"
  # Its object stays for a while.
  eventually 90 is_gone volumecopy "$copy"
}

@test "a PersistentVolume whose label of the node somebody took away is still followed" {
  make_claim_for one data
  eventually 60 claim_is data Bound
  find_volume data
  make_ready one default
  eventually 30 is_state Ready
  kubectl label pv "$volume" flexlocal.io/node-
  kubectl patch pv "$volume" -p '{"spec": {"persistentVolumeReclaimPolicy": "Retain"}}'
  delete_claim data
  eventually 30 says '.spec.reclaimPolicy == "Retain"'
  kubectl delete pv "$volume" --timeout=60s
  eventually 30 is_state Retained
  lv_exists one "$volume"
  kubectl patch volumecopy "$copy" --type merge -p '{"spec": {"desiredState": "Removed"}}'
  eventually 60 is_gone volumecopy "$copy"
}

@test "what no node has room for is said, and leaves nothing" {
  make_claim data 100Gi
  eventually 60 event_says pvc/data ProvisioningFailed 'no room on node'
  claim_is data Pending
  no_volumes
  no_records
}

@test "claims that fit one node only each get their own" {
  make_claim first 3Gi
  make_claim second 3Gi
  eventually 90 claim_is first Bound
  eventually 90 claim_is second Bound
  kubectl get pv -o json | jq -en 'input | [.items[].metadata.labels["flexlocal.io/node"]] | sort == ["one", "two"]'
}

@test "the scheduler is told of the room on all nodes, less what was ordered" {
  eventually 60 told one '. == "4092Mi"'
  eventually 60 told two '. == "4092Mi"'
  make_claim data 1Gi
  eventually 30 claim_is data Bound
  node=$(kubectl get pv "$(volume_of data)" -o 'jsonpath={.metadata.labels.flexlocal\.io/node}')
  eventually 60 told "$node" '. == "3068Mi"'
  kubectl -n flexlocal-system delete csistoragecapacities -l "flexlocal.io/node=$node"
  eventually 60 told "$node" '. == "3068Mi"'
}

@test "a claim that waits for no pod gets a volume, where there is most room" {
  kubectl apply -f - <<END
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: early}
spec: {storageClassName: now, resources: {requests: {storage: 512Mi}}, accessModes: [ReadWriteOnce]}
END
  eventually 30 claim_is early Bound
}

@test "a node that does not answer loses the claim, and has to answer that it has nothing" {
  pause one
  make_claim_for one data
  eventually 30 copies_of data 'length == 1 and .[0].spec.nodeName == "one"'
  eventually 60 copies_of data 'any(.spec.desiredState == "Withdrawn")'
  kubectl cordon one
  make_pod data
  eventually 90 claim_is data Bound
  kubectl get pv "$(volume_of data)" -o json | jq -en 'input | .metadata.labels["flexlocal.io/node"] == "two"'
  go_on one
  eventually 60 copies_of data 'any(.spec.nodeName == "one" and .status.state == "Removed")'
  [ "$(records | jq -s length)" = 1 ]
}

@test "a leader that was killed between order and answer is followed without a second copy" {
  pause one
  make_claim_for one data
  eventually 30 copies_of data 'length == 1'
  begun=$(terms_begun)
  kill_daemon leader
  start_leader
  eventually 60 began_after "$begun"
  go_on one
  eventually 60 claim_is data Bound
  copies_of data 'length == 1'
}

terms_begun() { grep -c 'orders are given' "$work/log/leader.log"; }
began_after() { (($(terms_begun) > $1)); }

@test "an order whose object somebody deleted is given again for what is there" {
  make_claim data
  eventually 30 claim_is data Bound
  copy=$(copy_of_volume "$(volume_of data)")
  kubectl delete volumecopy "$copy"
  eventually 30 says '.spec.origin == "Existing" and .status.state == "Promised"' "$copy"
  records | jq -en "input | .order.uid == $(says .metadata.uid "$copy")"
}

@test "a retained volume is kept, served again when its PersistentVolume is made again" {
  make_claim data
  eventually 30 claim_is data Bound
  volume=$(volume_of data)
  copy=$(copy_of_volume "$volume")
  kubectl patch pv "$volume" -p '{"spec": {"persistentVolumeReclaimPolicy": "Retain"}}'
  kubectl get pv "$volume" -o json |
    jq 'del(.metadata.uid, .metadata.resourceVersion, .metadata.deletionTimestamp, .spec.claimRef, .status)' >"$work/kept"
  delete_claim data
  eventually 30 volume_is "$volume" Released
  kubectl delete pv "$volume" --wait=false
  eventually 30 is_gone pv "$volume"
  is_state Retained "$copy"
  records | jq -en 'input | .retained'
  jq '.spec.persistentVolumeReclaimPolicy = "Delete"' "$work/kept" | kubectl create -f -
  eventually 30 is_state Promised "$copy"
  records | jq -en 'input | .retained | not'
  # No claim has it, and nothing of it was ever made: with its PersistentVolume it goes.
  kubectl delete pv "$volume" --wait=false
  eventually 60 is_state Removed "$copy"
}

@test "a claim that is deleted before its node answered leaves nothing" {
  pause one
  make_claim_for one data
  eventually 30 copies_of data 'length == 1 and .[0].spec.nodeName == "one"'
  copy=$(copy_of_volume "pvc-$(kubectl get pvc data -o 'jsonpath={.metadata.uid}')")
  kubectl delete pvc data --wait=false
  eventually 60 says '.spec.desiredState == "Withdrawn"' "$copy"
  go_on one
  eventually 60 is_state Removed "$copy"
}

@test "what was promised for a claim that goes elsewhere is withdrawn" {
  stop_processes "$work" leader
  make_claim_for two data
  uid=$(kubectl get pvc data -o 'jsonpath={.metadata.uid}')
  volume=pvc-$uid id=0123456789abcdef copy=pvc-$uid-0123456789abcdef
  node=one order
  eventually 30 is_state Promised
  start_leader
  eventually 60 is_state Removed
  eventually 60 claim_is data Bound
  [ "$(kubectl get pv "$volume" -o 'jsonpath={.metadata.labels.flexlocal\.io/node}')" = two ]
}

@test "a claim for a node that there is not is handed back" {
  make_claim_for nowhere data
  eventually 60 event_says pvc/data ProvisioningFailed 'node nowhere is gone'
  [ -z "$(kubectl get pvc data -o 'jsonpath={.metadata.annotations.volume\.kubernetes\.io/selected-node}')" ]
}

@test "a volume grows as its claim asks, and keeps what it has where there is no room" {
  make_claim data 512Mi growing
  eventually 30 claim_is data Bound
  find_volume data
  make_ready "$node"
  eventually 30 is_state Ready
  # A request that was too large can be lowered since 1.34.
  is_older_than 1.34 || grow_too_far '512 MiB' 536870912
  request 1Gi
  eventually 60 has_grown
  [ "$(lv_size)" = 1073741824 ]
  ! is_older_than 1.34 || grow_too_far '1 GiB' 1073741824
  delete_claim data
  eventually 60 lv_is_gone "$node" "$volume"
}
# The expand controller of Kubernetes 1.20 says by itself that the file system follows.
has_grown() {
  if is_older_than 1.32; then
    [ "$(lv_size)" = 1073741824 ] && event_says pvc/data FileSystemResizeRequired ''
  else
    event_says pvc/data FileSystemResizeRequired 'offers 1 GiB'
  fi
}
request() { kubectl patch pvc data -p "{\"spec\": {\"resources\": {\"requests\": {\"storage\": \"$1\"}}}}"; }
# grow_too_far SIZE BYTES: what it has it keeps.
grow_too_far() {
  request 100Gi
  eventually 60 event_says pvc/data VolumeResizeFailed "does not grow from $1"
  [ "$(lv_size)" = "$2" ]
}
lv_size() { "$work/$node/lvs" --noheadings --units b --nosuffix -o lv_size "$node/$volume" | tr -d ' '; }

@test "a class can leave the size to the memory of the pod" {
  make_sized_claim data by-memory 300Mi 700Mi
  eventually 30 claim_is data Bound
  [ "$(kubectl get pvc data -o 'jsonpath={.status.capacity.storage}')" = 700Mi ]
}

@test "of a class that is gone no room is told" {
  eventually 60 room_of_class now
  kubectl delete storageclass now
  eventually 60 no_room_of_class now
}

@test "the leader registers the driver, so that the scheduler asks for room" {
  ! kubectl get csidriver flexlocal.io || false
  stop_processes "$work" leader
  start_cluster_daemon leader
  eventually 60 kubectl get csidriver flexlocal.io
}

@test "an agent whose kubelet does not call the plugin says so, and is not ready" {
  eventually 330 event_says node/three PluginNotUsed 'has not called'
  eventually 60 is_not_ready three
}
is_not_ready() { [ "$(lease_of "$1" '.metadata.annotations["flexlocal.io/ready"]')" = false ]; }

# The API server stays so.
@test "leader and agents work on an API server without streaming lists" {
  "$BATS_TEST_DIRNAME/../lab/control-plane" restart-api "$work/cluster" --feature-gates=WatchList=false
  stop_processes "$work" leader
  stop_processes "$work" one
  start_agent one
  start_leader
  make_claim_for one data
  eventually 90 claim_is data Bound
}

@test "leader and agents need no other rights than they have" {
  nothing_forbidden none
}
