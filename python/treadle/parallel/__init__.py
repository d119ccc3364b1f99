"""Data-parallel primitives over lazy arrays: what is written is compiled as one program when its value is asked for."""

from __future__ import annotations

import os as _os
from typing import Any

import numpy as np

from treadle._core import LazyArray, _lazy, _lazy_call, _lazy_evaluate, _lazy_host, _lazy_setup

from .. import config as _config
from ._explain import Explanation, Kernel, explain

_lazy_setup(_os.path.dirname(__file__), _config.PARALLEL_CHECK)

add, multiply, maximum, minimum = np.add, np.multiply, np.maximum, np.minimum


def array(x: Any) -> LazyArray:
    """Return a lazy array of what `x` holds when it is evaluated."""
    return _lazy(x)


def evaluate(*arrays: Any, parallel: bool = True) -> Any:
    """Compute several lazy arrays in one program."""
    _lazy_evaluate(not parallel, *arrays)
    return arrays[0] if len(arrays) == 1 else arrays


def map(f: Any, *xs: Any) -> Any:
    return _lazy_call(map, f, *xs)


def reduce(op: Any, x: Any, axis: Any = None, identity: Any = None) -> Any:
    return _lazy_call(reduce, op, x, axis, identity)


def scan(op: Any, x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Any:
    return _lazy_call(scan, op, x, axis, exclusive, reverse)


def filter(pred: Any, x: Any) -> Any:
    return _lazy_call(filter, pred, x)


def _items(r: Any, n: int) -> Any:
    return tuple(r[k] for k in range(n))  # nothing is inferred for it


def run_length_encode(x: Any) -> Any:
    return _items(_lazy_call(run_length_encode, x), 2)


def sort_by_key(keys: Any, *vals: Any) -> Any:
    return _items(_lazy_call(sort_by_key, keys, *vals), 1 + len(vals))


def topk(x: Any, k: int, largest: bool = True) -> Any:
    return _items(_lazy_call(topk, x, k, largest), 2)


def stable_partition(pred: Any, x: Any) -> Any:
    return _items(_lazy_call(stable_partition, pred, x), 2)


def scatter(dst: Any, i: Any, v: Any, op: Any = None) -> Any:
    return _lazy_call(scatter, dst, i, v, op)


def tabulate(f: Any, n: Any) -> Any:
    return _lazy_call(tabulate, f, n)


def take(x: Any, i: Any, axis: Any = None) -> Any:
    return _lazy_call(np.take, x, i, axis)


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    return _lazy_call(np.bincount, x, weights, minlength)


def unique_counts(x: Any) -> Any:
    return _items(_lazy_call(np.unique, x, False, False, True), 2)


def extension(fn: Any) -> Any:
    """Return a function whose calls are nodes that `fn` computes, in Python, when they are evaluated."""

    def call(*args: Any, **kwargs: Any) -> LazyArray:
        return _lazy_host(fn, *args, **kwargs)

    return call
