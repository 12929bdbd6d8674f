# A leader that decides and agents that carry out, on a real API server with its controllers and
# scheduler. Without a device-mapper no volume is made here, so that copies stay promised.

# shellcheck disable=SC2016 # jq's variables
setup_file() {
  . "$BATS_TEST_DIRNAME/central.bash"
  start_cluster
  apply_definition
  give_agent_rights
  give_controller_rights
  make_class now 'onDelete: none' -- 'volumeBindingMode: Immediate'
  for node in one two; do
    make_node "$node" 4G
    make_nothing "$node"
    start_agent_on "$node"
  done
  start_leader
  eventually 60 leads
  eventually 60 agent_is_ready one
  eventually 60 agent_is_ready two
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/central.bash"
  stop_cluster
}

setup() { . "$BATS_TEST_DIRNAME/central.bash"; }

teardown() {
  kubectl delete pods --all --grace-period=0 --force
  kubectl delete pvc --all --wait=false
  eventually 60 no_volumes
  eventually 60 no_records
  kubectl delete events --all
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
  kill -STOP "$(process_id "$work" one)"
  kubectl cordon two
  make_claim data
  eventually 30 copies_of data 'length == 1 and .[0].spec.nodeName == "one"'
  eventually 60 copies_of data 'any(.spec.desiredState == "Removed")'
  kubectl uncordon two
  eventually 90 claim_is data Bound
  kubectl get pv "$(volume_of data)" -o json | jq -en 'input | .metadata.labels["flexlocal.io/node"] == "two"'
  kill -CONT "$(process_id "$work" one)"
  eventually 60 copies_of data 'any(.spec.nodeName == "one" and .status.state == "Removed")'
  [ "$(records | jq -s length)" = 1 ]
}

@test "a leader that was killed between order and answer is followed without a second copy" {
  kubectl cordon two
  kill -STOP "$(process_id "$work" one)"
  make_claim data
  eventually 30 copies_of data 'length == 1'
  kill_daemon leader
  start_leader
  kill -CONT "$(process_id "$work" one)"
  eventually 60 claim_is data Bound
  copies_of data 'length == 1'
  kubectl uncordon two
}

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
  kill -STOP "$(process_id "$work" one)"
  kubectl cordon two
  make_claim data
  eventually 30 copies_of data 'length == 1'
  copy=$(kubectl get volumecopies -o json | jq -r '.items[] | select(.spec.nodeName == "one" and .spec.desiredState == "Serving") | .metadata.name')
  delete_claim data
  eventually 60 says '.spec.desiredState == "Removed"' "$copy"
  kill -CONT "$(process_id "$work" one)"
  eventually 60 is_state Removed "$copy"
  kubectl uncordon two
}

@test "leader and agents need no other rights than they have" {
  nothing_forbidden none
}
