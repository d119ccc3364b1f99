"""Reductions and running sums over axes, on all dtypes, ranks and layouts, against NumPy."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st
from treadle import TreadleError, njit

sys.path.insert(0, str(Path(__file__).parent))
from arrays_check import ALL, FLOATS, INTS, REAL, agree, arrays, given  # noqa: E402
from builtins_check import compiled, rejects, run  # noqa: E402

REDUCTIONS = ["sum", "prod", "min", "max", "mean", "var", "std", "any", "all", "ptp", "count_nonzero"]
OF_ONE_AXIS = ["argmin", "argmax", "cumsum", "cumprod"]
METHODS = {
    "sum",
    "prod",
    "min",
    "max",
    "mean",
    "var",
    "std",
    "any",
    "all",
    "argmin",
    "argmax",
    "cumsum",
    "cumprod",
}
shapes = st.lists(st.sampled_from([0, 1, 2, 3, 5, 40]), min_size=0, max_size=4).map(tuple)


def refused(name, dtype):
    return np.dtype(dtype).kind == "b" and name == "ptp"


def is_ints(x):
    return isinstance(x, np.ndarray) and x.dtype.kind in "iu" and x.size > 0


def same(expr, *args, **options):
    """As NumPy's, sums of floats within their rounding errors."""
    with np.errstate(all="ignore"):
        try:
            want = eval(expr, {"np": np, **dict(zip("abc", args, strict=False))})
        except ValueError as e:
            with pytest.raises((ValueError, TreadleError)):
                run(expr, *args)
            return e
    got = run(expr, *args)
    assert np.shape(got) == np.shape(want), (np.shape(got), np.shape(want))
    assert isinstance(got, np.ndarray) == isinstance(want, np.ndarray)
    want = np.asarray(want)
    if isinstance(got, np.ndarray):
        assert got.dtype == want.dtype
    if want.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, want)
        return None
    got, eps = np.asarray(got), 2e-5 if want.dtype in (np.float32, np.complex64) else 1e-12
    # the largest integers may cancel each other: what is left depends on the order
    largest = max((float(abs(x.astype(float)).max()) for x in args if is_ints(x)), default=0.0)
    for g, w in ((got.real, want.real), (got.imag, want.imag)):
        np.testing.assert_allclose(g, w, rtol=eps, atol=eps * max(100, largest), equal_nan=True)
    return None


@st.composite
def calls(draw):
    """The text of a call of a reduction of `a`, and `a`."""
    name = draw(st.sampled_from(REDUCTIONS + OF_ONE_AXIS))
    a = draw(arrays([t for t in ALL if not refused(name, t)], shape=draw(shapes), special=False))
    axes = [None, *range(-a.ndim, a.ndim)]
    axis = draw(st.sampled_from(axes))
    if a.ndim > 1 and name in REDUCTIONS and draw(st.booleans()):
        axis = tuple(draw(st.lists(st.integers(0, a.ndim - 1), min_size=1, unique=True)))
    words = [f"axis={axis}"]
    if name not in ("cumsum", "cumprod") and draw(st.booleans()):
        words.append("keepdims=True")
    if name in ("sum", "prod", "cumsum", "cumprod") and draw(st.booleans()):
        wide = [t for t in ALL[1:] if np.dtype(t).kind == "c" or a.dtype.kind != "c"]
        words.append(f"dtype=np.{np.dtype(draw(st.sampled_from(wide))).name}")
    if name == "mean" and draw(st.booleans()):
        words.append("dtype=np.complex128" if a.dtype.kind == "c" else "dtype=np.float64")
    if name in ("var", "std") and draw(st.booleans()):
        words.append(f"ddof={draw(st.sampled_from(['1', '0.5', '2']))}")
    if name in METHODS and draw(st.booleans()):
        return f"a.{name}({', '.join(words)})", a
    return f"np.{name}(a, {', '.join(words)})", a


@given(call=calls())
def test_reductions(call):
    expr, a = call
    if "prod" in expr and a.size > 100 and a.dtype.kind != "b":
        a = np.sign(a)
    same(expr, a)


@given(call=calls())
def test_more_reductions(call):
    test_reductions.hypothesis.inner_test(call)


@given(data=st.data())
def test_special_values(data):
    name = data.draw(
        st.sampled_from(["min", "max", "argmin", "argmax", "any", "all", "sum", "mean", "cumsum", "ptp"])
    )
    a = data.draw(arrays(FLOATS + INTS, shape=data.draw(shapes.filter(lambda s: len(s) > 0))))
    same(f"np.{name}(a, axis={data.draw(st.integers(0, a.ndim - 1))})", a)


@given(data=st.data())
def test_axis_at_run_time(data):
    name = data.draw(st.sampled_from(["sum", "max", "mean", "std", "argmin", "all"]))
    a = data.draw(
        arrays(REAL, shape=data.draw(shapes.filter(lambda s: len(s) > 0 and 0 not in s)), special=False)
    )
    k = data.draw(st.integers(-a.ndim, a.ndim - 1))
    same(f"np.{name}(a, axis=b)", a, k)
    same(f"np.{name}(a, axis=b, keepdims=True)", a, k)
    with pytest.raises(ValueError, match="is out of bounds for array of dimension"):
        run(f"np.{name}(a, axis=b)", a, a.ndim)


@pytest.mark.parametrize("dt", ["f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"])
def test_places_of_extremes(dt):
    """Longer than the buffers; of what is computed, of strided arrays, with ties, NaN, and bytes that are true and not 1."""
    rng = np.random.default_rng(5)
    exprs = [
        f"np.{f}({x})"
        for f in ("argmin", "argmax")
        for x in ("a", "a | a" if dt == "?" else "a + a", "a[::3]")
    ]
    exprs += [
        "np.argmin(a.reshape(-1, 2), axis=0)",
        "np.argmax(a.reshape(2, -1), axis=1)",
        "np.argmax(a.reshape(2, -1).T)",
    ]
    for n in (2, 12, 30, 256, 258, 700, 3000):
        for top in (3, 100):
            a = rng.integers(0, top, n).astype(dt)
            if dt[0] == "f" and top == 3:
                a[rng.integers(n)] = np.nan
            for expr in exprs:
                agree(expr, a)
    if dt == "?":
        odd = np.array([0, 0, 2, 1], "u1").view(bool)
        assert run("np.argmax(a)", odd) == 2 and run("np.argmin(a[2:])", odd) == 0


def test_running_products_are_multiplied_in_order():
    a = np.random.default_rng(0).random((50, 70)).astype(np.float32)
    for expr in ("np.cumprod(a + 0.5, axis=1)", "np.cumprod(a + 0.5)", "(a + 0.5).T.cumprod(0)"):
        agree(expr, a)
    for expr in ("np.cumsum(a)", "np.cumsum(a, axis=0)", "a.cumsum(1)", "a.T.cumsum(0)"):
        agree(expr, np.floor(a * 100))  # whole numbers: exact in any order


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "i1", "u1", "u8", "?"])
def test_places_of_extremes_in_short_rows(dtype: str) -> None:
    """Rows of up to sixteen items are looked at item by item: ties, NaN, extremes of the type, zeros of both signs."""
    rng = np.random.default_rng(3)
    least, most = njit(lambda a: a.argmin(axis=1)), njit(lambda a: a.argmax(axis=1))
    for n in range(1, 19):
        if dtype == "?":
            a = rng.random((40, n)) < 0.5
        elif dtype[0] == "f":
            a = np.round(rng.standard_normal((40, n)), 1).astype(dtype)
            a[::3] *= 0  # -0.0 and 0.0 are equal
            for r in range(5, 25):
                a[r, rng.integers(0, n, 1 + r % 3)] = np.nan
            a[30], a[31, -1] = np.inf, -np.inf
        else:
            ends = np.iinfo(dtype)
            a = rng.integers(0, 5, (40, n)).astype(dtype)
            a[rng.random((40, n)) < 0.1] = ends.max
            a[rng.random((40, n)) < 0.1] = ends.min
        np.testing.assert_array_equal(least(a), a.argmin(axis=1))
        np.testing.assert_array_equal(most(a), a.argmax(axis=1))


def test_out():
    a = np.arange(24.0).reshape(2, 3, 4) % 7
    for expr in (
        "np.sum(a, axis=1, out=b)",
        "np.mean(a, 1, None, b)",
        "a.max(1, b)",
        "a.min(1, out=b)",
        "np.std(a, 1, out=b)",
        "np.cumsum(a[:, 0], axis=1, out=b)",
        "np.ptp(a, 1, out=b)",
    ):
        b = np.full((2, 4), np.nan)
        assert run(expr, a, b) is b
        np.testing.assert_allclose(b, eval(expr, {"np": np, "a": a, "b": np.zeros((2, 4))}), rtol=1e-15)
    b = np.zeros((2, 1, 4))
    assert run("np.sum(a, 1, out=b, keepdims=True)", a, b) is b
    b = np.zeros((2, 4), dtype=np.int64)
    assert run("np.argmax(a, 1, out=b)", a, b) is b
    np.testing.assert_array_equal(b, a.argmax(1))
    b = np.zeros((2, 4), dtype=bool)
    run("np.any(a > 5, 1, b)", a, b)
    np.testing.assert_array_equal(b, (a > 5).any(1))
    b = np.zeros(())
    run("np.sum(a, out=b)", a, b)
    assert b == a.sum()
    # Truth values into truth values: NumPy's type is out's, so they are joined.
    for name in ("sum", "prod", "nansum", "cumsum", "nancumprod", "add.reduce", "add.accumulate"):
        b = np.zeros((2, 3, 4) if "cum" in name or "acc" in name else (2, 4), dtype=bool)
        want = b.copy()
        for m in (a > 3, a < 0, a >= 0):
            expr = f"np.{name}(a, axis=1, out=b)"
            eval(expr, {"np": np, "a": m, "b": want})
            run(expr, m, b)
            np.testing.assert_array_equal(b, want)
    rejects(
        "np.sum(a, 1, out=b)",
        a.astype(int),
        np.zeros((2, 4), bool),
        match="of int64 in out, an array of bool",
    )
    rejects(
        "np.sum(a, axis=1, out=b)",
        a,
        np.zeros((2, 4), np.int32),
        match="cannot store a result of float64 in out",
    )
    rejects("np.sum(a, axis=1, out=b)", a, np.zeros(4), match="out must be an array of 2 dimensions")
    with pytest.raises(ValueError, match="output array has an axis of size 3 where the result has 4"):
        run("np.sum(a, axis=1, out=b)", a, np.zeros((2, 3)))


def test_first_values():
    a = np.arange(24.0).reshape(2, 3, 4)
    for expr in (
        "a.sum(initial=5)",
        "a.prod(0, initial=2)",
        "np.min(a, initial=-3)",
        "a[:0].max(initial=4)",
        "a[:0].max(0, initial=4)",
        "np.sum(a, axis=(0, 2), initial=1.5)",
    ):
        same(expr, a)
    rejects("a.sum(initial=b)", np.arange(3), 1.5, match="initial must be a number that fits int64")


@pytest.mark.parametrize("dtype", ["u1", "i1", "u4", "i4", "u8", "i8"])
@pytest.mark.parametrize(
    "initial", ["-1.0", "1.5", "300.7", "-1e30", "1e30", "9.3e18", "-9.3e18", "np.nan", "np.inf", "1.8e19"]
)
def test_a_real_first_value_of_integers(dtype, initial):
    """It becomes an integer first, as in NumPy, which the type may not hold."""
    for f in ("max", "sum"):
        text = f"np.{f}(a, initial={initial})"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                eval(text, {"np": np, "a": np.array([3, 4], dtype)})
        except (OverflowError, ValueError) as e:
            with pytest.raises(type(e)):
                run(text, np.array([3, 4], dtype))
        else:
            same(text, np.array([3, 4], dtype))


def test_literals_of_integers_that_are_written_as_reals():
    """A literal's constant is what a number of that value converts to."""
    for dtype in ("int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"):
        for x in (1.8e19, 9.3e18, 9.223372036854775e18, -9.2233720368547748e18, 3e9, -3e9, 300.5, -1.5, 1e30):
            literal, given_ = njit(eval(f"lambda: np.{dtype}({x!r})")), njit(eval(f"lambda x: np.{dtype}(x)"))
            assert literal() == given_(x), (dtype, x)


@pytest.mark.parametrize("parallel", [False, True])
def test_views_that_lie_along_a_kept_axis(parallel):
    # Whether memory lies along the axis that stays is known when compiling, when running, or not so at all.
    base = np.random.default_rng(0).integers(-9, 10, (40, 150, 90)).astype(np.float64)
    expr = "(a.sum(0), a.max(1), a.std(axis=(0, 2)), a[:, 1:-1, 2:-1].sum(0), (a * 2 + a.mean(0)).min(axis=1, keepdims=True))"
    expr = expr.replace("a.mean(0)", "a[0]")
    for view in (
        base[1:, 2:, 3:],
        base[::2, ::3],
        base[..., ::2],
        base.transpose(2, 0, 1)[1:],
        base[::-1, :, ::-1],
    ):
        got, want = run(expr, view, parallel=parallel), eval(expr, {"a": view})
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_a_column_sums_to_the_same_whatever_lies_beside_it(dtype):
    """Columns are reduced side by side, as many as fit, and vectors of them; zeros keep their signs."""
    down = njit(lambda a: a.sum(axis=0))
    more = njit(lambda a, b: (a.sum(axis=0), a.real.max(axis=0), (a * b).sum(axis=0)))
    rng = np.random.default_rng(1)
    for rows in (1, 15, 16, 37, 130):
        a = ((rng.random((rows, 1100)) - 0.5) * 10.0 ** rng.integers(-3, 4, (rows, 1100))).astype(dtype)
        a[:, ::7] = -0.0
        alone = np.concatenate([down(a[:, k : k + 1].copy()) for k in range(a.shape[1])])
        for width in (2, 3, 5, 127, 128, 255, 256, 257, 511, 512, 513, 767, 1025):
            part = np.ascontiguousarray(a[:, 3 : 3 + width])
            want = alone[3 : 3 + width].tobytes()
            assert down(part).tobytes() == want, (rows, width)
            sums, most, same = more(part, np.ones(width, dtype))
            assert sums.tobytes() == want and np.array_equal(most, part.real.max(axis=0)), (rows, width)
            np.testing.assert_array_equal(same, sums)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_one_tree_in_all_versions_of_the_code(dtype):
    # Rows are added up four at a time, one at a time where the expression is long or hardly ever runs: the sums are the same bits.
    long = "(" * 14 + "a" + " * 1 + 0)" * 14
    b, c = np.ones((1, 3)), np.ones((2, 3))
    for shape in ((9, 7, 50), (3, 17, 300), (40, 5, 20), (30, 2, 7), (6, 16, 9), (4, 3, 11, 30)):
        rng = np.random.default_rng(1)
        a = ((rng.random(shape) - 0.5) * 10.0 ** rng.integers(-3, 4, shape)).astype(dtype)
        view = np.zeros([n + 2 for n in shape], dtype)[(slice(1, -1),) * a.ndim]
        view[:] = a
        axis = (0, 1) if a.ndim == 3 else (0, 2)
        want = run(f"a.sum(axis={axis})", a).tobytes()
        assert run(f"({long}).sum(axis={axis})", a).tobytes() == want
        assert run(f"(a.sum(axis={axis}), b + c)[0]", a, b, c).tobytes() == want
        assert run(f"(a.sum(axis={axis}), (a * 3).sum(axis={axis}))[0]", a).tobytes() == want
        assert run(f"({long}).sum(axis={axis})", a, parallel=True).tobytes() == want
        assert run(f"a.sum(axis={axis})", view).tobytes() == want
        assert run(f"({long}).sum(axis={axis})", view).tobytes() == want


def test_sizes_that_repeat_at_run_time():
    # (n, 1) with (n, m) and (1, m), as somebody passes them in; axes that are no constants
    rng = np.random.default_rng(0)
    full, column, line, row = (
        rng.random((70, 600)),
        rng.random((70, 1)),
        rng.random((1, 600)),
        rng.random(600),
    )
    for a, b in ((full, column), (full, line), (column, line), (column, row), (full[:, 3:], column[::-1])):
        for expr in (
            "a - b",
            "np.exp(a - b) * 2",
            "(np.sqrt(a + b) / a).sum(axis=1)",
            "np.sin(a * b - a).max(0)",
        ):
            same(expr, a, b)
            same(expr, a.astype(np.float32), b.astype(np.float32))
    for axis in (0, 1):
        same("np.exp(a - a.max(axis=b, keepdims=True)).sum(axis=b)", full, axis)


def test_in_expressions():
    a = np.random.default_rng(0).random((5, 6, 7))
    for expr in (
        "np.sqrt(((a - b) ** 2).sum(axis=1))",
        "a - a.mean(axis=1, keepdims=True)",
        "a / a.sum(axis=2, keepdims=True)",
        "(a - a.mean(0)) / a.std(0)",
        "a.sum(axis=1).sum(axis=0).max()",
        "np.exp(a - a.max(-1, keepdims=True)).sum(-1)",
        "a.argmax(axis=1).sum()",
        "(a > 0.5).sum(axis=(0, 2))",
        "(a * 2 + b).sum(axis=0)[1:].T",
        "a[a > 0.5].sum()",
        "np.cumsum(a, axis=1)[:, -1] - a.sum(axis=1)",
        "a.cumsum(0).max(0)",
    ):
        same(expr, a, a[::-1])


def test_parallel():
    a = np.random.default_rng(0).random((300, 200))
    for expr in (
        "a.sum(axis=0)",
        "a.sum(axis=1)",
        "a.max(axis=0)",
        "np.std(a, axis=1)",
        "a.argmin(axis=1)",
        "np.cumsum(a, axis=1)",
    ):
        one, many = compiled(expr, 1)(a), compiled(expr, 1, parallel=True)(a)
        np.testing.assert_array_equal(one, many)


def test_wrong_arguments():
    a = np.ones((2, 3))
    rejects("a.sum(axis=2)", a, match="axis 2 is out of bounds for array of dimension 2")
    rejects("a.sum(axis=(0, 0))", a, match="duplicate value in 'axis'")
    rejects("a.sum(axis=1.5)", a, match="axis must be an integer")
    rejects("a.argmax(axis=(0, 1))", a, match="axis must be an integer")
    rejects("a.sum(axis=b)", a, (0, 1), match="axes must be constants|constant")
    rejects("a.sum(keepdims=b)", a, True, match="keepdims must be a constant")
    rejects("a.mean(dtype=np.int32)", a, match="a dtype that is not a float")
    rejects("np.ptp(a)", a > 0, match="of bool items")
    rejects("np.var(a, ddof=1, correction=1)", a, match="ddof and correction are the same")
    assert run("np.var(a, correction=1)", np.array([1.0, 2.0, 3.0])) == 1.0
    for expr in ("a.min(axis=0)", "a.max()", "np.argmin(a)", "np.ptp(a, axis=0)", "a.argmax(axis=0)"):
        with pytest.raises(ValueError, match="zero-size array|empty sequence"):
            run(expr, np.ones((0, 3)))


def test_fused_with_what_they_read():
    """The sum of squares of rows reads the array once: no array is made but the result."""

    @njit
    def f(a):
        return np.sqrt(((a * 2 - 1) ** 2).sum(axis=1))

    a = np.random.default_rng(0).random((20, 30))
    np.testing.assert_allclose(f(a), np.sqrt(((a * 2 - 1) ** 2).sum(axis=1)))
    (text,) = f.inspect_ir().values()  # one pattern, and versions of it for short rows
    assert text.count("alloc ") == 1 and text.count("pattern ") == 11 and text.count("yield") == 22


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sums_of_many_short_rows_are_those_of_few(dtype):
    """A length that is known has code of its own where rows are many (opt/pattern/vectors.c): no bit depends on it."""

    @njit
    def f(a, b):
        return (a - b).sum(axis=1)

    rng = np.random.default_rng(4)
    for d in range(1, 18):
        a = rng.standard_normal((70000 // d, d)).astype(dtype)
        a[::7], a[1::7] = -0.0, 0.0
        b = np.zeros((1, d), dtype)
        b[0, ::2] = 0.25
        few = np.concatenate([f(a[i : i + 50], b) for i in (0, 50, 100)])
        assert f(a, b)[:150].tobytes() == few.tobytes()
        np.testing.assert_allclose(f(a, b), (a - b).sum(axis=1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_extremes_of_zeros_and_nan(dtype):
    """max is +0 if there is any, min is -0 if there is any, and a NaN anywhere wins: in vectors, their rest, and along axes."""

    @njit
    def extremes(a):
        return a.max(), a.min(), a.reshape(1, -1).max(axis=1)[0], a.reshape(-1, 1).min(axis=0)[0]

    rng = np.random.default_rng(1)
    for n in (1, 2, 3, 7, 16, 33, 64, 255, 257):
        for _ in range(8):
            a = rng.choice(np.array([-0.0, 0.0], dtype), n) if n < 200 else np.full(n, -0.0, dtype)
            got = extremes(a)
            assert [bool(np.signbit(x)) for x in got] == [
                bool(np.signbit(a).all()),
                bool(np.signbit(a).any()),
            ] * 2
        b = rng.standard_normal(n).astype(dtype)
        assert extremes(b) == (b.max(), b.min()) * 2
        b[rng.integers(n)] = np.nan
        assert all(np.isnan(x) for x in extremes(b))
        assert extremes(np.full(n, -np.inf, dtype)) == (-np.inf,) * 4
        assert extremes(np.full(n, np.inf, dtype)) == (np.inf,) * 4


def test_items_that_are_in_an_array():
    """x in a: (a == x).any()."""

    @njit
    def f(a, x):
        return x in a, x not in a

    arrays = [
        np.arange(6),
        np.arange(6.0).reshape(2, 3),
        np.zeros((0, 3)),
        np.array([True, False]),
        np.array([np.nan, 1]),
    ]
    arrays += [
        np.array(3),
        np.arange(6, dtype="u1"),
        np.arange(12.0).reshape(3, 4)[::2, ::-1],
        np.array([1j, 2]),
    ]
    for a in arrays:
        for x in (3, 2.5, True, np.nan, -1, 300, 1j):
            assert f(a, x) == (x in a, x not in a), (a, x)
    a = np.arange(6.0).reshape(2, 3)
    for row in ([0.0, 9, 9], [9.0, 9, 9]):
        assert f(a, np.array(row))[0] == (np.array(row) in a)


def tree_sum(x):
    """The sum as rt/sum.c has it: 16 lanes, then lane k and k + 8, k + 4, k + 2, k + 1."""
    lanes = np.full(16, -0.0, x.dtype)
    for i, v in enumerate(x):
        lanes[i % 16] += v
    for half in (8, 4, 2, 1):
        lanes[:half] += lanes[half : 2 * half]
    return x.dtype.type(0.0) + lanes[0]


@pytest.mark.parametrize("dtype", FLOATS[-2:])
def test_sums_of_few_are_those_of_many(dtype):
    """Up to eight values are added up where they stand, others by the runtime: in one order, to the bit; nothing past the end is read, nor before the beginning."""

    @njit
    def sums(x, a, b):
        return x[a:b].sum(), x[a:b].mean()

    rng = np.random.default_rng(5)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30]
    for n in range(34):
        for kind in range(6):
            x = (rng.standard_normal(n + 2) * 10.0 ** rng.integers(-3, 9, n + 2)).astype(dtype)
            if kind > 2:
                x = np.where(rng.random(n + 2) < 0.3, rng.choice(special, n + 2), x).astype(dtype)
            if kind == 5:
                x[:] = -0.0
            with np.errstate(all="ignore"):
                want = tree_sum(x[1 : n + 1])
                mean = want / dtype(n) if n else None
            total, average = sums(x, 1, n + 1)
            assert dtype(total).tobytes() == want.tobytes() or (np.isnan(total) and np.isnan(want)), (n, x)
            if n:
                assert average == mean or np.isnan(mean)


EXTREMES = (
    "np.max(a)", "np.min(a)", "a.max(axis=1)", "a.min(axis=0, keepdims=True)", "a.max(axis=(0, 1))", "np.ptp(a)", "np.ptp(a, axis=0)",
    "np.ptp(a, 1, keepdims=True)", "a.argmax()", "a.argmin()", "a.argmax(axis=0)", "np.argmin(a, axis=-1)", "np.argmax(a, axis=1, keepdims=True)", "np.nanmax(a)",
    "np.nanmin(a, axis=0)", "np.nanmax(a, 1, keepdims=True)", "np.maximum.accumulate(a, axis=1)",
)  # fmt: skip


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_numbers_are_in_order(dtype):
    """By real, then imaginary parts: with ties, and NaN in either part, which is the greatest and the least."""
    rng = np.random.default_rng(3)
    for n in range(12):
        a = (rng.integers(-2, 3, (5, 4)) + 1j * rng.integers(-2, 3, (5, 4))).astype(dtype)
        if n > 3:
            a.real[rng.random((5, 4)) < 0.1] = np.nan
            a.imag[rng.random((5, 4)) < 0.1] = np.nan
        if n > 7:
            a.real[rng.random((5, 4)) < 0.2] = rng.choice([np.inf, -np.inf])
        for x in (a, a[::-1, ::2], np.asfortranarray(a), a[:1, :1])[: None if n < 4 else 1]:
            for expr in EXTREMES:  # of several NaN it is the first, which NumPy looks for as memory lies
                if "nanm" in expr and np.isnan(x).all(axis=1 if "1" in expr else 0).any():
                    continue  # of which NumPy warns
                same(expr, x)
    a = np.array([3 + 1j, 3 + 2j, -1 - 5j, -1 + 0j], dtype)
    assert run("np.max(a)", a) == 3 + 2j and run("np.min(a)", a) == -1 - 5j
    assert run("np.argmax(a)", a) == 1 and run("a.argmin()", a) == 2
    same("np.nanargmax(a)", np.array([np.nan, 1 + 2j, 1 + 3j, complex(5, np.nan)], dtype))
    same("np.nanargmin(a)", np.array([np.nan, 1 + 2j, 1 - 3j, complex(-5, np.nan)], dtype))
    same("np.max(a, initial=2 + 9j)", a)
    same("np.max(a, initial=9j, where=b)", a, np.array([False, False, True, True]))
    same("a.min(initial=-1 - 9j)", a[:0])
    for expr in ("a.max()", "np.argmin(a)", "np.ptp(a)", "np.nanmin(a)"):
        with pytest.raises(ValueError, match="zero-size array|empty sequence"):
            run(expr, a[:0])
    out = np.zeros(2, dtype)
    run("np.max(a, axis=0, out=b)", a.reshape(2, 2), out)
    np.testing.assert_array_equal(out, a.reshape(2, 2).max(axis=0))
    run("np.ptp(a, axis=0, out=b)", a.reshape(2, 2), out)
    np.testing.assert_array_equal(out, np.ptp(a.reshape(2, 2), axis=0))
    with pytest.raises(TreadleError):
        run("np.max(a, initial=b)", a.real, 1j)


def test_complex_extremes_among_threads():
    rng = np.random.default_rng(4)
    a = rng.integers(-9, 9, (300, 200)) + 1j * rng.integers(-9, 9, (300, 200))
    for expr in EXTREMES:
        np.testing.assert_array_equal(compiled(expr, 1, parallel=True)(a), eval(expr, {"np": np, "a": a}))


def test_counts_that_no_float32_holds():
    """A sum of 2**24 + 1 is divided by that, and not by 2**24."""
    a = np.zeros(2**24 + 1, np.float32)
    a[0] = 2**24 - 1
    for expr in ("a.mean()", "np.mean(a, where=a >= 0)", "np.mean(a + 0j * np.float32(1))"):
        assert run(expr, a) == eval(expr, {"np": np, "a": a})
    assert run("np.mean(a, axis=0)", a[:, None])[0] == a.mean()


def test_short_rows_add_up_as_lines_do():
    """Sums of few elements are written out where an axis is kept (lower/few_sums.c): the same tree, bit for bit."""

    @njit
    def rows(x, y):
        s = (x * y).sum(axis=1)
        return s, (x - y).sum(axis=1), x.mean(axis=1), (x[:, ::-1] * y).sum(axis=1)

    @njit
    def line(a, b):
        return (a * b).sum(), (a - b).sum(), a.mean(), (a[::-1] * b).sum()

    def known(n):
        return njit(lambda x: (x.reshape(-1, n) * 1.5).sum(axis=1))

    halves_more = njit(lambda x: (x * 1.5).sum(axis=1))
    r = np.random.default_rng(3)
    for dtype in ("f8", "f4", "c16"):
        for n in range(20):
            x, y = (10.0 ** r.integers(-3, 4, (5, n)) * r.standard_normal((5, n)) for _ in range(2))
            x, y = x.astype(dtype), y.astype(dtype)
            x[0] = -0.0
            with np.errstate(invalid="ignore"):
                for a, b in zip(rows(x, y), zip(*map(line, x, y), strict=True), strict=True):
                    assert a.tobytes() == np.array(b, a.dtype).tobytes(), (dtype, n)

    for n in range(1, 11):
        x = r.standard_normal((7, n))
        assert known(n)(x.ravel()).tobytes() == halves_more(x).tobytes(), n
