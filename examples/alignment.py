"""Bioinformatics: the best local alignment of two sequences, by Smith and Waterman.

python examples/alignment.py [length]
"""

from __future__ import annotations

import sys
import time

import numpy as np
from treadle import njit

MATCH, MISMATCH, GAP = 2, -3, -4
LETTERS = np.frombuffer(b"ACGT", np.uint8)
STOP, BOTH, GAP_B, GAP_A = 0, 1, 2, 3  # where the best score of a pair of places comes from


@njit
def score(a, b, came):
    """Fill the table of where scores come from; return the best score and where it is."""
    row = np.zeros(len(b) + 1, np.int32)  # best scores of the row above, and to the left those of this row
    best, best_i, best_j = 0, 0, 0
    for i in range(1, len(a) + 1):
        corner = row[0]
        for j in range(1, len(b) + 1):
            both = corner + (MATCH if a[i - 1] == b[j - 1] else MISMATCH)
            gap_b, gap_a = row[j] + GAP, row[j - 1] + GAP
            here = max(0, both, gap_b, gap_a)
            came[i, j] = STOP if here == 0 else BOTH if here == both else GAP_B if here == gap_b else GAP_A
            corner, row[j] = row[j], here
            if here > best:
                best, best_i, best_j = here, i, j
    return best, best_i, best_j


def align(a, b):
    """Score and the two aligned pieces, with - for gaps."""
    came = np.zeros((len(a) + 1, len(b) + 1), np.uint8)
    best, i, j = score(a, b, came)
    one, two = [], []
    while came[i, j] != STOP:
        from_ = came[i, j]
        i, j = i - (from_ != GAP_A), j - (from_ != GAP_B)
        one.append("-" if from_ == GAP_A else chr(a[i]))
        two.append("-" if from_ == GAP_B else chr(b[j]))
    return best, "".join(one[::-1]), "".join(two[::-1])


def worth(one, two):
    """The score of an alignment that is written out."""
    return sum(GAP if "-" in (x, y) else MATCH if x == y else MISMATCH for x, y in zip(one, two))


def main(n):
    rng = np.random.default_rng(7)
    a = rng.choice(LETTERS, n)
    gene = a[n // 4 : n // 2].copy()  # a piece of a, with a twentieth of its letters changed and a hole
    changed = rng.random(gene.size) < 0.05
    gene[changed] = rng.choice(LETTERS, changed.sum())
    b = np.concatenate(
        [rng.choice(LETTERS, n // 3), np.delete(gene, slice(20, 23)), rng.choice(LETTERS, n // 3)]
    )

    small = slice(0, 120)
    tables = np.zeros((2, 121, 121), np.uint8)
    want = score.py_func(a[small], a[small][::-1], tables[0])
    assert score(a[small], a[small][::-1], tables[1]) == want and (tables[0] == tables[1]).all()

    best, one, two = align(a, b)
    start = time.perf_counter()
    score(a, b, np.zeros((len(a) + 1, len(b) + 1), np.uint8))
    took = time.perf_counter() - start
    assert best == worth(one, two) and one.replace("-", "") in a.tobytes().decode()
    for k in range(0, min(len(one), 160), 80):
        x, y = one[k : k + 80], two[k : k + 80]
        print(x, "".join("|" if p == q else " " for p, q in zip(x, y)), y, sep="\n", end="\n\n")
    print(f"score {best}, {len(one)} places of {len(a)} and {len(b)} letters")
    print(f"{len(a) * len(b) / took / 1e6:,.0f} million pairs of letters a second")
    print("the table is as plain Python fills it")


if __name__ == "__main__":
    main(int((sys.argv[1:] or ["3000"])[0]))
