"""np.mgrid, np.ogrid, np.r_, np.c_, np.s_ and np.index_exp in compiled functions, held to NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy import ogrid
from sizes import examples
from treadle import _library, njit, prange
from treadle.errors import TypingError

sys.path.insert(0, str(Path(__file__).parent))
from library_check import check  # noqa: E402

ends = st.integers(-4, 7)
steps = st.sampled_from([-2, -1, 1, 2, 3])
GRIDS = [
    "[0:a, 0:b]",
    "[:b, a:b]",
    "[a:b, b:c]",
    "[a:b:c, 0:3]",
    "[:a, :b, :c]",
    "[0:3:c, a:b, -1:1]",
    "[-1:1:5j, a:b]",
    "[a:b:4j, 0:2:1j]",
    "[a:b:2.5j, 0:c:3j]",
    "[0:a:0.5, 0:2]",
    "[0.5:a, b:c:0.25]",
    "[:a]",
    "[a:b]",
    "[a:b:c]",
    "[a:b:7j]",
    "[a:b:3.7j]",
    "[0:1:0.125]",
    "[0:a,]",
]


@pytest.mark.parametrize("index", GRIDS)
@given(a=ends, b=ends, c=steps)
@settings(max_examples=examples(15), deadline=None)
def test_grids(index, a, b, c):
    for name in ("mgrid", "ogrid"):
        check(f"np.{name}{index}", *(a, b, c)[: 1 + max("abc".find(x) for x in index)])


@given(a=st.floats(-3, 3), b=st.floats(-3, 3))
@settings(max_examples=examples(15), deadline=None)
def test_grids_of_floats(a, b):
    for name in ("mgrid", "ogrid"):
        check(f"np.{name}[a:b:5j, b:a:0.5]", a, b)
        check(f"np.{name}[a:b:0.25]", a, b)


def test_a_grid_of_no_step():
    check("np.mgrid[0:a:0, 0:2]", 4)
    check("np.ogrid[0:2, a:3:a]", 0)


A, B, M, I = np.arange(4.0), np.ones(3), np.arange(6.0).reshape(3, 2), np.arange(3)
JOINED = [
    ("np.r_[a, b]", A, B),
    ("np.r_[a, 1.5, b, 2]", A, B),
    ("np.r_[a, 0:3, 5]", I, 0),
    ("np.r_[a, 0:1:3j, 1:2:0.25]", A, 0),
    ("np.r_[0:a]", 4),
    ("np.r_[a]", A),
    ("np.r_[a, b]", M, M[:1]),
    ("np.r_[a, b]", A.astype("f4"), I.astype("i2")),
    ("np.r_[a:b, 0, a]", 2, 5),
    ("np.c_[a, b]", B, I),
    ("np.c_[a, b, a]", M, B),
    ("np.c_[a, 0:3]", B, 0),
    ("np.c_[a]", A),
    ("np.c_[a, 1, 2.5]", B[:1], 0),
    ("np.c_[a, b]", A[::-2], A[:2]),
    ("np.c_[a, b]", A, B),
]


@pytest.mark.parametrize("row", JOINED, ids=[f"{k} {row[0]}" for k, row in enumerate(JOINED)])
def test_joined(row):
    check(*row)


def test_what_is_joined_is_a_copy():
    @njit
    def f(a):
        b, c = np.r_[a], np.c_[a]
        b[0] = c[0, 0] = 7
        return a[0]

    assert f(np.zeros(2)) == 0


def test_indices():
    a = np.arange(12).reshape(3, 4)
    for index in (
        "np.s_[1:, ::2]",
        "np.s_[a[0, 1]]",
        "np.index_exp[1]",
        "np.index_exp[..., 1:3]",
        "np.s_[:, None]",
    ):
        check(f"a[{index}]", a)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("np.mgrid[a, 0:3]", "a grid is made of ranges that have an end"),
        ("np.mgrid[a:, 0:3]", "a grid is made of ranges that have an end"),
        ("np.ogrid[a]", "a grid is made of ranges that have an end"),
        ("np.r_['r', a]", "no directions in a string"),
        ("np.r_[b.astype(np.float32), 1.0]", "numbers beside arrays of small types"),
        ("np.c_[b.astype(np.int8), a]", "numbers beside arrays of small types"),
        ("np.mgrid[0:np.float32(a), 0:1]", "must be integers or float64"),
        ("np.mgrid(a)", "function 'mgrid' is not callable"),
        ("np.r_(a)", "function 'r_' is not callable"),
    ],
)
def test_refused(text, match):
    with pytest.raises(TypingError, match=match) as e:
        njit(eval(f"lambda a, b: {text}", {"np": np}))(2, np.ones(3))
    assert "treadle/_library" not in str(e.value)
    assert str(e.value).count("-->") == 1, "one mistake, one error"


class MGridClass:
    """A class of the user's with the name of one of NumPy's."""

    def __getitem__(self, key):
        return 1


mine = MGridClass()


def test_only_numpys_own_are_meant():
    assert _library.find(np.mgrid) and _library.find(np.s_) and _library.find(np.index_exp)
    with pytest.raises(Exception, match="cannot be indexed"):
        njit(lambda n: mine[0:n])(3)


@njit
def disc(n, r):
    y, x = ogrid[-n : n + 1, -n : n + 1]
    return x * x + y * y <= r * r


@njit(parallel=True)
def discs(r):
    out = np.zeros(len(r))
    for k in prange(len(r)):
        y, x = np.mgrid[-3:4, -3:4]
        out[k] = (x * x + y * y <= r[k]).sum() + disc(3, r[k]).sum()
    return out


def test_in_functions_and_parallel_loops():
    assert (disc(5, 3.0) == disc.py_func(5, 3.0)).all()
    r = np.arange(6.0)
    assert (discs(r) == discs.py_func(r)).all()


PROGRAM = """
import numpy as np
from treadle import njit

@njit(cache=True)
def f(n):
    y, x = np.mgrid[0:n, 0:1:3j]
    return (y * x).sum() + np.r_[n, 0:2].sum()

print(f(4), f.stats["loaded"])
"""


def test_from_the_cache(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    env = dict(os.environ, TREADLE_CACHE_DIR=str(tmp_path / "cache"))
    command = [sys.executable, tmp_path / "program.py"]
    out = [
        subprocess.run(
            command, env=env, capture_output=True, text=True, check=True, timeout=120
        ).stdout.split()
        for _ in range(2)
    ]
    assert out == [["14.0", "0"], ["14.0", "1"]]
