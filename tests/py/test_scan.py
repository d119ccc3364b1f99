"""Scans: running sums and products, and what masks pack, on one core and on all; the bits of floats depend on the length alone."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import _core, njit

BLOCK, GROUP = 1 << 14, 8  # TR_SCAN_BLOCK, TR_SCAN_GROUP
SIZES = [0, 1, 2, 7, 8, 9, 15, 16, 17, 255, 256, 257, 511, 512, 513, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK + 17, 10 * BLOCK + 5]  # fmt: skip
TYPES = ["f8", "f4", "i4", "i8", "u1", "c16", "c8", "?"]


def both(f):
    """For one core, and for all."""
    return njit(f), njit(parallel=True)(f)


cumsum, cumsum_par = both(lambda a: np.cumsum(a))
total, _ = both(lambda a: a.sum())
cumprod, cumprod_par = both(lambda a: np.cumprod(a))
shifted, shifted_par = both(lambda a: np.cumsum(a * 2 + 1) / 3)
kept, kept_par = both(lambda a, m: a[m])
places, places_par = both(lambda m: np.nonzero(m))
rows, rows_par = both(lambda a: np.cumsum(a, axis=1))
columns, columns_par = both(lambda a: np.cumsum(a, axis=0))


def some(n, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n) * 30
    if dtype[0] == "c":
        x = x + 1j * rng.standard_normal(n)
    return (x > 0) if dtype == "?" else x.astype(dtype)


def by_groups(a):
    """What a running sum of floats is: the value before the block + (the sum of the groups before in it + that within the group)."""
    out, before, zero = np.empty_like(a), None, a.dtype.type(-0.0)
    for at in range(0, len(a), BLOCK):
        x = np.full(BLOCK, zero, a.dtype)
        n = len(a[at : at + BLOCK])
        x[:n] = a[at : at + BLOCK]
        x = x.reshape(-1, GROUP)
        for half in (1, 2, 4):
            for k in range(GROUP):
                if k & half:
                    x[:, k] = x[:, (k & -half) - 1] + x[:, k]
        total = None
        for g in range(-(-n // GROUP)):
            x[g] = x[g] if total is None else total + x[g]
            total = x[g, -1]
        part = x.ravel()[:n]
        out[at : at + n] = part if before is None else before + part
        before = out[at + n - 1]
    return out


def same(x, y):
    x, y = (x, y) if isinstance(x, tuple) else ((x,), (y,))
    assert len(x) == len(y)
    for p, q in zip(x, y, strict=True):
        assert p.dtype == q.dtype and p.shape == q.shape and p.tobytes() == q.tobytes()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", SIZES)
def test_sums(n, dtype):
    a = some(n, dtype)
    one = cumsum(a)
    same(one, cumsum_par(a))
    same(one, cumsum_par(a.repeat(2)[::2]))
    same(one, cumsum(a[::-1].copy()[::-1]))
    if dtype[0] in "iu?" or n <= 3:
        same(one, np.cumsum(a).astype(one.dtype))
    elif dtype[0] == "f":
        same(one, by_groups(a))
    else:
        same(one, by_groups(a.real.copy()) + a.dtype.type(1j) * by_groups(a.imag.copy()))
    np.testing.assert_allclose(one, np.cumsum(a, dtype="c16"), rtol=0, atol=1e-6 * max(n, 1))


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.1, 1e300, -1e300, 1e-320, 3e38, np.inf, -np.inf, np.nan]


@settings(max_examples=examples(150), deadline=None)
@given(data=st.data())
def test_groups(data):
    """Around the borders of groups, stretches and blocks, with all that floats can be: the same bits, however the array lies and whatever is around the scan."""
    n = data.draw(st.sampled_from([0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 63, 64, 65, 511, 512, 513, 519, 521, 1024, BLOCK - 1, BLOCK, BLOCK + 9]))  # fmt: skip
    dtype = data.draw(st.sampled_from(["f8", "f4"]))
    a = some(n, dtype, data.draw(st.integers(0, 9)))
    special = st.tuples(st.integers(0, max(n - 1, 0)), st.sampled_from(SPECIAL))
    with np.errstate(all="ignore"):
        for at, x in data.draw(st.lists(special, max_size=6 if n else 0)):
            a[at] = x
        want, doubled = by_groups(a), by_groups(a * 2 + 1) / 3
    laid = data.draw(st.sampled_from([a, a.repeat(2)[::2], a[::-1].copy()[::-1]]))
    for f, g in ((cumsum, shifted), (cumsum_par, shifted_par)):
        np.testing.assert_array_equal(f(laid), want)
        assert (np.signbit(f(laid)) == np.signbit(want))[want == 0].all()
        np.testing.assert_array_equal(g(laid), doubled)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_sums_of_what_is_not_negative_never_fall(dtype):
    """Also across groups and blocks; where zeros are added, they stay."""
    a = np.abs(some(5 * BLOCK + 3, dtype)) * np.float32(1e-3) ** (np.arange(5 * BLOCK + 3) % 4).astype(dtype)
    a = a.astype(dtype)
    a[np.random.default_rng(1).random(len(a)) < 0.3] = 0
    s = cumsum(a)
    steps = np.diff(s)
    assert (steps >= 0).all() and (steps[a[1:] == 0] == 0).all()


@pytest.mark.parametrize("n", [0, 1, 9, 513, BLOCK + 9])
def test_scans_side_by_side(n):
    """What goes by stretches, element by element and by integers in one loop: the bits of each alone."""

    def sums(a, b):
        return np.cumsum(a), np.cumsum(b), np.cumsum(a * b)

    def products(a, b):
        return np.cumsum(a), np.cumprod(b), np.cumsum(a > 0)

    def half(h):
        return np.cumsum(h), np.cumsum(h * 2)

    a, b = some(n, "f8"), (1 + some(n, "f4") * 1e-4).astype("f4")
    for one in both(sums):
        same(one(a, b), (by_groups(a), by_groups(b), by_groups(a * b)))
    for one in both(products):
        same(one(a, b), (by_groups(a), cumprod(b), np.cumsum(a > 0)))
    h = (some(n, "f8") / 100).astype("f2")
    for one in both(half):
        same(one(h), (by_groups(h), by_groups(h * np.float16(2))))


@pytest.mark.parametrize("shape", [(2000, 1), (2000, 3), (300, 8), (300, 17), (3, 5, 513)])
def test_short_rows(shape):
    a = some(int(np.prod(shape)), "f4").reshape(shape)
    last, last_par = both(lambda a: np.cumsum(a, axis=-1))
    want = np.array([by_groups(r) for r in a.reshape(-1, shape[-1])]).reshape(shape)
    same(last(a), want)
    same(last_par(a), want)
    same(last(np.asfortranarray(a)), want)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16"])
@pytest.mark.parametrize("n", [0, 5, BLOCK + 1, 3 * BLOCK])
def test_products(n, dtype):
    a = (1 + some(n, dtype) * 1e-6).astype(dtype)
    one = cumprod(a)
    same(one, cumprod_par(a))
    np.testing.assert_allclose(one, np.cumprod(a), rtol=1e-2 if dtype == "f4" else 1e-9)
    if n <= BLOCK or dtype == "i8":
        same(one, np.cumprod(a).astype(one.dtype))


@pytest.mark.parametrize("dtype", ["c16", "c8"])
def test_the_first_of_complex_products_is_what_stands_there(dtype):
    """Nothing is multiplied with it: by 1+0j an infinity would be NaN."""
    x = np.array([[complex(np.inf, 1), 2], [complex(-0.0, -0.0), complex(0, np.inf)]], dtype)
    with np.errstate(invalid="ignore"):
        for a in (x[0], x[1], x[:, 0], x[:1, 0]):
            for f in (cumprod, cumprod_par, njit(lambda a: np.multiply.accumulate(a))):
                np.testing.assert_array_equal(f(a), np.cumprod(a))
        by_columns = njit(lambda a: np.cumprod(a, axis=0))
        np.testing.assert_array_equal(by_columns(x), np.cumprod(x, axis=0))


@pytest.mark.parametrize("n", SIZES)
def test_with_what_is_around(n):
    """What is merged into a scan changes no bit of it."""
    a = some(n, "f8")
    one = shifted(a)
    same(one, shifted_par(a))
    same(one, cumsum(a * 2 + 1) / 3)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_what_no_cache_holds_has_the_same_bits(dtype):
    """It is written past the caches, by other stores and from copies where it lies a little way behind in a page; in place it is not."""
    size = np.dtype(dtype).itemsize
    x = some((26 << 20) // size + 5, dtype)
    want, room = by_groups(x), np.empty(len(x) + 4096 // size, dtype)
    place = cumsum(x).ctypes.data
    for behind in (0, 64, 192, 256, 1024, 4032):
        a = room[(place - behind - room.ctypes.data) % 4096 // size :][: len(x)]
        a[:] = x
        for f in (cumsum, cumsum_par):
            same(f(a), want)
    for f in both(lambda a: np.cumsum(a, out=a)):
        a[:] = x
        f(a)
        same(a, want)


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("n", SIZES)
def test_in_place(n, parallel):
    """What is stored lies where it was read: a block's total is taken before."""

    def f(a, b):
        a[:] = np.cumsum(a * b)

    def g(a):
        a[...] = np.cumsum(a, axis=1)

    a = some(n, "f8")
    out = a.copy()
    njit(parallel=parallel)(f)(out, np.full(n, 2.0))
    same(out, cumsum(a * 2))
    out = np.stack([a, a])
    njit(parallel=parallel)(g)(out)
    same(out, np.stack([cumsum(a), cumsum(a)]))


@pytest.mark.parametrize("shape", [(3, 2 * BLOCK + 1), (2 * BLOCK + 1, 3), (1, BLOCK), (0, 4), (4, 0)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_axes(shape, order):
    a = np.asarray(some(shape[0] * shape[1], "f8").reshape(shape), order=order)
    same(rows(a), rows_par(a))
    same(columns(a), columns_par(a))
    same(rows(a), np.array([cumsum(r.copy()) for r in a]).reshape(shape))
    same(columns(a), np.array([cumsum(c.copy()) for c in a.T]).reshape(shape[::-1]).T.copy())


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", ["f8", "u1", "c16"])
def test_filters(n, dtype):
    a = some(n, dtype)
    for share in (0.0, 0.01, 0.5, 1.0):
        m = np.random.default_rng(n).random(n) < share
        for f in (kept, kept_par):
            same(f(a, m), a[m])
            same(f(a.repeat(2)[::2], m.repeat(2)[::2]), a[m])
        for f in (places, places_par):
            same(f(m), np.nonzero(m))


def test_filters_of_matrices():
    rng = np.random.default_rng(3)
    a, m = rng.random((300, 700)), rng.random((300, 700)) < 0.4
    for x, k in ((a, m), (a.T, m.T), (a[::2, ::3], m[::2, ::3]), (a[:0], m[:0])):
        same(kept_par(x, k), x[k])
        same(places_par(k), np.nonzero(k))


@settings(max_examples=examples(80), deadline=None)
@given(data=st.data())
def test_short_ranges(data):
    """As many ranges as there are elements, or a third: every value is handed on."""
    n = data.draw(st.integers(0, 40))
    a = some(n, data.draw(st.sampled_from(TYPES)), data.draw(st.integers(0, 99)))
    m = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool)
    _core._pool_grain(data.draw(st.integers(1, 4)), data.draw(st.booleans()))
    try:
        same(cumsum_par(a), cumsum(a))
        same(kept_par(a, m), a[m])
        same(places_par(m), np.nonzero(m))
    finally:
        _core._pool_grain(0)


def test_values_and_reductions_of_what_is_kept():
    def f(a):
        k = a[a > 0]
        return k, k.sum(), len(k), (a * 2).cumsum()

    one, many = both(f)
    for n in (0, 10, 5 * BLOCK + 3):
        a = some(n, "f8", 5)
        x, y = one(a), many(a)
        same(tuple(np.asarray(v) for v in x), tuple(np.asarray(v) for v in y))
        same(x[0], a[a > 0])


def test_in_a_prange_and_from_threads():
    from treadle import prange

    @njit(parallel=True)
    def inside(a, out):
        for i in prange(a.shape[0]):
            out[i] = np.cumsum(a[i])

    a = some(8 * (BLOCK + 3), "f8").reshape(8, -1)
    out = np.empty_like(a)
    inside(a, out)
    same(out, rows(a))
    wrong = []

    def many():
        for _ in range(5):
            if cumsum_par(a[0]).tobytes() != cumsum(a[0]).tobytes():
                wrong.append(1)

    pool = [threading.Thread(target=many) for _ in range(4)]
    for t in pool:
        t.start()
    for t in pool:
        t.join()
    assert not wrong


def test_a_mask_that_changes_meanwhile():
    """Nothing is stored past the room that was counted."""
    a, m = np.arange(4.0 * BLOCK), np.zeros(4 * BLOCK, bool)
    stop = threading.Event()

    def flip():
        while not stop.is_set():
            m[...] = ~m

    t = threading.Thread(target=flip)
    t.start()
    try:
        for _ in range(30):
            assert len(kept_par(a, m)) <= len(a)
    finally:
        stop.set()
        t.join()


def test_what_looks_at_the_running_value_stays_on_one_core():
    _, extremes = both(lambda a: np.maximum.accumulate(a))
    a = some(3 * BLOCK, "f8")
    same(extremes(a), np.maximum.accumulate(a))
    assert "pattern par" not in "".join(extremes.inspect_ir().values())
    cumsum_par(a)
    assert "pattern par" in "".join(cumsum_par.inspect_ir().values())


packed_above, packed_above_par = both(lambda a, c: a[a > c])
packed_map, packed_map_par = both(lambda a, m: (a + a)[m])
packed_whole, packed_whole_par = both(lambda a, m: a[m != 0])
packed_flat, packed_flat_par = both(lambda m: np.flatnonzero(m))
PACKED = ["f8", "f4", "f2", "i1", "u2", "i4", "u8", "c8", "c16", "?"]


@settings(max_examples=examples(200), deadline=None)
@given(data=st.data())
def test_packs(data):
    """Around the borders of words and stretches, of all sizes of items, however they lie."""
    n = data.draw(st.sampled_from([0, 1, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 257, 511, 512, 513, 1000, BLOCK - 1, BLOCK + 1]))  # fmt: skip
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    dtype = data.draw(st.sampled_from(PACKED))
    a = some(n, dtype, 1)
    if dtype[0] in "fc" and n:
        a[:: data.draw(st.integers(1, 9))] = data.draw(st.sampled_from([0.0, -0.0, np.nan, np.inf]))
    m = rng.random(n) < data.draw(st.sampled_from([0, 0.01, 0.5, 0.97, 1]))
    m[data.draw(st.integers(0, n)) :][:70] = data.draw(st.booleans())
    whole = m.astype(data.draw(st.sampled_from(["i1", "i4", "u8"]))) * 4
    ways = [lambda x: x, lambda x: x.repeat(2)[::2], lambda x: x[::-1].copy()[::-1]]
    way, other = data.draw(st.sampled_from(ways)), data.draw(st.sampled_from(ways))
    for f, g, h, k in (
        (kept, packed_map, packed_whole, packed_flat),
        (kept_par, packed_map_par, packed_whole_par, packed_flat_par),
    ):
        same(f(way(a), other(m)), a[m])
        same(h(way(a), other(whole)), a[m])
        same(k(other(m)), np.flatnonzero(m))
        if dtype not in ("?", "f2"):
            same(g(way(a), other(m)), (a + a)[m])
    if dtype[0] in "fiu":
        c = a[n // 2] if n else a.dtype.type(0)
        for f in (packed_above, packed_above_par):
            same(f(way(a), c), a[a > c])


def test_masks_of_bytes_that_are_not_one():
    """A view of other bytes as booleans: what is not 0 is true."""
    m = (np.arange(1000) % 5).astype("u1") * 50
    a = np.arange(1000.0)
    for f in (kept, kept_par):
        same(f(a, m.view("?")), a[m != 0])


def test_arrays_packed_by_one_mask_agree_while_it_changes():
    """Each sees the same items of the mask, whoever stores there meanwhile."""
    pairs = njit(lambda a, b, m: (a[m], b[m]))
    a, m = np.arange(20_000), np.zeros(20_000, bool)
    stop = threading.Event()

    def flip():
        while not stop.is_set():
            m[::3] = ~m[::3]

    t = threading.Thread(target=flip)
    t.start()
    try:
        for _ in range(100):
            x, y = pairs(a, a, m)
            assert len(x) == len(y) <= len(a) and (x == y).all()
    finally:
        stop.set()
        t.join()


def squares_above(a, c):
    y = a * a + 1
    return y[y > c]


def mask_then_store(a, c):
    m = a > c
    a[:1] = 7
    return a[m], m.sum()


def mask_handed_out(a, c):
    y = a - 1
    m = y < c
    return y[m], m


def sum_beside(a, c):
    y = a * 2
    s = y.sum()
    return y[y > c], s


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_what_is_computed_again_where_it_is_packed(data):
    """Values that only the count and the filter see, and some that others see, or that were made of what has changed since."""
    n = data.draw(st.sampled_from([0, 1, 9, 64, 65, 513, BLOCK + 1]))
    a = some(n, data.draw(st.sampled_from(["f8", "f4", "i4", "i8"])), data.draw(st.integers(0, 9)))
    if a.dtype.kind == "f" and n:
        a[data.draw(st.integers(0, n - 1))] = data.draw(st.sampled_from([np.nan, np.inf, -0.0]))
    c = a.dtype.type(data.draw(st.sampled_from([-5, 0, 30, 2000])))
    laid = data.draw(st.sampled_from([a, a.repeat(2)[::2], a[::-1].copy()[::-1]]))
    for f in (squares_above, mask_then_store, mask_handed_out):
        for one in both(f):
            got, want = one(laid.copy(), c), f(a.copy(), c)
            for x, y in zip(got, want, strict=True) if isinstance(got, tuple) else [(got, want)]:
                np.testing.assert_array_equal(x, y)
    for one in both(sum_beside):
        kept_, s = one(laid, c)
        np.testing.assert_array_equal(kept_, sum_beside(a, c)[0])
        np.testing.assert_array_equal(s, total(a * 2))


def test_no_array_of_what_is_computed_again():
    f = njit(squares_above)
    f(np.arange(9.0), 3.0)
    text = "".join(f.inspect_ir().values())  # the room for all, and a copy of it where little was kept
    assert text.count(" = alloc ") == 2 and text.count(" = pattern ") == 2 and text.count(" filter(") == 1
