"""A `try` in an iteration of a prange loop is that iteration's, also where its handler never goes on: what raises beside it passes it by.

One around the loop catches what any iteration raises, once.
"""

import numpy as np
import pytest
from treadle import UnsupportedError, njit, prange


def raises_in_a_handler(a, b, idx, k):
    for i in prange(len(a)):
        a[idx[i]] = 1
        try:
            b[idx[i] * k] = 2
        except IndexError:
            raise KeyError(4)
    return 0


def raises_before(a, b, idx, k):
    for i in prange(len(a)):
        if idx[i] == 9:
            raise OverflowError(3)
        try:
            b[idx[i] * k] = 2
        except IndexError:
            raise KeyError(idx[0])
    return 0


def ends_with_another(a, b, idx, k):
    for i in prange(len(a)):
        a[idx[i]] = 1
        try:
            b[i] = 7 // k
        finally:
            if k < 1:
                raise KeyError(k)
    return 0


def two_in_one(a, b, idx, k):
    for i in prange(len(a)):
        try:
            a[idx[i]] = 1
        except IndexError:
            raise KeyError(1)
        try:
            b[idx[i] * k] = 2
        except IndexError:
            raise KeyError(2)
    return 0


def around_and_inside(a, b, idx, k):
    try:
        for i in prange(len(a)):
            a[idx[i]] = 1
            try:
                b[idx[i] * k] = 2
            except IndexError:
                raise KeyError(4)
    except KeyError:
        return 5
    except IndexError:
        return 6
    return 0


def around(a, b, idx, k):
    try:
        for i in prange(len(a)):
            a[idx[i]] = 1
            b[idx[i] * k] = 2
    finally:
        b[0] += 100
    return 0


def outcome(f, k, last):
    idx, b = np.arange(8), np.zeros(8)
    idx[7] = last
    try:
        result = f(np.zeros(8), b, idx, k)
    except Exception as e:
        result = type(e), e.args
    return result, b[0]


@pytest.mark.parametrize(
    "f", [raises_in_a_handler, raises_before, ends_with_another, two_in_one, around_and_inside, around]
)
@pytest.mark.parametrize("parallel", [True, False])
def test_whose_handler_it_is(f, parallel):
    compiled = njit(parallel=parallel)(f)
    for k, last in [(1, 7), (1, -9), (1, 9), (5, 7), (5, 9), (0, 7), (0, 9), (0, -9)]:
        if f is around and k == 0:
            continue  # iterations meet
        want, got = outcome(f, k, last), outcome(compiled, k, last)
        if isinstance(want[0], tuple) and want[0][0] in (IndexError, ZeroDivisionError):
            want, got = (want[0][0], want[1]), (got[0][0], got[1])  # other words
        assert got == want, (k, last)


@pytest.mark.parametrize("leave", ["return -1", "break"])
def test_a_handler_that_leaves_the_loop(leave):
    """The same message as for `break` and `return`, with the handler's line."""
    text = f"""
def f(a, b, idx):
    for i in prange(len(a)):
        a[idx[i]] = 1
        try:
            b[idx[i] * 2] = 2
        except IndexError:
            {leave}
    return 0
"""
    space: dict = {"prange": prange}
    exec(text, space)
    with pytest.raises(UnsupportedError, match="cannot be left early, and here the handler of a `try` in it"):
        njit(parallel=True)(space["f"])(np.zeros(3), np.zeros(3), np.arange(3))


def left_by_finally(a, k, most):
    n = 0
    for n in range(4):
        try:
            for i in prange(len(a)):
                if a[i] > most:
                    raise ValueError("m")
                a[i] += 1
        finally:
            if n >= k:
                break
        a[0] += 5
    return n


def left_by_a_handler(a, k, most):
    n = 0
    while True:
        n += 1
        if n >= 6:
            break
        try:
            ok = True
            for i in prange(len(a)):
                if a[i] > most:
                    raise ValueError("m")
                ok = ok and a[i] < most
            a[1] += ok
        except ValueError:
            if n >= k:
                break
            raise
        a[0] += 5
    return n


@pytest.mark.parametrize("f", [left_by_finally, left_by_a_handler])
@pytest.mark.parametrize("size", [0, 1, 40, 5000])
@pytest.mark.parametrize("k", [0, 2, 9])
def test_a_loop_around_that_is_left(f, size, k):
    """An index that is checked beside the loop gives the one around a second version: what its handler is given is as before."""
    for most in (0.5, 3.0, 1e9):
        seen = []
        for g in (f, njit(f), njit(parallel=True)(f)):
            a = np.ones(size)
            try:
                seen.append(g(a, k, most))
            except (IndexError, ValueError) as error:
                seen.append(type(error))
            if seen[-1] is not ValueError:  # then later iterations may have run
                seen.append(a.tolist())
        assert seen[: len(seen) // 3] * 3 == seen
