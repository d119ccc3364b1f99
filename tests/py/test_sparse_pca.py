"""Sparse PCA: all ways of looking at samples find one sample, which NumPy finds too, however the work is cut; and what arguments may be."""

from __future__ import annotations

import io
import signal
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import treadle
import treadle.parallel as tp
from treadle._library import spca as lib
from treadle.parallel import _progress, _spca
from treadle.parallel._progress import Progress

FUZZ = Path(__file__).resolve().parents[1] / "fuzz"
sys.path.insert(0, str(FUZZ))

import sparse_pca as cases  # noqa: E402

RNG = np.random.default_rng(9)
V = RNG.standard_normal((150, 3)) * np.array([3.0, 2.0, 1.0])
V32 = V.astype(np.float32)


def parts(r):
    """What two results must have in common, bits and all."""
    return r.indices.tolist(), r.values.tobytes(), r.objective, r.sample, r.worth, r.size


@pytest.mark.slow
def test_all_ways_find_the_same():
    faults = [(number, wrong) for number in range(1000) if (wrong := cases.fault(7, number))]
    assert not faults, faults[:3]


def test_cases_are_of_all_kinds():
    drawn = [cases.case(7, number) for number in range(300)]
    assert {(v.shape[1], v.dtype.type) for v, _, _ in drawn} == set(cases.TYPES)
    assert any(k == len(v) > 64 for v, k, _ in drawn) and any(o["compat"] for _, _, o in drawn)
    assert any(len(v) > 64 and len(np.unique(np.abs(v), axis=0)) == 1 for v, _, _ in drawn), "ties"


def prepared(v, k):
    """Scaled loadings, and what the search is given of them."""
    scaled, *rows, top, exponent = _spca._programs(lib.PRUNED, v.shape[1], False, True, True)[0](
        v, k, min(3, len(v))
    )
    assert top == np.abs(v).max() and (exponent == 0 if top == 0 else 0.5 <= np.ldexp(top, -exponent) < 1)
    assert np.array(scaled).T.tobytes() == np.ldexp(v, -exponent).tobytes()
    return np.array(scaled).T, rows


@cache
def each_sample(signed):
    """A compiled function: of each sample the worth, by both ways that select, whether a bound would let it pass, and U."""

    @treadle.njit(error_model="numpy")
    def f(v, p, norm, shape, k, key, m, scale):
        g = lib.drawn(v, key, 0, m)
        a, zero = np.empty(len(norm), v[0].dtype), scale - scale
        full, early = zero, zero
        w, passes, above = np.empty((3, m), v[0].dtype), np.empty(m, np.bool_), np.empty((2, m), v[0].dtype)
        for s in range(m):
            c = lib.point(v, g, s)
            w[0, s], _, full = lib.tried(v, p, norm, shape, k, c, zero, full, False, signed, a)
            w[1, s], kth, early = lib.tried(v, p, norm, shape, k, c, zero, early, True, signed, a)
            # The best so far is worth one unit less, and t is what makes the bound tight.
            best = np.nextafter(w[1, s], -np.ones_like(w[1, s]))
            w[2, s], _, _ = lib.tried(v, p, norm, shape, k, c, best, full, False, signed, a)
            bar = lib.margin(v, p, k, norm, best)
            u, square = lib.bounds(v, k, norm, g[s : s + 1], abs(kth))
            passes[s] = u[0] > bar * square[0]
            above[0, s] = u[0] / square[0]
            u, square = lib.bounds(v, k, norm, g[s : s + 1], abs(kth) * scale)
            above[1, s] = u[0] / square[0]
        return w, passes, above

    return f


@pytest.mark.slow
def test_each_sample_is_selected_and_bounded():
    """What the best of all hides: thresholds and early ends lose nothing of any sample, and a better one always passes."""
    passed = 0
    for number in range(300):
        v, k, options = cases.case(8, number)
        m, signed = min(options["samples"], 200), options["compat"] is not None
        v, (columns, norm, shape) = prepared(v, k)
        key = np.uint64(options["key"])
        w, passes, above = each_sample(signed)(columns, len(v), norm, shape, k, key, m, v.dtype.type(0.9))
        want = cases.worths(v, k, options["key"], m, options["compat"])
        unit, longest = (
            float(np.finfo(v.dtype).eps),
            float(np.linalg.norm(v.astype(np.float64), axis=1).max()),
        )
        bound = 20 * unit * (np.sqrt(want * k) * longest + want)
        assert w[0].tobytes() == w[1].tobytes(), (number, "an early end")
        assert w[0].tobytes() == w[2].tobytes(), (number, "a better one is not taken for it")
        assert (np.abs(w[0] - want) <= bound).all(), (number, "the worth")
        assert passes[w[0] > 0].all(), (number, "a better sample is left out")
        assert (above >= w[0] - bound).all(), (number, "the bound")
        passed += (w[0] > 0).sum()
    assert passed > 10000


@pytest.mark.slow
def test_what_is_promised_is_found():
    """What a range is first held against is less than one of its samples is worth, by one unit, and stands in no result."""

    @treadle.njit(error_model="numpy")
    def f(v, p, norm, shape, k, key, m, best):
        # What is found by a search that begins with nothing, and what is promised.
        begun, _ = lib.promised(v, p, norm, shape, k, key, 0, m, lib.usual(v, p, k), False)
        return lib.best_of(v, p, norm, shape, k, key, 0, m, best, lib.usual(v, p, k), lib.EARLY, False), begun

    close = 0
    for number in range(200):
        v, k, options = cases.case(9, number)
        v, (columns, norm, shape) = prepared(v, k)
        key, m = np.uint64(options["key"]), min(options["samples"], 300)
        none = v.dtype.type(-1), -1, v.dtype.type(0)
        (best, at, _), (told, of, kth) = f(columns, len(v), norm, shape, k, key, m, none)
        assert told < best and at >= 0 and of == -1 and kth <= norm[0], number
        close += np.nextafter(v.dtype.type(told), v.dtype.type(9e9)) == best
    assert close > 50, "it is a good one"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_loadings_are_scaled_and_ordered(dtype):
    """By a power of two, as `ldexp` does, down to numbers that are not normal; and rows so that `norm` bounds all that come later."""
    rng = np.random.default_rng(3)
    info = np.finfo(dtype)
    for power in (info.minexp + 20, -121, -120, -30, 0, 4, 6, 8, 30, 118, 119, info.maxexp - 5):
        wide = rng.uniform(-1, 1, (130, 3)) * np.exp2(rng.integers(info.minexp - 25, 1, (130, 1)))
        with np.errstate(under="ignore"):
            v = np.ldexp(wide, power).astype(dtype)
        v, (columns, norm, _) = prepared(v, 4)
        lengths = np.sqrt((np.array(columns).astype(float) ** 2).sum(axis=0))
        assert sorted(map(tuple, v)) == sorted(zip(*(c[:130] for c in columns), strict=True))
        assert len(norm) % lib.ROWS == 0 and not lengths[130:].any() and (np.diff(norm) <= 0).all()
        assert (norm >= np.maximum.accumulate(lengths[::-1])[::-1]).all() and norm[0] < lengths.max() * 1.001
        ahead = lengths[:129] > lengths.max() * 2.0**-30
        assert (lengths[1:130][ahead] <= lengths[:129][ahead] * (1 + 1 / 31)).all(), "almost in order"


def test_numbers_of_later_batches_compile_nothing(monkeypatch):
    """What Python hands on from batch to batch comes back as its own numbers, whose types are others."""
    treadle.sparse_pca(V32, k=4, samples=5000)
    monkeypatch.setattr(_spca, "_FIRST", 1)
    before = [treadle.stats()[n] for n in ("compiled", "loaded")]
    batches = []
    monkeypatch.setattr(Progress, "__call__", lambda self, done: batches.append(done))
    treadle.sparse_pca(V32, k=4, samples=5000)
    assert len(batches) > 1
    assert [treadle.stats()[n] for n in ("compiled", "loaded")] == before


def test_it_is_the_program_of_the_graphs():
    """Program 24 in lazy arrays, whose result has the same bits."""
    m, k, key = 1600, 5, tp.random.key(11)
    c = tp.random.normal(key, (m, 3))
    c = c / np.sqrt((c * c).sum(1, keepdims=True))
    a = (c[:, 0:1] * V[:, 0] + c[:, 1:2] * V[:, 1]) + c[:, 2:3] * V[:, 2]
    v, i = tp.topk(a, k, axis=1, key=abs)
    s = np.asarray((v * v).sum(1))
    b = int(s.argmax())
    r = treadle.sparse_pca(V, samples=m, k=k, key=key, polish=False)
    assert r.sample == b and r.worth == s[b]
    assert r.indices.tolist() == sorted(np.asarray(i)[b].tolist())
    x = np.asarray(v)[b][np.argsort(np.asarray(i)[b])] / np.sqrt(s[b])
    assert np.allclose(r.values, x, rtol=1e-14) or np.allclose(r.values, -x, rtol=1e-14)


@pytest.mark.parametrize("method", cases.WAYS)
@pytest.mark.parametrize("compat", [None, "talk2014"])
def test_bits_do_not_depend_on_threads_and_batches(method, compat, monkeypatch):
    def result(**options):
        return parts(
            treadle.sparse_pca(V32, k=7, samples=5000, key=3, method=method, compat=compat, **options)
        )

    want = result(parallel=False)
    before = treadle.get_num_threads()
    try:
        for threads in (1, 2, before):
            treadle.set_num_threads(threads)
            assert result() == want
    finally:
        treadle.set_num_threads(before)
    monkeypatch.setattr(_spca, "_FIRST", 1)
    monkeypatch.setattr(_spca.spca, "SAMPLES", 37)  # the least size of a batch; compiled code has its own
    batches = []
    monkeypatch.setattr(Progress, "__call__", lambda self, done: batches.append(done))
    assert result() == want and result(parallel=False) == want
    assert len(batches) > 4


def test_the_vector():
    a = np.zeros((6, 2))
    a[1, 0], a[4, 0], a[2, 1] = 3, -4, 1
    r = treadle.sparse_pca(a, 0.5, 2)
    assert r.indices.tolist() == [1, 4] and np.allclose(r.values, [-0.6, 0.8]) and np.isclose(r.objective, 25)
    assert r.x.tolist() == [0, r.values[0], 0, 0, r.values[1], 0] and r.size == 6
    assert r.worth <= r.objective * (1 + 1e-12) and 0 <= r.sample < 64
    assert r.x @ a @ a.T @ r.x == pytest.approx(r.objective)


def test_polishing_is_by_the_covariance_that_is_given():
    full = RNG.standard_normal((200, 40))
    A = full.T @ full / 200
    w, U = np.linalg.eigh(A)
    Vd = U[:, :-4:-1] * np.sqrt(w[:-4:-1])
    plain = treadle.sparse_pca(Vd, 0.4, 6, polish=False, A=A)
    low = treadle.sparse_pca(Vd, 0.4, 6)
    best = treadle.sparse_pca(Vd, 0.4, 6, A=A)
    assert plain.sample == low.sample == best.sample and plain.worth == low.worth == best.worth
    assert plain.objective == pytest.approx(plain.x @ A @ plain.x)
    assert best.objective == pytest.approx(best.x @ A @ best.x) and low.objective == pytest.approx(
        low.x @ Vd @ Vd.T @ low.x
    )
    assert best.objective == pytest.approx(np.linalg.eigvalsh(A[np.ix_(best.indices, best.indices)])[-1])
    assert best.objective > plain.objective and best.objective > low.objective > low.worth


def test_the_talk_chose_by_sign():
    signed = treadle.sparse_pca(V, 0.2, 10, compat="talk2014", polish=False)
    right = treadle.sparse_pca(V, 0.2, 10, polish=False)
    assert signed.worth < right.worth
    c = np.array(tp.random.normal(tp.random.key(0), (8000, 3)))
    a = c / np.linalg.norm(c, axis=1)[:, None] @ V.T
    norms = np.linalg.norm(np.sort(a, axis=1)[:, -10:], axis=1)
    assert signed.sample == norms.argmax() and signed.worth == pytest.approx(norms.max() ** 2)
    assert (signed.values > 0).all() or (signed.values < 0).all()


def test_what_loadings_may_be():
    want = treadle.sparse_pca(V, 0.5, 4)
    wide = np.zeros((300, 7))
    wide[::2, 1:7:2] = V
    locked = V.copy()
    locked.flags.writeable = False
    for same in (
        wide[::2, 1:7:2],
        np.asfortranarray(V),
        locked,
        V[::-1].copy()[::-1],
        tp.array(V),
        V.tolist(),
    ):
        assert parts(treadle.sparse_pca(same, 0.5, 4)) == parts(want)
    assert V.tobytes() == locked.tobytes(), "nothing is stored to"
    assert treadle.sparse_pca(V32, 0.5, 4).values.dtype == np.float32
    assert treadle.sparse_pca(V.astype(np.float16), 0.5, 4).values.dtype == np.float32
    whole = np.rint(V).astype(np.int8)
    assert parts(treadle.sparse_pca(whole, 0.5, 4)) == parts(treadle.sparse_pca(whole.astype(float), 0.5, 4))
    assert treadle.sparse_pca(V > 0, 0.5, 4).values.dtype == np.float64


@pytest.mark.parametrize("power", [-60, 60])
def test_no_square_is_out_of_range(power):
    want, got = treadle.sparse_pca(V32, 0.5, 4), treadle.sparse_pca(np.ldexp(V32, 2 * power), 0.5, 4)
    assert got.values.tobytes() == want.values.tobytes() and got.sample == want.sample
    assert got.objective == want.objective * 2.0 ** (4 * power)
    assert treadle.sparse_pca(np.ldexp(V, 900), 0.5, 4).objective == np.inf


@pytest.mark.parametrize("method", cases.WAYS)
def test_of_equal_samples_it_is_the_first(method):
    for a in (np.zeros((3, 2)), np.zeros((70, 2), np.float32)):
        r = treadle.sparse_pca(a, 1, 3, method=method)
        assert (r.sample, r.worth, r.objective, r.values.tolist()) == (0, 0.0, 0.0, [1.0, 0.0, 0.0])
    # Of one column all samples are 1 or -1.
    assert treadle.sparse_pca(V[:, :1], k=3, samples=3000, method=method).sample == 0
    # Those near the axis are it, rounded: some of many, in several parts of the range, and none among the first.
    c = np.array(tp.random.normal(tp.random.key(4), (60000, 2), np.float32))
    x = c[:, 0] / np.sqrt(c[:, 0] * c[:, 0] + c[:, 1] * c[:, 1])
    equal = np.flatnonzero(np.abs(x) == np.abs(x).max())
    assert len(equal) > 5 and lib.FIRST < equal[0] < 20000 and equal[-1] > 40000
    r = treadle.sparse_pca(np.array([[1.0, 0.0]], np.float32), k=1, samples=60000, key=4, method=method)
    assert r.sample == equal[0]


@pytest.mark.parametrize("method", cases.WAYS)
def test_all_rows_may_be_chosen(method):
    r = treadle.sparse_pca(V, k=len(V), samples=500, method=method)
    assert r.indices.tolist() == list(range(150)) and r.objective == pytest.approx(
        np.linalg.eigvalsh(V.T @ V)[-1]
    )


def test_keys():
    a = [
        treadle.sparse_pca(V, 0.5, 4, key=k).sample
        for k in (5, np.uint64(5), np.int8(5), tp.random.key(5), np.array(5))
    ]
    assert len(set(a)) == 1
    one, two = tp.random.split(tp.random.key(5))
    b = [treadle.sparse_pca(V, k=4, key=k, samples=10**5).sample for k in (5, -5, one, two, 2**64 - 1)]
    assert len(set(b)) == 5


def test_samples_are_as_many_as_epsilon_says():
    assert _spca._count(0.1, 3, None) == 64000 and _spca._count(0.1, 4, None) == 2560000
    assert (
        _spca._count(4, 3, None) == 1 and _spca._count(3, 2, None) == 2 and _spca._count(1, 31, None) == 2**62
    )
    assert treadle.sparse_pca(V, 4.0, 4).sample == 0
    assert parts(treadle.sparse_pca(V, 0.25, 4)) == parts(treadle.sparse_pca(V, k=4, samples=4096))


def test_other_numbers_compile_nothing():
    treadle.sparse_pca(V, 0.5, 4)
    before = [treadle.stats()[n] for n in ("compiled", "loaded")]
    treadle.sparse_pca(RNG.standard_normal((99, 3)), 0.3, 5, key=2**63)
    assert [treadle.stats()[n] for n in ("compiled", "loaded")] == before


BAD = {
    "Vd has items of complex128": (TypeError, {"Vd": V + 0j}),
    "Vd has items of <U1": (TypeError, {"Vd": np.array([["a"]])}),
    r"not of shape \(150,\)": (ValueError, {"Vd": V[:, 0]}),
    r"not of shape \(0, 3\)": (ValueError, {"Vd": V[:0]}),
    r"not of shape \(150, 0\)": (ValueError, {"Vd": V[:, :0]}),
    "Vd has items that are not finite": (ValueError, {"Vd": np.where(V > 3, np.nan, V)}),
    "that are not finite": (ValueError, {"Vd": np.where(V > 3, -np.inf, V)}),
    "k is 151, and Vd has 150 rows": (ValueError, {"k": 151}),
    "k is 0, and": (ValueError, {"k": 0}),
    "k is an integer, not float": (TypeError, {"k": 2.0}),
    "epsilon is more than 0 and at most 4, not 0": (ValueError, {"epsilon": 0}),
    "at most 4, not nan": (ValueError, {"epsilon": float("nan")}),
    "at most 4, not 4.1": (ValueError, {"epsilon": 4.1}),
    "epsilon is a number, not str": (TypeError, {"epsilon": "small"}),
    r"asks for 4e\+08\*\*3 samples": (ValueError, {"epsilon": 1e-8}),
    "samples is from 1": (ValueError, {"samples": 0}),
    "samples is an integer": (TypeError, {"samples": 10.5}),
    "key is one that .* not float": (TypeError, {"key": 0.5}),
    r"not an array of shape \(2,\)": (TypeError, {"key": tp.random.split(tp.random.key(1))}),
    "at most 64 bits": (OverflowError, {"key": 2**64}),
    "method is one of 'posed', .* not 'best'": (ValueError, {"method": "best"}),
    "compat is None or 'talk2014'": (ValueError, {"compat": "2014"}),
    r"A has the shape \(3, 3\), and Vd has 150 rows": (ValueError, {"A": np.eye(3)}),
    "A has items of complex128": (TypeError, {"A": np.eye(150) + 0j}),
    "A is not symmetric": (ValueError, {"A": np.arange(22500.0).reshape(150, 150)}),
    "A has items that are not finite": (ValueError, {"A": np.full((150, 150), np.nan)}),
}


@pytest.mark.parametrize("text", BAD)
def test_bad_arguments(text):
    error, options = BAD[text]
    with pytest.raises(error, match=text):
        treadle.sparse_pca(**{"Vd": V, "epsilon": 1, "k": 3} | options)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_on_a_terminal(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    clock = iter([0.0, 1.0, 3.0, 3.1, 4.0])
    monkeypatch.setattr(_progress, "monotonic", lambda: next(clock))
    with Progress("work", 8) as progress:
        progress(1)
        assert not screen.getvalue(), "not in the first two seconds"
        progress(2)
        assert screen.getvalue() == f"\rwork [{'#' * 7}{'.' * 23}]  25%, 9 s left"
        progress(3)
        assert "38%" not in screen.getvalue(), "not again so soon"
        progress(8)
    last = screen.getvalue().split("\r")
    assert "100%" in last[2] and len(last[2]) == len(last[1]) and not last[3].strip() and last[-1] == ""


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_no_bar_elsewhere(monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress("work", 8, patience=-1.0) as progress:
        progress(1)
    assert stream is None or not stream.getvalue()


@pytest.mark.parametrize("method", cases.WAYS)
def test_an_interrupt_ends_it(monkeypatch, method):
    screen = Terminal()

    def ring(*_):
        raise KeyboardInterrupt

    treadle.sparse_pca(V, k=4, samples=10, method=method)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(_progress.Progress.__init__, "__defaults__", (0.0,))
    monkeypatch.setattr(_spca, "_FIRST", 1 << 16)
    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 1.0)
        with pytest.raises(KeyboardInterrupt):
            treadle.sparse_pca(V, k=4, samples=2**61, method=method)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert screen.getvalue().endswith("\r"), "the bar is taken away"
    assert treadle.sparse_pca(V, k=4, samples=10, method=method).sample < 10
