# What a tenant may write into a claim, and what becomes of it: no node that its class excludes, no
# other tenant's memory or time, and nobody's earlier data.

# shellcheck disable=SC2119 # functions whose arguments may be left out
setup_file() {
  . "$BATS_TEST_DIRNAME/central.bash"
  start_cluster
  make_class pinned 'onDelete: none' -- \
    'allowedTopologies: [{matchLabelExpressions: [{key: kubernetes.io/hostname, values: [two]}]}]'
  start_two_nodes
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/central.bash"
  stop_cluster
}

setup() {
  . "$BATS_TEST_DIRNAME/central.bash"
  . "$BATS_TEST_DIRNAME/flood.bash"
}

teardown() {
  rm -f "$work/one/open"
  for daemon in one two leader; do
    process_id "$work" "$daemon" || case $daemon in leader) start_leader ;; *) start_agent "$daemon" ;; esac
  done
  kubectl delete pvc --all --wait=false
  kubectl delete namespace shop flood --ignore-not-found --timeout=180s
  eventually 90 no_volumes
  eventually 90 no_records
  kubectl delete events --all
}

has_no_choice() {
  kubectl get pvc "$1" -o json |
    jq -en 'input | .metadata.annotations | has("volume.kubernetes.io/selected-node") | not'
}

# An order that was given and withdrawn again would still be there.
@test "a node that a claim brings with it and its class excludes makes no volume" {
  make_claim_for one data pinned
  eventually 60 event_says pvc/data ProvisioningFailed 'StorageClass pinned does not allow node one (allowedTopologies)'
  eventually 30 has_no_choice data
  claim_is data Pending
  copies_of data 'length == 0'
  no_volumes
  no_records
  make_claim_for two other pinned
  eventually 60 claim_is other Bound
  find_volume other
  [ "$node" = two ]
  claim_is data Pending
  copies_of data 'length == 0'
}

# flood COUNT: claims of namespace `flood`, each of which names a node of its own by as many bytes as the API
# server takes, with room for what kube-controller-manager adds. Texts that are the same are kept once.
flood() {
  text_of x 250000 | jq -Rc '{
    apiVersion: "v1", kind: "PersistentVolumeClaim",
    metadata: {generateName: "large-", annotations: {"volume.kubernetes.io/selected-node": "number\(.)"}},
    spec: {storageClassName: "flexlocal", accessModes: ["ReadWriteOnce"], resources: {requests: {storage: "1Gi"}}}
  }' | make_each flood "$1"
}

marks='{{range .items}}{{index .metadata.annotations "volume.beta.kubernetes.io/storage-provisioner"}}{{"\n"}}{{end}}'
# marked COUNT: kube-controller-manager has marked so many of them as ours.
marked() { [ "$(kubectl get pvc -n flood -o go-template="$marks" | grep -c flexlocal.io)" = "$1" ]; }
handed_back() { [ "$(grep 'msg="claim handed back"' "$work/log/leader.log" | grep -c namespace=flood)" -ge "$1" ]; }

@test "500 claims that name a node by 250 kB each take little memory, and keep no other waiting" {
  stop_processes "$work" leader one two
  rm -f "$work/log/leader.log"
  kubectl create namespace flood
  flood 500
  eventually 120 marked 500
  start_agent one
  start_agent two
  start_leader
  make_claim_for one data
  eventually 60 claim_is data Bound
  # And such as come while they watch.
  flood 50
  make_claim_for two other
  eventually 60 claim_is other Bound
  eventually 120 handed_back 550
  for daemon in leader one two; do has_stayed_small "$daemon"; done
}

# make_shop: the namespace, and a claim `data` there for node `one`. Sets volume, uid, copy and id.
make_shop() {
  kubectl create namespace shop
  kubectl create -f - <<END
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: shop, annotations: {volume.kubernetes.io/selected-node: one}}
spec: {storageClassName: flexlocal, resources: {requests: {storage: 512Mi}}, accessModes: [ReadWriteOnce]}
END
  eventually 60 shop_is_bound
  uid=$(kubectl get pvc -n shop data -o 'jsonpath={.metadata.uid}')
  volume=$(kubectl get pvc -n shop data -o 'jsonpath={.spec.volumeName}')
  copy=$(copy_of_volume "$volume")
  id=${copy##*-}
}
shop_is_bound() { [ "$(kubectl get pvc -n shop data -o 'jsonpath={.status.phase}')" = Bound ]; }

@test "a namespace that is made anew, with a claim of the same name, has nothing of the earlier one" {
  make_shop
  make_ready one shop
  eventually 30 is_state Ready
  old=$volume old_copy=$copy
  # It cannot be removed yet when the new claim comes.
  touch "$work/one/open"
  kubectl delete namespace shop
  make_shop
  [ "$volume" = "pvc-$uid" ]
  [ "$volume" != "$old" ]
  [ "$id" != "${old_copy##*-}" ]
  lv_exists one "$old"
  eventually 30 says '.spec.desiredState == "Removed"' "$old_copy"
  says '.spec.origin == "New" and .spec.claim.uid == .spec.volume[4:]'
  jq -en --arg uid "$uid" --arg id "$id" 'input | .claimUID == $uid and .copy == $id and .state != "ready"' \
    "$work/one/state/volumes/$volume"
  make_ready one shop
  rm "$work/one/open"
  eventually 60 is_gone pv "$old"
  lv_is_gone one "$old"
  lv_exists one "$volume"
  kubectl get pv "$volume" -o json | jq -en --arg uid "$uid" --arg id "$id" 'input | .status.phase == "Bound"
    and .spec.claimRef.uid == $uid and .spec.flexVolume.options == {"flexlocal.io/copy": $id}'
}

@test "leader and agents need no other rights than they have" {
  nothing_forbidden none
}
