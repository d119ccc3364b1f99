"""Linear algebra: the functions of numpy.linalg.

What computes are NumPy's own C loops, ufuncs of ``numpy.linalg._umath_linalg``, which call LAPACK; what is written here is what NumPy writes around
them in Python: checks, types, exceptions. As there, single precision is computed in double and rounded at the end. A loop raises the flag "invalid"
where it failed (`checked`). Types must follow from types: so `eig` and `eigvals` of real matrices give complex numbers, always.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from numpy.linalg import _umath_linalg as loops

from . import Constant, checked, is_constant, refuse

try:
    from numpy.linalg._linalg import EighResult, EigResult, QRResult, SlogdetResult, SVDResult
except ImportError:  # NumPy < 2
    from numpy.linalg.linalg import EighResult, EigResult, QRResult, SlogdetResult, SVDResult


def matrices(a: Any) -> None:
    """There are two axes at least."""
    if a.ndim < 2:
        raise LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")


def square(a: Any) -> None:
    """The last two axes are of one length."""
    matrices(a)
    if a.shape[-1] != a.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")


def finite(a: Any) -> None:
    """All items are finite."""
    if not np.isfinite(a).all():
        raise LinAlgError("Array must not contain infs or NaNs")


def wide(a: Any) -> Any:
    """The array in double precision, which is what loops compute in."""
    if a.dtype == np.float16:
        refuse("array type float16 is unsupported in linalg")
    if a.dtype == np.float64 or a.dtype == np.complex128:
        return a
    if a.dtype.kind == "c":
        return a.astype(np.complex128)
    return a.astype(np.float64)


def narrow(r: Any, a: Any) -> Any:
    """A result for the array that was given: in single precision, if that was."""
    if a.dtype == np.float32 or a.dtype == np.complex64:
        if r.dtype.kind == "c":
            return r.astype(np.complex64)
        return r.astype(np.float32)
    return r


def narrow_both(r: Any, a: Any, b: Any) -> Any:
    """The same for two arrays, both of single precision."""
    if b.dtype == np.float32 or b.dtype == np.complex64:
        return narrow(r, a)
    return r


def together(a: Any, b: Any) -> Any:
    """The array `a` in double precision, complex where `b` is."""
    if b.dtype.kind == "c" and a.dtype.kind != "c":
        return a.astype(np.complex128)
    return wide(a)


def solve(a: Any, b: Any) -> Any:
    a, b = np.asarray(a), np.asarray(b)
    square(a)
    if b.ndim == 1:
        r, failed = checked(loops.solve1, together(a, b), together(b, a))
    else:
        r, failed = checked(loops.solve, together(a, b), together(b, a))
    if failed:
        raise LinAlgError("Singular matrix")
    return narrow_both(r, a, b)


def inv(a: Any) -> Any:
    a = np.asarray(a)
    square(a)
    r, failed = checked(loops.inv, wide(a))
    if failed:
        raise LinAlgError("Singular matrix")
    return narrow(r, a)


def det(a: Any) -> Any:
    a = np.asarray(a)
    square(a)
    return narrow(loops.det(wide(a)), a)


def slogdet(a: Any) -> Any:
    a = np.asarray(a)
    square(a)
    sign, logdet = loops.slogdet(wide(a))
    return SlogdetResult(narrow(sign, a), narrow(logdet, a))


def cholesky(a: Any, /, *, upper: Constant = False) -> Any:
    return cholesky_factor(a, upper)


def cholesky_factor(a: Any, upper: Constant) -> Any:
    a = np.asarray(a)
    square(a)
    if upper:
        r, failed = checked(loops.cholesky_up, wide(a))
    else:
        r, failed = checked(loops.cholesky_lo, wide(a))
    if failed:
        raise LinAlgError("Matrix is not positive definite")
    return narrow(r, a)


# --- eigenvalues ---


def eig(a: Any) -> Any:
    a = np.asarray(a)
    square(a)
    finite(a)
    (w, v), failed = checked(loops.eig, wide(a))
    if failed:
        raise LinAlgError("Eigenvalues did not converge")
    return EigResult(narrow(w, a), narrow(v, a))


def eigvals(a: Any) -> Any:
    a = np.asarray(a)
    square(a)
    finite(a)
    w, failed = checked(loops.eigvals, wide(a))
    if failed:
        raise LinAlgError("Eigenvalues did not converge")
    return narrow(w, a)


def eigh(a: Any, UPLO: Any = "L") -> Any:
    a = np.asarray(a)
    if UPLO == "L" or UPLO == "l":
        square(a)
        (w, v), failed = checked(loops.eigh_lo, wide(a))
    elif UPLO == "U" or UPLO == "u":
        square(a)
        (w, v), failed = checked(loops.eigh_up, wide(a))
    else:
        raise ValueError("UPLO argument must be 'L' or 'U'")
    if failed:
        raise LinAlgError("Eigenvalues did not converge")
    return EighResult(narrow(w, a), narrow(v, a))


def eigvalsh(a: Any, UPLO: Any = "L") -> Any:
    a = np.asarray(a)
    if UPLO == "L" or UPLO == "l":
        square(a)
        w, failed = checked(loops.eigvalsh_lo, wide(a))
    elif UPLO == "U" or UPLO == "u":
        square(a)
        w, failed = checked(loops.eigvalsh_up, wide(a))
    else:
        raise ValueError("UPLO argument must be 'L' or 'U'")
    if failed:
        raise LinAlgError("Eigenvalues did not converge")
    return narrow(w, a)


# --- singular values ---

# The size that is the smaller of two follows from no operand, so results are made here. Up to NumPy 2.0 there is a loop for either being the smaller.
if hasattr(loops, "svd_f"):

    def run_svd(a: Any, s: Any) -> bool:
        return checked(loops.svd, a, out=s)[1]

    def run_svd_full(a: Any, u: Any, s: Any, vh: Any) -> bool:
        return checked(loops.svd_f, a, out=(u, s, vh))[1]

    def run_svd_some(a: Any, u: Any, s: Any, vh: Any) -> bool:
        return checked(loops.svd_s, a, out=(u, s, vh))[1]

    def run_lstsq(a: Any, b: Any, rcond: Any, x: Any, resids: Any, rank: Any, s: Any) -> bool:
        return checked(loops.lstsq, a, b, rcond, out=(x, resids, rank, s))[1]

    def run_qr(a: Any, tau: Any) -> bool:
        return checked(loops.qr_r_raw, a, out=tau)[1]

else:

    def run_svd(a: Any, s: Any) -> bool:
        if a.shape[-2] < a.shape[-1]:
            return checked(loops.svd_m, a, out=s)[1]
        return checked(loops.svd_n, a, out=s)[1]

    def run_svd_full(a: Any, u: Any, s: Any, vh: Any) -> bool:
        if a.shape[-2] < a.shape[-1]:
            return checked(loops.svd_m_f, a, out=(u, s, vh))[1]
        return checked(loops.svd_n_f, a, out=(u, s, vh))[1]

    def run_svd_some(a: Any, u: Any, s: Any, vh: Any) -> bool:
        if a.shape[-2] < a.shape[-1]:
            return checked(loops.svd_m_s, a, out=(u, s, vh))[1]
        return checked(loops.svd_n_s, a, out=(u, s, vh))[1]

    def run_lstsq(a: Any, b: Any, rcond: Any, x: Any, resids: Any, rank: Any, s: Any) -> bool:
        if a.shape[-2] <= a.shape[-1]:
            return checked(loops.lstsq_m, a, b, rcond, out=(x, resids, rank, s))[1]
        return checked(loops.lstsq_n, a, b, rcond, out=(x, resids, rank, s))[1]

    def run_qr(a: Any, tau: Any) -> bool:
        if a.shape[-2] <= a.shape[-1]:
            return checked(loops.qr_r_raw_m, a, out=tau)[1]
        return checked(loops.qr_r_raw_n, a, out=tau)[1]


def singular_values(a: Any) -> Any:
    """Of matrices in double precision."""
    s = np.empty(a.shape[:-2] + (min(a.shape[-2], a.shape[-1]),))
    if run_svd(a, s):
        raise LinAlgError("SVD did not converge")
    return s


def svd(
    a: Any, full_matrices: Constant = True, compute_uv: Constant = True, hermitian: Constant = False
) -> Any:
    a = np.asarray(a)
    if hermitian:
        if not compute_uv:
            return np.sort(np.abs(eigvalsh(a)))[..., ::-1]
        refuse("svd(): hermitian=True is not supported in compiled code but for singular values alone")
    matrices(a)
    if not compute_uv:
        return narrow(singular_values(wide(a)), a)
    b = wide(a)
    m, n = b.shape[-2], b.shape[-1]
    outer = b.shape[:-2]
    s = np.empty(outer + (min(m, n),))
    if full_matrices:
        u, vh = np.empty(outer + (m, m), b.dtype), np.empty(outer + (n, n), b.dtype)
        failed = run_svd_full(b, u, s, vh)
    else:
        u, vh = np.empty(outer + (m, min(m, n)), b.dtype), np.empty(outer + (min(m, n), n), b.dtype)
        failed = run_svd_some(b, u, s, vh)
    if failed:
        raise LinAlgError("SVD did not converge")
    return SVDResult(narrow(u, a), narrow(s, a), narrow(vh, a))


def svdvals(x: Any, /) -> Any:
    return svd(x, True, False)


def cond(x: Any, p: Constant = None) -> Any:
    x = np.asarray(x)
    if x.ndim >= 2:
        if x.shape[-1] * x.shape[-2] == 0:
            raise LinAlgError("cond is not defined on empty arrays")
    if p is None or p == 2 or p == -2:
        matrices(x)
        s = singular_values(wide(x))
        if p is not None and p == -2:
            return no_nan(narrow(s[..., -1] / s[..., 0], x), x)
        return no_nan(narrow(s[..., 0] / s[..., -1], x), x)
    square(x)
    w = wide(x)
    return no_nan(narrow(norm(w, p, (-2, -1)) * norm(loops.inv(w), p, (-2, -1)), x), x)


def no_nan(r: Any, x: Any) -> Any:
    """A condition number that is NaN is infinite, but where the matrix has NaN."""
    if x.ndim == 2:
        if np.isnan(r) and not np.isnan(x).any():
            return r.dtype.type(np.inf)
        return r
    return np.where(np.isnan(r) & ~np.isnan(x).any(axis=-1).any(axis=-1), r.dtype.type(np.inf), r)


def matrix_rank(A: Any, tol: Any = None, hermitian: Constant = False, *, rtol: Any = None) -> Any:
    return rank_of(A, tol, hermitian, rtol)


def rank_of(A: Any, tol: Any, hermitian: Constant, rtol: Any) -> Any:
    A = np.asarray(A)
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    if A.ndim < 2:
        return int(not (A == 0).all())
    s = svd(A, True, False, hermitian)
    if tol is not None:
        return count(s, np.asarray(tol))
    largest = s.max(axis=-1, initial=0)
    if rtol is not None:
        return count(s, largest * np.asarray(rtol))
    return count(s, largest * (max(A.shape[-2], A.shape[-1]) * np.finfo(s.dtype).eps))


def count(s: Any, limit: Any) -> Any:
    """How many along the last axis are larger."""
    return (s > np.asarray(limit)[..., np.newaxis]).sum(axis=-1)


def pinv(a: Any, rcond: Any = None, hermitian: Constant = False, *, rtol: Any = None) -> Any:
    return pinv_of(a, rcond, hermitian, rtol)


def pinv_of(a: Any, rcond: Any, hermitian: Constant, rtol: Any) -> Any:
    a = np.asarray(a)
    if hermitian:
        refuse("pinv(): hermitian=True is not supported in compiled code")
    if rcond is not None and rtol is not None:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    matrices(a)
    if rcond is not None:
        return pseudo_inverse(a, np.asarray(rcond))
    if rtol is not None:
        return pseudo_inverse(a, np.asarray(rtol))
    return pseudo_inverse(a, np.asarray(1e-15))


def pseudo_inverse(a: Any, rcond: Any) -> Any:
    """The inverse of singular values that are not small."""
    if a.shape[-1] == 0 or a.shape[-2] == 0:
        if a.dtype.kind == "f" or a.dtype.kind == "c":
            return np.empty(a.shape[:-2] + (a.shape[-1], a.shape[-2]), a.dtype)
        return np.empty(a.shape[:-2] + (a.shape[-1], a.shape[-2]))
    u, s, vh = svd(wide(a).conj(), False)
    cutoff = rcond[..., np.newaxis] * s.max(axis=-1, keepdims=True)
    t = np.where(s > cutoff, 1 / s, 0.0)
    return narrow(
        np.matmul(np.swapaxes(vh, -1, -2), t[..., np.newaxis] * np.swapaxes(u, -1, -2)),
        a,
    )


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    a, b = np.asarray(a), np.asarray(b)
    if b.ndim == 1:
        x, resids, rank, s = least_squares(a, b[:, np.newaxis], rcond)
        return x[:, 0], resids, rank, s
    return least_squares(a, b, rcond)


def least_squares(a: Any, b: Any, rcond: Any) -> Any:
    if a.ndim != 2:
        raise LinAlgError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    if b.ndim != 2:
        raise LinAlgError(f"{b.ndim}-dimensional array given. Array must be two-dimensional")
    m, n, k = a.shape[0], a.shape[1], b.shape[1]
    if m != b.shape[0]:
        raise LinAlgError("Incompatible dimensions")
    limit = np.finfo(np.float64).eps * max(n, m) if rcond is None else float(rcond)
    wa, wb = together(a, b), together(b, a)
    if k == 0:  # LAPACK wants one at least
        wb = np.zeros((m, 1), wb.dtype)
    x, resids = np.empty((n, wb.shape[1]), wa.dtype), np.empty(wb.shape[1])
    rank, s = np.empty((), np.int32), np.empty(min(m, n))
    if run_lstsq(wa, wb, limit, x, resids, rank, s):
        raise LinAlgError("SVD did not converge in Linear Least Squares")
    if m == 0:
        x[...] = 0
    x, resids = x[:, :k], resids[:k]
    if rank[()] != n or m <= n:
        resids = resids[:0]
    return narrow_both(x, a, b), narrow_both(resids, a, b), rank[()], narrow_both(s, a, b)


# --- other decompositions ---


def upper_part(a: Any, rows: Any) -> Any:
    """The first rows of each matrix, without what is below the diagonal."""
    r = a[..., :rows, :]
    return np.where(np.arange(rows)[:, np.newaxis] <= np.arange(a.shape[-1]), r, r.dtype.type(0))


def qr(a: Any, mode: Any = "reduced") -> Any:
    a = np.asarray(a)
    if mode != "reduced" and mode != "complete" and mode != "r" and mode != "raw":
        raise ValueError(f"Unrecognized mode '{mode}'")
    matrices(a)
    m, n = a.shape[-2], a.shape[-1]
    least = min(m, n)
    w = np.copy(wide(a))  # the loop stores into it
    tau = np.empty(a.shape[:-2] + (least,), w.dtype)
    if run_qr(w, tau):
        raise LinAlgError("Incorrect argument found while performing QR factorization")
    if mode == "r":
        return narrow(upper_part(w, least), a)
    if mode == "raw":
        return narrow(np.swapaxes(w, -1, -2), a), narrow(tau, a)
    if mode == "complete" and m > n:
        q = np.empty(a.shape[:-2] + (m, m), w.dtype)
        failed = checked(loops.qr_complete, w, tau, out=q)[1]
    else:
        q = np.empty(a.shape[:-2] + (m, least), w.dtype)
        failed = checked(loops.qr_reduced, w, tau, out=q)[1]
    if failed:
        raise LinAlgError("Incorrect argument found while performing QR factorization")
    return QRResult(narrow(q, a), narrow(upper_part(w, q.shape[-1]), a))


# --- products and norms ---


def matrix_power(a: Any, n: Constant) -> Any:
    if not isinstance(n, (int, np.integer)):
        refuse("exponent must be an integer")
    a = np.asarray(a)
    square(a)
    if a.dtype.kind == "f" or a.dtype.kind == "c":
        if n < 0:
            return power(inv(a), -n)
        return power(a, n)
    if is_constant(n):
        if n < 0:
            return power(inv(a), -n)
        return power(a, n)
    if n < 0:
        raise ValueError(
            "matrix_power() of integers: a negative exponent, whose result is of floats, must be known when the function compiles"
        )
    return power(a, n)


def power(a: Any, n: Any) -> Any:
    """By squaring, in NumPy's order."""
    if n == 0:
        one = np.zeros(a.shape, a.dtype)
        for i in range(a.shape[-1]):
            one[..., i, i] = 1
        return one
    z = np.copy(a)
    while n % 2 == 0:
        z = np.matmul(z, z)
        n //= 2
    result = z
    n //= 2
    while n > 0:
        z = np.matmul(z, z)
        if n % 2 == 1:
            result = np.matmul(result, z)
        n //= 2
    return result


def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(arrays) > 3:
        refuse("multi_dot() of more than three arrays is not supported in compiled code; write it with @")
    if len(arrays) == 2:
        return np.dot(arrays[0], arrays[1], out=out)
    a, b, c = arrays[0], arrays[1], arrays[2]
    if b.ndim != 2:
        raise LinAlgError(f"{b.ndim}-dimensional array given. Array must be two-dimensional")
    m, p = b.shape[0], b.shape[1]
    # (AB)C costs rows(A) m p + rows(A) p columns(C), A(BC) the other.
    k = a.shape[0] if a.ndim == 2 else 1
    n = c.shape[1] if c.ndim == 2 else 1
    if k * p * (m + n) < m * n * (k + p):
        return np.dot(np.dot(a, b), c, out=out)
    return np.dot(a, np.dot(b, c), out=out)


def floats(x: Any) -> Any:
    """The array, integers as float64."""
    if x.dtype.kind == "f" or x.dtype.kind == "c":
        return x
    return x.astype(np.float64)


def squares(x: Any) -> Any:
    """Squares of absolute values."""
    if x.dtype.kind == "c":
        return x.real * x.real + x.imag * x.imag
    return x * x


def norm(x: Any, ord: Constant = None, axis: Constant = None, keepdims: Constant = False) -> Any:
    x = floats(np.asarray(x))
    if axis is None:
        if ord is None:
            return kept(np.sqrt(squares(x).sum()), x, keepdims)
        if x.ndim == 1:
            return vector_norm(x, ord, 0, keepdims)
        if x.ndim == 2:
            return matrix_norm(x, ord, 0, 1, keepdims)
        raise ValueError("Improper number of dimensions to norm.")
    if isinstance(axis, tuple):
        if len(axis) == 1:
            return vector_norm(x, ord, axis[0], keepdims)
        if len(axis) == 2:
            return matrix_norm(x, ord, axis[0], axis[1], keepdims)
        raise ValueError("Improper number of dimensions to norm.")
    return vector_norm(x, ord, axis, keepdims)


def kept(r: Any, x: Any, keepdims: Constant) -> Any:
    """A number as an array of as many axes as x has."""
    if keepdims:
        return np.asarray(r).reshape((1,) * x.ndim)
    return r


def vector_norm(x: Any, ord: Constant, axis: Constant, keepdims: Constant) -> Any:
    if ord is None:
        return np.sqrt(squares(x).sum(axis=axis, keepdims=keepdims))
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if ord == np.inf:
        return np.abs(x).max(axis=axis, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return np.abs(x).min(axis=axis, keepdims=keepdims)
    if ord == 0:
        return (x != 0).astype(x.real.dtype).sum(axis=axis, keepdims=keepdims)
    if ord == 1:
        return np.abs(x).sum(axis=axis, keepdims=keepdims)
    if ord == 2:
        return np.sqrt(squares(x).sum(axis=axis, keepdims=keepdims))
    real = x.real.dtype.type
    return (np.abs(x) ** real(ord)).sum(axis=axis, keepdims=keepdims) ** (real(1) / real(ord))


def matrix_norm(x: Any, ord: Constant, row: Constant, column: Constant, keepdims: Constant) -> Any:
    if not (-x.ndim <= row < x.ndim and -x.ndim <= column < x.ndim):
        raise np.exceptions.AxisError("axis is out of bounds")
    if row % x.ndim == column % x.ndim:
        raise ValueError("Duplicate axes given.")
    y = np.moveaxis(x, (row, column), (-2, -1))
    r = matrix_norm_last(y, ord)
    if keepdims:
        return np.expand_dims(r, (row % x.ndim, column % x.ndim))
    return r


def matrix_norm_last(y: Any, ord: Constant) -> Any:
    if ord is None or ord == "fro" or ord == "f":
        return np.sqrt(squares(y).sum(axis=-1).sum(axis=-1))
    if ord == "nuc":
        return narrow(singular_values(wide(y)), y).sum(axis=-1)
    if isinstance(ord, str):
        raise ValueError("Invalid norm order for matrices.")
    if ord == 2:
        return narrow(singular_values(wide(y)), y).max(axis=-1, initial=0)
    if ord == -2:
        return narrow(singular_values(wide(y)), y).min(axis=-1)
    if ord == 1:
        return np.abs(y).sum(axis=-2).max(axis=-1, initial=0)
    if ord == -1:
        return np.abs(y).sum(axis=-2).min(axis=-1)
    if ord == np.inf:
        return np.abs(y).sum(axis=-1).max(axis=-1, initial=0)
    if ord == -np.inf:
        return np.abs(y).sum(axis=-1).min(axis=-1)
    raise ValueError("Invalid norm order for matrices.")


if not hasattr(np.linalg, "svdvals"):  # NumPy < 2: fewer parameters

    def cholesky(a: Any) -> Any:  # type: ignore[misc]
        return cholesky_factor(a, False)

    def matrix_rank(A: Any, tol: Any = None, hermitian: Constant = False) -> Any:  # type: ignore[misc]
        return rank_of(A, tol, hermitian, None)

    def pinv(a: Any, rcond: Any = None, hermitian: Constant = False) -> Any:  # type: ignore[misc]
        return pinv_of(a, rcond, hermitian, None)


# --- tensors ---


def product(sizes: Any) -> int:
    n = 1
    for k in sizes:
        n *= k
    return n


def tensorinv(a: Any, ind: Constant = 2) -> Any:
    """`ind` is a constant."""
    a = np.asarray(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    rows = product(a.shape[ind:])
    return inv(a.reshape(rows, -1)).reshape(a.shape[ind:] + a.shape[:ind])


def tensorsolve(a: Any, b: Any, axes: Constant = None) -> Any:
    """`axes`, a constant, go to the end before."""
    a, b = np.asarray(a), np.asarray(b)
    if axes is None:
        return solved_tensor(a, b)
    return solved_tensor(np.moveaxis(a, axes, ENDS[len(axes)]), b)


ENDS = ((), (-1,), (-2, -1), (-3, -2, -1), (-4, -3, -2, -1))


def solved_tensor(a: Any, b: Any) -> Any:
    rest = a.shape[b.ndim :] if a.ndim > b.ndim else a.shape
    n = product(rest)
    if a.size != n**2:
        raise LinAlgError(
            "Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        )
    return solve(np.reshape(a, (n, n)), np.ravel(b)).reshape(rest)
