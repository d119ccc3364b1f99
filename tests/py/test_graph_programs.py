"""Programs that users of treadle.parallel would write, as they would stand there: lazily, on one core and on all, and what they take from NumPy at once."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import treadle.parallel as tp
from treadle import njit, prange

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fuzz"))
from accounts import counted  # noqa: E402

RNG = np.random.default_rng(5)
X = RNG.normal(size=1000)


def value(r):
    """The value of what a program gives: an array, or a tuple of such."""
    return tuple(np.asarray(v) for v in r) if isinstance(r, tuple) else np.asarray(r)


def norm(x):
    return np.sqrt((x * x).sum())


def moving_average(x, w=7):
    c = tp.scan(tp.add, x)
    return (c[w:] - c[:-w]) / w


def run_lengths(x):
    v, n = tp.run_length_encode(x)
    return v, n


def monte_carlo():
    x, y = tp.random.uniform(tp.random.key(7), (2, 10**6))
    return 4 * (x * x + y * y < 1).mean()


def price(s, k, t, r, v):
    d = (math.log(s / k) + (r + v * v / 2) * t) / (v * math.sqrt(t))
    n1 = (1 + math.erf(d / math.sqrt(2))) / 2
    n2 = (1 + math.erf((d - v * math.sqrt(t)) / math.sqrt(2))) / 2
    call = s * n1 - k * math.exp(-r * t) * n2
    return call, call - s + k * math.exp(-r * t)


def black_scholes(s, k, t):
    call, put = tp.map(price, s, k, t, 0.02, 0.3)
    return call, put


def equalisation(img):
    h = tp.bincount(img.ravel(), minlength=256)
    c = tp.scan(tp.add, h)
    return tp.take(((c - c[0]) * 255 // (img.size - c[0])).astype("u1"), img)


def sorted_by_key(t, px, vol):
    return tp.sort_by_key(t, px, vol)


def large(z):
    return tp.filter(lambda v: abs(v) > 1.5, z)


def bigrams(tok, V=12):
    k, c = tp.unique_counts(tok[:-1] * V + tok[1:])
    top, i = tp.topk(c, 5)
    return top, k[i] // V, k[i] % V


def recommendations(U, items, seen):
    score = tp.where(seen, -np.inf, U @ items.T)
    return tp.topk(score, 3, axis=1)


def k_means_labels(X, C):
    d = ((X[:, None] - C[None]) ** 2).sum(axis=2)
    return d.argmin(axis=1)


def k_means_step(X, C):
    lab = k_means_labels(X, C)
    return tp.reduce_by_key(tp.add, lab, X, size=4) / tp.bincount(lab, minlength=4)[:, None]


def welford(x):
    def join(a, b):
        n = a[0] + b[0]
        d = b[1] - a[1]
        f = b[0] / max(n, 1)
        return n, a[1] + d * f, a[2] + b[2] + d * d * a[0] * f

    return tp.reduce(join, (1.0, x, 0.0), identity=(0.0, 0.0, 0.0))


def smoothing(x, a=0.25):
    _, y = tp.scan(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (1 - a, a * x), identity=(1.0, 0.0))
    return y


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def n_body(x):
    return ((x[None] - x[:, None]) * np.abs(x)).sum(axis=1)


def bootstrap(x, B=50):
    n = x.shape[0]
    m = tp.take(x, tp.random.randint(tp.random.key(3), 0, n, (B, n))).mean(axis=1)
    return np.quantile(m, [0.025, 0.975])


def sparse_pca(V, m=200, k=5):
    """The whole algorithm: the best of random combinations of factors, of the k largest loadings of each."""
    p, d = V.shape
    c = tp.random.normal(tp.random.key(11), (m, d))
    c = c / np.sqrt((c * c).sum(1, keepdims=True))
    v, i = tp.topk(c @ V.T, k, axis=1, key=abs)
    s = (v * v).sum(1)
    b = s.argmax()
    return tp.zeros(p).at[i[b]].set(v[b] / np.sqrt(s[b]))


def smoothed(y):
    smooth = tp.extension(
        lambda a, w: np.convolve(a, np.ones(w) / w, "same"), shape=lambda a, w: a.shape, dtype=lambda a, w: a
    )
    return smooth(y, 5) - y


PROGRAMS = {
    norm: ((X,), lambda x: np.sqrt((x * x).sum())),
    moving_average: ((X,), lambda x: np.convolve(x, np.ones(7) / 7, "valid")[1:]),
    run_lengths: (
        (np.repeat([3, 1, 1, 2], [2, 3, 1, 4]),),
        lambda x: (np.array([3, 1, 2]), np.array([2, 4, 4])),
    ),
    black_scholes: (
        (np.array([90.0, 100.0, 110.0]), np.array([100.0, 100.0, 100.0]), np.array([0.5, 1.0, 2.0])),
        lambda s, k, t: tuple(np.array([price(*a, 0.02, 0.3) for a in zip(s, k, t, strict=True)]).T),
    ),
    equalisation: (
        (RNG.integers(0, 256, (20, 30)).astype("u1"),),
        lambda img: (lambda c: ((c - c[0]) * 255 // (img.size - c[0])).astype("u1")[img])(
            np.cumsum(np.bincount(img.ravel(), minlength=256))
        ),
    ),
    sorted_by_key: (
        (RNG.integers(0, 50, 200), X[:200], np.arange(200)),
        lambda t, p, v: tuple(a[np.argsort(t, kind="stable")] for a in (t, p, v)),
    ),
    large: ((X,), lambda z: z[np.abs(z) > 1.5]),
    bigrams: (
        (RNG.integers(0, 12, 500),),
        lambda tok: (
            lambda k, c: (lambda o: (c[o], k[o] // 12, k[o] % 12))(np.argsort(-c, kind="stable")[:5])
        )(*np.unique(tok[:-1] * 12 + tok[1:], return_counts=True)),
    ),
    recommendations: (
        (RNG.normal(size=(6, 4)), RNG.normal(size=(9, 4)), RNG.random((6, 9)) < 0.3),
        lambda u, i, seen: (
            lambda s: (lambda o: (np.take_along_axis(s, o, 1), o))(
                np.argsort(-s, axis=1, kind="stable")[:, :3]
            )
        )(np.where(seen, -np.inf, u @ i.T)),
    ),
    k_means_labels: (
        (RNG.normal(size=(40, 3)), RNG.normal(size=(4, 3))),
        lambda x, c: ((x[:, None] - c[None]) ** 2).sum(axis=2).argmin(axis=1),
    ),
    k_means_step: (
        (RNG.normal(size=(40, 3)), RNG.normal(size=(4, 3))),
        lambda x, c: (
            lambda lab: (
                np.array([x[lab == k].sum(axis=0) for k in range(4)]) / np.bincount(lab, minlength=4)[:, None]
            )
        )(((x[:, None] - c[None]) ** 2).sum(axis=2).argmin(axis=1)),
    ),
    welford: ((X,), lambda x: (np.float64(x.size), x.mean(), ((x - x.mean()) ** 2).sum())),
    smoothing: (
        (X,),
        lambda x: np.array(
            [sum(0.25 * 0.75 ** (i - j) * x[j] for j in range(max(0, i - 200), i + 1)) for i in range(x.size)]
        ),
    ),
    softmax: (
        (RNG.normal(size=(5, 8)),),
        lambda x: (
            np.exp(x - x.max(1, keepdims=True)) / np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)
        ),
    ),
    n_body: ((X[:30],), lambda x: ((x[None] - x[:, None]) * np.abs(x)).sum(axis=1)),
    smoothed: ((X,), lambda y: np.convolve(y, np.ones(5) / 5, "same") - y),
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_program_gives_what_numpy_gives(program):
    args, oracle = PROGRAMS[program]
    want = value(oracle(*args))
    many = program(*map(tp.array, args))
    one = program(*map(tp.array, args))
    tp.evaluate(*(one if isinstance(one, tuple) else (one,)), parallel=False)
    many, one = value(many), value(one)
    for a, b, w in zip(*((x if isinstance(x, tuple) else (x,)) for x in (many, one, want)), strict=True):
        assert a.tobytes() == b.tobytes(), "the same bits on one core and on all"
        assert (a.dtype, a.shape) == (w.dtype, w.shape)
        np.testing.assert_allclose(a, w, rtol=1e-9, atol=1e-12)


def test_how_many_kernels():
    """What is not one stays apart for a reason: what is kept is counted first, a sort is a call, a table is looked up when it is whole. On all cores."""
    most = {
        norm: 1,
        moving_average: 2,
        run_lengths: 3,
        black_scholes: 1,
        equalisation: 6,
        sorted_by_key: 4,
        large: 2,
        bigrams: 6,
        recommendations: 2,
        k_means_labels: 2,
        welford: 1,
        smoothing: 1,
        softmax: 3,
        n_body: 1,
        smoothed: 1,
    }
    for program, n in most.items():
        r = program(*map(tp.array, PROGRAMS[program][0]))
        e = tp.explain(*(r if isinstance(r, tuple) else (r,)))
        assert len(e.kernels) <= n, program.__name__


def k_means(X, C):
    label = k_means_labels(X, C)
    return tp.zeros(C.shape).at[label].add(X) / tp.bincount(label, minlength=len(C))[:, None]


@pytest.mark.parametrize(("k", "d"), [(4, 3), (10, 4), (3, 11), (20, 7)])
def test_a_step_of_k_means_is_two_kernels(k, d):
    """Distances, the nearest centre, whether labels are places, sums and counts by label: however short rows are, and none is an array of all points."""
    x = np.random.default_rng(k).normal(size=(140000 // (k * d), d))
    c = x[:k].copy()
    label = ((x[:, None] - c) ** 2).sum(axis=2).argmin(axis=1)
    want = np.array([x[label == i].mean(axis=0) for i in range(k)])
    drawn = tp.random.key(3)
    e, said, seen = counted(lambda: (k_means(tp.random.normal(drawn, x.shape), tp.array(c)),))
    assert said == seen
    assert sum(not {"subtract", "argmin"}.isdisjoint(n[2] for n in m.nodes) for m in e.kernels) == 1
    for parallel in (False, True):
        e = tp.explain(k_means(tp.array(x), tp.array(c)), parallel=parallel)
        (labels,) = (m for m in e.kernels if {"argmin", "subtract"} & {n[2] for n in m.nodes})
        assert {"subtract", "power", "argmin"} <= {n[2] for n in labels.nodes}
        assert len(e.kernels) == 2 and labels.written == c.nbytes + 8 * k and e.peak < 4 * (c.nbytes + 8 * k)
    many, one = k_means(tp.array(x), tp.array(c)), k_means(tp.array(x), tp.array(c))
    tp.evaluate(one, parallel=False)
    assert value(one).tobytes() == value(many).tobytes()
    np.testing.assert_allclose(value(one), want, rtol=1e-9)


def test_monte_carlo_makes_no_array():
    e = tp.explain(monte_carlo())
    assert len(e.kernels) == 1 and e.peak < 100
    assert abs(float(monte_carlo()) - np.pi) < 0.01


def test_bootstrap():
    lo, hi = bootstrap(tp.array(X))
    assert lo < X.mean() < hi and hi - lo < 0.2


def test_sparse_pca():
    V = RNG.normal(size=(60, 3))
    x = np.asarray(sparse_pca(tp.array(V)))
    assert (x != 0).sum() == 5 and abs(np.linalg.norm(x) - 1) < 1e-12
    c = np.array(tp.random.normal(tp.random.key(11), (200, 3)))
    c /= np.linalg.norm(c, axis=1)[:, None]
    a = np.abs(c @ V.T)
    best = np.sort(a, axis=1)[:, -5:]
    row = (best**2).sum(1).argmax()
    assert set(np.flatnonzero(x)) == set(np.argsort(-a[row])[:5])


def of_terms(d, p=1000):
    return np.random.default_rng(d).normal(size=(p, d))


def of_samples(d):
    """Program 24 up to the argmax, as it may stand in compiled code: d is a constant there, or None, and then V's."""

    def chosen(V, m, k):
        terms = V.shape[1] if d is None else d
        c = tp.random.normal(tp.random.key(11), (m, terms), dtype=V.dtype)
        c = c / np.sqrt((c * c).sum(1, keepdims=True))
        v, i = tp.topk(c @ V.T, k, axis=1, key=abs)
        s = (v * v).sum(1)
        b = s.argmax()
        return v[b], i[b], s[b], b

    return chosen


UNFUSED = f"""
import sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
import test_graph_programs as t
print(t.tp.explain(t.sparse_pca(t.tp.array(t.of_terms(int(sys.argv[1]))), int(sys.argv[2]), 10), parallel=False).moved)
"""


def unfused(d, m):
    """What m samples move where nothing is fused."""
    done = subprocess.run(
        [sys.executable, "-c", UNFUSED, str(d), str(m)],
        env={**os.environ, "TREADLE_SKIP": "product,twins,demand,fuse,recompute,byrow"},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


def test_sparse_pca_is_one_kernel_up_to_the_argmax():
    """Samples, products, the best of each and the best of all: neither is an array that goes through memory; what is left works on one row."""
    e, said, seen = counted(lambda: (sparse_pca(tp.array(of_terms(3)), 140, 10),))
    first, *rest = e.kernels
    assert {"normal", "topk", "argmax"} <= {n[2] for n in first.nodes}
    assert all(k.read + k.written <= 2 * 8 * 1000 and "call" not in k.forms for k in rest)
    assert said == seen
    assert tp.explain(sparse_pca(tp.array(of_terms(3)), 2000, 10)).moved < unfused(3, 2000) / 100


@pytest.mark.parametrize(
    ("d", "dtype"), [(1, "f8"), (2, "f4"), (3, "f8"), (3, "f4"), (5, "f8"), (8, "f4"), (9, "f4")]
)
def test_the_best_sample_by_every_way(d, dtype):
    """Array by array and row by row, on one core and on all, lazily and compiled: the same bits; nearly those of a BLAS."""
    V, chosen = of_terms(d).astype(dtype), of_samples(d)
    ways = [njit(chosen), njit(chosen, parallel=True)]
    if d > 7:
        ways += [njit(of_samples(None)), njit(of_samples(None), parallel=True)]
    for m in (20, 300):
        many, one = chosen(tp.array(V), m, 5), chosen(tp.array(V), m, 5)
        tp.evaluate(*one, parallel=False)
        many, one = value(many), value(one)
        for f in ways:
            for a, b, c in zip(many, one, f(V, m, 5), strict=True):
                assert a.tobytes() == b.tobytes() == np.asarray(c, a.dtype).tobytes()
        c = np.array(tp.random.normal(tp.random.key(11), (m, d), dtype=dtype))
        a = (c / np.sqrt((c * c).sum(1, keepdims=True))) @ V.T
        places = np.argsort(-np.abs(a), axis=1, kind="stable")[:, :5]
        worth = (np.take_along_axis(a, places, 1) ** 2).sum(1)
        np.testing.assert_allclose(worth[one[3]], worth.max(), rtol=1e-5)
        np.testing.assert_allclose(one[0], a[one[3], places[one[3]]], rtol=1e-5)
        np.testing.assert_allclose(one[2], worth.max(), rtol=1e-5)


@pytest.mark.parametrize(("known", "d"), [(3, 3), (None, 3), (8, 8), (None, 20)])
def test_the_best_sample_of_any_matrix(known, d):
    """However V lies, in a caller and in rounds of a prange: the same."""
    chosen, V, wide = njit(of_samples(known)), of_terms(d), np.zeros((2000, d + 3))
    wide[::2, 1 : 1 + d] = V
    readonly = V.copy()
    readonly.flags.writeable = False
    want = value(chosen(V, 300, 5))

    @njit(parallel=True)
    def in_rounds(V, n):
        out = np.zeros(n)
        for q in prange(n):
            out[q] = chosen(V, 300, 5)[2]
        return out

    for a in (np.asfortranarray(V), wide[::2, 1 : 1 + d], readonly, V[::-1].copy()[::-1]):
        for x, y in zip(value(chosen(a, 300, 5)), want, strict=True):
            assert x.tobytes() == y.tobytes()
        assert in_rounds(a, 3).tolist() == [float(want[2])] * 3
    if known:
        with pytest.raises(ValueError, match="not aligned"):
            chosen(V[:, :2], 300, 5)
    with pytest.raises(ValueError, match="k is 5, and there are 3"):
        chosen(V[:3], 300, 5)
    with pytest.raises(ValueError, match="empty"):
        chosen(V, 0, 5)


@pytest.mark.parametrize("d", [8, 9, 12, 40])
def test_sparse_pca_of_more_terms(d):
    """Samples and all that is made of them are one kernel, in which a library multiplies a block of rows at a time; the
    best of all is found by another one, among one number a sample."""
    e, said, seen = counted(lambda: (sparse_pca(tp.array(of_terms(d, 100)), 1320, 10),))
    assert said == seen
    (rows,) = (k for k in e.kernels if "top" in k.forms)
    assert {"normal", "matmul", "topk"} <= {n[2] for n in rows.nodes}
    assert not any("call" in k.forms for k in e.kernels)
    m = 10000
    e = tp.explain(sparse_pca(tp.array(of_terms(d)), m, 10))
    (rows,) = (k for k in e.kernels if "top" in k.forms)
    assert rows.read + rows.written <= 8 * (1000 * d + m * (3 * 10 + 1))
    assert e.moved < unfused(d, m) / 100
