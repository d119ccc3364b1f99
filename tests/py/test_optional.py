"""Values that are None on some paths and numbers on others."""

from __future__ import annotations

import numpy as np
import pytest
import treadle
from treadle import njit, prange, vectorize

CASES = []


def case(*args):
    def decorate(fn):
        CASES.extend(pytest.param(fn, a, id=f"{fn.__name__}-{a}") for a in args)
        return fn

    return decorate


@njit
def positive(x):
    if x >= 0:
        return x
    return None


@case(1, -1)
def falls_off_the_end(x):
    if x > 0:
        return x * 1.5


@case(3, -3)
def compared(x):
    y = positive(x)
    if y is not None:
        return y + 1
    return -100


@case((3.0, 1.0, 2.0), ())
def best_so_far(a):
    best = None
    for v in a:
        if best is None or v < best:
            best = v
    return best


@case(3, -3, 0)
def truth(x):
    y = positive(x)
    if y:
        return 1
    if not y:
        return 2
    return 3


@case(3, -3, 2)
def equality(x):
    y, z = positive(x), positive(x + 1)
    return y == None, y != None, y == 3, y == z, y != z, None == y, 3 == y, y is None, y is not None, y == 3.0  # noqa: E711


@case(5, 0)
def none_first(n):
    x = None
    t = 0.0
    for i in range(n):
        if i > 0:
            t += x + 1
        x = i * 2.0
    return t, x


@case(5, 0)
def inside_a_tuple(n):
    state = (None, 0)
    for i in range(n):
        a, b = state
        if a is None:
            a = 1
        state = (a + i, b + 1)
    return state


@case(5, 0)
def of_a_tuple(n):
    p = None
    for i in range(n):
        p = (i, 0.5) if p is None else (p[0] + 1, p[1] * 2)
    return p


@case(5, -2)
def captured(n):
    y = positive(n)

    def inner(q):
        return (q is None) == (y is None)

    return inner(y), inner(1), inner(None)


@case(5)
def as_an_operand(n):
    y = positive(n)
    a = np.zeros(3)
    a[0] = y
    a[1:] += y
    r = 0
    for i in range(y):
        r += i
    return max(y, 2), abs(y), -y, y // 2, r, a[positive(2)], float(y), a.sum()


@case(5, -2)
def either(n):
    y = positive(n)
    return y or 7, y and 7


@case(5, 1, 3, 4)
def comes_and_goes(n):
    x = None
    while n > 0:
        if x is None:
            x = 1
        elif x > 3:
            x = None
        else:
            x *= 2
        n -= 1
    return x


@case(5, 0)
def calls_in_a_loop(n):
    r, k = 0, None
    for i in range(n):
        k = positive(i - 2)
        r += 0 if k is None else k
    return r, k


@case(True, False)
def chosen(c):
    return (3 if c else None), (None if c else 2.5j), c


@case(5)
def always_none(n):
    x = None
    if n > 7:
        x = None
    return x is None, x == None  # noqa: E711


@njit
def count(n):
    if n == 0:
        return None
    r = count(n - 1) if n > 0 else None
    return n if r is None else r + n


@case(3, -1, 0)
def recursion(n):
    return count(n)


@pytest.mark.parametrize("fn, arg", CASES)
def test_as_in_python(fn, arg):
    args = (np.array(arg, float),) if isinstance(arg, tuple) else (arg,)
    assert njit(fn)(*args) == fn(*args)


def test_types_join():
    @njit
    def f(a, n):
        if n == 0:
            return None
        if n == 1:
            return a[0]
        return 3

    assert f(np.full(2, 0.5, np.float32), 1) == 0.5 and f(np.ones(2, np.float32), 0) is None
    assert f(np.ones(2, np.float32), 2) == 3.0
    assert str(next(iter(f.overloads.values()))) == "optional(float64)"


@pytest.mark.parametrize(
    "fn",
    [
        lambda n: positive(n) + 1,
        lambda n: abs(positive(n)),
        lambda n: positive(n) < 3,
        lambda n: np.zeros(3)[positive(n)],
        lambda n: range(positive(n)),
        lambda n: -positive(n),
    ],
)
def test_a_value_that_is_needed(fn):
    f = njit(fn)
    f(2)
    with pytest.raises(TypeError, match="a value is needed here, and it is None") as e:
        f(-2)
    assert not isinstance(e.value, treadle.TreadleError)


def test_declared_results():
    @njit("f8(f8)")
    def f(x):
        y = None
        if x > 0:
            y = x
        return y

    assert f(1.0) == 1.0
    with pytest.raises(TypeError, match="it is None"):
        f(-1.0)
    with pytest.raises(
        treadle.TypingError,
        match="the result is None, but the signature declares float64(.|\n)*a path ends without",
    ):

        @njit("f8(f8)")
        def g(x):
            if x > 0:
                return x


def test_what_stays_an_error():
    def array(n):
        x = None
        for _ in range(n):
            x = np.ones(3)
        return x

    with pytest.raises(treadle.TypingError, match="no single type"):
        njit(array)(3)

    def nothing(n):
        x = None
        return x + n

    with pytest.raises(treadle.TypingError, match="unsupported operand types for \\+: none and int64"):
        njit(nothing)(3)

    def one_of_two(n):
        x = None
        for _ in range(n):
            y = x + 1
            x = y
        return x

    with pytest.raises(treadle.TypingError, match="unsupported operand types for \\+: none and int64"):
        njit(one_of_two)(3)
    with pytest.raises(treadle.TypingError, match="needs a number for each element"):
        vectorize(positive.py_func)(np.ones(3))

    def parallel(a):
        best = None
        for i in prange(len(a)):
            if best is None or a[i] > best:
                best = a[i]
        return best

    with pytest.raises(treadle.UnsupportedError, match="handed from one iteration"):
        njit(parallel=True)(parallel)(np.ones(3))


def test_through_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_CACHE_DIR", str(tmp_path))

    def f(x):
        if x > 0:
            return x, 1.5

    for loaded in (0, 1):
        g = njit(cache=True)(f)
        assert g(2) == (2, 1.5) and g(-2) is None and g.stats["loaded"] == loaded
