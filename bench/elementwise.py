"""The elementwise cases: ufuncs, array expressions and what two cores bring.

A case has one maker for each variant, peers and NumPy alike: called in the measuring process, it
returns the function to time, which takes the case's arguments and returns its result (`out` among
the arguments is written and returned).  So what a variant cannot do fails in its maker or in its
first call, is told with its reason, and leaves the others alone.  Each case knows its answer in
float64, computed with NumPy.

Long, as it is a list: a case is its variants and its answer, which nothing else uses.
"""

from __future__ import annotations

import cmath
import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import peers
from kernels import COLOUR, aligned, place

Arguments = tuple[Any, ...]
Maker = Callable[[], Callable[..., Any]]

SQRT_2PI = math.sqrt(2 * math.pi)
SQRT_2PI_F = np.float32(SQRT_2PI)
SQRT_HALF = math.sqrt(0.5)
SQRT_HALF_F = np.float32(SQRT_HALF)
MILLION = 1_000_000  # a multiple of every vector's width
TEN_MILLION = 10 * MILLION


@dataclass(frozen=True)
class InC:
    """A C variant.

    Attributes
    ----------
    kernel : str
        `k_<kernel>` of its source; its last array argument is the result.
    arguments : callable
        Takes the case's arguments; returns the kernel's.
    expected : callable or None
        Takes the kernel's arguments; None: the case's result.
    source : str
        The file it stands in: 'elementwise' (.c) or 'tables' (.cc).
    """

    kernel: str
    arguments: Callable[[Arguments], Arguments] = lambda args: args
    expected: Callable[..., Any] | None = None
    source: str = "elementwise"


@dataclass(frozen=True)
class Case:
    """One elementwise case.

    Attributes
    ----------
    name : str
        What rows call it.
    inputs : callable
        Takes a random generator and `full` (bool; False: small arrays); returns the arguments.
    expected : callable
        Takes the arguments; returns the right result in float64 or complex128.
    variants : dict
        Variant to maker.
    in_c : dict
        Variant to `InC`.
    per : callable
        Takes the arguments; returns what the time is divided by (elements, or 1).
    rtol : float
        Tolerance relative to the largest magnitude.
    wall : bool
        Measured in time that passes rather than in CPU time of the thread.
    arrays : int or None
        How many arrays Treadle may allocate in a call; None: not looked at.
    every : int
        Each so many-th element is checked; for large 1-D arrays.
    seconds : float
        Least length of a sample.
    part : dict
        Variant to the part of the work that it does, 1 where nothing is said; its time is divided by that.
    """

    name: str
    inputs: Callable[[np.random.Generator, bool], Arguments]
    expected: Callable[..., Any]
    variants: dict[str, Maker]
    in_c: dict[str, InC] = field(default_factory=dict)
    per: Callable[[Arguments], int] = lambda args: 1
    rtol: float = 1e-13
    wall: bool = False
    arrays: int | None = None
    every: int = 1
    seconds: float = 0.003
    part: dict[str, float] = field(default_factory=dict)

    # read by kernels.difference
    contracted: float = 0.0
    loose_share: float = 0.0


CASES: dict[str, Case] = {}


def add(name: str, **options: Any) -> None:
    CASES[name] = Case(name=name, **options)


def elements(args: Arguments) -> int:
    """Number of elements of the last array, the result."""
    return next(a.size for a in reversed(args) if isinstance(a, np.ndarray))


def ufuncs(function: Callable[..., Any], signature: str, *more: str) -> dict[str, Maker]:
    """Makers of the ufunc of `function` for Treadle, Numba and further variants of theirs."""

    def maker(variant: str) -> Maker:
        return lambda: peers.vectorizer(variant, [signature])(function)

    return {variant: maker(variant) for variant in ("treadle", "numba", *more)}


def jits(function: Callable[..., Any]) -> dict[str, Maker]:
    """Makers for the compilers and for NumPy, which runs the function as it stands."""

    def maker(variant: str) -> Maker:
        return lambda: peers.decorator(variant)(function)

    return {"treadle": maker("treadle"), "numba": maker("numba"), "numpy": lambda: function}


def numexpr(text: str, *names: str, threads: int | None) -> Maker:
    """Maker of a numexpr evaluation on so many threads (None: all cores); `names` are the arguments in order."""

    def make() -> Callable[..., Any]:
        module = importlib.import_module("numexpr")
        module.set_num_threads(threads or module.detect_number_of_cores())
        return lambda *args: module.evaluate(text, local_dict=dict(zip(names, args)), global_dict={})

    return make


def signature(dtype: str, inputs: int) -> str:
    return f"{dtype}({', '.join([dtype] * inputs)})"


def random(rng: np.random.Generator, low: float, high: float, n: int, dtype: str) -> np.ndarray:
    return place(rng.uniform(low, high, n).astype(dtype))


def wide(*arrays: Any) -> list[Any]:
    """The arguments in float64, to compute what is expected."""
    return [np.asarray(a, np.float64) for a in arrays]


# --- gaussian ------------------------------------------------------------------------------------


def gaussian_f64(x, mean, sigma):
    return math.exp(-0.5 * ((x - mean) / sigma) ** 2) / (sigma * SQRT_2PI)


def gaussian_f32(x, mean, sigma):
    return math.exp(-0.5 * ((x - mean) / sigma) ** 2) / (sigma * SQRT_2PI_F)


def gaussian_numpy(x, mean, sigma):
    return np.exp(-0.5 * ((x - mean) / sigma) ** 2) / (sigma * x.dtype.type(SQRT_2PI))


GAUSSIANS = {"float64": gaussian_f64, "float32": gaussian_f32}


def gaussian_expected(x: Any, mean: Any, sigma: Any) -> Any:
    return gaussian_numpy(*wide(x, mean, sigma))


def gaussian_inputs(dtype: str, n: int = MILLION) -> Callable[[np.random.Generator, bool], Arguments]:
    def inputs(rng: np.random.Generator, full: bool) -> Arguments:
        kind = np.dtype(dtype).type
        return random(rng, -3, 3, n if full else 97, dtype), kind(0.25), kind(1.5)

    return inputs


def gaussian_numexpr(dtype: str, threads: int | None = 1) -> Maker:
    names = ("x", "mean", "sigma", "half", "root")
    evaluate = numexpr("exp(half * ((x - mean) / sigma) ** 2) / (sigma * root)", *names, threads=threads)
    kind = np.dtype(dtype).type

    def make() -> Callable[..., Any]:
        call = evaluate()
        return lambda x, mean, sigma: call(x, mean, sigma, kind(-0.5), kind(SQRT_2PI))

    return make


for short, dtype in (("f64", "float64"), ("f32", "float32")):
    add(
        f"gaussian {short}",
        inputs=gaussian_inputs(dtype),
        expected=gaussian_expected,
        variants=ufuncs(GAUSSIANS[dtype], signature(dtype, 3))
        | {"numpy": lambda: gaussian_numpy, "numexpr": gaussian_numexpr(dtype)},
        per=elements,
        rtol=1e-14 if dtype == "float64" else 1e-6,
    )

# --- Black-Scholes: the price of a call ------------------------------------------------------------


def black_scholes_f64(price, strike, years, rate, volatility):
    root = volatility * math.sqrt(years)
    d1 = (math.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / root
    d2 = d1 - root
    above = 0.5 + 0.5 * math.erf(d1 * SQRT_HALF)
    below = 0.5 + 0.5 * math.erf(d2 * SQRT_HALF)
    return price * above - strike * math.exp(-rate * years) * below


def black_scholes_f32(price, strike, years, rate, volatility):
    root = volatility * math.sqrt(years)
    d1 = (math.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / root
    d2 = d1 - root
    above = 0.5 + 0.5 * math.erf(d1 * SQRT_HALF_F)
    below = 0.5 + 0.5 * math.erf(d2 * SQRT_HALF_F)
    return price * above - strike * math.exp(-rate * years) * below


BLACK_SCHOLES = {"float64": black_scholes_f64, "float32": black_scholes_f32}


def black_scholes_inputs(dtype: str, n: int = MILLION) -> Callable[[np.random.Generator, bool], Arguments]:
    def inputs(rng: np.random.Generator, full: bool) -> Arguments:
        size = n if full else 97
        arrays = [random(rng, low, high, size, dtype) for low, high in ((5, 30), (1, 100), (0.25, 10))]
        return *arrays, np.dtype(dtype).type(0.02), np.dtype(dtype).type(0.3)

    return inputs


def black_scholes_expected(price: Any, strike: Any, years: Any, rate: Any, volatility: Any) -> Any:
    price, strike, years, rate, volatility = wide(price, strike, years, rate, volatility)
    erf = np.frompyfunc(math.erf, 1, 1)
    root = volatility * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + 0.5 * volatility**2) * years) / root
    above, below = (0.5 + 0.5 * erf(d * SQRT_HALF).astype(float) for d in (d1, d1 - root))
    return price * above - strike * np.exp(-rate * years) * below


for short, dtype in (("f64", "float64"), ("f32", "float32")):
    add(
        f"black-scholes {short}",
        inputs=black_scholes_inputs(dtype),
        expected=black_scholes_expected,
        variants=ufuncs(BLACK_SCHOLES[dtype], signature(dtype, 5)),
        per=elements,
        rtol=1e-13 if dtype == "float64" else 2e-6,
    )

# --- one function alone ----------------------------------------------------------------------------

FUNCTIONS = {  # name: function, range of the arguments
    "sin": (lambda x: math.sin(x), -10.0, 10.0),
    "cos": (lambda x: math.cos(x), -10.0, 10.0),
    "tan": (lambda x: math.tan(x), -10.0, 10.0),
    "atan": (lambda x: math.atan(x), -5.0, 5.0),
    "atan2": (lambda y, x: math.atan2(y, x), -5.0, 5.0),
    "exp": (lambda x: math.exp(x), -10.0, 10.0),
    "log": (lambda x: math.log(x), 0.01, 100.0),
    "tanh": (lambda x: math.tanh(x), -5.0, 5.0),
    "pow": (lambda x, y: x**y, 0.1, 10.0),
}
NUMPY_NAMES = {"pow": "power", "atan": "arctan", "atan2": "arctan2"}
OF_TWO = ("pow", "atan2")


def function_inputs(name: str, dtype: str) -> Callable[[np.random.Generator, bool], Arguments]:
    _, low, high = FUNCTIONS[name]

    def inputs(rng: np.random.Generator, full: bool) -> Arguments:
        n = MILLION if full else 96
        x = random(rng, low, high, n, dtype)
        more = (random(rng, -3, 3, n, dtype),) if name in OF_TWO else ()
        return x, *more, aligned(n, dtype)

    return inputs


def function_expected(name: str) -> Callable[..., Any]:
    exact = getattr(np, NUMPY_NAMES.get(name, name))
    return lambda *args: exact(*wide(*args[:-1]))


def function_case(name: str, short: str, dtype: str) -> None:
    add(
        f"{name} {short}",
        inputs=function_inputs(name, dtype),
        expected=function_expected(name),
        variants=ufuncs(FUNCTIONS[name][0], signature(dtype, 2 if name in OF_TWO else 1))
        | {"numpy": lambda: getattr(np, NUMPY_NAMES.get(name, name))},
        in_c={"sleef": InC(f"{name}_{short}")},
        per=elements,
        rtol=1e-15 if dtype == "float64" else 5e-7,
    )


for name in FUNCTIONS:
    for short, dtype in (("f64", "float64"), ("f32", "float32")):
        function_case(name, short, dtype)

# --- one number after the other ----------------------------------------------------------------------

CHAINS = {  # name: function, range of the arguments
    "sin": (math.sin, -10.0, 10.0),
    "cos": (math.cos, -10.0, 10.0),
    "tan": (math.tan, -10.0, 10.0),
    "atan": (math.atan, -5.0, 5.0),
    "atan2": (lambda y: math.atan2(y, 0.75), -5.0, 5.0),
    "erf": (math.erf, -3.0, 3.0),
    "exp": (math.exp, -10.0, 10.0),
    "log": (math.log, 0.01, 10.0),
}


def chain(name: str) -> Callable[..., Any]:
    """A loop of calls each of which waits for the one before; `scale` is 0, but no compiler knows."""
    scope: dict[str, Any] = {"math": math}
    call = "atan2(x[i] + z * scale, 0.75)" if name == "atan2" else f"{name}(x[i] + z * scale)"
    exec(
        "def chain(x, scale, last):\n    z = 0.0\n    for i in range(len(x)):\n"
        f"        z = math.{call}\n    last[0] = z\n    return last\n",
        scope,
    )
    return scope["chain"]


def chain_inputs(name: str) -> Callable[[np.random.Generator, bool], Arguments]:
    _, low, high = CHAINS[name]
    return lambda rng, full: (random(rng, low, high, 65_536 if full else 96, "float64"), 0.0, np.zeros(1))


def chain_expected(name: str) -> Callable[..., Any]:
    return lambda x, scale, last: np.array([CHAINS[name][0](float(x[-1]))])


for name in CHAINS:
    add(
        f"chain {name}",
        inputs=chain_inputs(name),
        expected=chain_expected(name),
        variants={k: v for k, v in jits(chain(name)).items() if k != "numpy"},
        in_c={"libm": InC(f"chain_{name}")},
        per=lambda args: args[0].size,
        rtol=1e-15,
    )

# --- short bodies, most of them bound by memory ----------------------------------------------------


def saxpy(a, x, y):
    return a * x + y


def polynomial(x):
    return ((0.5 * x - 1.25) * x + 3.0) * x - 0.75


def hypot(x, y):
    return math.hypot(x, y)


def complex_multiply(a, b):
    return a * b


def remainder(x):
    return x % 0.7


def select(x):
    if x < 0.0:
        return -x
    if x < 1.0:
        return x * x
    return 2.0 * x - 1.0


def arrays_inputs(count: int, dtype: str, *scalars: Any) -> Callable[[np.random.Generator, bool], Arguments]:
    """Scalars, then `count` arrays between -3 and 3, then the result's."""

    def inputs(rng: np.random.Generator, full: bool) -> Arguments:
        n = MILLION if full else 97
        parts = [rng.uniform(-3, 3, n) for _ in range(count)]
        if dtype == "complex128":
            parts = [p + 1j * rng.uniform(-3, 3, n) for p in parts]
        return *scalars, *(place(p.astype(dtype)) for p in parts), aligned(n, dtype)

    return inputs


SHORT = {  # name: function, dtype, scalars before the arrays, arrays, answer, whether there is a C loop
    "saxpy": (saxpy, "float32", (np.float32(1.5),), 2, lambda a, x, y: float(a) * x + y, True),
    "polynomial": (polynomial, "float64", (), 1, polynomial, True),
    "hypot": (hypot, "float64", (), 2, np.hypot, False),
    "complex multiply": (complex_multiply, "complex128", (), 2, np.multiply, True),
    "remainder": (remainder, "float64", (), 1, lambda x: np.remainder(x, 0.7), False),
    "select": (
        select,
        "float64",
        (),
        1,
        lambda x: np.select([x < 0, x < 1], [-x, x * x], 2 * x - 1),
        True,
    ),
}


def short_case(name: str) -> None:
    function, dtype, scalars, count, answer, in_c = SHORT[name]
    to = np.complex128 if dtype == "complex128" else np.float64
    add(
        name,
        inputs=arrays_inputs(count, dtype, *scalars),
        expected=lambda *args: answer(*(np.asarray(a, to) for a in args[:-1])),
        variants=ufuncs(function, signature(dtype, count + len(scalars))),
        in_c={"c": InC(name.replace(" ", "_"))} if in_c else {},
        per=elements,
        rtol=1e-15 if dtype != "float32" else 2e-7,
    )


for name in SHORT:
    short_case(name)

# Functions of complex numbers alone; the last digits are their own business.
COMPLEX: dict[str, tuple[Callable[..., Any], int, np.ufunc]] = {  # name: function, arrays, NumPy's
    "exp": (lambda z: cmath.exp(z), 1, np.exp),
    "sqrt": (lambda z: cmath.sqrt(z), 1, np.sqrt),
    "log": (lambda z: cmath.log(z), 1, np.log),
    "sin": (lambda z: cmath.sin(z), 1, np.sin),
    "tanh": (lambda z: cmath.tanh(z), 1, np.tanh),
    "asin": (lambda z: cmath.asin(z), 1, np.arcsin),
    "power": (lambda z, w: z**w, 2, np.power),
}


def complex_case(name: str) -> None:
    function, count, numpys = COMPLEX[name]
    add(
        f"complex {name}",
        inputs=arrays_inputs(count, "complex128"),
        expected=lambda *args: numpys(*args[:-1]),
        variants=ufuncs(function, signature("complex128", count)) | {"numpy": lambda: numpys},
        per=elements,
        rtol=1e-13 if name == "power" else 4e-15,
    )


for name in COMPLEX:
    complex_case(name)

# --- array expressions in a compiled function ------------------------------------------------------


def expression(a, b, c, d):
    return a * 2 + b * c - d


def row_norms(a, b):
    return np.sqrt(((a - b) ** 2).sum(axis=1))


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def rows_by_matrix(a, m, out):
    for r in range(a.shape[0]):
        for q in range(a.shape[1]):
            out[r, q, :] = a[r, q, :] @ m
    return out


def rows_in_one_product(a, m, out):
    np.matmul(a.reshape(-1, a.shape[2]), m, out=out.reshape(-1, a.shape[2]))
    return out


def counted(a):
    return np.bincount(a)


def in_bins(a):
    return np.histogram(a, 50)[0]


def diffusion(x, out, c):
    """Horizontal diffusion of a weather model, with limited fluxes: slices of arrays whose sizes meet at run time."""
    n, m, _ = out.shape
    lap = 4.0 * x[1 : n + 3, 1 : m + 3] - (
        x[2 : n + 4, 1 : m + 3] + x[: n + 2, 1 : m + 3] + x[1 : n + 3, 2 : m + 4] + x[1 : n + 3, : m + 2]
    )
    r = lap[1:, 1 : m + 1] - lap[:-1, 1 : m + 1]
    fx = np.where(r * (x[2 : n + 3, 2 : m + 2] - x[1 : n + 2, 2 : m + 2]) > 0, 0, r)
    s = lap[1 : n + 1, 1:] - lap[1 : n + 1, :-1]
    fy = np.where(s * (x[2 : n + 2, 2 : m + 3] - x[2 : n + 2, 1 : m + 2]) > 0, 0, s)
    out[:] = x[2 : n + 2, 2 : m + 2] - c * (fx[1:] - fx[:-1] + fy[:, 1:] - fy[:, :-1])
    return out


def layer(x, w, out):
    k = w.shape[0]
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            out[:, i, j, :] = np.sum(x[:, i : i + k, j : j + k, :, None] * w[None], axis=(1, 2, 3))
    return out


def layer_by_products(x, w, out):
    k = w.shape[0]
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (k, k), axis=(1, 2))
    return np.einsum("nijcab,abcf->nijf", windows, w)


def products(a, b):
    return a @ b


def renewed(a, times):
    s = 0.0
    for i in range(times):
        b = a + i
        s += b[i]
    return s


def stored(a, b, c, out):
    out[:] = a * 2 + b * c
    return out


def less(x, m):
    return x - m


def kept_sum(a):
    return a[a > 0].sum()


RENEWALS = 20


def add_one(a):
    return a + 1


def renewed_outside(maker: Maker) -> Maker:
    """The loop in Python, each result replacing the one before."""

    def make() -> Callable[..., Any]:
        function = maker()

        def loop(a, times):
            b = a
            for _ in range(times):
                b = function(a)
            return b

        return loop

    return make


class Copies:
    """Copying to arrays that are there, two by turns: what memory takes for reading and writing as much."""

    def __init__(self) -> None:
        self.arrays: dict[int, list[np.ndarray]] = {}

    def of(self, a: Any, i: int) -> np.ndarray:
        if (
            a.size not in self.arrays
        ):  # on large pages and apart within them, as Treadle's and NumPy's new ones
            both = np.empty((2, a.size + 4 * COLOUR // 8))
            both.fill(0)
            self.arrays[a.size] = [both[k, 2 * k * COLOUR // 8 :][: a.size] for k in range(2)]
        to = self.arrays[a.size][i & 1]
        np.copyto(to, a)
        return to


def copied() -> Callable[..., Any]:
    """In place of `b = a + 1`; the last is computed, to be right."""
    copies = Copies()

    def loop(a, times):
        for i in range(times - 1):
            b = copies.of(a, i)
        return np.add(a, 1, out=b)

    return loop


def copied_and_read() -> Callable[..., Any]:
    """In place of `renewed`."""
    copies = Copies()

    def loop(a, times):
        s = 0.0
        for i in range(times):
            s += copies.of(a, i)[i] + i
        return s

    return loop


add(
    "a*2 + b*c - d",
    inputs=lambda rng, full: tuple(
        random(rng, -3, 3, 4 * MILLION if full else 97, "float64") for _ in range(4)
    ),
    expected=expression,
    variants=jits(expression),
    arrays=1,
)
add(
    "bincount",
    inputs=lambda rng, full: (place(rng.integers(0, 1000, MILLION if full else 97)),),
    expected=counted,
    variants=jits(counted),
)
add(
    "histogram",
    inputs=lambda rng, full: (place(rng.standard_normal(MILLION if full else 97)),),
    expected=in_bins,
    variants=jits(in_bins),
)


BODY = np.dtype([(name, "f8") for name in ("x", "y", "z", "mass")])


def bodies(rng: np.random.Generator, full: bool) -> Arguments:
    """Bodies as records, the same in arrays of their own, and room for a number of each."""
    p = np.zeros(1_500 if full else 7, BODY)
    for name in BODY.names:
        p[name] = rng.random(len(p))
    return p, *(place(p[name]) for name in BODY.names), np.empty(len(p))


def potentials_of_records(p, x, y, z, mass, out):
    for i in range(len(p)):
        s = 0.0
        for j in range(len(p)):
            dx = p[j].x - p[i].x
            dy = p[j].y - p[i].y
            dz = p[j].z - p[i].z
            s += p[j].mass / math.sqrt(dx * dx + dy * dy + dz * dz + 0.01)
        out[i] = s
    return out


def potentials_of_arrays(p, x, y, z, mass, out):
    for i in range(len(x)):
        s = 0.0
        for j in range(len(x)):
            dx = x[j] - x[i]
            dy = y[j] - y[i]
            dz = z[j] - z[i]
            s += mass[j] / math.sqrt(dx * dx + dy * dy + dz * dz + 0.01)
        out[i] = s
    return out


def potentials(p, x, y, z, mass, out):
    d2 = sum((a[None, :] - a[:, None]) ** 2 for a in (x, y, z)) + 0.01
    return (mass / np.sqrt(d2)).sum(axis=1)


add(
    "n-body of records",
    inputs=bodies,
    expected=potentials,
    variants={
        "treadle": jits(potentials_of_records)["treadle"],
        "arrays": jits(potentials_of_arrays)["treadle"],
        "numba": jits(potentials_of_records)["numba"],
    },
    rtol=1e-12,
)
add(
    "row norms",
    inputs=lambda rng, full: tuple(place(rng.random((200_000 if full else 7, 16))) for _ in range(2)),
    expected=row_norms,
    variants=jits(row_norms),
    arrays=1,
)
# Numba's np.max takes no axis.
add(
    "softmax",
    inputs=lambda rng, full: (
        place(rng.standard_normal((16, 16, 128, 128) if full else (2, 3, 5, 7)).astype(np.float32)),
    ),
    expected=softmax,
    variants={name: maker for name, maker in jits(softmax).items() if name != "numba"},
    rtol=1e-5,
)
add(
    "rows by a matrix",
    inputs=lambda rng, full: (
        place(rng.random((60 if full else 3, 60 if full else 4, 128 if full else 5))),
        place(rng.random((128 if full else 5, 128 if full else 5))),
        np.empty((60, 60, 128) if full else (3, 4, 5)),
    ),
    expected=rows_in_one_product,
    variants={"treadle": jits(rows_by_matrix)["treadle"], "numpy": lambda: rows_in_one_product},
    rtol=1e-12,
)
add(
    "horizontal diffusion",
    inputs=lambda rng, full: (
        place(rng.random((132, 132, 160) if full else (9, 8, 5))),
        np.empty((128, 128, 160) if full else (5, 4, 5)),
        place(rng.random((128, 128, 160) if full else (5, 4, 5))),
    ),
    expected=diffusion,
    variants=jits(diffusion),
    rtol=1e-12,
)
# Numba's np.sum takes no tuple of axes.
add(
    "convolution",
    inputs=lambda rng, full: (
        place(rng.random((8 if full else 2, 32 if full else 7, 32 if full else 7, 3)).astype(np.float32)),
        place(rng.random((5, 5, 3, 16)).astype(np.float32)),
        np.empty((8, 28, 28, 16) if full else (2, 3, 3, 16), np.float32),
    ),
    expected=layer_by_products,
    variants={name: maker for name, maker in jits(layer).items() if name != "numba"},
    rtol=1e-5,
)
# An axis that is narrower than a vector.
add(
    "convolution, 4 filters",
    inputs=lambda rng, full: (
        place(rng.random((4, 32, 32, 16) if full else (2, 7, 7, 3)).astype(np.float32)),
        place(rng.random((3, 3, 16 if full else 3, 4)).astype(np.float32)),
        np.empty((4, 30, 30, 4) if full else (2, 5, 5, 4), np.float32),
    ),
    expected=layer_by_products,
    variants={name: maker for name, maker in jits(layer).items() if name != "numba"},
    rtol=1e-5,
)
# Numba's @ takes two axes.
for rows in (4, 8):
    add(
        f"products of {rows} x {rows}",
        inputs=lambda rng, full, rows=rows: tuple(
            place(rng.random((20_000 if full else 97, rows, rows)).astype(np.float32)) for _ in range(2)
        ),
        expected=lambda a, b: np.einsum("qij,qjk->qik", a.astype(np.float64), b),
        variants={name: maker for name, maker in jits(products).items() if name != "numba"},
        rtol=1e-5,
    )
add(
    "out[:] = a*2 + b*c",
    inputs=lambda rng, full: (
        *(random(rng, -3, 3, MILLION if full else 97, "float64") for _ in range(3)),
        aligned(MILLION if full else 97, np.float64),
    ),
    expected=lambda a, b, c, out: a * 2 + b * c,
    variants=jits(stored),
    arrays=0,
)
add(
    "x - column, rows of 8",
    inputs=lambda rng, full: tuple(
        place(rng.random((200_000 if full else 77, n)).astype(np.float32)) for n in (8, 1)
    ),
    expected=less,
    variants=jits(less),
    arrays=1,
)
add(
    "a[a > 0].sum()",
    inputs=lambda rng, full: (random(rng, -3, 3, TEN_MILLION if full else 97, "float64"),),
    expected=kept_sum,
    variants=jits(kept_sum),
    rtol=1e-12,
    arrays=0,
)
add(
    "b = a + 1, loop in Python",
    inputs=lambda rng, full: (place(rng.random(MILLION if full else 97)), RENEWALS),
    expected=lambda a, times: a + 1,
    variants={name: renewed_outside(maker) for name, maker in jits(add_one).items()} | {"copy": copied},
    per=lambda args: RENEWALS,
)
add(
    "b = a + 1, loop compiled",
    inputs=lambda rng, full: (place(rng.random(MILLION if full else 97)), RENEWALS),
    expected=renewed,
    variants=jits(renewed) | {"copy": copied_and_read},
    per=lambda args: RENEWALS,
)

# --- two cores: time that passes -------------------------------------------------------------------

PARALLEL = "treadle-parallel"


def in_c_on(threads: int) -> InC:
    """A gaussian by C on so many threads, over as many elements as the case has."""

    def arguments(args: Arguments) -> Arguments:
        n = args[0].size // 16 * 16
        return place(np.linspace(-3, 3, n)), aligned(n, np.float64), threads

    return InC("gaussian_threads", arguments, lambda x, *rest: gaussian_numpy(x, 0.0, 1.0))


def parallel_case(
    name: str,
    function: Callable[..., Any],
    inputs: Callable[[np.random.Generator, bool], Arguments],
    expected: Callable[..., Any],
    **options: Any,
) -> None:
    """A ufunc's parallel target beside its cpu target."""
    makers = ufuncs(function, signature("float64", function.__code__.co_argcount), PARALLEL)
    del makers["numba"]
    add(name, inputs=inputs, expected=expected, variants=makers, wall=True, **options)


def addition(x, y):
    return x + y


def pairs(kind: str) -> Callable[[np.random.Generator, bool], Arguments]:
    """Two inputs and a result of 1,000 x 1,000."""

    def inputs(rng: np.random.Generator, full: bool) -> Arguments:
        n = 1000 if full else 7
        if kind == "broadcast":
            x, y = place(rng.random((n, 1))), place(rng.random((1, n)))
        elif kind == "strided":
            x, y = (place(rng.random((2 * n, 3 * n)))[::2, ::3] for _ in range(2))
        else:
            x, y = (place(rng.random((n, n))) for _ in range(2))
        return x, y, aligned((n, n), np.float64)

    return inputs


def into(
    inputs: Callable[[np.random.Generator, bool], Arguments],
) -> Callable[[np.random.Generator, bool], Arguments]:
    """The inputs and an array for the result, as C has one: who makes a new one pays for its pages, which no core of ours brings."""

    def more(rng: np.random.Generator, full: bool) -> Arguments:
        args = inputs(rng, full)
        return *args, aligned(args[0].size, np.float64)

    return more


IN_C = {"c one thread": in_c_on(1), "c two threads": in_c_on(2)}
parallel_case(
    "two cores, gaussian f64",
    gaussian_f64,
    into(gaussian_inputs("float64", TEN_MILLION)),
    lambda *args: gaussian_expected(*args[:-1]),
    in_c=IN_C,
    rtol=1e-14,
)
parallel_case(
    "two cores, black-scholes f64",
    black_scholes_f64,
    into(black_scholes_inputs("float64", TEN_MILLION)),
    lambda *args: black_scholes_expected(*args[:-1]),
    in_c=IN_C,
    rtol=1e-13,
    every=11,
)
parallel_case(
    "1,000 elements",
    addition,
    lambda rng, full: (place(rng.random(1000)), place(rng.random(1000)), aligned(1000, np.float64)),
    lambda x, y, out: x + y,
)
for kind in ("broadcast", "strided", "contiguous"):
    parallel_case(f"two cores, {kind}", addition, pairs(kind), lambda x, y, out: x + y)


DEVICE = "treadle-cuda"
ON_DEVICE = "treadle-cuda on device arrays"


def on_device(function: Callable[..., Any]) -> Callable[..., Any]:
    """The ufunc called with arrays of the device over the memory of those that are given, the last of which is the result."""
    from_dlpack = importlib.import_module("treadle").cuda.from_dlpack
    seen: dict[int, Any] = {}

    def call(*args: Any) -> Any:
        for a in args:
            if id(a) not in seen:
                seen[id(a)] = from_dlpack(a)
        *inputs, out = [seen[id(a)] for a in args]
        function(*inputs, out=out)
        return args[-1]

    return call


def device_case(name: str, function: Callable[..., Any], dtype: str, inputs: Any, **options: Any) -> None:
    """A ufunc of the emulated device, on arrays of the host and of the device, beside its parallel target."""
    given = signature(dtype, function.__code__.co_argcount)
    makers = ufuncs(function, given, PARALLEL, DEVICE)
    del makers["numba"], makers["treadle"]
    makers[ON_DEVICE] = lambda: on_device(peers.vectorizer(DEVICE, [given])(function))
    add(name, inputs=inputs, variants=makers, wall=True, every=11, **options)


def arrays_and_out(count: int, dtype: str) -> Callable[[np.random.Generator, bool], Arguments]:
    """So many arrays of ten million, and one for the result."""

    def inputs(rng: np.random.Generator, full: bool) -> Arguments:
        n = TEN_MILLION if full else 97
        return *(random(rng, -1, 1, n, dtype) for _ in range(count)), aligned(n, np.dtype(dtype))

    return inputs


for bits in ("f32", "f64"):
    dtype = f"float{bits[1:]}"
    device_case(
        f"device, a*x + y {bits}",
        saxpy,
        dtype,
        arrays_and_out(3, dtype),
        expected=lambda a, x, y, out: np.float64(a) * x + y,
        rtol=1e-6 if bits == "f32" else 1e-13,
    )
    device_case(
        f"device, polynomial {bits}",
        polynomial,
        dtype,
        arrays_and_out(1, dtype),
        expected=lambda x, out: polynomial(x.astype(np.float64)),
        rtol=1e-6 if bits == "f32" else 1e-13,
    )


def running_sum(a):
    return np.cumsum(a)


def masked(a, mask):
    return a[mask]


def masked_inputs(rng: np.random.Generator, full: bool) -> Arguments:
    """Half of the elements are kept, at random."""
    a = rng.random(TEN_MILLION if full else 97)
    return place(a), place(rng.random(a.size) < 0.5)


def squares_above(a, c):
    y = a * a + 1
    return y[y > c]


def beside_a_copy(function: Callable[..., Any]) -> dict[str, Maker]:
    """`njit` and NumPy, and copying the first argument in place of it."""

    def copying() -> Callable[..., Any]:
        kept: dict[int, tuple[np.ndarray, Any]] = {}

        def copy(a, *rest):
            if a.size not in kept:  # what is right is computed once
                kept[a.size] = np.empty_like(a), function(a, *rest)
            to, result = kept[a.size]
            np.copyto(to, a)
            return result

        return copy

    makers = jits(function)
    del makers["numba"]
    return makers | {"copy": copying}


def singles(rng: np.random.Generator, full: bool) -> np.ndarray:
    return place(rng.random(4 * MILLION if full else 97, np.float32))


add(
    "cumsum f32",
    inputs=lambda rng, full: (singles(rng, full),),
    expected=lambda a: np.cumsum(a.astype(float)),
    variants=beside_a_copy(running_sum),
    rtol=1e-3,  # NumPy's own
)
add(
    "a[mask] f32",
    inputs=lambda rng, full: (singles(rng, full), place(rng.random(4 * MILLION if full else 97) < 0.5)),
    expected=masked,
    variants=beside_a_copy(masked),
)
add(
    "y = a*a + 1; y[y > c] f32",
    inputs=lambda rng, full: (singles(rng, full), np.float32(1.25)),
    expected=squares_above,
    variants=beside_a_copy(squares_above),
)


def binned(i, w):
    h = np.zeros(1000)
    np.add.at(h, i, w * 2)
    return h


def binned_inputs(rng: np.random.Generator, full: bool) -> Arguments:
    """As many indices as values, into a thousand places, at random."""
    n = TEN_MILLION if full else 97
    return place(rng.integers(-1000, 1000, n)), place(rng.random(n))


def on_both(function: Callable[..., Any]) -> dict[str, Maker]:
    """`njit` for one core and for all, and NumPy."""
    makers = jits(function)
    del makers["numba"]
    return makers | {PARALLEL: lambda: peers.decorator(PARALLEL)(function)}


add(
    "two cores, cumsum",
    inputs=lambda rng, full: (place(rng.random(TEN_MILLION if full else 97)),),
    expected=running_sum,
    variants=on_both(running_sum),
    rtol=1e-9,
    wall=True,
)
add(
    "two cores, np.add.at",
    inputs=binned_inputs,
    expected=binned,
    variants=on_both(binned),
    rtol=1e-9,
    wall=True,
)
add(
    "two cores, a[mask]",
    inputs=masked_inputs,
    expected=masked,
    variants=on_both(masked),
    wall=True,
)

# --- two cores: loops over a prange whose bodies are small ------------------------------------------


def shortest_paths(prange: Any) -> Callable[..., Any]:
    """Floyd and Warshall's."""

    def function(a, b, out):
        out[:, :] = a
        n = out.shape[0]
        for k in range(n):
            for i in prange(n):
                for j in range(n):
                    t = out[i, k] + out[k, j]
                    if t < out[i, j]:
                        out[i, j] = t
        return out

    return function


def triangular_product(prange: Any) -> Callable[..., Any]:
    def function(a, b, out):
        n = out.shape[0]
        for i in range(n):
            for j in prange(n):
                s = 0.0
                for k in range(i + 1):
                    s += a[i, k] * b[k, j]
                out[i, j] = s
        return out

    return function


def symmetric_product(prange: Any) -> Callable[..., Any]:
    """As PolyBench's symm, whose inner loop walks down columns."""

    def function(a, b, out):
        n = out.shape[0]
        out[:, :] = 0.0
        for i in range(n):
            for j in prange(n):
                s = 0.0
                for k in range(i):
                    out[k, j] += b[i, j] * a[i, k]
                    s += b[k, j] * a[i, k]
                out[i, j] += b[i, j] * a[i, i] + s
        return out

    return function


def rank_k_update(prange: Any) -> Callable[..., Any]:
    def function(a, b, out):
        out[:, :] = 0.0
        for i in range(a.shape[0]):
            for k in range(a.shape[1]):
                for j in prange(i + 1):
                    out[i, j] += a[i, k] * a[j, k]
        return out

    return function


def quotients(prange: Any) -> Callable[..., Any]:
    """Where iterations store is looked at before the loop, which is too little work for that."""

    def function(a, b, out):
        k = a.shape[0] // out.shape[0]
        x, y = a.reshape(-1), out.reshape(-1)
        for i in prange(x.size):
            y[i // k] = x[i]
        return out

    return function


def place_of_the_largest(prange: Any) -> Callable[..., Any]:
    def function(a, b, out):
        x = a.reshape(-1)
        best, at = -1.0, -1
        for i in prange(x.size):
            v = np.exp(x[i]) * b[0, 0]
            if v > best:
                best = v
                at = i
        out[:, :] = at
        return out

    return function


def shortest_paths_numpy(a, b, out):
    out = a.copy()
    for k in range(a.shape[0]):
        np.minimum(out, out[:, k : k + 1] + out[k], out=out)
    return out


def squares(rng: np.random.Generator, full: bool) -> Arguments:
    n = SMALL_LOOPS if full else 9
    return place(rng.random((n, n))), place(rng.random((n, n))), aligned((n, n), np.float64)


def with_prange(variant: str, make: Callable[[Any], Callable[..., Any]]) -> Maker:
    return lambda: peers.decorator(variant)(make(importlib.import_module("treadle").prange))


SMALL_LOOPS = 200
for case_name, make, expected in (
    ("shortest paths", shortest_paths, shortest_paths_numpy),
    ("triangular product", triangular_product, lambda a, b, out: np.tril(a) @ b),
    ("symmetric product", symmetric_product, lambda a, b, out: (np.tril(a) + np.tril(a, -1).T) @ b),
    ("rank-k update", rank_k_update, lambda a, b, out: np.tril(a @ a.T)),
    ("quotients", quotients, lambda a, b, out: a),
    ("argmax", place_of_the_largest, lambda a, b, out: np.full(a.shape, float(a.argmax()))),
):
    add(
        f"two cores, {case_name}",
        inputs=squares,
        expected=expected,
        variants={variant: with_prange(variant, make) for variant in ("treadle", PARALLEL)},
        rtol=1e-9,
        wall=True,
    )
