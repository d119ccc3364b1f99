"""Statements of generated programs: assignments, stores, slices, loops, branches, raises."""

from __future__ import annotations

import functools

import array_ops
from gen_arrays import Trees
from gen_expr import REALS, dtype_name, power_ok, producers
from gen_library import Calls
from gen_masks import Masks
from gen_parallel import Regions
from gen_scan import Scans
from gen_try import Tries
from rules import (  # fmt: skip
    BINOPS,
    COMPARES,
    COMPLEXES,
    FLOATS,
    NONE,
    SCALARS,
    SIGNED,
    STRONG,
    UNSIGNED,
    WEAK,
    Array,
    IllTyped,
    Tuple,
    Unspecified,
    arith,
    join,
    klass,
    strong,
)

UNARY_MATH = ("sin", "cos", "tan", "exp", "log", "log1p", "expm1", "sinh", "cosh", "tanh", "asin", "acos", "atan",
              "asinh", "atanh", "log2", "log10", "erf", "erfc")  # fmt: skip
NP_MATH = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "atanh": "arctanh"}
UNIT_DOMAIN = {"asin", "acos", "atanh"}
POSITIVE = {"log", "log1p", "log2", "log10"}


class Function(Regions, Trees, Masks, Tries, Scans, Calls):
    """Makes the text of one function."""

    def body(self, count: int, depth: int) -> None:
        """Some statements."""
        start = len(self.lines)
        for _ in range(count):
            if self.budget <= 0:
                break
            self.budget -= 1
            self.statement(depth)
        if len(self.lines) == start:
            self.emit("pass")

    def statement(self, depth: int) -> None:
        """One statement."""
        if self.region is not None:
            makers = self.region_makers(depth)
            return self.rng.choices([m for _, m in makers], [w for w, _ in makers])[0](depth)
        makers = [
            (5, self.st_assign), (4, self.st_update), (4, self.st_store), (1, self.st_unpack), (1, self.st_call),
            (1, self.st_slice), (0.8, self.st_approx), (0.5, self.st_raise), (0.4, self.st_alloc), (0.3, self.st_reduce),
            (0.8, self.st_array), (0.9, self.st_tree), (0.5, self.st_mask), (0.5, self.st_scatter), (0.8, self.st_scan),
        ]  # fmt: skip
        if depth > 0:
            makers += [(3, self.st_if), (1.0, self.st_try)]
            if self.weight < 100:
                makers += [
                    (3, self.st_for),
                    (1.2, self.st_while),
                    (1.5, self.st_stencil),
                    (0.3, self.st_range),
                ]
            if self.parallel and self.loops < 2 and self.weight < 30:
                makers += [(5, self.st_prange)]
        if self.gen.entries and self.weight <= 8:
            makers += [(9, self.st_library)]
        if self.loops:
            makers += [(0.8, self.st_jump)]
        maker = self.rng.choices([m for _, m in makers], [w for w, _ in makers])[0]
        return maker(depth)

    def st_assign(self, depth: int) -> None:
        """A new variable."""
        ty = self.rng.choice(STRONG + ("int64", "float64", "float32", "wint", "wfloat"))
        text = self.expr(ty, 3)
        name = self.fresh("v")
        if self.chance(0.05) and self.mutable():
            other = self.rng.choice(self.mutable())
            self.emit(f"{name} = {other} = {text}" if ty == self.env[other] else f"{name} = {text}")
        else:
            self.emit(f"{name} = {text}")
        self.env[name] = ty

    def mutable(self) -> list[str]:
        """Variables that may be assigned here without a change of type."""
        return [n for n, t in self.env.items() if t not in WEAK and n not in self.frozen]

    def fitting(self, ty: str) -> str:
        """A type that joins with `ty` to `ty`."""
        if self.inside or self.chance(0.6):
            return ty
        found = []
        for t in SCALARS:
            try:
                if join(ty, t, self.gen.numba) == ty:
                    found.append(t)
            except (IllTyped, Unspecified):
                continue
        return self.rng.choice(found)

    def st_update(self, depth: int) -> None:
        """Assign or augment an existing variable."""
        names = self.mutable()
        if not names:
            return self.st_assign(depth)
        name = self.rng.choice(names)
        ty = self.env[name]
        table = producers(ty, self.gen.numba)
        aug = [(op, b) for op in table for a, b in table[op] if a == ty]
        if aug and self.chance(0.6):
            op, b = self.rng.choice(aug)
            self.emit(f"{name} {op}= {self.right(op, ty, b, 2)}")
            return None
        new = self.fitting(ty) if self.loops else ty
        self.emit(f"{name} = {self.expr(new, 3)}")
        self.env[name] = ty if self.loops else new
        return None

    def st_store(self, depth: int) -> None:
        """Store to an element, perhaps augmented."""
        names = self.targets()
        if not names:
            return self.st_assign(depth)
        name = self.rng.choice(names)
        arr = self.arrays[name]
        kind = klass(arr.dtype)
        place = f"{name}[{self.index(name, arr)}]"
        if arr.ndim == 2 and self.chance(0.2):
            place = f"{name}[{self.index_part(name, 0, 2)}][{self.index_part(name, 1, 2)}]"
        if self.chance(0.35):
            pairs = [(op, b) for op in BINOPS for b in SCALARS if self.storable(op, arr.dtype, b)]
            op, b = self.rng.choice(pairs)
            self.emit(f"{place} {op}= {self.right(op, arr.dtype, b, 2)}")
            return None
        src = self.rng.choice([t for t in SCALARS if kind == "c" or klass(t) != "c"])
        if kind == "i" and klass(src) == "f":
            src = "int64" if self.chance(0.6) else src
        text = self.expr(src, 3)
        if kind == "i" and klass(src) == "f":
            text = self.clamp(text, src, arr.dtype)
        self.emit(f"{place} = {text}")
        return None

    def clamp(self, text: str, src: str, dst: str) -> str:
        """A float within the range of an integer type."""
        if src in WEAK:
            return "1.5"
        return f"min(max(np.{src}({0 if dst in UNSIGNED else -100}), {text}), np.{src}(100))"

    def storable(self, op: str, dtype: str, b: str) -> bool:
        """True if ``a[i] op= b`` makes a value that the element type takes without a float becoming an int."""
        if op == "**" and not power_ok(dtype, b):
            return False
        try:
            out = arith(op, dtype, b, self.gen.numba)
        except IllTyped:
            return False
        order = "bifc"
        return order.index(klass(out)) <= order.index(klass(dtype)) or dtype == "bool" and klass(out) == "i"

    def st_unpack(self, depth: int) -> None:
        """Tuples: swap, unpack, items."""
        roll = self.rng.randrange(3)
        pairs = [
            (a, b) for a in self.mutable() for b in self.mutable() if a < b and self.env[a] == self.env[b]
        ]
        if roll == 0 and pairs:
            a, b = self.rng.choice(pairs)
            self.emit(f"{a}, {b} = {b}, {a}")
            return
        types = [self.rng.choice(STRONG) for _ in range(self.rng.randint(2, 3))]
        text = ", ".join(self.expr(t, 2) for t in types)
        if roll == 1:
            name = self.fresh("t")
            self.emit(f"{name} = ({text})")
            new = self.fresh("v")
            i = self.rng.randrange(len(types))
            self.emit(f"{new} = {name}[{i if self.chance(0.7) else i - len(types)}]")
            self.env[new] = types[i]
            return
        names = [self.fresh("v") for _ in types]
        self.emit(f"{', '.join(names)} = {text}")
        self.env.update(zip(names, types))

    def st_call(self, depth: int) -> None:
        """Call another function; a tuple result is unpacked."""
        found = [h for h in self.gen.helpers if self.callable_here(h)]
        if not found:
            return self.st_assign(depth)
        helper = self.rng.choice(found)
        text = self.call_text(helper, 2)
        if isinstance(helper.ret, Tuple):
            names = [self.fresh("v") for _ in helper.ret.items]
            self.emit(f"{', '.join(names)} = {text}")
            self.env.update({n: t for n, t in zip(names, helper.ret.items) if isinstance(t, str)})
        elif helper.ret == NONE:
            self.emit(text)
        else:
            name = self.fresh("v")
            self.emit(f"{name} = {text}")
            self.env[name] = helper.ret
        return None

    def bound(self) -> str:
        """A bound of a slice."""
        ints = [n for n, t in self.env.items() if t in SIGNED]
        if ints and self.chance(0.3):
            return self.rng.choice(ints)
        return self.rng.choice(["", "", "0", "1", "2", "-1", "-2", "5", "100"])

    def slice_text(self) -> str:
        """One slice."""
        step = self.rng.choice(["", "", "", ":2", ":-1", ":3", ":-2", ":1"])
        ints = [n for n, t in self.env.items() if t in SIGNED]
        if ints and self.chance(0.06):
            step = f":{self.rng.choice(ints)}"
        return f"{self.bound()}:{self.bound()}{step}"

    def st_slice(self, depth: int) -> None:
        """Views, fills and copies of slices."""
        if not self.targets():
            return self.st_assign(depth)
        name = self.rng.choice(self.targets())
        arr = self.arrays[name]
        roll = self.rng.random()
        if roll < 0.3 and self.loops == 0:
            new = self.fresh("w")
            self.base[new] = self.base.get(name, name)
            if self.chance(0.25) and not self.gen.numba:
                forms = (
                    ["{}.T", "{}[..., 0]", "{}[:, ::-1]", "{}[...]"]
                    if arr.ndim == 2
                    else ["{}[None, :]", "{}[:, None]", "{}[...]"]
                )
                form = self.rng.choice(forms)
                self.emit(f"{new} = {form.format(name)}")
                self.arrays[new] = Array(
                    arr.dtype, 1 if "..., 0" in form else 2 if arr.ndim == 2 or "None" in form else 1
                )
                return None
            if arr.ndim == 2 and self.chance(0.6):
                key = self.rng.choice([f"{self.index_part(name, 0, 2)}", f":, {self.index_part(name, 1, 2)}",
                                       f"{self.slice_text()}, {self.rng.choice('01')}"])  # fmt: skip
                self.emit(f"{new} = {name}[{key}]")
                self.arrays[new] = Array(arr.dtype, 1)
            else:
                again = f"[{self.slice_text()}]" if self.chance(0.3) else ""
                self.emit(f"{new} = {name}[{', '.join(self.slice_text() for _ in range(arr.ndim))}]{again}")
                self.arrays[new] = arr
            return None
        key = ", ".join(self.slice_text() for _ in range(arr.ndim))
        if roll < 0.65:
            src = self.rng.choice([t for t in SCALARS if klass(t) == klass(arr.dtype) or t == arr.dtype])
            text = self.expr(src, 2)
            if arr.ndim == 2 and self.chance(0.3):
                key = self.index_part(name, 0, 2)
            self.emit(f"{name}.fill({text})" if self.chance(0.2) else f"{name}[{key}] = {text}")
            return None
        others = [
            n for n, a in self.arrays.items() if a.ndim == arr.ndim and klass(a.dtype) == klass(arr.dtype)
        ]
        other = self.rng.choice(others)
        if arr.ndim == 1 and self.chance(0.8):
            n = f"min(len({name}), len({other}))"
            key, other_key = self.rng.choice([
                (f":{n}", f":{n}"), (f":{n}", f"{n}::-1" if self.chance(0.3) else f":{n}"), (f"1:{n}", f":{n} - 1"),
                (f":{n} - 1", f"1:{n}"), (f":{n}:2", f"1:{n} + 1:2"),
            ])  # fmt: skip
            self.emit(f"{name}[{key}] = {other}[{other_key}]")
        else:
            self.emit(
                f"{name}[{key}] = {name}[{key}]" if self.chance(0.5) else f"{name}[{key}] = {other}[{key}]"
            )
        return None

    def st_approx(self, depth: int) -> None:
        """A named math function; its value only goes to the outputs."""
        ty = self.rng.choice(FLOATS)
        fn = self.rng.choice(UNARY_MATH)
        wild = self.chance(0.15)
        x = self.expr(ty, 2) if wild else f"min(max(np.{ty}(-40.0), {self.expr(ty, 2)}), np.{ty}(40.0))"
        if fn in UNIT_DOMAIN and not wild:
            x = f"min(max(np.{ty}(-0.9), {x}), np.{ty}(0.9))"
        elif fn in POSITIVE and not wild:
            x = f"max(np.{ty}(0.01), {x})"
        if self.chance(0.2):
            text = (
                f"math.atan2({x}, {self.expr(ty, 1)})"
                if self.chance(0.5)
                else f"math.hypot({x}, {self.expr(ty, 1)})"
            )
        elif self.chance(0.15):
            text = f"max(np.{ty}(0.01), {x}) ** {self.clamp(self.expr(ty, 1), ty, 'int8')}"
        elif self.chance(0.3):
            text = f"np.{NP_MATH.get(fn, fn)}({x})" if fn not in ("erf", "erfc") else f"math.{fn}({x})"
        else:
            text = f"math.{fn}({x})"
        name = self.fresh("m")
        self.emit(f"{name} = {text}")
        if self.indent == 1:
            self.approx.append(name)
        floats = [
            n for n, a in self.arrays.items() if a.dtype == ty and n.startswith("o") and n in self.targets()
        ]
        if floats and self.chance(0.7):
            out = self.rng.choice(floats)
            self.emit(f"{out}[{self.index(out, self.arrays[out])}] = {name}")

    def st_raise(self, depth: int) -> None:
        """A guarded raise, or an assert."""
        test = self.expr("bool", 2)
        rare = f"{self.expr('int64', 1)} % 17 == 3 and {test}"
        if self.chance(0.4):
            self.emit(f"assert not ({rare}), 'assertion {self.rng.randint(0, 99)}'")
            return
        self.emit(f"if {rare}:")
        kind = self.rng.choice(["ValueError", "ValueError", "RuntimeError", "KeyError", "IndexError"])
        args = [f"'message {self.rng.randint(0, 99)}'"]
        if self.chance(0.6):
            args.append(self.simple(self.rng.choice(SIGNED + FLOATS + ("bool", "uint64")), 0))
        self.indent += 1
        self.emit(f"raise {kind}({', '.join(args)})" if self.chance(0.9) else f"raise {kind}")
        self.indent -= 1

    def st_alloc(self, depth: int) -> None:
        """A new array."""
        if self.loops > (self.region.loops if self.region is not None else 0):
            return self.st_store(depth)
        dtype = self.rng.choice(STRONG)
        elem = dtype_name(dtype)
        ndim = self.rng.choice([1, 1, 2])
        size = (
            self.rng.choice(["3", "5", "4"])
            if ndim == 1
            else f"({self.rng.randint(1, 3)}, {self.rng.randint(2, 4)})"
        )
        name = self.fresh("n")
        keyword = "dtype=" if self.chance(0.4) else ""
        if self.chance(0.3):
            src = self.rng.choice([t for t in SCALARS if klass(t) == klass(dtype)])
            self.emit(f"{name} = np.full({size}, {self.expr(src, 1)}, {keyword}np.{elem})")
        elif self.chance(0.4) and self.arrays:
            return self.derived(name)
        else:
            self.emit(f"{name} = np.{self.rng.choice(['zeros', 'ones'])}({size}, {keyword}np.{elem})")
        self.arrays[name] = Array(dtype, ndim)
        return None

    def derived(self, name: str) -> None:
        """A new array made from another, or a range."""
        other = self.rng.choice(sorted(self.arrays))
        arr = self.arrays[other]
        roll = self.rng.randrange(5)
        if roll == 0 and not self.gen.numba:
            self.emit(f"{name} = np.arange({self.rng.randint(-2, 3)}, {self.rng.randint(2, 7)})")
            arr = Array("int64", 1)
        elif roll == 1 and not self.gen.numba:
            kinds = {"b": STRONG, "i": STRONG, "f": FLOATS + COMPLEXES, "c": COMPLEXES}[klass(arr.dtype)]
            dtype = self.rng.choice(kinds)
            self.emit(f"{name} = {other}.astype(np.{dtype_name(dtype)})")
            arr = Array(dtype, arr.ndim)
        elif roll == 2:
            self.emit(f"{name} = np.{self.rng.choice(['zeros_like', 'ones_like'])}({other})")
        elif roll == 3:
            src = self.rng.choice([t for t in SCALARS if klass(t) == klass(arr.dtype)])
            self.emit(f"{name} = np.full_like({other}, {self.expr(src, 1)})")
        else:
            self.emit(f"{name} = {other}.copy()")
        self.arrays[name] = arr

    def st_array(self, depth: int) -> None:
        """Operators on whole arrays: new arrays (outside loops) and in place."""
        if self.gen.numba or not self.targets():
            return self.st_assign(depth)
        name = self.rng.choice(self.targets())
        arr = self.arrays[name]
        if self.loops or self.chance(0.4):
            pairs = [(op, b) for op in BINOPS for b in SCALARS if self.fits_inplace(op, arr.dtype, b)]
            if not pairs:
                return self.st_store(depth)
            op, b = self.rng.choice(pairs)
            key = f"[{', '.join(self.slice_text() for _ in range(arr.ndim))}]" if self.chance(0.4) else ""
            value = self.expr(b, 1)
            if self.chance(0.3):
                value = self.rng.choice([n for n, a in self.arrays.items() if a == arr]) + key
            self.emit(f"{name}{key} {op}= {value}")
            return None
        new = self.fresh("n")
        others = [n for n, a in self.arrays.items() if a.ndim == arr.ndim]
        op = self.rng.choice([o for o in BINOPS + COMPARES if o != "**"])
        other = self.rng.choice([name, *others])
        if self.chance(0.4):
            other, ty = "", self.rng.choice(SCALARS)
            left, right = name, self.expr(ty, 1)
            pair = (arr.dtype, ty)
        else:
            left, right = name, other
            pair = (arr.dtype, self.arrays[other].dtype)
            if arr.ndim == 1 and other != name and self.chance(0.9):
                n = f"min(len({name}), len({other}))"
                left, right = f"{name}[:{n}]", f"{other}[:{n}]"
        if self.chance(0.2):
            op = self.rng.choice("-~")
            text, dtype = f"{op}{name}", arr.dtype
            bad = klass(dtype) in "fc" if op == "~" else dtype == "bool"
        else:
            text, dtype = f"{left} {op} {right}", self.array_result(op, *pair)
            bad = dtype is None
        if bad:
            return self.st_store(depth)
        self.emit(f"{new} = {text}")
        self.arrays[new] = Array(str(dtype), arr.ndim)
        return None

    def array_result(self, op: str, a: str, b: str) -> str | None:
        """Element type of an operation on arrays; None where it is refused."""
        if op in COMPARES:
            return "bool" if op in ("==", "!=") or "c" not in (klass(a), klass(b)) else None
        try:
            return array_ops.binary_type(op, Array(a, 1), b)[0].dtype
        except (IllTyped, Unspecified):
            return None

    def fits_inplace(self, op: str, a: str, b: str) -> bool:
        """True if ``array op= scalar`` is allowed."""
        out = self.array_result(op, a, b) if op != "**" else None
        return out is not None and "bifc".index(klass(out)) <= "bifc".index(klass(a))

    def st_reduce(self, depth: int) -> None:
        """A reduction whose value is exact; sums and means of floats only go to the outputs."""
        floats = [n for n, a in self.arrays.items() if a.dtype in FLOATS]
        if floats and not self.gen.numba and self.chance(0.3):
            name = self.fresh("m")
            self.emit(f"{name} = {self.rng.choice(floats)}.{self.rng.choice(['sum', 'mean'])}()")
            if self.indent == 1:
                self.approx.append(name)
            return None
        fits = [(n, a.dtype) for n, a in self.arrays.items() if klass(a.dtype) in "bi"]
        if not fits:
            return self.st_assign(depth)
        arr, dtype = self.rng.choice(fits)
        name = self.fresh("v")
        method = self.rng.choice(
            ["sum", "sum", "any", "all"] + (["min", "max", "argmin", "argmax"] if dtype != "bool" else [])
        )
        self.emit(f"{name} = {arr}.{method}()")
        wide = "uint64" if dtype in UNSIGNED else "int64"
        self.env[name] = {"sum": wide, "any": "bool", "all": "bool", "min": dtype, "max": dtype}.get(
            method, "int64"
        )
        return None

    # --- blocks ---

    def nested(self, count: int, depth: int, names: dict[str, str] | None = None) -> dict[str, str]:
        """A nested block; returns the types at its end and puts the former ones back."""
        saved, arrays = dict(self.env), dict(self.arrays)
        self.env.update(names or {})
        self.indent += 1
        self.body(count, depth)
        self.indent -= 1
        out, self.env, self.arrays = self.env, saved, arrays
        if not self.gen.numba and self.region is None and self.chance(0.02):
            inner = [n for n, t in out.items() if n not in saved and n not in (names or {}) and t not in WEAK]
            if inner:  # read later although a path may leave it unassigned
                name = self.rng.choice(inner)
                self.perhaps[name] = out[name]
        return out

    def st_if(self, depth: int) -> None:
        """``if``, ``elif``, ``else``."""
        self.emit(f"if {self.expr('bool', 3)}:")
        arms = [self.nested(self.rng.randint(1, 3), depth - 1)]
        while self.chance(0.25):
            self.emit(f"elif {self.expr('bool', 2)}:")
            arms.append(self.nested(self.rng.randint(1, 2), depth - 1))
        if self.chance(0.5):
            self.emit("else:")
            arms.append(self.nested(self.rng.randint(1, 3), depth - 1))
        else:
            arms.append(dict(self.env))
        out: dict[str, str] = {}
        for name in arms[0]:
            if all(name in a for a in arms):
                types = {a[name] for a in arms}
                if len(types) == 1:
                    out[name] = types.pop()
                    continue
                try:
                    out[name] = str(functools.reduce(lambda x, y: join(x, y, self.gen.numba), sorted(types)))
                except (IllTyped, Unspecified):
                    continue
        self.env = out

    def carried(self) -> list[str]:
        """Accumulators of a loop: weak variables that it will assign, strong from here on."""
        names = [n for n, t in self.env.items() if t in ("wint", "wfloat") and n not in self.frozen]
        if self.chance(0.6):
            name = self.fresh("s")
            ty = self.rng.choice(["wint", "wfloat", "wfloat"])
            self.emit(f"{name} = {self.literal(ty)}")
            self.env[name] = ty
            names.append(name)
        chosen = [n for n in names if self.chance(0.7)]
        for n in chosen:
            self.env[n] = str(strong(self.env[n]))
        return chosen

    def close_loop(self, carried: list[str]) -> None:
        """Every accumulator is assigned at the loop's end, so that it really is a block argument."""
        self.indent += 1
        for name in carried:
            ty = self.env[name]
            self.emit(
                f"{name} += {self.expr(self.rng.choice(SIGNED + ('wint',) if ty == 'int64' else REALS + ('wfloat',)), 2)}"
            )
        self.indent -= 1

    def in_loop(
        self, trips: int, depth: int, names: dict[str, str], carried: list[str], index: str | None
    ) -> None:
        """The body of a loop and its ``else``."""
        self.loops += 1
        self.weight *= trips
        held = set(names)
        self.frozen |= held
        if index:
            self.indices.append(index)
        self.nested(self.rng.randint(1, 4), depth - 1, names)
        saved = dict(self.env)
        self.env.update(names)
        self.close_loop(carried)
        self.env = saved
        if index:
            self.indices.pop()
        self.frozen -= held
        self.loops -= 1
        self.weight //= trips
        if self.chance(0.15):
            self.emit("else:")
            before, inside = dict(self.env), self.loops
            self.loops = max(1, inside)
            self.nested_plain(depth)
            self.loops = inside
            self.env = before

    def nested_plain(self, depth: int) -> None:
        """A short block without jumps: updates and stores only."""
        self.indent += 1
        for _ in range(self.rng.randint(1, 2)):
            self.rng.choice([self.st_update, self.st_store])(depth)
        self.indent -= 1

    def st_for(self, depth: int) -> None:
        """``for`` over a range, an array, enumerate, zip or reversed."""
        carried = self.carried()
        roll = self.rng.random()
        ones = [n for n, a in self.arrays.items() if a.ndim == 1]
        i = self.fresh("i")
        if roll < 0.1 and not self.gen.numba:
            return self.for_items(depth, carried, i, ones)
        if roll < 0.6 or not ones:
            text, trips = self.range_text()
            if self.chance(0.1) and not self.gen.numba:
                text = f"reversed({text})"
            names = {i: "int64"}
            if self.region is not None and self.chance(0.3):
                text = text.replace("range(", "prange(", 1)
            self.emit(f"for {i} in {text}:")
            self.in_loop(trips, depth, names, carried, i)
            return
        name = self.rng.choice(ones)
        v = self.fresh("x")
        names = {v: self.arrays[name].dtype}
        if roll < 0.75:
            self.emit(
                f"for {v} in {name}:"
                if self.gen.numba or self.chance(0.8)
                else f"for {v} in reversed({name}):"
            )
            self.in_loop(8, depth, names, carried, None)
        elif roll < 0.9:
            names[i] = "int64"
            self.emit(f"for {i}, {v} in enumerate({name}):")
            self.in_loop(8, depth, names, carried, i)
        else:
            other, y = self.rng.choice(ones), self.fresh("y")
            names[y] = self.arrays[other].dtype
            self.emit(f"for {v}, {y} in zip({name}, {other}):")
            self.in_loop(8, depth, names, carried, None)

    def for_items(self, depth: int, carried: list[str], i: str, ones: list[str]) -> None:
        """``for`` over a tuple, the rows of an array, or enumerate of zip with a start."""
        twos = [n for n, a in self.arrays.items() if a.ndim == 2]
        roll = self.rng.randrange(3)
        v = self.fresh("x")
        if roll == 0 and twos:
            name = self.rng.choice(twos)
            row = self.fresh("w")
            self.base[row] = self.base.get(name, name)
            if name in self.readonly:
                self.readonly.add(row)
            self.emit(f"for {row} in {name}:")
            held = dict(self.arrays)
            self.arrays[row] = Array(self.arrays[name].dtype, 1)
            self.in_loop(6, depth, {}, carried, None)
            self.arrays = held
        elif roll == 1 and ones:
            a, b, y = self.rng.choice(ones), self.rng.choice(ones), self.fresh("y")
            start = f", {self.rng.randint(-3, 9)}" if self.chance(0.6) else ""
            self.emit(f"for {i}, ({v}, {y}) in enumerate(zip({a}, {b}){start}):")
            names = {i: "int64", v: self.arrays[a].dtype, y: self.arrays[b].dtype}
            self.in_loop(8, depth, names, carried, None)
        else:
            ty = self.rng.choice(STRONG)
            items = ", ".join(self.expr(ty, 1) for _ in range(self.rng.randint(1, 4)))
            self.emit(f"for {v} in ({items},):")
            self.in_loop(4, depth, {v: ty}, carried, None)

    def range_text(self) -> tuple[str, int]:
        """A range of few turns."""
        roll = self.rng.random()
        if roll < 0.3 and self.arrays:
            name = self.rng.choice(sorted(self.arrays))
            return f"range({self.rng.choice([f'len({name})', f'{name}.shape[0]'])})", 8
        if roll < 0.5:
            return f"range({self.rng.randint(0, 6)})", 6
        if roll < 0.6:
            ints = [n for n, t in self.env.items() if t in SIGNED]
            if ints:
                return f"range({self.rng.choice(ints)} % 7)", 7
        unsigned = [n for n, t in self.env.items() if t in UNSIGNED and t != "uint64"]
        if roll < 0.65 and unsigned and not self.gen.numba:
            return f"range({self.rng.choice(unsigned)} % 5)", 5
        start, step = self.rng.randint(-6, 6), self.rng.choice([1, 1, 2, 3, -1, -1, -2, -3])
        stop = start + self.rng.randint(-1, 6) * step + self.rng.choice([0, 0, 1])
        ints = [n for n, t in self.env.items() if t == "int64"]
        if ints and self.chance(0.2):
            return f"range({start}, {start} + ({self.rng.choice(ints)} & 7) * {step}, {step})", 8
        return (
            f"range({start}, {stop}, {step})" if step != 1 or self.chance(0.3) else f"range({start}, {stop})"
        ), 7

    def st_range(self, depth: int) -> None:
        """A loop over a range with any bounds and step, left after a few turns."""
        ints = [n for n, t in self.env.items() if t in SIGNED]
        edges = ["9223372036854775807", "-9223372036854775807 - 1", "0", "5", "-3", "9223372036854775800"]
        parts = [
            self.rng.choice(ints) if ints and self.chance(0.5) else self.rng.choice(edges) for _ in range(2)
        ]
        if self.chance(0.7):
            parts.append(self.rng.choice([*ints, "2", "-1", "-3", "9223372036854775807", "1000000007"]))
        i, count, total = self.fresh("i"), self.fresh("s"), self.fresh("s")
        self.emit(f"{count} = 0")
        self.emit(f"{total} = 0")
        span = f"range({', '.join(parts)})"
        self.emit(f"for {i} in {f'reversed({span})' if self.chance(0.2) else span}:")
        self.emit(f"    {count} += 1")
        self.emit(f"    {total} ^= {i}")
        self.emit(f"    if {count} > {self.rng.randint(0, 4)}:")
        self.emit("        break")
        self.env |= {count: "int64", total: "int64"}

    def st_stencil(self, depth: int) -> None:
        """A loop over neighbours, as real kernels have it; now and then it runs out of the array."""
        ones = [n for n, a in self.arrays.items() if a.ndim == 1]
        if not set(ones) & set(self.targets()) or self.weight > 30:
            return self.st_store(depth)
        i = self.fresh("i")
        out, size = self.rng.choice([n for n in ones if n in self.targets()]), self.rng.choice(ones)
        low, high = self.rng.choice([0, 0, 1, 1, 2]), self.rng.choice([0, 0, 1, 1, 2])
        n = f"len({size})" if self.chance(0.6) else f"min(len({size}), len({out}))"
        step = self.rng.choice(["", "", "", ", 2", ", 3"])
        if self.chance(0.2):
            self.emit(f"for {i} in range({n} - 1 - {high}, {low} - 1, -1):")
        else:
            self.emit(
                f"for {i} in range({low}, {n} - {high}{step}):"
                if high
                else f"for {i} in range({low}, {n}{step}):"
            )
        wild = self.chance(0.15)

        def at(name: str) -> str:
            d = self.rng.randint(-low, high) if not wild else self.rng.randint(-3, 3)
            if self.chance(0.15):
                return f"{name}[len({name}) - 1 - {i}]"
            text = f"{i} + {d}" if d > 0 else f"{i} - {-d}" if d < 0 else i
            return f"{name}[{text}]" if name == size or wild else f"{name}[({text}) % len({name})]"

        dtype = self.arrays[out].dtype
        held = dict(self.env)
        self.env[i] = "int64"
        self.indent += 1
        self.weight *= 8
        self.loops += 1
        if self.chance(0.3):
            self.emit(f"if {self.expr('bool', 2)}:")
            self.emit(f"    {self.rng.choice(['continue', 'break', 'continue'])}")
        near = [n for n in ones if self.arrays[n].dtype == dtype]
        ops = [op for op in BINOPS if op not in ("**", "<<") and self.storable(op, dtype, dtype)]
        value = at(self.rng.choice(near))
        for _ in range(self.rng.randint(0, 3)):
            other = at(self.rng.choice(near))
            op = self.rng.choice(ops)
            value = (
                f"({value} {op} {other})"
                if op not in ("/", "//", "%")
                else f"({value} {op} max({other}, np.{dtype}(1)))"
            )
        if klass(dtype) == "c" or dtype == "bool":
            value = at(self.rng.choice(near))
        self.emit(
            f"{at(out)} {self.rng.choice(['=', '=', '+=', '-='] if dtype != 'bool' else ['='])} {value}"
        )
        if self.chance(0.4):
            self.st_store(depth)
        self.loops -= 1
        self.weight //= 8
        self.indent -= 1
        self.env = held
        return None

    def st_while(self, depth: int) -> None:
        """``while`` with a counter."""
        carried = self.carried()
        k = self.fresh("k")
        top = self.rng.randint(1, 6)
        self.emit(f"{k} = 0")
        if self.chance(0.25):
            self.emit("while True:")
            inner = f"if {k} >= {top}:"
        else:
            extra = ""
            strongs = [n for n, t in self.env.items() if t in REALS and n not in carried]
            if strongs and self.chance(0.4):
                extra = (
                    f" and {self.rng.choice(strongs)} {self.rng.choice(COMPARES)} {self.simple('float64', 0)}"
                )
            self.emit(f"while {k} < {top}{extra}:")
            inner = ""
        self.indent += 1
        self.emit(f"{k} += 1")
        if inner:
            self.emit(inner)
            self.emit("    break")
        self.indent -= 1
        before = self.chance
        if inner:
            self.chance = lambda p: False if p == 0.15 else before(p)  # type: ignore[method-assign]
        self.in_loop(6, depth, {k: "int64"}, carried, k)
        self.chance = before  # type: ignore[method-assign]
        self.env[k] = "int64"
        self.frozen.add(k)

    def st_jump(self, depth: int) -> None:
        """A guarded break or continue."""
        self.emit(f"if {self.expr('bool', 2)}:")
        leave = self.region is None or self.loops > self.region.loops
        self.emit(f"    {self.rng.choice(['break', 'continue']) if leave else 'continue'}")

    def finish(self, count: int) -> None:
        """The return: plain names only, because CPython duplicates short tails."""
        if self.early:
            return self.emit(f"return {', '.join(self.early)}")
        names = [n for n, t in (self.env | self.perhaps).items()]
        self.rng.shuffle(names)
        out = names[:count]
        fresh = [n for n in self.arrays if n.startswith("n")]
        if count > 1:
            out += fresh[:2] + self.approx[:2] + [n for n in self.found if n not in out + fresh[:2]][:12]
        if not out:
            out = ["None"]
        return self.emit(f"return {', '.join(out)}")
