"""Programs: sorting, dynamic programming, graphs, recursion.

PYTEST_DONT_REWRITE: the programs hold `assert`s of their own.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from programs import bytes_of, same  # noqa: E402

INF = 10**9


# --- sorting ---


def insertion_sort(a):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key


def quick_sort(a, lo, hi):
    if lo < hi:
        pivot = a[(lo + hi) // 2]
        i, j = lo, hi
        while i <= j:
            while a[i] < pivot:
                i += 1
            while a[j] > pivot:
                j -= 1
            if i <= j:
                a[i], a[j] = a[j], a[i]
                i, j = i + 1, j - 1
        quick_sort(a, lo, j)
        quick_sort(a, i, hi)


def quick_sort_all(a):
    quick_sort(a, 0, len(a) - 1)
    return a


def merge(left, right):
    out = np.empty(left.size + right.size, left.dtype)
    i = j = 0
    for k in range(out.size):
        if j == right.size or (i < left.size and left[i] <= right[j]):
            out[k] = left[i]
            i += 1
        else:
            out[k] = right[j]
            j += 1
    return out


def merge_sort(a):
    if a.size <= 1:
        return a.copy()
    mid = a.size // 2
    return merge(merge_sort(a[:mid]), merge_sort(a[mid:]))


def merge_sort_bottom_up(a):
    src, dst = a.copy(), np.empty_like(a)
    n = len(a)
    width = 1
    while width < n:
        for lo in range(0, n, 2 * width):
            mid, hi = min(lo + width, n), min(lo + 2 * width, n)
            i, j = lo, mid
            for k in range(lo, hi):
                if i < mid and (j >= hi or src[i] <= src[j]):
                    dst[k] = src[i]
                    i += 1
                else:
                    dst[k] = src[j]
                    j += 1
        src, dst = dst, src
        width *= 2
    return src


def sift(a, start, end):
    root = start
    while (child := 2 * root + 1) <= end:
        if child + 1 <= end and a[child] < a[child + 1]:
            child += 1
        if a[root] >= a[child]:
            return
        a[root], a[child] = a[child], a[root]
        root = child


def heap_sort(a):
    end = len(a) - 1
    for start in range((end - 1) // 2, -1, -1):
        sift(a, start, end)
    while end > 0:
        a[0], a[end] = a[end], a[0]
        end -= 1
        sift(a, 0, end)


def shell_sort(a):
    gap = a.shape[0] // 2
    while gap:
        for i in range(gap, a.shape[0]):
            x = a[i]
            while i >= gap and a[i - gap] > x:
                a[i] = a[i - gap]
                i -= gap
            a[i] = x
        gap //= 2


def counting_sort(a, lo, hi):
    counts = np.zeros(hi - lo + 1, dtype=np.int64)
    for x in a:
        counts[x - lo] += 1
    k = 0
    for i, c in enumerate(counts):
        for _ in range(c):
            a[k] = i + lo
            k += 1
    return counts


def comb_sort(a):
    gap, swapped = len(a), True
    while gap > 1 or swapped:
        gap = max(1, int(gap / 1.3))
        swapped = False
        for i in range(len(a) - gap):
            if a[i] > a[i + gap]:
                a[i], a[i + gap] = a[i + gap], a[i]
                swapped = True


def radix_sort(a):
    out = a.copy()
    tmp = np.empty_like(out)
    for shift in range(0, 32, 8):
        count = np.zeros(257, np.int64)
        for v in out:
            count[((v >> shift) & 0xFF) + 1] += 1
        for i in range(256):
            count[i + 1] += count[i]
        for v in out:
            d = (v >> shift) & 0xFF
            tmp[count[d]] = v
            count[d] += 1
        out, tmp = tmp, out
    return out


@pytest.mark.parametrize(
    "sort",
    [insertion_sort, quick_sort_all, merge_sort, merge_sort_bottom_up, heap_sort, shell_sort, comb_sort],
)
def test_sorts(sort):
    rng = np.random.default_rng(1)
    for a in (
        rng.permutation(50) * 1.5,
        rng.integers(0, 9, 33),
        rng.random(40).astype("f4"),
        np.empty(0),
        np.ones(1),
        rng.random((30, 3))[:, 1],
    ):
        same(sort, a)


def test_counting_sort():
    same(counting_sort, np.random.default_rng(2).integers(-5, 6, 60), -5, 5)
    same(counting_sort, np.random.default_rng(2).integers(-5, 6, 60).astype("i1"), -5, 5)


@pytest.mark.parametrize("dtype", ["u4", "i8", "u8"])
def test_radix_sort(dtype):
    same(radix_sort, np.random.default_rng(3).integers(0, 2**32, 70).astype(dtype))


def argsort(a):
    order = np.arange(a.size)
    for i in range(a.size):
        best = i
        for j in range(i + 1, a.size):
            if a[order[j]] < a[order[best]]:
                best = j
        order[i], order[best] = order[best], order[i]
    return order


def test_argsort():
    same(argsort, np.random.default_rng(4).random(25))


def quick_select(a, k):
    a = a.copy()
    lo, hi = 0, len(a) - 1
    while True:
        if lo == hi:
            return a[lo]
        pivot = a[hi]
        store = lo
        for i in range(lo, hi):
            if a[i] < pivot:
                a[i], a[store] = a[store], a[i]
                store += 1
        a[store], a[hi] = a[hi], a[store]
        if k == store:
            return a[k]
        if k < store:
            hi = store - 1
        else:
            lo = store + 1


def test_quick_select():
    a = np.random.default_rng(5).random(31)
    for k in (0, 15, 30):
        same(quick_select, a, k)


def binary_search(a, x):
    lo, hi = 0, len(a)
    while lo < hi:
        mid = lo + (hi - lo) // 2
        if a[mid] < x:
            lo = mid + 1
        elif a[mid] > x:
            hi = mid
        else:
            return mid
    return -1


def test_binary_search():
    a = np.arange(0, 100, 3)
    for x in (0, 33, 34, 99, 200, -1):
        same(binary_search, a, x)


# --- dynamic programming ---


def edit_distance(a, b):
    n, m = len(a), len(b)
    d = np.zeros((n + 1, m + 1), dtype=np.int64)
    for i in range(n + 1):
        d[i, 0] = i
    d[0, :] = np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[n, m]


def edit_distance_two_rows(a, b):
    prev = np.arange(len(b) + 1)
    for i, ca in enumerate(a):
        row = np.empty_like(prev)
        row[0] = i + 1
        for j, cb in enumerate(b):
            row[j + 1] = min(prev[j + 1] + 1, row[j] + 1, prev[j] + (ca != cb))
        prev = row
    return prev[-1]


def test_edit_distance_of_bytes():
    for f in (edit_distance, edit_distance_two_rows):
        same(f, bytes_of("kitten"), bytes_of("sitting"))
        same(f, bytes_of("").copy(), bytes_of("abc"))
        same(f, np.array([1, 2, 3]), np.array([2, 3, 4, 5]))


def lcs(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), np.int32)
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
    out = np.empty(table[-1, -1], a.dtype)
    i, j, k = len(a), len(b), out.size - 1
    while k >= 0:
        if a[i - 1] == b[j - 1]:
            out[k] = a[i - 1]
            i, j, k = i - 1, j - 1, k - 1
        elif table[i - 1, j] >= table[i, j - 1]:
            i -= 1
        else:
            j -= 1
    return out


def test_longest_common_subsequence():
    same(lcs, bytes_of("AGGTABXYQ"), bytes_of("GXTXAYBQ"))


def knapsack(values, weights, capacity):
    best = np.zeros(capacity + 1, dtype=np.int64)
    for i in range(len(values)):
        for w in range(capacity, weights[i] - 1, -1):
            best[w] = max(best[w], best[w - weights[i]] + values[i])
    return best[capacity], best


def test_knapsack():
    same(knapsack, np.array([60, 100, 120]), np.array([10, 20, 30]), 50)


def coin_change(coins, amount):
    ways = np.zeros(amount + 1, np.uint64)
    ways[0] = 1
    for c in coins:
        for v in range(c, amount + 1):
            ways[v] += ways[v - c]
    return ways[-1]


def test_coin_change_over_a_tuple():
    same(coin_change, (1, 2, 5, 10, 20, 50, 100, 200), 200)


def matrix_chain(p):
    n = len(p) - 1
    m = np.zeros((n, n))
    split = np.full((n, n), -1)
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            m[i, j] = np.inf
            for k in range(i, j):
                cost = m[i, k] + m[k + 1, j] + p[i] * p[k + 1] * p[j + 1]
                if cost < m[i, j]:
                    m[i, j], split[i, j] = cost, k
    return m, split


def test_matrix_chain():
    same(matrix_chain, np.array([30, 35, 15, 5, 10, 20, 25]))


def smith_waterman(a, b, match=2, mismatch=-1, gap=-1):
    h = np.zeros((a.shape[0] + 1, b.shape[0] + 1), dtype=np.int32)
    best, where = 0, (0, 0)
    for i in range(1, h.shape[0]):
        for j in range(1, h.shape[1]):
            s = match if a[i - 1] == b[j - 1] else mismatch
            h[i, j] = max(0, h[i - 1, j - 1] + s, h[i - 1, j] + gap, h[i, j - 1] + gap)
            if h[i, j] > best:
                best, where = h[i, j], (i, j)
    return best, where, h


def test_smith_waterman():
    same(smith_waterman, bytes_of("TGTTACGG"), bytes_of("GGTTGACTA"))
    same(smith_waterman, bytes_of("TGTTACGG"), bytes_of("GGTTGACTA"), 3, -3, -2)


def viterbi(obs, start, trans, emit):
    n, s = len(obs), len(start)
    score = np.full((n, s), -np.inf)
    back = np.zeros((n, s), dtype=np.int16)
    score[0] = np.log(start) + np.log(emit[:, obs[0]])
    for t in range(1, n):
        for j in range(s):
            for i in range(s):
                v = score[t - 1, i] + math.log(trans[i, j]) + math.log(emit[j, obs[t]])
                if v > score[t, j]:
                    score[t, j] = v
                    back[t, j] = i
    path = np.empty(n, np.int64)
    path[-1] = score[-1].argmax()
    for t in range(n - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path, score.max()


def test_viterbi():
    start = np.array([0.6, 0.4])
    trans = np.array([[0.7, 0.3], [0.4, 0.6]])
    emit = np.array([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
    same(viterbi, np.array([0, 1, 2, 2, 0, 1]), start, trans, emit, rtol=1e-13)


def longest_increasing(a):
    tails = np.empty_like(a)
    size = 0
    for x in a:
        lo, hi = 0, size
        while lo != hi:
            mid = (lo + hi) // 2
            if tails[mid] < x:
                lo = mid + 1
            else:
                hi = mid
        tails[lo] = x
        size = max(lo + 1, size)
    return size


def test_longest_increasing_subsequence():
    same(longest_increasing, np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]))


def max_subarray(a):
    best = current = a[0]
    start = stop = begin = 0
    for i, x in enumerate(a[1:], 1):
        if current < 0:
            current = x
            begin = i
        else:
            current += x
        if current > best:
            best, start, stop = current, begin, i
    return best, start, stop + 1


def test_max_subarray():
    same(max_subarray, np.array([-2, 1, -3, 4, -1, 2, 1, -5, 4]))
    same(max_subarray, np.array([-2.5, -1.0]))


# --- graphs ---


def graph(n=30, seed=1):
    rng = np.random.default_rng(seed)
    rows = [np.unique(rng.integers(0, n, rng.integers(0, 4))) for _ in range(n)]
    indptr = np.cumsum([0] + [len(r) for r in rows])
    return indptr, np.concatenate(rows).astype(np.int64), rng.random(indptr[-1])


def bfs(indptr, indices, source):
    n = indptr.size - 1
    dist = np.full(n, -1)
    queue = np.empty(n, dtype=np.int64)
    head, tail = 0, 1
    queue[0] = source
    dist[source] = 0
    while head < tail:
        u = queue[head]
        head += 1
        for v in indices[indptr[u] : indptr[u + 1]]:
            if dist[v] < 0:
                dist[v] = dist[u] + 1
                queue[tail] = v
                tail += 1
    return dist


def dfs(indptr, indices, u, seen, order, count):
    seen[u] = True
    for k in range(indptr[u], indptr[u + 1]):
        v = indices[k]
        if not seen[v]:
            count = dfs(indptr, indices, v, seen, order, count)
    order[count] = u
    return count + 1


def postorder(indptr, indices):
    n = len(indptr) - 1
    seen = np.zeros(n, dtype=np.bool_)
    order = np.empty(n, np.intp)
    count = 0
    for u in range(n):
        if not seen[u]:
            count = dfs(indptr, indices, u, seen, order, count)
    return order


def dijkstra(indptr, indices, weights, source):
    n = len(indptr) - 1
    dist = np.full(n, np.inf)
    done = np.zeros(n, dtype=bool)
    dist[source] = 0.0
    for _ in range(n):
        u, best = -1, np.inf
        for i in range(n):
            if not done[i] and dist[i] < best:
                u, best = i, dist[i]
        if u < 0:
            break
        done[u] = True
        for e in range(indptr[u], indptr[u + 1]):
            alt = best + weights[e]
            if alt < dist[indices[e]]:
                dist[indices[e]] = alt
    return dist


def heap_push(keys, items, n, key, item):
    i = n
    while i > 0 and keys[(i - 1) // 2] > key:
        keys[i], items[i] = keys[(i - 1) // 2], items[(i - 1) // 2]
        i = (i - 1) // 2
    keys[i], items[i] = key, item
    return n + 1


def heap_pop(keys, items, n):
    key, item = keys[0], items[0]
    n -= 1
    last, value = keys[n], items[n]
    i = 0
    while 2 * i + 1 < n:
        c = 2 * i + 1
        if c + 1 < n and keys[c + 1] < keys[c]:
            c += 1
        if keys[c] >= last:
            break
        keys[i], items[i] = keys[c], items[c]
        i = c
    keys[i], items[i] = last, value
    return n, key, item


def dijkstra_heap(indptr, indices, weights, source):
    n = len(indptr) - 1
    dist = np.full(n, np.inf)
    keys, items = np.empty(len(indices) + 1), np.empty(len(indices) + 1, np.int64)
    size = heap_push(keys, items, 0, 0.0, source)
    dist[source] = 0
    while size:
        size, d, u = heap_pop(keys, items, size)
        if d > dist[u]:
            continue
        for e in range(indptr[u], indptr[u + 1]):
            v = indices[e]
            if d + weights[e] < dist[v]:
                dist[v] = d + weights[e]
                size = heap_push(keys, items, size, dist[v], v)
    return dist


def floyd_warshall(d):
    d = d.copy()
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return d


def find(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


def components(indptr, indices):
    n = len(indptr) - 1
    parent = np.arange(n)
    for u in range(n):
        for v in indices[indptr[u] : indptr[u + 1]]:
            a, b = find(parent, u), find(parent, v)
            if a != b:
                parent[a] = b
    count = 0
    for u in range(n):
        count += parent[u] == u
    return count, parent


def pagerank(indptr, indices, damping=0.85, tol=1e-10, max_iter=100):
    n = len(indptr) - 1
    rank = np.ones(n) / n
    for it in range(max_iter):
        new = np.full(n, (1 - damping) / n)
        for u in range(n):
            degree = indptr[u + 1] - indptr[u]
            if degree == 0:
                new += damping * rank[u] / n
            else:
                share = damping * rank[u] / degree
                for v in indices[indptr[u] : indptr[u + 1]]:
                    new[v] += share
        change = np.abs(new - rank).sum()
        rank = new
        if change < tol:
            break
    return rank, it


def test_graph_walks():
    indptr, indices, weights = graph()
    same(bfs, indptr, indices, 0)
    same(bfs, indptr.astype(np.int32), indices.astype(np.int32), 3)
    same(postorder, indptr, indices)
    same(dijkstra, indptr, indices, weights, 0)
    same(dijkstra_heap, indptr, indices, weights, 0)
    same(components, indptr, indices)
    same(pagerank, indptr, indices, rtol=1e-12)


def test_floyd_warshall():
    d = np.random.default_rng(8).random((9, 9))
    d[d > 0.5] = np.inf
    same(floyd_warshall, d)


def topological(adjacency):
    n = adjacency.shape[0]
    incoming = np.zeros(n, np.int64)
    for i in range(n):
        for j in range(n):
            incoming[j] += adjacency[i, j]
    out = np.empty(n, np.int64)
    k = 0
    while k < n:
        for v in range(n):
            if incoming[v] == 0:
                break
        else:
            raise ValueError("cycle after", k)
        incoming[v] = -1
        out[k] = v
        k += 1
        for w in range(n):
            if adjacency[v, w]:
                incoming[w] -= 1
    return out


def test_topological_order_of_a_bool_matrix():
    same(topological, np.triu(np.random.default_rng(9).random((8, 8)) < 0.4, 1))
    same(topological, np.ones((3, 3), dtype=bool))


# --- recursion ---


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def hanoi(n, src, dst, via, moves, k):
    if n == 0:
        return k
    k = hanoi(n - 1, src, via, dst, moves, k)
    moves[k, 0], moves[k, 1] = src, dst
    return hanoi(n - 1, via, dst, src, moves, k + 1)


def hanoi_moves(n):
    moves = np.zeros((2**n - 1, 2), np.int8)
    hanoi(n, 0, 2, 1, moves, 0)
    return moves


def permute(a, k, out, row):
    if k == len(a):
        out[row] = a
        return row + 1
    for i in range(k, len(a)):
        a[k], a[i] = a[i], a[k]
        row = permute(a, k + 1, out, row)
        a[k], a[i] = a[i], a[k]
    return row


def permutations(n):
    a = np.arange(n)
    total = 1
    for i in range(2, n + 1):
        total *= i
    out = np.empty((total, n), dtype=a.dtype)
    rows = permute(a, 0, out, 0)
    assert rows == total, "miscounted"
    return out


def queens(n, row, columns, left, right):
    if row == n:
        return 1
    count = 0
    for c in range(n):
        bit = 1 << c
        if columns & bit or left & (1 << (row + c)) or right & (1 << (row - c + n)):
            continue
        count += queens(n, row + 1, columns | bit, left | (1 << (row + c)), right | (1 << (row - c + n)))
    return count


def is_even(n):
    return True if n == 0 else is_odd(n - 1)


def is_odd(n):
    return False if n == 0 else is_even(n - 1)


def gcd(a, b):
    return a if b == 0 else gcd(b, a % b)


def power(x, n):
    if n == 0:
        return 1.0
    half = power(x, n // 2)
    return half * half if n % 2 == 0 else half * half * x


def flood(grid, i, j, colour):
    if not (0 <= i < grid.shape[0] and 0 <= j < grid.shape[1]) or grid[i, j]:
        return 0
    grid[i, j] = colour
    return (
        1
        + flood(grid, i + 1, j, colour)
        + flood(grid, i - 1, j, colour)
        + flood(grid, i, j + 1, colour)
        + flood(grid, i, j - 1, colour)
    )


def test_recursions():
    same(ackermann, 2, 3)
    same(fib, 15)
    same(hanoi_moves, 4)
    same(permutations, 4)
    same(queens, 6, 0, 0, 0, 0)
    same(is_even, 10)
    same(gcd, 1071, 462)
    same(power, 1.5, 13)
    same(power, 2.0, 0)
    same(flood, (np.random.default_rng(10).random((7, 9)) < 0.3).astype(np.uint8), 3, 4, 2)


def solve_sudoku(grid):
    for i in range(9):
        for j in range(9):
            if grid[i, j] == 0:
                for v in range(1, 10):
                    ok = True
                    for k in range(9):
                        if (
                            grid[i, k] == v
                            or grid[k, j] == v
                            or grid[i // 3 * 3 + k // 3, j // 3 * 3 + k % 3] == v
                        ):
                            ok = False
                            break
                    if ok:
                        grid[i, j] = v
                        if solve_sudoku(grid):
                            return True
                        grid[i, j] = 0
                return False
    return True


def test_sudoku():
    text = "530070000600195000098000060800060003400803001700020006060000280000419005000080079"
    grid = np.array([int(c) for c in text], dtype=np.int8).reshape(9, 9)
    grid[0] = [5, 3, 4, 6, 7, 8, 9, 1, 2]
    grid[1] = [6, 7, 2, 1, 9, 5, 3, 4, 8]
    grid[2] = [1, 9, 8, 3, 4, 2, 5, 6, 7]
    grid[3] = [8, 5, 9, 7, 6, 1, 4, 2, 3]
    same(solve_sudoku, grid)
