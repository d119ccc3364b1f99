"""Questions about types, which are answered when a function compiles: numpy.issubdtype and its like."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Constant, is_constant, refuse


def issubdtype(arg1: Any, arg2: Any) -> Any:
    """Of dtypes and classes of numbers; not of texts such as 'f4'."""
    return isinstance(np.empty(1, arg1)[0], arg2)


def promote_types(type1: Any, type2: Any) -> Any:
    """The smallest dtype that both convert to safely."""
    return np.add(np.empty(0, type1), np.empty(0, type2)).dtype


def result_type(*arrays_and_dtypes: Constant) -> Any:
    """The dtype that an operation on these has. What is written as a number is weak, as in operations."""
    if len(arrays_and_dtypes) == 0:
        refuse("result_type() takes an array or a dtype at least")
    return parted(None, arrays_and_dtypes, ())


def parted(x: Any, rest: Constant, numbers: Constant) -> Any:
    """The dtype of a sum; numbers come last, so that they stay weak."""
    if len(rest) == 0:
        if x is None:
            return np.asarray(sum(numbers[1:], numbers[0])).dtype
        return beside(x, numbers)
    if isinstance(rest[0], (bool, int, float, complex, np.generic)):
        if is_constant(rest[0]) and not isinstance(rest[0], (bool, np.bool_)):
            return parted(x, rest[1:], (*numbers, rest[0]))
        return parted(x, (np.asarray(rest[0]), *rest[1:]), numbers)
    if x is None:
        return parted(sample(rest[0]), rest[1:], numbers)
    return parted(np.add(x, sample(rest[0])), rest[1:], numbers)


def beside(x: Any, numbers: Constant) -> Any:
    """The dtype of an array and numbers."""
    if len(numbers) == 0:
        return x.dtype
    return beside(np.add(x, numbers[0]), numbers[1:])


def sample(x: Any) -> Any:
    """An array without items, of the type of an array or a dtype."""
    if isinstance(x, np.ndarray):
        return np.ravel(x)[:0]
    return np.empty(0, x)


def can_cast(from_: Any, to: Any, casting: str = "safe") -> Any:
    """Of dtypes and arrays."""
    if casting not in ("no", "equiv", "safe", "same_kind", "unsafe"):
        raise ValueError("casting must be one of 'no', 'equiv', 'safe', 'same_kind', or 'unsafe'")
    if isinstance(from_, (bool, int, float, complex, np.generic)):
        refuse("can_cast() is for dtypes and arrays, not for numbers")
    old, new = sample(from_).dtype, sample(to).dtype
    if casting == "unsafe":
        return True
    if casting == "no" or casting == "equiv":
        return old == new
    safe = np.add(sample(old), sample(new)).dtype == new
    if casting == "safe":
        return safe
    return safe or place_of_kind(old) <= place_of_kind(new)


def place_of_kind(dtype: Any) -> int:
    """Kinds of numbers in the order in which they convert."""
    if dtype.kind == "b":
        return 0
    if dtype.kind == "u":
        return 1
    if dtype.kind == "i":
        return 2
    if dtype.kind == "f":
        return 3
    return 4


def isdtype(dtype: Any, kind: Constant) -> Any:
    """Whether a dtype is of a kind: a text, a dtype, or a tuple of these."""
    if isinstance(kind, tuple):
        return is_one_of(dtype, kind)
    k = sample(dtype).dtype.kind
    if kind == "bool":
        return k == "b"
    if kind == "signed integer":
        return k == "i"
    if kind == "unsigned integer":
        return k == "u"
    if kind == "integral":
        return k in "iu"
    if kind == "real floating":
        return k == "f"
    if kind == "complex floating":
        return k == "c"
    if kind == "numeric":
        return k in "iufc"
    if isinstance(kind, str):
        raise ValueError("kind argument is a string, but it is no known kind name")
    return sample(dtype).dtype == sample(kind).dtype


def is_one_of(dtype: Any, kinds: Constant) -> Any:
    """Whether a dtype is of one of these kinds."""
    if len(kinds) == 0:
        return False
    return isdtype(dtype, kinds[0]) or is_one_of(dtype, kinds[1:])


def common_type(*arrays: Any) -> Any:
    """The class of floating-point numbers that holds the items of all these arrays."""
    return common(np.empty(0, np.float16), arrays)


def common(x: Any, rest: Any) -> Any:
    """Of an array without items and others; whole numbers are float64."""
    if len(rest) == 0:
        return x.dtype.type
    a = sample(rest[0])
    if a.dtype.kind not in "iufc":
        refuse("can't get common type for non-numeric array")
    return common(x + (a.astype(np.float64) if a.dtype.kind in "iu" else a), rest[1:])


def min_scalar_type(a: Constant) -> Any:
    """Of an array its own dtype, of a number that is written out the smallest that holds it."""
    if isinstance(a, np.ndarray) and a.ndim > 0:
        return a.dtype
    if not is_constant(a):
        refuse("min_scalar_type() of a number that is not known when the function compiles has no type")
    elif isinstance(a, (bool, np.bool_)):
        return np.empty(0, np.bool_).dtype
    elif isinstance(a, (int, np.integer)):
        return smallest_integer(a)
    elif isinstance(a, (float, np.floating)):
        return smallest_float(a)
    else:
        refuse("min_scalar_type() takes arrays and real numbers in compiled code")


def smallest_integer(a: Constant) -> Any:
    if a >= 0:
        if a < 2**8:
            return np.empty(0, np.uint8).dtype
        if a < 2**16:
            return np.empty(0, np.uint16).dtype
        return np.empty(0, np.uint32).dtype if a < 2**32 else np.empty(0, np.uint64).dtype
    if a >= -(2**7):
        return np.empty(0, np.int8).dtype
    if a >= -(2**15):
        return np.empty(0, np.int16).dtype
    return np.empty(0, np.int32).dtype if a >= -(2**31) else np.empty(0, np.int64).dtype


def smallest_float(a: Constant) -> Any:
    if a - a != 0 or -65000 < a < 65000:
        return np.empty(0, np.float16).dtype
    return np.empty(0, np.float32).dtype if -3.4e38 < a < 3.4e38 else np.empty(0, np.float64).dtype
