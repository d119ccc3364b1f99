"""The decorators ``vectorize`` and ``guvectorize``: real ``numpy.ufunc`` objects whose inner loops are compiled.

A class without subclasses cannot carry more than NumPy gave it, so what Treadle knows of a ufunc is in a `UfuncInfo`, which `ufunc_info` returns; where NumPy
lets ufuncs have attributes (2.3 and later), ``f.py_func`` and ``f.info`` are there too.
"""

from __future__ import annotations

import copyreg
import pickle
import re
import sys
import types as _pytypes
from typing import TYPE_CHECKING, Any, Callable, overload

import numpy as np

from . import _core, config
from .decorators import (
    _OPTIONS,
    _REFUSED,
    _choice,
    _flags,
    _is_cloudpickle,
    as_options,
    plain_function,
    unknown_option,
    with_options,
)

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Literal, TypeAlias

    from .cuda._ufunc import DeviceGUfunc, DeviceUfunc
    from .decorators import FastMath, OneSignature

    Identity: TypeAlias = None | Literal["reorderable"] | bool | int | float | complex
    Signatures: TypeAlias = OneSignature | list[Any] | tuple[Any, ...]

__all__ = ["UfuncInfo", "guvectorize", "ufunc_info", "vectorize"]

_TARGETS = ("cpu", "parallel", "cuda")
# Options of jit that say nothing here: a ufunc always divides as NumPy does, and NumPy decides about the GIL.
_NOT_HERE = {
    "error_model": "in a ufunc nothing raises for a division: values are NumPy's",
    "nogil": "the GIL is released for all but short calls",
    "inline": "a ufunc is copied into compiled callers where it is small",
}


def _target(value: Any) -> str:
    return _choice("target", "cuda" if value == "gpu" else value, _TARGETS)


def _function(fn: Any, decorator: str) -> Any:
    if isinstance(fn, _core.Function):
        return fn.py_func
    return plain_function(
        fn, decorator, "which the operands of a ufunc cannot be", "a ufunc needs at least one input"
    )


def _compile_flags(options: dict[str, Any], own: tuple[str, ...]) -> dict[str, int]:
    """Flags of the options that `jit` has too; `own` are the decorator's others."""
    for name in options:
        if name in _NOT_HERE:
            raise TypeError(f"option {name!r} has no meaning for a ufunc: {_NOT_HERE[name]}")
    unknown = [n for n in options if n not in _OPTIONS and n not in _REFUSED]
    if unknown:
        known = [*(n for n in _OPTIONS if n not in _NOT_HERE), *own]
        raise unknown_option(unknown[0], known)
    return _flags({**options, "error_model": "numpy"})


def _identity(value: Any) -> Any:
    if value is None or value == "reorderable" or isinstance(value, (bool, int, float, complex)):
        return value
    raise ValueError(f"identity must be None, 'reorderable' or a number, not {value!r}")


def _signature_list(given: Any, decorator: str) -> list[Any]:
    if isinstance(given, (str, _core.Signature)):
        return [given]
    if isinstance(given, tuple) and given and all(isinstance(g, _core.Type) for g in given):
        return [given]
    if isinstance(given, (list, tuple)):
        return list(given)
    raise TypeError(
        f'{decorator} takes a function, or signatures like float64(float64, float64), "f8(f8, f8)", or a list of these, not {given!r}'
    )


def _read_signature(text: Any) -> Any:
    """A signature; a mistake in a text is shown with a caret."""
    try:
        return _core.signature(text)
    except TypeError as e:
        place = re.search(r" at position (\d+) of .*", str(e), re.DOTALL)
        if place is None or not isinstance(text, str):
            raise
        why = str(e)[: place.start()].split("': ", 1)[-1]
        raise TypeError(f"bad signature: {why}\n{_caret(text, int(place.group(1)) - 1)}") from None


def _caret(text: str, at: int) -> str:
    """The line of `text` that holds position `at`, and a caret below it."""
    start = text.rfind("\n", 0, at) + 1
    return f"  {text[start:].split(chr(10), 1)[0]}\n  {' ' * (at - start)}^"


def _remember(u: Any, fn: Any) -> None:
    """Attributes, where NumPy allows any."""
    if hasattr(u, "__dict__"):
        u.py_func = fn
        u.__wrapped__ = fn
        u.__module__ = fn.__module__
        u.info = lambda: ufunc_info(u)


# --- vectorize ---


def _outputs(signatures: list[Any]) -> int:
    """Number of outputs that the declared result types have."""
    counts = {len(getattr(s.return_type, "types", None) or (None,)) for s in signatures}
    if len(counts) > 1:
        raise TypeError("the signatures declare different numbers of results")
    return counts.pop() if counts else 1


def _make_ufunc(
    fn: Any, signatures: list[Any], identity: Any, target: str, options: dict[str, Any], flags: dict[str, int]
) -> Any:
    fn = _function(fn, "vectorize")
    parsed = [_read_signature(s) for s in signatures]
    function = _core.Function(fn, flags, {**as_options(options), "target": target})
    u = _core._ufunc(
        function,
        fn.__code__.co_argcount,
        _outputs(parsed),
        fn.__name__,
        fn.__doc__,
        identity,
        None,
        (),
        not signatures,
        target != "cpu",
        (),
        config.DISABLE_JIT,
    )
    for s in parsed:
        _core._ufunc_compile(u, s, True)
    _remember(u, fn)
    if target != "cuda":
        return u
    from .cuda._ufunc import DeviceUfunc

    return DeviceUfunc(u, fn, parsed, flags)


@overload
def vectorize(
    signatures_or_function: Callable[..., Any],
    /,
    *,
    identity: Identity = None,
    target: Literal["cpu", "parallel"] = "cpu",
    nopython: Literal[True] = True,
    fastmath: FastMath = False,
    boundscheck: bool | None = None,
    cache: bool = False,
    parallel: bool = False,
    debug: bool = False,
    promotion: Literal["treadle", "numba"] | None = None,
    locals: dict[str, _core.Type] | None = None,
) -> np.ufunc: ...
@overload
def vectorize(
    signatures_or_function: Callable[..., Any],
    /,
    *,
    identity: Identity = None,
    target: Literal["cuda", "gpu"],
    nopython: Literal[True] = True,
    fastmath: FastMath = False,
    boundscheck: bool | None = None,
    cache: bool = False,
    parallel: bool = False,
    debug: bool = False,
    promotion: Literal["treadle", "numba"] | None = None,
    locals: dict[str, _core.Type] | None = None,
) -> DeviceUfunc: ...
@overload
def vectorize(
    signatures_or_function: Signatures | None = None,
    /,
    *,
    identity: Identity = None,
    target: Literal["cpu", "parallel"] = "cpu",
    nopython: Literal[True] = True,
    fastmath: FastMath = False,
    boundscheck: bool | None = None,
    cache: bool = False,
    parallel: bool = False,
    debug: bool = False,
    promotion: Literal["treadle", "numba"] | None = None,
    locals: dict[str, _core.Type] | None = None,
) -> Callable[[Callable[..., Any]], np.ufunc]: ...
@overload
def vectorize(
    signatures_or_function: Signatures | None = None,
    /,
    *,
    identity: Identity = None,
    target: Literal["cuda", "gpu"],
    nopython: Literal[True] = True,
    fastmath: FastMath = False,
    boundscheck: bool | None = None,
    cache: bool = False,
    parallel: bool = False,
    debug: bool = False,
    promotion: Literal["treadle", "numba"] | None = None,
    locals: dict[str, _core.Type] | None = None,
) -> Callable[[Callable[..., Any]], DeviceUfunc]: ...
def vectorize(
    signatures_or_function: Any = None, /, *, identity: Any = None, target: str = "cpu", **options: Any
) -> Any:
    """Make a NumPy ufunc of a function of scalars.

    Without signatures a loop is compiled whenever the ufunc meets new input types; the result type follows from the function. With signatures the loops are
    compiled at once and inputs convert to the first signature that all of them fit safely.

    Parameters
    ----------
    signatures_or_function : function, signature or list of signatures, optional
        A signature is ``float64(float64, float64)``, ``"f8(f8, f8)"`` or a tuple of argument types.
    identity : None, 'reorderable' or number
        The start of a reduction. None: it starts with the first element, and only along one axis; 'reorderable': along several.
    target : {'cpu', 'parallel', 'cuda'}
        One core, or all of them for large arrays; ``'cuda'``, also ``'gpu'``, takes arrays of the device.
    **options
        ``cache``, ``fastmath``, ``boundscheck``, ``debug``, ``promotion``, as `jit` has them.

    Returns
    -------
    numpy.ufunc, `treadle.cuda.DeviceUfunc` for ``target='cuda'``, or decorator

    Raises
    ------
    TypeError
        An unknown option, a bad signature, or one that does not fit the function.
    ValueError
        An option with a value it does not have.

    Examples
    --------
    >>> @vectorize
    ... def relu(x):
    ...     return x if x > 0 else type(x)(0)
    """
    target = _target(target)
    identity = _identity(identity)
    flags = _compile_flags(options, ("identity", "target"))
    given = signatures_or_function
    if isinstance(given, (_pytypes.FunctionType, _core.Function, staticmethod, classmethod, property)):
        return _make_ufunc(given, [], identity, target, options, flags)
    signatures = [] if given is None else _signature_list(given, "vectorize")
    for s in signatures:
        _read_signature(s)

    def decorate(fn: Any) -> Any:
        return _make_ufunc(fn, signatures, identity, target, options, flags)

    return decorate


# --- guvectorize ---

_TOKEN = re.compile(r"\s*(->|[(),]|[A-Za-z_]\w*\??|\d+|$|.)", re.DOTALL)


class _Layout:
    """The axes of a gufunc's operands, from text like ``(m,n),(n,p)->(m,p)``."""

    def __init__(self, text: Any) -> None:
        if not isinstance(text, str):
            raise TypeError(f'a layout is text such as "(m,n),(n,p)->(m,p)", not {text!r}')
        self.text = text
        self.at = 0
        self.start = 0
        self.token = ""
        self.inputs: list[tuple[str, ...]] = []
        self.outputs: list[tuple[str, ...]] = []
        self.next()
        self.inputs = self.operands()
        self.arrow = self.token == "->"
        if self.arrow:
            self.next()
            self.outputs = self.operands()
        if self.token:
            self.fail("nothing more is expected here" if self.arrow else "',' or '->' is expected here")
        known = {d for op in self.inputs for d in op}
        for op in self.outputs:
            for d in op:
                if d not in known and not d.isdigit():
                    self.start = self.text.rindex(d)
                    self.fail(f"the size of {d!r} is not known: no input has it")

    def fail(self, why: str) -> None:
        raise ValueError(f"bad layout: {why}\n{_caret(self.text, self.start)}")

    def next(self) -> None:
        match = _TOKEN.match(self.text, self.at)
        assert match is not None
        self.token, self.start, self.at = match.group(1), match.start(1), match.end()

    def operands(self) -> list[tuple[str, ...]]:
        found = [self.operand()]
        while self.token == ",":
            self.next()
            found.append(self.operand())
        return found

    def operand(self) -> tuple[str, ...]:
        if self.token != "(":
            self.fail("'(' is expected here")
        self.next()
        axes: list[str] = []
        while self.token != ")":
            if axes:
                if self.token != ",":
                    self.fail("',' or ')' is expected here")
                self.next()
            if self.token.endswith("?"):
                self.fail("optional axes are not supported")
            if not re.fullmatch(r"[A-Za-z_]\w*|\d+", self.token):
                self.fail("the name or size of an axis is expected here")
            if self.token.isdigit() and int(self.token) == 0:
                self.fail("an axis of size 0 holds nothing")
            axes.append(self.token)
            self.next()
        self.next()
        return tuple(axes)

    def canonical(self) -> str:
        side = [",".join(f"({','.join(op)})" for op in ops) for ops in (self.inputs, self.outputs)]
        return "->".join(side) if self.arrow else side[0]


def _writable(names: Any, fn: Any, layout: _Layout) -> tuple[int, ...]:
    """Inputs that the function may store into."""
    if names is not None and not isinstance(names, (str, int, tuple, list, set, frozenset)):
        raise TypeError(f"writable_args must be names or positions of inputs, not {names!r}")
    if names is None or (not isinstance(names, int) and not names):
        return () if layout.arrow else tuple(i for i, op in enumerate(layout.inputs) if op)
    params = fn.__code__.co_varnames[: len(layout.inputs)]
    found = []
    for name in [names] if isinstance(names, (str, int)) else names:
        if name in params:
            found.append(params.index(name))
        elif isinstance(name, int) and not isinstance(name, bool) and 0 <= name < len(params):
            found.append(name)
        else:
            raise ValueError(f"writable_args: {fn.__qualname__}() has no input {name!r}")
    return tuple(found)


def _make_gufunc(
    fn: Any,
    signatures: list[Any],
    layout: _Layout,
    identity: Any,
    writable_args: Any,
    target: str,
    options: dict[str, Any],
    flags: dict[str, int],
) -> Any:
    fn = _function(fn, "guvectorize")
    operands = layout.inputs + layout.outputs
    if fn.__code__.co_argcount != len(operands):
        raise TypeError(
            f"{fn.__qualname__}() has {fn.__code__.co_argcount} parameters, but the layout {layout.canonical()!r} has {len(operands)} operands"
        )
    parsed = [_read_signature(s) for s in signatures]
    function = _core.Function(fn, flags, {**as_options(options), "target": target})
    u = _core._ufunc(
        function,
        len(layout.inputs),
        len(layout.outputs),
        fn.__name__,
        fn.__doc__,
        identity,
        layout.canonical(),
        tuple(len(op) for op in operands),
        not signatures,
        target != "cpu",
        _writable(writable_args, fn, layout),
        config.DISABLE_JIT,
    )
    for s in parsed:
        _core._ufunc_compile(u, s, True)
    _remember(u, fn)
    if target != "cuda":
        return u
    from .cuda._ufunc import DeviceGUfunc

    return DeviceGUfunc(u, fn, parsed, layout, flags)


@overload
def guvectorize(
    *signatures_and_layout: Any,
    identity: Identity = None,
    target: Literal["cpu", "parallel"] = "cpu",
    writable_args: str | int | Collection[str | int] | None = (),
    nopython: Literal[True] = True,
    fastmath: FastMath = False,
    boundscheck: bool | None = None,
    cache: bool = False,
    parallel: bool = False,
    debug: bool = False,
    promotion: Literal["treadle", "numba"] | None = None,
    locals: dict[str, _core.Type] | None = None,
) -> Callable[[Callable[..., Any]], np.ufunc]: ...
@overload
def guvectorize(
    *signatures_and_layout: Any,
    identity: Identity = None,
    target: Literal["cuda", "gpu"],
    writable_args: str | int | Collection[str | int] | None = (),
    nopython: Literal[True] = True,
    fastmath: FastMath = False,
    boundscheck: bool | None = None,
    cache: bool = False,
    parallel: bool = False,
    debug: bool = False,
    promotion: Literal["treadle", "numba"] | None = None,
    locals: dict[str, _core.Type] | None = None,
) -> Callable[[Callable[..., Any]], DeviceGUfunc]: ...
def guvectorize(
    *signatures_and_layout: Any,
    identity: Any = None,
    target: str = "cpu",
    writable_args: Any = (),
    **options: Any,
) -> Any:
    """Make a generalised NumPy ufunc of a function over arrays.

    The function gets a view of each operand, outputs last, and stores its results into the outputs. Inputs without axes are numbers; outputs without axes
    are arrays of one element.

    Parameters
    ----------
    signatures : list of signatures, optional
        ``void(float64[:], float64[:])`` and the like. Without them a loop is compiled for the input types that are met; outputs then have the type that
        NumPy gives the inputs together.
    layout : str
        Axes of each operand: ``"(m,n),(n,p)->(m,p)"``; a number is an axis of that size. Without an arrow there are no outputs and inputs are stored to.
    identity : None, 'reorderable' or number
        What the attribute ``identity`` says; NumPy reduces no generalised ufuncs.
    target : {'cpu', 'parallel', 'cuda'}
        One core, or all of them for many outer indices; ``'cuda'``, also ``'gpu'``, takes arrays of the device.
    writable_args : names or positions
        Inputs that the function stores into; their changes reach the caller.
    **options
        ``cache``, ``fastmath``, ``boundscheck``, ``debug``, ``promotion``, as `jit` has them.

    Returns
    -------
    decorator

    Raises
    ------
    TypeError, ValueError
        A bad layout, or signatures and parameters that do not fit it.

    Examples
    --------
    >>> @guvectorize([(float64[:], float64[:])], "(n)->()")
    ... def total(a, out):
    ...     out[0] = a.sum()
    """
    if len(signatures_and_layout) not in (1, 2):
        raise TypeError(
            'guvectorize takes signatures and a layout, as in guvectorize(["void(f8[:], f8[:])"], "(n)->(n)")'
        )
    target = _target(target)
    identity = _identity(identity)
    flags = _compile_flags(options, ("identity", "target", "writable_args"))
    layout = _Layout(signatures_and_layout[-1])
    given = signatures_and_layout[0] if len(signatures_and_layout) == 2 else []
    signatures = [] if given is None else _signature_list(given, "guvectorize")
    for s in signatures:
        _read_signature(s)

    def decorate(fn: Any) -> Any:
        return _make_gufunc(fn, signatures, layout, identity, writable_args, target, options, flags)

    return decorate


for _decorator in (vectorize, guvectorize):
    with_options(_decorator, {name: of[0] for name, of in _OPTIONS.items() if name not in _NOT_HERE})


# --- looking into one ---


class UfuncInfo:
    """What Treadle knows of one of its ufuncs.

    Attributes
    ----------
    ufunc : numpy.ufunc
    py_func : function
    target : {'cpu', 'parallel', 'cuda'}
    lazy : bool
        Loops are compiled when they are needed.
    generalized : bool
        Made by `guvectorize`.
    options : dict
    """

    def __init__(self, ufunc: Any, function: Any, lazy: bool, generalized: bool) -> None:
        self.ufunc = ufunc
        self.py_func = function.py_func
        self.options = function.options
        self.target = function.options["target"]
        self.lazy = lazy
        self.generalized = generalized

    def __repr__(self) -> str:
        return (
            f"<treadle ufunc {self.py_func.__qualname__}, target {self.target}, {len(self.signatures)} loops>"
        )

    def _loops(self) -> list[Any]:
        return _core._ufunc_info(self.ufunc)[4]

    @property
    def signatures(self) -> list[tuple[Any, ...]]:
        """Argument types of the loops there are."""
        return [types for types, *_ in self._loops()]

    @property
    def overloads(self) -> dict[tuple[Any, ...], Any]:
        """Result type of the function by argument types."""
        return {types: ret for types, ret, *_ in self._loops()}

    @property
    def stats(self) -> dict[str, Any]:
        """What compiling took, by argument types."""
        return {
            types: {"seconds": seconds, "loaded": loaded, "code_bytes": size}
            for types, _, seconds, loaded, size in self._loops()
        }

    def compile(self, signature: Any) -> None:
        """Compile the loop of a lazy ufunc for these argument types now.

        Raises
        ------
        TypeError
            The signatures were declared, or ``signature`` declares a result: that follows from the function.
        """
        given = _read_signature(signature)
        if not self.lazy:
            raise TypeError(f"{self.py_func.__qualname__}() has declared signatures, which do not change")
        if given.return_type is not None and not self.generalized:
            raise TypeError(
                "the result type of a lazy ufunc follows from the function; give argument types alone, as in (float64, float64)"
            )
        _core._ufunc_compile(self.ufunc, given, False)

    def inspect(self, stage: str, signature: Any = None) -> Any:
        """Text of a stage (``infer opt llvm llvmopt asm``): of one loop, or a dict of all by argument types."""
        texts = {}
        for k, types in enumerate(self.signatures):
            if signature is None or types == _core.signature(signature).args:
                texts[types] = _core._ufunc_text(self.ufunc, k, stage)
        if signature is None:
            return texts
        if not texts:
            raise KeyError(f"{self.py_func.__qualname__}() has no loop for {signature!r}")
        return next(iter(texts.values()))

    def inspect_ir(self, signature: Any = None) -> Any:
        """Treadle's own IR after all passes."""
        return self.inspect("opt", signature)

    def inspect_llvm(self, signature: Any = None) -> Any:
        """LLVM's IR after its passes."""
        return self.inspect("llvmopt", signature)

    def inspect_asm(self, signature: Any = None) -> Any:
        """Machine code as text."""
        return self.inspect("asm", signature)


def ufunc_info(ufunc: Any) -> UfuncInfo:
    """What Treadle knows of a ufunc that `vectorize` or `guvectorize` made.

    Returns
    -------
    UfuncInfo

    Raises
    ------
    TypeError
        It is no ufunc of Treadle's.
    """
    inner = getattr(ufunc, "_ufunc", ufunc)  # of the device's
    found = _core._ufunc_info(inner)
    if found is None:
        raise TypeError(f"{ufunc!r} is no ufunc of Treadle's")
    function, lazy, _, generalized, _ = found
    return UfuncInfo(inner, function, lazy, generalized)


def _pickles_ufunc(u: Any) -> Any:
    """What pickle stores of a ufunc: its name, as NumPy has it. Cloudpickle's workers have another ``__main__``: they would end without a word."""
    if (
        _is_cloudpickle(sys._getframe(1))
        and _core._ufunc_info(u) is not None
        and pickle.whichmodule(u, u.__name__) == "__main__"  # where pickle finds it
    ):
        raise pickle.PicklingError(
            f"the ufunc {u.__name__!r} of __main__ is pickled by its name, which leads nowhere in other processes: put it in a module that they can import"
        )
    return _by_name(u)


_by_name = copyreg.dispatch_table.get(np.ufunc) or (lambda u: u.__name__)
copyreg.pickle(np.ufunc, _pickles_ufunc)  # type: ignore[arg-type]
