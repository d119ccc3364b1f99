"""Loops along which threads walk a grid apart: on a GPU such a thread reads for several rounds before it writes (opt/grid/stride.c, opt/grid/ahead.c)."""

from __future__ import annotations

import re

import numpy as np
import pytest
from cuda_check import check, compile_text, kernel_of, simulate
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import cuda
from treadle.cuda._loops import AT_ONCE

WALK = "    for i in range(cuda.grid(1), n, cuda.gridsize(1)):\n"
BODIES = {
    "copy": "        b[i] = a[i]\n",
    "in place": "        b[i] = 2 * b[i] + a[i]\n",
    "two": "        b[i] = a[i]\n        c[i] = a[i] + 1\n",
    "behind": "        b[i] = a[i]\n        c[i] = b[i] + 1\n",
    "neighbour": "        if i > 0:\n            b[i] = a[i - 1]\n",
    "a table": "        b[i] = c[a[i] % c.size]\n",
    "to a table": "        b[a[i] % b.size] = i\n",
    "backwards": "        b[n - 1 - i] = a[i]\n",
    "a sum": "        s += a[i]\n        b[i] = s\n",
    "a number of the round": "        s += 1\n        b[i] = a[i] + s * 100\n",
    "the last": "        j = i\n        b[i] = a[i]\n",
}


def text_of(body):
    end = "" if body == "a table" else "    if cuda.grid(1) == 0:\n        c[0] += s + j\n"
    return f"def k(a, b, c, n):\n    s = 0\n    j = -1\n{WALK}{BODIES[body]}{end}"


@pytest.mark.parametrize("body", BODIES)
def test_bodies(body):
    for n in (0, 1, 4, 5, 31, 64):
        for grid, block in ((1, 1), (2, 3), (1, 8)):
            if body == "to a table" and (grid, block) != (1, 1):
                continue  # threads store at the same places
            a = (np.arange(n) * 7 + 3) % 11
            check(
                text_of(body),
                grid,
                block,
                a,
                np.zeros(n, np.int64) + 5,
                np.arange(9 if body == "a table" else n + 1),
                n,
            )


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["copy", "in place", "two", "behind", "a sum", "backwards"]),
    st.integers(0, 23),
    st.lists(st.integers(0, 9), min_size=3, max_size=3),
    st.sampled_from([1, 2, -1]),
)
def test_views_that_share_memory(body, n, at, step):
    """One thread, whose rounds come in order."""
    text, memory = text_of(body), np.arange(80)

    def views(m):
        """Three of 23 items; those that begin where the first one does go forwards."""
        return [m[10 + k :][:23] if k == at[0] else m[10 + k : 56 + k][::step][:23] for k in at]

    want = memory.copy()
    simulate(text, 1, 1, *views(want), n)
    d = cuda.to_device(memory)
    kernel_of(text)[1, 1](*views(d), n)
    np.testing.assert_array_equal(d.copy_to_host(), want)


def test_what_is_compiled():
    """No division, no sign of an index, and the loads of as many rounds as ufuncs count on before the first store."""

    def ptx(body, sig="void(i8[::1], i8[::1], i8[::1], i8)"):
        return cuda.compile_ptx(compile_text(text_of(body), "k"), sig, cc=(8, 0))[0]

    for body in ("copy", "in place", "a number of the round"):
        text = ptx(body)
        assert not re.search(r"div\.|rem\.|shr\.s64", text), body
        first = text.index("st.global")
        assert text[:first].count("ld.global") == AT_ONCE * (2 if body == "in place" else 1), body
    for body in ("neighbour", "to a table"):
        text = ptx(body)
        assert "div." not in text and text[: text.index("st.global")].count("ld.global") < AT_ONCE
