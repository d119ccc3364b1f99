"""Random numbers that are functions of a key and a place: in any order, on any number of threads, the same.

A key is a number, and each draw is given one: who draws twice by one key gets the same numbers twice. `split` and
`fold_in` make new keys of one. Nothing is remembered between draws, so there is no state to seed, to share or to
lock, and a draw that is a part of a larger expression is computed where it is used, without an array:

>>> k1, k2 = split(key(7))
>>> x = uniform(k1, (1000,))
>>> y = normal(k2, (3, 1000), np.float32)

The generator is Philox4x32-10, which passes all tests of TestU01's BigCrush. Each function is called from Python,
where its result is a lazy array, and in compiled functions, where it is an array or a number; the numbers are the
same. An array's last axis is a stream of its own, so ``uniform(key, (n,))`` begins with what ``uniform(key, (m,))``
gives for any smaller m, and is the first row of ``uniform(key, (5, n))``.

Names and meaning are those of ``jax.random``, the numbers are not; `randint` has its bounds before the shape, as
NumPy's.
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle._core import LazyArray, _lazy_call

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

__all__ = [
    "bits",
    "choice",
    "fold_in",
    "key",
    "normal",
    "permutation",
    "randint",
    "split",
    "uniform",
]


def _number(x: Any) -> Any:
    """An integer as what changes without a graph being compiled anew."""
    if type(x) is not int:
        return x
    return np.int64(x) if x < 2**63 else np.uint64(x)


def _shape(shape: int | tuple[int, ...]) -> tuple[Any, ...]:
    """Extents that may change without another compile; but few columns are drawn much faster where they are known."""
    s = shape if isinstance(shape, tuple) else (shape,)
    return tuple(_number(n) if i + 1 < len(s) or len(s) == 1 else n for i, n in enumerate(s))


def key(seed: Any) -> Any:
    """Return the key that a seed is.

    Parameters
    ----------
    seed : int
        Any integer from -2**63 to 2**64 - 1; those that are equal modulo 2**64 are one seed.

    Returns
    -------
    numpy.uint64
        A lazy one where `seed` is lazy.

    Raises
    ------
    OverflowError
        The seed has more than 64 bits.
    TypeError
        It is no integer.
    """
    if isinstance(seed, LazyArray):
        return _lazy_call(key, seed)
    n = index(seed)
    if not -(2**63) <= n < 2**64:
        raise OverflowError("a seed has at most 64 bits")
    return np.uint64(n % 2**64)


def split(key: Any, n: int = 2) -> Any:
    """Return several keys that are made of one.

    Parameters
    ----------
    key : uint64
        A key; it should not be drawn by after that.
    n : int
        How many.

    Returns
    -------
    lazy array of uint64, (n,)
        The keys. The first are the same for any n.
    """
    return _lazy_call(split, key, _number(n))


def fold_in(key: Any, data: Any) -> Any:
    """Return the key that is made of a key and a number: of an iteration, a file, a process.

    Parameters
    ----------
    key : uint64
        A key.
    data : int
        The number, of 64 bits.

    Returns
    -------
    lazy uint64
        The key.
    """
    return _lazy_call(fold_in, key, _number(data))


def bits(key: Any, shape: int | tuple[int, ...] = (), dtype: DTypeLike = np.uint32) -> Any:
    """Return unsigned integers, all equally likely.

    Parameters
    ----------
    key : uint64
        A key.
    shape : int or tuple of int
        The shape of what is returned.
    dtype : dtype
        uint8, uint16, uint32 or uint64.

    Returns
    -------
    lazy array of `dtype`
        For uint32 the words of Philox4x32-10 as they come; uint64 has two of them in an item, the lower half first,
        uint16 and uint8 the upper bits of one.
    """
    return _lazy_call(bits, key, _shape(shape), np.dtype(dtype).type)


def uniform(
    key: Any,
    shape: int | tuple[int, ...] = (),
    dtype: DTypeLike = np.float64,
    minval: Any = 0,
    maxval: Any = 1,
) -> Any:
    """Return numbers between others, all equally likely.

    Parameters
    ----------
    key : uint64
        A key.
    shape : int or tuple of int
        The shape of what is returned.
    dtype : dtype
        float32 or float64.
    minval, maxval : number
        The smallest, and what is larger than all.

    Returns
    -------
    lazy array of `dtype`
        ``minval + u * (maxval - minval)``, where u is a multiple of 2**-24 or 2**-53 in [0, 1). As in NumPy,
        rounding may give maxval.
    """
    t = np.dtype(dtype).type
    if type(minval) is type(maxval) is int and (minval, maxval) == (0, 1):
        return _lazy_call(uniform, key, _shape(shape), t)
    return _lazy_call(uniform, key, _shape(shape), t, minval, maxval)


def normal(key: Any, shape: int | tuple[int, ...] = (), dtype: DTypeLike = np.float64) -> Any:
    """Return normal numbers of mean 0 and variance 1.

    Parameters
    ----------
    key : uint64
        A key.
    shape : int or tuple of int
        The shape of what is returned.
    dtype : dtype
        float32 or float64.

    Returns
    -------
    lazy array of `dtype`
        By Box's and Muller's method, up to 6.7 (float32) or 8.6 (float64) away from 0. Multiply and add for another
        mean and variance.
    """
    return _lazy_call(normal, key, _shape(shape), np.dtype(dtype).type)


def randint(
    key: Any,
    minval: Any,
    maxval: Any,
    shape: int | tuple[int, ...] = (),
    dtype: DTypeLike = np.int64,
) -> Any:
    """Return integers of a range, all equally likely.

    Parameters
    ----------
    key : uint64
        A key.
    minval, maxval : int or array of int
        The smallest, and one more than the largest. Arrays broadcast to `shape`.
    shape : int or tuple of int
        The shape of what is returned. It comes after the bounds, as in NumPy.
    dtype : dtype
        A type of integers.

    Returns
    -------
    lazy array of `dtype`
        The upper half of 64 bits times the length of the range, plus `minval`. Of a range of n integers the
        probability of each is 1 / n, but for less than 2**-64.

    Raises
    ------
    ValueError
        A range is empty, or goes beyond the type's.
    """
    return _lazy_call(randint, key, _number(minval), _number(maxval), _shape(shape), np.dtype(dtype).type)


def choice(
    key: Any,
    a: Any,
    shape: int | tuple[int, ...] = (),
    replace: bool = True,
    p: ArrayLike | None = None,
) -> Any:
    """Return items that are chosen by chance.

    Parameters
    ----------
    key : uint64
        A key.
    a : int or array
        The items lie along the first axis; a number is short for all integers below it.
    shape : int or tuple of int
        How many.
    replace : bool
        Whether an item may come again.
    p : array of float, (n,), optional
        How likely each item is; they need not have the sum 1. Without it all are equally likely.

    Returns
    -------
    lazy array
        Of `shape`, and of the items' after that.

    Raises
    ------
    ValueError
        There are no items, or less than are asked for; `p` is not as long, or negative.
    """
    return _lazy_call(choice, key, _number(a), _shape(shape), replace, p)


def permutation(key: Any, x: Any, axis: int = 0) -> Any:
    """Return what is along an axis in an order of which all are equally likely.

    Parameters
    ----------
    key : uint64
        A key.
    x : int or array
        An array, which is copied; a number is short for all integers below it.
    axis : int
        The axis.

    Returns
    -------
    lazy array
        As large as `x`. Items go by 64 random bits each, so of n the orders are equally likely but for n**2 / 2**65.
    """
    return _lazy_call(permutation, key, _number(x), axis)
