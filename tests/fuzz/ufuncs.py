"""Ufuncs of the program as docs/ufuncs.md has them: which types a call computes with, calls, and reduce and its kin.

A ufunc may be called by plain Python (a function under ``@host``) and in compiled code. Values are worked out element by element, in no
particular order: where two elements raise different exceptions, or an output is left half written, the result is open.
"""

from __future__ import annotations

import ast
import functools
import itertools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import gufuncs
import numpy as np
from memory import OPEN, ArrayValue, addresses
from rules import WEAK, Array, Const, IllTyped, Tuple, Unspecified, is_scalar, klass, promote, strong
from values import Approx, Raised, conv, from_item, to_item

if TYPE_CHECKING:
    from oracle import Env, Fn, Frame, Instance, Program

Typed = tuple[Any, "Fn"]
METHODS = ("__call__", "reduce", "accumulate", "reduceat", "outer", "at")
NARROW = ("float32", "complex64")


def made(prog: Program, node: ast.FunctionDef) -> Ufunc | gufuncs.Gufunc | None:
    """What ``@vectorize`` or ``@guvectorize`` makes of a function; None under another decorator."""
    if not node.decorator_list:
        return None
    top = node.decorator_list[0]
    name = (top.func if isinstance(top, ast.Call) else top).id  # type: ignore[attr-defined]
    args = [ast.literal_eval(a) for a in top.args] if isinstance(top, ast.Call) else []
    options = {k.arg: ast.literal_eval(k.value) for k in top.keywords} if isinstance(top, ast.Call) else {}
    if name == "vectorize":
        return Ufunc(prog, node, args[0] if args else [], options)
    if name == "guvectorize":
        return gufuncs.Gufunc(prog, node, args[0] if len(args) > 1 else [], args[-1], options)
    return None


def parse(signature: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """``"float32(int8, bool)"`` as types of the inputs and of the results; several stand in ``Tuple((...))``."""
    outs, ins = re.fullmatch(r"(?:Tuple\(\()?([\w, ]+?)(?:\)\))?\((.*)\)", signature).groups()  # type: ignore[union-attr]
    return tuple(t.strip() for t in ins.split(",")), tuple(t.strip() for t in outs.split(","))


class Plan:
    """How one combination of input types is computed."""

    def __init__(self, params: tuple[str, ...], inst: Instance, outs: tuple[str, ...]) -> None:
        self.params = params
        self.inst = inst
        self.outs = outs

    def one(self, values: tuple, types: tuple[str, ...]) -> tuple:
        """The results for one element of each input."""
        self.inst.prog.tick()  # outer of outer has many elements, and its function may count nothing
        self.inst.prog.in_ufunc += 1
        try:
            got = self.inst.run([conv(v, t, p) for v, t, p in zip(values, types, self.params)])
        finally:
            self.inst.prog.in_ufunc -= 1
        rets = self.inst.ret.items if isinstance(self.inst.ret, Tuple) else (self.inst.ret,)
        vals = got if isinstance(self.inst.ret, Tuple) else (got,)
        return tuple(conv(v, r, o) for v, r, o in zip(vals, rets, self.outs))


class Ufunc:
    """A ufunc of the program."""

    def __init__(self, prog: Program, node: ast.FunctionDef, signatures: list[str], options: dict) -> None:
        self.prog = prog
        self.name = node.name
        self.nin = len(node.args.args)
        self.declared = [parse(s) for s in signatures]
        self.identity = options.get("identity")
        self.target = options.get("target", "cpu")

    def plan(self, types: tuple[str, ...]) -> Plan:
        """The loop for inputs of these element types, weak ones included."""
        return self.declared_plan(types) if self.declared else self.lazy_plan(types)

    def lazy_plan(self, types: tuple[str, ...]) -> Plan:
        """One loop for each combination of types."""
        known = [t for t in types if t not in WEAK]
        common = functools.reduce(promote, known) if known else None
        params = tuple(beside(t, common) for t in types)
        inst = self.prog.instance(self.name, params)
        items = inst.ret.items if isinstance(inst.ret, Tuple) else (inst.ret,)
        if len(items) != 1 or not is_scalar(items[0]):
            raise IllTyped("a ufunc without signatures returns a number")
        return Plan(params, inst, tuple(str(strong(t)) for t in items))

    def declared_plan(self, types: tuple[str, ...]) -> Plan:
        """The exact signature, or the first that all inputs convert to safely."""
        for fits in (exact, as_strong, as_weak):
            if fits is as_strong and not all(t in WEAK for t in types):
                continue
            for params, outs in self.declared:
                if all(fits(t, p) for t, p in zip(types, params)):
                    inst = self.prog.instance(self.name, params)
                    rets = inst.ret.items if isinstance(inst.ret, Tuple) else (inst.ret,)
                    if len(rets) != len(outs) or any(
                        klass(r) == "c" and klass(o) != "c" for r, o in zip(rets, outs)
                    ):
                        raise IllTyped("result of a declared ufunc")
                    return Plan(params, inst, outs)
        raise IllTyped("no signature fits")

    def fits_strong(self, types: tuple[str, ...]) -> bool:
        """True if a signature takes the numbers as NumPy stores them."""
        return any(all(as_strong(t, p) for t, p in zip(types, params)) for params, _ in self.declared)

    def reduction(self, ty: str) -> Plan:
        """The loop that a reduction of elements of type `ty` runs: it maps one type to itself."""
        for _ in range(4):
            plan = self.plan((ty, ty))
            if plan.outs == (ty,) and plan.params == (ty, ty):
                return plan
            if self.declared:
                raise Unspecified("reduction by a declared ufunc that converts")
            ty = plan.outs[0]
        raise IllTyped("a reduction that never closes")


def beside(ty: str, common: str | None) -> str:
    """The type that an input has beside others whose common type is given."""
    if ty not in WEAK:
        return ty
    if ty == "wint":
        return "int64" if common is None else "wint"
    if ty == "wfloat":
        return "float32" if common in NARROW else "float64"
    return "complex64" if common in NARROW else "complex128"


def exact(ty: str, param: str) -> bool:
    """The input has the declared type."""
    return ty == param


def as_strong(ty: str, param: str) -> bool:
    """The input converts safely, Python numbers as NumPy stores them."""
    return promote(str(strong(ty)), param) == param


def as_weak(ty: str, param: str) -> bool:
    """The input converts safely; a Python number by its kind alone."""
    if ty not in WEAK:
        return promote(ty, param) == param
    return param != "bool" and "bifc".index(klass(param)) >= "bifc".index(klass(ty))


def element(ty: Any) -> str:
    """Element type of an operand."""
    if isinstance(ty, Array):
        return ty.dtype
    if not is_scalar(ty):
        raise IllTyped("operand of a ufunc")
    return str(ty)


# --- calls ---


def call(inst: Instance, uf: Any, method: str, node: ast.Call, env: Env) -> Typed:
    """A call of a ufunc, or of one of its methods."""
    host = inst.kind == "host"
    args = [inst.expr(a, env) for a in node.args]
    keys = {str(k.arg): inst.expr(k.value, env) for k in node.keywords}
    constants = {str(k.arg): constant(k.value) for k in node.keywords}
    if isinstance(uf, gufuncs.Gufunc):
        if method != "__call__":
            raise IllTyped("method of a generalised ufunc")
        return gufuncs.call(inst, uf, args, keys, constants)
    if method == "__call__":
        return plain(inst, uf, args, keys)
    if not host or uf.nin not in (1, 2) or uf.nin == 1 and method != "at":
        raise IllTyped(f"method {method}")
    work = {"reduce": reduce, "accumulate": accumulate, "reduceat": reduceat, "outer": outer, "at": at}[
        method
    ]
    return work(inst, uf, args, keys, constants)


def constant(node: ast.expr) -> Any:
    """The value of a literal keyword; None for others."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def plain(inst: Instance, uf: Ufunc, args: list[Typed], keys: dict[str, Typed]) -> Typed:
    """``u(x, y)`` with ``out`` and, from Python, ``where``."""
    host = inst.kind == "host"
    if set(keys) - ({"out", "where"} if host else {"out"}):
        raise IllTyped("keyword of a ufunc")
    outs = list(args[uf.nin :])
    if "out" in keys and outs or len(args) < uf.nin:
        raise IllTyped("operands of a ufunc")
    if "out" in keys:
        outs = [keys["out"]]
    ins = args[: uf.nin]
    plan = uf.plan(tuple(element(t) for t, _ in ins))
    if outs and (len(outs) != 1 or len(plan.outs) != 1 or not isinstance(outs[0][0], Array)):
        raise IllTyped("out of a ufunc")
    if outs and not np.can_cast(plan.outs[0], outs[0][0].dtype, "same_kind"):
        raise IllTyped("out of another kind")
    mask = keys.get("where")
    if mask and (
        not outs or not (mask[0] == "bool" or isinstance(mask[0], Array) and mask[0].dtype == "bool")
    ):
        raise IllTyped("where of a ufunc")
    ndim = max(t.ndim if isinstance(t, Array) else 0 for t, _ in [*ins, *([mask] if mask else [])])
    if not host and any(isinstance(t, Array) and t.ndim == 0 for t, _ in ins):
        raise Unspecified("a ufunc of an array without axes in compiled code")
    made = tuple(Array(t, ndim) if ndim else t for t in plan.outs)
    ty = outs[0][0] if outs else made[0] if len(made) == 1 else Tuple(made)
    prog, types = inst.prog, tuple(t for t, _ in ins)

    def run(frame: Frame) -> Any:
        if mask and uf.declared and all(t in WEAK for t in types) and not uf.fits_strong(types):  # type: ignore
            raise Unspecified("Python numbers alone, by their kind, through NumPy")
        values = [fn(frame) for _, fn in ins]
        out = outs[0][1](frame) if outs else None
        where = mask[1](frame) if mask else None
        note(prog, uf, "__call__" if host else "compiled", values, out, where)
        return compute(plan, values, types, out, where)

    return ty, run


def note(prog: Program, uf: Any, method: str, values: list[Any], out: Any = None, where: Any = None) -> None:
    """Count a call for the coverage."""
    prog.count("ufunc " + method, uf.target)
    arrays = [v for v in values if isinstance(v, ArrayValue)]
    for v in arrays:
        prog.count("ufunc in", layout(v.data))
    if isinstance(out, ArrayValue):
        prog.count("ufunc out", layout(out.data))
        if any(np.may_share_memory(out.data, v.data) for v in arrays):
            prog.count("ufunc out", "overlapping")
    if where is not None:
        prog.count("ufunc where", layout(where.data) if isinstance(where, ArrayValue) else "scalar")


LAYOUTS = ("0-d", "empty", "swapped", "unaligned", "repeating", "C", "F", "reversed", "strided")


def layout(data: np.ndarray) -> str:
    """What is special about an array's memory: the first of `LAYOUTS` that holds."""
    if data.ndim == 0:
        return "0-d"
    if data.size == 0:
        return "empty"
    if not data.dtype.isnative:
        return "swapped"
    if not data.flags.aligned:
        return "unaligned"
    if any(s == 0 and n > 1 for s, n in zip(data.strides, data.shape)):
        return "repeating"
    if data.flags.c_contiguous:
        return "C"
    if data.flags.f_contiguous:
        return "F"
    return "reversed" if any(s < 0 for s in data.strides) else "strided"


class Outcome:
    """Results or exceptions of elements that are computed in any order."""

    def __init__(self) -> None:
        self.raised: Raised | None = None

    def take(self, work: Callable[[], Any]) -> Any:
        """The value of one element; None if it raised."""
        try:
            return work()
        except Raised as err:
            before = self.raised
            if before is not None and (before.name, before.payload) != (err.name, err.payload):
                raise Unspecified("elements raise different exceptions") from None
            self.raised = err
            return None

    def end(self, *outs: ArrayValue | None) -> None:
        """Raise what an element raised; what was stored until then is open."""
        if self.raised is not None:
            for out in outs:
                if out is not None:
                    out.marks.update((at, OPEN) for at in addresses(out.data))
            raise self.raised


def operand(value: Any, ty: Any, shape: tuple) -> Callable[[tuple], Any]:
    """Gives the element of an operand at an index of the common shape."""
    if not isinstance(ty, Array):
        if isinstance(value, Approx):
            raise Unspecified("approximate value used")
        return lambda index: value
    wide = np.broadcast_to(value.exact().copy(), shape)
    return lambda index: from_item(wide[index], ty.dtype)


def common_shape(arrays: list[Any], out: ArrayValue | None) -> tuple:
    """The shape that all operands broadcast to; `out` is never stretched."""
    try:
        shape = np.broadcast_shapes(*[a.data.shape for a in arrays if isinstance(a, ArrayValue)])
        whole = shape if out is None else np.broadcast_shapes(shape, out.data.shape)
    except ValueError:
        raise Raised("ValueError") from None
    if out is not None and not out.data.flags.writeable:
        raise Unspecified("read-only output")
    if out is not None and whole != out.data.shape:
        raise Raised("ValueError")
    return whole


def compute(plan: Plan, values: list[Any], types: tuple, out: ArrayValue | None, where: Any) -> Any:
    """All elements of a call."""
    for v, t, p in zip(values, types, plan.params):
        if is_scalar(t):
            conv(v, t, p)  # a number that does not fit is refused, even where there are no elements
    shape = common_shape([*values, where], out)
    gets = [operand(v, t, shape) for v, t in zip(values, types)]
    masked = where is not None and where is not True
    if out is not None and masked and plan.outs[0] != out.data.dtype.name:
        if any(isinstance(v, ArrayValue) and np.may_share_memory(v.data, out.data) for v in values):
            raise Unspecified(
                "a masked result is converted over its own operand: NumPy converts all of it and back"
            )
    mask = np.broadcast_to(
        where.exact() if isinstance(where, ArrayValue) else where is not False, shape
    ).copy()
    elems = tuple(element(t) for t in types)
    outcome = Outcome()
    items: dict[tuple, Any] = {}
    for index in np.ndindex(shape):
        if mask[index]:
            items[index] = outcome.take(lambda: plan.one(tuple(g(index) for g in gets), elems))
    outcome.end(out)
    if out is not None:
        store(out, {i: v[0] for i, v in items.items()}, plan.outs[0])
        return out
    if not shape:
        got = items[()]
        return got if len(got) > 1 else got[0]
    made = tuple(fresh(shape, ty, {i: v[k] for i, v in items.items()}) for k, ty in enumerate(plan.outs))
    return made if len(made) > 1 else made[0]


def fresh(shape: tuple, ty: str, items: dict[tuple, Any]) -> ArrayValue:
    """A new array of these elements."""
    out = ArrayValue(np.zeros(shape, dtype=ty), {})
    store(out, items, ty)
    return out


def store(out: ArrayValue, items: dict[tuple, Any], ty: str) -> None:
    """Put results where they belong, converted to the type of the array."""
    data, dt = out.data, out.data.dtype.name
    places = np.array(addresses(data), dtype=np.int64).reshape(data.shape)
    out.writable("ufunc into")
    for index, value in items.items():
        value = conv(value, ty, dt)
        if isinstance(value, Approx):
            out.marks[int(places[index])] = value.error
            value = value.value
        data[index] = to_item(value, dt)


# --- reduce and its kin ---


def array_of(args: list[Typed]) -> tuple[Array, Fn]:
    """The first argument, which must be an array."""
    if not args or not isinstance(args[0][0], Array):
        raise IllTyped("reduction of a scalar")
    return args[0][0], args[0][1]


def axis_of(value: Any, ndim: int) -> tuple[int, ...]:
    """Axes as non-negative numbers."""
    axes = tuple(range(ndim)) if value is None else value if isinstance(value, tuple) else (value,)
    if not all(-ndim <= a < ndim for a in axes) or len({a % ndim for a in axes}) != len(axes):
        raise IllTyped("axis")
    return tuple(sorted(a % ndim for a in axes))


def fold(plan: Plan, acc: Any, items: list[Any], ty: str) -> Any:
    """From left to right."""
    for x in items:
        acc = plan.one((acc, x), (ty, ty))[0]
    return acc


def reduce(
    inst: Instance, uf: Ufunc, args: list[Typed], keys: dict[str, Typed], fixed: dict[str, Any]
) -> Typed:
    """``u.reduce(a, axis=, keepdims=, initial=)``."""
    arr, get = array_of(args)
    if len(args) != 1 or set(keys) - {"axis", "keepdims", "initial", "out"} or not arr.ndim:
        raise IllTyped("arguments of reduce")
    axes = axis_of(fixed.get("axis", 0) if "axis" in keys else 0, arr.ndim)
    plan = uf.reduction(arr.dtype)
    if len(axes) > 1 and uf.identity is None:
        raise IllTyped("several axes")
    ty, keep = plan.outs[0], bool(fixed.get("keepdims"))
    start = keys.get("initial")
    start_type = str(start[0]) if start else "wint"
    if start and (not is_scalar(start[0]) or "bifc".index(klass(start_type)) > "bifc".index(klass(ty))):
        raise IllTyped("initial")
    ndim = arr.ndim if keep else arr.ndim - len(axes)
    out = keys.get("out")
    if out and (not isinstance(out[0], Array) or out[0].ndim != ndim or out[0].dtype != ty):
        raise IllTyped("out of reduce")
    prog = inst.prog

    def run(frame: Frame) -> Any:
        value = get(frame)
        into = out[1](frame) if out else None
        data = value.exact().copy()
        note(prog, uf, "reduce", [value], into)
        first = conv(start[1](frame), start_type, ty) if start else None
        if first is None and isinstance(uf.identity, (int, float)):
            first = conv(uf.identity, "wint", ty)
        shape = tuple(1 if k in axes else n for k, n in enumerate(data.shape))
        if out and into.data.shape != (
            shape if keep else tuple(n for k, n in enumerate(shape) if k not in axes)
        ):
            raise Unspecified("out of another shape")
        if first is None and any(data.shape[k] == 0 for k in axes):
            raise Raised("ValueError")
        outcome, items = Outcome(), {}
        for index in np.ndindex(shape):
            block = data[tuple(slice(None) if k in axes else i for k, i in enumerate(index))]

            def folded(order: Any) -> Any:
                xs = [conv(from_item(v, arr.dtype), arr.dtype, ty) for v in block.ravel(order)]
                return fold(plan, *((first, xs) if first is not None else (xs[0], xs[1:])), ty)

            where = index if keep else tuple(i for k, i in enumerate(index) if k not in axes)
            items[where] = outcome.take(lambda: folded("C"))
            other = outcome.take(lambda: folded("F")) if len(axes) > 1 else items[where]
            if not isinstance(other, Approx) and repr(other) != repr(items[where]):
                raise Unspecified("the order of several axes")
        outcome.end(into)
        if into is not None:
            store(into, items, ty)
            return into
        return (
            fresh(tuple(n for k, n in enumerate(shape) if keep or k not in axes), ty, items)
            if ndim
            else items[()]
        )

    return out[0] if out else Array(ty, ndim) if ndim else ty, run


def lines(data: np.ndarray, axis: int) -> list[tuple]:
    """Indices of all lines along an axis."""
    shape = tuple(1 if k == axis else n for k, n in enumerate(data.shape))
    return [
        tuple(slice(None) if k == axis else i for k, i in enumerate(index)) for index in np.ndindex(shape)
    ]


def accumulate(
    inst: Instance, uf: Ufunc, args: list[Typed], keys: dict[str, Typed], fixed: dict[str, Any]
) -> Typed:
    """``u.accumulate(a, axis=, out=)``."""
    arr, get = array_of(args)
    if len(args) != 1 or set(keys) - {"axis", "out"} or not arr.ndim:
        raise IllTyped("arguments of accumulate")
    (axis,) = axis_of(fixed.get("axis", 0), arr.ndim)
    plan = uf.reduction(arr.dtype)
    ty, out = plan.outs[0], keys.get("out")
    if out and out[0] != Array(ty, arr.ndim):
        raise IllTyped("out of accumulate")
    prog = inst.prog

    def run(frame: Frame) -> Any:
        value, into = get(frame), out[1](frame) if out else None
        data = value.exact().copy()
        note(prog, uf, "accumulate", [value], into)
        if into is not None and into.data.shape != data.shape:
            raise Unspecified("out of another shape")
        outcome, items = Outcome(), {}
        for key in lines(data, axis):
            xs = [conv(from_item(v, arr.dtype), arr.dtype, ty) for v in data[key]]
            got = outcome.take(
                lambda: list(itertools.accumulate(xs, lambda a, x: plan.one((a, x), (ty, ty))[0]))
            )
            for k, v in enumerate(got or []):
                items[tuple(k if isinstance(i, slice) else i for i in key)] = v
        outcome.end(into)
        if into is not None:
            store(into, items, ty)
            return into
        return fresh(data.shape, ty, items)

    return Array(ty, arr.ndim), run


def reduceat(
    inst: Instance, uf: Ufunc, args: list[Typed], keys: dict[str, Typed], fixed: dict[str, Any]
) -> Typed:
    """``u.reduceat(a, indices, axis=)``."""
    arr, get = array_of(args)
    if len(args) != 2 or set(keys) - {"axis"} or not arr.ndim or not isinstance(args[1][0], Tuple):
        raise IllTyped("arguments of reduceat")
    (axis,) = axis_of(fixed.get("axis", 0), arr.ndim)
    plan = uf.reduction(arr.dtype)
    ty, prog = plan.outs[0], inst.prog

    def run(frame: Frame) -> Any:
        value, at = get(frame), args[1][1](frame)
        data = value.exact().copy()
        note(prog, uf, "reduceat", [value])
        n = data.shape[axis]
        if any(not 0 <= i < n for i in at):
            raise Raised("IndexError")
        ends = [j if j > i else i + 1 for i, j in zip(at, [*at[1:], n])]
        outcome, items = Outcome(), {}
        for key in lines(data, axis):
            xs = [conv(from_item(v, arr.dtype), arr.dtype, ty) for v in data[key]]
            for k, (i, j) in enumerate(zip(at, ends)):
                place = tuple(k if isinstance(c, slice) else c for c in key)
                items[place] = outcome.take(lambda: fold(plan, xs[i], xs[i + 1 : j], ty))
        outcome.end()
        return fresh(tuple(len(at) if k == axis else m for k, m in enumerate(data.shape)), ty, items)

    return Array(ty, arr.ndim), run


def outer(
    inst: Instance, uf: Ufunc, args: list[Typed], keys: dict[str, Typed], fixed: dict[str, Any]
) -> Typed:
    """``u.outer(a, b)``."""
    if len(args) != 2 or keys or not all(isinstance(t, Array) for t, _ in args):
        raise IllTyped("arguments of outer")
    types = tuple(t for t, _ in args)
    plan = uf.plan(tuple(element(t) for t in types))
    if len(plan.outs) != 1:
        raise IllTyped("outer of several results")
    ndim, prog = types[0].ndim + types[1].ndim, inst.prog

    def run(frame: Frame) -> Any:
        a, b = (fn(frame) for _, fn in args)
        note(prog, uf, "outer", [a, b])
        wide = ArrayValue(a.data.reshape(a.data.shape + (1,) * b.data.ndim), a.marks)
        return compute(plan, [wide, b], types, None, None)

    return Array(plan.outs[0], ndim) if ndim else plan.outs[0], run


def at(inst: Instance, uf: Ufunc, args: list[Typed], keys: dict[str, Typed], fixed: dict[str, Any]) -> Typed:
    """``u.at(a, indices, b)``: one after the other."""
    arr, get = array_of(args)
    if keys or len(args) != uf.nin + 1 or arr.ndim != 1 or not isinstance(args[1][0], Tuple):
        raise IllTyped("arguments of at")
    other = args[2] if uf.nin == 2 else None
    types = (arr.dtype, element(other[0])) if other else (arr.dtype,)
    if any(t in WEAK for t in types):
        raise Unspecified("at with a Python number")
    plan = uf.plan(types)
    if len(plan.outs) != 1 or klass(plan.outs[0]) == "c" and klass(arr.dtype) != "c":
        raise IllTyped("at of another kind")  # all else NumPy converts, kind or not
    prog = inst.prog

    def run(frame: Frame) -> None:
        value, places = get(frame), args[1][1](frame)
        data = value.exact()
        given = other[1](frame) if other else None
        note(prog, uf, "at", [value, given])
        if other and np.may_share_memory(data, given.data if isinstance(given, ArrayValue) else np.empty(0)):
            raise Unspecified("at of an array by itself")
        n = data.shape[0]
        bad = any(not -n <= i < n for i in places)
        if bad and not data.flags.writeable:
            raise Unspecified("which of two errors")
        if bad:
            raise Raised("IndexError")
        take = operand(given, other[0], (len(places),)) if other else None
        outcome = Outcome()
        for k, i in enumerate(places):
            x = from_item(data[i], arr.dtype)
            new = outcome.take(lambda: plan.one((x, take((k,))) if take else (x,), types))
            if new is None:
                break
            store(ArrayValue(data[i % n : i % n + 1], value.marks), {(0,): new[0]}, plan.outs[0])
        outcome.end(value)
        return None

    return Const(None), run
