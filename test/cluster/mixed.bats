# A cluster in which one node's daemon gives its own orders, and a leader those of the other: as it is in the middle of
# a change from one way to the other, or after half of one. Each claim has one who decides about it, and it is said.

# shellcheck disable=SC2119 # functions whose arguments may be left out
setup_file() {
  . "$BATS_TEST_DIRNAME/central.bash"
  . "$BATS_TEST_DIRNAME/immediate.bash"
  # What policies allow is another thing for each of the ways.
  export without_policies=yes
  start_cluster
  immediate_class immediate
  make_node one 4G
  make_node two 4G
  may_order
  start_agent two --provisioning=distributed
  eventually 60 agent_is_ready two
  make_claim_for two before
  eventually 90 claim_is before Bound
  start_agent one
  start_leader
  eventually 60 leads
  for node in one two; do eventually 60 agent_is_ready "$node"; done
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/central.bash"
  # A node's daemon has the rights of both ways.
  RIGHTS_USED='' stop_cluster
}

setup() { . "$BATS_TEST_DIRNAME/leaders.bash"; . "$BATS_TEST_DIRNAME/central.bash"; . "$BATS_TEST_DIRNAME/immediate.bash"; }

# may_order: a node's daemon what install-distributed lets it, beside what install does.
may_order() {
  kubectl create --dry-run=client -o json -f "$examples/install-distributed/core/rbac.yaml" -f "$examples/install-distributed/core/room-rbac.yaml" |
    jq -c 'if .kind == "List" then .items[] else . end | select(.kind | IN("Role", "ClusterRole")) | .metadata.name += "-mixed"' >"$work/mixed.json"
  jq -c '., {apiVersion, kind: (.kind + "Binding"), metadata: (.metadata | {name} + if .namespace then {namespace} else {} end),
    roleRef: {apiGroup: "rbac.authorization.k8s.io", kind, name: .metadata.name},
    subjects: [{kind: "ServiceAccount", name: "flexlocal-node", namespace: "flexlocal-system"}]}' "$work/mixed.json" | kubectl apply -f -
}

# ordered_by CLAIM: how often who created a VolumeCopy of its volume, by the audit log: `cluster` or `node`.
ordered_by() {
  jq -er --arg volume "$(volume_of "$1")" 'select(.verb == "create" and .objectRef.resource == "volumecopies"
    and (.requestURI | contains("dryRun") | not) and (.objectRef.name // "" | startswith($volume)))
    | .user.username | sub(".*:flexlocal-"; "")' "$work/cluster/audit.log" | sort | uniq -c | awk '{ print $1, $2 }'
}

@test "the leader orders where daemons do not, and refuses the other node in words" {
  make_claim_for one of-one
  eventually 60 claim_is of-one Bound
  [ "$(ordered_by of-one)" = '1 cluster' ]
  make_claim_for two of-two
  eventually 60 is_decided
  copies_of of-two 'all(.[]; .spec.nodeName == "two") and length <= 1'
  [[ $(ordered_by of-two || true) != *cluster* ]]
}
# Whoever comes first.
is_decided() {
  claim_is of-two Bound || event_says pvc/of-two ProvisioningFailed "gives its node's orders itself (--provisioning=distributed)"
}

@test "what waits for no pod goes where the leader orders, or is told why not" {
  make_claims immediate 1Gi first second third
  for claim in first second third; do
    eventually 60 claim_is "$claim" Bound
    copies_of "$claim" 'length == 1 and .[0].spec.nodeName == "one"'
    [ "$(ordered_by "$claim")" = '1 cluster' ]
  done
  make_claims immediate 2Gi fourth
  eventually 90 event_says pvc/fourth ProvisioningFailed '1 gives its own orders (--provisioning=distributed)'
  claim_is fourth Pending
  kubectl delete pvc first second third fourth of-one
}

@test "a node that is changed over keeps its volumes, and the leader orders there from then on" {
  find_volume before
  stop_processes "$work" two
  start_agent two
  eventually 60 tells_no_orders two
  make_claim_for two after
  eventually 60 claim_is after Bound
  [ "$(ordered_by after)" = '1 cluster' ]
  copies_of before 'length == 1 and .[0].spec.desiredState == "Serving" and .[0].status.state == "Promised"'
  [ "$(copy_of_volume "$volume")" = "$copy" ]
  kubectl delete pvc --all --wait=false
  eventually 90 no_volumes
}
tells_no_orders() { lease_of "$1" '.metadata.annotations | has("flexlocal.io/provisioning") | not'; }

@test "leaders and agents need no other rights than they have" {
  nothing_forbidden none
}
