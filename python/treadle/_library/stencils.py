"""What `treadle.stencil` makes of a kernel: the function that calls it at each place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import swept

if TYPE_CHECKING:
    from types import FunctionType

__all__ = ["over"]


def over(kernel: FunctionType, neighborhood: Any, standard: int, cval: Any) -> FunctionType:
    """The function of a stencil's arguments and ``out``. It has the kernel's name, and is compiled with its caller's options.

    Parameters
    ----------
    kernel : function
        What is called at each place.
    neighborhood : tuple of pairs of int, or None
        How far the kernel looks.
    standard : int
        A bit for each argument whose index is not relative.
    cval : number or None
        What the edges are filled with; None: 0 in a new array, nothing in one that is given.

    Returns
    -------
    function
    """

    def stencil(*args: Any, out: Any = None) -> Any:
        return swept(kernel, neighborhood, standard, cval, out, args)

    stencil.__name__, stencil.__qualname__ = kernel.__name__, kernel.__qualname__
    stencil.__doc__, stencil.__module__ = kernel.__doc__, kernel.__module__
    return stencil  # type: ignore[return-value]
