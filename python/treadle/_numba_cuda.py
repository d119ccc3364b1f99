"""numba.cuda as `treadle.run` offers it: Treadle's own names, Numba's decorator with what older releases and NumbaPro took, and what programs import of its tests."""

from __future__ import annotations

import builtins
import contextlib
import functools
import io
import re
import sys
import tempfile
import unittest
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any, Callable, NoReturn

import numpy as np

from . import config, cuda, types
from ._core import Function, Signature, as_type
from ._numba import Failed, guvectorize, typeof, unused, vectorize
from ._standin import Missing, MissingModule
from .cuda._compile import current_cc, device_flags, text_of
from .errors import TreadleError, UnsupportedError

__all__ = ["ConfigModule", "jit", "names_of"]


def jit(func_or_sig: Any = None, /, **options: Any) -> Any:
    """numba.cuda.jit. What cannot be compiled fails when it is launched or called, as with `treadle._numba.jit`."""
    if "func_or_sig" in options:
        func_or_sig = options.pop("func_or_sig")
    _check_carveout(options.pop("shared_memory_carveout", None))
    # they ask for nothing: how functions are inlined in LLVM changes no result
    for name in ("bind", "nopython", "target", "extensions", "forceinline", "lto"):
        options.pop(name, None)
    if not options.get("link", True):
        del options["link"]
    if "argtypes" in options:  # NumbaPro's way to declare a signature
        arguments, ret = tuple(options.pop("argtypes")), options.pop("restype", None)
        func_or_sig = arguments if ret is None else as_type(ret)(*arguments)
    elif options.get("restype", True) is None:
        del options["restype"]

    def decorated(fn: Any) -> Any:
        try:
            if any(isinstance(s, Missing) for s in _parts(func_or_sig)):
                raise UnsupportedError(
                    f"Treadle does not have a type of the signature of {fn.__qualname__}()"
                )
            made = cuda.jit(None if func_or_sig is fn else func_or_sig, **options)
            return _inspected(made(fn), options)
        except TreadleError as reason:
            return Failed(fn, reason)
        except FileNotFoundError as missing:  # what is linked is asked for by a launch, or a signature
            if func_or_sig is not None and func_or_sig is not fn:
                raise
            return Failed(fn, UnsupportedError(str(missing)))

    plain = func_or_sig is None or isinstance(func_or_sig, (str, tuple, list, Signature, Missing))
    return decorated if plain else decorated(func_or_sig)


def _inspected(made: Any, options: dict[str, Any]) -> Any:
    """A device function, with what Numba's has to look at it: the code is a device's."""
    if isinstance(made, Function):

        def text(stage: str, signature: Any = None) -> Any:
            if signature is None:
                return {s: text(stage, s) for s in made.signatures}
            return text_of(made, tuple(signature), stage, False, device_flags(options), current_cc()).text

        def compile_device(args: Any, return_type: Any = None) -> SimpleNamespace:
            names = re.findall(r"\.func\s*(?:\([^)]*\))?\s*([\w$]+)", text("ptx", args))
            return SimpleNamespace(signature=tuple(args), fndesc=SimpleNamespace(mangled_name=names[-1]))

        vars(made).update(
            compile_device=compile_device,
            inspect_asm=partial(text, "ptx"),
            inspect_llvm=partial(text, "llvmopt"),
            inspect_sass=_no_sass,
        )
    return made


def _no_sass(signature: Any = None) -> NoReturn:
    raise RuntimeError("Cannot inspect SASS of a device function")


def _check_carveout(given: Any) -> None:
    """How much of a multiprocessor's memory is to be shared memory, which a driver takes as a hint; ValueError for what is none."""
    if isinstance(given, str):
        if given.lower() not in ("default", "maxl1", "maxshared"):
            raise ValueError(f"Invalid carveout value: {given!r} is not 'default', 'MaxL1' or 'MaxShared'")
    elif given is not None and not -1 <= given <= 100:
        raise ValueError(f"shared_memory_carveout must be between -1 and 100, not {given}")


def _parts(signature: Any) -> Iterator[Any]:
    """A signature and all that is in it, where it is a tuple or a list."""
    yield signature
    if isinstance(signature, (tuple, list)):
        for part in signature:
            yield from _parts(part)


# --- numba.cuda.testing ---


def _taken(reason: Any = None) -> Any:
    """A decorator that leaves what it decorates, with a reason or without."""
    return reason if callable(reason) else lambda test: test


def _skipped(why: str) -> Callable[[Any], Any]:
    def decorator(reason: Any = None) -> Any:
        skip = unittest.skip(why)
        return skip(reason) if callable(reason) else skip

    return decorator


class CUDATestCase(unittest.TestCase):
    """A test that uses a device."""

    FLOAT16_RTOL = 2.0**-10

    def tearDown(self) -> None:
        cuda.synchronize()

    def reset_module_warnings(self, module: Any) -> None:
        """Have a module's warnings shown again."""
        named = sys.modules.get(module) if isinstance(module, str) else module
        if named is not None:
            vars(named).pop("__warningregistry__", None)

    def assertPreciseEqual(
        self,
        first: Any,
        second: Any,
        prec: str = "exact",
        ulps: int = 1,
        msg: str | None = None,
        ignore_sign_on_zero: bool = False,
        abs_tol: Any = None,
    ) -> None:
        """Equal in dtype, shape and value, NaN included; `prec` ``"single"`` and ``"double"``: within so many units of their last places."""
        if isinstance(first, (tuple, list)):
            assert type(first) is type(second) and len(first) == len(second), msg or (first, second)
            for a, b in zip(first, second):
                self.assertPreciseEqual(a, b, prec, ulps, msg, ignore_sign_on_zero, abs_tol)
            return
        a, b = np.asarray(first), np.asarray(second)
        assert a.shape == b.shape and a.dtype.kind == b.dtype.kind, msg or (
            a.dtype,
            b.dtype,
            a.shape,
            b.shape,
        )
        same = (a == b) | ((a != a) & (b != b))
        if prec != "exact":
            bits = 23 if prec == "single" else 52
            same |= np.abs(a - b) <= np.abs(b) * (ulps * 2.0**-bits)
        if abs_tol is not None:
            same |= np.abs(a - b) <= (2.0**-52 if abs_tol == "eps" else abs_tol)
        assert np.all(same), msg or f"{first!r} != {second!r}"
        if a.dtype.kind in "fc" and not ignore_sign_on_zero and prec == "exact":
            zero = (a == 0) & (b == 0)
            assert not np.any(zero & (np.signbit(a.real) != np.signbit(b.real))), (
                msg or "zeros of other signs"
            )


class SerialMixin:
    """A test that no other may run beside; who runs tests sees to that."""


class ForeignArray:
    """An array of the device as another package would have it: all there is is its interface."""

    def __init__(self, arr: Any) -> None:
        self._arr = arr
        self.__cuda_array_interface__ = arr.__cuda_array_interface__


@contextlib.contextmanager
def captured_stderr() -> Iterator[Any]:
    """A `with` that keeps what is written to stderr."""
    before, sys.stderr = sys.stderr, io.StringIO()
    try:
        yield sys.stderr
    finally:
        sys.stderr = before


@contextlib.contextmanager
def override_config(name: str, value: Any) -> Iterator[None]:
    """A `with` in which a name of numba.config has another value."""
    module = import_module("numba.cuda.core.config")
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


@contextlib.contextmanager
def captured_stdout() -> Iterator[Any]:
    """A `with` that keeps what is printed."""
    before, sys.stdout = sys.stdout, io.StringIO()
    try:
        yield sys.stdout
    finally:
        cuda.synchronize()
        sys.stdout = before


def _testing() -> dict[str, Any]:
    """Decorators of tests: kernels run compiled here, not in Numba's simulator, and no file of a CUDA toolkit is used."""
    taken = (
        "skip_on_cudasim",
        "skip_on_arm",
        "skip_on_wsl2",
        "skip_on_standalone_numba_cuda",
        "skip_under_cuda_memcheck",
        "skip_if_external_memmgr",
        "skip_if_lto",
        "skip_if_mvc_enabled",
        "skip_if_mvc_libraries_unavailable",
        "skip_with_cuda_python",
        "skip_on_nvjitlink_13_1_sm_120",
        "skip_with_nvdisasm",
        "linux_only",
        "xfail_unless_cudasim",
        *(f"skip_unless_cc_{cc}" for cc in (32, 50, 53, 60, 70, 75, 80, 90)),
    )
    return {
        **dict.fromkeys(taken, _taken),
        "skip_unless_cudasim": _skipped("kernels do not run in Numba's simulator"),
        **dict.fromkeys(
            (
                "skip_without_nvdisasm",
                "skip_if_cuda_includes_missing",
                "skip_if_cudadevrt_missing",
                "skip_if_nvjitlink_missing",
                "skip_if_curand_kernel_missing",
                "skip_unless_conda_cudatoolkit",
            ),
            _skipped("no file of a CUDA toolkit is used"),
        ),
        "unittest": unittest,
        "cc_X_or_above": lambda major, minor: cuda.get_current_device().compute_capability >= (major, minor),
        "CUDATestCase": CUDATestCase,
        "ContextResettingTestCase": CUDATestCase,
        "SerialMixin": SerialMixin,
        "ForeignArray": ForeignArray,
        "captured_stdout": captured_stdout,
        "captured_stderr": captured_stderr,
        "captured_cuda_stdout": captured_stdout,
        "override_config": override_config,
        "test_data_dir": _data_of_tests(),
        "temp_directory": lambda prefix: tempfile.mkdtemp(prefix=f"{prefix}-"),
        "windows_only": unittest.skip("this is Linux"),
        "TestCase": CUDATestCase,
        "IS_NUMPY_2": np.lib.NumpyVersion(np.__version__) >= "2.0.0",
        "skip_unless_cffi": unittest.skipUnless(find_spec("cffi"), "cffi is not installed"),
    }


def _data_of_tests() -> Path:
    """The folder of the files that tests link: ``data`` beside those that run, or above them."""
    for place in (Path(sys.argv[0]).resolve().parent, Path.cwd()):
        for folder in (place, *place.parents):
            if folder.name == "tests" and (folder / "data").is_dir():
                return folder / "data"
    return Path.cwd() / "data"


# --- the modules ---


def transpose(a: Any, b: Any = None) -> Any:
    """The transpose of an array of the device, in a new one or in ``b``."""
    made = a.transpose()
    if b is None:
        return made
    b.copy_to_device(made)
    return b


def _vector_types() -> dict[str, SimpleNamespace]:
    """Numba's list of vector types, by their names."""
    made = {}
    for dtype in cuda._VECTORS:
        for n in range(1, 5):
            of = getattr(cuda, f"{dtype}x{n}")
            made[of.__name__] = SimpleNamespace(
                name=of.__name__,
                base_type=of._vector_,
                num_elements=n,
                attr_names=of._fields,
                user_facing_object=of,
            )
    return made


def _unused() -> dict[str, Any]:
    """What tells Numba's compiler how types of a library's own are typed and lowered, of which compiled code here gets none."""
    names = "lower lower_attr lower_cast lower_constant lower_setattr register register_attr register_global".split()
    registry = SimpleNamespace(**dict.fromkeys((*names, "lower_getattr", "register_intrinsic"), unused))
    return {
        **dict.fromkeys(names, unused),
        "registry": registry,
        "Registry": lambda *args: registry,
        "lower_builtin": unused,
    }


def compile_all(pyfunc: Any, sig: Any, **options: Any) -> tuple[list[Any], Any]:
    """numba.cuda.compile_all: the code of a function in a list, which has what it is linked to in it."""
    code, result = cuda.compile(pyfunc, sig, **options)
    return [code], result


_OURS = ("blas", "fft", "libs", "rand", "sorting", "sparse")  # modules that Numba has not


def names_of(path: list[str]) -> dict[str, Any]:
    """What a module of numba.cuda has: ``[]`` is that itself, ``["cudadrv", "driver"]`` one inside."""
    if path in ([], ["api"], ["decorators"], ["device_init"]):
        scalars = {n: getattr(types, n) for n in types.__all__ if n not in dir(builtins)}
        own = {name: getattr(cuda, name) for name in cuda.__all__ if name not in _OURS}
        own |= {name: getattr(cuda.cudadrv, name) for name in ("devices", "driver")}
        return {
            **scalars,
            "vectorize": partial(vectorize, target="cuda"),
            "guvectorize": partial(guvectorize, target="cuda"),
            **own,
            "jit": jit,
            "autojit": jit,
            "CudaSupportError": cuda.cudadrv.error.CudaSupportError,
            "HAS_NUMBA": False,  # there is no Numba beside this
            "compile_all": compile_all,
            "is_bfloat16_supported": lambda: False,
            "is_fp16_supported": cuda.is_float16_supported,
        }
    if path == ["kernels", "transpose"]:
        return {"transpose": transpose}
    if path == ["kernels", "reduction"]:
        return {"Reduce": cuda.Reduce}
    if path in (["cudaimpl"], ["cudadecl"], ["core", "imputils"]):
        return _unused()
    if path == ["cudadrv", "driver"]:
        from ._numba_link import Linker

        more = {"_have_nvjitlink": lambda: False, "_Linker": Linker}  # nothing of nvJitLink is used
    else:
        more = {}
    if path == ["typing", "typeof"]:
        return {"typeof": typeof}
    if path == ["vector_types"]:
        return {"vector_types": _vector_types()}
    if path in (["testing"], ["tests", "support"]):
        return _testing()
    if path in (["compiler"], ["dispatcher"]):
        compiled = (
            "compile",
            "compile_for_current_device",
            "compile_ptx",
            "compile_ptx_for_current_device",
        )
        return {
            "compile_all": compile_all,
            **{name: cuda.Kernel for name in ("CUDADispatcher", "Dispatcher", "CUDAKernel", "_Kernel")},
            **{name: getattr(cuda, name) for name in compiled},
        }
    if any(part.startswith("_") for part in path):
        return {}
    name = "treadle.cuda"
    for part in path:  # one after the other: to look for what lies in a package imports the package
        package = hasattr(import_module(name), "__path__")
        name = f"{name}.{part}"
        if name not in sys.modules and not (package and find_spec(name)):
            return {}
    module = import_module(name)
    return more | {
        n: getattr(module, n) for n in getattr(module, "__all__", None) or dir(module) if n[0] != "_"
    }


# What kernels have that is the same for one thread as for many.
_OF_ONE = frozenset(
    "atomic brev cbrt clz const ffs fma fp16 local nanosleep popc selp threadfence threadfence_block threadfence_system".split()
)
# What else they have: it tells threads apart, or is between them.
_OF_MANY = frozenset(cuda.__all__) - {*cuda._WHERE, *cuda._MODULES} - _OF_ONE


def _is_of_many(value: Any) -> bool:
    """Whether it is such a thing of `treadle.cuda`, whatever its name is here."""
    if isinstance(value, (cuda.Dim3, type(cuda.laneid))):
        return True
    home = getattr(value, "__module__", None)
    path = f"{home}.{getattr(value, '__name__', '')}" if home else getattr(value, "__name__", None)
    return str(path).startswith("treadle.cuda.") and not _OF_MANY.isdisjoint(str(path).split("."))


def _asks_for_place(fn: Any, seen: set[int]) -> bool:
    """Whether a function, or one that it may call, names what is of many threads; in doubt it does."""
    fn = getattr(fn, "py_func", fn)
    if id(fn) in seen or not isinstance(fn, FunctionType):
        return False
    seen.add(id(fn))
    codes, known = [fn.__code__], dict(fn.__globals__)
    for code in codes:
        codes += [c for c in code.co_consts if isinstance(c, CodeType)]
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or ()):
        with contextlib.suppress(ValueError):  # empty
            known[name] = cell.cell_contents
    names = {name for code in codes for name in (*code.co_names, *code.co_freevars)}
    values = [known[name] for name in names if name in known]
    return not _OF_MANY.isdisjoint(names) or any(_is_of_many(v) or _asks_for_place(v, seen) for v in values)


def is_of_one(kernel: cuda.Kernel) -> bool:
    """Whether a kernel is right with one thread: it asks for no place among threads. Asked when it is called, as what it calls may be made after it."""
    return not _asks_for_place(kernel.py_func, set())


def alone(names: dict[str, Any], always: bool) -> dict[str, Any]:
    """The names of a module, in which a kernel may be called without a configuration: it runs as one thread.

    NumbaPro had it so for all kernels (``always``). Programs of that age that import Numba call such kernels as are right with one thread.
    """

    def wrapped(decorator: Any) -> Any:
        @functools.wraps(decorator)
        def made(*args: Any, **options: Any) -> Any:
            result = decorator(*args, **options)
            if isinstance(result, cuda.Kernel):
                result._alone = always or is_of_one
            return wrapped(result) if isinstance(result, FunctionType) else result

        return made

    return {**names, **{name: wrapped(names[name]) for name in ("jit", "autojit") if name in names}}


class ConfigModule(MissingModule):
    """numba.config: the switches of warnings can be set."""

    _SWITCHES = {"CUDA_LOW_OCCUPANCY_WARNINGS": "grid", "CUDA_WARN_ON_IMPLICIT_COPY": "copy"}

    def __setattr__(self, name: str, value: Any) -> None:
        vars(self)[name] = value
        if name in self._SWITCHES:
            on = [word for switch, word in self._SWITCHES.items() if vars(self).get(switch)]
            config.CUDA_WARN = "1" if len(on) == 2 else on[0] if on else "0"


def config_names(simulated: bool) -> dict[str, Any]:
    """What numba.config says of devices."""
    return {
        "ENABLE_CUDASIM": int(simulated),
        "DISABLE_CUDA": 0,
        "CUDA_LOW_OCCUPANCY_WARNINGS": int(config.CUDA_WARN in ("auto", "1", "grid")),
        "CUDA_WARN_ON_IMPLICIT_COPY": int(config.CUDA_WARN in ("auto", "1", "copy")),
        "CUDA_USE_NVIDIA_BINDING": 0,
        "CUDA_PER_THREAD_DEFAULT_STREAM": 0,
        "CUDA_ARRAY_INTERFACE_SYNC": 1,
    }
