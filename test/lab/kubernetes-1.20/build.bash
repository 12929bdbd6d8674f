# shellcheck shell=bash
# Kubernetes 1.20.2 from Debian's source package: test/lab/kubernetes sources it, and calls
# build_from_source in the folder to fill. It takes some minutes, and 3 GB of disk while it runs.
# Errors end it (set -e); $lab and debian_apt_options are its caller's.
# shellcheck disable=SC2154,SC2164

source_version=1.20.2
source_programs=(kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl)

fetch_source() {
  step "fetching the source package"
  debian_apt "$PWD/apt"
  apt-get "${debian_apt_options[@]}" update
  apt-get "${debian_apt_options[@]}" source --download-only kubernetes
  step "unpacking"
  dpkg-source -x kubernetes_*.dsc source >/dev/null
}

# The vendored reflect2 reads the Go runtime's insides as they were before Go
# 1.18; with a later compiler the API server dies in reflect.mapiterinit.
replace_reflect2() {
  local vendored=source/vendor/github.com/modern-go/reflect2
  rm -f "$vendored"/*.go "$vendored"/*.s
  cp /usr/share/gocode/src/github.com/modern-go/reflect2/*.{go,s} "$vendored/"
}

# A deleted pod's object stays until its dead sandbox is collected, once a minute in this version
# and not to be set: tests would do nothing but wait for it. A timer is all that is changed.
collect_sooner() {
  sed -i 's/ContainerGCPeriod = time\.Minute$/ContainerGCPeriod = 3 * time.Second/' source/pkg/kubelet/kubelet.go
  grep -q 'ContainerGCPeriod = 3 \* time.Second' source/pkg/kubelet/kubelet.go
}

# `/version` reads the one, `--version` the other.
source_version_flags() {
  local package
  for package in component-base/version client-go/pkg/version; do
    package=k8s.io/kubernetes/vendor/k8s.io/$package
    printf -- '-X %s.gitVersion=v%s ' "$package" "$source_version"
    printf -- '-X %s.gitMajor=1 -X %s.gitMinor=20 ' "$package" "$package"
  done
}

compile_source() {
  local out=$PWD go_path=$PWD/source/.go
  mkdir -p "$go_path/src/k8s.io"
  ln -s ../../.. "$go_path/src/k8s.io/kubernetes"
  export GOPATH=$go_path GOCACHE=$PWD/go-cache CGO_ENABLED=0 GOFLAGS=
  export KUBE_GIT_VERSION=v$source_version
  # Debian's wrapper in /usr/bin is enough for go, but the makefiles look beside it.
  PATH=/usr/lib/go/bin:$PATH
  cd "$go_path/src/k8s.io/kubernetes"
  step "generating code"
  make generated_files >/dev/null
  step "compiling ${source_programs[*]} (minutes)"
  GO111MODULE=off go build -trimpath -ldflags "-s -w $(source_version_flags)" -o "$out/" \
    "${source_programs[@]/#/./cmd/}"
  cd "$out"
}

build_from_source() {
  local program
  "$lab/../../scripts/setup" source
  for program in dpkg-source go rsync jq make git etcd; do
    type -P "$program" >/dev/null || {
      step "$program is missing: run scripts/setup source"
      return 1
    }
  done
  fetch_source
  replace_reflect2
  collect_sooner
  compile_source
  # Go makes parts of its cache read-only.
  chmod -R u+w source go-cache
  rm -rf source go-cache apt kubernetes_*
  # Debian's etcd 3.4 is of that time, too.
  cp "$(type -P etcd)" etcd
  echo 1.20 >version
  step "done"
}
