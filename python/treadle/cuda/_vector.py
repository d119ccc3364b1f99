"""Short vectors of numbers, CUDA's ``float4`` and its kin, in kernels and on the host.

A vector is a named tuple of ``x``, ``y``, ``z`` and ``w``, as many as it has numbers. It is made of numbers and of shorter vectors, which follow one another:
``float4(float2(1, 2), 3, 4)``; each becomes its dtype, as ``astype`` has it. Compiled code makes them in infer/calls.c, which asks the class for
``_vector_``.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .. import types
from . import _VECTORS

__all__ = [
    "int8x1",
    "char1",
    "int8x2",
    "char2",
    "int8x3",
    "char3",
    "int8x4",
    "char4",
    "int16x1",
    "short1",
    "int16x2",
    "short2",
    "int16x3",
    "short3",
    "int16x4",
    "short4",
    "int32x1",
    "int1",
    "int32x2",
    "int2",
    "int32x3",
    "int3",
    "int32x4",
    "int4",
    "int64x1",
    "long1",
    "longlong1",
    "int64x2",
    "long2",
    "longlong2",
    "int64x3",
    "long3",
    "longlong3",
    "int64x4",
    "long4",
    "longlong4",
    "uint8x1",
    "uchar1",
    "uint8x2",
    "uchar2",
    "uint8x3",
    "uchar3",
    "uint8x4",
    "uchar4",
    "uint16x1",
    "ushort1",
    "uint16x2",
    "ushort2",
    "uint16x3",
    "ushort3",
    "uint16x4",
    "ushort4",
    "uint32x1",
    "uint1",
    "uint32x2",
    "uint2",
    "uint32x3",
    "uint3",
    "uint32x4",
    "uint4",
    "uint64x1",
    "ulong1",
    "ulonglong1",
    "uint64x2",
    "ulong2",
    "ulonglong2",
    "uint64x3",
    "ulong3",
    "ulonglong3",
    "uint64x4",
    "ulong4",
    "ulonglong4",
    "float32x1",
    "float1",
    "float32x2",
    "float2",
    "float32x3",
    "float3",
    "float32x4",
    "float4",
    "float64x1",
    "double1",
    "float64x2",
    "double2",
    "float64x3",
    "double3",
    "float64x4",
    "double4",
]

_FIELDS = tuple(("x", "y", "z", "w")[:n] for n in (1, 2, 3, 4))


if TYPE_CHECKING:

    class _Vector1(tuple[Any, ...]):
        def __new__(cls, *parts: Any) -> Self: ...
        @property
        def x(self) -> Any: ...

    class _Vector2(_Vector1):
        @property
        def y(self) -> Any: ...

    class _Vector3(_Vector2):
        @property
        def z(self) -> Any: ...

    class _Vector4(_Vector3):
        @property
        def w(self) -> Any: ...


def _new(cls: Any, *parts: Any) -> Any:
    flat: list[Any] = []
    for part in parts:
        flat += [_number(cls, x) for x in (part if getattr(part, "_fields", ()) in _FIELDS else [part])]
    n = len(cls._fields)
    if len(flat) != n:
        raise TypeError(
            f"{cls.__name__}() takes {n} number{'s' if n > 1 else ''}, alone or in vectors, and not {len(flat)}"
        )
    return tuple.__new__(cls, flat)


def _number(cls: Any, x: Any) -> Any:
    given = np.asarray(x)
    if given.shape or given.dtype.kind not in "biuf":
        raise TypeError(f"{cls.__name__}() takes numbers and vectors of them, not {x!r}")
    return given.astype(str(cls._vector_))[()]


def _text(self: Any) -> str:
    return f"{type(self).__name__}({', '.join(f'{n}={x!s}' for n, x in zip(self._fields, self))})"


def _class(dtype: str, n: int) -> Any:
    """A class of its own, as `collections.namedtuple` makes them: compiled code knows these by what they are derived from."""
    name = f"{dtype}x{n}"
    own = {
        "__slots__": (),
        "__module__": __name__,
        "__doc__": f"A vector of {n} {dtype}.",
        "__new__": _new,
        "__getnewargs__": lambda self: tuple(self),
        "__repr__": _text,
        "_fields": _FIELDS[n - 1],
        "_vector_": getattr(types, dtype),
        "aliases": tuple(f"{other}{n}" for other in _VECTORS[dtype].split()),
    }
    own |= {field: property(itemgetter(k)) for k, field in enumerate(_FIELDS[n - 1])}
    return type(name, (tuple,), own)


def _one(dtype: str) -> type[_Vector1]:
    return _class(dtype, 1)


def _two(dtype: str) -> type[_Vector2]:
    return _class(dtype, 2)


def _three(dtype: str) -> type[_Vector3]:
    return _class(dtype, 3)


def _four(dtype: str) -> type[_Vector4]:
    return _class(dtype, 4)


int8x1 = char1 = _one("int8")
int8x2 = char2 = _two("int8")
int8x3 = char3 = _three("int8")
int8x4 = char4 = _four("int8")
int16x1 = short1 = _one("int16")
int16x2 = short2 = _two("int16")
int16x3 = short3 = _three("int16")
int16x4 = short4 = _four("int16")
int32x1 = int1 = _one("int32")
int32x2 = int2 = _two("int32")
int32x3 = int3 = _three("int32")
int32x4 = int4 = _four("int32")
int64x1 = long1 = longlong1 = _one("int64")
int64x2 = long2 = longlong2 = _two("int64")
int64x3 = long3 = longlong3 = _three("int64")
int64x4 = long4 = longlong4 = _four("int64")
uint8x1 = uchar1 = _one("uint8")
uint8x2 = uchar2 = _two("uint8")
uint8x3 = uchar3 = _three("uint8")
uint8x4 = uchar4 = _four("uint8")
uint16x1 = ushort1 = _one("uint16")
uint16x2 = ushort2 = _two("uint16")
uint16x3 = ushort3 = _three("uint16")
uint16x4 = ushort4 = _four("uint16")
uint32x1 = uint1 = _one("uint32")
uint32x2 = uint2 = _two("uint32")
uint32x3 = uint3 = _three("uint32")
uint32x4 = uint4 = _four("uint32")
uint64x1 = ulong1 = ulonglong1 = _one("uint64")
uint64x2 = ulong2 = ulonglong2 = _two("uint64")
uint64x3 = ulong3 = ulonglong3 = _three("uint64")
uint64x4 = ulong4 = ulonglong4 = _four("uint64")
float32x1 = float1 = _one("float32")
float32x2 = float2 = _two("float32")
float32x3 = float3 = _three("float32")
float32x4 = float4 = _four("float32")
float64x1 = double1 = _one("float64")
float64x2 = double2 = _two("float64")
float64x3 = double3 = _three("float64")
float64x4 = double4 = _four("float64")
