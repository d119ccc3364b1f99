"""`__dlpack_c_exchange_api__`, DLPack's table for C: that of device arrays, and launches with arrays of a type that has one."""

from __future__ import annotations

import ctypes as c
import gc
import mmap
import os
import sys
import weakref

import exchange
import numpy as np
import pytest
from exchange import Foreign, Tensor, Versioned, foreign_table, table_at, table_of, told
from treadle import cuda
from treadle.errors import TypingError

EMULATED = cuda.is_emulated()
OURS = 1 if EMULATED else 2
TABLE = table_of(cuda.DeviceNDArray)
FACTS = np.arange(24.0).reshape(2, 3, 4)
MANY = 1000


@cuda.jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


@cuda.jit
def first(x, out):
    out[0] = x[0]


def address(d):
    return d.__cuda_array_interface__["data"][0]


def look(d):
    t = Tensor()
    assert TABLE.look(d, t) == 0
    return t


def refs(d):
    """References to an array's memory; an assertion of pytest's that looked itself would be one more."""
    return sys.getrefcount(d._mem)


def give(d):
    out = c.POINTER(Versioned)()
    assert TABLE.give(d, out) == 0
    return out


def made(t):
    out = c.py_object()
    assert TABLE.make(t, out) == 0
    d = out.value
    c.pythonapi.Py_DecRef(out)  # `value` has one of its own
    return d


def foreign(d, **more):
    """One over a device array's memory, as another package might have it."""
    return like(Foreign, d, **more)


def like(cls, d, **more):
    strides = [s // d.dtype.itemsize for s in d.strides]
    return cls(d, OURS, address(d), d.shape, strides, d.dtype, **more)


def asked():
    """How often arrays of others were looked at, and given."""
    return told.looks, told.gives


@pytest.fixture(autouse=True)
def nothing_is_left():
    told.looks = told.gives = told.streams = 0
    told.stream = None
    yield
    gc.collect()
    assert told.alive == 0


# --- ours -------------------------------------------------------------------------------------------------------------


def test_the_table():
    assert (TABLE.major, TABLE.minor, TABLE.older) == (1, 3, None)
    assert table_of(type(cuda.to_device(FACTS)[0])).major == 1
    assert not hasattr(cuda.MappedNDArray, "__dlpack_c_exchange_api__")


@pytest.mark.parametrize(
    "index", [..., 0, (slice(None), 1), (..., slice(None, None, 2)), (..., slice(None, None, -1))]
)
def test_a_look(index):
    d = cuda.to_device(FACTS)
    v = d[index]
    strides = tuple(s // 8 for s in v.strides)
    for _ in range(2):
        t = look(v)
        assert t.told() == (address(v), v.shape, strides, ("f", 64)) and (t.kind, t.id, t.lanes) == (
            OURS,
            0,
            1,
        )
    assert look(d).told()[2] == (12, 4, 1) and t.told()[2] == strides  # each has its own


@pytest.mark.parametrize("name", ["b1", "i1", "u2", "i4", "u8", "f2", "f4", "c8", "c16"])
def test_items(name):
    d = cuda.device_array(3, name)
    t = look(d)
    size = np.dtype(name).itemsize
    assert t.told()[1:] == ((3,), (1,), (name[0], size * 8))
    e = made(give(d))
    assert e.dtype == np.dtype(name) and address(e) == address(d)


def test_no_axes_and_no_items():
    t = look(cuda.to_device(np.array(3.0)))
    assert t.ndim == 0 and not t.shape and not t.strides
    t = look(cuda.device_array((0, 3)))
    assert t.data is None and t.told()[1] == (0, 3)


def read_only(d):
    d = d.bind()
    d._mem = d._mem.view()
    d._mem.flags.writeable = False
    return d


def test_a_read_only_array():
    """A tensor that is looked at has no flags, one that is given has."""
    d = cuda.to_device(FACTS)
    with pytest.raises(BufferError, match="read-only"):
        TABLE.look(read_only(d), Tensor())
    for of, flags in ((read_only(d), 1), (d, 0)):
        t = give(of)
        assert t[0].flags == flags and (t[0].major, t[0].minor) == (1, 3)
        e = made(t)
        assert e._mem.flags.writeable == (flags == 0)


def test_what_cannot_be_told():
    for bad, said in (
        (cuda.to_device(np.zeros(2, [("x", "f8")])), "no type"),
        (cuda.to_device(np.zeros(2, ">f8")), "no type"),
        (cuda.to_device(np.zeros(4, "c16")).view("f8")[::1].view("i8")[:0], None),
    ):
        for ask, out in ((TABLE.look, Tensor()), (TABLE.give, c.POINTER(Versioned)())):
            if said is None:
                assert ask(bad, out) == 0
                if out and ask is TABLE.give:
                    out[0].deleter(out)
                continue
            with pytest.raises(BufferError, match=said):
                ask(bad, out)
            assert not getattr(out, "shape", None) and not (ask is TABLE.give and out)
    with pytest.raises(TypeError):
        TABLE.look(3, Tensor())
    with cuda.mapped(np.zeros(3)) as d:
        pass
    with pytest.raises(ValueError, match="has ended"):
        TABLE.look(d, Tensor())


def test_the_work_of_a_bound_stream_is_done():
    """On the emulated device, whose consumers have no stream to wait for."""
    s = cuda.stream()
    d = cuda.to_device(np.ones(4096)).bind(s)
    for _ in range(20):
        double[64, 64, s](d)
    t = look(d)
    if EMULATED:
        assert (
            np.ctypeslib.as_array(c.cast(t.data, c.POINTER(c.c_double)), (4096,)).tolist() == [2.0**20] * 4096
        )
    s.synchronize()


def test_nothing_leaks():
    d = cuda.to_device(FACTS)
    gone = weakref.ref(d._mem)
    before = sys.getrefcount(d), sys.getrefcount(d._mem)
    for _ in range(MANY):
        look(d)
        t = give(d)
        t[0].deleter(t)
        e = made(give(d))
        assert e.shape == d.shape
    del e
    assert (sys.getrefcount(d), sys.getrefcount(d._mem)) == before
    t = give(d)
    del d
    assert gone() is not None
    t[0].deleter(t)
    assert gone() is None


class Blocks(c.Structure):
    """What the C library says of its memory (mallinfo2(3)); the eighth are bytes in use."""

    _fields_ = [("sizes", c.c_size_t * 10)]


@pytest.mark.skipif("TREADLE_SANITIZED" in os.environ, reason="memory is the sanitizer's")
def test_memory_is_given_back():
    """Room for strides when the array dies, and tensors, whose memory is C's."""
    libc = c.CDLL(None)
    libc.mallinfo2.restype = Blocks

    def rounds(n):
        for _ in range(n):
            look(cuda.device_array(3))
            t = allocated((3,))
            t[0].deleter(t)
            e = made(allocated((3,)))
            assert e.shape == (3,)
        del e
        gc.collect()
        return libc.mallinfo2().sizes[7]

    before = rounds(MANY)
    assert rounds(MANY) - before < 16 * MANY


def allocated(shape, code=2, bits=64, kind=OURS, number=0, errors=None):
    sizes = (c.c_int64 * len(shape))(*shape)
    like = Tensor(None, kind, number, len(shape), code, bits, 1, sizes, None, 0)
    out = c.POINTER(Versioned)()
    said = exchange.ERROR(lambda context, kind, text: errors.append((context, kind.decode(), text.decode())))
    r = TABLE.allocate(like, out, 77, said)
    assert r == (0 if out else -1)
    return out


def test_room_for_others():
    t = allocated((2, 3), 0, 32)
    assert t[0].t.told()[1:] == ((2, 3), (3, 1), ("i", 32)) and t[0].flags == 0 and t[0].t.kind == OURS
    d = made(t)
    d[:] = 7
    assert d.copy_to_host().tolist() == [[7] * 3] * 2 and d.dtype == np.int32
    t = allocated((0,))
    assert t[0].t.data is None
    t[0].deleter(t)


@pytest.mark.parametrize(
    "given, kind, said",
    [
        ({"shape": (1 << 55,)}, "MemoryError", ""),
        ({"shape": (-1,)}, "ValueError", "negative"),
        ({"shape": (3,), "code": 4}, "BufferError", "DLPack's type 4"),
        ({"shape": (3,), "bits": 24}, "TypeError", ""),
        ({"shape": (3,), "kind": 8}, "BufferError", "kind 8"),
        ({"shape": (3,), "number": 1}, "BufferError", "device 1"),
    ],
)
def test_no_room(given, kind, said):
    """The reason goes to who asks, in words, and no exception is left behind."""
    errors = []
    assert not allocated(errors=errors, **given)
    ((context, name, text),) = errors
    assert context == 77 and name == kind and said in text
    assert sys.exc_info() == (None, None, None)


def test_a_tensor_that_is_not_taken_stays_its_owners():
    d = cuda.to_device(FACTS)

    def changed(**what):
        t = give(d)
        for name, value in what.items():
            setattr(t[0] if name in ("major", "flags") else t[0].t, name, value)
        return t

    for what, said in (
        ({"major": 2}, "version 2.3"),
        ({"kind": 8}, "kind 8"),
        ({"code": 4}, "type 4"),
        ({"lanes": 2}, "2 together"),
        ({"bits": 3}, "3 bits"),
        ({"kind": 3 - OURS}, "kind"),
    ):
        before = refs(d)
        t = changed(**what)
        with pytest.raises(BufferError, match=said):
            TABLE.make(t, c.py_object())
        assert refs(d) == before + 1
        t[0].deleter(t)
        assert refs(d) == before


def test_a_tensor_of_others():
    """It is given back when the array is gone, at once where there are no items."""
    theirs = table_of(Foreign)
    out = c.POINTER(Versioned)()
    d = cuda.to_device(FACTS)
    assert theirs.give(foreign(d), out) == 0
    e = made(out)
    assert told.alive == 1 and np.array_equal(e.copy_to_host(), FACTS)
    part = e[1]
    del e
    assert told.alive == 1 and np.array_equal(part.copy_to_host(), FACTS[1])
    del part
    assert told.alive == 0
    assert theirs.give(foreign(cuda.device_array((0, 2))), out) == 0
    assert made(out).shape == (0, 2) and told.alive == 0


def test_the_current_stream():
    out = c.c_void_p(5)
    for kind in (1, 2):
        assert TABLE.stream(kind, 0, out) == 0 and out.value is None
    for kind, number in ((2, 1), (8, 0)):
        with pytest.raises(BufferError, match="no streams"):
            TABLE.stream(kind, number, out)


# --- those of others --------------------------------------------------------------------------------------------------


def test_a_launch_takes_them():
    d = cuda.to_device(np.arange(8.0))
    x = foreign(d)
    for _ in range(3):
        double[1, 8](x)
    assert d.copy_to_host().tolist() == [8.0 * k for k in range(8)]
    assert asked() == (3, 0) and told.streams == (0 if EMULATED else 3)
    double[1, 8](foreign(d[::2]))
    double[1, 8](foreign(d[::-1]))
    double[1, 8](foreign(d[:0]))
    assert d.copy_to_host().tolist() == [k * (32 if k % 2 == 0 else 16) for k in range(8)]


def test_nothing_leaks_by_launches():
    x = foreign(cuda.to_device(np.zeros(8)))
    table_capsule = Foreign.__dlpack_c_exchange_api__

    def refs():
        return sys.getrefcount(x), sys.getrefcount(table_capsule)

    before = refs()
    for _ in range(MANY):
        double[1, 8](x)
    assert refs() == before


def test_beside_other_arguments():
    host, d = np.zeros(1), cuda.to_device(np.arange(3.0) + 5)
    first[1, 1](foreign(d), host)
    assert host[0] == 5
    out = cuda.to_device(np.zeros(1))
    first[1, 1](foreign(d[1:]), out)
    first[1, 1](d, foreign(d[2:]))
    assert out[0] == 6 and d[2] == 5


def test_read_only_ones():
    d, out = cuda.to_device(np.arange(3.0) + 5), cuda.to_device(np.zeros(1))
    first[1, 1](foreign(d, readonly=True), out)
    assert out[0] == 5 and asked() == (1, 1) and told.alive == 0
    with pytest.raises(TypingError, match="cannot assign to a read-only array"):
        double[1, 4](foreign(d, readonly=True))
    assert d[0] == 5


def test_on_a_stream_they_are_kept():
    """Where the launch goes on behind the call, the tensor is given back when it has run."""
    s = cuda.stream()
    d = cuda.to_device(np.arange(8.0))
    x = foreign(d)
    double[1, 8, s](x)
    assert asked() == ((0, 1) if EMULATED else (1, 0))
    del x
    s.synchronize()
    cuda.synchronize()
    assert d.copy_to_host().tolist() == [2.0 * k for k in range(8)]


def test_without_a_look():
    class Whole(Foreign):
        pass

    table = foreign_table(without=["look"])
    Whole.__dlpack_c_exchange_api__ = table_at(table)
    d = cuda.to_device(np.arange(8.0))
    double[1, 8](like(Whole, d))
    assert d[7] == 14 and asked() == (0, 1) and told.alive == 0


def test_tables_of_other_versions():
    """A newer one is asked for an older one; what is no table says nothing."""
    newer = foreign_table(2, 0, c.addressof(Foreign.table))
    alone = foreign_table(2, 0)
    d = cuda.to_device(np.arange(8.0))

    class Newer(Foreign):
        __dlpack_c_exchange_api__ = table_at(newer)

    double[1, 8](like(Newer, d))
    assert d[7] == 14

    class Described:
        __cuda_array_interface__ = d.__cuda_array_interface__

    for attribute in (table_at(alone), c.addressof(alone), None, exchange.capsule(1, b"other", None)):
        Described.__dlpack_c_exchange_api__ = attribute
        double[1, 8](Described())
    assert d[7] == 14 * 16


def test_tensors_without_strides():
    """As they were before DLPack 1.2: in order C."""
    d = cuda.to_device(np.arange(6.0))
    x = foreign(d.reshape(2, 3), change={"strides": None})

    @cuda.jit
    def corner(x):
        x[1, 2] = 9

    corner[1, 1](x)
    assert d[5] == 9


def test_what_is_not_taken():
    d = cuda.to_device(np.arange(8.0))
    for change, error, said in (
        ({"code": 4}, BufferError, "type 4"),
        ({"bits": 24}, BufferError, "24 bits"),
        ({"lanes": 4}, BufferError, "4 together"),
        ({"kind": 8}, AssertionError, "it has a table"),  # the package is asked, as of all others
    ):
        with pytest.raises(error, match=said):
            double[1, 8](foreign(d, change=change))
    x = foreign(d)
    x.of.refuses = 2
    with pytest.raises(KeyError, match="not looked at"):
        double[1, 8](x)
    x = foreign(d, readonly=True)
    x.managed.major = 2
    with pytest.raises(BufferError, match="version 2.3"):
        first[1, 1](x, d)
    assert np.array_equal(d.copy_to_host(), np.arange(8.0)) and told.alive == 0


def test_streams_of_others():
    """What the maker put on its own stream comes first: one event for all arrays of a launch, and none for the default stream."""
    if EMULATED:
        return
    fake = c.CDLL(os.environ["TREADLE_CUDA_DRIVER"])
    waits = lambda: fake.fake_calls(b"cuStreamWaitEvent")  # noqa: E731
    d, out = cuda.to_device(np.arange(8.0)), cuda.to_device(np.zeros(1))
    first[1, 1](foreign(d), foreign(out))
    alive = fake.fake_alive()
    theirs = cuda.stream()
    for now, own, more in ((0, None, 0), (1, None, 0), (int(theirs), None, 1), (int(theirs), theirs, 0)):
        told.stream = now
        before = waits()
        (first[1, 1] if own is None else first[1, 1, own])(foreign(d), foreign(out))
        assert waits() - before == more, (now, own)
    s = cuda.stream()
    before = waits()
    first[1, 1, s](foreign(d[3:]), foreign(out))
    assert waits() - before == 1
    s.synchronize()
    assert out[0] == 3
    for symbol in (b"cuEventCreate", b"cuEventRecord", b"cuStreamWaitEvent"):
        fake.fake_fail(symbol, 1, 2 if symbol == b"cuEventCreate" else 1)
        with pytest.raises((MemoryError, cuda.cudadrv.driver.CudaAPIError)):
            first[1, 1](foreign(d), foreign(out))
    del theirs, own, s
    cuda.synchronize()
    assert fake.fake_alive() <= alive


# --- memory that is not there -----------------------------------------------------------------------------------------

PAGE = 4096


class Pages:
    """Three pages of the host's of which nobody may touch the first and the last, and the middle one is as asked."""

    def __init__(self, access=3):
        self.memory = mmap.mmap(-1, 3 * PAGE)
        self.lo = c.addressof(c.c_char.from_buffer(self.memory))
        self.at = self.lo + PAGE
        libc = c.CDLL(None)
        libc.mprotect.argtypes = [c.c_void_p, c.c_size_t, c.c_int]
        for k, how in enumerate((0, access, 0)):
            assert libc.mprotect(self.lo + k * PAGE, PAGE, how) == 0


def by_capsule(versioned):
    def take(at, shape, strides, change, readonly):
        x = exchange.Handed(
            OURS, at, shape, strides, np.float64, versioned, change, readonly if versioned else 0
        )
        try:
            return cuda.from_dlpack(x)
        finally:
            gc.collect()
            x.seen = x.over  # a tensor that was taken is given back where it is refused

    return take


def by_the_table(at, shape, strides, change, readonly):
    """A launch with an array of a type that has a table: by a look, or (read-only) given."""
    x = Foreign(None, OURS, at, shape, strides, np.float64, readonly, change)
    out = cuda.to_device(np.zeros(1))
    if readonly:
        total_of[1, 1](x, out)
    else:
        double_all[1, 1](x)
        cuda.synchronize()


def by_our_table(at, shape, strides, change, readonly):
    """Another package makes an array of ours."""
    x = exchange.Handed(OURS, at, shape, strides, np.float64, True, change, readonly)
    return made(c.pointer(x.given))


def by_the_interface(at, shape, strides, change, readonly):
    if change:
        pytest.skip("it has no such field")
    return cuda.from_cuda_array_interface(
        {
            "shape": shape,
            "strides": None if strides is None else tuple(8 * s for s in strides),
            "data": (at, readonly),
            "typestr": "<f8",
            "version": 3,
        }
    )


WAYS = {
    "capsule": by_capsule(False),
    "versioned": by_capsule(True),
    "table": by_the_table,
    "ours": by_our_table,
    "interface": by_the_interface,
}


@cuda.jit
def double_all(x):
    x[...] *= 2


@cuda.jit
def total_of(x, out):
    out[0] = x.sum()


PLACES = {  # of four items, or as many as are said; from the middle page on
    "nowhere": ({"data": 64}, (4,), (1,)),
    "no address": ({"data": None}, (4,), (1,)),
    "too many": ({}, (2**40,), (1,)),
    "one too many": ({}, (PAGE // 8 + 1,), (1,)),
    "without strides": ({}, (PAGE // 8, 2), None),
    "backwards": ({}, (2,), (-1,)),
    "far": ({}, (2,), (PAGE // 8,)),
    "far back": ({}, (2,), (-(2**40),)),
    "both ways": ({}, (2, 2), (PAGE // 8, -1)),
    "an offset": ({"byte_offset": PAGE}, (4,), (1,)),
    "an offset that goes round": ({"byte_offset": 2**64 - 8}, (4,), (1,)),
    "a large offset": ({"byte_offset": 2**63}, (4,), (1,)),
    "an extent that goes round": ({}, (2**61 + 1,), (1,)),
    "a stride that goes round": ({}, (2,), (2**61,)),
    "a stride that goes round to its begin": ({}, (3,), (2**60,)),
    "sizes that go round": ({}, (2**33, 2**33), (0, 0)),
    "a negative size": ({}, (-1,), (1,)),
    "two negative sizes": ({}, (-2, -2), (2, 1)),
    "no shape": ({"shape": None}, (4,), (1,)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("place", PLACES)
def test_memory_that_is_not_there(way, place):
    """It is refused, whichever way it comes, and the process goes on."""
    if not EMULATED and (way == "table" or place in ("backwards", "both ways", "far")):
        pytest.skip("a GPU says so when the kernel has run; other arrays may lie there")
    change, shape, strides = PLACES[place]
    pages = Pages() if EMULATED else None
    d = cuda.device_array(4)
    at = pages.at if EMULATED else address(d)
    for readonly in (False, True):
        with pytest.raises((BufferError, ValueError)):
            if way == "interface" and "data" in change:
                by_the_interface(change["data"] or 0, shape, strides, {}, readonly)
            else:
                WAYS[way](at, shape, strides, change, readonly)


@pytest.mark.parametrize("way", WAYS)
def test_memory_that_is_there(way):
    """Up to the last item of what may be touched, both ways; nothing lies anywhere."""
    pages = Pages() if EMULATED else None
    n = PAGE // 8
    d = cuda.device_array(n)
    at = pages.at if EMULATED else address(d)
    for first, shape, strides in (
        (at, (n,), (1,)),
        (at + 8 * (n - 1), (n,), (-1,)),
        (at + 8 * (n - 1), (2,), (-(n - 1),)),
        (at + 8 * (n // 2), (2, 2), (n // 2 - 1, -(n // 2))),
        (at, (n // 2, 2), None),
        (at, (3, 5), (0, 0)),
        (at, (), ()),
        (at + 8 * (n - 1), (), None),
        (64, (0, 2**40), (2**62, 2**62)),
    ):
        for readonly in (False, True):
            got = WAYS[way](first, shape, strides, {}, readonly)
            if got is not None and 0 not in shape:
                assert got.shape == shape and address(got) == first
                assert got._mem.flags.writeable == (not readonly or way == "capsule")


@pytest.mark.emulated
@pytest.mark.parametrize("way", WAYS)
def test_memory_that_may_only_be_read(way):
    pages = Pages(access=1)
    with pytest.raises((BufferError, ValueError), match="not the host's"):
        WAYS[way](pages.at, (4,), (1,), {}, False)
    if way != "capsule":  # it cannot say so
        WAYS[way](pages.at, (4,), (1,), {}, True)


@pytest.mark.emulated
def test_memory_that_goes_away_between_launches():
    """What a launch has seen once is not believed for ever."""
    pages = Pages()
    for _ in range(3):
        by_the_table(pages.at, (4,), (1,), {}, False)
    libc = c.CDLL(None)
    libc.munmap.argtypes = [c.c_void_p, c.c_size_t]
    assert libc.munmap(pages.lo, 3 * PAGE) == 0
    with pytest.raises(BufferError, match="not the host's"):
        by_the_table(pages.at, (4,), (1,), {}, False)
    libc.mmap.argtypes, libc.mmap.restype = [c.c_void_p, c.c_size_t] + 3 * [c.c_int] + [c.c_long], c.c_void_p
    assert libc.mmap(pages.lo, 3 * PAGE, 3, 0x32, -1, 0) == pages.lo  # the object unmaps it


def test_a_tensor_that_is_refused_goes_back():
    for versioned in (False, True):
        x = exchange.Handed(OURS, 64, (4,), (1,), np.float64, versioned)
        with pytest.raises(BufferError):
            cuda.from_dlpack(x)
        assert x.over == 1


def test_items_that_no_array_has():
    """By DLPack's letters: a float of 8 bits, a complex of 32, a bool of 16."""
    d = cuda.device_array(4)
    for code, bits in ((2, 8), (5, 32), (6, 16), (0, 24), (0, 0), (2, 248)):
        for versioned in (False, True):
            x = exchange.Handed(
                OURS, address(d), (4,), (1,), np.float64, versioned, {"code": code, "bits": bits}
            )
            with pytest.raises(BufferError):
                cuda.from_dlpack(x)
            assert x.over == 1, (code, bits)
