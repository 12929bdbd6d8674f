# shellcheck shell=bash disable=SC2034,SC2154 # shared with copies.bats
# Writing and reading VolumeCopies, by the daemon's own code and by hand.
# shellcheck source-path=SCRIPTDIR
. "$BATS_TEST_DIRNAME/../lab/api.bash"
. "$BATS_TEST_DIRNAME/../lab/eventually.bash"

bats_require_minimum_version 1.5.0

readonly uid=11111111-2222-3333-4444-555555555555 id=0123456789abcdef
readonly name=pvc-$uid-$id
copy_call=$(realpath "${COPY_CALL:?the program copy-call}")

copy() { "$copy_call" "$KUBECONFIG" "$@"; }

# The shipped one as JSON: a kubectl of 1.20 does not read what it does not know.
definition() { kubectl create --dry-run=client --validate=false -o json -f "$BATS_TEST_DIRNAME/../../examples/install/core/volumecopy.yaml"; }

# apply_definition: and waits until the API server holds objects to it.
apply_definition() {
  kubectl apply --validate=false -f "$BATS_TEST_DIRNAME/../../examples/install/core/volumecopy.yaml"
  eventually 60 is_served
}

# It takes a while, also after the API server says that it is established.
is_served() {
  kubectl delete --ignore-not-found volumecopy "$name"
  copy create node-a "$uid" "$id" && kubectl delete volumecopy "$name"
}

has_rules() {
  kubectl get crd volumecopies.flexlocal.io -o json |
    jq -e '.spec.versions[0].schema.openAPIV3Schema | has("x-kubernetes-validations")'
}

# patch_status PATCH: of the copy, by the subresource. (kubectl 1.20 has no option for it.)
patch_status() {
  api "$work/cluster" PATCH "/apis/flexlocal.io/v1alpha1/volumecopies/$name/status" \
    --no-fail --fail-with-body -H 'Content-Type: application/merge-patch+json' -d "$1"
}

# changed_copy CHANGE: the good object, changed by jq, in the file `changed`.
changed_copy() {
  # jq does not keep so large a term exactly.
  jq "del(.metadata.resourceVersion, .metadata.uid) | .spec.term = 7 | $1" "$BATS_TEST_TMPDIR/good" >"$BATS_TEST_TMPDIR/changed"
}

# ruled_out WORDS COMMAND...: the API server refuses it by a rule. Before Kubernetes 1.25 it has none, and
# lets it pass.
ruled_out() {
  if has_rules; then
    run ! "${@:2}"
    [[ $output == *"$1"* ]] || fail "it said: $output"
  else
    "${@:2}"
  fi
}

# expect_not_understood NAME WORDS
expect_not_understood() {
  run -1 copy read "$1"
  [ "$output" = "$2" ] || fail "it said: $output"
}

fail() {
  echo "$1" >&2
  return 1
}

lacks_field() {
  kubectl delete --ignore-not-found volumecopy "$name"
  run -1 copy create node-a "$uid" "$id"
  [[ $output == *"did not keep spec.limits.required as it was sent"* ]]
}
