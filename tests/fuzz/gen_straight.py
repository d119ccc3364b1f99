"""Programs for straight.py: statements from the rows that gen_library.py knows, with types of its own among the arguments, and from the families below, which are no rows' expressions.

Each statement runs here, on the arguments of all calls, before it stands in the program: what NumPy refuses by type, and what has no one meaning, is left out. One that raises
for a value ends the program.
"""

from __future__ import annotations

import ast
import copy
import random
import re
from dataclasses import dataclass, field
from typing import Any

import gen_library
import library
import numpy as np
import stencils
import straight
import turned_away
from gen_library import Entry, Kind
from library import KNOWN
from reach import WAYS
from rules import COMPLEXES, FLOATS, INTS, STRONG, Array, IllTyped, Unspecified, klass

HALF = "float16"
ONE = ("sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh rint floor ceil trunc negative positive absolute fabs sign "
       "square conjugate invert logical_not rad2deg degrees deg2rad radians bitwise_count spacing isnan isinf isfinite signbit").split()  # fmt: skip
TWO = ("arctan2 hypot copysign nextafter add subtract multiply divide floor_divide remainder power bitwise_and bitwise_or bitwise_xor left_shift right_shift minimum maximum fmin fmax "
       "logaddexp logaddexp2 heaviside fmod float_power ldexp gcd lcm less less_equal equal not_equal greater greater_equal logical_and logical_or logical_xor").split()  # fmt: skip
# Folds; power and arctan2 reduce every item here, as docs/numpy.md says, and comparisons are for truth values alone.
FOLDS = "add multiply minimum maximum subtract hypot logaddexp logaddexp2 fmin fmax bitwise_and bitwise_or bitwise_xor logical_and logical_or logical_xor gcd lcm copysign".split()
AT = "add subtract multiply minimum maximum".split()
# The families of statements, methods of `Maker`, by how often they are asked.
FAMILIES = {
    "elementwise": 4, "outputs": 2, "reduction": 4, "folds": 4, "scan": 2, "assigned": 3, "chosen": 3, "expression": 3, "products": 2, "fourier": 2, "histograms": 2, "draws": 3, "structured": 4, "loops": 3,
    "arranged": 3, "around": 2, "calendar": 3, "maybe": 3, "axes": 3, "walks": 2, "row": 7,
}  # fmt: skip
REDUCED = "sum prod any all mean var std".split()
UNITS = ("Y", "M", "D", "D", "h", "s", "ms", "us", "ns")
NAT = -(2**63)
BITS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")

RECORDS = (
    "[('x', 'f8'), ('n', 'i4'), ('v', 'f4', (2,)), ('at', [('p', 'u1'), ('q', 'c8')])]",
    "[('x', 'f4'), ('n', 'i8'), ('v', 'f8', (3,)), ('at', [('p', 'i2'), ('q', 'c16')]), ('b', '?')]",
    "{'names': ['x', 'n', 'v', 'at'], 'formats': ['f8', 'u2', ('i4', (2, 2)), [('p', 'i8'), ('q', 'f2')]], 'offsets': [16, 8, 24, 48], 'itemsize': 64}",
)

DRAWS = [
    "random()", "random({n})", "random(({n}, 2))", "random({n}, np.float32)", "standard_normal({n})", "standard_normal({n}, np.float32)", "standard_exponential({n})", "standard_exponential({n}, method='inv')",
    "standard_gamma({p}, {n})", "integers({k})", "integers(0, {k}, {n}, np.uint8, endpoint=True)", "integers(-{k}, {k}, ({n}, 2), np.int32)", "integers(0, {k}, {n})", "choice({k}, {n})", "choice({k} + {n}, {n}, replace=False)",
    "choice(v0, {n})", "choice(x0, 2, axis=0)", "choice(4, {n}, p=(0.25, 0.25, 0.3, 0.2))", "choice({k} + {n}, {n}, replace=False, shuffle=False)", "shuffle(o0)", "shuffle(o0, axis=-1)", "permutation({k})", "permutation(x0)", "permutation(x0, axis=-1)", "permuted(x0)", "permuted(x0, axis=-1)",
    "permuted(x0, axis=0)", "beta({p}, {q}, {n})", "binomial({k}, 0.3, {n})", "negative_binomial({k}, 0.4, {n})", "chisquare({p}, {n})", "standard_t({p}, {n})", "dirichlet(({p}, {q}, 1.0), {n})", "exponential({p}, {n})", "rayleigh({p}, {n})",
    "f({p}, {q}, {n})", "gamma({p}, {q}, {n})", "geometric(0.3, {n})", "logseries(0.6, {n})", "gumbel({p}, {q}, {n})", "laplace({p}, {q}, {n})", "logistic({p}, {q}, {n})", "normal({p}, {q}, {n})", "normal(v0, {q})", "normal(v0, 2.0, (2, len(v0)))",
    "hypergeometric({k}, 7, 5, {n})", "lognormal({p}, 0.25, {n})", "multinomial({k}, (0.2, 0.3, 0.5), {n})", "noncentral_chisquare({p}, {q}, {n})", "noncentral_f({p}, {q}, 1.5, {n})", "pareto({p}, {n})", "power({p}, {n})",
    "weibull({p}, {n})", "zipf(1.0 + {p}, {n})", "poisson({p}, {n})", "poisson((1.0, 30.0), ({n}, 2))", "standard_cauchy({n})", "triangular(-1.0, {p}, 9.0, {n})", "uniform(-{p}, {q}, {n})", "vonmises({p}, {q}, {n})", "wald({p}, {q}, {n})",
]  # fmt: skip
# What np.random's functions have by other names, or not.
OF_A_GENERATOR = (
    "random({n}, np.float32)",
    "np.float32)",
    "method=",
    "integers",
    "axis=",
    "permuted",
    "shuffle=",
)


@dataclass
class Case:
    """A program, its arguments as text, and what CPython made of each call."""

    source: str
    calls: list[list[str]]
    options: dict[str, Any] = field(default_factory=dict)
    outcomes: list[straight.Outcome] = field(default_factory=list)
    seen: dict[tuple[str, str], int] = field(default_factory=dict)
    refused: int = 0
    why: list[str] = field(default_factory=list)


def space() -> dict[str, Any]:
    """What a program's text may name when CPython runs it."""
    return {
        "np": np,
        "prange": range,
        "jit": lambda f: f,
        "parallel": lambda f: f,
        "stencil": stencils.stencil,
    }


def generator(kind: str, seed: int) -> np.random.Generator:
    """A Generator, from its text."""
    return np.random.Generator(getattr(np.random, kind)(seed))


def records(dtype: str, n: int, layout: str, data: list[int], aligned: bool) -> np.ndarray:
    """Records, from their text: small numbers in all fields."""
    ty = np.dtype(ast.literal_eval(dtype), align=aligned)
    big = np.zeros(2 * n + 1 if layout == "S" else n, ty)
    out = big[1::2] if layout == "S" else big[::-1] if layout == "R" else big
    fill(out, iter(data * 40))
    return out


def fill(a: np.ndarray, data: Any) -> None:
    """Numbers into all fields."""
    for name in a.dtype.names or ():
        if a[name].dtype.names:
            fill(a[name], data)
        else:
            values = np.array([next(data) for _ in range(a[name].size)]).reshape(a[name].shape)
            a[name] = (
                values % 2
                if a[name].dtype.kind == "b"
                else np.abs(values)
                if a[name].dtype.kind == "u"
                else values / 4
                if a[name].dtype.kind in "fc"
                else values
            )


def value_of(text: str, earlier: list[Any]) -> Any:
    """An argument, which may name earlier ones."""
    from gen import make_array

    return eval(
        text, {"np": np, "mk": make_array, "A": earlier, "rng": generator, "rec": records, "ro": frozen}
    )


def build(texts: list[str]) -> list[Any]:
    """Arguments of a call."""
    out: list[Any] = []
    for text in texts:
        out.append(value_of(text, out))
    return out


def frozen(a: np.ndarray) -> np.ndarray:
    """The array, to be read only."""
    a.flags.writeable = False
    return a


class Shapes:
    """The extents of one call's arguments, and a text for each name of the families."""

    def __init__(self, rng: random.Random, first: bool, ndim: int) -> None:
        sizes = [3, 4, 5, 17] if first else [1, 2, 3, 4, 5, 8, 17] + [0] * (rng.random() < 0.15)
        sizes = [n for n in sizes if n < (18, 9, 6)[ndim - 1]]
        self.shape = tuple(rng.choice(sizes) for _ in range(ndim))
        self.count = rng.randint(2, 6)
        self.n = rng.choice([1, 2, 3, 5, 9])


class Maker:
    """Makes one program from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"straight {seed}")
        rng = self.rng
        self.ndim = rng.choice([1, 1, 2, 2, 2, 3])
        self.types: dict[str, str] = {}
        self.layouts: dict[str, str] = {}
        self.overlap = rng.random() < 0.12
        self.parallel = rng.random() < 0.35
        self.dtype = rng.choice((HALF, HALF, *STRONG, "float64", "float64", "int64"))
        self.shapes = [Shapes(rng, not k, self.ndim) for k in range(3)]
        self.made: dict[Kind, str] = {}
        self.numbers: dict[Kind, str] = {}
        self.names: list[str] = []
        self.texts: list[list[str]] = [[], [], []]
        self.heads: dict[str, str] = {}
        self.lines: list[str] = []
        self.returned: list[str] = []
        self.steps = [straight.Steps([], [], space()) for _ in range(3)]
        self.raised = False
        self.tries = 0
        self.refused = 0
        self.why: list[str] = []
        self.seen: dict[tuple[str, str], int] = {}
        self.seed = rng.randint(0, 2**32 - 1)
        self.turn = seed // 2000  # counts programs: each row, and each draw, has its turn

    # --- arguments ---

    def add(self, name: str, texts: list[str]) -> str:
        """A parameter, with its text in each call."""
        self.names.append(name)
        for own, text, steps in zip(self.texts, texts, self.steps, strict=True):
            own.append(text)
            steps.add(name, value_of(text, steps.args))
        return name

    def forget(self, mark: int) -> None:
        """Drop parameters that no statement needs."""
        for own, steps in zip(self.texts, self.steps, strict=True):
            for name in self.names[mark:]:
                del steps.env[name]
                steps.bounds.pop(name, None)
            del own[mark:], steps.args[mark:], steps.names[mark:]
        del self.names[mark:]

    def array(self, dtype: str, shape: tuple[int, ...], layout: str, low: int = -8, high: int = 8) -> str:
        """The text of an array of small numbers."""
        kind = Kind(len(shape), dtype, "", shape, low, high, False)
        text = gen_library.argument(self.rng, kind, Array(dtype, len(shape)), {n: n for n in shape}, layout)
        return text

    @staticmethod
    def take(name: str) -> str:
        """The parameter of a family's name: it is made when a statement stands (`need`)."""
        return name

    def need(self, name: str) -> None:
        """Make a parameter by its name's first letter: x and y are arrays of one shape, o one that is stored to, m a mask, v and u rows, k places, f floats, c complex numbers,
        z has no axes, h is a histogram, g a Generator, r are records, d dates, q durations, p an axis, n is None in some calls, and s is a stencil."""
        if name in self.names or name in self.heads:
            return None
        rng, kind = self.rng, name[0]
        if kind == "s":
            self.heads[name] = self.kernel(name)
            for steps in self.steps:
                straight.define(self.heads[name], steps.space)
            return None
        if kind == "p":
            axis = rng.randrange(self.ndim)
            self.add(
                name, [str(rng.choice([axis, axis, rng.randrange(-self.ndim, self.ndim)])) for _ in range(3)]
            )
            return None
        if kind in "dq":
            unit, layout = rng.choice(UNITS if kind == "d" else UNITS[2:]), rng.choice("CCCFSR")
            self.add(
                name,
                [
                    self.dates(f"{'datetime' if kind == 'd' else 'timedelta'}64[{unit}]", s.shape, layout)
                    for s in self.shapes
                ],
            )
            return None
        if kind == "n":
            texts = [self.array(self.dtype, s.shape, rng.choice("CFS")) for s in self.shapes]
            self.add(name, [t if rng.random() < 0.5 else "None" for t in texts])
            return None
        layout = rng.choice("CCCFSSRR")
        if kind == "g":
            bits = rng.choice(BITS)
            self.add(name, [f"rng({bits!r}, {rng.randint(0, 10**6)})" for _ in range(3)])
            return None
        if kind == "r":
            dtype, aligned = rng.choice(RECORDS), rng.random() < 0.5
            aligned = aligned and not dtype.startswith("{")
            layout = rng.choice("CCSR")
            self.add(
                name,
                [
                    f"rec({dtype!r}, {rng.choice([1, 3, 4, 7])}, {layout!r}, {[rng.randint(-9, 20) for _ in range(31)]}, {aligned})"
                    for _ in range(3)
                ],
            )
            return None
        dtype = self.dtype
        if kind == "m":
            dtype = "bool"
        elif kind == "k":
            dtype = rng.choice(("int64", "int64", "int32", "uint8", "int8"))
        elif kind == "f":
            dtype = rng.choice((*FLOATS, "float64"))
        elif kind == "c":
            dtype = rng.choice(COMPLEXES)
        elif kind in "yv" and rng.random() < 0.5:
            dtype = rng.choice((HALF, *STRONG))
        elif kind == "o" and rng.random() < 0.3:
            dtype = rng.choice((HALF, *FLOATS, "complex128"))
        elif kind == "i":
            dtype = rng.choice(INTS)
        read_only = kind in "xyvmkfc" and rng.random() < 0.1
        alias = (
            kind == "o"
            and self.overlap
            and "x0" in self.names
            and not any("ro(" in t[self.names.index("x0")] for t in self.texts)
        )
        if alias:
            view = rng.choice(["", "[::-1]", ".T" if self.ndim == 2 else "[:]"])
        texts = []
        for s in self.shapes:
            shape = {
                "v": s.shape[-1:],
                "u": s.shape[-1:],
                "k": (s.count,),
                "w": (s.shape[0],),
                "z": (),
                "h": (4,),
            }.get(kind, s.shape)
            low, high = (-8, 8)
            if kind == "k":
                low, high = (
                    0 if dtype[0] == "u" or rng.random() < 0.5 else -min(s.shape, default=1),
                    max(0, min(s.shape) - 1),
                )
            if alias:
                texts.append(f"A[{self.names.index('x0')}]{view}")
                continue
            own = layout if shape else "C"
            text = self.array(dtype, shape, own, low, high)
            texts.append(f"ro({text})" if read_only else text)
        self.add(name, texts)
        return None

    def dates(self, dtype: str, shape: tuple[int, ...], layout: str) -> str:
        """The text of an array of dates, or of durations."""
        rng = self.rng
        items = [NAT if rng.random() < 0.06 else rng.randint(-40, 100) for _ in range(int(np.prod(shape)))]
        return f"mk({dtype!r}, {shape}, {layout!r}, {np.array(items, np.int64).tobytes().hex()!r}, 0)"

    def kernel(self, name: str) -> str:
        """A stencil of arrays that have the program's number of axes."""
        rng = self.rng
        if self.dtype not in ("int64", HALF, "float32", "float64", "complex64", "complex128"):
            raise IllTyped("scalars of small integers compute in int64")
        two = rng.random() < 0.3
        options = [f"cval={rng.choice(['1', '0', '2'])}"] if rng.random() < 0.4 else []

        def item() -> str:
            places = [rng.choice((-2, -1, -1, 0, 0, 1, 1)) for _ in range(self.ndim)]
            return f"{rng.choice('ab') if two else 'a'}[{', '.join(map(str, places))}]"

        if self.ndim == 1 and rng.random() < 0.3:
            low, high = -rng.randint(0, 2), rng.randint(0, 2)
            options.append(f"neighborhood=(({low}, {high}),)")
            body = [
                f"t = a[{low}]",
                f"for i in range({low + 1}, {high + 1}):",
                f"    t {rng.choice(['+=', '-='])} a[i]",
                "return t",
            ]
            two = False
        elif rng.random() < 0.2 and "complex" not in self.dtype:
            body = [f"t = {item()}", f"u = {item()}", f"if {item()} > {item()}:", "    t = u", "return t"]
        else:
            terms = [
                f"{item()}{rng.choice(['', '', ' * 2', ' * ' + item()])}" for _ in range(rng.randint(1, 4))
            ]
            body = [
                "return "
                + "".join(f"{rng.choice([' + ', ' - ']) if k else ''}{t}" for k, t in enumerate(terms))
            ]
        head = f"@stencil({', '.join(options)})" if options else "@stencil"
        return (
            "\n".join([head, f"def {name}(a{', b' if two else ''}):", *("    " + line for line in body)])
            + "\n"
        )

    # --- families: each gives a statement's text ---

    def axis(self) -> str:
        """The text of an axis."""
        return str(self.rng.randrange(-self.ndim, self.ndim))

    def some(self, *texts: str, p: float = 0.5) -> str:
        """Some of these parameters."""
        return "".join(", " + t for t in texts if t and self.rng.random() < p)

    def elementwise(self) -> str:
        """Ufuncs with out= and where=, and without."""
        rng = self.rng
        one = rng.random() < 0.4
        name = rng.choice(ONE if one else TWO)
        args = (
            self.take("x0")
            if one
            else f"{self.take('x0')}, {self.take(rng.choice(['y0', 'y0', 'v0', 'x0', 'z0', 'y1']))}"
        )
        roll = rng.random()
        if roll < 0.3:
            return f"= np.{name}({args})"
        out = self.take(rng.choice(["o0", "o0", "o1"]))
        if roll < 0.6:
            return f"np.{name}({args}, out={out})"
        return f"np.{name}({args}, out={out}, where={self.take('m0')})"

    def outputs(self) -> str:
        """Ufuncs with two results."""
        rng = self.rng
        name = rng.choice(["divmod", "modf", "frexp"])
        args = (
            f"{self.take('x0')}, {self.take(rng.choice(['y0', 'v0']))}"
            if name == "divmod"
            else self.take("x0")
        )
        roll = rng.random()
        if roll < 0.4:
            return f"= np.{name}({args})"
        if roll < 0.7:
            return f"np.{name}({args}, out=({self.take('o0')}, {self.take('o1')}))"
        return f"= np.{name}({args}, out={rng.choice(['(None, %s)', '(%s, None)']) % self.take('o0')})"

    def reduction(self) -> str:
        """Reductions with where=, initial=, keepdims=, dtype= and out=."""
        rng = self.rng
        a = self.take("x0")
        name = rng.choice(
            [
                *REDUCED,
                "min",
                "max",
                "amin",
                "amax",
                "ptp",
                "argmin",
                "argmax",
                "count_nonzero",
                "median",
                "nansum",
                "nanprod",
                "nanmean",
                "nanmin",
                "nanmax",
                "nanvar",
                "nanstd",
            ]
        )
        axis = (
            f"axis={self.axis()}"
            if rng.random() < 0.6
            else f"axis={rng.choice(['(0, 1)', '(1, 0)', '(-1, 0)'])}"
            if self.ndim > 1 and rng.random() < 0.4 and "arg" not in name and name != "median"
            else ""
        )
        more = self.some("keepdims=True", p=0.3)
        if name in REDUCED and rng.random() < 0.5:
            more += f", where={self.take('m0')}"
        if name in ("min", "max", "amin", "amax") and rng.random() < 0.5:
            more += f", where={self.take('m0')}, initial={rng.choice(['3', '0', '-2'])}"
        if name in ("sum", "prod") and rng.random() < 0.3:
            more += f", initial={rng.choice(['3', '1', '2'])}"
        if name in ("sum", "prod", "mean", "nansum") and rng.random() < 0.25:
            more += f", dtype=np.{rng.choice(['float64', 'float32', 'complex128', 'float64' if 'mean' in name else 'int64'])}"
        if name in ("var", "std") and rng.random() < 0.3:
            more += ", ddof=1"
        if (
            axis
            and "keepdims" not in more
            and self.ndim == 2
            and "arg" not in name
            and name != "count_nonzero"
            and rng.random() < 0.25
        ):
            if (
                name in ("mean", "var", "std", "median", "nanmean", "nanvar", "nanstd")
                and klass(self.dtype) in "bi"
            ):
                raise IllTyped("floats into integers")
            if name in ("var", "std", "nanvar", "nanstd") and klass(self.dtype) == "c":
                raise IllTyped("a variance is real; NumPy divides it in out, as a complex number")
            return f"np.{name}({a}, axis=0, out={self.take('u0')}{more})"
        method = name in (*REDUCED, "min", "max", "argmin", "argmax") and rng.random() < 0.4
        args = (axis + more).removeprefix(", ")
        return f"= {a}.{name}({args})" if method else f"= np.{name}({a}{', ' if args else ''}{args})"

    def folds(self) -> str:
        """Methods of ufuncs."""
        rng = self.rng
        name, a = rng.choice(FOLDS), self.take("x0")
        how = rng.choice(["reduce", "reduce", "accumulate", "reduceat", "reduceat", "outer", "at"])
        axis = f", axis={self.axis()}" if rng.random() < 0.6 else ""
        if how == "outer":
            return f"= np.{rng.choice([*FOLDS, 'less', 'divide'])}.outer({self.take('v0')}, {self.take(rng.choice(['v0', 'v1', 'x0']))})"
        if how == "at":
            return f"np.{rng.choice(AT)}.at({self.take('o0')}, {self.take('k0')}, {rng.choice(['1', '2', self.take('z0')])})"
        if how == "reduceat":
            places = rng.choice([self.take("k0"), "(0, 2, 1)", "(0,)", "np.array([1, 0])"])
            return f"= np.{name}.reduceat({a}, {places}{axis})"
        more = self.some("keepdims=True", p=0.3) if how == "reduce" else ""
        if how == "reduce" and name in ("add", "multiply", "minimum", "maximum") and rng.random() < 0.4:
            more += f", initial={rng.choice(['1', '0', '3'])}, where={self.take('m0')}"
        return f"= np.{name}.{how}({a}{axis}{more})"

    def scan(self) -> str:
        """Running sums and differences."""
        rng = self.rng
        name = rng.choice(["cumsum", "cumprod", "nancumsum", "nancumprod", "diff", "cumulative_sum"])
        if name == "cumulative_sum":
            return f"= np.cumulative_sum({self.take('x0')}, axis={self.axis()}{self.some('include_initial=True')})"
        axis = f", axis={self.axis()}" if rng.random() < 0.7 else ""
        if name != "diff" and axis and rng.random() < 0.3:
            return f"np.{name}({self.take('x0')}{axis}, out={self.take('o0')})"
        return f"= np.{name}({self.take('x0')}{axis})"

    def assigned(self) -> str:
        """Stores into views: overlapping, by masks and by places."""
        rng = self.rng
        o = self.take("o0")
        x = rng.choice([self.take("x0"), self.take("y0"), o])
        y = "x0" if x == o else x  # copied to itself an array need not fit the mask: NumPy does not look
        texts = [f"{o}[...] = {x}", f"{o}[...] = {x} + {x}", f"{o}[1:] += {o}[:-1]", f"{o}[::-1] = {x}", f"{o}[:-1] = {o}[1:]", f"{o} += {x}", f"{o} *= 2", f"{o} -= {o}[::-1]",
                 f"{o}[{self.take('m0')}] = 2", f"{o}[{self.take('m0')}] += 1", f"{o}[{self.take('k0')}] = 3", f"{o}[{self.take('k0')}] += 1", f"{o}[..., {self.take('k0')}] = 1", f"{o}[1:-1, ...] = {o}[2:, ...] + {o}[:-2, ...]",
                 f"np.copyto({o}, {y}, casting='unsafe', where={self.take('m0')})", f"{o}.fill(3)", f"{o}.sort(axis={self.axis()})", f"{o}[0] = {x}[-1]"]  # fmt: skip
        m, k = self.take("m0"), self.take("k0")
        texts += [f"np.place({o}, {m}, (1, 2, 3))", f"np.place({o}, {m}, {x})", f"np.putmask({o}, {m}, 4)", f"np.putmask({o}, {m}, {x})", f"np.putmask({o}, {m}, {x}.ravel()[:3])",
                  f"np.put({o}, {k}, {x}, mode='wrap')", f"{o}.put({k}, {x}, mode='clip')", f"np.fill_diagonal({o}, {x})", f"np.put_along_axis({o}, np.argsort({x}, axis=0, kind='stable'), {y}, 0)"]  # fmt: skip
        if not self.overlap:  # what is stored before an index that is none differs
            texts += [f"np.put({o}, {k}, (1, 2))"]
        return rng.choice(texts)

    def chosen(self) -> str:
        """Indices of all kinds, to read."""
        rng = self.rng
        x, k, m = self.take("x0"), self.take("k0"), self.take("m0")
        z = self.take("z0")
        return "= " + rng.choice([
            f"{x}[{m}]", f"{x}[{k}]", f"{x}[..., {k}]", f"{x}[::-1]", f"{x}[1:, ...]", f"{x}[None, ..., ::2]", f"{x}[-1]", f"np.take({x}, {k}, axis={self.axis()})", f"np.where({m}, {x}, {self.take('y0')})", f"{x}[{m}].sum()",
            f"np.nonzero({m})", f"np.compress({m}.ravel()[:len({x})], {x}, axis=0)", f"np.extract({m}, {x})", f"{z}[()]", f"{z} + {x}", f"np.argwhere({m})", f"{x}[{k}][:, ...]", f"np.clip({x}, {rng.choice(['-1', '0'])}, {rng.choice(['2', '3'])})",
            f"{x}.flat[0]" if False else f"{x}.ravel()[0]", f"np.sort({x}, axis={self.axis()})", f"np.roll({x}, {rng.choice(['1', '-2'])}, axis={self.axis()})", f"np.flip({x}, {self.axis()})", f"np.concatenate(({x}, {self.take('y0')}), axis={self.axis()})",
            f"np.stack(({x}, {self.take('y0')}), axis={self.axis()})", f"np.repeat({x}, 2, axis={self.axis()})", f"np.swapaxes({x}, {self.axis()}, {self.axis()})", f"{x}.T.copy()", f"{x}.astype(np.{rng.choice(['float16', 'float32', 'float64', 'complex128'])})",
        ])  # fmt: skip

    def expression(self) -> str:
        """Operators on whole arrays."""
        rng = self.rng
        x, y = self.take("x0"), self.take(rng.choice(["y0", "v0", "y1", "z0"]))
        op = rng.choice(["+", "-", "*", "/", "//", "%", "&", "|", "^", "<", "<=", "==", "!=", ">", ">="])
        return "= " + rng.choice(
            [
                f"{x} {op} {y}",
                f"{x}[::-1] {op} {y}",
                f"({x} {op} {y}) * 2" if op in "+-*" else f"{x} {op} {x}",
                f"np.abs({x}) + {y}",
                f"-{x}",
                f"{x} * {x} - {y}",
                f"({x} * {x}).sum(axis={self.axis()})",
                f"{x} @ {x}.T" if self.ndim == 2 else f"{x} {op} 2",
            ]
        )

    def products(self) -> str:
        """Matrices."""
        x, v = self.take("x0"), self.take("v0")
        return "= " + self.rng.choice(
            [
                f"np.dot({x}, {v})",
                f"{x} @ {v}",
                f"np.inner({x}, {v})",
                f"np.outer({v}, {v})",
                f"np.vdot({v}, {v})",
                f"np.tensordot({x}, {v}, 1)",
                f"np.einsum('...j,j', {x}, {v})",
                f"np.matmul({x}, {v})",
                f"np.kron({v}, {v})",
                f"np.convolve({v}, {self.take('v1')})",
            ]
        )

    def fourier(self) -> str:
        """Transforms."""
        rng = self.rng
        name = rng.choice(
            [
                "fft",
                "ifft",
                "rfft",
                "irfft",
                "hfft",
                "ihfft",
                "fft2",
                "ifft2",
                "rfft2",
                "irfft2",
                "fftn",
                "ifftn",
                "rfftn",
                "irfftn",
            ]
        )
        real = name in ("rfft", "ihfft", "rfft2", "rfftn")
        a = self.take("f0" if real or rng.random() < 0.4 else "c0")
        norm = self.some("norm='ortho'", "norm='forward'", p=0.25)
        norm = norm if norm.count("norm") < 2 else ", norm='backward'"
        if name[-1] in "n2":
            axes = (
                f", axes={rng.choice(['(0, 1)', '(1, 0)', '(-1, 0)', '(0,)', '(1,)'])}"
                if self.ndim > 1 and rng.random() < 0.5
                else ", axes=(0,)"
                if self.ndim == 1
                else ""
            )
            count = axes.count("0") + axes.count("1") if axes else 2
            sizes = (
                f", s=({', '.join(str(rng.randint(1, 9)) for _ in range(count))}{',' if count == 1 else ''})"
                if axes and rng.random() < 0.4
                else ""
            )
            return f"= np.fft.{name}({a}{sizes}{axes}{norm})"
        n = f", n={rng.randint(1, 12)}" if rng.random() < 0.4 else ""
        axis = f", axis={self.axis()}" if rng.random() < 0.5 else ""
        return f"= np.fft.{name}({a}{n}{axis}{norm})"

    def histograms(self) -> str:
        """Histograms over one axis and several."""
        rng = self.rng
        a, b, w = self.take("f0"), self.take("f1"), self.take("f2")
        weights = f", weights={w}.ravel()" if rng.random() < 0.4 else ""
        density = self.some("density=True", p=0.3)
        ranges = self.some("range=((-2.0, 2.0), (-1.0, 3.0))", p=0.3)
        bins = rng.choice(
            ["4", "(3, 5)", "(3, np.array([-2.0, 0.0, 0.5, 2.0]))", "([-1.0, 0.0, 1.0], 2)", "3"]
        )
        return "= " + rng.choice([
            f"np.histogram2d({a}.ravel(), {b}.ravel(), {bins}{ranges}{density}{weights})", f"np.histogramdd(({a}.ravel(), {b}.ravel()), {bins if bins[0] == '(' and '[' not in bins else '(2, 3)'}{ranges}{density}{weights})",
            f"np.histogram({a}, {rng.choice(['4', 'np.array([-2.0, 0.0, 0.5, 2.0])'])}{density})", f"np.histogramdd(({a}.ravel(), {b}.ravel(), {w}.ravel()), (2, 1, 3){density})", f"np.digitize({a}, np.array([-1.0, 0.25, 2.0]){self.some('right=True')})",
            f"np.searchsorted(np.array([-1.0, 0.25, 0.25, 2.0]), {a}{self.some(chr(115) + 'ide=' + repr('right'))})",
        ])  # fmt: skip

    def draws(self) -> str:
        """Numbers of a Generator that is an argument, or of np.random."""
        rng = self.rng
        text = DRAWS[self.turn % len(DRAWS)] if self.asked() else rng.choice(DRAWS)
        module = rng.random() < 0.3 and not any(t in text for t in OF_A_GENERATOR)
        text = text.format(
            n=rng.choice([1, 2, 3, 6]),
            p=rng.choice([0.5, 1.0, 2.5, 7.0]),
            q=rng.choice([0.25, 1.0, 3.0]),
            k=rng.choice([5, 9, 40, 100]),
        )
        for name in ("v0", "x0", "o0"):
            if name in text:
                self.take(name)
        if module and text.startswith(("shuffle", "permutation(x", "choice")):
            module = False
        if module:
            text = text.replace("random((", "random_sample((")
            return f"= np.random.{text}"
        g = self.take("g0")
        return f"{g}.{text}" if text.startswith("shuffle") else f"= {g}.{text}"

    def structured(self) -> str:
        """Fields and records."""
        rng = self.rng
        r = self.take("r0")
        return rng.choice([
            f"= {r}['x'] * 2", f"= {r}['v'].sum(axis=-1)", f"= {r}['at']['p']", f"= {r}['at']['q'] + 1", f"= {r}[1:]", f"= {r}[::-1]['x']", f"= {r}.copy()", f"= np.zeros_like({r})", f"= {r}[{r}['x'] > 0]", f"= {r}[np.array([0, -1, 0])]",
            f"= {r}[0]['n']", f"= {r}[-1].copy()", f"{r}['x'] += 1", f"{r}['x'][1:] = {r}['x'][:-1]", f"{r}['v'][..., 0] = {r}['x']", f"{r}[0] = {r}[-1]", f"{r}[:-1] = {r}[1:]", f"{r}['at']['p'] = 3", f"= np.sort({r}['x'])", f"= np.argsort({r}['n'], kind='stable')",
            f"= {r}['x'].max()", f"= ({r}['x'] * {r}['n']).sum()", f"= np.where({r}['n'] > 2, {r}['x'], 0)", f"= np.unique({r}['n'])", f"= {r}['v'] @ {r}['v'].T" if False else f"= {r}['v'] * {r}['v']", f"{r}['n'][{r}['n'] > 3] = 1", f"= np.cumsum({r}['x'])",
            f"for i in range(len({r})):\n    {r}[i]['n'] = {r}[i]['n'] + 2", f"for i in range(len({r})):\n    {r}[i]['at']['p'] = i", f"np.add.at({r}['x'], np.array([0, 0]), 1.5)", f"np.multiply({r}['x'], 2, out={r}['x'])", f"= np.flip({r}['x'])", f"= {r}['x'].reshape(-1, 1).copy()" if False else f"= np.stack(({r}['x'], {r}['x']))",
            f"for i in prange(len({r})):\n    {r}[i]['x'] = {r}[i]['x'] * 2", f"for i in range(len({r})):\n    {r}[i]['v'][...] = i", f"= {r}['at']", f"= np.concatenate(({r}['x'], {r}['x']))", f"= {r}['x'].astype(np.float32)",
        ])  # fmt: skip

    def loops(self) -> str:
        """Iterables of arrays, and loops over a prange that accumulate into arrays."""
        rng = self.rng
        x, o, h, v = self.take("x0"), self.take("o0"), self.take("h0"), self.take("v0")
        k = self.take("k0")
        indices = ", ".join("ijl"[: self.ndim])
        index = f"({indices}{',' if self.ndim == 1 else ''})"
        return rng.choice([
            f"t = np.zeros({x}.size, {x}.dtype)\nj = 0\nfor e in {x}.flat:\n    t[j] = e\n    j += 1", f"t = np.zeros({x}.shape, {x}.dtype)\nfor {index}, e in np.ndenumerate({x}):\n    t[{indices}] = e", f"for {index} in np.ndindex({x}.shape):\n    {o}[{indices}] = {x}[{indices}]",
            f"for i in prange({x}.shape[0]):\n    {o}[i] = {x}[i]", f"for i in prange({k}.size):\n    {h}[{k}[i] % 4] += 1", f"for i in prange({x}.shape[0]):\n    {o}[i] += {x}[i]", f"t = np.zeros_like({x}[0])\nfor i in prange({x}.shape[0]):\n    t {'|=' if self.dtype == 'bool' else '+='} {x}[i]" if self.ndim > 1 else f"for i in prange(len({x})):\n    {h}[i % 4] += 2",
            f"for i in prange({v}.size):\n    {h}[i % 4] += 3", f"for i, e in enumerate({x}):\n    {o}[i] = e", f"for e, w in zip({o}, {x}):\n    e[...] = w" if self.ndim > 1 else f"for i, e in enumerate({x}[::-1]):\n    {o}[i] = e", f"for i in range({x}.shape[0] - 1, -1, -1):\n    {o}[i] = {x}[i]",
            f"t = np.full(4, 0, np.int64)\nfor i in prange({x}.size):\n    t[i % 4] += i", "t = np.zeros((4, 2))\nfor i in prange(20):\n    t[i % 4] += i * 0.25", f"t = np.zeros((2, 3), np.float32)\nfor i in prange({x}.size):\n    t += np.float32(0.5)",
        ])  # fmt: skip

    def arranged(self) -> str:
        """What is made, shown otherwise or asked of arrays, and stands in no row."""
        rng = self.rng
        x, v, a = self.take("x0"), self.take("v0"), self.axis()
        c = self.take("c0")
        return rng.choice([
            f"t = np.empty({x}.shape, {x}.dtype)\nt[...] = {x}", f"t = np.empty_like({x})\nt[...] = {x}", f"t = np.empty_like({c})\nnp.fft.{rng.choice(['fft', 'ifft', 'fftn'])}({c}, out=t)", f"= np.reshape({x}, (-1,))", f"= {x}.reshape(-1, 1)", f"= np.size({x})", f"= np.ndim({x})", f"= np.shape({x})", f"= {x}.nbytes",
            f"t = {x} + {x}\nwith np.errstate(all='ignore'):\n    t = {x} - t", f"= np.flatnonzero({self.take('m0')})", f"= np.take_along_axis({x}, np.argsort({x}, axis={a}, kind='stable'), {a})", f"= np.unwrap({self.take('f0')}, axis={a})", f"= np.lib.stride_tricks.as_strided({v}, {v}.shape, {v}.strides)",
            f"= np.finfo(np.{rng.choice(['float16', 'float32', 'float64'])}).{rng.choice(['eps', 'max', 'tiny', 'bits'])}", f"= np.iinfo(np.{rng.choice(INTS)}).{rng.choice(['min', 'max', 'bits'])}", f"= np.linalg.tensordot({x}, {v}, axes=1)", f"= {x}.ravel(order='F')", f"= np.asfortranarray({x})", f"= {x}.flatten()",
            f"= np.lexsort(({v}, {self.take('v1')}))", f"= np.argsort({x}, axis={a}, kind='stable')", f"= np.unique({x}, return_counts=True)", f"= np.unique({x}, return_index=True, return_inverse=True)", f"= np.isin({x}, {v})", f"= np.apply_along_axis(np.sum, {a}, {x})", f"= np.cumsum({x}[::-1], axis={a})", f"= np.nancumsum({x}.T)",
            f"= {x}[np.ix_((0, -1), (0,))]" if self.ndim == 2 else f"= {x}[np.ix_((0, -1))]", f"= np.zeros(3, np.promote_types({x}.dtype, np.int8))", f"= np.full_like({x}, 3)", f"= np.zeros_like({x}, dtype=np.float16)", f"= np.ones(({rng.randint(0, 4)}, 2), np.float16)", f"= np.arange({rng.randint(0, 9)}, dtype=np.float16)", "= np.linspace(0, 4, 5, dtype=np.float16)", "= np.eye(3, dtype=np.float16)", f"= {x}.real + {x}.imag", f"= np.conj({c}).T", f"= np.abs({c})", f"= np.angle({c})",
            f"= np.diff({x}, n=2, axis={a})", f"= np.pad({x}, 1, mode={rng.choice(['edge', 'wrap', 'constant'])!r})", f"= np.trapezoid({x}, axis={a})", f"= np.quantile({x}, 0.5, axis={a})", f"= np.average({x}, axis={a}, weights={v})", f"= np.broadcast_to({v}, {x}.shape)", f"= np.array_equal({x}, {x})", f"= np.isclose({x}, {self.take('y0')})", f"= np.round({x}, 1)",
        ])  # fmt: skip

    def around(self) -> str:
        """Stencils."""
        rng = self.rng
        self.need("s0")
        args = "x0, y9" if ", b)" in self.heads["s0"] else "x0"
        if "y9" in args and "y9" not in self.names:
            self.add("y9", [self.array(self.dtype, s.shape, rng.choice("CFSR")) for s in self.shapes])
        return rng.choice([f"= s0({args})", f"= s0({args})", f"s0({args}, out=o0)", f"= s0({args})[::-1]"])

    def calendar(self) -> str:
        """Dates and durations."""
        rng, a = self.rng, self.axis()
        unit = rng.choice(UNITS)
        return rng.choice([
            "= d0 - d1", "= d0 + q0", "= d0 - q0", "= q0 + q1", "= q0 - q1", "= q0 * 2", "= q0 * 0.5", "= q0 / 4", "= q0 // 3", "= q0 / q1", "= q0 // q1", "= q0 % q1", "= -q0", "= abs(q0)", "= np.abs(q0)", "= divmod(q0, q1)",
            f"= d0 {rng.choice(['<', '<=', '==', '!=', '>', '>='])} d1", f"= q0 {rng.choice(['<', '==', '>'])} q1", f"= np.{rng.choice(['minimum', 'maximum', 'fmin', 'fmax'])}(d0, d1)", f"= np.{rng.choice(['minimum', 'maximum'])}(q0, q1)",
            "= np.isnat(d0)", "= d0.astype(np.int64)", f"= d0.astype('M8[{unit}]')", f"= q0.astype('m8[{rng.choice(UNITS[2:])}]')", "= d0.view(np.int64)", "= q0.astype(np.float64)", f"= np.sort(d0, axis={a})", f"= np.argsort(d0, axis={a}, kind='stable')",
            "= np.unique(d0)", "= np.unique(q0, return_counts=True)", "= np.searchsorted(np.sort(d0.ravel()), d0.ravel())", "= d0.min()", f"= d0.max(axis={a})", f"= np.argmin(d0, axis={a})", "= np.argmax(q0)", f"= np.ptp(d0, axis={a})", f"= np.diff(d0, axis={a})",
            f"= q0.sum(axis={a})", "= np.sum(q0)", f"= np.mean(q0, axis={a})", f"= np.cumsum(q0, axis={a})", "= np.clip(d0, d1, d1 + q0)", "= np.where(m0, d0, d1)", f"= np.concatenate((d0, d1), axis={a})", f"= np.stack((d0, d0), axis={a})", "= np.repeat(d0, 2)",
            "= d0[m0]", "= d0[k0]", "= d0[::-1]", f"= np.take(d0, k0, axis={a})", f"= np.roll(q0, 1, axis={a})", f"= np.flip(d0, axis={a})", "= d0.T.copy()", "d0[...] = d1", "d0[m0] = np.datetime64('2020-02-29')", "d0[k0] = np.datetime64('NaT')", "d0[::-1] = d0", "d0 += q0", "q0 -= q1", "q0 *= 2",
            f"= np.zeros(3, 'M8[{unit}]')", f"= np.full((2, 2), np.datetime64('2021-03-04', '{unit}'))", "= np.arange(np.datetime64('2020-01-30'), np.datetime64('2020-02-03'))", f"= np.timedelta64(3, '{rng.choice(UNITS[2:])}') + q0", "= np.zeros_like(d0)", "= np.tile(q0, 2)", "= np.append(d0, d1)",
            "t = np.zeros(q0.shape, 'm8[ns]')\nfor i in prange(len(q0)):\n    t[i] = q0[i]", "t = np.zeros(len(d0), np.int64)\nfor i in range(len(d0)):\n    t[i] = d0[i].min().astype(np.int64)" if self.ndim > 1 else "t = d0.copy()\nfor i in range(len(d0)):\n    t[i] = d0[i] + q0[i]", "= np.partition(d0.ravel(), 0)[:1]",
        ])  # fmt: skip

    def maybe(self) -> str:
        """What may be None."""
        rng = self.rng
        edge = rng.choice(["3", "6", "16"])
        return rng.choice([
            f"t = None\nif x0.size > {edge}:\n    t = x0[::-1]\nif t is None:\n    t = np.zeros_like(x0)", f"t = x0[::-1] if x0.size > {edge} else None", f"t = (x0, None) if x0.size > {edge} else (None, x0.size)", "t = x0 if n0 is None else n0", "t = x0.copy()\nif n0 is not None:\n    t += n0",
            "t = None\nfor i in range(len(x0)):\n    if t is None:\n        t = x0[i].copy()\n    else:\n        t[...] = x0[i]" if self.ndim > 1 else "t = None\nfor i in range(len(x0)):\n    if m0[i]:\n        t = x0[i]", "t = None\nfor i in range(len(v0)):\n    if t is None and v0[i] == 2:\n        t = i",
            f"t = None\nif v0.size > {edge}:\n    t = v0.size\nt = t or 7", f"t = None if x0.size > {edge} else x0\nif t is not None:\n    t = t.sum(axis={self.axis()})", "t = n0\nif t is None:\n    t = x0\nt = np.flip(t)", f"t = None\nif x0.size > {edge}:\n    t = x0.shape", "= (n0 is None, n0)",
            f"t = None\nif x0.size > {edge}:\n    t = np.flatnonzero(m0)\nif t is not None:\n    t = t.max() if t.size else None", "t = None\nfor i in range(len(x0)):\n    t = x0[i:]", f"t = x0 if x0.size > {edge} else None\nif t is not None:\n    o0[...] = t",
        ])  # fmt: skip

    def axes(self) -> str:
        """Axes that are known when the program runs."""
        rng = self.rng
        more = self.some("keepdims=True", p=0.3)
        folds = f"{rng.choice(['sum', 'prod', 'min', 'max', 'mean', 'any', 'all', 'argmin', 'argmax', 'var', 'std', 'median', 'ptp', 'nansum', 'nanmax', 'count_nonzero'])}(x0, axis=p0{more})"
        where = f"{rng.choice(['sum', 'prod', 'mean', 'any', 'all', 'var'])}(x0, axis=p0, where=m0{more})"
        return "= " + rng.choice([
            f"np.{folds}", f"np.{folds}", f"np.{where}", f"np.{where}", f"x0.sum(axis=p0{more})", f"x0.max(axis=p0{more})", f"np.{rng.choice(['cumsum', 'cumprod', 'nancumsum'])}(x0, axis=p0)", "np.sort(x0, axis=p0)", "np.argsort(x0, axis=p0, kind='stable')", "np.flip(x0, axis=p0)", "np.roll(x0, 1, axis=p0)",
            "np.take(x0, k0, axis=p0)", "np.repeat(x0, 2, axis=p0)", "np.concatenate((x0, x0), axis=p0)", "np.stack((x0, x0), axis=p0)", "np.diff(x0, axis=p0)", "np.expand_dims(x0, p0)", "np.delete(x0, 0, axis=p0)", "np.trapezoid(x0, axis=p0)", "np.add.reduce(x0, axis=p0)",
            "np.maximum.accumulate(x0, axis=p0)", "np.take_along_axis(x0, np.argsort(x0, axis=p0, kind='stable'), p0)", "np.quantile(x0, 0.5, axis=p0)", "np.append(x0, x0, axis=p0)", "np.insert(x0, 0, 3, axis=p0)", "np.compress((True,), x0, axis=p0)", "np.unwrap(f0, axis=p0)", "np.gradient(f0, axis=p0)",
        ])  # fmt: skip

    def walks(self) -> str:
        """np.nditer and its kin, unique along axes, fits and roots."""
        rng, a = self.rng, self.axis()
        n = rng.randint(2, 5)
        return rng.choice([
            "t = np.zeros(x0.size, x0.dtype)\nj = 0\nfor e in np.nditer(x0):\n    t[j] = e\n    j += 1", "t = np.zeros(x0.size, x0.dtype)\nfor j, e in enumerate(np.nditer(x0)):\n    t[j] = e", "t = np.zeros(x0.size, x0.dtype)\nj = 0\nfor e in np.nditer(x0.T):\n    t[j] = e\n    j += 1",
            f"= np.unique(x0, axis={a})", f"= np.unique(x0, axis={a}, return_index=True)", f"= np.unique(x0, axis={a}, return_counts=True)", f"= np.unique(x0, axis={a}, return_inverse=True)", f"= np.unique(x0 > 0, axis={a})",
            f"= np.abs(np.polyval(v0[:{n}], np.roots(v0[:{n}])))", f"= np.roots(v0[:{n}]).size", f"= np.polyfit(np.arange(v0.size) * 1.0, v0, {rng.choice('012')})", "= np.polyfit(np.arange(v0.size), v0, 1, w=np.ones(v0.size))", "= np.take(x0, m0)", f"= np.take(x0, m0[..., 0], axis={a})", "= np.take(x0, True)",
            "= np.add.reduceat(v0, m0[..., 0].ravel())", "t = np.zeros(x0.size, x0.dtype)\nfor j, (e, w) in enumerate(zip(x0.flat, x0.flat)):\n    t[j] = w",
        ])  # fmt: skip

    # --- rows ---

    def row(self) -> str:
        """A row of the matrix of ways in, with arguments of types that the oracle does not know among others."""
        entries = gen_library.entries()
        entry = entries[self.turn % len(entries)] if self.asked() else self.rng.choice(entries)
        if "np.random.seed" in entry.text:
            raise IllTyped("seeds")
        extents = [gen_library.extents_of(self.rng, [k for _, k in entry.kinds], not n) for n in range(3)]
        kinds: dict[str, str] = {}
        literals: dict[str, str] = {}
        ndim = 0
        for param, kind in entry.kinds:
            if not kind.ndim:
                literals[param] = (
                    str(self.rng.randint(max(0, kind.low - 1), kind.high + 2))
                    if kind.dtype == "int64"
                    else self.rng.choice(["0.5", "1.25", "2.0"])
                )
                continue
            ty = gen_library.param_type(self.rng, kind)
            half = klass(ty.dtype) == "f" and not kind.form and self.rng.random() < 0.5
            ty = Array(HALF, ty.ndim) if half else ty
            layout = self.rng.choice("CCFSR")
            name = f"e{len(self.names)}"
            kinds[param] = self.add(
                name, [gen_library.argument(self.rng, kind, ty, e, layout) for e in extents]
            )
            ndim = ndim or ty.ndim
        tree = gen_library.Varied(self.rng, ndim, "partition" not in entry.text).visit(
            ast.parse(entry.text, mode="eval")
        )
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in kinds:
                node.id = kinds[node.id]
        tree = gen_library.Literals(literals).visit(tree)
        text = ast.unparse(ast.fix_missing_locations(tree))
        if gen_library.REAL & set(library.paths(tree)) and any(
            "'complex" in t
            for own in self.texts
            for t, n in zip(own, self.names, strict=True)
            if n in kinds.values()
        ):
            raise IllTyped("complex")
        return text if self.is_store(entry) else f"= {text}"

    @staticmethod
    def is_store(entry: Entry) -> bool:
        """True for a row that stores into its argument."""
        return (
            any(
                entry.text.startswith(f"np.{n}(")
                for n in (
                    "copyto",
                    "place",
                    "putmask",
                    "put",
                    "put_along_axis",
                    "fill_diagonal",
                    "random.shuffle",
                )
            )
            or ".sort(" in entry.text
            and not entry.text.startswith("np.")
            and "argsort" not in entry.text
        )

    # --- the program ---

    def asked(self) -> bool:
        """True for the first tries of a program, which are for what has its turn."""
        return self.tries <= 6 and not self.lines and not self.overlap

    def make(self) -> Case:
        """The program, its arguments, and what comes out."""
        rng = self.rng
        families = FAMILIES
        if self.overlap:
            families = {"elementwise": 3, "assigned": 3, "expression": 2, "outputs": 1}
            self.take("x0")
        wanted = rng.randint(2, 7)
        while len(self.lines) < wanted and self.tries < 40 and not self.raised:
            self.tries += 1
            mark = len(self.names)
            try:
                family = rng.choices([*families], [*families.values()])[0]
                if self.asked():
                    family = "draws" if rng.random() < 1 / 3 else "row"
                text = getattr(self, family)()
                for name in dict.fromkeys(re.findall(r"\b[a-z]\d\b", text)):
                    if name[0] != "e":
                        self.need(name)
                self.statement(text)
                self.seen["family", family] = self.seen.get(("family", family), 0) + 1
            except (IllTyped, Unspecified, SyntaxError) as err:
                self.refused += 1
                self.why.append(f"{type(err).__name__}: {err}")
                self.forget(mark)
        return self.case()

    def statement(self, text: str) -> None:
        """Take a statement up, if it has one meaning in all calls.

        Raises
        ------
        Unspecified
            If it has not.
        """
        name = f"t{len(self.lines)}"
        text = text if self.parallel else text.replace("prange(", "range(")
        if text.startswith("="):
            text = f"{name} {text}"
        elif text.startswith("t = "):
            text = re.sub(r"\bt\b", name, text)
        stmts = ast.parse(text).body
        envs = [step.env for step in self.steps]
        turned_away.before(text, envs, set(self.names))
        marks = [s.mark() for s in self.steps]
        try:
            raised = [s.all(stmts) for s in self.steps]
            if any(raised) and (
                self.rng.random() < 0.8 or re.search(r"\)\[\d|fftshift", text)
            ):  # a tuple's index, a size's here, is looked at when a function compiles
                raise Unspecified("raises")
            turned_away.after(text, name, envs)
        except Unspecified:
            for steps, mark in zip(self.steps, marks, strict=True):
                steps.back(mark)
            raise
        self.raised = any(raised)
        self.lines += ["    " + line for line in text.split("\n")]
        self.returned += [name] if text.startswith(f"{name} ") else []
        for path in [*library.paths(ast.parse(text)), *re.findall(r"\bg0\.(\w+)", text)]:
            self.seen["library", path] = self.seen.get(("library", path), 0) + 1

    def source(self, lines: list[str], named: list[str]) -> str:
        """The program's text."""
        top = "@parallel" if self.parallel else "@jit"
        named = [] if self.raised and not named else named
        last = (
            f"    return ({', '.join(named)}{',' if len(named) == 1 else ''})" if named else "    return ()"
        )
        seeds = [f"    np.random.seed({self.seed})"] if any("np.random." in line for line in lines) else []
        heads = [h for n, h in self.heads.items() if any(re.search(rf"\b{n}\(", line) for line in lines)]
        return "\n".join([*heads, top, f"def main({', '.join(self.names)}):", *seeds, *lines, last]) + "\n"

    def case(self) -> Case:
        """What is run."""
        if not self.lines:
            raise RuntimeError("no program")
        case = Case(
            self.source(self.lines, self.returned),
            copy.deepcopy(self.texts),
            {"straight": True},
            [],
            self.seen,
            self.refused,
            self.why,
        )
        case.outcomes = [straight.expected(case.source, build(own), space()) for own in case.calls]
        return case


def is_of(seed: int, library: bool, promotion: str) -> bool:
    """True if the program of a seed is a straight one: every second of those that call NumPy's functions alone."""
    return library and seed % 2 == 1 and promotion == "treadle" and KNOWN


def make_case(seed: int) -> Case:
    """The first program of a seed that has statements, with options."""
    for attempt in range(20):
        try:
            case = Maker(seed * 1000 + attempt).make()
            break
        except (RuntimeError, Unspecified):
            continue
    else:
        raise RuntimeError(f"no program for seed {seed}")
    safe = not any(o.raised == "IndexError" for o in case.outcomes)
    case.options |= {
        1: {"boundscheck": False} if safe else {},
        2: {"nogil": True},
        3: {"inline": "always"},
        4: {"cache": True},
        6: {"error_model": "numpy"},
    }.get(seed % 13, {})
    if seed % 3 == 0 and "def main()" not in case.source:
        case.options["way"] = WAYS[seed // 3 % len(WAYS)]
    return case
