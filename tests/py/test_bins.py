"""np.bincount and np.histogram against NumPy: results, dtypes, edges and errors."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from treadle import TypingError, njit

sys.path.insert(0, str(Path(__file__).parent))
from builtins_check import rejects, run  # noqa: E402

NUMPY2 = np.lib.NumpyVersion(np.__version__) >= "2.0.0"
HISTOGRAMS = {
    "ten": lambda a, n: np.histogram(a),
    "n": lambda a, n: np.histogram(a, n),
    "n of a range": lambda a, n: np.histogram(a, n, (-1.0, 2.0)),
    "of integers": lambda a, n: np.histogram(a, bins=n, range=(0, 3)),
    "of one number": lambda a, n: np.histogram(a, n, range=(1, 1)),
    "density": lambda a, n: np.histogram(a, n, density=True),
    "weights": lambda a, n: np.histogram(a, n, weights=a),
    "edges": lambda a, n: np.histogram(a, np.arange(n + 1) / 2 - 1),
    "edges, some equal": lambda a, n: np.histogram(a, np.arange(n + 1) // 2),
    "edges, density": lambda a, n: np.histogram(a, np.arange(n + 1) / 4, density=True),
    "edges, weights": lambda a, n: np.histogram(a, np.arange(n), weights=a // 1),
    "edges of float32": lambda a, n: np.histogram(a, np.arange(n).astype(np.float32) / 10),
    "edges, a few": lambda a, n: np.histogram(a, (-1.0, 0.5, 2)),
}


def outcome(f: Any, *args: Any) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return f(*args)
        except Exception as e:
            return f"{type(e).__name__}: {e}".split("\n")[0]


def same(x: Any, y: Any, exact: bool) -> None:
    if isinstance(x, str) or isinstance(y, str):
        assert x == y
        return
    for mine, theirs in zip(x, y, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs, rtol=0 if exact else 1e-6)


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("name", HISTOGRAMS)
def test_histograms(name: str, parallel: bool) -> None:
    plain, rng = HISTOGRAMS[name], np.random.default_rng(3)
    ours = njit(parallel=parallel)(plain)
    some = name.startswith("edges") and parallel
    half = ("f2",) if NUMPY2 else ()  # NumPy 1 computes their edges in float64
    for dtype in ("f8", "u1") if some else ("f8", "f4", *half, "i8", "u1", "i2"):
        for size in (0, 1, 7, 1000):
            for n in (1, 10, 97):
                for items in (
                    rng.standard_normal(size) * 3,
                    np.round(rng.standard_normal(size), 1),  # many lie on an edge
                    rng.integers(0, 5, size) / 10,
                ):
                    a = (items if dtype[0] == "f" else np.abs(items) * 10).astype(dtype)
                    exact = name not in ("density", "weights", "edges, density")
                    same(outcome(ours, a, n), outcome(plain, a, n), exact)


@pytest.mark.parametrize("parallel", [False, True])
def test_bincounts(parallel: bool) -> None:
    rng = np.random.default_rng(4)
    count = njit(parallel=parallel)(lambda x: np.bincount(x))
    more = njit(parallel=parallel)(lambda x, w, n: np.bincount(x, w, n))
    for dtype in ("i8", "u1", "i2", "?", "u4"):
        for size in (0, 1, 1000, 30_000):
            x = rng.integers(0, 2 if dtype == "?" else 100, size).astype(dtype)
            for y in (x, x[::-3]):
                same([count(y)], [np.bincount(y)], True)
                for w in (rng.random(y.size), rng.integers(0, 9, y.size), rng.random(y.size).astype("f4")):
                    for n in (0, 3, 300):
                        # Without items NumPy's is int64, with weights too; a type cannot depend on a length here.
                        theirs = np.bincount(y, w, n).astype("f8")
                        same([more(y, w, n)], [theirs], False)


@pytest.mark.parametrize("parallel", [False, True])
def test_many_small_numbers(parallel: bool) -> None:
    """What is counted in one walk, up to an item that is not small, and the rest in two."""
    rng = np.random.default_rng(8)
    count = njit(parallel=parallel)(lambda x, n: np.bincount(x, minlength=n))
    worth, few = 1 << 16, 1 << 12  # as in lib/npbins.c
    for size in (worth - 1, worth, worth + 1, worth + 13):
        for least in (0, 7, few + 1, few + 900):
            x = rng.integers(0, 50, size)
            same([count(x, least)], [np.bincount(x, minlength=least)], True)
            for at in (0, 5, 8, 40_001, size - 3, size - 1):
                for large in (few - 1, few, few + 1, 3 * few, -1, -(2**63)):
                    y = x.copy()
                    y[at] = large
                    mine = outcome(lambda y: [count(y, least)], y)
                    theirs = outcome(lambda y: [np.bincount(y, minlength=least)], y)
                    same(mine, theirs, True)
    x = rng.integers(0, few, 3 * worth)
    for y in (x[::2], x[::-1], x[5:], np.sort(x), x.astype("i4"), x * 3):
        same([count(y, 0)], [np.bincount(y)], True)
    x.setflags(write=False)
    same([count(x, 0)], [np.bincount(x)], True)


@pytest.mark.parametrize("parallel", [False, True])
def test_bytes(parallel: bool) -> None:
    """Bytes are counted at once, whatever there is of them."""
    rng = np.random.default_rng(9)
    count = njit(parallel=parallel)(lambda x, n: np.bincount(x, minlength=n))
    for size in (0, 1, 13, 1023, 1024, 1025, 70_001):
        for most in (1, 7, 256):
            x = rng.integers(0, most, size).astype("u1")
            for least in (0, 5, 256, 400):
                for y in (x, np.sort(x), x[::-2], x[3:]):
                    same([count(y, least)], [np.bincount(y, minlength=least)], True)
    x.setflags(write=False)
    h = count(x, 0)
    assert h.flags.writeable and h.flags.c_contiguous
    assert outcome(lambda x: [count(x, -1)], x) == outcome(lambda x: [np.bincount(x, minlength=-1)], x)


def test_layouts_and_sequences() -> None:
    a = np.random.default_rng(5).standard_normal((6, 4, 2))
    for b in (a, a.T, a[::2, ::-1], np.asfortranarray(a)):
        same(run("np.histogram(a, 5)", b), np.histogram(b, 5), True)
        same(run("np.histogram(a, 5, weights=a * a)", b), np.histogram(b, 5, weights=b * b), False)
    same([run("np.bincount((1, 2, 2))")], [np.bincount((1, 2, 2))], True)
    a.setflags(write=False)
    same(run("np.histogram(a, 5)", a), np.histogram(a, 5), True)


def test_errors() -> None:
    i, f = np.array([1, 2]), np.array([1.0, 2.0])
    for expr, args in (
        ("np.bincount(a)", (-i,)),
        ("np.bincount(a, b)", (i, np.zeros(3))),
        ("np.bincount(a, None, b)", (i, -1)),
        ("np.bincount(a)", (np.array([2**62]),)),
        ("np.histogram(a, b)", (f, 0)),
        ("np.histogram(a, b)", (f, -3)),
        ("np.histogram(a)", (f * np.nan,)),
        ("np.histogram(a)", (f * np.inf,)),
        ("np.histogram(a, 3, (b, 1.0))", (f, 2.0)),
        ("np.histogram(a, 3, (b, 1.0))", (f, -np.inf)),
        ("np.histogram(a, weights=b)", (f, np.ones(3))),
        *([("np.histogram(a, b)", (np.array([1.0, 1.0 + 4e-16]), 50))] if NUMPY2 else []),
    ):
        mine = outcome(run, expr, *args)
        theirs = outcome(eval(f"lambda a, b=None: {expr}", {"np": np}), *args)
        assert isinstance(theirs, str) and mine == theirs, (expr, mine, theirs)
    rejects("np.bincount(a)", f, match="x cannot be float64")
    rejects("np.bincount(a, a + 1j)", i, match="weights cannot be complex128")
    rejects("np.bincount(a)", i[None], match="x must have one dimension, not 2")
    rejects("np.bincount(a, None, 2.5)", i, match="minlength")
    for edges in ([1.0, 0.5], [0.0, 1.0, 0.5, 2.0]):
        with pytest.raises(ValueError, match="`bins` must increase monotonically, when an array"):
            run("np.histogram(a, b)", f, np.array(edges))
    with pytest.raises(ValueError, match="at least one edge"):
        run("np.histogram(a, b)", f, np.zeros(0))
    odd = np.array([np.nan, -np.inf, np.inf, 1.0, 0.0])
    for edges in ([0.0], [0.0, np.inf], [-np.inf, 0.0, 1.0], [0.0, 0.0], [1.0, 1.0, 2.0]):
        same(run("np.histogram(a, b)", odd, np.array(edges)), np.histogram(odd, np.array(edges)), True)
    rejects("np.histogram(a, a[None])", f, match="bins must have one dimension, not 2")
    rejects("np.histogram(a, 'auto')", f, match="bins")
    rejects("np.histogram(a + 1j)", f, match="a cannot be complex128")
    rejects("np.histogram(a, 3, 4.0)", f, match="range must be a tuple of two numbers")
    rejects("np.histogram(a, weights=a[None])", f, match="same shape")
    with pytest.raises(TypingError):
        njit(lambda a: np.histogram(a, 3, (0.0, "x")))(f)
