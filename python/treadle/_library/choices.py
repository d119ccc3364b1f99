"""Items chosen by indices and conditions, and stored by them: numpy.choose, select, put, take_along_axis and their like.

Alternatives in tuples are looked at by functions that call themselves with the rest, so a choice is one loop over all
of them at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Constant, is_constant, refuse, separate

# --- one of several ---


def choose(a: Any, choices: Constant, out: Any = None, mode: str = "raise") -> Any:
    """Of several arrays, which stand in a tuple or along the first axis of an array, each item from the one that `a`
    says. The mode is a constant."""
    if mode not in ("raise", "wrap", "clip"):
        refuse("the mode must be 'raise', 'wrap' or 'clip'")
    which = np.asarray(a)
    if which.dtype.kind != "i" and which.dtype.kind != "u" and which.dtype.kind != "b":
        refuse("the first argument are integers")
    n = len(choices)
    if n == 0:
        raise ValueError("0-length sequence.")
    i = np.asarray(which, np.int64)
    if mode == "wrap":
        return into(out, chosen(np.remainder(i, n), choices))
    if mode == "clip":
        return into(out, chosen(np.minimum(np.maximum(i, 0), n - 1), choices))
    if np.any((i < 0) | (i >= n)):
        raise ValueError("invalid entry in choice array")
    return into(out, chosen(i, choices))


def chosen(i: Any, choices: Constant) -> Any:
    """The items, for indices in range."""
    if isinstance(choices, (tuple, list)):
        return one_of(i, choices, 0, zero_of(choices, 0))
    if choices.ndim == 1:
        return choices[i]
    np.broadcast_arrays(i, choices[0])  # in place of the error that indices of several shapes give
    # all that the places of an item are made of is broadcast
    return choices[(i, *places(choices.shape[1:], choices.ndim - 1))]


def one_of(i: Any, choices: Constant, k: Constant, zero: Any) -> Any:
    """Of those from k on."""
    if k == len(choices) - 1:
        return np.where(i == k, choices[k], choices[k] if zero is None else zero)
    return np.where(i == k, choices[k], one_of(i, choices, k + 1, zero))


def zero_of(choices: Constant, k: Constant) -> Any:
    """A zero of the type that those from k on have together but literals, which take it beside the others; None where all are literals."""
    if k == len(choices):
        return None
    return wider(choices[k], zero_of(choices, k + 1))


def wider(c: Constant, zero: Any) -> Any:
    """A zero of the type that one more choice makes of it."""
    if is_constant(c) and isinstance(c, (int, float, complex)) and not isinstance(c, bool):
        return zero
    own = np.asarray(c).dtype.type(0)
    return own if zero is None else np.where(own != own, own, zero)


def places(shape: Any, n: Constant) -> Any:
    """Places along each of the last axes of n, on that axis."""
    if len(shape) == 0:
        return ()
    line = np.arange(shape[0])
    return (line[(slice(None),) + (None,) * (len(shape) - 1)], *places(shape[1:], n))


def into(out: Any, x: Any) -> Any:
    """The array `out` with this in it, or else the array itself."""
    if out is None:
        return x
    out[...] = x
    return out


def select(condlist: Any, choicelist: Constant, default: Constant = 0) -> Any:
    """Each item from the first choice whose condition holds. Both are tuples or lists of equal length."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not isinstance(condlist, (tuple, list)) or not isinstance(choicelist, (tuple, list)):
        refuse("the conditions and choices must be lists or tuples, each with its own type")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    return first_of(condlist, choicelist, default, wider(default, zero_of(choicelist, 0)))


def first_of(conditions: Any, choices: Constant, default: Constant, zero: Any) -> Any:
    """From the first condition that holds on."""
    if len(conditions) == 0:
        return default
    holds = np.asarray(conditions[0])
    if holds.dtype.kind != "b":
        refuse("the conditions must be arrays of bool")
    if len(conditions) > 1:
        return np.where(holds, choices[0], first_of(conditions[1:], choices[1:], default, zero))
    # where all are literals they have their own types; else the type of the others stands beside each of them
    return np.where(holds, choices[0], default if zero is None else np.where(holds, zero, default))


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any) -> Any:
    """Each item from the function, or the number, of the last condition that holds; one function more is for the rest.
    Conditions and functions are tuples or lists."""
    a = np.asarray(x)
    if not isinstance(condlist, (tuple, list)):
        if condlist.ndim > 1:
            refuse("conditions stand in a tuple or list")
        return piecewise_all(a, (condlist,), funclist, args)
    return piecewise_all(a, condlist, funclist, args)


def piecewise_all(a: Any, conditions: Any, functions: Any, args: Any) -> Any:
    """The pieces one after the other."""
    n = len(conditions)
    if len(functions) != n and len(functions) != n + 1:
        raise ValueError("with that many conditions, as many functions are expected, or one more")
    out = np.zeros_like(a)
    if len(functions) == n + 1:
        piece(out, a, ~any_of(conditions), functions[n], args)
    pieces(out, a, conditions, functions, args)
    return out


def any_of(conditions: Any) -> Any:
    """Where a condition holds."""
    holds = np.asarray(conditions[0], np.bool_)
    return holds if len(conditions) == 1 else holds | any_of(conditions[1:])


def pieces(out: Any, a: Any, conditions: Any, functions: Any, args: Any) -> None:
    """The first piece, and the rest."""
    if len(conditions) > 0:
        piece(out, a, np.asarray(conditions[0], np.bool_), functions[0], args)
        pieces(out, a, conditions[1:], functions[1:], args)


def piece(out: Any, a: Any, holds: Any, f: Any, args: Any) -> None:
    """Stores what a function gives for some items, or a number."""
    if isinstance(f, (int, float, complex, np.generic)):
        out[holds] = f
    else:
        out[holds] = f(a[holds], *args)


# --- stored by conditions and indices ---


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Stores one array in another, or where a mask says. Casts of other kinds need casting='unsafe'."""
    to, of = dst.dtype.kind, np.asarray(src).dtype.kind
    if casting != "unsafe":
        if to == "b" and of != "b" or to == "f" and of == "c":
            refuse("cannot cast to another kind of numbers")
        if to in "iu" and of in "fc" or to == "u" and of == "i" and not isinstance(src, int):
            refuse("cannot cast to another kind of numbers")
    if isinstance(where, (bool, np.bool_)):
        if where:
            dst[...] = src
    else:
        dst[...] = np.where(np.broadcast_to(where, dst.shape), like_items_of(dst, src), dst)


def like_items_of(a: Any, x: Any) -> Any:
    """What is stored as items of an array, in its dtype: a type that it had together with them may not hold those that stay."""
    if isinstance(x, int):  # one that does not fit raises
        return a.dtype.type(x)
    y = np.asarray(x)
    return y if y.dtype == a.dtype else y.astype(a.dtype)


def place(arr: Any, mask: Any, vals: Any) -> None:
    """Stores `vals`, over and over, where a mask says."""
    if mask.size != arr.size:
        raise ValueError("place: mask and data must be the same size")
    values, holds = np.ravel(vals), np.ravel(np.asarray(mask, np.bool_))
    if not arr.flags.c_contiguous:  # NumPy stores in a copy of it; else while it reads
        values, holds = separate(values, arr), separate(holds, arr)
    elif values.dtype != arr.dtype:
        values = separate(values, arr)
    n, k = len(values), 0
    for i in range(len(holds)):
        if holds[i]:
            if n == 0:
                raise ValueError("Cannot insert from an empty array!")
            arr.flat[i] = values[k]
            k = k + 1 if k + 1 < n else 0


def putmask(a: Any, mask: Any, values: Any) -> None:
    """Stores `values` where a mask says; an item's place says which one, over and over."""
    if mask.size != a.size:
        raise ValueError("putmask: mask and data must be the same size")
    new, holds = np.ravel(values), np.ravel(np.asarray(mask, np.bool_))
    if len(new) == 0:
        return
    if len(new) == 1:
        np.copyto(a, new[0], "unsafe", np.reshape(holds, a.shape))
    elif len(new) == a.size:
        np.copyto(a, np.reshape(new, a.shape), "unsafe", np.reshape(holds, a.shape))
    else:
        new, holds, k = separate(new, a), separate(holds, a), 0
        for i in range(len(holds)):
            if holds[i]:
                a.flat[i] = new[k]
            k = k + 1 if k + 1 < len(new) else 0


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Stores `v`, over and over, at places of the flat array. The mode is a constant."""
    if mode not in ("raise", "wrap", "clip"):
        refuse("the mode must be 'raise', 'wrap' or 'clip'")
    values, which, n = separate(np.ravel(v), a), separate(np.ravel(ind), a), a.size
    if len(which) == 0:
        return
    if n == 0:
        raise IndexError("cannot replace elements of an empty array")
    if len(values) == 0:
        return
    k = 0
    for q in range(len(which)):
        i = which[q]
        if mode == "clip":
            i = min(max(i, 0), n - 1)
        elif mode == "wrap":
            i = i % n
        else:
            if i < -n or i >= n:
                raise IndexError(f"index {i} is out of bounds for axis 0 with size {n}")
            if i < 0:
                i += n
        a.flat[i] = values[k]
        k = k + 1 if k + 1 < len(values) else 0


# --- methods of arrays ---


def of_array_choose(a: Any, *choices: Constant, out: Any = None, mode: Constant = "raise") -> Any:
    """As `choose`; the choices may stand as arguments, too."""
    return choose(a, choices[0] if len(choices) == 1 else choices, out, mode)


def of_array_put(a: Any, indices: Any, values: Any, mode: Constant = "raise") -> None:
    """As `put`."""
    put(a, indices, values, mode)


# --- along an axis ---


def take_along_axis(arr: Any, indices: Any, axis: Constant = -1) -> Any:
    """Items at indices along an axis, for each place on the others. The axis is a constant."""
    if axis is None:
        return np.ravel(arr)[along(np.ravel(arr), indices, 0)]
    return arr[along(arr, indices, axis)]


def put_along_axis(arr: Any, indices: Any, values: Any, axis: Constant) -> None:
    """Stores at indices along an axis, for each place on the others. The axis is a constant."""
    if axis is None:
        which, n = separate(np.ravel(indices), arr), arr.size
        if indices.ndim != 1:
            raise ValueError("`indices` and `arr` must have the same number of dimensions")
        new = separate(np.broadcast_to(values, which.shape), arr)
        for q in range(len(which)):
            i = which[q]
            if i < -n or i >= n:
                raise IndexError(f"index {i} is out of bounds for axis 0 with size {n}")
            arr.flat[i + n if i < 0 else i] = new[q]
    else:
        arr[along(arr, indices, axis)] = values


def along(arr: Any, indices: Any, axis: Constant) -> Any:
    """An index of what lies at these indices along an axis."""
    if indices.dtype.kind != "i" and indices.dtype.kind != "u":
        raise IndexError("`indices` must be an integer array")
    if indices.ndim != arr.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    np.swapaxes(arr, axis, 0)  # an AxisError for one that there is not
    return with_places(arr.shape, indices, axis % arr.ndim)


def with_places(shape: Any, indices: Any, axis: Constant) -> Any:
    """Places on the axes that are left, but for the one that has indices."""
    k = indices.ndim - len(shape)
    if len(shape) == 0:
        return ()
    if k == axis:
        return (indices, *with_places(shape[1:], indices, axis))
    line = np.arange(shape[0])
    return (line[(slice(None),) + (None,) * (len(shape) - 1)], *with_places(shape[1:], indices, axis))


def apply_along_axis(func1d: Any, axis: Constant, arr: Any, *args: Any) -> Any:
    """What a function gives for each line along an axis: a number, or an array that takes the line's place. The axis is
    a constant."""
    lines = np.moveaxis(arr, axis, -1)
    outer = lines.shape[: lines.ndim - 1]
    for n in outer:
        if n == 0:
            raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    first = np.asarray(func1d(lines[(0,) * len(outer)], *args))
    out = np.empty((*outer, *first.shape), first.dtype)
    fresh = False
    for at in np.ndindex(outer):
        if fresh:
            out[at] = func1d(lines[at], *args)
        else:
            out[at] = first
            fresh = True
    return out if first.ndim == 0 else moved(out, first.ndim, axis, len(outer))


def moved(out: Any, n: Constant, axis: Constant, outer: Constant) -> Any:
    """The last n axes to where the line was."""
    if n == 1:
        return np.moveaxis(out, -1, axis % (outer + 1))
    k = axis % (outer + 1)
    if n == 2:
        return np.moveaxis(out, (-2, -1), (k, k + 1))
    return refuse("the function gives arrays of up to two axes")
