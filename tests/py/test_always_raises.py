"""Calls of functions that raise on every path: none may be dropped, whatever the caller does with the result that there never is.

Most callees have a variable that is unbound on some path, which a compiler may take for a reason not to know what they return. Each is called in each
position, in several ways, and has to do what it does in CPython: the same exception with the same arguments, the same value where none is raised.

Long, as it is two lists, of callees and of callers, and each pair is a case."""

from __future__ import annotations

import functools
import math
import os
import subprocess
import sys

import numpy as np
import pytest
import treadle
from raising import came
from treadle import cuda, guvectorize, njit, prange, stencil, vectorize

# ruff: noqa: F841

CALLEES, CALLERS = [], []
ARGUMENTS = (-4.0, 2.0, 3, -1)


def callee(f):
    CALLEES.append(f)
    return f


def caller(make):
    CALLERS.append(make)
    return make


# --- what raises on every path ---


@callee
def plain(v):
    raise ValueError("plain", v)


@callee
def after_loop(v):
    for k in range(3):
        last = v * k
    raise ValueError("after", last)


@callee
def deleted(v):
    x = v * 2
    del x
    raise IndexError("deleted", v)


@callee
def caught(v):
    try:
        if v < 0:
            raise ValueError("inner", v)
    except ValueError as e:
        raise KeyError("caught")
    raise IndexError("other", v)


@callee
def caught_passed(v):
    try:
        if v < 0:
            raise ValueError("inner", v)
    except ValueError as e:
        pass
    raise OverflowError("passed", v)


@callee
def branch(v):
    if v > 0:
        z = v * 3
        w = z + 1
    else:
        w = v
    raise ArithmeticError("branch", w)


@callee
def read(v):
    if v < 0:
        z = v * 3
    raise TypeError("read", z)


@callee
def both(v):
    if v > 0:
        t = 1
        del t
        raise ValueError("up", v)
    else:
        for i in range(0):
            t = i
        raise KeyError("down", v)


@callee
def through(v):
    y = after_loop(v)
    return y + 1


@callee
def through_stmt(v):
    if v > 0:
        q = 1
        del q
    deleted(v)
    return v


@callee
def through_return(v):
    if v > 0:
        return deleted(v)
    return branch(v)


@callee
def recursive(v):
    if v > 5 or v < -5:
        for k in range(2):
            last = v
        raise ValueError("deep", last)
    return recursive(v * 2 - 1 if v < 0 else v * 2 + 1)


@callee
def recursive_stmt(v):
    if v > 5 or v < -5:
        x = v
        del x
        raise ValueError("deep", v)
    recursive_stmt(v * 2 - 1 if v < 0 else v * 2 + 1)
    return v


@callee
def mutual_a(v):
    if v > 5 or v < -5:
        x = v
        del x
        raise ValueError("a", v)
    return mutual_b(v * 2 - 1 if v < 0 else v * 2 + 1) + 1


def mutual_b(v):
    if v > 7 or v < -7:
        x = v
        del x
        raise IndexError("b", v)
    mutual_a(v * 2 - 1 if v < 0 else v * 2 + 1)


@callee
def inner(v):
    def g(t):
        for k in range(3):
            last = t * k
        raise ValueError("inner function", last)

    return g(v)


@callee
def in_with(v):
    for k in range(2):
        x = k
        del x
    try:
        after_loop(v)
    finally:
        v += 1
    return v


@callee
def loops(v):
    while True:
        y = v
        del y
        v += 1
        if v > 10:
            raise ValueError("loops", v)


# --- what is done with what it would return ---


@caller
def statement(bad):
    def f(x):
        if x < 0:
            bad(x)
        return x * 2

    return f


@caller
def statement_always(bad):
    def f(x):
        bad(x)

    return f


@caller
def statement_always_then(bad):
    def f(x):
        bad(x)
        return x

    return f


@caller
def assigned(bad):
    def f(x):
        y = bad(x)
        return y

    return f


@caller
def operand(bad):
    def f(x):
        return x + 2 * bad(x)

    return f


@caller
def operand_some(bad):
    def f(x):
        y = x
        if x < 0:
            y = 1 + bad(x)
        return y + 1

    return f


@caller
def conditional(bad):
    def f(x):
        return (x if x > 0 else bad(x)) + 1

    return f


@caller
def returned(bad):
    def f(x):
        return bad(x)

    return f


@caller
def returned_some(bad):
    def f(x):
        if x < 0:
            return bad(x)
        return x

    return f


@caller
def returned_first(bad):
    def f(x):
        if x > 0:
            return x
        return bad(x)

    return f


@caller
def store(bad):
    def f(x):
        a = np.zeros(3)
        a[1] = bad(x)
        return a

    return f


@caller
def store_some(bad):
    def f(x):
        a = np.zeros(3)
        if x < 0:
            a[1] = bad(x)
        a[0] = x
        return a

    return f


@caller
def index(bad):
    def f(x):
        a = np.zeros(3)
        return a[bad(x)] if x < 0 else a[0]

    return f


@caller
def as_argument(bad):
    def f(x):
        return math.sqrt(bad(x)) if x < 0 else np.sqrt(x)

    return f


@caller
def as_shape(bad):
    def f(x):
        return np.zeros(bad(x)).sum()

    return f


@caller
def compared(bad):
    def f(x):
        if x > 0 or bad(x) > 3:
            return 1
        return 2

    return f


@caller
def condition(bad):
    def f(x):
        if bad(x):
            return 1
        return 2

    return f


@caller
def loop_condition(bad):
    def f(x):
        n = 0
        while x > 0 or bad(x):
            x -= 1
            n += 1
        return n

    return f


@caller
def in_loop(bad):
    def f(x):
        s = 0.0
        for i in range(5):
            if i * x < -2:
                bad(x)
            s += i * x
        return s

    return f


@caller
def in_loop_value(bad):
    def f(x):
        s = 0.0
        for i in range(5):
            s += bad(x + i) if i * x < -2 else i
        return s

    return f


@caller
def first_in_loop(bad):
    def f(x):
        s = 0.0
        for i in range(int(x)):
            bad(x)
            s += i
        return s

    return f


@caller
def over_array(bad):
    def f(x):
        s = 0.0
        for v in (1.0, x + 0.0, 9.0):
            if v < 0:
                bad(v)
            s += v**0.5
        return s

    return f


@caller
def in_try(bad):
    def f(x):
        try:
            bad(x)
        except ValueError:
            return 7.0
        return x

    return f


@caller
def in_try_value(bad):
    def f(x):
        y = 1.0
        try:
            y = bad(x) + 1
            y = 5.0
        except (ValueError, ArithmeticError):
            y += 10
        except Exception:
            y += 20
        return y

    return f


@caller
def in_try_some(bad):
    def f(x):
        y = 0.0
        for i in range(4):
            try:
                y += 1
                if x < i - 2:
                    bad(x)
                y += 10
            except LookupError:
                y += 100
            except Exception as e:
                y += 1000
            else:
                y += 10000
            finally:
                y += 100000
        return y

    return f


@caller
def in_finally(bad):
    def f(x):
        try:
            x += 1
        finally:
            bad(x)
        return x

    return f


@caller
def in_finally_return(bad):
    def f(x):
        try:
            if x > 0:
                return x
            x += 1
        finally:
            if x < 0:
                bad(x)
        return x

    return f


@caller
def before_finally(bad):
    def f(x):
        a = np.zeros(2)
        try:
            bad(x)
        finally:
            a[0] = 1
        return a

    return f


@caller
def in_except(bad):
    def f(x):
        try:
            if x < 0:
                raise IndexError("i")
        except IndexError:
            bad(x)
        return x

    return f


@caller
def in_else(bad):
    def f(x):
        try:
            if x == 3:
                raise ValueError
        except ValueError:
            return -1.0
        else:
            bad(x)
        return x

    return f


@caller
def from_caught(bad):
    def f(x):
        try:
            bad(x)
        except Exception as e:
            raise RuntimeError("again", x) from e

    return f


@caller
def again(bad):
    def f(x):
        try:
            bad(x)
        except Exception:
            raise

    return f


@caller
def nested_functions(bad):
    def f(x):
        def g(t):
            return bad(t) + 1

        if x > 3:
            return x
        return g(x)

    return f


@caller
def lambdas(bad):
    def f(x):
        g = lambda t: bad(t)
        return g(x) if x < 0 else x

    return f


@caller
def captured(bad):
    def f(x):
        def g():
            bad(x)

        if x < 0:
            g()
        return x

    return f


@caller
def passed_on(bad):
    def call(g, t):
        return g(t)

    def f(x):
        return call(bad, x) if x < 0 else x

    return f


@caller
def two_of_them(bad):
    def f(x):
        return bad(x) + bad(x - 1)

    return f


@caller
def tuple_of(bad):
    def f(x):
        t = (x, bad(x))
        return t[0]

    return f


@caller
def unpacked(bad):
    def f(x):
        a, b = bad(x)
        return a

    return f


@caller
def chosen(bad):
    def f(x):
        return max(x, bad(x)) if x < 0 else abs(x)

    return f


@caller
def is_none(bad):
    def f(x):
        return 1 if bad(x) is None else 2

    return f


@caller
def raised(bad):
    def f(x):
        raise RuntimeError(bad(x))

    return f


@caller
def iterated(bad):
    def f(x):
        s = 0.0
        for i in range(bad(x)):
            s += i
        return s

    return f


@caller
def subscripted(bad):
    def f(x):
        return bad(x)[0] if x < 0 else x

    return f


@caller
def attribute(bad):
    def f(x):
        return bad(x).shape if x < 0 else (1,)

    return f


@caller
def augmented(bad):
    def f(x):
        a = np.ones(2)
        a[0] += bad(x) if x < 0 else 1
        a *= 2
        return a

    return f


@caller
def unbound_itself(bad):
    def f(x):
        if x < 0:
            y = bad(x)
        else:
            y = 1
        del y
        return x

    return f


@caller
def prange_loop(bad):
    def f(x):
        o = np.zeros(50)
        for i in prange(50):
            if x * i < -30:
                bad(x * i)
            o[i] = x
        return o

    return f


@caller
def prange_sum(bad):
    def f(x):
        s = 0.0
        for i in prange(50):
            s += bad(x * i) if x * i < -30 else i
        return s

    return f


@caller
def prange_all(bad):
    def f(x):
        s = 0.0
        for i in prange(int(x)):
            s += bad(x)
        return s

    return f


@caller
def mapped(bad):
    def f(x):
        s = 0.0
        for v in map(bad, np.array([x, 1.0])):
            s += v
        return s

    return f


@caller
def mapped_some(bad):
    def f(x):
        def g(t):
            return bad(t) if t < 0 else t

        s = 0.0
        for v in map(g, np.array([1.0, x])):
            s += v
        return s

    return f


@caller
def mapped_none(bad):
    def f(x):
        s = 0.0
        for v in map(bad, np.zeros(0)):
            s += v
        return s

    return f


@caller
def summed(bad):
    def f(x):
        return sum(map(bad, np.array([x, 2.0])))

    return f


@caller
def filtered(bad):
    def f(x):
        s = 0.0
        for v in filter(bad, np.array([x, 1.0])):
            s += v
        return s

    return f


@caller
def reduced(bad):
    def f(x):
        return functools.reduce(lambda p, q: bad(q), np.array([x, 1.0, 2.0]))

    return f


@caller
def reduced_initial(bad):
    def f(x):
        return functools.reduce(lambda p, q: bad(q), np.ones(int(max(x, 0.0))), 0.5)

    return f


@caller
def reduced_some(bad):
    def f(x):
        return functools.reduce(lambda p, q: bad(q) if q < 0 else p + q, np.array([x, 1.0, 2.0]), 0.5)

    return f


@caller
def reduced_tuple(bad):
    def f(x):
        return functools.reduce(lambda p, q: bad(q), (x, 1.0))

    return f


WAYS = {
    "plain": lambda make, bad: njit(make(bad)),
    "parallel": lambda make, bad: njit(parallel=True)(make(bad)),
    "compiled": lambda make, bad: njit(make(njit(bad))),
    "inlined": lambda make, bad: njit(make(njit(inline="always")(bad))),
    "other options": lambda make, bad: njit(error_model="numpy")(make(njit(fastmath=True, nogil=True)(bad))),
    "inlined itself": lambda make, bad: called(njit(inline="always")(make(bad))),
}


def called(f):
    return njit(lambda x: f(x))


def plainly(r):
    """Numbers of NumPy's as Python's, and UnboundLocalError without its words, which are CPython's own."""
    if not isinstance(r, tuple):
        return r
    args = tuple(float(v) if isinstance(v, np.floating) else v for v in r[1])
    return r[0], () if r[0] is UnboundLocalError else args


@pytest.mark.parametrize("k", range(len(CALLERS)), ids=[c.__name__ for c in CALLERS])
def test_no_call_is_dropped(k):
    make = CALLERS[k]
    for j, bad in enumerate(CALLEES):
        want = [plainly(came(make(bad), x)) for x in ARGUMENTS]
        for way in ("plain", list(WAYS)[1 + (j + k) % (len(WAYS) - 1)]):
            compiled = WAYS[way](make, bad)
            got = [plainly(came(compiled, x)) for x in ARGUMENTS]
            assert repr(got) == repr(want), (bad.__name__, way)


# --- ufuncs, gufuncs, stencils ---


def some(bad):
    def f(x):
        if x < 0:
            bad(x)
        return x * 2

    return f


def some_value(bad):
    def f(x):
        return bad(x) if x < 0 else x * 2

    return f


def every(bad):
    def f(x):
        return bad(x) + 1

    return f


def every_statement(bad):
    def f(x):
        bad(x)

    return f


UFUNCS = {
    "lazy": vectorize,
    "declared": vectorize(["float64(float64)"]),
    "parallel": vectorize(["float64(float64)"], target="parallel"),
}


@pytest.mark.parametrize("make", [some, some_value, every, every_statement])
@pytest.mark.parametrize("kind", UFUNCS)
@pytest.mark.parametrize("bad", CALLEES[:4] + CALLEES[-6:])
def test_ufuncs(bad, kind, make):
    u = UFUNCS[kind](make(bad))
    compiled = njit(lambda x: u(x))
    for a in np.array([1.0, -4.0, -9.0]), np.array([1.0, 2.0]), np.zeros(0), 2.0, -3.0:
        f = make(bad)
        want = plainly(came(lambda a: np.array([f(x) for x in np.atleast_1d(a).tolist()]), a))
        for call in u, compiled:
            got = plainly(came(call, a))
            assert got == want or (np.ndim(a) == 0 and got == want[0]), (call, a)


@pytest.mark.parametrize("bad", CALLEES)
def test_gufuncs_and_stencils(bad):
    @guvectorize("(n)->(n)")
    def g(x, o):
        for i in range(x.size):
            if x[i] < 0:
                bad(x[i])
            o[i] = x[i]

    @guvectorize("(n)->(n)")
    def always(x, o):
        o[0] = 1
        bad(x[0])

    @stencil
    def left(x):
        return bad(x[0]) if x[0] < 0 else x[-1]

    @stencil
    def never(x):
        return bad(x[0])

    a, fine = np.array([1.0, -4.0, 9.0]), np.array([2.0, 3.0, 5.0])
    for f in g, always, left, never:
        for call in f, njit(lambda x: f(x)):
            first = a[1] if f in (g, left) else a[0]
            assert plainly(came(call, a)) == plainly(came(bad, float(first))), f
            if f in (g, left):
                assert came(call, fine) == [[2.0, 3.0, 5.0] if f is g else [0.0, 2.0, 3.0]]
    assert came(never, np.zeros(0)) == came(njit(lambda x: never(x)), np.zeros(0)) == [[]]


@pytest.mark.parametrize("bad", CALLEES[:6])
def test_reductions_of_ufuncs(bad):
    @vectorize
    def u(x, y):
        return bad(y)

    a = np.array([1.0, -4.0, 9.0])
    for call in (
        u.reduce,
        u.accumulate,
        njit(lambda a: u.reduce(a)),
        njit(lambda a: u.accumulate(a)),
        njit(lambda a: functools.reduce(u, a)),
    ):
        assert plainly(came(call, a)) == plainly(came(bad, -4.0))
        assert np.ravel(came(call, a[:1])).tolist() == [1.0]


# --- kernels ---


@pytest.mark.parametrize("bad", CALLEES)
def test_kernels(bad):
    @cuda.jit
    def some(a):
        i = cuda.grid(1)
        if a[i] < 0:
            bad(a[i])
        a[i] *= 2

    @cuda.jit
    def every(a):
        a[cuda.grid(1)] = bad(a[cuda.grid(1)]) + 1

    @cuda.jit
    def meets(a):
        s = cuda.shared.array(4, np.float64)
        i = cuda.threadIdx.x
        s[i] = a[i]
        cuda.syncthreads()
        if s[3 - i] < 0:
            bad(s[3 - i])
        a[i] = s[3 - i] * 2

    @cuda.jit(device=True)
    def device(x):
        return bad(x)

    @cuda.jit
    def by_device(a):
        i = cuda.grid(1)
        a[i] = device(a[i]) if a[i] < 0 else a[i] * 2

    if bad in (caught, caught_passed, in_with):
        return  # a GPU has no `try`
    a = np.array([1.0, 2.0, -4.0, 5.0])
    for kernel in some, every, meets, by_device:
        first = 1.0 if kernel is every else -4.0
        assert plainly(came(kernel[1, 4], a.copy())) == plainly(came(bad, first)), kernel
        if kernel is not every:
            b = np.abs(a)
            kernel[1, 4](b)
            assert sorted(b) == [2.0, 4.0, 8.0, 10.0]


# --- signatures, the cache, late code ---


@pytest.mark.parametrize("bad", CALLEES)
def test_signatures(bad):
    """One that is declared to return a number has that type, though it never does."""
    declared = njit("float64(float64)")(bad)
    nothing = njit("void(float64)")(bad)
    for f in declared, njit(lambda x: declared(x) * 2), nothing, njit(lambda x: nothing(x)):
        assert plainly(came(f, -4.0)) == plainly(came(bad, -4.0))


def test_from_the_cache(tmp_path):
    source = """
from treadle import njit, vectorize

def bad(v):
    for k in range(3):
        last = v * k
    raise ValueError("bad value", last)

@njit(cache=True)
def f(a):
    s = 0.0
    for x in a:
        if x < 0:
            bad(x)
        s += x
    return s

@vectorize(cache=True)
def u(x):
    return bad(x)

import numpy as np
for call in f, u:
    try:
        call(np.array([-4.0]))
    except ValueError as e:
        print(e.args)
print(f(np.array([4.0])), u(np.zeros(0)).dtype)
print(f.stats["loaded"])
"""
    path = tmp_path / "program.py"
    path.write_text(source)
    env = dict(os.environ, TREADLE_CACHE_DIR=str(tmp_path / "cache"))
    out = []
    for _ in range(2):
        r = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env=env, timeout=120)
        assert not r.stderr
        out.append(r.stdout.splitlines())
    raised = ["('bad value', -8.0)"] * 2
    assert out == [[*raised, "4.0 float64", n] for n in "01"], out


# --- functions without a result that do not raise either ---


def test_what_calls_itself_on_every_path():
    def forever(n):
        return forever(n - 1)

    def caller(n):
        return forever(n) + 1

    def there(n):
        return back(n + 1)

    def back(n):
        return there(n - 1)

    for f, name in (forever, "forever"), (caller, "forever"), (there, "there"):
        with pytest.raises(
            treadle.TypingError, match=rf"the result of {name}\(\) cannot be known: every path"
        ):
            njit(f)(3)

    def loops(n):
        while n > 0:
            n += loops(n - 1)
        raise ValueError(n)

    assert came(njit(loops), 0) == (ValueError, (0,))


def test_what_leaves_by_a_check_alone():
    """An index that is out of bounds ends it, so what it returns is never asked for."""

    def walk(a, i):
        return walk(a, i + a[i])

    def caller(a):
        return walk(a, 0) + 1

    a = np.ones(5, np.int64)
    for f in njit(caller), njit(lambda a: walk(a, 0)):
        assert came(f, a)[0] is came(caller, a)[0] is IndexError


# --- what else was left out without a word: reads of names that nothing has a value for ---


def bare_global(x):
    no_such_name  # noqa: B018, F821
    return x


def bare_local(x):
    del x
    x  # noqa: B018, F821
    return 3


def one_of_two(x):
    return x if x > 0 else no_such_name  # noqa: F821


def in_a_tuple(x):
    (no_such_name, x)  # noqa: B018, F821
    return x


def under_a_condition(x):
    if x > 0:
        no_such_name  # noqa: B018, F821
    return x


def assigned_alone(x):
    y = no_such_name  # noqa: F821, F841
    return x


@pytest.mark.parametrize(
    "fn", [bare_global, bare_local, one_of_two, in_a_tuple, under_a_condition, assigned_alone]
)
def test_reading_a_name_without_a_value_is_an_error(fn):
    """Also where nothing is made of it: what CPython raises may not get lost."""

    def caller(x):
        return compiled(x)

    compiled = njit(fn)
    u = vectorize(fn)
    for f, x in (compiled, 1.5), (njit(caller), 1.5), (u, np.ones(3)), (njit(lambda x: u(x)), np.ones(3)):
        with pytest.raises(treadle.TypingError) as e:
            f(x)
        text = str(e.value)
        assert "is not defined" in text or "is not associated with a value" in text, text
        assert (
            text.count("no_such_name' is not") <= 1 and "internal" not in text and "InternalError" not in text
        )


def given_late(v):
    k = 0.0
    while True:
        k += 1.0
        if k > 3.0:
            for t in (4.0, -3.0):
                if t > 4.0:
                    continue
                u = t
            after_loop(u + v)


def given_late_and_raised(v):
    k = 0.0
    while True:
        k += 1.0
        if k > 3.0:
            for t in (4.0, -3.0):
                if t > 4.0:
                    continue
                u = t
            raise ValueError(u + v)


@pytest.mark.parametrize("fn", [given_late, given_late_and_raised])
def test_a_variable_without_a_value_goes_round_a_loop(fn):
    """No path that comes back to the head of the outer loop gives it one, so it has no type there."""
    for f in njit(fn), njit(lambda x: fn(x)):
        assert came(f, 2.0) == came(fn, 2.0)


def deleted_on_one_path(x):
    if x > 0:
        y = 1
    del y
    return x


def deleted_in_a_loop(x):
    y = 1
    for _ in range(int(x)):
        del y
    return x


def deleted_in_finally(x):
    try:
        if x > 0:
            y = 1
        x += 1
    finally:
        del y
    return x


@pytest.mark.parametrize("fn", [deleted_on_one_path, deleted_in_a_loop, deleted_in_finally])
def test_only_what_has_a_value_is_deleted(fn):
    for x in -1.0, 1.0, 2.0:
        assert plainly(came(njit(fn), x)) == plainly(came(fn, x)), x
