"""What hardly ever runs is left out of programs with handlers, too, and what it raises is caught like anything else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import treadle
from raising import alike
from test_late import late_of
from treadle import njit, prange


class Own(ValueError):
    """An exception of the program's."""


def caught_here(a, b, n):
    s = 0.0
    try:
        for i in range(n):
            s += a[i] * b[i]
    except IndexError:
        return -1.0
    return s


def caught_by_whom_it_calls(a, b, n):
    c = a * 2 + b
    d = c - a
    return d.sum() + caught_here(c, d, n)


def caught_by_the_caller(a, b, n):
    try:
        c = a * 2 + b
        d = c - a
        s = window(d, n)
    except (IndexError, ValueError):
        return -2.0
    else:
        return s + c.sum()
    finally:
        a[0] += 1


def window(d, n):
    s = 0.0
    for i in range(n):
        s += d[i]
    return s


def beside_a_handler(a, b, n):
    try:
        if n < 0:
            raise Own("negative", n)
    except Own:
        return float(n)
    c = a + b * n
    d = np.sqrt(np.abs(c)) - b
    s = 0.0
    for i in range(n):
        s += c[i] * d[i]
    return s + c.mean() + (d - a).sum()


def one_after_the_other(a, b, n):
    """Three that are caught, of late code and of other, and one that leaves."""
    kinds = 0
    for k in range(4):
        try:
            if k == 1:
                raise Own("one")
            s = 0.0
            for i in range(n):
                s += a[i + k]
            if k == 3:
                c = a + b
                kinds += c.size
        except Own:
            kinds += 1
        except IndexError:
            kinds += 10
        except ValueError:
            kinds += 100
    return kinds


def raised_again(a, b, n):
    try:
        s = 0.0
        for i in range(n):
            s += a[i] + b[i]
    except IndexError as e:
        c = a[:1] * 2
        if c[0] > 5:
            raise Own("other") from e
        raise
    return s


def both_ways(a, b, n):
    """A handler inside of one: only the inner one catches ValueError."""
    try:
        try:
            c = a * b + a
            s = 0.0
            for i in range(n):
                s += c[i]
            return s
        except ValueError:
            return -1.0
    except IndexError:
        return -2.0


def threads(a, b, n):
    s = 0.0
    try:
        for i in prange(n):
            s += a[i] * b[i]
    except IndexError:
        return -1.0
    return s


ONES, TEN, LONG = np.ones(5), np.arange(10.0), np.arange(20_000.0)
CALLS = {
    caught_here: [(TEN, TEN, 10), (TEN, TEN, 11), (TEN, ONES, 6), (TEN, TEN, 0)],
    caught_by_whom_it_calls: [
        (TEN, TEN, 10),
        (TEN, TEN, 11),
        (TEN, ONES, 3),
        (TEN, ONES[:1], 10),
        (TEN, ONES[:1], 12),
    ],
    caught_by_the_caller: [
        (TEN, TEN, 10),
        (TEN, TEN, 11),
        (TEN, ONES, 3),
        (TEN, ONES[:1], 10),
        (TEN, ONES[:1], 12),
    ],
    beside_a_handler: [(TEN, TEN, 10), (TEN, TEN, -1), (TEN, TEN, 11), (TEN, ONES, 3), (TEN, ONES[:1], 10)],
    one_after_the_other: [(TEN, TEN, 7), (TEN, TEN, 8), (TEN, ONES, 7), (TEN, ONES, 12), (TEN, ONES[:1], 3)],
    raised_again: [(TEN, TEN, 10), (TEN, TEN, 11), (TEN + 9, TEN, 11)],
    both_ways: [(TEN, TEN, 10), (TEN, TEN, 11), (TEN, ONES, 3), (TEN, ONES[:1], 11)],
    threads: [(TEN, TEN, 10), (TEN, TEN, 11), (LONG, LONG, 20_000), (LONG, LONG, 20_001)],
}


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("fn", CALLS, ids=lambda f: f.__name__)
def test_as_python_does(fn, parallel):
    alike(
        fn,
        *[
            lambda args=args: tuple(np.copy(x) if isinstance(x, np.ndarray) else x for x in args)
            for args in CALLS[fn]
        ],
        parallel=parallel,
    )


@pytest.mark.parametrize("fn", [f for f in CALLS if f is not one_after_the_other], ids=lambda f: f.__name__)
def test_it_is_left_out(fn):
    ours = njit(fn)
    ours(*(np.copy(x) if isinstance(x, np.ndarray) else x for x in CALLS[fn][0]))
    assert late_of(ours), ours.inspect_ir()


def test_a_handler_that_hardly_ever_runs_stays():
    """It is where what is raised goes, so it is no function that is called."""

    @njit(parallel=True)
    def f(a, out, k):
        for i in prange(out.size):
            try:
                out[i] = a[k, 0]
            except ValueError:
                for row in a:
                    out[i] += row[0]
            except Exception:
                for row in a:
                    out[i] -= row[0] * row[1] + row[-1]

    for k in (1, 3):
        a, out = np.arange(12.0).reshape(3, 4), np.zeros(5)
        f(a, out, k)
        assert out.tolist() == [4.0 if k == 1 else -113.0] * 5


def test_nothing_is_kept():
    functions = [njit(fn) for fn in CALLS]

    def all_of_them():
        for ours, calls in zip(functions, CALLS.values(), strict=True):
            for args in calls:
                try:
                    ours(*(np.copy(x) if isinstance(x, np.ndarray) else x for x in args))
                except (IndexError, ValueError):
                    pass

    all_of_them()
    before = treadle.stats()
    for _ in range(20):
        all_of_them()
    after = treadle.stats()
    made = after["arrays_allocated"] - before["arrays_allocated"]
    assert made > 100 and made == after["arrays_freed"] - before["arrays_freed"]


def test_from_the_cache(tmp_path):
    script = tmp_path / "late.py"
    script.write_text(
        "import numpy as np, treadle\n"
        "class Own(ValueError): pass\n"
        "@treadle.njit(cache=True)\n"
        "def f(a, b, n):\n"
        "    try:\n"
        "        if n < 0:\n"
        "            raise Own('x')\n"
        "        c = a * 2 + b\n"
        "        s = 0.0\n"
        "        for i in range(n):\n"
        "            s += c[i]\n"
        "        return s\n"
        "    except Own:\n"
        "        return -3.0\n"
        "    except IndexError:\n"
        "        return -1.0\n"
        "    except ValueError:\n"
        "        return -2.0\n"
        "t = np.arange(10.0)\n"
        "print(f(t, t, 10), f(t, t, 11), f(t, t[:3], 3), f(t, t[:1], 10), f(t, t, -1))\n"
    )
    env = {**os.environ, "TREADLE_CACHE_DIR": str(tmp_path / "cache")}
    for _ in range(3):
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=env, check=False)
        assert done.stdout.split() == ["135.0", "-1.0", "-2.0", "90.0", "-3.0"], done.stderr
    assert any(Path(tmp_path / "cache").rglob("*"))


def twice(n, a):
    try:
        a[n] += 1
    except Exception:
        raise
    for _ in range(2):
        try:
            try:
                if n < 4:
                    raise ValueError(n)
            except TypeError:
                a[n] += 1
        except Exception:
            raise ValueError(n)  # noqa: B904: its context is asked for
    return n


def told_of_index(n, a):
    try:
        a[0] += twice(n - 1, a)
    except IndexError as e:
        if n > 4:
            raise IndexError(n, "far") from e
    return n


def left_out_with_handlers(n, a):
    try:
        for _ in range(1):
            a[0] += told_of_index(n - 1, a)
    finally:
        a[1] += 1


def test_what_it_caught_itself_is_known_by_what_it_is():
    """Raise sites of late code have numbers of their own, also before what was raised there has left it."""
    ours = njit(left_out_with_handlers)
    for n in (0, 3, 5, 8):
        told = []
        for f in (left_out_with_handlers, ours):
            try:
                told.append(f(n, np.zeros(4, np.int64)))
            except (ValueError, IndexError) as e:
                told.append((repr(e), repr(e.__context__), repr(e.__cause__)))
        if n < 5:
            assert told[0] == told[1]
        else:  # a context of an index is not kept
            assert told[0][0] == told[1][0]
    assert late_of(ours)
