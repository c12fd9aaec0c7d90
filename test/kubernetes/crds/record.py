#!/usr/bin/env python3
# test/kubernetes/crds/record.py - writes src/apiserver/verdicts.inc: what a real API server with the originals' CRDs says of
# the objects of changes.py. The embedded server is compared with it in src/apiserver/verdicts_test.cpp.
import json
import pathlib
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import changes  # noqa: E402
import originals  # noqa: E402
from cluster import Cluster  # noqa: E402
from side import Side  # noqa: E402

INC = HERE.parent.parent.parent / "src/apiserver/verdicts.inc"


def side_of(server: Cluster, kind: str, version: str) -> Side:
    crd = next(crd for crd in originals.originals().values() if crd["spec"]["names"]["kind"] == kind)
    side = Side(server, crd, next(v for v in crd["spec"]["versions"] if v["name"] == version), "original")
    side.install()
    while server.request("GET", side.path)[0] != 200:
        time.sleep(0.1)
    return side


def recorded(server: Cluster) -> list[dict]:
    sides, rows = {}, []
    for number, (kind, versions, before, after, _) in enumerate(changes.ROWS):
        for version in versions:
            if (kind, version) not in sides:
                sides[kind, version] = side_of(server, kind, version)
            side = sides[kind, version]
            verdict = side.judge(f"row-{number}", before, after)
            refused = verdict["status"] >= 300
            rows.append({"path": side.path.replace(side.mark, ""), "kind": kind, "before": before, "after": after,
                         "status": verdict["status"], "causes": verdict["answer"][1] if refused else []})
    return rows


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="muster-kube-") as folder:
        server = Cluster(pathlib.Path(folder))
        try:
            rows = recorded(server.start())
        finally:
            server.stop()
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    INC.write_text("// apiserver/verdicts.inc - written by test/kubernetes/crds/record.py.\n" + f'R"json([\n{lines}\n])json"\n')
    return 0


if __name__ == "__main__":
    sys.exit(main())
