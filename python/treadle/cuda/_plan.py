"""The common call of a ufunc on a GPU: device arrays of one shape that lie without gaps, and numbers, on the default stream.

What such a call does is known by the classes of its operands (dtypes, types of numbers), so it is worked out once for each and kept: a call looks at its operands and launches. All
other calls are those of `_ufunc`, which a plan does nothing else than.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._array import NUMBERS, DeviceNDArray, remote
from ._extent import Array
from ._loops import blocks_for

if TYPE_CHECKING:
    from ._ufunc import DeviceUfunc

__all__ = ["Plans"]


class _Plan:
    """What calls with operands of these classes do."""

    __slots__ = ("casts", "kernel", "result", "size")

    def __init__(self, kernel: Any, casts: list[Any], result: np.dtype[Any]) -> None:
        self.kernel = kernel
        self.casts = casts  # of each input the type that a number gets; None of an array
        self.result = result
        self.size: tuple[int, int] | None = None  # blocks at most, threads of each: known when it is launched


class Plans:
    """The plans of a ufunc of one output.

    Parameters
    ----------
    ufunc : DeviceUfunc
    """

    def __init__(self, ufunc: DeviceUfunc) -> None:
        self._ufunc = ufunc
        self._kept: dict[Any, _Plan | None] = {}

    def __call__(self, args: tuple[Any, ...], out: Any, most: int) -> DeviceNDArray | None:
        """The result of the call, ``out`` itself where it is given. None, and nothing was done: it is not of this kind."""
        if len(args) != self._ufunc.nin:
            return None
        shape = None
        classes: list[Any] = [most]
        operands: list[Any] = []
        for a in args:
            if type(a) is DeviceNDArray:
                mem = a._mem
                if shape is None:
                    shape = mem.shape
                if a.stream or mem.shape != shape or not mem.flags.c_contiguous:
                    return None
                classes.append(mem.dtype)
                operands.append(mem)
            elif isinstance(a, NUMBERS):
                classes.append(type(a))
                operands.append(a)
            else:
                return None
        if not shape or 0 in shape:
            return None
        key = tuple(classes)
        try:
            plan = self._kept[key]
        except KeyError:
            plan = self._kept[key] = self._plan(args, operands)
        if plan is None:
            return None
        if out is None:
            made = remote(shape, plan.result)
            result = DeviceNDArray(made)
        else:
            if type(out) is not DeviceNDArray:
                return None
            result, made = out, out._mem
            if (
                out.stream
                or made.shape != shape
                or made.dtype != plan.result
                or not _may_hold(made, operands)
            ):
                return None
        n: int = made.size
        operands = [x if to is None else to(x) for x, to in zip(operands, plan.casts)]
        flat = (
            operands
            if len(shape) == 1
            else [x.reshape(-1) if isinstance(x, np.ndarray) else x for x in operands]
        )
        flat.append(made if len(shape) == 1 else made.reshape(-1))
        if plan.size is None:
            plan.size = plan.kernel.size_of(most, (n, *flat))
        blocks, threads = plan.size
        plan.kernel.kernel[blocks_for(n, blocks, threads), threads](n, *flat)
        return result

    def _plan(self, args: tuple[Any, ...], operands: list[Any]) -> _Plan | None:
        """None where what is done depends on more than classes: on whether a number is one of the integers of a type."""
        u = self._ufunc
        numbers = [not isinstance(x, np.ndarray) for x in operands]
        if any(not number and not x.dtype.isnative for x, number in zip(operands, numbers)):
            return None
        want, results = u._loops.types_of(u._inputs(operands, numbers))
        if any(numbers):
            loops = [
                t
                for t in u._declared or [want]
                if all(number or x.dtype == w for x, w, number in zip(operands, t, numbers))
            ]
            floats = all(t[k].kind in "fc" for t in loops for k, number in enumerate(numbers) if number)
            if not loops or not floats or (not u._declared and int in map(type, args)):
                return None
        given = [w.type(x) if number else x.reshape(-1) for x, w, number in zip(operands, want, numbers)]
        return _Plan(
            u._loops.kernel_of(1, [*given, np.empty(0, results[0])], want, 0),
            [w.type if number else None for w, number in zip(want, numbers)],
            results[0],
        )


def _may_hold(out: Array, operands: list[Any]) -> bool:
    """Whether results can be stored there, one by one, while operands are read."""
    flags = out.flags
    if not (flags.c_contiguous and flags.writeable):
        return False
    for x in operands:
        if isinstance(x, np.ndarray) and x is not out and np.may_share_memory(x, out):
            if x.__array_interface__["data"][0] != out.__array_interface__["data"][0] or x.dtype != out.dtype:
                return False
    return True
