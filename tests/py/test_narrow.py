"""Arithmetic on narrow numbers in as few bits as it needs (opt/scalar/narrow.c): the same results as without that pass."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import treadle

DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool")
OUTS = ("int8", "uint8", "int16", "int32", "uint32", "int64", "float32", "float64")
SMALL = (0, 1, 2, 3, 5, 7, 10, 100, 127, 128, 255, 256, 32767, 32768, 65535, 2**31 - 1, 2**31)


def expression(r: random.Random, depth: int) -> str:
    """A random integer expression of the elements x, y and z; a divisor and a shift are constants."""
    if depth == 0 or r.random() < 0.15:
        return r.choice(("x", "y", "z", "x", "y", str(r.choice(SMALL))))
    x, y, k = expression(r, depth - 1), expression(r, depth - 1), r.choice(SMALL[1:])
    return r.choice(
        (
            f"({x} + {y})",
            f"({x} - {y})",
            f"({x} * {y})",
            f"({x} // {k})",
            f"({x} % {k})",
            f"({x} // -{k})",
            f"({x} % -{k})",
            f"({x} & {y})",
            f"({x} | {y})",
            f"({x} ^ {y})",
            f"({x} >> {r.randrange(18)})",
            f"({x} << {r.randrange(18)})",
            f"(-{x})",
            f"(~{x})",
            f"abs({x})",
            f"min({x}, {y})",
            f"max({x}, {y})",
            f"({x} if {x} < {y} else {y})",
        )
    )


def program(seed: int) -> tuple[str, list[np.ndarray[Any, Any]]]:
    """A function over three arrays that fills a fourth, and the arrays."""
    r = random.Random(seed)
    floats = r.choice(OUTS)
    body = [f"v = {expression(r, 3)}"]
    if r.random() < 0.5:
        body += [f"if {expression(r, 2)} > {expression(r, 1)}:", f"    v = {expression(r, 2)}"]
    if r.random() < 0.2:
        body += [f"for _ in range({r.randrange(4)}):", "    v = (v + x) // 2"]
    if r.random() < 0.3:
        body += [f"s += {expression(r, 1)}"]
    rounds = r.choice(("range", "treadle.prange")) if "s +=" not in body[-1] else "range"
    text = "def f(a, b, c, out):\n    s = 0\n"
    text += f"    for i in {rounds}(len(a)):\n        x = a[i]\n        y = b[i]\n        z = c[i]\n"
    text += "".join(f"        {line}\n" for line in body) + "        out[i] = v\n    return s\n"
    rng = np.random.default_rng(seed)
    arrays = []
    for _ in range(3):
        dtype = np.dtype(r.choice(DTYPES))
        ends = np.array([0, 1, -1, 127, -128, 255, 2**15, -(2**15), 2**31 - 1, -(2**31), 2**32 - 1])
        arrays.append(np.concatenate([ends, rng.integers(-(2**33), 2**33, 60)]).astype(dtype))
    return text, [*arrays, np.zeros(71, floats)]


def digest(seed: int) -> str:
    """What the program of the seed computes, or what it raises."""
    text, arrays = program(seed)
    names: dict[str, Any] = {"treadle": treadle}
    exec(text, names)
    try:
        result = treadle.njit(names["f"], parallel="prange" in text)(*arrays)
    except treadle.TypingError as e:  # bit operations of what promotes to a float
        return type(e).__name__
    return hashlib.sha1(arrays[-1].tobytes() + repr(result).encode()).hexdigest()


COUNT = 120


def test_programs_are_what_they_were_without_it() -> None:
    child = subprocess.run(
        [sys.executable, __file__],
        env={**os.environ, "TREADLE_SKIP": "narrow"},
        capture_output=True,
        text=True,
        check=True,
    )
    wide = child.stdout.split()
    here = [digest(seed) for seed in range(COUNT)]
    assert len(wide) == COUNT
    wrong = [seed for seed in range(COUNT) if wide[seed] != here[seed]]
    assert not wrong, program(wrong[0])[0]
    assert here.count("TypingError") < COUNT // 2


STENCIL = """
def f(a, b):
    for y in range(1, a.shape[0] - 1):
        for x in range(1, a.shape[1] - 1):
            n = a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1]
            b[y, x] = 1 if n == 3 or n == 2 else 0
"""


@pytest.mark.parametrize(
    ("dtype", "width"), [("uint8", "i16"), ("int8", "i16"), ("int16", "i32"), ("int32", "i64")]
)
def test_the_width_that_sums_need(dtype: str, width: str) -> None:
    names: dict[str, Any] = {}
    exec(STENCIL, names)
    f = treadle.njit(names["f"])
    a = np.random.default_rng(1).integers(0, 2, (9, 70)).astype(dtype)
    b, want = np.zeros_like(a), np.zeros_like(a)
    f(a, b)
    names["f"](a, want)
    np.testing.assert_array_equal(b, want)
    ir = next(iter(f.inspect_ir().values()))
    assert f"%n: {width} = add" in ir


if __name__ == "__main__":
    print("\n".join(digest(seed) for seed in range(COUNT)))
