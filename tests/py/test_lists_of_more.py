"""List comprehensions of tuples, which loops run over, and of arrays, which are joined; functions that call themselves in one."""

import numpy as np
import pytest
from treadle import TypingError, njit, prange


def check(f, *args):
    want = f(*args)
    for options in ({}, {"parallel": True}, {"inline": "always"}):
        got = njit(**options)(f)(*args)
        for x, y in zip(got, want, strict=True):
            assert np.asarray(x).dtype == np.asarray(y).dtype and np.asarray(x).shape == np.asarray(y).shape
            np.testing.assert_array_equal(x, y)


# --- of tuples ---


def pairs(n, m):
    s = 0.0
    for a, b in [(i, i + 1.5) for i in range(n)]:
        s += a * b
    for a, (b, c) in [(i, (i * j, j > 1)) for i in range(n) for j in range(m) if i != j]:
        s = s * 2 + a - b + c
    for i, t in enumerate([(i, 2 * i) for i in range(n) if i % 2]):
        s += i * (t[0] + t[1])
    for t in [(i,) for i in range(n)]:
        s += t[0] + len(t)
    for (i, x), y in zip([(i, i * 1.5) for i in range(4)], [n * k for k in range(3)]):
        s += i * x - y
    k = max([(i % 3, i) for i in range(n + 1)])
    return s, k[0], k[1]


@pytest.mark.parametrize("n,m", [(5, 3), (40, 1), (1, 0), (0, 3)])
def test_tuples_are_run_over(n, m):
    check(pairs, n, m)


def test_a_list_is_made_before_the_loop():
    """What the body stores is not in it."""

    def f(n):
        a = np.arange(float(n))
        s = 0.0
        for i, x in [(i, a[i]) for i in range(n - 1)]:
            a[i + 1] += x
            s += x
        return s, a

    check(f, 9)


def test_types_of_tuples_stay():
    def f(n):
        s, t = np.uint8(0), np.float32(0)
        for i, x in [(np.uint8(i), np.float32(i) / 3) for i in range(n)]:
            s = np.uint8(s + i)
            t = np.float32(t + x)
        return np.full(1, s), np.full(1, t)

    check(f, 30)


def test_in_prange():
    @njit(parallel=True)
    def f(out):
        for i in prange(len(out)):
            for a, b in [(k, k * i) for k in range(i)]:
                out[i] += a + b

    want = [sum(k + k * i for k in range(i)) for i in range(20)]
    out = np.zeros(20, np.int64)
    f(out)
    assert list(out) == want


def test_it_raises_where_the_item_does():
    @njit
    def f(a):
        s = 0
        for x, y in [(a[i], a[i + 1]) for i in range(len(a))]:
            s += x * y
        return s

    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        f(np.arange(3))


# --- of arrays ---


def stacked(n):
    return (
        np.stack([np.arange(3) * i for i in range(n)]),
        np.stack([np.arange(3) * i for i in range(n)], axis=1),
        np.stack([np.ones((2, 3)) * i for i in range(n)], axis=-2),
        np.stack([np.arange(3) * i for i in range(n)], dtype=np.float64),
        np.vstack([np.arange(3) * i for i in range(n)]),
        np.column_stack([np.arange(3) * i for i in range(n)]),
        np.array([np.arange(3) * i for i in range(n)]),
        np.vstack(np.ones((n, 2))),
        np.stack(np.arange(24).reshape(2, 3, 4)[:, ::-1], axis=1),
    )


def joined(n):
    a = np.arange(12.0)
    return (
        np.concatenate([np.arange(i) * i for i in range(n)]),
        np.concatenate([a[i:] for i in range(n)]),
        np.concatenate([a[::-1][:: i + 1] for i in range(n) for j in range(i + 1) if j != 1]),
        np.concatenate([np.ones((i, 2), np.float32) for i in range(n)]),
        np.vstack([np.ones((i, 2)) * i for i in range(n)]),
        np.hstack([np.arange(i) for i in range(n)]),
        np.concatenate([a.reshape(4, 3).T[i % 3 :] for i in range(n)]),
        a,
    )


@pytest.mark.parametrize("n", [1, 2, 7, 33])
def test_arrays_are_stacked_and_joined(n):
    check(stacked, n)
    check(joined, n)


@pytest.mark.parametrize(
    "f,n",
    [
        (lambda n: np.concatenate([np.arange(i) for i in range(n)]), 0),
        (lambda n: np.stack([np.arange(3) for i in range(n)]), 0),
        (lambda n: np.vstack([np.arange(3) for i in range(n)]), 0),
        (lambda n: np.concatenate([np.ones((2, i)) for i in range(n)]), 3),
        (lambda n: np.vstack([np.ones((2, i // 2)) for i in range(n)]), 4),
    ],
)
def test_errors_are_numpys(f, n):
    with pytest.raises(ValueError) as want:
        f(n)
    with pytest.raises(ValueError) as got:
        njit(f)(n)
    assert str(got.value) == str(want.value)


def test_a_joined_array_grows_with_what_is_in_it():
    def f(n):
        return (np.concatenate([np.full(i % 7, i) for i in range(n)]),)

    check(f, 3000)


# --- that call themselves ---


def test_recursion_through_a_comprehension():
    @njit
    def total(n):
        return 1 if n < 2 else sum(total(k) for k in range(n))

    @njit
    def depth(n):
        return 1 if n < 2 else max(depth(k) for k in range(n)) + 1

    @njit
    def listed(n):
        return sum([listed(k) for k in range(n)]) if n >= 2 else 1.5

    @njit
    def mapped(n):
        return 1 if n < 2 else sum(map(mapped, range(n)))

    @njit
    def asked(n):
        return n < 2 or any(not asked(k) for k in range(n - 1))

    @njit
    def first(n):
        return n if n < 2 else next((first(k) for k in range(n - 1, 0, -1)), 0)

    @njit
    def array(n):
        x = 1
        if n >= 2:
            x = np.array([array(k) for k in range(n)]).sum()
        return x

    for f in (total, depth, listed, mapped, asked, first, array):
        for n in (0, 1, 2, 3, 6):
            assert f(n) == f.py_func(n), (f, n)


def test_recursion_without_an_end_is_told():
    @njit
    def f(n):
        return sum([f(k) for k in range(n)])

    @njit
    def g(n):
        s = 1
        for x in [g(k) for k in range(n)]:
            s += x
        return s

    for each in (f, g):
        with pytest.raises(TypingError, match="every path calls the function again"):
            each(3)


def test_an_error_in_the_item_is_told_as_itself():
    @njit
    def f(n):
        return 1 if n < 2 else sum(f(k).nothing for k in range(n))

    with pytest.raises(TypingError, match="nothing"):
        f(3)
