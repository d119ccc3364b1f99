"""Exceptions of the user's own: classes and exceptions that compiled code raises and no table names."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import traceback
import weakref

import numpy as np
import pytest
import treadle
from treadle import guvectorize, njit, prange, vectorize


class Plain(ValueError):
    pass


class Coded(Exception):
    """Its __init__ wants two arguments and keeps them elsewhere."""

    def __init__(self, code, what):
        super().__init__(what)
        self.code = code


class Strange(Exception):
    def __new__(cls, *args):
        return args


HELD = Plain("held", 1)


def cases(k, x):
    if k == 0:
        raise Plain
    if k == 1:
        raise Plain()
    if k == 2:
        raise Plain("text")
    if k == 3:
        raise Plain("text", x, k, True, None, (x, ("in", k), ()), 1.5, 2j, 2**63)
    if k == 4:
        raise KeyboardInterrupt
    if k == 5:
        raise SystemExit(3)
    if k == 6:
        raise GeneratorExit("g")
    if k == 7:
        raise HELD
    if k == 8:
        raise Coded(k, "why")
    if k == 9:
        raise Coded(k)  # an argument too few
    if k == 10:
        raise Strange(k)
    if k == 11:
        raise np.linalg.LinAlgError("singular")
    if k == 12:
        raise asyncio.TimeoutError(x)
    if k == 13:
        raise Plain(f"{x} and {k}")
    if k == 14:
        late = Plain(k, x)
        raise late
    if k == 15:
        raise UnicodeError("u") from None
    if k == 16:
        raise Plain((k, x))
    return x


LAST = 17


def outcome(f, *args):
    try:
        return f(*args)
    except BaseException as e:
        return type(e), e.args, str(e), {k: v for k, v in vars(e).items() if k != "__notes__"}


compiled = njit(cases)


@njit
def caller(k, x):
    return compiled(k, x) + 0


@njit(inline="always")
def small(k, x):
    if k == 3:
        raise Coded(k, "small")
    return x


inlined = njit(lambda k, x: small(k, x))


WAYS = {
    "plain": compiled,
    "called": caller,
    "nogil": njit(nogil=True)(cases),
    "parallel": njit(parallel=True)(cases),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("k", range(LAST + 1))
def test_as_python_does(way, k):
    assert outcome(WAYS[way], k, 0.5) == outcome(cases, k, 0.5)


def test_inlined():
    assert inlined(1, 2.0) == 2.0
    assert outcome(inlined, 3, 2.0) == (Coded, ("small",), "small", {"code": 3})


def test_the_line_is_told():
    for k, word in [(2, '"text"'), (7, "HELD"), (8, "why"), (9, "few"), (10, "Strange(k)")]:
        HELD.__traceback__ = None  # a held exception gathers the places of all its raises, as in Python
        with pytest.raises(BaseException) as e:  # noqa: B017
            caller(k, 1.0)
        frames = [x for x in traceback.extract_tb(e.value.__traceback__) if x.name in ("caller", "cases")]
        assert [x.name for x in frames[-2:]] == ["caller", "cases"] and word in frames[-1].line


def test_an_exception_that_is_held_is_the_very_one():
    for _ in range(3):
        with pytest.raises(Plain) as e:
            compiled(7, 1.0)
        assert e.value is HELD
    HELD.__traceback__ = None


def test_context():
    try:
        try:
            raise KeyError("first")
        except KeyError:
            compiled(2, 1.0)
    except Plain as e:
        assert isinstance(e.__context__, KeyError)


def test_numpy_scalars_arrive_as_numbers():
    @njit
    def f(x):
        raise Plain(np.float64(1.5), np.uint8(200), np.complex128(1j), x)

    assert outcome(f, np.float32(0.1))[1] == (1.5, 200, 1j, float(np.float32(0.1)))


@pytest.mark.parametrize("parallel", [False, True])
def test_prange(threads, parallel):
    @njit(parallel=parallel)
    def f(n, at):
        s = 0
        for i in prange(n):
            if i >= at:
                raise Coded(i, "loop")
            s += i
        return s

    assert f(100, 100) == 4950
    assert outcome(f, 100_000, 70_000) == (Coded, ("loop",), "loop", {"code": 70_000})


def test_ufuncs(threads):
    def inverse(x):
        if x == 0:
            raise Coded(7, ("zero", x))
        return 1 / x

    for u in (vectorize(inverse), vectorize(["f8(f8)"])(inverse), vectorize(target="parallel")(inverse)):
        assert u(2.0) == 0.5
        for x in (0.0, np.zeros(3), np.zeros(50_000), np.zeros(8)[::2]):
            assert outcome(u, x) == (Coded, (("zero", 0.0),), "('zero', 0.0)", {"code": 7})
        assert outcome(njit(lambda a: u(a)), np.zeros(3))[0] is Coded  # noqa: B023

    @guvectorize(["void(f8[:], f8[:])"], "(n)->()")
    def g(a, out):
        if a[0] < 0:
            raise HELD
        out[0] = a.sum()

    with pytest.raises(Plain) as e:
        g(-np.ones((4, 3)))
    assert e.value is HELD


def test_in_code_that_is_compiled_late():
    @njit
    def f(a, b, k):
        c = a + b
        for i in range(len(c)):
            if c[i + k] > 5:
                raise Coded(i, ("sum", c[i + k]))
        if k > 0:
            raise Plain(f"{k} is too large")
        return c

    one = np.ones(1)
    assert outcome(f, np.arange(3.0), one, 0).tolist() == [1.0, 2.0, 3.0]
    assert outcome(f, np.arange(9.0), one, 0) == (Coded, (("sum", 6.0),), "('sum', 6.0)", {"code": 5})
    assert outcome(f, np.arange(9.0), np.arange(9.0), 0)[3] == {"code": 3}
    assert outcome(f, np.zeros(0), np.zeros(0), 2)[:2] == (Plain, ("2 is too large",))


def test_classes_as_arguments():
    @njit
    def f(cls, x):
        if x > 1:
            raise cls("text", x)
        return x

    for cls in (Plain, Coded, ValueError, Plain):
        assert f(cls, 1) == 1
        assert outcome(f, cls, 2)[0] is cls
    two = njit(lambda a, b, x: f(a, x) + f(b, x + 1))
    assert outcome(two, Plain, Coded, 1)[0] is Coded and outcome(two, Coded, Plain, 1)[0] is Plain


def test_classes_of_one_name_stay_apart():
    def make():
        class Mine(Exception):
            pass

        return Mine, njit(lambda x: fail(Mine, x))

    @njit
    def fail(cls, x):
        if x:
            raise cls(x)
        return x

    (a, f), (b, g) = make(), make()
    assert outcome(f, 1)[0] is a and outcome(g, 1)[0] is b
    both = njit(lambda x: fail(a, x - 1) + fail(b, x))
    assert outcome(both, 1)[0] is b and outcome(both, 2)[0] is a


def test_a_class_lives_as_long_as_the_code_and_no_longer():
    def make():
        class Mine(Exception):
            pass

        held = Mine("held")

        @njit
        def f(x):
            if x == 1:
                raise Mine(x)
            if x == 2:
                raise held
            return x

        f(0)
        return weakref.ref(Mine), f

    ref, f = make()
    gc.collect()
    assert outcome(f, 1)[0] is ref() and outcome(f, 2)[1] == ("held",)
    del f
    gc.collect()
    assert ref() is None


def test_recompile_sees_another_class():
    namespace = {"Mine": Plain}
    exec("def f(x):\n    raise Mine(x)\n", namespace)
    f = njit(namespace["f"])
    assert outcome(f, 1)[0] is Plain
    namespace["Mine"] = KeyboardInterrupt
    assert outcome(f, 1)[0] is Plain
    f.recompile()
    assert outcome(f, 1)[0] is KeyboardInterrupt


def test_threads():
    got = []

    def work():
        got.extend(outcome(caller, 8, 1.0) for _ in range(50))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert got == [outcome(cases, 8, 1.0)] * 200


CACHED = """
import sys
import numpy as np
from treadle import njit, vectorize
def make():
    class Mine(ValueError):
        pass
    return Mine
A, B = make(), make()
HELD = A("held")
if sys.argv[1] == "swapped":
    A, B = B, A
    HELD = A("other")
@njit(cache=True)
def f(a, b, k):
    c = a + b
    if k == 0:
        raise A
    if k == 1:
        raise B("text", k, (c[0], "in"))
    if k == 2:
        raise HELD
    if k == 3:
        raise KeyboardInterrupt
    return c
@vectorize(cache=True)
def u(x):
    if x > 1:
        raise B(x)
    return x
@njit(cache=True)
def g(cls, x):
    if x:
        raise cls(x)
    return x
for k, cls in enumerate([A, B, A, KeyboardInterrupt]):
    try:
        f(np.ones(3), np.ones(3 if len(sys.argv) < 3 else 1), k)
    except BaseException as e:
        print(type(e) is cls, e is HELD, e.args)
try:
    u(2.0)
except A as e:
    print("wrong")
except B as e:
    print(e.args)
for cls in A, B, ValueError:
    try:
        g(cls, 5)
    except Exception as e:
        print(type(e) is cls)
print(f.stats["loaded"], g.stats["loaded"])
"""


def test_from_the_cache(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(CACHED)
    env = dict(os.environ, TREADLE_CACHE_DIR=str(tmp_path / "cache"))

    def run(*argv):
        command = [sys.executable, str(path), *argv]
        r = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120)
        assert r.returncode == 0, r.stderr
        return r.stdout.splitlines()

    def want(held, loaded):
        return [
            "True False ()",
            "True False ('text', 1, (2.0, 'in'))",
            f"True True ('{held}',)",
            "True False ()",
            "(2.0,)",
            *["True"] * 3,
            loaded,
        ]

    # two classes that are not in the table are one program for the cache: which they are is bound anew
    assert run("plain") == want("held", "0 1")
    assert run("plain") == want("held", "1 3")
    assert run("swapped") == want("other", "1 3")
    assert run("plain", "late") == want("held", "1 3")
    assert run("swapped", "late") == want("other", "1 3")


def test_what_is_refused_says_why():
    with pytest.raises(treadle.UnsupportedError, match="keyword arguments of an exception"):
        njit(lambda x: fails(x))(1)
    with pytest.raises(treadle.TypingError, match="must derive from BaseException"):
        njit(lambda x: raises_seven(x))(1)


def fails(x):
    raise Coded(x, what="why")


def raises_seven(x):
    raise 7


def test_disabled(tmp_path):
    source = """
from treadle import njit
class Mine(Exception): pass
@njit
def f(x):
    raise Mine(x, (x, "a"))
try:
    f(1)
except Mine as e:
    print(e.args)
"""
    path = tmp_path / "program.py"
    path.write_text(source)
    env = dict(os.environ, TREADLE_DISABLE_JIT="1")
    r = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env=env, timeout=120)
    assert r.stdout.strip() == "(1, (1, 'a'))", r.stderr


class Never(Exception):
    pass


@njit
def no_return(*args):
    if len(args) == 2:
        raise Never(args[0], args[1])
    raise Never(args[0])


@njit
def by_name(x, kind):
    if kind == "twice":
        return x * 2
    raise KeyError(kind)


def raised(fn, *args):
    with pytest.raises((Never, KeyError)) as e:
        fn(*args)
    return type(e.value), e.value.args


@pytest.mark.parametrize(
    "fn, good, bad",
    [
        (lambda x, k: by_name(x, k) + 1, (1.5, "twice"), (1.5, "thrice")),
        (lambda x, k: np.sqrt(by_name(x, k))[::-1].sum(), (np.ones(3), "twice"), (np.ones(3), "thrice")),
        (lambda a, k: by_name(a, k) if a.size > 2 else a, (np.ones(2), "thrice"), (np.ones(3), "thrice")),
        (lambda x, k: (1 if x > 0 else no_return(x, k)) + 1, (1, 2), (-1, 2)),
        (lambda x, k: (lambda y: no_return(y))(x) * 2 if k else 3, (1, False), (1, True)),
        (lambda f, x: f(x)[0] if x else -1, (no_return, 0), (no_return, 4)),
        (lambda x, k: no_return(*(x, k)) + 1 if k else 0, (1, 0), (1, 5)),
    ],
)
def test_what_is_called_never_returns(fn, good, bad):
    """A call of a function that raises on every path, for these types and constants, has a value of no type: the other paths say it."""
    assert np.array_equal(njit(fn)(*good), fn(*good))
    assert raised(njit(fn), *bad) == raised(fn, *bad)
    outer = njit(lambda *args: njit_fn(*args))
    njit_fn = njit(fn, inline="always")
    assert raised(outer, *bad) == raised(fn, *bad)


@pytest.mark.parametrize("parallel", [False, True])
def test_what_never_returns_in_loops(parallel):
    @njit(parallel=parallel)
    def f(a):
        o = np.empty_like(a)
        for i in prange(len(a)):
            if a[i] < 0:
                t = a * 2  # freed on the way out
                o[i] = no_return(i, t[i])
            else:
                o[i] = a[i]
        return o

    a = np.arange(1.0, 1001.0)
    np.testing.assert_array_equal(f(a), a)
    a[[900, 20]] = -1
    before = treadle.stats()
    assert raised(f, a) == (Never, (20, -2.0))
    after = treadle.stats()
    made, freed = (after[k] - before[k] for k in ("arrays_allocated", "arrays_freed"))
    assert made == freed


def test_what_never_returns_in_ufuncs():
    @vectorize
    def u(x):
        return no_return(1) if x < 0 else x * 2

    @njit
    def none_of_them(a):
        return u(a).sum()

    assert u(np.ones(3)).tolist() == [2.0] * 3 and none_of_them(np.empty(0)) == 0
    assert raised(u, -np.ones(3)) == raised(none_of_them, -np.ones(3)) == (Never, (1,))


def test_array_statements_in_a_try_that_are_cut_more_than_once() -> None:
    """What follows the second statement that may broadcast is as protected as what follows the first."""

    def store(a: np.ndarray) -> int:
        try:
            a[...] = np.maximum(((a[0] + a[:, :1]) <= a[:1]), a)
            a[:, :1] = a[:1] >= (a[0] < a[:1])
        except ValueError:
            return 1
        return 0

    for options in ({}, {"parallel": True}):
        assert njit(**options)(store)(np.arange(12.0).reshape(3, 4)) == 1
        assert njit(**options)(store)(np.ones((3, 1))) == 0
