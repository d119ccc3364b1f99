"""Functions that compiled code makes and hands to Python: what they captured, and their code under a dispatcher of its own.

Compiled code knows such a function by its code object and holds what it captured as values. Python gets a `Closure`: a partial call of the *body*, a compiled function
that takes the captured values before the function's own parameters. The body is written here, around the very code object: it defines the function anew, among the same
names, and calls it; so errors tell of the user's lines, and all that is a rule of inner functions stays one. Constants that were captured are constants of the body
(weak, as they were), by being what it captures itself. There is one body for each function and specialisation that makes it: objects of it share its code.

A variable that functions share (``nonlocal``) is a list of one item, which the body takes as the variable's memory (`SHARED`): functions that share it are given one list.
"""

from __future__ import annotations

import ast
from functools import partial
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple

from .decorators import _make_only

__all__ = ["Closure", "Made", "SHARED"]

SHARED = "treadle: parameters that are the memory of variables"  # ext/freeze.c looks for it at the end of a code object's constants
_LITERALS = (int, float, complex, str, bytes, bool, type(None))


class Closure(partial):  # type: ignore[type-arg]
    """A function that compiled code made: it runs compiled, with the values that it captured.

    It is a `functools.partial` of the compiled function that takes these values first, and is passed to compiled functions as such.
    """

    def __getattr__(self, name: str) -> Any:
        if name in ("__name__", "__qualname__", "__annotations__", "__code__"):
            return getattr(self.func, name)
        raise AttributeError(f"a compiled function has no attribute {name!r}", name=name, obj=self)

    def __repr__(self) -> str:
        return f"<compiled function {self.func.__qualname__}>"


class Made(NamedTuple):
    """One of the functions of a specialisation's result, as the core tells of it; a call makes the object for captured values, the defaults or None first."""

    code: CodeType
    globals: dict[str, Any]
    names: tuple[str, ...]  # of what it holds: its free variables, then what it needs to make its kin
    constant: tuple[bool, ...]  # per value, the defaults first: the same for each object
    shared: tuple[bool, ...]  # per name: a variable's memory
    kin: tuple[
        tuple[str, CodeType, Any], ...
    ]  # functions that it makes itself: the name, the code, the defaults
    itself: str | None  # the name by which it is one of these, or its own
    options: dict[str, Any]
    body: list[Any]  # the compiled function, once there is one

    def __call__(self, values: tuple[Any, ...]) -> Closure:
        if not self.body:
            self.body.append(_compiled(self, values))
        given = [x for x, constant in zip(values, self.constant) if not constant]
        if not self.constant[0] and isinstance(values[0], dict):
            given[0] = tuple(values[0].values())
        return Closure(self.body[0], *given)


def _compiled(made: Made, values: tuple[Any, ...]) -> Any:
    """The body, for values of which those that are constants count."""
    code, own = made.code, [name for name, _, _ in made.kin]
    held = [
        (n, v, c)
        for n, v, c in zip(made.names, values[1:], made.constant[1:])
        if n not in own and n != made.itself
    ]
    cells = {name: value for name, value, constant in held if constant}
    taken = [name for name, _, constant in held if not constant]
    source = _Source(cells)
    written: dict[str, str] = {}  # defaults by parameter
    if not made.constant[0]:
        taken.insert(0, "__defaults")
    if values[0] is not None:
        written = source.defaults(code, values[0], made.constant[0])
    codes: list[CodeType] = []
    for name, of, defaults in made.kin:
        source.define(name, of, source.defaults(of, defaults, True) if defaults is not None else {})
        codes.append(of)
    name = made.itself or "__made"
    if name not in own:
        source.define(name, code, written)
        codes.append(code)
    body = source.body(code, taken, name, written if made.constant[0] else None)
    body = _with_codes(body, codes).replace(
        co_name=code.co_name, co_qualname=code.co_qualname, co_filename=code.co_filename
    )
    memory = [n for n, s in zip(made.names, made.shared) if s]
    if memory:
        body = body.replace(co_consts=(*body.co_consts, (SHARED, *memory)))
    fn = FunctionType(
        body, made.globals, code.co_name, None, tuple(CellType(cells[n]) for n in body.co_freevars)
    )
    if made.constant[0] and values[0] is not None:
        _set_defaults(fn, values[0])
    fn.__qualname__ = code.co_qualname
    fn.__module__ = made.globals.get("__name__", "")
    return _make_only(fn, made.options)


def _set_defaults(fn: FunctionType, defaults: Any) -> None:
    if isinstance(defaults, tuple):
        fn.__defaults__ = defaults
        return
    code = fn.__code__
    by_place = code.co_varnames[: code.co_argcount]
    fn.__defaults__ = tuple(defaults[n] for n in by_place if n in defaults)
    fn.__kwdefaults__ = {n: x for n, x in defaults.items() if n not in by_place}


class _Parameters(NamedTuple):
    only: tuple[str, ...]  # by position alone
    plain: tuple[str, ...]
    star: str | None
    named: tuple[str, ...]
    rest: str | None


def _parameters(code: CodeType) -> _Parameters:
    names, n, k = code.co_varnames, code.co_argcount, code.co_kwonlyargcount
    star, rest = code.co_flags & 4, code.co_flags & 8
    more = list(names[n + k :])
    return _Parameters(
        names[: code.co_posonlyargcount],
        names[code.co_posonlyargcount : n],
        more.pop(0) if star else None,
        names[n : n + k],
        more.pop(0) if rest else None,
    )


def _listed(p: _Parameters, first: list[str], defaults: dict[str, str]) -> str:
    """The parameters as a ``def`` has them, behind others."""
    written = [f"{n}={defaults[n]}" if n in defaults else n for n in (*p.only, *p.plain, *p.named)]
    only, plain = len(p.only), len(p.only) + len(p.plain)
    parts = [*first, *written[:only], *(["/"] if first or only else []), *written[only:plain]]
    if p.star or p.named:
        parts.append("*" + (p.star or ""))
    return ", ".join([*parts, *written[plain:], *(["**" + p.rest] if p.rest else [])])


class _Source:
    """The text of a body. `cells`: its constants by name, of which there come more."""

    def __init__(self, cells: dict[str, Any]) -> None:
        self.cells = cells
        self.lines: list[str] = []

    def defaults(self, code: CodeType, values: Any, constant: bool) -> dict[str, str]:
        """How the defaults, a tuple or a dict by name, are written."""
        by_place = code.co_varnames[: code.co_argcount]
        named = (
            values if isinstance(values, dict) else dict(zip(by_place[len(by_place) - len(values) :], values))
        )
        if not constant:
            return {name: f"__defaults[{i}]" for i, name in enumerate(named)}
        return {name: self._constant(x) for name, x in named.items()}

    def _constant(self, x: Any) -> str:
        if type(x) in _LITERALS and x == x and x not in (float("inf"), -float("inf")):
            return repr(x)
        name = f"__constant{len(self.cells)}"
        self.cells[name] = x
        return name

    def define(self, name: str, code: CodeType, defaults: dict[str, str]) -> None:
        """A function that captures what the code does; the code itself takes its place later."""
        self.lines.append(
            f"def {name}({_listed(_parameters(code), [], defaults)}): {', '.join(code.co_freevars) or 'pass'}"
        )

    def body(self, code: CodeType, taken: list[str], name: str, written: dict[str, str] | None) -> CodeType:
        """The code that takes what is captured before its own arguments, for which `written` are defaults; None: those are known when it runs."""
        p = _parameters(code)
        if written is None:
            p = _Parameters((), (), "__args", (), "__named")
        call = [
            *p.only,
            *p.plain,
            *(["*" + p.star] if p.star else []),
            *(f"{n}={n}" for n in p.named),
            *(["**" + p.rest] if p.rest else []),
        ]
        lines = [f"        {line}\n" for line in (*self.lines, f"return {name}({', '.join(call)})")]
        text = f"def around({', '.join(self.cells)}):\n    def body({_listed(p, taken, dict.fromkeys(written or {}, '0'))}):\n{''.join(lines)}"
        tree = ast.parse(text)
        for node in ast.walk(tree):  # all of it stands where the function does
            if "lineno" in node._attributes:
                node.lineno = node.end_lineno = code.co_firstlineno  # type: ignore[attr-defined]
                node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]
        around = _code_in(compile(tree, code.co_filename, "exec"), "around")
        return _code_in(around, "body")


def _code_in(code: CodeType, name: str) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)


def _with_codes(body: CodeType, codes: list[CodeType]) -> CodeType:
    """The body with these in the place of those that it defines, in their order."""
    at = iter(codes)
    return body.replace(co_consts=tuple(next(at) if isinstance(c, CodeType) else c for c in body.co_consts))
