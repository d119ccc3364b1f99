"""How the tests of library functions compare compiled code with CPython and NumPy: values, types and exceptions."""

from __future__ import annotations

import builtins
import cmath
import ctypes
import functools
import math
import struct
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from sizes import examples
from treadle import TreadleError, njit, typeof

NAMES = {"math": math, "cmath": cmath, "np": np}
LIBM = ctypes.CDLL("libm.so.6")

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-310, 1e300, -1e300, math.inf, -math.inf, math.nan]
floats = st.one_of(st.sampled_from(SPECIAL), st.floats(-1e6, 1e6), st.floats())
f32s = st.one_of(st.sampled_from(SPECIAL), st.floats(width=32)).map(np.float32)
ints = st.one_of(st.integers(-20, 20), st.integers(-(2**63), 2**63 - 1))


def given(*args: Any, **kwargs: Any) -> Any:
    """Hypothesis' ``given`` without a deadline: the first example of each expression compiles it."""

    def decorate(fn: Any) -> Any:
        return hypothesis.settings(deadline=None, max_examples=examples(60))(
            hypothesis.given(*args, **kwargs)(fn)
        )

    return decorate


@functools.cache
def compiled(expr: str, nargs: int, **options: Any) -> Any:
    """Compile ``lambda a, b, ...: expr`` for `nargs` arguments named from a on."""
    names = ", ".join("abcdefgh"[:nargs])
    return njit(**options)(eval(f"lambda {names}: {expr}", dict(NAMES)))


def run(expr: str, *args: Any, **options: Any) -> Any:
    """Call compiled `expr` on its arguments."""
    return compiled(expr, len(args), **options)(*args)


def result_type(expr: str, *args: Any) -> str:
    """Name of the type that `expr` has for these arguments in compiled code."""
    fn = compiled(expr, len(args))
    fn(*args)
    return str(fn.overloads[tuple(typeof(x) for x in args)])


def plain(expr: str, *args: Any) -> Any:
    """The same under CPython."""
    return eval(expr, {**NAMES, **dict(zip("abcdefgh", args))})


def ulps(x: float, y: float, width: int = 64) -> float:
    """Distance of two floats in units of the last place; 0 for equal ones and for two NaNs."""
    x, y = float(x), float(y)
    if x == y or (x != x and y != y):
        return 0
    if not (math.isfinite(x) and math.isfinite(y)):
        return math.inf
    code, word = ("<d", "<q") if width == 64 else ("<f", "<i")

    def order(v: float) -> int:
        (n,) = struct.unpack(word, struct.pack(code, v))
        return n if n >= 0 else -(n & (2 ** (width - 1) - 1))

    return abs(order(x) - order(y))


def close(got: Any, want: Any, ulp: float = 0, width: int = 64) -> None:
    """Equal types, and values within `ulp` units; with 0 the sign of a zero counts too."""
    if isinstance(want, tuple):
        assert isinstance(got, tuple) and len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            close(g, w, ulp, width)
        return
    if isinstance(want, np.ndarray):
        array_equal(got, want, ulp)
        return
    if isinstance(want, np.generic):
        width = 32 if want.dtype in (np.float32, np.complex64) else 64
        want = want.item()
    assert type(got) is type(want), (got, want)
    if isinstance(want, complex):
        close(got.real, want.real, ulp, width)
        close(got.imag, want.imag, ulp, width)
    elif isinstance(want, float):
        assert ulps(got, want, width) <= ulp, (got, want)
        if ulp == 0 and want == 0:
            assert math.copysign(1, got) == math.copysign(1, want), (got, want)
    else:
        assert got == want, (got, want)


def array_equal(got: Any, want: np.ndarray, ulp: float = 0) -> None:
    """Arrays of one dtype and shape with equal items."""
    assert isinstance(got, np.ndarray), got
    assert got.dtype == want.dtype and got.shape == want.shape, (got, want)
    if ulp and want.dtype.kind in "fc":
        for g, w in zip(got.ravel().tolist(), want.ravel().tolist(), strict=True):
            close(g, w, ulp, 32 if want.dtype in (np.float32, np.complex64) else 64)
    else:
        np.testing.assert_array_equal(got, want)


def check(expr: str, *args: Any, ulp: float = 0) -> Any:
    """Compiled code must agree with CPython; where that raises, compiled code must raise the same kind of exception."""
    with np.errstate(all="ignore"):
        try:
            want = plain(expr, *copies(args))
        except (ValueError, ZeroDivisionError, OverflowError, IndexError) as e:
            with pytest.raises(type(e)):
                run(expr, *args)
            return None
    got = run(expr, *copies(args))
    close(got, want, ulp)
    return got


def copies(args: tuple) -> list:
    """Arguments that may be written to."""
    return [a.copy(order="K") if isinstance(a, np.ndarray) else a for a in args]


def rejects(expr: str, *args: Any, match: str, error: type[Exception] = TreadleError) -> None:
    """Compiling fails with an error that says `match`."""
    with pytest.raises(error, match=match):
        run(expr, *args)


__all__ = [n for n in dir() if not n.startswith("_") and n not in dir(builtins)]
