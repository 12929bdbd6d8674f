# A CustomResourceDefinition that is older than the daemons: the API server drops in silence what it does
# not know. The node daemon finds that by comparing, says so, and goes on when the definition is renewed.

# shellcheck disable=SC2016,SC2119 # jq's variables, and functions whose arguments may be left out
setup_file() {
  . "$BATS_TEST_DIRNAME/central.bash"
  start_cluster
  make_class limited 'readIOPS: "100"'
  make_node worker 4G
  start_agent worker
  lead worker
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/central.bash"
  stop_cluster
}

setup() { . "$BATS_TEST_DIRNAME/central.bash"; }

teardown() {
  apply_shipped
  kubectl delete pvc --all --wait=false
  eventually 90 no_volumes
  kubectl delete volumecopies --all
}

# The shipped one as JSON.
definition() { kubectl create --dry-run=client --validate=false -o json -f "$examples/install/core/volumecopy.yaml"; }
# without PATH: the definition as it was before it had that field; it had no rules either.
without() {
  definition | jq --arg path "$1" '
    .spec.versions[0].schema.openAPIV3Schema |= (walk(if type == "object" then del(.["x-kubernetes-validations"]) else . end)
      | delpaths([$path | split(".") | map(["properties", .]) | add]))' >"$work/older.json"
  kubectl replace --validate=false -f "$work/older.json"
  eventually 60 drops "$1"
}
# drops PATH: as the API server handles what it is sent.
drops() {
  kubectl get --raw /openapi/v3/apis/flexlocal.io/v1alpha1 | jq -en --arg path "$1" 'input | .components.schemas
    | to_entries[] | select(.key | endswith(".VolumeCopy")).value
    | getpath($path | split(".") | map(["properties", .]) | add) == null'
}
apply_shipped() {
  definition >"$work/shipped.json"
  kubectl replace --validate=false -f "$work/shipped.json"
}
logged() { grep -q "$2" "$work/log/$1.log"; }

# The leader has not tried the definition yet, in this term.
@test "where a state is not known that orders may come to, none is given, and the claim is told" {
  definition | jq '.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.desiredState.enum -= ["Withdrawn"]' >"$work/older.json"
  kubectl replace --validate=false -f "$work/older.json"
  eventually 60 knows_no_withdrawal
  make_claim_for worker data
  eventually 60 event_says pvc/data ProvisioningFailed "definition of VolumeCopy is older than this version"
  claim_is data Pending
  copies_of data 'length == 0'
}
knows_no_withdrawal() {
  kubectl get --raw /openapi/v3/apis/flexlocal.io/v1alpha1 | jq -en 'input | .components.schemas
    | to_entries[] | select(.key | endswith(".VolumeCopy")).value
    | .properties.spec.properties.desiredState.enum | index("Withdrawn") == null'
}

@test "an order of which a part is dropped is not given, and the claim is told until the definition is renewed" {
  without spec.limits
  make_claim_for worker data limited
  eventually 60 event_says pvc/data ProvisioningFailed 'did not keep spec.limits'
  claim_is data Pending
  no_volumes
  copies_of data 'length == 0'
  apply_shipped
  eventually 120 claim_is data Bound
  find_volume data
  says '.spec.limits.readIOPS == 100'
}

# binds_once_chosen CLAIM NODE: it is handed back until the earlier copy is removed.
binds_once_chosen() {
  claim_is "$1" Bound || { kubectl annotate --overwrite pvc "$1" "volume.kubernetes.io/selected-node=$2" && return 1; }
}

# The leader has tried the definition by then, in this term.
@test "an order that is cut since is withdrawn, and its volume serves no pod" {
  make_claim_for worker tried
  eventually 60 claim_is tried Bound
  without spec.limits
  make_claim_for worker data limited
  eventually 60 event_says pvc/data ProvisioningFailed 'did not keep spec.limits'
  eventually 60 copies_of data 'length > 0 and all(.spec.desiredState == "Withdrawn")'
  claim_is data Pending
  apply_shipped
  eventually 120 binds_once_chosen data worker
  copies_of data 'map(select(.spec.desiredState == "Serving")) | length == 1 and .[0].spec.limits.readIOPS == 100'
}

@test "an answer of which a part is dropped is told of, and is whole once the definition is" {
  without status.promised
  make_claim_for worker data
  eventually 60 logged worker 'did not keep status.promised'
  apply_shipped
  eventually 120 claim_is data Bound
  find_volume data
  eventually 60 says '.status.promised'
}
