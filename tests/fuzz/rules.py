"""Typing rules of Treadle (docs/semantics.md) and of Numba, as plain functions on type names.

A scalar type is its NumPy name (``"int8"`` ... ``"complex128"``, ``"bool"``). Three more stand for literals and frozen
Python scalars inside one expression: ``"wint"``, ``"wfloat"`` and ``"wcomplex"`` (weak types). Arrays and tuples are
the two small classes below. This module is the oracle's own statement of the rules: nothing in it is read from the
compiler.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTS = SIGNED + UNSIGNED
FLOATS = ("float32", "float64")
COMPLEXES = ("complex64", "complex128")
STRONG = ("bool",) + INTS + FLOATS + COMPLEXES
WEAK = ("wint", "wfloat", "wcomplex")
SCALARS = STRONG + WEAK
STRONG_OF = {"wint": "int64", "wfloat": "float64", "wcomplex": "complex128"}

ARITH = ("+", "-", "*")
DIVS = ("//", "%")
BITS = ("&", "|", "^")
SHIFTS = ("<<", ">>")
BINOPS = ARITH + ("/",) + DIVS + ("**",) + BITS + SHIFTS
COMPARES = ("<", "<=", ">", ">=", "==", "!=")

_RANK = {"b": 0, "i": 1, "f": 2, "c": 3}


@dataclass(frozen=True)
class Array:
    """Type of an array: element type and number of dimensions (the layout never changes a value)."""

    dtype: str
    ndim: int


@dataclass(frozen=True)
class Tuple:
    """Type of a tuple."""

    items: tuple


@dataclass(frozen=True)
class Const:
    """Type of something known at compile time: a string, a dtype, None."""

    value: object


@dataclass(frozen=True)
class Function:
    """Type of a function of the program as a value."""

    name: str


@dataclass(frozen=True)
class Dtype:
    """Type of a dtype as a value: ``np.float32``."""

    name: str


NONE = Const(None)


class Unspecified(Exception):
    """The program does something that the rules leave open: it is not a test of anything."""


class IllTyped(Exception):
    """The program has an operation that the rules refuse."""


def klass(ty: str) -> str:
    """One letter for the kind of a scalar: b, i (signed, unsigned or weak int), f, c."""
    if ty == "bool":
        return "b"
    if ty in INTS or ty == "wint":
        return "i"
    return "c" if "complex" in ty else "f"


def is_scalar(ty: object) -> bool:
    """True for the name of a scalar type, weak ones included."""
    return isinstance(ty, str)


def strong(ty: object) -> object:
    """The type that a value has once it passes a block argument, a call or a return."""
    if isinstance(ty, Tuple):
        return Tuple(tuple(strong(t) for t in ty.items))
    return STRONG_OF.get(ty, ty) if isinstance(ty, str) else ty


@functools.lru_cache(maxsize=None)
def promote(a: str, b: str) -> str:
    """NumPy's promotion of two strong scalar types."""
    return np.promote_types(a, b).name


def _mixed(a: str, b: str) -> str:
    """Common type of two scalars of which one at least is weak."""
    if a in WEAK and b in WEAK:
        return a if _RANK[klass(a)] >= _RANK[klass(b)] else b
    weak, other = (a, b) if a in WEAK else (b, a)
    kw, ko = klass(weak), klass(other)
    if _RANK[kw] <= _RANK[ko]:
        return other
    if kw == "c" and other == "float32":
        return "complex64"
    return STRONG_OF[weak]


@functools.lru_cache(maxsize=None)
def common(a: str, b: str) -> str:
    """Common type of two scalars as NumPy 2 has it, weak ones included."""
    return _mixed(a, b) if a in WEAK or b in WEAK else promote(a, b)


def _int_result(a: str, b: str) -> str:
    """Integers compute in at least intp; unsigned only when both sides are (or one is a literal)."""
    if a in WEAK and b in WEAK:
        return "wint"
    unsigned = all(t in UNSIGNED or t == "wint" for t in (a, b))
    return "uint64" if unsigned else "int64"


@functools.lru_cache(maxsize=None)
def arith(op: str, a: str, b: str, numba: bool = False) -> str:
    """Result type of a binary operation on scalars.

    Parameters
    ----------
    op : str
        The operator as written in Python.
    a, b : str
        Types of the operands.
    numba : bool
        Use Numba's rules: no weak types, and its choice of float width.

    Returns
    -------
    str
        The type, which is weak when both operands are.
    """
    if numba:
        return _arith_numba(op, str(strong(a)), str(strong(b)))
    ka, kb = klass(a), klass(b)
    if "c" in (ka, kb) and op in DIVS + BITS + SHIFTS:
        raise IllTyped(f"{a} {op} {b}")
    if op in BITS + SHIFTS:
        if "f" in (ka, kb):
            raise IllTyped(f"{a} {op} {b}")
        if op in SHIFTS:
            return "wint" if (a, b) == ("wint", "wint") else "uint64" if a in UNSIGNED else "int64"
        return "bool" if (a, b) == ("bool", "bool") else _int_result(a, b)
    if ka in "bi" and kb in "bi":
        if op == "/":
            return "wfloat" if (a, b) == ("wint", "wint") else "float64"
        return _int_result(a, b)
    return common(a, b)


def _arith_numba(op: str, a: str, b: str) -> str:
    ka, kb = klass(a), klass(b)
    if "c" in (ka, kb) and op in DIVS + BITS + SHIFTS or "f" in (ka, kb) and op in BITS + SHIFTS:
        raise IllTyped(f"{a} {op} {b}")
    if ka in "bi" and kb in "bi":
        if op == "/":
            return "float64"
        if op in SHIFTS:
            return "uint64" if a in UNSIGNED else "int64"
        if op in BITS and (a, b) == ("bool", "bool"):
            return "bool"
        return "uint64" if a in UNSIGNED and b in UNSIGNED else "int64"
    if op == "**" and kb in "bi" and ka == "f":
        return a
    wide = tuple("float64" if t == "uint16" else t for t in (a, b))
    return promote(*wide)


def join(a: object, b: object, numba: bool = False) -> object:
    """Type of a block argument (a variable where control flow meets) fed with `a` and `b`."""
    a, b = strong(a), strong(b)
    if a == b:
        return a
    if isinstance(a, Tuple) and isinstance(b, Tuple) and len(a.items) == len(b.items):
        return Tuple(tuple(join(x, y, numba) for x, y in zip(a.items, b.items)))
    if isinstance(a, str) and isinstance(b, str):
        if not numba and klass(a) in "bi" and klass(b) in "bi" and promote(a, b) == "float64":
            raise Unspecified(f"{a} meets {b}")
        return promote(a, b)
    raise IllTyped(f"{a} meets {b}")


def unary(op: str, a: str, numba: bool = False) -> str:
    """Result type of ``-a``, ``+a`` or ``~a``."""
    if numba:
        a = str(strong(a))
    k = klass(a)
    if op == "~" and k in "fc":
        raise IllTyped(f"~{a}")
    if a == "bool":
        return a if op == "~" else "int64"
    if not numba or k in "fc":
        return a
    return "uint64" if a in UNSIGNED else "int64"
