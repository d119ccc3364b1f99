"""Stores at computed places, `a[i] = v` and `np.add.at` and its kin: NumPy's results on any dtype, layout and overlap, on any number of cores;
what they are given makes no array, and nothing is stored when an index is out of range."""

from __future__ import annotations

import functools
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import treadle
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided
from treadle import _core, njit, prange

sys.path.insert(0, str(Path(__file__).parent))
from arrays_check import ALL, INTS, given, laid_out, values  # noqa: E402

BLOCK = 1 << 15  # rounds from which on a scatter goes by blocks
AT = ["add", "subtract", "multiply", "minimum", "maximum", "bitwise_and", "bitwise_or", "bitwise_xor"]
GIVEN = ["v", "v * 2", "v[::-1]", "v + v[0]", "x", "a[0]", "v - np.arange(len(v))"]


def made(statement, **options):
    space = {"np": np}
    exec(f"def f(a, i, v, x):\n    {statement}\n", space)
    return space["f"], njit(**options)(space["f"])


shared = functools.cache(made)  # examples of the same types share what was compiled


def compared(statement, args, **options):
    """Both ways, on copies; and the same exception with nothing stored. NumPy and what it refuses: None."""
    plain, compiled = shared(statement, **options)
    want = [np.copy(x) for x in args]
    got = [x.copy(order="K") if isinstance(x, np.ndarray) else x for x in args]
    try:
        with np.errstate(all="ignore"):
            plain(*want[:3], args[3])
    except IndexError:
        before = got[0].copy()
        with pytest.raises(IndexError, match="out of bounds"):
            compiled(*got)
        np.testing.assert_array_equal(got[0], before)
        return
    compiled(*got)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-5, atol=1e-6)


@st.composite
def cases(draw, dtypes):
    dtype = draw(st.sampled_from(dtypes))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    n, m = draw(st.sampled_from([1, 2, 7, 40, 300])), draw(st.sampled_from([1, 2, 5, 64]))
    i = rng.integers(-m, m, n).astype(draw(st.sampled_from([np.int64, np.int32, np.int8])))
    if draw(st.sampled_from([False, False, False, True])):
        i[draw(st.integers(0, n - 1))] = draw(st.sampled_from([m, -m - 1]))
    layouts = st.sampled_from(["C", "strided", "negative"])
    a, v = (laid_out(values(dtype, k, rng, special=False), draw(layouts)) for k in (m, n))
    return a, laid_out(i, draw(layouts)), v, values(dtype, 1, rng, special=False)[0]


@given(cases(ALL), st.sampled_from(GIVEN), st.booleans())
def test_assignment(case, value, parallel):
    if case[0].dtype.kind == "b":
        value = value if value in ("v", "v[::-1]", "x", "a[0]") else "v"
    if value.startswith("v - np") and case[0].dtype.kind == "u":
        value = "v"  # int64 into unsigned: the same bits, but uint64 beside int64 is float64
    compared(f"a[i] = {value}", case, parallel=parallel)


@given(cases([np.int32, np.int64, np.uint8, np.uint64, np.float32, np.float64]), st.sampled_from(AT), st.sampled_from(GIVEN[:-1]), st.booleans())  # fmt: skip
def test_at(case, name, value, parallel):
    if "bitwise" in name and case[0].dtype.kind == "f":
        name = "add"
    if name == "multiply":  # stays in range: how powers overflow is not what is tested
        case = (case[0], case[1], np.sign(case[2]), np.sign(case[3]))
    compared(f"np.{name}.at(a, i, {value})", case, parallel=parallel)


@pytest.mark.parametrize("name", ["minimum", "maximum", "add", "multiply"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_odd_floats(name, dtype):
    """NaN and infinities; of zeros either sign will do, as in NumPy."""
    rng = np.random.default_rng(5)
    case = (values(dtype, 9, rng), rng.integers(-9, 9, 200), values(dtype, 200, rng), dtype(0))
    compared(f"np.{name}.at(a, i, v)", case)


@pytest.mark.parametrize("parallel", [False, True])
def test_planes(parallel):
    """Targets of several axes, with slices, integers and arrays among the indices."""
    rng = np.random.default_rng(0)
    for statement in [
        "np.add.at(a, (i, j), v * 2)",
        "np.add.at(a, (i, slice(None)), v[:, None] * 2)",
        "np.add.at(a, (slice(None), j), 1.0)",
        "np.maximum.at(a, (i, 1), v)",
        "np.add.at(a, (i[:, None], j), v[:, None] + v)",
        "a[i, j] = v * 3",
        "a[i] = v[:, None] - 1",
        "a[:, j] = v * 2",
        "a[1::2, j] = v + 1",
        "a[i, -1] = 5",
    ]:
        space = {"np": np}
        exec(f"def f(a, i, j, v):\n    {statement}\n", space)
        for order in "CF":
            a = np.asarray(rng.random((6, 5)), order=order)
            i, j, v = rng.integers(-6, 6, 40), rng.integers(-5, 5, 40), rng.random(40)
            want = a.copy()
            space["f"](want, i, j, v)
            njit(parallel=parallel)(space["f"])(a, i, j, v)
            np.testing.assert_allclose(a, want, rtol=1e-12)


def test_overlap():
    """Everything is read before the first store, whatever lies where: the target itself, a part of it, and indices that are its bytes."""

    @njit
    def put(a, i, v):
        a[i] = v * 2

    @njit
    def add(a, i, v):
        np.add.at(a, i, v * 2)

    rng = np.random.default_rng(3)
    for f, g in [
        (put, lambda a, i, v: a.__setitem__(i, v * 2)),
        (add, lambda a, i, v: np.add.at(a, i, v * 2)),
    ]:
        for view in [lambda a: a, lambda a: a[::-1], lambda a: a[::2], lambda a: a[5:]]:
            a = rng.random(20)
            v = view(a)
            i = rng.integers(-20, 20, len(v))
            want = a.copy()
            g(want, i, v.copy())
            f(a, i, v)
            np.testing.assert_array_equal(a, want)
        a = rng.integers(-8, 8, 16)
        want = a.copy()
        g(want, a.copy(), np.arange(16))
        f(a, a, np.arange(16))
        np.testing.assert_array_equal(a, want)
        for k in range(3):  # the array's own bytes as indices of another type
            room = np.zeros(24, dtype=np.int64)
            room[:16] = rng.integers(-4, 4, 16)
            i, a = room[k : k + 16], room.view(np.float64)[8:]
            want = a.copy()
            g(want, i.copy(), np.arange(16.0))
            f(a, i, np.arange(16.0))
            np.testing.assert_array_equal(a, want)


MIXED = [  # function, the target's type, the values', whether it is a scatter
    ("subtract", "f8", "f8", True),
    ("subtract", "u1", "u1", True),
    ("subtract", "c8", "c8", True),
    ("bitwise_xor", "i4", "i4", True),
    ("bitwise_xor", "?", "?", True),
    ("logical_xor", "?", "f8", True),
    ("logical_or", "?", "i8", True),
    ("logical_and", "?", "?", True),
    ("add", "?", "?", True),
    ("multiply", "?", "?", True),
    ("add", "f8", "i8", True),
    ("add", "f8", "f4", True),
    ("add", "c16", "f4", True),
    ("subtract", "f8", "u8", True),
    ("multiply", "f8", "?", True),
    ("add", "i4", "i8", True),
    ("subtract", "i1", "i8", True),
    ("multiply", "u1", "u4", True),
    ("bitwise_xor", "u2", "u8", True),
    ("minimum", "f4", "f8", True),
    ("maximum", "f4", "i8", True),
    ("minimum", "i1", "i4", False),  # what the target does not hold is cut off after each comparison
    ("add", "f4", "f8", False),  # each sum is rounded twice
    ("multiply", "f4", "i8", False),
    ("logical_or", "i8", "i8", False),  # what is stored is not of the target's type
]


@pytest.mark.parametrize("name, to, of, scatters", MIXED)
def test_mixed_types(name, to, of, scatters):
    """NumPy computes in the common type and stores each result: a scatter where that is the same, with any number of places and threads."""
    rng = np.random.default_rng(11)
    plain, one = made(f"np.{name}.at(a, i, v)")
    many = njit(parallel=True)(plain)
    for n, m in ((500, 9), (70_000, 3), (0, 2)):
        a, v = (values(np.dtype(t), k, rng, special=False) for t, k in ((to, m), (of, n)))
        if np.dtype(of).kind in "iu" and np.dtype(to).kind != "?":
            v = rng.integers(0, 2**7 if of[1] == "1" else 2**31 - 1, n).astype(of)
        if name == "multiply" and np.dtype(to).kind == "f":
            v = (v > 0).astype(of)
        i = rng.integers(-m, m, n)
        want, got, other = a.copy(), a.copy(), a.copy()
        with np.errstate(all="ignore"):
            plain(want, i, v, None)
        one(got, i, v, a[0])
        many(other, i, v, a[0])
        if np.dtype(to).kind in "biu" or n < BLOCK or name in ("minimum", "maximum"):
            np.testing.assert_array_equal(got, want)
        else:
            np.testing.assert_allclose(got, want, rtol=1e-6)
        assert other.tobytes() == got.tobytes()
    (text,) = one.inspect_ir().values()
    assert ("scatter(" in text) == scatters, text


@pytest.mark.parametrize("grain, backwards", [(1 << 40, True), (7, False), (7, True)])
@pytest.mark.parametrize(
    "statement", ["a[i, j] = v", "np.add.at(a, (i, j), v)", "np.multiply.at(a, (i, j), v)"]
)
def test_a_target_that_shares_memory_with_itself(statement, grain, backwards):
    """Its elements are stored to in order, as on one core: no table and no part of it is a thread's own."""
    space = {"np": np}
    exec(f"def f(a, i, j, v): {statement}", space)
    one, many = njit(space["f"]), njit(parallel=True)(space["f"])
    rng = np.random.default_rng(3)
    n = 3000
    v = rng.choice([0.5, 1.0, 2.0], n)
    for shape, strides in (((9, 4), (8, 8)), ((9, 4), (0, 8)), ((4, 5), (16, 32)), ((9, 4), (32, 8)), ((4, 9), (8, 32)), ((9, 4), (72, 16))):  # fmt: skip
        want, got = (np.ones(90) for _ in range(2))
        i, j = (rng.integers(0, m, n) for m in shape)
        one(as_strided(want, shape, strides), i, j, v)
        plain = np.ones(90)
        here = as_strided(plain, shape, strides)
        for x, y, z in zip(i, j, v, strict=True):
            here[x, y] = z if "=" in statement else here[x, y] * z if "mul" in statement else here[x, y] + z
        _core._pool_grain(grain, backwards)
        try:
            many(as_strided(got, shape, strides), i, j, v)
        finally:
            _core._pool_grain(0)
        np.testing.assert_array_equal(want, plain)
        np.testing.assert_array_equal(got, plain)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("width", [1, 2])
def test_what_no_round_multiplies_stays_what_it_was(dtype, width):
    """Tables of products begin with 1, by which an infinite complex number would become none, and -0.0j would be 0.0j."""
    n = 100_000
    i, v = np.arange(n) % 3, np.ones((n, width), dtype)
    v[::1000] = 1j

    def f(i, v, m):
        a = np.full((5, v.shape[1]), m)
        np.multiply.at(a, i, v)
        return a

    for m in (complex(np.inf, 1), complex(1, -0.0), complex(np.nan, -np.inf)):
        m = dtype(m)
        for parallel in (False, True):
            got = njit(parallel=parallel)(f)(i, v, m)
            assert got[3:].tobytes() == np.full((2, width), m).tobytes()
            if np.isfinite(m):
                np.testing.assert_array_equal(got[:3], f(i, v, m)[:3])


PARTS = [
    "a[i] = v",
    "a[i] = v * 2 + x",
    "np.add.at(a, i, v)",
    "np.multiply.at(a, i, v)",
    "np.maximum.at(a, i, v * 2)",
    "a[i] = x",
]


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("statement", PARTS)
def test_parts_of_the_target(statement, backwards):
    """Each thread takes a part of the target and goes through all rounds: the bits of one thread."""
    plain, one = made(statement)
    many = njit(parallel=True)(plain)
    rng = np.random.default_rng(8)
    _core._pool_grain(1 << 40, backwards)  # no tables
    try:
        for dtype in (np.float64, np.float32, np.int8, np.int32, np.uint64, np.bool_, np.complex128):
            if dtype in (np.bool_, np.complex128) and ("v * 2" in statement or "maximum" in statement):
                continue
            for n, m in ((500, 1), (500, 300), (40, 5000), (0, 700), (31, 64), (33, 65)):
                for layout in ("C", "strided", "negative"):
                    a = laid_out(values(dtype, m, rng, special=False), layout)
                    i, v = rng.integers(-m, m, n), values(dtype, n, rng, special=False)
                    want, got = a.copy(order="K"), a.copy(order="K")
                    one(want, i, v, a[0])
                    many(got, i, v, a[0])
                    assert want.tobytes() == got.tobytes()
    finally:
        _core._pool_grain(0)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "statement",
    ["a[i, j] = v", "np.add.at(a, (i, j), v)", "a[i] = v[:, None]", "np.minimum.at(a, (i[:, None], j), v)"],
)
def test_parts_of_a_plane(statement, order):
    space = {"np": np}
    exec(f"def f(a, i, j, v):\n    {statement}\n", space)
    rng = np.random.default_rng(9)
    i, j, v = rng.integers(-40, 40, 90), rng.integers(-31, 31, 90), rng.random(90)
    want = np.asarray(rng.random((40, 31)), order=order)
    got = want.copy(order="K")
    njit(space["f"])(want, i, j, v)
    _core._pool_grain(1 << 40)
    try:
        njit(parallel=True)(space["f"])(got, i, j, v)
    finally:
        _core._pool_grain(0)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("statement", ["a[i] = v", "np.add.at(a, i, v)"])
def test_large_targets(statement, threads):
    """So large that the runtime makes parts by itself: the same bits."""
    plain, one = made(statement)
    n, m = 70_000, (1 << 21) + 77
    rng = np.random.default_rng(10)
    i, v = rng.integers(-m, m, n), rng.random(n)
    i[::7] = i[0]
    want, got = np.zeros(m), np.zeros(m)
    one(want, i, v, 0.0)
    njit(parallel=True)(plain)(got, i, v, 0.0)
    np.testing.assert_array_equal(got, want)


HOT = {
    "np.add.at(h, i, w * 2)": 0,
    "np.add.at(h, i, w * w + w)": 0,
    "h[i] = w - 1": 0,
    "np.maximum.at(h, i, np.sqrt(w) + 1)": 0,
    "np.subtract.at(h, i, w * 2)": 0,
    "h = np.zeros(10)\n    np.add.at(h, i, w * 2)": 1,
}


@pytest.mark.parametrize("body", HOT)
def test_no_array(body):
    """Where sizes agree and nothing overlaps, only arrays that the program asks for are made."""
    space = {"np": np}
    exec(f"def f(h, i, w):\n    {body}\n    return h\n", space)
    f = njit(space["f"])
    h = np.zeros(10)
    f(h, np.arange(5), np.arange(5.0))
    (text,) = f.inspect_ir().values()
    hot = [b for b in text.split("\nb") if "cold" not in b.split("\n")[0]]
    assert sum(b.count("= alloc ") for b in hot) == HOT[body], text
    assert sum(b.count("scatter(") for b in hot) == 1, text


def test_in_loops_and_calls():
    """In a function that is called, inlined or not, in a loop, and in a loop over a prange, which collects in arrays of its own."""

    @njit
    def collect(h, i, w):
        np.add.at(h, i, w * 2)

    @njit
    def rounds(h, i, w, n):
        for k in range(n):
            collect(h, i, w + k)
            h[i[:2]] = w[:2] * k

    @njit(parallel=True)
    def ranges(h, i, w, n):
        for k in prange(n):
            np.add.at(h, i, w * k)

    rng = np.random.default_rng(2)
    i, w = rng.integers(-7, 7, 50), np.floor(rng.random(50) * 8)
    got, want = np.zeros(7), np.zeros(7)
    rounds(got, i, w, 4)
    for k in range(4):
        np.add.at(want, i, (w + k) * 2)
        want[i[:2]] = w[:2] * k
    np.testing.assert_array_equal(got, want)
    got, want = np.zeros(7), np.zeros(7)
    ranges(got, i, w, 100)
    for k in range(100):
        np.add.at(want, i, w * k)
    np.testing.assert_array_equal(got, want)


def test_index_error_stores_nothing():
    @njit
    def f(h, i, w):
        np.add.at(h, i, w * 2)

    for bad in (5, -6):
        h = np.zeros(5)
        with pytest.raises(IndexError, match=f"index {bad} is out of bounds for axis 0 with size 5"):
            f(h, np.array([0, 1, bad]), np.ones(3))
        assert not h.any()
    f(h, np.array([], dtype=np.int64), np.ones(0))
    with pytest.raises(ValueError, match="broadcast"):
        f(h, np.array([0, 1]), np.ones(3))
    assert not h.any()


@pytest.mark.parametrize("dtype", INTS)
def test_wraps(dtype):
    """Whole numbers wrap as in NumPy."""

    @njit
    def f(h, i, w):
        np.add.at(h, i, w)
        np.multiply.at(h, i, w)

    rng = np.random.default_rng(7)
    w, i = values(dtype, 60, rng), rng.integers(0, 4, 60)
    got, want = values(dtype, 4, rng), None
    want = got.copy()
    f(got, i, w)
    np.add.at(want, i, w)
    np.multiply.at(want, i, w)
    np.testing.assert_array_equal(got, want)


# --- on all cores ---

LENGTHS = [BLOCK, BLOCK + 1, 2 * BLOCK + 7, 300_001]


def both(f):
    return njit(f), njit(parallel=True)(f)


def add_at(h, i, w):
    np.add.at(h, i, w * 2)


def multiply_at(h, i, w):
    np.multiply.at(h, i, w)


def maximum_at(h, i, w):
    np.maximum.at(h, i, w)


@pytest.mark.parametrize("f", [add_at, multiply_at, maximum_at])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.uint8, np.complex64])
def test_same_bits_on_any_number_of_threads(f, dtype):
    if f is maximum_at and dtype is np.complex64:
        return
    one, many = both(f)
    rng = np.random.default_rng(1)
    for n in LENGTHS:
        for m in (1, 10, 3000, n):
            i, w = rng.integers(-m, m, n), (rng.random(n) + 0.5).astype(dtype)
            start = (rng.random(m) * 9).astype(dtype)
            want, plain = start.copy(), start.copy()
            one(want, i, w)
            with np.errstate(all="ignore"):
                f(plain, i, w)
            if f is not multiply_at:
                np.testing.assert_allclose(want, plain, rtol=1e-3 if dtype == np.float32 else 1e-4)
            if dtype in (np.int32, np.uint8) or f is maximum_at or n <= BLOCK or 16 * m >= n:
                np.testing.assert_array_equal(want, plain)
            for threads in (1, 2, 4):
                before = treadle.get_num_threads()
                treadle.set_num_threads(min(threads, before))
                try:
                    got = start.copy()
                    many(got, i, w)
                finally:
                    treadle.set_num_threads(before)
                assert got.tobytes() == want.tobytes()


def put(a, i, v):
    a[i] = v


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8, np.bool_, np.complex128])
def test_the_last_one_stays_on_any_number_of_threads(dtype, threads):
    """Ranges that store nothing at some places leave there what is."""
    one, many = both(put)
    rng = np.random.default_rng(4)
    for n, m in ((BLOCK, 9), (2 * BLOCK + 7, 3000), (300_001, 20_000), (300_001, 1), (300_001, 300_001)):
        i, v = rng.integers(-m, m, n), values(np.dtype(dtype), n, rng)
        i[: n // 2] //= 2
        want = values(np.dtype(dtype), m, rng)
        start = want.copy()
        want[i] = v
        for f in (one, many):
            got = start.copy()
            f(got, i, v)
            assert got.tobytes() == want.tobytes()


@given(st.integers(0, 60), st.integers(1, 9), st.integers(1, 5), st.booleans(), st.integers(0, 99))
def test_the_last_one_stays_in_short_ranges(n, m, grain, backwards, seed):
    rng = np.random.default_rng(seed)
    i, j, v = rng.integers(-m, m, n), rng.integers(-3, 3, n), rng.random(n)
    _core._pool_grain(grain, backwards)
    try:
        for f in PUTS:
            for make in (lambda: np.zeros((m, 3)), lambda: np.zeros((m, 3), order="F"), lambda: np.zeros((2 * m, 6))[::-2, ::2]):  # fmt: skip
                got, want = make(), make()
                f(got, i, j, v)
                f.py_func(want, i, j, v)
                np.testing.assert_array_equal(got, want)
    finally:
        _core._pool_grain(0)


def put_points(a, i, j, v):
    a[i, j] = v


def put_rows(a, i, j, v):
    a[i] = v[:, None] * np.arange(3)


def put_columns(a, i, j, v):
    a[:, j] = 2 * v


def put_number(a, i, j, v):
    a[i, 1] = 7


PUTS = [njit(parallel=True)(f) for f in (put_points, put_rows, put_columns, put_number)]


@given(st.integers(0, 60), st.integers(1, 9), st.integers(1, 5), st.integers(0, 99))
def test_short_ranges(n, m, grain, seed):
    """As many tables as there are indices, or a few less; targets of one and two axes, strided ones too."""
    rng = np.random.default_rng(seed)
    i, j, w = rng.integers(-m, m, n), rng.integers(-3, 3, n), rng.integers(-9, 9, n)
    _core._pool_grain(grain, True)
    try:
        got, want = np.zeros(2 * m, np.int64)[::2], np.zeros(m, np.int64)
        SHORT[0](got, i, w)
        np.add.at(want, i, w)
        np.testing.assert_array_equal(got, want)
        for order in "CF":
            got = np.ones((m, 3), np.int32, order=order)
            want = got.copy()
            SHORT[1](got, i, j, w.astype(np.int32))
            np.maximum.at(want, (i, j), w.astype(np.int32))
            np.testing.assert_array_equal(got, want)
            SHORT[2](got, i)
            np.add.at(want, (i, slice(None)), 1)
            np.testing.assert_array_equal(got, want)
    finally:
        _core._pool_grain(0)


SHORT = [
    njit(parallel=True)(lambda h, i, w: np.add.at(h, i, w)),
    njit(parallel=True)(lambda h, i, j, w: np.maximum.at(h, (i, j), w)),
    njit(parallel=True)(lambda h, i: np.add.at(h, (i, slice(None)), 1)),
]


def test_tables_go_again():
    """No block of memory is left, whether the call ends well or not."""
    one, many = both(add_at)
    i, w = np.arange(5 * BLOCK) % 7, np.ones(5 * BLOCK)
    for f in (one, many):
        h = np.zeros(7)
        for _ in range(20):
            f(h, i, w)
        with pytest.raises(IndexError):
            f(h, i + 1, w)
        np.testing.assert_array_equal(h, 2.0 * np.bincount(i) * 20)
        assert f.stats is not None


def test_in_ranges_and_threads():
    @njit(parallel=True)
    def rows(h, i, w):
        for k in prange(len(h)):
            np.add.at(h[k], i, w * k)

    i, w = np.arange(3 * BLOCK) % 5, np.full(3 * BLOCK, 0.1)
    h = np.zeros((6, 5))
    rows(h, i, w)
    one = njit(lambda h, i, w, k: np.add.at(h, i, w * k))
    for k in range(6):
        want = np.zeros(5)
        one(want, i, w, k)
        assert want.tobytes() == h[k].tobytes()
    wrong = []
    _, many = both(add_at)
    want = np.zeros(5)
    many(want, i, w)

    def again():
        for _ in range(5):
            got = np.zeros(5)
            many(got, i, w)
            if got.tobytes() != want.tobytes():
                wrong.append(got)

    pool = [threading.Thread(target=again) for _ in range(4)]
    for t in pool:
        t.start()
    for t in pool:
        t.join()
    assert not wrong
