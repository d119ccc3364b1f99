"""numpy.unique, isin, intersect1d and their like (treadle/_library/sets.py) against NumPy's."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import njit

sys.path.insert(0, str(Path(__file__).parent))
from library_check import check, check_python  # noqa: E402

pytestmark = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="results are NumPy 2's, with either NumPy"
)

I = np.arange(24)  # noqa: E741
M = np.arange(24.0).reshape(4, 6)
T = np.arange(24).reshape(2, 3, 4)
r = np.random.default_rng(3)
F = np.array([3.0, 1, np.nan, 2, 1, np.nan, -0.0, 0.0])
K = r.integers(0, 6, 20)
C = np.array([1 + 1j, 1, 2j, 1 + 1j, 1, complex(np.nan, 1)])
CASES = [("np.unique(a)", x) for x in (F, K, C, T, K > 2, K.astype("f4"), K[:0], F[:0], K.astype("u1")[::2])]
CASES += [
    (f"np.unique(a,{o})", x)
    for x in (F, K.reshape(4, 5), K[:0])
    for o in (
        "True",
        "return_counts=True",
        "return_inverse=True",
        "True,True,True",
        "equal_nan=False",
        "True,False,True,equal_nan=False",
    )
]
CASES += [
    ("np.unique(5)",),
    ("np.unique((3,1,3))",),
]
for x, y in (
    (K, I[3:9]),
    (F, F[2:]),
    (K, F),
    (K[:0], F),
    (C, C[1:3]),
    (K.reshape(4, 5), I[2:4].astype("i1")),
    (K, K[:0]),
    (K > 2, K[:1] > 9),
    (K.astype("u8"), K - 3),
):
    for t in (
        "np.union1d(a,b)",
        "np.intersect1d(a,b)",
        "np.intersect1d(a,b,return_indices=True)",
        "np.setxor1d(a,b)",
        "np.setdiff1d(a,b)",
        "np.isin(a,b)",
        "np.isin(a,b,invert=True)",
        "np.setdiff1d(a,b,True)",
    ):
        CASES.append((t, x, y))
CASES += [
    ("np.intersect1d(a,b,True)", I[:5], I[3:9]),
    ("np.intersect1d(a,b,True,True)", I[:5][::-1], I[3:9]),
    ("np.setxor1d(a,b,assume_unique=True)", I[:5][::-1], I[3:9]),
    ("np.isin(a,b,kind='sort')", K, I[:3]),
    ("np.isin(a,b,kind='table')", K, I[:3]),
    ("np.isin(a,b,kind='table')", F, I[:3]),
    ("np.isin(a,b,kind='x')", K, I[:3]),
    ("np.isin(a,b)", K * 10**12, I * 10**12),
    ("np.isin(a,b)", I * 1.5, np.tile(I, 3) * 3.0),
    ("np.isin(3,a)", I),
    ("np.isin(a,3)", I),
    ("np.isin(a,[1,2,77])", M),
    ("np.isin(a,b,kind='table')", K, K[:0]),
    ("np.isin(a,b)", np.array([2**63, 5], "u8"), np.array([-1, 5])),
    ("np.isin(a,b)", np.tile(C, 5), np.tile(C[:4], 9)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0])
def test_cases(case):
    check(*case)
    check_python(*case)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_isin(data):
    """In tables of values, in tables of bits, and one after the other."""
    some = st.lists(st.integers(-20, 20), max_size=60)
    x, y = np.array(data.draw(some), dtype=np.int64), np.array(data.draw(some), dtype=np.int64)
    check("np.isin(a, b)", x, y)
    check("np.isin(a, b, kind='sort')", x, y)
    check("np.isin(a, b)", x * 10**15, y * 10**15)
    check("np.isin(a, b)", x / 7, y / 7)
    check("np.setdiff1d(a, b)", x, y)
    check("np.setxor1d(a, b)", x, y)
    check("np.intersect1d(a, b, return_indices=True)", x, y)


def test_many():
    r = np.random.default_rng(5)
    x, y = r.integers(0, 2**62, 3000), r.integers(0, 2**62, 2000)
    y[::3] = x[: len(y[::3])]
    check("np.isin(a, b)", x, y)
    check("np.isin(a, b)", x.astype("f8"), y.astype("f8"))
    check("np.isin(a, b)", x.astype("u8"), y.astype("u8"))
    check("np.isin(a, b)", x.astype("f4"), y.astype("f4"))
    check("np.unique(a, True, True, True)", x % 100)


def test_it_runs_in_compiled_code_of_its_own():
    f = njit(lambda a: np.unique(a)[np.isin(np.unique(a), (1, 5))].sum())
    assert f(np.array([5, 1, 1, 7])) == 6


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_whole_numbers_that_lie_close_together(dtype):
    """They are found by a table; others, and few, are sorted. The ends of the type, and beyond what int64 holds, too."""
    t = np.iinfo(dtype)
    f = njit(lambda a: np.unique(a))
    g = njit(parallel=True)(lambda a, b: (np.unique(a), np.union1d(a, b), np.intersect1d(a, b)))
    rng = np.random.default_rng(1)
    for n in (0, 1, 2, 63, 64, 65, 200, 3000):
        for width in (1, 2, 50, n, 2 * n, 2 * n + 1, 2 * n + 2, 2**62):
            width = max(1, min(width, t.max))
            for first in (t.min, 0, t.max - width + 1):
                a = rng.integers(first, first + width, n, dtype, endpoint=False)
                if n > 1:
                    a[0], a[-1] = first, first + width - 1
                for view in (a, a[::-2], np.broadcast_to(a, (2, n))):
                    got, want = f(view), np.unique(view)
                    assert got.dtype == want.dtype
                    np.testing.assert_array_equal(got, want)
                b = a[: n // 2] // 2
                np.testing.assert_equal(g(a, b), (np.unique(a), np.union1d(a, b), np.intersect1d(a, b)))
    frozen = np.arange(100).astype(dtype) % 7
    frozen.flags.writeable = False
    assert njit(lambda: np.unique(frozen))().tolist() == list(range(7))
