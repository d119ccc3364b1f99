"""Functions of operator and functools that make functions, and those that loop."""

from __future__ import annotations

from typing import Any

from treadle._library import Constant, is_constant, ordered, refuse


def itemgetter(item: Constant, /, *items: Constant) -> Any:
    """A function that gives one item, or a tuple of items, of what it is given."""
    if len(items) == 0:
        return lambda obj: obj[item]
    return lambda obj: (obj[item], *items_of(obj, items))


def items_of(obj: Any, items: Constant) -> Any:
    """The items at some places."""
    return () if len(items) == 0 else (obj[items[0]], *items_of(obj, items[1:]))


def attrgetter(attr: Constant, /, *attrs: Constant) -> Any:
    """A function that gives one attribute, or a tuple of attributes, of what it is given."""
    if not is_constant(attr):
        refuse("attrgetter() needs names that are known when the function compiles")
    if len(attrs) == 0:
        return lambda obj: getattr(obj, attr)
    return lambda obj: (getattr(obj, attr), *attributes_of(obj, attrs))


def attributes_of(obj: Any, attrs: Any) -> Any:
    """The attributes of some names."""
    return () if len(attrs) == 0 else (getattr(obj, attrs[0]), *attributes_of(obj, attrs[1:]))


def methodcaller(name: Constant, /, *args: Any, **kwargs: Any) -> Any:
    """A function that calls a method of what it is given."""
    if not is_constant(name):
        refuse("methodcaller() needs a name that is known when the function compiles")
    return lambda obj: getattr(obj, name)(*args, **kwargs)


def cmp_to_key(mycmp: Any) -> Any:
    """A key for sorts of a function that compares two."""
    return lambda obj: ordered(mycmp, obj)


def countOf(a: Any, b: Any, /) -> int:  # noqa: N802 - Python's name
    """How many items are equal to b."""
    n = 0
    for x in a:
        if x == b:
            n += 1
    return n


def indexOf(a: Any, b: Any, /) -> int:  # noqa: N802 - Python's name
    """The place of the first item that is equal to b."""
    at = 0
    for x in a:
        if x == b:
            return at
        at += 1
    raise ValueError("sequence.index(x): x not in sequence")


def delitem(a: Any, b: Any, /) -> None:
    """del a[b]."""
    del a[b]
