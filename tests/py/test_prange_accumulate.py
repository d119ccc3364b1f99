"""prange loops that only accumulate into an array: each range of iterations has a copy of its own, which are added up."""

from __future__ import annotations

import functools
import pathlib
import sys

import numpy as np
import pytest
import treadle

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from prange_check import check, no_array_lost, parallel  # noqa: E402
from treadle import UnsupportedError, prange  # noqa: E402


@parallel
def histograms(x, h, w):
    k = 0
    for i in prange(len(x)):
        h[x[i]] += 1
        if x[i] % 2:
            w[x[i]] -= 0.5
        k += x[i]
    return k


@pytest.mark.parametrize("n", [0, 1, 2, 10, 30, 100, 1000, 20_000])
@pytest.mark.parametrize("size", [1, 50, 3000])
def test_histograms(n, size, threads):
    rng = np.random.default_rng(n)
    x = rng.integers(0, size, n)
    check(histograms, x, rng.integers(0, 9, size), rng.random(size))


@functools.cache
def narrow_histograms(dtype):
    """Of each dtype one, for all numbers of threads."""

    @parallel
    def f(x, h, products, rows):
        for i in prange(len(x)):
            h[x[i]] = 3 * i + h[x[i]]
            h[x[i] // 2] -= x[i]
            products[x[i] % 3] *= 1 - 2 * (i % 2)
            rows += x[i]

    return f


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "i4", "u4", "u8", "f4", "c8"])
def test_histograms_of_narrow_types(dtype, threads):
    """Sums are computed in 64 bits and stored in fewer: that is no reason for threads to meet."""
    f = narrow_histograms(dtype)
    x = np.random.default_rng(0).integers(0, 7, 3000)
    types = [dtype, dtype, "i8" if dtype == "u8" else dtype]  # uint64 and int64 make float64
    wide = {"f": "f8", "c": "c16"}.get(dtype[0], "i8")
    want, got = ([np.ones(n, t) for n, t in zip((7, 3, 5), ts)] for ts in ([wide] * 3, types))
    f.py_func(x, *want)
    f(x, *got)
    for w, g in zip(want, got, strict=True):
        np.testing.assert_array_equal(g, w.astype(g.dtype))
    said = f.inspect("parallel", f.signatures[0])
    assert all(
        name in said.split("copies for chunks")[1]
        for name in ("'h' (add)", "'rows' (add)", "'products' (mul)")
    )


def test_accumulation_through_branches(threads):
    """What is added is found out in blocks of its own, between reading the element and writing it."""

    @parallel
    def f(x, h, w):
        for i in prange(len(x)):
            h[x[i]] += 1 if w[i] > 3 and x[i] > 2 else w[i]
            h[w[i]] = 2 + h[w[i]] - x[i] + w[i]
            h[x[i]] *= 1
            h[abs(x[i])] = h[abs(x[i])] + 1
            h[max(w[i] % 3, x[i] >> 1) & 7] = h[max(w[i] % 3, x[i] >> 1) & 7] - 2
            for j in range(w[i]):
                h[x[i] // 2] -= j

    def not_one(x, h, w):
        for i in prange(len(x)):
            t = h[x[i]]
            for j in range(3):
                h[x[i]] = t + j

    def nor_these(x, h, w):
        for i in prange(len(x)):
            t = h[x[i]]
            h[w[i]] += 1
            h[x[i]] = t + 5

    rng = np.random.default_rng(2)
    x, w = rng.integers(0, 7, 2000), rng.integers(0, 5, 2000)
    check(f, x, np.zeros(7, "i8"), w)
    assert "copies for chunks of iterations: 'h' (add)" in f.inspect("parallel", f.signatures[0])
    for fn in map(parallel, (not_one, nor_these)):
        fn(x, np.zeros(7, "i8"), w)
        assert "copies" not in fn.inspect("parallel", fn.signatures[0])


def test_loops_inside_one_that_accumulates(threads):
    """The loop stays beside its pattern, for when copies are not worth it: it and what is in it are plain loops then."""

    @parallel
    def f(a, h, x):
        for i in prange(a.shape[0]):
            for k in prange(3):
                for j in range(a.shape[1]):
                    a[i, j] = a[i, j] // 2 + k
            h[x[i]] += 1

    a, x = np.arange(600.0).reshape(100, 6), np.arange(100) % 9
    check(f, a, np.zeros(9), x)
    check(f, a, np.zeros(9000), x)


def test_array_reductions(threads):
    @parallel
    def f(a, total, table, products, bits, ones):
        counts = np.zeros((4, 5), dtype=np.int64)
        tail = bits[2:]
        for i in prange(a.shape[0]):
            total += a[i]
            tail[:] += i
            table[i % 3] -= a[i] * 2
            products[1] *= a[i, 0]
            ones[i % 2, 0] |= 1 << (i % 60)
            for j in range(a.shape[1]):
                counts[i % 4, j % 5] += j
        return counts

    a = 0.5 + np.random.default_rng(3).random((500, 12))
    for total in (np.ones(12), np.ones(24)[::2]):
        check(
            f,
            a,
            total,
            np.zeros((3, 12)),
            np.ones(3),
            np.zeros(9),
            np.zeros((2, 2), dtype=np.int64),
            rel=1e-11,
        )


def test_accumulation_does_not_depend_on_the_number_of_threads(capsys):
    @parallel
    def f(x, w, h):
        for i in prange(len(x)):
            h[x[i]] += w[i]

    rng = np.random.default_rng(0)
    x, w = rng.integers(0, 100, 50_000), rng.standard_normal(50_000)
    seen = set()
    for n in range(1, treadle.get_num_threads() + 1):
        treadle.set_num_threads(n)
        h = np.zeros(100)
        f(x, w, h)
        seen.add(h.tobytes())
    np.testing.assert_allclose(h, np.bincount(x, w, 100), rtol=1e-9)
    assert len(seen) == 1
    f.parallel_diagnostics()
    assert "copies for chunks of iterations: 'h' (add)" in capsys.readouterr().out


def test_accumulation_frees_its_copies_when_an_iteration_raises(threads):
    @parallel
    def f(x, h):
        for i in prange(len(x)):
            h[x[i]] += 1

    x, h = np.arange(5000) % 50, np.zeros(50)
    x[4321] = 50
    with no_array_lost(least=1), pytest.raises(IndexError, match="index 50 is out of bounds"):
        f(x, h)


def test_constants_that_decide_the_result(threads):
    """`|= True` and `*= 0` are stores of a constant when the loop is looked at, and a flag that is set is one from the start."""

    @parallel
    def f(x, found, inside, bits, products):
        for i in prange(len(x)):
            if x[i] > 3:
                found[0] = True
            found[1] |= x[i] == 2
            if x[i] > 900:
                inside[0, 1] = False
            bits[x[i] % 4] |= 1 << (x[i] % 5)
            bits[3] |= -1
            products[x[i] % 3] *= np.uint64(1 + x[i] % 2)
            products[1] *= 0

    for top in (2, 4, 990):
        x = np.random.default_rng(top).integers(0, top, 2000)
        check(f, x, np.zeros(3, "?"), np.ones((2, 2), "?"), np.zeros(5, "i8"), np.ones(3, "u8"))

    def another(x, a):
        for i in prange(len(x)):
            a[0] = 5
            a[1] += x[i]

    def read(x, a):
        for i in prange(len(x)):
            a[0] = 0
            x[i] += a[1]
            a[1] = -1

    def both(x, a):
        for i in prange(len(x)):
            a[0] = -1
            a[1] &= x[i]

    for fn in (another, read, both):
        with pytest.raises(UnsupportedError, match="the same element of 'a'"):
            parallel(fn)(x, np.ones(2, "i8"))


def test_elements_stored_where_they_were_read(threads):
    @parallel
    def f(x, rows, cells):
        for i in prange(len(x)):
            rows += 0
            rows[1] *= 1
            cells[0, 1] -= 0

    @parallel
    def nothing(rows):
        rows += 0

    rows = np.arange(12).reshape(3, 4)
    check(f, np.arange(50), rows, np.ones((2, 2)))
    check(nothing, rows)
    assert "pattern" not in "".join(nothing.inspect_ir().values())


def test_arrays_that_are_also_read_are_not_accumulated(threads):
    def f(x, h):
        for i in prange(len(x)):
            h[x[i]] += h[0]

    def g(x, h):
        for i in prange(len(x)):
            h[x[i]] += 1
            h[x[i]] *= 2

    for fn in (f, g):
        fn = parallel(fn)
        fn(np.arange(3), np.zeros(3))
        assert "alloc" not in "".join(fn.inspect_ir().values())


def test_an_array_that_may_be_the_accumulated_one(threads):
    """Copies would hide from `b` what is added to `h`. Arrays that change places are two."""

    @parallel
    def chosen(h, a, k, c):
        b = h if c else a
        for i in prange(len(k)):
            h[k[i]] += b[i]
        return h

    @parallel
    def swapped(a, b, k, n):
        src, dst = a, b
        for _ in range(n):
            for i in prange(len(k)):
                dst[k[i]] += src[i]
            src, dst = dst, src
        return src

    k, x = np.arange(500) % 7, np.arange(500.0)
    with pytest.raises(UnsupportedError, match="line .* accumulates into 'h'.* may be the same one"):
        chosen(x, x, k, True)
    check(swapped, x, x * 2, k, 3)


# Array operations that store at computed places, in an iteration: into an array that all share, and how the loop comes out right.
SCATTERS = {
    "np.add.at(a, idx[i], v[i])": "copies for chunks of iterations: 'a' (add)",
    "np.add.at(a, idx[0], v[i])": "copies for chunks of iterations: 'a' (add)",
    "np.add.at(a, idx[i], 1.5)": "copies for chunks of iterations: 'a' (add)",
    "np.subtract.at(a, idx[i], k[i])": "copies for chunks of iterations: 'a' (add)",
    "np.multiply.at(a, idx[i], 1.0001)": "copies for chunks of iterations: 'a' (mul)",
    "np.add.at(a[2:], idx[i] % 3, v[i])": "copies for chunks of iterations: 'a' (add)",
    "np.add.at(a, idx[i], v[i]); np.add.at(a, idx[0], v[i])": "copies for chunks of iterations: 'a' (add)",
    "np.add.at(a, idx[i], v[i]); a[0] += v[i, 0]": "copies for chunks of iterations: 'a' (add)",
    "np.add.at(a, idx[i], v[i]); a += v[i, :8]": "copies for chunks of iterations: 'a' (add)",
    "np.add.at(a, idx[i], a[idx[i]])": "perhaps reads",
    "np.add.at(a, idx[i], v[i]); np.multiply.at(a, idx[i], v[i])": "perhaps writes",
    "np.maximum.at(a, idx[i], v[i])": "perhaps writes",
    "a[idx[i]] = 1.0": "perhaps writes",
}


@functools.cache
def scatters(body):
    """One function for all lengths and numbers of threads."""
    space = {"np": np, "prange": prange}
    exec(f"def f(a, idx, v, k):\n    for i in prange(len(idx)):\n        {body}\n", space)
    return parallel(space["f"])


# By body first, so that a worker that takes a part of them compiles few.
@pytest.mark.parametrize("n", [0, 3, 300])
@pytest.mark.parametrize("body", SCATTERS)
def test_array_operations_that_scatter(body, n, threads, capsys):
    f = scatters(body)
    rng = np.random.default_rng(n)
    idx, v, k = rng.integers(0, 8, (n, 20)), rng.standard_normal((n, 20)), rng.integers(0, 9, (n, 20))
    if "perhaps" in SCATTERS[body]:  # it is open which iteration comes last
        f(np.ones(8), idx[:1], v[:1], k[:1])
    else:
        check(f, np.ones(8), idx, v, k, rel=1e-9)
    f.parallel_diagnostics()
    assert SCATTERS[body] in capsys.readouterr().out


def laid_out(a):
    """The same elements in every layout that a type tells apart."""
    apart = np.zeros(tuple(2 * n for n in a.shape), a.dtype)[tuple(slice(None, None, 2) for _ in a.shape)]
    apart[...] = a
    return a.copy(), np.asfortranarray(a), apart, a[::-1].copy()[::-1]


@functools.cache
def scatters_anywhere(body):
    """One function for all numbers of threads."""
    space = {"np": np, "prange": prange}
    exec(f"def f(a, k, n):\n    for i in prange(n):\n        {body}\n", space)
    return parallel(space["f"])


@pytest.mark.parametrize(
    "body",
    [
        "np.add.at(a, k, 3)",
        "np.add.at(a, k, i)",
        "np.multiply.at(a, k, 1)",
        "np.subtract.at(a, (k, k[::-1]), i)",
        "np.multiply.at(a, (k, k), 3)",
    ],
)
def test_scatters_into_arrays_of_any_layout(body, threads):
    """A copy lies as its array's type says, which what stores to it was made for."""
    f = scatters_anywhere(body)
    k = np.array([0, 6, -1, 2, 2, 3])
    for n in (0, 1, 40):
        for whole in (np.arange(49).reshape(7, 7) % 5, np.arange(7))[: 1 if "(k" in body else 2]:
            for mine, theirs in zip(laid_out(whole), laid_out(whole), strict=True):
                f(mine, k, n)
                f.py_func(theirs, k, n)
                np.testing.assert_array_equal(mine, theirs)


def test_scatters_into_rows_of_each_iteration_are_apart(threads, capsys):
    @parallel
    def f(a, idx, v):
        for i in prange(a.shape[0]):
            np.add.at(a[i], idx, v)
            a[i][a[i] > 1.0] = 0.25

    check(f, np.ones((50, 6)), np.array([0, 3, 3, 5]), np.arange(4.0))
    f.parallel_diagnostics()
    assert "perhaps" not in capsys.readouterr().out


def test_a_row_of_an_expression_is_added_up_in_copies(threads):
    """What is computed for a row goes through an array of its own, or the loop would not be seen to accumulate."""

    @parallel
    def f(a, table):
        for i in prange(a.shape[0]):
            table[i % 3] -= a[i] * 2

    a = np.random.default_rng(3).random((500, 12))
    check(f, a, np.zeros((3, 12)), rel=1e-11)
    assert "copies for chunks of iterations: 'table' (add)" in f.inspect("parallel", f.signatures[0])
