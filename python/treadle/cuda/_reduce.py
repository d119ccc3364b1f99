"""Reductions of arrays by a function of the user's: ``cuda.reduce``, and ``.reduce`` of the device's ufuncs."""

from __future__ import annotations

import operator
import types as _pytypes
from typing import Any, Callable

import numpy as np

from .._core import Function, prange
from ..decorators import _flags
from ._array import allocate, move, on_device, readable
from ._devices import is_emulated
from ._extent import Array
from ._interop import memory_of, settle
from ._loops import GpuFolds

__all__ = ["Reduce", "reduce"]

# Items that one core folds without a break: long enough that a block's start costs nothing, short enough that two cores end together.
BLOCK = 8192


def _fold_of(op: Any, name: str, item: Any) -> Function:
    """``fold(a, out)``: ``out[0]`` becomes the items of ``a``, one at least, joined by ``op``; each value on the way is an ``item``.

    The order depends on the length alone. Neighbours are joined, so ``op`` must be associative and need not be commutative. In a block eight stretches
    go side by side, as each call waits for the one before.
    """

    def join(a: Any, b: Any) -> Any:
        return item(op(a, b))

    def block(a: Any, lo: int, hi: int) -> Any:
        w = (hi - lo) // 8
        if w == 0:
            total = a[lo]
            for i in range(lo + 1, hi):
                total = join(total, a[i])
            return total
        p1, p2, p3, p4 = lo + w, lo + 2 * w, lo + 3 * w, lo + 4 * w
        p5, p6, p7, end = lo + 5 * w, lo + 6 * w, lo + 7 * w, lo + 8 * w
        s0, s1, s2, s3, s4, s5, s6, s7 = a[lo], a[p1], a[p2], a[p3], a[p4], a[p5], a[p6], a[p7]
        for i in range(1, w):
            s0 = join(s0, a[lo + i])
            s1 = join(s1, a[p1 + i])
            s2 = join(s2, a[p2 + i])
            s3 = join(s3, a[p3 + i])
            s4 = join(s4, a[p4 + i])
            s5 = join(s5, a[p5 + i])
            s6 = join(s6, a[p6 + i])
            s7 = join(s7, a[p7 + i])
        s0, s2 = join(s0, s1), join(s2, s3)
        s4, s6 = join(s4, s5), join(s6, s7)
        total = join(join(s0, s2), join(s4, s6))
        for i in range(end, hi):
            total = join(total, a[i])
        return total

    def fold(a: Any, out: Any) -> None:
        count = (a.size + BLOCK - 1) // BLOCK
        partial = np.empty(count, item)
        for b in prange(count):
            partial[b] = block(a, b * BLOCK, min((b + 1) * BLOCK, a.size))
        total = partial[0]
        for b in range(1, count):
            total = join(total, partial[b])
        out[0] = total

    fold.__name__ = fold.__qualname__ = name
    return Function(fold, _flags({"error_model": "numpy", "parallel": True}), {})


class Folds:
    """The folds by one function, compiled for each dtype that is met."""

    def __init__(self, op: Any) -> None:
        self.op = op
        self._made: dict[Any, Function] = {}
        self._gpu: Any = None

    def __call__(self, a: np.ndarray[Any, Any], out: np.ndarray[Any, Any]) -> None:
        """Fold the items of ``a``, one axis and one item at least, into ``out[0]``."""
        if not is_emulated():
            self._on_gpu(a, out)
            return
        made = self._made.get(a.dtype)
        if made is None:
            made = self._made.setdefault(
                a.dtype, _fold_of(self.op, self.op.__name__, np.dtype(a.dtype.str).type)
            )
        made(a, out)

    def _on_gpu(self, a: Array, out: Array) -> None:
        if self._gpu is None:
            self._gpu = GpuFolds(self.op)
        here = not on_device(out)
        result = allocate((1,), a.dtype) if here else out
        if not on_device(a):
            a, host = allocate(a.shape, a.dtype), a
            move(a, host)
        self._gpu(a, result)
        if here:
            move(out[:1], result)

    def last(self, a: Array, init: Any, out: Array) -> None:
        """Fold the items of ``a``, and then ``init`` from the right, into ``out[0]``."""
        pair = np.full(2, a.dtype.type(init), a.dtype)
        if a.size:
            if on_device(a):
                pair, host = allocate((2,), a.dtype), pair
                move(pair, host)
            self(a, pair[:1])
            self(pair, out)
        else:
            move(out, pair[:1])


def host_items(arr: Any) -> np.ndarray[Any, Any]:
    """The array's items in the order of bytes that compiled code reads.

    Raises
    ------
    TypeError
        It is no array, has more than one axis, or is one of strings.
    """
    a = memory_of(arr)
    a = arr if a is None else a
    if not isinstance(a, np.ndarray):
        raise TypeError(f"an array of the host or the device is reduced, not {type(arr).__name__}")
    if a.ndim != 1:
        raise TypeError(f"only arrays of one axis are reduced, this one has {a.ndim}")
    if a.dtype.kind in "SU":
        raise TypeError(f"only arrays of numbers are reduced, this one is of strings ({a.dtype})")
    if not a.dtype.isnative:
        a = np.asarray(readable(a), a.dtype.newbyteorder("="))
    return a


class Reduce:
    """A reduction by a function of two arguments, ``cuda.reduce`` for short: a decorator.

    The function must be associative, and ``init`` without an effect on it, unless that is meant: the items are joined in an order that depends on
    their number alone, on all cores, and ``init`` then from the right.

    Parameters
    ----------
    functor : function
        Of two items; its results are converted to the array's dtype. Division by zero gives what NumPy gives.

    Raises
    ------
    TypeError
        It is not a function.

    Examples
    --------
    >>> @cuda.reduce
    ... def total(a, b):
    ...     return a + b
    >>> total(np.arange(10))
    np.int64(45)
    """

    def __init__(self, functor: Callable[[Any, Any], Any]) -> None:
        if not isinstance(functor, (_pytypes.FunctionType, Function)):
            raise TypeError(
                f"cuda.reduce takes a Python function of two arguments, not {type(functor).__name__} {functor!r}"
            )
        code: Any = getattr(functor, "py_func", functor).__code__
        if code.co_argcount != 2:
            raise TypeError(
                f"cuda.reduce takes a function of two arguments, and {functor.__name__}() has {code.co_argcount}"
            )
        own = isinstance(functor, Function)
        self._folds = Folds(functor if own else Function(functor, _flags({"error_model": "numpy"}), {}))
        self.__name__ = functor.__name__
        self.__doc__ = functor.__doc__
        self.__wrapped__ = functor

    def __call__(
        self,
        arr: Any,
        size: int | None = None,
        res: Any = None,
        init: Any = 0,
        stream: Any = 0,
    ) -> Any:
        """Reduce an array.

        Parameters
        ----------
        arr : ndarray or DeviceNDArray, (n,)
        size : int, optional
            Only its first ``size`` items.
        res : DeviceNDArray, optional
            Where to leave the result, as its first item, in place of returning it.
        init : number
            What the items are joined with, and the result where there are none.
        stream : Stream

        Returns
        -------
        NumPy scalar of the array's dtype, or None where ``res`` is given

        Raises
        ------
        TypeError
            ``arr`` is no array of one axis, ``res`` none of the device or of another dtype.
        ValueError
            ``res`` has not one axis, or no items; ``size`` is negative.
        """
        settle(stream, arr, res)
        a = _first(host_items(arr), size)
        out = np.empty(1, a.dtype) if res is None else _result(res, a.dtype)
        self._into(a, out, init)
        return None if res is not None else out[0]

    def _into(self, a: np.ndarray[Any, Any], out: np.ndarray[Any, Any], init: Any) -> None:
        self._folds.last(a, init, out)

    def device_partial_inplace(
        self, darr: Any, size: int | None = None, init: Any = 0, stream: Any = 0
    ) -> int:
        """Reduce an array on the device within its own memory, as NumbaPro did: its first items are partial results, and the number of these is returned.

        On the emulated device there is one.

        Raises
        ------
        TypeError
            ``darr`` is no device array of one axis.
        """
        mem = memory_of(darr)
        if mem is None:
            raise TypeError(f"device_partial_inplace takes a device array, not {type(darr).__name__}")
        settle(stream, darr)
        a = _first(host_items(darr), size)
        if not a.size:
            return 0
        self._into(a, mem[:1], init)
        return 1

    def __repr__(self) -> str:
        return f"<reduction by {self.__name__}()>"


def _first(a: np.ndarray[Any, Any], size: Any) -> np.ndarray[Any, Any]:
    """The first ``size`` items, or as many as there are; None: all."""
    if size is None:
        return a
    n = operator.index(size)
    if n < 0:
        raise ValueError(f"size is {n}: there is no such number of items")
    return a[:n]


def _result(res: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """The item that the result is left in."""
    out = memory_of(res)
    if out is None:
        raise TypeError(f"`res` must be a device array, not {type(res).__name__}")
    if out.ndim != 1 or out.size < 1:
        raise ValueError(f"`res` must have one axis and an item at least, not the shape {out.shape}")
    if out.dtype != dtype:
        raise TypeError(f"`res` is of {out.dtype}, the array of {dtype}")
    return out[:1]


reduce = Reduce
