# test/waiting.py - waits for what a test expects to come.
import time


def until(what: str, true, timeout: float = 60):
    """Asks again and again until `true()` gives something; that is returned."""
    deadline = time.time() + timeout
    while True:
        seen = true()
        if seen:
            return seen
        assert time.time() < deadline, f"not within {timeout} s: {what}"
        time.sleep(0.05)
