"""Parts of graphs: what is computed of each operation for a part of a result along an axis.

An operation whose form is known (`treadle.parallel._forms`) is computed in part; any other one whole, and its value is cut. So no rule is needed for a
right result, and a missing one costs memory alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from treadle._core import LazyArray, _lazy_like, _lazy_nodes
from treadle.parallel._forms import (
    ATTR,
    HOST,
    ITEM,
    NO_ARRAYS,
    SLICE,
    TUPLE,
    Cuts,
    Edit,
    Form,
    Row,
    Unclear,
    depends_on_items,
    form_of,
)


class Step(NamedTuple):
    """A node of which a part is computed, along an axis and so far behind."""

    row: Row
    axis: int
    off: int
    cuts: Cuts
    edit: Edit | None


class Plan(NamedTuple):
    """What is computed for each part; and what has to be there before, whole."""

    steps: list[Step]
    whole: dict[int, LazyArray]


class Graph:
    """What waits below some lazy arrays.

    Parameters
    ----------
    roots : sequence of LazyArray
        None of them evaluated.

    Raises
    ------
    ValueError
        Shapes do not broadcast.
    """

    def __init__(self, roots: Sequence[LazyArray]) -> None:
        self.roots = list(roots)
        self.rows = [Row(*r) for r in _lazy_nodes(*roots)]
        self._at = {id(r.node): r for r in self.rows}
        self._forms: dict[int, Form | None] = {}
        self._shapes: dict[int, tuple[int, ...] | None] = {}
        for r in self.rows:
            try:
                self._forms[id(r.node)] = f = form_of(self, r)
                self._shapes[id(r.node)] = f.shape
            except Unclear:
                self._forms[id(r.node)] = None
                self._shapes[id(r.node)] = self._asked(r)

    def _asked(self, r: Row) -> tuple[int, ...] | None:
        """The shape that the array itself tells; None: nobody knows before it is computed."""
        if r.op in (*NO_ARRAYS, HOST) or depends_on_items(self, r):
            return None
        try:
            return r.node.shape
        except AttributeError:  # several
            return None

    def row(self, a: Any) -> Row | None:
        """The row of an operand that waits."""
        return self._at.get(id(a)) if isinstance(a, LazyArray) else None

    def known(self, a: LazyArray) -> Row:
        """The row of an array that waits."""
        return self._at[id(a)]

    def form(self, r: Row) -> Form | None:
        """What is known of it."""
        return self._forms[id(r.node)]

    def shape(self, a: Any) -> tuple[int, ...]:
        """The shape of an operand."""
        r = self.row(a)
        try:
            s = self._shapes[id(r.node)] if r else np.shape(a) if not isinstance(a, LazyArray) else a.shape
        except AttributeError:  # several
            s = None
        if s is None:
            raise Unclear
        return s

    def constant(self, a: Any) -> Any:
        """An operand that is no array, as Python has it."""
        r = self.row(a)
        if r and r.op == TUPLE:
            return tuple(self.constant(x) for x in r.args)
        if r and r.op == SLICE:
            return slice(*(self.constant(x) for x in r.args))
        if isinstance(a, (LazyArray, np.ndarray)):
            raise Unclear
        return a.item() if isinstance(a, np.generic) else a

    # --- bytes ---

    def size(self, r: Row) -> int:
        """Bytes of a node's value; of one that nobody knows yet, as many as it has at most."""
        s, f = self._shapes[id(r.node)], self.form(r)
        if f is not None and f.several:
            return 0  # its items are counted
        if s is not None:
            return math.prod(s) * r.node.dtype.itemsize
        if r.op in (*NO_ARRAYS, HOST):
            return 0
        return 2 * sum(self._items(a) for a in r.args) * 8

    def _items(self, a: Any) -> int:
        r = self.row(a)
        if r and r.op in NO_ARRAYS:
            return sum(self._items(x) for x in r.args)
        if r and self._shapes[id(r.node)] is None:
            return self.size(r) // 8
        try:
            return math.prod(self.shape(a))
        except (Unclear, ValueError):
            return 0

    def peak(self, steps: Sequence[Step] | None = None) -> float:
        """Bytes at most at once, if each operation makes its array: fused programs make fewer.

        With the steps of a plan: for one index along the axis that is cut.
        """
        n = len(self.rows)
        at = {id(r.node): k for k, r in enumerate(self.rows)}
        kept = {id(x) for x in self.roots}
        share = [1.0 if steps is None else 0.0] * n
        for step in steps or ():
            share[at[id(step.row.node)]] += 1 / max(self.shape(step.row.node)[step.axis], 1)
        end = [n if id(r.node) in kept else 0 for r in self.rows]
        for k in range(n - 1, -1, -1):
            for a in self.rows[k].args:
                if isinstance(a, LazyArray) and id(a) in at:
                    end[at[id(a)]] = max(end[at[id(a)]], end[k] if self._hands_on(self.rows[k]) else k)
        goes = [0.0] * (n + 1)
        now = most = 0.0
        for k, r in enumerate(self.rows):
            f = self.form(r)
            size = 0 if f and f.view and id(r.node) not in kept else self.size(r) * share[k]
            light = r.op in NO_ARRAYS or (f is not None and not f.scratch)
            scratch = 0 if light else sum(self._items(a) for a in r.args) * 8 * share[k]
            now += size
            goes[end[k]] += size
            most = max(most, now + scratch)
            now -= goes[k]
        return most

    def _hands_on(self, r: Row) -> bool:
        """Whether what it takes may be needed as long as it is."""
        f = self.form(r)
        views = r.fn in ("reshape", "ravel", "transpose", "swapaxes") or r.fn is np.reshape
        return r.op in (*NO_ARRAYS, ITEM, ATTR) or views or (f is not None and f.view)

    def largest(self, most: int = 4) -> list[tuple[int, Row]]:
        """The largest arrays, if each operation makes one."""
        sizes = []
        for r in self.rows:
            f = self.form(r)
            if r.op not in (*NO_ARRAYS, HOST) and not (f and f.view):
                sizes.append((self.size(r), r))
        return sorted(sizes, key=lambda s: -s[0])[:most]

    # --- parts ---

    def _rule(self, r: Row, axis: int) -> tuple[Cuts, Edit | None]:
        f = self.form(r)
        if f is None:
            raise Unclear
        cuts, edit = f.cut(axis)
        base = self.row(r.args[0]) if r.op == ITEM else None
        if base and self._is_several(base):
            self._rule(base, cuts[0][0])
        return cuts, edit

    def _is_several(self, r: Row) -> bool:
        f = self.form(r)
        return f is not None and f.several

    def plan(self, targets: Iterable[tuple[Any, int]]) -> Plan:
        """What is computed for parts of operands along axes."""
        need: dict[int, list[tuple[int, int]]] = {}
        plan = Plan([], {})

        def ask(a: Any, axis: int, off: int) -> None:
            if self.row(a) and (axis, off) not in need.setdefault(id(a), []):
                need[id(a)].append((axis, off))

        for a, axis in targets:
            ask(a, axis, 0)
        for r in reversed(self.rows):
            for axis, off in need.get(id(r.node), ()):
                try:
                    cuts, edit = self._rule(r, axis)
                except Unclear:
                    plan.whole[id(r.node)] = r.node
                    continue
                plan.steps.append(Step(r, axis, off, cuts, edit))
                for k, a in enumerate(r.args):
                    if k in cuts:
                        ask(a, cuts[k][0], off + cuts[k][1])
                    else:
                        self.note_whole(a, plan.whole)
        plan.steps.reverse()
        return plan

    def note_whole(self, a: Any, into: dict[int, LazyArray]) -> None:
        """The arrays that an operand is, or captures, as what has to be there before."""
        r = self.row(a)
        if r and r.op in NO_ARRAYS:
            for x in r.args:
                self.note_whole(x, into)
        elif r:
            into[id(a)] = r.node


class Parts:
    """Nodes for the part from an index on, of so many.

    Parameters
    ----------
    plan : Plan
        All of whose `whole` is evaluated.
    lo, n : int
        The part.
    """

    def __init__(self, plan: Plan, lo: int, n: int) -> None:
        self._lo, self._n = lo, n
        self._made: dict[tuple[int, int, int], Any] = {}
        for s in plan.steps:
            args = list(s.row.args)
            for k, (axis, off) in s.cuts.items():
                args[k] = self.of(args[k], axis, s.off + off)
            if s.edit:
                args = s.edit(args, lo + s.off, n)
            self._made[id(s.row.node), s.axis, s.off] = _lazy_like(s.row.node, *args)

    def of(self, a: Any, axis: int, off: int = 0) -> Any:
        """The part of an operand along an axis."""
        key = (id(a), axis, off)
        if key not in self._made:
            first = self._lo + off
            self._made[key] = np.asarray(a)[(slice(None),) * axis + (slice(first, first + self._n),)]
        return self._made[key]
