"""What tests that were written for Numba found: arguments and results of NumPy's functions that programs meet."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from treadle import TreadleError, njit, types

sys.path.insert(0, str(Path(__file__).parent))
from builtins_check import rejects, run  # noqa: E402
from library_check import check  # noqa: E402

CODES = "?bBhHiIlLqQpPefdFD"
NAMES = (
    "bool int8 byte int16 short int32 intc int64 int int_ intp long longlong uint8 ubyte uint16 ushort uint32 uintc uint64 uint uintp ulong ulonglong float16 "
    "half float32 single float64 float double complex64 csingle complex128 complex cdouble b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16"
)


@pytest.mark.parametrize(
    "text", [*CODES, *NAMES.split(), "<f8", "=i4", "|u1", "|f4", "<c16", ">i1", ">b1", "<?", "=e", "<l"]
)
def test_texts_of_dtypes(text):
    """As NumPy has them: "byte" has a sign, "float" is float64, "f" float32."""
    try:
        want = np.dtype(text)
    except TypeError:
        pytest.skip("not of this NumPy")
    assert njit(eval(f"lambda: np.zeros(3, {text!r})"))().dtype == want
    assert njit(eval(f"lambda a: a.astype({text!r})"))(np.ones(2)).dtype == want
    assert njit(eval(f"lambda a: a.dtype == {text!r}"))(np.ones(2, want)) is True


@pytest.mark.parametrize(
    "text",
    [
        "",
        "u",
        "g",
        ">f8",
        ">H",
        "boolean",
        "size_t",
        "<int8",
        "=half",
        "float_64",
        "f4,i4",
        " f4",
        "i3",
        "<",
        "char",
    ],
)
def test_texts_of_no_dtype(text):
    with pytest.raises(TreadleError, match="not a dtype that compiled code knows"):
        njit(eval(f"lambda: np.zeros(3, {text!r})"))()


def test_arange_by_name():
    for text in (
        "np.arange(stop=a)", "np.arange(start=1, stop=a)", "np.arange(1, stop=a)", "np.arange(1, a, step=2)", "np.arange(a, step=3)",
        "np.arange(start=1, stop=a, step=0.5)", "np.arange(step=2, stop=a, start=1)", "np.arange(0, a, 1, np.float32)", "np.arange(0, stop=a, dtype=np.int8)",
        "np.arange(a, None, 2)", "np.arange(0, a, None)", "np.arange(a, dtype=None)", "np.arange(stop=a, dtype='f4')",
    ):  # fmt: skip
        check(text, 7)
        check(text, 6.5)
    rejects("np.arange()", match="requires stop")
    rejects("np.arange(start=a)", 3, match="requires stop")
    rejects("np.arange(a, start=2)", 3, match="start twice")
    rejects("np.arange(0, a, stop=3)", 3, match="stop twice")
    rejects("np.arange(0, a, 1, np.int8, dtype=np.int8)", 3, match="dtype twice")
    rejects("np.arange(0, a, 1, np.int8, 3)", 3, match="one to four")


def test_an_axis_for_what_has_none():
    for text in (
        "np.ascontiguousarray(a)",
        "np.asfortranarray(a)",
        "np.ascontiguousarray(a, np.float32)",
        "np.asfortranarray(a, dtype=np.complex64)",
    ):
        for a in (np.array(3.0), 3, 2.5, True, np.float32(1), np.arange(4.0)[::2], np.ones((2, 3))):
            check(text, a)
    a = np.array(3.0)
    run("np.ascontiguousarray(a)", a)[0] = 5
    assert a == 5  # it is a view
    a.flags.writeable = False
    assert not run("np.asfortranarray(a)", a).flags.writeable


def test_flip_of_no_axes_is_the_item():
    for a in (np.array(3.0), 7, np.float32(2)):
        check("np.flip(a)", a)
    check("np.flip(a, ())", np.array(3.0))


def test_read_only_views_stay_so():
    """Where the result is all of the argument, it is not the argument, which may be written to."""
    a = np.ones(3)
    for text, x in (
        ("np.broadcast_to(a, 3)", a),
        ("np.broadcast_to(a, (3,))", a),
        ("np.broadcast_to(a, ())", np.array(2.0)),
        ("np.broadcast_to(a, (2, 3))", a),
    ):
        got = run(text, x)
        assert not got.flags.writeable and np.shares_memory(got, x)
        np.testing.assert_array_equal(got, eval(text, {"np": np, "a": x}))
    assert run("a", a) is a
    a.flags.writeable = False
    assert run("a", a) is a


def test_ellipsis_as_an_argument():
    f = njit(lambda a, i: a[i])
    g = njit(lambda a, i, j: a[i, j])

    @njit
    def store(a, i, v):
        a[i] = v

    a = np.arange(24.0).reshape(2, 3, 4)
    for i in (
        ...,
        (..., 1),
        (1, ...),
        (0, ..., 2),
        (..., slice(1, 3)),
        (slice(None), ..., np.array([0, 2])),
        (..., None),
    ):
        np.testing.assert_array_equal(f(a, i), a[i])
        b, want = a.copy(), a.copy()
        store(b, i, -1.0)
        want[i] = -1.0
        np.testing.assert_array_equal(b, want)
    np.testing.assert_array_equal(g(a, ..., 1), a[..., 1])
    assert njit(lambda x: x is ...)(...) is True and njit(lambda x: x is ...)(3) is False
    with pytest.raises(IndexError):
        f(a, (..., 4))


def test_axes_of_one_in_front_are_left_out_of_an_assignment():
    @njit
    def f(a, v):
        a[...] = v
        return a

    for shape, of in (
        ((3,), (1, 3)),
        ((3,), (1, 1, 1)),
        ((2, 3), (1, 2, 3)),
        ((2, 3), (1, 1, 1, 3)),
        ((), (1,)),
        ((0,), (1, 0)),
        ((2, 0), (1, 1, 0)),
    ):
        for dtype in (np.float64, np.int8):
            v = (np.arange(np.prod(of)) + 1).reshape(of).astype(dtype)
            want = np.zeros(shape)
            want[...] = v
            np.testing.assert_array_equal(f(np.zeros(shape), v), want)
    a = np.arange(6.0)
    njit(lambda a: f(a[1:], a[None, :-1]))(a)  # of its own memory
    np.testing.assert_array_equal(a, [0, 0, 1, 2, 3, 4])
    for shape, of in (((3,), (2, 3)), ((3,), (0, 3)), ((3,), (1, 2)), ((2, 3), (2, 1, 3))):
        with pytest.raises(ValueError, match="could not broadcast"):
            f(np.zeros(shape), np.ones(of))

    def add(a, b):
        a += b

    for bad in (add, lambda a, b: np.add(b, 1, out=a)):  # a result has as many as it has
        with pytest.raises((TreadleError, ValueError)):
            njit(bad)(np.zeros(3), np.ones((1, 3)))


def test_types_of_arrays_of_records_and_dates():
    dtype = np.dtype([("a", "f8"), ("b", "i4")])
    for item, of in (
        (types.as_type(dtype), dtype),
        (dtype, dtype),
        (np.dtype("M8[s]"), "M8[s]"),
        (types.as_type(np.dtype("m8[D]")), "m8[D]"),
    ):
        for ndim, layout, readonly in ((1, "C", False), (2, "F", False), (1, "A", True), (0, "C", False)):
            a = np.zeros((3,) * ndim, of, order="F" if layout == "F" else "C")
            a.flags.writeable = not readonly
            t = types.Array(item, ndim, layout, readonly)
            assert t.ndim == ndim and (layout == "A" or t == types.typeof(a))
            assert njit((t,))(lambda x: x.size)(a) == a.size
            with pytest.raises(TypeError, match="has no signature"):
                njit((t,))(lambda x: x.size)(np.zeros((3,) * ndim))
    assert types.Array(dtype, 2, "A") == types.as_type(dtype)[:, :]
    f = njit((types.Array(dtype, 1, "C"),))(lambda x: x[1].b)
    assert f(np.array([(1.0, 2), (3.0, 4)], dtype)) == 4
    for bad in (
        (types.void, 1, "C"),
        (dtype, 33, "C"),
        (dtype, 1, "B"),
        (dtype, -1, "C"),
        ((types.int64, types.int64), 1, "C"),
    ):
        with pytest.raises(ValueError, match="numbers, records or dates"):
            types.Array(*bad)
