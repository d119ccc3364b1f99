"""Traces of operations on lists, dicts and sets: step by step and as one function, as CPython does them, aliases too."""

from __future__ import annotations

from hypothesis import strategies as st
from traces import traces

SEQUENCES = (
    "a.append({x})",
    "b.append(c[i])",
    "a.extend(b)",
    "b += c",
    "c += c",
    "a = a + b",
    "a = b * 2",
    "b *= j",
    "b = a",
    "c = a",
    "a, c = c, a",
    "c = b[:]",
    "b = a.copy()",
    "c = list(a)",
    "a.insert(i, {x})",
    "b.pop()",
    "a.pop(i)",
    "c.append(a.pop(0))",
    "a.remove({x})",
    "del b[i]",
    "del a[i:j]",
    "del c[::2]",
    "a[i] = {x}",
    "b[i], b[j] = b[j], b[i]",
    "a[i:j] = b",
    "c[i:i] = c",
    "a[::2] = b[::2]",
    "b = a[i:j]",
    "c = a[j:i:-1]",
    "a.sort()",
    "b.sort(reverse=True)",
    "c = sorted(b)",
    "a.reverse()",
    "b = list(reversed(a))",
    "c.clear()",
    "a = [x for x in b if x not in c]",
    "for x in a[:]: b.insert(0, x)",
    "c = [max(x, y) for x, y in zip(a, b)]",
    "while len(a) > 2: c = [a.pop()]",
    "log.append(repr(a) + str(b))",
    "log.append(str(a == b) + str(a < c) + str(a is b) + str(b is c))",
    "log.append(str({x} in a) + str(b.count({x})) + str(len(c)) + str(not a))",
    "log.append(str(a.index({x})))",
    "log.append(str(max(a)) + str(min(b)))",
    "log.append(str(a[i]))",
)
NUMBERS = (
    "a.append(i)",
    "log.append(str(sum(a) + sum(b)))",
    "c = [x + i for x in a]",
    "a[i] += a[j]",
    "c = list(range(i, j))",
)
WORDS = (
    "a.append(str(i))",
    "log.append('-'.join(a))",
    "c = ''.join(b).split('b')",
    "a[i] += a[j]",
    "b = list('cab')",
)
ROWS = (
    "a.append(a[i])",
    "a[i].append(j)",
    "a[i] += b[j]",
    "b[i] = a[j]",
    "for x in a: x.append(j)",
    "for x in b: x.clear()",
    "log.append(str(a[i] is b[j]))",
    "c = [[*x, i] for x in a]",
)
CUT = ("del a[8:]", "del b[8:]", "del c[8:]")

DICTS = (
    "a['a'] = i",
    "b[str(j)] = i",
    "c.pop('b')",
    "a.pop('c', i)",
    "b.popitem()",
    "del c['a']",
    "a.update(b)",
    "b |= c",
    "c = a | b",
    "a = b",
    "c = a",
    "b, c = c, b",
    "a = b.copy()",
    "c = dict(a)",
    "b.clear()",
    "a.setdefault('d', j)",
    "b['a'] = b.get('a', 0) + 1",
    "c['b'] += j",
    "for k in list(a): a[k + k[:1]] = i",
    "for k, v in b.items(): a[k] = v",
    "c = {k: v + 1 for k, v in a.items() if k not in b}",
    "a = {k: i for k in 'cabba'}",
    "a = dict(zip(b, c.values()))",
    "a = {k: b[k] for k in reversed(b)}",
    "for k in a: a['new' + k] = i",
    "log.append(repr(a))",
    "log.append(str(sorted(a)) + str(list(b.values())))",
    "log.append(str(a == b) + str(b is c) + str('a' in c) + str(len(a)))",
    "log.append(str(a['b']))",
    "log.append(str(a.keys() == b.keys()) + str(max(c)))",
)
SETS = (
    "a.add(i)",
    "b.add(i * j)",
    "a.discard(i)",
    "b.remove(j)",
    "a |= b",
    "b &= c",
    "c -= a",
    "a ^= c",
    "a = b | c",
    "b = a & c",
    "c = a - b",
    "a = b ^ c",
    "a.update(b, c)",
    "b = a",
    "c = a",
    "b, c = c, b",
    "c = b.copy()",
    "a.clear()",
    "a = {x // 2 for x in b}",
    "b = set(range(i, j))",
    "for x in sorted(a): b.add(x + 1)",
    "for x in list(a): a.discard(-x)",
    "log.append(str(sorted(a)) + str(len(b)))",
    "log.append(str(a == b) + str(a is b) + str(a <= c) + str(a < b) + str(i in a))",
    "log.append(str(a.isdisjoint(b)) + str(a.issubset(c)) + str(a.issuperset(b)))",
    "log.append(str(sum(a)) + str(max(b)))",
)


def of(statements, item):
    """The statements about a list of such items."""
    return tuple(s.replace("{x}", item) for s in statements)


KEYS = st.sampled_from(["a", "b", "c", "é"])
TestLists = traces(st.lists(st.integers(-3, 3), max_size=4), of(SEQUENCES, "2") + NUMBERS, CUT, examples=10)
TestListsOfStrings = traces(st.lists(KEYS, max_size=4), of(SEQUENCES, "'b'") + WORDS, CUT, examples=6)
TestListsOfLists = traces(
    st.lists(st.lists(st.integers(0, 2), max_size=2), max_size=3),
    tuple(s for s in of(SEQUENCES, "[i, j]") if "max(" not in s) + ROWS,
    (*CUT, "for x in a: del x[4:]"),
    examples=6,
)
TestDicts = traces(st.dictionaries(KEYS, st.integers(0, 3), max_size=3), DICTS, (), examples=12)
TestSets = traces(st.sets(st.integers(-3, 3), max_size=4), SETS, (), examples=12)
