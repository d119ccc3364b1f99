"""Programs of containers, run again and again with each allocation failing in turn; test_failing_memory.py runs this with the allocator preloaded that fails.

Prints a line for each program: its name, how many allocations failed, and what was wrong.
"""

from __future__ import annotations

import bisect
import ctypes
import heapq
import itertools
import re
import sys
from collections import Counter, OrderedDict, defaultdict, deque

import built
import numpy as np
from treadle import njit

MOST = 400
PROGRAMS = {}


def program(*texts):
    """A function and its arguments, as text: each run has new ones."""

    def add(f):
        PROGRAMS[f.__name__] = (f, texts)
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


def library() -> tuple[int, int]:
    """Where the code of _core lies."""
    lines = [line for line in open("/proc/self/maps") if "_core." in line and " r-xp " in line]
    spans = [tuple(int(x, 16) for x in re.match(r"(\w+)-(\w+)", line).groups()) for line in lines]
    return min(s[0] for s in spans), max(s[1] for s in spans)


def run(memory, f, texts, left):
    """One call: its value or exception, and whether an allocation failed."""
    args = [eval(t) for t in texts]
    memory.fake_memory_arm(left)
    try:
        got = f(*args)
    except Exception as e:
        got = e
    return got, bool(memory.fake_memory_disarm()), args


def check(memory, name) -> str:
    """Run a program with each of its allocations failing; what is wrong."""
    plain, texts = PROGRAMS[name]
    f = njit(plain)
    args = [eval(t) for t in texts]
    try:
        want = repr(plain(*args))
    except Exception as e:
        want = repr(e)
    for _ in range(3):  # compiled, and what is kept from call to call is there
        got, _, _ = run(memory, f, texts, -1)
    if repr(got) != want:
        return f"gives {got!r}, and CPython {want}"
    before, left = memory.fake_memory_live(), 0
    for left in range(MOST):
        got, failed, _ = run(memory, f, texts, left)
        if not failed:
            break
        if not isinstance(got, MemoryError) and repr(got) != want:
            return f"with allocation {left} failing it gives {got!r}"
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
