"""The language: control flow, assignments, calls, closures, exceptions; each compared with CPython running the same function."""

from __future__ import annotations

import math
import sys
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
import treadle
from treadle import njit

sys.path.insert(0, str(Path(__file__).parent))
import plain  # noqa: E402
from on_stack import on_stack  # noqa: E402

G_INT = 7
G_FLOAT = 2.5
G_TUPLE = (1, 2.0, 3)
G_ARRAY = np.arange(5, dtype=np.float64)
Point = namedtuple("Point", "x y")


def same(fn, *args):
    """Compiled and interpreted results must be equal, in type too; arrays are renewed for each."""

    def copies():
        return [a.copy() if isinstance(a, np.ndarray) else a for a in args]

    ours, theirs = copies(), copies()
    got, expected = njit(fn)(*ours), fn(*theirs)
    check(got, expected)
    for a, b in zip(ours, theirs, strict=True):
        if isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b)
    return got


def check(got, expected):
    if isinstance(expected, tuple):
        assert type(got) is type(expected) and len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):
            check(g, e)
    elif isinstance(expected, np.ndarray):
        assert got.dtype == expected.dtype and got.shape == expected.shape
        np.testing.assert_array_equal(got, expected)
    elif isinstance(expected, np.generic):
        assert got == expected.item() or (math.isnan(got) and math.isnan(expected))
    else:
        assert type(got) is type(expected), (got, expected)
        assert got == expected or (got != got and expected != expected)


# --- loops ---


def test_range_steps():
    def f(a, b, c):
        s = 0
        for i in range(a, b, c):
            s = s * 3 + i
        return s

    for args in [
        (0, 10, 1),
        (10, 0, -1),
        (0, 10, 3),
        (10, 0, -3),
        (5, 5, 1),
        (5, 0, 1),
        (-4, 7, 2),
        (0, 1, 100),
    ]:
        same(f, *args)


def test_range_of_zero_step_raises():
    @njit
    def f(c):
        s = 0
        for i in range(0, 5, c):
            s += i
        return s

    with pytest.raises(ValueError, match="must not be zero"):
        f(0)


def test_for_else_break_continue():
    def f(n, stop):
        s = 0
        for i in range(n):
            if i == stop:
                break
            if i % 2:
                continue
            s += i
        else:
            s += 1000
        return s

    for n, stop in [(10, 4), (10, 99), (0, 0), (1, 0)]:
        same(f, n, stop)


def test_while_else():
    def f(n):
        s = 0
        while n > 0:
            n -= 1
            if n == 13:
                break
            s += n
        else:
            s = -s
        return s, n

    for n in (0, 5, 13, 14, 30):
        same(f, n)


def test_while_true():
    def f(n):
        while True:
            if n == 1:
                return n
            n = n // 2 if n % 2 == 0 else 3 * n + 1

    same(f, 27)


def test_nested_loops_with_carried_values():
    def f(n):
        a, b, s = 0, 1, 0
        for i in range(n):
            for j in range(i):
                if (i + j) % 3 == 0:
                    continue
                s += a * j
                a, b = b, (a + b) % 1000
        return a, b, s

    same(f, 12)


def test_loop_variable_after_the_loop():
    def f(n):
        for i in range(n):
            if i * i > 50:
                break
        return i

    same(f, 20)
    same(f, 3)


def test_unassigned_local_raises():
    @njit
    def f(n):
        for i in range(n):
            x = i * 2
        return x

    assert f(3) == 4
    with pytest.raises(UnboundLocalError, match="'x'"):
        f(0)


def test_enumerate_zip_reversed():
    def f(a, b):
        s = 0.0
        for i, x in enumerate(a):
            s += i * x
        for i, (x, y) in enumerate(zip(a, b), 10):
            s += i * x - y
        for x in reversed(a):
            s = s / 2 + x
        for i in reversed(range(3, 9)):
            s += i
        return s

    same(f, np.arange(5.0), np.arange(7.0) * 3)


def test_iterate_over_tuple_and_rows():
    def f(t, a):
        s = 0
        for x in t:
            s += x
        for row in a:
            s += row[0] * 10 + row[-1]
        return s

    same(f, (3, 4, 5), np.arange(12).reshape(4, 3))


# --- branches and conditions ---


def test_ternary_and_or_chained():
    def f(a, b, c):
        x = a if a < b else b
        y = a < b < c
        z = (a and b) or c
        w = not (a > b or b > c)
        v = 1 if a == b == c else 2 if a != b else 3
        return x, y, z, w, v

    for args in [(1, 2, 3), (3, 2, 1), (0, 0, 0), (2, 2, 1), (0, 5, 7)]:
        same(f, *args)


def test_branches_give_one_type():
    def f(flag, x):
        if flag:
            y = 1
        else:
            y = x * 2.0
        return y

    assert njit(f)(True, 2.0) == 1.0
    assert isinstance(njit(f)(True, 2.0), float)


def test_none_default_selects_code():
    def f(x, scale=None):
        if scale is None:
            scale = 10
        return x * scale

    same(f, 3)
    same(f, 3, 4)
    same(f, 3, None)


def test_truth_of_values():
    def f(i, x, t):
        n = 0
        if i:
            n += 1
        if x:
            n += 2
        if t:
            n += 4
        if not i:
            n += 8
        return n

    same(f, 0, 0.0, (1,))
    same(f, 3, float("nan"), (1,))
    same(f, -1, 0.5, (1, 2))


# --- assignments ---


def test_tuple_packing():
    def f(a, b):
        t = (a, b, a + b)
        x, (y, z) = t[0], t[1:]
        p = t + (1.5,)
        return x, y, z, p[-1], len(p), p

    same(f, 2, 3)


def test_tuples_are_sliced_by_slices_from_outside():
    rest, back = slice(1, None), slice(None, None, -1)
    same(lambda a, b: (a, b, 3)[rest] + (a, b)[back], 2, 0.5)


def test_named_tuples():
    def f(p):
        q = Point(p.y, p.x + 1)
        a, b = q
        return q, a - b, q[0], Point(x=1, y=2.5)

    same(f, Point(1, 2.5))


def test_augmented_assignment_everywhere():
    def f(a, n):
        x = 5
        x += 3
        x -= 1
        x *= n
        x //= 2
        x %= 1000
        x <<= 2
        x >>= 1
        x |= 8
        x &= 0xFF
        x ^= 3
        a[1] += x
        a[2] *= 2
        a[-1] -= 1
        y = 2.0
        y **= 3
        y /= n
        return x, y

    same(f, np.arange(6), 9)


def test_chained_subscripts():
    def f(a, i, j):
        a[i][j] *= 2
        a[i][j + 1] += a[j][i]
        return a[i][j]

    same(f, np.arange(16.0).reshape(4, 4), 1, 2)


def test_swap_and_multiple_targets():
    def f(a):
        a[0], a[-1] = a[-1], a[0]
        x = y = a[1]
        x += 1
        return x, y

    same(f, np.arange(4))


def test_list_displays():
    def f(x):
        s = 0
        for k in [3, 1, 2]:
            s = s * 10 + k
        return s, x in [1, 2], np.array([x, 2 * x]).sum(), len([x])

    same(f, 2)

    def g(x):
        return [x, x]

    same(g, 1)


# --- slices and views ---


SLICES = [
    lambda a: a[2:7],
    lambda a: a[::-1],
    lambda a: a[1:-1],
    lambda a: a[-3:],
    lambda a: a[:100],
    lambda a: a[7:2],
    lambda a: a[7:2:-2],
    lambda a: a[::3],
    lambda a: a[None, :],
    lambda a: a[:, None],
    lambda a: a[...],
    lambda a: a[3:][1:],
    lambda a: a[-100:-5:2],
]


@pytest.mark.parametrize("number", range(len(SLICES)))
def test_slices_1d(number):
    same(SLICES[number], np.arange(10.0))


SLICES_2D = [
    lambda a: a[1],
    lambda a: a[-1],
    lambda a: a[1:3],
    lambda a: a[:, 1],
    lambda a: a[:, -1],
    lambda a: a[1:, ::2],
    lambda a: a[::-1, ::-1],
    lambda a: a[..., 0],
    lambda a: a[0, ...],
    lambda a: a[1, 2:],
    lambda a: a[None],
    lambda a: a[:, None, :],
    lambda a: a[1][2],
    lambda a: a[1:3][0],
    lambda a: a.T,
    lambda a: a.T[1:],
]


@pytest.mark.parametrize("number", range(len(SLICES_2D)))
@pytest.mark.parametrize("order", ["C", "F", "strided"])
def test_slices_2d(number, order):
    a = np.arange(20.0).reshape(4, 5)
    if order == "F":
        a = np.asfortranarray(a)
    if order == "strided":
        a = np.arange(80.0).reshape(8, 10)[::2, ::2]
    got = same(SLICES_2D[number], a)
    if isinstance(got, np.ndarray):
        ours = njit(SLICES_2D[number])(a)
        assert np.shares_memory(ours, a)


def test_run_time_slice_bounds():
    def f(a, i, j, k):
        return a[i:j:k]

    a = np.arange(11)
    for i in (-20, -3, 0, 4, 30):
        for j in (-20, -1, 0, 6, 30):
            for k in (-12, -2, -1, 1, 2, 12):
                check(njit_slice(a, i, j, k), f(a, i, j, k))


@njit
def njit_slice(a, i, j, k):
    return a[i:j:k]


def test_slice_assignment():
    def f(a, b):
        a[1:4] = 7
        a[4:8] = b[:4]
        a[::2] = b[::2]
        a[-2:] = b[0]
        a[2:6] = a[0:4]
        return a[3]

    same(f, np.arange(10.0), np.arange(10.0) * 1.5)


def test_overlapping_assignment():
    def f(a):
        a[1:] = a[:-1]
        a[:-2] = a[2:]
        a[::-1] = a

    same(f, np.arange(9))


def test_assignment_broadcasts():
    def f(a, row, column):
        a[:] = row
        a[:, :2] = column
        a[0] = 3

    same(f, np.zeros((3, 4)), np.arange(4.0), np.arange(3.0)[:, None])


def test_items_of_flat_are_assigned():
    def f(a, i, v):
        b, c = a.T, a[::2]
        a.flat[i] = v
        b.flat[0] += 1
        b.flat[-2] -= v
        c.flat[-1] *= v
        return a.flat[i]

    for a in (np.arange(12.0).reshape(3, 4), np.arange(5), np.ones((2, 3, 2), np.float32)):
        for i in (0, 1, -1, 4):
            same(f, a, i, 3)

    def g(a, i):
        a.flat[i] = 3

    same(g, np.array(2.0), 0)
    with pytest.raises(IndexError, match="index 12 is out of bounds for size 12"):
        njit(g)(np.zeros((3, 4)), 12)
    with pytest.raises(treadle.TypingError, match="read-only"):
        njit(g)(np.broadcast_to(np.zeros(3), (2, 3)), 0)


def test_slices_of_flat_are_refused():
    def write(a):
        a.flat[::2] = 1

    for fn in (write, lambda a: a.flat[::2]):
        with pytest.raises(treadle.TypingError, match=r"write a.ravel\(\)\[...\]"):
            njit(fn)(np.zeros((2, 3)))


def test_assignment_of_wrong_shape_raises():
    @njit
    def f(a, b):
        a[1:4] = b

    with pytest.raises(ValueError, match="broadcast"):
        f(np.zeros(6), np.zeros(2))


@pytest.mark.parametrize("i", [-6, -5, -1, 0, 4, 5, 2**40, -(2**40)])
def test_index_out_of_range(i):
    def f(a, i):
        return a[i]

    a = np.arange(5.0)
    if -5 <= i < 5:
        assert njit(f)(a, i) == a[i]
    else:
        with pytest.raises(IndexError, match=f"index {i} is out of bounds for axis 0 with size 5"):
            njit(f)(a, i)


# --- functions ---


def helper(x, y=2, *, z=3):
    return x * 100 + y * 10 + z


def test_calls_with_defaults_and_keywords():
    def f(a):
        return helper(a), helper(a, 4), helper(a, z=5), helper(y=1, x=a), helper(a, z=1, y=9)

    same(f, 7)


def test_star_args():
    def total(first, *rest):
        s = first
        for r in rest:
            s += r
        return s, len(rest)

    def f(a):
        t = (a, a + 1)
        return total(a), total(a, 1), total(a, 1, 2), total(*t)

    same(f, 5)
    same(total, 1, 2, 3)


def test_functions_as_arguments():
    def apply(fn, x):
        return fn(x) + fn(x + 1)

    def square(x):
        return x * x

    compiled = njit(apply)
    assert compiled(square, 3) == 9 + 16
    assert compiled(njit(square), 3.0) == 25.0
    assert compiled(math.sqrt, 3.0) == math.sqrt(3.0) + 2.0


def test_recursion():
    @njit
    def fib(n):
        if n < 2:
            return n
        return fib(n - 1) + fib(n - 2)

    assert [fib(i) for i in range(12)] == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89]


@njit
def is_even(n):
    if n == 0:
        return True
    return is_odd(n - 1)


@njit
def is_odd(n):
    if n == 0:
        return False
    return is_even(n - 1)


def test_mutual_recursion():
    assert is_even(10) is True and is_odd(10) is False and is_even(7) is False


def test_recursion_widens_its_result():
    @njit
    def f(n):
        if n == 0:
            return 1
        return f(n - 1) * 0.5

    assert f(3) == 0.125 and isinstance(f(0), float)


def test_endless_recursion_is_an_exception():
    @njit
    def f(n):
        return f(n + 1) + 1 if n >= 0 else 0

    with pytest.raises(RecursionError):
        f(0)

    @njit
    def tail(n):
        return tail(n + 1) if n >= 0 else 0

    with pytest.raises(RecursionError):
        tail(0)


@njit
def depth_of_sums(a, n):
    if n == 0:
        return 0.0
    return depth_of_sums(a * 2.0, n - 1) + a.sum() + (a * a).sum()


@njit
def depth_of_numbers(a, b, c, d, n):
    if n == 0:
        return a + b
    w, x, y, z = a * b + c, b * c + d, c * d + a, d * a + b
    return depth_of_numbers(w, x, y, z, n - 1) + w * x + y * z + a + d


@pytest.mark.parametrize("size", [64, 256, 1024])
def test_recursion_on_a_small_stack(size):
    """Threads may have less of it than the first one; what is too deep there is an exception, not a crash."""
    a = np.ones(3)
    assert depth_of_sums(a, 1) == 6 and depth_of_numbers(0.1, 0.2, 0.3, 0.4, 1) > 0
    got = []

    def work():
        for fn, args in ((depth_of_sums, (a,)), (depth_of_numbers, (0.1, 0.2, 0.3, 0.4))):
            n = 1
            try:
                while True:
                    fn(*args, n)
                    n *= 2
            except RecursionError:
                got.append(n)
        got.append(is_even(11))

    on_stack(size, work)
    assert len(got) == 3 and got[0] >= 2 and got[1] >= 64 and got[2] is False


def test_closures_and_globals_are_frozen():
    k = 3

    def f(x):
        return x * k + G_INT + G_FLOAT + G_TUPLE[1] + G_ARRAY[2]

    same(f, 2)


def test_inner_functions():
    def f(n, k):
        def inner(x, y=10):
            return x * k + y

        g = lambda x: inner(x) - 1  # noqa: E731
        return inner(n) + inner(n, 1) + g(n)

    same(f, 3, 4)


def test_argument_count_error():
    @njit
    def f():
        return helper()

    with pytest.raises(TypeError, match="missing its argument 'x'"):
        f()


# --- exceptions ---


def test_raise_with_arguments():
    @njit
    def f(n):
        if n > 2:
            raise ValueError("too large", n, 1.5)
        if n < 0:
            raise KeyError
        return n

    assert f(1) == 1
    with pytest.raises(ValueError) as e:
        f(5)
    assert e.value.args == ("too large", 5, 1.5)
    with pytest.raises(KeyError):
        f(-1)


def test_assert_with_message():
    f = njit(plain.asserting)
    assert f(3) == 3
    with pytest.raises(AssertionError, match="n must be positive"):
        f(0)
    with pytest.raises(AssertionError):
        f(10)


def test_f_strings(capfd):
    @njit
    def f(n, x):
        print(f"n={n} x={x} {n > 2}")
        if n > 2:
            raise ValueError(f"{{0}} {n} of {x}{n + 1}")
        return n

    assert f(1, 2.5) == 1
    with pytest.raises(ValueError) as e:
        f(5, 0.5)
    assert e.value.args == ("{0} 5 of 0.56",)
    assert capfd.readouterr().out == "n=1 x=2.5 False\nn=5 x=0.5 True\n"


def test_tuples_are_shown_alike(capfd):
    """By print, in an f-string, and in an exception: one text for a kind of value."""

    def f(n, x):
        t = ((n, "it's", 'a "b"', "\n{0}"), (x,), (), [n, None], Point(n, True), 2**70, -0.0, 1e300 * 1e300)
        print(t)
        print(f"{t}", str(t) + "!", sep=" ")
        raise ValueError(f"{(n, 'it{s', (x,))} {Point(1, n)}")

    said = []
    for g in (f, njit(f)):
        with pytest.raises(ValueError) as e:
            g(3, 0.5)
        said.append((e.value.args, capfd.readouterr().out))
    assert said[0] == said[1]


def test_traceback_names_the_users_line():
    @njit
    def inner(a, i):
        return a[i]

    @njit
    def outer(a, i):
        return inner(a, i) + 1

    with pytest.raises(IndexError) as e:
        outer(np.zeros(3), 3)
    frames = [(f.name, f.path.name) for f in e.traceback]
    assert ("inner", "test_language.py") in [(n, p) for n, p in frames]
    assert e.traceback[-1].name == "inner"


@pytest.mark.parametrize(
    "op", [lambda a, b: a / b, lambda a, b: a // b, lambda a, b: a % b], ids="/ // %".split()
)
def test_division_by_zero(op):
    """In the words of the Python at hand."""
    for a, b in [(1, 0), (1.5, 0.0), (1, 0.0)]:
        with pytest.raises(ZeroDivisionError) as python:
            op(a, b)
        with pytest.raises(ZeroDivisionError) as ours:
            njit(op)(a, b)
        assert str(ours.value) == str(python.value)
    with pytest.raises(ZeroDivisionError):
        njit(op)(np.float32(1), np.float32(0))


def test_error_model_numpy():
    def f(a, b):
        return a / b, a // b, a % b

    q, fl, r = njit(f, error_model="numpy")(1.0, 0.0)
    assert q == math.inf and (math.isinf(fl) or math.isnan(fl)) and math.isnan(r)
    assert njit(f, error_model="numpy")(1, 0)[1:] == (0, 0)


def test_stores_before_an_exception_stay():
    @njit
    def f(a, n):
        for i in range(n):
            a[i] = i + 1

    a = np.zeros(3)
    with pytest.raises(IndexError):
        f(a, 5)
    assert a.tolist() == [1.0, 2.0, 3.0]


# --- the rules of arithmetic ---


def test_weak_literals():
    @njit
    def f(a):
        return a[0] * 0.5 + 1

    @njit
    def g(a):
        s = 0.0
        for i in range(len(a)):
            s += a[i]
        return s

    a = np.full(1000, 0.1, dtype=np.float32)
    assert f(a) == float(np.float32(0.1) * np.float32(0.5) + np.float32(1))
    assert g(a) == sum(float(x) for x in a)


def test_promotion_numba():
    def f(a):
        return a[0] * 0.5

    a = np.full(1, 0.1, dtype=np.float32)
    assert njit(f, promotion="numba")(a) == float(a[0]) * 0.5
    assert njit(f)(a) == float(a[0] * np.float32(0.5))


def test_integers_compute_in_64_bits():
    @njit
    def f(a):
        return a[0] + a[1], a[0] * a[1]

    assert f(np.array([120, 120], dtype=np.int8)) == (240, 14400)


def test_int64_wraps():
    @njit
    def f(x):
        return x + 1, x * x

    big = 2**63 - 1
    assert f(big) == (-(2**63), 1)


def test_overflow_at_the_boundary():
    @njit
    def f(x):
        return x

    with pytest.raises(OverflowError):
        f(2**64)


def test_comparison_of_signed_and_unsigned():
    def f(a, b):
        return a < b, a == b, a > b

    u = np.array([2**63 + 5], dtype=np.uint64)

    @njit
    def g(i, u):
        return i < u[0], i == u[0], i > u[0]

    assert g(-1, u) == (True, False, False)
    assert g(5, u) == (True, False, False)


# --- arrays made inside ---


def test_array_made_and_returned():
    def f(n):
        a = np.empty(n)
        for i in range(n):
            a[i] = i * 0.5
        return a

    same(f, 5)
    same(f, 0)


def test_arrays_are_freed_on_every_path():
    @njit
    def f(n):
        total = 0.0
        for i in range(n):
            a = np.zeros(100)
            a[i] = 1.0
            b = a[::2]
            total += b[0] + a.sum()
        return total

    f(3)
    before = treadle.stats()
    assert f(100) == 101.0
    with pytest.raises(IndexError):
        f(101)
    after = treadle.stats()
    made = after["arrays_allocated"] - before["arrays_allocated"]
    assert made == 201 and after["arrays_freed"] - before["arrays_freed"] == made


def test_argument_returned_is_the_same_object():
    @njit
    def f(a, b, flag):
        if flag:
            return a
        return b

    a, b = np.zeros(3), np.ones(3)
    assert f(a, b, True) is a and f(a, b, False) is b


def test_tuple_of_arrays_returned():
    def f(n):
        a = np.zeros(n)
        b = a[1:]
        b[0] = 5
        return a, b, a

    x, y, z = njit(f)(4)
    assert x.tolist() == [0, 5, 0, 0] and np.shares_memory(x, y) and np.shares_memory(x, z)
    del x, z
    assert y.tolist() == [5, 0, 0]


def test_array_carried_through_a_loop():
    def f(n):
        a = np.ones(4)
        for _ in range(n):
            b = np.empty(4)
            for i in range(4):
                b[i] = a[i] * 2
            a = b
        return a

    same(f, 0)
    same(f, 5)


def test_whole_array_operators():
    def f(a, b):
        c = a * 2 + b
        c -= 1
        return c, a < b, -a, a[None, :] * b[:, None]

    same(f, np.arange(4.0), np.array([3.0, 1.0, 2.0, 3.0]))
    same(f, np.arange(4, dtype=np.float32), np.arange(4, dtype=np.float32))


def test_literal_powers_are_products():
    @njit
    def f(x):
        return x**2, x**3, x**6, x**8, x**9

    for x in (1.7, -0.3, 1e30, 1e-40, 0.0, -0.0, math.inf, -math.inf, math.nan):
        for n, got in zip((2, 3, 6, 8, 9), f(x), strict=True):
            want = math.pow(x, n) if x != 1e30 or n * 30 < 308 else math.inf
            assert got == want or (got != got and want != want) or abs(got - want) <= 4 * math.ulp(want)
    assert f(np.int64(-3)) == (9, -27, 729, 6561, -19683)
    assert f(10**9)[2] == (10**54 + 2**63) % 2**64 - 2**63


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 1000])
def test_items_of_tuples_at_positions_of_run_time(n):
    items = tuple(k * k - 3 for k in range(n))
    mixed = tuple(float(k) if k % 2 else k for k in range(n))

    def constant(i):
        return items[i]

    def argument(t, i):
        return t[i]

    f, g = njit(constant), njit(argument)
    for i in {0, 1, n // 2, n - 1, -1, -n}:
        if -n <= i < n:
            assert f(i) == items[i] and g(items, i) == items[i] and g(mixed, i) == float(mixed[i])
    for i in (n, -n - 1):
        for call in (lambda i: f(i), lambda i: g(items, i)):
            with pytest.raises(IndexError, match="tuple index out of range"):
                call(i)
    arrays = (np.zeros(1), np.ones(2), np.full(3, 2.0))
    h = njit(lambda t, i: t[i].sum())
    assert [h(arrays, i) for i in (0, 1, 2, -1)] == [0.0, 2.0, 6.0, 6.0]


def test_a_string_in_a_string():
    """Strings are known while compiling, so whether one holds another chooses a branch that alone is compiled."""

    def mode(kind, x):
        if "log" in kind:
            return math.log(x)
        return x.shape if "exp" not in kind else math.exp(x)

    def caller(x):
        return mode("semilog", x) + mode("exp", x)

    for kind in ("log", "semilogx", "exp", "é-exp"):
        same(mode, kind, 2.0)
    same(caller, 2.0)
    for part, whole in (("", ""), ("", "a"), ("a", ""), ("ab", "cab"), ("ba", "cab"), ("é", "caf\u0301é")):
        same(lambda a, b: a in b, part, whole)
        same(lambda a, b: (a in b, a not in b), part, whole)
