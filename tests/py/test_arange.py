"""np.arange against NumPy's, bit for bit: lengths, float steps, signed zeros, what vanishes and what is too large."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from builtins_check import given, run  # noqa: E402

EXPRS = ["np.arange(a)", "np.arange(a, b)", "np.arange(a, b, c)"]
DTYPES = ["", ", dtype=np.float32", ", dtype=np.float64", ", dtype=np.int64"]
LONG = 20_000
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.1,
    -0.1,
    0.3,
    1e-3,
    1e17,
    1e-320,
    5e-324,
    1e308,
    -1e308,
    math.inf,
    -math.inf,
    math.nan,
]
SPECIAL += [2.0**53, 2.0**53 + 2, 1 / 3, 7.7]
floats = st.one_of(st.sampled_from(SPECIAL), st.floats(-20, 20), st.floats(-1e-3, 1e-3))
ints = st.one_of(st.integers(-20, 20), st.integers(-(2**53), 2**53))
f32s = st.one_of(st.sampled_from([0.0, -0.0, 0.1, 1.5, -2.25, 1e-40]), st.floats(-9, 9, width=32)).map(
    np.float32
)


def too_long(args):
    """More items than a test should make; NumPy would, or would raise for lack of memory."""
    start, stop, step = [0, *args, 1][:3] if len(args) == 1 else [*args, 1][:3]
    with np.errstate(all="ignore"):
        n = np.float64(stop) / np.float64(step) - np.float64(start) / np.float64(step)
        span = (np.float64(stop) - np.float64(start)) / np.float64(step)
    return LONG < n < 1e19 or LONG < span < 1e19


def outcome(make):
    try:
        with np.errstate(all="ignore"):
            return make()
    except (ValueError, ZeroDivisionError) as e:
        return type(e), str(e)


def agree(expr, args):
    if too_long(args):
        return
    want = outcome(lambda: eval(expr, {"np": np, **dict(zip("abc", args))}))
    got = outcome(lambda: run(expr, *args))
    if isinstance(want, tuple) or isinstance(got, tuple):
        assert got == want, (expr, args, got, want)
        return
    assert got.dtype == want.dtype and got.shape == want.shape, (expr, args, got, want)
    if want.dtype.kind == "f":
        want[np.isnan(want)] = got[np.isnan(got)] = math.nan
    assert got.tobytes() == want.tobytes(), (expr, args, got, want)


@pytest.mark.parametrize("dtype", DTYPES[:3])
@pytest.mark.parametrize("n", [1, 2, 3])
@given(data=st.data())
def test_floats_and_integers(dtype, n, data):
    agree(EXPRS[n - 1][:-1] + dtype + ")", data.draw(st.tuples(*[st.one_of(floats, ints)] * n)))


@pytest.mark.parametrize("n", [1, 2, 3])
@given(data=st.data())
def test_integers(n, data):
    for dtype in DTYPES:
        agree(EXPRS[n - 1][:-1] + dtype + ")", data.draw(st.tuples(*[ints] * n)))


@pytest.mark.parametrize("n", [1, 2, 3])
@given(data=st.data())
def test_numbers_of_32_bits(n, data):
    ints = st.integers(-9, 9).map(np.int64)  # an argument's type is strong; Python's own int is weak in NumPy
    args = data.draw(st.tuples(*[st.one_of(f32s, ints)] * n))
    if n < 3 or args[2] != 0:  # NumPy's own scalars do not raise
        agree(EXPRS[n - 1], args)


@pytest.mark.parametrize(
    "args",
    [
        (-0.0, 3.0),
        (-0.0, 1.0, 5.0),
        (0.0, 5e-324, 10.0),
        (0.0, -5e-324, 10.0),
        (0.1, 1.0, math.inf),
        (0.1, 1.0, -math.inf),
        (0.0, 1.0, 0.1),
        (1.0, 0.0, -0.1),
        (0, 10, 0.7),
        (10, 0, -3),
        (5, 5),
        (5, 1),
        (0.0, math.nan),
        (0.0, math.inf),
        (0.0, -math.inf),
        (0.0, 1.0, 0.0),
        (0, 1, 0),
        (2**53, 2**53 + 8, 2),
        (-(2**63), 2**63 - 1, 2**62),
        (2**63 - 1, -(2**63), -(2**62) - 5),
    ],
)
def test_edges(args):
    agree(EXPRS[len(args) - 1], args)


def test_integers_beyond_2_53_are_exact():
    """NumPy rounds the quotient to 2.0 here."""
    got = run("np.arange(a, b, c)", 0, 2**62 + 1, 2**61)
    assert got.tolist() == [0, 2**61, 2**62]
