"""The cases of CUDA's libraries on the emulated device: Fourier transforms, beside SciPy's with one worker; BLAS's routines
and sorting, beside NumPy; a sparse matrix times a vector, beside SciPy's.

They are cases as those of `elementwise.py`, in the same table, with arrays of the host, which the emulated device takes as they are.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np
from elementwise import PARALLEL, Arguments, Maker, add

# Axes of one array, and how many there are: rows, one long row, an image.
FORMS: dict[str, tuple[tuple[int, ...], int]] = {
    "4,096 rows of 256": ((256,), 4096),
    "2^20": ((1 << 20,), 1),
    "1,024 x 1,024": ((1024, 1024), 1),
}
KINDS = ("C2C", "R2C")
PRECISIONS = {"f32": (np.float32, np.complex64), "f64": (np.float64, np.complex128)}


def arrays(kind: str, bits: str, form: str) -> Callable[[np.random.Generator, bool], Arguments]:
    """What is transformed, and an array for the result."""
    real, pair = PRECISIONS[bits]
    shape, batch = FORMS[form]

    def inputs(rng: np.random.Generator, full: bool) -> Arguments:
        lengths = (batch, *shape) if full else (2, *(12 for _ in shape))
        x = rng.normal(size=lengths).astype(real)
        if kind == "C2C":
            x = x + x[::-1] * pair(1j)
            return x, np.empty_like(x)
        return x, np.empty((*lengths[:-1], lengths[-1] // 2 + 1), pair)

    return inputs


def expected(x: Any, out: Any) -> Any:
    axes = tuple(range(1, x.ndim))
    wide = x.astype(np.result_type(x, np.float64))
    return (np.fft.fftn if x.dtype.kind == "c" else np.fft.rfftn)(wide, axes=axes)


def planned(threads: int) -> Maker:
    """Treadle's plan, made at the first call of each size, on so many threads."""

    def maker() -> Callable[..., Any]:
        os.environ.setdefault("TREADLE_CUDA", "emu")
        treadle = importlib.import_module("treadle")
        fft = importlib.import_module("treadle.cuda.fft")
        plans: dict[tuple[int, ...], Any] = {}

        def run(x: Any, out: Any) -> Any:
            treadle.set_num_threads(threads)
            if x.shape not in plans:
                plans[x.shape] = fft.FFTPlan(x.shape[1:], x.dtype, out.dtype, batch=len(x))
            return plans[x.shape].forward(x, out)

        return run

    return maker


def by_scipy() -> Callable[..., Any]:
    fft = importlib.import_module("scipy.fft")

    def run(x: Any, out: Any) -> Any:
        return (fft.fftn if x.dtype.kind == "c" else fft.rfftn)(x, axes=tuple(range(1, x.ndim)), workers=1)

    return run


def name_of(kind: str, bits: str, form: str) -> str:
    return f"FFT {kind} {bits}, {form}"


for kind in KINDS:
    for bits in PRECISIONS:
        for form in FORMS:
            add(
                name_of(kind, bits, form),
                inputs=arrays(kind, bits, form),
                expected=expected,
                variants={"treadle": planned(1), "scipy": by_scipy},
                rtol=1e-5 if bits == "f32" else 1e-12,
            )
IN_PARALLEL = []
for bits in PRECISIONS:
    for form in FORMS:
        if len(FORMS[form][0]) > 1 or FORMS[form][1] > 1:  # one row is one thread's
            IN_PARALLEL.append(f"two cores, {name_of('C2C', bits, form)}")
            add(
                IN_PARALLEL[-1],
                inputs=arrays("C2C", bits, form),
                expected=expected,
                variants={"treadle": planned(1), PARALLEL: planned(2)},
                rtol=1e-5 if bits == "f32" else 1e-12,
                wall=True,
            )


# --- sorting -----------------------------------------------------------------------------------------

CHOSEN = 100


def keys_and_room(rng: np.random.Generator, full: bool) -> Arguments:
    """Keys, their numbers, and room for a copy of both, which is sorted."""
    keys = rng.integers(0, 2**32, 10_000_000 if full else 1000, dtype=np.uint32)
    numbers = np.arange(keys.size, dtype=np.uint32)
    return keys, numbers, np.empty_like(keys), np.empty_like(numbers)


def sorter() -> tuple[Any, Any]:
    os.environ.setdefault("TREADLE_CUDA", "emu")
    treadle = importlib.import_module("treadle")
    sorting = importlib.import_module("treadle.cuda.sorting")
    return treadle, sorting.RadixSort(10_000_000, np.uint32)


def sorted_pairs() -> Callable[..., Any]:
    treadle, radix = sorter()

    def run(keys: Any, numbers: Any, sorted_keys: Any, places: Any) -> Any:
        treadle.set_num_threads(1)
        sorted_keys[:], places[:] = keys, numbers
        radix.sort(sorted_keys, places)
        return places

    return run


def chosen() -> Callable[..., Any]:
    treadle, radix = sorter()

    def run(keys: Any, numbers: Any, room: Any, places: Any) -> Any:
        treadle.set_num_threads(1)
        room[:] = keys
        radix.select(CHOSEN, room)
        return room[:CHOSEN]

    return run


def by_argsort() -> Callable[..., Any]:
    return lambda keys, numbers, room, places: np.argsort(keys, kind="stable")


def by_partition() -> Callable[..., Any]:
    return lambda keys, numbers, room, places: np.sort(np.partition(keys, CHOSEN)[:CHOSEN])


SORTS = {
    "radix sort of pairs": (sorted_pairs, by_argsort, 1 / 4, 1 / 9),
    "100 of 10^7": (chosen, by_partition, 1 / 2.7, 1 / 4),
}
for name, (maker, by_numpy, _, _) in SORTS.items():
    add(
        name,
        inputs=keys_and_room,
        expected=by_numpy(),
        variants={"treadle": maker, "numpy": by_numpy},
        rtol=0,
    )


# BLAS's routines beside NumPy, which calls the same library: items of a vector, rows of a square matrix.
PRODUCTS: dict[str, tuple[int, ...]] = {"dot": (64, 10000), "gemv": (64, 500), "gemm": (64, 500)}
A_CALL = "BLAS, a call"


def operands(routine: str, n: int) -> Callable[[np.random.Generator, bool], Arguments]:
    """What is multiplied, and an array for the result where that is one; matrices lie in columns."""

    def inputs(rng: np.random.Generator, full: bool) -> Arguments:
        size = n if full else 7
        x = rng.random(size)
        a, b = (np.asfortranarray(rng.random((size, size))) for _ in range(2))
        if routine == "dot":
            return x, rng.random(size)
        return (a, x, np.empty_like(x)) if routine == "gemv" else (a, b, np.empty_like(b))

    return inputs


def by_blas(routine: str) -> Maker:
    """Treadle's method."""

    def maker() -> Callable[..., Any]:
        os.environ.setdefault("TREADLE_CUDA", "emu")
        blas = importlib.import_module("treadle.cuda.blas").Blas()

        def gemv(a: Any, x: Any, out: Any) -> Any:
            blas.gemv("N", len(x), len(x), 1.0, a, x, 0.0, out)
            return out

        def gemm(a: Any, b: Any, out: Any) -> Any:
            n = len(b)
            blas.gemm("N", "N", n, n, n, 1.0, a, b, 0.0, out)
            return out

        def scal(x: Any) -> Any:
            blas.scal(1.0, x)
            return x

        return {"dot": blas.dot, "gemv": gemv, "gemm": gemm, "scal": scal}[routine]

    return maker


def by_numpy(routine: str) -> Maker:
    def product(a: Any, b: Any, out: Any) -> Any:
        return np.matmul(a, b, out)

    return lambda: np.dot if routine == "dot" else product


for routine, sizes in PRODUCTS.items():
    for size in sizes:
        add(
            f"BLAS {routine}, {size:,}",
            inputs=operands(routine, size),
            expected=lambda a, b, out=None: a @ b,
            variants={"treadle": by_blas(routine), "numpy": by_numpy(routine)},
            rtol=1e-12,
        )
add(
    A_CALL,
    inputs=lambda rng, full: (rng.random(1),),
    expected=lambda x: x,
    variants={"treadle": by_blas("scal")},
)


# --- a sparse matrix times a vector ---

MATRIX = "csrmv f64, 2 M entries"


def matrix(rng: np.random.Generator, full: bool) -> Arguments:
    """Entries in columns at random, some 20 to a row; the last array is for the result."""
    n, many = (100_000, 2_000_000) if full else (50, 400)
    rows = np.bincount(rng.integers(0, n, many), minlength=n)
    ptr = np.concatenate([[0], np.cumsum(rows)]).astype(np.int32)
    return rng.random(many), ptr, rng.integers(0, n, many).astype(np.int32), rng.random(n), np.empty(n)


def product(val: Any, ptr: Any, ind: Any, x: Any, y: Any) -> Any:
    return np.bincount(np.repeat(np.arange(y.size), np.diff(ptr)), val * x[ind], y.size)


def by_csrmv(threads: int) -> Maker:
    def maker() -> Callable[..., Any]:
        os.environ.setdefault("TREADLE_CUDA", "emu")
        treadle = importlib.import_module("treadle")
        sparse = importlib.import_module("treadle.cuda.sparse").Sparse()
        descr = sparse.matdescr()

        def run(val: Any, ptr: Any, ind: Any, x: Any, y: Any) -> Any:
            treadle.set_num_threads(threads)
            sparse.csrmv("N", y.size, x.size, val.size, 1.0, descr, val, ptr, ind, x, 0.0, y)
            return y

        return run

    return maker


def by_scipys_matrix() -> Callable[..., Any]:
    scipy = importlib.import_module("scipy.sparse")
    made: dict[int, Any] = {}

    def run(val: Any, ptr: Any, ind: Any, x: Any, y: Any) -> Any:
        if val.size not in made:
            made[val.size] = scipy.csr_matrix((val, ind, ptr), shape=(y.size, x.size))
        return made[val.size] @ x

    return run


add(
    MATRIX,
    inputs=matrix,
    expected=product,
    variants={"treadle": by_csrmv(1), "scipy": by_scipys_matrix},
    rtol=1e-12,
)
MATRIX_IN_PARALLEL = f"two cores, {MATRIX}"
add(
    MATRIX_IN_PARALLEL,
    inputs=matrix,
    expected=product,
    variants={"scipy": by_scipys_matrix, PARALLEL: by_csrmv(2)},
    rtol=1e-12,
    wall=True,
)
