"""Expressions of generated programs, made for a wanted type from the top down."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy_calls
from rules import (
    BINOPS,
    COMPARES,
    COMPLEXES,
    FLOATS,
    INTS,
    SCALARS,
    SIGNED,
    STRONG,
    UNSIGNED,
    WEAK,
    Array,
    IllTyped,
    arith,
    klass,
)  # fmt: skip

if TYPE_CHECKING:
    from gen import Generator

REALS = ("bool",) + INTS + FLOATS


@dataclass
class Helper:
    """A function that others may call."""

    name: str
    params: list[tuple[str, object, str | None]]
    ret: object
    ufunc: bool = False


@dataclass
class Func:
    """Type of a parameter that takes one of these functions."""

    names: list[str]


@functools.lru_cache(maxsize=None)
def producers(ty: str, numba: bool) -> dict[str, list[tuple[str, str]]]:
    """For each operator that can give type `ty`: the pairs of operand types that make it so."""
    out: dict[str, list[tuple[str, str]]] = {}
    for op in BINOPS:
        for a in SCALARS:
            for b in SCALARS:
                if a in WEAK and b in WEAK or op == "**" and not power_ok(a, b):
                    continue
                try:
                    if arith(op, a, b, numba) == ty:
                        out.setdefault(op, []).append((a, b))
                except IllTyped:
                    continue
    return out


def power_ok(a: str, b: str) -> bool:
    return klass(a) == "i" and klass(b) == "i" and a not in WEAK


def dtype_name(ty: str) -> str:
    """Name of the type in NumPy's namespace, the same in NumPy 1 and 2."""
    return "bool_" if ty == "bool" else ty


class Expressions:
    """What `gen_stmt.Function` knows of expressions; holds what is in scope."""

    def __init__(self, gen: Generator, name: str, params: list[tuple[str, object]], size: int) -> None:
        self.gen = gen
        self.rng = gen.rng
        self.name = name
        self.env: dict[str, str] = {n: t for n, t in params if isinstance(t, str)}
        self.arrays: dict[str, Array] = {n: t for n, t in params if isinstance(t, Array)}
        self.sizes: dict[str, int] = {}
        self.indices: list[str] = []
        self.frozen: set[str] = set()
        self.approx: list[str] = []
        self.perhaps: dict[str, str] = {}
        self.lines: list[str] = []
        self.indent = 1
        self.counter = 0
        self.budget = size
        self.loops = 0
        self.weight = 1
        self.parallel = False
        self.readonly: set[str] = set()  # arrays that are only read
        self.base: dict[str, str] = {}  # of a view: the array whose memory it shows
        self.region: Any = None  # the prange loop around
        self.views = False  # prange loops that store through views of views
        self.inside = 0  # blocks of try statements around
        self.caught = ""  # the name of the exception that is handled, or e
        self.params = [n for n, t in params if isinstance(t, str)]
        self.found: list[str] = []  # what NumPy's functions gave, at the top level
        self.early: list[str] = []  # what a return before the end gives

    # --- small helpers ---

    def chance(self, p: float) -> bool:
        """True with probability `p`."""
        return self.rng.random() < p

    def targets(self) -> list[str]:
        """Arrays that may be stored to."""
        return [n for n in sorted(self.arrays) if n not in self.readonly]

    def callable_here(self, helper: Helper) -> bool:
        """True for a function that may be called here: one that takes an array might store to it."""
        arrays = self.region is not None or self.readonly
        return helper.name != self.name and not (
            arrays and any(isinstance(t, Array) for _, t, _ in helper.params)
        )

    def fresh(self, prefix: str) -> str:
        """A new name."""
        self.counter += 1
        return f"{prefix}{self.counter}"

    def emit(self, text: str) -> None:
        """Add a line."""
        self.lines.append("    " * self.indent + text)

    # --- expressions ---

    def expr(self, ty: str, depth: int) -> str:
        """Text of an expression of type `ty`."""
        if ty in WEAK or depth <= 0 or self.chance(0.12):
            return self.leaf(ty)
        makers = [(6, self.binary)]
        if ty == "bool":
            makers = [(5, self.compare), (3, self.logic), (1, self.binary), (1, self.predicate)]
            if not self.gen.numba:
                makers += [(0.7, self.numpy_call)]
        elif ty in ("int8", "int16", "int32", "uint8", "uint16", "uint32"):
            makers = [(5, self.leaf_of), (3, self.special)]
        else:
            makers += [(2, self.special), (1, self.unary)]
        makers += [(0.7, self.ternary), (0.5, self.user_call)]
        maker = self.rng.choices([m for _, m in makers], [w for w, _ in makers])[0]
        return maker(ty, depth - 1)

    def leaf_of(self, ty: str, depth: int) -> str:
        """A leaf, as a maker."""
        return self.leaf(ty, depth)

    def leaf(self, ty: str, depth: int = 0) -> str:
        """A variable, an element, a literal or a conversion."""
        if ty in WEAK:
            return self.literal(ty)
        options = [n for n, t in self.env.items() if t == ty]
        options += [
            f"{n}[{self.index(n, a)}]"
            for n, a in self.arrays.items()
            if a.dtype == ty and (n[0] != "w" or self.chance(0.1))
        ]
        options += [n for n, t in self.gen.globals.items() if t == ty]
        if options and self.chance(0.85):
            return self.rng.choice(options)
        return self.conversion(ty, depth)

    def literal(self, ty: str) -> str:
        """A literal or a frozen Python scalar."""
        names = [n for n, t in self.gen.globals.items() if t == ty] + [
            n for n, t in self.env.items() if t == ty
        ]
        if names and self.chance(0.2):
            return self.rng.choice(names)
        if ty == "wint":
            return str(
                self.rng.choice([0, 1, 1, 2, 2, 3, 4, 5, 7, 8, 10, 16, 31, 63, 100, 127, 255, 1000, 65537])
            )
        if ty == "wfloat":
            return self.rng.choice(
                [
                    "0.5",
                    "0.1",
                    "1.5",
                    "2.0",
                    "3.0",
                    "0.25",
                    "1e-3",
                    "1e10",
                    "7.3",
                    "0.0",
                    "1e-40",
                    "math.pi",
                    "np.e",
                ]
            )
        return self.rng.choice(["1j", "0.5j", "2.5j"])

    def conversion(self, ty: str, depth: int) -> str:
        """``np.T(x)``, ``int(x)``, ``float(x)`` ... of something of another type."""
        kind = klass(ty)
        if kind == "c":
            src = self.rng.choice(REALS + COMPLEXES)
            if ty == "complex128" and self.gen.promotion == "treadle" and self.chance(0.3):
                return f"complex({self.any_leaf(FLOATS, depth)}, {self.any_leaf(FLOATS + SIGNED, depth)})"
            return f"np.{ty}({self.simple(src, depth)})"
        near = [t for t in self.near() if t in REALS and t != ty]
        src = self.rng.choice(near) if near and self.chance(0.7) else self.rng.choice(REALS)
        inner = self.simple(src, depth)
        if kind == "i" and src in FLOATS:
            top = self.rng.choice(
                [
                    "100.0",
                    {"int64": "9e18", "uint64": "1.8e19", "int32": "2e9", "uint32": "4e9"}.get(ty, "100.0"),
                ]
            )
            low = "0.0" if ty in UNSIGNED else f"-{top}"
            inner = f"min(max(np.{src}({low}), {inner}), np.{src}({top}))"
        if ty == "int64" and (src in SIGNED + FLOATS or src == "bool") and self.chance(0.5):
            return f"int({inner})"
        if (
            ty == "float64"
            and self.chance(0.5)
            and (self.gen.promotion == "treadle" or src not in ("float32", "bool"))
        ):
            return f"float({inner})"
        if ty == "bool":
            return f"bool({inner})"
        return f"np.{ty}({inner})"

    def near(self) -> list[str]:
        """Types of which there is a variable or an element."""
        return sorted(set(self.env.values()) | {a.dtype for a in self.arrays.values()})

    def simple(self, ty: str, depth: int) -> str:
        """A variable or element of the type, a literal converted to it, or (with depth) an expression."""
        if depth > 0 and self.chance(0.5):
            return self.expr(ty, depth - 1)
        options = [n for n, t in self.env.items() if t == ty]
        options += [
            f"{n}[{self.index(n, a)}]"
            for n, a in self.arrays.items()
            if a.dtype == ty and (n[0] != "w" or self.chance(0.1))
        ]
        if options:
            return self.rng.choice(options)
        kind = klass(ty)
        if self.chance(0.8):
            fits = {"b": REALS, "i": INTS + ("bool",), "f": REALS, "c": REALS + COMPLEXES}[kind]
            others = [n for n, t in self.env.items() if t in fits]
            others += [
                f"{n}[{self.index(n, a)}]"
                for n, a in self.arrays.items()
                if a.dtype in fits and (n[0] != "w" or self.chance(0.1))
            ]
            if others:
                return f"np.{dtype_name(ty)}({self.rng.choice(others)})"
        if kind == "b":
            return self.rng.choice(["True", "False"])
        if kind == "i":
            lo, hi = (0, 100) if ty in UNSIGNED else (-100, 100)
            return f"np.{ty}({self.rng.randint(lo, hi)})"
        return f"np.{ty}({self.rng.choice(['0.5', '1.25', '0.1', '3.0', '-0.7'])})"

    def any_leaf(self, types: tuple, depth: int = 0) -> str:
        """A leaf of one of the types."""
        return self.simple(self.rng.choice(types), depth)

    def index(self, name: str, arr: Array) -> str:
        """Text of a full index into an array."""
        return ", ".join(self.index_part(name, axis, arr.ndim) for axis in range(arr.ndim))

    def index_part(self, name: str, axis: int, ndim: int) -> str:
        """One axis: mostly in range."""
        size = f"len({name})" if axis == 0 and self.chance(0.5) else f"{name}.shape[{axis}]"
        ints = [n for n, t in self.env.items() if t in SIGNED]
        if self.chance(0.004) and ints:
            return self.rng.choice(ints)
        if self.indices and self.chance(0.6):
            i = self.rng.choice(self.indices)
            return self.rng.choices([f"{i} % {size}", i, f"-1 - {i} % {size}"], [0.83, 0.02, 0.15])[0]
        if ints and self.chance(0.5):
            return f"{self.rng.choice(ints)} % {size}"
        if name.startswith("w") and ints:
            return f"{self.rng.choice(ints)} % {size}"
        return self.rng.choice(["0", "0", "1", "-1", "-2"])

    def binary(self, ty: str, depth: int) -> str:
        """A binary operation that gives `ty`."""
        table = producers(ty, self.gen.numba)
        if not table:
            return self.leaf(ty)
        op = self.rng.choice(sorted(table))
        a, b = self.rng.choice(table[op])
        left = self.expr(a, depth)
        return f"({left} {op} {self.right(op, a, b, depth)})"

    def right(self, op: str, a: str, b: str, depth: int) -> str:
        """The right operand, guarded where the operator asks for it."""
        if op in ("/", "//", "%"):
            return self.divisor(b, depth)
        if op in ("<<", ">>"):
            return self.expr(b, depth) if self.chance(0.1) else self.small(b, 63, depth)
        if op == "**":
            return self.expr(b, depth) if self.chance(0.02) and b not in WEAK else self.small(b, 7, depth)
        if b == "wint" and a in UNSIGNED and self.chance(0.5):
            return self.rng.choice(["1", "3", "200"])
        return self.expr(b, depth)

    def divisor(self, ty: str, depth: int) -> str:
        """A right operand that is seldom zero."""
        if ty in WEAK:
            return {"wint": self.rng.choice(["1", "2", "3", "7", "-3", "10"]) if self.chance(0.95) else "0",
                    "wfloat": self.rng.choice(["0.5", "3.0", "-1.7", "1e-3"]), "wcomplex": "2.5j"}[ty]  # fmt: skip
        inner = self.expr(ty, depth)
        if ty == "bool" or klass(ty) == "c" or self.chance(0.06):
            return inner
        if ty in ("int64", "uint64") and self.chance(0.5):
            return f"({inner} | 1)"
        if ty in SIGNED + FLOATS and self.chance(0.3):
            return f"min({inner}, np.{ty}(-1))"
        return f"max({inner}, np.{ty}(1))"

    def small(self, ty: str, top: int, depth: int) -> str:
        """An integer between 0 and `top` (a power of two less one)."""
        if ty in WEAK:
            return str(self.rng.randint(0, top))
        if ty == "bool":
            return self.simple("bool", 0)
        if ty in ("int64", "uint64"):
            return f"({self.expr(ty, depth)} & {top})"
        return f"np.{ty}({self.expr('int64', depth)} & {top})"

    def unary(self, ty: str, depth: int) -> str:
        """``-x``, ``~x``, ``+x``, ``abs(x)``."""
        if ty == "int64":
            return f"{self.rng.choice('-+~')}{self.atom(self.rng.choice(SIGNED + ('bool',)), depth)}"
        if ty == "uint64":
            return f"{self.rng.choice('-+~')}{self.atom(self.rng.choice(UNSIGNED), depth)}"
        if klass(ty) == "f" and self.chance(0.4):
            return f"abs({self.expr(ty, depth)})"
        return f"{self.rng.choice('-+')}{self.atom(ty, depth)}"

    def atom(self, ty: str, depth: int) -> str:
        """An expression that binds tighter than a sign."""
        return f"({self.expr(ty, depth)})"

    def special(self, ty: str, depth: int) -> str:
        """Functions and attributes that give exactly `ty`."""
        kind = klass(ty)
        makers = [lambda: self.conversion(ty, depth)]
        if kind in "if":
            makers += [
                lambda: f"{self.rng.choice(['min', 'max'])}({self.expr(ty, depth)}, {self.expr(ty, depth)})"
            ]
        if kind == "i" and ty not in WEAK:
            makers += [lambda: f"abs({self.expr(ty, depth)})"]
        if ty == "int64":
            makers += [lambda: self.size_of(), lambda: self.float_to_int(depth)]
            if not self.gen.numba:
                makers += [lambda: self.int_builtin(depth)]
            makers += [
                lambda: (
                    f"divmod({self.expr('int64', depth)}, {self.divisor('int64', 0)})[{self.rng.randint(0, 1)}]"
                )
            ]
        if kind == "f":
            makers += [lambda: self.exact_math(ty, depth), lambda: self.exact_math(ty, depth)]
            if not self.gen.numba:
                makers += [lambda: f"round({self.expr(ty, depth)}, {self.rng.randint(-2, 4)})"]
            makers += [
                lambda: (
                    f"{self.expr('complex64' if ty == 'float32' else 'complex128', depth)}.{self.rng.choice(['real', 'imag'])}"
                )
            ]
        if not self.gen.numba:
            makers += [lambda: self.numpy_call(ty, depth)] * 2
        return self.rng.choice(makers)()

    def numpy_call(self, ty: str, depth: int) -> str:
        """A call of one of NumPy's elementwise functions."""
        name, types = self.rng.choice(numpy_calls.makers(ty))
        args = [self.expr(t, depth) for t in types]
        if name in ("left_shift", "right_shift") and self.chance(0.9):
            args[1] = self.small(types[1], 7, 0)
        return f"np.{name}({', '.join(args)})"

    def int_builtin(self, depth: int) -> str:
        """abs and round of a bool, sum of an array, pow with a modulus."""
        ints = [n for n, a in self.arrays.items() if a.dtype in SIGNED and a.ndim == 1]
        roll = self.rng.randrange(6)
        if roll == 4:
            return f"math.gcd({self.expr('int64', depth)}, {self.expr(self.rng.choice(SIGNED), depth)})"
        if roll == 5:
            return f"math.isqrt({self.expr('int64', depth)} & {2**62 - 1})"
        if roll == 0 and ints:
            return f"sum({self.rng.choice(ints)})"
        if roll == 1:
            base, power = self.expr("int64", depth), self.small("int64", 15, depth)
            return f"pow({base}, {power}, {self.divisor('int64', 0)})"
        if roll == 2:
            return f"round({self.expr('int64', depth)})"
        return f"{self.rng.choice(['abs', 'round'])}({self.expr('bool', depth)})"

    def size_of(self) -> str:
        """Length or size of an array, or a literal one in its place."""
        if not self.arrays:
            return "np.int64(3)"
        name = self.rng.choice(sorted(self.arrays))
        axis = self.rng.randrange(self.arrays[name].ndim)
        return self.rng.choice([f"len({name})", f"{name}.size", f"{name}.shape[{axis}]"])

    def float_to_int(self, depth: int) -> str:
        """round, floor, ceil or trunc of a float within range."""
        ty = self.rng.choice(FLOATS)
        top = self.rng.choice(["1e6", "9e18", "3e9"])
        guard = f"min(max(np.{ty}(-{top}), {self.expr(ty, depth)}), np.{ty}({top}))"
        return f"{self.rng.choice(['round', 'math.floor', 'math.ceil', 'math.trunc', 'int'])}({guard})"

    def exact_math(self, ty: str, depth: int) -> str:
        """Functions whose result is exact."""
        x = self.expr(ty, depth)
        roll = self.rng.randrange(5)
        if roll == 0:
            x = x if self.chance(0.2) else f"max(np.{ty}(0.0), {x})"
            return f"{self.rng.choice(['math', 'np'])}.sqrt({x})"
        if roll == 1:
            return f"{self.rng.choice(['math', 'np'])}.fabs({x})"
        if roll == 2 and self.chance(0.3) and not self.gen.numba:
            return f"math.{self.rng.choice(['remainder', 'nextafter'])}({x}, {self.expr(ty, depth)})"
        if roll == 2:
            return f"math.copysign({x}, {self.expr(ty, depth)})"
        if roll == 3 and not self.gen.numba:
            return f"math.fmod({x}, {self.divisor(ty, depth)})"
        return f"np.{self.rng.choice(['floor', 'ceil', 'trunc'])}({x})"

    def ternary(self, ty: str, depth: int) -> str:
        """``a if test else b``; its arms may have other types that join to `ty`."""
        a, b = ty, ty
        if ty == "float64" and self.chance(0.3):
            a, b = self.rng.choice(
                [("wfloat", "wfloat"), ("float32", "float64"), ("wint", "float32"), ("int64", "wfloat")]
            )
        elif ty == "int64" and self.chance(0.3):
            a, b = self.rng.choice([("wint", "wint"), ("bool", "int64"), ("int32", "wint")])
        return f"({self.expr(a, depth)} if {self.expr('bool', depth)} else {self.expr(b, depth)})"

    def compare(self, ty: str, depth: int) -> str:
        """A comparison, now and then chained."""
        a, b = self.rng.choice(STRONG), self.rng.choice(SCALARS)
        if self.chance(0.3):
            a, b = b, a
        ops = COMPARES
        if "c" in (klass(a), klass(b)):
            if self.chance(0.7):
                a, b = self.rng.choice(REALS), self.rng.choice(REALS)
            else:
                ops = ("==", "!=")
        text = f"{self.expr(a, depth)} {self.rng.choice(ops)} {self.expr(b, depth)}"
        if ops is COMPARES and self.chance(0.15):
            text += f" {self.rng.choice(ops)} {self.expr(self.rng.choice(REALS), depth)}"
        return f"({text})"

    def logic(self, ty: str, depth: int) -> str:
        """``and``, ``or``, ``not``."""
        a = self.expr("bool", depth)
        if self.chance(0.25):
            return f"(not {a})"
        return f"({a} {self.rng.choice(['and', 'or'])} {self.expr('bool', depth)})"

    def predicate(self, ty: str, depth: int) -> str:
        """isnan and its kind, or the truth of a number."""
        src = self.rng.choice(FLOATS)
        if self.chance(0.2):
            x = self.simple(self.rng.choice(FLOATS + COMPLEXES), depth)
            return f"({x} {self.rng.choice(['!=', '=='])} {x})"
        if self.chance(0.5):
            return f"{self.rng.choice(['math', 'np'])}.{self.rng.choice(['isnan', 'isinf', 'isfinite'])}({self.expr(src, depth)})"
        return f"bool({self.simple(self.rng.choice(STRONG), depth)})"

    def user_call(self, ty: str, depth: int) -> str:
        """A call of another function that gives `ty`."""
        found = [h for h in self.gen.helpers if h.ret == ty and self.callable_here(h)]
        if not found:
            return self.leaf(ty, depth)
        return self.call_text(self.rng.choice(found), depth)

    def call_text(self, helper: Helper, depth: int) -> str:
        """The text of a call with positional, keyword and omitted arguments."""
        parts, keywords, skip = [], [], False
        for name, ty, default in helper.params:
            if isinstance(ty, Array):
                fits = [n for n, a in self.arrays.items() if a == ty]
                text = (
                    self.rng.choice(fits)
                    if fits
                    else f"np.zeros({(3,) * ty.ndim}, np.{dtype_name(ty.dtype)})"
                )
            elif isinstance(ty, Func):
                text = self.rng.choice(ty.names)
            else:
                weak = {v: k for k, v in (("wint", "int64"), ("wfloat", "float64"))}.get(ty)
                text = self.expr(weak if weak and self.chance(0.2) else ty, depth)
            if default is not None and self.chance(0.5):
                skip = True
                continue
            if helper.ufunc:
                parts.append(text)
            elif skip or self.chance(0.15):
                skip = True
                keywords.append(f"{name}={text}")
            else:
                parts.append(text)
        self.rng.shuffle(keywords)
        return f"{helper.name}({', '.join(parts + keywords)})"
