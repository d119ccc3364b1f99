"""Programs about ufuncs: functions under ``@vectorize`` and ``@guvectorize``, called by plain Python on arrays of every layout.

The body of a ufunc is made for one combination of types; it is then called with all types that the oracle can give a result for.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import oracle
import ufuncs
from gen_expr import Helper
from gen_stmt import Function
from rules import FLOATS, SCALARS, STRONG, Array, IllTyped, Tuple, Unspecified, klass
from values import Unknown

if TYPE_CHECKING:
    from gen import Generator

LAYOUTS = ("(n)->()", "(n)->(n)", "(n),(n)->()", "(n),()->(n)", "(m,n)->(m)", "(m,n),(n)->(m)", "(n)->(),()",
           "(3),(3)->(3)", "(),(n)->(n)", "(m,n),(n,p)->(m,p)")  # fmt: skip
KINDS = "CCFSRMWB"  # how arguments lie in memory, see gen.make_array
CLOSED = {  # functions that may be applied in any order: identity, then the text of the body
    "+": ("0", "x + y"), "*": ("1", "x * y"), "&": ("-1", "x & y"), "|": ("0", "x | y"), "^": ("0", "x ^ y"),
    "max": ("None", "max(x, y)"), "min": ("None", "x if x < y else y"), "or": ("False", "x or y"),
}  # fmt: skip


class Body(Function):
    """The function of a ufunc: numbers in, numbers out."""

    def end(self, nout: int) -> bool:
        """The return; False if there are not enough numbers to give back."""
        names = [n for n in self.env if n not in self.frozen or n.startswith("b")]
        made = [n for n in names if not n.startswith(("b", "G"))]
        pool = made if made and self.chance(0.9) else names
        approx = [n for n in self.approx if self.chance(0.3)]
        if len(pool) + len(approx) < nout:
            return False
        self.rng.shuffle(pool)
        self.emit(f"return {', '.join((approx + pool)[:nout])}")
        return True


class Ufuncs:
    """Adds ufuncs to a program, and makes a main that is plain Python."""

    def __init__(self, gen: Generator) -> None:
        self.gen = gen
        self.rng = gen.rng
        self.known: dict[str, Any] = {}  # name: oracle's ufunc
        self.lines: list[str] = []
        self.results: list[str] = []
        self.env: dict[str, object] = {}
        self.counter = 0

    # --- definitions ---

    def program(self, text: str) -> oracle.Program:
        """What has been defined so far, with more text."""
        return oracle.Program("\n".join(self.gen.text) + "\n" + text)

    def define(self, name: str) -> bool:
        """One more ufunc, if it turns out well-typed."""
        if self.rng.random() < 0.3:
            return self.closed(name)
        rng = self.rng
        types = [rng.choice(STRONG + FLOATS + ("int64",)) for _ in range(rng.choice([1, 2, 2, 2, 3]))]
        nout = rng.choice([1, 1, 1, 1, 1, 2])
        params: list[tuple[str, object]] = [(f"b{k}", t) for k, t in enumerate(types)]
        body = Body(self.gen, name, params, rng.randint(1, 8))
        body.body(rng.randint(1, 4), 2)
        if not body.end(nout):
            return False
        declared = nout > 1 or rng.random() < 0.4  # several results must be
        top = "@vectorize"
        options = ["target='parallel'"] if rng.random() < 0.4 else []
        head = f"def {name}({', '.join(n for n, _ in params)}):"
        if declared:
            rows = self.signatures(name, [head, *body.lines], types)
            if not rows:
                return False
            options.insert(0, repr(rows))
        if options:
            top = f"@vectorize({', '.join(options)})"
        return self.add(name, ["", "", top, head, *body.lines], tuple(types))

    def signatures(self, name: str, lines: list[str], types: list[str]) -> list[str]:
        """Some signatures that the function has a result for."""
        prog = self.program("\n".join(["", "@vectorize", *lines]) + "\n")
        rows = []
        for k in range(3):
            ins = tuple(types if k == 0 else [self.rng.choice(STRONG) for _ in types])
            try:
                outs = list(prog.ufuncs[name].plan(ins).outs)
            except (IllTyped, Unspecified, Unknown):
                continue
            if self.rng.random() < 0.2:
                outs[0] = self.rng.choice([t for t in STRONG if klass(t) == klass(outs[0])])
            out = outs[0] if len(outs) == 1 else f"Tuple(({', '.join(outs)}))"
            rows.append(f"{out}({', '.join(ins)})")
        return rows

    def closed(self, name: str) -> bool:
        """A function for reduce and its kin, with an identity."""
        sign = self.rng.choice(sorted(CLOSED))
        identity, text = CLOSED[sign]
        options = [f"identity={identity}"] if identity != "None" and self.rng.random() < 0.7 else []
        if not options and sign in ("max", "min", "+", "*") and self.rng.random() < 0.4:
            options = ["identity='reorderable'"]
        if self.rng.random() < 0.3:
            options.append("target='parallel'")
        top = f"@vectorize({', '.join(options)})" if options else "@vectorize"
        return self.add(name, ["", "", top, f"def {name}(x, y):", f"    return {text}"], ("int64", "int64"))

    def add(self, name: str, lines: list[str], types: tuple[str, ...]) -> bool:
        """Keep a definition that the oracle can type."""
        mark = len(self.gen.text)
        self.gen.text += lines
        try:
            made = self.program("").ufuncs[name]
            made.plan(types)
        except (IllTyped, Unspecified, Unknown):
            del self.gen.text[mark:]
            return False
        self.known[name] = made
        return True

    def helper(self, name: str) -> Helper | None:
        """The ufunc as a function that compiled code may call on numbers."""
        uf = self.known[name]
        if isinstance(uf, ufuncs.gufuncs.Gufunc):
            return None
        if uf.declared:
            types = uf.declared[0][0]
        else:
            types = tuple(self.rng.choice(STRONG) for _ in range(uf.nin))
        try:
            outs = uf.plan(types).outs
        except (IllTyped, Unspecified, Unknown):
            return None
        ret: object = outs[0] if len(outs) == 1 else Tuple(outs)
        return Helper(name, [(f"x{k}", t, None) for k, t in enumerate(types)], ret, True)

    # --- generalised ones ---

    def core(self, name: str) -> bool:
        """A generalised ufunc."""
        rng = self.rng
        layout = rng.choice(LAYOUTS)
        ins, outs = ufuncs.gufuncs.parse(layout)
        base = rng.choice(STRONG + FLOATS)
        types = [base if rng.random() < 0.6 else rng.choice(STRONG) for _ in ins]
        trial = ufuncs.gufuncs.Gufunc.__new__(ufuncs.gufuncs.Gufunc)
        trial.declared, trial.outs = [], outs
        all_types = trial.types(types, [])
        declared = rng.random() < 0.5
        if declared and rng.random() < 0.3:
            all_types = (*types, *(rng.choice(STRONG) for _ in outs))
        params: list[tuple[str, object]] = []
        for k, (axes, t) in enumerate(zip(ins + outs, all_types)):
            prefix = "a" if k < len(ins) else "c"
            params.append((f"{prefix}{k}", Array(t, max(1, len(axes))) if axes or k >= len(ins) else t))
        fn = Function(self.gen, name, params, rng.randint(1, 6))
        fn.readonly = {n for n, t in params if isinstance(t, Array) and n[0] == "a"}
        for (n, t), axes in list(zip(params, ins + outs))[len(ins) :]:
            self.fill(fn, n, t, axes)  # type: ignore[arg-type]
        fn.body(rng.randint(1, 4), 2)
        row = ", ".join(
            f"{t.dtype}[{', '.join(':' * t.ndim)}]" if isinstance(t, Array) else str(t) for _, t in params
        )
        options = [repr([f"void({row})"])] if declared else []
        options.append(repr(layout.replace(",(", ", (") if rng.random() < 0.2 else layout))
        if rng.random() < 0.3:
            options.append("target='parallel'")
        head = f"def {name}({', '.join(n for n, _ in params)}):"
        mark = len(self.gen.text)
        self.gen.text += ["", "", f"@guvectorize({', '.join(options)})", head, *fn.lines]
        try:
            prog = self.program("")
            inst = prog.instance(name, tuple(t for _, t in params))
            if inst.ret != oracle.NONE:
                raise IllTyped("a core returns nothing")
        except (IllTyped, Unspecified, Unknown):
            del self.gen.text[mark:]
            return False
        self.known[name] = prog.ufuncs[name]
        return True

    def fill(self, fn: Function, name: str, ty: Array, axes: tuple[str, ...]) -> None:
        """Every element of an output is written before anything else looks at it."""
        hidden, fn.arrays = fn.arrays, {n: t for n, t in fn.arrays.items() if n[0] == "a"}
        if not axes:
            fn.emit(f"{name}[0] = {fn.expr(ty.dtype, 2)}")
        elif ty.ndim == 1 and self.rng.random() < 0.6:
            i = fn.fresh("i")
            fn.emit(f"for {i} in range(len({name})):")
            fn.indices.append(i)
            fn.env[i] = "int64"
            fn.emit(f"    {name}[{i}] = {fn.expr(ty.dtype, 2)}")
            fn.indices.pop()
            del fn.env[i]
        else:
            src = self.rng.choice([t for t in SCALARS if klass(t) == klass(ty.dtype)])
            fn.emit(f"{name}[{self.rng.choice(['...', ':'])}] = {fn.expr(src, 1)}")
        fn.arrays = hidden

    # --- a main that is plain Python ---

    def fresh(self, prefix: str) -> str:
        """A new name."""
        self.counter += 1
        return f"{prefix}{self.counter}"

    def main(self) -> None:
        """Arguments and calls."""
        rng = self.rng
        self.params = []
        for k in range(rng.randint(2, 4)):
            ndim = rng.choice([0, 1, 1, 2, 2, 2, 3]) if k else rng.choice([1, 2, 2, 3])
            self.params.append((f"a{k}", Array(self.dtype(), ndim)))
        if rng.random() < 0.7:
            self.params.append(("m0", Array("bool", rng.choice([1, 2, 2, 0]))))
        for k in range(rng.randint(0, 2)):
            self.params.append((f"b{k}", rng.choice(STRONG + ("int64", "float64"))))
        self.env = dict(self.params)
        self.prog = self.program("")
        count = rng.randint(2, 7)
        for _ in range(12):
            if len(self.lines) < count:
                self.statement()
        names = ", ".join(n for n, _ in self.params)
        out = ", ".join(self.results[:10]) or "None"
        self.gen.text += ["", "", "@host", f"def main({names}):", *["    " + line for line in self.lines]]
        self.gen.text.append(f"    return {out}")

    def dtype(self) -> str:
        """A type that the ufuncs were made for, or any other."""
        wanted = []
        for uf in self.known.values():
            for row in uf.declared:
                wanted += row[: uf.nin] if isinstance(uf, ufuncs.gufuncs.Gufunc) else row[0]
        if not wanted or self.rng.random() < 0.15:
            return self.rng.choice(STRONG)
        want = self.rng.choice(wanted)
        return (
            want
            if self.rng.random() < 0.6
            else self.rng.choice([t for t in STRONG if ufuncs.as_weak(t, want)])
        )

    def statement(self) -> None:
        """One call; up to a few tries until the oracle finds a type for it."""
        for _ in range(12):
            text, target = self.call(self.rng.choice(sorted(self.known)))
            if not text:
                continue
            line = f"{target} = {text}" if target else text
            names = ", ".join(self.env)
            try:
                inst = oracle.Program(
                    "\n".join([*self.gen.text, "@host", f"def main({names}):", "    " + line,
                               f"    return {target or 'None'}"]) + "\n"
                ).instance("main", tuple(self.env.values()))  # fmt: skip
            except (IllTyped, Unspecified, Unknown, SyntaxError):
                continue
            self.lines.append(line)
            if not target:
                return
            if "," in target:
                types = inst.ret.items if isinstance(inst.ret, Tuple) else (inst.ret,)
            else:
                types = (inst.ret,)
            for name, ty in zip(target.split(", "), types):
                self.env[name] = ty
                self.results.append(name)
            return

    def call(self, name: str) -> tuple[str, str]:
        """The text of a call, and the variables that take its results."""
        uf, roll = self.known[name], self.rng.random()
        if isinstance(uf, ufuncs.gufuncs.Gufunc):
            return self.gufunc_call(name, uf)
        if uf.nin == 2 and roll < 0.5:
            return getattr(
                self, "m_" + self.rng.choice(["reduce", "reduce", "accumulate", "reduceat", "outer", "at"])
            )(name)
        if uf.nin == 1 and roll < 0.1:
            return self.m_at(name)
        row = self.rng.choice(uf.declared)[0] if uf.declared else [""] * uf.nin
        args = [self.operand(want) for want in row]
        nout = len(self.outs(uf))
        if nout == 1 and self.rng.random() < 0.5:
            out = self.out(args)
            if out:
                where = self.rng.random()
                more = f", where={self.mask()}" if where < 0.5 else ""
                sep = "out=" if more or self.rng.random() < 0.6 else ""
                return f"{name}({', '.join(args)}, {sep}{out}{more})", self.fresh("n")
        target = ", ".join(self.fresh("n") for _ in range(nout))
        return f"{name}({', '.join(args)})", target

    def outs(self, uf: Any) -> tuple:
        """One placeholder for each output of a ufunc."""
        returns = [n for n in ast.walk(self.prog.funcs[uf.name]) if isinstance(n, ast.Return)]
        value = returns[-1].value
        return tuple(value.elts) if isinstance(value, ast.Tuple) else (value,)

    def arrays(self, ndims: tuple[int, ...] = (0, 1, 2, 3)) -> list[str]:
        """Names of arrays."""
        return [n for n, t in self.env.items() if isinstance(t, Array) and t.ndim in ndims]

    def view(self, name: str) -> str:
        """An array, or a view of it with as many elements."""
        ty = self.env[name]
        forms = ["{}"] * 4
        if ty.ndim >= 1:
            forms += ["{}[::-1]", "{}[...]"]
        if ty.ndim == 2:
            forms += ["{}[:, ::-1]"]
        if ty.ndim == 1:
            forms += ["{}[:, None]", "{}[None]"]
        return self.rng.choice(forms).format(name)

    def operand(self, want: str = "") -> str:
        """An array, a view, a number; one that converts to the type `want`, if there is any."""
        roll = self.rng.random()
        scalars = [n for n, t in self.env.items() if isinstance(t, str)]
        if roll < 0.12 and scalars:
            return self.rng.choice(scalars)
        if roll < 0.25:
            return self.rng.choice(
                ["2", "-3", "0.5", "1e-3", "True", "0", "2.5j", "np.float32(1.5)", "np.int8(-7)"]
            )
        fits = [n for n in self.arrays() if want and ufuncs.as_weak(self.env[n].dtype, want)]  # type: ignore
        if want and not fits:
            return (
                "np.zeros((), np.bool_)"
                if want == "bool"
                else "3"
                if klass(want) == "i"
                else f"np.{want}(1.5)"
            )
        return self.view(self.rng.choice(fits or self.arrays()))

    def mask(self) -> str:
        """A mask."""
        masks = [n for n in self.arrays() if self.env[n].dtype == "bool"]  # type: ignore[attr-defined]
        if masks and self.rng.random() < 0.9:
            return self.view(self.rng.choice(masks))
        return self.rng.choice(["True", "False"])

    def out(self, args: list[str]) -> str:
        """An array for the results: another one, or one whose memory an operand shows."""
        names = [n for n in self.arrays((1, 2, 3)) if n[0] in "an"]
        roll = self.rng.random()
        if roll < 0.3:
            source = self.rng.choice(names)
            return f"np.zeros_like({source})" if roll < 0.2 else f"{source}.copy()"
        name = self.rng.choice(names)
        if self.env[name].ndim == 1 and roll < 0.5:  # type: ignore[attr-defined]
            for k, a in enumerate(args):
                if a == name:
                    args[k] = f"{name}[:-1]"
                    return f"{name}[1:]"
        return self.view(name) if roll < 0.7 else name

    def m_reduce(self, name: str) -> tuple[str, str]:
        """``u.reduce(...)``."""
        rng, arrays = self.rng, self.arrays((1, 2, 3))
        a = rng.choice(arrays)
        ndim = self.env[a].ndim  # type: ignore[attr-defined]
        parts = [self.view(a)]
        roll = rng.random()
        if roll < 0.5:
            parts.append(f"axis={rng.randint(-ndim, ndim - 1)}")
        elif roll < 0.7:
            parts.append("axis=None")
        elif roll < 0.8 and ndim > 1:
            parts.append("axis=(0, 1)")
        if rng.random() < 0.25:
            parts.append("keepdims=True")
        if rng.random() < 0.2:
            parts.append(f"initial={rng.choice(['3', '0', '1', '2.5'])}")
        return f"{name}.reduce({', '.join(parts)})", self.fresh("n")

    def m_accumulate(self, name: str) -> tuple[str, str]:
        """``u.accumulate(...)``."""
        a = self.rng.choice(self.arrays((1, 2, 3)))
        ndim = self.env[a].ndim  # type: ignore[attr-defined]
        parts = [self.view(a)]
        if self.rng.random() < 0.6:
            parts.append(f"axis={self.rng.randint(-ndim, ndim - 1)}")
        if self.rng.random() < 0.25:
            parts.append(f"out={self.rng.choice([a, f'np.zeros_like({a})'])}")
        return f"{name}.accumulate({', '.join(parts)})", self.fresh("n")

    def m_reduceat(self, name: str) -> tuple[str, str]:
        """``u.reduceat(...)``."""
        fits = self.arrays((1, 2))
        if not fits:
            return "", ""
        a = self.rng.choice(fits)
        at = ", ".join(str(self.rng.randint(0, 3)) for _ in range(self.rng.randint(1, 4)))
        axis = f", axis={self.rng.randint(0, self.env[a].ndim - 1)}" if self.rng.random() < 0.5 else ""  # type: ignore
        return f"{name}.reduceat({self.view(a)}, ({at},){axis})", self.fresh("n")

    def m_outer(self, name: str) -> tuple[str, str]:
        """``u.outer(...)``."""
        fits = self.arrays((0, 1, 2)) or self.arrays()
        return f"{name}.outer({self.rng.choice(fits)}, {self.rng.choice(fits)})", self.fresh("n")

    def m_at(self, name: str) -> tuple[str, str]:
        """``u.at(...)``."""
        fits = self.arrays((1,))
        if not fits:
            return "", ""
        at = [self.rng.choice(["0", "1", "-1", "1", "0", "2"]) for _ in range(self.rng.randint(1, 5))]
        parts = [self.rng.choice(fits), f"[{', '.join(at)}]"]  # a tuple would be one index of several axes
        if self.known[name].nin == 2:
            parts.append(self.rng.choice([n for n in self.env if self.env[n] != "bool"]))
        return f"{name}.at({', '.join(parts)})", ""

    def gufunc_call(self, name: str, uf: Any) -> tuple[str, str]:
        """A call of a generalised ufunc."""
        args = []
        for axes in uf.ins:
            fits = self.arrays(tuple(range(len(axes), 4))) + (
                [n for n, t in self.env.items() if t in STRONG] if not axes else []
            )
            if not fits:
                return "", ""
            pick = self.rng.choice(fits)
            args.append(self.view(pick) if isinstance(self.env[pick], Array) and axes else pick)
        if uf.layout in ("(n)->()", "(n)->(n)") and self.rng.random() < 0.3:
            args.append("axis=0")
        if uf.layout == "(n)->()" and self.rng.random() < 0.2:
            args.append("keepdims=True")
        if len(uf.outs) == 1 and self.rng.random() < 0.25:
            fits = self.arrays(tuple(range(max(1, len(uf.outs[0])), 4)))
            args.append(f"out={self.rng.choice(fits)}" if fits else "keepdims=False")
        return f"{name}({', '.join(args)})", ", ".join(self.fresh("n") for _ in uf.outs)
