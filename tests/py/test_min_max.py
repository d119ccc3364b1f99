"""min() and max() with a key, and with something else where there are no items; next() of a generator expression in a loop."""

import math

import numpy as np
import pytest
from treadle import cuda, njit, prange

A = np.array([3.0, -7.5, 7.5, 0.0, -0.0, 2.0])
NAN = np.array([np.nan, 2.0, np.nan, 1.0])


def twice(x):
    return 2 * x


def rows(a, n):
    return (
        max(a, key=abs),
        min(a, key=lambda x: -x),
        max(range(len(a)), key=lambda i: a[i]),
        min(range(len(a)), key=lambda i: (abs(a[i]), -i)),
        max((i * i - 3 * i for i in range(n)), key=twice),
        max((x for x in a if x > 100), default=-1),
        min((x for x in a), default=None),
        min((x for x in a if x > 100), default=None),
        max(a[:0], default=5.5),
        max(a, default=100),
        max(range(0), default=7),
        max((), default=3),
        max((), key=abs, default=3),
        max((1, 2), default=9),
        min(enumerate(a), key=lambda t: t[1]),
        max(zip(a, range(len(a)))),
        min((abs(x), i) for i, x in enumerate(a)),
        max(n, 3, -8, key=abs),
        max(n, 2.5, key=lambda x: -x),
        min((n, 1), (n, 0), (2, 9)),
        max([x * 2 for x in a], key=math.cos),
        max(a, key=None),
        min(a, key=lambda x: 0),
        max(map(abs, a), key=lambda x: x % 2),
        min(((x, y) for x in a for y in a if x > y), key=lambda t: t[0] * t[1], default=(0.0, 0.0)),
    )


def text(x):
    return repr(tuple(map(float, x)) if isinstance(x, tuple) else None if x is None else float(x))


@pytest.mark.parametrize("a", [A, A[::-1], A[::2], NAN, NAN[1:], A.astype(np.float32)], ids=str)
@pytest.mark.parametrize("n", [1, 2, 6, -9])
def test_they_are_pythons(a, n):
    if n < 1:
        with pytest.raises(ValueError, match="empty"):
            njit(rows)(a, n)
        with pytest.raises(ValueError, match="empty"):
            rows(a, n)
        return
    for options in ({}, {"parallel": True}):
        assert list(map(text, njit(**options)(rows)(a, n))) == list(map(text, rows(a, n)))


def test_in_a_prange_loop_a_callee_and_a_kernel():
    @njit
    def best(a, k):
        return max(range(len(a)), key=lambda i: a[i] * k)

    @njit(parallel=True)
    def f(a):
        out = np.zeros(len(a), np.int64)
        for i in prange(len(a)):
            out[i] = best(a, a[i]) + min((j for j in range(i)), default=-1, key=lambda j: -j)
        return out

    want = [
        max(range(len(A)), key=lambda i: A[i] * k) + min((j for j in range(n)), default=-1, key=lambda j: -j)
        for n, k in enumerate(A)
    ]
    assert list(f(A)) == want

    @cuda.jit
    def kernel(a, out):
        i = cuda.grid(1)
        if i < len(out):
            out[i] = best(a, a[i]) + min((j for j in range(i)), default=-1, key=lambda j: -j)

    out = np.zeros(len(A), np.int64)
    kernel[2, 4](A, out)
    assert list(out) == want


def test_it_is_called_once_for_each_in_order():
    @njit
    def f(a, seen):
        def key(i):
            seen[0] += 1
            seen[seen[0]] = i
            return a[i]

        return min(range(len(a)), key=key)

    seen = np.zeros(9, np.int64)
    assert f(A, seen) == 1
    assert list(seen) == [6, 0, 1, 2, 3, 4, 5, 0, 0]


def test_what_is_refused_says_so():
    with pytest.raises(TypeError, match="Cannot specify a default for max.. with multiple positional"):
        njit(lambda a: max(a, 1, default=2))(3)
    with pytest.raises(TypeError, match="no common type"):
        njit(lambda a: max(a, default=(1, 2)))(A)
    with pytest.raises(TypeError):
        njit(lambda a: max(a, key=lambda x: a))(A)


def test_next_of_a_generator_that_uses_the_loops_variable():
    def f(a):
        s = 0
        for j in range(4):
            s = 10 * s + next((i for i in range(len(a)) if a[i] > 2 * j), 9)
            s += next(i + j for i in range(len(a)) if a[i] >= j)
        return s

    for a in (A, A[::-1], A[1:]):
        assert njit(f)(a) == f(a)
    with pytest.raises(StopIteration):
        njit(f)(A[1:2])

    @njit
    def kept(a):
        s = 0.0
        for j in range(3):
            g = (x + j for x in a)
            for j in range(2):
                s += next(g)
        return s

    with pytest.raises(Exception, match="assigned again before it ends"):
        kept(A)
