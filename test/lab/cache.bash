# shellcheck shell=bash
# The cache of things that take long to build: source it. An entry's name ends
# in the hash of its recipe, so a changed recipe never meets an old result; it
# is built in a hidden sibling folder and renamed when complete, so whatever
# carries an entry's name is whole.

# The folder of all entries, outside any checkout so that clones share it.
cache_root() {
  echo "${FLEXLOCAL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/flexlocal}"
}

# recipe_hash FILE... : sixteen digits that change with the files' contents.
recipe_hash() {
  cat -- "$@" | sha256sum | cut -c1-16
}

# cache_build THING HASH FUNCTION [ARG...]: prints the entry's folder. When it
# is missing, FUNCTION fills the folder it starts in, with its stdout on stderr.
# Whoever builds the same entry at the same time is waited for.
cache_build() {
  local root entry lock
  root=$(cache_root)
  entry=$root/$1-$2
  if [ ! -d "$entry" ]; then
    mkdir -p "$root/locks"
    exec {lock}>"$root/locks/$1-$2"
    flock -n "$lock" || {
      echo "$1: another build of it is under way, waiting" >&2
      flock "$lock"
    }
    [ -d "$entry" ] || _cache_fill "$entry" "${@:3}" >&2
    exec {lock}>&-
    [ -d "$entry" ] || return 1 # -e is off where this is called in $( )
  fi
  echo "$entry"
}

# The builder runs in a process group of its own: a signal to this script alone
# then ends all of it at once instead of when the present step is over.
_cache_fill() {
  local entry=$1 stage builder status=0
  _cache_sweep "$(basename "$entry")"
  stage=$(mktemp -d "$(dirname "$entry")/.build-$(basename "$entry").XXXXXX") || return
  set -m
  (
    set -e
    cd "$stage"
    "${@:2}"
  ) </dev/null &
  builder=$!
  set +m
  # shellcheck disable=SC2064 # the values of now are the ones meant
  trap "_cache_abandon $builder '$stage'; exit 130" INT TERM HUP
  wait "$builder" || status=$?
  trap - INT TERM HUP
  if [ "$status" != 0 ]; then
    rm -rf "$stage"
    echo "$(basename "$0"): the build failed, see above; nothing of it was kept" >&2
    return "$status"
  fi
  chmod 755 "$stage"
  mv -T "$stage" "$entry"
}

_cache_abandon() {
  local tries
  for ((tries = 0; tries < 50; tries++)); do
    kill -TERM -- "-$1" 2>/dev/null || break
    sleep 0.1
  done
  kill -KILL -- "-$1" 2>/dev/null || true
  wait "$1" 2>/dev/null || true
  rm -rf "$2"
  echo "$(basename "$0"): interrupted; nothing of the build was kept" >&2
}

# A builder holds its entry's lock, so a stage whose lock is free is dead.
_cache_sweep() {
  local own=$1 stage entry lock
  for stage in "$(cache_root)"/.build-*; do
    [ -d "$stage" ] || continue
    entry=$(basename "$stage")
    entry=${entry#.build-}
    entry=${entry%.*}
    if [ "$entry" = "$own" ]; then
      rm -rf "$stage"
      continue
    fi
    exec {lock}>>"$(cache_root)/locks/$entry"
    ! flock -n "$lock" || rm -rf "$stage"
    exec {lock}>&-
  done
}
