"""Generalised ufuncs of the program: the core runs for every outer index, on views of what the operands hold."""

from __future__ import annotations

import ast
import functools
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import ufuncs
from memory import OPEN, ArrayValue, addresses
from rules import Array, IllTyped, Tuple, Unspecified, is_scalar, promote
from values import Approx, Raised, conv, from_item, to_item

if TYPE_CHECKING:
    from oracle import Frame, Instance, Program

Typed = tuple[Any, Any]
Layout = list[tuple[str, ...]]


def parse(layout: str) -> tuple[Layout, Layout]:
    """``"(m,n),(n)->(m)"`` as axes of the inputs and of the outputs."""
    ins, outs = re.sub(r"\s", "", layout).split("->")
    return tuple(
        [tuple(a for a in axes.split(",") if a) for axes in re.findall(r"\(([^)]*)\)", side)]
        for side in (ins, outs)
    )  # type: ignore[return-value]


class Gufunc:
    """A generalised ufunc of the program."""

    def __init__(
        self, prog: Program, node: ast.FunctionDef, signatures: list[str], layout: str, options: dict
    ) -> None:
        self.prog = prog
        self.name = node.name
        self.layout = layout
        self.ins, self.outs = parse(layout)
        self.nin = len(self.ins)
        self.declared = [tuple(re.findall(r"[a-z]+\d*(?=[\[,)])", s[s.index("(") :])) for s in signatures]
        self.target = options.get("target", "cpu")

    def types(self, given: list[str], outs: list[str]) -> tuple[str, ...]:
        """Element types of all operands for inputs of these types; `outs` of the outputs that are given, if any."""
        if any(not t[-1].isdigit() and t != "bool" for t in given) or any(t.startswith("w") for t in given):
            raise Unspecified("a gufunc of a Python number")
        if not self.declared:
            common = functools.reduce(promote, given)
            if not all(np.can_cast(common, t, "same_kind") for t in outs):
                raise IllTyped("out of another kind")
            return tuple(given) + (tuple(outs) or (common,) * len(self.outs))
        for fits in (ufuncs.exact, ufuncs.as_weak):
            for row in self.declared:
                if all(fits(t, p) for t, p in zip(given, row)):
                    return row
        raise IllTyped("no signature fits")


def split(shape: tuple, axes: tuple[str, ...]) -> tuple[tuple, tuple]:
    """Outer and core part of a shape."""
    if len(shape) < len(axes):
        raise Raised("ValueError")
    at = len(shape) - len(axes)
    return shape[:at], shape[at:]


def call(
    inst: Instance, uf: Gufunc, args: list[Typed], keys: dict[str, Typed], fixed: dict[str, Any]
) -> Typed:
    """``g(x, y)``, with ``out=``, ``axis=`` and ``keepdims=``."""
    if set(keys) - ({"out", "axis", "keepdims"} if inst.kind == "host" else {"out"}) or not uf.nin <= len(
        args
    ) <= uf.nin + len(uf.outs):
        raise IllTyped("arguments of a gufunc")
    given = list(args[uf.nin :]) + ([keys["out"]] if "out" in keys else [])
    if given and (len(given) != len(uf.outs) or not all(isinstance(t, Array) for t, _ in given)):
        raise IllTyped("out of a gufunc")
    ins = args[: uf.nin]
    if not all(is_scalar(t) or isinstance(t, Array) for t, _ in ins):
        raise IllTyped("operand of a gufunc")
    types = uf.types([ufuncs.element(t) for t, _ in ins], [t.dtype for t, _ in given])
    layouts = uf.ins + uf.outs
    params = tuple(
        Array(t, max(1, len(axes))) if axes or k >= uf.nin else t
        for k, (t, axes) in enumerate(zip(types, layouts))
    )
    core = uf.prog.instance(uf.name, params)
    if not all(np.can_cast(t, g.dtype, "same_kind") for t, (g, _) in zip(types[uf.nin :], given)):
        raise IllTyped("out of another kind")
    ndims = [t.ndim if isinstance(t, Array) else 0 for t, _ in ins]
    if any(n < len(axes) for n, axes in zip(ndims, uf.ins)):
        raise IllTyped("too few axes")
    axis, keep = fixed.get("axis", -1) if "axis" in keys else -1, bool(fixed.get("keepdims"))
    names = {a for axes in layouts for a in axes}
    if ("axis" in keys or keep) and (len(names) != 1 or max(map(len, layouts)) > 1 or keep and any(uf.outs)):
        raise IllTyped("axis of a gufunc")
    outer = max(n - len(axes) for n, axes in zip(ndims, uf.ins))
    results = [outer + (1 if keep else len(axes)) for axes in uf.outs]
    made = [Array(t, n) if n else t for t, n in zip(types[uf.nin :], results)]
    tys = [t for t, _ in given] or made
    prog = inst.prog

    def run(frame: Frame) -> Any:
        values = [fn(frame) for _, fn in ins]
        outs = [fn(frame) for _, fn in given]
        if any(
            np.may_share_memory(o.data, v.data) for o in outs for v in values if isinstance(v, ArrayValue)
        ):
            raise Unspecified(
                "a gufunc into one of its inputs"
            )  # NumPy copies none that is the output itself
        ufuncs.note(
            prog, uf, "gufunc" if inst.kind == "host" else "compiled", values, outs[0] if outs else None
        )
        prog.count("gufunc", uf.layout)
        got = compute(uf, core, values, [t for t, _ in ins], types, outs, axis, keep)
        return got if len(got) > 1 else got[0]

    return tys[0] if len(tys) == 1 else Tuple(tuple(tys)), run


def moved(data: np.ndarray, axes: tuple[str, ...], axis: int) -> np.ndarray:
    """The operand with its core axis last."""
    if not axes or axis == -1:
        return data
    if not -data.ndim <= axis < data.ndim:
        raise Unspecified("axis out of range")
    return np.moveaxis(data, axis, -1)


def compute(
    uf: Gufunc, core: Instance, values: list[Any], given: list[Any], types: tuple[str, ...], outs: list[ArrayValue],
    axis: int, keep: bool,
) -> list[Any]:  # fmt: skip
    """All outer indices."""
    ins, sizes, loops = [], {a: int(a) for axes in uf.ins + uf.outs for a in axes if a.isdigit()}, []
    for v, t, axes in zip(values, given, uf.ins):
        if isinstance(v, Approx):
            raise Unspecified("approximate value used")
        data = (
            moved(v.exact().copy(), axes, axis) if isinstance(v, ArrayValue) else np.array(to_item(v, str(t)))
        )
        loop, own = split(data.shape, axes)
        loops.append(loop)
        for a, n in zip(axes, own):
            if sizes.setdefault(a, n) != n:
                raise Raised("ValueError")
        ins.append(data)
    if not all(o.data.flags.writeable for o in outs):
        raise Unspecified("read-only output")
    targets = [moved(o.data, axes or (("n",) if keep else ()), axis) for o, axes in zip(outs, uf.outs)]
    for o, axes in zip(targets, uf.outs):
        loops.append(split(o.shape, axes)[0] if not keep else o.shape[:-1])
    try:
        loop = np.broadcast_shapes(*loops)
    except ValueError:
        raise Raised("ValueError") from None
    shapes = [loop + tuple(sizes[a] for a in axes) + ((1,) if keep else ()) for axes in uf.outs]
    if any(o.shape != s for o, s in zip(targets, shapes)):
        raise Unspecified("an output of another shape, which NumPy may take all the same")
    results = [
        ArrayValue(np.zeros(s[:-1] if keep else s, dtype=t), {}) for s, t in zip(shapes, types[uf.nin :])
    ]
    for r in results:  # NumPy clears none; what the core does not store to is whatever lay there
        r.marks.update((at, OPEN) for at in addresses(r.data))
    wide = [
        np.broadcast_to(converted(d, ufuncs.element(t), to), loop + split(d.shape, axes)[1])
        for d, t, to, axes in zip(ins, given, types, uf.ins)
    ]
    outcome = ufuncs.Outcome()
    for index in np.ndindex(loop):
        operands: list[Any] = [
            ArrayValue(w[index], {}) if axes else from_item(w[index], t)
            for w, axes, t in zip(wide, uf.ins, types)
        ]
        for r, axes in zip(results, uf.outs):
            operands.append(ArrayValue(r.data[index] if axes else r.data[index + (None,)], r.marks))
        core.prog.in_ufunc += 1
        try:
            outcome.take(lambda: core.run(operands))
        finally:
            core.prog.in_ufunc -= 1
    outcome.end(*outs)
    if any(error == OPEN for r in results for error in r.marks.values()):
        raise Unspecified("an output that the core does not fill")
    made = []
    for k, r in enumerate(results):
        whole = ArrayValue(r.data[..., None] if keep else r.data, r.marks)
        if outs:
            items = elements(whole, types[uf.nin + k])
            ufuncs.store(ArrayValue(targets[k], outs[k].marks), items, types[uf.nin + k])
            made.append(outs[k])
        elif keep or uf.outs[k]:
            back = axis if axis != -1 else -1
            made.append(ArrayValue(np.moveaxis(whole.data, -1, back), whole.marks))
        else:
            made.append(whole if whole.data.ndim else elements(whole, types[uf.nin + k])[()])
    return made


def converted(data: np.ndarray, src: str, dst: str) -> np.ndarray:
    """The operand in the type of the loop."""
    if src == dst:
        return data
    out = np.empty(data.shape, dtype=dst)
    for i in np.ndindex(data.shape):
        out[i] = to_item(conv(from_item(data[i], src), src, dst), dst)
    return out


def elements(arr: ArrayValue, ty: str) -> dict[tuple, Any]:
    """All elements, approximate ones as such."""
    places = np.array(addresses(arr.data), dtype=np.int64).reshape(arr.data.shape)
    out: dict[tuple, Any] = {}
    for i in np.ndindex(arr.data.shape):
        value, at = from_item(arr.data[i], ty), int(places[i])
        out[i] = Approx(value, arr.marks[at]) if at in arr.marks else value
    return out
