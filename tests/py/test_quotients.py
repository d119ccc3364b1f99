"""Quotients and remainders of arrays by a constant: in vectors they are upper halves of products, exact for any divisor and any item."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import njit

EDGES = sorted({s * (2**k + d) for k in range(64) for d in (-1, 0, 1) for s in (1, -1)})


def items(dtype, divisor):
    """Where a quotient changes, and the ends of the type."""
    t = np.iinfo(dtype)
    near = [
        m * divisor + d for m in (0, 1, 2, 3, 1000, 2**31, t.max // (abs(divisor) or 1)) for d in (-1, 0, 1)
    ]
    values = {v for v in [*EDGES, *near, *(-v for v in near), t.min, t.min + 1, t.max] if t.min <= v <= t.max}
    return np.array(sorted(values), dtype)


def check(dtype, divisor):
    a = items(dtype, divisor)
    f = eval(f"lambda a: (a // {divisor}, a % {divisor}, (a // {divisor}) * 2 + a)")
    got = njit(f)(a)
    for k, want in enumerate(([int(v) // divisor for v in a], [int(v) % divisor for v in a])):
        assert got[k].dtype == a.dtype
        assert got[k].tolist() == [v - 2**64 if v >= 2**63 and a.dtype.kind == "i" else v for v in want]
    assert got[2].tolist() == (got[0] * 2 + a).tolist()


@pytest.mark.parametrize("divisor", [1, -1, 2, 3, 5, 6, 7, 10, 100, 641, 1000, 2**31 - 1, 2**32, 2**32 + 1, 2**62, 2**62 + 1, 2**63 - 1, -2, -3, -7, -10,
                                     -(2**31), -(2**32) - 1, -(2**62), -(2**63) + 1])  # fmt: skip
def test_int64(divisor):
    check("i8", divisor)


@pytest.mark.parametrize(
    "divisor", [1, 2, 3, 5, 7, 10, 641, 2**32, 2**32 + 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1]
)
def test_uint64(divisor):
    check("u8", divisor)


@given(dtype=st.sampled_from(["i8", "u8", "i4", "u4", "i2", "i1"]), data=st.data())
@settings(max_examples=examples(60), deadline=None)
def test_any(dtype, data):
    t = np.iinfo(dtype)
    near = [v for v in EDGES if t.min < v <= t.max]
    divisor = data.draw(
        st.one_of(st.integers(int(t.min) + 1, int(t.max)), st.sampled_from(near)).filter(bool)
    )
    check(dtype, divisor)


def test_the_least_of_all():
    a = items("i8", 3)
    got = njit(lambda a: (a // -(2**63), a % -(2**63)))(a)
    assert got[0].tolist() == [int(v) // -(2**63) for v in a]
    assert got[1].tolist() == [int(v) % -(2**63) for v in a]


def test_layouts_and_lines():
    a = np.arange(-3000, 3000).reshape(60, 100)
    f = lambda a: ((a // 7).sum(), (a % 7).max(axis=0), a[::-1, ::3] // -9, (a.T // 11) * 0.5)  # noqa: E731
    for got, want in zip(njit(f)(a), f(a), strict=True):
        assert np.array_equal(got, want)


# --- floats, by 1, 2, 4... ---

FLOATS = sorted(
    {
        s * x
        for x in (
            *(2.0**k * (1 + d) for k in range(-5, 70, 3) for d in (0, 2.0**-52, -(2.0**-53), 0.5, 0.25)),
            *(k + d for k in range(9) for d in (0, 0.3, 0.5, 1e-15)),
            *(5e-324, 1e-323, 1.5e-323, 2.2e-308, 1e-310, 1e-20, 1e-16, 2.0**-53, 2.0**-54, 1e300, 1.797e308, math.inf),
        )
        for s in (1.0, -1.0)
    }
) + [0.0, -0.0, math.nan]  # fmt: skip


def by_python(x, c):
    """Quotient and remainder of CPython; of what is infinite nan, as NumPy's."""
    return (x // c, x % c, math.fmod(x, c)) if math.isfinite(x) else (math.nan,) * 3


def bits(values, dtype="f8"):
    a = np.array(values, dtype)
    return np.where(np.isnan(a), np.nan, a).view(f"u{a.itemsize}").tolist()


@pytest.mark.parametrize(
    "c", [1.0, 2.0, 4.0, 1024.0, 2.0**62, 2.0**63, 2.0**64, 2.0**70, 0.5, -1.0, -2.0, 3.0]
)
def test_floats(c):
    want = [list(x) for x in zip(*(by_python(x, c) for x in FLOATS))]
    f = eval(f"lambda x: (x // {c!r}, x % {c!r}, math.fmod(x, {c!r}))")
    g = eval(
        f"lambda a: (a // {c!r}, a % {c!r}, np.fmod(a, {c!r}), np.floor_divide(a, {c!r}), np.mod(a, {c!r}), *np.divmod(a, {c!r}))"
    )
    one = njit(error_model="numpy")(f)
    got = [list(x) for x in zip(*(one(x) for x in FLOATS if not math.isinf(x)))]
    finite = [i for i, x in enumerate(FLOATS) if not math.isinf(x)]
    for k in range(3):
        assert bits(got[k]) == bits([want[k][i] for i in finite])
    many = njit(g)(np.array(FLOATS))
    for k, w in enumerate((0, 1, 2, 0, 1, 0, 1)):
        assert bits(many[k]) == bits(want[w]), k


@pytest.mark.parametrize("c", [1, 2, 8])
def test_float32(c):
    with np.errstate(all="ignore"):
        a = np.unique(np.array(FLOATS).astype("f4"))
        a = np.concatenate([a, -np.array([0, 1e-45, 3e-45], "f4")])
        got = njit(eval(f"lambda a: (a // {c}, a % {c}, np.fmod(a, {c}))"))(a)
        for x, y in zip(got, (a // np.float32(c), a % np.float32(c), np.fmod(a, np.float32(c)))):
            assert x.dtype == np.float32 and bits(x, "f4") == bits(y, "f4")


@given(x=st.floats(), k=st.integers(0, 70))
@settings(max_examples=examples(60), deadline=None)
def test_any_float(x, k):
    c = 2.0**k
    a = np.array([x])
    got = njit(eval(f"lambda a: (a // {c!r}, a % {c!r}, np.fmod(a, {c!r}))"))(a)
    assert [bits(y) for y in got] == [bits([y]) for y in by_python(x, c)]
