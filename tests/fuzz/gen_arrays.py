"""Trees of operations on whole arrays: what is fused into one loop, or must not be."""

from __future__ import annotations

import array_ops
import numpy_calls
from gen_expr import Expressions
from gufuncs import Gufunc
from rules import BINOPS, COMPARES, SCALARS, STRONG, UNSIGNED, Array, IllTyped, Unspecified, klass

OPERATORS = tuple(op for op in BINOPS if op != "**") + COMPARES
CALLS = ("minimum", "maximum", "absolute", "negative", "square", "where", "equal", "logical_and", "add", "floor",
         "isnan", "sign", "conjugate", "copysign", "bitwise_xor")  # fmt: skip
Typed = tuple[str, Array]


class Trees(Expressions):
    """What `gen_stmt.Function` knows of array expressions."""

    def leaves(self) -> list[Typed]:
        """Views of arrays that have one shape, or sizes that broadcast to it."""
        name = self.rng.choice([n for n in sorted(self.arrays) if n[0] != "o"] or sorted(self.arrays))
        arr = self.arrays[name]
        if arr.ndim == 0:
            return [(name, arr)]
        others = [n for n, a in self.arrays.items() if a.ndim == arr.ndim and n != name and n[0] != "o"]
        self.rng.shuffle(others)
        if arr.ndim == 1:
            names = [name, *others[:2]]
            if len(names) == 1:
                n = f"len({name})"
            else:
                n = self.fresh("v")
                self.emit(f"{n} = min({', '.join(f'len({x})' for x in names)})")
                self.env[n] = "int64"
            cuts = [f"[:{n}]", f"[:{n}]", f"[:{n}][::-1]"] if len(names) > 1 else ["", "[::-1]", "[:]"]
            out = [(x + self.rng.choice(cuts), self.arrays[x]) for x in names]
            wide = [(f"{x}[:1]", self.arrays[x]) for x in names if self.chance(0.1)]
            return out + wide
        out = [(name, arr), (f"{name}[::-1]", arr), (f"{name}[:1]", arr)]
        out += [(f"{name}[:, :1]", arr), (f"{name}[0]", Array(arr.dtype, arr.ndim - 1))]
        return out + [(x, self.arrays[x]) for x in others[:1] if self.chance(0.15)]

    def tree(self, depth: int, leaves: list[Typed]) -> Typed:
        """An expression over these arrays with the type of its value."""
        if depth <= 0 or self.chance(0.15):
            return self.rng.choice(leaves)
        for _ in range(5):
            try:
                return self.node(depth, leaves)
            except (IllTyped, Unspecified):
                continue
        return self.rng.choice(leaves)

    def node(self, depth: int, leaves: list[Typed]) -> Typed:
        """One operation."""
        left, a = self.tree(depth - 1, leaves)
        scalar = self.chance(0.25)
        if scalar:
            b: object = self.rng.choice(SCALARS)
            right = self.expr(str(b), 1)
        else:
            right, b = self.tree(depth - 1, leaves)
        if self.chance(0.3):
            return self.call_node(left, a, right, b, leaves)
        if self.chance(0.1):
            op = self.rng.choice("-~")
            if op == "~" and klass(a.dtype) in "fc" or op == "-" and a.dtype == "bool":
                raise IllTyped(op)
            return f"({op}{left})", a
        op = self.rng.choice(OPERATORS)
        if op in ("<<", ">>") and not scalar:
            raise Unspecified("shift counts")
        if op in COMPARES:
            elems = (a.dtype, array_ops.element(b))
            if op not in ("==", "!=") and "c" in map(klass, elems):
                raise IllTyped("order of complex numbers")
            ndim = max(a.ndim, b.ndim if isinstance(b, Array) else 0)
            return f"({left} {op} {right})", Array("bool", ndim)
        ty, _ = array_ops.binary_type(op, a, b)
        if op in ("<<", ">>"):
            right = str(self.rng.randint(0, 7))
            ty, _ = array_ops.binary_type(op, a, "wint")
        return f"({left} {op} {right})", ty

    def call_node(self, left: str, a: Array, right: str, b: object, leaves: list[Typed]) -> Typed:
        """A call of one of NumPy's functions, or of a ufunc of the program."""
        if self.gen.ufuncs and self.chance(0.5):
            return self.ufunc_node(left, a, leaves)
        name = self.rng.choice(CALLS)
        if name == "where":
            test, c = self.tree(1, leaves)
            if c.dtype != "bool":
                test, c = (
                    f"({test} {self.rng.choice(['!=', '=='])} {left})",
                    Array("bool", max(c.ndim, a.ndim)),
                )
            args, types = [test, left, right], [c, a, b]
        elif name in numpy_calls.ONE:
            args, types = [left], [a]
        else:
            args, types = [left, right], [a, b]
        ty = numpy_calls.call_type(name, types)
        return f"np.{name}({', '.join(args)})", ty

    def ufunc_node(self, left: str, a: Array, leaves: list[Typed]) -> Typed:
        """A call of a ufunc of the program."""
        name = self.rng.choice(sorted(self.gen.ufuncs))
        uf = self.gen.ufuncs[name]
        if isinstance(uf, Gufunc):
            raise IllTyped("a generalised ufunc is no operation on elements")
        args, types = [left], [a.dtype]
        ndim = a.ndim
        while len(args) < uf.nin:
            if self.chance(0.4):
                ty = self.rng.choice(SCALARS)
                args.append(self.expr(ty, 1))
                types.append(ty)
            else:
                text, b = self.tree(1, leaves)
                args.append(text)
                types.append(b.dtype)
                ndim = max(ndim, b.ndim)
        outs = uf.plan(tuple(types)).outs
        if len(outs) != 1 or ndim == 0:
            raise IllTyped("ufunc of several results")
        return f"{name}({', '.join(args)})", Array(outs[0], ndim)

    def core_call(self, name: str, uf: Gufunc) -> None:
        """A call of a generalised ufunc of the program."""
        args, types, ndims = [], [], []
        for axes in uf.ins:
            fits = [n for n, a in self.arrays.items() if len(axes) <= a.ndim and n[0] != "o"]
            fits = [n for n in fits if self.arrays[n].ndim] + [
                n for n, t in self.env.items() if t in STRONG and not axes
            ]
            if not fits:
                return
            arg = self.rng.choice(fits)
            args.append(arg)
            types.append(self.arrays[arg].dtype if arg in self.arrays else self.env[arg])
            ndims.append((self.arrays[arg].ndim if arg in self.arrays else 0) - len(axes))
        names = [self.fresh("n") for _ in uf.outs]
        outs = uf.types(types, [])[uf.nin :]
        self.emit(f"{', '.join(names)} = {name}({', '.join(args)})")
        for new, ty, axes in zip(names, outs, uf.outs):
            if max(ndims) + len(axes):
                self.arrays[new] = Array(ty, max(ndims) + len(axes))
            else:
                self.env[new] = ty

    def st_tree(self, depth: int) -> None:
        """Some array expressions in a row: new arrays, stores to a view, reductions."""
        if self.gen.numba or not self.arrays or self.weight > 8:
            return self.st_assign(depth)
        cores = [(n, u) for n, u in self.gen.ufuncs.items() if isinstance(u, Gufunc)]
        if cores and self.loops == 0 and self.chance(0.6):
            try:
                return self.core_call(*cores[0])
            except (IllTyped, Unspecified):
                pass
        leaves = self.leaves()
        if self.loops == 0 and self.chance(0.3):
            return self.hazard(leaves)
        for _ in range(self.rng.randint(1, 3)):
            text, ty = self.tree(self.rng.randint(1, 3), leaves)
            roll = self.rng.random()
            stores = [
                (t, a)
                for t, a in leaves
                if "bifc".index(klass(ty.dtype)) <= "bifc".index(klass(a.dtype))
                and ty.ndim <= a.ndim
                and t.split("[")[0] in self.targets()
                and (klass(a.dtype) != "i" or a.dtype in UNSIGNED or ty.dtype not in UNSIGNED)
            ]
            if roll < 0.25 and stores:
                place, a = self.rng.choice(stores)
                self.emit(f"{place}[...] = {text}" if "[" not in place else f"{place} = {text}")
            elif roll < 0.4 and self.reduces(ty):
                name = self.fresh("v")
                method = self.rng.choice(
                    {"b": ["any", "all", "sum"], "i": ["sum", "any", "max"]}[klass(ty.dtype)]
                )
                self.emit(f"{name} = {text}.{method}()" if "(" in text else f"{name} = ({text}).{method}()")
                wide = "uint64" if ty.dtype in UNSIGNED else "int64"
                self.env[name] = {"sum": wide, "max": ty.dtype}.get(method, "bool")
            elif self.loops == 0:
                name = self.fresh("n")
                self.emit(f"{name} = {text}")
                self.arrays[name] = ty
                self.readonly |= {name} if text.split("[")[0] in self.readonly else set()  # a view of it
                leaves.append((name, ty))
        return None

    def hazard(self, leaves: list[Typed]) -> None:
        """A new array, then something is written to what it was made of, then the array is used."""
        text, ty = self.tree(2, leaves)
        name = self.fresh("n")
        self.emit(f"{name} = {text}" if "(" in text else f"{name} = {text}.copy()")
        self.arrays[name] = ty
        for _ in range(self.rng.randint(1, 2)):
            places = [(t, a) for t, a in leaves if t.split("[")[0] in self.targets() and a.ndim]
            if not places:
                break
            place, a = self.rng.choice(places)
            base, value = place.split("[")[0], self.literal_of(a.dtype)
            forms = [f"{base}[{', '.join(['0'] * self.arrays[base].ndim)}] = {value}", f"{base}[...] = {value}",
                     f"{place}[...] = {value}" if "[" in place else f"{place}[1:] = {value}"]  # fmt: skip
            if a.dtype != "bool":
                forms.append(f"{base} += {value}")
            self.emit(self.rng.choice(forms))
        leaves = [*leaves, (name, ty), (name, ty)]
        text, ty = self.tree(2, leaves)
        if self.reduces(ty) and self.chance(0.4):
            new = self.fresh("v")
            self.emit(f"{new} = ({text}).sum()")
            self.env[new] = "uint64" if ty.dtype in UNSIGNED else "int64"
        else:
            new = self.fresh("n")
            self.emit(f"{new} = {text}" if "(" in text else f"{new} = {text}.copy()")
            self.arrays[new] = ty

    def literal_of(self, dtype: str) -> str:
        """A literal that an element of this type takes."""
        kind = klass(dtype)
        return self.rng.choice({"b": ["True", "False"], "i": ["1", "3", "100"], "f": ["0.5", "1", "-2.0"],
                                "c": ["0.5", "1j"]}[kind])  # fmt: skip

    def reduces(self, ty: Array) -> bool:
        """True if the elements have an exact sum."""
        return klass(ty.dtype) in "bi"
