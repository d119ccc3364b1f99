"""prange loops that look for an extreme and where it is: `if x[i] > best: best = x[i]; at = i`, and what else goes with it.

What comes out is what the plain loop makes, bit for bit: of equal candidates the first or the last, and nan as it is there. Chunks are of one iteration
each, and run the last one first.
"""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import UnsupportedError, _core, njit, prange


@pytest.fixture(autouse=True)
def backwards():
    _core._pool_grain(1, True)
    yield
    _core._pool_grain(0)


def told(f):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        f.parallel_diagnostics()
    return text.getvalue()


def loop(body, result, begin=""):
    space = {"prange": prange, "np": np}
    lines = "\n".join("  " + x for x in body.split("\n"))
    exec(
        f"def f(x, best, at):\n {begin or 'pass'}\n for i in prange(len(x)):\n{lines}\n return {result}\n",
        space,
    )
    return space["f"]


FORMS = {
    f"{how} {name}": (body.replace("HOW", how), result, begin)
    for how in (">", ">=", "<", "<=")
    for name, (body, result, begin) in {
        "place": ("if x[i] HOW best:\n best = x[i]\n at = i", "best, at", ""),
        "swapped": ("if best HOW x[i]:\n best = x[i]\n at = i", "best, at", ""),
        "of a value": ("v = x[i] * 2 - i\nif v HOW best:\n best = v\n at = i", "best, at", ""),
        "and more": ("if x[i] HOW best:\n best = x[i]\n at = i\n y = x[i - 1]\n z = i % 2 == 0", "best, at, y, z", "y = best; z = True"),
        "and a sum": ("s += i\nif x[i] HOW best:\n best = x[i]\n at = i\nm = max(m, i)", "best, at, s, m", "s = 0; m = 3"),
        "of some": ("if i % 3 != 1:\n if x[i] HOW best:\n  best = x[i]\n  at = i", "best, at", ""),
        "of two tests": ("if x[i] HOW best and i % 3 != 1:\n best = x[i]\n at = i", "best, at", ""),
        "of an inner loop": ("for j in range(3):\n v = x[(i + j) % len(x)] - j\n if v HOW best:\n  best = v\n  at = i * 3 + j", "best, at", ""),
        "twice": ("if x[i] HOW best:\n best = x[i]\n at = i\nif x[-i] HOW best:\n best = x[-i]\n at = -i", "best, at", ""),
        "two of them": ("if x[i] HOW best:\n best = x[i]\n at = i\nif x[i] < low:\n low = x[i]\n there = i\nif x[-i] >= top:\n top = x[-i]\n last = i", "best, at, low, there, top, last", "low = top = best; there = last = at"),
        "a loop goes on": ("if not (x[i] HOW best):\n continue\nbest = x[i]\nat = i", "best, at", ""),
    }.items()
}  # fmt: skip
COMPILED = {name: (njit(parallel=True)(loop(*form)), loop(*form)) for name, form in FORMS.items()}
NUMBERS = st.sampled_from([-2.0, -1.0, -0.0, 0.0, 1.0, 2.0, 5.0, float("nan"), float("inf"), float("-inf")])


def same(x, y):
    assert len(x) == len(y)
    for a, b in zip(x, y, strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.signbit(a) == np.signbit(b)


@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=examples(30), deadline=None)
@given(st.lists(NUMBERS, max_size=12), NUMBERS, st.integers(-3, 12))
def test_floats(name, x, best, at):
    compiled, python = COMPILED[name]
    same(compiled(np.array(x), best, at), python(np.array(x), best, at))


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float32])
@pytest.mark.parametrize("name", ["> place", ">= place", "< and more", "<= of an inner loop"])
def test_other_types(name, dtype):
    compiled, python = COMPILED[name]
    serial, r = njit(python), np.random.default_rng(3)
    for n in 0, 1, 2, 9, 40, 700:
        x = r.integers(0, 5, n).astype(dtype)
        want = serial(x, dtype(2), 7)
        same(compiled(x, dtype(2), 7), want)
        same(compiled(np.repeat(x, 2)[::2], dtype(2), 7), want)


def test_on_all_cores_with_ranges_as_they_are(threads):
    _core._pool_grain(0)
    x = np.random.default_rng(1).integers(0, 1000, 300_000).astype(float)
    x[::7] = np.nan
    for name in "> place", ">= place", "< of a value", "<= and a sum":
        compiled, python = COMPILED[name]
        same(compiled(x, 500.0, -1), njit(python)(x, 500.0, -1))


def test_it_is_told():
    compiled = COMPILED["> place"][0]
    compiled(np.zeros(3), 0.0, 0)
    assert "runs on all cores, reductions: 'best' (extreme), 'at' (of the extreme)" in told(compiled)


def test_of_a_table_in_a_try_and_in_a_prange_loop():
    @njit(parallel=True)
    def f(a):
        best, at, there = a[0, 0], 0, 0
        try:
            for i in prange(a.shape[0]):
                for j in range(a.shape[1]):
                    if a[i, j] > best:
                        best = a[i, j]
                        at = i
                        there = j
        except ValueError:
            return a[0, 0], -1, -1
        return best, at, there

    @njit(parallel=True)
    def each(a, out):
        for q in prange(len(a)):
            best, at, there = f(a[q])
            out[q] = best * 10_000 + at * 100 + there

    a = np.random.default_rng(2).integers(0, 50, (5, 20, 30)).astype(float)
    out = np.zeros(5)
    each(a, out)
    for q in range(5):
        i, j = np.unravel_index(np.argmax(a[q]), a[q].shape)
        assert f(a[q]) == (a[q].max(), i, j) and out[q] == a[q].max() * 10_000 + i * 100 + j


def beside_other_things(x, count, t):
    best, at, s = x[0], 0, 0.0
    for i in prange(len(x)):
        count[int(x[i]) % 3] += 1
        s += x[i]
        if x[i] > best:
            best = x[i]
            at = i
    return best, at, s


def of_what_is_stored(x, count, t):
    """Iteration t runs by itself, and in chunks that cannot be."""
    best, at = x[0], 0
    for i in prange(len(x)):
        x[i] = x[i] * 2 - x[t]
        if x[i] > best:
            best = x[i]
            at = i
    return best, at


@pytest.mark.parametrize("f", [beside_other_things, of_what_is_stored])
def test_beside_what_runs_in_another_way(f):
    compiled = njit(parallel=True)(f)
    for n in 1, 5, 30, 500:
        for t in {0, n // 2, n - 1}:
            x = np.random.default_rng(n).integers(0, 60, n).astype(float)
            y, count, counts = x.copy(), np.zeros(3), np.zeros(3)
            same(compiled(x, count, t), f(y, counts, t))
            np.testing.assert_array_equal(x, y)
            np.testing.assert_array_equal(count, counts)


def test_what_may_raise_goes_in_order():
    """The index of what goes with it is only used where no item before is better."""
    python = loop("if x[i] > best:\n best = x[i]\n at = y[i]", "best, at", "y = np.arange(len(x) // 2) * 2")
    f = njit(parallel=True)(python)
    for x in ([1.0, 5, 2, 3], [1.0, 5, 2, 7]):
        try:
            want = python(np.array(x), 0.0, -1)
        except IndexError:
            with pytest.raises(IndexError):
                f(np.array(x), 0.0, -1)
        else:
            same(f(np.array(x), 0.0, -1), want)


@pytest.mark.parametrize(
    "body",
    [
        "if x[i] > best:\n best = x[i]\n at = i\n x[0] = i",
        "if x[i] > best:\n best = x[i] + 1\n at = i",
        "if x[i] > best:\n best = x[i]\n at = at + i",
        "if x[i] > best:\n best = x[i]\n at = i\nelse:\n at = 3",
        "if x[i] > best:\n best = x[i]\nelse:\n at = i",
        "old = best\nif x[i] > best:\n best = x[i]\n at = i\nif i % 2:\n best = old",
        "if x[i] > best:\n best = x[i]\n if i % 2:\n  at = i",
        "if x[i] > best:\n best = x[i]\n at = i\nif x[i] < best:\n best = x[i]\n at = i",
        "if x[i] > at:\n best = x[i]\n at = i",
        "if not (x[i] <= best):\n best = x[i]\n at = i",
        "if x[i] > best:\n best = x[i]\n at = i\nelif x[i] < low:\n low = x[i]\n there = i",
        "if x[i] > best:\n best = x[i]\n at = i\nif best < low:\n low = best\n there = i",
        "if x[i] != best:\n best = x[i]\n at = i",
        "if x[i] > best:\n best = x[i]\n at = i\nx[i] = at",
    ],
)
def test_what_is_none_is_refused(body):
    f = njit(parallel=True)(loop(body, "best, at", "low = best; there = at"))
    with pytest.raises(UnsupportedError, match="prange"):
        f(np.arange(4.0), 0.0, 0)
