"""Fourier transforms of arrays on the device against NumPy's, on whatever kernels run on: all kinds, shapes, layouts, streams, and what is refused."""

from __future__ import annotations

import gc
import os
import threading
import warnings
import weakref

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from stream_check import held, in_process
from treadle import cuda
from treadle.cuda import fft as module
from treadle.cuda._order import Order
from treadle.cuda.fft import FFTPlan, fft, fft_inplace, ifft, ifft_inplace
from treadle.errors import PerformanceWarning

ON_EMU = cuda.is_emulated()
if not ON_EMU:
    try:
        module.version()
    except cuda.cudadrv.error.CudaSupportError as error:
        pytest.skip(str(error), allow_module_level=True)
PAIRS = {np.complex64: np.float32, np.complex128: np.float64}
SHAPES = [(1,), (2,), (7,), (12,), (1, 5), (5, 1), (6, 9), (3, 1, 4), (3, 4, 6), (1, 1, 1)]
if ON_EMU:  # the library that stands for cuFFT takes its time
    SHAPES += [(997,), (1024,), (40, 64), (33, 70), (5, 19, 36)]


def numbers(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    return (x if np.dtype(dtype).kind == "c" else x.real).astype(dtype)


def close(got, want):
    tolerance = 3e-6 if got.dtype.itemsize // (2 if got.dtype.kind == "c" else 1) == 4 else 1e-14
    assert got.shape == want.shape
    assert np.abs(got - want).max() <= tolerance * max(np.abs(want).max(), 1) * np.log2(4 + want.size)


def axes_of(shape):
    return tuple(range(-len(shape), 0))


def forward(x, shape):
    f = np.fft.fftn if x.dtype.kind == "c" else np.fft.rfftn
    return f(x.astype(np.result_type(x, np.float64)), axes=axes_of(shape))


def backward(x, shape, real=False):
    wide = x.astype(complex)
    if real:
        return np.fft.irfftn(wide, shape, axes_of(shape), norm="forward")
    return np.fft.ifftn(wide, axes=axes_of(shape), norm="forward")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("c", PAIRS, ids=lambda t: t.__name__)
def test_all_kinds_are_numpys(shape, batch, c, threads):
    full = (batch, *shape) if batch > 1 else shape
    x, r = numbers(full, c), numbers(full, PAIRS[c], 1)
    plan = FFTPlan(shape, c, c, batch)
    d, o = cuda.to_device(x), cuda.device_array(full, c)
    assert plan.forward(d, o) is o
    close(o.copy_to_host(), forward(x, shape))
    plan.inverse(d, o)
    close(o.copy_to_host(), backward(x, shape))
    assert (d.copy_to_host() == x).all()
    half = FFTPlan(shape, PAIRS[c], c, batch)
    close(half.forward(r), forward(r, shape))
    h = forward(r, shape).astype(c)
    if shape[-1] % 2 == 0:
        d = cuda.to_device(h)
        o = cuda.device_array(full, PAIRS[c])
        FFTPlan(h.shape[-len(shape) :], c, PAIRS[c], batch).inverse(d, o)
        close(o.copy_to_host(), backward(h, shape, True))
        assert (d.copy_to_host() == h).all()


def largest_factor(n):
    """The largest prime factor, or a product of what is left."""
    k = 2
    while k * k <= n:
        n, k = (n // k, k) if n % k == 0 and n > k else (n, k + 1)
    return n


@pytest.mark.emulated
@pytest.mark.parametrize("c", PAIRS, ids=lambda t: t.__name__)
def test_rows_of_every_length(c):
    """Those with small factors are done in vectors, others by NumPy's loops; the lanes of a vector do not know of each other."""
    assert largest_factor(169) == 13 and largest_factor(34) == 17
    for n in (*range(1, 70), 121, 143, 169, 1000, 1001, 4096, 8192, 8193, 16384):
        x = numbers((11, n), c, n)
        x[3] *= 1e20
        x[5, 0] = np.nan
        ok = np.array([k != 5 for k in range(11)])
        plan = FFTPlan((n,), c, c, batch=11)
        got, back = plan.forward(x), plan.inverse(x)
        assert np.isnan(got[5]).all()
        for row, a, b in zip(x[ok], got[ok], back[ok]):
            scale = np.abs(row).max()
            close(a / scale, forward(row / scale, (n,)))
            close(b / scale, backward(row / scale, (n,)))
        if largest_factor(n) <= 13 and n <= 8192:
            for few in (3, 8):
                assert (
                    FFTPlan((n,), c, c, batch=few).forward(x[:few])[ok[:few]] == got[:few][ok[:few]]
                ).all()
        r = np.ascontiguousarray(x.real)
        half = FFTPlan((n,), PAIRS[c], c, batch=11).forward(r)
        for row, a in zip(r[ok], half[ok]):
            close(a / np.abs(row).max(), forward(row / np.abs(row).max(), (n,)))


def test_threads_do_not_change_bits():
    x = numbers((40, 64), np.complex64)
    want = FFTPlan((40, 64), np.complex64, np.complex64).forward(x)
    before = treadle.get_num_threads()
    try:
        treadle.set_num_threads(1)
        assert (FFTPlan((40, 64), np.complex64, np.complex64).forward(x) == want).all()
    finally:
        treadle.set_num_threads(before)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=3).map(tuple),
    st.integers(1, 3),
    st.sampled_from(list(PAIRS)),
    st.integers(0, 99),
)
def test_there_and_back(shape, batch, c, seed):
    x = numbers((batch, *shape), c, seed)
    plan = FFTPlan(shape, c, c, batch)
    d = cuda.to_device(x)
    plan.forward(d, d)
    plan.inverse(d, d)
    close(d.copy_to_host(), x * np.prod(shape))
    r = numbers((batch, *shape[:-1], 2 * shape[-1]), PAIRS[c], seed)
    h = FFTPlan(r.shape[1:], PAIRS[c], c, batch).forward(r)
    assert h.shape == (batch, *shape[:-1], shape[-1] + 1)
    back = FFTPlan(h.shape[1:], c, PAIRS[c], batch).inverse(h)
    close(back, r * np.prod(r.shape[1:]))


def test_imaginary_parts_that_would_be_0_are_not_looked_at():
    h = forward(numbers(8, np.float64), (8,))
    want = np.empty(8)
    ifft(h, want)
    h[0] += 5j
    h[-1] += 7j
    got = ifft(h, np.empty(8))
    close(got, want)


def test_an_odd_number_of_real_items():
    r = numbers((4, 7), np.float64)
    h = fft(r, np.empty((4, 4), complex))
    close(h, np.fft.rfft2(r))
    close(ifft(h, np.empty((4, 7))), r * 28)


# --- arrays ---


def layouts(x):
    big = np.zeros((*(2 * n for n in x.shape),), x.dtype)
    gaps = big[tuple(slice(None, None, 2) for _ in x.shape)]
    gaps[...] = x
    back = np.ascontiguousarray(x[::-1])[::-1]
    raw = np.zeros(x.nbytes + 1, np.uint8)
    loose = raw[1:].view(x.dtype).reshape(x.shape)
    loose[...] = x
    return {"C": x.copy(), "F": np.asfortranarray(x), "gaps": gaps, "back": back, "loose": loose}


@pytest.mark.parametrize(
    ("there", "way"),
    [*((False, way) for way in ("C", "F", "gaps", "back", "loose")), (True, "C"), (True, "F")],
)
@pytest.mark.parametrize("on_stream", [False, True])
def test_arrays_in_any_layout(way, there, on_stream):
    x = numbers((6, 4), np.complex64)
    stream = cuda.stream() if on_stream else 0
    ary, out = layouts(x)[way], layouts(np.zeros_like(x))[way]
    if there:
        ary, out = cuda.to_device(ary), cuda.to_device(out)
    assert fft(ary, out, stream) is out
    if stream:
        stream.synchronize()
    close(out.copy_to_host() if there else out, forward(x, x.shape))
    assert ((ary.copy_to_host() if there else ary) == x).all()
    assert ifft_inplace(ary, stream) is ary
    if stream:
        stream.synchronize()
    close(ary.copy_to_host() if there else ary, backward(x, x.shape))


def test_views_of_arrays_of_the_device():
    x = numbers((6, 8), np.complex128)
    d = cuda.to_device(x)
    o = cuda.to_device(np.zeros((6, 8), complex))
    fft(d[:, ::2], o[:, 1::2])
    got = o.copy_to_host()
    close(got[:, 1::2], np.fft.fft2(x[:, ::2]))
    assert not got[:, ::2].any()
    fft_inplace(d[1:4])
    close(d.copy_to_host()[1:4], np.fft.fft2(x[1:4]))
    assert (d.copy_to_host()[4:] == x[4:]).all()


def test_arrays_that_overlap():
    x = numbers(20, np.complex128)
    d = cuda.to_device(x)
    fft(d[:12], d[5:17])
    got = d.copy_to_host()
    close(got[5:17], np.fft.fft(x[:12]))
    assert (got[:5] == x[:5]).all() and (got[17:] == x[17:]).all()
    r = np.arange(12.0)
    both = np.empty(14)
    both[:12] = r
    fft(both[:12], both.view(complex))
    close(both.view(complex), np.fft.rfft(r))


def test_what_lies_beyond_is_left_alone():
    x = numbers(40, np.complex64)
    out = np.full(40, 7, np.complex64)
    plan = FFTPlan((4, 4), np.complex64, np.complex64, batch=2)
    plan.forward(x, out)
    close(out[:32].reshape(2, 4, 4), forward(x[:32].reshape(2, 4, 4), (4, 4)))
    assert (out[32:] == 7).all()
    tall = numbers((9, 4), np.complex64)
    o = np.asfortranarray(np.full((9, 4), 7, np.complex64))
    FFTPlan((4, 4), np.complex64, np.complex64).forward(np.asfortranarray(tall), o)
    close(o[:4], np.fft.fft2(tall[:4]))
    assert (o[4:] == 7).all()


def test_results_of_their_own():
    x = numbers((3, 8), np.float32)
    got = FFTPlan((8,), np.float32, np.complex64, batch=3).forward(cuda.to_device(x))
    assert type(got) is np.ndarray and got.shape == (3, 5)
    close(got, forward(x, (8,)))
    assert FFTPlan((8,), np.float32, np.complex64, batch=3).forward(x.ravel()).shape == (3, 5)
    stream = cuda.stream()
    close(FFTPlan((8,), np.float32, np.complex64, batch=3, stream=stream).forward(x), forward(x, (8,)))


def test_arrays_that_host_and_device_share():
    x = numbers((4, 6), np.complex64)
    for make in (cuda.mapped_array, cuda.managed_array, cuda.pinned_array):
        m = make((4, 6), np.complex64)
        m[...] = x
        fft_inplace(m)
        cuda.synchronize()
        close(np.asarray(m), np.fft.fft2(x))


# --- streams ---


@pytest.mark.parametrize("real", [False, True])
def test_a_transform_comes_in_the_order_of_its_stream(real):
    c, of = np.complex64, np.float32 if real else np.complex64
    x = numbers((4, 8), of)
    stream, d = cuda.stream(), cuda.to_device(np.zeros_like(x))
    o = cuda.device_array((4, 5 if real else 8), c)
    plan = FFTPlan((8,), of, c, batch=4, stream=stream)
    plan.forward(d, o)  # a library may load code at its first use, which waits for the device
    stream.synchronize()
    mine = cuda.pinned_array(x.shape, x.dtype)
    mine[...] = x
    with held(stream):
        d.copy_to_device(mine, stream)
        plan.forward(d, o)
    stream.synchronize()
    close(o.copy_to_host(), forward(x, (8,)))


def test_what_a_transform_uses_lives_as_long():
    x = numbers((64,), np.complex128)
    stream, o = cuda.stream(), cuda.device_array(64, complex)
    d = cuda.to_device(x)
    plan = FFTPlan((64,), complex, complex, stream=stream)
    plan.forward(d, o)
    stream.synchronize()
    gone = weakref.ref(d)
    with held(stream):
        plan.forward(d, o)
        module._plans.made.clear()
        del d, plan
        gc.collect()
        assert gone() is None
        others = [cuda.to_device(np.zeros(64, complex), stream=cuda.stream()) for _ in range(3)]
    stream.synchronize()
    close(o.copy_to_host(), np.fft.fft(x))
    assert len(others) == 3


def test_one_plan_on_several_streams():
    x = [numbers((3, 16), np.complex64, k) for k in range(4)]
    plan = FFTPlan((16,), np.complex64, np.complex64, batch=3)
    streams, made = [cuda.stream() for _ in x], []
    for s, a in zip(streams, x):
        plan.stream = s
        d = cuda.to_device(a, stream=s)
        plan.forward(d, d)
        made.append(d)
    for s, d, a in zip(streams, made, x):
        s.synchronize()
        close(d.copy_to_host(), forward(a, (16,)))


@pytest.mark.emulated
def test_one_plan_in_several_threads():
    plan = FFTPlan((6, 16), np.complex64, np.complex64)
    wrong = []

    def work(seed):
        x = numbers((6, 16), np.complex64, seed)
        want = forward(x, (6, 16))
        for _ in range(50):
            try:
                close(plan.forward(x), want)
                close(fft(x, np.empty_like(x)), want)
            except AssertionError as error:
                wrong.append(error)

    all_of_them = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in all_of_them:
        t.start()
    for t in all_of_them:
        t.join()
    assert not wrong


# --- plans ---


def test_attributes():
    plan = FFTPlan((4, 6), np.float32, np.complex64, batch=2)
    assert (plan.shape, plan.ishape, plan.oshape, plan.batch) == ((4, 6), (4, 6), (4, 4), 2)
    assert (plan.direction, plan.operation, plan.stream) == ("forward", 0x2A, 0)
    plan = FFTPlan([4, 4], np.complex128, "f8", mode=FFTPlan.MODE_NATIVE)
    assert (plan.shape, plan.ishape, plan.oshape) == ((4, 6), (4, 4), (4, 6))
    assert (plan.direction, plan.operation, plan.mode) == ("inverse", 0x6C, 0)
    assert FFTPlan(5, complex, complex).direction == "both"
    assert FFTPlan((4,), treadle.float32, treadle.complex64).otype == np.complex64


def test_plans_are_kept_and_only_so_many():
    module._plans.made.clear()
    first = FFTPlan((4,), complex, complex)._core
    assert FFTPlan((4,), complex, complex)._core is first
    assert FFTPlan((4,), complex, complex, 2)._core is not first
    for n in range(5, 5 + module._PLANS):
        FFTPlan((n,), complex, complex)
        assert FFTPlan((4,), complex, complex)._core is first  # it was used
    assert len(module._plans.made) == module._PLANS
    for n in range(5, 5 + module._PLANS):
        FFTPlan((n,), complex, complex)
    assert FFTPlan((4,), complex, complex)._core is not first
    theirs = []
    t = threading.Thread(target=lambda: theirs.append(FFTPlan((4,), complex, complex)._core))
    t.start()
    t.join()
    assert theirs[0] is not FFTPlan((4,), complex, complex)._core


TURNS = [
    ((6,), "c8", "c8"),
    ((4,), "c8", "c8"),
    ((4,), "c16", "c16"),
    ((2, 2), "c8", "c8"),
    ((4,), "f4", "c8"),
    ((5,), "f8", "c16"),
]


@pytest.mark.parametrize("there", [False, True])
def test_functions_in_turns(there):
    """The plan that a function used last is tried first, and is none for arrays of any other kind."""
    made = []
    for shape, source, target in TURNS:
        x = numbers(int(np.prod(shape)), np.dtype(source)).reshape(shape)
        real = x.dtype.kind == "f"
        y = np.empty((*shape[:-1], shape[-1] // 2 + 1) if real else shape, target)
        made.append((x, y, x if real else np.empty_like(x), np.fft.rfftn(x) if real else np.fft.fftn(x)))
    order = [(a, b) for a in range(len(made)) for b in range(len(made))]
    for k in (k for pair in order for k in pair):
        x, y, back, want = made[k]
        source = cuda.to_device(x) if there else x.copy()
        out, last = (cuda.to_device(y), cuda.to_device(back)) if there else (y, np.empty_like(back))
        assert fft(source, out) is out and ifft(out, last) is last
        got = [a.copy_to_host() if there else a for a in (out, last)]
        np.testing.assert_allclose(got[0], want, rtol=2e-5, atol=2e-5)
        np.testing.assert_allclose(got[1], x * x.size, rtol=2e-5, atol=2e-5)
    real, pairs = np.ones(4, np.float32), np.ones(3, np.complex64)
    assert fft(real, pairs) is pairs and ifft(pairs, real) is real
    with pytest.raises(TypeError, match="Invalid operation"):
        ifft(real, pairs)
    with pytest.raises(TypeError, match="Invalid operation"):
        fft(pairs, real)


def test_plans_are_given_back():
    plan = FFTPlan((11,), complex, complex)
    gone = []
    weakref.finalize(plan, gone.append, 1)
    del plan
    gc.collect()
    assert gone


# --- what is refused ---

REFUSED = {
    "types": (lambda: FFTPlan((4,), np.float32, np.float32), ValueError, "Invalid type combination: .* float32 to float32"),
    "widths": (lambda: FFTPlan((4,), np.float64, np.complex64), ValueError, "Invalid type combination"),
    "axes": (lambda: FFTPlan((2, 2, 2, 2), complex, complex), ValueError, "one to three axes, and the shape .* has 4"),
    "no axes": (lambda: FFTPlan((), complex, complex), ValueError, "has 0"),
    "size 0": (lambda: FFTPlan((3, 0), complex, complex), ValueError, "sizes are at least 1"),
    "half of nothing": (lambda: FFTPlan((3, 1), complex, float), ValueError, "complex items along the last axis 2"),
    "no batch": (lambda: FFTPlan((3,), complex, complex, 0), ValueError, "0 transforms of a Fourier"),
    "a size": (lambda: FFTPlan((2.5,), complex, complex), TypeError, "float"),
    "too many": (lambda: FFTPlan((1 << 40, 1 << 40), complex, complex), ValueError, "more items than there are addresses"),
    "a stream": (lambda: FFTPlan((4,), complex, complex, stream=5), TypeError, "a stream is made by cuda.stream"),
    "forward": (lambda: FFTPlan((4,), complex, float).forward(np.ones(4, complex)), TypeError, "Invalid operation"),
    "inverse": (lambda: FFTPlan((4,), float, complex).inverse(np.ones(4)), TypeError, "Invalid operation"),
    "no array": (lambda: FFTPlan((4,), complex, complex).forward([1, 2, 3, 4]), TypeError, "not list"),
    "dtype": (lambda: FFTPlan((4,), complex, complex).forward(np.ones(4)), ValueError, "input array dtype: float64, .* complex128"),
    "order of bytes": (lambda: FFTPlan((4,), complex, complex).forward(np.ones(4, ">c16")), ValueError, "input array dtype"),
    "too small": (lambda: FFTPlan((4,), complex, complex).forward(np.ones(3, complex)), ValueError, r"input array shape: \(3,\), .* 1 times \(4,\)"),
    "rows": (lambda: FFTPlan((4, 4), complex, complex).forward(np.ones((4, 5), complex)), ValueError, "input array shape"),
    "few": (lambda: FFTPlan((4,), complex, complex, 3).forward(np.ones((2, 4), complex)), ValueError, "3 times"),
    "out's dtype": (lambda: FFTPlan((4,), complex, complex).forward(np.ones(4, complex), np.ones(4)), ValueError, "output array dtype"),
    "out's size": (lambda: FFTPlan((4,), float, complex).forward(np.ones(4), np.ones(2, complex)), ValueError, "output array shape"),
    "read-only": (lambda: fft(np.ones(4, complex), locked()), ValueError, "read-only"),
    "real in place": (lambda: fft_inplace(np.ones(4)), ValueError, "Invalid type combination"),
    "the way back": (lambda: fft(np.ones(4, complex), np.ones(6)), TypeError, "Invalid operation"),
    "a number": (lambda: fft(np.ones((), complex), np.ones((), complex)), ValueError, "has 0"),
    "nothing": (lambda: fft(np.ones(0, complex), np.ones(0, complex)), ValueError, "at least 1"),
}  # fmt: skip


def locked():
    a = np.ones(4, complex)
    a.flags.writeable = False
    return a


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_refused(why):
    do, kind, text = REFUSED[why]
    with pytest.raises(kind, match=text):
        do()


def test_memory_that_was_freed():
    d = cuda.to_device(numbers(4, np.complex64))
    base = d._mem
    while isinstance(base, (np.ndarray, memoryview)):
        base = base.obj if isinstance(base, memoryview) else base.base
    base.free()
    with pytest.raises(ValueError, match="was freed"):
        fft_inplace(d)


def test_the_core_looks_itself():
    """What the package checks is checked again where it is used."""
    core = FFTPlan((4,), complex, complex)._core
    good = np.ones(4, complex)
    for ary, out, kind in (
        (good[:3], good, ValueError),
        (good, good[:3], ValueError),
        (np.ones((8, 2), complex)[:, 0], good, ValueError),
        (good.astype(np.complex64), good, TypeError),
        (good, locked(), ValueError),
    ):
        with pytest.raises(kind):
            core.run(ary, out, False, 0)
    for shape, batch in (((0,), 1), ((4,), 0), ((-4,), 1)):
        with pytest.raises(ValueError):
            treadle._core.FFT(0, False, shape, batch)
    with pytest.raises(ValueError):
        treadle._core.FFT(0, False, (1, 1, 1, 1), 1)
    with pytest.raises(ValueError):
        treadle._core.FFT(3, False, (1,), 1)


# --- the emulated device's own ---


@pytest.mark.emulated
def test_without_numpys_loops(monkeypatch):
    """As with NumPy 1.26: lengths with small factors all the same; others by NumPy's functions, which is said once."""
    monkeypatch.delattr(np.fft, "_pocketfft_umath", raising=False)
    for cache in (module._find_loops, module._say_slow):
        cache.cache_clear()
    module._plans.made.clear()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            small = FFTPlan((4, 6), complex, complex)
            assert isinstance(small._core, treadle._core.FFT) and not module._find_loops()
        with pytest.warns(PerformanceWarning, match="on one core"):
            assert isinstance(FFTPlan((17,), complex, complex)._core, module._Slow)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for shape in ((4, 6), (17, 6), (4, 34), (1, 1), (1024,)):
                for c, r in PAIRS.items():
                    for stream, batch in ((0, 1), (cuda.stream(), 2)):
                        full = (batch, *shape) if batch > 1 else shape
                        x, f = numbers(full, c), numbers(full, r)
                        plan = FFTPlan(shape, c, c, batch, stream)
                        close(plan.forward(x), forward(x, shape))
                        close(plan.inverse(x), backward(x, shape))
                        d = cuda.to_device(x)
                        plan.forward(d, d)
                        cuda.synchronize()
                        close(d.copy_to_host(), forward(x, shape))
                        h = FFTPlan(shape, r, c, batch, stream).forward(f)
                        close(h, forward(f, shape))
                        if shape[-1] % 2 == 0:
                            back = FFTPlan(h.shape[-len(shape) :], c, r, batch, stream).inverse(h)
                            close(back, f * np.prod(shape))
    finally:
        monkeypatch.undo()
        for cache in (module._find_loops, module._say_slow):
            cache.cache_clear()
        module._plans.made.clear()
        assert module._find_loops() or not hasattr(np.fft, "_pocketfft_umath")


@pytest.mark.emulated
def test_checks_know_what_is_read_and_written():
    order, s, t = Order(), cuda.stream(), cuda.stream()
    d, o = cuda.to_device(numbers(8, np.complex64)), cuda.device_array(8, np.complex64)
    module._order.active, before = order, module._order.active
    try:
        fft(d, o, s)
        fft(d, cuda.device_array(8, np.complex64), t)  # both read it
        with pytest.raises(treadle.errors.KernelCheckError, match="a Fourier transform .* writes its output"):
            fft_inplace(o, t)
        fft(d, d)  # comes after all
        order.tell()
    finally:
        module._order.active = before
        cuda.synchronize()


@pytest.mark.emulated
def test_in_a_child():
    x = numbers((64, 64), np.complex128)
    want = fft(x, np.empty_like(x))
    pid = os.fork()
    if pid == 0:
        os._exit(0 if (fft(x, np.empty_like(x)) == want).all() else 1)
    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.emulated
@pytest.mark.nosan  # a sanitizer takes addresses for itself
@pytest.mark.parametrize("on_stream", [False, True])
def test_where_memory_ends(on_stream):
    """NumPy's loop for a row of a prime length finds no room: what is not computed is not given as if it were."""
    r = in_process(f"""
        import resource
        import numpy as np
        from treadle import cuda
        from treadle.cuda.fft import FFTPlan
        on_stream = {on_stream}
        stream = cuda.stream() if on_stream else 0
        def plan(rows, n):
            d = cuda.to_device(np.ones((rows, n), np.complex128))
            return FFTPlan((n,), d.dtype, d.dtype, rows, stream), d, cuda.device_array_like(d)
        warm, d, e = plan(64, 7)
        warm.forward(d, e)
        made, d, e = plan(2, 999_983)
        cuda.synchronize()
        pages = int(open("/proc/self/statm").read().split()[0])
        no = resource.RLIM_INFINITY
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize(), no))
        raised = None
        try:
            made.forward(d, e)
            cuda.synchronize()
        except MemoryError as error:
            raised = error
        resource.setrlimit(resource.RLIMIT_AS, (no, no))
        assert raised or np.allclose(e.copy_to_host()[:, 0], 999_983)
        made.forward(d, e)
        cuda.synchronize()
        assert np.allclose(e.copy_to_host()[:, 0], 999_983)
    """)
    assert not r.returncode, r.stderr


def test_import_opens_nothing():
    r = in_process("""
        import sys
        import treadle.cuda
        assert "treadle.cuda.fft" not in sys.modules and "treadle.cuda._libs" not in sys.modules
        import treadle.cuda.fft, treadle.cuda.libs
        assert not treadle.cuda._libs.opened
        assert "cufft" not in open("/proc/self/maps").read()
    """)
    assert not r.returncode, r.stderr
