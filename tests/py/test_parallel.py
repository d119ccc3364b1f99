"""parallel=True: array expressions and reductions on all cores give the same bits for every number of threads."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import treadle
import treadle.parallel as tp
from treadle import _core, njit, prange, vectorize


def both(fn):
    return njit(parallel=True)(fn), njit(fn)


SIZES = [0, 1, 255, 256, 257, 10_000, 300_001]


@pytest.mark.parametrize("n", SIZES)
def test_maps(n, threads):
    def f(a, b):
        c = a * 2.0 + np.sin(b)
        d = np.where(c > 1.0, c, -a)
        return c, d

    rng = np.random.default_rng(n)
    a, b = rng.standard_normal((2, n))
    par, seq = both(f)
    for p, s in zip(par(a, b), seq(a, b), strict=True):
        np.testing.assert_array_equal(p, s)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u8", "c16", "c8"])
def test_sums(n, dtype, threads):
    """Sums of floats too: a range is a node of the tree in which they are added."""

    def f(a):
        return a.sum(), (a * a).sum()

    rng = np.random.default_rng(n)
    a = (rng.standard_normal(n) * 1000).astype(dtype)
    par, seq = both(f)
    for p, s in zip(par(a), seq(a), strict=True):
        assert np.array(p).tobytes() == np.array(s).tobytes()


@pytest.mark.parametrize("n", SIZES[1:])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "u8"])
def test_extremes(n, dtype, threads):
    def f(a):
        return a.min(), a.max(), (a + a).max(), a.argmax()

    rng = np.random.default_rng(n)
    a = (rng.standard_normal(n) * 1000).astype(dtype)
    par, seq = both(f)
    assert par(a) == seq(a)
    if np.dtype(dtype).kind == "f":
        a[n // 2] = np.nan
        assert all(np.array_equal(p, s, equal_nan=True) for p, s in zip(par(a), seq(a), strict=True))


def test_debug_of_what_comes_after_a_loop():
    @njit(debug=True, parallel=True)
    def f(a):
        for i in prange(a.size):
            a[i] += 1
        return a[0] // a[1]

    assert f(np.zeros(4)) == 1


def test_truths(threads):
    def f(a):
        return (a > 0).all(), (a > 5).any(), np.any(a == 17.0)

    par, seq = both(f)
    a = np.ones(100_000)
    assert par(a) == seq(a) == (True, False, False)
    a[99_999] = 17.0
    a[5] = -1.0
    assert par(a) == seq(a) == (False, True, True)


def test_products(threads):
    def f(a):
        return a.prod()

    par, _ = both(f)
    a = 1.0 + np.random.default_rng(1).standard_normal(100_000) * 1e-3
    want = float(np.prod(a))
    got = par(a)
    assert got == pytest.approx(want, rel=1e-11)
    treadle.set_num_threads(1)
    assert par(a) == got


@pytest.mark.parametrize("shape", [(1000, 7), (3, 100_000), (50, 20, 30), (0, 5), (5, 0)])
def test_spaces(shape, threads):
    def f(a, b, out):
        out[...] = a * b + 1.0
        return (a - b).sum(), out

    rng = np.random.default_rng(2)
    a, b = rng.standard_normal(shape), rng.standard_normal(shape[::-1]).T
    par, seq = both(f)
    p, q = np.zeros(shape), np.zeros(shape)
    s, _ = par(a, b, p)
    t, _ = seq(a, b, q)
    assert s == pytest.approx(t, rel=1e-12, abs=1e-9)
    np.testing.assert_array_equal(p, q)
    treadle.set_num_threads(1)
    assert par(a, b, p)[0] == s


def test_broadcasting(threads):
    def f(a, b):
        return a[:, None] * b[None, :] + a[:, None]

    rng = np.random.default_rng(3)
    a, b = rng.standard_normal(700), rng.standard_normal(600)
    par, _ = both(f)
    np.testing.assert_array_equal(par(a, b), f(a, b))


def test_sizes_that_do_not_agree(threads):
    par, _ = both(lambda a, b: a + b)
    with pytest.raises(ValueError, match=r"\(3,\) \(4,\)"):
        par(np.ones(3), np.ones(4))
    np.testing.assert_array_equal(par(np.ones(100_000), np.ones(1)), np.full(100_000, 2.0))


def test_fastmath(threads):
    f = njit(parallel=True, fastmath=True)(lambda a: (a * a).sum())
    a = np.random.default_rng(4).standard_normal(200_000)
    assert f(a) == pytest.approx(float((a * a).sum()), rel=1e-12)


def test_calls_inside_and_recursion(threads):
    @njit
    def g(a):
        return a * 0.5 + 1.0

    @njit(parallel=True)
    def f(a, n):
        if n == 0:
            return a.sum()
        return f(g(a), n - 1)

    a = np.ones(50_000)
    assert f(a, 3) == f.py_func(a, 3) or f(a, 3) == pytest.approx(1.875 * 50_000)


def told(f, *args, capfd):
    """What parallel_diagnostics() prints of a call with these arguments."""
    f(*args)
    capfd.readouterr()
    f.parallel_diagnostics()
    return capfd.readouterr().out


@vectorize
def _shown(x):
    print(x)
    return x


# An expression, and what is said of it. The mark in the IR, which the loops are made by, must say the same.
TOLD = {
    "return a + b": "all cores",
    "return a[:, None] + b": "all cores",
    "a[a > 0] = 1\n    return a.sum()": "all cores",
    "np.add.at(a, i, b)\n    return 0": "all cores: where what it scatters to is small beside the values, or larger than a cache",
    "np.add.at(a, i, 1)\n    return 0": "all cores: where what it scatters to is small beside the values, or larger than a cache",
    "np.subtract.at(a, i, b)\n    return 0": "all cores: where what it scatters to is small beside the values, or larger than a cache",
    "np.power.at(a, i, b)\n    return 0": "one core: it may store to one element more than once",
    "a[i] = b\n    return 0": "all cores: where what it scatters to is small beside the values, or larger than a cache",
    "return a.cumsum()": "all cores",
    "return a[a > 0]": "all cores",
    "return np.maximum.accumulate(a)": "one core: each element needs the one before",
    "return a.argmax()": "one core: it looks for the place of an extreme",
    "return _shown(a)": "one core: what it prints comes in order",
}


@pytest.mark.parametrize("body", TOLD)
def test_diagnostics_tell_the_truth(body, capfd):
    space = {"np": np, "_shown": _shown}
    exec(f"def f(a, b, i):\n    {body}\n", space)
    f = njit(parallel=True)(space["f"])
    said = told(f, np.arange(4.0), np.arange(4.0), np.array([3, 1, 1, 0]), capfd=capfd)
    assert TOLD[body] in said
    if "\n" not in body:
        assert ("pattern par" in "".join(f.inspect_ir().values())) == ("all cores" in said)


# Sums of several axes that are no line in memory, of a (n, m), b (n, m), i: n rows, v (n) and w (m); scatters, scans and joins beside them.
NO_LINES = [
    "a[i].sum()",
    "np.where(a[i] > 1, a[i], b[i]).sum()",
    "(a[::-1] * v[:, None]).sum()",
    "(a * a[0]).mean()",
    "(a * w).std()",
    "(a + 1j * w).sum()",
    "(a * w).astype(np.float32).sum()",
    "((a * w)[None] * b[:3, None, :1]).sum()",
    "(a[:, :2][:, :, None] * w[None, :2, None] * b[:, None, :]).sum()",
    "np.nansum(a * w)",
    "np.linalg.norm(a * w)",
    "((a * w).sum(), (a * w).max(), (b * w).sum())",
    "tp.reduce(lambda x, y: x * y, a * w, identity=1.0)",
    "np.bincount(i, v).sum() + v.sum()",
    "np.cumsum(a[i])",
    "(a * w).prod()",
    "(a * w * (1 + 0j)).prod()",
    "a[a > 1].sum()",
    "(a * w)[::-1, ::-1].sum()",
]


@pytest.mark.parametrize("code", NO_LINES)
@pytest.mark.parametrize(
    "shape", [(3000, 5), (300, 100), (7, 20_001), (40_000, 3), (1, 70_000), (70_000, 1), (0, 3), (3, 0)]
)
def test_sums_that_are_no_line(code, shape, threads):
    """Ranges begin and end within rows, so they are nodes of the sum's tree, as in one line; what no ranges can be goes in order."""
    space = {"np": np, "tp": tp}
    exec(f"def f(a, b, i, v, w):\n    return {code}", space)
    rng = np.random.default_rng(shape[0])
    a, b = 1 + 0.01 * rng.standard_normal((2, *shape))
    i, v = rng.integers(0, max(shape[0], 1), shape[0]), rng.random(shape[0])
    args = a, b, i, v, 1 + 0.01 * rng.standard_normal(shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        par, seq = both(space["f"])
        try:
            want = seq(*args)
        except (ValueError, IndexError) as e:
            with pytest.raises(type(e)):
                par(*args)
            return
        got = par(*args)
        pairs = zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]
        for p, s in pairs:
            assert np.asarray(p).tobytes() == np.asarray(s).tobytes()


@pytest.mark.parametrize("code", NO_LINES)
def test_graphs_have_these_bits_too(code, threads):
    space = {"np": np, "tp": tp}
    exec(f"def f(a, b, i, v, w):\n    return {code}", space)
    rng = np.random.default_rng(3)
    a, b = 1 + 0.01 * rng.standard_normal((2, 700, 90))
    args = [
        tp.array(x)
        for x in (a, b, rng.integers(0, 700, 700), rng.random(700), 1 + 0.01 * rng.standard_normal(90))
    ]
    got, want = space["f"](*args), space["f"](*args)
    pairs = list(zip(got, want, strict=True)) if isinstance(want, tuple) else [(got, want)]
    tp.evaluate(*[p for p, _ in pairs])
    tp.evaluate(*[s for _, s in pairs], parallel=False)
    for p, s in pairs:
        assert np.asarray(p).tobytes() == np.asarray(s).tobytes()


def test_cut_rows_see_each_element_once(threads):
    """Ranges of one element, of three, from the last one on: what is stored besides, and where, whatever the extents."""

    def f(a, w):
        c = a[:, :, ::-1] * w
        return c, c.sum(), (c > 0).sum()

    par, seq = both(f)
    rng = np.random.default_rng(4)
    for shape in (3, 4, 5), (1, 1, 7), (5, 1, 2), (2, 9, 1), (1, 1, 1), (0, 2, 3), (2, 0, 3), (2, 3, 0):
        a, w = np.round(8 * rng.standard_normal(shape)), np.round(8 * rng.standard_normal(shape[2]))
        want = seq(a, w)
        for grain, backwards in (1, True), (3, False), (4, True), (7, False):
            _core._pool_grain(grain, backwards)
            try:
                got = par(a, w)
            finally:
                _core._pool_grain(0)
            assert np.array_equal(got[0], want[0]) and got[1:] == want[1:]


def test_products_of_floats_go_in_order(threads, capfd):
    """A tree of them may overflow on its way: ranges would be one."""
    a = np.tile([1e200, 1e-200], 50_000)
    f = njit(parallel=True)(lambda a: a.prod())
    assert f(a) == 1.0
    assert "in order" in told(njit(parallel=True)(lambda a: a.prod()), a, capfd=capfd)
    assert njit(parallel=True, fastmath=True)(lambda a: a.prod())(np.ones(100_000)) == 1.0


def test_so_do_those_of_what_reads_no_array(threads):
    """A map of places alone is no loop over a prange."""

    def f(n):
        return np.prod(1 + np.arange(n) * 1e-7), tp.tabulate(lambda i: 1e200 if i % 2 else 1e-200, n).prod()

    assert njit(f, parallel=True)(100_000) == njit(f)(100_000) == (njit(f)(100_000)[0], 1.0)


def test_what_is_printed_comes_in_order(threads, capfd):
    f = njit(parallel=True)(lambda a: _shown(a))
    _core._pool_grain(1, True)
    try:
        f(np.arange(5.0))
    finally:
        _core._pool_grain(0)
    assert capfd.readouterr().out.split() == ["0.0", "1.0", "2.0", "3.0", "4.0"]


def test_sizes_that_do_not_agree_run_on_all_cores(threads):
    """The version for them is compiled when it is reached, and gives the same bits."""
    par, seq = both(lambda a, b: ((a + b) * b).sum())
    a = np.random.default_rng(5).standard_normal(100_000)
    for b in np.full(100_000, 0.1), np.full(1, 0.1):
        assert par(a, b) == seq(a, b)
    ir = "".join(par.inspect_ir().values())
    assert ir.count("pattern par") == ir.count("pattern ") > 1
