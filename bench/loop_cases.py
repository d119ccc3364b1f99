"""Loops over single items, as packages write them for Numba: look-ups in tables, histograms, searches, walks over what is sorted.

They are cases as those of `elementwise.py`, in the same table. The right answer is the same text run by CPython, on small inputs,
and for full ones NumPy's, where that is another way. `LOOPS` has their names with the most of Numba's time that each may take.
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import peers
from elementwise import Arguments, Maker, add
from kernels import aligned, place
from numpy_cases import beside

LOOPS: dict[str, float] = {}


def loop(
    name: str,
    most: float,
    inputs: Callable[[np.random.Generator, int], Arguments],
    expected: Any,
    **more: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a loop; `inputs` takes a generator and how many times as large as a small one the arguments shall be."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        LOOPS[name] = most
        add(
            name,
            inputs=lambda rng, full: inputs(rng, 1000 if full else 1),
            expected=expected,
            variants=beside(function, "numba"),
            **more,
        )
        return function

    return register


# --- look-ups ----------------------------------------------------------------------------------------


def sparse(index: str) -> Callable[[np.random.Generator, int], Arguments]:
    """A matrix of 20 items in each row, in compressed rows, and a vector."""

    def inputs(rng: np.random.Generator, times: int) -> Arguments:
        n = 20 * times
        columns = np.sort(rng.integers(0, n, (n, 20)), axis=1).ravel()
        starts = np.arange(0, 20 * n + 1, 20)
        return rng.random(20 * n), place(columns.astype(index)), place(starts.astype(index)), rng.random(n)

    return inputs


def sparse_product(data: Any, columns: Any, starts: Any, x: Any) -> Any:
    return (data * x[columns]).reshape(-1, 20).sum(axis=1)


def compressed_rows(data, columns, starts, x):
    rows = starts.shape[0] - 1
    y = np.zeros(rows)
    for i in range(rows):
        s = 0.0
        for k in range(starts[i], starts[i + 1]):
            s += data[k] * x[columns[k]]
        y[i] = s
    return y


for dtype in ("int32", "int64"):
    loop(f"sparse matrix by vector, {dtype}", 1.0, sparse(dtype), sparse_product, rtol=1e-12)(compressed_rows)


# --- histograms --------------------------------------------------------------------------------------


@loop(
    "h[int(x * n)] += 1",
    1.1,
    lambda rng, t: (rng.random(100 * t), 64),
    lambda a, n: np.histogram(a, n, (0, 1))[0],
)
def counted(a, n):
    h = np.zeros(n, np.int64)
    for i in range(a.shape[0]):
        h[int(a[i] * n)] += 1
    return h


@loop(
    "histogram in two dimensions",
    1.1,
    lambda rng, t: (rng.random(100 * t), rng.random(100 * t), 32),
    lambda a, b, n: np.histogram2d(a, b, n, ((0, 1), (0, 1)))[0],
)
def counted_in_two(a, b, n):
    h = np.zeros((n, n), np.int64)
    for i in range(a.shape[0]):
        h[int(a[i] * n), int(b[i] * n)] += 1
    return h


@loop(
    "histogram within bounds",
    1.3,
    lambda rng, t: (rng.random(100 * t) * 1.2 - 0.1, 0.0, 1.0, 64),
    lambda a, low, high, n: (
        np.histogram(a[(a > -1 / n) & (a < 0)], 1)[0][0] * (np.arange(n) == 0)
        + np.histogram(a, n, (low, high))[0]
    ),
)
def counted_within(a, low, high, n):
    h = np.zeros(n, np.int64)
    scale = n / (high - low)
    for x in a:
        k = int((x - low) * scale)
        if 0 <= k < n:
            h[k] += 1
    return h


@loop(
    "histogram over a.flat",
    1.1,
    lambda rng, t: (rng.random((t, 200))[:, ::2], 64),
    lambda a, n: np.histogram(a, n, (0, 1))[0],
)
def counted_flat(a, n):
    h = np.zeros(n, np.int64)
    for x in a.flat:
        h[int(x * n)] += 1
    return h


# --- between points of a grid ------------------------------------------------------------------------


def bilinear_expected(image: Any, x: Any, y: Any) -> Any:
    i, j = y.astype(int), x.astype(int)
    u, v = x - j, y - i
    return (image[i, j] * (1 - u) + image[i, j + 1] * u) * (1 - v) + (
        image[i + 1, j] * (1 - u) + image[i + 1, j + 1] * u
    ) * v


@loop(
    "bilinear interpolation",
    1.1,
    lambda rng, t: (rng.random((256, 256)), rng.random(50 * t) * 254, rng.random(50 * t) * 254),
    bilinear_expected,
)
def bilinear(image, x, y):
    out = np.empty(x.shape[0])
    for k in range(x.shape[0]):
        i, j = int(np.floor(y[k])), int(np.floor(x[k]))
        u, v = x[k] - j, y[k] - i
        above = image[i, j] * (1 - u) + image[i, j + 1] * u
        below = image[i + 1, j] * (1 - u) + image[i + 1, j + 1] * u
        out[k] = above * (1 - v) + below * v
    return out


def deposit_expected(x: Any, charge: Any, cells: Any) -> Any:
    j = x.astype(int)
    w = x - j
    return charge * (np.bincount(j, 1 - w, cells) + np.bincount((j + 1) % cells, w, cells))


@loop(
    "charge of particles on a grid",
    1.1,
    lambda rng, t: (rng.random(50 * t) * 200, 0.1, 200),
    deposit_expected,
)
def deposit(x, charge, cells):
    density = np.zeros(cells)
    for p in range(x.shape[0]):
        j = int(x[p])
        w = x[p] - j
        density[j] += charge * (1 - w)
        density[(j + 1) % cells] += charge * w
    return density


# --- signals -----------------------------------------------------------------------------------------


def signal(rng: np.random.Generator, times: int) -> Arguments:
    """A signal, when to take it anew, a window of 16 zero crossings with 64 places between two, and its differences."""
    window = np.sinc(np.linspace(0, 16, 64 * 16 + 1))
    return (
        rng.standard_normal(40 + 2 * times),
        np.arange(2 * times) * 0.9,
        window,
        np.diff(window, append=window[-1]),
        64,
    )


def resampled_expected(x: Any, when: Any, window: Any, rise: Any, places: Any) -> Any:
    out = np.zeros(when.size)
    for t, at in enumerate(when):
        distance = np.abs(at - np.arange(x.size)) * places
        near = distance // places < (window.size - (distance % places).astype(int)) // places
        k = distance[near].astype(int)
        out[t] = x[near] @ (window[k] + (distance[near] - k) * rise[k])
    return out


@loop("resampling by a window", 1.1, signal, resampled_expected, rtol=1e-7)
def resampled(x, when, window, rise, places):
    out = np.zeros(when.shape[0])
    for t in range(when.shape[0]):
        n = int(when[t])
        at = (when[t] - n) * places
        offset = int(at)
        eta = at - offset
        for i in range(min(n + 1, (window.shape[0] - offset) // places)):
            weight = window[offset + i * places] + eta * rise[offset + i * places]
            out[t] += weight * x[n - i]
        at = places - at
        offset = int(at)
        eta = at - offset
        for k in range(min(x.shape[0] - n - 1, (window.shape[0] - offset) // places)):
            weight = window[offset + k * places] + eta * rise[offset + k * places]
            out[t] += weight * x[n + k + 1]
    return out


def noise(rng: np.random.Generator, times: int) -> Arguments:
    return rng.standard_normal(50 * times), 0.5, 5


def peaks_expected(x: Any, height: Any, apart: Any) -> Any:
    found: list[int] = []
    tops = np.flatnonzero((x[1:-1] > x[:-2]) & (x[1:-1] > x[2:]) & (x[1:-1] > height)) + 1
    for i in tops.tolist():
        if not found or i - found[-1] >= apart:
            found.append(i)
        elif x[i] > x[found[-1]]:
            found[-1] = i
    return np.array(found)


@loop("peaks that lie apart", 1.1, noise, peaks_expected)
def peaks(x, height, apart):
    out = np.empty(x.shape[0], np.int64)
    n = 0
    for i in range(1, len(x) - 1):
        if x[i] > x[i - 1] and x[i] > x[i + 1] and x[i] > height:
            if n == 0 or i - out[n - 1] >= apart:
                out[n] = i
                n += 1
            elif x[i] > x[out[n - 1]]:
                out[n - 1] = i
    return out[:n]


def prominences_expected(x: Any, at: Any) -> Any:
    out = []
    for p in at.tolist():
        higher = x > x[p]
        left = np.flatnonzero(higher[:p])
        right = np.flatnonzero(higher[p:])
        a = left[-1] + 1 if left.size else 0
        b = p + right[0] if right.size else x.size
        out.append(x[p] - max(x[a : p + 1].min(), x[p:b].min()))
    return np.array(out)


@loop(
    "prominence of peaks",
    1.1,
    lambda rng, t: (rng.standard_normal(50 * t), np.sort(rng.choice(50 * t, 3 * t, False))),
    prominences_expected,
)
def prominences(x, at):
    out = np.empty(at.shape[0])
    for k in range(at.shape[0]):
        p = at[k]
        i, left = p, x[p]
        while i >= 0 and x[i] <= x[p]:
            left = min(left, x[i])
            i -= 1
        i, right = p, x[p]
        while i < x.shape[0] and x[i] <= x[p]:
            right = min(right, x[i])
            i += 1
        out[k] = x[p] - max(left, right)
    return out


def both_halves(x: Any, weights: Any) -> Any:
    return np.convolve(x, np.concatenate([weights[:0:-1], weights]), "same")


@loop(
    "both halves of a filter",
    1.1,
    lambda rng, t: (rng.random(20 * t), rng.random(8)),
    both_halves,
    rtol=1e-10,
)
def halves(x, weights):
    n = x.shape[0]
    out = np.empty(n)
    for i in range(n):
        s = x[i] * weights[0]
        for j in range(1, weights.shape[0]):
            if i >= j:
                s += x[i - j] * weights[j]
            if i + j < n:
                s += x[i + j] * weights[j]
        out[i] = s
    return out


def around_expected(x: Any, k: Any) -> Any:
    padded = np.pad(x, k)
    return x + padded[: -2 * k] + padded[2 * k :]


@loop("one item of each half", 1.1, lambda rng, t: (rng.random(20 * t), 8), around_expected, rtol=1e-12)
def one_of_each(x, k):
    n = x.shape[0]
    out = np.empty(n)
    for i in range(n):
        s = x[i]
        if i >= k:
            s += x[i - k]
        if i + k < n:
            s += x[i + k]
        out[i] = s
    return out


def holes(rng: np.random.Generator, rows: int, items: int) -> np.ndarray:
    """Rows with NaN in a third of the places, in runs, and never first. Long ones are too long for a branch predictor to know them by heart from call to call."""
    x = rng.random((rows, items))
    x[:, 1:][rng.random((rows, items - 1)) < 0.2] = np.nan
    x[:, 2:][np.isnan(x[:, 1:-1]) & (rng.random((rows, items - 2)) < 0.4)] = np.nan
    return place(x)


def filled_expected(x: Any, out: Any = None) -> Any:
    last = np.maximum.accumulate(np.where(np.isnan(x), 0, np.arange(x.shape[-1])), axis=-1)
    return np.take_along_axis(x, last, -1)


def filled(x, out):
    out[0] = x[0]
    for i in range(1, x.shape[0]):
        out[i] = out[i - 1] if np.isnan(x[i]) else x[i]


@loop("filled forward", 1.1, lambda rng, t: (holes(rng, 1, 200 * t)[0],), filled_expected)
def filled_anew(x):
    out = np.empty_like(x)
    out[0] = x[0]
    for i in range(1, x.shape[0]):
        if np.isnan(x[i]):
            out[i] = out[i - 1]
        else:
            out[i] = x[i]
    return out


def as_gufunc(name: str) -> Maker:
    def make() -> Callable[..., Any]:
        return importlib.import_module(name).guvectorize(["(float64[:], float64[:])"], "(n)->(n)")(filled)

    return make


LOOPS["filled forward, a gufunc"] = 1.1
add(
    "filled forward, a gufunc",
    inputs=lambda rng, full: (
        holes(rng, 20, 1000 if full else 9),
        aligned((20, 1000 if full else 9), np.float64),
    ),
    expected=filled_expected,
    variants={name: as_gufunc(name) for name in ("treadle", "numba")},
)


# --- graphs ------------------------------------------------------------------------------------------


def graph(rng: np.random.Generator, times: int) -> Arguments:
    """Eight edges from each node: to the next one, and to any others."""
    n = 20 + 3 * times
    ends = rng.integers(0, n, 8 * n)
    ends[::8] = (np.arange(n) + 1) % n
    return np.arange(0, 8 * n + 1, 8), ends, rng.random(8 * n), 0


def shortest(starts: Any, ends: Any, lengths: Any, source: Any) -> Any:
    """Bellman and Ford's way: all edges again and again."""
    n = len(starts) - 1
    begins, d = np.repeat(np.arange(n), np.diff(starts)), np.full(n, np.inf)
    d[source] = 0
    while True:
        before = d.copy()
        np.minimum.at(d, ends, before[begins] + lengths)
        if np.array_equal(d, before):
            return d


@loop("Dijkstra with a heap", 1.1, graph, shortest)
def dijkstra(starts, ends, lengths, source):
    n = starts.shape[0] - 1
    distance, done = np.full(n, np.inf), np.zeros(n, np.bool_)
    keys, nodes = np.empty(ends.shape[0] + 1), np.empty(ends.shape[0] + 1, np.int64)
    keys[0], nodes[0], size = 0.0, source, 1
    distance[source] = 0.0
    while size > 0:
        d, u = keys[0], nodes[0]
        size -= 1
        key, node, i = keys[size], nodes[size], 0
        while True:
            child = 2 * i + 1
            if child >= size:
                break
            if child + 1 < size and keys[child + 1] < keys[child]:
                child += 1
            if keys[child] >= key:
                break
            keys[i], nodes[i] = keys[child], nodes[child]
            i = child
        keys[i], nodes[i] = key, node
        if done[u]:
            continue
        done[u] = True
        for e in range(starts[u], starts[u + 1]):
            v, far = ends[e], d + lengths[e]
            if far < distance[v]:
                distance[v] = far
                i = size
                size += 1
                while i > 0:
                    parent = (i - 1) // 2
                    if keys[parent] <= far:
                        break
                    keys[i], nodes[i] = keys[parent], nodes[parent]
                    i = parent
                keys[i], nodes[i] = far, v
    return distance


# --- triangles -------------------------------------------------------------------------------------------


def factored(m: Any) -> Any:
    """Both factors in one matrix, column by column."""
    a = m.copy()
    for k in range(len(a)):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def lu(m):
    a = m.copy()
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


for n in (20, 60, 200):
    loop(
        f"LU of {n} x {n}",
        1.1,
        lambda rng, t, n=n: (rng.random((n, n)) + n * np.eye(n),),
        factored,
        rtol=1e-11,
    )(lu)


# --- exceptions --------------------------------------------------------------------------------------


@loop(
    "raised and caught",
    1.1,
    lambda rng, t: (rng.random(20 * t), 0.5),
    lambda a, least: np.where(a < least, -1, 1).sum(),
)
def raised(a, least):
    n = 0
    for i in range(a.shape[0]):
        try:
            if a[i] < least:
                raise ValueError("too small")
            n += 1
        except Exception:
            n -= 1
    return n


@loop(
    "divisions by zero caught",
    1.2,
    lambda rng, t: (rng.random(20 * t), np.round(rng.random(20 * t))),
    lambda a, b: np.where(b == 0, -1, a).sum(),
    rtol=1e-12,
)
def divided(a, b):
    s = 0.0
    for i in range(a.shape[0]):
        try:
            s += a[i] / b[i]
        except Exception:
            s -= 1
    return s


CHAIN = """
@jit
def k(a, i):
    if i < 0:
        return k(a, i + 10)
    if a[i] < 0:
        raise ValueError("below 0")
    return a[i]

@jit
def h(a, i):
    if i < 0:
        return h(a, i + 10)
    return k(a, i) + 1

@jit
def g(a, i):
    if i < 0:
        return g(a, i + 10)
    return h(a, i) + 1

@jit
def caught(a):
    n = 0
    for i in range(a.shape[0]):
        try:
            g(a, i)
        except Exception:
            n += 1
    return n

@jit
def top(a):
    return g(a, 0)

def told(a):
    n = 0
    for _ in range(a.shape[0]):
        try:
            top(a)
        except ValueError:
            n += 1
    return n
"""


def through_calls(name: str) -> Callable[[str], Callable[..., Any]]:
    """One of the chain's functions.  Those between call themselves for what never is, so that no compiler has them in one another."""

    def make(variant: str) -> Callable[..., Any]:
        scope: dict[str, Any] = {"jit": peers.decorator(variant)}
        exec(CHAIN, scope)
        return scope[name]

    return make


for name, function, inputs in (
    ("raised through calls and caught", "caught", lambda rng, full: (rng.random(2000 if full else 9) - 0.5,)),
    ("raised through calls to Python", "told", lambda rng, full: (np.full(200 if full else 9, -1.0),)),
):
    LOOPS[name] = 1.1
    add(
        name,
        inputs=inputs,
        expected=lambda a: (a < 0).sum(),
        variants={v: partial(through_calls(function), v) for v in ("treadle", "numba")},
    )


# --- searches ----------------------------------------------------------------------------------------


def chain(rng: np.random.Generator, times: int) -> Arguments:
    """The distribution functions of 60 states, where walks begin, and numbers to draw by."""
    weights = rng.random((60, 60))
    weights = np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True)
    return place(weights), rng.integers(0, 60, 20), rng.random((20, times))


def chain_expected(weights: Any, first: Any, numbers: Any) -> Any:
    states = [first]
    for drawn in numbers.T[:-1]:
        states.append((weights[states[-1]] <= drawn[:, None]).sum(axis=1))
    return np.array(states).T


@loop("walks of a Markov chain", 1.1, chain, chain_expected)
def markov(weights, first, numbers):
    out = np.empty(numbers.shape, np.int64)
    for i in range(out.shape[0]):
        out[i, 0] = first[i]
        for t in range(out.shape[1] - 1):
            out[i, t + 1] = np.searchsorted(weights[out[i, t]], numbers[i, t], side="right")
    return out


@loop(
    "particles between edges",
    1.1,
    lambda rng, t: (np.linspace(0, 4, 41), rng.random(50 * t) * 4.2 - 0.1),
    lambda edges, x: np.searchsorted(edges, x) - 1,
)
def between(edges, x):
    out = np.empty(x.shape[0], np.int64)
    for p in range(x.shape[0]):
        out[p] = np.searchsorted(edges, x[p]) - 1
    return out


def outside_too(rng: np.random.Generator, times: int) -> Arguments:
    """Places of which some lie outside of 400 cells, and what they weigh."""
    return place(rng.random(20 * times) * 4.08 - 0.04), rng.random(20 * times), 100.0, 400


@loop(
    "particles in cells that are clamped",
    1.15,
    outside_too,
    lambda x, w, per, n: np.bincount(np.clip((x * per).astype(int), 0, n - 1), w, n),
    rtol=1e-12,
)
def in_clamped_cells(x, w, per, n):
    h = np.zeros(n)
    for i in range(x.shape[0]):
        c = int(x[i] * per)
        if c < 0:
            c = 0
        if c >= n:
            c = n - 1
        h[c] += w[i]
    return h


def moving(rng: np.random.Generator, times: int) -> Arguments:
    """Places of a particle that moves a little at a time, among 400 edges."""
    path = 2 + np.cumsum(rng.standard_normal(20 * times) * 0.01)
    return np.linspace(0, 4, 401), place(np.clip(path, 0.001, 3.999)), np.zeros(20 * times, np.int64)


@loop("cells by walking", 1.1, moving, lambda edges, x, out: np.searchsorted(edges, x, "right") - 1)
def walked(edges, x, out):
    c = 0
    for p in range(x.shape[0]):
        while x[p] < edges[c] and c > 0:
            c -= 1
        while x[p] >= edges[c + 1] and c < edges.shape[0] - 2:
            c += 1
        out[p] = c
    return out


# --- bytes -------------------------------------------------------------------------------------------


def text(rng: np.random.Generator, times: int) -> np.ndarray:
    """Words of letters and numbers, with spaces between them."""
    letters = np.frombuffer(b"the quick brown fox jumped over 1234 lazy dogs and 56 more; ", np.uint8)
    return place(np.tile(letters, times))


def crc_table() -> np.ndarray:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(0xEDB88320), table >> 1)
    return table


@loop(
    "CRC of bytes",
    1.1,
    lambda rng, t: (text(rng, t), crc_table()),
    lambda data, table: zlib.crc32(data.tobytes()) ^ 0xFFFFFFFF,
)
def crc(data, table):
    c = 0xFFFFFFFF
    for b in data:
        c = table[(c ^ b) & 0xFF] ^ (c >> 8)
    return c


@loop("byte that is not there", 1.1, lambda rng, t: (text(rng, t), 0), lambda data, value: -1)
def find_byte(data, value):
    for i in range(data.shape[0]):
        if data[i] == value:
            return i
    return -1


@loop(
    "numbers in a text",
    1.1,
    lambda rng, t: (text(rng, t), np.zeros(2 * t, np.int64)),
    lambda data, out: np.tile([1234, 56], out.size // 2),
)
def numbers(data, out):
    k, value, inside = 0, 0, False
    for i in range(data.shape[0]):
        c = data[i]
        if c >= 48 and c <= 57:
            value = value * 10 + (c - 48)
            inside = True
        elif inside:
            out[k] = value
            k += 1
            value, inside = 0, False
    return out


@loop(
    "lengths of runs",
    1.1,
    lambda rng, t: (np.repeat(np.arange(10 * t) % 4, rng.integers(1, 8, 10 * t)).astype(np.uint8),),
    lambda data: np.diff(np.flatnonzero(np.diff(data.astype(int), prepend=9, append=9))),
)
def runs(data):
    out = np.empty(data.shape[0], np.int64)
    k, i = 0, 0
    while i < data.shape[0]:
        j = i + 1
        while j < data.shape[0] and data[j] == data[i]:
            j += 1
        out[k] = j - i
        k += 1
        i = j
    return out[:k]
