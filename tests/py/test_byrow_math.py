"""Chains of rows with exponentials in them (src/opt/pattern/byrow.c): short rows go by blocks, where what is stored is reduced behind it, long ones one by one; bits are those of the statements one by one."""

from __future__ import annotations

import numpy as np
import pytest
from treadle import njit

MANY = 1 << 17  # elements from which on a chain goes by rows


def softmax(x):
    e = np.exp(x - x.max(axis=1)[:, None])
    return e / e.sum(axis=1)[:, None]


def scores(x, y):
    """What is stored has two readers, one of which is a reduction, and two things are reduced."""
    e = np.exp(x) * y[None, :]
    s = e.sum(axis=1)
    return e / s[:, None], s


def log_sum(x):
    m = x.max(axis=1)
    return m + np.log(np.exp(x - m[:, None]).sum(axis=1))


def spread(x):
    """Two reductions of one array, and the number of the row."""
    e = np.tanh(x + np.arange(x.shape[0])[:, None] % 3)
    return e - e.max(axis=1)[:, None] + e.sum(axis=1)[:, None]


LENGTHS = [1, 2, 5, 8, 9, 10, 13, 16, 17, 25, 31, 32, 33, 70]


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("f", [softmax, scores, log_sum, spread])
def test_bits(f, dtype, n):
    """A thousand rows at a time, which are too few for blocks, have the bits of all rows at once, on one core and all."""
    rng = np.random.default_rng(n)
    rows = MANY // n + 500
    x = rng.normal(size=(rows, n)).astype(dtype)
    args = (rng.uniform(0.5, 1.5, n).astype(dtype),) if f is scores else ()
    one, many = njit(f), njit(parallel=True)(f)
    got = one(x, *args)
    for part, whole, other in zip(
        got if isinstance(got, tuple) else (got,),
        f(x, *args) if isinstance(got, tuple) else (f(x, *args),),
        many(x, *args) if isinstance(got, tuple) else (many(x, *args),),
        strict=True,
    ):
        np.testing.assert_array_equal(part, other)
        scale = np.abs(whole).max()
        np.testing.assert_allclose(part, whole, rtol=0, atol=(1e-5 if dtype == "f4" else 1e-13) * scale)
    if f is not spread:  # whose rows know their number
        few = [one(np.ascontiguousarray(x[i : i + 300]), *args) for i in range(0, 900, 300)]
        for k in range(2 if f is scores else 1):
            parts = np.concatenate([p[k] if f is scores else p for p in few])
            np.testing.assert_array_equal(parts, (got[k] if f is scores else got)[:900])


@pytest.mark.parametrize(
    "lie", [lambda a: a[:, ::-1], np.asfortranarray, lambda a: np.repeat(a, 2, 1)[:, ::2]]
)
def test_however_rows_lie(lie):
    x = np.random.default_rng(0).normal(size=(MANY // 12, 12))
    np.testing.assert_allclose(njit(softmax)(lie(x)), softmax(lie(x)), rtol=1e-13)


def test_no_rows_and_no_items():
    assert njit(softmax)(np.empty((0, 12))).shape == (0, 12)
    with pytest.raises(ValueError, match="zero-size"):
        njit(softmax)(np.empty((3, 0)))
