"""Cases of sparse PCA for which the ways of looking at samples have to agree, and NumPy to say which sample is the best.

    python tests/fuzz/sparse_pca.py --n 10000 [--seed S]

Each case is drawn by its seed and number: shapes about the blocks' bounds, rows of one length, rows along axes, equal rows, zeros, lengths
over many powers of ten. The ways must agree to the bit; NumPy, which adds in another order, within what that may change.
`tests/py/test_sparse_pca.py` runs a thousand.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
import treadle
import treadle.parallel as tp

WAYS = ("posed", "fused", "early", "pruned")
KINDS = (
    "normal",
    "one length",
    "ever shorter",
    "whole numbers",
    "axes",
    "many lengths",
    "many zeros",
    "equal rows",
    "far from one",
    "few long rows",
)
# Columns and types; each is a compile of every way.
TYPES = ((1, np.float32), (2, np.float64), (3, np.float32), (4, np.float64))


def case(seed: int, number: int) -> tuple[np.ndarray, int, dict[str, Any]]:
    """The loadings, k, and what else `sparse_pca` is given."""
    rng = np.random.default_rng((seed, number))
    d, dtype = TYPES[rng.integers(len(TYPES))]
    p = int(rng.choice([1, 2, 5, 17, 63, 64, 65, 130, 200]))
    k = int(rng.choice([p, rng.integers(1, p + 1), min(p, rng.integers(1, 8))], p=[0.1, 0.4, 0.5]))
    kind = KINDS[rng.integers(len(KINDS))]
    v = rng.standard_normal((p, d))
    signs = rng.choice([-1.0, 1.0], (p, 1))
    if kind in ("one length", "ever shorter"):
        v /= np.linalg.norm(v, axis=1)[:, None]
        if kind == "ever shorter":
            v *= np.linspace(1, 0.8, p)[:, None]
    elif kind == "whole numbers":
        v = np.rint(v)
    elif kind == "axes":
        v = np.eye(d)[rng.integers(0, d, p)] * signs
    elif kind == "many lengths":
        v *= np.exp(3 * rng.standard_normal((p, 1)))
    elif kind == "many zeros":
        v[rng.random(p) < 0.7] = 0
    elif kind == "equal rows":
        v = v[:1] * signs
    elif kind == "far from one":
        v *= 10.0 ** rng.integers(-30, 30)
    elif kind == "few long rows":
        v[rng.random(p) < 0.05] *= 1000
    options = {
        "key": int(rng.integers(0, 2**63)),
        "samples": int(rng.choice([1, 50, 200, 700, 2500])),
        "compat": "talk2014" if rng.random() < 0.3 else None,
    }
    return v.astype(dtype), k, options


def worths(v: np.ndarray, k: int, key: int, samples: int, compat: str | None) -> np.ndarray:
    """What each sample is worth, by NumPy."""
    c = np.array(tp.random.normal(tp.random.key(key), (samples, v.shape[1]), v.dtype)).astype(np.float64)
    size = np.linalg.norm(c, axis=1)
    a = c / np.where(size > 0, size, 1)[:, None] @ v.T.astype(np.float64)
    top = np.sort(a if compat else np.abs(a), axis=1)[:, ::-1][:, :k]
    return (top * top).sum(axis=1)


def fault(seed: int, number: int) -> str | None:
    """What is wrong in a case, or None."""
    v, k, options = case(seed, number)
    found = [treadle.sparse_pca(v, 1, k, method=way, **options) for way in WAYS]
    for way, r in zip(WAYS, found, strict=True):
        same = (r.sample, r.worth, r.objective) == (found[0].sample, found[0].worth, found[0].objective)
        if not same or any(r[i].tobytes() != found[0][i].tobytes() for i in range(2)):
            return f"{way} gives {r}, {WAYS[0]} {found[0]}"
    r, w = found[0], worths(v, k, **options)
    # A sample is off by few units of the longest row in each of k numbers.
    unit = float(np.finfo(v.dtype).eps)
    longest = float(np.sqrt((v.astype(np.float64) ** 2).sum(axis=1).max()))
    bound = 20 * unit * (np.sqrt(w.max()) * np.sqrt(k) * longest + w.max())
    if abs(r.worth - w.max()) > bound or w[r.sample] < w.max() - bound:
        return f"{r}, and NumPy says {w.max()} of {int(w.argmax())}"
    if options["compat"] is None and r.objective < r.worth - bound:
        return f"polishing made it worse: {r}"
    if (
        len(r.indices) != k
        or len(set(r.indices.tolist())) != k
        or abs(np.linalg.norm(r.values) - 1) > 20 * unit
    ):
        return f"no unit vector of {k} entries: {r}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--n", type=int, default=1000, help="how many cases")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    faults = 0
    for number in range(args.n):
        if wrong := fault(args.seed, number):
            faults += 1
            print(f"case {args.seed} {number}: {wrong}")
    print(f"{args.n} cases, {faults} faults")
    return min(faults, 1)


if __name__ == "__main__":
    sys.exit(main())
