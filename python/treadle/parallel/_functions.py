"""The functions of treadle.parallel as Python calls them: each makes a node of a graph. In compiled code the function of
the same name in `treadle._library.primitives` stands in its place, and runs at once.

Errors of types, and of axes that are not there, are a `treadle.errors.TypingError` when a graph is compiled: at the first
evaluation, or where ``dtype`` or ``ndim`` is asked for. Errors of values (lengths, indices) are raised by the evaluation.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from inspect import signature
from types import MethodType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from treadle import config
from treadle._core import _lazy, _lazy_call, _lazy_host, _lazy_items

from . import _checks

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

    from treadle._core import LazyArray

__all__ = [
    "arange",
    "argsort",
    "array",
    "bincount",
    "extension",
    "filter",
    "full",
    "fuse",
    "histogram",
    "map",
    "merge",
    "ones",
    "reduce",
    "reduce_by_key",
    "run_length_encode",
    "scan",
    "scatter",
    "searchsorted",
    "sort",
    "sort_by_key",
    "stable_partition",
    "tabulate",
    "take",
    "topk",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "where",
    "zeros",
]


def array(x: ArrayLike | LazyArray, *, copy: bool = False) -> LazyArray:
    """Return a lazy array of what `x` holds when it is evaluated.

    Parameters
    ----------
    x : array_like
        An array, which is not copied; or what NumPy makes one of.
    copy : bool, optional
        Whether it is: then later changes of `x` do not matter.

    Returns
    -------
    LazyArray
        Of the shape and dtype of `x`.
    """
    return _lazy(np.array(x) if copy else x)


def extension(
    fn: Callable[..., Any],
    *,
    shape: Callable[..., tuple[int, ...]] | None = None,
    dtype: Callable[..., DTypeLike | LazyArray] | None = None,
) -> Callable[..., LazyArray]:
    """Return a function whose calls are nodes of a graph that Python computes: a call of another library, say.

    Parameters
    ----------
    fn : function
        Takes arrays, and whatever else the calls hand to it; returns an array, or a tuple of arrays. It is called when
        what is made of its results is evaluated, once for each node, and with values in place of lazy arrays.
    shape : function, optional
        Takes the same arguments, lazy arrays as they are, and returns the result's shape. Without it asking for the
        shape calls `fn`.
    dtype : function, optional
        The same for the result's dtype: it returns that, or an array that has it.

    Returns
    -------
    function
        Takes what `fn` takes, and returns a LazyArray.

    Raises
    ------
    ValueError
        At evaluation: the result has another shape or dtype than was promised.

    Examples
    --------
    >>> import numpy as np, treadle.parallel as tp
    >>> roll = tp.extension(np.roll, shape=lambda a, k: a.shape, dtype=lambda a, k: a)
    >>> x = tp.array(np.arange(4.0))
    >>> (roll(x * 2, 1) + x).tolist()
    [6.0, 1.0, 4.0, 7.0]
    """

    return _Extension(_lazy_host, fn, shape, dtype)


class _Extension(partial[Any]):
    """What `extension` returns: of a function in C, which costs less than one of Python's around it."""

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        """In a class it is a method, as functions are."""
        return self if obj is None else MethodType(self, obj)

    @property
    def __name__(self) -> str:
        return getattr(self.args[0], "__name__", "call")

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return getattr(self.args[0], "__doc__", None)


# --- map, reduce, scan ---


def map(f: Callable[..., Any], *xs: ArrayLike | LazyArray) -> LazyArray:
    """Return what a function gives for the items of arrays.

    Parameters
    ----------
    f : function
        Takes a number for each of `xs`; returns a number, or a tuple of numbers. It runs for items in any order.
    *xs : array_like
        Of shapes that broadcast.

    Returns
    -------
    LazyArray
        Of the common shape. Where `f` returns a tuple, the result is unpacked to arrays: ``a, b = tp.map(f, x)``.

    Raises
    ------
    ValueError
        If the shapes do not broadcast.
    """
    return _lazy_call(map, f, xs[0]) if len(xs) == 1 else _lazy_call(map, f, *xs)


def reduce(op: Callable[..., Any], x: Any, axis: Any = None, *, identity: Any = None) -> Any:
    """Return all items along an axis joined to one.

    Parameters
    ----------
    op : ufunc or function of two
        Associative: that is a promise, as items are joined in a tree; ``TREADLE_PARALLEL_CHECK=1`` looks at some. A function
        of your own takes two numbers and returns one; with a tuple of arrays it takes two tuples of numbers, and returns one.
    x : array_like, or tuple of arrays and numbers
        What is reduced. Arrays in a tuple are broadcast.
    axis : int, tuple of int or None, optional
        Along which axes; None is all. A constant in compiled code.
    identity : number or tuple of numbers, optional
        What `op` joins with any item to give that item back. Needed where `op` is no ufunc; with a tuple `x`, a tuple of
        as many.

    Returns
    -------
    LazyArray or tuple of LazyArray
        Of the shape of `x` without these axes; a tuple where `x` is one. Its dtype is what NumPy's ``op.reduce`` has; with a
        function, what items, the identity and the function's results have together.

    Raises
    ------
    ValueError
        If there are no items, and no identity is given or is the ufunc's own.
    """
    if config.PARALLEL_CHECK:
        _checks.associative(op, x)
    r = _lazy_call(reduce, op, x, axis, identity=identity)
    return _lazy_items(r, len(x)) if _is_several(op, x) else r


def scan(
    op: Callable[..., Any],
    x: Any,
    axis: int = 0,
    *,
    exclusive: bool = False,
    reverse: bool = False,
    identity: Any = None,
) -> Any:
    """Return each item along an axis joined with all before it.

    Parameters
    ----------
    op : ufunc or function of two
        As for `reduce`.
    x : array_like, or tuple of arrays and numbers
        What is scanned.
    axis : int, optional
        Along which axis. A constant in compiled code, as are `exclusive` and `reverse`.
    exclusive : bool, optional
        Leave out the item itself: the first result is the identity.
    reverse : bool, optional
        Begin with the last item: ``op`` has what comes later on its left.
    identity : number or tuple of numbers, optional
        As for `reduce`. An exclusive scan by a ufunc that has none of its own (`maximum`) needs it, too.

    Returns
    -------
    LazyArray or tuple of LazyArray
        Of the shape of `x`; a tuple where `x` is one. Dtypes are as for `reduce`.
    """
    if config.PARALLEL_CHECK:
        _checks.associative(op, x)
    r = _lazy_call(scan, op, x, axis, exclusive=exclusive, reverse=reverse, identity=identity)
    return _lazy_items(r, len(x)) if _is_several(op, x) else r


def _is_several(op: Any, x: Any) -> bool:
    return isinstance(x, tuple) and len(x) > 0 and not hasattr(op, "accumulate")


# --- what is chosen ---


def filter(pred: Callable[[Any], Any], x: ArrayLike | LazyArray) -> LazyArray:
    """Return the items for which a predicate holds.

    Parameters
    ----------
    pred : function
        Takes a number; what it returns counts as ``if`` takes it.
    x : array_like
        Of any shape.

    Returns
    -------
    LazyArray
        One axis, dtype of `x`; items are in their order (of more axes: C order).
    """
    return _lazy_call(filter, pred, x)


def stable_partition(pred: Callable[[Any], Any], x: ArrayLike | LazyArray) -> tuple[LazyArray, LazyArray]:
    """Return the items for which a predicate holds, followed by the others.

    Parameters
    ----------
    pred : function
        As for `filter`.
    x : array_like
        Of any shape.

    Returns
    -------
    items : LazyArray
        One axis with all items, dtype of `x`; both parts are in their order.
    count : LazyArray
        How many the first part has, int64.
    """
    return _lazy_items(_lazy_call(stable_partition, pred, x), 2)


def topk(
    x: ArrayLike | LazyArray,
    k: int,
    axis: int = -1,
    *,
    key: Callable[[Any], Any] | None = None,
    largest: bool = True,
    sorted: bool = True,
    nan: str = "largest",
) -> tuple[LazyArray, LazyArray]:
    """Return the k largest items along an axis, the largest first, and where they stand.

    Of equal items those are taken that come first, and they keep their order.

    Parameters
    ----------
    x : array_like
        Of any shape.
    k : int
        How many.
    axis : int, optional
        Along which axis. A constant in compiled code, as are `largest`, `sorted` and `nan`.
    key : function, optional
        Items are compared by what it gives for them (``key=abs``); the result has the items.
    largest : bool, optional
        False: the k smallest, the smallest first.
    sorted : bool, optional
        False: the order of the k does not matter, and may become another one.
    nan : {"largest", "omit"}, optional
        What NaN is: larger than anything, as in `numpy.sort`; or what is taken only when nothing else is left.

    Returns
    -------
    values : LazyArray
        The items: ``k`` along the axis, dtype of `x`.
    indices : LazyArray
        Their places along the axis, int64.

    Raises
    ------
    ValueError
        If ``k`` is negative, or more than there are.
    """
    r = _lazy_call(topk, x, k, axis, key=key, largest=largest, sorted=sorted, nan=nan)
    return _lazy_items(r, 2)


# --- order ---


def sort(x: ArrayLike | LazyArray, axis: int = -1) -> LazyArray:
    """Return the items along an axis in ascending order, NaN last.

    Parameters
    ----------
    x : array_like
        Of any shape but a number's.
    axis : int, optional
        Along which axis. A constant in compiled code.

    Returns
    -------
    LazyArray
        Shape and dtype of `x`. The sort is stable.
    """
    return _lazy_call(sort, x, axis)


def argsort(x: ArrayLike | LazyArray, axis: int = -1) -> LazyArray:
    """Return where the items stand that are in ascending order along an axis.

    Parameters
    ----------
    x : array_like
        Of any shape but a number's.
    axis : int, optional
        Along which axis. A constant in compiled code.

    Returns
    -------
    LazyArray
        Shape of `x`, int64. The sort is stable, NaN last.
    """
    return _lazy_call(argsort, x, axis)


def sort_by_key(keys: ArrayLike | LazyArray, *vals: ArrayLike | LazyArray) -> tuple[LazyArray, ...]:
    """Return keys in ascending order, and other arrays in the order of these.

    Parameters
    ----------
    keys : array_like
        One axis of length n.
    *vals : array_like
        Length n along their first axis.

    Returns
    -------
    tuple of LazyArray
        The keys and each of `vals`. What has equal keys keeps its order; NaN is last.

    Raises
    ------
    ValueError
        If lengths differ.
    """
    return _lazy_items(_lazy_call(sort_by_key, keys, *vals), 1 + len(vals))


def merge(a: ArrayLike | LazyArray, b: ArrayLike | LazyArray) -> LazyArray:
    """Return the items of two sorted arrays as one sorted array.

    Parameters
    ----------
    a, b : array_like
        One axis each, in ascending order, NaN last. That is not checked.

    Returns
    -------
    LazyArray
        All items, in the dtype that both have together; of equal ones those of `a` first.
    """
    return _lazy_call(merge, a, b)


def run_length_encode(x: ArrayLike | LazyArray) -> tuple[LazyArray, LazyArray]:
    """Return the values of runs of equal neighbours, and how long they are.

    Parameters
    ----------
    x : array_like
        One axis. NaN is not equal to NaN, so each one is a run.

    Returns
    -------
    values : LazyArray
        One item for each run, dtype of `x`.
    lengths : LazyArray
        Of the runs, int64.
    """
    return _lazy_items(_lazy_call(run_length_encode, x), 2)


def unique_values(x: ArrayLike | LazyArray) -> LazyArray:
    """Return what an array holds, each value once.

    Parameters
    ----------
    x : array_like
        Of any shape. Each NaN is a value of its own, as in the array API standard.

    Returns
    -------
    LazyArray
        One axis, ascending, dtype of `x`.
    """
    return _lazy_call(unique_values, x)


def unique_counts(x: ArrayLike | LazyArray) -> tuple[LazyArray, LazyArray]:
    """Return what an array holds, each value once, and how often it is there.

    Parameters
    ----------
    x : array_like
        As for `unique_values`.

    Returns
    -------
    values : LazyArray
        One axis, ascending, dtype of `x`.
    counts : LazyArray
        Of each, int64.
    """
    return _lazy_items(_lazy_call(unique_counts, x), 2)


def unique_inverse(x: ArrayLike | LazyArray) -> tuple[LazyArray, LazyArray]:
    """Return what an array holds, each value once, and which of these each item is.

    Parameters
    ----------
    x : array_like
        As for `unique_values`.

    Returns
    -------
    values : LazyArray
        One axis, ascending, dtype of `x`.
    inverse : LazyArray
        Shape of `x`, int64: ``values[inverse]`` is `x`.
    """
    return _lazy_items(_lazy_call(unique_inverse, x), 2)


def unique_all(x: ArrayLike | LazyArray) -> tuple[LazyArray, LazyArray, LazyArray, LazyArray]:
    """Return what an array holds, each value once, where it stands first, which of these each item is, and how often.

    Parameters
    ----------
    x : array_like
        As for `unique_values`.

    Returns
    -------
    values : LazyArray
        One axis, ascending, dtype of `x`.
    indices : LazyArray
        Of each, int64: where the first one stands in the flat array.
    inverse : LazyArray
        Shape of `x`, int64: ``values[inverse]`` is `x`.
    counts : LazyArray
        Of each, int64.
    """
    return _lazy_items(_lazy_call(unique_all, x), 4)


def searchsorted(a: ArrayLike | LazyArray, v: ArrayLike | LazyArray, side: str = "left") -> LazyArray:
    """Return where items belong in a sorted array: `numpy.searchsorted`.

    Parameters
    ----------
    a : array_like
        One axis, ascending.
    v : array_like
        What is looked for, of any shape.
    side : {"left", "right"}, optional
        Before or behind what is equal.

    Returns
    -------
    LazyArray
        Shape of `v`, int64.
    """
    return _lazy_call(searchsorted, a, v, side)


# --- places ---


def take(x: ArrayLike | LazyArray, i: ArrayLike | LazyArray, axis: int | None = None) -> LazyArray:
    """Return items at places: `numpy.take`.

    Parameters
    ----------
    x : array_like
        What is read.
    i : array_like of int
        Places; negative ones count from the end.
    axis : int or None, optional
        Along which axis; None is the flat array. A constant in compiled code.

    Returns
    -------
    LazyArray
        Dtype of `x`; the shape of `i` in place of the axis.

    Raises
    ------
    IndexError
        If a place is not there.
    """
    return _lazy_call(take, x, i, axis)


def scatter(dst: ArrayLike | LazyArray, i: Any, v: ArrayLike | LazyArray, op: Any = None) -> LazyArray:
    """Return a copy of an array with values stored, or joined with what is there.

    Parameters
    ----------
    dst : array_like
        What is copied.
    i : index
        An array of int, a mask, a slice, or a tuple of these, as in ``dst[i]``.
    v : array_like
        Values, broadcast to what `i` chooses. They are cast to the dtype of `dst`.
    op : ufunc or function of two, optional
        What joins an item and a value, for each place in `i`, also where one is there twice. None stores: of several
        values for one place the last one stays. A function of your own is associative, as for `reduce`: values for one
        place are joined in their order, but not one after the other. `i` is an array then, or a mask.

    Returns
    -------
    LazyArray
        Shape and dtype of `dst`.

    Raises
    ------
    IndexError
        If a place is not there.
    """
    if op is not None and config.PARALLEL_CHECK:
        _checks.associative(op, v)
    return _lazy_call(scatter, dst, i, v, op)


def histogram(
    x: ArrayLike | LazyArray,
    bins: Any = 10,
    range: tuple[float, float] | None = None,
    density: bool | None = None,
    weights: Any = None,
) -> tuple[LazyArray, LazyArray]:
    """Return how many items fall in each of some bins: `numpy.histogram`.

    Parameters
    ----------
    x : array_like
        Of any shape.
    bins : int or array_like, optional
        How many of equal width, or their edges.
    range : tuple of two, optional
        Where the first begins, and the last ends.
    density : bool, optional
        Give a density in place of counts.
    weights : array_like, optional
        What each item counts, of the shape of `x`.

    Returns
    -------
    counts : LazyArray
        Of each bin: int64; with a density or weights, floats.
    edges : LazyArray
        One more than there are bins.
    """
    r = _lazy_call(histogram, x, bins, range, density, weights)
    return _lazy_items(r, 2)


def reduce_by_key(
    op: Any, keys: ArrayLike | LazyArray, vals: ArrayLike | LazyArray, *, size: int, identity: Any = None
) -> LazyArray:
    """Return the values of each key as one, as `bincount` with another operation and with rows.

    Parameters
    ----------
    op : ufunc or function of two
        What joins values. A function of your own is associative, as for `reduce`.
    keys : array_like of int
        One axis, nothing below 0: which row of the result each row of `vals` goes to.
    vals : array_like
        As many rows as there are keys, which are numbers or arrays; or one number for all.
    size : int
        How many rows the result has. Keys are less.
    identity : scalar, optional
        What a key without values gets, and the others are joined with. None is that of the ufunc; a function of your
        own, and ufuncs as `numpy.maximum` that have none, need it.

    Returns
    -------
    LazyArray
        ``(size, *vals.shape[1:])``. Its dtype is what the ufunc's `reduce` gives (small integers are added up in 64 bits),
        or that of `vals` and the identity together.

    Raises
    ------
    ValueError
        If a key is negative, or there are not as many as rows.
    IndexError
        If a key is not less than `size`.
    """
    return _lazy_call(reduce_by_key, op, keys, vals, size=size, identity=identity)


def bincount(x: ArrayLike | LazyArray, weights: Any = None, minlength: int = 0) -> LazyArray:
    """Return how often each number from 0 on is there: `numpy.bincount`.

    Parameters
    ----------
    x : array_like of int
        One axis; nothing below 0.
    weights : array_like, optional
        What each item counts, of the length of `x`.
    minlength : int, optional
        The least length of the result.

    Returns
    -------
    LazyArray
        One axis, int64; with weights, float64.
    """
    return _lazy_call(bincount, x, weights, minlength)


def where(condition: ArrayLike | LazyArray, x: ArrayLike | LazyArray, y: ArrayLike | LazyArray) -> LazyArray:
    """Return items of one array where a condition holds, and of another elsewhere: `numpy.where`.

    Parameters
    ----------
    condition, x, y : array_like
        Of shapes that broadcast.

    Returns
    -------
    LazyArray
        Of the common shape, in the dtype that `x` and `y` have together.
    """
    return _lazy_call(where, condition, x, y)


# --- what is made ---


def arange(start: Any, stop: Any = None, step: Any = None, dtype: DTypeLike = None) -> LazyArray:
    """Return numbers in steps: `numpy.arange`.

    Parameters
    ----------
    start, stop, step : number
        ``arange(n)`` is 0, 1, ... n - 1; ``arange(start, stop, step)`` ends before `stop`.
    dtype : data type, optional
        Of the items; that of the numbers if None.

    Returns
    -------
    LazyArray
        One axis.
    """
    return _lazy_call(arange, start, stop, step, dtype)


def full(shape: int | tuple[int, ...], fill_value: Any, dtype: DTypeLike = None) -> LazyArray:
    """Return an array of one value: `numpy.full`.

    Parameters
    ----------
    shape : int or tuple of int
        Its extents.
    fill_value : number
        The value.
    dtype : data type, optional
        Of the items; that of the value if None.

    Returns
    -------
    LazyArray
        Of that shape.
    """
    return _lazy_call(full, shape, fill_value, dtype)


def zeros(shape: int | tuple[int, ...], dtype: DTypeLike = np.float64) -> LazyArray:
    """Return an array of zeros: `numpy.zeros`.

    Parameters
    ----------
    shape : int or tuple of int
        Its extents.
    dtype : data type, optional
        Of the items.

    Returns
    -------
    LazyArray
        Of that shape.
    """
    return _lazy_call(zeros, shape, dtype)


def ones(shape: int | tuple[int, ...], dtype: DTypeLike = np.float64) -> LazyArray:
    """Return an array of ones: `numpy.ones`.

    Parameters
    ----------
    shape : int or tuple of int
        Its extents.
    dtype : data type, optional
        Of the items.

    Returns
    -------
    LazyArray
        Of that shape.
    """
    return _lazy_call(ones, shape, dtype)


def tabulate(f: Callable[..., Any], shape: int | tuple[int, ...]) -> LazyArray:
    """Return what a function gives for each place.

    Parameters
    ----------
    f : function
        Takes the place along each axis, an int64 each; returns a number, or a tuple of numbers.
    shape : int or tuple of int
        The extents.

    Returns
    -------
    LazyArray
        Of that shape; unpacked to arrays where `f` returns a tuple.

    Raises
    ------
    ValueError
        If an extent is negative.
    """
    return _lazy_call(tabulate, f, shape)


# --- functions ---

_P = ParamSpec("_P")
_Q = TypeVar("_Q")
_R = TypeVar("_R")


def fuse(f: Callable[[_Q], _R], g: Callable[_P, _Q]) -> Callable[_P, _R]:
    """Return the function that gives ``f(g(...))``: one that is compiled where it is used, and calls none of the two.

    Parameters
    ----------
    f : function
        Takes what `g` returns; a tuple as one argument.
    g : function
        Takes numbers, as many as the result then does. Both may be functions of Python's, of ``@njit``, or ufuncs.

    Returns
    -------
    function
        For `map`, `reduce`, `filter` and the others, ``@njit``, ``@vectorize``, and for calls from Python.

    Raises
    ------
    TypeError
        One of them is no function; or it cannot be told how many arguments `g` takes, or some have names alone.

    Examples
    --------
    >>> import math, numpy as np, treadle.parallel as tp
    >>> length = tp.fuse(math.sqrt, lambda x, y: x * x + y * y)
    >>> length(3.0, 4.0), tp.map(length, np.array([3.0, 5.0]), np.array([4.0, 12.0])).tolist()
    (5.0, [5.0, 13.0])
    """
    for x in (f, g):
        if not callable(x):
            raise TypeError(f"fuse(): {x!r} is no function")
    n = _operands(g)

    def one(x: Any) -> Any:
        return f(g(x))  # type: ignore[call-arg, arg-type]

    def two(x: Any, y: Any) -> Any:
        return f(g(x, y))  # type: ignore[call-arg, arg-type]

    def three(x: Any, y: Any, z: Any) -> Any:
        return f(g(x, y, z))  # type: ignore[call-arg, arg-type]

    def more(*args: Any) -> Any:
        return f(g(*args))  # type: ignore[call-arg, arg-type]

    fused: Any = {1: one, 2: two, 3: three}.get(n, more)
    # It belongs to who has made it, as a function does that is written there.
    fused.__module__ = sys._getframe(1).f_globals.get("__name__", "__main__")
    fused.__name__ = f"{_name(f)}_{_name(g)}"
    fused.__qualname__ = f"fuse({_name(f)}, {_name(g)})"
    return fused


def _name(f: Any) -> str:
    name = getattr(f, "__name__", type(f).__name__)
    return name if name.isidentifier() else "function"


def _operands(g: Any) -> int:
    """How many arguments a function takes."""
    if isinstance(g, np.ufunc):
        return g.nin
    try:
        params = signature(g).parameters.values()
    except ValueError:
        raise TypeError(
            f"fuse(): it cannot be told how many arguments {_name(g)}() takes: write a lambda"
        ) from None
    if any(p.kind is p.KEYWORD_ONLY and p.default is p.empty for p in params):
        raise TypeError(f"fuse(): {_name(g)}() has parameters that are given by name alone")
    if any(p.kind is p.VAR_POSITIONAL for p in params):
        return -1
    return sum(p.default is p.empty and p.kind is not p.VAR_KEYWORD for p in params) or -1
