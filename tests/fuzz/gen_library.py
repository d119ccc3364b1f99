"""Programs that call NumPy's functions of all kinds, and go on with what they give.

What is called comes from the rows of the matrix of ways in (tests/py/ways_library.py, ways_builtins.py): a row's text is a call that compiles, its arguments show of
what kind each has to be. So a new function with a row there is taken up without a list here. Arguments get other types, shapes, layouts and values of that kind,
variables of the program take their places, literals change, and parameters that the page of NumPy's functions lists are added (`OPTIONS`).
"""

from __future__ import annotations

import ast
import functools
import inspect
import random
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import library
import numpy as np
from gen_expr import Expressions
from rules import COMPLEXES, FLOATS, INTS, NONE, STRONG, Array, IllTyped, Tuple, Unspecified, klass

ROOT = Path(__file__).resolve().parents[2]

# Groups of rows that are no calls of functions by their values: numbers, which have rules of their own in the oracle, and what is known without running.
NOT_HERE = (
    "numpy_unary_scalar",
    "numpy_scalars",
    "numpy_attributes",
    "numpy_limits",
    "numpy_binary_mixed",
    "random_python",
)

# Parameters that calls get, and texts of their arguments; for one function alone where its name stands before.
OPTIONS: dict[str, tuple[str, ...]] = {
    "keepdims": ("True", "False"), "ddof": ("0", "1"), "invert": ("True",), "increasing": ("True", "False"), "endpoint": ("False",), "density": ("True",),
    "return_index": ("True",), "return_inverse": ("True",), "return_counts": ("True",), "equal_nan": ("True", "False"), "include_initial": ("True",),
    "full_matrices": ("False", "True"), "side": ("'left'", "'right'"), "right": ("True", "False"), "indexing": ("'ij'", "'xy'"), "edge_order": ("1", "2"),
    "norm": ("'ortho'", "'forward'", "'backward'"), "trim": ("'f'", "'b'", "'fb'"), "bitorder": ("'little'", "'big'"), "UPLO": ("'U'", "'L'"), "minlength": ("0", "5"), "decimals": ("0", "1", "-1"),
    "return_indices": ("True",), "left": ("-1.5",), "returned": ("True",), "sparse": ("True",), "order": ("'C'", "'F'"), "offset": ("-1", "0", "1"), "k": ("-1", "0", "1"),
    "method": ("'lower'", "'higher'", "'midpoint'", "'nearest'", "'linear'", "'hazen'", "'weibull'", "'median_unbiased'", "'interpolated_inverted_cdf'"),
    "sort.kind": ("'stable'", "'mergesort'"), "argsort.kind": ("'stable'",), "sort.order": (), "argsort.order": (), "partition.order": (), "argpartition.order": (),
    "pad.mode": ("'edge'", "'reflect'", "'symmetric'", "'wrap'", "'constant'"), "convolve.mode": ("'full'", "'valid'", "'same'"),
    "correlate.mode": ("'full'", "'valid'", "'same'"), "put.mode": ("'wrap'", "'clip'"), "choose.mode": ("'wrap'", "'clip'"),
    "ravel_multi_index.mode": ("'wrap'", "'clip'"), "unique.axis": (), "partition.axis": (), "argpartition.axis": (), "polyint.k": ("0.5",),
}  # fmt: skip


# Functions that are refused for complex numbers.
REAL = {
    "maximum.reduce", "minimum.reduce", "histogramdd", "histogram2d",
    "histogram", "histogram_bin_edges", "searchsorted", "min", "max", "amin", "amax", "ptp", "argmin", "argmax", "nanmedian", "percentile", "quantile", "nanpercentile", "nanquantile", "nanmin", "nanmax", "nanargmin", "nanargmax", "digitize",
}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """What an argument has to be: `form` is "well" (a matrix that is positive definite) or "rising"; extents tell which arguments have axes in common."""

    ndim: int
    dtype: str
    form: str
    extents: tuple[int, ...]
    low: int
    high: int
    holes: bool

    @property
    def type(self) -> Any:
        """The oracle's type."""
        return Array(self.dtype, self.ndim) if self.ndim else self.dtype


@dataclass(frozen=True)
class Entry:
    """A row's text: an expression, or a statement that stores; the group that it is of, and the kinds of what it names."""

    group: str
    text: str
    kinds: tuple[tuple[str, Kind], ...]
    draws: bool


def kind_of(value: Any) -> Kind | None:
    """The kind that an argument of a row has; None if it is nothing that is varied."""
    if not isinstance(value, (np.ndarray, np.generic, bool, int, float, complex)):
        return None
    a = np.asarray(value)
    if a.dtype.name not in STRONG or not a.size:
        return None
    form = ""
    if a.ndim == 2 and a.shape[0] == a.shape[1] and a.dtype.kind == "f" and np.array_equal(a, a.T):
        form = "well" if bool((np.linalg.eigvalsh(a) > 0).all()) else ""
    if a.ndim == 1 and a.size > 1 and a.dtype.kind in "if" and bool((np.diff(a) > 0).all()):
        form = "rising"
    whole = a.dtype.kind in "iub"
    low, high = (int(a.min()), int(a.max())) if whole else (-8, 8)
    if not whole and bool((a[np.isfinite(a)] >= 0).all()) and a.dtype.kind == "f":
        low = 0
    return Kind(
        a.ndim, a.dtype.name, form, a.shape, low, high, a.dtype.kind == "f" and bool(np.isnan(a).any())
    )


@functools.cache
def entries() -> list[Entry]:
    """Every row that can be varied."""
    sys.path.insert(0, str(ROOT / "tests/py"))
    import ways_features  # noqa: F401 - it fills the table, with what it imports
    import ways_rows

    out = []
    for row in ways_rows.ROWS:
        if not row.name.startswith(("numpy_", "library_", "random_numbers")) or row.name in NOT_HERE:
            continue
        args = row.calls[0]() if callable(row.calls[0]) else row.calls[0]
        out += [made(row.name, t, row.params.split(", "), args) for t in row.items]
    for (
        name,
        feature,
    ) in ways_rows.FEATURES.items():  # functions there: what they return, and statements that store
        code = feature.function.__code__
        source = ways_rows.SOURCES.get(name, "")
        if code.co_filename.endswith(".py"):
            source = textwrap.dedent(inspect.getsource(feature.function))
        if not source or not code.co_argcount or not feature.calls:
            continue
        tree = next(n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef))
        parts: list[ast.expr] = []
        for s in tree.body:
            if isinstance(s, ast.Return) and s.value is not None:
                parts += s.value.elts if isinstance(s.value, ast.Tuple) else [s.value]
            elif isinstance(s, ast.Expr):
                parts.append(s.value)
        params = list(code.co_varnames[: code.co_argcount])
        args = feature.calls[0]()
        if len(args) == len(params):
            out += [made(name, ast.unparse(p), params, args) for p in parts]
    return [e for e in out if e is not None]


def made(group: str, text: str, params: list[str], args: tuple) -> Entry | None:
    """The entry of a text, if all that it names is known."""
    used = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}
    own = {a.arg for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Lambda) for a in n.args.args}
    if (
        used - own - {"np"} - set(params)
        or "np.random.seed" in text
        or any(n in text for n in ("np.empty", "as_strided", "].partition("))
    ):
        return None
    kinds = {p: kind_of(a) for p, a in zip(params, args, strict=True) if p in used}
    if None in kinds.values():
        return None
    if not any(library.is_library(n, {}) for n in ast.walk(ast.parse(text)) if isinstance(n, ast.expr)):
        return None
    return Entry(group, text, tuple(kinds.items()), "random" in text)  # type: ignore[arg-type]


class Varied(ast.NodeTransformer):
    """Changes literals of a row's text and adds parameters."""

    def __init__(self, rng: random.Random, ndim: int, numbers: bool) -> None:
        self.rng, self.ndim, self.numbers = rng, ndim, numbers

    def options(self, path: str, name: str) -> tuple[str, ...]:
        """Texts of arguments for a parameter of a function."""
        own = OPTIONS.get(f"{path.split('.')[-1]}.{name}")
        if own is None and name == "axis" and self.ndim:
            return tuple(str(k) for k in range(-self.ndim, self.ndim))
        return own if own is not None else OPTIONS.get(name, ())

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Keywords."""
        self.generic_visit(node)
        path = ast.unparse(node.func).removeprefix("np.")
        words = library.parameters().get(path)
        if words is None or any(isinstance(a, ast.Starred) for a in node.args):
            return node
        given = {k.arg for k in node.keywords}
        for k in node.keywords:
            texts = self.options(path, k.arg or "")
            if texts and self.rng.random() < 0.5:
                k.value = ast.parse(self.rng.choice(texts), mode="eval").body
        if any(w.startswith("*") and w != "*" for w in words):
            return node
        plain = [w for w in words if w not in ("/", "*")]
        for w in plain[len(node.args) :]:
            name = w.rstrip("=")
            texts = self.options(path, name) if w.endswith("=") and name not in given else ()
            if texts and self.rng.random() < 0.2:
                value = ast.parse(self.rng.choice(texts), mode="eval").body
                node.keywords.append(ast.keyword(name, value))
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """Numbers."""
        if not self.numbers:
            return node
        if type(node.value) is int and self.rng.random() < 0.1:
            return ast.Constant(max(0, node.value + self.rng.choice([-1, 1])))
        if type(node.value) is float and self.rng.random() < 0.2:
            return ast.Constant(self.rng.choice([0.25, 1.0, 1.5, 3.0]))
        return node


class Calls(Expressions):
    """What `gen_stmt.Function` knows of NumPy's functions."""

    def st_library(self, depth: int) -> None:
        """A call of a function, and names for what it gives."""
        for _ in range(8):
            entry = self.rng.choice(self.gen.entries)
            if self.region is not None and entry.draws:
                continue
            try:
                text, types = self.library_text(entry)
                ty, exact, writable = library.sampled(text, types)
                writable &= not any(n in self.readonly for n, _ in types)  # it may be a view of that one
            except (IllTyped, Unspecified, SyntaxError, MemoryError):
                continue
            stores = ty == NONE
            if stores and (self.region is not None or any(n in self.readonly for n, _ in types)):
                continue
            if stores:
                return self.emit(text)
            return self.bind(text, ty, exact, writable)
        return self.st_assign(depth)

    def bind(self, text: str, ty: Any, exact: bool, writable: bool) -> None:
        """Names for a value, and for the items of a tuple."""
        name = self.fresh("t" if isinstance(ty, Tuple) else "n" if isinstance(ty, Array) else "v")
        self.emit(f"{name} = {text}")
        if isinstance(ty, Tuple):
            for k, item in enumerate(ty.items[:4]):
                self.bind(f"{name}[{k}]", item, exact, writable)
            return
        if self.indent == 1 and self.region is None:
            self.found.append(name)
        if exact and isinstance(ty, Array):
            self.arrays[name] = ty
            self.readonly |= set() if writable else {name}
        elif exact and isinstance(ty, str):
            self.env[name] = ty

    def library_text(self, entry: Entry) -> tuple[str, tuple[tuple[str, Any], ...]]:
        """A row's text with variables of the program, and the types of these."""
        names: dict[str, str] = {}
        texts: dict[str, str] = {}
        ndim = 0
        for param, kind in entry.kinds:
            if kind.ndim:
                names[param] = self.array_of(kind, entry)
                ndim = ndim or self.arrays[names[param]].ndim
            elif self.chance(0.5) or kind.dtype not in self.env.values():
                texts[param] = str(self.rng.randint(max(0, kind.low - 2), kind.high + 2)) if kind.dtype == "int64" else str(self.rng.choice([0.5, 1.25, 2.0, 3.0]))  # fmt: skip
            else:
                names[param] = self.gen.numbers.get(kind, texts.get(param, ""))
                if not names.pop(param) or self.gen.numbers[kind] not in self.env:
                    texts[param] = "3" if kind.dtype == "int64" else "1.5"
                else:
                    names[param] = self.gen.numbers[kind]
        # What a partition leaves beside the places asked for is in no order.
        tree = Varied(self.rng, ndim, "partition" not in entry.text).visit(ast.parse(entry.text, mode="eval"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in names:
                node.id = names[node.id]
        tree = Literals(texts).visit(tree)
        used = sorted({n.id for n in ast.walk(tree) if isinstance(n, ast.Name)})
        types = tuple(
            (n, self.arrays.get(n) or self.env[n]) for n in used if n in self.arrays or n in self.env
        )
        complexes = any(klass(getattr(t, "dtype", t)) == "c" for _, t in types)
        if complexes and REAL & set(library.paths(tree)):
            raise IllTyped("complex")
        if "put" in library.paths(tree) and "mode" not in ast.unparse(tree):
            raise Unspecified("what stands before a wrong place is stored or not, by the layout")
        return ast.unparse(ast.fix_missing_locations(tree)), types

    def array_of(self, kind: Kind, entry: Entry) -> str:
        """The array that was made for a kind, or now and then another one."""
        own = self.gen.made[kind]
        if not kind.form and self.chance(0.3):
            letters = {"b": "b", "i": "bi", "f": "bif", "c": "bifc"}[klass(kind.dtype)]
            fits = [n for n, a in self.arrays.items() if a.ndim == kind.ndim and klass(a.dtype) in letters]
            if fits:
                return self.rng.choice(fits)
        if own not in self.arrays:
            raise IllTyped("hidden here")
        return own


class Literals(ast.NodeTransformer):
    """Puts literals in place of names."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A name."""
        return ast.parse(self.texts[node.id], mode="eval").body if node.id in self.texts else node


# --- arguments ---


def param_type(rng: random.Random, kind: Kind) -> Any:
    """The type of an argument of a kind: the row's own, or another that it may have."""
    if not kind.ndim:
        return kind.dtype
    roll = rng.random()
    if kind.form == "well":
        return Array("float32" if roll < 0.3 else "float64", kind.ndim)
    if kind.dtype == "bool":
        return kind.type
    if klass(kind.dtype) == "i":
        return Array(kind.dtype if roll < 0.5 else rng.choice(INTS), kind.ndim)
    dtype = kind.dtype if roll < 0.45 else rng.choice(FLOATS) if roll < 0.7 else rng.choice((*INTS, "bool")) if roll < 0.92 else rng.choice(COMPLEXES)  # fmt: skip
    return Array(dtype if kind.form != "rising" or klass(dtype) in "if" else kind.dtype, kind.ndim)


def argument(rng: random.Random, kind: Kind, ty: Array, extents: dict[int, int], layout: str) -> str:
    """The text of an array of a kind."""
    shape = tuple(extents[n] for n in kind.extents)
    count = int(np.prod(shape))
    if kind.form == "well":
        b = np.array([rng.randint(-8, 8) / 8 for _ in range(count)]).reshape(shape)
        data = (b @ b.T / max(1, shape[0]) + np.eye(shape[0]) * rng.choice([1, 2, 4])).astype(ty.dtype)
    elif kind.form == "rising":
        steps = np.array([rng.randint(1, 5) for _ in range(count)])
        data = ((np.cumsum(steps) - rng.randint(0, 6)) / (1 if klass(ty.dtype) == "i" else 2)).clip(0 if ty.dtype[0] == "u" else -100, 120).astype(ty.dtype)  # fmt: skip
    else:
        data = np.array([item(rng, kind, ty.dtype) for _ in range(count)], dtype=ty.dtype).reshape(shape)
        if klass(ty.dtype) == "f" and (kind.holes or rng.random() < 0.1):
            hole = rng.choice([np.nan, np.nan, np.inf])
            data[np.array([rng.random() < 0.2 for _ in range(count)], dtype=bool).reshape(shape)] = hole
    return f"mk({ty.dtype!r}, {shape}, {layout!r}, {data.tobytes().hex()!r}, 0)"


def item(rng: random.Random, kind: Kind, dtype: str) -> Any:
    """A small number; sums and products of a few are exact."""
    letter = klass(dtype)
    low = max(kind.low, 0) if dtype[0] == "u" else kind.low
    if letter == "b":
        return rng.random() < 0.5
    if letter == "i":
        return rng.randint(low, kind.high)
    if letter == "c":
        return complex(rng.randint(-16, 16) / 4, rng.randint(-16, 16) / 4)
    return rng.randint(4 * low, 4 * kind.high) / 4


def extents_of(rng: random.Random, kinds: list[Kind], first: bool) -> dict[int, int]:
    """Extents for one call: the rows' own, or others, the same where the rows have the same."""
    wanted = sorted({n for k in kinds for n in k.extents})
    if first or rng.random() < 0.6:
        return {n: n for n in wanted}
    sizes = [1, 2, 3, 4, 5, 8, 17] + [0] * (rng.random() < 0.15)
    return {n: n if rng.random() < 0.3 else rng.choice(sizes) for n in wanted}
