"""BLAS's routines against NumPy (tests/py/blas_model.py), on whatever kernels run on: all of them, dtypes, letters, sizes, layouts, streams, and what is refused."""

from __future__ import annotations

import gc
import inspect
import os
import re
import subprocess
import sys
import threading
import warnings
import weakref
from pathlib import Path

import numpy as np
import pytest
from blas_model import MODEL, read_shapes
from hypothesis import given, settings
from hypothesis import strategies as st
from stream_check import held, in_process
from treadle import _cudalib, cuda
from treadle.cuda import blas as module
from treadle.cuda._order import Order
from treadle.cuda.blas import Blas, axpy, binding, dot, gemm, gemv
from treadle.cuda.blas._calls import table
from treadle.cuda.blas.binding import cuBlas
from treadle.errors import KernelCheckError, PerformanceWarning

ROOT = Path(__file__).parents[2]
ON_EMU = cuda.is_emulated()
if not ON_EMU:
    try:
        module.version()
    except cuda.cudadrv.error.CudaSupportError as error:
        pytest.skip(str(error), allow_module_level=True)
NAMES = [row[0] for row in table()]
ROWS = dict(zip(NAMES, table()))
DTYPES = {name: sorted({v[2] for v in row[3]}) for name, row in ROWS.items()}
ARRAYS = ("matrix", "vector", "packed")
BY_ARRAYS = ("nrm2", "dot", "dotc", "dotu", "scal", "axpy", "amax", "amin", "asum", "rot", "rotm")
LETTERS = {"uplo": "UL", "side": "LR", "diag": "UN", "trans": "NTC", "transa": "NTC", "transb": "NTC"}


def numbers(rng, shape, dtype):
    """Small integers, so that sums are exact in any order."""
    x = rng.integers(-4, 5, shape) + 1j * rng.integers(-4, 5, shape)
    return (x if np.dtype(dtype).kind == "c" else x.real).astype(dtype)


def tolerance(dtype):
    return 2e-4 if np.dtype(dtype).name in ("float32", "complex64") else 1e-10


class Operand:
    """An array of some layout, all of whose memory is looked at: ``base`` with ``view(base)``."""

    def __init__(self, draw, rng, shape, dtype, kind, layouts):
        self.kind = kind
        if kind == "matrix":
            rows, columns = shape
            self.way = draw(st.sampled_from(layouts), label=kind)
            down, right, before, across = (
                (draw(st.integers(0, 2)) for _ in range(4)) if self.way != "tight" else (0,) * 4
            )
            self.slices = (slice(before, before + rows), slice(across, across + columns))
            size = (rows + before + down, columns + across + right)
            order = "C" if self.way == "rows" else "F"
            self.base = np.asarray(numbers(rng, size, dtype), order=order)
        else:
            n = shape[0]
            step = draw(st.sampled_from([1, 1, 2, 3, -1, -2])) if kind == "vector" else 1
            first = draw(st.integers(0, 2))
            self.base = numbers(rng, first + max(n, 1) * abs(step) + 1, dtype)
            last = first + (n - 1) * abs(step)
            stop = last - n * abs(step)
            self.slices = (
                slice(first, first + n * abs(step), abs(step))
                if step > 0 or n == 0
                else slice(last, stop if stop >= 0 else None, step)
            )

    def view(self, base):
        v = base[self.slices]
        return v

    def make_solvable(self):
        """Large items on the diagonal, wherever it lies."""
        self.base[np.abs(self.base) < 1] = 1
        self.base /= 8 * max(self.base.shape)


@st.composite
def calls(draw, name, layouts=("tight", "gaps", "gaps", "rows")):
    """A call of a routine: its words with arrays as operands, a dtype."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES[name]), label="dtype"))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    words = {}
    complex_ = dtype.kind == "c"
    for word, kind, use, taken in ROWS[name][2]:
        if kind == "size" and taken:
            words[word] = draw(st.integers(0, 5), label=word)
        elif word in LETTERS:
            letters = LETTERS[word]
            if complex_ and name == "herk" and word == "trans":
                letters = "NC"
            if complex_ and name == "syrk" and word == "trans":
                letters = "NT"
            words[word] = draw(st.sampled_from(letters), label=word)
        elif kind in ("number", "real"):
            x = draw(st.sampled_from([0, 1, -2, 3.0, 0.5]), label=word)
            if word == "alpha" and name in ("her", "hpr", "herk", "her2", "hpr2"):
                x = x or 1  # else it depends on the library what the diagonal becomes
            if kind == "number" and complex_ and draw(st.booleans()):
                x = x + 2j
            words[word] = x
        elif kind == "five":
            words[word] = np.array([draw(st.sampled_from([-2, -1, 0, 1])), *rng.integers(-3, 4, 4)], dtype)
    n = draw(st.integers(0 if name not in ("amax", "amin") else 1, 6)) if name in BY_ARRAYS else 0
    shapes = {"x": (n,), "y": (n,)} if name in BY_ARRAYS else read_shapes(name, words)
    full = {}
    for word, kind, use, taken in ROWS[name][2]:
        if not taken:
            continue
        if kind not in ARRAYS:
            full[word] = words[word]
            continue
        full[word] = Operand(draw, rng, shapes[word], dtype, kind, layouts)
        if name in ("her", "her2", "herk", "hpr", "hpr2") and use == 1:
            full[word].base.imag[...] = 0
        if name in ("trsv", "tbsv", "tpsv", "trsm") and word in ("A", "AP"):
            full[word].make_solvable()
    return name, dtype, full


def solvable(name, full):
    """With items on the diagonals that are larger than all others."""
    a = full.get("A", full.get("AP"))
    n = full["n"] if full.get("side") != "L" else full["m"]
    v = a.view(a.base)
    if name == "tpsv":
        at = (
            np.cumsum(np.arange(1, n + 1)) - 1
            if full["uplo"] == "U"
            else np.cumsum([0, *range(n, 1, -1)])[:n]
        )
        v[at] += 2
    elif name == "tbsv":
        v[full["k"] if full["uplo"] == "U" else 0] += 2
    else:
        d = np.arange(n)
        v[d, d] += 2


def expected(name, full):
    """What the model gives, and the memory of all arrays behind it."""
    bases = {w: o.base.copy(order="K") for w, o in full.items() if isinstance(o, Operand)}
    args = [full[w].view(bases[w]) if w in bases else v for w, v in full.items()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MODEL[name](*args), bases


def compare(got, want, dtype):
    np.testing.assert_allclose(got, want, rtol=tolerance(dtype), atol=tolerance(dtype))


@pytest.mark.parametrize("name", [n for n in NAMES if n in MODEL])
@pytest.mark.parametrize("where", ["host", "device", "stream"])
@given(data=st.data())
@settings(deadline=None, max_examples=12)
def test_methods_are_numpys(name, where, data):
    name, dtype, full = data.draw(calls(name))
    if name in ("trsv", "tbsv", "tpsv", "trsm"):
        solvable(name, full)
    want, bases = expected(name, full)
    stream = cuda.stream() if where == "stream" else 0
    blas = Blas(stream)
    there = {}
    for word, o in full.items():
        if isinstance(o, Operand):
            there[word] = o.base if where == "host" else cuda.to_device(o.base, stream=stream)
    args = [full[w].view(there[w]) if w in there else v for w, v in full.items()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)
        got = getattr(blas, name)(*args)
    if where == "stream":
        stream.synchronize()
    for word, base in there.items():
        have = base if where == "host" else base.copy_to_host()
        compare(have, bases[word], dtype)
    if want is None:
        assert got is None
    else:
        compare(got, want, dtype)


def flat(full, word, kind, base):
    """An operand as bindings have it: memory from its lowest item on, and how far items lie apart."""
    o = full[word]
    v = o.view(base)
    item = base.dtype.itemsize
    if kind == "packed":
        return [v]
    if kind == "matrix":
        return [base[o.slices[0].start :, o.slices[1].start :], max(base.shape[0], 1)]
    step = v.strides[0] // item if v.size > 1 else 1
    if step < 0:
        return [v[::-1], step]
    return [v, step]


@pytest.mark.parametrize("name", [n for n in NAMES if n in MODEL])
@given(data=st.data())
@settings(deadline=None, max_examples=12)
def test_bindings_are_numpys(name, data):
    name, dtype, full = data.draw(calls(name, ("tight", "gaps")))
    if name in ("trsv", "tbsv", "tpsv", "trsm"):
        solvable(name, full)
    kinds = {word: kind for word, kind, _, _ in ROWS[name][2]}
    want, bases = expected(name, full)
    variants = [v for v in ROWS[name][3] if v[2] == dtype.name]
    real = not any(isinstance(v, complex) for w, v in full.items() if kinds[w] == "number")
    variant = variants[-1] if variants[-1][3] and real else variants[0]
    there = {w: cuda.to_device(o.base) for w, o in full.items() if isinstance(o, Operand)}
    args = []
    for word, value in full.items():
        args += flat(full, word, kinds[word], there[word]) if word in there else [value]
    vectors = [w for w in full if kinds[w] == "vector"]
    if name in BY_ARRAYS:
        n = full[vectors[0]].view(full[vectors[0]].base).size
        args.insert(0, n)
        if name in ("nrm2", "asum", "amax", "amin", "scal") and args[-1] < 0:
            with pytest.raises(ValueError, match=f"{variant[0]}'s incx is -"):
                getattr(cuBlas(), variant[0])(*args)
            return
    got = getattr(cuBlas(), variant[0])(*args)
    for word, base in there.items():
        compare(base.copy_to_host(), bases[word], dtype)
    if want is not None:
        compare(got - (name in ("amax", "amin")), want, dtype)


def test_rotations_of_numbers():
    blas = Blas()
    for dtype in (np.float32, np.float64):
        a, b = dtype(3), dtype(-4)
        r, z, c, s = blas.rotg(a, b)
        np.testing.assert_allclose([c * a + s * b, c * b - s * a], [r, 0], atol=1e-6)
        np.testing.assert_allclose(c * c + s * s, 1, rtol=1e-6)
        x, y = np.array([2], dtype), np.array([5], dtype)
        d1, d2 = dtype(0.5), dtype(3)
        param = blas.rotmg(d1, d2, x[0], y[0])
        assert param.dtype == dtype and param.shape == (5,)
        blas.rotm(x, y, param)
        assert abs(y[0]) < 1e-5
    for dtype in (np.complex64, np.complex128):
        a, b = dtype(3 + 1j), dtype(-4 + 2j)
        r, _, c, s = blas.rotg(a, b)
        np.testing.assert_allclose([c * a + s * b, c * b - np.conj(s) * a], [r, 0], atol=1e-5)
    assert isinstance(blas.rotg(3, 4)[0], float)
    with pytest.raises(TypeError, match="rotmg is not of numbers of complex128"):
        blas.rotmg(1j, 1, 1, 1)


def test_an_item_that_is_not_read_may_be_nan():
    a = np.asfortranarray([[1.0, np.nan], [2.0, 3.0]])
    x = np.array([1.0, 1.0])
    Blas().trmv("L", "N", "N", 2, a, x)
    assert (x == [1, 5]).all()
    y = np.full(2, np.nan)
    Blas().gemv("N", 2, 2, 1.0, np.asfortranarray(np.eye(2)), x, 0.0, y)
    assert (y == [1, 5]).all()
    c = np.full((2, 2), np.nan, order="F")
    Blas().geam("N", "T", 2, 2, 0.0, c.copy(order="F"), 2.0, np.asfortranarray([[1.0, 2], [3, 4]]), c)
    assert (c == [[2, 6], [4, 8]]).all()


def test_in_place():
    a = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    d = cuda.to_device(a)
    blas = Blas()
    blas.geam("N", "N", 2, 3, 2.0, d, 1.0, d, d)
    assert (d.copy_to_host() == 3 * a).all()
    blas.dgmm("R", 2, 3, d, cuda.to_device(np.array([1.0, 2, 3])), d)
    assert (d.copy_to_host() == 3 * a * [1, 2, 3]).all()
    t = cuda.to_device(np.asfortranarray([[1.0, 2.0], [0.0, 1.0]]))
    blas.trmm("L", "U", "N", "N", 2, 3, 1.0, t, d, d)
    assert (d.copy_to_host() == [[1, 2], [0, 1]] @ (3 * a * [1, 2, 3])).all()
    x = cuda.to_device(np.arange(4.0))
    blas.axpy(1.0, x, x)
    assert (x.copy_to_host() == 2 * np.arange(4.0)).all() and blas.dot(x, x) == 56


def test_parts_of_one_array_that_do_not_meet():
    m = np.zeros((4, 4), order="F")
    m[:2] = 1
    d = cuda.to_device(m)
    Blas().gemm("N", "N", 2, 2, 2, 1.0, d[:2, :2], d[:2, 2:], 0.0, d[2:, 1:3])
    assert (d.copy_to_host()[2:, 1:3] == 2).all()
    x = cuda.to_device(np.arange(6.0))
    Blas().axpy(1.0, x[::2], x[1::2])
    assert (x.copy_to_host() == [0, 1, 2, 5, 4, 9]).all()


# --- functions ---


@pytest.mark.parametrize("there", [False, True])
def test_functions(there):
    put = cuda.to_device if there else lambda a: a
    host = (lambda a: a.copy_to_host()) if there else lambda a: a
    rng = np.random.default_rng(0)
    a, b = (np.asfortranarray(numbers(rng, s, "f8")) for s in ((3, 4), (4, 2)))
    x, y = numbers(rng, 4, "f8"), numbers(rng, 3, "f8")
    with pytest.warns(PerformanceWarning, match=r"y \(float32\) is converted to float64"):
        assert dot(put(x), put(x.astype("f4"))) == x @ x
    assert dot(put(x.astype("f4")), put(x.astype("f4"))).dtype == np.float32
    dy = put(y.copy())
    assert gemv("n", 2, put(a), put(x), 3, dy) is dy and (host(dy) == 2 * a @ x + 3 * y).all()
    assert (gemv("T", 1.0, put(a), put(y)) == a.T @ y).all()
    dx = put(x.copy())
    assert axpy(2, put(x), dx) is dx and (host(dx) == 3 * x).all()
    with pytest.warns(PerformanceWarning, match="is converted to complex128"):
        wide = axpy(2j, put(x), put(x))
    assert wide.dtype == complex and (host(wide) == (1 + 2j) * x).all()
    c = gemm("N", "N", 1.0, put(a), put(b))
    assert c.flags.f_contiguous and (c == a @ b).all()
    dc = put(np.asfortranarray(np.ones((4, 4))))
    assert gemm("T", "N", 1.0, put(a), put(a), 1, dc) is dc and (host(dc) == a.T @ a + 1).all()
    s = cuda.stream()
    assert (gemm("N", "T", 1.0, put(a), put(a), stream=s) == a @ a.T).all()
    with pytest.warns(PerformanceWarning, match="gemm's A does not lie in columns") as said:
        assert (gemm("N", "N", 1.0, put(np.ascontiguousarray(a)), put(b)) == a @ b).all()
    assert len(said) == 1


def test_functions_refuse():
    x, a = np.ones(3), np.ones((3, 3), order="F")
    for why, kind, call in (
        ("x has unsupported type int64", TypeError, lambda: dot(x.astype(int), x)),
        ("alpha is not a numeric type", ValueError, lambda: axpy("1", x, x)),
        ("A is not a two-dimensional array", ValueError, lambda: gemv("N", 1, x, x)),
        ("x is not a one-dimensional array", ValueError, lambda: gemv("N", 1, a, a)),
        ("trans has invalid value 'Q'", ValueError, lambda: gemv("Q", 1, a, x)),
        ("transb has invalid value None", ValueError, lambda: gemm("N", None, 1, a, a)),
        ("arrays A and x have incompatible shapes", ValueError, lambda: gemv("N", 1, a, x[:2])),
        ("arrays A and y have incompatible shapes", ValueError, lambda: gemv("N", 1, a, x, 0, x[:2])),
        ("arrays A and B have incompatible shapes", ValueError, lambda: gemm("N", "N", 1, a, a[:2])),
        ("arrays B and C have incompatible shapes", ValueError, lambda: gemm("N", "N", 1, a, a, 0, a[:, :2])),
        ("y is an array of the device or of NumPy's, not list", TypeError, lambda: dot(x, [1.0])),
        ("a stream is made by cuda.stream", TypeError, lambda: dot(x, x, stream=3)),
    ):
        with pytest.raises(kind, match=why):
            call()


# --- what is refused ---

F = np.float64


def square(n=3, dtype=F):
    return np.asfortranarray(np.ones((n, n), dtype))


REFUSED = {
    "letters": ("gemm's transa is 'N', 'T' or 'C', not 'Q'", ValueError, lambda b: b.gemm("Q", "N", 3, 3, 3, 1, square(), square(), 0, square())),
    "a letter of two": ("trmv's uplo is 'U' or 'L', not 'UL'", ValueError, lambda b: b.trmv("UL", "N", "N", 3, square(), np.ones(3))),
    "a side": ("symm's side is 'L' or 'R', not 0", ValueError, lambda b: b.symm(0, "U", 3, 3, 1, square(), square(), 0, square())),
    "a diagonal": ("trmv's diag is 'U' .*, not 'X'", ValueError, lambda b: b.trmv("U", "N", "X", 3, square(), np.ones(3))),
    "an operation that herk has not": ("herk's trans is 'N' or 'C', not 'T'", ValueError, lambda b: b.herk("U", "T", 3, 3, 1, square(3, "c16"), 0, square(3, "c16"))),
    "an operation that syrk has not": ("syrk's trans is 'N' or 'T' of complex numbers, not 'C'", ValueError, lambda b: b.syrk("U", "C", 3, 3, 1, square(3, "c16"), 0, square(3, "c16"))),
    "a negative size": ("gemv's m is -1, and no size", ValueError, lambda b: b.gemv("N", -1, 3, 1, square(), np.ones(3), 0, np.ones(3))),
    "a size that is none": ("gemv's m is an integer, not float", TypeError, lambda b: b.gemv("N", 3.0, 3, 1, square(), np.ones(3), 0, np.ones(3))),
    "a huge size": ("gemv's m is 4611686018427387904, and no size", ValueError, lambda b: b.gemv("N", 2**62, 3, 1, square(), np.ones(3), 0, np.ones(3))),
    "a size that 64 bits do not hold": ("gemv's m is 9223372036854775808, more than 64 bits hold", ValueError, lambda b: b.gemv("N", 2**63, 3, 1, square(), np.ones(3), 0, np.ones(3))),
    "few rows": ("gemv uses 4 x 3 items of A, which has 3 x 3", ValueError, lambda b: b.gemv("N", 4, 3, 1, square(), np.ones(3), 0, np.ones(4))),
    "a short vector": ("gemv uses 3 items of y, which has 2", ValueError, lambda b: b.gemv("N", 3, 3, 1, square(), np.ones(3), 0, np.ones(2))),
    "a short packed one": ("spmv uses 6 items of AP, which has 5", ValueError, lambda b: b.spmv("U", 3, 1, np.ones(5), np.ones(3), 0, np.ones(3))),
    "other lengths": ("Expecting all arrays to have the same shape: dot's y has 4 items, and not 3", ValueError, lambda b: b.dot(np.ones(3), np.ones(4))),
    "two axes": ("Expecting 1 dimension array: nrm2's x has 2", ValueError, lambda b: b.nrm2(square())),
    "one axis": ("Expecting 2 dimension array: gemv's A has 1", ValueError, lambda b: b.gemv("N", 3, 1, 1, np.ones(3), np.ones(1), 0, np.ones(3))),
    "other dtypes": ("All arrays must have the same dtype: dot's y is of float32, and it takes float64", TypeError, lambda b: b.dot(np.ones(3), np.ones(3, "f4"))),
    "a dtype that it has not": ("ger is not of arrays of complex128", TypeError, lambda b: b.ger(3, 3, 1, np.ones(3, "c16"), np.ones(3, "c16"), square(3, "c16"))),
    "integers": ("nrm2 is not of arrays of int64", TypeError, lambda b: b.nrm2(np.ones(3, int))),
    "strided integers": ("symv is not of arrays of int64", TypeError, lambda b: b.symv("U", 2, 1, np.ones((2, 2), int), np.ones(2), 0, np.ones(2))),
    "no array": ("nrm2's x is an array of the device or of NumPy's, not list", TypeError, lambda b: b.nrm2([1.0])),
    "no number": ("scal's alpha is a number, not str", TypeError, lambda b: b.scal("2", np.ones(3))),
    "a complex number": ("axpy's alpha is a real number, not 1j", TypeError, lambda b: b.axpy(1j, np.ones(3), np.ones(3))),
    "a complex number for her": ("her's alpha is a real number", TypeError, lambda b: b.her("U", 3, 1j, np.ones(3, "c16"), square(3, "c16"))),
    "four numbers": ("rotm's param is five numbers, not 4", ValueError, lambda b: b.rotm(np.ones(3), np.ones(3), np.ones(4))),
    "what is read-only": ("scal writes to x, which is read-only", ValueError, lambda b: b.scal(2, np.broadcast_to(1.0, 3))),
    "itself": ("gemm writes to C, which shares memory with A", ValueError, lambda b: b.gemm("N", "N", 3, 3, 3, 1, a := square(), square(), 0, a)),
    "a part": ("trmv writes to x, which shares memory with A", ValueError, lambda b: b.trmv("U", "N", "N", 3, a := square(), a[:, 1])),
    "itself, transposed": ("geam writes to C, which shares memory with A", ValueError, lambda b: b.geam("T", "N", 3, 3, 1, a := square(), 0, square(), a)),
    "itself, one on": ("axpy writes to y, which shares memory with x", ValueError, lambda b: b.axpy(1, (a := np.ones(5))[:4], a[1:])),
    "too few arguments": ("missing 1 required positional argument: 'y'", TypeError, lambda b: b.dot(np.ones(3))),
    "too many": ("takes 3 positional arguments but 4 were given", TypeError, lambda b: b.dot(np.ones(3), np.ones(3), 1)),
}  # fmt: skip


@pytest.mark.parametrize("why", REFUSED)
@pytest.mark.parametrize("on_stream", [False, True])
def test_what_is_refused(why, on_stream):
    message, kind, call = REFUSED[why]
    if not ON_EMU and why in ("itself", "a part", "itself, transposed", "itself, one on"):
        pytest.skip("there arrays of the host are copies, which do not meet")
    with pytest.raises(kind, match=message):
        call(Blas(cuda.stream() if on_stream else 0))


X = {n: np.ones(n) for n in (3, 9)}
RAW = {
    "a short vector": ("Daxpy uses 5 items of x, which has 3", lambda b, d: b.Daxpy(3, 1.0, d[3], 2, d[9], 1)),
    "a short matrix": ("Dgemv uses 9 items of A, which has 3", lambda b, d: b.Dgemv("N", 3, 3, 1.0, d[3], 3, d[9], 1, 0.0, d[9], 1)),
    "a leading dimension": ("Dgemv's lda is 2, less than the 3 rows of A", lambda b, d: b.Dgemv("N", 3, 3, 1.0, d[9], 2, d[3], 1, 0.0, d[9], 1)),
    "a step of 0": ("Daxpy's incx is 0", lambda b, d: b.Daxpy(3, 1.0, d[3], 0, d[9], 1)),
    "a reduction backwards": ("Dnrm2's incx is -1", lambda b, d: b.Dnrm2(3, d[3], -1)),
    "a huge packed one": ("Dtpmv uses .* items of AP, which has 9", lambda b, d: b.Dtpmv("U", "N", "N", 2**40 - 1, d[9], d[3], 1)),
    "huge": ("Dnrm2 uses .* items of x, which has 3", lambda b, d: b.Dnrm2(2**40, d[3], 2**40)),
    "a huge step": ("Dnrm2's incx is 4611686018427387904", lambda b, d: b.Dnrm2(3, d[3], 2**62)),
    "another dtype": ("All arrays must have the same dtype: Snrm2's x is of float64", lambda b, d: b.Snrm2(3, d[3], 1)),
    "few arguments": ("Dnrm2 takes 3 arguments, not 2", lambda b, d: b.Dnrm2(3, d[3])),
    "no array": ("Dnrm2's x is no array of the device", lambda b, d: b.Dnrm2(3, [1.0], 1)),
    "memory that meets": ("Dgemv writes to y, which shares memory with x", lambda b, d: b.Dgemv("N", 3, 3, 1.0, d[9], 3, d[3], 1, 0.0, d[3], 1)),
}  # fmt: skip


@pytest.mark.parametrize("why", RAW)
def test_what_bindings_refuse(why):
    message, call = RAW[why]
    there = {n: cuda.to_device(x) for n, x in X.items()}
    with pytest.raises((ValueError, TypeError), match=message):
        call(cuBlas(), there)


def test_an_item_more_is_one_too_many():
    """At the last item and one past it: every size of every routine that has sizes."""
    blas = Blas()
    rng = np.random.default_rng(0)
    tried = 0
    for name in NAMES:
        words = [w for w in ROWS[name][2] if w[3]]
        if name in BY_ARRAYS or not any(kind in ARRAYS for _, kind, _, _ in words):
            continue
        dtype = np.dtype(DTYPES[name][-1])
        sizes = [w for w, kind, _, _ in words if kind == "size"]
        given = {w: 3 for w in sizes} | {w: LETTERS[w][0] for w, *_ in words if w in LETTERS}
        shapes = read_shapes(name, given)
        for word, kind, _, _ in words:
            if kind in ARRAYS:
                given[word] = np.asfortranarray(numbers(rng, shapes[word], dtype) + 1)
            elif kind in ("number", "real"):
                given[word] = 1.0
        full = {w: given[w] for w, *_ in words}
        getattr(blas, name)(*full.values())
        for size in sizes:
            if size in ("kl", "ku") or name in ("tbmv", "tbsv", "sbmv", "hbmv"):
                continue
            with pytest.raises(ValueError, match=rf"^{name} uses .* items of \w+, which has"):
                getattr(blas, name)(*{**full, size: 4}.values())
            tried += 1
        for word, kind, _, _ in words:
            if kind in ARRAYS:
                less = {**full, word: full[word][:-1]}
                with pytest.raises(ValueError, match=rf"^{name} uses .* items of {word}, which has"):
                    getattr(blas, name)(*less.values())
                tried += 1
    assert tried > 120


# --- streams, threads, life ---


@pytest.mark.parametrize("routine", ["axpy", "geam"])
def test_a_call_comes_in_the_order_of_its_stream(routine):
    x = np.asfortranarray(np.arange(12.0).reshape(4, 3))
    stream, d, o = cuda.stream(), cuda.to_device(np.zeros_like(x)), cuda.to_device(np.zeros_like(x))
    blas = Blas(stream)
    call = {
        "axpy": lambda: blas.axpy(2.0, d.ravel("F"), o.ravel("F")),
        "geam": lambda: blas.geam("N", "N", 4, 3, 2.0, d, 0.0, d, o),
    }[routine]
    call()  # a library may load code at its first use, which waits for the device
    stream.synchronize()
    mine = cuda.pinned_array(x.shape, x.dtype, order="F")
    mine[...] = x
    with held(stream):
        d.copy_to_device(mine, stream)
        call()
    stream.synchronize()
    assert (o.copy_to_host() == 2 * x).all()


def test_numbers_are_those_of_the_call():
    stream, x, y = cuda.stream(), cuda.to_device(np.ones(4)), cuda.to_device(np.zeros(4))
    alpha = np.array(3.0)
    with held(stream):
        Blas(stream).axpy(alpha, x, y)
        alpha[...] = 100
    stream.synchronize()
    assert (y.copy_to_host() == 3).all()


def test_what_a_call_uses_lives_as_long():
    stream, y = cuda.stream(), cuda.to_device(np.ones(64))
    x = cuda.to_device(np.arange(64.0))
    Blas(stream).axpy(0.0, x, y)
    stream.synchronize()
    gone = weakref.ref(x)
    with held(stream):
        Blas(stream).axpy(2.0, x, y)
        del x
        gc.collect()
        assert gone() is None
        others = [cuda.to_device(np.zeros(64), stream=cuda.stream()) for _ in range(3)]
    stream.synchronize()
    assert (y.copy_to_host() == 1 + 2 * np.arange(64)).all() and len(others) == 3


def test_arrays_of_the_host_on_a_stream_are_done():
    stream, x = cuda.stream(), np.ones(1000)
    Blas(stream).scal(2.0, x)
    assert (x == 2).all()
    a = np.ones((30, 40))
    with pytest.warns(PerformanceWarning, match="ger's A does not lie in columns"):
        Blas(stream).ger(30, 40, 1.0, x[:30], x[:40], a)
    assert (a == 5).all()


def test_threads_have_their_own():
    failed = []

    def work(k):
        try:
            x = cuda.to_device(np.full(100, float(k)))
            blas = Blas(cuda.stream())
            for _ in range(20):
                assert blas.dot(x, x) == 100 * k * k and dot(x, x) == 100 * k * k
        except BaseException as error:  # noqa: BLE001: told below
            failed.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed, failed


def test_attributes():
    s = cuda.stream()
    for blas in (Blas(s), cuBlas(s), Blas(stream=s)):
        assert blas.stream is s
        blas.stream = None
        assert blas.stream == 0
        with pytest.raises(TypeError, match="a stream is made by"):
            blas.stream = 5
        assert (blas.pointer_mode, blas.atomics_mode) == (0, 0)
        blas.pointer_mode, blas.atomics_mode = 0, 1
        assert blas.atomics_mode == binding.CUBLAS_ATOMICS_ALLOWED
        with pytest.raises(ValueError, match="pointer mode 0, not 1"):
            blas.pointer_mode = binding.CUBLAS_POINTER_MODE_DEVICE
        with pytest.raises(ValueError, match="the atomics mode is 0 or 1, not 2"):
            blas.atomics_mode = 2
    assert cuBlas().version == module.version() == (0 if ON_EMU else module.version())
    with pytest.raises(AttributeError):
        cuBlas().Dnothing


def test_there_are_47_routines():
    text = (ROOT / "src" / "libs" / "blas.def").read_text()
    assert [*NAMES] == re.findall(r"^R\((\w+),", text, re.M) and len(NAMES) == 47
    assert set(MODEL) | {"rotg", "rotmg"} == set(NAMES)
    for k, name in enumerate(NAMES):
        method = getattr(Blas, name)
        taken = [w for w, _, _, taken in ROWS[name][2] if taken]
        assert [*inspect.signature(method).parameters] == ["self", *taken]
        assert f"self._call({k}, " in inspect.getsource(method)
    functions = [v[0] for row in table() for v in row[3] if not v[4]]
    assert len(functions) == len({*functions}) and all(callable(getattr(cuBlas, f)) for f in functions)


def test_methods_and_docs_are_those_of_the_table():
    r = subprocess.run([sys.executable, ROOT / "tools" / "gen_blas.py", "--check"], check=False)
    assert not r.returncode, "python3 tools/gen_blas.py writes them"


def test_memory_that_was_freed():
    d = cuda.to_device(np.ones(3))
    base = d._mem
    while isinstance(base, (np.ndarray, memoryview)):
        base = base.obj if isinstance(base, memoryview) else base.base
    base.free()
    with pytest.raises(ValueError, match="was freed"):
        Blas().nrm2(d)
    with pytest.raises(ValueError, match="was freed"):
        cuBlas().Dnrm2(3, d, 1)


def test_complex_vectors_that_go_backwards():
    """Of which OpenBLAS 0.3.31 takes the wrong items in syr2."""
    x, y = np.array([1, 2j, 3]), np.array([4j, 5, 6])
    for u, v in ((x[::-1], y), (x, y[::-1]), (x[::-1], y[::-1])):
        a = np.zeros((3, 3), complex, order="F")
        Blas().syr2("L", 3, 1.0, u, v, a)
        assert (a == np.tril(np.outer(u, v) + np.outer(v, u))).all()


def test_a_packed_triangle_may_be_of_two_axes():
    ap, x, y = np.arange(9.0).reshape(3, 3), np.ones(3), np.ones(3)
    for where in (lambda a: a, cuda.to_device):
        Blas().spmv("U", 3, 1.0, where(ap), x, 0.0, y)
        assert (y == [0 + 1 + 3, 1 + 2 + 4, 3 + 4 + 5]).all()
    with pytest.raises(ValueError, match="spmv uses 10 items of AP, which has 9"):
        Blas().spmv("U", 4, 1.0, ap, np.ones(4), 0.0, np.ones(4))
    with pytest.raises(ValueError, match="Expecting 1 dimension array: spmv's AP has 2"):
        Blas().spmv("U", 2, 1.0, ap[:, ::2], x, 0.0, y)


def test_the_first_of_the_largest():
    blas = Blas()
    for dtype in "fdFD":
        x = np.array([1, -3, 3, 0, 0], dtype)
        assert (blas.amax(x), blas.amin(x), blas.amax(x[::-1]), blas.amin(x[::-1])) == (1, 3, 2, 0)
    with pytest.raises(ValueError, match="amin of an array without items"):
        blas.amin(np.empty(0))
    assert cuBlas().Idamax(0, cuda.to_device(np.ones(1)), 1) == 0


@pytest.mark.filterwarnings("error")
def test_where_m_or_n_is_0_nothing_is_done():
    y = np.full(3, 7.0)
    Blas().gemv("N", 3, 0, 1.0, np.empty((3, 0), order="F"), np.empty(0), 0.0, y)
    assert (y == 7).all()
    c = np.full((2, 2), 7.0, order="F")
    Blas().gemm("N", "N", 2, 2, 0, 1.0, np.empty((2, 0), order="F"), np.empty((0, 2), order="F"), 2.0, c)
    assert (c == 14).all()
    assert dot(np.empty(0), np.empty(0)) == 0 and Blas().nrm2(np.empty(0)) == 0


@pytest.mark.emulated
@pytest.mark.parametrize("name", ["routine", "binding"])
def test_checks_know_what_is_read_and_written(name):
    order, s, t = Order(), cuda.stream(), cuda.stream()
    x, y, z = (cuda.to_device(np.ones(8)) for _ in range(3))
    order_of, before = module._calls._order, module._calls._order.active
    order_of.active = order
    try:
        if name == "routine":
            one, other = Blas(s), Blas(t)
            one.axpy(2.0, x, y)
            other.axpy(2.0, x, z)  # both read x
            with pytest.raises(
                KernelCheckError,
                match="axpy of line .* writes y, axpy of line .* reads x|axpy of line .* reads x, axpy of line .* writes y",
            ):
                other.axpy(1.0, y, z)
            order.everything()
            one.axpy(2.0, x[:4], y[4:])  # halves
            cuda.synchronize()
            one.scal(2.0, y[::2])
            other.scal(2.0, y[1::2])
        else:
            one, other = cuBlas(s), cuBlas(t)
            one.Dscal(4, 2.0, y, 2)
            other.Dscal(4, 2.0, y[1:], 2)
            with pytest.raises(KernelCheckError, match="Dscal"):
                other.Dscal(1, 2.0, y, 1)
        Blas().axpy(2.0, x, y)  # comes after all
        order.tell()
    finally:
        order_of.active = before
        cuda.synchronize()


@pytest.mark.emulated
def test_in_a_child():
    a = np.asfortranarray(np.random.default_rng(0).random((200, 200)))
    want = gemm("N", "N", 1.0, a, a)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if np.allclose(gemm("N", "N", 1.0, a, a), want) else 1)
    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.emulated
def test_without_a_blas():
    r = in_process(
        """
        import numpy as np
        from treadle.cuda.blas import Blas
        from treadle.cuda.cudadrv.error import CudaSupportError
        try:
            Blas().nrm2(np.ones(3))
        except CudaSupportError as error:
            assert str(error) == "nrm2: the BLAS that NumPy uses is not found, or has no such routine", error
        a = np.ones((2, 2), order="F")
        Blas().geam("N", "T", 2, 2, 1.0, a, 1.0, a.copy(order="F"), a)
        assert (a == 2).all() and Blas().amin(np.array([3.0, -1.0, 1.0])) == 1
        """,
        TREADLE_BLAS="none",
    )
    assert not r.returncode, r.stderr


def test_import_opens_nothing():
    r = in_process("""
        import sys
        import treadle.cuda
        assert "treadle.cuda.blas" not in sys.modules
        import treadle.cuda.blas, treadle.cuda.blas.binding
        assert not treadle.cuda._libs.opened
        assert "cublas" not in open("/proc/self/maps").read()
    """)
    assert not r.returncode, r.stderr


def test_another_package_is_not_asked_for_more_than_its_array():
    class Other:
        def __init__(self, a):
            self.__cuda_array_interface__ = {**a.__cuda_array_interface__}

    d = cuda.to_device(np.arange(3.0))
    assert Blas().asum(Other(d)) == 3


@pytest.mark.parametrize("call", ["method", "gemm", "gemv", "mixed", "old"])
def test_warnings_name_the_callers_line(call):
    """Of a function of the module they named a line of Treadle's."""
    a, x = np.arange(6.0).reshape(2, 3), np.ones(3)
    old = _cudalib.names_of("pyculib.blas")["Blas"]()
    calls = {
        "method": lambda: Blas().gemv("N", 2, 3, 1, a, x, 0, np.zeros(2)),
        "gemm": lambda: gemm("N", "T", 1, a, a),
        "gemv": lambda: gemv("N", 1, a, x),
        "mixed": lambda: gemv("N", 1, np.asfortranarray(a, np.float32), x),
        "old": lambda: old.gemv("N", 2, 3, 1, a[:, ::-1], x, 0, np.zeros(2)),
    }
    with pytest.warns(PerformanceWarning) as told:
        calls[call]()
    assert {w.filename for w in told} == {__file__}
