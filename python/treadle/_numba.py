"""Numba's decorators as `treadle.run` offers them: Treadle's own, which take options of Numba's that ask for nothing Treadle would not do anyway.

A library compiles and decorates a great deal when it is imported, of which a program may use little. So nothing here fails at decoration for
what Treadle cannot do: what was decorated can be passed around, and fails with the reason when it is called.
"""

from __future__ import annotations

import functools
from types import FunctionType, MappingProxyType
from typing import Any, Callable, NoReturn

from . import _core, decorators, ufunc
from ._core import _REASON, Function, Signature, as_type
from ._standin import Missing, MissingType
from .errors import TreadleError, UnsupportedError

__all__ = ["Failed", "guvectorize", "is_jitted", "jit", "overload", "register_jitable", "typeof", "vectorize"]


class Failed:
    """What a decorator gave back for a function that cannot be compiled: calls raise the reason."""

    def __init__(self, fn: Any, reason: BaseException) -> None:
        functools.update_wrapper(self, fn)
        self.py_func = fn
        self.reason = reason
        vars(self)[_REASON] = (
            f"{fn.__qualname__}(), which cannot be compiled: {str(reason).partition(chr(10))[0]}"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise self.reason.with_traceback(None)

    __getitem__ = forall = configure = __call__  # as a kernel is launched

    def __repr__(self) -> str:
        return f"<{self.__name__}, which Treadle cannot compile>"


def _cut(options: dict[str, Any], harmless: dict[str, Any]) -> None:
    """Take options away that ask for nothing special."""
    for name, value in harmless.items():
        if name in options and options[name] == value:
            del options[name]


def _lacking(signature: Any) -> Missing | None:
    """A type in the signature that Treadle lacks."""
    items = signature if isinstance(signature, tuple) else (signature,)
    return next((item for item in items if isinstance(item, Missing)), None)


def _declare(function: Function, signatures: list[Any]) -> Function:
    """Compile what is declared; what cannot be compiled is the reason that calls raise which no other signature fits."""
    signatures = [
        s
        for given in signatures
        for s in ([given] if _lacking(given) is not None else decorators.without_optional(given))
    ]
    for s in signatures:
        if _lacking(s) is None:
            function._announce(s)
    for s in signatures:
        lacking = _lacking(s)
        try:
            if lacking is not None:
                raise UnsupportedError(f"Treadle does not have {lacking.__dict__['_name']}")
            function._declare(s)
        except TreadleError as reason:
            vars(function).setdefault(_REASON, reason)  # one for None comes after the one for a value
    function.disable_compile()
    return function


# Options of how Numba's compiler goes about it, which change no result.
_UNSEEN = ("no_rewrites", "no_cfunc_wrapper", "no_cpython_wrapper")


def jit(signature_or_function: Any = None, /, **options: Any) -> Any:
    """numba.jit. nopython=False only ever allowed a fall-back to the interpreter, which there is none of."""
    if options.get("target") in ("gpu", "cuda"):
        from . import _numba_cuda

        return _numba_cuda.jit(signature_or_function, **options)
    if "signature_or_function" in options:
        signature_or_function = options.pop("signature_or_function")
    for name in ("nopython", *_UNSEEN):
        options.pop(name, None)
    if isinstance(options.get("parallel"), dict):  # Numba's switches for single transformations
        options["parallel"] = any(options["parallel"].values())
    _cut(options, {"forceobj": False, "looplift": False, "target": "cpu"})
    if isinstance(options.get("locals"), dict):  # types of lists and the like declare what is found anyway
        options["locals"] = {
            name: t for name, t in options["locals"].items() if not isinstance(t, MissingType)
        }
    if "argtypes" in options:  # NumbaPro's way to declare a signature
        arguments = tuple(options.pop("argtypes"))
        ret = options.pop("restype", None)
        signature_or_function = arguments if ret is None else as_type(ret)(*arguments)
    if isinstance(signature_or_function, Missing):
        signature_or_function = [signature_or_function]
    fn, signatures = None, None
    if isinstance(signature_or_function, (str, tuple, list, Signature)):
        signatures = decorators.as_signatures(signature_or_function)
    else:
        fn = signature_or_function
    decorate = decorators.jit(**options)

    def decorated(fn: Any) -> Any:
        function = decorate(fn)
        if isinstance(function, Function):
            vars(function)["targetoptions"] = MappingProxyType({"nopython": True, **options})
            return function if signatures is None else _declare(function, signatures)
        return function

    return decorated if fn is None else decorated(fn)


def _as_vectorize(decorator: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(decorator)
    def stand_in(*args: Any, **options: Any) -> Any:
        options.pop("nopython", None)
        _cut(options, {"forceobj": False, "looplift": False})
        try:
            made = decorator(*args, **options)
        except TreadleError as reason:
            return functools.partial(Failed, reason=reason)
        if not isinstance(made, FunctionType):  # @vectorize without parentheses
            return made

        def decorate(fn: Any) -> Any:
            try:
                return made(fn)
            except TreadleError as reason:
                return Failed(fn, reason)

        return decorate

    return stand_in


vectorize = _as_vectorize(ufunc.vectorize)
guvectorize = _as_vectorize(ufunc.guvectorize)


def typeof(value: Any) -> Any:
    """numba.typeof: also of what says its type itself, as arrays of a device do."""
    own = getattr(value, "_numba_type_", None)
    return _core.typeof(value) if own is None else own


def threading_layer() -> str:
    """numba.threading_layer: a pool of threads of its own, which Numba calls so; any number of threads may use it."""
    return "workqueue"


def is_jitted(function: Any) -> bool:
    """numba.extending.is_jitted: whether a decorator has made it a compiled function."""
    return isinstance(function, Function)


def register_jitable(fn: Any = None, **options: Any) -> Any:
    """numba.extending.register_jitable: Treadle compiles any plain function that compiled code reaches."""
    return (lambda fn: fn) if fn is None else fn


# What tells Numba's compiler of types of a library's own, of which compiled code here gets none.
UNUSED = (
    "box",
    "infer",
    "infer_getattr",
    "infer_global",
    "lower_builtin",
    "lower_cast",
    "lower_getattr",
    "lower_getattr_generic",
    "lower_setattr",
    "make_attribute_wrapper",
    "overload_attribute",
    "overload_classmethod",
    "overload_method",
    "register_model",
    "reflect",
    "type_callable",
    "unbox",
)


def unused(*args: Any, **options: Any) -> Callable[[Any], Any]:
    """A decorator, or a call, of `UNUSED`: nothing comes of it."""
    return lambda decorated: decorated


class Registry:
    """numba.extending.typeof_impl: what is registered is not asked."""

    register = staticmethod(unused)


def overload(replaced: Any, *args: Any, **options: Any) -> Any:
    """numba.extending.overload. What compiled code would do with the function is not known, so it may not call it at all."""
    name = getattr(replaced, "__qualname__", repr(replaced))
    try:
        vars(replaced)[_REASON] = f"{name}(), which numba.extending.overload redefines"
    except TypeError:  # not a Python function: Treadle gives it its own meaning, or none
        pass
    return lambda fn: fn
