"""Fused and unfused results are the same bits: random array expressions with the passes that merge them, and without."""

from __future__ import annotations

import functools
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

# Run by each process: programs of several statements over arrays of one shape or of sizes that repeat; bytes of all that they make.
RUNNER = """
import hashlib, random, sys, linecache
import numpy as np
from treadle import njit

def expression(rng, names, depth):
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(names)
    a, b = (expression(rng, names, depth - 1) for _ in "ab")
    return rng.choice([f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} / {b})", f"np.where({a} > {b}, {a}, {b})",
                       f"np.minimum({a}, {b})", f"np.sin({a})", f"np.exp(-np.abs({a}))", f"np.sqrt(np.abs({a}))",
                       f"({a} * 2.5 + {b})", f"np.floor({a})", f"np.tanh({a})", f"-{a}", f"({a})[::-1]"])

def program(seed):
    rng = random.Random(seed)
    names, lines, out = ["a", "b", "c"], [], []
    for k in range(rng.randint(2, 5)):
        text = expression(rng, names, rng.randint(1, 3))
        roll = rng.random()
        if roll < 0.2:
            place = rng.choice(["a", "b[:]", "c[::-1]", "a[1:]", "b[:-1]"])
            value = text if place in ("b[:]", "c[::-1]") else "0.5" if place == "a" else f"({text})[{place[2:]}"
            lines.append(f"    {place} {'+=' if place == 'a' else '='} {value}")
        elif roll < 0.4:
            lines.append(f"    n{k} = ({text} > 0.25).sum(), ({text}).max(), ({text}).min()")
            out.append(f"n{k}")
        else:
            lines.append(f"    n{k} = {text} + 0.0")
            names.append(f"n{k}")
            out.append(f"n{k}")
    source = "def f(a, b, c):\\n" + "\\n".join(lines) + f"\\n    return {', '.join(out or ['a.sum() * 0.0'])}, a, b, c\\n"
    space = {"np": np}
    exec(source, space)
    return source, space["f"]

def bits(x):
    if isinstance(x, tuple):
        return b"".join(map(bits, x))
    x = np.asarray(x)
    x = np.where(np.isnan(x), np.nan, x) if x.dtype.kind == "f" else x
    return np.ascontiguousarray(x).tobytes()

for seed in range(int(sys.argv[1]), int(sys.argv[2])):
    source, f = program(seed)
    rng = np.random.default_rng(seed)
    dtype = ["f8", "f4"][seed % 2]
    n = [1, 7, 33, 600][seed % 4]
    shape = (n,) if seed % 3 else (n, 5)
    arrays = [(rng.standard_normal(shape) * 3).astype(dtype) for _ in "abc"]
    if seed % 5 == 0:
        arrays[1] = arrays[1][::-1]
    if seed % 7 == 0:
        arrays[2] = np.zeros(tuple(2 * s for s in shape), dtype)[tuple(slice(None, None, 2) for _ in shape)] + arrays[2] * 0
    digest = hashlib.sha256(bits(njit(parallel=seed % 6 == 5)(f)(*arrays))).hexdigest()
    print(seed, digest)
"""


@functools.cache
def run(skip: str, first: int, last: int) -> list[str]:
    """Digests of the results of programs `first` to `last`, with these passes left out."""
    env = os.environ | {"TREADLE_SKIP": skip}
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, str(first), str(last)], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


@pytest.mark.parametrize("skip", ["fuse", "agree,fuse"])
def test_merging_changes_no_bit(skip: str) -> None:
    """Reductions of floats are extremes here, or counts: sums may be added up in another order."""
    whole = run("", 0, 24)
    assert len(whole) == 24 and run(skip, 0, 24) == whole


def test_the_programs_are_merged() -> None:
    """Otherwise the test above compares a thing with itself."""
    env = os.environ | {"TREADLE_DUMP": "fuse"}
    said = subprocess.run(
        [sys.executable, "-c", RUNNER, "0", "8"], env=env, capture_output=True, text=True
    ).stderr
    assert said.count(": merged, ") > 5 and said.count("not merged") > 0


def test_fuzz_programs_without_fusion() -> None:
    """A slice of the fuzzer's programs agrees with the oracle when nothing is merged."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fuzz"))
    from child import Child

    child = Child("treadle", "treadle", {"TREADLE_SKIP": "fuse"})
    try:
        bad = [
            a
            for a in (child.ask({"seed": s}) for s in random.Random(1).sample(range(500, 9000), 25))
            if a["status"] != "ok"
        ]
    finally:
        child.stop()
    assert not bad, "\n\n".join(f"seed {a.get('seed')}: {a['status']}: {a['why']}" for a in bad[:3])
