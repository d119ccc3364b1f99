"""What BLAS's routines do, in NumPy: each writes its result into arrays that are given as views, triangles and bands as BLAS has them, and leaves the rest alone. Independent of src/libs/blas.def."""

from __future__ import annotations

import numpy as np

__all__ = ["MODEL", "read_shapes"]

MODEL = {}


def routine(fn):
    MODEL[fn.__name__] = fn
    return fn


def op(letter, a):
    return {"N": a, "T": a.T, "C": a.conj().T}[letter]


def in_triangle(uplo, n):
    i, j = np.indices((n, n))
    return i <= j if uplo == "U" else i >= j


def triangle(uplo, diag, a):
    """A triangle as a dense matrix; ones on its diagonal where it is not read."""
    n = len(a)
    d = np.where(in_triangle(uplo, n), a, 0)
    if diag == "U":
        d[np.arange(n), np.arange(n)] = 1
    return d.astype(a.dtype)


def whole(uplo, a, hermitian):
    """A symmetric matrix of one of its triangles, or a Hermitian one."""
    n = len(a)
    d = np.where(in_triangle(uplo, n), a, 0)
    off = d * ~np.eye(n, dtype=bool)
    if hermitian:
        d = off + np.diag(np.diag(d).real)
        return (d + off.conj().T).astype(a.dtype)
    return (d + off.T).astype(a.dtype)


def band(A, m, n, kl, ku):
    d = np.zeros((m, n), A.dtype)
    for j in range(n):
        for i in range(max(0, j - ku), min(m, j + kl + 1)):
            d[i, j] = A[ku + i - j, j]
    return d


def half_band(uplo, A, n, k):
    return band(A, n, n, 0, k) if uplo == "U" else band(A, n, n, k, 0)


def places(uplo, n):
    """Of each item of a packed triangle, its row and column."""
    return [(i, j) for j in range(n) for i in (range(j + 1) if uplo == "U" else range(j, n))]


def unpack(uplo, AP, n):
    d = np.zeros((n, n), AP.dtype)
    for value, (i, j) in zip(AP, places(uplo, n)):
        d[i, j] = value
    return d


def put(to, value, alpha, beta):
    """A result, with what was there, which is not read where beta is 0."""
    new = alpha * value
    to[...] = new if beta == 0 else new + beta * to


def size(x):
    return np.abs(x.real) + np.abs(x.imag)


# --- one axis ---


@routine
def nrm2(x):
    return np.sqrt((np.abs(x.astype(np.result_type(x, np.float64))) ** 2).sum())


@routine
def dot(x, y):
    return (x * y).sum()


@routine
def dotu(x, y):
    return (x * y).sum()


@routine
def dotc(x, y):
    return (x.conj() * y).sum()


@routine
def scal(alpha, x):
    x[...] = alpha * x


@routine
def axpy(alpha, x, y):
    y[...] = alpha * x + y


@routine
def amax(x):
    return int(size(x).argmax())


@routine
def amin(x):
    return int(size(x).argmin())


@routine
def asum(x):
    return size(x).sum()


@routine
def rot(x, y, c, s):
    x[...], y[...] = c * x + s * y, c * y - np.conj(s) * x


@routine
def rotm(x, y, param):
    flag, h11, h21, h12, h22 = param
    if flag == -2:
        return
    if flag == 0:
        h11 = h22 = 1
    if flag == 1:
        h12, h21 = 1, -1
    x[...], y[...] = h11 * x + h12 * y, h21 * x + h22 * y


# --- a matrix and vectors ---


@routine
def gbmv(trans, m, n, kl, ku, alpha, A, x, beta, y):
    if m and n:  # BLAS does nothing otherwise
        put(y, op(trans, band(A, m, n, kl, ku)) @ x, alpha, beta)


@routine
def gemv(trans, m, n, alpha, A, x, beta, y):
    if m and n:
        put(y, op(trans, A) @ x, alpha, beta)


@routine
def trmv(uplo, trans, diag, n, A, x):
    x[...] = op(trans, triangle(uplo, diag, A)) @ x


@routine
def trsv(uplo, trans, diag, n, A, x):
    x[...] = np.linalg.solve(op(trans, triangle(uplo, diag, A)), x) if n else x


@routine
def tbmv(uplo, trans, diag, n, k, A, x):
    trmv(uplo, trans, diag, n, half_band(uplo, A, n, k), x)


@routine
def tbsv(uplo, trans, diag, n, k, A, x):
    trsv(uplo, trans, diag, n, half_band(uplo, A, n, k), x)


@routine
def tpmv(uplo, trans, diag, n, AP, x):
    trmv(uplo, trans, diag, n, unpack(uplo, AP, n), x)


@routine
def tpsv(uplo, trans, diag, n, AP, x):
    trsv(uplo, trans, diag, n, unpack(uplo, AP, n), x)


@routine
def symv(uplo, n, alpha, A, x, beta, y):
    put(y, whole(uplo, A, False) @ x, alpha, beta)


@routine
def hemv(uplo, n, alpha, A, x, beta, y):
    put(y, whole(uplo, A, True) @ x, alpha, beta)


@routine
def sbmv(uplo, n, k, alpha, A, x, beta, y):
    symv(uplo, n, alpha, half_band(uplo, A, n, k), x, beta, y)


@routine
def hbmv(uplo, n, k, alpha, A, x, beta, y):
    hemv(uplo, n, alpha, half_band(uplo, A, n, k), x, beta, y)


@routine
def spmv(uplo, n, alpha, AP, x, beta, y):
    symv(uplo, n, alpha, unpack(uplo, AP, n), x, beta, y)


@routine
def hpmv(uplo, n, alpha, AP, x, beta, y):
    hemv(uplo, n, alpha, unpack(uplo, AP, n), x, beta, y)


@routine
def ger(m, n, alpha, x, y, A):
    A[...] += alpha * np.outer(x, y)


@routine
def geru(m, n, alpha, x, y, A):
    ger(m, n, alpha, x, y, A)


@routine
def gerc(m, n, alpha, x, y, A):
    ger(m, n, alpha, x, y.conj(), A)


def add_half(uplo, A, value, beta=1, hermitian=False):
    """One triangle of a sum; the diagonal of a Hermitian one has no imaginary parts."""
    here = in_triangle(uplo, len(A))
    new = value if beta == 0 else value + beta * A
    if hermitian:
        n = np.arange(len(A))
        new[n, n] = new[n, n].real
    A[here] = new[here]


def add_packed(uplo, n, AP, value, hermitian=False):
    d = unpack(uplo, AP, n)
    add_half(uplo, d, value, 1, hermitian)
    for k, (i, j) in enumerate(places(uplo, n)):
        AP[k] = d[i, j]


@routine
def syr(uplo, n, alpha, x, A):
    add_half(uplo, A, alpha * np.outer(x, x))


@routine
def her(uplo, n, alpha, x, A):
    add_half(uplo, A, alpha * np.outer(x, x.conj()), 1, True)


@routine
def spr(uplo, n, alpha, x, AP):
    add_packed(uplo, n, AP, alpha * np.outer(x, x))


@routine
def hpr(uplo, n, alpha, x, AP):
    add_packed(uplo, n, AP, alpha * np.outer(x, x.conj()), True)


@routine
def syr2(uplo, n, alpha, x, y, A):
    add_half(uplo, A, alpha * (np.outer(x, y) + np.outer(y, x)))


def twice(alpha, x, y):
    return alpha * np.outer(x, y.conj()) + np.conj(alpha) * np.outer(y, x.conj())


@routine
def her2(uplo, n, alpha, x, y, A):
    add_half(uplo, A, twice(alpha, x, y), 1, True)


@routine
def spr2(uplo, n, alpha, x, y, AP):
    add_packed(uplo, n, AP, alpha * (np.outer(x, y) + np.outer(y, x)))


@routine
def hpr2(uplo, n, alpha, x, y, AP):
    add_packed(uplo, n, AP, twice(alpha, x, y), True)


# --- matrices ---


@routine
def gemm(transa, transb, m, n, k, alpha, A, B, beta, C):
    put(C, op(transa, A) @ op(transb, B), alpha, beta)


@routine
def syrk(uplo, trans, n, k, alpha, A, beta, C):
    a = A if trans == "N" else A.T
    add_half(uplo, C, alpha * (a @ a.T), beta)


@routine
def herk(uplo, trans, n, k, alpha, A, beta, C):
    a = A if trans == "N" else A.conj().T
    add_half(uplo, C, alpha * (a @ a.conj().T), beta, True)


@routine
def symm(side, uplo, m, n, alpha, A, B, beta, C, hermitian=False):
    a = whole(uplo, A, hermitian)
    put(C, a @ B if side == "L" else B @ a, alpha, beta)


@routine
def hemm(side, uplo, m, n, alpha, A, B, beta, C):
    symm(side, uplo, m, n, alpha, A, B, beta, C, True)


@routine
def trsm(side, uplo, trans, diag, m, n, alpha, A, B):
    a = op(trans, triangle(uplo, diag, A))
    if m and n:
        B[...] = alpha * (np.linalg.solve(a, B) if side == "L" else np.linalg.solve(a.T, B.T).T)


@routine
def trmm(side, uplo, trans, diag, m, n, alpha, A, B, C):
    a = op(trans, triangle(uplo, diag, A))
    C[...] = alpha * (a @ B if side == "L" else B @ a)


@routine
def dgmm(side, m, n, A, x, C):
    C[...] = x[:, None] * A if side == "L" else A * x


@routine
def geam(transa, transb, m, n, alpha, A, beta, B, C):
    C[...] = alpha * op(transa, A) + beta * op(transb, B)


def read_shapes(name, words):
    """The shapes of the arrays of a call, by its other words."""
    m, n, k, kl, ku = (words.get(w, 0) for w in ("m", "n", "k", "kl", "ku"))
    turned = words.get("trans", "N") != "N"
    sided = n if words.get("side") == "R" else m
    square, packed = (n, n), (n * (n + 1) // 2,)
    if name in ("gemv", "gbmv"):
        a = (m, n) if name == "gemv" else (kl + ku + 1, n)
        return {"A": a, "x": (m if turned else n,), "y": (n if turned else m,)}
    if name in ("tbmv", "tbsv", "sbmv", "hbmv"):
        return {"A": (k + 1, n), "x": (n,), "y": (n,)}
    if name in ("ger", "geru", "gerc"):
        return {"A": (m, n), "x": (m,), "y": (n,)}
    if name == "gemm":
        a = (m, k) if words["transa"] == "N" else (k, m)
        return {"A": a, "B": (k, n) if words["transb"] == "N" else (n, k), "C": (m, n)}
    if name in ("syrk", "herk"):
        return {"A": (k, n) if turned else (n, k), "C": square}
    if name == "dgmm":
        return {"A": (m, n), "x": (sided,), "C": (m, n)}
    if name == "geam":
        return {
            "A": (m, n) if words["transa"] == "N" else (n, m),
            "B": (m, n) if words["transb"] == "N" else (n, m),
            "C": (m, n),
        }
    if "side" in words:
        return {"A": (sided, sided), "B": (m, n), "C": (m, n)}
    return {"A": square, "AP": packed, "x": (n,), "y": (n,)}
