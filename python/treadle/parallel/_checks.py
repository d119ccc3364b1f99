"""What ``TREADLE_PARALLEL_CHECK=1`` looks at when a node is made: whether an operator keeps its promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from treadle._core import LazyArray

TRIPLES = 64


def associative(op: Callable[..., Any], x: Any) -> None:
    """Raise where a function does not give the same for ``(a, b), c`` as for ``a, (b, c)`` of some items.

    Parameters
    ----------
    op : callable
        A ufunc is taken at its word.
    x : array_like, or tuple of arrays and numbers
        Whose items are drawn; nothing is looked at where a lazy array is among them.

    Raises
    ------
    ValueError
        Naming the operator's line, and the items. Floats may differ by half of their digits.
    """
    xs = x if isinstance(x, tuple) else (x,)
    if hasattr(op, "accumulate") or not xs or any(isinstance(v, LazyArray) for v in xs):
        return
    python = getattr(op, "py_func", op)
    arrays = np.broadcast_arrays(*xs)
    size = arrays[0].size
    for places in np.random.default_rng(0).integers(0, max(size, 1), (TRIPLES if size else 0, 3)):
        items = [tuple(v.flat[k] for v in arrays) for k in places]
        a, b, c = items if isinstance(x, tuple) else (item[0] for item in items)
        try:
            with np.errstate(all="ignore"):
                left, right = python(python(a, b), c), python(a, python(b, c))
        except Exception:  # noqa: BLE001  (what it is told of is of the evaluation)
            return
        if not _same(np.ravel(left), np.ravel(right), np.ravel((a, b, c))):
            code = getattr(python, "__code__", None)
            where = f"{code.co_filename}:{code.co_firstlineno}: " if code else ""
            raise ValueError(
                f"{where}{getattr(python, '__name__', 'op')}() is not associative: of {a}, {b}, {c} "
                f"it gives {left} if the first two are joined first, and {right} if the last two are"
            )


def _same(left: np.ndarray, right: np.ndarray, items: np.ndarray) -> bool:
    """Whether two results are equal, but for what sums of floats round off."""
    if left.shape != right.shape:
        return False
    if left.dtype.kind not in "fc":
        return bool(np.array_equal(left, right))
    finite = np.isfinite(left) & np.isfinite(right)
    scale = max([1e-300, *np.abs(left[finite]), *np.abs(right[finite]), *np.abs(items[np.isfinite(items)])])
    eps = np.finfo(np.result_type(*(v.dtype for v in (left, right, items)), np.float32)).eps
    return bool(np.all(np.abs(left[finite] - right[finite]) <= np.sqrt(eps) * scale))
