# test/kubernetes/crds/originals.py - the CustomResourceDefinitions of the originals, from their pinned Go modules.
"""They are read once and kept beside the other things that ./dev kube makes; nothing of them is in this repository."""
import hashlib
import json
import os
import pathlib
import subprocess

import yaml

HERE = pathlib.Path(__file__).resolve().parent
Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def pins() -> list[list[str]]:
    lines = (HERE / "originals.txt").read_text().splitlines()
    return [line.split() for line in lines if line and not line.startswith("#")]


def go(*words: str) -> str:
    """Runs Go, which ../go.sh finds or brings along; in a folder that is no module."""
    script = 'set -euo pipefail; . "$1/go.sh"; use_go; mkdir -p "$cache"; cd "$cache"; shift; go "$@"'
    return subprocess.run(["bash", "-c", script, "-", str(HERE.parent), *words], stdout=subprocess.PIPE, text=True, check=True).stdout


def read_module(module: str, version: str, checksum: str, folder: str, names: str = "*.yaml") -> list[dict]:
    told = json.loads(go("mod", "download", "-json", f"{module}@{version}"))
    assert told["Sum"] == checksum, f"{module} {version} is not what originals.txt names: {told['Sum']}"
    files = sorted((pathlib.Path(told["Dir"]) / folder).glob(names))
    return [yaml.load(file.read_text(), Loader=Loader) for file in files]


def originals() -> dict[str, dict]:
    """Every CRD of the originals by its name."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "muster/kube"
    made_from = (HERE / "originals.txt").read_bytes() + pathlib.Path(__file__).read_bytes()
    kept = cache / f"originals-{hashlib.sha256(made_from).hexdigest()[:8]}.json"
    if not kept.exists():
        found = {crd["metadata"]["name"]: crd for pin in pins() for crd in read_module(*pin)}
        half = kept.with_suffix(f".{os.getpid()}")
        half.write_text(json.dumps(found))
        half.rename(kept)
    return json.loads(kept.read_text())
