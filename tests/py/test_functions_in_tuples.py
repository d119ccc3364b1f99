"""Functions of which the running program knows which it calls: items of tuples, in loops and by index, and variables that are one on each path."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from math import cos, sin

import numpy as np
import pytest
import treadle
from raising import came
from treadle import cuda, njit, prange

# ruff: noqa: B023, F841


@njit
def double(x):
    return x * 2


def less(x):
    return x - 1


@njit
def bad(x):
    raise ValueError("bad", x)


@njit
def asks(x):
    return -1.0 if x is None else x * 1.0


FS = (double, math.sin, less)
CASES = []
X = np.array([3.0, 1.0, 2.0, 5.0])


def case(*args):
    def add(f):
        CASES.append((f, args))
        return f

    return add


@case(1.5)
def displayed(x):
    s = 0.0
    for f in (sin, cos):
        s = s * 2 + f(x)
    return s


@case(1.5)
def of_global(x):
    s = 0.0
    for f in FS:
        s = s * 2 + f(x)
    return s


@case(1.5)
def of_default(x, fs=(double, less)):
    s = 0.0
    for f in fs:
        s = s * 2 + f(x)
    return s


@case(FS, 1.5)
def of_argument(fs, x):
    s = 0.0
    for f in fs:
        s = s * 2 + f(x)
    return s


@case(1.5)
def of_list(x):
    s = 0.0
    for f in [cos, sin]:
        s = s * 2 + f(x)
    return s


@case(1.5)
def walked(x):
    s = 0.0
    for i, f in enumerate(FS):
        s = s * 2 + i * f(x)
    for f, w in zip(FS, (1.0, 2.0, 3.0)):
        s = s * w + f(x)
    for f in reversed(FS):
        s = s * 2 + f(x)
    return s


@case(1.5, 2)
@case(1.5, -3)
@case(1.5, 3)
def indexed(x, i):
    return FS[i](x)


@case(1.5, 1, 2)
def nested(x, i, j):
    s = 0.0
    for f in (FS[i], FS[j], cos):
        s = s * 2 + f(x)
    return s


@case(2, 1.5)
def captured(k, x):
    def plus(y):
        return y + k

    def times(y):
        return y * k

    s = 0.0
    for f in (plus, times, lambda y: y - k):
        s = s * 2 + f(x)
    return s


@case(X)
def captured_arrays(a):
    b = a * 2
    c = a + 1
    s = 0.0
    for f in (lambda i: b[i], lambda i: c[-i], lambda i: 0.5):
        s = s * 2 + f(1) + f(2)
    return s


@case(X)
def methods(a):
    s = 0.0
    for f in (a.sum, a.max, a.min):
        s = float(s * 2 + f())
    return s


@case(X)
def ufuncs(a):
    s = np.zeros_like(a)
    for f in (np.sin, np.negative, np.sqrt):
        s = s * 2 + f(a)
    return s


@case(X)
def views(a):
    s = 0.0
    for f in (lambda v: v[::2], lambda v: v * 2, lambda v: v):
        s = float(s * 2 + np.sum(f(a)))
    return s


@case(X)
def stores(a):
    def up(v):
        v[0] += 1

    def twice(v):
        v[1] *= 2

    for f in (up, twice, up):
        f(a)
    return a


@case(1.5)
def by_name(x):
    s = 0.0
    for f in (lambda a, b=2.0: a * b, lambda b, a: a - b):
        s = s * 2 + f(a=x, b=3.0)
    return s


@case(1.5)
def after_the_loop(x):
    for f in FS:
        pass
    return f(x)


@case(1.5)
def passed_on(x):
    def apply(f, v):
        return f(v)

    s = 0.0
    for f in FS:
        s = s * 2 + apply(f, x)
        for v in map(f, (x, 2 * x)):
            s += v
    return s


@case(1.5)
def generated(x):
    return sum(f(x) for f in FS), np.array([f(x) for f in FS])


@case(1.5)
@case(0.5)
def given_none(x):
    y = None if x > 1 else x
    s = 0.0
    for f in (asks, lambda v: -7.0 if v is None else v):
        s = s * 2 + f(y)
    return s


@case(1.5)
@case(-1.5)
def maybe_none(x):
    f = FS[int(x)] if x > 0 else None
    return 0.0 if f is None else f(x)


@case(0)
@case(1)
def identity(i):
    f, n = FS[i], 0
    for g in FS:
        n = n * 2 + (g is double) + (g is not sin) * 100 + (f == g if g is less else g == sin)
    return n, f is double, f is not double, f == math.sin, f in (double, less), not f, f is None, f is len


@case(0, 0)
@case(2, 1)
def identity_of_two(i, j):
    return FS[i] is FS[j], FS[i] == FS[j], FS[i] != FS[j], (FS[i], less)[j] is FS[i]


@case(1.5, 0)
@case(1.5, 1)
@case(1.5, 2)
@case(1.5, 3)
def by_path(x, k):
    if k == 0:
        f = sin
    elif k == 1:
        f = double
    elif k == 2:
        f = cos
    else:
        f = less
    return f(x), f is double, f is cos, f == less, (sin if x > k else cos)(x)


@case(1.5, 8)
def exchanged(x, n):
    f, g = double, less
    s = 0.0
    for i in range(n):
        s = s * 0.5 + f(x)
        f, g = g, f
        if i % 3 == 2:
            f = sin
    return s + g(x)


@case(1.5)
def none_among_them(x):
    s = 0.0
    for f in (sin, None, cos):
        if f is not None:
            s = s * 2 + f(x)
    return s


@case(1.5)
def found_later(x):
    f = None
    for c in range(4):
        if c == 2:
            f = sin
        if c == 3:
            f = cos
    return f(x) if f else 0.0


@case(1.5)
@case(-1.5)
def returned(x):
    def pick(k):
        return sin if k > 0 else cos

    pair = (sin, 1.0) if x > 0 else (cos, 2.0)
    return pick(x)(x), pick(-x)(x), pair[0](x) * pair[1]


@case(1.5, 0, 1)
@case(-1.5, 0, 0)
@case(7.0, 1, 2)
def path_and_place(x, i, j):
    f = (FS[i], FS[j], sin)[1 if x > 0 else 2] if x != 7 else cos
    return f(x), f is double, f is sin


@case(1.5)
def raises(x):
    s = 0.0
    for f in (double, bad, less):
        s += f(x)
    return s


@case(1.5)
def all_raise(x):
    for f in (bad, lambda v: bad(v + 1)):
        f(x)
    return 1.0


@case(1.5)
def caught(x):
    s = 0.0
    for f in (double, bad, less):
        try:
            s = s * 2 + f(x)
        except ValueError:
            s += 100
        finally:
            s += 0.5
    return s


def down(k):
    return 0 if k < 1 else k + STEPS[k % 2](k - 1)


def down_by_two(k):
    return 0 if k < 2 else 2 * k + down(k - 2)


STEPS = (down, down_by_two)


@case(9)
def recursive(n):
    s = 0
    for f in STEPS:
        s = s * 2 + f(n)
    return s


WAYS = {
    "plain": {},
    "parallel": {"parallel": True},
    "numba": {"promotion": "numba", "error_model": "numpy"},
    "inline": {"inline": "always"},
    "nogil": {"nogil": True, "fastmath": False, "boundscheck": True},
}


def near(values):
    return [pytest.approx(v, rel=1e-13) if isinstance(v, (float, list)) else v for v in values]


def fresh(args):
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("function", "args"), CASES, ids=[f"{f.__name__}{k}" for k, (f, _) in enumerate(CASES)]
)
def test_is_what_python_does(function, args, way):
    fn = njit(**WAYS[way])(function)
    got, want = came(fn, *fresh(args)), came(function, *fresh(args))
    assert got == (near(want) if isinstance(want, list) else want)


def test_every_round_of_a_prange_calls_them():
    @njit(parallel=True)
    def f(a, out):
        for i in prange(a.size):
            s = 0.0
            for g in FS:
                s = s * 2 + g(a[i])
            out[i] = s + FS[i % 3](a[i])

    a = np.linspace(-2, 3, 5000)
    got, want = np.zeros(5000), np.zeros(5000)
    f(a, got)
    f.py_func(a, want)
    np.testing.assert_allclose(got, want, rtol=1e-14)


def test_results_need_a_common_type():
    @njit
    def f(a):
        s = 0.0
        for g in (lambda v: v, lambda v: v.sum()):
            s += np.sum(g(a))
        return s

    with pytest.raises(treadle.TypingError, match="have no common type: array.* and float64"):
        f(X)


def test_inner_functions_are_not_compared():
    @njit
    def f(x):
        def one(y):
            return y + x

        return (one, sin)[int(x)] == (sin, one)[int(x)]

    with pytest.raises(treadle.TypingError, match="is not known"):
        f(1.0)


def test_a_function_that_takes_no_none_is_not_given_it():
    @njit
    def f(x):
        y = None if x > 1 else x
        s = 0.0
        for g in (asks, sin):
            s = s * 2 + g(y)
        return s

    assert f(0.5) == f.py_func(0.5)
    with pytest.raises(TypeError):
        f(1.5)


def test_what_may_be_none_is_the_function_it_is():
    @njit
    def f(c):
        g = double if c else None
        return g is double, double is not g, g is less, g == double

    assert f(True) == f.py_func(True)
    assert f(False) == f.py_func(False)


def test_kernels_call_them():
    @cuda.jit
    def kernel(a, out):
        i = cuda.grid(1)
        if i < a.size:
            s = 0.0
            for f in FS:
                s = s * 2 + f(a[i])
            out[i] = s + FS[i % 3](a[i])

    a, out = np.linspace(-2, 3, 100), np.zeros(100)
    kernel[4, 32](a, out)
    want = [sum(f(x) * w for f, w in zip(FS, (4, 2, 1))) + FS[i % 3](x) for i, x in enumerate(a)]
    np.testing.assert_allclose(out, want, rtol=1e-13)


PROGRAM = """
import sys
import numpy as np
from math import sin, cos
from treadle import njit

@njit(cache=True)
def twice(x):
    return x * 2

FS = (twice, sin, cos)

@njit(cache=True)
def f(x, i):
    s = FS[i](x)
    for g in FS:
        s = s * 2 + g(x)
    return s

assert f(1.5, 2) == f.py_func(1.5, 2)
print(sum(f.stats.cache_hits.values()))
"""


def test_from_the_cache(tmp_path):
    script = tmp_path / "tuples.py"
    script.write_text(PROGRAM)
    env = {**os.environ, "TREADLE_CACHE_DIR": str(tmp_path / "cache")}
    out = [
        subprocess.run(
            [sys.executable, str(script)], env=env, check=True, capture_output=True, text=True
        ).stdout
        for _ in range(2)
    ]
    assert [line.strip() for line in out] == ["0", "1"]


def test_one_of_the_same_functions_in_another_order():
    """Where two values are one of the same functions, met in different orders, one of these is what both are."""

    def early(n):
        if n < 0:
            return math.sin
        f = math.cos
        if n > 3:
            f = math.exp
        return f

    def use(n):
        fs = [math.cos, math.exp]
        fs.append((math.cos, math.exp, math.sin)[n % 3])
        return compiled(n)(0.5), fs[2](0.25)

    compiled = early
    expected = [use(n) for n in range(5)]
    compiled = njit(early)
    assert [njit(use)(n) for n in range(5)] == expected
