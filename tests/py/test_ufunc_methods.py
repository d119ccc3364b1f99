"""reduce, accumulate and reduceat of NumPy's ufuncs in compiled code, and reduceat of the user's, against NumPy."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from library_arrays import arrays
from sizes import examples
from treadle import njit, vectorize

sys.path.insert(0, str(Path(__file__).parent))
from library_check import check, same  # noqa: E402

SETTINGS = settings(max_examples=examples(80), deadline=None, suppress_health_check=list(HealthCheck))
JOIN = ["add", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "logical_and", "logical_or"]
BITS = ["bitwise_xor", "gcd", "lcm", "left_shift", "right_shift"]
# What NumPy computes of small integers and truth values in float16 is float32 here, so those are left out for these.
FLOATS = ["divide", "hypot", "logaddexp", "logaddexp2", "float_power", "copysign", "heaviside"]
OTHERS = ["subtract", "fmin", "fmax", "remainder", "floor_divide", "fmod", "logical_xor"]
COMPARE = ["equal", "not_equal", "less", "greater_equal"]
KINDS = {"bits": "iuIqQ", "floats": "fd", "others": "hIqfdFD", "compare": "?"}
TOLERANCE = {"e": 5e-3, "f": 1e-5, "F": 1e-5}


def allowed(name: str, char: str) -> bool:
    """What both have for the type; a division by zero of integers is what the processor makes of it, in NumPy."""
    if name in ("remainder", "floor_divide", "fmod", "fmin", "fmax", "logical_xor"):
        return char not in "FD" and (name in ("fmin", "fmax", "logical_xor") or char in "efd")
    if name.startswith("bitwise"):
        return char not in "efdFD"
    if name in BITS:
        return char in "hiIqQ"
    if name in FLOATS:
        return char in "fd" or (char in "FD" and name == "divide")
    if name in COMPARE:
        return char == "?"
    if name in ("maximum", "minimum", "logical_and", "logical_or"):
        return char not in "FD"
    return not (name == "subtract" and char == "?")


def pick(data, a):
    name = data.draw(st.sampled_from([*JOIN, *JOIN, *BITS, *FLOATS, *OTHERS, *COMPARE]))
    return name if allowed(name, a.dtype.char) else "add"


@SETTINGS
@given(arrays(ndim=(1, 3), special=False), st.data())
def test_pieces(a, data):
    axis = data.draw(st.integers(-a.ndim, a.ndim - 1))
    n = a.shape[axis]
    at = np.array(
        data.draw(st.lists(st.integers(0, max(n - 1, 0)), max_size=6)),
        data.draw(st.sampled_from(["i8", "u1", "i4"])),
    )
    if n > 1 and data.draw(st.booleans()):
        at = at % 2 == 0  # the places 0 and 1
    name = pick(data, a)
    check(f"np.{name}.reduceat(a, b, {axis})", a, at, rtol=TOLERANCE.get(a.dtype.char, 1e-12))


@SETTINGS
@given(arrays(ndim=(1, 3), special=False), st.data())
def test_folds(a, data):
    name = data.draw(st.sampled_from([*BITS, *FLOATS, *OTHERS, *COMPARE]))
    if not allowed(name, a.dtype.char):
        return
    axis = data.draw(st.integers(-a.ndim, a.ndim - 1))
    rtol = TOLERANCE.get(a.dtype.char, 1e-12)
    check(f"np.{name}.reduce(a, {axis})", a, rtol=rtol)
    check(f"np.{name}.reduce(a, axis={axis}, keepdims=True)", a, rtol=rtol)
    check(f"np.{name}.accumulate(a, {axis})", a, rtol=rtol)
    if a.ndim > 1:
        check(f"np.{name}.reduce(a, (0, 1))", a, rtol=rtol)
    if name in ("gcd", "hypot", "logical_xor", "bitwise_xor", "fmax") and a.dtype.char != "?":
        check(f"np.{name}.reduce(a, {axis}, initial=3)", a, rtol=rtol)


def test_items_alone_are_what_they_were():
    """No identity takes part in a piece of one item: not in signs, not of zeros."""
    a = np.array([-0.0, -3.0, 2.0])
    for name in ("add", "multiply", "hypot", "maximum", "fmin", "subtract", "divide"):
        got = njit(eval(f"lambda a: np.{name}.reduceat(a, (0, 1, 2))"))(a)
        assert got.tobytes() == a.tobytes(), name
    assert check("np.hypot.reduce(a)", np.array([-3.0])) == 3.0


def test_out_and_dtype():
    a, at = np.arange(12.0).reshape(3, 4), np.array([0, 2, 1])
    check("np.add.reduceat(a, b, 1, None, c)", a, at, np.zeros((3, 3)))
    check("np.add.reduceat(a, b, axis=1, out=c)", a, at, np.zeros((3, 6))[:, ::2])
    check("np.add.reduceat(a, b, 0, np.float32)", a, at)
    check("np.add.reduceat(a, b, dtype=np.complex128)", a, at)
    check("np.maximum.reduce(a, dtype=np.float32)", a)
    check("np.subtract.reduce(a, dtype=np.float32)", a)
    check("np.subtract.accumulate(a, 1, np.float32)", a)
    check("np.logical_and.reduce(a, initial=False)", a)
    for bad in (np.zeros(3), np.zeros((3, 4))):
        assert isinstance(check("np.add.reduceat(a, b, 1, None, c)", a, at, bad), Exception)

    @njit
    def over_itself(a):
        return np.add.reduceat(a, (0, 2, 1, 3), out=a)

    want = np.add.reduceat(np.arange(4.0), (0, 2, 1, 3))
    assert over_itself(np.arange(4.0)).tolist() == want.tolist()


def test_bad():
    a = np.arange(6.0)
    for text in ("np.add.reduceat(a, (0, 6))", "np.add.reduceat(a, (-1, 2))", "np.add.reduceat(a, (0, 1), 1)", "np.add.reduceat(a[:0], (0,))",
                 "np.add.reduceat(a, a)", "np.subtract.reduce(a.reshape(2, 3), (0, 1))", "np.subtract.reduce(a[:0])", "np.fmax.reduce(a[:0])",
                 "np.subtract.reduce(a > 1)"):  # fmt: skip
        assert isinstance(check(text, a), Exception), text
    with pytest.raises(IndexError, match=r"index 7 out-of-bounds in add.reduceat \[0, 6\)"):
        njit(lambda a: np.add.reduceat(a, (0, 7)))(a)


@vectorize
def second(x, y):
    return x * 2 - y


@vectorize(["f8(f8, f8)"], identity=0)
def total(x, y):
    return x + y


@SETTINGS
@given(arrays("qdf", ndim=(1, 3), special=False), st.data())
def test_the_users(a, data):
    axis = data.draw(st.integers(-a.ndim, a.ndim - 1))
    at = np.array(data.draw(st.lists(st.integers(0, max(a.shape[axis] - 1, 0)), max_size=6)), "i8")
    for u in (second, total):  # noqa: B023 - each is called before the next is made
        f = njit(lambda a, b: u.reduceat(a, b, axis))
        try:
            want = u.reduceat(a, at, axis)
        except Exception as e:
            with pytest.raises(type(e)):
                f(a, at)
        else:
            same(f(a, at), want, f"{u} of {a!r} {at}")


def test_ways_in():
    a = np.random.default_rng(1).integers(0, 9, (40, 5000)).astype("f8")
    at = np.arange(0, 5000, 7)
    want = np.add.reduceat(a, at, 1)

    def f(a, at):
        return np.add.reduceat(a, at, 1)

    one = njit(f)

    @njit(nogil=True, fastmath=True, boundscheck=False)
    def calls(a, at):
        return one(a, at) + np.add.reduceat(a * 2, at, 1)

    for g in (one, njit(parallel=True)(f)):
        same(g(a, at), want, "reduceat")
    same(calls(a, at), 3 * want, "reduceat")
    r = a[::2, ::-1]
    r.flags.writeable = False
    same(one(r, at), np.add.reduceat(r, at, 1), "reduceat")
