"""numpy.lib.stride_tricks, ndarray.view and bits (treadle/_library/windows.py, bits.py) against NumPy's."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import njit

sys.path.insert(0, str(Path(__file__).parent))
from library_check import check, check_python  # noqa: E402

I = np.arange(24)  # noqa: E741
M = np.arange(24.0).reshape(4, 6)
T = np.arange(24).reshape(2, 3, 4)
U = np.arange(40, dtype="u1").reshape(5, 8)

CASES = [
    ("np.lib.stride_tricks.sliding_window_view" + "(a,3)", I),
    ("np.lib.stride_tricks.sliding_window_view" + "(a,(2,3))", M),
    ("np.lib.stride_tricks.sliding_window_view" + "(a,2,axis=0)", M.T),
    ("np.lib.stride_tricks.sliding_window_view" + "(a,(2,2),axis=(1,1))", M),
    ("np.lib.stride_tricks.sliding_window_view" + "(a,2,-1)", T[:, ::2]),
    ("np.lib.stride_tricks.sliding_window_view" + "(a,[3])", I[::2]),
    ("np.lib.stride_tricks.sliding_window_view" + "(a,30)", I),
    ("np.lib.stride_tricks.sliding_window_view" + "(a,-1)", I),
    ("np.lib.stride_tricks.sliding_window_view" + "(a,b).sum(axis=-1)", I, 4),
    ("np.lib.stride_tricks.sliding_window_view" + "(a,(2,2)).max(axis=(2,3))", M),
    ("np.lib.stride_tricks.sliding_window_view" + "(a,2,axis=(0,1))", M),
    ("np.lib.stride_tricks.as_strided" + "(a,(3,4),(8,16))", I),
    ("np.lib.stride_tricks.as_strided" + "(a,shape=(4,),strides=(0,))", I[3:]),
    ("np.lib.stride_tricks.as_strided" + "(a)", M.T),
    ("np.lib.stride_tricks.as_strided" + "(a,(b,))", I, 24),
    ("np.lib.stride_tricks.as_strided" + "(a,(0,5),(8,8))", I),
    ("a.view(np.int64)", M),
    ("a.view(np.uint8)", M),
    ("a.view('f4')", M[::2]),
    ("a.view(np.uint64)", M[:, ::2]),
    ("a.view(np.float64)", U),
    ("a.view(np.int16)", U[:, 1:5]),
    ("a.view(np.int16)", U[:, 1:4]),
    ("a.view(np.int16)", U.T),
    ("a.view(np.int8)", U.T),
    ("a.view()", U.T),
    ("a.view(np.complex128)", M),
    ("a.view(np.float64)", M * 1j),
    ("a.view(np.int32)", np.array(3.0)),
    ("a.view(np.int64)", np.array(3.0)),
    ("a.view(np.int64)", M[:0]),
    ("a.view(np.int16)", U[:, :0]),
    ("np.packbits(a)", M.astype("i8") % 3),
    ("np.packbits(a,axis=0)", T > 5),
    ("np.packbits(a,axis=1,bitorder='little')", T > 5),
    ("np.packbits(a)", M),
    ("np.packbits(a,axis=0)", U.T - 3),
    ("np.packbits(a,0)", T[:, ::2]),
    ("np.packbits(a)", I[:0]),
    ("np.unpackbits(a)", U),
    ("np.unpackbits(a,axis=0)", U),
    ("np.unpackbits(a,axis=1,count=5)", U.T),
    ("np.unpackbits(a,count=b)", U[0], -3),
    ("np.unpackbits(a,count=b,bitorder='little')", U[0], 99),
    ("np.unpackbits(a)", I),
    ("np.unpackbits(a,count=b)", U[0], -99),
    ("np.packbits(np.unpackbits(a,axis=-1),axis=-1)", U),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0])
def test_cases(case):
    check(*case)
    check_python(*case)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 255), max_size=20), st.integers(-170, 170))
def test_bits(numbers, count):
    a = np.array(numbers, dtype=np.uint8)
    check("np.unpackbits(a, count=b)", a, count if numbers else 0)
    check("np.unpackbits(a, bitorder='little')", a)
    check("np.packbits(a)", a & 1)
    check("np.packbits(a, bitorder='little')", a & 3)


def test_a_view_is_the_same_memory():
    """What is stored by one type is read by the other, in order."""

    @njit
    def f(a):
        bits, total = a.view(np.int64), 0
        for i in range(len(a)):
            a[i] = i + 1.0
            total += bits[i] >> 52
            bits[i] = 0
        return total, a.sum()

    assert f(np.zeros(5)) == (1023 + 1024 + 1024 + 1025 + 1025, 0.0)


@pytest.mark.parametrize(
    "what", ["(25,), (8,)", "(3,), (-8,)", "(2, 2), (96, 96)", "(2,), (7,)", "(2**62, 2), (8, 8)"]
)
def test_nothing_beyond_the_array_is_reached(what):
    with pytest.raises(ValueError, match="as_strided"):
        njit(eval(f"lambda a: np.lib.stride_tricks.as_strided(a, {what})", {"np": np}))(I)


def test_windows_are_read_only():
    f = njit(lambda a: np.lib.stride_tricks.sliding_window_view(a, 3))
    got = f(I)
    assert not got.flags.writeable and np.shares_memory(got, I)
    g = njit(lambda a: np.lib.stride_tricks.as_strided(a, (2,), (0,), writeable=False))
    assert not g(I).flags.writeable


def test_flags():
    """Of arrays whose type says how they lie, and of others."""

    def f(a):
        fl = a.flags
        return fl.c_contiguous, fl.contiguous, fl.f_contiguous, fl.fnc, fl.forc, fl.writeable

    read_only = M.copy()
    read_only.flags.writeable = False
    views = [M, M.T, M[:, ::2], M[:1], M[:1, ::2], M[:0], M[:, 0], M[:, :1], M[0], np.array(3.0), read_only]
    g = njit(f)
    for a in [*views, T.transpose(0, 2, 1)]:
        assert g(a) == f(a), a.strides
