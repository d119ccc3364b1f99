"""A ufunc's compiled loop knows one layout, items side by side; all others come through buffers or variants, with the same bits."""

from __future__ import annotations

import itertools
import math
import traceback

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import vectorize

SETTINGS = settings(max_examples=examples(60), deadline=None)
TARGETS = ("cpu", "parallel")


def make(target, function):
    return vectorize(target=target)(function)


@pytest.fixture(scope="module", params=TARGETS)
def wave(request):
    return make(request.param, lambda a, x, b: math.sin(a * x) + b)


def strided(values, step, offset):
    """`values` in memory `step` items apart; 0: the first one, again and again; offset: bytes, so that nothing is aligned."""
    if step == 0:
        return np.lib.stride_tricks.as_strided(values, values.shape, (0,))
    room = np.zeros((abs(step) * len(values) + 2) * values.itemsize + offset, np.uint8)
    view = room[offset : offset + abs(step) * len(values) * values.itemsize].view(values.dtype)
    view = view[:: abs(step)] if step > 0 else view[::-1][:: abs(step)]
    view[:] = values
    return view


@SETTINGS
@given(
    st.sampled_from([1, 2, 511, 512, 513, 1024, 1700, 5000]),
    st.lists(st.sampled_from([0, 1, 1, 2, -1, -3]), min_size=3, max_size=3),
    st.sampled_from([1, 2, -1]),
    st.sampled_from([0, 0, 3, 8]),
    st.sampled_from(["f4", "f8"]),
)
def test_any_layout_gives_the_same_bits(wave, n, steps, out_step, offset, dtype):
    rng = np.random.default_rng(n)
    plain = [rng.standard_normal(n).astype(dtype) for _ in range(3)]
    if 0 in steps:
        plain = [np.full_like(p, p[0]) if s == 0 else p for p, s in zip(plain, steps, strict=True)]
    want = wave(*plain)
    out = strided(np.zeros(n, dtype), out_step, offset)
    assert wave(*(strided(p, s, offset) for p, s in zip(plain, steps, strict=True)), out=out) is out
    assert np.array_equal(out.view(), want)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n", [1, 40, 600, 3000, 20_000])
@pytest.mark.parametrize("shift", [-700, -513, -8, -1, 0, 1, 8, 513])
def test_overlap_as_numpy(target, n, shift):
    """NumPy hands operands that overlap on as they are where the input is ahead of the output."""
    twice = make(target, lambda x, y: x * 2 + y)

    def run(function):
        memory = np.arange(n + 2000.0)
        x, out = memory[1000 + shift : 1000 + shift + n], memory[1000 : 1000 + n]
        function(x, x, out)
        return memory

    want = run(lambda x, y, out: np.add(np.multiply(x, 2), y, out=out))
    assert np.array_equal(run(lambda x, y, out: twice(x, y, out=out)), want)
    assert np.array_equal(run(lambda x, y, out: twice(x, y, out=out, where=True, casting="same_kind")), want)


def test_overlap_of_other_sizes():
    half = vectorize(["float64(float32)", "float32(float64)"])(lambda x: x / 2)
    memory = np.arange(3000.0, dtype="f4")
    want = np.arange(3000.0)[:1500] / 2
    half(memory[:1500], out=memory.view("f8"))
    assert np.array_equal(memory.view("f8"), want)
    half(memory.view("f8"), out=memory[:1500], casting="same_kind")
    assert np.array_equal(memory[:1500], want / 2)


# --- variants: enough items with the same inputs repeating, and a loop of their own is compiled ---


@pytest.mark.parametrize("target", TARGETS)
def test_variants(target):
    def body(a, x, b):
        if x == 77.0:
            raise ValueError("no", x)
        return a * x + b

    ours = make(target, body)
    x = np.linspace(-1, 1, 1_000_003)
    column, row = np.linspace(0, 1, 300)[:, None], np.linspace(5, 6, 700)
    before = ours(column, row, 2.0), ours(2.0, x, x[::-1]), ours(2.0, x, -0.0)
    assert np.array_equal(before[1], 2 * x + x[::-1])
    out = np.empty_like(x)
    for _ in range(70):
        ours(2.0, x, -0.0, out=out)
    for _ in range(340):
        ours(column, row, 2.0)
    after = ours(column, row, 2.0), ours(2.0, x, x[::-1]), ours(2.0, x, -0.0)
    for a, b in zip(before, after, strict=True):
        assert np.array_equal(a, b)
    # what repeats may be unaligned, or part of the result
    odd = np.zeros(9, np.uint8)[1:].view("f8")
    odd[0] = 2
    assert np.array_equal(ours(odd[0:1], x, -0.0), before[2])
    memory = x.copy()
    want = ours(memory[5], x, -0.0)
    assert np.array_equal(ours(memory[5:6], memory, -0.0, out=memory), want)
    x[123_456] = 77
    with pytest.raises(ValueError, match="no") as caught:
        ours(2.0, x, -0.0)
    assert caught.value.args == ("no", 77.0)
    lines = [f.lineno for f in traceback.extract_tb(caught.value.__traceback__)]
    assert body.__code__.co_firstlineno + 2 in lines


def test_variants_of_all_inputs():
    ours = vectorize(lambda a, b, c, d: a * 8 + b * 4 + c * 2 + d)
    n = 1 << 20
    arrays = [np.full(n, float(k)) for k in range(4)]
    out = np.empty(n)
    for mask in itertools.product((False, True), repeat=4):
        args = [float(k) if m else a for k, (m, a) in enumerate(zip(mask, arrays, strict=True))]
        for _ in range(66 if any(mask) and not all(mask) else 1):
            got = ours(*args, out=out) if not all(mask) else ours(*args)
        assert np.all(got == 11)
