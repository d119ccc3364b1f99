"""hash(), as CPython's: of numbers of all types, strings in all widths, bytes and tuples; in this process, and in another from the cache."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from treadle import TypingError, UnsupportedError, njit, prange


@njit
def hashed(x):
    return hash(x)


INT64 = st.integers(-(2**63), 2**63 - 1)
EDGES = [0, -1, -2, 2**61 - 2, 2**61 - 1, 2**61, -(2**61) + 1, -(2**61), 2**63 - 1, -(2**63)]


@settings(deadline=None, max_examples=200)
@given(x=INT64 | st.sampled_from(EDGES))
def test_integers(x):
    assert hashed(x) == hash(x)
    for t in (np.int8, np.uint8, np.int32, np.uint64):
        y = np.array(x, np.int64).astype(t)[()]
        assert hashed(y) == hash(y)


@settings(deadline=None, max_examples=300)
@given(x=st.floats(allow_nan=False))
@example(math.inf)
@example(-math.inf)
@example(5e-324)
@example(-0.0)
@example(2.0**61)
@example(2.0**61 - 256)
def test_floats(x):
    assert hashed(x) == hash(x)
    with np.errstate(over="ignore"):
        y = np.float32(x)
    assert hashed(y) == hash(y)


@settings(deadline=None, max_examples=100)
@given(x=st.complex_numbers(allow_nan=False))
@example(-1 + 0j)
def test_complex_numbers(x):
    assert hashed(x) == hash(x)


def test_equal_numbers_have_one_hash():
    assert hashed(True) == hashed(1) == hashed(1.0) == hashed(1 + 0j) == 1
    assert hashed(math.nan) == sys.hash_info.nan == 0
    assert sys.hash_info.modulus == 2**61 - 1 and hashed(math.inf) == sys.hash_info.inf


@settings(deadline=None, max_examples=200)
@given(
    s=st.text(st.characters(codec=None), max_size=12),
    b=st.binary(max_size=40),
    x=st.integers(-3, 3) | st.floats(-2, 2),
)
@example("", b"", 1)
@example("é漢😀\ud800ab", b"\x00", -1.0)
def test_strings_bytes_and_tuples(s, b, x):
    assert hashed(s) == hash(s) and hashed(b) == hash(b)
    for t in ((s,), (s, x), (b, (x, s), ()), (x, x, x), (s, b, True, 2.5)):
        assert hashed(t) == hash(t)
    assert parts(s) == parts.py_func(s)


@njit
def parts(s):
    """Views that are wider than what they show, and what was made here."""
    return (
        hash(s[:1]),
        hash(s[1:]),
        hash(s + "a"),
        hash(f"{s}b"),
        hash((s[2:4], s[::-1])),
        hash("aé"),
        hash(b"ab"),
        hash(()),
    )


def test_a_view_is_hashed_as_narrow_as_it_is():
    assert parts("a" * 500 + "😀") == parts.py_func("a" * 500 + "😀")


@pytest.mark.parametrize(
    "x, error, text",
    [
        ([1], TypingError, "unhashable type: 'list'"),
        ({1: 2}, TypingError, "unhashable type: 'dict'"),
        ((1, [2]), TypingError, "unhashable type: 'list'"),
        (np.zeros(2), TypingError, "unhashable type: 'numpy.ndarray'"),
        (None, UnsupportedError, r"hash\(\) of none"),
    ],
)
def test_what_has_none(x, error, text):
    with pytest.raises(error, match=text):
        hashed(x)


@njit(parallel=True)
def in_threads(words):
    out = np.zeros(len(words) * 64, np.int64)
    for i in prange(len(out)):
        out[i] = hash(words[i % len(words)][:2])
    return out


def test_workers_hash_as_the_caller():
    words = ["aé", "漢a", "😀b", "ab"]
    assert in_threads(words).tolist() == [hash(w[:2]) for w in words] * 64


CACHED = """
from treadle import njit
@njit(cache=True)
def f(s):
    return hash(s), hash("known"), hash(("known", 1)), hash(b"known")
assert f("é漢") == f.py_func("é漢"), "another secret"
print(f.py_func("x")[1])
"""


def test_no_hash_is_in_the_cache(tmp_path):
    """Each process has a secret of its own, on which hashes of strings depend."""
    program = tmp_path / "program.py"
    program.write_text(CACHED, encoding="utf-8")
    seen = set()
    for seed in ("1", "2", "2", "3"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "TREADLE_CACHE_DIR": str(tmp_path / "cache")}
        r = subprocess.run([sys.executable, program], env=env, capture_output=True, text=True, timeout=60)
        assert r.returncode == 0, r.stderr
        seen.add(r.stdout)
    assert len(seen) == 3


@pytest.mark.parametrize("f", [lambda n: hash([n]), lambda n: hash((1, [n])), lambda n: hash([])])
def test_a_display_of_a_list_has_no_hash(f):
    with pytest.raises(TypingError, match="unhashable type: 'list'"):
        njit(f)(1)
