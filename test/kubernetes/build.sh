#!/bin/bash
# test/kubernetes/build.sh - builds kubectl from its Go module, once, and prints where it is.
# usage: test/kubernetes/build.sh [VERSION]     (a version of k8s.io/kubectl, v0.36.3 when not given)
set -euo pipefail
cd "$(dirname "$0")/kubectl"
. ../go.sh
version=${1:-v0.36.3}
# Named after what it is built from: a change here is never hidden by an older build.
binary=$cache/kubectl-$version-$(cat ../build.sh main.go go.mod go.sum | sha256sum | cut -c1-8)
if [ -x "$binary" ]; then echo "$binary"; exit 0; fi
one_at_a_time
if [ -x "$binary" ]; then echo "$binary"; exit 0; fi
use_go
echo "building kubectl $version; this takes some minutes the first time" >&2
source=$PWD
if [ "$version" != v0.36.3 ]; then
  source=$(mktemp -d)
  trap 'rm -rf "$source"' EXIT
  cp main.go "$source/"
  sed -E "s#(k8s.io/(cli-runtime|client-go|component-base|kubectl)) v[0-9.]+\$#\1 $version#; /indirect/d" go.mod >"$source/go.mod"
  export GOFLAGS="${GOFLAGS:-} -mod=mod"
fi
stamp="-X k8s.io/component-base/version.gitVersion=v1${version#v0}"
(cd "$source" && nice go build -p "$(nproc)" -trimpath -buildvcs=false -ldflags "-s -w $stamp" -o "$binary.new" .)
mv "$binary.new" "$binary"
echo "$binary"
