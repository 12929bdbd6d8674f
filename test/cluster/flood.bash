# shellcheck shell=bash disable=SC2154 # shared with converge-api.bats and tenants.bats
# More and larger claims than a careful user would make: source it after daemon.bash.

# make_many NAMESPACE COUNT: so many of the claim that is read, which has a generateName. One request for
# each number: the parameter is there for it alone.
make_many() {
  cat >"$work/large.json"
  curl -sS --fail -o /dev/null --cacert "$work/cluster/pki/ca.crt" -H 'Content-Type: application/json' \
    -H "Authorization: Bearer $(cut -d, -f1 "$work/cluster/pki/tokens.csv")" -d "@$work/large.json" \
    "https://127.0.0.1:$API_PORT/api/v1/namespaces/$1/persistentvolumeclaims?fieldManager=[1-$2]"
}

# make_each NAMESPACE COUNT: the same, but each has another number in the place of the word `number`.
make_each() {
  local claim number
  claim=$(cat)
  for ((number = 0; number < $2; number++)); do make_many "$1" 1 <<<"${claim/number/$number}" || return; done
}

# text_of BYTE COUNT
text_of() { head -c "$2" /dev/zero | tr '\0' "$1"; }

# most_memory NAME: what the daemon had resident at most, in kB.
most_memory() { awk '/VmHWM/ { print $2 }' "/proc/$(process_id "$work" "$1")/status"; }

# has_stayed_small NAME: within what examples/install gives a node's daemon.
has_stayed_small() {
  local most
  most=$(most_memory "$1")
  echo "$1, resident at most: $most kB"
  [ "$most" -lt $((128 * 1024)) ]
}
