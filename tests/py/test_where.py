"""where= of ufuncs and reductions, and outputs that are given to ufuncs of two results, in compiled code against NumPy."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import treadle
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from library_arrays import arrays
from sizes import examples
from treadle import guvectorize, njit, vectorize

sys.path.insert(0, str(Path(__file__).parent))
from library_check import check, compiled, outcome, same  # noqa: E402

SETTINGS = settings(max_examples=examples(80), deadline=None, suppress_health_check=list(HealthCheck))
TOLERANCE = {"e": 2e-2, "f": 1e-4, "F": 1e-4}
REAL = "?bBhHiIqQefd"


def mask_for(rng, shape):
    """Truth values that repeat along some axes of the shape."""
    shape = tuple(1 if rng.integers(4) == 0 else n for n in shape)[int(rng.integers(0, len(shape) + 1)) :]
    m = np.asarray(rng.random(shape) < rng.choice([0.0, 0.5, 0.9, 1.0]))
    return np.repeat(m, 2, -1)[..., ::2] if m.ndim and rng.integers(2) else m


def spelled(rng, a, more=""):
    """Axes and keepdims of a call."""
    axis = rng.choice([None, "one", "two"]) if a.ndim > 1 else rng.choice([None, "one"])
    text = ""
    if axis == "one":
        text = f"axis={int(rng.integers(-a.ndim, a.ndim))}, "
    elif axis == "two":
        text = f"axis={tuple(int(k) for k in rng.permutation(a.ndim)[:2])}, "
    return text + more + ("keepdims=True, " if rng.integers(2) else "")


@SETTINGS
@given(
    arrays(ndim=(1, 3), special=False),
    st.integers(0, 10**6),
    st.sampled_from(["sum", "prod", "any", "all", "mean", "var", "std"]),
)
def test_reductions(a, seed, name):
    rng = np.random.default_rng(seed)
    more = "ddof=1, " if name in ("var", "std") and rng.integers(2) else ""
    if name in ("sum", "prod") and rng.integers(2) and a.dtype.char != "?":
        more = "initial=2, "
    call = spelled(rng, a, more)
    rtol = TOLERANCE.get(a.dtype.char, 1e-12)
    m = mask_for(rng, a.shape)
    check(f"np.{name}(a, {call}where=b)", a, m, rtol=rtol, atol=rtol)
    check(f"a.{name}({call}where=b)", a, m, rtol=rtol, atol=rtol)


@SETTINGS
@given(arrays(REAL, ndim=(1, 3)), st.integers(0, 10**6), st.sampled_from(["max", "min"]))
def test_extremes(a, seed, name):
    rng = np.random.default_rng(seed)
    call = spelled(rng, a, "initial=1, ")
    m = mask_for(rng, a.shape)
    check(f"np.{name}(a, {call}where=b)", a, m)
    check(f"a.{name}({call}where=b)", a, m)
    check(f"np.{name}imum.reduce(a, {call}where=b)", a, m)


def both(text, *args, rtol=0.0):
    """Hold a call that stores to NumPy: results, and all arguments after it."""
    python, ours = compiled(text)
    theirs, mine = (
        [np.copy(x, order="K") if isinstance(x, np.ndarray) else x for x in args] for _ in range(2)
    )
    want, got = outcome(python, tuple(theirs)), outcome(ours, tuple(mine))
    same(got, want, f"{text} of {args!r}", rtol)
    for x, y in zip(mine, theirs, strict=True):
        same(x, y, f"arguments of {text}, which were {args!r}", rtol)


TWO = [
    "add",
    "subtract",
    "multiply",
    "maximum",
    "fmin",
    "less",
    "equal",
    "logical_xor",
    "bitwise_and",
    "floor_divide",
    "power",
    "copysign",
]
ONE = ["negative", "square", "sign", "isnan", "signbit", "logical_not", "floor"]


@SETTINGS
@given(arrays("?bHiqdf", ndim=(1, 3), special=False), st.integers(0, 10**6), st.sampled_from(TWO + ONE))
def test_ufuncs(a, seed, name):
    rng = np.random.default_rng(seed)
    b = rng.permutation(a.ravel()).reshape(a.shape)
    m = mask_for(rng, a.shape)
    operands = "a, c" if name in TWO else "a"
    python = compiled(f"np.{name}({operands})")[0]
    r = outcome(lambda: getattr(np, name)(a, b), ()) if name in TWO else outcome(python, (a,))
    assume(not isinstance(r, Exception) or name == "power")
    dtype = a.dtype if isinstance(r, Exception) else r.dtype
    if name in ("floor_divide", "power") and dtype.kind in "biu":
        b = np.abs(b) + 1 if dtype.kind != "b" else b  # what a division by zero gives is the processor's
    assume(dtype != np.float16)  # of small integers it is float32 here
    out = rng.integers(0, 2, a.shape).astype(dtype)
    if rng.integers(2):
        out = np.asfortranarray(out)
    rtol = 1e-6 if name == "power" and dtype == np.float32 else 0.0  # an ulp of NumPy's own
    both(f"np.{name}({operands}, out=d, where=b)" if name in TWO else f"np.{name}(a, out=c, where=b)",
         *((a, m, b, out) if name in TWO else (a, m, out)), rtol=rtol)  # fmt: skip


def test_items_that_are_not_chosen_are_not_looked_at():
    n = np.arange(6)
    both("np.power(a, a - 3, out=b, where=a > 2)", n, np.full(6, 7))
    both("np.floor_divide(a, a - 3, out=b, where=a != 3)", n, np.full(6, 7))
    both("np.divide(a, b, out=c, where=b != 0)", n, n - 3, np.full(6, 0.5))
    assert isinstance(check("np.power(a, a - 3, out=b, where=a > 1)", n, np.full(6, 7)), ValueError)


def test_numbers_literals_and_overlap():
    a = np.arange(6.0)
    both("np.sqrt(a, out=a, where=a > 2)", a)
    both("np.add(a, 1, out=a, where=True)", a)
    both("np.add(a, 1, out=a, where=False)", a)
    both("np.add(a, 1, out=a, where=b)", a, False)
    both("np.add(a[1:], a[:-1], out=a[1:], where=a[:-1] > 1)", a)
    both("np.add(a[0], 1.5, out=b, where=a > 2)", a, np.zeros(6))
    both("np.add(a, 1.5, b, where=a > 2, dtype=np.float32)", a, np.zeros(6))
    for text in (
        "np.sum(a, where=True)",
        "np.sum(a, where=False)",
        "np.mean(a, where=False)",
        "np.sum(a[2], where=True)",
        "a[2].sum(where=False)",
    ):
        check(text, a)
    for name in ("sum", "prod", "any", "mean", "var"):
        check(f"a[2].{name}(where=b)", a, True)
        check(f"np.{name}(a, where=b)", np.array(2.5), np.array(True))
    check("a[2].max(where=b, initial=9)", a, True)
    check("np.sum(a, where=b)", a, True)
    check("np.std(a, where=a > 1, out=b, axis=0)", a, np.zeros(()), rtol=1e-14)
    check("a.sum(axis=b, where=a > 1)", a, 0)
    check("a.mean(axis=b, where=a > 1)", a, 0)


@vectorize
def root(x):
    if x < 0:
        raise ValueError("negative")
    return x**0.5


@vectorize(["float64(float64, float64)", "int64(int64, int64)"])
def less(x, y):
    return x - 2 * y


try:
    from numpy._core._multiarray_umath import clip as foreign
except ImportError:  # NumPy < 2
    from numpy.core._multiarray_umath import clip as foreign

OF_OTHERS = {
    "less": (lambda x, y, o, m: less(x, y, out=o, where=m)),
    "less, by position": (lambda x, y, o, m: less(x, y, o, where=m)),
    "foreign": (lambda x, y, o, m: foreign(x, y, 3, out=o, where=m)),
    "a number": (lambda x, y, o, m: less(x, 2, out=o, where=m)),
    "all": (lambda x, y, o, m: less(x, y, out=o, where=True)),
}
COMPILED = {name: njit(f) for name, f in OF_OTHERS.items()}


@SETTINGS
@given(
    arrays("bBhHiqfd", special=False),
    st.integers(0, 10**6),
    st.sampled_from(list(OF_OTHERS)),
)
def test_ufuncs_of_users_and_of_others(a, seed, name):
    rng = np.random.default_rng(seed)
    f = OF_OTHERS[name]
    b = np.array(a[..., ::-1] if a.ndim else a)
    if a.ndim and len(a) and rng.integers(2):
        b = b[0]
    out = np.asarray(rng.random(a.shape) * 9)
    if rng.integers(2):
        out = np.asfortranarray(out)
    m, got, want = mask_for(rng, a.shape), out.copy(order="K"), out.copy(order="K")
    f(a, b, want, m)
    same(COMPILED[name](a, b, got, m), want, name)
    same(got, want, name)


def test_a_function_is_called_for_what_is_chosen_alone():
    a = np.arange(-3.0, 4.0)

    @njit
    def f(a, m, out):
        return root(a, out=out, where=m)

    @njit(parallel=True, fastmath=True)
    def both(a, m):
        return f(a, m, np.zeros(len(a))) + f(a[::-1], m[::-1], np.ones(len(a)))

    same(f(a, a >= 0, np.full(7, 9.0)), np.where(a >= 0, np.sqrt(np.abs(a)), 9.0), "root")
    same(f(a, False, np.full(7, 9.0)), np.full(7, 9.0), "root")
    same(f(2.25, a > 1, np.full(7, 9.0)), np.where(a > 1, 1.5, 9.0), "root")
    same(f(a[:0], True, a[:0].copy()), a[:0], "root")
    r = np.sqrt(np.abs(a))
    same(both(a, a >= 0), np.where(a >= 0, r, 0.0) + np.where(a >= 0, r, 1.0)[::-1], "root")
    with pytest.raises(ValueError, match="negative"):
        f(a, a >= -1, np.zeros(7))
    o = a.copy()
    same(f(o, o >= 0, o), np.where(a >= 0, np.sqrt(np.abs(a)), a), "root")
    long, m = np.arange(-50_000.0, 50_000.0), np.arange(100_000) >= 50_000
    want = np.zeros(100_000)
    root(long, out=want, where=m)
    same(f(long, m, np.zeros(100_000)), want, "root")
    o = np.concatenate((a, a))  # overlap: the input is as it was before
    want = o.copy()
    root(want[1:-1].copy(), out=want[2:], where=want[1:-1] > 0)
    same(f(o[1:-1], o[1:-1] > 0, o[2:]), want[2:], "root")
    r = a.copy()
    r.flags.writeable = False
    for args, what in (((a, a > 0, r), "read-only"), ((a, a > 0, 2.0), "must be an array")):
        with pytest.raises(treadle.TypingError, match=what):
            f(*args)
    with pytest.raises(ValueError, match="broadcast"):
        f(a, a[:2] > 0, np.zeros(7))


def test_generalised_ufuncs_have_no_where():
    @guvectorize(["void(float64[:], float64[:])"], "(n)->()")
    def total(x, out):
        out[0] = x.sum()

    with pytest.raises(treadle.TypingError, match="no keyword arguments but out="):
        njit(lambda a, o: total(a, out=o, where=a > 0))(np.ones(3), np.zeros(()))


def test_two_results():
    a, o, p = np.arange(-3, 3) / 2, np.zeros(6), np.ones(6)
    i = np.zeros(6, "i4")
    for text in ("np.divmod(a, 0.3, out=(b, c))", "np.divmod(a, 0.3, b, c)", "np.divmod(a, 0.3, out=(a, b))", "np.divmod(a, 0.3, out=(None, b))",
                 "np.divmod(a, a + 0.25, out=(c, a))", "np.modf(a, out=(b, c))", "np.modf(a, b, c)", "np.modf(a, out=(a, None))",
                 "np.modf(a[::-1], out=(a, c))", "np.modf(a[0], out=(b, c))", "np.modf(a)", "np.divmod(a, 0.3)"):  # fmt: skip
        both(text, a, o, p)
    for text in ("np.frexp(a, out=(b, c))", "np.frexp(a, b, c)", "np.frexp(a, out=(None, c))"):
        both(text, a, o, i)
        both(text, a, o.astype("f4"), i.astype("i8"))
    both("np.frexp(a, out=(b, c))", a, np.zeros((2, 6)), np.zeros((2, 6), "i4"))
    for text in ("np.modf(a, out=(None, b))", "np.modf(a, out=(b, None))", "np.divmod(a, 0.3, out=(None, b))", "np.divmod(a, c, out=(b, None))",
                 "np.frexp(a, out=(b, None))", "np.modf(a[0], out=(None, b))", "np.divmod(3.5, 0.3, out=(None, b))"):  # fmt: skip
        both(text, a[:1], np.zeros((2, 6)), o)
        both(text, a[:1], np.zeros((2, 0)), o[:1])
    for text in ("np.modf(a, out=(None, b))", "np.divmod(a, a, out=(b, None))"):
        assert isinstance(check(text, a, np.zeros(4)), Exception), text
        assert isinstance(check(text, a, np.zeros(1)), Exception), text


def test_bad():
    a = np.arange(6.0).reshape(2, 3)
    for text in ("np.sum(a, where=a > 1, axis=5)", "np.max(a, where=a > 1)", "np.sum(a, where=np.ones((2, 2), np.bool_))", "np.sum(a[0], where=a > 1)",
                 "np.sum(a, where=a)", "np.add(a, 1, out=a[:1], where=a > 1)", "np.modf(a, out=a)", "np.modf(a, out=(a,))",
                 "np.modf(a, out=(a[0], a[1]))"):  # fmt: skip
        assert isinstance(check(text, a), Exception), text
    for text, what in (
        ("np.add(a, 1, where=a > 1)", "without out=.*give out="),
        ("np.add(a, 1, out=a, where=a)", "where must be of bool"),
        ("np.frexp(a, out=(a, a > 1))", "cannot store"),
        ("np.hypot.reduce(a, where=a > 1)", "no where="),
        ("np.add(a, 1, out=a.astype(np.int8), where=a > 1)", "cannot store"),
    ):
        with pytest.raises(treadle.TypingError, match=f"(?s){what}"):
            compiled(text)[1](a)
    r = a.copy()
    r.flags.writeable = False
    for text in ("np.add(a, 1, out=a, where=a > 1)", "np.modf(a, out=(a, None))"):
        with pytest.raises(treadle.TypingError, match="read-only|written to"):
            compiled(text)[1](r)


def test_ways_in():
    rng = np.random.default_rng(1)
    a, m = rng.random(200_000), rng.random(200_000) > 0.5

    def f(a, m):
        out = np.zeros(len(a))
        np.multiply(a, 2, out=out, where=m)
        return out, np.sum(a, where=m), a.mean(where=m), np.max(a, where=m, initial=0.0)

    one = njit(f)

    @njit(nogil=True, fastmath=True, boundscheck=False)
    def calls(a, m):
        return one(a, m)

    for g in (one, calls, njit(parallel=True)(f)):
        same(g(a, m), f(a, m), "ways in", rtol=1e-12)
