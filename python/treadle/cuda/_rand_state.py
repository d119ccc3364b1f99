"""Where generators of `treadle.cuda.rand` begin: the states of xorwow and MRG32k3a for a seed and a step, and Sobol's direction numbers. Of the host alone.

The generators are published: xorwow by G. Marsaglia ("Xorshift RNGs", 2003), MRG32k3a by P. L'Ecuyer (1999), direction numbers by S. Joe and F. Y. Kuo (2008). What a
seed makes of a state is what cuRAND's generators were found to do. A power of xorwow's step costs 3 ms for each bit of it, once in a process: its squares are kept.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "XORWOW_STEP",
    "directions",
    "mrg_jumps",
    "mrg_start",
    "reached",
    "scrambled",
    "squared",
    "xorwow_jumps",
    "xorwow_start",
]

Bits = tuple[int, ...]  # a matrix over GF(2): what becomes of each bit of a state, as an integer
Rows = tuple[tuple[int, ...], ...]

_WORD = 0xFFFFFFFF
WEYL = 362437  # what xorwow adds to its sixth word with each step
DIMENSIONS = 1024  # of which directions are carried

MRG_M1, MRG_M2 = 2**32 - 209, 2**32 - 22853
MRG_STEP: tuple[Rows, Rows] = (
    ((0, 1, 0), (0, 0, 1), (-810728 % MRG_M1, 1403580, 0)),
    ((0, 1, 0), (0, 0, 1), (-1370589 % MRG_M2, 0, 527612)),
)


# --- xorwow: 160 bits, v[0] the lowest ---


def _xorwow_bit(k: int) -> int:
    """What a step makes of a state in which bit ``k`` alone is set."""
    v = [(1 << k) >> 32 * i & _WORD for i in range(5)]
    t = v[0] ^ v[0] >> 2
    new = (v[4] ^ v[4] << 4 ^ t ^ t << 1) & _WORD
    return v[1] | v[2] << 32 | v[3] << 64 | v[4] << 96 | new << 128


XORWOW_STEP: Bits = tuple(map(_xorwow_bit, range(160)))


def _applied(m: Bits, v: int) -> int:
    total = 0
    while v:
        low = v & -v
        total ^= m[low.bit_length() - 1]
        v ^= low
    return total


def squared(m: Bits) -> Bits:
    """The matrix times itself."""
    return tuple(_applied(m, column) for column in m)


@functools.cache
def _xorwow_squares(k: int) -> Bits:
    """What 2**k steps do."""
    return XORWOW_STEP if k == 0 else squared(_xorwow_squares(k - 1))


def xorwow_start(seed: int, step: int) -> list[int]:
    """The six words of sequence 0 after so many steps."""
    s0, s1 = (seed & _WORD) ^ 0xAAD26B49, (seed >> 32) ^ 0xF7DCEFDD
    t0, t1 = 1099087573 * s0, 2591861531 * s1
    v = [123456789 + t0, 362436069 ^ t0, 521288629 + t1, 88675123 ^ t1, 5783321 + t0]
    state = sum((word & _WORD) << 32 * i for i, word in enumerate(v))
    for k in range(step.bit_length()):
        if step >> k & 1:
            state = _applied(_xorwow_squares(k), state)
    return [*(state >> 32 * i & _WORD for i in range(5)), (6615241 + t1 + t0 + WEYL * step) & _WORD]


@functools.cache
def xorwow_jumps() -> np.ndarray[Any, Any]:
    """What 2**67, 2**68, ... steps make of each bit, (12, 160, 5) of uint32: a sequence begins 2**67 steps behind the one before."""
    known = np.fromfile(Path(__file__).with_name("_rand_xorwow.bin"), "<u4")
    return known.astype(np.uint32, copy=False).reshape(12, 160, 5)


# --- MRG32k3a ---


def _product(a: Rows, b: Rows, m: int) -> Rows:
    return tuple(tuple(sum(x * y for x, y in zip(row, column)) % m for column in zip(*b)) for row in a)


def _power(a: Rows, n: int, m: int) -> Rows:
    total: Rows = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    while n:
        if n & 1:
            total = _product(total, a, m)
        a = _product(a, a, m)
        n >>= 1
    return total


@functools.cache
def mrg_jumps() -> np.ndarray[Any, Any]:
    """What 2**76, 2**77, ... steps do, (17, 6, 3) of uint32, three rows for the words modulo `MRG_M1` and three for those modulo `MRG_M2`: a sequence begins 2**76 steps behind the one before."""
    first, second = (_power(a, 1 << 76, m) for a, m in zip(MRG_STEP, (MRG_M1, MRG_M2)))
    made = []
    for _ in range(17):
        made.append((*first, *second))
        first, second = _product(first, first, MRG_M1), _product(second, second, MRG_M2)
    return np.array(made, np.uint32)


def mrg_start(seed: int, step: int) -> list[int]:
    """The six words of sequence 0 after so many steps."""
    x, y = [12345] * 3, [12345] * 3
    if seed:
        low, high = (seed & _WORD) ^ 0x55555555, (seed >> 32) ^ 0xAAAAAAAA
        x = [12345 * k % MRG_M1 for k in (low, high, low)]
        y = [12345 * k % MRG_M2 for k in (high, low, high)]
    made = []
    for words, a, m in zip((x, y), MRG_STEP, (MRG_M1, MRG_M2)):
        made += [sum(p * q for p, q in zip(row, words)) % m for row in _power(a, step, m)]
    return made


# --- Sobol's sequences ---


def _known(ndim: int) -> Any:
    """Polynomials and first numbers of so many dimensions: (ndim, 1 + n)."""
    if ndim <= DIMENSIONS:
        known = np.fromfile(Path(__file__).with_name("_rand_sobol.bin"), "<u2")
        return known.astype(np.int64).reshape(DIMENSIONS, 14)[:ndim]
    try:
        import scipy.stats
    except ImportError:
        raise ValueError(
            f"{ndim} dimensions: Treadle has the numbers of {DIMENSIONS}, and takes those of up to 21,201 from SciPy, which is not installed"
        ) from None
    with np.load(Path(scipy.stats.__file__).with_name("_sobol_direction_numbers.npz")) as known:
        return np.column_stack([known["poly"][:ndim], known["vinit"][:ndim]])


@functools.lru_cache(16)
def directions(ndim: int, bits: int) -> np.ndarray[Any, Any]:
    """Direction numbers, (ndim, bits) of uint32 or uint64: number k is exclusive-ored in for bit k of a point's number in Gray code."""
    rows = _known(ndim)
    v = np.zeros((ndim, bits), np.uint64)
    poly = rows[:, 0]
    degree = np.array([int(p).bit_length() - 1 for p in poly])
    v[degree == 0] = 1  # the first dimension: the bits of a number, turned round
    for d in np.unique(degree[degree > 0]).tolist():
        of = np.flatnonzero(degree == d)
        p, m = poly[of], v[of]
        known = min(d, bits)
        m[:, :known] = rows[of, 1 : known + 1]
        for k in range(d, bits):
            new = m[:, k - d] ^ m[:, k - d] << np.uint64(d)
            for j in range(1, d):
                taken = (p >> (d - j) & 1).astype(np.uint64)
                new ^= taken * (m[:, k - j] << np.uint64(j))
            m[:, k] = new
        v[of] = m
    shifts = np.arange(bits - 1, -1, -1).astype(np.uint64)
    return (v << shifts).astype(np.uint32 if bits == 32 else np.uint64)


@functools.lru_cache(16)
def scrambled(ndim: int, bits: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Direction numbers as `directions` has them, and what each dimension's points are exclusive-ored with, scrambled as J. Matousek has it (1998).

    A dimension's numbers are multiplied by a lower triangular matrix over GF(2); it and the shift are splitmix64's numbers, which the dimension and the bits choose.
    cuRAND's own are not published.
    """
    v = directions(ndim, bits).astype(np.uint64)
    words = _mixed(
        np.arange(ndim, dtype=np.uint64)[:, None] * np.uint64(128)
        + np.arange(bits + 1, dtype=np.uint64)
        + np.uint64(bits << 40)
    )
    made = np.zeros_like(v)
    for k in range(
        bits
    ):  # from the highest bit on: each is what it was, and the parity of some of the higher ones
        place = bits - 1 - k
        of = v & (
            words[:, k, None] >> np.uint64(64 - bits) >> np.uint64(place + 1) << np.uint64(place + 1)
            | np.uint64(1 << place)
        )
        for shift in (32, 16, 8, 4, 2, 1):
            of = of ^ of >> np.uint64(shift)
        made |= (of & np.uint64(1)) << np.uint64(place)
    dtype = np.uint32 if bits == 32 else np.uint64
    return made.astype(dtype), (words[:, bits] >> np.uint64(64 - bits)).astype(dtype)


def _mixed(n: Any) -> Any:
    """splitmix64's number for each seed (S. Vigna, 2015)."""
    z = n + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return z ^ z >> np.uint64(31)


# --- Poisson's distribution ---


def reached(rate: float) -> tuple[int, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A number, the probabilities of no more than it and its successors up to where 53 bits see no difference from 1, and where in them to begin for each of equal parts of [0, 1).

    Products, quotients and sums in one order, so that the bits are the same on any machine.
    """
    wide = 12 * rate**0.5 + 40
    middle = int(rate)
    first = max(0, int(rate - wide))
    up = np.cumprod(rate / np.arange(middle + 1, int(rate + wide) + 1))
    down = np.cumprod(np.arange(middle, first, -1) / rate) if middle > first else np.empty(0)
    total = np.cumsum(np.concatenate([down[::-1], [1.0], up]))
    total /= total[-1]
    last = int(np.searchsorted(total, 1.0))
    total = total[: last + 1]
    parts = 1 << max(4, len(total).bit_length())
    guide = np.searchsorted(total, np.arange(parts) / parts, "right").astype(np.uint32)
    return first, total, guide
