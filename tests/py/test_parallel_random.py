"""treadle.parallel.random: known answers, one result by every way, and that the numbers are what they should be."""

from __future__ import annotations

import linecache
import os
import re
import subprocess
import sys
from math import cos, erf, log, pi, sin, sqrt
from pathlib import Path

import numpy as np
import pytest
import treadle
import treadle.parallel.random as tr
from primitives_model import MASK, stream, words_of
from treadle import cuda, njit
from treadle._library import philox


def compute(x):
    return np.asarray(x)


@njit
def block(key, at, row):
    return philox.block(key, at, row, 0)


# counter, key and output, published with the generator
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


@pytest.mark.parametrize(("counter", "key", "want"), KNOWN)
def test_known_answers(counter, key, want):
    c, k, w = ([int(x, 16) for x in text.split()] for text in (counter, key, want))
    assert words_of(tuple(c), tuple(k)) == w
    got = block(np.uint64(k[0] | k[1] << 32), np.uint64(c[0] | c[1] << 32), np.uint64(c[2] | c[3] << 32))
    assert [int(x) for x in got] == w


# --- where items get their words ---

SHAPES = [(), (0,), (1,), (2,), (3,), (4,), (7,), (64,), (257,), (2, 9), (3, 0), (0, 3), (5, 1), (4, 2, 3)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_layout(shape):
    key = 0x0123456789ABCDEF
    n = shape[-1] if shape else 1
    rows = int(np.prod(shape[:-1], dtype=int))
    want = np.array([stream(key, r, n) for r in range(rows)], np.uint32).reshape(shape)
    assert np.array_equal(compute(tr.bits(np.uint64(key), shape)), want)
    pairs = np.array([stream(key, r, 2 * n) for r in range(rows)], np.uint64).reshape(*shape, 2)
    wide = pairs[..., 0] | pairs[..., 1] << np.uint64(32)
    assert np.array_equal(compute(tr.bits(np.uint64(key), shape, np.uint64)), wide)
    assert np.array_equal(compute(tr.bits(np.uint64(key), shape, "u2")), want >> np.uint32(16))
    assert np.array_equal(compute(tr.bits(np.uint64(key), shape, np.uint8)), want >> np.uint32(24))
    unit = compute(tr.uniform(np.uint64(key), shape, np.float32))
    assert unit.dtype == np.float32 and np.array_equal(unit, (want >> np.uint32(8)) * 2.0**-24)
    unit = compute(tr.uniform(np.uint64(key), shape))
    assert unit.dtype == np.float64 and np.array_equal(unit, (wide >> np.uint64(11)) * 2.0**-53)


def test_a_stream_does_not_hang_on_its_length():
    k = tr.key(5)
    for draw in (tr.bits, tr.uniform, tr.normal):
        long = compute(draw(k, (3, 1001)))
        for n in (1, 5, 16, 1000):
            assert np.array_equal(compute(draw(k, n)), long[0, :n])
            assert np.array_equal(compute(draw(k, (3, n))), long[:, :n])
    assert np.array_equal(compute(tr.split(k, 7))[:2], compute(tr.split(k)))


def normals(key: int, row: int, n: int, bits: int) -> np.ndarray:
    words = stream(key, row, n if bits == 32 else 2 * n + 2)
    words += stream(key, row, len(words) + 4)[len(words) :]
    out = []
    for i in range(0, n, 2):
        if bits == 32:
            u, v, whole = words[i], words[i + 1], 2.0**32
        else:
            w = words[2 * i : 2 * i + 4]
            u, v, whole = (w[0] | w[1] << 32) >> 11, (w[2] | w[3] << 32) >> 11, 2.0**53
        r, t = sqrt(-2 * log((u + 1) / whole)), 2 * pi * (v / whole)
        out += [r * cos(t), r * sin(t)]
    return np.array(out[:n])


@pytest.mark.parametrize(("dtype", "bits", "near"), [(np.float32, 32, 2e-6), (np.float64, 53, 4e-15)])
def test_normal_numbers_are_those_of_their_formula(dtype, bits, near):
    for row, x in enumerate(compute(tr.normal(np.uint64(99), (3, 4001), dtype))):
        assert np.allclose(x, normals(99, row, 4001, bits), rtol=0, atol=near)


def test_ends_of_the_normal_formula():
    """Radius 0, the longest, and each quarter of the angle; at a quarter's border, too."""

    @njit
    def both(u, v, turn):
        f = philox.polar(u, v, turn, 32, np.float32, philox.LOG32, philox.SIN32, philox.COS32)
        return f, philox.polar(
            u << np.uint64(21), v << np.uint64(21), turn, 53, np.float64, philox.LOG64, philox.SIN64, philox.COS64
        )  # fmt: skip

    for u in (0, 1, 2, MASK, MASK - 1, MASK >> 1, (MASK >> 1) + 1, 3 << 30, (3 << 30) - 1):
        for v in (0, 1, 1 << 29, (1 << 29) - 1, 1 << 30, 3 << 29, 1 << 31, 5 << 29, 7 << 29, MASK):
            for turn, of in ((0, cos), (1, sin)):
                f, d = both(np.uint64(u), np.uint64(v), np.uint64(turn))
                wave = of(2 * pi * v / 2**32)
                assert abs(f - sqrt(-2 * log((u + 1) / 2**32)) * wave) < 2e-6
                assert abs(d - sqrt(-2 * log(((u << 21) + 1) / 2**53)) * wave) < 4e-15


# --- one result by every way ---

DRAWS = {
    "bits": lambda k: tr.bits(k, (3, 37)),
    "float32": lambda k: tr.uniform(k, 133, np.float32),
    "float64": lambda k: tr.uniform(k, (3, 37)),
    "between": lambda k: tr.uniform(k, (3, 37), np.float32, -1.5, 2.5),
    "normal32": lambda k: tr.normal(k, (3, 37), np.float32),
    "normal64": lambda k: tr.normal(k, (2, 3, 5)),
    "columns": lambda k: tr.normal(k, (37, 3), np.float32),
    "integers": lambda k: tr.randint(k, -5, 100, (3, 37)),
    "all integers": lambda k: tr.randint(k, 0, 2**64 - 1, 37, np.uint64),
    "bytes": lambda k: tr.randint(k, -128, 128, 37, np.int8),
    "keys": lambda k: tr.split(k, 5),
    "folded": lambda k: tr.fold_in(k, 17),
    "places": lambda k: tr.choice(k, 50, (3, 5)),
    "some": lambda k: tr.choice(k, 50, 12, False),
    "order": lambda k: tr.permutation(k, 41),
}
COMPILED = {name: njit(f) for name, f in DRAWS.items()}
ON_CORES = {name: njit(parallel=True)(f) for name, f in DRAWS.items()}


@pytest.mark.parametrize("name", DRAWS)
def test_lazy_compiled_and_in_python(name):
    for seed in (0, 7, 2**64 - 1):
        k = tr.key(seed)
        lazy, got = compute(DRAWS[name](k)), compute(COMPILED[name](k))
        assert lazy.dtype == got.dtype or lazy.ndim == 0
        assert lazy.shape == got.shape and lazy.tobytes() == got.astype(lazy.dtype).tobytes()


@pytest.mark.parametrize("name", ["bits", "float32", "float64", "between", "normal32", "normal64", "columns"])
def test_as_python_runs_it(name):
    """The library's functions are NumPy: numbers alone, without vectors, one after the other."""
    k = np.uint64(7)
    draw = DRAWS[name]
    plain = type(draw)(draw.__code__, {"tr": philox, "np": np})
    with np.errstate(over="ignore"):
        want = plain(k)
    got = compute(COMPILED[name](k))
    assert got.dtype == want.dtype and got.tobytes() == want.tobytes()


@pytest.mark.parametrize("name", DRAWS)
def test_any_number_of_threads(name):
    k = tr.key(3)
    want = compute(COMPILED[name](k)).tobytes()
    before = treadle.get_num_threads()
    try:
        for n in {1, 2, min(4, before)}:
            treadle.set_num_threads(n)
            assert compute(ON_CORES[name](k)).tobytes() == want
    finally:
        treadle.set_num_threads(before)


def test_many_on_all_cores():
    @njit(parallel=True)
    def f(k, n):
        x = tr.normal(k, (n,), np.float32)
        return x, x.max(), tr.uniform(k, (n,)).sum()

    @njit
    def g(k, n):
        x = tr.normal(k, (n,), np.float32)
        return x, x.max(), tr.uniform(k, (n,)).sum()

    for n in (100_003, 1_000_000):
        a, b = f(tr.key(1), n), g(tr.key(1), n)
        assert a[0].tobytes() == b[0].tobytes() and a[1:] == b[1:]


@pytest.mark.parametrize("start", range(6))
def test_parts_of_what_is_drawn(start):
    """A slice is computed where it stands, whatever its beginning."""

    @njit
    def part(k, n, i):
        return tr.normal(k, (n,), np.float32)[i:] * 1

    @njit
    def total(k, n):
        return tr.bits(k, (3, n))[1, 5:].max(), tr.uniform(k, (n,))[::3].max()

    k = tr.key(11)
    for n in (6, 7, 30, 101):
        assert np.array_equal(part(k, n, start), compute(tr.normal(k, n, np.float32))[start:])
        m, s = total(k, n)
        assert m == compute(tr.bits(k, (3, n)))[1, 5:].max()
        assert s == compute(tr.uniform(k, n))[::3].max()


def test_in_a_prange_a_loop_and_twice():
    @njit(parallel=True)
    def rows(k, n, m):
        out = np.empty((n, m))
        for i in treadle.prange(n):
            out[i] = tr.uniform(tr.fold_in(k, i), (m,))
        return out

    @njit
    def twice(k, n):
        a, b = tr.split(k)
        return tr.normal(a, (n,)) + tr.normal(b, (n,))

    k = tr.key(4)
    for i, row in enumerate(rows(k, 9, 21)):
        assert np.array_equal(row, compute(tr.uniform(tr.fold_in(k, i), 21)))
    a, b = tr.split(k)
    assert np.array_equal(twice(k, 55), compute(tr.normal(a, 55)) + compute(tr.normal(b, 55)))


def test_in_a_kernel():
    """Single numbers, by a key for each thread."""

    @cuda.jit
    def kernel(k, x, y):
        i = cuda.grid(1)
        if i < x.size:
            own = tr.fold_in(k, i)
            x[i] = tr.normal(own, (), np.float32)
            y[i] = tr.uniform(own)

    k = tr.key(3)
    x, y = np.zeros(50, np.float32), np.zeros(50)
    kernel[2, 32](k, x, y)
    for i in range(50):
        own = tr.fold_in(k, i)
        assert x[i] == compute(tr.normal(own, (), np.float32)) and y[i] == compute(tr.uniform(own))


# --- no arrays, nothing compiled anew ---

PI = """
import numpy as np
import treadle.parallel.random as tr

r = tr.uniform(tr.key(7), (2, 100_000))
x, y = r[0], r[1]
print(4 * float((x * x + y * y < 1).mean()))
"""


def run(text: str, **env: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **env},
        check=True,
    )


def test_samples_that_are_only_counted_are_no_array():
    r = run(PI, TREADLE_DUMP="opt:schedule")
    kernels = [line for line in r.stderr.splitlines() + r.stdout.splitlines() if "= pattern" in line]
    arrays = [
        line
        for line in r.stderr.splitlines() + r.stdout.splitlines()
        if "= alloc" in line and "[0c]" not in line
    ]
    assert len(kernels) == 1 and "unroll 2" in kernels[0] and not arrays
    assert abs(float(r.stdout.split()[-1]) - pi) < 0.02


def test_another_key_compiles_nothing():
    text = """
import sys
import numpy as np
import treadle.parallel.random as tr
for n in range(5):
    print("new", n, file=sys.stderr, flush=True)
    k = tr.key(n)
    float(tr.normal(k, (10 + n,)).sum()) + float(tr.randint(k, n - 2, n, 100 + n).sum())
    np.asarray(tr.permutation(tr.fold_in(k, n), 9 + n)), np.asarray(tr.split(k, 3 + n)), np.asarray(tr.choice(k, 3 + n))
"""
    said = run(text, TREADLE_DUMP="infer").stderr
    assert said.count("; --- infer") == said.split("new 1")[0].count("; --- infer") > 0


# --- keys ---


def test_seeds():
    assert tr.key(7) == 7 and tr.key(-1) == tr.key(2**64 - 1) == 2**64 - 1
    assert type(tr.key(7)) is np.uint64 and type(tr.key(np.int8(7))) is np.uint64
    for bad in (2**64, -(2**63) - 1):
        with pytest.raises(OverflowError, match="64 bits"):
            tr.key(bad)
    for bad in (1.5, "7", None):
        with pytest.raises(TypeError):
            tr.key(bad)

    @njit
    def compiled(n):
        return tr.uniform(tr.key(n), (3,))

    for n in (7, -1):
        assert np.array_equal(compiled(n), compute(tr.uniform(tr.key(n), 3)))


def test_keys_are_made_of_other_counters_than_draws():
    k = 12345
    words = words_of((3, 0, 0, 1 << 24), (k, 0))
    assert int(compute(tr.split(np.uint64(k), 5))[3]) == words[0] | words[1] << 32
    words = words_of((3, 0, 0, 2 << 24), (k, 0))
    assert int(compute(tr.fold_in(np.uint64(k), 3))) == words[0] | words[1] << 32


def test_split_keys_have_nothing_in_common():
    k = tr.key(0)
    keys = np.concatenate(
        [
            compute(tr.split(k, 50)),
            [compute(tr.fold_in(k, i))[()] for i in range(50)],
            np.arange(50, dtype=np.uint64),
        ]
    )
    assert len(set(keys.tolist())) == 150
    drawn = np.array([compute(tr.bits(x, 256)) for x in keys])
    assert (
        len(np.unique(drawn)) > drawn.size - 5
    )  # of 38,400 words of 32 bits a pair is equal every fifth time
    signs = np.array([compute(tr.normal(x, 4096)) for x in keys[::5]])
    c = np.corrcoef(signs) - np.eye(len(signs))
    assert np.abs(c).max() < 5 / sqrt(4096)


# --- are they random? Seeds are fixed, so each of these holds always or never. ---


def chi_square(counts: np.ndarray, expected: np.ndarray | float) -> float:
    """How many standard deviations off."""
    x = ((counts - expected) ** 2 / expected).sum()
    free = counts.size - 1
    return float((x - free) / sqrt(2 * free))


@pytest.mark.parametrize("seed", [0, 1, 2**63])
def test_frequencies(seed):
    k = tr.key(seed)
    n = 1_000_000
    w = compute(tr.bits(k, n))
    for shift in (0, 8, 16, 24):
        assert abs(chi_square(np.bincount(w >> np.uint32(shift) & np.uint32(255)), n / 256)) < 4.5
    pairs = (w[:-1] >> np.uint32(26)) * np.uint32(64) + (w[1:] >> np.uint32(26))
    assert abs(chi_square(np.bincount(pairs, minlength=4096), (n - 1) / 4096)) < 4.5
    assert abs(chi_square(np.bincount(compute(tr.randint(k, 0, 1000, n)), minlength=1000), n / 1000)) < 4.5
    rows = compute(tr.bits(k, (n, 1), np.uint8))[:, 0]
    assert abs(chi_square(np.bincount(rows, minlength=256), n / 256)) < 4.5


def distance(x: np.ndarray, cdf: np.ndarray) -> float:
    """Kolmogorov's: 1.95 is passed once in a thousand times."""
    n = len(x)
    steps = np.arange(n + 1) / n
    return float(max(np.abs(cdf - steps[:-1]).max(), np.abs(cdf - steps[1:]).max()) * sqrt(n))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distributions(dtype):
    n = 200_000
    for seed in (0, 1):
        u = np.sort(compute(tr.uniform(tr.key(seed), n, dtype)).astype(float))
        assert u[0] >= 0 and u[-1] < 1 and distance(u, u) < 1.95
        x = compute(tr.normal(tr.key(seed), n, dtype)).astype(float)
        assert abs(x.mean()) < 4 / sqrt(n) and abs(x.var() - 1) < 4 * sqrt(2 / n)
        assert abs((x**3).mean()) < 4 * sqrt(15 / n) and abs((x**4).mean() - 3) < 4 * sqrt(96 / n)
        assert abs(np.corrcoef(x[::2], x[1::2])[0, 1]) < 4 / sqrt(n / 2)
        x.sort()
        assert distance(x, np.array([0.5 * (1 + erf(v / sqrt(2))) for v in x])) < 1.95


def test_bounds_of_uniform():
    k = tr.key(1)
    for low, high in ((-3, 5), (0.5, 0.75), (2.0, -2.0)):
        x = compute(tr.uniform(k, 1000, np.float64, low, high))
        assert np.array_equal(x, low + compute(tr.uniform(k, 1000)) * (high - low))
    assert np.array_equal(compute(tr.uniform(k, 9, np.float64, 0, 1)), compute(tr.uniform(k, 9)))


# --- integers ---


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_whole_ranges_of_types(dtype):
    t = np.iinfo(dtype)
    words = [a | b << 32 for a, b in np.array(stream(9, 0, 400), object).reshape(-1, 2)]
    for low, high in ((t.min, t.max), (t.max - 1, t.max), (t.min, t.min + 3), (t.max // 2, t.max // 2 + 7)):
        x = compute(tr.randint(tr.key(9), low, high, 200, dtype))
        assert x.dtype == dtype and x.tolist() == [low + (w * (high - low) >> 64) for w in words]


def test_bounds_that_are_arrays():
    k = tr.key(2)
    low, high = np.arange(4), np.array([[5], [9], [12]])
    x = compute(tr.randint(k, low, high, (3, 4)))
    words = compute(tr.bits(k, (3, 4), np.uint64))
    want = [[int(a) + (int(w) * int(b[0] - a) >> 64) for a, w in zip(low, r)] for b, r in zip(high, words)]
    assert x.tolist() == want
    with pytest.raises(ValueError, match="broadcast"):
        compute(tr.randint(k, low, high, (4,)))


# --- items ---


def test_choices():
    k = tr.key(6)
    a = np.arange(20.0).reshape(10, 2)
    at = compute(tr.choice(k, 10, (3, 4)))
    assert at.shape == (3, 4) and at.min() >= 0 and at.max() < 10
    assert np.array_equal(compute(tr.choice(k, a, (3, 4))), a[at])
    assert np.array_equal(at, compute(tr.randint(k, 0, 10, (3, 4))))
    for n in (0, 1, 7, 10):
        some = compute(tr.choice(k, 10, n, False))
        assert len(some) == n == len(set(some.tolist()))
        assert np.array_equal(some, compute(tr.permutation(k, 10))[:n])
    assert compute(tr.choice(k, a)).shape == (2,)


def test_weighted_choices():
    k = tr.key(8)
    p = np.array([0, 3.0, 0, 1.0, 6.0, 0])
    n = 100_000
    counts = np.bincount(compute(tr.choice(k, 6, n, True, p)), minlength=6)
    assert (counts[p == 0] == 0).all()
    assert abs(chi_square(counts[p > 0], n * p[p > 0] / p.sum())) < 4
    first = np.zeros(6, int)
    for seed in range(400):
        some = compute(tr.choice(tr.key(seed), 6, 3, False, p))
        assert sorted(some.tolist()) == [1, 3, 4]
        first[some[0]] += 1
    assert abs(chi_square(first[p > 0], 400 * p[p > 0] / p.sum())) < 4


def test_permutations():
    k = tr.key(5)
    a = np.arange(12).reshape(4, 3)
    order = compute(tr.permutation(k, 4))
    assert np.array_equal(compute(tr.permutation(k, a)), a[order])
    assert np.array_equal(compute(tr.permutation(k, a, 1)), a[:, compute(tr.permutation(k, 3))])
    assert compute(tr.permutation(k, 0)).shape == (0,)
    counts = np.zeros((5, 5))
    for seed in range(2000):
        counts[np.arange(5), compute(tr.permutation(tr.key(seed), 5))] += 1
    assert abs(chi_square(counts, 400.0)) < 4


# --- what is wrong ---

WRONG = [
    (lambda k: tr.uniform(k, 3, np.int32), TypeError, "uniform numbers are float32 or float64"),
    (lambda k: tr.normal(k, 3, np.complex128), TypeError, "normal numbers are float32 or float64"),
    (lambda k: tr.bits(k, 3, np.int32), TypeError, "bits are uint8, uint16, uint32 or uint64"),
    (lambda k: tr.randint(k, 0, 3, 3, np.float64), TypeError, "randint.. gives integers"),
    (lambda k: tr.uniform(1.5, 3), TypeError, "a key is what key"),
    (lambda k: tr.uniform(np.zeros(2, np.uint64), 3), TypeError, "a key is one number"),
    (lambda k: tr.fold_in(k, 1.5), TypeError, "what is folded in is an integer"),
    (lambda k: tr.randint(k, 3, 3, 3), ValueError, "minval >= maxval"),
    (lambda k: tr.randint(k, 0, 300, 3, np.int8), ValueError, "maxval is out of bounds"),
    (lambda k: tr.randint(k, -1, 3, 3, np.uint8), ValueError, "minval is out of bounds"),
    (lambda k: tr.randint(k, 0.5, 3, 3), TypeError, "minval and maxval are integers"),
    (lambda k: tr.choice(k, 0, 3), ValueError, "non-empty"),
    (lambda k: tr.choice(k, 3, 4, False), ValueError, "larger sample"),
    (lambda k: tr.choice(k, 3, 4, True, np.ones(2)), ValueError, "same size"),
    (lambda k: tr.choice(k, 2, 4, True, np.array([1.0, -1.0])), ValueError, "probabilities"),
    (lambda k: tr.choice(k, 2, 4, True, np.zeros(2)), ValueError, "probabilities"),
    (lambda k: tr.choice(k, 2, 2, False, np.array([1.0, 0.0])), ValueError, "Fewer non-zero"),
    (lambda k: tr.uniform(k, -1), ValueError, "negative dimensions"),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
@pytest.mark.parametrize("how", [lambda f: f, njit], ids=["lazy", "compiled"])
def test_errors(case, how):
    draw, error, text = WRONG[case]
    with pytest.raises(error, match=text):
        compute(how(draw)(tr.key(1)))


def test_from_the_cache_of_another_process(tmp_path):
    (tmp_path / "drawn.py").write_text(
        "import numpy as np\nimport treadle.parallel.random as tr\nfrom treadle import njit\n"
        "@njit(cache=True)\ndef f(k, n):\n    return tr.normal(k, (n,), np.float32)\n"
        "print(f(tr.key(3), 50).tobytes().hex())\n"
    )
    env = {**os.environ, "TREADLE_CACHE_DIR": str(tmp_path / "cache")}
    said = {
        subprocess.run(
            [sys.executable, str(tmp_path / "drawn.py")],
            capture_output=True,
            text=True,
            check=True,
            env=env,
            timeout=300,
        ).stdout
        for _ in range(2)
    }
    assert said == {compute(tr.normal(tr.key(3), 50, np.float32)).tobytes().hex() + "\n"}


def test_the_page():
    """Programs of docs/parallel/random.md run as they stand there."""
    text = (Path(__file__).resolve().parents[2] / "docs/parallel/random.md").read_text()
    programs = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert len(programs) == 4
    space: dict = {}
    for k, program in enumerate(programs):
        name = f"<program {k} of docs/parallel/random.md>"
        linecache.cache[name] = (len(program), None, program.splitlines(True), name)
        exec(compile(program, name, "exec"), space)
