"""Rows of the matrix of ways in for NumPy's functions that are written in NumPy (python/treadle/_library)."""

from __future__ import annotations

import numpy as np
from ways_rows import feature, group, matrix


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
    "library_arrangements",
    "a",
    [
        "np.split(a, 3)[1]",
        "np.array_split(a, 3, axis=1)[2]",
        "np.hsplit(a, (1, 3))[1]",
        "np.vsplit(a, 3)[0]",
        "np.dsplit(a[:, :, None], 1)[0]",
        "np.rollaxis(a, 1)",
        "np.trim_zeros(a[0])",
        "np.kron(a, a)",
        "np.tensordot(a, a, 2)",
        "np.vander(a[0], 3)",
        "np.logspace(0, 2, 5)",
        "np.geomspace(1, 16, 5)",
        "np.indices((2, 3))",
        "a[np.ix_((0, 2), (1, 3))]",
        "np.tril_indices(3)",
        "np.triu_indices(3, 1)",
        "np.tril_indices_from(a)",
        "np.triu_indices_from(a)",
        "np.diag_indices(3)[0]",
        "np.diag_indices_from(a[:, :3])[1]",
        "np.diagflat(a[0])",
        "np.ravel_multi_index((1, 2), (3, 4))",
        "np.unravel_index(7, (3, 4))",
        "np.pad(a, 1)",
        "np.pad(a, (1, 2), 'reflect')",
        "np.delete(a, 1, axis=1)",
        "np.delete(a, (0, 2), axis=0)",
        "np.insert(a, 1, 5.0, axis=1)",
        "np.insert(a, (1, 2, 2), 5.0)",
        "np.resize(a, (2, 7))",
        "np.block([[a, a], [a, a]])",
    ],
    lambda: (matrix(),),
    rtol=1e-14,
)


@feature(lambda: (matrix(),))
def library_fill_diagonal(a):
    np.fill_diagonal(a, 1.0)
    return a.sum()
