"""Rules of lazy arrays that the tests of a family do not hold: which exception wins, lengths that the data decide, what interrupts, forks, ufuncs of ours, types."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import traceback
import warnings

import numpy as np
import pytest
import treadle
import treadle.parallel as tp
from treadle import _core


def picky(v):
    if v % 1000 == 900:
        raise IndexError("nine hundred")
    if v == 333:
        raise ValueError("three")
    return v + 1


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("order", [1, -1])
def test_the_lowest_index_raises(parallel, order):
    """However many rounds raise, and whichever thread comes first."""
    data = np.arange(20_000.0)[::order].copy()
    y = tp.map(picky, tp.array(data)) * 2
    _core._pool_grain(7)
    try:
        with pytest.raises(ValueError if order == 1 else IndexError, match="three|nine hundred"):
            tp.evaluate(y, parallel=parallel)
    finally:
        _core._pool_grain(0)
    assert not y.evaluated
    data[:] = 1
    assert np.asarray(y).tolist() == [4.0] * 20_000


def test_lengths_that_one_mask_decides_are_equal():
    x, w = np.arange(50.0), np.linspace(0, 1, 50)
    m = tp.array(x) % 3 == 1
    y = tp.array(x)[m] * tp.array(w)[m]
    assert not y.evaluated
    n = np.asarray(y)
    keep = x % 3 == 1
    assert n.tolist() == (x[keep] * w[keep]).tolist()
    z = tp.filter(lambda v: v > 40, tp.array(x))
    assert (z + z[::-1]).shape == (9,) and np.asarray(z - z).tolist() == [0.0] * 9


def test_lengths_that_differ_tell_both_numbers_and_both_lines():
    """Where the node was made, and where it was evaluated."""
    x = tp.array(np.arange(50.0))
    y = x[x > 40]
    z = x[x > 45]
    w = y * z
    for _ in range(2):
        with pytest.raises(ValueError, match=r"\(9,\) \(4,\)") as e:
            w.evaluate()
        lines = [f.line for f in traceback.extract_tb(e.value.__traceback__)]
        assert "w = y * z" in lines and "w.evaluate()" in lines
    assert not w.evaluated and np.asarray(y[5:] * z).tolist() == [46.0**2, 47.0**2, 48.0**2, 49.0**2]


@treadle.vectorize
def halved(v, w):
    return v / 2 + w


def test_a_ufunc_of_ours_is_a_node():
    x = np.arange(6.0)
    y = halved(tp.array(x), 1.5) * 2
    assert isinstance(y, tp.LazyArray) and not y.evaluated
    assert np.asarray(y).tolist() == ((x / 2 + 1.5) * 2).tolist()
    assert float(np.add.reduce(tp.array(x))) == 15.0


TYPES = ["f2", "c8", "c16", "?", "M8[D]", "m8[s]", "i1", "u8"]


@pytest.mark.parametrize("dtype", TYPES)
def test_types_go_through(dtype):
    x = np.arange(6).astype(dtype) if dtype != "?" else np.arange(6) % 2 == 1
    y = tp.array(x)[::-1]
    assert y.dtype == x.dtype and np.asarray(y).tobytes() == x[::-1].tobytes()
    z = tp.array(x) == x[2]
    assert np.asarray(z).tolist() == (x == x[2]).tolist()
    if dtype in ("f2", "c8", "c16"):
        assert np.asarray(tp.array(x) * 2.5).tobytes() == (x * 2.5).tobytes()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
@pytest.mark.nosan  # threads of the pool that the child has not
def test_the_child_of_a_fork_has_the_values():
    """What was evaluated before, and what is not yet."""
    x = tp.array(np.arange(1000.0))
    done = (x * 2).sum()
    done.evaluate()
    rest = np.cumsum(x) + done
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        pid = os.fork()
    if pid == 0:
        good = float(done) == 999_000.0 and float(rest[-1]) == 499_500.0 + 999_000.0
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert float(rest[0]) == 999_000.0


INTERRUPTED = """
    import signal
    import treadle.parallel as tp

    def much(i):
        s = 0
        for k in range(i % 7 + 2_000):
            s = s * 3 + (k ^ i)
        return s

    tp.tabulate(much, 3).evaluate()
    y = tp.reduce(tp.add, tp.tabulate(much, 40_000_000))
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        y.evaluate()
        print("came to its end")
    except KeyboardInterrupt:
        print("interrupted", y.evaluated)
    print(int(tp.reduce(tp.add, tp.arange(5))))
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no such timers here")
def test_an_evaluation_is_interrupted():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED)], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["interrupted", "False", "10"], done.stdout + done.stderr


AXES_OF_ONE = [
    ((40, 8), (1, 8)),
    ((40, 8), (40, 1)),
    ((40, 1), (1, 8)),
    ((3, 1, 8), (1, 5, 1)),
    ((1, 1), (4, 6)),
    ((0, 8), (0, 1)),
    ((1, 0), (3, 1)),
    ((1, 8), (1, 8)),
]


@pytest.mark.parametrize("shapes", AXES_OF_ONE)
@pytest.mark.parametrize(
    "lie",
    [
        np.ascontiguousarray,
        np.asfortranarray,
        lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
        lambda a: a[::-1],
        lambda a: np.broadcast_to(a, a.shape),
    ],
)
@pytest.mark.parametrize("parallel", [False, True])
def test_axes_of_one_repeat(shapes, lie, parallel):
    """Along an axis that is one long an array is known to repeat: what is computed is what NumPy computes."""
    rng = np.random.default_rng(3)
    a, b = (lie(rng.normal(size=s)) for s in shapes)
    x, y = tp.array(a), tp.array(b)
    z = x - y, (x * y).sum(axis=0), x.T, y.reshape(-1) * 2, y[:1], (y + x).sum(axis=1, keepdims=True)
    tp.evaluate(*z, parallel=parallel)
    want = a - b, (a * b).sum(axis=0), a.T, b.reshape(-1) * 2, b[:1], (b + a).sum(axis=1, keepdims=True)
    for got, w in zip(z, want, strict=True):
        np.testing.assert_allclose(np.asarray(got), w, rtol=1e-12)
        assert got.shape == w.shape


def test_axes_of_one_are_another_program():
    """A length that changes compiles nothing, but from one to many and back, where there is a program for each."""
    a = np.arange(24.0).reshape(6, 4)

    def less(b):
        n = treadle.stats()["compiled"]
        np.testing.assert_array_equal(np.asarray(tp.array(a[: max(len(b), 3)]) - b), a[: max(len(b), 3)] - b)
        return treadle.stats()["compiled"] - n

    assert less(a[:1] * 2) == 1
    assert less(a[:3] * 2) == 1
    assert [less(a[:n] * 2) for n in (4, 5, 1, 6, 1)] == [0] * 5


@pytest.mark.parametrize("axis", [0, 1])
def test_rows_and_columns_are_read_once(axis):
    """What repeats along an axis of one, as NumPy's `keepdims` makes it, fuses like any other."""
    a = np.random.default_rng(1).normal(size=(3000, 8))
    m = a.mean(axis=axis, keepdims=True)
    e = tp.explain((((tp.array(a)[:, None] - m[None]) ** 2).sum(axis=2)).argmin(axis=1))
    assert len(e.kernels) <= 2 and e.moved < 3 * a.nbytes


def test_an_array_that_changes_its_shape_between():
    """The graph was made of the shape that the array had: told, and nothing is wrong."""
    a = np.arange(6.0).reshape(6, 1)
    y = tp.array(a) * 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a.shape = (1, 6)
    assert np.asarray(y).tolist() == (a * 2).tolist()


@pytest.mark.parametrize("shape", [(3, 1), (1, 3), (1, 1), (2, 1, 3)])
def test_records_with_axes_of_one(shape):
    a = np.zeros(shape, [("x", "f8"), ("squeeze", "i4")])
    a["x"] = np.arange(a.size).reshape(shape)
    a["squeeze"] = 7
    r = tp.array(a)
    assert np.asarray(r["x"] + r["squeeze"]).tolist() == (a["x"] + 7).tolist()
