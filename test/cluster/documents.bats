# Commands of the documents that need a control plane and no kubelet, word for word.

setup_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  start_cluster
  make_node worker 4G
  start_daemon worker
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  stop_cluster
}

setup() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  . "$BATS_TEST_DIRNAME/../lab/documents.bash"
}

# follow COMMANDS: in the checkout, as their paths are.
follow() { (cd "$documents/.." && bash -o pipefail -ec "$1"); }
follow_says() { [[ $(follow "$1") == *"$2"* ]]; }

@test "using.md: a claim is Pending before its first pod, and Bound with it" {
  commands=$(block using.md 'A claim, and why it is Pending at first')
  # Parameters of a class cannot be changed: that of the tests goes.
  kubectl delete storageclass flexlocal
  before=$(follow "${commands%%kubectl apply -f examples/pod.yaml*}")
  [[ $before == *" Pending "* ]]
  [[ $commands == *"kubectl apply -f examples/pod.yaml"* ]]
  # Both of its looks at the claim are the same by then.
  eventually 60 follow_says "$commands" ' Bound '
  volume=$(volume_of data)
  kubectl delete pod writer --grace-period=0 --force
  delete_claim data
  eventually 60 is_gone pv "$volume"
  kubectl delete storageclass flexlocal
  make_class flexlocal 'onDelete: none'
}

# copy_is CONDITION: jq, of the volume's one copy.
copy_is() { kubectl get volumecopies -o json | jq -en --arg volume "$volume" "input | .items[] | select(.spec.volume == \$volume) | $1"; }
not_retained() { ! is_retained "$volume"; }

# make_kept: the claim `data`, with data, by the policy Retain; sets volume.
make_kept() {
  make_claim data
  eventually 30 claim_is data Bound
  volume=$(volume_of data)
  kubectl patch pv "$volume" -p '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}'
  make_data worker "$volume"
}

# The PersistentVolume is deleted by a person, saved as they are told.
delete_saved() {
  (cd "$BATS_TEST_TMPDIR" && bash -o pipefail -ec "${save/NAME/$volume}")
  kubectl delete pv "$volume" --timeout=30s
  lv_exists worker "$volume"
  is_retained "$volume"
}
create_again() { (cd "$BATS_TEST_TMPDIR" && bash -o pipefail -ec "$1"); }

@test "using.md: a retained volume is used again by another claim, and then removed" {
  commands=$(block using.md 'Retained data')
  save=$(grep '>saved.json' <<<"$commands")
  remove=$(grep 'ReclaimPolicy = "Delete"' <<<"$commands")
  use=$(grep claimRef <<<"$commands")
  make_kept
  delete_claim data
  eventually 30 volume_is "$volume" Released
  delete_saved
  use=${use/NAMESPACE/default}
  create_again "${use/CLAIM/heir}"
  make_claim heir 512Mi flexlocal "accessModes: [ReadWriteOnce]
  volumeName: $volume"
  eventually 30 claim_is heir Bound
  eventually 30 record_says worker "$volume" ReadWriteOnce heir
  eventually 30 not_retained
  delete_claim heir
  eventually 30 volume_is "$volume" Released
  delete_saved
  create_again "$remove"
  eventually 30 is_gone pv "$volume"
  lv_is_gone worker "$volume"
}

@test "operating.md: a PersistentVolume goes by the policy Delete whose node has nothing to keep" {
  make_kept
  eventually 60 copy_is '.status.state == "Ready"'
  stop_processes "$work" worker
  "$work/worker/lvremove" -qq -y "worker/$volume"
  start_daemon worker
  eventually 60 copy_is '.status.state == "Lost"'
  delete_claim data
  eventually 30 volume_is "$volume" Released
  kubectl delete pv "$volume" --wait=false
  eventually 30 copy_is '.spec.desiredState == "Retained" and .status.state == "Lost"
    and .status.observedGeneration == .metadata.generation'
  kubectl get pv "$volume"
  command=$(in_sentence operating.md 'kubectl patch pv NAME')
  follow "${command/NAME/$volume}"
  eventually 30 is_gone pv "$volume"
}
