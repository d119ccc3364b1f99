"""Members of enums as constants and as arguments: each is known when a function compiles."""

from __future__ import annotations

import enum

import numpy as np
import pytest
from treadle import njit, prange, vectorize
from treadle.errors import TypingError, UnsupportedError


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


class Step(enum.Enum):
    """What a variable may be one of."""

    FIRST = 0
    NEXT = 1
    LAST = 2


class Loose(enum.Enum):
    """Its members are equal to whatever there is."""

    A = 1
    B = 2

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


class Falsy(enum.Flag):
    A = 1
    B = 2


def walk(n):
    step, seen = Step.FIRST, 0
    for _ in range(n):
        seen = seen * 10 + step.value
        if step == Step.FIRST:
            step = Step.NEXT
        elif step is Step.NEXT:
            step = Step.LAST
        else:
            step = Step.FIRST
    return seen, step.name, step in (Step.NEXT, Step.LAST), step != Step.LAST, bool(step), step == 0


@pytest.mark.parametrize("n", range(5))
def test_a_variable_may_be_one_of_several(n):
    assert njit(walk)(n) == walk(n)


def test_one_of_several_goes_where_values_go():
    def early(n):
        if n < 0:
            return Step.LAST
        step = Step.FIRST
        while n > 0:
            n -= 3
            if n == 1:
                step = Step.NEXT
                break
        return step

    def use(n):
        step = compiled(n)
        t = (Step.FIRST, Step.NEXT, Step.LAST)[n % 3]
        l = [Step.FIRST, Step.NEXT]
        l.append(t)
        maybe = step if n else None
        d = {1: Step.FIRST}
        d[n] = t
        inner = Step.FIRST

        def change():
            nonlocal inner
            inner = Step.NEXT

        if n % 2:
            change()
        return (
            compiled(n) == Step.NEXT,
            l.count(t),
            t in (Step.FIRST, Step.LAST),
            maybe is None,
            d[1].value,
            inner.name,
            [x.value for x in l],
            (step, 1) == (Step.FIRST, 1),
        )

    compiled = early
    expected = [use(n) for n in range(-1, 6)]
    compiled = njit(early)
    assert [njit(use)(n) for n in range(-1, 6)] == expected


def test_one_of_several_in_other_ways_in():
    @njit(parallel=True)
    def rounds(x):
        out = np.zeros(len(x), np.int64)
        for i in prange(len(x)):
            step = Step.FIRST
            if x[i] > 3:
                step = Step.LAST
            elif x[i] > 1:
                step = Step.NEXT
            out[i] = step.value * 10 + (step is Step.NEXT)
        return out

    @vectorize
    def each(x):
        step = Step.NEXT if x > 2 else Step.LAST
        return step.value

    @njit
    def given(step, n):
        if n:
            step = Step.LAST
        return step.value

    assert rounds(np.arange(6)).tolist() == [0, 0, 11, 11, 20, 20]
    assert each(np.arange(5)).tolist() == [2, 2, 2, 1, 1]
    assert [given(Step.NEXT, n) for n in range(2)] == [1, 2]


@pytest.mark.parametrize("cls", [Loose, Falsy])
def test_members_with_operators_of_their_own_are_not_one_of_several(cls):
    """Which of them is equal to another one is not known to the compiler."""
    a, b = cls

    def f(n):
        x = a
        if n:
            x = b
        return x == a

    with pytest.raises(TypingError, match="'x' has no single type"):
        njit(f)(1)


def one_of(n):
    return Step.NEXT if n else Step.LAST


one_of = njit(one_of)


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (lambda n: one_of(n)(3), "'Step.NEXT' is not callable"),
        (lambda n: one_of(n).size, "has no attribute 'size'"),
        (lambda n: one_of(n) < Step.LAST, "unsupported operand types for <: one of ('Step."),
        (lambda n: one_of(n) if n else 3, "has no single type"),
        (lambda n: (Color.RED if n else Color.PAIR).value, "has no attribute 'value'|returns both"),
    ],
)
def test_what_one_of_several_is_refused(f, said):
    with pytest.raises(TypingError) as e:
        njit(f)(1)
    first = str(e.value).splitlines()[0]  # from 3.15 on CPython may ask on each way
    assert any(text in first for text in said.split("|"))


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (lambda: Color.GREEN, "enum 'Color' has no attribute 'GREEN'"),
        (lambda: Color.RED.size, "'Color.RED' has no attribute 'size'"),
        (lambda: Color.RED + 1, "unsupported operand types for +: 'Color.RED' and int64"),
        (lambda: ~Mode.READ, "~ of a member of an enum"),
        (lambda: Color(1), "enum 'Color' is not callable"),
    ],
)
def test_what_is_refused(f, said):
    with pytest.raises(TypingError) as e:
        njit(f)()
    assert str(e.value).splitlines()[0].endswith(said) or said in str(e.value).splitlines()[0]


def test_members_are_results():
    assert njit(lambda: Color.RED)() is Color.RED
    assert one_of(0) is Step.LAST and one_of(1) is Step.NEXT
    assert njit(lambda n: [one_of(n), Step.LAST, one_of(0)])(1) == [Step.NEXT, Step.LAST, Step.LAST]


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


class Unit(str, enum.Enum):
    METRE = "m"
    SECOND = "s"


class Scale(float, enum.Enum):
    HALF = 0.5


def test_members_that_are_strings_or_floats_compare_as_these():
    def f(s, x):
        return (
            Unit.METRE == s,
            s != Unit.SECOND,
            s in (Unit.METRE, Unit.SECOND),
            Unit.METRE == Unit.METRE,
            Unit.METRE == Unit.SECOND,
            Unit.METRE < s,
            Scale.HALF == x,
            x > Scale.HALF,
        )

    for s, x in (("m", 0.5), ("s", 1.0), ("", 0.25)):
        assert njit(f)(s, x) == f(s, x)


class Truthy(enum.Enum):
    NO = 0
    YES = 1

    def __bool__(self):
        return bool(self.value)


def all_members(n):
    names, at = [], 0
    for i, m in enumerate(Step):
        names.append(m.name)
        if m is Step.NEXT and m.value < n:
            at = i
    return names, at, len(Step)


def test_a_loop_may_go_over_an_enum():
    for n in (0, 2):
        assert njit(all_members)(n) == all_members(n) == (["FIRST", "NEXT", "LAST"], n // 2, 3)


@pytest.mark.parametrize(
    "fn",
    [
        lambda n: Loose.A == Loose.B,
        lambda n: Loose.B in (Loose.A, n),
        lambda n: 1 if Truthy.NO else n,
        lambda n: not Truthy.YES,
    ],
)
def test_what_a_class_says_itself_of_its_members_is_refused(fn):
    with pytest.raises(UnsupportedError, match=r"of its own|says that itself"):
        njit(fn)(2)


def test_flags_are_true_where_they_have_a_bit():
    none = Falsy(0)
    assert njit(lambda n: (bool(none), bool(Falsy.A), 1 if none else n))(2) == (False, True, 2)
