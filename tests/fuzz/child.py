"""A child process that checks programs: started again when it dies, stopped when it hangs."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


class Child:
    """One checker process.

    Parameters
    ----------
    engine, promotion : str
        What it runs, see `check.load_engine`.
    env : dict of str to str
        Further environment variables.
    timeout : float
        Seconds that one request may take.
    python : str
        The interpreter.
    """

    def __init__(
        self,
        engine: str,
        promotion: str,
        env: dict[str, str] | None = None,
        timeout: float = 60.0,
        python: str = sys.executable,
    ) -> None:
        self.command = [python, str(HERE / "check.py"), engine, promotion]
        self.env = {
            "TREADLE_VERIFY": "1",
            "TREADLE_NUM_THREADS": "3",
            **os.environ,
            **(env or {}),
            "PYTHONHASHSEED": "0",
        }
        self.cache = tempfile.TemporaryDirectory(prefix="treadle-fuzz-")
        self.env.setdefault("TREADLE_CACHE_DIR", self.cache.name)
        self.timeout = timeout
        self.served = 0
        self.proc: subprocess.Popen | None = None

    def start(self) -> None:
        """Start the process if it is not running."""
        if self.proc is None:
            self.proc = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self.env,
            )
            os.set_blocking(self.proc.stdout.fileno(), False)  # type: ignore[union-attr]
            os.set_blocking(self.proc.stderr.fileno(), False)  # type: ignore[union-attr]
            self.served = 0

    def stop(self) -> None:
        """End the process."""
        if self.proc is not None:
            self.proc.kill()
            self.proc.wait()
            for stream in (self.proc.stdin, self.proc.stdout, self.proc.stderr):
                stream.close()  # type: ignore[union-attr]
            self.proc = None

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request; ``status`` is crash or hang if there was none."""
        if self.served >= 400:
            self.stop()
        self.start()
        assert self.proc is not None and self.proc.stdin is not None
        self.served += 1
        try:
            self.proc.stdin.write(json.dumps(request).encode() + b"\n")
            self.proc.stdin.flush()
        except BrokenPipeError:
            pass
        line, errors = self.read()
        if line:
            return json.loads(line)
        if self.proc.poll() is None and not self.ended:
            self.stop()
            return {"status": "hang", "why": f"no answer in {self.timeout:g} s"}
        code = self.proc.wait()
        tail = errors.decode(errors="replace")[-1500:]
        self.stop()
        return {"status": "crash", "why": f"process ended with {code}: {tail}"}

    def read(self) -> tuple[bytes, bytes]:
        """One line of the answer, and what came on stderr meanwhile."""
        assert self.proc is not None
        line, errors, self.ended = b"", b"", False
        with selectors.DefaultSelector() as sel:
            sel.register(self.proc.stdout, selectors.EVENT_READ)  # type: ignore[arg-type]
            sel.register(self.proc.stderr, selectors.EVENT_READ)  # type: ignore[arg-type]
            while not line.endswith(b"\n"):
                ready = sel.select(self.timeout)
                if not ready:
                    return b"", errors
                for key, _ in ready:
                    data = os.read(key.fd, 1 << 16)
                    if not data:
                        if key.fileobj is self.proc.stdout:
                            self.ended = True
                            errors += self.proc.stderr.read() or b""  # type: ignore[union-attr]
                            return b"", errors
                        sel.unregister(key.fileobj)
                    elif key.fileobj is self.proc.stdout:
                        line += data
                    else:
                        errors += data
        return line, errors


class Pair:
    """A process that runs graphs by all ways, and one that leaves passes out.

    Parameters
    ----------
    skip : str
        The passes, as TREADLE_SKIP names them.
    env : dict of str to str
        Further environment variables of both.
    timeout : float
        Seconds that one request may take.
    """

    def __init__(self, skip: str, env: dict[str, str] | None = None, timeout: float = 60.0) -> None:
        more = {"TREADLE_NUM_THREADS": "4", **(env or {})}
        self.whole = Child("treadle", "treadle", more, timeout)
        self.plain = Child("treadle", "treadle", {**more, "TREADLE_SKIP": skip}, timeout)

    @property
    def served(self) -> int:
        """How many requests the first of the processes has answered."""
        return self.whole.served

    def stop(self) -> None:
        """End both."""
        self.whole.stop()
        self.plain.stop()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer of the one that has found something, or of the first."""
        request = {"graphs": True, **request}
        answer = self.whole.ask(request)
        if answer["status"] != "ok" or request.get("schedules"):
            return answer
        other = self.plain.ask({**request, "quick": True})
        if other["status"] != "ok":
            return other | {"why": f"not fused: {other['why']}"}
        return answer
