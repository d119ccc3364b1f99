"""A model of ``@stencil`` for straight programs (docs/ufuncs.md): CPython runs the kernel at every place, on a view that counts its indices from there."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from rules import Unspecified


class Around:
    """An array as a kernel sees it from one place."""

    def __init__(self, array: np.ndarray, place: tuple[int, ...]) -> None:
        self.array, self.place = array, place

    def __getitem__(self, key: Any) -> Any:
        key = key if isinstance(key, tuple) else (key,)
        return self.array[tuple(p + k for p, k in zip(self.place, key, strict=True))]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.array, name)


class Probe:
    """An array that remembers where a kernel looks, which is the same on all of its paths."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.keys: list[tuple[int, ...]] = []

    def __getitem__(self, key: Any) -> Any:
        key = key if isinstance(key, tuple) else (key,)
        self.keys.append(key)
        return self.array.dtype.type(1)


def stencil(kernel: Callable | None = None, **options: Any) -> Any:
    """The decorator: `neighborhood`, `standard_indexing` and `cval`."""
    if kernel is None:
        return lambda fn: Stencil(fn, options)
    return Stencil(kernel, {})


class Stencil:
    """What the decorator makes of a kernel."""

    def __init__(self, kernel: Callable, options: dict[str, Any]) -> None:
        self.kernel, self.options = kernel, options
        self.__name__ = kernel.__name__

    def __call__(self, *args: Any, out: np.ndarray | None = None) -> np.ndarray:
        first = args[0]
        names = self.kernel.__code__.co_varnames
        own = [
            k
            for k, a in enumerate(args)
            if isinstance(a, np.ndarray) and names[k] not in self.options.get("standard_indexing", ())
        ]
        probes = [Probe(a) if k in own else a for k, a in enumerate(args)]
        dtype = np.asarray(self.kernel(*probes)).dtype
        keys = [key for k in own for key in probes[k].keys]
        around = self.options.get("neighborhood") or tuple(
            (min(0, *k), max(0, *k)) for k in zip(*keys, keys[0], strict=True)
        )
        if any(args[k].shape != first.shape for k in own):
            raise Unspecified("arrays of several shapes in a stencil")
        made = np.full(first.shape, self.options.get("cval", 0), dtype)
        given = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        if out is not None and "cval" not in self.options:
            made[...] = out.astype(dtype)
        inner = [
            range(max(0, -low), n - max(0, high)) for n, (low, high) in zip(first.shape, around, strict=True)
        ]
        for place in itertools.product(*inner):
            made[place] = self.kernel(*[Around(a, place) if k in own else a for k, a in enumerate(given)])
        if out is None:
            return made
        if out.dtype != dtype and (
            "cval" not in self.options or not np.can_cast(dtype, out.dtype, "same_kind")
        ):
            raise Unspecified("a stencil's edges go through another type")
        out[...] = made
        return out
