"""evaluate(max_bytes=): what is computed range by range is what is computed at once, takes no more memory than it may, and what cannot be cut is refused."""

from __future__ import annotations

import io
import os
import random
import subprocess
import sys
import textwrap
import traceback
from pathlib import Path

import numpy as np
import pytest
import treadle
import treadle.parallel as tp
from sizes import examples
from treadle import _core
from treadle.parallel import _evaluate, _progress

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fuzz"))
import gen_graph  # noqa: E402
import graph_check  # noqa: E402
import graphs  # noqa: E402
from gen_straight import build  # noqa: E402
from library import KNOWN  # noqa: E402

N, M = 1200, 24
X = np.random.default_rng(1).normal(size=(N, M))
X[5, 3] = X[700, 3] = 40.0
V = np.random.default_rng(2).normal(size=N)
KEY = tp.random.key(3)


@pytest.fixture
def ranges(monkeypatch):
    """How many ranges were computed; none of them takes more than it may."""
    seen = []
    of = _evaluate._Within._range

    def counted(self, plan, targets, states, lo, n):
        peak = of(self, plan, targets, states, lo, n)
        assert peak is None or peak <= self.limit
        seen.append((lo, n))
        return peak

    monkeypatch.setattr(_evaluate._Within, "_range", counted)
    return seen


def sorted_rows(x):
    """What no loop is merged with: each is an array."""
    return np.sort(x, axis=1)


def distances():
    v = tp.array(V)
    return sorted_rows((v[:, None] - v[None, :]) ** 2)


def argmins_with_nan():
    y = sorted_rows(tp.array(X))[:, ::-1].copy() + tp.where(tp.array(X) > 39, np.nan, 0.0)
    return y.argmin(), y.argmax(axis=0), y.min(), y.max(axis=0)


def top_of_places():
    v, i = tp.topk(distances()[:, 2], 7)
    w, j = tp.topk(distances()[:, 2], 5, largest=False, key=lambda v: v - v % 0.01)
    return v, i, w, j


def two_results():
    a, b = tp.map(lambda a, b: (a + b, a < b), sorted_rows(tp.array(X)), 0.5)
    return a.max(axis=1), b


def recommendations():
    score = tp.where(V[:M] > 1, -np.inf, tp.array(X) @ X[:M].T)
    return tp.topk(score, 10, axis=1)


def sparse_pca():
    c = tp.random.normal(KEY, (5000, 3))
    c = c / np.sqrt((c * c).sum(axis=1, keepdims=True))
    v, i = tp.topk(c @ X[:3, :].copy(), 5, axis=1, key=abs)
    s = (v * v).sum(axis=1)
    b = s.argmax()
    return b, i[b], v[b]


CASES = {
    "recommendations": (recommendations, 330_000),
    "sparse PCA": (sparse_pca, 500_000),
    "rows": (lambda: (distances().max(axis=1),), 2_000_000),
    "an offset": (lambda: (np.sort(tp.array(X)[3:-2] * 2, axis=1)[7:, 1:] + 1,), 330_000),
    "columns": (lambda: (sorted_rows(tp.array(X) + 1).T.sum(axis=0, dtype=None) * 0 + 1,), 200_000),
    "what is joined": (
        lambda: (
            distances().min(),
            distances().max(axis=0),
            distances().argmax(),
            distances().argmin(axis=0),
            (distances() > 9).any(axis=0),
            (distances() >= 0).all(),
            (distances() > 1).sum(axis=0),
        ),
        4_000_000,
    ),
    "NaN": (argmins_with_nan, 200_000),
    "topk": (top_of_places, 2_000_000),
    "topk along the second axis": (lambda: tuple(tp.topk(distances(), 3, axis=1)), 2_000_000),
    "topk of rows": (lambda: tuple(tp.topk(sorted_rows(tp.array(X)), 9, axis=0)), 200_000),
    "normal": (lambda: (sorted_rows(tp.random.normal(KEY, (N, M), np.float32))[:, -1],), 60_000),
    "uniform": (
        lambda: (sorted_rows(tp.random.uniform(KEY, (N,))[:, None] + tp.random.uniform(KEY, (1, M)))[:, 2],),
        100_000,
    ),
    "randint": (lambda: (sorted_rows(tp.random.randint(KEY, -5, 100, (N, M))).sum(axis=1),), 100_000),
    "bits of the second of three axes": (
        lambda: (np.sort(tp.random.bits(KEY, (3, N, M)), axis=2)[1].max(axis=1),),
        200_000,
    ),
    "take": (lambda: (sorted_rows(tp.take(V, tp.random.randint(KEY, 0, N, (N, M)))).max(axis=1),), 200_000),
    "tabulate": (
        lambda: (sorted_rows(tp.tabulate(lambda i, j: (i * 7 + j * 13) % 101, (N, M)))[:, 3],),
        100_000,
    ),
    "arange": (
        lambda: (sorted_rows(tp.arange(5, 5 + 3 * N, 3)[:, None] % tp.arange(7, 7 + M)).max(axis=1),),
        100_000,
    ),
    "full": (
        lambda: (sorted_rows(tp.full((N, M), 2.5) + tp.zeros((N, M)) * tp.ones(M)).max(axis=1),),
        100_000,
    ),
    "functions": (
        lambda: (
            *two_results(),
            tp.reduce(lambda a, b: a if a > b else b, sorted_rows(tp.array(X)), axis=0, identity=-np.inf),
            tp.reduce(np.maximum, sorted_rows(tp.array(X))),
            np.add.reduce((sorted_rows(tp.array(X)) * 100).astype(np.int64)),
            tp.scan(tp.add, sorted_rows(tp.array(X)), axis=1),
        ),
        430_000,
    ),
    "shapes": (
        lambda: (np.sort((tp.array(X) * 2).reshape(N, 4, -1), axis=2).swapaxes(1, 2)[:, 0, ::-1] + 1,),
        300_000,
    ),
    "what is needed whole": (
        lambda: (sorted_rows(tp.array(X) - np.sort(tp.array(X), axis=0)[N // 2]).max(axis=1),),
        150_000,
    ),
    "a number of numbers": (lambda: (np.sqrt(distances().max()) + distances().min(),), 2_000_000),
    "a filter": (lambda: (sorted_rows(tp.filter(lambda v: v > 0, V)[:, None] * X[0]).max(axis=1),), 200_000),
    "a call of Python's": (
        lambda: (sorted_rows(tp.extension(np.roll)(tp.array(X), 1) * 2).max(axis=1),),
        300_000,
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("parallel", [True, False])
def test_ranges_give_the_same_bits(ranges, name, parallel):
    make, limit = CASES[name]
    want, got = make(), make()
    tp.evaluate(*want, parallel=parallel)
    tp.evaluate(*got, max_bytes=limit, parallel=parallel)
    assert len(ranges) > 1
    for g, w in zip(map(np.asarray, got), map(np.asarray, want), strict=True):
        assert (g.dtype, g.shape) == (w.dtype, w.shape) and g.tobytes() == w.tobytes()
        assert not g.flags.writeable or g.ndim == 0


LEAVES = {
    "strided": X[::2, ::-1],
    "Fortran order": np.asfortranarray(X),
    "turned": np.ascontiguousarray(X.T).T,
    "read-only": X.view(),
    "float32": X.astype("f4"),
    "int8": X.astype("i1"),
    "broadcast": np.broadcast_to(X[0], X.shape),
    "empty": X[:0],
    "one row": X[:1],
    "no columns": X[:, :0],
    "overlapping": np.lib.stride_tricks.sliding_window_view(V, 30),
}
LEAVES["read-only"].flags.writeable = False


@pytest.mark.parametrize("name", LEAVES)
def test_leaves_of_all_forms(name, monkeypatch, ranges):
    x = LEAVES[name]

    def make():
        y = np.sort(tp.array(x), axis=1) * 2
        return y, y.sum(axis=0, keepdims=True), (y > 1).any(), y[1:-1] + 1

    want, got = make(), make()
    tp.evaluate(*want)
    forced(monkeypatch, random.Random(1))
    tp.evaluate(*got, max_bytes=1 << 30)
    assert len(ranges) > 1 or x.shape[0] < 2
    for g, w in zip(map(np.asarray, got), map(np.asarray, want), strict=True):
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
        np.testing.assert_allclose(g.astype("f8"), w.astype("f8"), rtol=1e-6)


def test_values_that_are_no_leaves(ranges):
    x = (tp.array(X) + 1).evaluate()
    held = tp.array(X) * 3
    (held.sum()).evaluate()  # it ran once, and is kept the next time
    y = sorted_rows(x - held).max(axis=1)
    tp.evaluate(y, max_bytes=60_000)
    assert len(ranges) > 1
    assert np.asarray(y).tobytes() == np.sort((X + 1) - X * 3, axis=1).max(axis=1).tobytes()


def test_leaves_are_looked_at_under_checks():
    program = textwrap.dedent("""
        import numpy as np, treadle.parallel as tp
        from treadle.errors import LeafChangedError
        a = np.arange(4000.0)
        def make():
            return np.sort(tp.array(a)[:, None] * np.arange(8.0), axis=1).max(axis=1)
        z = make()
        a[3] += 1
        try:
            tp.evaluate(z, max_bytes=100_000)
        except LeafChangedError as e:
            print("<string>:6" in str(e))
        print(np.array_equal(np.asarray(tp.evaluate(make(), max_bytes=100_000)), a * 7))
    """)
    env = {**os.environ, "TREADLE_PARALLEL_CHECK": "1"}
    r = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert r.stdout.split() == ["True", "True"]


def test_sums_of_floats_differ_in_their_last_bits_at_most(ranges):
    def make():
        d = distances()
        return d.sum(axis=0), d.mean(), d.mean(axis=1), (d @ tp.array(V)), d.prod(axis=0, keepdims=True)

    want, got = make(), make()
    tp.evaluate(*want)
    tp.evaluate(*got, max_bytes=4_000_000)
    assert len(ranges) > 1
    for g, w in zip(map(np.asarray, got), map(np.asarray, want), strict=True):
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
        np.testing.assert_allclose(g, w, rtol=1e-12)


def test_what_fits_is_computed_at_once(ranges):
    x = tp.array(V)
    y, z = ((x * 2).sum() for _ in range(2))
    tp.evaluate(y)
    tp.evaluate(z, max_bytes=1 << 20)
    assert not ranges and float(y) == float(z)
    # each operation makes an array, but the program does not
    y, z = (np.sqrt(x * x + 1).sum() for _ in range(2))
    tp.evaluate(y)
    tp.evaluate(z, max_bytes=1000)
    assert len(ranges) == 1 and float(y) == float(z)


def test_ranges_compile_once(ranges):
    def once():
        ranges.clear()
        tp.evaluate(distances().max(axis=1), max_bytes=1_500_000)
        return len(ranges)

    once()
    n = treadle.stats()["compiled"]
    assert once() > 3
    assert treadle.stats()["compiled"] == n


def test_what_cannot_be_cut_is_refused_with_the_largest_arrays():
    x = tp.array(V)
    y = np.cumsum(x * 2) + 1
    line = sys._getframe().f_lineno - 1
    with pytest.raises(MemoryError, match=rf"cumsum of .*test_graph_ranges\.py:{line} cannot be cut") as e:
        tp.evaluate(y, max_bytes=12_000)
    assert f"9.6 kB  {__file__}:{line}  cumsum  float64[{N}]" in str(e.value)
    assert not y.evaluated
    tp.evaluate(y, max_bytes=1 << 20)
    assert np.asarray(y).tobytes() == np.asarray(np.cumsum(x * 2) + 1).tobytes()
    with pytest.raises(MemoryError, match="the results alone take so much"):
        tp.evaluate(x * 2, max_bytes=5000)
    with pytest.raises(MemoryError, match="a single index along the axis needs so much"):
        tp.evaluate(np.sort(x[:2, None] * V, axis=1).max(axis=1), max_bytes=5000)


def test_bad_limits():
    y = tp.array(V) * 2
    for bad in (0, -1):
        with pytest.raises(ValueError, match="max_bytes must be positive"):
            tp.evaluate(y, max_bytes=bad)
    with pytest.raises(TypeError):
        tp.evaluate(y, max_bytes=1e9)
    with pytest.raises(TypeError, match="evaluate"):
        tp.evaluate(V, max_bytes=100)
    assert tp.evaluate(y, max_bytes=1 << 30) is y and y.evaluated
    assert tp.evaluate(y, max_bytes=1) is y


def test_an_error_of_memory_lists_the_largest_arrays():
    y = tp.full((1 << 50,), 1.0) + 1
    with pytest.raises(MemoryError) as e:
        y.evaluate()
    assert len(e.value.__notes__) == 1
    assert f"9.01e+06 GB  {__file__}" in e.value.__notes__[0] and "full  float64" in e.value.__notes__[0]
    with pytest.raises(MemoryError) as e:
        np.asarray(tp.zeros((1 << 48, 2)))
    assert "zeros" in e.value.__notes__[0]


def test_errors_of_ranges_tell_their_lines(ranges):
    def f(v):
        if v > 30:
            raise ValueError("too large")
        return v

    z = sorted_rows(tp.map(f, tp.array(X))).max(axis=1)
    with pytest.raises(ValueError, match="too large") as e:
        tp.evaluate(z, max_bytes=60_000)
    told = [t.line for t in traceback.extract_tb(e.value.__traceback__)]
    assert "z = sorted_rows(tp.map(f, tp.array(X))).max(axis=1)" in told
    assert not z.evaluated
    w = sorted_rows(tp.array(X)[:, :, None] + np.ones(3)[:, None])
    bad = tp.array(X)[tp.array(X)[:, 0] > 0] + np.ones((3, 1))
    with pytest.raises(ValueError, match="broadcast"):
        tp.evaluate(bad, w, max_bytes=60_000)


def test_a_long_chain(ranges):
    y = sorted_rows(tp.array(X))
    for _ in range(400):
        y = y * 0.5 + 0.25
        y = np.abs(y)
        if sum(1 for _ in _core._lazy_nodes(y)) > 450:
            break
    want = X
    want = np.sort(X, axis=1)
    n = (len(_core._lazy_nodes(y)) - 1) // 3
    for _ in range(n):
        want = np.abs(want * 0.5 + 0.25)
    tp.evaluate(y, max_bytes=X.nbytes + 60_000)
    np.testing.assert_allclose(np.asarray(y), want)
    assert len(ranges) > 1


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_on_a_terminal(monkeypatch):
    out = Terminal()
    monkeypatch.setattr(sys, "stderr", out)
    tp.evaluate(distances().max(axis=1), max_bytes=1_500_000)
    assert out.getvalue() == ""  # it took no two seconds
    monkeypatch.setattr(_progress.Progress.__init__, "__defaults__", (-1.0,))
    tp.evaluate(distances().max(axis=1), max_bytes=1_500_000)
    assert out.getvalue().startswith("\revaluate [") and out.getvalue().endswith(" \r")
    plain = io.StringIO()
    monkeypatch.setattr(sys, "stderr", plain)
    tp.evaluate(distances().max(axis=1), max_bytes=1_500_000)
    assert plain.getvalue() == ""


def forced(monkeypatch, r):
    """Everything that can be cut is, in ranges of any lengths."""

    def cut(self, plan, targets, n, room, first, plain):
        states = [_evaluate._state(t) for t in targets]
        lo = 0
        while lo < n:
            m = min(r.randint(1, max(1, n // 2)), n - lo)
            self._range(plan, targets, states, lo, m)
            lo += m
        for t, s in zip(targets, states, strict=True):
            if not t.root.evaluated:
                _core._lazy_give(t.root, s.finish())

    def peak(self, steps=None):
        return 1 << 60 if steps is None and any(_evaluate._target(self, x) for x in self.roots) else 0

    monkeypatch.setattr(_evaluate._Within, "_ranges", cut)
    monkeypatch.setattr(_evaluate.Graph, "peak", peak)


@pytest.mark.skipif(not KNOWN, reason="the oracle is NumPy 2's")
@pytest.mark.parametrize("seed", range(examples(60)))
def test_random_graphs_in_random_ranges(seed, monkeypatch, ranges):
    forced(monkeypatch, random.Random(seed))
    case = gen_graph.make_case(seed, gen_graph.PROGRAMS, most=12)
    main, leaves = graph_check.function(case.source, "ranges"), build(case.calls[0])
    want = graphs.expected(case.source, leaves)
    one_by_one = main(*(tp.array(a) for a in leaves))
    for x in one_by_one:
        tp.evaluate(x, max_bytes=1 << 40)
    together = main(*(tp.array(a) for a in leaves))
    tp.evaluate(*together, max_bytes=1 << 40)
    for way, roots in (("one by one", one_by_one), ("together", together)):
        assert not graph_check.compared(want, list(roots), way), case.source
