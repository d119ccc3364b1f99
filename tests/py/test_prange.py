"""prange loops against the same function run by Python, for every number of threads."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from prange_check import check, no_array_lost, parallel  # noqa: E402
from sizes import examples
from treadle import njit, prange  # noqa: E402

SIZES = [0, 1, 2, 7, 255, 1000, 30_001]


@pytest.mark.parametrize("n", SIZES)
def test_maps(n, threads):
    @parallel
    def f(a, out):
        for i in prange(len(a)):
            out[i] = a[i] * 2 + i

    check(f, np.random.default_rng(n).standard_normal(n), np.zeros(n))


@pytest.mark.parametrize("n", SIZES)
def test_reductions(n, threads):
    @parallel
    def f(a):
        s = 10.0
        p = 1.0
        d = 0.0
        q = 3.0
        k = 0
        for i in prange(len(a)):
            s += a[i]
            p *= 1 + a[i] / 1e6
            d -= a[i] * a[i]
            q /= 1 + a[i] / 1e7
            k += 1
        return s, p, d, q, k

    check(f, np.random.default_rng(n).random(n))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "u8"])
def test_extremes(n, dtype, threads):
    @parallel
    def f(a, low, high):
        m = low
        k = low
        x = high
        y = high
        for i in prange(len(a)):
            m = max(m, a[i])
            k = max(a[i], k)
            x = min(a[i], x)
            if a[i] < y:
                y = a[i]
        return m, k, x, y

    a = (np.random.default_rng(n).random(n) * 200).astype(dtype)
    check(f, a, a.dtype.type(3), a.dtype.type(250))


def test_extremes_in_branches_and_inner_loops(threads):
    @parallel
    def f(a):
        m = -1.0
        k = 0.0
        for i in prange(a.shape[0]):
            for j in range(a.shape[1]):
                if (i + j) % 3 == 0:
                    v = a[i, j]
                    if v > m:
                        m = v
                elif j > 2:
                    k += a[i, j]
                else:
                    k -= 1
        return m, k

    for shape in [(0, 3), (3, 0), (1, 1), (13, 7), (200, 31)]:
        check(f, np.random.default_rng(1).random(shape))


@pytest.mark.parametrize("n", [0, 1, 7, 3000])
def test_conditions_of_several_parts(n, threads):
    """Extremes under further conditions, and flags whose right side branches."""

    @parallel
    def f(x, c):
        m, least, any_, all_ = -1e300, 1e300, False, True
        for i in prange(len(x)):
            if x[i] > m and c[i]:
                m = x[i]
            if c[i]:
                if x[i] < least:
                    least = x[i]
            elif x[i] * 2 < least:
                least = x[i] * 2
            any_ = any_ or (x[i] > 0.999 and c[i])
            all_ = all_ and (x[i] < 0.999 or c[i])
        return m, least, any_, all_

    rng = np.random.default_rng(n)
    check(f, rng.random(n), rng.random(n) > 0.5)
    if n:
        with pytest.raises(IndexError):
            f(rng.random(n) + 1, np.zeros(0, bool))


@pytest.mark.parametrize("n", [0, 1, 7, 3000])
def test_extremes_of_elements_found_by_elements(n, threads):
    """What is compared and what is kept are computed twice, with indices of some steps."""

    @parallel
    def f(x, k, w):
        most, least, far = -1.0, 2.0, 0.0
        for i in prange(len(k)):
            if x[k[i] % 7] > most:
                most = x[k[i] % 7]
            if w[i] and x[k[i] - 3] < least:
                least = x[k[i] - 3]
            if far < abs(x[i // 5 % 7] - 0.5):
                far = abs(x[i // 5 % 7] - 0.5)
        return most, least, far

    rng = np.random.default_rng(n)
    check(f, rng.random(7), rng.integers(0, 7, n), rng.random(n) > 0.5)


def test_extremes_skip_nan_where_python_does(threads):
    @parallel
    def f(a):
        m = -9.0
        k = 9.0
        for i in prange(len(a)):
            m = max(m, a[i])
            if a[i] < k:
                k = a[i]
        return m, k

    a = np.random.default_rng(1).random(5000)
    a[::7] = np.nan
    check(f, a)


@pytest.mark.parametrize("n", SIZES)
def test_flags(n, threads):
    @parallel
    def f(a, limit):
        any_above = False
        all_below = True
        seen = False
        ok = True
        bits = 0
        for i in prange(len(a)):
            any_above = any_above or a[i] > limit
            all_below = all_below and a[i] < limit
            if a[i] == limit:
                seen = True
            if a[i] < 0:
                ok = False
            bits |= 1 << int(a[i])
        return any_above, all_below, seen, ok, bits

    a = np.random.default_rng(n).integers(0, 50, n)
    for limit in (-1, 49, 50, 25):
        check(f, a, limit)


def test_ranges(threads):
    @parallel
    def f(start, stop, step, out):
        s = 0
        for i in prange(start, stop, step):
            out[i % 1000] = i
            s += i
        return s

    for r in [(0, 1000, 1), (5, 900, 3), (900, 5, -7), (5, 5, 1), (9, 3, 1), (3, 9, -1), (-500, 400, 2)]:
        check(f, *r, np.zeros(1000, dtype=np.int64))
    with pytest.raises(ValueError, match="must not be zero"):
        f(1, 2, 0, np.zeros(1000, dtype=np.int64))


def test_the_index_is_signed(threads):
    @parallel
    def f(n, out):
        for i in prange(n):
            out[i] = i - 1

    out = np.zeros(5)
    f(np.uint64(5), out)
    assert out.tolist() == [-1, 0, 1, 2, 3]

    @njit
    def item(n):
        return prange(n)[0] - np.int64(1)

    assert item(np.uint64(5)) == -1 and isinstance(item(np.uint64(5)), int)


def test_a_variable_that_some_path_leaves_unset(threads):
    """Whether it is set is known in the loop, though only all loops together show it."""

    @parallel
    def f(n, m):
        k = 0
        while k < 3:
            k += 1
            step = 0.5
            r = 0
            for _ in prange(n):
                for _ in range(6, m):
                    r -= step
        return r

    check(f, 5, 8)
    check(f, 0, 8)
    check(f, 5, 0)


def test_a_prange_is_a_range():
    @njit
    def f(n):
        r = prange(1, n, 2)
        t = 0
        for i in r:
            t += i
        return len(r), r[1], t, isinstance(r, range)

    assert f(10) == (5, 3, 25, True) == f.py_func(10)
    assert prange(2, 7) == range(2, 7) and parallel(f.py_func)(10) == f(10)


def test_enumerate_and_order(threads):
    @parallel
    def f(n, out):
        s = 0
        for k, i in enumerate(prange(3, n)):
            out[k] = i
        for i in reversed(prange(n)):
            s += i
        return s

    check(f, 100, np.zeros(97, dtype=np.int64))


def test_nested_and_in_sequence(threads):
    @parallel
    def f(a, b):
        t = 0
        for r in range(3):
            for i in prange(a.shape[0]):
                for j in prange(a.shape[1]):
                    a[i, j] += b[j] * r
            s = 0
            for j in prange(a.shape[1]):
                s += a[0, j]
            t += s
            if t > 100:
                break
        return t

    check(f, np.ones((40, 30)), np.arange(30.0))


@njit
def _helper(a, i):
    s = 0.0
    for k in range(i % 10):
        s += a[k] * k
    return s


def test_calls(threads):
    @parallel
    def f(a, out):
        for i in prange(len(out)):
            out[i] = _helper(a, i)

    check(f, np.arange(10.0), np.zeros(500))


@njit(parallel=True)
def _inner(a):
    s = 0.0
    for i in prange(len(a)):
        s += a[i]
    return s


def test_a_parallel_function_called_in_a_loop(threads):
    @parallel
    def f(a, out):
        for i in prange(len(out)):
            out[i] = _inner(a[i:])

    check(f, np.arange(300.0), np.zeros(50))

    @njit
    def g(a):
        return _inner(a) * 2

    check(g, np.arange(3000.0))
    assert "pattern prange" in "".join(g.inspect_ir().values())


def test_only_functions_that_ask_for_it_run_in_parallel():
    def f(a):
        s = 0.0
        for i in prange(len(a)):
            s += a[i]
        return s

    one, two = njit(f), parallel(f)

    @parallel
    def through(a):
        return one(a)

    a = np.arange(10.0)
    assert one(a) == two(a) == through(a) == 45
    assert "pattern" not in "".join(one.inspect_ir().values())
    assert "pattern" not in "".join(through.inspect_ir().values())
    assert "pattern prange" in "".join(two.inspect_ir().values())


def test_views_and_layouts(threads):
    @parallel
    def f(a, out):
        for i in prange(a.shape[0]):
            row = a[i]
            col = a.T[i % a.shape[1]]
            out[i] = row[::2].sum() - col[-1]

    base = np.random.default_rng(0).random((60, 40))
    for a in (base, np.asfortranarray(base), base[::-1, ::2], base.T):
        check(f, a, np.zeros(a.shape[0]))


def test_row_assignments(threads):
    @parallel
    def f(a, out):
        for i in prange(len(a)):
            out[i] = a[i] * 2
            out[i, 1:3] += i

    check(f, np.random.default_rng(0).random((50, 8)), np.zeros((50, 8)))


def test_arrays_made_inside_are_freed(threads):
    @parallel
    def f(n, out):
        shared = np.arange(n) * 1.0
        for i in prange(n):
            t = np.zeros(i % 20 + 1)
            for k in range(len(t)):
                t[k] = i + k
            if i % 3 == 0:
                t = shared
            elif i % 3 == 1:
                t = t[::-1].copy()
            out[i] = t[-1] + shared[i]

    check(f, 2000, np.zeros(2000))
    with no_array_lost(least=2000):
        f(2000, np.zeros(2000))


def test_exceptions_are_those_of_the_lowest_index(threads):
    @parallel
    def f(a, out):
        for i in prange(len(a)):
            t = np.zeros(3)
            if a[i] < 0:
                raise ValueError("negative", i)
            out[i] = a[i] + t[0]

    a, out = np.ones(20_000), np.zeros(20_000)
    a[[137, 138, 9000, 19_999]] = -1
    with no_array_lost():
        for _ in range(20):
            out[:] = 0
            with pytest.raises(ValueError) as e:
                f(a, out)
            assert e.value.args == ("negative", 137)
            assert (out[:137] == 1).all()


def test_indices_are_checked(threads):
    @parallel
    def f(a, idx, out):
        for i in prange(len(out)):
            out[i] = a[idx[i]]

    a, idx = np.arange(10.0), np.arange(5000) % 10
    check(f, a, idx, np.zeros(5000))
    idx[4000] = 10
    with pytest.raises(IndexError, match="index 10 is out of bounds for axis 0 with size 10"):
        f(a, idx, np.zeros(5000))
    with pytest.raises(IndexError, match="index 5000 is out of bounds"):
        f(a, idx % 10, np.zeros(5001))


def test_no_checks_are_left_where_the_index_is_in_range():
    @parallel
    def f(a, b):
        s = 0.0
        for i in prange(1, len(a) - 1):
            b[i] = a[i - 1] + a[i + 1]
            s += b[i]
        return s

    check(f, np.random.default_rng(0).random(1000), np.zeros(1000))
    fast = "".join(f.inspect_ir().values()).split("pattern prange")[1]
    assert "checkindex" not in fast and "wrap" not in fast


@settings(deadline=None, max_examples=examples(40))
@given(
    st.lists(st.integers(-(2**62), 2**62), max_size=300),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(1, 3),
)
def test_integers_are_exact(values, start, step):
    got = _ints(np.array(values, dtype=np.int64), start, step)
    with np.errstate(all="ignore"):
        s = start
        p = 1
        for v in values[::step]:
            s = (s + v + 2**63) % 2**64 - 2**63
            p = (p * (v | 1) + 2**63) % 2**64 - 2**63
    assert got == (s, p)


@njit(parallel=True)
def _ints(a, start, step):
    s = start
    p = 1
    for i in prange(0, len(a), step):
        s += a[i]
        p *= a[i] | 1
    return s, p


def test_float_sums_do_not_depend_on_the_number_of_threads():
    @parallel
    def f(a):
        s = 0.0
        p = np.float32(1)
        for i in prange(len(a)):
            t = 0.0
            for k in range(i % 4):
                t += a[i] * k
            s += t
            p *= np.float32(1.00001)
        return s, p

    a = np.random.default_rng(0).standard_normal(20_000)
    seen = set()
    for n in range(1, treadle.get_num_threads() + 1):
        treadle.set_num_threads(n)
        seen |= {np.array(x).tobytes() for x in f(a)}
    assert len(seen) == 2


def test_a_sum_before_another_loop(threads):
    """The first loop has two versions: which one's sum it is does not concern the second."""

    @parallel
    def f(a, b):
        r = 1.0
        for i in prange(len(a)):
            a[i, 1] = b
            r += b
        k = 0
        for i in prange(len(a)):
            k += 1
        return r, k

    check(f, np.ones((300, 2)), 0.5)
    with pytest.raises(IndexError):
        f(np.ones((300, 1)), 0.5)


def test_parts_of_a_complex_sum(threads):
    @parallel
    def f(a):
        s = 0j
        for i in prange(len(a)):
            s += a[i]
        return s.imag, s.real

    check(f, np.arange(300) * (2 - 3j))


def test_recursion_with_loops_ends_before_the_stack_does(threads):
    @parallel
    def f(n, a):
        s = 0
        t = 1
        for i in prange(len(a)):
            s += a[i]
            t = max(t, a[i])
        return s if n <= 0 else f(n - 1, a) + s + t

    assert f(3, np.arange(10)) == f.py_func(3, np.arange(10))
    with pytest.raises(RecursionError):
        f(100_000, np.arange(10))

    @parallel
    def g(n):
        s = 0
        for i in prange(2):
            if i == 1 and n > 0:
                s += g(n - 1)
        return s + 1

    assert g(300) == 301
    with pytest.raises(RecursionError):
        g(100_000)


# --- loops made at random ---

EXPRESSIONS = st.sampled_from(
    [
        "a[i]",
        "a[i] * 2 - i",
        "a[(i * 7) % n]",
        "abs(a[n - 1 - i])",
        "i",
        "b[i] + 1",
        "float(i % 5)",
        "c[i, i % 3]",
    ]
)
TESTS = st.sampled_from(["a[i] > 0", "i % 3 == 1", "b[i] < a[i]", "a[i] > 2.5", "i < n // 2"])
# Each variable keeps to one operation.
UPDATES = st.one_of(
    EXPRESSIONS.map("s += {}".format),
    EXPRESSIONS.map("s -= {}".format),
    EXPRESSIONS.map("p *= 1 + {} * 1e-9".format),
    EXPRESSIONS.map("m = max(m, {})".format),
    EXPRESSIONS.map("m = max({}, m)".format),
    EXPRESSIONS.map("t = {}\nif t < w:\n  w = t".format),
    EXPRESSIONS.map("k += int({})".format),
    EXPRESSIONS.map("e = e and {} > -50".format),
    TESTS.map("f = f or {}".format),
    TESTS.map("if {}:\n  g = True".format),
    EXPRESSIONS.map("out[i] = {}".format),
    EXPRESSIONS.map("h[i % 6] += {}".format),
    EXPRESSIONS.map("z = np.full(3, float({}))\nout[i] += z[1]".format),
    EXPRESSIONS.map("c2[i % 4] -= c[i] * {}".format),
)


def indented(text):
    return "\n".join("  " + line for line in text.split("\n"))


BODIES = st.recursive(
    st.lists(UPDATES, min_size=1, max_size=4).map("\n".join),
    lambda inner: st.one_of(
        st.tuples(TESTS, inner).map(lambda x: f"if {x[0]}:\n{indented(x[1])}"),
        st.tuples(TESTS, inner, inner).map(
            lambda x: f"if {x[0]}:\n{indented(x[1])}\nelse:\n{indented(x[2])}"
        ),
        st.tuples(st.integers(0, 4), inner).map(lambda x: f"for j in range({x[0]}):\n{indented(x[1])}"),
        st.tuples(inner, inner).map("\n".join),
    ),
    max_leaves=5,
)


@settings(deadline=None, max_examples=examples(60))
@given(BODIES, st.integers(0, 3), st.sampled_from([0, 1, 5, 100, 2000]))
def test_loops_made_at_random(body, start, n):
    names = "s, p, m, w, k, e, f, g"
    source = (
        "def fn(a, b, c, out, h, c2):\n  n = len(a)\n  s, p, m, w, k = 0.5, 1.0, -1.0, 9.0, 3\n"
        f"  e, f, g = True, False, False\n  for i in prange({start}, n):\n{indented(indented(body))}\n  return {names}\n"
    )
    scope = {"np": np, "prange": prange}
    exec(source, scope)
    rng = np.random.default_rng(n)
    arrays = (
        rng.normal(size=n), rng.normal(size=n), rng.normal(size=(n, 3)), np.zeros(n), np.zeros(6), np.zeros((4, 3))
    )  # fmt: skip
    fn = parallel(scope["fn"])
    for threads in sorted({1, treadle.get_num_threads()}):
        treadle.set_num_threads(threads)
        mine = [x.copy() for x in arrays]
        theirs = [x.copy() for x in arrays]
        want, got = fn.py_func(*theirs), fn(*mine)
        for g, w in [*zip(mine, theirs, strict=True), *zip(got, want, strict=True)]:
            np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-9, err_msg=source)


INTERRUPT = """
import os, signal, threading
import numpy as np
from treadle import njit, prange
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is started without it
@njit(parallel=True, nogil=True)
def f(n, m, k, out):
    for i in prange(n):
        t = 1.0
        for j in range(m):
            for l in range(k):
                t = t * 0.999 + (l ^ j)
        out[i] = t
f(2, 2, 2, np.zeros(2))
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    f({0}, {1}, {2}, np.zeros({0}))
except KeyboardInterrupt:
    print("interrupted")
out = np.zeros(3)
f(3, 0, 0, out)
print(out.tolist())
"""


@pytest.mark.parametrize("sizes", [(3, 10**6, 10**5), (10**6, 10, 10**6), (1, 10**9, 1000)])
def test_ctrl_c_ends_a_loop(sizes):
    """Each of these loops would run for minutes, and some of them for minutes in one iteration."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPT.format(*sizes)], capture_output=True, text=True, timeout=100
    )
    assert done.stdout.splitlines() == ["interrupted", "[1.0, 1.0, 1.0]"], done.stderr


@pytest.mark.parametrize("n", [8, 12, 13, 17, 40])
def test_many_reductions(n, threads):
    """More than a pattern's loops once had room for was a crash; more than ranges have places for run on one core, and that is said."""
    names = [f"s{k}" for k in range(n)]
    source = "def f(a):\n    " + " = ".join(names) + " = 0.0\n    for i in prange(len(a)):\n"
    source += "".join(f"        {s} += a[i] * {k}\n" for k, s in enumerate(names))
    space = {"prange": prange}
    exec(source + f"    return {', '.join(names)}\n", space)
    f = parallel(space["f"])
    check(f, np.arange(3000.0))
    check(f, np.zeros(0))


@pytest.mark.parametrize("n", [12, 13, 40, 300])
def test_any_number_of_reductions(n, threads, capfd):
    sums = "".join(f"        s{k} += a[i] * {k}\n" for k in range(n))
    start = "".join(f"    s{k} = 0.0\n" for k in range(n))
    space = {"prange": prange}
    exec(f"def f(a):\n{start}    for i in prange(len(a)):\n{sums}    return {', '.join(f's{k}' for k in range(n))}\n", space)  # fmt: skip
    f = parallel(space["f"])
    for size in (0, 1, 5000):
        check(f, np.arange(float(size)), rel=1e-12)
    f.parallel_diagnostics()
    assert "runs on all cores" in capfd.readouterr().out
    assert "pattern prange" in "".join(f.inspect_ir().values())


# The body of a loop over i, and whether how long a round takes is known before it begins.
ROUNDS = {
    "up to a number from outside": ("for k in range(m):\n    s += a[i, k] * b[k]", True),
    "between numbers from outside": ("for k in range(lo, m):\n    s += a[i, k] * b[k]", True),
    "in steps": ("for k in range(lo, m, 3):\n    s += a[i, k] * b[k]", True),
    "downwards": ("for k in range(m - 1, lo, -2):\n    s += a[i, k] * b[k]", True),
    "a triangle": ("for k in range(min(i, m)):\n    s += a[i, k] * b[k]", True),
    "an array": ("for x in b:\n    s += x", True),
    "two, one in the other": ("for k in range(m):\n    for j in range(3):\n        s += a[i, k] * j", True),
    "none at all": ("for k in range(lo, lo):\n    s += a[i, k]", True),
    "until something happens": (
        "k = 0\nwhile k < m and a[i, k] < 0.99:\n    s += a[i, k]\n    k += 1",
        False,
    ),
    "until something is found": (
        "for k in range(m):\n    s += a[i, k]\n    if s > 9:\n        break",
        False,
    ),
    "a number from memory": ("for k in range(int(b[0] * m)):\n    s += a[i, k]", False),
    "array expressions": ("s += (a[i] * b).sum()", False),
}


@pytest.mark.parametrize("name", ROUNDS)
def test_how_long_a_round_is(name, threads):
    """Small loops over a prange go in ranges of many rounds, where it is known what is in them."""
    body, known = ROUNDS[name]
    text = "def f(a, b, m, lo, out):\n    for i in prange(len(a)):\n        s = 0.0\n"
    text += "".join(f"        {line}\n" for line in body.split("\n")) + "        out[i] = s\n"
    space = {"prange": prange}
    exec(text, space)
    f = parallel(space["f"])
    rng = np.random.default_rng(4)
    for n, m in ((0, 5), (1, 1), (70, 33), (700, 9)):
        check(f, rng.random((n, m)), rng.random(m), m, min(2, m - 1), np.zeros(n), rel=1e-11)
    check(f, rng.random((5, 2)), rng.random(2), 0, 2**62, np.zeros(5))
    loops = [x for x in "".join(f.inspect_ir().values()).split("\n") if "pattern prange" in x]
    assert loops
    assert all("cost(%" in x or "cost 1048576" not in x for x in loops) == known, loops


def test_whether_arrays_share_memory_is_asked_outside_of_loops():
    @parallel
    def f(a, c):
        for k in range(a.shape[1]):
            for j in prange(c.shape[0]):
                c[j] += a[j, k]

    a, c = np.arange(12.0).reshape(4, 3), np.zeros(4)
    check(f, a, c)
    ir = "".join(f.inspect_ir().values())
    before, _, after = ir.partition(" = meet ")
    assert after and not re.search(r"^b[1-9]\d*\(", before, re.M), (
        ir
    )  # no block before it takes a value: no loop has begun
    check(f, a, a[:, 0])
