# test/program.py - a program that a test has started: it is ended by its process id, never by a name.
import signal
import subprocess


class Program:
    """Who starts it keeps its `process`."""

    process: subprocess.Popen | None = None
    stop_within = 60  # Seconds from SIGTERM to its end.

    def stop(self) -> int:
        """Lets it end; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=self.stop_within)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
