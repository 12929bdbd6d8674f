# shellcheck shell=bash
# Commands of the documents in examples/, word for word, for tests that run them: source it. One that is
# not there is a failure.

documents=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../examples")

# block FILE HEADING [NUMBER]: that block of commands below that heading.
block() {
  awk -v heading="$2" -v block="${3:-1}" '
    /^##+ / { inside = ($0 ~ "^##+ " heading "$"); blocks = 0 }
    inside && /^    / { if (!code) blocks++; code = 1; if (blocks == block) { print substr($0, 5); found = 1 } next }
    { code = 0 }
    END { exit !found }' "$documents/$1"
}

# in_sentence FILE WORDS: the one command that begins so, where it stands within a sentence.
in_sentence() {
  local found
  found=$(grep -o "\`$2[^\`]*\`" "$documents/$1" | tr -d '`' | sort -u)
  if [ -z "$found" ] || [ "$(wc -l <<<"$found")" != 1 ]; then
    echo "not one command '$2' in $1: $found" >&2
    return 1
  fi
  echo "$found"
}
