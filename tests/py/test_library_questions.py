"""What is asked of types, shapes and arrays, medians and unique rows along axes, fits, tensors and np.nditer, against NumPy."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from library_arrays import arrays
from sizes import examples
from treadle import njit
from treadle._library import unique_items
from treadle.errors import TypingError

sys.path.insert(0, str(Path(__file__).parent))
from library_check import check, check_python, compiled  # noqa: E402

SETTINGS = settings(max_examples=examples(60), deadline=None)
DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
TYPES = [np.dtype(t).type for t in DTYPES]


# --- along several axes ---


@SETTINGS
@given(
    arrays("bhiqBHefd", ndim=(1, 3), least=1, special=True),
    st.sampled_from(["median", "nanmedian"]),
    st.integers(0, 10**6),
)
def test_medians_over_several_axes(a, name, seed):
    rng = np.random.default_rng(seed)
    some = rng.permutation(a.ndim)[: rng.integers(1, a.ndim + 1)]
    axis = tuple(int(k) - (a.ndim if rng.integers(2) else 0) for k in some)
    keep = ", keepdims=True" if rng.integers(2) else ""
    rtol = 2e-3 if a.dtype.char == "e" else 1e-6
    check(f"np.asarray(np.{name}(a, axis={axis}{keep}))", a, rtol=rtol)


def test_medians_into_an_array():
    a = np.arange(24.0).reshape(2, 3, 4)
    check("np.median(a, axis=(0, 2), out=b)", a, np.zeros(3))
    check("np.nanmedian(a, axis=(0, 2), out=b)", a, np.zeros(3))
    check("np.nanmedian(a, axis=(0, 2), out=b, keepdims=True)", a, np.zeros((1, 3, 1)))
    for axis in ("(0, 0)", "(0, 3)"):
        with pytest.raises((TypingError, np.exceptions.AxisError)):
            compiled(f"np.median(a, axis={axis})")[1](a)


@SETTINGS
@given(arrays("?bhiqBHQfdD", ndim=(1, 3), most=4), st.integers(0, 10**6))
def test_unique_along_an_axis(a, seed):
    rng = np.random.default_rng(seed)
    axis = int(rng.integers(-a.ndim, a.ndim))
    a = a // 3 if a.dtype.kind in "iu" else a
    flags = [f"return_{w}=True" for w in ("index", "inverse", "counts") if rng.integers(2)]
    text = f"np.unique(a, {', '.join([*flags, f'axis={axis}'])})"
    if "return_inverse" in text and np.__version__.startswith("2.0"):
        return  # the inverse had all axes there
    check(text, a)
    check_python(text, a)


def test_unique_along_an_axis_where_nothing_is():
    for shape in ((0, 3), (3, 0), (0, 0), (2, 0, 3)):
        a = np.zeros(shape)
        for axis in (0, 1):
            check(f"np.unique(a, axis={axis})", a)
            check(f"np.unique(a, axis={axis}, return_counts=True)", a)
    check("np.unique(a, axis=0)", np.array([1.0, np.nan, np.nan]))
    check("np.unique(a, axis=0)", np.array([[1.0, np.nan], [1.0, np.nan], [0.0, 2.0], [-0.0, 2.0]]))
    with pytest.raises((TypingError, np.exceptions.AxisError)):
        compiled("np.unique(a, axis=2)")[1](np.zeros((2, 2)))


def test_unique_items_is_what_unique_is_made_of():
    f = njit(lambda a: unique_items(a, return_counts=True))
    for got, want in zip(f(np.array([3, 1, 3])), f.py_func(np.array([3, 1, 3])), strict=True):
        np.testing.assert_array_equal(got, want)


# --- types ---


@pytest.mark.parametrize("of", TYPES)
def test_types(of):
    kinds = ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating")

    def f(a, b):
        return (
            np.promote_types(a.dtype, b.dtype) == np.result_type(a, b),
            np.zeros(1, np.promote_types(a.dtype, b.dtype)),
            np.zeros(1, np.result_type(a, b.dtype, a.dtype)),
            np.can_cast(a.dtype, b.dtype),
            np.can_cast(a, b.dtype, "same_kind"),
            np.can_cast(a.dtype, b.dtype, "unsafe"),
            np.can_cast(a.dtype, b.dtype, casting="equiv"),
            np.can_cast(a.dtype, b.dtype, casting="no"),
        )

    g = njit(f)
    for to in TYPES:
        a, b = np.zeros(2, of), np.zeros((1, 2), to)
        for got, want in zip(g(a, b), f(a, b), strict=True):
            assert np.asarray(got).dtype == np.asarray(want).dtype, (of, to)
            assert np.all(got == want), (of, to)
    if hasattr(np, "isdtype"):
        for kind in (*kinds, "numeric"):
            check(f"np.isdtype(a.dtype, {kind!r})", np.zeros(2, of))
        check("np.isdtype(a.dtype, ('bool', 'integral', np.float32))", np.zeros(2, of))
        check("np.isdtype(a.dtype, b.dtype)", np.zeros(2, of), np.zeros(2, "f4"))


def test_numbers_are_weak():
    for t in ("i1", "f2", "f4", "u8", "c8"):
        check("np.zeros(2, np.result_type(a, 1))", np.zeros(2, t))
        check("np.zeros(2, np.result_type(a, 1.5))", np.zeros(2, t))
        check("np.zeros(2, np.result_type(1, a, 1j))", np.zeros(2, t))
        check("np.zeros(2, np.result_type('f4', a, np.int8))", np.zeros(2, t))
    check("np.zeros(2, np.result_type(1, 2.0))")
    for text, what in (("np.result_type()", "at least"), ("np.can_cast(3, np.int8)", "not for numbers")):
        with pytest.raises(TypingError, match=what):
            compiled(text)[1]()
    for text in ("np.can_cast(np.int8, np.int16, 'sometimes')", "np.isdtype(np.int8, 'whole')"):
        with pytest.raises((ValueError, TypingError)):
            compiled(text)[1]()


# --- shapes and arrays ---


@SETTINGS
@given(st.lists(st.lists(st.integers(0, 3), max_size=3).map(tuple), min_size=1, max_size=3))
def test_broadcast_shapes(shapes):
    check(f"np.broadcast_shapes({', '.join('abc'[: len(shapes)])})", *shapes)


def test_questions():
    check("np.broadcast_shapes()")
    check("np.broadcast_shapes(a, (4, 1))", 3)
    check("np.broadcast_shapes(a.shape, b.shape)", np.ones((3, 1)), np.ones(4))
    for a in (
        np.ones((2, 3)),
        np.ones((2, 3)).T,
        np.ones(3),
        np.ones((4, 4))[::2],
        np.array(1.0),
        (1, 2),
        3.0,
    ):
        check("np.iterable(a)", a)
        if isinstance(a, np.ndarray):
            check("np.isfortran(a)", a)
    check("np.iterable(None), np.iterable('ab')")
    for n in range(4):
        check("np.mask_indices(a, np.triu)", n)
        check("np.mask_indices(a, np.tril, b)", n, -1)
    x = np.arange(24.0).reshape(2, 3, 4)
    for axes in ("0", "(0, 2)", "(-1, 0, 1)", "()", "1"):
        check(f"np.apply_over_axes(np.sum, a, {axes})", x)
        check(f"np.apply_over_axes(np.max, a, {axes})", x)
        check_python(f"np.apply_over_axes(np.max, a, {axes})", x)


def test_what_needs_no_copy_is_none():
    """What has the type and the layout that are asked for is the array itself, also where the first of two had to be made."""
    texts = (
        "np.require(x, np.float32, 'C')",
        "np.require(x, np.float32, ('F', 'W'))",
        "np.array(x, np.float32, copy=None)",
        "np.array(x, copy=None, order='C')",
        "x.astype(np.float32, order='C', copy=False)",
        "x.astype(np.float32, copy=False)",
    )
    for text in texts:
        space = {"np": np}
        exec(f"def stored(x):\n    x = {text}\n    y = {text}\n    y[0, 1] = 9\n    return x, y", space)
        for dtype, order in (("u8", "C"), ("f4", "C"), ("f4", "F"), ("u8", "F")):
            a = np.arange(6).reshape(2, 3).astype(dtype, order=order)
            b = a.copy("K")
            got, want = njit(space["stored"])(a), space["stored"](b)
            for g, w in zip((*got, a), (*want, b), strict=True):
                np.testing.assert_array_equal(g, w)
                assert g.dtype == w.dtype


def test_require():
    def f(a):
        x = np.require(a, np.float32, "C")
        y = np.require(a, requirements=("F", "W"))
        z = np.require(a, None, ("O", "C_CONTIGUOUS"))
        return x, x.flags.c_contiguous, y, y.flags.f_contiguous, z, np.require(a, np.int16), np.require(a)

    a = np.arange(6.0).reshape(2, 3)
    r = a.copy()
    r.flags.writeable = False
    for x in (a, a.T, a[:, ::2], r, r.T, a.astype("f4")):
        for got, want in zip(njit(f)(x), f(x), strict=True):
            np.testing.assert_array_equal(got, want)
            assert np.asarray(got).dtype == np.asarray(want).dtype

    @njit
    def same_memory(a):
        b = np.require(a, None, "W")
        b[0, 0] = 9.0
        return b

    same_memory(a)
    assert a[0, 0] == 9.0
    assert same_memory(r)[0, 0] == 9.0 and r[0, 0] == 0.0
    with pytest.raises(TypingError, match="long names"):
        compiled("np.require(a, None, ('Q',))")[1](a)
    with pytest.raises((ValueError, TypingError), match="Cannot specify both"):
        compiled("np.require(a, None, ('C', 'F'))")[1](a)


@SETTINGS
@given(st.integers(0, 30), st.sampled_from(DTYPES[1:]), st.sampled_from([-1, 0, 1, 3]), st.integers(0, 20))
def test_frombuffer(n, dtype, count, offset):
    a = np.arange(n, dtype="u1")
    if "f" in dtype or "c" in dtype:
        a[:] = 0
    text = f"np.frombuffer(a, np.{np.dtype(dtype).name}, b, c)"
    if n == 0 or count == 0:
        return  # NumPy has errors of its own for nothing at all
    check(text, a, count, offset)


def test_frombuffer_is_a_view():
    @njit
    def f(a):
        np.frombuffer(a, np.uint16)[1] = 0x0203
        return np.frombuffer(a)

    a = np.zeros(8, "u1")
    got = f(a)
    assert list(a) == [0, 0, 3, 2, 0, 0, 0, 0] and np.shares_memory(got, a)
    for x in (np.ones((2, 4)), np.ones((2, 4)).T, np.arange(3, dtype="u1"), np.arange(8, dtype="i2")):
        check("np.frombuffer(a)", x)
        check("np.frombuffer(a, dtype=np.uint8)", x)
    with pytest.raises(ValueError, match="not C-contiguous"):
        f(np.zeros(16, "u1")[::2])
    with pytest.raises(TypingError, match="takes an array"):
        compiled("np.frombuffer(a)")[1](3)


# --- nditer ---


@njit
def walked(a):
    s, k = a.dtype.type(0), 0
    for x in np.nditer(a):
        s += x * k
        k += 1
    return s


def test_nditer():
    """In memory's order, whatever the order of the axes."""
    base = np.arange(24.0).reshape(2, 3, 4)
    every = [
        base,
        base[:, ::2],
        base[:, :1],
        base[1],
        base[1].T,
        base[1, :, ::-1],
        base[0, 0],
        base[0, 0, ::-1],
    ]
    every += [np.array(3.0), np.broadcast_to(base[0, 0], (2, 4)), np.broadcast_to(base[0, 0], (2, 4)).T]
    for b in (base, base[::-1, ::2], base[:, :1], base[:1, :, ::-2]):
        every += [b.transpose(p) for p in itertools.permutations(range(3))]
    every += [np.ones((2, 1, 2, 2)) * np.arange(4.0).reshape(1, 2, 2, 1)]
    every += [every[-1].T, every[-1].astype("i4"), base.astype("c16").T]
    every += [
        np.broadcast_to(base[0], (2, 3, 4)).T,
        np.broadcast_to(base[:, :1], (2, 3, 4)).transpose(1, 2, 0),
    ]
    four = np.arange(120.0).reshape(2, 3, 4, 5)
    every += [b.transpose(p) for p in itertools.permutations(range(4)) for b in (four, four[::-1, :, ::2])]
    for a in every:
        assert walked(a) == walked.py_func(a), (a.shape, a.strides)
    for a in (base[:0], base[0, 0, :0]):
        with pytest.raises(ValueError, match="zero-sized"):
            walked(a)
    with pytest.raises(TypingError, match="takes arrays"):
        njit(lambda a: next(iter(np.nditer(a[0, 0, 0]))))(base)


# --- fits, roots, tensors ---


@SETTINGS
@given(st.integers(1, 12), st.integers(0, 3), st.sampled_from(["f8", "i8", "f4"]), st.integers(0, 99))
def test_polyfit(n, deg, dtype, seed):
    rng = np.random.default_rng(seed)
    x, y = np.sort(rng.permutation(40)[:n]).astype(dtype), rng.integers(-9, 9, n).astype(dtype)
    if n < deg + 1:
        return
    eps = 1e-2 if dtype == "f4" else 1e-6
    check("np.polyfit(a, b, c)", x, y, deg, rtol=eps, atol=eps)
    w = rng.random(n) + 0.5
    if dtype != "f4":
        check("np.polyfit(a, b, c, w=d)", x, y, deg, w, rtol=eps, atol=eps)
        check("np.polyfit(a, b, c)", x, np.stack((y, x + y), 1), deg, rtol=eps, atol=eps)
        check("np.polyfit(a, b, c, full=True)[3]", x, y, deg, rtol=eps, atol=eps)
        if n > deg + 1:
            check("np.polyfit(a, b, c, cov=True)", x, y, deg, rtol=eps, atol=eps)
            check("np.polyfit(a, b, c, None, False, None, 'unscaled')", x, y, deg, rtol=eps, atol=eps)


def test_polyfit_of_what_is_wrong():
    x = np.arange(4.0)
    for text in (
        "np.polyfit(a, b, -1)",
        "np.polyfit(a, b[:3], 1)",
        "np.polyfit(a[:0], b[:0], 1)",
        "np.polyfit(a, b, 1, w=b[1:])",
        "np.polyfit(a, b, 3, cov=True)",
        "np.polyfit(a[:, None], b, 1)",
        "np.polyfit(a, b[0], 1)",
    ):
        assert isinstance(check(text, x, x), Exception), text


@SETTINGS
@given(st.lists(st.integers(-5, 5), max_size=6), st.sampled_from(["f8", "i8", "c16", "f4"]))
def test_roots(p, dtype):
    a = np.array(p, dtype)
    got, want = compiled("np.roots(a)")[1](a), np.roots(a)
    assert got.dtype == (np.complex64 if dtype == "f4" else np.complex128) and got.shape == want.shape
    if np.count_nonzero(a) == 0:
        return
    first, last = np.flatnonzero(a)[[0, -1]]
    q = a[first : last + 1].astype("c16")
    scale = np.abs(q).max() * np.maximum(1, np.abs(got)) ** (len(q) - 1)
    tail = len(a) - 1 - last
    assert np.all(got[len(q) - 1 :] == 0) and tail == len(got) - len(q) + 1
    worst = np.abs(np.polyval(q, got[: len(q) - 1])) / scale[: len(q) - 1]
    assert np.all(worst < (1e-4 if dtype == "f4" else 1e-9))


def test_roots_of_what_is_wrong():
    check("np.roots(a)", np.ones((2, 2)))
    assert compiled("np.roots((1, -3, 2))")[1]().tolist() == [2.0, 1.0]


def test_tensors():
    rng = np.random.default_rng(3)
    a = np.eye(24) * 3 + rng.random((24, 24)) / 50
    for text, x in (
        ("np.linalg.tensorinv(a)", a.reshape(4, 6, 8, 3)),
        ("np.linalg.tensorinv(a, ind=1)", a.reshape(24, 8, 3)),
        ("np.linalg.tensorinv(a, 3)", a.reshape(2, 3, 4, 24)),
        ("np.linalg.tensorinv(a, 0)", a),
        ("np.linalg.tensorinv(a)", a.reshape(4, 6, 24)[:2]),
    ):
        check(text, x, rtol=1e-9, atol=1e-9)
    for text, x, b in (
        ("np.linalg.tensorsolve(a, b)", a.reshape(6, 4, 2, 3, 4), rng.random((6, 4))),
        ("np.linalg.tensorsolve(a, b)", a, rng.random(24)),
        ("np.linalg.tensorsolve(a, b, axes=(0, 2))", a.reshape(4, 6, 8, 3), rng.random((6, 3))[:, :1]),
        ("np.linalg.tensorsolve(a, b, axes=(0,))", a.reshape(24, 8, 3), rng.random((8, 3))),
        ("np.linalg.tensorsolve(a, b)", a[:12], rng.random(12)),
    ):
        check(text, x, b, rtol=1e-9, atol=1e-9)


@SETTINGS
@given(arrays("bhiqfd", ndim=(0, 2), special=False), st.integers(1, 6))
def test_histogram_bin_edges(a, bins):
    check("np.histogram_bin_edges(a)", a, rtol=1e-6)
    check("np.histogram_bin_edges(a, b)", a, bins, rtol=1e-6)
    check("np.histogram_bin_edges(a, b, (0, 3))", a, bins, rtol=1e-6)
    check("np.histogram_bin_edges(a, b)", a, np.array([0.0, 1.5, 4.0]))


def test_histogram_bin_edges_of_what_is_wrong():
    a = np.arange(4.0)
    check("np.histogram_bin_edges(a, 0)", a)
    check("np.histogram_bin_edges(a, 3, (2, 1))", a)
    check("np.histogram_bin_edges(a, 3, weights=b)", a, a[1:])
    check("np.histogram_bin_edges(a, 3, weights=b)", a, a)
    with pytest.raises(TypingError, match="estimates"):
        compiled("np.histogram_bin_edges(a, 'auto')")[1](a)


def test_ways_in():
    a = np.random.default_rng(2).integers(0, 3, (60, 4)).astype("f8")

    def f(a):
        rows, counts = np.unique(a, axis=0, return_counts=True)
        c = np.polyfit(a[:, 0], a[:, 1], 1)
        s = 0.0
        for x in np.nditer(a):
            s += x
        return rows.sum() + counts[0] + np.median(a, axis=(0, 1)) + s + c[0] + np.frombuffer(a)[3]

    one = njit(f)

    @njit(nogil=True, boundscheck=False)
    def calls(a):
        return one(a)

    for g in (one, calls, njit(parallel=True)(f), njit(fastmath=True)(f)):
        np.testing.assert_allclose(g(a), f(a), rtol=1e-9)
        r = a[:, ::-1]
        r.flags.writeable = False
        np.testing.assert_allclose(njit(lambda a: np.unique(a, axis=0))(r), np.unique(r, axis=0))


# --- rows that take more: take, diff, ranges as arrays, hasattr ---


@settings(max_examples=examples(25), deadline=None)
@given(
    arrays("?bhiqefdD", ndim=(1, 3), least=1),  # of axes without items NumPy's own "wrap" looks for ever
    st.sampled_from(["wrap", "clip", "raise"]),
    st.sampled_from(["i8", "i1", "u1", "i4"]),
    st.integers(0, 10**6),
)
def test_modes_of_take(a, mode, dtype, seed):
    rng = np.random.default_rng(seed)
    axis = rng.choice(["None", *map(str, range(-a.ndim, a.ndim))])
    low = 0 if mode == "raise" else -9
    high = 1 if mode == "raise" else 10
    shape = tuple(rng.integers(0, 3, rng.integers(0, 3)))
    at = np.asarray(rng.integers(0 if dtype == "u1" else low, high, shape)).astype(dtype)
    check(f"np.take(a, b, axis={axis}, mode='{mode}')", a, at)
    check(f"a.take(b, {axis}, mode='{mode}')", a, at)
    check(f"np.asarray(np.take(a, b, {axis}, None, '{mode}'))", a, int(at.flat[0]) if at.size else 0)


def test_take_of_what_is_wrong():
    a = np.arange(6.0)
    with pytest.raises(TypingError, match="mode must be"):
        compiled("np.take(a, 0, mode='other')")[1](a)
    check("np.take(a, 0, mode='wrap')", a[:0])
    check("np.take(a, (1, 2), mode='clip')", a[:0])


@settings(max_examples=examples(25), deadline=None)
@given(arrays("?bhiqBHefdD", ndim=(1, 3)), st.integers(0, 3), st.integers(0, 10**6))
def test_diff_with_ends(a, n, seed):
    rng = np.random.default_rng(seed)
    axis = int(rng.integers(-a.ndim, a.ndim))
    more = a.take(rng.integers(0, a.shape[axis], 2), axis) if a.shape[axis] else a
    for ends in ("prepend=0", "append=1", "prepend=b", "append=b, prepend=2", "prepend=b, append=b"):
        if a.dtype.char == "?" and "b," not in ends and ends[-1] != "b":
            continue
        check(f"np.diff(a, n={n}, axis={axis}, {ends})", a, *((more,) if "b" in ends.split("=") else ()))
        return


def test_diff_with_ends_of_other_types():
    a = np.arange(5, dtype="i1")
    for ends in ("prepend=0", "prepend=a[0]", "append=a[-1:]", "prepend=0.5", "append=2j", "prepend=a[:0]"):
        check(f"np.diff(a, {ends})", a)
    check("np.diff(a, prepend=a)", a.reshape(1, 5))
    check("np.diff(a, axis=0, prepend=b)", np.ones((2, 3)), np.ones((1, 2)))


def test_ranges_are_arrays():
    for text in (
        "np.array(range(a))",
        "np.asarray(range(1, a, 2))",
        "np.array(range(a, 0, -3), dtype=np.float32)",
        "np.sum(range(a))",
        "np.mean(range(a))",
        "np.cumsum(range(2, a))",
        "np.array(range(3))",
        "np.concatenate((range(a), range(3)))",
    ):
        for n in (
            3,
            7,
        ):  # one without items is of float64 in NumPy, as a type must not depend on values of int64 here
            check(text, n)
    assert compiled("np.array(range(a))")[1](0).dtype == np.int64

    @njit
    def f(n):
        d = np.zeros((n, n), np.int32)
        d[0] = range(n)
        d[:, 1] = range(n, 0, -1)
        return d

    np.testing.assert_array_equal(f(5), f.py_func(5))
    with pytest.raises(ValueError, match="broadcast"):

        @njit
        def g(n):
            d = np.zeros(n)
            d[:] = range(n + 1)
            return d

        g(3)


def test_hasattr():
    from collections import namedtuple

    point = namedtuple("point", "x y")

    @njit
    def f(a):
        if hasattr(a, "shape"):
            return a.shape[0]
        return len(a)

    assert f(np.ones(3)) == 3 and f((1, 2)) == 2
    names = (
        "shape",
        "tolist",
        "nothing",
        "__len__",
        "__array__",
        "x",
        "_fields",
        "count",
        "_replace",
        "real",
        "put",
        "choose",
        "byteswap",
    )
    for x in (np.ones(3), (1, 2.0), point(1, 2.0)):
        for name in names:
            if not (name.startswith("__") and not isinstance(x, np.ndarray)):
                check(f"hasattr(a, {name!r})", x)
    for name in ("real", "nothing", "__len__", "__iter__", "append"):
        for x in (1, 2.5, 3j, True):
            check(f"hasattr(a, {name!r})", x)
    for text, x in (
        ("hasattr(a, 'shape')", 1.0),
        ("hasattr(a, '__foo__')", 1.0),
        ("hasattr(a, 'bit_count')", 1),
        ("hasattr(a, '__radd__')", np.ones(2)),
        ("hasattr(np, 'sum')", None),
    ):
        with pytest.raises(TypingError, match="is not known in compiled code"):
            compiled(text)[1](*(() if x is None else (x,)))
    with pytest.raises(TypingError, match="a constant name"):
        compiled("hasattr(a, b)")[1](1.0, 2)
