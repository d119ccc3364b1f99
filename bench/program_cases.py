"""Programs that users of `treadle.parallel` would write, beside the loop that each is by hand, which Treadle compiles, too.

They are cases as those of `elementwise.py`, in the same table: large (some four million items), and small (ten thousand). The
loops are what one writes for one core who knows what the program does: as few passes as may be, plain items, and NumPy's own
functions for products, sorts and quantiles. Where a program draws random numbers by a key, a loop takes `np.random`'s one by
one, so that its answer is one that the program's comes near.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import peers
from elementwise import Arguments, Maker, add
from kernels import place
from numpy_cases import BY_HAND
from parallel_cases import MANY

FEW = 10_000
SMALL = ", small"
KEY = 7
NAMES: list[str] = []


def by_hand(loop: Callable[..., Any]) -> Maker:
    return lambda: peers.decorator("treadle")(loop)


def on_one_core(program: Callable[..., Any]) -> Maker:
    """A maker of what evaluates a program, all its results at once, on one core."""

    def maker() -> Callable[..., Any]:
        tp = importlib.import_module("treadle.parallel")
        importlib.import_module("treadle.parallel.random")
        array, evaluate, asarray = tp.array, tp.evaluate, np.asarray

        def run(*args: Any) -> Any:
            r = program(tp, *[array(a) if type(a) is np.ndarray else a for a in args])
            if type(r) is tuple:
                return tuple([asarray(v) for v in evaluate(*r, parallel=False)])
            return asarray(evaluate(r, parallel=False))

        return run

    return maker


def program_case(
    name: str,
    program: Callable[..., Any],
    loop: Callable[..., Any],
    numpy: Callable[..., Any],
    inputs: Callable[[np.random.Generator, int], Arguments],
    rtol: float = 1e-9,
    hand: Maker | None = None,
) -> None:
    """A program with its loop, at both sizes; `inputs` takes about how many items there are."""

    def sized(full: int) -> Callable[[np.random.Generator, bool], Arguments]:
        return lambda rng, whole: tuple(
            place(a) if isinstance(a, np.ndarray) else a for a in inputs(rng, full if whole else 400)
        )

    for label, size in (("", MANY), (SMALL, FEW)):
        NAMES.append(f"{name}{label}")
        add(
            NAMES[-1],
            inputs=sized(size),
            expected=numpy,
            variants={"treadle": on_one_core(program), BY_HAND: hand or by_hand(loop)},
            rtol=rtol,
        )


def normal(rng: np.random.Generator, n: int) -> Arguments:
    return (rng.standard_normal(n),)


# --- one pass ----------------------------------------------------------------------------------------


def norm_loop(x):
    s = 0.0
    for v in x:
        s += v * v
    return math.sqrt(s)


program_case(
    "norm", lambda tp, x: np.sqrt((x * x).sum()), norm_loop, lambda x: np.sqrt((x * x).sum()), normal
)


def price(s, k, t, r, v):
    d = (math.log(s / k) + (r + v * v / 2) * t) / (v * math.sqrt(t))
    n1 = (1 + math.erf(d / math.sqrt(2))) / 2
    n2 = (1 + math.erf((d - v * math.sqrt(t)) / math.sqrt(2))) / 2
    call = s * n1 - k * math.exp(-r * t) * n2
    return call, call - s + k * math.exp(-r * t)


def price_loop(s, k, t):
    call, put = np.empty_like(s), np.empty_like(s)
    r, v = 0.02, 0.3
    for i in range(len(s)):
        d = (math.log(s[i] / k[i]) + (r + v * v / 2) * t[i]) / (v * math.sqrt(t[i]))
        n1 = (1 + math.erf(d / math.sqrt(2))) / 2
        n2 = (1 + math.erf((d - v * math.sqrt(t[i])) / math.sqrt(2))) / 2
        e = k[i] * math.exp(-r * t[i])
        call[i] = s[i] * n1 - e * n2
        put[i] = call[i] - s[i] + e
    return call, put


def priced(s, k, t):
    return tuple(np.array([price(*a, 0.02, 0.3) for a in zip(s, k, t, strict=True)]).T)


program_case(
    "options, two results",
    lambda tp, s, k, t: tp.map(price, s, k, t, 0.02, 0.3),
    price_loop,
    priced,
    lambda rng, n: (rng.uniform(50, 150, n // 4), rng.uniform(80, 120, n // 4), rng.uniform(0.1, 2, n // 4)),
)


def circle_loop(n):
    inside = 0
    for _ in range(n):
        x, y = np.random.random(), np.random.random()
        if x * x + y * y < 1:
            inside += 1
    return 4 * inside / n


def circle(tp, n):
    x, y = tp.random.uniform(tp.random.key(KEY), (2, n))
    return 4 * (x * x + y * y < 1).mean()


program_case("Monte Carlo", circle, circle_loop, lambda n: np.pi, lambda rng, n: (n,), rtol=0.1)


def bodies_loop(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        s = 0.0
        for j in range(len(x)):
            s += (x[j] - x[i]) * abs(x[j])
        out[i] = s
    return out


program_case(
    "forces of bodies",
    lambda tp, x: ((x[None] - x[:, None]) * np.abs(x)).sum(axis=1),
    bodies_loop,
    lambda x: ((x[None] - x[:, None]) * np.abs(x)).sum(axis=1),
    lambda rng, n: (rng.standard_normal(math.isqrt(n)),),
)

# --- scans, filters, counts --------------------------------------------------------------------------

WINDOW = 7


def moving_loop(x):
    n = len(x) - WINDOW
    out = np.empty(n)
    s = 0.0
    for i in range(1, WINDOW):
        s += x[i]
    for i in range(n):
        s += x[i + WINDOW]
        out[i] = s / WINDOW
        s -= x[i + 1]
    return out


def moving(tp, x):
    c = tp.scan(tp.add, x)
    return (c[WINDOW:] - c[:-WINDOW]) / WINDOW


program_case(
    "moving average",
    moving,
    moving_loop,
    lambda x: np.convolve(x, np.ones(WINDOW) / WINDOW, "valid")[1:],
    normal,
    rtol=1e-8,
)


def runs_loop(x):
    n = len(x)
    k = min(n, 1)
    for i in range(1, n):
        k += x[i] != x[i - 1]
    values, lengths = np.empty(k, x.dtype), np.empty(k, np.intp)
    k, start = 0, 0
    for i in range(1, n):
        if x[i] != x[i - 1]:
            values[k], lengths[k] = x[start], i - start
            k, start = k + 1, i
    if n > 0:
        values[k], lengths[k] = x[start], n - start
    return values, lengths


def runs(x):
    at = np.concatenate(([0], np.flatnonzero(x[1:] != x[:-1]) + 1))
    return x[at], np.diff(np.append(at, len(x)))


program_case(
    "run lengths",
    lambda tp, x: tp.run_length_encode(x),
    runs_loop,
    runs,
    lambda rng, n: (np.repeat(rng.integers(0, 100, n // 8), rng.integers(1, 16, n // 8)),),
)


def large_loop(z):
    k = 0
    for v in z:
        k += abs(v) > 1.5
    out = np.empty(k)
    k = 0
    for v in z:
        if abs(v) > 1.5:
            out[k] = v
            k += 1
    return out


program_case(
    "what is large",
    lambda tp, z: tp.filter(lambda v: abs(v) > 1.5, z),
    large_loop,
    lambda z: z[np.abs(z) > 1.5],
    normal,
)


def equal_loop(img):
    h = np.zeros(256, np.int64)
    flat = img.ravel()
    for v in flat:
        h[v] += 1
    table = np.empty(256, np.uint8)
    c, first = 0, h[0]
    for i in range(256):
        c += h[i]
        table[i] = (c - first) * 255 // (img.size - first)
    out = np.empty(img.shape, np.uint8)
    to = out.ravel()
    for i in range(flat.size):
        to[i] = table[flat[i]]
    return out


def equal(tp, img):
    c = tp.scan(tp.add, tp.bincount(img.ravel(), minlength=256))
    return tp.take(((c - c[0]) * 255 // (img.size - c[0])).astype("u1"), img)


def equal_numpy(img):
    c = np.cumsum(np.bincount(img.ravel(), minlength=256))
    return ((c - c[0]) * 255 // (img.size - c[0])).astype("u1")[img]


program_case(
    "equalisation",
    equal,
    equal_loop,
    equal_numpy,
    lambda rng, n: (rng.integers(0, 256, (math.isqrt(n), math.isqrt(n))).astype("u1"),),
)

# --- order -------------------------------------------------------------------------------------------


def trades_loop(t, p, v):
    order = np.argsort(t, kind="stable")
    times, prices, volumes = np.empty_like(t), np.empty_like(p), np.empty_like(v)
    for i in range(len(t)):
        k = order[i]
        times[i], prices[i], volumes[i] = t[k], p[k], v[k]
    return times, prices, volumes


def trades(t, p, v):
    order = np.argsort(t, kind="stable")
    return t[order], p[order], v[order]


program_case(
    "sort by key",
    lambda tp, t, p, v: tp.sort_by_key(t, p, v),
    trades_loop,
    trades,
    lambda rng, n: (rng.integers(0, n, n), rng.standard_normal(n), np.arange(n)),
)

VOCABULARY = 30_000
MOST = 20


def pairs_loop(tok):
    n = len(tok) - 1
    keys = np.empty(n, np.int64)
    for i in range(n):
        keys[i] = tok[i] * VOCABULARY + tok[i + 1]
    keys = np.sort(keys)
    k = min(n, 1)
    for i in range(1, n):
        k += keys[i] != keys[i - 1]
    values, counts = np.empty(k, np.int64), np.empty(k, np.int64)
    k, start = 0, 0
    for i in range(1, n):
        if keys[i] != keys[i - 1]:
            values[k], counts[k] = keys[start], i - start
            k, start = k + 1, i
    values[k], counts[k] = keys[start], n - start
    best = np.argsort(-counts, kind="stable")[:MOST]
    return counts[best], values[best] // VOCABULARY, values[best] % VOCABULARY


def pairs(tp, tok):
    k, c = tp.unique_counts(tok[:-1] * VOCABULARY + tok[1:])
    top, i = tp.topk(c, MOST)
    return top, k[i] // VOCABULARY, k[i] % VOCABULARY


def pairs_numpy(tok):
    k, c = np.unique(tok[:-1] * VOCABULARY + tok[1:], return_counts=True)
    best = np.argsort(-c, kind="stable")[:MOST]
    return c[best], k[best] // VOCABULARY, k[best] % VOCABULARY


program_case(
    "pairs of words",
    pairs,
    pairs_loop,
    pairs_numpy,
    lambda rng, n: (np.minimum(rng.zipf(1.3, n), VOCABULARY - 1),),
)

CHOSEN = 10


def recommended_loop(users, items, seen):
    score = users @ items.T
    n, m = score.shape
    best, at = np.empty((n, CHOSEN)), np.empty((n, CHOSEN), np.intp)
    for r in range(n):
        for c in range(m):
            v = -np.inf if seen[r, c] else score[r, c]
            k = min(c, CHOSEN)
            if k == CHOSEN and not v > best[r, k - 1]:
                continue
            k -= k == CHOSEN
            while k > 0 and best[r, k - 1] < v:
                best[r, k], at[r, k] = best[r, k - 1], at[r, k - 1]
                k -= 1
            best[r, k], at[r, k] = v, c
    return best, at


def recommended(tp, users, items, seen):
    return tp.topk(tp.where(seen, -np.inf, users @ items.T), CHOSEN, axis=1)


def recommended_numpy(users, items, seen):
    score = np.where(seen, -np.inf, users @ items.T)
    at = np.argsort(-score, axis=1, kind="stable")[:, :CHOSEN]
    return np.take_along_axis(score, at, 1), at


def ratings(rng: np.random.Generator, n: int) -> Arguments:
    k = math.isqrt(n)
    return rng.standard_normal((k, 16)), rng.standard_normal((k, 16)), rng.random((k, k)) < 0.3


program_case("recommendations", recommended, recommended_loop, recommended_numpy, ratings)

# --- rows --------------------------------------------------------------------------------------------


def centres_loop(x, c):
    sums, counts = np.zeros_like(c), np.zeros(len(c), np.int64)
    n, d = x.shape
    for i in range(n):
        best, label = np.inf, 0
        for k in range(len(c)):
            s = 0.0
            for j in range(d):
                s += (x[i, j] - c[k, j]) ** 2
            if s < best:
                best, label = s, k
        counts[label] += 1
        for j in range(d):
            sums[label, j] += x[i, j]
    for k in range(len(c)):
        for j in range(d):
            sums[k, j] /= counts[k]
    return sums


def centres(tp, x, c):
    label = ((x[:, None] - c[None]) ** 2).sum(axis=2).argmin(axis=1)
    sums = tp.zeros(c.shape).at[label].add(x)
    return sums / tp.bincount(label, minlength=len(c))[:, None]


def centres_numpy(x, c):
    label = ((x[:, None] - c[None]) ** 2).sum(axis=2).argmin(axis=1)
    return np.array([x[label == k].mean(axis=0) for k in range(len(c))])


def points(rng: np.random.Generator, n: int) -> Arguments:
    """The first ten are the centres."""
    x = rng.standard_normal((n // 20, 4))
    return x, x[:10].copy()


program_case(
    "k-means step",
    centres,
    centres_loop,
    centres_numpy,
    points,
)


def softmax_loop(x):
    out = np.empty_like(x)
    n, m = x.shape
    for r in range(n):
        top = x[r, 0]
        for c in range(1, m):
            top = max(top, x[r, c])
        s = 0.0
        for c in range(m):
            out[r, c] = math.exp(x[r, c] - top)
            s += out[r, c]
        for c in range(m):
            out[r, c] /= s
    return out


def softmax(tp, x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


program_case(
    "softmax of rows",
    softmax,
    softmax_loop,
    lambda x: softmax(None, x),
    lambda rng, n: (rng.standard_normal((n // 100, 100)),),
)


def means_loop(x, times):
    n = len(x)
    means = np.empty(times)
    for b in range(times):
        s = 0.0
        for _ in range(n):
            s += x[np.random.randint(0, n)]
        means[b] = s / n
    return np.quantile(means, [0.025, 0.975])


def means(tp, x, times):
    n = x.shape[0]
    m = tp.take(x, tp.random.randint(tp.random.key(3), 0, n, (times, n))).mean(axis=1)
    return np.quantile(m, [0.025, 0.975])


program_case(
    "bootstrap",
    means,
    means_loop,
    lambda x, times: x.mean() + np.array([-1.96, 1.96]) * x.std() / math.sqrt(len(x)),
    lambda rng, n: (rng.standard_normal(math.isqrt(n)) + 3.0, math.isqrt(n)),
    rtol=0.3,  # results are looked at for some twenty items, drawn twenty times
)

LARGEST = 10


def sparse_loop(v, times):
    p, d = v.shape
    c, key, place, best = np.empty(d), np.zeros(LARGEST), np.zeros(LARGEST, np.int64), -1.0
    keys, places = np.zeros(LARGEST), np.zeros(LARGEST, np.int64)
    for _ in range(times):
        length = 0.0
        for j in range(d):
            c[j] = np.random.normal()
            length += c[j] * c[j]
        length = math.sqrt(length)
        key[:] = 0.0
        for i in range(p):
            a = 0.0
            for j in range(d):
                a += c[j] / length * v[i, j]
            if abs(a) > abs(key[LARGEST - 1]):
                q = LARGEST - 1
                while q > 0 and abs(a) > abs(key[q - 1]):
                    key[q], place[q] = key[q - 1], place[q - 1]
                    q -= 1
                key[q], place[q] = a, i
        s = 0.0
        for q in range(LARGEST):
            s += key[q] * key[q]
        if s > best:
            best = s
            keys[:], places[:] = key, place
    out = np.zeros(p)
    for q in range(LARGEST):
        out[places[q]] = keys[q] / math.sqrt(best)
    return np.sort(np.abs(out))[-2:]


def sparse(tp, v, times):
    c = tp.random.normal(tp.random.key(7), (times, v.shape[1]))
    c = c / np.sqrt((c * c).sum(1, keepdims=True))
    a, i = tp.topk(c @ v.T, LARGEST, axis=1, key=abs)
    s = (a * a).sum(1)
    b = s.argmax()
    return np.sort(abs(tp.zeros(v.shape[0]).at[i[b]].set(a[b] / np.sqrt(s[b]))))[-2:]


def sparse_numpy(v, times):
    c = np.random.default_rng(7).standard_normal((times, v.shape[1]))
    a = np.sort(np.abs(c / np.sqrt((c * c).sum(1, keepdims=True)) @ v.T), axis=1)[:, -LARGEST:]
    s = (a * a).sum(1)
    return np.sort(a[s.argmax()] / np.sqrt(s.max()))[-2:]


# Items are the products that are never all there at once.
program_case(
    "sparse component",
    sparse,
    sparse_loop,
    sparse_numpy,
    lambda rng, n: (rng.standard_normal((1000, 3)), max(n // 1000, 100)),
    rtol=0.3,
)

# --- a library's call --------------------------------------------------------------------------------


def smooth(a, w):
    return np.convolve(a, np.ones(w) / w, "same")


def difference_loop(z, y):
    out = np.empty_like(y)
    for i in range(len(y)):
        out[i] = z[i] - y[i]
    return out


def smoothed(tp, y):
    called = tp.extension(smooth, shape=lambda a, w: a.shape, dtype=lambda a, w: a)
    return called(y, 5) - y


def smoothed_by_hand() -> Callable[..., Any]:
    taken = by_hand(difference_loop)()
    return lambda y: taken(smooth(y, 5), y)


program_case(
    "a library's call", smoothed, difference_loop, lambda y: smooth(y, 5) - y, normal, hand=smoothed_by_hand
)
