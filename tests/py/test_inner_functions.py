"""Inner functions: variables that they share with what is around them, that name themselves, and that a variable chooses among."""

from __future__ import annotations

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from raising import came
from treadle import njit, prange

# ruff: noqa: B023, E731

CASES = []
X = np.array([3.0, 1.0, 2.0, 5.0])


def case(*args):
    def add(f):
        CASES.append((f, args))
        return f

    return add


@case(5)
@case(0)
def counted(n):
    t = 0

    def add(x):
        nonlocal t
        t += x

    for k in range(n):
        add(k)
    return t


@case(3)
def assigned_later(n):
    t = 0

    def f():
        return t

    t = n
    return f()


@case(3)
def assigned_later_for_the_first_time(n):
    def f():
        return t * 2

    t = n + 0.5
    return f()


@case(5)
@case(2)
def assigned_on_one_path(n):
    def f():
        return t * 2

    if n > 3:
        t = n
    return f()


@case(5)
@case(2)
def read_by_its_own(n):
    if n > 3:
        t = n

    def f():
        nonlocal t
        t = 3

    if n > 5:
        f()
    return t


@case(3)
def parameters(n, m=4):
    before = n

    def f():
        nonlocal n, m
        n += 1
        m *= n
        return n

    return f() + f() + n + m + before


@case(4)
def three_deep(n):
    t = 0

    def a():
        def b():
            nonlocal t
            t = t * 2 + 1

        b()
        b()

    for _ in range(n):
        a()
    return t


@case(5)
def by_a_generator_expression(n):
    t = 0

    def add(x):
        nonlocal t
        t += x
        return t

    return sum(add(k) for k in range(n)), t


@case(5)
def by_a_comprehension(n):
    t = 0

    def add(x):
        nonlocal t
        t += x
        return t

    made = [add(k) + t for k in range(n)]
    return made[0] + made[-1], t


@case(3)
def each_call_has_its_own(n):
    def make():
        c = 0

        def inc():
            nonlocal c
            c += 1
            return c

        return inc

    a = make()
    b = make()
    for _ in range(n):
        a()
    return a(), b()


@case(3)
@case(1)
def what_was_done_before_an_exception_stays(n):
    t = 0

    def f():
        nonlocal t
        t = 1
        if n > 2:
            raise ValueError("x")
        t = 2

    try:
        f()
    except ValueError:
        t += 10
    return t


@case(X)
def handed_to_others(a):
    best = -1.0

    def look(x):
        nonlocal best
        if x > best:
            best = x
        return best

    for x in map(look, a):
        best += x / 8
    return best


@case(12)
def names_itself(n):
    def fib(k):
        return k if k < 2 else fib(k - 1) + fib(k - 2)

    return fib(n)


@case(6, 1.5)
def names_itself_with_defaults(n, m):
    def g(k, d=2, *, e=3):
        return m if k < 1 else d * g(k - 1) + e * g(k - 2, 1, e=4)

    return g(n)


@case(5)
def named_by_one_inside(n):
    def walk(k):
        def inner(j):
            return walk(j - 1) + 1 if j > 0 else 0

        return inner(k)

    return walk(n)


@case(X, 3)
def names_itself_and_shares(a, n):
    calls = 0

    def halves(lo, hi):
        nonlocal calls
        calls += 1
        if hi - lo < 2:
            return a[lo]
        mid = (lo + hi) // 2
        return max(halves(lo, mid), halves(mid, hi))

    return halves(0, len(a)), calls


@case(True, 3)
@case(False, 3)
def one_of_two(c, x):
    def a(x):
        return x + 1

    def b(x):
        return x * 2

    f = a if c else b
    return f(x)


@case(0, 1.5, X)
@case(1, 1.5, X)
@case(2, 1.5, X)
def with_what_they_hold(c, x, y):
    def a(v):
        return v + x

    def b(v, k=3):
        return v * y.sum() * k

    f = a if c > 0 else b
    if c == 2:
        f = lambda v: v - 1
    g = f
    return f(2.0) + g(1)


@case(True, -2)
@case(False, -2)
def beside_a_builtin(c, x):
    f = abs if c else (lambda v: v * 3)
    return f(x)


def made(c, n):
    if c:
        return lambda v: v + n
    return lambda v: v * n


@case(True, 7)
@case(False, 7)
def made_elsewhere(c, n):
    return made(c, n)(4) + made(not c, n)(5)


@case(9)
def chosen_in_a_loop(n):
    f = lambda v: v + 1
    s = 0
    for k in range(n):
        s += f(k)
        if k % 3 == 0:
            f = lambda v: v - k
        elif k % 3 == 1:
            f = lambda v: v * s
    return s


WAYS = {
    "plain": {},
    "parallel": {"parallel": True},
    "numba": {"promotion": "numba"},
    "inline": {"inline": "always"},
    "nogil": {"nogil": True, "fastmath": False, "boundscheck": True},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("function", "args"), CASES, ids=[f"{f.__name__}{k}" for k, (f, _) in enumerate(CASES)]
)
def test_is_what_python_does(function, args, way):
    assert result(njit(**WAYS[way])(function), args) == result(function, args)


@pytest.mark.parametrize(
    ("function", "args"), CASES, ids=[f"{f.__name__}{k}" for k, (f, _) in enumerate(CASES)]
)
def test_called_by_compiled_code_of_other_options(function, args):
    inner = njit(function)

    @njit(fastmath=True, nogil=True)
    def outer(*args):
        return inner(*args)

    assert result(outer, args) == result(function, args)


def result(f, args):
    """What a call gives or raises: texts are ours, classes are Python's."""
    got = came(f, *args)
    return got[0] if isinstance(got, tuple) else got


def test_a_variable_has_one_type():
    @njit
    def f(n):
        t = 0

        def put(x):
            nonlocal t
            t = x

        put(n)
        r = t
        put(n * 0.5)
        return r, t

    assert f(3) == (3.0, 1.5)
    assert [type(x) for x in f(3)] == [float, float]


def test_texts_of_what_has_no_value():
    def around(n):
        def f():
            return t

        if n:
            t = 1
        return f()

    def own(n):
        def f():
            nonlocal t
            t = 1

        if n:
            f()
        if n > 9:
            t = 2
        return t

    with pytest.raises(
        NameError,
        match="^cannot access free variable 't' where it is not associated with a value in enclosing scope$",
    ) as e:
        njit(around)(0)
    assert e.type is NameError
    with pytest.raises(
        UnboundLocalError, match="^cannot access local variable 't' where it is not associated with a value$"
    ):
        njit(own)(0)
    assert njit(around)(1) == njit(own)(1) == 1


def test_in_a_ufunc():
    @treadle.vectorize
    def f(x):
        t = 0.0

        def add(v):
            nonlocal t
            t += v

        for k in range(3):
            add(x * k)
        return t

    np.testing.assert_array_equal(f(X), 3 * X)


def test_every_round_of_a_prange_has_its_own():
    @njit(parallel=True)
    def f(a, out):
        for i in prange(a.size):

            def twice(k):
                return k if k < 1 else 2 + twice(k - 1)

            def run(n, step):
                t = 0

                def add(x):
                    nonlocal t
                    t += x

                for k in range(n):
                    add(k + step)
                return t

            out[i] = run(i % 5, a[i]) + twice(i % 3)

    a = np.arange(1000.0)
    got, want = np.zeros(1000), np.zeros(1000)
    f(a, got)
    f.py_func(a, want)
    np.testing.assert_array_equal(got, want)


def test_one_from_outside_of_a_prange_is_refused():
    @njit(parallel=True)
    def f(n):
        t = 0

        def add(x):
            nonlocal t
            t += x

        for i in prange(n):
            add(i)
        return t

    with pytest.raises(
        treadle.TreadleError, match="'t' is a variable that functions share, and assigned to in a prange loop"
    ):
        f(4)


def grammar(text):
    at = 0

    def sums():
        nonlocal at
        v = products()
        while at < len(text) and text[at] in "+-":
            at += 1
            v += products() if text[at - 1] == "+" else -products()
        return v

    def products():
        nonlocal at
        v = atom()
        while at < len(text) and text[at] == "*":
            at += 1
            v *= atom()
        return v

    def atom():
        nonlocal at
        at += 1
        if text[at - 1] == "(":
            v = sums()
            at += 1
            return v
        if text[at - 1] not in "0123456789":
            raise ValueError(f"no number at {at - 1}")
        return int(text[at - 1])

    return sums(), at


def test_a_parser():
    f = njit(grammar)
    for text in ("7", "1+2*3", "2*(3+4)-(5-6*(1+1))", "1+2*(3-4)*5+(6)"):
        assert f(text) == grammar(text)
    with pytest.raises(ValueError, match="no number at 2"):
        f("1+x")
    assert f("((1)+(2))*3") == (9, 11)


TERMS = (
    "{0}(k - 1) + {1}(k - 2)",
    "{0}(k - 1) * 2 + n",
    "x - {1}(k - 1)",
    "l[k] + {0}(k - 2)",
    "max(l[k], {1}(k - 1))",
)
BETWEEN = ("x = n + 1", "l.append(x)", "y = n if n > 1 else 2", "def other(): return x")


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.tuples(st.sampled_from(TERMS), st.integers(0, 3), st.integers(0, 3), st.booleans()),
        min_size=2,
        max_size=4,
    ),
    st.lists(st.sampled_from(BETWEEN), max_size=4),
    st.integers(0, 7),
    st.booleans(),
)
def test_rings(terms, between, n, late):
    """Some name others that come later, some are in rings, and what they capture is assigned in between."""
    names = [f"f{i}" for i in range(len(terms))]
    lines = ["def f(n):", "    x = n", "    l = [*range(3, 20)]"]
    for i, (term, a, b, default) in enumerate(terms):
        a, b = names[a % len(names)], names[b % len(names)]
        lines += [f"    def {names[i]}(k{', d=2' if default else ''}):"]
        lines += [f"        return {'d' if default else 'n'} if k <= 0 else {term.format(a, b)}"]
        lines += [f"    {between[i]}"] if i < len(between) else []
    lines += ["    x = 100 - n"] * late
    lines += [
        f"    return [g(n) for g in ({', '.join(names)},)], {', '.join(f'{g}(n)' for g in names)}, x, len(l)"
    ]
    space = {}
    exec("\n".join(lines), space)
    assert njit(space["f"])(n) == space["f"](n), "\n".join(lines)


def ring(i, n):
    def even(k):
        return i if k <= 0 else odd(k - 1) + 1

    def odd(k):
        def both(j):
            return even(j) * 2 + odd(j - 1)

        return n if k <= 0 else both(k - 2)

    return even(i % 5) - odd(3)


def test_rings_in_a_parallel_loop():
    @njit(parallel=True)
    def f(n):
        out = np.zeros(n, np.int64)
        for i in prange(n):
            out[i] = ring(i, n)
        return out

    assert (f(30) == f.py_func(30)).all()


REFUSED = {
    "calls of each other, one before the other is there": (
        "def f(n):\n    def a(k): return 1 if k < 1 else b(k - 1)\n    a(0)\n    def b(k): return 2 if k < 1 else a(k - 1)\n    return a(n)\n",
        "'b' as a variable that functions share, of a function",
    ),
    "of which there are several": (
        "def f(n):\n    def a(k): return 1 if k < 1 else b(k - 1)\n    if n > 2:\n        def b(k): return 2 if k < 1 else a(k - 1)\n    else:\n        def b(k): return 3\n    return a(n)\n",
        "'b' as a variable that functions share, of a function",
    ),
    "defaults that are no constants": (
        "def f(n):\n    def a(k, d=n): return d if k < 1 else b(k - 1)\n    def b(k): return 2 if k < 1 else a(k - 1)\n    return a(n)\n",
        "'b' as a variable that functions share, of a function",
    ),
    "a variable of Python's": (
        "def g():\n    t = 0\n    def f(n):\n        nonlocal t\n        t = n\n    return f\nf = g()\n",
        "assignment to a variable of an enclosing function that is not compiled with it",
    ),
}


@pytest.mark.parametrize("row", REFUSED)
def test_refused(row):
    space = {}
    exec(REFUSED[row][0], space)
    with pytest.raises(treadle.UnsupportedError, match=REFUSED[row][1]):
        njit(space["f"])(3)


def test_a_function_that_is_never_called_costs_nothing():
    @njit
    def f(n):
        t = n

        def never():
            return t

        t = n + 1
        return t * 2

    assert f(3) == 8


STEPS = st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 5)), max_size=12)


def walked(kinds, values):
    t = 0
    last = 100

    def add(x):
        nonlocal t
        t += x
        return t

    def swap():
        nonlocal t, last
        t, last = last, t

    def both(x):
        if x > 0:
            swap()
        return add(x) + last

    s = 0
    for k in range(len(kinds)):
        kind, x = kinds[k], values[k]
        if kind == 0:
            s = s * 3 + add(x)
        elif kind == 1:
            swap()
            last += x
        elif kind == 2:
            s = s * 3 + both(x)
        else:
            t = x
        s += t - last
    return s, t, last


compiled = njit(walked)


@settings(deadline=None)
@given(STEPS)
def test_any_order_of_writes(steps):
    kinds = np.array([k for k, _ in steps], np.int64)
    values = np.array([x for _, x in steps], np.int64)
    assert compiled(kinds, values) == tuple(int(x) for x in walked(kinds, values))


def in_a_function(n):
    if n:
        x = n

    def g():
        return x

    return g()


def in_a_lambda(n):
    if n:
        x = n
    g = lambda y: x + y  # noqa: E731
    return g(1) if n < 5 else 3


def of_its_own(n):
    if n:
        x = n

    def g():
        return n

    return x + g()


@pytest.mark.parametrize("fn", [in_a_function, in_a_lambda, of_its_own])
def test_a_variable_without_a_value(fn):
    with pytest.raises(NameError) as want:
        fn(0)
    with pytest.raises(NameError) as got:
        njit(fn)(0)
    assert got.type is want.type and str(got.value) == str(want.value)
    assert njit(fn)(1) == fn(1)
