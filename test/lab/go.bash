# shellcheck shell=bash
# The Go that today's Kubernetes is built with: source it, and cache.bash before it.

# Fetched as a module where the machine has no newer one; its content has this sum.
go_fetched=1.26.7
go_fetched_sum=h1:BbG1DRIqH1ZVMRnQg/4M6jtOJjMFUusUjI+kXRBWqE8=

# use_go: puts a go of 1.26 or later first in PATH, the machine's own if it is new enough. It takes
# the modules as the machine's go is set up to take them, and keeps them where that go does.
use_go() {
  local folder
  ! _go_is_new || return 0
  folder=$(cache_build go "$(recipe_hash "$(realpath "${BASH_SOURCE[0]}")")" _go_fetch)
  export PATH=$folder/bin:$PATH GOROOT=$folder
  _go_is_new
}

_go_is_new() {
  local found
  # Its own choice of another toolchain would be a download of its own.
  export GOTOOLCHAIN=local
  found=$(cd / && go env GOVERSION 2>/dev/null) || return 1
  [ "$(printf '%s\n' go1.26 "$found" | sort -V | head -n 1)" = go1.26 ]
}

# Any go can fetch a newer one, since that is a module; but modules have no run bits.
_go_fetch() {
  local old module
  old=$(type -P go || true)
  [ -n "$old" ] || { echo "go: there is no go to fetch a newer one with: run scripts/setup lab" >&2; return 1; }
  echo "go: fetching go $go_fetched" >&2
  module=$("$old" mod download -json "golang.org/toolchain@v0.0.1-go$go_fetched.linux-amd64")
  [ "$(jq -r .Sum <<<"$module")" = "$go_fetched_sum" ] || {
    echo "go: what was fetched is not go $go_fetched: its sum is $(jq -r .Sum <<<"$module")" >&2
    return 1
  }
  cp -r "$(jq -r .Dir <<<"$module")/." .
  chmod -R u+w .
  chmod 755 bin/* pkg/tool/*/*
}
