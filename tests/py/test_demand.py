"""Parts of arrays that are made element by element: only they are computed, with NumPy's values whatever the slice, the layout and the sizes."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import treadle
from hypothesis import strategies as st
from treadle import njit, prange

sys.path.insert(0, str(Path(__file__).parent))
from arrays_check import agree, arrays, given, shapes  # noqa: E402

MADE = [
    "(a * 2 + 1)",
    "np.sqrt(np.abs(a))",
    "(a + b)",
    "(a - b * a)",
    "np.where(a > b, a, b)",
    "np.arange(len(a))",
    "(a[::-1] + b)",
]
PARTS = ["1:", ":-1", "::-1", "::2", "1:-1", "-2:", "2:1", "i:", ":i", "i::3", "-1:0:-2", "3:100", ":"]
READ = [
    "{}.sum()",
    "{} + 1",
    "{}.max(initial=0)",
    "np.cumsum({})",
    "{} * {}",
    "np.where({} > 1, {}, 0)",
    "len({})",
]


@given(arrays([np.int64, np.float64, np.uint8, np.int16], shapes(1).filter(len)), st.sampled_from(MADE), st.sampled_from(PARTS), st.sampled_from(READ), st.integers(-4, 4), st.booleans())  # fmt: skip
def test_parts(a, made, part, read, i, parallel):
    if a.dtype.kind == "f":
        a = np.clip(np.nan_to_num(a), -99, 99).round()
    part = part.replace("i", str(i)) if i % 2 else part
    expression = read.replace("{}", f"{made}[{part}]")
    space = {"np": np}
    exec(f"def f(a, b, i):\n    return {expression}\n", space)
    b = np.asarray(a[::-1] // 2)
    with np.errstate(all="ignore"):
        want = space["f"](a, b, i)
    got = njit(parallel=parallel)(space["f"])(a, b, i)
    np.testing.assert_allclose(got, want, rtol=1e-12)


PLANES = [
    "(a * 2)[1].sum()",
    "(a + b)[:, 1] * 2",
    "(a + b[0])[1:, ::-1] - a[1:]",
    "(a + b[:, :1])[::2, 1:].max(axis=0)",
    "(a * b)[1:, 1:] - (a * b)[:-1, :-1]",
    "np.sqrt(a * a)[..., 1]",
    "(a + 1).T[1] + 1",
    "(a * 2)[None, 1] + b",
    "((a * 2)[1:] + 1)[:, 1:] * 3",
    "(a * 2)[1, 2], (a * 2)[-1]",
    "((a - b)[1:-1] ** 2).sum(axis=1)",
    "(a[0] * b)[:, 1:] @ np.ones((3, 2))",
]


@pytest.mark.parametrize("expression", PLANES)
@pytest.mark.parametrize("parallel", [False, True])
def test_planes(expression, parallel):
    space = {"np": np}
    exec(f"def f(a, b):\n    return {expression}\n", space)
    f = njit(parallel=parallel)(space["f"])
    rng = np.random.default_rng(1)
    for a, b in (
        (rng.random((5, 4)), rng.random((5, 4))),
        (rng.random((5, 4)), rng.random((1, 4))),
        (np.asfortranarray(rng.random((5, 4))), rng.random((10, 8))[::2, ::-2]),
        (rng.integers(0, 9, (3, 4)), rng.integers(0, 9, (3, 4)).astype(np.int16)),
    ):
        for g, w in zip(
            *(x if isinstance(x, tuple) else (x,) for x in (f(a, b), space["f"](a, b))), strict=True
        ):
            np.testing.assert_allclose(g, w, rtol=1e-12)


def count(f, *args):
    f(*args)
    before = treadle.stats()["arrays_allocated"]
    f(*args)
    return treadle.stats()["arrays_allocated"] - before


@pytest.mark.parametrize(
    ("expression", "arrays_made"),
    [
        ("np.sum((a * b)[1:])", 0),
        ("np.sum((a * b + 1)[1:] - (a * b + 1)[:-1])", 0),
        ("np.abs(a - b)[::2] + 1", 1),
        ("(np.exp(a) * b)[::-1].max()", 0),
        ("np.exp(a)[1:] - np.exp(a)[:-1]", 2),  # computed once, not twice
    ],
)
def test_no_array_is_made(expression, arrays_made):
    space = {"np": np}
    exec(
        f"def f(a, b):\n    {'e = np.exp(a); return e[1:] - e[:-1]' if arrays_made == 2 else 'return ' + expression}\n",
        space,
    )
    a = np.arange(900.0) / 100
    f = njit(space["f"])
    np.testing.assert_allclose(f(a, a), space["f"](a, a), rtol=1e-12)
    assert count(f, a, a) == arrays_made


def test_what_is_read_may_change_before():
    def f(a, b):
        t = a * 2
        a[0] = 50
        u = t[::2] + 1
        t2 = a + 1
        v = t2[1:]
        a[1] = 70
        w = v + 1
        b[:] = t2[0]
        return u, w, v[::2].sum()

    a, b = np.arange(7.0), np.zeros(3)
    c, d = a.copy(), b.copy()
    for got, want in zip(njit(f)(a, b), f(c, d), strict=True):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(b, d)


def test_what_others_see_keeps_its_array():
    """A view that is returned has NumPy's strides, and one of an array that is changed sees that."""

    @njit
    def returned(a):
        return (a * 2)[::2]

    @njit
    def changed(a):
        t = a * 2
        v = t[1:]
        t[1] = 9.0
        return (v + 1).sum()

    a = np.arange(6.0)
    assert returned(a).strides == (16,)
    assert changed(a) == changed.py_func(a)


def test_errors_are_the_same():
    f = njit(lambda a, b, i: (a + b)[i].sum())
    a = np.ones((3, 4))
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        f(a, a, 3)
    with pytest.raises(ValueError, match="could not be broadcast"):
        f(a, np.ones((2, 4)), 0)


def test_in_loops_and_handlers():
    @njit(parallel=True)
    def loop(a, out):
        for i in prange(len(out)):
            out[i] = (a * 2 + i)[1:-1].sum()

    @njit
    def handled(a, i):
        try:
            t = a + 1
            x = (t * 2)[i].sum()
            return x + (t[1:] - 1)[0].sum()
        except IndexError:
            return -1.0

    a, out = np.arange(9.0), np.zeros(5)
    loop(a, out)
    np.testing.assert_array_equal(out, [(a * 2 + i)[1:-1].sum() for i in range(5)])
    m = np.arange(12.0).reshape(3, 4)
    assert [handled(m, i) for i in (0, -1, 3)] == [handled.py_func(m, i) for i in (0, -1, 3)]


def test_very_many_axes():
    a = np.arange(4.0).reshape((2,) + (1,) * 11 + (2,))
    agree("(a * 2)[1:].sum()", a)
    agree("(a + 1)[..., ::-1].ravel()", a)


def test_differences_of_differences():
    """Each step reads the one before twice: what is computed again does not double with every step, in np.diff or by hand."""

    @njit
    def by_hand(a):
        b = a[1:] - a[:-1]
        c = b[1:] - b[:-1]
        d = c[1:] - c[:-1]
        e = d[1:] - d[:-1]
        g = e[1:] - e[:-1]
        h = g[1:] - g[:-1]
        i = h[1:] - h[:-1]
        return i[1:] - i[:-1]

    @njit
    def eight(a):
        return np.diff(a, n=8), np.diff(a, n=4), np.diff(a, n=3)

    for a in (np.random.default_rng(1).random(100), np.arange(40)[::2] ** 5, np.ones(5), np.ones(0)):
        if a.size > 8:
            np.testing.assert_array_equal(by_hand(a), np.diff(a, n=8))
        for got, n in zip(eight(a), (8, 4, 3)):
            np.testing.assert_array_equal(got, np.diff(a, n=n))
    for f, most in ((by_hand, 60), (eight, 60)):
        for text in f.inspect_ir().values():
            assert text.count(" sub ") < most * 2 and text.count("= pattern") < most
    b = np.random.default_rng(2).random((7, 6, 20))

    @njit
    def axes(a):
        return np.diff(a, n=5, axis=0), np.diff(a, n=4, axis=1), np.diff(a, n=16)

    for x in (b, np.asfortranarray(b), b[:, ::-1, ::-1]):
        for got, (n, axis) in zip(axes(x), ((5, 0), (4, 1), (16, 2))):
            np.testing.assert_array_equal(got, np.diff(x, n=n, axis=axis))
