#!/bin/bash
# test/kubernetes/build_pprof.sh - has `go tool pprof` in Go's cache: Go builds it when it is first asked for.
set -euo pipefail
. "$(dirname "$0")/go.sh"
one_at_a_time
use_go
go tool pprof -help >/dev/null 2>&1
