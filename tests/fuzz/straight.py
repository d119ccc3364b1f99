"""Straight programs: NumPy's functions one after the other, of arguments that the oracle has no types for, and CPython itself says what comes out.

A program is a function whose statements are run one by one, on copies of the arguments, by CPython with NumPy 2. What a statement rounded has a bound (`library.bound`),
may be returned and is read by no other statement; all else has to agree to the bit: numbers, types, shapes, the arguments afterwards, and the states of Generators.
An exception is compared by its class. Statements are such that Python's scalars and the compiler's mean the same: numbers that come out are returned and not computed with.
The types beyond the oracle's are float16, records, Generators, dates, None, arrays without axes, read-only arrays, and arrays that overlap.
"""

from __future__ import annotations

import ast
import contextlib
import pickle
import warnings
from dataclasses import dataclass, field
from typing import Any

import library
import numpy as np
from rules import Unspecified

BOUNDS = library.BOUNDS | {"float16": 1e-2}
# Functions and methods that store into their first argument, or their own array.
STORES = {"copyto", "place", "putmask", "put", "put_along_axis", "fill_diagonal", "at", "sort", "partition", "fill", "shuffle"}  # fmt: skip
LARGE = {"float16": 100.0}  # beyond it results of this type have no bound that means something
# What is NumPy's to the bit whatever it is made of: draws, and transforms by NumPy's own loops.
TO_THE_BIT = ("np.fft.", "np.random.", "g0.")


def is_product(text: str) -> bool:
    """True for a statement with a product of matrices or vectors."""
    names = {
        "dot",
        "matmul",
        "inner",
        "outer",
        "vdot",
        "vecdot",
        "tensordot",
        "einsum",
        "linalg",
        "kron",
        "convolve",
        "correlate",
    }
    return any(
        isinstance(n, ast.MatMult) or isinstance(n, ast.Attribute) and n.attr in names
        for n in ast.walk(ast.parse(text))
    )


@dataclass
class Outcome:
    """What CPython made of a call: the values returned with their bounds (0: to the bit), or an exception, and the arguments afterwards with theirs."""

    values: list[Any] = field(default_factory=list)
    bounds: list[float] = field(default_factory=list)
    raised: str = ""
    args: list[Any] = field(default_factory=list)
    loose: list[float] = field(default_factory=list)


def statements(source: str) -> tuple[list[str], list[ast.stmt]]:
    """Names of main's parameters, and its statements."""
    main = next(n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef) and n.name == "main")
    return [a.arg for a in main.args.args], main.body


def leaves(value: Any) -> list[Any]:
    """Arrays and numbers of a value; of records those that their fields hold."""
    if isinstance(value, (tuple, list)):
        return [a for v in value for a in leaves(v)]
    if isinstance(value, (np.ndarray, np.void)) and value.dtype.names:
        return [a for n in value.dtype.names for a in leaves(value[n])]
    return [value]


def numbers(value: Any) -> list[np.ndarray]:
    """The numbers of a value, flat."""
    return [
        np.asarray(v).ravel()
        for v in leaves(value)
        if isinstance(v, (np.ndarray, np.generic, bool, int, float, complex))
    ]


def off(result: Any, text: str, before: dict[str, Any]) -> float:
    """By how much what a statement made may be off."""
    if "multivariate_normal" not in text and any(t in text for t in TO_THE_BIT):
        return 0.0
    made, given = tuple(numbers(result)), {k: tuple(numbers(v)) for k, v in before.items()}
    if (
        any(a.dtype == np.float16 for a in made)
        and not any(a.dtype == np.float16 for v in given.values() for a in v)
        and "float16" not in text
    ):
        raise Unspecified("float16 of small integers")
    if any(t in text for t in ("bincount(", "polyfromroots(")) and any(
        a.size == 0 for v in given.values() for a in v
    ):
        raise Unspecified("NumPy's is of one type where there is nothing, whatever the weights and roots")
    if ".at(" in text and any(a.dtype == "u8" and (a > 2**53).any() for v in given.values() for a in v):
        raise Unspecified("NumPy computes with a Python int beside uint64 in float64")
    if library.is_exact(text, made, tuple(given.values())):
        return library.tie(text, made, tuple(given.values()))
    if is_product(text) and any(
        a.dtype.kind in "fc" and not np.isfinite(a).all() for v in given.values() for a in v
    ):
        raise Unspecified(
            "a BLAS may skip what it multiplies by 0, and complex infinities have no one product"
        )
    scale = library.bound(made, given)
    for a in made:
        if a.size and scale > LARGE.get(a.dtype.name, np.inf):
            raise Unspecified("computed from large numbers")
    kinds = {
        a.dtype.name for v in (made, *given.values()) for a in v
    }  # it may have been rounded before it was converted
    if any(a.dtype.kind in "biu" and a.dtype.itemsize <= 2 for v in given.values() for a in v):
        kinds.add("float32")  # NumPy's loops for small integers
    return scale * max(BOUNDS[k] for k in kinds & set(BOUNDS))


def root(node: ast.expr) -> str:
    """The name that an expression of subscripts and attributes begins with, or nothing."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def stored(stmt: ast.stmt) -> set[str]:
    """Names of the arrays that a statement may store to."""
    names = set()
    for node in ast.walk(stmt):
        if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            names.add(root(node))
        elif isinstance(node, ast.AugAssign):
            names.add(root(node.target))
        elif isinstance(node, ast.For):
            names |= {n.id for n in ast.walk(node.iter) if isinstance(n, ast.Name)}
        elif isinstance(node, ast.Call):
            outs = [k.value for k in node.keywords if k.arg == "out"]
            names |= {n.id for out in outs for n in ast.walk(out) if isinstance(n, ast.Name)}
            if isinstance(node.func, ast.Attribute) and node.func.attr in STORES:
                names |= {root(a) for a in node.args[:1]} | {root(node.func.value)}
    return names


class Stopped(Exception):
    """A statement raised what the compiled program has to raise, too: the class's name."""


class Steps:
    """A program that runs statement by statement.

    Parameters
    ----------
    names : list of str
        Parameters.
    args : list
        Arguments, which it changes.
    """

    def __init__(self, names: list[str], args: list[Any], space: dict[str, Any]) -> None:
        self.names, self.args = names, args
        self.env: dict[str, Any] = dict(zip(names, args, strict=True))
        self.space = dict(space)
        self.bounds: dict[str, float] = {}
        self.stmt: ast.stmt = ast.Pass()

    def add(self, name: str, value: Any) -> None:
        """One more argument."""
        self.names.append(name)
        self.args.append(value)
        self.env[name] = value
        if isinstance(value, np.ndarray):  # it may show the memory of an earlier one
            shared = [
                b
                for n, b in self.bounds.items()
                if isinstance(self.env[n], np.ndarray) and np.may_share_memory(value, self.env[n])
            ]
            self.bounds[name] = max(shared, default=0.0)

    def mark(self) -> tuple:
        """What `back` needs."""
        held = [(n, v, v.copy()) for n, v in self.env.items() if isinstance(v, np.ndarray)]
        states = [
            (v.bit_generator, v.bit_generator.state)
            for v in self.env.values()
            if isinstance(v, np.random.Generator)
        ]
        return dict(self.env), held, states, dict(self.bounds), np.random.get_state()

    def back(self, mark: tuple) -> None:
        """Undo what was run since the mark."""
        self.env, held, states, self.bounds, numpys = mark
        for _, value, was in held:
            if value.tobytes() != was.tobytes():
                value[...] = was
        for bits, state in states:
            bits.state = state
        np.random.set_state(numpys)

    def all(self, stmts: list[ast.stmt]) -> str:
        """Statements, up to one that raises: the exception's name.

        Raises
        ------
        Unspecified
            If what they do has no one meaning.
        """
        for stmt in stmts:
            try:
                self.run(stmt)
            except Stopped as end:
                return str(end)
        return ""

    def run(self, stmt: ast.stmt) -> None:
        """One statement.

        Raises
        ------
        Unspecified
            If it reads what was rounded, or rounds what is too large.
        """
        used = {n.id for n in ast.walk(stmt) if isinstance(n, ast.Name) and n.id in self.env}
        if any(self.bounds.get(n) for n in used):
            raise Unspecified("approximate values in a statement")
        held = {n: v for n, v in self.env.items() if isinstance(v, (np.ndarray, np.void))}
        before = {n: v.copy() for n, v in held.items()}
        text, self.stmt = ast.unparse(stmt), stmt
        code = compile(ast.Module([stmt], []), "<straight>", "exec")
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            try:
                exec(code, dict(self.space), self.env)
            except (
                TypeError,
                NameError,
                AttributeError,
                KeyError,
                np.exceptions.AxisError,
                np.exceptions.ComplexWarning,
            ) as err:
                raise Unspecified(f"{text}: {err!r}") from None
            except (ValueError, IndexError, ZeroDivisionError, OverflowError, np.linalg.LinAlgError) as err:
                raise Stopped(type(err).__name__) from None
        given = {n: before.get(n, self.env[n]) for n in used}
        self.widths(given)
        if "out=" in text:
            self.apart(code, given)
        places = [self.env[n] for n in stored(stmt) if isinstance(self.env.get(n), np.ndarray)]
        for name, value in self.env.items():
            if name in held and value is held[name]:
                # What is stored may be what was there before; another rounding of it is not.
                if value.tobytes() != before[name].tobytes() or any(
                    np.may_share_memory(value, p) for p in places
                ):
                    self.bounds[name] = max(self.bounds.get(name, 0.0), off(value, text, given))
            elif name in self.bounds and isinstance(value, tuple) and self.shares(value, places):
                self.bounds[name] = max(self.bounds[name], off(value, text, given))
            elif name not in self.bounds or name in {
                t.id for t in ast.walk(stmt) if isinstance(t, ast.Name) and isinstance(t.ctx, ast.Store)
            }:
                self.bounds[name] = 0.0 if name in self.names else off(value, text, given)

    @staticmethod
    def shares(value: tuple, places: list[np.ndarray]) -> bool:
        """True if an array in a tuple may lie where a statement stores."""
        parts = [v for v in leaves(value) if isinstance(v, np.ndarray)]
        return any(np.may_share_memory(v, p) for v in parts for p in places)

    def widths(self, given: dict[str, Any]) -> None:
        """Look at the loops that ufuncs take, which an output of another type does not show.

        Raises
        ------
        Unspecified
            If one computes small integers in float16.
        """
        for node in ast.walk(self.stmt):
            ufunc = (
                getattr(np, node.func.attr, None)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
                else None
            )
            types = [
                given[a.id].dtype
                for a in (node.args if isinstance(node, ast.Call) else [])
                if isinstance(a, ast.Name) and isinstance(given.get(a.id), np.ndarray)
            ]
            if isinstance(ufunc, np.ufunc) and len(types) == ufunc.nin and np.dtype("f2") not in types:
                with contextlib.suppress(TypeError):  # it has no such loop
                    if np.dtype("f2") in ufunc.resolve_dtypes((*types, *[None] * ufunc.nout)):
                        raise Unspecified("float16 of small integers")

    def apart(self, code: Any, given: dict[str, Any]) -> None:
        """Run a statement with out= on copies, too: where an output that overlaps an input is converted and has where=, NumPy 2.4 may store into items that the mask leaves out.

        Raises
        ------
        Unspecified
            If it makes a difference that arrays overlap.
        """
        shared = [n for n in given if isinstance(given[n], np.ndarray)]
        if not any(a < b and np.may_share_memory(self.env[a], self.env[b]) for a in shared for b in shared):
            return
        alone = {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in given.items()}
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(code, dict(self.space), alone)
        out = {
            k.value.id
            for node in ast.walk(self.stmt)
            if isinstance(node, ast.Call)
            for k in node.keywords
            if k.arg == "out" and isinstance(k.value, ast.Name)
        }
        if any(n in shared and alone[n].tobytes() != self.env[n].tobytes() for n in out):
            raise Unspecified("NumPy stores something else where arrays overlap")

    def outcome(self, result: ast.expr | None) -> Outcome:
        """What is returned: names."""
        parts = result.elts if isinstance(result, ast.Tuple) else [] if result is None else [result]
        if any(not isinstance(p, ast.Name) for p in parts):
            raise Unspecified("more than names are returned")
        out = [p.id for p in parts if isinstance(p, ast.Name)]
        return Outcome(
            [self.env[n] for n in out],
            [self.bounds.get(n, 0.0) for n in out],
            "",
            self.args,
            [self.bounds.get(n, 0.0) for n in self.names],
        )


def define(source: str, space: dict[str, Any]) -> None:
    """Put the functions of a program in its space, but for main."""
    heads = [n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef) and n.name != "main"]
    exec(compile(ast.Module(heads, []), "<straight>", "exec"), space)


def expected(source: str, args: list[Any], space: dict[str, Any]) -> Outcome:
    """What CPython makes of a call."""
    names, body = statements(source)
    space = dict(space)
    define(source, space)
    steps = Steps(names, args, space)
    last = body[-1] if isinstance(body[-1], ast.Return) else None
    raised = steps.all(body[:-1] if last else body)
    return Outcome(raised=raised, args=args) if raised else steps.outcome(last.value if last else None)


# --- comparison ---


def same(want: Any, got: Any, bound: float) -> str:
    """Empty, or how a value differs."""
    if isinstance(want, (tuple, list)):
        if not isinstance(got, (tuple, list)) or len(got) != len(want):
            return f"{len(want)} items, got {got!r}"
        return next((t for w, g in zip(want, got, strict=True) if (t := same(w, g, bound))), "")
    if isinstance(want, np.random.Generator):
        return "" if state(want) == state(got) else "the state of a Generator"
    if (
        isinstance(want, np.ndarray)
        and not want.ndim
        and not want.dtype.names
        and not isinstance(got, np.ndarray)
    ):
        want = want[()]  # results without axes are numbers
    if want is None or isinstance(want, str):
        return "" if got == want else f"{want!r}, got {got!r}"
    if isinstance(want, (np.ndarray, np.void)) and want.dtype.names:
        if (
            not isinstance(got, (np.ndarray, np.void))
            or got.dtype.names != want.dtype.names
            or got.shape != want.shape
        ):
            return f"{want!r}, got {got!r}"
        return next((f"field {n}: {t}" for n in want.dtype.names if (t := same(want[n], got[n], bound))), "")
    if isinstance(want, np.ndarray) and (
        not isinstance(got, np.ndarray)
        and want.ndim
        or np.shape(got) != want.shape
        or np.asarray(got).dtype != want.dtype
    ):
        return f"{want!r}, got {got!r}"
    a, b = np.asarray(want), np.asarray(got)
    if (
        a.ndim == 0 and isinstance(got, (int, float, complex)) and a.dtype.kind in "biuf"
    ):  # numbers come back as Python's
        b = (
            b.astype(a.dtype)
            if a.dtype.kind == b.dtype.kind or a.dtype.kind == "u" and type(got) is int and got >= 0
            else b
        )
    if (
        a.shape != b.shape
        or a.dtype.kind != b.dtype.kind
        or isinstance(want, np.generic)
        and isinstance(got, np.generic)
        and a.dtype != b.dtype
    ):
        return f"{want!r}, got {got!r}"
    return "" if near(a, b, bound) else f"{want!r}, got {got!r}"


def near(a: np.ndarray, b: np.ndarray, bound: float) -> bool:
    """True if numbers agree to the bit (any NaN is a NaN), or within a bound."""
    if a.dtype.kind == "c":
        return near(a.real, b.real, bound) and near(a.imag, b.imag, bound)
    if a.dtype.kind in "mM":  # any NaT is a NaT
        return a.dtype == b.dtype and bool(np.array_equal(a.view("i8"), b.view("i8")))
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    with np.errstate(all="ignore"):
        equal = (a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b)
        close = np.abs(a.astype("f8") - b.astype("f8")) <= bound if bound else False
    return bool((equal | close).all())


def state(rng: Any) -> bytes:
    """Where a Generator has come to."""
    return pickle.dumps(rng.bit_generator.state)


def compare(want: Outcome, got: Any, error: BaseException | None, args: list[Any]) -> str:
    """Empty, or the first difference."""
    if want.raised:
        if error is None:
            return f"raises {want.raised}, got value {got!r}"
        return (
            ""
            if type(error).__name__ == want.raised
            else f"raises {want.raised}, got {type(error).__name__}: {error}"
        )
    if error is not None:
        return f"values, got {type(error).__name__}: {error}"
    if not isinstance(got, tuple) or len(got) != len(want.values):
        return f"{len(want.values)} values, got {got!r}"
    for k, (w, bound, g) in enumerate(zip(want.values, want.bounds, got, strict=True)):
        if text := same(w, g, bound):
            return f"value {k}: {text}"
    for k, (w, bound, g) in enumerate(zip(want.args, want.loose, args, strict=True)):
        if text := same(w, g, bound):
            return f"argument {k}: {text}"
    return ""
