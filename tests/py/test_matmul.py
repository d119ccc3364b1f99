"""Products of arrays, with the BLAS of NumPy and without one, against NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import treadle.parallel as tp
from hypothesis import strategies as st
from treadle import TreadleError, njit

sys.path.insert(0, str(Path(__file__).parent))
from arrays_check import ALL, LAYOUTS, arrays, given, laid_out, writable  # noqa: E402
from builtins_check import compiled, rejects, run  # noqa: E402

sizes = st.sampled_from([0, 1, 2, 3, 5, 9, 20])


@st.composite
def factors(draw, shapes):
    """Two arrays of the given shapes with small numbers, so that sums are exact."""
    dtypes = [draw(st.sampled_from(ALL))]
    dtypes.append(draw(st.sampled_from(ALL)) if draw(st.booleans()) else dtypes[0])
    return tuple(draw(arrays([t], shape=s, special=False)) for t, s in zip(dtypes, shapes, strict=True))


def close(got, want):
    assert np.shape(got) == np.shape(want), (np.shape(got), np.shape(want))
    if isinstance(want, np.ndarray):
        assert got.dtype == want.dtype
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(
            got, want, rtol=1e-4 if np.asarray(want).dtype.itemsize <= 8 else 1e-11, atol=1e-4
        )


def same(expr, *args):
    with np.errstate(all="ignore"):
        close(run(expr, *args), eval(expr, {"np": np, **dict(zip("abc", args, strict=False))}))


@given(data=st.data())
def test_matrices_and_vectors(data):
    m, k, n = (data.draw(sizes) for _ in range(3))
    shapes = data.draw(st.sampled_from([((m, k), (k, n)), ((m, k), (k,)), ((k,), (k, n)), ((k,), (k,))]))
    a, b = data.draw(factors(shapes))
    for expr in ("a @ b", "np.dot(a, b)", "a.dot(b)", "np.matmul(a, b)"):
        same(expr, a, b)


@given(data=st.data())
def test_more_axes(data):
    m, k, n = (data.draw(st.sampled_from([0, 1, 3, 12])) for _ in range(3))
    p, q = data.draw(st.sampled_from([0, 1, 2, 3])), data.draw(st.sampled_from([1, 2]))
    shapes = [((p, m, k), (k, n)), ((m, k), (p, k, n)), ((p, m, k), (p, k, n)), ((q, 1, m, k), (p, k, n)), ((k,), (p, k, n)),
              ((p, m, k), (k,)), ((1, m, k), (p, k, n))]  # fmt: skip
    a, b = data.draw(factors(data.draw(st.sampled_from(shapes))))
    for expr in ("a @ b", "np.dot(a, b)"):
        same(expr, a, b)


def laid(a, how):
    """The same matrices, but their last axes lie otherwise in memory."""
    if how == "columns":
        return np.swapaxes(np.swapaxes(a, -1, -2).copy(), -1, -2)
    if how == "gaps":
        b = np.zeros((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
        b[..., ::2] = a
        return b[..., ::2]
    if how == "back":
        return a[..., ::-1, ::-1].copy()[..., ::-1, ::-1]
    return a


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "c16"])
def test_many_small_matrices(dtype):
    """Every number of columns has code of its own; stretches of 64 pairs, and what is left; all values are exact."""
    rng = np.random.default_rng(5)
    f, g = njit(lambda a, b: a @ b), njit(parallel=True)(lambda a, b: a @ b)
    shapes = [(2, 2, 2), (3, 3, 3), (4, 4, 4), (1, 5, 1), (7, 1, 3), (2, 3, 17)]
    shapes += [(3, 4, n) for n in range(1, 11)] + [(8, 8, 8), (2, 128, 2), (1, 102, 5), (1, 1, 40), (9, 9, 9)]
    for m, k, n in shapes:
        for pairs, how, other in (
            (3, "rows", "columns"),
            (64, "gaps", "rows"),
            (131, "back", "gaps"),
            (131, "rows", "rows"),
        ):
            a, b = (rng.integers(-4, 5, s).astype(dtype) for s in ((pairs, m, k), (pairs, k, n)))
            a, b = laid(a, how), laid(b, other)
            want = np.matmul(a, b)
            for got in (f(a, b), g(a, b)):
                assert got.shape == want.shape and got.dtype == want.dtype and np.array_equal(got, want), (
                    m,
                    k,
                    n,
                    how,
                    other,
                )


@pytest.mark.parametrize("shapes", [
    ((70, 2, 3), (3, 2)), ((2, 3), (70, 3, 2)), ((70, 1, 3), (1, 3, 2)), ((1, 2, 3), (70, 3, 2)), ((2, 70, 2, 3), (2, 1, 3, 4)),
    ((70, 1, 2, 3), (1, 90, 3, 4)), ((70, 40, 3), (3, 4)), ((70, 1, 30), (30, 40)), ((70, 30), (2, 30, 4)), ((0, 2, 3), (0, 3, 4)),
    ((70, 0, 3), (70, 3, 2)), ((70, 2, 0), (70, 0, 2)), ((3, 110, 110), (3, 110, 110)),
])  # fmt: skip
def test_matrices_repeat(shapes):
    """What is repeated for all pairs, or has rows that follow one another, may be one product."""
    rng = np.random.default_rng(6)
    a, b = (rng.integers(-4, 5, s).astype(float) for s in shapes)
    a.flags.writeable = False
    assert np.array_equal(run("a @ b", a, b), np.matmul(a, b))
    if a.size < 9999 and a.ndim + b.ndim < 7:
        assert np.array_equal(run("np.dot(a, b)", a, b), np.dot(a, b))
    if a.ndim == 3:
        back = a[::-1, ::-1]
        assert np.array_equal(run("a @ b", back, b), np.matmul(back, b))


def test_bits_of_many_products_are_those_of_each():
    """Small products add up in order, whatever the way in."""
    rng = np.random.default_rng(7)
    a, b = rng.random((100, 3, 7)).astype("f4"), rng.random((100, 7, 6)).astype("f4")
    want = np.zeros((100, 3, 6), "f4")
    for p in range(7):
        want += a[:, :, p, None] * b[:, p, None, :]
    got = njit(lambda a, b: a @ b)(a, b)
    assert (
        got.tobytes() == want.tobytes() == njit(parallel=True)(lambda a, b: np.matmul(a, b))(a, b).tobytes()
    )
    one = njit(lambda a, b: a @ b)
    assert all(one(x, y).tobytes() == w.tobytes() for x, y, w in zip(a, b, want, strict=True))
    assert njit(lambda a, b: np.einsum("qij,qjk->qik", a, b))(a, b).tobytes() == want.tobytes()


def test_sums_of_negative_zeros_are_zero():
    """Also where the best are chosen, and the product is written out (opt/pattern/product.c): inverses tell."""

    def products(a, b):
        return a.reshape((len(a), 3)) @ b.reshape((3, 4))

    def best(a, b):
        return tp.topk(1 / (a.reshape((len(a), 3)) @ b.reshape((3, 4))), 2, axis=1)[0]

    a, b = np.array([[-1.0, -2.0, -3.0], [1.0, 2.0, 3.0]]), np.zeros((4, 3))
    assert not np.signbit(np.asarray(njit(products)(a, b))).any()
    for options in ({}, {"parallel": True}):
        assert np.array_equal(njit(**options)(best)(a, b), np.full((2, 2), np.inf))
    assert np.array_equal(best(tp.array(a), tp.array(b)), np.full((2, 2), np.inf))


@given(data=st.data())
def test_inner_vdot_outer(data):
    m, k, n = (data.draw(st.sampled_from([0, 1, 4, 10])) for _ in range(3))
    a, b = data.draw(
        factors(
            data.draw(st.sampled_from([((m, k), (n, k)), ((k,), (n, k)), ((k,), (k,)), ((m, 2, k), (n, k))]))
        )
    )
    same("np.inner(a, b)", a, b)
    same("np.outer(a, b)", a, b)
    a, b = data.draw(factors(((m, k), (m, k))))
    same("np.vdot(a, b)", a, b)


def test_numbers():
    a = np.arange(6.0).reshape(2, 3)
    for expr in ("np.dot(a, 2)", "np.dot(2.5, a)", "np.inner(a, 2)", "np.outer(a, 3)"):
        same(expr, a)
    assert run("np.dot(a, b)", 2, 3.5) == 7.0
    rejects("a @ 2", a, match="@ takes arrays with axes")
    rejects("np.matmul(a, 2)", a, match="@ takes arrays with axes")


@pytest.mark.parametrize("name", ["dot", "matmul"])
def test_out(name):
    rng = np.random.default_rng(0)
    for m, k, n in ((2, 3, 4), (30, 20, 40), (0, 2, 3), (3, 0, 2)):
        a, b = rng.random((m, k)), rng.random((k, n))
        for layout in LAYOUTS[:-1]:
            c = writable(laid_out(np.full((m, n), np.nan), layout))
            if c.flags.writeable:
                got = run(f"np.{name}(a, b, out=c)", a, b, c)
                assert got is c
                np.testing.assert_allclose(c, a @ b)
        x = np.full(m, np.nan)
        run(f"np.{name}(a, b, c)", a, b[:, 0] if n else np.zeros(k), x)
        np.testing.assert_allclose(x, a @ (b[:, 0] if n else np.zeros(k)))
    square = rng.random((12, 12))
    want = square @ square
    run(f"np.{name}(a, a, out=a)", square)
    np.testing.assert_allclose(square, want)
    with pytest.raises(ValueError, match="output array is not acceptable"):
        run(f"np.{name}(a, b, out=c)", np.ones((2, 3)), np.ones((3, 4)), np.ones((2, 3)))
    rejects(
        f"np.{name}(a, b, out=c)",
        np.ones((2, 3)),
        np.ones((3, 4)),
        np.ones((2, 4), "f4"),
        match="out is array",
    )
    rejects(f"np.{name}(a, a, out=a)", np.ones(3), match="a result that is a number")


def test_outer_into():
    c = np.zeros((3, 2))
    assert run("np.outer(a, b, out=c)", np.arange(3.0), np.arange(2.0), c) is c
    np.testing.assert_array_equal(c, np.outer(np.arange(3.0), np.arange(2.0)))


def test_in_place():
    def f(a, b):
        a @= b
        return a

    a, b = np.random.default_rng(0).random((2, 9, 9))
    want = a @ b
    assert njit(f)(a, b) is a
    np.testing.assert_allclose(a, want)
    with pytest.raises(TreadleError, match="cannot change the number of axes"):
        njit(f)(a, b[0])
    with pytest.raises(TreadleError, match="cannot store a result of float64"):
        njit(f)(np.ones((2, 2), np.int32), np.ones((2, 2)))


def test_sizes_that_do_not_fit():
    for expr, x, y in (
        ("a @ b", (2, 3), (2, 3)),
        ("a @ b", (3,), (2,)),
        ("np.dot(a, b)", (2, 3), (4,)),
        ("np.inner(a, b)", (2, 3), (4, 2)),
        ("np.vdot(a, b)", (2, 3), (5,)),
    ):
        with pytest.raises(ValueError, match="not aligned: "):
            run(expr, np.ones(x), np.ones(y))
    with pytest.raises(ValueError, match="could not be broadcast"):
        run("a @ b", np.ones((2, 3, 3)), np.ones((4, 3, 3)))


def test_operands_that_are_expressions():
    a = np.random.default_rng(0).random((20, 30))
    for expr in (
        "(a * 2) @ a.T",
        "a.T @ (a + 1)",
        "(a @ a.T + 1).sum()",
        "a[::2, ::-1] @ a[3]",
        "(a @ a.T) @ (a @ a.T)",
    ):
        same(expr, a)


def test_nan_and_infinity():
    a = np.ones((10, 10))
    a[3, 4], a[5, 6] = np.nan, np.inf
    same("a @ b", a, np.ones((10, 10)))
    same("a @ b", np.zeros((10, 10)), a)


def test_in_parallel_loops():
    rng = np.random.default_rng(0)
    a, b = rng.random((40, 8, 9)), rng.random((40, 9, 7))
    got = compiled("a @ b", 2, parallel=True)(a, b)
    np.testing.assert_allclose(got, a @ b)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "i8"])
def test_a_matrix_and_its_transpose(dtype):
    """Half of it is computed, the other half is the same; of complex numbers, too, without conjugates."""
    rng = np.random.default_rng(3)
    f = njit(lambda m: (m @ m.T, m.T @ m, np.dot(m, m.T), m @ m.T[:, ::-1], m[1:] @ m[:-1].T))
    for shape in ((40, 60), (60, 40), (33, 33), (1, 50), (50, 1), (5, 3)):
        m = rng.integers(-9, 9, shape).astype(dtype)
        if m.dtype.kind == "c":
            m = m + 1j * rng.integers(-9, 9, shape).astype(m.real.dtype)
        for x in (m, np.asfortranarray(m), m[::-1], m[:, : shape[1] // 2 + 1], np.repeat(m, 2, 1)[:, ::2]):
            for got, want in zip(f(x), f.py_func(x), strict=True):
                assert np.array_equal(got, want)
    if dtype == "f8":
        m = rng.random((64, 48))
        got = f(m)[0]
        assert np.array_equal(got, got.T)
        np.testing.assert_allclose(got, m @ m.T, rtol=1e-13)


def test_a_matrix_and_its_transpose_into_a_view():
    m, out = np.arange(2500.0).reshape(50, 50) % 7, np.zeros((50, 120))
    njit(lambda m, out: np.matmul(m, m.T, out=out[:, 3:53]))(m, out)
    assert np.array_equal(out[:, 3:53], m @ m.T) and not out[:, :3].any() and not out[:, 53:].any()


def test_without_blas():
    """The loops alone: this file again, in a process that is told to use no BLAS."""
    if os.environ.get("TREADLE_BLAS") == "none":
        return
    tests = [
        "test_matrices_and_vectors",
        "test_more_axes",
        "test_out",
        "test_nan_and_infinity",
        "test_operands_that_are_expressions",
        "test_a_matrix_and_its_transpose",
    ]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        __file__,
        "-k",
        " or ".join(tests),
    ]
    env = {**os.environ, "TREADLE_BLAS": "none"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
