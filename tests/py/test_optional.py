"""Values that are None on some paths and numbers, arrays or others on the rest."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import njit, prange, vectorize

CASES = []


def case(*args):
    def decorate(fn):
        CASES.extend(pytest.param(fn, a, id=f"{fn.__name__}-{a}") for a in args)
        return fn

    return decorate


@njit
def positive(x):
    if x >= 0:
        return x
    return None


@case(1, -1)
def falls_off_the_end(x):
    if x > 0:
        return x * 1.5


@case(3, -3)
def compared(x):
    y = positive(x)
    if y is not None:
        return y + 1
    return -100


@case((3.0, 1.0, 2.0), ())
def best_so_far(a):
    best = None
    for v in a:
        if best is None or v < best:
            best = v
    return best


@case(3, -3, 0)
def truth(x):
    y = positive(x)
    if y:
        return 1
    if not y:
        return 2
    return 3


@case(3, -3, 2)
def equality(x):
    y, z = positive(x), positive(x + 1)
    return y == None, y != None, y == 3, y == z, y != z, None == y, 3 == y, y is None, y is not None, y == 3.0  # noqa: E711


@case(5, 0)
def none_first(n):
    x = None
    t = 0.0
    for i in range(n):
        if i > 0:
            t += x + 1
        x = i * 2.0
    return t, x


@case(5, 0)
def inside_a_tuple(n):
    state = (None, 0)
    for i in range(n):
        a, b = state
        if a is None:
            a = 1
        state = (a + i, b + 1)
    return state


@case(5, 0)
def of_a_tuple(n):
    p = None
    for i in range(n):
        p = (i, 0.5) if p is None else (p[0] + 1, p[1] * 2)
    return p


@case(5, -2)
def captured(n):
    y = positive(n)

    def inner(q):
        return (q is None) == (y is None)

    return inner(y), inner(1), inner(None)


@case(5)
def as_an_operand(n):
    y = positive(n)
    a = np.zeros(3)
    a[0] = y
    a[1:] += y
    r = 0
    for i in range(y):
        r += i
    return max(y, 2), abs(y), -y, y // 2, r, a[positive(2)], float(y), a.sum()


@case(5, -2)
def either(n):
    y = positive(n)
    return y or 7, y and 7


@case(5, 1, 3, 4)
def comes_and_goes(n):
    x = None
    while n > 0:
        if x is None:
            x = 1
        elif x > 3:
            x = None
        else:
            x *= 2
        n -= 1
    return x


@case(5, 0)
def calls_in_a_loop(n):
    r, k = 0, None
    for i in range(n):
        k = positive(i - 2)
        r += 0 if k is None else k
    return r, k


@case(True, False)
def chosen(c):
    return (3 if c else None), (None if c else 2.5j), c


@case(5)
def always_none(n):
    x = None
    if n > 7:
        x = None
    return x is None, x == None  # noqa: E711


@njit
def count(n):
    if n == 0:
        return None
    r = count(n - 1) if n > 0 else None
    return n if r is None else r + n


@case(3, -1, 0)
def recursion(n):
    return count(n)


@pytest.mark.parametrize("fn, arg", CASES)
def test_as_in_python(fn, arg):
    args = (np.array(arg, float),) if isinstance(arg, tuple) else (arg,)
    assert njit(fn)(*args) == fn(*args)


def test_types_join():
    @njit
    def f(a, n):
        if n == 0:
            return None
        if n == 1:
            return a[0]
        return 3

    assert f(np.full(2, 0.5, np.float32), 1) == 0.5 and f(np.ones(2, np.float32), 0) is None
    assert f(np.ones(2, np.float32), 2) == 3.0
    assert str(next(iter(f.overloads.values()))) == "optional(float64)"


MISUSED = [
    lambda n: positive(n) + 1,
    lambda n: 2.5 ** positive(n),
    lambda n: positive(n) * positive(n),
    lambda n: positive(n) - (positive(n) or 1j),
    lambda n: abs(positive(n)),
    lambda n: positive(n) < 3,
    lambda n: 3 >= positive(n),
    lambda n: range(positive(n)),
    lambda n: -positive(n),
    lambda n: ~positive(n),
    lambda n: positive(n).real,
    lambda n: tail(n)[0],
    lambda n: tail(n).sum(),
    lambda n: tail(n).shape,
    lambda n: tail(n) + 1,
    lambda n: 1 - tail(n),
    lambda n: len(tail(n)),
    lambda n: pair(n)[0],
    lambda n: 3 in pair(n),
]


@njit
def tail(n):
    if n >= 0:
        return np.arange(3.0)[n:]
    return None


@njit
def pair(n):
    return (n, 2.5) if n >= 0 else None


def unpacked(n):
    a, b = pair(n)
    return a + b


def iterated(n):
    s = 0.0
    for v in tail(n):
        s += v
    return s


def assigned(n):
    t = tail(n)
    t[0] = 7
    return t


def augmented(n):
    t = tail(n)
    t += 1
    return t


def power_in_place(n):
    t = positive(n)
    t **= 2
    return t


@pytest.mark.parametrize("fn", [*MISUSED, unpacked, iterated, assigned, augmented, power_in_place])
def test_none_is_cpythons_error(fn):
    f = njit(fn)
    agree(f(1), fn(1))
    with pytest.raises((TypeError, AttributeError)) as want:
        fn(-2)
    with pytest.raises((TypeError, AttributeError)) as got:
        f(-2)
    assert type(got.value) is type(want.value) and str(got.value) == str(want.value)
    assert not isinstance(got.value, treadle.TreadleError)
    lines = [t.tb_lineno for t in traceback_of(got.value) if t.tb_frame.f_code.co_filename == __file__]
    assert lines[-1] == [t.tb_lineno for t in traceback_of(want.value)][-1]


@pytest.mark.parametrize(
    "fn", [lambda n: np.sqrt(positive(n)), lambda n: np.zeros(3)[positive(n)], lambda n: float(positive(n))]
)
def test_a_value_that_is_needed(fn):
    f = njit(fn)
    f(2)
    with pytest.raises(TypeError, match="a value is needed here, and it is None") as e:
        f(-2)
    assert not isinstance(e.value, treadle.TreadleError)


def test_declared_results():
    @njit("f8(f8)")
    def f(x):
        y = None
        if x > 0:
            y = x
        return y

    assert f(1.0) == 1.0
    with pytest.raises(TypeError, match="it is None"):
        f(-1.0)
    with pytest.raises(
        treadle.TypingError,
        match="the result is None, but the signature declares float64(.|\n)*a path ends without",
    ):

        @njit("f8(f8)")
        def g(x):
            if x > 0:
                return x


def test_what_stays_an_error():
    def compared(n):
        return tail(n) == None  # noqa: E711

    with pytest.raises(treadle.TypingError, match="ask `is None` first"):
        njit(compared)(3)

    def truth(n):
        return 1 if tail(n) else 2

    with pytest.raises(treadle.TypingError, match="truth of array"):
        njit(truth)(3)

    def nothing(n):
        x = None
        return x + n

    with pytest.raises(treadle.TypingError, match="unsupported operand types for \\+: none and int64"):
        njit(nothing)(3)

    def one_of_two(n):
        x = None
        for _ in range(n):
            y = x + 1
            x = y
        return x

    with pytest.raises(treadle.TypingError, match="unsupported operand types for \\+: none and int64"):
        njit(one_of_two)(3)
    with pytest.raises(treadle.TypingError, match="needs a number for each element"):
        vectorize(positive.py_func)(np.ones(3))

    def parallel(a):
        best = None
        for i in prange(len(a)):
            if best is None or a[i] > best:
                best = a[i]
        return best

    with pytest.raises(treadle.UnsupportedError, match="handed from one iteration"):
        njit(parallel=True)(parallel)(np.ones(3))


def test_through_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_CACHE_DIR", str(tmp_path))

    def f(x):
        if x > 0:
            return x, 1.5

    for loaded in (0, 1):
        g = njit(cache=True)(f)
        assert g(2) == (2, 1.5) and g(-2) is None and g.stats["loaded"] == loaded


# --- arrays and what else may be None ---

A = np.arange(1.0, 7.0)
B = np.arange(12.0).reshape(3, 4)
ARRAYS = []


def traceback_of(e):
    t = e.__traceback__
    while t:
        yield t
        t = t.tb_next


def agree(got, want):
    if isinstance(want, tuple):
        assert isinstance(got, tuple) and len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            agree(g, w)
    elif isinstance(want, np.ndarray):
        assert isinstance(got, np.ndarray) and got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    else:
        assert (got is None) == (want is None) and got == want


def arrays(*argsets):
    def decorate(fn):
        ARRAYS.extend(pytest.param(fn, a, id=f"{fn.__name__}-{a[-1]}") for a in argsets)
        return fn

    return decorate


@njit
def beyond(a, v):
    for i in range(len(a)):
        if a[i] > v:
            return a[i:]
    return None


@njit
def weighted(a, w=None):
    if w is None:
        return a.sum()
    return (a * w).sum()


@arrays((A, 0), (A, 3))
def maybe(a, n):
    x = None
    if n > 0:
        x = a[:n]
    return x


@arrays((A, 0), (A, 3))
def made_where_none(a, n):
    x = None
    if n > 0:
        x = a * 2
    if x is None:
        x = np.zeros(3)
    x[0] += 1  # an array on all paths
    return x


@arrays((A, 0), (A, 3))
def one_path_returns_none(a, n):
    if n == 0:
        return None
    return a * n


@arrays((B, 0), (B[:0], 0), (B[:, :0], 0))
def best_row(b, n):
    best = None
    for i in range(b.shape[0]):
        row = b[i] * (i + n)
        if best is None or row.sum() > best.sum():
            best = row
    return best


@arrays((A, 2.0), (A, 100.0))
def given_by_a_call(a, v):
    t = beyond(a, v)
    if t is None:
        return -1.0
    return t[0] + len(t)


@arrays((A, 2.0), (A, 100.0))
def passed_on(a, v):
    return beyond(a, v), v, (beyond(a, v + 1), 1)


@arrays((A, 0), (A, 2))
def in_a_tuple(a, n):
    w = None
    if n > 0:
        w = a
    x, k = t = (w, n)
    if x is None:
        return 0.0, t
    return x[k], t


@arrays((A, 0), (A, 3))
def tuple_of_arrays(a, n):
    p = None
    for i in range(n):
        p = (a * i, i) if p is None else (p[0] + 1, p[1] + 1)
    return p


@arrays((A, 0), (A, 3))
def to_a_callee(a, n):
    w = a + n if n > 0 else None
    return weighted(a, w), weighted(a), weighted(a, w=a), np.average(a, weights=w)


@arrays((A, 0), (A, 3))
def asked_in_a_loop(a, n):
    w = None
    if n > 0:
        w = a
    s = 0.0
    out = np.zeros_like(a)
    for i in prange(len(a)):
        if w is not None:
            out[i] = w[i] * a[i]
        else:
            out[i] = a[i]
    for i in range(len(a)):
        s += out[i] if w is None else w[i]
    return out, s


@arrays((A, 0), (A, 3))
def a_view_that_is_written(a, n):
    b = np.zeros(4)
    w = b[1:] if n > 0 else None
    if w is not None:
        w[0] = n
        w += 1
    return b


@arrays((A, 0, 0), (A, 2, 0), (A, 2, 3), (A, 0, 2))
def two_of_them(a, n, m):
    x = a if n > 0 else None
    y = a * 2 if m > 0 else None
    if x is not None and y is not None:
        return (x + y).sum()
    if x is None and y is None:
        return -1.0
    if x is None:
        return y.sum()
    return x.sum()


@arrays((A, 0), (A, 1), (A, 5))
def the_one_before(a, n):
    prev, cur = None, a.copy()
    for _ in range(n):
        new = cur * 0.5
        if prev is not None:
            new = new + prev
        prev, cur = cur, new
    return prev, cur


@arrays((A, 0), (A, 3))
def until_it_is_there(a, n):
    x, k = None, 0
    while x is None:
        k += 1
        if k > n:
            x = a[:k]
    return x.sum(), k


@arrays((A, 0), (A, 2), (A, 9))
def left_out(a, n):
    s = 0.0
    for i in range(n):
        t = beyond(a, i * 2.0)
        if t is None:
            continue
        s += t[0]
    return s


@arrays((B, 0), (B, 1), (B, 2))
def of_two_layouts(b, n):
    x = None
    if n == 0:
        x = b.T
    elif n == 1:
        x = b[:, ::2]
    if x is None:
        return x, 0.0
    return x, x[0, 1]


@arrays((A, 0), (A, 2))
def in_a_closure(a, n):
    w = a if n > 0 else None

    def g(i):
        if w is None:
            return 0.0
        return w[i]

    return g(0) + g(1)


@arrays((A, 0), (A, 2), (A, -1))
def after_a_try(a, n):
    x = None
    try:
        if n < 0:
            raise ValueError
        x = a * n
    except ValueError:
        pass
    return x


@arrays((A, 0), (A, 5))
def a_cache(a, n):
    cache, r = None, 0.0
    for i in range(n):
        if i % 2 == 0:
            cache = None
        if cache is None:
            cache = a * i
        r += cache[1]
    return r


@arrays((A, 0), (A, 2))
def a_mask(a, n):
    m = a > 2 if n > 0 else None
    return a.sum() if m is None else a[m].sum()


@arrays((A, 0), (A, 4))
def a_range(a, n):
    r = range(n) if n > 0 else None
    s = 0.0
    if r is not None:
        for i in r:
            s += a[i]
    return s, r is None


@arrays((A, 0), (A, 4))
def a_name(a, n):
    how = None
    if n > 2:
        how = "mean"
    if how is None:
        return a.sum()
    return a.mean() if how == "mean" else -1.0


@arrays((A, 0), (A, 4))
def by_isinstance(a, n):
    x = a if n > 0 else None
    return x[1] if isinstance(x, np.ndarray) else 0.0


@arrays((A, 0), (A, 4))
def a_flag_of_it(a, n):
    x = a if n > 0 else None
    there = x is not None
    return x[0] if there else 0.0


@arrays((A, 0), (A, 4))
def narrowed_number(a, n):
    x = n * 1.5 if n > 0 else None
    if not (x is None):
        return x * 2
    y = x if x is not None else 7.0
    return y


@pytest.mark.parametrize(
    "options", [{}, {"parallel": True}, {"nogil": True, "fastmath": True, "boundscheck": True}], ids=str
)
@pytest.mark.parametrize("fn, args", ARRAYS)
def test_arrays_as_in_python(fn, args, options):
    want = fn(*(x.copy() if isinstance(x, np.ndarray) else x for x in args))
    agree(njit(**options)(fn)(*args), want)


@pytest.mark.parametrize("fn, args", ARRAYS)
def test_arrays_from_a_compiled_caller(fn, args):
    inner = {how: njit(inline=how)(fn) for how in ("never", "always")}
    kept, put = inner["never"], inner["always"]

    @njit(parallel=True, nogil=True)
    def outer(*args):
        return kept(*args), put(*args)

    want = fn(*args)
    agree(outer(*args), (want, want))


def test_read_only_and_strided():
    ro = np.arange(12.0)[::2]
    ro.flags.writeable = False
    for n in (0, 2):
        agree(njit(maybe)(ro, n), maybe(ro, n))
        agree(njit(to_a_callee)(ro, n), to_a_callee(ro, n))
        agree(
            njit(of_two_layouts)(B.T[:, ::2].astype(np.float32), n),
            of_two_layouts(B.T[:, ::2].astype(np.float32), n),
        )


def test_records_and_generators():
    dt = np.dtype([("x", "f8"), ("n", "i4")])
    r = np.zeros(4, dt)
    r["x"] = [3, 1, 2, 1]

    def least(r, rng, n):
        best = None
        gen = rng if n > 0 else None
        for i in range(n):
            if best is None or r[i]["x"] < best["x"]:
                best = r[i]
        if best is not None:
            best["n"] += 1
        return (-1.0 if best is None else best["x"]), (0.5 if gen is None else gen.random())

    for n in (0, 3):
        s = r.copy()
        assert njit(least)(r, np.random.default_rng(3), n) == least(s, np.random.default_rng(3), n)
        assert (r == s).all()


def test_what_narrowing_proves_has_no_check():
    @njit
    def f(a, n):
        x = a if n > 0 else None
        if x is None:
            return 0.0
        return x[0] + x.sum()

    assert f(A, 1) == A[0] + A.sum() and f(A, 0) == 0.0
    assert "NoneType" not in f.inspect_ir(f.signatures[0])

    @njit
    def g(a, n):
        x = a if n > 0 else None
        return x[0]

    assert g(A, 1) == A[0]
    assert "NoneType" in g.inspect_ir(g.signatures[0])


@njit
def walk(steps):
    x = None
    y = None
    seen = 0.0
    for s in steps:
        if s < -1:
            x = None
        elif s < 1 and x is not None:
            x = x[1:] if len(x) > 1 else None
        elif s == 1:
            y = x
        elif s == 2:
            x, y = y, x
        elif x is None:
            x = np.arange(s * 1.0)
        else:
            x = x * s
        if x is not None and y is not None and len(x) == len(y):
            seen += (x + y).sum()
        elif y is not None:
            seen += y.sum()
    return x, y, seen


@given(st.lists(st.integers(-3, 6), max_size=12))
@settings(deadline=None)
def test_any_sequence(steps):
    steps = np.array(steps, np.int64)
    agree(walk(steps), walk.py_func(steps))


def test_arrays_through_the_cache(tmp_path):
    (tmp_path / "prog.py").write_text(
        """
import numpy as np
from treadle import njit

@njit(cache=True)
def f(a, n):
    x = None
    if n > 0:
        x = a[n:]
    return x

a = np.arange(5.0)
print(f(a, 2), f(a, 0), f.stats["loaded"])
try:
    njit(cache=True)(lambda a, n: f(a, n)[0])(a, 0)
except TypeError as e:
    print(e)
"""
    )
    env = {**os.environ, "TREADLE_CACHE_DIR": str(tmp_path / "cache")}
    for loaded in (0, 1):
        out = subprocess.run(
            [sys.executable, str(tmp_path / "prog.py")], env=env, capture_output=True, text=True, check=True
        ).stdout
        assert out == f"[2. 3. 4.] None {loaded}\n'NoneType' object is not subscriptable\n"
