"""Generator of typed programs: Python source, argument sets, all from one seed.

Expressions are made for a wanted type, top down: an operator that can give the type is chosen first and then, evenly, one
of the pairs of operand types that make it so; this is what spreads the programs over op x dtype. Guards keep most
programs alive (divisors away from zero, indices in range, floats within an integer's range before conversion) and are
left out now and then. The generator's idea of types need not be perfect: the oracle has the last word and refuses what
is ill-typed, and the caller asks for another program.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import gen_library
import library
import numpy as np
import oracle
from gen_expr import Func, Helper, dtype_name
from gen_stmt import Function
from gen_try import CLASSES, callee
from gen_ufunc import KINDS, Ufuncs
from reach import WAYS
from regions import Meeting
from rules import FLOATS, STRONG, Array, IllTyped, Unspecified, klass


@dataclass
class Call:
    """One set of arguments, each as Python text."""

    args: list[str]

    def build(self) -> list:
        """The arguments themselves; made anew at each call. A text may refer to earlier ones as ``A[0]``."""
        out: list = []
        for a in self.args:
            out.append(eval(a, {"np": np, "mk": make_array, "A": out}))
        return out


@dataclass
class Case:
    """A program with its argument sets."""

    seed: int
    source: str
    calls: list[Call] = field(default_factory=list)
    promotion: str = "treadle"
    options: dict[str, object] = field(default_factory=dict)
    signature: str = ""
    program: oracle.Program | None = field(default=None, repr=False, compare=False)

    def run_oracle(self, call: Call) -> tuple[oracle.Result, list]:
        """What the rules say of a call, and its arguments afterwards."""
        if self.program is None:
            self.program = oracle.Program(
                self.source, self.promotion, str(self.options.get("error_model", "python"))
            )
        args = call.build()
        try:
            result = self.program.call("main", args)
        except Meeting:
            return self.run_loose(call)
        except RecursionError:
            raise Unspecified("a recursion too deep for the rules") from None
        return result, args

    def run_loose(self, call: Call) -> tuple[oracle.Result, list]:
        """What plain code gives where iterations meet: a program that compiles, and is not told of, gives the same."""
        if not self.options.get("views"):
            raise Unspecified("iterations of a prange loop meet")
        args = call.build()
        program = oracle.Program(
            self.source, self.promotion, str(self.options.get("error_model", "python")), loose=True
        )
        result = program.call("main", args)
        if program.overlap:
            raise Unspecified("arguments that share memory")
        self.seen["prange view", "meets"] += 1
        result.meets = program.met
        return result, args

    @property
    def seen(self) -> Counter:
        """How often each operation ran with which types."""
        return Counter() if self.program is None else self.program.seen


def make_array(dtype: str, shape: tuple, order: str, data: str, offset: int = 0) -> np.ndarray:
    """An array from the hex text of its bytes in C order.

    Parameters
    ----------
    dtype : str
        Element type.
    shape : tuple of int
        The shape.
    order : str
        ``"C"``, ``"F"``, ``"S"`` (every second element of a larger array), ``"R"`` (reversed along the first axis), ``"M"``
        (out of alignment, and no whole number of items apart), ``"O"`` (out of alignment, side by side), ``"W"`` (the other byte order) or ``"B"`` (the first row repeated, read-only).
    data : str
        Bytes as hex digits.
    offset : int
        Unused elements before the first, so that the data starts off the allocation's alignment.

    Returns
    -------
    numpy.ndarray
        The array.
    """
    flat = np.frombuffer(bytes.fromhex(data), dtype=dtype).reshape(shape)
    if order == "B" and flat.size:
        return np.broadcast_to(flat[:1], shape)
    if order == "W":
        return flat.astype(flat.dtype.newbyteorder(">"))
    if order == "M":
        out = np.zeros(shape, dtype=[("pad", "u1"), ("item", dtype)])["item"]
        out[...] = flat
        return out
    if order == "O":
        out = np.zeros(flat.nbytes + 1, "u1")[1:].view(dtype).reshape(shape)
        out[...] = flat
        return out
    if order == "F":
        return np.array(flat, order="F")
    if order == "S":
        big = np.zeros(shape[:-1] + (2 * shape[-1] + 1,), dtype=dtype)
        out = big[..., 1::2]
    elif order == "R":
        out = np.zeros(shape, dtype=dtype)[::-1]
    else:
        base = np.zeros(flat.size + offset, dtype=dtype)
        out = base[offset:].reshape(shape)
    out[...] = flat
    return out


class Generator:
    """Makes one program from a seed."""

    def __init__(self, seed: int, promotion: str = "treadle", library: bool = False) -> None:
        self.seed = seed
        self.library = (
            1.0 if library else 0.22
        )  # the share of programs that call NumPy's functions of all kinds
        self.rng = random.Random(seed)
        self.promotion = promotion
        self.numba = promotion == "numba"
        self.globals: dict[str, str] = {}
        self.helpers: list[Helper] = []
        self.text: list[str] = []
        roll = 1.0 if self.numba or library else self.rng.random()
        self.parallel = roll < 0.25 if not library else self.rng.random() < 0.3
        self.host = 0.25 <= roll < 0.42
        self.long = False
        self.entries: list[gen_library.Entry] = []  # calls of NumPy's functions that programs are made of
        self.made: dict[gen_library.Kind, str] = {}  # the argument of a kind
        self.numbers: dict[gen_library.Kind, str] = {}
        self.ufuncs: dict[str, Any] = {}  # name: the oracle's ufunc; for compiled code to call

    def make(self) -> Case:
        """The program and its argument sets."""
        rng = self.rng
        for k in range(rng.randint(0, 2)):
            ty = rng.choice(["wint", "wfloat", "float32", "int8", "uint64", "float64"])
            value = {"wint": "11", "wfloat": "0.3"}.get(ty, f"np.{ty}(6)")
            self.globals[f"G{k}"] = (
                ty if not self.numba else {"wint": "int64", "wfloat": "float64"}.get(ty, ty)
            )
            self.text.append(f"G{k} = {value}")
        if not self.numba and rng.random() < 0.3:
            self.classes()
        for k in range(rng.choice([0, 0, 1, 2]) if not self.numba else 0):
            self.callee(f"x{k}")
        for k in range(rng.randint(0, 2)):
            self.helper(f"h{k}")
        if not self.numba and rng.random() < 0.25:
            self.special()
        made = Ufuncs(self)
        if self.host:
            return self.host_program(made)
        if not self.numba and library.KNOWN and rng.random() < self.library:
            return self.library_program()
        if (
            not self.numba
            and rng.random() < 0.25
            and (made.define("q0") if rng.random() < 0.7 else made.core("q0"))
        ):
            self.ufuncs = made.known
            helper = made.helper("q0")
            self.helpers += [helper] if helper else []
        many = rng.random() < 0.03
        params = self.params(rng.randint(1, 3), rng.randint(10, 30) if many else rng.randint(1, 3))
        huge = rng.random() < 0.02
        fn = Function(self, "main", params, rng.randint(100, 250) if huge else rng.randint(4, 22))
        fn.parallel = self.parallel
        if fn.parallel and rng.random() < 0.7:
            fn.st_prange(3)
        fn.body(rng.randint(60, 120) if huge else rng.randint(4, 12), 3)
        fn.finish(rng.randint(2, 12))
        self.add(fn, [n for n, _ in params])
        case = Case(self.seed, "\n".join(self.text) + "\n", promotion=self.promotion)
        case.options |= {"views": True} if fn.views else {}
        kinds = {n: rng.choice("CCCFSR") for n, t in params if isinstance(t, Array)}
        case.signature = f"({', '.join(type_text(t, kinds.get(n, '')) for n, t in params)})"
        plain = {
            n for n, t in params if t in ("bool", "int64", "float64", "complex128") and rng.random() < 0.6
        }
        self.long = rng.random() < 0.08
        for k in range(3):
            texts = [self.argument(n, t, kinds.get(n, ""), n in plain) for n, t in params]
            case.calls.append(Call(self.aliased(params, texts) if k == 2 and rng.random() < 0.4 else texts))
        return case

    def host_program(self, made: Ufuncs) -> Case:
        """Ufuncs, and a main that is plain Python."""
        rng = self.rng
        names = [f"q{k}" for k in range(rng.randint(1, 3))]
        for name in names:
            for _ in range(6):
                if made.core(name) if rng.random() < 0.3 else made.define(name):
                    break
        while not made.known:
            made.closed("q0")
        made.main()
        case = Case(self.seed, "\n".join(self.text) + "\n", promotion=self.promotion)
        for k in range(3):
            sizes = [rng.choice([0, 1, 2, 3, 3, 4, 5]) for _ in range(3)]
            if rng.random() < 0.7:
                sizes = [3 if rng.random() < 0.5 else max(1, sizes[0])] * 3
            if rng.random() < 0.08:
                sizes[2] = rng.choice([70, 513, 600])
            texts = []
            for name, ty in made.params:
                if isinstance(ty, Array):
                    texts.append(self.host_array(name, ty, sizes))
                else:
                    texts.append(self.argument(name, ty, "", rng.random() < 0.5))
            case.calls.append(
                Call(self.aliased(made.params, texts) if k == 2 and rng.random() < 0.4 else texts)
            )
        return case

    def library_program(self) -> Case:
        """A few of NumPy's functions, what they need as arguments, and statements of all kinds around."""
        rng = self.rng
        self.entries = rng.sample(gen_library.entries(), rng.randint(2, 6))
        kinds = list(dict.fromkeys(k for e in self.entries for _, k in e.kinds))
        params: list[tuple[str, object]] = []
        for kind in kinds:
            name = f"{'a' if kind.ndim else 'c'}{len(params)}"
            (self.made if kind.ndim else self.numbers)[kind] = name
            params.append((name, gen_library.param_type(rng, kind)))
        params += self.params(0, rng.randint(1, 2))
        fn = Function(self, "main", params, rng.randint(5, 14))
        fn.parallel = self.parallel
        fn.readonly = {n for k, n in self.made.items() if k.form}
        if any(e.draws for e in self.entries):
            fn.emit(f"np.random.seed({rng.randint(0, 2**32 - 1)})")
        for _ in range(rng.randint(1, 3)):
            fn.st_library(1)
        fn.body(rng.randint(2, 6), 2)
        fn.finish(rng.randint(2, 8))
        self.add(fn, [n for n, _ in params])
        case = Case(self.seed, "\n".join(self.text) + "\n", promotion=self.promotion)
        case.options |= {"views": True} if fn.views or fn.parallel else {}
        layouts = {n: rng.choice("CCCFSR") for n, t in params if isinstance(t, Array)}
        case.signature = f"({', '.join(type_text(t, layouts.get(n, '')) for n, t in params)})"
        plain = [t for t in ("bool", "int64", "float64", "complex128") if rng.random() < 0.5]
        for k in range(3):
            extents = gen_library.extents_of(rng, kinds, not k)
            texts = [gen_library.argument(rng, kind, ty, extents, layouts[n]) if kind.ndim else repr(rng.randint(max(0, kind.low - 2), kind.high + 2) if kind.dtype == "int64" else rng.choice([0.5, 1.25, 2.0]))
                     for kind, (n, ty) in zip(kinds, params, strict=False)]  # fmt: skip
            texts += [self.argument(n, t, "", t in plain) for n, t in params[len(kinds) :]]
            case.calls.append(Call(texts))
        return case

    def host_array(self, name: str, ty: Array, sizes: list[int]) -> str:
        """An array whose shape fits those of the other arguments, of some layout."""
        rng = self.rng
        shape = tuple(sizes[3 - ty.ndim :])
        shape = tuple(1 if n and rng.random() < 0.08 else n for n in shape)
        data = np.array([self.value(ty.dtype) for _ in range(int(np.prod(shape)))], dtype=ty.dtype)
        kind = rng.choice(KINDS) if shape else rng.choice("CMW")
        return f"mk({ty.dtype!r}, {shape}, {kind!r}, {data.tobytes().hex()!r}, {rng.choice([0, 0, 1]) if kind == 'C' else 0})"

    def helper(self, name: str) -> None:
        """Add a function for others to call, if it turns out well-typed."""
        rng = self.rng
        params = self.params(rng.choice([0, 0, 1]), rng.randint(1, 3), "p")
        fn = Function(self, name, params, rng.randint(1, 5))
        fn.parallel = self.parallel and rng.random() < 0.4
        fn.body(rng.randint(1, 4), 1)
        fn.finish(rng.choice([1, 1, 1, 2]))
        specs: list[tuple[str, object, str | None]] = []
        names = []
        for n, t in params:
            default = None
            if t in ("int64", "float64", "bool") and (
                specs and specs[-1][2] is not None or rng.random() < 0.4
            ):
                default = {"int64": "3", "float64": "0.5", "bool": "True"}[t]
            elif specs and specs[-1][2] is not None:
                specs = [(a, b, None) for a, b, _ in specs]
            specs.append((n, t, default))
        names = [n if d is None else f"{n}={d}" for n, _, d in specs]
        mark = len(self.text)
        self.add(fn, names)
        try:
            prog = oracle.Program("\n".join(self.text), self.promotion)
            ret = prog.instance(name, tuple(t for _, t in params)).ret
        except (IllTyped, Unspecified):
            del self.text[mark:]
            return
        self.helpers.append(Helper(name, specs, ret))

    def classes(self) -> None:
        """Exceptions of the program's own."""
        for name, base in CLASSES.items():
            self.text += ["", "", f"class {name}({base}):", "    pass"]

    def callee(self, name: str) -> None:
        """A function that raises now and then."""
        params, body = callee(self.rng, name)
        head = ["", "", "@jit", f"def {name}({', '.join(n for n, _, _ in params)}):"]
        text = [*head, *("    " + line for line in body)]
        ret = (
            oracle.Program("\n".join(text), self.promotion).instance(name, tuple(t for _, t, _ in params)).ret
        )
        self.text += text
        self.helpers.append(Helper(name, params, ret))

    def special(self) -> None:
        """A function of a fixed shape: recursive, taking a function, or with None as default."""
        rng = self.rng
        ty = rng.choice(["int64", "float64", "float32", "uint8", "complex128"])
        op = rng.choice("+-*")
        kind = rng.randrange(3)
        if kind == 0:
            name, params = "r0", [("n", "int64", None), ("x", ty, None)]
            body = ["if n <= 0:", "    return x", f"return x {op} r0(n % 5 - 1, x)"]
        elif kind == 1:
            unary = [h for h in self.helpers if len(h.params) == 1 and isinstance(h.ret, str)]
            if not unary or not isinstance(unary[0].params[0][1], str):
                return
            name, params = (
                "f0",
                [("g", Func([h.name for h in unary[:1]]), None), ("x", unary[0].params[0][1], None)],
            )
            body = [f"return g(x) {op} g(x)"]
        else:
            name, params = "o0", [("x", ty, None), ("k", "int64", "None")]
            body = ["if k is None:", "    k = 4", f"return x {op} k"]
            name = "u0"
        text = [p if d is None else f"{p}={d}" for p, _, d in params]
        self.text += ["", "", "@jit", f"def {name}({', '.join(text)}):", *["    " + line for line in body]]
        if kind == 1:
            source = ["", "def main(x):", f"    return {name}({params[0][1].names[0]}, x)"]
            types: tuple = (params[1][1],)
        else:
            source = ["", "def main(n, x):", f"    return {name}({'n, x' if kind == 0 else 'x, n'})"]
            types = ("int64", ty)
        try:
            ret = oracle.Program("\n".join(self.text + source), self.promotion).instance("main", types).ret
            if kind == 2:
                source[-1] = f"    return {name}(x)"
                if (
                    oracle.Program("\n".join(self.text + source), self.promotion).instance("main", types).ret
                    != ret
                ):
                    return
        except (IllTyped, Unspecified):
            return
        self.helpers.append(Helper(name, params, ret))

    def add(self, fn: Function, names: list[str]) -> None:
        """Put a finished function into the program's text."""
        top = "@parallel" if fn.parallel else "@jit"
        self.text += ["", "", top, f"def {fn.name}({', '.join(names)}):", *fn.lines]

    def params(self, arrays: int, scalars: int, prefix: str = "") -> list[tuple[str, object]]:
        """Parameters: arrays first. Those named ``o`` take approximate values."""
        rng = self.rng
        out: list[tuple[str, object]] = []
        for k in range(arrays):
            ty = Array(
                rng.choice(STRONG + ("float32", "float64", "int64", "uint8")), rng.choice([1, 1, 1, 2, 2, 3])
            )
            out.append((f"{prefix}a{k}", ty if not k or rng.random() < 0.7 else out[k - 1][1]))
        if arrays and not prefix and rng.random() < 0.5:
            out.append(("o0", Array(rng.choice(FLOATS), 1)))
        for k in range(scalars):
            out.append((f"{prefix}b{k}", rng.choice(STRONG + ("int64", "float64"))))
        return out

    # --- arguments ---

    def aliased(self, params: list[tuple[str, object]], texts: list[str]) -> list[str]:
        """The same arguments with an array that shares the memory of an earlier one of its type."""
        out = list(texts)
        for j, (_, t) in enumerate(params):
            for i in range(j):
                if isinstance(t, Array) and t == params[i][1] and "'C'" in texts[i] and "'C'" in texts[j]:
                    out[j] = self.rng.choice([f"A[{i}]", f"A[{i}][1:]", f"A[{i}][:-1]"])
        return out

    def argument(self, name: str, ty: object, kind: str, plain: bool) -> str:
        """Text of one argument."""
        rng = self.rng
        if isinstance(ty, Array):
            low = 0 if rng.random() < 0.03 else 2
            top = {1: 70 if self.long else 9, 2: 9 if self.long else 5}.get(ty.ndim, 4)
            shape = tuple(rng.randint(low, top) for _ in range(ty.ndim))
            count = int(np.prod(shape))
            data = np.array([self.value(ty.dtype) for _ in range(count)], dtype=ty.dtype).tobytes().hex()
            offset = rng.choice([0, 0, 1]) if kind == "C" else 0
            return f"mk({ty.dtype!r}, {shape}, {kind!r}, {data!r}, {offset})"
        value = self.value(str(ty))
        if ty == "complex128":
            text = f"complex({float_text(value.real)}, {float_text(value.imag)})"
        elif klass(str(ty)) == "f":
            text = float_text(value)
        else:
            text = (
                repr(value)
                if klass(str(ty)) != "c"
                else f"complex({float_text(value.real)}, {float_text(value.imag)})"
            )
        return text if plain else f"np.{dtype_name(str(ty))}({text})"

    def value(self, ty: str) -> bool | int | float | complex:
        """A value: mostly small, now and then at an edge of the type."""
        rng = self.rng
        kind = klass(ty)
        if kind == "b":
            return rng.random() < 0.5
        if kind == "i":
            info = np.iinfo(ty)
            if rng.random() < 0.7:
                return rng.randint(max(-20, int(info.min)), 20)
            return rng.choice([int(info.min), int(info.max), int(info.max) - 1, int(info.min) + 1, int(info.max) // 3,
                               rng.randint(int(info.min), int(info.max))])  # fmt: skip
        if kind == "c":
            part = "float32" if ty == "complex64" else "float64"
            return complex(self.value(part), self.value(part))
        if rng.random() < 0.8:
            return rng.choice([rng.uniform(-10, 10), rng.randint(-8, 8) / 2, rng.uniform(-1e4, 1e4)])
        big, tiny = (3e38, 1e-42) if ty == "float32" else (1.7e308, 5e-324)
        return rng.choice([0.0, -0.0, float("inf"), float("-inf"), float("nan"), big, -big, tiny, 1e-10])


def type_text(ty: object, kind: str) -> str:
    """The text of a type in a signature; `kind` says how `make_array` lays it out."""
    if not isinstance(ty, Array):
        return str(ty)
    axes = [":"] * ty.ndim
    if kind == "C" or kind == "F" and ty.ndim == 1:
        axes[-1] = "::1"
    elif kind == "F":
        axes[0] = "::1"
    return f"{ty.dtype}[{', '.join(axes)}]"


def float_text(value: float) -> str:
    """Text that gives the float back exactly."""
    return repr(value) if np.isfinite(value) else f"float('{value}')"


def make_case(
    seed: int, promotion: str = "treadle", library: bool = False
) -> tuple[Case, list, dict[str, int]]:
    """The first well-formed program of a seed, with what the oracle says of each call; `library`: one that calls NumPy's functions of all kinds.

    Returns
    -------
    case : Case
        Only the argument sets whose result the rules settle.
    results : list of (oracle.Result, list)
        The oracle's result and arguments after the call.
    refused : dict of str to int
        Why programs or calls were turned away, and how often.
    """
    refused: dict[str, int] = {}
    for attempt in range(60):
        case = Generator(seed * 1000 + attempt, promotion, library).make()
        case.seed = seed
        if not case.promotion == "numba" and seed % 11 == 5:
            case.options["error_model"] = "numpy"
        kept, results = [], []
        for call in case.calls if seed % 4 == 2 and seed % 13 != 5 else []:  # no signature is declared
            call.args = [a.replace(", 'C', ", ", 'O', ") for a in call.args]
        for call in case.calls:
            try:
                results.append(case.run_oracle(call))
                kept.append(call)
            except (Unspecified, IllTyped) as err:
                why = f"{type(err).__name__}: {err}"
                refused[why] = refused.get(why, 0) + 1
                if isinstance(err, IllTyped):
                    break
            except (
                TypeError,
                AttributeError,
                KeyError,
                IndexError,
                ValueError,
            ) as err:  # the oracle's own fault
                why = f"oracle: {type(err).__name__}: {err}"
                refused[why] = refused.get(why, 0) + 1
                break
        if kept:
            case.calls = kept
            safe = not any(r.met("IndexError") for r, _ in results)
            if case.promotion == "treadle":
                case.options |= {1: {"boundscheck": False} if safe else {}, 2: {"nogil": True},
                                 3: {"inline": "always"}, 4: {"cache": True}, 5: {"signature": case.signature}}.get(seed % 13, {})  # fmt: skip
                if "parallel" in case.source:
                    case.options["grain"] = (1, 2, 3, 1, 7, 0)[seed % 6]
                if "views" in case.options:
                    case.seen["prange view", "apart"] += sum(not r.meets for r, _ in results)
                if seed % 3 == 0 and "views" not in case.options:
                    way = WAYS[seed // 3 % len(WAYS)]
                    case.options["way"] = way
                    case.seen["way in", way] += 1
            case.seen["arguments", "out of alignment"] += sum("'O'" in a for call in kept for a in call.args)
            return case, results, refused
    raise RuntimeError(f"no program for seed {seed}: {refused}")
