"""Forms of operations on lazy arrays: their shapes, and which axes of operands are cut when a result is cut along an axis.

Each operation that is known here has a `Form`, which `form_of` finds. Nodes are looked at, none is computed. Rules are about shapes; what operations
mean is said elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import treadle.parallel._functions as functions
import treadle.parallel.random as random
from treadle._core import LazyArray

if TYPE_CHECKING:
    from treadle.parallel._cut import Graph

# As src/graph/graph.h has them.
CALL, METHOD, ATTR, ITEM, TUPLE, SLICE, HOST, CLOSURE = range(8)
NO_ARRAYS = (TUPLE, SLICE, CLOSURE)

# What each operand is cut along, by its number, and how far the part begins behind that of the result.
Cuts = dict[int, tuple[int, int]]
# Operands of the part from an index on, of so many.
Edit = Callable[[list[Any], int, int], list[Any]]


class Unclear(Exception):
    """There is no rule: the value is computed whole."""


class Row(NamedTuple):
    """A node, as ``_lazy_nodes`` has it."""

    node: LazyArray
    op: int
    fn: Any
    names: tuple[str, ...] | None
    args: tuple[Any, ...]
    place: tuple[str, int, str, str]

    def bound(self, first: int, names: str) -> dict[str, int]:
        """Which operand each parameter from the first on is; those that are None are left out."""
        n = len(self.args) - len(self.names or ())
        params = names.split()
        if n - first > len(params):
            raise Unclear
        at = dict(zip(params, range(first, n), strict=False))
        for k, name in enumerate(self.names or ()):
            if name not in params:
                raise Unclear
            at[name] = n + k
        return {name: k for name, k in at.items() if self.args[k] is not None}

    def all_bound(self, first: int, names: str, known: str) -> dict[str, int]:
        """The same, where no others are given than those that are known."""
        at = self.bound(first, names)
        if not set(at) <= set(known.split()):
            raise Unclear
        return at


class Join(NamedTuple):
    """How an axis of an operand is reduced, so that results of parts can be joined."""

    how: Any  # a ufunc, or the name of a reduction
    operand: int
    axes: tuple[int, ...]


class Form(NamedTuple):
    """What is known of an operation; of several results each has the shape."""

    shape: tuple[int, ...]
    cut: Callable[[int], tuple[Cuts, Edit | None]]
    join: Join | None = None
    several: bool = False
    view: bool = False  # no memory of its own
    scratch: bool = False  # it may take memory beside its operands and its result


def is_several(x: LazyArray) -> bool:
    """Whether it is a tuple of arrays."""
    try:
        return x.dtype is None
    except AttributeError:
        return True


def form_of(g: Graph, r: Row) -> Form:
    """What is known of a node; `Unclear` where that is nothing."""
    if r.op == ITEM:
        return item(g, r)
    if r.op == ATTR:
        return transposed(g, r, None) if r.fn == "T" else elementwise(g, r, [0])
    if r.op == METHOD and isinstance(r.args[0], np.ufunc):
        return ufunc_reduced(g, r)
    if r.op == METHOD:
        rule = _METHODS.get(r.fn)
    elif r.op == CALL and isinstance(r.fn, np.ufunc):
        rule = ufunc
    else:
        try:
            rule = _CALLS.get(r.fn) if r.op == CALL else None
        except TypeError:  # no key
            rule = None
    if rule is None:
        raise Unclear
    return rule(g, r)


def elementwise(g: Graph, r: Row, operands: Sequence[int], several: bool = False) -> Form:
    """Operands are broadcast."""
    shapes = [g.shape(r.args[k]) for k in operands]
    out = np.broadcast_shapes(*shapes)

    def cut(axis: int) -> tuple[Cuts, Edit | None]:
        back = len(out) - axis
        along = ((k, len(s) - back) for k, s in zip(operands, shapes, strict=True))
        return {k: (x, 0) for (k, x), s in zip(along, shapes, strict=True) if x >= 0 and s[x] != 1}, None

    return Form(out, cut, several=several)


def ufunc(g: Graph, r: Row) -> Form:
    if r.names:
        raise Unclear
    if r.fn.signature is not None:
        return product(g, r) if r.fn is np.matmul else unclear()
    return elementwise(g, r, range(r.fn.nin), r.fn.nout > 1)


def unclear() -> Form:
    raise Unclear


def mapped(g: Graph, r: Row) -> Form:
    return elementwise(g, r, range(1, len(r.args)), is_several(r.node))


def of_items(names: str) -> Callable[[Graph, Row], Form]:
    """Of the first operand's items; what else there is are constants."""

    def rule(g: Graph, r: Row) -> Form:
        for k in r.bound(1, names).values():
            g.constant(r.args[k])
        return elementwise(g, r, [0])

    return rule


def clipped(g: Graph, r: Row) -> Form:
    return elementwise(g, r, [0, *r.all_bound(1, "min max", "min max").values()])


def chosen(g: Graph, r: Row) -> Form:
    return elementwise(g, r, range(len(r.args))) if len(r.args) == 3 and not r.names else unclear()


def axes_of(axis: Any, n: int) -> tuple[int, ...]:
    """Axes, counted from the first one."""
    if axis is None:
        return tuple(range(n))
    axes = axis if isinstance(axis, tuple) else (axis,)
    if not all(isinstance(a, int) and -n <= a < n for a in axes):
        raise Unclear
    return tuple(sorted(a % n for a in axes))


def reduced(g: Graph, r: Row, x: int, axis: Any, keepdims: bool, how: Any) -> Form:
    """An operand's axes are reduced."""
    s = g.shape(r.args[x])
    axes = axes_of(axis, len(s))
    left = [k for k in range(len(s)) if k not in axes]
    out = tuple(1 if k in axes else s[k] for k in range(len(s)) if keepdims or k not in axes)

    def cut(a: int) -> tuple[Cuts, Edit | None]:
        k = a if keepdims else left[a]
        return ({x: (k, 0)}, None) if k not in axes else unclear()  # type: ignore[return-value]

    return Form(out, cut, Join(how, x, axes) if how is not None and axes else None, scratch=how is None)


def reduction(how: Any, names: str, known: str = "axis keepdims") -> Callable[[Graph, Row], Form]:
    def rule(g: Graph, r: Row) -> Form:
        at = {k: g.constant(r.args[i]) for k, i in r.all_bound(1, names, known).items()}
        return reduced(g, r, 0, at.get("axis"), bool(at.get("keepdims")), how)

    return rule


def ufunc_reduced(g: Graph, r: Row) -> Form:
    if r.fn != "reduce":
        raise Unclear
    at = {
        k: g.constant(r.args[i])
        for k, i in r.all_bound(2, "axis dtype out keepdims", "axis keepdims").items()
    }
    given = len(r.args) - len(r.names or ()) > 2 or "axis" in (r.names or ())
    how = r.args[0] if r.args[0] in _ASSOCIATIVE else None
    return reduced(g, r, 1, at.get("axis", None if given else 0), bool(at.get("keepdims")), how)


def joined(g: Graph, r: Row) -> Form:
    """treadle.parallel.reduce; of several arrays side by side nothing is known."""
    at = r.bound(0, "op x axis identity")
    if "identity" in at:
        g.constant(r.args[at["identity"]])
    axis = g.constant(r.args[at["axis"]]) if "axis" in at else None
    op = r.args[0]
    known = isinstance(op, np.ufunc) and (op in _ASSOCIATIVE or getattr(np, op.__name__, None) is not op)
    return reduced(g, r, 1, axis, False, op if known else None if isinstance(op, np.ufunc) else "reduce")


def along(names: str, axis: int | None, known: str = "axis", first: int = 0) -> Callable[[Graph, Row], Form]:
    """What goes along one axis of an operand, and leaves the others as they are."""

    def rule(g: Graph, r: Row) -> Form:
        at = r.all_bound(first + 1, names, known)
        s = g.shape(r.args[first])
        for k in set(at) - {"axis"}:
            g.constant(r.args[at[k]])
        where = g.constant(r.args[at["axis"]]) if "axis" in at else axis
        if where is None or len(s) == 0:
            raise Unclear
        (own,) = axes_of(where, len(s))

        def cut(a: int) -> tuple[Cuts, Edit | None]:
            return ({first: (a, 0)}, None) if a != own else unclear()  # type: ignore[return-value]

        return Form(s, cut, scratch=True)

    return rule


def top(g: Graph, r: Row) -> Form:
    at = r.bound(1, "k axis key largest sorted nan")
    s, k = g.shape(r.args[0]), g.constant(r.args[at["k"]])
    if not isinstance(k, int) or len(s) == 0:
        raise Unclear
    (own,) = axes_of(g.constant(r.args[at["axis"]]) if "axis" in at else -1, len(s))

    def cut(a: int) -> tuple[Cuts, Edit | None]:
        return ({0: (a, 0)}, None) if a != own else unclear()  # type: ignore[return-value]

    join = Join("topk", 0, (own,)) if 0 <= k <= s[own] else None
    return Form((*s[:own], k, *s[own + 1 :]), cut, join, several=True, scratch=True)


def transposed(g: Graph, r: Row, order: tuple[int, ...] | None) -> Form:
    s = g.shape(r.args[0])
    p = tuple(range(len(s)))[::-1] if order is None else order
    if sorted(p) != list(range(len(s))):
        raise Unclear
    return Form(tuple(s[k] for k in p), lambda a: ({0: (p[a], 0)}, None), view=True)


def transpose(g: Graph, r: Row) -> Form:
    if r.names:
        raise Unclear
    n = len(g.shape(r.args[0]))
    given = tuple(g.constant(a) for a in r.args[1:])
    axes = given[0] if len(given) == 1 and not isinstance(given[0], int) else given or None
    return transposed(g, r, None if axes is None else tuple(axes_of(a, n)[0] for a in axes))


def swapped(g: Graph, r: Row) -> Form:
    n = len(g.shape(r.args[0]))
    if r.names or len(r.args) != 3:
        raise Unclear
    (a,), (b,) = (axes_of(g.constant(x), n) for x in r.args[1:])
    order = list(range(n))
    order[a], order[b] = b, a
    return transposed(g, r, tuple(order))


def product(g: Graph, r: Row) -> Form:
    """Of a matrix and a matrix or a vector."""
    if len(r.args) != 2 or r.names:
        raise Unclear
    a, b = (g.shape(x) for x in r.args)
    if len(a) != 2 or len(b) not in (1, 2) or a[1] != b[0]:
        raise Unclear
    return Form((a[0], *b[1:]), lambda axis: ({axis: (axis, 0)}, None))


def taken(g: Graph, r: Row) -> Form:
    at = r.all_bound(2, "axis out mode", "axis")
    s, i = g.shape(r.args[0]), g.shape(r.args[1])
    axis = g.constant(r.args[at["axis"]]) if "axis" in at else None
    return taken_along(g, r, None if axis is None else axes_of(axis, len(s))[0], s, i)


def taken_along(g: Graph, r: Row, x: int | None, s: tuple[int, ...], i: tuple[int, ...]) -> Form:
    if x is None:
        return Form(i, lambda a: ({1: (a, 0)}, None))

    def cut(a: int) -> tuple[Cuts, Edit | None]:
        if a < x:
            return {0: (a, 0)}, None
        return ({1: (a - x, 0)} if a < x + len(i) else {0: (a - len(i) + 1, 0)}), None

    return Form((*s[:x], *i, *s[x + 1 :]), cut)


def looked_up(g: Graph, r: Row) -> Form:
    if r.names or len(r.args) > 3:
        raise Unclear
    s = g.shape(r.args[1])
    return Form(s, lambda a: ({1: (a, 0)}, None))


def item(g: Graph, r: Row) -> Form:
    """One of several results, or an index of slices, integers and new axes, or of one array of integers."""
    base = g.row(r.args[0])
    if base and (f := g.form(base)) and f.several:
        return Form(f.shape, lambda a: ({0: (a, 0)}, None))
    s = g.shape(r.args[0])
    i = g.row(r.args[1])
    if isinstance(r.args[1], (LazyArray, np.ndarray)) and (i is None or i.op not in NO_ARRAYS):
        if r.args[1].dtype.kind not in "iu" or len(s) == 0:
            raise Unclear
        return taken_along(g, r, 0, s, g.shape(r.args[1]))
    return sliced(s, g.constant(r.args[1]))


def sliced(s: tuple[int, ...], index: Any) -> Form:
    parts = list(index) if isinstance(index, tuple) else [index]
    used = sum(p is not None and p is not Ellipsis for p in parts)
    if sum(p is Ellipsis for p in parts) > 1 or used > len(s):
        raise Unclear
    if Ellipsis not in parts:
        parts.append(Ellipsis)
    at = parts.index(Ellipsis)
    parts[at : at + 1] = [slice(None)] * (len(s) - used)
    out: list[int] = []
    of: list[
        tuple[int, int, int] | None
    ] = []  # of each axis: which of the operand, from where, and part of index
    k = 0
    for p, what in enumerate(parts):
        if what is None:
            out.append(1)
            of.append(None)
            continue
        if isinstance(what, slice):
            first, stop, step = what.indices(s[k])
            out.append(len(range(first, stop, step)))
            of.append((k, first, p) if step == 1 else None)
        elif isinstance(what, bool) or not isinstance(what, int) or not -s[k] <= what < s[k]:
            raise Unclear
        k += 1

    def cut(a: int) -> tuple[Cuts, Edit | None]:
        along = of[a]
        if along is None:
            raise Unclear
        x, first, p = along

        def edit(args: list[Any], lo: int, n: int) -> list[Any]:
            return [args[0], (*parts[:p], slice(None), *parts[p + 1 :])]

        return {0: (x, first)}, edit

    return Form(tuple(out), cut, view=True)


def reshaped(g: Graph, r: Row) -> Form:
    """Axes before and at the one that is cut stay what they are."""
    if r.names or len(r.args) < 2:
        raise Unclear
    s, given = g.shape(r.args[0]), [g.constant(a) for a in r.args[1:]]
    out = list(given[0] if len(given) == 1 and isinstance(given[0], tuple) else given)
    if not all(isinstance(n, int) for n in out):
        raise Unclear
    rest = math.prod(n for n in out if n != -1)
    if -1 in out and (rest == 0 or out.count(-1) > 1 or math.prod(s) % rest):
        raise Unclear
    out = [math.prod(s) // rest if n == -1 else n for n in out]
    if math.prod(out) != math.prod(s):
        raise Unclear

    def cut(a: int) -> tuple[Cuts, Edit | None]:
        if tuple(out[: a + 1]) != s[: a + 1]:
            raise Unclear

        def edit(args: list[Any], lo: int, n: int) -> list[Any]:
            return [args[0], (*out[:a], np.int64(n), *out[a + 1 :])]

        return {0: (a, 0)}, edit

    return Form(tuple(out), cut)


# --- what is made of places ---


def shape_given(g: Graph, r: Row, k: int) -> tuple[int, ...]:
    s = g.constant(r.args[k])
    s = s if isinstance(s, tuple) else (s,)
    if not s or not all(isinstance(n, int) and n >= 0 for n in s):
        raise Unclear
    return s


def placed(k: int) -> Callable[[Graph, Row], Form]:
    """Operand k is the shape, in place of which a part may stand (treadle/_library/parts.py)."""

    def rule(g: Graph, r: Row) -> Form:
        s = shape_given(g, r, k)

        def cut(a: int) -> tuple[Cuts, Edit | None]:
            def edit(args: list[Any], lo: int, n: int) -> list[Any]:
                first = (*(None,) * a, np.int64(lo), *(None,) * (len(s) - a - 1))
                whole = tuple(np.int64(m) if i <= a else m for i, m in enumerate(s))
                args[k] = (first, (*whole[:a], np.int64(n), *whole[a + 1 :]), whole)
                return args

            return {}, edit

        return Form(s, cut, several=r.fn is functions.tabulate and is_several(r.node))

    return rule


def drawn(g: Graph, r: Row) -> Form:
    """random.randint: of bounds that are numbers."""
    if any(np.ndim(a) or isinstance(a, LazyArray) for a in r.args[1:3]):
        raise Unclear
    return placed(3)(g, r)


def same_everywhere(g: Graph, r: Row) -> Form:
    s = shape_given(g, r, 0)

    def cut(a: int) -> tuple[Cuts, Edit | None]:
        def edit(args: list[Any], lo: int, n: int) -> list[Any]:
            args[0] = (*s[:a], np.int64(n), *s[a + 1 :])
            return args

        return {}, edit

    return Form(s, cut)


def counted(g: Graph, r: Row) -> Form:
    """arange of integers."""
    start, stop, step, dtype = (g.constant(a) for a in r.args)
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    if not all(type(v) is int for v in (start, stop, step)) or dtype is not None or step == 0:
        raise Unclear

    def cut(a: int) -> tuple[Cuts, Edit | None]:
        def edit(args: list[Any], lo: int, n: int) -> list[Any]:
            return [np.int64(start + lo * step), np.int64(start + (lo + n) * step), np.int64(step), None]

        return {}, edit

    return Form((len(range(start, stop, step)),), cut)


_ASSOCIATIVE = {
    np.add, np.multiply, np.minimum, np.maximum, np.fmin, np.fmax, np.logical_and, np.logical_or, np.logical_xor,
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.gcd, np.lcm,
}  # fmt: skip
_SUM, _MIN, _ANY = (
    "axis dtype out keepdims initial where",
    "axis out keepdims initial where",
    "axis out keepdims where",
)
_REDUCTIONS: dict[str, Callable[[Graph, Row], Form]] = {
    "sum": reduction(np.add, _SUM),
    "prod": reduction(np.multiply, _SUM),
    "min": reduction(np.minimum, _MIN),
    "max": reduction(np.maximum, _MIN),
    "any": reduction(np.logical_or, _ANY),
    "all": reduction(np.logical_and, _ANY),
    "argmin": reduction("argmin", "axis out keepdims"),
    "argmax": reduction("argmax", "axis out keepdims"),
    "mean": reduction("mean", "axis dtype out keepdims where"),
    "std": reduction(None, "axis dtype out ddof keepdims", "axis keepdims ddof"),
    "var": reduction(None, "axis dtype out ddof keepdims", "axis keepdims ddof"),
}
_METHODS: dict[str, Callable[[Graph, Row], Form]] = {
    **_REDUCTIONS,
    "cumsum": along("axis dtype out", None),
    "cumprod": along("axis dtype out", None),
    "argsort": along("axis kind order stable", -1, "axis kind"),
    "astype": of_items("dtype order casting subok copy"),
    "round": of_items("decimals out"),
    "clip": clipped,
    "conj": of_items(""),
    "conjugate": of_items(""),
    "copy": of_items("order"),
    "transpose": transpose,
    "swapaxes": swapped,
    "reshape": reshaped,
    "take": taken,
    "dot": product,
}
_CALLS: dict[Any, Callable[[Graph, Row], Form]] = {
    **{getattr(np, name): rule for name, rule in _REDUCTIONS.items()},
    np.amin: _REDUCTIONS["min"],
    np.amax: _REDUCTIONS["max"],
    np.cumsum: along("axis dtype out", None),
    np.cumprod: along("axis dtype out", None),
    np.sort: along("axis kind order stable", -1, "axis kind"),
    np.argsort: along("axis kind order stable", -1, "axis kind"),
    np.where: chosen,
    np.clip: clipped,
    np.round: of_items("decimals out"),
    np.real: of_items(""),
    np.imag: of_items(""),
    np.transpose: transpose,
    np.swapaxes: swapped,
    np.reshape: reshaped,
    np.take: taken,
    np.dot: product,
    np.searchsorted: looked_up,
    functions.where: chosen,
    functions.map: mapped,
    functions.reduce: joined,
    functions.scan: along("axis exclusive reverse identity", 0, "axis exclusive reverse identity", first=1),
    functions.sort: along("axis", -1),
    functions.argsort: along("axis", -1),
    functions.topk: top,
    functions.take: taken,
    functions.searchsorted: looked_up,
    functions.tabulate: placed(1),
    functions.zeros: same_everywhere,
    functions.ones: same_everywhere,
    functions.full: same_everywhere,
    functions.arange: counted,
    random.bits: placed(1),
    random.uniform: placed(1),
    random.normal: placed(1),
    random.randint: drawn,
}
# How many items these give depends on what arrays hold.
_FILTERS = {
    functions.filter, functions.stable_partition, functions.run_length_encode, functions.unique_values,
    functions.unique_counts, functions.unique_inverse, functions.unique_all, functions.merge, np.nonzero, np.flatnonzero, np.argwhere,
    np.unique, np.compress, np.extract,
}  # fmt: skip


def depends_on_items(g: Graph, r: Row) -> bool:
    """Whether asking for the shape would compute it."""
    if r.op == METHOD:
        return r.fn in ("nonzero", "compress", "repeat")
    if r.op == CALL:
        return any(r.fn is f for f in _FILTERS)
    base = g.row(r.args[0]) if r.op == ITEM else None
    if base and depends_on_items(g, base):
        return True
    return r.op == ITEM and any(holds_mask(g, a) for a in r.args[1:])


def holds_mask(g: Graph, a: Any) -> bool:
    r = g.row(a)
    if r and r.op in NO_ARRAYS:
        return any(holds_mask(g, x) for x in r.args)
    return isinstance(a, (LazyArray, np.ndarray)) and a.dtype.kind == "b"
