"""DLPack's table for C as others see it: its layout by ctypes, and a type of arrays that has one and nothing else."""

from __future__ import annotations

import ctypes as c

import built
import numpy as np
import pytest

__all__ = [
    "ERROR",
    "Foreign",
    "Handed",
    "Table",
    "Tensor",
    "Versioned",
    "capsule",
    "foreign_table",
    "table_at",
    "table_of",
    "told",
]

NAME = b"dlpack_exchange_api"


class Tensor(c.Structure):
    _fields_ = [
        ("data", c.c_void_p),
        ("kind", c.c_int32),
        ("id", c.c_int32),
        ("ndim", c.c_int32),
        ("code", c.c_uint8),
        ("bits", c.c_uint8),
        ("lanes", c.c_uint16),
        ("shape", c.POINTER(c.c_int64)),
        ("strides", c.POINTER(c.c_int64)),
        ("byte_offset", c.c_uint64),
    ]

    def told(self):
        """(address, shape, strides, items)"""
        n = self.ndim
        items = ("iuf??cb"[self.code], self.bits)
        return (self.data or 0) + self.byte_offset, tuple(self.shape[:n]), tuple(self.strides[:n]), items


class Versioned(c.Structure):
    pass


DELETER = c.PYFUNCTYPE(None, c.POINTER(Versioned))
Versioned._fields_ = [
    ("major", c.c_uint32),
    ("minor", c.c_uint32),
    ("context", c.c_void_p),
    ("deleter", DELETER),
    ("flags", c.c_uint64),
    ("t", Tensor),
]
ERROR = c.PYFUNCTYPE(None, c.c_void_p, c.c_char_p, c.c_char_p)


class Table(c.Structure):
    """With the GIL, but for `allocate`, which is called without."""

    _fields_ = [
        ("major", c.c_uint32),
        ("minor", c.c_uint32),
        ("older", c.c_void_p),
        (
            "allocate",
            c.CFUNCTYPE(c.c_int, c.POINTER(Tensor), c.POINTER(c.POINTER(Versioned)), c.c_void_p, ERROR),
        ),
        ("give", c.PYFUNCTYPE(c.c_int, c.py_object, c.POINTER(c.POINTER(Versioned)))),
        ("make", c.PYFUNCTYPE(c.c_int, c.POINTER(Versioned), c.POINTER(c.py_object))),
        ("look", c.PYFUNCTYPE(c.c_int, c.py_object, c.POINTER(Tensor))),
        ("stream", c.PYFUNCTYPE(c.c_int, c.c_int32, c.c_int32, c.POINTER(c.c_void_p))),
    ]


_pointer = c.pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = [c.py_object, c.c_char_p], c.c_void_p
capsule = c.pythonapi.PyCapsule_New
capsule.argtypes, capsule.restype = [c.c_void_p, c.c_char_p, c.c_void_p], c.py_object


def table_of(cls):
    """The table of a type."""
    return Table.from_address(_pointer(cls.__dlpack_c_exchange_api__, NAME))


def table_at(table):
    """A capsule of a table, which must live as long."""
    return capsule(c.addressof(table), NAME, None)


def fill(t, address, shape, strides, items, kind):
    """The tensor of an array; the sizes are to be kept."""
    n = len(shape)
    sizes = (c.c_int64 * (2 * n))(*shape, *(strides or shape))
    at = c.cast(sizes, c.POINTER(c.c_int64))
    t.data, t.kind, t.id, t.ndim, t.byte_offset = address, kind, 0, n, 0
    t.code, t.bits, t.lanes = "iuf??cb".index(items.kind), items.itemsize * 8, 1
    t.shape, t.strides = at, c.cast(c.addressof(sizes) + 8 * n, c.POINTER(c.c_int64))
    if strides is None:
        t.strides = None
    return sizes


class _At(c.Structure):
    _fields_ = [
        ("tensor", c.POINTER(Tensor)),
        ("managed", c.POINTER(Versioned)),
        ("tensor_bytes", c.c_size_t),
        ("managed_bytes", c.c_size_t),
        ("refuses", c.c_int),
    ]


class _Told(c.Structure):
    _fields_ = [(n, c.c_uint) for n in ("looks", "gives", "streams", "alive")] + [("stream", c.c_void_p)]


_path = built.made("libfake_arrays.so")
if _path is None:
    pytest.skip("arrays with a table lie in a build of the tests", allow_module_level=True)
_lib = c.CDLL(str(_path))
told = _Told.in_dll(_lib, "foreign_told")
_types = dict(Table._fields_)


def foreign_table(major=1, minor=3, older=None, without=()):
    """A table by the functions of tests/fake/arrays.c."""
    table = Table(major, minor, older)
    for name in ("give", "look", "stream"):
        if name not in without:
            setattr(table, name, c.cast(getattr(_lib, f"foreign_{name}"), _types[name]))
    return table


class Foreign:
    """An array of another package's over memory that ``owner`` has. `refuses`: to be looked at (1), with another error than DLPack's, and to be given, too (2)."""

    table = foreign_table()
    __dlpack_c_exchange_api__ = table_at(table)

    def __init__(self, owner, kind, address, shape, strides, dtype, readonly=False, change=()):
        self.owner = owner
        self.tensor = Tensor()
        self.sizes = fill(self.tensor, address, shape, strides, np.dtype(dtype), kind)
        for name, value in dict(change).items():
            setattr(self.tensor, name, value)
        self.managed = Versioned(1, 3, None, c.cast(_lib.foreign_over, DELETER), int(readonly), self.tensor)
        sizes = c.sizeof(Tensor), c.sizeof(Versioned)
        self.of = _At(c.pointer(self.tensor), c.pointer(self.managed), *sizes, int(readonly))
        self.at = c.addressof(self.of)

    @property
    def __cuda_array_interface__(self):
        raise AssertionError("it has a table")


class Plain(c.Structure):
    pass


PLAIN_DELETER = c.PYFUNCTYPE(None, c.POINTER(Plain))
Plain._fields_ = [("t", Tensor), ("context", c.c_void_p), ("deleter", PLAIN_DELETER)]


class Handed:
    """An array of another package's that gives capsules, by what `__dlpack__` is: of a tensor with a version, or of one without. `over` counts how many came back. It lives as long as the tests, as whoever took one may give it back late."""

    _all = []

    def __init__(self, kind, address, shape, strides, dtype, versioned, change=(), flags=0):
        self.kind, self.versioned, self.over = kind, versioned, 0
        self._all.append(self)
        t = Tensor()
        self.sizes = fill(t, address, shape, strides, np.dtype(dtype), kind)
        for name, value in dict(change).items():
            setattr(t, name, value)
        self.ends = (DELETER if versioned else PLAIN_DELETER)(self._end)
        self.given = Versioned(1, 0, None, self.ends, flags, t) if versioned else Plain(t, None, self.ends)

    def _end(self, tensor):
        self.over += 1

    def __dlpack__(self, **given):
        if "max_version" in given and not self.versioned:
            raise TypeError("no versions")
        given.pop("max_version", None)
        return capsule(
            c.addressof(self.given), b"dltensor_versioned" if self.versioned else b"dltensor", None
        )

    def __dlpack_device__(self):
        return self.kind, 0
