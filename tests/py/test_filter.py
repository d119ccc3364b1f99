"""What a mask keeps: reduced without an array of it, on any dtype, layout and number of cores; and the same where it is kept."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import treadle
import treadle.parallel as tp
from hypothesis import strategies as st
from treadle import njit, prange

sys.path.insert(0, str(Path(__file__).parent))
from arrays_check import REAL, agree, arrays, given, shapes  # noqa: E402

NUMBERS = [t for t in REAL if np.dtype(t).kind != "b"]
REDUCE = [
    "a[{m}].sum()",
    "np.sum(a[{m}] * 2 + 1)",
    "np.prod(a[{m}])",
    "a[{m}].mean()",
    "np.any(a[{m}] > 1), np.all(a[{m}] > 1)",
    "np.count_nonzero(a[{m}])",
    "len(a[{m}]), a[{m}].size",
    "a[{m}].var()",
    "np.flatnonzero({m}).sum()",
    "np.cumsum(a[{m}])",
    "np.sum(a[{m}]) + a[{m}][:1].sum()",
]
SOME = ["a[{m}].max()", "a[{m}].min() + np.ptp(a[{m}])", "np.argmax(a[{m}])"]
MASKS = ["a > 0", "(a > 0) & (a < 3)", "a == a", "a != a", "m"]


def made(expression, **options):
    space = {"np": np}
    exec(f"def f(a, m):\n    return {expression}\n", space)
    return space["f"], njit(**options)(space["f"])


def compared(expression, a, m, **options):
    """Both ways, or the same exception. Sums of floats are added up in another order than NumPy's."""
    plain, compiled = made(expression, **options)
    try:
        with np.errstate(all="ignore"):
            want = plain(a, m)
    except ValueError as err:
        with pytest.raises(ValueError, match=str(err).split(" ")[0]):
            compiled(a, m)
        return
    got = compiled(a, m)
    pairs = zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]
    for g, w in pairs:
        assert not isinstance(g, np.ndarray) or g.dtype == w.dtype
        np.testing.assert_allclose(g, w, rtol=1e-3 if a.dtype.itemsize < 8 else 1e-9, atol=1e-6)


@given(
    arrays(NUMBERS, shapes(2).filter(len)),
    st.sampled_from(REDUCE + SOME),
    st.sampled_from(MASKS),
    st.booleans(),
)
def test_reductions(a, expression, mask, parallel):
    if a.dtype.kind == "f":
        a = np.clip(np.nan_to_num(a), -100, 100).astype(a.dtype)
    rng = np.random.default_rng(a.size)
    compared(expression.format(m=mask), a, rng.random(a.shape) < 0.4, parallel=parallel)


TWO = [
    "np.sum(a[m] * b[m])",
    "a[m], b[m]",
    "a[m], b[m], (a[m] + b[m]).max(), len(b[m])",
    "(a[m] * b[m] + a[m]).sum()",
    "a[m].mean() - a[m].max()",
    "np.nonzero(m), a[m]",
    "a[m], b[~m]",
    "np.sum(a[m] * b[m] * a[m] + b[m])",
    "a[m] * b[m], b[m] - a[m], (a + b)[m]",
    "a[m].sum(), b[m].mean(), (a * b)[m].max(), b[m][:2]",
    "(a[m] + b[m]).sum() / len(a[m]) * (a * 2)[m] - b[m]",
]


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("expression", TWO)
def test_two_by_one_mask(expression, parallel):
    f = eval(f"lambda a, b, m: ({expression})", {"np": np})
    g = njit(parallel=parallel)(f)
    rng = np.random.default_rng(2)
    for n in (1, 5, 40_000):
        a, b = rng.integers(-50, 50, (2, n)).astype(float)
        for m in (rng.random(n) < 0.5, np.ones(n, bool)):
            m[0] = True
            for x, y, k in ((a, b, m), (a.repeat(2)[::2], b[::-1].copy()[::-1], m), (a, b.astype("i4"), m)):
                np.testing.assert_equal(g(x, y, k), f(x, y, k))
    if "b[m]" in expression:
        with pytest.raises(IndexError, match="boolean index did not match"):
            g(a, b[1:], m)


@pytest.mark.parametrize("expression", ["a[m] * b[m]", "a[m] * b[m] * a[m] + b[m]"])
def test_two_by_one_mask_make_no_array(expression):
    plain = eval(f"lambda a, b, m: np.sum({expression})", {"np": np})
    f = njit(plain)
    a = np.arange(5000.0)
    f(a, a, a > 9)
    before = treadle.stats()["arrays_allocated"]
    assert f(a, a + 1, a > 9) == plain(a, a + 1, a > 9)
    assert treadle.stats()["arrays_allocated"] == before


def test_stores_between_two_filters():
    def f(a, b, m):
        x = a[m]
        b[0] = 7.0
        y = b[m]
        m[0] = not m[0]
        return x, y, a[m], a.sum(), a.sum()

    a, m = np.arange(6.0), np.arange(6) % 2 == 0
    for one in (a.copy(), a):  # another array, and the same one
        want = f(a.copy(), one.copy(), m.copy())
        got = njit(f)(a.copy(), one.copy(), m.copy())
        np.testing.assert_equal(got, want)
    same, other = np.arange(6.0), np.arange(6.0)
    np.testing.assert_equal(njit(f)(same, same, m.copy()), f(other, other, m.copy()))


@pytest.mark.parametrize("parallel", [False, True])
def test_what_reads_packed_arrays_waits_for_the_next(parallel):
    """Or does not: where what it reads or writes is met between the two."""

    def stored(a, b, m, out):
        x = a[m] * b[m] * out[: len(a[m])]
        out[:3] = 5.0
        y = b[m] + out[: len(x)]
        return x, y, out

    def written(a, b, m, out):
        x = np.empty(a.size)
        n = len(a[m])
        x[:n] = a[m] * b[m]
        out[:n] = x[:n] + 1
        x[:n] += b[m]
        return x[:n], out, x[:n].sum()

    def raises(a, b, m, out):
        try:
            x = a[m] + b[m]
            out[:] = 1.0
            return (x * out[m] + out[m]).sum(), out[5]
        except IndexError:
            return -1.0, out[0]

    rng = np.random.default_rng(4)
    for f in (stored, written, raises):
        g = njit(parallel=parallel)(f)
        for n in (6, 50_000):
            a, b = rng.integers(-50, 50, (2, n)).astype(float)
            m = rng.random(n) < 0.5
            m[:4] = True
            for other in (np.arange(n) + 0.5, None):  # an array of its own, and b
                want_b, got_b = b.copy(), b.copy()
                want = f(a, want_b, m, want_b if other is None else other.copy())
                got = g(a, got_b, m, got_b if other is None else other.copy())
                np.testing.assert_equal(got, want)
                np.testing.assert_equal(got_b, want_b)


@pytest.mark.parametrize(
    "expression", ["a[a > 0].sum()", "np.sum(a[m] * 2.0 + 1)", "a[a > 0].mean()", "a[m].max()", "len(a[m])", "(a * 2)[m].sum()", "np.sum((a + a[0])[m] * a[m])", "np.sum((a + a[::-1])[m] * a[m])"]
)  # fmt: skip
def test_no_array_is_made(expression):
    _, f = made(expression)
    rng = np.random.default_rng(1)
    a = rng.standard_normal(5000)
    f(a, a > 0.3)
    before = treadle.stats()["arrays_allocated"]
    f(a, a > 0.3)
    assert treadle.stats()["arrays_allocated"] == before


COMPUTED = [
    "(a * 2)[m].sum()",
    "(a + b)[m] * b[m]",
    "((a + b)[m] * a[m]).sum(), (a - b)[m].max(initial=0)",
    "(a[m] * (a * b)[m]).sum() + a.sum()",
    "np.flatnonzero(m).sum() + (a * b)[m].size + (a + b).sum()",
    "(a + b)[m & (a > 1)], (a + b)[a > 1].sum()",
]


@given(
    arrays([np.float64, np.int32, np.uint8], shapes(2).filter(len)),
    st.sampled_from(COMPUTED),
    st.sampled_from(["whole", "repeats", "short", "long", "other layout"]),
    st.booleans(),
)
def test_masks_over_what_is_computed(a, expression, how, parallel):
    """Behind the test of a mask's size it is that of the array: what computes and what keeps are one pass, or the same exception."""
    plain = eval(f"lambda a, b, m: ({expression})", {"np": np})
    b = a[:1] if how == "repeats" else a[::-1]
    m = np.asarray(a > 1)
    m = m[:-1] if how == "short" else np.concatenate([m, m[:1]]) if how == "long" else m.T.copy().T if how == "other layout" else m  # fmt: skip
    with np.errstate(all="ignore"):
        try:
            want = plain(a, b, m)
        except (IndexError, ValueError) as err:
            with pytest.raises(type(err)):
                njit(parallel=parallel)(plain)(a, b, m)
            return
    got = njit(parallel=parallel)(plain)(a, b, m)
    for g, w in zip(*((x if isinstance(x, tuple) else (x,)) for x in (got, want)), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("parallel", [False, True])
def test_one_mask_written_twice(parallel):
    """It is computed once, unless something has changed between, or somebody else knows the array."""

    def same(a, b):
        return (a[a > 3] * b[a > 3]).sum(), (a[a > 3] + b[b > 3].sum()).sum(), a[a > 3].max()

    def changed(a, b):
        x = a[a > 3].sum()
        a[0] = 9.0
        return x, a[a > 3].sum(), (a[a > 3] * b[a > 3]).sum()

    def known(a, b):
        m, k = a > 3, a > 3
        m[1] = not m[1]
        return m, k, (a[m] * a[m]).sum(), a[k].sum()

    def kept(a, b):
        m, k = a > 3, a > 3
        return (a[m] * b[k]).sum(), k

    for f in (same, changed, known, kept):
        a, b = np.arange(8.0), np.arange(8.0)[::-1].copy()
        want = f(a.copy(), b)
        for g, w in zip(njit(parallel=parallel)(f)(a.copy(), b), want, strict=True):
            np.testing.assert_array_equal(g, w)
    plain = eval("lambda a, b: (a[a > 3] * b[a > 3]).sum()")
    f = njit(plain)
    a = np.arange(5000.0)
    f(a, a)
    before = treadle.stats()["arrays_allocated"]
    assert f(a, a + 1) == plain(a, a + 1)
    assert treadle.stats()["arrays_allocated"] == before


@pytest.mark.parametrize("kept", [0, 1, 999, 1000])
@pytest.mark.parametrize("shape", [(1000,), (10, 100), (0,)])
def test_how_many(kept, shape):
    n = int(np.prod(shape))
    a = np.arange(n, dtype=float).reshape(shape)
    m = a >= n - kept
    compared("a[m].sum(), a[m].size", a, m)
    compared("a[m]", a, m)
    compared("a.T[m.T].sum()", a, m)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_sum_depends_on_no_number_of_threads(threads):
    rng = np.random.default_rng(3)
    a = rng.standard_normal(300_001)
    _, serial = made("a[a > 0.1].sum()")
    _, parallel = made("a[a > 0.1].sum()", parallel=True)
    before = treadle.get_num_threads()
    treadle.set_num_threads(min(threads, before))
    try:
        assert parallel(a, a) == serial(a, a)
    finally:
        treadle.set_num_threads(before)


def test_what_was_kept_may_change_before_it_is_reduced():
    def f(a, b):
        x = a[a > 0]
        a[:] = 1.0
        s = x.sum()
        x[0] = 100.0
        return s, x.sum(), x, (a[a > 0] + b[b > 5]).sum()

    a, b = np.arange(-3.0, 4.0), np.arange(-1.0, 13.0)
    want = f(a.copy(), b)
    for g, w in zip(njit(f)(a.copy(), b), want, strict=True):
        np.testing.assert_array_equal(g, w)


def test_sizes_that_do_not_agree():
    f = njit(lambda a, b: (a[a > 0] * b).sum())
    assert f(np.array([1.0, -1.0, 2.0]), np.array([3.0, 4.0])) == 11.0
    with pytest.raises(ValueError):
        f(np.array([1.0, -1.0, 2.0]), np.ones(3))
    with pytest.raises(IndexError, match="boolean index"):
        made("a[m].sum()")[1](np.ones(3), np.ones(4, bool))


def test_in_loops_on_all_cores():
    @njit(parallel=True)
    def f(a, out):
        for i in prange(a.shape[0]):
            row = a[i]
            out[i] = row[row > 0].sum() + len(np.flatnonzero(row < -1))

    a = np.random.default_rng(5).standard_normal((300, 70))
    out = np.empty(300)
    f(a, out)
    np.testing.assert_allclose(out, [r[r > 0].sum() + (r < -1).sum() for r in a])


def test_agree_with_arrays_of_it():
    agree("(a[b], a[~b], np.flatnonzero(b), a[b].sum(dtype=np.int64))", np.arange(12), np.arange(12) % 3 == 0)


@pytest.mark.parametrize("reduced", ["any()", "sum()", "max()"])
def test_a_reduction_that_nobody_uses(reduced):
    """It goes, and what took its value out with it."""
    space = {}
    exec(f"def f(a):\n    m = a > 1\n    x = a[m].{reduced}\n    y = a[m].sum()\n    return y", space)
    assert njit(space["f"])(np.arange(6)) == 14
    exec(f"def f(a):\n    m = a > 1\n    x = a[m].{reduced}\n    return 1", space)
    assert njit(space["f"])(np.arange(6)) == 1


def test_masks_of_every_length():
    """Words, rounds and what is left of them; with room for all or not; in order, on all cores too."""
    kept = njit(lambda a, m: (np.flatnonzero(m), a[m], a[m] * 2 + 1, a[a > 0.5], np.flatnonzero(m[::-1])))
    spread = njit(parallel=True)(lambda a, m: (np.flatnonzero(m), a[m]))
    grid = njit(lambda m: np.nonzero(m))
    rng = np.random.default_rng(0)
    for n in (*range(0, 76), 4097):
        for share in (0.0, 0.03, 0.5, 1.0):
            a, m = rng.random(n), rng.random(n) < share
            want = np.flatnonzero(m), a[m], a[m] * 2 + 1, a[a > 0.5], np.flatnonzero(m[::-1])
            np.testing.assert_equal(kept(a, m), want)
            np.testing.assert_equal(spread(a, m), want[:2])
            rows = rng.random((3, n)) < share
            np.testing.assert_equal(grid(rows), np.nonzero(rows))


FILTERS = [
    "a[a > c]",
    "(a * a + 1)[a * a + 1 > c]",
    "a[a > c], a[a < -c]",
    "np.flatnonzero(a > c)",
    "a[(a > -c) & (a < c)][:5]",
    "(a * 2)[a > c] + 1",
]
AT_ONCE: dict[tuple[str, bool], Any] = {}


@given(
    st.sampled_from(FILTERS),
    st.sampled_from(["f4", "f8", "i1", "i8"]),
    st.sampled_from([0, 1, 511, 8192, 8193, 16_384, 16_385, 70_000]),
    st.sampled_from([-200, -1, 0, 0.5, 20, 30, 99, 100, 200]),
    st.booleans(),
    st.integers(1, 3),
)
def test_little_and_much_is_kept(expression, dtype, n, c, parallel, step):
    """There is room for all before it is known how many there are; few of many get an array of their own."""
    if (expression, parallel) not in AT_ONCE:
        space = {"np": np}
        exec(f"def f(a, c):\n    return {expression}\n", space)
        AT_ONCE[expression, parallel] = space["f"], njit(parallel=parallel)(space["f"])
    plain, compiled = AT_ONCE[expression, parallel]
    a = np.random.default_rng(n).integers(-100, 100, n * step).astype(dtype)[::step]
    c = np.array(np.clip(c, -128, 127)).astype(dtype)[()]
    with np.errstate(all="ignore"):
        want = plain(a, c)
    got = compiled(a, c)
    for g, w in zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]:
        assert g.dtype == w.dtype and g.shape == w.shape and g.tobytes() == w.tobytes()


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("n", [33, 50_000])
def test_what_is_kept_is_read_as_an_array_of_any_layout(n, parallel):
    """By a sort of both filters of a mask, of few and of many items."""

    def f(x, y, c):
        m = y > c
        return tp.sort_by_key(x[m], y[m])[1]

    rng = np.random.default_rng(n)
    y, x = rng.standard_normal(2 * n)[::2], rng.permutation(n).astype("i4")[::-1]
    for c in (-9.0, 0.0, 1.5, 9.0):
        order = np.argsort(x[y > c], kind="stable")
        lazy = tp.evaluate(f(tp.array(x), tp.array(y), c), parallel=parallel)
        for got in lazy, njit(f, parallel=parallel)(x, y, c):
            assert np.array_equal(np.asarray(got), y[y > c][order])
