"""The cases of `treadle.parallel`: lazy graphs and the primitives, beside NumPy, C and what memory gives.

They are cases as those of `elementwise.py`, in the same table. Each holds what is timed against a copy of as many bytes
in the same process (and a triad, which says what else memory does), since most of them do little but read and write.
A variant that computes something else on purpose, a copy or another generator's numbers, hands the right answer back.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import peers
from elementwise import MILLION, PARALLEL, TEN_MILLION, Arguments, InC, Maker, add
from kernels import place
from numpy_cases import BY_HAND

MANY = 4 * MILLION
DRAWN = 1 << 16  # fits the second level of the cache
KEY = 7


def with_tp(make: Callable[[Any, Any], Callable[..., Any]]) -> Maker:
    """A maker of a function that is given treadle.parallel and its random."""

    def maker() -> Callable[..., Any]:
        tp = importlib.import_module("treadle.parallel")
        return make(tp, importlib.import_module("treadle.parallel.random"))

    return maker


def beside(work: Callable[..., Any], answer: Callable[..., Any]) -> Maker:
    """A maker of a function that does `work` and returns the answer, which is computed once for each size."""

    def maker() -> Callable[..., Any]:
        known: dict[int, Any] = {}

        def run(*args: Any) -> Any:
            work(*args)
            size = args[0] if isinstance(args[0], int) else args[0].size
            if size not in known:
                known[size] = answer(*args)
            return known[size]

        return run

    return maker


def copied(a, b, out):
    np.copyto(out, a)


def whole_and_out(rng: np.random.Generator, full: bool) -> Arguments:
    """The same of small whole numbers, whose sums are exact in any order."""
    return tuple(place(np.rint(a)) for a in normal_and_out(MANY)(rng, full))


def normal_and_out(n: int) -> Callable[[np.random.Generator, bool], Arguments]:
    """Two arrays of normal float32 numbers, and room for a result."""

    def inputs(rng: np.random.Generator, full: bool) -> Arguments:
        count = n if full else 97
        a, b = (rng.standard_normal(count).astype(np.float32) for _ in range(2))
        return place(a), place(b), place(np.zeros(count, np.float32))

    return inputs


TRIAD = InC(
    "saxpy",
    lambda args: (np.float32(2.0), *args),
    lambda a, x, y, z: a * x + y,
)


def stream_case(
    name: str,
    lazy: Callable[[Any, Any], Callable[..., Any]],
    numpy: Callable[..., Any],
    kernel: InC,
    inputs: Callable[[np.random.Generator, bool], Arguments],
) -> None:
    """What a copy of as many items is the measure of."""
    add(
        name,
        inputs=inputs,
        expected=numpy,
        variants={"treadle": with_tp(lazy), "numpy": lambda: numpy, "copy": beside(copied, numpy)},
        in_c={"c": kernel, "triad": TRIAD},
        rtol=1e-5,
    )


# --- streams ---------------------------------------------------------------------------------------


def sum_of_map(a, b, out):
    return (a * np.float32(2.0) + np.float32(1.0)).sum()


def running(a, b, out):
    return np.cumsum(a)


def positive(a, b, out):
    return a[a > 0]


def large_squares(a, b, out):
    y = a * a + np.float32(1.0)
    return y[y > np.float32(1.4549)]  # half of them


def kept_in_c(kept: Callable[..., Any]) -> Callable[..., Any]:
    """What the kernel leaves: the items that are kept, and zeros."""

    def expected(a, out):
        y = kept(a, a, out)
        return np.concatenate((y, np.zeros(len(a) - len(y), np.float32)))

    return expected


stream_case(
    "map and reduce",
    lambda tp, _: lambda a, b, out: float((tp.array(a) * 2.0 + 1.0).sum()),
    sum_of_map,
    InC("map_sum", lambda args: (args[0], args[2][:1]), lambda a, out: np.array([sum_of_map(a, a, a)])),
    normal_and_out(MANY),
)
stream_case(
    "running sum",
    lambda tp, _: lambda a, b, out: np.asarray(tp.scan(tp.add, a)),
    running,
    InC("running_sum", lambda args: (args[0], args[2]), lambda a, out: np.cumsum(a)),
    whole_and_out,
)
stream_case(
    "filter",
    lambda tp, _: lambda a, b, out: np.asarray(tp.filter(lambda v: v > 0, a)),
    positive,
    InC("filter", lambda args: (args[0], np.zeros_like(args[2])), kept_in_c(positive)),
    normal_and_out(MANY),
)
stream_case(
    "map and filter",
    lambda tp, _: (
        lambda a, b, out: np.asarray(tp.filter(lambda v: v > 1.4549, tp.map(lambda v: v * v + 1, a)))
    ),
    large_squares,
    InC("map_filter", lambda args: (args[0], np.zeros_like(args[2])), kept_in_c(large_squares)),
    normal_and_out(MANY),
)

# --- order -----------------------------------------------------------------------------------------


def best(a, b, out):
    return np.sort(np.partition(a, len(a) - min(len(a), 100))[-100:])[::-1]


def best_of_map(a, b, out):
    return best(a * a + np.float32(1.0), b, out)


def best_alone(tp, _):
    return lambda a, b, out: np.asarray(tp.topk(a, min(len(a), 100))[0])


ALONE = "treadle, no map"
for name, function, lazy in (
    ("top 100", best, best_alone),
    (
        "map and top 100",
        best_of_map,
        lambda tp, _: (
            lambda a, b, out: np.asarray(tp.topk(tp.map(lambda v: v * v + 1, a), min(len(a), 100))[0])
        ),
    ),
):
    add(
        name,
        inputs=normal_and_out(TEN_MILLION),
        expected=function,
        variants={
            "treadle": with_tp(lazy),
            "numpy": lambda function=function: function,
            **(
                {}
                if function is best
                else {ALONE: with_tp(lambda tp, rnd: beside(best_alone(tp, rnd), best_of_map)())}
            ),
        },
        rtol=1e-6,
    )


def rows_and_out(rng: np.random.Generator, full: bool) -> Arguments:
    """Rows of 1,000, and room for as many of ten."""
    n = 4_000 if full else 7
    return place(rng.standard_normal((n, 1_000)).astype(np.float32)), place(np.zeros((n, 10), np.float32))


def best_of_rows(a, out):
    """Ten of each, by their size."""
    return np.take_along_axis(a, np.argsort(-abs(a), axis=1, kind="stable")[:, :10], 1)


def best_of_rows_by_partition(a, out):
    where = np.argpartition(-abs(a), 10, axis=1)[:, :10]
    found = np.take_along_axis(a, where, 1)
    return np.take_along_axis(found, np.argsort(-abs(found), axis=1, kind="stable"), 1)


add(
    "top 10 of rows by size",
    inputs=rows_and_out,
    expected=best_of_rows,
    variants={
        "treadle": with_tp(lambda tp, _: lambda a, out: np.asarray(tp.topk(a, 10, axis=1, key=abs)[0])),
        "numpy": lambda: best_of_rows_by_partition,
    },
    per=lambda args: args[0].size,
)


def stable_order(a):
    return np.argsort(a, kind="stable")


add(
    "argsort uint32, stable",
    inputs=lambda rng, full: (place(rng.integers(0, 2**32, MANY if full else 97, np.uint32)),),
    expected=stable_order,
    variants={
        "treadle": with_tp(lambda tp, _: lambda a: np.asarray(np.argsort(tp.array(a), kind="stable"))),
        "numpy": lambda: stable_order,
    },
)

# --- random numbers --------------------------------------------------------------------------------


def philox(first: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Four words for each counter, of the key, in NumPy."""
    c = np.zeros((4, first.size), np.uint64)
    c[0], c[2] = first, row
    k0, k1, low = np.uint64(KEY), np.uint64(0), np.uint64(0xFFFFFFFF)
    for _ in range(10):
        p, q = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = np.array([q >> np.uint64(32) ^ c[1] ^ k0, q & low, p >> np.uint64(32) ^ c[3] ^ k1, p & low])
        k0, k1 = k0 + np.uint64(0x9E3779B9) & low, k1 + np.uint64(0xBB67AE85) & low
    return c.T


def philox_words(n: int) -> np.ndarray:
    """Those of an array's only row."""
    return philox(np.arange(n // 4), np.zeros(n // 4)).ravel()


def uniform_numbers(n, out):
    return (philox_words(n) >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24)


def normal_of_words(words: np.ndarray) -> np.ndarray:
    """Pairs of words along the last axis are a radius and an angle."""
    u, v = words[..., ::2].astype(np.float64), words[..., 1::2].astype(np.float64)
    r, t = np.sqrt(-2 * np.log((u + 1) / 2.0**32)), v * (2 * np.pi / 2.0**32)
    return np.stack((r * np.cos(t), r * np.sin(t)), -1).reshape(words.shape)


def normal_numbers(n, out):
    return normal_of_words(philox_words(n))


def size_and_out(rng: np.random.Generator, full: bool) -> Arguments:
    n = DRAWN if full else 64
    return n, place(np.zeros(n, np.float32))


for name, answer, draw in (
    ("uniform", uniform_numbers, "random"),
    ("normal", normal_numbers, "standard_normal"),
):
    fill = getattr(np.random.default_rng(1), draw)
    add(
        f"random {name} float32",
        inputs=size_and_out,
        expected=answer,
        variants={
            "treadle": with_tp(
                lambda tp, tr, name=name: (
                    lambda n, out: np.asarray(getattr(tr, name)(tr.key(KEY), n, np.float32))
                )
            ),
            "numpy": beside(lambda n, out, fill=fill: fill(dtype=np.float32, out=out), answer),
        },
        in_c={"c": InC("philox", lambda args: args, uniform_numbers)} if name == "uniform" else {},
        per=lambda args: args[0],
        rtol=1e-6,
    )

# --- sparse PCA ------------------------------------------------------------------------------------

CHOSEN = 10
SAMPLES = {3: 40**3, 4: 20**4}
# A NumPy program that takes seconds does a part of it.
LISTED = 32


def loadings(d: int) -> Callable[[np.random.Generator, bool], Arguments]:
    """Those of a talk of 2014: of the covariance of 100 observations, whose i-th eigenvalue is divided by i."""

    def inputs(rng: np.random.Generator, full: bool) -> Arguments:
        p = 1000 if full else 60
        x = rng.standard_normal((100, p))
        w, u = np.linalg.eigh(x.T @ x / 100)
        scale = np.sqrt(w[: -d - 1 : -1] / np.arange(1, d + 1))
        return (place((u[:, : -d - 1 : -1] * scale).astype(np.float32)),)

    return inputs


def best_worth(V):
    """What the best of all samples explains."""
    m, d = SAMPLES[V.shape[1]], V.shape[1]
    best = 0.0
    for first in range(0, m, 4000):
        rows = np.arange(first, min(first + 4000, m), dtype=np.uint64)
        c = normal_of_words(philox(np.zeros(len(rows)), rows))[:, :d]
        a = np.abs(c / np.linalg.norm(c, axis=1)[:, None] @ V.T)
        top = np.partition(a, -CHOSEN, axis=1)[:, -CHOSEN:]
        best = max(best, (top * top).sum(axis=1).max())
    return np.array([best])


def listed(V, m=None):
    """The talk's program, with the absolute value that its port had lost: sample by sample, of so many, or one in `LISTED`."""
    d = V.shape[1]
    m = m or SAMPLES[d] // LISTED
    C = np.random.default_rng(1).standard_normal((d, m), np.float32)
    best, at = -np.inf, -1
    for i in range(m):
        c = C[:, i]
        a = V.dot(c / np.linalg.norm(c))
        order = np.argsort(np.abs(a))
        worth = np.linalg.norm(a[order[-CHOSEN:]])
        if worth > best:
            best, at = worth, i
    return at


def searched(method: str, parallel: bool) -> Maker:
    def maker() -> Callable[..., Any]:
        spca = importlib.import_module("treadle").sparse_pca
        return lambda V: np.array(
            [spca(V, k=CHOSEN, samples=SAMPLES[V.shape[1]], key=KEY, method=method, parallel=parallel).worth]
        )

    return maker


WAYS = ("fused", "early", "pruned")
add(
    "sparse PCA",
    inputs=loadings(3),
    expected=best_worth,
    variants={way: searched(way, False) for way in WAYS} | {"numpy": beside(listed, best_worth)},
    rtol=1e-5,
    part={"numpy": 1 / LISTED},
)
for d, ways in ((3, WAYS), (4, ("pruned",))):
    for way in ways:
        add(
            f"two cores, sparse PCA of {d}, {way}",
            inputs=loadings(d),
            expected=best_worth,
            variants={"treadle": searched(way, False), PARALLEL: searched(way, True)},
            rtol=1e-5,
            wall=True,
        )

# --- graphs ----------------------------------------------------------------------------------------

NODES = 1000


def no_array(rng: np.random.Generator, full: bool) -> Arguments:
    return (place(np.linspace(0.5, 1.0, 8)),)


def built(tp: Any, _: Any) -> Callable[..., Any]:
    leaves: dict[int, Any] = {}

    def run(a):
        x = leaves.setdefault(id(a), tp.array(a))
        for _ in range(NODES):
            x + x
        return a

    return run


def three_kernels(x, y):
    """Twenty nodes: a mean is taken off, the result is scaled by its largest item, then what is left is added up."""
    u = (x * 2.0 + y) * 0.5 - x * y
    c = u - u.mean()
    s = (c * c + 1.0) / (c * c + 1.0).max()
    return (s * x + y * 0.25 - c).sum()


def swapped(k: int, x: Any, n: int) -> Any:
    """A chain of n additions that is a graph of its own for each k: terms change sides."""
    y = x
    for i in range(n // 2):
        h = y * 0.5
        y = x + h if k >> i % 12 & 1 else h + x
    return y


def three_kernels_swapped(k: int, x: Any) -> Any:
    """Twelve operations."""

    def plus(i: int, p: Any, q: Any) -> Any:
        return q + p if k >> i & 1 else p + q

    u = plus(0, x * 2.0, x * x)
    c = plus(1, u, -u.mean())
    s = plus(2, plus(3, c * c, x), plus(4, c, x))
    return plus(5, plus(6, s, u), plus(7, c, u)) * (1.0 / 2.0)


def anew(graph: Callable[[int, Any], Any]) -> Maker:
    """A maker of a function that evaluates a graph that was not there before."""

    def make(tp: Any, _: Any) -> Callable[..., Any]:
        number = itertools.count()
        return lambda a: np.asarray(graph(next(number), tp.array(a)))

    return with_tp(make)


add(
    "building a node",
    inputs=no_array,
    expected=lambda a: a,
    variants={"treadle": with_tp(built)},
    per=lambda args: NODES,
)
add(
    "graph of 20 nodes, only built",
    inputs=no_array,
    expected=lambda a: a,
    variants={"treadle": with_tp(lambda tp, _: lambda a: (three_kernels(tp.array(a), tp.array(a)), a)[1])},
)
add(
    "graph of 20 nodes",
    inputs=no_array,
    expected=lambda a: three_kernels(a, a),
    variants={
        "treadle": with_tp(lambda tp, _: lambda a: float(three_kernels(tp.array(a), tp.array(a)))),
        "numpy": lambda: lambda a: three_kernels(a, a),
    },
)
for size, graph in (
    (12, three_kernels_swapped),
    (500, lambda k, x: swapped(k, x, 500)),
):
    add(
        f"first evaluation of {size}",
        inputs=no_array,
        expected=lambda a, graph=graph: graph(0, a),
        variants={"treadle": anew(graph)},
        seconds=0.0,
    )

# --- functions of the user's that join items: the same loop by hand ---------------------------------------


def join_moments(a, b):
    n = a[0] + b[0]
    d = b[1] - a[1]
    f = b[0] / max(n, 1)
    return n, a[1] + d * f, a[2] + b[2] + d * d * a[0] * f


def moments_by_hand(x):
    n, mean, squares = 0.0, 0.0, 0.0
    for v in x:
        after = n + 1.0
        d = v - mean
        f = 1.0 / max(after, 1)
        mean += d * f
        squares += d * d * n * f
        n = after
    return squares


def moments_of(tp: Any) -> Callable[..., Any]:
    return lambda x: tp.reduce(join_moments, (1.0, x, 0.0), identity=(0.0, 0.0, 0.0))[2]


def join_maps(p, q):
    return p[0] * q[0], p[1] * q[0] + q[1]


def smoothed_by_hand(x):
    y = np.empty_like(x)
    last = 0.0
    for i in range(len(x)):
        last = 0.9 * last + 0.1 * x[i]
        y[i] = last
    return y


def smoothed_of(tp: Any) -> Callable[..., Any]:
    return lambda x: tp.scan(join_maps, (0.9, 0.1 * x), identity=(1.0, 0.0))[1]


def smoothed(x):
    """What is further back than 1,024 items counts for nothing."""
    y = 0.1 * x
    for k in range(10):
        y[1 << k :] += 0.9 ** (1 << k) * y[: -1 << k].copy()
    return y


def normal(n: int) -> Callable[[np.random.Generator, bool], Arguments]:
    return lambda rng, full: (place(rng.standard_normal(n if full else 2_000)),)


for name, joined, by_hand, expected in (
    ("mean and variance", moments_of, moments_by_hand, lambda x: x.var() * x.size),
    ("exponential smoothing", smoothed_of, smoothed_by_hand, smoothed),
):
    by = {
        peer: with_tp(lambda tp, _, peer=peer, joined=joined: peers.decorator(peer)(joined(tp)))
        for peer in ("treadle", PARALLEL)
    }
    hand = {BY_HAND: lambda by_hand=by_hand: peers.decorator("treadle")(by_hand)}
    add(name, inputs=normal(MANY), expected=expected, variants={"treadle": by["treadle"]} | hand, rtol=1e-9)
    add(f"two cores, {name}", inputs=normal(MANY), expected=expected, variants=by, rtol=1e-9, wall=True)
