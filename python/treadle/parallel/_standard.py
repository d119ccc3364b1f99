"""What treadle.parallel.array_api is made of: there names like ``any`` and ``bool`` are the standard's."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

import treadle.parallel._functions as _own
from treadle._core import LazyArray, _lazy_call

_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")

# What is NumPy's: functions of lazy arrays, which make nodes, and what is no array. A name before NumPy 2 after "=".
_NUMPY = """
abs acos=arccos acosh=arccosh add all any argmax argmin asin=arcsin asinh=arcsinh atan=arctan atan2=arctan2
atanh=arctanh bitwise_and bitwise_invert=invert bitwise_left_shift=left_shift bitwise_or
bitwise_right_shift=right_shift bitwise_xor broadcast_arrays broadcast_to ceil clip concat=concatenate conj copysign
cos cosh count_nonzero cumulative_prod cumulative_sum diff divide=true_divide equal exp expand_dims expm1 flip floor
floor_divide greater greater_equal hypot imag isfinite isinf isnan less less_equal log log10 log1p log2 logaddexp
logical_and logical_not logical_or logical_xor matmul matrix_transpose max maximum mean min minimum moveaxis multiply
negative nextafter nonzero not_equal permute_dims=transpose positive pow=power prod real reciprocal remainder repeat
reshape roll round sign signbit sin sinh sqrt square squeeze stack std subtract sum take_along_axis tan tanh
tensordot tile tril triu trunc var vecdot
bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128
e inf nan pi newaxis finfo iinfo isdtype
"""
_OLD = {"bool": "bool_"}
# What makes arrays, whose arguments are none: NumPy's functions called by nodes.
_MADE = "empty eye linspace meshgrid"
_LIKE = "empty_like full_like ones_like zeros_like"
_OWN = (
    "arange",
    "full",
    "ones",
    "zeros",
    "searchsorted",
    "take",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "where",
)


def found() -> dict[str, Any]:
    """Return the names that NumPy, or this package, has a meaning for."""
    names: dict[str, Any] = {}
    for entry in _NUMPY.split():
        name, _, old = entry.partition("=")
        if hasattr(np, name) and name != "bool":
            names[name] = getattr(np, name)
        elif hasattr(np, old or _OLD.get(name, "")):
            names[name] = getattr(np, old or _OLD[name])
    for name in _LIKE.split():
        names[name] = getattr(np, name)
    for name in _MADE.split():
        names[name] = _node_of(getattr(np, name))
    for name in _OWN:
        names[name] = getattr(_own, name)
    return names


def _node_of(fn: Callable[..., Any]) -> Callable[..., LazyArray]:
    def call(*args: Any, device: Any = None, **kwargs: Any) -> LazyArray:
        _check_device(device)
        return _lazy_call(fn, *args, **kwargs)

    call.__name__, call.__doc__ = fn.__name__, fn.__doc__
    return call


def _check_device(device: Any) -> None:
    if device not in (None, "cpu"):
        raise ValueError(f"there is the device 'cpu', not {device!r}")


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> LazyArray:
    """Return a lazy array of an array, a number, or what NumPy makes an array of.

    Parameters
    ----------
    obj : array_like
        What it is of: itself, where that is an array.
    dtype : data type, optional
        Of the items.
    device : {"cpu"}, optional
        Where it is.
    copy : bool, optional
        Whether `obj` is copied now.

    Returns
    -------
    LazyArray
        Of that dtype.

    Raises
    ------
    ValueError
        With ``copy=False``, if another dtype needs a copy; or there is no such device.
    """
    _check_device(device)
    x = _own.array(obj, copy=bool(copy))
    if dtype is None or x.dtype == np.dtype(dtype):
        return x
    if copy is False:
        raise ValueError("another dtype needs a copy, which copy=False rules out")
    return x.astype(np.dtype(dtype))


def astype(x: LazyArray, dtype: Any, /, *, copy: bool = True, device: Any = None) -> LazyArray:
    """Return an array's items as another dtype: `numpy.ndarray.astype`."""
    _check_device(device)
    return x if not copy and x.dtype == np.dtype(dtype) else x.astype(np.dtype(dtype))


def sort(x: LazyArray, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> LazyArray:
    """Return the items along an axis in order."""
    if not descending:
        return _own.sort(x, axis)
    return _lazy_call(np.flip, _own.sort(x, axis), axis)


def argsort(x: LazyArray, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> LazyArray:
    """Return where items stand that are in order along an axis; those that are equal in their own."""
    if not descending:
        return _own.argsort(x, axis)
    last = x.shape[axis] - 1
    return _lazy_call(np.flip, last - _own.argsort(_lazy_call(np.flip, x, axis), axis), axis)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> LazyArray:
    """Return a lazy array of another library's array, by DLPack."""
    _check_device(device)
    return _own.array(np.from_dlpack(x), copy=bool(copy))


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """Return the dtype that arrays, dtypes and numbers have together; nothing is computed."""
    return np.result_type(*(x.dtype if isinstance(x, LazyArray) else x for x in arrays_and_dtypes))


def can_cast(from_: Any, to: Any, /) -> bool:
    """Return whether an array's, or a dtype's, values are all there in another dtype; nothing is computed."""
    return np.can_cast(from_.dtype if isinstance(from_, LazyArray) else from_, to)


class _Info:
    """What there is: devices and data types."""

    _KINDS = (
        ("bool", "bool"),
        ("signed integer", "int8 int16 int32 int64"),
        ("unsigned integer", "uint8 uint16 uint32 uint64"),
        ("real floating", "float32 float64"),
        ("complex floating", "complex64 complex128"),
    )
    _GROUPS = {"integral": (1, 2), "numeric": (1, 2, 3, 4)}

    def capabilities(self) -> dict[str, Any]:
        """Return what holds of arrays."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 16}

    def default_device(self) -> str:
        """Return where arrays are made."""
        return "cpu"

    def devices(self) -> list[str]:
        """Return where arrays can be."""
        return ["cpu"]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """Return the dtypes that numbers of Python's become."""
        _check_device(device)
        kinds = {
            "real floating": "float64",
            "complex floating": "complex128",
            "integral": "int64",
            "indexing": "int64",
        }
        return {kind: np.dtype(name) for kind, name in kinds.items()}

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, Any]:
        """Return the dtypes of some kinds, or all."""
        _check_device(device)
        kinds = (kind,) if isinstance(kind, str) else kind
        found: dict[str, Any] = {}
        for k, (name, dtypes) in enumerate(self._KINDS):
            if kinds is None or any(name == one or k in self._GROUPS.get(one, ()) for one in kinds):
                found |= {d: np.dtype(d) for d in dtypes.split()}
        return found


def info() -> _Info:
    """Return what the standard asks about a library."""
    return _Info()


def namespace_of(x: LazyArray, /, *, api_version: str | None = None) -> Any:
    """Return the module, of a version of the standard."""
    if api_version is not None and api_version not in _VERSIONS:
        raise ValueError(f"there are the array API's versions {', '.join(_VERSIONS)}, not {api_version!r}")
    return import_module("treadle.parallel.array_api")


def to_device(x: LazyArray, device: Any, /, *, stream: Any = None) -> LazyArray:
    """Return the array itself, which is on the host."""
    _check_device(device)
    if stream is not None:
        raise ValueError("the host has no streams")
    return x
