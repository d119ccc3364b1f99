"""Every row of the benchmark: what is compared with what, floor and goal.

The one list.  A row takes samples that the measuring functions collect under
(measurement, variant), reduces each side by `statistic`, and divides; a row
without a peer is judged by its own figure.  A smaller figure is better in all.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import containers  # noqa: F401  (its cases are measured)
import elementwise
import emulated
import kernels
import library_cases
import loop_cases
import numpy_cases
import parallel_cases
import program_cases
from child_calls import DEVICE_UFUNC, KINDS, LAUNCH_KINDS, LIBRARY_KINDS, UFUNC_KINDS
from elementwise import DEVICE, ON_DEVICE, PARALLEL

Samples = dict[str, dict[str, list[float]]]

REDUCE: dict[str, Callable[[Sequence[float]], float]] = {
    "min": min,
    "median": statistics.median,
}


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    name : str
        Unique, `group/what`; `--only` matches it.
    measurement : str
        Key of the samples.
    ours, theirs : str
        Variants; `theirs` is empty for a row judged by its own figure.
    statistic : str
        'min' for run times, 'median' for waits.
    unit : str
        'ns', 'us', 'ms', 'MiB', 'ns/el' (for an element) or '' (a plain number).
    floor, goal : float or None
        Largest ratio (or figure) that passes; None where none is asked.
    """

    name: str
    measurement: str
    ours: str
    theirs: str
    statistic: str
    unit: str
    floor: float | None
    goal: float | None

    @property
    def group(self) -> str:
        return self.name.split("/")[0]

    @property
    def measurements(self) -> tuple[str, ...]:
        """What must be measured for it."""
        return (self.measurement,)

    def figure(self, samples: Samples, variant: str) -> float | None:
        """The reduced figure of one side, None where it was not measured."""
        values = samples.get(self.measurement, {}).get(variant)
        return REDUCE[self.statistic](values) if values else None

    def value(self, samples: Samples) -> float | None:
        """What is judged: the ratio, or the figure itself."""
        ours = self.figure(samples, self.ours)
        if not self.theirs or ours is None:
            return ours
        theirs = self.figure(samples, self.theirs)
        return None if theirs is None else ours / theirs


@dataclass(frozen=True)
class Gain(Row):
    """A row about two cores: each figure is a time with both as a share of the time with one.

    `of` says where the peer's two times are: measurement, variant on both cores, variant on one;
    ours are `ours` and the variant 'treadle' of the row's own measurement.
    """

    of: tuple[str, str, str] = ("", "", "")

    @property
    def measurements(self) -> tuple[str, ...]:
        return self.measurement, self.of[0]

    def figure(self, samples: Samples, variant: str) -> float | None:
        mine = variant == self.ours
        where, both, one = (self.measurement, self.ours, "treadle") if mine else self.of
        times = [samples.get(where, {}).get(name) for name in (both, one)]
        return REDUCE[self.statistic](times[0]) / REDUCE[self.statistic](times[1]) if all(times) else None


@dataclass(frozen=True)
class Mean:
    """The geometric mean of other rows' ratios; only over all of them is it judged."""

    name: str
    members: tuple[str, ...]
    floor: float | None
    goal: float | None

    @property
    def group(self) -> str:
        return self.name.split("/")[0]

    def value(self, values: Mapping[str, float | None]) -> float | None:
        """The mean, or None while a member is missing."""
        ratios = [values.get(member) for member in self.members]
        known = [ratio for ratio in ratios if ratio is not None]
        if len(known) < len(ratios):
            return None
        return math.exp(statistics.fmean(math.log(ratio) for ratio in known))


def wait(name: str, floor: float, goal: float, theirs: str = "numba") -> Row:
    return Row(name, name, "treadle", theirs, "median", "ms", floor, goal)


def call(kind: str) -> Row:
    return Row(f"call/{kind}", f"call/{kind}", "treadle", "numba", "min", "ns", 1 / 3, 1 / 5)


def against(
    name: str,
    peers: dict[str, tuple[float | None, float | None]],
    unit: str,
    group: str,
    ours: str = "treadle",
) -> list[Row]:
    """Rows of one elementwise case, one for each peer with its floor and goal."""
    return [
        Row(f"{group}/{name} ({peer})", f"elementwise/{name}", ours, peer, "min", unit, floor, goal)
        for peer, (floor, goal) in peers.items()
    ]


def absolute(name: str, unit: str, floor: float | None, goal: float | None, statistic: str = "min") -> Row:
    """A case of treadle.parallel that is judged by its own figure."""
    return Row(f"parallel/{name}", f"elementwise/{name}", "treadle", "", statistic, unit, floor, goal)


def gain(
    name: str, case: str, peer: str, of: tuple[str, str, str], floor: float | None, goal: float | None
) -> Row:
    """What the parallel target gains on two cores, against another gain."""
    where = f"elementwise/two cores, {case}"
    return Gain(f"two cores/{name}", where, PARALLEL, peer, "min", "", floor, goal, of)


def gain_of_c(case: str) -> Row:
    of = (f"elementwise/two cores, {case}", "c two threads", "c one thread")
    return gain(case, case, "c", of, 1 / 0.92, 1 / 0.98)


def gain_of_contiguous(case: str) -> Row:
    of = ("elementwise/two cores, contiguous", PARALLEL, "treadle")
    return gain(f"{case} (contiguous)", case, "contig.", of, None, SAME)


# Where two programs should do the very same, the smaller of them is chance; this much is within it.
SAME = 1.03
TRIAD = 1 / 0.95
NOTHING = (None, None)
BOUND_BY_MEMORY = ("saxpy", "polynomial", "complex multiply", "select")
# Six runs of one code gave 1.03 to 1.06: where its three arrays lie is chance, too.
PLACED = {"complex multiply": (1.07, None)}
# What peers compute one number at a time.
IN_VECTORS = {"remainder": (1 / 6, 1 / 12)}

# 0.99 on an Intel Xeon, 1.27 on an AMD EPYC: README.md says why.
KERNEL_FLOORS = {"waiting_times": 1.3}

# Its table is larger, so the C library has fewer products one after the other.
CHAIN_FLOORS = {"exp": 1.2}

# Ufuncs, array expressions and two cores: the second section of the table.
ELEMENTWISE: list[Row] = [
    *(
        row
        for bits in ("f64", "f32")
        for row in against(
            f"gaussian {bits}",
            {"numba": (1 / 4, 1 / 8), "numpy": (1 / 1.5, 1 / 3), "numexpr": NOTHING},
            "ns/el",
            "ufunc",
        )
    ),
    *(
        row
        for bits in ("f64", "f32")
        for row in against(f"black-scholes {bits}", {"numba": (1 / 2.5, 1 / 8)}, "ns/el", "ufunc")
    ),
    *(
        row
        for name in elementwise.SHORT
        for row in against(
            name,
            {"numba": (IN_VECTORS | PLACED).get(name, (SAME, None))}
            | ({"c": (None, TRIAD)} if name in BOUND_BY_MEMORY else {}),
            "ns/el",
            "ufunc",
        )
    ),
    *(
        row
        for name in elementwise.COMPLEX
        for row in against(
            f"complex {name}", {"numba": (1 / 3, 1 / 6), "numpy": (1 / 3, 1 / 6)}, "ns/el", "ufunc"
        )
    ),
    *(
        row
        for name in elementwise.FUNCTIONS
        for bits in ("f64", "f32")
        for row in against(
            f"{name} {bits}",
            {"sleef": (SAME, None), "numpy": (None, 1.0), "numba": NOTHING},
            "ns/el",
            "math",
        )
    ),
    *(
        row
        for name in elementwise.CHAINS
        for row in against(
            f"chain {name}", {"libm": (CHAIN_FLOORS.get(name, 1.05), 0.9), "numba": NOTHING}, "ns/el", "math"
        )
    ),
    *against("a*2 + b*c - d", {"numba": (1.0, 1 / 1.3), "numpy": (1 / 2.3, 1 / 3)}, "us", "array"),
    *against("bincount", {"numpy": (0.7, 1 / 2), "numba": NOTHING}, "us", "array"),
    *against("histogram", {"numpy": (0.65, 1 / 4), "numba": (1.2, 1.0)}, "us", "array"),
    *against("n-body of records", {"arrays": (1.1, 1.0), "numba": NOTHING}, "us", "array"),
    *against("row norms", {"numpy": (1 / 2, 1 / 4), "numba": NOTHING}, "us", "array"),
    # 1.1 and 0.9 of JAX's time, where NumPy's is 5.8 times that.
    *against("softmax", {"numpy": (1.1 / 5.8, 0.9 / 5.8)}, "us", "array"),
    *against("x - column, rows of 8", {"numpy": (0.8, 0.6)}, "us", "array"),
    # NumPy is given all rows as one product, which its BLAS shares among all cores.
    *against("rows by a matrix", {"numpy": (2.0, 1.4)}, "us", "array"),
    *against("horizontal diffusion", {"numpy": (1 / 4, 1 / 6), "numba": NOTHING}, "us", "array"),
    # 8 and 16 GFLOP/s where NumPy has 0.7.
    *against("convolution", {"numpy": (1 / 12, 1 / 24)}, "us", "array"),
    *against("convolution, 4 filters", {"numpy": (1 / 40, 1 / 65)}, "us", "array"),
    # JAX takes 4.6 and 79 ns a product.
    *against("products of 4 x 4", {"numpy": (1 / 4, 1 / 6)}, "us", "array"),
    *against("products of 8 x 8", {"numpy": (0.75, 0.6)}, "us", "array"),
    *against("out[:] = a*2 + b*c", {"numba": (1.0, 1 / 1.3), "numpy": (1 / 2, 1 / 3)}, "us", "array"),
    *against("a[a > 0].sum()", {"numpy": (1 / 4, 1 / 10), "numba": NOTHING}, "us", "array"),
    # Against copying as many items.
    *against("cumsum f32", {"copy": (1.3, 1.05), "numpy": (1 / 6, 1 / 10)}, "us", "array"),
    *against("a[mask] f32", {"copy": (1.1, 0.85), "numpy": (1 / 10, 1 / 15)}, "us", "array"),
    *against("y = a*a + 1; y[y > c] f32", {"copy": (1.2, 0.9), "numpy": (1 / 10, 1 / 15)}, "us", "array"),
    # Memory is the limit, so the floor is against copying as much; NumPy pays for new pages too, and how much differs between machines.
    *against(
        "b = a + 1, loop in Python",
        {"copy": (1.25, 1.1), "numpy": (SAME, 1 / 2), "numba": NOTHING},
        "us",
        "array",
    ),
    *against(
        "b = a + 1, loop compiled",
        {"copy": (1.15, SAME), "numpy": (SAME, 1 / 2), "numba": NOTHING},
        "us",
        "array",
    ),
    gain_of_c("gaussian f64"),
    gain_of_c("black-scholes f64"),
    *(
        row
        for name in ("broadcast", "strided")
        for row in (
            Row(
                f"two cores/{name}",
                f"elementwise/two cores, {name}",
                PARALLEL,
                "treadle",
                "min",
                "us",
                1 / 1.5,
                None,
            ),
            gain_of_contiguous(name),
        )
    ),
    *(
        row
        # One core sums and packs as fast as it copies, so there is what memory gives two more than one: for sums, read
        # and written at 55 GB/s by one, 0.8 to 1.17, by what else the machine does.
        for name, gain in (("cumsum", 1.2), ("a[mask]", 1.0), ("np.add.at", 1 / 1.5))
        for row in (
            Row(
                f"two cores/{name}",
                f"elementwise/two cores, {name}",
                PARALLEL,
                "treadle",
                "min",
                "us",
                gain,
                1 / 1.8,
            ),
            Row(
                f"two cores/{name} (numpy)",
                f"elementwise/two cores, {name}",
                "treadle",
                "numpy",
                "min",
                "us",
                1,
                1 / 2,
            ),
        )
    ),
    *(
        Row(
            f"two cores/{name}",
            f"elementwise/two cores, {name}",
            PARALLEL,
            "treadle",
            "min",
            "us",
            floor,
            1 / 1.6,
        )
        for name, floor in (
            ("shortest paths", 0.95),
            ("triangular product", SAME),
            ("symmetric product", SAME),
            ("rank-k update", SAME),
            ("quotients", 1.3),
            ("argmax", 1.1),
        )
    ),
    Row(
        "two cores/1,000 elements",
        "elementwise/1,000 elements",
        PARALLEL,
        "treadle",
        "min",
        "ns",
        1.15,
        1.05,
    ),
    *(
        Row(
            f"device/{case} {bits}, {where}",
            f"elementwise/device, {case} {bits}",
            variant,
            PARALLEL,
            "min",
            "us",
            1.3,
            1.05,
        )
        for case in ("a*x + y", "polynomial")
        for bits in ("f32", "f64")
        for where, variant in (("NumPy's arrays", DEVICE), ("device arrays", ON_DEVICE))
    ),
    *(
        Row(f"ufunc call/{kind} ({peer})", f"ufunc call/{kind}", "treadle", peer, "min", "ns", floor, goal)
        for kind in UFUNC_KINDS
        for peer, floor, goal in (("numpy", 0.7, 0.4), ("numba", None, None))
    ),
    Row(
        "first use/ten array statements",
        "first use/arrays",
        "treadle",
        "numba",
        "median",
        "ms",
        1 / 15,
        1 / 40,
    ),
    Row("first use/lazy ufunc", "first use/ufunc", "treadle", "numba", "median", "ms", 1 / 8, 1 / 15),
]

# NumPy's functions, and loops over parts of arrays: the third section. Sorts, the order of equal items with them, and LAPACK are NumPy's own on both sides.
# Where it is one function called from two sides, 1.0 is what comes out, a little more or less.
SAME_CODE = ("sort float64", "sort int32", "argsort int32")
NOISE = 1.03
ORDERS = (
    "argsort float64",
    "searchsorted",
    "unique",
    "unique, few",
    "median",
)
COUNTS = (
    "bincount 1e7",
    "histogram 1e7",
    "histogram 1e7, even edges",
    "histogram 1e7, uneven edges",
    "digitize 1e7",
)
LAYOUTS = tuple(
    f"{name}, {layout}"
    for name in ("a.flat", "ndenumerate", "zip of two flats", "nditer of two")
    for layout in numpy_cases.LAYOUTS
)

# What Numba says of these is that they are deprecated; a list's way in is its slowest part.
IN_CPYTHON = (1 / 4, 1 / 8)
IN_NUMBA = {"numba": (0.5, 0.25), "python": IN_CPYTHON}
# Tables without an order, which no iteration of ours may lose
IN_ABSEIL = (1.3, 1.0)
# What is said of a container's first call: the kind of `sources.source`
FIRST_CONTAINERS = {
    "list comprehension": "comprehension",
    "dict": "dict",
    "dict of strings": "strings",
    "count words": "words",
}
CONTAINERS: list[Row] = [
    *against("append and iterate", {"numba": (0.8, 0.4), "c": (0.6, 0.3)}, "ns/el", "containers"),
    *against("list in, read", {"numba": (1 / 50, 1 / 300)}, "ns/el", "containers"),
    *against("list in, changed", {"numba": (1 / 30, 1 / 200)}, "ns/el", "containers"),
    # Python's floats, made and let go, are nearly all of it: 12.4 ns an item here, 17.4 in ndarray.tolist()
    *against("list out", {"numba": (1.0, 0.9)}, "ns/el", "containers"),
    *against("typed.List of a list", {"numba": (1 / 50, 1 / 500)}, "ns/el", "containers"),
    *against("l[i] of a typed.List", {"numba": (1 / 10, 1 / 25), "python": NOTHING}, "ns/el", "containers"),
    *against("d[k] of a typed.Dict", {"numba": (1 / 10, 1 / 25), "python": NOTHING}, "ns/el", "containers"),
    *against("dict of int64, insert", {**IN_NUMBA, "c++": IN_ABSEIL}, "ns/el", "containers"),
    *against("dict of int64, insert and find", {**IN_NUMBA, "c++": IN_ABSEIL}, "ns/el", "containers"),
    *against("dict of pairs, insert and find", {**IN_NUMBA, "c++": IN_ABSEIL}, "ns/el", "containers"),
    *against(
        "dict of 1,000, find",
        {"numba": (0.6, 0.35), "python": IN_CPYTHON, "c++": IN_ABSEIL},
        "ns/el",
        "containers",
    ),
    *against(
        "set of int64, add and ask",
        {"numba": (0.6, 0.35), "python": IN_CPYTHON, "c++": IN_ABSEIL},
        "ns/el",
        "containers",
    ),
    *(
        row
        for name in ("split", "split and join")
        for row in against(name, {"numba": NOTHING, "python": (1 / 2, 1 / 4)}, "ns/el", "containers")
    ),
    *against("count words", {"numba": (1 / 3, 1 / 7), "python": (1 / 2, 1 / 4)}, "ns/el", "containers"),
    *against("str(int)", {"numba": (1.0, 0.6), "python": (1 / 2, 1 / 4)}, "ns/el", "containers"),
    *(
        row
        for name in ("str(float)", 'f"{x:.3f}"')
        for row in against(name, {"python": (1 / 2, 1 / 4)}, "ns/el", "containers")
    ),
    Row(
        "containers/call with 1,000 strings",
        "elementwise/call with 1,000 strings",
        "treadle",
        "",
        "min",
        "ns",
        80e-9,
        60e-9,
    ),
    *(
        Row(
            f"containers/first call, {name}",
            f"first use/{kind}",
            "treadle",
            "numba",
            "median",
            "ms",
            1 / 20,
            1 / 80,
        )
        for name, kind in FIRST_CONTAINERS.items()
    ),
]

LIBRARY: list[Row] = [
    *(row for name in SAME_CODE for row in against(name, {"numpy": (NOISE, 0.8)}, "us", "numpy")),
    *(row for name in ORDERS for row in against(name, {"numpy": (1.0, 0.8)}, "us", "numpy")),
    *(
        row
        for dtype in ("float64", "int32")
        for row in against(f"argsort {dtype}, stable", {"numpy": (1 / 6, 1 / 8)}, "us", "numpy")
    ),
    *(
        row
        for name in ("random", "normal", "randint")
        for row in (
            *against(f"{name} one by one", {"numba": (1.0, 0.6)}, "ns/el", "numpy"),
            *against(f"{name} in bulk", {"numpy": (1.0, 0.5)}, "ns/el", "numpy"),
        )
    ),
    *against("binomial one by one", {"numba": (1.1, 0.9)}, "ns/el", "numpy"),
    *(
        row
        for name in ("solve", "inv")
        for row in (
            *against(f"{name} 3x3 in a loop", {"numba": (1 / 4, 1 / 10)}, "ns/el", "numpy"),
            *against(f"{name} 500x500", {"numpy": (1.02, 1.0), "numba": NOTHING}, "us", "numpy"),
        )
    ),
    *(
        row
        for name in (
            *("log1p, float64", "log1p, float32", "k // 7, int64", "m @ m.T"),
            "a.sum(axis=0), float32",
        )
        for row in against(name, {"numpy": (1.1, 1.0)}, "us", "numpy")
    ),
    # 110 or 180 us in NumPy, by the process; 134 here, of which blocks that are added in pairs are an eighth
    *against("a.sum(axis=0), float64", {"numpy": (1.3, 1.0)}, "us", "numpy"),
    *(row for name in COUNTS for row in against(name, {"numpy": (1 / 2, 1 / 5)}, "us", "numpy")),
    *(
        row
        for share in numpy_cases.SHARES
        for row in against(f"flatnonzero, {share}", {"numpy": (1.0, None)}, "us", "numpy")
    ),
    *(
        row
        for name in numpy_cases.TEXTS
        for row in against(name, {numpy_cases.CPYTHON: (1 / 2, 1 / 4)}, "ns/el", "parts")
    ),
    *against("x[a:b].mean()", {"numba": (1.2, 1.0)}, "ns/el", "parts"),
    *(
        row
        for name in ("life, around the edges", "a[(y + dy) % h, x]")
        for row in against(name, {"treadle-unchecked": (1.05, 1.0), "numba": NOTHING}, "us", "parts")
    ),
    *(row for name in LAYOUTS for row in against(name, {"numba": (1.1, 1.0)}, "ns/el", "parts")),
    *(
        row
        for name in ("nditer in place", "nditer from one to another")
        for row in against(name, {"numba": (1.1, 1.0)}, "ns/el", "parts")
    ),
    *(
        row
        for name in numpy_cases.FILTERS
        for row in against(name, {"numba": (1.15 if "5x5" in name else 1.05, 1.0)}, "us", "parts")
    ),
    *(row for name in numpy_cases.SHORT_ROWS for row in against(name, {"numba": (1.1, 1.0)}, "us", "parts")),
    *(
        row
        for text in numpy_cases.POWERS
        for row in against(f"x ** {text}", {"numba": (numpy_cases.POWERS[text], 1.0)}, "us", "parts")
    ),
    *(
        row
        for name in numpy_cases.NEIGHBOURS
        for row in against(f"offsets in {name}", {"numba": (1.1, 1.0)}, "us", "parts")
    ),
    *(row for name in numpy_cases.RECURSIVE for row in against(name, {"numba": (1.1, 1.0)}, "us", "parts")),
    *(
        row
        for name in numpy_cases.SERIAL
        # what is within 4 ULP of a negative power takes more than Numba's reciprocal of a product
        for row in against(
            f"serial, {name}", {"numba": (1.2 if name == "x ** -n" else 1.1, 1.0)}, "us", "parts"
        )
    ),
    *(
        row
        for name, most in loop_cases.LOOPS.items()
        for row in against(name, {"numba": (most, 1.0)}, "us", "loops")
    ),
    *against("stencil, 5 points", {numpy_cases.BY_HAND: (1.1, 1.0), "numba": NOTHING}, "us", "parts"),
    *(
        row
        for name in numpy_cases.STATEMENTS
        for row in against(f"statements, {name}", {numpy_cases.BY_HAND: (1.15, 1.0)}, "ns/el", "parts")
    ),
    Row(
        f"two cores/stencil ({numpy_cases.BY_HAND})",
        "elementwise/two cores, stencil",
        PARALLEL,
        numpy_cases.BY_HAND,
        "min",
        "us",
        1.1,
        1.0,
    ),
    Row("two cores/gufunc", "elementwise/two cores, gufunc", PARALLEL, "treadle", "min", "us", 1.0, 1 / 1.7),
    *(
        Row(f"first use/{name}", f"first use/{kind}", "treadle", "numba", "median", "ms", 1 / 12, 1 / 30)
        for name, kind in (("np.random.random", "random"), ("np.linalg.solve", "solve"))
    ),
]

# treadle.parallel, the fourth section. A floor that is aimed at and not reached is written beside its row: as soon as a
# row has it, it goes in place of None.
GRAPHS: list[Row] = [
    *against(
        "map and reduce",
        {"copy": (0.65, 0.55), "triad": NOTHING, "c": NOTHING, "numpy": NOTHING},
        "us",
        "parallel",
    ),
    # asked: 1.3 of a copy's time, 1/6 of NumPy's
    *against("running sum", {"copy": (None, 1.05), "numpy": (None, 1 / 8), "c": NOTHING}, "us", "parallel"),
    # asked: 1.1 of a copy's time, 1/10 of NumPy's; with a map 1.2
    *against("filter", {"copy": (None, 0.85), "numpy": (None, 1 / 12), "c": NOTHING}, "us", "parallel"),
    *against("map and filter", {"copy": (None, 0.9), "numpy": NOTHING, "c": NOTHING}, "us", "parallel"),
    *against("top 100", {"numpy": (1 / 2.7, 1 / 4)}, "us", "parallel"),
    *against(
        "map and top 100", {"numpy": (1 / 2.7, 1 / 4), parallel_cases.ALONE: (1.4, 1.1)}, "us", "parallel"
    ),
    absolute("top 10 of rows by size", "ns/el", 0.64e-9, 0.4e-9),
    *against("top 10 of rows by size", {"numpy": (1 / 8, 1 / 16)}, "ns/el", "parallel"),
    *against("argsort uint32, stable", {"numpy": (1 / 7, 1 / 9)}, "us", "parallel"),
    *(
        row
        for name, floor, goal in (("uniform", 1.2e-9, 0.8e-9), ("normal", 3e-9, 2e-9))
        for row in (
            absolute(f"random {name} float32", "ns/el", floor, goal),
            *against(
                f"random {name} float32",
                {"numpy": (None, None)} | ({"c": NOTHING} if name == "uniform" else {}),
                "ns/el",
                "parallel",
            ),
        )
    ),
    *(
        Row(f"parallel/sparse PCA, {way}", "elementwise/sparse PCA", way, "numpy", "min", "us", floor, goal)
        for way, floor, goal in (
            ("fused", 1 / 55, 1 / 70),
            ("early", 1 / 100, 1 / 130),
            ("pruned", 1 / 1400, 1 / 2300),
        )
    ),
    *(
        row
        for case, floor in (
            ("3, fused", 1 / 1.8),
            ("3, early", 1 / 1.8),
            ("3, pruned", None),
            ("4, pruned", 1 / 1.8),
        )
        for row in against(
            f"two cores, sparse PCA of {case}", {"treadle": (floor, 1 / 1.95)}, "us", "parallel", PARALLEL
        )
    ),
    *(
        row
        # of the second asked: 1/1.7
        for name, floor in (("mean and variance", 1 / 1.7), ("exponential smoothing", None))
        for row in (
            *against(name, {numpy_cases.BY_HAND: (1.1, 1.0)}, "us", "parallel"),
            Row(
                f"two cores/{name}",
                f"elementwise/two cores, {name}",
                PARALLEL,
                "treadle",
                "min",
                "us",
                floor,
                1 / 1.9,
            ),
        )
    ),
    *(
        row
        for name in program_cases.NAMES
        # of small ones asked: 1.2; building and evaluating a graph takes 1 to 3 us, which are in them
        for row in against(
            name,
            {numpy_cases.BY_HAND: (None if name.endswith(program_cases.SMALL) else 1.2, 1.0)},
            "us",
            "parallel",
        )
    ),
    absolute("building a node", "ns", 0.12e-6, 0.08e-6),
    absolute("graph of 20 nodes, only built", "us", None, 1.4e-6),
    # asked: 2 us of a graph that is there, and 1 us in the end; here it is built, too, as in the row above
    absolute("graph of 20 nodes", "us", 3.2e-6, 2.2e-6),
    absolute("first evaluation of 12", "ms", 50e-3, None, "median"),
    absolute("first evaluation of 500", "ms", 350e-3, None, "median"),
]

# Kernels on the emulated device, one core: against the same loops in C; a product's time is for a million operations (10 and 25 GFLOP/s), a barrier's for a thread.
EMULATED: list[tuple[str, str, float, float]] = [
    ("vector add", "us", 1.1, 1.0),
    ("saxpy, grid stride", "us", 1.1, 1.0),
    ("transpose, tiles", "us", 1.1, 1.0),
    ("stencil, 7 points", "us", 1.1, 1.0),
    ("reduction, tree", "us", 3.0, 1.5),
    ("reduction, shuffles", "us", 3.0, 1.5),
    ("product, tiles", "us", 1e-4, 4e-5),
    ("product, edges", "us", 1e-4, 4e-5),
    ("bodies, tiles", "us", 1.0, 0.3),
    ("barrier", "ns", 0.5e-9, 0.2e-9),
    # for an item: 1 to 2.5 billion a second, and 150 million normal ones; of MRG32k3a nothing was asked
    ("random, philox", "ns", 1 / 1.0e9, 1 / 1.3e9),
    ("random, xorwow", "ns", 1 / 2.5e9, 1 / 3.5e9),
    ("random, mrg32k3a", "ns", 1 / 0.4e9, 1 / 0.6e9),
    ("random, sobol", "ns", 1 / 1.5e9, 1 / 2.0e9),
    ("random, normal", "ns", 1 / 150e6, 1 / 300e6),
    ("random, normal float64", "ns", 1 / 150e6, 1 / 300e6),
]

# CUDA's libraries on the emulated device: one core against SciPy with one worker, and two cores against one.
FOURIER: list[Row] = [
    row
    for bits in library_cases.PRECISIONS
    for form in library_cases.FORMS
    for kind, floor, goal in (("C2C", 1.2, 1.0), ("R2C", 1.5, 1.1))
    for row in against(library_cases.name_of(kind, bits, form), {"scipy": (floor, goal)}, "us", "library")
] + [
    Row(f"library/{case}", f"elementwise/{case}", PARALLEL, "treadle", "min", "us", 1 / 1.7, 1 / 1.9)
    for case in library_cases.IN_PARALLEL
]

# Sorting there, on one core, against NumPy.
SORTING: list[Row] = [
    row
    for name, (_, _, floor, goal) in library_cases.SORTS.items()
    for row in against(name, {"numpy": (floor, goal)}, "us", "library")
]

# BLAS's routines there, against NumPy with the same library; what a call takes beside its routine.
BLAS: list[Row] = [
    row
    for routine, sizes in library_cases.PRODUCTS.items()
    for n in sizes
    for row in against(f"BLAS {routine}, {n:,}", {"numpy": (1.05, 1.0)}, "us", "library")
] + [
    Row(
        f"library/{library_cases.A_CALL}",
        f"elementwise/{library_cases.A_CALL}",
        "treadle",
        "",
        "min",
        "us",
        1.5e-6,
        1e-6,
    )
]

# A sparse matrix times a vector, on one core and two, against SciPy.
SPARSE: list[Row] = [
    *against(library_cases.MATRIX, {"scipy": (1.0, 1 / 1.25)}, "us", "library"),
    Row(
        f"library/{library_cases.MATRIX_IN_PARALLEL}",
        f"elementwise/{library_cases.MATRIX_IN_PARALLEL}",
        PARALLEL,
        "scipy",
        "min",
        "us",
        1 / 1.7,
        1 / 2.2,
    ),
]

ROWS: list[Row] = [
    wait("import", 1 / 8, 1 / 30),
    wait("first call", 1 / 20, 1 / 60),
    wait("compile/sum", 1 / 12, 1 / 20),
    wait("compile/matmul", 1 / 12, 1 / 20),
    wait("compile/medium", 1 / 12, 1 / 20),
    Row("large/own share", "large/own share", "treadle", "", "median", "", 0.20, 0.10),
    Row("large/against O3", "large/total", "treadle", "llvm-O3", "median", "ms", 0.60, 0.45),
    # LLVM's dominator trees and scalar evolution grow a little faster than a function does.
    Row("large/doubled", "large/doubled", "twice", "once", "median", "ms", 2.4, 2.1),
    wait("cached call", 1 / 40, 1 / 400),
    *(call(kind) for kind in KINDS),
    Row("call/2 floats, of Python's", "call/2 floats", "treadle", "python", "min", "ns", None, 1.0),
    *(
        Row(f"launch/{kind}", f"launch/{kind}", "treadle", "", "min", "us", floor, goal)
        for kind, (floor, goal) in zip(LAUNCH_KINDS, ((0.6e-6, 0.3e-6), (1.5e-6, 0.8e-6)))
    ),
    *(
        Row(f"gpu launch/{kind}", f"gpu launch/{kind}", "treadle", "", "min", "us", floor, goal)
        for kind, (floor, goal) in zip(
            (*LAUNCH_KINDS, DEVICE_UFUNC), ((0.6e-6, 0.35e-6), (1.5e-6, 0.9e-6), (10e-6, 2e-6))
        )
    ),
    *(
        Row(f"{where}/{kind}", f"{where}/{kind}", "treadle", "", "min", "us", floor, goal)
        for where, floor, goal in (("library call", 1.5e-6, 0.6e-6), ("gpu library call", 2e-6, 1e-6))
        for kind in LIBRARY_KINDS
    ),
    *(
        Row(
            f"kernel/{name}",
            f"kernel/{name}",
            "treadle",
            "c" if emulated.CASES[name].c else "",
            "min",
            unit,
            floor,
            goal,
        )
        for name, unit, floor, goal in EMULATED
    ),
    *(
        Row(
            f"kernel/random, {name}, cuRAND's",
            f"kernel/random, {name}",
            "treadle",
            "curand",
            "min",
            "ns",
            None,
            None,
        )
        for name in emulated.DRAWS
    ),
    *(
        Row(f"kernel/{name}, simulator", f"kernel/{name}", "treadle", "numba", "min", "us", 1e-4, 1e-5)
        for name in emulated.SIMULATED
    ),
    Row(
        "kernel/product, two cores",
        "kernel/product on two cores",
        "two",
        "one",
        "min",
        "ms",
        1 / 1.8,
        1 / 1.95,
    ),
    Row("kernel/first launch", "kernel/first launch", "treadle", "", "median", "ms", 40e-3, 10e-3),
    Row("kernel/first PTX", "kernel/first PTX", "treadle", "", "median", "ms", 15e-3, 8e-3),
    *(
        Row(f"run/{name}", f"run/{name}", "treadle", "numba", "min", "us", KERNEL_FLOORS.get(name, 1.2), 1.05)
        for name in kernels.CASES
    ),
    *(
        Row(f"c/{name}", f"run/{name}", "treadle-unchecked", "c", "min", "us", None, None)
        for name in kernels.CASES
    ),
    *(
        Row(f"c-strict/{name}", f"run/{name}", "treadle-unchecked", "c-strict", "min", "us", None, None)
        for name in kernels.CASES
    ),
    Row("pool/launch", "pool/launch", "treadle", "", "median", "us", 5e-6, 2e-6),
    Row("memory/1,000 functions", "memory", "treadle", "", "min", "MiB", 4.0, 1.0),
    *ELEMENTWISE,
    *CONTAINERS,
    *LIBRARY,
    *FOURIER,
    *SORTING,
    *BLAS,
    *SPARSE,
    *GRAPHS,
]


def mean(name: str, group: str, floor: float | None, goal: float | None) -> Mean:
    return Mean(name, tuple(f"{group}/{case}" for case in kernels.CASES), floor, goal)


MEANS: list[Mean] = [
    mean("run/geometric mean", "run", 1.0, 0.95),
    mean("c/geometric mean", "c", 1.08, 1.02),
    mean("c-strict/geometric mean", "c-strict", None, None),
]


def verdict(value: float | None, floor: float | None, goal: float | None) -> str:
    """One word for a row: 'goal', 'floor', 'BELOW', 'missing' or '' (nothing asked)."""
    if value is None:
        return "missing"
    if goal is not None and value <= goal:
        return "goal"
    if floor is None:
        return "" if goal is None else "no goal"
    return "floor" if value <= floor else "BELOW"
