"""Stand-ins for what Treadle does not have: they can be imported and passed around, and fail with a clear message when used."""

from __future__ import annotations

import functools
from types import FunctionType, ModuleType
from typing import Any, NoReturn

from .errors import UnsupportedError

__all__ = ["Missing", "MissingDecorator", "MissingModule", "MissingType", "is_numba_module"]

# What to use in place of a name; a part of it decides. docs/from-numba.md has the same (tests/py/test_docs.py).
_PLAIN = "a plain function; compiled functions can be arguments"
_INSTEAD = {
    "jitclass": "arrays of records, arrays, and named tuples",
    "cfunc": _PLAIN,
    "generated_jit": _PLAIN,
    "overload": _PLAIN,
    "overload_method": _PLAIN,
    "overload_attribute": _PLAIN,
    "intrinsic": _PLAIN,
    "objmode": _PLAIN,
}


def instead(name: str) -> str:
    """What to use in place of the dotted name, as the end of a message; nothing where no such thing is known."""
    known = [_INSTEAD[part] for part in name.split(".") if part in _INSTEAD]
    return f"; instead: {known[0]}" if known else ""


class Missing:
    """Something that Treadle does not have."""

    def __init__(self, name: str) -> None:
        from ._core import _REASON  # not before: its settings are read when it is first imported

        self.__dict__["_name"] = name
        self.__dict__[_REASON] = (
            f"{name}, which Treadle does not have{instead(name)}" if "," not in name else name
        )
        self.__dict__["__name__"] = name.rpartition(".")[2]

    def _fail(self) -> NoReturn:
        name = self.__dict__["_name"]
        raise UnsupportedError(f"Treadle does not have {name}{instead(name)}")

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        self._fail()

    def __getattr__(self, name: str) -> Missing:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Missing(f"{self.__dict__['_name']}.{name}")

    def __getitem__(self, key: Any) -> NoReturn:
        self._fail()

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        self._fail()

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        """Classes can be derived from it, and fail when objects are made."""
        return (type(self.__dict__["__name__"], (), {"__init__": self.__call__}),)

    def __iter__(self) -> NoReturn:
        self._fail()

    def __bool__(self) -> NoReturn:
        self._fail()

    def __enter__(self) -> NoReturn:
        self._fail()

    def __exit__(self, *exc: Any) -> NoReturn:
        self._fail()

    def __instancecheck__(self, instance: Any) -> bool:
        return False  # of what is not there

    def __subclasscheck__(self, subclass: Any) -> NoReturn:
        self._fail()

    def __repr__(self) -> str:
        return f"<{self.__dict__['_name']}, which Treadle does not have>"


class MissingDecorator(Missing):
    """A decorator that Treadle does not have. What it decorates can be passed around, and fails when it is used."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = self.__dict__["_name"]
        if len(args) == 1 and not kwargs and isinstance(args[0], (type, FunctionType)):
            return Missing(f"{name}, which decorates {args[0].__qualname__}")
        return MissingDecorator(name)


class MissingType(Missing):
    """A type that Treadle does not have; so are types made of it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self

    def __getitem__(self, key: Any) -> Any:
        return self

    def __bool__(self) -> bool:
        return True


@functools.cache
def _numba_names() -> dict[str, frozenset[str]]:
    """The names of Numba's modules, by the module's without ``numba.``."""
    from importlib.resources import files

    lines = files(__package__).joinpath("_numba_names.txt").read_text("utf-8").splitlines()[1:]
    return {module.strip("."): frozenset(names) for module, *names in map(str.split, lines)}


# What the numba.cuda of the package numba-cuda (0.30) has beside Numba's: packages, of whatever is in them, and modules.
_CUDA_PACKAGES = frozenset(
    """_internal cext cloudpickle core cpython cudadrv datamodel experimental kernels memory_management misc np simulator tests typeconv types
    typing""".split()
)
_CUDA_MODULES = frozenset(
    """_compat bf16 cache_hints cgutils config debuginfo flags fp16 fp8 itanium_mangler launchconfig locks lowering models serialize
    utils vectorizers""".split()
)


def is_numba_module(name: str) -> bool:
    """Whether Numba, or numba-cuda, may have a module of that name; NumbaPro has modules that nobody has listed."""
    root, _, path = name.partition(".")
    first, _, inside = path.removeprefix("cuda.").partition(".")
    beside = path.startswith("cuda.") and (first in _CUDA_PACKAGES or (first in _CUDA_MODULES and not inside))
    return root != "numba" or beside or path in _numba_names()


def _may_have(module: str, name: str) -> bool:
    """Whether Numba's module may have the name."""
    root, _, path = module.partition(".")
    names = (
        _numba_names().get(path) or _numba_names().get(f"core.{path}") or frozenset()
    )  # numba.config is core.config
    return root != "numba" or path.startswith("cuda.") or name in names or "*" in names


class MissingModule(ModuleType):
    """A module whose names are what it was given, and stand-ins for what Numba has beside. Programs ask for names to learn what there is."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if (name.startswith("__") and name.endswith("__")) or not _may_have(self.__name__, name):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        kind = MissingType if self.__name__.endswith(".types") else Missing
        return kind(f"{self.__name__}.{name}")
