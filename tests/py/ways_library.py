"""Rows of the matrix of ways in for NumPy's functions that are written in NumPy (python/treadle/_library)."""

from __future__ import annotations

import time  # noqa: F401 - texts of rows name it

import numpy as np
from ways_rows import group, matrix


def holes() -> np.ndarray:
    """A matrix with NaN in it."""
    a = matrix()
    a[0, 1] = a[1, 0] = np.nan
    return a


group(
    "library_nan",
    "a",
    ["np.nansum(a)", "np.nansum(a, axis=0)", "np.nanprod(a)", "np.nanprod(a, axis=1, keepdims=True)"],
    lambda: (holes(),),
    rtol=1e-14,
)
group(
    "library_polynomial",
    "a, b",
    ["np.polyadd(a, b)", "np.polysub(a, b)", "np.polyder(a)", "np.polyint(a, 2)"],
    lambda: (np.array([1.0, 2.0, 3.0]), np.array([2, 5])),
)
group(
    "library_frequencies",
    "a, n",
    [
        "np.fft.fftfreq(n, 0.5)",
        "np.fft.rfftfreq(n)",
        "np.fft.fftshift(a)",
        "np.fft.ifftshift(a, 1)",
        "np.issubdtype(a.dtype, np.integer)",
    ],
    lambda: (matrix(), 5),
    rtol=1e-15,
)


def well() -> np.ndarray:
    """A symmetric matrix that is positive definite."""
    return np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])


group(
    "library_linalg",
    "a, b",
    [
        "np.linalg.solve(a, b)",
        "np.linalg.inv(a)",
        "np.linalg.det(a)",
        "np.linalg.slogdet(a)",
        "np.linalg.cholesky(a)",
        "np.linalg.eigh(a)[0]",
        "np.linalg.eigvalsh(a, 'U')",
        "np.linalg.eigvalsh(a)",
        "np.linalg.svd(a, compute_uv=False)",
        "np.linalg.svd(a, full_matrices=False)[1]",
        "np.linalg.cond(a)",
        "np.linalg.matrix_rank(a)",
        "np.linalg.pinv(a)",
        "np.linalg.lstsq(a, b)[0]",
        "np.abs(np.linalg.qr(a)[1])",
        "np.linalg.matrix_power(a, 3)",
        "np.linalg.multi_dot((a, a, a))",
        "np.linalg.norm(b)",
        "np.linalg.norm(a, 'fro')",
        "np.linalg.norm(a, 2)",
        "np.linalg.norm(a, np.inf, axis=0)",
    ],
    lambda: (well(), np.array([1.0, 2.0, 3.0])),
    rtol=1e-12,
)
# Of real matrices they are complex here, and real in NumPy where none is.
group(
    "library_eigenvalues",
    "a",
    ["np.linalg.eig(a)[0].real", "np.abs(np.linalg.eigvals(a))"],
    lambda: (well(),),
    rtol=1e-12,
)
if hasattr(np.linalg, "svdvals"):
    group("library_svdvals", "a", ["np.linalg.svdvals(a)"], lambda: (well(),), rtol=1e-12)
group(
    "clocks",
    "x",
    [
        f"time.{c}{ns}() > x"
        for c in ("time", "perf_counter", "monotonic", "process_time", "thread_time")
        for ns in ("", "_ns")
    ],
    (0.0,),
)
