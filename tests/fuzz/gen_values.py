"""Values of containers, strings, bytes and tuples as text, by their type: what `gen_containers.py` makes programs of.

Each variable keeps one type, so that what a program means does not depend on what its container has in common; integers stay far below
2^63, lengths are bounded by what a statement may add. Sets are asked for what has no order, or are sorted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from writer import Writer

Ty = tuple[Any, ...]
I, F, S, B, Y = ("i",), ("f",), ("s",), ("b",), ("y",)  # noqa: E741  # int, float, str, bool, bytes
PLAIN = (I, I, F, S, S, B)
KEYS = (I, I, I, S, S, S, F, F, ("T", I, I), ("T", S, ("T", I, B)), ("O", I), ("T", F, S))
BYTES = (b"", b"a", b"ab", b"\x00\xff", b"x y", b"12")
DEFAULTS = {I: "int", F: "float", S: "str", ("L", I): "list", ("L", S): "list", ("S", I): "set"}
WORDS = ("", "a", "b", "ab", "ba", "é", "aé", "x y", "😀", "12", "-3", "Ab ")
MANY = 12  # no statement lengthens what is longer


def holds(ty: Ty, kinds: str) -> bool:
    """Whether a type is of one of the kinds, or has one in it."""
    return ty[0] in kinds or any(holds(t, kinds) for t in ty[1:])


class Values(Writer):
    """Text of values, made type by type."""

    def __init__(self, seed: int) -> None:
        super().__init__(f"containers {seed}")
        self.functions: list[tuple[str, list[Ty], Ty]] = []

    # --- small things ---

    def one(self, *options: Any) -> Any:
        return self.rng.choice(options)

    def type(self, depth: int = 2) -> Ty:
        """A type of a value, with so many containers in each other at most."""
        kind = self.rng.randrange(12) if depth else 0
        if kind > 9:
            return self.rare(depth)
        if kind < 3:
            return self.rng.choice(PLAIN)
        if kind == 3:
            return (
                "T",
                *(self.type(depth - 1 if self.chance(0.3) else 0) for _ in range(self.one(1, 2, 2, 3))),
            )
        if kind < 7:
            return ("L", self.type(depth - 1))
        if kind < 9:
            return ("D", self.rng.choice(KEYS), self.type(depth - 1))
        return ("S", self.rng.choice(KEYS))

    def rare(self, depth: int) -> Ty:
        """A counter, a defaultdict, a deque, a frozenset, what may be None."""
        return self.one(
            lambda: ("C", self.one(I, S)),
            lambda: ("E", self.rng.choice(KEYS), self.rng.choice(list(DEFAULTS))),
            lambda: ("Q", self.type(depth - 1)),
            lambda: ("Z", self.rng.choice(KEYS)),
            lambda: ("O", self.one(I, F, S)),
            lambda: Y if depth == 2 else I,  # no item
            lambda: ("L", ("O", self.one(I, F, S))),
        )()

    def having(self, env: dict[str, Ty], want: Callable[[Ty], bool]) -> list[str]:
        """The variables of such a type."""
        return [v for v, t in env.items() if want(t)]

    # --- expressions ---

    def argument(self, ty: Ty) -> str:
        """A value that Python hands over: one item at least tells of each type."""
        if ty[0] in "ifsby":
            return self.literal(ty)
        if ty[0] == "O":
            return self.argument(ty[1])
        if ty[0] == "T":
            return "(" + "".join(self.argument(t) + ", " for t in ty[1:]) + ")"
        if ty[0] in "CEQZ":
            return self.made(ty, lambda t: self.argument(t))
        ends = "[]" if ty[0] == "L" else "{}"
        more = [
            "[]" if ty[0] == "L" and ty[1][0] == "L" and self.chance(0.3) else self.argument(ty[1])
            for _ in range(self.rng.randint(0, 3))
        ]
        items = [self.argument(ty[1]), *more]
        if ty[0] == "D":
            items = [f"{k}: {self.argument(ty[2])}" for k in items]
        return ends[0] + ", ".join(items) + ends[1]

    def made(self, ty: Ty, of: Callable[[Ty], str]) -> str:
        """A call that makes one of `collections`, or a frozenset, of what `of` gives for a type."""
        return {
            "C": lambda: f"Counter({of(('D', ty[1], I))})",
            "E": lambda: f"defaultdict({DEFAULTS[ty[2]]}, {of(('D', *ty[1:]))})",
            "Q": lambda: f"deque({of(('L', ty[1]))}{self.one('', '', ', maxlen=5', ', 4')})",
            "Z": lambda: f"frozenset({of(('S', ty[1]))})",
        }[ty[0]]()

    def literal(self, ty: Ty) -> str:
        """A value of a type, without variables. What is empty is typed all the same."""
        kind = ty[0]
        if kind == "i":
            return str(self.rng.randint(-3, 9))
        if kind == "f":
            return repr(self.rng.choice([0.0, 1.0, -1.5, 2.25, 0.1, -0.0, 1e10]))
        if kind == "s":
            return repr(self.rng.choice(WORDS))
        if kind == "b":
            return self.one("True", "False")
        if kind == "y":
            return repr(self.rng.choice(BYTES))
        if kind == "O":
            return "None" if self.chance(0.4) else self.literal(ty[1])
        if kind in "CEQZ":
            return self.made(ty, self.literal)
        if kind == "T":
            return "(" + "".join(self.literal(t) + ", " for t in ty[1:]) + ")"
        if kind == "D":
            pairs = [f"{self.literal(ty[1])}: {self.literal(ty[2])}" for _ in range(self.rng.randint(1, 4))]
            return f"{{{pairs[0]} for z in range(0)}}" if self.chance(0.1) else f"{{{', '.join(pairs)}}}"
        items = [self.literal(ty[1]) for _ in range(self.rng.randint(1, 4))]
        ends = "[]" if kind == "L" else "{}"
        text = f"{items[0]} for z in range(0)" if self.chance(0.1) else ", ".join(items)
        return ends[0] + text + ends[1]

    def expression(self, ty: Ty, env: dict[str, Ty], depth: int = 2) -> str:
        """A value of a type."""
        same = self.having(env, lambda t: t == ty)
        if same and self.chance(0.35 if depth else 0.7):
            return self.rng.choice(same)
        if not depth:
            return self.literal(ty)
        if self.chance(0.35) and (text := self.item(ty, env, depth)):
            return text
        calls = [f for f in self.functions if f[2] == ty]
        if calls and self.chance(0.2):
            name, params, _ = self.rng.choice(calls)
            return f"{name}({', '.join(self.expression(t, env, depth - 1) for t in params)})"
        if self.chance(0.3) and (text := self.idiom(ty, env, depth - 1)):
            return text
        if self.chance(0.08):
            return f"({self.expression(ty, env, depth - 1)} if {self.test(env)} else {self.expression(ty, env, depth - 1)})"
        make = {
            "i": self.integer,
            "f": self.real,
            "s": self.text,
            "b": self.truth,
            "y": self.bytes,
        }.get(ty[0])
        if make:
            return make(env, depth - 1)
        return {
            "T": self.tuple,
            "L": self.list,
            "D": self.dict,
            "S": self.set,
            "Z": self.set,
            "C": self.collection,
            "E": self.collection,
            "Q": self.collection,
            "O": self.optional,
        }[ty[0]](ty, env, depth - 1)

    def idiom(self, ty: Ty, env: dict[str, Ty], depth: int) -> str:
        """A value of a type as `gen_idioms.py` writes it, or an empty text."""
        return ""

    def index(self, v: str, env: dict[str, Ty]) -> str:
        """A place in a list or a string, most often one that there is."""
        i = self.expression(I, env, 0)
        return self.one(f"{i} % len({v})" if self.chance(0.7) else i, "0", "-1", i)

    def item(self, ty: Ty, env: dict[str, Ty], depth: int) -> str:
        """What a container of this type holds, or an empty text."""
        holds = self.having(
            env,
            lambda t: (
                (t[0] in "LQ" and t[1] == ty)
                or (t[0] in "DE" and t[2] == ty)
                or (t[0] == "C" and ty == I)
                or (t[0] == "T" and ty in t[1:])
            ),
        )
        if not holds:
            return ""
        v = self.rng.choice(holds)
        t = env[v]
        if t[0] == "T":
            return f"{v}[{t.index(ty, 1) - 1}]"
        if t[0] in "DEC":
            key = self.expression(t[1], env, 0)
            asked = f"{v}.get({key}, {self.literal(ty)})"
            return self.one(
                f"{v}[{key}]", asked, asked, f"({v}[{key}] if {key} in {v} else {self.literal(ty)})"
            )
        last = [f"{v}.popleft()"] if t[0] == "Q" else [f"{v}.pop({self.index(v, env)})"]
        forms = [f"{v}[{self.index(v, env)}]"] * 4 + [f"{v}.pop()", *last]
        if ty[0] in "ifsb":
            forms += [f"max({v})", f"min({v})"]
        text = self.rng.choice(forms)
        return text if self.chance(0.3) else f"({text} if {v} else {self.literal(ty)})"

    def integer(self, env: dict[str, Ty], depth: int) -> str:
        e = lambda t=I: self.expression(t, env, depth)  # noqa: E731
        sized = self.having(env, lambda t: t[0] in "sLDSCEQZy")
        known = self.having(env, lambda t: t == ("O", I))
        data = self.having(env, lambda t: t == Y)
        lists = self.having(env, lambda t: t[0] == "L")
        forms = [
            lambda: f"({e()} + {e()})",
            lambda: f"({e()} - {e()})",
            lambda: f"({e()} * {self.rng.randint(-3, 5)})",
            lambda: f"{e()} % {self.rng.choice([2, 3, 5, 7])}",
            lambda: f"{e()} // {self.rng.choice([2, 3, -4])}",
            lambda: f"abs({e()})",
            lambda: f"{e(S)}.find({e(S)})",
            lambda: f"{e(S)}.count({e(S)})",
            lambda: f"ord(({e(S)} + 'q')[0])",
            lambda: f"int({e(B)})",
            lambda: (
                f"sum([{self.expression(I, {**env, 'k': I}, 1)} for k in range({self.rng.randint(0, 4)})])"
            ),
        ]
        if known:
            v = self.rng.choice(known)
            forms += [lambda v=v: f"({v} if {v} is not None else {e()})", lambda v=v: f"({v} or {e()})"]
        if data:
            v = self.rng.choice(data)
            forms += [lambda v=v: f"({v}[{self.index(v, env)}] if {v} else 7)", lambda v=v: f"sum({v})"]
        for v in self.having(env, lambda t: t[0] == "C")[:1]:
            forms += [
                lambda v=v: f"{v}.total()",
                lambda v=v: f"sum({v}.values())",
                lambda v=v: f"sum(n for _, n in {v}.most_common(2))",
            ]
        if sized:
            forms += [lambda: f"len({self.rng.choice(sized)})"] * 4
        if queues := self.having(env, lambda t: t[0] == "Q"):
            v = self.rng.choice(queues)
            x = self.expression(env[v][1], env, 0)
            forms += [lambda v=v, x=x: f"{v}.{self.one('count', 'index')}({x})"]
        if lists:
            v = self.rng.choice(lists)
            x = self.expression(env[v][1], env, 1)
            forms += [lambda: f"{v}.count({x})", lambda: f"{v}.index({x})"]
            if env[v][1] == I:
                forms += [lambda: f"sum({v})", lambda: f"sum(x for x in {v} if x > {self.rng.randint(0, 4)})"]
        return self.rng.choice(forms)()

    def real(self, env: dict[str, Ty], depth: int) -> str:
        e = lambda t=F: self.expression(t, env, depth)  # noqa: E731
        return self.one(
            lambda: f"({e()} + {e()})",
            lambda: f"({e()} - {e()})",
            lambda: f"({e()} * {self.rng.choice([0.5, -2.0, 3.0])})",
            lambda: f"float({e(I)})",
            lambda: f"({e(I)} / {self.rng.choice([2, 3, -7])})",
            lambda: f"abs({e()})",
            lambda: f"max({e()}, {self.literal(F)})",
        )()

    def text(self, env: dict[str, Ty], depth: int) -> str:
        e = lambda t=S: self.expression(t, env, depth)  # noqa: E731
        i = lambda: self.expression(I, env, 0)  # noqa: E731
        number = lambda: self.expression(F, env, 0)  # noqa: E731
        return self.one(
            lambda: f"({e()} + {e()})",
            lambda: f"({e()} + {e()})",
            lambda: f"{e()}[{i()}:{i()}]",
            lambda: f"{e()}[::{self.one(-1, 2, -2)}]",
            lambda: f"({e()} * ({i()} % 3))",
            lambda: f"str({e(I)})",
            lambda: f"str({e(F)})",
            lambda: (
                f"f'{{{i()}:{self.one('d', '03d', '>5', '+', 'x')}}}|{{{number()}:{self.one('.2f', 'g', '8.3e')}}}'"
            ),
            lambda: "f'<{" + self.expression(S, env, 0).replace("'", '"') + "!r:>6}>'",
            lambda: (
                f"{e()}.{self.one('upper', 'lower', 'title', 'strip', 'swapcase', 'casefold', 'lstrip')}()"
            ),
            lambda: f"{e()}.replace({self.literal(S)}, {self.literal(S)})",
            lambda: (
                f"{self.one(repr(','), repr(''), repr('é'))}.join({self.expression(('L', S), env, depth)})"
            ),
            lambda: f"{e()}.{self.one('ljust', 'center', 'zfill')}({self.rng.randint(0, 9)})",
            lambda: f"{e()}.partition({self.one(repr('a'), repr(' '))})[{self.rng.randrange(3)}]",
            lambda: f"chr(97 + {i()} % 26)",
            lambda: f"('%d|%s|%.2f' % ({i()}, {e()}, {number()}))",
            lambda: f"('{self.one('%r', '%5s', '%-4s')}' % ({e()},))",
            lambda: f"'{self.one('{} {}', '{1}-{0}', '{0!r}:{1:>4}')}'.format({e()}, {i()})",
            lambda: f"{self.expression(Y, env, 0)}.hex()",
            lambda: self.shown(env) or f"repr({i()})",
        )()

    def shown(self, env: dict[str, Ty]) -> str:
        """The text of a container in which there is no set, whose order is open; or an empty one."""
        plain = self.having(env, lambda t: t[0] in "LDTO" and not holds(t, "SZCEQ"))
        return f"{self.one('str', 'repr')}({self.rng.choice(plain)})" if plain else ""

    def bytes(self, env: dict[str, Ty], depth: int) -> str:
        e = lambda t=Y: self.expression(t, env, depth)  # noqa: E731
        i = lambda: self.expression(I, env, 0)  # noqa: E731
        return self.one(
            lambda: f"({e()} + {e()})[:9]",
            lambda: f"{e()}[{i()}:{i()}]",
            lambda: f"{e(S)}.encode()",
            lambda: f"{e()}.{self.one('upper', 'strip', 'title')}()",
            lambda: f"({e()} * ({i()} % 3))",
        )()

    def optional(self, ty: Ty, env: dict[str, Ty], depth: int) -> str:
        return self.one(
            "None",
            self.expression(ty[1], env, depth),
            f"({self.expression(ty[1], env, depth)} if {self.test(env)} else None)",
        )

    def collection(self, ty: Ty, env: dict[str, Ty], depth: int) -> str:
        e = lambda t=ty: self.expression(t, env, depth)  # noqa: E731
        forms = [lambda: self.made(ty, e), lambda: f"{e()}.copy()"]
        if ty[0] == "C":
            forms += [
                lambda: f"Counter({e(('L', ty[1]))})",
                lambda: f"({e()} {self.one('+', '-', '|', '&')} {e()})",
            ]
            if ty[1] == S:
                forms.append(lambda: f"Counter({e(S)})")
        return self.rng.choice(forms)()

    def test(self, env: dict[str, Ty]) -> str:
        """A condition."""
        return self.expression(B, env, 1) if self.chance(0.3) else self.truth(env, 1)

    def truth(self, env: dict[str, Ty], depth: int) -> str:
        e = lambda t: self.expression(t, env, depth)  # noqa: E731
        forms = [lambda t=t: f"({e(t)} {self.one('<', '<=', '==', '!=', '>')} {e(t)})" for t in (I, F, S)]
        forms += [
            lambda: f"({e(S)} in {e(S)})",
            lambda: f"{e(S)}.{self.one('isdigit', 'isalpha', 'islower', 'isspace', 'isalnum')}()",
            lambda: f"{e(S)}.{self.one('startswith', 'endswith')}({e(S)})",
            lambda: f"(not {self.expression(B, env, 0)})",
            lambda: f"({self.expression(B, env, 0)} {self.one('and', 'or')} {self.expression(B, env, 0)})",
        ]
        for v in self.having(env, lambda t: t[0] == "O")[:2]:
            forms += [lambda v=v: f"({v} is {self.one('None', 'not None')})"]
        # Deques of deques are not compared: the lists that this would make of both are one to the compiler.
        held = self.having(env, lambda t: t[0] in "LDSCEQZ" and not (t[0] == "Q" and holds(t[1], "Q")))
        if held:
            v = self.rng.choice(held)
            t = env[v]
            forms += [
                lambda: f"({e(t[1])} {self.one('in', 'not in')} {v})",
                lambda: f"({v} {self.one('==', '!=')} {e(t)})",
                lambda: f"(not {v})",
                lambda: f"(len({v}) > {self.rng.randint(0, 3)})",
            ]
            if t[0] == "L" and t[1][0] in "ifs":
                forms += [lambda: f"({v} < {e(t)})", lambda: f"any([x == {self.literal(t[1])} for x in {v}])"]
            if t[0] in "SZ":
                forms += [
                    lambda: f"({v} {self.one('<=', '>', '<')} {e(t)})",
                    lambda: f"{v}.isdisjoint({e(t)})",
                ]
        return self.rng.choice(forms)()

    def tuple(self, ty: Ty, env: dict[str, Ty], depth: int) -> str:
        return "(" + "".join(self.expression(t, env, depth) + ", " for t in ty[1:]) + ")"

    def source(self, env: dict[str, Ty]) -> tuple[str, str, dict[str, Ty]]:
        """What a loop goes over: its targets, the iterable, and what the targets are."""
        over = self.having(env, lambda t: t[0] in "LDSsCEQZ")
        x, y = self.fresh("x"), self.fresh("y")
        if not over or self.chance(0.2):
            return x, f"range({self.rng.randint(0, 5)})", {x: I}
        v = self.rng.choice(over)
        t = env[v]
        if t[0] == "s":
            return self.one((x, v, {x: S}), (f"{x}, {y}", f"enumerate({v})", {x: I, y: S}))
        if t[0] in "SZ":
            if holds(t, "O"):
                return x, f"range(len({v}))", {x: I}
            return x, f"sorted({v})", {x: t[1]}
        if t[0] == "Q":
            return x, f"list({v})" if self.chance(0.3) else v, {x: t[1]}
        if t[0] == "C":
            t = ("D", t[1], I)
        if t[0] in "DE":
            if holds(t[1], "O"):
                return x, v, {x: t[1]}
            return self.one(
                (x, v, {x: t[1]}),
                (f"{x}, {y}", f"{v}.items()", {x: t[1], y: t[2]}),
                (x, f"{v}.values()", {x: t[2]}),
                (x, f"sorted({v})", {x: t[1]}),
            )
        other = self.rng.choice(self.having(env, lambda t: t[0] == "L"))
        forms = [
            (x, v, {x: t[1]}),
            (f"{x}, {y}", f"enumerate({v})", {x: I, y: t[1]}),
            (x, f"{v}[{self.one('1:', '::-1', ':-1')}]", {x: t[1]}),
            (x, f"reversed({v})", {x: t[1]}),
            (f"{x}, {y}", f"zip({v}, {other})", {x: t[1], y: env[other][1]}),
            (x, f"chain({v}, {v}[:1])", {x: t[1]}),
            (x, f"islice({v}, {self.rng.randint(0, 3)})", {x: t[1]}),
            (f"{x}, {y}", f"product({v}, {other}[:3])", {x: t[1], y: env[other][1]}),
        ]
        if t[1] in (I, S):
            forms.append((f"{x}, {y}", f"groupby(list({v}))", {x: t[1]}))
        if t[1][0] == "T" and len(t[1]) == 3:
            forms.append((f"{x}, {y}", v, {x: t[1][1], y: t[1][2]}))
        return self.rng.choice(forms)

    def comprehension(self, env: dict[str, Ty], made: Callable[[dict[str, Ty]], str]) -> str:
        targets, over, types = self.source(env)
        inner = {**env, **types}
        item, tail = made(inner), f" if {self.test(inner)}" if self.chance(0.3) else ""
        if any(
            f"{f[0]}(" in item + tail for f in self.functions
        ):  # which may lengthen what the loop goes over
            over = f"list({over})"
        return f"{item} for {targets} in {over}{tail}"

    def list(self, ty: Ty, env: dict[str, Ty], depth: int) -> str:
        e = lambda t=ty: self.expression(t, env, depth)  # noqa: E731
        item = ty[1]
        forms = [
            lambda: "[" + ", ".join(e(item) for _ in range(self.rng.randint(0, 3))) + "]",
            lambda: f"[{self.comprehension(env, lambda inner: self.expression(item, inner, depth))}]",
            lambda: f"({e()} + {e()})[:{MANY}]",
            lambda: f"{e()}[{self.one('1:', ':2', '::-1', ':', '::2', '-2:')}]",
            lambda: f"{e()}.copy()",
            lambda: f"([{e(item)}] * {self.rng.randint(0, 3)})",
            lambda: f"list({e()})",
            lambda: f"list(chain({e()}, {e()}))[:{MANY}]",
            lambda: f"list(islice({e()}, {self.rng.randint(0, 3)}))",
            lambda: f"list({e(('Q', item))})",
        ]
        if item in (I, F, S) or item == ("T", I, I):
            forms += [
                lambda: f"sorted({e()})",
                lambda: f"sorted({e(('S', item))})",
                lambda: f"sorted({e()}, reverse=True)",
            ]
        if item[0] == "T" and len(item) == 3:
            forms.append(lambda: f"list(product({e(('L', item[1]))}[:3], {e(('L', item[2]))}[:3]))")
            if item[2] == I and item[1] in (I, S):
                forms.append(lambda: f"{e(('C', item[1]))}.most_common({self.one('', 2)})")
        if item in (I, S):
            forms.append(lambda: f"[k for k, g in groupby(list({e()}))]")
        if item == I:
            forms += [
                lambda: f"list(accumulate({e()}))",
                lambda: f"[len(list(g)) for k, g in groupby(list({e()}))]",
                lambda: f"list({e(Y)})",
                lambda: f"list(range({self.rng.randint(0, 5)}))",
                lambda: f"sorted({e()}, key=lambda q: (q % 3, -q))",
            ]
        if item == S:
            forms += [lambda: f"{e(S)}.split()", lambda: f"{e(S)}.split('a')", lambda: f"list({e(S)})"]
            forms += [lambda: f"sorted({e()}, key=len)"]
        for v in self.having(env, lambda t: t[0] == "D" and item in t[1:])[:2]:
            forms.append(lambda v=v: f"list({v})" if env[v][1] == item else f"list({v}.values())")
        return self.rng.choice(forms)()

    def dict(self, ty: Ty, env: dict[str, Ty], depth: int) -> str:
        e = lambda t=ty: self.expression(t, env, depth)  # noqa: E731
        pair = lambda inner: f"{self.expression(ty[1], inner, 1)}: {self.expression(ty[2], inner, depth)}"  # noqa: E731
        return self.one(
            # An empty one that nothing ever flows into has no entries of a type: nobody asks it for one.
            lambda: "{" + ", ".join(pair(env) for _ in range(self.rng.randint(1, 3))) + "}",
            lambda: "{" + self.comprehension(env, pair) + "}",
            lambda: f"{e()}.copy()",
            lambda: f"dict({e()})",
            lambda: f"({e()} | {e()})",
            lambda: "{**" + e() + ", " + pair(env) + "}",
            lambda: f"dict(zip({e(('L', ty[1]))}, {e(('L', ty[2]))}))",
        )()

    def set(self, ty: Ty, env: dict[str, Ty], depth: int) -> str:
        e = lambda t=ty: self.expression(t, env, depth)  # noqa: E731
        if ty[0] == "Z" and self.chance(0.6):
            return self.made(ty, e)
        if ty[0] == "Z":
            return self.one(f"({e()} {self.one('|', '&', '-', '^')} {e()})", f"{e()}.copy()")
        return self.one(
            lambda: "{" + ", ".join(e(ty[1]) for _ in range(self.rng.randint(1, 3))) + "}",
            lambda: "{" + self.comprehension(env, lambda inner: self.expression(ty[1], inner, 1)) + "}",
            lambda: f"set({e(('L', ty[1]))})",
            lambda: f"({e()} {self.one('|', '&', '-', '^')} {e()})",
            lambda: f"{e()}.{self.one('union', 'difference', 'intersection')}({e()})",
            lambda: f"{e()}.copy()",
        )()
