"""Merged patterns give what NumPy gives step by step: any expression, any sizes that broadcast, arrays that overlap."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import njit


def expressions():
    """Texts of array expressions over 2-d arrays a, b, c of one shape or sizes that broadcast."""
    leaf = st.sampled_from(["a", "b", "c", "k"])
    return st.recursive(
        leaf,
        lambda x: st.one_of(
            st.tuples(x, st.sampled_from("+-*"), x).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
            x.map(lambda e: f"np.maximum({e}, a)"),
            x.map(lambda e: f"np.where({e} > 0.5, {e}, -b)"),
            x.map(lambda e: f"np.sqrt(np.abs({e}))"),
        ),
        max_leaves=8,
    )


def shapes():
    """Three shapes that broadcast to (n, m)."""
    return st.tuples(st.integers(0, 9), st.integers(0, 9)).flatmap(
        lambda s: st.tuples(*[st.sampled_from([s, s, s, (1, s[1]), (s[0], 1), (1, 1)]) for _ in range(3)])
    )


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(expressions(), min_size=1, max_size=3), shapes(), st.integers(0, 2**32))
def test_expressions(texts, sizes, seed):
    lines = [f"    t{i} = ({e}) + 0.0 * a" for i, e in enumerate(texts)]
    out = ", ".join(f"t{i}" for i in range(len(texts)))
    used = " + ".join(f"t{i}" for i in range(len(texts)))
    source = "def f(a, b, c, k):\n" + "\n".join(lines) + f"\n    s = {used}\n    return s * 2.0, {out}\n"
    space = {"np": np}
    exec(source, space)
    rng = np.random.default_rng(seed)
    args = [rng.standard_normal(s) for s in sizes] + [rng.standard_normal()]
    with np.errstate(all="ignore"):
        want = space["f"](*args)
    got = njit(space["f"])(*args)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_array_equal(g, w)


def test_sizes_that_do_not_agree():
    @njit
    def f(a, b, c):
        t = a + b
        return t * c

    x, y = np.ones(3), np.ones(4)
    np.testing.assert_array_equal(f(x, np.ones(1), x), x * 2)
    np.testing.assert_array_equal(f(np.ones(1), y, y), y * 2)
    for args in [(x, y, x), (x, x, y)]:
        with pytest.raises(ValueError, match=r"\(3,\) \(4,\)"):
            f(*args)


def test_sizes_of_an_earlier_expression():
    """What is made in two versions, with sizes that agree and without, has no sizes of one of them in a later expression."""

    @njit
    def f(a, k):
        first = a ^ a[0, :1]
        x = a % a[0]
        if k > 0:
            k += 1
        return first, x ^ (k != a[::-1])

    for shape in ((4, 2, 4), (4, 1, 4), (1, 2, 3)):
        a = (np.arange(np.prod(shape)) * 7919 % 251 + 1).reshape(shape)
        for got, want in zip(f(a, 1), f.py_func(a, 1), strict=True):
            np.testing.assert_array_equal(got, want)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.integers(2, 12),
    st.integers(0, 4),
    st.integers(0, 4),
    st.sampled_from(
        [
            "d[:] = s * 2.0 + 1.0",
            "d += s",
            "d[:] = s + d",
            "d *= 2.0; d[:] = s - d",
            "t = s * 3.0; d[:] = t; t += d",
        ]
    ),
)
def test_overlap(n, i, j, text):
    """Views of one array, read and written: all is read before anything is written, statement by statement."""
    source = f"def f(x, i, j, n):\n    d = x[i:i + n]\n    s = x[j:j + n]\n    {text}\n    return d.sum()\n"
    space = {}
    exec(source, space)
    a = np.arange(20.0) ** 1.5
    b = a.copy()
    want = space["f"](a, i, j, n)
    assert njit(space["f"])(b, i, j, n) == pytest.approx(want, rel=1e-12)
    np.testing.assert_array_equal(a, b)


@settings(max_examples=examples(80), deadline=None)
@given(
    st.sampled_from([(1, 1), (1, 4), (4, 1), (2, 2), (3, 3), (3, 5), (3, 2, 4), (2, 1, 3), (1, 3, 3)]),
    st.sampled_from(
        [
            "a[0]",
            "a[-1]",
            "a[:1]",
            "a[0][None]",
            "a[..., :1]",
            "a[..., 0:1]",
            "a[::-1]",
            "a[:, :1]",
            "a.T.T",
            "a[0, 0]",
        ]
    ),
    st.sampled_from(
        ["a[...] = {s} - a", "a[:] = a * 2 + {s}", "a += {s}", "a[:] = {s} != a", "t = {s} * 2; a[:] = t + a"]
    ),
)
def test_overlap_of_few_with_many(shape, view, text):
    """A view that begins where its array does and has the same strides, but fewer elements: each meets many of the array."""
    space = {}
    exec(f"def f(a):\n    {text.format(s=view)}\n", space)
    a = (np.arange(np.prod(shape)) * 7919 % 251 + 1.0).reshape(shape)
    b = a.copy()
    space["f"](a)
    njit(space["f"])(b)
    np.testing.assert_array_equal(a, b)


def test_reductions_beside_each_other():
    @njit
    def f(a, b):
        d = a - b
        return d.sum(), (d * d).sum(), d.min(), d.max(), np.abs(d).max(), d.argmax(), d

    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((2, 1000))
    got, want = f(a, b), f.py_func(a, b)
    for g, w in zip(got[2:], want[2:], strict=True):
        np.testing.assert_array_equal(g, w)
    np.testing.assert_allclose(got[:2], want[:2], rtol=1e-13)


def test_written_between():
    """What a pattern reads is changed before the one that it could be merged with."""

    @njit
    def f(a, b):
        t = a * 2.0
        a[0] = 100.0
        u = t + b
        b[:] = 7.0
        v = u + t
        return u, v

    x, y = np.arange(4.0), np.ones(4)
    p, q = x.copy(), y.copy()
    for g, w in zip(f(x, y), f.py_func(p, q), strict=True):
        np.testing.assert_array_equal(g, w)
    np.testing.assert_array_equal(x, p)
    np.testing.assert_array_equal(y, q)


def test_arrays_that_are_not_made():
    import treadle

    @njit
    def f(a, b):
        return (a * 2.0 + b * 3.0 - a * b).sum()

    a = np.ones(10)
    f(a, a)
    before = treadle.stats()["arrays_allocated"]
    assert f(a, a) == 40.0
    assert treadle.stats()["arrays_allocated"] == before


def forces(x):
    return ((x[None] - x[:, None]) * np.abs(x)).sum(axis=1)


def forces_and_more(x):
    m = -x
    return ((x[None] - x[:, None]) * m).sum(axis=1), m


def into_itself(x):
    x[:] = ((x[None] - x[:, None]) * (x + 2)).sum(axis=1)
    return x


def step_by_step(x):
    x = x * 0.01
    for _ in range(3):
        x = x + ((x[None] - x[:, None]) * np.abs(x)).sum(axis=1) * 0.01
    return x


def stored_between(x):
    m = x + x
    x[0] = 5
    return ((x[None] - x[:, None]) * m).sum(axis=1)


def of_rows(x):
    y = x[:4] * x[:4]
    z = np.abs(y)
    return (z * (y - y[:, :1])).max(axis=1), (x - x[-1]).sum()


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1"])
def test_what_is_made_of_what_is_read_beside_it(dtype):
    """By one instruction, and read by the same view: no array, where nothing is stored in between (opt/pattern/recompute.c)."""
    x = (np.random.default_rng(2).random(40) * 100 - (0 if dtype == "u1" else 50)).astype(dtype)
    for f in (
        forces,
        forces_and_more,
        into_itself,
        stored_between,
        *([step_by_step] if dtype[0] == "f" else []),
    ):
        for a in (x, x[::3], x[:1], x[:0]):
            if f is stored_between and not a.size:
                continue
            want = f(np.array(a))
            for compiled in (njit(f), njit(f, parallel=True)):
                b = np.repeat(a, 2)[::2]
                got = compiled(b)
                for g, w in zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]:
                    np.testing.assert_allclose(g, w, rtol=1e-4 if dtype == "f4" else 1e-9, atol=1e-3)
    y = x.reshape(8, 5)
    for g, w in zip(njit(of_rows)(y), of_rows(y), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-4)
    if dtype[0] == "f":
        for f, n in ((forces, 0), (forces_and_more, 1), (stored_between, 1)):
            compiled = njit(f)
            compiled(np.array(x))
            assert len(re.findall(r"pattern \[(?!keep)", compiled.inspect("opt").popitem()[1])) == n, (
                f.__name__
            )


PROGRAM = """
import numpy as np
from treadle import njit
@njit
def f(a, b):
    t = a * 2.0
    u = t + b
    v = u + u[::-1]
    return v
f(np.ones(4), np.ones(4))
"""


def test_dump_says_what_was_merged():
    env = os.environ | {"TREADLE_DUMP": "fuse"}
    r = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)
    assert "patterns of lines 6 and 7: merged, what the first writes is read at once" in r.stderr
    assert "not merged: the second reads the array by another view" in r.stderr
    env = os.environ | {"TREADLE_DUMP": "fuse", "TREADLE_SKIP": "fuse"}
    r = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)
    assert "merged" not in r.stderr


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from(["f8", "f4", "i4", "c16", "?"]),
    st.lists(st.sampled_from([1, 2, -1, 3, 0, -2]), min_size=3, max_size=3),
    st.sampled_from([0, 1, 2, 511, 512, 513, 1100]),
    st.booleans(),
)
def test_strides(dtype, steps, n, two):
    """Slices, reversed ones, and what repeats: in chunks, through buffers or directly."""

    @njit
    def f(x, y, z):
        z[...] = np.where(x == y, x, y)
        return (x == y).sum(), z.sum()

    rng = np.random.default_rng(n)

    def strided(step):
        base = (rng.standard_normal(max(n, 1) * max(abs(step), 1) * (3 if two else 1)) * 3).astype(dtype)
        if two:
            base = base.reshape(3, -1)
        if step == 0:
            return np.broadcast_to(base[..., :1], (*base.shape[:-1], n))
        return base[..., ::step][..., :n]

    x, y = strided(steps[0]), strided(steps[1])
    z, w = (strided(steps[2] or 1).copy() for _ in range(2))
    if steps[2] > 1:
        z, w = (np.repeat(v, steps[2], -1)[..., :: steps[2]] for v in (z, w))
    got, want = f(x, y, z), f.py_func(x, y, w)
    np.testing.assert_array_equal(z, w)
    assert got[0] == want[0]
    np.testing.assert_allclose(got[1], want[1], rtol=1e-5, atol=1e-5)


def test_absurd_sizes_raise_though_the_array_is_merged_away():
    """Not a loop that runs for years."""

    @njit
    def total(n):
        return np.zeros(n).sum()

    @njit
    def outer(n, m):
        return np.full((n, m), 2.0).max(axis=0).shape

    assert total(3) == 0
    assert outer(2, 3) == (3,)
    for n in (2**62, 2**50):
        with pytest.raises(MemoryError, match=str(n)):
            total(n)
        with pytest.raises((MemoryError, ValueError)):
            outer(n, 3)
    with pytest.raises(ValueError, match="negative"):
        total(-1)
