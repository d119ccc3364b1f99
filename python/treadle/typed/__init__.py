"""Containers that Python and compiled code share without a copy: `List`, `Dict` and `Set`.

>>> from treadle.typed import Dict, List
>>> l = List([1, 2])
>>> l.append(3)
>>> l
ListType[int64]([1, 2, 3])
>>> Dict({"a": 1.5})
DictType[str,float64]({'a': 1.5})

What is rare of a mapping's and a set's methods is that of ``collections.abc``, made of the few that are compiled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, MutableSequence, MutableSet
from collections.abc import Set as AbstractSet
from typing import Any

from .._core import TypedDict as Dict
from .._core import TypedList as List
from .._core import TypedSet as Set

__all__ = ["Dict", "List", "Set"]


def _iterate(name: str) -> Any:
    """``__iter__`` of what Python calls so in its message."""

    def iterate(self: Any) -> Iterator[Any]:
        n = len(self)
        for key in self._keys():
            yield key
            if len(self) != n:
                raise RuntimeError(f"{name} changed size during iteration")

    iterate.__name__, iterate.__qualname__ = "__iter__", f"{name}.__iter__"
    return iterate


def _from_iterable(cls: type[Set], it: Iterable[Any]) -> Set:
    return cls(it)


_TEXTS = {
    "union": "Return a new Set with the items of this one and of all others.",
    "intersection": "Return a new Set with the items that this one has in common with all others.",
    "difference": "Return a new Set with the items of this one that no other has.",
    "symmetric_difference": "Return a new Set with the items that only one of the two has.",
    "issubset": "Return whether the other has every item of this one.",
    "issuperset": "Return whether this one has every item of the other.",
}


def _operator(name: str) -> Any:
    """A method of sets that an operator of Python's sets is, with any number of iterables."""

    def method(self: Set, *others: Iterable[Any]) -> Set:
        kept = getattr(set(self), name)(*others)
        made = self.copy()
        made.clear()
        made.update([x for x in self if x in kept], kept)
        return made

    method.__name__, method.__qualname__, method.__doc__ = name, f"Set.{name}", _TEXTS[name]
    return method


def _asked(name: str) -> Any:
    """A question of sets about any iterable."""

    def method(self: Set, other: Iterable[Any]) -> bool:
        return bool(getattr(set(self), name)(other))

    method.__name__, method.__qualname__, method.__doc__ = name, f"Set.{name}", _TEXTS[name]
    return method


def _or(self: Dict, other: Any) -> Dict:
    if not isinstance(other, Mapping):
        return NotImplemented
    made = self.copy()
    made.update(other)
    return made


def _ior(self: Dict, other: Any) -> Dict:
    self.update(other)
    return self


def _take(cls: type, methods: dict[str, Any]) -> None:
    for name, method in methods.items():
        setattr(cls, name, method)


_take(
    Dict,
    {name: getattr(MutableMapping, name) for name in ("keys", "values", "items", "setdefault", "__eq__")}
    | {"__iter__": _iterate("dictionary"), "__or__": _or, "__ior__": _ior, "__hash__": None},
)
_take(
    Set,
    {f"__{op}__": getattr(MutableSet, f"__{op}__") for op in "le lt ge gt eq and or sub xor".split()}
    | {f"__r{op}__": getattr(AbstractSet, f"__r{op}__") for op in "and or sub xor".split()}
    | {f"__i{op}__": getattr(MutableSet, f"__i{op}__") for op in "and or sub xor".split()}
    | {name: _operator(name) for name in "union intersection difference symmetric_difference".split()}
    | {name: _asked(name) for name in "issubset issuperset".split()}
    | {"isdisjoint": AbstractSet.isdisjoint, "remove": MutableSet.remove, "pop": MutableSet.pop}
    | {"_from_iterable": classmethod(_from_iterable), "_hash": AbstractSet._hash}  # type: ignore[attr-defined]
    | {"__iter__": _iterate("Set"), "__hash__": None},
)
MutableMapping.register(Dict)
MutableSet.register(Set)
MutableSequence.register(List)
