"""The decorators ``jit`` and ``njit``: they check options and signatures, and make a ``Function``."""

from __future__ import annotations

import inspect
import itertools
import sys
import types as _pytypes
from typing import TYPE_CHECKING, Any, Callable, TypeVar, overload

from . import config
from ._core import Function, Signature, as_type, signature

__all__ = ["jit", "literal_unroll", "njit"]

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Literal, ParamSpec, Protocol, TypeAlias

    from ._core import Type

    P = ParamSpec("P")
    R = TypeVar("R")
    # A declared signature, and what `fastmath` takes; ufunc.py has use for both.
    OneSignature: TypeAlias = str | Signature | tuple[Type, ...]
    Flag: TypeAlias = Literal["nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc", "fast"]
    FastMath: TypeAlias = bool | Flag | Collection[str]

    class Decorator(Protocol):
        def __call__(self, fn: Callable[P, R], /) -> Function[P, R]: ...


_T = TypeVar("_T")

# As TR_FASTMATH in src/base/opts.h.
_FASTMATH = {"nnan": 1, "ninf": 2, "nsz": 4, "arcp": 8, "contract": 16, "afn": 32, "reassoc": 64, "fast": 127}


def _bool(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise TypeError(f"{name} must be True or False, not {value!r}")


def _fastmath(value: Any) -> int:
    if isinstance(value, bool):
        return 127 if value else 0
    if isinstance(value, str):
        value = {value}
    if not isinstance(value, (set, frozenset, list, tuple)):
        raise TypeError(f"fastmath must be True, False or a set of flags, not {value!r}")
    unknown = [f for f in value if f not in _FASTMATH]
    if unknown:
        raise ValueError(f"fastmath has no flag {unknown[0]!r}; there are {', '.join(_FASTMATH)}")
    flags = 0
    for f in value:
        flags |= _FASTMATH[f]
    return flags


def _choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise ValueError(f"{name} must be {' or '.join(map(repr, choices))}, not {value!r}")
    return value


def _nopython(value: Any) -> None:
    if not _bool("nopython", value):
        raise ValueError(
            "nopython=False: Treadle has no object mode, it compiles a function or says why it cannot"
        )


def _locals(value: Any) -> dict[str, Any] | None:
    """The value of ``locals`` with types for what it says of them."""
    if value is None:
        return None
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise TypeError(f"locals must be a dict of types by variable, not {value!r}")
    return {name: as_type(t) for name, t in value.items()}


def as_options(options: dict[str, Any]) -> dict[str, Any]:
    """What the class Function takes as options."""
    return {**options, "locals": _locals(options["locals"])} if "locals" in options else options


# Each option: its default, and what it puts into the compiler's flags.
_OPTIONS: dict[str, tuple[Any, Callable[[Any, dict[str, int]], None]]] = {
    "nopython": (True, lambda v, f: _nopython(v)),
    "nogil": (False, lambda v, f: f.update(nogil=_bool("nogil", v))),
    "fastmath": (False, lambda v, f: f.update(fastmath=_fastmath(v))),
    "boundscheck": (
        None,
        lambda v, f: f.update(boundscheck=config.BOUNDSCHECK if v is None else _bool("boundscheck", v)),
    ),
    "error_model": (
        "python",
        lambda v, f: f.update(error_numpy=_choice("error_model", v, ("python", "numpy")) == "numpy"),
    ),
    "cache": (False, lambda v, f: f.update(cache=_bool("cache", v))),
    "inline": (
        "never",
        lambda v, f: f.update(inline_always=_choice("inline", v, ("never", "always")) == "always"),
    ),
    "parallel": (False, lambda v, f: f.update(parallel=_bool("parallel", v))),
    "debug": (False, lambda v, f: f.update(debug=_bool("debug", v))),
    "promotion": (
        None,
        lambda v, f: f.update(
            promote_numba=_choice("promotion", config.PROMOTION if v is None else v, ("treadle", "numba"))
            == "numba"
        ),
    ),
    "locals": (None, lambda v, f: _locals(v)),
}
# Numba's options that have no meaning here, with the reason.
_REFUSED = {
    "forceobj": "Treadle has no object mode",
    "looplift": "Treadle has no object mode",
    "target": "jit compiles for the CPU",
}


def unknown_option(name: str, known: Iterable[str]) -> TypeError:
    """The error of an option that there is not, with the one that may be meant."""
    from difflib import get_close_matches

    names = list(known)
    near = get_close_matches(name, names, 1)
    meant = f"did you mean {near[0]!r}? There" if near else "there"
    return TypeError(f"unknown option {name!r}; {meant} are {', '.join(names)}")


def _flags(options: dict[str, Any]) -> dict[str, int]:
    flags: dict[str, int] = {
        "plant": config.PLANT,
        "opt_level": config.OPT_LEVEL,
        "cpu": config.CPU,
        "watch": 0,  # of launches: cuda/_checks.py
        "seed": 0,  # of launches: cuda/_kernel.py
        "account": 0,  # of graphs: parallel/_explain.py
        "offload": 0,  # of graphs whose arrays lie on a device: 1 the emulated one, 2 one with code of its own
    }
    for name in options:
        if name in _REFUSED:
            raise TypeError(f"option {name!r} is not supported: {_REFUSED[name]}")
        if name not in _OPTIONS:
            raise unknown_option(name, _OPTIONS)
    for name, (default, put) in _OPTIONS.items():
        put(options.get(name, default), flags)
    return {k: int(v) for k, v in flags.items()}


def as_signatures(given: Any) -> list[Any] | None:
    """The list of signatures in the first argument of a decorator, or None."""
    if given is None:
        return None
    if isinstance(given, list):
        if not given:
            raise ValueError("the list of signatures is empty")
        return given
    if isinstance(given, (str, tuple, Signature)):
        return [given]
    raise TypeError(
        f'jit takes a function, or signatures like float64(int32, int32), "f8(i4, i4)", (int32, int32) '
        f"or a list of these, not {given!r}"
    )


def _check_function(fn: Any) -> None:
    if isinstance(fn, Function):
        raise TypeError(
            f"{fn.__qualname__} is compiled already; decorate its .py_func to compile it otherwise"
        )
    if isinstance(fn, (staticmethod, classmethod, property)):
        raise TypeError(f"put jit below @{type(fn).__name__}, next to the function")
    if isinstance(fn, type):
        raise TypeError(f"jit compiles functions, and {fn.__qualname__} is a class")
    if not isinstance(fn, _pytypes.FunctionType):
        raise TypeError(f"jit compiles Python functions, not {type(fn).__name__} {fn!r}")


def _make(
    fn: Any, signatures: list[Any] | None, options: dict[str, Any], flags: dict[str, int], sealed: bool = True
) -> Any:
    return _finish(_make_only(fn, options, flags), signatures, sealed)


def _make_only(fn: Any, options: dict[str, Any], flags: dict[str, int] | None = None) -> Any:
    """The function before what is declared of it is compiled."""
    _check_function(fn)
    if config.DISABLE_JIT:
        fn.py_func = fn
        return fn
    return Function(fn, _flags(options) if flags is None else flags, as_options(options))


def without_optional(given: Any) -> list[Any]:
    """The signatures that a declared one stands for: an optional parameter is None in one, and not in another."""
    declared = signature(given)
    choices = [
        (as_type(repr(t)[len("optional(") : -1]), as_type(None)) if repr(t).startswith("optional(") else (t,)
        for t in declared.args
    ]
    if all(len(c) == 1 for c in choices):
        return [given]
    returns = declared.return_type
    return [args if returns is None else returns(*args) for args in itertools.product(*choices)]


def _finish(function: Any, signatures: list[Any] | None, sealed: bool) -> Any:
    if signatures is not None and isinstance(function, Function):
        signatures = [s for given in signatures for s in without_optional(given)]
        for s in signatures:
            function._announce(s)
        for s in signatures:
            function._declare(s)
        function.disable_compile(sealed)
    return function


@overload
def jit(
    signature_or_function: Callable[P, R],
    /,
    *,
    nopython: Literal[True] = True,
    nogil: bool = False,
    fastmath: FastMath = False,
    boundscheck: bool | None = None,
    error_model: Literal["python", "numpy"] = "python",
    cache: bool = False,
    inline: Literal["never", "always"] = "never",
    parallel: bool = False,
    debug: bool = False,
    promotion: Literal["treadle", "numba"] | None = None,
    locals: dict[str, Type] | None = None,
) -> Function[P, R]: ...
@overload
def jit(
    signature_or_function: OneSignature | list[Any] | None = None,
    /,
    *,
    nopython: Literal[True] = True,
    nogil: bool = False,
    fastmath: FastMath = False,
    boundscheck: bool | None = None,
    error_model: Literal["python", "numpy"] = "python",
    cache: bool = False,
    inline: Literal["never", "always"] = "never",
    parallel: bool = False,
    debug: bool = False,
    promotion: Literal["treadle", "numba"] | None = None,
    locals: dict[str, Type] | None = None,
) -> Decorator: ...
def jit(signature_or_function: Any = None, /, **options: Any) -> Any:
    """Compile a function to machine code.

    Without signatures a specialisation is compiled at the first call with new argument types. With signatures those are
    compiled at once, and no other types are accepted: scalars convert as by assignment (bool, int, float, complex, in this
    order), arrays must match in dtype, rank and layout.

    Parameters
    ----------
    signature_or_function : function, signature or list of signatures, optional
        A signature is ``float64(int32, int32)``, ``"f8(i4, i4)"``, ``"void(f4[:])"`` or a tuple of argument types.
    nopython : bool
        Only True: nothing is ever interpreted.
    nogil : bool
        Release the GIL while the function runs.
    fastmath : bool or set of str
        Allow rewriting of float arithmetic; a set of ``nnan ninf nsz arcp contract afn reassoc fast`` allows these alone.
    boundscheck : bool, optional
        Indices out of range raise IndexError (default True).
    error_model : {'python', 'numpy'}
        What division by zero does: raise ZeroDivisionError, or give inf, nan or 0.
    cache : bool
        Keep machine code on disk for later processes; see ``TREADLE_CACHE_DIR``.
    inline : {'never', 'always'}
        Copy the function into each compiled caller.
    parallel : bool
        Run `prange` loops and array expressions on all cores (`set_num_threads`). Results are the same for every number of
        threads.
    locals : dict of str to type, optional
        Types of variables: what is assigned to them is converted, as NumPy's astype does it.
    debug : bool
        Keep line tables and frame pointers, and tell GDB and perf about the code.
    promotion : {'treadle', 'numba'}, optional
        Rules for the types of results: NumPy's (NEP 50), or Numba's bit for bit.

    Returns
    -------
    Function or decorator

    Raises
    ------
    TypeError
        An unknown option, or a signature that does not fit the function.
    ValueError
        An option with a value it does not have.
    TypingError, UnsupportedError, LoweringError
        When a declared signature cannot be compiled. Without signatures these come at the first call.

    Examples
    --------
    >>> @jit
    ... def total(a):
    ...     s = 0.0
    ...     for i in range(len(a)):
    ...         s += a[i]
    ...     return s
    """
    flags = _flags(options)
    if isinstance(
        signature_or_function, (_pytypes.FunctionType, _pytypes.BuiltinFunctionType, type, Function)
    ) or (isinstance(signature_or_function, (staticmethod, classmethod, property))):
        return _make(signature_or_function, None, options, flags)
    signatures = as_signatures(signature_or_function)

    def decorate(fn: Any) -> Any:
        return _make(fn, signatures, options, flags)

    return decorate


def plain_function(fn: Any, decorator: str, starred: str, none: str) -> Any:
    """What a decorator compiles: a Python function of positional parameters, one at least.

    Parameters
    ----------
    fn : object
    decorator : str
        Its name, for messages.
    starred, none : str
        What is wrong with parameters of other kinds, and with none.

    Raises
    ------
    TypeError
        It is no such function.
    """
    if isinstance(fn, (staticmethod, classmethod, property)):
        raise TypeError(f"put {decorator} below @{type(fn).__name__}, next to the function")
    if not isinstance(fn, _pytypes.FunctionType):
        raise TypeError(f"{decorator} compiles Python functions, not {type(fn).__name__} {fn!r}")
    code = fn.__code__
    if code.co_kwonlyargcount or code.co_flags & 0x0C:
        raise TypeError(f"{fn.__qualname__}() has keyword-only or starred parameters, {starred}")
    if not code.co_argcount:
        raise TypeError(f"{fn.__qualname__}() has no parameters; {none}")
    return fn


def with_options(fn: Any, options: dict[str, Any]) -> None:
    """Show these options, names and defaults, in place of a function's `**options`: to help() and to completion.

    At run time a function takes `**options`, so that it knows which were given and says what it makes of others.
    """
    own = inspect.signature(fn)
    kept = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    shown = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=d) for n, d in options.items()]
    fn.__signature__ = inspect.Signature([*kept, *shown])


with_options(jit, {name: default for name, (default, _) in _OPTIONS.items()})

if TYPE_CHECKING:
    njit = jit
else:

    def njit(signature_or_function: Any = None, /, **options: Any) -> Any:
        return jit(signature_or_function, **options)

    njit.__doc__ = f"The same as `jit`, under Numba's other name for it. {jit.__doc__}"
    njit.__signature__ = jit.__signature__


def _reduce(function: Function) -> Any:
    """What pickle stores: the qualified name where it leads back to the function, else its parts.

    A name in ``__main__`` leads elsewhere in another process. Cloudpickle (of joblib, dask) takes Python's functions by their parts itself.
    """
    from ._pickle import declared_of, leads_back, parts_of

    if leads_back(function):
        return function.__qualname__
    if not _is_cloudpickle(sys._getframe(1)):
        return parts_of(function)
    if own := vars(function).get("_recipe"):
        return own.make, (function.py_func, *own.how)
    return _rebuild, (function.py_func, declared_of(function), function.options, function.sealed)


def _is_cloudpickle(pickler: _pytypes.FrameType) -> bool:
    """Whether who asks for the parts of an object is cloudpickle, or a copy of it in another package: its method `dump` calls the pickler of C, which asks."""
    return str(pickler.f_globals.get("__name__", "")).endswith("cloudpickle.cloudpickle")


def _rebuild(fn: Any, signatures: list[Any] | None, options: dict[str, Any], sealed: bool = True) -> Any:
    return _make(fn, signatures, options, _flags(options), sealed)


def literal_unroll(container: _T) -> _T:
    """The tuple itself, of which a ``for`` loop's variable has each item's own type.

    The body is compiled once for each item, as Numba does it. Loops over tuples whose items have no common type need no such word; with it, numbers of
    different types stay what they are, too.

    Parameters
    ----------
    container : tuple
        Of up to 16 items, if they are of different types.

    Returns
    -------
    tuple

    Raises
    ------
    TypingError, UnsupportedError
        In compiled code: of what is no tuple; of items of different types that no ``for`` statement runs over.
    """
    return container
