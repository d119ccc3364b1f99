"""Ufuncs made by vectorize, against NumPy's own: types, layouts, casting, methods, errors."""

from __future__ import annotations

import gc
import math
import os
import pickle
import subprocess
import sys
import threading
import warnings
import weakref

import numpy as np
import pytest
import treadle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import complex128, float32, float64, int64, njit, types, ufunc_info, vectorize

NUMPY_2 = np.lib.NumpyVersion(np.__version__) >= "2.0.0"


@vectorize
def add(x, y):
    """The sum."""
    return x + y


plus = vectorize(lambda x, y: x + y)


@vectorize
def sub(x, y):
    return x - y


@vectorize
def mul(x, y):
    return x * y


@vectorize
def div(x, y):
    return x / y


@vectorize
def less(x, y):
    return x < y


@vectorize
def neg(x):
    return -x


@vectorize
def axpy(a, x, y):
    return a * x + y


PAIRS = [(add, np.add), (sub, np.subtract), (mul, np.multiply), (div, np.true_divide), (less, np.less)]
FLOATS = ["f2", "f4", "f8", "c8", "c16"]
INTS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


def widened(a):
    """Scalar code computes with integers of 64 bits at least (docs/semantics.md)."""
    a = np.asarray(a)
    if a.dtype.kind in "bi":
        return a.astype("i8")
    return a.astype("u8") if a.dtype.kind == "u" else a


def expected(np_ufunc, *args):
    if all(np.asarray(a).dtype.kind in "biu" for a in args):
        wide = "u8" if all(np.asarray(a).dtype.kind == "u" for a in args) else "i8"
        args = tuple(np.asarray(a).astype(wide) for a in args)
    with np.errstate(all="ignore"):
        return np_ufunc(*args)


def check(got, want):
    assert got.dtype == want.dtype
    assert np.array_equal(got, want, equal_nan=want.dtype.kind in "fc")


# --- what a ufunc is ---


def test_it_is_a_ufunc():
    assert isinstance(add, np.ufunc) and type(add) is np.ufunc
    assert (add.nin, add.nout, add.nargs, add.__name__) == (2, 1, 3, "add")
    assert add.identity is None and add.signature is None
    assert "The sum." in add.__doc__ and "add(x1, x2" in add.__doc__


def test_all_ways_to_decorate():
    def f(x, y):
        return x * 2 + y

    a = np.arange(4.0)
    for u in (
        vectorize(f),
        vectorize()(f),
        vectorize(identity=0)(f),
        vectorize(njit(f)),
        vectorize("f8(f8, f8)")(f),
        vectorize(["float64(float64, float64)"])(f),
        vectorize([float64(float64, float64)], target="cpu")(f),
        vectorize((float64, float64))(f),
        vectorize([(float64, float64)], nopython=True, cache=False, fastmath=False)(f),
    ):
        assert np.array_equal(u(a, 1.0), a * 2 + 1.0)


@pytest.mark.parametrize("dt", FLOATS + INTS)
@pytest.mark.parametrize(("ours", "numpys"), PAIRS, ids=[n.__name__ for _, n in PAIRS])
def test_every_dtype(ours, numpys, dt):
    if dt[0] == "c" and ours is less:
        return
    rng = np.random.default_rng(1)
    x, y = (rng.integers(0, 50, 37) - (20 if dt[0] in "ifc" else 0) for _ in "xy")
    x, y = x.astype(dt), y.astype(dt)
    if dt[0] == "c":
        x, y = x + 1j * y, y - 2j * x
        x, y = x.astype(dt), y.astype(dt)
    want = expected(numpys, x, y)
    got = ours(x, y)
    assert got.dtype == want.dtype
    if dt[0] == "c" and ours in (div, mul):
        assert np.allclose(got, want, rtol=1e-5 if dt == "c8" else 1e-14, equal_nan=True)
    else:
        check(got, want)
    assert ours(x[0], y[1]).dtype == want.dtype and not isinstance(ours(x[0], y[1]), np.ndarray)


def test_integers_of_one_width():
    for dt in INTS:
        assert neg(np.ones(3, dt)).dtype == (np.int64 if dt == "?" else dt)
        assert add(np.ones(3, dt), np.ones(3, dt)).dtype == (np.uint64 if dt[0] == "u" else np.int64)


# --- result types: NEP 50, and never a matter of order ---


def test_python_numbers_are_weak():
    f4, f8 = np.ones(3, "f4"), np.ones(3)
    for number in (2, 2.5, np.float32(2)):
        assert mul(f4, number).dtype == np.float32
        assert mul(number, f4).dtype == np.float32
    assert mul(f4, 2j).dtype == np.complex64
    assert mul(f8, 2j).dtype == np.complex128
    assert mul(f4, np.float64(2)).dtype == np.float64
    assert mul(f4, np.ones((), "f8")).dtype == np.float64
    assert mul(np.ones(3, "f2"), 2.5).dtype == np.float16
    assert mul(np.ones(3, "f2"), 2).dtype == np.float16
    assert mul(np.ones(3, "u8"), 2).dtype == np.uint64
    assert mul(np.ones(3, "i4"), 2.5).dtype == np.float64
    assert mul(2, 3).dtype == np.int64 and mul(2, 2.5).dtype == np.float64
    assert axpy(2, f4, 0.5).dtype == np.float32
    assert mul(f4, 2, where=True).dtype == np.float32
    assert mul(f4, 2.5, where=True).dtype == np.float32


def test_a_python_int_stays_an_integer():
    @vectorize
    def power(x, n):
        r = x
        for _ in range(n - 1):
            r = r * x
        return r

    a = np.arange(4, dtype="f4")
    assert np.array_equal(power(a, 3), a**3) and power(a, 3).dtype == np.float32


def test_python_numbers_are_weak_whatever_numpy_promotes_by():
    """The other tests ask NumPy 1.26 for the rules of NumPy 2 (conftest.py); a user does not."""
    program = """
import numpy as np
from treadle import guvectorize, vectorize
mul = vectorize(lambda x, y: x * y)
only = vectorize(["float32(float32, float32)"])(lambda x, y: x * y)
@guvectorize("(n),()->(n)")
def scale(a, k, out):
    for i in range(len(a)):
        out[i] = a[i] * k
f4, f2 = np.ones(3, "f4"), np.ones(3, "f2")
for number in (2, 2.5):
    for f in (mul, only, scale):
        assert f(f4, number).dtype == f(f4, number, out=None).dtype == np.float32
        assert f(f4.astype(">f4"), number).dtype == np.float32
    assert mul(f4, number, where=True).dtype == only(f4, number, where=True).dtype == np.float32
    assert mul(f2, number).dtype == np.float16
assert mul(f4, np.float64(2)).dtype == mul(f4, np.float64(2), where=True).dtype == np.float64
assert mul(f4, np.ones((), "f8")).dtype == mul(f4, np.ones((), "f8"), where=True).dtype == np.float64
"""
    r = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert r.returncode == 0, r.stderr


CALLS = [
    lambda f: f(np.ones(2, "c16"), np.ones(2, "c16")).dtype,
    lambda f: f(np.ones(2, "f4"), 2).dtype,
    lambda f: f(np.ones(2, "f4"), np.ones(2, "i8")).dtype,
    lambda f: f(np.ones(2, "i8"), np.ones(2, "i8")).dtype,
    lambda f: f(np.ones(2, "f8"), np.ones(2, "f4")).dtype,
    lambda f: f(np.ones(2, "f4"), np.float32(1)).dtype,
    lambda f: f(1, 2).dtype,
    lambda f: f(np.ones(2, "f8"), np.ones(2, "f8"), dtype="f4").dtype,
    lambda f: f.reduce(np.ones(2, "i1")).dtype,
    lambda f: f(np.ones(2, "i1"), np.ones(2, "i1")).dtype,
    lambda f: f(np.ones(2, "u8"), 1).dtype,
    lambda f: f(np.ones(2, "f2"), 1.0, where=True).dtype,
]


@settings(max_examples=examples(8), deadline=None)
@given(st.permutations(range(len(CALLS))))
def test_types_do_not_depend_on_the_order_of_calls(order):
    def f(x, y):
        return x * y + x

    first, second = vectorize(f), vectorize(f)
    in_order = [c(first) for c in CALLS]
    shuffled = {k: CALLS[k](second) for k in order}
    assert in_order == [shuffled[k] for k in range(len(CALLS))]


def test_half_stores_and_computes_in_float32():
    x = np.linspace(-3, 3, 1000).astype("f2")
    want = ((x.astype("f4") + 1) * x.astype("f4")).astype("f2")

    @vectorize
    def f(a):
        return (a + 1) * a

    check(f(x), want)
    check(f(x[::3]), want[::3])
    check(add(x, np.ones(1000, "f4")), x.astype("f4") + 1)
    special = np.array([np.inf, -np.inf, np.nan, 65504, 6e-8, -0.0], "f2")
    check(add(special, np.zeros(6, "f2")), special + np.zeros(6, "f2"))
    assert np.signbit(neg(np.zeros(2, "f2"))).all()
    assert mul(np.full(3, 300, "f2"), np.full(3, 300, "f2")).tolist() == [np.inf] * 3
    assert add.reduce(np.ones(2000, "f2")) == 2000


def test_dtype_keyword():
    a = np.arange(5.0)
    assert add(a, a, dtype="f4").dtype == np.float32
    assert less(a, a, dtype=bool).dtype == bool
    assert add(a.astype("f4"), a.astype("f4"), dtype=float).dtype == np.float64
    assert add(a, a, signature="ff->f", casting="same_kind").dtype == np.float32
    with pytest.raises(TypeError):
        less(a, a, dtype="f4")


# --- declared signatures ---


@vectorize(["float32(float32, float32)", "float64(float64, float64)", complex128(complex128, complex128)])
def declared(x, y):
    return x * y


def test_declared_signatures_cast():
    f4, i2, i4 = np.arange(3, dtype="f4"), np.arange(3, dtype="i2"), np.arange(3, dtype="i4")
    assert declared(f4, f4).dtype == np.float32
    assert declared(i2, i2).dtype == np.float32
    assert declared(i4, f4).dtype == np.float64
    assert declared(f4, 2.5).dtype == np.float32
    assert declared(f4, 2).dtype == np.float32
    assert declared(2.5, 2.5).dtype == np.float64
    assert declared(f4, 1j).dtype == np.complex128
    assert declared(f4, f4, dtype="f8").dtype == np.float64
    assert declared.types == ["ff->f", "dd->d", "DD->D"] and declared.ntypes == 3
    with pytest.raises(TypeError, match="has no signature for arguments of types"):
        declared(np.array(["a"]), f4)
    only = vectorize(["float32(float32)"])(lambda x: x + 1)
    assert only(1.5).dtype == np.float32
    with pytest.raises(TypeError, match="it has\n  float32 -> float32"):
        only(np.arange(3.0))
    assert only(np.arange(3.0), casting="same_kind", dtype="f4").dtype == np.float32


def test_python_numbers_alone_take_what_is_declared():
    """Where the types that NumPy stores them in fit no signature, they count by their kind."""
    f = vectorize(["uint8(int8)", "uint32(uint32)"])(lambda x: x + 200)
    assert f(-3) == 197 and f(-3).dtype == np.uint8
    assert njit(lambda: f(-3))() == 197
    assert f(np.ones(2, "i1")).dtype == np.uint8 and f(np.ones(2, "u2")).dtype == np.uint32
    with pytest.raises((OverflowError, TypeError)):
        f(1000)


def test_the_result_converts_to_the_declared_type():
    f = vectorize(["float32(float32, float32)"])(lambda a, b: math.sqrt(a) * 1e10 + b)
    assert f(np.ones(3, "f4"), 2.0).dtype == np.float32
    g = vectorize(["int32(float64)"])(lambda a: a)
    assert g(np.array([1.9, -1.9])).tolist() == [1, -1]


def test_several_results():
    @vectorize([types.Tuple((float64, int64))(float64)])
    def parts(x):
        i = int(x)
        return x - i, i

    f, i = parts(np.array([1.5, 2.25]))
    assert f.tolist() == [0.5, 0.25] and i.tolist() == [1, 2] and i.dtype == np.int64
    assert parts(2.5) == (0.5, 2) and parts.nout == 2
    out = np.empty(2), np.empty(2, int)
    assert parts(np.array([1.5, 2.25]), out=out)[0] is out[0] and out[1].tolist() == [1, 2]


# --- shapes, strides, overlap: property tests ---


@st.composite
def views(draw, dtype, shape):
    """An array of this shape on memory of some layout."""
    steps = [draw(st.sampled_from([1, 1, 2, 3, -1, -2])) for _ in shape]
    order = draw(st.sampled_from("CF"))
    base = np.empty([n * abs(s) + 1 for n, s in zip(shape, steps, strict=True)], dtype, order=order)
    perm = draw(st.permutations(range(len(shape))))
    base = np.empty([base.shape[p] for p in perm], dtype).transpose(np.argsort(perm)) if shape else base
    kind = draw(st.sampled_from(["plain", "swapped", "packed"]))
    if kind == "packed":  # items at odd addresses
        record = np.dtype([("pad", "u1"), ("v", dtype)])
        base = np.empty(base.shape, record)["v"]
    if kind == "swapped":
        base = base.astype(base.dtype.newbyteorder())
    seed = draw(st.integers(0, 1000))
    base[...] = np.random.default_rng(seed).integers(0, 40, base.shape).astype(dtype)
    cut = tuple(
        slice(None, n * s, s) if s > 0 else slice(n * -s - 1, None, s)
        for n, s in zip(shape, steps, strict=True)
    )
    view = base[cut]
    return view[(*(slice(0, n) for n in shape), ...)]


@st.composite
def operands(draw, count=2):
    ndim = draw(st.integers(0, 3))
    shape = [draw(st.integers(0, 5)) for _ in range(ndim)]
    out = []
    for _ in range(count):
        mine = [n if draw(st.booleans()) or n == 0 else 1 for n in shape]
        mine = mine[draw(st.integers(0, ndim)) if draw(st.booleans()) else 0 :]
        dtype = draw(st.sampled_from(["f8", "f4", "f2", "i8", "i4", "u1", "c8", "c16", "?"]))
        out.append(draw(views(dtype, mine)))
    return out


SETTINGS = settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))


@SETTINGS
@given(operands())
def test_layouts_and_broadcasting(xy):
    want = expected(np.add, *xy)
    got = add(*xy)
    check(got, want)
    if isinstance(want, np.ndarray) and all(x.dtype == want.dtype for x in xy):
        assert got.strides == np.add(*xy).strides
    assert np.array_equal(
        add(xy[0], 3), np.add(xy[0], 3, dtype=add(xy[0], 3).dtype), equal_nan=xy[0].dtype.kind in "fc"
    )


@SETTINGS
@given(operands(3), st.integers(0, 100))
def test_three_operands_where_and_out(xyz, seed):
    with np.errstate(all="ignore"):
        want = np.asarray(axpy(*(np.asarray(x).copy() for x in xyz)))
    out = np.full(want.shape, 7, want.dtype)
    mask = np.random.default_rng(seed).random(want.shape) < 0.5
    assert axpy(*xyz, out=out, where=mask) is out
    check(out, np.where(mask, want, np.array(7, want.dtype)))
    wide = np.zeros([2 * n for n in want.shape], want.dtype)
    view = wide[(*(slice(None, None, 2) for _ in want.shape), ...)]
    assert axpy(*xyz, view) is view
    check(view, want)


@SETTINGS
@given(
    st.integers(1, 40),
    st.integers(-20, 20),
    st.integers(-20, 20),
    st.sampled_from([1, 2, -1]),
    st.sampled_from([1, 2, -1]),
)
def test_overlapping_operands(n, shift_x, shift_y, step_x, step_out):
    def fresh():
        memory = np.arange(200.0)
        x = memory[80 + shift_x : 80 + shift_x + step_x * n : step_x]
        y = memory[80 + shift_y : 80 + shift_y + n]
        return memory, x, y, memory[80 : 80 + step_out * n : step_out]

    ours, x, y, out = fresh()
    add(x, y, out=out)
    numpys, x, y, out = fresh()
    np.add(x, y, out=out)
    assert np.array_equal(ours, numpys)


@SETTINGS
@given(st.integers(1, 3), st.data())
def test_methods(ndim, data):
    shape = [data.draw(st.integers(1, 6)) for _ in range(ndim)]
    dtype = data.draw(st.sampled_from(["f8", "f4", "i8", "u2", "c16", "?", "f2"]))
    a = data.draw(views(dtype, shape))
    axis = data.draw(st.integers(0, ndim - 1))
    w = widened(a) if dtype != "f2" else np.minimum(a, 3)
    a = a if dtype != "f2" else w
    loose = {"rtol": 1e-2 if dtype == "f2" else 1e-5}
    for ours, numpys in ((plus, np.add), (mul, np.multiply)):
        got = ours.reduce(a, axis=axis)
        assert got.dtype == numpys.reduce(w, axis=axis).dtype
        assert np.allclose(got, numpys.reduce(w, axis=axis), **loose)
        assert (
            ours.reduce(a, axis=axis, keepdims=True).shape == numpys.reduce(w, axis=axis, keepdims=True).shape
        )
        assert np.allclose(ours.accumulate(a, axis=axis), numpys.accumulate(w, axis=axis), **loose)
        at = [0, shape[axis] - 1, 0]
        assert np.allclose(ours.reduceat(a, at, axis=axis), numpys.reduceat(w, at, axis=axis), **loose)
    check(sub.accumulate(w, axis=axis), np.subtract.accumulate(w, axis=axis))
    check(sub.reduce(w, axis=axis), np.subtract.reduce(w, axis=axis))
    check(add.outer(w, w[:1]), np.add.outer(w, w[:1]))


def test_methods_in_place_and_with_options():
    a = np.arange(10.0)
    b = a.copy()
    add.at(b, [1, 1, 2, -1], 5.0)
    c = a.copy()
    np.add.at(c, [1, 1, 2, -1], 5.0)
    assert np.array_equal(b, c)
    assert add.reduce(a, initial=3.0) == 48 and add.reduce(a, where=a > 5, initial=0.0) == 30
    assert add.reduce(a, dtype="f4").dtype == np.float32
    out = np.zeros(())
    assert add.reduce(a, out=out) is out and out == 45
    d = a.copy()
    add.accumulate(d, out=d)
    assert np.array_equal(d, np.add.accumulate(a))
    m = np.arange(24.0).reshape(2, 3, 4)
    assert np.array_equal(add.accumulate(m, axis=1), np.add.accumulate(m, axis=1))
    big = np.random.default_rng(0).random((300, 70))
    assert np.allclose(add.reduce(big, axis=0), big.sum(0)) and np.allclose(
        add.reduce(big, axis=1), big.sum(1)
    )
    swapped = a.astype(">f8")
    assert add.reduce(swapped) == 45 and add(swapped, 1)[3] == 4


def test_out_of_another_type():
    """NumPy wants one type for all operands of accumulate and reduceat: `dtype` says which."""
    a = np.arange(5)
    f = vectorize(lambda x, y: x + y)
    assert f.accumulate(a, out=np.zeros(5), dtype=float).tolist() == [0, 1, 3, 6, 10]
    assert f.reduceat(a, [0, 2], out=np.zeros(2), dtype=float).tolist() == [1, 9]


@pytest.mark.parametrize("before", [False, True])
def test_reductions_do_not_depend_on_calls_before(before):
    a = np.full(3, 2**40)
    f = vectorize(lambda x, y: x + y * y)
    if before:
        f(np.ones(3), a), f(1.5, a), f(a[0] * 1.0, a[0])
    assert f.reduce(a, dtype=float) == 2**40 + 2.0**81
    assert f.accumulate(a, dtype=float)[1] == 2**40 + 2.0**80


def test_identity():
    none, zero, order = (vectorize(identity=i)(lambda x, y: x + y) for i in (None, 0, "reorderable"))
    m = np.ones((2, 3))
    with pytest.raises(ValueError, match="identity"):
        none.reduce(np.empty(0))
    with pytest.raises(ValueError, match="identity"):
        order.reduce(np.empty(0))
    assert zero.reduce(np.empty(0)) == 0 and zero.identity == 0
    assert zero.reduce(np.empty((0, 3))).tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="reorderable"):
        none.reduce(m, axis=(0, 1))
    assert zero.reduce(m, axis=(0, 1)) == order.reduce(m, axis=(0, 1)) == 6
    product = vectorize(["float64(float64, float64)"], identity=1.0)(lambda x, y: x * y)
    assert product.reduce(np.empty(0)) == 1.0 and product.reduce(m * 2).tolist() == [4, 4, 4]
    for bad in ("zero", [1], object()):
        with pytest.raises(ValueError, match="identity must be"):
            vectorize(identity=bad)


def test_reductions_after_loops_of_mixed_types():
    f = vectorize(lambda x, y: x + y)
    f(np.ones(2, "i8"), np.ones(2, "?"))
    f(np.ones(2, "f8"), np.ones(2, "f4"))
    for dt, want in (("?", "i8"), ("f4", "f4")):
        a = np.ones(4, dt)
        assert f.accumulate(a).tolist() == [1, 2, 3, 4] and f.accumulate(a).dtype == want
        assert f.reduce(a).dtype == f.reduceat(a, [0, 2]).dtype == want


def test_a_reduction_that_never_closes():
    f = vectorize(lambda x, y: x < y)
    assert f.reduce(np.array([True, False])).dtype == bool
    g = vectorize(["float64(int64, int64)"])(lambda x, y: x + y)
    with pytest.raises(TypeError):
        g.reduce(np.arange(3))


# --- other arrays, other objects ---


def test_overrides_and_subclasses():
    class Mine:
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return ufunc, method, len(inputs)

    assert add(Mine(), 1) == (add, "__call__", 2)
    assert add.reduce(Mine()) == (add, "reduce", 1)

    class Sub(np.ndarray):
        pass

    a = np.arange(3.0).view(Sub)
    assert type(add(a, a)) is Sub and type(add(a, a, subok=False)) is np.ndarray
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])
    assert add(masked, 1).tolist() == [2.0, None, 4.0]


def test_lists_and_scalars():
    assert add([1, 2], [3, 4]).tolist() == [4, 6]
    assert add(np.ones(()), 2).ndim == 0 and isinstance(add(np.ones(()), 2), np.float64)
    assert add(True, False).dtype == np.int64
    out = np.zeros(())
    assert add(1.0, 2.0, out=out) is out and out == 3
    assert add(1.0, 2.0, out) is out
    assert isinstance(less(1, 2), np.bool_) and less(1, 2)
    assert add(2**40, 1) == 2**40 + 1
    with pytest.raises((OverflowError, TypeError)):
        add(np.arange(3), 2**70)


def test_bad_calls():
    a = np.arange(3.0)
    for args, kw in (((a,), {}), ((a, a, a, a), {}), ((a, a), {"what": 1})):
        with pytest.raises(TypeError):
            add(*args, **kw)
    with pytest.raises(ValueError, match="broadcast"):
        add(a, np.arange(4.0))
    with pytest.raises(ValueError):
        add(a, a, out=np.empty(2))
    with pytest.raises(TypeError):
        add(a, a, out=np.empty(3, "i4"))
    frozen = np.empty(3)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        add(a, a, out=frozen)


@pytest.mark.parametrize(
    "x",
    [
        np.array(["a"]),
        np.array([object()]),
        np.zeros(2, "M8[s]"),
        np.zeros(2, "g"),
        np.zeros(2, [("a", "f8")]),
    ],
)
def test_dtypes_that_are_not_compiled(x):
    f = vectorize(lambda v: v)
    for _ in range(2):
        with pytest.raises(TypeError, match="cannot be compiled for argument 1 of dtype"):
            f(x)
    assert f(np.arange(3.0)).tolist() == [0, 1, 2]


# --- values, errors ---


def test_division_follows_numpy():
    @vectorize
    def f(x, y):
        return x / y, x // y, x % y

    assert vectorize(lambda x, y: x // y)(np.array([1, 7]), 0).tolist() == [0, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        a = np.array([1.0, -1.0, 0.0])
        assert np.array_equal(div(a, 0.0), [np.inf, -np.inf, np.nan], equal_nan=True)
        assert np.array_equal(div(a, 0.0, where=True), [np.inf, -np.inf, np.nan], equal_nan=True)
        assert np.isinf(div(1.0, 0.0))
        div.reduce(np.zeros(3))
        div.accumulate(np.zeros(3))
    with pytest.raises(treadle.TypingError, match="3 values for 1 output"):
        f(1.0, 2.0)


def test_exceptions_reach_the_caller():
    @vectorize
    def root(x):
        if x < 0:
            raise ValueError("negative")
        return math.sqrt(x)

    bad, big = np.array([1.0, -1.0, 4.0]), np.arange(100_000.0)
    big[-1] = -1
    calls = [
        lambda: root(bad),
        lambda: root(-1.0),
        lambda: root(big),
        lambda: root(bad.astype(">f8")),
        lambda: root(bad, out=np.empty(3), where=[True, True, False]),
        lambda: root.at(bad.copy(), [1]),
        lambda: root(np.array([-1], "f2")),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="^negative$"):
            call()
        assert root(4.0) == 2.0


def test_what_does_not_compile():
    with pytest.raises(treadle.TypingError, match="returns nothing"):
        vectorize(lambda x: None)(1.0)
    with pytest.raises(treadle.TypingError, match="needs a number for each element"):
        vectorize(lambda x: np.zeros(3))(1.0)
    f = vectorize(lambda x: x.nothing)
    for _ in range(2):
        with pytest.raises(treadle.TypingError, match="nothing"):
            f(np.arange(3.0))
        with pytest.raises(treadle.TypingError, match="nothing"):
            f(np.arange(3.0), where=True)
    with pytest.raises(treadle.TypingError):
        vectorize(["float64(float64)"])(lambda x: x.nothing)


def test_bad_decorations():
    def f(x):
        return x

    cases = [
        (lambda: vectorize(3), TypeError, "vectorize takes a function"),
        (
            lambda: vectorize(["float64(flot64)"]),
            TypeError,
            r"unknown type 'flot64'\n  float64\(flot64\)\n          \^",
        ),
        (lambda: vectorize(["float64(float64"]), TypeError, r"\n  float64\(float64\n                 \^"),
        (
            lambda: vectorize(["float64(float64, float64)"])(f),
            TypeError,
            "has 1 parameter, but its signature has 2",
        ),
        (lambda: vectorize(["float64(float64[:])"])(f), TypeError, "declare its type alone"),
        (lambda: vectorize(target="moon"), ValueError, "'cpu' or 'parallel' or 'cuda', not 'moon'"),
        (lambda: vectorize(colour=1), TypeError, "unknown option 'colour'"),
        (lambda: vectorize(error_model="python"), TypeError, "no meaning for a ufunc"),
        (lambda: vectorize(nopython=False), ValueError, "no object mode"),
        (lambda: vectorize(lambda: 1), TypeError, "no parameters"),
        (lambda: vectorize(lambda *a: 1), TypeError, "starred"),
        (lambda: vectorize()(3), TypeError, "compiles Python functions"),
        (lambda: vectorize(staticmethod(f)), TypeError, "@staticmethod"),
        (
            lambda: vectorize(eval("lambda " + ", ".join(f"a{i}" for i in range(40)) + ": 1")),
            ValueError,
            "at most 32 inputs and outputs, not 41",
        ),
    ]
    for make, error, match in cases:
        with pytest.raises(error, match=match):
            make()


# --- looking into one ---


def test_info():
    info = ufunc_info(declared)
    assert isinstance(info, treadle.UfuncInfo) and "declared" in repr(info)
    assert info.ufunc is declared and info.py_func(2, 3) == 6 and info.target == "cpu"
    assert not info.lazy and not info.generalized and info.options["target"] == "cpu"
    assert info.signatures[1] == (float64, float64) and info.overloads[(float32, float32)] == float32
    assert info.stats[(float64, float64)]["code_bytes"] > 0
    assert set(info.inspect_ir()) == set(info.signatures)
    assert "pattern" in info.inspect_ir((float64, float64)) and "define" in info.inspect_llvm("f8(f8, f8)")
    assert "ret" in info.inspect_asm((float64, float64)) and "mul" in info.inspect(
        "infer", (float64, float64)
    )
    with pytest.raises(KeyError):
        info.inspect_ir((int64, int64))
    with pytest.raises(TypeError, match="declared signatures, which do not change"):
        info.compile((int64, int64))
    f = vectorize(lambda x, y: x + y)
    ufunc_info(f).compile((float32, float32))
    assert f.types == ["ff->f"] and ufunc_info(f).lazy
    with pytest.raises(TypeError, match="follows from the function"):
        ufunc_info(f).compile("float64(float32, float32)")
    with pytest.raises(TypeError, match="no ufunc of Treadle's"):
        ufunc_info(np.add)
    if NUMPY_2 and hasattr(add, "__dict__"):
        assert add.py_func(1, 2) == 3 and add.info().lazy and add.__module__ == __name__


def test_pickle_by_name():
    assert pickle.loads(pickle.dumps(add)) is add


@pytest.mark.parametrize("declared", [False, True])
def test_a_ufunc_goes_away(declared):
    """Its own attributes lead back to it, and so may its function."""

    class Token:
        pass

    def make():
        token, holder = Token(), []

        def f(x):
            return x + 1 if holder is None else x + 2

        f.token = token
        u = vectorize(["float64(float64)"])(f) if declared else vectorize(f)
        assert u(1.0) == 3.0
        holder.append(u)
        return weakref.ref(token)

    ref = make()
    gc.collect()
    assert ref() is None


def test_threads():
    f = vectorize(lambda x, y: x * y + 1)
    results, errors = [], []

    def work(k):
        try:
            for dt in ("f8", "f4", "i8", "c16", "f2"):
                a = np.arange(5000).astype(dt)
                results.append(f(a, a)[3] == 10 and f.reduce(a[:4]) is not None)
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors and all(results) and len(results) == 40


def test_cache(tmp_path):
    program = """
import numpy as np, treadle
from treadle import vectorize, guvectorize
@vectorize(cache=True)
def f(x, y):
    return x * y + 3
@guvectorize(["void(f8[:], f8[:])"], "(n)->()", cache=True)
def g(a, out):
    out[0] = a.sum()
a = np.arange(5.0)
assert f(a, a).tolist() == [3, 4, 7, 12, 19] and f.reduce(a) == f(f(f(f(0.0, 1.0), 2.0), 3.0), 4.0) and g(a) == 10
print(treadle.stats()["compiled"], treadle.stats()["loaded"])
"""
    env = {**os.environ, "TREADLE_CACHE_DIR": str(tmp_path / "cache")}
    seen = []
    for _ in range(2):
        r = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
        assert r.returncode == 0, r.stderr
        seen.append(r.stdout.split())
    assert seen[0] == ["2", "0"] and seen[1] == ["0", "2"]


def test_a_python_int_finds_a_float32_signature():
    """It fits float32, which comes first; another int does not change that."""
    for signatures in (["int32(float32)", "int32(int32)"], ["int32(float32)", "int32(uint32)"]):

        @vectorize(signatures)
        def half(x):
            return int(x) // 2

        assert half(7) == 3
        assert half(np.float32(7)) == 3


def test_python_numbers_alone_through_numpy():
    """NumPy is asked where a result is converted, or part of it left out; it takes 3 for int64, which is no signature here."""
    above = vectorize(["bool_(uint32)", "bool_(float32)"])(lambda x: x > 1)
    for number in (3, 1.5):
        out = np.zeros(3, np.uint32)
        assert above(number, out=out) is out and out.tolist() == [1, 1, 1]
        flags = np.zeros(2, np.bool_)
        assert above(number, out=flags, where=np.array([True, False])).tolist() == [True, False]
    with pytest.raises(TypeError, match="no signature for arguments of types .complex"):
        above(1j, out=np.zeros(1, np.uint32))


@pytest.mark.parametrize("target", ["cpu", "parallel"])
def test_a_function_that_always_raises(target):
    """Its result has a type and no value."""

    @vectorize(target=target)
    def never(x, y):
        if np.uint64(37):
            raise RuntimeError("never")
        return x + y

    @njit
    def beside(x):
        return never(x, 2) * 2 + x

    for x in (7, np.ones(3), np.ones((2, 3))[:, ::2], np.broadcast_to(np.int8(1), (3, 3))):
        for call in (lambda x: never(x, x), lambda x: never(7, x), beside):
            with pytest.raises(RuntimeError, match="never"):
                call(x)
    assert never(np.ones(0), 1).shape == beside(np.ones(0)).shape == (0,)
