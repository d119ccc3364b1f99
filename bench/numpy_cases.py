"""The cases of NumPy's functions: order, random numbers, linear algebra, counting, and small loops over parts of arrays.

They are cases as those of `elementwise.py`, in the same table, with the same text for all who compile or run it. A loop that
asks for one random number at a time has no right answer that all peers share, so that its answer is a mean that it comes near;
what asks for many at once seeds first, and has NumPy's numbers.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import peers
from elementwise import (
    MILLION,
    PARALLEL,
    TEN_MILLION,
    Arguments,
    Maker,
    add,
    elements,
    jits,
)
from kernels import aligned, place

# A stencil's loops written out, compiled by Treadle.
BY_HAND = "by hand"


def beside(function: Callable[..., Any], *peers_: str) -> dict[str, Maker]:
    """Treadle and those peers that are named, of `jits`."""
    return {name: maker for name, maker in jits(function).items() if name in ("treadle", *peers_)}


def unchecked(function: Callable[..., Any]) -> dict[str, Maker]:
    """Treadle with its indices checked and without, and Numba."""
    return beside(function, "numba") | {
        "treadle-unchecked": lambda: peers.decorator("treadle-unchecked")(function)
    }


# --- order -----------------------------------------------------------------------------------------


def sorted_copy(a):
    return np.sort(a)


def order(a):
    return np.argsort(a)


def stable_order(a):
    return np.argsort(a, kind="stable")


def places(a, v):
    return np.searchsorted(a, v)


def distinct(a):
    return np.unique(a)


def middle(a):
    return np.median(a)


def normal_numbers(dtype: str, n: int = MILLION) -> Callable[[np.random.Generator, bool], Arguments]:
    """One array of normal numbers; whole ones are spread over all of their type."""

    def inputs(rng: np.random.Generator, full: bool) -> Arguments:
        count = n if full else 97
        if np.dtype(dtype).kind == "f":
            return (place(rng.standard_normal(count).astype(dtype)),)
        info = np.iinfo(dtype)
        return (place(rng.integers(info.min, info.max, count, dtype)),)

    return inputs


for dtype in ("float64", "int32"):
    for name, function in (
        (f"sort {dtype}", sorted_copy),
        (f"argsort {dtype}", order),
        (f"argsort {dtype}, stable", stable_order),
    ):
        add(
            name,
            inputs=normal_numbers(dtype),
            expected=function,
            variants=beside(function, "numpy"),
        )


def table_and_values(rng: np.random.Generator, full: bool) -> Arguments:
    n = MILLION if full else 97
    return place(np.sort(rng.standard_normal(n))), place(rng.standard_normal(n))


add("searchsorted", inputs=table_and_values, expected=places, variants=beside(places, "numpy", "numba"))
add("unique", inputs=normal_numbers("float64"), expected=distinct, variants=beside(distinct, "numpy"))
add(
    "unique, few",
    inputs=lambda rng, full: (place(rng.integers(0, 1000, MILLION if full else 97)),),
    expected=distinct,
    variants=beside(distinct, "numpy"),
)
add("median", inputs=normal_numbers("float64"), expected=middle, variants=beside(middle, "numpy"))

# --- random numbers --------------------------------------------------------------------------------

DRAWS = 1_000_000


def one_random(n):
    s = 0.0
    for _ in range(n):
        s += np.random.random()
    return s / n


def one_normal(n):
    s = 0.0
    for _ in range(n):
        s += np.random.normal(1.0, 0.5)
    return s / n


def one_randint(n):
    s = 0
    for _ in range(n):
        s += np.random.randint(0, 1001)
    return s / n


def one_binomial(n):
    s = 0
    for _ in range(n):
        s += np.random.binomial(10, 0.3)
    return s / n


def many_random(n):
    np.random.seed(7)
    return np.random.random(n)


def many_normal(n):
    np.random.seed(7)
    return np.random.normal(1.0, 0.5, n)


def many_randint(n):
    np.random.seed(7)
    return np.random.randint(0, 1001, n)


def how_many(rng: np.random.Generator, full: bool) -> Arguments:
    return (DRAWS if full else DRAWS // 10,)


for name, function, mean in (
    ("random", one_random, 0.5),
    ("normal", one_normal, 1.0),
    ("randint", one_randint, 500.0),
    ("binomial", one_binomial, 3.0),
):
    add(
        f"{name} one by one",
        inputs=how_many,
        expected=lambda n, mean=mean: mean,
        variants=beside(function, "numba"),
        per=lambda args: args[0],
        rtol=0.02,  # six standard deviations of the smaller one's mean and more
    )
for name, function in (("random", many_random), ("normal", many_normal), ("randint", many_randint)):
    add(
        f"{name} in bulk",
        inputs=how_many,
        expected=function,
        variants=beside(function, "numpy"),
        per=lambda args: args[0],
    )

# --- linear algebra --------------------------------------------------------------------------------


def solve_each(a, b, out):
    for i in range(a.shape[0]):
        out[i] = np.linalg.solve(a[i], b[i])
    return out


def invert_each(a, out):
    for i in range(a.shape[0]):
        out[i] = np.linalg.inv(a[i])
    return out


def solved(a, b):
    return np.linalg.solve(a, b)


def inverse(a):
    return np.linalg.inv(a)


def well_behaved(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Square matrices with a heavy diagonal."""
    return place(rng.random(shape) + shape[-1] * np.eye(shape[-1]))


def near_one(x):
    return np.log1p(x)


for dtype, rtol in (("float64", 1e-15), ("float32", 2e-7)):
    add(
        f"log1p, {dtype}",
        inputs=lambda rng, full, dtype=dtype: (place(rng.random(10_000 if full else 97).astype(dtype)),),
        expected=lambda x: np.log1p(x.astype(np.float64)),
        variants=beside(near_one, "numpy"),
        rtol=rtol,
    )


def quotients(k):
    return k // 7


def summed_down(a):
    return a.sum(axis=0)


def with_its_transpose(m):
    return m @ m.T


add("k // 7, int64", inputs=normal_numbers("int64"), expected=quotients, variants=beside(quotients, "numpy"))
for dtype in ("float64", "float32"):
    add(
        f"a.sum(axis=0), {dtype}",
        inputs=lambda rng, full, dtype=dtype: (place(rng.random((1000 if full else 37,) * 2).astype(dtype)),),
        expected=lambda a: a.sum(axis=0, dtype=np.float64),
        variants=beside(summed_down, "numpy"),
        rtol=1e-13 if dtype == "float64" else 1e-5,
    )
# Whose threads a BLAS takes is its own affair: time that passes.
add(
    "m @ m.T",
    inputs=lambda rng, full: (place(rng.random(2 * (500 if full else 7,))),),
    expected=with_its_transpose,
    variants=beside(with_its_transpose, "numpy"),
    rtol=1e-13,
    wall=True,
)

SMALL = 10_000
add(
    "solve 3x3 in a loop",
    inputs=lambda rng, full: (
        well_behaved(rng, SMALL if full else 7, 3, 3),
        place(rng.random((SMALL if full else 7, 3))),
        aligned((SMALL if full else 7, 3), np.float64),
    ),
    expected=lambda a, b, out: np.linalg.solve(a, b[..., None])[..., 0],
    variants=beside(solve_each, "numba"),
    per=lambda args: len(args[0]),
    rtol=1e-13,
)
add(
    "inv 3x3 in a loop",
    inputs=lambda rng, full: (
        well_behaved(rng, SMALL if full else 7, 3, 3),
        aligned((SMALL if full else 7, 3, 3), np.float64),
    ),
    expected=lambda a, out: np.linalg.inv(a),
    variants=beside(invert_each, "numba"),
    per=lambda args: len(args[0]),
    rtol=1e-13,
)
# Whose threads a LAPACK takes is its own affair: time that passes.
add(
    "solve 500x500",
    inputs=lambda rng, full: (
        well_behaved(rng, *(2 * (500 if full else 7,))),
        place(rng.random(500 if full else 7)),
    ),
    expected=solved,
    variants=beside(solved, "numpy", "numba"),
    rtol=1e-12,
    wall=True,
)
add(
    "inv 500x500",
    inputs=lambda rng, full: (well_behaved(rng, *(2 * (500 if full else 7,))),),
    expected=inverse,
    variants=beside(inverse, "numpy", "numba"),
    rtol=1e-12,
    wall=True,
)

# --- counting --------------------------------------------------------------------------------------


def counted(a):
    return np.bincount(a)


def in_bins(a):
    return np.histogram(a, 50)[0]


def between(a, edges):
    return np.histogram(a, edges)[0]


def digitized(a, edges):
    return np.digitize(a, edges)


def where_true(a):
    return np.flatnonzero(a)


def values_and_edges(edges: np.ndarray, n: int = TEN_MILLION) -> Callable[..., Arguments]:
    def inputs(rng: np.random.Generator, full: bool) -> Arguments:
        return place(rng.standard_normal(n if full else 97)), place(edges)

    return inputs


SHARES = {"none": 0.0, "few": 1e-4, "half": 0.5, "all": 1.0}  # of items that are true
EVEN = np.linspace(-3, 3, 51)
UNEVEN = np.sinh(np.linspace(-3, 3, 51)) / 3

add(
    "bincount 1e7",
    inputs=lambda rng, full: (place(rng.integers(0, 1000, TEN_MILLION if full else 97)),),
    expected=counted,
    variants=beside(counted, "numpy"),
)
add(
    "histogram 1e7",
    inputs=normal_numbers("float64", TEN_MILLION),
    expected=in_bins,
    variants=beside(in_bins, "numpy"),
)
add(
    "histogram 1e7, even edges",
    inputs=values_and_edges(EVEN),
    expected=between,
    variants=beside(between, "numpy"),
)
add(
    "histogram 1e7, uneven edges",
    inputs=values_and_edges(UNEVEN),
    expected=between,
    variants=beside(between, "numpy"),
)
add(
    "digitize 1e7",
    inputs=values_and_edges(UNEVEN),
    expected=digitized,
    variants=beside(digitized, "numpy"),
)
for name, share in SHARES.items():
    add(
        f"flatnonzero, {name}",
        inputs=lambda rng, full, share=share: (place(rng.random(MILLION if full else 97) < share),),
        expected=where_true,
        variants=beside(where_true, "numpy"),
    )

# --- text ------------------------------------------------------------------------------------------

# The same program run by Python itself, on a list.
CPYTHON = "CPython"


class Sink:
    """Counts what is printed."""

    def __init__(self) -> None:
        self.length = 0

    def write(self, text: str) -> None:
        self.length += len(text)

    def flush(self) -> None:
        pass


def printed(a):
    for i in range(0, len(a), 8):
        print(a[i], a[i + 1], a[i + 2], a[i + 3], a[i + 4], a[i + 5], a[i + 6], a[i + 7])


def printed_to_3_places(a):
    for i in range(0, len(a), 8):
        print(
            f"{a[i]:.3f} {a[i + 1]:.3f} {a[i + 2]:.3f} {a[i + 3]:.3f} "
            f"{a[i + 4]:.3f} {a[i + 5]:.3f} {a[i + 6]:.3f} {a[i + 7]:.3f}"
        )


def unseen(maker: Maker, *, of_lists: bool = False) -> Maker:
    """What it prints goes to a sink, and its length is the result."""

    def make() -> Callable[..., Any]:
        function = maker()
        kept: dict[int, Any] = {}

        def run(a):
            if a.size not in kept:
                kept[a.size] = a.tolist() if of_lists else a
            sink = Sink()
            with contextlib.redirect_stdout(sink):
                function(kept[a.size])
            return np.float64(sink.length)

        return run

    return make


def numbers_for_text(rng: np.random.Generator, full: bool) -> Arguments:
    return (place(rng.uniform(0, 1000, 8000 if full else 96)),)


TEXTS = {"print() of 8 floats": printed, "print() to 3 places": printed_to_3_places}
for name, function in TEXTS.items():
    in_python = unseen(lambda function=function: function, of_lists=True)
    add(
        name,
        inputs=numbers_for_text,
        expected=lambda a, in_python=in_python: in_python()(a),
        variants={
            "treadle": unseen(lambda function=function: peers.decorator("treadle")(function)),
            CPYTHON: in_python,
        },
        per=elements,
    )

# --- parts of arrays, one after another ------------------------------------------------------------


def window_means(x, starts, lengths, out):
    for i in range(starts.size):
        a = starts[i]
        b = a + lengths[i]
        out[i] = x[a:b].mean()
    return out


def window_inputs(rng: np.random.Generator, full: bool) -> Arguments:
    n = 100_000 if full else 97
    return (
        place(rng.random(n + 8)),
        place(rng.integers(0, n, n)),
        place(rng.integers(3, 9, n)),
        aligned(n, np.float64),
    )


def life(a, out):
    h, w = a.shape
    for y in range(h):
        for x in range(w):
            n = 0
            for dy in (-1, 0, 1):
                for dx in (-1, 0, 1):
                    if dy != 0 or dx != 0:
                        n += a[(y + dy) % h, (x + dx) % w]
            out[y, x] = n == 3 or (a[y, x] == 1 and n == 2)
    return out


def life_by_rolls(a, out):
    n = sum(np.roll(a, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1)) - a
    return (n == 3) | ((a == 1) & (n == 2))


def column_neighbours(a, dy, out):
    h, w = a.shape
    for y in range(h):
        for x in range(w):
            out[y, x] = a[(y + dy) % h, x]
    return out


def sum_flat(a):
    s = 0.0
    for x in a.flat:
        s += x
    return s


def sum_enumerated(a):
    s = 0.0
    for (i, j), x in np.ndenumerate(a):
        s += x * (i - j)
    return s


def nditer_product(a, b):
    s = 0.0
    for x, y in np.nditer((a, b)):
        s += x.item() * y.item()
    return s


# What Numba's items can be written to is said by a flag in NumPy.
def nditer_in_place(flags: str) -> Callable[..., Any]:
    return peers.define(
        f"def f(a):\n    for x in np.nditer(a{flags and ', op_flags=' + flags}):\n        x[...] = x * 0.0 + 1.0\n    return a\n"
    )


def nditer_written(flags: str) -> Callable[..., Any]:
    return peers.define(
        f"def f(a, b):\n    for x, y in np.nditer((a, b){flags and ', op_flags=' + flags}):\n        y[...] = x * 0.5 + 1.0\n    return b\n"
    )


def flat_product(a, b):
    s = 0.0
    for x, y in zip(a.flat, b.flat):
        s += x * y
    return s


def grid_of_cells(rng: np.random.Generator, full: bool) -> tuple[np.ndarray, np.ndarray]:
    shape = (512, 512) if full else (7, 9)
    return place(rng.integers(0, 2, shape)), aligned(shape, np.int64)


def relaxed(u):
    return 0.25 * (u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1])


def relaxed_by_hand(rows: Callable[..., Any]) -> Callable[..., Any]:
    """The stencil of `relaxed` as loops, of which the outer one is over `rows`."""

    def function(u, out):
        for i in rows(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                out[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        return out

    return function


def relaxed_by_slices(u, out):
    out = np.zeros_like(u)
    out[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return out


def as_stencil(variant: str) -> Maker:
    """A compiled function that calls the stencil of `relaxed`."""

    def make() -> Callable[..., Any]:
        kernel = importlib.import_module(variant.partition("-")[0]).stencil(relaxed)

        def function(u, out):
            kernel(u, out=out)
            return out

        return peers.decorator(variant)(function)

    return make


def surface(rng: np.random.Generator, full: bool) -> tuple[np.ndarray, np.ndarray]:
    n = 2000 if full else 7
    return place(rng.random((n, n))), aligned((n, n), np.float64)


# Array statements that store into what the next one reads, 20 rounds, beside their loops.
ROUNDS = 20
STATEMENTS: dict[str, tuple[int, str, str, str]] = {
    "a line": (
        1,
        "float64",
        "v[1:-1] = c * (u[:-2] + u[1:-1] + u[2:])\nu[1:-1] = c * (v[:-2] + v[1:-1] + v[2:])",
        "for i in range(1, n - 1):\n v[i] = c * (u[i - 1] + u[i] + u[i + 1])\n"
        "for i in range(1, n - 1):\n u[i] = c * (v[i - 1] + v[i] + v[i + 1])",
    ),
    "a line of float32": (
        1,
        "float32",
        "v[1:-1] = c * (u[:-2] + u[1:-1] + u[2:])\nu[1:-1] = c * (v[:-2] + v[1:-1] + v[2:])",
        "for i in range(1, n - 1):\n v[i] = c * (u[i - 1] + u[i] + u[i + 1])\n"
        "for i in range(1, n - 1):\n u[i] = c * (v[i - 1] + v[i] + v[i + 1])",
    ),
    "a line and its ends": (
        1,
        "float64",
        "v[1:-1] = u[1:-1] + c * (u[:-2] - 2 * u[1:-1] + u[2:])\nv[0] = v[1]\nv[-1] = v[-2]\n"
        "u[1:-1] = v[1:-1] + c * (v[:-2] - 2 * v[1:-1] + v[2:])\nu[0] = u[1]\nu[-1] = u[-2]",
        "for i in range(1, n - 1):\n v[i] = u[i] + c * (u[i - 1] - 2 * u[i] + u[i + 1])\nv[0] = v[1]\nv[-1] = v[-2]\n"
        "for i in range(1, n - 1):\n u[i] = v[i] + c * (v[i - 1] - 2 * v[i] + v[i + 1])\nu[0] = u[1]\nu[-1] = u[-2]",
    ),
    "two fields": (
        1,
        "float64",
        "u[:-1] -= c * (v[1:] - v[:-1])\nv[1:] -= c * (u[1:] - u[:-1])",
        "for i in range(n - 1):\n u[i] -= c * (v[i + 1] - v[i])\nfor i in range(1, n):\n v[i] -= c * (u[i] - u[i - 1])",
    ),
    "a table": (
        2,
        "float64",
        "v[1:-1, 1:-1] = c * (u[1:-1, :-2] + u[1:-1, 2:] + u[2:, 1:-1] + u[:-2, 1:-1])\n"
        "u[1:-1, 1:-1] = c * (v[1:-1, :-2] + v[1:-1, 2:] + v[2:, 1:-1] + v[:-2, 1:-1])",
        "for i in range(1, n - 1):\n for j in range(1, n - 1):\n  v[i, j] = c * (u[i, j - 1] + u[i, j + 1] + u[i + 1, j] + u[i - 1, j])\n"
        "for i in range(1, n - 1):\n for j in range(1, n - 1):\n  u[i, j] = c * (v[i, j - 1] + v[i, j + 1] + v[i + 1, j] + v[i - 1, j])",
    ),
    "a table and its edges": (
        2,
        "float64",
        "v[1:-1, 1:-1] = c * (u[1:-1, :-2] + u[1:-1, 2:] + u[2:, 1:-1] + u[:-2, 1:-1])\nv[:, 0] = v[:, 1]\nv[:, -1] = v[:, -2]\nu[:] = v",
        "for i in range(1, n - 1):\n for j in range(1, n - 1):\n  v[i, j] = c * (u[i, j - 1] + u[i, j + 1] + u[i + 1, j] + u[i - 1, j])\n"
        "for i in range(n):\n v[i, 0] = v[i, 1]\n v[i, -1] = v[i, -2]\nfor i in range(n):\n for j in range(n):\n  u[i, j] = v[i, j]",
    ),
}


def rounds_of(body: str) -> Callable[..., Any]:
    lines = "\n".join(f"        {line}" for line in body.split("\n"))
    names: dict[str, Any] = {}
    exec(
        "def function(seed, c, rounds, u, v):\n    n = len(u)\n    u[:] = seed\n    v[:] = seed\n"
        f"    for t in range(rounds):\n{lines}\n    return v\n",
        names,
    )
    return names["function"]


def statements(name: str) -> None:
    ndim, dtype, by_arrays, by_hand = STATEMENTS[name]

    def inputs(rng: np.random.Generator, full: bool) -> Arguments:
        shape = ((4000,) if full else (9,)) if ndim == 1 else ((64, 64) if full else (7, 7))
        seed = rng.random(shape).astype(dtype)
        return place(seed), np.dtype(dtype).type(0.25), ROUNDS, aligned(shape, dtype), aligned(shape, dtype)

    def expected(seed, c, rounds, u, v):
        return rounds_of(by_arrays)(seed, c, rounds, np.zeros_like(seed), np.zeros_like(seed))

    add(
        f"statements, {name}",
        inputs=inputs,
        expected=expected,
        variants={
            "treadle": lambda: peers.decorator("treadle")(rounds_of(by_arrays)),
            BY_HAND: lambda: peers.decorator("treadle")(rounds_of(by_hand)),
        },
        per=lambda args: args[-1].size * 2 * ROUNDS,
        rtol=1e-4 if dtype == "float32" else 1e-11,
    )


for name in STATEMENTS:
    statements(name)


def filtered_5x5(a, k, out):
    rows, columns = out.shape
    for i in range(rows):
        for j in range(columns):
            s = np.float32(0)
            for p in range(5):
                for q in range(5):
                    s += a[i + p, j + q] * k[p, q]
            out[i, j] = s
    return out


def filtered_3x3(a, k, out):
    rows, columns = out.shape
    for i in range(rows):
        for j in range(columns):
            s = 0.0
            for p in range(3):
                for q in range(3):
                    s += a[i + p, j + q] * k[p, q]
            out[i, j] = s
    return out


def filtered(a, k, out):
    windows = np.lib.stride_tricks.sliding_window_view(a.astype(float), k.shape)
    return np.einsum("ijpq,pq->ij", windows, k.astype(float)).astype(out.dtype)


def image_and_taps(dtype: str, taps: int) -> Callable[[np.random.Generator, bool], Arguments]:
    """An image, weights of taps x taps, and room for what fits."""

    def inputs(rng: np.random.Generator, full: bool) -> Arguments:
        n = 252 if full else 9
        shape = n + taps - 1, n + taps - 1
        image, weights = rng.random(shape).astype(dtype), rng.random((taps, taps)).astype(dtype)
        return place(image), place(weights), aligned((n, n), np.dtype(dtype))

    return inputs


FILTERS = {"filter, 5x5 float32": filtered_5x5, "filter, 3x3 float64": filtered_3x3}


def short_rows(a, out):
    rows, columns = a.shape
    for i in range(rows):
        for j in range(columns):
            out[i, j] += a[i, j] * 2
    return out


def rows_of(dtype: str, width: int) -> Callable[[np.random.Generator, bool], Arguments]:
    """Zeros to add to, and what is added: it may be timed again and again."""

    def inputs(rng: np.random.Generator, full: bool) -> Arguments:
        shape = (2000 if full else 3, width)
        return place(np.zeros(shape, dtype)), aligned(shape, np.dtype(dtype))

    return inputs


SHORT_ROWS = {f"rows of {n}, {dtype}": (dtype, n) for dtype, n in (("float64", 12), ("float32", 24))}


def powers_of(text: str) -> Callable[..., Any]:
    """The loop `out[i] = x ** text`."""
    return peers.define(
        f"def f(x, out):\n    for i in range(x.size):\n        out[i] = x[i] ** {text}\n    return out\n"
    )


# and how much they may take of the time of Numba, whose products lose up to n - 1 roundings
POWERS = {"0.5": 1.05, "-1": 1.05, "9": 1.05, "20": 1.65, "1": 1.05}


PLUS = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])


def rises(a):
    """How many neighbours are higher, over all items."""
    n, m = a.shape
    s = 0
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            for di, dj in ((1, 0), (0, 1), (-1, 0), (0, -1)):
                if a[i + di, j + dj] > a[i, j]:
                    s += 1
    return s


def rises_by_array(a):
    n, m = a.shape
    s = 0
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            for k in range(4):
                if a[i + PLUS[k, 0], j + PLUS[k, 1]] > a[i, j]:
                    s += 1
    return s


def rises_of(a):
    inner = a[1:-1, 1:-1]
    return sum(int((a[1 + y : len(a) - 1 + y, 1 + x : len(a) - 1 + x] > inner).sum()) for y, x in PLUS)


def powers_summed(x, n):
    s = 0.0
    for i in range(x.size):
        s += x[i] ** n
    return s


def series(x, c):
    s = 0.0
    for i in range(x.size):
        for k in range(c.size):
            s += c[k] * x[i] ** k
    return s


def leibniz(x):
    s = 0.0
    for k in range(x.size):
        s += (-1) ** k * x[k]
    return s


def by_threes(x):
    s = 0.0
    for k in range(x.size):
        s += 3 ** (k & 15) * x[k]
    return s


def fractions(x):
    s = 0.0
    for i in range(x.size):
        s += x[i] % 1.0
    return s


def wholes(x):
    s = 0.0
    for i in range(x.size):
        s += x[i] // 1.0
    return s


# name: function, what it is given beside 4,000 numbers of 0.5 to 1.5, the answer
SERIAL: dict[str, tuple[Callable[..., Any], tuple[Any, ...], Callable[..., Any]]] = {
    "x ** n": (powers_summed, (5,), lambda x, n: np.sum(x**n)),
    "x ** -n": (powers_summed, (-3,), lambda x, n: np.sum(x ** float(n))),
    "c[k] * x ** k": (
        series,
        (np.linspace(-1, 1, 8),),
        lambda x, c: np.polynomial.polynomial.polyval(x, c).sum(),
    ),
    "(-1) ** k": (leibniz, (), lambda x: x[::2].sum() - x[1::2].sum()),
    "3 ** k": (by_threes, (), lambda x: np.sum(3.0 ** (np.arange(x.size) & 15) * x)),
    "x % 1.0": (fractions, (), lambda x: np.sum(x % 1.0)),
    "x // 1.0": (wholes, (), lambda x: np.sum(x // 1.0)),
}


def recursive(x, a, y):
    """Its first rounds read the array's end."""
    y[-1] = y[-2] = y[-3] = 0.0
    for n in range(x.size):
        acc = x[n]
        for k in range(1, 4):
            acc -= a[k] * y[n - k]
        y[n] = acc
    return y


def guarded(x, a, y):
    for n in range(x.size):
        acc = x[n]
        for k in range(1, 4):
            if n >= k:
                acc -= a[k] * y[n - k]
        y[n] = acc
    return y


def recursive_of(x, a, y):
    """From before the beginning 0: the filter's answer to x."""
    y = np.zeros(x.size + 3)
    for n, value in enumerate(x):
        y[n + 3] = value - a[1] * y[n + 2] - a[2] * y[n + 1] - a[3] * y[n]
    return y[3:]


def to_filter(rng: np.random.Generator, full: bool) -> Arguments:
    x = rng.random(4000 if full else 96)
    return place(x), place(np.array([1.0, -0.5, 0.2, -0.1])), aligned(x.size, np.dtype(np.float64))


RECURSIVE = {"y[n - k] from n = 0": recursive, "y[n - k] if n >= k": guarded}
NEIGHBOURS = {"tuples": rises, "a global array": rises_by_array}

LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "F": np.asfortranarray,
    "strided": lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3],
}

add(
    "x[a:b].mean()",
    inputs=window_inputs,
    expected=lambda x, starts, lengths, out: np.array([x[a : a + n].mean() for a, n in zip(starts, lengths)]),
    variants=unchecked(window_means),
    per=lambda args: args[1].size,
    rtol=1e-14,
)
add(
    "life, around the edges",
    inputs=grid_of_cells,
    expected=life_by_rolls,
    variants=unchecked(life),
)
add(
    "a[(y + dy) % h, x]",
    inputs=lambda rng, full: (grid := grid_of_cells(rng, full), (grid[0], 3, grid[1]))[1],
    expected=lambda a, dy, out: np.roll(a, -dy, 0),
    variants=unchecked(column_neighbours),
)
add(
    "stencil, 5 points",
    inputs=surface,
    expected=relaxed_by_slices,
    variants={
        "treadle": as_stencil("treadle"),
        BY_HAND: lambda: peers.decorator("treadle")(relaxed_by_hand(range)),
        "numba": as_stencil("numba"),
    },
)
for name, function in FILTERS.items():
    add(
        name,
        inputs=image_and_taps(name.split()[-1], 5 if "5x5" in name else 3),
        expected=filtered,
        variants=beside(function, "numba"),
        rtol=1e-5 if "float32" in name else 1e-13,
    )
for name, (dtype, width) in SHORT_ROWS.items():
    add(
        name,
        inputs=rows_of(dtype, width),
        expected=lambda a, out: a * 2,
        variants=beside(short_rows, "numba"),
    )
for text in POWERS:
    add(
        f"x ** {text}",
        inputs=lambda rng, full: (
            place(rng.random(4000 if full else 97) + 0.5),
            aligned(4000 if full else 97, np.float64),
        ),
        expected=lambda x, out, by=float(text): x**by,
        variants=beside(powers_of(text), "numba"),
        rtol=1e-14,
    )
for name, function in NEIGHBOURS.items():
    add(
        f"offsets in {name}",
        inputs=lambda rng, full: (place(rng.random((200, 200) if full else (9, 9))),),
        expected=rises_of,
        variants=beside(function, "numba"),
    )
for name, function in RECURSIVE.items():
    add(
        name,
        inputs=to_filter,
        expected=recursive_of,
        variants=beside(function, "numba"),
        rtol=1e-12,
    )
for name, (function, more, answer) in SERIAL.items():
    add(
        f"serial, {name}",
        inputs=lambda rng, full, more=more: (place(rng.random(4000 if full else 96) + 0.5), *more),
        expected=answer,
        variants=beside(function, "numba"),
        rtol=1e-11,
    )
for name, layout in LAYOUTS.items():
    one, two = (
        lambda rng, full, count=count, layout=layout: tuple(
            layout(rng.random((500, 400) if full else (5, 7))) for _ in range(count)
        )
        for count in (1, 2)
    )
    add(
        f"a.flat, {name}",
        inputs=one,
        expected=np.sum,
        variants=beside(sum_flat, "numba"),
        per=lambda args: args[0].size,
        rtol=1e-11,
    )
    add(
        f"ndenumerate, {name}",
        inputs=one,
        expected=lambda a: np.sum(a * (np.arange(a.shape[0])[:, None] - np.arange(a.shape[1]))),
        variants=beside(sum_enumerated, "numba"),
        per=lambda args: args[0].size,
        rtol=1e-10,
    )
    add(
        f"zip of two flats, {name}",
        inputs=two,
        expected=lambda a, b: np.sum(a * b),
        variants=beside(flat_product, "numba"),
        per=lambda args: args[0].size,
        rtol=1e-11,
    )
    add(
        f"nditer of two, {name}",
        inputs=two,
        expected=lambda a, b: np.sum(a * b),
        variants=beside(nditer_product, "numba"),
        per=lambda args: args[0].size,
        rtol=1e-11,
    )

add(
    "nditer in place",
    inputs=lambda rng, full: (place(rng.random((20, 25, 40 if full else 3))),),
    expected=np.ones_like,  # again and again
    variants={
        "treadle": lambda: peers.decorator("treadle")(nditer_in_place("['readwrite']")),
        "numba": lambda: peers.decorator("numba")(nditer_in_place("")),
    },
    per=lambda args: args[0].size,
)
add(
    "nditer from one to another",
    inputs=lambda rng, full: (
        place(rng.random((20, 25, 40 if full else 3))),
        np.zeros((20, 25, 40 if full else 3)),
    ),
    expected=lambda a, b: a * 0.5 + 1,
    variants={
        "treadle": lambda: peers.decorator("treadle")(nditer_written("[['readonly'], ['readwrite']]")),
        "numba": lambda: peers.decorator("numba")(nditer_written("")),
    },
    per=lambda args: args[0].size,
)

# --- two cores -------------------------------------------------------------------------------------


def standardised(x, out):
    n = x.shape[0]
    s = 0.0
    for i in range(n):
        s += x[i]
    mean = s / n
    v = 0.0
    for i in range(n):
        v += (x[i] - mean) ** 2
    scale = 1.0 / np.sqrt(v / n)
    for i in range(n):
        out[i] = (x[i] - mean) * scale


def gufunc(target: str) -> Maker:
    def make() -> Callable[..., Any]:
        guvectorize = importlib.import_module("treadle").guvectorize
        return guvectorize(["(float64[:], float64[:])"], "(n)->(n)", target=target)(standardised)

    return make


add(
    "two cores, stencil",
    inputs=surface,
    expected=relaxed_by_slices,
    variants={
        "treadle": as_stencil("treadle"),
        PARALLEL: as_stencil(PARALLEL),
        BY_HAND: lambda: peers.decorator(PARALLEL)(
            relaxed_by_hand(importlib.import_module("treadle").prange)
        ),
    },
    wall=True,
)
add(
    "two cores, gufunc",
    inputs=lambda rng, full: (
        place(rng.random((50 if full else 3, 1000 if full else 7))),
        aligned((50 if full else 3, 1000 if full else 7), np.float64),
    ),
    expected=lambda x, out: (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True),
    variants={"treadle": gufunc("cpu"), PARALLEL: gufunc("parallel")},
    rtol=1e-11,
    wall=True,
)
