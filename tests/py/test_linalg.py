"""numpy.linalg in compiled code (python/treadle/_library/linalg.py) against NumPy: values, types, shapes, exceptions."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
import treadle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import njit, prange

sys.path.insert(0, str(Path(__file__).parent))
from library_arrays import lay  # noqa: E402
from library_check import check  # noqa: E402

SETTINGS = settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
FEWER = settings(SETTINGS, max_examples=examples(30))  # nearly every example has types of its own to compile
NEW = hasattr(np.linalg, "svdvals")  # NumPy >= 2
DTYPES = ["f8", "f4", "c16", "c8", "i8", "i2", "?"]


def tolerance(dtype: str) -> float:
    """What LAPACK gives for another layout may differ in the last bits; single precision is rounded once more."""
    return 2e-5 if np.dtype(dtype).char in "fF" else 1e-9


def numbers(rng, shape, dtype):
    a = np.asarray(rng.integers(-4, 5, shape)) + np.asarray(rng.random(shape) if dtype[0] in "fc" else 0)
    if dtype[0] == "c":
        a = a + 1j * np.asarray(rng.random(shape))
    return a.astype(dtype)


def stack(rng, *core):
    return (*(int(n) for n in rng.integers(0, 3, rng.integers(0, 3))), *core)


def regular(rng, n, dtype):
    """A stack of matrices that are far from singular."""
    a = numbers(rng, stack(rng, n, n), dtype)
    return lay(rng, a if dtype == "?" else (a + (12 * np.eye(n)).astype(dtype)).astype(dtype))


SQUARE = ["inv", "det", "slogdet", "cond", "matrix_rank", "pinv"]


@SETTINGS
@given(st.integers(0, 10**6), st.sampled_from(DTYPES[:-1]), st.sampled_from(SQUARE))
def test_square(seed, dtype, name):
    rng = np.random.default_rng(seed)
    a = regular(rng, int(rng.integers(0 if name in ("inv", "det", "slogdet") else 1, 5)), dtype)
    if name in ("cond", "pinv") and a.size == 0:
        return
    check(f"np.linalg.{name}(a)", a, rtol=tolerance(dtype), atol=tolerance(dtype))


@SETTINGS
@given(st.integers(0, 10**6), st.sampled_from(DTYPES[:-1]), st.sampled_from(DTYPES[:-1]))
def test_solve(seed, dtype, other):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 5))
    a = regular(rng, n, dtype)
    b = numbers(rng, (n, int(rng.integers(0, 4))) if rng.integers(2) else n, other)
    if b.ndim > 1 and a.ndim > 2 and rng.integers(2):
        b = np.stack([b] * a.shape[-3]) if a.shape[-3] else b
    if not NEW and (b.ndim == 1) != (b.ndim == a.ndim - 1):
        return  # NumPy < 2: one axis less makes vectors of b
    t = max(tolerance(dtype), tolerance(other))
    check("np.linalg.solve(a, b)", a, lay(rng, b), rtol=t, atol=t)


@SETTINGS
@given(st.integers(0, 10**6), st.sampled_from(DTYPES[:-1]))
def test_symmetric(seed, dtype):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 5))
    a = numbers(rng, stack(rng, n, n), dtype)
    h = a + np.swapaxes(a, -1, -2).conj() + (40 * np.eye(n)).astype(dtype)
    h, t = lay(rng, h.astype(dtype)), tolerance(dtype)
    check("np.linalg.cholesky(a)", h, rtol=t, atol=t)
    if NEW:
        check("np.linalg.cholesky(a, upper=True)", h, rtol=t, atol=t)
    check("np.linalg.eigvalsh(a)", h, rtol=t, atol=t)
    check("np.linalg.eigvalsh(a, 'U')", h, rtol=t, atol=t)
    w, v = compiled_eigh(h)
    assert np.allclose(h @ v, v * w[..., None, :], rtol=100 * t, atol=100 * t)
    assert w.dtype == np.linalg.eigh(h)[0].dtype and v.dtype == np.linalg.eigh(h)[1].dtype


@njit
def compiled_eigh(a):
    r = np.linalg.eigh(a)
    return r.eigenvalues, r.eigenvectors


@njit
def compiled_eig(a):
    w, v = np.linalg.eig(a)
    return w, v, np.linalg.eigvals(a)


@SETTINGS
@given(st.integers(0, 10**6), st.sampled_from(DTYPES[:-1]))
def test_eigenvalues(seed, dtype):
    """Complex, whatever they are: the type follows from types."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 5))
    a = lay(rng, numbers(rng, stack(rng, n, n), dtype))
    w, v, w2 = compiled_eig(a)
    single = np.dtype(dtype).char in "fF"
    t = 1e-4 if single else 1e-8
    assert w.dtype == v.dtype == w2.dtype == (np.complex64 if single else np.complex128)
    np.testing.assert_allclose(a @ v, v * w[..., None, :], rtol=10 * t, atol=100 * t)
    np.testing.assert_allclose(w, w2, rtol=t, atol=t)
    want = np.linalg.eigvals(a)
    assert want.shape == w.shape


@FEWER
@given(st.integers(0, 10**6), st.sampled_from(DTYPES[:-1]), st.booleans())
def test_singular_values(seed, dtype, full):
    rng = np.random.default_rng(seed)
    a, t = lay(rng, numbers(rng, stack(rng, *rng.integers(1, 5, 2)), dtype)), tolerance(dtype)
    check("np.linalg.svd(a, compute_uv=False)", a, rtol=t, atol=t * 10)
    check("np.linalg.matrix_rank(a)", a)
    got, want = (compiled_full if full else compiled_some)(a), np.linalg.svd(a, full)
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape and g.dtype == w.dtype
    u, s, vh = got
    k = min(a.shape[-2:])
    np.testing.assert_allclose((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], a, rtol=20 * t, atol=40 * t)
    if a.size:
        check("np.linalg.pinv(a, 0.1)", a, rtol=10 * t, atol=100 * t)


@njit
def compiled_full(a):
    r = np.linalg.svd(a)
    return r.U, r.S, r.Vh


@njit
def compiled_some(a):
    return np.linalg.svd(a, full_matrices=False)


@SETTINGS
@given(
    st.integers(0, 10**6), st.sampled_from(DTYPES[:-1]), st.sampled_from(["reduced", "complete", "r", "raw"])
)
def test_qr(seed, dtype, mode):
    rng = np.random.default_rng(seed)
    a, t = lay(rng, numbers(rng, stack(rng, *rng.integers(0, 5, 2)), dtype)), tolerance(dtype)
    before = a.copy()
    check(f"np.linalg.qr(a, mode={mode!r})", a, rtol=t, atol=100 * t)
    assert (a == before).all()


@FEWER
@given(st.integers(0, 10**6), st.sampled_from(DTYPES[:-1]), st.sampled_from(["f8", "c8", "f4"]))
def test_least_squares(seed, dtype, other):
    rng = np.random.default_rng(seed)
    m, n, k = (int(x) for x in rng.integers(1, 5, 3))
    a = lay(rng, numbers(rng, (m, n), dtype))
    b = lay(rng, numbers(rng, (m, k) if rng.integers(2) else m, other))
    t = max(tolerance(dtype), tolerance(other)) * 100
    check("np.linalg.lstsq(a, b, 1e-3)", a, b, rtol=t, atol=t)
    check("np.linalg.lstsq(a, b, rcond=None)", a, b[:, :0] if b.ndim > 1 else b, rtol=t, atol=t)


@pytest.mark.parametrize(
    "order", ["None", "2", "1", "0", "-1", "-2", "3", "0.5", "np.inf", "-np.inf", "'fro'", "'nuc'"]
)
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i8"])
def test_norm(order, dtype):
    rng = np.random.default_rng(5)
    a, t = numbers(rng, (3, 2, 4), dtype) + np.ones((), dtype), tolerance(dtype) * 10
    # Each is compiled by itself: where one dtype has keepdims, the next one has not.
    keeps = itertools.cycle(["", ", keepdims=True"][:: 1 if dtype in ("f8", "c16") else -1])
    for axis in ("0", "-1", "(1,)", "(0, 1)", "(2, 0)", "(-1, -2)"):
        check(f"np.linalg.norm(a, {order}, axis={axis}{next(keeps)})", a, rtol=t)
    for x in (a[0], a[0, 0], a[..., 0].T, a):
        check(f"np.linalg.norm(a, {order}{next(keeps)})", x, rtol=t)


def test_norm_with_an_order_that_is_not_known():
    @njit
    def f(x, p):
        return np.linalg.norm(x, p)

    x = np.array([3.0, -4.0, 1.0])
    for p in (1, 2, 3, 0, 2.5, np.inf, -np.inf, -1.0):
        assert np.isclose(f(x, p), np.linalg.norm(x, p))


@pytest.mark.parametrize("order", ["None", "2", "-2", "1", "-1", "np.inf", "-np.inf", "'fro'", "'nuc'"])
def test_cond(order):
    a = np.array([[[2.0, 1], [1, 3]], [[1, 1], [1, 1]], [[np.nan, 1], [1, 1]]])
    for x in (a[0], a[2], a[::2], a[0].astype("f4"), a[0] * 1j):
        if order in ("None", "2", "-2", "'nuc'") and np.isnan(x).any():
            continue  # LAPACK says of NaN that it does not converge
        if not NEW and np.iscomplexobj(x):
            continue  # NumPy < 2 gives a complex number
        check(f"np.linalg.cond(a, {order})", x, rtol=1e-5)


def test_powers_and_products():
    rng = np.random.default_rng(1)
    for dtype in ("f8", "i8", "c8", "f4"):
        a = numbers(rng, (2, 3, 3), dtype) + (9 * np.eye(3)).astype(dtype)
        a, t = a.astype(dtype), tolerance(dtype) * 10
        for n in (0, 1, 2, 3, 5, 8, -1, -3):
            check(f"np.linalg.matrix_power(a, {n})", a, rtol=t, atol=t)
            if n >= 0 or dtype != "i8":
                check("np.linalg.matrix_power(a, b)", a, n, rtol=t, atol=t)
        m = a[0]
        for text, args in (
            ("((a, b))", (m, m)),
            ("((a, b, c))", (m, m[:, :2], m[:2])),
            ("((a, b, c))", (m[0], m, m[0])),
            ("([a, b, c])", (m[:1], m, m)),
        ):
            check(f"np.linalg.multi_dot({text})", *args, rtol=t)
    with pytest.raises(ValueError, match="must be known when the function compiles"):
        njit(lambda a, n: np.linalg.matrix_power(a, n))(np.eye(2, dtype=int), -1)
    with pytest.raises(treadle.TypingError, match="more than three"):
        njit(lambda a: np.linalg.multi_dot((a, a, a, a)))(np.eye(2))


ERRORS = [
    ("solve(a, a)", np.ones((3, 3)), "Singular matrix"),
    ("inv(a)", np.zeros((2, 3, 3)), "Singular matrix"),
    ("inv(a)", np.ones((2, 3)), "Last 2 dimensions of the array must be square"),
    ("det(a)", np.ones((2, 3)), "Last 2 dimensions of the array must be square"),
    ("eigvals(a)", np.ones((2, 3)), "Last 2 dimensions of the array must be square"),
    ("inv(a)", np.ones(3), "1-dimensional array given. Array must be at least two-dimensional"),
    ("svd(a)", np.ones(3), "1-dimensional array given. Array must be at least two-dimensional"),
    ("qr(a)", np.ones(3), "1-dimensional array given. Array must be at least two-dimensional"),
    ("eigh(a)", np.ones(()), "0-dimensional array given. Array must be at least two-dimensional"),
    ("cholesky(a)", -np.eye(3), "Matrix is not positive definite"),
    ("eig(a)", np.full((2, 2), np.nan), "Array must not contain infs or NaNs"),
    ("eigvals(a)", np.full((2, 2), np.inf), "Array must not contain infs or NaNs"),
    ("svd(a)", np.full((2, 2), np.nan), "SVD did not converge"),
    ("svd(a, compute_uv=False)", np.full((2, 2), np.nan), "SVD did not converge"),
    ("cond(a)", np.zeros((0, 0)), "cond is not defined on empty arrays"),
    ("lstsq(a, a)", np.ones((2, 2, 2)), "3-dimensional array given. Array must be two-dimensional"),
    ("lstsq(a, a[:1])", np.ones((2, 2)), "Incompatible dimensions"),
]


@pytest.mark.parametrize(("text", "a", "message"), ERRORS, ids=[f"{e[0]}-{k}" for k, e in enumerate(ERRORS)])
def test_exceptions(text, a, message):
    """The class and the text are NumPy's, and compiled code can catch them."""
    space = {"np": np}
    exec(
        f"def f(a):\n    return np.linalg.{text}\n"
        f"def g(a):\n    try:\n        np.linalg.{text}\n    except np.linalg.LinAlgError:\n        return 1\n    return 0\n"
        f"def h(a):\n    try:\n        np.linalg.{text}\n    except ValueError:\n        return 1\n    return 0\n",
        space,
    )
    for f in (space["f"], njit(space["f"])):
        with pytest.raises(np.linalg.LinAlgError) as e:
            f(a)
        assert str(e.value) == message
    assert njit(space["g"])(a) == njit(space["h"])(a) == 1


def test_other_exceptions():
    check("np.linalg.eigh(a, 'X')", np.eye(2))
    check("np.linalg.qr(a, 'economy')", np.eye(2))
    check("np.linalg.norm(a, 'fro')", np.ones(3))
    check("np.linalg.norm(a, 7)", np.ones((3, 3)))
    check("np.linalg.norm(a, axis=(0, 0))", np.ones((3, 3)))
    check("np.linalg.norm(a, axis=(0, 5))", np.ones((3, 3)))
    check("np.linalg.solve(a, b)", np.eye(3), np.ones(4))
    check("np.linalg.multi_dot((a,))", np.eye(3))
    with pytest.raises(treadle.TypingError, match="array type float16 is unsupported in linalg"):
        njit(lambda a: np.linalg.inv(a))(np.eye(2, dtype="f2"))
    with pytest.raises(TypeError, match="array type float16 is unsupported in linalg"):
        np.linalg.inv(np.eye(2, dtype="f2"))


def test_what_comes_out_is_numpys():
    a = np.eye(3)

    @njit
    def f(a):
        return np.linalg.eig(a), np.linalg.svd(a), np.linalg.qr(a), np.linalg.slogdet(a), np.linalg.eigh(a)

    want = np.linalg.eig(a), np.linalg.svd(a), np.linalg.qr(a), np.linalg.slogdet(a), np.linalg.eigh(a)
    for g, w in zip(f(a), want, strict=True):
        assert type(g) is type(w)


@pytest.mark.parametrize("n", range(1, 11))
def test_small_and_large(n):
    """Up to eight rows loops of our own run (src/rt/small.c): any layout, a singular matrix in a stack, what they leave to LAPACK."""
    rng = np.random.default_rng(n)
    a, b = rng.random((4, n, n)) - 0.5, rng.random((4, n, 3))
    a[1] = a[1][:, ::-1] + 10 * np.eye(n)[::-1]
    for x in (a, a[::-1], np.swapaxes(a, 1, 2), np.asfortranarray(a), np.repeat(a, 2, 2)[..., ::2]):
        check("np.linalg.inv(a)", x, rtol=1e-7, atol=1e-7)
        check("np.linalg.det(a)", x, rtol=1e-9)
        check("np.linalg.solve(a, b)", x, b, rtol=1e-7, atol=1e-7)
        check("np.linalg.solve(a, b)", x[0], b[0, :, 1], rtol=1e-7, atol=1e-7)
    a[2] = 0
    check("np.linalg.inv(a)", a)
    check("np.linalg.solve(a, b)", a, b)
    check("np.linalg.det(a)", a, rtol=1e-9)
    for far in (1e-200, 1e200):
        check("np.linalg.det(a)", a[0] * far, rtol=1e-8)
    for odd in (np.nan, np.inf):
        a[0, 0, 0] = odd
        check("np.linalg.det(a)", a[0])
        check("np.linalg.solve(a, b)", a[0] + np.eye(n), b[0])


@given(seed=st.integers(0, 10**6), n=st.integers(1, 8))
@settings(max_examples=examples(60), deadline=None)
def test_far_from_one(seed, n):
    """Pivots whose reciprocals are infinite, and values that leave the range on the way, go to LAPACK: what it can solve is solved."""
    rng = np.random.default_rng(seed)
    a, b = rng.random((n, n)) + n * np.eye(n), rng.random((n, 2))
    by = 10.0 ** rng.integers(-322, 307)
    check("np.linalg.inv(a)", a * by, rtol=1e-1 if by < 1e-310 else 1e-9)
    check("np.linalg.solve(a, b)", a * by, b * min(by, 1.0), rtol=0.5 if by < 1e-310 else 1e-7)
    check("np.linalg.solve(a, b)", a * by, b[:, 0] * by, rtol=0.5 if by < 1e-310 else 1e-7)


def test_tiny_pivots():
    check("np.linalg.solve(a, b)", np.diag([1e-310, 1.0, 2.0]), np.array([1e-310, 3.0, 4.0]), rtol=1e-9)
    check("np.linalg.inv(a)", np.array([[1e-309, 0.0], [0.0, 1e-309]]) * 8, rtol=1e-9)
    check(
        "np.linalg.solve(a, b)",
        np.array([[1e-310, 2e-310], [3e-310, 1e-310]]),
        np.array([3e-310, 4e-310]),
        rtol=1e-9,
    )
    check("np.linalg.det(a)", np.diag([1e-310, 1e300, 1e10]), rtol=1e-9)
    check(
        "np.linalg.det(a)", np.diag([1e-200, 1e-115, 1e100, 1e90]), rtol=1e-9
    )  # on the way below the normal numbers


def test_ways_in():
    a = np.random.default_rng(2).random((40, 9, 9)) + 4 * np.eye(9)
    want = np.linalg.inv(a)

    @njit
    def one(x):
        return np.linalg.inv(x)

    @njit(parallel=True)
    def loop(x):
        out = np.empty_like(x)
        for i in prange(len(x)):
            out[i] = one(x[i])
        return out

    @njit(parallel=True)
    def whole(x):
        return np.linalg.inv(x)

    for f in (one, loop, whole):
        np.testing.assert_array_equal(f(a), want)

    @njit(parallel=True)
    def failing(x):
        out = np.empty_like(x)
        for i in prange(len(x)):
            out[i] = np.linalg.inv(x[i])
        return out

    a[17] = 1
    for f in (failing, whole, one):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            f(a)

    @njit
    def caught(x):
        n = 0
        for i in range(len(x)):
            try:
                np.linalg.inv(x[i])
            except np.linalg.LinAlgError:
                n += 1
        return n

    assert caught(a) == 1
    before = treadle.stats()
    for _ in range(3):
        caught(a)
    after = treadle.stats()
    assert (
        after["arrays_allocated"] - before["arrays_allocated"]
        == after["arrays_freed"] - before["arrays_freed"]
    )


def test_the_result_may_be_stored_over_the_operand():
    @njit
    def f(a, b):
        a[:] = np.linalg.inv(a)
        b[:] = np.linalg.solve(a, b)

    rng = np.random.default_rng(4)
    a, b = rng.random((3, 3)) + 3 * np.eye(3), rng.random(3)
    want_a = np.linalg.inv(a)
    want_b = np.linalg.solve(want_a, b)
    f(a, b)
    np.testing.assert_allclose(a, want_a)
    np.testing.assert_allclose(b, want_b)
