"""Sums over rows of a few numbers, vectors in space, have versions for some lengths (opt/pattern/vectors.c): the same bits as without."""

from __future__ import annotations

import numpy as np
import pytest
from skipped import with_and_without
from treadle import njit

MANY = 1 << 16  # as in opt/pattern/vectors.c


def squares(a):
    return (a * a).sum(axis=1)


def lengths(a):
    return np.sqrt((a**2).sum(axis=-1))


def dots(a):
    return (a * a[::-1]).sum(axis=1)


def two_sums(a):
    b = a + a[0]
    return a.sum(axis=1), (b * b).sum(axis=1)


def distances(a):
    return ((a[:, None] - a[None, :5]) ** 2).sum(axis=2)


def nearest(a):
    return ((a[:, None] - a[None, :5]) ** 2).sum(axis=2).argmin(axis=1)


def nearest_of_many(a):
    """Rows of which each has an array of its own."""
    d = ((a[:, None] - a[None, :200]) ** 2).sum(axis=2)
    return d.argmin(axis=1), d.min(axis=1)


def broadcast(a):
    return (a[:, :1] * a).sum(axis=1), (a[:, :1] + np.zeros(1)).sum(axis=1)


def caught(a):
    try:
        s = (a * a).sum(axis=1)
        return s[:3] / s[3:6]
    except ZeroDivisionError:
        return a[0]


def softmax(a):
    e = np.exp(a - a.max(axis=1)[:, None])
    return e / e.sum(axis=1)[:, None]


def logs(a):
    """What is stored of each item besides the sum, and a sum in an array of its own rows."""
    b = np.log(np.abs(a) + 1)
    return b, b.sum(axis=1)


PROGRAMS = [
    softmax,
    logs,
    squares,
    lengths,
    dots,
    two_sums,
    distances,
    nearest,
    nearest_of_many,
    broadcast,
    caught,
]


def arrays(dtype, k, n=None):
    rng = np.random.default_rng(7)
    n = n or MANY // k + 3
    a = rng.standard_normal((n, k))
    return (a * 10).astype(dtype) if dtype != "c16" else a + 1j * rng.standard_normal((n, k))


def outcomes():
    out = {}
    for f in PROGRAMS:
        for parallel in (False, True):
            compiled = njit(f, parallel=parallel)
            for dtype in ("f8", "f4"):
                for k in (1, 2, 3, 4, 5, 8, 9, 10, 16):
                    n = 700 if f is nearest_of_many else None
                    if k == 1 and f is broadcast:
                        continue
                    a = arrays(dtype, k, n)
                    for name, x in (("C", a), ("F", np.asfortranarray(a)), ("rows", a[::2]), ("few", a[:9])):
                        if f is nearest_of_many and name == "few":
                            continue
                        y = compiled(x)
                        out[f.__name__, parallel, dtype, k, name] = [
                            (v.dtype.str, v.shape, v.tobytes()) for v in (y if isinstance(y, tuple) else (y,))
                        ]
    return out


def test_no_bit_depends_on_it(tmp_path):
    with_it, without = with_and_without("test_vectors", "vectors", tmp_path)
    assert [k for k in with_it if with_it[k] != without[k]] == []


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("k", [2, 3, 4, 6, 7, 8, 10, 16])
def test_as_numpy(f, k):
    a = arrays("f8", k, 700 if f is nearest_of_many else None)
    got, want = njit(f)(a), f(a)
    for x, y in zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]:
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("k", range(2, 18))
def test_a_length_in_the_text_changes_no_bit(k, dtype):
    a = arrays(dtype, k, 300)
    assert njit(lambda a: squares(np.reshape(a, (len(a), k))))(a).tobytes() == njit(squares)(a).tobytes()


def test_complex_sums():
    for k in (2, 3, 8):
        a = arrays("c16", k)
        np.testing.assert_allclose(njit(squares)(a), squares(a), rtol=1e-12, atol=1e-12)


def test_it_is_done():
    for f in (squares, lengths, distances, nearest):
        compiled = njit(f)
        compiled(np.ones((7, 3)))
        (text,) = compiled.inspect("opt").values()
        assert "cmp eq" in text and f" {MANY}" in text
