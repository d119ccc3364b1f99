"""Statements around containers: what raises midway and is caught, match, inner functions that change what is around them, queues that are worked off, star calls, and what iterations of a prange hand on in order."""

from __future__ import annotations

import re

from gen_idioms import Idioms
from gen_values import MANY, B, F, I, S, Ty

CAUGHT = ("KeyError", "IndexError", "ValueError", "(KeyError, IndexError)", "LookupError", "Exception")


class Flow(Idioms):
    """Text of statements; `statement` is the program's own."""

    def bounded(self, ty: Ty, text: str) -> str:
        """A value that a variable takes again and again without growing."""
        if ty == I:
            return f"({text}) % 1009"
        if ty == S:
            return f"({text})[:20]"
        return f"({text})[:{MANY}]" if ty[0] == "L" and self.chance(0.2) else text

    def assign(self, env: dict[str, Ty]) -> None:
        if env and self.chance(0.4):
            v = self.rng.choice(list(env))
            self.emit(f"{v} = {self.bounded(env[v], self.expression(env[v], env))}")
            return
        ty = self.type()
        v = self.fresh("v")
        self.emit(f"{v} = {self.bounded(ty, self.expression(ty, env))}")
        env[v] = ty

    def block(self, env: dict[str, Ty], depth: int, loops: int) -> None:
        """Statements of their own: what they assign for the first time is not read after them."""
        self.indent += 1
        inner = dict(env)
        for _ in range(self.rng.randint(1, 3)):
            self.statement(inner, depth, loops)
        self.indent -= 1

    def statement(self, env: dict[str, Ty], depth: int, loops: int) -> None:
        """Write any statement."""
        raise NotImplementedError

    def change(self, v: str, env: dict[str, Ty]) -> None:
        """Write a statement that changes a container."""
        raise NotImplementedError

    def told(self, env: dict[str, Ty], depth: int, loops: int) -> None:
        """A try whose handlers keep what the exception says; a `finally` or an `else` runs as well."""
        name, how, e = self.fresh("v"), self.fresh("v"), self.fresh("e")
        self.emit(f"{name} = ''")
        self.emit(f"{how} = 0")
        env |= {name: S, how: I}
        self.emit("try:")
        self.block(env, depth - 1, loops)
        inner = dict(env)
        self.indent += 1
        lists = self.having(inner, lambda t: t[0] == "L")
        dicts = self.having(inner, lambda t: t[0] in "DE" and t[1] in (I, S))
        word = self.expression(S, inner, 0)
        raises = [
            f"raise ValueError(f'bad {{{self.expression(I, inner, 0)}}}: {{{self.expression(I, inner, 0)}:03d}}')",
            f"raise KeyError({self.expression(self.one(I, S), inner, 0)})",
            f"raise {self.one('IndexError', 'RuntimeError', 'ValueError')}({word})",
            f"{how} = int({self.expression(S, inner)}) % 1009",
            f"{how} = 7 // {self.expression(I, inner, 0)}",
            f"{how} = {self.expression(S, inner)}.index({self.expression(S, inner, 0)})",
            "assert " + self.test(inner) + f", {word}",
        ]
        for v in lists[:1]:
            raises += [
                f"{how} = {v}.index({self.expression(inner[v][1], inner, 0)})",
                f"{v}.remove({self.expression(inner[v][1], inner, 0)})",
                f"{v}.pop({self.expression(I, inner, 0)})",
                f"{v}[{self.expression(I, inner, 0)}] = {self.expression(inner[v][1], inner, 0)}",
                f"{self.fresh('v')}, {self.fresh('v')} = {v}",
            ]
        for v in dicts[:1]:
            raises += [f"del {v}[{self.expression(inner[v][1], inner, 0)}]"] * 2
        text = self.rng.choice(raises)
        self.emit(f"if {self.test(inner)}: {text}" if self.chance(0.4) else text)
        self.indent -= 1
        for kind in self.rng.sample(
            ["KeyError", "IndexError", "ValueError", "ZeroDivisionError"], self.rng.randint(0, 2)
        ):
            self.emit(f"except {kind}:")
            self.block(env, depth - 1, loops)
        self.emit(f"except {self.one('Exception', 'LookupError', '(ValueError, KeyError)')} as {e}:")
        self.emit(
            f"    {name} = {self.one(f'str({e})', f'str({e})', f'repr({e})', f'''f'<{{{e}}}>' ''').strip()}"
        )
        if self.chance(0.15):
            self.emit(
                f"    {self.one('raise', f'raise ValueError({name})', f'raise KeyError({name}) from {e}')}"
            )
        if self.chance(0.3):
            self.emit("else:")
            self.emit(f"    {how} += 1")
        if self.chance(0.4):
            self.emit("finally:")
            if self.chance(0.5):
                self.emit(f"    {how} += 10")
            else:
                self.block(env, depth - 1, loops)

    def matched(self, env: dict[str, Ty], depth: int, loops: int) -> None:
        """A match on a tuple, a list, a string or a number."""
        out = self.fresh("v")
        self.emit(f"{out} = 0")
        env[out] = I
        a, b = self.fresh("p"), self.fresh("p")
        subject, cases = self.one(
            lambda: (
                f"({self.expression(I, env, 1)}, {self.expression(S, env, 1)})",
                [
                    (f"(0, {a})", {a: S}),
                    (f"({a}, 'a' | 'b')", {a: I}),
                    (f"({a}, {b}) if {a} > 2", {a: I, b: S}),
                    (f"(1 | 2 as {a}, _)", {a: I}),
                ],
            ),
            lambda: (
                self.expression(("L", I), env, 1),
                [
                    ("[]", {}),
                    (f"[{a}]", {a: I}),
                    (f"[{a}, {b}]", {a: I, b: I}),
                    (f"[{a}, *{b}]", {a: I, b: ("L", I)}),
                    (f"[0, *{b}]", {b: ("L", I)}),
                    (f"[*{b}, {a}]", {a: I, b: ("L", I)}),
                    ("[_, 1, *_]", {}),
                ],
            ),
            lambda: (
                self.expression(S, env, 1),
                [("'a'", {}), ("'' | 'ab'", {}), (f"{a} if {a}.islower()", {a: S})],
            ),
            lambda: (self.expression(I, env, 1), [("0", {}), ("1 | 2 | 3", {}), (f"{a} if {a} < 0", {a: I})]),
            lambda: (
                self.expression(("T", I, ("T", S, I)), env, 1),
                [
                    (f"({a}, ('a', {b}))", {a: I, b: I}),
                    (f"(0, {a})", {a: ("T", S, I)}),
                    (f"(_, (_, {a}))", {a: I}),
                ],
            ),
            lambda: (
                self.expression(("L", S), env, 1),
                [("['a', *_]", {}), (f"[{a}, {b}]", {a: S, b: S}), (f"[{a}, *{b}]", {a: S, b: ("L", S)})],
            ),
        )()
        self.emit(f"match {subject}:")
        self.indent += 1
        for k, (pattern, names) in enumerate(self.rng.sample(cases, self.rng.randint(1, min(3, len(cases))))):
            for name in names:  # one of another type in each case
                pattern = re.sub(rf"\b{name}\b", f"{name}_{k}", pattern)
            self.emit(f"case {pattern}:")
            inner = {**env, **{f"{name}_{k}": t for name, t in names.items()}}
            self.emit(f"    {out} = ({self.expression(I, inner)}) % 1009")
            self.block(inner, depth - 1, loops)
        if self.chance(0.6):
            self.emit("case _:")
            self.emit(f"    {out} = -1")
        self.indent -= 1

    def closure(self, env: dict[str, Ty]) -> None:
        """An inner function that changes a container around it, or assigns to a variable around it."""
        g, p, n = self.fresh("g"), self.fresh("p"), self.fresh("v")
        ty = self.type(1)
        held = self.having(env, lambda t: t[0] in "LDSCEQ")
        self.emit(f"{n} = {self.literal(I)}")
        env[n] = I
        self.emit(f"def {g}({p}):")
        self.indent += 1
        nonlocals = self.chance(0.5)
        if nonlocals:
            self.emit(f"nonlocal {n}")
        inner = {**env, p: ty}
        kept, self.functions = self.functions, []
        if held:
            v, at = self.rng.choice(held), len(self.lines)
            self.change(v, inner)
            if re.search(rf"\b{v} \S?= ", self.lines[-1]):  # in place, which assigns
                self.lines.insert(at, "    " * self.indent + f"nonlocal {v}")
        if nonlocals:
            self.emit(f"{n} = ({n} + {self.expression(I, inner, 1)}) % 101")
        result = self.type(1)
        self.emit(f"return {self.expression(result, inner, 1)}")
        self.functions = kept
        self.indent -= 1
        v = self.fresh("v")
        if self.chance(0.3):
            i = self.fresh("i")
            self.emit(f"for {i} in range({self.rng.randint(1, 3)}):")
            self.emit(f"    {g}({self.expression(ty, {**env, i: I}, 1)})")
        self.emit(f"{v} = {g}({self.expression(ty, env, 1)})")
        env[v] = result

    def worked_off(self, env: dict[str, Ty], depth: int, loops: int) -> None:
        """A queue, a stack or a heap of work."""
        q, x, n = self.fresh("q"), self.fresh("x"), self.fresh("n")
        kind = self.rng.randrange(3)
        item = I if kind == 2 else self.one(I, S, ("T", I, S))
        self.emit(f"{q} = {'deque' if not kind else ''}({self.expression(('L', item), env, 1)})")
        if kind == 2:
            self.emit(f"{q} = list({q})")
            self.emit(f"heapq.heapify({q})")
        self.emit(f"{n} = 0")
        self.emit(f"while {q} and {n} < 9:")
        self.indent += 1
        self.emit(f"{n} += 1")
        self.emit(f"{x} = {(f'{q}.popleft()', f'{q}.pop()', f'heapq.heappop({q})')[kind]}")
        inner = {**env, x: item}
        push = f"{q}.append(%s)" if kind < 2 else f"heapq.heappush({q}, %s)"
        self.emit(f"if {self.test(inner)}: {push % self.expression(item, inner, 1)}")
        self.indent -= 1
        self.block(inner, depth - 1, loops + 1)
        env |= {q: ("Q" if not kind else "L", item), n: I}

    def grouped(self, env: dict[str, Ty]) -> None:
        """A dict of lists, of sets or of numbers, filled in a loop; an index that says where things are."""
        d, x, i = self.fresh("v"), self.fresh("x"), self.fresh("i")
        item = self.one(I, S, S, ("T", S, I))
        over = self.expression(("L", item), env, 1)
        inner = {**env, x: item, i: I}
        kt = self.one(I, S, ("T", I, I))
        key = self.inner(kt, inner)
        form = self.rng.randrange(5)
        self.emit(f"{d} = {'defaultdict(list)' if form == 1 else '{}'}")
        self.emit(f"for {i}, {x} in enumerate({over}):")
        self.indent += 1
        if form == 0:
            self.emit(f"{d}.setdefault({key}, []).append({x})")
        elif form == 1:
            self.emit(f"{d}[{key}].append({x})")
        elif form == 2:
            k = self.fresh("k")
            self.emit(f"{k} = {key}")
            self.emit(f"if {k} not in {d}: {d}[{k}] = set()")
            self.emit(f"{d}[{k}].add({i})")
        elif form == 3:
            self.emit(f"{d}[{key}] = {d}.get({key}, 0) + {self.one('1', i)}")
        else:
            k = self.fresh("k")
            self.emit(f"if ({k} := {key}) in {d}: {d}[{k}][0] += 1")
            self.emit(f"else: {d}[{k}] = [{i}, {self.literal(I)}]")
        self.indent -= 1
        env[d] = (
            ("D", kt, ("L", item)),
            ("E", kt, ("L", item)),
            ("D", kt, ("S", I)),
            ("D", kt, I),
            ("D", kt, ("L", I)),
        )[form]
        if form == 1:
            del env[d]
            e = self.fresh("v")
            self.emit(f"{e} = dict({d})")
            env[e] = ("D", kt, ("L", item))

    def small(self, env: dict[str, Ty]) -> None:
        """Swaps, chains of assignments, unpacking, star calls, what is suppressed."""
        a, b, c = self.fresh("v"), self.fresh("v"), self.fresh("v")
        ty = self.type(1)
        e = lambda t, d=1: self.expression(t, env, d)  # noqa: E731
        lists = self.having(env, lambda t: t[0] == "L")
        v = self.rng.choice(lists) if lists else ""

        def swap() -> None:
            self.emit(f"{a}, {b} = {e(ty)}, {e(ty)}")
            self.emit(f"{a}, {b} = {b}, {a}")
            env.update({a: ty, b: ty})

        def chain() -> None:
            self.emit(f"{a} = {b} = {e(ty)}")
            env.update({a: ty, b: ty})

        def unpacked() -> None:
            item = self.one(I, S, ("L", I))
            self.emit(f"{a}, *{b}, {c} = {e(('L', item))} + [{e(item)}, {e(item)}]")
            env.update({a: item, b: ("L", item), c: item})

        def nested() -> None:
            self.emit(f"({a}, {b}), {c} = ({e(I)}, {e(S)}), {e(ty)}")
            env.update({a: I, b: S, c: ty})

        def characters() -> None:
            self.emit(f"{a}, *{b} = {e(S)} + 'z'")
            env.update({a: S, b: ("L", S)})

        def starred() -> None:
            g = self.fresh("g")
            self.emit(f"def {g}(p, *q): return {self.one('len(q) + p', 'p - sum(q)', 'max(q, default=p)')}")
            self.emit(f"{a} = {g}({e(I)}, {self.one('*[1, 2]', f'*({e(I)}, {e(I)})', e(I), '')})")
            env[a] = I

        def named() -> None:
            g, order = self.fresh("g"), self.one(("p=%s", "q=%s"), ("q=%s", "p=%s"))
            x, y = e(I), e(S)
            self.emit(f"def {g}(p, q='d', *, r=2): return q * (p % 3) + str(r)")
            args = ", ".join(t % (x if t[0] == "p" else y) for t in order)
            self.emit(f"{a} = {g}({self.one(args, x, f'{x}, r={e(I)}')})")
            env[a] = S

        def suppressed() -> None:
            self.emit(f"{a} = {self.literal(I)}")
            self.emit(f"with suppress({self.one('KeyError', 'IndexError', 'ValueError, LookupError')}):")
            self.emit(f"    {a} = {self.expression(I, env)}")
            env[a] = I

        def swapped_items() -> None:
            self.emit(f"if len({v}) > 1: {v}[0], {v}[-1] = {v}[-1], {v}[0]")

        def sliced() -> None:
            self.emit(f"{v}[::2] = {v}[::2][::-1]")

        def star_call() -> None:
            g, p = self.fresh("g"), self.fresh("p")
            item = env[v][1]
            self.emit(f"def {g}(*{p}): return {self.one(f'len({p})', f'[*{p}]', f'list({p})[:2]')}")
            text = self.lines[-1]
            self.emit(f"{a} = {g}(*{v})")
            env[a] = I if "len(" in text else ("L", item)

        def found() -> None:
            self.emit(f"for {a} in {v}:")
            self.emit(f"    if {self.inner(B, {**env, a: env[v][1]})}:")
            self.emit(f"        {b} = 1")
            self.emit("        break")
            self.emit("else:")
            self.emit(f"    {b} = 2")
            env[b] = I

        def row_changed() -> None:
            rows = self.having(env, lambda t: t[0] == "L" and t[1][0] == "L" and t[1][1] in (I, F))
            if rows:
                r = self.rng.choice(rows)
                self.emit(f"for {a} in {r}:")
                self.emit(f"    for {b} in range(len({a})): {a}[{b}] += {b} + 1")
            else:
                swap()

        forms = [swap, chain, unpacked, nested, characters, starred, named, suppressed, row_changed]
        self.rng.choice(forms + ([swapped_items, sliced, star_call, found] if v else []))()

    def gathered(self, env: dict[str, Ty]) -> None:
        """A prange that appends to a list in order, what iterations made."""
        out, i, w, n = self.fresh("v"), self.fresh("i"), self.fresh("w"), self.rng.randint(1, 9)
        ty = self.one(I, F, S, ("T", I, S), ("L", I), ("D", I, I), ("L", S), ("T", I, ("L", I)))
        kept = {v: t for v, t in env.items() if t in (I, F, S, B)} | {i: I}
        functions, self.functions = self.functions, []
        self.emit(f"{out} = {'[]' if self.chance(0.6) else '[' + self.literal(ty) + ']'}")
        self.emit(f"for {i} in prange({n}):")
        self.indent += 1
        if ty[0] in "LD" and self.chance(0.6):
            j = self.fresh("j")
            self.emit(f"{w} = {self.expression(ty, kept, 1)}")
            self.emit(f"for {j} in range({i} % 3):")
            self.indent += 1
            self.change(w, {**kept, w: ty, j: I})
            self.indent -= 1
        else:
            self.emit(f"{w} = {self.expression(ty, kept)}")
        if self.chance(0.5):
            self.emit(f"if {self.test(kept)}:")
            self.emit(f"    {out}.append({w})")
        else:
            self.emit(f"{out}.append({w})")
        self.indent -= 1
        self.functions = functions
        env[out] = ("L", ty)

    def more(self, env: dict[str, Ty], depth: int, loops: int) -> None:
        """One of these statements."""
        kind = self.rng.randrange(10)
        if kind < 3:
            self.told(env, depth, loops)
        elif kind == 3:
            self.matched(env, depth, loops)
        elif kind == 4:
            self.closure(env)
        elif kind == 5 and not loops:
            self.worked_off(env, depth, loops)
        elif kind == 6:
            self.grouped(env)
        else:
            self.small(env)
