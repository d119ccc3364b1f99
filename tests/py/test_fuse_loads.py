"""Gathers that fuse with what makes their indices and with what uses them (opt/pattern/fuse.c): values, arguments afterwards, and which exception of which line are Python's."""

from __future__ import annotations

import re

import numpy as np
import pytest
from treadle import njit, prange


def doubled_sum(x, i):
    return (x[i] * 2).sum()


def into_argument(x, i, y):
    y[:] = x[i] * 2
    return y.sum()


def in_place(x, i, y):
    y += x[i]
    y *= 2


def through_itself(x, i):
    x[:] = x[i] + 1


def tried(x, i, y):
    log = np.zeros(4)
    z = y * 1.0
    s = -1.0
    try:
        log[0] = 1.0
        z = x[i] - 1.0
        log[1] = z.sum()
        s = z.max()
        z[0] = 7.0
    except IndexError:
        log[2] = s
    return log, z, s


def two_lines(x, i, y, j):
    a = x[i] + 1
    b = y[j] * 2
    return a.sum(), b.sum(), a + b


def crossed(x, i, y, j):
    b = y[j]
    a = x[i]
    c = (a - b)[i % len(i)]
    return c, (b * c).max()


def chained(x, i, y, j):
    return y[j][(x[i]).astype(np.int64)].sum()


def stored_between(x, i, y, j):
    a = x[i]
    y[0] = 99.0
    b = y[j]
    x[1] = 55.0
    return a + b, (a * x[i]).sum()


def counted_then_failed(x, i, y, j):
    y[1] += 1.0
    a = (x[i] > 0).sum()
    y[2] += a
    b = x[j].sum()
    y[3] += b
    return a + b


def any_at_once(x, i):
    return (x[i] >= 0).any()


def all_at_once(x, i):
    return (x[i] < 0).all()


def any_and_array(x, i):
    m = x[i] > 0
    return m.any(), m, m.all(), m.sum()


def taken(x, i):
    return np.take(x, i).max(), np.take(x, i, mode="clip").sum(), np.take(x, i, mode="wrap").sum()


def kept(x, i):
    return x[i][x[i] > 0].sum() + len(i)


def kept_of_taken(x, i, y, j):
    t = x[i]
    k = t[t > 0]
    s = (y[j] + 0.5).min()
    return (k + s).sum()


def branched(x, i, y):
    a = x[i]
    if a.sum() > 0:
        b = a * 2
    else:
        b = a - y[0]
    return b.max(), (b + a).sum()


def looped(x, i, y):
    s = 0.0
    for k in range(3):
        a = x[i] * k
        y[k] = a.sum()
        s += (a + y[0]).max()
    return s


@njit
def note(y, k, s):
    y[k] += s
    return y[k]


def called(x, i, y):
    a = x[i]
    t = note(y, 0, 3.0)
    b = a + t
    note(y, 1, b.sum())
    return b


def rows(a, J):
    return a[0][J].sum(axis=1), a[0][J].max()


def rows_twice(a, J):
    t = a[0][J].max(axis=1)
    return t[J % len(t)], (a - t[:, None]).sum()


def row_of_its_own(r, J):
    t = r[J].max(axis=1)
    return t[J]


def row_into_itself(r, J):
    r -= r[-1 - J].max(axis=1) + 1


def row_into_itself_scaled(r, J):
    t = r[J].min(axis=1)
    r[:] = t * 2 - r[-1 - J].max(axis=1)
    return t


def planes(a, i, j):
    return a[i, j].sum(), (a[i, j] * a[j % a.shape[0], i % a.shape[1]]).max()


def planes_in_order(a, i, j):
    s = a[i, j] + 1
    t = a[i, 0] * 2
    return s + t, (s * t).sum()


def by_rows(a, i):
    b = a[i] * 2
    return b.sum(axis=1), b - b.max(axis=1)[:, None]


def columns(a, i):
    return (a[:, i] + 1).sum(axis=0), np.take(a, i, axis=1).max(axis=1)


def handed_out(a, i):
    out = np.zeros(a.shape[0])
    for q in prange(a.shape[0]):
        out[q] = (a[q][i] * 2).sum()
    return out


def scattered(x, i, y, j):
    z = np.zeros(len(x))
    np.add.at(z, i, y[j])
    z[j] = x[i] * 2
    return z


def item_between(x, i, y, j):
    a = x[i]
    v = y[j[2]]
    b = x[-1 - i]
    return (a + b * v).sum()


def item_of_indices(x, i, y, j):
    a = x[i].max()
    v = y[i[j[0]] % 8]
    b = (x[i] * 2 > v).any()
    return a, b


def size_between(x, i, y, j):
    a = x[i].sum()
    z = np.zeros(min(j[1], 9))
    b = (x[i] * 2).sum()
    return a + b, z


def store_between(x, i, y, j):
    a = x[i]
    y[j[2]] = 5.0
    b = x[i] + y[0]
    return (a + b * 2).sum()


def kept_and_least(x, j, y):
    k = y[::-1][: len(j)][x[j] > 0]
    s = (y[(np.arange(len(j)) * 3) % len(y)] + 0.5).min()
    return (k + s).sum()


X = np.arange(12.0) - 4
I = np.array([3, 1, -1, 0, 11, -12, 7, 7])  # noqa: E741
J = np.array([2, 0, 5, -8, 4, 1, 3, 6])
Y = np.arange(8.0)
A = np.arange(70.0).reshape(7, 10) % 11
K = np.array([0, 6, -7, 3, 2])
L = np.array([9, 0, -10, 5, 5])
R = np.arange(12.0)
P = (np.arange(108) * 7 % 12).reshape(12, 9)
Q = (np.arange(70) * 3 % 7).reshape(7, 10)

PROGRAMS = [
    (doubled_sum, X, I), (into_argument, X, I, Y), (in_place, X, I, Y), (through_itself, X, np.arange(12)[::-1]),
    (tried, X, I, Y), (two_lines, X, I, Y, J), (crossed, X, I, Y, J), (chained, np.abs(X) % 8, I, Y, J),
    (stored_between, X, I, Y, J), (counted_then_failed, X, I, Y, J), (any_at_once, X, I), (all_at_once, X, I),
    (any_and_array, X, I), (taken, X, I), (kept, X, np.arange(12)), (kept_of_taken, X, I, Y, J),
    (branched, X, I, Y), (looped, X, I, Y), (called, X, I, Y), (rows, A, Q), (rows_twice, A, Q),
    (row_of_its_own, R, P), (row_into_itself, R, P), (row_into_itself_scaled, R, P), (planes, A, K, K),
    (item_between, X, I, Y, J), (item_of_indices, X, np.abs(I) % 8, Y, J),
    (size_between, X, I, Y, J), (store_between, X, I, Y, J), (kept_and_least, X, J, Y),
    (planes_in_order, A, K, L), (by_rows, A, K), (columns, A, L), (handed_out, A, L), (scattered, X, I, Y, J),
]  # fmt: skip


def rows_by_places(r, J):
    K = J + 1
    t = r[K].max(axis=1)
    return (K - t[:, None]).sum(axis=1), t.max()


def rows_in_two_ways(r, J):
    t = r[J].sum(axis=1)
    return (r[J - 1] - t[:, None]).max(axis=1), r[J].min()


def rows_stored(r, J):
    r[: len(J)] -= r[-1 - J].max(axis=1) + 1


def rows_tried(r, J):
    t = np.zeros(3)
    try:
        K = J + 1
        t = r[K].max(axis=1)
        u = (K - t[:, None]).sum(axis=1)
        t = t + u
    except IndexError:
        t = t - 1
    return t


LARGE = [rows_by_places, rows_in_two_ways, rows_stored, rows_tried]


def outcome(f, args):
    """What comes out: values, arguments afterwards; or the exception, its line and the arguments."""
    try:
        with np.errstate(all="ignore"):
            y = f(*args)
    except Exception as e:
        tb, line = e.__traceback__, 0
        while tb:
            line = tb.tb_lineno if tb.tb_frame.f_code.co_filename == __file__ else line
            tb = tb.tb_next
        text = re.sub(r"index -?\d+ is", "index _ is", str(e))  # of several, which one is told is free
        if "broadcast" in text or "empty axes" in text or "size 0" in text:
            text = ""  # NumPy has others
        y = (type(e).__name__, text, line)
    return [np.asarray(a) for a in (y if isinstance(y, tuple) else (y,))], args


def variants(args):
    """The arguments as they are; each array of indices with one beyond at its ends, amid it; other types and layouts; nothing in an array."""
    yield "plain", args
    where = [k for k, a in enumerate(args) if a.dtype.kind == "i"]
    for k in where:
        for at in (0, args[k].size // 2, -1):
            for bad in (1 << 40, -(1 << 40)) if at else (12, -13):
                a = args[k].copy()
                a.flat[at] = bad
                yield f"{k} {at} {bad}", (*args[:k], a, *args[k + 1 :])
    if len(where) > 1:
        yield (
            "all",
            tuple(np.where(a == a.max(), 1 << 33, a) if k in where else a for k, a in enumerate(args)),
        )
    for dtype in ("i1", "u8", "i2"):
        yield (
            dtype,
            tuple((np.abs(a) % 7).astype(dtype) if a.dtype.kind == "i" else a.astype("f4") for a in args),
        )
    yield "strided", tuple(np.repeat(a, 2, axis=-1)[..., ::2] for a in args)
    yield "backwards", tuple(np.ascontiguousarray(a[::-1])[::-1] for a in args)
    yield "F", tuple(np.asfortranarray(a) for a in args)
    yield "nothing to take", tuple(a if k in where else a[:0] for k, a in enumerate(args))
    yield "no index", tuple(a[:0] if k in where else a for k, a in enumerate(args))
    yield "one", tuple(a[:1] * 0 for a in args)


def copies(args):
    """Arrays of their own, as they lie."""
    out = []
    for a in args:
        base = np.empty(tuple(2 * n + 1 for n in a.shape), a.dtype)
        b = a.copy(order="F" if a.ndim > 1 and a.flags.f_contiguous and not a.flags.c_contiguous else "C")
        if not a.flags.c_contiguous and not a.flags.f_contiguous:
            b = base[tuple(slice(1, 2 * n + 1, 2) for n in a.shape)]
            b[...] = a
        out.append(b)
    return tuple(out)


@pytest.mark.parametrize(
    "program, parallel",
    [(p, False) for p in PROGRAMS] + [(p, True) for p in PROGRAMS[::3]],
    ids=lambda p: p[0].__name__ if isinstance(p, tuple) else "parallel" if p else "",
)
def test_as_numpy(program, parallel):
    f, *args = program
    compiled = njit(f, parallel=parallel)
    failed = 0
    tried = 0
    for name, given in variants(tuple(args)):
        want, after = outcome(f, copies(given))
        if want[0].dtype.kind == "U" and str(want[0]) not in ("IndexError", "ValueError"):
            continue
        got, left = outcome(compiled, copies(given))
        if str(got[0]) == "TypingError":
            continue  # what decides types here, NumPy decides by values
        tried += 1
        failed += want[0].dtype.kind == "U"
        assert len(got) == len(want), (name, got, want)
        for a, b in zip([*got, *left], [*want, *after], strict=True):
            assert a.shape == b.shape and a.dtype.kind == b.dtype.kind, name
            if b.dtype.kind in "UO":
                assert str(a) == str(b), name
            else:
                np.testing.assert_allclose(a, b, rtol=1e-5 if b.dtype.itemsize == 4 else 1e-12, err_msg=name)
    assert tried > 10 and (failed > 3 or f.__name__ == "tried")


@pytest.mark.parametrize("parallel", [False, True], ids=["", "parallel"])
@pytest.mark.parametrize("f", LARGE, ids=lambda f: f.__name__)
def test_rows(f, parallel):
    """Row by row where rows are many and long (opt/pattern/byrow.c), one after the other where they are not."""
    compiled = njit(f, parallel=parallel)
    for shape in ((5, 9), (600, 300), (70, 2000)):
        places = np.random.default_rng(1).integers(0, 600, shape)
        for at in (None, 0, places.size // 2, -1):
            given = np.minimum(places, 598)
            if at is not None:
                given.flat[at] = 1 << 30
            args = (np.random.default_rng(2).integers(-50, 50, 700) * 0.25, given)
            want, after = outcome(f, copies(args))
            got, left = outcome(compiled, copies(args))
            assert (want[0].dtype.kind == "U") == (at is not None and f is not rows_tried)
            for a, b in zip([*got, *left], [*want, *after], strict=True):
                if b.dtype.kind in "UO":
                    assert str(a) == str(b)
                else:
                    np.testing.assert_allclose(a, b, rtol=1e-12)


def test_nothing_is_read_out_of_range():
    """A zero stands for what an index out of range would load, of whatever type and size."""
    wide = np.zeros(6, [("a", "f8"), ("b", "i4"), ("c", "f8", (8,))])
    wide["a"], wide["b"] = np.arange(6) * 0.5, np.arange(6)

    @njit
    def parts(r, i):
        return (r["a"][i] * 2).sum(), r["b"][i].max()

    @njit
    def items(x, i):
        return (x[i] == x[0]).any(), x[i]

    arrays = [
        np.arange(6) > 2, np.arange(6, dtype="i1"), np.arange(6, dtype="f4"), np.arange(6) + 1j,
        np.array(["2020-01-01", "2021-05-05", "1999-12-31"] * 2, "M8[D]"),
    ]  # fmt: skip
    good = np.array([1, 0, 5, -6, 2])
    assert parts(wide, good) == parts.py_func(wide, good)
    for x in arrays:
        for a, b in zip(items(x, good), items.py_func(x, good), strict=True):
            np.testing.assert_array_equal(a, b)
    for bad in (6, -7, 1 << 40, -(1 << 50)):
        for at in range(5):
            i = good.copy()
            i[at] = bad
            for f, x in [(parts, wide), *((items, x) for x in arrays)]:
                with pytest.raises(IndexError, match=f"index {bad} is out of bounds for axis 0 with size 6"):
                    f(x, i)


def test_what_cannot_change_any_more_still_tests():
    """`any` is known at the first item: an index out of range behind it raises all the same."""

    @njit
    def f(x, i):
        return (x[i] > 0).any()

    @njit
    def g(x, i):
        m = x[i] > 0
        return m.any(), m, (~m).all()

    x = np.ones(50001)
    for at in (0, 16384, 50000):
        i = np.arange(50001)
        assert f(x, i) and g(x, i)[1].all()
        i[at] = 50001
        for h in (f, g):
            with pytest.raises(IndexError, match="index 50001 "):
                h(x, i)
