"""Rows of the matrix of ways in for NumPy's functions that are written in NumPy (python/treadle/_library)."""

from __future__ import annotations

import bisect
import functools
import heapq
import itertools
import operator
import time  # noqa: F401 - texts of rows name it

import numpy as np
import treadle.parallel as tp
import treadle.parallel.random as tr
from treadle._library.iterators import batched
from ways_rows import feature, floats, group, ints, matrix


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
    "library_questions",
    "a, n",
    ["np.unique(a, axis=0)", "np.median(a, axis=(0, 1))", "np.broadcast_shapes(a.shape, (n, 1, 1))", "np.mask_indices(n, np.triu)[0]",
     "np.apply_over_axes(np.sum, a, (0, 1))", "np.require(a, np.float32, 'C')", "np.frombuffer(np.ones(n))", "np.histogram_bin_edges(a, n)",
     "np.isfortran(a)", "np.iterable(a)", "np.zeros(n, np.result_type(a, 1))", "np.zeros(n, np.promote_types(a.dtype, np.int8))",
     "np.can_cast(a.dtype, np.float32)", "np.polyfit(np.arange(n), np.arange(n) * 2, 1)",
     "np.roots(np.arange(1, n))", "np.linalg.tensorinv(np.eye(6).reshape(2, 3, 6))", "np.linalg.tensorsolve(np.eye(4).reshape(2, 2, 4), np.ones((2, 2)))",
     "float(next(iter(np.nditer(a))))", "hasattr(a, 'shape')", "np.diff(a, prepend=0)", "np.take(a, n, mode='wrap')", "np.array(range(n))",
     "np.diff(a, n - 3)", "np.transpose(a, (n % 2, 1 - n % 2))", "np.moveaxis(a, (n % 2,), (0,))", "a.sum(axis=())",
     "np.take(a, (1, 0), 1, np.zeros((len(a), 2)))"],
    lambda: (matrix(), 5),
    rtol=1e-9,
)  # fmt: skip
group(
    "library_frequencies",
    "a, n",
    [
        "np.fft.fftfreq(n, 0.5)",
        "np.fft.rfftfreq(n)",
        "np.fft.fftshift(a)",
        "np.fft.ifftshift(a, 1)",
        "np.issubdtype(a.dtype, np.integer)",
        "np.isrealobj(a)",
        "np.iscomplexobj(a)",
        "np.isscalar(n)",
    ],
    lambda: (matrix(), 5),
    rtol=1e-15,
)
if not np.__version__.startswith("1."):  # the loops are NumPy 2's
    group(
        "library_fourier",
        "a, z",
        ["np.fft.fft(a)", "np.fft.ifft(z, 5, norm='ortho')", "np.fft.rfft(a, axis=0)", "np.fft.irfft(z)", "np.fft.hfft(z)", "np.fft.ihfft(a)", "np.fft.fft2(a)",
         "np.fft.ifft2(z, (2, 3))", "np.fft.rfft2(a)", "np.fft.irfft2(z)", "np.fft.fftn(a)", "np.fft.ifftn(z, axes=(0,))", "np.fft.rfftn(a)", "np.fft.irfftn(z)"],
        lambda: (matrix(), matrix() + 1j * matrix("F")),
        rtol=1e-13,
    )  # fmt: skip


def well() -> np.ndarray:
    """A symmetric matrix that is positive definite."""
    return np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])


group(
    "library_histograms",
    "a, m",
    [
        "np.histogram2d(a, -a, 4)[0]",
        "np.histogram2d(a, a * a, (3, [0.0, 1.0, 9.0]), weights=a, density=True)[1]",
        "np.histogramdd(m, (2, 3, 2, 1))[0].sum(axis=3)",
        "np.histogramdd((a, a), 3, range=((-1, 1), (0, 2)))[0]",
    ],
    lambda: (floats(), matrix()),
    rtol=1e-13,
)
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
        "np.tensordot(a, a, 2) + 0.0",
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


if hasattr(np, "isdtype"):  # from NumPy 2 on
    group(
        "library_isdtype",
        "a, n",
        ["np.isdtype(a.dtype, 'real floating')"],
        lambda: (matrix(), 5),
        rtol=1e-9,
    )
if hasattr(np, "in1d"):  # NumPy before 2.4

    @feature(lambda: (ints(),))
    def library_in1d(k):
        return np.in1d(k, (3, 4))


if hasattr(np, "cumulative_sum"):
    group(
        "library_array_api",
        "a",
        ["np.cumulative_sum(a, axis=1)", "np.cumulative_prod(a[0], include_initial=True)", "np.matrix_transpose(a)", "np.astype(a, np.float32)",
         "np.sort(np.unique_values(a))", "np.unique_counts(a)[1]", "np.unique_inverse(a)[1]", "np.unique_all(a)[1]", "np.asarray_chkfinite(a)", "np.asanyarray(a)",
         "np.linalg.matmul(a, a.T)", "np.linalg.outer(a[0], a[1])", "np.linalg.matrix_transpose(a)", "np.linalg.diagonal(a)", "np.linalg.cross(a, a[::-1], axis=0)", "np.linalg.trace(a)",
         "np.linalg.tensordot(a, a) + 0.0", "np.linalg.vecdot(a, a)", "np.linalg.vector_norm(a)", "np.linalg.matrix_norm(a)"],
        lambda: (matrix(),),
        rtol=1e-14,
    )  # fmt: skip
group(
    "library_polynomial_more",
    "a, b",
    ["np.polymul(a, b)", "np.polydiv(a, b)[0]", "np.poly(a)"],
    lambda: (np.array([1.0, 2.0, 3.0]), np.array([2.0, 5.0])),
    rtol=1e-14,
)
SERIES = [
    "np.polynomial.polynomial.polyval(b, a)", "np.polynomial.polynomial.polyadd(a, b)", "np.polynomial.polynomial.polysub(a, b)", "np.polynomial.polynomial.polymul(a, b)",
     "np.polynomial.polynomial.polymulx(a)", "np.polynomial.polynomial.polydiv(a, b)[0]", "np.polynomial.polynomial.polypow(a, 3)", "np.polynomial.polynomial.polyder(a)",
     "np.polynomial.polynomial.polyint(a, 2)", "np.polynomial.polynomial.polyfromroots(a)", "np.polynomial.polynomial.polyroots(a) + 0j", "np.polynomial.polynomial.polyvalfromroots(b, a)",
     "np.polynomial.polynomial.polyvander(a, 3)", "np.polynomial.polynomial.polyfit(a, a * 2, 1)", "np.polynomial.chebyshev.chebval(b, a)", "np.polynomial.chebyshev.chebvander(a, 3)",
     "np.polynomial.chebyshev.chebfit(a, a * 2, 1)", "np.polynomial.chebyshev.chebgauss(4)[0]", "np.polynomial.chebyshev.chebpts1(4)", "np.polynomial.chebyshev.chebpts2(4)",
     "np.polynomial.legendre.legval(b, a)", "np.polynomial.legendre.legder(a)", "np.polynomial.legendre.legvander(a, 3)", "np.polynomial.legendre.legfit(a, a * 2, 1)", "np.polynomial.legendre.leggauss(4)[0]",
     "np.polynomial.hermite.hermval(b, a)", "np.polynomial.hermite.hermvander(a, 3)", "np.polynomial.hermite.hermfit(a, a * 2, 1)", "np.polynomial.hermite.hermgauss(4)[1]",
     "np.polynomial.hermite_e.hermeval(b, a)", "np.polynomial.hermite_e.hermevander(a, 3)", "np.polynomial.hermite_e.hermefit(a, a * 2, 1)", "np.polynomial.hermite_e.hermegauss(4)[1]",
     "np.polynomial.laguerre.lagval(b, a)", "np.polynomial.laguerre.lagder(a)", "np.polynomial.laguerre.lagvander(a, 3)", "np.polynomial.laguerre.lagfit(a, a * 2, 1)", "np.polynomial.laguerre.laggauss(4)[0]",
]  # fmt: skip
for k in range(0, len(SERIES), 8):
    group(f"library_series_{k // 8}", "a, b", SERIES[k : k + 8], lambda: (np.array([1.0, 2.0, 3.0, 0.5]), np.array([2.0, 5.0])), rtol=1e-8)  # fmt: skip
group(
    "library_indexers",
    "a, n",
    ["np.r_[a[0], n, 0:n, 0:1:3j]", "np.c_[a[0], a[1]]", "np.mgrid[0:n, -1:1:3j]", "np.ogrid[0:n, 1:3][0]", "a[np.s_[::2, 1:]]", "a[np.index_exp[1:]]"],
    lambda: (matrix(), 5),
    rtol=1e-14,
)  # fmt: skip
group(
    "library_made",
    "a, n",
    ["np.fromfunction(lambda i, j: i + 2 * j, (3, n))", "np.fromiter(a[0], np.float32)", "np.zeros(1, np.common_type(a))", "np.zeros(1, np.min_scalar_type(a))", "a.byteswap().byteswap()",
     "np.argsort(a[0]).choose((a[0], a[1], -a[0], -a[1], a[0]), mode='wrap')", "np.lexsort((n, n))", "a.flags.behaved, a.flags.aligned, a.flags.carray, a.flags.fortran"],
    lambda: (matrix(), 5),
    rtol=1e-14,
)  # fmt: skip
if hasattr(np.ndarray, "mT"):
    group("library_arrays_of_2", "a", ["a.mT", "1 if a.device == 'cpu' else 2"], lambda: (matrix(),))


@feature(lambda: (matrix(),))
def library_put_as_method(a):
    a.put([0, -1], 7)
    return a


@feature(lambda: (matrix(), matrix("F")))
def library_nditer_several(a, b):
    for x, y in np.nditer([a, b], op_flags=[["readonly"], ["readwrite"]]):
        y[...] = 2 * x
    return b


if hasattr(np, "row_stack"):

    @feature(lambda: (matrix(),))
    def library_row_stack(a):
        return np.row_stack((a, a))


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


# --- treadle.parallel: in Python its functions are nodes of a graph ---


def plus(p, q):
    return p + q


def affine(p, q):
    return p[0] * q[0], p[1] * q[0] + q[1]


def positive(v):
    return v > 0


@feature(lambda: (holes(), ints()), python=False)
def primitives_folded(a, n):
    return (
        tp.map(lambda v, w: v * w, a, a[0]),
        tp.map(tp.fuse(positive, lambda v: v - 1.0), a),
        tp.reduce(tp.add, n),
        tp.reduce(plus, n, identity=0),
        tp.scan(tp.maximum, a, 1, reverse=True),
        tp.scan(affine, (a[0], 2.0), identity=(1.0, 0.0)),
        tp.tabulate(lambda i: i * 2, 4),
    )


@feature(lambda: (holes(), ints()), python=False)
def primitives_chosen(a, n):
    return (
        tp.filter(positive, a),
        tp.stable_partition(lambda v: v % 2 == 0, n),
        tp.topk(a, 2, 1),
        tp.topk(n, 2, key=abs, largest=False),
        tp.run_length_encode(n),
        tp.unique_values(n),
        tp.unique_counts(n),
        tp.unique_inverse(n),
        tp.unique_all(n),
    )


@feature(lambda: (floats(), ints()), python=False)
def primitives_placed(a, n):
    return (
        tp.sort_by_key(n, n),
        tp.merge(tp.sort(a), np.sort(n)),
        tp.argsort(n),
        tp.scatter(a, n % 3, 1.0),
        tp.scatter(a, n % 3, 1.0, tp.add),
        tp.reduce_by_key(tp.add, n % 3, a, size=3),
        tp.take(a, n % 3),
        tp.searchsorted(np.sort(n), n),
        tp.bincount(n % 3),
        tp.histogram(a, 3),
        tp.where(a > 1, 1.0, 2.0),
        tp.arange(3),
        tp.full(2, 1.5),
        tp.zeros(2),
        tp.ones(2),
    )


@feature(lambda: (np.uint64(7), 9), lambda: (np.uint64(0), 1), python=False)
def library_random_by_key(k, n):
    a, b = tr.split(k)
    c = tr.fold_in(tr.key(n), n)
    return (
        tr.bits(a, (n, 3), np.uint8),
        tr.uniform(b, (2, n)),
        tr.uniform(c, n, np.float32, -1, 1),
        tr.normal(a, (3, n), np.float32)[1:],
        tr.randint(b, -n, n, (n,)),
        tr.choice(c, n + 3, n, False),
        tr.permutation(a, np.arange(n)),
        tr.normal(c),
    )


@feature(lambda: (ints(),))
def library_heaps(n):
    h = [v for v in n]  # noqa: C416 - a list in compiled code
    heapq.heapify(h)
    heapq.heappush(h, 3)
    return heapq.heapreplace(h, 4), heapq.heappushpop(h, 5), heapq.heappop(h), h


@feature(lambda: (ints(),))
def library_heaps_of_all(n):
    few, many = heapq.nsmallest(2, n), heapq.nlargest(3, n)
    return few[0], many[0], sum([x for x in heapq.merge(few, [1, 9])])


def down(x, y):
    return int(x < y) - int(x > y)


@feature(lambda: (ints(), 3))
def library_orders_and_batches(a, n):
    l = sorted([x for x in a], key=functools.cmp_to_key(down))
    l.sort(key=functools.cmp_to_key(lambda x, y: x % n - y % n))
    pairs = [p[0] - p[1] for p in batched(range(8), 2, strict=True)]
    key = functools.cmp_to_key(down)
    return key(l[0]).obj, max(l, key=key), sum(pairs)


@feature(lambda: (floats(), 3))
def library_iterators(a, n):
    s = 0.0
    for i, x in zip(itertools.count(1), itertools.accumulate(a)):
        s += i * x
    for x, y in itertools.pairwise(itertools.chain(a, a)):
        s += x * y
    for x in itertools.chain.from_iterable([[1.0, 2.0], [3.0]]):
        s += x
    for x in itertools.islice(itertools.cycle(a), 1, 9, n):
        s -= x
    for x in itertools.takewhile(lambda x: x < 2, itertools.dropwhile(lambda x: x < 0, a)):
        s += x
    for x in itertools.filterfalse(lambda x: x > 0, itertools.compress(a, itertools.repeat(True))):
        s += x
    for x, y in itertools.zip_longest(a, range(n), fillvalue=0.5):
        s += x * y
    for k, g in itertools.groupby(range(n + 2), lambda i: i // 2):
        for i in g:
            s += k * i
    both = itertools.tee(range(n))
    return s, sum(itertools.starmap(lambda x, y: x - y, zip(both[0], both[1])))


@feature(lambda: (5,))
def library_arrangements_of_items(n):
    s = 0
    for x, y in itertools.product(range(n), range(2)):
        s += 3 * x + y
    for x, y, z in itertools.combinations(range(n), 3):
        s += x * y - z
    for x, y in itertools.combinations_with_replacement(range(n), 2):
        s += x * 7 - y
    for x, y in itertools.permutations(range(n), 2):
        s += x - 2 * y
    return s


@feature(lambda: (7,))
def library_operators(n):
    t = (n, 2.5, n + 1)
    l = [n, 3, n]
    operator.delitem(l, 1)
    both = operator.itemgetter(0, 2)(t)
    text = operator.methodcaller("replace", "a", "b")("banana")
    return both, operator.attrgetter("real")(n), operator.countOf(l, n), operator.indexOf(l, n), len(text)


@feature(lambda: (np.sort(floats()), 1.5))
def library_bisections(a, x):
    found = [v for v in a]  # noqa: C416 - a list in compiled code
    bisect.insort_left(found, x)
    bisect.insort_right(found, x + 1)
    return bisect.bisect_left(a, x), bisect.bisect_right(a, x, 1, 3), found
