# shellcheck shell=bash disable=SC2154 # shared with put-back.bats
# A control plane whose etcd is put back to a backup, under a leader and agents that go on.
# shellcheck source-path=SCRIPTDIR
. "$BATS_TEST_DIRNAME/central.bash"

back_up() { "$BATS_TEST_DIRNAME/../lab/control-plane" back-up "$work/cluster"; }
# As before the nodes' Leases were first written.
back_up_without_leases() {
  pause one
  pause two
  kubectl -n flexlocal-nodes delete leases --all
  back_up
  go_on one
  go_on two
}
# An agent knows of a put-back by its Lease, which it has to have renewed since the backup.
await_beats() {
  local one two
  one=$(lease_of one .metadata.resourceVersion) two=$(lease_of two .metadata.resourceVersion)
  eventually 60 has_beaten_after one "$one"
  eventually 60 has_beaten_after two "$two"
}
has_beaten_after() { [ "$(lease_of "$1" .metadata.resourceVersion)" != "$2" ]; }

# put_back NODE...: the agents that run end by themselves, and those of the nodes are started anew, as
# a DaemonSet would. Pods that the backup has not are gone. `revisions`: "bumped" where etcd gives none twice.
put_back() {
  local node
  await_beats
  "$BATS_TEST_DIRNAME/../lab/control-plane" put-back "$work/cluster" ${revisions:+"$revisions"}
  for node in one two; do
    eventually 60 has_ended "$node"
    grep -q 'put back to an earlier state' "$work/log/$node.log"
  done
  for node; do start_agent "$node"; done
}
has_ended() { ! process_id "$work" "$1"; }

# make_waiting_claim NAME: nobody has chosen a node for it yet.
make_waiting_claim() {
  kubectl apply -f - <<END
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: $1}
spec: {storageClassName: flexlocal, resources: {requests: {storage: 512Mi}}, accessModes: [ReadWriteOnce]}
END
}

# choose COPY STATE: what a person does with a copy that was found.
choose() { kubectl patch volumecopy "$1" --type merge -p "{\"spec\":{\"desiredState\":\"$2\"}}"; }
# record_follows GENERATION: the host's record does.
record_follows() { jq -en --argjson generation "$1" 'input | .order.generation == $generation' "$record"; }
copy_holding() { kubectl get volumecopies -o json | jq -enr --arg claim "default/$1" 'input | .items[] | select(.metadata.annotations["flexlocal.io/holds"] == $claim) | .metadata.name'; }

# All that is retained is given up, so that the next test finds nothing.
give_up_retained() {
  local copy
  kubectl get volumecopies -o json |
    jq -r '.items[] | select(.spec.desiredState == "Retained") | .metadata.name' |
    while read -r copy; do choose "$copy" Removed; done
}
