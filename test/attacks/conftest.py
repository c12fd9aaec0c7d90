# test/attacks/conftest.py - what the attack suite shares: the servers of test/e2e, and the sizes of attacks.
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test/e2e"))
E2E = ROOT / "test/e2e/conftest.py"
FULL = os.environ.get("MUSTER_ATTACKS") == "full"


def size(full: int) -> int:
    """How large an attack is: as it was measured with MUSTER_ATTACKS=full, else a tenth of that."""
    return full if FULL else max(1, full // 10)
