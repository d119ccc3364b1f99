"""Indices that wrap inside a loop: `(3 * i) % 32`, `uint8(7 * i)`. LLVM 19's vectoriser takes them for strides that do not (LLVM pull request 156910)."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import cuda, njit

PLACES = {  # {k}: a step, {m}: a power of two
    "mod": "(i * {k}) % {m}",
    "and": "(i * {k}) & ({m} - 1)",
    "byte": "np.uint8(i * {k})",
    "shifts": "((i * {k}) << 57) >> 57 & 127",
    "two counters": "(i + j) % {m}",
    "in parts": "((i * {k}) % {m}) * 4 + 3",
    "halves": "(i * {k}) % {m} // 2",
    "the rest by hand": "i * {k} - (i * {k}) // {m} * {m}",
    "high bits of a byte": "np.uint8(i * {k} * 8) >> 3",
    "bits between": "(((i * {k} * 2) & 0xffff) >> 1) & ({m} - 1)",
    "a step from outside": "(i * s) % {m}",
    "small": "x",
}
LOOPS = {
    "read": "o[i] = a[{p}]",
    "accumulate": "a[{p}] += i",
    "write": "a[{p}] = i",
}
TEXT = """
def f(a, o, n, s):
    x = np.uint8(0)
    j = 0
    for i in range({n}):
        {body}
        x = np.uint8(x + {k})
        j += {k} - 1
"""


class Bytes:
    """As NumPy, whose uint8() takes no number of Python's that it does not hold."""

    uint8 = staticmethod(lambda v: int(v) & 255)


def both(text: str, n: int, k: int) -> None:
    space, plain = {"np": np}, {"np": Bytes}
    exec(text, space)
    exec(text, plain)
    a, o = np.arange(1, 4097), np.zeros(n, np.int64)
    b, p = a.copy(), o.copy()
    plain["f"](a, o, n, k)
    njit(space["f"])(b, p, n, k)
    np.testing.assert_array_equal(b, a, err_msg=text)
    np.testing.assert_array_equal(p, o, err_msg=text)


@settings(max_examples=examples(80), deadline=None)
@given(
    st.sampled_from(sorted(PLACES)),
    st.sampled_from(sorted(LOOPS)),
    st.sampled_from([1, 2, 3, 4, 5, 7, 8, 16]),
    st.sampled_from([8, 16, 32, 64, 128, 256]),
    st.sampled_from([-1, 0, 1, 2]),
    st.booleans(),
)
def test_loops(place, loop, k, m, more, known):
    n = {-1: m // 2, 0: m, 1: m - 1, 2: 2 * m + 3}[more]
    body = LOOPS[loop].format(p=PLACES[place].format(k=k, m=m))
    both(TEXT.format(n=n if known else "n", body=body, k=k), n, k)


ROUNDS = {  # what a number becomes, {k}: a step, {m}: a power of two
    "masked, then a step": "(x & ({m} - 1)) + {k}",
    "a step, then masked": "(x + {k}) % {m}",
    "of the rest": "(x % {m}) + {k}",
    "from a byte": "int(np.uint8(x)) + {k}",
    "two steps": "((x + {k}) & ({m} - 1)) + 1",
}
USES = {
    "kept": "o[i] = x",
    "in an index": "o[i] = a[x]",
    "summed": "y += x",
    "with another": "o[i] = x * y\n        y = (y + {k}) & 31",
}


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from(sorted(ROUNDS)),
    st.sampled_from(sorted(USES)),
    st.sampled_from([1, 2, 3, 5, 7, 16, 31]),
    st.sampled_from([8, 32, 256]),
    st.sampled_from([-1, 0, 1, 2]),
    st.booleans(),
)
def test_numbers_that_go_round(rounds, use, k, m, more, known):
    n = {-1: m // 2, 0: m, 1: m - 1, 2: 2 * m + 3}[more]
    text = (
        f"def f(a, o, n, s):\n    x = 0\n    y = 5\n    for i in range({n if known else 'n'}):\n"
        f"        {USES[use].format(k=k)}\n        x = {ROUNDS[rounds].format(k=k, m=m)}\n    o[0] += x + y\n"
    )
    both(text, n, k)


def test_a_number_that_went_round_was_wrong():
    both(
        "def f(a, o, n, s):\n    x = 0\n    for i in range(n):\n        o[i] = x\n        x = (x & 31) + 3\n",
        32,
        3,
    )


@pytest.mark.parametrize("n", [32, 64])
def test_what_was_wrong(n):
    """Without a doubt in vectors: a step of three, from 0, as many rounds as the mask has places."""
    both(TEXT.format(n=n, body=f"o[i] = a[(i * 3) % {n}]", k=3), n, 3)


def test_kernel():
    @cuda.jit
    def k(a, o):
        s = cuda.shared.array(64, np.int64)
        t = cuda.threadIdx.x
        s[t] = a[t]
        cuda.syncthreads()
        o[t] = s[(t * 3) % 32]

    a, o = np.arange(32) + 5, np.zeros(32, np.int64)
    k[1, 32](a, o)
    np.testing.assert_array_equal(o, a[np.arange(32) * 3 % 32])


def test_llvms_own_pipeline():
    text = "import test_wrapping_indices as t\nt.both(t.TEXT.format(n=32, body='o[i] = a[(i * 3) % 32]', k=3), 32, 3)\n"
    here = os.path.dirname(os.path.abspath(__file__))
    env = {
        **os.environ,
        "TREADLE_OPT_LEVEL": "3",
        "PYTHONPATH": os.pathsep.join([here, os.environ.get("PYTHONPATH", "")]),
    }
    subprocess.run([sys.executable, "-c", text], check=True, env=env, timeout=120)
