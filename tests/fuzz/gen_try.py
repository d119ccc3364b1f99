"""try, except, else, finally: what may raise, who catches it, and how blocks are left meanwhile."""

from __future__ import annotations

from gen_expr import Expressions
from rules import FLOATS, INTS, SIGNED, WEAK, Array

MEANT = (
    "ZeroDivisionError",
    "IndexError",
    "ValueError",
    "AssertionError",
    "OverflowError",
    "KeyError",
    "RuntimeError",
)
WIDER = ("ArithmeticError", "LookupError", "Exception")
CLASSES = {"E0": "ValueError", "E1": "E0", "E2": "Exception", "E3": "IndexError"}  # of the program


class Tries(Expressions):
    """What `gen_stmt.Function` knows of exceptions."""

    def st_try(self, depth: int) -> None:
        """A try statement."""
        if self.gen.numba or depth <= 0:
            return self.st_assign(depth)
        before, frozen, caught = dict(self.env), set(self.frozen), self.caught
        self.frozen |= {n for n, t in self.env.items() if t in WEAK}
        clauses = [self.clause() for _ in range(self.rng.choice([0, 1, 1, 2, 3]))]
        if clauses and self.chance(0.08):
            clauses.append("")
        final = not clauses or self.chance(0.4)
        self.emit("try:")
        ends = [self.arm(depth, True)]
        for clause in clauses:
            name = self.fresh("e") if self.chance(0.35) and clause else ""
            self.emit(f"except{' ' + clause if clause else ''}{' as ' + name if name else ''}:")
            self.caught = name or "e"
            ends.append(
                self.arm(depth, self.chance(0.3), f"raise {name}" if name and self.chance(0.6) else "raise")
            )
            self.caught = caught
        if clauses and self.chance(0.3):
            self.emit("else:")
            ends[0] = self.arm(depth, self.chance(0.3))
        if final:
            self.emit("finally:")
            self.arm(depth, self.chance(0.1))
        self.frozen = frozen
        self.env = (
            {n: t for n, t in ends[0].items() if all(e.get(n) == t for e in ends)} if clauses else ends[0]
        )
        self.env = before | self.env
        return None

    def clause(self) -> str:
        """What an except clause takes."""
        own = [c for c in CLASSES if f"class {c}({CLASSES[c]}):" in self.gen.text]
        one = lambda: self.rng.choice([*MEANT, *MEANT, *WIDER, *own])  # noqa: E731
        return f"({one()}, {one()})" if self.chance(0.2) else one()

    def arm(self, depth: int, raises: bool, last: str = "") -> dict[str, str]:
        """A block of a try statement; the types at its end."""
        env, arrays = dict(self.env), dict(self.arrays)
        self.indent += 1
        self.inside += 1
        start = len(self.lines)
        if raises and self.parallel and self.region is None and self.loops < 2 and self.chance(0.35):
            self.st_prange(depth)
        for turn in range(self.rng.randint(1, 3)):
            if raises and (not turn or self.chance(0.3)):
                self.raiser()
            if self.budget > 0:
                self.budget -= 1
                self.statement(depth - 1)
        if self.chance(0.12):
            self.leave()
        if last and self.chance(0.4):
            test = self.chance(0.7)
            if test:
                self.emit(f"if {self.number()} % 2 == 0:")
            self.emit("    " * test + last)
        if len(self.lines) == start:
            self.emit("pass")
        self.inside -= 1
        self.indent -= 1
        out, self.env, self.arrays = self.env, env, arrays
        return out

    def leave(self) -> None:
        """A jump out of the block, perhaps through a `finally`."""
        loops = self.loops - (self.region.loops if self.region is not None else 0)
        forms = ["continue"] if self.loops else []
        forms += ["break"] if loops > 0 or self.loops and self.region is None else []
        if self.region is None and (self.early or self.chance(0.5)):
            if not self.early:
                self.early = [n for n in self.params if n in self.env][:3]
            forms += [f"return {', '.join(self.early)}"] if self.early else []
        if not forms:
            return
        self.emit(f"if {self.number()} % 3 == 1:")
        self.emit("    " + self.rng.choice(forms))

    def number(self) -> str:
        """An integer that is not the same at every call."""
        ints = [n for n, t in self.env.items() if t in INTS] + self.indices
        return self.rng.choice(ints) if ints and self.chance(0.8) else f"({self.expr('int64', 1)})"

    def st_raiser(self, depth: int) -> None:
        """A statement that raises now and then."""
        self.raiser()

    def raiser(self) -> None:
        """Something that raises now and then."""
        makers = [
            self.by_division,
            self.by_index,
            self.by_raise,
            self.by_assert,
            self.by_conversion,
            self.by_power,
        ]
        makers += [self.by_callee] * 2
        if self.region is None and self.targets():
            makers += [self.by_store, self.by_shapes]
        self.rng.choice(makers)()

    def named(self, text: str, ty: str) -> None:
        """A new variable, or an old one that it fits."""
        fits = [n for n in self.mutable() if self.env[n] == ty]
        name = self.rng.choice(fits) if fits and self.chance(0.5) else self.fresh("v")
        self.emit(f"{name} = {text}")
        self.env[name] = ty

    def by_division(self) -> None:
        """A division by what may be zero."""
        op = self.rng.choice(["//", "%", "/"])
        self.named(f"{self.expr('int64', 1)} {op} ({self.number()} % 3)", "float64" if op == "/" else "int64")

    def by_index(self) -> None:
        """An index that may be out of range."""
        names = [n for n, a in self.arrays.items() if a.ndim]
        if not names:
            return self.by_division()
        name = self.rng.choice(names)
        ty = self.arrays[name]
        rest = [self.index_part(name, axis, ty.ndim) for axis in range(1, ty.ndim)]
        self.named(f"{name}[{', '.join([f'{self.number()} % (len({name}) + 2)', *rest])}]", ty.dtype)
        return None

    def by_store(self) -> None:
        """A store that may be out of range."""
        name = self.rng.choice(self.targets())
        ty = self.arrays[name]
        if ty.ndim != 1:
            return self.by_index()
        self.emit(f"{name}[{self.number()} % (len({name}) + 1)] = {self.simple(ty.dtype, 0)}")
        return None

    def by_shapes(self) -> None:
        """An operation on arrays that may not fit."""
        name = self.rng.choice(self.targets())
        ty = self.arrays[name]
        if ty.ndim != 1:
            return self.by_index()
        cut = f"{name}[:{self.number()} % 4]"
        if self.loops or ty.dtype == "bool":
            self.emit(f"{cut} = {name}[1:3]")
        else:
            new = self.fresh("n")
            self.emit(f"{new} = {cut} + {name}[1:3]")
            self.arrays[new] = ty
        return None

    def by_raise(self) -> None:
        """A raise."""
        own = [c for c in CLASSES if f"class {c}({CLASSES[c]}):" in self.gen.text]
        name = self.rng.choice([*MEANT, *own, *own])
        args = [
            "",
            f"('m{self.rng.randint(0, 9)}')",
            f"('m', {self.simple(self.rng.choice(SIGNED + FLOATS), 0)})",
        ]
        self.emit(f"if {self.number()} % 3 == {self.rng.randint(0, 2)}:")
        self.emit(f"    raise {name}{self.rng.choice(args)}")

    def by_assert(self) -> None:
        """An assertion."""
        self.emit(
            f"assert {self.number()} % 3 != {self.rng.randint(0, 2)}, 'assertion {self.rng.randint(0, 9)}'"
        )

    def by_conversion(self) -> None:
        """An integer of a float that may be none."""
        ty = self.rng.choice(FLOATS)
        self.named(f"int({self.expr(ty, 1)})", "int64")

    def by_power(self) -> None:
        """A power that may be negative."""
        self.named(f"{self.simple('int64', 0)} ** ({self.number()} % 4 - 1)", "int64")

    def by_callee(self) -> None:
        """A call of something that raises."""
        found = [h for h in self.gen.helpers if h.name[0] == "x" and self.callable_here(h)]
        if not found:
            return self.by_division()
        helper = self.rng.choice(found)
        self.named(self.call_text(helper, 1), str(helper.ret))
        return None


def callee(rng, name: str) -> tuple[list[tuple[str, object, None]], list[str]]:  # noqa: ANN001
    """Parameters and lines of a function that raises now and then."""
    n, x = ("n", "int64", None), ("x", rng.choice(["int64", "float64", "uint8"]), None)
    kind = rng.randrange(5)
    if kind == 0:
        return [n, x], ["if n % 3 == 0:", "    raise ValueError('callee', n)", "if n % 7 == 1:", "    raise KeyError(x)",
                        "return x // (n % 2)"]  # fmt: skip
    if kind == 1:
        return [n, x], ["try:", "    r = x / (n % 4)", "except ZeroDivisionError:", "    if n > 0:", "        raise",
                        "    r = -1.0", "return r"]  # fmt: skip
    if kind == 2:
        return [n, x], ["if n % 8 <= 0:", "    raise IndexError('deep', n)", "try:", f"    return {name}(n % 8 - 1, x)",
                        "except IndexError:", "    if n % 8 == 3:", "        return x", "    raise"]  # fmt: skip
    a = ("a", Array(rng.choice(["float64", "int64", "int8"]), 1), None)
    if kind == 3:
        return [a, n], ["b = a * 2", "try:", "    return b[n % 9]", "finally:", "    a[0] = 3"]
    return [a, n], ["b = a[n % 3:] + a[:2]", "return b[0]"]
