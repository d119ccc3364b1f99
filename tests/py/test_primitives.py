"""Functions of treadle.parallel: one table of programs with their meaning in NumPy, each run by every way into compiled code."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import treadle
import treadle.parallel as tp
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import njit, prange, vectorize
from treadle.errors import TypingError

sys.path.insert(0, str(Path(__file__).parent))
from library_check import outcome, same  # noqa: E402
from primitives_model import before, best, by_key, parts, runs, stored  # noqa: E402
from sizes import examples  # noqa: E402

pytestmark = [
    pytest.mark.skipif(
        np.lib.NumpyVersion(np.__version__) < "2.1.0",
        reason="results, and names of the standard's, are NumPy 2's",
    ),
    pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning"),
]

# --- operators and operands ---


def plus(p, q):
    return p + q


def affine(p, q):
    return p[0] * q[0], p[1] * q[0] + q[1]


def welford(a, b):
    n = a[0] + b[0]
    d = b[1] - a[1]
    f = b[0] / max(n, 1)
    return n, a[1] + d * f, a[2] + b[2] + d * d * a[0] * f


@njit
def larger(p, q):
    return p if p > q else q


@vectorize(identity=0)
def summed(p, q):
    return p + q


def odd(v):
    return v % 2 == 1


def span(v):
    return abs(v)


SMALL = [0, 1, 2, 3]
SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 2.0]
SUMS = [np.nan, np.inf, 1.0, 2.0, -3.0, 0.0]  # exact in any order


def pool(dtype: np.dtype, sums: bool) -> list[Any]:
    """What arrays are drawn from: ties, ends of the type, zeros of both signs, NaN."""
    if dtype.kind == "b":
        return [False, True]
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return [*SMALL, info.max, info.min]
    if dtype.kind == "c":
        return [1 + 2j, 1 - 1j, 0, -1, 2j]
    return SUMS if sums else SPECIAL


@st.composite
def array(
    draw: st.DrawFn,
    types: str = "bBifd?",
    ndim: tuple[int, int] = (1, 1),
    sums: bool = False,
    shape: tuple[int, ...] | None = None,
) -> np.ndarray:
    """In rows, in columns, backwards, as a part, or read-only; of up to 40 items, or none."""
    dtype = np.dtype(draw(st.sampled_from(types)))
    n = draw(st.integers(*ndim))
    if shape is None:
        shape = tuple(draw(st.sampled_from([0, 1, 2, 7, 40] if n == 1 else [0, 1, 3, 4])) for _ in range(n))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    a = np.array(rng.choice(np.array(pool(dtype, sums), dtype), shape))
    how = draw(st.sampled_from("CCFsr")) if shape else "C"
    if how == "F":
        return np.asfortranarray(a)
    if how == "s":
        return np.repeat(a, 2, -1)[..., ::2]
    a.flags.writeable = how != "r"
    return a


@st.composite
def pairs(draw: st.DrawFn, first: str = "idf", second: str = "di") -> tuple[np.ndarray, ...]:
    """Two of one length."""
    a = draw(array(first))
    return a, draw(array(second, shape=a.shape))


@st.composite
def in_order(draw: st.DrawFn, types: str = "idfBD") -> tuple[np.ndarray, ...]:
    """Two that are sorted."""
    return tuple(np.sort(draw(array(types)), kind="stable") for _ in range(2))


@st.composite
def places(draw: st.DrawFn, values: str = "dfi") -> tuple[np.ndarray, ...]:
    """An array that has items, places in it, and as many values."""
    a = draw(array(values, sums=True, shape=(draw(st.integers(1, 9)),)))
    i = draw(st.lists(st.integers(-len(a), len(a) - 1), max_size=12))
    v = draw(array(a.dtype.char, sums=True, shape=(len(i),)))
    return a, np.array(i, draw(st.sampled_from("ib"))), v


@st.composite
def keyed(draw: st.DrawFn, values: str = "d", rows: str = "d") -> tuple[np.ndarray, ...]:
    """Values, rows of three values, and a key for each."""
    n = draw(st.sampled_from([0, 1, 2, 9, 40]))
    a, b = draw(array(values, sums=True, shape=(n,))), draw(array(rows, sums=True, shape=(n, 3)))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    return np.nan_to_num(a), np.nan_to_num(b), rng.integers(0, 5, n).astype(draw(st.sampled_from("bBhIlL")))


def one(*args: Any, **kw: Any) -> st.SearchStrategy:
    return st.tuples(array(*args, **kw))


# --- what the functions mean, beside primitives_model.py ---


def truth(a: np.ndarray) -> np.ndarray:
    return a.astype(bool)


class Row(NamedTuple):
    """A program of a, b and c, what it gives, and what these are drawn from. `signs`: also zeros are told apart."""

    text: str
    oracle: Callable[..., Any]
    operands: st.SearchStrategy
    signs: bool = True


ANY = one("bBifd?De", ndim=(0, 3))
LINES = one("bIdfD", ndim=(1, 3), sums=True)
ROWS = [
    # map
    Row("tp.map(lambda v: v + v, a)", lambda a: a + a, one("dflD", ndim=(0, 3))),
    Row("tp.map(lambda v, w: (v * 2.0, v > w), a, b)", lambda a, b: (a * 2.0, a > b), pairs("di", "di")),
    Row("tp.map(lambda v, w: v + w, a[:, None], b)", lambda a, b: a[:, None] + b, pairs("d", "d")),
    Row("tp.map(np.sqrt, a)", np.sqrt, one("df", sums=True)),
    Row("tp.map(lambda v: b[v], c)", lambda a, b, c: b[c], st.tuples(array("d"), array("d", shape=(3,)), array("B", shape=(5,)).map(lambda c: c % 3))),
    Row("tp.map(tp.fuse(np.negative, lambda v, w: v * w), a, b)", lambda a, b: -(a * b), pairs("d", "d")),
    # reduce
    Row("tp.reduce(tp.add, a)", lambda a: np.add.reduce(a, None), one("bIdfD?", ndim=(0, 3), sums=True), False),
    Row("tp.reduce(tp.add, a, -1)", lambda a: np.add.reduce(a, -1), LINES, False),
    Row("tp.reduce(tp.maximum, a, axis=0)", lambda a: np.maximum.reduce(a, 0), one("bIdf?", ndim=(1, 2)), False),
    Row("tp.reduce(tp.maximum, a, identity=0)", lambda a: np.maximum.reduce(a, None, initial=0), one("Idf", ndim=(1, 2), sums=True), False),
    Row("tp.reduce(tp.multiply, a, (0, -1))", lambda a: np.multiply.reduce(a, (0, -1)), one("id", ndim=(2, 3), sums=True), False),
    Row("tp.reduce(tp.logical_or, a)", lambda a: np.logical_or.reduce(a, None), one("?bd", ndim=(1, 2))),
    Row("tp.reduce(tp.bitwise_xor, a, 0)", lambda a: np.bitwise_xor.reduce(a, 0), one("?bI", ndim=(1, 2))),
    Row("tp.reduce(summed, a, 0)", lambda a: np.add.reduce(a, 0), one("ld", ndim=(1, 2), sums=True), False),
    Row("tp.reduce(plus, a, identity=0)", lambda a: np.add.reduce(a, None), one("ldfD", ndim=(0, 3), sums=True), False),
    Row("tp.reduce(plus, a, 0, identity=0)", lambda a: np.add.reduce(a, 0), one("ld", ndim=(1, 3), sums=True), False),
    Row("tp.reduce(larger, a, (1, 0), identity=-5)", lambda a: np.maximum.reduce(a, (0, 1), initial=-5), one("ld", ndim=(2, 3), sums=True).map(lambda t: (np.nan_to_num(t[0], posinf=9),)), False),
    Row("tp.reduce(lambda p, q: q if q else p, a, (1, 0), identity=0)", lambda a: next((v for v in a.T.ravel()[::-1] if v), np.int64(0)), st.tuples(array("B", shape=(3, 4)).map(lambda a: a.astype("l") % 4))),
    Row("tp.reduce(welford, (1.0, a, 0.0), identity=(0.0, 0.0, 0.0))", lambda a: joined_side_by_side(welford, (1.0, a, 0.0), (0.0, 0.0, 0.0)), one("d", sums=True).map(lambda t: (np.nan_to_num(t[0], posinf=4),))),
    Row("tp.reduce(affine, (a, b), 1, identity=(1, 0))", lambda a, b: affine_rows(a, b), st.tuples(array("d", ndim=(2, 2), shape=(3, 4), sums=True), array("d", ndim=(2, 2), shape=(3, 4), sums=True))),
    # scan
    Row("tp.scan(tp.add, a)", lambda a: np.add.accumulate(a, 0), LINES, False),
    Row("tp.scan(tp.maximum, a, -1)", lambda a: np.maximum.accumulate(a, -1), one("bdf?", ndim=(1, 3)), False),
    Row("tp.scan(tp.add, a, -1, reverse=True)", lambda a: np.flip(np.add.accumulate(np.flip(a, -1), -1), -1), LINES, False),
    Row("tp.scan(tp.add, a, exclusive=True)", lambda a: before(np.add, a, 0, 0), LINES, False),
    Row("tp.scan(tp.multiply, a, -1, exclusive=True, reverse=True)", lambda a: before(np.multiply, a, -1, 1, True), one("bd", ndim=(1, 2), sums=True), False),
    Row("tp.scan(tp.minimum, a, exclusive=True, identity=9)", lambda a: before(np.minimum, a, 0, 9), one("id", ndim=(1, 2)).map(lambda t: (t[0] % 7,)), False),
    Row("tp.scan(plus, a, identity=0)", lambda a: np.add.accumulate(a, 0), one("ldf", ndim=(1, 3), sums=True), False),
    Row("tp.scan(plus, a, -1, exclusive=True, identity=0)", lambda a: before(np.add, a, -1, 0), one("ld", ndim=(1, 2), sums=True), False),
    Row("tp.scan(lambda p, q: q if q != 0 else p, a, reverse=True, identity=0)", lambda a: last_set(a[::-1])[::-1], one("l").map(lambda t: (t[0] % 3,)), False),
    Row("tp.scan(affine, (a, b), identity=(1.0, 0.0))", lambda a, b: tuple(y[0] for y in affine_scan(a[None], b[None])), st.tuples(array("d", shape=(9,), sums=True), array("d", shape=(9,), sums=True))),
    Row("tp.scan(affine, (2.0, b), 0, identity=(1.0, 0.0))", lambda a, b: tuple(y[0].T for y in columns(2.0, b)), st.tuples(array("d"), array("d", ndim=(2, 2), shape=(5, 2), sums=True))),
    Row("tp.scan(affine, (a[:, None], b), 1, identity=(1.0, 0.0))", lambda a, b: affine_scan(np.broadcast_to(a[:, None], b.shape), b), st.tuples(array("d", shape=(3,), sums=True), array("d", shape=(3, 4), sums=True))),
    Row("tp.reduce(affine, (a[:1], b), identity=(1.0, 0.0))", lambda a, b: joined_side_by_side(affine, (np.broadcast_to(a[:1], b.shape), b), (1.0, 0.0)), st.tuples(array("d", shape=(3,), sums=True), array("d", shape=(5,), sums=True))),
    # what is chosen
    Row("tp.filter(lambda v: v > 0, a)", lambda a: a[a > 0], one("bBifd?e", ndim=(1, 3))),
    Row("tp.filter(odd, a)", lambda a: np.atleast_1d(a)[np.atleast_1d(a) % 2 == 1], one("bBl", ndim=(0, 2))),
    Row("tp.filter(lambda v: v, a)", lambda a: a[truth(a)], one("bdfD?")),
    Row("tp.stable_partition(lambda v: v > 0, a)", lambda a: parts(a > 0, a), one("bBfd?")),
    Row("tp.topk(a, 2)", lambda a: best(a, 2), one("bBIfd?De", ndim=(1, 2))),
    Row("tp.topk(a, 3, 0, largest=False)", lambda a: best(a, 3, 0, largest=False), one("bIfd", ndim=(1, 3))),
    Row("tp.topk(a, 3, nan='omit')", lambda a: best(a, 3, nan="omit"), one("fd", ndim=(1, 2))),
    Row("tp.topk(a, 1, key=span, sorted=False)", lambda a: best(a, 1, key=abs), one("dl", ndim=(1, 2)).map(lambda t: (t[0] if t[0].dtype.kind == "f" else t[0] % 7 - 4,))),
    Row("tp.topk(a, tp.reduce(tp.add, b))", lambda a, b: best(a, b.sum()), st.tuples(array("d", shape=(9,)), array("b", shape=(2,)).map(lambda b: b % 3))),
    Row("tp.topk(a, 0)", lambda a: best(a, 0), one("fd")),
    # order
    Row("tp.sort(a)", lambda a: np.sort(a, -1, kind="stable"), one("bBIfd?De", ndim=(1, 3))),
    Row("tp.sort(a, 0)", lambda a: np.sort(a, 0, kind="stable"), one("bfd", ndim=(1, 2))),
    Row("tp.argsort(a)", lambda a: np.argsort(a, -1, kind="stable"), one("bBIfd?", ndim=(1, 2))),
    Row("tp.sort_by_key(a, b, a)", lambda a, b: tuple(x[np.argsort(a, kind="stable")] for x in (a, b, a)), pairs("bBIfd?", "df")),
    Row("tp.sort_by_key(a)", lambda a: (np.sort(a, kind="stable"),), one("id")),
    Row("tp.merge(a, b)", lambda a, b: np.sort(np.concatenate((a, b)), kind="stable"), in_order()),
    Row("tp.run_length_encode(a)", runs, one("bBifd?D")),
    Row("tp.unique_values(a)", lambda a: np.unique(a, equal_nan=False), one("bIfd?D", ndim=(0, 2)), False),
    Row("tp.unique_counts(a)", lambda a: np.unique(a, return_counts=True, equal_nan=False), one("bIfd?", ndim=(0, 2)), False),
    Row("tp.unique_inverse(a)", lambda a: (lambda v, k: (v, k.reshape(a.shape)))(*np.unique(a, return_inverse=True, equal_nan=False)), one("bIfd", ndim=(1, 2)), False),
    Row("tp.unique_all(a)", lambda a: (lambda v, i, k, n: (v, i, k.reshape(a.shape), n))(*np.unique(a, True, True, True, equal_nan=False)), one("bIfd", ndim=(1, 2)), False),
    Row("tp.searchsorted(a, b, 'right')", lambda a, b: np.searchsorted(a, b, "right"), in_order("idB")),
    # places
    Row("tp.take(a, b)", lambda a, b, c: np.take(a, b), places()),
    Row("tp.take(a, b % 3, axis=1)", lambda a, b: np.take(a, b % 3, axis=1), st.tuples(array("df", shape=(2, 3)), array("B"))),
    Row("tp.scatter(a, b, c)", stored, places()),
    Row("tp.scatter(a, b, c, tp.add)", lambda a, b, c: stored(a, b, c, np.add), places(), False),
    Row("tp.scatter(a, b, 1, tp.minimum)", lambda a, b, c: stored(a, b, 1, np.minimum), places(), False),
    Row("tp.scatter(a, b, c, plus)", lambda a, b, c: stored(a, b, c, plus), places("dl"), False),
    Row("tp.reduce_by_key(tp.add, c, a, size=6)", lambda a, b, c: by_key(np.add, c, a, 6, np.add.reduce(a[:0])), keyed("bIfdD?"), False),
    Row("tp.reduce_by_key(tp.add, c, b, size=5)", lambda a, b, c: by_key(np.add, c, b, 5, np.add.reduce(b[:0, 0])), keyed("d", "fdi"), False),
    Row("tp.reduce_by_key(tp.add, c, 1, size=7)", lambda a, b, c: by_key(np.add, c, 1, 7, 0), keyed("d")),
    Row("tp.reduce_by_key(tp.maximum, c, b, size=5, identity=-9)", lambda a, b, c: by_key(np.maximum, c, b, 5, b.dtype.type(-9)), keyed("d", "idf"), False),
    Row("tp.reduce_by_key(plus, c, a, size=5, identity=2)", lambda a, b, c: by_key(plus, c, a, 5, a.dtype.type(2)), keyed("dl"), False),
    Row("tp.scatter(a, a > 0, 7, plus)", lambda a: np.where(a > 0, a + 7, a), one("dl", ndim=(1, 2)), False),
    Row("tp.scatter(a, a > 0, 7)", lambda a: np.where(a > 0, 7, a).astype(a.dtype), one("dfb", ndim=(1, 2))),
    Row("tp.histogram(a, 3)", lambda a: np.histogram(a, 3), one("dl").map(lambda t: (np.nan_to_num(t[0] % 8, posinf=3, neginf=1),))),
    Row("tp.bincount(a, minlength=2)", lambda a: np.bincount(a, minlength=2), one("B").map(lambda t: (t[0] % 9,))),
    Row("tp.bincount(a, b)", lambda a, b: np.bincount(a, b).astype("d"), pairs("B", "d"), False),
    Row("tp.where(a > 0, a, b)", lambda a, b: np.where(a > 0, a, b), pairs("idf", "idf")),
    # what is made
    Row("tp.tabulate(lambda i: a[i] * i, 3)", lambda a: a[:3] * np.arange(3), st.tuples(array("dl", shape=(3,))), False),
    Row("tp.tabulate(lambda i, j: i * 10 + j, (2, 3))", lambda a: np.arange(2)[:, None] * 10 + np.arange(3), one("d")),
    Row("tp.arange(1, 9, 2) + tp.arange(4)", lambda a: np.arange(1, 9, 2) + np.arange(4), one("d")),
    Row("tp.arange(3, dtype=np.float32)", lambda a: np.arange(3, dtype="f"), one("d")),
    Row("tp.full((2, 3), 7)", lambda a: np.full((2, 3), 7), one("d")),
    Row("tp.zeros(3), tp.ones((2, 2), np.int8)", lambda a: (np.zeros(3), np.ones((2, 2), np.int8)), one("d")),
]  # fmt: skip


def tree(op: Callable, items: list) -> Any:
    """Neighbours in pairs, these in pairs and so on; what has no neighbour goes on as it is."""
    while len(items) > 1:
        items = [op(*items[k : k + 2]) if k + 1 < len(items) else items[k] for k in range(0, len(items), 2)]
    return items[0]


def joined_side_by_side(op: Callable, xs: tuple, start: tuple) -> tuple:
    items = list(np.broadcast(*xs))
    return tuple(np.float64(v) for v in (op(start, tree(op, items)) if items else start))


def affine_rows(a: np.ndarray, b: np.ndarray) -> tuple:
    rows = [joined_side_by_side(affine, (a[r], b[r]), (1.0, 0.0)) for r in range(len(a))]
    return tuple(np.array([row[k] for row in rows], float) for k in range(2))


def before_each(op: Callable, items: list, start: Any) -> list:
    """What stands before each of up to 256 items: left halves, from the largest on, then the items of its group of four."""
    out = []
    for at in range(len(items)):
        acc, done = start, 0
        for half in (128, 64, 32, 16, 8, 4):
            if at & half:
                acc, done = op(acc, tree(op, items[done : done + half])), done + half
        for x in items[done:at]:
            acc = op(acc, x)
        out.append(acc)
    return out


def affine_scan(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Along the last axis."""
    items = [(a[:, k], b[:, k]) for k in range(a.shape[1])]
    before = before_each(affine, items, (np.ones(len(a)), np.zeros(len(a))))
    after = [affine(p, q) for p, q in zip(before, items, strict=True)]
    return np.array([p for p, _ in after]).T, np.array([q for _, q in after]).T


def columns(a: float, b: np.ndarray) -> tuple[Any, Any]:
    p, q = affine_scan(np.full(b.T.shape, a), b.T)
    return p[None], q[None]


def last_set(a: np.ndarray) -> np.ndarray:
    out, acc = [], 0
    for v in a:
        acc = v if v != 0 else acc
        out.append(acc)
    return np.array(out, a.dtype)


# --- ways in ---

SPACE = {"np": np, "tp": tp, "prange": prange}
SPACE |= {f.__name__: f for f in (plus, affine, welford, larger, summed, odd, span)}


def function(head: str, body: str) -> Callable:
    space = dict(SPACE)
    exec(f"{head}\n{body}", space)
    return space["f"]


@functools.cache
def plain(text: str, n: int) -> Callable:
    return function(f"def f({', '.join('abc'[:n])}):", f"    return {text}")


@functools.cache
def by_njit(text: str, n: int, parallel: bool = False) -> Callable:
    return njit(parallel=parallel)(plain(text, n))


def lazily(text: str, *args: Any) -> Any:
    """As nodes, of arrays that are given and of arrays that are nodes themselves."""
    leaves = tuple(tp.array(x) if x.size % 2 else x for x in args)
    r = plain(text, len(args))(*leaves)
    if not isinstance(r, tuple):
        assert isinstance(r, tp.LazyArray)
        return (
            tuple(np.asarray(v) for v in r)
            if "tp.map" in text and "(v * 2.0, v > w)" in text
            else np.asarray(r)
        )
    tp.evaluate(*r)
    return tuple(np.asarray(v) for v in r)


@functools.cache
def caller(text: str, n: int) -> Callable:
    """A caller whose options are other ones, in which the program is inlined."""
    space = {"inner": njit(inline="always", error_model="numpy")(plain(text, n))}
    args = ", ".join("abc"[:n])
    exec(f"def f({args}):\n    return inner({args})", space)
    return njit(boundscheck=True, parallel=True)(space["f"])


@functools.cache
def in_loop(text: str, n: int, k: int) -> Callable:
    """Three times at once, each into its own part of the results."""
    outs = [f"o{i}" for i in range(max(k, 1))]
    stores = [f"        {o}[i] = r{f'[{j}]' if k else ''}" for j, o in enumerate(outs)]
    head = f"def f({', '.join([*outs, *'abc'[:n]])}):"
    body = "\n".join(["    for i in prange(3):", f"        r = {text}", *stores])
    return njit(parallel=True)(function(head, body))


def by_loop(text: str, want: Any, *args: Any) -> Any:
    several = isinstance(want, tuple)
    shapes = [np.asarray(w) for w in (want if several else (want,))]
    outs = [np.zeros((3, *w.shape), w.dtype) for w in shapes]
    in_loop(text, len(args), len(shapes) if several else 0)(*outs, *args)
    for o in outs:
        same(o[0], o[1], text)
        same(o[0], o[2], text)
    r = tuple(o[1][()] if o.ndim == 1 else o[1] for o in outs)
    return r if several else r[0]


WAYS = {
    "njit": lambda row, want, args: by_njit(row.text, len(args))(*args),
    "parallel": lambda row, want, args: by_njit(row.text, len(args), True)(*args),
    "lazy": lambda row, want, args: lazily(row.text, *args),
    "inlined": lambda row, want, args: caller(row.text, len(args))(*args),
    "prange": lambda row, want, args: by_loop(row.text, want, *args),
}


def zeros_signs(got: Any, want: Any, about: str) -> None:
    for g, w in zip(*((x if isinstance(x, tuple) else (x,)) for x in (got, want)), strict=True):
        if np.asarray(w).dtype.kind == "f":
            number = ~np.isnan(w)
            assert np.array_equal(np.signbit(g)[()] & number, np.signbit(w) & number), about


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.text)
def test_primitive(row, way):
    @settings(max_examples=examples(12 if way == "njit" else 4), deadline=None, database=None)
    @given(row.operands)
    def check(args):
        kept = tuple(a.copy() for a in args)
        want = outcome(row.oracle, args)
        want = tuple(want) if isinstance(want, tuple) else want
        if way == "prange" and isinstance(want, Exception):
            return
        got = outcome(functools.partial(WAYS[way], row, want), (args,))
        same(got, want, f"{way}: {row.text} of {args!r}")
        if row.signs and not isinstance(want, Exception):
            zeros_signs(got, want, f"{way}: {row.text} of {args!r}")
        for a, b in zip(args, kept, strict=True):
            np.testing.assert_array_equal(a, b, "an operand was stored to")

    check()


# --- what goes with what ---

X = np.arange(6.0).reshape(2, 3)
BAD = [
    ("tp.map(plus)", "map() needs an array"),
    ("tp.map(plus, (1, 2), a)", "numbers or arrays"),
    ("tp.map(lambda v: None, a)", "the function returns nothing"),
    ("tp.reduce(plus, a)", "identity= is needed with a function of your own"),
    ("tp.scan(plus, a)", "identity= is needed with a function of your own"),
    ("tp.reduce(plus, a, identity=(0, 0))", "identity is a tuple, which goes with a tuple of arrays"),
    ("tp.scan(affine, (a, a), identity=0)", "identity must be a tuple of as many numbers"),
    ("tp.reduce(affine, (a, a), identity=(1, 0, 0))", "identity must be a tuple of as many numbers"),
    ("tp.reduce(lambda p, q: p[0], (a, a), identity=(1, 0))", "must return as many values as it takes"),
    ("tp.reduce(affine, (), identity=())", "x is a tuple without an array"),
    ("tp.scan(affine, (), identity=())", "x is a tuple without an array"),
    ("tp.tabulate(lambda i: None, 3)", "must return numbers, not none"),
    ("tp.scan(lambda p, q: (p, q), a, identity=0)", "must return numbers"),
    ("tp.scan(tp.maximum, a, exclusive=True)", "exclusive=True needs identity="),
    ("tp.scan(tp.add, 3.0)", "x is a number"),
    ("tp.scan(plus, 3.0, identity=0)", "x is a number"),
    ("tp.reduce(plus, 3.0, 0, identity=0)", "x has no axis"),
    ("tp.reduce(tp.add, a, 2)", "out of bounds"),
    ("tp.reduce(plus, a, 2, identity=0)", "out of bounds"),
    ("tp.scan(plus, a, -3, identity=0)", "out of bounds"),
    ("tp.topk(a, 1, 5)", "out of bounds"),
    ("tp.topk(3.0, 1)", "x is a number"),
    ("tp.topk(a, 1, nan='first')", "nan must be 'largest' or 'omit'"),
    ("tp.take(a, 6)", "out of bounds"),
    ("tp.scatter(a[0], np.array([3]), 1.0)", "out of bounds"),
    ("tp.scatter(a[0], np.array([3]), 1.0, plus)", "out of bounds"),
    ("tp.topk(a, 1.5)", "k must be an integer"),
    ("tp.topk(a, a)", "k must be an integer"),
    ("tp.topk(a, 4)", "k is 4, and there are 3 items along the axis"),
    ("tp.topk(a, -1, 0)", "k is -1, and there are 2 items along the axis"),
    ("tp.filter(lambda v: (v, v), a)", "the predicate must return a bool"),
    ("tp.sort_by_key(a)", "keys has one axis"),
    ("tp.sort_by_key(a[0], 1.0)", "vals are arrays as long as keys"),
    ("tp.sort_by_key(a[0], a)", "there are 3 keys, and 2 items of vals"),
    ("tp.merge(a, a[0])", "a and b have one axis each"),
    ("tp.run_length_encode(a)", "x has one axis"),
    ("tp.scatter(a, 0, 1.0, plus)", "the places are an array of integers, or a mask"),
    ("tp.reduce_by_key(tp.add, np.array([0, -1]), a, size=3)", "a key is negative"),
    ("tp.reduce_by_key(tp.add, np.array([0, 3]), a, size=3)", "index 3 is out of bounds"),
    ("tp.reduce_by_key(plus, np.array([0, 3]), a[:, 0], size=3, identity=0)", "index 3 is out of bounds"),
    ("tp.reduce_by_key(tp.add, np.array([0, 1, 2]), a, size=3)", "keys and vals have different lengths"),
    ("tp.reduce_by_key(tp.add, a, a, size=3)", "keys"),
    ("tp.reduce_by_key(tp.add, a[0], a[0], size=3)", "keys are integers"),
    ("tp.reduce_by_key(tp.maximum, np.array([0, 1]), a, size=3)", "identity= is needed"),
    ("tp.reduce_by_key(tp.add, np.array([0, 1]), a, size=-1)", "negative dimensions"),
    ("tp.tabulate(plus, (2, -3))", "shape has a negative extent, -3"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), BAD, ids=[text for text, _ in BAD])
def test_what_does_not_go(text, said):
    """The error names the argument, and stands alone; also where a graph is evaluated."""
    for way in (lambda: by_njit(text, 1)(X), lambda: lazily(text, X)):
        with pytest.raises((TypingError, ValueError, IndexError)) as e:
            way()
        assert said in str(e.value), text
        assert len([line for line in str(e.value).split("\n\n") if "-->" in line]) <= 1, str(e.value)


def test_python_forms():
    """What compiled code knows of operators, Python says, too."""
    from treadle import _library

    for f in (np.add, np.maximum, np.bitwise_and, np.hypot, summed, plus, larger, abs):
        ours = njit(lambda f=f: (_library.is_ufunc(f), _library.has_identity(f)))()
        assert ours == (_library.is_ufunc(f), _library.has_identity(f)), f
    assert np.array_equal(_library.mapped(plus, X, 1.0), X + 1)
    assert np.array_equal(_library.tabulated(plus, (2, 3)), njit(lambda: _library.tabulated(plus, (2, 3)))())
    for f in (plus, lambda p, q: (p + q, p < q)):
        ours = njit(lambda f=f: _library.given_by(f, 1.5, 2))()
        assert ours == _library.given_by(f, 1.5, 2), f


def test_all_are_stable_over_threads():
    """The same bits for any number."""
    a = np.random.default_rng(1).normal(size=70_000).astype("f")
    f = njit(parallel=True)(
        lambda a: (
            tp.scan(tp.add, a),
            tp.topk(a, 50, key=span),
            tp.filter(lambda v: v > 0, a),
            tp.reduce(plus, a, identity=0),
        )
    )
    kept = treadle.get_num_threads()
    try:
        found = []
        for n in (1, 2, 4)[: max(1, min(3, kept))]:
            treadle.set_num_threads(n)
            found.append(f(a))
    finally:
        treadle.set_num_threads(kept)
    for r in found[1:]:
        same(r, found[0], "threads")


@pytest.mark.parametrize("order", ["drawn", "up", "down", "equal", "nan", "nan first", "few"])
def test_topk_of_many(order):
    """More candidates than there is room for, in orders that keep none of them and all of them."""
    rng = np.random.default_rng(3)
    a = rng.integers(0, 900, 5_000).astype("d")
    a = {
        "drawn": a,
        "up": np.sort(a),
        "down": np.sort(a)[::-1],
        "equal": a * 0,
        "nan": np.where(a > 700, np.nan, a),
        "nan first": np.where(np.arange(5_000) < 3_000, np.nan, a),
        "few": np.where(np.arange(5_000) % 500 > 0, np.nan, a),
    }[order]
    f = njit(
        lambda a, k: (
            tp.topk(a, k),
            tp.topk(a, k, largest=False),
            tp.topk(a, k, nan="omit"),
            tp.topk(a, k, key=span),
        )
    )
    for k in (1, 17, 700, 5_000):
        for got, more in zip(f(a, k), ({}, {"largest": False}, {"nan": "omit"}, {"key": abs}), strict=True):
            same(got, best(a, k, **more), f"{order} {k} {more}")


def test_types_grow_until_they_stay():
    """One value makes a float of itself, and then of the other one, too."""
    f = njit(lambda a: tp.scan(lambda p, q: (p[0] + q[0] * 0.5, p[1] + p[0]), (a, a), identity=(0, 0)))
    same(f(np.array([3], "b")), (np.array([1.5]), np.array([0.0])), "int8")
    same(f(np.array([3], "f")), (np.array([1.5], "f"), np.array([0.0], "f")), "float32")


def test_merge_has_nan_last():
    lines = [
        np.array(x)
        for x in ([1.0, 2.0], [np.nan], [0.0, np.nan, np.nan], [-0.0, 3.0, np.inf], [np.inf, np.nan])
    ]
    f = njit(lambda a, b: tp.merge(a, b))
    for a, b in itertools.product(lines, repeat=2):
        want = np.sort(np.concatenate((a, b)), kind="stable")
        same(f(a, b), want, f"{a} {b}")
        zeros_signs(f(a, b), want, f"{a} {b}")


def test_captured_numbers_are_arguments():
    """Another number that a function captures compiles nothing, in a reduction either."""

    def sums(most):
        return float(tp.reduce(lambda p, q: min(p + q, most), X, identity=0.0))

    assert [sums(2.5), sums(3.5)] == [2.5, 3.5]


def test_every_function_has_a_row():
    names = {
        n for n in tp.__all__ if getattr(getattr(tp, n), "__module__", "") == "treadle.parallel._functions"
    }
    assert names - {n for n in names if any(f"tp.{n}(" in row.text for row in ROWS)} == {
        "array",
        "extension",
    }
