"""Compiled functions that no name leads to, pickled by their parts: closures, and what ``__main__`` has, which is another module elsewhere.

Parts are the code object, defaults, what the closure's variables hold and those globals that the code names; plain functions among these that no name leads to go by their parts,
too, and modules by name. A process that has the function already, as the one that pickled it, gets that: each has a token. Cloudpickle does the same for all of
Python's functions, so it is left to do so. Code goes by ``marshal``, between Pythons of one version.
"""

from __future__ import annotations

import io
import marshal
import pickle
import sys
from importlib import import_module
from os import urandom
from threading import get_ident
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, Callable
from weakref import WeakKeyDictionary, WeakValueDictionary

from ._core import Function

__all__ = ["declared_of", "leads_back", "load_function", "parts_of"]

_tokens: WeakKeyDictionary[Function, str] = WeakKeyDictionary()
_known: WeakValueDictionary[str, Function] = WeakValueDictionary()
_being_pickled: set[tuple[int, int]] = set()  # by which thread


def leads_back(thing: Any) -> bool:
    """Whether the module and qualified name lead to the very object, in this process and in others."""
    found: Any = sys.modules.get(thing.__module__)
    for part in thing.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is thing and thing.__module__ != "__main__"


class _Pickler(pickle.Pickler):
    """Pickles plain functions that no name leads to by their parts, and modules by their names."""

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, ModuleType):
            return import_module, (thing.__name__,)
        if type(thing) is FunctionType and not leads_back(thing):
            return _plain_function, (_dump(thing),)
        return NotImplemented


def _names(code: CodeType) -> set[str]:
    """Globals that the code or that of a function in it may read."""
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def _dump(fn: FunctionType) -> bytes:
    head = {
        "python": sys.version_info[:2],
        "code": marshal.dumps(fn.__code__),
        "name": fn.__name__,
        "qualname": fn.__qualname__,
        "module": fn.__module__,
        "doc": fn.__doc__,
        "cells": len(fn.__closure__ or ()),
    }
    cells = []
    for cell in fn.__closure__ or ():
        try:
            cells.append((cell.cell_contents,))
        except ValueError:  # empty
            cells.append(())
    used = {name: fn.__globals__[name] for name in sorted(_names(fn.__code__)) if name in fn.__globals__}
    out = io.BytesIO()
    pickle.dump(head, out)
    _Pickler(out).dump((fn.__defaults__, fn.__kwdefaults__))
    _Pickler(out).dump((used, cells))
    return out.getvalue()


def _empty_function(blob: io.BytesIO) -> FunctionType:
    """The function without what its names stand for."""
    head = pickle.load(blob)
    if head["python"] != sys.version_info[:2]:
        there, here = (".".join(map(str, v)) for v in (head["python"], sys.version_info[:2]))
        raise pickle.UnpicklingError(
            f"{head['qualname']}() was pickled by its code under Python {there}, and this is {here}: put it in a module"
        )
    code = marshal.loads(head["code"])
    cells = tuple(CellType() for _ in range(head["cells"]))
    space = {"__name__": head["module"], "__builtins__": __builtins__}
    fn = FunctionType(code, space, head["name"], None, cells)
    fn.__defaults__, fn.__kwdefaults__ = pickle.load(blob)
    fn.__qualname__, fn.__module__, fn.__doc__ = head["qualname"], head["module"], head["doc"]
    return fn


def _fill(fn: FunctionType, blob: io.BytesIO) -> None:
    used, cells = pickle.load(blob)
    fn.__globals__.update(used)
    for cell, held in zip(fn.__closure__ or (), cells, strict=True):
        if held:
            cell.cell_contents = held[0]


def _plain_function(blob: bytes) -> FunctionType:
    source = io.BytesIO(blob)
    fn = _empty_function(source)
    _fill(fn, source)
    return fn


def _token(function: Function) -> str:
    token = _tokens.get(function)
    if token is None:
        token = _tokens[function] = urandom(16).hex()  # `uuid` would map the system's libuuid
        _known[token] = function
    return token


def declared_of(function: Function) -> list[Any] | None:
    """The signatures that the function has however it is called, or None."""
    declared = {s.args: s for s in function._declared}
    signatures = [declared.get(s, s) for s in function.signatures if function.sealed or s in declared]
    return signatures if signatures or function.sealed else None


def parts_of(function: Function) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """What pickle stores of a function: how it is made again, and of what."""
    token = _token(function)
    here = get_ident(), id(function)
    if here in _being_pickled:  # it names itself
        return load_function, (token,)
    _being_pickled.add(here)
    try:
        blob = _dump(function.py_func)
    finally:
        _being_pickled.discard(here)
    return load_function, (token, blob, declared_of(function), function.options, function.sealed)


def load_function(token: str, *parts: Any) -> Any:
    """The function of the token, made of its parts where there is none yet."""
    known = _known.get(token)
    if known is not None or not parts:
        return known
    from .decorators import _finish, _make_only

    blob, signatures, options, sealed = parts
    source = io.BytesIO(blob)
    fn = _empty_function(source)
    function = _make_only(fn, options)
    if isinstance(function, Function):
        _tokens[function] = token
        _known[token] = function
    _fill(fn, source)
    return _finish(function, signatures, sealed)
