"""What holds for every Python test.

The verifier and the round trip through text run after each pass (TREADLE_VERIFY). NumPy 1.26 is asked for the promotion
rules of NumPy 2 (NEP 50), because those are the rules compiled code follows with either.
"""

from __future__ import annotations

import os

import numpy as np

os.environ.setdefault("TREADLE_VERIFY", "1")  # read when treadle is first imported; subprocesses inherit it

if np.lib.NumpyVersion(np.__version__) < "2.0.0":
    np._set_promotion_state("weak")
