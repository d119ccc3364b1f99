"""Arrays that tests of treadle/_library give to hypothesis: any type, shape and layout, with NaN and infinities among their items."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

INTEGERS = "bBhHiIqQ"
FLOATS = "efd"
COMPLEX = "FD"


def lay(rng: np.random.Generator, a: np.ndarray) -> np.ndarray:
    """The array in memory in some way: in rows, in columns, backwards, as a part, as what may not be stored to."""
    kind = rng.integers(5)
    if kind == 1:
        return np.asfortranarray(a)
    if kind == 2:
        return np.flip(np.flip(a).copy())
    if kind == 3:
        return np.repeat(a, 2, -1)[..., ::2]
    a = np.array(a, order="C")
    a.flags.writeable = kind != 4
    return a


@st.composite
def arrays(
    draw: st.DrawFn,
    types: str = "?" + INTEGERS + FLOATS + COMPLEX,
    ndim: tuple[int, int] = (0, 3),
    least: int = 0,
    most: int = 5,
    special: bool = True,
    shape: tuple[int, ...] | None = None,
) -> np.ndarray:
    """Small whole numbers (their sums are exact), in C or F order, or every other item of a larger array, or backwards."""
    dtype = np.dtype(draw(st.sampled_from(types)))
    if shape is None:
        shape = tuple(draw(st.lists(st.integers(least, most), min_size=ndim[0], max_size=ndim[1])))
    layout = draw(st.sampled_from("CFsb")) if shape else "C"
    full = tuple(2 * n for n in shape) if layout == "s" else shape
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    low = 0 if dtype.kind in "?bu" else -4
    a = np.asarray(rng.integers(low, 5, full)).astype(dtype)
    if dtype.kind == "c":
        a = np.asarray(a + 1j * rng.integers(-4, 5, full)).astype(dtype)
    if special and dtype.kind in "fc" and draw(st.booleans()):
        wanted = draw(st.sampled_from([[np.nan], [np.nan, np.inf], [np.nan, np.inf, -np.inf, 0.0]]))
        share = draw(st.sampled_from([0.3, 0.9]))
        a = np.where(rng.random(full) < share, rng.choice(wanted, full), a).astype(dtype)
    if layout == "F":
        return np.asfortranarray(a)
    if layout == "s":
        return a[tuple(slice(None, None, 2) for _ in shape)]
    return a[::-1] if layout == "b" else a


def axes(ndim: int, none: bool = True) -> list[int | None]:
    """All axes of an array, and None."""
    return [*([None] if none else []), *range(-ndim, ndim)]
