# test/attacks/conftest.py - the server of test/e2e, for attacks on it: `muster`, `make_muster`. Sizes are a tenth of the measured
# ones; all of them with MUSTER_ATTACKS=full.
import pathlib
import resource
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
for folder in ("test", "test/e2e", "test/attacks"):
    sys.path.insert(0, str(ROOT / folder))
from e2e_servers import kubernetes, make_muster, muster, server  # noqa: E402, F401  (fixtures)
from people import Town  # noqa: E402

# Each connection of an attack is a descriptor of this process.
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)


@pytest.fixture(scope="module")
def town():
    """A `muster up` with people in it, one for the tests of a file."""
    made = Town()
    try:
        yield made
        assert made.muster.process.poll() is None, "muster up has ended"
    finally:
        made.leave()
