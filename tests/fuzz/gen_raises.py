"""Programs in which functions raise on every path, called in every position: CPython itself says what comes out, the exception with its arguments, or the value.

Such a function has, mostly, variables that some path leaves without a value: a loop's after the loop, those of one branch, what `except X as e` and `del` take away. The calls stand as statements, as operands, in what is
returned or stored, in conditions, in loops over ranges and pranges, in all parts of try statements, in inner functions, in `map` and `reduce`, and in functions that call each other. Numbers are float64, and
every operation on them is Python's to the bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from reach import WAYS
from writer import Writer

CLASSES = (
    "ValueError",
    "KeyError",
    "IndexError",
    "ArithmeticError",
    "TypeError",
    "RuntimeError",
    "OSError",
    "Own",
    "Derived",
)
CAUGHT = (*CLASSES, "LookupError", "Exception", "(KeyError, ValueError)", "(Own, IndexError)")
HEAD = "import functools\n\nclass Own(Exception):\n    pass\n\nclass Derived(Own):\n    pass\n\n"


@dataclass
class Case:
    """A program, its arguments as text, and what CPython made of each call: (class and arguments, value, array)."""

    source: str
    calls: list[list[str]]
    options: dict[str, Any] = field(default_factory=dict)
    outcomes: list[tuple[Any, Any, Any]] = field(default_factory=list)


def is_of(seed: int, library: bool, promotion: str) -> bool:
    """True for the seeds that make such a program."""
    return not library and promotion == "treadle" and seed % 8 == 3


class Maker(Writer):
    """Text of one program."""

    def __init__(self, seed: int) -> None:
        super().__init__(f"raises {seed}")
        self.never: list[str] = []  # functions of one number that raise on every path
        self.some: list[str] = []  # those that raise on some
        self.prange = False

    def number(self) -> str:
        return self.rng.choice(["0.0", "1.0", "-1.5", "2.5", "4.0", "-3.0", "0.25"])

    def value(self, have: list[str]) -> str:
        """A float64 of these names."""
        x = self.rng.choice(have)
        return self.rng.choice(
            [x, f"{x} * 2.0", f"{x} + {self.number()}", f"({x} - {self.number()})", f"-{x}"]
        )

    def test(self, have: list[str]) -> str:
        return f"{self.rng.choice(have)} {self.rng.choice('<>')} {self.number()}"

    def exception(self, have: list[str]) -> str:
        cls = self.rng.choice(CLASSES)
        return f"{cls}('{self.fresh('w')}', {self.value(have)})"

    def block(self, make: Any, *args: Any) -> None:
        self.indent += 1
        start = len(self.lines)
        make(*args)
        if len(self.lines) == start:
            self.emit("pass")
        self.indent -= 1

    # --- functions that raise on every path ---

    def unbound(self, have: list[str]) -> list[str]:
        """Statements that leave a variable without a value on some path; the names that may be read all the same."""
        v, kind = self.fresh("u"), self.rng.randrange(6)
        if kind == 0:
            self.emit(f"for {self.fresh('k')} in range({self.rng.randint(0, 3)}): {v} = {self.value(have)}")
        elif kind == 1:
            self.emit(f"if {self.test(have)}: {v} = {self.value(have)}")
        elif kind == 2:
            self.emit(f"{v} = {self.value(have)}")
            self.emit(f"del {v}")
            return []
        elif kind == 3:
            self.emit("try:")
            self.emit(f"    if {self.test(have)}: raise {self.exception(have)}")
            self.emit(f"    {v} = {self.value(have)}")
            self.emit(f"except {self.rng.choice(CAUGHT)} as {self.fresh('e')}:")
            self.emit("    pass")
        elif kind == 4:
            k = self.fresh("k")
            self.emit(f"for {k} in ({self.number()}, {self.number()}):")
            self.emit(f"    if {k} > {self.number()}: continue")
            self.emit(f"    {v} = {k}")
        else:
            self.emit(f"{v} = {self.value(have)}")
            self.emit(f"if {self.test(have)}: del {v}")
        return [v] if self.chance(0.25) else []

    def end(self, have: list[str], depth: int) -> None:
        """Statements that raise, whatever way they go."""
        for _ in range(self.rng.choice([0, 1, 1, 2])):
            have = have + self.unbound(have)
        kind = self.rng.randrange(10) if depth > 0 else self.rng.randrange(2)
        if kind == 0 or (kind == 1 and not self.never):
            self.emit(f"raise {self.exception(have)}")
        elif kind == 1:
            self.call(self.rng.choice(self.never), have)
        elif kind in (2, 3):
            self.emit(f"if {self.test(have)}:")
            self.block(self.end, have, depth - 1)
            if self.chance(0.5):
                self.emit("else:")
                self.block(self.end, have, depth - 1)
            else:
                self.end(have, depth - 1)
        elif kind == 4:
            k = self.fresh("k")
            self.emit(f"{k} = 0.0")
            self.emit("while True:")
            self.emit(f"    {k} += 1.0")
            self.emit(f"    if {k} > 3.0:")
            self.indent += 1
            self.block(self.end, [*have, k], depth - 1)
            self.indent -= 1
        elif kind == 5:
            self.emit("try:")
            self.block(self.end, have, depth - 1)
            e = self.fresh("e")
            self.emit(f"except {self.rng.choice(CAUGHT)} as {e}:")
            if self.chance(0.4):
                self.emit(
                    "    "
                    + self.rng.choice(
                        ["raise", f"raise {e}", f"raise {self.exception(have)} from {e}", "pass"]
                    )
                )
            else:
                self.block(self.end, have, depth - 1)
            self.end(have, depth - 1)
        elif kind == 6:
            self.emit("try:")
            self.block(self.end, have, depth - 1)
            self.emit("finally:")
            self.block(self.unbound, have)
        elif kind == 7:
            g = self.fresh("g")
            self.emit(f"def {g}(t):")
            self.block(self.end, ["t"], depth - 1)
            self.call(g, have)
        else:
            self.end(have, 0)

    def call(self, fn: str, have: list[str]) -> None:
        """A call of what never returns, as a statement of a function that does not either."""
        text = f"{fn}({self.value(have)})"
        form = self.rng.choice(
            ["{0}", "return {0}", "y = {0}", "y = {0} + 1.0", "return {0} * 2.0", "raise ValueError({0})"]
        )
        self.emit(form.format(text))

    def function(self, k: int) -> None:
        self.emit("@jit" if self.chance(0.3) else "")
        name = f"n{k}" if self.chance(0.7) or not self.never else f"s{k}"
        self.emit(f"def {name}(v):")
        self.indent += 1
        if name[0] == "s":
            self.emit(f"if {self.test(['v'])}: return {self.value(['v'])}")
        elif self.chance(0.2):
            self.emit(f"if v * v < 900.0: return {name}(v * 2.0 + (7.0 if v > 0.0 else -7.0))")
        self.end(["v"], 2)
        self.indent -= 1
        self.emit("")
        (self.some if name[0] == "s" else self.never).append(name)

    # --- what calls them ---

    def result(self, have: list[str]) -> str:
        """What a call of one would give, or a number where it is not reached."""
        fn = self.rng.choice(self.never + self.some)
        text = f"{fn}({self.value(have)})"
        form = self.rng.choice(
            [
                "({0} if {1} else {2})",
                "({2} if {1} else {0} + 1.0)",
                "(2.0 * {0} if {1} else {2})",
                "({0} if {1} and {3} else {2})",
            ]
        )
        return form.format(text, self.test(have), self.value(have), self.test(have))

    def statement(self, have: list[str], depth: int, loops: int) -> None:
        """A statement of main: `r` is what is computed."""
        fn = self.rng.choice(self.never + self.some)
        text = f"{fn}({self.value(have)})"
        kind = self.rng.randrange(15) if depth > 0 else self.rng.randrange(8)
        if kind == 0:
            self.emit(f"if {self.test(have)}: {text}")
        elif kind == 1:
            self.emit(f"r += {self.result(have)}")
        elif kind == 2:
            self.emit(f"a[{self.rng.randint(0, 3)}] = {self.result(have)}")
        elif kind == 3:
            self.emit(f"if {self.test(have)}: return {text}")
        elif kind == 4:
            self.emit(f"if {self.test(have)} or {fn}({self.value(have)}) > 0.0: r += 1.0")
        elif kind == 5:
            g = self.fresh("g")
            self.emit(f"{g} = lambda t: {self.rng.choice(self.never)}(t) if {self.test(['t'])} else t * 0.5")
            self.emit(f"r += {g}({self.value(have)})")
        elif kind == 6:
            s = self.rng.choice(self.some) if self.some and self.chance(0.7) else self.rng.choice(self.never)
            t = self.fresh("t")
            self.emit(self.rng.choice([
                f"for {t} in map({s}, a[:{self.rng.randint(0, 3)}]): r += {t}",
                f"r += functools.reduce(lambda p, q: {s}(q) if {self.test(['q'])} else p + q, a, 0.0)",
                f"r += functools.reduce(lambda p, q: p + {s}(q), a[:{self.rng.randint(0, 2)}], 0.5)",
            ]))  # fmt: skip
        elif kind == 7:
            self.emit(
                f"max(r, {text})"
                if self.chance(0.1)
                else f"if {self.test(have)}: raise {self.exception(have)}"
            )
        elif kind in (8, 9):
            i = self.fresh("i")
            if loops == 0 and self.chance(0.3):
                self.prange = True
                self.emit(f"for {i} in prange(4):")
                self.emit(
                    f"    if a[{i}] * {self.number()} > {self.number()}: {self.rng.choice(self.never)}(a[{i}])"
                )
                self.emit(f"    a[{i}] += 1.0")
                return
            self.emit(f"for {i} in range({self.rng.randint(0, 4)}):")
            self.emit(f"    r += {i} * 0.5")
            self.block(self.body, have, depth - 1, loops + 1)
        elif kind == 10:
            self.emit(f"if {self.test(have)}:")
            self.block(self.body, have, depth - 1, loops)
            if self.chance(0.5):
                self.emit("else:")
                self.block(self.body, have, depth - 1, loops)
        else:
            self.attempt(have, depth, loops)

    def attempt(self, have: list[str], depth: int, loops: int) -> None:
        """A try statement with a call in one of its parts."""
        self.emit("try:")
        self.block(self.body, have, depth - 1, loops)
        clauses = self.rng.choice([0, 1, 1, 2])
        for _ in range(clauses):
            e = self.fresh("e")
            self.emit(f"except {self.rng.choice(CAUGHT)} as {e}:")
            self.emit("    r += 10.0")
            if self.chance(0.3):
                self.emit(
                    f"    if {self.test(have)}: "
                    + self.rng.choice(["raise", f"raise {e}", f"raise {self.exception(have)} from {e}"])
                )
            else:
                self.block(self.body, have, depth - 1, loops)
            if loops and self.chance(0.2):
                self.emit("    " + self.rng.choice(["break", "continue"]))
        if clauses and self.chance(0.3):
            self.emit("else:")
            self.block(self.body, have, depth - 1, loops)
        if not clauses or self.chance(0.4):
            self.emit("finally:")
            self.emit("    r += 100.0")
            self.block(self.body, have, depth - 1, loops) if self.chance(0.3) else None

    def body(self, have: list[str], depth: int, loops: int) -> None:
        for _ in range(self.rng.randint(1, 2)):
            self.statement(have, depth, loops)

    def program(self) -> str:
        for k in range(self.rng.randint(2, 4)):
            self.function(k)
        start = len(self.lines)
        self.emit("def main(x, y, a):")
        self.indent += 1
        self.emit("r = 0.0")
        for _ in range(self.rng.randint(2, 4)):
            self.statement(["x", "y", "r"], 3, 0)
        self.emit("return r")
        self.lines.insert(start, "@parallel" if self.prange or self.chance(0.2) else "@jit")
        return HEAD + "\n".join(self.lines) + "\n"


def space() -> dict[str, Any]:
    """What a program's text may name when CPython runs it."""
    same = lambda f: f  # noqa: E731
    return {"np": np, "prange": range, "jit": same, "parallel": same}


def build(texts: list[str]) -> list[Any]:
    """Arguments of a call."""
    return [eval(t, {"np": np}) for t in texts]


def plain(value: Any) -> Any:
    """A number of NumPy's as Python's."""
    return float(value) if isinstance(value, (np.floating, float)) else value


def outcome(main: Any, texts: list[str]) -> tuple[Any, Any, Any]:
    """What a call comes to: the class and arguments of an exception, the value, the array."""
    args = build(texts)
    raised, got = None, None
    try:
        got = main(*args)
    except Exception as e:
        if type(e).__module__.startswith("treadle"):
            raise
        words = isinstance(e, (UnboundLocalError, RecursionError))  # they are CPython's own
        raised = (type(e).__name__, () if words else tuple(plain(v) for v in e.args))
    return raised, plain(got), args[2].tolist()


def expected(source: str, calls: list[list[str]]) -> list[tuple[Any, Any, Any]]:
    """The outcomes by CPython."""
    names = space()
    exec(compile(source, "<raises>", "exec"), names)
    return [outcome(names["main"], c) for c in calls]


def make_case(seed: int) -> Case:
    """The program of a seed."""
    maker = Maker(seed)
    source = maker.program()
    rng = maker.rng
    numbers = lambda: repr(rng.choice([-4.0, -1.0, 0.5, 2.0, 3.0, 7.0]))  # noqa: E731
    calls = [
        [numbers(), numbers(), f"np.array([{', '.join(numbers() for _ in range(4))}])"] for _ in range(4)
    ]
    options: dict[str, Any] = {"raises": True}
    if rng.random() < 0.3:
        options["inline"] = "always"
    if rng.random() < 0.3:
        options["way"] = rng.choice(WAYS)
    return Case(source, calls, options, expected(source, calls))


def differs(want: tuple[Any, Any, Any], got: tuple[Any, Any, Any], parallel: bool) -> str:
    """Empty, or how two outcomes differ. What iterations stored beside one that raised is open."""
    for name, w, g in zip(("raised", "value", "array"), want, got, strict=True):
        if name == "array" and parallel:
            continue
        if repr(w) != repr(g) and not (
            isinstance(w, float) and isinstance(g, float) and math.isnan(w) and math.isnan(g)
        ):
            return f"{name}: {w!r}, got {g!r}"
    return ""
