"""Generator expressions, and list comprehensions that are arrays: what CPython makes of the same function."""

from __future__ import annotations

import heapq
import math
import textwrap
import traceback
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from functools import reduce

import numpy as np
import pytest
from treadle import TypingError, UnsupportedError, njit, prange, vectorize
from treadle.errors import TreadleError

K = 3
A = np.array([3.0, -1.0, 4.0, -1.5, 5.0, 9.0, -2.0])
N = np.array([3, 1, 4, 1, 5, 9, 2])
M = np.arange(12.0).reshape(3, 4)
EMPTY = np.empty(0)


@njit
def square(x):
    return x * x


@njit
def fail_at(x, k):
    """Raise at 0; else where it was called is noted."""
    k[0] += 1
    return 6 // x


def same(fn: Callable, *args: object, **options: object) -> None:
    """Compiled, `fn` gives what it gives in CPython, types of arrays included, and raises what it raises."""
    copies = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]
    try:
        want = fn(*args)
    except Exception as e:
        with pytest.raises(type(e)) as got:
            njit(**options)(fn)(*copies)
        assert str(got.value) == str(e)
    else:
        got = njit(**options)(fn)(*copies)
        equal(got, want)
    for a, b in zip(args, copies, strict=True):
        np.testing.assert_array_equal(a, b)


def equal(got: object, want: object) -> None:
    if isinstance(want, tuple):
        assert isinstance(got, tuple) and len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            equal(g, w)
    elif isinstance(want, np.ndarray):
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_array_equal(got, want)
    else:
        assert got == want or (got != got and want != want)
        assert isinstance(got, (bool, np.bool_)) == isinstance(want, (bool, np.bool_))


# --- what is run through ------------------------------------------------------------------------------------------


def sums(a, n):
    return (
        sum(x for x in a),
        sum(x * n for x in a if x > 0),
        sum(x * K if x > 0 else -x for x in a),
        sum(a[i] * a[i + 1] for i in range(len(a) - 1)),
        sum(x for x in a if x > 0 if x < 4),
        sum((x for x in a), 10),
        sum((x for x in a if x > 100), start=0.5),
        sum(1 for x in a if x > 0),
        sum(x > 0 for x in a),
    )


def folds(a, n):
    return (
        any(x > 8 for x in a),
        any(x > 9 for x in a),
        all(x > -3 for x in a),
        all(x > -2 for x in a if x != -2),
        min(x * x for x in a),
        max(abs(x) for x in a if x < n),
        math.prod(x for x in a if x > 1),
        math.fsum(x * 0.1 for x in a),
        math.fsum(x * y for x in a for y in a),
        reduce(lambda p, q: p * 0.5 + q, (x + 1 for x in a)),
        reduce(lambda p, q: p - q, (x for x in a if x > n), 0.0),
        4.0 in (x + n for x in a),
        -4.0 in (x + n for x in a if x > n),
    )


def iterables(a, b, m):
    return (
        sum(x * y for x, y in zip(a, b)),
        sum(i * x for i, x in enumerate(a, 2)),
        sum(i * (x - y) for i, (x, y) in enumerate(zip(a, b))),
        sum(x for x in reversed(a) if x > 1),
        sum(x for x in (1.5, 2.5, a[0])),
        sum(x for x in map(square, a)),
        sum(x * 2 for x in (y + 1 for y in a if y > 0) if x > 2),
        sum(x for x in m.flat),
        sum(row[1] for row in m),
        sum(row.sum() for row in m if row[0] > 0),
        max(i * j for i, j in np.ndindex(3, 4)),
        sum(i for i in range(10, 0, -3)),
    )


def nested(m):
    return (
        sum(sum(m[i, j] for j in range(4)) * i for i in range(3)),
        max(min(x for x in row if x > i) for i, row in enumerate(m)),
        sum(1 for x in m[0] if any(x == y * 2 for y in m[0])),
    )


def test_what_runs_through():
    for fn, args in (
        (sums, (A, 2)),
        (sums, (N, 2)),
        (folds, (A, 1)),
        (folds, (A, 1.5)),
        (iterables, (A, A[::-1] * 2, M)),
        (nested, (M,)),
    ):
        same(fn, *args)
        same(fn, *args, fastmath=False, inline="always")
        same(fn, *args, parallel=True)


def test_several_loops():
    def f(m, n):
        return (
            sum(m[i, j] for i in range(m.shape[0]) for j in range(m.shape[1])),
            sum(m[i, j] for i in range(3) if i % 2 == 0 for j in range(i, 4) if j != n),
            sum(i * j * k for i in range(n) for j in range(i) for k in range(j)),
            sum(x for row in m for x in row if x > n),
            any(m[i, j] > 6 for i in range(3) for j in range(4)),
            all(m[i, j] < 11 for i in range(3) for j in range(4)),
            max(t * y for x in m[0] for t in [x + 1] for y in (x, t)),
            sum(x * y * z for x in m[0] if x > n - 3 for y, z in zip(m[1], m[2])),
            sum(x * y for x in m[0] if x > n for i, y in enumerate(m[1]) if i),
            sum(x * y for x in m[0] if x > n for y in reversed(m[1])),
            sum(x * y for x in m[0] if x > n for y in (z + x for z in m[1] if z != x)),
            sum(x * y for x in m[0] if x > n for y in map(square, m[2])),
            sum(x * y for x in m[0] if x > n for y in m[1:].flat),
        )

    for n in (0, 2, 5):
        same(f, M, n)
    same(f, M, 3, parallel=True)


# --- several loops that are run through at once -------------------------------------------------------------------

LOOPS = "(x for r in a for x in r)"
PAIRS = "((x, len(r)) for r in a for x in r if x != 3)"
FAILS = "(6 // (x - 2) for r in a for x in r)"


@pytest.mark.parametrize(
    "body",
    [
        *(
            f"return {f}{LOOPS}"
            for f in ("list", "set", "frozenset", "sorted", "Counter", "deque", "bytes", "max")
        ),
        *(f"return {f}{PAIRS}" for f in ("dict", "OrderedDict", "sorted", "set")),
        *(f"return {s}" for s in (f"[*{LOOPS}, 7]", f"{{7, *{LOOPS}}}", f"dict.fromkeys({LOOPS}, 0)")),
        *(f"return heapq.{f}(2, {LOOPS})" for f in ("nsmallest", "nlargest")),
        *(f"return {{1, 9}}.{f}{LOOPS}" for f in ("union", "intersection", "difference", "issuperset")),
        f"return sorted({LOOPS}, key=lambda v: -v)",
        "return '-'.join(str(x) for r in a for x in r)",
        "return Counter(c for r in a for c in str(r)).most_common(2)",
        "return set(x * k for r in a if len(r) < k for x in r for y in range(x) if y != 1)",
        "return list(x for r in a for x in r if x > 9), set(x for r in a for x in r if x > 9)",
        "return [sorted(y for x in r for y in range(x)) for r in a]",
        f"g = {LOOPS}; a.append([4]); return set(g)",
        f"x, *rest = {LOOPS}; return x, rest",
        *(
            f"l = {new}\ntry: l.{add}{loops}\nexcept ZeroDivisionError as e: print(str(e))\nreturn l"
            for new, add, loops in (
                ("[0]", "extend", FAILS),
                ("{0}", "update", FAILS),
                ("deque([0])", "extendleft", FAILS),
                ("{0: 1}", "update", "((x, 6 // (x - 2)) for r in a for x in r)"),
                ("Counter()", "update", LOOPS),
            )
        ),
    ],
)
def test_several_loops_at_once(body, capsys):
    """What an exception leaves behind is CPython's, too."""
    space = {"deque": deque, "Counter": Counter, "OrderedDict": OrderedDict, "heapq": heapq}
    exec("def f(a, k):\n" + textwrap.indent(body, "    "), space)
    got, want = [[1, 2], [3], [2, 0]], [[1, 2], [3], [2, 0]]
    assert outcome(njit(space["f"]), got, 2) == outcome(space["f"], want, 2) and got == want
    said = capsys.readouterr().out.split("\n")
    assert len(set(said[:-1])) <= 1 and len(said) % 2 == 1, "both say the same"


def outcome(f, *args):
    """The value with its class, or the exception."""
    try:
        value = f(*args)
    except Exception as e:
        return type(e), str(e)
    return type(value), value


@pytest.mark.parametrize(
    "body",
    [
        f"for x in {LOOPS}: return x",
        f"return next{LOOPS}",
        f"return list(enumerate{LOOPS})",
        f"return list(map(abs, {LOOPS}))",
        f"g = {LOOPS}; return list(g), list(g)",
    ],
)
def test_several_loops_one_by_one(body):
    space: dict = {}
    exec("def f(a):\n    " + body, space)
    assert njit(space["f"])([[1, 2], [3]]) == space["f"]([[1, 2], [3]])


@pytest.mark.parametrize("fn", [min, max])
def test_nothing_to_choose_from(fn):
    space = {"fn": fn}
    exec("def f(a):\n    return fn(x for x in a if x > 100)\ndef g(a):\n    return fn(x for x in a)", space)
    with pytest.raises(ValueError, match="empty"):
        njit(space["f"])(A)
    with pytest.raises(ValueError, match="empty"):
        njit(space["g"])(EMPTY)


def test_nan_stays_where_it_is_first():
    def f(a):
        return min(x for x in a), max(x for x in a), min(x for x in a if x == x)

    for a in (np.array([np.nan, 1.0, 2.0]), np.array([1.0, np.nan, 0.5])):
        same(f, a)


# --- when things happen -------------------------------------------------------------------------------------------


def test_any_and_all_leave_early():
    def f(a, k):
        return any(fail_at(x, k) > 2 for x in a), all(fail_at(x, k) < 3 for x in a if x != 7)

    a = np.array([6, 7, 2, 0])
    k = np.zeros(1, np.int64)
    same(f, a, k)
    assert k[0] == 3 + 2

    def g(a, k):
        return any(fail_at(x, k) > 2 for x in a)

    with pytest.raises(ZeroDivisionError):
        njit(g)(np.array([6, 0, 1]), k)

    def h(a, k):
        return any(fail_at(x + y, k) == 3 for x in a for y in (1, 2, -6))

    same(h, np.array([5, 1, 6]), np.zeros(1, np.int64))
    same(h, np.array([5, 6]), np.zeros(1, np.int64))


def test_a_list_is_made_before_it_is_asked():
    def f(a, k):
        return any([fail_at(x, k) > 2 for x in a])

    k = np.zeros(1, np.int64)
    same(f, np.array([2, 6, 7]), k)
    assert k[0] == 3
    with pytest.raises(ZeroDivisionError):
        njit(f)(np.array([2, 0]), k)

    def g(a, k):
        s = 0
        for x in [y + k[0] for y in a]:
            k[0] += 1
            s += x
        return s

    same(g, N, np.zeros(1, np.int64))

    def h(a, k):
        s = 0
        for x in (y + k[0] for y in a):
            k[0] += 1
            s += x
        return s

    same(h, N, np.zeros(1, np.int64))


def test_values_come_when_they_are_asked_for():
    def f(a, k):
        g = (fail_at(x, k) for x in a if x > 1)
        before = k[0]
        u = next(g)
        v = next(g)
        return before, k[0], u, v, next(g, -1), next(g, -2), k[0]

    same(f, np.array([2, 1, 3, 6]), np.zeros(1, np.int64))
    same(f, np.array([2, 3]), np.zeros(1, np.int64))


def test_a_generator_that_runs_out_of_something():
    def f(a, b):
        it = iter(b)
        return sum(x * next(it) for x in a)

    def g(a, b):
        it = iter(b)
        return np.array([x * next(it) for x in a])

    for fn in (f, g):
        same(fn, A[:2], A)
        same(fn, A, A[:2])


def test_iterators():
    def f(a):
        g = (x * 2 for x in a if x > 0)
        first = next(g)
        some = any(x > 9 for x in g)
        return first, some, sum(g)

    def g(a, b):
        s = 0.0
        for x, y in zip((p for p in a if p > 0), (q * 2 for q in b)):
            s = s * 2 + x * y
        for i, x in enumerate(p - 1 for p in a if p < 0):
            s += i * x
        x, y, z = (p for p in b if p > 3)
        return s, x, y, z

    def h(a):
        it = iter(a)
        return sum(x * y for x, y in zip(it, it)), sum(x for x in it)

    same(f, A)
    same(g, A, A[::-1].copy())
    same(h, A)


def test_generators_as_arguments():
    def total(g, k):
        s = 0.0
        for x in g:
            s += x * k
        return s

    def f(a):
        return total((x for x in a if x > 0), 2) + total((x * 2 for x in a), 3)

    same(f, A)


def test_the_line_of_an_error():
    def f(a, n):
        return sum(
            a[i]
            for i in range(n)
        )  # fmt: skip

    def g(a, n):
        return np.array([
            i
            + a[i]
            for i in range(n)
        ])  # fmt: skip

    for fn in (f, g):
        lines = []
        for which in (fn, njit(boundscheck=True)(fn)):
            with pytest.raises(IndexError) as e:
                which(A, 9)
            lines.append(traceback.extract_tb(e.value.__traceback__)[-1].lineno)
        assert lines[0] == lines[1]


# --- variables ----------------------------------------------------------------------------------------------------


def test_variables_that_change_around_it():
    def f(m):
        out = np.zeros(3)
        for i in range(3):
            k = i * 2
            out[i] = sum(m[i, j] * k for j in range(4))
            for x in (m[i, j] + k for j in range(4) if j != i):
                out[i] += x
            k = 100
        return out

    same(f, M)


def test_variables_that_change_too_soon():
    def f(a, k):
        s = 0.0
        for x in (y * k for y in a):
            k += 1
            s += x
        return s

    def g(a, k):
        it = (y * k for y in a)
        k = 5
        return sum(it)

    for fn in (f, g):
        with pytest.raises(UnsupportedError, match="assigned again"):
            njit(fn)(A, 1)


def test_names_of_the_expression_are_its_own():
    def f(a):
        x = 10.0
        i = 5
        s = sum(x for x in a) + np.array([i for i in range(3)]).sum()
        return s, x, i

    same(f, A)


def test_a_list_with_a_name():
    """From 3.12 on CPython names the list before the variables that the expression used get back what they had."""

    def named(a):
        x = 3.0
        y = [x * 2 for x in a]
        return np.array(y), x

    def of_several(a):
        x, z = 3.0, 4.0
        y = [x * z for x in a for z in a if z > x]
        return np.sum(y), x, z

    def named_as_its_variable(a):
        x = np.zeros(1)
        x = [x for x in a]
        return np.array(x)

    def in_a_loop(a):
        s = 0.0
        for x in a:
            y = [x + 1 for x in range(3)]
            s += np.sum(y) + x
        return s

    def that_raises(a):
        x = 2.0
        try:
            y = [1 // int(x) for x in a]
            return np.array(y), x
        except ZeroDivisionError:
            return np.array([0]), x

    def without_one_before(a):
        y = [x * z for x, z in zip(a, a)]
        for v in y:
            if v > 4:
                return v
        return 0.0

    def where_one_is_swapped(a):
        x = 1.0
        x, y = np.array([x for x in a]), x
        return x, y

    for fn in (
        named,
        of_several,
        named_as_its_variable,
        in_a_loop,
        that_raises,
        without_one_before,
        where_one_is_swapped,
    ):
        same(fn, A)
        same(fn, np.array([2.0, 0.0]))


def test_outer_variables_of_inner_functions():
    def f(a, k):
        def g(n):
            return sum(x * k + n for x in a if x > k), np.array([x + k + n for x in a])

        return g(1), g(2.5)

    same(f, A, 2)


# --- arrays -------------------------------------------------------------------------------------------------------


def test_arrays():
    def f(a, n, m):
        return (
            np.array([i * i for i in range(n)]),
            np.array([x * 2 for x in a]),
            np.array([x for x in a if x > 1]),
            np.array([x for x in a if x > 100]),
            np.array([i * 10 + j for i in range(n) for j in range(m) if (i + j) % 2]),
            np.array([(i, x) for i, x in enumerate(a)]),
            np.array([x > 0 for x in a]),
            np.array([1j * x for x in a]),
            np.array([x for x in a], dtype=np.float32),
            np.asarray([i for i in range(n)], dtype=np.int16),
            np.array([[i * j + 0.5 for j in range(m)] for i in range(n)]),
            np.array([[x + y for x in a] for y in a if y > 0]),
            np.array([[[i, j + x] for j in range(2)] for i, x in enumerate(a)]),
            np.array([a[i : i + 2] for i in range(5)]),
            np.array([sum(a[j] for j in range(i)) for i in range(n)]),
            np.array([x for x in map(square, a)]),
            np.array([x + 1 for x in (y for y in a if y < 0)]),
            np.array([np.float32(x) for x in a]),
        )

    same(f, A, 5, 3)
    same(f, A, 5, 3, parallel=True)
    same(f, A[::-1], 6, 2)


def test_arrays_of_nothing_have_the_type_of_what_would_be_there():
    """NumPy makes float64 of one axis of any empty list; compiled code has one type for any length."""

    @njit
    def f(a, n):
        return np.array([i for i in range(n)]), np.array([[x for x in a] for i in range(n)])

    flat, rows = f(A, 0)
    assert flat.dtype == np.int64 and flat.shape == (0,)
    assert rows.dtype == np.float64 and rows.shape == (0, 0)


def test_what_leaves_all_out():
    def f(a):
        return sum(x for x in a if 2 < 1), np.array([x for x in a if 2 < 1]), math.fsum(2 for x in a if 2 < 1)

    same(f, A)


def test_rows_of_different_lengths():
    def f(n):
        return np.array([[j for j in range(i)] for i in range(1, n)])

    same(f, 2)
    with pytest.raises(ValueError, match="different lengths: 1 and 2"):
        njit(f)(4)


def test_lists_that_are_read():
    def f(a, m):
        return (
            np.sum([x * x for x in a]),
            np.mean([x for x in a if x > 0]),
            np.median([x + 1 for x in a]),
            np.max([[x * y for x in a] for y in a]),
            sum([x for x in a if x > 0]),
            max([abs(x) for x in a]),
            min([x for x in a]),
            len([x for x in a if x > 0]),
            all([x > -3 for x in a]),
            4.0 in [x for x in a],
            sum(x * i for i, x in enumerate([y * 2 for y in a])),
            sum(x * y for x, y in zip([y * 2 for y in a], a)),
            m[[i for i in range(3) if i != 1]],
            np.dot([x for x in a], a),
        )

    same(f, A, M)


@pytest.mark.parametrize(
    "body",
    [
        "return np.array([None for x in a])",
        "return sum([[x for x in a] for y in a])",
        "return np.array(x for x in a)",
        "return (x for x in a)",
    ],
)
def test_what_stays_refused(body):
    space = {"np": np}
    exec(f"def f(a):\n    {body}", space)
    with pytest.raises((UnsupportedError, TypingError)):
        njit(space["f"])(A)


# --- ways in ------------------------------------------------------------------------------------------------------


def test_in_prange_and_in_ufuncs():
    @njit(parallel=True)
    def f(m):
        out = np.empty(m.shape[0])
        for i in prange(m.shape[0]):
            out[i] = sum(m[i, j] * i for j in range(m.shape[1]) if j != 1) + np.array([x for x in m[i]]).max()
        return out

    want = np.array([sum(M[i, j] * i for j in range(4) if j != 1) + M[i].max() for i in range(3)])
    np.testing.assert_array_equal(f(M), want)

    @vectorize
    def u(x):
        return sum(x * i for i in range(4)) + max(x + i for i in range(3) if i)

    np.testing.assert_array_equal(u(A), A * 6 + A + 2)


def test_empty_and_strided():
    def f(a):
        return sum(x for x in a), any(x > 0 for x in a), all(x > 0 for x in a), np.array([x for x in a])

    for a in (EMPTY, A[::2], A[::-3], np.asfortranarray(M)[1], np.broadcast_to(1.5, (3,))):
        same(f, a)


MISTAKES = {
    "sum(x for x in a if no_such > 0)": "name 'no_such' is not defined",
    "sum(x for x in a if x.foo)": "has no attribute 'foo'",
    "max(x for x in a if no_such(x) > 0)": "name 'no_such' is not defined",
    "np.array([x for x in a if no_such > 0])": "name 'no_such' is not defined",
    "sum(k for x in range(3) for k in range(a[0], 4))": "an argument must be an integer, not float64",
    "sum('a' + i for i in range(3) for j in range(3))": "unsupported operand types for +: str and int64",
    "np.array([i.foo for i in range(3) for j in range(3)])": "int64 has no attribute 'foo'",
    "sum(i for i in range(3) if i.foo for j in range(3))": "int64 has no attribute 'foo'",
}


@pytest.mark.parametrize("text", MISTAKES)
@pytest.mark.parametrize("form", ["return {}", "out = np.zeros(3)\n    out[0] = np.sum({})\n    return out", "t = 0.0\n    for x in [{}, 1.0]:\n        t += 1\n    return t", "if a[0] > 5:\n        return {0}\n    return {0}"])  # fmt: skip
def test_a_mistake_inside_is_told(text, form):
    """In any part of one, however it is used: by what is wrong there."""
    space: dict = {"np": np}
    exec(f"def f(a):\n    {form.format(text)}", space)
    with pytest.raises(TreadleError) as caught:
        njit(space["f"])(np.arange(5.0))
    assert MISTAKES[text] in str(caught.value)
