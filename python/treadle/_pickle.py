"""Compiled functions and kernels that no name leads to, pickled by their parts: closures, and what ``__main__`` has, which is another module elsewhere.

Parts are the code object, defaults, what the closure's variables hold and those globals that the code reads; plain functions, compiled ones and kernels among these that
no name leads to go by their parts, too, and modules by name. All of it is one pickle, so that what names itself, or is named twice, is there once. A process that has what was
compiled already, as the one that pickled it, gets that: each has a token. Cloudpickle does the same for all of Python's functions, so it is left to do so. Code goes
by ``marshal``, between Pythons of one version.
"""

from __future__ import annotations

import io
import marshal
import pickle
import sys
from dis import get_instructions
from importlib import import_module
from os import urandom
from threading import local
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, Callable, NamedTuple
from weakref import WeakKeyDictionary, WeakValueDictionary

from ._core import Configurable, Function
from .decorators import _finish, _make_only

__all__ = ["Recipe", "declared_of", "leads_back", "load_function", "parts_of"]

_tokens: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
_known: WeakValueDictionary[str, Any] = WeakValueDictionary()


class Recipe(NamedTuple):
    """How a function is compiled again: ``make(fn, *how)``, which must not look at what its names stand for yet; then what is declared of it."""

    make: Callable[..., Any]
    how: tuple[Any, ...]
    declared: tuple[list[Any] | None, bool] | None = None


def leads_back(thing: Any) -> bool:
    """Whether the module and qualified name lead to the very object, in this process and in others."""
    found: Any = sys.modules.get(thing.__module__)
    for part in thing.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is thing and thing.__module__ != "__main__"


# --- there ---


class _Pickler(pickle.Pickler):
    """Pickles functions that no name leads to by their parts, and modules by their names."""

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, ModuleType):
            return import_module, (thing.__name__,)
        if type(thing) is FunctionType and not leads_back(thing):
            return _empty_function, _head(thing), _held(thing), None, None, _fill
        recipe = _recipe_of(thing)
        if recipe is None or leads_back(thing):
            return NotImplemented
        fn = thing.py_func
        begin = _token(thing), _head(fn), (fn.__defaults__, fn.__kwdefaults__), recipe.make, recipe.how
        return _begin, begin, (_held(fn), recipe.declared), None, None, _complete


def _recipe_of(thing: Any) -> Recipe | None:
    """What a kernel, or a function of a device, has as `_recipe`; None: it is nothing compiled."""
    if not isinstance(thing, (Function, Configurable)):
        return None
    own: Recipe | None = getattr(thing, "_recipe", None)
    if own is not None or not isinstance(thing, Function):
        return own
    return Recipe(_make_only, (thing.options,), (declared_of(thing), thing.sealed))


def _reads(code: CodeType) -> set[str]:
    """Globals that the code or that of a function in it may read."""
    own = {i.argval for i in get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return own.union(*(_reads(c) for c in code.co_consts if isinstance(c, CodeType)))


def _head(fn: FunctionType) -> tuple[Any, ...]:
    """The arguments of _empty_function()."""
    name = fn.__name__, fn.__qualname__, fn.__module__, fn.__doc__
    return sys.version_info[:2], marshal.dumps(fn.__code__), *name, len(fn.__closure__ or ())


def _held(fn: FunctionType) -> tuple[Any, ...]:
    """What _fill() is given."""
    cells: list[tuple[Any, ...]] = []
    for cell in fn.__closure__ or ():
        try:
            cells.append((cell.cell_contents,))
        except ValueError:  # empty
            cells.append(())
    used = {name: fn.__globals__[name] for name in sorted(_reads(fn.__code__)) if name in fn.__globals__}
    return fn.__defaults__, fn.__kwdefaults__, used, cells


def _token(thing: Any) -> str:
    token = _tokens.get(thing)
    if token is None:
        token = _tokens[thing] = urandom(16).hex()  # `uuid` would map the system's libuuid
        _known[token] = thing
    return token


def declared_of(function: Function) -> list[Any] | None:
    """The signatures that the function has however it is called, or None."""
    declared = {s.args: s for s in function._declared}
    signatures = [declared.get(s, s) for s in function.signatures if function.sealed or s in declared]
    return signatures if signatures or function.sealed else None


def parts_of(thing: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """What pickle stores of what is compiled, which has a `Recipe`: how it is made again, and of what."""
    out = io.BytesIO()
    _Pickler(out).dump(thing)
    return load_function, (_token(thing), out.getvalue())


# --- here ---


class _Loading(local):
    """What this thread is about to make: things whose names stand for nothing yet, and what is to be declared once all stand for something."""

    def __init__(self) -> None:
        self.depth = 0
        self.begun: dict[str, Any] = {}
        self.declared: list[tuple[Any, list[Any] | None, bool]] = []


_loading = _Loading()


def _empty_function(
    python: tuple[int, int], code: bytes, name: str, qualname: str, module: str, doc: str | None, cells: int
) -> FunctionType:
    """The function without what its names stand for."""
    if python != sys.version_info[:2]:
        there, here = (".".join(map(str, v)) for v in (python, sys.version_info[:2]))
        raise pickle.UnpicklingError(
            f"{qualname}() was pickled by its code under Python {there}, and this is {here}: put it in a module"
        )
    space = {"__name__": module, "__builtins__": __builtins__}
    fn = FunctionType(marshal.loads(code), space, name, None, tuple(CellType() for _ in range(cells)))
    fn.__qualname__, fn.__module__, fn.__doc__ = qualname, module, doc
    return fn


def _fill(fn: FunctionType, held: tuple[Any, ...]) -> None:
    fn.__defaults__, fn.__kwdefaults__, used, cells = held
    fn.__globals__.update(used)
    for cell, contents in zip(fn.__closure__ or (), cells, strict=True):
        if contents:
            cell.cell_contents = contents[0]


def _begin(
    token: str,
    head: tuple[Any, ...],
    defaults: tuple[Any, Any],
    make: Callable[..., Any],
    how: tuple[Any, ...],
) -> Any:
    """What is known by the token, or is to be once it is complete."""
    known = _known.get(token)
    if known is None:
        fn = _empty_function(*head)
        fn.__defaults__, fn.__kwdefaults__ = defaults
        known = _loading.begun[token] = make(fn, *how)
    return known


def _complete(thing: Any, parts: tuple[tuple[Any, ...], tuple[list[Any] | None, bool] | None]) -> None:
    if not any(thing is begun for begun in _loading.begun.values()):
        return  # it is known, and has what its names stand for here
    _fill(thing.py_func, parts[0])
    if parts[1] is not None:
        _loading.declared.append((thing, *parts[1]))


def load_function(token: str, blob: bytes) -> Any:
    """What the token stands for, made of its parts where there is none yet."""
    known = _known.get(token)
    if known is not None:
        return known
    _loading.depth += 1
    try:
        made = pickle.loads(blob)
    finally:
        _loading.depth -= 1
        begun, declared = _loading.begun, _loading.declared
        if not _loading.depth:
            _loading.begun, _loading.declared = {}, []
    if not _loading.depth:
        for thing, signatures, sealed in declared:
            _finish(thing, signatures, sealed)
        for name, thing in begun.items():
            _tokens[thing] = name
            _known[name] = thing
    return made
