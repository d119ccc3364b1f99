"""Sparse PCA: the program of a talk of 2014, sample by sample in NumPy, and `treadle.sparse_pca`, on the same samples.

python examples/sparse_pca.py [epsilon]
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np
import treadle
import treadle.parallel as tp


def loadings(p, d):
    """Of a covariance of 100 observations, whose i-th eigenvalue is divided by i, the leading part: A is about Vd @ Vd.T."""
    x = np.random.default_rng(1).standard_normal((100, p))
    w, u = np.linalg.eigh(x.T @ x / 100)
    return (u[:, : -d - 1 : -1] * np.sqrt(w[: -d - 1 : -1] / np.arange(1, d + 1))).astype(np.float32)


def listing(Vd, C, k, key):
    """The talk's program. Its port from Matlab had lost the `abs`, which `key` is; the number of samples was no integer."""
    opt_v, opt_i, opt_x = -np.inf, -1, None
    for i in range(C.shape[1]):
        c = C[:, i] / np.linalg.norm(C[:, i])
        a = Vd.dot(c)
        top = np.argsort(key(a))[-k:]
        val = np.linalg.norm(a[top])
        if val > opt_v:
            opt_v, opt_i = val, i
            opt_x = np.zeros(len(Vd), Vd.dtype)
            opt_x[top] = a[top] / val
    return opt_v**2, opt_i, opt_x


def clocked(function):
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start


def main(epsilon, p=1000, d=3, k=10):
    Vd, key = loadings(p, d), tp.random.key(2014)
    samples = math.ceil((4 / epsilon) ** d)
    C = np.asarray(tp.random.normal(key, (samples, d), np.float32)).T
    print(f"{samples} samples of {d} dimensions, {p} rows, {k} of them chosen:")
    print(f"{'':34}  explains      ms")

    def line(name, explained, seconds):
        print(f"{name:34}  {explained:8.6f}  {seconds * 1e3:6.1f}")

    for name, selection, compat in (("by sign", np.asarray, "talk2014"), ("by size", np.abs, None)):
        (worth, at, x), took = clocked(lambda f=selection: listing(Vd, C, k, f))
        line(f"the listing, rows chosen {name}", worth, took)
        for method in ("posed", "fused", "early", "pruned"):

            def search(method=method, compat=compat, polish=False):
                return treadle.sparse_pca(
                    Vd, epsilon, k, key=key, method=method, compat=compat, polish=polish
                )

            search()  # compiles, or loads what was compiled before
            best, took = clocked(search)
            line(f"  {method}", best.worth, took)
            assert best.sample == at and math.isclose(best.worth, worth, rel_tol=1e-5)
            assert np.allclose(best.x * np.sign(best.x @ x), x, atol=1e-6)
        polished = search(polish=True)
        line("  polished", polished.objective, 0.0)
        assert polished.objective >= best.worth * (1 - 1e-6)
    print("All found the listing's sample.")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 0.1)
