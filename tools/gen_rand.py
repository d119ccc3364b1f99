"""Write the tables of `treadle.cuda.rand`: ``gen_rand.py [--check] [sobol] [xorwow] [mt19937]`` under a Python that has SciPy.

python/treadle/cuda/_rand_sobol.bin: the first 1,024 dimensions of S. Joe and F. Y. Kuo's direction numbers (new-joe-kuo-6, "Constructing Sobol sequences with better
two-dimensional projections", 2008), as SciPy carries them: 14 uint16 a dimension, the primitive polynomial and then the numbers m that its columns begin with, 0 where
there are no more. python/treadle/cuda/_rand_xorwow.bin: what 2**67 steps of G. Marsaglia's xorwow ("Xorshift RNGs", 2003) make of each of the 160 bits of its state, and
2**68 steps, and so on, 12 matrices; computed here. python/treadle/cuda/_rand_mt19937.bin: the polynomial over GF(2) whose root a step of M. Matsumoto's and T. Nishimura's MT19937
is, and what 2**2048, 2**2049, ... steps are modulo it, in 2,496 bytes each, without the highest term of the first; computed here, in half a minute.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.stats

FOLDER = Path(__file__).resolve().parent.parent / "python" / "treadle" / "cuda"
DIMENSIONS = 1024
JUMP, MATRICES = 67, 12
TWISTER_JUMP, TWISTER_POWERS = 2048, 13


def sobol() -> bytes:
    with np.load(Path(scipy.stats.__file__).parent / "_sobol_direction_numbers.npz") as known:
        poly, first = known["poly"][:DIMENSIONS], known["vinit"][:DIMENSIONS]
    assert first[:, 13:].max() == 0 and max(poly.max(), first.max()) < 2**16, "a row is 14 numbers of 16 bits"
    return np.column_stack([poly, first[:, :13]]).astype("<u2").tobytes()


def xorwow() -> bytes:
    sys.path.insert(0, str(FOLDER.parent.parent))
    from treadle.cuda._rand_state import XORWOW_STEP, squared

    step = XORWOW_STEP
    for _ in range(JUMP):
        step = squared(step)
    made = []
    for _ in range(MATRICES):
        made += [[column >> 32 * k & 0xFFFFFFFF for k in range(5)] for column in step]
        step = squared(step)
    return np.array(made, "<u4").tobytes()


def _shortest(bits: list[int]) -> int:
    """The polynomial of the shortest recurrence that makes them (J. Massey, 1969), its highest term that of the next bit."""
    connection, before, length, since, seen = 1, 1, 0, 1, 0
    for n, bit in enumerate(bits):
        seen = seen << 1 | bit
        if not (connection & seen).bit_count() & 1:
            since += 1
            continue
        former = connection
        connection ^= before << since
        since += 1
        if 2 * length <= n:
            length, before, since = n + 1 - length, former, 1
    return int(f"{connection:0{length + 1}b}"[::-1], 2)


def twister() -> bytes:
    sys.path.insert(0, str(FOLDER.parent.parent))
    from treadle.cuda._rand_twister import DEGREE, squared

    modulus = _shortest([int(x) >> 31 for x in np.random.MT19937(1).random_raw(2 * DEGREE + 64)])
    assert modulus.bit_length() == DEGREE + 1, "its period is as long as its state allows"
    modulus ^= 1 << DEGREE
    step, made = 2, [modulus]
    for k in range(1, TWISTER_JUMP + TWISTER_POWERS):
        step = squared(step, modulus)
        if k >= TWISTER_JUMP:
            made.append(step)
    return b"".join(p.to_bytes(2496, "little") for p in made)


TABLES: dict[str, Callable[[], bytes]] = {"sobol": sobol, "xorwow": xorwow, "mt19937": twister}


def main() -> int:
    stale = []
    for name in [a for a in sys.argv[1:] if a != "--check"] or TABLES:
        path, made = FOLDER / f"_rand_{name}.bin", TABLES[name]()
        if "--check" not in sys.argv:
            path.write_bytes(made)
        elif path.read_bytes() != made:
            stale.append(path.name)
    if stale:
        print(f"stale: {', '.join(stale)}: run tools/gen_rand.py")
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
