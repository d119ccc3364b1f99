"""np.r_, c_, s_, index_exp, mgrid, ogrid (python/treadle/_library/indexers.py), held to NumPy's."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from treadle import njit, prange
from treadle.errors import TypingError

sys.path.insert(0, str(Path(__file__).parent))
from library_check import check, same  # noqa: E402

LINE = np.array([1.0, -2.0, 3.5])
TABLE = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    "text",
    ["np.r_[a, a]", "np.r_[a, 0, b]", "np.r_[0:5]", "np.r_[0:c:2, a]", "np.r_[-1:1:5j, a]", "np.r_[1, 2, a]", "np.r_[a, 1.5]", "np.r_[:c]", "np.r_[5:0:-1]", "np.r_[a[:0], a[:0]]",
     "np.r_[True, a > 0]", "np.r_[c]", "np.r_[[1, 2, 3], 0, 4]", "np.r_['0', b, b]", "np.r_['1', b, b]", "np.r_['-1', b, b]", "np.r_['0,2', a, a]", "np.r_['1,2,0', a, a]", "np.r_['0,2,0', a, a]",
     "np.r_['0,3,1', a, a]", "np.r_['-1,2,0', a, 1:4]", "np.r_[0.0:1:0.25, 1, 2]", "np.r_[0:1:3j, 0:1:0j]", "np.r_[1:1]", "np.r_[0:3][::-1]",
     "np.c_[a, a]", "np.c_[a, b]", "np.c_[b, b]", "np.c_[a]", "np.c_[0:3, a]", "np.c_[1, 2]", "np.c_[0:1:3j, a]", "np.c_[a[:0], a[:0]]"],
)  # fmt: skip
def test_arrays_side_by_side(text):
    check(text, LINE, TABLE if "np.r_[a, 0, b]" not in text else LINE[:2], 4)


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64, np.float16, np.float32, np.complex64])
@pytest.mark.parametrize(
    "text", ["np.r_[a, a]", "np.r_[a, b]", "np.r_[1, a]", "np.r_[a, 2.5]", "np.c_[a, b]", "np.r_[a, 0:3]"]
)
def test_types_of_what_is_joined(text, dtype):
    a = np.array([1, 0, 1]).astype(dtype)
    check(text, a, np.arange(3, dtype=np.float32))


@pytest.mark.parametrize(
    "text",
    ["np.mgrid[0:a]", "np.mgrid[0:a, 0:3]", "np.mgrid[-1:1:5j]", "np.mgrid[-1:1:5j, 0:b:3j]", "np.mgrid[:3, 1:a:2, 0:2]", "np.mgrid[0:b:0.5]", "np.mgrid[0:b:0.5, 0:a]", "np.mgrid[0:0, 0:3]",
     "np.mgrid[0:3,]", "np.mgrid[0:1:1j, 0:2]", "np.mgrid[0:1:1j]", "np.mgrid[0:1:0j]", "np.mgrid[5:0, 0:2]", "np.mgrid[0:6:2][1]", "np.mgrid[a:0:-1, 0:2]", "np.mgrid[0:2:(a + 1j * 0)]",
     "np.mgrid[0:c:3j]", "np.mgrid[0:c, 0:2:3j]", "np.mgrid[c:2, 0:2]", "np.mgrid[0:3:0, 0:2]",
     "np.ogrid[0:a]", "np.ogrid[0:a, 0:3]", "np.ogrid[-1:1:5j, 0:b:3j]", "np.ogrid[:3, 1:a:2, 0:2]", "np.ogrid[5:0, 0:2]", "np.ogrid[0:b:0.5, 0:a]", "np.ogrid[0:1:1j, 0:2]", "np.ogrid[0:3,]"],
)  # fmt: skip
def test_grids(text):
    check(text, 5, 2.5, np.float32(0.5))


@pytest.mark.parametrize("k", [1, 2, 7, 50, 101])
def test_points_are_numpys_bit_for_bit(k):
    check("np.mgrid[0.1:a:7j, -b:b:9j]", 1.7 * k, 0.3 * k)
    check("np.ogrid[0.1:a:7j, -b:b:9j]", 1.7 * k, 0.3 * k)
    check("np.mgrid[0.1:a:0.3, -b:b:0.7]", 0.17 * k, 0.3 * k)
    check("np.r_[0.1:a:7j, -b:b:9j]", 1.7 * k, 0.3 * k, rtol=1e-15)


@pytest.mark.parametrize(
    "text",
    ["a[np.s_[1:, ::-1]]", "a[np.s_[..., 0]]", "a[np.index_exp[1]]", "a[np.index_exp[1:3, 0]]", "a[np.s_[2]]", "(1, 2, 3)[np.s_[1:]]", "a[np.s_[:b]]", "np.s_[a > 1]", "len(np.index_exp[1:, 2])",
     "a[np.s_[None, 1:2]]", "a[np.s_[1:][0:1] if False else np.s_[1:]]"],
)  # fmt: skip
def test_indices_as_values(text):
    check(text, TABLE, 2)


def test_slices_go_out():
    assert njit(lambda n: np.s_[1:n:2])(7) == slice(1, 7, 2)
    assert njit(lambda n: np.index_exp[n:])(7) == (slice(7, None, None),)


@pytest.mark.parametrize(
    ("text", "about"),
    [("np.r_(a)", "not callable"), ("np.mgrid(a)", "not callable"), ("np.mgrid[a]", "slices"), ("np.mgrid[0:, 0:2]", "needs an end"), ("np.mgrid[0:3, a]", "slices"), ("np.r_['r', a]", "no matrix"),
     ("np.r_[a, '0']", "first entry"), ("np.r_.axis", "attribute")],
)  # fmt: skip
def test_what_is_refused(text, about):
    space = {"np": np}
    exec(f"def f(a): return {text}", space)
    with pytest.raises(TypingError, match=about):
        njit(space["f"])(LINE)


def test_shapes_that_do_not_fit():
    check("np.r_[a, b]", LINE, TABLE)
    check("np.c_[a, b]", LINE, LINE[:2])
    check("np.r_[a, 300]", np.ones(2, np.uint8))


def test_names_of_their_own():
    """Under a name of the user's, from a closure, and in a loop."""
    side, grid = np.c_, np.ogrid

    def f(a, n):
        x, y = grid[0:n, 0 : a.size]
        return side[a, a * 2].sum() + (x * 10 + y).sum()

    same(njit(f)(LINE, 4), f(LINE, 4), "c_ and ogrid")

    @njit(parallel=True, nogil=True)
    def g(a):
        out = np.empty(8)
        for i in prange(8):
            out[i] = np.r_[a, i, 0:i].sum() + np.mgrid[0 : i + 1, 0:2].sum()
        return out

    same(
        g(LINE),
        np.array([np.r_[LINE, i, 0:i].sum() + np.mgrid[0 : i + 1, 0:2].sum() for i in range(8)]),
        "in a prange loop",
    )


def test_other_objects_with_brackets_are_none():
    class Mine:
        def __getitem__(self, key):
            return key

    mine = Mine()
    with pytest.raises(TypingError):
        njit(lambda a: mine[a])(1)
