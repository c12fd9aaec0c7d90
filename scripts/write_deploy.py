#!/usr/bin/env python3
# scripts/write_deploy.py - writes what is generated in deploy/: the chart's roles as `muster rbac` prints them, and plain
# manifests as the pinned helm makes them from the chart.
"""With --check it changes nothing and fails when a file is not what would be written."""
import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHART = ROOT / "deploy/helm/muster"
ROLES = CHART / "templates/rbac.yaml"
MANIFESTS = ROOT / "deploy/manifests/muster.yaml"
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: muster-system\n"


def roles(muster: pathlib.Path) -> str:
    """With the chart's words in place of names: helm fills them in."""
    return subprocess.run([str(muster), "rbac", "--prefix", '{{ include "muster.prefix" . }}', "--install-namespace",
                           "{{ .Release.Namespace }}"], stdout=subprocess.PIPE, text=True, check=True).stdout


def manifests(helm: pathlib.Path) -> str:
    """All but the CRDs, which are deploy/helm/muster/crds-as-printed."""
    made = subprocess.run([str(helm), "template", "muster", str(CHART), "--namespace", "muster-system", "--set", "crds.install=false"],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    return f"---\n{NAMESPACE}{made}"


def helm_of_the_tests() -> pathlib.Path:
    built = subprocess.run([str(ROOT / "test/kubernetes/build_cluster.sh")], stdout=subprocess.PIPE, text=True, check=True).stdout
    return pathlib.Path(built.strip().splitlines()[-1]) / "helm"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--muster", type=pathlib.Path, default=ROOT / "build/release/muster")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--roles-only", action="store_true", help="not the manifests, which helm makes")
    parser.add_argument("--helm", type=pathlib.Path, help="default: the one that the tests have, built when it is not there")
    options = parser.parse_args()
    stale = 0
    for path, make in [(ROLES, lambda: roles(options.muster)), (MANIFESTS, lambda: manifests(options.helm or helm_of_the_tests()))]:
        if path == MANIFESTS and options.roles_only:
            continue
        text = make()
        if path.exists() and path.read_text() == text:
            continue
        stale += 1
        if options.check:
            print(f"{path.relative_to(ROOT)} is not what would be written: run scripts/write_deploy.py --muster {options.muster}")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
