"""Patterns that reduce rows and those that use what comes out, row by row (opt/pattern/byrow.c): the same bits as one after the other."""

from __future__ import annotations

import numpy as np
import pytest
import treadle.parallel as tp
from sizes import PART
from skipped import with_and_without
from treadle import njit


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def share(x):
    return x / x.sum(axis=1)[:, None]


def length(x):
    return x / np.sqrt((x * x).sum(axis=1))[:, None]


def layernorm(x):
    return (x - x.mean(axis=-1)[:, None]) / np.sqrt(x.var(axis=-1)[:, None] + 1e-5)


def rows_stay(x):
    m = x.max(axis=1)
    y = x - m[:, None]
    s = y.sum(axis=1)
    return y, m, s, y * s[:, None]


def inner_stays(x):
    e = np.exp(x - x.min(axis=1)[:, None])
    return e, e / e.sum(axis=1)[:, None]


def two_at_once(x):
    return (x - x.min(axis=1)[:, None]) / (x.max(axis=1) - x.min(axis=1))[:, None]


def with_weights(x):
    w = np.arange(x.shape[1]) + 1.0
    s = (x * w).sum(axis=1)
    return x * w / s[:, None] + x[0]


def where_it_is(x):
    return x * (np.arange(x.shape[1]) == x.argmax(axis=1)[:, None])


def into(x):
    x[:] = x / x.sum(axis=1)[:, None]
    return x


def of_parts(x):
    y = x[1:, ::2]
    return y / y.sum(axis=1)[:, None]


def of_columns(x):
    return x / x.sum(axis=0)


def of_planes(x):
    y = x.reshape(x.shape[0] // 2, 2, x.shape[1])
    return y - y.mean(axis=(1, 2))[:, None, None]


def cubes(x):
    y = x.reshape(x.shape[0] // 4, 4, x.shape[1])
    return y / y.sum(axis=2, keepdims=True)


def scaled(x, k=3.0):
    return (x * k - (x * k).mean(axis=1)[:, None]) * k


def tried(x):
    try:
        e = np.exp(x - np.max(x, axis=-1, keepdims=True))
        y = e / np.sum(e, axis=-1, keepdims=True)
        z = y / (y * y).sum(axis=1)[:, None]
        return z, y[7, 3]
    except IndexError:
        return x * 1.0, x.sum()


def handler_sees(x):
    s, y, n = np.zeros(x.shape[0]), x * 1.0, 0.0
    try:
        s = x.sum(axis=1)
        y = x / s[:, None]
        n = y[7, 3] + s[9]
        y = y - y.mean(axis=1)[:, None]
        n += y[11, 1]
    except IndexError:
        n = -1.0
    finally:
        y = y * 2.0
    return s, y, n


def nearest(x):
    c = x[:7]
    return ((x[:, None] - c[None]) ** 2).sum(axis=2).argmin(axis=1)


def nearest_by_place(x):
    """Which row it is is asked in the rounds."""
    k = min(5, x.shape[0])
    d = np.abs(x[:, None] - x[None, :5]).max(axis=2) + tp.tabulate(lambda i, j: (i * 7 + j) % 5, (len(x), k))
    return (d - d.min(axis=1)[:, None]).max(axis=1), (d > 2).sum()


def near_and_how(x):
    d = np.abs(x[:, None] - x[None, :3]).max(axis=2)
    return d.min(axis=1), d.sum(), d - d.min(axis=1)[:, None]


def looked_up(x):
    i = (np.abs(x) * 5).astype(np.int64) % x.shape[1]
    return x[0][i].sum(axis=1), i.max()


def looked_up_beyond(x):
    i = (np.abs(x) * 5).astype(np.int64) % x.shape[1] + (np.arange(x.shape[1]) > 30)
    return x[0][i].sum(axis=1)


def twice_looked_up(x):
    i = (np.abs(x) * 5).astype(np.int64) % x.shape[1]
    j = (i * 3 + 1) % (x.shape[1] + (x.shape[0] == 400))
    return (x[0][i] - x[0][j]).sum(axis=1)


def totals(x):
    s = x.sum(axis=1)
    y = x / s[:, None]
    return (s * 2).sum(), y.max(axis=1).sum(), s.argmax(), (y * y).max(), (y > 0.5).any()


def best_of_rows(x):
    y = x / np.sqrt((x * x).sum(axis=1, keepdims=True))
    v, i = tp.topk(y, min(3, x.shape[1]), axis=1, key=abs)
    s = (v * v).sum(axis=1)
    return v, i[:, 0], s.max(), s


def smallest_of_rows(x):
    y = np.abs(x - x.mean(axis=1, keepdims=True))
    v, i = tp.topk(y, min(9, x.shape[1]), axis=1, largest=False)
    return (v - v.max(axis=1)[:, None]).sum(axis=1), y[0], i.max()


def best_of_products(x):
    t = np.empty((x.shape[1], 2), x.dtype)
    t[:, 0], t[:, 1] = x[0], x[-1]
    c = np.stack((np.cos(x[:, 0]), np.sin(x[:, -1])), axis=1)
    c = c / np.sqrt((c * c).sum(axis=1, keepdims=True))
    v, i = tp.topk(c @ t.T, min(4, x.shape[1]), axis=1, key=abs)
    s = (np.abs(v) ** 2).sum(axis=1)
    return v[:, 0], i.sum(), s.argmax()


def nearest_added_up(x):
    """What has an item a row is added up, and multiplied: on all cores not by the loop over the rows."""
    d = np.abs(x[:, None] - x[None, :5]).sum(axis=2)
    return d.argmin(axis=1), d.max(axis=1).sum(), (1 + d.max(axis=1) * 1e-7).prod()


OVER_ALL = [
    nearest,
    nearest_added_up,
    nearest_by_place,
    near_and_how,
    looked_up,
    looked_up_beyond,
    twice_looked_up,
    totals,
    best_of_rows,
    smallest_of_rows,
    best_of_products,
]
PROGRAMS = [
    *OVER_ALL, tried, handler_sees, softmax, share, length, layernorm, rows_stay, inner_stays, two_at_once, with_weights, where_it_is, into, of_parts, of_columns, of_planes, cubes, scaled,
]  # fmt: skip
SHAPES = [
    (4, 5),
    (2048, 64),
    (1, 131072),
    (131072, 1),
    (400, 333),
    (0, 5),
    (12, 20000),
    (4096, 31),
    (30000, 3),
]
DTYPES = ["f8", "f4", "i4", "u1", "c16"]


def arrays(shape, dtype):
    r = np.random.default_rng(sum(shape) + len(dtype))
    x = r.standard_normal(shape) * 3 if dtype[0] in "fc" else r.integers(1, 100, shape)
    return (x + 1j * r.random(shape) if dtype == "c16" else x).astype(dtype)


def outcomes():
    """Of all programs with all arrays: bytes, or what they raise."""
    out = {}
    for f, parallel in [(f, False) for f in PROGRAMS] + [(f, True) for f in [*OVER_ALL, softmax]]:
        compiled = njit(f, parallel=parallel)
        for dtype in DTYPES[::PART]:
            for shape in SHAPES:
                try:
                    with np.errstate(all="ignore"):
                        y = compiled(arrays(shape, dtype))
                    y = y if isinstance(y, tuple) else (y,)
                    out[f.__name__, parallel, dtype, shape] = [
                        (np.asarray(a).dtype.str, np.shape(a), np.asarray(a).tobytes()) for a in y
                    ]
                except Exception as e:
                    out[f.__name__, parallel, dtype, shape] = f"{type(e).__name__}: {e}"
    return out


def test_no_bit_depends_on_it(tmp_path):
    with_it, without = with_and_without("test_byrow", "byrow", tmp_path)
    assert [k for k in with_it if with_it[k] != without[k]] == []
    for f in OVER_ALL + [softmax]:
        of = {k: v for k, v in with_it.items() if k[0] == f.__name__}
        assert [k for k in of if of[k] != of[k[0], False, *k[2:]]] == []
    assert {k[0] for k, v in with_it.items() if "IndexError" in v} >= {"looked_up_beyond", "twice_looked_up"}


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("order", ["C", "F"])
def test_as_numpy(f, order):
    x = np.array(arrays((400, 332), "f8"), order=order)
    want = f(x.copy())
    got = njit(f)(x.copy())
    for a, b in zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]:
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "f", [softmax, share, layernorm, inner_stays, tried, handler_sees, *OVER_ALL], ids=lambda f: f.__name__
)
def test_it_is_done(f):
    compiled = njit(f)
    compiled(np.ones((2, 3)))
    (text,) = compiled.inspect("opt").values()
    assert "cmp ge" in text and " 131072" in text


def test_short_rows_go_by_blocks():
    """However short they are, what the chain alone reads is no array of all rows; each length that is known has its code, and so has any other."""

    def step(x, c):
        label = ((x[:, None] - c[None]) ** 2).sum(axis=2).argmin(axis=1)
        sums = np.zeros(c.shape)
        np.add.at(sums, label, x)
        return sums / np.bincount(label, minlength=len(c))[:, None]

    r = np.random.default_rng(3)
    compiled, parallel = njit(step), njit(step, parallel=True)
    (text,) = (compiled(np.ones((2, 3)), np.ones((1, 3))), *compiled.inspect("opt").values())[1:]
    assert "quot 8192" in text
    for n, k, d in (
        (40000, 3, 2),
        (40000, 2, 3),
        (20000, 5, 4),
        (9000, 7, 5),
        (20000, 1, 16),
        (1, 1, 140000),
    ):
        x = r.integers(-9, 9, (n, d)).astype("f8")
        c = x[:k] + 0.25
        want = step(x, c)
        assert compiled(x, c).tobytes() == parallel(x, c).tobytes() == want.tobytes()
        wide = np.zeros((n, 2 * d))[:, ::2]
        wide[:] = x
        wide.flags.writeable = False
        assert compiled(wide, c).tobytes() == want.tobytes()
        with pytest.raises(ValueError, match="argmin of an empty"):
            compiled(x, c[:0])


def test_not_where_it_may_not():
    """Another use of a row's value between, or no row that is read again: one after the other."""

    @njit
    def f(x):
        s = x.sum(axis=1)
        s[0] = 1.0
        return x / s[:, None]

    @njit
    def g(x):
        return (x * x).sum(axis=1).max()

    x = np.random.default_rng(1).random((500, 400))
    for h in (f, g):
        np.testing.assert_allclose(h(x), h.py_func(x))
        (text,) = h.inspect("opt").values()
        assert " 131072" not in text


# --- products of matrices, a block of rows at a time ---


def largest_of_product(a, b):
    return (a @ b).max(axis=1)


def squares_of_product(a, b):
    p = (a + 1) @ b
    return (p * p).sum(axis=1)


def softmax_of_product(a, b):
    p = a @ b
    e = np.exp(p - p.max(axis=1)[:, None])
    return e / e.sum(axis=1)[:, None]


def product_and_largest(a, b):
    p = a @ b
    return p, p.max(axis=1)


def best_of_products(a, b):
    return (a @ b).max(axis=1).argmax()


def sum_of_products(a, b):
    return (a @ b).max(axis=1).sum()


def two_products(a, b):
    p = a @ b
    q = p / p.max(axis=1)[:, None]
    return (q @ b.T).min(axis=1)


def product_of_what_changes(a, b):
    x = a * 2
    p = x @ b
    x[:] = p[:, : a.shape[1]]
    return x, p.max(axis=1)


OF_PRODUCTS = (
    largest_of_product,
    squares_of_product,
    softmax_of_product,
    product_and_largest,
    best_of_products,
    sum_of_products,
    two_products,
    product_of_what_changes,
)


@pytest.mark.parametrize("f", OF_PRODUCTS, ids=lambda f: f.__name__)
def test_products_of_rows(f):
    """Where rows are many, few and none, as long as is worth it and not, of few and of many terms, however matrices lie: NumPy's, with the same bits on all cores."""
    one, many = njit(f), njit(f, parallel=True)
    rng = np.random.default_rng(3)
    for m, d, n in (
        (6000, 5, 40),
        (4400, 12, 30),
        (63, 5, 2100),
        (1500, 70, 100),
        (20000, 3, 7),
        (300, 4, 2049),
        (1, 3, 8),
    ):
        wide = rng.random((2 * m, d + 2))
        for dtype in "f4", "f8":
            a, b = wide[:m, :d].astype(dtype), rng.random((d, n)).astype(dtype)
            lying = [(a, b), (a, np.ascontiguousarray(b.T).T)]
            if d < 13:
                lying += [(wide.astype(dtype)[::2, 1 : 1 + d], b[:, ::-1]), (np.asfortranarray(a), b)]
            for x, y in lying:
                want, got, other = f(x, y), one(x, y), many(x, y)
                for w, g, o in zip(
                    *((v if isinstance(v, tuple) else (v,)) for v in (want, got, other)), strict=True
                ):
                    np.testing.assert_allclose(g, w, rtol=2e-4 if dtype == "f4" else 1e-12)
                    assert np.asarray(g).tobytes() == np.asarray(o).tobytes()


def test_a_product_goes_by_blocks_of_rows():
    """One loop over the rows, and the product is none of its arrays that go through memory."""
    a, b = np.random.default_rng(4).random((6000, 9)), np.random.default_rng(5).random((9, 40))
    for f in (largest_of_product, softmax_of_product, two_products):
        e = tp.explain(f(tp.array(a), tp.array(b)))
        assert not any("call" in k.forms for k in e.kernels)
        assert any({"matmul", "max"} <= {n[2] for n in k.nodes} for k in e.kernels)
    e = tp.explain(largest_of_product(tp.array(a[:100]), tp.array(b)))
    assert any("call" in k.forms for k in e.kernels), "small: a product, and then what reads it"
