"""Masks, arrays of integers as indices, and running sums: what is packed, stored where a mask says, and merged with what is around."""

from __future__ import annotations

import array_ops
from gen_expr import Expressions
from rules import SIGNED, UNSIGNED, Array, IllTyped, Unspecified, klass


class Masks(Expressions):
    """What `gen_stmt.Function` knows of arrays as indices."""

    def st_mask(self, depth: int) -> None:
        """A mask or an index, and what is done with it."""
        names = [n for n, a in sorted(self.arrays.items()) if a.ndim]
        if self.gen.numba or not names or self.loops or self.region is not None:
            return self.st_assign(depth)
        base = self.rng.choice(names)
        ndim = self.arrays[base].ndim
        beside = [base] + [n for n in names if self.arrays[n].ndim == ndim and n != base][:2]
        integers = [n for n in names if self.arrays[n].ndim == 1 and self.arrays[n].dtype in SIGNED]
        if integers and self.chance(0.3):
            at = self.fresh("n")
            index = self.rng.choice(integers)
            self.emit(
                f"{at} = {index} % max(len({base}), 1)" if self.chance(0.8) else f"{at} = {index}.copy()"
            )
            self.arrays[at] = Array(
                "int64" if self.arrays[index].dtype == "int64" else self.arrays[index].dtype, 1
            )
            picks = [(f"{x}[{at}]", Array(self.arrays[x].dtype, ndim)) for x in beside]
        else:
            at = self.fresh("n")
            self.emit(f"{at} = {self.mask_of(base)}")
            self.arrays[at] = Array("bool", ndim)
            picks = [(f"{x}[{at}]", Array(self.arrays[x].dtype, 1)) for x in beside]
        for _ in range(self.rng.randint(1, 4)):
            self.use_of(picks)
        return None

    def mask_of(self, name: str) -> str:
        """A comparison of an array's elements."""
        kind = klass(self.arrays[name].dtype)
        if kind == "b":
            return self.rng.choice([f"{name}.copy()", f"(~{name})"])
        op = self.rng.choice(["==", "!="] if kind == "c" else ["<", ">", ">=", "==", "!="])
        return f"({name} {op} {self.literal_of(self.arrays[name].dtype)})"

    def use_of(self, picks: list[tuple[str, Array]]) -> None:
        """One statement with something that is picked."""
        text, ty = self.rng.choice(picks)
        other, oty = self.rng.choice(picks)
        base = text.split("[")[0]
        exact = klass(ty.dtype) in "bi"
        roll = self.rng.random()
        if roll < 0.2:
            self.new_array(text, ty)
        elif roll < 0.35 and exact:
            method = self.rng.choice(["sum", "any", "all"] + (["max", "min"] if ty.dtype != "bool" else []))
            wide = "uint64" if ty.dtype in UNSIGNED else "int64"
            self.new_value(
                f"{text}.{method}()", {"sum": wide, "max": ty.dtype, "min": ty.dtype}.get(method, "bool")
            )
        elif roll < 0.5:
            self.joined(text, ty, other, oty)
        elif roll < 0.6:
            self.new_value(f"len({text})", "int64")
        elif roll < 0.7 and exact:
            self.new_array(f"np.cumsum({text})", Array("uint64" if ty.dtype in UNSIGNED else "int64", 1))
        elif base in self.targets():
            self.stored(text, ty, other, oty)

    def new_array(self, text: str, ty: Array) -> None:
        """A name for it."""
        name = self.fresh("n")
        self.emit(f"{name} = {text}")
        self.arrays[name] = ty

    def new_value(self, text: str, ty: str) -> None:
        """A name for it."""
        name = self.fresh("v")
        self.emit(f"{name} = {text}")
        self.env[name] = ty

    def joined(self, text: str, ty: Array, other: str, oty: Array) -> None:
        """An operation on two that are picked alike, which may be merged with the packing."""
        op = self.rng.choice("+-*&|")
        try:
            out, _ = array_ops.binary_type(op, ty, oty)
        except (IllTyped, Unspecified):
            return
        if klass(out.dtype) == "i" and self.chance(0.6):
            self.new_value(f"({text} {op} {other}).sum()", "uint64" if out.dtype in UNSIGNED else "int64")
        else:
            self.new_array(f"({text} {op} {other})", out)

    def stored(self, text: str, ty: Array, other: str, oty: Array) -> None:
        """A store where the mask or the index says."""
        literal = self.literal_of(ty.dtype)
        forms = [f"{text} = {literal}"]
        if ty.dtype != "bool":
            forms.append(f"{text} {self.rng.choice(['+=', '-=', '*='])} {literal}")
        if ty == oty:
            forms.append(f"{text} = {other}")
        self.emit(self.rng.choice(forms))
