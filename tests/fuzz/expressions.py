"""The oracle's expressions: typing rules applied to syntax, and the closures that compute the values."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import array_ops
import builtin_calls
import library
import ufuncs
from memory import ArrayValue, check_index, each_item, load_item
from picks import Pick
from rules import (
    BITS,
    NONE,
    SHIFTS,
    UNSIGNED,
    WEAK,
    Array,
    Const,
    Function,
    IllTyped,
    Tuple,
    Unspecified,
    arith,
    common,
    is_scalar,
    join,
    klass,
    strong,
    unary,
)
from values import Approx, Raised, binary, compare, conv, convert, from_python, negate, truth, unchecked

if TYPE_CHECKING:
    from oracle import Program

Frame = dict[str, Any]
Fn = Callable[[Frame], Any]

BIN = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip
_CMP = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_UN = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}


def of_literals(node: ast.expr) -> Any:
    """The value of an expression in which no name and no power stands; None where one does, or where it has none."""
    if any(isinstance(n, ast.Pow) for n in ast.walk(node)):
        return None
    try:
        return eval(compile(ast.Expression(node), "<literals>", "eval"), {"__builtins__": {}})
    except (NameError, ArithmeticError, TypeError, ValueError):
        return None


class Def:
    """A definition of a variable.

    `ty` is None where the joined types do not fit together; `const` is the value of a literal; `maybe` says that some
    path leaves the variable unassigned; `root` is the definition whose array it may be a part of, or itself.
    """

    __slots__ = ("ty", "const", "maybe", "root")

    def __init__(
        self, ty: Any, const: object = None, maybe: bool = False, part_of: Def | None = None
    ) -> None:
        self.ty = ty
        self.const = const
        self.maybe = maybe
        self.root: Def = part_of.root if part_of is not None else self


Env = dict[str, Def]


class Expressions:
    """What `oracle.Instance` knows of expressions."""

    prog: Program
    numba: bool
    error_numpy: bool
    kind: str
    trace: list[str] | None

    def foldable(self, node: ast.expr, env: Env, choices: bool = False) -> bool:
        """True if an expression is made of literals alone, so that a compiler may know its value.

        With `choices`, the test between two literals may be anything: both may be one.
        """
        if isinstance(node, ast.Call):
            known = isinstance(node.func, ast.Name) and node.func.id == "bool" and not node.keywords
            return known and all(self.foldable(a, env, choices) for a in node.args)
        if isinstance(node, ast.Name):
            return self.literal_name(node.id, env)
        if isinstance(node, (ast.Subscript, ast.Attribute)):
            return False
        parts = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
        if choices and isinstance(node, ast.IfExp):
            parts = [node.body, node.orelse]
        return all(self.foldable(n, env, choices) for n in parts)

    def literal_name(self, name: str, env: Env) -> bool:
        """True for a variable or a global that holds a literal."""
        if name in env:
            return env[name].ty in WEAK or env[name].const is not None
        return name in self.prog.globals

    def beside(self, op: str, ty: str, node: ast.expr, env: Env, other: str) -> str:
        """Type of an operand beside another: a negative literal does not become unsigned but for its bits."""
        if self.numba or ty != "wint" or other not in UNSIGNED or op in BITS + SHIFTS:
            return ty
        value = self.literal(node, env)
        if value is None:
            raise Unspecified("a literal of unknown sign beside an unsigned number")
        return "int64" if value < 0 else ty

    def literal(self, node: ast.expr, env: Env) -> int | None:
        """Value of an integer literal, or of a global that holds one; None for what is computed from them."""
        if (
            isinstance(node, ast.UnaryOp)
            and isinstance(node.op, ast.USub)
            and isinstance(node.operand, ast.Constant)
        ):
            return -node.operand.value
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name) and node.id not in env and node.id in self.prog.globals:
            return self.prog.globals[node.id][1]
        return None

    def truth(self, node: ast.expr, env: Env) -> Fn:
        """A closure that gives the truth of an expression that is not known when the program is compiled."""
        if self.foldable(node, env):
            raise Unspecified("test of literals alone")
        return self.test(node, env)

    def test(self, node: ast.expr, env: Env) -> Fn:
        """A closure that gives the truth of an expression."""
        ty, fn = self.expr(node, env)
        if not is_scalar(ty):
            raise IllTyped("truth of a non-scalar")
        return lambda frame: truth(fn(frame), ty)

    def expr(self, node: ast.expr, env: Env) -> tuple[Any, Fn]:
        """Type of an expression and the closure that computes it."""
        if isinstance(node, (ast.Call, ast.Subscript, ast.Attribute)) and library.is_library(node, env):
            return library.typed(self, node, env)  # type: ignore[arg-type]
        return getattr(self, "ex_" + type(node).__name__)(node, env)

    def ex_Constant(self, node: ast.Constant, env: Env) -> tuple[Any, Fn]:
        """A literal."""
        if node.value is None or isinstance(node.value, str):
            return Const(node.value), lambda frame: node.value
        ty, value = from_python(node.value)
        return self.prog.weaken(ty), lambda frame: value

    def ex_Name(self, node: ast.Name, env: Env) -> tuple[Any, Fn]:
        """A variable or a frozen global."""
        name = node.id
        if name in env:
            if env[name].ty is None:
                raise Unspecified(f"{name} has no one type")
            if env[name].maybe:
                return env[name].ty, lambda frame: assigned(frame, name)
            return env[name].ty, lambda frame: frame[name]
        if name in self.prog.globals:
            ty, value = self.prog.globals[name]
            return ty, lambda frame: value
        if name in self.prog.funcs:
            return Function(name), lambda frame: None
        raise IllTyped(f"{name} is undefined")

    def ex_Tuple(self, node: ast.Tuple, env: Env) -> tuple[Any, Fn]:
        """A tuple display."""
        parts = [self.expr(e, env) for e in node.elts]
        return Tuple(tuple(t for t, _ in parts)), lambda frame: tuple(fn(frame) for _, fn in parts)

    def ex_List(self, node: ast.List, env: Env) -> tuple[Any, Fn]:
        """A list that plain Python hands to NumPy."""
        if self.kind != "host":
            raise IllTyped("list")
        return self.ex_Tuple(ast.Tuple(node.elts), env)

    def ex_BinOp(self, node: ast.BinOp, env: Env) -> tuple[Any, Fn]:
        """A binary operation on scalars."""
        op = BIN[type(node.op)]
        (ta, fa), (tb, fb) = self.expr(node.left, env), self.expr(node.right, env)
        if isinstance(ta, Array) or isinstance(tb, Array):
            return self.array_op(
                array_ops.binary_type(op, ta, tb)[0], array_ops.binary, op, (ta, fa), (tb, fb)
            )
        if not (is_scalar(ta) and is_scalar(tb)):
            raise IllTyped(f"{op} on non-scalars")
        if "bool" in (ta, tb) and self.foldable(node, env):
            raise Unspecified("arithmetic of literals with a bool among them")
        ta, tb = self.beside(op, ta, node.left, env, tb), self.beside(op, tb, node.right, env, ta)
        ty, prog, numba = arith(op, ta, tb, self.numba), self.prog, self.numba
        power = self.literal_power(node.right, ta) if op == "**" else None
        if power:
            ty = power
        known = (
            op == "**" and not power and klass(ta) in "bi" and self.foldable(node.right, env, choices=True)
        )
        if known and (of_literals(node.right) or 0) < 0:
            raise Unspecified("an exponent that a compiler may know, or not, to be negative")
        self.note(ty)

        def run(frame: Frame) -> Any:
            a, b = fa(frame), fb(frame)
            prog.count(op, ta, tb)
            if power:
                if not a and not self.error_numpy:
                    raise Raised("ZeroDivisionError")
                if not a:
                    return Approx(math.inf)
                return binary("**", conv(a, ta, power), power, conv(b, tb, power), power, numba)
            if known and b < 0:
                raise Unspecified("an exponent that a compiler may know, or not, to be negative")
            return self.operate(op, a, ta, b, tb)

        return ty, run

    def operate(self, op: str, a: Any, ta: str, b: Any, tb: str) -> Any:
        """Value of an operation on scalars, by the program's error model."""
        try:
            return binary(op, a, ta, b, tb, self.numba)
        except Raised:
            if not self.error_numpy:
                raise
            return unchecked(op, a, ta, b, tb)

    def array_op(self, out: Array, work: Callable, op: str, left: tuple, right: tuple) -> tuple[Array, Fn]:
        """An operator with an array on at least one side; makes a new array."""
        (ta, fa), (tb, fb) = left, right
        if self.numba:
            raise Unspecified("array expression by Numba's rules")
        if not all(is_scalar(t) or isinstance(t, Array) for t in (ta, tb)):
            raise IllTyped("operator on an array and something else")
        prog = self.prog

        def run(frame: Frame) -> ArrayValue:
            a, b = fa(frame), fb(frame)
            prog.count(f"array {op}", array_ops.element(ta), array_ops.element(tb))
            return ArrayValue(work(op, a, ta, b, tb), {})

        return out, run

    def note(self, ty: str) -> None:
        """Keep the type of an operation while a loop's test is traced."""
        if self.trace is not None:
            self.trace.append(str(strong(ty)))

    @staticmethod
    def literal_power(right: ast.expr, ta: str) -> str | None:
        """An integer to a literal negative power is a float."""
        negative = isinstance(right, ast.UnaryOp) and isinstance(right.op, ast.USub)
        if negative and isinstance(right.operand, ast.Constant) and isinstance(right.operand.value, int):
            if not ta.startswith(("float", "complex", "wf", "wc")):
                return "float64"
        return None

    def ex_UnaryOp(self, node: ast.UnaryOp, env: Env) -> tuple[Any, Fn]:
        """``-``, ``+``, ``~`` and ``not``."""
        if isinstance(node.op, ast.Not):
            fn = self.test(node.operand, env)
            return "bool", lambda frame: not fn(frame)
        op = _UN[type(node.op)]
        ty, fn = self.expr(node.operand, env)
        if isinstance(ty, Array) and not self.numba:
            array_ops.check_unary(op, ty)
            return ty, lambda frame: ArrayValue(array_ops.unary(op, fn(frame)), {})
        if not is_scalar(ty):
            raise IllTyped(f"{op} on a non-scalar")
        out, prog, numba = unary(op, ty, self.numba), self.prog, self.numba

        def run(frame: Frame) -> Any:
            prog.count("u" + op, ty)
            return negate(op, fn(frame), ty, numba)

        return out, run

    def ex_Compare(self, node: ast.Compare, env: Env) -> tuple[Any, Fn]:
        """Comparisons, chained ones too: each operand is computed once, and only if it is reached."""
        parts = [self.expr(e, env) for e in [node.left, *node.comparators]]
        ops = [_CMP[type(o)] for o in node.ops]
        if len(parts) == 2 and any(isinstance(t, Array) for t, _ in parts):
            ndim = max(t.ndim for t, _ in parts if isinstance(t, Array))
            return self.array_op(Array("bool", ndim), array_ops.compare_arrays, ops[0], *parts)
        if not all(is_scalar(t) for t, _ in parts):
            raise IllTyped("comparison of non-scalars")
        for op, (ta, _), (tb, _) in zip(ops, parts, parts[1:]):
            if op not in ("==", "!=") and "c" in (klass(ta), klass(tb)):
                raise IllTyped("order of complex numbers")
            self.note("int" if klass(ta) in "bi" and klass(tb) in "bi" else common(ta, tb))
        prog, numba = self.prog, self.numba

        def run(frame: Frame) -> bool:
            ta, fa = parts[0]
            a = fa(frame)
            for op, (tb, fb) in zip(ops, parts[1:]):
                b = fb(frame)
                prog.count(op, ta, tb)
                if not compare(op, a, ta, b, tb, numba):
                    return False
                a, ta = b, tb
            return True

        return "bool", run

    def ex_BoolOp(self, node: ast.BoolOp, env: Env) -> tuple[Any, Fn]:
        """``and``/``or``: the value is an operand's, joined."""
        return self.bool_op(node, env)

    def bool_op(self, node: ast.BoolOp, env: Env, whole: bool = False) -> tuple[Any, Fn]:
        """``and``/``or``; `whole`: every operand is computed, whatever those before it are."""
        parts = [self.expr(e, env) for e in node.values]
        if any(t != "bool" for t, _ in parts) and any(self.foldable(v, env) for v in node.values):
            raise Unspecified("literal operand of and/or")
        ty = strong(parts[0][0])
        for t, _ in parts[1:]:
            ty = join(ty, t, self.numba)
        stop = isinstance(node.op, ast.Or)

        def run(frame: Frame) -> Any:
            if whole:
                values = [(t, fn(frame)) for t, fn in parts]
                t, value = next(((t, v) for t, v in values if truth(v, t) is stop), values[-1])
                return conv(value, t, ty)
            for t, fn in parts:
                value = fn(frame)
                if truth(value, t) is stop:
                    break
            return conv(value, t, ty)

        return ty, run

    def ex_IfExp(self, node: ast.IfExp, env: Env) -> tuple[Any, Fn]:
        """``a if test else b``: a block argument on the stack."""
        test = self.truth(node.test, env)
        (ta, fa), (tb, fb) = self.expr(node.body, env), self.expr(node.orelse, env)
        if isinstance(node.body, ast.Name) and isinstance(node.orelse, ast.Name):
            if env.get(node.body.id) is not None and env.get(node.body.id) is env.get(node.orelse.id):
                return ta, lambda frame: fa(frame) if test(frame) else fb(frame)
        if ta in WEAK and ast.dump(node.body) == ast.dump(node.orelse):  # one literal, whichever it is
            return ta, lambda frame: fa(frame) if test(frame) else fb(frame)
        ty = join(ta, tb, self.numba)
        return ty, lambda frame: convert(fa(frame), ta, ty) if test(frame) else convert(fb(frame), tb, ty)

    def ex_Attribute(self, node: ast.Attribute, env: Env) -> tuple[Any, Fn]:
        """Attributes of arrays and of complex numbers; constants of modules."""
        found = builtin_calls.constant(self, node, env)
        if found is not None:
            return found
        ty, fn = self.expr(node.value, env)
        return builtin_calls.attribute(self, ty, fn, node.attr)

    def ex_Subscript(self, node: ast.Subscript, env: Env) -> tuple[Any, Fn]:
        """An element, a view, or an item of a tuple."""
        base_ty, base, key = self.place(node, env)
        if isinstance(base_ty, Tuple):
            return base_ty.items[key], lambda frame: base(frame)[key]
        if key.pick is not None:
            return Array(base_ty.dtype, key.ndim), lambda frame: key.pick.load(base(frame), frame)
        if key.view:
            return Array(base_ty.dtype, key.ndim), lambda frame: base(frame).view(key.get(frame))

        def run(frame: Frame) -> Any:
            arr = base(frame)
            return load_item(arr, check_index(arr, key.get(frame)))

        return base_ty.dtype, run

    def place(self, node: ast.Subscript, env: Env) -> tuple[Any, Fn, Any]:
        """Base and key of a subscript; the key is a number for tuples, else a `Key`."""
        ty, base = self.expr(node.value, env)
        if isinstance(ty, Tuple):
            index = ast.literal_eval(node.slice)
            if not -len(ty.items) <= index < len(ty.items):
                raise IllTyped("tuple index")
            return ty, base, index
        if not isinstance(ty, Array):
            raise IllTyped("subscript of a scalar")
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return ty, base, Key(self, parts, ty.ndim, env)

    def ex_Call(self, node: ast.Call, env: Env) -> tuple[Any, Fn]:
        """A call of a function of the program, or of a builtin."""
        if isinstance(node.func, ast.Name):
            name = node.func.id
            if name in env and isinstance(env[name].ty, Function):
                return self.call_user(env[name].ty.name, node, env)
            if name in self.prog.ufuncs and name not in env:
                return ufuncs.call(self, self.prog.ufuncs[name], "__call__", node, env)
            if name in self.prog.funcs and name not in env:
                return self.call_user(name, node, env)
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            uf = self.prog.ufuncs.get(node.func.value.id)
            if uf is not None and node.func.value.id not in env:
                return ufuncs.call(self, uf, node.func.attr, node, env)
        return builtin_calls.call(self, node, env)

    def none_test(self, node: ast.expr, env: Env) -> bool | None:
        """The outcome of ``x is None`` or ``x is not None``; None for another test."""
        if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            return None
        ty, _ = self.expr(node.left, env)
        return (ty == NONE) == isinstance(node.ops[0], ast.Is)

    def call_user(self, name: str, node: ast.Call, env: Env) -> tuple[Any, Fn]:
        """Positional, keyword and default arguments; all of them strong."""
        spec = self.prog.funcs[name].args
        names = [a.arg for a in spec.args]
        given = dict(zip(names, [self.expr(a, env) for a in node.args]))
        given.update({k.arg: self.expr(k.value, env) for k in node.keywords})  # type: ignore[misc]
        order = list(given)
        for param, default in zip(names[len(names) - len(spec.defaults) :], spec.defaults):
            if param not in given:
                given[param] = self.expr(default, {})
        if set(given) != set(names):
            raise IllTyped("arguments")
        order += [n for n in names if n not in order]
        types = {n: strong(given[n][0]) for n in names}
        inst = self.prog.instance(name, tuple(types[n] for n in names))
        prog = self.prog

        def run(frame: Frame) -> Any:
            prog.tick()
            values = {n: convert(given[n][1](frame), given[n][0], types[n]) for n in order}
            return inst.run([values[n] for n in names])

        return inst.ret if inst.done else inst.estimate, run

    def iterable(self, node: ast.expr, env: Env) -> tuple[Any, Callable[[Frame], Iterator]]:
        """Item type of what a ``for`` runs over, and a closure that starts it."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found = builtin_calls.iterable(self, node, env)
            if found is not None:
                return found
        ty, fn = self.expr(node, env)
        if isinstance(ty, Tuple) and len(set(ty.items)) == 1 and ty.items[0] not in WEAK:
            return ty.items[0], lambda frame: iter(fn(frame))
        if not isinstance(ty, Array):
            raise IllTyped("loop over something else")
        return ty.dtype if ty.ndim == 1 else Array(ty.dtype, ty.ndim - 1), lambda frame: each_item(fn(frame))


def assigned(frame: Frame, name: str) -> Any:
    """A variable that may not have been assigned."""
    if name not in frame:
        raise Raised("UnboundLocalError")
    return frame[name]


class Key:
    """The key of an array subscript: integers and slices, one per axis from the first."""

    def __init__(self, inst: Expressions, parts: list[ast.expr], ndim: int, env: Env) -> None:
        news = sum(1 for p in parts if isinstance(p, ast.Constant) and p.value is None)
        dots = [k for k, p in enumerate(parts) if isinstance(p, ast.Constant) and p.value is Ellipsis]
        given = len(parts) - news - len(dots)
        if given > ndim or len(dots) > 1:
            raise IllTyped("too many indices")
        if dots:
            parts = parts[: dots[0]] + [ast.Slice()] * (ndim - given) + parts[dots[0] + 1 :]
            given = ndim
        self.pick: Pick | None = None
        if len(parts) == 1 and not isinstance(parts[0], (ast.Slice, ast.Constant)):
            self.pick = self.array_index(inst, parts[0], env)
        if self.pick is not None:
            self.ndim, self.view = self.pick.ndim(ndim), False
            return
        self.parts = [self.part(inst, p, env) for p in parts]
        ints = sum(1 for kind, _ in self.parts if kind == "int")
        self.ndim = ndim - ints + news
        self.view = self.ndim > 0 or bool(dots)

    @staticmethod
    def array_index(inst: Expressions, node: ast.expr, env: Env) -> Pick | None:
        """The key if it is an array's name."""
        if not isinstance(node, ast.Name) or node.id not in env or not isinstance(env[node.id].ty, Array):
            return None
        if inst.numba:
            raise Unspecified("array index by Numba's rules")
        ty, fn = inst.expr(node, env)
        return Pick(ty, fn)

    @staticmethod
    def part(inst: Expressions, node: ast.expr, env: Env) -> tuple[str, Fn]:
        """One axis: a slice, an integer or a new axis."""
        if isinstance(node, ast.Constant) and node.value is None:
            return "new", lambda frame: None
        if isinstance(node, ast.Slice):
            bounds = []
            for bound in (node.lower, node.upper, node.step):
                ty, fn = (NONE, lambda frame: None) if bound is None else inst.expr(bound, env)
                if ty is not NONE and (not is_scalar(ty) or not (ty == "wint" or "int" in ty)):
                    raise IllTyped("slice bound")
                bounds.append(fn)
            return "slice", lambda frame: slice(*[fn(frame) for fn in bounds])
        ty, fn = inst.expr(node, env)
        if not is_scalar(ty) or "int" not in ty:
            raise IllTyped("index")
        return "int", fn

    def get(self, frame: Frame) -> tuple:
        """The key as NumPy takes it."""
        return tuple(fn(frame) for _, fn in self.parts)
