"""Compute the tables and polynomials of our kernels in ``src/vmath``: ``gen_vmath.py [--check]``.

Everything is computed here, with 60 digits, from the functions themselves; nothing is taken from another library. Writes
``src/vmath/tables.def``; with ``--check`` it compares instead, and exits with 1 where the file is stale. Takes some seconds.

Three methods are used:

- *minimax polynomials* by Remez's exchange algorithm (E. Remez, 1934; described in J.-M. Muller, Elementary Functions, ch. 3), for
  the error that the kernel at hand cares for: relative to the result, in most cases;
- *accurate points* (S. Gal, 1986): an entry of a table stands for a point that was moved a little, until what is looked up
  there lies closer to a floating-point number than the kernel is exact, so that one number is enough where two would be needed;
- *pieces* that widen with the argument: the piece is read off the bits of ``scale * |x| + shift``.
"""

from __future__ import annotations

import functools
import math
import struct
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal, getcontext
from fractions import Fraction
from pathlib import Path

OUT = Path(__file__).resolve().parent.parent / "src" / "vmath" / "tables.def"
getcontext().prec = 60
D = Decimal
Function = Callable[[Decimal], Decimal]
LN2 = D(2).ln()
NUMBERS = {"sign": "-0.0", "half": "0.5", "one": "1", "two": "2"}  # that kernels use as they are


# --- the functions -------------------------------------------------------------------------------


def arctan_of_inverse(k: int) -> Decimal:
    term = total = D(1) / k
    n = 1
    while abs(term) > D(10) ** -64:
        term = -term / (k * k)
        n += 2
        total += term / n
    return total


PI = 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))  # Machin's formula
TWO_OVER_ROOT_PI = 2 / PI.sqrt()


@functools.cache
def arctan(x: Decimal) -> Decimal:
    halves = 0
    while abs(x) > D("0.1"):
        x = x / (1 + (1 + x * x).sqrt())
        halves += 1
    term = total = x
    n = 1
    while abs(term) > D(10) ** -64:
        term = -term * x * x
        n += 2
        total += term / n
    return total * 2**halves


def sine(x: Decimal, n: int = 1) -> Decimal:
    """The terms of sin x from x^n on; of cos x where n is even."""
    term = D(-1) ** (n // 2) * x**n / math.factorial(n)
    total = D(0)
    while abs(term) > D(10) ** -64:
        total += term
        n += 2
        term = -term * x * x / (n * (n - 1))
    return total


@functools.cache
def erf(x: Decimal) -> Decimal:
    term = total = x
    n = 0
    while n <= x * x or abs(term) > D(10) ** -57:
        n += 1
        term = -term * x * x / n
        total += term / (2 * n + 1)
    return total * TWO_OVER_ROOT_PI


def tanh(x: Decimal) -> Decimal:
    e = (2 * x).exp()
    return (e - 1) / (e + 1)


def log2(x: Decimal) -> Decimal:
    return x.ln() / LN2


# --- rounding ------------------------------------------------------------------------------------


def nearest(x: Decimal, bits: int) -> Decimal:
    """`x` rounded to so many significant bits."""
    f = Fraction(x)
    if not f:
        return D(0)
    e = math.frexp(float(f))[1]
    scaled = f * Fraction(2) ** (bits - e)
    return exactly(Fraction(round(scaled)) * Fraction(2) ** (e - bits))


def exactly(f: Fraction) -> Decimal:
    return D(f.numerator) / D(f.denominator)


def bits_of(kind: str) -> int:
    return 24 if kind == "f" else 53


def double(x: Decimal) -> Decimal:
    return nearest(x, 53)


def single(x: Decimal) -> Decimal:
    return nearest(x, 24)


# --- minimax polynomials -------------------------------------------------------------------------


def solve(rows: list[list[Decimal]]) -> list[Decimal]:
    """Gauss's elimination; each row ends with its right-hand side."""
    n = len(rows)
    for i in range(n):
        p = max(range(i, n), key=lambda k: abs(rows[k][i]))
        rows[i], rows[p] = rows[p], rows[i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for k in range(n):
            if k != i and rows[k][i]:
                f = rows[k][i]
                rows[k] = [a - f * b for a, b in zip(rows[k], rows[i])]
    return [row[-1] for row in rows]


def extrema(errors: Sequence[Decimal], count: int) -> list[int]:
    """Where the error is largest between its changes of sign; the outer ones go first where there are too many."""
    found: list[int] = []
    for k, e in enumerate(errors):
        if not found or (e > 0) != (errors[found[-1]] > 0):
            found.append(k)
        elif abs(e) > abs(errors[found[-1]]):
            found[-1] = k
    while len(found) > count:
        found.pop(0 if abs(errors[found[0]]) < abs(errors[found[-1]]) else -1)
    return found


def minimax(
    f: Function, low: Decimal, high: Decimal, n: int, weight: Function | None = None
) -> list[Decimal]:
    """Coefficients of the polynomial of n terms whose error, times `weight`, is least."""
    points = 24 * n
    xs = [(low + high) / 2 - (high - low) / 2 * D(math.cos(math.pi * i / points)) for i in range(points + 1)]
    unit = max(abs(low), abs(high))
    wanted, weights = [f(x) for x in xs], [weight(x) if weight else D(1) for x in xs]
    powers = [[(x / unit) ** p if p else D(1) for p in range(n)] for x in xs]
    at = [round((len(xs) - 1) * i / n) for i in range(n + 1)]
    for _ in range(40):
        *c, level = solve([[*powers[k], (-1) ** i / weights[k], wanted[k]] for i, k in enumerate(at)])
        errors = [(y - sum(a * b for a, b in zip(c, p))) * w for y, p, w in zip(wanted, powers, weights)]
        if max(map(abs, errors)) < abs(level) * D("1.01"):
            return [a / unit**p for p, a in enumerate(c)]
        at = extrema(errors, n + 1)
    raise ArithmeticError("Remez's algorithm does not converge")


# --- accurate points -----------------------------------------------------------------------------


def derivative(f: Function, x: Decimal) -> Decimal:
    return (f(x + D(2) ** -90) - f(x)) * D(2) ** 90


def accurate(f: Function, near: Decimal, bits: int, closer: int, slope_too: bool) -> tuple[Decimal, Decimal]:
    """A point and f there, both numbers of `bits` bits, the latter off by less than 2^-closer of its last place.

    slope_too: so is the derivative, by less than an eighth.
    """
    place = D(2) ** (math.frexp(float(f(near)))[1] - bits)
    number = nearest(f(near), bits)
    point = near
    while True:
        for _ in range(6):  # Newton's method: where f is the number
            point += (number - f(point)) / derivative(f, point)
        point = nearest(point, bits)
        slope = derivative(f, point)
        lack = abs(slope - nearest(slope, bits)) / D(2) ** (math.frexp(float(slope))[1] - bits)
        if abs(f(point) - number) < place / 2**closer and not (slope_too and lack > D("0.125")):
            return point, number
        number += place


def power_points(near: Decimal, grid: int, closer: int, base: Decimal, bits: int) -> tuple[Decimal, Decimal]:
    """c of so many bits and g, a multiple of 2^-grid, so that c = base^g but for 2^-closer.

    The powers are followed in steps of the grid by integers of 240 bits: the last of them count for nothing.
    """
    size = 240
    # Begins as far below as the search is expected to go above.
    first = (near.ln() / base.ln() * 2**grid).to_integral_value() - (1 << max(0, closer - bits - 2))
    getcontext().prec = 90
    power = int((base.ln() * first / 2**grid).exp() * 2**size)
    factor = int((base.ln() / 2**grid).exp() * 2**size)
    getcontext().prec = 60
    drop = size - bits + (power >> size)
    half, mask, close = 1 << (drop - 1), (1 << drop) - 1, 1 << (size - closer)
    n = 0
    while True:
        if -close < ((power + half) & mask) - half < close:
            return D((power + half) >> drop) / 2 ** (size - drop), (first + n) / D(2) ** grid
        power = power * factor >> size
        n += 1


# --- the rows of tables.def ----------------------------------------------------------------------


def hexadecimal(x: Decimal, is_single: bool) -> str:
    v = float(x)
    if is_single:
        v = struct.unpack("f", struct.pack("f", v))[0]
    mantissa, exponent = v.hex().split("p")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}p{exponent}{'f' if is_single else ''}"


def numbers(values: Sequence[Decimal], is_single: bool, indent: str = "    ") -> str:
    """The numbers, as many in a line as fit."""
    lines, line = [], indent.rstrip(" ") + indent[1:]
    for i, v in enumerate(values):
        text = f" {hexadecimal(v, is_single)}{',' if i + 1 < len(values) else ''}"
        if len(line + text) > 108:
            lines.append(line)
            line = indent[1:]
        line += text
    return "\n".join([*lines, line])


def constant(name: str, x: Decimal, is_single: bool = False) -> str:
    """A number, which is laid out once for each lane."""
    return f"VK_{'F' if is_single else 'D'}({name}, {hexadecimal(x, is_single)})\n"


def polynomial(name: str, values: Sequence[Decimal], is_single: bool = False) -> str:
    """Terms of a polynomial, lowest first, each laid out as a constant is."""
    return f"VK_{'F' if is_single else 'D'}_POLY({name}, {len(values)}, {', '.join(hexadecimal(v, is_single) for v in values)})\n"


def mask(name: str, bits: int, is_single: bool = False) -> str:
    return f"VK_{'V' if is_single else 'U'}({name}, {bits:#x})\n"


def table(name: str, kind: str, terms: Sequence[Sequence[Decimal]]) -> str:
    """What is looked up at one place: each of `terms` is a list by place."""
    is_single = kind == "f"
    padding = [D(0)] * (-len(terms) % (4 if is_single else 2))
    rows = [[*(term[place] for term in terms), *padding] for place in range(len(terms[0]))]
    return matrix("WIDE", f"{name}_{kind}", terms, is_single) + matrix(
        "ROWS", f"{name}_{kind}", rows, is_single
    )


def matrix(macro: str, name: str, rows: Sequence[Sequence[Decimal]], is_single: bool) -> str:
    body = ",\n".join(f"    {{\n{numbers(row, is_single)}\n    }}" for row in rows)
    kind = "F" if is_single else "D"
    return f"VK_{kind}_{macro}({name}, {len(rows)}, {len(rows[0])},\n{body})\n"


# --- kernels: odd functions in pieces ------------------------------------------------------------


def piece(f: Function, low: Decimal, high: Decimal, terms: int, bits: int) -> list[Decimal]:
    """Centre c, value v there, and w so that f(c + d) = v + d * (w0 + w1 d + ...); the first piece is d + d * (...)."""
    if low == 0:
        return [D(0), D(0), *minimax(lambda x: f(x) / x - 1, high / 1024, high, terms)]
    # The kernel tells the piece of zero from others by d < v.
    middle = max((low + high) / 2, high - D("0.9") * f(low))
    point, value = accurate(f, middle, bits, 6, derivative(f, low) * (high - low) * 8 > f(low))
    # The constant is left free, so that the system is regular at d = 0, and dropped: it is less than the error.
    wave = minimax(lambda d: f(point + d), low - point, high - point, terms + 1, lambda d: 1 / f(point + d))
    return [point, value, *wave[1:]]


def pieces(
    name: str, kind: str, f: Function, count: int, split: int, begin: str, top: str, terms: int
) -> str:
    """An odd function that is 1 from `top` on, in `count` pieces.

    The bits of u = scale * |x| + begin are cut after `split` bits of the mantissa: a piece more at each step of them.
    """
    bits, is_single = bits_of(kind), kind == "f"
    round_ = single if is_single else double
    start, end = D(begin), D(top)

    def bound(i: int) -> Decimal:
        """u where piece i begins."""
        octave, part = divmod(i, 1 << split)
        return D(2) ** octave * (1 + D(part) / (1 << split))

    first = next(i for i in range(64) if bound(i + 1) > start)
    scale = round_((bound(first + count) - start) / end * (1 - D(2) ** -20))
    edges = [max(D(0), (bound(first + i) - start) / scale) for i in range(count + 1)]
    by_piece: list[list[Decimal]] = [[]] * count
    for i in range(count):
        # The bits of 1.0 begin with the exponent's ones: where a piece is in the table follows from them.
        bias = (1 << (7 if is_single else 10)) - 1
        place = ((bias << split) + first + i) % count
        by_piece[place] = piece(f, edges[i], edges[i + 1], terms, bits)
    return (
        f"VK_NUMBER({name}_cut_{kind}, {bits - 1 - split})\n"
        + constant(f"{name}_scale_{kind}", scale, is_single)
        + constant(f"{name}_begin_{kind}", start, is_single)
        + constant(f"{name}_top_{kind}", round_(end), is_single)
        + ("" if is_single else constant(f"{name}_first_d", edges[1] * (1 - D(2) ** -10)))
        + table(name, kind, [[row[k] for row in by_piece] for k in range(terms + 2)])
    )


# --- kernels: exponentials -----------------------------------------------------------------------


def exponentials(kind: str) -> str:
    """2^(j/n) for the n of a table, what it lacks of that, relatively, and (e^r - 1 - r) / r^2, in r or in r / log 2."""
    single_ = kind == "f"
    cut, terms = (4, 2) if single_ else (3, 6)
    n = 1 << cut
    round_ = single if single_ else double
    powers = [D(2) ** (D(j) / n) for j in range(n)]
    edge = LN2 / (2 * n)
    wide = edge + LN2 * (
        D("0.011") if single_ else D("0.081")
    )  # pow's |z_low|: 128 or 1024 times the most of s^2 / 3
    rest = minimax(lambda r: (r.exp() - 1 - r) / r**2, -edge, edge, terms)
    rest2 = minimax(lambda r: (r.exp() - 1 - r) / r**2, -wide, wide, terms if single_ else terms + 1)
    high = round_(LN2)
    return (
        f"VK_NUMBER(exp_cut_{kind}, {cut})\n"
        + constant(f"exp_round_{kind}", D("1.5") * D(2) ** (bits_of(kind) - 1 - cut), single_)
        + constant(f"exp_least_{kind}", D(-105 if single_ else -746), single_)
        + constant(f"exp_most_{kind}", D(89 if single_ else 710), single_)
        + constant(f"exp_near_{kind}", D(87 if single_ else 708), single_)
        + constant(f"log2_e_{kind}", 1 / LN2, single_)
        + constant(f"ln2_high_{kind}", high, single_)
        + constant(f"ln2_low_{kind}", LN2 - high, single_)
        + table("exp2", kind, [powers, [(p - round_(p)) / p for p in powers]])
        + polynomial(f"exp_rest_{kind}", rest, single_)
        + polynomial(f"exp2_rest_{kind}", [c * LN2 ** (i + 2) for i, c in enumerate(rest2)], single_)
    )


# --- kernels: logarithms -------------------------------------------------------------------------


def intervals(split: int) -> list[tuple[Decimal, Decimal]]:
    """The intervals between 0.73 and 1.47 that share the first `split` bits of the mantissa when rounded; 1.0 is inside of one."""
    n = 1 << split

    def value(i: int) -> Decimal:
        """i half intervals above 1, or below."""
        return 1 + D(i) / (2 * n) if i >= 0 else 1 + D(i) / (4 * n)

    return [(value(2 * i - 1), value(2 * i + 1)) for i in range(-n // 2, n // 2)]


def logarithms(kind: str) -> str:
    """log x = k log 2 + log c + log(1 + r), r = x / c - 1: 1 / c and log c, and (log(1 + r) - r) / r^2.

    log c lies on the grid that the high part of log 2 lies on, so that the first two terms have an exact sum.
    """
    single_ = kind == "f"
    grid = 16 if single_ else 41
    inverses, logs, edge = [], [], D(0)
    for low, high in intervals(4):
        c, g = D(1), D(0)
        if not low < 1 < high:
            c, g = power_points(2 / (low + high), grid, bits_of(kind) + 9, D(1).exp(), bits_of(kind))
        inverses.append(c)
        logs.append(-g)
        edge = max(edge, abs(low * c - 1), abs(high * c - 1))
    rest = minimax(lambda r: ((1 + r).ln() - r) / r**2, -edge, edge, 4 if single_ else 8)
    high = (LN2 * 2**grid).to_integral_value() / 2**grid
    return (
        # The bits that are left of the mantissa, and where the intervals begin.
        mask(f"exponent_{kind}", 0xFF800000 if single_ else 0xFFF << 52, single_)
        + mask(f"begin_{kind}", 0x3F3C0000 if single_ else 0x3FE78 << 44, single_)
        + constant(f"log_ln2_high_{kind}", high, single_)
        + constant(f"log_ln2_low_{kind}", LN2 - high, single_)
        + table("log", kind, [inverses, logs])
        + polynomial(f"log_rest_{kind}", rest, single_)
    )


def powers(kind: str) -> str:
    """log2 x = k + log2 c + 2 atanh(s) / log 2, s = (x - c) / (x + c): c, log2 c on a grid, and the series' terms after s.

    In doubles c is such that one number is log2 c; for float32 there are too few to choose from, and it takes two.
    """
    single_ = kind == "f"
    points, logs, lows, edge = [], [], [], D(0)
    for low, high in intervals(4):
        c, g = D(1), D(0)
        if not low < 1 < high:
            c, g = power_points(
                (low + high) / 2, 16 if single_ else 41, 25 if single_ else 73, D(2), bits_of(kind)
            )
        points.append(c)
        logs.append(g)
        lows.append(log2(c) - g)
        edge = max(edge, abs(low - c) / (low + c), abs(high - c) / (high + c))

    def series(v: Decimal) -> Decimal:  # (2 atanh(s) - 2 s) / s^3, by s^2
        s = v.sqrt()
        return (((1 + s) / (1 - s)).ln() - 2 * s) / s**3

    factor = 2 / LN2
    high = (single if single_ else double)(factor)
    rest = minimax(series, edge**2 / 4096, edge**2, 2 if single_ else 4)
    return (
        constant(f"pow_near_{kind}", D(125 if single_ else 1020), single_)
        + table("pow", kind, [points, logs, lows] if single_ else [points, logs])
        + constant(f"pow_factor_high_{kind}", high, single_)
        + constant(f"pow_factor_low_{kind}", factor - high, single_)
        + polynomial(
            f"pow_rest_{kind}", [c / LN2 / factor ** (2 * i + 3) for i, c in enumerate(rest)], single_
        )
    )


# --- kernels: sines ------------------------------------------------------------------------------


def first_above(product: Decimal, factor: Decimal, bits: int) -> Decimal:
    """The first number of so many bits whose product with the factor is more."""
    number, place = nearest(product / factor, bits), D(2) ** -bits
    while number * factor > product:
        number -= place
    while number * factor <= product:
        number += place
    return number


def sines(kind: str) -> str:
    """pi / 2 in three parts, and (r - sin r) / r^3 and (1 - r^2 / 2 - cos r) / r^4 by r^2, |r| <= pi / 4.

    The second part is so short that its products with as many quarters of a turn as there are below `turn_near` are exact.
    """
    single_ = kind == "f"
    round_ = single if single_ else double
    quarters = 8 if single_ else 22  # bits of their number
    places = D(2) ** (bits_of(kind) - 1)
    high = (
        int(PI / 2 * places) / places
    )  # less than pi / 2: products of 0 with the second part are to be 0, not -0
    middle = nearest(PI / 2 - high, bits_of(kind) - quarters)
    edge = (PI / 4) ** 2 * D("1.0001")

    def rest(first: int, terms: int) -> list[Decimal]:
        """The terms of -sin or -cos from x^first on, over x^first."""
        return minimax(
            lambda v: -sine(v.sqrt(), first) / v.sqrt() ** first, edge / 4096, edge, terms, lambda v: v
        )

    terms, far = 3 if single_ else 6, ""
    second = round_(PI / 2 - high)
    if not single_:
        far = constant("turn_far_d", D(2) ** 47) + constant("half_pi_third_d", PI / 2 - high - second)
    return (
        constant(f"turn_none_{kind}", first_above(D("0.5"), round_(2 / PI), bits_of(kind)), single_)
        + constant(f"turn_one_{kind}", D("2.356"), single_)
        + constant(f"turn_near_{kind}", D(400 if single_ else 6_500_000), single_)
        + constant(f"turn_round_{kind}", D("1.5") * D(2) ** (bits_of(kind) - 1), single_)
        + constant(f"two_over_pi_{kind}", 2 / PI, single_)
        + constant(f"half_pi_high_{kind}", high, single_)
        + constant(f"half_pi_middle_{kind}", middle, single_)
        + constant(f"half_pi_low_{kind}", PI / 2 - high - middle, single_)
        + constant(f"half_pi_second_{kind}", second, single_)
        + far
        + polynomial(f"sine_{kind}", rest(3, terms) + rest(4, terms), single_)
        + (polynomial("tangent_f", rest(3, 4) + rest(4, 4), single_) if single_ else "")
    )


# --- kernels: arcs -------------------------------------------------------------------------------


def arcs(kind: str) -> str:
    """atan t = v + atan((t - c) / (1 + c t)): c, v by t's logarithm, and (atan r - r) / r^3 by r^2.

    The logarithm is the difference of the bits of two numbers, which is right for t or for up to 9/8 of it.
    """
    single_ = kind == "f"
    split, places, bits = (
        (2, 16, 24) if single_ else (1, 8, 53)
    )  # pieces to an octave, as bits of the mantissa
    centres, values, edge = [], [], D("0.125")
    for place in range(places):
        octave, part = divmod(place - places, 1 << split)
        low = D(2) ** octave * (1 + D(part) / (1 << split))
        high = D(2) ** octave * (1 + D(part + 1) / (1 << split))
        c = v = D(0)
        if low >= D("0.125"):
            first, last = arctan(low * 8 / 9), arctan(high)
            middle = sine((first + last) / 2) / sine((first + last) / 2, 0)
            c, v = accurate(arctan, middle, bits, 6, slope_too=False)
            edge = max(edge, *(abs((t - c) / (1 + c * t)) for t in (low * 8 / 9, high)))
        centres.append(c)
        values.append(v)
    top = edge**2 * D("1.0001")
    rest = minimax(
        lambda v: (arctan(v.sqrt()) / v.sqrt() - 1) / v, top / 4096, top, 3 if single_ else 6, lambda v: v
    )
    bias = 254 if single_ else 2046
    return (
        constant(f"arc_least_{kind}", D("0.0626"), single_)
        + constant(f"arc_far_{kind}", D(2) ** 80, single_)
        + constant(f"arc_most_{kind}", D(2) ** (120 if single_ else 960), single_)
        + constant(f"arc_some_{kind}", D(2) ** (-80 if single_ else -800), single_)
        # 1 / x by its bits: twice the exponent's bias and half the least of the greatest error are taken from.
        + mask(f"arc_inverse_{kind}", int((bias - (5 - D(24).sqrt())) * D(2) ** (bits - 1)), single_)
        + table("arc", kind, [centres, values])
        + polynomial(f"arc_rest_{kind}", rest, single_)
    )


def main() -> int:
    parts = ["".join(constant(f"{name}_{k}", D(x), k == "f") for name, x in NUMBERS.items()) for k in "df"]
    parts += [make(k) for make in (exponentials, logarithms, powers, sines, arcs) for k in "df"]
    parts += [
        pieces("tanh", "d", tanh, 8, 1, "1", "19.0625", 18),
        pieces("tanh", "f", tanh, 16, 2, "1", "9.02", 6),
        pieces("erf", "d", erf, 8, 3, "1.25", "5.93", 15),
        pieces("erf", "f", erf, 16, 3, "1.25", "3.93", 5),
    ]
    head = """/* Made by tools/gen_vmath.py: constants, tables and polynomials of our kernels (kern.h). A reader defines the macros it wants.
 *
 * VK_NUMBER(name, integer)
 * VK_D(name, x), VK_F(name, x): a double, a float; VK_U, VK_V: bits of such
 * VK_D_POLY(name, n, numbers...), VK_F_POLY: terms of a polynomial, lowest first
 * VK_D_WIDE(name, terms, places, {numbers}...), VK_F_WIDE: what is looked up together, a term of all places side by side
 * VK_D_ROWS(name, places, room, {numbers}...), VK_F_ROWS: the same, place by place */
"""
    macros = ["NUMBER", "U", "V", *(f"{k}{m}" for k in "DF" for m in ("", "_POLY", "_WIDE", "_ROWS"))]
    for m in macros:
        head += f"#ifndef VK_{m}\n#define VK_{m}({'name, value' if len(m) == 1 or m == 'NUMBER' else '...'})\n#endif\n"
    text = head + "\n/* clang-format off */\n" + "\n".join(parts) + "/* clang-format on */\n\n"
    text += "".join(f"#undef VK_{m}\n" for m in macros)
    if "--check" in sys.argv[1:]:
        return int(OUT.read_text() != text)
    OUT.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
