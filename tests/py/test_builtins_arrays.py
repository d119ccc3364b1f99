"""Arrays made by compiled code, their attributes, methods and reductions, against NumPy."""

from __future__ import annotations

import itertools
import math
import sys
from pathlib import Path

import numpy as np
import pytest
import treadle
from hypothesis import strategies as st
from treadle import njit

sys.path.insert(0, str(Path(__file__).parent))
from builtins_check import array_equal, close, copies, floats, given, plain, rejects, result_type, run  # noqa: E402

DTYPES = [np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
          np.float32, np.float64, np.complex64, np.complex128]  # fmt: skip


def same(expr, *args, ulp=0):
    """Equal to NumPy's result: values, dtype, shape; or the same exception."""
    with np.errstate(all="ignore"):
        try:
            want = plain(expr, *copies(args))
        except (ValueError, ZeroDivisionError, IndexError) as e:
            with pytest.raises(type(e)):
                run(expr, *copies(args))
            return None
    got = run(expr, *copies(args))
    if isinstance(want, np.ndarray):
        array_equal(got, want, ulp)
    else:
        close(got, want, ulp)
    return got


# --- creation ---


def test_fill_functions():
    for n in (0, 1, 7):
        for fn in ("zeros", "ones"):
            same(f"np.{fn}(a)", n)
            same(f"np.{fn}((a, 3))", n)
            same(f"np.{fn}((2, a, 3), dtype=np.int16)", n)
            same(f"np.{fn}(shape=a, dtype='f4', order='F')", n)
        same("np.full(a, 2.5)", n)
        same("np.full((a, 2), 7)", n)
        same("np.full(a, True)", n)
        same("np.full(a, 3, dtype=np.float32)", n)
        same("np.full((a, 2), b)", n, np.int8(3))
        same("np.full(a, 1j)", n)
        assert run("np.empty((a, 2))", n).shape == (n, 2)
        assert run("np.empty(a, np.uint8)", n).dtype == np.uint8
    same("np.zeros(())")
    same("np.zeros(a)", (2, 3))
    same("np.full(3, a)", np.array([1.0, 2.0, 3.0]))


@pytest.mark.parametrize("t", DTYPES)
def test_fill_dtypes(t):
    name = t.__name__
    for expr in (
        "np.zeros(3, dtype=np.{})",
        "np.ones((2, 2), np.{})",
        "np.full(2, 1, np.{})",
        "np.eye(3, dtype=np.{})",
    ):
        expr = expr.format("bool_" if name == "bool" else name)
        same(expr)
    for fn in ("zeros", "ones"):
        same(f"np.{fn}_like(a)", np.zeros((2, 3), dtype=t))
    same("np.full_like(a, 1)", np.zeros((2, 3), dtype=t))
    assert run("np.empty_like(a)", np.zeros((2, 3), dtype=t)).dtype == t


def test_dtypes_by_other_names():
    for d in ("float", "int", "bool", "complex", "'f4'", "np.dtype('i2')", "np.intp", "'uint8'"):
        if d.startswith("np.dtype"):
            continue
        same(f"np.zeros(2, {d})")
    same("np.zeros(2, a.dtype)", np.ones(1, dtype=np.int16))
    same("np.ones(2, dtype=None)")


def test_like_layouts():
    c, f = np.ones((2, 3)), np.asfortranarray(np.ones((2, 3)))
    assert run("np.zeros_like(a)", f).flags.f_contiguous
    assert run("np.zeros_like(a)", c).flags.c_contiguous
    assert run("np.ones_like(a, order='C')", f).flags.c_contiguous
    assert run("np.zeros((a, 3), order='F')", 2).flags.f_contiguous
    same("np.zeros_like(a, dtype=np.int8, shape=(2, 2))", c)
    same("np.full_like(a, b, dtype=np.int64)", c, 5)


def test_bad_shapes():
    with pytest.raises(ValueError, match="negative dimensions are not allowed"):
        run("np.zeros(a)", -1)
    with pytest.raises(ValueError, match="negative dimensions are not allowed"):
        run("np.empty((3, a))", -5)
    with pytest.raises(ValueError, match="negative dimensions are not allowed"):
        run("np.ones(-1)")
    with pytest.raises((MemoryError, ValueError)):
        run("np.zeros(a)", 2**61)
    with pytest.raises((MemoryError, ValueError)):
        run("np.zeros((a, a))", 2**40)
    rejects("np.zeros(a)", 2.0, match="a shape must be an integer, not float64")
    rejects("np.zeros(3, dtype='f3')", match="not a dtype")
    rejects("np.zeros(3, order='X')", match="order must be a constant")
    rejects("np.zeros(3, order=a)", 1, match="order must be a constant")
    rejects("np.full(3, None)", match="fill_value must be a number")
    rejects("np.full(3, 1j, dtype=np.float64)", match="cannot convert complex")


@given(x=st.integers(-40, 40), y=st.integers(-40, 40), z=st.integers(-9, 9))
def test_arange_int(x, y, z):
    same("np.arange(a)", x)
    same("np.arange(a, b)", x, y)
    same("np.arange(a, b, c)", x, y, z)


@given(x=st.floats(-40, 40), y=st.floats(-40, 40), z=st.one_of(st.floats(0.1, 9), st.floats(-9, -0.1)))
def test_arange_float(x, y, z):
    same("np.arange(a)", x)
    same("np.arange(a, b)", x, y)
    same("np.arange(a, b, c)", x, y, z)
    same("np.arange(a, b, c)", x, 5, z)


def test_arange_types():
    same("np.arange(a)", np.int8(5))
    same("np.arange(a)", np.float32(5))
    same("np.arange(5, dtype=np.float32)")
    same("np.arange(0, a, 0.5, dtype=np.float32)", 4.0)
    same("np.arange(0, 5, 2, np.int16)")
    same("np.arange(0, 5, 0.5, dtype=np.int64)")
    same("np.arange(3.0, 0.0, -0.25)")
    with pytest.raises(ValueError, match="Maximum allowed size exceeded"):
        run("np.arange(0.0, a, 1.0)", math.inf)
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        run("np.arange(0.0, 1.0, a)", 0.0)
    with pytest.raises(ZeroDivisionError):
        run("np.arange(0, 1, a)", 0)
    rejects("np.arange(a)", 1j, match="real number")
    rejects("np.arange()", match="requires stop")


@given(x=st.floats(-1e6, 1e6), y=st.floats(-1e6, 1e6), n=st.integers(0, 20))
def test_linspace(x, y, n):
    same("np.linspace(a, b, c)", x, y, n)
    same("np.linspace(a, b, num=c, endpoint=False)", x, y, n)


def test_linspace_others():
    same("np.linspace(0, 1)")
    same("np.linspace(a, b, 5)", 1, 9)
    same("np.linspace(a, b, 5)", 3.0, 3.0)
    same("np.linspace(a, b, 7, dtype=np.int64)", -3.5, 9.0)
    same("np.linspace(a, b, 7, dtype=np.float32)", -3.5, 9.0)
    same("np.linspace(5e-324, 0.0, 4)")
    got, step = run("np.linspace(a, b, 5, retstep=True)", 1.0, 2.0)
    want, wstep = np.linspace(1.0, 2.0, 5, retstep=True)
    array_equal(got, want)
    assert step == wstep
    with pytest.raises(ValueError, match="Number of samples, -1, must be non-negative"):
        run("np.linspace(0, 1, a)", -1)


def test_eye():
    same("np.eye(a)", 3)
    same("np.eye(a, 5, k=1)", 3)
    same("np.eye(a, 2, -1, dtype=np.int8)", 3)
    same("np.identity(a)", 2)


def test_array_of_literals():
    same("np.array([1, 2, a])", 3)
    same("np.array([1, 2.5, a])", 3)
    same("np.array([[1, a], [3, 4.0]])", 2)
    same("np.array(((1, 2), (3, 4), (5, a)), dtype=np.float32)", 6)
    same("np.array([True, False])")
    same("np.array([])")
    same("np.array([a, 1j])", 2)
    same("np.array(a)", 2.5)
    same("np.asarray((a, b))", 1, 2.0)
    with pytest.raises(ValueError, match="inhomogeneous shape"):
        run("np.array([[1, 2], [3]])")
    rejects("np.array([1, [2]])", match="no type in common")
    same("np.array(['a', 'bc'])")
    same("np.array([a, a])", np.ones(2))
    rejects("np.array([[a, a], [a, a]])", np.ones(2), match="sequence of arrays")
    rejects("np.array([1j], dtype=np.float64)", match="cannot convert complex")


def test_array_of_arrays():
    a = np.arange(6.0).reshape(2, 3)
    for x in (a, a.T, a[:, ::2], np.asfortranarray(a)):
        for expr in (
            "np.array(a)",
            "np.copy(a)",
            "np.asarray(a, dtype=np.int32)",
            "np.array(a, dtype=np.complex64)",
            "np.ascontiguousarray(a)",
            "np.asfortranarray(a)",
            "a.copy()",
            "a.astype(np.int8)",
            "np.array(a, order='F')",
        ):
            same(expr, x)
            assert not np.shares_memory(run(expr, x), x) or expr.startswith("np.as")
    assert run("np.asarray(a)", a) is a
    assert run("np.ascontiguousarray(a)", a) is a
    assert run("np.array(a, copy=False)", a) is a
    assert run("np.ascontiguousarray(a)", a.T).flags.c_contiguous
    assert run("np.asfortranarray(a)", a).flags.f_contiguous
    assert run("a.copy(order='F')", a).flags.f_contiguous
    assert run("a.copy()", np.asfortranarray(a)).flags.c_contiguous
    assert run("a.astype(np.int8)", np.asfortranarray(a)).flags.f_contiguous


@pytest.mark.parametrize("t", DTYPES)
def test_astype(t):
    name = "bool_" if t is np.bool_ else t.__name__
    for u in DTYPES:
        a = np.array([0, 1, 3, 100]).astype(u)
        if not (np.issubdtype(u, np.complexfloating) and not np.issubdtype(t, np.complexfloating)):
            same(f"a.astype(np.{name})", a)


def test_astype_others():
    a = np.array([1.5, -2.5])
    same("a.astype('f4')", a)
    same("a.astype(int)", a)
    assert run("a.astype(np.float64, copy=False)", a) is a
    rejects("a.astype(3)", a, match="not a dtype")
    assert run("np.float32(a)", a).dtype == np.float32


def test_a_number_seen_as_another_type():
    """view(): all integers and floats of one size, bit by bit, in vectors too; NumPy's scalars have it."""
    for bits, names in (
        (16, ["float16", "int16", "uint16"]),
        (32, ["float32", "int32", "uint32"]),
        (64, ["float64", "int64", "uint64"]),
    ):
        patterns = np.random.default_rng(bits).integers(0, 2**bits, 200, np.uint64).astype(f"u{bits // 8}")
        for t, u in itertools.product(names, names):
            for x in patterns[:3].view(t):
                got = run(f"a.view(np.{u})", x)
                assert np.array(got, u).tobytes() == x.tobytes(), (t, u)

            @njit
            def each(a, out):
                for i in range(a.size):
                    out[i] = a[i].view(u)

            out = np.zeros(200, u)
            each(patterns.view(t), out)
            assert out.tobytes() == patterns.tobytes()
    assert run("a.view()", np.float32(1.5)) == 1.5
    rejects("np.float32(a).view(np.int64)", 1.0, match="int64 has not the same number of bits as float32")
    rejects("np.float32(a).view(np.complex64)", 1.0, match="or is no integer or float")
    rejects("np.complex64(a).view(np.int64)", 1.0, match="view")
    rejects("(a > 0).view(np.int8)", 1.0, match="view")
    rejects("a.view(3)", 1.0, match="not a dtype")


# --- attributes ---


def test_attributes():
    for a in (
        np.ones((2, 3)),
        np.ones((4,), dtype=np.int8),
        np.ones((2, 3, 4), dtype=np.complex64).T,
        np.array(1.5),
        np.ones((3, 4))[:, ::2],
        np.ones((0, 3)),
        np.asfortranarray(np.ones((2, 3))),
    ):
        for name in ("shape", "size", "ndim", "itemsize", "nbytes", "strides"):
            if name == "strides" and a.size == 0:
                continue
            got, want = run(f"a.{name}", a), getattr(a, name)
            assert got == want and type(got) is type(want), name
        if a.size and a.dtype.kind != "c":
            assert (run("np.amin(a)", a), run("np.amax(a)", a)) == (a.min(), a.max())
        for fn in ("shape", "size", "ndim"):
            assert run(f"np.{fn}(a)", a) == getattr(np, fn)(a)
        array_equal(run("a.T", a), a.T)
        assert np.shares_memory(run("a.T", a), a) or a.size == 0
        assert run("a.dtype.itemsize", a) == a.itemsize


def test_dtype_attribute():
    for t in DTYPES:
        a = np.zeros(2, dtype=t)
        name = "bool_" if t is np.bool_ else t.__name__
        assert run(f"a.dtype == np.{name}", a) is True
        assert run("a.dtype == np.float32", a) is (t is np.float32)
        assert run("np.zeros(3, a.dtype)", a).dtype == t
        assert run("a.dtype.kind == 'f'", a) is (a.dtype.kind == "f")
    rejects("a.shapes", np.ones(2), match="no attribute 'shapes'")


def test_real_imag():
    z = np.array([[1 + 2j, 3 - 4j], [5j, 6]])
    for a in (z, z.astype(np.complex64), z.T, z[:, 0], np.arange(3.0), np.arange(3)):
        same("a.real", a)
        same("a.imag", a)

    @njit
    def set_parts(a):
        a.real[:] = 7.0
        a.imag[0, 1] = -1.0

    set_parts(z)
    np.testing.assert_array_equal(z, np.array([[7 + 2j, 7 - 1j], [7 + 5j, 7]]))


def test_flat():
    @njit
    def f(a):
        s = 0.0
        for i, x in enumerate(a.flat):
            s += i * x
        return s + a.flat[1] - a.flat[-1]

    for a in (np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3).T, np.arange(12.0)[::2]):
        assert f(a) == f.py_func(a)
    with pytest.raises(IndexError):
        run("a.flat[b]", np.ones((2, 2)), 4)


def test_ndindex_and_ndenumerate():
    @njit
    def f(a):
        s = 0.0
        for i, j in np.ndindex(a.shape):
            s += a[i, j] * i
        for i in np.ndindex(*a.shape):
            a[i] += 1.5 * s
        for (i, j), v in np.ndenumerate(a):
            s -= v * j
        for k, i in enumerate(np.ndindex(2, a.shape[1], 3)):
            s += k * (i[0] * 100 + i[1] * 10 + i[2])
        for i in np.ndindex(4):
            s += i[0]
        for i in np.ndindex(()):
            s += 1000
            for j in zip(np.ndindex(3), a.flat):
                s += j[0][0] * j[1]
        return s + len(a.shape)

    whole = np.arange(12.0).reshape(3, 4)
    for make in (
        lambda a: a,
        lambda a: a.T,
        lambda a: a[:, ::-2],
        lambda a: a[:0],
        lambda a: np.asfortranarray(a),
    ):
        a, b = make(whole.copy()), make(whole.copy())
        assert f(a) == f.py_func(b)
        np.testing.assert_array_equal(a, b)

    @njit
    def cube(a):
        out = np.zeros(a.shape, np.int64)
        for i, x in np.ndenumerate(a):
            out[i] = x + i[0] * i[2] - i[1]
        for (i,), x in np.ndenumerate(a[0, 0]):
            out[0, 0, i] *= x
        return out

    a = np.arange(24).reshape(2, 3, 4).transpose(1, 2, 0)
    np.testing.assert_array_equal(cube(a), cube.py_func(a))

    @njit
    def count(n):
        k = 0
        for _ in np.ndindex(n, 2):
            k += 1
        return k

    assert count(3) == 6 and count(0) == 0
    with pytest.raises(ValueError, match="negative dimensions"):
        count(-1)
    rejects("np.ndindex(a)", 1.5, match="integer")
    rejects("np.ndenumerate(a)", 1, match="takes an array")


# --- shapes ---


def test_reshape():
    base = np.arange(12.0)
    for a in (
        base,
        base.reshape(3, 4),
        base.reshape(3, 4).T,
        np.asfortranarray(base.reshape(3, 4)),
        np.arange(24.0)[::2],
    ):
        for expr in (
            "a.reshape(2, 6)",
            "a.reshape((2, -1))",
            "a.reshape(-1)",
            "a.reshape(2, 3, 2)",
            "np.reshape(a, (b, -1))",
            "np.reshape(a, -1)",
            "a.reshape(b, 3)",
            "a.ravel()",
            "np.ravel(a)",
            "a.flatten()",
            "a.reshape(a.shape)",
        ):
            args = (a, 4) if "b" in expr else (a,)
            same(expr, *args)
    assert np.shares_memory(run("a.reshape(3, 4)", base), base)
    assert np.shares_memory(run("a.ravel()", base.reshape(3, 4)), base)
    assert not np.shares_memory(run("a.flatten()", base), base)
    assert not np.shares_memory(run("a.ravel()", base.reshape(3, 4).T), base)
    same("a.reshape(0, 5)", np.zeros((0, 3)))
    same("a.reshape(-1, 5)", np.zeros((0, 3)))
    same("a.reshape(())", np.ones(1))


def test_reshape_any_layout():
    """An array of unknown layout is looked at when the code runs: contiguous memory gives a view."""

    @njit("float64[::1](float64[:, :])")
    def f(a):
        return a.ravel()

    a = np.arange(6.0).reshape(2, 3)
    assert np.shares_memory(f(a), a)
    array_equal(f(a), a.ravel())
    assert not np.shares_memory(f(a.T), a)
    array_equal(f(a.T), a.T.ravel())
    array_equal(f(a[:, 1:]), a[:, 1:].ravel())


def test_reshape_bad():
    a = np.arange(6.0)
    for shape in ((4,), (2, 2), (-1, 4), (-1, -1), (0,), (2**32, 2**32), (2**33, 2**31)):
        names = ", ".join("bcd"[: len(shape)])
        with pytest.raises(ValueError):
            run(f"a.reshape({names})", a, *shape)
    with pytest.raises(ValueError):
        run("a.reshape(b, c)", np.zeros(0), 2**32, 2**32)
    rejects("a.reshape(2.0, 3)", a, match="a shape must be an integer")
    rejects("a.reshape(3, 2, order='K')", a, match="order other than 'C', 'F' and 'A'")
    rejects("a.reshape()", a, match="needs a shape")


def test_transpose():
    a = np.arange(24.0).reshape(2, 3, 4)
    for expr in (
        "a.transpose()",
        "a.transpose(1, 0, 2)",
        "a.transpose((2, 0, 1))",
        "a.transpose(-1, 0, 1)",
        "np.transpose(a)",
        "np.transpose(a, (0, 2, 1))",
        "a.swapaxes(0, 2)",
        "a.swapaxes(1, -1)",
        "a.transpose(None)",
        "a.T.T",
        "a.T[1]",
        "a.transpose(0, 1, 2)",
    ):
        same(expr, a)
        assert np.shares_memory(run(expr, a), a)
    rejects("a.transpose(0, 1)", a, match="axes don't match array")
    rejects("a.transpose(0, 0, 1)", a, match="repeated axis")
    rejects("a.transpose(0, 1, 3)", a, match="out of bounds")
    rejects("a.swapaxes(0, b)", a, 1.0, match="must be constants")


def test_item_and_fill():
    a = np.arange(6.0).reshape(2, 3)
    same("a.item(b)", a, 4)
    same("a.item(b)", a, -1)
    same("a.item(1, b)", a, 2)
    same("a.item((0, b))", a, 2)
    same("a.item()", np.array([[2.5]]))
    same("a.item()", np.array(2.5))
    same("a.item()", a)
    same("a.item(b)", a, 6)
    same("a.item(b, 0)", a, 2)

    @njit
    def fill(a, x):
        a.fill(x)
        return a.fill(x)

    for t in DTYPES:
        a = np.zeros((2, 3), dtype=t)
        assert fill(a, 1) is None
        assert (a == 1).all()
    b = np.zeros((4, 4))
    fill(b[::2, 1:3], 5.0)
    assert b.sum() == 20.0
    rejects("a.fill(1j)", np.ones(2), match="cannot convert complex")
    rejects("a.fill(a)", np.ones(2), match="takes a number")
    frozen = np.ones(2)
    frozen.flags.writeable = False
    rejects("a.fill(1.0)", frozen, match="read-only")


# --- reductions ---

LAYOUTS = [
    lambda a: a,
    lambda a: a.T,
    lambda a: a[:, ::2],
    lambda a: a[::-1],
    np.asfortranarray,
    lambda a: a[:, :0],
    lambda a: a[0],
]


@pytest.mark.parametrize("t", DTYPES)
@pytest.mark.parametrize(
    "name", ["sum", "prod", "min", "max", "argmin", "argmax", "any", "all", "mean", "std", "var", "ptp"]
)
def test_reductions(t, name):
    base = np.array([[3, 1, 0, 2], [5, 1, 7, 1]]).astype(t)
    if t is np.bool_ and name == "ptp":
        rejects("np.ptp(a)", base, match="bool items")
        return
    ulp = 4 if name in ("mean", "std", "var") else 0
    for how in LAYOUTS:
        a = how(base)
        for expr in (f"np.{name}(a)", f"a.{name}()"):
            with np.errstate(all="ignore"):
                try:
                    want = plain(f"np.{name}(a)", a)
                except ValueError:
                    with pytest.raises(ValueError):
                        run(expr, a)
                    continue
            got = run(expr, a)
            close(got, want, ulp)
            assert result_type(expr, a) == ("bool" if want.dtype == bool else want.dtype.name)


@given(v=st.lists(floats, min_size=1, max_size=200))
def test_float_extremes(v):
    a = np.array(v)
    for name in ("min", "max"):
        got, want = run(f"a.{name}()", a), float(getattr(a, name)())
        assert got == want or (math.isnan(got) and math.isnan(want))
    for name in ("argmin", "argmax"):
        assert run(f"a.{name}()", a) == int(getattr(a, name)())
        assert run(f"a[::2].{name}()", a) == int(getattr(a[::2], name)())


@given(v=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=50))
def test_int_sums_wrap(v):
    a = np.array(v, dtype=np.int64)
    assert run("a.sum()", a) == int(a.sum())
    assert run("a.prod()", a) == int(a.prod())
    if v:
        assert run("a.min()", a) == min(v)
        assert run("a.max()", a) == max(v)


@given(n=st.integers(0, 3000), seed=st.integers(0, 9))
def test_float_sums_are_as_good_as_pairwise(n, seed):
    rng = np.random.default_rng(seed)
    for t, eps in ((np.float64, 2.0**-53), (np.float32, 2.0**-24)):
        a = (rng.random(n) * 10.0 ** rng.integers(-3, 4, n)).astype(t)
        exact = math.fsum(a.astype(np.float64))
        bound = (math.log2(n + 1) + 16) * eps * abs(exact)
        assert abs(run("a.sum()", a) - exact) <= bound
        if n:
            assert abs(run("a.mean()", a) - exact / n) <= bound / n + eps * exact / n
        assert abs(run("a[::-1].sum()", a) - exact) <= bound


def test_reduction_arguments():
    a = np.arange(6, dtype=np.int8).reshape(2, 3)
    for expr in (
        "a.sum(dtype=np.float32)",
        "np.sum(a, dtype=np.int16)",
        "a.prod(dtype=np.float64)",
        "a.mean(dtype=np.float32)",
        "a.std(ddof=1)",
        "np.var(a, ddof=1)",
        "a.sum(None)",
        "a.sum(axis=None)",
        "np.count_nonzero(a)",
        "a.var(ddof=6)",
        "a.var(ddof=8)",
    ):
        same(expr, a, ulp=2)
    b = np.arange(4.0)
    for expr in (
        "a.sum(axis=0)",
        "a.sum(-1)",
        "a.max(axis=0)",
        "np.mean(a, 0)",
        "a.any(axis=0)",
        "a.argmax(0)",
    ):
        same(expr, b)
    same("a.sum(where=True)", a)
    rejects("a.sum(like=True)", a, match="unexpected keyword argument 'like'")
    rejects("a.mean(dtype=np.int64)", a, match="not a float")
    rejects("a.sum(dtype=7)", a, match="not a dtype")


def test_reductions_of_sequences():
    same("np.sum((a, 2, 3))", 1)
    same("np.max([a, 2.5])", 1)
    same("np.mean([1, 2, a])", 6)
    same("np.any([False, a])", True)


def test_empty_reductions():
    empty = np.zeros((0, 3))
    same("a.sum()", empty)
    same("a.prod()", empty)
    same("a.all()", empty)
    same("a.any()", empty)
    same("a.mean()", empty)
    for name, text in (("min", "zero-size array to reduction operation minimum which has no identity"),
                       ("max", "zero-size array to reduction operation maximum which has no identity"),
                       ("argmin", "attempt to get argmin of an empty sequence"),
                       ("argmax", "attempt to get argmax of an empty sequence")):  # fmt: skip
        with pytest.raises(ValueError, match=text):
            run(f"a.{name}()", empty)


def test_zero_dimensional():
    a = np.array(2.5)
    for expr in ("a.sum()", "a.min()", "a.mean()", "a.any()", "a.argmax()", "a.item()", "a.size", "a.ndim"):
        same(expr, a)
    same("a.ravel()", a)
    same("a.reshape(1, 1)", a)


def test_dot():
    a, b = np.array([1, 2, 3]), np.array([4.0, 5.0, 6.0])
    for expr in ("np.dot(a, b)", "a.dot(b)", "np.inner(a, b)", "np.vdot(a, b)", "np.dot(a, (1, 2, 3))"):
        same(expr, a, b) if "b" in expr else same(expr, a)
    same("np.vdot(a, b)", a * 1j, b * (1 + 1j))
    same("np.dot(a, b)", a * 1j, b * (1 + 1j))
    same("np.dot(a, b)", a > 1, a > 2)
    assert result_type("np.dot(a, a)", b.astype(np.float32)) == "float32"
    with pytest.raises(ValueError):
        run("np.dot(a, b)", a, b[:2])
    same("np.dot(a, a)", np.ones((2, 2)))


# --- memory ---


def test_arrays_are_freed():
    @njit
    def f(n):
        s = 0.0
        for i in range(n):
            a = np.full(100, 1.5)
            b = a.reshape(10, 10).T.ravel()
            s += b.sum() + np.sin(a)[3] + np.linspace(0.0, 1.0, 5).max()
        return s

    @njit
    def g(n):
        a = np.zeros(n)
        b = a.copy().reshape(2, -1)
        return b[5, 5]

    f(1)
    before = treadle.stats()
    f(50)
    with pytest.raises(IndexError):
        g(10)
    after = treadle.stats()
    made = after["arrays_allocated"] - before["arrays_allocated"]
    assert made >= 150  # what only the next operation reads is not made
    assert after["arrays_freed"] - before["arrays_freed"] == made


def walks(a, b):
    """Arrays walked by one number, whose places are counted along: with two of them, skipped items, an end before the end, an array in an array."""
    s = np.zeros(9)
    for x, y in zip(a.flat, b.flat):
        s[0] = s[0] * 0.5 + x * 3 - y
    for x in a.flat:
        if x % 3 == 0:
            continue
        s[1] = s[1] * 0.75 + x
    for x in a.flat:
        if x > 20:
            break
        s[2] = s[2] * 1.5 + x
        for y in b.flat:
            s[3] = s[3] * 0.25 + y
    for ix, x in np.ndenumerate(a):
        for k in ix:
            s[4] = s[4] * 0.5 + k * x
    for ix in np.ndindex(a.shape):
        s[5] = s[5] * 0.5 + ix[0] - ix[len(ix) - 1] * a[ix]
    d = a.shape[a.ndim - 1]
    for i in range(a.size):
        s[6] = s[6] * 0.5 + i % d - i // d * 3
    for i in range(a.size + 3):
        try:
            if i % d == 1:
                raise ValueError
            s[7] += i // d
        except ValueError:
            s[7] *= 0.5
    i = 0
    while i < a.size:
        s[8] = s[8] * 0.5 + i % d
        if i // d > 1:
            i += 1
        i += 1
    return s


def test_places_are_counted_along():
    """Sizes of 0 and 1, ranks 1 to 4, layouts that are no line of memory, and two arrays of other shapes and layouts."""
    shapes = [
        (5,),
        (3, 4),
        (4, 3),
        (1, 6),
        (6, 1),
        (2, 3, 4),
        (3, 1, 2),
        (2, 2, 2, 3),
        (0, 3),
        (2, 0, 2),
        (25,),
    ]
    f = njit(walks)
    for shape in shapes:
        c = np.arange(float(np.prod(shape))).reshape(shape) + 1
        wide = np.repeat(c, 2, axis=-1)[..., ::2]
        for a in (c, np.asfortranarray(c), wide, c[::-1], c.T, np.swapaxes(c, 0, -1)):
            for b in (c, np.asfortranarray(c).T, wide, c.ravel()[::-1]):
                if a.shape[-1]:
                    np.testing.assert_array_equal(f(a, b), walks(a, b))
