"""Programs of containers, run again and again with each allocation failing in turn; test_failing_memory.py runs this with the allocator preloaded that fails.

Prints a line for each program: its name, how many allocations failed, and what was wrong.
"""

from __future__ import annotations

import bisect
import ctypes
import functools
import heapq
import itertools
import re
import sys
from collections import Counter, OrderedDict, defaultdict, deque

import built
import numpy as np
import treadle
from treadle import njit, prange
from treadle.typed import Dict, List, Set  # noqa: F401  # which the arguments are made of

MOST = 400
PROGRAMS = {}


def program(*texts, **options):
    """A function and its arguments, as text: each run has new ones. Options are njit's."""

    def add(f):
        PROGRAMS[f.__name__] = (f, texts, options)
        return f

    return add


@program("[1.5, 2.5]", "3")
def lists_of_numbers(l, n):
    for k in range(n):
        l.append(k * 0.5)
    m = l + l * 2
    m[1:3] = l
    m.insert(0, 4.0)
    return sorted(m), [x for x in m if x > 1], l[::-1]


@program("['a', 'é']", "[[1, 2], [3]]")
def lists_of_others(words, rows):
    rows.append([len(w) for w in words])
    rows[0].append(7)
    pairs = [(w + "x", row) for w, row in zip(words, rows)]
    pairs.sort(key=lambda p: -len(p[1]))
    words.extend([w.upper() for w in words])
    return pairs, rows[1:], words * 2


@program("'a bb a ccc bb a'", "{'bb': 1}")
def counted(text, d):
    for w in text.split():
        d[w] = d.get(w, 0) + 1
    by = {}
    for w, n in d.items():
        by.setdefault(n, []).append(w)
    return by, {w[0] for w in d}, ",".join(sorted(d))


@program("[3, 1, 2]")
def of_collections(l):
    c = Counter(l)
    g = defaultdict(list)
    o = OrderedDict()
    q = deque(l)
    for x in l:
        g[x % 2].append(x)
        o[x] = str(x)
        q.appendleft(x)
    return c.most_common(2), g, o, list(q), c + c


@program("['x', 'yy']", "3")
def texts(words, n):
    s = ""
    for w in words:
        s += f"{w!r:>5}|{n:03d}|{n / 7:.3f};"
    return s, s.split("|"), s.replace("x", "zz"), str(words), "{} {a}".format(n, a=s), s.encode().hex()


@program("[[3], [1, 2]]", "{1: {'a': [1]}}")
def nested(rows, d):
    d[2] = {"b": [len(rows)]}
    d[1]["a"].append(5)
    rows[0] = rows[1] + rows[0]
    copy = {k: {w: l[:] for w, l in v.items()} for k, v in d.items()}
    return copy, rows, {"rows": rows, "n": len(d)}


@program("[2, 0, 1]")
def raising(l):
    found = []
    for x in l:
        try:
            found.append((str(x), [10 // x]))
        except ZeroDivisionError:
            found.append(("none", [x]))
    d = {w: r for w, r in found}
    return d["1"], d["no"]


@program("{1, 2}", "{'a', 'b'}")
def sets(x, y):
    x.add(5)
    y |= {"c"}
    return x | {9}, y & {"a", "c"}, x ^ {1, 7}, sorted(y), frozenset(x)


@program("[(1, 'a'), (2, 'b')]", "{(1, 'a'): [1.5]}")
def keys_of_tuples(pairs, d):
    for p in pairs:
        d.setdefault(p, []).append(2.5)
    found = {(w, (n, None)): n for n, w in pairs}
    return d, found, sorted(d), {p for p in pairs}


@program("[3, 1, 2, 5]")
def heaps(l):
    h = []
    for x in l:
        heapq.heappush(h, (x, str(x)))
    some = [heapq.heappop(h) for _ in range(2)]
    return some, h, heapq.nlargest(2, l), bisect.bisect(l, 2)


@program("['b', 'a']", "[1, 2, 3]")
def iterators(words, l):
    a = [(w, x) for w, x in itertools.product(words, l)]
    b = list(itertools.chain(words, [w * 2 for w in words]))
    c = [list(g) for _, g in itertools.groupby(sorted(b), key=len)]
    return a, b, c, list(itertools.accumulate(l)), list(zip(words, itertools.islice(l, 2)))


@program("'ab'")
def functions(s):
    held = []

    def add(x):
        nonlocal s
        s = s + x
        held.append(s)

    for w in ("c", "d"):
        add(w)
    fs = [lambda x: x + s, lambda x: s + x]
    return held, s, [f("<") for f in fs]


@program("b'ab'", "['x', '']")
def bytes_and_lines(b, l):
    text = "\n".join(l + [b.decode(), "é"])
    return b + b"c", text.splitlines(), b.upper().hex(), text.encode("utf-8"), l[0].center(9) + text[::-1]


@program("[1.0, 2.0]", "[[1, 2], [3, 4]]")
def arrays(l, rows):
    held = [np.zeros(2) + x for x in l]
    m = np.array(rows)
    held.append(np.array(l))
    return [float(a.sum()) for a in held], int(m.sum()), [int(x) for row in m for x in row]


@program("'a-b-é'", "['x', 'yy']")
def texts_made_of_texts(s, words):
    table = str.maketrans("ab", "xé")
    parts = s.partition("-")
    lines = "{0}|{1:>4}".format(s, len(words)) + "%s;%d" % (s, len(words))
    return s.translate(table), s.replace("-", "--", 1), parts, lines, s.title().center(9, "*"), s.expandtabs()


@program("['bb', 'a', 'ccc']", "[3, 1, 2]")
def sorted_by_compare(words, l):
    l.sort(key=functools.cmp_to_key(lambda p, q: q - p))
    by = sorted(words, key=functools.cmp_to_key(lambda p, q: (len(p) > len(q)) - (len(p) < len(q))))
    return by, l, sorted(words, key=lambda w: (len(w), w), reverse=True), min(words, key=len)


@program("'abca'", "[1, 2, 1]")
def counters(s, l):
    c = Counter(s)
    c.update(s[:2])
    c.subtract(["a"])
    d = defaultdict(set)
    for x in l:
        d[x].add(str(x))
    m = Counter(l) | Counter([7])
    return c, m, c.most_common(1), list(m.elements()), dict(d)


@program("[1, 2, 3]", "deque([5, 6], 3)")
def deques(l, q):
    r = deque(l, maxlen=3)
    r.extendleft([7, 8])
    r.rotate(1)
    r.insert(0, 4) if len(r) < 3 else r.reverse()
    q.append(9)
    q.extend(l)
    return r, q, q + r, r.copy(), deque([str(x) for x in l]), list(q)


@program("['1', 'x', '']")
def texts_of_exceptions(words):
    found = []
    for w in words:
        try:
            found.append((str(int(w)), {w: [1][int(w)]}))
        except ValueError as e:
            found.append((str(e), {w: 0}))
        except IndexError as e:
            found.append((repr(e) + w, {}))
    d = {"a": [1]}
    try:
        raise KeyError(words[1] + "!")
    except KeyError as e:
        d[str(e)] = [2]
    return found, d


@program("[1, 2]", "['a', 'b']")
def star_calls(l, words):
    def f(*args):
        return [*args, *args]

    first, *rest = words
    return f(*l), f(first, *rest), [*l, *[3]], {*words, "c"}, {**{"k": l}, "m": l}, max(*words, "")


@program("{1, 2}", "frozenset({2, 3})")
def operators_of_sets(x, y):
    x |= {7}
    x.symmetric_difference_update([1, 9])
    z = x - {7}
    z.update([4, 5], {6})
    return x, z & y, y | {5}, y ^ frozenset([2]), x.union([8], y), sorted({str(k) for k in x})


@program("b'a,b'", "bytearray(b'xy')")
def bytes_made(b, given):
    c = bytearray(b)
    c.append(7)
    c.extend(b"zz")
    c += bytes([1, 2])
    c[0:1] = b"long"
    return bytes(c), b.split(b","), b.replace(b",", b"--"), c, b.decode().encode("utf-8"), len(given)


@program("np.array(['ab', 'c'])", "np.array([b'x', b'yz'])")
def arrays_of_texts(a, b):
    names = {s + "": i for i, s in enumerate(a)}
    u = np.array([s + "!" for s in a])
    return names, [s * 2 for s in sorted(a)], [x + b"-" for x in b], len(u), np.unique(a).size, "".join(a)


@program("5", parallel=True)
def appended_in_order(n):
    out = [0]
    texts = []
    for i in prange(n):
        out.append(i * i)
        texts.append(str(i) + "x")
    return out, texts


@program("6", parallel=True)
def containers_of_rounds(n):
    out = [0] * n
    for i in prange(n):
        d = {k: [k] * i for k in range(i)}
        out[i] = sum([len(v) for v in d.values()])
    return out


@program("List([1, 2])", "Dict({'a': [1.5]})", "Set({'x'})")
def typed_ones(l, d, s):
    l.append(len(d))
    l.extend([5, 6])
    d["b"] = [2.5, 3.5]
    d["a"].append(7.0)
    s.add("y")
    return len(l), d["a"][-1], sorted(s)


@program("[None, 'a']", "{'k': None}")
def what_may_be_none(l, d):
    l.append(None)
    d["m"] = [str(x) for x in l]
    best = d.get("q")
    return l, d, best, [x or "-" for x in l], next((x for x in l if x is not None), None)


@program("[(1, 'a'), (2, 'b')]")
def matched(pairs):
    found = []
    for p in pairs:
        match p:
            case (1, w):
                found.append([w + "!"])
            case (n, w):
                found.append([w, str(n)])
    match found:
        case [first, *rest]:
            return first, rest, len(found)
    return found[0], found, 0


@program("[4, 3]", "{'a': [1]}")
def what_was_given_stays_whole(l, d):
    l.insert(0, len(l))
    d["n"] = l + [9]
    l[1:2] = [7, 8, 9]
    d["a"] *= 2
    raise ValueError(f"{l} {len(d)}")


def library() -> tuple[int, int]:
    """Where the code of _core lies."""
    lines = [line for line in open("/proc/self/maps") if "_core." in line and " r-xp " in line]
    spans = [tuple(int(x, 16) for x in re.match(r"(\w+)-(\w+)", line).groups()) for line in lines]
    return min(s[0] for s in spans), max(s[1] for s in spans)


def shown(x):
    """The text of a value; of sets, whose order is that of hashes and of how they were made, in the order of the items' texts."""
    if isinstance(x, (set, frozenset)):
        return f"{type(x).__name__}({sorted(map(shown, x))})"
    if type(x) in (list, tuple):
        return f"{type(x).__name__}({', '.join(map(shown, x))})"
    if type(x) is dict:
        return f"dict({', '.join(f'{shown(k)}: {shown(v)}' for k, v in x.items())})"
    return repr(x)


def run(memory, f, texts, left):
    """One call: the text of its value or exception, whether that is a MemoryError, and whether an allocation failed.

    What the arguments have is counted from where they are made to where they go: typed containers keep what is put into them.
    """
    memory.fake_memory_arm(-1)
    args = [eval(t) for t in texts]
    memory.fake_memory_arm(left)
    try:
        got = f(*args)
    except Exception as e:
        got = e.with_traceback(None)
    failed = bool(memory.fake_memory_disarm())
    text, refused = shown(got), isinstance(got, MemoryError)
    memory.fake_memory_arm(-1)
    del args, got
    memory.fake_memory_disarm()
    return text, refused, failed


def check(memory, name) -> str:
    """Run a program with each of its allocations failing; what is wrong."""
    plain, texts, options = PROGRAMS[name]
    f = njit(**options)(plain)
    args = [eval(t) for t in texts]
    try:
        want = shown(plain(*args))
    except Exception as e:
        want = repr(e)
    for _ in range(3):  # compiled, and what is kept from call to call is there
        got, _, _ = run(memory, f, texts, -1)
    if got != want:
        return f"gives {got}, and CPython {want}"
    before, left = memory.fake_memory_live(), 0
    for left in range(MOST):
        got, refused, failed = run(memory, f, texts, left)
        if not failed:
            break
        if not refused and got != want:
            return f"with allocation {left} failing it gives {got}"
    else:
        return f"has more than {MOST} allocations"
    run(memory, f, texts, -1)
    grown = memory.fake_memory_live() - before
    print(f"{name}: {left} failed, {grown} blocks more")
    if left < 4:
        return "allocates too little to say anything"
    return f"keeps {grown} blocks of {left} calls" if grown > 4 else ""


def main() -> int:
    """All programs, or those that are named."""
    treadle.set_num_threads(1)  # what counts is for one
    memory = ctypes.CDLL(built.made("libfake_memory.so"))
    memory.fake_memory_live.restype = ctypes.c_long
    memory.fake_memory_of.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
    memory.fake_memory_arm.argtypes = [ctypes.c_long]
    memory.fake_memory_of(*library())
    bad = 0
    for name in sys.argv[1:] or PROGRAMS:
        if why := check(memory, name):
            bad += 1
            print(f"{name} {why}", flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(main())
