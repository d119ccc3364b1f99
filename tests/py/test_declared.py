"""Declared signatures: when they are compiled, and what is said when they cannot be."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
import treadle
from programs import sent
from treadle import guvectorize, njit, types, ufunc_info, vectorize
from treadle.errors import TypingError


def fib(signatures, **options):
    @njit(signatures, **options)
    def f(n):
        return n if n < 2 else f(n - 1) + f(n - 2)

    return f


@pytest.mark.parametrize("signatures", ["i8(i8)", ["i8(i8)", "f8(f8)"], ["f8(f8)", "i8(i8)"]])
@pytest.mark.parametrize("options", [{}, {"nogil": True}, {"inline": "always"}, {"parallel": True}], ids=repr)
def test_a_recursive_closure(signatures, options):
    f = fib(signatures, **options)
    n = 1 if isinstance(signatures, str) else 2
    assert len(f.signatures) == n and f.stats["compiled"] == 0 and f.sealed
    assert f(10) == 55 and len(f.overloads) == f.stats["compiled"] == n
    assert f(True) == 1
    with pytest.raises(TypeError, match="has no signature"):
        f(1j)


def test_what_is_first_needed_compiles():
    assert fib("i8(i8)").overloads == {(types.int64,): types.int64}
    assert "define" in fib("i8(i8)").inspect_llvm((types.int64,))
    assert list(fib("i8(i8)").inspect_asm()) == [(types.int64,)]
    f = fib("i8(i8)")
    f.recompile()
    assert f(5) == 5


def test_a_closure_is_called_by_compiled_code_first():
    f = fib("i8(i8)")
    g = njit(lambda n: f(n) + 1)
    assert g(10) == 56 and f(10) == 55


@njit("i8(i8)")
def even(n):
    return 1 if n == 0 else odd(n - 1)


@njit("i8(i8)")
def odd(n):
    return 0 if n == 0 else even(n - 1)


def test_mutual_recursion_at_module_level():
    assert even.signatures == odd.signatures == [(types.int64,)]
    assert [even(n) for n in range(4)] == [1, 0, 1, 0] and [odd(n) for n in range(4)] == [0, 1, 0, 1]


def test_mutual_recursion_of_closures():
    @njit(["i8(i8)"])
    def down(n):
        return 0 if n <= 0 else up(n - 1) + 1

    @njit(["i8(i8)"])
    def up(n):
        return 0 if n <= 0 else down(n - 1) + 1

    assert down(7) == up(7) == 7


def test_errors_are_told_by_the_decorator_where_nothing_is_missing():
    with pytest.raises(TypingError, match="unsupported operand"):
        njit("i8(i8)")(lambda n: n + "a")
    with pytest.raises(TypingError, match="unsupported operand"):
        vectorize(["i8(i8)"])(lambda n: n + "a")

    def make():
        @njit("i8(i8)")
        def f(n):
            return later(n) + "a"

        later = njit(lambda n: n)
        return f

    with pytest.raises(TypingError, match="unsupported operand"):
        make()(1)


def test_a_name_that_never_comes():
    @njit("i8(i8)")
    def f(n):
        return no_such_name(n)  # noqa: F821

    for _ in range(2):
        with pytest.raises(TypingError, match="name 'no_such_name' is not defined"):
            f(1)
    with pytest.raises(TypingError, match="no_such_name"):
        f.inspect_ir()
    assert f.signatures == [(types.int64,)]
    with pytest.raises(TypeError, match="2 argument"):
        njit("i8(i8,i8)")(lambda n: no_such_name(n))  # noqa: F821
    try:
        globals()["no_such_name"] = njit(lambda n: n + 1)
        assert f(1) == 2
    finally:
        del globals()["no_such_name"]


def test_asking_for_it_by_hand_does_not_wait():
    @njit
    def f(n):
        return no_such_name(n)  # noqa: F821

    with pytest.raises(TypingError, match="not defined"):
        f.compile("i8(i8)")
    assert f.signatures == []


def ufuncs():
    @vectorize(["f4(f4)", "f8(f8)"])
    def u(x):
        return later(x) * 2

    @guvectorize(["void(f8[:], f8[:])"], "(n)->()")
    def g(a, out):
        out[0] = later(a.sum())

    @vectorize(["i8(i8)"])
    def rec(n):
        return n if n < 2 else rec(n - 1) + rec(n - 2)

    @vectorize(["i8(i8, i8)"])
    def red(a, b):
        return a + b + zero(a)

    later = njit(lambda x: x + 1)
    zero = njit(lambda x: x - x)
    return u, g, rec, red


def test_ufuncs_in_closures():
    u, g, rec, red = ufuncs()
    x = np.arange(6.0)
    assert u(x).tolist() == ((x + 1) * 2).tolist() and u(1.5) == 5.0
    assert u(x.astype("f4")).dtype == np.float32
    assert g(x.reshape(2, 3)).tolist() == [4.0, 13.0]
    assert rec(np.arange(10)).tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34] and rec(10) == 55
    assert red.reduce(np.arange(5)) == 10
    with pytest.raises(TypeError, match="has no signature"):
        rec(1.5)


@pytest.mark.parametrize(
    "look",
    [
        lambda u, g, rec, red: red.reduce(np.arange(5)),
        lambda u, g, rec, red: red.accumulate(np.arange(5))[-1],
        lambda u, g, rec, red: red.outer(np.array([7]), np.array([3]))[0, 0],
        lambda u, g, rec, red: 10 * len(ufunc_info(rec).overloads),
        lambda u, g, rec, red: int(u(np.float32(4.0))),
        lambda u, g, rec, red: int(njit(lambda a: u(a).sum())(np.array([4.0]))),
        lambda u, g, rec, red: int(njit(lambda a: g(a))(np.array([4.0, 5.0]))),
        lambda u, g, rec, red: red(7, 3),
    ],
)
def test_ways_to_a_ufunc_that_waits(look):
    assert look(*ufuncs()) == 10


def test_threads_that_settle_at_once():
    for _ in range(5):
        f, rec = fib(["i8(i8)", "f8(f8)"]), ufuncs()[2]
        ready = threading.Barrier(4)
        got = []

        def work():
            ready.wait()
            got.append((f(10), f(10.0), rec(10)))  # noqa: B023

        workers = [threading.Thread(target=work) for _ in range(4)]
        for w in workers:
            w.start()
        for w in workers:
            w.join()
        assert got == [(55, 55.0, 55)] * 4
        assert len(f.signatures) == 2 and len(ufunc_info(rec).signatures) == 1


def test_from_the_cache(tmp_path):
    source = """
import numpy as np
from treadle import njit, vectorize
def make():
    @njit("i8(i8)", cache=True)
    def f(n):
        return n if n < 2 else f(n - 1) + f(n - 2)
    @vectorize(["i8(i8)"], cache=True)
    def u(n):
        return n if n < 2 else u(n - 1) + u(n - 2)
    return f, u
f, u = make()
print(f(10), u(10), f.stats["loaded"])
"""
    path = tmp_path / "program.py"
    path.write_text(source)
    env = dict(os.environ, TREADLE_CACHE_DIR=str(tmp_path / "cache"))
    for loaded in "01":
        r = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env=env, timeout=120)
        assert r.stdout.split() == ["55", "55", loaded], r.stderr


def test_what_waits_keeps_and_frees_its_types():
    from collections import namedtuple

    P = namedtuple("P", "x y")

    @njit([(treadle.typeof(P(1, 2.0)),)])
    def f(p):
        return later(p.x)

    del P
    later = njit(lambda x: x)
    assert len(f.signatures) == 1 and "P" in repr(f.signatures)
    assert list(f.overloads.values()) == [types.int64]


def test_pickle_by_value_while_it_waits():
    f = pickle.loads(pickle.dumps(even))
    assert f is even
    f = fib("i8(i8)")
    again = sent(f)
    assert again is not f and again._declared == [types.int64(types.int64)] and again.sealed
    assert again(10) == f(10)


# --- disable_compile, as Numba has it ---


@pytest.mark.parametrize("declare", [False, True])
def test_compile_after_disable_compile(declare):
    f = njit("i8(i8)")(lambda x: x + 1) if declare else njit(lambda x: x + 1)
    if not declare:
        assert f(1) == 2
        f.disable_compile()
    for signature in ("f8(f8)", "i8(i8)", (types.float64,)):
        with pytest.raises(RuntimeError, match="compilation is disabled"):
            f.compile(signature)
    with pytest.raises(TypeError, match="has no signature"):
        f(1j)
    assert f.sealed and f(1) == 2 and f.signatures == [(types.int64,)]
    f.disable_compile(False)
    assert not f.sealed and f(1j) == 1 + 1j
    f.compile("f8(f8)")
    assert len(f.signatures) == 3
    f.disable_compile(val=True)
    with pytest.raises(RuntimeError):
        f.compile("f4(f4)")


def keeps(z):
    return z


def pair(z):
    return z, 1


@pytest.mark.parametrize(
    "make, fn, signature, words",
    [
        (njit, keeps, "f8(c16)", "the result is complex128, but the signature declares float64"),
        (njit, keeps, "i8(c8)", "the result is complex64, but the signature declares int64"),
        (njit, keeps, "b1(c16)", "the result is complex128, but the signature declares bool"),
        (njit, lambda z: 1j, "f8(i8)", "the result is complex128, but the signature declares float64"),
        (vectorize, keeps, ["f8(c16)"], "the result is complex128, but the signature declares float64"),
        (
            njit,
            pair,
            types.Tuple((types.float64, types.int64))(types.complex128),
            r"the result is \(complex128, 1\), but the signature declares \(float64, int64\)",
        ),
        (njit, lambda z: None, "f8(f8)", "the result is None, but the signature declares float64"),
        (njit, keeps, "void(f8)", "the result is float64, but the signature declares void"),
        (njit, keeps, "f8(f8[:])", r"is array\(float64, 1d, A\), but the signature declares float64"),
    ],
)
def test_results_that_do_not_convert(make, fn, signature, words):
    """What is imaginary is not dropped, and what stands in the signature is not called a path of the function."""
    with pytest.raises(TypingError, match=words) as e:
        make(signature)(fn)
    assert "both" not in str(e.value)


def test_results_that_convert():
    assert njit("c16(f8)")(keeps)(2.0) == 2 + 0j
    assert njit("i8(f8)")(keeps)(-2.7) == -2  # as by assignment to an array
    assert njit("u1(i8)")(keeps)(257) == 1
    assert njit("c16(c8)")(pair_of)(1j) == 1j


def pair_of(z):
    return pair(z)[0]


def test_what_no_signature_fits_is_told_alike_by_python_and_by_compiled_code():
    f = njit("f8(f8[:,::1])")(lambda a: a.sum())
    told = r"for arguments of types \(array\(float64, 2d, F\)\); it has\s+float64\(array\(float64, 2d, C\)\)"
    a = np.ones((3, 2)).T
    with pytest.raises(TypeError, match=told):
        f(a)
    with pytest.raises(TypingError, match=told):
        njit(lambda a: f(a))(a)
