# Whatever fails in between, in the end every claim has its one volume, and no volume is left over.
#
#   KILLS=200 CLAIMS=500    more of it: make soak

setup_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  start_cluster
  make_node worker 400G
}

teardown_file() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  stop_cluster
}

setup() {
  . "$BATS_TEST_DIRNAME/daemon.bash"
  kills=${KILLS:-20} claims=${CLAIMS:-60}
  numbers=()
}

teardown() {
  kubectl delete pvc --all --wait=false
  eventually 120 nothing_is_left
  stop_processes "$work" worker twin
}

# make_claims FIRST COUNT: as the scheduler leaves them, with their node chosen; a pod for each would
# say nothing more.
make_claims() {
  local number
  for ((number = $1; number < $1 + $2; number++)); do
    numbers+=("$number")
    cat <<END
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim-$number, annotations: {volume.kubernetes.io/selected-node: worker}}
spec:
  storageClassName: flexlocal
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 512Mi}}
END
  done >"$work/claims.yaml"
  eventually 60 create_claims
}

# An API server that was killed may have taken some of them.
create_claims() { kubectl apply -f "$work/claims.yaml"; }

# drop_claims COUNT: the oldest.
drop_claims() {
  local names=("${numbers[@]:0:$1}")
  numbers=("${numbers[@]:$1}")
  eventually 60 kubectl delete pvc --wait=false --ignore-not-found "${names[@]/#/claim-}"
}

# Each claim that is there has its own volume, and there is no other.
all_is_right() {
  kubectl get pvc,pv -o json | jq -e --argjson count "${#numbers[@]}" '
    (.items | map(select(.kind == "PersistentVolumeClaim"))) as $claims
    | (.items | map(select(.kind == "PersistentVolume").metadata.name) | sort) as $volumes
    | ($claims | length) == $count
      and all($claims[]; .status.phase == "Bound" and .spec.volumeName == "pvc-" + .metadata.uid)
      and $volumes == ($claims | map(.spec.volumeName) | sort)'
}

nothing_is_left() {
  numbers=()
  all_is_right
}

@test "the API server is killed ten times while claims come and go" {
  start_daemon worker
  for round in {1..10}; do
    make_claims $((round * 10)) 10
    "$BATS_TEST_DIRNAME/../lab/control-plane" restart-api "$work/cluster"
    drop_claims 4
  done
  eventually 120 all_is_right
  [ "${#numbers[@]}" = 60 ]
}

@test "the daemon is killed at random instants while claims come and go" {
  share=$((claims / kills > 0 ? claims / kills : 1))
  for ((round = 1; round <= kills; round++)); do
    start_daemon worker
    make_claims $((round * share)) "$share"
    [ $((round % 2)) = 0 ] || drop_claims "$share"
    # Between nothing and three seconds into its work.
    read -r -t "$((RANDOM % 3)).$((RANDOM % 1000))" <> <(:) || true
    kill_daemon worker
  done
  start_daemon worker
  eventually 120 all_is_right
}

@test "two daemons for one node by mistake make each volume once, and remove each" {
  start_daemon worker
  start_process "$work" twin env -i "$provisioner" node --node-name=worker \
    --kubeconfig="$work/daemon.kubeconfig" --node-config="$work/worker.conf" \
    --state-dir="$work/worker/state" --lock-dir="$work/worker/locks" \
    --grant-key="$work/secret" --host-grant-key="$work/worker/grant.key"
  make_claims 0 40
  drop_claims 10
  eventually 60 all_is_right
}
