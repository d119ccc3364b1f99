"""Which operations met which types, ufuncs which layouts, prange loops which reductions, handlers which exceptions: what the runs reached, and what no program ever did."""

from __future__ import annotations

from collections import Counter

import library
from gen_scan import AT
from gen_straight import FAMILIES
from gen_try import MEANT
from gen_ufunc import LAYOUTS as CORES
from reach import WAYS
from rules import BINOPS, COMPARES, FLOATS, INTS, SCALARS, STRONG, WEAK, IllTyped, arith, klass, unary
from ufuncs import LAYOUTS, METHODS

REDUCED = {
    "+": ("int64", "uint64", *FLOATS, "complex128"), "*": ("int64", "uint64", *FLOATS), "&": ("int64", "uint64"),
    "|": ("int64", "uint64"), "min": INTS + FLOATS, "max": INTS + FLOATS,
}  # fmt: skip


class Coverage:
    """Counts of (operator, type, type) over many programs."""

    def __init__(self, promotion: str = "treadle") -> None:
        self.seen: Counter = Counter()
        self.numba = promotion == "numba"

    def add(self, rows: list[list]) -> None:
        """Add rows of operator, types..., count."""
        for *key, n in rows:
            self.seen[tuple(key)] += n

    def possible(self) -> list[tuple[str, ...]]:
        """Every combination that the language allows and the generator means to reach."""
        types = STRONG if self.numba else SCALARS
        out: list[tuple[str, ...]] = []
        for a in types:
            for b in types:
                if a in WEAK and b in WEAK:
                    continue
                for op in BINOPS:
                    try:
                        arith(op, a, b, self.numba)
                    except IllTyped:
                        continue
                    if op != "**" or klass(a) == "i" and klass(b) == "i" and a not in WEAK:
                        out.append((op, a, b))
                out += [
                    (op, a, b) for op in COMPARES if "c" not in (klass(a), klass(b)) or op in ("==", "!=")
                ]
        for a in STRONG:
            for op in "-+~":
                try:
                    unary(op, a)
                except IllTyped:
                    continue
                out.append(("u" + op, a))
            out += [("conv", a, b) for b in STRONG if klass(a) != "c" or klass(b) in "bc"]
        out += [(f, t) for f in ("abs", "min", "max") for t in INTS + FLOATS]
        out += [
            (f"math.{f}", t) for f in ("sqrt", "floor", "ceil", "trunc", "sin", "exp", "log") for t in FLOATS
        ]
        return out if self.numba else out + self.wholes()

    @staticmethod
    def wholes() -> list[tuple[str, ...]]:
        """What there is of ufuncs, array expressions and loops over a prange."""
        arrays = [(f"array {op}", t, t) for op in ("+", "-", "*") for t in STRONG if t != "bool"]
        arrays += [(f"array {op}=", t, t) for op in ("+", "-", "*") for t in STRONG if t != "bool"]
        calls = [
            ("ufunc " + m, target) for m in (*METHODS, "compiled", "gufunc") for target in ("cpu", "parallel")
        ]
        calls += [("ufunc in", layout) for layout in LAYOUTS]
        calls += [
            ("ufunc out", layout)
            for layout in (*LAYOUTS, "overlapping")
            if layout not in ("0-d", "repeating")
        ]
        calls += [
            ("ufunc where", layout) for layout in ("scalar", "C", "F", "strided", "reversed", "repeating")
        ]
        calls += [("gufunc", core) for core in CORES]
        calls += [("way in", way) for way in WAYS]
        loops = [("prange", place) for place in ("outer", "inner")]
        loops += [("prange " + kind, t) for kind, types in REDUCED.items() for t in types]
        loops += [("prange array +", t) for t in STRONG if t != "bool"]
        loops += [("prange array *", t) for t in INTS + FLOATS]
        loops += [("prange array " + kind, t) for kind in "&|" for t in ("bool", *INTS)]
        loops += [("prange view", what) for what in ("apart", "meets", "refused")]
        loops += [("prange rows +", t) for t in INTS]
        known = [("library", name) for name in library.names()] + [("family", name) for name in FAMILIES]
        return known + arrays + calls + loops + Coverage.ways_out() + Coverage.at_places() + Coverage.scans()

    @staticmethod
    def ways_out() -> list[tuple[str, ...]]:
        """What there is of exceptions that are caught."""
        who = ("own", "of a callee", "prange", "in prange", "not here", "nothing", "nothing: else")
        caught = [("caught", name) for name in (*MEANT, *who)]
        caught += [("except", clause) for clause in ("class", "tuple", "all")] + [
            ("raise", how) for how in ("again", "e")
        ]
        left = ("end", "raise", "return", "break", "continue")
        return caught + [("finally", way) for way in (*left, *(f"ends with {way}" for way in left[2:]))]

    @staticmethod
    def at_places() -> list[tuple[str, ...]]:
        """What there is of stores at computed places."""
        stores = [(at, how) for at in ("mask", "index") for how in ("= number", "= array", "op=")]
        out = [("scatter", f"{at} {how}") for at, how in stores]
        out += [("scatter", f"np.{op}.at", "in prange") for op in ("add", "subtract", "multiply")]
        return out + [
            ("scatter", f"np.{op}.at", what) for op in dict.fromkeys(AT) for what in ("number", "array")
        ]

    @staticmethod
    def scans() -> list[tuple[str, ...]]:
        """What there is of running sums and their kin."""
        how = ("flat", "axis of 1", "axis of 2", "axis of 3", "out", "in place", "of several blocks")
        out = [("scan", what) for what in how]
        out += [("scan", "add", t) for t in ("int64", "uint64", *FLOATS, "complex64", "complex128")]
        out += [("scan", "multiply", t) for t in ("int64", "uint64", *FLOATS)]
        out += [("scan", op, t) for op in ("maximum", "minimum") for t in INTS + FLOATS]
        out += [("scan", op, t) for op in ("bitwise_and", "bitwise_or") for t in ("bool", *INTS)]
        return out + [("scan", op, "bool") for op in ("logical_and", "logical_or")]

    def report(self) -> str:
        """A summary and the combinations never reached, by operator."""
        possible = self.possible()
        missing: dict[str, list[str]] = {}
        for op, *types in possible:
            if not self.seen[(op, *types)]:
                missing.setdefault(op, []).append(" ".join(types))
        lost = sum(len(v) for v in missing.values())
        lines = [
            f"coverage: {len(possible) - lost} of {len(possible)} combinations of operations and types reached"
        ]
        for op, items in missing.items():
            shown = ", ".join(items[:12]) + (f", and {len(items) - 12} more" if len(items) > 12 else "")
            lines.append(f"  never {op}: {shown}")
        return "\n".join(lines)
