"""Loops over a prange: stores to own elements, reductions, arrays that are accumulated into.

In the body, what stands outside is only read: arrays that the loop writes are not in scope but for the statements made here, and
variables from before it are frozen, so that iterations do not meet. The oracle has the last word on that.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gen_expr import Expressions
from rules import BINOPS, FLOATS, INTS, SCALARS, SIGNED, UNSIGNED, WEAK, Array, klass


@dataclass
class Reduction:
    """A variable in which iterations collect."""

    name: str
    ty: str
    kind: str  # + * min max & | and or
    exact: bool = True


@dataclass
class Region:
    """The prange loop whose body is made."""

    index: str
    loops: int
    written: dict[str, Array] = field(default_factory=dict)
    accums: dict[str, tuple[Array, str]] = field(default_factory=dict)
    reductions: list[Reduction] = field(default_factory=list)


class Regions(Expressions):
    """What `gen_stmt.Function` knows of loops over a prange."""

    def region_makers(self, depth: int) -> list:
        """Statements of a prange loop's body, with weights."""
        region = self.region
        makers = [(3, self.st_assign), (2, self.st_update), (0.5, self.st_unpack), (0.4, self.st_call),
                  (0.6, self.st_raise), (0.5, self.st_alloc), (0.3, self.st_reduce)]  # fmt: skip
        if self.targets():
            makers += [(1, self.st_store), (0.3, self.st_array), (0.3, self.st_slice)]
        if region.written:
            makers += [(4, self.st_own), (1, self.st_peek)]
            if self.name == "main":
                makers += [(2.5, self.st_view)]
        if region.reductions:
            makers += [(4, self.st_collect)]
        if self.inside:
            makers += [(3, self.st_raiser)]
        if region.accums:
            makers += [(3, self.st_accumulate)]
        if self.gen.entries and self.weight <= 8:
            makers += [(3, self.st_library)]
        if depth > 0:
            makers += [(2.5, self.st_if), (0.7, self.st_try)]
            if self.weight < 100:
                makers += [(1.5, self.st_for), (0.5, self.st_while)]
        if self.chance(0.2):
            makers += [(1, self.st_jump)]
        return makers

    def st_prange(self, depth: int) -> None:
        """A loop over a prange."""
        region = Region(self.fresh("i"), self.loops + 1)
        self.choose_arrays(region)
        for _ in range(self.rng.choice([0, 1, 1, 2, 3]) if region.written else self.rng.randint(1, 3)):
            region.reductions.append(self.reduction())
        head = self.prange_head(region)
        saved = self.env, self.arrays, self.frozen, self.readonly, self.region, self.loops, self.weight
        hidden = set(region.written) | set(region.accums)
        taken = {self.base.get(n, n) for n in hidden}
        self.env = {n: t for n, t in self.env.items() if n not in {r.name for r in region.reductions}}
        self.arrays = {n: a for n, a in self.arrays.items() if self.base.get(n, n) not in taken}
        self.frozen = self.frozen | set(self.env) | {region.index}
        self.readonly = set(self.arrays)
        self.env[region.index] = "int64"
        self.indices.append(region.index)
        self.region, self.loops, self.weight = region, region.loops, self.weight * 8
        self.emit(head)
        self.indent += 1
        self.body(self.rng.randint(1, 4), depth - 1)
        if region.written and self.chance(0.8):
            self.st_own(0)
        for r in region.reductions:
            if self.chance(0.6):
                self.update_reduction(r)
        if region.accums and self.chance(0.7):
            self.st_accumulate(0)
        self.indent -= 1
        self.indices.pop()
        self.env, self.arrays, self.frozen, self.readonly, self.region, self.loops, self.weight = saved
        for r in region.reductions:
            if r.exact:
                self.env[r.name] = r.ty
            else:
                self.env.pop(r.name, None)
                if self.indent == 1:
                    self.approx.append(r.name)

    def choose_arrays(self, region: Region) -> None:
        """Which arrays the loop writes, and which it accumulates into."""
        free = [n for n in self.targets() if self.arrays[n].ndim > 0]
        self.rng.shuffle(free)
        bases: set[str] = set()
        if free and self.chance(0.35):
            name = free.pop()
            bases.add(self.base.get(name, name))
            kinds = {"b": "|&", "i": "++++*&|", "f": "+++*", "c": "+"}[klass(self.arrays[name].dtype)]
            region.accums[name] = self.arrays[name], self.rng.choice(kinds)
        for _ in range(self.rng.choice([0, 1, 1, 1, 2])):
            while free and self.base.get(free[-1], free[-1]) in bases:
                free.pop()
            if free:
                name = free.pop()
                bases.add(self.base.get(name, name))
                region.written[name] = self.arrays[name]

    def prange_head(self, region: Region) -> str:
        """The line of the loop."""
        roll = self.rng.random()
        if region.written:
            names = list(region.written)
            size = f"len({names[0]})" if self.chance(0.7) else f"{names[0]}.shape[0]"
            if len(names) > 1 and self.chance(0.9):
                size = f"min(len({names[0]}), len({names[1]}))"
        elif self.arrays and roll < 0.7:
            size = f"len({self.rng.choice(sorted(self.arrays))})"
        else:
            size = str(self.rng.randint(0, 20))
        if roll < 0.6:
            text = size
        elif roll < 0.8:
            text = f"{self.rng.randint(0, 2)}, {size}"
        elif roll < 0.9:
            text = f"0, {size}, {self.rng.randint(1, 3)}"
        else:
            text = f"{size} - 1, {self.rng.choice(['-1', '-1', '0'])}, {self.rng.choice(['-1', '-2'])}"
        i, span = region.index, f"prange({text})"
        if self.chance(0.05):
            span = f"reversed({span})"
        elif self.chance(0.05):
            return f"for {self.fresh('k')}, {i} in enumerate({span}):"
        return f"for {i} in {span}:"

    # --- reductions ---

    def reduction(self) -> Reduction:
        """A new variable to collect in, with its first value."""
        kind = self.rng.choice(["+"] * 6 + ["*"] * 2 + ["min", "max", "&", "|", "and", "or"])
        name, exact = self.fresh("r"), True
        if kind in ("and", "or"):
            ty, first = "bool", self.rng.choice(["True", "False"])
        elif kind in "&|":
            ty = self.rng.choice(["int64", "uint64"])
            first = self.rng.choice(
                {"int64": ["-1", "0", "0x5555"], "uint64": ["np.uint64(0)", "np.uint64(255)"]}[ty]
            )
        elif kind in ("min", "max"):
            ty = self.rng.choice(INTS + FLOATS)
            first = f"np.{ty}({self.rng.choice(['3', '100', '0'])})"
        else:
            ty = self.rng.choice(["int64", "int64", "uint64", "float64", "float64", "float32", "complex128"])
            if kind == "*" and klass(ty) == "c":
                kind = "+"
            first = {"int64": "0", "uint64": "np.uint64(1)", "float64": "0.0", "float32": "np.float32(0.5)",
                     "complex128": "0j"}[ty]  # fmt: skip
            if kind == "*":
                first = {
                    "int64": "1",
                    "uint64": "np.uint64(3)",
                    "float64": "1.0",
                    "float32": "np.float32(1.0)",
                }[ty]
            exact = klass(ty) != "f" or self.chance(0.6)
        same = [n for n, t in self.env.items() if t == ty and n not in self.frozen and klass(ty) in "bi"]
        if same and self.chance(0.2):
            first = self.rng.choice(same)
        self.emit(f"{name} = {first}")
        return Reduction(name, ty, kind, exact)

    def st_collect(self, depth: int) -> None:
        """One of the reductions takes a value."""
        self.update_reduction(self.rng.choice(self.region.reductions))

    def update_reduction(self, r: Reduction) -> None:
        """A statement by which an iteration contributes to a reduction."""
        if r.kind in ("and", "or"):
            test = self.expr("bool", 2)
            if self.chance(0.5):
                x = self.fresh("x")
                self.emit(f"{x} = {test}")
                self.emit(f"{r.name} = {r.name} {r.kind} {x}")
                self.env[x] = "bool"
            else:
                self.emit(f"if {test}:")
                self.emit(f"    {r.name} = {r.kind == 'or'}")
            return
        if r.kind in ("min", "max"):
            value = self.expr(r.ty, 2)
            roll = self.rng.random()
            if roll < 0.4:
                self.emit(f"{r.name} = {r.kind}({r.name}, {value})")
            elif roll < 0.6 and klass(r.ty) == "i":
                self.emit(f"{r.name} = {r.kind}({value}, {r.name})")
            else:
                x = self.fresh("x")
                self.emit(f"{x} = {value}")
                self.emit(f"if {x} {'<' if r.kind == 'min' else '>'} {r.name}:")
                self.emit(f"    {r.name} = {x}")
                self.env[x] = r.ty
            return
        op = {"+": self.rng.choice("++-"), "*": "*"}.get(r.kind, r.kind)
        value = self.contribution(r.ty, r.kind, r.exact)
        if klass(r.ty) == "i" and op != "-" and self.chance(0.2):
            left, right = (r.name, value) if self.chance(0.5) else (value, r.name)
            self.emit(f"{r.name} = {left} {op} {right}")
        else:
            self.emit(f"{r.name} {op}= {value}")

    def contribution(self, ty: str, kind: str, exact: bool) -> str:
        """A value to be collected; exact ones give the same total in any order."""
        if klass(ty) == "i":
            types = UNSIGNED if ty == "uint64" else SIGNED + ("bool", "uint8", "wint")
            value = self.expr(self.rng.choice(types), 2)
            i = self.region.index if ty == "int64" else f"np.uint64({self.region.index} & 15)"
            # what is the same constant every time is no reduction
            return value if kind == "+" else f"({value} | 1)" if kind == "*" else f"({value} + 3 * {i})"
        if klass(ty) == "c":
            return f"complex({self.contribution('float64', '+', True)}, {self.contribution('float64', '+', True)})"
        if kind == "*" and exact:
            return self.rng.choice([f"np.{ty}(2.0)", f"np.{ty}(0.5)", f"np.{ty}(-1.0)",
                                    f"(np.{ty}(2.0) if {self.expr('bool', 1)} else np.{ty}(0.25))"])  # fmt: skip
        if kind == "*":
            return f"(np.{ty}(1.0) + np.{ty}({self.small('int64', 63, 1)}) * np.{ty}(0.01))"
        if exact:
            return f"(np.{ty}({self.small('int64', 63, 2)}) * np.{ty}(0.25))"
        return f"min(max(np.{ty}(-1e6), {self.expr(ty, 2)}), np.{ty}(1e6))"

    # --- arrays ---

    def own_place(self, name: str, arr: Array) -> str:
        """An element of array `name` that belongs to the iteration alone."""
        rest = [self.index_part(name, axis, arr.ndim) for axis in range(1, arr.ndim)]
        return f"{name}[{', '.join([self.region.index, *rest])}]"

    def st_peek(self, depth: int) -> None:
        """Read an own element."""
        name = self.rng.choice(sorted(self.region.written))
        arr = self.region.written[name]
        new = self.fresh("v")
        self.emit(f"{new} = {self.own_place(name, arr)}")
        self.env[new] = arr.dtype

    def st_own(self, depth: int) -> None:
        """Store to an own element, or to a whole row."""
        name = self.rng.choice(sorted(self.region.written))
        arr = self.region.written[name]
        i = self.region.index
        if arr.ndim == 2 and self.chance(0.4):
            if self.chance(0.5):
                return self.own_row(name, arr)
            j, step = self.fresh("j"), self.indent
            self.emit(f"for {j} in {'prange' if self.chance(0.3) else 'range'}({name}.shape[1]):")
            self.indent += 1
            self.indices.append(j)
            held = dict(self.env)
            self.env[j] = "int64"
            self.store_to(f"{name}[{i}, {j}]", arr.dtype)
            self.env = held
            self.indices.pop()
            self.indent = step
            return None
        return self.store_to(self.own_place(name, arr), arr.dtype)

    # --- views of views ---

    def st_view(self, depth: int) -> None:
        """A store or a read through a view that the loop makes: of the iteration's own elements, mostly."""
        self.views = True
        name = self.rng.choice(sorted(self.region.written))
        arr, i = self.region.written[name], self.region.index
        text, left = self.view_of(name, arr, i)
        if self.chance(0.3) and left:
            new = self.fresh("w")
            self.emit(f"{new} = {text}")
            text = new + self.rng.choice(["", "", "[:]", "[::-1]"])
        if not left:
            return self.store_to(text, arr.dtype) if self.chance(0.8) else self.read_view(text, arr.dtype)
        if self.chance(0.25):
            zeros = ", ".join(self.rng.choice(["0", "-1"]) for _ in range(left))
            return self.read_view(f"{text}[{zeros}]", arr.dtype)
        if self.chance(0.4):
            pairs = [(op, b) for op in BINOPS for b in SCALARS if self.fits_inplace(op, arr.dtype, b)]
            if pairs:
                op, b = self.rng.choice(pairs)
                return self.emit(f"{text if text[-1] == ']' else text + '[:]'} {op}= {self.expr(b, 1)}")
        src = self.rng.choice([t for t in SCALARS if klass(t) == klass(arr.dtype) or t == arr.dtype])
        if self.chance(0.3):
            return self.emit(f"{text}[:] = {text}[::-1]")
        return self.emit(f"{text}[:] = {self.expr(src, 1)}")

    def read_view(self, text: str, dtype: str) -> None:
        """A variable with an element."""
        new = self.fresh("v")
        self.emit(f"{new} = {text}")
        self.env[new] = dtype

    def view_of(self, name: str, arr: Array, i: str) -> tuple[str, int]:
        """A view, mostly of own elements, and how many axes are left of it."""
        widths = [n for n in sorted(self.frozen) if self.env.get(n) == "int64" and n != i]
        if widths and self.chance(0.3):
            return self.slice_of(name, i, f"({self.rng.choice(widths)} & 3)"), arr.ndim
        if arr.ndim == 1:
            own = [f"{name}[{i}:][0]", f"{name}[:{i} + 1][-1]", f"{name}[{i}:{i} + 1][0]", f"{name}[::-1][-1 - {i}]",
                   f"{name}[{i}:][:1][0]", f"{name}[{i}:][::2][0]", f"{name}[:][{i}]"]  # fmt: skip
            rows = [f"{name}[{i}:][:1]", f"{name}[{i}:{i} + 1][::-1]", f"{name}[:{i} + 1][-1:]", f"{name}[{i}:{i} + 2][:1]",
                    f"{name}[::-1][-1 - {i}:][:1]", f"{name}[2 * {i}:][:2]", f"{name}[{i} * 3:({i} + 1) * 3][1:]"]  # fmt: skip
            wild = [
                f"{name}[{i}:][1:]",
                f"{name}[{i}:][:2]",
                f"{name}[1:][{i}:{i} + 1]",
                f"{name}[:{i} + 1][::2]",
            ]
        else:
            rest = ", 0" * (arr.ndim - 2)
            own = [f"{name}[{i}][1:][0{rest}]", f"{name}[{i}:][0, 1:][0{rest}]", f"{name}[:, 1:][{i}][-1{rest}]",
                   f"{name}.T[..., {i}][{rest[2:] + ', ' if rest else ''}0]"]  # fmt: skip
            rows = [f"{name}[{i}][::2]", f"{name}[{i}:][0]", f"{name}[{i}][1:][::-1]", f"{name}.T[..., {i}]",
                    f"{name}[:, ::-1][{i}]", f"{name}[::-1][-1 - {i}]", f"{name}[:, 1:][{i}]"]  # fmt: skip
            wild = [f"{name}[{i}:][1]", f"{name}[:, {i} % 2]", f"{name}.T[{i} % 2]"]
        roll = self.rng.random()
        if roll < 0.45:
            return self.rng.choice(own), 0
        return self.rng.choice(rows if roll < 0.85 else wild), max(1, arr.ndim - 1)

    def slice_of(self, name: str, i: str, w: str) -> str:
        """A slice of the first axis whose place only the running program knows: some lie apart, some do not, some where `w` says so."""
        return self.rng.choice([
            f"{name}[{i} * {w}:({i} + 1) * {w}]", f"{name}[{i} * 2:{i} * 2 + {w}]", f"{name}[{i}:{i} + {w}]",
            f"{name}[{w}:][{i} * 2:{i} * 2 + {w}]", f"{name}[{i} * {w}:min(len({name}), ({i} + 1) * {w})]",
            f"{name}[max(0, {i} - {w}):{i} + 1]", f"{name}[{i} * {w} - {w}:{i} * {w}]", f"{name}[{i} * {w}:][:{w}]",
        ])  # fmt: skip

    def own_row(self, name: str, arr: Array) -> None:
        """A scalar into a row, or an operation on it in place."""
        row = f"{name}[{self.region.index}]"
        if self.chance(0.5):
            src = self.rng.choice([t for t in SCALARS if klass(t) == klass(arr.dtype) or t == arr.dtype])
            self.emit(f"{row}{self.rng.choice(['[:]', ''])} = {self.expr(src, 1)}")
            return
        pairs = [(op, b) for op in BINOPS for b in SCALARS if self.fits_inplace(op, arr.dtype, b)]
        if pairs:
            op, b = self.rng.choice(pairs)
            self.emit(f"{row} {op}= {self.expr(b, 1)}")

    def store_to(self, place: str, dtype: str) -> None:
        """``place = value`` or ``place op= value``."""
        kind = klass(dtype)
        if self.chance(0.3):
            pairs = [(op, b) for op in BINOPS for b in SCALARS if self.storable(op, dtype, b)]
            op, b = self.rng.choice(pairs)
            self.emit(f"{place} {op}= {self.right(op, dtype, b, 2)}")
            return
        src = self.rng.choice([t for t in SCALARS if kind == "c" or klass(t) != "c"])
        if kind == "i" and klass(src) == "f":
            src = "int64"
        self.emit(f"{place} = {self.expr(src, 2)}")

    def st_accumulate(self, depth: int) -> None:
        """``array[key] op= value``, or the same for all of an array of integers."""
        name = self.rng.choice(sorted(self.region.accums))
        arr, kind = self.region.accums[name]
        op = {"+": self.rng.choice("++-"), "*": "*"}.get(kind, kind)
        if klass(arr.dtype) in "fc":
            part = {"complex64": "float32", "complex128": "float64"}.get(arr.dtype, arr.dtype)
            if part == "float32" and self.chance(0.2) and klass(arr.dtype) == "f":
                part = "float64"
            value = self.contribution(part, kind, klass(arr.dtype) == "c" or self.chance(0.7))
        else:
            fits = [t for t in INTS + ("bool", "wint") if klass(arr.dtype) == "i" or t == "bool"]
            value = self.expr(self.rng.choice(fits), 2)
            if kind != "+" and klass(arr.dtype) == "i":
                value = self.contribution("int64", kind, True)
        if klass(arr.dtype) == "i" and kind == "+" and self.chance(0.12):
            small = self.rng.choice([t for t in ("wint", arr.dtype) if t in WEAK or t not in UNSIGNED])
            self.emit(f"{name} {op}= {self.expr(small, 1)}")
            return
        keys = [n for n, a in self.arrays.items() if a.dtype in SIGNED and a.ndim in (1, 2)]
        if keys and arr.ndim == 1 and op in "+-*" and self.chance(0.25):
            key, i = self.rng.choice(keys), self.region.index
            row = f"{key}[{i} % len({key})]" if self.arrays[key].ndim == 2 else f"{key}[{i}:{i} + 3]"
            ufunc = {"+": "add", "-": "subtract", "*": "multiply"}[op]
            return self.emit(f"np.{ufunc}.at({name}, {row} % len({name}), {value})")
        return self.emit(f"{name}[{self.index(name, arr)}] {op}= {value}")
