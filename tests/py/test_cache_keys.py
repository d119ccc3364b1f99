"""What the cache takes for the same, seen from Python: it must never give the wrong code."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

PRELUDE = "import numpy as np\nfrom treadle import njit\n"


@pytest.fixture
def run(tmp_path):
    def go(source, *argv):
        """Standard output of the program in a fresh process; the cache stays from run to run."""
        path = tmp_path / "program.py"
        path.write_text(PRELUDE + source)
        env = dict(os.environ, TREADLE_CACHE_DIR=str(tmp_path / "cache"))
        r = subprocess.run(
            [sys.executable, str(path), *argv], capture_output=True, text=True, env=env, timeout=120
        )
        assert r.returncode == 0, r.stderr
        return r.stdout.strip()

    return go


BASE = """
K = 1
A = np.arange(3.0)
def helper(x):
    return x + 1
@njit(cache=True)
def f(x):
    return helper(x) * K + A[0]
print(f(2), f.stats["loaded"])
"""


def test_a_second_process_loads(run):
    assert run(BASE) == "3.0 0"
    assert run(BASE) == "3.0 1"


def test_long_integers_count_to_the_last_digit(run):
    source = """
K = 10**90 + 1
@njit(cache=True)
def f(x):
    return x + K % 1000
print(f(2), f.stats["loaded"])
"""
    assert run(source) == "3 0"
    assert run(source.replace("+ 1", "+ 2")) == "4 0"
    assert run(source) == "3 1"


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ("K = 1", "K = 2", "6.0 0"),
        ("K = 1", "K = 1.0", "3.0 0"),
        ("x + 1", "x + 5", "7.0 0"),
        ("np.arange(3.0)", "np.arange(3.0) + 1", "4.0 0"),
        ("np.arange(3.0)", "np.arange(3)", "3 0"),
        ("cache=True", "cache=True, error_model='numpy'", "3.0 0"),
        ("cache=True", "cache=True, boundscheck=False", "3.0 0"),
        ("cache=True", "cache=True, fastmath=True", "3.0 0"),
        ("cache=True", "cache=True, promotion='numba'", "3.0 0"),
        ("f(2)", "f(2.0)", "3.0 0"),
        ("f(2)", "f(np.int8(2))", "3.0 0"),
        ("helper(x) * K", "helper(x) / K", "3.0 0"),
    ],
)
def test_what_makes_a_difference(run, old, new, expected):
    run(BASE)
    changed = BASE.replace(old, new)
    assert changed != BASE
    assert run(changed) == expected
    assert run(changed) == expected.replace(" 0", " 1")
    assert run(BASE) == "3.0 1"


def test_functions_as_arguments(run):
    source = """
up = lambda x: x + 1
down = lambda x: x - 1
both = (up, down)
@njit(cache=True)
def f(g, h, x):
    return g(x) * 10 + h(x) + both[0](x) * 0 + both[1](x) * 0
import sys
g, h = (up, down) if sys.argv[1] == "a" else (down, up)
print(f(g, h, 5), f.stats["loaded"])
"""
    assert run(source, "a") == "64 0" and run(source, "a") == "64 1"
    assert run(source, "b") == "46 0" and run(source, "b") == "46 1"


def test_strings_and_dtypes_as_arguments(run):
    source = """
import sys
@njit(cache=True)
def f(n, how, dt):
    return np.full(n, 2 if how == "two" else 3, dt)
r = f(2, sys.argv[1], np.dtype(sys.argv[2]))
print(r[0], r.dtype, f.stats["loaded"])
"""
    for how, dt, text in [
        ("two", "f4", "2.0 float32"),
        ("two", "f8", "2.0 float64"),
    ]:
        assert run(source, how, dt) == text + " 0"
        assert run(source, how, dt) == text + " 1"
    assert run(source, "six", "f4") == "3.0 float32 1"  # a string is a value


def test_strings_that_choose_types(run):
    source = """
import sys
@njit(cache=True)
def f(n, dt):
    return np.ones(n, dt)
r = f(2, sys.argv[1])
print(r.dtype, f.stats["loaded"])
"""
    for dt in ("float32", "int8"):
        assert run(source, dt) == dt + " 0"
        assert run(source, dt) == dt + " 1"


def test_results_of_every_kind_come_from_the_cache(run):
    source = """
from collections import namedtuple
P = namedtuple("P", "x y")
@njit(cache=True)
def f(a):
    return a, a[1:], np.zeros(2), P(1, a[0]), None, (True, 1j), 3
print(f(np.ones(3)), f.stats["loaded"])
@njit(cache=True)
def g(i):
    return np.zeros(3)[i]
try:
    g(5)
except IndexError as e:
    import traceback
    print(e, traceback.extract_tb(e.__traceback__)[-1].line, g.stats["loaded"])
"""
    first = run(source)
    assert first.count(" 0") >= 2
    again = run(source)
    assert again.splitlines()[0].endswith(" 1") and again.splitlines()[1].endswith(" 1")
    assert [line[:-1] for line in first.splitlines()] == [line[:-1] for line in again.splitlines()]


def test_classes_of_one_name_come_from_the_cache(run):
    """The class in the key is a number among those of its name: swapped, they must not share code."""
    source = """
import sys
from collections import namedtuple
def pair():
    return namedtuple("P", "x"), namedtuple("P", "x")
A, B = pair()
if sys.argv[1] == "swapped":
    A, B = B, A
@njit(cache=True)
def f(p):
    return B(p.x), A(p.x)
b, a = f(A(1))
print(type(b) is B, type(a) is A, f.stats["loaded"])
"""
    assert run(source, "plain") == "True True 0"
    assert run(source, "plain") == "True True 1"
    assert run(source, "swapped") == "True True 1"


def test_a_large_frozen_array_is_not_cached(run):
    source = """
import warnings
A = np.zeros(1 << 18)
@njit(cache=True)
def f(i):
    return A[i]
with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter("always")
    print(f(1), f.stats["loaded"], len(w), "not cached" in str(w[0].message))
"""
    assert run(source) == "0.0 0 1 True" and run(source) == "0.0 0 1 True"


@pytest.mark.parametrize(
    "result",
    [
        "2**70",
        "x if x else 'a'",
        "a.sum",
    ],
)
def test_a_refused_result_is_refused_again(run, result):
    """Nothing is kept of it: the second call and the second process say the same as the first."""
    source = f"""
from treadle.errors import TypingError
def up(x): return x + 1
@njit(cache=True)
def f(x, a):
    return {result}
texts = []
for i in range(2):
    try:
        f(1, np.ones(2))
    except TypingError as e:
        texts.append(str(e))
assert len(set(texts)) == 1, texts
print(len(texts), f.stats["compiled"], f.stats["loaded"], texts[0].splitlines()[0])
"""
    first = run(source)
    assert first.startswith("2 0 0 ")
    assert run(source) == first


@pytest.mark.parametrize(
    "decorator",
    [
        "vectorize(cache=True)",
        'vectorize(["i8(i8)"], cache=True)',
        'njit("i8(i8)", cache=True)',
        'guvectorize(["void(i8[:], i8[:])"], "(n)->()", cache=True)',
    ],
)
def test_other_refusals_are_not_kept(run, decorator):
    source = f"""
from treadle import guvectorize, vectorize
from treadle.errors import TreadleError
def make():
    @{decorator}
    def f(x{", out" if "gu" in decorator else ""}):
        return "a"
    return f
for i in range(2):
    try:
        make()(np.arange(3))
    except TreadleError as e:
        print(str(e).splitlines()[0])
"""
    first = run(source)
    assert len(set(first.splitlines())) == 1 and len(first.splitlines()) == 2
    assert run(source) == first


# What follows is above, between and below functions; lines are numbered by what traceback says.
LINES = """
import traceback
from treadle import guvectorize, prange, vectorize
def told(f, *args):
    try:
        f(*args)
    except Exception as e:
        entries = traceback.extract_tb(e.__traceback__)[1:]
        print(type(e).__name__, *(f"{t.name}: {t.line}" for t in entries))
def count(*fs):
    print(sum(f.stats["loaded"] for f in fs), sum(f.stats["compiled"] for f in fs))
#1
def helper(a, i):
    return a[i]
#2
@njit(cache=True)
def inlined(a, i):
    s = 0.0
    for k in range(2):
        s += helper(a, i + k)
    return s
#3
@njit(cache=True, parallel=True)
def ranges(a, i):
    s = 0.0
    for k in prange(4):
        s += a[k + i]
    return s
#4
@njit(cache=True)
def raises(a, i):
    if i > 3:
        # A part that is left out until it is reached, with a call that is inlined into it.
        b = np.zeros(3)
        for k in range(5):
            b[k % 3] += helper(a, i * k)
        raise ValueError("too many")
    return sum([a[i + k] for k in range(2)])
#5
told(inlined, np.ones(5), 4)
told(inlined, np.ones(5), 7)
told(ranges, np.ones(5), 3)
told(raises, np.ones(5), 3)
told(raises, np.ones(50), 4)
told(raises, np.ones(5), 4)
count(inlined, ranges, raises)
"""


@pytest.mark.parametrize("at", [(), (1,), (2,), (3, 4), (1, 2, 3, 4, 5)])
def test_lines_above_functions_make_no_new_entry(run, tmp_path, at):
    """Tracebacks name the lines that the functions have now, those of callees and of parts that are compiled late, too."""
    first = run(LINES).splitlines()
    assert first[-1] == "0 3"
    entries = sorted((tmp_path / "cache").iterdir())
    changed = LINES
    for k in at:
        changed = changed.replace(f"#{k}\n", f"# a comment\n\n# another\n#{k}\n")
    again = run(changed).splitlines()
    assert again[:-1] == first[:-1] and again[-1] == "3 0"
    assert "s += helper(a, i + k)" in again[0] and "helper: return a[i]" in again[1]
    assert sorted((tmp_path / "cache").iterdir()) == entries
    assert run(LINES).splitlines() == again  # and back


def test_lines_may_go_away(run):
    above = "# a comment\n" * 20
    assert run(above + LINES).endswith("0 3")
    assert run(LINES).endswith("3 0")


def test_late_parts_that_another_process_reaches_first(run):
    """A part that nobody reached is compiled when the lines are others than in the text that it is made of, and is found by both."""
    quiet = LINES.replace("told(raises, np.ones(50), 4)\ntold(raises, np.ones(5), 4)\n", "")
    assert run(quiet).endswith("0 3")
    moved = run("# a comment\n" + LINES)
    assert moved.endswith("3 0")
    assert run(LINES) == moved


def test_lines_in_functions_are_others(run):
    assert run(LINES).endswith("0 3")
    within = LINES.replace(
        "    s = 0.0\n    for k in range(2)", "    s = 0.0\n    # a comment\n    for k in range(2)"
    )
    first = run(within)
    assert first.endswith("2 1")
    assert run(within).splitlines()[:-1] == first.splitlines()[:-1]


def test_what_the_text_above_says_still_counts(run):
    """Lines move, and with them another value of a global, or another body of a callee."""
    assert run(BASE) == "3.0 0"
    assert run("# a comment\n" + BASE) == "3.0 1"
    assert run("# a comment\n" + BASE.replace("K = 1", "K = 2")) == "6.0 0"
    assert run("# a comment\n" + BASE.replace("x + 1", "x + 5")) == "7.0 0"


def test_functions_of_one_line_that_go_apart(run):
    """Two of one name stood in one line: of which a place is, nobody can tell, so they are compiled anew."""
    source = """
import traceback
both = (lambda a, i: a[i], lambda a, i: a[i + 1])
@njit(cache=True)
def f(a, i):
    return both[0](a, i) + both[1](a, i)
for i in (4, 5):
    try:
        f(np.ones(5), i)
    except IndexError as e:
        print(traceback.extract_tb(e.__traceback__)[-1].line)
print(f.stats["loaded"])
"""
    one = "both = (lambda a, i: a[i], lambda a, i: a[i + 1])"
    assert run(source).splitlines() == [one, one, "0"]
    assert run("# a comment\n" + source).splitlines() == [one, one, "1"]
    at = one.index(" lambda a, i: a[i + 1]")
    apart = run(source.replace(one, one[:at] + "\n" + " " * at + one[at:])).splitlines()
    assert apart == [one[at + 1 :], one[:at], "0"]


def test_messages_that_say_lines(run):
    """What a test before a loop raises names the lines of both accesses: it is compiled anew where these are others."""
    source = """
from treadle import prange
@njit(cache=True, parallel=True)
def f(a, k):
    for i in prange(8):
        a[i + k] = a[i]
try:
    f(np.ones(20), 3)
except Exception as e:
    print(str(e).splitlines()[0])
print(f.stats["loaded"])
"""
    first = run(source)
    assert "line 8 writes an element of 'a' that line 8 reads" in first and first.endswith("0")
    assert run(source) == first[:-1] + "1"
    moved = run("# a comment\n" + source)
    assert moved == first.replace("line 8", "line 9")
    assert run("# a comment\n" + source) == moved[:-1] + "1"


def test_line_tables_are_not_moved(run, tmp_path):
    """Under debug=True a debugger reads lines from the code itself."""
    source = BASE.replace("cache=True", "cache=True, debug=True")
    assert run(source) == "3.0 0" and run(source) == "3.0 1"
    assert run("# a comment\n" + source) == "3.0 0"


UFUNCS = """
import traceback
from treadle import guvectorize, vectorize
#1
@vectorize(cache=True)
def up(x):
    if x > 3:
        raise ValueError("too many")
    return x + 1
#2
@guvectorize(["void(i8[:], i8[:])"], "(n)->()", cache=True)
def last(x, out):
    out[0] = x[7]
#3
for f in (up, last):
    try:
        f(np.arange(5))
    except Exception as e:
        print(type(e).__name__, [t.line for t in traceback.extract_tb(e.__traceback__)][1:])
import treadle
print(treadle.stats()["loaded"], treadle.stats()["compiled"])
"""


def test_lines_above_ufuncs(run):
    first = run(UFUNCS).splitlines()
    loops = int(first[-1].split()[1])
    assert first[-1] == f"0 {loops}" and loops >= 2 and "raise ValueError" in first[0]
    again = run(UFUNCS.replace("#1\n", "#\n#\n#1\n").replace("#2\n", "\n#2\n")).splitlines()
    assert again == [*first[:-1], f"{loops} 0"]


KERNELS = """
import os, traceback
os.environ["TREADLE_CUDA"] = "emu"
from treadle import cuda
import treadle
#1
@cuda.jit(cache=True)
def plain(a):
    i = cuda.grid(1)
    a[i + 2] = 1
#2
@cuda.jit(cache=True)
def apart(a):
    if cuda.threadIdx.x % 2:
        cuda.syncthreads()
    else:
        cuda.syncthreads()
    a[0] = 1
#3
for k in (plain, apart):
    try:
        k[1, 4](np.zeros(4))
    except Exception as e:
        print(type(e).__name__, [t.line for t in traceback.extract_tb(e.__traceback__)][1:])
        print(str(e).replace(__file__, ""))
print(treadle.stats()["loaded"], treadle.stats()["compiled"])
"""


def test_lines_above_kernels(run):
    """A kernel whose code says in which lines its barriers are is compiled anew."""
    first = run(KERNELS).splitlines()
    assert first[-1] == "0 2" and "a[i + 2] = 1" in first[0]
    assert run(KERNELS).splitlines()[-1] == "2 0"
    again = run(KERNELS.replace("#1\n", "#\n#\n#1\n")).splitlines()
    assert again[0] == first[0] and again[-1] == "1 1"
    lines = [[int(n) for n in re.findall(r"line (\d+)", "\n".join(of))] for of in (first, again)]
    assert [n + 2 for n in lines[0]] == lines[1]
