"""Arrays of every dtype, rank and layout for property tests, and how compiled code is compared with NumPy on them."""

from __future__ import annotations

import builtins
import sys
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from builtins_check import compiled, plain  # noqa: E402
from sizes import examples

BOOL = [np.bool_]
INTS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FLOATS = [np.float16, np.float32, np.float64]
COMPLEX = [np.complex64, np.complex128]
REAL = BOOL + INTS + FLOATS
ALL = REAL + COMPLEX
LAYOUTS = ["C", "F", "any", "strided", "negative", "readonly"]
NUMPY2 = np.lib.NumpyVersion(np.__version__) >= "2.1.0"


def given(*args: Any, **kwargs: Any) -> Any:
    """Hypothesis' ``given`` without a deadline: most examples compile something."""

    def decorate(fn: Any) -> Any:
        return hypothesis.settings(deadline=None, max_examples=examples(25))(
            hypothesis.given(*args, **kwargs)(fn)
        )

    return decorate


def values(dtype: Any, n: int, rng: np.random.Generator, special: bool = True) -> np.ndarray:
    """`n` items: small numbers, and with `special` the ends of the type's range, zeros, infinities and NaN."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, n).astype(bool)
    if kind in "iu":
        info = np.iinfo(dtype)
        ends = np.array([info.max, info.min, info.max - 1, info.min + 1], dtype=dtype)
        small = rng.integers(0 if kind == "u" else -9, 10, n).astype(dtype)
        return np.where(rng.random(n) < 0.2 * special, rng.choice(ends, n), small).astype(dtype)
    if kind == "c":
        real = np.float32 if dtype == np.complex64 else np.float64
        z = np.empty(n, dtype=dtype)
        z.real, z.imag = values(real, n, rng, special), values(real, n, rng, special)
        return z
    odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0], dtype=dtype)
    small = (rng.integers(-40, 40, n) / 8).astype(dtype)
    return np.where(rng.random(n) < 0.3 * special, rng.choice(odd, n), small).astype(dtype)


def laid_out(a: np.ndarray, layout: str) -> np.ndarray:
    """The same items in another layout."""
    if layout == "F":
        return np.array(a, order="F")
    if layout == "any" and a.ndim > 1:
        return np.moveaxis(np.array(np.moveaxis(a, 0, 1), order="C"), 0, 1)
    if layout == "strided" and a.ndim:
        big = np.zeros(tuple(2 * n + 1 for n in a.shape), dtype=a.dtype)
        part = big[tuple(slice(1, None, 2) for _ in a.shape)]
        part[...] = a
        return part
    if layout == "negative" and a.ndim:
        turn = tuple(slice(None, None, -1) for _ in a.shape)
        return np.array(a[turn], order="C")[turn]
    a = np.array(a, order="C")
    a.flags.writeable = layout != "readonly"
    return a


extents = st.sampled_from([0, 1, 2, 3, 3, 5])


@st.composite
def shapes(draw: Any, max_rank: int = 4) -> tuple[int, ...]:
    """A shape of rank 0 to `max_rank`."""
    return tuple(draw(st.lists(extents, min_size=0, max_size=max_rank)))


@st.composite
def arrays(
    draw: Any,
    dtypes: Any = tuple(ALL),
    shape: Any = None,
    layouts: Any = tuple(LAYOUTS),
    special: bool = True,
) -> np.ndarray:
    """An array; `shape` is a shape or a strategy for one."""
    if shape is None:
        shape = shapes()
    if not isinstance(shape, tuple):
        shape = draw(shape)
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    dtype = draw(st.sampled_from(list(dtypes)))
    return laid_out(
        values(dtype, int(np.prod(shape)), rng, special).reshape(shape), draw(st.sampled_from(list(layouts)))
    )


@st.composite
def broadcast_pair(draw: Any, dtypes: Any = tuple(ALL), **kwargs: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays that broadcast together, one of rank 0 at times."""
    full = draw(shapes())
    parts = []
    for _ in range(2):
        keep = draw(st.integers(0, len(full)))
        parts.append(tuple(n if draw(st.booleans()) else 1 for n in full[keep:]))
    return tuple(draw(arrays(dtypes, shape=p, **kwargs)) for p in parts)


def writable(x: Any) -> Any:
    """A copy of an array that keeps its layout; read-only arrays stay themselves."""
    if not isinstance(x, np.ndarray) or not x.flags.writeable:
        return x
    if x.flags.c_contiguous or x.flags.f_contiguous:
        return x.copy(order="K")
    y = (
        np.lib.stride_tricks.as_strided(
            np.zeros(_span(x), dtype=np.uint8)[_start(x) :].view(x.dtype)[:1] if x.size else x[:0].copy(),
            x.shape,
            x.strides,
        )
        if x.size
        else x.copy()
    )
    y[...] = x
    return y


def _start(x: np.ndarray) -> int:
    return -sum((n - 1) * s for n, s in zip(x.shape, x.strides, strict=True) if s < 0)


def _span(x: np.ndarray) -> int:
    return sum((n - 1) * abs(s) for n, s in zip(x.shape, x.strides, strict=True)) + x.itemsize


def distance(got: np.ndarray, want: np.ndarray) -> float:
    """Largest difference in units of the last place of the value wanted (complex numbers: of their magnitude)."""
    if want.dtype.kind not in "fc":
        return 0.0 if np.array_equal(got, want) else np.inf
    same = (got == want) | ((got != got) & (want != want))
    if same.all():
        return 0.0
    g, w = got[~same], want[~same]
    size = np.abs(w)
    with np.errstate(all="ignore"):
        d = np.abs(g - w) / np.spacing(size)
    return float(np.where(np.isfinite(d), d, np.inf).max())


def compare(got: Any, want: Any, ulp: float = 0) -> None:
    """Equal kinds, dtypes, shapes; values within `ulp` units. Scalars leave compiled code as Python's numbers."""
    if isinstance(want, tuple | list):
        assert isinstance(got, tuple) and len(got) == len(want), (got, want)
        for g, w in zip(got, want, strict=True):
            compare(g, w, ulp)
        return
    if not isinstance(want, np.ndarray):
        want = np.asarray(want)
        assert not isinstance(got, np.ndarray), (got, want)
        assert type(got) is type(want.item()), (got, want)
        got = np.asarray(got).astype(want.dtype)
    assert isinstance(got, np.ndarray), got
    assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, want.dtype, got.shape, want.shape)
    assert distance(got, want) <= ulp, (got, want)


RAISES = (ValueError, ZeroDivisionError, IndexError, OverflowError)


def agree(expr: str, *args: Any, ulp: float = 0, widen: bool = False, **options: Any) -> Any:
    """Compiled `expr` gives what NumPy gives or raises the same, and leaves its arguments as NumPy does.

    With `widen` a float16 that NumPy makes of small integers may be any float32, which it is here.
    """
    mine, numpys = [writable(a) for a in args], [writable(a) for a in args]
    with np.errstate(all="ignore"):
        try:
            want = plain(expr, *numpys)
        except RAISES as e:
            with pytest.raises(type(e)):
                compiled(expr, len(args), **options)(*mine)
            return None
    got = compiled(expr, len(args), **options)(*mine)
    half = any(np.asarray(a).dtype == np.float16 for a in args)
    if widen and not half and np.asarray(want).dtype == np.float16:
        assert np.asarray(got).dtype == (np.float32 if isinstance(got, np.ndarray) else np.float64)
        assert np.shape(got) == np.shape(want)
        return None
    compare(got, want, ulp)
    for m, n in zip(mine, numpys, strict=True):
        if isinstance(m, np.ndarray):
            np.testing.assert_array_equal(m, n)
    return got


__all__ = [n for n in dir() if not n.startswith("_") and n not in dir(builtins)]
