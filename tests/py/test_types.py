"""Types and signatures as Python objects."""

from __future__ import annotations

import copy
import gc
import pickle
from collections import namedtuple

import numpy as np
import pytest
import treadle
from treadle import _numba, types

SCALARS = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()


@pytest.mark.parametrize("name", SCALARS)
def test_scalar_types_by_name(name):
    t = getattr(types, name)
    assert repr(t) == str(t) == t.name == name
    assert types.as_type(name) is t
    assert types.as_type(np.dtype(name)) is t
    assert types.as_type(np.dtype(name).type) is t
    assert t.bitwidth == np.dtype(name).itemsize * 8
    assert t.ndim == 0 and t.layout is None and t.types == () and not t.mutable
    assert types.typeof(np.dtype(name).type(1)) is t


ALIASES = {
    "bool": "bool_ boolean b1",
    "int8": "i1 char",
    "int16": "i2 short",
    "int32": "i4 intc",
    "int64": "i8 intp int_ long_ longlong ssize_t",
    "uint8": "u1 byte uchar ubyte",
    "uint16": "u2 ushort",
    "uint32": "u4 uintc",
    "uint64": "u8 uintp uint ulong ulonglong size_t",
    "float16": "f2",
    "float32": "f4 float_",
    "float64": "f8 double",
    "complex64": "c8",
    "complex128": "c16",
    "none": "void",
    "str": "unicode_type",
    "bytes": "",
}


@pytest.mark.parametrize("name", ALIASES)
def test_aliases_are_the_same_objects(name):
    for alias in ALIASES[name].split():
        assert getattr(types, alias) is getattr(types, name)
        assert types.as_type(alias) is getattr(types, name)
        assert (
            types.signature(f"void({alias}[:])")
            if name not in ("none", "str", "bytes")
            else types.signature(f"{alias}()")
        )


def test_no_name_is_left_out():
    names = {*ALIASES, *" ".join(ALIASES.values()).split()}
    functions = {
        "Array",
        "CPointer",
        "DictType",
        "List",
        "ListType",
        "NamedTuple",
        "Optional",
        "Set",
        "SetType",
        "Signature",
        "Tuple",
        "Type",
        "UniTuple",
        "as_type",
        "optional",
        "signature",
        "typeof",
    }
    assert set(types.__all__) == names | functions


def test_top_level_exports():
    assert treadle.int32 is types.int32 and treadle.void is types.void and treadle.f8 is types.float64
    assert "int32" in dir(treadle)
    with pytest.raises(AttributeError, match="no attribute 'int33'"):
        treadle.int33
    namespace: dict = {}
    exec("from treadle import *", namespace)
    assert namespace["jit"] is treadle.jit


@pytest.mark.parametrize(
    "text, ndim, layout",
    [
        ("float32[:]", 1, "A"),
        ("float32[::1]", 1, "C"),
        ("float32[:, ::1]", 2, "C"),
        ("float32[::1, :]", 2, "F"),
    ]
    + [("float32[:,:,:]", 3, "A")],
)
def test_array_types(text, ndim, layout):
    t = eval(text, vars(types))
    assert types.as_type(text) is t
    assert (t.ndim, t.layout, t.dtype, t.mutable) == (ndim, layout, types.float32, True)
    assert repr(t) == f"array(float32, {ndim}d, {layout})"
    assert types.Array("f4", ndim, layout) is t


def test_array_type_of_many_forms():
    assert not types.Array(types.f8, 1, "C", readonly=True).mutable
    assert types.Array(types.f8, 1, "C", True) is not types.Array(types.f8, 1, "C")
    for bad in (1, (slice(None), 3), slice(0, None), slice(None, None, 2), ()):
        with pytest.raises(TypeError):
            types.float32[bad]
    with pytest.raises(TypeError, match="1 to 32 axes"):
        types.float32[(slice(None),) * 33]
    with pytest.raises(TypeError, match="not compiled"):
        types.float32[:][:]
    for args in (("f8", 1, "X"), ("f8", -1, "C"), ("f8", 99, "C"), (types.f8[:], 1, "C")):
        with pytest.raises(ValueError):
            types.Array(*args)


def test_tuples_and_named_tuples():
    t = types.Tuple((types.int64, "f4", None))
    assert t.types == (types.int64, types.float32, types.none)
    assert t is types.typeof((1, np.float32(2), None))
    assert types.UniTuple(types.f8, 3) is types.Tuple((float, float, float))
    point = namedtuple("point", "x y")
    p = types.NamedTuple((types.f8, types.i8), point)
    assert p is types.typeof(point(1.0, 2)) and "point" in repr(p)
    with pytest.raises(TypeError):
        types.NamedTuple((types.f8,), point)


def test_signatures():
    s = types.float64(types.int32, types.int32)
    assert repr(s) == "float64(int32, int32)"
    assert s.return_type is types.float64 and s.args == (types.int32, types.int32)
    for other in ("f8(i4, i4)", "float64(int32,int32)", "f8(i4,\n   i4)", " f8 ( i4 , i4 ) "):
        assert types.signature(other) == s and hash(types.signature(other)) == hash(s)
    assert types.signature("(i4, i4)") == types.signature((types.int32, np.int32))
    assert types.signature("(i4, i4)").return_type is None and types.signature("(i4, i4)") != s
    assert (
        repr(types.signature("void(f4[:], f4[:, ::1])"))
        == "none(array(float32, 1d, A), array(float32, 2d, C))"
    )
    assert types.void().args == ()


@pytest.mark.parametrize(
    "text", ["f8(", "f8(i4", "f9(i4)", "f8(i4,,i4)", "", "f8(i4) x", "f8[:", "f8(i4[)", "(i4"]
)
def test_bad_signature_text(text):
    with pytest.raises(TypeError):
        types.signature(text)


def test_what_is_no_type():
    for bad in (3, 2.5, [], object(), np.dtype(object), np.longdouble, str, "float65"):
        with pytest.raises(TypeError):
            types.as_type(bad)
    with pytest.raises(TypeError):
        types.signature(3)
    with pytest.raises(TypeError):
        types.float64(types.int32, 3)
    with pytest.raises(TypeError, match="keyword"):
        types.float64(x=3)


def test_types_convert_values_as_numpy_does():
    assert types.int8(3.7) == 3 and isinstance(types.int8(3.7), np.int8)
    assert types.float32(1) == 1.0 and isinstance(types.float32(1), np.float32)
    assert types.complex128(np.float32(2)) == 2


def test_identity_survives():
    for t in (
        types.int32,
        types.float32[:, ::1],
        types.Tuple((types.i4, types.f8[:])),
        types.Array("f8", 2, "F", True),
    ):
        assert pickle.loads(pickle.dumps(t)) is t
        assert copy.copy(t) is t and copy.deepcopy(t) is t
        assert {t: 1}[t] == 1
    assert types.int32 != types.int64 and types.int32 != "int32"
    with pytest.raises(TypeError):
        types.int32 < types.int64  # noqa: B015


@pytest.mark.parametrize(
    "text",
    ["u1(i8)", "f8()", "()", "i4, f8[::1]", "void(f8[:])", "Tuple((u1, f4))(UniTuple(f8, 2))", "none(none)"],
)
def test_signatures_are_copied_and_pickled(text):
    s = treadle.signature(text)
    assert pickle.loads(pickle.dumps(s)) == s and copy.copy(s) == s and copy.deepcopy(s) == s


@pytest.mark.parametrize(
    "value, text",
    [
        (1, "int64"),
        (True, "bool"),
        (1.0, "float64"),
        (1j, "complex128"),
        (None, "none"),
        ("x", "str"),
        ((1, "x"), "(int64, str)"),
        (np.float32(1), "float32"),
        (np.uint64(1), "uint64"),
        (np.longlong(1), "int64"),
        (np.zeros(3), "array(float64, 1d, C)"),
        (np.zeros(6)[::2], "array(float64, 1d, A)"),
        (np.zeros((2, 3)).T, "array(float64, 2d, F)"),
        (np.zeros((2, 3, 4)).transpose(1, 0, 2), "array(float64, 3d, A)"),
        (np.zeros(()), "array(float64, 0d, C)"),
        (np.zeros((0, 3)), "array(float64, 2d, C)"),
        (np.zeros((3, 1)), "array(float64, 2d, C)"),
        (np.zeros(3, "i2"), "array(int16, 1d, C)"),
        (np.zeros(3, bool), "array(bool, 1d, C)"),
    ],
)
def test_typeof(value, text):
    assert repr(treadle.typeof(value)) == text


def test_typeof_readonly():
    a = np.zeros(3)
    a.flags.writeable = False
    assert treadle.typeof(a) is types.Array(types.f8, 1, "C", readonly=True)
    assert treadle.typeof(np.broadcast_to(1.0, (3, 3))).layout == "A"


def test_typeof_constants():
    assert treadle.typeof(len).literal_value is len
    assert treadle.typeof("a") == treadle.typeof("b") == types.unicode_type
    assert treadle.typeof((1, len)).literal_value
    with pytest.raises(AttributeError):
        types.int32.literal_value
    with pytest.raises(TypeError):
        pickle.dumps(treadle.typeof(len))


def test_optional():
    """None, or a number: as a result, as a list's items, and as a parameter, which takes both."""
    maybe = types.Optional(treadle.float64)
    assert (
        maybe is types.optional("float64") is types.as_type("Optional(float64)") is types.as_type(repr(maybe))
    )

    @treadle.njit(maybe(maybe, types.Optional(types.int64[:])))
    def f(x, a):
        if x is None:
            return None
        return x + 1.0 if a is None else x * 2.0

    assert (f(None, None), f(1.5, None), f(1.5, np.arange(3))) == (None, 2.5, 3.0)
    assert len(f.signatures) == 4
    with pytest.raises(TypeError, match="has no signature for arguments"):
        f("a", None)
    with pytest.raises(TypeError):
        types.as_type("optional(")

    @_numba.jit([maybe(maybe)])  # the decorator of `treadle run`
    def g(x):
        return x

    assert (g(None), g(2.5)) == (None, 2.5)


def test_attribute_errors():
    with pytest.raises(AttributeError):
        types.int32.dtype
    with pytest.raises(AttributeError):
        types.int32[:].bitwidth


def test_types_are_not_made_or_changed_by_users():
    for cls in (treadle.Type, treadle.Signature):
        with pytest.raises(TypeError):
            cls()
    with pytest.raises(TypeError):
        treadle.Type.x = 1
    gc.collect()
