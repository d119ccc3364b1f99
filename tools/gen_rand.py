"""Write the tables of `treadle.cuda.rand`: ``gen_rand.py [--check]`` under a Python that has SciPy.

python/treadle/cuda/_rand_sobol.bin: the first 1,024 dimensions of S. Joe and F. Y. Kuo's direction numbers (new-joe-kuo-6, "Constructing Sobol sequences with better
two-dimensional projections", 2008), as SciPy carries them: 14 uint16 a dimension, the primitive polynomial and then the numbers m that its columns begin with, 0 where
there are no more. python/treadle/cuda/_rand_xorwow.bin: what 2**67 steps of G. Marsaglia's xorwow ("Xorshift RNGs", 2003) make of each of the 160 bits of its state, and
2**68 steps, and so on, 12 matrices; computed here.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import scipy.stats

FOLDER = Path(__file__).resolve().parent.parent / "python" / "treadle" / "cuda"
DIMENSIONS = 1024
JUMP, MATRICES = 67, 12


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


def main() -> int:
    stale = []
    for name, made in {"_rand_sobol.bin": sobol(), "_rand_xorwow.bin": xorwow()}.items():
        path = FOLDER / name
        if "--check" not in sys.argv:
            path.write_bytes(made)
        elif path.read_bytes() != made:
            stale.append(name)
    if stale:
        print(f"stale: {', '.join(stale)}: run tools/gen_rand.py")
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
