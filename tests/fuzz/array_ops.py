"""Operators between arrays, and between arrays and scalars: NumPy's rules, element by element, and nothing raises."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from memory import ArrayValue
from rules import INTS, Array, IllTyped, Unspecified, common, klass
from values import Approx, Raised, compare, conv, from_item, int_range, numpy_quotient, to_item, wrap
from values import binary as scalar_binary


def element(ty: Any) -> str:
    """Element type of an array, or the scalar's own type."""
    return ty.dtype if isinstance(ty, Array) else ty


def binary_type(op: str, a: Any, b: Any) -> tuple[Array, str]:
    """Type of ``a op b`` with an array on at least one side, and the type that it is computed in."""
    ea, eb = element(a), element(b)
    work = common(ea, eb)
    kind = klass(work)
    if op == "**" or op == "/" and kind == "c":
        raise Unspecified(f"{op} of arrays")
    if kind == "b" and op not in ("&", "|", "^"):
        raise Unspecified("arithmetic of bool arrays")
    if op in ("&", "|", "^", "<<", ">>") and kind in "fc" or op in ("//", "%") and kind == "c":
        raise IllTyped(f"{ea} {op} {eb}")
    if op == "/" and kind == "i":
        work = "float64"
    return Array(work, max(t.ndim for t in (a, b) if isinstance(t, Array))), work


def operands(a: Any, ta: Any, b: Any, tb: Any) -> tuple[list, list, tuple]:
    """Both sides as lists of values over the common shape."""
    sides = []
    for value, ty in ((a, ta), (b, tb)):
        if isinstance(ty, Array):
            sides.append(value.exact())
        elif isinstance(value, Approx):
            raise Unspecified("approximate value used")
        else:
            sides.append(None)
    try:
        shape = np.broadcast_shapes(*[s.shape for s in sides if s is not None])
    except ValueError:
        raise Raised("ValueError") from None
    lists = []
    for side, value, ty in zip(sides, (a, b), (ta, tb)):
        if side is None:
            lists.append([value] * math.prod(shape))
        else:
            wide = np.broadcast_to(side, shape)
            lists.append([from_item(wide[i], ty.dtype) for i in np.ndindex(shape)])
    return lists[0], lists[1], shape


def build(items: list, shape: tuple, ty: str) -> np.ndarray:
    """An array of values."""
    out = np.empty(shape, dtype=ty)
    for i, item in zip(np.ndindex(shape), items):
        out[i] = to_item(item, ty)
    return out


def one(op: str, x: Any, y: Any, ty: str) -> Any:
    """One element: both operands have type `ty` already."""
    kind = klass(ty)
    if op in ("/", "//", "%") and kind in "if" and y == 0:
        if kind == "i":
            return 0
        if op == "%":
            return _real(math.nan, ty)
        sign = math.copysign(1.0, float(x)) * math.copysign(1.0, float(y))
        return _real(math.nan if x == 0 or math.isnan(x) else math.copysign(math.inf, sign), ty)
    if op == "/" and kind == "c":
        return numpy_quotient(x, y)
    if op in ("<<", ">>"):
        if not 0 <= y < 64:
            return -1 if op == ">>" and x < 0 else 0
        return wrap(x << y, ty) if op == "<<" else x >> y
    if kind == "i":
        wide = "uint64" if ty.startswith("u") else "int64"
        return wrap(scalar_binary(op, x, wide, y, wide), ty)
    return scalar_binary(op, x, ty, y, ty)


def _real(value: float, ty: str) -> Any:
    return np.float32(value) if ty == "float32" else value


def literal_fits(value: Any, ty: Any, work: str) -> None:
    """A literal integer that the arrays' type does not hold is an error, and when it is raised is left open."""
    if ty == "wint" and work in INTS and not int_range(work)[0] <= value <= int_range(work)[1]:
        raise Unspecified("literal out of range")


def binary(op: str, a: Any, ta: Any, b: Any, tb: Any) -> np.ndarray:
    """Value of ``a op b``."""
    _, work = binary_type(op, ta, tb)
    literal_fits(a, ta, work)
    literal_fits(b, tb, work)
    xs, ys, shape = operands(a, ta, b, tb)
    ea, eb = element(ta), element(tb)
    return build([one(op, conv(x, ea, work), conv(y, eb, work), work) for x, y in zip(xs, ys)], shape, work)


def inplace(op: str, a: ArrayValue, ta: Array, b: Any, tb: Any) -> None:
    """``a op= b``: the result is converted to the array's own type."""
    _, work = binary_type(op, ta, tb)
    literal_fits(b, tb, work)
    order = "bifc"
    if order.index(klass(work)) > order.index(klass(ta.dtype)):
        raise IllTyped("in-place operation does not fit the array")
    xs, ys, shape = operands(a, ta, b, tb)
    if shape != a.data.shape:
        raise Raised("ValueError")
    eb = element(tb)
    items = [one(op, conv(x, ta.dtype, work), conv(y, eb, work), work) for x, y in zip(xs, ys)]
    a.writable("in-place operation on")[...] = build(
        [conv(v, work, ta.dtype) for v in items], shape, ta.dtype
    )


def compare_arrays(op: str, a: Any, ta: Any, b: Any, tb: Any) -> np.ndarray:
    """``a < b`` and its kind: an array of bool."""
    xs, ys, shape = operands(a, ta, b, tb)
    ea, eb = element(ta), element(tb)
    if "c" in (klass(ea), klass(eb)) and op not in ("==", "!="):
        raise IllTyped("order of complex numbers")
    return build([compare(op, x, ea, y, eb) for x, y in zip(xs, ys)], shape, "bool")


def check_unary(op: str, ty: Array) -> None:
    kind = klass(ty.dtype)
    if op == "~" and kind in "fc" or op != "~" and kind == "b":
        raise IllTyped(f"{op} of an array of {ty.dtype}")


def unary(op: str, a: ArrayValue) -> np.ndarray:
    """``-a``, ``+a``, ``~a``: the element type stays."""
    with np.errstate(all="ignore"):
        return {"-": np.negative, "+": np.positive, "~": np.invert}[op](a.exact())
