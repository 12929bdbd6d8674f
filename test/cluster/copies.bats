# VolumeCopies on a real API server: the shipped CustomResourceDefinition keeps what the daemon sends,
# and refuses what is malformed.

setup_file() {
  . "$BATS_TEST_DIRNAME/copies.bash"
  export work=$BATS_FILE_TMPDIR
  "$BATS_TEST_DIRNAME/../lab/control-plane" up "$work/cluster"
  # shellcheck source=/dev/null
  . "$work/cluster/env"
  export KUBECONFIG PATH
  apply_definition
}

teardown_file() {
  "$BATS_TEST_DIRNAME/../lab/control-plane" down "$BATS_FILE_TMPDIR/cluster"
}

setup() { . "$BATS_TEST_DIRNAME/copies.bash"; }

teardown() { kubectl delete volumecopies --all; }

@test "an order with every field is kept as it was sent" {
  run -0 copy create node-a "$uid" "$id"
  [ "$output" = "kept as sent" ]
  run -0 copy read "$name"
  [ "$output" = "understood, generation 1" ]
  kubectl get volumecopy "$name" -o json | jq -e --arg node node-a '
    .metadata.labels["flexlocal.io/node"] == $node and .spec.nodeName == $node
    and (has("status") | not)'
  [ "$(kubectl get volumecopy "$name" -o 'jsonpath={.spec.term}')" = 9223372036854775806 ]
}

@test "size, desired state and term are ordered anew, and a late order is a conflict" {
  copy create node-a "$uid" "$id"
  run -0 copy order "$name" 4Gi Removed 9223372036854775807
  [ "$output" = "kept as sent" ]
  kubectl get volumecopy "$name" -o json | jq -e '
    .metadata.generation == 2 and .spec.size == "4Gi" and .spec.desiredState == "Removed"
    and .spec.limits.readIOPS == 1000 and .spec.mountOptions == ["noatime", "discard"]'
  old=$(kubectl get volumecopy "$name" -o 'jsonpath={.metadata.resourceVersion}')
  kubectl annotate volumecopy "$name" touched=yes
  run ! kubectl patch volumecopy "$name" --type merge \
    -p "{\"metadata\": {\"resourceVersion\": \"$old\"}, \"spec\": {\"desiredState\": \"Serving\"}}"
  [[ $output == *"the object has been modified"* ]]
}

@test "a status is kept as it was sent, leaves the order alone, and takes away what it no longer says" {
  copy create node-a "$uid" "$id"
  run -0 copy answer "$name" promised
  [ "$output" = "kept as sent" ]
  run -0 copy answer "$name" ready
  [ "$output" = "kept as sent" ]
  kubectl get volumecopy "$name" -o json | jq -e '
    .metadata.generation == 1 and .status.mounted and .status.wiped == "1"
    and (.status.conditions | length == 1) and .status.conditions[0].status == "True"'
  run -0 copy answer "$name" plain
  [ "$output" = "kept as sent" ]
  kubectl get volumecopy "$name" -o json |
    jq -e '.status | (has("wiped") or has("size") | not) and .conditions == [] and (.mounted | not)'
}

@test "an answer to an object that has changed meanwhile is refused" {
  copy create node-a "$uid" "$id"
  run -1 copy late-answer "$name" kubectl annotate volumecopy "$name" touched=yes
  [[ $output == *"the object has been modified"* ]]
  kubectl get volumecopy "$name" -o json | jq -e 'has("status") | not'
}

@test "whoever writes the order does not write the status with it, nor the reverse" {
  copy create node-a "$uid" "$id"
  copy answer "$name" promised
  kubectl patch volumecopy "$name" --type merge -p '{"spec": {"size": "5Gi"}, "status": {"state": "Lost"}}'
  patch_status '{"spec": {"size": "9Gi"}, "status": {"state": "Ready"}}'
  kubectl get volumecopy "$name" -o json | jq -e '.spec.size == "5Gi" and .status.state == "Ready"'
}

@test "people see volume, node, claim, both states, size and age" {
  copy create node-a "$uid" "$id"
  copy answer "$name" ready
  run -0 kubectl get vc --no-headers
  read -ra columns <<<"$output"
  [ "${columns[*]:0:8}" = "$name pvc-$uid node-a shop data-web-0 Serving Ready 3Gi" ]
  run -0 kubectl get vc
  [[ ${lines[0]} =~ ^NAME\ +VOLUME\ +NODE\ +NAMESPACE\ +CLAIM\ +DESIRED\ +STATE\ +SIZE\ +AGE ]]
}

@test "what is malformed is refused, by name" {
  copy create node-a "$uid" "$id"
  kubectl get volumecopy "$name" -o json >"$BATS_TEST_TMPDIR/good"
  kubectl delete volumecopy "$name"
  while IFS='|' read -r change field; do
    changed_copy "$change"
    run ! kubectl create --validate=false -f "$BATS_TEST_TMPDIR/changed"
    [[ $output == *"$field"* ]] || fail "after $change: $output"
  done <<'END'
.spec.volume = "pvc-1"|spec.volume
.spec.volume = "../etc"|spec.volume
.spec.copy = "../../etc/passwd"|spec.copy
.spec.copy = "0123456789ABCDEF"|spec.copy
.spec.origin = "Stolen"|spec.origin
.spec.nodeName = "a/b"|spec.nodeName
.spec.nodeName = ("a" * 64)|spec.nodeName
.spec.nodeUID = "me"|spec.nodeUID
.spec.hostname = "a b"|spec.hostname
.spec.clusterID = ""|spec.clusterID
.spec.claim.namespace = "A"|spec.claim.namespace
.spec.claim.name = ("a" * 254)|spec.claim.name
.spec.claim.uid = 7|spec.claim.uid
del(.spec.claim.uid)|spec.claim.uid
.spec.storageClassName = "a,b"|spec.storageClassName
.spec.reclaimPolicy = "Recycle"|spec.reclaimPolicy
.spec.backend = "raw"|spec.backend
.spec.pool = "/dev/sda"|spec.pool
.spec.fsType = "btrfs"|spec.fsType
.spec.size = "0"|spec.size
.spec.size = "-1Gi"|spec.size
.spec.size = "1.5Gi"|spec.size
.spec.size = 1|spec.size
.spec.diskPerRam = "1e9"|spec.diskPerRam
.spec.limits.readIOPS = 0|spec.limits.readIOPS
.spec.limits.writeBandwidth = "fast"|spec.limits.writeBandwidth
.spec.mountOptions = ["a" * 65]|spec.mountOptions
.spec.mountOptions = [limit(17; repeat("noatime"))]|spec.mountOptions
.spec.onDelete = "shred"|spec.onDelete
.spec.accessMode = "ReadWriteMany"|spec.accessMode
.spec.desiredState = "Serve"|spec.desiredState
.spec.term = -1|spec.term
del(.spec.term)|spec.term
del(.spec.desiredState)|spec.desiredState
del(.spec)|spec
END
}

@test "a status that is malformed is refused" {
  copy create node-a "$uid" "$id"
  while read -r status; do
    run ! patch_status "{\"status\": $status}"
    [[ $output == *"status."* ]] || fail "after $status: $output"
  done <<'END'
{"state": "Fine"}
{"host": "../x"}
{"observedGeneration": -1}
{"promised": "yes"}
{"conditions": [{"type": "A"}]}
{"size": "much"}
END
}

@test "rules: what a copy is never changes, and no term or promise is taken back" {
  copy create node-a "$uid" "$id"
  copy answer "$name" promised
  while IFS='|' read -r patch words; do
    ruled_out "$words" kubectl patch volumecopy "$name" --type merge -p "{\"spec\": $patch}"
  done <<'END'
{"nodeName": "node-b"}|nodeName and clusterID never change
{"nodeUID": "11111111-2222-3333-4444-555555555555"}|nodeUID, hostname and storageClassName never change
{"hostname": "b"}|nodeUID, hostname and storageClassName never change
{"hostname": null, "origin": "Existing"}|nodeUID, hostname and storageClassName never change
{"storageClassName": "other"}|nodeUID, hostname and storageClassName never change
{"origin": "Existing"}|volume, copy and origin never change
{"copy": "ffffffffffffffff"}|volume, copy and origin never change
{"volume": "pvc-99999999-2222-3333-4444-555555555555"}|volume, copy and origin never change
{"clusterID": "11111111-2222-3333-4444-555555555555"}|nodeName and clusterID never change
{"backend": "thin"}|backend, pool, fsType and onDelete never change
{"pool": "slow"}|backend, pool, fsType and onDelete never change
{"onDelete": "zero"}|backend, pool, fsType and onDelete never change
{"limits": {"readIOPS": 5}}|limits never change
{"limits": null}|limits never change
{"mountOptions": null}|mountOptions never change
{"diskPerRam": null}|diskPerRam never changes
{"term": 1}|term never goes back
END
  ruled_out "status.promised is never taken back" patch_status '{"status": {"promised": false}}'
  ruled_out "status.promised is never taken back" patch_status '{"status": null}'
  patch_status '{"status": {"made": true}}'
  ruled_out "status.made is never taken back" patch_status '{"status": {"made": null}}'
  ruled_out "a copy in this state has been promised" patch_status '{"status": {"state": "Ready", "promised": null}}'
}

@test "rules: the name is that of the spec, and quota has xfs" {
  copy create node-a "$uid" "$id"
  kubectl get volumecopy "$name" -o json >"$BATS_TEST_TMPDIR/good"
  kubectl delete volumecopy "$name"
  changed_copy '.metadata.name = "other"'
  ruled_out "metadata.name must be" kubectl create -f "$BATS_TEST_TMPDIR/changed"
  has_rules || expect_not_understood other "its name is not $name, which is that of its spec"
  changed_copy '.spec.backend = "quota" | .spec.fsType = "ext4"'
  ruled_out "backend quota has fsType xfs only" kubectl create -f "$BATS_TEST_TMPDIR/changed"
  has_rules || expect_not_understood "$name" "spec.fsType is not xfs, as that of a quota folder has to be"
  kubectl delete --ignore-not-found volumecopy "$name"
  changed_copy 'del(.spec.hostname)'
  ruled_out "may be missing only where an Existing copy is kept or removed" kubectl create -f "$BATS_TEST_TMPDIR/changed"
  has_rules || expect_not_understood "$name" "spec.hostname is missing"
}

@test "a copy that was found is kept by what its disk says alone" {
  copy create node-a "$uid" "$id"
  kubectl get volumecopy "$name" -o json >"$BATS_TEST_TMPDIR/good"
  kubectl delete volumecopy "$name"
  changed_copy '.spec.origin = "Existing" | .spec.desiredState = "Retained" |
    del(.spec.nodeUID, .spec.hostname, .spec.storageClassName, .spec.reclaimPolicy, .spec.claim.name, .spec.limits)'
  kubectl create -f "$BATS_TEST_TMPDIR/changed"
  run -0 copy read "$name"
  # And served, once all of it is known: then it has its limits, for ever.
  ruled_out "may be missing only where an Existing copy is kept or removed" \
    kubectl patch volumecopy "$name" --type merge -p '{"spec": {"desiredState": "Serving"}}'
  kubectl patch volumecopy "$name" --type merge -p '{"spec": {"desiredState": "Serving", "limits": {"readIOPS": 5},
    "nodeUID": "99999999-2222-3333-4444-555555555555", "hostname": "a", "storageClassName": "local",
    "reclaimPolicy": "Delete", "claim": {"name": "data"}}}'
  run -0 copy read "$name"
  ruled_out "limits never change" kubectl patch volumecopy "$name" --type merge -p '{"spec": {"limits": {"readIOPS": 6}}}'
}

@test "an object that says one thing by its label and another by its spec is not understood" {
  copy create node-a "$uid" "$id"
  kubectl label --overwrite volumecopy "$name" flexlocal.io/node=node-b
  expect_not_understood "$name" "its label flexlocal.io/node is not node-a, the node of its spec"
}

@test "what an older definition drops is found by comparing" {
  definition | jq 'del(.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.limits.properties.required)' >"$BATS_TEST_TMPDIR/older"
  kubectl apply --validate=false -f "$BATS_TEST_TMPDIR/older"
  eventually 30 lacks_field
  apply_definition
}
