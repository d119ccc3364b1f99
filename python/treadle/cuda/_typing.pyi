"""Types that annotations of this package share. Type checkers read it; there is no such module when a program runs."""

from collections.abc import Sequence
from typing import Any, Literal, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from .._core import Type
from ._array import DeviceNDArray
from ._stream import Stream

Size: TypeAlias = (
    SupportsIndex
    | tuple[SupportsIndex]
    | tuple[SupportsIndex, SupportsIndex]
    | tuple[SupportsIndex, SupportsIndex, SupportsIndex]
    | list[int]
)
StreamLike: TypeAlias = Stream | Literal[0] | None
# What stands in the brackets of a launch: grid, block, stream, bytes of dynamic shared memory.
Config: TypeAlias = (
    tuple[Size, Size] | tuple[Size, Size, StreamLike] | tuple[Size, Size, StreamLike, SupportsIndex]
)
Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | np.ndarray[Any, Any]
DType: TypeAlias = DTypeLike | Type
# What a kernel may index and change.
AnyArray: TypeAlias = np.ndarray[Any, Any] | DeviceNDArray
Index: TypeAlias = SupportsIndex | tuple[SupportsIndex, ...]
Number: TypeAlias = complex | np.number[Any] | np.bool_
