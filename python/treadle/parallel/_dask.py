"""Reductions for Dask, whose parts are computed by programs of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from treadle.parallel._functions import reduce

__all__ = ["as_dask_reduction"]


def as_dask_reduction(op: Callable[..., Any], *, identity: Any = None) -> dict[str, Callable[..., Any]]:
    """Return what ``dask.array.reduction`` needs to reduce an array by an operator.

    Parameters
    ----------
    op : ufunc or function of two
        As for `reduce`: associative.
    identity : number, optional
        As for `reduce`; needed where `op` is no ufunc.

    Returns
    -------
    dict of str to function
        The keywords `chunk`, `combine` and `aggregate`. Functions of a module are pickled by name, others with
        cloudpickle, as Dask does.

    Raises
    ------
    TypeError
        `op` is no function, or no ufunc and has no identity.

    Examples
    --------
    ``dask.array.reduction(x, dtype=x.dtype, **tp.as_dask_reduction(tp.maximum))``
    """
    if not callable(op):
        raise TypeError(f"as_dask_reduction(): {op!r} is no function")
    if identity is None and not isinstance(op, np.ufunc):
        raise TypeError("as_dask_reduction(): identity= is needed with a function of your own")
    part = _Part(op, identity)
    return {"chunk": part, "combine": part, "aggregate": part}


class _Part:
    """Reduces a block, or what was reduced before."""

    def __init__(self, op: Callable[..., Any], identity: Any) -> None:
        self.op, self.identity = op, identity

    def __call__(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        x = np.asarray(x)
        axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        r = np.asarray(reduce(self.op, x, axes, identity=self.identity))
        return np.expand_dims(r, axes) if keepdims else r
