"""Arrays of the device: making them, copies, views (against NumPy's of the same memory), records, arrays that host and device share, other packages' arrays.

`tests/py/test_cuda_devices.py` has devices, contexts, warnings and the names that older programs use.
"""

from __future__ import annotations

import copy
import ctypes
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from on_stack import on_stack
from sizes import examples
from treadle import cuda
from treadle.cuda.cudadrv import devicearray, driver


@cuda.jit
def double(x):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        x[i] *= 2


@cuda.jit
def double2(x):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        x[i, j] *= 2


# --- making them ---


def test_to_device():
    a = np.arange(12.0).reshape(3, 4)
    d = cuda.to_device(a)
    assert (d.shape, d.dtype, d.ndim, d.size, d.nbytes, d.strides) == ((3, 4), a.dtype, 2, 12, 96, (32, 8))
    assert d.alloc_size == 96 and len(d) == 3 and isinstance(d, cuda.DeviceNDArray)
    double2[(1, 1), (3, 4)](d)
    assert (a == np.arange(12.0).reshape(3, 4)).all()
    assert (d.copy_to_host() == a * 2).all()
    assert cuda.to_device(d) is d
    room = cuda.to_device(a, copy=False)
    assert (room.shape, room.dtype) == (a.shape, a.dtype)
    assert cuda.to_device(a + 1, to=room) is room
    assert (room.copy_to_host() == a + 1).all()
    assert cuda.to_device(a, to=room, copy=False) is room
    assert (room.copy_to_host() == a + 1).all()
    assert repr(d) == "<device array (3, 4) of float64>"
    assert d.stream == 0


@pytest.mark.parametrize(
    "given",
    [3.5, True, [1, 2, 3], [[1.0], [2.0]], np.float32(2), np.array(7), np.zeros((0, 3)), np.zeros(3, ">i4")],
)
def test_what_becomes_an_array(given):
    d = cuda.to_device(given)
    want = np.asarray(given)
    assert (d.shape, d.dtype) == (want.shape, want.dtype)
    assert (d.copy_to_host() == want).all()


BASE = np.arange(240).reshape(4, 5, 12)
LAYOUTS = {
    "C": BASE,
    "F": np.asfortranarray(BASE),
    "steps": BASE[::2, 1::2, ::3],
    "backward": BASE[::-1, :, ::-1],
    "axes": BASE.transpose(1, 0, 2),
    "part": BASE[:, 1:3],
    "empty": BASE[:, :0],
    "broadcast": np.broadcast_to(np.arange(5), (3, 5)),
    "no axes": np.array(3),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_arrays_that_lie_in_any_way(name):
    a = LAYOUTS[name]
    d = cuda.to_device(a)
    got = d.copy_to_host()
    assert (got == a).all() and got.shape == a.shape
    out = np.zeros_like(a, order="K")
    assert d.copy_to_host(out) is out
    assert (out == a).all()
    if a.ndim:
        like = cuda.device_array_like(a)
        model = np.empty_like(a, subok=False)
        assert (like.shape, like.dtype) == (model.shape, model.dtype)
        if a.size and name != "broadcast":  # which NumPy versions order differently
            assert like.strides == model.strides
        like.copy_to_device(a)
        assert (like.copy_to_host() == a).all()
        assert cuda.device_array_like(like).strides == like.strides
    view = a.copy()
    view.flags.writeable = False
    d.copy_to_device(view)
    assert (d.copy_to_host() == a).all()


def test_device_array():
    assert cuda.device_array(3).dtype == np.float64
    assert cuda.device_array((2, 3), np.int8, order="F").strides == (1, 2)
    assert cuda.device_array([2, 3], "f4").strides == (12, 4)
    assert cuda.device_array(np.int64(4), dtype=treadle.cuda.to_device([1]).dtype).shape == (4,)
    d = cuda.device_array((3, 4), np.int16, strides=(32, 4))
    assert d.strides == (32, 4) and d.alloc_size == 2 * 32 + 3 * 4 + 2
    d[:] = 7
    assert (d.copy_to_host() == np.full((3, 4), 7)).all()
    assert cuda.device_array(4, np.int16, strides=2).strides == (2,)
    assert cuda.device_array(()).shape == ()
    assert cuda.device_array(3, dtype=treadle.float32).dtype == np.float32
    assert cuda.device_array(3, dtype=treadle.types.boolean).view(treadle.int8).dtype == np.int8
    assert cuda.device_array((0, 5)).size == 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: cuda.device_array(3, order="K"), ValueError, "'C' or 'F'"),
        (lambda: cuda.device_array((3, -1)), ValueError, "negative"),
        (lambda: cuda.device_array(3.5), TypeError, "integer"),
        (lambda: cuda.device_array("3"), TypeError, "integer"),
        (lambda: cuda.device_array((3, 4), strides=(8,)), ValueError, "another length"),
        (lambda: cuda.device_array(3, strides=-8), ValueError, "forward"),
        (lambda: cuda.device_array(3, object), TypeError, "Python objects"),
        (lambda: cuda.device_array(3, "nothing"), TypeError, "nothing"),
        (lambda: cuda.to_device([object()]), TypeError, "Python objects"),
        (lambda: cuda.to_device(np.ma.masked_array([1, 2], [0, 1])), TypeError, "masks"),
        (lambda: cuda.device_array(3, treadle.float32[:]), TypeError, "array"),
        (lambda: cuda.DeviceNDArray(3, 8, "f8", gpu_data=3), TypeError, "MemoryPointer, not int"),
        (lambda: cuda.to_device([1.0], stream="x"), TypeError, "made by cuda.stream"),
        (lambda: cuda.to_device([1.0], to=np.zeros(1)), TypeError, "array of the device"),
        (lambda: cuda.to_device([1], to=cuda.device_array(1)), TypeError, "int64"),
        (lambda: cuda.to_device([1.0, 2.0], to=cuda.device_array(1)), ValueError, r"\(2,\)"),
        (lambda: cuda.device_array((1,) * 70), ValueError, "dimension"),
        (lambda: cuda.device_array(2**50), MemoryError, "no room for 9007199254740992 bytes"),
        (lambda: cuda.device_array(2**50), driver.CudaAPIError, r"\[2\] CUDA_ERROR_OUT_OF_MEMORY"),
        (lambda: cuda.device_array((2**40, 2**40)), MemoryError, "no room"),
    ],
)
def test_what_is_no_device_array(call, error, message):
    with pytest.raises(error, match=message):
        call()


# --- copies ---


def test_copies():
    a = np.arange(12.0).reshape(3, 4)
    d = cuda.to_device(a)
    assert (np.asarray(d) == a).all()
    assert np.asarray(d, np.float32).dtype == np.float32
    assert np.sum(d) == 66
    assert (np.ones((3, 4)) + d == a + 1).all()
    copied = np.asarray(d)
    copied[:] = 0
    assert (d.copy_to_host() == a).all()
    d.copy_to_device(cuda.to_device(a * 3))
    assert (d.copy_to_host() == a * 3).all()
    d.copy_to_device([[1.0] * 4] * 3)
    assert (d.copy_to_host() == 1).all()
    out = np.zeros((1, 3, 1, 4))  # axes of one item do not matter
    assert (d.copy_to_host(out) == 1).all()
    d.copy_to_device(out + 1)
    assert (d.copy_to_host(np.zeros((3, 4), order="F")) == 2).all()
    strided = np.zeros((6, 8))[::2, ::-2]
    assert (d.copy_to_host(strided) == 2).all()
    split = np.zeros((3, 1, 4), order="F").transpose(2, 1, 0)[:, :, :]
    with pytest.raises(ValueError, match="shape"):
        d.copy_to_host(split)
    s = cuda.stream()
    copy = d.copy_to_host(stream=s)
    s.synchronize()
    assert (copy == 2).all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda d: d.copy_to_host(np.zeros(3)),
            ValueError,
            r"an array of shape \(3,\), the device array has \(4,\)",
        ),
        (lambda d: d.copy_to_host(np.zeros(4, np.int8)), TypeError, "int8"),
        (lambda d: d.copy_to_host([0.0] * 4), TypeError, "not to list"),
        (lambda d: d.copy_to_host(np.broadcast_to(0.0, 4)), ValueError, "read-only"),
        (lambda d: d.copy_to_host(stream=7), TypeError, "made by cuda.stream"),
        (lambda d: d.copy_to_device(np.zeros(3)), ValueError, "shape"),
        (lambda d: d.copy_to_device(np.zeros(4, np.float32)), TypeError, "float32"),
        (lambda d: d.bind("x"), TypeError, "made by cuda.stream"),
        (lambda d: d.to_host(), ValueError, "not made of an array"),
        (lambda d: np.array(d, copy=False), ValueError, "without a copy|Unable to avoid copy"),
        (lambda d: d + 1, TypeError, "unsupported operand"),
        (lambda d: d.nothing, AttributeError, "DeviceNDArray has no attribute 'nothing'"),
        (lambda d: cuda.nothing, AttributeError, "nothing"),
    ],
)
@pytest.mark.filterwarnings("ignore:to_host:DeprecationWarning")
def test_copies_refuse(call, error, message):
    if np.lib.NumpyVersion(np.__version__) < "2.0.0" and "without a copy" in message:
        pytest.skip("np.array(copy=False) means 'if needed' before NumPy 2")
    with pytest.raises(error, match=message):
        call(cuda.to_device([0.0] * 4))


def test_to_host():
    a = np.arange(4.0)
    d = cuda.to_device(a)
    double[1, 4](d)
    with pytest.warns(DeprecationWarning, match="copy_to_host"):
        d.to_host()
    assert (a == [0, 2, 4, 6]).all()
    gone = cuda.to_device(np.arange(3.0))
    gc.collect()
    with pytest.warns(DeprecationWarning), pytest.raises(ValueError, match="still there"):
        gone.to_host()


def test_bind():
    d = cuda.to_device(np.arange(4.0))
    s = cuda.stream()
    b = d.bind(s)
    assert b.stream is s and d.stream == 0 and type(b) is cuda.DeviceNDArray
    b[:] = 3
    assert (d.copy_to_host() == 3).all()
    assert b[1:].stream is s and b.reshape(2, 2).stream is s and b.ravel().stream is s
    same = copy.copy(b)
    assert same.stream is s and same.gpu_data.device_pointer_value == d.gpu_data.device_pointer_value
    for call in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="not pickled"):
            call(d)


# --- views ---


def indices(shape):
    """Indices with ints and slices, newaxis and an ellipsis."""
    one = [
        st.one_of(
            st.integers(-n, n - 1) if n else st.nothing(),
            st.slices(n),
            st.builds(slice, st.none(), st.none(), st.sampled_from([1, 2, -1, -3])),
        )
        for n in shape
    ]
    return st.integers(0, len(shape)).flatmap(
        lambda k: st.tuples(
            *one[:k], *([st.just(Ellipsis)] if k < len(shape) else []), st.sampled_from([(), (None,)])
        ).map(lambda t: (*t[:-1], *t[-1]))
    )


@st.composite
def views(draw):
    """An array in any order, an index of it, and what is done to the view."""
    shape = draw(st.lists(st.integers(0, 5), min_size=1, max_size=3).map(tuple))
    return shape, draw(st.sampled_from("CF")), draw(indices(shape)), draw(st.integers(0, 2))


@settings(max_examples=examples(150), deadline=None)
@given(views())
def test_views_are_numpys(drawn):
    shape, order, index, what = drawn
    a = np.arange(float(np.prod(shape, dtype=int))).reshape(shape, order=order)
    a = np.array(a, order=order)
    d = cuda.to_device(a)
    host = a.copy(order="K")
    assert d.strides == host.strides or not host.size
    part, model = d[index], host[index]
    if not isinstance(model, np.ndarray):
        assert type(part) is type(model) and part == model
        d[index] = host[index] = 99
    else:
        assert (part.shape, part.size) == (model.shape, model.size)
        assert part.strides == model.strides or not model.size
        assert part.is_c_contiguous() == model.flags.c_contiguous
        assert part.is_f_contiguous() == model.flags.f_contiguous
        assert part.flags == {
            "C_CONTIGUOUS": model.flags.c_contiguous,
            "F_CONTIGUOUS": model.flags.f_contiguous,
        }
        assert (part.copy_to_host() == model).all()
        if what == 0:
            d[index] = host[index] = 99
        elif what == 1:
            d[index] = cuda.to_device(model * 2 + 1).reshape(model.shape)
            host[index] = model * 2 + 1
        elif model.ndim == 1:
            double[1, 8](part)
            model *= 2
        else:
            part[...] = model + 5
            model += 5
    assert (d.copy_to_host() == host).all()


@st.composite
def reshapes(draw):
    shape = draw(st.sampled_from([(12,), (3, 4), (2, 6), (2, 3, 2), (1, 12), (4, 1, 3), (0, 3), (2, 2, 3)]))
    new = draw(st.sampled_from([(12,), (3, 4), (4, 3), (2, 3, 2), (6, -1), (-1,), (1, 2, 6), (2, 0), (5, 2)]))
    index = draw(
        st.sampled_from([(), (slice(None, None, 2),), (..., slice(1, None)), (slice(None, None, -1),)])
    )
    return shape, new, index, draw(st.sampled_from("CF")), draw(st.sampled_from("CFA"))


@settings(max_examples=examples(200), deadline=None)
@given(reshapes())
def test_reshapes_are_views_or_errors(drawn):
    shape, new, index, lies, order = drawn
    host = np.array(np.arange(np.prod(shape)).reshape(shape), order=lies)[index]
    d = cuda.to_device(np.array(np.arange(np.prod(shape)).reshape(shape), order=lies))[index]
    for call, model in (
        (lambda: d.reshape(new, order=order), lambda: host.reshape(new, order=order)),
        (lambda: d.reshape(*new, order=order), lambda: host.reshape(new, order=order)),
        (lambda: d.ravel(order), lambda: host.reshape(-1, order=order)),
    ):
        try:
            want = model()
        except ValueError:
            with pytest.raises(ValueError):
                call()
            continue
        if host.size and not np.shares_memory(want, host):
            with pytest.raises(NotImplementedError, match="would copy"):
                call()
            continue
        got = call()
        assert got.shape == want.shape and (got.copy_to_host() == want).all()
        got[...] = 50
        assert (d.copy_to_host() == 50).all()
        d.copy_to_device(np.ascontiguousarray(host))


def test_reshape_in_fortran_order():
    a = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    d = cuda.to_device(a)
    assert (d.reshape(3, 2, order="F").copy_to_host() == a.reshape(3, 2, order="F")).all()
    with pytest.raises(NotImplementedError, match="order in which it lies"):
        d.reshape(3, 2)
    with pytest.raises(ValueError, match="'C', 'F' or 'A'"):
        d.reshape(3, 2, order="K")
    with pytest.raises(ValueError, match="'C', 'F' or 'A'"):
        d.ravel("x")


def test_squeeze_and_view():
    a = np.arange(12, dtype=np.int32).reshape(1, 12, 1)
    d = cuda.to_device(a)
    assert d.squeeze().shape == (12,) and d.squeeze(0).shape == (12, 1) and d.squeeze((0, 2)).shape == (12,)
    with pytest.raises(ValueError, match="size not equal to one|cannot select"):
        d.squeeze(1)
    flat = d.squeeze()
    for dtype in (np.uint8, np.float32, np.int64, "u2", [("x", "i4"), ("y", "f4")]):
        got = flat.view(dtype)
        assert got.dtype == dtype and (got.copy_to_host() == a.ravel().view(dtype)).all()
    flat.view(np.uint32)[0] = 2**32 - 1
    assert flat[0] == -1
    with pytest.raises(ValueError):
        flat[::2].view(np.int64)
    with pytest.raises(ValueError):
        flat[:3].view(np.int64)
    with pytest.raises(TypeError, match="Python objects"):
        flat.view(object)


def test_transpose_makes_a_new_array():
    a = np.arange(6.0).reshape(2, 3)
    d = cuda.to_device(a)
    for t in (d.T, d.transpose(), d.transpose((1, 0))):
        assert t.shape == (3, 2) and t.is_c_contiguous() and (t.copy_to_host() == a.T).all()
        t[:] = 0
    assert (d.copy_to_host() == a).all()
    assert d.transpose((0, 1)) is d
    flat = d.ravel()
    assert flat.T is flat
    big = cuda.to_device(BASE)
    assert (big.transpose((2, 0, 1)).copy_to_host() == BASE.transpose(2, 0, 1)).all()
    with pytest.raises(ValueError):
        d.transpose((0, 0))


def test_split():
    d = cuda.to_device(np.arange(10.0))
    parts = list(d.split(4))
    assert [p.copy_to_host().tolist() for p in parts] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    parts[1][:] = 0
    assert d.copy_to_host()[3:8].tolist() == [3, 0, 0, 0, 0]
    assert [len(p) for p in d.split(10)] == [10] and list(d[:0].split(3)) == []
    s = cuda.stream()
    assert all(p.stream is s for p in d.split(3, s))
    with pytest.raises(ValueError, match="one axis"):
        d.reshape(2, 5).split(2)
    with pytest.raises(ValueError, match="one behind the other"):
        d[::2].split(2)
    with pytest.raises(ValueError, match="0 items"):
        d.split(0)


def test_items():
    a = np.arange(12, dtype=np.int16).reshape(3, 4)
    d = cuda.to_device(a)
    assert d[1, 2] == 6 and type(d[1, 2]) is np.int16 and d[-1, -1] == 11
    assert d.getitem((0, 1)) == 1 and d.getitem(1).shape == (4,)
    d.setitem((0, 1), 9)
    d[0, 0] = 5
    d[2] = cuda.to_device(np.ones(4))
    d[:, 3] = [7, 8, 9]
    d[1, :2] = np.float64(3.7)  # as a kernel would store it
    assert d.copy_to_host().tolist() == [[5, 9, 2, 7], [3, 3, 6, 8], [1, 1, 1, 9]]
    assert [r.copy_to_host().sum() for r in d] == [23, 20, 12]
    assert list(d[0]) == [5, 9, 2, 7]
    none = cuda.to_device(np.array(3))
    assert none.shape == () and none[()] == 3 and none[...].shape == ()
    none[()] = 4
    assert none[()] == 4
    with pytest.raises(TypeError):
        len(none)
    with pytest.raises(TypeError):
        list(none)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda d: d[[1, 2]], treadle.UnsupportedError, "ints and slices.*list"),
        (lambda d: d[np.array([1])], treadle.UnsupportedError, "ndarray"),
        (lambda d: d[True], treadle.UnsupportedError, "bool"),
        (lambda d: d["x"], treadle.UnsupportedError, "str"),
        (lambda d: d[1.0], treadle.UnsupportedError, "float"),
        (lambda d: d[9], IndexError, "out of bounds"),
        (lambda d: d[0, 0], IndexError, "too many indices"),
        (lambda d: d.__setitem__(9, 1), IndexError, "out of bounds"),
        (lambda d: d.__setitem__([1], 1), treadle.UnsupportedError, "list"),
        (lambda d: d.__setitem__(slice(2), [1.0, 2.0, 3.0]), ValueError, "broadcast"),
        (lambda d: d.reshape(3), ValueError, "reshape"),
    ],
)
def test_indices_refuse(call, error, message):
    with pytest.raises(error, match=message):
        call(cuda.to_device([0.0] * 4))


def test_views_keep_the_memory():
    d = cuda.to_device(np.arange(1000.0))
    part = d[10:20].reshape(2, 5)
    there = weakref.ref(d)
    del d
    gc.collect()
    assert there() is None and (part.copy_to_host().ravel() == np.arange(10.0, 20.0)).all()


# --- records ---

POINT = np.dtype([("x", "f8"), ("n", "i4"), ("in", [("a", "u1"), ("b", "f4", 3)])], align=True)


def test_structured_arrays():
    a = np.zeros(4, POINT)
    a["x"] = np.arange(4)
    a["in"]["b"] = 2
    d = cuda.to_device(a)
    assert d.dtype == POINT and (d.copy_to_host() == a).all()
    item = d[1]
    assert item["x"] == 1 and isinstance(item, cuda.DeviceRecord)
    item["x"] = 5
    assert d[1]["x"] == 5 and d[1].copy_to_host()["x"] == 5
    d[1]["x"] = 1
    double[1, 4](d["x"])  # a field is an array
    d["n"] = 8
    d[3] = a[0]
    assert d["x"].copy_to_host().tolist() == [0, 2, 4, 0] and d["n"].copy_to_host().tolist() == [8, 8, 8, 0]
    assert d["in"]["b"].shape == (4, 3)
    with pytest.raises(TypeError, match="record"):
        double[1, 4](d)


def test_records():
    r = np.zeros(1, POINT)[0]
    r["x"], r["in"]["b"] = 4, [1, 2, 3]
    d = cuda.to_device(r)
    assert type(d) is cuda.DeviceRecord and d.dtype == POINT and d.shape == () and d.nbytes == POINT.itemsize
    assert d["x"] == 4 and type(d["x"]) is np.float64
    d["x"] = 6
    d["in"]["a"] = 3
    d["in"]["b"][1] = 9
    got = d.copy_to_host()
    assert got.shape == () and got["x"] == 6 and got["in"]["a"] == 3 and got["in"]["b"].tolist() == [1, 9, 3]
    assert r["x"] == 4
    assert repr(d).startswith("<device record of ")
    d.copy_to_device(r)
    assert d["x"] == 4
    d["x"] = 40
    assert d.copy_to_host(r) is r and r["x"] == 40
    with pytest.raises(TypeError, match="the device array is of"):
        d.copy_to_host(np.zeros(1, "i4,i4")[0])
    like = devicearray.from_record_like(r)
    assert like.dtype == POINT and like.gpu_data != d.gpu_data
    assert devicearray.from_record_like(r, gpu_data=d.gpu_data)["x"] == 40
    assert cuda.DeviceRecord(POINT).nbytes == POINT.itemsize
    assert cuda.DeviceRecord(POINT, gpu_data=d.gpu_data)["x"] == 40
    with pytest.raises(ValueError, match="no field"):
        d["y"]


# --- memory ---


FREED = "the address of an array that is gone by then"
NOT_SEEN = "not the host's" if cuda.is_emulated() else "none that the GPU sees"


def seen(a):
    """The array where the device sees it, and the host too."""
    made = cuda.pinned_array_like(a)
    made[...] = a
    return made


def test_memory():
    d = cuda.to_device(np.arange(6, dtype=np.int32))
    p = d.gpu_data
    assert isinstance(p, cuda.MemoryPointer) and p.size == 24 == d.alloc_size
    assert p.device_pointer_value == d.device_ctypes_pointer.value == p.device_ctypes_pointer.value
    assert p.handle.value == p.device_pointer.value == p.device_pointer_value
    if cuda.is_emulated():
        assert ctypes.c_int32.from_address(p.device_pointer_value + 8).value == 2
    again = cuda.DeviceNDArray(shape=(2, 3), strides=(12, 4), dtype=np.int32, gpu_data=p)
    again[1, 1] = 50
    assert d[4] == 50
    half = cuda.DeviceNDArray(3, 4, np.dtype("i4"), gpu_data=p.view(12))
    assert half.copy_to_host().tolist() == [3, 50, 5]
    del d, p, again
    gc.collect()
    assert half.copy_to_host().tolist() == [3, 50, 5]
    assert cuda.DeviceNDArray((2, 2), (16, 8), np.float64).shape == (2, 2)
    assert cuda.device_array(np.array([2, 3])).shape == (2, 3)
    assert half.gpu_data == half.gpu_data and hash(half.gpu_data) == hash(half.gpu_data)
    assert half.gpu_data != half[1:].gpu_data and half.gpu_data != 3
    assert half._numba_type_ == treadle.int32[::1] and half[::2]._numba_type_ == treadle.int32[:]
    empty = cuda.device_array(0)
    assert empty.gpu_data.size == 0 and empty.device_ctypes_pointer.value is None and empty.alloc_size == 0
    back = cuda.to_device(np.arange(4))[::-1]
    assert back.alloc_size == 32 and back.gpu_data.size == 32
    with pytest.raises(ValueError, match="does not fit"):
        cuda.DeviceNDArray((4,), (4,), np.int32, gpu_data=half.gpu_data)
    with pytest.raises(ValueError, match="bytes 4 to 99 of 12"):
        half.gpu_data.view(4, 99)
    assert repr(half.gpu_data) == "<12 bytes of device memory>"


def test_memory_of_others():
    a = seen(np.arange(6.0))
    ended = []
    p = cuda.MemoryPointer(
        cuda.current_context(),
        ctypes.c_void_p(driver.host_pointer(a)),
        48,
        owner=a,
        finalizer=lambda: ended.append(1),
    )
    d = cuda.DeviceNDArray((6,), (8,), np.dtype("f8"), gpu_data=p)
    double[1, 6](d)
    cuda.synchronize()
    assert a.tolist() == [0, 2, 4, 6, 8, 10]
    del p
    gc.collect()
    assert ended == [] and d[5] == 10
    del d
    gc.collect()
    assert ended == [1]
    for at, size, message in ((8, 4, NOT_SEEN), (driver.host_pointer(a), -1, "-1 bytes")):
        with pytest.raises(ValueError, match=message):
            cuda.MemoryPointer(None, at, size)
    assert cuda.MemoryPointer(None, None, 0).device_pointer_value is None


def test_bytes_of_the_driver():
    d = cuda.to_device(np.arange(4, dtype=np.int32))
    driver.device_memset(d, 0, 8)
    assert d.copy_to_host().tolist() == [0, 0, 2, 3]
    out = np.zeros(4, np.int32)
    driver.device_to_host(out, d, 16)
    assert out.tolist() == [0, 0, 2, 3]
    driver.host_to_device(d, np.arange(5, 9, dtype=np.int32), 12)
    room = cuda.current_context().memalloc(16)
    driver.device_to_device(room, d.gpu_data, 16)
    assert cuda.DeviceNDArray(4, 4, np.int32, gpu_data=room).copy_to_host().tolist() == [5, 6, 7, 3]
    assert driver.is_device_memory(d) and driver.is_device_memory(room) and not driver.is_device_memory(out)
    for call, error, message in (
        (lambda: driver.device_memset(out, 0, 4), TypeError, "of the device is needed"),
        (lambda: driver.device_to_host(d, d, 4), TypeError, "of the host is needed"),
        (lambda: driver.device_memset(d, 0, 17), ValueError, "17 bytes of an array that has 16"),
        (lambda: driver.device_to_host(np.broadcast_to(1, 4), d, 4), ValueError, "read-only"),
    ):
        with pytest.raises(error, match=message):
            call()
    assert driver.device_pointer(d) == d.device_ctypes_pointer.value == driver.device_pointer(d.gpu_data)
    assert driver.device_memory_size(d[::2]) == 12 and driver.host_memory_size(np.zeros(5)[::2]) == 40
    with pytest.raises(TypeError, match="of the device is needed"):
        driver.device_pointer(out)
    devicearray.verify_cuda_ndarray_interface(d)
    with pytest.raises(ValueError, match="ndarray"):
        devicearray.verify_cuda_ndarray_interface(out)
    like = devicearray.from_array_like(np.zeros((2, 2), order="F"))
    assert like.strides == (8, 16)
    assert devicearray.from_array_like(np.zeros(2, "i4"), gpu_data=d.gpu_data)[0] == d[0]
    assert devicearray.is_cuda_ndarray(d) and not devicearray.is_cuda_ndarray(out)
    devicearray.require_cuda_ndarray(d)
    with pytest.raises(ValueError, match="ndarray"):
        devicearray.require_cuda_ndarray(out)
    assert devicearray.auto_device(d) == (d, False)
    made, new = devicearray.auto_device(out)
    assert new and (made.copy_to_host() == out).all()


# --- what host and device share ---


@pytest.mark.parametrize("make", [cuda.mapped_array, cuda.managed_array])
def test_arrays_that_both_see(make):
    m = make((3, 4), np.float32, order="F")
    assert isinstance(m, np.ndarray) and m.strides == (4, 12)
    assert type(m) in (cuda.MappedNDArray, cuda.ManagedNDArray)
    m[:] = 1
    double2[(1, 1), (4, 4)](m)
    cuda.synchronize()
    assert (m == 2).all()
    assert (m.copy_to_host() == 2).all() and type(m.copy_to_host()) is np.ndarray
    m.copy_to_device(np.full((3, 4), 5, np.float32))
    assert (m == 5).all()
    assert cuda.is_cuda_array(m) and cuda.to_device(m) is m
    seen = cuda.as_cuda_array(m)
    seen[0, 0] = 8
    assert m[0, 0] == 8 and m[1:].alloc_size == m[1:].gpu_data.size
    assert type(m + 1) is np.ndarray and type(m.sum()) is np.float32
    was = m
    m += 1
    assert m is was and m[0, 0] == 9 and type(np.add(m, 1, out=np.zeros((3, 4)))) is np.ndarray
    assert type(np.add(np.zeros((3, 4)), 1, out=m)) is type(was)
    assert m.is_f_contiguous() and not m.is_c_contiguous()
    assert cuda.mapped_array_like(m).strides == m.strides
    assert cuda.mapped_array(2, portable=True, wc=True).dtype == np.float64
    assert cuda.managed_array(2, attach_global=False).shape == (2,)


def test_pinned():
    p, a = cuda.pinned_array((2, 3), np.int32), np.ones((2, 3))
    assert type(p) is np.ndarray and p.shape == (2, 3) and p.flags.writeable
    assert cuda.pinned_array_like(np.asfortranarray(p)).strides == (4, 8)
    with cuda.pinned(a, np.zeros(3)) as nothing:
        assert nothing is None
        assert (cuda.to_device(a).copy_to_host() == 1).all()
    if cuda.is_emulated():
        with cuda.pinned(p):
            assert cuda.to_device(p).shape == p.shape
    with pytest.raises(TypeError, match="argument 2 is a list"):
        with cuda.pinned(p, [1]):
            pass


def test_mapped():
    a, b = np.arange(4.0), np.arange(3.0)
    with cuda.mapped(a) as d:
        double[1, 4](d)
        assert type(d) is cuda.DeviceNDArray
    assert (a == [0, 2, 4, 6]).all()
    with pytest.raises(ValueError, match="has ended"):
        d.copy_to_host()
    with pytest.raises(ValueError, match="has ended"):
        double[1, 4](d)
    with cuda.mapped(a, b, stream=cuda.stream()) as ds:
        assert [len(d) for d in ds] == [4, 3]
    with pytest.raises(ZeroDivisionError):
        with cuda.mapped(a) as d:
            1 / 0
    with pytest.raises(ValueError, match="has ended"):
        d.shape
    with pytest.raises(TypeError, match="DeviceNDArray"):
        with cuda.mapped(cuda.to_device(a)):
            pass


# --- other packages' arrays ---


class Foreign:
    """An object of another package, which keeps its memory."""

    def __init__(self, array, **more):
        self.array = array
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "strides": array.strides,
            "data": (array.__array_interface__["data"][0], False),
            "typestr": array.dtype.str,
            "version": 3,
            **more,
        }


def test_the_cuda_array_interface_out():
    d = cuda.to_device(np.arange(12, dtype=np.float32).reshape(3, 4))
    desc = d.__cuda_array_interface__
    at = d.device_ctypes_pointer.value
    assert desc == {
        "shape": (3, 4), "strides": None, "data": (at, False), "typestr": "<f4", "version": 3,
        "stream": None if cuda.is_emulated() else 1,
    }  # fmt: skip
    part = d[1:, ::2].__cuda_array_interface__
    assert part["strides"] == (16, 8) and part["data"] == (at + 16, False)
    assert cuda.device_array(0).__cuda_array_interface__["data"] == (0, False)
    s = cuda.stream()
    assert d.bind(s).__cuda_array_interface__["stream"] == (None if cuda.is_emulated() else int(s))
    assert cuda.to_device(np.zeros(2, POINT)).__cuda_array_interface__["descr"] == POINT.descr
    assert cuda.is_cuda_array(d) and not cuda.is_cuda_array(np.zeros(3))


@pytest.mark.parametrize("name", [n for n in LAYOUTS if n not in ("no axes", "broadcast")])
def test_the_cuda_array_interface_in(name):
    a = seen(LAYOUTS[name])
    view = a[::-1] if name == "backward" else a
    obj = Foreign(view)
    for d in (
        cuda.as_cuda_array(obj),
        cuda.to_device(obj),
        cuda.from_cuda_array_interface(obj.__cuda_array_interface__, obj),
    ):
        assert (d.shape, d.dtype) == (view.shape, view.dtype) and (d.size == 0 or d.strides == view.strides)
        assert (d.copy_to_host() == view).all()
        if d.size:
            d[(0,) * d.ndim] = 77
            assert view[(0,) * d.ndim] == 77
    again = cuda.as_cuda_array(Foreign(seen(np.zeros((3, 4))), strides=None))
    assert again.strides == (32, 8)
    assert cuda.as_cuda_array(again) is again


def test_the_cuda_array_interface_keeps_the_owner():
    obj = Foreign(seen(np.arange(1000.0)))
    there = weakref.ref(obj)
    part = cuda.as_cuda_array(obj)[5:7]
    del obj
    gc.collect()
    assert there() is not None and part.copy_to_host().tolist() == [5, 6]
    del part
    gc.collect()
    assert there() is None


def test_kernels_take_other_packages_arrays():
    obj = Foreign(seen(np.arange(4.0)))
    double[1, 4](obj)
    cuda.synchronize()
    assert obj.array.tolist() == [0, 2, 4, 6]
    fixed = Foreign(seen(np.arange(4.0)))
    fixed.__cuda_array_interface__["data"] = (fixed.__cuda_array_interface__["data"][0], True)
    with pytest.raises(treadle.TypingError, match="read-only"):
        double[1, 4](fixed)
    assert cuda.as_cuda_array(fixed).copy_to_host().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"mask": np.ones(4, bool)}, NotImplementedError, "mask"),
        ({"stream": 0}, ValueError, "stream of 0"),
        pytest.param({"stream": 12345}, ValueError, "stream 12345", marks=pytest.mark.emulated),
        ({"strides": (8, 8)}, ValueError, "another length"),
        ({"typestr": "|O"}, ValueError, "items are object"),
        ({"shape": (2**70,)}, ValueError, "not an array of a device"),
        ({"strides": (-(2**62),)}, ValueError, "not an array of a device"),
        ({"data": (2**64, False)}, ValueError, "not an array of a device"),
        ({"data": (-1, False)}, ValueError, "no memory lies"),
        ({"version": "3"}, ValueError, "not a __cuda_array_interface__"),
        ({"stream": "x"}, ValueError, "not a __cuda_array_interface__"),
        ({"strides": ("x",)}, ValueError, "not a __cuda_array_interface__"),
        ({"typestr": 3.5}, ValueError, "not a __cuda_array_interface__"),
        ({"shape": (-1,)}, ValueError, "shape"),
        ({"data": (0, False)}, ValueError, "address 0"),
        ({"data": (64, False)}, ValueError, NOT_SEEN),
        ({"shape": (2**40,)}, ValueError, NOT_SEEN),
        (
            {"data": FREED},
            ValueError,
            "was freed, or is less",
        ),
        ({"data": None}, ValueError, "not a __cuda_array_interface__"),
    ],
)
def test_the_cuda_array_interface_refuses(change, error, message):
    array = seen(np.zeros(4))
    if change.get("data") is FREED:
        change = {"data": (cuda.device_array(1).gpu_data.device_pointer_value, False)}
    with pytest.raises(error, match=message):
        cuda.as_cuda_array(Foreign(array, **change))


def test_streams_of_the_cuda_array_interface():
    a = seen(np.zeros(4))
    for stream in (None, 1, 2, int(s := cuda.stream())):
        assert cuda.as_cuda_array(Foreign(a, stream=stream)).shape == (4,)
    s.synchronize()
    assert cuda.as_cuda_array(Foreign(a, stream=12345), sync=False).shape == (4,)
    assert cuda.as_cuda_array(Foreign(a, stream=0, version=2)).shape == (4,)
    with pytest.raises(TypeError, match="list has no __cuda_array_interface__"):
        cuda.as_cuda_array([1])


@pytest.mark.emulated  # test_cuda_gpu.py has the GPU's
def test_dlpack():
    d = cuda.to_device(np.arange(12.0).reshape(3, 4))
    assert d.__dlpack_device__() == (1, 0)
    seen = np.from_dlpack(d[1:, ::2])
    assert (seen == [[4, 6], [8, 10]]).all()
    d[1, 0] = 99
    assert seen[0, 0] == 99
    del d
    gc.collect()
    assert seen[0, 0] == 99
    a = np.arange(4.0)
    mine = cuda.from_dlpack(a)
    double[1, 4](mine)
    assert a.tolist() == [0, 2, 4, 6] and cuda.from_dlpack(mine) is mine
    fixed = np.arange(3.0)
    fixed.flags.writeable = False
    with pytest.raises(treadle.TypingError, match="read-only"):
        double[1, 4](cuda.from_dlpack(fixed))

    class Other:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    double[1, 4](cuda.from_dlpack(Other(a)))
    assert a.tolist() == [0, 4, 8, 12]
    with pytest.raises(BufferError):
        cuda.to_device(np.zeros(2, POINT)).__dlpack__()
    with pytest.raises(TypeError, match="list has no __dlpack__"):
        cuda.from_dlpack([1])

    class OnAGPU:
        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, **options):
            raise AssertionError("not asked")

    with pytest.raises(BufferError, match="kind 2"):
        cuda.from_dlpack(OnAGPU())


# --- which way arguments go ---


def test_which_way():
    for way, host in ((cuda.In, [0, 1, 2, 3]), (cuda.InOut, [0, 2, 4, 6])):
        a = np.arange(4.0)
        double[1, 4](way(a))
        assert a.tolist() == host
    a = np.arange(4.0)

    @cuda.jit
    def fill(x):
        x[cuda.grid(1)] = 5

    fill[1, 4](cuda.Out(a))
    assert (a == 5).all()
    d = cuda.to_device(a)
    double[1, 4](cuda.In(d))  # on the device it is one array
    assert d[0] == 10
    assert repr(cuda.In(a)) == f"In({a!r})"
    with pytest.raises(TypeError, match="takes an array or a record, not list"):
        cuda.Out([1])


# --- other ways in ---


def test_on_a_small_stack():
    a = np.arange(64.0)

    def all_of_it():
        d = cuda.to_device(a)
        double[1, 64](d)
        d[:4].reshape(2, 2)[1] = 7
        return d.copy_to_host()

    assert (on_stack(64, all_of_it)[4:] == a[4:] * 2).all()


def test_threads_that_copy_at_once():
    found = []

    def work(k):
        for _ in range(30):
            d = cuda.to_device(np.full(100, float(k)))
            double[1, 100](d)
            found.append((d[10:].copy_to_host() == 2 * k).all())

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [True] * 120
