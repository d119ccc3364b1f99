"""Bad and odd input at the boundary: a clear exception or the right answer, never a crash."""

from __future__ import annotations

import array
import datetime
import decimal
import fractions
import subprocess
import sys

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import njit


def _first(a):
    return a[0]


@njit
def first(a):
    return a[0]


@njit
def ident(x):
    return x


class MyFloat(float):
    pass


class MyTuple(tuple):
    pass


REFUSED = [
    ([[1, 2], 3], "no type in common"),
    (decimal.Decimal(1), "Decimal"),
    (fractions.Fraction(1, 2), "Fraction"),
    (datetime.date(2020, 1, 1), "date"),
    (MyFloat(1), r"MyFloat.*float\(x\)"),
    (MyTuple((1,)), r"MyTuple.*tuple\(x\)"),
    (sys, "module"),
    (object(), "object"),
    (iter([]), "list_iterator"),
    (np.longdouble(1), "longdouble|float128"),
    (np.datetime64(1, "25s"), "datetime64.*multiple"),
    (np.zeros(3, np.longdouble), "longdouble.*astype"),
    (np.zeros(3, object), "object.*astype"),
    (np.zeros(3, "M8[25s]"), "datetime64.*multiple"),
    (np.zeros(3, [("x", "O")]), "object"),
    (np.zeros(3, ">f8"), "big-endian.*newbyteorder"),
    (np.ma.zeros(3), "MaskedArray.*a.data"),
    (np.zeros((1, 1)).view(np.matrix), r"matrix.*np.asarray\(a\)"),
    ((1, [iter([])]), "list_iterator.*"),
    (slice("a", "b"), "slice"),
]


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("value, text", REFUSED, ids=lambda v: v if isinstance(v, str) else type(v).__name__)
def test_refused_with_a_reason(value, text):
    with pytest.raises(TypeError, match=r"(?s)ident\(\): argument 'x(\[\d\])*' is .*" + text) as e:
        ident(value)
    assert "help:" in str(e.value)


def test_misaligned_arrays():
    raw = np.zeros(33, np.uint8)
    a = raw[1:].view("f8")
    assert not a.flags.aligned
    a[0] = 5
    assert first(a) == first(a.copy()) == 5 and len(first.signatures) >= 2


def test_strides_that_are_no_whole_items():
    rec = np.zeros(4, [("x", "f8"), ("y", "i4")])
    packed = np.zeros(4, [("x", "f4"), ("y", "i2")])
    rec["x"][0], packed["x"][0] = 3, 4
    assert first(rec["x"]) == 3 and first(packed["x"]) == 4 and first(rec["x"][:1]) == 3
    both = np.zeros(4, [("x", "f4"), ("y", "f4")])
    both["y"] = [1, 2, 3, 4]
    assert first(both["y"]) == 1.0
    c = np.zeros(4, [("z", "c16"), ("w", "f8")])
    c["z"] = [1j, 2, 3, 4]
    assert first(c["z"]) == 1j and njit(lambda z: z.sum())(c["z"]) == 9 + 1j
    assert njit("float64(float64[:])")(lambda a: a[0])(rec["x"][:1].copy()) == 3


def test_a_field_of_a_structured_array():
    a = np.zeros((3, 2), [("x", "i8"), ("y", "i8")])
    a["y"] = 7
    assert njit(lambda a: a[2, 1])(a["y"]) == 7


@pytest.mark.parametrize(
    "x", [2**63, -(2**63) - 1, 10**100, -(10**5000)], ids=["over", "under", "long", "huge"]
)
def test_overflowing_ints(x):
    with pytest.raises(OverflowError, match=r"ident\(\): argument 'x'") as e:
        ident(x)
    assert len(str(e.value)) < 300
    with pytest.raises(OverflowError):
        ident((1, x))
    f = njit(lambda a=1, *, key: key)
    with pytest.raises(OverflowError, match="'key'"):
        f(key=x)


def test_zero_dimensional_arrays():
    f = njit(lambda a: a[()])
    assert f(np.array(3.5)) == 3.5
    a = np.array(2)
    assert ident(a) is a and treadle.typeof(a).ndim == 0


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (0, 0, 0)])
def test_empty_arrays(shape):
    a = np.zeros(shape)
    assert ident(a) is a
    assert njit(lambda a: a.shape)(a) == shape
    if len(shape) == 1:
        with pytest.raises(IndexError):
            first(a)


@pytest.mark.parametrize("nd", [5, 16, 32])
def test_many_axes(nd):
    a = np.ones((1,) * (nd - 1) + (3,))
    assert ident(a) is a
    assert njit(lambda a: a.ndim)(a) == nd
    assert ident(a[..., ::2]).shape == a[..., ::2].shape


def test_too_many_axes():
    with pytest.raises((TypeError, ValueError)):  # NumPy 1 refuses to make the array
        ident(np.ones((1,) * 40))


def test_broadcast_and_negative_strides():
    total = njit(_total2)
    a = np.broadcast_to(np.arange(3.0), (4, 3))
    assert total(a) == 12.0
    b = np.arange(6.0).reshape(2, 3)[::-1, ::-1]
    assert total(b) == 15.0


def _total2(a):
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s += a[i, j]
    return s


@pytest.mark.parametrize("n", [2**62, 2**63 - 1, 2**40])
def test_absurd_sizes(n):
    with pytest.raises((MemoryError, ValueError, OverflowError)):
        njit(lambda n: np.zeros(n))(n)
    with pytest.raises((MemoryError, ValueError, OverflowError)):
        njit(lambda n: np.empty((n, n)))(n)


def test_negative_sizes():
    with pytest.raises(ValueError, match="negative dimensions"):
        njit(lambda n: np.zeros(n))(-1)


def test_a_string_with_odd_characters():
    f = njit(lambda s: 1 if s == "ä€😀" else 0)
    assert f("ä€😀") == 1 and f("") == 0 and f("\0") == 0
    assert f("\ud800") == 0


def test_large_functions():
    lines = ["def f(x):", "    y = 0"]
    for i in range(1000):
        lines.append(f"    if x == {i}: y += {i}")
    lines.append("    return y")
    namespace: dict = {}
    exec("\n".join(lines), namespace)
    f = njit(namespace["f"])
    assert f(999) == 999 and f(5) == 5 and f(-1) == 0


def test_an_exception_leaves_no_memory_behind():
    @njit
    def f(n, k):
        a = np.zeros(n)
        b = np.ones(n)
        a[k] = b[0]
        return a

    f(10, 1)
    before = treadle.stats()
    for _ in range(50):
        with pytest.raises(IndexError):
            f(10, 10)
    after = treadle.stats()
    assert (
        after["arrays_allocated"] - before["arrays_allocated"]
        == after["arrays_freed"] - before["arrays_freed"]
        == 100
    )


def test_a_call_while_arguments_are_wrong_does_not_compile():
    ident(1)  # an integer that does not fit is one all the same
    before = treadle.stats()["compiled"]
    for bad in ([object()], {object(): 1}, np.zeros(2, object), 2**64):
        with pytest.raises((TypeError, OverflowError)):
            ident(bad)
    assert treadle.stats()["compiled"] == before


# --- any array that NumPy can make ---

DTYPES = "?bhilqBHILQfdFD"


@st.composite
def arrays(draw):
    """An array with random dtype, shape, order, strides and direction."""
    shape = draw(st.lists(st.integers(0, 4), min_size=0, max_size=4))
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    steps = [draw(st.sampled_from([1, 1, 2, 3, -1, -2])) for _ in shape]
    base = np.arange(int(np.prod([n * abs(s) for n, s in zip(shape, steps, strict=True)])) or 1)
    base = (base % 100).astype(dtype)[: int(np.prod([n * abs(s) for n, s in zip(shape, steps, strict=True)]))]
    a = base.reshape(
        [n * abs(s) for n, s in zip(shape, steps, strict=True)], order=draw(st.sampled_from("CF"))
    )
    a = a[(*(slice(None, None, s) for s in steps), ...)]
    if draw(st.booleans()):
        a = a.transpose(draw(st.permutations(range(a.ndim))))
    if draw(st.booleans()):
        a = a.view()
        a.flags.writeable = False
    return a


@njit
def whole(a):
    return a


@njit
def describe(a):
    return a.shape, a.strides, a.size, a.itemsize


@njit
def copied(a):
    return a.copy()


@njit
def reversed_view(a):
    return a[::-1]


@given(arrays())
@settings(max_examples=examples(300), deadline=None)
def test_any_array(a):
    assert whole(a) is a
    shape, strides, size, itemsize = describe(a)
    assert shape == a.shape and size == a.size and itemsize == a.itemsize
    if a.size:
        assert all(x == y for x, y, n in zip(strides, a.strides, shape, strict=True) if n > 1)
    c = copied(a)
    assert c is not a and c.dtype == a.dtype and c.flags.writeable and not np.shares_memory(c, a)
    np.testing.assert_array_equal(c, a)
    if a.ndim:
        r = reversed_view(a)
        np.testing.assert_array_equal(r, a[::-1])
        assert r.flags.writeable == a.flags.writeable and (not a.size or np.shares_memory(r, a))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.complex_numbers(),
    lambda inner: st.lists(inner, max_size=4).map(tuple),
    max_leaves=12,
)


@given(VALUES)
@settings(max_examples=examples(200), deadline=None)
def test_any_nest_of_values(value):
    got = whole(value)
    assert repr(got) == repr(value) and type(got) is type(value)


# --- buffers, and arrays of other classes ---


def total(a):
    s = 0
    for x in a:
        s += x
    return s, len(a)


def test_buffers_are_arrays_of_their_items():
    f = njit(total)
    assert f(b"abc") == (294, 3) and f(b"") == (0, 0) and f(bytearray(b"ab")) == (195, 2)
    assert f(memoryview(b"abcd")[::2]) == (196, 2)
    for code in "bBhHiIlLqQfd":
        assert f(array.array(code, [1, 2, 3])) == (6, 3)
    assert njit(lambda a: a[1, 1])(memoryview(np.arange(6.0).reshape(2, 3))) == 4.0
    assert f(a=b"abc") == (294, 3)
    crc = njit("uint8(uint8[::1])", nogil=True)(lambda a: a[-1])
    assert crc(bytearray(b"xyz")) == ord("z")
    assert str(treadle.typeof(b"x")) == "bytes"
    assert str(treadle.typeof(array.array("f", [1]))) == "array(float32, 1d, C)"


def test_buffers_share_their_memory():
    @njit
    def store(a, x):
        a[0] = x
        return a[1:]

    data = bytearray(b"abc")
    rest = store(data, 65)
    assert data == b"Abc" and rest.tolist() == [98, 99]
    rest[0] = 66
    assert data == b"ABc"
    numbers = array.array("d", [1, 2])
    store(numbers, 5.0)
    assert numbers[0] == 5.0
    with pytest.raises(treadle.TypingError, match="bytes"):
        store(b"abc", 65)
    for text in (array.array("u", "abc"), memoryview(b"abcd").cast("c")):
        assert ident(text).tolist() == np.asarray(text).tolist()


def test_a_series_says_how_to_pass_it():
    class Series:
        def to_numpy(self):
            return np.zeros(3)

    with pytest.raises(TypeError, match=r"a value of type Series(.|\n)*x\.to_numpy\(\)"):
        ident(Series())


SUBCLASSES = """
import warnings
warnings.simplefilter("ignore")
import numba, numpy as np

class Units(np.ndarray):
    def __mul__(self, other):
        raise TypeError("units")
    def __array_ufunc__(self, *args, **kwargs):
        raise TypeError("units")

@numba.njit
def f(a):
    return (a * 2).sum()

assert f(np.arange(3.0).view(Units)) == 6.0
assert f(np.matrix([[1.0, 2.0]])) == 6.0
try:
    f(np.ma.zeros(3))
except TypeError as e:
    assert "a.mask" in str(e)
else:
    raise SystemExit("masked arrays have a mask")
assert f(np.frombuffer(b"....." + np.ones(3).tobytes(), "f8", offset=5)) == 6.0
assert f(b"ab") == 390
"""


def test_classes_of_arrays_under_numba_s_rules(tmp_path):
    path = tmp_path / "classes.py"
    path.write_text(SUBCLASSES)
    done = subprocess.run([sys.executable, "-m", "treadle", "run", str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
