"""NumbaPro's compute units: one function for each of many threads, enqueued to a GPU or to the cores of the host.

``CU("gpu")`` enqueues kernels on a stream of the current device (the emulated one where there is no GPU), ``CU("cpu")`` runs loops on all cores. A
function ``f(tid, *args)`` runs once for each ``tid`` below ``ntid``. Programs of NumbaPro 0.10 and 0.11 import it; ``python -m treadle run`` gives it to them.
"""

from __future__ import annotations

import functools
import operator
from types import SimpleNamespace
from typing import Any, Callable, Sequence

import numpy as np

__all__ = ["CU", "names_of"]

_BLOCK = 256  # threads of a kernel's blocks
_TARGETS = ("cpu", "gpu")


def _made(f: Callable[..., Any], head: str, body: str, n: int, names: dict[str, Any]) -> Any:
    """The function that runs ``f`` for each thread; it exists as text, since kernels have as many arguments as they are written with."""
    args = "".join(f", a{k}" for k in range(n))
    space = {**names, "f": f}
    exec(f"def each(n{args}):\n    {head}:\n        f({body}{args})\n", space)  # noqa: S102
    made = space[
        "each"
    ]  # in the text no name is the user's, which might be one of these, or none as a lambda's
    made.__name__ = made.__qualname__ = f.__name__
    return made


@functools.lru_cache(maxsize=256)
def _kernel(f: Callable[..., Any], n: int) -> Any:
    from . import cuda
    from ._core import Function

    inside = f if isinstance(f, (cuda.Kernel, Function)) else cuda.jit(device=True)(f)
    return cuda.jit(_made(inside, "i = cuda.grid(1)\n    if i < n", "i", n, {"cuda": cuda}))


@functools.lru_cache(maxsize=256)
def _loop(f: Callable[..., Any], n: int) -> Any:
    from ._core import Function, prange
    from .decorators import njit

    inside = f if isinstance(f, Function) else njit(getattr(f, "py_func", f))  # or what was to be a kernel
    return njit(parallel=True)(_made(inside, "for i in prange(n)", "i", n, {"prange": prange}))


class _Builtin:
    """A kernel of the unit's own, or one of its settings."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __repr__(self) -> str:
        return f"<builtin {self.__name__} of numbapro.parallel.kernel>"


class _Random:
    """Random numbers: ``seed`` is for `CU.configure`, ``uniform(out)`` and ``normal(out, mean=0, sigma=1)`` for `CU.enqueue`."""

    seed, uniform, normal = (_Builtin(f"random.{name}") for name in ("seed", "uniform", "normal"))


class CU:
    """A compute unit.

    Parameters
    ----------
    target : {"cpu", "gpu"}
        All cores of the host, or the current device.

    Raises
    ------
    ValueError
        Another target.

    Notes
    -----
    What is enqueued is done in its order. Arrays that were tagged ``output`` or ``inout`` are in the host's memory after `wait`, not before.

    Examples
    --------
    >>> from contextlib import closing
    >>> def product(tid, a, b, out):
    ...     out[tid] = a[tid] * b[tid]
    >>> out = np.empty(4)
    >>> with closing(CU("gpu")) as cu:
    ...     cu.enqueue(product, ntid=4, args=(cu.input(np.arange(4.0)), cu.input(np.full(4, 2.0)), cu.output(out)))
    ...     cu.wait()
    >>> out
    array([0., 2., 4., 6.])
    """

    def __init__(self, target: str) -> None:
        if target not in _TARGETS:
            raise ValueError(f"a compute unit is 'cpu' or 'gpu', and not {target!r}")
        self.target = target
        self._seed: int | None = None
        self._random: Any = None
        self._tags: dict[
            int, tuple[Any, Any]
        ] = {}  # of arrays to write back: by id, the device's and the host's
        self._used: set[int] = set()  # enqueued since the last wait
        self._closed = False
        self._stream: Any = 0
        if target == "gpu":
            from . import cuda

            self._stream = cuda.stream()

    # --- arrays ---

    def _tagged(self, ary: Any, copy: bool, back: bool) -> Any:
        self._check_open()
        if not isinstance(ary, np.ndarray):
            raise TypeError(f"a compute unit takes arrays of NumPy's, and {type(ary).__name__} is none")
        if back and not ary.flags.writeable:
            raise ValueError("an array to write to is read-only")
        if self.target == "cpu":
            return ary
        from . import cuda

        mine = cuda.to_device(ary, stream=self._stream, copy=copy)
        if back:
            self._tags[id(mine)] = mine, ary
        return mine

    def input(self, ary: Any) -> Any:
        """The array as kernels read it: it is copied now."""
        return self._tagged(ary, True, False)

    def output(self, ary: Any) -> Any:
        """One that kernels write: what they leave is in ``ary`` after `wait`."""
        return self._tagged(ary, False, True)

    def inout(self, ary: Any) -> Any:
        """One that they read and write."""
        return self._tagged(ary, True, True)

    def scratch(self, shape: Any, dtype: Any = np.float64, order: str = "C") -> Any:
        """One that only kernels know; its items are not set."""
        self._check_open()
        if self.target == "cpu":
            return np.empty(shape, dtype, order)  # type: ignore[call-overload]
        from . import cuda

        return cuda.device_array(shape, dtype, order=order, stream=self._stream)

    def scratch_like(self, ary: Any) -> Any:
        """One of that array's shape and type."""
        order = "F" if ary.flags["F_CONTIGUOUS"] and not ary.flags["C_CONTIGUOUS"] else "C"
        return self.scratch(ary.shape, ary.dtype, order)

    # --- kernels ---

    def configure(self, builtin: Any, value: Any) -> None:
        """Set something: ``builtins.random.seed`` is all that there is."""
        if builtin is not _Random.seed:
            raise ValueError(f"{builtin!r} is no setting of a compute unit: builtins.random.seed is one")
        self._seed = operator.index(value)
        self._random = None

    def enqueue(self, kernel: Any, ntid: int, args: Sequence[Any] = ()) -> None:
        """Run ``kernel(tid, *args)`` for each ``tid`` from 0 to ``ntid``, after what was enqueued before.

        Parameters
        ----------
        kernel : function, or one of ``numbapro.parallel.kernel.builtins``
            It returns nothing.
        ntid : int
            How many threads. Of a builtin that fills an array: how many items.
        args : sequence
            Arrays of this unit, and numbers.
        """
        self._check_open()
        n = operator.index(ntid)
        if n < 0:
            raise ValueError(f"{n} threads: it is at least 0")
        self._used.update(k for k in map(id, args) if k in self._tags)
        if isinstance(kernel, _Builtin):
            self._draw(kernel, n, *args)
        elif not callable(kernel):
            raise TypeError(f"a function of a thread's number is needed, and {type(kernel).__name__} is none")
        elif self.target == "cpu":
            _loop(kernel, len(args))(n, *args)
        elif n:
            _kernel(kernel, len(args))[-(-n // _BLOCK), _BLOCK, self._stream](n, *args)

    def _draw(self, kernel: _Builtin, n: int, out: Any, mean: float = 0.0, sigma: float = 1.0) -> None:
        if kernel is _Random.seed:
            raise ValueError("builtins.random.seed is set by configure()")
        if self.target == "cpu":
            if self._random is None:
                self._random = np.random.Generator(np.random.Philox(self._seed))
            drawn = (
                self._random.random(n) if kernel is _Random.uniform else self._random.normal(mean, sigma, n)
            )
            out[:n] = drawn
            return
        if self._random is None:
            from .cuda.rand import PRNG

            self._random = PRNG(seed=self._seed, stream=self._stream)
        if kernel is _Random.uniform:
            self._random.uniform(out, n)
        else:
            self._random.normal(out, mean, sigma, n)

    def wait(self) -> None:
        """Until all is done; what was written to tagged arrays is in the host's then."""
        self._check_open()
        for key in self._used:
            mine, ary = self._tags[key]
            mine.copy_to_host(ary, stream=self._stream)
        self._used.clear()
        if self._stream:
            self._stream.synchronize()

    def close(self) -> None:
        """Wait, and let go of the arrays."""
        if not self._closed:
            self.wait()
            self._tags.clear()
            self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError("the compute unit is closed")


def names_of(path: list[str]) -> dict[str, Any]:
    """What ``numbapro.parallel.kernel`` and modules inside of it have."""
    if not path:
        return {"CU": CU, "builtins": SimpleNamespace(random=_Random)}
    if path == ["builtins"]:
        return {"random": _Random}
    if path == ["builtins", "random"]:
        return {name: getattr(_Random, name) for name in ("seed", "uniform", "normal")}
    return {}
