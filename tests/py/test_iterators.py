"""Iterators as values: iter(), next(), map(), filter(), and that what is used up stays so. The oracle is CPython."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import treadle
from treadle import njit, prange, vectorize

CASES = []


def case(fn):
    CASES.append(pytest.param(fn, id=fn.__name__))
    return fn


@case
def enumerate_goes_on(a):
    e = enumerate(a)
    s = 0.0
    for i, x in e:
        s += x
        if i == 1:
            break
    for i, x in e:
        s += 100 * x + i
    return s


@case
def zip_is_used_up_in_a_loop(a):
    z = zip(a, a)
    n = 0
    for k in range(3):
        for x, y in z:
            n += k + 1
    return n


@case
def reversed_goes_on(a):
    r = reversed(a)
    x = next(r, -1.0)
    s = 0.0
    for j, y in zip(range(10), r):
        s = s * 10 + y
    return x * 1000 + s


@case
def one_of_two(a):
    e = enumerate(a) if a.size > 2 else enumerate(a, 3)
    i = x = 0.0
    for i, x in e:
        if i > 2:
            break
    for i, x in e:
        pass
    return i, x


@case
def in_a_tuple(a):
    s = 0.0
    for t in (enumerate(a), enumerate(a, 4)):
        for i, x in t:
            s += i * x
        for i, x in t:
            s += 1e9
    return s


@case
def taken_by_hand(a):
    it = iter(a)
    return next(it) + 10 * next(it)


@case
def two_names(a):
    it = iter(a)
    other = it
    return next(it, 0.5) + 10 * next(other, 0.5) + 100 * next(iter(it), 0.5)


@case
def pairs(a):
    it = iter(a)
    s = 0.0
    for x, y in zip(it, it):
        s = s * 10 + x * y
    return s, next(it, -1.0)


@case
def until_stop(a):
    it = iter(a)
    n = 0.0
    try:
        while True:
            n = n * 10 + next(it)
    except StopIteration:
        n += 0.5
    return n


@case
def first_of_zip_loses_one(a):
    it = iter(a)
    s = 0.0
    for x, k in zip(it, range(2)):
        s += x
    return s, next(it, -1.0)


@case
def last_of_zip_loses_none(a):
    it = iter(a)
    s = 0.0
    for k, x in zip(range(2), it):
        s += x
    return s, next(it, -1.0)


@case
def nested_in_any_way(a):
    s = 0.0
    for i, ((j, x), y) in enumerate(zip(enumerate(filter(lambda v: v % 2 == 1, a), 5), reversed(a))):
        s = s * 10 + i * j * x - y
    return s


@case
def filter_inside_of_zip(a):
    f = filter(lambda v: v > 0, a)
    s = 0.0
    for k, x, y in zip(range(2), f, f):
        s = s * 10 + k + x * y
    return s, next(f, -1.0)


@case
def filter_of_rows(a):
    s = 0.0
    for r in filter(lambda r: r[0] >= 0, a[: a.size // 2 * 2].reshape(-1, 2)):
        r[1] += 10
        s += r[0]
    return s, a.sum()


@case
def maps(a):
    s = 0.0
    for x, y in map(lambda p, q: (p, q * 2), a, range(100)):
        s += x * y
    return s


@case
def map_keeps_what_it_changes(a):
    seen = np.zeros(1)

    def note(v):
        seen[0] += 1
        return v * 2

    m = map(note, a)
    x = next(m, -1.0)
    return x, seen[0], sum(m), seen[0]


@case
def folds(a):
    return (
        sum(map(lambda v: v * v, filter(lambda v: v > 1, a))),
        any(map(lambda v: v > 2, a)),
        all(map(lambda v: v > 2, a)),
        sum(filter(None, a), 10),
    )


@case
def extremes(a):
    return max(map(lambda v: -v, a)), min(filter(lambda v: v > 1, a))


@case
def any_leaves_the_rest(a):
    it = iter(a)
    return any(map(lambda v: v == 1, it)), next(it, -1.0)


@case
def sums_the_rest(a):
    it = iter(a)
    next(it, 0.0)
    return sum(it), sum(it)


@case
def membership(a):
    it = iter(a)
    return 1.0 in it, next(it, -1.0), (2, 2.0) in enumerate(a), 7 in map(lambda v: v + 4, a)


@case
def membership_of_ranges(a):
    n = a.size
    s = 0
    for k in range(-9, 10):
        s = (
            s * 2
            + (k in range(n))
            + (k in range(7, -7, -3))
            + (k in range(-n, 9, n + 1))
            + (k in range(3, 3))
        )
    return s, 10**12 in range(10**15), True in range(-(2**63), 2**63 - 1, 2)


@case
def nothing_to_ask(a):
    return next(iter(()), 5)


@case
def one_loop_in_another(a):
    it = iter(a)
    x = y = -1.0
    for x in it:
        for y in it:
            if y == 2:
                break
        else:
            y = 50.0
    return x, y


@case
def unpacked(a):
    x, y, z, w = map(lambda v: v + 1, a)
    return x * 1000 + y * 100 + z * 10 + w


@case
def unpacked_enumerate(a):
    (i, x), (j, y) = enumerate(a[:2])
    return i, x, j, y


@case
def unpacked_iterator(a):
    x, y = iter(a)
    return x + y


@case
def unpacked_range(a):
    x, y = range(a.size, a.size + 2)
    return x, y


@case
def default_none(a):
    r = next(iter(a), None)
    return -1.0 if r is None else r


@case
def array_is_seen_live(a):
    s = 0.0
    it = iter(a)
    for x in it:
        a[-1] += 1
        s += x
    return s


@case
def rows(a):
    b = a[: a.size // 2 * 2].reshape(-1, 2)
    it = iter(b)
    s = 0.0
    for r in it:
        r[0] = 9.0
        s += r[1]
    return s, b.sum()


@case
def over_indices(a):
    it = np.ndindex(2, 3)
    next(it)
    s = 0
    for i, j in it:
        s = s * 10 + i + j
    return s


@case
def in_rounds_of_a_loop(a):
    s = 0.0
    for k in range(3):
        it = iter(a)
        for j in range(k):
            s = s * 10 + next(it, 0.0)
    return s


@case
def else_and_after(a):
    it = iter(a)
    x = -1.0
    for x in it:
        if x > 1:
            break
    else:
        return 77.0, x
    return next(it, -5.0), x


@case
def try_inside(a):
    it = iter(a)
    s = 0.0
    for x in it:
        try:
            if x == 1:
                raise ValueError
            s += next(it)
        except ValueError:
            s += 100
        except StopIteration:
            return s, -1.0
    return s, x


def outcome(f, n, cls=np.float64):
    a = np.arange(n, dtype=cls)
    try:
        return f(a), a
    except (ValueError, StopIteration, UnboundLocalError) as e:
        return type(e), a


@pytest.mark.parametrize("fn", CASES)
def test_as_python(fn):
    f = njit(fn)
    for n in (4, 0, 1, 2, 5):
        got, a = outcome(f, n)
        want, b = outcome(fn, n)
        assert got == want, n
        assert np.array_equal(a, b)


@pytest.mark.parametrize("options", [{"parallel": True}, {"fastmath": True}, {"boundscheck": False}])
def test_under_other_options(options):
    for p in CASES[::3]:
        f = njit(**options)(p.values[0])
        assert outcome(f, 4)[0] == outcome(p.values[0], 4)[0]


@njit
def take(it):
    return next(it)


@njit
def make(a):
    next(it := iter(a))
    return it


@njit(inline="always")
def take_inlined(it, other):
    return next(it) * 10 + next(other, -1.0)


def test_an_iterator_goes_through_calls():
    @njit
    def f(a):
        it = make(a)
        return take(it), take(it), take_inlined(it, it), next(it, -1.0)

    assert f(np.arange(6.0)) == (1.0, 2.0, 34.0, 5.0)
    with pytest.raises(StopIteration) as e:
        f(np.arange(3.0))
    assert e.value.args == ()


def test_zip_handed_to_a_function_is_one():
    @njit
    def some(z):
        for x, y in z:
            return x * y
        return -1.0

    @njit
    def f(a):
        return some(zip(a, a)), some(enumerate(a, 1))

    assert f(np.arange(2.0, 5.0)) == (4.0, 2.0)


def test_each_round_of_prange_has_its_own():
    @njit(parallel=True)
    def f(a, out):
        for i in prange(a.shape[0]):
            it = iter(a[i])
            x = next(it, 0.0)
            s = 0.0
            for y, z in zip(it, filter(lambda v: v > 0, a[i])):
                s += y * z
            out[i] = x + s
        return out

    a = np.random.default_rng(1).normal(size=(300, 17))
    assert np.array_equal(f(a, np.zeros(300)), f.py_func(a, np.zeros(300)))


def test_one_iterator_for_all_rounds_of_prange_is_refused():
    @njit(parallel=True)
    def f(a, out):
        it = iter(a)
        for i in prange(a.size):
            out[i] = next(it)
        return out

    with pytest.raises(treadle.TreadleError):
        f(np.arange(9.0), np.zeros(9))


def test_prange_that_is_asked_by_hand():
    @njit(parallel=True)
    def f(n):
        it = iter(prange(n))
        s = next(it, -1)
        for i, j in zip(prange(n), it):
            s = s * 3 + i - j
        return s

    assert f(7) == f.py_func(7)


def test_in_a_ufunc():
    @vectorize
    def f(x):
        s = 0.0
        it = iter((1.0, 2.0, 3.0)) if False else iter(range(5))
        next(it)
        for k in map(lambda v: v * x, it):
            s += k
        return s

    assert np.array_equal(f(np.arange(3.0)), np.arange(3.0) * 10)


def test_recursion_through_map():
    @njit
    def f(n):
        if n <= 0:
            return 1
        return sum(map(lambda k: f(n - 1 - k), range(2)))

    assert f(10) == f.py_func(10)


def test_threads_with_small_stacks():
    @njit
    def f(a):
        it = iter(a)
        return sum(filter(lambda v: v > next(it, 9.0), a))

    a = np.array([3.0, -1.0, 4.0, 1.0])
    want, got = f.py_func(a), []
    old = threading.stack_size(128 << 10)
    try:
        ts = [threading.Thread(target=lambda: got.append(f(a))) for _ in range(3)]
        for t in ts:
            t.start()
        for t in ts:
            t.join()
    finally:
        threading.stack_size(old)
    assert got == [want] * 3


@pytest.mark.parametrize("layout", ["strided", "read-only", "fortran", "overlapping"])
def test_layouts(layout):
    a = np.arange(24.0).reshape(4, 6)
    if layout == "strided":
        a = a[::-2, ::3]
    elif layout == "fortran":
        a = np.asfortranarray(a)
    elif layout == "overlapping":
        a = np.lib.stride_tricks.as_strided(a, (4, 3), (8, 8), writeable=False)
    a.flags.writeable = layout in ("strided", "fortran")

    @njit
    def f(a):
        it = iter(a)
        r = next(it)
        s = r[1]
        for q, (i, p) in zip(it, enumerate(a)):
            s = s * 2 + q[0] * i + p[1]
        return s

    assert f(a) == f.py_func(a)


def message(f, *args, error=treadle.TypingError):
    with pytest.raises(error) as e:
        f(*args)
    return str(e.value)


def test_messages():
    @njit
    def no_iterator(a):
        return next(a)

    @njit
    def not_iterable(x):
        return next(iter(x))

    @njit
    def no_axes(a):
        return next(iter(a.reshape(())))

    @njit
    def backwards(a):
        it = iter(a)
        return sum(reversed(it))

    @njit
    def length(a):
        return len(iter(a))

    @njit
    def strict(a):
        n = 0
        for x, y in zip(iter(a), a, strict=True):
            n += 1
        return n

    @njit
    def kinds(a):
        return next(iter(a), "none")

    @njit
    def wrong_number(a):
        for x in map(lambda: 1, a):
            return x
        return 2

    @njit
    def returned(a):
        return iter(a)

    a = np.arange(1.0)
    text = message(no_iterator, a)
    assert "array(float64, 1d, C) is not an iterator" in text and "make one before: it = iter(x)" in text
    assert "float64 is not iterable" in message(not_iterable, 1.0)
    assert "iteration over a 0-d array" in message(no_axes, a)
    assert "is not reversible" in message(backwards, a)
    assert "has no len()" in message(length, a)
    assert "zip() with strict=True of iterator(" in message(strict, a, error=treadle.UnsupportedError)
    text = message(wrong_number, a)
    assert "takes 0 positional arguments but 1 was given" in text and "step" not in text
    assert "they have no common type" in message(kinds, a)
    assert "iterator" in message(returned, a, error=treadle.TreadleError)


def by_a_loop(l):
    it, s = iter(l), 0
    for x in it:
        s += x
    l.append(5)
    return s, next(it, -1), list(it), 5 in it


def by_list(l):
    it, back, made = iter(l), enumerate(l), (2 * x for x in l)
    had = list(it), list(back), list(made)
    l.append(7)
    return had, list(it), list(back), list(made)


def by_map_and_filter(l):
    a, b = map(lambda x: x + 1, l), filter(lambda x: x > 1, l)
    had = list(a), list(b)
    l.append(7)
    return had, list(a), list(b)


def by_zip(l):
    """The second one was not asked for more."""
    a, b = iter([1]), iter(l)
    had = list(zip(b, a)), list(zip(a, b))
    l.append(8)
    return had, list(a), list(b)


def not_yet(l):
    it = iter(l)
    a = next(it)
    l.append(9)
    return a, list(it), list(it)


@pytest.mark.parametrize("fn", [by_a_loop, by_list, by_map_and_filter, by_zip, not_yet])
def test_what_has_ended_stays_so(fn):
    """Also where the list has got longer since."""
    for l in ([1], [1, 2], [3, 1, 2]):
        assert njit(fn)(list(l)) == fn(list(l))
