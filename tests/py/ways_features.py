"""What the matrix of ways in (test_ways_in.py) tries: one row a feature, a plain function with the calls it is tried with.

Functions stand in a module, so that a second process finds the same ones. A row says what the function does alone; how it is reached, `ways.py`
knows. `test_names.py` fails for an option, an exception, a scalar type or a builtin that stands in no row.
"""

from __future__ import annotations

import cmath  # noqa: F401 - texts of rows name it
import enum
import functools
import math  # noqa: F401
import numbers  # noqa: F401
import operator

import numpy as np
import treadle
from numpy.exceptions import AxisError  # noqa: F401 - texts of rows name it
from treadle import literal_unroll, prange
from ways_rows import FEATURES, Feature, Point, feature, floats, ints, matrix, names_of, text_feature  # noqa: F401 - FEATURES, Feature: for who imports this

# --- kinds of scalars ---


for _t in names_of("src/ty/ty.h", r'X\([A-Z]+\d*, "\w+", "(\w+)", \d'):
    _x, _y = (np.dtype(_t).type(k) for k in ((1, 0) if _t == "bool" else (7, 3)))
    text_feature(
        f"scalar_{_t}",
        f"def scalar_{_t}(x, y):\n    return x + y, x * y, x == y, -(x + y)\n",
        (_x, _y),
        python=False,
    )
    text_feature(
        f"array_of_{_t}",
        f"def array_of_{_t}(a):\n    b = a[::-1] + a\n    a[0] = a[1]\n    return b, a[2], len(a)\n",
        lambda t=_t: (ints(6, t),),
        lambda t=_t: (ints(12, t)[::2],),
    )
    if _t != "bool":
        text_feature(
            f"declared_{_t}",
            f"def declared_{_t}(x, y):\n    return x + y * y\n",
            (_x, _y),
            (3, True),
            ("no number", 1),
            signature=f"{_t}({_t}, {_t})",
            python=False,
        )


# --- records ---

SPOT = np.dtype([("x", "f8"), ("n", "i4"), ("v", "f4", (2,)), ("at", [("p", "u1"), ("q", "c8")])])


def spots(n: int = 5, **more: bool) -> np.ndarray:
    """Records of numbers, a sub-array and a record."""
    a = np.zeros(n, np.dtype(SPOT.descr, **more))
    a["x"], a["n"], a["v"] = floats(n), ints(n), floats(2 * n).reshape(n, 2)
    a["at"]["p"], a["at"]["q"] = ints(n), 1j
    return a


@feature(
    lambda: (spots(),),
    lambda: (spots(align=True)[::-2],),
    lambda: (spots(0),),
    lambda: (spots(2),),
)
def records_of_an_array(a):
    a["x"][1:] += 1
    for i in range(len(a)):
        a[i]["n"] += 2
        a[i]["v"][1] = a["v"][i, 0] + i
        a["at"]["p"][i] = i
    s = 0.0
    for r in a:
        s += r["x"] * r["n"] + r["at"]["p"]
    if len(a) > 2:
        a[0] = a[2]
    return s, a["x"] * 2 + a["n"], a["v"].sum(), len(a), a["at"]["q"]


@feature(lambda: (spots().view(np.recarray),))
def records_by_attributes(a):
    a.x[0] = 3
    a.n = a.n + 1
    setattr(a[1], "n", 7)
    a[2].x = getattr(a[1], "x")
    return a.x.sum(), a[1].n, a[2].x


@feature((4,))
def records_that_are_made(n):
    a = np.zeros(n, SPOT)
    b = np.empty_like(a)
    b[:] = a
    for i in range(n):
        b[i]["x"] = i
        b[i]["at"]["p"] = 2 * i
    return b["x"], b["at"]["p"].sum(), a["x"].sum()


@feature(lambda: (spots()[1],), lambda: (spots()[0].copy(),))
def records_alone(r):
    return r["x"] * 2, r["v"].sum(), r["at"]["p"]


# --- arrays of strings ---


@feature(
    lambda: (np.array(["ab", "c", "", "ab"]), "ab"),
    lambda: (np.array(["ab", "c", "zz", "a"])[::-1], "c"),
    lambda: (np.array(["é", "λ𝔸"]), "é"),
)
def arrays_of_strings(a, x):
    found = {}
    for s in a:
        found[s] = found.get(s, 0) + 1
    b = np.zeros_like(a)
    for i in range(len(a)):
        b[i] = a[i].upper()
    a[1] = "changed"
    return found[x], b[0], a[1], (a == x).sum(), np.sort(a)[0], x in b, len(np.unique(a)), a < b


@feature(
    lambda: (np.array(["ab", "c", "", "aB c"]), "b"),
    lambda: (np.array([["é", "λ𝔸"], ["1", " "]]), "λ"),
)
def functions_of_arrays_of_strings(a, x):
    s = a + np.char.multiply(a, 2) + x
    s += "."
    return s, np.char.str_len(s), np.char.upper(a), np.char.replace(a, x, "y"), np.char.find(s, x)


@feature((4,), (1,))
def bytearrays(n):
    b = bytearray(n)
    for i in range(n):
        b[i] = 3 * i
    b += b"xyz"
    b.append(b.pop() - 1)
    del b[0]
    return b, b[::2], sum(b), len(b), b.find(b"y"), b == bytes(b), b.hex()


# --- lists of items that are no numbers ---


@feature((4,), (1,))
def lists_of_many_items(n):
    rows = [[k] * n for k in range(n)]
    pairs = [(k, 0.5 * k) for k in range(n)]
    held = [np.arange(n), np.ones(n, np.int64)]
    some = [None, n]
    rows.append(rows[0])
    rows[0].append(n)
    rows[-1], rows[0] = rows[0], rows[-1]
    rows.sort(key=lambda row: len(row), reverse=True)
    pairs.insert(0, pairs.pop())
    del rows[1:2]
    s = 0
    for row in rows:
        for x in row:
            s = s * 3 + x
    for k, x in pairs:
        s += k * int(2 * x)
    for a in held:
        s += int(a.sum())
    try:
        rows[n + 5].append(1)
    except IndexError:
        s += len(some)
    return s, len(rows), some[0] is None, pairs == sorted(pairs)


# --- dates ---


def days(n: int = 6, unit: str = "D") -> np.ndarray:
    """Dates, one of them NaT where there are many."""
    a = ints(n).astype(np.int64).view(f"M8[{unit}]")
    a[3:4] = "NaT"
    return a


@feature(
    lambda: (days(), np.timedelta64(30, "h")),
    lambda: (days(9)[::-2], np.timedelta64(1, "W")),
    lambda: (days(1), np.timedelta64("NaT", "s")),
)
def dates_of_an_array(a, step):
    since = a - np.datetime64("2020-01-01")
    late, n = np.timedelta64(0, "D"), 0
    for x in a:
        if np.isnat(x):
            n += 1
        elif x - a[0] > late:
            late = x - a[0]
    b = a + step
    b[0] = np.datetime64("2000", "Y")
    return since, since / step, since // 3, b, np.sort(a), a.max(), late, n, a == a[::-1], since.sum()


@feature((3,))
def dates_that_are_made(n):
    a = np.zeros(n, "M8[s]")
    b = np.full(n, np.timedelta64(n, "h"))
    for i in range(n):
        a[i] = np.datetime64(i, "D") + b[i]
    return a, a.astype("M8[M]"), np.arange(n, dtype="m8[D]"), np.isnat(a)


@feature(
    lambda: (np.datetime64("2020-02-29T05"), np.timedelta64(7, "m")),
    lambda: (np.datetime64("NaT", "ms"), np.timedelta64(1, "D")),
)
def dates_alone(x, d):
    return (
        x + d,
        x - np.datetime64("2020"),
        d * 2.5,
        -d,
        x > x + d,
        np.maximum(x, x + d),
        d % np.timedelta64(4, "s"),
    )


@feature((3, 0.5, True, 2j), (-3, float("nan"), False, complex(0, -0.0)))
def python_scalars(i, f, b, c):
    return i * f, c * f, b and i > 0, i == 3


@feature((2.5,))
def returns_tuple(x):
    return x, (int(x), x > 1), None


@feature((2.5,))
def returns_named_tuple(x):
    return Point(x, Point(1, x * 2))


@feature((2.5,), (-1.0,))
def returns_optional(x):
    if x > 0:
        return x
    return None


@feature((2.5,))
def returns_nothing(x):
    x + 1


@feature(lambda: (floats(),))
def returns_argument(a):
    return a


@feature(lambda: (matrix(),), lambda: (matrix("F"),), lambda: (matrix()[::-1, ::2],))
def returns_view(a):
    return a.T, a[1], a[:, ::-1]


@feature(lambda: (matrix(),), lambda: (np.zeros((0, 4)),))
def returns_new_arrays(a):
    return a + 1, a.astype(np.float32), np.zeros((2, 0)), np.array(3.5)


# --- kinds of arguments ---


@feature((None, 3), (4, 3))
def argument_none(x, y):
    if x is None:
        return y
    return x * y


@feature(("sum", 5), ("other", 5))
def argument_string(what, n):
    if what == "sum":
        return n * (n + 1) // 2
    return n


def triple(x):
    return 3 * x


@feature((triple, 5))
def argument_function(f, n):
    return f(n) + f(n + 1)


@feature((treadle.njit(triple), 5))
def argument_compiled_function(f, n):
    return f(n) + 1


@feature(((1, 2.5), (3, (4, 5j))), ((1, 2.5), (3, (4, 0j))))
def argument_tuples(a, b):
    return a[0] + b[0], a[1] * b[1][0], b[1][1]


@feature((Point(1, 2.5),))
def argument_named_tuple(p):
    return p.x + p.y, p[0]


@feature(lambda: ((floats(), ints()),))
def argument_tuple_of_arrays(t):
    return t[0].sum() + t[1][0]


@feature(lambda: (np.array(2.5),))
def argument_without_axes(a):
    a[()] += 1
    return a[()], a.ndim


@feature(lambda: (np.zeros(0),), lambda: (np.zeros((0, 3))[:, 0],))
def argument_empty(a):
    return a.sum(), len(a), a * 2


@feature(lambda: (floats(),), lambda: (floats(24)[::2],), lambda: (floats()[::-1],), lambda: (floats(36).reshape(12, 3)[:, 1],))  # fmt: skip
def argument_layouts(a):
    for i in range(1, len(a)):
        a[i] += a[i - 1] * 0.5
    return a[-1]


def _overlapping() -> tuple:
    a = floats(13)
    return a[1:], a[:-1]


@feature(_overlapping)
def argument_overlapping(a, b):
    a[:] = b * 2
    return b.sum()


def _read_only() -> tuple:
    a = floats()
    a.flags.writeable = False
    return (a,)


@feature(_read_only)
def argument_read_only(a):
    return a[2] + a.max()


TABLE = np.arange(10.0) ** 2


@feature((3,), (-1,))
def frozen_global_array(i):
    return TABLE[i] + TABLE.sum()


def _with_default(x, k=3, *rest, scale=2.0):
    s = x * k * scale
    for r in rest:
        s += r
    return s


@feature((1.5,))
def keywords_and_defaults(x):
    return _with_default(x), _with_default(x, 4, 5.0, 6), _with_default(k=2, x=x, scale=0.5)


@feature((4, 2.5))
def closures(n, x):
    def inner(k):
        return k * x

    s = 0.0
    for i in range(n):
        s += inner(i)
    return s


# --- declared signatures ---


@feature((250, 10), (255, 255), (300, 1), (2.5, 1), signature="u1(u1,u1)", python=False)
def declared_wraps(a, b):
    return a + b


@feature(lambda: (floats(),), lambda: (ints(),), lambda: (3.0,), signature="f8(f8[:])", python=False)
def declared_array(a):
    return a.sum()


@feature(lambda: (matrix(), 2), lambda: (matrix("F"), 2), lambda: (matrix()[:, ::2], 2), signature="f8[:](f8[:,::1], i8)", python=False)  # fmt: skip
def declared_contiguous(a, k):
    return a[:, 0] * k


@feature((3,), (3.5,), (True,), (2j,), signature=["i8(i8)", "f8(f8)"], python=False)
def declared_twice(x):
    return x * 2


@feature((7, 2), signature="f4(i4,i4)", python=False)
def declared_result_converts(a, b):
    return a * b


@feature(lambda: (floats(), 2.0), signature="void(f8[:], f8)")
def declared_void(a, x):
    a += x


@feature(((1, 2.5),), signature="f8(Tuple((i8, f8)))", python=False)
def declared_tuple(t):
    return t[0] + t[1]


@feature((10,), signature="i8(i8)")
def declared_recursion(n):
    return n if n < 2 else declared_recursion(n - 1) + declared_recursion(n - 2)


# --- options ---


@feature((1.0, 0.0), (1.0, 2.0), error_model="numpy", python=False)
def option_error_model(x, y):
    return x / y, x // y, x % y


@feature((1, 0), (7, 2), error_model="numpy", python=False)
def option_error_model_of_integers(x, y):
    return x // y, x % y


@feature(lambda: (floats(), 1000), lambda: (floats(), -3), lambda: (floats(), -13), boundscheck=True)
def option_boundscheck(a, i):
    return a[i]


@feature(lambda: (floats(), 5), lambda: (floats(), -3), boundscheck=False)
def option_no_boundscheck(a, i):
    s = a[i]
    for k in range(len(a)):
        s += a[k]
    return s


@feature(lambda: (np.array([1.0, 1e100, 1.0, -1e100] * 5),))
def compensated_sum(a):
    """Neumaier's: reassociation would take the compensation away."""
    s = c = 0.0
    for x in a:
        t = s + x
        c += (s - t) + x if abs(s) >= abs(x) else (x - t) + s
        s = t
    return s + c


@feature((1e16, 1.0), (0.0, -0.0), (float("nan"), 1.0), (float("inf"), 1.0))
def strict_floats(x, y):
    return (x + y) - x, x * 0.0, x != x, x - x, y / 3.0 * 3.0


@feature(lambda: (floats(1000),), fastmath=True, rtol=1e-9)
def option_fastmath(a):
    s = 0.0
    for x in a:
        s += x * 0.5
    return s / 3.0


@feature((3.0, 5.0), fastmath={"contract", "nsz"}, rtol=1e-12)
def option_fastmath_flags(x, y):
    return x * y + x


@feature((np.int32(7), np.float32(2.5)), (np.int32(-7), np.float32(0.5)), promotion="numba", python=False)
def option_promotion(i, f):
    return i + f, i / f, f * 2, i * 3


@feature((np.int32(7), np.float32(2.5)), promotion="treadle", python=False)
def option_promotion_of_treadle(i, f):
    return i + f, i / f, f * 2, i * 3


@feature(lambda: (floats(),), locals={"s": treadle.float32}, python=False)
def option_locals(a):
    s = 0.0
    for x in a:
        s = s + x
    return s


@feature(lambda: (floats(2000),), parallel=True, rtol=1e-12)
def option_parallel(a):
    s = 0.0
    for i in prange(len(a)):
        s += a[i] * a[i]
    return s


@feature(lambda: (floats(), 2), nogil=True)
def option_nogil(a, k):
    return (a * k).sum()


@feature(lambda: (floats(), 2), lambda: (floats(), 99), debug=True)
def option_debug(a, k):
    return a[k]


@feature((3, 4), inline="always")
def option_inline(x, y):
    return x * x + y * y


@feature(lambda: (floats(), 2), cache=True, nopython=True)
def option_cache(a, k):
    return (a * k).sum()


# --- reductions, scans, filters, scatters ---


REDUCTIONS = ("sum", "prod", "min", "max", "argmin", "argmax", "any", "all", "mean", "var", "std", "ptp")
for _r in REDUCTIONS:
    text_feature(
        f"reduction_{_r}",
        f"def reduction_{_r}(a):\n    return np.{_r}(a), np.{_r}(a, axis=0), np.{_r}(a, axis=1)\n",
        lambda: (matrix(),),
        lambda: (matrix("F"),),
        lambda: (matrix()[::-1, ::2],),
        rtol=1e-14,
    )
    if _r != "ptp":
        text_feature(
            f"reduction_method_{_r}",
            f"def reduction_method_{_r}(a):\n    return a.{_r}(), (a * 2).{_r}(axis=0)\n",
            lambda: (matrix(),),
            lambda: (ints(),),
            rtol=1e-14,
        )


@feature(lambda: (matrix(),), rtol=1e-14)
def reduction_others(a):
    return np.amin(a), np.amax(a), np.count_nonzero(a > 0), np.trace(a), a.trace()


@feature(lambda: (matrix(),), python=False)
def reduction_method_ptp(a):
    """NumPy 2 has the function alone."""
    return a.ptp(), a.ptp(axis=1)


# --- calls and targets ---


def _named(a, b=2, *rest, k=3, **kw):
    return a + 10 * b + 100 * k + len(rest) + (kw["z"] if "z" in kw else 0) + 1000 * len(kw)


PARTIAL = functools.partial(_named, 1, k=7)


@feature(
    lambda: (floats(6), matrix()), lambda: (floats(6)[::2], matrix()[::-1]), lambda: (floats(1), matrix())
)
def targets_with_a_star(a, m):
    x, *more, y = a
    (p, *q), r = (1, 2, 3), 4
    first, *rows = m
    s = 0.0
    for u, *v in m:
        s += u * len(v) + sum(v)
    return x, y, len(more), sum(more), p, q[0] + r, first[0], len(rows), rows[0].sum(), s


@feature((3,), (5,))
def stars_of_any_sequence(n):
    def all_of(a, *more):
        return a * 100 + sum(more) + len(more)

    l = [n, 2]
    first, *rest = {i: 0 for i in range(n)}
    *front, last = (i * n for i in range(n))
    whole = [*l, n, *range(2), *map(abs, l)]
    return all_of(1, *l, 2, *l), all_of(*whole), max(n, *l), first + last, len(rest) + len(front), sum(whole)


@feature((3,), (6,))
def functions_that_call_each_other(n):
    k = n + 1

    def even(i):
        return k if i <= 0 else odd(i - 1) * 2

    def odd(i):
        return n if i <= 0 else even(i - 1) + 1

    k = n * 10
    return even(n), odd(n), sum([f(2) for f in (even, odd)])


@feature((3,), (0,))
def patterns_of_mappings(n):
    s = 0
    for d in [{"a": n}, {"a": n, "b": 2}, {"c": 1}]:
        match d:
            case {"a": x, "b": y}:
                s += x * y
            case {"a": x, **rest}:
                s += x + len(rest)
            case _:
                s += 100
    return s


@feature((4,), (1,))
def methods_as_functions(n):
    d = {i: (i * 3) % 4 for i in range(n)}
    l = []
    put = l.append
    for i in range(n):
        put(str(i * 7))
    rows = [[i, n] for i in range(n)]
    best = max(rows, key=sum)
    return (
        max(d, key=d.get),
        len(sorted(l, key=str.strip)),
        len(list(map(str.upper, l))),
        best[0],
        len(sum(rows, [])),
    )


@feature((3,), (2.5,))
def keywords_and_partials(x):
    def inner(a, b=x, *, k=x, m=2, **kw):
        return a + b * 10 + k * 100 + m * 1000 + len(kw)

    d = {"b": x, "z": 5}
    p = functools.partial(inner, m=x)
    return (
        _named(x),
        _named(1, 2, 3, 4, k=x, z=x),
        _named(x, **d),
        inner(1),
        inner(1, k=2, q=3),
        p(x, m=1),
        p(2),
        PARTIAL(x),
        PARTIAL(z=x),
        sum(map(PARTIAL, (x, x))),
        d.get("b", 0) + d.get("q", 1),
        len(d.keys()) + sum(d.values()),
        p.func(1, m=0),
        len(p.args) + p.keywords["m"],
    )


@feature(lambda: (floats(4), 2), lambda: (floats(4), 7), lambda: (floats(0), 0))
def loops_over_mixed_items(a, n):
    s, t = 0.0, 0
    for k, x in enumerate((1, 2.5, a, (n, a))):
        if k == n:
            continue
        if isinstance(x, tuple):
            s += x[0] + np.sum(x[1])
        else:
            s = s * 2 + np.sum(x)
    for x, y in zip((a, n), (n, 0.5)):
        try:
            t += 1 if isinstance(x, int) else len(x)
            if n == 7:
                raise ValueError("seven")
        except ValueError:
            break
        finally:
            s += np.sum(x * y)
    else:
        t += 100
    return s, t, k


@feature((0,), (3,), (50,), (2.5,), ((1, 2),), ((4, 5, 6),), (None,))
def patterns_of_match(x):
    match x:
        case None:
            return -1.0
        case 0 | 1:
            return 1.0
        case int(n) if n > 10:
            return n * 2.0
        case int():
            return 3.0
        case float(y):
            return y
        case (1, z):
            return z * 10.0
        case [first, *rest]:
            return first + 100.0 * len(rest)
    return 0.0


@feature(lambda: (floats(),), rtol=1e-14)
def reduction_builtins(a):
    unrolled = sum(literal_unroll((a[0], a[1])))
    return (
        sum(a),
        min(a[0], a[1], 3),
        max(a[0], a[1]),
        any(a > 0),
        all(a > 0),
        math.prod(a),
        math.fsum(a),
        unrolled,
    )


@feature(lambda: (floats(), floats(12, 5)), rtol=1e-14)
def reduction_products(a, b):
    return np.dot(a, b), np.inner(a, b), np.vdot(a, b), a.dot(b), math.sumprod(a, b) if False else 0.0


@feature(lambda: (matrix(), np.ascontiguousarray(matrix().T)), rtol=1e-14)
def reduction_matrices(a, b):
    return np.matmul(a, b), a @ b, np.outer(a[0], b[0])


@feature(lambda: (floats(), np.array([0.0])), rtol=1e-14)
def reduction_of_ufuncs(a, out):
    return (
        np.add.reduce(a),
        np.maximum.reduce(a),
        np.multiply.reduce(a, keepdims=True),
        np.subtract.reduce(a),
        np.add.reduceat(a, (0, 3, 2)),
        np.subtract.outer(a, a),
    )


@feature(lambda: (floats(), np.zeros(12)), rtol=1e-14)
def masked(a, out):
    np.multiply(a, 2, out=out, where=a > 0)
    return (
        out,
        np.sum(a, where=a > 0),
        a.mean(where=a < 1),
        np.max(a, where=a < 1, initial=-9.0),
        np.std(a, where=a > 0),
        np.modf(a, out=(None, out)),
    )


@feature(lambda: (matrix(),), lambda: (ints(),), rtol=1e-14)
def scans(a):
    return np.cumsum(a), np.cumprod(a), a.cumsum(), a.cumprod()


@feature(lambda: (floats(),), rtol=1e-14)
def scans_of_ufuncs(a):
    return np.add.accumulate(a), np.maximum.accumulate(a), np.diff(a)


@feature(lambda: (matrix(),))
def filters(a):
    m = a > 0
    return a[m], np.flatnonzero(m), np.argwhere(m), np.extract(m, a), np.compress(m[0], a, axis=1)


@feature(lambda: (floats(),))
def filters_of_one_axis(a):
    return a.nonzero()[0], np.nonzero(a)[0], a.compress(a > 0), a[a > 0].sum()


@feature(lambda: (floats(), ints() % 12))
def gathers(a, i):
    return a[i], np.take(a, i), a.take(i)


INDEX = "i = np.array([3, 1, 3, 0, 3, 1])"
SCATTERS = {
    "assign": "a[i] = v",
    "assign_one": "a[i] = 2.0",
    "add": "a[i] += v",
    "assign_of": "a[i] = v * 2 - 1",
    "at_add": "np.add.at(a, i, v)",
    "at_add_of": "np.add.at(a, i, v * 2)",
    "at_multiply": "np.multiply.at(a, i, v)",
    "at_maximum": "np.maximum.at(a, i, v)",
    "at_subtract": "np.subtract.at(a, i, v)",
    "at_int": "np.add.at(a, i, i * 2)",
    "mask": "a[a > 0] = -1.0",
    "mask_add": "a[a > 0] += 1.0",
    "mask_values": "a[a > 0] = a[a > 0] * 2",
    "slice": "a[1:7] = v",
    "slice_add": "a[1:7] += v",
}
for _n, _s in SCATTERS.items():
    text_feature(
        f"scatter_{_n}",
        f"def scatter_{_n}(a, v):\n    {INDEX}\n    {_s}\n",
        lambda: (floats(), floats(6, 7)),
        lambda: (floats(24)[::2], floats(6, 7)[::-1]),
    )


@feature(lambda: (floats(4000), np.arange(4000) % 7, np.arange(4000.0)))
def scatter_of_many(a, i, v):
    a[i] = v
    np.add.at(a, i, v)


@feature(lambda: (np.zeros(5), 7), lambda: (np.zeros(5), 3))
def scatter_out_of_range(a, k):
    i = np.array([0, 1, 2])
    i[2] = k
    a[i] = 1.0


# --- statements and iterables ---


@feature(lambda: (floats(),), lambda: (floats(0),), lambda: (floats(12)[::-2],))
def iterators(a):
    it = iter(a)
    first = next(it, -1.0)
    s = 0.0
    for x, y in zip(it, map(lambda v: v * 2, filter(lambda v: v > 0, a))):
        s += x * y
    return first, s, sum(it, 0.0), next(it, 5.0)


@feature((3,), (1,))
def iterator_runs_out(n):
    it = iter(range(n))
    return next(it) + next(it)


@feature(lambda: (ints(),), lambda: (ints()[:0],))
def folds(a):
    last = functools.reduce(lambda x, y: (x * 3 - y) % 1009, a, 1)
    return (
        last,
        functools.reduce(operator.xor, map(lambda x: x + 1, a), 0),
        functools.reduce(max, filter(None, a)),
    )


@feature((7, 3), (2.5, 0.5))
def operator_numbers(x, y):
    ab = (
        operator.add(x, y),
        operator.sub(x, y),
        operator.mul(x, y),
        operator.truediv(x, y),
        operator.floordiv(x, y),
    )
    cd = operator.mod(x, y), operator.pow(x, y), operator.neg(x), operator.pos(y), operator.abs(x)
    ef = (
        operator.lt(x, y),
        operator.le(x, y),
        operator.eq(x, y),
        operator.ne(x, y),
        operator.gt(x, y),
        operator.ge(x, y),
    )
    return ab, cd, ef, operator.not_(x), operator.truth(y)


@feature((12, 3))
def operator_ints(x, y):
    ab = (
        operator.and_(x, y),
        operator.or_(x, y),
        operator.xor(x, y),
        operator.lshift(x, y),
        operator.rshift(x, y),
    )
    return ab, operator.invert(x), operator.inv(y), operator.contains((x, 4), y)


@feature((7, 3), (2.5, 0.5))
def operator_in_place_numbers(x, y):
    ab = operator.iadd(x, y), operator.isub(x, y), operator.imul(x, y), operator.itruediv(x, y)
    return (
        ab,
        operator.ifloordiv(x, y),
        operator.imod(x, y),
        operator.ipow(x, y),
        operator.is_(x, None),
        operator.is_not(y, None),
    )


@feature((12, 3))
def operator_in_place_ints(x, y):
    return (
        operator.iand(x, y),
        operator.ior(x, y),
        operator.ixor(x, y),
        operator.ilshift(x, y),
        operator.irshift(x, y),
    )


@feature(lambda: (matrix(),))
def operator_in_place_arrays(a):
    b = a.copy()
    c = operator.iadd(b, a)
    c[0] += 1
    operator.setitem(b, (1, 1), 7)
    operator.setitem(b, slice(2, None), a[2:] * 2)
    d = b @ b.T
    operator.imatmul(d, d)
    return operator.imul(b, 2), c, d


@feature(lambda: (matrix(),))
def operator_arrays(a):
    return operator.matmul(a, a.T), operator.getitem(a, 1), operator.add(a, 1)


@feature((9,))
def iterables(n):
    s = 0
    for i, (x, y) in enumerate(zip(range(n), reversed(range(n)), strict=True), start=2):
        s += i * x - y
    r = range(n, 0, -2)
    return s, len(r), r.start, r.stop, r.step, sum(range(n))


@feature(lambda: (matrix(),))
def iterables_of_arrays(a):
    s = 0.0
    for row in a:
        for x in row:
            s += x
    for (i, j), x in np.ndenumerate(a):
        s += (i - j) * x
    for i, j in np.ndindex(2, 3):
        s -= a[i, j]
    for x in a.flat:
        s *= x
    return s


@feature((12,), (27,))
def loops(n):
    steps = 0
    while n != 1:
        if n % 2:
            n = 3 * n + 1
            continue
        n //= 2
        steps += 1
        if steps > 100:
            break
    else:
        steps = -steps
    return steps


@feature((3, "b"))
def strings(n, key):
    s = slice(1, n, None)
    return key == "b", isinstance(n, int), s.start, s.stop, s.step, type(n) is int, str("a") == "a"


def parallel_sum(n):
    s = 0
    for i in prange(n):
        s += i
    return s


@feature((100,))
def ranges_in_a_body(n):
    return parallel_sum(n), sum(range(n))


def two(x, y):
    return x * 2 + y


two_of = treadle.vectorize(two)


@feature(lambda: (matrix(),))
def ufunc_methods(a):
    return (
        two_of.reduce(a),
        two_of.reduce(a, axis=1, initial=1.0),
        two_of.accumulate(a, axis=1),
        two_of.reduceat(a, (0, 2), 1),
        two_of.outer(a[0], a[1]),
    )


@treadle.guvectorize(["void(f8[:], f8[:], f8[:])"], "(n),(n)->(n)")
def running_product(a, b, out):
    s = 0.0
    for i in range(len(a)):
        s += a[i] * b[i]
        out[i] = s


@feature(lambda: (floats(), 2.0))
def calls_ufuncs(a, x):
    return two_of(a, x), two_of(x, x), running_product(a, a)


class Level(enum.IntEnum):
    """A row's constants."""

    LOW = 2
    HIGH = 7


@feature(lambda: (3,))
def enums(x):
    return x + Level.HIGH, Level.LOW.value * x, Level.LOW == Level.HIGH, x > Level.LOW


class Step(enum.Enum):
    """What a variable is one of."""

    FIRST = 2
    LAST = 7


@feature(lambda: (3,), lambda: (-3,))
def one_of_members(x):
    step = Step.FIRST
    if x > 0:
        step = Step.LAST
    steps = [Step.FIRST]
    steps.append(step)
    return step is Step.LAST, step.value * x, steps[1] == step, steps.count(Step.FIRST)


def _halved(x):
    return x * 0.5


def _root(x):
    if x < 0:
        raise ValueError(x)
    return math.sqrt(x)


FUNCTIONS = (_halved, abs, _root)


@feature(lambda: (floats(), 2), lambda: (floats(3), -3), lambda: (-floats(), 1), lambda: (floats(), 3))
def tuples_of_functions(a, i):
    def shifted(x):
        return x + i

    s = 0.0
    for x in a:
        for f in (shifted, _halved, lambda x: x - i):
            s = s * 0.5 + f(x)
        for f, w in zip(FUNCTIONS, (1.0, 2.0, 3.0)):
            try:
                s += w * f(x)
            except ValueError:
                s -= w
    f = FUNCTIONS[i]
    return s, f(a[0]), f is abs, f(a[1])


import ways_builtins  # noqa: E402, F401 - the rows that come last
import ways_library  # noqa: E402, F401
import ways_loops  # noqa: E402, F401
import ways_raises  # noqa: E402, F401

# --- differences of slices ---


def _field(n: int, m: int) -> np.ndarray:
    return np.sin(np.arange(n * m, dtype=np.float64)).reshape(n, m)


@feature(
    lambda: (_field(9, 11), np.zeros((5, 7)), _field(5, 7)),
    lambda: (_field(9, 22)[:, ::2], np.zeros((7, 5)).T, _field(5, 1)),
    lambda: (_field(4, 11), np.zeros((0, 7)), _field(1, 7)),
    rtol=1e-12,
)
def differences_of_differences(x, out, c):
    """Sizes of what is subtracted follow from sizes that are found equal at run time."""
    n, m = out.shape
    mean = 4.0 * x[1 : n + 3, 1 : m + 3] - (x[2 : n + 4, 1 : m + 3] + x[: n + 2, 1 : m + 3])
    down = mean[1:, 1 : m + 1] - mean[:-1, 1 : m + 1]
    flux = np.where(down * (x[2 : n + 3, 2 : m + 2] - x[1 : n + 2, 2 : m + 2]) > 0, 0, down)
    out[:] = x[2 : n + 2, 2 : m + 2] - c * (flux[1:] - flux[:-1])
    return out


# --- labels of rows ---


@feature(
    lambda: (_field(22_000, 3), _field(3, 3), 3),
    lambda: (_field(22_000, 6)[:, ::2], _field(2, 3), 5),
    lambda: (_field(4, 3), _field(3, 3), 4),
    lambda: (np.zeros((0, 3)), _field(2, 3), 2),
    rtol=1e-9,
)
def labels_of_rows(x, c, k):
    """Which row of the second array each is nearest to, and sums and counts by that: in a loop over blocks of rows where there are many."""
    label = ((x[:, None] - c[None]) ** 2).sum(axis=2).argmin(axis=1)
    sums, counts = np.zeros((k, x.shape[1])), np.zeros(k, np.int64)
    np.add.at(sums, label, x)
    np.add.at(counts, label, 1)
    return sums, counts, label[:3]


# --- stencils ---


@treadle.stencil
def _relaxed(a, w):
    return w * (a[-1, 0] + a[1, 0] + a[0, -1] + a[0, 1])


@treadle.stencil(neighborhood=((-2, 1),), cval=-1.5, standard_indexing=("t",))
def _weighted(a, t, n):
    s = 0.0
    for i in range(-n, 2):
        s += a[i] * t[i + n]
    return s


@feature(lambda: (matrix(), 0.25), lambda: (matrix("F")[::2, ::-1], 2), lambda: (np.zeros((1, 0)), 1.0))
def stencil_of_neighbours(a, w):
    return _relaxed(a, w), _relaxed(_relaxed(a, w), 0.5)


def _beside(a):
    return a[0, 1] - a[0, -1]


@feature(lambda: (matrix(),), lambda: (matrix("F")[::2, ::-1],))
def stencil_made_in_compiled_code(a):
    """A call of `__stencil__`, which is no name that anybody writes."""
    return treadle.stencil(_beside, cval=1)(a), treadle.stencil(lambda a: a[1, 0])(a)


@feature(lambda: (matrix(), floats().reshape(3, 4)))
def stencil_into(a, out):
    _relaxed(a, 0.25, out=out)
    return out


@feature(
    lambda: (floats(), floats(4), 2), lambda: (floats(2), floats(4), 1), lambda: (floats(), floats(4), 3)
)
def stencil_with_neighborhood(a, t, n):
    return _weighted(a, t, n)


@feature((3.14159, 12345), (-0.5, 0), (np.float32(0.1), np.uint8(7)))
def format_specifications(x, n):
    print(f"{x:.2f} {n:>8,} {n:#x} {x!r} {chr(ord('a') + 1):>5}")
    print(format(x, "+.1f"), repr(x), hex(n), oct(n), bin(n), f"{complex(x, n):é>+30,.1f}")
    if n > 5:
        raise ValueError(f"{x:+.3e} at {n:08,.1f} {complex(n, x):#.2}")
    return n
