"""Evaluating lazy arrays, also those that do not fit into memory at once: range by range of their first axis.

A graph that may take more memory than there is to be is cut: each root is computed for a range of indices of its first axis, and what a range gives is
stored in the root's array, or joined with what the ranges before it gave where the root reduces the axis. What operations need for a range
`treadle.parallel._forms` knows. How long ranges are follows from the accounts of those before (src/opt/account.c), and of the first one from a
bound that no program passes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any, NamedTuple

import numpy as np

from treadle._core import (
    LazyArray,
    _lazy_call,
    _lazy_evaluate,
    _lazy_explain,
    _lazy_give,
    _lazy_items,
    _lazy_like,
)
from treadle.parallel._cut import Graph, Parts, Plan
from treadle.parallel._explain import _EVENTS, _peak, _size
from treadle.parallel._forms import HOST, ITEM, Join, Row, Unclear, is_several
from treadle.parallel._progress import Progress

TOPK = "k axis key largest sorted nan"

__all__ = ["evaluate"]


def evaluate(*arrays: LazyArray, parallel: bool = True, max_bytes: int | None = None) -> Any:
    """Compute several lazy arrays in one program, which does once what they have in common.

    Parameters
    ----------
    *arrays : LazyArray
        What is computed.
    parallel : bool, optional
        On all cores, or on one; the results have the same bits.
    max_bytes : int, optional
        How much memory all arrays that are made may take at once, the results among them; leaves are not counted. A graph that
        may need more is computed range by range of the first axis of each result, or of the axis that it reduces. A bar
        on a terminal's standard error shows how far it is, from the third second on.

    Returns
    -------
    LazyArray or tuple of LazyArray
        The arrays themselves, which have their values now.

    Raises
    ------
    MemoryError
        It takes more than `max_bytes`, or than there is; the largest arrays are listed.

    Notes
    -----
    Sums and products of floats along an axis that is cut are added up by ranges, so their last bits may be others
    than without `max_bytes`; those of matrix products, too. All else, and random numbers, have the same bits.
    """
    if max_bytes is not None:
        limit = index(max_bytes)
        if limit < 1:
            raise ValueError(f"max_bytes must be positive, not {limit}")
        if all(isinstance(a, LazyArray) for a in arrays):
            _Within(limit, not parallel).run(list(arrays))
    if len(arrays) == 1:
        _lazy_evaluate(not parallel, arrays[0])
        return arrays[0]
    _lazy_evaluate(not parallel, *arrays)
    return arrays


# --- what an error tells ---


def listing(g: Graph) -> str:
    """The largest arrays, a line for each."""
    rows = [(size, r) for size, r in g.largest() if size]
    lines = []
    for size, r in rows:
        file, line, _, what = r.place
        try:
            shape = f"{r.node.dtype}{list(g.shape(r.node))}"
        except Unclear:
            shape = "at most"
        where = f"{file}:{line}" if file else "?"
        lines.append(f"  {_size(size):>8}  {where}  {what}  {shape}")
    return "\n".join(["the largest arrays, where each operation makes one:", *lines]) if lines else ""


def note_largest(e: BaseException, arrays: Sequence[LazyArray]) -> None:
    """Add to an error what the arrays are that a graph makes. The core calls it for a MemoryError."""
    open_ = [a for a in arrays if not a.evaluated]
    text = listing(Graph(open_)) if open_ else ""
    if text:
        e.add_note(text)


def _named(r: Row) -> str:
    file, line, _, what = r.place
    return f"{what or 'the operation'} of {file}:{line}" if file else what or "an operation"


# --- ranges ---


class _Target(NamedTuple):
    """A root, and how it comes about of ranges: each gives a part of it, or what is joined."""

    root: LazyArray
    of: Any  # what is cut, along
    axis: int
    n: int
    join: tuple[Row, Join] | None
    which: int | None  # of several results
    items: int  # how many are reduced to one


class _Within:
    """Evaluations that together make no more arrays at once than are allowed."""

    def __init__(self, limit: int, serial: bool) -> None:
        self.limit, self.serial = limit, serial
        self.held = 0  # bytes of values that are there already
        self.log = np.zeros(1 + 4 * _EVENTS, np.int64)

    def run(self, roots: list[LazyArray]) -> None:
        """Give all their values."""
        while roots := list({id(r): r for r in roots if not r.evaluated}.values()):
            if self._is_done(roots):
                break

    def _plain(self, roots: list[LazyArray]) -> bool:
        _lazy_evaluate(self.serial, *roots)
        self._hold(roots)
        return True

    def _hold(self, roots: list[LazyArray]) -> None:
        self.held += sum(np.asarray(r).nbytes for r in roots if not is_several(r))

    def _is_done(self, roots: list[LazyArray]) -> bool:
        """Evaluate them, or something below them; whether all have their values. References to nodes end with it."""
        try:
            g = Graph(roots)
        except ValueError:  # an error of the graph's own, which tells its lines
            return self._plain(roots)
        before: list[LazyArray] | None
        host = next((r for r in g.rows if r.op == HOST), None)
        if host:  # what Python computes is there before; its shape is known then
            node, before = host.node, _below(g, host)
        else:
            node, before = None, self._next(g)
        del g, host
        if before:
            self.run(before)
        elif node is not None:
            self._plain([node])
        elif before is None:
            return self._plain(roots)
        return False

    def _next(self, g: Graph) -> list[LazyArray] | None:
        """Evaluate roots that can be cut. What has to be there before; none: look again. None: all at once."""
        room = self.limit - self.held
        need = g.peak()
        if need <= room:
            return None
        targets = [_target(g, r) for r in g.roots]
        cut = [t for t in targets if t is not None]
        if not cut:
            rows = [g.known(r) for r in g.roots]
            below = {id(x): x for r in rows for x in _below(g, r)}
            if not below:
                raise self._refused(g, need, f"{_named(rows[0])} cannot be cut along an axis")
            return list(below.values())
        n = cut[0].n
        cut = [t for t in cut if t.n == n]
        plan = g.plan({(id(t.of), t.axis): (t.of, t.axis) for t in cut}.values())
        for t in cut:
            if t.join:
                for k, a in enumerate(t.join[0].args):
                    if k != t.join[1].operand:
                        g.note_whole(a, plan.whole)
        if plan.whole:
            return list(plan.whole.values())
        # What is joined is there as it was, as it is, and as a range gives it.
        results = sum(g.size(g.known(t.root)) * (4 if t.join else 1) for t in cut)
        if results >= room:
            raise self._refused(g, results + self.held, "the results alone take so much")
        each = g.peak(plan.steps)
        if each > room - results:
            raise self._refused(g, each + results + self.held, "a single index along the axis needs so much")
        whole = len(cut) == len(g.roots) and need
        self._ranges(
            plan, cut, n, room - results, int((room - results) // max(each, 1)), room if whole else 0
        )
        return []

    def _refused(self, g: Graph, need: float, why: str) -> MemoryError:
        text = f"evaluate(): {_size(int(need))} may be needed at once, max_bytes={self.limit}: {why}"
        return MemoryError(f"{text}; {listing(g)}")

    def _ranges(self, plan: Plan, targets: list[_Target], n: int, room: int, first: int, plain: int) -> None:
        """Compute ranges one after the other; at once where the first one tells that nothing need be cut."""
        states = [_state(t) for t in targets]
        lo, size = 0, _rounded(max(1, min(first, n // 16)))
        with Progress("evaluate", n) as bar:
            while lo < n:
                m = min(size, n - lo)
                peak = self._range(plan, targets, states, lo, m)
                # What does not grow with a range is counted too often.
                if lo == 0 and peak is not None and peak * (n / m) <= plain:
                    del plan, states
                    self._plain([t.root for t in targets])
                    return
                lo += m
                size = first if peak is None else min(int(m * (room / max(peak, 1))), 64 * m)
                size = _rounded(max(1, size))
                bar(lo)
        for t, s in zip(targets, states, strict=True):
            if not t.root.evaluated:
                _lazy_give(t.root, s.finish())
        self._hold([t.root for t in targets])

    def _range(self, plan: Plan, targets: list[_Target], states: list[Any], lo: int, n: int) -> int | None:
        """One range; bytes that its arrays took at once. None: it did too much to be written down."""
        parts = Parts(plan, lo, n)
        made: dict[int, Any] = {}
        nodes = [s.nodes(parts, n, made) for s in states]
        flat = list(
            {id(x): x for xs in nodes for x in xs if isinstance(x, LazyArray) and not x.evaluated}.values()
        )
        peak: int | None = 0
        if flat:
            self.log[0] = 0
            _lazy_explain(self.serial, self.log, *flat)
            done = int(self.log[0])
            events = self.log[1 : 1 + 4 * done].reshape(-1, 4)
            peak = None if done > _EVENTS else _peak(events, sum(np.asarray(x).nbytes for x in flat))
        for s, xs in zip(states, nodes, strict=True):
            s.take([np.asarray(x) for x in xs], lo, n)
        return peak


def _rounded(n: int) -> int:
    """Ranges begin where blocks of random numbers, and of sums, do."""
    return n if n < 8 else n // 4 * 4 if n < 1024 else n // 256 * 256


def _below(g: Graph, r: Row) -> list[LazyArray]:
    """The arrays that wait and are operands of a node."""
    found: dict[int, LazyArray] = {}
    for a in r.args:
        g.note_whole(a, found)
    return list(found.values())


def _target(g: Graph, root: LazyArray) -> _Target | None:
    """How a root can be had of ranges."""
    r = g.known(root)
    base = g.row(r.args[0]) if r.op == ITEM else None
    of = base if base and (f := g.form(base)) and f.several else r
    form = g.form(of)
    if form and form.join and (form.join.axes[0] == 0 or not form.shape):
        j = form.join
        x, axis = of.args[j.operand], j.axes[0]
        which = g.constant(r.args[1]) if of is base else None
        n = g.shape(x)[axis]
        if n > 1 and _joins(of, j):
            return _Target(root, x, axis, n, (of, j), which, math.prod(g.shape(x)[a] for a in j.axes))
    if g.form(r) and g.shape(root) and g.shape(root)[0] > 1 and id(root) not in g.plan([(root, 0)]).whole:
        return _Target(root, root, 0, g.shape(root)[0], None, None, 1)
    return None


def _joins(r: Row, j: Join) -> bool:
    """Whether what ranges give can be joined."""
    if j.how == "mean":
        return r.node.dtype.kind in "fc" and r.node.dtype.itemsize > 2
    return j.how == "topk" or not is_several(r.node)


# --- what ranges give ---


def _state(t: _Target) -> Any:
    if t.join is None:
        return _Kept(t)
    how = t.join[1].how
    return {"argmin": _Place, "argmax": _Place, "mean": _Mean, "topk": _Top, "reduce": _Reduced}.get(
        how if isinstance(how, str) else "", _Joined
    )(t)


class _Kept:
    """Parts of the result."""

    def __init__(self, t: _Target) -> None:
        self.t = t
        self.value: Any = None

    def nodes(self, parts: Parts, n: int, made: dict[int, Any]) -> list[Any]:
        """Lazy arrays of the range."""
        return [parts.of(self.t.root, 0)]

    def take(self, got: list[Any], lo: int, n: int) -> None:
        """Their values."""
        if self.value is None:
            self.value = np.empty((self.t.n, *got[0].shape[1:]), got[0].dtype)
        self.value[lo : lo + n] = got[0]

    def finish(self) -> Any:
        """The root's value."""
        return self.value


class _Joined:
    """What a ufunc joins."""

    def __init__(self, t: _Target) -> None:
        assert t.join is not None, "it reduces the axis"
        self.t = t
        self.row, self.join = t.join
        self.value: Any = None

    def part(self, parts: Parts, made: dict[int, Any]) -> Any:
        """The same operation on a range of its operand; once for all results of it."""
        key = id(self.row.node)
        if key not in made:
            args = list(self.row.args)
            args[self.join.operand] = parts.of(args[self.join.operand], self.t.axis)
            made[key] = _lazy_like(self.row.node, *args)
        return made[key]

    def nodes(self, parts: Parts, n: int, made: dict[int, Any]) -> list[Any]:
        return [self.part(parts, made)]

    def take(self, got: list[Any], lo: int, n: int) -> None:
        if self.value is None:
            self.value = np.array(got[0])
            return
        with np.errstate(all="ignore"):
            self.value = np.asarray(self.join.how(self.value, got[0]), dtype=self.value.dtype)

    def finish(self) -> Any:
        return self.value


class _Mean(_Joined):
    """A sum, divided at the end."""

    def nodes(self, parts: Parts, n: int, made: dict[int, Any]) -> list[Any]:
        x, at = parts.of(self.row.args[0], self.t.axis), self.row.bound(1, "axis dtype out keepdims where")
        kw = {name: self.row.args[at[name]] for name in ("axis", "keepdims") if name in at}
        return [_lazy_call(np.sum, x, dtype=self.row.node.dtype, **kw)]

    def take(self, got: list[Any], lo: int, n: int) -> None:
        with np.errstate(all="ignore"):
            self.value = np.array(got[0]) if self.value is None else self.value + got[0]

    def finish(self) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(np.true_divide(self.value, self.t.items), dtype=self.row.node.dtype)


class _Place(_Joined):
    """Where the least or the largest item stands: the first one, and the first NaN before it."""

    best: Any = None

    def nodes(self, parts: Parts, n: int, made: dict[int, Any]) -> list[Any]:
        x = parts.of(self.row.args[0], self.t.axis)
        at = self.row.bound(1, "axis out keepdims")
        kw = {name: self.row.args[at[name]] for name in ("axis", "keepdims") if name in at}
        self.rest = np.shape(x)[1:]
        return [self.part(parts, made), _lazy_call(np.min if self.join.how == "argmin" else np.max, x, **kw)]

    def take(self, got: list[Any], lo: int, n: int) -> None:
        axis = len(self.join.axes) == 1
        places, best = got[0] + (lo if axis else lo * int(np.prod(self.rest, dtype=np.int64))), got[1]
        if self.best is None:
            self.value, self.best = np.array(places), np.array(best)
            return
        with np.errstate(all="ignore"):
            better = best < self.best if self.join.how == "argmin" else best > self.best
            better = (better | (best != best)) & (self.best == self.best)
        self.value, self.best = np.where(better, places, self.value), np.where(better, best, self.best)


class _Top(_Joined):
    """The k first: of those of all ranges before, and those of one."""

    def _of(self, x: Any, k: int) -> list[LazyArray]:
        args = list(self.row.args)
        args[0], args[self.row.bound(1, TOPK)["k"]] = x, np.int64(k)
        return list(_lazy_items(_lazy_like(self.row.node, *args), 2))

    def nodes(self, parts: Parts, n: int, made: dict[int, Any]) -> list[Any]:
        key = id(self.row.node)
        self.k = int(self.row.args[self.row.bound(1, TOPK)["k"]])
        if key not in made:
            made[key] = self._of(parts.of(self.row.args[0], self.t.axis), min(self.k, n))
        return made[key]

    def take(self, got: list[Any], lo: int, n: int) -> None:
        values, places = got[0], got[1] + lo
        if self.value is not None:
            values, places = (
                np.concatenate(x, self.t.axis) for x in zip(self.value, (values, places), strict=True)
            )
            best = self._of(values, min(self.k, values.shape[self.t.axis]))
            _lazy_evaluate(True, *best)
            values, places = np.asarray(best[0]), np.take_along_axis(places, np.asarray(best[1]), self.t.axis)
        self.value = (np.array(values), np.array(places))

    def finish(self) -> Any:
        return self.value[self.t.which]


class _Reduced(_Joined):
    """What a function of the user's joins."""

    def take(self, got: list[Any], lo: int, n: int) -> None:
        if self.value is None:
            self.value = np.array(got[0])
            return
        args = list(self.row.args)
        args[self.join.operand] = np.stack([self.value, got[0]])
        args[self.row.bound(0, "op x axis identity")["axis"] if self.row.args[2] is not None else 2] = 0
        self.value = np.array(_lazy_like(self.row.node, *args))
