"""Make the table of powers of ten that numbers become decimal digits by: ``gen_digits.py [--check]``.

Writes ``src/base/pow10.def``; with ``--check`` it compares instead, and exits with 1 where the file is stale. All is computed here, with integers
of any size. Before, it is proven that the table's 126 bits are enough for the shortest digits of every float (``nearest_to_whole``).
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

from made import write_or_check

OUT = Path(__file__).resolve().parent.parent / "src" / "base" / "pow10.def"
BITS = 126
# Shortest digits take 10**-292 to 10**324; 1 to 17 digits of any float, 10**-308 to 10**340.
FIRST, LAST = -308, 340
LEAST, MOST = -1074, 971  # the exponents of a float's last place
BITS_OF_FLOATS = (11, 24, 53)
MULTIPLES = 2**54  # twice a float's integer, and one more at most

HEAD = f"""/* Made by tools/gen_digits.py: powers of ten, of which digits.c makes decimal digits. The first {BITS} bits of each as an integer,
 * rounded down, in two words: X(high, low) */
"""


def log2_of_power(k: int) -> int:
    """Return floor(log2(10**k))."""
    return (10**k).bit_length() - 1 if k >= 0 else -((10**-k - 1).bit_length())


def log10_of_power(q: int, quarters: int = 4) -> int:
    """Return floor(log10(quarters/4 * 2**q))."""
    k = q * 30103 // 100000
    num, den = (quarters << q, 4) if q >= 0 else (quarters, 4 << -q)

    def at_most(k: int) -> bool:  # 10**k <= num/den
        return den * 10**k <= num if k >= 0 else den <= num * 10**-k

    while not at_most(k):
        k -= 1
    while at_most(k + 1):
        k += 1
    return k


def row(k: int) -> int:
    """Return the first 126 bits of 10**k."""
    shift = log2_of_power(k) - BITS + 1
    if k < 0:
        return 2**-shift // 10**-k
    return 10**k >> shift if shift >= 0 else 10**k << -shift


def nearest_to_whole(v: Fraction, most: int) -> Fraction:
    """Return how near the multiples m * v, 1 <= m <= `most`, come to an integer, those aside that are one.

    The records from above and from below are the fractions that the Stern-Brocot tree has on the way to v: in turns, each side is moved by as many of
    the other as leave it on its side.
    """
    num, den = v.numerator, v.denominator
    if den <= most:
        return Fraction(1, den)
    below, at_below, above, at_above = (
        num % den,
        1,
        den,
        0,
    )  # m * v - floor, and its m; ceiling - m * v, and its m
    while True:
        steps = min((above - 1) // below, (most - at_above) // at_below)
        above, at_above = above - steps * below, at_above + steps * at_below
        more = min((below - 1) // above, (most - at_below) // at_above)
        below, at_below = below - more * above, at_below + more * at_above
        if not steps and not more:
            return Fraction(min(below, above), den)


def distance(v: Fraction) -> Fraction:
    """Return how near v is to an integer; 1 where it is one."""
    part = v % 1
    return min(part, 1 - part) or Fraction(1)


def prove() -> None:
    """Fail if a float's digits could not be told by the table.

    A quotient v = m * 2**q / 10**k (digits.c) is compared with even integers. Computed is v + e, 0 < e <= 2**-63, of which 63 bits behind the point
    are looked at: the comparison is right if v is that integer, or no nearer to it than 2**-63. The multiples m are four times a float's integer, or
    two more or less; below a power of two, one less.
    """
    bound = Fraction(1, 2**64)
    for q in range(LEAST, MOST + 1):
        for k in {log10_of_power(q), log10_of_power(q, 3)}:
            unit = Fraction(2) ** q / Fraction(10) ** k
            ends = [distance((2 ** (bits + 1) - 1) * unit / 2) for bits in BITS_OF_FLOATS]
            assert min(nearest_to_whole(unit, MULTIPLES), *ends) >= bound, f"2**{q} / 10**{k}"


def text() -> str:
    rows = []
    for k in range(FIRST, LAST + 1):
        v = row(k)
        assert v.bit_length() == BITS
        rows.append(f"X(0x{v >> 64:016x}, 0x{v & (2**64 - 1):016x}) /* {k} */\n")
    return HEAD + "".join(rows)


if __name__ == "__main__":
    prove()
    sys.exit(write_or_check(OUT, text(), __doc__))
