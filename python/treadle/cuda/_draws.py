"""The kernels of `treadle.cuda.rand`: four generators and two sequences, and what is made of their words. The emulated device and a GPU compute the same bits.

A *step* brings a state of six words on and gives a word; a *unit* makes of steps a number of (0, 1], a *draw* makes of steps what is stored. Each is written once, and a kernel
is a generator's walk around a draw. Floats by operations that IEEE 754 rounds correctly, never contracted (``fma=False``): logarithm, sine, cosine and exponential are
polynomials, within some units of the last place of the C library's. A thread of xorwow's and MRG32k3a's is one of their sequences, so neighbours store side by side, and the
barrier after each step, which costs a GPU little, makes that the order of the host, too. A thread of Philox's is a block of its, one of Sobol's a place in each row of 256 points.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import cuda
from .._core import Function, prange
from .._library.philox import COS32, COS64, LOG32, LOG64, SIN32, SIN64, rounds, series
from ..decorators import _flags, njit
from . import _rand_twister
from ._kernel import Kernel, jit

__all__ = [
    "KINDS",
    "MRG_SEQUENCES",
    "PHILOX_SEQUENCES",
    "POINTS",
    "ROWS",
    "THREADS",
    "XORWOW_SEQUENCES",
    "begun",
    "made_of",
    "philox",
    "poisson",
    "sequences",
    "sobol",
    "spread_mrg",
    "spread_xorwow",
    "twist",
    "twisted",
]

XORWOW_SEQUENCES, MRG_SEQUENCES, PHILOX_SEQUENCES = 4096, 81920, 65536
THREADS = 128  # of a block: a divisor of the three
POINTS, ROWS = 256, 64  # of Sobol's: a block's threads, and how many points each takes

# What is drawn, and how many items come of one draw.
KINDS = {
    "bits": 1,
    "wide64": 1,
    "unit32": 1,
    "unit64": 1,
    "normal32": 2,
    "normal64": 2,
    "lognormal32": 2,
    "lognormal64": 2,
    "pair32": 2,
    "pair64": 2,
}

u32, i32, u64, i64, f32 = np.uint32, np.int32, np.uint64, np.int64, np.float32

# Half of pi in two parts, of which a product of the first with a number below 8 is exact.
_HALF32 = float(f32(math.floor(math.pi / 2 * 2**20) / 2**20))
_HALF64 = math.floor(math.pi / 2 * 2**48) / 2**48
_HALF32_REST, _HALF64_REST = (
    1.57079632679489661923 - _HALF32,
    1.57079632679489661923 - _HALF64 + 6.123233995736766e-17,
)
# ln 2 likewise, for numbers below 2**11.
_LN32, _LN64 = math.floor(math.log(2) * 2**13) / 2**13, math.floor(math.log(2) * 2**41) / 2**41
_LN32_REST, _LN64_REST = math.log(2) - _LN32, math.log(2) - _LN64 + 2.3190468138462996e-17
_EXP32, _EXP64 = (tuple(1 / math.factorial(k) for k in range(n)) for n in (8, 14))

# M. J. Wichura's PPND16 (Algorithm AS 241, 1988): the quantiles of the normal distribution, near the middle, in the tails and far out.
_MIDDLE = (
    3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125,
    45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727,
)  # fmt: skip
_MIDDLE_BELOW = (
    1.0, 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077,
    21213.794301586595867, 39307.895800092710610, 28729.085735721942674, 5226.4952788528545610,
)  # fmt: skip
_TAIL = (
    1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504,
    1.27045825245236838258, 0.241780725177450611770, 0.0227238449892691845833, 7.74545014278341407640e-4,
)  # fmt: skip
_TAIL_BELOW = (
    1.0, 2.05319162663775882187, 1.67638483018380384940, 0.689767334985100004550,
    0.148103976427480074590, 0.0151986665636164571966, 5.47593808499534494600e-4, 1.05075007164441684324e-9,
)  # fmt: skip
_FAR = (
    6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580, 0.296560571828504891230,
    0.0265321895265761230930, 0.00124266094738807843860, 2.71155556874348757815e-5, 2.01033439929228813265e-7,
)  # fmt: skip
_FAR_BELOW = (
    1.0, 0.599832206555887937690, 0.136929880922735805310, 0.0148753612908506148525,
    7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15,
)  # fmt: skip

Draw = Callable[..., Any]


def _device(fn: Callable[..., Any]) -> Function[..., Any]:
    return Function(fn, _flags({"error_model": "numpy", "inline": "always"}), {})


def _kernel(fn: Callable[..., Any]) -> Kernel[...]:
    made: Kernel[...] = jit(cache=True, fma=False)(fn)
    return made


# --- functions of mathematics ---


@_device
def log32(u: Any) -> Any:
    """The logarithm of a normal number: u = m 2**k, 3/4 <= m < 3/2."""
    bits = u.view(i32)
    k = i32(bits - i32(0x3F400000)) >> i32(23)
    x = i32(bits - i32(k << i32(23))).view(f32) - f32(1)
    s = x / (f32(2) + x)
    z = s * s
    return f32(k) * f32(0.6931471805599453) + (s + s + (s + s) * (z * series(z, f32, LOG32)))


@_device
def log64(u: Any) -> Any:
    bits = u.view(i64)
    k = (bits - i64(0x3FE8000000000000)) >> i64(52)
    x = (bits - (k << i64(52))).view(np.float64) - 1.0
    s = x / (2.0 + x)
    z = s * s
    return float(i32(k)) * 0.6931471805599453 + (s + s + (s + s) * (z * series(z, np.float64, LOG64)))


@_device
def turned(q: Any, s: Any, c: Any) -> Any:
    """Sine and cosine of an angle, from those of what it is beyond ``q`` quarters of a turn."""
    odd = q & i32(1) != i32(0)
    first, second = c if odd else s, s if odd else c
    back, over = q & i32(2) != i32(0), i32(q + i32(1)) & i32(2) != i32(0)
    return -first if back else first, -second if over else second


@_device
def sincos32(v: Any) -> Any:
    """Of an angle from 0 to 2 pi. The polynomials take turns."""
    q = i32(v * f32(2 / math.pi) + f32(0.5))
    x = ((v - f32(q) * f32(_HALF32)) - f32(q) * f32(_HALF32_REST)) * f32(0.5 / math.pi)
    z = x * x
    return turned(q, x * series(z, f32, SIN32), f32(1) + z * series(z, f32, COS32))


@_device
def sincos64(v: Any) -> Any:
    q = i32(v * (2 / math.pi) + 0.5)
    x = ((v - float(q) * _HALF64) - float(q) * _HALF64_REST) * (0.5 / math.pi)
    z = x * x
    return turned(q, x * series(z, np.float64, SIN64), 1.0 + z * series(z, np.float64, COS64))


@_device
def exp32(x: Any) -> Any:
    """e to the power x: 2**k times that of a small number, in two products, as one may be too large or too small."""
    x = min(max(x, f32(-110)), f32(100))
    k = i32(i32(x * f32(1 / math.log(2)) + f32(256.5)) - i32(256))
    r = (x - f32(k) * f32(_LN32)) - f32(k) * f32(_LN32_REST)
    half = i32(k >> i32(1))
    a = i32(i32(half + i32(127)) << i32(23)).view(f32)
    b = i32(i32(i32(k - half) + i32(127)) << i32(23)).view(f32)
    return series(r, f32, _EXP32) * a * b


@_device
def exp64(x: Any) -> Any:
    x = min(max(x, -760.0), 720.0)
    k = i32(i32(x * (1 / math.log(2)) + 2048.5) - i32(2048))
    r = (x - float(k) * _LN64) - float(k) * _LN64_REST
    half = i32(k >> i32(1))
    a = (i64(i32(half + i32(1023))) << i64(52)).view(np.float64)
    b = (i64(i32(i32(k - half) + i32(1023))) << i64(52)).view(np.float64)
    return series(r, np.float64, _EXP64) * a * b


@_device
def quantile32(p: Any) -> Any:
    """How far above the mean a normal number is with the probability p, 2**-36 to 1/2."""
    q, t = 0.5 - p, math.sqrt(-log64(p)) - 1.6
    r = 0.180625 - q * q
    near = q * series(r, np.float64, _MIDDLE) / series(r, np.float64, _MIDDLE_BELOW)
    tail = series(t, np.float64, _TAIL) / series(t, np.float64, _TAIL_BELOW)
    return near if q <= 0.425 else tail


@_device
def quantile64(p: Any) -> Any:
    """As `quantile32`, of any p to 1/2."""
    t = math.sqrt(-log64(p)) - 5.0
    far = series(t, np.float64, _FAR) / series(t, np.float64, _FAR_BELOW)
    near = quantile32(p)
    return near if t <= 0.0 else far


# --- numbers of words ---


@_device
def unit32_of(x: Any) -> Any:
    return f32(x) * f32(2.0**-32) + f32(2.0**-33)


@_device
def angle32_of(x: Any) -> Any:
    return f32(x) * f32(2 * math.pi * 2.0**-32) + f32(math.pi * 2.0**-32)


@_device
def unit64_of(x: Any, y: Any) -> Any:
    return float(i64(u64(x) ^ u64(y) << u64(21))) * 2.0**-53 + 2.0**-54


@_device
def pair32(u: Any, v: Any, mean: Any, deviation: Any) -> Any:
    """Two normal numbers (Box and Muller) of a unit and an angle."""
    r = math.sqrt(f32(-2) * log32(u))
    s, c = sincos32(v)
    return mean + deviation * (r * s), mean + deviation * (r * c)


@_device
def pair64(u: Any, v: Any, mean: Any, deviation: Any) -> Any:
    r = math.sqrt(-2.0 * log64(u))
    s, c = sincos64(v)
    return mean + deviation * (r * s), mean + deviation * (r * c)


# --- xorwow and MRG32k3a: steps, and draws of any generator that has them ---


@_device
def xorwow_step(state: Any) -> Any:
    a, b, c, d, e, w = state
    t = u32(a ^ (a >> u32(2)))
    x = u32(u32(e ^ u32(e << u32(4))) ^ u32(t ^ u32(t << u32(1))))
    w = u32(w + u32(362437))
    return (b, c, d, e, x, w), u32(x + w)


@_device
def xorwow_unit32(state: Any) -> Any:
    state, x = xorwow_step(state)
    return state, unit32_of(x)


@_device
def xorwow_angle32(state: Any) -> Any:
    state, x = xorwow_step(state)
    return state, angle32_of(x)


@_device
def xorwow_unit64(state: Any) -> Any:
    state, x = xorwow_step(state)
    state, y = xorwow_step(state)
    return state, unit64_of(x, y)


@_device
def xorwow_wide64(state: Any) -> Any:
    state, x = xorwow_step(state)
    state, y = xorwow_step(state)
    return state, u64(x) | u64(y) << u64(32)


@_device
def below_m1(x: Any) -> Any:
    """What x < 2**54 leaves modulo 2**32 - 209."""
    x = (x >> u64(32)) * u64(209) + (x & u64(0xFFFFFFFF))
    return x - u64(4294967087) if x >= u64(4294967087) else x


@_device
def below_m2(x: Any) -> Any:
    """What x < 2**54 leaves modulo 2**32 - 22853."""
    x = (x >> u64(32)) * u64(22853) + (x & u64(0xFFFFFFFF))
    x = (x >> u64(32)) * u64(22853) + (x & u64(0xFFFFFFFF))
    return x - u64(4294944443) if x >= u64(4294944443) else x


@_device
def mrg_step(state: Any) -> Any:
    """The number of 1 to m1 that a step gives, as int64."""
    a, b, c, d, e, f = state
    x = below_m1(u64(1403580) * u64(b) + u64(810728) * (u64(4294967087) - u64(a)))
    y = below_m2(u64(527612) * u64(f) + u64(1370589) * (u64(4294944443) - u64(d)))
    z = i64(x) - i64(y)
    return (b, c, u32(x), e, f, u32(y)), z + i64(4294967087) if z <= i64(0) else z


@_device
def mrg_bits(state: Any) -> Any:
    state, z = mrg_step(state)
    return state, u32(i64(float(z) * 1.000000048662))


@_device
def mrg_wide64(state: Any) -> Any:
    state, x = mrg_bits(state)
    state, y = mrg_bits(state)
    return state, u64(x) | u64(y) << u64(32)


@_device
def mrg_unit64(state: Any) -> Any:
    state, z = mrg_step(state)
    return state, float(z) * 2.3283065498378288e-10


@_device
def mrg_unit32(state: Any) -> Any:
    state, u = mrg_unit64(state)
    return state, f32(u)


@_device
def mrg_angle32(state: Any) -> Any:
    state, u = mrg_unit32(state)
    return state, u * f32(2 * math.pi)


_XORWOW = {
    "bits": xorwow_step,
    "wide64": xorwow_wide64,
    "unit32": xorwow_unit32,
    "unit64": xorwow_unit64,
    "angle32": xorwow_angle32,
}
_MRG = {
    "bits": mrg_bits,
    "wide64": mrg_wide64,
    "unit32": mrg_unit32,
    "unit64": mrg_unit64,
    "angle32": mrg_angle32,
}


def _draw(of: dict[str, Any], kind: str) -> Draw:
    """``draw(state, mean, deviation)``: the state after it, and what it gives."""
    if KINDS[kind] == 1:
        one = of[kind]

        @_device
        def single(state: Any, mean: Any, deviation: Any) -> Any:
            return one(state)

        return single
    wide = kind.endswith("64")
    unit, angle = of["unit64" if wide else "unit32"], of["unit64" if wide else "angle32"]
    finish = _finish(kind)

    @_device
    def double(state: Any, mean: Any, deviation: Any) -> Any:
        state, u = unit(state)
        state, v = angle(state)
        return state, *finish(u, v, mean, deviation)

    return double


def _finish(kind: str) -> Draw:
    """``finish(u, v, mean, deviation)``: two items of a unit and an angle, of a pair themselves; of float64 both are units."""

    @_device
    def normal64(u: Any, v: Any, mean: Any, deviation: Any) -> Any:
        return pair64(u, v * (2 * math.pi), mean, deviation)

    @_device
    def lognormal32(u: Any, v: Any, mean: Any, deviation: Any) -> Any:
        x, y = pair32(u, v, mean, deviation)
        return exp32(x), exp32(y)

    @_device
    def lognormal64(u: Any, v: Any, mean: Any, deviation: Any) -> Any:
        x, y = pair64(u, v * (2 * math.pi), mean, deviation)
        return exp64(x), exp64(y)

    @_device
    def itself32(u: Any, v: Any, mean: Any, deviation: Any) -> Any:
        return u, v

    @_device
    def itself64(u: Any, v: Any, mean: Any, deviation: Any) -> Any:
        return u, v * (2 * math.pi)

    known: dict[str, Draw] = {
        "pair32": itself32,
        "pair64": itself64,
        "normal32": pair32,
        "normal64": normal64,
        "lognormal32": lognormal32,
        "lognormal64": lognormal64,
    }
    return known[kind]


@functools.cache
def sequences(of: str, kind: str) -> Kernel[...]:
    """The kernel ``k(out, state, at, mean, deviation)`` of xorwow or MRG32k3a: draw n comes from the sequence ``at + n``, modulo their number.

    ``state`` is (6, sequences) of uint32. There is a thread for each draw, or for each sequence where those are fewer.
    """
    many = XORWOW_SEQUENCES if of == "xorwow" else MRG_SEQUENCES
    draw = _draw(_XORWOW if of == "xorwow" else _MRG, kind)
    if KINDS[kind] == 1:

        def walk(out, state, at, mean, deviation):  # type: ignore[no-untyped-def]
            t = cuda.grid(1)
            s = at + t
            s = s - many if s >= many else s
            a, b, c, d, e, f = state[0, s], state[1, s], state[2, s], state[3, s], state[4, s], state[5, s]
            rows = out.size // many
            for five in range(rows // 5):  # after five steps xorwow's words are where they were
                to = five * 5 * many + t
                (a, b, c, d, e, f), out[to] = draw((a, b, c, d, e, f), mean, deviation)
                (a, b, c, d, e, f), out[to + many] = draw((a, b, c, d, e, f), mean, deviation)
                (a, b, c, d, e, f), out[to + 2 * many] = draw((a, b, c, d, e, f), mean, deviation)
                (a, b, c, d, e, f), out[to + 3 * many] = draw((a, b, c, d, e, f), mean, deviation)
                (a, b, c, d, e, f), out[to + 4 * many] = draw((a, b, c, d, e, f), mean, deviation)
                cuda.syncthreads()
            for row in range(rows // 5 * 5, rows):
                (a, b, c, d, e, f), out[row * many + t] = draw((a, b, c, d, e, f), mean, deviation)
                cuda.syncthreads()
            if rows * many + t < out.size:
                (a, b, c, d, e, f), out[rows * many + t] = draw((a, b, c, d, e, f), mean, deviation)
            state[0, s], state[1, s], state[2, s], state[3, s], state[4, s], state[5, s] = a, b, c, d, e, f

    else:

        def walk(out, state, at, mean, deviation):  # type: ignore[no-untyped-def]
            t = cuda.grid(1)
            s = at + t
            s = s - many if s >= many else s
            a, b, c, d, e, f = state[0, s], state[1, s], state[2, s], state[3, s], state[4, s], state[5, s]
            rows = out.size // (2 * many)
            for row in range(rows):
                to = 2 * (row * many + t)
                (a, b, c, d, e, f), out[to], out[to + 1] = draw((a, b, c, d, e, f), mean, deviation)
                cuda.syncthreads()
            to = 2 * (rows * many + t)
            if to < out.size:
                (a, b, c, d, e, f), x, y = draw((a, b, c, d, e, f), mean, deviation)
                out[to] = x
                if to + 1 < out.size:
                    out[to + 1] = y
            state[0, s], state[1, s], state[2, s], state[3, s], state[4, s], state[5, s] = a, b, c, d, e, f

    walk.__name__ = walk.__qualname__ = f"{of}_{kind}"
    return _kernel(walk)


@_kernel
def spread_xorwow(state, jump, at, n):  # type: ignore[no-untyped-def]
    """The states of the sequences ``at``, ``at + 1``, ..., ``n`` of them, from those ``at`` before: ``jump`` says what becomes of each bit, (160, 5) of uint32."""
    i = cuda.grid(1)
    if i < n:
        a, b, c, d, e = u32(0), u32(0), u32(0), u32(0), u32(0)
        for k in range(5):
            word = state[k, i]
            for bit in range(32):
                mask = u32(-i32((word >> u32(bit)) & u32(1)))
                row = 32 * k + bit
                a ^= jump[row, 0] & mask
                b ^= jump[row, 1] & mask
                c ^= jump[row, 2] & mask
                d ^= jump[row, 3] & mask
                e ^= jump[row, 4] & mask
        to = at + i
        state[0, to], state[1, to], state[2, to], state[3, to], state[4, to] = a, b, c, d, e
        state[5, to] = state[5, i]  # 2**67 times what is added there is 0


@_device
def times_m1(a: Any, x: Any) -> Any:
    p = u64(a) * u64(x)
    return below_m1((p >> u64(32)) * u64(209) + (p & u64(0xFFFFFFFF)))


@_device
def times_m2(a: Any, x: Any) -> Any:
    p = u64(a) * u64(x)
    return below_m2((p >> u64(32)) * u64(22853) + (p & u64(0xFFFFFFFF)))


@_kernel
def spread_mrg(state, jump, at, n):  # type: ignore[no-untyped-def]
    """As `spread_xorwow`; ``jump``, (6, 3) of uint32, is a matrix for the first three words and one for the others."""
    i = cuda.grid(1)
    if i < n:
        a, b, c, d, e, f = state[0, i], state[1, i], state[2, i], state[3, i], state[4, i], state[5, i]
        to = at + i
        for k in range(3):
            x = times_m1(jump[k, 0], a) + times_m1(jump[k, 1], b) + times_m1(jump[k, 2], c)
            y = times_m2(jump[3 + k, 0], d) + times_m2(jump[3 + k, 1], e) + times_m2(jump[3 + k, 2], f)
            state[k, to] = u32(below_m1(x))
            state[3 + k, to] = u32(below_m2(y))


# --- MT19937: its generators' beginnings, by the host, and their words ---


@njit(cache=True)
def follow(words: Any, n: int) -> Any:
    """So many words, of which the first 624 are known."""
    x = np.empty(n, np.uint32)
    x[:624] = words
    for k in range(624, n):
        y = x[k - 624] & np.uint32(0x80000000) | x[k - 623] & np.uint32(0x7FFFFFFF)
        x[k] = x[k - 227] ^ y >> np.uint32(1) ^ (y & np.uint32(1)) * np.uint32(0x9908B0DF)
    return x


@njit(cache=True, parallel=True)
def spread_twister(states: Any, taps: Any, at: int) -> None:
    """Generators ``at``, ``at + 1``, ... of (generators, 624), twice as many as before, from those ``at`` before: the sum of their words at ``taps``, and behind these. ``taps`` are eight in each
    row, of which 20561 are 0."""
    for s in prange(at):
        x = np.zeros(19937 + 624 + 624, np.uint32)
        x[: 19937 + 624] = follow(states[s], 19937 + 624)
        to = np.zeros(624, np.uint32)
        for k in range(len(taps)):
            a, b, c, d = taps[k, 0], taps[k, 1], taps[k, 2], taps[k, 3]
            e, f, g, h = taps[k, 4], taps[k, 5], taps[k, 6], taps[k, 7]
            for w in range(624):
                some = x[a + w] ^ x[b + w] ^ x[c + w] ^ x[d + w]
                to[w] ^= some ^ x[e + w] ^ x[f + w] ^ x[g + w] ^ x[h + w]
        states[at + s] = to


def begun(seed: int, block: int, many: int) -> np.ndarray[Any, Any]:
    """The words of the first generators after so many blocks, (many, 624) of uint32; ``many`` is a power of two. A generator costs some 0.2 ms of a core."""
    states = np.empty((max(many, 2), _rand_twister.WORDS), np.uint32)
    states[0] = follow(_rand_twister.seeded(seed), 2 * _rand_twister.WORDS)[_rand_twister.WORDS :]
    if block:
        spread_twister(states, _rand_twister.taps_of_blocks(block), 1)
        states[0] = states[1]
    for k in range(many.bit_length() - 1):
        spread_twister(states, _rand_twister.taps_of_generators(k), 1 << k)
    return states[:many]


@_kernel
def twist(state):  # type: ignore[no-untyped-def]
    """The next 624 words of each generator, (624, generators) of uint32: a thread for each of them, a multiple of a block's."""
    g = cuda.grid(1)
    last = state[0, g]
    for k in range(624):
        following = state[k + 1 if k < 623 else 0, g]
        far = state[k + 397 if k < 227 else k - 227, g]
        y = u32(u32(last & u32(0x80000000)) | u32(following & u32(0x7FFFFFFF)))
        state[k, g] = u32(u32(far ^ (y >> u32(1))) ^ u32(u32(y & u32(1)) * u32(0x9908B0DF)))
        last = following
        cuda.syncthreads()


@_device
def tempered(x: Any) -> Any:
    x = u32(x ^ (x >> u32(11)))
    x = u32(x ^ u32(u32(x << u32(7)) & u32(0x9D2C5680)))
    x = u32(x ^ u32(u32(x << u32(15)) & u32(0xEFC60000)))
    return u32(x ^ (x >> u32(18)))


@_kernel
def twisted(out, state, places, first):  # type: ignore[no-untyped-def]
    """Words from ``first`` on of those of all generators; ``places`` says which of its generator's each is."""
    i = cuda.grid(1)
    if i < out.size:
        n = first + i
        out[i] = tempered(state[places[n // 65536 * 8 + n % 8], n // 8 % 8192])


@functools.cache
def made_of(kind: str) -> Kernel[...]:
    """The kernel ``k(out, words, mean, deviation)``: an item of each of MT19937's words."""
    point = _point(kind, 32, True)

    def make(out, words, mean, deviation):  # type: ignore[no-untyped-def]
        i = cuda.grid(1)
        if i < out.size:
            out[i] = point(words[i], mean, deviation)

    make.__name__ = make.__qualname__ = f"mt_{kind}"
    return _kernel(make)


# --- Philox4x32-10 ---


@_device
def words(group: Any, more: Any, low: Any, high: Any) -> Any:
    """A block, as four uint64 of 32 bits: of the sequence ``group`` modulo their number, block ``more``."""
    mask, half = u64(0xFFFFFFFF), u64(32)
    a, b, c, d = rounds(
        more & mask, more >> half, group & u64(PHILOX_SEQUENCES - 1), u64(0), u64(low), u64(high), 10
    )
    return u32(a & mask), u32(b & mask), u32(c & mask), u32(d & mask)


def _four(kind: str) -> Draw:
    """``four(group, base, low, high, mean, deviation)``: the four items of a group; ``base`` and a row's number, once or twice, make the number of a block."""
    if kind in ("bits", "unit32"):
        plain = kind == "bits"

        @_device
        def singles(group: Any, base: Any, low: Any, high: Any, mean: Any, deviation: Any) -> Any:
            a, b, c, d = words(group, base + (group >> u64(16)), low, high)
            return (a, b, c, d) if plain else (unit32_of(a), unit32_of(b), unit32_of(c), unit32_of(d))

        return singles
    finish = _finish(kind) if KINDS[kind] == 2 else None
    if kind.endswith("32"):

        @_device
        def pairs(group: Any, base: Any, low: Any, high: Any, mean: Any, deviation: Any) -> Any:
            a, b, c, d = words(group, base + (group >> u64(16)), low, high)
            return *finish(unit32_of(a), angle32_of(b), mean, deviation), *finish(
                unit32_of(c), angle32_of(d), mean, deviation
            )  # type: ignore[misc]

        return pairs

    joined = kind == "wide64"

    @_device
    def wide(group: Any, base: Any, low: Any, high: Any, mean: Any, deviation: Any) -> Any:
        at = base + (group >> u64(16)) * u64(2)
        a, b, c, d = words(group, at, low, high)
        e, f, g, h = words(group, at + u64(1), low, high)
        if joined:
            return (
                u64(a) | u64(b) << u64(32),
                u64(c) | u64(d) << u64(32),
                u64(e) | u64(f) << u64(32),
                u64(g) | u64(h) << u64(32),
            )
        p, q, r, s = unit64_of(a, b), unit64_of(c, d), unit64_of(e, f), unit64_of(g, h)
        if finish is None:
            return p, q, r, s
        return *finish(p, q, mean, deviation), *finish(r, s, mean, deviation)

    return wide


@_device
def base_of(base: Any, group: Any) -> Any:
    if isinstance(base, np.ndarray):
        return u64(base[i64(group & u64(PHILOX_SEQUENCES - 1))])
    return u64(base)


@functools.cache
def philox(kind: str, whole: bool) -> Kernel[...]:
    """The kernel ``k(out, first, skip, base, low, high, mean, deviation)``: items of the groups ``first``, ``first + 1``, ..., without the first ``skip``.

    ``base`` is a number, or one for each sequence. With ``whole`` nothing is skipped, and the items of a group that has not all four in ``out`` are left out.
    """
    four = _four(kind)

    if whole:

        def fill(out, first, skip, base, low, high, mean, deviation):  # type: ignore[no-untyped-def]
            i = cuda.grid(1)
            if i < out.size // 4:
                group = u64(first + i)
                a, b, c, d = four(group, base_of(base, group), low, high, mean, deviation)
                out[4 * i] = a
                out[4 * i + 1] = b
                out[4 * i + 2] = c
                out[4 * i + 3] = d

    else:

        def fill(out, first, skip, base, low, high, mean, deviation):  # type: ignore[no-untyped-def]
            i = cuda.grid(1)
            at = 4 * i - skip
            if at < out.size:
                group = u64(first + i)
                a, b, c, d = four(group, base_of(base, group), low, high, mean, deviation)
                if at >= 0:
                    out[at] = a
                if 0 <= at + 1 < out.size:
                    out[at + 1] = b
                if 0 <= at + 2 < out.size:
                    out[at + 2] = c
                if 0 <= at + 3 < out.size:
                    out[at + 3] = d

    fill.__name__ = fill.__qualname__ = f"philox_{kind}"
    return _kernel(fill)


# --- Poisson's numbers ---


@_kernel
def poisson(out, drawn, first, reached, guide):  # type: ignore[no-untyped-def]
    """``first`` and the number of items of ``reached``, the probabilities of no more than ``first``, ``first + 1``, ..., that are no more than what 53 bits of a draw say, which is below 1.

    ``guide`` has for equal parts of [0, 1) where to begin.
    """
    i = cuda.grid(1)
    if i < out.size:
        u = float(i64(drawn[i] >> u64(11))) * 2.0**-53
        k = i64(guide[i64(u * float(guide.size))])
        while reached[k] <= u:
            k += 1
        out[i] = u32(first + k)


# --- Sobol's sequences ---


def _point(kind: str, bits: int, middle: bool = False) -> Draw:
    """``point(x, mean, deviation)``: what is stored of a coordinate, or (``middle``) of a word of MT19937's: its units lie in the middle of what its bits leave open."""

    @_device
    def itself(x: Any, mean: Any, deviation: Any) -> Any:
        return x

    @_device
    def unit32(x: Any, mean: Any, deviation: Any) -> Any:
        return unit32_of(u32(x >> u64(32))) if bits == 64 else unit32_of(x)

    @_device
    def unit64(x: Any, mean: Any, deviation: Any) -> Any:
        if bits == 64:
            return float(i64(x >> u64(11))) * 2.0**-53 + 2.0**-54
        return float(x) * 2.0**-32 + 2.0**-32

    @_device
    def middle64(x: Any, mean: Any, deviation: Any) -> Any:
        return float(x) * 2.0**-32 + 2.0**-33

    @_device
    def middle32(x: Any, mean: Any, deviation: Any) -> Any:
        return f32(float(x) * 2.0**-32 + 2.0**-33)

    @_device
    def wide64(x: Any, mean: Any, deviation: Any) -> Any:
        return u64(x) << u64(32) | u64(0x80000000)

    known: dict[str, Draw] = {"bits": itself, "unit32": unit32, "unit64": unit64}
    if middle:
        known |= {"unit32": middle32, "unit64": middle64, "wide64": wide64}
    if kind in known:
        return known[kind]
    wide, log = kind.endswith("64"), kind.startswith("log")
    fine = 53 if wide and bits == 64 else 32  # bits that count
    real, exp = (np.float64, exp64) if wide else (f32, exp32)
    quantile = quantile64 if fine > 32 else quantile32

    @_device
    def normal(x: Any, mean: Any, deviation: Any) -> Any:
        w = i64(u64(x) >> u64(bits - fine))
        above = w >= i64(1 << (fine - 1))
        p = (float(i64((1 << fine) - 1) - w if above else w) + 0.5) * 0.5**fine
        z = real(quantile(p))
        y = mean + deviation * (z if above else -z)
        return exp(y) if log else y

    return normal


@functools.cache
def sobol(kind: str, bits: int) -> Kernel[...]:
    """The kernel ``k(out, directions, shift, first, mean, deviation)``: points ``first``, ``first + 1``, ... of the sequence, ``out`` (dimensions, points).

    A grid has the dimensions along y. Point i of 256 is the exclusive or of what its row and its place there are in Gray code, as both have bits of their own.
    """
    word = u32 if bits == 32 else u64
    point = _point(kind, bits)
    top = bits - 1

    def fill(out, directions, shift, first, mean, deviation):  # type: ignore[no-untyped-def]
        t = cuda.threadIdx.x
        d = cuda.blockIdx.y
        row = first // POINTS + cuda.blockIdx.x * ROWS
        place = word(0)
        for k in range(8):
            if (t ^ t >> 1) >> k & 1:
                place ^= directions[d, k]
        x = shift[d]
        gray = row * POINTS ^ row * POINTS >> 1
        for k in range(7, bits):
            if gray >> k & 1:
                x ^= directions[d, k]
        for j in range(ROWS):
            to = (row + j) * POINTS - first + t
            if 0 <= to < out.shape[1]:
                out[d, to] = point(word(x ^ place), mean, deviation)
            turn = min(7 + cuda.ffs(row + j + 1), top)  # beyond it no 64 bits count
            x ^= directions[d, 7] ^ directions[d, turn]
            cuda.syncthreads()

    fill.__name__ = fill.__qualname__ = f"sobol{bits}_{kind}"
    return _kernel(fill)
