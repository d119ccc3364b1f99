"""Random graphs of lazy arrays: about thirty nodes of all kinds, that share what is below them, with several roots. graphs.py says what they mean.

A form is the text of a node, or of a few that belong together: `x`, `y` and so on are earlier values of the kinds that it names, `o`, `p` and `q` what it assigns, `a` and `b` are its own. Each
statement runs while the program is made, so lengths are those that the data decide, and what raises or has no one meaning is left out.
"""

from __future__ import annotations

import ast
import random
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import graphs
import numpy as np
from gen_straight import build
from graphs import Known, Outcome, Steps
from rules import Unspecified

REFUSED = (
    Unspecified,
    ValueError,
    TypeError,
    IndexError,
    OverflowError,
    AttributeError,
    ZeroDivisionError,
    KeyError,
    np.exceptions.ComplexWarning,
)


class Form(NamedTuple):
    """A text, and for each of its operands which kinds of dtypes it may have (``w``: eight bytes, ``s``: the dtype of x), how many axes, or least (``2+``)."""

    text: str
    needs: dict[str, str]


def forms(text: str) -> list[Form]:
    """Forms from lines: operands, a colon, and the node's text."""
    out = []
    for line in text.strip().splitlines():
        head, _, body = line.strip().partition(": ")
        out.append(Form(body, dict(n.split("=") for n in head.split())))
    return out


# Which sign a NaN has is nobody's rule: `signbit` and `copysign` are among the forms, and ask for none of it.
UNARY = "negative abs square sign floor ceil rint exp log1p sin tanh sqrt cbrt arctan expm1 isnan logical_not isfinite".split()
BINARY = "add subtract multiply maximum minimum fmax fmin divide floor_divide remainder hypot arctan2 logical_and logical_or logical_xor".split()
# By groups, with how often a group is drawn from.
FORMS: dict[str, tuple[int, list[Form]]] = {
    "operators": (8, forms("""
x=iufc: {o} = -{x}
x=biu: {o} = ~{x}
x=iufc y=iufc: {o} = {x} + {y}
x=iufc y=iufc: {o} = {x} - {y}
x=iufc y=iufc: {o} = {x} * {y}
x=iuf y=iuf: {o} = {x} / {y}
x=iuf: {o} = {x} // {C}
x=iuf: {o} = {x} % {C}
x=iuf: {o} = {x} + {C}
x=iuf: {o} = {C} - {x}
x=iuf: {o} = {x} * {C}
x=iuf: {o} = {x} / {C}
x=f: {o} = {x} * {F}
x=biu y=s: {o} = {x} & {y}
x=biu y=s: {o} = {x} | {y}
x=biu y=s: {o} = {x} ^ {y}
x=iu: {o} = {x} << {S}
x=iu: {o} = {x} >> {S}
x=if: {o} = {x} ** 2
x=biuf y=biuf: {o} = {x} < {y}
x=biufc y=biufc: {o} = {x} == {y}
x=iuf: {o} = {x} > {C}
x=iuf: {o} = {x} != {C}
x=f: {a} = {F}; {o} = {x} * {a}
x=iuf: {a} = {C}; {o} = {x} + {a}
""")),
    "ufuncs": (6, [Form(f"{{o}} = np.{f}({{x}})", {"x": "iuf"}) for f in UNARY] + [Form(f"{{o}} = np.{f}({{x}}, {{y}})", {"x": "iuf", "y": "iuf"}) for f in BINARY] + forms("""
x=f: {o} = np.maximum({x}, {F})
x=iuf: {o} = np.minimum({x}, {C})
x=iuf: {o} = np.clip({x}, 0, 5)
x=iuf: {o} = np.signbit(np.where(np.isnan({x}), 1, {x}))
x=iuf y=iuf: {o} = np.copysign({x}, np.where(np.isnan({y}), 1, {y}))
""")),
    "shapes": (5, forms("""
x=biufc1+: {o} = {x}[{Q}]
x=biufc1+: {o} = {x}[{Q}]
x=biufc1+: {o} = {x}[::-1]
x=biufc2+: {o} = {x}[:, {Q}]
x=biufc1+: {o} = {x}[{I}]
x=biufc1: {o} = {x}[:, None]
x=biufc1+: {o} = {x}[None]
x=biufc2+: {o} = {x}[..., {L}]
x=biufc2+: {o} = {x}.T
x=biufc1+: {o} = {x}.reshape(-1)
x=biufc1+: {o} = {x}.reshape({R})
x=biufc1+: {o} = np.ravel({x})
x=biufc1+: {o} = np.flip({x}, {A})
x=biufc1+: {o} = np.roll({x}, {S})
x=biufc2+: {o} = np.swapaxes({x}, 0, -1)
x=biufc: {o} = np.broadcast_to({x}, {B})
x=biufc1+ y=s1+: {o} = np.concatenate(({x}, {y}))
x=biufc1+ y=s1+: {o} = np.stack(({x}, {y}))
x=biufc1+: {o} = np.repeat({x}, 2, {A})
x=biufc: {o} = {x}.copy()
""")),
    "types": (3, forms("""
x=biuf: {o} = {x}.astype(np.float32)
x=biuf: {o} = {x}.astype(np.float64)
x=biuf: {o} = {x}.astype(np.int64)
x=biuf: {o} = {x}.astype(np.int32)
x=biu: {o} = {x}.astype(np.uint8)
x=biuf: {o} = {x}.astype(np.bool_)
x=biuf: {o} = {x}.astype(np.complex128)
x=c: {o} = {x}.real
x=c: {o} = {x}.imag
x=c: {o} = np.conj({x})
x=c: {o} = np.abs({x})
""")),
    "masks": (5, forms("""
x=biuf1+: {a} = {x} > {C}; {o} = {x}[{a}]
x=biuf1+ y=biufc1+: {a} = {x} > {C}; {o} = {y}[{a}]
x=biuf1 y=biuf1: {a} = {x} > {C}; {o} = {x}[{a}]; {p} = {y}[{a}]
x=b1+ y=biufc1+: {o} = {y}[{x}]
x=b y=iuf z=iuf: {o} = np.where({x}, {y}, {z})
x=b y=iufc: {o} = np.where({x}, {y}, {C})
x=b y=s1+ z=biufc: {o} = tp.where({x}, {z}, {C})
x=f1+: {a} = np.isnan({x}); {b} = ~{a}; {o} = {x}[{b}]
x=iuf1: {a} = np.nonzero({x}); {b} = {a}[0]; {o} = {x}[{b}]
""")),
    "places": (4, forms("""
x=biufc1+ y=iu1+: {a} = {y} % {N}; {o} = {x}[{a}]
x=biufc1+ y=i1+: {a} = {y} % {N}; {b} = {a} - {N}; {o} = {x}[{b}]
x=biufc1 y=iu1+: {a} = {y} % {N}; {o} = tp.take({x}, {a})
x=biufc2+ y=iu1: {a} = {y} % {N}; {o} = tp.take({x}, {a}, 0)
x=biufc1: {o} = np.take({x}, {P})
x=iuf1 y=iu1 z=s: {a} = {y} % {N}; {b} = {z}[{Q}]; {o} = {x}.at[{a}].add({C})
x=iuf1 y=i1: {a} = {y} % {N}; {o} = {x}.at[{a}].set({C})
x=iuf1 y=i1: {a} = {y} % {N}; {o} = {x}.at[{a}].max({C})
x=iuf1+: {o} = {x}.at[{I}].multiply({C})
x=iuf1+: {o} = {x}.at[{Q}].set({C})
x=if1 y=i1 z=s1: {a} = {y} % {N}; {o} = tp.scatter({x}, {a}, {z})
x=if1 y=i1 z=s1: {a} = {y} % {N}; {o} = tp.scatter({x}, {a}, {z}, tp.add)
x=if1 y=i1 z=s1: {a} = {y} % {N}; {o} = tp.scatter({x}, {a}, {z}, tp.minimum)
x=if1 y=i1: {a} = {y} % {N}; {o} = tp.scatter({x}, {a}, {C}, lambda p, q: p + q)
x=if1+: {a} = {x} > {C}; {o} = tp.scatter({x}, {a}, 7)
x=i1 y=s1: {a} = {x} % 9; {o} = tp.reduce_by_key(tp.add, {a}, {y}, size=9)
x=i1: {a} = {x} % 9; {o} = tp.reduce_by_key(tp.add, {a}, 1, size=10)
x=if2: {a} = {x}.argmin(axis=1); {o} = tp.reduce_by_key(tp.add, {a}, {x}, size=9)
x=if2: {a} = {x}.argmax(axis=-1); {b} = tp.reduce_by_key(tp.maximum, {a}, {x}, size=9, identity=-9); {o} = {b} * tp.bincount({a}, minlength=9)[:, None]
""")),
    "counts": (2, forms("""
x=u1: {a} = {x} % 7; {b} = {a}.astype(np.int64); {o} = np.bincount({b}, minlength=4)
x=i1: {a} = {x} % 9; {o} = tp.bincount({a})
x=i1 y=f1: {a} = {x} % 9; {o} = tp.bincount({a}, {y})
x=i1: {a} = {x} % 8; {b} = np.bincount({a}, minlength=8); {o} = {b}[{a}]
""")),
    "reductions": (6, forms("""
x=biufc: {o} = np.sum({x})
x=biufc1+: {o} = {x}.sum({A})
x=biufc2+: {o} = np.sum({x}, axis={A}, keepdims=True)
x=biuf: {o} = np.max({x})
x=biuf1+: {o} = {x}.min({A})
x=biuf2+: {o} = np.max({x}, axis={A}, keepdims=True)
x=biuf: {o} = np.any({x})
x=biuf1+: {o} = np.all({x}, {A})
x=iuf: {o} = np.mean({x})
x=iuf1+: {o} = {x}.mean({A})
x=iuf1+: {o} = np.std({x}, {A})
x=iuf: {o} = np.var({x})
x=iu: {o} = np.prod({x})
x=iuf1+: {o} = np.argmax({x}, {A})
x=iuf1+: {o} = {x}.argmin({A})
x=iuf: {o} = np.argmax({x})
x=biuf: {o} = np.count_nonzero({x})
x=biufc: {o} = tp.reduce(tp.add, {x})
x=iuf1+: {o} = tp.reduce(tp.maximum, {x}, {A})
x=iuf: {o} = tp.reduce(tp.minimum, {x}, identity=9)
x=iu: {o} = tp.reduce(tp.multiply, {x})
x=biu1+: {o} = tp.reduce(tp.bitwise_xor, {x}, {A})
x=biuf: {o} = tp.reduce(tp.logical_or, {x})
x=iuf: {o} = tp.reduce(lambda p, q: p + q, {x}, identity=0)
x=iuf1+: {o} = tp.reduce(lambda p, q: p + q, {x}, {A}, identity=0)
x=if: {o} = tp.reduce(lambda p, q: p if p >= q else q, {x}, identity=-100)
x=w1 y=s1: {o}, {p} = tp.reduce(lambda p, q: (p[0] + q[0], p[1] + q[1]), ({x}, {y}), identity=(0, 0))
""")),
    "scans": (4, forms("""
x=biuf1+: {o} = np.cumsum({x}, {A})
x=biuf1: {o} = np.cumsum({x})
x=iu1: {o} = np.cumprod({x})
x=iuf1+: {o} = tp.scan(tp.add, {x}, {A})
x=iuf1: {o} = tp.scan(tp.add, {x}, exclusive=True)
x=iuf1+: {o} = tp.scan(tp.add, {x}, {A}, reverse=True)
x=iuf1+: {o} = tp.scan(tp.maximum, {x}, {A})
x=iuf1: {o} = tp.scan(tp.minimum, {x}, exclusive=True, identity=9)
x=w1: {o} = tp.scan(lambda p, q: p + q, {x}, identity=0)
x=w1: {o} = tp.scan(lambda p, q: p if p >= q else q, {x}, exclusive=True, reverse=True, identity=-100)
x=iuf1+: {o} = np.diff({x})
""")),
    "maps": (6, forms("""
x=iuf: {o} = tp.map(lambda v: v * 2 + 1, {x})
x=iuf y=s: {o} = tp.map(lambda v, w: v * w - v, {x}, {y})
x=w: {o} = tp.map(lambda v: v if v > 0 else -v, {x})
x=w y=s: {o} = tp.map(lambda v, w: v if v > w else w, {x}, {y})
x=w: {o}, {p} = tp.map(lambda v: (v + v, v > 1), {x})
x=f: {a} = {F}; {o} = tp.map(lambda v: v * {a}, {x})
x=w: {a} = {C}; {o} = tp.map(lambda v: v + {a}, {x})
x=f: {o} = tp.map(np.floor, {x})
x=w: {o} = tp.map(lambda v: v > 2, {x})
x=w1 y=i1: {a} = {y} % {N}; {b} = {a}.astype(np.int64); {o} = tp.map(lambda k: {x}[k], {b})
x=w1: {o} = tp.tabulate(lambda i: {x}[i] * 2, {N})
: {o} = tp.tabulate(lambda i, j: i * 10 + j, ({S}, {S}))
: {o} = tp.tabulate(lambda i: i * i - 3, {Z})
: {o} = tp.arange({Z})
: {o} = tp.full({Z}, {F}, np.float32)
: {o} = tp.ones({Z})
: {o} = tp.zeros({Z}, np.int16)
""")),
    "choices": (6, forms("""
x=biuf1+: {o} = tp.filter(lambda v: v > {C}, {x})
x=iuf1+: {a} = {C}; {o} = tp.filter(lambda v: v < {a}, {x})
x=iu1: {o} = tp.filter(lambda v: v % 2 == 1, {x})
x=iuf1: {o}, {p} = tp.stable_partition(lambda v: v > 1, {x})
x=biuf1+: {o}, {p} = tp.topk({x}, {K})
x=iuf1+: {o}, {p} = tp.topk({x}, {K}, largest=False)
x=f1+: {o}, {p} = tp.topk({x}, {K}, nan='omit')
x=fw1: {o}, {p} = tp.topk({x}, {K}, key=abs)
x=iu1+: {a} = {x} % 50; {o}, {p} = tp.histogram({a}, 5, (0, 50))
""")),
    "order": (5, forms("""
x=biuf1+: {o} = tp.sort({x})
x=biuf1+: {o} = np.sort({x}, {A})
x=biuf1+: {o} = tp.argsort({x}, {A})
x=biuf1: {o} = np.argsort({x}, kind='stable')
x=biuf1 y=biufc1+: {o}, {p} = tp.sort_by_key({x}, {y})
x=iuf1 y=s1: {a} = tp.sort({x}); {b} = tp.sort({y}); {o} = tp.merge({a}, {b})
x=biufc1: {o}, {p} = tp.run_length_encode({x})
x=iuf1+: {o} = tp.unique_values({x})
x=biuf1: {o}, {p} = tp.unique_counts({x})
x=iuf1+: {o}, {p} = tp.unique_inverse({x})
x=iuf1+: {o}, {p}, {q}, {a} = tp.unique_all({x})
x=iuf1 y=s: {a} = tp.sort({x}); {o} = tp.searchsorted({a}, {y})
x=iuf1 y=s: {a} = tp.sort({x}); {o} = np.searchsorted({a}, {y}, 'right')
""")),
    "products": (2, forms("""
x=f2 y=f1: {a} = {x}.T; {o} = {a} @ {y}
x=f2: {a} = {x}.T; {o} = {a} @ {x}
x=if1 y=s1: {o} = np.dot({x}, {y})
x=if1 y=if1: {a} = {x}[:, None]; {b} = {a} * {y}; {o} = {b}.sum(1)
x=f2: {o} = np.trace({x})
""")),
    "random": (1, forms("""
: {a} = random.key({Z}); {o} = random.uniform({a}, {Z})
: {a} = random.key({Z}); {o} = random.uniform({a}, {Z}, np.float32)
: {a} = random.key({Z}); {o} = random.bits({a}, {Z})
""")),
    "host": (1, forms("""
x=biuf1+: {o} = shift({x}, 2)
""")),
}  # fmt: skip
# What ends every eighth graph: it has one meaning, an exception.
RAISES = forms("""
x=biufc1 y=biufc1: {o} = {x} + {y}
x=biuf1 y=i1: {b} = {y} + {N}; {o} = {x}[{b}]
x=w1 y=i1: {a} = {y}.astype(np.int64); {b} = {a} + {N}; {o} = tp.map(lambda k: {x}[k], {b})
x=biuf1+: {o}, {p} = tp.topk({x}, 1000)
x=iuf1 y=s1: {o}, {p} = tp.sort_by_key({x}, {y})
x=i1: {a} = {x} * 0; {b} = {a} - 1; {o} = tp.bincount({b})
x=u: {o} = {x} + -3
x=iuf1 y=i1: {b} = {y} * 0; {a} = {b} - 2000; {o} = {x}.at[{a}].set(1)
x=iuf1 y=iuf1: {a} = {x} > 2; {b} = {x}[{a}]; {o} = {b} * {y}
x=iuf1: {a} = {x} > 200; {b} = {x}[{a}]; {o} = np.max({b})
x=biuf2 y=biuf1: {o} = {x} @ {y}
""")
PROGRAMS = tuple(g for g in FORMS if g != "host")  # what is compiled, each graph as one program
LENGTHS = (0, 1, 2, 5, 7, 16, 33, 33, 64, 64)
DTYPES = ("float64", "float64", "float32", "int64", "int64", "int32", "uint8", "int8", "uint16", "uint32", "uint64", "bool", "complex128", "complex64")  # fmt: skip


@dataclass
class Case:
    """A graph as a program, its leaves as text, and what comes out."""

    source: str
    calls: list[list[str]]
    options: dict[str, Any] = field(default_factory=dict)
    outcome: Outcome = field(default_factory=Outcome)


def leaf(rng: random.Random, dtype: str, shape: tuple[int, ...]) -> str:
    """An array as text: ties, zeros of both signs, NaN, ends of integers; rows, columns, strides, backwards, read-only."""
    count = int(np.prod(shape))
    kind = np.dtype(dtype).kind
    if kind in "iu":
        info = np.iinfo(dtype)
        pool: list[Any] = list(range(max(-9, int(info.min)), 10))
        pool += [info.min, info.max] * (rng.random() < 0.2)
    elif kind == "f":
        pool = [k / 4 for k in range(-20, 21)]
        how = rng.random()
        if how < 0.2:
            pool = [np.nan, -0.0, 0.0, 1.0, -1.0, 2.0] + [np.inf, -np.inf] * (how < 0.1)
        elif how < 0.35:
            pool = [rng.gauss(0, 1) for _ in range(count)] or [0.0]
    elif kind == "c":
        pool = [complex(a, b) for a in (-2, 0, 1.5) for b in (-1, 0, 2)]
    else:
        pool = [False, True]
    if rng.random() < 0.25:
        pool = rng.sample(pool, min(len(pool), 2))  # ties
    data = np.array([rng.choice(pool) for _ in range(count)], dtype)
    text = f"mk({dtype!r}, {shape}, {rng.choice('CCCFSR')!r}, {data.tobytes().hex()!r}, 0)"
    return f"ro({text})" if rng.random() < 0.1 else text


class Maker:
    """One program in the making."""

    def __init__(self, seed: int, groups: tuple[str, ...] | None, most: int) -> None:
        rng = self.rng = random.Random(seed)
        self.groups, self.mixed = groups or tuple(FORMS), groups is None
        self.weights = [FORMS[g][0] for g in self.groups]
        n = 300 if rng.random() < 0.04 else rng.choice(LENGTHS)
        m = n if self.mixed else max(n, 1)  # the interpreter's texts of arrays do not tell (0, 3) from (0, 0)
        shapes = [
            (n,),
            (n,),
            rng.choice([(n,), (m, 3), (4, m), (m, 1)]),
            rng.choice([(m, 3), (2, m), (rng.choice(LENGTHS),)]),
        ]
        self.leaves = [
            leaf(rng, rng.choice(DTYPES if self.mixed else DTYPES[:-2]), s)
            for s in shapes[: rng.randint(2, 4)]
        ]
        self.names = [f"x{k}" for k in range(len(self.leaves))]
        self.steps = Steps(list(self.names), build(self.leaves))
        self.lines: list[str] = []
        self.made: list[str] = []
        self.unread: set[str] = set()
        self.count = 0
        want = rng.choice([4, 15, 30, 40, 40, most])
        for _ in range(10 * want):
            if len(self.lines) >= want:
                break
            self.add()

    def pick(self, need: str, like: Any, shape: tuple[int, ...] | None) -> str:
        """An earlier value that a form takes, often one of the last, and of the shape of the first operand."""
        m = re.fullmatch(r"([a-z]+)(\d?)(\+?)", need)
        assert m is not None
        kinds, axes, least = m[1], m[2], bool(m[3])

        def fits(k: Known) -> bool:
            a = np.asarray(k.value)
            if axes and not (a.ndim >= int(axes) if least else a.ndim == int(axes)):
                return False
            if "s" in kinds:
                return a.dtype == like
            if "w" in kinds and (a.dtype.itemsize < 4 if a.dtype.kind == "f" else a.dtype.itemsize != 8):
                return False
            return a.dtype.kind in (kinds if kinds.strip("w") else "iuf")

        known = [n for n in [*self.names, *self.made] if fits(self.steps.env[n])]
        if not known:
            raise Unspecified("nothing of that kind")
        for ratio, keep in (
            (0.85, lambda n: np.size(self.steps.env[n].value) > 1),
            (0.6 * (shape is not None), lambda n: np.shape(self.steps.env[n].value) == shape),
            (0.5, lambda n: n in self.unread),
        ):
            if self.rng.random() < ratio:
                known = [n for n in known if keep(n)] or known
        return self.rng.choice(known[-6:] if self.rng.random() < 0.4 else known)

    def constants(self, x: Any) -> dict[str, Any]:
        """Numbers and shapes for a form whose first operand is `x`."""
        rng, a = self.rng, np.asarray(x)
        n = a.shape[0] if a.ndim else 1
        low, high = sorted((rng.randint(-4, 4), rng.randint(-4, 40)))
        whole = rng.choice([1, 2, 3, 5, 7, 33, 100])
        number = whole if a.dtype.kind in "iub" else rng.choice([whole, 0.5, -1.5, 0.0])
        sizes = [k for k in (1, 2, 3, 4, n) if a.size and k and a.size % k == 0] or [1]
        cut = rng.choice(sizes)
        return {
            "C": number, "F": rng.choice([0.5, 1.5, -0.25, 2.0, -3.0]), "S": rng.randint(0, 4), "N": max(n, 1), "Z": rng.choice(LENGTHS),
            "Q": rng.choice([f"{low}:{high}", f"{rng.randint(0, 3)}:", f":{rng.randint(-3, 9)}", f"{low}:{high}:2", "::-1", "::3", f"{high}:{low}:-2"]),
            "I": rng.choice([0, -1, n // 2]), "L": rng.choice([0, -1]), "A": rng.randrange(-a.ndim, a.ndim) if a.ndim else 0,
            "R": rng.choice([f"({cut}, {a.size // cut})", f"({a.size // cut}, {cut})", f"(1, {a.size})", f"{a.size}"]),
            "B": (rng.choice([2, 3]), *a.shape), "K": rng.randint(0, min(8, a.shape[-1] if a.ndim else 0)), "P": tuple(rng.randrange(max(n, 1)) for _ in range(rng.randint(1, 4))),
        }  # fmt: skip

    def lines_of(self, form: Form) -> list[str]:
        """A form's statements.

        Raises
        ------
        Unspecified
            If there is no operand for it.
        """
        names: dict[str, Any] = {}
        like: Any = None
        shape: Any = None
        for k, need in form.needs.items():
            names[k] = self.pick(need, like, shape)
            if like is None:
                first = np.asarray(self.steps.env[names[k]].value)
                like, shape = first.dtype, first.shape
        names |= self.constants(self.steps.env[names["x"]].value if "x" in names else 0)
        for k in "opqab":
            names[k] = f"t{self.count}"
            self.count += f"{{{k}}}" in form.text
        return [ast.unparse(s) for s in ast.parse(form.text.format(**names)).body]

    def add(self) -> None:
        """Try a form; its statements are kept if all have a meaning."""
        group = self.rng.choices(self.groups, self.weights)[0]
        form = self.rng.choice(FORMS[group][1])
        kept, count, ran = dict(self.steps.env), self.count, len(self.steps.ran)
        try:
            lines = self.lines_of(form)
            assigned = [n for line in lines for n in self.steps.run(ast.parse(line).body[0])]
        except REFUSED:
            self.steps.env, self.count = kept, count
            del self.steps.ran[ran:]
            return
        self.lines += lines
        values = [n for n in assigned if isinstance(self.steps.env[n].value, (np.ndarray, np.generic))]
        self.made += [n for n in values if f"{n} = random.key" not in lines[0]]
        self.unread |= set(self.made) & set(values)
        self.unread -= {
            n.id
            for line in lines
            for n in ast.walk(ast.parse(line))
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
        }

    def end(self) -> str:
        """Add a statement that raises; gives what, or nothing if there is none."""
        for _ in range(20):
            kept, count = dict(self.steps.env), self.count
            try:
                lines = self.lines_of(self.rng.choice(RAISES))
                for line in lines[:-1]:
                    self.steps.run(ast.parse(line).body[0])
                last = ast.parse(lines[-1]).body[0]
                last.lineno = len(self.lines) + len(lines) + 1
                what = graphs.raised(self.steps, last)
            except REFUSED:
                self.steps.env, self.count = kept, count
                continue
            self.lines += lines
            self.made.append(re.findall(r"t\d+", lines[-1])[0])
            return what
        return ""

    def case(self) -> Case:
        """The program, with some of its nodes as roots."""
        if not self.made:  # nothing that was drawn has a meaning for so few items
            self.lines.append("t0 = np.isnan(x0)")
            self.steps.run(ast.parse(self.lines[-1]).body[0])
            self.made.append("t0")
        ends = [n for n in self.made if n in self.unread] or self.made
        if self.rng.random() < 0.6:
            roots = set(ends[-12:])
        else:
            roots = {
                self.rng.choice(ends if self.rng.random() < 0.8 else self.made)
                for _ in range(self.rng.randint(1, 5))
            }
        raised = self.end() if self.mixed and self.rng.random() < 0.12 else ""
        names = ([self.made[-1]] if raised else []) + sorted(roots, key=self.made.index)
        body = "".join(f"    {line}\n" for line in self.lines)
        source = f"def main({', '.join(self.names)}):\n{body}    return ({', '.join(names)},)\n"
        options = {"graph": True, "grain": self.rng.choice([1, 1, 3])}
        if raised:
            options["raises"] = True
            return Case(source, [self.leaves], options, Outcome([], self.steps.ran, raised))
        return Case(
            source, [self.leaves], options, Outcome([self.steps.env[n] for n in names], self.steps.ran)
        )


def make_case(seed: int, groups: tuple[str, ...] | None = None, most: int = 50) -> Case:
    """The graph of a seed.

    Parameters
    ----------
    seed : int
        The same seed makes the same graph.
    groups : tuple of str, optional
        The groups of forms that nodes are drawn from; then nothing raises, and nothing is complex.
    most : int, optional
        About how many statements there are at most.

    Returns
    -------
    Case
    """
    return Maker(seed, groups, most).case()
