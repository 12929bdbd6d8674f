# shellcheck shell=bash
# Grants, computed by openssl alone from what the API server has: flexvolume/engine/contract/grant.h says how.

# hmac KEY TEXT: HMAC-SHA256 in hexadecimal.
hmac() {
  local answer
  answer=$(printf %s "$2" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$1")
  echo "${answer##* }"
}

# grant_is_of KEY CLAIM: the claim's volume carries the grant that KEY gives to just this volume.
grant_is_of() {
  local volume message grant id
  volume=$(kubectl get pv "$(volume_of "$2")" -o json)
  message=$(jq -j '"flexlocal grant 1\nname=\(.metadata.name)\nfsType=\(.spec.flexVolume.fsType)",
    (.spec.flexVolume.options | del(."flexlocal.io/grant") | to_entries | sort_by(.key)[]
      | "\n\(.key)=\(.value)")' <<<"$volume")
  grant=$(jq -r '.spec.flexVolume.options."flexlocal.io/grant"' <<<"$volume")
  id=$(hmac "$1" 'flexlocal key id')
  [ "$grant" = "1-${id:0:8}-$(hmac "$1" "$message")" ]
}
