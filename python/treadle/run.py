"""Running a script that was written for Numba or NumbaPro, with Treadle in their place.

``python -m treadle run script.py [args]`` (or ``-m module``, ``-c code``) puts modules named ``numba`` and ``numbapro`` in front of any installed ones. What Treadle
has answers under Numba's names, with Numba's rules for the types of results; what it lacks can be imported and fails with a clear message
when it is used. Nothing is interpreted in silence. Variables ``NUMBA_*`` that have a meaning are honoured, as they are
when the script first imports one of the modules.

``python -m treadle memcheck script.py [args]`` runs a script in the same way and looks for mistakes of its kernels. ``python -m treadle info`` runs nothing
and says what is here (treadle._info), ``python -m treadle cache`` lists and removes compiled code (treadle._cache).
"""

from __future__ import annotations

import builtins
import os
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import BuiltinImporter, ModuleSpec, SourceFileLoader, SourcelessFileLoader
from types import ModuleType, TracebackType
from typing import Any, Callable, NoReturn, Sequence

from . import _cudalib
from ._standin import MissingDecorator, MissingModule, MissingType, is_numba_module

__all__ = ["follow", "install", "main"]

_ROOTS = ("numba", "numbapro")
# The version of Numba's interface that the stand-ins follow.
_VERSION = "0.61.2"

USAGE = """usage: python -m treadle run      (script.py | -m module | -c code) [args ...]
       python -m treadle memcheck (script.py | -m module | -c code) [args ...]
       python -m treadle cache [--clean [DAYS]]
       python -m treadle info

run       runs a program written for numba or numbapro with Treadle in their place, in the Python processes that it begins, too
memcheck  runs it so too, and looks for mistakes of its CUDA kernels: indices out of range, races, what is read before
          anybody wrote it, threads at different barriers. Reports go to stderr; the exit status is 1 if there are any
cache     lists the compiled code that cache=True has kept: function, place, size, last use. --clean removes all of it, or
          what was not used for that many days
info      prints what a report of a fault needs: versions, processor, GPU, threads, the cache, settings"""


def _honour_environment() -> None:
    """NUMBA_* variables with a counterpart; those of Treadle's own win."""
    if "NUMBA_CACHE_DIR" in os.environ:
        os.environ.setdefault("TREADLE_CACHE_DIR", os.environ["NUMBA_CACHE_DIR"])
    stages = {
        "NUMBA_DUMP_BYTECODE": "code",
        "NUMBA_DUMP_IR": "front",
        "NUMBA_DUMP_LLVM": "llvm",
        "NUMBA_DUMP_OPTIMIZED": "llvmopt",
        "NUMBA_DUMP_ASSEMBLY": "asm",
    }
    asked = [s for name, s in stages.items() if os.environ.get(name, "0") not in ("", "0")]
    if asked:
        os.environ.setdefault("TREADLE_DUMP", ",".join(asked))

    from . import _core, config

    if "NUMBA_NUM_THREADS" in os.environ and "TREADLE_NUM_THREADS" not in os.environ:
        _core._set_pool_size("NUMBA_NUM_THREADS", os.environ["NUMBA_NUM_THREADS"])
    if "TREADLE_PROMOTION" not in os.environ:
        config.PROMOTION = "numba"
    _core._plain_subclasses(True)
    if "NUMBA_DISABLE_JIT" in os.environ and "TREADLE_DISABLE_JIT" not in os.environ:
        config.DISABLE_JIT = os.environ["NUMBA_DISABLE_JIT"] not in ("", "0")
    if "NUMBA_BOUNDSCHECK" in os.environ and "TREADLE_BOUNDSCHECK" not in os.environ:
        config.BOUNDSCHECK = os.environ["NUMBA_BOUNDSCHECK"] not in ("", "0")
    if _simulated() and not os.environ.get("TREADLE_CUDA"):
        config.CUDA = "emu"
    if not os.environ.get("TREADLE_CUDA_WARN"):
        switches = {"NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": "grid", "NUMBA_CUDA_WARN_ON_IMPLICIT_COPY": "copy"}
        on = [word for name, word in switches.items() if os.environ.get(name, "1") not in ("", "0")]
        config.CUDA_WARN = "auto" if len(on) == 2 else on[0] if on else "0"


def _simulated() -> bool:
    """Whether the program asks for Numba's simulator, which is the emulated device here."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


def _error_names() -> dict[str, Any]:
    from . import errors

    return {
        "NumbaError": errors.TreadleError,
        "TypingError": errors.TypingError,
        "UnsupportedError": errors.UnsupportedError,
        "LoweringError": errors.LoweringError,
        "InternalError": errors.InternalError,
        "NumbaWarning": Warning,
        "NumbaPerformanceWarning": errors.PerformanceWarning,
        "NumbaDeprecationWarning": DeprecationWarning,
        "NumbaPendingDeprecationWarning": PendingDeprecationWarning,
        **{
            f"Numba{kind}Warning": Warning
            for kind in (
                "DebugInfo ExperimentalFeature IRAssumption InvalidConfig ParallelSafety Pedantic System TypeSafety"
            ).split()
        },
    }


def _type_names() -> dict[str, Any]:
    from . import types

    return {name: getattr(types, name) for name in types.__all__}


def _check_cuda() -> bool:
    """numbapro.check_cuda: what devices there are, printed."""
    from . import cuda

    return cuda.detect()


def _numbapro_names() -> dict[str, Any]:
    """What NumbaPro had at its top and Numba has not."""
    from ._cu import CU

    return {"check_cuda": _check_cuda, "CU": CU}


def _version() -> Any:
    """numba.version_info."""
    from collections import namedtuple

    major, minor, patch = map(int, _VERSION.split("."))
    kind = namedtuple("version_info", "major minor patch short full string tuple git_revision")
    return kind(
        major, minor, patch, (major, minor), (major, minor, patch), _VERSION, tuple(_VERSION.split(".")), None
    )


def _names_of(module: str) -> dict[str, Any]:
    """What the stand-in module has."""
    if _cudalib.is_ours(module):
        return _cudalib.names_of(module)
    path = module.split(".")[1:]
    if path[:1] == ["cuda"] and path[1:2] in (["config"], ["types"], ["core"], ["np"], ["extending"]):
        del path[0]  # numba-cuda has its own copies
    if not path:
        from . import _core, _numba, stencils
        from .decorators import literal_unroll

        top = {k: v for k, v in _type_names().items() if k not in ("bool", "char", "typeof")}
        return {
            **_error_names(),
            "jit": _numba.jit,
            "njit": _numba.jit,
            "autojit": _numba.jit,
            "vectorize": _numba.vectorize,
            "guvectorize": _numba.guvectorize,
            "stencil": stencils.stencil,
            "generated_jit": MissingDecorator("numba.generated_jit"),
            "cfunc": MissingDecorator("numba.cfunc"),
            "jitclass": MissingDecorator("numba.jitclass"),
            "optional": MissingType("numba.optional"),
            "deferred_type": MissingType("numba.deferred_type"),
            "typeof": _numba.typeof,
            "get_num_threads": _core.get_num_threads,
            "get_thread_id": _core.get_thread_id,
            "threading_layer": _numba.threading_layer,
            "prange": _core.prange,
            "literal_unroll": literal_unroll,
            "set_num_threads": _core.set_num_threads,
            "__version__": _VERSION,
            "version_info": _version(),
            "from_dtype": _type_names()["as_type"],
            **(_numbapro_names() if module == "numbapro" else {}),
            **top,
        }
    if path in (["types"], ["core", "types"]):
        from . import _numba_types

        return {**_type_names(), **_numba_types.CLASSES, **_numba_types.DOMAINS}
    if path[:1] == ["typed"] and path[1:] in ([], ["typedlist"], ["typeddict"], ["typedset"]):
        from .typed import Dict, List, Set

        return {"Dict": Dict, "List": List, "Set": Set}
    if path in (["errors"], ["core", "errors"]):
        return _error_names()
    if path in (["config"], ["core", "config"]):
        from . import _core, _numba_cuda, config

        return {
            **_numba_cuda.config_names(_simulated()),
            "DISABLE_JIT": config.DISABLE_JIT,
            "BOUNDSCHECK": config.BOUNDSCHECK,
            "NUMBA_NUM_THREADS": _core._pool_size(),
        }
    if path in (["np", "numpy_support"], ["numpy_support"]):
        from . import _numba_types, types
        from .cuda._array import dtype_of

        version = _numba_types.NUMPY_VERSION
        return {"from_dtype": types.as_type, "as_dtype": dtype_of, "numpy_version": version}
    if path in (["extending"], ["core", "extending"]):
        from . import _numba

        return {
            "overload": _numba.overload,
            "register_jitable": _numba.register_jitable,
            "is_jitted": _numba.is_jitted,
            "get_cython_function_address": MissingType("numba.extending.get_cython_function_address"),
            "intrinsic": MissingDecorator("numba.extending.intrinsic"),
            **{name: _numba.unused for name in _numba.UNUSED},
            "typeof_impl": _numba.Registry(),
        }
    if path == ["np", "unsafe", "ndarray"]:
        from ._library.iterators import to_fixed_tuple

        return {"to_fixed_tuple": to_fixed_tuple}
    if path == ["cpython", "unsafe", "tuple"]:
        from ._library.iterators import tuple_setitem

        return {"tuple_setitem": tuple_setitem}
    if path == ["testing", "ddt"]:
        from . import _ddt

        return {name: getattr(_ddt, name) for name in _ddt.__all__}
    if module == "numbapro.testsupport":
        import unittest

        return {"unittest": unittest}
    if module.startswith("numbapro.parallel.kernel"):
        from . import _cu

        return _cu.names_of(path[2:])
    if path == ["experimental"]:
        return {"jitclass": MissingDecorator("numba.experimental.jitclass")}
    if path == ["experimental", "structref"]:  # modules declare what few of their users reach
        declares = ("register", "define_attributes", "define_boxing", "define_constructor", "define_proxy")
        return {
            **{name: MissingDecorator(f"numba.experimental.structref.{name}") for name in declares},
            "StructRefProxy": _Proxy,
        }
    if path in (["core", "registry"], ["core", "dispatcher"]):
        from ._core import Function

        return {"CPUDispatcher": Function, "Dispatcher": Function}
    if path[0] == "cuda":
        from . import _numba_cuda

        return _numba_cuda.names_of(path[1:])
    if path == ["tests", "support"]:
        from . import _numba_cuda

        return _numba_cuda.names_of(path)
    return {}


# Modules that have nothing but modules.
_PACKAGES = (
    "core",
    "cuda.core",
    "cuda.kernels",
    "cuda.np",
    "cuda.tests",
    "np",
    "parallel",
    "testing",
    "tests",
)


class _Proxy:
    """The base of classes that stand for structrefs: there are no objects of them."""

    def __new__(cls, *args: Any) -> NoReturn:
        from . import errors

        raise errors.UnsupportedError("Treadle does not have numba.experimental.structref")


class _Module(MissingModule):
    """A stand-in for a module. Modules inside of it that have something are found without an import of their own, too."""

    def __getattr__(self, name: str) -> Any:
        inside = f"{self.__name__}.{name}"
        known = inside.partition(".")[2] in _PACKAGES
        if name.startswith("_") or not (known or _names_of(inside)):
            return super().__getattr__(name)
        from importlib import import_module

        return import_module(inside)


class _StandinFinder(MetaPathFinder, Loader):
    """Finds numba, numbapro and their submodules."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root, _, inside = name.partition(".")
        if _cudalib.is_ours(name):
            return ModuleSpec(name, self, origin="treadle", is_package=True)
        if root not in _ROOTS or not (is_numba_module(name) or inside in _PACKAGES or _names_of(name)):
            return None
        return ModuleSpec(name, self, origin="treadle", is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        if spec.name.endswith(".config"):
            from ._numba_cuda import ConfigModule

            return ConfigModule(spec.name, "Treadle in the place of " + spec.name)
        return _Module(spec.name, "Treadle in the place of " + spec.name)

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ in _ROOTS:
            _honour_environment()
        names = _names_of(module.__name__)
        numbapro = module.__name__.startswith("numbapro")
        if numbapro or module.__name__.startswith("numba.cuda"):
            from ._numba_cuda import alone

            names = alone(names, numbapro)
        vars(module).update(names)
        module.__file__ = __file__  # programs print where what they use is


class _BuilderFinder(MetaPathFinder, Loader):
    """Finds llvmlite where there is none. Programs import it beside Numba, for the bodies of intrinsics: they run but for what reaches those."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] != "llvmlite":
            return None
        return ModuleSpec(name, self, origin="treadle", is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return MissingModule(spec.name, "Treadle in the place of " + spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def install() -> None:
    """Put the stand-ins in front of what is installed, for this process; llvmlite's behind it."""
    if not any(isinstance(f, _StandinFinder) for f in sys.meta_path):
        sys.meta_path.insert(0, _StandinFinder())
        sys.meta_path.append(_BuilderFinder())


def follow() -> None:
    """Have the stand-ins in Python processes that this one begins, too: what they read when they start is in front of ``PYTHONPATH``.

    It holds for children by any way that hands the environment on: subprocess, multiprocessing, joblib, dask. Python's options ``-E``, ``-I`` and ``-S`` go without.
    """
    hook = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_hook")
    before = os.environ.get("PYTHONPATH")
    if not before:
        os.environ["PYTHONPATH"] = hook
    elif hook not in before.split(os.pathsep):
        os.environ["PYTHONPATH"] = hook + os.pathsep + before


def main(argv: list[str]) -> int:
    """Entry point of ``python -m treadle``; returns the exit status."""
    command, given = (argv[0], argv[1:]) if argv else ("", [])
    if command in ("-h", "--help") or (command in _COMMANDS and given[:1] in (["-h"], ["--help"])):
        print(USAGE)
        return 0
    try:
        if command not in _COMMANDS:
            raise _UsageError(f"there is no command {command!r}" if command else "a command is missing")
        if command == "info":
            return _tell(given)
        if command == "cache":
            return _keep_house(given)
        program = _program(command, given)
    except _UsageError as e:
        print(f"{USAGE}\n\ntreadle: {e}", file=sys.stderr)
        return 2
    except OSError as e:
        print(f"treadle {command}: {e}", file=sys.stderr)
        return 2
    install()
    follow()
    return _run(program) if command == "run" else _memcheck(program)


_COMMANDS = ("run", "memcheck", "cache", "info")


def _tell(given: list[str]) -> int:
    from ._info import show

    if given:
        raise _UsageError(f"info takes no arguments, and {given[0]!r} is one")
    show()
    return 0


def _keep_house(given: list[str]) -> int:
    from ._cache import clean, show

    days = None
    if given and given[0] != "--clean":
        raise _UsageError(f"cache has no option {given[0]!r}")
    if len(given) > 2:
        raise _UsageError(f"cache --clean takes one number of days, and {given[2]!r} is more")
    if len(given) == 2:
        try:
            days = float(given[1])
        except ValueError:
            days = -1.0
        if not 0 <= days < 1e6:
            raise _UsageError(f"cache --clean takes a number of days, and {given[1]!r} is none")
    return clean(days) if given else show()


class _UsageError(Exception):
    """The command line is not one that there is; the text says why."""


def _program(command: str, given: list[str]) -> Callable[[], None]:
    """What runs the program that the arguments name, as Python runs it when they are its own."""
    first = given[0] if given else ""
    if first.startswith(("-m", "-c")):
        rest = given[1:]
        what = first[2:] or (rest.pop(0) if rest else "")
        if not what:
            raise _UsageError(f"{command} {first}: the {'module' if first == '-m' else 'code'} is missing")
        return lambda: _run_module(what, rest) if first[1] == "m" else _run_code(what, rest)
    if first.startswith("-"):
        raise _UsageError(
            f"{command} has no option {first!r}; those of Python go before -m: python {first} -m treadle {command} ..."
        )
    if not first:
        raise _UsageError(f"{command}: the program is missing")
    if not os.path.exists(first):
        is_module = not first.endswith(".py") and all(p.isidentifier() for p in first.split("."))
        module = f"; a module is run by -m {first}" if is_module else ""
        raise OSError(f"there is no file {first!r}{module}")
    if os.path.isdir(first) and not os.path.isfile(os.path.join(first, "__main__.py")):
        raise OSError(f"the folder {first!r} has no __main__.py")
    return lambda: _run_file(first, given[1:])


def _fresh_main(**names: Any) -> ModuleType:
    """A module ``__main__`` as Python makes it, which stays until the process ends: threads and pickled objects look there."""
    main = ModuleType("__main__")
    vars(main).update(__builtins__=builtins, **names)
    if sys.version_info < (3, 14):  # later ones are made when they are asked for
        vars(main)["__annotations__"] = {}
    sys.modules["__main__"] = main
    return main


def _begin_path(place: str) -> None:
    """The first entry of the path is where the program lies, but for Python's own option -P."""
    if not sys.flags.safe_path:
        sys.path[0] = place


def _run_module(name: str, args: list[str]) -> None:
    import runpy

    _fresh_main()
    _begin_path(os.getcwd())
    sys.argv = ["-m", *args]
    runpy._run_module_as_main(name)  # type: ignore[attr-defined]  # what Python itself calls


def _run_code(text: str, args: list[str]) -> None:
    main = _fresh_main(__loader__=BuiltinImporter)
    _begin_path("")
    sys.argv = ["-c", *args]
    exec(compile(text, "<string>", "exec", dont_inherit=True), vars(main))


def _run_file(path: str, args: list[str]) -> None:
    import runpy
    from zipfile import is_zipfile

    sys.argv = [path, *args]
    full = os.path.join(os.getcwd(), path)
    if os.path.isdir(path) or is_zipfile(path):
        _fresh_main()
        if sys.flags.safe_path:
            sys.path.insert(0, full)
        _begin_path(full)
        runpy._run_module_as_main("__main__", False)  # type: ignore[attr-defined]
        return
    _begin_path(os.path.dirname(os.path.realpath(path)))
    loader: Any = (SourcelessFileLoader if path.endswith(".pyc") else SourceFileLoader)("__main__", full)
    main = _fresh_main(__file__=full, __cached__=None, __loader__=loader)
    code = (
        loader.get_code("__main__")
        if path.endswith(".pyc")
        else loader.source_to_code(loader.get_data(full), full)
    )
    exec(code, vars(main))


def _show_own(kind: type[BaseException], error: BaseException, frames: TracebackType | None) -> None:
    """Show an exception that ends the program as Python shows it: from the program's first line on."""
    ours = (__file__, os.path.join(os.path.dirname(__file__), "__main__.py"), "<frozen runpy>")
    own = frames
    while own and own.tb_frame.f_code.co_filename in ours:
        own = own.tb_next
    sys.__excepthook__(kind, error.with_traceback(own or frames), own or frames)


def _run(program: Callable[[], None]) -> int:
    if sys.excepthook is sys.__excepthook__:  # a program may set its own
        sys.excepthook = _show_own
    program()
    return 0


def _memcheck(program: Callable[[], None]) -> int:
    """Run the program with all checks of kernels; 1 if there was anything to report, else its own status."""
    import traceback

    from . import config
    from .cuda import _checks

    if config.CUDA == "gpu":
        print("treadle memcheck: TREADLE_CUDA=gpu: checks are the emulated device's", file=sys.stderr)
        return 2
    config.CUDA = os.environ["TREADLE_CUDA"] = "emu"
    config.EMU_CHECK = config._ALL_CHECKS
    os.environ["TREADLE_EMU_CHECK"] = "all"  # of processes that the script begins
    found = _checks.collected = _checks.Collected()
    status: Any = 0
    try:
        program()
    except SystemExit as e:
        status = e.code
        if status is not None and not isinstance(status, int):
            print(status, file=sys.stderr)
            status = 1
    except Exception:
        traceback.print_exc()
        status = 1
    n = len(found.reports) + found.ended
    mistakes = f"{n or 'no'} mistake{'s' * (n != 1)} of kernels"
    if found.again:
        mistakes += f", some of them again in {found.again} more launch{'es' * (found.again != 1)}"
    print(f"treadle memcheck: {mistakes}", file=sys.stderr)
    return 1 if n else status or 0
