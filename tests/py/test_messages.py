"""What errors say: short, true, and of what the user wrote."""

from __future__ import annotations

import datetime
from collections import namedtuple

import numpy as np
import pytest
import treadle
from treadle import njit, prange, typeof
from treadle.errors import TypingError, UnsupportedError


def message(fn, *args, error=Exception):
    with pytest.raises(error) as e:
        fn(*args)
    return str(e.value)


# --- types ---


def test_long_tuples_are_counted_and_cut():
    text = message(njit(lambda x: x + "a"), (1,) * 2000, error=TypingError)
    assert "unsupported operand types for +: (int64 x 2000) and str" in text and len(text) < 1000
    text = message(njit("f8(f8)")(lambda x: x), ((1,) * 2000, 2.0), error=TypeError)
    assert "((int64 x 2000), float64)" in text and len(text) < 400
    assert repr(typeof((1,) * 3)) == "(int64, int64, int64)" and repr(typeof((1,) * 4)) == "(int64 x 4)"
    assert repr(typeof((1.5, 1, 1, 1, 1, True))) == "(float64, int64 x 4, bool)"
    mixed = repr(typeof((1, 2.0) * 1000))
    assert mixed.startswith("(int64, float64, int64") and mixed.endswith("int64, float64)") and "..." in mixed
    assert len(mixed) < 320


def test_many_long_arguments():
    source = f"def f({', '.join(f'a{i}' for i in range(100))}):\n    return a0 + 'a'\n"
    namespace: dict = {}
    exec(source, namespace)
    assert len(message(njit(namespace["f"]), *[(1, 2.0) * 50] * 100, error=TypingError)) < 3000


def test_names_of_many_bytes_are_cut_between_characters():
    P = namedtuple("P", ["é" * 3])
    text = message(njit(lambda x: x + "a"), tuple(P(i % 2 or 1.5) for i in range(200)), error=TypingError)
    assert "�" not in text


def test_types_that_read_alike_are_still_different(tmp_path):
    """The text is cut, the types are not: neither in a process nor in the cache."""
    one = [(1, 2.0) * 100 + (k,) + (1, 2.0) * 100 for k in (1, 2.0)]
    f = njit(lambda x: x[200])
    assert [type(f(t)) for t in one] == [int, float] and len(f.signatures) == 2
    assert typeof(one[0]) is not typeof(one[1])
    assert repr(typeof(one[0])) == repr(typeof(one[1]))


# --- strings ---


def test_which_strings():
    def f(x):
        if x:
            return "yes"
        return x

    assert "the function returns both str and int64" in message(njit(f), 1, error=TypingError)

    def k(x):
        y = "a" if x else 2
        return len(y)

    text = message(njit(k), 1)
    assert "here it is 'a'" in text and "here it is int64" in text


# --- numbers ---


def test_a_numpy_scalar_is_no_python_int():
    f = njit("i8(i8)")(lambda x: x)
    text = message(f, np.uint64(2**63), error=OverflowError)
    assert "argument 'x': numpy.uint64 9223372036854775808 does not fit int64" in text
    assert "Python int 9223372036854775808 does not fit int64" in message(f, 2**63, error=OverflowError)


# --- chains ---


def chain(n):
    lines = [f"def f{n}(x):\n    return x + 1\n"]
    lines += [f"def f{i}(x):\n    return f{i + 1}(x) + 1\n" for i in reversed(range(n))]
    namespace: dict = {}
    exec("".join(lines), namespace)
    return njit(namespace["f0"])


def test_a_chain_of_two_hundred_functions():
    assert chain(200)(1) == 202


@pytest.mark.parametrize("n", [300, 1000, 5000])
def test_a_long_chain_is_not_taken_for_recursion(n):
    text = message(chain(n), 1, error=TypingError)
    assert "a chain of more than 256 functions that call each other" in text
    assert "itself" not in text and "internal" not in text and text.count("-->") == 1


def test_recursion_with_ever_new_types():
    @njit
    def grow(x):
        return grow((x, 1))

    text = message(grow, 1, error=TypingError)
    assert "grow() calls itself more than 256 deep, with other types of arguments each time" in text
    assert "= help: give it arguments of the same types each time" in text and len(text) < 3000

    def ping(x):
        return pong((x,))

    def pong(x):
        return ping((x, 1))

    text = message(njit(lambda x: ping(x)), 1)
    assert "calls itself more than 256 deep" in text and ("ping()" in text or "pong()" in text)


# --- prange ---


@pytest.mark.parametrize("outside", [True, False])
def test_scratch_memory_that_iterations_share(outside):
    def f(n, out, tmp):
        if outside:
            tmp = np.zeros(10)
        for i in prange(n):
            for k in range(10):
                tmp[k] = i * k
            out[i] = tmp[3]

    text = message(njit(parallel=True)(f), 100, np.zeros(100), np.zeros(10), error=UnsupportedError)
    assert "writes the same element of 'tmp' in every iteration" in text
    assert "if 'tmp' is memory that an iteration works in, make it inside the loop" in text

    @njit(parallel=True)
    def advised(n, out):
        for i in prange(n):
            tmp = np.zeros(10)
            for k in range(10):
                tmp[k] = i * k
            out[i] = tmp[3]

    out = np.zeros(100)
    advised(100, out)
    assert out.tolist() == [3.0 * i for i in range(100)]


def test_neighbours_get_other_advice():
    @njit(parallel=True)
    def f(a):
        for i in prange(1, len(a)):
            a[i] = a[i - 1] + 1

    text = message(f, np.zeros(9), error=UnsupportedError)
    assert "1 iteration later" in text and "inside the loop" not in text


# --- arguments ---


class Whole(int):
    """Some other integer."""


def test_what_in_an_argument_cannot_be_passed():
    P = namedtuple("P", "day n")
    day = datetime.date(2020, 1, 1)
    f = njit(lambda p: 1)
    text = message(f, P(day, 1), error=TypeError)
    assert "argument 'p.day' is a value of type datetime.date, which" in text and "pass numbers" in text
    text = message(f, (1, (2, P(3, Whole(1)))), error=TypeError)
    assert "argument 'p[1][1].n' is a value of type Whole" in text and "pass int(x)" in text
    assert "argument 'p[0][0][0]' is a value of type object" in message(f, ([[object()]],), error=TypeError)
    assert "argument 'p' is a value of type datetime.date" in message(f, day, error=TypeError)
    assert "a value of type datetime.date has no Treadle type" in message(treadle.typeof, P(day, 1))
