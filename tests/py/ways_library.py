"""Rows of the matrix of ways in for NumPy's functions that are written in NumPy (python/treadle/_library)."""

from __future__ import annotations

import numpy as np
from ways_rows import floats, group, matrix


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
    "library_nan_more",
    "a",
    ["np.nanmin(a)", "np.nanmax(a, axis=0)", "np.nanargmin(a)", "np.nanargmax(a, axis=1)", "np.nancumsum(a, axis=0)", "np.nancumprod(a)",
     "np.nanmean(a, axis=1)", "np.nanvar(a)", "np.nanstd(a, axis=0, ddof=1)"],
    lambda: (holes(),),
    rtol=1e-13,
)  # fmt: skip
group(
    "library_compare",
    "a, b",
    ["np.isclose(a, b)", "np.allclose(a, b)", "np.array_equal(a, b)", "np.array_equiv(a, b[0])", "np.isposinf(a)", "np.isneginf(a)", "np.isreal(a)",
     "np.iscomplex(a)", "np.nan_to_num(a)", "np.sinc(a)", "np.i0(b)"],
    lambda: (holes(), matrix()),
    rtol=1e-13,
)  # fmt: skip
group(
    "library_windows",
    "n",
    ["np.hanning(n)", "np.hamming(n)", "np.blackman(n)", "np.bartlett(n)", "np.kaiser(n, 4.5)"],
    lambda: (7,),
    rtol=1e-12,
)
group(
    "library_calculus",
    "a, m, x",
    ["np.interp(a, x, x * x)", "np.convolve(a, x)", "np.correlate(a, x, 'same')", "np.gradient(a)", "np.gradient(m, 0.5, axis=1)", "np.ediff1d(a)",
     "np.cross(m[:, :3], m[:, 1:])", "np.unwrap(a)", "np.polyval(x, m)"],
    lambda: (floats(), matrix(), np.arange(4.0)),
    rtol=1e-12,
)  # fmt: skip
if hasattr(np, "trapezoid"):
    group("library_trapezoid", "a", ["np.trapezoid(a)"], lambda: (floats(),), rtol=1e-12)
if hasattr(np, "trapz"):
    group("library_trapz", "a", ["np.trapz(a)"], lambda: (floats(),), rtol=1e-12)
group(
    "library_statistics",
    "m, w",
    ["np.average(m, axis=0)", "np.average(m, axis=1, weights=w)", "np.cov(m)", "np.corrcoef(m)"],
    lambda: (matrix(), np.arange(1.0, 5.0)),
    rtol=1e-12,
)
group(
    "library_quantiles",
    "m, a",
    ["np.quantile(m, 0.3)", "np.percentile(m, 75.0, axis=1)", "np.nanquantile(a, 0.3, axis=0)", "np.nanpercentile(a, 40.0)", "np.nanmedian(a)"],
    lambda: (matrix(), holes()),
    rtol=1e-13,
)  # fmt: skip
