"""Loops of few rounds in loops: written out (lower/few.c), and what their sums are; rows of few items."""

from __future__ import annotations

import re

import numpy as np
import pytest
from treadle import njit


def taps(rows, columns, start="0", index="a[i + p, j + q]"):
    """A filter of rows x columns taps, whose loops begin at `start`."""
    text = f"""
def f(a, k, out):
    n, m = out.shape
    for i in range(n):
        for j in range(m):
            s = out[i, j] * 0
            for p in range({start}, {start} + {rows}):
                for q in range({start}, {start} + {columns}):
                    s += {index} * k[p - ({start}), q - ({start})]
            out[i, j] = s
"""
    scope = {}
    exec(text, scope)
    return scope["f"]


def in_vectors(function):
    """Does it multiply whole vectors?"""
    (text,) = function.inspect_asm().values()
    return bool(re.search(r"vmulp[sd].*[yz]mm", text))


SHAPES = [(1, 1), (2, 2), (3, 3), (5, 5), (7, 1), (1, 7), (4, 6), (7, 7), (2, 33)]


@pytest.mark.parametrize("rows, columns", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_sums_are_in_order(rows, columns, dtype):
    rng = np.random.default_rng(rows * 40 + columns)
    k = (rng.normal(size=(rows, columns)) * 100).astype(dtype)
    f = taps(rows, columns)
    g = njit(f)
    for height, width in ((1, 1), (2, 9), (3, 40), (2, 0)):
        a = (rng.normal(size=(height + rows - 1, width + columns - 1)) * 100).astype(dtype)
        want, got = np.zeros((height, width), dtype), np.zeros((height, width), dtype)
        f(a, k, want)
        g(a, k, got)
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    "start, index",
    [("-2", "a[i + p + 2, j + q + 2]"), ("i - 2", "a[p + 2, j + q - i + 2]")],
)
def test_where_they_begin(start, index):
    f = taps(5, 5, start, index)
    g = njit(f)
    rng = np.random.default_rng(5)
    a, k = rng.normal(size=(10, 40)), rng.normal(size=(5, 5))
    want, got = np.zeros((6, 36)), np.zeros((6, 36))
    f(a, k, want)
    g(a, k, got)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("cpu", ["x86-64-v3", "znver4"])
@pytest.mark.parametrize("rows, columns", [(3, 3), (5, 5), (7, 7), (7, 1), (1, 7)])
def test_the_loop_around_gets_vectors(rows, columns, cpu, monkeypatch):
    monkeypatch.setenv("TREADLE_CPU", cpu)
    g = njit("(float32[:, ::1], float32[:, ::1], float32[:, ::1])")(taps(rows, columns))
    assert in_vectors(g)


def test_an_index_out_of_range_is_told():
    f = njit(taps(3, 3))
    a = np.ones((6, 6))
    with pytest.raises(IndexError):
        f(a, np.ones((3, 3)), np.zeros((4, 5)))
    with pytest.raises(IndexError):
        f(a, np.ones((3, 2)), np.zeros((4, 4)))


def test_filters_that_overlap_their_output():
    def f(a):
        for i in range(2, len(a) - 2):
            s = 0.0
            for p in range(-2, 3):
                s += a[i + p] * 0.25
            a[i] = s

    a = np.random.default_rng(1).normal(size=90)
    b = a.copy()
    f(a)
    njit(f)(b)
    np.testing.assert_array_equal(a, b)


def test_loops_that_end_early_stay():
    def f(a, out):
        for j in range(len(out)):
            out[j] = -1
            for p in range(5):
                if a[j + p] > 0.9:
                    out[j] = p
                    break

    a = np.random.default_rng(2).random(100)
    want, got = np.zeros(96), np.zeros(96)
    f(a, want)
    njit(f)(a, got)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float32, np.float64])
def test_rows_of_few_items(dtype):
    def f(a, b):
        n, w = a.shape
        for i in range(n):
            for j in range(w):
                a[i, j] += b[i, j] * 2

    g = njit(f)
    rng = np.random.default_rng(3)
    for w in range(70):
        a, b = rng.integers(0, 50, (3, w)).astype(dtype), rng.integers(0, 50, (3, w)).astype(dtype)
        want = (a + b * 2).astype(dtype)
        g(a, b)
        np.testing.assert_array_equal(a, want)


def table(a, b):
    b[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1])


def line_again(a, b):
    for k in range(5):
        b[2, 1:-1] = 0.25 * (a[1, :-2] + a[1, 2:])


def long_line(a, b):
    b[:] = a * 0.25


@pytest.mark.parametrize("f", [table, line_again])
def test_rows_of_array_statements_take_one_vector_at_a_time(f, monkeypatch):
    monkeypatch.setenv("TREADLE_CPU", "x86-64-v3")
    vectors = r"vmulpd\s.*ymm"
    g, whole = (njit("(float64[:, ::1], float64[:, ::1])")(h) for h in (f, long_line))
    assert len(re.findall(vectors, *g.inspect_asm().values())) == 1
    assert len(re.findall(vectors, *whole.inspect_asm().values())) > 1  # no row, but a line of them all
    rng = np.random.default_rng(6)
    for w in (3, 4, 9, 18, 35, 66):
        a, b = rng.random((5, w)), rng.random((5, w))
        want = b.copy()
        f(a, want)
        g(a, b)
        np.testing.assert_array_equal(b, want)


def written(a):
    for x in np.nditer(a, op_flags=["readwrite"]):
        x[...] = x * 0.25


def written_from(a, b):
    for x, y in np.nditer((a, b), op_flags=[["readonly"], ["readwrite"]]):
        y[...] = x * 0.25


def columns(a):
    return a.transpose(2, 1, 0)


def slices(a):
    return a[:, :, :4]


@pytest.mark.parametrize("how", [lambda a: a, columns, slices])
@pytest.mark.parametrize("f", [written, written_from])
def test_what_nditer_writes_has_vectors(f, how, monkeypatch):
    """Items that lie side by side are one loop, or one for each row, that tests nothing between two of them."""
    monkeypatch.setenv("TREADLE_CPU", "x86-64-v3")
    g = njit(f)
    a = np.random.default_rng(7).random((3, 4, 5))
    want, got = ([how(x) for x in (a, 2 * a)[-f.__code__.co_argcount :]] for a in (a, a.copy()))
    f(*want)
    g(*got)
    assert in_vectors(g)
    for one, other in zip(want, got):
        np.testing.assert_array_equal(one, other)


# --- offsets that are known ---

PLUS = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])
SMALL = PLUS.astype(np.int8)
SPACED = np.repeat(PLUS, 2, 0)[::2]
TURNED = np.asfortranarray(PLUS)
MASK = np.array([True, False, True])
HALVES, TURNS = np.array([0.5, 1.5], np.float16), np.array([1j, 2 - 1j], np.complex64)
UNSIGNED = np.array([2**64 - 1, 0], np.uint64)


def over_tuples(a):
    s = 0
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            for di, dj in ((1, 0), (0, 1), (-1, 0), (0, -1)):
                if a[i + di, j + dj] > a[i, j]:
                    s += 1
    return s


def over_nested(a):
    s = 0
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            for (di, dj), w in (((1, 0), 2), ((0, 1), 3), ((-1, 0), 5)):
                if a[i + di, j + dj] > a[i, j]:
                    s += w
    return s


def over_array(name, how):
    """The same over a global array: by indices, its rows, or itself."""
    scope = {"PLUS": PLUS, "SMALL": SMALL, "SPACED": SPACED, "TURNED": TURNED}
    heads = {
        "items": f"for k in range(4):\n                di, dj = {name}[k, 0], {name}[k, 1]",
        "rows": f"for k in range(len({name})):\n                di, dj = {name}[k]",
        "itself": f"for di, dj in {name}:\n                pass",
    }
    exec(
        f"""
def f(a):
    s = 0
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            {heads[how]}
                if a[i + di, j + dj] > a[i, j]:
                    s += 1
    return s
""",
        scope,
    )
    return scope["f"]


CASES = [over_tuples, over_nested] + [
    over_array(name, how)
    for name in ("PLUS", "SMALL", "SPACED", "TURNED")
    for how in ("items", "rows", "itself")
]


@pytest.mark.parametrize("f", CASES)
def test_neighbours(f):
    rng = np.random.default_rng(4)
    g = njit(f)
    for shape in ((9, 30), (3, 3), (2, 2), (0, 5)):
        a = rng.random(shape)
        assert g(a) == f(a)
        assert g(a.T) == f(a.T)


@pytest.mark.parametrize("f", [over_tuples, over_array("PLUS", "items"), over_array("PLUS", "rows")])
def test_neighbours_need_no_checks(f, monkeypatch):
    monkeypatch.setenv("TREADLE_CPU", "x86-64-v3")
    (text,) = njit("(float64[:, ::1],)")(f).inspect_asm().values()
    assert re.search(r"vcmp\w*pd.*ymm", text)


def test_offsets_out_of_range_are_told():
    def f(a, i):
        s = 0.0
        for k in range(4):
            s += a[i + PLUS[k, 0]]
        for di, dj in ((1, 2), (3, 4)):
            s += a[i + di] * dj
        return s

    g = njit(f)
    a = np.arange(8.0)
    assert g(a, 1) == f(a, 1) and g(a, -4) == f(a, -4) and g(a, 0) == f(a, 0)
    for i in (5, 8, -9):
        with pytest.raises(IndexError):
            g(a, i)


def test_items_of_every_type():
    @njit
    def f(k):
        return MASK[k], HALVES[k], TURNS[k], UNSIGNED[k], SMALL[k, 1]

    for k in (0, 1, -1, -2):
        assert f(k) == (MASK[k], HALVES[k], TURNS[k], UNSIGNED[k], SMALL[k, 1])
    with pytest.raises(IndexError):
        f(4)


def test_a_frozen_array_that_is_handed_on_is_whole():
    @njit
    def f(k):
        return PLUS, PLUS[k], PLUS[1:], PLUS[k, 0]

    whole, row, rest, item = f(2)
    assert whole.tolist() == PLUS.tolist() and row.tolist() == [-1, 0]
    assert rest.tolist() == PLUS[1:].tolist() and item == -1
    f.recompile()
    assert whole.tolist() == PLUS.tolist()


def test_arrays_chosen_from_tuples_of_tuples():
    @njit
    def f(a, b, k):
        pairs = ((a, 1.0), (b, 2.0), (a, 3.0))
        s = 0.0
        for x, w in pairs:
            s += x[k] * w
        return s + pairs[k][0][0]

    a, b = np.arange(3.0), np.arange(3.0) * 10
    for k in range(3):
        assert f(a, b, k) == a[k] * 4 + b[k] * 2 + (a, b, a)[k][0]


def test_one_power_for_all_rounds_has_a_loop_of_its_own(monkeypatch):
    monkeypatch.setenv("TREADLE_CPU", "x86-64-v3")

    @njit("(float64[::1], int64, float64[::1])")
    def f(a, n, out):
        for i in range(len(a)):
            out[i] = a[i] ** n

    (text,) = f.inspect_asm().values()
    assert re.search(r"vmulpd.*ymm", text)


# --- recursive filters ---


def from_the_first(x, a, y):
    for n in range(x.size):
        acc = x[n]
        for k in range(1, 4):
            acc -= a[k] * y[n - k]
        y[n] = acc


def from_the_fourth(x, a, y):
    for n in range(3, x.size):
        acc = x[n]
        for k in range(1, 4):
            acc -= a[k] * y[n - k]
        y[n] = acc


def guarded(x, a, y):
    for n in range(x.size):
        acc = x[n]
        for k in range(1, 4):
            if n >= k:
                acc -= a[k] * y[n - k]
        y[n] = acc


def guarded_by_difference(x, a, y):
    for n in range(x.size):
        acc = 0.0
        for k in range(4):
            if n - k >= 0:
                acc += a[k] * x[n - k]
        for k in range(1, a.size):
            if n - k >= 0:
                acc -= a[k] * y[n - k]
        y[n] = acc


FILTERS = [from_the_first, from_the_fourth, guarded, guarded_by_difference]
COEFFICIENTS = np.array([1.0, -0.5, 0.2, -0.1])


@pytest.mark.parametrize("f", FILTERS)
def test_recursive_filters(f):
    rng = np.random.default_rng(6)
    g = njit(f)
    for n in (3, 4, 5, 9, 50):
        x = rng.normal(size=n)
        want, got = np.ones(n), np.ones(n)
        f(x, COEFFICIENTS, want)
        g(x, COEFFICIENTS, got)
        np.testing.assert_array_equal(got, want)
        wide = np.ones(3 * n)
        g(x, COEFFICIENTS, wide[::-3])
        np.testing.assert_array_equal(wide[::-3], want)


@pytest.mark.parametrize("f", FILTERS)
@pytest.mark.parametrize("shift", [0, 1, -1, 2, -4])
def test_recursive_filters_whose_arrays_overlap(f, shift):
    rng = np.random.default_rng(7)
    g = njit(f)
    base = rng.normal(size=60)
    for first in (False, True):
        results = []
        for h in (f, g):
            m = base.copy()
            x, y = m[8:48], m[8 + shift : 48 + shift]
            h(x, m[8 + shift :][:4] if first else COEFFICIENTS, y)
            results.append(m)
        np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("f", FILTERS)
def test_recursive_filters_out_of_range(f):
    g = njit(f)
    for n, na, ny in ((9, 3, 9), (9, 4, 8), (2, 4, 2), (9, 4, 2), (1, 4, 0), (0, 0, 0), (5, 2, 5)):
        x, a = np.arange(1.0, n + 1), COEFFICIENTS[:na]
        want, got = np.ones(ny), np.ones(ny)
        told = []
        for h, y in ((f, want), (g, got)):
            try:
                h(x, a, y)
                told.append(None)
            except IndexError:
                told.append(IndexError)
        assert told[0] == told[1], (n, na, ny)
        np.testing.assert_array_equal(got, want)


def test_behind_the_beginning():
    """Indices just below 0 in the first rounds."""

    def f(a, out):
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                out[i, j] = a[i, j] * 2 - a[i - 1, j] - a[i, j - 2]

    g = njit(f)
    for shape in ((1, 2), (2, 2), (5, 9), (0, 4), (4, 0)):
        a = np.arange(shape[0] * shape[1], dtype=float).reshape(shape) ** 2
        want, got = np.zeros(shape), np.zeros(shape)
        f(a, want)
        g(a, got)
        np.testing.assert_array_equal(got, want)
    with pytest.raises(IndexError):
        g(np.ones((3, 1)), np.ones((3, 1)))
    with pytest.raises(IndexError):
        g(np.ones((3, 2)), np.ones((2, 2)))


@pytest.mark.parametrize("f", [from_the_first, from_the_fourth, guarded])
def test_the_round_before_comes_in_a_register(f, monkeypatch):
    monkeypatch.setenv("TREADLE_CPU", "x86-64-v3")
    (text,) = njit("(float64[::1], float64[::1], float64[::1])")(f).inspect_asm().values()
    loops = [
        block
        for block in re.split(r"^\.L", text, flags=re.M)
        if block.count("vsubsd") == 3 and re.search(r"\tj\w+\t\.L" + block.split(":")[0] + r"\b", block)
    ]
    loads = [len(re.findall(r",8\), %xmm", block)) for block in loops]
    assert 3 in loads  # x[n], y[n - 2] and y[n - 3], and not y[n - 1]


def test_a_search_is_written_out_and_a_walk_is_not():
    """A walk goes on where it stood, so it takes few rounds."""

    def search(x, edges):
        for c in range(edges.shape[0]):
            if x[0] < edges[c]:
                return c
        return 0

    def walk(x, edges):
        c = 0
        for p in range(x.shape[0]):
            while c < edges.shape[0] and x[p] >= edges[c]:
                c += 1
        return c

    def tests(f):
        (text,) = njit("(float64[::1], float64[::1])")(f).inspect_asm().values()
        return len(re.findall(r"u?comisd", text))

    assert tests(search) >= 4
    assert tests(walk) <= 2
