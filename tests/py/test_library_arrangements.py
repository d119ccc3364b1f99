"""numpy.split, pad, insert, indices and their like (treadle/_library/arrangements.py) against NumPy's."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import njit
from treadle.errors import TypingError

sys.path.insert(0, str(Path(__file__).parent))
from library_check import check, check_python  # noqa: E402

pytestmark = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="results are NumPy 2's, with either NumPy"
)

I = np.arange(24)  # noqa: E741
M = np.arange(24.0).reshape(4, 6)
T = np.arange(24).reshape(2, 3, 4)

VIEWS = [
    ("np.split(a, 4)", M),
    ("np.split(a, 3, 1)", M),
    ("np.split(a, 5)", M),
    ("np.split(a, (1,3))", M),
    ("np.split(a, b)", M, np.array([1, 3])),
    ("np.split(a, b, 1)", M, np.array([2, 2, -1, 30])),
    ("np.split(a, b)", I, np.array([], np.int64)),
    ("np.split(a, b)", I, 4),
    ("np.split(a, b)", I, 5),
    ("np.split(a, b)", I, 0),
    ("np.split(a, [i * 2 for i in range(b)], axis=1)", T, 3),
    ("np.array_split(a, b)", I, 5),
    ("np.array_split(a, b, 1)", M, 4),
    ("np.array_split(a, b)", I[:2], 5),
    ("np.vsplit(a, b)", M, np.array([1])),
    ("np.hsplit(a, b)", M, 3),
    ("np.split(a, [1,3], axis=-1)", M),
    ("np.array_split(a, 5)", I),
    ("np.array_split(a, 5, axis=1)", T),
    ("np.array_split(a, (2,-1,30))", I),
    ("np.array_split(a, 0)", I),
    ("np.hsplit(a, 2)", M),
    ("np.hsplit(a, 2)", I),
    ("np.vsplit(a, 2)", M),
    ("np.vsplit(a, 2)", I),
    ("np.dsplit(a, (1,))", T),
    ("np.rollaxis(a, 2)", T),
    ("np.rollaxis(a, 0, 3)", T),
    ("np.rollaxis(a,-1,1)", T),
    ("np.rollaxis(a,1,1)", T),
    ("np.trim_zeros(a)", np.array([0, 0, 1, 0, 2, 0])),
    ("np.trim_zeros(a,'f')", np.zeros(3)),
    ("np.trim_zeros(a,'b')", np.array([0, 0, 1, 0, 2, 0])),
]

PRODUCTS = [
    ("np.kron(a,b)", M, I[:3]),
    ("np.kron(a,b)", M, T),
    ("np.kron(a,2)", M),
    ("np.kron(a,b)", M, M.T),
    ("np.tensordot(a,b,2)", M, M),
    ("np.tensordot(a,b,1)", M, M.T),
    ("np.tensordot(a,b,0)", M, I),
    ("np.tensordot(a,b,((0,1),(0,1)))", M, M),
    ("np.tensordot(a,b,(1,1))", M, M),
    ("np.tensordot(a,b,axes=([1,0],[0,1]))", T, M[:3, :2]),
    ("np.tensordot(a,b)", M, I),
    ("np.tensordot(a,b,(0,0))", M, M[:3]),
    ("np.vander(a)", I[:4]),
    ("np.vander(a,3,increasing=True)", M[0]),
    ("np.vander(a,2)", I[:4].astype("u8")),
    ("np.vander(a,0)", I[:3]),
    ("np.vander(a)", I[:3] > 1),
    ("np.vander(a)", np.arange(3, dtype="f4")),
    ("np.vander(a)", M),
]

SAMPLES = [
    ("np.logspace(a,b)", 1, 3),
    ("np.logspace(0.5,2,7,endpoint=False)",),
    ("np.logspace(0,2,a,base=b,dtype=np.int64)", 5, 2.0),
    ("np.logspace(0.5,2,a)", 0),
    ("np.logspace(0.5,2,a)", 1),
    ("np.geomspace(1,1000,num=a)", 4),
    ("np.geomspace(a,b,5,endpoint=False)", -1000.0, -1.0),
    ("np.geomspace(1,256,9,dtype=np.int64)",),
    ("np.geomspace(1j,1000j,num=4)",),
    ("np.geomspace(0,3)",),
    ("np.geomspace(-1,1,num=4)",),
    ("np.geomspace(a,b,num=3)", 1, 1 + 3j),
    ("np.geomspace(a,b,num=1)", 2, 3),
    ("np.geomspace(a,b,num=0)", 2, 3),
]

INDICES = [
    ("np.indices((a,3))", 2),
    ("np.indices((a,3,2),dtype=np.float32)", 2),
    ("np.indices((a,3),sparse=True)", 2),
    ("np.indices((a,))", 0),
    ("np.ix_(a,b)", I[:3], np.array([True, False, True])),
    ("a[np.ix_(b,c)]", M, I[:3], I[1:3]),
    ("np.ix_(a)", M),
    ("np.ix_((1,2),a)", I[:2]),
    ("np.tril_indices(a)", 3),
    ("np.tril_indices(a,1,5)", 3),
    ("np.tril_indices(a,-1,b)", 4, 2),
    ("np.triu_indices(a)", 3),
    ("np.triu_indices(a,-1,5)", 3),
    ("np.triu_indices(a,b,2)", 4, -2),
    ("np.triu_indices(a)", 0),
    ("np.tril_indices(a)", -2),
    ("np.tril_indices_from(a,-1)", M),
    ("np.triu_indices_from(a)", M),
    ("np.triu_indices_from(a)", I),
    ("np.diag_indices(a)", 3),
    ("np.diag_indices(a,3)", 3),
    ("np.diag_indices_from(a)", M),
    ("np.diag_indices_from(a)", M[:4, :4]),
    ("np.diagflat(a,1)", M[:2, :2]),
    ("np.diagflat((1,2))",),
    ("np.diagflat(a,b)", I[:2], -1),
    ("np.diagflat(a)", 2.5),
    ("(np.fill_diagonal(a,5),a)[1]", M),
    ("(np.fill_diagonal(a,b),a)[1]", M.T, I[1:3]),
    ("(np.fill_diagonal(a,5,wrap=True),a)[1]", np.zeros((7, 2))),
    ("(np.fill_diagonal(a,5),a)[1]", np.zeros((7, 2))),
    ("(np.fill_diagonal(a,5.7),a)[1]", T[:2, :2, :2]),
    ("(np.fill_diagonal(a,5.7),a)[1]", T),
    ("np.fill_diagonal(a,2)", I),
    ("(np.fill_diagonal(a,b),a)[1]", M.T, I[:0]),
    ("(np.fill_diagonal(a,3,True),a)[1]", M[:0]),
    ("np.ravel_multi_index((a,b),(6,7))", I[:3], I[3:6]),
    ("np.ravel_multi_index((a,b),(6,7),order='F')", I[:3], I[3:6]),
    ("np.ravel_multi_index((a,b),(2,3),mode='wrap')", I[:3], I[3:6] - 7),
    ("np.ravel_multi_index((a,b),(2,3),mode=('clip','wrap'))", I[:3], I[3:6] - 7),
    ("np.ravel_multi_index((a,b),(6,2))", I[:3], I[3:6]),
    ("np.ravel_multi_index((3,1),(a,b))", 6, 2),
    ("np.ravel_multi_index((a,b),(6,7))", I[:3].astype("u1"), 4),
    ("np.ravel_multi_index((a,b),(6,7))", M[0], 4),
    ("np.unravel_index(a,(5,7))", I),
    ("np.unravel_index(a,(5,7),order='F')", I),
    ("np.unravel_index(a,(5,7))", 22),
    ("np.unravel_index(a,(5,7))", 35),
    ("np.unravel_index(a,24)", I),
    ("np.unravel_index(a,(2,b,4))", T.astype("i4"), 3),
    ("np.unravel_index(a,(5,2))", I),
    ("np.unravel_index(a,(5,2))", I[:0]),
]

SHAPES = [
    ("np.pad(a,2,constant_values=7)", I),
    ("np.pad(a,2,constant_values=(7,8.5))", I),
    ("np.pad(a,2,constant_values=((1,2),(3,4)))", M),
    ("np.pad(a,-1)", M),
    ("np.pad(a,1.5)", M),
    ("np.pad(a,((1,2),(3,4),(5,6)))", M),
    ("np.pad(a,2,constant_values=True)", I > 3),
    ("np.pad(a,2,'edge')", I.astype("c8")),
    ("np.delete(a,b)", I, 3),
    ("np.delete(a,b)", I, -3),
    ("np.delete(a,b)", I, 99),
    ("np.delete(a,b,0)", M, 1),
    ("np.delete(a,b,axis=1)", M, I[:3]),
    ("np.delete(a,b,-1)", M, I[:6] > 2),
    ("np.delete(a,b,-1)", M, I[:4] > 2),
    ("np.delete(a,slice(1,None,2))", M),
    ("np.delete(a,slice(b,None,-1),axis=1)", M, 3),
    ("np.delete(a,[1,2,-1])", M),
    ("np.delete(a,[1,99])", M),
    ("np.delete(a,b,axis=0)", T, I[:0]),
    ("np.insert(a,b,7)", I, 3),
    ("np.insert(a,b,7.5)", I, -3),
    ("np.insert(a,b,c)", I, 3, I[:4]),
    ("np.insert(a,b,5,axis=1)", M, 1),
    ("np.insert(a,b,c,axis=1)", M, 1, I[:4]),
    ("np.insert(a,b,c,axis=0)", M, 2, I[:6]),
    ("np.insert(a,b,c,axis=0)", M, 2, M[:2]),
    ("np.insert(a,b,c,axis=1)", M, 2, M[:2].T),
    ("np.insert(a,b,c)", M, I[:3], I[:3]),
    ("np.insert(a,b,c)", M, np.array([4, 2, 2, -1, 24]), I[:5]),
    ("np.insert(a,[1,2],9,axis=1)", M),
    ("np.insert(a,[1,2],b,axis=1)", M, M[:, :2]),
    ("np.insert(a,[1],b,axis=1)", M, M[:, :2]),
    ("np.insert(a,[1],b,axis=1)", M, M[:, :1]),
    ("np.insert(a,slice(2,4),[9,8])", I),
    ("np.insert(a,99,1)", I),
    ("np.insert(a,[1,99],1)", I),
    ("np.insert(a,b,1,0)", T, I[:0]),
    ("np.insert(a,24,1)", I),
    ("np.resize(a,(b,3))", I, 4),
    ("np.resize(a,50)", I),
    ("np.resize(a,(7,11))", M.T),
    ("np.resize(a,(2,3))", I[:0]),
    ("np.resize(a,(2,-3))", I),
    ("np.resize(a,(0,3))", I),
    ("np.resize(a,(2,3))", 5),
    ("np.resize(a,())", I),
    ("np.block([[a,b],b])", M, M),
    ("np.block([a,[b]])", M, M),
    ("np.block([[a,b,a],[b,a,3]])", I[:1], I[:1] * 0.5),
    ("np.block([[a,b],[b,a]])", M, M + 1),
    ("np.block([a,b])", I, I),
    ("np.block(a)", I),
    ("np.block([[a,1],[1,2]])", M[:1, :1]),
    ("np.block([[a,b],[b,b]])", I, I),
    ("np.block([[[a],[a]]])", M),
    ("np.block([a,1,2])", I),
    ("np.block([[a],[b]])", M, I[:6]),
    ("np.block([[a],[b]])", M, I[:5]),
]
PADS = [
    (f"np.pad(a, {width}, mode='{mode}')", M.T)
    for mode in ("constant", "edge", "reflect", "symmetric", "wrap", "empty")
    for width in ("0", "(1, 2)", "((1, 2), (9, 0))", "((2,), (3,))")
    if mode != "empty" or width == "0"
]


@pytest.mark.parametrize("case", VIEWS + PRODUCTS + SAMPLES + INDICES + SHAPES + PADS, ids=lambda c: c[0])
def test_cases(case):
    check(*case, rtol=1e-14)
    check_python(*case, rtol=1e-14)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_pad(mode, data):
    """Of any length, with any width; nothing can be taken from an empty axis."""
    a = np.arange(data.draw(st.integers(0, 5)) * 3).reshape(-1, 3)
    widths = np.array(data.draw(st.lists(st.integers(0, 12), min_size=4, max_size=4))).reshape(2, 2)
    check(f"np.pad(a, b, '{mode}')", a, widths)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_insert_and_delete(data):
    """Indices in any order, from both ends, more than once, and one too far."""
    n = data.draw(st.integers(0, 6))
    a = np.arange(n) * 10
    which = np.array(data.draw(st.lists(st.integers(-n, n + 1), min_size=2, max_size=9)), dtype=np.int64)
    check("np.insert(a, b, c)", a, which, np.arange(len(which)) - 100)
    check("np.delete(a, b)", a, which)


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_delete_keeps_most(data):
    """Of long arrays, of which little goes, whole stretches are copied."""
    a = np.arange(400).reshape(40, 10)
    which = np.array(data.draw(st.lists(st.integers(-40, 39), max_size=4)), dtype=np.int64)
    check("np.delete(a, b, axis=0)", a, which)
    check("np.delete(a, b)", a, which)


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f4", "c8"])
def test_dtypes(dtype):
    a = (np.arange(12) % 5).astype(dtype).reshape(3, 4)
    check("np.array_split(a, 3, axis=1)", a)
    check("np.kron(a, b)", a, np.ones(2, "i2"))
    check("np.pad(a, 1)", a)
    check("np.pad(a, 1, 'wrap')", np.asfortranarray(a))
    check("np.insert(a, 1, 1, axis=0)", a[:, ::2])
    check("np.delete(a, [0, 2], axis=1)", a[::-1])
    check("np.resize(a, (2, 9))", a.T)
    check("np.block([[a, b]])", a, np.ones((3, 1), "i2"))
    check("np.vander(a)", a[0])
    check("np.tensordot(a, a)", a)
    check("np.tensordot(a, a, 3)", a)
    check("np.tensordot(a, a[0, :0], 2)", a)
    check("np.tensordot(a, a[:, 0], 2)", a)


@settings(deadline=None)
@given(n=st.integers(0, 12), k=st.sampled_from([1, 3, 7]))
def test_sections(n, k):
    check(f"np.array_split(a, {k})", np.arange(n))
    check(f"np.split(a, {k})", np.arange(n))


def test_parts_are_views():
    @njit
    def f(a):
        for part in np.array_split(a, 3):
            part[0] = -1
        np.hsplit(a.reshape(2, 5), (2,))[1][1, 0] = -2
        np.trim_zeros(a)[1] = -3
        np.rollaxis(a.reshape(2, 5), 1)[4, 0] = -4

    a = np.arange(10)
    f(a)
    assert a.tolist() == [-1, -3, 2, 3, -4, 5, 6, -2, 8, 9]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("np.pad(a, 1, 'mean')", "the mode must be"),
        ("np.block((a, a))", "only lists"),
    ],
)
def test_refused(text, message):
    with pytest.raises(TypingError, match=message):
        njit(eval(f"lambda a, b: {text}", {"np": np}))(I, 2)
