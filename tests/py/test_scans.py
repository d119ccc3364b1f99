"""Short searches and loops over bytes, which are written out four times: every length, and every place where they end, against CPython."""

from __future__ import annotations

import numpy as np
import pytest
from treadle import njit


def first(data, value):
    for i in range(data.shape[0]):
        if data[i] == value:
            return i
    return -1


def length_of_run(data, value):
    i = 0
    while i < data.shape[0] and data[i] == value:
        i += 1
    return i


def numbers(data, out):
    k, value, inside = 0, 0, False
    for i in range(data.shape[0]):
        c = int(data[i])
        if c >= 48 and c <= 57:
            value = value * 10 + (c - 48)
            inside = True
        elif inside:
            out[k] = value
            k += 1
            value, inside = 0, False
    return k


def caught(data, value):
    n = 0
    for i in range(data.shape[0]):
        try:
            if data[i] == value:
                raise ValueError
            n += 1
        except ValueError:
            n -= 1
    return n


def walked(edges, x, out):
    c = 0
    for p in range(x.shape[0]):
        while x[p] < edges[c] and c > 0:
            c -= 1
        while x[p] >= edges[c + 1] and c < edges.shape[0] - 2:
            c += 1
        out[p] = c
    return c


def runs(edges, x, out):
    """Two places in one walk, and one that starts anew."""
    k = i = 0
    while i < x.shape[0]:
        j = 0
        while i + j < x.shape[0] and x[i + j] == x[i]:
            j += 1
        i += j
        while k < edges.shape[0] and edges[k] < i:
            k += 1
        out[i - 1] = j + k
    return k


@pytest.mark.parametrize("fn", [walked, runs])
def test_walks(fn):
    compiled = njit(fn)
    rng = np.random.default_rng(5)
    for n in (0, 1, 2, 40):
        for edges in (np.arange(2.0), np.arange(9.0), np.repeat(np.arange(4.0), 3)):
            for x in (rng.random(n) * 9 - 1, np.sort(rng.random(n) * 9), rng.integers(0, 3, n) * 1.0):
                ours, theirs = np.zeros(n, np.int64), np.zeros(n, np.int64)
                assert compiled(edges, x, ours) == fn(edges, x, theirs)
                assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("dtype", ["u1", "i4", "f8"])
@pytest.mark.parametrize("fn", [first, length_of_run, caught])
def test_searches(fn, dtype):
    compiled = njit(fn)
    for n in range(14):
        for hit in range(n + 1):
            ones = np.arange(n) < hit
            for data in (ones.astype(dtype), (~ones).astype(dtype), np.repeat(ones, 2).astype(dtype)[::2]):
                assert compiled(data, 1) == fn(data, 1)


def test_numbers_in_a_text():
    compiled = njit(numbers)
    for text in (b"", b"1", b"12 ", b" 12 3,45 ", b"a1b22c333d4444e", b"1234567 12345678 9 "):
        data = np.frombuffer(text, np.uint8)
        for size in range(7):
            here, there = np.zeros(size, np.int64), np.zeros(size, np.int64)
            results = []
            for f, out in ((numbers, here), (compiled, there)):
                try:
                    results.append(f(data, out))
                except IndexError:
                    results.append("index")
            assert results[0] == results[1]
            assert here.tolist() == there.tolist()
