"""Numbers of small types in compiled code: what docs/semantics.md says of them, against NumPy's own scalars where the two agree."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from treadle import njit, prange, vectorize

sys.path.insert(0, str(Path(__file__).parent))

from builtins_check import result_type  # noqa: E402

INTS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")


def values(dtype):
    info = np.iinfo(dtype)
    return np.array([info.min, info.min + 1, 0, 1, 5, info.max - 1, info.max], dtype)


@njit
def negated(x):
    return -x


def unary_everywhere(a, out):
    for i in prange(len(a)):
        out[i, 0] = ~a[i]
        out[i, 1] = -a[i]
        out[i, 2] = negated(a[i])
        out[i, 3] = ~~a[i]


@pytest.mark.parametrize("options", [{}, {"parallel": True}, {"promotion": "numba"}])
@pytest.mark.parametrize("dtype", INTS)
def test_unary_operators_stay_in_the_type(dtype, options):
    a = values(dtype)
    out = np.zeros((len(a), 4), dtype)
    njit(**options)(unary_everywhere)(a, out)
    assert (out == np.stack([~a, -a, -a, a], axis=1)).all()
    for x in a:
        for expression in ("~x", "-x", "+x", "-(-x)"):
            f = njit(eval(f"lambda x: {expression}"), **options)
            with np.errstate(over="ignore"):
                want = f.py_func(x)
            if expression == "-(-x)" and options.get("promotion"):
                continue  # Numba widens between the two
            assert f(x) == want, (expression, x)


@pytest.mark.parametrize("dtype", INTS)
def test_types_of_unary_operators(dtype):
    x = np.dtype(dtype).type(1)
    for expression in ("~a", "-a", "+a", "abs(a)"):
        assert result_type(expression, x) == x.dtype.name
    assert result_type("~a + 1", x) in ("int64", "uint64")
    wide = njit(lambda x: (-x, ~x), promotion="numba")
    wide(x)
    (ret,) = wide.overloads.values()
    assert str(ret) == "({0}, {0})".format("uint64" if dtype[0] == "u" else "int64")


def test_unary_operators_of_bools_and_literals():
    assert njit(lambda x: (-x, +x, ~x))(True) == (-1, 1, False)
    n = 2**63
    f = njit(lambda: (-n, -(n + 0.0)))
    assert f() == (-(2**63), -(2.0**63))
    m = 2**63 + 1
    assert njit(lambda x: x + -m)(0.5) == 0.5 - m
    one, wide = np.uint8(1), np.uint32(0)
    assert njit(lambda: (-one, ~one, ~wide))() == (255, 254, 2**32 - 1)


def test_unary_operators_in_ufuncs():
    for dtype in INTS:
        a = values(dtype)
        f, g = vectorize(lambda x: ~x), vectorize(lambda x: -x)
        assert (f(a).astype(dtype) == ~a).all() and f(a).dtype == a.dtype
        assert (g(a) == -a).all()
