"""Dates: np.datetime64 and np.timedelta64 in compiled functions, held to NumPy over units, NaT, layouts and functions.

Numbers are small enough that no unit overflows: from 2.5 on NumPy raises there, before it wraps, as compiled code does.
"""

from __future__ import annotations

import contextlib
import functools
import io
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import UnsupportedError, njit, prange, vectorize
from treadle.errors import TypingError

UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as")
NAT = np.iinfo(np.int64).min
D, T = np.datetime64, np.timedelta64


@functools.cache
def compiled(text: str, parallel: bool = False, **options: bool) -> tuple[Callable, Callable]:
    """The function that returns this expression of a, b and c, as Python has it and compiled."""
    names = [n for n in "abc" if n in compile(text, "<text>", "eval").co_names]
    space: dict[str, Any] = {"np": np, "D": D, "T": T}
    exec(f"def f({', '.join(names)}): return {text}", space)
    return space["f"], njit(parallel=parallel, **options)(space["f"])


def outcome(f: Callable, args: tuple) -> Any:
    """What a call gives, or the exception."""
    with warnings.catch_warnings(action="ignore"):
        try:
            return f(*args)
        except Exception as e:
            return e


def same(got: Any, want: Any, what: str) -> None:
    """Hold a result to NumPy's: values, NaT where it has NaT, dtypes with units, shapes."""
    if isinstance(want, tuple):
        assert isinstance(got, tuple) and len(got) == len(want), what
        for g, w in zip(got, want):
            same(g, w, what)
        return
    g, w = np.asarray(got), np.asarray(want)
    assert g.shape == w.shape, f"{what}: {g!r}, not {w!r}"
    assert g.dtype == w.dtype, f"{what}: {g.dtype}, not {w.dtype}"
    if w.dtype.kind in "mM":
        g, w = g.view(np.int64), w.view(np.int64)
    np.testing.assert_array_equal(g, w, err_msg=what)


def check(text: str, *args: Any, parallel: bool = False) -> None:
    """Hold an expression of a, b and c, compiled, to NumPy; where NumPy raises, it has to raise too."""
    python, ours = compiled(text, parallel)
    want, got = outcome(python, args), outcome(ours, args)
    what = f"{text} of {args!r}"
    if isinstance(want, Exception):
        assert isinstance(got, Exception), f"{what}: {got!r}, where NumPy raises {want!r}"
        return
    if isinstance(got, Exception):
        raise AssertionError(what) from got
    same(got, want, what)


def dates(numbers: list[int | None], kind: str, unit: str) -> np.ndarray:
    """An array of them, None being NaT."""
    return np.array([NAT if n is None else n for n in numbers], np.int64).view(f"{kind}8[{unit}]")


NUMBERS = st.one_of(st.none(), st.integers(-90, 90))
LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "plain": lambda a: a,
    "reversed": lambda a: a[::-1],
    "strided": lambda a: np.repeat(a, 3)[::3],
    "readonly": lambda a: frozen(a),
    "column": lambda a: np.stack([a, a], axis=1)[:, 1],
}


def frozen(a: np.ndarray) -> np.ndarray:
    a = a.copy()
    a.flags.writeable = False
    return a


@st.composite
def some(draw: st.DrawFn, kind: str, units: tuple[str, ...] = UNITS, least: int = 0) -> np.ndarray:
    """A 1-d array of dates of any unit and layout."""
    numbers = draw(st.lists(NUMBERS, min_size=least, max_size=7))
    return LAYOUTS[draw(st.sampled_from(sorted(LAYOUTS)))](dates(numbers, kind, draw(st.sampled_from(units))))


def pair(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both of one size."""
    n = min(a.size, b.size)
    return a[:n], b[:n]


# --- arithmetic and comparison ---

MEETING = ("Y", "M", "W", "D", "m", "ms", "ps", "fs")
FEW = ("Y", "M", "D", "h", "ns")


@settings(max_examples=examples(80), deadline=None)
@given(some("M", FEW), some("M", FEW))
def test_datetimes_of_two_units(a, b):
    a, b = pair(a, b)
    check("(a - b, a < b, a <= b, a == b, a != b, a > b, a >= b)", a, b)
    check("(np.minimum(a, b), np.maximum(a, b), np.fmin(a, b), np.fmax(a, b))", a, b)
    if a.size:
        check("(a - b, a < b, a <= b, a == b, a != b, a > b, a >= b)", a[0], b[0])
        check("(a - b, a < b, b > a)", a, b[0])


@settings(max_examples=examples(80), deadline=None)
@given(some("m", FEW), some("m", FEW))
def test_timedeltas_of_two_units(a, b):
    a, b = pair(a, b)
    check("(a + b, a - b, a < b, a <= b, a == b, a != b)", a, b)
    check("(a / b, a // b, a % b)", a, b)
    check("(np.minimum(a, b), np.maximum(a, b), np.fmin(a, b), np.fmax(a, b))", a, b)
    if a.size:
        check("(a + b, a - b, a < b, a > b, a >= b)", a[0], b[0])
        check("(a / b, a // b, a % b, divmod(a, b))", a[0], b[0])


@settings(max_examples=examples(80), deadline=None)
@given(some("M", FEW), some("m", FEW))
def test_datetimes_and_timedeltas(a, b):
    a, b = pair(a, b)
    check("(a + b, b + a, a - b)", a, b)
    if a.size:
        check("(a + b, b + a, a - b)", a[0], b[0])
        check("(a + b, a - b)", a, b[0])
    check("b - a", a, b)  # which there is not
    check("a + a", a)


@pytest.mark.parametrize("a", MEETING)
@pytest.mark.parametrize("b", MEETING)
@pytest.mark.parametrize("kinds", ["MM", "mm", "Mm"])
def test_which_units_meet(kinds, a, b):
    """One sample of each pair of units: the unit of the result, or that there is none."""
    ka, kb = kinds
    check("a - b", dates([5], ka, a)[0], dates([3], kb, b)[0])


@settings(max_examples=examples(80), deadline=None)
@given(
    some("m", ("D", "ns")),
    st.lists(st.integers(-9, 9), min_size=7, max_size=7),
    st.sampled_from([np.int64, np.int8, np.uint32, np.bool_, np.float64, np.float32, np.float16]),
)
def test_timedeltas_by_numbers(a, n, dtype):
    b = np.array(n[: a.size], np.int64).astype(dtype)
    with warnings.catch_warnings(action="ignore"):
        check("(a * b, b * a, a / b, a // b)", a, b)
        if a.size:
            check("(a * b, a / b, a // b)", a, b[0])
            check("(a * b, a / b)", a[0], b[0])
    check("(a * 2, 3 * a, a * 1.5, a / 2, a // -2, a / 0.25, a // 0, -a, +a, abs(a))", a)
    check("(np.negative(a), np.absolute(a), np.multiply(a, 3), np.divide(a, 2))", a)


def test_numbers_beside_dates():
    a, m = dates([1, None, 90], "M", "D"), dates([1, None, 90], "m", "s")
    check("(a + 5, 5 + a, a - 5, a + b)", a, np.array([1, 2, 3]))
    check("(a + 5, 5 + a, a - 5, 5 - a)", m)
    for text in (
        "a * 2",
        "2 / b",
        "5 - a",
        "a + 1.5",
        "b * b",
        "b * 1j",
        "-a",
        "a < 3",
        "b % 2",
        "b ** 2",
        "~b",
        "a + a",
    ):
        check(text, a, m) if "a" in text and "b" in text else check(
            text.replace("b", "a"), m if "b" in text else a
        )
    check("(a == None, a != None)", a[0])
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        check("(a == 1, a < 5, a >= b)", m, np.array([1, 0, 90]))


def test_nan_and_what_no_integer_holds_are_nat():
    m = dates([1, 2, 3], "m", "s")
    f = np.array([np.nan, np.inf, 1e300])
    check("(a * b, a / b, b * a)", m, f)
    check("a / b", m, np.zeros(3))


# --- units ---


@settings(max_examples=examples(80), deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.integers(-(10**6), 10**6)), max_size=9),
    st.sampled_from(["Y", "M", "W", "D", "h"]),
    st.sampled_from(["Y", "M", "W", "D", "h", "m"]),
)
def test_datetimes_by_the_calendar(numbers, unit, to):
    a = dates(numbers, "M", unit)
    check(f"a.astype('M8[{to}]')", a)


@pytest.mark.parametrize(
    "year", [1600, 1700, 1899, 1900, 1968, 1970, 1972, 1999, 2000, 2001, 2100, 2400, -1, 0, 1, 4]
)
def test_days_of_a_year(year):
    first = D(f"{year:05d}-01-01" if year < 0 else f"{year:04d}-01-01")
    days = first + np.arange(-2, 368)
    check(
        "(a.astype('M8[M]'), a.astype('M8[Y]'), a.astype('M8[M]').astype('M8[D]'), a.astype('M8[W]'))", days
    )


@pytest.mark.parametrize("unit", UNITS)
def test_conversions_from(unit):
    a, m = dates([0, 1, -1, 90, -90, None], "M", unit), dates([0, 1, -1, 90, -90, None], "m", unit)
    for to in UNITS:
        text = f"a.astype('{{}}8[{to}]')"
        for x, kind in ((a, "M"), (m, "m")):
            got = outcome(compiled(text.format(kind))[1], (x,))
            if isinstance(got, UnsupportedError):  # too fine, or months in days
                assert "conversion of" in str(got)
                continue
            same(got, x.astype(f"{kind}8[{to}]"), f"{unit} to {to}")
    check("(a.astype(np.int64), a.view(np.int64), a.astype('i8'), a.view('i8'))", a)
    check("(a.astype(np.float64), a.astype(np.int32), a.astype(np.bool_))", m)


def test_conversions_of_numbers():
    check("(a.astype('M8[s]'), a.astype('m8[D]'), a.view('M8[ns]'))", np.array([1, -5, NAT]))
    check("(a.astype('M8[s]'), a.astype('m8[D]'))", np.array([1.5, np.nan, -2.75, 1e300]))
    check("a.astype('m8[D]')", np.array([True, False]))
    check(
        "(a.astype('M8[s]'), a.view('m8[D]'), a.astype('m8[D]'), a.view('M8[s]'))",
        dates([1, None], "M", "D").astype("M8[D]"),
    )
    check("(a.astype('M8[h]'), a.astype(np.int64))", D("2020-01-01"))
    check("np.asarray(a, dtype='M8[D]')", np.array([1, 2, 3]))
    check("(np.array(a, dtype='M8[h]'), np.asarray(a), np.array(a))", dates([1, None], "M", "D"))


# --- constants and texts ---

STEP, START, LATE = T(3, "D"), D("2020-01-31"), D("2030-01-01")
TABLE = np.array(["2020-01-01", "NaT", "2021-06-01"], "M8[D]")


def test_constants():
    local = D("1999-12-31T23:59", "m")

    @njit
    def f(x, late=LATE):
        return x + STEP, START - x, local - x, late, TABLE, TABLE[2] - x, x < START

    x = D("2020-02-02")
    same(f(x), f.py_func(x), "constants")


@pytest.mark.parametrize(
    "text",
    [
        "2020", "2020-02", "2020-02-29", "2020-02-29T05", "2020-02-29 05:06", "2020-02-29T05:06:07", "2020-02-29T05:06:07.5",
        "1969-12-31T23:59:59.123456", "1969-12-31T23:59:59.123456789012345678", "NaT", "nat", "", "-0005-03-01", "0001-01-01",
        "12020-01-01", "2000-02-29", "1900-02-28", "1970-01-01T00:00:00.000000001",
    ],
)  # fmt: skip
def test_texts(text):
    check(f"np.datetime64({text!r})")
    if len(text) < 12:
        for unit in ("Y", "M", "W", "D", "h", "s", "ms"):
            check(f"np.datetime64({text!r}, {unit!r})")


@pytest.mark.parametrize(
    "text",
    [
        "2020-13",
        "2021-02-29",
        "2020-1-1",
        "2020-01-32",
        "x",
        "2020-01-01T24",
        "2020-01-01T00:60",
        "2020-01-01X",
        "202",
    ],
)
def test_texts_that_are_none(text):
    with pytest.raises(TypingError, match=r"numpy\.datetime64\('.*'\): a text is like"):
        njit(compiled(f"np.datetime64({text!r})")[0])()


def test_made_of_numbers():
    check(
        "(np.datetime64(a, 's'), np.timedelta64(a, 'h'), np.timedelta64(a), np.timedelta64(5, 'D'), np.datetime64(5, 'D'))",
        7,
    )
    check("(np.timedelta64('NaT', 's'), np.timedelta64('NaT'), np.timedelta64(), np.datetime64('NaT', 's'))")
    check("(np.datetime64(a), np.datetime64(a, 'h'), np.datetime64(a, 'M'))", D("2020-05-05"))
    for text, match in (
        ("np.datetime64(5)", "requires a specified unit"),
        ("np.datetime64('now')", "outside of compiled code"),
        ("np.timedelta64(1.5, 'D')", "is no timedelta64"),
        ("np.timedelta64('5', 'D')", "only .NaT. is one"),
    ):
        with pytest.raises(TypingError, match=match):
            compiled(text)[1]()
    with pytest.raises(UnsupportedError, match="the unit '25s'"):
        compiled("np.timedelta64(1, '25s')")[1]()


# --- arrays ---


@settings(max_examples=examples(40), deadline=None)
@given(some("M", ("M", "s")), some("m", ("D", "ns")))
def test_items_views_and_places(a, m):
    for x in (a, m):
        check(
            "(a[::2], a[::-1], a[1:], a[:0], a[None], a.size, a.shape, a.ndim, len(a), a.itemsize, a.nbytes)",
            x,
        )
        check(
            "(a.copy(), a.T, a.ravel(), a.reshape((-1, 1)), np.flip(a), np.roll(a, 1), np.repeat(a, 2), np.tile(a, 2))",
            x,
        )
        check("(a[np.isnat(a)], a[~np.isnat(a)], np.isnat(a), np.isnan(a), np.isfinite(a), np.isinf(a))", x)
        check("(np.concatenate((a, a)), np.stack((a, a)), np.append(a, a), np.hstack((a, a[::-1])))", x)
        check("(np.nonzero(a), np.count_nonzero(a), np.any(a), np.all(a), np.flatnonzero(a))", x)
        if x.size:
            check(
                "(a[0], a[-1], a[np.array([0, -1])], np.take(a, np.array([0])), a[0] == a[0], np.isnat(a[0]))",
                x,
            )


@settings(max_examples=examples(20), deadline=None)
@given(some("M", ("M", "s")), some("m", ("D", "ns")))
def test_functions_written_in_numpy(a, m):
    for x in (a, m):
        check("(np.union1d(a, a[:2]), np.array_split(a, 2)[1])", x)
        if not np.isnat(x).any():
            check("(np.intersect1d(a, a[:2]), np.setxor1d(a, a[1:]))", x)
        if x.size:
            check("(np.delete(a, 0), np.insert(a, 0, a[-1]))", x)


@settings(max_examples=examples(40), deadline=None)
@given(some("M", ("M", "s")), some("m", ("D", "ns")))
def test_order(a, m):
    for x in (a, m):
        check("(np.sort(a), np.argsort(a, kind='stable'), np.unique(a), np.searchsorted(np.sort(a), a))", x)
        check("np.searchsorted(np.sort(a), a, side='right')", x)
        check("(a.max(), a.min(), a.argmax(), a.argmin(), np.ptp(a))", x)
        check("np.clip(a, a[0], a[-1])", x)


@settings(max_examples=examples(40), deadline=None)
@given(some("m", ("D", "ns")))
def test_sums(m):
    check("(a.sum(), a.mean(), a.cumsum(), np.sum(a), np.mean(a))", m)
    check("(np.diff(a), np.diff(a, n=2), np.diff(a, n=0))", m)
    square = np.stack([m, m[::-1], m])
    check(
        "(a.sum(axis=0), a.sum(axis=1), a.sum(axis=1, keepdims=True), a.mean(axis=0), a.mean(axis=1))", square
    )
    check("(a.cumsum(axis=0), a.cumsum(axis=1), a.cumsum(), np.diff(a, axis=0), np.diff(a, axis=1))", square)
    check("a.sum(where=b)", m, np.arange(m.size) % 2 == 0)


def test_rows_and_columns():
    a = dates([5, None, 7, 1, 2, 3], "M", "D").reshape(2, 3)
    check(
        "(a.max(axis=0), a.min(axis=1), a.argmin(axis=1), np.sort(a, axis=0), np.sort(a), np.ptp(a, axis=1))",
        a,
    )
    check(
        "(a.max(axis=0), a.T[1], a[:, 1], a[0] - a[1], a - a[:, :1], np.diff(a), np.diff(a, axis=0))",
        np.asfortranarray(a),
    )
    check("(np.where(a < b, a, b), np.minimum(a, b), a - b)", a, a[:1].astype("M8[h]"))
    check("a - b", a, dates([1, 2, 3, 4], "M", "D"))


def test_new_arrays():
    check("(np.zeros(3, 'M8[D]'), np.zeros((2, 0), 'm8[ns]'), np.ones(2, dtype='timedelta64[h]'))")
    check(
        "(np.full(2, D('2020')), np.full(2, a), np.full((2, 2), a, 'M8[h]'), np.full(2, 5, 'm8[s]'))",
        D("2020-02-01"),
    )
    check("np.full(2, 'NaT', 'M8[D]')")
    check(
        "(np.zeros_like(a), np.full_like(a, np.datetime64('2020')), np.ones_like(a))", dates([1, 2], "M", "D")
    )
    check(
        "(np.arange(a, b), np.arange(a, b, T(2, 'D')), np.arange(a, b, T(36, 'h')), np.arange(a, 5))",
        D("2020-01-01"),
        D("2020-01-09"),
    )
    check(
        "(np.arange('2020-01', '2020-03', dtype='M8[D]'), np.arange(5, dtype='m8[s]'), np.arange(T(5, 'D')))"
    )
    check("(np.array([a, b]), np.array((a, b, a)))", D("2020-01-01"), D("2020-01-09T05"))
    e = njit(lambda n: np.empty(n, "M8[ms]"))(4)
    assert e.dtype == "M8[ms]" and e.shape == (4,)
    with pytest.raises(ValueError, match="cannot use NaT"):
        compiled("np.arange(a, b)")[1](D("NaT", "D"), D("2020-01-09"))


def test_stores():
    @njit
    def f(a, m):
        a[0] = "2020-01-01"
        a[1] = D("2021-05-05T12:00")
        a[-1] = D("NaT")
        a[2:4] = D("2000", "Y")
        a[a < D("1971")] = D("1999-01")
        m[0] = 5
        m[1:] = m[1:] * 2
        m += T(1, "h")
        m -= T(1, "D")
        m *= 2
        a += m
        m.sort()
        return a, m

    def fresh():
        return dates([1, 2, 3, 4, -5, None], "M", "D"), dates([1, None, 3, 4, -5, 6], "m", "s")

    x, y = fresh(), fresh()
    got, want = f(*x), f.py_func(*y)
    same(got, want, "stores")
    assert got[0] is x[0] and got[1] is x[1]
    with pytest.raises(TypingError, match="of readonly array"):
        njit(lambda a: a.sort())(frozen(x[0]))
    for text in ("a[0] = 1.5", "a[0] = T(1, 'D')", "a[0] = 'x'", "a += 1.5"):
        space = {"np": np, "T": T}
        exec(f"def g(a): {text}", space)
        with pytest.raises(TypingError):
            njit(space["g"])(x[0])


def test_loops():
    @njit
    def f(a):
        gap, last = T(0, "D"), D("NaT", "D")
        for x in a:
            if not np.isnat(x) and not np.isnat(last) and x - last > gap:
                gap = x - last
            last = x
        n = 0
        for i, (x, y) in enumerate(zip(a, a[1:])):
            if x <= y and i >= 0:
                n += 1
        return gap, n, min(a[0], a[1]), max(a[0], a[1], a[2])

    for numbers in ([1, 5, 3, None, 90], [None, 1, 2], [3, 2, 1]):
        a = dates(numbers, "M", "D")
        same(f(a), f.py_func(a), str(numbers))


def test_dtypes():
    check(
        "(a.dtype == 'M8[D]', a.dtype == np.int64, a.dtype == 'datetime64[h]', a.dtype != 'm8[D]')",
        dates([1], "M", "D"),
    )
    f = njit(lambda a, t: np.zeros(a, t))
    for t in (np.dtype("M8[D]"), np.dtype("m8[ns]"), np.dtype("M8[D]"), np.dtype("f8")):
        same(f(2, t), np.zeros(2, t), str(t))
    texts = "(isinstance(a, np.datetime64), isinstance(a, np.timedelta64), isinstance(a, np.generic), isinstance(a, int), isinstance(a, np.integer))"
    check(texts, D("2020"))
    check(texts, T(5, "s"))
    assert repr(treadle.typeof(D("2020"))) == "datetime64[Y]"
    assert repr(treadle.typeof(dates([1], "m", "ns"))) == "array(timedelta64[ns], 1d, C)"
    check("(1 if a.dtype.kind == 'M' else 2, 1 if a.dtype.name == 'datetime64[Y]' else 2)", D("2020"))


def test_none_or_a_date():
    @njit
    def f(a):
        return None if np.isnat(a) else a

    @njit
    def g(a, c):
        r = D("NaT")
        if c:
            r = a
        return r

    a = D("2020-01-01")
    assert f(a) == a and f(D("NaT", "D")) is None
    assert g(a, True) == a and np.isnat(g(a, False))


def test_tuples_and_calls():
    inner = njit(lambda a, b: a - b)

    @njit
    def g(t):
        return inner(t[0], t[1]), (t[1], t[0])

    t = (dates([1, 2], "M", "D"), D("1970-01-01T05"))
    same(g(t), g.py_func(t), "tuples")
    assert g(t)[1][1] is t[0]


# --- print ---


@pytest.mark.parametrize("unit", UNITS)
def test_print(unit):
    f = njit(lambda x: print(x, f"<{x}>"))
    for n in (0, 1, -1, 59, 60, -61, 3599, 86399, -86400, 10**9 + 7, -(10**9) - 7, None):
        for kind in "Mm":
            x = dates([n], kind, unit)[0]
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                f(x)
            assert out.getvalue() == f"{x} <{x}>\n"


# --- other ways in ---


@pytest.mark.parametrize(
    "options",
    [
        {"nogil": True},
        {"fastmath": True},
        {"boundscheck": False},
        {"parallel": True},
        {"error_model": "numpy"},
    ],
)
def test_options(options):
    @njit(**options)
    def f(a, m):
        return a + m, (a - a[0]).sum(), np.sort(a), np.where(np.isnat(a), a[0], a), m / T(8, "h")

    a, m = dates([5, None, 7, 1], "M", "D"), dates([5, 6, None, 1], "m", "h")
    same(f(a, m), f.py_func(a, m), str(options))


def test_loops_over_a_prange():
    @njit(parallel=True)
    def f(a, b):
        out, less = np.empty(a.size, "m8[s]"), np.empty(a.size, np.bool_)
        for i in prange(a.size):
            out[i] = a[i] - b[i]
            less[i] = a[i] < b[i]
        n = 0
        for i in prange(a.size):
            if np.isnat(a[i]):
                n += 1
        return out, less, n

    r = np.random.default_rng(1)
    a, b = (r.integers(-(10**6), 10**6, 5000).view("M8[s]") for _ in range(2))
    a[::7] = "NaT"
    same(f(a, b), (a - b, a < b, int(np.isnat(a).sum())), "prange")


def test_large_arrays_on_all_cores():
    r = np.random.default_rng(2)
    a, b = (r.integers(-(10**9), 10**9, 200_000).view("M8[s]") for _ in range(2))
    check(
        "(a - b, a < b, a.max(), a.min(), (a - b).sum(), np.sort(a)[:5], np.minimum(a, b))",
        a,
        b,
        parallel=True,
    )
    a[1234] = "NaT"
    check("(a - b, a.max(), a.min(), (a - b).sum(), a.argmax(), np.unique(a).size)", a, b, parallel=True)


def test_fields_of_records():
    for align in (False, True):
        t = np.dtype([("k", "i1"), ("t", "M8[s]"), ("d", "m8[ms]", (2,)), ("q", "M8[25s]")], align=align)

        @njit
        def f(a):
            a["t"][0] = D("2020-01-01")
            a[1]["t"] = D("2021-01-01T05:00")
            a[2].d[1] = T(7, "s")
            a[3].t = a[0].t + a[1].d[0]
            s = T(0, "ms")
            for r in a:
                s += r.d[1]
            return s, a["t"], a["d"].sum(axis=0), np.sort(a["t"]), a["t"].max(), a[1].t, a["t"].ravel()

        def fresh(t=t):
            a = np.zeros(4, t)
            a["t"], a["d"] = np.arange(4).astype("M8[s]"), np.arange(8).reshape(4, 2)
            return a.view(np.recarray)

        x, y = fresh(), fresh()
        same(f(x), f.py_func(y), str(align))
        assert x.tobytes() == y.tobytes()
        with pytest.raises(UnsupportedError, match="field 'q', whose dtype is <M8"):
            njit(lambda a: a["q"])(x)


def test_results_are_what_was_passed():
    f = njit(lambda a: a)
    a = dates([1, 2], "M", "D")
    assert f(a) is a and f(frozen(a)).flags.writeable is False
    v = njit(lambda a: a.view(np.int64))(a)
    v[0] = 77
    assert a[0] == D(77, "D") and np.shares_memory(v, a)
    assert type(f(T(1, "s"))) is np.timedelta64 and f(T(1)).dtype == "m8"


def test_declared_signatures():
    day, days = treadle.typeof(D("2020-01-01")), treadle.typeof(dates([1], "M", "D"))
    f = njit([treadle.typeof(T(1, "D"))(day, day)])(lambda a, b: a - b)
    assert f(D("2020-01-05"), D("2020-01-01")) == T(4, "D")
    with pytest.raises(TypeError):
        f(D("2020-01-05T05"), D("2020-01-01"))
    g = njit([(days,)])(lambda a: a[0])
    assert g(dates([5], "M", "D")) == D(5, "D")
    with pytest.raises(TypeError):
        g(np.array([5]))
    any_layout = day[:]
    h = njit([(any_layout,)])(lambda a: a[-1])
    assert h(dates([5, 6, 7], "M", "D")[::2]) == D(7, "D")


def test_the_cache_in_a_second_process(tmp_path):
    (tmp_path / "prog.py").write_text(
        textwrap.dedent(
            """
            import numpy as np
            from treadle import njit

            EPOCH, DAYS = np.datetime64("2020-01-01"), np.array(["2020-01-05", "NaT"], "M8[D]")

            @njit(cache=True)
            def f(a):
                return a - EPOCH, DAYS - a[0], a.max()

            a = np.array([1, 2, 3], "M8[h]")
            print([repr(x) for x in f(a)] == [repr(x) for x in f.py_func(a)], f.stats["cache_hits"] if "cache_hits" in f.stats else "")
            """
        )
    )
    for _ in range(2):
        run = subprocess.run(
            [sys.executable, "prog.py"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert run.stdout.startswith("True"), run.stderr


def test_constants_are_part_of_what_is_cached(tmp_path):
    """Another unit with the same number is another program."""
    outputs = []
    for unit in ("D", "h"):
        text = f"""
            import numpy as np
            from treadle import njit

            STEP, TABLE = np.timedelta64(3, "{unit}"), np.array([3], "m8[{unit}]")

            @njit(cache=True)
            def f(a):
                return a + STEP, TABLE

            print(f(np.datetime64("2020-01-01")))
            """
        (tmp_path / "prog.py").write_text(textwrap.dedent(text))
        run = subprocess.run(
            [sys.executable, "prog.py"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        outputs.append(run.stdout)
    assert "2020-01-04" in outputs[0] and "2020-01-01T03" in outputs[1] and "h]" in outputs[1]


# --- refusals ---

REFUSED = [
    ("np.sin(a)", UnsupportedError, r"numpy\.sin\(\) of array.timedelta64"),
    ("np.sign(a)", UnsupportedError, r"np\.sign\(x\.view\(np\.int64\)\)"),
    ("a.std()", UnsupportedError, r"std\(\) of array.timedelta64"),
    ("a.prod()", UnsupportedError, r"prod\(\) of"),
    ("np.median(a)", UnsupportedError, r"numpy\.median\(\) of"),
    ("a.item()", UnsupportedError, r"item\(\) of"),
    ("np.add(a, a, out=a)", UnsupportedError, "out= of numpy.add"),
    ("np.add(a, a, where=a == a)", UnsupportedError, "where= of numpy.add"),
    ("a.astype('M8[25s]')", TypingError, "M8.25s.(.|\n)*units of dates are plain ones"),
    ("np.where(a == a, a, 5)", TypingError, "takes dates and dates"),
    ("np.linspace(a[0], a[1], 3)", UnsupportedError, r"numpy\.linspace\(\) of"),
    ("np.isnat(5)", TypingError, r"isnat\(\) takes dates"),
    ("np.concatenate((a, np.zeros(2)))", TypingError, "no common type"),
    ("np.empty(a[0])", UnsupportedError, r"numpy\.empty\(\) of timedelta64"),
    ("np.repeat(a, a[0])", UnsupportedError, r"numpy\.repeat\(\) of timedelta64"),
    ("np.take(np.arange(3), a)", TypingError, r"numpy\.take\(\): array.int64, 1d, C. among dates"),
    ("np.max(np.arange(3), initial=a[0])", TypingError, r"numpy\.max\(\): array.int64, 1d, C. among dates"),
    ("np.nanmin(a)", UnsupportedError, r"nanmin\(\) of"),
    ("np.cov(a)", UnsupportedError, r"cov\(\) of"),
    ("np.add(a, a, dtype='m8[s]')", UnsupportedError, "dtype= of numpy.add"),
    ("int(a[0])", TypingError, "takes a real number"),
]


@pytest.mark.parametrize(("text", "error", "match"), REFUSED, ids=[r[0] for r in REFUSED])
def test_refused(text, error, match):
    space = {"np": np}
    exec(f"def f(a): return {text}", space)
    with pytest.raises(error, match=match):
        njit(space["f"])(dates([1, 2, 3], "m", "D"))


def test_refused_arguments():
    f = njit(lambda a: 1)
    with pytest.raises(TypeError, match=r"unit is a multiple like \[25s\]"):
        f(np.zeros(2, "M8[25s]"))
    with pytest.raises(TypeError, match=r"unit is a multiple like \[25s\]"):
        f(T(1, "25s"))
    with pytest.raises(TypeError, match="big-endian"):
        f(np.zeros(2, ">M8[s]"))
    assert njit(lambda a: a[0])(np.zeros(17, "u1")[1:].view("M8[s]")) == np.datetime64(0, "s")


def test_two_units_for_one_variable():
    @njit
    def f(c):
        if c:
            r = T(1, "D")
        else:
            r = T(1, "h")
        return r

    with pytest.raises(TypingError, match=r"timedelta64\[D\](.|\n)*timedelta64\[h\]"):
        f(True)


def test_ufuncs_take_none():
    @vectorize
    def f(a):
        return a

    with pytest.raises(TypeError, match="dtype datetime64"):
        f(dates([1, 2], "M", "D"))


def test_an_exception_takes_none():
    @njit
    def f(a):
        raise ValueError(f"{a}")

    with pytest.raises(UnsupportedError, match=r"an exception argument of datetime64\[D\]"):
        f(D("2020-01-01"))
