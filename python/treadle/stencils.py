"""The decorator ``stencil``: a function of what lies beside an item, for all items of an array."""

from __future__ import annotations

from numbers import Integral, Number
from typing import TYPE_CHECKING, Any, Callable, overload

from ._core import Function
from .decorators import _choice, _flags, plain_function, unknown_option, with_options

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, TypeAlias

    Neighborhood: TypeAlias = Sequence[tuple[int, int]] | None
    Made: TypeAlias = Function[..., Any]

__all__ = ["stencil"]

# As in lib/kind_window.c.
_FARTHEST, _MOST = 1 << 30, 63
_DEFAULTS: dict[str, Any] = {"neighborhood": None, "cval": None, "standard_indexing": ()}


def _kernel(fn: Any) -> Any:
    """The function that is called at each place, checked."""
    fn = plain_function(
        fn.py_func if isinstance(fn, Function) else fn,
        "stencil",
        "which a stencil's kernel does not",
        "a stencil goes over its first one",
    )
    if fn.__code__.co_argcount > _MOST:
        raise TypeError(f"{fn.__qualname__}() has more than {_MOST} parameters")
    return fn


def _neighborhood(value: Any) -> tuple[tuple[int, int], ...] | None:
    if value is None:
        return None
    wrong = TypeError(
        f"neighborhood must have a pair of integers for each axis, as ((-1, 1), (-1, 1)), not {value!r}"
    )
    if not isinstance(value, (tuple, list)) or not value:
        raise wrong
    pairs = []
    for pair in value:
        if (
            not isinstance(pair, (tuple, list))
            or len(pair) != 2
            or not all(isinstance(n, Integral) for n in pair)
        ):
            raise wrong
        lo, hi = int(pair[0]), int(pair[1])
        if lo > hi or lo < -_FARTHEST or hi > _FARTHEST:
            raise ValueError(f"neighborhood has ({lo}, {hi}), which is no range of indices")
        pairs.append((lo, hi))
    return tuple(pairs)


def _cval(value: Any) -> Any:
    """A number of Python's, or None."""
    if value is None:
        return None
    value = getattr(value, "item", lambda: value)()
    if not isinstance(value, Number):
        raise TypeError(f"cval must be a number, not {value!r}")
    return value


def _standard(value: Any, fn: Any) -> int:
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, (tuple, list, set, frozenset)) or not all(isinstance(n, str) for n in names):
        raise TypeError(f"standard_indexing must be names of parameters, not {value!r}")
    params = fn.__code__.co_varnames[: fn.__code__.co_argcount]
    bits = 0
    for name in names:
        if name not in params:
            raise ValueError(f"standard_indexing has {name!r}, which is no parameter of {fn.__qualname__}()")
        bits |= 1 << params.index(name)
    if bits & 1:
        raise ValueError(f"{params[0]!r}, which {fn.__qualname__}() goes over, cannot have standard indexing")
    return bits


def _make(fn: Any, options: dict[str, Any]) -> Any:
    from ._library.stencils import over

    kernel = _kernel(fn)
    made = over(
        kernel,
        _neighborhood(options["neighborhood"]),
        _standard(options["standard_indexing"], kernel),
        _cval(options["cval"]),
    )
    return Function(made, _flags({}), {})


@overload
def stencil(func_or_mode: Callable[..., Any]) -> Made: ...
@overload
def stencil(
    func_or_mode: Literal["constant"] = "constant",
    *,
    neighborhood: Neighborhood = None,
    cval: complex | None = None,
    standard_indexing: Sequence[str] = (),
) -> Callable[[Callable[..., Any]], Made]: ...
def stencil(func_or_mode: Any = "constant", **options: Any) -> Any:
    """Make a function of whole arrays out of one that says what becomes of an item, by what lies beside it.

    The function, the *kernel*, indexes its arrays relative to an item: in ``a[0, -1]`` that is the item's left neighbour.
    What it returns is the item of the result, which has the shape of the first argument and the type of what the
    kernel returns. Where the kernel would look beyond an edge of the first array the result is ``cval``.

    The stencil is called by Python and by compiled code, with the kernel's arguments and ``out=``, an array for the
    result. In a function with ``parallel=True`` it runs on all cores. Options such as ``fastmath`` are those of the
    function that calls it. It is compiled when it is called, ``TREADLE_DISABLE_JIT`` or not.

    Parameters
    ----------
    func_or_mode : function or 'constant'
        The kernel; or what the edges get, which is always a constant.
    neighborhood : sequence of pairs of int, optional
        For each axis the least and the greatest relative index. It is needed where indices are not constants, and
        found in the kernel's code otherwise.
    cval : number, optional
        What the edges get: 0 by default; with ``out=`` they are left as they are unless it is given.
    standard_indexing : sequence of str, optional
        Names of parameters that are indexed as arrays are elsewhere.

    Returns
    -------
    Function or decorator

    Raises
    ------
    TypeError, ValueError
        An option that is not there, or has a value that is none.
    TypingError
        At a call: a relative index that is no constant and has no ``neighborhood``, or does not fit the array; a ``cval``
        that the result's type does not have.
    IndexError
        At a call: a relative index outside of the ``neighborhood``.

    Examples
    --------
    >>> @stencil
    ... def smooth(a):
    ...     return 0.25 * (a[0, -1] + a[0, 1] + a[-1, 0] + a[1, 0])
    """
    unknown = [name for name in options if name not in _DEFAULTS]
    if unknown:
        raise unknown_option(unknown[0], _DEFAULTS)
    given = {**_DEFAULTS, **options}
    if not isinstance(func_or_mode, str):
        return _make(func_or_mode, given)
    _choice("func_or_mode", func_or_mode, ("constant",))
    return lambda fn: _make(fn, given)


with_options(stencil, _DEFAULTS)
