"""Where cuRAND's MT19937 begins: the words of its 8,192 generators, for a seed and a block of words. Of the host alone.

MT19937 is M. Matsumoto's and T. Nishimura's ("Mersenne Twister", 1998), seeded as theirs of 2002; generators lie 2**2048 words apart, which cuRAND's were found to do, and in which order it
takes words (`PLACES`). To go far is to add up words of what comes next, which a polynomial says (H. Haramoto and others, "Efficient jump ahead for F2-linear random number generators", 2008).
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "BLOCK",
    "GENERATORS",
    "LANES",
    "PLACES",
    "ROWS",
    "WORDS",
    "seeded",
    "taps_of_blocks",
    "taps_of_generators",
]

GENERATORS, WORDS, LANES = 8192, 624, 8
ROWS = WORDS // LANES  # of a block: all words of all generators
BLOCK = GENERATORS * WORDS
DEGREE = 19937
_BYTES = 2496  # of a polynomial


def _places() -> np.ndarray[Any, Any]:
    """Which word of a generator's 624 comes in each row, for each lane, (78 * 8) of int32: eight that lie apart first, then the others, seven for each lane in turn."""
    first = [0, 113, 170, 283, 340, 397, 510, 567]
    rest = np.setdiff1d(np.arange(WORDS), first).reshape(-1, LANES, 7)
    return np.concatenate([[first], rest.transpose(0, 2, 1).reshape(-1, LANES)]).astype(np.int32).reshape(-1)


PLACES = _places()


# --- polynomials over GF(2), as integers ---


@functools.cache
def _known() -> list[int]:
    """The one whose root a step is, and what 2**2048, 2**2049, ... steps are modulo it."""
    data = Path(__file__).with_name("_rand_mt19937.bin").read_bytes()
    return [int.from_bytes(data[k : k + _BYTES], "little") for k in range(0, len(data), _BYTES)]


def reduced(p: int, modulus: int) -> int:
    """What is left of it, the modulus without its highest term."""
    whole = modulus | 1 << DEGREE
    while (over := p.bit_length() - 1 - DEGREE) >= 0:
        p ^= whole << over
    return p


_SQUARES = np.array([int(f"{b:b}", 4) for b in range(256)], "<u2")  # of a byte


def squared(p: int, modulus: int) -> int:
    """Its square: a term's exponent is doubled."""
    apart = _SQUARES[np.frombuffer(p.to_bytes(_BYTES, "little"), np.uint8)]
    return reduced(int.from_bytes(apart.tobytes(), "little"), modulus)


def _power(n: int) -> int:
    """What n steps are."""
    modulus, p = _known()[0], 1
    for bit in f"{n:b}":
        p = squared(p, modulus)
        if bit == "1":
            p = reduced(p << 1, modulus)
    return p


def _taps(p: int) -> np.ndarray[Any, Any]:
    terms = np.unpackbits(np.frombuffer(p.to_bytes(_BYTES, "little"), np.uint8), bitorder="little")
    taps = np.flatnonzero(terms)
    return np.append(taps, [DEGREE + WORDS] * (-len(taps) % 8)).astype(np.int64).reshape(-1, 8)


def seeded(seed: int) -> np.ndarray[Any, Any]:
    """What the generator of this seed, of which 32 bits count, begins with: the words before its first ones."""
    words = [seed & 0xFFFFFFFF]
    for k in range(1, WORDS):
        words.append((1812433253 * (words[-1] ^ words[-1] >> 30) + k) & 0xFFFFFFFF)
    return np.array(words, np.uint32)


def taps_of_blocks(n: int) -> np.ndarray[Any, Any]:
    """Which words of a generator are summed for those that come n blocks later: eight in each row, of which 20561 are 0."""
    return _taps(_power(n * WORDS))


def taps_of_generators(k: int) -> np.ndarray[Any, Any]:
    """Likewise for those of the generator 2**k behind it."""
    return _taps(_known()[1 + k])
