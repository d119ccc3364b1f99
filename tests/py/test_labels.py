"""Labels of rows and what is added up by them, a step of k-means: one pass over blocks of rows, with tables where a block adds up floats.

Programs that find a place for each row and scatter by it. Each is compared with NumPy, on one core with all cores bit for bit, and with what it gives without
the pass that goes by rows; and the patterns that are left are counted.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import treadle.parallel as tp
from treadle import njit

sys.path.insert(0, str(Path(__file__).parent))
from skipped import with_and_without  # noqa: E402


def centres(x, c, k):
    d = ((x[:, None] - c[None]) ** 2).sum(axis=2)
    lab = d.argmin(axis=1)
    return tp.reduce_by_key(tp.add, lab, x, size=k) / tp.bincount(lab, minlength=k)[:, None]


def labelled(x, c, k):
    d = ((x[:, None] - c[None]) ** 2).sum(axis=2)
    lab = d.argmin(axis=1)
    n = np.zeros(k, np.int64)
    out = np.zeros((k, x.shape[1]), x.dtype)
    np.add.at(out, lab, x)
    np.add.at(n, lab, 1)
    return lab, out, n


def spread(x, c, k):
    """Two sums of the same blocks, counts, a maximum and a minimum; what they begin with is no zero."""
    lab = np.abs(x[:, None] - c[None]).sum(axis=2).argmin(axis=1)
    s, q = np.full((k, x.shape[1]), 0.5, x.dtype), np.ones((k, x.shape[1]), x.dtype)
    top = np.full((k, x.shape[1]), -1.0, x.dtype)
    np.add.at(s, lab, x)
    np.add.at(q, lab, x * x)
    np.maximum.at(top, lab, x)
    return s, q, top, np.bincount(lab, minlength=k)


def weighted(x, c, k):
    """One axis: sums of floats in blocks of as many rows as they have by themselves."""
    lab = ((x[:, None] - c[None]) ** 2).sum(axis=2).argmin(axis=1)
    s, n = np.zeros(k, x.dtype), np.zeros(k, np.int64)
    np.add.at(s, lab, x[:, 0])
    np.add.at(n, lab, 1)
    return s, n


def cost(x, c, k):
    """What is scattered comes of the rows, too."""
    d = ((x[:, None] - c[None]) ** 2).sum(axis=2)
    lab, best = d.argmin(axis=1), d.min(axis=1)
    out = np.zeros(k, x.dtype)
    np.add.at(out, lab, best)
    return out, best.max()


def other_sizes(x, c, k):
    """Sums of floats whose blocks are not the same: of these one is part of the pass."""
    lab = ((x[:, None] - c[None]) ** 2).sum(axis=2).argmin(axis=1)
    s, q = np.zeros((k, x.shape[1]), x.dtype), np.zeros(k + 3, x.dtype)
    np.add.at(s, lab, x)
    np.add.at(q, lab, x[:, 0])
    return s, q


def read_between(x, c, k):
    """What is scattered to is read before the next scatter, and stored to after."""
    lab = ((x[:, None] - c[None]) ** 2).sum(axis=2).argmin(axis=1)
    s = np.zeros((k, x.shape[1]), x.dtype)
    np.add.at(s, lab, x)
    total = s.sum()
    np.add.at(s, lab, x)
    return s, total


def taken_back(x, c, k):
    """A gather of what was scattered, row for row."""
    lab = ((x[:, None] - c[None]) ** 2).sum(axis=2).argmin(axis=1)
    s = np.zeros((k, x.shape[1]), x.dtype)
    np.add.at(s, lab, x)
    return (x - s[lab]).max(axis=1)


def caught(x, c, k):
    """Places out of range: nothing of the pass is seen, but what was there before."""
    s = np.full((k, x.shape[1]), 7.0, x.dtype)
    try:
        lab = ((x[:, None] - c[None]) ** 2).sum(axis=2).argmin(axis=1)
        np.add.at(s, lab, x)
    except IndexError:
        return s.sum()
    return -s.sum()


def sized_later(x, c, k):
    """How long what is added up is, is computed behind the first pattern."""
    d = ((x[:, None] - c[None]) ** 2).sum(axis=2)
    m = d.shape[1] * 2 + k
    s = np.zeros((m, x.shape[1]), x.dtype)
    np.add.at(s, d.argmin(axis=1), x)
    return s


def by_row(x, c, k):
    """As many places as rows, and the row's own place is asked for."""
    d = ((x[:, None] - c[None]) ** 2).sum(axis=2)
    n = np.zeros(len(x), np.int64)
    np.add.at(n, d.argmin(axis=1), np.arange(len(x)))
    return n


def last(x, c, k):
    """The last one wins, which has no tables."""
    lab = ((x[:, None] - c[None]) ** 2).sum(axis=2).argmin(axis=1)
    s = np.zeros((k, x.shape[1]), x.dtype)
    s[lab] = x
    return s


PROGRAMS = [
    centres,
    labelled,
    spread,
    weighted,
    cost,
    other_sizes,
    read_between,
    taken_back,
    caught,
    sized_later,
    by_row,
    last,
]
# rows, centres, axes, places beside the centres
SHAPES = [
    (3, 2, 2, 0),
    (12_000, 4, 3, 0),
    (20_001, 3, 3, 5),
    (20_000, 4, 3, -1),
    (60_000, 1, 2, -1),
    (3_000, 60, 9, 0),
    (120_000, 2, 3, 1),
]


def arrays(shape, dtype):
    n, c, d, more = shape
    rng = np.random.default_rng(n)
    return rng.random((n, d)).astype(dtype), rng.random((c, d)).astype(dtype), c + more


def outcome(f, args):
    try:
        with np.errstate(all="ignore"):
            got = f(*args)
            return tuple(np.asarray(x) for x in (got if isinstance(got, tuple) else (got,)))
    except (IndexError, ValueError) as e:
        return type(e).__name__, str(e)


def outcomes():
    """What ``with_and_without`` compares: of each program and shape, on one core and on all."""
    out = {}
    for k, program in enumerate(PROGRAMS):
        dtype = ("f4", "f8")[k % 2]
        for parallel in (False, True):
            f = njit(parallel=parallel)(program)
            for shape in SHAPES:
                out[program.__name__, parallel, shape, dtype] = outcome(f, arrays(shape, dtype))
    return out


def same(a, b):
    return len(a) == len(b) and all(
        x == y if isinstance(x, str) else np.array_equal(x, y, equal_nan=True)
        for x, y in zip(a, b, strict=True)
    )


def is_numpys(got, want, dtype):
    if isinstance(want[0], str):
        return want[0] == got[0]
    return len(got) == len(want) and all(
        (x.dtype == y.dtype or not x.ndim)
        and x.shape == y.shape
        and np.allclose(x, y, rtol=2e-3 if dtype == "f4" else 1e-9, equal_nan=True)
        for x, y in zip(got, want, strict=True)
    )


def test_no_bit_depends_on_the_pass_or_on_cores_and_results_are_numpys(tmp_path):
    with_it, without = with_and_without("test_labels", "byrow", tmp_path)
    for (name, parallel, shape, dtype), got in with_it.items():
        key = name, parallel, shape, dtype
        assert same(got, without[key]), key
        assert same(got, with_it[name, False, shape, dtype]), key
        if not parallel:
            assert is_numpys(got, outcome(globals()[name], arrays(shape, dtype)), dtype), key


@pytest.mark.parametrize(
    ("program", "tables"),
    [
        (centres, ["add", "add"]),
        (labelled, ["add", "add"]),
        (spread, ["add", "add", "max", "add"]),
        (weighted, ["add", "add"]),
        (cost, ["add"]),
        (other_sizes, ["add"]),
        (read_between, ["add"]),
        (taken_back, ["add"]),
        (caught, []),
        (sized_later, ["add"]),
        (by_row, ["add"]),
        (last, []),
    ],
)
@pytest.mark.parametrize("parallel", [False, True])
def test_what_is_part_of_the_pass(program, tables, parallel):
    f = njit(parallel=parallel)(program)
    f(*arrays((50_000, 8, 3, 0), "f8"))
    (text,) = f.inspect_ir().values()
    found = {re.sub(r" %[\w.]+", "", x) for x in re.findall(r"tables\(([^)]*)\)", text)}
    assert found == ({", ".join(tables)} if tables else set()), program.__name__


@pytest.mark.parametrize("parallel", [False, True])
def test_a_step_of_k_means_is_two_kernels(parallel):
    x, c, k = arrays((100_000, 8, 3, 0), "f4")
    step = tp.explain(centres(tp.array(x), c, k), parallel=parallel)
    assert str(step).startswith("2 kernels"), step
    moved = float(re.search(r"([\d.]+) MB moved", str(step))[1])
    assert moved <= 2.1 * x.nbytes / 1e6, (
        step
    )  # what the rows' distances and labels would take is ten times that


@pytest.mark.parametrize("size", [0, 1, 3])
def test_keys_out_of_range_raise_as_by_themselves(size):
    x, c, _ = arrays((50_000, 4, 3, 0), "f8")
    for parallel in (False, True):
        with pytest.raises(IndexError, match=f"index 3 is out of bounds for axis 0 with size {size}"):
            njit(parallel=parallel)(centres)(x, c, size)


def test_a_bincount_of_tested_keys_is_as_long_as_they_allow():
    @njit
    def counts(keys, k, m):
        sums = tp.reduce_by_key(tp.add, keys, keys, size=k)
        return sums, tp.bincount(keys, minlength=m)

    for keys in (np.array([0, 2, 2]), np.zeros(0, int), np.arange(100_000) % 7):
        for k, m in ((7, 7), (7, 0), (7, 9), (7, 3)):
            sums, n = counts(keys, k, m)
            assert np.array_equal(n, np.bincount(keys, minlength=m)), (keys, k, m)
            assert np.array_equal(sums, np.bincount(keys, weights=keys, minlength=k)), (keys, k, m)


def test_a_bincount_behind_its_own_largest_counts_what_is_there():
    @njit
    def counts(x, y):
        most = max(0, x.max())
        least = min(0, x.min())
        x[0] = y  # what was found is of other items
        return np.bincount(x), most, least

    x = np.arange(70_000) % 5
    got = counts(x.copy(), 11)
    x[0] = 11
    assert np.array_equal(got[0], np.bincount(x)) and got[1:] == (4, 0)
