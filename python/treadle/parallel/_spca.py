"""Sparse PCA: the surface. What runs for each sample is `treadle._library.spca`.

Of a covariance's leading part ``Vd @ Vd.T`` the best direction with k entries is looked for among samples, each of which
is a function of a key and its number. So samples are a range that is cut for batches and threads, and nothing depends
on where. Loadings are scaled by a power of two, which rounds nothing, so that no square is out of range.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import ceil, isfinite, ldexp
from operator import index
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treadle._core import get_num_threads
from treadle._library import spca
from treadle.decorators import njit
from treadle.parallel._progress import Progress
from treadle.parallel.random import key as key_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_WAYS = {"posed": spca.POSED, "fused": spca.FUSED, "early": spca.EARLY, "pruned": spca.PRUNED}
# Items of the first batch, some tenths of a second at most; later ones take from 0.1 to 0.5 s.
_FIRST = 1 << 29
# How many parts a batch has for each thread, two at least: a part costs microseconds, for which a sample that hardly
# needs looking at takes 10 ns, and one that does a microsecond.
_PARTS = 8
_LEAST = 1 << 14

_unit = njit(error_model="numpy", cache=True)(spca.unit_vector)


class SparseComponent(NamedTuple):
    """A unit vector with few entries that are not zero.

    Attributes
    ----------
    indices : ndarray of intp, (k,)
        Where they stand, ascending.
    values : ndarray, (k,)
        What stands there, of the dtype of ``Vd``.
    objective : float
        ``x @ A @ x``: the variance that the component explains.
    sample : int
        The number of the sample that it comes of.
    worth : float
        The sample's own objective, before the values were improved: never more than `objective` but for rounding.
    size : int
        How many entries there are, zeros and all.
    """

    indices: NDArray[np.intp]
    values: NDArray[Any]
    objective: float
    sample: int
    worth: float
    size: int

    @property
    def x(self) -> NDArray[Any]:
        """The vector with its zeros, of shape (size,)."""
        x = np.zeros(self.size, self.values.dtype)
        x[self.indices] = self.values
        return x


def sparse_pca(
    Vd: ArrayLike,
    epsilon: float = 0.1,
    k: int = 10,
    *,
    key: Any = 0,
    A: ArrayLike | None = None,
    samples: int | None = None,
    method: str = "pruned",
    compat: str | None = None,
    polish: bool = True,
    parallel: bool = True,
) -> SparseComponent:
    """Return the best unit vector with k entries that are not zero, by samples of a low-rank covariance.

    The x with at most k entries and length 1 is wanted that makes ``x @ A @ x`` large. With A replaced by its leading
    part ``Vd @ Vd.T`` it would be found by looking at all unit vectors c of d dimensions: for each, the best x is
    ``a = Vd @ c`` where ``abs(a)`` is largest, scaled. Here some are looked at, drawn by chance. The vector x of the
    best of them is then the leading eigenvector of the k rows and columns of A that it has chosen.

    Parameters
    ----------
    Vd : array_like, (p, d)
        Loadings: leading eigenvectors of A as columns, each times the root of its eigenvalue. float32 and float64 are
        computed with as they are; float16 as float32, and integers as float64. d is small: samples grow as a power of it.
    epsilon : float
        In (0, 4]; there are ``ceil((4 / epsilon) ** d)`` samples.
    k : int
        How many entries, from 1 to p.
    key : int or uint64
        A key of ``treadle.parallel.random``: samples are functions of it and of their number.
    A : array_like, (p, p), optional
        The covariance, symmetric, of which the chosen rows and columns are read. Without it, ``Vd @ Vd.T``.
    samples : int, optional
        How many samples instead of what ``epsilon`` says.
    method : str
        How samples are looked at; all find the same one. "posed" makes arrays of them, as a NumPy program would.
        "fused" selects the k largest of each without arrays. "early" ends where the rest of the rows is too short.
        "pruned" tries those samples alone that a bound does not rule out.
    compat : str, optional
        "talk2014" chooses the k largest of a, and not of abs(a), as the program of a talk of that year did: the result is
        worse, and is that program's.
    polish : bool
        Whether the values are the eigenvector's, as told above; without it they are those of the sample.
    parallel : bool
        On all cores, or on one. The result has the same bits.

    Returns
    -------
    SparseComponent
        The vector and what it explains. Of samples that are equally good it is the first one's.

    Raises
    ------
    TypeError
        An array is no array of real numbers, ``k``, ``samples`` or ``key`` is no integer.
    ValueError
        ``Vd`` is not of two axes, is empty, or has items that are not finite; ``epsilon``, ``k`` or ``samples`` is out of
        range; ``A`` has another shape or is not symmetric; ``method`` or ``compat`` is unknown.

    Examples
    --------
    >>> import numpy as np, treadle
    >>> Vd = np.zeros((6, 2)); Vd[1, 0] = 3; Vd[4, 0] = -4; Vd[2, 1] = 1
    >>> best = treadle.sparse_pca(Vd, 0.5, 2)
    >>> best.indices.tolist(), best.values.round(3).tolist(), round(best.objective, 3)
    ([1, 4], [-0.6, 0.8], 25.0)
    """
    V = _loadings(Vd)
    p, d = V.shape
    if not 1 <= (k := _integer("k", k)) <= p:
        raise ValueError(f"sparse_pca(): k is {k}, and Vd has {p} rows")
    if method not in _WAYS:
        raise ValueError(f"sparse_pca(): method is one of {', '.join(map(repr, _WAYS))}, not {method!r}")
    if compat not in (None, "talk2014"):
        raise ValueError(f"sparse_pca(): compat is None or 'talk2014', not {compat!r}")
    count = _count(epsilon, d, samples)
    number = _key(key)
    signed = compat is not None
    A = None if A is None else _covariance(A, p)

    threads = get_num_threads() if parallel else 1
    of_rows = bool(polish) and A is None
    prepare, search, choose = _programs(_WAYS[method], d, signed, of_rows, bool(parallel))
    scaled, *rows, top, exponent = prepare(V, k, min(threads, p))
    if not isfinite(top):
        raise ValueError("sparse_pca(): Vd has items that are not finite")
    worth, at, c = _searched(search, rows, p, k, number, count, threads, _WAYS[method])

    indices, values, objective = choose(scaled, c, k)
    if A is not None:
        M = _part(A, indices, exponent)
        if polish:
            eigenvalues, vectors = np.linalg.eigh(M)
            values, objective = _unit(vectors[:, -1]), float(eigenvalues[-1])
        else:
            objective = float(values.astype(np.float64) @ M @ values.astype(np.float64))
    elif not polish:
        objective = worth
    return SparseComponent(
        indices,
        values.astype(V.dtype, copy=False),
        _scaled(objective, exponent),
        at,
        _scaled(worth, exponent),
        p,
    )


# --- arguments ---


def _integer(name: str, n: Any) -> int:
    try:
        return index(n)
    except TypeError:
        raise TypeError(f"sparse_pca(): {name} is an integer, not {type(n).__name__}") from None


def _loadings(Vd: Any) -> NDArray[Any]:
    """The loadings in a type that is computed with."""
    V = np.asarray(Vd)
    if V.dtype.kind not in "biuf":
        raise TypeError(f"sparse_pca(): Vd has items of {V.dtype}, which are no real numbers")
    if V.ndim != 2 or 0 in V.shape:
        raise ValueError(f"sparse_pca(): Vd is an array of p rows and d columns, not of shape {V.shape}")
    return V.astype(np.float32 if V.dtype in (np.float16, np.float32) else np.float64, copy=False)


def _count(epsilon: Any, d: int, samples: Any) -> int:
    """How many samples there are."""
    try:
        e = float(epsilon)
    except (TypeError, ValueError):
        raise TypeError(f"sparse_pca(): epsilon is a number, not {type(epsilon).__name__}") from None
    if not 0 < e <= 4:
        raise ValueError(f"sparse_pca(): epsilon is more than 0 and at most 4, not {e:g}")
    if samples is None:
        n = (4 / e) ** d if d * np.log2(4 / e) <= 62 else np.inf
        if n > 2**62:
            raise ValueError(
                f"sparse_pca(): epsilon = {e:g} asks for {4 / e:g}**{d} samples, which are too many"
            )
        return ceil(n)
    if not 1 <= (count := _integer("samples", samples)) <= 2**62:
        raise ValueError(f"sparse_pca(): samples is from 1 to 2**62, not {count}")
    return count


def _key(key: Any) -> np.uint64:
    """A key as a number."""
    k = key if isinstance(key, int) else np.asarray(key)
    if isinstance(k, np.ndarray):
        if k.ndim != 0 or k.dtype.kind not in "iu":
            raise TypeError(
                "sparse_pca(): key is one that treadle.parallel.random has made, or an integer, not "
                + (f"an array of shape {k.shape}" if k.ndim else f"{type(key).__name__}")
            )
        k = int(k)
    return key_of(k)


def _covariance(A: Any, p: int) -> NDArray[Any]:
    M = np.asarray(A)
    if M.dtype.kind not in "biuf":
        raise TypeError(f"sparse_pca(): A has items of {M.dtype}, which are no real numbers")
    if M.shape != (p, p):
        raise ValueError(f"sparse_pca(): A has the shape {M.shape}, and Vd has {p} rows")
    return M


# --- the search ---


def _searched(
    search: Callable[..., Any],
    rows: list[Any],
    p: int,
    k: int,
    key: np.uint64,
    count: int,
    threads: int,
    way: int,
) -> tuple[float, int, tuple[Any, ...]]:
    """What the best sample is worth, its number, and the sample."""
    found = -1.0, -1, 0.0
    done, size = 0, max(spca.SAMPLES, _FIRST // p)
    with Progress("sparse_pca", count) as progress:
        while done < count:
            start = monotonic()
            n = min(size, count - done)
            parts = 1 if threads == 1 else _parts(n, threads, way)
            *found, c = search(*rows, p, k, key, done, done + n, tuple(found), parts)
            done += n
            progress(done)
            took = monotonic() - start
            size = size * 2 if took < 0.1 else max(size // 2, 1) if took > 0.5 else size
    return float(found[0]), found[1], c


def _parts(n: int, threads: int, way: int) -> int:
    """How many parts n samples are cut into."""
    least = _LEAST if way == spca.PRUNED else spca.SAMPLES
    return min(max(2, min(_PARTS, n // least // threads)) * threads, -(-n // spca.SAMPLES))


@cache
def _programs(
    way: int, d: int, signed: bool, polished: bool, parallel: bool
) -> tuple[Callable[..., Any], ...]:
    """The compiled functions of a way: what is done before the search, the search of a range, and what is done after it."""

    def prepare(V: Any, k: Any, parts: Any) -> Any:
        return spca.prepared(V, k, parts, d)

    def search(
        v: Any, norm: Any, shape: Any, p: Any, k: Any, key: Any, low: Any, high: Any, found: Any, parts: Any
    ) -> Any:
        return spca.best_of_all(v, p, norm, shape, k, key, low, high, found, parts, way, signed)

    def choose(columns: Any, c: Any, k: Any) -> Any:
        return spca.chosen(columns, c, k, signed, polished)

    compiled = njit(error_model="numpy", parallel=parallel, cache=True)
    return compiled(prepare), compiled(search), njit(error_model="numpy", cache=True)(choose)


# --- the vector ---


def _part(A: Any, indices: Any, exponent: int) -> NDArray[np.float64]:
    """The chosen rows and columns, scaled."""
    M = np.ldexp(A[np.ix_(indices, indices)].astype(np.float64), -2 * exponent)
    if not np.isfinite(M).all():
        raise ValueError("sparse_pca(): A has items that are not finite")
    if not np.allclose(M, M.T):
        raise ValueError("sparse_pca(): A is not symmetric")
    return M


def _scaled(x: float, exponent: int) -> float:
    """A value of scaled loadings as one of what was given; inf where that has none."""
    try:
        return ldexp(x, 2 * exponent)
    except OverflowError:
        return float("inf")
