"""treadle.parallel.schedule: words go from an operation to its loops, are refused where they do not fit, and change no bit."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
import treadle
import treadle.parallel as tp
from treadle import _core
from treadle.errors import UnsupportedError

X = np.arange(300.0)
M = np.arange(2400.0).reshape(60, 40)


def schedules(y):
    """What the loops of a graph's program have."""
    lines = _core._lazy_text("opt", None, y).splitlines()
    return [line.partition("schedule(")[2].partition(")")[0] for line in lines if "schedule(" in line]


FITS = [
    ("chunk 64", lambda x: np.sqrt(x * 2 + 1), "chunk 64"),
    ("chunk 64", lambda x: x[::3] * 2, "chunk 64"),
    ("scalar", lambda x: x[::3] * 2, "chunk 512, scalar"),
    ("unroll 2", lambda x: (x * x).sum(), "unroll 2"),
    ("line", lambda x: np.cumsum(x), "line"),
    ("  scalar,,line\t", lambda x: np.exp(x * 0.01), "line, scalar"),
    ("fission 8", lambda x: tp.scatter(x, np.arange(9), 3.0, np.add), "fission 8"),
    ("chunk 32, scalar", lambda x: x * 2, "chunk 32, scalar"),
    ("strip 2", lambda x: (tp.array(M)[:, :, None] * tp.array(M[:40])[None, :, :]).sum(axis=1), "strip 2"),
]


@pytest.mark.parametrize(("words", "make", "want"), FITS)
def test_words_reach_the_loops(words, make, want):
    plain = make(tp.array(X))
    with tp.schedule(words):
        y = make(tp.array(X))
    assert any(want in s for s in schedules(y))
    assert want == "line" or not any(want in s for s in schedules(plain))
    assert np.asarray(y).tobytes() == np.asarray(plain).tobytes()


@pytest.mark.parametrize("chunk", [1, 3, 39, 40, 41, 95, 96, 97])
@pytest.mark.parametrize("n", [1, 4, 40, 96])
def test_rows_may_be_longer_than_chunks(chunk, n):
    """Short rows go side by side through a buffer of a chunk: one that has no room for a row is no buffer of them."""
    a, rows = tp.array(np.arange(5.0)), tp.array(np.arange(5.0 * n).reshape(5, n))
    with tp.schedule(f"chunk {chunk}"):
        y, z = rows * a[:, None], rows[:, ::-1] + rows[0]
    assert np.array_equal(y, np.asarray(rows) * np.arange(5.0)[:, None])
    assert np.array_equal(z, np.asarray(rows)[:, ::-1] + np.arange(n))


REFUSED = [
    ("chunk 64", np.cumsum, "no axis to walk in chunks"),
    ("line", lambda x: x[::3] * 2, "not one line"),
    ("unroll 3", lambda x: x * 2, "2 or 4 rounds"),
    ("unroll 4, scalar", lambda x: x * 2, "2 or 4 rounds"),
    ("fission 8", lambda x: x * 2, "only a scatter's stores"),
    ("strip 2", lambda x: x * 2, "a strip is a tile"),
    ("scalar", lambda x: x[::-1].reshape(-1), "no loop is made of it"),
]


@pytest.mark.parametrize(("words", "make", "why"), REFUSED)
def test_what_does_not_fit_is_refused_with_the_line(words, make, why):
    x = tp.array(X)
    with tp.schedule(words):
        y = make(x)
    for _ in range(2):
        with pytest.raises(UnsupportedError, match=why) as e:
            (y + 0).evaluate() if why.startswith("no loop") else y.evaluate()
        assert f'schedule("{words}")' in str(e.value) and "test_parallel_schedule.py" in str(e.value)
    assert not y.evaluated
    assert y.shape and y.dtype == np.float64  # what is no loop has no schedule


@pytest.mark.parametrize("words", ["chunk 1", "chunk 7", "chunk 64", "chunk 255"])
@pytest.mark.parametrize("n", [3, 33, 300, 1000])
def test_chunks_shorter_than_the_blocks_of_a_sum(words, n):
    """Of arrays that are copied to buffers, which hold a chunk and no more."""
    x, y = np.arange(float(n))[::-1], np.arange(2 * n, dtype="i4")[::2]
    with tp.schedule(words):
        z = tp.array(x)[:9, None] * tp.array(y)
    z = z.sum(axis=1)
    assert words in schedules(z)
    assert np.asarray(z).tolist() == (x[:9, None] * y).sum(axis=1).tolist()


def test_different_words_for_one_loop():
    x = tp.array(X)
    with tp.schedule("chunk 64"):
        y = x * 2
    with tp.schedule("chunk 32"):
        z = y + 1
    with pytest.raises(UnsupportedError, match="something else is said of another operation"):
        z.evaluate()
    with tp.schedule("scalar"):
        z = y + 1
    assert "chunk 64, scalar" in schedules(z)
    assert np.asarray(z).tolist() == (X * 2 + 1).tolist()


def test_bad_words():
    for words, why in [
        (
            "tile 1",
            r"'tile' is no word of a schedule; there are line chunk strip fission unroll stop scalar cost",
        ),
        ("chunk", "chunk is followed by a number from 1 to 4096"),
        ("chunk 0", "a number from 1"),
        ("chunk 4097", "a number from 1"),
        ("chunk -1", "a number from 1"),
        ("chunk 99999999999999999999", "a number from 1"),
        ("unroll x", "a number from 1 to 4"),
        ("chunk 5x", "a number from 1"),
        ("\N{SNOWMAN}", "is no word"),
        ("x" * 1000, "is no word"),
    ]:
        with pytest.raises(ValueError, match=why), tp.schedule(words):
            raise AssertionError("not entered")
    with pytest.raises(TypeError, match="a schedule is a text of words, not int"), tp.schedule(3):
        pass


def test_blocks_end_and_nest_and_threads_have_their_own():
    x = tp.array(X)
    with tp.schedule("chunk 64"):
        with tp.schedule("scalar"):
            inner = x * 2
        outer = x * 3
        seen = []
        t = threading.Thread(target=lambda: seen.append(schedules(x * 4)))
        t.start()
        t.join()
    with pytest.raises(ZeroDivisionError), tp.schedule("chunk 64"):
        1 / 0
    assert "line, scalar" in schedules(inner)[0] and "chunk 64" in schedules(outer)
    assert "chunk 64" not in seen[0] and "chunk 64" not in schedules(x * 5)

    @tp.schedule("chunk 64")
    def f(x):
        return x * 6

    assert "chunk 64" in schedules(f(x)) and "chunk 64" in schedules(f(x))


def test_other_words_are_another_program_and_the_same_are_not():
    def run(words):
        with tp.schedule(words):
            y = tp.array(X) * 2.5 + 1
        assert np.asarray(y).tobytes() == (X * 2.5 + 1).tobytes()
        return treadle.stats()["compiled"]

    n = run("chunk 16")
    assert run("chunk 16") == n
    assert run("chunk 17") == n + 1


def test_one_core_has_no_ranges():
    for parallel in (True, False):
        with tp.schedule("cost 7"):
            y = tp.array(X) * 2
        tp.evaluate(y, parallel=parallel)
        assert np.asarray(y).tolist() == (X * 2).tolist()


def test_pickles_ranges_and_accounts_keep_them():
    with tp.schedule("chunk 48"):
        y = np.sort(tp.array(M), axis=1) * 2 + 1
    assert "chunk 48" in schedules(pickle.loads(pickle.dumps(y)))
    assert tp.explain(pickle.loads(pickle.dumps(y))).kernels
    z = pickle.loads(pickle.dumps(y))
    tp.evaluate(z, max_bytes=25_000)
    assert np.asarray(z).tobytes() == (np.sort(M, axis=1) * 2 + 1).tobytes()
    with tp.schedule("chunk 48"):
        bad = np.sort(np.cumsum(tp.array(M) * 2, axis=1), axis=1)
    with pytest.raises(UnsupportedError, match="no axis to walk in chunks"):
        bad.evaluate()


def test_in_a_second_process():
    program = (
        "import numpy as np, treadle.parallel as tp\n"
        "with tp.schedule('chunk 64'):\n    y = tp.array(np.arange(300.0)) * 2\nprint(float(y.sum()))"
    )
    r = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert float(r.stdout) == X.sum() * 2
