"""Arguments known by value (functions, classes, strings): what is kept of them, and for how long."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from collections import namedtuple

import numpy as np
import pytest
import treadle
from treadle import njit

MOST = 128  # TR_VALUE_SPECS


def adder(k):
    def add(x):
        return x + k

    return add


def fresh():
    return njit(lambda g, x: g(x))


@pytest.mark.parametrize("wrap", [lambda g: g, njit, lambda g: (g, 1), lambda g: ((2, (g,)), 1)])
def test_a_function_that_was_passed_can_go(wrap):
    f = njit(lambda t, x: (t, x)[1])
    g = adder(1)
    ref = weakref.ref(g)
    passed = wrap(g)
    assert f(passed, 3) == 3 and f(passed, 4.0) == 4.0
    assert len(f.signatures) == len(f.overloads) == 2 and f.stats["code_bytes"] > 0
    del g, passed
    gc.collect()
    assert ref() is None
    assert f.signatures == [] and f.stats["code_bytes"] == 0 and f.stats["compiled"] == 2
    assert f(wrap(adder(5)), 3) == 3


def test_what_a_closure_holds_goes_with_it():
    class Holder:
        pass

    def make():
        data, held = np.zeros(1000), Holder()
        data.flags.writeable = False  # taken as it is

        def g(x):
            return data[x] if x >= 0 else held

        return g, [weakref.ref(data), weakref.ref(held)]

    f = njit(lambda g, x: x)
    g, refs = make()
    assert f(g, 3) == 3
    del g
    gc.collect()
    assert [r() for r in refs] == [None, None]


def test_specialisations_of_a_function_go_when_it_does():
    f, g, h = fresh(), adder(1), adder(2)
    assert f(g, 1) == 2 and f(h, 1) == 3 and f(g, 1.5) == 2.5
    before = f.stats["code_bytes"]
    del g
    gc.collect()
    assert len(f.signatures) == 1 and 0 < f.stats["code_bytes"] < before
    assert f(h, 1) == 3 and f.stats["compiled"] == 3
    assert f(adder(1), 1) == 2 and f.stats["compiled"] == 4


def test_functions_in_cycles():
    def make():
        f = fresh()

        def g(x):
            return x + 1 if x > 0 else f(g, x + 1)

        assert f(g, 3) == 4
        return f, weakref.ref(f), weakref.ref(g)

    f, _, ref = make()
    gc.collect()
    assert ref() is None and f.signatures == []
    refs = make()[1:]
    gc.collect()
    assert [r() for r in refs] == [None, None]


def test_classes_that_were_passed_can_go():
    f = njit(lambda cls, x: cls(x, x))

    def once():
        P = namedtuple("P", "a b")
        assert f(P, 2) == P(2, 2)
        return weakref.ref(P)

    ref = once()
    gc.collect()
    assert ref() is None and f.signatures == []
    fail = njit(lambda cls, x: raising(cls, x))

    def twice():
        class Mine(Exception):
            pass

        with pytest.raises(Mine):
            fail(Mine, 1)
        return weakref.ref(Mine)

    ref = twice()
    gc.collect()
    assert ref() is None


@njit
def raising(cls, x):
    if x:
        raise cls(x)
    return x


def test_a_class_that_the_code_names_too_stays():
    P = namedtuple("P", "a b")
    f = njit(lambda cls, x: (cls(x, x), P(x, x + 1)))
    assert f(P, 1) == ((1, 1), (1, 2))
    gc.collect()
    one, two = f(P, 1)
    assert type(one) is type(two) is P


def test_there_is_a_bound():
    f = njit(lambda s, x: x + 1 if known(s) == "up" else x)
    assert f("up", 1) == 2 and f("up", 1.5) == 2.5
    for k in range(MOST + 20):
        assert f(f"text {k}", 1) == 1
    assert len(f.signatures) == MOST and f.stats["compiled"] == MOST + 22
    assert f(f"text {MOST + 19}", 1) == 1 and f.stats["compiled"] == MOST + 22
    assert f("up", 1) == 2 and f.stats["compiled"] == MOST + 23


def test_the_one_not_used_for_longest_goes_first():
    f = njit(lambda s, x: x + 1 if known(s) == "up" else x)
    f("up", 1)
    for k in range(3 * MOST):
        f(str(k), 1)
        f("up", 1)
    assert f.stats["compiled"] == 3 * MOST + 1
    for k in range(3 * MOST - 20, 3 * MOST):
        f(str(k), 1)
    assert f.stats["compiled"] == 3 * MOST + 1


def test_types_and_declared_signatures_are_not_counted():
    f = njit(lambda s, x: x if not isinstance(s, str) or known(s) else 0)
    f.compile("i8(i8,i8)")
    for n in range(MOST + 10):
        f((0,) * n, 1)
    assert len(f.signatures) == MOST + 11
    for k in range(MOST + 10):
        f(str(k), 1)
    assert len(f.signatures) == MOST + 11 + MOST and f.signatures[0] == (treadle.int64, treadle.int64)
    compiled = f.stats["compiled"]
    f((0,) * 5, 1)
    f(3, 4)
    assert f.stats["compiled"] == compiled


def test_code_that_runs_is_not_freed_under_it(monkeypatch):
    """A call stands in the middle of compiled code, in its print(), while others push its specialisation out."""
    f = njit(lambda s, x: shout(s, x), nogil=True)
    inside, go_on = threading.Event(), threading.Event()
    got = []

    class Out:
        def write(self, text):
            if "runs" in text:
                inside.set()
                go_on.wait()
            return len(text)

        def flush(self):
            pass

    monkeypatch.setattr(sys, "stdout", Out())
    runner = threading.Thread(target=lambda: got.append(f("runs", 41)))
    runner.start()
    inside.wait()
    for k in range(MOST + 5):
        f(f"text {k}", 0)
    rows = len(f.signatures)
    go_on.set()
    runner.join()
    monkeypatch.undo()
    assert rows == MOST and got == [42]
    assert f("text 100", 0) == 1 and len(f.signatures) == MOST


def test_a_call_within_a_call(monkeypatch):
    """print() calls back, drops the code that is running, and goes on there."""
    f = njit(lambda s, x: shout(s, x))
    calls = []

    class Out:
        def write(self, text):
            if "first" in text and not calls:
                calls.append(text)
                for k in range(MOST + 5):
                    f(f"other {k}", 1)
            return len(text)

        def flush(self):
            pass

    monkeypatch.setattr(sys, "stdout", Out())
    assert f("first", 41) == 42
    monkeypatch.undo()
    assert calls and len(f.signatures) == MOST


@njit
def known(s):
    print(sep=s, end="")  # which has to be a constant
    return s


@njit
def shout(s, x):
    print(s, sep=s)  # which has to be known, so it is a constant
    return x + 1


def test_many_threads_pass_functions_that_die():
    f = fresh()
    errors = []

    def work(seed):
        try:
            for k in range(40):
                g = adder(k % 5 + seed)
                assert f(g, 1) == k % 5 + seed + 1
        except BaseException as e:  # noqa: BLE001
            errors.append(e)

    workers = [threading.Thread(target=work, args=(s,)) for s in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    gc.collect()
    assert not errors and f.signatures == []


def test_a_reference_outlives_the_function_that_made_it():
    f, g = fresh(), adder(1)
    f(g, 1)
    refs = weakref.getweakrefs(g)
    del f
    gc.collect()
    del g
    gc.collect()
    assert all(r() is None for r in refs)


def test_recompile_and_inspection():
    f, g = fresh(), adder(1)
    f(g, 1), f(adder(2), 1), f(g, 1.5)
    gc.collect()
    assert len(f.signatures) == 2
    f.recompile()
    assert len(f.signatures) == 2 and f(g, 1) == 2 and f(g, 1.5) == 2.5
    row = f.signatures[0]
    assert (
        "define" in f.inspect_llvm(row) and f.overloads[row] == treadle.int64 and row in f.stats["signatures"]
    )
    assert len(f.inspect_ir()) == 2


def test_what_has_no_weak_references():
    f = njit(lambda g, x: g(x))
    assert f(np.sqrt, 4.0) == 2.0 and f(np.float32, 4) == 4.0 and f(abs, -1) == 1
    assert f(np.sqrt, 4.0) == 2.0 and f.stats["compiled"] == 3


def test_recompile_of_classes_of_one_name():
    One, Two = namedtuple("Point", "x y"), namedtuple("Point", "x y")
    f = njit(lambda p: p)
    assert type(f(One(1, 2))) is One and type(f(Two(1, 2))) is Two
    f.recompile()
    assert type(f(One(1, 2))) is One and type(f(Two(1, 2))) is Two
    assert len(f.signatures) == 2


def test_what_dies_while_someone_looks():
    """A callback of g's runs before the function's own: there is a specialisation then whose g is gone."""
    f, g, seen = fresh(), adder(1), []

    def look(_):
        seen.extend([f.signatures, f.overloads, f.stats["signatures"], f.inspect_ir()])
        f.disable_compile()
        with pytest.raises(TypeError, match="has no signature for arguments of types"):
            f(1, 1)

    assert f(g, 1) == 2
    ref = weakref.ref(g, look)
    del g
    gc.collect()
    assert ref() is None and seen == [[], {}, {}, {}]


COLLECTED = """
import gc
from treadle import njit

@njit
def ap(g, x):
    return g(x)

on = True

class Again:
    def __init__(self):
        self.me = self

    def __del__(self):
        global on
        if on:
            on = False
            ap.recompile()
            on = True
            Again()

gs = [eval(f"lambda y: y * {k}.0") for k in range(6)]
Again()
gc.set_threshold(1, 1, 1)
for k, g in enumerate(gs):
    assert [ap(g, 3.0) for _ in range(3)] == [3.0 * k] * 3
on = False
"""


def test_a_collection_that_drops_the_specialisation_being_made():
    env = {**os.environ, "PYTHONMALLOC": "debug"}
    r = subprocess.run([sys.executable, "-c", COLLECTED], env=env, capture_output=True, text=True)
    assert r.returncode == 0, r.stderr
