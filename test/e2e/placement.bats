# Twenty pods on two real nodes of different size that have room for seventeen of their claims: the
# scheduler goes by what each node's daemon tells it. The tests build on one another, in this order.

# Volumes that fit on each node, to the last extent of its volume group.
big=10 small=7
size=64 pods=20 waiting=3

setup_file() {
  export work=$BATS_FILE_TMPDIR image=${IMAGE:?the container image to test}
  . "$BATS_TEST_DIRNAME/cluster.bash"
  start_control_plane
  export KUBECONFIG PATH
  start_nodes
}

# Both at once, a processor of the machine's two for each; and each until it is up or has failed: of
# one that is only starting the teardown would not stop everything.
start_nodes() {
  local starting=() process failed=0
  node=big power_on --disk "$(disk_for $big)" &
  starting+=($!)
  node=small power_on --disk "$(disk_for $small)" &
  starting+=($!)
  for process in "${starting[@]}"; do wait "$process" || failed=1; done
  [ "$failed" = 0 ]
  node=big write_node_conf
  node=small write_node_conf
}

# disk_for COUNT: LVM keeps the first MiB, and gives the rest in extents of four.
disk_for() { echo "$(($1 * size + 4))M"; }

teardown_file() {
  . "$BATS_TEST_DIRNAME/cluster.bash"
  . "$root/test/lab/process.bash"
  stop_processes "$work" watch
  stop_cluster big small
}

setup() {
  . "$BATS_TEST_DIRNAME/cluster.bash"
  . "$root/test/lab/process.bash"
}

@test "the daemon of each node tells the scheduler what that node has room for" {
  install_flexlocal
  wait_until daemons_are_ready 2
  class_yaml local 'fsType: ext4, onDelete: none' | kubectl apply -f -
  wait_until told_room_is "{\"big\":\"$((big * size))Mi\",\"small\":\"$((small * size))Mi\"}"
}

told_room_is() {
  [ "$(kubectl -n flexlocal-system get csistoragecapacities -o json |
    jq -c '.items | map({(.metadata.labels["flexlocal.io/node"]): .capacity}) | add')" = "$1" ]
}

@test "of twenty pods at once those run that fit, on each node as many as it has room for" {
  start_process "$work" watch kubectl get pv --watch --output-watch-events -o json
  # A network of its own and a token would cost each pod seconds of an emulated processor.
  for number in $(seq $pods); do
    claim_yaml "pod-$number" "${size}Mi" local
    pod_yaml "pod-$number" "$(claim_volume "pod-$number")" \
      $'hostNetwork: true\n  automountServiceAccountToken: false'
  done | kubectl apply -f -
  wait_until seen_is now
  nodes_are_full
}

# All pods that have a volume run, and each node has as many as its room is for.
nodes_are_full() {
  local owners
  mapfile -t owners < <(kubectl get pv -o json | jq -r '.items[].spec.claimRef.name | "pod/" + .')
  # This watches: a question every moment would take half a processor from the nodes.
  wait_until kubectl wait --for=condition=Ready "${owners[@]}" --timeout=20s
  [ "$(kubectl get pods -o json | jq -c '[.items[] | .spec.nodeName // empty]
    | group_by(.) | map({(.[0]): length}) | add')" = "{\"big\":$big,\"small\":$small}" ]
  holds_exactly big $big
  holds_exactly small $small
}

# holds_exactly NODE COUNT: the volumes of its pods have their logical volumes there, and nothing is
# left.
holds_exactly() {
  local volumes
  volumes=$(kubectl get pv -l "flexlocal.io/node=$1" -o name | cut -d / -f 2 | sort)
  [ "$(wc -l <<<"$volumes")" = "$2" ]
  [ "$(node=$1 on_node lvs --noheadings -o lv_name data | tr -d ' \r' | sort)" = "$volumes" ]
  [ "$(kubectl get pods,pvc -o json | jq -r --arg node "$1" '
    INDEX(.items[] | select(.kind == "PersistentVolumeClaim"); .metadata.name) as $claims | .items[]
    | select(.spec.nodeName == $node) | $claims[.metadata.name].spec.volumeName' | sort)" = "$volumes" ]
  [ "$(node=$1 free_bytes)" = 0 ]
}

@test "the rest stay Pending for want of storage, and no node is chosen for them" {
  wait_until wait_for_storage $waiting
}

# wait_for_storage COUNT: as many pods wait, by the scheduler's word for it, and their claims name no
# node. (Behind that word today's schedulers say that preemption would not help.)
wait_for_storage() {
  [ "$(kubectl get pods,pvc -o json | jq --arg text \
    '0/2 nodes are available: 2 node(s) did not have enough free storage.' '
    INDEX(.items[] | select(.kind == "PersistentVolumeClaim"); .metadata.name) as $claims
    | [.items[] | select(.kind == "Pod" and .status.phase == "Pending" and .spec.nodeName == null)
      | select(any(.status.conditions[];
          .type == "PodScheduled" and .reason == "Unschedulable" and (.message | startswith($text))))
      | $claims[.metadata.name] | select(.status.phase == "Pending" and .spec.volumeName == null
          and .metadata.annotations["volume.kubernetes.io/selected-node"] == null)] | length')" = "$1" ]
}

# For a moment all that wait may be sent to the room that appears; what comes too late is handed back.
# The scheduler of 1.20 would see the room within a minute or so; any change of a node makes it look at once.
@test "a pod that goes with its claim lets exactly one more run, in its room" {
  gone=$(kubectl get pods -o json |
    jq -r 'first(.items[] | select(.spec.nodeName == "small") | .metadata.name)')
  volume=$(volume_of "$gone")
  kubectl delete pod "$gone"
  kubectl delete pvc "$gone"
  wait_until is_gone pv "$volume"
  wait_until room_is_offered
  kubectl label node small changed=yes
  wait_until wait_for_storage $((waiting - 1))
  wait_until seen_is now
  nodes_are_full
}

# Or taken already.
room_is_offered() { told_room_is "{\"big\":\"0\",\"small\":\"${size}Mi\"}" || seen_is now; }

@test "at no moment had a node more volumes than it has room for" {
  process_id "$work" watch
  wait_until seen_is now
  seen_is most
}

# seen_is now|most: how many PersistentVolumes each node has, or had at once, by what was watched. All
# are as large as was asked.
seen_is() {
  [ "$(jq -nc --arg what "$1" --arg size "${size}Mi" '
    reduce inputs as {$type, $object} ({volumes: {}, now: {}, most: {}};
      if $object.spec.capacity.storage != $size then error("\($object.metadata.name) has another size")
      elif $type == "DELETED" then del(.volumes[$object.metadata.name])
      else .volumes[$object.metadata.name] = $object.metadata.labels["flexlocal.io/node"] end
      | .now = (reduce .volumes[] as $node ({}; .[$node] += 1))
      | reduce (.now | to_entries[]) as $node (.; .most[$node.key] = ([.most[$node.key], $node.value] | max)))
    | .[$what] | to_entries | sort_by(.key) | from_entries' "$work/log/watch.log")" = "{\"big\":$big,\"small\":$small}" ]
}
