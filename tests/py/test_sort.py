"""np.sort and its kin against NumPy: values, places to the bit with NumPy's own way to sort, layouts, NaN, errors."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import njit, prange

sys.path.insert(0, str(Path(__file__).parent))
from builtins_check import check, rejects, run  # noqa: E402

TYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
KINDS = [None, "quicksort", "heapsort", "mergesort", "stable"]
NUMPY2 = np.lib.NumpyVersion(np.__version__) >= "2.0.0"


def numbers(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], span: int) -> np.ndarray:
    """Items with ties; floats with NaN, infinities and zeros of both signs, complex ones with all of them in either part."""

    def real() -> np.ndarray:
        x = rng.integers(-span, span, shape).astype("f8")
        if dtype[0] in "fc":
            x = np.where(
                rng.random(shape) < 0.1, rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0], shape), x / 2
            )
        return x

    if dtype[0] == "c":
        z = np.empty(shape, dtype)
        z.real, z.imag = real(), real()
        return z
    x = real()
    return (x > 0 if dtype == "?" else x.astype("i8" if dtype[0] in "iu" else dtype)).astype(dtype)


def laid_out(x: np.ndarray, how: int) -> np.ndarray:
    """The same values in C order, in Fortran's, with gaps, from behind, with the axes turned."""
    if how == 1:
        return np.asfortranarray(x)
    if how == 2:
        return np.repeat(x, 2, axis=-1)[..., ::2]
    if how == 3:
        return x[..., ::-1].copy()[..., ::-1]
    if how == 4:
        return np.ascontiguousarray(x.T).T
    return x


def bits(x: Any) -> tuple:
    x = np.asarray(x)
    return x.dtype, x.shape, x.tobytes()


SORTS: dict[tuple, Any] = {}


def compiled(what: str, axis: int | None, kind: str | None, parallel: bool) -> tuple[Any, Any]:
    """A function of an array, and the same compiled."""
    key = (what, axis, kind, parallel)
    if key not in SORTS:
        text = {
            "sort": f"lambda a: np.sort(a, {axis}, {kind!r})",
            "argsort": f"lambda a: np.argsort(a, axis={axis}, kind={kind!r})",
            "a.argsort": f"lambda a: a.argsort({axis}, {kind!r})",
        }.get(what)
        if text is None:
            space: dict[str, Any] = {"np": np}
            exec(f"def f(a):\n    r = a.sort({axis}, kind={kind!r})\n    return r is None", space)
            f = space["f"]
        else:
            f = eval(text, {"np": np})
        SORTS[key] = f, njit(parallel=parallel)(f)
    return SORTS[key]


@settings(max_examples=examples(300), deadline=None)
@given(
    st.sampled_from(["sort", "argsort", "a.argsort", "a.sort"]),
    st.sampled_from(TYPES),
    st.sampled_from(KINDS),
    st.sampled_from([(0,), (1,), (7,), (40,), (300,), (5, 9), (3, 0), (0, 3), (2, 3, 20), (65, 2)]),
    st.integers(0, 4),
    st.sampled_from([2, 9, 1000]),
    st.integers(0, 999),
)
def test_sort(what, dtype, kind, shape, how, span, seed):
    rng = np.random.default_rng(seed)
    axes = [*range(-len(shape), len(shape))] + ([None] if what != "a.sort" else [])
    plain, ours = compiled(what, axes[seed % len(axes)], kind, seed % 2 == 0)
    a = laid_out(numbers(rng, dtype, shape, span), how)
    b = laid_out(a.copy(), how)
    got, want = ours(a), plain(b)
    assert bits(got) == bits(want)
    assert bits(a) == bits(b)


def spread(rng: np.random.Generator, dtype: Any, n: int) -> list[np.ndarray]:
    """Items of a type as they may lie: all over it, few of them, some far from the rest or differing in last bits alone, in order, all alike."""
    d = np.dtype(dtype)
    few, order = rng.integers(0, 5, n).astype(d), rng.permutation(n).astype(d)
    alike = [
        few,
        order,
        np.arange(n, dtype=d),
        np.arange(n, dtype=d)[::-1],
        np.zeros(n, d),
        np.arange(n, dtype=d) % d.type(n // 2),
    ]
    if d.kind in "iu":
        i = np.iinfo(d)
        far = rng.integers(0, 4 * n, n).astype(d)
        far[n // 2], far[n // 3] = i.max, i.min
        return [*alike, far, rng.integers(i.min, i.max, n, dtype=d, endpoint=True)]
    x = rng.standard_normal(n).astype(d)
    odd = x.copy()
    odd[::7], odd[::11], odd[::5], odd[1::5], odd[2:4] = np.nan, -np.nan, 0.0, -0.0, (np.inf, -np.inf)
    near = (1 + np.arange(n) % 300 * 2.0**-50).astype(d)
    near[:2] = 1e30, -1e30
    rng.shuffle(near)
    scales = (x * 2.0 ** rng.integers(-100, 100, n)).astype(d)
    return [*alike, x, odd, near, scales, np.round(x, 2), np.full(n, np.nan, d)]


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8", "f2", "f4", "f8"])
@pytest.mark.parametrize("n", [255, 256, 257, 1000, 70_000])
def test_places_of_many(dtype, n):
    """Words of a key and a place (rt/argsort.c): the places are NumPy's, whoever finds them, and go on from those of another key."""
    stable, default, by_two = (
        njit(lambda a: np.argsort(a, kind="stable")),
        njit(lambda a: np.argsort(a)),
        njit(lambda a, b: np.lexsort((a, b))),
    )
    rng = np.random.default_rng(n)
    last = rng.integers(0, 7, n)
    with np.errstate(all="ignore"):  # halves end at 65,504
        cases = spread(rng, dtype, n)
    for a in cases:
        for v in (a, a[::-1], a[::3], a.repeat(2)):
            assert bits(stable(v)) == bits(np.argsort(v, kind="stable"))
            assert bits(default(v)) == bits(np.argsort(v))
        assert bits(by_two(a, last)) == bits(np.lexsort((a, last)))


STABLE = njit(lambda a: np.argsort(a, kind="stable"))
LAST_AND_FIRST = njit(lambda a, b: np.lexsort((b, a)))


@settings(max_examples=examples(60), deadline=None)
@given(
    dtype=st.sampled_from(["i4", "u4", "i8", "u8", "f4", "f8"]),
    n=st.sampled_from([300, 5_000, 32_768, 32_769, 66_000, 140_000]),
    low=st.integers(0, 50),
    wide=st.integers(1, 60),
    far=st.integers(0, 3),
    power=st.sampled_from([1, 1, 3, 20]),
    seed=st.integers(0, 1000),
)
def test_places_by_digits(dtype, n, low, wide, far, power, seed):
    """Keys that differ in some of their bits only, lie near the lowest, or have a few others far above them."""
    rng = np.random.default_rng(seed)
    x = (rng.random(n) ** power * 2.0 ** min(wide, 8 * np.dtype(dtype).itemsize - 2)).astype("i8") << low
    x[rng.integers(0, n, far)] = (1 << 62) - 1
    a = x.astype(f"u{dtype[1]}").view(dtype) if dtype[0] == "f" else x.astype(dtype)
    assert bits(STABLE(a)) == bits(np.argsort(a, kind="stable"))
    first = rng.integers(0, 3, n)
    assert bits(LAST_AND_FIRST(first, a)) == bits(np.lexsort((a, first)))


@pytest.mark.parametrize("dtype", ["i8", "u8", "f8"])
@pytest.mark.parametrize("few", [2, 5, 40])
@pytest.mark.parametrize("n", [2000, 80_000])
def test_equal_items_that_no_sample_shows(dtype, few, n):
    """By default the order of equal items is NumPy's own: such are seen, however few, when their words are in order."""
    a = np.random.default_rng(few).integers(1 << 62, size=n).astype("u8").view(dtype)
    a[1 : 8 * few : 8] = a[n // 2]
    assert bits(njit(lambda a: np.argsort(a))(a)) == bits(np.argsort(a))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_long(dtype, kind, threads):
    a = numbers(np.random.default_rng(5), dtype, (40_000,), 3000)
    for what in ("sort", "argsort"):
        plain, ours = compiled(what, -1, kind, False)
        assert bits(ours(a)) == bits(plain(a))
        assert bits(ours(a[::-3])) == bits(plain(a[::-3]))


def test_arguments():
    a = np.array([[3.0, 1.0, 2.0], [9.0, 8.0, 7.0]])
    for expr in (
        "np.sort(a)", "np.sort(a, None)", "np.sort((3, 1, 2))", "np.sort(a, 0, 'stable', None)", "np.argsort([3, 1, 2])", "np.argsort(a, None)",
        "np.sort_complex(a)", "np.sort_complex(a.astype(np.int16))", "np.sort_complex(a.astype(np.complex64))", "np.sort_complex(a.astype(np.uint32))",
        "np.argsort(a[0, 0])", "np.argsort(a.sum())", "np.sort(a, axis=-2)", "np.sort(a[0, :0])", "np.argsort(a[:, :0], 0)",
    ):  # fmt: skip
        check(expr, a)
    if NUMPY2:
        check("np.sort(a, stable=True)", a)
        check("np.argsort(a, stable=False)", a)
        check("a.argsort(stable=True)", a)
        rejects("np.sort(a, kind='stable', stable=True)", a, match="can't be provided at the same time")
    rejects("np.sort(a, kind='bogo')", a, match="sort kind must be one of")
    rejects("np.sort(a, kind=3)", a, match="kind must be a constant")
    rejects("np.sort(a, order='x')", a, match="Cannot specify order")
    rejects("np.sort(a, b * 1.0)", a, 1, match="axes must be constants")
    rejects("np.partition(a, 1, kind='stable')", a, match="kind must be 'introselect'")


def test_bad_axes():
    a, flat = np.ones((2, 3)), np.array(3.0)
    for expr in (
        "np.sort(a, 2)", "np.sort(a, -3)", "np.argsort(a, 2)", "a.sort(2)", "a.argsort(-3)", "np.partition(a, 0, 2)", "np.argpartition(a, 0, -3)",
        "a.partition(0, 5)", "np.lexsort((a, a), 2)", "np.median(a, 2)",
    ):  # fmt: skip
        with pytest.raises(np.exceptions.AxisError, match="out of bounds for array of dimension 2"):
            run(expr, a)
    for expr in ("np.sort(a)", "a.sort()", "np.partition(a, 0)", "a.partition(0)"):
        with pytest.raises(
            np.exceptions.AxisError, match="axis -1 is out of bounds for array of dimension 0"
        ):
            run(expr, flat)
    check("np.sort(a, None)", flat)
    check("np.argsort(a)", flat)
    check("np.argsort(a, 0)", flat)
    check("np.argpartition(a, 0)", flat)


def test_read_only():
    a = np.array([3.0, 1.0])
    a.flags.writeable = False
    check("np.sort(a)", a)
    check("np.argsort(a)", a)
    for expr in ("a.sort()", "a.partition(0)"):
        rejects(expr, a, match="read-only")


def test_in_place():
    @njit
    def part(a):
        a[1:, ::-2].sort(0)
        a[0, 1:5].sort()
        return a

    @njit
    def repeated(a):  # rows that share items: each is sorted after the one before
        b = a.reshape(2, 4)
        b.T.sort(1)
        b.sort()
        return a

    a = numbers(np.random.default_rng(2), "f8", (9, 8), 50)
    assert bits(part(a.copy())) == bits(part.py_func(a.copy()))
    assert bits(repeated(a[0].copy())) == bits(repeated.py_func(a[0].copy()))


# --- partition ---


@settings(max_examples=examples(200), deadline=None)
@given(
    st.sampled_from(TYPES),
    st.sampled_from([(1,), (7,), (40,), (3000,), (5, 9), (1, 4), (2, 3, 20), (65, 2), (2, 1500)]),
    st.integers(0, 4),
    st.sampled_from([2, 9, 1000]),
    st.sampled_from([-1, 0, None]),
    st.sampled_from(["partition", "argpartition", "a.partition", "a.argpartition"]),
    st.sampled_from([0, 1, 3]),
    st.integers(0, 999),
)
def test_partition(dtype, shape, how, span, axis, what, several, seed):
    rng = np.random.default_rng(seed)
    if axis is None and what == "a.partition":
        axis = -1
    a = laid_out(numbers(rng, dtype, shape, span), how)
    n = a.size if axis is None else a.shape[axis]
    kth: Any = int(rng.integers(-n, n))
    if several:
        kth = tuple(int(k) for k in rng.integers(-n, n, several))
    if seed % 5 == 0:
        kth = np.atleast_1d(kth).astype("i4")
    names = {
        "partition": "np.partition(a, b, axis={})",
        "argpartition": "np.argpartition(a, b, axis={})",
        "a.argpartition": "a.argpartition(b, {})",
    }
    if what == "a.partition":
        got = a.copy(order="K")
        run("a.partition(b)" if axis == -1 else "a.partition(b, 0)", got, kth, parallel=seed % 2 == 0)
    else:
        got = run(names[what].format(axis), a, kth, parallel=seed % 2 == 0)
    x, axis = (a.ravel(), 0) if axis is None else (a, axis)
    if "arg" in what:
        assert got.dtype == np.int64 and got.shape == x.shape
        np.testing.assert_array_equal(np.sort(got, axis), np.argsort(np.zeros(x.shape), axis, "stable"))
        got = np.take_along_axis(x, got, axis)
    in_order, rows, got = np.sort(x, axis), np.moveaxis(x, axis, -1), np.moveaxis(got, axis, -1)
    assert got.dtype == a.dtype and got.shape == rows.shape
    np.testing.assert_array_equal(np.sort(got), np.sort(rows))
    in_order = np.moveaxis(in_order, axis, -1)
    for k in np.atleast_1d(kth):
        k = int(k) % n
        np.testing.assert_array_equal(got[..., k], in_order[..., k])
        np.testing.assert_array_equal(np.sort(got[..., :k]), in_order[..., :k])
        np.testing.assert_array_equal(np.sort(got[..., k:]), in_order[..., k:])


@pytest.mark.parametrize("parallel", [False, True])
def test_bad_kth(parallel):
    a = np.ones((2, 3))
    for expr, k in (
        ("np.partition(a, b)", 3),
        ("np.partition(a, b)", (0, -4)),
        ("np.argpartition(a, b, 0)", 2),
        ("a.partition(b)", 5),
    ):
        bad = k if isinstance(k, int) else k[1]
        for f in (run, lambda t, *x, **o: eval(t, {"np": np, "a": x[0], "b": x[1]})):
            with pytest.raises(ValueError, match=rf"kth\(={bad if bad >= 0 else bad + 3}\) out of bounds"):
                f(expr, a.copy(), k, parallel=parallel)
    assert run("np.partition(a, b)", np.ones(0), 0).size == 0  # of nothing any place will do
    rejects("np.partition(a, 1.5)", a, match="Partition index must be integer")
    rejects("np.partition(a, True)", a, match="Partition index must be integer")


@pytest.mark.parametrize("dtype", TYPES)
def test_bad_orders(dtype):
    """Up, down, up and down, equal, a saw, and what takes a median of three long."""
    n = 30_000
    i = np.arange(n)
    for x in (
        i,
        -i,
        np.minimum(i, n - i),
        i * 0,
        i % 64,
        np.where(i % 2, i, n // 2 + i // 2),
        (i == n // 3) * 1,
    ):
        x = (x % 251).astype(dtype) if np.dtype(dtype).itemsize == 1 else x.astype(dtype)
        k = (0, n // 2, n // 2 + 1, n - 1)
        got = run("np.partition(a, b)", x, k)
        np.testing.assert_array_equal(got[list(k)], np.sort(x)[list(k)])
        got = run("np.argpartition(a, b)", x, k)
        np.testing.assert_array_equal(x[got][list(k)], np.sort(x)[list(k)])


# --- lexsort ---


def test_lexsort():
    rng = np.random.default_rng(3)
    for shape in ((50,), (4, 6), (0,), (3, 0)):
        keys = [rng.integers(0, 3, shape).astype(t) for t in ("i8", "f4", "u1")]
        for axis in range(-len(shape), len(shape)):
            check(f"np.lexsort((a, b, c), {axis})", *keys)
            check(f"np.lexsort((a[::-1], b, b), axis={axis})", *keys[:2])
        check("np.lexsort(a)", np.array(keys))
        check("np.lexsort(a, 0)", np.array(keys), ulp=0)
        check("np.lexsort((a,))", keys[0])
    check("np.lexsort(a.T)", rng.integers(0, 3, (20, 3)))
    for f in (run, lambda t, *x: eval(t, {"np": np, "a": x[0], "b": x[1]})):
        with pytest.raises(ValueError, match="all keys need to be the same shape"):
            f("np.lexsort((a, b))", np.ones(3), np.ones(4))
    with pytest.raises(TypeError, match="need sequence of keys"):
        run("np.lexsort(a)", np.ones((0, 3)))
    rejects("np.lexsort(())", match="need sequence of keys")
    check("np.lexsort(a)", np.ones(3))


# --- median ---


@settings(max_examples=examples(100), deadline=None)
@given(
    st.sampled_from(TYPES),
    st.sampled_from(
        [(0,), (1,), (2,), (7,), (40,), (9000,), (20_001,), (5, 8), (3, 0), (2, 3, 20), (2, 8500)]
    ),
    st.integers(0, 4),
    st.sampled_from([2, 9, 1000]),
    st.booleans(),
    st.integers(0, 999),
)
def test_median(dtype, shape, how, span, nan, seed):
    rng = np.random.default_rng(seed)
    a = laid_out(numbers(rng, dtype, shape, span), how)
    if not nan:
        a = np.where(np.isnan(a), a.dtype.type(1), a)
    axis = [None, *range(-len(shape), len(shape))][seed % (2 * len(shape) + 1)]
    expr = f"np.median(a, {axis}, keepdims={seed % 2 == 0})"
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = eval(expr, {"np": np, "a": a})
    got = run(expr, a, parallel=seed % 3 == 0)
    assert np.shape(got) == np.shape(want)
    if np.ndim(want):
        assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def test_median_in_few_values_and_many(threads):
    """What lies between two items of a sample may be nearly everything, or nothing."""
    n = 50_000
    i = np.arange(n)
    rare = np.where(np.random.default_rng(1).random(n) < 0.02, i, 0)
    for x in (
        i,
        -i,
        i * 0,
        i % 2,
        i % 3,
        (i * 7919) % n,
        np.minimum(i, n - i),
        rare,
        rare + n * (i % 2),
        np.where(i < n // 2, 0, i),
    ):
        for dtype in ("f8", "i4", "u2", "c8"):
            y = (x % 30_000).astype(dtype)
            for z in (y, y[1:], y[::-2]):
                assert run("np.median(a)", z) == np.median(z)


def test_median_of_infinite_parts():
    """NumPy's is a mean of one item then, and divides it by 1 as complex numbers are divided."""
    for dtype in ("c8", "c16"):
        for z in ([0.5 - 1j * np.inf], [-1, 0.5 - 1j * np.inf, 0.5], [np.inf + 1j], [2 + 1j, -np.inf, 3]):
            a = np.array(z, dtype)
            with np.errstate(all="ignore"):
                want = np.median(a), np.median(a[None], axis=1)
            for got, w in zip(
                (run("np.median(a)", a), run("np.median(a, axis=1)", a[None])), want, strict=True
            ):
                np.testing.assert_array_equal(got, w)


def test_arguments_of_median():
    a = np.arange(12.0).reshape(3, 4)
    check("np.median((3, 1, 2))")
    check("np.median(a, axis=-1)", a)
    check("np.median(3.5)")
    check("np.median(a)", np.array([1.5e308, 1.7e308]))
    check("np.median(a)", np.array([np.inf, -np.inf]))
    out = np.empty(4)

    @njit
    def into(a, out):
        return np.median(a, 0, out, True)

    assert bits(into(a, out)) == bits(np.median(a, 0)) == bits(out)
    check("np.median(a, (0, 1))", a)
    empty = np.zeros((0, 2), complex)
    assert repr(njit(lambda a: np.median(a, axis=0))(empty)) == repr(np.array([complex(np.nan, np.nan)] * 2))
    rejects("np.median(a, b)", a, 1.5, match="axes must be constants|an integer")


# --- unique ---


@settings(max_examples=examples(100), deadline=None)
@given(
    st.sampled_from(TYPES),
    st.sampled_from([(0,), (1,), (2,), (40,), (3000,), (5, 8), (3, 0)]),
    st.integers(0, 4),
    st.sampled_from([1, 2, 9, 1000]),
    st.integers(0, 999),
)
def test_unique(dtype, shape, how, span, seed):
    a = laid_out(numbers(np.random.default_rng(seed), dtype, shape, span), how)
    flags = [
        f"{k}=True"
        for i, k in enumerate(("return_index", "return_inverse", "return_counts"))
        if seed >> i & 1
    ]
    expr = f"np.unique({', '.join(['a', *flags, f'equal_nan={seed % 3 != 0}'])})"
    want, got = eval(expr, {"np": np, "a": a}), run(expr, a, parallel=seed % 2 == 0)
    want, got = (want, got) if flags else ((want,), (got,))
    assert len(got) == len(want)
    for flag, w, g in zip(["", *flags], want, got, strict=True):
        assert w.dtype == g.dtype
        np.testing.assert_array_equal(g, w.reshape(a.shape) if "inverse" in flag else w)


def test_arguments_of_unique():
    check("np.unique((3, 1, 3, 2))")
    check("np.unique(a, axis=0)", np.array([3, 1, 3]))
    check("np.unique(a, False, False, True)", np.array([3, 1, 3]))
    check("np.unique(a, axis=0)", np.ones((2, 2)))
    rejects("np.unique(a, b)", np.ones(2), True, match="return_index must be a constant")


# --- other ways in ---

GLOBAL = np.array([3.0, 1.0, 2.0, 0.0])


def in_a_loop(a, b):
    """What is sorted in place is what is read later, before and behind a loop and in it."""
    total = 0.0
    for i in range(3):
        b[i:].sort()
        total += b[i] * (i + 1)
        b[i] = -b[i]
    c = a * 2
    d = c + b
    c.sort()
    return total, c[0] - d[0], np.sort(d)[-1], d


def with_handlers(a, b):
    try:
        a.partition(int(b[0]) + 100)
    except ValueError:
        a.sort()
    return a


@pytest.mark.parametrize("parallel", [False, True])
def test_among_expressions(parallel):
    rng = np.random.default_rng(6)
    a, b = rng.integers(-9, 9, 30) + 0.5, rng.permutation(30) + 0.25
    for expr in (
        "np.sort(a * b)[3:5]", "np.sort(a * 2 + b)[::-1][:3].sum()", "np.sort(a)[0] + a[0]", "(np.sort(a) - a).max()", "np.argsort(-(a + b))[::2]",
        "a[np.argsort(a, kind='stable')]", "np.partition(a * b, 3)[3]", "np.median(a * b + 1)", "np.median(a[a > 0] * 2)", "np.unique(a // 2)[::-1] * 2",
        "np.sort(a.reshape(5, 6) * b[:6], axis=0)[1:3].sum()", "np.median(np.sort(a).reshape(5, 6), axis=1).sum()", "np.argsort(np.argsort(a))",
        "np.sort(np.broadcast_to(a[0], (4,)))", "np.argsort(np.broadcast_to(a, (3, 30)), axis=0)", "np.median(np.broadcast_to(a[:1], (50000,)))",
    ):  # fmt: skip
        want, got = eval(expr, {"np": np, "a": a, "b": b}), run(expr, a, b, parallel=parallel)
        np.testing.assert_array_equal(got, want)
    for f in (in_a_loop, with_handlers):
        for g, w in zip(njit(parallel=parallel)(f)(a.copy(), b.copy()), f(a.copy(), b.copy()), strict=True):
            np.testing.assert_array_equal(g, w)
    f = njit(parallel=parallel)(lambda: (np.sort(GLOBAL), np.argsort(GLOBAL), np.median(GLOBAL)))
    for g, w in zip(f(), f.py_func(), strict=True):
        np.testing.assert_array_equal(g, w)


def test_from_compiled_code(threads):
    @njit
    def inner(a):
        a.sort()
        return np.argsort(-a)

    @njit(parallel=True)
    def rows(a):
        out = np.empty(a.shape, np.int64)
        for i in prange(a.shape[0]):
            out[i] = inner(a[i])
        return out

    def plain(a):
        a.sort()
        return np.argsort(-a)

    a = numbers(np.random.default_rng(4), "f8", (200, 50), 20)
    want = plain(a.copy())
    assert bits(rows(a)) == bits(want)


CACHED = """
import numpy as np
import treadle
from treadle import njit, prange

@njit(cache=True)
def f(a):
    b = np.sort(a, 0)
    a.partition(2)
    return b, np.argsort(a, kind="heapsort"), a[:, 2], np.lexsort((a[0], a[1])), np.median(b, 0)

a = np.random.default_rng(1).integers(0, 9, (30, 40)).astype("f8")
got, want = f(a.copy()), f.py_func(a.copy())
for x, y in zip(got[::2], want[::2]):
    assert x.tobytes() == y.tobytes()
print(treadle.stats()["loaded"], got[1].sum(), got[3].sum())
"""


def test_from_the_cache(tmp_path):
    file = tmp_path / "cached.py"
    file.write_text(CACHED)
    lines = [
        subprocess.run([sys.executable, file], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(2)
    ]
    assert lines[0][0] == "0" and lines[1][0] == "1", lines
    assert lines[0][1:] == lines[1][1:]


def test_threads_sort_at_once():
    f = njit(nogil=True)(lambda a: np.argsort(a))
    arrays = [np.random.default_rng(i).random(20_000) for i in range(4)]
    results: list[Any] = [None] * 4

    def work(i: int) -> None:
        results[i] = f(arrays[i])

    f(arrays[0])
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for a, r in zip(arrays, results, strict=True):
        np.testing.assert_array_equal(r, np.argsort(a))
