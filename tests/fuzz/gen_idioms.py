"""What people write with containers, strings and bytes: comprehensions of several loops, joins of splits, sorts by keys, star displays, tables of characters.

Each form is a text of one expression, by the type of its value. `gen_values.py` asks for one now and then, and gives what stands in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from gen_values import KEYS, MANY, B, F, I, S, Ty, Values, Y, holds

Forms = list[Callable[[], str]]
SEPARATORS = ("' '", "'a'", "','", "'|'")


def is_plain(ty: Ty) -> bool:
    """Whether `<` orders its values as every Python does: numbers, strings, and tuples of these."""
    return ty in (I, F, S, Y) or (ty[0] == "T" and all(is_plain(t) for t in ty[1:]))


class Idioms(Values):
    """Text of values as programs have them."""

    def idiom(self, ty: Ty, env: dict[str, Ty], depth: int) -> str:
        """A value of a type, or an empty text."""
        e = lambda t: self.expression(t, env, depth)  # noqa: E731
        make = {
            "s": self.of_text,
            "i": self.of_integer,
            "f": self.of_real,
            "b": self.of_truth,
            "y": self.of_bytes,
            "L": self.of_list,
            "D": self.of_dict,
            "S": self.of_set,
            "C": self.of_counter,
            "Q": self.of_deque,
            "O": self.of_optional,
            "T": self.of_tuple,
        }.get(ty[0])
        forms = make(ty, env, e) if make else []
        return self.rng.choice(forms)() if forms else ""

    def inner(self, ty: Ty, env: dict[str, Ty], **names: Ty) -> str:
        """A value made of the variables of a comprehension, for which no function is called: it might lengthen what the loop goes over.

        A condition asks one of these variables, as none of a program is the same in each round.
        """
        kept, self.functions = self.functions, []
        text = self.expression(ty, {**env, **names}, 1)
        for _ in range(20 if ty == B else 0):
            if any(re.search(rf"\b{name}\b", text) for name in names):
                break
            text = self.truth({**env, **names}, 1)
        self.functions = kept
        return text

    def of_text(self, ty: Ty, env: dict[str, Ty], e: Callable[[Ty], str]) -> Forms:
        number = lambda: self.expression(I, env, 0)  # noqa: E731
        forms: Forms = [
            lambda: f"' '.join(sorted({e(S)}.split()))",
            lambda: f"''.join(reversed({e(S)}))",
            lambda: f"''.join([c for c in {e(S)} if c.{self.one('isalpha', 'isdigit', 'isupper')}()])",
            lambda: f"''.join(c.{self.one('upper', 'lower')}() for c in {e(S)})[:9]",
            lambda: f"','.join(str(q) for q in {e(('L', I))})",
            lambda: f"', '.join(map(str, {e(('L', F))}))",
            lambda: (
                f"'|'.join([f'{{k}}={{n:>3}}' for k, n in {e(('D', self.one(S, I), self.one(I, S)))}.items()])"
            ),
            lambda: f"' '.join([w.capitalize() for w in {e(S)}.split(' ')])",
            lambda: f"'\\n'.join({e(('L', S))})",
            lambda: (
                f"{e(S)}.translate(str.maketrans({self.one(repr('ab'), repr('é1'))}, {self.one(repr('xy'), repr('😀é'))}))"
            ),
            lambda: f"{e(S)}.translate(str.maketrans('', '', 'a '))",
            lambda: f"{e(S)}.encode().decode()",
            lambda: f"{e(Y)}.decode('latin-1')",
            lambda: f"{e(Y)}.decode('utf-8', 'replace')",
            lambda: (
                f"{e(S)}.{self.one('removeprefix', 'removesuffix', 'rstrip', 'strip')}({self.literal(S)})"
            ),
            lambda: (
                f"{e(S)}.{self.one('rjust', 'ljust', 'center')}({number()} % 7, {self.one(repr('*'), repr('é'))})"
            ),
            lambda: f"{e(S)}.{self.one('capitalize', 'expandtabs', 'rstrip')}()",
            lambda: f"{e(S)}.rpartition({self.one(repr('a'), repr(' '))})[{self.rng.randrange(3)}]",
            lambda: f"{e(S)}.replace({self.literal(S)}, {self.literal(S)}, {self.rng.randint(0, 2)})",
            lambda: f"{e(S)}[{number()}:{number()}:{self.one(-1, 2, -2, 3, -3)}]",
            lambda: f"format({e(F)}, f'>9.{{{number()} % 4}}f')",
            lambda: f"f'{{{number()}:{self.one(',', 'b', '^6', '=+6d', '04x', '_', '#o')}}}'",
            lambda: f"f'{{{self.expression(F, env, 0)}:{self.one('+.1e', '%', '.3g', '010.2f', '<7', '')}}}'",
            lambda: f"'{self.one('{:^7}', '{:*<5}', '{:.1}', '{!r:>8}')}'.format({e(S)})",
            lambda: f"f'{{{self.expression(B, env, 0)}}} {{{self.expression(B, env, 0)}!s:>6}}'",
            lambda: f"{self.one('hex', 'bin', 'oct')}({number()})",
            lambda: f"{self.one('repr', 'ascii')}({e(S)})",
            lambda: f"repr({e(Y)})",
            lambda: f"max({e(('L', S))}, key=len, default='-')",
            lambda: f"min({e(('L', S))}, default='')",
            lambda: f"({e(S)} or 'none')",
            lambda: f"{self.rng.choice(SEPARATORS)}.join([''.join({e(('L', S))}), ''.join({e(('L', S))})])",
            lambda: f"str(sorted({e(('S', self.one(I, S)))}))",
            lambda: f"str(({e(I)}, {e(S)}))",
        ]
        for v in self.having(env, lambda t: t[0] in "LDTO" and not holds(t, "SZCEQ"))[:2]:
            forms += [lambda v=v: f"f'{{{v}}}'", lambda v=v: f"('%s;' % ({v},))"]
        for v in self.having(env, lambda t: t[0] == "D" and t[1] == S and t[2] in (I, F, S))[:1]:
            forms += [
                lambda v=v: f"(max({v}, key=lambda q: {v}[q]) if {v} else '')",
                lambda v=v: f"(min({v}, key={v}.get) if {v} else '')",
                lambda v=v: f"''.join(sorted({v}))",
            ]
        return forms

    def of_integer(self, ty: Ty, env: dict[str, Ty], e: Callable[[Ty], str]) -> Forms:
        l, w, s = lambda: e(("L", I)), lambda: e(("L", S)), lambda: e(S)
        forms: Forms = [
            lambda: f"(int({s()}) if {self.chance(0.2) or '%s.isdigit()' % s()} else -1)",
            lambda: f"{s()}.{self.one('rfind', 'find', 'count')}({s()})",
            lambda: f"{s()}.{self.one('index', 'rindex')}({s()})",
            lambda: f"len({s()}.split())",
            lambda: f"len({s()}.encode())",
            lambda: f"sum(1 for c in {s()} if c in 'aé')",
            lambda: f"sum(len(q) for q in {w()})",
            lambda: f"sum(map(len, {w()}))",
            lambda: f"max(map(len, {w()}), default=0)",
            lambda: f"len({{*{l()}, *{l()}}})",
            lambda: f"len([*{l()}, *{l()}])",
            lambda: f"max({l()}, default=-1)",
            lambda: f"next((q for q in {l()} if q > {self.rng.randint(0, 4)}), -1)",
            lambda: f"sum(q * r for q, r in zip({l()}, {l()})) % 1009",
            lambda: f"sum(len(r) for r in {e(('L', ('L', self.one(I, S))))})",
            lambda: f"sum(q for r in {e(('L', ('L', I)))} for q in r)",
            lambda: f"sum([q for r in {e(('D', self.one(I, S), ('L', I)))}.values() for q in r])",
            lambda: f"{e(Y)}.{self.one('find', 'count', 'rfind')}({e(Y)})",
            lambda: f"bisect.{self.one('bisect_left', 'bisect')}(sorted({l()}), {e(I)})",
            lambda: f"reduce(lambda p, q: (p * 3 + q) % 101, {l()}, {self.rng.randint(0, 3)})",
            lambda: f"len(set({s()}) {self.one('&', '|', '-', '^')} set({s()}))",
            lambda: f"len({e(('D', S, I))}.keys() {self.one('&', '|', '-')} {e(('D', S, I))}.keys())",
            lambda: f"sum([k * n for k, n in {e(('D', I, I))}.items()]) % 1009",
            lambda: f"divmod({e(I)}, {self.one(2, 7, -3)})[{self.one(0, 1)}]",
            lambda: f"sorted({l()} + [{e(I)}])[{self.one(0, -1)}]",
            lambda: f"(lambda p, q: p - q)({e(I)}, {e(I)})",
            lambda: f"({e(I)} or {e(I)})",
            lambda: f"[{e(I)}, {e(I)}, {e(I)}][{e(I)} % 3]",
            lambda: f"{{'a': {e(I)}, 'b': {e(I)}}}.get({s()}, {e(I)})",
            lambda: f"len({w()}[{e(I)} % 2::2])",
        ]
        for v in self.having(env, lambda t: t[0] == "L" and t[1] in (I, F, S))[:1]:
            forms += [
                lambda v=v: f"(min(range(len({v})), key=lambda q: {v}[q]) if {v} else -1)",
                lambda v=v: f"len([1 for p, q in zip({v}, {v}[1:]) if p < q])",
                lambda v=v: f"len([q for q in {v} if {v}.count(q) == 1])",
            ]
        for v in self.having(env, lambda t: t[0] in "DE" and t[2] == I)[:1]:
            forms += [lambda v=v: f"sum({v}.values())", lambda v=v: f"max({v}.values(), default=0)"]
        return forms

    def of_real(self, ty: Ty, env: dict[str, Ty], e: Callable[[Ty], str]) -> Forms:
        l = lambda: e(("L", F))  # noqa: E731, E741
        return [
            lambda: f"min({l()}, default=0.5)",
            lambda: f"max({l()}, key=abs, default=0.25)",
            lambda: f"round({e(F)}, {self.one(0, 1, 2)})",
            lambda: f"math.sqrt(abs({e(F)}))",
            lambda: f"(float({e(S)}) if {self.chance(0.2) or '%s.isdigit()' % e(S)} else 0.0)",
            lambda: (
                f"float('{self.one('1.5', '-2e3', ' 7 ', 'inf')}')" if self.chance(0.5) else f"float({e(I)})"
            ),
            lambda: f"[{e(F)}, {e(F)}][{e(B)}]",
            lambda: f"{{'a': {e(F)}}}.get({e(S)}, {e(F)})",
        ]

    def of_truth(self, ty: Ty, env: dict[str, Ty], e: Callable[[Ty], str]) -> Forms:
        forms: Forms = [
            lambda: f"{self.one('all', 'any')}(q > {self.rng.randint(-1, 3)} for q in {e(('L', I))})",
            lambda: f"{self.one('all', 'any')}([w.startswith('a') for w in {e(('L', S))}])",
            lambda: f"{self.one('all', 'any')}(q in {e(S)} for q in {e(S)})",
            lambda: f"({e(S)} == {e(S)}[::-1])",
            lambda: f"(set({e(('L', I))}) {self.one('<=', '<', '==', '>')} {e(('S', I))})",
            lambda: f"(sorted({e(S)}) == sorted({e(S)}))",
            lambda: f"(({e(I)}, {e(S)}) {self.one('<', '<=', '==', '>')} ({e(I)}, {e(S)}))",
            lambda: f"({e(('L', S))} {self.one('<', '==', '>=')} {e(('L', S))})",
            lambda: f"({e(Y)} {self.one('in', 'not in', '==', '<')} {e(Y)})",
            lambda: f"{e(Y)}.{self.one('startswith', 'endswith')}({e(Y)})",
            lambda: f"(0 <= {e(I)} < {self.rng.randint(1, 6)})",
            lambda: f"({e(S)} {self.one('in', 'not in')} ('a', 'ab', 'x y'))",
            lambda: (
                f"({e(I)} {self.one('in', 'not in')} {self.one('[1, 2, 3]', '{0, 4}', 'range(3)', '(5, 7)')})"
            ),
            lambda: f"{e(S)}.startswith(('a', 'é'))",
            lambda: f"bool({e(self.one(('L', I), S, ('D', S, I)))})",
            lambda: f"(hash({e(S)}) == hash({e(S)}))",
            lambda: f"({e(('D', S, I))}.keys() {self.one('<=', '==', '>')} {e(('D', S, I))}.keys())",
            lambda: f"(('a', {e(I)}) in {e(('L', ('T', S, I)))})",
        ]
        for v in self.having(env, lambda t: t[0] == "L" and is_plain(t[1]))[:1]:
            forms += [lambda v=v: f"({v} == sorted({v}))", lambda v=v: f"(len(set({v})) < len({v}))"]
        return forms

    def of_bytes(self, ty: Ty, env: dict[str, Ty], e: Callable[[Ty], str]) -> Forms:
        return [
            lambda: f"{e(Y)}[::{self.one(-1, 2)}]",
            lambda: f"{e(Y)}.replace({self.literal(Y)}, b'xy')[:9]",
            lambda: f"bytes([q % 256 for q in {e(('L', I))}])",
            lambda: f"{e(Y)}.split(b' ')[0]",
            lambda: f"b','.join([{e(Y)}, {e(Y)}])[:9]",
            lambda: f"bytes({e(I)} % 4)",
            lambda: f"{e(S)}.encode('{self.one('latin-1', 'ascii')}', '{self.one('replace', 'ignore')}')",
            lambda: f"{e(Y)}.{self.one('lower', 'capitalize', 'swapcase', 'lstrip')}()",
            lambda: f"{e(Y)}.ljust({e(I)} % 6, b'.')",
            lambda: f"bytes.fromhex('{self.one('0a', '61 62', '')}')",
            lambda: f"{e(Y)}.translate(bytes.maketrans(b'ab', b'xy'))",
            lambda: f"{e(Y)}.strip(b'a')",
            lambda: f"({e(Y)} or b'-')",
        ]

    def pairs(self, ty: Ty, env: dict[str, Ty], e: Callable[[Ty], str]) -> Forms:
        """Lists of tuples of two."""
        a, b = ty[1][1:]
        forms: Forms = [
            lambda: f"list(zip({e(('L', a))}, {e(('L', b))}))",
            lambda: f"[(p, q) for p in {e(('L', a))} for q in {e(('L', b))}][:{MANY}]",
            lambda: f"[(p, q) for p, q in {e(ty)} if {self.inner(B, env, p=a, q=b)}]",
        ]
        if a in KEYS:
            forms.append(lambda: f"list({e(('D', a, b))}.items())")
        if a == I:
            forms.append(lambda: f"list(enumerate({e(('L', b))}, {self.rng.randint(0, 2)}))")
        if is_plain(a) and is_plain(b):
            forms += [
                lambda: f"sorted({e(ty)})",
                lambda: f"sorted({e(ty)}, key=lambda p: (p[1], p[0]){self.one('', ', reverse=True')})",
            ]
            if b in (I, F) and a in KEYS:
                forms.append(lambda: f"sorted({e(('D', a, b))}.items(), key=lambda p: (-p[1], p[0]))")
        return forms

    def of_list(self, ty: Ty, env: dict[str, Ty], e: Callable[[Ty], str]) -> Forms:
        item = ty[1]
        forms: Forms = [
            lambda: f"[*{e(ty)}, *{e(ty)}][:{MANY}]",
            lambda: f"[*{e(ty)}, {e(item)}]",
            lambda: f"[q for q in {e(ty)} if {self.inner(B, env, q=item)}]",
            lambda: f"list(reversed({e(ty)}))",
            lambda: f"({e(ty)} or [{e(item)}])",
            lambda: f"{e(ty)}[{self.rng.randint(-3, 3)}::{self.one(2, -2, -1)}]",
            lambda: f"[{self.inner(item, env, q=I)} for q in range({self.rng.randint(0, 4)})]",
            lambda: f"list(map(lambda q: {self.inner(item, env, q=I)}, {e(('L', I))}))",
            lambda: f"list(filter(lambda q: {self.inner(B, env, q=item)}, {e(ty)}))",
        ]
        if not holds(
            item, "LD"
        ):  # a display and one of another length have no type in common as what is read
            forms.append(
                lambda: (
                    f"[p if {self.inner(B, env, p=item, q=I)} else {self.literal(item)} for q, p in enumerate({e(ty)})]"
                )
            )
        if item[0] != "L" or not holds(item[1], "L"):
            forms.append(lambda: f"[q for r in {e(('L', ty))} for q in r][:{MANY}]")
        if item in (I, S, F) or (item in KEYS and item[0] == "T"):
            forms.append(lambda: f"list(dict.fromkeys({e(ty)}))")
        if is_plain(item) and item != Y:
            forms += [
                lambda: f"sorted(set({e(ty)}))",
                lambda: f"heapq.{self.one('nsmallest', 'nlargest')}(2, {e(ty)})",
            ]
        if item[0] == "T" and len(item) == 3:
            forms += self.pairs(ty, env, e) * 2
        if item[0] == "L":
            row = item[1]
            forms += [
                lambda: f"[p[q:q + 2] for p in [{e(item)}] for q in range(0, len(p), 2)]",
                lambda: (
                    f"[[{self.inner(row, env, p=I, q=I)} for p in range(q)] for q in range({self.rng.randint(1, 3)})]"
                ),
                lambda: f"[r[:] for r in {e(ty)}]",
                lambda: f"[list(r) for r in zip({e(item)}, {e(item)})]",
                lambda: f"[r for r in {e(ty)} if r]",
                lambda: f"sorted({e(ty)}, key=len)",
            ]
            if row == S:
                forms.append(lambda: f"[w.split({self.rng.choice(SEPARATORS)}) for w in {e(item)}]")
        if item == S:
            s = lambda: e(S)  # noqa: E731
            forms += [
                lambda: (
                    f"{s()}.{self.one('split', 'rsplit')}({self.rng.choice(SEPARATORS)}, {self.one(0, 1, -1)})"
                ),
                lambda: f"({s()} + '\\n' + {s()}).splitlines()",
                lambda: f"[{s()}[q:] for q in range(3)]",
                lambda: f"list(map(str, {e(('L', self.one(I, F)))}))",
                lambda: f"sorted({e(ty)}, key=lambda w: (len(w), w){self.one('', ', reverse=True')})",
                lambda: f"[f'{{q}}:{{w}}' for q, w in enumerate({e(ty)})]",
                lambda: f"[w.strip() for w in {s()}.split('a') if w]",
                lambda: f"sorted({s()})",
                lambda: f"[p + q for p, q in zip({s()}, {s()})]",
                lambda: f"[w * n for w, n in {e(('D', S, I))}.items() if n < 4]",
                lambda: f"sorted({e(('D', S, self.one(I, F)))})",
                lambda: (
                    f"[w.{self.one('upper', 'title', 'lower')}() for w in {e(ty)} if '{self.one('a', 'é', '')}' in w]"
                ),
                lambda: f"list({s()}.partition('a'))",
            ]
        if item == I:
            forms += [
                lambda: f"[len(w) for w in {e(('L', S))}]",
                lambda: f"[ord(c) for c in {e(S)}]",
                lambda: f"[int(c) for c in {e(S)} if c.isdigit()]",
                lambda: f"[sum(r) for r in {e(('L', ('L', I)))}]",
                lambda: f"list(map(len, {e(('L', S))}))",
                lambda: f"[i for i, q in enumerate({e(('L', self.one(I, S)))}) if {self.inner(B, env, i=I)}]",
                lambda: "[p * q for p in range(3) for q in range(p)]",
                lambda: f"[q for q in range({self.rng.randint(0, 9)}) if q % 2 if q % 3]",
                lambda: f"[{e(ty)}.count(q) for q in range(3)]",
            ]
        return forms

    def of_dict(self, ty: Ty, env: dict[str, Ty], e: Callable[[Ty], str]) -> Forms:
        _, key, value = ty
        forms: Forms = [
            lambda: f"{{k: v for k, v in {e(ty)}.items() if {self.inner(B, env, k=key, v=value)}}}",
            lambda: f"dict({e(('L', ('T', key, value)))})",
            lambda: f"{{**{e(ty)}, **{e(ty)}}}",
            lambda: f"{{k: {self.inner(value, env, k=key)} for k in {e(('L', key))}}}",
            lambda: f"{{k: v for k, v in zip({e(('L', key))}, {e(('L', value))})}}",
        ]
        if value in (I, F, S, B):
            forms.append(lambda: f"dict.fromkeys({e(('L', key))}, {self.literal(value)})")
        if key in (I, S, F) and value in (I, S, F):
            forms.append(lambda: f"dict(sorted({e(ty)}.items()))")
        if value in KEYS and value != F:
            forms.append(lambda: f"{{v: k for k, v in {e(('D', value, key))}.items()}}")
        if key == S and value == I:
            forms += [
                lambda: f"{{w: len(w) for w in {e(S)}.split()}}",
                lambda: f"{{c: {e(S)}.count(c) for c in {e(S)}}}",
                lambda: f"dict({e(('C', S))})",
            ]
        if key == I:
            forms.append(lambda: f"dict(enumerate({e(('L', value))}))")
        return forms

    def of_set(self, ty: Ty, env: dict[str, Ty], e: Callable[[Ty], str]) -> Forms:
        key = ty[1]
        forms: Forms = [
            lambda: f"{{*{e(('L', key))}, *{e(('L', key))}}}",
            lambda: f"{{q for r in {e(('L', ('L', key)))} for q in r}}",
            lambda: f"set({e(('D', key, I))})",
            lambda: f"({e(('D', key, I))}.keys() {self.one('&', '|', '-', '^')} {e(('D', key, S))}.keys())",
            lambda: (
                f"{e(ty)}.{self.one('union', 'difference', 'intersection', 'symmetric_difference')}({e(('L', key))})"
            ),
            lambda: f"set().union({e(ty)}, {e(('L', key))})",
            lambda: f"{{k for k, n in {e(('D', key, I))}.items() if n > 1}}",
        ]
        if key == S:
            forms += [
                lambda: f"set({e(S)})",
                lambda: f"{{*{e(S)}, *{e(S)}}}",
                lambda: f"{{w[:1] for w in {e(('L', S))}}}",
            ]
        return forms

    def of_counter(self, ty: Ty, env: dict[str, Ty], e: Callable[[Ty], str]) -> Forms:
        if ty[1] == S:
            return [
                lambda: f"Counter({e(S)}.split())",
                lambda: f"Counter(w[:1] for w in {e(('L', S))})",
                lambda: f"Counter([c for c in {e(S)} if c != ' '])",
            ]
        return [
            lambda: f"Counter(q % 3 for q in {e(('L', I))})",
            lambda: f"Counter(map(len, {e(('L', S))}))",
            lambda: f"Counter({e(('D', S, I))}.values())",
        ]

    def of_deque(self, ty: Ty, env: dict[str, Ty], e: Callable[[Ty], str]) -> Forms:
        item = ty[1]
        return [
            lambda: f"deque(({e(item)} for q in range({self.rng.randint(0, 3)})), maxlen=3)",
            lambda: f"deque([*{e(('L', item))}, {e(item)}])",
            lambda: f"deque(reversed({e(('L', item))}))",
        ]

    def of_optional(self, ty: Ty, env: dict[str, Ty], e: Callable[[Ty], str]) -> Forms:
        item = ty[1]
        forms: Forms = [lambda: f"next((q for q in {e(('L', item))} if q != {self.literal(item)}), None)"]
        for v in self.having(env, lambda t: t[0] in "DE" and t[2] == item)[:2]:
            forms += [lambda v=v: f"{v}.get({self.expression(env[v][1], env, 0)})"] * 2
        if item in (I, F, S):
            forms.append(lambda: f"{self.one('max', 'min')}({e(('L', item))}, default=None)")
        return forms

    def of_tuple(self, ty: Ty, env: dict[str, Ty], e: Callable[[Ty], str]) -> Forms:
        if ty[1:] == (S, S, S):
            return [lambda: f"{e(S)}.{self.one('partition', 'rpartition')}({self.rng.choice(SEPARATORS)})"]
        if ty[1:] == (I, I):
            return [lambda: f"divmod({e(I)}, {self.one(2, -3)})", lambda: f"(*{e(ty)},)"]
        if len(ty) == 3:
            return [lambda: f"(*{e(('T', ty[1]))}, {e(ty[2])})"]
        return []
