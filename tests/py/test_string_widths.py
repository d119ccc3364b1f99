"""Every method and operator of strings, of every width of characters mixed with every other, as CPython does them."""

from __future__ import annotations

import ast
import itertools

import pytest
from methods import agree, method

# ASCII; one byte a character; two; four; one as long as a machine's words are; a lone surrogate.
WIDTHS = {
    "empty": "",
    "ascii": "ab a\n",
    "one": "é\xa0aßb\xe9\xb5",
    "two": "a漢 bΣβ\u2028\u0130",
    "four": "😀b\t𝔸 a\U00010428",
    "long": "ab é" * 9,
    "surrogate": "\ud800ab",
}
SOUGHT = "s.{name}(x), s.{name}(x[:1]), s.{name}(x, 1), s.{name}(x[-1:], 1, -1), (s + x).{name}(x)"
PLAIN = "s.{name}(), (s + x).{name}(), s[1:].{name}(), x[-2:].{name}()"
SHORN = "s.{name}(), s.{name}(x), (x + s + x).{name}(x), s.{name}(x[:1] + x[-1:])"
PADDED = "s.{name}(9), s.{name}(9, x[0]), x.{name}(2, s[0]), s.{name}(-1), s.{name}(len(x))"
CUT = "s.{name}(x), (s + x + s).{name}(x), s.{name}(x[0])"
WORDS = "s.{name}(), (s + ' ' + x).{name}(), s.{name}(x), (s + x + s).{name}(x, 1), s.{name}(None, 1)"
ENDS = "s.{name}(x), (s + x + s).{name}(s), s.{name}(x[:1]), s.{name}((x, s)), s.{name}(x, 1), s.{name}('')"
CALLS = {
    **dict.fromkeys("upper lower casefold capitalize title swapcase".split(), PLAIN),
    **dict.fromkeys("isalpha isdecimal isdigit isnumeric isalnum islower isupper istitle".split(), PLAIN),
    **dict.fromkeys("isspace isprintable isascii isidentifier".split(), PLAIN),
    **dict.fromkeys("find rfind count".split(), SOUGHT),
    **dict.fromkeys("index rindex".split(), "(s + x).{name}(x), (x + s).{name}(x[:1]), s.{name}(x)"),
    **dict.fromkeys("startswith endswith".split(), ENDS),
    **dict.fromkeys("strip lstrip rstrip".split(), SHORN),
    **dict.fromkeys("removeprefix removesuffix".split(), "s.{name}(x), (s + x).{name}(x), (x + s).{name}(x)"),
    **dict.fromkeys("partition rpartition".split(), CUT),
    **dict.fromkeys("ljust rjust center".split(), PADDED),
    **dict.fromkeys("split rsplit".split(), WORDS),
    "replace": "s.replace(x, '-'), (s + x).replace(x, s), s.replace('a', x), s.replace('', x), s.replace('b', x, 1)",
    "zfill": "s.zfill(8), ('-' + s).zfill(9), x.zfill(0)",
    "expandtabs": "s.expandtabs(), ('a\t' + s + '\t' + x).expandtabs(3)",
    "splitlines": "s.splitlines(), (s + '\\r\\n' + x + '\\n').splitlines(True)",
    "join": "s.join([x, s, x]), s.join(x), x.join((s, '-', s)), s.join([]), s.join([x])",
    "format": "'{}{:>5}{!r}'.format(s, x, s + x), '{0}{0:*^7}'.format(x), '{1:.2}|{0}'.format(x, s)",
    "encode": "s.encode('utf-8', 'replace'), x.encode('latin-1', 'ignore'), (s + x).encode('ascii', 'replace')",
    "translate": "s.translate({97: x, 233: 'a', 0x1f600: None}), s.translate({ord(x[0]): s}), s.translate({0x6f22: 98})",
    "maketrans": "str.maketrans(s[:1], x[:1]), str.maketrans(s[:2], x[:2], 'a'), x.translate(str.maketrans(x, x[::-1]))",
}
NOT_THERE = {"format_map"}
OPERATORS = (
    "s + x, x + s, s * 2, 2 * x",
    "s == x, s != x, s < x, s <= x, s > x, s >= x, s == s + '', s[1:] == s",
    "x in s, s in s + x, x[:1] in s, '' in x",
    "len(s), len(s + x), bool(s), s or x",
    "s[0], s[-1], s[1:], s[:-1], s[::2], s[::-1], x[2:1]",
    "[c for c in s + x], [ord(c) for c in s], list(reversed(x)), sorted(s + x)",
    "max(s, x), min(s + x, x), max(s + x)",
    "repr(s), ascii(s + x), str(x)",
    "f'{s}{x!r}', f'{s:>9}|{x:*<7}|{s:^8.2}|{x:.1}'",
    "'%s %5s %r' % (s, x, s), '%-6s|%.2s' % (x, s)",
    "{s: 1, x: 2, s + x: 3}, len({s, x, s + ''})",
    "chr(ord(s[0])), int(s), float(x)",
)


def test_every_method_has_a_row():
    ours = {name for name in dir(str) if not name.startswith("_")}
    assert ours == set(CALLS) | NOT_THERE, "a method of strings has no row of CALLS"
    assert len(set(CALLS)) + len(NOT_THERE) == len(ours)


@pytest.mark.parametrize("name", [*CALLS, *OPERATORS])
def test_all_widths(name):
    row = CALLS[name].replace("{name}", name) if name in CALLS else name
    for call in ast.parse(f"({row},)", mode="eval").body.elts:
        f = method(ast.unparse(call))
        for s, x in itertools.product(WIDTHS.values(), repeat=2):
            agree(f, s, x)
