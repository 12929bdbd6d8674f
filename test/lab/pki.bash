# shellcheck shell=bash
# A cluster's certificates: source it. Everything lies in the folder PKI and is
# good for a month, more than any run lasts, from yesterday: a client's clock may
# be behind, and openssl asks none but its own.
_openssl() { faketime -f -1d openssl "$@"; }

# pki_authority PKI: the CA that everyone in the cluster is checked against.
pki_authority() {
  mkdir -p "$1"
  chmod 700 "$1"
  _openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 \
    -subj /CN=flexlocal-lab -keyout "$1/ca.key" -out "$1/ca.crt" 2>/dev/null
}

# pki_sign PKI NAME SUBJECT [SAN]: NAME.key and NAME.crt; with a SAN for a
# server, without one for a client, whose user and groups are CN and O.
pki_sign() {
  local usage=clientAuth
  [ $# -lt 4 ] || usage="serverAuth
subjectAltName=$4"
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$3" \
    -keyout "$1/$2.key" -out "$1/$2.csr" 2>/dev/null
  _openssl x509 -req -in "$1/$2.csr" -CA "$1/ca.crt" -CAkey "$1/ca.key" -days 30 \
    -set_serial "0x$(openssl rand -hex 12)" -extfile /dev/stdin -out "$1/$2.crt" \
    2>/dev/null <<<"extendedKeyUsage=$usage"
  rm "$1/$2.csr"
}

# kubeconfig SERVER CA-FILE USER-JSON: prints one; USER-JSON says who one is.
kubeconfig() {
  cat <<EOF
apiVersion: v1
kind: Config
clusters:
- name: lab
  cluster: {server: "$1", certificate-authority-data: "$(base64 -w0 "$2")"}
users:
- name: lab
  user: $3
contexts:
- name: lab
  context: {cluster: lab, user: lab}
current-context: lab
EOF
}
