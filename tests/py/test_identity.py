"""Identity, and strings: what is known when compiling, and what compiled code refuses."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
import treadle
from treadle import njit

sys.path.insert(0, str(Path(__file__).parent))
from programs import same  # noqa: E402

G_INT = 7
G_FLOAT = 2.5
BIG = 2**63
DTYPE_NAME = "float64"


def helper(x):
    return x


def classes_of(x):
    """Which classes x is of, by identity and by equality."""
    by_identity = type(x) is int, type(x) is float, type(x) is bool, type(x) is complex
    others = type(x) is not int, type(x) is not float, type(x) is type(x), type(x) is None
    by_equality = type(x) == int, type(x) == float, type(x) != bool, type(x) in (int, float)  # noqa: E721
    return by_identity, others, by_equality


def test_identity_of_types():
    for x in (1, 1.5, True, 2j):
        same(classes_of, x)


def test_identity_of_things_known_when_compiling():
    def f(a):
        classes = int is int, int is float, ValueError is ValueError, ValueError is KeyError
        others = np.sin is np.sin, np.sin is not np.cos, math is math, np is not np, helper is helper
        return classes, others, a.dtype is a.dtype, a.dtype is DTYPE_NAME, a.dtype == DTYPE_NAME, a is int

    same(f, np.ones(3))


def test_identity_of_bools_and_of_values_of_unlike_classes():
    def f(x, flag):
        maybe = flag if x else None
        known = x is None, x is int, x is G_FLOAT, flag is G_INT, x is DTYPE_NAME
        return known, flag is True, flag is not False, maybe is True, maybe is not True, maybe is None

    for flag in (True, False):
        same(f, 1, flag)
        same(f, 0, flag)


@pytest.mark.parametrize("x", [7, np.uint8(7), "7"])
def test_identity_of_equal_values_is_refused(x):
    """CPython's answer depends on which values it happens to keep."""
    fn = (lambda x: str(x) is DTYPE_NAME) if x == "7" else (lambda x: x is G_INT)
    with pytest.raises(treadle.UnsupportedError, match=r"'is' between (?s:.*)compare with =="):
        njit(fn)(7 if x == "7" else x)


MADE = [
    "str(x) == '3'",
    "f'{x}' != '3'",
    "str(x) in ('3', '4')",
    "(str(x), 1) == ('3', 1)",
    "str(x) == str(x)",
]
MADE += [
    "str(x) < '4'",
    "str(x) + 'a' == '3a'",
    "len(str(x))",
    "bool(str(x))",
    "not f'{x}'",
    "1 if str(x) else 2",
]
MADE += ["str(x)[0]", "str(x).upper()"]


@pytest.mark.parametrize("source", MADE)
def test_a_string_made_at_run_time_is_a_value(source):
    fn = eval(f"lambda x: {source}")
    for x in (3, 34):
        assert njit(fn)(x) == fn(x)


def test_a_string_made_at_run_time_is_no_name_of_a_dtype():
    with pytest.raises(treadle.UnsupportedError, match="'==' of a string and dtype float64"):
        njit(lambda x: np.ones(x).dtype == str(x))(3)


def test_strings_made_of_constants():
    def f(x):
        made = f"k{G_INT}" == "k7", str(G_FLOAT) == "2.5", str(1e16) in ("1e+16",), f"{-0.0}" == "-0.0"
        more = str(True) == "True", f"{None}" == "None", len(f"{G_INT * 10}") == 2, "a" + "b" == "ab"
        signs = f"{BIG}{1e22}" == "92233720368547758081e+22", f"{math.nan} {-math.inf}" == "nan -inf"
        return made, more, signs, 5 if f"{G_INT}" else 6

    same(f, 3)


def test_a_made_string_beside_other_kinds():
    def f(x):
        apart = str(x) == x, x != str(x), str(x) == 3, str(x) != (1,), str(x) is None, (str(x) == None)  # noqa: E711
        return apart, isinstance(str(x), str), isinstance(str(x), (int, float)), isinstance("a", str)

    same(f, 3)
