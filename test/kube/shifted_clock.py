# test/kube/shifted_clock.py - a clock of the wall that a test sets, for programs that it starts.
import pathlib
import struct
import subprocess

SOURCE = pathlib.Path(__file__).with_name("clock_shift.cpp")


class ShiftedClock:
    """`environment` is for the program: its clock of the wall is ahead of the machine's by what was set last. The clock of what
    passes goes on as it is."""

    def __init__(self, folder: pathlib.Path):
        library, self._ahead = folder / "clock_shift.so", folder / "clock"
        if not library.exists():
            subprocess.run(["c++", "-std=c++20", "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE)], check=True, timeout=60)
        self.environment = {"LD_PRELOAD": str(library), "MUSTER_TEST_CLOCK": str(self._ahead)}
        self.set(0)

    def set(self, seconds: int) -> None:
        # Written over and not anew: programs that run have the file mapped.
        with self._ahead.open("r+b" if self._ahead.exists() else "wb") as file:
            file.write(struct.pack("<q", seconds))
