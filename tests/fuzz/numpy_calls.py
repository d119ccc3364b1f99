"""NumPy's elementwise functions as the oracle sees them: NumPy itself, on one-element arrays of the operands' types.

Literals first take the type that the other operands give them. Where NumPy would compute in float16 the rules say
float32. Functions whose values NumPy does not fix to the bit (products of complex numbers, which may be contracted) are
left out.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
from array_ops import build, element, literal_fits
from memory import ArrayValue
from rules import FLOATS, INTS, STRONG, Array, IllTyped, Unspecified, common, klass, strong
from values import Approx, Raised, conv, from_item, to_item

ONE = (
    "negative", "positive", "absolute", "fabs", "sign", "square", "invert", "rint", "floor", "ceil", "trunc",
    "logical_not", "isnan", "isinf", "isfinite", "signbit", "conjugate",
)  # fmt: skip
TWO = (
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "bitwise_and", "bitwise_or", "bitwise_xor",
    "left_shift", "right_shift", "less", "less_equal", "equal", "not_equal", "greater", "greater_equal", "logical_and",
    "logical_or", "logical_xor", "minimum", "maximum", "fmin", "fmax", "fmod", "copysign", "gcd", "lcm", "heaviside",
)  # fmt: skip
INEXACT_COMPLEX = {
    "multiply",
    "square",
    "absolute",
    "sign",
    "minimum",
    "maximum",
    "fmin",
    "fmax",
    "rint",
}
KEEP_INTS = {"floor", "ceil", "trunc"}


@functools.lru_cache(maxsize=None)
def result_type(name: str, types: tuple[str, ...]) -> tuple[str, str | None]:
    """Type of a function's result for strong operand types, and the type that the operands are brought to first, if any.

    Raises
    ------
    IllTyped
        If NumPy refuses the types.
    Unspecified
        If the value is not fixed to the bit.
    """
    if any(klass(t) == "c" for t in types) and name in INEXACT_COMPLEX:
        raise Unspecified(f"np.{name} of complex numbers")
    if name in KEEP_INTS and klass(types[0]) in "bi":
        return types[0], None
    if name in ("gcd", "lcm") and "uint64" in types:
        raise IllTyped(f"np.{name} of uint64 is refused")
    if name == "where":
        ty = common(types[1], types[2])
        return ty, None
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            out = getattr(np, name)(*[np.ones(1, dtype=t) for t in types]).dtype.name
        except TypeError:
            raise IllTyped(f"np.{name} of {types}") from None
    if (
        out == "float16"
        or name in ("copysign", "heaviside", "fabs", "signbit", "rint", "fmod")
        and "f" not in map(klass, types)
    ):
        if out == "bool" or out in INTS:
            return out, None
        return ("float32", "float32") if out in ("float16", "float32") else (out, None)
    return out, None


def operand_types(types: list[str]) -> tuple[str, ...]:
    """Strong types of the operands: a literal takes the one that it would have beside the others."""
    whole = functools.reduce(common, types)
    return tuple(t if t in STRONG else str(strong(common(t, whole))) for t in types)


def apply(name: str, values: list[Any], types: list[str]) -> Any:
    """Value of a function of scalars."""
    if any(isinstance(v, Approx) for v in values):
        raise Unspecified("approximate value used")
    wide = operand_types(types)
    out, work = result_type(name, wide)
    if name in KEEP_INTS and out not in FLOATS:
        return values[0]
    if name == "where":
        pick = 1 if conv(values[0], types[0], "bool") else 2
        return conv(values[pick], types[pick], out)
    doubtful(name, values, types)
    args = [np.array([to_item(conv(v, t, work or w), work or w)]) for v, t, w in zip(values, types, wide)]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        item = getattr(np, name)(*args)[0]
    return from_item(item.astype(out), out)


def doubtful(name: str, values: list[Any], types: list[str]) -> None:
    """Refuse what NumPy's own loops decide one way or the other."""
    kinds = [klass(t) for t in types]
    if name in ("minimum", "maximum", "fmin", "fmax") and "f" in kinds and values[0] == 0 and values[1] == 0:
        raise Unspecified("which zero")
    if name == "copysign" and values[1] != values[1]:
        raise Unspecified("sign of a NaN")
    if name == "signbit" and values[0] != values[0]:
        raise Unspecified("sign of a NaN")
    if name in ("gcd", "lcm") and any(v == -(2**63) or abs(v) >= 2**63 for v in values):
        raise Unspecified(f"np.{name} beyond int64")
    if name == "fmod" and "f" not in kinds and values[1] == 0:
        raise Unspecified("np.fmod of integers by zero")


def call_type(name: str, types: list[Any]) -> Any:
    """Type of a call, with arrays or without."""
    out, _ = result_type(name, operand_types([element(t) for t in types]))
    ndims = [t.ndim for t in types if isinstance(t, Array)]
    return Array(out, max(ndims)) if ndims else out


def call(name: str, values: list[Any], types: list[Any]) -> Any:
    """Value of a call: elementwise over the common shape if there is an array."""
    arrays = [v.exact() for v, t in zip(values, types) if isinstance(t, Array)]
    elems = [element(t) for t in types]
    if not arrays:
        return apply(name, values, elems)
    for value, ty in zip(values, types):
        literal_fits(value, ty, call_type(name, types).dtype)
    try:
        shape = np.broadcast_shapes(*[a.shape for a in arrays])
    except ValueError:
        raise Raised("ValueError") from None
    wide = [np.broadcast_to(v.data, shape) if isinstance(t, Array) else v for v, t in zip(values, types)]
    out = []
    for i in np.ndindex(shape):
        one = [from_item(w[i], e) if isinstance(w, np.ndarray) else w for w, e in zip(wide, elems)]
        out.append(apply(name, one, elems))
    return ArrayValue(build(out, shape, call_type(name, types).dtype), {})


@functools.lru_cache(maxsize=None)
def makers(ty: str) -> list[tuple[str, tuple[str, ...]]]:
    """Functions, with operand types, whose result has type `ty`."""
    found = []
    for name in ONE + TWO + ("where",):
        for a in STRONG:
            for b in STRONG if name not in ONE else ("",):
                types = ("bool", a, b) if name == "where" else (a, b) if b else (a,)
                try:
                    if result_type(name, types)[0] == ty:
                        found.append((name, types))
                except (IllTyped, Unspecified):
                    continue
    return found
