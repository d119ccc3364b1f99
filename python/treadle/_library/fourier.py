"""Fourier transforms: the functions of numpy.fft.

What computes are NumPy's own C loops, ufuncs of ``numpy.fft._pocketfft_umath``, so the bits are NumPy's, too; what is written here is what NumPy
writes around them. A loop is taken for the types of the array and of the factor as NumPy takes it: where nothing is scaled, in double precision,
whatever the array; results of single precision are rounded then. NumPy before 2 has no such loops, only a function that needs the interpreter.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np

from . import Constant, is_constant, refuse

try:
    from numpy.fft import _pocketfft_umath as loops
except ImportError:  # NumPy < 2
    loops = None  # type: ignore[assignment]


# --- sizes, factors, results ---


def check_axis(a: Any, axis: Constant) -> None:
    """The array has this axis."""
    if not is_constant(axis):
        refuse("axes must be constants")
    if not -a.ndim <= axis < a.ndim:
        raise np.exceptions.AxisError(f"axis {axis} is out of bounds for array of dimension {a.ndim}")


def points(n: Any) -> Any:
    """A number of points that there can be."""
    if not isinstance(n, (int, np.integer)):
        refuse("n must be an integer")
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    return n


def length(a: Any, n: Any, axis: Constant) -> Any:
    """The number of points: the array's along that axis, if none is given."""
    check_axis(a, axis)
    if n is None:
        return points(a.shape[axis])
    return points(n)


def length_back(a: Any, n: Any, axis: Constant) -> Any:
    """The number of real points that a spectrum is of."""
    check_axis(a, axis)
    if n is None:
        return points((a.shape[axis] - 1) * 2)
    return points(n)


def strong(n: Any, a: Any) -> Any:
    """A number in the precision of the array, in which factors are computed."""
    if a.dtype == np.float16:
        return np.float16(n)
    if a.dtype == np.float32 or a.dtype == np.complex64:
        return np.float32(n)
    return np.float64(n)


def factor(a: Any, n: Any, norm: Constant, forward: Constant) -> Any:
    """What results are multiplied by."""
    if norm is None or norm == "backward":
        if forward:
            return np.float64(1)
        return np.reciprocal(strong(n, a))
    if norm == "forward":
        if forward:
            return np.reciprocal(strong(n, a))
        return np.float64(1)
    if norm == "ortho":
        return np.reciprocal(np.sqrt(strong(n, a)))
    raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')


def empty(a: Any, shape: Any, real: Constant) -> Any:
    """An array for results, of the array's precision."""
    if real:
        if a.dtype == np.float16:
            return np.empty(shape, np.float16)
        if a.dtype == np.float32 or a.dtype == np.complex64:
            return np.empty(shape, np.float32)
        return np.empty(shape)
    if a.dtype == np.float32 or a.dtype == np.complex64 or a.dtype == np.float16:
        return np.empty(shape, np.complex64)
    return np.empty(shape, np.complex128)


# --- along one axis ---


def run(loop: Any, a: Any, fct: Any, count: Any, axis: Constant, real: Constant, out: Any) -> Any:
    """Transform by a loop that gives `count` items."""
    if out is not None:
        if out.ndim != a.ndim:
            refuse("output array has wrong shape.")
        if out.shape[axis] != count:
            raise ValueError("output array has wrong shape.")
        fill(loop, np.moveaxis(a, axis, -1), fct, real, np.moveaxis(out, axis, -1))
        return out
    at = axis % a.ndim
    made = empty(a, a.shape[:at] + (count,) + a.shape[at + 1 :], real)
    fill(loop, np.moveaxis(a, axis, -1), fct, real, np.moveaxis(made, axis, -1))
    return made


def fill(loop: Any, a: Any, fct: Any, real: Constant, out: Any) -> None:
    """Transform along the last axis. The loop that gives real numbers reads an item where there is none."""
    if real and a.shape[-1] == 0:
        out[...] = 0
    else:
        loop(a, fct, out=out)


def full(a: Any, n: Any, axis: Constant, norm: Constant, forward: Constant, out: Any) -> Any:
    """From complex numbers to complex numbers."""
    a = np.asarray(a)
    n = length(a, n, axis)
    fct = factor(a, n, norm, forward)
    if forward:
        return run(loops.fft, a, fct, n, axis, False, out)
    return run(loops.ifft, a, fct, n, axis, False, out)


def half(
    a: Any, n: Any, axis: Constant, norm: Constant, forward: Constant, conjugated: Constant, out: Any
) -> Any:
    """From real numbers to the first half of their spectrum."""
    a = np.asarray(a)
    if a.dtype.kind == "c":
        refuse("the transform of real numbers takes no complex ones")
    else:
        n = length(a, n, axis)
        fct = factor(a, n, norm, forward)
        if n % 2 == 0:
            r = run(loops.rfft_n_even, a, fct, n // 2 + 1, axis, False, out)
        else:
            r = run(loops.rfft_n_odd, a, fct, n // 2 + 1, axis, False, out)
        if conjugated:
            np.conj(r, out=r)
        return r


def back(a: Any, n: Any, axis: Constant, norm: Constant, forward: Constant, out: Any) -> Any:
    """From the first half of a spectrum to real numbers."""
    a = np.asarray(a)
    n = length_back(a, n, axis)
    return run(loops.irfft, a, factor(a, n, norm, forward), n, axis, True, out)


# --- along several ---


def size(a: Any, s: Constant, axis: Constant, k: Constant, halved: Constant) -> Any:
    """The points along one of the axes, of the array as it is before all transforms."""
    check_axis(a, axis)
    if s is None:
        if halved:
            return (a.shape[axis] - 1) * 2
        return a.shape[axis]
    if s[k] is None:
        return None
    return a.shape[axis] if s[k] == -1 else s[k]


def sizes(a: Any, s: Constant, axes: Constant, count: Constant, k: Constant, halved: Constant) -> Any:
    """The same along the first k of the axes; the last one's is that of a spectrum's half, if `halved`."""
    if k == 0:
        return ()
    before = sizes(a, s, axes, count, k - 1, halved)
    if axes is None:
        return (*before, size(a, s, k - 1 - count, k - 1, halved and k == count))
    return (*before, size(a, s, axes[k - 1], k - 1, halved and k == count))


def down(
    a: Any, n: Any, axes: Constant, count: Constant, k: Constant, norm: Constant, forward: Constant, out: Any
) -> Any:
    """Transform along the first k of the axes, the last of them first."""
    if k == 0:
        return a
    if axes is None:
        b = full(a, n[k - 1], k - 1 - count, norm, forward, out)
    else:
        b = full(a, n[k - 1], axes[k - 1], norm, forward, out)
    return down(b, n, axes, count, k - 1, norm, forward, out)


def up(a: Any, n: Any, axes: Constant, count: Constant, k: Constant, norm: Constant) -> Any:
    """Transform back along the axes from place k on, but for the last."""
    if k >= count - 1:
        return a
    if axes is None:
        b = full(a, n[k], k - count, norm, False, None)
    else:
        b = full(a, n[k], axes[k], norm, False, None)
    return up(b, n, axes, count, k + 1, norm)


def half_along(
    a: Any, n: Any, last: Constant, axes: Constant, count: Constant, norm: Constant, out: Any
) -> Any:
    b = half(a, n[count - 1], last, norm, True, False, out)
    return down(b, n, axes, count, count - 1, norm, True, out)


def back_along(
    a: Any, n: Any, last: Constant, axes: Constant, count: Constant, norm: Constant, out: Any
) -> Any:
    return back(up(a, n, axes, count, 0, norm), n[count - 1], last, norm, False, out)


def all_along(
    kind: Constant, a: Any, s: Constant, axes: Constant, count: Constant, norm: Constant, out: Any
) -> Any:
    """Transform along `count` axes: those given, else the last ones."""
    if kind == "fft":
        return down(a, sizes(a, s, axes, count, count, False), axes, count, count, norm, True, out)
    if kind == "ifft":
        return down(a, sizes(a, s, axes, count, count, False), axes, count, count, norm, False, out)
    if count == 0:
        raise IndexError("list index out of range")
    n = sizes(a, s, axes, count, count, kind == "irfft")
    if kind == "rfft":
        if axes is None:
            return half_along(a, n, -1, axes, count, norm, out)
        return half_along(a, n, axes[count - 1], axes, count, norm, out)
    if axes is None:
        return back_along(a, n, -1, axes, count, norm, out)
    return back_along(a, n, axes[count - 1], axes, count, norm, out)


def several(kind: Constant, a: Any, s: Constant, axes: Constant, norm: Constant, out: Any) -> Any:
    """Transform along several axes."""
    a = np.asarray(a)
    if axes is None:
        if s is None:
            return all_along(kind, a, s, axes, a.ndim, norm, out)
        return all_along(kind, a, s, axes, len(s), norm, out)
    if s is not None and len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    return all_along(kind, a, s, axes, len(axes), norm, out)


# --- NumPy's names ---


def fft(a: Any, n: Any = None, axis: Constant = -1, norm: Constant = None, out: Any = None) -> Any:
    return full(a, n, axis, norm, True, out)


def ifft(a: Any, n: Any = None, axis: Constant = -1, norm: Constant = None, out: Any = None) -> Any:
    return full(a, n, axis, norm, False, out)


def rfft(a: Any, n: Any = None, axis: Constant = -1, norm: Constant = None, out: Any = None) -> Any:
    return half(a, n, axis, norm, True, False, out)


def irfft(a: Any, n: Any = None, axis: Constant = -1, norm: Constant = None, out: Any = None) -> Any:
    return back(a, n, axis, norm, False, out)


def hfft(a: Any, n: Any = None, axis: Constant = -1, norm: Constant = None, out: Any = None) -> Any:
    return back(np.conj(np.asarray(a)), n, axis, norm, True, out)


def ihfft(a: Any, n: Any = None, axis: Constant = -1, norm: Constant = None, out: Any = None) -> Any:
    return half(a, n, axis, norm, False, True, out)


def fft2(
    a: Any, s: Constant = None, axes: Constant = (-2, -1), norm: Constant = None, out: Any = None
) -> Any:
    return several("fft", a, s, axes, norm, out)


def ifft2(
    a: Any, s: Constant = None, axes: Constant = (-2, -1), norm: Constant = None, out: Any = None
) -> Any:
    return several("ifft", a, s, axes, norm, out)


def rfft2(
    a: Any, s: Constant = None, axes: Constant = (-2, -1), norm: Constant = None, out: Any = None
) -> Any:
    return several("rfft", a, s, axes, norm, out)


def irfft2(
    a: Any, s: Constant = None, axes: Constant = (-2, -1), norm: Constant = None, out: Any = None
) -> Any:
    return several("irfft", a, s, axes, norm, out)


def fftn(a: Any, s: Constant = None, axes: Constant = None, norm: Constant = None, out: Any = None) -> Any:
    return several("fft", a, s, axes, norm, out)


def ifftn(a: Any, s: Constant = None, axes: Constant = None, norm: Constant = None, out: Any = None) -> Any:
    return several("ifft", a, s, axes, norm, out)


def rfftn(a: Any, s: Constant = None, axes: Constant = None, norm: Constant = None, out: Any = None) -> Any:
    return several("rfft", a, s, axes, norm, out)


def irfftn(a: Any, s: Constant = None, axes: Constant = None, norm: Constant = None, out: Any = None) -> Any:
    return several("irfft", a, s, axes, norm, out)


if loops is None:  # fewer parameters, and no way to compute
    ADVICE = (
        "NumPy 1 has no Fourier transforms that compiled code can call: install NumPy 2, or call it outside the compiled function, "
        "on whole arrays; what comes before and after can be compiled"
    )

    def along_one(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
        refuse(ADVICE)

    def along_two(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
        refuse(ADVICE)

    def along_all(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
        refuse(ADVICE)

    for _name in "fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn".split():
        _like = {"2": along_two, "n": along_all}.get(_name[-1], along_one)
        globals()[_name] = FunctionType(
            _like.__code__.replace(co_name=_name), globals(), _name, _like.__defaults__
        )
