"""Ranges that span more than an int64 counts, and steps whose multiples wrap."""

import itertools

import numpy as np
import pytest
from treadle import njit

LEAST, MOST = -(2**63), 2**63 - 1


@njit
def walk(start, stop, step):
    n = 0
    s = 0
    for i in range(start, stop, step):
        n += 1
        s = s * 31 + i
        if n > 9:
            break
    return n, s


@njit
def known(a):
    s = 0
    for i in range(-(2**63), 2**63 - 1, 2**62):
        s = s * 10 + a[(i >> 62) + 2]
    for i in range(2**63 - 1, -(2**63), -(2**62)):
        s = s * 10 + a[(i >> 62) + 2]
    return s


def wrap(x):
    return (x + 2**63) % 2**64 - 2**63


@pytest.mark.parametrize("step", [2**62, MOST // 2, MOST, -(2**62), LEAST, LEAST + 1, 2**61 + 1, 7, -5])
def test_wide_steps(step):
    ends = [LEAST, LEAST + 1, -3, 0, 5, MOST - 1, MOST]
    for start, stop in itertools.product(ends, ends):
        assert walk(start, stop, step) == (
            walk.py_func(start, stop, step)[0],
            wrap(walk.py_func(start, stop, step)[1]),
        )


def test_wide_known_ranges():
    assert known(np.arange(4)) == known.py_func(np.arange(4)) == 1233210


@njit
def walk_by_one(start, stop):
    n = 0
    s = 0
    for i in range(start, stop):
        n += 1
        s = s * 31 + i
        if n > 9:
            break
    return n, s


@njit
def walk_back(start, stop, step):
    n = 0
    s = 0
    for i in reversed(range(start, stop, step)):
        n += 1
        s = s * 31 + i
        if n > 9:
            break
    for i in reversed(range(start, stop)):
        n += 1
        s = s * 31 + i
        if n > 19:
            break
    return n, s


@njit
def down(start, stop):
    n = 0
    s = 0
    for i in range(start, stop, -1):
        n += 1
        s = s * 31 + i
        if n > 9:
            break
    for i in range(start, stop, -2):
        n += 1
        s = s * 31 + i
        if n > 19:
            break
    for i in range(stop, start, 2):
        n += 1
        s = s * 31 + i
        if n > 29:
            break
    for i in range(-5, start):
        n += 1
        s = s * 31 + i
        if n > 39:
            break
    return n, s


ENDS = [LEAST, LEAST + 1, -3, -1, 0, 1, 5, MOST - 1, MOST]


def agree(fn, *args):
    n, s = fn.py_func(*args)
    assert fn(*args) == (n, wrap(s)), args


@pytest.mark.parametrize("step", [1, -1, 2, -2, 3])
def test_more_items_than_an_int64_counts(step):
    for start, stop in itertools.product(ENDS, ENDS):
        agree(walk, start, stop, step)
        agree(walk_back, start, stop, step)


def test_huge_ranges_with_a_known_step():
    for start, stop in itertools.product(ENDS, ENDS):
        agree(walk_by_one, start, stop)
        agree(down, start, stop)


@njit
def size(start, stop):
    return len(range(start, stop))


@njit
def last(start, stop):
    return range(start, stop)[-1]


@njit
def any_items(start, stop, step):
    return bool(range(start, stop)), bool(range(start, stop, step))


@njit
def first_down(start):
    for i in range(start, -1, -1):
        return i
    return -1


@njit
def four_down(start):
    n = s = 0
    for i in range(start, -1, -1):
        n += 1
        s = s * 31 + i
        if n > 3:
            break
    return n, s


@njit
def size_down(start):
    return len(range(start, -1, -1))


def test_all_numbers_down_to_0():
    """From 2**63 - 1 on there are 2**63, one more than an int64 holds."""
    for start in (LEAST, -1, 0, 2, MOST - 1, MOST):
        assert first_down(start) == first_down.py_func(start)
        agree(four_down, start)
        if start < MOST:
            assert size_down(start) == size_down.py_func(start)
    with pytest.raises(OverflowError, match="Python int too large to convert to C ssize_t"):
        size_down(MOST)


STRIDES = [1, -1, 2, -2, 3, -7, 2**31, -(2**31), MOST - 1, MOST, LEAST + 1, LEAST]


@njit
def between(a, start, stop, step):
    part = a[start:stop:step]
    return len(part), part.sum()


@pytest.mark.parametrize("step", STRIDES)
def test_slices_by_any_step(step):
    known = njit(eval(f"lambda a, start, stop: (len(a[start:stop:{step}]), a[start:stop:{step}].sum())"))
    for n in (0, 1, 5, 6):
        a = np.arange(1, n + 1)
        for start, stop in itertools.product([LEAST, -6, -2, -1, 0, 1, 4, 6, MOST], repeat=2):
            want = between.py_func(a, start, stop, step)
            assert between(a, start, stop, step) == want, (n, start, stop)
            assert known(a, start, stop) == want, (n, start, stop)


def test_length_of_a_huge_range():
    for start, stop in itertools.product(ENDS, ENDS):
        assert any_items(start, stop, -1) == any_items.py_func(start, stop, -1)
        if stop - start > MOST:
            for fn in (size, last):
                with pytest.raises(OverflowError, match="Python int too large to convert to C ssize_t"):
                    fn(start, stop)
        else:
            assert size(start, stop) == size.py_func(start, stop)
            if stop > start:
                assert last(start, stop) == last.py_func(start, stop)


@njit
def sums(a, start, stop):
    s = 0
    for i in range(start, stop):
        s = s * 3 + a[i]
    for i in range(len(a)):
        for j in range(max(i - 2, 0), min(i + 3, len(a))):
            s = s * 3 + a[j]
        for j in reversed(range(i, len(a))):
            s = s * 3 + a[j]
    return s


def test_indices_over_ranges_between_variables():
    """Checks that the bounds pass drops must hold at every end."""
    a = np.arange(1, 8)
    for start, stop in itertools.product([LEAST, -8, -7, -1, 0, 3, 7, 8, MOST], repeat=2):
        if stop > start and (stop > 7 or start < -7):
            with pytest.raises(IndexError):
                sums(a, start, stop)
        else:
            assert sums(a, start, stop) == wrap(sums.py_func([int(x) for x in a], start, stop))


@njit
def narrowing(a, lo, hi):
    s = k = 0
    while True:
        n = len(range(lo, hi))
        if k >= 4:
            break
        for j in range(lo, hi):
            s += a[j] * (k + 1)
        k += 1
        lo += 1
        hi -= 1
    return s, n


def test_a_range_in_the_head_of_a_loop():
    """Its head is copied when the loop is rotated, and with it what computes the length."""
    a = np.arange(1, 30)
    for lo, hi in [(2, 20), (2, 8), (0, 0), (5, 3), (2, 3)]:
        assert narrowing(a, lo, hi) == narrowing.py_func(a, lo, hi)


# --- sizes that an int64 cannot count, or whose bytes it cannot ---

TOO_BIG = r"array is too big; `arr\.size \* arr\.dtype\.itemsize` is larger"


def repeats(n, *shape, dtype=np.int8):
    """An array of one item that repeats."""
    return np.broadcast_to(np.ones(1, dtype), (n, *shape) if shape else (n,))


LONG, TALL, WIDE = repeats(2**62), repeats(2**62, 1), repeats(1, 2**62)


@pytest.mark.parametrize(
    "f, args",
    [
        (lambda a, n: np.repeat(a, n), (np.arange(8), 2**61 + 1)),
        (lambda a, n: np.repeat(a, n), (np.arange(8), 2**61)),
        (lambda a, n: a.repeat(n), (np.arange(8), 2**61 + 1)),
        (lambda a, n: np.repeat(a, n).size, (np.arange(8), 2**61 + 1)),
        (lambda a, n: np.repeat(a, n, axis=1), (np.ones((2, 4)), 2**62)),
        (lambda a, n: np.repeat(a, n, axis=1), (np.zeros((0, 4)), 2**62)),
        (lambda a, n: np.tile(a, n), (np.arange(8), 2**61 + 1)),
        (lambda a, n: np.tile(a, (1, n)), (np.ones((2, 4)), 2**62 + 1)),
        (lambda a: np.concatenate((a, a, a, a)), (LONG,)),
        (lambda a, b: np.concatenate((a, a, a, a, b)), (LONG, np.ones(5, np.int8))),
        (lambda a: np.hstack((a, a, a, a)), (LONG,)),
        (lambda a: np.vstack((a, a, a, a)), (TALL,)),
        (lambda a: np.vstack((a, a, a, a)), (LONG,)),
        (lambda a: np.column_stack((a, a, a, a)), (WIDE,)),
        (lambda a, k: np.diag(a, k), (np.ones(3), 2**63 - 1)),
        (lambda a, k: np.diag(a, k), (np.ones(3), -(2**63))),
    ],
)
def test_extents_that_are_computed(f, args):
    """Not an array of what is left after the sum or the product wrapped around."""
    with pytest.raises(ValueError, match=TOO_BIG):
        njit(f)(*args)


@pytest.mark.parametrize(
    "f, args",
    [
        (lambda n: np.broadcast_to(np.ones(1), (n, n)).shape, (2**32,)),
        (lambda n: np.broadcast_to(np.ones(1), (n, n)).ravel(), (2**32,)),
        (lambda n: np.broadcast_to(np.ones(1), (0, n, n)).shape, (2**32,)),
        (lambda n: np.broadcast_to(1.0, n).shape, (2**60,)),
        (lambda a, b: np.broadcast_arrays(a, b)[0].size, (repeats(2**40, 1), repeats(1, 2**40))),
        (lambda a, n: a.reshape(n, -1), (np.zeros(0), 2**61)),
        (lambda a, n: a.reshape(n, n, 0), (np.zeros(0), 2**40)),
        (lambda n: len(np.zeros((n, n))), (2**40,)),
        (lambda n: np.zeros((n, n)).size, (2**40,)),
        (lambda n: np.zeros((n, 0, n)).size, (2**40,)),
        (lambda n: np.full((n,) * 4, 1.0).size, (2**16,)),
        (lambda n: (np.zeros((n, n)) + 1).sum(), (2**40,)),
        (lambda a, b: (a + b).size, (repeats(2**40, 1), repeats(1, 2**40))),
        (lambda a, b: (a + b).size, (TALL, np.ones(4))),
        (lambda n: np.tri(n, n).size, (2**40,)),
    ],
)
def test_sizes_of_arrays_that_are_not_made(f, args):
    with pytest.raises(ValueError, match="too big|cannot reshape"):
        njit(f)(*args)


@pytest.mark.parametrize(
    "f, args",
    [
        (lambda n: np.broadcast_to(np.ones(1), (n, n)).size, (2**29,)),
        (lambda n: np.broadcast_to(np.int8(1), (n,)).size, (2**63 - 1,)),
        (lambda n: np.broadcast_to(1.0, (n,)).size, (2**60 - 1,)),
        (lambda n: np.broadcast_to(1.0, ()).size, (0,)),
        (lambda a, n: a.reshape(n, -1).shape, (np.zeros(0), 2**50)),
        (lambda a, n: np.repeat(a, n, axis=1).shape, (np.zeros((0, 4)), 0)),
        (lambda a, n: np.repeat(a, n, axis=1).shape, (np.zeros((0, 4)), 5)),
        (lambda a: a[:: 2**40].size, (np.arange(10),)),
        (lambda a: a[:: -(2**63)].size, (np.arange(10),)),
        (lambda a: a[: 0 : 2**40].size, (np.arange(10),)),
        (lambda a: a[:: 2**31].size, (np.arange(10),)),
        (lambda a: a[:: 2**33].size, (LONG,)),
    ],
)
def test_large_sizes_that_fit(f, args):
    assert njit(f)(*args) == f(*args)


def test_large_sizes_of_arrays_that_are_merged_away():
    assert njit(lambda n: np.full((n,) * 4, 1.0).size)(2**10) == 2**40
    assert njit(lambda n: np.zeros((n, n)).size)(2**20) == 2**40


@pytest.mark.parametrize(
    "f",
    [
        lambda a: a.copy(),
        lambda a: a + 1,
        lambda a: a.sum(),
        lambda a: a.sum(axis=0),
        lambda a: a[a > 0],
        lambda a: np.cumsum(a, axis=0),
        lambda a: np.argwhere(a),
    ],
)
def test_many_rows_without_items(f):
    a = np.zeros((2, 0, 2**36)).T
    want, got = f(a), njit(f)(a)
    assert np.shape(got) == np.shape(want) and np.sum(got) == np.sum(want)


def test_far_diagonals():
    f = njit(lambda a, k: np.diagonal(a, k).size)
    assert [f(np.ones((3, 3)), k) for k in (-(2**63), -(2**63) + 1, 2**63 - 1, -1)] == [0, 0, 0, 2]


def test_more_indices_than_can_be_counted():
    @njit
    def first(n):
        for i in np.ndindex(n, n):
            if i[1] == 2:
                return i
        return 0, 0

    assert first(3) == (0, 2)
    with pytest.raises(ValueError, match=TOO_BIG):
        first(2**40)


def test_a_step_of_one_is_the_types():
    """A range that is an argument has no constant step, but a type that says it is 1: no division, and an index that bounds can follow."""

    @njit
    def total(r, a):
        s = 0.0
        for i in r:
            s += a[i]
        return s

    @njit
    def outer(n, a):
        return total(range(n), a) if n > 1 else total(range(1, 2), a)

    a = np.arange(9.0)
    assert total(range(2, 9), a) == a[2:].sum() and total(range(3, 3), a) == total(range(3, 1), a) == 0
    assert "quot" not in total.inspect_ir(total.signatures[0])
    assert outer(6, a) == a[:6].sum() and outer(0, a) == 1
    with pytest.raises(IndexError):
        total(range(2, 10), a)
    assert total(range(8, -1, -3), a) == a[::-3].sum()
