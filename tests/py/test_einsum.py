"""numpy.einsum (src/lib/npeinsum.c) against NumPy's."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from treadle import njit
from treadle.errors import TypingError

sys.path.insert(0, str(Path(__file__).parent))
from library_check import check  # noqa: E402

I = np.arange(24)  # noqa: E741
M = np.arange(24.0).reshape(4, 6)
T = np.arange(24).reshape(2, 3, 4)
Q = np.arange(16.0).reshape(4, 4)
C3 = np.arange(24.0).reshape(2, 3, 4) - 7
D3 = np.arange(40.0).reshape(2, 4, 5)

CASES = [
    ("np.einsum('ij,jk->ik',a,b)", M, M.T),
    ("np.einsum('ij,jk',a,b)", M, M.T),
    ("np.einsum('ij,jk->ki',a,b)", M, M.T),
    ("np.einsum('ij,kj->ik',a,b)", M, M + 1),
    ("np.einsum('ji,jk->ik',a,b)", M, M + 1),
    ("np.einsum('ij,ij->',a,b)", M, M),
    ("np.einsum('ij,ij->i',a,b)", M, M),
    ("np.einsum('ij,ij->ij',a,b)", M, M),
    ("np.einsum('ij,ij->j',a,b)", M.T, M.T),
    ("np.einsum('ii',a)", Q),
    ("np.einsum('ii->i',a)", Q),
    ("np.einsum('ij->ji',a)", Q),
    ("np.einsum('ji',a)", Q),
    ("np.einsum('ij->',a)", Q),
    ("np.einsum('ij->i',a)", Q),
    ("np.einsum('i,j->ij',a,b)", I, I),
    ("np.einsum('i,i',a,b)", I, I),
    ("np.einsum('i,j',a,b)", I, M[0]),
    ("np.einsum('bij,bjk->bik',a,b)", C3, D3),
    ("np.einsum('bij,bjk->ikb',a,b)", C3, D3),
    ("np.einsum('bij,bjk->kbi',a,b)", C3, D3),
    ("np.einsum('bij,bjk',a,b)", C3, D3),
    ("np.einsum('...ij,...jk->...ik',a,b)", C3, D3),
    ("np.einsum('...ij,...jk->...ik',a,b)", C3, D3[0]),
    ("np.einsum('...i,...i',a,b)", C3, C3),
    ("np.einsum('...,...',a,b)", C3, C3[0]),
    ("np.einsum('i...->...',a)", C3),
    ("np.einsum('...i->i...',a)", C3),
    ("np.einsum('ij...,jk->ik...',a,b)", M[:2, :3], C3[1]),
    ("np.einsum('ij,jk,kl->il',a,b,c)", M, M.T, M),
    ("np.einsum('ij,jk,kl->li',a,b,c)", M.astype("f4"), M.T.astype("f4") / 64, M.astype("f4")),
    ("np.einsum('ij,jk,kl->il',a,b,c)", M.astype("f4"), M.T.astype("f4"), M),
    ("np.einsum('ij,jk,kl->il',a,b,c)", M, M.T * 1j, M[:, :1]),
    ("np.einsum('ij,jk,kl,lm->im',a,b,c,d)", M, M.T, M, M.T),
    ("np.einsum('bi,ij,bj->b',a,b,c)", M, M.T @ M, M + 1),
    ("np.einsum('bi,ij,bj->b',a,b,c)", M[:1], M.T @ M, M + 1),
    ("np.einsum('bi,ij,bj->b',a,b,c)", M, M.T[:, :1] * M[:1, :1], M[:, :1]),
    ("np.einsum('bi,ij,bj->b',a,b,c)", M[:0], M.T @ M, M[:0]),
    ("np.einsum('bi,ij,bj->b',a,b,c)", M[:, :0], M[:0], M),
    ("np.einsum('bij,bjk,bkl->bil',a,b,c)", C3, D3, C3),
    ("np.einsum('bij,jk,bk->bi',a,b,c)", C3, D3[0], D3[:, 0]),
    ("np.einsum('ij,kj,il->kl',a,b,c)", M, M + 1, M - 1),
    ("np.einsum('i,ij,j->',a,b,c)", M[:, 0], M, M[0]),
    ("np.einsum('i,j,k->ijk',a,b,c)", I[:2], I[:3], I[:4]),
    ("np.einsum('ij,j->i',a,b)", M, I[:6]),
    ("np.einsum('ij,j->i',a,b)", M.astype("f4"), I[:6]),
    ("np.einsum('ij,j->i',a,b)", (M % 3).astype("i1"), (I[:6] % 2).astype("i1")),
    ("np.einsum('ij,jk->ik',a,b)", T[0], T[0].T),
    ("np.einsum('ij,jk->ik',a,b)", M[:, :1], M),
    ("np.einsum('ij,kj->ki',a,b)", M, M[:3, 2:3]),
    ("np.einsum('ij,kj',a,b)", M[:1], M[:0, :1]),
    ("np.einsum('ij,jk',a,b)", M[:, :0], M[:1]),
    ("np.einsum('ij,jk->ik',a,b)", M[:, :1].astype("c8"), M.T.astype("c8")),
    ("np.einsum('bij,bjk->bik',a,b)", C3[:1, :, :1], D3),
    ("np.einsum('ij,jk->ik',a,b)", I.reshape(24, 1), I.reshape(4, 6)),
    ("np.einsum('ij,jk->ik',a,b)", M > 3, M.T > 9),
    ("np.einsum('i->',a)", I > 40),
    ("np.einsum('i,i->',a,b)", M[0] * 1j, M[1]),
    ("np.einsum('ii,ij->j',a,b)", Q, Q),
    ("np.einsum('iij->j',a)", np.arange(18).reshape(3, 3, 2)),
    ("np.einsum(' i j , j -> i ',a,b)", M, I[:6]),
    ("np.einsum('ij,jk->ik',a,b)", M, M),
    ("np.einsum('ii->i',a)", M),
    ("np.einsum('ij,ji->i',a,b)", M, M),
    ("np.einsum('i,->i',a,3)", I),
    ("np.einsum('ij,jk->ik',a,b)", M[:0], M.T),
    ("np.einsum('ij,jk->ik',a,b)", M[:, :0], M.T[:0]),
    ("np.einsum('ij->j',a)", M[:0]),
    ("np.einsum('Ba,aB',a,b)", M, M.T),
    ("np.einsum('bA',a)", M),
    ("np.einsum('ij,jk->ik',a,b,optimize=True)", M, M.T),
    ("np.einsum('i,i->i',a,b)", I, I[:1]),
    ("np.einsum('ij,jk->ik',a,b)", T[0], np.ones((1, 3), "i8")),
    ("np.einsum('ij,jk->ik',a,b)", M.astype("f2"), M.T.astype("f2")),
    ("np.einsum('ijk,jil->kl',a,b)", C3, C3.transpose(1, 0, 2)),
    ("np.einsum('ijk,ilm,njm,nlk,abc->',a,a,a,a,a)", np.arange(8.0).reshape(2, 2, 2) / 8),
    ("np.einsum('ij,jk->ik',a,b)", M.astype("f4"), M.T * 1j),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0])
def test_cases(case):
    check(*case, rtol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_random(seed):
    """Up to three operands with labels of any order, some of them twice."""
    r = np.random.default_rng(seed)
    labels = "ijklm"
    terms = ["".join(r.choice(list(labels), r.integers(1, 4))) for _ in range(r.integers(1, 4))]
    used = sorted(set("".join(terms)))
    out = "".join(r.permutation(used)[: r.integers(0, len(used) + 1)])
    arrays = [r.integers(-5, 5, [2 + labels.index(x) for x in t]) for t in terms]
    text = f"np.einsum('{','.join(terms)}->{out}', {', '.join('abc'[: len(arrays)])})"
    check(text, *arrays)
    check(text, *(a * 0.5 for a in arrays), rtol=1e-12)
    check(text, *(np.asfortranarray(a.astype("f4")) for a in arrays), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("seed", range(12))
def test_random_products(seed):
    """Three or four operands of two or three labels, of which many are products of matrices, some axes one long."""
    r = np.random.default_rng(seed + 100)
    labels = "ijklb"
    for _ in range(4):
        terms = ["".join(r.permutation(list(labels))[: r.integers(2, 4)]) for _ in range(r.integers(3, 5))]
        used = sorted(set("".join(terms)))
        out = "".join(r.permutation(used)[: r.integers(0, 4)])
        arrays = [
            np.round(r.normal(size=[1 if r.random() < 0.1 else 2 + labels.index(x) for x in t]), 3)
            for t in terms
        ]
        text = f"np.einsum('{','.join(terms)}->{out}', {', '.join('abcd'[: len(arrays)])})"
        check(text, *arrays, rtol=1e-10, atol=1e-12)
        check(text, *(a.T.copy().T.astype("c16") for a in arrays), rtol=1e-10, atol=1e-12)


def test_products_of_several_are_products_of_matrices():
    """A label that only two of many operands have is summed over by a BLAS, not in loops over all labels."""
    f = njit(lambda a, b, c: np.einsum("bi,ij,bj->b", a, b, c))
    a = np.random.default_rng(0).normal(size=(50, 20))
    np.testing.assert_allclose(f(a, a.T @ a, a), ((a @ (a.T @ a)) * a).sum(axis=1), rtol=1e-12)
    assert any("MATMUL" in text or "matmul" in text for text in f.inspect_ir().values())


def test_a_diagonal_is_a_view():
    @njit
    def f(a):
        np.einsum("ii->i", a)[:] = 7
        np.einsum("ij->ji", a)[0, 3] = -1

    a = Q.copy()
    f(a)
    assert np.diag(a).tolist() == [7, 7, 7, 7] and a[3, 0] == -1


def test_it_is_fused():
    f = njit(lambda a, b: np.einsum("ij,j->i", a * 2, b).sum())
    assert f(M, np.ones(6)) == 2 * M.sum()
    g = njit(lambda a, b: np.einsum("ij,ij->", a, b))
    g(M, M)
    (text,) = g.inspect_ir().values()
    assert "alloc" not in text.split("cold")[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("'ij,jk->iz', a, a", "'z' is there twice, or in no operand"),
        ("'ij->ii', a", "'i' is there twice"),
        ("'i,j', a, a", "an operand of 2 dimensions has 1 labels"),
        ("'ij', a, a", "2 operands"),
        ("'ij,jk', a", "1 operands"),
        ("'i1', a", "'1' is no label"),
        ("'...->i', a", "must have '...', too"),
        ("'ij->ij,', a", "do not end"),
        ("'ij'", "takes operands"),
        ("a, a", "constant string"),
    ],
)
def test_refused(call, message):
    with pytest.raises(TypingError, match=message):
        njit(eval(f"lambda a: np.einsum({call})", {"np": np}))(M)
