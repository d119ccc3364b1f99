"""Sums of products over axes that are not the last one (src/lower/strip.c): what NumPy gives, the same bits for every width and height of a
strip and for any number of threads, and wide vectors in the code."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from treadle import njit, prange, set_num_threads


def bits(x: Any) -> bytes:
    return np.ascontiguousarray(x).tobytes()


rng = np.random.default_rng(11)


def layer(x: Any, w: Any, out: Any) -> None:
    k = w.shape[0]
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            out[:, i, j, :] = np.sum(x[:, i : i + k, j : j + k, :, None] * w[None], axis=(1, 2, 3))


def layer_rows(x: Any, w: Any, out: Any) -> None:
    k = w.shape[0]
    for i in prange(out.shape[1]):
        for j in range(out.shape[2]):
            out[:, i, j, :] = np.sum(x[:, i : i + k, j : j + k, :, None] * w[None], axis=(1, 2, 3))


def product(a: Any, b: Any) -> Any:
    return np.sum(a[:, :, None] * b[None], axis=1)


def scaled(a: Any, b: Any, s: Any) -> Any:
    return np.sum((a[:, :, None] * s - b[None]) * a[:, :, None], axis=1)


def weighted(a: Any, v: Any) -> Any:
    return np.sum(a * v[None, :, None], axis=1)


def batched(a: Any, b: Any) -> Any:
    return np.sum(a[:, :, :, None] * b[:, None], axis=2)


def numbers(*shape: int, dtype: Any = np.float64) -> Any:
    return rng.standard_normal(shape).astype(dtype)


def images(batch: int, size: int, k: int, channels: int, filters: int, dtype: Any) -> tuple[Any, Any, Any]:
    x, w = numbers(batch, size, size, channels, dtype=dtype), numbers(k, k, channels, filters, dtype=dtype)
    return x, w, np.full((batch, size - k + 1, size - k + 1, filters), np.nan, dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "sizes",
    [
        (8, 9, 5, 3, 16),
        (1, 4, 3, 1, 17),
        (3, 5, 2, 19, 33),
        (5, 4, 4, 2, 7),
        (0, 4, 2, 3, 16),
        (4, 4, 2, 0, 16),
        (2, 3, 1, 1, 0),
    ],
)
@pytest.mark.parametrize("options", [{}, {"parallel": True}, {"fastmath": True}, {"boundscheck": False}])
def test_layer(sizes: tuple[int, int, int, int, int], dtype: Any, options: dict[str, bool]) -> None:
    """A convolution layer as array programs write it."""
    x, w, out = images(*sizes, dtype)
    want = np.empty(out.shape)
    layer(x.astype(np.float64), w.astype(np.float64), want)
    for f in (layer, layer_rows):
        out[...] = np.nan
        njit(**options)(f)(x, w, out)
        np.testing.assert_allclose(out, want, rtol=0, atol=np.finfo(dtype).eps * 4 * (w[..., :1].size + 1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_product(dtype: Any) -> None:
    """Every way in which a strip's width and height do not fit."""
    f = njit(product)
    for n in (1, 3, 4, 5, 9):
        for k in (0, 1, 15, 16, 17, 18, 300):
            for m in (1, 7, 8, 9, 15, 16, 17, 40):
                a, b = numbers(n, k, dtype=dtype), numbers(k, m, dtype=dtype)
                np.testing.assert_allclose(
                    f(a, b), a.astype(np.float64) @ b, rtol=0, atol=np.finfo(dtype).eps * 4 * max(k, 1)
                )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bits(dtype: Any) -> None:
    """A column's sum is the same one in a strip, in a strip that begins earlier, and in a tile; and in whichever row of it."""
    f = njit(product)
    a, b = numbers(11, 531, dtype=dtype), numbers(531, 45, dtype=dtype)
    whole = f(a, b)
    for lo, hi in [(0, 3), (1, 8), (2, 18), (3, 20), (0, 45), (28, 45)]:
        assert bits(f(a, np.ascontiguousarray(b[:, lo:hi]))) == bits(np.ascontiguousarray(whole[:, lo:hi]))
    for lo, hi in [(0, 1), (1, 4), (2, 9), (10, 11)]:
        assert bits(f(a[lo:hi], b)) == bits(whole[lo:hi])


def whole_rows(x: np.ndarray, w: np.ndarray) -> Any:
    q = w.shape[0]
    return np.sum(x[:, 1 : 1 + q, :, None] * w[None], axis=(1, 2))


def parts_of_rows(x: np.ndarray, w: np.ndarray) -> Any:
    q, c = w.shape[0], w.shape[1]
    return np.sum(x[:, 1 : 1 + q, 1 : 1 + c, None] * w[None], axis=(1, 2))


@pytest.mark.parametrize("items", [1, 2, 3, 4, 5, 6, 7, 8, 12, 17])
@pytest.mark.parametrize("columns", [3, 16])
def test_two_axes(items: int, columns: int) -> None:
    """Blocks end with a group of four items of the last axis, or behind the groups, whether two axes are walked as one or not."""
    x, w = numbers(3, 13, items, dtype=np.float32), numbers(11, items, columns, dtype=np.float32)
    wider = np.concatenate([x[:, :, :1], x, x], axis=2)
    got = njit(whole_rows)(x, w)
    for n in range(3):
        blocks, acc, count = [], np.full(columns, -0.0, np.float32), 0
        for q in range(11):
            for c in range(items):
                acc, count = acc + x[n, 1 + q, c] * w[q, c], count + 1
                if count >= 16 and (c % 4 == 3 or c >= items // 4 * 4):
                    blocks.append(acc)
                    acc, count = np.full(columns, -0.0, np.float32), 0
        assert bits(got[n]) == bits(np.float32(0) + added_up(blocks, acc))
    assert bits(njit(parts_of_rows)(wider, w)) == bits(got) == bits(njit(parallel=True)(whole_rows)(x, w))
    assert not njit(whole_rows)(x, w[:0]).any() and not njit(whole_rows)(x[:, :, :0], w[:, :0]).any()


def added_up(blocks: Any, total: np.ndarray) -> np.ndarray:
    """Sums of blocks like the bits of a binary counter of 16 levels, the last of which takes what comes; then what is in no block."""
    held: list[Any] = [None] * 16
    for one in blocks:
        level = 0
        while level < 15 and held[level] is not None:
            one, held[level] = held[level] + one, None
            level += 1
        held[level] = one if held[level] is None else held[level] + one
    for x in held:
        total = total if x is None else x + total
    return total


def added_in_blocks(c: np.ndarray) -> np.ndarray:
    """The order of rt/tile.c: rows by 16, one after the other."""
    blocks, left = c[: len(c) // 16 * 16].reshape(-1, 16, c.shape[1]), c[len(c) // 16 * 16 :]
    acc = np.full((len(blocks), c.shape[1]), -0.0, c.dtype)
    for r in range(16):
        acc += blocks[:, r]
    total = np.full(c.shape[1], -0.0, c.dtype)
    for row in left:
        total = total + row
    return added_up(acc, total)


@pytest.mark.parametrize("rows", [5, 16, 16 * 21 + 7, (1 << 20) + 16 * 5 + 3])
@pytest.mark.parametrize("columns", [3, 16])
def test_order(rows: int, columns: int) -> None:
    """That of tiles, up to where the last level is added to again and again; in strips and in those with lanes masked away."""
    f = njit(product)
    a, b = numbers(2, rows, dtype=np.float32), numbers(rows, columns, dtype=np.float32)
    got = f(a, b)
    for r in range(2):
        want = np.float32(0) + added_in_blocks(a[r][:, None] * b)
        assert bits(got[r]) == bits(want)


def test_narrow() -> None:
    """Lanes beyond a row are not loaded: what lies there is another's, or nothing."""
    f = njit(product)
    a, b = numbers(5, 70), np.full((70, 9), np.nan)
    b[:, 2:5] = numbers(70, 3)
    np.testing.assert_allclose(f(a, b[:, 2:5]), a @ b[:, 2:5], rtol=0, atol=1e-11)
    g = njit(product)
    np.testing.assert_allclose(g(a, b[:, 2:5].copy()), a @ b[:, 2:5], rtol=0, atol=1e-11)
    assert "llvm.masked.load.v8f64" in "".join(g.inspect_llvm().values())


@pytest.mark.parametrize("f", [product, batched])
def test_threads(f: Any) -> None:
    """The same bits on one core and on all."""
    many = f is batched
    a, b = (numbers(3, 37, 130), numbers(3, 130, 41)) if many else (numbers(203, 130), numbers(130, 41))
    want = njit(f)(a, b)
    np.testing.assert_allclose(want, a @ b, rtol=0, atol=1e-11)
    p = njit(parallel=True)(f)
    try:
        for n in (1, 2):
            set_num_threads(n)
            assert bits(p(a, b)) == bits(want)
    finally:
        set_num_threads(2)


def test_operands() -> None:
    """A scalar from outside, subtraction, strides, and arrays that are read-only or share memory."""
    f = njit(scaled)
    a, b = numbers(6, 40), numbers(40, 20)
    for x, y in [
        (a, b),
        (a[::-1, ::2], b[5:25]),
        (a.T[:20].T, b[::2]),
        (a[:, ::-1], b[:, ::-1]),
        (np.asfortranarray(a), b),
    ]:
        x.flags.writeable = y.flags.writeable = False
        np.testing.assert_allclose(f(x, y, 2.5), scaled(x, y, 2.5), rtol=0, atol=1e-10)
    c = numbers(24, 24)
    np.testing.assert_allclose(njit(product)(c, c), c @ c, rtol=0, atol=1e-11)
    with pytest.raises(ValueError, match="broadcast"):
        njit(product)(a, b[:3])


def test_nothing_shared() -> None:
    """Where no element serves two sums memory is walked in wide tiles."""
    a, v = numbers(5, 40, 30), numbers(40)
    f = njit(weighted)
    np.testing.assert_allclose(f(a, v), weighted(a, v), rtol=0, atol=1e-11)
    assert not re.findall(r"phi <8 x double>", "".join(f.inspect_llvm().values()))


def test_registers() -> None:
    """Sums stay in registers: vectors as wide as a strip, one for each of its rows."""
    f = njit(product)
    f(numbers(4, 4, dtype=np.float32), numbers(4, 16, dtype=np.float32))
    assert len(re.findall(r"phi <16 x float>", "".join(f.inspect_llvm().values()))) >= 4
