"""prange loops over arrays that share memory: tested before the loop, which then goes one iteration after the other.

Iterations run one by one, the last one first, wherever they may run on all cores; so whatever depends on their order shows.
"""

from __future__ import annotations

import contextlib
import io
import threading

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


def ahead(a, b):
    for i in prange(min(len(a) - 1, len(b))):
        b[i] = a[i + 1] * 2


def alike(a, b):
    for i in prange(min(len(a), len(b))):
        b[i] = a[i] * 2 + 1


def three(a, b, c):
    for i in prange(min(len(a), len(b), len(c)) - 1):
        b[i] = a[i + 1] + c[i]
        c[i] = a[i]


def both(a, b):
    for i in prange(min(len(a), len(b)) - 1):
        x = b[i]
        b[i] = x * 2 - a[i]
        a[i] = x + 1


def rows(a, b):
    for i in prange(min(a.shape[0], b.shape[0])):
        for j in range(min(a.shape[1], b.shape[1])):
            b[i, j] = a[i, j] + a[0, j]


def slices(a, b):
    n = min(a.shape[1], b.shape[1])
    for i in prange(min(a.shape[0], b.shape[0])):
        b[i, :n] = a[i, :n] + 1


def counted(a, b):
    s = 0.0
    for i in prange(len(a)):
        b[int(a[i]) % len(b)] += 1.0
        s += a[i]
    return s


def chosen(a, b, flag):
    c = a if flag else b
    for i in prange(len(c) - 1):
        b[i] = c[i + 1]


def order(a, b, idx, seen):
    """`seen` tells which iteration came last."""
    for i in prange(len(a)):
        b[i] = a[i]
        seen[idx[i]] = i


def views(data, ndim):
    """Pieces of an array of 48 items, in many shapes."""
    if ndim == 1:
        step = data.draw(st.sampled_from([1, 1, 2, 3, -1, -2]))
        first = data.draw(st.integers(0, 47))
        n = data.draw(st.integers(0, 12))
        return lambda x: x[first::step][:n]
    axes = data.draw(st.sampled_from([(6, 8), (8, 6), (3, 16)]))
    lo, hi = (sorted(data.draw(st.tuples(st.integers(0, n), st.integers(0, n)))) for n in axes)
    turn = data.draw(st.booleans())

    def view(x):
        y = x.reshape(axes)[lo[0] : lo[1], hi[0] : hi[1]]
        return y.T if turn else y

    return view


COMPILED = {f: njit(parallel=True)(f) for f in (ahead, alike, three, both, rows, slices, counted)}


@settings(max_examples=examples(60), deadline=None)
@given(st.data(), st.sampled_from([ahead, alike, three, both, counted]))
def test_lines(data, f):
    check(f, data, 1, 3 if f is three else 2)


@settings(max_examples=examples(60), deadline=None)
@given(st.data(), st.sampled_from([rows, slices]))
def test_matrices(data, f):
    check(f, data, 2, 2)


def check(f, data, ndim, n):
    """As the plain function, whatever the arguments share."""
    pick = [views(data, ndim) for _ in range(n)]
    if data.draw(st.booleans()):
        pick[1] = pick[0]
    mine, plain = np.arange(48.0) % 7, np.arange(48.0) % 7
    if f is counted and pick[1](mine).size == 0 < pick[0](mine).size:
        return  # a division by zero
    want = f(*(p(plain) for p in pick))
    assert COMPILED[f](*(p(mine) for p in pick)) == want
    np.testing.assert_array_equal(mine, plain)


def runs_in_parallel(a, b):
    seen, idx = np.zeros(1, np.int64), np.zeros(len(a), np.int64)
    njit(parallel=True)(order)(a, b, idx, seen)
    np.testing.assert_array_equal(a, b)
    assert seen[0] in (0, len(a) - 1)
    return seen[0] == 0


def test_what_lies_apart_runs_on_all_cores():
    x = np.arange(24.0)
    m = x.reshape(6, 4)
    for a, b in [
        (x, x.copy()),
        (x, x),
        (x[:12], x[12:]),
        (x[::2], x[1::2]),
        (x[::-2], x[::-2]),
        (m[:, 0], m[:, 3]),
        (m[0], m[1]),
        (m.real[2], m[2]),
    ]:
        assert runs_in_parallel(a, b)
    for a, b in [(np.zeros(9)[:8], np.zeros(9)[1:])]:
        assert runs_in_parallel(a, b)
    z = np.zeros(9)
    assert not runs_in_parallel(z[:8], z[1:])
    assert not runs_in_parallel(z[:8], z[7::-1])


@pytest.mark.parametrize("flag", [True, False])
def test_chosen(flag):
    for share in True, False:
        a = np.arange(8.0)
        b = a if share else a + 10
        c, d = a.copy(), b.copy()
        njit(parallel=True)(chosen)(a, b, flag)
        c = d if share else c
        chosen(c, d, flag)
        np.testing.assert_array_equal(b, d)


def in_a_small_thread(f, *args):
    got = []
    threading.stack_size(256 << 10)
    try:
        t = threading.Thread(target=lambda: got.append(f(*args)))
        t.start()
        t.join()
    finally:
        threading.stack_size(0)
    return got[0]


def test_through_callers():
    """Arrays of the caller's, and its arguments; from Python, and in a thread with a small stack."""
    shift = njit(parallel=True, inline="never")(ahead)

    def caller(x, z, shift=shift):
        y = x + 1
        shift(x, z)
        shift(x, y)
        return y

    compiled = njit(caller)
    for a, b in [(slice(None), slice(None)), (slice(0, 6), slice(1, 7)), (slice(4), slice(4, 9))]:
        x, z = np.arange(9.0), np.arange(9.0)
        want = caller(z[a], z[b], ahead)
        np.testing.assert_array_equal(in_a_small_thread(compiled, x[a], x[b]), want)
        np.testing.assert_array_equal(x, z)


@pytest.mark.parametrize("inline", ["never", "always"])
def test_parts_of_what_a_caller_made(inline):
    """Where the compiler sees how two parts lie, it says so."""
    shift = njit(parallel=True, inline=inline)(ahead)

    @njit
    def caller(x):
        y = x + 1
        shift(y[1:], y[:-1])
        return y

    with pytest.raises(UnsupportedError, match="reads 2 iterations earlier"):
        caller(np.arange(9.0))


def test_where_the_compiler_sees_it():
    """One function, or inlined: it is no question of values then."""
    shift = njit(parallel=True, inline="always")(ahead)
    with pytest.raises(UnsupportedError, match="depend on each other"):
        njit(parallel=True)(lambda x: shift(x, x))(np.arange(3.0))


def test_arrays_that_are_made_are_not_tested():
    @njit(parallel=True)
    def f(a):
        b = np.empty_like(a)
        for i in prange(len(a)):
            b[i] = a[i]
        return b

    f(np.arange(3.0))
    with contextlib.redirect_stdout(io.StringIO()) as text:
        f.parallel_diagnostics()
    assert "share" not in text.getvalue() and "runs on all cores" in text.getvalue()


def test_it_is_told():
    f = njit(parallel=True)(ahead)
    f(np.arange(3.0), np.arange(3.0))
    with contextlib.redirect_stdout(io.StringIO()) as text:
        f.parallel_diagnostics()
    assert "runs on one core where arrays share memory, tested before the loop: 'b', 'a'" in text.getvalue()


SUMS = {
    "most": ("100", "r = max(r, b[i - 1])"),
    "sum": ("0.5", "r += b[i - 1]"),
    "count": ("7", "r += i"),
    "float32": ("np.float32(2)", "r += np.float32(b[i - 1])"),
    "complex": ("1j", "r += 1j * b[i - 1]"),
    "any": ("False", "r = r or b[i - 1] > 2"),
}


@pytest.mark.parametrize("kind", SUMS)
def test_no_iterations_and_a_total(kind):
    """What is reduced where arrays are one and the loop has no iterations: it is what it was."""
    start, step = SUMS[kind]
    text = f"def f(a, b, n):\n    r = {start}\n    for i in prange(2, n):\n        {step}\n        a[i] = i\n    return r\n"
    space: dict = {"prange": prange, "np": np}
    exec(text, space)
    compiled = njit(parallel=True)(space["f"])
    for n in (2, 0, 3, 8):
        for share in True, False:
            a, c = np.arange(8.0), np.arange(8.0)
            got = compiled(a, a if share else a.copy(), n)
            assert got == space["f"](c, c if share else c.copy(), n)
            np.testing.assert_array_equal(a, c)
