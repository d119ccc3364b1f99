"""Loops over a prange beside the same function run by Python."""

from __future__ import annotations

import contextlib

import numpy as np
import treadle
from treadle import njit


def parallel(fn):
    return njit(parallel=True)(fn)


def check(f, *args, rel=1e-12):
    """Compare results and what is written into arrays with Python's."""
    mine = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    theirs = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    with np.errstate(all="ignore"):
        want = f.py_func(*theirs)
    got = f(*mine)
    for g, w in [
        *zip(mine, theirs, strict=True),
        *(zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]),
    ]:
        if want is not None or g is not got:
            np.testing.assert_allclose(g, w, rtol=rel, atol=0)


@contextlib.contextmanager
def no_array_lost(least=0):
    """What compiled code makes inside is freed again; it makes at least so many arrays."""
    before = treadle.stats()
    yield
    after = treadle.stats()
    made = after["arrays_allocated"] - before["arrays_allocated"]
    assert made >= least and made == after["arrays_freed"] - before["arrays_freed"]
