"""`out[i] = f(out[i - 1], x[i])`: what is carried from round to round is what memory would have, against CPython."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from treadle import guvectorize, njit, prange, vectorize


def filled(out, x, k):
    for i in range(1, x.shape[0]):
        if x[i] < 0:
            out[i] = out[i - 1]
        else:
            out[i] = x[i]


def chosen(out, x, k):
    for i in range(1, x.shape[0]):
        out[i] = out[i - 1] if x[i] < 0 else x[i]


def from_anywhere(out, x, k):
    """Also from 0, where out[-1] is the last one."""
    for i in range(k, x.shape[0]):
        out[i] = out[i - 1] + x[i]


def backwards(out, x, k):
    for i in range(x.shape[0] - 2, -1, -1):
        if x[i] > 2:
            out[i] = out[i + 1] - x[i]
        else:
            out[i] = 7


def by_twos(out, x, k):
    for i in range(k, x.shape[0], 2):
        out[i] = out[i - 2] * 2 + x[i] - out[i - 1]


def two_behind(out, x, k):
    for i in range(2, x.shape[0]):
        out[i] = out[i - 1] * 2 - out[i - 2] + x[i]


def two_guarded(out, x, k):
    for i in range(x.shape[0]):
        v = x[i]
        if i >= 1:
            v += out[i - 1]
        if i >= 2:
            v -= out[i - 2]
        out[i] = v


def counted(out, x, k):
    i = k
    while i < out.shape[0]:
        out[i] = out[i - 1] + 1
        i += 1


def sometimes(out, x, k):
    for i in range(1, x.shape[0]):
        if x[i] < 3:
            out[i] = out[i - 1] + x[i]


def ends_early(out, x, k):
    for i in range(1, x.shape[0]):
        out[i] = out[i - 1] + x[i]
        if x[i] == 3:
            break
        if x[i] == 1:
            continue
        out[i] = out[i] + out[i - 1]


def three_ways(out, x, k):
    for i in range(1, x.shape[0]):
        v = out[i - 1]
        if x[i] == 0:
            out[i] = v
        elif x[i] < 0:
            if v > 3:
                out[i] = 5
            else:
                out[i] = v - 1
        else:
            out[i] = 1
            out[i] = out[i] + out[i - 1]


def elsewhere(out, x, k):
    """The other store may be what is read."""
    for i in range(1, x.shape[0]):
        out[i] = out[i - 1] + x[i]
        x[i - 1] = 9


def two_arrays(out, x, k):
    up = np.zeros(x.shape[0], x.dtype)
    down = np.ones(x.shape[0], x.dtype)
    for i in range(1, x.shape[0]):
        up[i] = up[i - 1] + x[i]
        down[i] = down[i - 1] - up[i - 1]
    for i in range(min(x.shape[0], out.shape[0])):
        out[i] = up[i] * 3 + down[i]


def raises(out, x, k):
    for i in range(1, x.shape[0] + 1):
        out[i] = out[i - 1] + x[i - 1]
        if x[i - 1] == 4:
            raise IndexError


def caught(out, x, k):
    try:
        for i in range(1, x.shape[0] + 1):
            out[i] = out[i - 1] + x[i]
    except IndexError:
        out[0] = -1000


def caught_within(out, x, k):
    for i in range(1, out.shape[0]):
        try:
            out[i] = out[i - 1] + x[i + k]
        except IndexError:
            out[i] = -5


def nested(out, x, k):
    for t in range(k, 3):
        for i in range(t, x.shape[0]):
            out[i] = out[i - t] + x[i]


def in_table(out, x, k):
    """Two axes: what is one behind in a row, and in a column."""
    n = x.shape[0]
    a = np.zeros((n, n), x.dtype)
    b = np.zeros((n, n), x.dtype)
    for i in range(1, n):
        for j in range(1, n):
            a[i, j] = a[i, j - 1] + x[j] - a[i - 1, j]
            b[j, i] = b[j - 1, i] + a[i - 1, j - 1]
    for i in range(min(n, out.shape[0])):
        out[i] = a[n - 1, i] + b[i, n - 1]


def in_prange(out, x, k):
    a = np.zeros((3, out.shape[0]), out.dtype)
    for t in prange(3):
        for i in range(1, out.shape[0]):
            a[t, i] = a[t, i - 1] + out[i] * t
    for i in range(out.shape[0]):
        out[i] = a[2, i]


PROGRAMS = [
    filled,
    chosen,
    from_anywhere,
    backwards,
    by_twos,
    two_behind,
    two_guarded,
    counted,
    sometimes,
    ends_early,
    three_ways,
    elsewhere,
    two_arrays,
    raises,
    caught,
    caught_within,
    nested,
    in_table,
    in_prange,
]
LIES = ("apart", "same", "behind", "before", "strided", "reversed", "one item", "in pairs", "shorter")


def arrays(lie, n, dtype):
    """out and x of n items, and how they lie in memory."""
    base = np.array([1, -1, 2, 5, 0, 3, -1, 4, 1, 2, -2, 0, 6, 1, -1, 3, 2, 1, 0, -3, 2, 2, 1, 5]).astype(
        dtype
    )
    x, out = base[12 : 12 + n], base[:n]
    if lie == "same":
        out = x
    elif lie == "behind":
        out = base[11 : 11 + n]
    elif lie == "before":
        out = base[13 : 13 + n]
    elif lie == "strided":
        out = base[: 2 * n : 2]
    elif lie == "reversed":
        out = base[:n][::-1]
    elif lie == "one item":
        out = np.lib.stride_tricks.as_strided(base, (n,), (0,), writeable=True)
    elif lie == "in pairs":  # items that share halves of their memory
        out = np.ndarray((n,), dtype, base.data, 0, (base.itemsize // 2,))
    elif lie == "shorter":
        out = base[: max(n - 1, 0)]
    return out, x, base


def outcome(f, lie, n, dtype, k):
    out, x, base = arrays(lie, n, dtype)
    try:
        f(out, x, k)
        error = None
    except IndexError:
        error = IndexError
    return error, base.tobytes()


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("fn", PROGRAMS)
def test_places_behind(fn, parallel):
    compiled = njit(parallel=parallel)(fn)
    for dtype in ("f8", "i8", "f4"):
        for lie in LIES:
            if dtype != "i8" and lie == "in pairs":
                continue
            for n in (0, 1, 2, 3, 9):
                for k in (0, 1, 2):
                    args = lie, n, np.dtype(dtype), k
                    assert outcome(compiled, *args) == outcome(fn, *args), args


@pytest.mark.parametrize("dtype", ["c16", "u1", "i2", "c8", "?"])
def test_of_other_types(dtype):
    def f(out, x):
        for i in range(1, x.shape[0]):
            out[i] = x[i] if x[i] != x[0] else out[i - 1]

    for n in (0, 1, 7):
        x = np.array([0, 1, 0, 2, 0, 0, 3])[:n].astype(dtype)
        ours, theirs = np.ones(n, dtype), np.ones(n, dtype)
        njit(f)(ours, x)
        f(theirs, x)
        assert ours.tobytes() == theirs.tobytes()


def test_bits_of_nan_stay():
    @njit
    def f(out, x):
        for i in range(1, x.shape[0]):
            out[i] = x[i] if x[i] > 0 else out[i - 1]

    bits = np.array([0x7FF0000000000001, 0, 0x7FF8000000001234, 0], np.int64)
    out = bits.view(np.float64)
    f(out, np.array([0.0, -1.0, 0.0, -2.0]))
    assert out.view(np.int64).tolist() == [0x7FF0000000000001] * 4


def test_without_the_place_it_would_be_read_from():
    """No round, or none in range: nothing is read."""

    @njit
    def f(out, i, n):
        while i < n:
            out[i] = out[i - 1] + 1
            i += 1
        return i

    nothing = np.zeros(0)
    for i in (0, 1, 1 << 60, -(1 << 63), (1 << 63) - 1):
        assert f(nothing, i, i) == i
    with pytest.raises(IndexError):
        f(nothing, 0, 1)
    with pytest.raises(IndexError):
        f(np.zeros(4), -(1 << 63), 1)
    out = np.zeros(4)
    with pytest.raises(IndexError):
        f(out, 1, 9)
    assert out.tolist() == [0, 1, 2, 3]


def fill(x, out):
    out[0] = x[0]
    for i in range(1, x.shape[0]):
        out[i] = out[i - 1] if np.isnan(x[i]) else x[i]


def test_in_a_gufunc():
    for target in ("cpu", "parallel"):
        compiled = guvectorize(["(float64[:], float64[:])"], "(n)->(n)", target=target)(fill)
        for rows in (0, 1, 5):
            for n in (1, 2, 33):
                x = np.arange(rows * n * 2.0).reshape(rows, n * 2)
                x[x % 3 > 0.5] = np.nan
                for view in (x[:, :n], x[:, ::2], x[:, ::-2], np.asfortranarray(x)[:, :n]):
                    expected = np.empty((rows, n))
                    for r in range(rows):
                        fill(view[r], expected[r])
                    got = compiled(view)
                    assert got.tobytes() == expected.tobytes()
                    whole = np.zeros((n, rows))
                    compiled(view, out=whole.T)
                    assert np.ascontiguousarray(whole.T).tobytes() == expected.tobytes()
                    own = view.copy()
                    compiled(own, out=own)
                    assert own.tobytes() == expected.tobytes()


def test_in_a_ufunc_and_a_callee():
    inner = njit(from_anywhere)

    @njit
    def sums(n):
        out = np.ones(n + 1)
        inner(out, np.arange(n + 1.0), 1)
        return out[n]

    assert sums(5) == 16.0
    assert vectorize(lambda n: sums(n))(np.array([0, 1, 4])).tolist() == [1.0, 2.0, 11.0]


def test_from_the_cache(tmp_path):
    (tmp_path / "cached.py").write_text(
        "import numpy as np\n"
        "from treadle import njit\n"
        "@njit(cache=True)\n"
        "def f(out):\n"
        "    for i in range(2, out.shape[0]):\n"
        "        out[i] = out[i - 1] + out[i - 2]\n"
        "out = np.ones(9, np.int64)\n"
        "f(out)\n"
        "print(out[8], sum(f.stats.cache_hits.values()))\n"
    )
    for hits in "01":
        done = subprocess.run(
            [sys.executable, "cached.py"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == ["34", hits]
