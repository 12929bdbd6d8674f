# shellcheck shell=bash
# From the samples to the table and the JSON files: test/bench/run sources it. A line of the samples
# is "sample NAME OURS OTHER", times in nanoseconds.

# NAME | unit | most that the ratio may be, or - | the other side. What measures other things than
# test/bench/run sets lines of its own.
rows=(
  "plugin.init|ms|1.1|true"
  "plugin.refuse|ms|3|true"
  "plugin.mount.first|ms|1.05|lvcreate, mkfs.xfs, mount"
  "plugin.mount.first.usual|ms|-|vgs, lvs, lvcreate, lvs, blkid, mkfs.xfs, mount"
  "plugin.mount.again|ms|1.0|mount"
  "plugin.unmount|ms|1.0|umount"
  "plugin.quota.first|ms|1.0|mkdir, xfs_quota, mount"
  "plugin.mount.first.programs|programs|-|lvcreate, mkfs.xfs, mount"
  "plugin.mount.again.programs|programs|0|mount"
  "plugin.quota.first.programs|programs|-|mkdir, xfs_quota, mount"
  "plugin.unmount.programs|programs|-|umount"
  "provision.bound|ms|1.25|binding as many claims to PersistentVolumes that are there"
  "provision.bound.distributed|ms|1.18|binding as many claims to PersistentVolumes that are there"
  "provision.writes|ms|1.25|the same writes by curl, and nobody who decides"
  "provision.requests|requests|1.05|six requests a claim"
  "provision.cpu|ms|1|0.6 ms a claim"
  "provision.beside|ms|1|0.06 ms a claim"
  "provision.leader|ms|-|0.6 ms a claim"
  "claim.mountable|ms|8|a POST and its watch event"
  "claim.mountable.there|ms|-|the same of a claim whose PersistentVolume is there"
  "node.full.server|ms|1.2|as many claims of nodes without volumes"
  "events.of.others|events|0|one for each claim"
  "burst.killed|ms|1|the leader's lease and a heartbeat"
  "rest.writes|writes|1|three a minute of each agent"
  "rest.reads|requests|0|one a minute of each agent"
  "placement.bound|ms|1|a scheduler that is not told of room, for 120 s at most"
  "placement.requests|requests|1|a scheduler that is not told of room, for 120 s at most"
  "placement.handed_back|claims|-|a scheduler that is not told of room, for 120 s at most"
  "scale.late|ms|2|ten nodes"
  "scale.late.server|ms|2|ten nodes"
  "scale.now|ms|2|ten nodes"
  "scale.now.server|ms|2|ten nodes"
  "scale.single|ms|1|a second"
  "shipped.bound|ms|1.25|binding as many claims to PersistentVolumes that are there"
  "scale.distributed|ms|-|node daemons that settle who takes which"
  "scale.distributed.server|ms|-|node daemons that settle who takes which"
  "scale.distributed.conflicts|conflicts|1|one for each hundred claims"
  "daemon.rss.2000|KiB|1|14 MiB"
  "daemon.rss.10000|KiB|1|14 MiB"
  "daemon.rss.30000|KiB|1|14 MiB"
  "daemon.rss.more.30000|KiB|1|2 MiB more than in an empty cluster"
  "daemon.rss.100000|KiB|1|14 MiB"
  "daemon.rss.more.100000|KiB|1|2 MiB more than in an empty cluster"
  "leader.rss.2000|KiB|1|64 MiB"
  "leader.rss.10000|KiB|1|64 MiB"
  "leader.rss.30000|KiB|1|64 MiB"
  "leader.rss.100000|KiB|1|250 MiB"
  "leader.start.30000|ms|1.5|curl, the same lists at once"
  "leader.start.100000|ms|1.5|curl, the same lists at once"
  "leader.rest.30000|ms|-|a hundredth of a processor for a minute"
  "leader.rest.100000|ms|-|a hundredth of a processor for a minute"
  "daemon.start.10000|ms|-|a second"
  "watch.decode|ms|1.0|RapidJSON's trees of the same lines"
  "watch.decode.ours|ms|-|RapidJSON's trees of the same lines"
)

# median SAMPLES NAME COLUMN
median() {
  awk -v name="$2" -v column="$3" '$2 == name { print $column }' "$1" | sort -n |
    awk '{ value[NR] = $1 }
      END { print (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2 }'
}

# summarise SAMPLES NAME UNIT LIMIT: sets `count`, `ours`, `other`, `ratio`, `verdict`.
summarise() {
  local scale=1 digits=0
  count=$(grep -c "^sample $2 " "$1") || true
  [ "$count" -gt 0 ] || return 1
  [ "$3" != ms ] || { scale=1000000 digits=3; }
  read -r ours other ratio verdict < <(
    awk -v ours="$(median "$1" "$2" 3)" -v other="$(median "$1" "$2" 4)" -v scale="$scale" \
      -v digits="$digits" -v limit="$4" 'BEGIN {
        ratio = ours / other
        verdict = limit == "-" ? "-" : ratio <= limit + 0 ? "ok" : "over the limit"
        printf "%.*f %.*f %.2f %s\n", digits, ours / scale, digits, other / scale, ratio, verdict
      }'
  )
}

# limits_of NAME: how many requests a second the clients could send when it was measured, as JSON; null
# where there was no API server. The leader and the agents have no limit of their own, as shipped:
# the API server has priority and fairness.
limits_of() {
  local others=1000
  case $1 in
  plugin.* | watch.*)
    echo null
    return
    ;;
  shipped.*) others='"as shipped"' ;;
  esac
  echo "{\"kube-controller-manager\":$others,\"kube-scheduler\":$others,\"flexlocal-provisioner\":null}"
}

# All words are our own and need no escapes.
write_json() {
  local limit=$4
  [ "$limit" != - ] || limit=null
  printf '{"name":"%s","value":%s,"unit":"%s","against":{"name":"%s","value":%s},"ratio":%s,"limit":%s,"samples":%s,"requestsPerSecond":%s}\n' \
    "$2" "$ours" "$3" "$5" "$other" "$ratio" "$limit" "$count" "$(limits_of "$2")" >"$1/$2.json"
}

print_row() { printf '%-29s %12s %12s %7s %6s  %s\n' "$@"; }

# report SAMPLES FOLDER [PATTERN]: the table, or those of its lines whose names match, a JSON file for
# each, and what went wrong. Fails when a line has no samples or `problems` has something.
report() {
  local row name unit limit against count ours other ratio verdict
  local -a over=() missing=()
  print_row name ours other ratio limit ""
  for row in "${rows[@]}"; do
    IFS='|' read -r name unit limit against <<<"$row"
    # shellcheck disable=SC2053 # a pattern
    [[ $name == ${3:-*} ]] || continue
    if ! summarise "$1" "$name" "$unit" "$limit"; then
      print_row "$name" - - - "$limit" "not measured"
      missing+=("$name")
      continue
    fi
    write_json "$2" "$name" "$unit" "$limit" "$against"
    print_row "$name" "$ours $unit" "$other $unit" "$ratio" "$limit" "$verdict"
    [ "$verdict" != "over the limit" ] || over+=("$name: $ratio times $against, at most $limit")
  done
  [ ${#over[@]} = 0 ] || printf 'OVER THE LIMIT: %s\n' "${over[@]}"
  [ ${#missing[@]} = 0 ] || problems+=("${missing[*]}")
  [ ${#problems[@]} = 0 ] || printf 'NOT MEASURED: %s\n' "${problems[@]}"
  [ ${#problems[@]} = 0 ]
}
