"""Members of enums as constants and as arguments: each is known when a function compiles."""

from __future__ import annotations

import enum

import numpy as np
import pytest
from treadle import njit
from treadle.errors import TypingError


class Color(enum.Enum):
    RED = 1
    BLUE = 2.5
    PAIR = (1, 2)
    SAME = 1


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 5


class Mode(enum.IntFlag):
    READ = 1
    WRITE = 2


class Big(enum.IntEnum):
    ALL = 2**64 - 1


def about(x):
    return x == Color.RED, x is Color.BLUE, x != Color.PAIR, x is Color.SAME, x == 1


@pytest.mark.parametrize("x", list(Color))
def test_members_are_told_apart(x):
    assert njit(about)(x) == about(x)


def number(x):
    return (
        x.value + 1,
        x + 1,
        x * 2.5,
        x == 5,
        x is Size.LARGE,
        Size.LARGE * 2,
        x == Size.LARGE,
        x > Size.SMALL,
    )


@pytest.mark.parametrize("x", list(Size))
def test_those_that_are_integers_compute(x):
    assert njit(number)(x) == number(x)


def flags(x):
    return x & Mode.READ, x | Mode.WRITE, bool(x & Mode.WRITE), x.value


@pytest.mark.parametrize("x", [Mode.READ, Mode.WRITE, Mode.READ | Mode.WRITE, Mode(0)])
def test_flags(x):
    assert njit(flags)(x) == tuple(int(v) if isinstance(v, Mode) else v for v in flags(x))


def test_a_member_chooses_what_is_compiled():
    """Results of different types: the branch is decided when the function compiles."""
    f = njit(lambda x, a: x.value if x is Color.BLUE else a.sum() > 0 if x == Color.RED else x.value[1])
    a = np.ones(2)
    assert (f(Color.BLUE, a), f(Color.RED, a), f(Color.PAIR, a)) == (2.5, True, 2)
    assert len(f.overloads) == 3


def test_beside_arrays():
    @njit
    def count(a):
        n = 0
        for i in range(a.size):
            if a[i] == Size.LARGE:
                n += Size.SMALL
        return n, a[Size.SMALL], np.zeros(Size.LARGE).size, a + Size.LARGE

    n, item, size, shifted = count(np.array([5, 1, 5], np.int8))
    assert (n, item, size) == (2, 1, 5)
    assert shifted.dtype == np.int8 and shifted.tolist() == [10, 6, 10]


def test_from_a_compiled_caller_and_in_tuples():
    @njit
    def inner(x, y=Size.LARGE):
        return x.value * 10 + y

    assert njit(lambda: inner(Size.SMALL))() == 15
    assert njit(lambda t: t[0].value + t[1])((Size.SMALL, 2.5)) == 3.5
    assert njit(lambda: Big.ALL)() == 2**64 - 1


def test_a_member_of_one_value_is_not_that_number():
    """Both are literals of one value, and only one has attributes."""
    assert njit(lambda: Size.LARGE.value + 5)() == 10
    with pytest.raises(TypingError, match="value"):
        njit(lambda x: Size.LARGE.value + (5).value)(1)


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (lambda: Color.GREEN, "enum 'Color' has no attribute 'GREEN'"),
        (lambda: Color.RED.size, "'Color.RED' has no attribute 'size'"),
        (lambda: Color.RED + 1, "unsupported operand types for +: 'Color.RED' and int64"),
        (lambda: ~Mode.READ, "~ of a member of an enum"),
        (lambda: Color(1), "enum 'Color' is not callable"),
        (lambda: Color.RED, "returns 'Color.RED', which compiled code cannot hand to Python"),
    ],
)
def test_what_is_refused(f, said):
    with pytest.raises(TypingError) as e:
        njit(f)()
    assert str(e.value).splitlines()[0].endswith(said) or said in str(e.value).splitlines()[0]


def test_a_changed_class_is_seen():
    """What a program reads of a class belongs to its snapshot."""

    class Local(enum.Enum):
        A = 3

    f = njit(lambda: Local.A.value)
    assert f() == 3


def test_range_takes_no_float():
    """But under Numba's rules (test_run.py), where it is cut."""
    with pytest.raises(TypingError, match="must be an integer, not float64"):
        njit(lambda n: len(range(n)))(5.7)
    assert njit(lambda n: len(range(n)), promotion="numba")(5.7) == 5
