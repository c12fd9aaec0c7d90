#!/bin/bash
# test/kubernetes/build_controller.sh - builds the controller of test/kubernetes/controller once, and prints where it is.
set -euo pipefail
cd "$(dirname "$0")/controller"
. ../go.sh
# Named after what it is built from: a change here is never hidden by an older build.
binary=$cache/controller-$(cat ../build_controller.sh ./*.go go.mod go.sum | sha256sum | cut -c1-8)
if [ -x "$binary" ]; then echo "$binary"; exit 0; fi
one_at_a_time
if [ -x "$binary" ]; then echo "$binary"; exit 0; fi
use_go
echo "building a controller with controller-runtime; this takes two minutes the first time" >&2
nice go build -p "$(nproc)" -trimpath -buildvcs=false -ldflags "-s -w" -o "$binary.new" .
mv "$binary.new" "$binary"
echo "$binary"
