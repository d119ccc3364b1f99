"""Types of compiled code, by name: ``int8`` ... ``complex128``, ``boolean``, ``void``, ``intp``, ``f8``, ``i4`` ...

``float32[:]`` is an array type (any layout), ``float32[:, ::1]`` one in C order, ``float32[::1, :]`` in Fortran order.
``float64(int32, int32)`` is a signature. ``int8(3.7)`` converts a value, as NumPy does.
"""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import Signature, Type, as_type, signature, typeof

_scalars: dict[str, Type] = _core._type_names()
globals().update(_scalars)

__all__ = [
    "Array",
    "CPointer",
    "DictType",
    "List",
    "ListType",
    "NamedTuple",
    "Optional",
    "Set",
    "SetType",
    "Signature",
    "Tuple",
    "Type",
    "UniTuple",
    "as_type",
    "optional",
    "signature",
    "typeof",
    *_scalars,
]


def Array(dtype: Any, ndim: int, layout: str, readonly: bool = False) -> Type:
    """Array type.

    Parameters
    ----------
    dtype
        Item type: a scalar type, a record or a date, its name, or a dtype.
    ndim
        Number of axes, 0 to 32.
    layout
        ``'C'``, ``'F'`` or ``'A'`` (any).
    readonly
        Code compiled for it may not store into the array.

    Returns
    -------
    Type

    Raises
    ------
    TypeError
        ``dtype`` is not a type.
    ValueError
        Arrays have no such items, number of axes or layout.

    Examples
    --------
    >>> treadle.types.Array(treadle.float32, 2, "C") is treadle.float32[:, ::1]
    True
    """
    return _core._array_type(dtype, ndim, layout, readonly)


def CPointer(dtype: Any) -> Type:
    """A pointer among the arguments of `treadle.cuda.declare_device`: the type of the arrays that may be given there.

    Parameters
    ----------
    dtype : type
        What it points to.

    Returns
    -------
    Type
        An array type of one axis, in C order; arrays of any number of axes whose items lie one after another are taken.
    """
    return Array(dtype, 1, "C")


def Tuple(types: Any) -> Type:
    """Tuple type.

    Parameters
    ----------
    types : sequence of types
        Of the items.

    Returns
    -------
    Type
    """
    return as_type(tuple(types))


def UniTuple(dtype: Any, count: int) -> Type:
    """Tuple type whose items are of one type.

    Parameters
    ----------
    dtype : type
    count : int
        How many items.

    Returns
    -------
    Type
    """
    return as_type((as_type(dtype),) * count)


def NamedTuple(types: Any, cls: type) -> Type:
    """Type of a named tuple.

    Parameters
    ----------
    types : sequence of types
        Of the items.
    cls : type
        Its class.

    Returns
    -------
    Type
    """
    return _core._named_tuple_type(tuple(types), cls)


def List(dtype: Any, reflected: bool = False) -> Type:
    """Type of a list.

    Parameters
    ----------
    dtype : type
        Of the items.
    reflected : bool
        As Numba has it; whether Python sees what a function changes follows from the function.

    Returns
    -------
    Type

    Raises
    ------
    TypeError
        ``dtype`` is no type of a list's items.

    Examples
    --------
    >>> treadle.types.List(treadle.int64)
    list(int64)
    """
    return as_type(f"List({as_type(dtype)!r})")


def ListType(dtype: Any) -> Type:
    """Type of a `treadle.typed.List`, which is that of a list: the same code takes both.

    Parameters
    ----------
    dtype : type
        Of the items.

    Returns
    -------
    Type

    Raises
    ------
    TypeError
        ``dtype`` is no type of a list's items.
    """
    return List(dtype)


def Optional(dtype: Any) -> Type:
    """Type of what is None, or of that type. A parameter that is declared so takes both.

    Parameters
    ----------
    dtype : type
        Of what is not None.

    Returns
    -------
    Type

    Raises
    ------
    TypeError
        ``dtype`` has no such form.

    Examples
    --------
    >>> treadle.types.Optional(treadle.float64)
    optional(float64)
    """
    return as_type(f"optional({as_type(dtype)!r})")


#: Numba's other name for it.
optional = Optional


def DictType(keyty: Any, valty: Any) -> Type:
    """Type of a dict, and of a `treadle.typed.Dict`: the same code takes both.

    Parameters
    ----------
    keyty : type
        Of the keys: a number's, ``str``, or a pair of integers. Integers but uint64 are int64, floats float64.
    valty : type
        Of the values: what a list's items may be.

    Returns
    -------
    Type

    Raises
    ------
    TypeError
        There are no such keys, or values.

    Examples
    --------
    >>> treadle.types.DictType(treadle.types.unicode_type, treadle.float64)
    dict(str, float64)
    """
    return as_type(f"dict({as_type(keyty)!r}, {as_type(valty)!r})")


def SetType(dtype: Any) -> Type:
    """Type of a set, and of a `treadle.typed.Set`: the same code takes both.

    Parameters
    ----------
    dtype : type
        Of the items: what a dict's keys may be.

    Returns
    -------
    Type

    Raises
    ------
    TypeError
        There are no such items.
    """
    return as_type(f"set({as_type(dtype)!r})")


def Set(dtype: Any, reflected: bool = False) -> Type:
    """Type of a set, as Numba has it: `SetType`.

    Parameters
    ----------
    dtype : type
        Of the items.
    reflected : bool
        Whether Python sees what a function changes follows from the function.

    Returns
    -------
    Type

    Raises
    ------
    TypeError
        There are no such items.
    """
    return SetType(dtype)
