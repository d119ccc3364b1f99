"""`treadle.cuda.sparse` against dense NumPy and SciPy: all routines, dtypes, bases, options, layouts, streams, empty and uneven matrices, and what is refused; the emulated device and a GPU give the same bits."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fake_gpu import gives_the_same_text
from hypothesis import given, settings
from hypothesis import strategies as st
from stream_check import held
from treadle import cuda
from treadle._core import _csrmv
from treadle.cuda import _sparse_forms as forms
from treadle.cuda import sparse as module
from treadle.cuda._array import move, readable
from treadle.cuda._devices import is_emulated
from treadle.cuda._sparse_call import Call, ints
from treadle.cuda._sparse_forms import CHUNK
from treadle.cuda._sparse_math import PIECE
from treadle.cuda.sparse import ROUTINES, Sparse, bsr_matrix, csc_matrix, csr_matrix

ROOT = Path(__file__).resolve().parents[2]
DTYPES = ["f4", "f8", "c8", "c16"]
OPS = ["N", "T", "C"]


def need_scipy():
    return pytest.importorskip("scipy.sparse", reason="SciPy is not here, whose matrices are compared with")


def numbers(shape, dtype, seed=0, density=1.0):
    """Dense, with zeros; small multiples of 1/8, whose sums and products are exact."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-16, 17, shape) / 8
    if np.dtype(dtype).kind == "c":
        x = x + 1j * (rng.integers(-16, 17, shape) / 8)
    return (x * (rng.random(shape) < density)).astype(dtype)


def stored(a, base=0):
    """Values, pointers and indices of a dense matrix's rows."""
    rows, columns = np.nonzero(a)
    ptr = np.searchsorted(rows, np.arange(a.shape[0] + 1)).astype(np.int32)
    return a[rows, columns], ptr + np.int32(base), columns.astype(np.int32) + np.int32(base)


def restored(val, ptr, ind, shape, base=0):
    a = np.zeros(shape, val.dtype)
    for i in range(shape[0]):
        for k in range(ptr[i] - base, ptr[i + 1] - base):
            a[i, ind[k] - base] += val[k]
    return a


def op(a, trans):
    return a if trans == "N" else a.T if trans == "T" else a.conj().T


def close(got, want, scale=1.0):
    single = got.dtype.itemsize // (2 if got.dtype.kind == "c" else 1) == 4
    assert got.shape == want.shape
    bound = (2e-5 if single else 1e-13) * scale
    assert np.abs(got - want).max(initial=0) <= bound * max(1, np.abs(want).max(initial=0))


def meant(a, kind, fill, diag):
    if kind == "G":
        return a
    tri = np.tril(a) if fill == "L" else np.triu(a)
    strict = tri - np.diag(np.diag(tri))
    if kind == "T":
        return tri if diag == "N" else strict + np.eye(len(a), dtype=a.dtype)
    return tri + (strict.T if kind == "S" else strict.conj().T)


# --- vectors ---


@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("dtype", DTYPES)
def test_level_1(dtype, base):
    s = Sparse(base)
    at = np.array([5, 0, 2, 7])
    ind = (at + base).astype(np.int32)
    x, y0 = numbers(4, dtype, 1), numbers(9, dtype, 2)
    y, want = y0.copy(), y0.copy()
    assert s.axpyi(2, x, ind, y) is y
    want[at] += 2 * x
    np.testing.assert_array_equal(y, want)
    assert s.doti(x, ind, y) == (x * y[at]).sum() and s.doti(x, ind, y).dtype == dtype
    assert s.dotci(x, ind, y) == (x.conj() * y[at]).sum()
    got = np.empty(4, dtype)
    s.gthr(y, got, ind)
    np.testing.assert_array_equal(got, y[at])
    a, b = x.copy(), y.copy()
    s.roti(a, ind, b, 0.5, 0.25)
    np.testing.assert_array_equal(a, (0.5 * x + 0.25 * y[at]).astype(dtype))
    want = y.copy()
    want[at] = 0.5 * y[at] - 0.25 * x
    np.testing.assert_array_equal(b, want)
    s.sctr(x, ind, y)
    np.testing.assert_array_equal(y[at], x)
    s.gthrz(y, got, ind)
    np.testing.assert_array_equal(got, x)
    assert not y[at].any() and (y[[1, 3, 4, 6, 8]] == want[[1, 3, 4, 6, 8]]).all()


def test_sums_of_many_items():
    n = 3 * CHUNK + 5
    x, y = numbers(n, "f8", 1), numbers(2 * n, "f8", 2)
    ind = np.random.default_rng(0).permutation(2 * n)[:n].astype(np.int32)
    close(np.array(Sparse().doti(x, ind, y)), np.array((x * y[ind]).sum()))
    none = np.empty(0)
    assert (
        Sparse().doti(none, np.empty(0, np.int32), y) == 0
        and Sparse().doti(none, none.astype("i4"), none) == 0
    )


# --- a matrix times something dense ---


@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("trans", OPS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_csrmv(dtype, trans, base):
    s, a = Sparse(base), numbers((7, 5), dtype, 3, 0.5)
    val, ptr, ind = stored(a, base)
    rows, columns = op(a, trans).shape
    x, y0 = numbers(columns, dtype, 4), numbers(rows, dtype, 5)
    y = y0.copy()
    s.csrmv(trans, 7, 5, len(val), 2, s.matdescr(), val, ptr, ind, x, 3, y)
    np.testing.assert_array_equal(y, 2 * op(a, trans) @ x + 3 * y0)
    y[:] = np.nan  # is not looked at
    s.csrmv(trans, 7, 5, len(val), 1, s.matdescr(), val, ptr, ind, x, 0, y)
    np.testing.assert_array_equal(y, op(a, trans) @ x)


@pytest.mark.parametrize("trans", OPS)
@pytest.mark.parametrize("diag", ["N", "U"])
@pytest.mark.parametrize("fill", ["L", "U"])
@pytest.mark.parametrize("kind", ["S", "H", "T"])
@pytest.mark.parametrize(("dtype", "base"), [("c16", 0), ("f4", 1)])
def test_what_a_description_means(dtype, base, kind, fill, diag, trans):
    s, a = Sparse(base), numbers((6, 6), dtype, 6, 0.6)
    val, ptr, ind = stored(a, base)
    descr = s.matdescr(diagtype=diag, fillmode=fill, matrixtype=kind)
    full = op(meant(a, kind, fill, diag), trans)
    x, y = numbers(6, dtype, 7), np.empty(6, dtype)
    s.csrmv(trans, 6, 6, len(val), 1, descr, val, ptr, ind, x, 0, y)
    np.testing.assert_array_equal(y, full @ x)
    b, c = np.asfortranarray(numbers((6, 5), dtype, 8)), np.empty((6, 5), dtype, "F")
    s.csrmm(trans, 6, 5, 6, len(val), 1, descr, val, ptr, ind, b, 6, 0, c, 6)
    np.testing.assert_array_equal(c, full @ b)


@pytest.mark.parametrize("other", OPS)
@pytest.mark.parametrize("trans", OPS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dense_matrices(dtype, trans, other):
    s, a = Sparse(), numbers((7, 5), dtype, 3, 0.5)
    val, ptr, ind = stored(a)
    rows, inner = op(a, trans).shape
    b = numbers((inner, 6), dtype, 4)
    c0 = numbers((rows + 2, 6), dtype, 5)  # with rows beyond
    want = c0.copy()
    want[:rows] = 2 * op(a, trans) @ b + 3 * c0[:rows]
    c = np.asfortranarray(c0)
    given = np.asfortranarray(op(b, other))
    s.csrmm2(
        trans, other, 7, 6, 5, len(val), 2, s.matdescr(), val, ptr, ind, given, len(given), 3, c, rows + 2
    )
    np.testing.assert_array_equal(c, want)
    if other == "N":
        c = np.asfortranarray(c0)
        s.csrmm(trans, 7, 6, 5, len(val), 2, s.matdescr(), val, ptr, ind, given, inner, 3, c, rows + 2)
        np.testing.assert_array_equal(c, want)


@settings(deadline=None)
@given(
    st.integers(0, 40),
    st.integers(0, 40),
    st.floats(0, 1),
    st.sampled_from(DTYPES),
    st.sampled_from(OPS),
    st.integers(0, 1),
    st.integers(0, 99),
)
def test_any_matrix(m, n, density, dtype, trans, base, seed):
    s, a = Sparse(base), numbers((m, n), dtype, seed, density)
    if m and seed % 3 == 0:
        a[seed % m] = 1  # a row longer than others
    if m and seed % 4 == 0:
        a[seed % m] = 0
    val, ptr, ind = stored(a, base)
    descr = s.matdescr()
    x, y = numbers(op(a, trans).shape[1], dtype, 1), np.zeros(op(a, trans).shape[0], dtype)
    s.csrmv(trans, m, n, len(val), 1, descr, val, ptr, ind, x, 0, y)
    np.testing.assert_array_equal(y, op(a, trans) @ x)
    columns = np.empty_like(val), np.empty_like(ind), np.empty(n + 1, np.int32)
    s.csr2csc(m, n, len(val), val, ptr, ind, *columns, True)
    want = stored(a.T, base)
    np.testing.assert_array_equal(columns[0], want[0])
    np.testing.assert_array_equal(columns[2], want[1])
    np.testing.assert_array_equal(columns[1], want[2])
    dense = np.full((m, n), 9, dtype, "F")
    s.csr2dense(m, n, descr, val, ptr, ind, dense, max(m, 1))
    np.testing.assert_array_equal(dense, a)
    b = numbers((n, 7), dtype, seed + 1, 0.3)
    got = times(s, a, b, "N", "N", base)
    np.testing.assert_array_equal(got, a @ b)
    c = numbers((m, n), dtype, seed + 2, 0.4)
    np.testing.assert_array_equal(plus(s, a, c, base), 2 * a - c)


@pytest.mark.parametrize(
    "lengths", [(PIECE + 1,), (PIECE,), (3 * PIECE + 7, 0, 5, PIECE + 9, 2 * PIECE), (9, 5 * PIECE)]
)
def test_rows_that_are_longer_than_others(lengths):
    rng = np.random.default_rng(0)
    ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    ind = rng.integers(0, 1000, ptr[-1]).astype(np.int32)
    val, x, y = numbers(ptr[-1], "f8", 1), numbers(1000, "f8", 2), np.ones(len(lengths))
    s = Sparse()
    s.csrmv("N", len(lengths), 1000, len(val), 2, s.matdescr(), val, ptr, ind, x, 3, y)
    want = [2 * (val[a:b] * x[ind[a:b]]).sum() + 3 for a, b in zip(ptr, ptr[1:])]
    np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize("trans", ["T", "C"])
@pytest.mark.parametrize("m", [1, 3, 700])
def test_transposed_products_of_many_entries(m, trans, threads):
    """On the host parts of the rows are added apart."""
    a = numbers((m, 6), "c16", m, 0.7)
    a[: m // 3] = 0
    val, ptr, ind = stored(a)
    val, ind = np.repeat(val, 40), np.repeat(ind, 40)  # each as often, so rows differ in length
    ptr = ptr * np.int32(40)
    s, x, y = Sparse(), numbers(m, "c16", 2), numbers(6, "c16", 3)
    want = 2 * op(40 * a, trans) @ x + 3 * y
    s.csrmv(trans, m, 6, len(val), 2, s.matdescr(), val, ptr, ind, x, 3, y)
    np.testing.assert_array_equal(y, want)


# Rows, entries of each, and how long the pieces are that threads take.
SIZES = {
    "few": [3, 0, 5, 1],
    "many": [20] * 3000,
    "one": [40],
    "none": [],
    "empty": [0, 0],
    "a piece": [2, PIECE, 1],
    "longer": [2, PIECE + 1000, 1],
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("there", [False, True])
def test_csrmv_by_c_and_by_kernels(dtype, size, there):
    """On the default stream of the emulated device C multiplies, on others a kernel does: the same bits, whatever the factors, and y as it was does not count where beta is 0."""
    rng = np.random.default_rng(3)
    lengths = SIZES[size]
    for base in (0, 1):
        ptr = (np.cumsum([0, *lengths]) + base).astype(np.int32)
        nnz = int(ptr[-1]) - base
        ind = (rng.integers(0, 90, nnz) + base).astype(np.int32)
        val, x = rng.normal(size=nnz).astype(dtype), rng.normal(size=97).astype(dtype)
        for alpha, beta in (
            (1.0, 0.0),
            (-0.3, 0.7),
            (2, 1),
            (np.float64(0.1), np.float32(0.1)),
            (1 << 60, 0),
        ):
            got = []
            for stream in (0, cuda.stream()):
                y = np.arange(len(lengths) + 2).astype(dtype) + np.asarray(0.25, dtype)
                if beta == 0:
                    y[: len(lengths)] = np.nan
                given = [cuda.to_device(a) if there else a for a in (val, ptr, ind, x, y)]
                s = Sparse(stream=stream)
                s.csrmv("N", len(lengths), 90, nnz, alpha, s.matdescr(base), *given[:4], beta, given[4])
                got.append(given[4].copy_to_host(stream=stream) if there else y)
                if stream:
                    stream.synchronize()
            np.testing.assert_array_equal(*got)
            np.testing.assert_array_equal(
                got[0][len(lengths) :], np.arange(len(lengths), len(y)) + np.asarray(0.25, dtype)
            )
            many = np.repeat(np.arange(len(lengths)), lengths)
            want = alpha * np.bincount(many, val.astype(float) * x[ind - base], len(lengths)) + (
                beta * (np.arange(len(lengths)) + 0.25)
            )
            np.testing.assert_allclose(
                got[0][: len(lengths)],
                want,
                rtol=1e-3 if dtype == "f4" else 1e-10,
                atol=(2e-2 if dtype == "f4" else 1e-9) * abs(alpha),
            )


@pytest.mark.skipif(not is_emulated(), reason="a GPU has the kernel alone")
def test_which_products_are_cs():
    """The common call is made once, and all others are the kernels': by arguments of which one is something else."""
    val, ptr, ind = np.ones(3), np.array([0, 2, 3], np.int32), np.array([0, 2, 1], np.int32)
    x, y = np.ones(3), np.zeros(2)
    plain = [2, 3, 3, 1.0, val, ptr, ind, 0, x, 0.0, y]
    both = np.zeros(5)
    locked = np.zeros(2)
    locked.flags.writeable = False
    assert _csrmv(*plain) and y.tolist() == [2, 1]
    for where, other in [(0, -1), (0, 3), (0, True), (1, 4), (2, 4), (2, 1 << 40), (3, 1j), (3, 1 << 54), (3, "1"), (4, val.astype("f4")), (4, val.astype("c16")), (4, [1.0, 1.0, 1.0]),
                         (5, ptr.astype("i8")), (6, ind[::-1]), (6, ind.astype(">i4")), (8, np.ones(6)[::2]), (8, y), (9, None), (10, locked), (10, np.zeros((2, 1))), (6, ind + 1), (5, ptr[::-1].copy())]:  # fmt: skip
        assert not _csrmv(*plain[:where], other, *plain[where + 1 :]), (where, other)
    assert not _csrmv(2, 3, 3, 1.0, val, ptr, ind, 0, both[:3], 0.0, both[2:4])
    assert _csrmv(2, 3, 3, 1.0, val, ptr, ind, 0, both[:3], 0.0, both[3:])
    with pytest.raises(TypeError, match="eleven arguments"):
        _csrmv(*plain[1:])


def test_duplicates_are_added():
    val, ind, ptr = np.array([1.0, 2, 4, 8]), np.array([1, 1, 0, 1], np.int32), np.array([0, 3, 4], np.int32)
    a, s = np.array([[4.0, 3], [0, 8]]), Sparse()
    x, y = np.array([1.0, 10]), np.empty(2)
    for trans in OPS:
        s.csrmv(trans, 2, 2, 4, 1, s.matdescr(), val, ptr, ind, x, 0, y)
        np.testing.assert_array_equal(y, op(a, trans) @ x)
    dense = np.empty((2, 2), order="F")
    s.csr2dense(2, 2, s.matdescr(), val, ptr, ind, dense, 2)
    np.testing.assert_array_equal(dense, a)
    got = np.empty(3, np.int32)
    assert (
        s.XcsrgemmNnz(
            "N", "N", 2, 2, 2, s.matdescr(), 4, ptr, ind, s.matdescr(), 4, ptr, ind, s.matdescr(), got
        )
        == 3
    )
    values, columns = np.empty(3), np.empty(3, np.int32)
    d = s.matdescr()
    s.csrgemm("N", "N", 2, 2, 2, d, 4, val, ptr, ind, d, 4, val, ptr, ind, d, values, got, columns)
    np.testing.assert_array_equal(restored(values, got, columns, (2, 2)), a @ a)


# --- sums and products ---


def times(s, a, b, trans, other, base):
    (m, k), n = op(a, trans).shape, op(b, other).shape[1]
    d = s.matdescr()
    av, ap, ai = stored(a, base)
    bv, bp, bi = stored(b, base)
    ptr = np.empty(m + 1, np.int32)
    many = s.XcsrgemmNnz(trans, other, m, n, k, d, len(av), ap, ai, d, len(bv), bp, bi, d, ptr)
    val, ind = np.empty(many, a.dtype), np.empty(many, np.int32)
    s.csrgemm(trans, other, m, n, k, d, len(av), av, ap, ai, d, len(bv), bv, bp, bi, d, val, ptr, ind)
    for lo, hi in zip(ptr - base, ptr[1:] - base):
        assert (np.diff(ind[lo:hi]) > 0).all()
    return restored(val, ptr, ind, (m, n), base)


def plus(s, a, b, base):
    m, n = a.shape
    d = s.matdescr()
    av, ap, ai = stored(a, base)
    bv, bp, bi = stored(b, base)
    ptr = np.empty(m + 1, np.int32)
    many = s.XcsrgeamNnz(m, n, d, len(av), ap, ai, d, len(bv), bp, bi, d, ptr)
    assert many == ((a != 0) | (b != 0)).sum() and type(many) is int
    val, ind = np.empty(many, a.dtype), np.empty(many, np.int32)
    s.csrgeam(m, n, 2, d, len(av), av, ap, ai, -1, d, len(bv), bv, bp, bi, d, val, ptr, ind)
    return restored(val, ptr, ind, (m, n), base)


@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("other", OPS)
@pytest.mark.parametrize("trans", OPS)
@pytest.mark.parametrize("dtype", ["f4", "c16"])
def test_products(dtype, trans, other, base):
    s = Sparse(base)
    a, b = numbers((7, 5), dtype, 1, 0.4), numbers((5, 6), dtype, 2, 0.5)
    got = times(s, op(a, trans), op(b, other), trans, other, base)
    np.testing.assert_array_equal(got, op(op(a, trans), trans) @ op(op(b, other), other))


@pytest.mark.parametrize("columns", [45, 200, 256, 257, 3000])
def test_wide_products(columns):
    """Rows that are sorted by one digit and by two."""
    a, b = numbers((30, 400), "f8", 1, 0.3), numbers((400, columns), "f8", 2, 0.1)
    np.testing.assert_array_equal(times(Sparse(), a, b, "N", "N", 0), a @ b)


@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("dtype", DTYPES)
def test_sums(dtype, base):
    a, b = numbers((7, 5), dtype, 1, 0.4), numbers((7, 5), dtype, 2, 0.5)
    np.testing.assert_array_equal(plus(Sparse(base), a, b, base), 2 * a - b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_csrgemm_ez(dtype):
    a, s = numbers((6, 4), dtype, 1, 0.5), Sparse()
    m = csr_matrix(a)
    np.testing.assert_array_equal(s.csrgemm_ez(m, m, transB="T").toarray(), a @ a.T)
    np.testing.assert_array_equal(s.csrgemm_ez(m, m, "C").toarray(), a.conj().T @ a)
    with pytest.raises(ValueError, match="incompatible"):
        s.csrgemm_ez(m, m)
    with pytest.raises(ValueError, match="entirely zero"):
        s.csrgemm_ez(m, csr_matrix(np.zeros((4, 3), dtype)))


# --- triangular systems, factors, three diagonals ---


def solvable(n, dtype, seed=0):
    return (numbers((n, n), dtype, seed, 0.4) / n + 2 * np.eye(n)).astype(dtype)


@pytest.mark.parametrize("trans", OPS)
@pytest.mark.parametrize("diag", ["N", "U"])
@pytest.mark.parametrize("fill", ["L", "U"])
@pytest.mark.parametrize(("dtype", "base"), [("f4", 0), ("f8", 1), ("c8", 1), ("c16", 0)])
def test_triangles(dtype, base, fill, diag, trans):
    s, a = Sparse(base), solvable(9, dtype)
    val, ptr, ind = stored(a, base)
    d = s.matdescr(diagtype=diag, fillmode=fill)
    full = op(meant(a, "T", fill, diag), trans)
    info = s.csrsv_analysis(trans, 9, len(val), d, val, ptr, ind)
    x, y = numbers(9, dtype, 1), np.empty(9, dtype)
    s.csrsv_solve(trans, 9, 2, d, val, ptr, ind, info, x, y)
    close(full @ y, 2 * x)
    both = x.copy()
    s.csrsv_solve(trans, 9, 2, d, val, ptr, ind, info, both, both)
    np.testing.assert_array_equal(both, y)
    info = s.csrsm_analysis(trans, 9, len(val), d, val, ptr, ind)
    x, y = np.asfortranarray(numbers((9, 3), dtype, 2)), np.empty((10, 3), dtype, "F")
    s.csrsm_solve(trans, 9, 3, 2, d, val, ptr, ind, info, x, 9, y, 10)
    close(full @ y[:9], 2 * x)


@pytest.mark.parametrize("fill", ["L", "U"])
@pytest.mark.parametrize("band", [1, 130, 700])
def test_levels_narrow_and_wide(fill, band):
    """Rows that need the one ``band`` before: so many rows in each level."""
    n = 1500
    lower = fill == "L"
    i = np.arange(n)
    j = i - band if lower else i + band
    has = (j >= 0) & (j < n)
    rows, columns = np.concatenate([i, i[has]]), np.concatenate([i, j[has]])
    val = np.concatenate([np.full(n, 2.0), np.full(has.sum(), 0.5)])
    order = np.lexsort((columns, rows))
    ptr = np.searchsorted(rows[order], np.arange(n + 1)).astype(np.int32)
    val, ind = val[order], columns[order].astype(np.int32)
    s, x, y = Sparse(), numbers(n, "f8"), np.empty(n)
    d = s.matdescr(fillmode=fill)
    info = s.csrsv_analysis("N", n, len(val), d, val, ptr, ind)
    assert f"{-(-n // band)} levels" in repr(info)
    s.csrsv_solve("N", n, 1, d, val, ptr, ind, info, x, y)
    back = 2 * y
    back[i[has]] += 0.5 * y[j[has]]
    close(back, x)


@pytest.mark.parametrize("trans", OPS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_incomplete_lu(dtype, trans):
    s, a = Sparse(), solvable(8, dtype)
    val, ptr, ind = stored(a)
    for info in (
        s.solve_analysis_info(),
        s.csrsv_analysis(
            trans, 8, len(val), s.matdescr(fillmode="L" if trans == "N" else "U"), val, ptr, ind
        ),
    ):
        v = val.copy()
        s.csrilu0(trans, 8, s.matdescr(), v, ptr, ind, info)
        f = op(restored(v, ptr, ind, (8, 8)), trans)
        product = (np.tril(f, -1) + np.eye(8)) @ np.triu(f)
        has = op(a, trans) != 0
        close(np.where(has, product, 0).astype(dtype), op(a, trans))


@pytest.mark.parametrize("fill", ["L", "U"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_incomplete_cholesky(dtype, fill):
    a = solvable(8, dtype)
    a = a @ a.conj().T
    a[np.abs(a) < 0.3] = 0
    s = Sparse()
    d = s.matdescr(fillmode=fill, matrixtype="H")
    val, ptr, ind = stored(a)
    v = val.copy()
    s.csric0("N", 8, d, v, ptr, ind, s.csrsv_analysis("N", 8, len(val), d, val, ptr, ind))
    f = restored(v, ptr, ind, (8, 8))
    f = np.tril(f) if fill == "L" else np.triu(f).conj().T
    has = a != 0
    close(np.where(has, f @ f.conj().T, 0).astype(dtype), a, 4)
    with pytest.raises(ValueError, match="trans is 'N'"):
        s.csric0("T", 8, d, v, ptr, ind, s.solve_analysis_info())


@pytest.mark.parametrize("name", ["gtsv", "gtsv_nopivot"])
@pytest.mark.parametrize("m", [1, 2, 3, 50])
@pytest.mark.parametrize("dtype", DTYPES)
def test_three_diagonals(dtype, m, name):
    rng = np.random.default_rng(m)
    dl, d, du = (rng.normal(size=m).astype(dtype) for _ in range(3))
    if name == "gtsv":
        d[m // 2] = d[m // 2] / 64  # a pivot is needed
    else:
        d += 4
    given = [x.copy() for x in (dl, d, du)]
    full = np.diag(d) + np.diag(dl[1:], -1) + np.diag(du[:-1], 1)
    b0 = numbers((m + 1, 3), dtype)
    b = np.asfortranarray(b0)
    getattr(Sparse(), name)(m, 3, dl, d, du, b, m + 1)
    close((full @ b[:m]).astype(dtype), b0[:m], 2000)
    assert (b[m] == b0[m]).all() and all((x == y).all() for x, y in zip((dl, d, du), given))


def test_many_systems_of_three_diagonals():
    m, step, many = 6, 8, 5
    rng = np.random.default_rng(0)
    dl, d, du, x0 = (rng.normal(size=many * step) for _ in range(4))
    d += 5
    x = x0.copy()
    Sparse().gtsvStridedBatch(m, dl, d, du, x, many, step)
    for k in range(many):
        at = slice(k * step, k * step + m)
        full = np.diag(d[at]) + np.diag(dl[at][1:], -1) + np.diag(du[at][:-1], 1)
        close(full @ x[at], x0[at])
        assert (x[at.stop : (k + 1) * step] == x0[at.stop : (k + 1) * step]).all()
    with pytest.raises(ValueError, match="batchStride is 5"):
        Sparse().gtsvStridedBatch(m, dl, d, du, x, 2, 5)


# --- other forms ---


@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("dtype", DTYPES)
def test_conversions(dtype, base):
    s, a = Sparse(base), numbers((7, 5), dtype, 3, 0.5)
    val, ptr, ind = stored(a, base)
    d, n = s.matdescr(), len(val)
    rows, again = np.empty(n, np.int32), np.empty(8, np.int32)
    s.Xcsr2coo(ptr, n, 7, rows)
    np.testing.assert_array_equal(rows - base, np.nonzero(a)[0])
    s.Xcoo2csr(rows, n, 7, again)
    np.testing.assert_array_equal(again, ptr)
    dense = np.asfortranarray(np.vstack([a, numbers((1, 5), dtype)]))
    for direction, name, axis in (("R", "dense2csr", 1), ("C", "dense2csc", 0)):
        lines = a.shape[1 - axis]
        counts = np.empty(lines, np.int32)
        assert s.nnz(direction, 7, 5, d, dense, 8, counts) == n
        np.testing.assert_array_equal(counts, (a != 0).sum(axis))
        v, i, p = np.empty(n, dtype), np.empty(n, np.int32), np.empty(lines + 1, np.int32)
        arrays = (v, p, i) if direction == "R" else (v, i, p)
        getattr(s, name)(7, 5, d, dense, 8, counts, *arrays)
        np.testing.assert_array_equal(restored(v, p, i, (lines, 12 - lines), base), a if axis else a.T)
        back = np.full((8, 5), 9, dtype, "F")
        getattr(s, "csr2dense" if axis else "csc2dense")(7, 5, d, *arrays, back, 8)
        np.testing.assert_array_equal(back[:7], a)
        assert (back[7] == 9).all()
    v = np.full(n, 9, dtype)
    s.csr2csc(7, 5, n, val, ptr, ind, v, np.empty_like(ind), np.empty(6, np.int32), False)
    assert (v == 9).all()


class Hasty(Call):
    """As threads may take turns: each entry finds the last free place of its key, not the first."""

    def run(self, kernel, n, *args):
        if kernel is not forms.put:
            super().run(kernel, n, *args)
            return
        _, _, room, places = args
        key, begins, to = (np.array(readable(a)) for a in (args[0], room, places))
        for k in range(n)[::-1]:
            if key[k] >= 0:
                to[begins[key[k]]] = k
                begins[key[k]] += 1
        move(places, to)


@pytest.mark.parametrize("n", [1, 7, 300, 5000])
def test_entries_stay_in_order_however_threads_take_turns(n):
    key = np.random.default_rng(n).integers(-1, 4, n).astype(np.int32)
    call = Hasty("csr2csc", 0)
    ptr, places = (readable(a) for a in call.entries_by(call.bind(ints("key", key, n))[0], 4))
    assert (np.diff(ptr) == [(key == j).sum() for j in range(4)]).all()
    for j in range(4):
        np.testing.assert_array_equal(places[ptr[j] : ptr[j + 1]], np.nonzero(key == j)[0])


@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("direction", ["R", "C"])
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_blocks(dtype, size, direction, base):
    s, a = Sparse(base), numbers((7, 5), dtype, 3, 0.3)
    val, ptr, ind = stored(a, base)
    shuffled = np.concatenate(
        [np.arange(lo, hi)[::-1] for lo, hi in zip(ptr - base, ptr[1:] - base)]
    )  # blocks need no order
    val, ind = val[shuffled], ind[shuffled]
    d, mb, nb = s.matdescr(), -(-7 // size), -(-5 // size)
    bp = np.empty(mb + 1, np.int32)
    many = s.Xcsr2bsrNnz(direction, 7, 5, d, ptr, ind, size, d, bp)
    bv, bi = np.empty(many * size * size, dtype), np.empty(many, np.int32)
    s.csr2bsr(direction, 7, 5, d, val, ptr, ind, size, d, bv, bp, bi)
    whole = np.zeros((mb * size, nb * size), dtype)
    whole[:7, :5] = a
    blocks = whole.reshape(mb, size, nb, size).transpose(0, 2, 1, 3)
    filled = blocks.any((2, 3))
    assert many == filled.sum()
    assert (bp - base == np.concatenate([[0], np.cumsum(filled.sum(1))])).all()
    assert (bi - base == np.nonzero(filled)[1]).all()
    stands = blocks[filled] if direction == "R" else blocks[filled].transpose(0, 2, 1)
    np.testing.assert_array_equal(bv.reshape(-1, size, size), stands)
    v, i = np.empty(bv.size, dtype), np.empty(bv.size, np.int32)
    p = np.empty(mb * size + 1, np.int32)
    s.bsr2csr(direction, mb, nb, d, bv, bp, bi, size, d, v, p, i)
    np.testing.assert_array_equal(restored(v, p, i, whole.shape, base), whole)
    for trans in OPS:
        full = op(whole, trans)
        x, y0 = numbers(full.shape[1], dtype, 4), numbers(full.shape[0], dtype, 5)
        y = y0.copy()
        s.bsrmv(direction, trans, mb, nb, many, 2, d, bv, bp, bi, size, x, 3, y)
        np.testing.assert_array_equal(y, 2 * full @ x + 3 * y0)
    x, y0 = numbers(nb * size, dtype, 4), numbers(mb * size, dtype, 5)
    y, mask = y0.copy(), np.array([2, 0][: min(mb, 2)], np.int32) + np.int32(base)
    begin, end = bp[:-1].copy(), bp[1:].copy()
    s.bsrxmv(direction, "N", len(mask), mb, nb, many, 2, d, bv, mask, begin, end, bi, size, x, 3, y)
    want, full = y0.copy(), 2 * whole @ x + 3 * y0
    for row in mask - base:
        want[row * size : (row + 1) * size] = full[row * size : (row + 1) * size]
    np.testing.assert_array_equal(y, want)


# --- matrices ---


@pytest.mark.parametrize("dtype", DTYPES)
def test_matrices_without_scipy(dtype):
    a = numbers((6, 4), dtype, 1, 0.5)
    for given_ in (a, np.asfortranarray(a), a[:, ::-1][:, ::-1], cuda.to_device(a)):
        for make in (csr_matrix, csc_matrix):
            m = make(given_)
            np.testing.assert_array_equal(m.toarray(), a)
            assert m.shape == (6, 4) and m.ndim == 2 and m.dtype == dtype and m.nnz == (a != 0).sum()
    val, ptr, ind = stored(a)
    np.testing.assert_array_equal(csr_matrix((val, ind, ptr), shape=(6, 4)).toarray(), a)
    np.testing.assert_array_equal(csr_matrix((val, ind.astype(np.int64), ptr), (6, 4)).toarray(), a)
    blocks = numbers((3, 2, 2), dtype)
    m = bsr_matrix((blocks, np.array([1, 0, 1], "i4"), np.array([0, 1, 3], "i4")), shape=(4, 4))
    want = np.zeros((4, 4), dtype)
    want[:2, 2:], want[2:, :2], want[2:, 2:] = blocks
    assert m.blocksize == (2, 2)
    np.testing.assert_array_equal(m.toarray(), want)
    x, y = numbers(4, dtype, 2), np.zeros(4, dtype)
    s = Sparse()
    s.bsrmv_matrix("R", "N", 1, s.matdescr(), m, x, 0, y)
    np.testing.assert_array_equal(y, want @ x)
    assert "4 by 4" in repr(m) and "nothing yet" in repr(module.CudaCSRMatrix())


@pytest.mark.parametrize("dtype", [*DTYPES, "i8"])
def test_scipys_matrices(dtype):
    scipy = need_scipy()
    a = numbers((6, 4), "f8" if dtype == "i8" else dtype, 1, 0.5).astype(dtype)
    for make, known in (
        (csr_matrix, scipy.csr_matrix),
        (csc_matrix, scipy.csc_matrix),
        (bsr_matrix, scipy.bsr_matrix),
    ):
        m = make(known(a))
        host = m.copy_to_host()
        assert type(host) is known and host.dtype == dtype
        np.testing.assert_array_equal(host.toarray(), a)
        stream = cuda.stream()
        np.testing.assert_array_equal(m.copy_to_host(stream=stream).toarray(), a)
        np.testing.assert_array_equal(make(a).copy_to_host().toarray(), a)
    row, col, data = np.array([0, 0, 1, 2, 2, 2]), np.array([0, 2, 2, 0, 1, 2]), np.arange(1, 7)
    for make, known in ((csr_matrix, scipy.csr_matrix), (bsr_matrix, scipy.bsr_matrix)):
        host, want = (
            make((data, (row, col)), shape=(3, 3)).copy_to_host(),
            known((data, (row, col)), shape=(3, 3)),
        )
        for name in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(host, name), getattr(want, name))


def test_products_of_scipys_matrices():
    scipy = need_scipy()
    a, b = numbers((6, 4), "f8", 1, 0.5), numbers((4, 5), "f8", 2, 0.5)
    got = Sparse().csrgemm_ez(scipy.csr_matrix(a), scipy.csr_matrix(b)).copy_to_host()
    np.testing.assert_array_equal(got.toarray(), a @ b)


def test_where_scipy_is_not(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    monkeypatch.setitem(sys.modules, "scipy", None)
    m = csr_matrix(np.eye(3))
    np.testing.assert_array_equal(m.toarray(), np.eye(3))
    for what in (m.copy_to_host, lambda: csr_matrix((2, 3)), lambda: bsr_matrix(np.eye(2))):
        with pytest.raises(ImportError, match="SciPy is not here"):
            what()


def test_descriptions():
    d = Sparse(1).matdescr()
    assert (d.indexbase, d.diagtype, d.fillmode, d.matrixtype) == (1, "N", "L", "G")
    d.diagtype, d.fillmode, d.matrixtype, d.indexbase = "U", "U", "T", 0
    assert repr(d) == "<matrix of type 'T', fill 'U', diagonal 'U', base 0>"
    for name, wrong in (
        ("indexbase", 2),
        ("indexbase", True),
        ("diagtype", "X"),
        ("fillmode", "l"),
        ("matrixtype", "GS"),
    ):
        with pytest.raises(ValueError, match=repr(wrong)):
            setattr(d, name, wrong)
    with pytest.raises(ValueError, match="Invalid index base"):
        Sparse(2)


# --- arrays in any layout, streams ---


def layouts(x):
    gaps = np.zeros(2 * x.size, x.dtype)[::2]
    gaps[...] = x
    raw = np.zeros(x.nbytes + 1, np.uint8)
    loose = raw[1:].view(x.dtype)
    loose[...] = x
    fixed = x.copy()
    fixed.flags.writeable = False
    return {
        "C": x.copy(),
        "gaps": gaps,
        "back": x[::-1].copy()[::-1],
        "loose": loose,
        "fixed": fixed,
        "there": cuda.to_device(x),
    }


@pytest.mark.parametrize("on_stream", [False, True])
@pytest.mark.parametrize("way", ["C", "gaps", "back", "loose", "fixed", "there"])
def test_arrays_in_any_layout(way, on_stream):
    a, stream = numbers((40, 30), "f8", 1, 0.3), cuda.stream() if on_stream else 0
    s = Sparse(stream=stream)
    assert s.stream is stream and s.api is s
    val, ptr, ind, x = (layouts(v)[way] for v in (*stored(a), numbers(30, "f8", 2)))
    y = layouts(np.zeros(40))["C" if way == "fixed" else way]
    s.csrmv("N", 40, 30, val.size, 1, s.matdescr(), val, ptr, ind, x, 0, y)
    if stream:
        stream.synchronize()
    np.testing.assert_array_equal(y.copy_to_host() if way == "there" else y, a @ numbers(30, "f8", 2))


@pytest.mark.parametrize("order", ["C", "F"])
def test_dense_matrices_in_any_order(order):
    a, b = numbers((4, 3), "f8", 1, 0.7), np.array(numbers((3, 5), "f8", 2), order=order)
    val, ptr, ind = stored(a)
    s, c = Sparse(), np.zeros((4, 5), order=order)
    s.csrmm("N", 4, 5, 3, len(val), 1, s.matdescr(), val, ptr, ind, b, 3, 0, c, 4)
    np.testing.assert_array_equal(c, a @ b)


def test_what_is_read_may_be_what_is_written():
    a, s = numbers((5, 5), "f8", 1, 0.6), Sparse()
    val, ptr, ind = stored(a)
    both = numbers(8, "f8", 2)
    want = both.copy()
    want[2:7] = a @ both[:5]
    s.csrmv("N", 5, 5, len(val), 1, s.matdescr(), val, ptr, ind, both[:5], 0, both[2:7])
    np.testing.assert_array_equal(both, want)
    with pytest.raises(ValueError, match="two arrays that are to be written share memory"):
        s.gthrz(both, both[:2], np.array([3, 4], np.int32))


def test_in_the_order_of_a_stream():
    """Products that are not transposed wait for nothing; on the emulated device others do not either."""
    trans = "T" if cuda.is_emulated() else "N"
    a, stream = numbers((40, 40), "f8", 1, 0.3), cuda.stream()
    s = Sparse()
    s.stream = stream
    val, ptr, ind = map(cuda.to_device, stored(a))
    x, y = cuda.to_device(np.zeros(40)), cuda.to_device(np.zeros(40))

    def work():
        s.csrmv(trans, 40, 40, val.size, 1, s.matdescr(), val, ptr, ind, y, 0, x)
        s.csrmv("N", 40, 40, val.size, 1, s.matdescr(), val, ptr, ind, x, 0, y)

    work()
    stream.synchronize()
    given_ = cuda.pinned_array(40, np.float64)
    given_[:] = numbers(40, "f8", 3)
    with held(stream):
        y.copy_to_device(given_, stream)
        work()
    stream.synchronize()
    np.testing.assert_array_equal(y.copy_to_host(), a @ (op(a, trans) @ numbers(40, "f8", 3)))


# --- what is refused ---


def csrmv_of(s, **changed):
    """A call of csrmv with some arguments changed."""
    a = np.array([[1.0, 2, 0], [0, 0, 3]])
    val, ptr, ind = stored(a, s.idxbase)
    known = {
        "trans": "N", "m": 2, "n": 3, "nnz": 3, "alpha": 1, "descr": s.matdescr(), "csrVal": val, "csrRowPtr": ptr,
        "csrColInd": ind, "x": np.ones(3), "beta": 0, "y": np.zeros(2),
    }  # fmt: skip
    s.csrmv(**{**known, **changed})


@pytest.mark.parametrize(
    ("changed", "kind", "why"),
    [
        ({"trans": "X"}, ValueError, "trans is one of 'N', 'T', 'C', not 'X'"),
        ({"trans": 1}, ValueError, "trans is one of"),
        ({"m": -1}, ValueError, "m is -1"),
        ({"n": 2.5}, TypeError, "n is a number of things"),
        ({"nnz": 4}, ValueError, "csrVal has 3 items, and 4 are needed"),
        ({"csrRowPtr": np.zeros(2, "i4")}, ValueError, "csrRowPtr has 2 items, and 3 are needed"),
        ({"x": np.ones(2)}, ValueError, "x has 2 items, and 3 are needed"),
        ({"y": np.ones(1)}, ValueError, "y has 1 items, and 2 are needed"),
        ({"x": np.ones((3, 1))}, ValueError, "x has one axis, not 2"),
        ({"csrRowPtr": np.zeros(3, "i8")}, TypeError, "csrRowPtr is of int32, not int64"),
        ({"x": np.ones(3, "f4")}, TypeError, "x is of float32, and others of float64"),
        ({"csrVal": np.ones(3, "i4")}, TypeError, "csrVal is of float32, float64, complex64, complex128, not of int32"),
        ({"x": [1.0, 2, 3]}, TypeError, "x is an array of the device or of NumPy's, not list"),
        ({"alpha": 1j}, TypeError, "1j is complex"),
        ({"alpha": "1"}, TypeError, "csrmv: a factor is a number, not str"),
        ({"beta": None}, TypeError, "csrmv: a factor is a number, not NoneType"),
        ({"descr": None}, TypeError, "csrmv: descr is a description, which matdescr() gives, not None"),
        ({"y": np.broadcast_to(np.zeros(1), 2)}, ValueError, "y is to be written, and is read-only"),
    ],
    ids=str,
)  # fmt: skip
def test_wrong_arguments(changed, kind, why):
    with pytest.raises(kind, match=re.escape(why)):
        csrmv_of(Sparse(), **changed)


@pytest.mark.parametrize("on_stream", [False, True])
@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("trans", ["N", "T"])
@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("csrColInd", [0, 3, 2], IndexError),
        ("csrColInd", [0, -1, 2], IndexError),
        ("csrColInd", [0, 2**31 - 2, 2], IndexError),
        ("csrRowPtr", [0, 4, 3], ValueError),
        ("csrRowPtr", [0, -1, 3], ValueError),
        ("csrRowPtr", [-1, 2, 3], ValueError),
        ("csrRowPtr", [0, 2, 4], ValueError),
        ("csrRowPtr", [2, 1, 3], ValueError),
        ("csrRowPtr", [0, -(2**31), 2**31 - 2], ValueError),
    ],
    ids=str,
)
def test_indices_are_looked_at(name, values, kind, trans, base, on_stream):
    stream = cuda.stream() if on_stream else 0
    given_ = {
        name: cuda.to_device(np.clip(np.array(values, np.int64) + base, -(2**31), 2**31 - 1).astype(np.int32))
    }
    swapped = {} if trans == "N" else {"x": np.ones(2), "y": np.zeros(3)}
    with pytest.raises(kind, match=f"csrmv: .*{name}"):
        csrmv_of(Sparse(base, stream), trans=trans, **given_, **swapped)
        cuda.synchronize()
    csrmv_of(Sparse(base, stream))  # goes on


BAD_PTR, BAD_IND = np.array([0, 2, 1], "i4"), np.array([0, 9, 1], "i4")
PTR, IND, VAL = np.array([0, 2, 3], "i4"), np.array([0, 1, 1], "i4"), np.array([2.0, 1, 4])
OUT = {n: np.zeros(n) for n in (2, 3, 4, 12)}
OUT_I = {n: np.zeros(n, "i4") for n in (2, 3, 4, 5, 12)}
_S = Sparse()
_D = _S.matdescr()
_DENSE = np.ones((2, 2), order="F")
# Each routine that has a matrix, with pointers and indices to be given.
WITH_MATRIX = {
    "csrsv_analysis": lambda p, i: _S.csrsv_analysis("N", 2, 3, _D, VAL, p, i),
    "csrsm_analysis": lambda p, i: _S.csrsm_analysis("T", 2, 3, _D, VAL, p, i),
    "csrmm": lambda p, i: _S.csrmm("N", 2, 2, 2, 3, 1, _D, VAL, p, i, _DENSE, 2, 0, np.empty((2, 2), order="F"), 2),
    "csrmm2": lambda p, i: _S.csrmm2("T", "T", 2, 2, 2, 3, 1, _D, VAL, p, i, _DENSE, 2, 0, np.empty((2, 2), order="F"), 2),
    "XcsrgeamNnz": lambda p, i: _S.XcsrgeamNnz(2, 2, _D, 3, PTR, IND, _D, 3, p, i, _D, OUT_I[3]),
    "csrgeam": lambda p, i: _S.csrgeam(2, 2, 1, _D, 3, VAL, p, i, 1, _D, 3, VAL, PTR, IND, _D, OUT[3], PTR, OUT_I[4]),
    "XcsrgemmNnz": lambda p, i: _S.XcsrgemmNnz("N", "T", 2, 2, 2, _D, 3, PTR, IND, _D, 3, p, i, _D, OUT_I[3]),
    "csrgemm": lambda p, i: _S.csrgemm("N", "N", 2, 2, 2, _D, 3, VAL, p, i, _D, 3, VAL, PTR, IND, _D, OUT[3], PTR, OUT_I[4]),
    "csric0": lambda p, i: _S.csric0("N", 2, _D, VAL.copy(), p, i, _S.solve_analysis_info()),
    "csrilu0": lambda p, i: _S.csrilu0("C", 2, _D, VAL.copy(), p, i, _S.solve_analysis_info()),
    "bsrmv": lambda p, i: _S.bsrmv("R", "N", 2, 2, 3, 1, _D, VAL, p, i, 1, np.ones(2), 0, OUT[2]),
    "bsrxmv": lambda p, i: _S.bsrxmv("R", "N", 2, 2, 2, 3, 1, _D, VAL, np.arange(2, dtype="i4"), p[:2], p[1:], i, 1, np.ones(2), 0, OUT[2]),
    "bsr2csr": lambda p, i: _S.bsr2csr("R", 2, 2, _D, VAL, p, i, 1, _D, OUT[12], OUT_I[3], OUT_I[12]),
    "Xcsr2bsrNnz": lambda p, i: _S.Xcsr2bsrNnz("R", 2, 2, _D, p, i, 1, _D, OUT_I[3]),
    "csr2bsr": lambda p, i: _S.csr2bsr("R", 2, 2, _D, VAL, p, i, 1, _D, OUT[12], PTR, OUT_I[12]),
    "csr2csc": lambda p, i: _S.csr2csc(2, 2, 3, VAL, p, i, OUT[3], OUT_I[4], OUT_I[3], True),
    "csr2dense": lambda p, i: _S.csr2dense(2, 2, _D, VAL, p, i, np.empty((2, 2), order="F"), 2),
    "csc2dense": lambda p, i: _S.csc2dense(2, 2, _D, VAL, i, p, np.empty((2, 2), order="F"), 2),
}  # fmt: skip


@pytest.mark.parametrize("name", WITH_MATRIX)
def test_every_routine_looks_at_its_indices(name):
    WITH_MATRIX[name](PTR, IND)
    with pytest.raises(ValueError, match=f"^{name}: .*Ptr"):
        WITH_MATRIX[name](BAD_PTR, IND)
    with pytest.raises(IndexError, match=f"^{name}: an index of .*Ind"):
        WITH_MATRIX[name](PTR, BAD_IND)


@pytest.mark.parametrize("name", WITH_MATRIX)
def test_every_routine_takes_longer_arrays(name, monkeypatch):
    """Behind what the pointers count may stand anything, also where no argument says how many entries there are."""
    monkeypatch.setattr(sys.modules[__name__], "VAL", np.append(VAL, [np.nan, np.inf]))
    for junk in (7, -5):
        WITH_MATRIX[name](np.append(PTR, np.int32(junk)), np.append(IND, np.full(2, junk, "i4")))


def test_what_stands_behind_the_entries_is_left_alone():
    a = numbers((4, 6), "f8", 5, 0.5)
    val, ptr, ind = stored(a)
    val, ind = np.append(val, [np.nan, 8.0]), np.append(ind, np.array([2, 77], "i4"))
    s, d, out = Sparse(), Sparse().matdescr(), np.empty((4, 6), order="F")
    s.csr2dense(4, 6, d, val, ptr, ind, out, 4)
    assert np.array_equal(out, a)
    begins = np.empty(3, "i4")
    many = s.Xcsr2bsrNnz("C", 4, 6, d, ptr, ind, 2, d, begins)
    blocks, columns = np.empty(many * 4), np.empty(many, "i4")
    s.csr2bsr("C", 4, 6, d, val, ptr, ind, 2, d, blocks, begins, columns)
    wide = np.append(blocks, np.full(8, np.nan)), begins, np.append(columns, np.array([9, -9], "i4"))
    back = np.zeros(many * 4), np.empty(5, "i4"), np.empty(many * 4, "i4")
    s.bsr2csr("C", 2, 3, d, *wide, 2, d, *back)
    assert np.array_equal(restored(*back, (4, 6)), a)


@pytest.mark.parametrize("name", ["axpyi", "doti", "dotci", "gthr", "gthrz", "roti", "sctr"])
@pytest.mark.parametrize("wrong", [-1, 4, 2**31 - 1, -(2**31)])
def test_vectors_are_looked_at(name, wrong):
    x, ind, y = np.ones(2), np.array([1, wrong], "i4"), np.ones(4)
    args = {"axpyi": (1, x, ind, y), "roti": (x, ind, y, 1, 0), "gthr": (y, x, ind), "gthrz": (y, x, ind)}
    with pytest.raises(IndexError, match=f"^{name}: an index of xInd is outside of y"):
        getattr(Sparse(), name)(*args.get(name, (x, ind, y)))
    with pytest.raises(ValueError, match="xVal has 2 items, and xInd 3"):
        getattr(Sparse(), name)(*(np.zeros(3, "i4") if a is ind else a for a in args.get(name, (x, ind, y))))


@pytest.mark.parametrize(
    ("what", "kind", "why"),
    [
        (lambda: _S.XcsrgeamNnz(2, 2, _D, 3, PTR, np.array([1, 0, 1], "i4"), _D, 3, PTR, IND, _D, OUT_I[3]), ValueError, "XcsrgeamNnz: csrColIndA must have the indices of each row in order"),
        (lambda: _S.csrilu0("N", 2, _D, VAL.copy(), PTR, np.array([0, 0, 1], "i4"), _S.solve_analysis_info()), ValueError, "csrilu0: csrColIndA must have the indices of each row in order, each once"),
        (lambda: _S.csrgeam(2, 2, 1, _D, 3, VAL, PTR, IND, 1, _D, 3, VAL, PTR, IND, _D, OUT[2], np.array([0, 1, 2], "i4"), OUT_I[4]), ValueError, "csrgeam: csrRowPtrC is not what XcsrgeamNnz gives"),
        (lambda: _S.csrgemm("N", "N", 2, 2, 2, _D, 3, VAL, PTR, IND, _D, 3, VAL, PTR, IND, _D, OUT[4], np.array([0, 3, 4], "i4"), OUT_I[4]), ValueError, "csrgemm: csrRowPtrC is not what XcsrgemmNnz gives"),
        (lambda: _S.csr2bsr("R", 2, 2, _D, VAL, PTR, IND, 1, _D, OUT[12], np.array([0, 1, 2], "i4"), OUT_I[12]), ValueError, "csr2bsr: bsrRowPtrC is not what Xcsr2bsrNnz gives"),
        (lambda: _S.csr2bsr("R", 2, 2, _D, VAL, PTR, IND, 0, _D, OUT[12], PTR, OUT_I[12]), ValueError, "blockDim is 0"),
        (lambda: _S.bsr2csr("R", 2, 2, _D, VAL, PTR, IND, 1, _D, OUT[2], OUT_I[3], OUT_I[12]), ValueError, "bsr2csr: csrValC or csrColIndC has no room"),
        (lambda: _S.dense2csr(2, 2, _D, _DENSE, 2, np.array([1, 2], "i4"), OUT[4], OUT_I[3], OUT_I[4]), ValueError, "dense2csr: nnzPerRow does not say"),
        (lambda: _S.dense2csc(2, 2, _D, _DENSE, 2, np.array([2, 2], "i4"), OUT[2], OUT_I[4], OUT_I[3]), ValueError, "dense2csc: nnzPerCol does not say"),
        (lambda: _S.Xcoo2csr(np.array([1, 0], "i4"), 2, 2, OUT_I[3]), ValueError, "Xcoo2csr: cooRowInd must be in order"),
        (lambda: _S.Xcoo2csr(np.array([0, 2], "i4"), 2, 2, OUT_I[3]), IndexError, "Xcoo2csr: an index of cooRowInd"),
        (lambda: _S.Xcsr2coo(BAD_PTR, 3, 2, OUT_I[3]), ValueError, "Xcsr2coo: csrRowPtr"),
        (lambda: _S.csr2dense(2, 2, _D, VAL, PTR, IND, OUT[4], 1), ValueError, "the columns of A are 1 items apart"),
        (lambda: _S.csrsv_solve("N", 2, 1, _D, VAL, PTR, IND, None, OUT[2], np.ones(2)), TypeError, "info is what csrsv_analysis gives"),
        (lambda: _S.csrsv_solve("T", 2, 1, _D, VAL, PTR, IND, _S.csrsv_analysis("N", 2, 3, _D, VAL, PTR, IND), OUT[2], np.ones(2)), ValueError, "info is of 2 rows, trans 'N'"),
        (lambda: _S.csrmv("N", 2, 3, 3, 1, _S.matdescr(matrixtype="S"), VAL, PTR, IND, np.ones(3), 0, OUT[2]), ValueError, "of type 'S' is square"),
        (lambda: _S.bsrxmv("R", "T", 1, 2, 2, 3, 1, _D, VAL, PTR, PTR, PTR, IND, 1, OUT[2], 0, np.ones(2)), ValueError, "not transposed"),
        (lambda: _S.bsrxmv("R", "N", 1, 2, 2, 3, 1, _D, VAL, np.array([2], "i4"), PTR[:2], PTR[1:], IND, 1, OUT[2], 0, np.ones(2)), IndexError, "bsrxmv: an index of bsrMaskPtr"),
        (lambda: _S.nnz("X", 2, 2, _D, _DENSE, 2, OUT_I[2]), ValueError, "dir is one of 'R', 'C'"),
        (lambda: _S.csrilu0("N", 2, _D, VAL.copy(), PTR, IND, 7), TypeError, "csrilu0: info is what csrsv_analysis gives"),
        (lambda: csr_matrix((np.ones(1), np.zeros(1, "i4"), np.zeros(1, "i4")), shape=(0, 0)).from_host_matrix(type("M", (), {"data": np.ones(1), "shape": (2**31, 1)})), OverflowError, "more than int32 counts"),
    ],
    ids=lambda p: p if isinstance(p, str) else "",
)  # fmt: skip
def test_what_else_is_refused(what, kind, why):
    with pytest.raises(kind, match=re.escape(why)):
        what()


@pytest.mark.parametrize(
    ("change", "kind", "why"),
    [
        ({"shape": (-3, 3)}, ValueError, "sizes are at least 0"),
        ({"shape": (2, 2**31)}, OverflowError, "more than int32 counts"),
        ({"shape": (2.0, 3)}, TypeError, "integer"),
        ({"shape": (3, 3)}, ValueError, "indptr has 3 items, and with shape (3, 3) it has 4"),
        ({"data": np.ones(2)}, ValueError, "data of shape (2,) and 3 indices"),
        ({"indices": np.array([0, 1, 2**32 + 1])}, OverflowError, "indices has numbers that int32 does not hold"),
        ({"indices": np.array([0, 0.5, 1])}, TypeError, "indices is of integers"),
        ({"indptr": np.array([0, 2, 2**32 + 3])}, OverflowError, "indptr has numbers that int32 does not hold"),
        ({"indptr": np.array([[0, 2, 3]])}, TypeError, "indptr is of integers, with one axis"),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("there", [False, True])
def test_arrays_that_are_no_matrix(change, kind, why, there):
    """An index of 2**32 + 1 was one of 1."""
    parts = {"data": VAL, "indices": IND, "indptr": PTR, "shape": (2, 3), **change}
    arrays = [parts[word] for word in ("data", "indices", "indptr")]
    if there:
        arrays = [cuda.to_device(a) for a in arrays]
    with pytest.raises(kind, match=re.escape(why)):
        csr_matrix(tuple(arrays), shape=parts["shape"])


# --- empty things ---


def test_empty_matrices():
    s = Sparse()
    d, none, no_int, zero = s.matdescr(), np.empty(0), np.empty(0, "i4"), np.zeros(1, "i4")
    s.csrmv("N", 0, 0, 0, 1, d, none, zero, no_int, none, 0, none.copy())
    y = np.ones(3)
    s.csrmv("T", 0, 3, 0, 1, d, none, zero, no_int, none, 2, y)
    assert (y == 2).all()
    s.csrmv("N", 3, 0, 0, 1, d, none, np.zeros(4, "i4"), no_int, none, 2, y)
    assert (y == 4).all()
    assert s.XcsrgemmNnz("N", "N", 0, 0, 0, d, 0, zero, no_int, d, 0, zero, no_int, d, np.empty(1, "i4")) == 0
    assert s.XcsrgeamNnz(0, 5, d, 0, zero, no_int, d, 0, zero, no_int, d, np.empty(1, "i4")) == 0
    info = s.csrsv_analysis("N", 0, 0, d, none, zero, no_int)
    s.csrsv_solve("N", 0, 1, d, none, zero, no_int, info, none, none.copy())
    s.csrilu0("N", 0, d, none.copy(), zero, no_int, info)
    s.gtsv(0, 0, none, none, none, none.copy(), 1)
    assert s.nnz("R", 0, 3, d, none, 1, no_int.copy()) == 0
    got = np.full(1, 9, "i4")
    s.bsr2csr("R", 0, 0, d, none, zero, no_int, 2, d, none.copy(), got, no_int.copy())
    assert got[0] == 0
    for shape in ((0, 0), (0, 3), (3, 0)):
        for make in (csr_matrix, csc_matrix):
            m = make(np.empty(shape))
            assert m.toarray().shape == shape and m.nnz == 0


def test_entries_that_are_in_no_row():
    """As pyculib's own tests have them: fewer entries than ``nnz`` says."""
    s = Sparse()
    val, ind, ptr, y = np.zeros(10), np.zeros(10, "i4"), np.zeros(10, "i4"), np.ones(1)
    for trans in OPS:
        s.csrmv(trans, 1, 1, 1, 1, s.matdescr(), val, ptr, ind, np.ones(1), 2, y)
    assert y[0] == 8
    d = s.matdescr()
    assert s.XcsrgemmNnz("T", "T", 1, 1, 1, d, 1, ptr, ind, d, 1, ptr, ind, d, np.empty(2, "i4")) == 0
    assert s.Xcsr2bsrNnz("R", 1, 1, d, ptr, ind, 1, d, np.empty(2, "i4")) == 0
    for kind in "SHT":
        for fill in "LU":
            s.csrmv(
                "C", 1, 1, 1, 1, s.matdescr(matrixtype=kind, fillmode=fill), val, ptr, ind, np.ones(1), 2, y
            )
    assert y[0] == 8 * 2**6


# --- the table, and the device that is none ---


def test_the_table_is_the_documentation():
    page = (ROOT / "docs/cuda/sparse.md").read_text(encoding="utf-8")
    page = page.partition("## Routines")[2].partition("`bsrmv_matrix(")[0]
    listed = re.findall(r"^\| `(\w+)` \| (.+?) \|$", page, re.M)
    want = [(name, what.replace("``", "`")) for name, (_, what) in ROUTINES.items()]
    assert sorted(listed) == sorted(want)
    for name in ROUTINES:
        assert callable(getattr(Sparse, name))
    public = {n for n, f in vars(Sparse).items() if inspect.isfunction(f) and not n.startswith("_")}
    assert public - {*ROUTINES} == {"bsrmv_matrix", "csrgemm_ez", "matdescr", "solve_analysis_info"}


SMALL = """
import hashlib
import numpy as np
from treadle import cuda
from treadle.cuda.sparse import ROUTINES, Sparse, bsr_matrix, csc_matrix, csr_matrix

seen, called = hashlib.sha256(), set()

class All(Sparse):
    def __getattribute__(self, name):
        called.add(name)
        return super().__getattribute__(name)

def see(*arrays):
    for a in arrays:
        seen.update(np.asarray(a.copy_to_host() if hasattr(a, "copy_to_host") else a, order="C").tobytes())

def there(n, dtype="i4"):
    return cuda.to_device(np.zeros(n, dtype))

rng = np.random.default_rng(0)
for base, dtype in ((0, "f8"), (1, "c8")):
    s = All(base)
    d = s.matdescr()
    a = rng.random((8, 8)) * (rng.random((8, 8)) < 0.5) + 3 * np.eye(8)
    if dtype == "c8":
        a = a + 1j * rng.random((8, 8)) * (a != 0)
    a = a.astype(dtype)
    x, y, z = (rng.random(8).astype(dtype) for _ in range(3))
    m = csr_matrix(a)
    n, val = m.nnz, m.data
    ptr, ind = (cuda.to_device(p.copy_to_host() + np.int32(base)) for p in (m.indptr, m.indices))
    see(csc_matrix(a).toarray())
    some = np.array([1, 6, 3], "i4") + np.int32(base)
    s.axpyi(2, x[:3], some, y)
    see(y, s.doti(x[:3], some, y), s.dotci(x[:3], some, y))
    s.roti(x[:3], some, y, 0.5, 0.25)
    s.gthr(y, z[:3], some)
    s.gthrz(y, z[3:6], some)
    s.sctr(x[:3], some, y)
    see(x, y, z)
    for trans in "NTC":
        for kind in "GSHT":
            k = s.matdescr(matrixtype=kind, diagtype="U", fillmode="U")
            s.csrmv(trans, 8, 8, n, 2, k, val, ptr, ind, x, 0.5, y)
            see(y)
        b, c = np.asfortranarray(rng.random((8, 5)).astype(dtype)), np.zeros((8, 5), dtype, "F")
        s.csrmm(trans, 8, 5, 8, n, 2, d, val, ptr, ind, b, 8, 0, c, 8)
        s.csrmm2(trans, "T", 8, 5, 8, n, 2, d, val, ptr, ind, np.asfortranarray(b.T), 5, 1, c, 8)
        see(c)
        info = s.csrsv_analysis(trans, 8, n, d, val, ptr, ind)
        s.csrsv_solve(trans, 8, 1, d, val, ptr, ind, info, x, y)
        info = s.csrsm_analysis(trans, 8, n, d, val, ptr, ind)
        s.csrsm_solve(trans, 8, 5, 1, d, val, ptr, ind, info, b, 8, c, 8)
        see(y, c)
        v = cuda.to_device(val.copy_to_host())
        s.csrilu0(trans, 8, d, v, ptr, ind, s.solve_analysis_info())
        see(v)
        p = there(9)
        many = s.XcsrgemmNnz(trans, "N", 8, 8, 8, d, n, ptr, ind, d, n, ptr, ind, d, p)
        v, i = there(many, dtype), there(many)
        s.csrgemm(trans, "N", 8, 8, 8, d, n, val, ptr, ind, d, n, val, ptr, ind, d, v, p, i)
        see(v, p, i)
    for fill in "LU":
        v = cuda.to_device(val.copy_to_host())
        s.csric0("N", 8, s.matdescr(fillmode=fill), v, ptr, ind, s.solve_analysis_info())
        see(v)
    p = there(9)
    many = s.XcsrgeamNnz(8, 8, d, n, ptr, ind, d, n, ptr, ind, d, p)
    v, i = there(many, dtype), there(many)
    s.csrgeam(8, 8, 2, d, n, val, ptr, ind, 3, d, n, val, ptr, ind, d, v, p, i)
    see(v, p, i)
    for name in ("gtsv", "gtsv_nopivot"):
        b = np.asfortranarray(rng.random((8, 3)).astype(dtype))
        getattr(s, name)(8, 3, x, (y + 2).astype(dtype), z, b, 8)
        see(b)
    s.gtsvStridedBatch(3, x, (y + 2).astype(dtype), z, z.copy(), 2, 4)
    rows, again, cols = there(n), there(9), (there(n, dtype), there(n), there(9))
    s.Xcsr2coo(ptr, n, 8, rows)
    s.Xcoo2csr(rows, n, 8, again)
    s.csr2csc(8, 8, n, val, ptr, ind, *cols, True)
    see(rows, again, *cols)
    dense, counts = np.zeros((8, 8), dtype, "F"), there(8)
    s.csc2dense(8, 8, d, *cols, dense, 8)
    see(dense)
    s.csr2dense(8, 8, d, val, ptr, ind, dense, 8)
    see(s.nnz("R", 8, 8, d, dense, 8, counts), counts)
    s.dense2csr(8, 8, d, dense, 8, counts, cols[0], cols[2], cols[1])
    see(*cols)
    s.nnz("C", 8, 8, d, dense, 8, counts)
    s.dense2csc(8, 8, d, dense, 8, counts, *cols)
    see(*cols)
    for way in "RC":
        p = there(4)
        many = s.Xcsr2bsrNnz(way, 8, 8, d, ptr, ind, 3, d, p)
        v, i = there(9 * many, dtype), there(many)
        s.csr2bsr(way, 8, 8, d, val, ptr, ind, 3, d, v, p, i)
        see(v, p, i)
        out = there(9 * many, dtype), there(10), there(9 * many)
        s.bsr2csr(way, 3, 3, d, v, p, i, 3, d, *out)
        see(*out)
        for trans in "NC":
            w = np.ones(9, dtype)
            s.bsrmv(way, trans, 3, 3, many, 2, d, v, p, i, 3, rng.random(9).astype(dtype), 0.5, w)
            see(w)
        begin, end = p.copy_to_host()[:-1].copy(), p.copy_to_host()[1:].copy()
        s.bsrxmv(way, "N", 1, 3, 3, many, 2, d, v, some[:1], begin, end, i, 3, rng.random(9).astype(dtype), 1, w)
        see(w)
    bad = cuda.to_device(np.full(n, 99, "i4"))
    for trans in "NT":
        try:
            s.csrmv(trans, 8, 8, n, 2, d, val, ptr, bad, x, 0.5, y)
            cuda.synchronize()
        except IndexError as error:
            seen.update(str(error).encode()[:58])
s.csrgemm_ez(m, m)
assert {*ROUTINES} <= called, {*ROUTINES} - called
text = seen.hexdigest()
"""


@pytest.mark.emulated
def test_a_gpu_gives_the_same_bits():
    gives_the_same_text(SMALL)


@pytest.mark.emulated
def test_checks_find_nothing():
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'tests/py')!r})\n{SMALL}\nprint('done', len(text))"
    env = {"TREADLE_CUDA": "emu", "TREADLE_EMU_CHECK": "all", "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**__import__("os").environ, **env}, timeout=300, check=False)  # fmt: skip
    assert done.stdout.split() == ["done", "64"], done.stderr
