"""Stores at computed places and running sums: several at one place, from the end, in place, along an axis, longer than a block."""

from __future__ import annotations

import array_ops
import numpy_calls
import scans
from gen_expr import Expressions, dtype_name
from rules import INTS, STRONG, UNSIGNED, Array, IllTyped, Unspecified, klass

AT = ("add", "add", "subtract", "multiply", "maximum", "minimum", "bitwise_or", "bitwise_and", "bitwise_xor",
      "logical_or", "floor_divide", "divide")  # fmt: skip
LONG = (16_383, 16_384, 16_385, 20_000, 33_000)  # around the blocks of a sum of floats


class Scans(Expressions):
    """What `gen_stmt.Function` knows of scatters and scans."""

    # --- scatters ---

    def st_scatter(self, depth: int) -> None:
        """Some stores at computed places of one array."""
        names = [n for n in self.targets() if self.arrays[n].ndim in (1, 2)]
        if self.gen.numba or not names or self.region is not None or self.weight > 8:
            return self.st_assign(depth)
        arrays = dict(self.arrays)
        name = self.rng.choice(names)
        at, source = self.places(name)
        for _ in range(self.rng.randint(1, 3)):
            self.scatter(name, at, source)
        self.arrays = arrays | {at: self.arrays[at]} if not self.loops else arrays
        return None

    def places(self, name: str) -> tuple[str, str]:
        """An array of indices into another, and one of the same length."""
        at, size = self.fresh("n"), f"max(len({name}), 1)"
        whole = [n for n, a in self.arrays.items() if a.ndim == 1 and a.dtype in INTS and n != name]
        source = (
            self.rng.choice(whole) if whole and self.chance(0.6) else f"np.arange({self.rng.choice('3579')})"
        )
        wide = source in self.arrays and self.arrays[source].dtype == "uint64"
        form = self.rng.choice(
            ["{} % {n}", "{} % {n}", "{} % {n} - {n}", "{} % min(2, {n})", "{} % (2 * {n}) - {n}"]
        )
        if self.chance(0.03):
            form = "{} % 9 - 4"
        if wide:
            source = f"np.arange({self.rng.choice('3579')})"
        self.emit(f"{at} = {form.format(source, n=size)}")
        self.arrays[at] = Array("int64", 1)
        return at, source if source in self.arrays else at

    def scatter(self, name: str, at: str, source: str) -> None:
        """One store."""
        ty = self.arrays[name]
        value, vty = self.value_at(name, at, source)
        order = "bifc"
        if "np." not in value and order.index(klass(array_ops.element(vty))) > order.index(klass(ty.dtype)):
            value, vty = self.literal_of(ty.dtype), "literal"
        if self.chance(0.35):
            self.emit(f"{name}[{at}] = {value}")
            return
        if self.chance(0.3) and ty.dtype != "bool":
            self.emit(f"{name}[{at}] {self.rng.choice(['+=', '-=', '*=', '+='])} {value}")
            return
        op = self.rng.choice(AT)
        try:
            out = numpy_calls.call_type(
                op, [ty.dtype, ty.dtype if vty == "literal" else array_ops.element(vty)]
            )
        except (IllTyped, Unspecified):
            op, out = "add", ty.dtype
        if order.index(klass(out)) > order.index(klass(ty.dtype)) or ty.dtype == "bool" and out != "bool":
            op = "logical_or"
        if (op == "logical_or") != (ty.dtype == "bool"):
            op = "logical_or" if ty.dtype == "bool" else "add"
        index = f"({at}, {at})" if ty.ndim == 2 and self.chance(0.2) else at
        self.emit(f"np.{op}.at({name}, {index}, {value})")

    def value_at(self, name: str, at: str, source: str) -> tuple[str, object]:
        """What is stored, with its type."""
        ty, roll = self.arrays[name], self.rng.random()
        if roll < 0.25:
            return self.literal_of(ty.dtype), "literal"
        if roll < 0.4:
            return self.expr(ty.dtype, 2), ty.dtype
        if ty.ndim == 2:
            row = (
                self.rng.choice([f"{name}[0]", f"{name}[-1] * 2", f"{name}[:1]"])
                if ty.dtype != "bool"
                else f"{name}[0]"
            )
            return row, ty
        if roll < 0.55:
            return f"{name}[{at}]", ty
        if roll < 0.62:
            return f"{name}[:1]", ty
        literal = self.literal_of(ty.dtype)
        if roll < 0.75 and ty.dtype != "bool":
            return f"({name}[{at}] {self.rng.choice('+-*')} {literal})", ty
        other = self.arrays[source]
        if roll < 0.9:
            return self.rng.choice([source, f"({source} * 2)", f"{source}[::-1]"]), other
        return f"{source}.astype(np.{dtype_name(ty.dtype)})", ty

    # --- scans ---

    def st_scan(self, depth: int) -> None:
        """A running sum or one of its kin."""
        names = [n for n, a in sorted(self.arrays.items()) if a.ndim and n[0] != "o"]
        if self.gen.numba or not names or self.region is not None or self.weight > 8:
            return self.st_assign(depth)
        if not self.loops and not self.inside and self.chance(0.08):
            return self.long_scan()
        for _ in range(6):
            name = self.rng.choice(names)
            try:
                text, ty = self.scan_of(name)
            except (IllTyped, Unspecified):
                continue
            return self.scan_used(name, text, ty)
        return self.st_assign(depth)

    def scan_of(self, name: str) -> tuple[str, Array]:
        """A scan of something made of an array, with its type."""
        source, ty = self.scan_source(name)
        roll = self.rng.random()
        op = self.rng.choice(["add", "add", "multiply"] if roll < 0.45 else scans.SCANS)
        dtype = scans.result(op, ty.dtype)
        if klass(dtype) == "c" and op in ("multiply", "maximum", "minimum"):
            raise Unspecified("products of complex numbers")
        axis: int | None = None if roll < 0.45 else 0
        options = ""
        if self.chance(0.5):
            axis = self.rng.randrange(-ty.ndim, ty.ndim)
            options = f", axis={axis}"
        if op in ("add", "multiply") and self.chance(0.15):
            wide = self.rng.choice(STRONG)
            if "bifc".index(klass(wide)) >= "bifc".index(klass(dtype)) and scans.result(op, wide) == wide:
                dtype, options = wide, f"{options}, dtype=np.{dtype_name(wide)}"
        if roll >= 0.45:
            text = f"np.{op}.accumulate({source}{options})"
        else:
            short = {"add": "cumsum", "multiply": "cumprod"}[op]
            text = (
                f"np.{short}({source}{options})" if self.chance(0.6) else f"({source}).{short}({options[2:]})"
            )
        return text, Array(dtype, 1 if axis is None else ty.ndim)

    def scan_source(self, name: str) -> tuple[str, Array]:
        """What is summed up."""
        ty = self.arrays[name]
        if klass(ty.dtype) in "ifc" and self.chance(0.4):
            op, value = self.rng.choice("+-*"), self.literal_of(ty.dtype)
            return f"({name} {op} {value})", array_ops.binary_type(op, ty, ty.dtype)[0]
        forms = ["{}", "{}", "{}[::-1]", "{}[1:]", "{}[::2]"] + ["{}.T", "{}[:, ::-1]"] * (ty.ndim == 2)
        return self.rng.choice(forms).format(name), ty

    def scan_used(self, name: str, text: str, ty: Array) -> None:
        """A statement with a scan."""
        outs = [n for n in self.targets() if self.arrays[n] == ty]
        roll = self.rng.random()
        if roll < 0.3 and outs and "=" not in text.split("dtype")[-1][:1]:
            out = name if name in outs and self.chance(0.6) else self.rng.choice(outs)
            self.emit(f"{text[:-1]}{', ' if text[-2] != '(' else ''}out={out})")
        elif roll < 0.42 and outs:
            out = name if name in outs and self.chance(0.6) else self.rng.choice(outs)
            self.emit(f"{out}[...] = {text}")
        elif roll < 0.55 and klass(ty.dtype) in "bi":
            new = self.fresh("v")
            self.emit(f"{new} = {text}.sum()")
            self.env[new] = "uint64" if ty.dtype in UNSIGNED else "int64"
        elif roll < 0.65 and ty.ndim == 1:
            new = self.fresh("v")
            self.emit(f"{new} = {text}[{self.rng.choice(['-1', '0'])}]")
            self.env[new] = ty.dtype
        elif not self.loops:
            new = self.fresh("n")
            if roll < 0.85 and ty.dtype != "bool":
                literal = self.literal_of(ty.dtype)
                text = f"({text} {self.rng.choice('+-*')} {literal})"
                ty = array_ops.binary_type("+", ty, "wint")[0]
            self.emit(f"{new} = {text}")
            self.arrays[new] = ty

    def long_scan(self) -> None:
        """A scan of more than a block."""
        source, sums, size = self.fresh("l"), self.fresh("l"), self.rng.choice(LONG)
        exact = self.rng.choice(["{} % 13", "({} % 13) * 0.25", "{} * {}", "({} % 11 - 5) * 0.5"])
        self.emit(f"{source} = {exact.format(f'np.arange({size})', f'np.arange({size})')}")
        floating = "." in exact
        self.emit(f"{sums} = np.{'cumsum' if floating else self.rng.choice(['cumsum', 'cumprod'])}({source})")
        for k in (-1, self.rng.choice(LONG[:3]) % size, self.rng.randrange(size)):
            new = self.fresh("v")
            self.emit(f"{new} = {sums}[{k}]")
            self.env[new] = "float64" if floating else "int64"
