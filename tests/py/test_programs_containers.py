"""Programs of lists, dicts and sets: graphs, counts, numbers.

Each runs compiled and as the Python it is, with data that it was made for, with none, and with data that it has a mistake in.

PYTEST_DONT_REWRITE: the programs hold `assert`s of their own.
"""

from __future__ import annotations

import bisect
import heapq
import itertools
import math
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from pathlib import Path

import numpy as np
import pytest
from treadle import njit

sys.path.insert(0, str(Path(__file__).parent))
from programs import agree, outcome  # noqa: E402

# --- Graphs ---


def dijkstra(edges, src):
    g = defaultdict(list)
    for u, v, w in edges:
        g[u].append((v, w))
        g[v].append((u, w))
    dist = {src: 0.0}
    prev = {}
    pq = [(0.0, src)]
    done = set()
    while pq:
        d, u = heapq.heappop(pq)
        if u in done:
            continue
        done.add(u)
        for v, w in g[u]:
            nd = d + w
            if nd < dist.get(v, math.inf):
                dist[v] = nd
                prev[v] = u
                heapq.heappush(pq, (nd, v))
    path = []
    for t in sorted(dist):
        p = [t]
        while p[-1] in prev:
            p.append(prev[p[-1]])
        path.append(p[::-1])
    return dist, path


def union_find(n, pairs):
    parent = list(range(n))
    size = [1] * n

    def find(x):
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    def union(a, b):
        a, b = find(a), find(b)
        if a == b:
            return False
        if size[a] < size[b]:
            a, b = b, a
        parent[b] = a
        size[a] += size[b]
        return True

    merged = sum(union(a, b) for a, b in pairs)
    groups = {}
    for i in range(n):
        groups.setdefault(find(i), []).append(i)
    return merged, sorted(groups.values())


def astar(grid, start, goal):
    h = len(grid)
    w = len(grid[0])

    def heur(p):
        return abs(p[0] - goal[0]) + abs(p[1] - goal[1])

    openq = [(heur(start), 0, start)]
    came = {start: None}
    cost = {start: 0}
    while openq:
        f, g, cur = heapq.heappop(openq)
        if cur == goal:
            path = []
            while cur is not None:
                path.append(cur)
                cur = came[cur]
            return path[::-1]
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            nx, ny = cur[0] + dx, cur[1] + dy
            if 0 <= nx < h and 0 <= ny < w and grid[nx][ny] != "#":
                nxt = (nx, ny)
                ng = g + 1
                if nxt not in cost or ng < cost[nxt]:
                    cost[nxt] = ng
                    came[nxt] = cur
                    heapq.heappush(openq, (ng + heur(nxt), ng, nxt))
    return None


def topo(deps):
    indeg = {k: 0 for k in deps}
    for k, vs in deps.items():
        for v in vs:
            indeg[v] = indeg.get(v, 0)
            indeg[k] += 1
    rev = defaultdict(set)
    for k, vs in deps.items():
        for v in vs:
            rev[v].add(k)
    ready = sorted(k for k, d in indeg.items() if d == 0)
    out = []
    while ready:
        k = ready.pop(0)
        out.append(k)
        for u in sorted(rev[k]):
            indeg[u] -= 1
            if indeg[u] == 0:
                bisect.insort(ready, u)
    if len(out) != len(indeg):
        raise ValueError(f"cycle among {sorted(set(indeg) - set(out))}")
    return out


def scc(g):
    index = {}
    low = {}
    stack = []
    on = set()
    out = []
    counter = [0]

    def strong(v):
        index[v] = low[v] = counter[0]
        counter[0] += 1
        stack.append(v)
        on.add(v)
        for w in g.get(v, []):
            if w not in index:
                strong(w)
                low[v] = min(low[v], low[w])
            elif w in on:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            comp = []
            while True:
                w = stack.pop()
                on.discard(w)
                comp.append(w)
                if w == v:
                    break
            out.append(sorted(comp))

    for v in sorted(g):
        if v not in index:
            strong(v)
    return out


def prim(n, edges):
    adj = {i: [] for i in range(n)}
    for a, b, w in edges:
        adj[a].append((w, b))
        adj[b].append((w, a))
    seen = {0}
    h = list(adj[0])
    heapq.heapify(h)
    tree = []
    total = 0.0
    while h and len(seen) < n:
        w, b = heapq.heappop(h)
        if b in seen:
            continue
        seen.add(b)
        total += w
        tree.append(b)
        for e in adj[b]:
            if e[1] not in seen:
                heapq.heappush(h, e)
    return total, tree


def colour(adj):
    colours = {}
    for v in sorted(adj, key=lambda v: len(adj[v]), reverse=True):
        used = {colours[u] for u in adj[v] if u in colours}
        c = 0
        while c in used:
            c += 1
        colours[v] = c
    return colours, max(colours.values()) + 1


def bfs_grid(rows):
    start = goal = None
    for y, r in enumerate(rows):
        for x, c in enumerate(r):
            if c == "S":
                start = (y, x)
            elif c == "E":
                goal = (y, x)
    q = deque([(start, 0)])
    seen = {start}
    while q:
        (y, x), d = q.popleft()
        if (y, x) == goal:
            return d
        for p in [(y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)]:
            if (
                0 <= p[0] < len(rows)
                and 0 <= p[1] < len(rows[0])
                and rows[p[0]][p[1]] != "#"
                and p not in seen
            ):
                seen.add(p)
                q.append((p, d + 1))
    return -1


# --- Sets, dicts and counts ---


def life(cells, steps):
    cells = set(cells)
    for _ in range(steps):
        n = Counter((x + dx, y + dy) for x, y in cells for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy)
        cells = {c for c, k in n.items() if k == 3 or (k == 2 and c in cells)}
    return sorted(cells)


def huffman(text):
    freq = Counter(text)
    heap = [(n, i, c) for i, (c, n) in enumerate(sorted(freq.items()))]
    heapq.heapify(heap)
    codes = {c: "" for c in freq}
    groups = {i: [c] for n, i, c in heap}
    nxt = len(heap)
    while len(heap) > 1:
        n1, i1, c1 = heapq.heappop(heap)
        n2, i2, c2 = heapq.heappop(heap)
        for c in groups[i1]:
            codes[c] = "0" + codes[c]
        for c in groups[i2]:
            codes[c] = "1" + codes[c]
        groups[nxt] = groups.pop(i1) + groups.pop(i2)
        heapq.heappush(heap, (n1 + n2, nxt, c1))
        nxt += 1
    return dict(sorted(codes.items())), "".join([codes[c] for c in text])


def lru(capacity, keys):
    cache = OrderedDict()
    hits = 0
    evicted = []
    for k in keys:
        if k in cache:
            hits += 1
            cache.move_to_end(k)
        else:
            cache[k] = len(k)
            if len(cache) > capacity:
                old, _ = cache.popitem(last=False)
                evicted.append(old)
    return hits, evicted, list(cache)


def groupby(names, vals):
    g = defaultdict(list)
    for n, v in zip(names, vals):
        g[n].append(v)
    return {k: (len(v), sum(v) / len(v), min(v), max(v)) for k, v in sorted(g.items())}


def hist(xs, width):
    c = Counter(int(x // width) for x in xs)
    lines = []
    for k in range(min(c), max(c) + 1):
        lines.append(f"{k * width:>6.1f} | {'#' * c[k]} ({c[k]})")
    return lines, c.most_common(2), sum(c.values())


def apriori(baskets, minsup):
    c = Counter()
    for b in baskets:
        for x in set(b):
            c[x] += 1
    freq = {x for x, n in c.items() if n >= minsup}
    pairs = Counter()
    for b in baskets:
        for p in itertools.combinations(sorted(set(b) & freq), 2):
            pairs[p] += 1
    return sorted((p, n) for p, n in pairs.items() if n >= minsup)


def markov(text):
    t = {}
    for a, b in zip(text, text[1:]):
        t.setdefault(a, Counter())[b] += 1
    return {a: max(c, key=c.get) for a, c in t.items()}


def sieve_groups(n):
    primes = [p for p in range(2, n) if all(p % q for q in range(2, int(p**0.5) + 1))]
    by = {}
    for p in primes:
        by.setdefault(p % 10, []).append(p)
    return by, [b - a for a, b in zip(primes, primes[1:])]


def swap_dict(d):
    out = {}
    for k, v in d.items():
        out.setdefault(v, set()).add(k)
    return {k: sorted(v) for k, v in out.items()}, dict(sorted(d.items(), key=lambda kv: (kv[1], kv[0])))


def trie(words, prefix):
    nodes = [{}]
    ends = set()
    for w in words:
        at = 0
        for c in w:
            if c not in nodes[at]:
                nodes.append({})
                nodes[at][c] = len(nodes) - 1
            at = nodes[at][c]
        ends.add(at)
    at = 0
    for c in prefix:
        if c not in nodes[at]:
            return []
        at = nodes[at][c]
    out = []
    stack = [(at, prefix)]
    while stack:
        n, p = stack.pop()
        if n in ends:
            out.append(p)
        for c in sorted(nodes[n], reverse=True):
            stack.append((nodes[n][c], p + c))
    return out


def tfidf(docs):
    toks = [d.lower().split() for d in docs]
    df = Counter(w for t in toks for w in set(t))
    vocab = sorted(df)
    m = np.zeros((len(docs), len(vocab)))
    for i, t in enumerate(toks):
        c = Counter(t)
        for j, w in enumerate(vocab):
            if c[w]:
                m[i, j] = c[w] / len(t) * math.log(len(docs) / df[w])
    return vocab, m


# --- Numbers ---


def coo_csr(rows, cols, vals, n):
    d = {}
    for r, c, v in zip(rows, cols, vals):
        d[r, c] = d.get((r, c), 0.0) + v
    indptr = np.zeros(n + 1, np.int64)
    indices = []
    data = []
    for r, c in sorted(d):
        indptr[r + 1] += 1
        indices.append(c)
        data.append(d[r, c])
    indptr = np.cumsum(indptr)
    return indptr, np.array(indices), np.array(data)


def knapsack(weights, values, cap):
    memo = {}

    def best(i, c):
        if i == len(weights):
            return 0
        if (i, c) in memo:
            return memo[i, c]
        r = best(i + 1, c)
        if weights[i] <= c:
            r = max(r, values[i] + best(i + 1, c - weights[i]))
        memo[i, c] = r
        return r

    return best(0, cap), len(memo)


def merge(iv):
    iv = sorted(iv, key=lambda t: t[0])
    out = []
    for lo, hi in iv:
        if out and lo <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], hi))
        else:
            out.append((lo, hi))
    return out


def intervals_overlap(a, b):
    i = j = 0
    out = []
    while i < len(a) and j < len(b):
        lo = max(a[i][0], b[j][0])
        hi = min(a[i][1], b[j][1])
        if lo < hi:
            out.append((lo, hi))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return out


def kdtree(points, q):
    nodes = []

    def build(pts, depth):
        if not pts:
            return -1
        ax = depth % 2
        pts = sorted(pts, key=lambda p: p[ax])
        m = len(pts) // 2
        l = build(pts[:m], depth + 1)
        r = build(pts[m + 1 :], depth + 1)
        nodes.append((pts[m], l, r, ax))
        return len(nodes) - 1

    root = build(points, 0)
    best = [math.inf, -1.0, -1.0]

    def search(i):
        if i < 0:
            return
        p, l, r, ax = nodes[i]
        d = math.hypot(p[0] - q[0], p[1] - q[1])
        if d < best[0]:
            best[0], best[1], best[2] = d, p[0], p[1]
        diff = q[ax] - p[ax]
        near, far = (l, r) if diff < 0 else (r, l)
        search(near)
        if abs(diff) < best[0]:
            search(far)

    search(root)
    return best


def polymul(p, q):
    r = {}
    for i, a in p.items():
        for j, b in q.items():
            r[i + j] = r.get(i + j, 0) + a * b
    r = {k: v for k, v in r.items() if v != 0}
    terms = []
    for k in sorted(r, reverse=True):
        v = r[k]
        t = f"{v:+d}" if k == 0 else f"{v:+d}x" if k == 1 else f"{v:+d}x^{k}"
        terms.append(t)
    return r, " ".join(terms) or "0"


def components(img):
    h, w = img.shape
    lab = np.zeros((h, w), np.int32)
    n = 0
    sizes = {}
    for i in range(h):
        for j in range(w):
            if img[i, j] and lab[i, j] == 0:
                n += 1
                st = [(i, j)]
                lab[i, j] = n
                sizes[n] = 0
                while st:
                    y, x = st.pop()
                    sizes[n] += 1
                    for dy, dx in [(0, 1), (1, 0), (0, -1), (-1, 0)]:
                        yy, xx = y + dy, x + dx
                        if 0 <= yy < h and 0 <= xx < w and img[yy, xx] and not lab[yy, xx]:
                            lab[yy, xx] = n
                            st.append((yy, xx))
    return lab, sizes


def queens(n):
    sols = []

    def place(row, cols, d1, d2, acc):
        if row == n:
            sols.append(acc[:])
            return
        for c in range(n):
            if c in cols or row + c in d1 or row - c in d2:
                continue
            acc.append(c)
            place(row + 1, cols | {c}, d1 | {row + c}, d2 | {row - c}, acc)
            acc.pop()

    place(0, set(), set(), set(), [])
    return len(sols), sols[:2]


def spiral(n):
    m = [[0] * n for _ in range(n)]
    x = y = 0
    dx, dy = 1, 0
    for k in range(n * n):
        m[y][x] = k
        if not (0 <= x + dx < n and 0 <= y + dy < n and m[y + dy][x + dx] == 0):
            dx, dy = -dy, dx
        x += dx
        y += dy
    return m, [list(r) for r in zip(m[0], m[1])] if n > 1 else [], max(map(max, m))


# --- both ways ---


EDGES = [(0, 1, 2.0), (1, 2, 3.0), (0, 2, 10.0), (3, 2, 1.0)]
POINTS = [(2.0, 3.0), (5.0, 4.0), (9.0, 6.0), (4.0, 7.0), (8.0, 1.0), (7.0, 2.0)]


CASES = {
    dijkstra: [(EDGES, 0), ([], 5)],
    union_find: [(6, [(0, 1), (2, 3), (1, 0), (3, 4)]), (1, [(0, 1)])],
    astar: [(["..#.", ".##.", "...."], (0, 0), (0, 3)), ([".#.", "##."], (0, 0), (0, 2))],
    topo: [({"a": ["b", "c"], "b": ["c"], "c": []},), ({"a": ["b"], "b": ["a"]},)],
    scc: [({0: [1], 1: [2], 2: [0, 3], 3: [4], 4: []},)],
    prim: [(4, EDGES), (2, EDGES)],
    colour: [({0: [1, 2], 1: [0, 2], 2: [0, 1, 3], 3: [2]},), ({},)],
    bfs_grid: [(["S.#", "..E"],), (["S#E"],), (["#.E"],)],
    life: [([(0, 1), (1, 2), (2, 0), (2, 1), (2, 2)], 4), ([], 2)],
    huffman: [("abracadabra",), ("aa",), ("",)],
    lru: [(2, ["a", "bb", "a", "c", "bb"]), (0, ["a"])],
    groupby: [(["a", "b", "a"], [1.0, 2.0, 4.0]), ([], [])],
    hist: [([1.0, 2.0, 2.5, 7.0, 3.0], 2.0), ([], 1.0), ([1.0], 0.0)],
    apriori: [([["a", "b", "c"], ["a", "b"], ["a", "c"], ["b"]], 2)],
    markov: [("abracadabra",), ("a",)],
    sieve_groups: [(60,), (0,)],
    swap_dict: [({"a": 1, "b": 2, "c": 1},), ({},)],
    trie: [(["car", "cat", "dog", "cart"], "ca"), (["a"], "x")],
    tfidf: [(["the cat sat", "the dog"],), ([],)],
    coo_csr: [([0, 2, 0, 0], [1, 1, 0, 1], [1.0, 2.0, 3.0, 4.0], 3), ([5], [0], [1.0], 3)],
    knapsack: [([3, 4, 5, 9, 4], [3, 4, 4, 10, 4], 11), ([3], [], 5)],
    merge: [([(5, 8), (1, 3), (2, 4)],), ([],)],
    intervals_overlap: [([(0, 5), (6, 10)], [(3, 7), (8, 9)])],
    kdtree: [(POINTS, (9.0, 2.0)), ([], (1.0, 1.0))],
    polymul: [({0: 1, 1: 1}, {0: -1, 1: 1}), ({}, {0: 1})],
    components: [(np.array([[1, 1, 0], [0, 0, 1], [1, 0, 1]]),)],
    queens: [(6,), (3,)],
    spiral: [(4,), (1,), (0,)],
}


@pytest.mark.parametrize("program", CASES, ids=lambda f: f.__name__)
def test_program(program):
    compiled = njit(program)
    for args in CASES[program]:
        agree(outcome(compiled, args), outcome(program, args))
