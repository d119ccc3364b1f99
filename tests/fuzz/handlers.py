"""try, except, else, finally and raise, as the oracle has them.

What a handler knows of a variable is what every definition has in common that its `try` may have made; where they differ, reading it
is left open. A `finally` block is analysed once for each way into it, as the bytecode has it: the plain end, an exception, and each break,
continue and return that passes it.
"""

from __future__ import annotations

import ast
import builtins
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import regions
from expressions import Def, Env, Fn, Frame
from rules import WEAK, Const, IllTyped, Unspecified, strong
from values import Raised, convert

if TYPE_CHECKING:
    from oracle import Edge, Program

CAUGHT = Const("an exception that was caught")
DIVISIONS = ("ZeroDivisionError", "ValueError", "OverflowError")  # which the error model may take away
Signal = tuple["Jump", Any]


class Jump:
    """A break, a continue or a return of the program.

    Attributes
    ----------
    kind : str
        Which of them.
    edge : Edge or None
        Where it leads, unless a `finally` block on the way leads elsewhere.
    finals : dict
        What it runs of each try statement (by its node) that it leaves.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.edge: Edge | None = None
        self.finals: dict[ast.Try, Fn] = {}


class Final:
    """A try statement with a `finally` block, while what stands in it is analysed."""

    def __init__(self, node: ast.Try, depth: int) -> None:
        self.node = node
        self.depth = depth  # loops around it


class Record:
    """The definitions of variables that may be alive when some statements raise."""

    def __init__(self, stmts: list[ast.stmt], env: Env, parallel: bool) -> None:
        nodes = [n for s in stmts for n in ast.walk(s)]
        self.names = stored(nodes)
        self.env = env
        self.defs: dict[str, list[Def]] = {}
        loops = [n for n in nodes if parallel and isinstance(n, ast.For) and regions.is_prange(n.iter)]
        self.open = stored(itertools.chain.from_iterable(ast.walk(n) for n in loops))

    def note(self, env: Env) -> None:
        """A statement begins or has ended."""
        for name in self.names & env.keys():
            known = self.defs.setdefault(name, [])
            if all(d is not env[name] for d in known):
                known.append(env[name])

    def caught(self) -> Env:
        """What is known where an exception arrives."""
        out = {n: d for n, d in self.env.items() if n not in self.names}
        for name, defs in self.defs.items():
            first = self.env.get(name)
            if name in self.open:
                out[name] = Def(None)
            elif len(defs) == 1 and defs[0] is first:
                out[name] = first
            else:
                types = {strong(d.ty) for d in defs}
                weak = any(isinstance(d.ty, str) and d.ty in WEAK for d in defs)
                maybe = first is None or any(d.maybe for d in defs)
                out[name] = Def(None if weak or len(types) > 1 else types.pop(), maybe=maybe)
        return out


def stored(nodes: Any) -> set[str]:
    """Names that are assigned."""
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


class Handlers:
    """What `oracle.Instance` knows of exceptions."""

    prog: Program
    kind: str
    error_numpy: bool
    region: Any
    loops: list
    tries: list[Record]
    finals: list[Final]
    handling: list[str]
    block: Callable
    merge: Callable
    expr: Callable
    edge: Callable

    def note_definitions(self, env: Env) -> None:
        """Tell the try statements around what is assigned now."""
        for record in self.tries:
            record.note(env)

    def leaving(self, jump: Jump, env: Env, depth: int) -> Env | None:
        """Analyse the `finally` blocks that a jump to a loop of this depth passes; what is known behind them."""
        finals, loops, handling = self.finals, self.loops, self.handling
        out: Env | None = env
        while out is not None and self.finals and self.finals[-1].depth >= depth:
            final, self.finals = self.finals[-1], self.finals[:-1]
            self.loops, self.handling = loops[: final.depth], []
            jump.finals[final.node], out = self.block(final.node.finalbody, dict(out))
        self.finals, self.loops, self.handling = finals, loops, handling
        return out

    def do_Try(self, node: ast.Try, env: Env) -> tuple[Fn, Env | None]:
        """``try`` with all its parts."""
        if not node.finalbody:
            return self.with_handlers(node, env)
        rest = [*node.body, *(s for h in node.handlers for s in h.body), *node.orelse]
        record = Record(rest, env, self.parallel())
        self.tries.append(record)
        self.finals.append(Final(node, len(self.loops)))
        inner, end = self.with_handlers(node, env)
        self.finals.pop()
        self.tries.pop()
        handling, self.handling = self.handling, []
        raising, _ = self.block(node.finalbody, record.caught())
        self.handling = handling
        plain, end = (None, None) if end is None else self.block(node.finalbody, dict(end))
        return self.finally_run(node, inner, raising, plain), end

    def parallel(self) -> bool:
        """True where a prange makes a parallel loop."""
        return self.kind == "parallel" and self.region is None

    def finally_run(self, node: ast.Try, inner: Fn, raising: Fn, plain: Fn | None) -> Fn:
        """The closure of a try statement with a `finally` block."""
        prog = self.prog

        def run(frame: Frame) -> Any:
            try:
                signal = inner(frame)
            except Raised as err:
                self.settled(err)
                prog.count("finally", "raise")
                try:
                    other = raising(frame)
                except Raised:
                    prog.caught.add(err.name)  # another takes its place
                    raise
                if other is None:
                    raise
                prog.caught.add(err.name)
                prog.count("finally", f"ends with {other[0].kind}")
                return other
            if signal is None:
                prog.count("finally", "end")
                return plain(frame) if plain is not None else None
            prog.count("finally", signal[0].kind)
            other = signal[0].finals[node](frame)
            return signal if other is None else other

        return run

    def with_handlers(self, node: ast.Try, env: Env) -> tuple[Fn, Env | None]:
        """A try statement up to its `finally` block."""
        record = Record(node.body, env, self.parallel())
        self.tries.append(record)
        body, end = self.block(node.body, dict(env))
        self.tries.pop()
        other: Fn | None = None
        if end is not None:
            other, end = self.block(node.orelse, dict(end))
        last = self.edge(end)
        handlers = [self.handler(h, record.caught()) for h in node.handlers]
        out = self.merge([e for e in [last, *(h[2] for h in handlers)] if e is not None])
        prog, around = self.prog, "prange" if record.open else "in prange" if self.region else ""

        def run(frame: Frame) -> Any:
            try:
                signal = body(frame)
            except Raised as err:
                self.settled(err)
                for matches, work, edge in handlers:
                    if matches(err):
                        prog.caught.add(err.name)
                        prog.count("caught", err.name)
                        prog.count("caught", around or ("of a callee" if err.left else "own"))
                        signal = work(frame, err)
                        break
                else:
                    prog.count("caught", "not here")
                    raise
            else:
                if signal is None and other is not None:
                    prog.count("caught", "nothing: else" if node.orelse else "nothing")
                    signal = other(frame)
                edge = last
            if signal is None and edge is not None:
                edge.take(frame)
            return signal

        return run, out

    def settled(self, err: Raised) -> None:
        """Refuse to go on from an exception that the error model might have taken away."""
        if self.prog.in_ufunc and not self.error_numpy and err.name in DIVISIONS:
            raise Unspecified("the error model of a function that a ufunc calls")

    def handler(self, node: ast.ExceptHandler, env: Env) -> tuple[Callable, Callable, Edge | None]:
        """One except clause: whether it takes an exception, what it does, and where it ends."""
        matches = self.takes(node.type)
        key = f"caught {len(self.handling)}"
        name = node.name or ""
        if name:
            env[name] = Def(CAUGHT)
        self.handling.append(key)
        body, end = self.block(node.body, env)
        self.handling.pop()
        if end is not None:
            end = {n: d for n, d in end.items() if n != name}

        def work(frame: Frame, err: Raised) -> Any:
            frame[key] = frame[name] = err
            return body(frame)

        return matches, work, self.edge(end)

    def takes(self, node: ast.expr | None) -> Callable[[Raised], bool]:
        """Whether a clause takes an exception."""
        if node is None:
            self.prog.count("except", "all")
            return lambda err: True
        names = [
            n.id for n in (node.elts if isinstance(node, ast.Tuple) else [node]) if isinstance(n, ast.Name)
        ]
        self.prog.count("except", "tuple" if isinstance(node, ast.Tuple) else "class")
        classes = tuple(self.prog.exception(n) for n in names)
        return lambda err: issubclass(self.prog.exception(err.name), classes)

    def do_Raise(self, node: ast.Raise, env: Env) -> tuple[Fn, Env | None]:
        """``raise Class(args)``, ``raise Class``, ``raise e`` of what was caught, and ``raise`` alone."""
        call, prog = node.exc, self.prog
        if call is None or isinstance(call, ast.Name) and call.id in env and env[call.id].ty == CAUGHT:
            if call is None and not self.handling:
                raise IllTyped("raise outside of an except block")
            key = self.handling[-1] if call is None else call.id  # type: ignore[attr-defined]

            def again(frame: Frame) -> Any:
                prog.count("raise", "again" if call is None else "e")
                raise frame[key]

            return again, None
        if isinstance(call, ast.Name):
            name, parts = call.id, []
        elif isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            name, parts = call.func.id, [self.expr(a, env) for a in call.args]
        else:
            raise IllTyped("raise")
        prog.exception(name)

        def run(frame: Frame) -> Any:
            raise Raised(name, tuple((strong(t), convert(f(frame), t, strong(t))) for t, f in parts))

        return run, None


def builtin_exception(name: str) -> type[BaseException]:
    """A class of Python's own."""
    found = getattr(builtins, name, getattr(np.linalg, name, None))
    if not isinstance(found, type) or not issubclass(found, BaseException):
        raise IllTyped(f"{name} is no exception")
    return found
