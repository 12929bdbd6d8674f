# shellcheck shell=bash
# The machine's own Debian archive, used without touching /etc/apt: source it.

# debian_sources deb|deb-src [APT-OPTION...]: one-line source entries for the
# Debian archive as this machine's apt reaches it. Other vendors' entries are
# left out by what their signed release file calls its origin. apt itself reads
# the machine's files here, so every format it knows is understood.
debian_sources() {
  local type=$1 keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  shift
  [ ! -e "$keyring" ] || type+=" [signed-by=$keyring]"
  apt-get "$@" indextargets --format "\$(ORIGIN)|$type \$(REPO_URI) \$(RELEASE) \$(COMPONENT)" \
    'Created-By: Packages' | sed -n 's/^Debian|//p' | sort -u
}

# debian_apt FOLDER: makes a private apt there whose package lists and sources
# are its own, and sets debian_apt_options to what makes apt-get use it.
debian_apt() {
  local folder=$1
  mkdir -p "$folder"/{lists/partial,archives/partial,parts}
  debian_apt_options=(-q -y -o "Dir::State::lists=$folder/lists"
    -o "Dir::Cache::archives=$folder/archives" -o APT::Sandbox::User=root
    -o APT::Get::Update::Error-Mode=any)
  # Images of machines often come with the lists removed; the origin is in them.
  debian_sources deb-src >"$folder/sources.list"
  if [ ! -s "$folder/sources.list" ]; then
    apt-get "${debian_apt_options[@]}" update >&2
    debian_sources deb-src "${debian_apt_options[@]}" >"$folder/sources.list"
  fi
  if [ ! -s "$folder/sources.list" ]; then
    echo "debian: apt has no entry for the Debian archive: add one under /etc/apt and run apt-get update" >&2
    return 1
  fi
  sed 's/^deb-src /deb /' "$folder/sources.list" >"$folder/binary.list"
  debian_apt_options+=(-o "Dir::Etc::sourcelist=$folder/sources.list"
    -o "Dir::Etc::sourceparts=$folder/parts")
}

# debian_suite FOLDER SUITE: after debian_apt there, has its options and binary.list mean the packages
# of that suite, and not of the machine's. Its updates stay; what the machine has of other suites,
# backports say, is not asked for.
debian_suite() {
  local own
  own=$(. /etc/os-release && echo "${VERSION_CODENAME:?}")
  sed -nEi "s/ $own((-security|-updates)?)( |\$)/ $2\1\3/p" "$1/binary.list"
  debian_apt_options+=(-o "Dir::Etc::sourcelist=$1/binary.list")
}
