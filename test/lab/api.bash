# shellcheck shell=bash
# Requests to a lab cluster's API server as its administrator: source it.

api_port() {
  sed -n 's/^api_port=//p' "$1/ports" | tr -d '"'
}

# Of Kubernetes: 1.37, say.
cluster_version() {
  sed -n 's/^version=//p' "$1/ports" | tr -d '"'
}

# is_older_than VERSION: the cluster in $work/cluster.
is_older_than() {
  local version
  version=$(cluster_version "${work:?}/cluster")
  [ "$(printf '%s\n' "$1" "$version" | sort -V | tail -n 1)" != "$version" ]
}

# api CLUSTER_DIR METHOD PATH [CURL-OPTION...]: prints the answer's body.
api() {
  local token
  token=$(cut -d, -f1 "$1/pki/tokens.csv")
  curl -sS --fail --max-time 10 --cacert "$1/pki/ca.crt" -H @/dev/fd/3 -X "$2" "${@:4}" \
    "https://127.0.0.1:$(api_port "$1")$3" 3<<<"Authorization: Bearer $token"
}

# api_patch CLUSTER_DIR PATH JSON: merges JSON into the object.
api_patch() {
  api "$1" PATCH "$2" -o /dev/null -H 'Content-Type: application/merge-patch+json' -d "$3"
}

# apply_folder FOLDER: of examples/, as README says. An API server before 1.25 does not know the rules of
# the VolumeCopies' definition.
apply_folder() {
  if is_older_than 1.25; then
    kubectl kustomize "$1" | kubectl apply --validate=false -f -
  else
    kubectl apply -k "$1"
  fi
}
