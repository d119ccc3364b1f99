"""Classes of ``numba.types`` as `treadle.run` offers them: libraries derive from them and ask what a type is an instance of.

Treadle's types are of one class, `_core.Type`. A class here tells by a look at one whether Numba would have it among its own, so
``isinstance(typeof(x), types.Array)`` is as in Numba. What a library derives is its own, and none of Treadle's types is one.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from . import _core, types
from ._standin import Missing

__all__ = ["CLASSES", "DOMAINS", "NUMPY_VERSION"]

NUMPY_VERSION = tuple(map(int, np.__version__.split(".")[:2]))

_INTEGERS = tuple(getattr(types, f"{u}int{n}") for u in ("", "u") for n in (8, 16, 32, 64))
_FLOATS = (types.float16, types.float32, types.float64)  # type: ignore[attr-defined]
_COMPLEX = (types.complex64, types.complex128)  # type: ignore[attr-defined]


class _Class(type):
    """Their class: knows instances by `_holds`, and makes types by `_make` where Numba's class does."""

    _holds: Callable[[_core.Type], bool]

    def __instancecheck__(cls, x: Any) -> bool:
        holds = cls.__dict__.get("_holds")  # its own: a class derived from it has none
        return bool(holds and isinstance(x, _core.Type) and holds(x)) or type.__instancecheck__(cls, x)

    def __call__(cls, *args: Any, **options: Any) -> Any:
        make = cls.__dict__.get("_make")
        return make(*args, **options) if make else super().__call__(*args, **options)


class Type(metaclass=_Class):
    """What a library's own types are derived from."""

    _holds = lambda t: True  # noqa: E731

    def __init__(self, name: str = "", *args: Any, **options: Any) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name or type(self).__name__


def _class(name: str, base: type, holds: Any = None, make: Any = None) -> type:
    return _Class(name, (base,), {"_holds": holds, "_make": make, "__module__": "numba.types"})


def _composed(make: Callable[..., Any]) -> Callable[..., Any]:
    """Types made of others, which may be such as Treadle lacks."""

    def made(*args: Any, **options: Any) -> Any:
        inside = args + tuple(args[0]) if args and isinstance(args[0], (tuple, list)) else args
        return next((a for a in inside if isinstance(a, Missing)), None) or make(*args, **options)

    return made


def _items(t: _core.Type) -> tuple[Any, ...] | None:
    """Types of a tuple type's items; None of what is no tuple, or has none."""
    return tuple(t.types) or None


def _is_array(t: _core.Type) -> bool:
    return getattr(t, "layout", None) is not None


def _is_uniform(t: _core.Type) -> bool:
    items = _items(t)
    return items is not None and len(set(items)) == 1


def _is_mixed(t: _core.Type) -> bool:
    items = _items(t)
    return items is not None and len(set(items)) != 1


def _is_list(t: _core.Type) -> bool:
    return repr(t).startswith("list(")


def _is_dict(t: _core.Type) -> bool:
    return repr(t).startswith("dict(")


def _is_set(t: _core.Type) -> bool:
    return repr(t).startswith("set(")


_hashable = _class("Hashable", Type)
_number = _class("Number", _hashable, lambda t: t in _INTEGERS + _FLOATS + _COMPLEX)
_opaque = _class("Opaque", Type)
_dummy = _class("Dummy", Type)
_buffer = _class("Buffer", Type, _is_array)
_base_tuple = _class("BaseTuple", _hashable, lambda t: _items(t) is not None)

#: By name; each is derived from the one that Numba derives it from.
CLASSES: dict[str, type] = {
    "Type": Type,
    "Hashable": _hashable,
    "Number": _number,
    "Integer": _class("Integer", _number, lambda t: t in _INTEGERS),
    "Float": _class("Float", _number, lambda t: t in _FLOATS),
    "Complex": _class("Complex", _number, lambda t: t in _COMPLEX),
    "Boolean": _class("Boolean", _hashable, lambda t: t == types.boolean),  # type: ignore[attr-defined]
    "Opaque": _opaque,
    "NoneType": _class("NoneType", _opaque, lambda t: t == types.void),  # type: ignore[attr-defined]
    "Dummy": _dummy,
    "Callable": _class("Callable", Type),
    "Iterable": _class("Iterable", Type),
    "SimpleIterableType": _class("SimpleIterableType", Type),
    "IterableType": _class("IterableType", Type),
    "IteratorType": _class("IteratorType", Type),
    "SimpleIteratorType": _class("SimpleIteratorType", Type),
    "MutableSequence": _class("MutableSequence", Type, _is_list),
    "List": _class("List", Type, _is_list, _composed(types.List)),
    "ListType": _class("ListType", Type, _is_list, _composed(types.ListType)),
    "DictType": _class("DictType", Type, _is_dict, _composed(types.DictType)),
    "Set": _class("Set", Type, _is_set, _composed(types.Set)),
    "SetType": _class("SetType", Type, _is_set, _composed(types.SetType)),
    "Sequence": _class("Sequence", Type),
    "Buffer": _buffer,
    "ArrayCompatible": _class("ArrayCompatible", Type, _is_array),
    "Array": _class("Array", _buffer, _is_array, _composed(types.Array)),
    "BaseTuple": _base_tuple,
    "BaseAnonymousTuple": _class("BaseAnonymousTuple", _base_tuple),
    "Tuple": _class("Tuple", _base_tuple, _is_mixed, _composed(types.Tuple)),
    "UniTuple": _class("UniTuple", _base_tuple, _is_uniform, _composed(types.UniTuple)),
    "NamedTuple": _class("NamedTuple", _base_tuple, None, _composed(types.NamedTuple)),
    "WrapperAddressProtocol": type("WrapperAddressProtocol", (), {}),
}

_signed, _unsigned = frozenset(_INTEGERS[:4]), frozenset(_INTEGERS[4:])
_real, _complex = frozenset(_FLOATS[1:]), frozenset(_COMPLEX)
#: Sets of number types, by Numba's names.
DOMAINS: dict[str, frozenset[_core.Type]] = {
    "signed_domain": _signed,
    "unsigned_domain": _unsigned,
    "integer_domain": _signed | _unsigned,
    "real_domain": _real,
    "complex_domain": _complex,
    "number_domain": _signed | _unsigned | _real | _complex,
}
