# Orders carried out on a real node: one daemon gives them, the node's makes, grows, keeps and removes
# volumes by them. The tests build on one another, in this order.

setup_file() {
  export work=$BATS_FILE_TMPDIR image=${IMAGE:?the container image to test}
  . "$BATS_TEST_DIRNAME/cluster.bash"
  start_cluster
  export KUBECONFIG PATH
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/cluster.bash"
  stop_cluster "$node"
}

setup() {
  . "$BATS_TEST_DIRNAME/cluster.bash"
}

# says CONDITION COPY: jq, of the VolumeCopy.
says() { kubectl get volumecopy "$2" -o json | jq -en "input | $1"; }
is_state() { says ".status.state == \"$1\" and .status.observedGeneration == .metadata.generation" "$2"; }
copy_of() {
  kubectl get volumecopies -o json |
    jq -enr --arg volume "$(volume_of "$1")" 'input | .items[] | select(.spec.volume == $volume) | .metadata.name'
}
claim_is_bound() { [ "$(kubectl get pvc "$1" -o 'jsonpath={.status.phase}')" = Bound ]; }
lv_bytes() { on_node lvs --noheadings --units b --nosuffix -o lv_size "data/$1" | tr -d ' \r\n'; }

@test "the installation is applied and becomes ready" {
  free_bytes >"$work/free-before"
  install_flexlocal
  wait_until daemons_are_ready 1
  kubectl apply -f "$root/examples/storageclass.yaml"
  wait_until knows_room flexlocal
}

@test "a claim that no pod has asked for yet has its volume made ahead" {
  { class_yaml early '' | sed 's/WaitForFirstConsumer/Immediate/' && claim_yaml early 320Mi early; } | kubectl apply -f -
  wait_until claim_is_bound early
  wait_until is_state Ready "$(copy_of early)"
  lv_exists "$(volume_of early)"
}

@test "pods of each backend get their volumes" {
  kubectl apply -f "$root/examples/pvc.yaml" -f "$root/examples/pod.yaml"
  make_pod early "$(claim_volume early)"
  make_claim thin 320Mi 'backend: thin'
  make_pod thin "$(claim_volume thin)"
  make_claim folder 64Mi 'backend: quota'
  make_pod folder "$(claim_volume folder)"
  for pod in writer early thin folder; do wait_until pod_is_ready "$pod"; done
  for claim in data early thin folder; do wait_until is_state Ready "$(copy_of "$claim")"; done
  in_pod writer 'echo precious >/data/file; sync'
  in_pod early 'echo first >/data/file; sync'
  in_pod folder 'echo folder >/data/file; sync'
}

# audit CONDITION: jq, of the daemons' requests that the API server has logged.
audit() { jq -en "[inputs | select((.user.username | startswith(\"system:serviceaccount:flexlocal-system:\")) and .responseStatus.code != null)] | $1" "$work/cluster/audit.log"; }
forbade_nothing() { audit 'all(.[]; .responseStatus.code != 403)'; }

@test "all volumes were made by the leader, and no daemon asked for what it may not have" {
  audit '[.[] | select(.verb == "create" and .objectRef.resource == "persistentvolumes" and .responseStatus.code == 201)]
    | length == 4 and all(.[]; .user.username | endswith(":flexlocal-cluster"))'
  audit 'any(.[]; .user.username | endswith(":flexlocal-node"))
    and all(.[] | select(.user.username | endswith(":flexlocal-node")); .objectRef.resource | IN("persistentvolumeclaims", "persistentvolumes", "secrets", "pods") | not)'
  forbade_nothing
}

@test "claims that ask for more grow under their pods, of each backend" {
  for claim in data thin folder; do
    kubectl patch storageclass "$(kubectl get pvc "$claim" -o 'jsonpath={.spec.storageClassName}')" -p '{"allowVolumeExpansion": true}'
  done
  kubectl patch pvc data -p '{"spec":{"resources":{"requests":{"storage":"640Mi"}}}}'
  kubectl patch pvc thin -p '{"spec":{"resources":{"requests":{"storage":"400Mi"}}}}'
  kubectl patch pvc folder -p '{"spec":{"resources":{"requests":{"storage":"128Mi"}}}}'
  wait_until claim_offers data 640Mi
  wait_until claim_offers thin 400Mi
  wait_until claim_offers folder 128Mi
  [ "$(lv_bytes "$(volume_of data)")" = $((640 * 1048576)) ]
  [ "$(in_pod writer 'cat /data/file')" = precious ]
  in_pod folder 'dd if=/dev/zero of=/data/fill bs=1M count=100'
}

@test "a volume that is kept is served again, with its data" {
  volume=$(volume_of early) copy=$(copy_of early)
  kubectl patch pv "$volume" -p '{"spec": {"persistentVolumeReclaimPolicy": "Retain"}}'
  kubectl get pv "$volume" -o json |
    jq 'del(.metadata.uid, .metadata.resourceVersion, .metadata.deletionTimestamp, .metadata.annotations["pv.kubernetes.io/bound-by-controller"], .spec.claimRef, .status)' >"$work/kept"
  kubectl delete pod early
  kubectl delete pvc early
  wait_until is_state Retained "$copy"
  [[ $(on_node lvs --noheadings -o lv_tags "data/$volume") == *flexlocal.io/retained* ]]
  kubectl delete pv "$volume" --wait=false
  wait_until is_gone pv "$volume"
  lv_exists "$volume"
  kubectl create -f "$work/kept"
  claim_yaml early 320Mi early | kubectl apply -f -
  wait_until claim_is_bound early
  [ "$(volume_of early)" = "$volume" ]
  make_pod early "$(claim_volume early)"
  wait_until pod_is_ready early
  [ "$(in_pod early 'cat /data/file')" = first ]
}

@test "after a power cut of the node its pods find their data, without a word of the leader" {
  kubectl -n flexlocal-system scale deployment flexlocal-cluster --replicas=0
  on_node sync
  "$root/test/lab/node" reset "$work" "$node"
  # As the node's fstab would.
  on_node mount -o prjquota /dev/data/shared /srv/shared
  # The pods are Ready by the API's word of before the cut; only the data itself shows that they run.
  wait_until finds writer precious
  wait_until finds early first
  wait_until finds folder folder
  kubectl -n flexlocal-system scale deployment flexlocal-cluster --replicas=2
}

# finds POD TEXT: the pod's file begins with TEXT.
finds() { [[ $(in_pod "$1" 'cat /data/file') == "$2"* ]]; }

@test "orders that somebody deleted are given again, and nothing is removed because of it" {
  copies=("$(copy_of data)" "$(copy_of thin)" "$(copy_of folder)")
  kubectl delete volumecopies --all
  for copy in "${copies[@]}"; do wait_until is_state Ready "$copy"; done
  for copy in "${copies[@]}"; do says '.spec.origin == "Existing"' "$copy"; done
  [ "$(in_pod writer 'cat /data/file')" = precious ]
}

@test "a volume whose pod still writes is closed first, and removed when it is free" {
  volume=$(volume_of data) copy=$(copy_of data)
  kubectl delete pvc data --wait=false
  kubectl patch pvc data --type merge -p '{"metadata": {"finalizers": null}}'
  wait_until says '.spec.desiredState == "Removed"' "$copy"
  wait_until says 'any(.status.conditions[]; .type == "AsOrdered" and .reason == "InUse")' "$copy"
  in_pod writer 'echo still >>/data/file; sync'
  lv_exists "$volume"
  kubectl delete pod writer
  wait_until is_gone pv "$volume"
  wait_until is_state Removed "$copy"
  ! lv_exists "$volume" || false
}

@test "deleting pods and claims gives every byte back, and leaves no record" {
  volumes=("$(volume_of early)" "$(volume_of thin)" "$(volume_of folder)")
  kubectl patch pv "${volumes[0]}" -p '{"spec": {"persistentVolumeReclaimPolicy": "Delete"}}'
  kubectl delete pod early thin folder
  kubectl delete pvc early thin folder
  for volume in "${volumes[@]}"; do wait_until is_gone pv "$volume"; done
  for left in "lvs --noheadings -o lv_name --select lv_name=~^pvc- data" "find /srv/shared -name pvc-*" "ls /var/lib/flexlocal/volumes"; do
    # shellcheck disable=SC2086 # a command
    said=$(on_node $left)
    [ -z "$said" ]
  done
  [ "$(free_bytes)" = "$(<"$work/free-before")" ]
  wait_until no_copies
  forbade_nothing
}
no_copies() { kubectl get volumecopies -o json | jq -en 'input | .items == []'; }
