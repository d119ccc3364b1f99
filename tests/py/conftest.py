"""What holds for every Python test: the verifier and the round trip through text after each pass (TREADLE_VERIFY)."""

from __future__ import annotations

import os

os.environ.setdefault("TREADLE_VERIFY", "1")  # read when treadle is first imported; subprocesses inherit it
