"""Graphs of lazy arrays as programs, and what they mean: each statement is one node, which NumPy, or Python where NumPy has no such function, computes from the values before it.

A program is a function `main` of arrays whose statements assign one operation each, of names and constants, and which returns names: the roots. A value is right to the bit, or off by no
more than a bound. It has one if sums may be associated in another way and their terms are not such that all of these give the same bits, if a function of mathematics rounds, or if it is
made of what has one. Only operations that keep a bound small take such values; what is compared, sorted by, counted or converted to integers is exact.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rules import Unspecified

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "py"))
import primitives_model as model  # noqa: E402

MOST = 20_000  # items of an array
SIGN = 5e-324  # the bound of what may be off by a zero's sign alone
EPS = {"float32": 2.0**-23, "complex64": 2.0**-23, "float64": 2.0**-52, "complex128": 2.0**-52}
BITS = {"float32": 24, "complex64": 24, "float64": 53, "complex128": 53}


@dataclass
class Known:
    """A value, by how much each of its items may be off at most, and which operation made it."""

    value: Any
    off: float = 0.0
    by: str = ""


# --- treadle.parallel in NumPy ---

SOURCES: dict[Any, Any] = {}  # what lambdas were written as, while their statement runs


def items_of(f: Callable, *xs: Any) -> Any:
    """What a function of numbers gives for the items of arrays: integers have 64 bits in arithmetic."""
    computes = any(isinstance(n, (ast.BinOp, ast.UnaryOp)) for n in ast.walk(SOURCES.get(f, ast.Pass())))
    arrays = []
    for x in map(np.asarray, xs):
        narrow = x.dtype.kind in "biu" and x.dtype.itemsize < 8
        if narrow and not computes:
            raise Unspecified("whether a function that moves integers makes them wide")
        if computes and x.dtype.kind == "b":
            raise Unspecified("arithmetic of truth values, which NumPy has no scalars for")
        arrays.append(x.astype(x.dtype.kind + "8") if narrow and computes else x)
    if len({(a.dtype.kind, a.dtype.itemsize) for a in arrays}) > 1:
        raise Unspecified("what is made of scalars of several types")
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    flat = [np.broadcast_to(a, shape).ravel() for a in arrays]
    rows = [f(*at) for at in zip(*flat, strict=True)]
    like = rows[0] if rows else like_one(f, *(a.dtype.type(1) for a in arrays))
    if isinstance(like, tuple):
        return tuple(made([r[k] for r in rows], v, shape) for k, v in enumerate(like))
    return made(rows, like, shape)


def like_one(f: Callable, *one: Any) -> Any:
    """What a function gives for a number of each type: of nothing only the types show."""
    try:
        return f(*one)
    except (IndexError, ValueError):
        raise Unspecified("what a function is of nothing") from None


def made(rows: list[Any], like: Any, shape: tuple[int, ...]) -> Any:
    """Numbers as an array of a shape, or as the number that there is."""
    dtype = np.asarray(like).dtype
    if any(np.asarray(r).dtype != dtype for r in rows):
        raise Unspecified("numbers of several types")
    return np.array(rows, dtype).reshape(shape)[()]


def wide(x: Any) -> np.ndarray:
    """Integers in 64 bits."""
    a = np.asarray(x)
    return a.astype(a.dtype.kind + "8") if a.dtype.kind in "iu" else a


def is_choice(op: Callable) -> bool:
    """True for a function that gives one of its arguments."""
    return isinstance(SOURCES.get(op), ast.Lambda) and isinstance(SOURCES[op].body, ast.IfExp)


class Parallel:
    """`treadle.parallel`: NumPy's functions under their names, and those that NumPy has not."""

    add, multiply, maximum, minimum = np.add, np.multiply, np.maximum, np.minimum
    logical_and, logical_or, logical_xor = np.logical_and, np.logical_or, np.logical_xor
    bitwise_and, bitwise_or, bitwise_xor = np.bitwise_and, np.bitwise_or, np.bitwise_xor
    take, where, searchsorted, histogram = np.take, np.where, np.searchsorted, np.histogram
    arange, full, zeros, ones = np.arange, np.full, np.zeros, np.ones

    map = staticmethod(items_of)

    @staticmethod
    def reduce(op: Any, x: Any, axis: Any = None, *, identity: Any = None) -> Any:
        if isinstance(op, np.ufunc):
            more = {} if identity is None else {"initial": identity}
            return op.reduce(x, axis, **more)
        if isinstance(x, tuple):
            lines = np.broadcast_arrays(*map(np.asarray, x))
            if axis is not None or lines[0].ndim != 1:
                raise Unspecified("of more axes")
            return tuple(np.asarray(c[-1])[()] for c in Parallel.steps(op, lines, identity))
        a = np.asarray(x) if is_choice(op) else wide(x)
        a = a.reshape(-1) if axis is None else np.moveaxis(a, axis, -1)
        out = np.empty(a.shape[:-1], a.dtype)
        for at in np.ndindex(out.shape):
            acc = a.dtype.type(identity)
            for v in a[at]:
                acc = op(acc, v)
            out[at] = acc
        return out[()]

    @staticmethod
    def steps(op: Any, lines: Any, identity: Any) -> list[list[Any]]:
        """What several values are after each item, the identities first."""
        acc = tuple(a.dtype.type(v) for a, v in zip(lines, identity, strict=True))
        out = [[v] for v in acc]
        for at in zip(*lines, strict=True):
            acc = op(acc, at)
            for column, v in zip(out, acc, strict=True):
                column.append(v)
        return out

    @staticmethod
    def scan(
        op: Any,
        x: Any,
        axis: int = 0,
        *,
        exclusive: bool = False,
        reverse: bool = False,
        identity: Any = None,
    ) -> Any:
        a = np.asarray(x)
        if not isinstance(op, np.ufunc):
            if a.ndim != 1:
                raise Unspecified("of more axes")
            a = a if is_choice(op) else wide(a)
            line = a[::-1] if reverse else a
            (after,) = Parallel.steps(lambda p, q: (op(p[0], q[0]),), [line], (identity,))
            out = np.array(after[:-1] if exclusive else after[1:], a.dtype)
            return out[::-1] if reverse else out
        if exclusive:
            if identity is None and op.identity is None:
                raise TypeError("identity")
            return model.before(op, a, axis, op.identity if identity is None else identity, reverse)
        if reverse:
            return np.flip(op.accumulate(np.flip(a, axis), axis), axis)
        return op.accumulate(a, axis)

    @staticmethod
    def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
        if weights is None:
            return np.bincount(x, minlength=minlength)
        if np.shape(x) != np.shape(weights):  # which NumPy looks at only where there is something to count
            raise ValueError("lengths")
        return np.bincount(x, weights, minlength).astype(np.float64)

    @staticmethod
    def chosen(pred: Any, a: np.ndarray) -> np.ndarray:
        """Where a predicate holds."""
        return np.array([bool(pred(v)) for v in a.ravel()], bool).reshape(a.shape)

    @staticmethod
    def filter(pred: Any, x: Any) -> Any:
        a = np.atleast_1d(x)
        return a[Parallel.chosen(pred, a)]

    @staticmethod
    def stable_partition(pred: Any, x: Any) -> Any:
        a = np.atleast_1d(x)
        items, count = model.parts(Parallel.chosen(pred, a), a)
        return items, np.int64(count)

    @staticmethod
    def topk(x: Any, k: int, axis: int = -1, **more: Any) -> Any:
        r = model.best(np.asarray(x), k, axis, **{n: v for n, v in more.items() if n != "sorted"})
        if isinstance(r, Exception):
            raise r
        return r

    @staticmethod
    def sort(x: Any, axis: int = -1) -> Any:
        return np.sort(x, axis, kind="stable")

    @staticmethod
    def argsort(x: Any, axis: int = -1) -> Any:
        return np.argsort(x, axis, kind="stable")

    @staticmethod
    def sort_by_key(keys: Any, *vals: Any) -> Any:
        if np.ndim(keys) != 1 or any(len(v) != len(keys) for v in vals):
            raise ValueError("lengths")
        order = np.argsort(keys, kind="stable")
        return tuple(x[order] for x in (keys, *vals))

    @staticmethod
    def merge(a: Any, b: Any) -> Any:
        return np.sort(np.concatenate((a, b)), kind="stable")

    @staticmethod
    def run_length_encode(x: Any) -> Any:
        if np.ndim(x) != 1:
            raise ValueError("x has one axis")
        return model.runs(x)

    @staticmethod
    def unique_values(x: Any) -> Any:
        return np.unique(x, equal_nan=False)

    @staticmethod
    def unique_counts(x: Any) -> Any:
        return np.unique(x, return_counts=True, equal_nan=False)

    @staticmethod
    def unique_inverse(x: Any) -> Any:
        values, places = np.unique(x, return_inverse=True, equal_nan=False)
        return values, places.reshape(np.shape(x))

    @staticmethod
    def unique_all(x: Any) -> Any:
        values, first, places, counts = np.unique(x, True, True, True, equal_nan=False)
        return values, first, places.reshape(np.shape(x)), counts

    @staticmethod
    def scatter(dst: Any, i: Any, v: Any, op: Any = None) -> Any:
        return model.stored(np.array(dst), i, v, op)

    @staticmethod
    def reduce_by_key(op: Any, keys: Any, vals: Any, *, size: int) -> Any:
        if np.ndim(vals) and len(keys) != len(vals):
            raise ValueError("keys and vals have different lengths")
        return model.by_key(op, np.asarray(keys), vals, size, op.reduce(np.ravel(vals)[:0]))

    @staticmethod
    def at(x: Any, i: Any, how: str, v: Any) -> Any:
        """``x.at[i].add(v)``."""
        ops = {"set": None, "add": np.add, "subtract": np.subtract, "multiply": np.multiply}
        return model.stored(np.array(x), i, v, (ops | {"min": np.minimum, "max": np.maximum})[how])

    @staticmethod
    def tabulate(f: Any, shape: Any) -> Any:
        at = np.indices(shape if isinstance(shape, tuple) else (shape,))
        return items_of(f, *at)


class Random:
    """`treadle.parallel.random`, from the paper that has the generator."""

    @staticmethod
    def words(key: int, n: int) -> np.ndarray:
        return np.array(model.stream(key % 2**64, 0, n), np.uint64)

    @staticmethod
    def bits(key: Any, n: int) -> Any:
        return Random.words(int(key), n).astype(np.uint32)

    @staticmethod
    def uniform(key: Any, n: int, dtype: Any = np.float64) -> Any:
        if dtype is np.float32:
            return ((Random.words(int(key), n) >> np.uint64(8)) * 2.0**-24).astype(np.float32)
        w = Random.words(int(key), 2 * n)
        return ((w[::2] | w[1::2] << np.uint64(32)) >> np.uint64(11)) * 2.0**-53

    @staticmethod
    def key(seed: int) -> Any:
        return np.uint64(seed % 2**64)


# --- what is done to a bound ---

MOVES = set(
    "item same reshape ravel T transpose swapaxes moveaxis expand_dims squeeze flip roll broadcast_to concatenate stack take repeat tile where real imag conj copy flatten diagonal compress "
    "tp.take tp.where shift".split()
)
ONE = set(
    "negative positive abs absolute square sign sqrt floor ceil trunc rint add subtract multiply divide floor_divide remainder less less_equal equal not_equal greater greater_equal logical_and "
    "logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_xor invert left_shift right_shift isnan isfinite isinf signbit copysign maximum minimum fmax fmin astype clip any all max min "
    "argmin argmax count_nonzero nonzero sort argsort searchsorted bincount arange full zeros ones diff number tp.map tp.filter tp.stable_partition tp.topk tp.sort tp.argsort tp.sort_by_key tp.merge "
    "tp.run_length_encode tp.unique_values tp.unique_counts tp.unique_inverse tp.unique_all tp.searchsorted tp.bincount tp.arange tp.full tp.zeros tp.ones tp.tabulate tp.scatter tp.reduce_by_key tp.at random.uniform random.bits "
    "random.key tp.reduce tp.scan sum prod cumsum cumprod mean var std matmul dot tp.histogram trace ptp".split()
)
ROUNDED = set(
    "exp expm1 log log1p log2 sin cos tan tanh sinh cosh arctan arcsinh cbrt hypot arctan2 power exp2".split()
)
SMOOTH = set(
    "negative positive abs absolute add subtract multiply maximum minimum sum mean cumsum matmul dot sort max min trace diff".split()
)
ZEROS = set(
    "maximum minimum fmax fmin max min sort clip tp.unique_values tp.unique_counts tp.unique_inverse tp.unique_all ptp".split()
)
BY_OPERATOR = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.FloorDiv: "floor_divide", ast.Mod: "remainder", ast.MatMult: "matmul", ast.Pow: "power", ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or", ast.BitXor: "bitwise_xor", ast.LShift: "left_shift", ast.RShift: "right_shift", ast.USub: "negative", ast.Invert: "invert", ast.Lt: "less", ast.LtE: "less_equal",
    ast.Eq: "equal", ast.NotEq: "not_equal", ast.Gt: "greater", ast.GtE: "greater_equal",
}  # fmt: skip


def operation(node: ast.expr) -> str:
    """Which operation an expression is, by the name that the tables above have."""
    match node:
        case ast.BinOp(op=op) | ast.UnaryOp(op=op):
            return BY_OPERATOR.get(type(op), "?")
        case ast.Compare(ops=[op]):
            return BY_OPERATOR.get(type(op), "?")
        case ast.Subscript():
            return "item"
        case ast.Attribute(attr=attr):
            return attr
        case ast.Name():
            return "same"
        case ast.Constant():
            return "number"
        case ast.Call(func=ast.Attribute(value=ast.Name(id="tp" | "random" as home), attr=attr)):
            return f"{home}.{attr}"
        case ast.Call(func=ast.Attribute(attr=attr)):
            return attr
        case ast.Call(func=ast.Name(id=name)):
            return name
    return "?"


def is_plain(node: ast.AST) -> bool:
    """True for what an operation may be of: names, constants, tuples and slices of these, functions."""
    match node:
        case ast.Lambda() | ast.Name() | ast.Constant():
            return True
        case ast.Attribute(value=ast.Name(id="np" | "tp")):
            return True
        case ast.UnaryOp(operand=ast.Constant()):
            return True
        case ast.Tuple() | ast.Slice() | ast.keyword():
            return all(is_plain(n) for n in ast.iter_child_nodes(node) if not isinstance(n, ast.expr_context))
    return False


class At(ast.NodeTransformer):
    """``x.at[i].add(v)`` as a call."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Subscript(value=ast.Attribute(value=x, attr="at"), slice=i), attr=how
                ),
                args=[v],
                keywords=[],
            ):
                tp = ast.Attribute(ast.Name("tp", ast.Load()), "at", ast.Load())
                return ast.fix_missing_locations(
                    ast.copy_location(ast.Call(tp, [x, i, ast.Constant(how), v], []), node)
                )
        return node


SPACE = {"np": np, "tp": Parallel, "random": Random, "shift": np.roll}


def size(x: Any) -> float:
    """The largest magnitude."""
    a = np.asarray(x)
    return float(np.max(np.abs(a.astype("c16" if a.dtype.kind == "c" else "f8")), initial=0.0))


def parts(x: Any) -> np.ndarray:
    """Numbers as float64, those of complex ones one after the other."""
    a = np.asarray(x)
    return (
        np.concatenate((a.real.ravel(), a.imag.ravel())).astype("f8")
        if a.dtype.kind == "c"
        else a.astype("f8")
    )


def grid(x: Any) -> float:
    """The largest power of two, from 2**-12 on, that finite numbers are multiples of; 0: there is none."""
    a = parts(x)
    a = a[np.isfinite(a)]
    for k in range(13):
        if np.array_equal(np.floor(a * 2.0**k), a * 2.0**k):
            return 2.0**-k
    return 0.0


def is_sum_exact(x: Any, bits: int) -> bool:
    """True if sums of these numbers have one result, however they are associated."""
    a = parts(x)
    step = grid(a)
    return bool(step) and float(np.sum(np.abs(a[np.isfinite(a)]))) / step < 2.0**bits


class Steps:
    """A program, statement by statement.

    Parameters
    ----------
    names : list of str
        Parameters.
    args : list of ndarray
        Arguments, which stay as they are.
    """

    def __init__(self, names: list[str], args: list[Any]) -> None:
        self.env = {n: Known(a) for n, a in zip(names, args, strict=True)}
        self.ran: list[str] = []

    def run(self, stmt: ast.stmt) -> list[str]:
        """Run one; gives the names that it assigns.

        Raises
        ------
        Unspecified
            If it has no one meaning, or is no node.
        ValueError, IndexError and others
            What it raises.
        """
        if not isinstance(stmt, ast.Assign) or len(stmt.targets) != 1:
            raise Unspecified("no assignment")
        target = stmt.targets[0]
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        if not all(isinstance(t, ast.Name) for t in targets):
            raise Unspecified("no names")
        node = At().visit(ast.parse(ast.unparse(stmt.value), mode="eval").body)
        name = operation(node)
        head = node.func if isinstance(node, ast.Call) else None
        for part in ast.iter_child_nodes(node):
            if part is head:
                if isinstance(head, ast.Attribute) and not isinstance(head.value, ast.Name):
                    raise Unspecified("a method of what is no name")
            elif not isinstance(
                part, (ast.operator, ast.unaryop, ast.cmpop, ast.expr_context)
            ) and not is_plain(part):
                raise Unspecified("more than one operation")
        used = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in self.env]
        operands = [self.env[n] for n in used]
        values = {n: k.value for n, k in self.env.items()}
        tree = ast.fix_missing_locations(ast.Expression(node))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            got = self.value(tree, values)
        results = list(got) if isinstance(got, tuple) else [got]
        if len(results) != len(targets) or isinstance(target, ast.Tuple) != isinstance(got, tuple):
            raise Unspecified("another number of results")
        for r in results:
            if not isinstance(r, (np.ndarray, np.generic)) and name != "number":
                raise Unspecified("no array")
            if np.asarray(r).dtype.name not in NAMES or np.size(r) > MOST:
                raise Unspecified("no type, or too large")
        with np.errstate(all="ignore"):
            off = self.off(name, node, operands, results)
        for t, r, o in zip(targets, results, off, strict=True):
            self.env[t.id] = Known(r, o, name)  # type: ignore[attr-defined]
        self.ran.append(name)
        return [t.id for t in targets]  # type: ignore[attr-defined]

    @staticmethod
    def value(tree: ast.Expression, values: dict[str, Any]) -> Any:
        """What an expression is, of which functions are known by their text."""
        space = SPACE | values
        named: dict[str, Any] = {}

        class Lambdas(ast.NodeTransformer):
            def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
                f = eval(compile(ast.fix_missing_locations(ast.Expression(node)), "<lambda>", "eval"), space)
                SOURCES[f] = node
                named[f"__{len(named)}"] = f
                return ast.copy_location(ast.Name(f"__{len(named) - 1}", ast.Load()), node)

        tree = ast.fix_missing_locations(Lambdas().visit(tree))
        try:
            return eval(compile(tree, "<graph>", "eval"), space | named)
        finally:
            for f in named.values():
                SOURCES.pop(f, None)

    def off(self, name: str, node: ast.expr, operands: list[Known], results: list[Any]) -> list[float]:
        """By how much results may be off.

        Raises
        ------
        Unspecified
            If operands may be off, and that would show in a way that has no bound.
        """
        given = max((k.off for k in operands), default=0.0)
        r = results[0]
        if name in MOVES:
            masks = [k.value for k in operands[1:] if np.asarray(k.value).dtype == bool]
            if name == "item" and any(
                np.shape(m) != np.shape(operands[0].value)[: np.ndim(m)] for m in masks
            ):
                raise Unspecified("a mask of nothing, which NumPy takes for any length")
            return [given] * len(results)
        if name not in ONE and name not in ROUNDED:
            raise Unspecified(f"an operation that is not known: {name}")
        numbers = [k.value for k in operands if isinstance(k.value, (np.ndarray, np.generic))]
        self.check_meaning(name, numbers, r)
        if given and (name not in SMOOTH or np.asarray(r).dtype.kind not in "fc"):
            raise Unspecified("made of what may be off")
        own = self.rounded(name, node, numbers, results)
        if given:
            values = [n for n in numbers if np.asarray(n).dtype.kind in "fc"]
            if not all(np.isfinite(n).all() for n in [*values, *results]):
                raise Unspecified("what may be off, and is not finite")
            own += self.carried(name, operands, numbers) + EPS[np.asarray(r).dtype.name] * size(r)
        if own > 1e-2 * (1 + size(r)) or own and not np.isfinite(own):
            raise Unspecified("a bound that means nothing")
        written = [
            np.float64(0)
            for n in ast.walk(node)
            if isinstance(n, ast.Constant) and type(n.value) in (int, float) and n.value == 0
        ]
        zeros = name in ZEROS and self.both_zeros([k.value for k in operands] + written)
        return [
            max(own, SIGN if zeros else 0.0) if np.asarray(x).dtype.kind in "fc" else 0.0 for x in results
        ]

    @staticmethod
    def both_zeros(numbers: list[Any]) -> bool:
        """True if there are zeros of both signs, of which an order takes either; an integer's has none."""
        signs = [bool(s) for x in numbers for s in np.signbit(parts(x)[parts(x) == 0])]
        return len(set(signs)) > 1

    @staticmethod
    def check_meaning(name: str, numbers: list[Any], r: Any) -> None:
        """Raise Unspecified for what NumPy and the compiler are free to do in their own ways."""
        kinds = {np.asarray(x).dtype.kind for x in numbers}
        if "c" in kinds and not all(
            np.isfinite(x).all() for x in [*numbers, r] if np.asarray(x).dtype.kind in "fc"
        ):
            raise Unspecified("complex numbers that are not finite")
        if name == "astype" and np.asarray(r).dtype.kind in "iu" and "f" in kinds:
            x = np.asarray(numbers[0], "f8")
            if not np.isfinite(x).all() or size(x) >= 2**31 or np.asarray(r).dtype.itemsize < 4:
                raise Unspecified("a float that the integer does not hold")
            if np.asarray(r).dtype.kind == "u" and (x < 0).any():
                raise Unspecified("a float that the integer does not hold")

    def rounded(self, name: str, node: ast.expr, numbers: list[Any], results: list[Any]) -> float:
        """What an operation rounds beyond what has one result."""
        r = results[0]
        kind = np.asarray(r).dtype.kind
        if kind not in "fc":
            return 0.0
        eps = EPS[np.asarray(r).dtype.name]
        bits = BITS[np.asarray(r).dtype.name]
        floats = [x for x in numbers if np.asarray(x).dtype.kind in "fc"]
        if name in ROUNDED:
            return 16 * eps * size(r[np.isfinite(r)] if np.ndim(r) else r if np.isfinite(r) else 0.0)
        if kind == "c" or any(np.asarray(x).dtype.kind == "c" for x in numbers):
            if name in ("multiply", "square", "matmul", "dot"):
                return self.product(numbers, r, eps, bits)
            if name in ("prod", "cumprod", "var", "std"):
                raise Unspecified("products of complex numbers")
            if name in ("divide", "abs", "absolute", "sqrt", "power"):
                return 16 * eps * size(r)
        op = self.op_of(node)
        if name in ("matmul", "dot"):
            return self.product(numbers, r, eps, bits)
        if name in ("sum", "mean", "cumsum", "trace") or op == "add":
            x = numbers[0]
            return self.summed(x, r, eps, bits) + (8 * eps * size(r) if name == "mean" else 0.0)
        if name in ("var", "std"):
            x = np.asarray(numbers[0])
            if not np.isfinite(parts(x)).all() or not np.isfinite(r).all():
                raise Unspecified("a variance of what is not finite")
            v = 16 * eps * max(1, x.size) * (1 + size(x)) ** 2
            return v if name == "var" else v**0.5
        if name in ("prod", "cumprod") or op == "multiply":
            x = np.abs(parts(numbers[0]))
            top = float(np.prod(np.maximum(x[np.isfinite(x)], 1.0)))
            low = float(np.prod(np.where(x > 0, np.minimum(x, 1.0), 1.0)))
            if not np.isfinite(x).all() or top > 1e30 or low < 1e-30:
                raise Unspecified("a product that may overflow on the way")
            if np.isin(x, (0.0, 0.5, 1.0, 2.0, 4.0)).all():
                return SIGN if (np.asarray(r) == 0).any() else 0.0
            return 4 * eps * max(1, x.size) * top
        if name == "tp.bincount" or name == "bincount":  # with weights
            return self.summed(floats[-1], r, eps, bits) if floats else 0.0
        if name in ("tp.at", "tp.scatter", "tp.reduce_by_key"):
            if op not in ("add", "multiply", "subtract") and not any(
                isinstance(n, ast.Constant) and n.value in ("add", "subtract", "multiply")
                for n in ast.walk(node)
            ):
                return SIGN if self.both_zeros(floats) else 0.0
            if all(is_sum_exact(x, bits - 2) and np.isfinite(parts(x)).all() for x in floats):
                return SIGN if (np.asarray(r) == 0).any() else 0.0
            raise Unspecified("sums at places, of what is rounded")
        if name in ("tp.reduce", "tp.scan"):
            if op in ("maximum", "minimum") or "if" in ast.unparse(node):
                return SIGN if self.both_zeros(floats) else 0.0
            if any(np.isnan(parts(x)).any() for x in floats):
                raise Unspecified(
                    "a function joins NaN: one that chooses by an order is not associative then"
                )
            if all(is_sum_exact(x, bits - 2) for x in floats) and np.isfinite(parts(r)).all():
                return SIGN if (np.asarray(r) == 0).any() else 0.0
            raise Unspecified("a function joins what is rounded")
        if name == "tp.histogram":
            raise Unspecified("floats that are counted with weights")
        return 0.0

    @staticmethod
    def op_of(node: ast.expr) -> str:
        """The ufunc that a reduction or a scan is of, if it is one."""
        if isinstance(node, ast.Call) and node.args and operation(node) in ("tp.reduce", "tp.scan"):
            first = node.args[0]
            return first.attr if isinstance(first, ast.Attribute) else ""
        if isinstance(node, ast.Call) and operation(node) == "tp.scatter" and len(node.args) > 3:
            last = node.args[3]
            return last.attr if isinstance(last, ast.Attribute) else "add"
        return ""

    @staticmethod
    def summed(x: Any, r: Any, eps: float, bits: int) -> float:
        """What a sum of exact terms may be off."""
        zero = SIGN if (np.asarray(r) == 0).any() and np.signbit(parts(x)[parts(x) == 0]).any() else 0.0
        if is_sum_exact(x, bits):
            return zero
        if not np.isfinite(parts(x)).all() or not np.isfinite(parts(r)).all():
            raise Unspecified("a sum of what is rounded and what is not finite")
        return 2 * eps * max(2, np.size(x)) * float(np.sum(np.abs(parts(x)))) + zero

    @staticmethod
    def product(numbers: list[Any], r: Any, eps: float, bits: int) -> float:
        """What sums of products of two operands may be off."""
        x, y = numbers[0], numbers[-1]
        if not all(np.isfinite(parts(v)).all() for v in (x, y, r)):
            raise Unspecified("a product of what is not finite")
        zero = SIGN if (parts(r) == 0).any() else 0.0
        n = 2 * max(1, min(np.size(x), np.size(y)))
        step = grid(x) * grid(y)
        if step and n * size(x) * size(y) / step < 2.0**bits:
            return zero
        return 4 * eps * n * size(x) * size(y) + zero

    @staticmethod
    def carried(name: str, operands: list[Known], numbers: list[Any]) -> float:
        """What a smooth operation makes of what operands are off."""
        first, last = operands[0], operands[-1]
        if name in ("sum", "cumsum", "trace"):
            return first.off * max(1, np.size(first.value))
        if name in ("multiply", "matmul", "dot"):
            n = 1 if name == "multiply" else max(1, min(np.size(first.value), np.size(last.value)))
            if len(operands) == 1:  # by a number, or by itself
                return n * first.off * 2 * (100.0 + size(first.value))
            return n * (size(first.value) * last.off + size(last.value) * first.off + first.off * last.off)
        return sum(k.off for k in operands) + (operands[0].off if len(operands) == 1 else 0.0)


NAMES = {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64", "complex128"}  # fmt: skip


@dataclass
class Outcome:
    """The roots with their bounds, or what the last statement raises, and where; and which operations there were."""

    roots: list[Known] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)
    raised: str = ""


def program(source: str) -> tuple[list[str], list[ast.stmt], list[str]]:
    """A program's parameters, its statements and its roots.

    Raises
    ------
    Unspecified
        If the text is no such program.
    """
    main = next((n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef)), None)
    last = main.body[-1] if main else None
    if not isinstance(last, ast.Return) or not isinstance(last.value, ast.Tuple):
        raise Unspecified("no program")
    if not last.value.elts or not all(isinstance(e, ast.Name) for e in last.value.elts):
        raise Unspecified("no roots")
    assert main is not None
    return [a.arg for a in main.args.args], main.body[:-1], [e.id for e in last.value.elts]  # type: ignore[attr-defined]


def expected(source: str, args: list[Any], raises: bool = False) -> Outcome:
    """What a program's roots are; with `raises` what its last statement raises, which is the first of the roots.

    Raises
    ------
    Unspecified
        If it has no one meaning.
    """
    names, body, roots = program(source)
    steps = Steps(names, args)
    for stmt in body[:-1] if raises else body:
        steps.run(stmt)
    if raises:
        assigned = (
            [n.id for n in ast.walk(body[-1]) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
            if body
            else []
        )
        if roots[0] not in assigned:
            raise Unspecified("what is asked for raises nothing")
        return Outcome([], steps.ran, raised(steps, body[-1]))
    if any(n not in steps.env or n in names for n in roots):
        raise Unspecified("a root that is no node")
    return Outcome([steps.env[n] for n in roots], steps.ran)


def raised(steps: Steps, stmt: ast.stmt) -> str:
    """Which exception a statement raises, and in which line.

    Raises
    ------
    Unspecified
        If it raises none.
    """
    try:
        steps.run(stmt)
    except (ValueError, IndexError, OverflowError) as err:
        return f"{type(err).__name__} at line {stmt.lineno}"
    raise Unspecified("nothing is raised")
