"""The decorator ``cuda.jit``: kernels, and how they are launched."""

from __future__ import annotations

import copyreg
import functools
import inspect
import math
import operator
import sys
import threading
import types as _pytypes
import warnings
import weakref
from typing import TYPE_CHECKING, Any, Callable, ParamSpec, TypeVar, Union, overload

from .. import config, cuda
from .._core import (
    _STANDS_FOR,
    Configurable,
    Function,
    Launcher,
    Signature,
    Type,
    TypedDict,
    TypedList,
    TypedSet,
    _launch_hooks,
    _launcher,
    signature,
    typeof,
)
from .._pickle import Recipe, leads_back, parts_of
from ..decorators import (
    _OPTIONS,
    _flags,
    _is_cloudpickle,
    as_options,
    as_signatures,
    unknown_option,
    with_options,
)
from . import _checks, _order
from ._compile import device_flags, target_of
from ._devices import attributes, is_emulated, least_cc, ready
from ._errors import LaunchSizeError
from ._inspect import Inspection, inspect_ptx, is_of_constants
from ._stage import stage
from ._stream import Stream
from ._warn import tell
from .args import argument

__all__ = ["Kernel", "Launcher", "jit"]

if TYPE_CHECKING:
    from typing import Literal, Protocol

    from ..decorators import FastMath, OneSignature
    from ._link import LinkableCode
    from ._typing import Size, StreamLike

    class KernelDecorator(Protocol):
        def __call__(self, fn: Callable[P, object], /) -> Kernel[P]: ...

    class DeviceDecorator(Protocol):
        def __call__(self, fn: Callable[P, R], /) -> Function[P, R]: ...


P = ParamSpec("P")
R = TypeVar("R")

# Options that Treadle's own functions have, and those that say something about a GPU's code alone, with their defaults.
_SHARED_OPTIONS = {
    name: _OPTIONS[name][0] for name in ("fastmath", "cache", "debug", "inline", "promotion", "boundscheck")
}
_OF_GPU = {"opt": None, "lineinfo": False, "max_registers": None, "launch_bounds": None, "fma": True}


# What an entry is made for: blocks of these sizes, or all with that many axes.
Blocks = Union[tuple[int, int, int], int]
_setting_up = threading.Lock()
_SIZED = 4  # of a kernel's entries, at most, know the sizes of a block


def _entry(kernel: Function, blocks: Blocks) -> Callable[..., None]:
    """What the host calls: seven sizes (grid, block, bytes of shared memory), then the kernel's arguments.

    What is known of a block is part of the code: its sizes, or that it has one thread along its last axes, so that there are no loops over those.
    """
    start = cuda._launch
    if isinstance(blocks, tuple):
        x, y, z = blocks

        def sized(gx, gy, gz, bx, by, bz, nbytes, *args):  # type: ignore[no-untyped-def]
            start(kernel, gx, gy, gz, x, y, z, nbytes, args)

        return sized

    def line(gx, gy, gz, bx, by, bz, nbytes, *args):  # type: ignore[no-untyped-def]
        start(kernel, gx, gy, gz, bx, 1, 1, nbytes, args)

    def plane(gx, gy, gz, bx, by, bz, nbytes, *args):  # type: ignore[no-untyped-def]
        start(kernel, gx, gy, gz, bx, by, 1, nbytes, args)

    def space(gx, gy, gz, bx, by, bz, nbytes, *args):  # type: ignore[no-untyped-def]
        start(kernel, gx, gy, gz, bx, by, bz, nbytes, args)

    return (line, plane, space)[blocks - 1]


def _as_line_of(code: _pytypes.CodeType, of: _pytypes.CodeType) -> _pytypes.CodeType:
    """Code all of which stands in the first line of ``of``: what is wrong with a launch as a whole is shown there.

    Its arguments have names as CPython's own implicit ones (``.0`` of a comprehension), which messages leave out.
    A location table (CPython's Objects/locations.md) of entries with a line and no columns (code 13), for up to eight units of two bytes each.
    """
    units = len(code.co_code) // 2
    table = b"".join(bytes((0x80 | 13 << 3 | min(8, units - k) - 1, 0)) for k in range(0, units, 8))
    names = tuple(f".{name}" for name in code.co_varnames)
    return code.replace(
        co_filename=of.co_filename, co_firstlineno=of.co_firstlineno, co_linetable=table, co_varnames=names
    )


def _error_model(options: dict[str, Any]) -> str:
    """Divisions by zero give NumPy's results, but where mistakes are looked for by ``debug=True``, and nothing is fast."""
    return "python" if options.get("debug") is True and not options.get("fastmath") else "numpy"


def _sizes(what: str, given: Any, limits: tuple[int, int, int]) -> tuple[int, int, int]:
    items = given if isinstance(given, (tuple, list)) else (given,)
    if not 1 <= len(items) <= 3:
        raise ValueError(f"{what} has 1 to 3 axes, not {len(items)}")
    try:
        sizes = [operator.index(n) for n in items]
    except TypeError:
        raise TypeError(f"{what} must be an int or a tuple of ints, not {given!r}") from None
    for n, most, axis in zip(sizes, limits, "xyz"):
        if not 1 <= n <= most:
            raise LaunchSizeError(f"{what} is {n} along {axis}; a device takes 1 to {most}")
    sizes += [1] * (3 - len(sizes))
    return sizes[0], sizes[1], sizes[2]


def _limits(has: dict[str, int], of: str) -> tuple[int, int, int]:
    return has[f"MAX_{of}_DIM_X"], has[f"MAX_{of}_DIM_Y"], has[f"MAX_{of}_DIM_Z"]


def _shared_bytes(given: Any, most: int) -> int:
    try:
        n = operator.index(given)
    except TypeError:
        raise TypeError(f"the bytes of shared memory must be an int, not {given!r}") from None
    if not 0 <= n <= most:
        raise LaunchSizeError(
            f"{n} bytes of dynamic shared memory; a block has 0 to {most} ({most >> 10} KiB)"
        )
    return n


class Kernel(Configurable[P], Inspection):
    """A function that the threads of a grid run: ``kernel[grid, block](*args)``.

    ``grid`` is the number of blocks, ``block`` that of the threads in each: an int, or a tuple of up to three. Arguments are numbers, NumPy arrays, which are
    worked on in place, and device arrays. It is compiled at the first launch with new types of arguments.

    Attributes
    ----------
    py_func : function
        The function that was decorated.
    nopython_signatures : list of Signature
        The same as ``signatures``.
    """

    py_func: Callable[P, object]
    __name__: str
    __qualname__: str

    def __init__(
        self,
        fn: Callable[P, object],
        signatures: list[Any] | None,
        options: dict[str, Any],
        link: tuple[LinkableCode, ...] = (),
    ) -> None:
        watch = _checks.wanted(options)
        flags = _flags({"error_model": _error_model(options), **_checks.safe(options, watch)})
        self.py_func = fn
        self.targetoptions: dict[str, Any] = dict(options)
        self._warned = False
        self._alone: bool | Callable[[Kernel[...]], bool] = False  # may it run as one thread?
        self._linked: dict[str, Any] = {"link": link} if link else {}
        self._setups: Any = None  # of what is linked, once it is known
        self._kernel = Function(fn, flags, as_options({**options, **self._linked}))
        # what is declared with the type of a constant holds for these very types, and is compiled by a launch
        given = [s.args if isinstance(s, Signature) else s for s in signatures or ()]
        self._exact: list[tuple[Any, ...]] = []
        if any(map(is_of_constants, given)):
            self._exact = [s if isinstance(s, tuple) else signature(s).args for s in given]
        else:
            for one in signatures or ():
                self._kernel._announce(one)
        self._flags = flags
        self._entry_flags = {**flags, "watch": watch, "seed": config.EMU_SEED}
        self._entries: dict[Blocks, Function] = {}
        self._signatures = signatures or ()
        self._code: Function | None = None  # of a GPU
        self._before = _order.before if watch & config._CHECKS["bounds"] or _order.active else None
        for name in ("__name__", "__qualname__", "__doc__", "__module__"):
            setattr(self, name, getattr(fn, name))
        self.__wrapped__ = fn
        vars(self)[_STANDS_FOR] = self._kernel  # called by a kernel it is a device function

    def _entry(self, block: tuple[int, int, int]) -> Function:
        """The entry for blocks of these sizes."""
        blocks: Blocks = block
        if block not in self._entries:
            sized = sum(isinstance(of, tuple) for of in self._entries)
            if sized >= _SIZED or math.prod(block) % 32:  # a program that tries many would wait for each
                blocks = 3 if block[2] > 1 else 2 if block[1] > 1 else 1
        if blocks not in self._entries:
            self._entries.setdefault(blocks, self._new_entry(blocks))
        return self._entries[blocks]

    def _for_gpu(self, fn: Any) -> Function:
        flags = {**self._flags, **device_flags(self.targetoptions)}
        return Function(fn, flags, self._linked, target_of(least_cc()))

    def _of_gpu(self) -> Function:
        """The kernel's code for the GPU, which is its own entry."""
        if self._code is None:
            code = self._for_gpu(self.py_func)
            for s in () if self._exact else self._signatures:
                code._declare(s)
            for types in code.signatures:
                self._set_up(tuple(types))
            if self._signatures and not self._exact:
                code.disable_compile()
            self._code = code
        return self._code

    def _launcher(self, grid: Any, block: Any, stream: Any, nbytes: int) -> Launcher[P]:
        if is_emulated():
            return _launcher(self._entry(block), self, grid, block, stream, nbytes, self._before)
        made = _launcher(self._of_gpu(), self, grid, block, stream, nbytes)
        made._sync = self.targetoptions.get("debug") is True
        return made

    def _new_entry(self, blocks: Blocks) -> Function:
        entry: Any = _entry(self._kernel, blocks)
        entry.__name__, entry.__qualname__ = self.py_func.__name__, self.py_func.__qualname__
        entry.__code__ = _as_line_of(entry.__code__, self.py_func.__code__)
        return Function(entry, self._entry_flags, {})

    def _check_arguments(self, args: tuple[Any, ...]) -> None:
        """Asked before it is compiled for arguments: TypeError, in the kernel's words, for what it cannot take."""
        try:
            bound = inspect.signature(self.py_func).bind(*args)
        except TypeError as why:
            raise TypeError(f"{self.__name__}(): {why}") from None
        for name, value in bound.arguments.items():
            said = f"{self.__name__}(): argument {name!r} is"
            if isinstance(value, str):
                raise TypeError(f"{said} a string; a kernel takes numbers, arrays and tuples of them")
            if type(value) in (
                list,
                dict,
                set,
                TypedDict,
                TypedList,
                TypedSet,
            ):  # which functions of the host take
                text = f"a value of type {type(value).__name__} that kernels do not take"
                raise TypeError(f"{said} {text}\n  help: pass a NumPy array (np.array(x)) or a tuple")
            try:
                typeof(value)
            except TypeError as why:
                text = str(why).replace("has no Treadle type", "that kernels do not take", 1)
                raise TypeError(f"{said} {text}") from None
        types = tuple(typeof(value) for value in args)
        if self._exact and types not in self._exact:
            has = " and ".join(f"({', '.join(map(str, row))})" for row in self._exact)
            raise TypeError(f"{self.__name__}() takes {has} as declared, not ({', '.join(map(str, types))})")
        self._set_up(types)

    def _set_up(self, types: tuple[Any, ...]) -> None:
        """Callbacks of what the kernel is linked to, before it runs with these types; asks nothing where nobody has linked anything."""
        link = sys.modules.get(f"{__package__}._link")
        if link is None:
            return
        with _setting_up:
            if self._setups is None:
                self._setups = link.setups_of(self, self._linked.get("link", ())) or ()
                if self._setups:
                    weakref.finalize(self, self._setups.end)
        if self._setups:
            self._setups.ready(types)

    def _configure(self, config: Any) -> Launcher[P]:
        """``kernel[config]``, asked for once for each but where it names a stream."""
        ready()
        has = attributes()
        config = config if isinstance(config, tuple) else (config,)
        if not 2 <= len(config) <= 4:
            raise ValueError(
                f"{self.__name__}[grid, block, stream, shared_bytes]: 2 to 4 items, not {len(config)}"
            )
        stream = config[2] if len(config) > 2 else None
        nbytes = _shared_bytes(config[3] if len(config) > 3 else 0, has["MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"])
        if isinstance(stream, Stream):
            same: Launcher[P] = self[config[:2]]
            return self._launcher(same.grid, same.block, stream, nbytes)
        grid = _sizes("the grid", config[0], _limits(has, "GRID"))
        block = _sizes("the block", config[1], _limits(has, "BLOCK"))
        threads = block[0] * block[1] * block[2]
        if threads > has["MAX_THREADS_PER_BLOCK"]:
            raise LaunchSizeError(
                f"a block of {threads} threads; a device takes at most {has['MAX_THREADS_PER_BLOCK']}"
            )
        return self._launcher(grid, block, stream, nbytes)

    if not TYPE_CHECKING:  # a call without a configuration is a mistake

        def __call__(self, *args: Any) -> None:
            """ValueError: a kernel is launched with a configuration. Under old names (``treadle.run``) it may be one thread, and a warning, once for each kernel."""
            if not (self._alone(self) if callable(self._alone) else self._alone):
                raise ValueError(
                    f"{self.__qualname__}(): the launch configuration was not specified: "
                    f"a kernel is launched as {self.__name__}[blocks, threads](...)"
                )
            if not self._warned:
                self._warned = True
                warnings.warn(
                    f"{self.__qualname__}() is called without a configuration and runs as one thread; "
                    f"launch it as {self.__name__}[blocks, threads](...)",
                    stacklevel=2,
                )
            launcher = self[1, 1]
            launcher._told = True  # that it is one thread was said
            launcher(*args)

    def configure(
        self, griddim: Size, blockdim: Size, stream: StreamLike = 0, sharedmem: int = 0
    ) -> Launcher[P]:
        """The kernel with a configuration, as ``kernel[griddim, blockdim, stream, sharedmem]``."""
        return self[griddim, blockdim, stream, sharedmem]

    def forall(self, ntasks: int, tpb: int = 0, stream: StreamLike = 0, sharedmem: int = 0) -> Launcher[P]:
        """The kernel with as many blocks as a number of threads needs, on one axis; at least one.

        Parameters
        ----------
        ntasks : int
            How many threads.
        tpb : int
            Threads of a block; 0 stands for 128.
        stream : Stream
        sharedmem : int
            Bytes of shared memory that are asked for.

        Returns
        -------
        Launcher

        Raises
        ------
        ValueError
            ``ntasks`` is negative.
        """
        ntasks, tpb = operator.index(ntasks), operator.index(tpb) or 128
        if ntasks < 0:
            raise ValueError(f"forall({ntasks}): no number of tasks")
        return self[max(1, -(-ntasks // tpb)), tpb, stream, sharedmem]

    def specialize(self, *args: Any) -> Kernel[P]:
        """The kernel for the types of these arguments alone, or for these types."""
        if self.specialized:
            raise RuntimeError(f"{self.__qualname__}() is specialized already")
        types = tuple(a if isinstance(a, Type) else typeof(getattr(a, "_mem", a)) for a in args)
        known: dict[Any, Any] = self.__dict__.setdefault("_specializations", {})
        if types not in known:
            made = known[types] = jit([types], **self.targetoptions)(self.py_func)
            made._specialized = True
        return known[types]

    def __reduce__(self) -> Any:
        """By its name, or its parts, as compiled functions are pickled."""
        if leads_back(self):
            return self.__qualname__
        if not _is_cloudpickle(sys._getframe(1)):
            return parts_of(self)
        return self._recipe.make, (self.py_func, *self._recipe.how)

    @property
    def _recipe(self) -> Recipe:
        return Recipe(_rebuild, ([*self._signatures] or None, self.targetoptions, self._alone))

    def __repr__(self) -> str:
        return f"<kernel {self.__module__}.{self.__qualname__}>"


def _rebuild(fn: Any, signatures: list[Any] | None, options: dict[str, Any], alone: Any) -> Kernel[...]:
    made: Kernel[...] = jit(signatures, **options)(fn)
    made._alone = alone
    return made


def _rebuild_device(fn: Any, signatures: list[Any] | None, options: dict[str, Any]) -> Any:
    return jit(signatures, device=True, **options)(fn)


def _reduce_launcher(launcher: Launcher[...]) -> Any:
    """A kernel with a configuration; streams are the process's."""
    if launcher.stream is not None:
        raise TypeError(f"{launcher!r} is on a stream, which another process does not have")
    return operator.getitem, (launcher.kernel, (launcher.grid, launcher.block, 0, launcher.sharedmem))


copyreg.pickle(Launcher, _reduce_launcher)


def _links(link: Any) -> tuple[LinkableCode, ...]:
    if not link:  # most kernels link nothing, and import nothing for it
        return ()
    from ._link import as_links

    return as_links(link)


def _check(fn: Any) -> None:
    if isinstance(fn, (Function, Kernel)):
        raise TypeError(
            f"{fn.__qualname__} is compiled already; decorate its .py_func to compile it as a kernel"
        )
    if not isinstance(fn, _pytypes.FunctionType):
        raise TypeError(f"cuda.jit compiles Python functions, not {type(fn).__name__} {fn!r}")


@overload
def jit(
    func_or_sig: Callable[P, object],
    device: Literal[False] = False,
    *,
    debug: bool = False,
    fastmath: FastMath = False,
    cache: bool = False,
    inline: bool | Literal["never", "always"] = "never",
    promotion: Literal["treadle", "numba"] | None = None,
    boundscheck: bool | None = None,
    opt: bool | None = None,
    lineinfo: bool = False,
    max_registers: int | None = None,
    launch_bounds: int | tuple[int, ...] | None = None,
    fma: bool = True,
    link: Any = None,
) -> Kernel[P]: ...
@overload
def jit(
    func_or_sig: Callable[P, R],
    device: Literal[True],
    *,
    debug: bool = False,
    fastmath: FastMath = False,
    cache: bool = False,
    inline: bool | Literal["never", "always"] = "never",
    promotion: Literal["treadle", "numba"] | None = None,
    boundscheck: bool | None = None,
    opt: bool | None = None,
    lineinfo: bool = False,
    max_registers: int | None = None,
    launch_bounds: int | tuple[int, ...] | None = None,
    fma: bool = True,
    link: Any = None,
) -> Function[P, R]: ...
@overload
def jit(
    func_or_sig: OneSignature | list[Any] | None = None,
    device: Literal[False] = False,
    *,
    debug: bool = False,
    fastmath: FastMath = False,
    cache: bool = False,
    inline: bool | Literal["never", "always"] = "never",
    promotion: Literal["treadle", "numba"] | None = None,
    boundscheck: bool | None = None,
    opt: bool | None = None,
    lineinfo: bool = False,
    max_registers: int | None = None,
    launch_bounds: int | tuple[int, ...] | None = None,
    fma: bool = True,
    link: Any = None,
) -> KernelDecorator: ...
@overload
def jit(
    func_or_sig: OneSignature | list[Any] | None = None,
    *,
    device: Literal[True],
    debug: bool = False,
    fastmath: FastMath = False,
    cache: bool = False,
    inline: bool | Literal["never", "always"] = "never",
    promotion: Literal["treadle", "numba"] | None = None,
    boundscheck: bool | None = None,
    opt: bool | None = None,
    lineinfo: bool = False,
    max_registers: int | None = None,
    launch_bounds: int | tuple[int, ...] | None = None,
    fma: bool = True,
    link: Any = None,
) -> DeviceDecorator: ...
def jit(func_or_sig: Any = None, device: bool = False, **options: Any) -> Any:
    """Compile a function as a kernel, or (``device=True``) as a function that kernels call.

    Division by zero gives what NumPy gives, and does not raise but with ``debug=True``; indices out of range raise IndexError, as everywhere in Treadle.

    Parameters
    ----------
    func_or_sig : function, signature or list of signatures, optional
        With signatures no other types are accepted.
    device : bool
        A function for kernels to call, which may return values.
    debug : bool
        Look for mistakes while the kernel runs, races above all: a launch that has some raises `treadle.errors.KernelCheckError`. A division by zero raises ZeroDivisionError. Line tables, as `treadle.jit` keeps them.
    fastmath, cache, inline, promotion, boundscheck
        As `treadle.jit` has them.
    opt, lineinfo, max_registers, launch_bounds, fma
        For a GPU's code, as `compile` has them; without a meaning on the emulated device.
    link : path, LinkableCode, or list, tuple or set of these, optional
        Code of functions that `declare_device` declared and that this one calls.

    Returns
    -------
    Kernel, Function or decorator

    Raises
    ------
    TypeError
        An unknown option, or what is no function.

    Examples
    --------
    >>> @cuda.jit
    ... def add(x, y, out):
    ...     i = cuda.grid(1)
    ...     if i < out.size:
    ...         out[i] = x[i] + y[i]
    >>> out = np.zeros(1000)
    >>> add.forall(out.size)(np.ones(1000), np.ones(1000), out)
    >>> out.sum()
    np.float64(2000.0)
    """
    for name in options:
        if name not in (*_SHARED_OPTIONS, *_OF_GPU, "link"):
            raise unknown_option(name, ("device", *_SHARED_OPTIONS, *_OF_GPU))
    device_flags(options)
    link = _links(options.get("link"))
    own = {k: v for k, v in options.items() if k in _SHARED_OPTIONS}
    if isinstance(own.get("inline"), bool):
        own["inline"] = "always" if own["inline"] else "never"

    def make(fn: Any, signatures: list[Any] | None = None) -> Any:
        _check(fn)
        if not device:
            kernel: Kernel[...] = Kernel(fn, signatures, own, link)
            kernel.targetoptions = dict(options)
            return kernel
        safe = _checks.safe(own, _checks.wanted(own))
        flags = _flags({"error_model": _error_model(own), **safe})
        function = Function(fn, flags, {"link": link} if link else {})
        for s in signatures or ():
            function._announce(s)
        vars(function)["_links"] = link
        vars(function)["inspect_ptx"] = functools.partial(inspect_ptx, function, options)
        vars(function)["_recipe"] = Recipe(_rebuild_device, (signatures, options))
        return function

    if isinstance(func_or_sig, (_pytypes.FunctionType, Function, Kernel)):
        return make(func_or_sig)
    signatures = as_signatures(func_or_sig)
    return lambda fn: make(fn, signatures)


with_options(jit, {**_SHARED_OPTIONS, **_OF_GPU, "link": None})
_launch_hooks(argument, tell, _checks.passes, _order.active.launch if _order.active else None, stage)
