"""Programs of lists, dicts, sets, strings, bytes, tuples and what `collections` and `itertools` have, nested and aliased: CPython itself says what comes out of them.

Each variable keeps one type, so that what a program means does not depend on what its container has in common; integers stay far below
2^63, lengths are bounded by what a statement may add. Sets are asked for what has no order, or are sorted. The arguments are
containers, too, some of them twice or one within the other, and are compared after the call.
"""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict, deque
from typing import Any

from gen_flow import CAUGHT, Flow
from gen_raises import Case
from gen_values import MANY, B, F, I, S, Ty
from reach import WAYS

CLASSES = {"Counter": Counter, "defaultdict": defaultdict, "deque": deque}
HEAD = """\
import bisect
import heapq
import math
from collections import Counter, defaultdict, deque
from contextlib import suppress
from functools import reduce
from itertools import accumulate, chain, groupby, islice, product
from treadle import prange

"""
ILL = ("TypeError", "AttributeError", "NameError", "UnboundLocalError")  # no program of one type each


def is_of(seed: int, library: bool, promotion: str) -> bool:
    """True for the seeds that make such a program."""
    return not library and promotion == "treadle" and seed % 8 == 5


class Maker(Flow):
    """Text of one program."""

    # --- statements ---

    def change(self, v: str, env: dict[str, Ty]) -> None:
        """A statement that changes a container."""
        t = env[v]
        e = lambda t, d=1: self.expression(t, env, d)  # noqa: E731
        grows = f"if len({v}) < {MANY}: "
        if t[0] == "L":
            i = self.index(v, env)
            some = f"if {v}: " if self.chance(0.7) else ""
            forms = [
                lambda: f"{grows}{v}.append({e(t[1])})",
                lambda: f"{grows}{v}.append({e(t[1])})",
                lambda: f"{grows}{v}.insert({e(I, 0)}, {e(t[1])})",
                lambda: f"{grows}{v}.extend({e(t)}[:5])",
                lambda: f"{grows}{v} += {e(t)}[:5]",
                lambda: f"{some}{v}[{i}] = {e(t[1])}",
                lambda: f"{some}{v}[{i}] = {e(t[1])}",
                lambda: f"{some}{v}.pop({i})",
                lambda: f"{some}del {v}[{i}]",
                lambda: f"del {v}[{self.one('1:', '::2', ':-1', '1:3')}]",
                lambda: f"{v}[{self.one('1:', ':2', '1:2', '1:1')}] = {e(t)}[:3]",
                lambda: f"{some}{v}.remove({self.one(f'{v}[0]', f'{v}[-1]', e(t[1]))})",
                lambda: f"{v}.reverse()",
                lambda: f"if len({v}) > {MANY // 2}: {v}.clear()",
            ]
            if t[1] in (I, F, S):
                forms.append(lambda: f"{v}.sort({self.one('', 'reverse=True')})")
            if t[1] == I:
                forms.append(lambda: f"{some}{v}[{i}] += {self.rng.randint(1, 4)}")
            if t[1] == S:
                forms.append(lambda: f"{some}{v}[{i}] = ({v}[{i}] + {self.literal(S)})[:9]")
        elif t[0] == "Q":
            some = f"if {v}: " if self.chance(0.7) else ""
            forms = [
                lambda: f"{grows}{v}.{self.one('append', 'appendleft')}({e(t[1])})",
                lambda: f"{grows}{v}.{self.one('append', 'appendleft')}({e(t[1])})",
                lambda: f"{grows}{v}.{self.one('extend', 'extendleft')}({e(('L', t[1]))}[:3])",
                lambda: f"{some}{v}.{self.one('pop', 'popleft')}()",
                lambda: f"{v}.rotate({e(I, 0)})",
                lambda: f"{some}{v}[{self.index(v, env)}] = {e(t[1])}",
                lambda: f"if len({v}) > {MANY // 2}: {v}.clear()",
                lambda: f"{v}.reverse()",
                lambda: f"{v}.remove({e(t[1])})",
                lambda: f"{grows}{v}.insert({e(I, 0)}, {e(t[1])})",
                lambda: f"{some}del {v}[{self.index(v, env)}]",
                lambda: f"{grows}{v} += {e(('L', t[1]))}[:3]",
                lambda: f"if len({v}) < 5: {v} *= {self.rng.randint(0, 2)}",
            ]
        elif t[0] == "C":
            k = self.expression(t[1], env, 1)
            forms = [
                lambda: f"{v}[{k}] += {self.rng.randint(-1, 3)}",
                lambda: f"{v}.{self.one('update', 'subtract')}({e(('L', t[1]))}[:5])",
                lambda: f"{v}.pop({k}, 0)",
                lambda: f"{v} {self.one('+=', '-=', '|=', '&=')} {e(t)}",
                lambda: f"if {k} in {v}: del {v}[{k}]",
                lambda: f"if len({v}) > {MANY}: {v}.clear()",
            ]
        elif t[0] in "DE":
            k = self.expression(t[1], env, 1)
            known = f"if {k} in {v}: " if self.chance(0.7) else ""
            forms = [
                lambda: f"{v}[{k}] = {e(t[2])}",
                lambda: f"{v}[{k}] = {e(t[2])}",
                lambda: f"{v}.setdefault({k}, {e(t[2])})",
                lambda: f"{v}.pop({k}, {self.literal(t[2])})",
                lambda: f"{known}{v}.pop({k})",
                lambda: f"{known}del {v}[{k}]",
                lambda: f"{v}.update({e(t)})",
                lambda: f"if {v}: {v}.popitem()",
                lambda: f"if len({v}) > {MANY}: {v}.clear()",
            ]
            if t[0] == "E":
                x = "(%s)" % e(t[2][1]) if t[2][0] in "LS" else ""
                grow = {"L": f".append{x}", "S": f".add{x}"}.get(t[2][0], f" = {v}[{k}]")
                forms += [lambda: f"{v}[{k}]{grow}"] * 4
            if t[2] == I:
                forms += [lambda: f"{v}[{k}] = {v}.get({k}, 0) + 1", lambda: f"{known}{v}[{k}] += 1"]
        else:
            x = self.expression(t[1], env, 1)
            forms = [
                lambda: f"{v}.add({x})",
                lambda: f"{v}.add({x})",
                lambda: f"{v}.discard({x})",
                lambda: f"{v}.remove({x})",
                lambda: f"{v}.update({e(t)})",
                lambda: f"{v} {self.one('|=', '&=', '-=', '^=')} {e(t)}",
                lambda: f"if len({v}) > {MANY}: {v}.clear()",
            ]
        self.emit(self.rng.choice(forms)())

    def change_within(self, env: dict[str, Ty]) -> None:
        """Change what a container holds, by an alias of it."""
        nested = self.having(env, lambda t: t[0] in "LD" and t[-1][0] in "LDS")
        if not nested:
            self.assign(env)
            return
        v = self.rng.choice(nested)
        t = env[v]
        key = self.index(v, env) if t[0] == "L" else self.expression(t[1], env, 0)
        alias = self.fresh("m")
        if (
            self.chance(0.7) or t[0] == "D"
        ):  # a name that no display of names has is an error when it compiles
            self.emit(f"if {v if t[0] == 'L' else f'{key} in {v}'}:")
            self.indent += 1
            self.emit(f"{alias} = {v}[{key}]")
            self.change(alias, {**env, alias: t[-1]})
            self.indent -= 1
            return
        self.emit(f"{alias} = {v}[{key}]")
        env[alias] = t[-1]
        self.change(alias, env)

    def statement(self, env: dict[str, Ty], depth: int, loops: int) -> None:
        changed = self.having(env, lambda t: t[0] in "LDSCEQ")
        if self.chance(0.3 if depth > 0 else 0.0):
            self.more(env, depth, loops)
            return
        kind = self.rng.randrange(20 if depth > 0 else 11)
        if kind < 4 or not changed:
            self.assign(env)
        elif kind < 8:
            self.change(self.rng.choice(changed), env)
        elif kind < 10:
            self.change_within(env)
        elif kind == 10:
            self.unpack(env)
        elif kind < 14:
            targets, over, types = self.source(env)
            if loops > 1:
                self.assign(env)
                return
            n = self.fresh("n")
            self.emit(f"{n} = 0")
            self.emit(f"for {targets} in {over}:")
            self.emit(f"    {n} += 1")
            self.emit(f"    if {n} > 20: break")  # the loop may lengthen what it goes over
            self.block({**env, **types}, depth - 1, loops + 1)
            if self.chance(0.2):
                self.emit(f"    if {self.test({**env, **types})}: {self.one('break', 'continue')}")
        elif kind < 17:
            self.emit(f"if {self.test(env)}:")
            self.block(env, depth - 1, loops)
            if self.chance(0.4):
                self.emit("else:")
                self.block(env, depth - 1, loops)
        elif kind == 17:
            g, ty = self.fresh("g"), self.type(1)
            arg = self.type(1)
            self.emit(f"def {g}(t): return {self.expression(ty, {**env, 't': arg}, 2)}")
            v = self.fresh("v")
            self.emit(f"{v} = {g}({self.expression(arg, env)})")
            env[v] = ty
        else:
            self.emit("try:")
            self.block(env, depth - 1, loops)
            self.emit(f"except {self.rng.choice(CAUGHT)}:")
            self.block(env, depth - 1, loops)
            if self.chance(0.2):
                self.emit("finally:")
                self.block(env, depth - 1, loops)

    def rounds(self, env: dict[str, Ty]) -> None:
        """A prange whose rounds have containers of their own, and read numbers and strings of others."""
        out, i, w, n = self.fresh("v"), self.fresh("i"), self.fresh("w"), self.rng.randint(1, 9)
        ty = self.type(2)
        inner = {v: t for v, t in env.items() if t in (I, F, S, B)} | {i: I}
        self.emit(f"{out} = [0] * {n}")
        self.emit(f"for {i} in prange({n}):")
        self.indent += 1
        functions, self.functions = self.functions, []
        self.emit(f"{w} = {self.expression(ty, inner)}")
        inner[w] = ty
        if ty[0] in "LDSCEQ":
            self.change(w, inner)
        self.emit(f"{out}[{i}] = ({self.expression(I, inner)}) % 1009")
        self.functions = functions
        self.indent -= 1
        env[out] = ("L", I)

    def unpack(self, env: dict[str, Ty]) -> None:
        a, b = self.fresh("v"), self.fresh("v")
        tuples = self.having(env, lambda t: t[0] == "T" and len(t) == 3)
        lists = self.having(env, lambda t: t[0] == "L")
        if tuples and self.chance(0.6):
            v = self.rng.choice(tuples)
            self.emit(f"{a}, {b} = {v}")
            env |= {a: env[v][1], b: env[v][2]}
        elif lists:
            v = self.rng.choice(lists)
            self.emit(f"{a}, *{b} = {v}")
            env |= {a: env[v][1], b: env[v]}
        else:
            self.assign(env)

    def function(self) -> None:
        """A function that main may call, of containers that it may change."""
        name = self.fresh("f")
        types = [self.type() for _ in range(self.rng.randint(1, 3))]
        result = self.type()
        params = [self.fresh("p") for _ in types]
        self.emit(self.one("@jit", "@jit", ""))
        self.emit(f"def {name}({', '.join(params)}):")
        env = dict(zip(params, types, strict=True))
        self.indent += 1
        for _ in range(self.rng.randint(1, 3)):
            self.statement(env, 1, 0)
        self.emit(f"return {self.expression(result, env)}")
        self.indent -= 1
        self.emit("")
        self.functions.append((name, types, result))

    def program(self) -> tuple[str, list[Ty]]:
        """Return the text, and the types of main's arguments."""
        for _ in range(self.rng.randint(0, 2)):
            self.function()
        types = [self.type() for _ in range(self.rng.randint(1, 3))]
        params = [f"a{k}" for k in range(len(types))]
        self.emit("@parallel" if self.chance(0.15) else "@jit")
        self.emit(f"def main({', '.join(params)}):")
        self.indent += 1
        env = dict(zip(params, types, strict=True))
        for _ in range(self.rng.randint(3, 6)):
            self.statement(env, 2, 0)
        if self.chance(0.2):
            self.one(self.rounds, self.gathered)(env)
            self.statement(env, 2, 0)
        shown = self.rng.sample(sorted(env), min(len(env), 4))
        self.emit(f"return {', '.join(shown)},")
        return HEAD + "\n".join(self.lines) + "\n", types


def build(texts: list[str]) -> list[Any]:
    """Arguments of a call; the text of one may name those before it."""
    names: dict[str, Any] = dict(CLASSES)
    for k, text in enumerate(texts):
        names[f"a{k}"] = eval(text, dict(names))
    return [names[f"a{k}"] for k in range(len(texts))]


def outcome(main: Any, texts: list[str]) -> tuple[Any, Any, Any]:
    """What a call comes to: the class and arguments of an exception, the value, and what the arguments are then."""
    args = build(texts)
    raised, got = None, None
    try:
        got = main(*args)
    except Exception as e:
        if type(e).__module__.startswith("treadle"):
            raise
        raised = (type(e).__name__, repr(e.args))
    return raised, got, args


def expected(source: str, calls: list[list[str]]) -> list[tuple[Any, Any, Any]]:
    """The outcomes by CPython."""
    same = lambda f: f  # noqa: E731
    names: dict[str, Any] = {"jit": same, "parallel": same}
    exec(compile(source, "<containers>", "exec"), names)
    outcomes = [outcome(names["main"], c) for c in calls]
    if wrong := [o[0] for o in outcomes if o[0] and o[0][0] in ILL]:
        raise ValueError(f"no program: {wrong[0]}")
    return outcomes


def shown(value: Any) -> str:
    """A value as text that two equal ones have in common: sets have no order, and every NaN is one."""
    if type(value) in (Counter, defaultdict, deque, frozenset):
        plain = {frozenset: set, deque: list}.get(type(value), dict)
        more = {defaultdict: "default_factory", deque: "maxlen"}.get(type(value), "__len__")
        kept = "" if more == "__len__" else f", {getattr(value, more)}"
        return f"{type(value).__name__}({shown(plain(value))}{kept})"
    if isinstance(value, set):
        return (
            "{" + ", ".join(sorted(shown(x or abs(x) if isinstance(x, float) else x) for x in value)) + "}"
        )  # which zero stays is open
    if isinstance(value, dict):
        return "{" + ", ".join(f"{shown(k)}: {shown(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        ends = "[]" if isinstance(value, list) else "()"
        return ends[0] + ", ".join(map(shown, value)) + ends[1]
    return repr(value)


def differs(want: tuple[Any, Any, Any], got: tuple[Any, Any, Any], parallel: bool) -> str:
    """Empty, or how two outcomes differ."""
    for name, w, g in zip(("raised", "value", "arguments"), want, got, strict=True):
        open_order = name == "raised" and w and g and "{" in w[1]  # the text of a set
        if open_order and w[0] == g[0] and (sorted(w[1]) == sorted(g[1]) or "the value is not in " in g[1]):
            continue
        if shown(w) != shown(g):
            return f"{name}: {shown(w)}, got {shown(g)}"
    return ""


def make_case(seed: int) -> Case:
    """The program of a seed."""
    for again in range(50):
        maker = Maker(seed * 50 + again)
        source, types = maker.program()
        rng = maker.rng
        calls = []
        for _ in range(3):
            texts: list[str] = []
            for k, t in enumerate(types):
                earlier = [j for j in range(k) if types[j] == t]
                within = [j for j in range(k) if t[0] == "L" and types[j] == t[1]]
                if earlier and rng.random() < 0.3:
                    texts.append(f"a{rng.choice(earlier)}")
                elif within and rng.random() < 0.5:
                    texts.append(f"[a{within[0]}, {maker.argument(t[1])}, a{within[0]}]")
                else:
                    texts.append(maker.argument(t))
            calls.append(texts)
        options: dict[str, Any] = {"containers": True}
        if rng.random() < 0.25:
            options["inline"] = "always"
        if rng.random() < 0.3:
            way = rng.choice(WAYS)
            arrays = way == "opposite" and "b'" in str(calls)  # Numba's rules have bytes as arrays
            options["way"] = "caller" if arrays else way
        with contextlib.suppress(ValueError):
            outcomes = expected(source, calls)
            if all(o[0] for o in outcomes) and options.get("way") == "recursion":
                del options["way"]  # what never returns has no type that a recursion could begin with
            return Case(source, calls, options, outcomes)
    raise AssertionError(f"seed {seed} makes no program that CPython would run")
