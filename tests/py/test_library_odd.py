"""Arguments that are seldom given: counts for each item, several axes, masks, what is too large, empty or of another kind."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import treadle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from library_arrays import arrays
from sizes import examples
from treadle import njit

sys.path.insert(0, str(Path(__file__).parent))
from library_check import check, check_python, compiled  # noqa: E402

SETTINGS = settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))

new = pytest.mark.skipif(np.__version__.startswith("1."), reason="results are NumPy 2's")


@SETTINGS
@given(arrays(ndim=(1, 3)), st.integers(0, 10**6), st.sampled_from(["i8", "u1", "i4", "?"]))
def test_repeat_by_counts(a, seed, dtype):
    rng = np.random.default_rng(seed)
    axis = int(rng.integers(-a.ndim, a.ndim))
    counts = rng.integers(0, 2 if dtype == "?" else 4, 1 if rng.integers(4) == 0 else a.shape[axis]).astype(
        dtype
    )
    check(f"np.repeat(a, b, {axis})", a, counts)
    check(f"a.repeat(b, axis={axis})", a, counts[::-1])
    flat = rng.integers(0, 3, a.size).astype(dtype)
    check("np.repeat(a, b)", a, flat)


def test_counts():
    a, m = np.arange(6.0), np.arange(6.0).reshape(2, 3)
    for text in (
        "np.repeat(a, (1, 2, 3, 0, 1, 0))",
        "np.repeat(a, [2])",
        "np.repeat(a, np.array(2))",
        "np.repeat(a[2], (3,))",
        "np.repeat(a[:0], (3,))",
    ):
        check(text, a)
    for text in (
        "np.repeat(a, (1, 2))",
        "np.repeat(a, (1, -1, 0, 0, 0, 0))",
        "np.repeat(a, a)",
        "np.repeat(a[:1], a[:0])",
        "np.repeat(a, -1)",
        "np.repeat(a, (1, 2), 1)",
    ):
        assert isinstance(check(text, a), Exception), text
    for text in ("np.repeat(a, np.ones((2, 3), np.int64), 0)", "np.repeat(a, np.ones(2, np.uint64), 0)"):
        with pytest.raises(treadle.TypingError, match="integers along one axis"):
            compiled(text)[1](m)
    with pytest.raises(ValueError, match="sum of repeats"):  # NumPy ends the process
        njit(lambda a, n: np.repeat(a, n))(a[:4], np.full(4, 2**62))
    x = np.random.default_rng(1).random((300, 200))
    n = np.arange(200) % 5
    for f in (
        njit(lambda x, n: np.repeat(x * 2, n, 1)),
        njit(parallel=True)(lambda x, n: np.repeat(x * 2, n, 1)),
    ):
        np.testing.assert_array_equal(f(x, n), np.repeat(x * 2, n, 1))


@new
@SETTINGS
@given(arrays("iqefd", ndim=(1, 4), least=1, most=4), st.integers(0, 10**6))
def test_quantiles_over_axes(a, seed):
    rng = np.random.default_rng(seed)
    axes = tuple(
        int(k)
        for k in rng.permutation(a.ndim)[: rng.integers(1, a.ndim + 1)] - (a.ndim if rng.integers(2) else 0)
    )
    keep = bool(rng.integers(2))
    rtol = {"e": 5e-3, "f": 1e-6}.get(a.dtype.char, 1e-14)
    check(f"np.percentile(a, 30, axis={axes}, keepdims={keep})", a, rtol=rtol, atol=rtol)
    check(
        f"np.quantile(a, b, axis={axes}, keepdims={keep}, method='lower')", a, np.array([0.2, 0.9]), rtol=rtol
    )
    if a.dtype.kind == "f":
        check(f"np.nanquantile(a, 0.5, axis={axes}, keepdims={keep})", a, rtol=rtol, atol=rtol)


def test_axes_of_quantiles():
    m = np.random.default_rng(2).random((2, 3, 4))
    check("np.quantile(a, 0.5, axis=(0, 1), out=b)", m, np.zeros(4))
    check("np.quantile(a, 0.5, axis=(0, 1), keepdims=True, out=b)", m, np.zeros((1, 1, 4)))
    check("np.quantile(a, 0.5, axis=())", m)
    check_python("np.quantile(a, 0.5, axis=(0, -1), keepdims=True)", m)
    for text in ("np.quantile(a, 0.5, axis=(1, 1))", "np.quantile(a, 0.5, axis=(1, 5))"):
        assert isinstance(check(text, m), Exception), text


@new  # NumPy 1 took truth values for places
def test_masks_for_insert():
    a, m = np.arange(6.0), np.arange(6.0).reshape(2, 3)
    for text in (
        "np.insert(a, a > 2, 9.0)",
        "np.insert(a, a > 2, a[:3])",
        "np.insert(a, a > 4, 1.0)",
        "np.insert(a, a > 9, 1.0)",
    ):
        check(text, a)
    check("np.insert(a, b, 1.0, axis=1)", m, np.array([True, False, True]))
    check_python("np.insert(a, a > 2, 9.0)", a)
    with pytest.raises(ValueError, match="boolean array argument"):
        compiled("np.insert(a, a[:2] > 0, 1.0)")[1](a)


def test_far_off_and_too_large():
    i = np.arange(4)
    for text in (
        "np.tril_indices(3, a)",
        "np.triu_indices(3, a)",
        "np.tril_indices(3, a, 5)",
        "np.triu_indices(3, a, 2)",
    ):
        for k in (2**63 - 1, 2**62, -(2**62), 3, -3, 0):
            check(text, k)
    assert [len(x) for x in compiled("np.tril_indices(3, a)")[1](-(2**63))] == [0, 0]
    assert [len(x) for x in compiled("np.triu_indices(3, a)")[1](-(2**63))] == [9, 9]
    for text in ("np.ravel_multi_index((a, a), (2**40, 2**40))", "np.ravel_multi_index((a, a), (0, 5), 'clip')", "np.ravel_multi_index((a, a), (0, 5), 'wrap')",
                 "np.ravel_multi_index((a, a), (5, 0))", "np.tile(a, -1)", "np.tile(a, (2, -1))"):  # fmt: skip
        assert isinstance(check(text, i), ValueError), text
    check("np.ravel_multi_index((a, a), (2**31, 2**31))", i)
    check("np.ravel_multi_index((a[:0], a[:0]), (0, 5), 'clip')", i)
    check("np.tile(a, 0)", i)


def test_other_kinds():
    a = np.arange(6.0)
    for text in ("np.convolve(a, a, 'bogus')", "np.correlate(a, a, 'bogus')", "np.split(a, 2.5)", "np.split(a, a)", "np.split(a, -1)", "np.split(a, 4)",
                 "np.array_split(a, 0)"):  # fmt: skip
        assert isinstance(check(text, a), Exception), text
    for text, what in (
        ("np.split(a, 2.5)", "is an integer"),
        ("np.random.random(True)", "a shape is made of integers"),
        ("np.random.random((True, 2))", "a shape is made of integers"),
        ("np.zeros(True)", "a shape is made of integers"),
        ("np.random.normal(0, 1, False)", "a shape is made of integers"),
    ):
        with pytest.raises(treadle.TypingError, match=what) as e:
            compiled(text)[1](*[a][: "(a" in text])
        assert "treadle/_library" not in str(e.value)
    with pytest.raises(ValueError, match="mode must be one of"):
        compiled("np.convolve(a, a, 'bogus')")[1](a)
