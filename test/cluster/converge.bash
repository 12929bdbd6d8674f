# shellcheck shell=bash
# Claims that come and go in numbers, and what must hold of them in the end: source it after
# daemon.bash. The node is `worker`, the class `flexlocal`.

# Numbers of the claims that are wanted, and of those whose volume has been mounted: its name.
numbers=() next_number=1
declare -A mounted=()

# Whatever the daemon missed it sees when its lists and volumes are looked at anew, each minute.
# shellcheck disable=SC2034 # the tests wait for so long
readonly resync=60

lab() { "$BATS_TEST_DIRNAME/../lab/control-plane" "$1" "${work:?}/cluster" "${@:2}"; }

# A claim as the scheduler leaves it, with its node chosen; a pod for each would say nothing more.
write_claim() {
  cat <<END
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim-$1, annotations: {volume.kubernetes.io/selected-node: worker}}
spec:
  storageClassName: flexlocal
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 512Mi}}
END
}

# make_claims COUNT: numbered on and on.
make_claims() {
  local last=$((next_number + $1))
  for ((; next_number < last; next_number++)); do
    numbers+=("$next_number")
    write_claim "$next_number"
  done >"$work/claims.yaml"
  eventually 60 create_claims
}

# An API server that was killed may have taken some of them.
create_claims() { kubectl apply -f "$work/claims.yaml"; }

# drop_claims COUNT: the oldest.
drop_claims() {
  local number names=("${numbers[@]:0:$1}")
  for number in "${names[@]}"; do unset "mounted[$number]"; done
  numbers=("${numbers[@]:$1}")
  eventually 60 kubectl delete pvc --wait=false --ignore-not-found "${names[@]/#/claim-}"
}

# mount_claims COUNT: as many bound ones as there are now, the oldest first, get the logical volume
# that the plugin would make at their first mount. An agent would make them itself, all the time: it
# stands aside meanwhile.
mount_claims() {
  local number volume left=$1 aside=''
  if process_id "$work" worker >/dev/null; then
    aside=yes
    stop_processes "$work" worker
  fi
  eventually 60 list_bound
  for number in "${numbers[@]}"; do
    [ -z "${mounted[$number]:-}" ] || continue
    volume=$(awk -v name="claim-$number" '$1 == name { print $2 }' "$work/bound")
    [ -n "$volume" ] || continue
    eventually 60 make_data worker "$volume"
    mounted[$number]=$volume
    left=$((left - 1))
    ((left > 0)) || break
  done
  [ -z "$aside" ] || start_daemon worker
}

list_bound() {
  kubectl get pvc -o json >"$work/claims.json" &&
    jq -r '.items[] | select(.status.phase == "Bound") | "\(.metadata.name) \(.spec.volumeName)"' \
      "$work/claims.json" >"$work/bound"
}

# The scheduler's part, for claims that were handed back to it: by orders a node has ten seconds to
# answer, and here neither it nor the API server may be there.
choose_again() {
  local names
  names=$(kubectl get pvc -o json | jq -r '.items[] | select(.spec.volumeName == null
    and .metadata.deletionTimestamp == null and .spec.storageClassName == "flexlocal"
    and (.metadata.annotations | has("volume.kubernetes.io/selected-node") | not)) | .metadata.name')
  # shellcheck disable=SC2086 # a word for each
  [ -z "$names" ] || kubectl annotate pvc $names volume.kubernetes.io/selected-node=worker
}

# Each claim that is wanted has its own volume, and there is no other.
claims_are_right() {
  choose_again || return
  kubectl get pvc,pv -o json | jq -en --argjson count "${#numbers[@]}" 'input |
    (.items | map(select(.kind == "PersistentVolumeClaim" and .spec.storageClassName == "flexlocal"))) as $claims
    | (.items | map(select(.kind == "PersistentVolume").metadata.name) | sort) as $volumes
    | ($claims | length) == $count
      and all($claims[]; .status.phase == "Bound" and .spec.volumeName == "pvc-" + .metadata.uid)
      and $volumes == ($claims | map(.spec.volumeName) | sort)'
}

# What was mounted and is still wanted is on the disks, once, and nothing else is.
disks_are_right() {
  diff <(printf '%s\n' "${mounted[@]}" | sed '/^$/d' | sort) \
    <("$work/worker/lvs" --noheadings -o lv_name worker | tr -d ' ' | sort)
}

all_is_right() { claims_are_right && disks_are_right; }

# The end of a test: nothing is left of its claims.
drop_all() {
  numbers=() mounted=()
  kubectl delete pvc --all --wait=false
  eventually 120 all_is_right
}

# end_test PROCESS...: a teardown's only command, for bats asks none but the last how it went.
end_test() {
  local status=0
  drop_all || status=$?
  stop_processes "$work" "$@"
  return "$status"
}
