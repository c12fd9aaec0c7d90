# test/e2e_servers.py - test/e2e/conftest.py under a name of its own, for tests beside which another conftest.py stands.
import importlib.util
import pathlib
import sys

spec = importlib.util.spec_from_file_location(__name__, pathlib.Path(__file__).resolve().parent / "e2e/conftest.py")
module = importlib.util.module_from_spec(spec)
sys.modules[__name__] = module  # Who imports this gets that.
spec.loader.exec_module(module)
