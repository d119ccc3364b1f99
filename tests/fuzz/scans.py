"""Running sums and their kin, and what ``np.add.at`` and its kin do to an array: NumPy's values, computed by NumPy or one by one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy_calls
from array_ops import element, literal_fits
from memory import ArrayValue, store_array, watch
from rules import INTS, NONE, Array, Dtype, IllTyped, Tuple, Unspecified, is_scalar, klass
from values import Approx, Raised, conv, from_item, to_item

if TYPE_CHECKING:
    from oracle import Env, Fn, Frame, Instance

SUMS = {"cumsum": "add", "cumprod": "multiply"}
SCANS = ("add", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "logical_and", "logical_or")
BLOCK, GROUP = 1 << 14, 8  # of floats: how sums are associated; beyond a block products are in another way

Typed = tuple[Any, "Fn"]


def method(inst: Instance, name: str, what: str, node: ast.Call, env: Env) -> Typed:
    """``np.name.accumulate(...)`` and ``np.name.at(...)``."""
    if what == "at":
        return at(inst, name, node, env)
    if what != "accumulate" or name not in SCANS:
        raise IllTyped(f"np.{name}.{what}")
    return running(inst, name, inst.expr(node.args[0], env), node, env, 0)


# --- scans ---


def running(inst: Instance, name: str, arg: Typed, node: ast.Call, env: Env, axis: int | None) -> Typed:
    """A scan by a ufunc; its other arguments are given by name."""
    given = {k.arg: k.value for k in node.keywords}
    ty, fn = arg
    if not isinstance(ty, Array) or len(node.args) != 1 or given.keys() - {"axis", "dtype", "out"}:
        raise IllTyped("arguments of a scan")
    if "axis" in given:
        axis = ast.literal_eval(given["axis"])
    if axis is not None and not -ty.ndim <= axis < ty.ndim:
        raise Unspecified("an axis that there is not")
    dtype = result(name, ty.dtype)
    if "dtype" in given:
        wanted, _ = inst.expr(given["dtype"], env)
        if not isinstance(wanted, Dtype) or "bifc".index(klass(wanted.name)) < "bifc".index(klass(dtype)):
            raise Unspecified("dtype of a scan")
        dtype = wanted.name
        if result(name, dtype) != dtype:
            raise Unspecified("dtype of a scan")
    if name == "multiply" and klass(dtype) == "c":
        raise Unspecified("products of complex numbers")
    ndim = 1 if axis is None else ty.ndim
    out = inst.expr(given["out"], env) if "out" in given else None
    if out is not None and out[0] != Array(dtype, ndim):
        raise Unspecified("out of another type")
    return Array(dtype, ndim), scan_run(
        inst, name, fn, axis, Array(dtype, ndim), None if out is None else out[1]
    )


def result(name: str, dtype: str) -> str:
    """Element type of a scan of an array."""
    try:
        return getattr(np, name).accumulate(np.ones(1, dtype)).dtype.name
    except TypeError:
        raise IllTyped(f"np.{name}.accumulate of {dtype}") from None


def scan_run(inst: Instance, name: str, fn: Fn, axis: int | None, ty: Array, out: Fn | None) -> Fn:
    """The closure of a scan."""
    prog = inst.prog
    how = "out" if out is not None else "flat" if axis is None else f"axis of {ty.ndim}"

    def run(frame: Frame) -> ArrayValue:
        value = fn(frame)
        place = out(frame) if out is not None else None
        made = ArrayValue(scanned(name, value.exact(), axis, ty.dtype), {})
        prog.count("scan", name, ty.dtype)
        prog.count("scan", how)
        if made.data.size > BLOCK:
            prog.count("scan", "of several blocks")
        if place is None:
            return made
        if place.data.shape != made.data.shape:
            raise Raised("ValueError")
        prog.count("scan", "in place" if np.may_share_memory(place.data, value.data) else "out")
        store_array(place, made)
        return place

    return run


def scanned(name: str, data: np.ndarray, axis: int | None, dtype: str) -> np.ndarray:
    """The scan of an array."""
    if axis is None:
        data, axis = data.ravel(), 0
    if klass(dtype) in "fc" and name == "multiply" and data.shape and data.shape[axis] > BLOCK:
        raise Unspecified("long products of floats")
    if name in ("maximum", "minimum") and klass(dtype) == "f" and np.signbit(data[data == 0]).any():
        raise Unspecified("which zero")
    if name in ("maximum", "minimum") and klass(dtype) == "c":
        raise Unspecified("order of complex numbers")
    data = data.astype(dtype) if dtype != "bool" else data
    with np.errstate(all="ignore"):
        if name == "add" and klass(dtype) in "fc":
            return by_groups(data, axis)
        return getattr(np, name).accumulate(data, axis=axis).astype(dtype)


def by_groups(data: np.ndarray, axis: int) -> np.ndarray:
    """Sums of floats: a group of elements in a tree, groups one after the other in a block, and blocks."""
    out = np.empty_like(data)
    items, sums = np.moveaxis(data, axis, 0), np.moveaxis(out, axis, 0)
    left, total, before = {}, None, None
    for i in range(len(items)):
        value = items[i]
        half = 1
        while half < GROUP:
            if i & half:
                value = left[half] + value
            else:
                left[half] = value
            half *= 2
        if i % BLOCK >= GROUP:
            value = total + value
        if i % GROUP == GROUP - 1:
            total = value
        if i >= BLOCK:
            value = before + value
        if i % BLOCK == BLOCK - 1:
            before = value
        sums[i] = value
    return out


# --- at ---


def at(inst: Instance, name: str, node: ast.Call, env: Env) -> Typed:
    """``np.name.at(array, index, value)``: one element after the other."""
    if node.keywords or len(node.args) != 3:
        raise IllTyped("arguments of at")
    (ta, fa), (ti, fi), (tv, fv) = [inst.expr(a, env) for a in node.args]
    indices = list(ti.items) if isinstance(ti, Tuple) else [ti]
    good = all(isinstance(t, Array) and t.dtype in INTS and t.ndim == 1 for t in indices)
    if not isinstance(ta, Array) or not good or len(indices) > ta.ndim:
        raise IllTyped("arguments of at")
    if not is_scalar(tv) and not isinstance(tv, Array):
        raise IllTyped("value of at")
    out = numpy_calls.call_type(name, [ta.dtype, element(tv)])
    if "bifc".index(klass(out)) > "bifc".index(klass(ta.dtype)) or klass(ta.dtype) == "b" and out != "bool":
        raise IllTyped("at does not fit the array")
    if isinstance(tv, Array) and tv.ndim > ta.ndim - len(indices) + 1:
        raise IllTyped("values of too many axes")
    prog = inst.prog
    collects = inst.region is not None and getattr(node.args[0], "id", "") in inst.region.arrays

    def run(frame: Frame) -> None:
        arr, index, value = fa(frame), fi(frame), fv(frame)
        prog.count("scatter", f"np.{name}.at", "array" if isinstance(tv, Array) else "number")
        if watch.region is not None and not collects:
            raise Unspecified("at in a loop over a prange")
        literal_fits(value, tv, ta.dtype)
        put(name, arr, index if isinstance(ti, Tuple) else (index,), value, tv, out, collects)
        if collects:
            prog.count("scatter", f"np.{name}.at", "in prange")

    return NONE, run


def put(
    name: str, arr: ArrayValue, indices: tuple, value: Any, tv: Any, out: str, collects: bool = False
) -> None:
    """Each element in turn; `collects`: an array that the loop over a prange around accumulates into."""
    shape, ty = arr.data.shape, arr.data.dtype.name
    places = [i.exact().astype(np.int64).copy() for i in indices]
    if len({len(p) for p in places}) > 1:
        raise Unspecified("indices of several lengths")
    bad = any(not -n <= k < n for p, n in zip(places, shape) for k in p)
    whole = (len(places[0]), *shape[len(places) :])
    items, fits = None, True
    if isinstance(tv, Array):
        src = value.exact().copy()
        try:
            fits = np.broadcast_shapes(src.shape, whole) == whole
        except ValueError:
            fits = False
        items = np.broadcast_to(src, whole) if fits else None
    if bad and not fits:
        raise Unspecified("which of two errors")
    if bad or not fits:
        raise Raised("IndexError" if bad else "ValueError")
    collects = collects and watch.region is not None
    if collects and klass(ty) in "fc" and out != ty:
        raise Unspecified("accumulation that converts")
    if collects and (isinstance(value, Approx) or arr.marked()):
        raise Unspecified("approximate value used")
    data = arr.data if collects else arr.writable("at of")
    for k in np.ndindex(whole):
        place = (*(int(p[k[0]]) for p in places), *k[1:])
        x = value if items is None else from_item(items[k], tv.dtype)
        first = from_item(data[place], ty)
        new = numpy_calls.apply(name, [first, x], [ty, element(tv)])
        data[place] = to_item(conv(new, out, ty), ty)
        if collects and watch.region is not None:
            exact = conv(x, element(tv), ty) if klass(ty) in "fc" else x
            watch.region.stored.append(arr)
            watch.region.accumulate(arr, place, first, {"multiply": "*"}.get(name, "+"), exact, False)
