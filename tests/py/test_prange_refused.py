"""prange loops whose iterations hand something on: refused, with the line and what to do."""

from __future__ import annotations

import pathlib
import sys

import numpy as np
import pytest
import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from prange_check import check, parallel  # noqa: E402
from treadle import UnsupportedError, njit, prange  # noqa: E402


def _last(a):
    t = 0.0
    for i in prange(len(a)):
        t = a[i]
    return t


def _before(a):
    t = 0.0
    for i in prange(len(a)):
        a[i] = t
        t = a[i] + 1
    return t


def _after(a):
    for i in prange(len(a)):
        pass
    return i


def _both(a):
    s = 0.0
    for i in prange(len(a)):
        s += a[i]
        s *= 2
    return s


def _uses(a):
    s = 0.0
    for i in prange(len(a)):
        s += a[i]
        a[i] = s
    return s


def _where(a):
    m = 0.0
    at = 0
    for i in prange(len(a)):
        if a[i] > m:
            m = a[i]
        else:
            at = i
    return m, at


def _induction(a):
    k = 0
    for i in prange(len(a)):
        a[k] = i
        k += 2


def _twice(a):
    s = 1.0
    for i in prange(len(a)):
        s += s
    return s


def _changed(a):
    m = 1.0
    for i in prange(len(a)):
        x = a[i]
        if i > 3:
            a[i] = 5.0
        if x > m:
            m = a[i]
    return m


def _changed_in_a_loop(a):
    m = 1.0
    for i in prange(len(a)):
        x = a[i]
        for _ in range(3):
            a[i] += 1
        m = a[i] if x > m else m
    return m


def _rev(a):
    s = 1.0
    for i in prange(len(a)):
        s = a[i] - s
    return s


@pytest.mark.parametrize(
    "fn, name, lines",
    [
        (_last, "'t' is assigned in a prange loop and used after it", None),
        (_before, "'t' is handed from one iteration", (2, 3)),
        (_after, "'i' is assigned in a prange loop and used after it", None),
        (_both, "'s' is handed from one iteration", (2, 3)),
        (_uses, "'s' is handed from one iteration", (2, 2)),
        (_where, "handed from one iteration", None),
        (_induction, "'k' is handed from one iteration", (2, 3)),
        (_twice, "'s' is handed from one iteration", (2, 2)),
        (_changed, "'m' is handed from one iteration", (5, 6)),
        (_changed_in_a_loop, "'m' is handed from one iteration", (5, 5)),
        (_rev, "'s' is handed from one iteration", (2, 2)),
    ],
)
def test_carried_values_are_refused(fn, name, lines):
    first = fn.__code__.co_firstlineno
    with pytest.raises(UnsupportedError) as e:
        parallel(fn)(np.ones(4))
    assert name in str(e.value) and "help:" in str(e.value)
    if lines:
        loop = first + 2
        assert f"read in line {loop + lines[0] - 1}, made in line {loop + lines[1] - 1}" in str(e.value)


def compiled(body, *args):
    """Compile and call a function of a0, a1 ... with this body."""
    names = ", ".join(f"a{k}" for k in range(len(args)))
    scope = {"np": np, "prange": prange}
    exec(f"def f({names}):\n" + "\n".join("  " + line for line in body.split("\n")), scope)
    f = parallel(scope["f"])
    f(*args)
    return f


LINE, GRID, INDEX = np.ones(50), np.ones((20, 20)), np.arange(50) % 7


@pytest.mark.parametrize(
    "body, text, args",
    [
        ("for i in prange(1, len(a0)):\n  a0[i] = a0[i-1]", "line 3 reads 1 iteration later", (LINE,)),
        ("for i in prange(len(a0)):\n  a0[i] = a0[i-1]", "line 3 reads 1 iteration later", (LINE,)),
        ("for i in prange(len(a0)-2):\n  a0[i] = a0[i+2]", "line 3 reads 2 iterations earlier", (LINE,)),
        ("for i in prange(0, len(a0)-2, 2):\n  a0[i] = a0[i+2]", "1 iteration earlier", (LINE,)),
        ("for i in prange(len(a0)-1):\n  a0[i] = 1\n  a0[i+1] = 2", "line 4 writes 1 iteration", (LINE,)),
        ("for i in prange(25):\n  a0[i] = a0[i+24]", "24 iterations earlier", (LINE,)),
        (
            "for i in prange(len(a0)):\n  a0[0] = i - a0[0]",
            "the same element of 'a0' in every iteration",
            (LINE,),
        ),
        ("for i in prange(len(a0)):\n  a0[2] = i", "the same element of 'a0' in every iteration", (LINE,)),
        ("for i in prange(len(a0)):\n  a0[i] /= a0[0]", "line 3 reads in other iterations", (LINE,)),
        (
            "for i in prange(1, len(a0)):\n  for j in range(len(a0)):\n    a0[i, j] += a0[i-1, j]",
            "line 4 writes an element of 'a0' that line 4 reads 1 iteration later",
            (GRID,),
        ),
        (
            "for i in prange(1, 19):\n  for j in range(1, 19):\n"
            "    a0[i, j] = a0[i-1, j] + a0[i+1, j] + a0[i, j-1]",
            "an element of 'a0' that line 4 reads 1 iteration",
            (GRID,),
        ),
        (
            "for i in prange(len(a0)):\n  for j in range(20):\n    a1[j] = a0[i, j] - a1[j]",
            "line 4 writes the same element of 'a1' in every iteration, and line 4 reads it",
            (GRID, LINE),
        ),
        ("for i in prange(1, len(a0)):\n  a0[i] = a0[i-1] * 2", "line 3 reads 1 iteration later", (GRID,)),
        ("for i in prange(1, len(a0)):\n  r = a0[i]\n  p = a0[i-1]\n  r[0] = p[0]", "later", (GRID,)),
        ("for i in prange(len(a0)):\n  a1[:] = a0[i] - a1", "the same element of 'a1'", (GRID, LINE[:20])),
        ("for i in prange(len(a0)):\n  a0[:] = i", "the same element of 'a0'", (LINE,)),
        ("t = np.zeros(3)\nfor i in prange(len(a0)):\n  t[0] = a0[i]\n  a0[i] = t[0]", "of 't'", (LINE,)),
    ],
)
def test_dependences_through_memory_are_refused(body, text, args):
    with pytest.raises(UnsupportedError, match="iterations of a prange loop depend on each other") as e:
        compiled(body, *[a.copy() for a in args])
    assert text in str(e.value).splitlines()[0]


@pytest.mark.parametrize(
    "body, perhaps, args",
    [
        ("for i in prange(len(a0)):\n  a0[i] = a0[i] * 2", False, (LINE,)),
        ("for i in prange(0, len(a0)-1, 2):\n  a0[i] = a0[i+1]", False, (LINE,)),
        ("for i in prange(25):\n  a0[i] = a0[i+25]", False, (LINE,)),
        ("for i in prange(1):\n  a0[0] += i", False, (LINE,)),
        ("for i in prange(len(a0)):\n  a0[3] = 1.5", False, (LINE,)),
        ("for i in prange(1, len(a0)):\n  a0[i] /= a0[0]", False, (LINE,)),
        ("for i in prange(len(a0)):\n  for j in range(1, 20):\n    a0[i, j] = a0[i, j-1]", False, (GRID,)),
        ("for i in prange(len(a0)):\n  a0[i, 0] = a0[i, 1]", False, (GRID,)),
        ("for i in prange(len(a0)):\n  a0[i] *= 2", False, (GRID,)),
        (
            "for i in prange(len(a0)):\n  r = a0[i]\n  for j in range(1, 20):\n    r[j] = r[j-1]",
            False,
            (GRID,),
        ),
        ("for i in prange(len(a0)):\n  t = np.zeros(3)\n  t[0] = i\n  a0[i] = t[0]", False, (LINE,)),
        ("for i in prange(len(a0)):\n  a0[a1[i]] = i", True, (LINE, np.arange(50)[::-1])),
        ("for i in prange(len(a0)):\n  a0[a1[i]] = 0", False, (LINE, INDEX)),
        ("for i in prange(len(a0)//2):\n  a0[i] = a0[i+a1]", False, (LINE, 25)),
        ("for i in prange(0, 49, a1):\n  a0[i] = a0[i+1]", False, (LINE, 2)),
        ("for i in prange(5):\n  for j in range(a1):\n    a0[i*a1+j] = i", False, (LINE, 10)),
        ("for i in prange(len(a0)):\n  if i > 60:\n    a0[i] = a0[i+1]", True, (LINE,)),
    ],
)
def test_other_loops_run_and_say_what_is_possible(body, perhaps, args, capsys):
    mine, theirs = ([a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
    f = compiled(body, *mine)
    f.py_func(*theirs)
    for g, w in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(g, w)
    assert f.parallel_diagnostics() is None
    said = capsys.readouterr().out
    assert ("perhaps" in said) == perhaps and "runs on all cores" in said


def test_diagnostics(capsys):
    @parallel
    def f(a, h, idx):
        s = 0.0
        b = a * 2 + 1
        c = b[::2] + 1
        for i in prange(len(a)):
            h[idx[i]] = i
            s = max(s, b[i])
        return s, c.argmax()

    f(np.ones(50), np.ones(7), INDEX)
    first = f.py_func.__code__.co_firstlineno
    f.parallel_diagnostics()
    said = capsys.readouterr().out.splitlines()
    assert said[0].endswith("f(array(float64, 1d, C), array(float64, 1d, C), array(int64, 1d, C))")
    loop = f"  f: the loop of line {first + 5}: "
    line = first + 6
    assert (
        loop + f"line {line} writes an element of 'h' that line {line} perhaps writes in another iteration"
        in said
    )
    assert loop + "runs on all cores, reductions: 's' (max)" in said
    assert f"  f: the array expression of line {first + 3}: runs on all cores" in said
    assert any("one core: it looks for the place of an extreme" in text for text in said)
    assert not any("merged" in text for text in said)
    f.parallel_diagnostics(level=2)
    two = capsys.readouterr().out.splitlines()
    f.parallel_diagnostics(f.signatures[0], 4)
    four = capsys.readouterr().out.splitlines()
    assert set(said) < set(two) < set(four)
    assert any(": merged, " in text for text in two) and any(": not merged: " in text for text in four)
    with pytest.raises(ValueError, match="1 to 4"):
        f.parallel_diagnostics(level=5)

    @njit
    def g(n):
        return n

    g(1)
    g.parallel_diagnostics()
    assert "without parallel=True" in capsys.readouterr().out


def test_a_prange_that_no_loop_is_over_alone(capsys):
    @parallel
    def f(a):
        s = 0.0
        for i, x in zip(prange(len(a)), a):
            s += x * i
        return s

    check(f, np.arange(10.0))
    f.parallel_diagnostics()
    assert "runs on one core: no loop is over it alone" in capsys.readouterr().out


def test_the_page(capsys):
    page = (pathlib.Path(__file__).parents[2] / "docs/parallel.md").read_text()
    code, shown = (page.split("```python\n")[k].split("```")[0] for k in (1, -1))
    scope = {}
    exec(code, scope)
    f = scope["mean_distance"]
    points, counts = np.random.default_rng(0).random((1000, 3)), np.zeros(3, dtype=np.int64)
    check(f, points, np.zeros(3), counts)
    f.parallel_diagnostics()
    assert capsys.readouterr().out.splitlines() == shown.splitlines()[1:]


def test_leaving_a_loop_is_refused():
    def f(a):
        for i in prange(len(a)):
            if a[i] > 2:
                break
            a[i] = 1

    def g(a):
        for i in prange(len(a)):
            if a[i] > 2:
                return i
        return -1

    def never_returns(a):
        k = 0
        while True:
            for i in prange(len(a)):
                if a[i] > 2:
                    break
                a[i] += 1
            k += 1
            if k > 4:
                raise ValueError

    for fn in (f, g, never_returns):
        with pytest.raises(UnsupportedError, match="cannot be left early"):
            parallel(fn)(np.ones(4))


def test_wrong_calls():
    @parallel
    def f(x):
        for _i in prange(x, 1, 2, 3):
            pass

    with pytest.raises(treadle.TypingError, match="prange expected 1 to 3 arguments, got 4"):
        f(1)
    with pytest.raises(TypeError):
        prange()
