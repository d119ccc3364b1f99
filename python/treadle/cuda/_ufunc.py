"""What ``vectorize`` and ``guvectorize`` make for ``target='cuda'``: objects with the calls of Numba's.

On the emulated device a call is that of the ufunc with ``target='parallel'``, whose loops are the same pattern on all cores, on a GPU that of kernels (`_loops`). It is not a ``numpy.ufunc``
to the outside: those have no ``stream=``, no attributes before NumPy 2.3, and ``reduce`` with another meaning.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from .._core import _REASON, Function
from ..ufunc import ufunc_info
from ._array import NUMBERS, DeviceNDArray, allocate, dtype_of, move, readable
from ._devices import is_emulated
from ._interop import memory_of, settle
from ._loops import GpuLoops
from ._plan import Plans
from ._reduce import Folds, host_items

__all__ = ["DeviceGUfunc", "DeviceUfunc"]


def _as_item(x: Any, dtype: np.dtype[Any]) -> Any:
    """A number as one item of the type that is declared for it, where floats may round and nothing else is lost. Else None."""
    if dtype.kind == "c":
        return dtype.type(x)
    if isinstance(x, (complex, np.complexfloating)):
        return None
    if dtype.kind == "f":
        return dtype.type(x)
    low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    n = int(x) if isinstance(x, (int, np.integer)) or np.isfinite(x) else None
    return dtype.type(n) if n is not None and low <= n <= high and n == x else None


def _broadcast(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    first = shapes[0]
    return first if all(s == first for s in shapes) else np.broadcast_shapes(*shapes)


def _goes_to(shape: tuple[int, ...], wide: tuple[int, ...]) -> bool:
    tail = wide[len(wide) - len(shape) :] if len(wide) >= len(shape) else ()
    return len(tail) == len(shape) and all(n in (1, m) for n, m in zip(shape, tail))


class _OnDevice:
    """What the two have in common.

    Attributes
    ----------
    py_func : function
    nin, nout, nargs, ntypes, types, identity, signature
        As `numpy.ufunc` has them.
    max_blocksize : int
        The most threads that a block may have. The emulated device makes no blocks of it.
    """

    __name__: str
    __qualname__: str
    _loops: Any  # the kernels on a GPU

    def __init__(self, ufunc: Any, fn: Any, signatures: list[Any]) -> None:
        self._ufunc = ufunc
        self._declared = [
            tuple(dtype_of(t.dtype if t.ndim else t) for t in s.args[: ufunc.nin]) for s in signatures
        ]
        self._most = 2**30
        self._types: dict[Any, list[Any]] = {}  # those of results by those of inputs
        self.py_func = fn
        self.nin, self.nout, self.nargs = ufunc.nin, ufunc.nout, ufunc.nargs
        self.signature, self.identity = ufunc.signature, ufunc.identity
        for name in ("__name__", "__qualname__", "__doc__", "__module__"):
            setattr(self, name, getattr(fn, name))
        self.__wrapped__ = fn
        vars(self)[_REASON] = f"{self.__name__}(), a ufunc of the device, which the host calls"

    types = property(lambda self: self._ufunc.types)
    ntypes = property(lambda self: self._ufunc.ntypes)

    @property
    def max_blocksize(self) -> int:
        """The most threads that a block may have."""
        return self._most

    @max_blocksize.setter
    def max_blocksize(self, n: int) -> None:
        if operator.index(n) < 1:
            raise ValueError(f"max_blocksize must be 1 at least, not {n}")
        self._most = operator.index(n)

    def info(self) -> Any:
        """What `treadle.ufunc_info` says of it."""
        return ufunc_info(self)

    def _inputs(self, values: list[Any], numbers: list[bool]) -> list[Any]:
        """What the ufunc is called with."""
        if not self._declared or not any(numbers):
            return values
        return self._converted(values, numbers) or values

    def _converted(self, inputs: list[Any], numbers: list[bool]) -> list[Any] | None:
        """Numba's rule for numbers: the loop of the very types that all inputs have, else the only one of the arrays' types. None: NumPy's rules."""
        types = [np.asarray(a).dtype if number else a.dtype for a, number in zip(inputs, numbers)]
        fitting = []
        for loop in self._declared:
            if not all(number or t == want for t, want, number in zip(types, loop, numbers)):
                continue
            made = [_as_item(a, want) if number else a for a, want, number in zip(inputs, loop, numbers)]
            if any(a is None for a in made):
                continue
            if all(t == want for t, want in zip(types, loop)):
                return made
            fitting.append(made)
        return fitting[0] if len(fitting) == 1 else None

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0) -> Any:
        """Compute.

        Parameters
        ----------
        *args : array_like, number or DeviceNDArray
            Inputs, which broadcast; behind them the outputs may stand.
        out : ndarray, DeviceNDArray or a tuple of them, optional
            Where to store the results.
        stream : Stream

        Returns
        -------
        ndarray, or DeviceNDArray where an input is one, or a tuple of them
            An output that was given is returned itself.
        """
        given = self._outputs(args, out)
        settle(stream, *args, *given)
        values = [memory_of(a) for a in args[: self.nin]]
        on_device = any(v is not None for v in values)
        numbers = [isinstance(a, NUMBERS) for a in args[: self.nin]]
        values = [
            v if v is not None else a if number else np.asarray(a)
            for v, a, number in zip(values, args, numbers)
        ]
        inputs = self._inputs(values, numbers)
        outs = [o if (m := memory_of(o)) is None else m for o in given]
        made = self._run(inputs, outs, on_device, any(numbers) and not self.signature)
        results = [m if o is None else o for m, o in zip(made, given)]
        if on_device:
            results = [
                DeviceNDArray(r, stream=stream or 0) if o is None else r for r, o in zip(results, given)
            ]
        return results[0] if self.nout == 1 else tuple(results)

    def _outputs(self, args: tuple[Any, ...], out: Any) -> tuple[Any, ...]:
        """What is given as outputs, None for each that is not."""
        given = args[self.nin :]
        if out is not None:
            if given:
                raise TypeError(f"{self.__name__}(): outputs are given by position and as `out`")
            given = out if isinstance(out, tuple) else (out,)
        if len(given) > self.nout or len(args) < self.nin:
            raise TypeError(
                f"{self.__name__}() has {self.nin} inputs and {self.nout} outputs, and was given "
                f"{min(len(args), self.nin)} and {len(given)}"
            )
        return (*given, *(None,) * (self.nout - len(given)))

    def _run(self, inputs: list[Any], outs: list[Any], on_device: bool, axis: bool) -> list[Any]:
        """The results, in the device's memory where an input is; they have an axis where ``axis`` says so."""
        if not is_emulated():
            return self._run_on_gpu(inputs, outs, on_device, axis)
        none = all(o is None for o in outs)
        types = tuple(type(a) if isinstance(a, NUMBERS) else a.dtype for a in inputs)
        if on_device and none and types in self._types:
            outs, none = self._room(inputs, self._types[types], axis), False
        made = self._ufunc(*inputs) if none else self._ufunc(*inputs, out=tuple(outs))
        results = [np.asarray(m) if on_device or axis else m for m in (made if self.nout > 1 else (made,))]
        if axis:
            results = [m.reshape(1) if m.ndim == 0 else m for m in results]
        if not on_device or not none:
            return results
        self._types[types] = [m.dtype for m in results]
        room = [allocate(m.shape, m.dtype) for m in results]
        for to, m in zip(room, results):
            move(to, m)
        return room

    def _run_on_gpu(self, inputs: list[Any], outs: list[Any], stays: bool, axis: bool) -> list[Any]:
        """The same by kernels; where no input is on the device, results are copied to the host."""
        try:
            shapes = self._shapes([np.shape(a) for a in inputs])
        except ValueError:
            self._ufunc(*(np.empty(np.shape(a), np.asarray(a).dtype) for a in inputs))  # has its own to say
            raise
        if axis:
            shapes = [s or (1,) for s in shapes]
        for o in outs:
            if o is not None and not isinstance(o, np.ndarray):
                raise TypeError(f"{self.__name__}(): an output is an array, not {type(o).__name__}")
            if o is not None and not o.flags.writeable:
                raise ValueError(f"{self.__name__}(): an output is read-only")
        if not self.signature:  # outputs may have more axes
            given = {o.shape for o in outs if o is not None}
            shapes = [
                given.pop() if len(given) == 1 and _goes_to(shapes[0], *given) else shapes[0]
            ] * self.nout
        for o, s in zip(outs, shapes):
            if o is not None and o.shape != s:
                raise ValueError(
                    f"{self.__name__}(): the result of shape {s} does not broadcast to an output of shape {o.shape}"
                )
        made = self._loops(inputs, outs, shapes, self._most)
        return [m if stays or o is not None else readable(m) for m, o in zip(made, outs)]

    def _room(self, inputs: list[Any], dtypes: list[Any], axis: bool) -> list[Any]:
        """Memory on the device for results; None where the ufunc will find that the inputs do not go together."""
        try:
            shapes = self._shapes([np.shape(a) for a in inputs])
        except ValueError:
            return [None] * self.nout
        return [allocate(s or (1,) if axis else s, t) for s, t in zip(shapes, dtypes)]

    def _shapes(self, shapes: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """The shapes of results by those of inputs; ValueError where they do not go together."""
        raise NotImplementedError

    def __reduce__(self) -> str:
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<ufunc of the device {self.__module__}.{self.__qualname__}>"


class DeviceUfunc(_OnDevice):
    """A ufunc of the device: a function of scalars, made by `treadle.vectorize` with ``target='cuda'``.

    A number among the inputs is an array of one item, as for Numba: its type is the declared one, and results have an axis.
    """

    def __init__(self, ufunc: Any, fn: Any, signatures: list[Any], flags: dict[str, int]) -> None:
        super().__init__(ufunc, fn, signatures)
        op = Function(fn, {**flags, "cache": 0}, {})
        for s in signatures:
            op._announce(s)
        self._folds = Folds(op)

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0) -> Any:
        if not stream and self.nout == 1 and not is_emulated():
            made = self._plans(args, out, self._most)
            if made is not None:
                return made
        return super().__call__(*args, out=out, stream=stream)

    __call__.__doc__ = _OnDevice.__call__.__doc__

    @functools.cached_property
    def _loops(self) -> Any:
        return GpuLoops(self._ufunc, self._folds.op, None, [0] * self.nargs)

    @functools.cached_property
    def _plans(self) -> Any:
        return Plans(self)

    def _shapes(self, shapes: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        return [_broadcast(shapes)] * self.nout

    def reduce(self, arr: Any, stream: Any = 0) -> Any:
        """Join the items of an array; the function must be associative.

        Parameters
        ----------
        arr : ndarray or DeviceNDArray, (n,)
        stream : Stream

        Returns
        -------
        NumPy scalar of the array's dtype

        Raises
        ------
        TypeError
            The function has not two inputs and one output, or is not declared for the array's dtype; the array has not one axis, or no items.
        """
        settle(stream, arr)
        if self.nin != 2 or self.nout != 1:
            raise TypeError(
                f"{self.__name__}() has {self.nin} inputs and {self.nout} outputs; only a function of two and one reduces"
            )
        a = host_items(arr)
        if not a.size:
            raise TypeError(f"{self.__name__}.reduce() of an array without items")
        if self._declared and (a.dtype, a.dtype) not in self._declared:
            raise TypeError(
                f"{self.__name__}() is not declared for ({a.dtype}, {a.dtype}), so it does not reduce them"
            )
        out = np.empty(1, a.dtype)
        if a.size == 1:
            move(out, a)
        else:
            self._folds(a, out)
        return out[0]


class DeviceGUfunc(_OnDevice):
    """A generalised ufunc of the device: a function over arrays, made by `treadle.guvectorize` with ``target='cuda'``."""

    def __init__(
        self, ufunc: Any, fn: Any, signatures: list[Any], layout: Any, flags: dict[str, int]
    ) -> None:
        super().__init__(ufunc, fn, signatures)
        self._layout = layout
        self._flags = flags
        self._ways = [tuple(bool(t.ndim) for t in s.args) for s in signatures]

    @functools.cached_property
    def _loops(self) -> Any:
        op = Function(self.py_func, {**self._flags, "cache": 0}, {})
        core = [len(axes) for axes in self._layout.inputs + self._layout.outputs]
        return GpuLoops(self._ufunc, op, self._ways, core)

    def _shapes(self, shapes: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        sizes: dict[str, int] = {}
        loops = []
        for shape, axes in zip(shapes, self._layout.inputs):
            outer = len(shape) - len(axes)
            if outer < 0:
                raise ValueError("the input lacks axes")
            for d, n in zip(axes, shape[outer:]):
                if (int(d) if d.isdigit() else sizes.setdefault(d, n)) != n:
                    raise ValueError(f"axis {d} has {n} items, and others")
            loops.append(shape[:outer])
        loop = _broadcast(loops)
        return [
            loop + tuple(int(d) if d.isdigit() else sizes[d] for d in axes) for axes in self._layout.outputs
        ]
