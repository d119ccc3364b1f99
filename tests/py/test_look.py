"""Bytes looked up in a table of bytes, which is one call of the runtime's where nothing else is made of them: against NumPy, by every way in."""

from __future__ import annotations

import numpy as np
import pytest
import treadle.parallel as tp
from treadle import njit, prange

RNG = np.random.default_rng(4)
SIZES = (0, 1, 63, 64, 65, 200, 5000)


@njit
def taken(t, x):
    return np.take(t, x)


@njit
def indexed(t, x):
    return t[x]


@njit(parallel=True)
def on_all_cores(t, x):
    return t[x]


@njit
def inlined(t, x):
    return taken(t, x), x.sum()


@njit(parallel=True)
def in_prange(t, x):
    out = np.empty_like(x)
    for i in prange(len(x)):
        out[i] = t[x[i]]
    return out


@njit
def stored(t, x, out):
    out[:] = t[x]


@njit
def with_more(t, x):
    return t[x] + np.uint8(1), (t[x] * np.int64(2)).sum()


def lazily(t, x):
    return np.asarray(tp.take(tp.array(t), tp.array(x)))


WAYS = (taken, indexed, on_all_cores, lambda t, x: inlined(t, x)[0], lazily)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.bool_, np.uint16, np.float64])
def test_agrees_with_numpy(dtype):
    for m in (1, 3, 64, 100, 128, 255, 256, 257, 1000):
        t = RNG.integers(0, 2 if dtype is np.bool_ else 100, m).astype(dtype)
        for n in SIZES:
            x = RNG.integers(0, min(m, 256), n).astype(np.uint8)
            for way in WAYS:
                r = way(t, x)
                assert r.dtype == dtype and r.tobytes() == t[x].tobytes(), (m, n)


def test_pictures_strides_and_what_cannot_be_written():
    t = RNG.integers(0, 256, 256).astype(np.uint8)
    x = RNG.integers(0, 256, (70, 90)).astype(np.uint8)
    locked = x.copy()
    locked.flags.writeable = False
    for a in (x, x.T, x[::2], x[:, ::3], x[::-1, ::-1], locked, x[:, :1], x[:0]):
        for way in WAYS:
            assert (way(t, a) == t[a]).all()
            assert (way(t[::-1], a) == t[::-1][a]).all()


def test_past_the_end():
    for m in (0, 1, 100, 255):
        t = np.zeros(m, np.uint8)
        for n in (1, 64, 1000):
            x = np.zeros(n, np.uint8)
            x[n // 2] = m
            for way in WAYS:
                with pytest.raises(IndexError, match=f"index {m} is out of bounds for axis 0 with size {m}"):
                    way(t, x)


def test_what_overlaps():
    t = RNG.permutation(256).astype(np.uint8)
    for of in (
        lambda a: (a, a, a),
        lambda a: (a, a[:200], a[56:]),
        lambda a: (a[:128], a[:100] // 2, a[20:120]),
    ):
        got, want = t.copy(), t.copy()
        stored(*of(got))
        table, x, out = of(want)
        out[:] = np.concatenate([table, np.zeros(256, np.uint8)])[x]
        assert (got == want).all()
    x = RNG.integers(0, 256, 1000).astype(np.uint8)
    want = t[x]
    stored(t, x, x)
    assert (x == want).all(), "each is looked up before it is stored to"


def test_what_is_made_of_it_stays_one_loop():
    t, x = RNG.integers(0, 200, 256).astype(np.uint8), RNG.integers(0, 256, 1000).astype(np.uint8)
    a, s = with_more(t, x)
    assert (a == t[x] + np.uint8(1)).all() and s == (t[x] * np.int64(2)).sum()
    assert (in_prange(t, x) == t[x]).all()


def test_it_is_a_call():
    """Of what is nothing but a look-up."""
    t, x = np.zeros(256, np.uint8), np.zeros((3, 3), np.uint8)
    for function, args, calls in (
        (lambda t, x: t[x], (t, x), 1),
        (lambda t, x: t[x] + t[x], (t, x), 0),
        (lambda t, x: t[x], (t.astype(np.int16), x), 0),
    ):
        compiled = njit(function)
        compiled(*args)
        (text,) = compiled.inspect_llvm().values()
        assert text.count("@tr_rt_look_up(") == (2 if calls else 0), "declared, and called"
