"""Averages, covariances, quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Constant, refuse


def average(
    a: Any,
    axis: Constant = None,
    weights: Any = None,
    returned: Constant = False,
    *,
    keepdims: Constant = False,
) -> Any:
    """Mean with weights, and their sum where it is asked for. Weights of another shape lie along one axis."""
    a = np.asarray(a)
    if weights is None:
        found = np.mean(a, axis=axis, keepdims=keepdims)
        if np.size(found) == 0:
            raise ZeroDivisionError("division by zero")  # NumPy asks how many items each mean has
        if not returned:
            return found
        count = a.size / np.size(found)
        return found, np.full_like(found, count) if isinstance(found, np.ndarray) else found.dtype.type(count)
    w = np.asarray(weights)
    if a.ndim == w.ndim:
        if a.shape != w.shape:
            if axis is None:
                raise TypeError("Axis must be specified when shapes of a and weights differ.")
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        return weighed(a, w, axis, returned, keepdims)
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if w.ndim != 1 or isinstance(axis, tuple):
        refuse("weights must have the shape of a, or one axis")
    if w.size != a.shape[axis]:
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    if a.size == 0 and np.sum(w) == 0:  # NumPy sums them once, whether there is a mean or not
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    g = np.moveaxis(a, axis, -1)
    h = np.moveaxis(np.broadcast_to(w, g.shape), -1, axis)
    return weighed(a, h, axis, returned, keepdims)


def weighed(a: Any, w: Any, axis: Constant, returned: Constant, keepdims: Constant) -> Any:
    """A mean with weights that has one for each item."""
    if a.dtype.kind in "biu":
        return weighed(a.astype(np.float64), w, axis, returned, keepdims)
    kind = (np.ravel(a)[:0] * np.ravel(w)[:0]).dtype
    total = np.sum(w, axis=axis, dtype=kind, keepdims=keepdims)
    if np.any(total == 0.0):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    found = np.sum(a * w, axis=axis, dtype=kind, keepdims=keepdims) / total
    if returned:
        return found, total
    return found


def cov(
    m: Any,
    y: Any = None,
    rowvar: Constant = True,
    bias: Constant = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """Covariances of variables, which are rows. A matrix, or a number for one variable that is a sequence.

    A matrix of one variable gives a matrix of one item here, as the number of variables is not known when compiling.
    """
    m = np.asarray(m)
    if m.ndim > 2:
        refuse("m has more than 2 dimensions")
    if y is None:
        x = in_rows(m, rowvar)
    else:
        z = np.asarray(y)
        if z.ndim > 2:
            refuse("y has more than 2 dimensions")
        x = np.concatenate((in_rows(m, rowvar), in_rows(z, rowvar)), axis=0)
    if dtype is None:
        c = covariances(x * 1.0 if x.dtype.kind in "biu" else double(x), bias, ddof, fweights, aweights)
    else:
        c = covariances(x.astype(dtype), bias, ddof, fweights, aweights)
    if m.ndim < 2 and y is None:
        return c[0, 0]
    return c


def in_rows(m: Any, rowvar: Constant) -> Any:
    """Variables in rows."""
    if m.ndim == 0:
        return m.reshape(1, 1)
    if m.ndim == 1:
        return m[np.newaxis, :]
    if rowvar:
        return m
    return m.T


def double(x: Any) -> Any:
    """In double precision."""
    if x.dtype.kind == "c":
        return x.astype(np.complex128)
    return x.astype(np.float64)


def covariances(x: Any, bias: Constant, ddof: Any, fweights: Any, aweights: Any) -> Any:
    """The matrix of covariances of rows."""
    n = x.shape[1]
    less = (0 if bias else 1) if ddof is None else ddof
    if less != int(less):
        raise ValueError("ddof must be integer")
    if fweights is None and aweights is None:
        d = (x - (np.sum(x, axis=1) / n)[:, np.newaxis]).astype(x.dtype)
        by = float(n - less)
        c = np.dot(d, conjugate(d).T)
    else:
        f = np.ones(n) if fweights is None else np.asarray(fweights).astype(np.float64)
        a = np.ones(n) if aweights is None else np.asarray(aweights).astype(np.float64)
        if f.ndim != 1 or a.ndim != 1:
            refuse("weights must have one axis")
        if np.any(f != np.around(f)):
            raise TypeError("fweights must be integer")
        if f.size != n:
            raise RuntimeError("incompatible numbers of samples and fweights")
        if np.any(f < 0):
            raise ValueError("fweights cannot be negative")
        if a.size != n:
            raise RuntimeError("incompatible numbers of samples and aweights")
        if np.any(a < 0):
            raise ValueError("aweights cannot be negative")
        w = f * a
        total = np.sum(w)
        if total == 0.0:
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        d = x - (np.sum(x * w, axis=1) / total)[:, np.newaxis]
        by = total if less == 0 else total - less * (1.0 if aweights is None else np.sum(w * a) / total)
        c = np.dot(d * w, conjugate(d).T)
    return (c * (1.0 / max(by, 0.0))).astype(c.dtype)


def conjugate(x: Any) -> Any:
    """Itself where it is real."""
    if x.dtype.kind == "c":
        return np.conj(x)
    return x


def corrcoef(x: Any, y: Any = None, rowvar: Constant = True, *, dtype: Any = None) -> Any:
    """Correlations of variables, which are rows; a matrix, or a number, as `cov` has it."""
    c = cov(x, y, rowvar, dtype=dtype)
    if np.ndim(c) == 0:
        return c / c
    s = np.sqrt(np.diagonal(c).real)
    r = c / s[:, np.newaxis] / s[np.newaxis, :]
    if r.dtype.kind == "c":
        r.real[...] = np.clip(r.real, -1, 1)
        r.imag[...] = np.clip(r.imag, -1, 1)
        return r
    return np.clip(r, -1, 1)


def quantile(
    a: Any,
    q: Any,
    axis: Constant = None,
    out: Any = None,
    overwrite_input: Any = False,
    method: Any = "linear",
    keepdims: Constant = False,
) -> Any:
    """Quantiles along one axis, or of all items; a number for q is weak, so float32 stays.

    There are no weights, no methods 'inverted_cdf' and 'closest_observation', and several axes are refused.
    """
    check_range(q, 1.0, "Quantiles must be in the range [0, 1]")
    return quantiles(np.asarray(a), q, axis, out, method, keepdims, False)


def percentile(
    a: Any,
    q: Any,
    axis: Constant = None,
    out: Any = None,
    overwrite_input: Any = False,
    method: Any = "linear",
    keepdims: Constant = False,
) -> Any:
    """Percentiles along one axis, or of all items: quantiles of q / 100."""
    check_range(q, 100.0, "Percentiles must be in the range [0, 100]")
    x = np.asarray(a)
    return quantiles(x, hundredth(q), axis, out, method, keepdims, False)


def nanquantile(
    a: Any,
    q: Any,
    axis: Constant = None,
    out: Any = None,
    overwrite_input: Any = False,
    method: Any = "linear",
    keepdims: Constant = False,
) -> Any:
    """Quantiles of what is not NaN, as `quantile` has them."""
    check_range(q, 1.0, "Quantiles must be in the range [0, 1]")
    x = np.asarray(a)
    return quantiles(x, q, axis, out, method, keepdims, True)


def nanpercentile(
    a: Any,
    q: Any,
    axis: Constant = None,
    out: Any = None,
    overwrite_input: Any = False,
    method: Any = "linear",
    keepdims: Constant = False,
) -> Any:
    """Percentiles of what is not NaN, as `percentile` has them."""
    check_range(q, 100.0, "Percentiles must be in the range [0, 100]")
    x = np.asarray(a)
    return quantiles(x, hundredth(q), axis, out, method, keepdims, True)


def check_range(q: Any, most: Constant, text: Any) -> None:
    if not np.all((np.asarray(q) >= 0.0) & (np.asarray(q) <= most)):
        raise ValueError(text)


def hundredth(q: Any) -> Any:
    """q / 100: of a number in float64 whatever it is for, as NumPy 2.4 divides."""
    return np.true_divide(q, 100) if np.ndim(q) == 0 else np.asarray(q) / 100


def quantiles(
    a: Any, q: Any, axis: Constant, out: Any, method: Any, keepdims: Constant, nan: Constant
) -> Any:
    """Quantiles of rows, which are copied and put in order one after the other: of what is no NaN if `nan`, which is NaN of a row of nothing."""
    if a.dtype.kind in "bc":
        refuse("quantiles are of real numbers")
    if nan and np.ndim(q) > 0:
        if a.size == 0:  # NumPy gives one NaN for all of q: an array of another number of axes
            raise ValueError("of an array without items one quantile at a time, or none, is asked for")
    if nan and a.dtype.kind != "f":
        if a.size == 0 and method in ("lower", "higher", "nearest"):  # NumPy's NaN is no integer
            raise ValueError(
                "of integers without items no quantile is one of the items: another method gives NaN"
            )
    if isinstance(axis, tuple):
        if len(axis) > 4:
            refuse("quantiles along more than four axes at once are not there")
        else:
            return quantiles_over(a, q, axis, out, method, keepdims, nan)
    else:
        return quantiles_along(a, q, axis, out, method, keepdims, nan)


# Where several axes go before they are made one.
LAST = ((), (-1,), (-2, -1), (-3, -2, -1), (-4, -3, -2, -1))


def kept_shape(a: Any, axis: Constant, k: Constant) -> Any:
    """The first k sizes, 1 for axes that are reduced."""
    if k == 0:
        return ()
    n = a.shape[k - 1]
    for i in axis:
        if i == k - 1 or i == k - 1 - a.ndim:
            n = 1
    return (*kept_shape(a, axis, k - 1), n)


def one_axis(a: Any, axis: Constant) -> Any:
    """An array whose axes of a tuple are made one, the last."""
    g = np.moveaxis(a, axis, LAST[len(axis)])
    count = 1
    for n in g.shape[a.ndim - len(axis) :]:
        count *= n
    return np.ascontiguousarray(g).reshape((*g.shape[: a.ndim - len(axis)], count))


def quantiles_over(
    a: Any, q: Any, axis: Constant, out: Any, method: Any, keepdims: Constant, nan: Constant
) -> Any:
    """Along several axes, which are made one, the last."""
    rows = one_axis(a, axis)
    if not keepdims:
        return quantiles_along(rows, q, -1, out, method, False, nan)
    ready = np.asarray(quantiles_along(rows, q, -1, None, method, False, nan)).reshape(
        np.asarray(q).shape + kept_shape(a, axis, a.ndim)
    )
    if out is None:
        return ready
    out[...] = ready
    return out


def quantiles_along(
    a: Any, q: Any, axis: Constant, out: Any, method: Any, keepdims: Constant, nan: Constant
) -> Any:
    """Along one axis, or of all items."""
    qs = np.asarray(q)
    at = qs.ravel()
    if axis is None:
        flat = np.ravel(a)
        found = np.empty((at.size, 1), kind_of(a, q, method))
        quantiles_of_row(flat, at, method, nan, found[:, 0])
        if keepdims:
            ready = found.reshape(qs.shape + (1,) * a.ndim)
        elif np.ndim(q) == 0 and out is None:
            return found[0, 0]
        else:
            ready = found.reshape(qs.shape)
    else:
        g = np.moveaxis(a, axis, -1)
        rest = g.shape[: g.ndim - 1]
        n = g.shape[g.ndim - 1]
        if n == 0 and not nan:  # where there are no rows, too
            raise IndexError("index -1 is out of bounds for axis 0 with size 0")
        count = 1
        for k in rest:
            count *= k
        rows = np.ascontiguousarray(g).reshape(count, n)
        found = np.empty((at.size, count), kind_of(a, q, method))
        for i in range(count):
            quantiles_of_row(rows[i], at, method, nan, found[:, i])
        if np.ndim(q) == 0 and a.ndim == 1 and out is None and not keepdims:
            return found[0, 0]
        if keepdims:
            if axis < 0:
                ready = np.expand_dims(found.reshape(qs.shape + rest), axis)
            else:
                ready = np.expand_dims(found.reshape(qs.shape + rest), axis + qs.ndim)
        else:
            ready = found.reshape(qs.shape + rest)
    if out is None:
        return ready
    out[...] = ready
    return out


def kind_of(a: Any, q: Any, method: Any) -> Any:
    """The dtype of quantiles: that of the items where these are only chosen from."""
    if method in ("lower", "higher", "nearest"):
        return a.dtype
    if a.dtype.kind in "iu":
        if method == "linear" and np.asarray(q).dtype.kind in "iu":
            return a.dtype
        return (np.ravel(a)[:0] * 1.0).dtype
    if np.ndim(q) == 0:
        return a.dtype
    return (np.ravel(a)[:0] * np.ravel(q)[:0]).dtype


def quantiles_of_row(row: Any, q: Any, method: Any, nan: Constant, out: Any) -> None:
    if nan and row.dtype.kind == "f":
        some = row[~np.isnan(row)]
        if some.size == 0:
            out[:] = np.nan
        else:
            quantiles_of_some(some, q, method, out)
    elif row.size == 0:
        if not nan or out.dtype.kind != "f":
            raise IndexError("index -1 is out of bounds for axis 0 with size 0")
        out[:] = np.nan
    else:
        quantiles_of_some(row, q, method, out)


def quantiles_of_some(row: Any, q: Any, method: Any, out: Any) -> None:
    """Fill `out`. One quantile needs no more than to part the row, several need it in order."""
    n = row.size
    if row.dtype.kind == "f":
        if np.any(np.isnan(row)):
            out[:] = np.nan
            return
    if q.size == 1:
        low, high, t = neighbours(n, q[0], method)
        s = np.partition(row, (low, high))
        out[0] = chosen(s[low], s[high], t, out, method)
        return
    s = np.sort(row)
    for k in range(q.size):
        low, high, t = neighbours(n, q[k], method)
        out[k] = chosen(s[low], s[high], t, out, method)


def neighbours(n: Any, q: Any, method: Any) -> Any:
    """The places between which a quantile lies, and how far it is from the first."""
    if method in ("lower", "higher", "nearest"):
        v = (n - 1) * q
        f = np.floor(v) if method == "lower" else np.ceil(v) if method == "higher" else np.rint(v)
        return int(f), int(f), q * 0.0
    if method == "linear":
        v = (n - 1) * q
    elif method == "midpoint":
        v = 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q))
    elif method == "averaged_inverted_cdf":
        v = n * q - 1
    elif method == "interpolated_inverted_cdf":
        v = virtual(n, q, 0, 1)
    elif method == "hazen":
        v = virtual(n, q, 0.5, 0.5)
    elif method == "weibull":
        v = virtual(n, q, 0, 0)
    elif method == "median_unbiased":
        v = virtual(n, q, 1 / 3.0, 1 / 3.0)
    elif method == "normal_unbiased":
        v = virtual(n, q, 3 / 8.0, 3 / 8.0)
    else:
        refuse("this method is not there")
    low = int(np.floor(v))
    t = v - low
    if method == "midpoint":
        t = t * 0.0 if v % 1 == 0 else t * 0.0 + 0.5
    elif method == "averaged_inverted_cdf":
        t = t * 0.0 + 0.5 if t == 0 else t * 0.0 + 1.0
    if v >= n - 1:
        return n - 1, n - 1, t
    if v < 0:
        return 0, 0, t
    return low, low + 1, t


def virtual(n: Any, q: Any, alpha: Constant, beta: Constant) -> Any:
    return n * q + (alpha + q * (1 - alpha - beta)) - 1


def chosen(x: Any, y: Any, t: Any, out: Any, method: Any) -> Any:
    """The value between two, or the one that a method picks, which may be infinite."""
    if method in ("lower", "higher", "nearest"):
        return x
    return between(x, y, t, out)


def between(x: Any, y: Any, t: Any, out: Any) -> Any:
    """The value between two, from the nearer one; integers that are chosen stay what they are."""
    if out.dtype.kind in "iu":
        return x
    w = out.dtype.type(t)
    d = y - x
    return y - d * (1 - w) if w >= 0.5 else x + d * w


def nanmedian(
    a: Any, axis: Constant = None, out: Any = None, overwrite_input: Any = False, keepdims: Constant = False
) -> Any:
    """Median of what is not NaN, along one axis or of all items."""
    a = np.asarray(a)
    if a.dtype.kind == "c":
        refuse("medians of complex numbers that leave NaN out are not there")
    if a.dtype.kind != "f":
        return np.median(a, axis=axis, out=out, keepdims=keepdims)
    if isinstance(axis, tuple):
        if len(axis) > 4:
            refuse("medians along more than four axes at once are not there")
        else:
            return nanmedian_over(a, axis, out, keepdims)
    elif axis is None:
        found = median_of_row(np.ravel(a))
        if out is None and not keepdims:
            return found
        ready = np.full((1,) * a.ndim if keepdims else (), found)
    else:
        g = np.moveaxis(a, axis, -1)
        rest = g.shape[: g.ndim - 1]
        n = g.shape[g.ndim - 1]
        count = 1
        for k in rest:
            count *= k
        rows = np.ascontiguousarray(g).reshape(count, n)
        flat = np.empty(count, a.dtype)
        for i in range(count):
            flat[i] = median_of_row(rows[i])
        if a.ndim == 1 and out is None and not keepdims:
            return flat[0]
        ready = np.expand_dims(flat.reshape(rest), axis) if keepdims else flat.reshape(rest)
    if out is None:
        return ready
    out[...] = ready
    return out


def nanmedian_over(a: Any, axis: Constant, out: Any, keepdims: Constant) -> Any:
    """Along several axes, which are made one, the last."""
    rows = one_axis(a, axis)
    if not keepdims:
        return nanmedian(rows, axis=-1, out=out)
    ready = np.asarray(nanmedian(rows, axis=-1)).reshape(kept_shape(a, axis, a.ndim))
    if out is None:
        return ready
    out[...] = ready
    return out


def median_of_row(row: Any) -> Any:
    some = row[~np.isnan(row)]
    if some.size == 0:
        return row.dtype.type(np.nan)
    return np.median(some)
