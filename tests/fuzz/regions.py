"""Loops over a prange, as docs/parallel.md has them: run in order, with a watch on what iterations would see of each other.

Iterations that meet in memory, other than by accumulating, leave the result open: `rules.Unspecified`. Sums and products of floats may
be associated in any way; where that can make a difference the result is an `Approx` with a bound. When an iteration raises,
later ones may have run, so what the loop stores is open but for elements that belong to the iterations before it.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import array_ops
import numpy as np
from memory import OPEN, ArrayValue, Marks, address, addresses, watch
from rules import Array, IllTyped, Unspecified, arith, is_scalar, klass
from values import Approx, Raised, conv, from_item, to_f32, to_item

if TYPE_CHECKING:
    from oracle import Env, Fn, Frame, Instance, Program

KINDS = {
    "+": "+",
    "-": "+",
    "*": "*",
    "/": "*",
    "&": "&",
    "|": "|",
}  # operations that one accumulator may mix
AT = {"add": "+", "subtract": "+", "multiply": "*"}  # np.add.at and its like that accumulate
MANY = -1


class Total:
    """What goes into one sum or product of floats: may the order of it show?"""

    def __init__(self, ty: str, first: Any) -> None:
        self.ty = ty
        self.digits, self.range = (53, 1000) if ty in ("float64", "complex128") else (24, 110)
        self.count = 0
        self.lost = False  # something was rounded before it went in
        self.kind = ""
        self.sizes: list[float] = []  # of summands, per part
        self.low = math.inf  # exponent of the last bit of any summand
        self.bits = self.spread = 0  # of factors
        self.odd = self.wild = False  # a factor is not finite or zero; a summand is not finite
        self.add(first)
        self.times(first)

    def parts(self, x: Any) -> tuple[float, ...]:
        """The real numbers that x consists of."""
        return (float(x[0]), float(x[1])) if isinstance(x, tuple) else (float(x),)

    def put(self, op: str, x: Any) -> None:
        """One more value."""
        self.kind = KINDS[op]
        self.count += 1
        if self.kind == "+":
            self.add(x)
        elif op == "*":
            self.times(x)
        else:
            self.over(x)

    def add(self, x: Any) -> None:
        """A summand."""
        for v in self.parts(x):
            if math.isfinite(v) and v:
                top, bottom = v.as_integer_ratio()
                self.low = min(self.low, (top & -top).bit_length() - 1 - (bottom.bit_length() - 1))
                self.sizes.append(abs(v))
            self.wild |= not math.isfinite(v)

    def times(self, x: Any) -> None:
        """A factor."""
        for v in self.parts(x):
            self.odd |= not math.isfinite(v) or v == 0
            if math.isfinite(v) and v:
                top = abs(v.as_integer_ratio()[0])
                digits = (top // (top & -top)).bit_length()
                self.bits += digits if digits > 1 else 0
                self.spread += abs(math.frexp(v)[1]) + 1

    def over(self, x: Any) -> None:
        """A divisor: what is multiplied may be its reciprocal."""
        self.times(x)
        self.lost |= abs(math.frexp(float(x))[0]) != 0.5

    def size(self) -> float:
        """Sum of the magnitudes; infinite where that is too large."""
        try:
            return math.fsum(self.sizes)
        except OverflowError:
            return math.inf

    def same_in_any_order(self) -> bool:
        """True if nothing is ever rounded and nothing overflows on the way, whatever is done first."""
        if self.lost and self.count:
            return False
        if self.count <= 1:
            return True
        if self.kind == "+":
            size = self.size()
            return not self.sizes or size <= math.ldexp(1.0, min(1023, self.digits + int(self.low)))
        return self.bits <= self.digits and self.spread < self.range and not (self.ty.startswith("complex"))

    def finish(self, value: Any) -> Any:
        """The total as the rules leave it: the value, or a bound on it."""
        if self.same_in_any_order():
            return value
        if self.ty.startswith("complex") or isinstance(value, Approx):
            raise Unspecified("sum of complex numbers in another order")
        eps = 2.0 ** (1 - self.digits)
        real, value = value, float(value)
        if self.kind == "+":
            size = self.size()
            if self.wild and size < (1e300 if self.digits == 53 else 1e37):
                return real
            if not math.isfinite(value) or size > (1e300 if self.digits == 53 else 1e37):
                raise Unspecified("sum that may overflow")
            error = size * eps * (self.count + 2)
        else:
            if self.odd or self.spread >= self.range or not math.isfinite(value) or not value:
                raise Unspecified("product that may overflow")
            error = abs(value) * eps * (2 * self.count + 2)
        return Approx(value if self.digits == 53 else to_f32(value), error)


class Meeting(Unspecified):
    """Iterations meet in memory: such a loop is refused, or told of, or right all the same."""


class Region:
    """One run of a loop over a prange: who touched what."""

    def __init__(self, loose: bool = False) -> None:
        self.loose = loose  # iterations that meet are only noted
        self.met = False
        self.iteration = 0
        self.inner = 0  # loops over a prange in an iteration, which are plain ones there
        self.readers: dict[int, int] = {}
        self.writers: dict[int, int] = {}
        self.totals: dict[int, tuple[Total | None, np.ndarray, tuple, Marks]] = {}
        self.stored: list[ArrayValue] = []
        self.own: set[int] = set()  # elements that no later iteration stores to
        self.keep: list[Any] = []  # so that no address serves twice
        self.quiet = False

    def meet(self) -> None:
        """Two iterations touch one element."""
        if not self.loose:
            raise Meeting("iterations of a prange loop meet")
        self.met = True

    def read(self, places: list[int]) -> None:
        """Elements are read."""
        if self.quiet:
            return
        for at in places:
            if self.writers.get(at, self.iteration) != self.iteration or at in self.totals:
                self.meet()
            if self.readers.setdefault(at, self.iteration) != self.iteration:
                self.readers[at] = MANY

    def write(self, arr: ArrayValue, places: list[int]) -> None:
        """Elements are written."""
        self.stored.append(arr)
        if self.quiet:
            return
        for at in places:
            others = self.writers.get(at, self.iteration), self.readers.get(at, self.iteration)
            if others != (self.iteration, self.iteration) or at in self.totals:
                self.meet()
            self.writers[at] = self.iteration

    def accumulate(self, arr: ArrayValue, index: tuple, first: Any, op: str, x: Any, lost: bool) -> None:
        """An element of an array that is accumulated into takes one more value."""
        at, ty = address(arr, index), arr.data.dtype.name
        if at in self.readers or at in self.writers:
            raise Meeting("an array that is accumulated into shares memory with another")
        if at not in self.totals:
            total = Total(ty, first) if klass(ty) in "fc" else None
            self.totals[at] = (total, arr.data, index, arr.marks)
        total = self.totals[at][0]
        if total is not None:
            total.lost |= lost
            total.put(op, x)

    def is_used_besides(self) -> bool:
        """True if an array that is accumulated into is touched in another way, perhaps by another name and elsewhere: then it gets no copies."""
        owners = {id(a): a for a in (owner(data) for _, data, _, _ in self.totals.values())}
        spans = [(a.ctypes.data, a.ctypes.data + a.nbytes) for a in owners.values()]
        return any(lo <= at < hi for lo, hi in spans for at in (*self.readers, *self.writers))

    def finish(self) -> None:
        """The loop has ended: bounds for what it accumulated."""
        if self.is_used_besides():
            self.meet()
        for at, (total, data, index, marks) in self.totals.items():
            if total is not None:
                value = total.finish(from_item(data[index], total.ty))
                if isinstance(value, Approx):
                    marks[at] = value.error

    def raised(self, overlap: bool) -> None:
        """An iteration raised: later ones may have run."""
        for arr in self.stored:
            data = arr.data
            whole = data if data.base is None or not isinstance(data.base, np.ndarray) else data.base
            for part in (data, whole if whole.dtype == data.dtype else data):
                arr.marks.update((at, OPEN) for at in addresses(part) if overlap or at not in self.own)


def owner(a: np.ndarray) -> np.ndarray:
    """The array whose memory it is."""
    while isinstance(a.base, np.ndarray):
        a = a.base
    return a


# --- the loop as the program's text has it ---


def is_prange(node: ast.expr) -> bool:
    """True for ``prange(...)``, in ``enumerate`` or ``reversed`` too."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    if node.func.id in ("enumerate", "reversed") and node.args:
        return is_prange(node.args[0])
    return node.func.id == "prange"


class Loop:
    """What is known of a loop over a prange when it is analysed.

    Attributes
    ----------
    collected : set of str
        Variables from before the loop that it assigns: its reductions.
    stored : list of str
        Arrays that it stores to.
    owned : set of str
        Arrays of which each iteration stores to its own elements.
    views : dict of str to str
        Names that it gives to views of arrays, and which array each is of.
    arrays : dict of str to str
        Arrays that it accumulates into, through views too, and touches in no other way, with the kind of operation.
    hidden : bool
        Something is stored through a view that the loop makes itself.
    index : str
        Its counter.
    """

    def __init__(self, node: ast.For, env: Env, assigned: set[str], loose: bool = False) -> None:
        targets = [n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)]
        self.collected = {n for n in assigned if n in env and not env[n].maybe} - set(targets)
        self.index = targets[-1]
        arrays = [n for n, d in env.items() if isinstance(d.ty, Array)]
        self.views = self.find_views(node, {n: env[n].ty.ndim for n in arrays})
        arrays = [n for n in arrays if n not in self.views]  # what a round before gave the name to
        self.stored = [n for n in arrays if self.stores(node, n)]
        self.owned = {
            n for n in arrays if self.stores(node, n) and all(map(self.is_own, self.stores(node, n)))
        }
        used = {n.id for b in node.body for n in ast.walk(b) if isinstance(n, ast.Name)}
        self.hidden = any(self.is_hidden(n, arrays) for b in node.body for n in ast.walk(b))
        self.twice = any(
            env[n].root is env[m].root for n in self.stored for m in used & set(arrays) if n != m
        )
        if self.twice and not loose:
            raise Meeting("two names of one array or of parts of it, in which iterations may surely meet")
        self.arrays = {
            n: kind for n in arrays if n not in self.owned and (kind := self.only_collects(node, n))
        }

    @staticmethod
    def is_hidden(node: ast.AST, arrays: list[str]) -> bool:
        """True for a store that does not name an array from before the loop."""
        store = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
        return store and getattr(node.value, "id", None) not in arrays  # type: ignore[attr-defined]

    @staticmethod
    def find_views(node: ast.For, ndim: dict[str, int]) -> dict[str, str]:
        """Names that are given to views in the loop, once each; `ndim` of the arrays from before it."""
        found: dict[str, str] = {}
        statements = [n for b in node.body for n in ast.walk(b)]
        bound = [n.id for n in statements if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        axes = {n: k for n, k in ndim.items() if n not in bound}
        for n in statements:
            if isinstance(n, ast.Assign) and len(n.targets) == 1 and isinstance(n.targets[0], ast.Name):
                name, root = n.targets[0].id, root_name(n.value)
                left = axes_left(n.value, axes)
                if root in axes and left > 0 and name not in axes and bound.count(name) == 1:
                    found[name] = found.get(root, root)
                    axes[name] = left
        return found

    def array_of(self, node: ast.expr) -> str:
        """The array from before the loop whose element or part this is; a name of something else otherwise."""
        root = root_name(node)
        return self.views.get(root, root)

    def only_collects(self, node: ast.For, name: str) -> str:
        """The kind of operation by which array `name` is accumulated into; empty if it is used otherwise."""
        nodes = [n for b in node.body for n in ast.walk(b)]
        names = {name} | {v for v, root in self.views.items() if root == name}
        uses = sum(isinstance(n, ast.Name) and n.id in names for n in nodes) - sum(
            is_size(n, v) for n in nodes for v in names
        )
        # Where a name is given to a view, the array is not touched yet.
        given = [n for n in nodes if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "") in names]
        uses -= 2 * len(given)
        kinds, found = set(), 0
        for stmt in (n for n in nodes if isinstance(n, ast.AugAssign)):
            if root_name(stmt.target) in names:
                found += 1
                kinds.add(KINDS.get(_SIGNS.get(type(stmt.op), "")))
        for call in (n for n in nodes if isinstance(n, ast.Call) and at_name(n)):
            if getattr(call.args[0], "id", "") == name:
                found += 1
                kinds.add(AT.get(at_name(call)))
        good = found and found == uses and len(kinds) == 1 and None not in kinds
        return str(kinds.pop()) if good else ""

    def stores(self, node: ast.For, name: str) -> list[ast.expr]:
        """All targets of assignments to elements and parts of array `name`, and the array itself."""
        targets = [
            n
            for b in node.body
            for n in ast.walk(b)
            if isinstance(n, (ast.Subscript, ast.Name)) and isinstance(n.ctx, ast.Store)
        ]
        return [t for t in targets if name == (t.id if isinstance(t, ast.Name) else self.array_of(t))]

    def is_own(self, target: ast.expr) -> bool:
        """True for ``a[i]`` and ``a[i, ...]`` with the loop's counter, and for parts of such a row."""
        while isinstance(target, ast.Subscript) and not isinstance(target.value, ast.Name):
            target = target.value
        if not isinstance(target, ast.Subscript) or target.value.id in self.views:  # type: ignore[attr-defined]
            return False
        first = target.slice.elts[0] if isinstance(target.slice, ast.Tuple) else target.slice
        return isinstance(first, ast.Name) and first.id == self.index


def root_name(node: ast.AST) -> str:
    """The name that a chain of indices and ``.T`` begins with; empty for anything else."""
    while isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr == "T"):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def axes_left(node: ast.AST, axes: dict[str, int]) -> int:
    """How many axes a chain of indices leaves of an array; 0 where it is no view."""
    if isinstance(node, ast.Name):
        return axes.get(node.id, 0)
    if isinstance(node, ast.Attribute) and node.attr == "T":
        return axes_left(node.value, axes)
    if not isinstance(node, ast.Subscript):
        return 0
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if any(isinstance(x, ast.Name) and x.id in axes for x in items):
        return 0
    kept = [x for x in items if isinstance(x, ast.Slice) or isinstance(x, ast.Constant) and x.value is ...]
    return axes_left(node.value, axes) - (len(items) - len(kept))


def at_name(node: ast.Call) -> str:
    """The name in ``np.name.at(...)``; empty for another call."""
    func = node.func
    known = isinstance(func, ast.Attribute) and func.attr == "at" and isinstance(func.value, ast.Attribute)
    return func.value.attr if known else ""  # type: ignore[attr-defined]


def is_size(node: ast.AST, name: str) -> bool:
    """True for ``len(name)``, ``name.shape`` and ``name.size``: nothing is read."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "len":
        return getattr(node.args[0], "id", "") == name
    return (
        isinstance(node, ast.Attribute)
        and node.attr in ("shape", "size")
        and getattr(node.value, "id", "") == name
    )


_SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.BitAnd: "&", ast.BitOr: "|"}


def analyse(inst: Instance, node: ast.For, env: Env, assigned: set[str]) -> tuple[Fn, Env | None]:
    """A loop over a prange in a parallel function."""
    if node.orelse:
        raise IllTyped("else of a prange loop")
    loop = Loop(node, env, assigned, inst.prog.loose)
    inst.region = loop
    try:
        item, items = inst.iterable(node.iter, env)
        head = assigned | {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
        setter, body, other, entry, back, last, out = inst.loop(
            node, env, head, lambda e: inst.target(node.target, item, e)
        )
    finally:
        inst.region = None
    plain = inst.looper(items, setter, body, other, entry, back, last, count)
    floats = {
        n: str(out[n].ty)
        for n in loop.collected
        if out is not None and n in out and is_scalar(out[n].ty) and klass(str(out[n].ty)) in "fc"
    }
    prog = inst.prog

    def run(frame: Frame) -> Any:
        mine = watch.region is None
        if loop.arrays and not mine:
            raise Unspecified("accumulation in a loop inside a loop")
        prog.count("prange", "outer" if mine else "inner")
        for name, ty in floats.items():
            frame["total " + name] = ty
        if not mine:
            signal = inner(plain, frame)
        else:
            signal = outermost(prog, plain, frame, loop)
        for name in floats:
            total = frame.pop("total " + name)
            if isinstance(total, Total):
                frame[name] = total.finish(frame[name])
            elif frame[name] == 0:  # an extreme: which zero is open
                frame[name] = Approx(frame[name], 0.0)
        return signal

    return run, out


def count(turn: int) -> None:
    """An iteration begins."""
    if watch.region is not None and not watch.region.inner:
        watch.region.iteration = turn


def inner(plain: Fn, frame: Frame) -> Any:
    """Run a loop that is in an iteration of another: all of it is that iteration."""
    region = watch.region
    assert region is not None
    region.inner += 1
    try:
        return plain(frame)
    finally:
        region.inner -= 1


def outermost(prog: Program, plain: Fn, frame: Frame, loop: Loop) -> Any:
    """Run a loop that is in no other, under watch."""
    region = watch.region = Region(prog.loose)
    region.met = loop.twice
    try:
        signal = plain(frame)
        region.finish()
        prog.met |= region.met
        return signal
    except Raised:
        if region.met:
            raise Unspecified("an exception in a loop whose iterations meet") from None
        if loop.hidden:
            region.stored += [v for v in frame.values() if isinstance(v, ArrayValue)]
            region.own.clear()
        region.stored += [frame[n] for n in loop.stored if n in frame]
        region.raised(prog.overlap)
        prog.cut = True
        raise
    finally:
        watch.region = None


# --- what stands in the loop ---


def collect(inst: Instance, op: str, name: str, node: ast.expr, env: Env) -> tuple[Fn, str]:
    """``name op= value`` where iterations collect in a variable."""
    old = env[name].ty
    ty, value = inst.expr(node, env)
    if not is_scalar(old) or not is_scalar(ty):
        raise IllTyped("reduction of something else")
    out = arith(op, old, ty)
    if op not in KINDS:
        raise Unspecified("a variable that is handed on")
    prog = inst.prog

    def run(frame: Frame) -> None:
        before, x = frame[name], value(frame)
        prog.count(op, old, ty)
        prog.count("prange " + KINDS[op], out)
        frame[name] = inst.operate(op, before, old, x, ty)
        total = frame.get("total " + name)
        if isinstance(total, str):
            total = frame["total " + name] = Total(total, conv(before, old, total))
        if total is not None:
            total.put(op, conv(x, ty, total.ty))

    return run, out


def adder(inst: Instance, op: str, ty: str, vty: str) -> Callable[[ArrayValue, tuple, Any], None]:
    """What accumulates a number in an element, and tells the loop."""
    out = arith(op, ty, vty)
    order = "bifc"
    if order.index(klass(out)) > order.index(klass(ty)) or op == "/" and klass(ty) != "f":
        raise Unspecified("accumulation that converts")
    prog = inst.prog

    def put(arr: ArrayValue, index: tuple, x: Any) -> None:
        if isinstance(x, Approx) or arr.marked():
            raise Unspecified("approximate value used")
        prog.count(op, ty, vty)
        first = from_item(arr.data[index], ty)
        new = conv(inst.operate(op, first, ty, x, vty), out, ty)
        arr.data[index] = to_item(new, ty)
        region = watch.region
        assert region is not None
        region.stored.append(arr)
        exact = conv(x, vty, ty) if klass(ty) in "fc" else x
        lost = klass(ty) in "fc" and out != ty and conv(exact, ty, out) != conv(x, vty, out)
        region.accumulate(arr, index, first, op, exact, lost)

    return put


def accumulate(
    inst: Instance,
    op: str,
    ty: Array,
    place: Callable[[Frame], tuple[ArrayValue, tuple]],
    vty: str,
    value: Fn,
) -> Fn:
    """``array[key] op= value`` where iterations accumulate in an array."""
    put, prog = adder(inst, op, ty.dtype, vty), inst.prog

    def run(frame: Frame) -> None:
        arr, index = place(frame)
        put(arr, index, value(frame))
        prog.count("prange array " + KINDS[op], ty.dtype)

    return run


def rows(inst: Instance, op: str, view: Fn, value: Fn, ty: Array, vty: Any) -> Fn:
    """``array op= value`` for all elements, where iterations accumulate in an array."""
    elem = vty.dtype if isinstance(vty, Array) else vty
    if klass(ty.dtype) in "fc":
        return float_rows(inst, op, view, value, ty, vty)
    if klass(ty.dtype) not in "i" or klass(elem) not in "bi":
        raise Unspecified("rows of other than numbers are accumulated")

    def run(frame: Frame) -> None:
        region = watch.region
        assert region is not None
        arr, new = view(frame), value(frame)
        inst.prog.count("prange rows " + KINDS[op], ty.dtype)
        region.quiet = True
        try:
            array_ops.inplace(op, arr, ty, new, vty)
        finally:
            region.quiet = False
        for index in np.ndindex(arr.data.shape):
            region.accumulate(arr, index, 0, op, 0, False)

    return run


def float_rows(inst: Instance, op: str, view: Fn, value: Fn, ty: Array, vty: Any) -> Fn:
    """The same for floats, of which the order may show."""
    elem = vty.dtype if isinstance(vty, Array) else vty
    put = adder(inst, op, ty.dtype, elem)

    def run(frame: Frame) -> None:
        arr, new = view(frame), value(frame)
        inst.prog.count("prange rows " + KINDS[op], ty.dtype)
        items = None
        if isinstance(vty, Array):
            try:
                items = np.broadcast_to(new.exact().copy(), arr.data.shape)
            except ValueError:
                raise Raised("ValueError") from None
        if op == "/" and not (np.all(items) if items is not None else new):
            raise Unspecified("rows divided by zero: NumPy does not raise, as loops over numbers do")
        for index in np.ndindex(arr.data.shape):
            put(arr, index, new if items is None else from_item(items[index], elem))

    return run
