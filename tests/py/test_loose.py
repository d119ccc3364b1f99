"""Arrays whose items are not aligned to their size: what a buffer has at an odd place, and fields of records."""

from __future__ import annotations

import numpy as np
import pytest
import treadle
import treadle.parallel as tp
from numpy.linalg import _umath_linalg as linalg
from treadle import guvectorize, njit, prange, vectorize

DTYPES = ["?", "i2", "u4", "i8", "f2", "f4", "f8", "c8", "c16"]


def odd(a, by=1, order="C"):
    """The array again, in memory that begins `by` bytes after where its items would be aligned."""
    a = np.asarray(a)
    raw = np.zeros(a.nbytes + 64, "u1")
    by += -raw.ctypes.data % 16
    out = raw[by : by + a.nbytes].view(a.dtype).reshape(a.shape, order=order)
    out[...] = a
    assert a.itemsize == 1 or a.dtype == "?" or not out.flags.aligned
    return out


def field(a):
    """The array again as a field of packed records, whose items are no whole number of them apart."""
    out = np.zeros(a.shape, np.dtype([("tag", "u1"), ("x", a.dtype)]))["x"]
    out[...] = a
    return out


def ways(a):
    yield odd(a)
    yield odd(a, 3, "F")
    yield odd(np.repeat(a, 2, axis=-1), 5)[..., ::2] if a.ndim else odd(a, 7)
    yield odd(a[::-1], 1)[::-1] if a.ndim else odd(a, 2)
    yield field(a)


def same(got, want):
    if isinstance(want, tuple):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            same(g, w)
        return
    np.testing.assert_allclose(got, want, rtol=1e-6)
    assert np.asarray(got).dtype == np.asarray(want).dtype


def first_of(x):
    return np.asarray(x[0] if isinstance(x, tuple) else x, "f8")


def data(dtype, *shape):
    rng = np.random.default_rng(5)
    return (rng.random(shape) * 50).astype(dtype)


FUNCTIONS = {
    "sum": lambda a: (a.sum(), a.sum(axis=0), a.mean()),
    "extremes": lambda a: (a.max(), a.min(), a.argmax(), a.argmin(), a.all()),
    "expression": lambda a: np.sqrt(a * a + 1) - a / 3,
    "rows": lambda a: a[0] + a[-1],
    "views": lambda a: (a[1:], a[::2], a[::-1], a.T, a[:, 1:]),
    "gather": lambda a: a[np.array([0, 2, 1])],
    "mask": lambda a: a[a > 20],
    "sorts": lambda a: (np.sort(a), np.argsort(a, kind="stable"), np.unique(a), np.median(a)),
    "product": lambda a: (a @ a.T, np.dot(a[0], a[1])),
    "scan": lambda a: (np.cumsum(a), np.diff(a)),
    "joined": lambda a: (np.concatenate((a, a)), np.stack((a, a)), np.hstack((a, a + 1))),
    "sets": lambda a: (np.searchsorted(np.sort(a[0]), a[1]), np.histogram(a, 4)[0]),
    "copied": lambda a: (a.copy(), a.astype(np.float32), np.ascontiguousarray(a), a.ravel()),
    "chosen": lambda a: (np.where(a > 3, a, 0), np.clip(a, 2, 9), np.roll(a, 1), np.tril(a)),
    "inverse": lambda a: (linalg.inv(a[:3, :3]), np.linalg.det(a[:3, :3])),
    "einsum": lambda a: np.einsum("ij,kj->ik", a, a),
    "rounded": lambda a: (np.round(a, 1), np.floor(a), abs(a), -a),
    "broadcast": lambda a: (np.broadcast_to(a, (2, *a.shape)), np.broadcast_to(a[0], a.shape) + 1),
    "builtin": lambda a: (sum(a[0]), max(a[1]), len(a)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("parallel", [False, True])
def test_reads(name, parallel):
    f = FUNCTIONS[name]
    g = njit(parallel=parallel)(f)
    for dtype in ("f8", "f4", "i8") if name != "inverse" else ("f8",):
        a = data(dtype, 5, 12)
        want = g(a.copy())
        same(first_of(want), first_of(f(a)))
        for x in ways(a):
            before = x.copy()
            same(g(x), want)
            np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("dtype", DTYPES)
def test_items(dtype):
    @njit
    def total(a):
        s = a[0] * 0
        for i in range(len(a)):
            s += a[i]
        return s

    @njit
    def each(a, b):
        for i in range(len(a)):
            a[i] = b[-1 - i]

    @njit
    def whole(a, b):
        a[:] = b[::-1]
        a[1:3] = a[2:4]

    @njit(parallel=True)
    def spread(a, b):
        for i in prange(len(a)):
            a[i] = b[len(a) - 1 - i]

    plain = data(dtype, 3001)
    for x in ways(plain):
        np.testing.assert_allclose(np.complex128(total(x)), np.complex128(total(plain)), rtol=1e-3)
        for f in (each, whole, spread):
            to, want = data(dtype, 3001)[::-1].copy(), data(dtype, 3001)[::-1].copy()
            f.py_func(want, plain)
            f(to, x)
            np.testing.assert_array_equal(to, want)
            for y in ways(plain):
                f(y, x)
                np.testing.assert_array_equal(y, want)


def changes_sort(a):
    a.sort()


def changes_ufunc(a):
    np.add(a, 1, out=a)
    np.multiply.at(a, (0, 0), 3)


def changes_reshape(a):
    a.reshape(-1)[3] = 7
    a.reshape((2, -1))[1] += 2
    a.ravel()[0] += 0


def changes_flat(a):
    for i in range(a.size):
        a.flat[i] = a.flat[i] * 2


def changes_parts(a):
    a.real[0] = 3
    np.fill_diagonal(a, 9)


def changes_overlap(a):
    a[1:] = a[:-1] + a[1:]
    a[:, ::2] = a[:, ::-2] * 2


def changes_accumulate(a):
    for i in prange(100):
        a[i % 4, 0] += i


@pytest.mark.parametrize("f", [g for n, g in list(globals().items()) if n.startswith("changes_")])
@pytest.mark.parametrize("parallel", [False, True])
def test_writes(f, parallel):
    g = njit(parallel=parallel)(f)
    for dtype in ("f8", "i4", "c16") if f is not changes_accumulate else ("f8", "i4"):
        want = data(dtype, 4, 12)
        f(want)
        for x in ways(data(dtype, 4, 12)):
            if (
                f in (changes_reshape, changes_flat, changes_parts, changes_ufunc)
                and x.base is not None
                and x.base.dtype.fields
            ):
                with pytest.raises(treadle.UnsupportedError, match="not aligned"):
                    g(x)
                continue
            if f is changes_reshape and not x.flags.c_contiguous:
                continue  # there it is a copy that changes
            g(x)
            np.testing.assert_allclose(
                x, want, rtol=1e-12 if f is changes_accumulate else 0
            )  # sums in parallel


def test_results_are_the_memory():
    @njit
    def f(a):
        return a, a[1:], a.reshape(2, -1)

    x = odd(np.arange(8.0))
    y, z, r = f(x)
    assert y is x and z.base is not None and np.shares_memory(z, x) and not z.flags.aligned
    r[0, 1] = 40
    assert x[1] == z[0] == 40 and r.flags.c_contiguous


def test_what_dask_and_files_have():
    data = np.arange(1000.0)
    raw = b"x" * 44 + data.tobytes()

    @njit
    def total(a):
        s = 0.0
        for v in a:
            s += v
        return s

    assert total(np.frombuffer(raw, "<f8", offset=44)) == data.sum()
    assert total(np.ndarray((1000,), "f8", bytearray(raw), 44)) == data.sum()
    assert (
        str(treadle.typeof(np.frombuffer(raw, "<f8", offset=44)))
        == "unaligned readonly array(float64, 1d, C)"
    )
    assert total(np.frombuffer(raw, "<f8", offset=44)[:0]) == 0


def test_from_a_compiled_caller_and_joined_with_others():
    @njit
    def inner(a):
        a[0] += 1
        return a.sum()

    @njit
    def outer(a, b, which):
        x = a if which else b
        return inner(x) + inner(a) + x[0]

    for which in (False, True):
        a, b, p, q = odd(np.arange(6.0)), np.arange(6.0) * 2, np.arange(6.0), np.arange(6.0) * 2
        assert outer(a, b, which) == outer.py_func(p, q, which)
        assert a.tolist() == p.tolist() and b.tolist() == q.tolist()
        assert outer(b, a, which) == outer.py_func(q, p, which)
    t = njit(lambda t: t[0][0] + t[1].sum())
    assert t((odd(np.arange(3.0)), odd(np.arange(3.0), 3))) == 3.0


def test_neighbours_that_share_half_an_item():
    raw = np.zeros(80, "u1")
    a, b = raw[:64].view("f8"), raw[4:68].view("f8")

    @njit
    def f(a, b):
        a[:] = b + 1
        return a.sum()

    @njit
    def loop(a, b):
        for i in range(len(a)):
            a[i] = b[i] + 1

    for g in (f, loop):
        for x, y in ((a, b), (b, a), (a[1:], b[:-1]), (b[:-1], a[1:]), (a[::-1], b)):
            raw[:] = np.arange(80) % 7 + 60
            g.py_func(x, y)
            want = raw.copy()
            raw[:] = np.arange(80) % 7 + 60
            g(x, y)
            np.testing.assert_array_equal(raw, want)


def test_ufuncs_and_foreign_ones():
    @vectorize
    def one(x, y):
        return x * 2 + y

    @guvectorize("(n),()->(n)")
    def several(a, k, out):
        for i in range(len(a)):
            out[i] = a[i] * k

    @njit
    def inside(a):
        return one(a, a), several(a, 3.0)

    @njit
    def to(a, out):
        linalg.inv(a, out=out)
        return several(a, 2.0, out[:])

    a = data("f8", 4, 4) + np.eye(4) * 60
    for x in ways(a):
        np.testing.assert_array_equal(one(x, x), a * 2 + a)
        np.testing.assert_array_equal(several(x, 3.0), a * 3)
        same(inside(x), (a * 3, a * 3))
        for out in ways(np.zeros((4, 4))):
            to(x, out)
            np.testing.assert_array_equal(out, a * 2)
            njit(lambda a, out: linalg.inv(a, out=out))(x, out)
            np.testing.assert_allclose(out, np.linalg.inv(a))


def test_dates_and_records():
    d = np.array(["2020-01-01", "2021-05-05", "NaT"], "M8[D]")
    raw = np.zeros(64, "u1")
    x = raw[3:27].view("M8[D]")
    x[:] = d

    @njit
    def f(a):
        return a[1] - a[0], np.isnat(a[2]), a[0]

    assert f(x) == (np.timedelta64(490, "D"), True, d[0])
    r = raw[1:49].view([("x", "f8"), ("y", "i4")])
    r["x"] = np.arange(4)
    assert njit(lambda r: r["x"].sum() + r[1].x)(r) == 7.0


def test_large_outputs_are_written_past_the_caches():
    @njit
    def f(a, out):
        out[:] = a * 2 + 1
        return (a + 1).sum()

    a = np.ones(4_000_000)
    for _ in range(3):
        x, y = odd(a), odd(a, 4)
        assert f(x, y) == 8e6 and (y == 3).all()


VIEWS = {  # or the array itself, where it is in order
    "a.ravel()": "a",
    "a.ravel('F')": "a.T",
    "np.ravel(a)": "a",
    "a.ravel('A')": "a.T",
    "a.T.ravel('F')": "a",
    "a.conj()": "a",
    "np.diff(a, 0)": "a",
    "np.einsum('ij->ji', a)": "a",
    "np.einsum('ii->i', a[:, :3])": "a",
    "np.einsum('ij,kj->ik', a, a)": "a",
    "np.einsum('ij->i', a)": "a",
    "np.diff(a, prepend=a[:, :1], append=a)": "a",
    "a.conjugate()": "a",
    "np.require(a, None, 'C')": "a",
    "np.ascontiguousarray(a)": "a",
    "np.trim_zeros(a[1])": "a",
    "np.rot90(a, 2)": "a",
    "np.broadcast_arrays(a, a[0])[0]": "a",
}


@pytest.mark.parametrize("text", VIEWS)
@pytest.mark.parametrize("dtype", ["i4", "f8", "c16"])
def test_views_of_the_memory(text, dtype):
    f = eval(f"lambda a: {text}")
    for by in (0, 1):
        x = np.arange(1, 13).reshape((3, 4) if VIEWS[text] == "a" else (4, 3)).astype(dtype)
        x = odd(x) if by else x
        x = x if VIEWS[text] == "a" else x.T
        want, got = f(x), njit(f)(x)
        assert np.shares_memory(got, x) == np.shares_memory(want, x), by
        np.testing.assert_array_equal(got, want)
        for other in (x[::-1], field(x)):
            got = njit(f)(other)
            np.testing.assert_array_equal(got, f(other))
            if "einsum" not in text:
                assert np.shares_memory(got, other) == np.shares_memory(f(other), other), by


def test_flags_of_alignment_are_refused():
    x = odd(np.arange(6.0).reshape(2, 3))
    for name in ("aligned", "behaved", "carray"):
        with pytest.raises(treadle.UnsupportedError, match="flags"):
            njit(eval(f"lambda a: a.flags.{name}"))(x)
    f = njit(lambda a: (a.flags.c_contiguous, a.flags.f_contiguous, a.flags.writeable, a.flags["FORC"]))
    for y in (x, x.T, x[:, ::2], field(x), field(x)[:1, :1], field(x)[:0]):
        assert f(y) == (y.flags.c_contiguous, y.flags.f_contiguous, y.flags.writeable, y.flags["FORC"])


def test_a_declared_signature_takes_aligned_arrays():
    f = njit("float64(float64[:])")(lambda a: a[0])
    with pytest.raises(TypeError, match="no signature for arguments of types .unaligned array"):
        f(odd(np.arange(3.0)))


def test_shuffled_in_place():
    @njit
    def f(a):
        np.random.seed(3)
        np.random.shuffle(a)

    plain = np.arange(20.0)
    f(plain)
    for x in ways(np.arange(20.0)):
        f(x)
        np.testing.assert_array_equal(x, plain)


def test_outputs_of_functions_that_are_given_copies():
    @njit
    def f(a, out, line):
        np.cumsum(a, out=line)
        r = np.add.accumulate(a, axis=1, out=out)
        r[0, 0] += 100
        return r, np.cumsum(a[0], out=line[:12])

    for n, x in enumerate(ways(np.arange(48.0).reshape(4, 12))):
        a, b = np.zeros((4, 12)), np.zeros(48)
        want = f.py_func(np.arange(48.0).reshape(4, 12), a, b)
        out, line = list(ways(np.zeros((4, 12))))[n], list(ways(np.zeros(48)))[n]
        got = f(x, out, line)
        np.testing.assert_array_equal(out, a)
        np.testing.assert_array_equal(line, b)
        same(got, want)
        assert np.shares_memory(got[0], out)
    frozen = odd(np.zeros((4, 12)))
    frozen.flags.writeable = False
    with pytest.raises(treadle.TypingError, match="can be written to"):
        njit(lambda a, out: np.cumsum(a, axis=0, out=out))(frozen, frozen)


PACKED = np.dtype([("c", "i1"), ("v", "f8"), ("k", "i4")])
BY_FIELDS = {
    "reduce_by_key": lambda t: tp.reduce_by_key(tp.add, t["k"], t["v"], size=5),
    "by a function": lambda t: tp.reduce_by_key(
        lambda a, b: a if a > b else b, t["k"], t["v"], size=5, identity=-9.0
    ),
    "topk": lambda t: tp.topk(t["v"], 3)[0],
    "map": lambda t: tp.map(lambda a, b: a * b, t["v"], t["k"]),
    "filter": lambda t: tp.filter(lambda a: a > 2, t["v"]),
    "reduce": lambda t: tp.reduce(lambda a, b: a if a > b else b, t["v"], identity=-9.0),
    "sort_by_key": lambda t: tp.sort_by_key(t["k"], t["v"])[1],
    "bincount": lambda t: tp.bincount(t["k"], t["v"]),
}


@pytest.mark.parametrize("name", BY_FIELDS)
def test_primitives_take_fields_of_packed_records(name):
    t = np.zeros(9, PACKED)
    t["v"], t["k"] = np.arange(9) % 4 + 0.5, np.arange(9) % 5
    apart = {"v": t["v"].copy(), "k": t["k"].copy()}
    f = BY_FIELDS[name]
    want = np.asarray(f(apart))
    for got in (f(t), f({k: tp.array(t[k]) for k in apart}), treadle.njit(f)(t)):
        assert np.array_equal(np.asarray(got), want) and np.asarray(got).dtype == want.dtype
