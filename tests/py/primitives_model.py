"""What the functions of treadle.parallel mean, in NumPy and Python: oracles for tests and for random graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

MASK = 0xFFFFFFFF


def along(f: Callable, a: np.ndarray, axis: int, shape: Callable[[int], int] | None = None) -> Any:
    """What f gives for each line, which may be none."""
    m = np.moveaxis(a, axis, -1)
    lines = [f(m[at]) for at in np.ndindex(m.shape[:-1])]
    n = m.shape[-1] if shape is None else shape(m.shape[-1])
    dtype = lines[0].dtype if lines else a.dtype
    return np.moveaxis(np.array(lines, dtype).reshape((*m.shape[:-1], n)), -1, axis)


def before(op: np.ufunc, a: np.ndarray, axis: int, identity: Any, reverse: bool = False) -> np.ndarray:
    """An exclusive scan."""
    x = np.flip(a, axis) if reverse else a
    y = op.accumulate(x, axis)
    out = np.empty_like(y)
    to, of = np.moveaxis(out, axis, -1), np.moveaxis(y, axis, -1)
    to[..., :1] = identity
    to[..., 1:] = of[..., :-1]
    return np.flip(out, axis) if reverse else out


def best(a: np.ndarray, k: int, axis: int = -1, key: Any = None, largest: bool = True, nan: str = "largest"):
    """topk by Python's sort."""
    if k > a.shape[axis]:
        return ValueError("k is too large")

    def order(line: np.ndarray) -> np.ndarray:
        def rank(i: int) -> tuple:
            v = (line[i] if key is None else key(line[i])).item()
            if v != v:
                return (0 if largest and nan == "largest" else 2, 0, 0)
            re, im = (v.real, v.imag) if isinstance(v, complex) else (v, 0)
            return (1, -re, -im) if largest else (1, re, im)

        return np.array(sorted(range(len(line)), key=rank)[:k], np.intp)

    where = along(order, a, axis, lambda n: k).astype(np.intp)
    return np.take_along_axis(a, where, axis), where


def runs(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    at = np.array([i for i in range(len(a)) if i == 0 or not a[i] == a[i - 1]], np.intp)
    return a[at], np.diff(np.append(at, len(a)))


def stored(a: np.ndarray, i: Any, v: Any, op: Any = None) -> np.ndarray:
    out = a.copy()
    if isinstance(v, int) and a.dtype == np.uint64:  # with a Python int NumPy's op.at computes in float64
        v = np.uint64(v % 2**64)
    if op is None:
        out[i] = v
    elif isinstance(op, np.ufunc):
        op.at(out, i, v)
    else:
        for k, x in zip(i.ravel(), np.broadcast_to(v, i.shape).ravel(), strict=True):
            out[k] = op(out[k], x)
    return out


def by_key(op: Any, keys: np.ndarray, vals: Any, size: int, start: Any) -> np.ndarray:
    """The values of each key joined one after the other; `start` says the dtype, too."""
    out = np.full((size, *np.shape(vals)[1:]), start)
    for i, k in enumerate(keys):
        out[k] = op(out[k], vals[i] if np.ndim(vals) else vals)
    return out


def parts(m: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, int]:
    return np.concatenate((a[m], a[~m])), int(m.sum())


def words_of(counter: tuple[int, ...], key: tuple[int, int]) -> list[int]:
    """Philox4x32-10 in Python's integers, from the paper."""
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(b >> 32) ^ c[1] ^ k[0], b & MASK, (a >> 32) ^ c[3] ^ k[1], a & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def stream(key: int, row: int, n: int) -> list[int]:
    """The first n words of a row."""
    ks, rest = (key & MASK, key >> 32), (row & MASK, row >> 32)
    return [w for q in range(-(-n // 4)) for w in words_of((q, 0, *rest), ks)][:n]
