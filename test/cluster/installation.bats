# The manifests of examples/ as a person applies them, on a control plane that has none of it: all at once,
# once more, from one way of it to the other and back, and away. No daemon runs here. The tests build on
# one another, in this order.

setup_file() {
  . "$BATS_TEST_DIRNAME/policies.bash"
  export work=$BATS_FILE_TMPDIR
  "$BATS_TEST_DIRNAME/../lab/control-plane" up "$work/cluster" --node-grace 3600s
  # shellcheck source=/dev/null
  . "$work/cluster/env"
  export KUBECONFIG PATH
  kubectl label namespace default pod-security.kubernetes.io/enforce=privileged
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/policies.bash"
  # Its requests are no daemon's.
  RIGHTS_USED='' stop_cluster
}

setup() {
  . "$BATS_TEST_DIRNAME/policies.bash"
  . "$BATS_TEST_DIRNAME/../lab/documents.bash"
}

# folder WAY: install or install-distributed, or what of it is for this Kubernetes.
folder() { echo "$examples/$1$(has_policies || echo /core)"; }

# is_applied FOLDER: once more changes nothing. What an API server before 1.25 does not know of the
# definition it does not keep.
is_applied() {
  local said changes
  said=$(apply_folder "$1") && [[ $said == *unchanged* ]] || return 1
  changes=$(grep -v ' unchanged$' <<<"$said") || return 0
  echo "$changes" >&2
  is_older_than 1.25 && [[ $changes == customresourcedefinition*configured ]]
}

policies() { kubectl get validatingadmissionpolicies,validatingadmissionpolicybindings -o name | sort; }
policies_of() { kubectl create --dry-run=client -o name -f "$examples/$1/admission-policy.yaml" | sort; }
runs_distributed() {
  kubectl -n flexlocal-system get daemonset,deployment -o json |
    jq -en 'input | .items | length == 2 and all(.[]; any(.spec.template.spec.containers[0].command[]; . == "--provisioning=distributed"))'
}

# follow BLOCK: those commands of install-distributed's README.
follow() {
  local commands
  commands=$(block install-distributed/README.md 'From one way to the other' "$1")
  (cd "$examples/.." && bash -ec "$commands")
}

@test "the installation is applied at once, and once more without a change" {
  apply_folder "$(folder install)"
  is_applied "$(folder install)"
  ! runs_distributed || false
}

@test "its policies are at work" {
  has_policies || skip "version: this API server has no ValidatingAdmissionPolicies"
  [ "$(policies)" = "$(policies_of install)" ]
  for policy in $(policies | sed -n 's,^validatingadmissionpolicy\.[^/]*/,,p'); do eventually 60 is_checked "$policy"; done
  eventually 60 refuses 'had by a PersistentVolumeClaim' kubectl create --dry-run=server -f - <<<"$(inline_pod)"
}

@test "who goes over to nodes that decide has their policies and rights, and on the way back loses them" {
  ! is_older_than 1.31 || skip "version: this kubectl does not take the patches"
  follow 1
  is_applied "$(folder install-distributed)"
  [ "$(policies)" = "$(policies_of install-distributed)" ]
  runs_distributed
  follow 2
  is_applied "$(folder install)"
  [ "$(policies)" = "$(policies_of install)" ]
  [ "$(kubectl get roles -A -o name | grep flexlocal | sort)" = "$(printf 'role.rbac.authorization.k8s.io/flexlocal-%s\n' cluster cluster-nodes node)" ]
}

# install_anew WAY: without a kubelet no pod ever makes way for a new one.
install_anew() {
  kubectl -n flexlocal-system delete deployment flexlocal-cluster
  kubectl -n flexlocal-system delete pods --all --force --grace-period=0
  kubectl apply -k "$examples/$1"
}
# leaders_are_on NODE...: where the cluster daemon's two pods are; "none" of one that waits.
leaders_are_on() {
  kubectl -n flexlocal-system get pods -l app.kubernetes.io/component=cluster -o json |
    jq -en --arg nodes "$*" 'input | [.items[] | .spec.nodeName // "none"] | sort | join(" ") == $nodes'
}
one_leader_is_on() {
  kubectl -n flexlocal-system get pods -l app.kubernetes.io/component=cluster -o json |
    jq -en --arg node "$1" 'input | any(.items[]; .spec.nodeName == $node)'
}
waits_for_node() {
  kubectl -n flexlocal-system get pods -l app.kubernetes.io/component=cluster -o json |
    jq -en 'input | .items | length == 2 and all(.[]; any(.status.conditions[]?; .reason == "Unschedulable"))'
}
add_node() {
  "$BATS_TEST_DIRNAME/../lab/control-plane" node "$work/cluster" "$1" 8Gi
  [ -z "${2:-}" ] || kubectl label node "$1" "$2"
}

@test "the cluster daemon runs on control-plane nodes, or as the overlays for other clusters say" {
  has_policies || skip "version: the overlays are of the whole installation"
  ! is_older_than 1.31 || skip "version: this kubectl does not take the patches"
  add_node worker
  install_anew install
  eventually 60 waits_for_node
  install_anew install-managed
  is_applied "$examples/install-managed"
  eventually 60 leaders_are_on worker worker
  add_node quiet flexlocal.io/cluster-daemon=preferred
  install_anew install-managed
  eventually 60 one_leader_is_on quiet
  add_node first node-role.kubernetes.io/control-plane=
  install_anew install
  eventually 60 leaders_are_on first first
  install_anew install-ha
  eventually 60 leaders_are_on first none
  add_node second node-role.kubernetes.io/control-plane=
  eventually 60 leaders_are_on first second
  kubectl -n flexlocal-system get poddisruptionbudget flexlocal-cluster
  kubectl delete nodes --all
  kubectl -n flexlocal-system delete pods --all --force --grace-period=0
  kubectl delete -k "$examples/install-ha"
  apply_folder "$(folder install)"
}

@test "what was applied can be taken away, and nothing is left" {
  kubectl delete -k "$(folder install)"
  for kind in namespaces clusterroles clusterrolebindings customresourcedefinitions $(! has_policies || echo validatingadmissionpolicies flowschemas prioritylevelconfigurations); do
    names=$(kubectl get "$kind" -o name)
    [[ $names != *flexlocal* ]]
  done
}

@test "what is for older API servers works without the rest" {
  has_policies || skip "version: it is all there is for this API server"
  for way in install install-distributed; do
    apply_folder "$examples/$way/core"
    is_applied "$examples/$way/core"
    [ -z "$(policies)" ]
    kubectl delete -k "$examples/$way/core"
  done
}
