"""`treadle.cuda.sorting` against a stable argsort of NumPy's, on whatever kernels run on; on the emulated device the kernels of a GPU, too, which give the same bits."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest
import treadle
from fake_gpu import start
from hypothesis import given, settings
from hypothesis import strategies as st
from stream_check import held
from treadle import config, cuda
from treadle.cuda import _order, _sorts, sorting
from treadle.cuda._order import Order
from treadle.cuda.sorting import RadixSort, segmented_sort

ON_EMU = cuda.is_emulated()
DTYPES = [np.dtype(t) for t in ("f4", "f8", "i4", "i8", "u4", "u8")]
VALUES = [np.dtype(t) for t in ("u4", "f8", "i8", "c8")]
INTERPRETED = config.CUDA == "gpu" and "fake" in str(config.CUDA_DRIVER)  # which takes its time
# Items: none, one, a few; what is sorted by insertion, on the stack, in the caches, by a first digit; one tile of a GPU's, and more.
SIZES = [0, 1, 2, 17, 256, 257, _sorts.TILE, _sorts.TILE + 1] + ([40_000] if ON_EMU else [])
if INTERPRETED:
    SIZES = [0, 1, 70]
MORE = 1100 if INTERPRETED else 5000  # than a block sorts for itself


def keys_of(dtype, n, seed=0, few=False):
    """Keys of all bits, or of few values; floats with zeros of both signs, NaNs of both, infinities."""
    rng = np.random.default_rng((seed, n, few))
    if dtype.kind != "f":
        info = np.iinfo(dtype)
        lo, hi = (0, 5) if few else (info.min, info.max)
        return rng.integers(lo, hi, n, dtype, endpoint=True)
    x = rng.normal(size=n).astype(dtype)
    odd = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0], dtype)
    some = rng.random(n) < (1.0 if few else 0.3)
    return np.where(some, odd[rng.integers(0, len(odd), n)], x).astype(dtype)


def words_of(keys, descending=False, begin=0, end=None):
    """The definition: unsigned integers in the order of keys."""
    bits = 8 * keys.itemsize
    of = np.dtype(f"u{keys.itemsize}").type
    w, sign, most = keys.view(of).copy(), of(1 << (bits - 1)), of((1 << bits) - 1)
    if keys.dtype.kind == "i":
        w ^= sign
    elif keys.dtype.kind == "f":
        w[w == sign] = 0
        w = np.where(w >> of(bits - 1), ~w, w ^ sign)
        w[np.isnan(keys)] = most
    w = w ^ most if descending else w
    end = bits if end is None else end
    return np.zeros_like(w) if end == begin else w >> of(begin) & of((1 << (end - begin)) - 1)


def order_of(keys, *args):
    return np.argsort(words_of(keys, *args), kind="stable")


def same(got, want):
    got = got.copy_to_host() if hasattr(got, "copy_to_host") else got
    assert got.dtype == want.dtype
    assert got.tobytes() == np.ascontiguousarray(want).tobytes()


def test_words_are_in_numpys_order():
    for dtype in DTYPES:
        x = keys_of(dtype, 1000)
        if dtype.kind == "f":
            x[x == 0] = 0.0
            x[np.isnan(x)] = np.nan
        same(x[order_of(x)], np.sort(x, kind="stable"))


# --- all, and the first few ---


@pytest.mark.parametrize("few", [False, True], ids=["many", "few"])
@pytest.mark.parametrize("descending", [False, True], ids=["up", "down"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sort(dtype, descending, few, threads):
    for n in SIZES:
        x, vals = keys_of(dtype, n, 1, few), np.random.default_rng(n).integers(0, 99, n).astype(np.uint32)
        at = order_of(x, descending)
        sorter = RadixSort(n, dtype, descending)
        keys = x.copy()
        assert sorter.sort(keys) is None
        same(keys, x[at])
        keys, its = cuda.to_device(x), cuda.to_device(vals)
        sorter.sort(keys, its)
        same(keys, x[at])
        same(its, vals[at])
        keys = x.copy()
        got = sorter.argsort(keys)
        assert isinstance(got, np.ndarray)
        same(got, at.astype(np.uint32))
        same(keys, x[at])


@pytest.mark.parametrize("few", [False, True], ids=["many", "few"])
@pytest.mark.parametrize("descending", [False, True], ids=["up", "down"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_select(dtype, descending, few):
    for n in SIZES:
        for k in sorted({0, min(1, n), min(7, n), n // 20, n // 2, n}):
            x, vals = keys_of(dtype, n, 2, few), np.random.default_rng(n).normal(size=n)
            at = order_of(x, descending)[:k]
            keys, its = cuda.to_device(x), cuda.to_device(vals)
            sorter = RadixSort(n, dtype, descending)
            assert sorter.select(k, keys, its) is None
            same(keys, np.concatenate([x[at], x[k:]]))
            same(its, np.concatenate([vals[at], vals[k:]]))
            keys = x.copy()
            same(sorter.argselect(k, keys), at.astype(np.uint32))
            same(keys, np.concatenate([x[at], x[k:]]))


def check(x, vals, descending, begin, end, k, numbers, sorts):
    at = order_of(x, descending, begin, end)[:k]
    keys = x.copy()
    its = np.full(k, 7, np.uint32) if numbers else None if vals is None else vals.copy()
    sorts(k, keys, its, numbers, (x.dtype.kind, x.itemsize == 8, descending), begin, end)
    same(keys, np.concatenate([x[at], x[k:]]))
    if numbers:
        same(its, at.astype(np.uint32))
    elif vals is not None:
        same(its, np.concatenate([vals[at], vals[k:]]))


def _sort_none(k, keys, vals, numbers, form):
    """By no bits at all."""
    sorting._sort_there("", keys, vals, numbers, form[2], (0, 0), k, None, 0)


def by_surface(k, keys, vals, numbers, form, begin, end):
    sorter = RadixSort(keys.size, keys.dtype, form[2])
    if end == 0:  # which stands for all
        _sort_none(k, keys, vals, numbers, form)
    elif numbers:
        vals[...] = sorter.argselect(k, keys, begin, end)
    elif k == keys.size:
        sorter.sort(keys, vals, begin, end)
    else:
        sorter.select(k, keys, vals, begin, end)


def by_kernels(k, keys, vals, numbers, form, begin, end):
    if k == keys.size:
        _sorts.sort(keys, vals, numbers, form, begin, end, 0)
    elif k:
        _sorts.select(k, keys, vals, numbers, form, begin, end, 0)


@st.composite
def tasks(draw):
    dtype = draw(st.sampled_from(DTYPES))
    n = draw(st.sampled_from([0, 1, 2, 3, 16, 17, 255, 300, MORE] + ([33_000] if ON_EMU else [])))
    x = keys_of(dtype, n, draw(st.integers(0, 99)), draw(st.booleans()))
    kind = draw(st.sampled_from([None, "numbers", *VALUES]))
    vals = None if kind in (None, "numbers") else np.arange(n).astype(kind)
    bits = 8 * dtype.itemsize
    some = st.tuples(st.integers(0, bits), st.integers(0, bits)).map(sorted)
    begin, end = draw(st.one_of(st.just((0, bits)), some))
    k = draw(st.one_of(st.just(n), st.integers(0, n), st.integers(0, min(n, 9))))
    return x, vals, draw(st.booleans()), begin, end, k, kind == "numbers"


@given(tasks())
@settings(deadline=None, max_examples=5 if INTERPRETED else 60)
def test_bits_values_and_orders(task):
    check(*task, by_surface)


@pytest.mark.emulated
@given(tasks().filter(lambda t: t[0].size <= 5000))
@settings(deadline=None, max_examples=40)
def test_a_gpus_kernels_give_the_same(task):
    check(*task, by_kernels)


@pytest.mark.emulated
def test_a_first_digit_has_no_bits_that_do_not_count():
    x = np.random.default_rng(3).integers(0, 2**32, 50_000, dtype=np.uint32)
    for begin, end in ((0, 3), (5, 9), (13, 32), (31, 32), (30, 30)):
        check(x, np.arange(x.size, dtype=np.uint32), False, begin, end, x.size, False, by_surface)
        check(x.astype(np.uint64) << np.uint64(7), None, True, begin, end, x.size, False, by_surface)


def test_all_equal():
    for dtype in DTYPES:
        n = 300 if INTERPRETED else 5000
        x, vals = np.full(n, 3, dtype), np.arange(n, dtype=np.uint32)
        sorter = RadixSort(n, dtype)
        sorter.sort(x, vals)
        same(vals, np.arange(n, dtype=np.uint32))
        same(sorter.argsort(x), np.arange(n, dtype=np.uint32))
        same(sorter.argselect(70, x), np.arange(70, dtype=np.uint32))


def test_values_of_all_kinds():
    x = keys_of(np.dtype("i4"), 300, 4)
    at = order_of(x)
    record = np.dtype([("a", "u2"), ("b", "u2")])
    for vals in (
        np.arange(300).astype("M8[s]"),
        np.arange(300).astype(">u4"),
        np.arange(300, dtype="u4").view(record),
        np.arange(300, dtype=np.complex64),
    ):
        its = vals.copy()
        RadixSort(300, "i4").sort(x.copy(), its)
        same(its, vals[at])


def test_init_arg():
    sorter = RadixSort(9, np.float32)
    for n in (0, 1, 1000):
        made = sorter.init_arg(n)
        assert cuda.is_cuda_array(made)
        same(made, np.arange(n, dtype=np.uint32))
    with pytest.raises(ValueError, match="size is -1"):
        sorter.init_arg(-1)


def test_more_than_32_bits_number_have_64():
    assert sorting._numbers_of(2**32) == np.uint32
    assert sorting._numbers_of(2**32 + 1) == np.uint64


# --- segments ---


def in_segments(x, vals, ends):
    keys, its = x.copy(), None if vals is None else vals.copy()
    for lo, hi in zip([0, *ends], [*ends, len(x)]):
        at = lo + order_of(x[lo:hi])
        keys[lo:hi] = x[at]
        if its is not None:
            its[lo:hi] = vals[at]
    return keys, its


def cuts(rng, n):
    return np.sort(rng.integers(0, n + 1, rng.integers(0, 9)))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_segments(dtype, threads):
    rng = np.random.default_rng(5)
    for n, ends in (
        (0, []),
        (0, [0, 0]),
        (1, [0, 1]),
        (10, []),
        (10, [3, 6, 8]),
        (10, [0, 0, 4, 4, 10]),
        (_sorts.FEW, []),
        (3 * _sorts.FEW, [5, 5 + _sorts.FEW]),
        (3000, np.sort(rng.integers(0, 3001, 400))),
        (9000, cuts(rng, 9000)),
    ):
        if INTERPRETED and n > 10:
            continue
        x = keys_of(dtype, n, 6)
        vals = np.arange(n, dtype=np.uint32)
        for of in (np.int64,) if INTERPRETED else (np.int64, np.uint32):
            want = in_segments(x, vals, list(ends))
            keys, its = cuda.to_device(x), cuda.to_device(vals)
            assert segmented_sort(keys, its, np.asarray(ends, of)) is None
            same(keys, want[0])
            same(its, want[1])
        keys = x.copy()
        segmented_sort(keys, None, cuda.to_device(np.asarray(ends, np.int32)))
        same(keys, want[0])


@pytest.mark.emulated
@given(st.data())
@settings(deadline=None, max_examples=30)
def test_a_gpus_segments_are_the_same(data):
    n = data.draw(st.sampled_from([0, 1, 7, 300, 2500, 7000]))
    x = keys_of(data.draw(st.sampled_from(DTYPES)), n, data.draw(st.integers(0, 9)), data.draw(st.booleans()))
    kind = data.draw(st.sampled_from([None, *VALUES]))
    vals = None if kind is None else np.arange(n).astype(kind)
    ends = sorted(data.draw(st.lists(st.integers(0, n), max_size=12)))
    want = in_segments(x, vals, ends)
    for by in ("kernels", "surface"):
        keys, its = x.copy(), None if vals is None else vals.copy()
        if by == "surface":
            segmented_sort(keys, its, ends)
        else:
            all_ends = np.array([*ends, n], np.int64)
            _sorts.segmented(keys, its, all_ends, (x.dtype.kind, x.itemsize == 8, False), 0)
        same(keys, want[0])
        if its is not None:
            same(its, want[1])


def test_segments_that_are_none():
    x = np.arange(10.0)
    for ends, message in (
        ([6, 3], r"segments\[1\] is 3, behind 6"),
        ([3, 11], r"segments\[1\] is 11, and keys has 10 items"),
        ([-1], r"segments\[0\] is -1"),
        (np.zeros((2, 2), int), "segments has 2 axes"),
    ):
        with pytest.raises(ValueError, match=message):
            segmented_sort(x, None, ends)
    with pytest.raises(TypeError, match="segments is of integers"):
        segmented_sort(x, None, [1.5])
    with pytest.raises(TypeError, match="keys is of one of .* not int16"):
        segmented_sort(np.zeros(3, np.int16), None, [])
    same(x, np.arange(10.0))


# --- arrays ---


def test_arrays_with_gaps_and_of_others():
    x, vals = keys_of(np.dtype("f4"), 600, 7), np.arange(600, dtype=np.uint32)
    at = order_of(x[::2])
    both = np.zeros(300, [("v", "u4"), ("k", "f4"), ("rest", "u1")])
    both["k"], both["v"] = x[::2], vals[::2]
    RadixSort(300, "f4").sort(both["k"], both["v"])  # items that are not aligned, too
    same(both["k"], x[::2][at])
    same(both["v"], vals[::2][at])
    keys, its = cuda.to_device(x), cuda.to_device(vals)
    RadixSort(300, "f4").sort(keys[::2], its[::2])
    want = x.copy()
    want[::2] = x[::2][at]
    same(keys, want)
    keys, its = x.copy()[::-1], vals.copy()[::-1]
    RadixSort(600, "f4").select(9, keys, its)
    at = order_of(x[::-1])[:9]
    same(keys, np.concatenate([x[::-1][at], x[::-1][9:]]))
    same(its, np.concatenate([vals[::-1][at], vals[::-1][9:]]))
    mapped = cuda.mapped_array(600, np.float32)
    mapped[...] = x
    got = RadixSort(600, "f4").argsort(mapped)
    assert cuda.is_cuda_array(got)
    cuda.synchronize()
    same(np.array(mapped), x[order_of(x)])
    same(got, order_of(x).astype(np.uint32))


def test_axes_are_one_row():
    """As NumbaPro's programs have it: columns of an array in Fortran's order are segments."""
    x = keys_of(np.dtype("f4"), 600, 12).reshape(100, 6)
    for order, ends in (("F", range(100, 600, 100)), ("C", range(6, 600, 6))):
        keys, vals = np.array(x, order=order), np.zeros((100, 6), np.uint32, order)
        vals.reshape(-1, order=order)[:] = np.arange(600)
        d, its = cuda.to_device(keys), cuda.to_device(vals)
        segmented_sort(d, its, np.array(list(ends), np.int32))
        want = in_segments(keys.reshape(-1, order=order), np.arange(600, dtype=np.uint32), list(ends))
        same(d.copy_to_host().reshape(-1, order=order), want[0])
        same(its.copy_to_host().reshape(-1, order=order), want[1])
        segmented_sort(keys, None, list(ends))
        same(keys.reshape(-1, order=order), want[0])
    one, more = np.array([[3], [1], [2]], np.int32), np.arange(5, dtype=np.uint32)
    RadixSort(3, "i4").sort(one, more, 0, 0)  # all bits; two more values
    assert one.tolist() == [[1], [2], [3]] and more.tolist() == [1, 2, 0, 3, 4]


def test_what_is_refused_is_named():
    x = np.arange(5, dtype=np.float32)
    sorter = RadixSort(5, np.float32)
    frozen = x.copy()
    frozen.flags.writeable = False
    vals = np.arange(5, dtype=np.uint32)
    for error, message, call in (
        (TypeError, "dtype mismatch: keys is of float64", lambda: sorter.sort(np.zeros(3))),
        (TypeError, "dtype mismatch", lambda: sorter.sort(x.astype(">f4"))),
        (
            ValueError,
            "keys array too long: 6 items, and maxcount is 5",
            lambda: sorter.sort(np.zeros(6, "f4")),
        ),
        (ValueError, "keys is read-only", lambda: sorter.sort(frozen)),
        (ValueError, "keys is read-only", lambda: sorter.argsort(frozen)),
        (ValueError, "keys has 2 axes, and gaps", lambda: sorter.sort(np.zeros((4, 4), "f4")[:2, :2])),
        (TypeError, "keys is an array", lambda: sorter.sort([1.0, 2.0])),
        (TypeError, "vals is an array", lambda: sorter.sort(x, [1, 2, 3, 4, 5])),
        (TypeError, "vals has items of 4 or 8 bytes, not uint8", lambda: sorter.sort(x, np.zeros(5, "u1"))),
        (TypeError, "vals has items of 4 or 8 bytes", lambda: sorter.sort(x, np.zeros(5, object))),
        (ValueError, "vals has 4 items, and keys 5", lambda: sorter.sort(x, vals[:4])),
        (ValueError, "vals is read-only", lambda: sorter.sort(x, frozen)),
        (ValueError, "vals shares memory with keys", lambda: sorter.sort(x, x)),
        (
            ValueError,
            "vals and keys lie in different orders",
            lambda: sorter.sort(np.zeros((2, 2), "f4"), np.zeros((2, 2), "u4", order="F")),
        ),
        (ValueError, "k is 6: it is from 0 to 5", lambda: sorter.select(6, x)),
        (ValueError, "k is -1", lambda: sorter.argselect(-1, x)),
        (TypeError, "k is an integer, not 1.5", lambda: sorter.select(1.5, x)),
        (ValueError, "end_bit is 33: it is from 0 to 32", lambda: sorter.sort(x, None, 0, 33)),
        (ValueError, "begin_bit is 9: it is from 0 to 8", lambda: sorter.sort(x, None, 9, 8)),
        (ValueError, "begin_bit is -1", lambda: sorter.argsort(x, -1)),
        (ValueError, "maxcount is -1", lambda: RadixSort(-1, "f4")),
        (TypeError, "dtype is one of .* not int16", lambda: RadixSort(1, "i2")),
        (TypeError, "stream", lambda: RadixSort(1, "f4", False, "x")),
        (TypeError, "stream", lambda: segmented_sort(x, None, [], "x")),
    ):
        with pytest.raises(error, match=message):
            call()
    same(x, np.arange(5, dtype=np.float32))
    sorter.close()
    sorter.close()
    for call in (lambda: sorter.sort(x), lambda: sorter.argselect(1, x)):
        with pytest.raises(ValueError, match="closed"):
            call()


# --- streams ---


def test_streams():  # with more than a tile
    a, b = cuda.stream(), cuda.stream()
    x, y = keys_of(np.dtype("u4"), 5000, 8), keys_of(np.dtype("f8"), 5000, 9)
    one, two = RadixSort(5000, "u4", stream=a), RadixSort(5000, "f8", True, stream=b)
    d, e = cuda.to_device(x), cuda.to_device(y)
    its = cuda.to_device(np.arange(5000, dtype=np.uint32))
    cuda.synchronize()
    for _ in range(3):
        one.sort(d, its)
        two.sort(e)
    at = two.argselect(3, e)
    a.synchronize()
    b.synchronize()
    same(d, x[order_of(x)])
    same(its, order_of(x).astype(np.uint32))
    same(e, y[order_of(y, True)])
    same(at, np.arange(3, dtype=np.uint32))
    keys = y.copy()
    got = two.argsort(keys)  # what is the host's is there
    same(keys, y[order_of(y, True)])
    same(got, order_of(y, True).astype(np.uint32))
    two.stream = 0
    keys = y.copy()
    two.sort(keys)
    same(keys, y[order_of(y, True)])
    d, its = cuda.to_device(x), cuda.to_device(np.arange(5000, dtype=np.uint32))
    segmented_sort(d, its, [20, 3000], stream=a)
    a.synchronize()
    same(d, in_segments(x, None, [20, 3000])[0])


def test_the_host_goes_on():
    s = cuda.stream()
    x = keys_of(np.dtype("i4"), 1000, 10)
    d = cuda.to_device(x)
    its = None
    with held(s):
        sorter = RadixSort(1000, "i4", stream=s)
        its = sorter.argsort(d)
        sorter.close()  # what it was given is done
        del sorter
    s.synchronize()
    same(d, x[order_of(x)])
    same(its, order_of(x).astype(np.uint32))


def test_threads():
    x = keys_of(np.dtype("f4"), MORE, 11)
    sorter, wrong = RadixSort(MORE, "f4"), []

    def work():
        for _ in range(3):
            keys = x.copy()
            if sorter.argsort(keys).tobytes() != order_of(x).astype(np.uint32).tobytes():
                wrong.append(keys)

    all_of_them = [threading.Thread(target=work) for _ in range(4)]
    for t in all_of_them:
        t.start()
    for t in all_of_them:
        t.join()
    assert not wrong


# --- checks ---


@pytest.mark.emulated
def test_races_of_streams_are_seen(monkeypatch):
    a, b = cuda.stream(), cuda.stream()
    d, e, f = (cuda.to_device(np.arange(9, dtype="u4")) for _ in range(3))
    found = Order()
    monkeypatch.setattr(_order, "active", found)
    RadixSort(9, "u4", stream=a).sort(d, e)
    RadixSort(9, "u4", stream=b).sort(f)  # another one
    with pytest.raises(treadle.errors.KernelCheckError, match="a selection .* writes it,"):
        RadixSort(9, "u4", stream=b).select(2, f, e)
    cuda.synchronize()


PROGRAM = """
import numpy as np
from treadle import config, cuda
from treadle.cuda import _sorts
from treadle.cuda.sorting import RadixSort, segmented_sort
s = cuda.stream()
rng = np.random.default_rng(0)
for kind, dtype in (("u", "u4"), ("f", "f8")):
    x = (rng.normal(size=9001) * 9).astype(dtype) if kind == "f" else rng.integers(0, 9**5, 9001).astype(dtype)
    d, its = cuda.to_device(x, stream=s), cuda.device_array(9001, "u4", stream=s)
    form = kind, dtype == "f8", False
    _sorts.sort(d._mem, its._mem, True, form, 0, 32, s)
    _sorts.sort(d._mem[:900], its._mem[:900], False, form, 0, 32, s)
    _sorts.select(70, d._mem, its._mem, False, form, 3, 29, s)
    _sorts.segmented(d._mem, its._mem, np.array([3, 700, 2000, 9001]), form, s)
    sorter = RadixSort(9001, dtype, True, s)
    sorter.sort(d, its)
    sorter.select(5, d)
    segmented_sort(d, its, [5, 5000], s)
    at = sorter.argsort(d)
    at.copy_to_host(stream=s)
s.synchronize()
"""


@pytest.mark.emulated
def test_memcheck_finds_nothing(tmp_path):
    program = tmp_path / "sorts.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "treadle", "memcheck", str(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no mistakes of kernels" in done.stdout + done.stderr


@pytest.mark.emulated
def test_nothing_is_compiled_here():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", PROGRAM_HERE], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["1", "3", "2", "0", "False"]


PROGRAM_HERE = """
import numpy as np
from treadle.cuda.sorting import RadixSort
maps = lambda: any("libtreadle_llvm" in line for line in open("/proc/self/maps"))
print(*RadixSort(4, np.uint32).argsort(np.array([3, 1, 2, 1], np.uint32)), maps())
"""

ON_A_GPU = """
import numpy as np
from treadle import config, cuda
from treadle.cuda.sorting import RadixSort, segmented_sort
assert not cuda.is_emulated()
x = np.random.default_rng(0).normal(size=5000).astype(np.float32)
x[7] = -0.0
x[9] = np.nan
its = np.arange(5000, dtype=np.uint32)
keys, vals = x.copy(), its.copy()
RadixSort(5000, np.float32).sort(keys, vals)
want = np.argsort(x, kind="stable")
assert (vals == want).all() and keys.tobytes() == x[want].tobytes()
d = cuda.to_device(x)
got = RadixSort(5000, np.float32, True).argselect(20, d)
want = np.argsort(-x[~np.isnan(x)], kind="stable")
assert got.copy_to_host()[0] == 9 and np.isnan(d.copy_to_host()[0])
keys = x.copy()
segmented_sort(keys, vals, [100, 4000])
assert (keys[100:4000] == np.sort(x[100:4000])).all()
print("done")
"""


@pytest.mark.emulated
def test_a_gpu_that_is_none():
    done = start(ON_A_GPU)
    assert done.stdout == "done\n", done.stderr
