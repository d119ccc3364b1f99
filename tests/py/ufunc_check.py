"""Operands of every dtype and layout for the property tests of ufuncs, and what NumPy's own ufuncs make of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from sizes import examples

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
LAYOUTS = ["C", "F", "strided", "reversed", "offset", "packed", "swapped", "repeated", "sparse"]
SETTINGS = settings(max_examples=examples(50), deadline=None, suppress_health_check=list(HealthCheck))


def values(dtype: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    """`n` items: small numbers, any bits that are numbers, and the ends of the range."""
    dt = np.dtype(dtype)
    if dt.kind == "b":
        return rng.integers(0, 2, n).astype(bool)
    if dt.kind == "c":
        part = values(f"f{dt.itemsize // 2}", 2 * n, rng)
        return part.view(dt)
    if dt.kind in "iu":
        info = np.iinfo(dt)
        out = rng.integers(-20, 20, n).astype(dt)
        wild = rng.integers(info.min, info.max, n, dtype=dt, endpoint=True)
        ends = rng.choice(np.array([info.min, info.max, 0, 1], dt), n)
    else:
        out = (rng.integers(-64, 64, n) / 8).astype(dt)
        with np.errstate(all="ignore"):
            wild = (rng.standard_normal(n) * 10.0 ** rng.integers(-30, 30, n)).astype(dt)
        ends = rng.choice(
            np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, np.finfo(dt).max, np.finfo(dt).tiny], dt), n
        )
    pick = rng.random(n)
    return np.where(pick < 0.6, out, np.where(pick < 0.8, wild, ends)).astype(dt)


def laid_out(shape: tuple[int, ...], dtype: Any, layout: str, rng: np.random.Generator) -> np.ndarray:
    """An array of random items whose memory is of one kind; all but ``repeated`` are writable."""
    dt = np.dtype(dtype)
    n = int(np.prod(shape))
    items = values(dt, n, rng).reshape(shape)
    if layout == "repeated" and shape:
        axis = int(rng.integers(len(shape)))
        first = items[tuple(slice(0, 1) if k == axis else slice(None) for k in range(len(shape)))]
        return np.broadcast_to(first, shape)
    if layout == "swapped":
        return items.astype(dt.newbyteorder())
    if layout == "F":
        return np.array(items, order="F")
    wide = tuple(2 * s + 1 for s in shape)
    if layout == "packed":  # items at odd addresses
        base = np.zeros(shape, np.dtype([("pad", "u1"), ("item", dt)]))["item"]
    elif layout == "strided":
        base = np.zeros(wide, dt)[(*(slice(1, None, 2) for _ in shape), ...)]
    elif layout == "reversed":
        base = np.zeros(shape, dt)[(*(slice(None, None, -1) for _ in shape), ...)]
    elif layout == "offset":  # aligned to one item and no more
        base = np.zeros(n + 1, dt)[1:].reshape(shape)
    elif layout == "sparse":  # one axis lies far apart
        base = np.zeros((*shape[:-1], 3 * shape[-1]), dt)[..., ::3] if shape else np.zeros(shape, dt)
    else:
        base = np.zeros(shape, dt)
    base[...] = items
    return base


@st.composite
def operands(draw: Any, count: int, dtypes: list[str] = DTYPES, most: int = 3) -> list[np.ndarray]:
    """Arrays that broadcast together, of any dtypes and layouts."""
    shape = tuple(draw(st.lists(st.sampled_from([0, 1, 2, 3, 5, 17]), max_size=most)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    out = []
    for _ in range(count):
        mine = tuple(1 if draw(st.integers(0, 4)) == 0 else n for n in shape)
        mine = mine[draw(st.sampled_from([0, 0, 0, 1])) :]
        out.append(laid_out(mine, draw(st.sampled_from(dtypes)), draw(st.sampled_from(LAYOUTS)), rng))
    return out


# --- what is expected ---


def compute_type(*dtypes: Any) -> np.dtype:
    """The type in which scalar code computes with these: integers have 64 bits, signed unless all are unsigned."""
    kinds = {np.dtype(d).kind for d in dtypes}
    if kinds <= set("biu"):
        return np.dtype("u8") if kinds == {"u"} else np.dtype("i8")
    return np.result_type(*dtypes)


def wrapped(a: Any, dtype: Any) -> np.ndarray:
    """Converted as C does."""
    with np.errstate(all="ignore"):
        return np.asarray(a).astype(dtype, casting="unsafe")


def expected(name: str, *args: np.ndarray) -> np.ndarray:
    """What NumPy's function gives in the type that is computed in; float16 is computed in float32 and rounded once."""
    _, numpys, _, how = FUNCTIONS[name]
    dtypes = [a.dtype for a in args]
    ints = all(d.kind in "biu" for d in dtypes)
    work = compute_type(*dtypes)
    if ints and how == "exact":  # comparisons
        return np.asarray(numpys(*[a.astype(object) for a in args])).astype(bool)
    if ints and how == "bits" and all(d.kind == "b" for d in dtypes):
        work = np.dtype(bool)
    if ints and (how == "keep" or (how == "own" and dtypes[0].kind != "b")):
        work = dtypes[0].newbyteorder("=")
    if ints and how == "true":
        work = np.dtype("f8")
    half = work == np.float16
    with np.errstate(all="ignore"):
        out = np.asarray(numpys(*[wrapped(a, "f4" if half else work) for a in args]))
    return wrapped(out, "f2") if half and out.dtype == np.float32 else out


def same(got: Any, want: Any, ulps: int = 0) -> None:
    """The same dtype (in any byte order), shape and bits; a NaN is a NaN. With `ulps`, floats may be off by so many steps."""
    got, want = (np.asarray(x).astype(np.asarray(x).dtype.newbyteorder("=")) for x in (got, want))
    assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, got.shape, want.dtype, want.shape)
    if want.dtype.kind == "c":
        same(got.real.copy(), want.real.copy(), ulps)
        same(got.imag.copy(), want.imag.copy(), ulps)
        return
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    if ulps:
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
        with np.errstate(all="ignore"):
            near = np.abs(got - want) <= ulps * np.spacing(np.abs(want))
        assert (near | (got == want) | np.isnan(want)).all(), (got, want)
        return
    np.testing.assert_array_equal(got, want)
    zeros = (want == 0) & (got == 0)
    np.testing.assert_array_equal(np.signbit(got)[zeros], np.signbit(want)[zeros])


# --- functions, each with NumPy's own; the kinds that both take; how integers are treated ---

FUNCTIONS: dict[str, tuple[Callable, Callable, str, str]] = {
    "add": (lambda x, y: x + y, np.add, "biufc", ""),
    "subtract": (lambda x, y: x - y, np.subtract, "biufc", ""),
    "multiply": (lambda x, y: x * y, np.multiply, "biuf", ""),
    "divide": (lambda x, y: x / y, np.true_divide, "biuf", "true"),
    "floor_divide": (lambda x, y: x // y, np.floor_divide, "biuf", ""),
    "remainder": (lambda x, y: x % y, np.remainder, "biuf", ""),
    "and": (lambda x, y: x & y, np.bitwise_and, "biu", "bits"),
    "or": (lambda x, y: x | y, np.bitwise_or, "biu", "bits"),
    "xor": (lambda x, y: x ^ y, np.bitwise_xor, "biu", "bits"),
    "less": (lambda x, y: x < y, np.less, "biuf", "exact"),
    "equal": (lambda x, y: x == y, np.equal, "biufc", "exact"),
    "greater_equal": (lambda x, y: x >= y, np.greater_equal, "biuf", "exact"),
    "negative": (lambda x: -x, np.negative, "biufc", "own"),
    "absolute": (lambda x: abs(x), np.absolute, "iuf", "keep"),
    "invert": (lambda x: ~x, np.invert, "biu", "keep"),
    "square": (lambda x: x * x, np.square, "biuf", ""),
    "sqrt": (lambda x: math.sqrt(x), np.sqrt, "biuf", "true"),
}


def fits(name: str, *dtypes: Any) -> bool:
    """True if the function takes operands of these dtypes."""
    return all(np.dtype(d).kind in FUNCTIONS[name][2] for d in dtypes)
