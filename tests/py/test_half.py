"""float16: a type of memory, whose operations are computed in float32 and rounded once, as NumPy's are.

All 65,536 numbers go through each operation, so what rounds, overflows or is no number is met.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest
import treadle
from treadle import float16, float32, njit, prange, types, vectorize

ALL = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
OTHER = np.roll(ALL, 12_345)

EXACT = {
    "a + b": lambda a, b: a + b,
    "a - b": lambda a, b: a - b,
    "a * b": lambda a, b: a * b,
    "a / b": lambda a, b: a / b,
    "a // b": lambda a, b: a // b,
    "a % b": lambda a, b: a % b,
    "-a": lambda a, b: -a,
    "a**2": lambda a, b: a**2,
    "a + 0.1": lambda a, b: a + 0.1,
    "3 * a - 1": lambda a, b: 3 * a - 1,
    "abs": lambda a, b: np.abs(a),
    "sqrt": lambda a, b: np.sqrt(a),
    "fmod": lambda a, b: np.fmod(a, b),
    "maximum": lambda a, b: np.maximum(a, b),
    "fmin": lambda a, b: np.fmin(a, b),
    "sign": lambda a, b: np.sign(a),
    "rint": lambda a, b: np.rint(a),
    "floor": lambda a, b: np.floor(a),
    "nextafter": lambda a, b: np.nextafter(a, b),
    "spacing": lambda a, b: np.spacing(a),
    "copysign": lambda a, b: np.copysign(a, b),
    "ldexp": lambda a, b: np.ldexp(a, 3),
    "signbit": lambda a, b: np.signbit(a),
    "isnan": lambda a, b: np.isnan(a),
    "a < b": lambda a, b: a < b,
    "a == b": lambda a, b: a == b,
    "a >= 0.1": lambda a, b: a >= 0.1,
    "where": lambda a, b: np.where(a > b, a, b),
    "bool": lambda a, b: a.astype(np.bool_),
    "int8": lambda a, b: a.astype(np.int8),
    "int32": lambda a, b: a.astype(np.int32),
    "int64": lambda a, b: a.astype(np.int64),
    "float32": lambda a, b: a.astype(np.float32),
    "float64": lambda a, b: a.astype(np.float64),
    "complex64": lambda a, b: a.astype(np.complex64),
    "a + 1j": lambda a, b: a + 1j,
    "sorted out": lambda a, b: a[a > b],
}
CLOSE = {
    "sin": lambda a, b: np.sin(a),
    "exp": lambda a, b: np.exp(a),
    "log2": lambda a, b: np.log2(a),
    "tanh": lambda a, b: np.tanh(a),
    "arctan2": lambda a, b: np.arctan2(a, b),
    "hypot": lambda a, b: np.hypot(a, b),
    "logaddexp": lambda a, b: np.logaddexp(a, b),
    "abs(a)**b": lambda a, b: np.abs(a) ** b,
    "a**3": lambda a, b: a**3,
}


def same(got, want, ulp=0):
    """Equal dtypes and shapes; numbers within so many of float16's."""
    assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, want.dtype)
    with np.errstate(all="ignore"):
        off = ~((got == want) | ((got != got) & (want != want)))
        if ulp and off.any():
            far = np.abs(got.astype("f8") - want.astype("f8")) > ulp * np.abs(
                np.spacing(want.astype("f2")).astype("f8")
            )
            off &= far | np.isinf(got) ^ np.isinf(want)
    assert not off.any(), (np.flatnonzero(off)[:5], got[off][:5], want[off][:5])


@pytest.mark.parametrize("name", EXACT)
def test_every_number(name):
    with np.errstate(all="ignore"):
        try:
            want = EXACT[name](ALL, OTHER)
        except TypeError:
            pytest.skip("NumPy has none")
    same(njit(EXACT[name])(ALL, OTHER), want)


@pytest.mark.parametrize("name", CLOSE)
def test_functions(name):
    with np.errstate(all="ignore"):
        want = CLOSE[name](ALL, OTHER)
    ok = np.abs(want) < 6e4  # where rounding decides between a number and an infinity either is right
    same(njit(CLOSE[name])(ALL, OTHER)[ok], want[ok], ulp=1)


@pytest.mark.parametrize(
    "options", [{}, {"parallel": True}, {"fastmath": True}, {"boundscheck": False}], ids=str
)
def test_one_by_one(options):
    a, b = ALL[::7].copy(), OTHER[::7].copy()

    def loop(a, b, q):
        for i in range(a.size):
            x = a[i]
            q[i] = x * b[i] + x

    def in_parallel(a, b, q):
        for i in prange(a.size):
            x = a[i]
            q[i] = x * b[i] + x

    with np.errstate(all="ignore"):
        want = a * b + a
    for f in (loop, in_parallel):
        if options.get("fastmath"):
            keep = np.isfinite(want)
            q = np.zeros_like(a)
            njit(**options)(f)(a, b, q)
            # The product may go unrounded into the sum, where the processor has instructions for float16: half a unit of it is what may be between.
            product = a[keep].astype("f8") * b[keep].astype("f8")
            got, near = q[keep].astype("f8"), want[keep].astype("f8")
            assert (np.abs(got - near) <= (np.abs(product) + 2 * np.abs(near)) / 2**11 + 2**-24).all()
        else:
            q = np.zeros_like(a)
            njit(**options)(f)(a, b, q)
            same(q, want)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u8", "f4", "f8", "c8", "c16"])
def test_beside_other_types(dtype):
    a = np.linspace(-3, 3, 50).astype("f2")
    b = np.arange(50).astype(dtype)
    same(njit(lambda a, b: a + b)(a, b), a + b)
    same(njit(lambda a, b: b * a)(a, b), b * a)
    x = njit(lambda a, b: a[3] * b[5])(a, b)
    assert x == a[3] * b[5]
    if dtype != "?":
        same(njit(lambda b: b.astype(np.float16))(b.real), b.real.astype("f2"))


@pytest.mark.parametrize("name", ["nextafter", "copysign", "hypot", "fmod", "maximum", "heaviside", "divide"])
@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "f4"])
def test_ufuncs_beside_other_types(name, dtype):
    """Truth values and integers of one byte fit float16: beside it they are that, and no float32."""
    a = np.linspace(-3, 3, 50).astype("f2")
    b = (np.arange(50) % 3).astype(dtype)
    space = {"np": np}
    exec(f"def arrays(a, b):\n    return np.{name}(a, b), np.{name}(b, a)\n", space)
    exec(
        f"def numbers(a, b):\n    return np.array([np.{name}(a[7], b[7])]), np.array([np.{name}(b[7], a[7])])\n",
        space,
    )
    for f in (space["arrays"], space["numbers"]):
        with np.errstate(all="ignore"):
            wanted = f(a, b)
        for got, want in zip(njit(f)(a, b), wanted, strict=True):
            same(got, want, ulp=name == "hypot")


def test_numbers_become_it_rounded_once():
    rng = np.random.default_rng(0)
    x = rng.standard_cauchy(200_000) * 10.0 ** rng.integers(-6, 5, 200_000)
    for t in ("f4", "f8"):
        with np.errstate(all="ignore"):
            same(njit(lambda a: a.astype(np.float16))(x.astype(t)), x.astype(t).astype("f2"))
    for t in ("i2", "u2", "i4", "u4", "i8", "u8"):
        y = rng.integers(0, 70_000, 100_000).astype(t)
        with np.errstate(all="ignore"):
            same(njit(lambda a: a.astype(np.float16))(y), y.astype("f2"))


@pytest.mark.parametrize(
    "name", ["sum", "mean", "std", "var", "min", "max", "ptp", "argmin", "argmax", "any", "all"]
)
def test_reductions(name):
    a = np.random.default_rng(3).normal(size=(40, 33)).astype("f2")
    fn = getattr(np, name)
    for x in (a, a[::-1, ::2], np.asfortranarray(a)):
        got, want = njit(lambda x: fn(x))(x), fn(x.astype("f4"))
        assert got == pytest.approx(float(want.astype("f2")), rel=2e-3)
        got, want = njit(lambda x: fn(x, axis=1))(x), fn(x, axis=1)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got.astype("f8"), fn(x.astype("f4"), axis=1).astype("f8"), rtol=2e-3)


def test_sums_do_not_stick():
    """4,096 ones are 4,096: added up in float16 they would stop at 2,048."""
    ones = np.ones(4096, "f2")
    assert njit(lambda a: a.sum())(ones) == 4096.0
    assert njit(lambda a: a.mean())(ones) == 1.0
    assert njit(lambda a: np.dot(a, a))(ones) == 4096.0
    assert njit(lambda a: (a.reshape(1, -1) @ a.reshape(-1, 1))[0, 0])(ones) == 4096.0


def test_products_of_matrices():
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(20, 30)).astype("f2"), rng.normal(size=(30, 10)).astype("f2")
    want = (a.astype("f4") @ b.astype("f4")).astype("f2")
    same(njit(lambda a, b: a @ b)(a, b), want, ulp=1)
    out = np.zeros((20, 10), "f2")

    @njit
    def into(a, b, out):
        np.dot(a, b, out)

    into(a, b, out)
    same(out, want, ulp=1)
    same(njit(lambda a, b: a[0] @ b)(a, b), want[0], ulp=1)


def test_making_arrays():
    @njit
    def f(n):
        a = np.zeros(n, np.float16)
        b = np.full(n, 0.1, dtype="f2")
        c = np.arange(n, dtype=np.float16)
        a[:] = b * c
        a[1:] += c[:-1]
        return a, b, c, np.linspace(0, 1, n).astype(float16)

    n = 9
    b, c = np.full(n, 0.1, "f2"), np.arange(n, dtype="f2")
    a = b * c
    a[1:] += c[:-1]
    for got, want in zip(f(n), (a, b, c, np.linspace(0, 1, n).astype("f2")), strict=True):
        same(got, want)


def test_numbers_in_and_out():
    half = np.float16(0.1)
    f = njit(lambda x: x * x)
    assert f(half) == half * half and f.signatures == [(types.float16,)]
    assert njit("float16(float16)")(lambda x: x + x)(0.1) == float(np.float16(0.1) * 2)
    assert njit("f2(f2, f2)")(lambda x, y: x / y)(half, 3) == half / np.float16(3)
    assert njit(lambda: half)() == half  # frozen
    table = np.array([1.5, 2.5], "f2")
    assert njit(lambda i: table[i] + half)(1) == table[1] + half
    assert njit(lambda t: t[0] + t[1][0])((half, table)) == half + table[0]
    assert njit(lambda x: float16(x) + float32(0))(1 / 3) == float(np.float16(1 / 3))
    assert njit(lambda x: math.sin(x))(half) == float(np.sin(half))
    assert njit(lambda x: (round(x, 2), int(x), bool(x), float(x), abs(-x)))(half) == (
        float(np.float16(round(float(half), 2))),
        0,
        True,
        float(half),
        float(half),
    )
    with pytest.raises(ZeroDivisionError):
        njit(lambda x: x / np.float16(0))(half)
    with pytest.raises(ValueError, match=r"0\.0999755859375"):

        @njit
        def g(x):
            raise ValueError("no", x)

        g(half)


def test_printing(capfd):
    @njit
    def show(a):
        print(a[0], a[1], a[2], a[3], a[4], a[5])

    a = np.array([0.1, -65504, 6e-8, np.inf, 1e-4, 3.14159], "f2")
    show(a)
    assert capfd.readouterr().out.split() == ["0.1", "-65500.0", "6e-08", "inf", "0.0001", "3.14"]


def test_every_number_reads_back():
    """The text of a number is the shortest that NumPy reads as the same number."""
    numbers = ALL[np.isfinite(ALL)][::17]
    code = (
        "import numpy as np, treadle\n"
        "a = np.arange(1 << 16, dtype=np.uint16).view(np.float16); a = a[np.isfinite(a)][::17]\n"
        "@treadle.njit\ndef show(a):\n    for i in range(a.size):\n        print(a[i])\nshow(a)\n"
    )
    texts = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    same(np.array([np.float16(t) for t in texts]), numbers)
    for t, x in zip(texts, numbers, strict=True):
        assert len(t.replace("-", "").replace(".", "").lstrip("0").rstrip("0").split("e")[0]) <= len(
            np.format_float_scientific(x, unique=True).replace("-", "").replace(".", "").split("e")[0]
        ), (t, x)


def test_ufuncs_of_its_own():
    """A declared loop of float16 rounds each operation; one that is made for the arguments computes in float32."""
    a, b = np.linspace(0.1, 9, 100).astype("f2"), np.linspace(5, 0.3, 100).astype("f2")

    @vectorize(["float16(float16, float16)", "float64(float64, float64)"])
    def declared(x, y):
        return x * y + x

    @vectorize
    def lazy(x, y):
        return x * y + x

    wide = ((a.astype("f4") * b.astype("f4")) + a.astype("f4")).astype("f2")
    same(declared(a, b), a * b + a)
    same(declared(a[::-3], b[::-3]), (a * b + a)[::-3])
    assert declared(a, b.astype("f8")).dtype == np.float64
    same(lazy(a, b), wide)
    assert (a * b + a != wide).any()
    for u, want in ((declared, a * b + a), (lazy, wide)):
        same(njit(lambda a, b: u(a, b))(a, b), want)
        assert njit(lambda a, b: u(a[3], b[3]))(a, b) == want[3]
    total = vectorize(["float16(float16, float16)"])(lambda x, y: x + y)
    assert total.reduce(np.ones(100, "f2")) == 100 and total.reduce(np.ones(100, "f2")).dtype == np.float16


def test_gufuncs():
    @treadle.guvectorize(["(float16[:], float16[:], float16[:])"], "(n),(n)->(n)")
    def g(a, b, q):
        for i in range(a.size):
            q[i] = a[i] * b[i] + a[i]

    a, b = np.linspace(0.1, 9, 100).astype("f2").reshape(4, 25), np.linspace(5, 0.3, 25).astype("f2")
    same(g(a, b), a * b + a)
    same(njit(lambda a, b: g(a, b))(a, b), a * b + a)


def test_it_waits_in_the_cache(tmp_path):
    script = tmp_path / "half.py"
    script.write_text(
        "import numpy as np, treadle\n"
        "@treadle.njit(cache=True)\n"
        "def f(a, x):\n    return (a * x + np.sqrt(a)).sum(), x + a[0]\n"
        "print(f(np.linspace(0, 5, 99).astype('f2'), np.float16(0.3)))\n"
    )
    env = {**os.environ, "TREADLE_CACHE_DIR": str(tmp_path / "cache")}
    first, second = (
        subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, env=env).stdout
        for _ in range(2)
    )
    assert first.split(")")[0] == second.split(")")[0] and first


def test_what_is_not_there():
    a = np.ones(4, "f2")
    with pytest.raises(treadle.TypingError, match="float16"):
        treadle.cuda.jit(lambda a: treadle.cuda.atomic.add(a, 0, a[1]))[1, 1](a)
