"""Rows of the matrix of ways in for NumPy's functions that are written in NumPy (python/treadle/_library)."""

from __future__ import annotations

import numpy as np
from ways_rows import feature, group, ints, matrix


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


group(
    "library_choices",
    "a, k",
    [
        "np.choose(k % 2, (a[0, 0], 2.5))",
        "np.choose(k[:4] % 3, a)",
        "np.select((a > 1, a < -1), (a, -a), 0.5)",
        "np.piecewise(a, (a > 1, a < -1), (5.0, lambda x: x * 2, 0.0))",
        "np.take_along_axis(a, k.reshape(3, 4) % 3, 0)",
        "np.apply_along_axis(np.sum, 1, a)",
        "np.unique(k)",
        "np.unique(k, return_index=True, return_inverse=True, return_counts=True)",
        "np.union1d(k, (3, 77))",
        "np.intersect1d(k, (3, 4, 77))",
        "np.setxor1d(k, (3, 4, 77))",
        "np.setdiff1d(k, (3, 4))",
        "np.isin(k, (3, 4))",
        "np.packbits(k > 3)",
        "np.unpackbits(k.astype(np.uint8))",
        "np.lib.stride_tricks.sliding_window_view(k, 3).sum(axis=-1)",
        "np.lib.stride_tricks.as_strided(k, (2, 3), (8, 8))",
        "k.view(np.uint32)[:4]",
        "(k.flags.c_contiguous, k.flags.contiguous, a.flags.f_contiguous, a.flags.fnc, a.flags.forc, 1 * k.flags.writeable)",
    ],
    lambda: (matrix(), ints()),
    rtol=1e-14,
)


@feature(lambda: (matrix(), ints()))
def library_stored(a, k):
    np.copyto(a, 2.5, where=a > 1)
    np.place(a, a < -1, (7.0, 8.0))
    np.putmask(a, a == 7, 9.0)
    np.put(a, k[:3], (1.5, 2.5))
    np.put_along_axis(a, k[:4].reshape(1, 4) % 3, 4.0, 0)
    return a.sum()


if hasattr(np, "in1d"):  # NumPy before 2.4

    @feature(lambda: (ints(),))
    def library_in1d(k):
        return np.in1d(k, (3, 4))
