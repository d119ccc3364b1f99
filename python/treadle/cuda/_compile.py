"""PTX of Python functions: ``cuda.compile``, ``cuda.compile_ptx`` and their kin. No GPU is needed, and no toolkit but for mathematics."""

from __future__ import annotations

import operator
import types as _pytypes
import warnings
from typing import Any, NamedTuple

from .._core import _STANDS_FOR, Configurable, Function, _dev_selected
from ..decorators import _bool, _fastmath, _flags
from ..errors import UnsupportedError
from ._devices import PROCESSORS, capability, ready

__all__ = [
    "compile",
    "compile_for_current_device",
    "compile_ptx",
    "compile_ptx_for_current_device",
]

_OLDEST = PROCESSORS[0]


def target_of(cc: Any) -> str:
    """The compiler's name of a target, from a compute capability: ``(8, 0)`` or None, the oldest."""
    if cc is None:
        cc = _OLDEST
    try:
        major, minor = (operator.index(n) for n in cc)
    except (TypeError, ValueError):
        raise TypeError(f"cc must be a tuple of two ints as (8, 0), not {cc!r}") from None
    fitting = [p for p in PROCESSORS if p <= (major, minor)]
    if not fitting:
        raise UnsupportedError(
            f"Treadle makes code for compute capability {_OLDEST[0]}.{_OLDEST[1]} and up, not {major}.{minor}"
        )
    return "nvptx64:sm_{}{}".format(*fitting[-1])


def _number(name: str, value: Any, least: int = 0) -> int:
    try:
        n = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an int, not {value!r}") from None
    if not least <= n < 2**31:
        raise ValueError(f"{name} is {n}; it is at least {least}")
    return n


def _bounds(given: Any) -> dict[str, int]:
    """Flags of ``launch_bounds``: threads of a block, or these, blocks of a multiprocessor, blocks of a cluster."""
    if given is None:
        return {}
    items = given if isinstance(given, tuple) else (given,)
    if not 1 <= len(items) <= 3:
        raise ValueError(f"launch_bounds has 1 to 3 numbers, not {len(items)}")
    names = ("max_threads", "min_blocks", "max_blocks")
    flags = {name: _number("launch_bounds", n) for name, n in zip(names, items)}
    if not 1 <= flags["max_threads"] <= 1024:
        raise ValueError(f"launch_bounds: a block has 1 to 1024 threads, not {flags['max_threads']}")
    return flags


def device_flags(options: dict[str, Any]) -> dict[str, int]:
    """What the compiler is told of a device's code by the options of ``cuda.jit`` and ``cuda.compile``."""
    debug = _bool("debug", options.get("debug") or False)
    opt = options.get("opt")
    opt = not debug if opt is None else bool(opt)
    fast = _fastmath(options.get("fastmath") or False)
    lines = _bool("lineinfo", options.get("lineinfo", False))
    if debug and lines:
        warnings.warn("lineinfo says nothing beside debug, which has lines too", stacklevel=4)
    checked = options.get("boundscheck")
    flags = {
        "debug": debug,
        "opt_level": 2 if opt else 0,
        "fastmath": fast,
        "boundscheck": debug if checked is None else _bool("boundscheck", checked),
        "flush": bool(fast & 32),  # afn: functions may be approximate, and so may small numbers
        "separate": not _bool("fma", options.get("fma", True)),
        "lines": lines,
        **_bounds(options.get("launch_bounds")),
    }
    most = options.get("max_registers")
    if most is not None:
        flags["max_registers"] = _number("max_registers", most, 1)
    return {k: int(v) for k, v in flags.items()}


class Text(NamedTuple):
    """What the compiler gave: the text, the type of the result, and the parameters of a kernel: (argument or -1, part, bytes, offset)."""

    text: str
    result: Any
    params: list[tuple[int, int, int, int]]


def text_of(
    function: Function, sig: Any, stage: str, kernel: bool, flags: dict[str, int], cc: Any = None
) -> Text:
    """The text of a stage for a device: 'infer', 'opt', 'llvm', 'llvmopt' or 'ptx'."""
    return Text(*function._device(sig, target_of(cc), stage, kernel, flags))


def _function(pyfunc: Any, flags: dict[str, int], name: str | None = None) -> Function:
    if name is not None:
        fn = getattr(pyfunc, "py_func", pyfunc)
        pyfunc = _pytypes.FunctionType(fn.__code__, fn.__globals__, name, fn.__defaults__, fn.__closure__)
        pyfunc.__kwdefaults__ = fn.__kwdefaults__

    if isinstance(pyfunc, Configurable):  # a kernel
        pyfunc = vars(pyfunc)[_STANDS_FOR]
    if isinstance(pyfunc, Function):
        return pyfunc
    if not isinstance(pyfunc, _pytypes.FunctionType):
        raise TypeError(f"a Python function is compiled, not {type(pyfunc).__name__} {pyfunc!r}")
    return Function(pyfunc, _flags({"error_model": "numpy"}) | {"fastmath": flags["fastmath"]}, {})


def _compile(
    pyfunc: Any,
    sig: Any,
    device: bool,
    cc: Any,
    abi: str,
    abi_info: Any,
    output: str,
    options: dict[str, Any],
) -> tuple[str, Any]:
    if output == "ltoir":
        raise UnsupportedError(
            "Treadle makes PTX, not LTO-IR, whose format is NVIDIA's own: output='ptx', which nvJitLink takes as well"
        )
    if output != "ptx":
        raise ValueError(f"output must be 'ptx', not {output!r}")
    if abi not in ("numba", "c"):
        raise ValueError(f"abi must be 'numba' or 'c', not {abi!r}")
    device = _bool("device", device)
    if abi == "c" and not device:
        raise NotImplementedError("abi='c' is for device functions: kernels have one form of parameters")
    if abi_info is not None and not isinstance(abi_info, dict):
        raise TypeError(f"abi_info must be a dict, not {abi_info!r}")
    flags = device_flags(options)
    name = (abi_info or {}).get("abi_name")
    if name is not None and (abi != "c" or not isinstance(name, str) or not name.isidentifier()):
        raise ValueError(f"abi_info: abi_name is an identifier, and for abi='c', not {name!r}")
    if abi == "c":
        flags["plain"] = 1
    made = text_of(_function(pyfunc, flags, name), sig, "ptx", not device, flags, cc)
    return made.text, made.result


def compile(
    pyfunc: Any,
    sig: Any,
    debug: bool | None = None,
    lineinfo: bool = False,
    device: bool = True,
    fastmath: Any = False,
    cc: tuple[int, int] | None = None,
    opt: bool | None = None,
    abi: str = "c",
    abi_info: dict[str, Any] | None = None,
    output: str = "ptx",
    forceinline: bool = False,
    launch_bounds: Any = None,
    fma: bool = True,
) -> tuple[str, Any]:
    """PTX of a Python function for given types.

    Parameters
    ----------
    pyfunc : function
    sig : signature
        As for ``jit``: ``"void(f4[:], f4)"``, ``(float32[:], float32)``.
    debug : bool, optional
        Index checks, line tables and variables' places for a debugger; not optimised, unless ``opt`` says so.
    lineinfo : bool
        Say which line of the source each instruction is of.
    device : bool
        A function for other device code; False: a kernel.
    fastmath : bool or set of str
        Short forms of division, square root and functions of mathematics; small numbers are zero.
    cc : tuple of two ints, optional
        Compute capability, 7.5 and up (default).
    opt : bool, optional
        Optimise; the default is not to under ``debug``.
    abi : {'c', 'numba'}
        How a device function is called: see docs/cuda.md.
    abi_info : dict, optional
        ``{"abi_name": name}``: the name of a function of abi 'c'.
    output : {'ptx'}
    forceinline : bool
        Taken: whether a function is put in place of its calls is for whoever compiles those.
    launch_bounds : int or tuple of ints, optional
        Most threads of a block; also least blocks of a multiprocessor and most of a cluster.
    fma : bool
        Fuse products and sums, as CUDA C does.

    Returns
    -------
    ptx : str
    result : Type
        The type of what the function returns.

    Raises
    ------
    TypingError, UnsupportedError, LoweringError
        The function cannot be compiled for a device.
    """
    _bool("forceinline", forceinline)
    options = {
        "debug": debug,
        "lineinfo": lineinfo,
        "fastmath": fastmath,
        "opt": opt,
        "launch_bounds": launch_bounds,
        "fma": fma,
    }
    return _compile(pyfunc, sig, device, cc, abi, abi_info, output, options)


def compile_ptx(
    pyfunc: Any,
    sig: Any,
    debug: bool | None = None,
    lineinfo: bool = False,
    device: bool = False,
    fastmath: Any = False,
    cc: tuple[int, int] | None = None,
    opt: bool | None = None,
    abi: str = "numba",
    abi_info: dict[str, Any] | None = None,
    forceinline: bool = False,
    launch_bounds: Any = None,
    fma: bool = True,
) -> tuple[str, Any]:
    """PTX of a kernel, or of a device function with ``device=True``: `compile` with other defaults."""
    return compile(
        pyfunc,
        sig,
        debug=debug,
        lineinfo=lineinfo,
        device=device,
        fastmath=fastmath,
        cc=cc,
        opt=opt,
        abi=abi,
        abi_info=abi_info,
        forceinline=forceinline,
        launch_bounds=launch_bounds,
        fma=fma,
    )


def current_cc() -> tuple[int, int]:
    """The compute capability of the current device."""
    ready()
    return capability(_dev_selected())


def compile_for_current_device(pyfunc: Any, sig: Any, **options: Any) -> tuple[str, Any]:
    """`compile` for the current device; on the emulated one for what that stands for."""
    return compile(pyfunc, sig, cc=current_cc(), **options)


def compile_ptx_for_current_device(pyfunc: Any, sig: Any, **options: Any) -> tuple[str, Any]:
    """`compile_ptx` for the current device; on the emulated one for what that stands for."""
    return compile_ptx(pyfunc, sig, cc=current_cc(), **options)
