#!/bin/bash
# test/kubernetes/build_cluster.sh - builds etcd, kube-apiserver, kube-controller-manager, kube-scheduler and helm from
# their Go modules, once, and prints the folder that holds them. A build that was stopped goes on where it was.
set -euo pipefail
cd "$(dirname "$0")/cluster"
. ../go.sh
# Named after what it is built from; it appears whole or not at all.
folder=$cache/cluster-$(cat ../build_cluster.sh go.mod go.sum | sha256sum | cut -c1-8)
if [ -d "$folder" ]; then echo "$folder"; exit 0; fi
one_at_a_time
if [ -d "$folder" ]; then echo "$folder"; exit 0; fi
use_go
version_of() { go list -m -f '{{.Version}}' "$1"; }
echo "building kube-apiserver $(version_of k8s.io/kubernetes) and its company; this takes about ten minutes the first time" >&2
rm -rf "$folder.half"
mkdir "$folder.half"
stamps="-X k8s.io/component-base/version.gitVersion=$(version_of k8s.io/kubernetes)"
stamps="$stamps -X helm.sh/helm/v4/internal/version.version=$(version_of helm.sh/helm/v4)"
# All at once, so that what they share is compiled once: the tools that go.mod names.
nice go build -p "$(nproc)" -trimpath -buildvcs=false -ldflags "-s -w $stamps" -o "$folder.half/" tool
mv "$folder.half/server" "$folder.half/etcd"
mv "$folder.half" "$folder"
echo "$folder"
