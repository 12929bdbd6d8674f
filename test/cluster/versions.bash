# shellcheck shell=bash disable=SC2016,SC2119,SC2154 # shared with versions.bats
# A definition that lets pass what daemons of a later version say, and what they say.
# shellcheck source-path=SCRIPTDIR
. "$BATS_TEST_DIRNAME/central.bash"

# A node and a leader.
start_for_versions() {
  start_cluster
  make_node worker 4G
  apply_newer
  start_agent worker
  lead worker
}

# As this version understands it, all can go.
leave_nothing() {
  local name
  process_id "$work" leader || start_leader
  process_id "$work" worker || start_agent worker
  go_on worker
  for name in $(kubectl get volumecopies -o name); do
    kubectl patch "$name" --type merge \
      -p '{"spec": {"later": null, "moveTo": null, "source": null, "limits": null, "backend": "lvm"}}'
    [[ $(kubectl get "$name" -o 'jsonpath={.spec.desiredState}') =~ ^(Serving|Retained|Removed|Withdrawn)$ ]] ||
      kubectl patch "$name" --type merge -p '{"spec": {"desiredState": "Serving"}}'
  done
  kubectl delete pvc --all --wait=false
  eventually 90 no_volumes
}

# The definition as a later version may have it: it keeps words and fields that this one does not know.
apply_newer() {
  kubectl create --dry-run=client --validate=false -o json -f "$examples/install/core/volumecopy.yaml" | jq '
    .spec.versions[0].schema.openAPIV3Schema |= (
      walk(if type == "object" then del(.enum?, .["x-kubernetes-validations"]?) else . end)
      | (.properties.spec, .properties.spec.properties.limits, .properties.status)["x-kubernetes-preserve-unknown-fields"] = true)' >"$work/newer.json"
  kubectl replace --validate=false -f "$work/newer.json"
  new_volume
  eventually 60 keeps_what_is_new
}
keeps_what_is_new() {
  local kept
  order '.spec.desiredState = "Sealed" | .spec.later = "yes"' || return
  kept=$(kubectl get volumecopy "$copy" -o 'jsonpath={.spec.desiredState}{.spec.later}')
  kubectl delete volumecopy "$copy" && [ "$kept" = Sealedyes ]
}

# make_used: the claim `data` has a volume on `worker`, with data.
make_used() {
  make_claim_for worker data
  eventually 60 claim_is data Bound
  find_volume data
  make_ready worker
  eventually 60 is_state Ready
}
# order_as_later CHANGE: as a controller of a later version does. What is on disk is noted before.
order_as_later() {
  eventually 30 says 'any(.status.conditions[]; .type == "AsOrdered" and .status == "True")'
  on_disk >"$work/disk"
  change "$1"
  eventually 30 reasons NotUnderstood 'does not understand its order: spec.'
}
on_disk() {
  cat "$record" || return
  "$work/worker/lvs" --noheadings -o lv_name,lv_uuid,lv_size,lv_tags worker
}
is_untouched() { on_disk | diff "$work/disk" -; }

# patch_status STATUS: as the agent of another version may have written it. (kubectl 1.20 has no option for it.)
patch_status() {
  api "$work/cluster" PATCH "/apis/flexlocal.io/v1alpha1/volumecopies/$copy/status" \
    -H 'Content-Type: application/merge-patch+json' -d "{\"status\": $1}"
}

# The leader and the agent have each seen what there was before this: both have served another claim since.
others_are_served() {
  local other=other-$RANDOM
  make_claim_for worker "$other"
  eventually 60 claim_is "$other" Bound
}
