"""What holds for every Python test.

The verifier and the round trip through text run after each pass (TREADLE_VERIFY). NumPy 1.26 is asked for the promotion
rules of NumPy 2 (NEP 50), because those are the rules compiled code follows with either.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

os.environ.setdefault("TREADLE_VERIFY", "1")  # read when treadle is first imported; subprocesses inherit it

if np.lib.NumpyVersion(np.__version__) < "2.0.0":
    np._set_promotion_state("weak")

import treadle  # noqa: E402


@pytest.fixture(params=sorted({1, treadle.get_num_threads()}))
def threads(request):
    """Runs a test on one thread and on all."""
    before = treadle.get_num_threads()
    treadle.set_num_threads(request.param)
    yield request.param
    treadle.set_num_threads(before)
