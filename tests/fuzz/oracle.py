"""The oracle: runs a program by the rules of docs/semantics.md, under CPython and without the compiler.

A program is Python source. Each function is analysed once per tuple of argument types (an *instance*): every expression
and statement becomes a Python closure, and its types are worked out on the way. What is not obvious in a plain
interpreter is done here as the compiler's SSA form does it: each assignment makes a *definition*, copies share it, and
where control flow meets with different definitions a new one is made whose type joins theirs, weak types made strong;
values are converted on the edges. Constructs outside the generated language raise `rules.IllTyped`; what the rules leave
open raises `rules.Unspecified`. Cost: about 1 us per node run.
"""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import array_ops
import numpy as np
import regions
import ufuncs
from expressions import BIN, Def, Env, Expressions, Fn, Frame
from handlers import Handlers, Jump, builtin_exception
from memory import (
    ArrayValue,
    Marks,
    address,
    check_index,
    load_item,
    store_array,
    store_fill,
    store_item,
    watch,
)
from rules import (
    NONE,
    WEAK,
    Array,
    Const,
    IllTyped,
    Tuple,
    Unspecified,
    arith,
    is_scalar,
    join,
    klass,
    strong,
)
from values import Raised, Unknown, convert, from_python

MAX_STEPS = 200_000


class Edge:
    """One way into a place where control flow meets; `convs` is filled when the place is known."""

    __slots__ = ("env", "convs")

    def __init__(self, env: Env) -> None:
        self.env = dict(env)
        self.convs: list[tuple[str, Any, Any]] = []

    def take(self, frame: Frame) -> None:
        """Convert the variables that become block arguments."""
        for name, src, dst in self.convs:
            if name in frame:
                frame[name] = convert(frame[name], src, dst)


class Result:
    """What a call gave: a value of a type, or an exception; approximate places of the array arguments; and names of exceptions that were caught."""

    def __init__(
        self,
        ty: Any,
        value: Any,
        raised: Raised | None,
        args: list[Any],
        caught: frozenset[str] = frozenset(),
    ) -> None:
        self.ty = ty
        self.value = value
        self.raised = raised
        self.args = args
        self.caught = caught
        self.meets = False  # iterations of a loop over a prange do: this is what plain code gives
        self.cut = False  # one of them raised: which others ran, and what they stored, is open

    def met(self, name: str) -> bool:
        """True if an exception of this class was raised, caught or not."""
        return name in self.caught or self.raised is not None and self.raised.name == name


class Program:
    """A module of functions, ready to be called with arguments.

    Parameters
    ----------
    source : str
        The module's text. Decorators are ignored; assignments at top level make frozen globals.
    promotion : str
        ``"treadle"`` or ``"numba"``.
    error_model : str
        ``"python"`` or ``"numpy"``.
    loose : bool
        Iterations of prange loops that meet in memory are only noted.

    Attributes
    ----------
    seen : collections.Counter
        How often each (operator, type, type) was run.
    """

    def __init__(
        self, source: str, promotion: str = "treadle", error_model: str = "python", loose: bool = False
    ) -> None:
        self.numba = promotion == "numba"
        self.error_numpy = error_model == "numpy"
        self.loose = loose
        self.met = False  # iterations did, in this call
        self.cut = False  # one of a loop over a prange raised, in this call
        self.funcs: dict[str, ast.FunctionDef] = {}
        self.globals: dict[str, tuple[Any, Any]] = {}
        self.instances: dict[tuple, Instance] = {}
        self.seen: Counter = Counter()
        self.steps = 0
        self.ufuncs: dict[str, ufuncs.Ufunc] = {}
        self.marks: Marks = {}  # of the arguments, all together: they may share memory
        self.overlap = False
        self.in_ufunc = 0  # functions of ufuncs that run now
        self.random: np.random.RandomState | None = None  # of this call, from where it is seeded on
        self.caught: set[str] = set()  # exceptions that handlers took
        self.classes: dict[str, type[BaseException]] = {}  # exceptions of the program
        for node in ast.parse(source).body:
            if isinstance(node, ast.FunctionDef):
                self.funcs[node.name] = node
                made = ufuncs.made(self, node)
                if made is not None:
                    self.ufuncs[node.name] = made
            elif isinstance(node, ast.ClassDef):
                bases = tuple(self.exception(b.id) for b in node.bases if isinstance(b, ast.Name))
                self.classes[node.name] = type(node.name, bases, {})
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                value = eval(compile(ast.Expression(node.value), "<global>", "eval"), {"np": np})
                self.globals[node.targets[0].id] = self._freeze(value)

    def _freeze(self, value: Any) -> tuple[Any, Any]:
        if isinstance(value, tuple):
            items = [self._freeze(v) for v in value]
            return Tuple(tuple(t for t, _ in items)), tuple(v for _, v in items)
        ty, val = from_python(value)
        return (self.weaken(ty), val) if not isinstance(value, np.generic) else (ty, val)

    def exception(self, name: str) -> type[BaseException]:
        """The exception class of a name."""
        return self.classes.get(name) or builtin_exception(name)

    def weaken(self, ty: str) -> str:
        """Type of a literal whose own type is `ty`."""
        return (
            ty if self.numba else {"int64": "wint", "float64": "wfloat", "complex128": "wcomplex"}.get(ty, ty)
        )

    def instance(self, name: str, types: tuple) -> Instance:
        """The analysed function for these argument types."""
        key = (name, types)
        if key not in self.instances:
            try:
                Instance(self, name, types)
            except Exception:
                self.instances.pop(key)
                raise
        found = self.instances[key]
        if not found.done:
            found.recursive = True
            if found.estimate is None:
                raise Unknown
        return found

    def call(self, name: str, args: list[Any]) -> Result:
        """Run function `name` on Python and NumPy arguments; arrays are changed in place."""
        self.marks = {}
        arrays = [a for a in args if isinstance(a, np.ndarray)]
        self.overlap = any(np.may_share_memory(a, b) for a, b in itertools.combinations(arrays, 2))
        typed = [self._argument(a, self.marks, decorator(self.funcs[name]) == "host") for a in args]
        frame_args = [v for _, v in typed]
        self.steps = 0
        self.caught = set()
        self.met = self.cut = False
        self.random = None
        with np.errstate(all="ignore"):
            inst = self.instance(name, tuple(t for t, _ in typed))
            try:
                value = inst.run(frame_args)
            except Raised as err:
                return Result(None, None, err, frame_args, frozenset(self.caught))
        result = Result(inst.ret, value, None, frame_args, frozenset(self.caught))
        result.cut = self.cut
        return result

    def _argument(self, arg: Any, marks: Marks, weak: bool = False) -> tuple[Any, Any]:
        if isinstance(arg, np.ndarray):
            return Array(arg.dtype.name, arg.ndim), ArrayValue(arg, marks)
        if isinstance(arg, tuple):
            items = [self._argument(a, marks) for a in arg]
            return Tuple(tuple(t for t, _ in items)), tuple(v for _, v in items)
        ty, value = from_python(arg)
        return (self.weaken(ty) if weak and not isinstance(arg, np.generic) else ty), value

    def count(self, *key: str) -> None:
        """Note that an operation ran; also the watchdog of endless programs."""
        self.seen[key] += 1
        self.tick()

    def tick(self) -> None:
        """One more step; too many end the program."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise Unspecified("too many steps")


class Instance(Expressions, Handlers):
    """A function analysed for argument types."""

    def __init__(self, prog: Program, name: str, types: tuple) -> None:
        self.prog = prog
        self.numba = prog.numba
        self.node = node = prog.funcs[name]
        self.params = [a.arg for a in node.args.args]
        self.done = False
        prog.instances[name, types] = self
        self.types = types
        self.estimate: Any = None
        self.recursive = False
        self.trace: list[str] | None = None
        self.loops: list[tuple[list[Edge], list[Edge]]] = []
        self.kind = decorator(node)
        self.error_numpy = prog.error_numpy or name in prog.ufuncs
        self.region: regions.Loop | None = None
        self.tries, self.finals, self.handling = [], [], []
        for _ in range(6):
            self.returns: list[tuple[Any, list]] = []
            self.analyse()
            if not self.recursive or self.ret == self.estimate:
                break
            self.estimate = self.ret
        else:
            raise Unspecified("recursion does not settle")
        self.done = True

    def analyse(self) -> None:
        """Make the closures and the result type, with what is known so far of recursive calls."""
        env: Env = {p: Def(t) for p, t in zip(self.params, self.types)}
        body, end = self.block(self.node.body, env)
        if end is not None:
            self.returns.append((NONE, []))
        if not self.returns:
            raise IllTyped("no return")
        self.body = body
        ret = self.returns[0][0]
        for ty, _ in self.returns[1:]:
            ret = join(ret, ty, self.numba)
        self.ret = strong(ret)
        for ty, holder in self.returns:
            holder.append((ty, self.ret))

    def run(self, args: list[Any]) -> Any:
        """Call with values of the argument types."""
        try:
            signal = self.body(dict(zip(self.params, args)))
        except Raised as err:
            self.settled(err)
            err.left = True
            raise
        return None if signal is None else signal[1]

    @staticmethod
    def new_array(data: np.ndarray) -> ArrayValue:
        """An array made by the program."""
        return ArrayValue(data, {})

    # --- control flow ---

    @staticmethod
    def edge(env: Env | None) -> Edge | None:
        """An edge from where a block ends, if it does."""
        return None if env is None else Edge(env)

    def merge(self, edges: list[Edge]) -> Env | None:
        """The definitions after `edges` meet; None if no edge arrives."""
        if not edges:
            return None
        out: Env = {}
        for name in dict.fromkeys(n for e in edges for n in e.env):
            defs = [e.env[name] for e in edges if name in e.env]
            if all(d is defs[0] for d in defs):
                out[name] = defs[0] if len(defs) == len(edges) else self.perhaps(defs[0].ty)
            else:
                out[name] = self.phi(defs)
                out[name].maybe |= len(defs) < len(edges) or any(d.maybe for d in defs)
                if len(defs) < len(edges) and any(isinstance(d.ty, str) and d.ty in WEAK for d in defs):
                    out[name] = Def(None)
        for edge in edges:
            edge.convs = self.conversions(edge.env, out)
        return out

    @staticmethod
    def perhaps(ty: Any) -> Def:
        """A variable that some path leaves unassigned: reading it may raise."""
        weak = isinstance(ty, str) and ty in WEAK
        return Def(None if weak else ty, maybe=True)

    def phi(self, defs: list[Def]) -> Def:
        """A block argument fed by `defs`."""
        if any(d.ty is None for d in defs):
            return Def(None)
        try:
            ty = strong(defs[0].ty)
            for d in defs[1:]:
                ty = join(ty, d.ty, self.numba)
        except (IllTyped, Unspecified):
            return Def(None)
        first = defs[0]
        if first.ty != strong(first.ty) and all(d.const is not None and d.const == first.const for d in defs):
            return Def(None)  # equal literals on every edge: one value or a block argument?
        return Def(ty)

    @staticmethod
    def conversions(src: Env, dst: Env) -> list[tuple[str, Any, Any]]:
        """What an edge from `src` has to convert."""
        return [
            (n, src[n].ty, d.ty)
            for n, d in dst.items()
            if n in src and d.ty is not None and d is not src[n] and d.ty != src[n].ty
        ]

    def block(self, stmts: list[ast.stmt], env: Env) -> tuple[Fn, Env | None]:
        """Analyse statements in order; the environment afterwards is None if the end is not reached."""
        fns: list[Fn] = []
        cur: Env | None = env
        self.note_definitions(env)
        for stmt in stmts:
            if cur is None:
                break  # what follows is not reached
            try:
                fn, cur = getattr(self, "do_" + type(stmt).__name__)(stmt, cur)
            except Unknown:  # a recursive call whose type comes with the next round
                return lambda frame: None, None
            fns.append(fn)
            if cur is not None:
                self.note_definitions(cur)

        def run(frame: Frame) -> Any:
            for f in fns:
                signal = f(frame)
                if signal is not None:
                    return signal
            return None

        return run, cur

    def do_If(self, node: ast.If, env: Env) -> tuple[Fn, Env | None]:
        """``if``/``elif``/``else``; ``x is None`` is decided by the type."""
        none = self.none_test(node.test, env)
        if none is not None:
            return self.block(node.body if none else node.orelse, dict(env))
        test = self.truth(node.test, env)
        edges, arms = [], []
        for stmts in (node.body, node.orelse):
            body, end = self.block(stmts, dict(env))
            edge = Edge(end) if end is not None else None
            if edge is not None:
                edges.append(edge)
            arms.append((body, edge))
        out = self.merge(edges)
        (then, then_edge), (other, other_edge) = arms

        def run(frame: Frame) -> Any:
            body, edge = (then, then_edge) if test(frame) else (other, other_edge)
            signal = body(frame)
            if signal is None and edge is not None:
                edge.take(frame)
            return signal

        return run, out

    def loop(
        self,
        node: ast.While | ast.For,
        env: Env,
        assigned: set[str],
        head: Callable[[Env], Any],
        forever: bool = False,
        known: bool = False,
    ) -> tuple[Any, Fn, Fn, Edge, Edge | None, Edge, Env | None]:
        """Find the types at a loop's head, and analyse its parts with them.

        `head` analyses what stands at the head (test or target) and returns what the caller wants of it.
        """
        header: Env = {n: (Def(strong(d.ty)) if n in assigned else d) for n, d in env.items()}
        for _ in range(12):
            depth = len(self.returns)
            entry, exits, conts = Edge(env), [], []
            self.loops.append((exits, conts))
            inner = dict(header)
            extra = head(inner)
            body, end = self.block(node.body, inner)
            self.loops.pop()
            back = Edge(end) if end is not None else None
            new = self.header(entry, ([back] if back else []) + conts, header, assigned)
            if new is None:
                break
            del self.returns[depth:]
            header = new
        else:
            raise Unspecified("loop types do not settle")
        for edge in [entry] + conts + ([back] if back else []):
            edge.convs = self.conversions(edge.env, header)
        other, end = self.block(node.orelse, dict(header))
        last = Edge(end) if end is not None and not forever else None
        out = self.merge(([last] if last else []) + exits)
        if known and out is not None:
            backs = conts + ([back] if back else [])
            self.doubt(out, self.merge([Edge(e.env) for e in backs + exits]) or {})
        return extra, body, other, entry, back, last, out

    @staticmethod
    def doubt(out: Env, other: Env) -> None:
        """A first test of literals may be decided by the compiler: what then has another type is left open."""
        for name, d in out.items():
            if name not in other or other[name].ty != d.ty:
                out[name] = Def(None)

    def header(self, entry: Edge, backs: list[Edge], header: Env, assigned: set[str]) -> Env | None:
        """The next guess of the definitions at a loop's head, or None if the guess holds."""
        new, changed = dict(header), False
        for name in sorted(assigned):
            first, guess = entry.env.get(name), header.get(name)
            defs = [e.env[name] for e in backs if name in e.env]
            if guess is not None and guess is first or not defs and first is None:
                continue
            if first is not None and all(d is guess or d is first for d in defs):
                new[name], changed = first, True
                continue
            fed = ([first] if first is not None else []) + [d for d in defs if d is not guess]
            made = self.phi(fed) if fed else guess
            if first is None:
                made = self.perhaps(fed[0].ty if len(fed) == 1 else made.ty)
            made.maybe |= any(d.maybe for d in fed)
            if guess is None or (made.ty, made.maybe) != (guess.ty, guess.maybe):
                new[name], changed = made, True
        return new if changed else None

    def do_While(self, node: ast.While, env: Env) -> tuple[Fn, Env | None]:
        """``while`` with ``else``."""
        forever = isinstance(node.test, ast.Constant) and node.test.value is True
        if forever and node.orelse:
            raise IllTyped("while True with else")
        before = [] if forever else self.traced(node.test, env)
        known = not forever and self.foldable(node.test, env)
        heads: list[Env] = []
        test, body, other, entry, back, last, out = self.loop(
            node,
            env,
            assigned_names(node.body),
            lambda e: heads.append(dict(e)) or self.test(node.test, e),
            forever,
            known,
        )
        if not forever and before != self.traced(node.test, heads[-1]):
            raise Unspecified("the test's types differ before the first turn")
        return self.looper(
            lambda frame: iter(lambda: test(frame), False), lambda f, v: None, body, other, entry, back, last
        ), out

    def traced(self, test: ast.expr, env: Env) -> list[str]:
        """Types of the operations of a loop's test: the bytecode has it twice, before the loop and at its end."""
        self.trace = []
        self.test(test, env)
        out, self.trace = self.trace, None
        return out

    def do_For(self, node: ast.For, env: Env) -> tuple[Fn, Env | None]:
        """``for`` over range, an array, enumerate, zip or reversed."""
        if self.kind == "parallel" and self.region is None and regions.is_prange(node.iter):
            return regions.analyse(self, node, env, assigned_names(node.body))
        item, items = self.iterable(node.iter, env)
        assigned = assigned_names(node.body) | assigned_names([node.target])
        setter, body, other, entry, back, last, out = self.loop(
            node, env, assigned, lambda e: self.target(node.target, item, e)
        )
        return self.looper(items, setter, body, other, entry, back, last), out

    def looper(
        self, items: Callable[[Frame], Iterator], setter: Callable, body: Fn, other: Fn, entry: Edge,
        back: Edge | None, last: Edge | None, turn: Callable[[int], None] = lambda k: None,
    ) -> Fn:  # fmt: skip
        """The closure that runs a loop; `turn` is told the number of each iteration."""
        prog = self.prog

        def run(frame: Frame) -> Any:
            it = items(frame)
            entry.take(frame)
            for k, value in enumerate(it):
                prog.tick()
                turn(k)
                setter(frame, value)
                signal = body(frame)
                if signal is None:
                    if back is not None:
                        back.take(frame)
                elif signal[0].kind == "return":
                    return signal
                else:
                    signal[0].edge.take(frame)
                    if signal[0].kind == "break":
                        return None
            signal = other(frame)
            if signal is None and last is not None:
                last.take(frame)
            return signal

        return run

    def do_Break(self, node: ast.Break, env: Env) -> tuple[Fn, None]:
        """``break``."""
        return self.jump("break", self.loops[-1][0], env)

    def do_Continue(self, node: ast.Continue, env: Env) -> tuple[Fn, None]:
        """``continue``."""
        return self.jump("continue", self.loops[-1][1], env)

    def jump(self, kind: str, edges: list[Edge], env: Env) -> tuple[Fn, None]:
        """A jump to the loop around; the loop takes its edge."""
        jump = Jump(kind)
        jump.edge = self.edge(self.leaving(jump, env, len(self.loops)))
        if jump.edge is not None:
            edges.append(jump.edge)
        signal = (jump, None)
        return lambda frame: signal, None

    def do_Return(self, node: ast.Return, env: Env) -> tuple[Fn, None]:
        """``return``."""
        ty, fn = (NONE, lambda f: None) if node.value is None else self.expr(node.value, env)
        jump, holder = Jump("return"), []
        if self.leaving(jump, env, 0) is not None:
            self.returns.append((ty, holder))
        return lambda frame: (jump, convert(fn(frame), *holder[0]) if holder else fn(frame)), None

    def do_Assert(self, node: ast.Assert, env: Env) -> tuple[Fn, Env]:
        """``assert test, "message"``."""
        test = self.truth(node.test, env)
        args = () if node.msg is None else ((Const(node.msg.value), node.msg.value),)  # type: ignore[attr-defined]

        def run(frame: Frame) -> None:
            if not test(frame):
                raise Raised("AssertionError", args)

        return run, env

    def do_Pass(self, node: ast.Pass, env: Env) -> tuple[Fn, Env]:
        """``pass``."""
        return lambda frame: None, env

    def do_Expr(self, node: ast.Expr, env: Env) -> tuple[Fn, Env]:
        """An expression for its effects."""
        _, fn = self.expr(node.value, env)

        def run(frame: Frame) -> None:
            fn(frame)

        return run, env

    # --- assignment ---

    def do_Assign(self, node: ast.Assign, env: Env) -> tuple[Fn, Env]:
        """``target = value``; a swap of plain names copies definitions, as the bytecode does."""
        env = dict(env)
        target = node.targets[0]
        if len(node.targets) > 1:
            return self.chained(node, env)
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            return self.unpack_display(target, node.value, env)
        whole = (
            self.region is not None and isinstance(target, ast.Name) and target.id in self.region.collected
        )
        ty, fn = self.collected(node, env) if whole else self.expr(node.value, env)
        known = self.definition(node.value, ty, env)
        setter = self.target(target, ty, env, known)

        def run(frame: Frame) -> None:
            setter(frame, fn(frame))

        return run, env

    def collected(self, node: ast.Assign, env: Env) -> tuple[Any, Fn]:
        """The value of an assignment to a reduction of a prange loop."""
        name, value = node.targets[0].id, node.value  # type: ignore[attr-defined]
        if isinstance(value, ast.BoolOp) and isinstance(value.values[0], ast.Name):
            return self.bool_op(value, env, whole=True)
        ty, fn = self.expr(value, env)
        floating = is_scalar(ty) and klass(ty) in "fc"
        if isinstance(value, ast.Call) and getattr(value.func, "id", "") in ("min", "max"):
            self.prog.count("prange " + value.func.id, str(ty))  # type: ignore[attr-defined]
            if floating and getattr(value.args[0], "id", "") != name:
                raise Unspecified("which nan or zero")
        elif floating and isinstance(value, ast.BinOp):
            raise Unspecified("a sum of floats in another form")
        return ty, fn

    def chained(self, node: ast.Assign, env: Env) -> tuple[Fn, Env]:
        """``a = b = value``: one definition, stored from left to right."""
        ty, fn = self.expr(node.value, env)
        known = self.definition(node.value, ty, env)
        setters = [self.target(t, ty, env, known) for t in node.targets]

        def run(frame: Frame) -> None:
            value = fn(frame)
            for setter in setters:
                setter(frame, value)

        return run, env

    def unpack_display(self, target: ast.Tuple, value: ast.Tuple, env: Env) -> tuple[Fn, Env]:
        parts = [self.expr(v, env) for v in value.elts]
        known = [self.definition(v, t, env) for v, (t, _) in zip(value.elts, parts)]
        setters = [self.target(t, ty, env, d) for t, (ty, _), d in zip(target.elts, parts, known)]

        def run(frame: Frame) -> None:
            for setter, item in zip(setters, [fn(frame) for _, fn in parts]):
                setter(frame, item)

        return run, env

    def definition(self, value: ast.expr, ty: Any, env: Env) -> Def:
        """The definition that a variable gets when `value` is assigned to it."""
        if isinstance(value, ast.Name) and value.id in env:
            return env[value.id] if not env[value.id].maybe else Def(ty)
        whole = value
        while isinstance(whole, (ast.Subscript, ast.Attribute, ast.Call)):  # a[1:], a.T, a.reshape(n)
            whole = whole.func if isinstance(whole, ast.Call) else whole.value
        if isinstance(ty, Array) and isinstance(whole, ast.Name) and whole.id in env:
            return Def(ty, part_of=env[whole.id])
        return Def(ty, (type(value.value).__name__, value.value) if isinstance(value, ast.Constant) else None)

    def do_AugAssign(self, node: ast.AugAssign, env: Env) -> tuple[Fn, Env]:
        """``target op= value``: the target is read first, then the value, then it is stored."""
        op = BIN[type(node.op)]
        if (
            isinstance(node.target, ast.Name)
            and node.target.id in env
            and isinstance(env[node.target.id].ty, Array)
        ):
            return self.inplace(op, node.target.id, node.value, env)
        if isinstance(node.target, ast.Name) and self.region and node.target.id in self.region.collected:
            fn, ty = regions.collect(self, op, node.target.id, node.value, env)
            return fn, env | {node.target.id: Def(ty)}
        if isinstance(node.target, ast.Name):
            load = ast.Name(node.target.id, ast.Load())
            return self.do_Assign(ast.Assign([node.target], ast.BinOp(load, node.op, node.value)), env)
        base_ty, base, key = self.place(node.target, env)
        vty, value = self.expr(node.value, env)
        if not isinstance(base_ty, Array):
            raise IllTyped("augmented assignment to an item")
        collects = self.collects(node.target)
        if key.pick is not None:
            return self.pick_update(op, base_ty, base, key, vty, value), env
        if key.view:
            view_ty = Array(base_ty.dtype, key.ndim)
            return self.inplace_run(
                op, view_ty, lambda f: base(f).view(key.get(f)), vty, value, collects
            ), env
        if not is_scalar(vty):
            raise IllTyped("augmented assignment of a non-scalar")
        if collects:

            def place(frame: Frame) -> tuple[ArrayValue, tuple]:
                arr = base(frame)
                return arr, check_index(arr, key.get(frame))

            return regions.accumulate(self, op, base_ty, place, vty, value), env
        vty = self.beside(op, vty, node.value, env, base_ty.dtype)
        ty, prog, own = arith(op, base_ty.dtype, vty, self.numba), self.prog, self.owns(node.target)
        if klass(ty) == "c" and klass(base_ty.dtype) != "c":
            raise IllTyped("complex to real")

        def run(frame: Frame) -> None:
            arr = base(frame)
            index = key.get(frame)
            old = load_item(arr, check_index(arr, index))
            new = value(frame)
            prog.count(op, base_ty.dtype, vty)
            store_item(arr, index, self.operate(op, old, base_ty.dtype, new, vty), ty)
            if own and watch.region is not None:
                watch.region.own.add(address(arr, check_index(arr, index)))

        return run, env

    def pick_update(self, op: str, ty: Array, base: Fn, key: Any, vty: Any, value: Fn) -> Fn:
        """``array[mask] op= value``."""
        part = Array(ty.dtype, key.ndim)
        _, work = array_ops.binary_type(op, part, vty)
        many = isinstance(vty, Array) and vty.ndim <= part.ndim
        if "bifc".index(klass(work)) > "bifc".index(klass(ty.dtype)) or not (is_scalar(vty) or many):
            raise IllTyped("in-place operation does not fit the array")
        prog = self.prog

        def run(frame: Frame) -> None:
            arr = base(frame)
            prog.count("scatter", f"{key.pick.name} op=")
            key.pick.update(op, arr, frame, part, value, vty)

        return run

    def inplace(self, op: str, name: str, node: ast.expr, env: Env) -> tuple[Fn, Env]:
        """``array op= value``."""
        vty, value = self.expr(node, env)
        collects = self.collects(ast.Name(name, ast.Store()))
        return self.inplace_run(op, env[name].ty, lambda frame: frame[name], vty, value, collects), env

    def collects(self, target: ast.expr) -> bool:
        """True for a place in an array that the prange loop around accumulates into."""
        return self.region is not None and self.region.array_of(target) in self.region.arrays

    def owns(self, target: ast.Subscript) -> bool:
        """True for a place in an array of which each iteration of the prange loop around has its own elements."""
        return self.region is not None and getattr(target.value, "id", None) in self.region.owned

    def inplace_run(self, op: str, ty: Array, view: Fn, vty: Any, value: Fn, collects: bool = False) -> Fn:
        """The closure of an operation on a whole array or view in place."""
        if self.numba or not (is_scalar(vty) or isinstance(vty, Array) and vty.ndim <= ty.ndim):
            raise Unspecified("in-place operation on an array")
        prog = self.prog
        _, work_type = array_ops.binary_type(op, ty, vty)
        if "bifc".index(klass(work_type)) > "bifc".index(klass(ty.dtype)):
            raise IllTyped("in-place operation does not fit the array")
        if collects:
            return regions.rows(self, op, view, value, ty, vty)

        def run(frame: Frame) -> None:
            arr = view(frame)
            new = value(frame)
            prog.count(f"array {op}=", ty.dtype, array_ops.element(vty))
            array_ops.inplace(op, arr, ty, new, vty)

        return run

    def target(
        self, node: ast.expr, ty: Any, env: Env, known: Def | None = None
    ) -> Callable[[Frame, Any], None]:
        """A closure that assigns a value of type `ty`; `env` is changed."""
        if isinstance(node, ast.Name):
            env[node.id] = known if known is not None else Def(ty)
            name = node.id
            return lambda frame, value: frame.__setitem__(name, value)
        if isinstance(node, ast.Tuple):
            if not isinstance(ty, Tuple) or len(ty.items) != len(node.elts):
                raise IllTyped("unpacking")
            setters = [self.target(t, s, env) for t, s in zip(node.elts, ty.items)]

            def run(frame: Frame, value: Any) -> None:
                for setter, item in zip(setters, value):
                    setter(frame, item)

            return run
        if isinstance(node, ast.Subscript):
            return self.store(node, ty, env)
        raise IllTyped("assignment target")

    def store(self, node: ast.Subscript, ty: Any, env: Env) -> Callable[[Frame, Any], None]:
        """``base[key] = value`` for one element or a whole view."""
        base_ty, base, key = self.place(node, env)
        if not isinstance(base_ty, Array):
            raise IllTyped("store")
        if klass(array_ops.element(ty)) == "c" and klass(base_ty.dtype) != "c":
            raise IllTyped("complex to real")
        if key.pick is not None:
            prog, how = self.prog, f"{key.pick.name} = {'array' if isinstance(ty, Array) else 'number'}"

            def scatter(frame: Frame, value: Any) -> None:
                prog.count("scatter", how)
                key.pick.store(base(frame), frame, value, ty)

            return scatter
        if not key.view:
            if not is_scalar(ty):
                raise IllTyped("store of a non-scalar")
            own = self.owns(node)

            def put(frame: Frame, value: Any) -> None:
                arr, index = base(frame), key.get(frame)
                store_item(arr, index, value, ty)
                if own and watch.region is not None:
                    watch.region.own.add(address(arr, check_index(arr, index)))

            return put
        if isinstance(ty, Array) and ty.ndim > key.ndim:
            raise IllTyped("array of too many dimensions")
        if isinstance(ty, Array):
            return lambda frame, value: store_array(base(frame).view(key.get(frame)), value)
        return lambda frame, value: store_fill(base(frame).view(key.get(frame)), value, ty)


def decorator(node: ast.FunctionDef) -> str:
    """Name of the decorator of a function: jit where there is none."""
    if not node.decorator_list:
        return "jit"
    top = node.decorator_list[0]
    return (top.func if isinstance(top, ast.Call) else top).id  # type: ignore[attr-defined]


def assigned_names(nodes: list) -> set[str]:
    """Names that statements (or a target) assign."""
    names = itertools.chain.from_iterable(ast.walk(n) for n in nodes)
    return {n.id for n in names if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
