"""Every array operation that stores, under parallel=True, beside the same function compiled for one core and beside NumPy.

Compared are bits, in four ways: with ranges of one round of which the last one runs first, which shows each round that needs another one and
asks nothing of the machine; with ranges of three rounds on all threads; with ranges as the runtime makes them, over arrays that are longer
than one; and (a process of its own) on four threads, however many processors there are.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import _core, guvectorize, njit, vectorize

sys.path.insert(0, str(Path(__file__).parent))


@vectorize
def smaller(x, y):
    return x if x < y else y


@guvectorize(["void(float64[:], float64, float64[:])"], "(n),()->(n)")
def scaled(x, k, r):
    for i in range(x.shape[0]):
        r[i] = x[i] * k + i


@guvectorize(["void(float64[:], float64[:])"], "(n)->()")
def extent(x, r):
    r[0] = x[0]
    for i in range(x.shape[0]):
        r[0] = max(r[0], x[i])


@njit
def smoothed(x, y):
    for i in range(1, x.shape[0]):
        y[i] = (x[i] + x[i - 1]) * 0.5


# What is done to `a`, of any rank. b, c: of its shape; m: a mask of it; p: a mask of its first axis; i, j: as many indices, some negative, some
# more than once; v: values for a[i]; u: as many values as m is true, w: as many as a has rows.
ANY_RANK = {
    "mask, number": "a[m] = 3",
    "mask, values": "a[m] = u",
    "mask, one value": "a[m] = u[:1]",
    "mask, +=": "a[m] += 2",
    "mask, -= values": "a[m] -= u",
    "mask, from itself": "a[m] = a[m][::-1]",
    "mask of its own values": "a[a > b] = 1",
    "mask of another's values": "a[b > c] = c[b > c]",
    "mask of rows": "a[p] = 1",
    "mask of rows, values": "a[p] = c[p]",
    "mask of rows, +=": "a[p] += 1",
    "rows, number": "a[i] = 5",
    "rows, values": "a[i] = v",
    "rows, one row": "a[i] = v[0]",
    "rows, from itself": "a[i] = a[j]",
    "rows, backwards": "a[::-1][i] = v",
    "rows, +=": "a[i] += 1",
    "rows, *= values": "a[i] *= v",
    "rows, number's place": "a[i[0]] = v[0]",
    "two-dimensional indices": "a[np.ascontiguousarray(i).reshape(1, -1)] = np.ascontiguousarray(v)",
    "add.at": "np.add.at(a, i, v)",
    "add.at, number": "np.add.at(a, i, 1)",
    "add.at, backwards": "np.add.at(a[::-1], i, v[::-1])",
    "subtract.at": "np.subtract.at(a, i, v)",
    "multiply.at": "np.multiply.at(a, i, v)",
    "maximum.at": "np.maximum.at(a, i, v)",
    "minimum.at": "np.minimum.at(a, i, v)",
    "logical_or.at": "np.logical_or.at(m, i, True)",
    "slice": "a[1:] = a[:-1]",
    "slice, +=": "a[:-1] += a[1:]",
    "slice, backwards": "a[...] = a[::-1]",
    "slice, strided": "a[::2] = b[::2]",
    "all of it": "a[...] = b + c",
    "fill": "a.fill(7)",
    "out=": "np.add(a, b, a)",
    "out= of a view": "np.add(a[::-1], b, a)",
    "cumsum": "a[...] = np.trunc(a).cumsum(0)",  # of floats block by block: test_scan.py
    "cumprod": "a[...] = np.cumprod(b, 0)",
    "accumulate": "a[...] = np.maximum.accumulate(b)",
    "sums, in place": "a += b * 2\n    b -= a",
    "where": "a[...] = np.where(m, b, c)",
    "several in a row": "a[i] = v\n    a[m] = 1\n    np.add.at(a, j, v)\n    b[...] = a * 2",
}
READ = {
    "masked": "return a[m]",
    "rows": "return a[i]",
    "rows of a mask": "return a[p]",
    "nonzero": "return np.nonzero(m)",
    "flatnonzero": "return np.flatnonzero(m)",
    "argwhere": "return np.argwhere(m)",
    "compress": "return np.compress(p, a, 0)",
    "take": "return np.take(a, i, 0)",
    "cumsum of all": "return (a > 0).cumsum()",
    "counts": "return (a > 0).sum(), np.count_nonzero(m), m.any(), m.all()",
    "places": "return a.argmax(), a.argmin()",
    "extremes": "return a.max(), a.min(), a.max(0), a.min(0)",
    "repeat": "return np.repeat(a, 2)",
    "roll": "return np.roll(a, 3)",
    "concatenate": "return np.concatenate((a, b))",
    "a user's ufunc": "return smaller(a, b)",
}
TWO = {
    "columns": "a[:, k] = 4",
    "columns, values": "a[:, k] = b[:, k]",
    "columns, +=": "a[:, k] += 1",
    "a row's items": "a[1, k] = b[0, k]",
    "points": "a[i, k2] = 2",
    "points, +=": "a[i, k2] += 3",
    "points.at": "np.add.at(a, (i, k2), 1)",
    "crossed": "a[i.reshape(-1, 1), k] = 6",
    "mask and items": "a[p, 1] = 9",
    "rows of a slice": "a[1:][i[i >= 0] % (a.shape[0] - 1)] = 8",
    "transposed": "a.T[k] = b.T[k]",
}
FLOAT = {
    "divide.at": "np.divide.at(a, i, v)",
    "fmod.at": "np.fmod.at(a, i, v)",
    "gufunc": "a[...] = scaled(b, 2.0)",
    "gufunc, out=": "scaled(b, 3.0, a)",
    "gufunc of itself": "scaled(a, 3.0, a)",
    "gufunc to numbers": "return extent(a)",
    "a function's array": "smoothed(b.ravel(), a.ravel())\n    return smaller(a, b)",
}
CASES = {
    f"{g}: {k}": v
    for g, t in (("any", ANY_RANK), ("read", READ), ("2-d", TWO), ("float", FLOAT))
    for k, v in t.items()
}
LAYOUTS = ["C", "F", "strided", "backwards"]
NAMES = "a, b, c, m, p, i, j, k, k2, v, u"

_compiled: dict[str, tuple] = {}


def functions(case):
    """The function as Python has it, for one core, and for all."""
    if case not in _compiled:
        space = {"np": np, "smaller": smaller, "scaled": scaled, "extent": extent, "smoothed": smoothed}
        exec(f"def f({NAMES}):\n    {CASES[case]}\n", space)
        f = space["f"]
        _compiled[case] = f, njit(f), njit(parallel=True)(f)
    return _compiled[case]


def laid_out(x, layout):
    """The same items, otherwise laid out."""
    if layout == "C" or x.ndim == 0:
        return x.copy()
    if layout == "F":
        return np.asfortranarray(x)
    if layout == "backwards":
        return x[::-1].copy()[::-1]
    wide = np.zeros(tuple(2 * n for n in x.shape), x.dtype)
    wide[tuple(slice(None, None, 2) for _ in x.shape)] = x
    return wide[tuple(slice(None, None, 2) for _ in x.shape)]


def operands(shape, dtype, nindices, layout, seed):
    """What the cases take; numbers are small, so that sums of integers do not depend on their order but places do."""
    rng = np.random.default_rng(seed)
    some = lambda *s: (rng.standard_normal(s) * 10).astype(dtype)  # noqa: E731
    m, n, last = rng.random(shape) < 0.4, shape[0], shape[-1]
    i, j = rng.integers(-n, n, (2, nindices))
    arrays = [some(*shape), some(*shape), some(*shape), m, rng.random(n) < 0.5, i, j]
    arrays += [rng.integers(-last, last, max(last // 2, 1)), rng.integers(0, last, nindices)]
    arrays += [some(nindices, *shape[1:]), some(int(m.sum()))]
    return [laid_out(x, layout) for x in arrays]


def copies(arrays):
    """Copies with the same layouts."""
    out = []
    for x in arrays:
        base = x if x.base is None else x.base
        whole = base.copy(order="K")
        start = x.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        out.append(
            np.ndarray(
                x.shape, x.dtype, whole.data if whole.flags.c_contiguous else whole.T.data, start, x.strides
            )
        )
    return out


def outcome(f, arrays):
    """The result and what has become of the operands, or the exception, and all of it as bytes."""
    mine = copies(arrays)
    try:
        with np.errstate(all="ignore"):
            r = f(*mine)
    except (ValueError, IndexError) as e:
        return type(e).__name__, [x.tobytes() for x in mine]
    r = r if isinstance(r, tuple) else (r,)
    r = [x if isinstance(x, np.ndarray) else np.asarray(x, "c16") for x in r if x is not None]
    return [x.tobytes() for x in r], [x.tobytes() for x in mine]


def fits(case, shape):
    """Whether the case is for arrays of this shape."""
    return len(shape) == 2 and shape[0] > 1 if case.startswith("2-d") else True


def check(case, arrays):
    """All three give the same bytes."""
    python, one, many = functions(case)
    want, got = outcome(one, arrays), outcome(many, arrays)
    assert got == want, f"{case}: not what it is on one core"
    assert want == outcome(python, arrays), f"{case}: not NumPy's"


@pytest.fixture(params=["backwards", "threes"])
def short(request):
    """Ranges of one round, the last one first; ranges of three."""
    _core._pool_grain(*((1, True) if request.param == "backwards" else (3, False)))
    yield request.param
    _core._pool_grain(0)


SHORT = {
    "backwards": [((11,), 20, "C"), ((7, 6), 15, "strided"), ((1, 5), 3, "backwards")],
    "threes": [((11,), 20, "C"), ((4, 3, 5), 9, "F")],
}


@pytest.mark.parametrize("case", CASES)
def test_short_ranges(case, short):
    for shape, nindices, layout in SHORT[short]:
        if fits(case, shape):
            check(case, operands(shape, "f8", nindices, layout, len(case)))


@pytest.mark.parametrize("number, case", list(enumerate(c for c in CASES if not c.startswith("float"))))
def test_types(number, case, short):
    dtype = ["i8", "f4", "u1", "c16"][number % 4]
    if dtype == "c16" and any(w in CASES[case] for w in ("max", "min", "smaller", ">")):
        dtype = "i2"  # complex numbers have no order
    check(case, operands((6, 5), dtype, 12, "C", len(case)))


@pytest.mark.parametrize("case", CASES)
def test_ranges_as_the_runtime_makes_them(case, threads):
    for shape, nindices in [((60_000,), 120_000), ((2_000, 40), 9_000)]:
        if fits(case, shape):
            check(case, operands(shape, "f8", nindices, "C", 1))


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_random_operands(data):
    case = data.draw(st.sampled_from(sorted(CASES)))
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3)))
    if not fits(case, shape):
        return
    dtype = "f8" if case.startswith("float") else data.draw(st.sampled_from(["f8", "i4"]))
    arrays = operands(
        shape,
        dtype,
        data.draw(st.integers(1, 30)),
        data.draw(st.sampled_from(LAYOUTS)),
        data.draw(st.integers(0, 99)),
    )
    _core._pool_grain(data.draw(st.integers(1, 4)), data.draw(st.booleans()))
    try:
        check(case, arrays)
    finally:
        _core._pool_grain(0)


def child(*args, **env):
    """This file as a program; its exit status and what it prints."""
    done = subprocess.run(
        [sys.executable, __file__, *args], env=os.environ | env, capture_output=True, text=True, check=False
    )
    assert not done.stderr, done.stderr[-2000:]
    return done.returncode, done.stdout


@pytest.mark.slow
def test_four_threads():
    status, said = child("0", TREADLE_NUM_THREADS="4")
    assert status == 0, said


SCATTERED = ["float: divide.at", "float: fmod.at"]
APART = ["any: rows, values", "any: mask, number", "any: where", "float: gufunc"]


def test_a_planted_fault_is_found():
    """With scatters taken for independent, the cases that scatter differ, and only these."""
    status, said = child("1", *SCATTERED, *APART, TREADLE_PLANT="14")
    assert status == 1
    assert said.splitlines() == SCATTERED


def main():
    """The cases named (none: all), with ranges as the runtime makes them, or (1) of one round, the last one first; prints those that differ."""
    short = sys.argv[1] == "1"
    _core._pool_grain(short, short)
    different = []
    for case in sys.argv[2:] or CASES:
        for shape, nindices in (
            [((30,), 90), ((8, 7), 30)] if short else [((60_000,), 120_000), ((2_000, 40), 9_000)]
        ):
            arrays = operands(shape, "f8", nindices, "C", 1)
            _, one, many = functions(case)
            if fits(case, shape) and outcome(one, arrays) != outcome(many, arrays) and case not in different:
                different.append(case)
    print("\n".join(different))
    return bool(different)


if __name__ == "__main__":
    assert treadle.get_num_threads() >= 1
    sys.exit(main())
