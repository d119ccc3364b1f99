"""Arithmetic of the oracle: values of a given type, bit for bit, with nothing but Python and NumPy scalars.

Values: ``bool`` and integers are Python's; ``float64`` is ``float``, ``float32`` is ``np.float32``; a complex number is a
pair of its parts. A value that a named math function made is wrapped in `Approx`: it may be stored and returned (and is
then compared within a few units in the last place), but nothing else may look at it.
"""

from __future__ import annotations

import math
import operator
import struct
from typing import Any

import numpy as np
from rules import INTS, WEAK, IllTyped, Tuple, Unspecified, arith, common, klass, strong, unary

_BITS = {f"{p}{n}": n for p in ("int", "uint") for n in (8, 16, 32, 64)}
I64_MIN, I64_MAX, U64_MAX = -(2**63), 2**63 - 1, 2**64 - 1


ULPS = 4


class Approx:
    """A float that is right to `ULPS` units in the last place only, or within `error` if that is given."""

    __slots__ = ("value", "error")

    def __init__(self, value: Any, error: float | None = None) -> None:
        self.value = value
        self.error = error


class Raised(Exception):
    """The program raised: class name and arguments (None: the message is not compared)."""

    def __init__(self, name: str, args: tuple | None = None) -> None:
        super().__init__(name, args)
        self.name = name
        self.payload = args
        self.left = False  # the function that raised it


class Unknown(Exception):
    """The type of a recursive call is not known yet."""


def zero_division() -> Raised:
    """The exception of a division by zero."""
    return Raised("ZeroDivisionError")


def wrap(value: int, ty: str) -> int:
    """Reduce an integer to the range of `ty`, as two's complement does."""
    bits = _BITS[ty]
    value &= (1 << bits) - 1
    return value - (1 << bits) if ty[0] == "i" and value >> (bits - 1) else value


def int_range(ty: str) -> tuple[int, int]:
    """Smallest and largest value of an integer type."""
    bits = _BITS[ty]
    return (0, (1 << bits) - 1) if ty[0] == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)


def to_f32(value: Any) -> np.float32:
    """Round a Python int or float once to float32."""
    if isinstance(value, int) and not isinstance(value, bool):
        if I64_MIN <= value <= I64_MAX:
            return np.int64(value).astype(np.float32)
        if 0 <= value <= U64_MAX:
            return np.uint64(value).astype(np.float32)
        raise Unspecified("integer beyond 64 bits")
    return np.float32(value)


def _real(value: Any, ty: str) -> Any:
    """A bool, int or float as a float of type `ty`."""
    return float(value) if ty in ("float64", "wfloat", "complex128", "wcomplex") else to_f32(value)


def conv(value: Any, src: str, dst: str) -> Any:
    """Convert a value as C and NumPy's ``astype`` do.

    Parameters
    ----------
    value : object
        A value of type `src`.
    src, dst : str
        Scalar types.

    Returns
    -------
    object
        The value in type `dst`.

    Raises
    ------
    Unspecified
        For a float that does not fit the integer type, and a negative literal in an unsigned type.
    """
    if src == dst:
        return value
    ks, kd = klass(src), klass(dst)
    if isinstance(value, Approx):
        if ks == "f" and kd == "f":
            error = value.error
            if error is not None and dst == "float32" and src != dst:
                error += abs(float(value.value)) * 2.0**-23
            elif (
                error is None and src == "float32" and math.isfinite(value.value)
            ):  # units of the narrow type
                error = ULPS * max(abs(float(value.value)) * 2.0**-23, 2.0**-149)
            return Approx(_real(value.value, dst), error)
        raise Unspecified("approximate value used")
    if ks == "c":
        if kd == "c":
            return (_real(value[0], dst), _real(value[1], dst))
        if dst == "bool":
            return bool(value[0] != 0 or value[1] != 0)
        raise IllTyped("complex to real")
    if kd == "c":
        return (_real(value, dst), _real(0, dst))
    if kd == "f":
        return _real(value, dst)
    if dst == "bool":
        return bool(value != 0)
    if ks == "f":
        return _float_to_int(value, dst)
    if dst == "wint":
        return int(value)
    value = int(value)
    if src == "wint":
        lo, hi = int_range(dst)
        if not lo <= value <= hi:
            raise Unspecified("literal out of the type's range")
    return wrap(value, dst)


def _float_to_int(value: Any, dst: str) -> int:
    if not math.isfinite(value):
        raise Unspecified("nan or inf to int")
    out = math.trunc(float(value))
    lo, hi = int_range(dst)
    if not lo <= out <= hi:
        raise Unspecified("float out of the integer's range")
    return out


def python_int(value: Any) -> int:
    """A float to int64 as Python's ``int`` does."""
    if isinstance(value, Approx):
        raise Unspecified("approximate value used")
    if math.isnan(value):
        raise Raised("ValueError")
    if math.isinf(value) or not I64_MIN <= math.trunc(float(value)) <= I64_MAX:
        raise Raised("OverflowError")
    return math.trunc(float(value))


def truth(value: Any, ty: str) -> bool:
    """Truth of a scalar."""
    return conv(value, ty, "bool")


# --- binary operations ---


def binary(op: str, a: Any, ta: str, b: Any, tb: str, numba: bool = False) -> Any:
    """Value of ``a op b`` in the type that `rules.arith` gives it."""
    ty = arith(op, ta, tb, numba)
    if isinstance(a, Approx) or isinstance(b, Approx):
        raise Unspecified("approximate value used")
    k = klass(ty)
    if op in ("<<", ">>"):
        return _shift(op, conv(a, ta, ty), int(b), ty, numba)
    if op == "**" and k in "bi" and b < 0:
        if tb in WEAK:
            raise Unspecified("negative exponent")
        if not numba:
            raise Raised("ValueError")
        base = conv(a, ta, ty)
        if base == 0:
            raise zero_division()
        return base ** (int(b) & 1) if base in (1, -1) else 0
    if op == "**" and k == "f" and klass(tb) in "bi" and numba:
        raise Unspecified("Numba's float ** int")
    x, y = conv(a, ta, ty), conv(b, tb, ty)
    if k == "b":
        return {"&": x and y, "|": x or y, "^": x != y}[op]
    if k == "i":
        return _int(op, x, y, ty)
    if k == "f":
        return _float(op, x, y, ty)
    return _complex(op, x, y, ty, numba)


def _fit(value: int, ty: str) -> int:
    if ty != "wint":
        return wrap(value, ty)
    if not I64_MIN <= value <= I64_MAX:
        raise Unspecified("literal arithmetic beyond int64")
    return value


def _shift(op: str, x: int, count: int, ty: str, numba: bool) -> int:
    """Counts outside 0..63 push every bit out."""
    if not 0 <= count < 64:
        if numba or ty == "wint":
            raise Unspecified("shift count out of range")
        return -1 if op == ">>" and x < 0 else 0
    return _fit(x << count, ty) if op == "<<" else x >> count


_INT_OPS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}


def _int(op: str, x: int, y: int, ty: str) -> int:
    if op in ("//", "%"):
        if y == 0:
            raise zero_division()
        return _fit(x // y if op == "//" else x % y, ty)
    if op == "**":
        return _fit(x**y, "wint") if ty == "wint" else wrap(pow(x, y, 1 << 64), ty)
    return _fit(_INT_OPS[op](x, y), ty)


def _float(op: str, x: Any, y: Any, ty: str) -> Any:
    if op == "+":
        return x + y
    if op == "-":
        return x - y
    if op == "*":
        return x * y
    if op == "**":
        return _power(x, y, ty)
    if y == 0:
        raise zero_division()
    if op == "/":
        return x / y
    return _floor_div_mod(x, y)[0 if op == "//" else 1]


def _floor_div_mod(x: Any, y: Any) -> tuple[Any, Any]:
    """CPython's float_floor_div and float_rem in the precision of the operands."""
    cast = type(x)
    if math.isinf(x) or math.isnan(x) or math.isnan(y):
        mod = cast(math.nan)
    else:
        mod = cast(math.fmod(float(x), float(y)))
    div = (x - mod) / y
    if mod != 0:
        if (y < 0) != (mod < 0):
            mod = mod + y
            div = div - cast(1)
    else:
        mod = cast(math.copysign(0.0, y))
    if div != 0:
        if not math.isfinite(div):
            return div, mod
        floor = cast(math.floor(div))
        if div - floor > 0.5:
            floor = floor + cast(1)
        return floor, mod
    return cast(math.copysign(0.0, x / y)), mod


def _power(x: Any, y: Any, ty: str) -> Any:
    if x == 0 and y < 0:
        raise Unspecified("0 ** negative")
    try:
        out = math.pow(float(x), float(y))
    except (ValueError, OverflowError):
        raise Unspecified("domain or range of **") from None
    return Approx(_real(out, ty))


def _complex(op: str, x: tuple, y: tuple, ty: str, numba: bool) -> tuple:
    (a, b), (c, d) = x, y
    if op == "+":
        return (a + c, b + d)
    if op == "-":
        return (a - c, b - d)
    if op == "*":
        return (a * c - b * d, a * d + b * c)
    if op == "/" and ty == "complex64" and not numba:
        if c == 0 and d == 0:
            raise zero_division()
        return numpy_quotient(x, y)
    if op == "/":
        return _complex_div(a, b, c, d)
    raise Unspecified("complex **")


def numpy_quotient(x: tuple, y: tuple) -> tuple:
    """NumPy's own quotient of two complex numbers."""
    ty = "complex64" if isinstance(x[0], np.float32) else "complex128"
    with np.errstate(all="ignore"):
        return from_item(np.divide(to_item(x, ty), to_item(y, ty)), ty)


def _complex_div(a: Any, b: Any, c: Any, d: Any) -> tuple:
    """CPython's quotient by Smith's method."""
    if c == 0 and d == 0:
        raise zero_division()
    if abs(c) >= abs(d):
        ratio = d / c
        den = c + d * ratio
        return ((a + b * ratio) / den, (b - a * ratio) / den)
    if abs(d) >= abs(c):
        ratio = c / d
        den = c * ratio + d
        return ((a * ratio + b) / den, (b * ratio - a) / den)
    nan = type(a)(math.nan)
    return (nan, nan)


def negate(op: str, a: Any, ty: str, numba: bool = False) -> Any:
    """Value of ``-a``, ``+a`` or ``~a``."""
    if isinstance(a, Approx):
        raise Unspecified("approximate value used")
    out = unary(op, ty, numba)
    x = conv(a, ty, out)
    if out == "bool":
        return not x
    if klass(out) == "c":
        return (-x[0], -x[1]) if op == "-" else x
    if klass(out) == "f":
        return -x if op == "-" else x
    value = {"-": -x, "+": x, "~": ~x}[op]
    return _fit(
        wrap(value, ty) if ty in INTS else value, out
    )  # in the operand's own type, whatever comes of it


def unchecked(op: str, a: Any, ta: str, b: Any, tb: str) -> Any:
    """``a op b`` with ``error_model="numpy"``, where the plain rules raise for a zero divisor or a negative power."""
    ty = arith(op, ta, tb)
    x, y = conv(a, ta, ty), conv(b, tb, ty)
    kind = klass(ty)
    if op == "**" and kind == "i":
        return 1 if x == 1 else (-1 if int(b) & 1 else 1) if x == -1 else 0
    if op == "**" or kind == "c" or ty in WEAK:
        raise Unspecified("division of complex numbers by zero")
    if kind == "i":
        return 0
    if op == "%":
        return _real(math.nan, ty)
    sign = math.copysign(1.0, float(x)) * math.copysign(1.0, float(y))
    return _real(math.nan if x == 0 or math.isnan(x) else math.copysign(math.inf, sign), ty)


# --- comparisons ---

_COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def compare(op: str, a: Any, ta: str, b: Any, tb: str, numba: bool = False) -> bool:
    """Value of a comparison: integers exactly, all else in the common type."""
    if isinstance(a, Approx) or isinstance(b, Approx):
        raise Unspecified("approximate value used")
    if numba:
        a, b = conv(a, ta, strong(ta)), conv(b, tb, strong(tb))
        ta, tb = strong(ta), strong(tb)
    if klass(ta) in "bi" and klass(tb) in "bi":
        return _COMPARE[op](int(a), int(b))
    ty = arith("+", ta, tb, True) if numba else common(ta, tb)
    x, y = conv(a, ta, ty), conv(b, tb, ty)
    if klass(ty) == "c" and op not in ("==", "!="):
        raise IllTyped("order of complex numbers")
    if klass(ty) == "c":
        return (x[0] == y[0] and x[1] == y[1]) == (op == "==")
    return bool(_COMPARE[op](x, y))


def convert(value: Any, src: Any, dst: Any) -> Any:
    """Convert a scalar or a tuple of them; other values stay as they are."""
    if isinstance(src, Tuple):
        return tuple(convert(v, s, d) for v, s, d in zip(value, src.items, dst.items))
    return conv(value, src, dst) if isinstance(src, str) else value


# --- to and from Python and NumPy ---


def from_python(value: Any) -> tuple[str, Any]:
    """Type and value of an argument."""
    if isinstance(value, np.generic):
        ty = value.dtype.name
        return ty, from_item(value, ty)
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, int):
        if not I64_MIN <= value <= I64_MAX:
            raise Unspecified("argument beyond int64")
        return "int64", value
    if isinstance(value, float):
        return "float64", value
    if isinstance(value, complex):
        return "complex128", (value.real, value.imag)
    raise Unspecified(f"argument of type {type(value).__name__}")


def from_item(item: np.generic, ty: str) -> Any:
    """A NumPy scalar as the oracle's value."""
    if ty == "float32":
        return np.float32(item)
    if ty == "complex64":
        return (np.float32(item.real), np.float32(item.imag))
    out = item.item()
    return (out.real, out.imag) if ty == "complex128" else out


def to_item(value: Any, ty: str) -> np.generic:
    """The oracle's value as a NumPy scalar."""
    if klass(ty) == "c":
        return np.array(value, dtype="float32" if ty == "complex64" else "float64").view(ty)[0]
    return np.dtype(ty).type(value)


def bits_of(value: float) -> int:
    """The bits of a float64 with every NaN made one."""
    return 0x7FF8 << 48 if value != value else struct.unpack("<Q", struct.pack("<d", value))[0]


def is_weak(ty: object) -> bool:
    """True for the type of a literal."""
    return ty in WEAK
