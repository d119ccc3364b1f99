"""Functions as results for Python: what compiled code makes, with what it holds; partials as arguments."""

from __future__ import annotations

import functools
import gc
import inspect
import os
import pickle
import subprocess
import sys
import threading
import traceback
import weakref

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import njit, prange

# ruff: noqa: E731


@njit
def add_one(x):
    return x + 1


def plain(x, y=1, *, z=0):
    return x * 100 + y * 10 + z


@njit
def apply(f, x):
    return f(x)


def adds(a):
    def f(x):
        return x + a

    return f


def several(a):
    k = 10

    def f(x, y=3, *rest, z=7, **named):
        return x + a * k + y + z + len(rest)

    return f, lambda x, y=a: x * a + y, add_one, np.sin, plain, 3


def counts(n):
    def add(k=1):
        nonlocal n
        n += k
        return n

    def get():
        return n

    return add, get


def later():
    def get():
        return x * 2

    x = 4.5
    return get


def factorial(start):
    def f(n):
        return start if n < 2 else n * f(n - 1)

    return f


def kin(step):
    def even(n, left=100):
        return True if n == 0 else odd(n - step, left - 1)

    def odd(n, left=100):
        return False if n == 0 else even(n - step, left - 1)

    return even, odd


def nested(a):
    def f(b):
        def g(c):
            return a * 100 + b * 10 + c

        return g

    return f


def nested_counter(n):
    def add():
        nonlocal n
        n += 1
        return n

    def twice():
        return add() + add() * 10

    return add, twice


def kept(l):
    def add(x):
        l.append(x)
        return len(l), sum(l)

    return add, l


def made_here(n):
    l = [0.5] * n
    d = {"a": 1}
    a = np.arange(3.0) * n

    def add(x):
        l.append(x)
        d[str(len(l))] = n
        a[0] += 1
        return sum(l), len(d), a.sum(), l

    return add, add


def text(name, pre=("a", 2)):
    def f(x):
        return name + " " + x + pre[0] * pre[1]

    return f


def by_keyword(a):
    def f(x, *, y=a, z=2):
        return x * 100 + y * 10 + z

    return f


CALLS = [
    (adds, (2,), lambda f: (f(3), f(1.5), f(x=4))),
    (adds, (2.5,), lambda f: (f(3), f(True))),
    (adds, ((1, 2.5),), lambda f: f((3,))),
    (
        several,
        (2,),
        lambda t: (
            t[0](1),
            t[0](1, 5, 6, 7, z=1),
            t[0](1, q=3),
            t[1](4),
            t[1](4, 1),
            t[2](1),
            t[3] is np.sin,
            t[4](1),
            t[5],
        ),
    ),
    (counts, (5,), lambda t: (t[0](), t[0](3), t[1](), t[0](k=2), t[1]())),
    (counts, (0.5,), lambda t: (t[0](), t[1]())),
    (later, (), lambda f: (f(), f())),
    (factorial, (1,), lambda f: f(10)),
    (kin, (1,), lambda t: (t[0](10), t[1](10), t[0](7, left=9))),
    (nested, (1,), lambda f: (f(2)(3), f(2.5)(3))),
    (nested_counter, (0,), lambda t: (t[0](), t[1](), t[0](), t[1]())),
    (made_here, (2,), lambda t: (t[0](1.5), t[1](2.5), t[0](3.5))),
    (text, ("hi",), lambda f: f("you")),
    (by_keyword, (3,), lambda f: (f(1), f(1, y=4), f(1, z=5, y=6))),
    (lambda n: [lambda x, i=i: x * 10 + i for i in range(n)], (3,), lambda l: [f(2) for f in l]),
    (lambda n: [add_one, abs, plain][:n], (3,), lambda l: [f(-2) for f in l]),
    (
        lambda n: {k: (lambda x: x + n) if k else (lambda x, k=k: x - k) for k in range(2)},
        (3,),
        lambda d: [f(2) for f in d.values()],
    ),
    (lambda n: (lambda x: x + n) if n > 0 else (lambda x: x * n), (3,), lambda f: f(5)),
    (lambda n: (lambda x: x + n) if n > 0 else (lambda x: x * n), (-3,), lambda f: f(5)),
    (lambda n: (lambda x: x + n) if n > 0 else None, (3,), lambda f: f(5)),
    (lambda n: (lambda x: x + n) if n > 0 else None, (-3,), lambda f: f),
    (
        lambda n: functools.partial(plain, n, z=n + 1),
        (3,),
        lambda p: (p(), p(5), p(y=2, z=9), p.args, p.keywords),
    ),
    (lambda n: functools.partial(lambda a, b: a * n + b, 7), (3,), lambda p: p(1)),
    (lambda f: lambda x: f(x) * 2, (add_one,), lambda f: f(4)),
    (lambda: (np, int, ValueError, add_one, len), (), lambda t: t),
]


@pytest.mark.parametrize(("make", "args", "use"), CALLS, ids=lambda x: getattr(x, "__name__", ""))
def test_as_in_python(make, args, use):
    assert use(njit(make)(*args)) == use(make(*args))


def test_a_list_is_the_one_that_was_passed():
    l, plain_list = [1, 2], [1, 2]
    add, same = njit(kept)(l)
    want, _ = kept(plain_list)
    assert same is l
    assert [add(3), add(4)] == [want(3), want(4)] and l == plain_list == [1, 2, 3, 4]
    l.append(5)
    assert add(6) == (6, 21)


def test_one_code_for_all_objects():
    make = njit(adds)
    fs = [make(k) for k in range(50)]
    assert [f(1) for f in fs] == list(range(1, 51))
    assert len({f.func for f in fs}) == 1 and fs[0].func.stats["compiled"] == 1
    assert apply(fs[3], 4) == 7 and apply(fs[4], 4) == 8


def test_functions_go_back():
    """As arguments of the call, in a tuple, held by other functions, and in a prange."""

    @njit(parallel=True)
    def table(fs, n):
        out = np.empty((len(fs), n))
        for i in prange(n):
            out[0, i] = fs[0](i)
            out[1, i] = fs[1](i)
        return out

    @njit
    def twice(f):
        return lambda x: f(f(x))

    f, g = njit(adds)(2), njit(adds)(0.5)
    assert np.array_equal(table((f, g), 3), [[2, 3, 4], [0.5, 1.5, 2.5]])
    assert twice(f)(1) == 5 and twice(twice(f))(1) == 9
    assert sorted([3, 1, 2], key=njit(lambda a: lambda x: -x * a)(1)) == [3, 2, 1]
    add, get = njit(counts)(0)
    assert apply(add, 5) == 5 and apply(add, 2) == 7 and get() == 7


def test_a_global_of_compiled_code():
    f = njit(adds)(2)
    assert njit(lambda x: f(x) * 10)(1) == 30


def test_partials_as_arguments():
    @njit
    def call(f):
        return f(1, z=2)

    for fn in (plain, njit(plain)):
        assert call(functools.partial(fn, 5)) == plain(5, 1, z=2)
        assert call(functools.partial(fn, y=7, z=8)) == plain(1, y=7, z=2)
        assert call(functools.partial(functools.partial(fn, y=7), z=8)) == plain(1, y=7, z=2)
    a = np.arange(4.0)
    assert apply(functools.partial(njit(lambda v, i: v[i]), a), 2) == 2.0
    l = [1]
    assert apply(functools.partial(njit(lambda l, x: l.append(x)), l), 2) is None and l == [1, 2]
    assert apply(functools.partial(njit(lambda s, x: s + x), "a"), "b") == "ab"
    with pytest.raises(
        TypeError, match=r"argument 'f\.args\[0\]' is a value of type object, which cannot be passed"
    ):
        apply(functools.partial(plain, object()), 1)


def in_a_dict(n):
    d = {}
    for k in range(n):
        d[k] = functools.partial(plain, k, z=k)
    return [d[k](2) for k in d]


def in_a_list(n):
    l = []
    for k in range(n):
        l.append(functools.partial(plain, np.arange(k), z=k))
    l.reverse()
    return [int(l[k](2).sum()) for k in range(len(l))]


ADD_2, ADD_7, TIMES = njit(adds)(2), njit(adds)(7), njit(lambda n: lambda x: x * n)(5)
CHOSEN = [
    (lambda f, g: [h(1) for h in [f, g, f]], (ADD_2, ADD_7)),
    (lambda f, g: [h(1) for h in [f, g]], (ADD_2, TIMES)),
    (lambda f, g: [h(1) for h in (f, g)], (ADD_2, TIMES)),
    (lambda f, g, c: (f if c else g)(1), (ADD_2, ADD_7, 0)),
    (lambda f, g, c: (f if c else g)(1), (ADD_2, TIMES, 0)),
    (lambda f: [h(1) for h in [f, f]], (ADD_2,)),
    (lambda n: [h(1) for h in [functools.partial(plain, y=k) for k in range(n)]], (3,)),
    (lambda n: [h(1) for h in (functools.partial(plain, n), plain, functools.partial(plain, y=n))], (3,)),
    (lambda n: [h(1) for h in [functools.partial(plain, 1), functools.partial(plain, 5)]], (3,)),
    (in_a_dict, (3,)),
    (in_a_list, (3,)),
]


@pytest.mark.parametrize(("f", "args"), CHOSEN)
def test_partials_are_chosen_when_the_program_runs(f, args):
    assert njit(f)(*args) == f(*args)


def test_one_specialisation_for_partials_of_one_function():
    @njit
    def call(f, x):
        return f(x)

    f = njit(lambda a, x: a * x)
    assert [call(functools.partial(f, k), 3) for k in range(5)] == [0, 3, 6, 9, 12]
    assert len(call.signatures) == 1


def test_what_it_is():
    f = njit(adds)(2)
    assert repr(f) == "<compiled function adds.<locals>.f>" and f.__name__ == "f" and callable(f)
    assert str(inspect.signature(f)) == "(x)" and isinstance(f, functools.partial)
    with pytest.raises(AttributeError):
        f.nothing  # noqa: B018
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        f()
    with pytest.raises(TypeError, match="keyword arguments?: 'a'"):
        f(1, a=3)


def test_errors_name_the_users_line():
    def make(a):
        def f(x):
            if x < a:
                raise ValueError("low", x)
            return x

        return f

    f = njit(make)(3)
    with pytest.raises(ValueError, match="low") as e:
        f(1)
    assert e.value.args == ("low", 1)
    assert any("raise ValueError" in line for line in traceback.format_exception(e.value))
    with pytest.raises(treadle.TypingError, match="if x < a"):
        f("a")


def test_nothing_is_kept():
    """Arrays live as long as the function that holds them, and no longer."""
    make = njit(lambda v: lambda i: v[i])
    v = np.arange(3.0)
    ref = weakref.ref(v)
    f = make(v)
    del v
    gc.collect()
    assert ref() is not None and f(1) == 1.0
    del f
    gc.collect()
    assert ref() is None


def test_what_python_cannot_hold_is_named():
    def iterates(l):
        it = iter(l)
        return lambda: next(it)

    with pytest.raises(
        treadle.UnsupportedError, match="function as a result for Python that holds a value of type iterator"
    ):
        njit(iterates)([1, 2])

    def lists(n):
        fs = [lambda x: x + n]

        def f(x):
            fs.append(lambda x: x + n)
            return fs[-1](x)

        return f

    with pytest.raises(
        treadle.UnsupportedError, match=r"result for Python that holds a value of type list\(function\)"
    ):
        njit(lists)(1)
    with pytest.raises(treadle.TypingError, match="method append of list"):
        njit(lambda l: l.append)([1])


def test_pickle():
    f = pickle.loads(pickle.dumps(njit(adds)(2)))
    assert f(3) == 5 and f.__name__ == "f"
    add, get = pickle.loads(pickle.dumps(njit(counts)(2)))
    assert add() == 3 and get() == 3


def test_threads():
    make = njit(adds)
    got = []
    threads = [threading.Thread(target=lambda k=k: got.append(make(k)(1))) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(got) == list(range(1, 9))


CACHED = """
import functools
from treadle import njit
@njit(cache=True)
def inc(x): return x + 1
@njit(cache=True)
def make(a):
    n = 0
    def f(x, y=2):
        nonlocal n
        n += 1
        return x * a + y + n
    return f, lambda x: f(x) * 10, inc, functools.partial(inc, a)
@njit(cache=True)
def apply(f, x): return f(x)
f, g, same, p = make(3)
print(f(1), g(1), f(1, 5), same is inc, p(), apply(f, 2))
print(make.stats["loaded"], f.func.stats["loaded"], g.func.stats["loaded"], apply.stats["loaded"])
"""


def test_from_the_cache(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(CACHED)
    env = {**os.environ, "TREADLE_CACHE_DIR": str(tmp_path / "cache")}
    runs = [
        subprocess.run(
            [sys.executable, str(path)], env=env, capture_output=True, text=True, timeout=120, check=True
        )
        for _ in range(2)
    ]
    first, second = (r.stdout.splitlines() for r in runs)
    assert first == ["6 70 11 True 4 12", "0 0 0 0"] and second == [first[0], "1 1 1 1"]


def _state(n):
    seen = [n]

    def add(k):
        nonlocal n
        n += k
        seen.append(n)
        return len(seen)

    def get(k):
        return n * k

    def swap(k):
        nonlocal n
        n, old = k, n
        return old + sum(seen)

    return add, get, swap


STATE = njit(_state)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ags"), st.integers(-5, 5)), max_size=12), st.integers(-5, 5))
def test_state_is_shared_as_in_python(calls, start):
    def run(fs):
        by = dict(zip("ags", fs))
        return [by[c](k) for c, k in calls]

    assert run(STATE(start)) == run(_state(start))
