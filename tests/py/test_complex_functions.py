"""Functions of complex numbers: a few units of the last place in each part, special values as NumPy has them, the same bits in vectors and alone."""

from __future__ import annotations

import cmath
import functools
import itertools
import math
import re
import sys
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from treadle import njit, prange, vectorize

sys.path.insert(0, str(Path(__file__).parent))
from sizes import examples  # noqa: E402
from test_vmath import EXACT, runs  # noqa: E402

# Which real functions are called, in vectors.
MADE_OF = {
    "exp": "exp sin cos",
    "sqrt": "hypot",
    "log": "log atan2",
    "log10": "log atan2",
    "log2": "log atan2",
    "sin": "expm1 sin cos",
    "cos": "expm1 sin cos",
    "tan": "expm1 tan",
    "sinh": "expm1 sin cos",
    "cosh": "expm1 sin cos",
    "tanh": "expm1 tan",
    "arcsin": "hypot log atan2",
    "arccos": "hypot log atan2",
    "arctan": "log atan2",
    "arcsinh": "hypot log atan2",
    "arccosh": "hypot log atan2",
    "arctanh": "log atan2",
}
ULPS = {"tan": 6.5, "tanh": 6.5}  # others 4; glibc's own are off by up to 6
DTYPES = ["c8", "c16"]
WIDE = {np.dtype("c16"): np.clongdouble, np.dtype("c8"): np.complex128}
SIZES = [
    0,
    1,
    3,
    88,
    89,
    103,
    104,
    130,
    150,
    177,
    178,
    300,
    700,
    709,
    710,
    740,
    746,
    1000,
    1100,
    1418,
    1420,
    1e5,
    1e18,
]


@functools.cache
def compiled(expr, **options):
    return njit(**options)(eval(f"lambda z, w: {expr}", {"np": np, "cmath": cmath}))


def bits(x):
    """The bits of a complex array, every NaN the same."""
    flat = np.atleast_1d(np.ascontiguousarray(x))
    flat = flat.view(flat.real.dtype).copy()
    flat[np.isnan(flat)] = np.nan
    return flat.tobytes()


def corners(real):
    info = np.finfo(real)
    x = [
        0,
        1,
        0.5,
        1e-3,
        3,
        30,
        info.tiny,
        info.max,
        info.smallest_subnormal,
        info.tiny * 3.7,
        info.max / 3,
        np.inf,
        np.nan,
    ]
    return np.concatenate([np.array(x, real), -np.array(x, real)])


def of_parts(dtype, pairs):
    """A complex array of pairs of arrays, without arithmetic, which would lose signs of zeros."""
    z = np.empty(sum(np.size(a) for a, _ in pairs), dtype)
    z.real, z.imag = (np.concatenate([np.ravel(p[k]) for p in pairs]) for k in (0, 1))
    return z


@functools.cache
def grid(dtype):
    """Corners with corners."""
    x = corners(np.zeros(1, dtype).real.dtype)
    return of_parts(dtype, [np.meshgrid(x, x)])


def many_numbers(dtype, seed, n=1500):
    """Sizes where exp ends with angles; the whole range; what lies around the unit circle, the points 1 and i, and the axes."""
    real = np.zeros(1, dtype).real.dtype
    rng, info = np.random.default_rng(seed), np.finfo(real)
    sizes = np.array([*SIZES, *(-x for x in SIZES)], real) + rng.random(2 * len(SIZES)).astype(real)
    angles = np.concatenate([rng.uniform(-7, 7, 40), corners(real), [np.pi / 2, np.pi, 1e6, 1e22]]).astype(
        real
    )
    turn = rng.uniform(-np.pi, np.pi, n)
    near = 1 + rng.choice([-1, 1], n) * np.exp2(rng.uniform(-60, -1, n))
    small = np.exp2(rng.uniform(-60, 0, n))
    e = rng.uniform(np.log2(info.smallest_subnormal), np.log2(info.max), (2, n))
    with np.errstate(under="ignore", over="ignore"):
        pairs = [
            np.meshgrid(sizes, angles),
            np.exp2(e) * rng.choice([-1, 1], e.shape),
            rng.uniform(-50, 50, (2, n)),
            rng.uniform(-3, 3, (2, n)),
            rng.uniform(-1, 1, (2, n)),
            rng.uniform(0.1, 10, (2, n)) * np.exp2(rng.uniform(-30, 30, n)),
            np.exp2(rng.uniform(-80, 3, (2, n))) * rng.choice([-1, 1], (2, n)),
            (np.cos(turn), np.sin(turn)),
            (near, small),
            (-small, near),
        ]
        return of_parts(
            dtype, [np.asarray(p).astype(real) if np.shape(p[0]) == np.shape(p[1]) else p for p in pairs]
        )


def check(name, z, got, ulps=None):
    """Each part against exact values; the kind of each, and the signs of zeros and infinities where C99 says which."""
    fn = getattr(np, name)
    with np.errstate(all="ignore"):
        exact = fn(z.astype(WIDE[z.dtype]))
        want, numpys = exact.astype(z.dtype), fn(z)
    assert got.dtype == z.dtype
    said = ~np.isnan(z) & (np.isfinite(z.real) | np.isfinite(z.imag))
    for of in (np.real, np.imag):
        w, g, x, mine = of(want), of(got), of(exact), of(numpys)
        kinds = np.isnan(w) == np.isnan(g)
        assert kinds.all(), (name, z[~kinds][:5], g[~kinds][:5], w[~kinds][:5])
        with np.errstate(all="ignore"):
            off = np.abs(g.astype(x.dtype) - x) / np.spacing(np.abs(w))
            last = np.isinf(w) & (
                np.abs(g) > np.finfo(g.dtype).max / 2
            )  # one rounds to inf, the other not quite
        far = ~((off <= (ulps or ULPS.get(name, 4))) | (w == g) | np.isnan(w) | last)
        assert not far.any(), (name, z[far][:5], g[far][:5], w[far][:5])
        signs = said & ((w == 0) | np.isinf(w)) & (np.signbit(mine) != np.signbit(g))
        assert not signs.any(), (name, z[signs][:5], g[signs][:5], mine[signs][:5])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MADE_OF)
def test_values(name, dtype):
    f = compiled(f"np.{name}(z)")
    for z in (grid(dtype), many_numbers(dtype, 5)):
        got = f(z, None)
        check(name, z, got)
        alone = np.array([f(v, None) for v in z[::13]], dtype)
        assert bits(alone) == bits(got[::13])


anything = {
    "c16": st.integers(0, 2**64 - 1).map(lambda n: np.array(n, "u8").view("f8")[()]),
    "c8": st.integers(0, 2**32 - 1).map(lambda n: np.array(n, "u4").view("f4")[()]),
}
near_one = {
    dtype: st.builds(
        lambda a, k, s, t=t: t(s * (a + math.copysign(2.0**k, s))),
        st.sampled_from([0, 1]),
        st.integers(-60, 3),
        st.sampled_from([-1, 1]),
    )
    for dtype, t in (("c8", np.float32), ("c16", np.float64))
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MADE_OF)
def test_any_bits(name, dtype):
    part = st.one_of(
        anything[dtype], near_one[dtype], st.sampled_from(corners(np.zeros(1, dtype).real.dtype).tolist())
    )

    @hypothesis.settings(deadline=None, max_examples=examples(40))
    @hypothesis.given(pairs=st.lists(st.tuples(part, part), min_size=1, max_size=20))
    def tried(pairs):
        z = of_parts(dtype, [list(zip(*pairs, strict=True))])
        check(name, z, compiled(f"np.{name}(z)")(z, None))

    tried()


def loop(z, out):
    for i in range(len(z)):
        out[i] = FUNCTION(z[i])  # noqa: F821


def in_prange(z, out):
    for i in prange(len(z)):
        out[i] = FUNCTION(z[i])  # noqa: F821


def with_function(f, name, **options):
    """A function of this file that is given what FUNCTION means in it."""
    scope = {"FUNCTION": getattr(np, name), "prange": prange}
    return njit(**options)(type(f)(f.__code__, scope))


EXPRESSIONS = [f"np.{name}(z)" for name in MADE_OF] + [
    "np.expm1(z)", "np.log1p(z)", "np.exp2(z)", "np.abs(z)", "np.angle(z)", "np.reciprocal(z)", "z / w",
    "z ** w", "z ** w.real", "z ** 2.5", "z ** 3", "z ** -7", "z ** 0.5", "np.float_power(z, w)",
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("expr", EXPRESSIONS)
def test_a_value_does_not_depend_on_its_place(expr, dtype):
    """Lengths up to 40, and other steps: in vectors, in the rest, alone."""
    f, rng = compiled(expr), np.random.default_rng(1)
    z, w = (rng.choice(many_numbers(dtype, k, 60), 83) for k in (1, 2))
    w[::3] = np.round(rng.uniform(-9, 9, w[::3].size))
    one = (
        "z ** np.sqrt(z.real * 0 + 0.25)" if expr == "z ** 0.5" else expr
    )  # NumPy takes roots of arrays alone
    whole = f(z, w)
    if one == expr and not re.search(r"/|\*\*", expr):  # operators of two numbers are Python's
        alone = np.array([f(a, b) for a, b in zip(z, w, strict=True)], whole.dtype)
        assert bits(alone) == bits(whole)
    else:
        alone = np.array([f(z[i : i + 1], w[i : i + 1])[0] for i in range(len(z))], whole.dtype)
        assert bits(alone) == bits(whole)
    for n in range(41):
        assert bits(f(z[3 : 3 + n], w[3 : 3 + n])) == bits(whole[3 : 3 + n]), n
        assert bits(f(z[: 2 * n : 2], w[: 2 * n : 2])) == bits(whole[: 2 * n : 2]), n
    assert bits(f(z[::-1], w[::-1])) == bits(whole[::-1])
    locked = z.copy()
    locked.flags.writeable = False
    assert bits(f(locked, w)) == bits(whole)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MADE_OF)
def test_loops_prange_ufuncs_and_targets(name, dtype):
    z = many_numbers(dtype, 3, 100)
    want, out = compiled(f"np.{name}(z)")(z, None), np.zeros_like(z)
    with_function(loop, name)(z, out)
    assert bits(out) == bits(want)
    out[:] = 0
    with_function(in_prange, name, parallel=True)(z, out)
    assert bits(out) == bits(want)
    uf = vectorize([f"{np.dtype(dtype).name}({np.dtype(dtype).name})"])(
        eval(f"lambda z: np.{name}(z)", {"np": np})
    )
    assert bits(uf(z)) == bits(want)
    assert bits(uf(z[::2])) == bits(want[::2])
    assert bits(compiled(f"np.{name}(z)", nogil=True, boundscheck=False)(z, None)) == bits(want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MADE_OF)
def test_fastmath(name, dtype):
    """Of moderate numbers, away from where there are zeros: the size of the result, not each part, is kept."""
    rng = np.random.default_rng(8)
    z = of_parts(dtype, [rng.uniform(1.1, 3, (2, 500)) * rng.choice([-1, 1], (2, 500))])
    got, want = compiled(f"np.{name}(z)", fastmath=True)(z, None), getattr(np, name)(z.astype(WIDE[z.dtype]))
    assert (np.abs(got - want) <= 16 * np.finfo(z.real.dtype).eps * np.abs(want)).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MADE_OF)
def test_loops_run_in_vectors(name, dtype):
    """Every real function is called for several lanes, where there is a kernel of ours or SLEEF's."""
    f, z = with_function(loop, name), np.ones(3, dtype)
    f(z, z)
    text = f.inspect_asm()
    text = "".join(text.values()) if isinstance(text, dict) else text
    letter, family = "d" if dtype == "c16" else "f", "f" if runs("x86-64-v3") else "c"
    for real in MADE_OF[name].split():
        if family not in EXACT[real][1 if letter == "d" else 2]:
            continue  # libm's, or a formula
        lanes = {int(k) for k in re.findall(rf"\w+_{real}{letter}(\d+)_", text)}
        assert lanes - {1}, (real, lanes)
    assert "tr_rt_c" not in text


PARTS = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 1e300, 1e-300]
BASES = [complex(a, b) for a, b in itertools.product([*PARTS, math.inf, -math.inf, math.nan], repeat=2)]


@pytest.mark.parametrize(
    "power", ["3", "4", "5", "7", "8", "-1", "-2", "-3", "-7", "0", "99", "(5+0j)", "0j", "(-2+0j)"]
)
def test_whole_powers_are_numpys(power):
    """Bit for bit, of special values too. Squares are NumPy's own product, which may be fused."""
    z = np.array(BASES)
    with np.errstate(all="ignore"):
        want = z ** eval(power)
    assert bits(compiled(f"z ** {power}")(z, None)) == bits(want)
    if power != "-1":  # of arrays that is a reciprocal
        assert bits(compiled("z ** w")(z, np.full(z.shape, complex(eval(power))))) == bits(want)


@pytest.mark.parametrize("power", ["0.5", "2.5", "-0.5", "-1.5", "101.0", "1j", "(0.5-2j)"])
def test_other_powers_of_special_values(power):
    z = np.array([b for b in BASES if np.isfinite(b)])
    with np.errstate(all="ignore"):
        want = z ** eval(power)
    got = compiled(f"z ** {power}")(z, None)
    for of in (np.real, np.imag):
        w, g = of(want), of(got)
        odd = (np.isnan(w) != np.isnan(g)) | (np.isinf(w) != np.isinf(g))
        odd |= (
            ~np.isnan(w)
            & ~np.isnan(g)
            & ((w == 0) | np.isinf(w))
            & (np.signbit(w) != np.signbit(g))
            & (z.imag == 0)
        )
        assert not odd.any(), (z[odd], got[odd], want[odd])
    finite = np.isfinite(want)
    assert (np.abs(got[finite] - want[finite]) <= 3e-13 * np.abs(want[finite])).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_powers(dtype):
    rng, eps = np.random.default_rng(3), np.finfo(dtype).eps
    z, w = (of_parts(dtype, [rng.uniform(-5, 5, (2, 4000))]) for _ in "zw")
    cases = [
        ("z ** w", w, 40),
        ("z ** w", w.real.copy(), 20),
        ("z ** w", np.round(w.real), 5),
        ("np.float_power(z, w)", w, 40),
    ]
    for expr, by, limit in cases:
        got, want = compiled(expr)(z, by), np.power(z.astype(WIDE[z.dtype]), by.astype(WIDE[z.dtype]))
        if expr == "z ** w":
            assert got.dtype == z.dtype
        assert (np.abs(got - want) <= limit * eps * np.abs(want)).all(), (expr, by.dtype)
    whole = np.round(w.real).astype(np.int16)
    got = compiled("z ** w")(z, whole)
    assert (np.abs(got - np.power(z.astype(WIDE[z.dtype]), whole)) <= 5 * eps * np.abs(got)).all()
