"""Numbers as text: ``str`` of random float64 bits, of all powers of two and ten with their neighbours, and formats of them, against CPython.

    python tests/fuzz/digits.py --n 10000000 --seed 1

In a build's environment. Exits with 1 where a text differs.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from treadle import njit

AT_ONCE = 100_000


@njit
def plain(a):
    return [str(x) for x in a]


@njit
def formatted(a):
    return [f"{x:.3f}|{x:.17g}|{x:e}|{x:12.5g}" for x in a]


def expected(x: float) -> str:
    """CPython's text of the formats."""
    return f"{x:.3f}|{x:.17g}|{x:e}|{x:12.5g}"


def powers() -> np.ndarray:
    """All powers of two and of ten, and the floats beside them."""
    at = [2.0**e for e in range(-1074, 1024)] + [float(f"1e{e}") for e in range(-323, 309)]
    x = np.array(at)
    return np.concatenate([x, np.nextafter(x, np.inf), np.nextafter(x, 0.0), -x])


def differences(a: np.ndarray, formats: bool) -> int:
    """How many texts differ; the first are told."""
    values = a.tolist()
    pairs = [(plain(a), list(map(str, values)))]
    if formats:
        some = a[np.abs(a) < 1e60]
        pairs.append((formatted(some), list(map(expected, some.tolist()))))
    bad = [
        (got, want) for ours, theirs in pairs for got, want in zip(ours, theirs, strict=True) if got != want
    ]
    for got, want in bad[:5]:
        print(f"got {got}, CPython has {want}", flush=True)
    return len(bad)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--n", type=int, default=10_000_000, help="random numbers")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng, start = np.random.default_rng(options.seed), time.monotonic()
    bad, done, told = differences(powers(), True), 0, 0
    while done < options.n:
        n = min(AT_ONCE, options.n - done)
        bits = rng.integers(0, 2**64, n, dtype=np.uint64)
        a = bits.view(np.float64)
        if (done // AT_ONCE) % 4 == 1:  # numbers as people write them
            a = np.round(rng.normal(scale=10.0 ** rng.integers(-6, 12), size=n), int(rng.integers(0, 9)))
        bad += differences(a[~np.isnan(a)], (done // AT_ONCE) % 8 == 0)
        done += n
        if done - told >= 1_000_000:
            told = done
            print(f"{done} of {options.n}, {bad} differ", flush=True)
    print(f"{done} random floats and all powers in {time.monotonic() - start:.0f} s: {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
