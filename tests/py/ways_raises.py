"""Rows of the matrix of ways in (ways_features.py): what raises, and what is caught."""

from __future__ import annotations

import contextlib
import math  # noqa: F401 - texts of rows name it

import numpy as np
from numpy.exceptions import AxisError  # noqa: F401 - texts of rows name it
from ways_rows import feature, floats, matrix, names_of, text_feature


@feature(lambda: (floats(), 12), lambda: (floats(), -13), lambda: (floats(), 2**62))
def raises_index_of_a_store(a, i):
    a[0] = 5.0
    a[i] = 1.0


@feature(lambda: (matrix(), 3, 0), lambda: (matrix(), 0, 4), lambda: (matrix(), -1, -1))
def raises_index_of_two_axes(a, i, j):
    return a[i, j]


@feature(lambda: (floats(), 20), lambda: (floats(), 5))
def raises_index_in_a_loop(a, n):
    s = 0.0
    for i in range(n):
        s += a[i]
    return s


@feature((1, 0), (-7, 2))
def raises_zero_division_of_integers(x, y):
    return x // y + x % y


@feature((1.0, 0.0), (-7.0, 2.0))
def raises_zero_division_of_floats(x, y):
    return x / y, divmod(x, y)


@feature((float("nan"),), (float("inf"),), (1e300,), (2.5,), python=False)
def raises_of_int(x):
    return int(x)


@feature(lambda: (floats(3), floats(4)), lambda: (floats(3), floats(3)))
def raises_of_broadcast(a, b):
    return a + b


@feature(lambda: (np.zeros(0),), lambda: (floats(),))
def raises_of_an_empty_maximum(a):
    return a.max()


@feature(lambda: (floats(), 5), lambda: (floats(), 3))
def raises_of_reshape(a, n):
    return a.reshape(n, 4)


@feature((-1,), (2,))
def raises_of_a_negative_size(n):
    return np.zeros(n)


@feature((1 << 60,), (1,), python=False)
def raises_memory_error(n):
    return np.ones(n).sum()


@feature((0,), (1,))
def raises_of_a_step_of_zero(k):
    s = 0
    for i in range(0, 9, k):
        s += i
    return s


@feature((0,), (1,))
def raises_unbound(k):
    if k:
        x = 3
    return x


@feature((-1,), (5,))
def raises_assertion(n):
    assert n > 0, "n must be positive"
    return n


@feature((1, 2.5), (-1, 2.5))
def raises_with_arguments(n, x):
    if n > 0:
        raise ValueError("n is", n, x)
    return x


@feature((1,), (-1,))
def raises_in_a_callee(n):
    return raises_with_arguments(n, 2.5)


class Own(ValueError):
    """An exception of the user's."""


class OwnWithCode(Exception):
    def __init__(self, code, what):
        super().__init__(what, code)


HELD = Own("held", 3)


@feature((1, 2.5), (0, 2.5), (-1, 2.5))
def raises_of_a_class_of_its_own(n, x):
    if n > 0:
        raise Own("n is", n, (x, ("and", n), ()))
    if n == 0:
        raise OwnWithCode(n, "zero")
    return x


@feature((1,), (-1,))
def raises_what_a_global_holds(n):
    if n > 0:
        raise HELD
    return n


@feature((1, 2), (7, 0), (-1, 3), (-2, 3), (-3, 3))
def handles_scalars(n, k):
    total = 0
    for i in range(4):
        try:
            total += n // (k - i + 1)
            if n == -1:
                raise Own("own", n)
            if n == -2:
                raise OwnWithCode(n, "why")
            if n == -3:
                raise HELD
        except ZeroDivisionError:
            total += 1000
        except Own as e:
            if i == 2:
                raise
            total += 1
            if k == i:
                raise e
        else:
            total += 10
        finally:
            total *= 2
    return total


@feature((1, 0), (7, 2), (0, 3))
def suppresses_in_a_with(n, k):
    total = 0
    for i in range(4):
        with contextlib.suppress(ZeroDivisionError, Own), np.errstate(all="ignore"):
            total += n // (k - i)
            if n == 0:
                raise Own(n)
            total += 10
        with contextlib.nullcontext(k) as m:
            total += m
    manager = contextlib.nullcontext(total)
    total += manager.__enter__()
    manager.__exit__(None, None, None)
    return total


@feature((1, 2.5), (0, 2.5), (-1, 2.5))
def raises_from_what_it_caught(n, x):
    try:
        if n >= 0:
            raise Own("first", n, x)
    except Own as e:
        if n:
            raise OwnWithCode(n, "from") from e
        raise OwnWithCode(n, "from") from None
    return x


@feature(
    lambda: (floats(), 1),
    lambda: (floats(), 100),
    lambda: (floats()[::2], -1),
    lambda: (floats()[:0], 0),
    boundscheck=True,
)
def handles_arrays(a, k):
    b = a * 2
    try:
        c = b + a[: max(k, 0)]
        b = c - a[k]
    except ValueError:
        b = b[::-1]
    except IndexError:
        b = b - 1
    return b, b.sum()


@feature(("abc",), ("aé€",), ("\ud800",))
def raises_of_a_codec(s):
    try:
        s = s.encode("latin-1").decode()
    except UnicodeEncodeError as e:
        return e.encoding, e.reason, e.start, e.end, str(e)
    except UnicodeDecodeError as e:
        return e.encoding, e.reason, e.start, e.end, repr(e)
    return s.encode("ascii").decode(), "", 0, 0, ""


OWN_ARGUMENTS = {
    "UnicodeEncodeError": "'n is', 'text', n, 4, 'why'",
    "UnicodeDecodeError": "'n is', b'text', n, 4, 'why'",
}  # of exceptions that do not take any
for _e in names_of("src/ir/exc.def", r'(?m)^X\(\w+,\s*"(\w+)"'):
    _args = OWN_ARGUMENTS.get(_e, "'n is', n")
    text_feature(
        f"raises_{_e}",
        f"def raises_{_e}(n):\n    if n > 0:\n        raise {_e}({_args})\n    return n\n",
        (3,),
        (-3,),
    )
