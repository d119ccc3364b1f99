"""Arrays as indices, masks, and functions that choose items, on all dtypes, ranks and layouts, against NumPy."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from treadle import TreadleError, njit, stats

sys.path.insert(0, str(Path(__file__).parent))
from arrays_check import ALL, INTS, LAYOUTS, NUMPY2, REAL, agree, arrays, given, laid_out, shapes  # noqa: E402
from builtins_check import rejects, run  # noqa: E402
from sizes import PART  # noqa: E402

full = shapes(4).filter(lambda s: len(s) > 0)


@st.composite
def indices(draw, n, bad=True):
    """An array of indices into an axis of n items, at times one out of range."""
    shape = draw(shapes(2).filter(lambda s: len(s) > 0))
    dtype = draw(
        st.sampled_from([np.int64, np.int32, np.int8, np.uint8, np.uint64 if NUMPY2 else np.uint32, np.intp])
    )
    low = 0 if np.dtype(dtype).kind == "u" else -n
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    if n == 0:
        return np.zeros((0,), dtype=dtype)
    ix = rng.integers(low, n, shape).astype(dtype)
    if bad and NUMPY2 and ix.size and n <= np.iinfo(dtype).max and draw(st.integers(0, 9)) == 0:
        ix.flat[0] = n
    return laid_out(ix, draw(st.sampled_from(LAYOUTS)))


@st.composite
def index_text(draw, a):
    """An index of `a` with one or two arrays, and its arguments."""
    axes = list(range(a.ndim))
    chosen = sorted(draw(st.lists(st.sampled_from(axes), min_size=1, max_size=min(3, a.ndim), unique=True)))
    parts, args = [], []
    shape = None
    for k in axes:
        if k in chosen:
            ix = draw(indices(a.shape[k]))
            if (
                shape is not None and draw(st.booleans()) and a.shape[k]
            ):  # of a shape that broadcasts with the first
                rng = np.random.default_rng(draw(st.integers(0, 10**6)))
                ix = rng.integers(0, a.shape[k], shape[draw(st.integers(0, len(shape) - 1)) :])
            shape = shape or ix.shape
            parts.append("bcd"[len(args)])
            args.append(ix)
        else:
            parts.append(draw(st.sampled_from([":", ":", "1:", "::-1", "0", "None, :", "...", "1:2"])))
            if parts[-1] == "..." and "..." in parts[:-1]:
                parts[-1] = ":"
            if parts[-1] == "0" and a.shape[k] == 0:
                parts[-1] = ":"
    if draw(st.booleans()):
        while parts and parts[-1] == ":":
            parts.pop()
    return ", ".join(parts), args


@functools.cache
def both(stmt, n):
    """A statement's function, and compiled: examples of the same types share what was compiled."""
    f = body(stmt, n)
    return f, njit(f)


def body(stmt, n):
    space: dict = {"np": np}
    exec(f"def f({', '.join('abcdefgh'[:n])}):\n    {stmt}\n    return a\n", space)
    return space["f"]


def same_after(stmt, *args):
    """A statement does to its first argument what NumPy's does, or raises the same and leaves it alone."""
    f, compiled = both(stmt, len(args))
    want, got = args[0].copy(), args[0]
    try:
        with np.errstate(all="ignore"):
            f(want, *args[1:])
    except (IndexError, ValueError, OverflowError) as e:
        before = got.copy()
        with pytest.raises((type(e), TreadleError)):
            compiled(got, *args[1:])
        np.testing.assert_array_equal(got, before)
        return
    try:
        compiled(got, *args[1:])
    except IndexError:
        assert nothing(stmt.split("] ")[0] + "]", *args)
    np.testing.assert_array_equal(got, want)


def nothing(expr, *args):
    """Whether an expression has no items: NumPy does not look at the indices then."""
    return eval(expr, {"np": np, **dict(zip("abcde", args, strict=False))}).size == 0


@given(data=st.data())
def test_read_with_arrays(data):
    a = data.draw(arrays(ALL, shape=full))
    text, args = data.draw(index_text(a))
    try:
        agree(f"a[{text}]", a, *args)
    except IndexError:
        assert nothing(f"a[{text}]", a, *args)


@given(data=st.data())
def test_assign_with_arrays(data):
    a = data.draw(arrays([np.float64, np.int16], shape=full, layouts=LAYOUTS[:-1]))
    text, args = data.draw(index_text(a))
    for stmt in (f"a[{text}] = 7", f"a[{text}] += 1"):
        same_after(stmt, a, *args)
    times = np.zeros(a.shape, dtype=np.int64)
    index = eval(f"np.s_[{text}]", {"np": np, **dict(zip("bcd", args, strict=False))})
    try:
        np.add.at(times, index, 1)
    except IndexError:
        return
    hypothesis.assume((times < 2).all())  # which of several values stays is left open
    part = a[index]
    values = np.arange(part.size, dtype=np.int64).reshape(part.shape)
    value = values[tuple(slice(None, 1) if data.draw(st.booleans()) else slice(None) for _ in part.shape)]
    name = "bcde"[len(args)]
    same_after(f"a[{text}] = {name}", a, *args, value)


@given(data=st.data())
def test_read_with_a_mask(data):
    a = data.draw(arrays(ALL, shape=full))
    k = data.draw(st.integers(1, a.ndim))
    mask = data.draw(arrays([np.bool_], shape=a.shape[:k]))
    agree("a[b]", a, mask)
    agree("a[b, ...]", a, mask)
    agree("a[~b].sum()", a.astype(np.int64) if a.dtype.kind != "f" else np.zeros(a.shape), mask)
    last = data.draw(arrays([np.bool_], shape=a.shape[-1:]))
    agree("a[..., b]", a, last)
    if a.ndim > 1 and a.shape[0] > 0:
        agree("a[0, ..., b]", a, last)


@given(data=st.data())
def test_assign_with_a_mask(data):
    a = data.draw(arrays([np.float32, np.int64, np.complex128], shape=full, layouts=LAYOUTS[:-1]))
    mask = data.draw(arrays([np.bool_], shape=a.shape))
    n = int(mask.sum())
    same_after("a[b] = 5", a, mask)
    same_after("a[b] *= 2", a, mask)
    for m in {n, 1, n + 1}:
        same_after("a[b] = c", a, mask, np.arange(m, dtype=np.int16))
    same_after("a[b] = a[b][::-1]", a, mask)
    part = data.draw(arrays([np.bool_], shape=a.shape[:1]))
    same_after("a[b] = 3", a, part)
    same_after("a[b, ...] += 3", a, part)


def test_masks_made_on_the_spot():
    def f(a):
        a[a > 3] = 3
        a[(a < 0) | np.isnan(a)] = 0
        a[1:][a[:-1] == 3] += 1
        return a[a > 0].mean(), (a == 4).sum()

    x = np.array([1.0, -2.0, np.nan, 7.0, 3.5, 2.0, -1.0])
    y = x.copy()
    assert njit(f)(x) == f(y)
    np.testing.assert_array_equal(x, y)


def test_indices_that_are_the_array():
    statements = ["a[b] = a[b] + a", "a[a[b]] = b"]
    if NUMPY2:  # before, it reads what it has just written
        statements += ["a[b] = a", "a[b] = a[::-1]", "a[a] = a[::-1]"]
    for stmt in statements:
        same_after(stmt, np.array([2, 0, 1]), np.array([1, 2, 0]))
    same_after("a[a] = ~a[a]", np.array([True, False, True]))


def test_repeated_indices_keep_the_last_value():
    same_after("a[b] = c", np.zeros(3), np.array([1, 1, 0, 1]), np.arange(4.0))
    same_after("a[b] += 1", np.zeros(3), np.array([1, 1, 0, 1]))


def test_lists_and_tuples_as_indices():
    a = np.arange(12.0).reshape(3, 4)
    for expr in (
        "a[[2, 0]]",
        "a[[0, 1], [1, 2]]",
        "a[:, [3, 3]]",
        "a[[True, False, True]]",
        "a[[[0], [1]], [2, 3]]",
    ):
        agree(expr, a)
    agree("a[b]", a, (1, 2))
    same_after("a[[2, 0]] = (1, 2, 3, 4)", a)
    agree("a[b, 1]", a, np.array(2))


def test_index_errors():
    a = np.arange(6.0).reshape(2, 3)
    with pytest.raises(IndexError, match="index 2 is out of bounds for axis 0 with size 2"):
        run("a[b]", a, np.array([0, 2]))
    with pytest.raises(IndexError, match="index -4 is out of bounds for axis 1 with size 3"):
        run("a[:, b]", a, np.array([0, -4]))
    with pytest.raises(IndexError, match="boolean index did not match indexed array along axis 1"):
        run("a[b]", a, np.ones((2, 2), bool))
    with pytest.raises(IndexError, match="could not be broadcast"):
        run("a[b, c]", a, np.array([0, 1]), np.array([0, 1, 2]))
    with pytest.raises(IndexError, match="out of bounds"):
        run("a[b]", a, np.array([2**64 - 1], dtype=np.uint64))
    with pytest.raises(ValueError, match="cannot assign 2 input values to the 3 output values"):
        njit(body("a[b] = c", 3))(a, a > 2, np.arange(2.0))
    rejects("a[b]", a, np.array([0.0]), match="cannot be indexed with")
    rejects("a[b, b, b]", a, np.array([0]), match="too many indices")
    rejects("a[b, 0]", a, a > 1, match="too many indices")
    with pytest.raises(TreadleError, match="takes a number or a 1-d array"):
        njit(body("a[b] = a", 2))(a, a > 2)
    with pytest.raises(TreadleError, match="cannot store complex128"):
        njit(body("a[b] = 1j", 2))(a, np.array([0]))
    locked = a.copy()
    locked.flags.writeable = False
    with pytest.raises(TreadleError, match="read-only"):
        njit(body("a[b] = 1", 2))(locked, np.array([0]))


def test_without_bounds_checks():
    np.testing.assert_array_equal(
        run("a[b]", np.arange(4.0), np.array([3, -4]), boundscheck=False), [3.0, 0.0]
    )


# --- functions ---


@given(a=arrays(ALL, shape=full))
def test_nonzero(a):
    for expr in ("np.nonzero(a)", "a.nonzero()", "np.where(a)", "np.flatnonzero(a)", "np.argwhere(a)"):
        agree(expr, a)
    agree("a[np.nonzero(a)]", a)


@given(data=st.data())
def test_take(data):
    a = data.draw(arrays(REAL, shape=full))
    k = data.draw(st.integers(-a.ndim, a.ndim - 1))
    ix = data.draw(indices(a.shape[k], bad=a.size > 0))  # without items NumPy does not look at them
    agree(f"np.take(a, b, axis={k})", a, ix)
    agree(f"a.take(b, {k})", a, ix)
    agree("np.take(a, b)", a, data.draw(indices(a.size)))
    if a.size:
        agree("a.take(0)", a)
        agree(f"np.take(a, 0, axis={k})", a)


@given(data=st.data())
def test_truth_values_are_places_for_take(data):
    """No mask: NumPy casts them to 0 and 1, where they fit the axis or not."""
    a = data.draw(arrays(REAL, shape=full).filter(lambda a: a.size))
    k = data.draw(st.integers(-a.ndim, a.ndim - 1))
    at = data.draw(arrays([np.bool_], shape=full))
    mode = data.draw(st.sampled_from(["", ", mode='wrap'", ", mode='clip'"]))
    agree(f"np.take(a, b, axis={k}{mode})", a, at)
    agree(f"a.take(b{mode})", a, at)
    agree(f"np.take(a, b, axis={k}{mode})", a, bool(at.any()))
    agree("np.take(a, [True, False])", a)
    agree(f"np.take(a, False, axis={k})", a)


def test_what_take_gives_is_a_copy():
    """One place on an axis, too, which an index would make a view of."""

    def stored(a, k):
        x = np.take(a, 1, axis=0)
        y = np.take(a, k, axis=1, mode="wrap")
        z = a.take(k, -1)
        x[...], y[...], z[...] = 7, 8, 9
        return x, y, z

    a = np.arange(12.0).reshape(3, 4)
    for x in (a.copy(), np.asfortranarray(a), np.repeat(a, 2, axis=1)[:, ::2]):
        for got, want in zip(njit(stored)(x, 2), stored(a.copy(), 2), strict=True):
            np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(x, a)


@given(data=st.data())
def test_compress_and_extract(data):
    a = data.draw(arrays(REAL, shape=full))
    k = data.draw(st.integers(0, a.ndim - 1))
    cond = data.draw(arrays([np.bool_, np.int8], shape=(data.draw(st.integers(0, a.shape[k])),)))
    agree(f"np.compress(b, a, axis={k})", a, cond)
    agree(f"a.compress(b, {k})", a, cond)
    agree("np.compress(b, a)", a, cond[: a.size])
    agree("np.extract(b, a)", a, data.draw(arrays([np.bool_, *INTS], shape=a.shape)))


def test_wrong_arguments():
    a = np.arange(6.0)
    rejects("np.nonzero(a)", np.array(1.0), match="without axes")
    rejects("np.nonzero(a)", 1.0, match="takes an array, not float64")
    rejects("np.take(a, b)", a, np.array([0.0]), match="indices must be integers")
    rejects("np.take(a, b, axis=1)", a, np.array([0]), match="out of bounds for array of dimension 1")
    rejects("np.take(a, b, axis=b * 1.0)", a, 0, match="axes must be constants")
    rejects("np.compress(a, a)", np.ones((2, 2)), match="1-d array")
    rejects("np.where(a, 1)", a, match="both values or none")


def test_many_items():
    rng = np.random.default_rng(0)
    a = rng.random((300, 70))
    for expr in ("a[a > 0.5]", "a[a[:, 0] > 0.5]", "np.argwhere(a > 0.9)", "a[np.nonzero(a > 0.3)]"):
        agree(expr, a)
    agree("a[b]", a, rng.integers(0, 300, 1000))


def test_views_of_very_many_axes():
    """More than the compiler's views count (TR_VIEW_AXES, TR_VIEW_BASE_AXES): by strides."""
    for n in (12, 13, 31, 32)[::PART]:
        a = np.arange(12.0).reshape((2, 3) + (1,) * (n - 3) + (2,))
        agree("a[1, ::-1, ..., 1:]", a)
        agree("a.T[0, ..., 1]", a)
        agree("a[..., 0][::2].sum()", a)
        agree("np.swapaxes(a, 0, -1)[1].ravel()", a)
        agree("(a[..., 1] * a[0, ..., :1, 1]).sum()", a)
        agree("np.flip(a).ravel()", a)
        agree("a.sum(axis=0).ravel()", a)
        if n < 32:
            agree("a[:, None, 1:].ravel()", a)


def test_in_place_on_views_is_done_once():
    # `a[i] += x` is not followed by a copy of a[i] to where it stands
    def slices(a, k):
        a[k:-1] += a[: -k - 1]
        a[k:, :k] *= 2
        a[..., k] /= 3
        a[None] += 1
        a[k:] += 1 if a[0, 0] > 0 else a[1, 1]
        a[(k if a[0, 0] > 0 else 0) :] += 1
        i = slice(k, None)
        a[i, 0:2] += 2
        a[:k] @= np.eye(4)[:, ::-1] * 2
        return a

    def arrays_as_indices(a, k):
        a[[0, k]] += 5
        a[a > 3] -= 1
        a[k, [0, 1]] += 7
        a[k, k] **= 2
        b = a[k:]
        b += 1
        a[k:] = b
        a[::-1] += a
        return a

    for fn in (slices, arrays_as_indices):
        a = np.arange(16.0).reshape(4, 4) - 3
        want = fn(a.copy(), 2)
        np.testing.assert_array_equal(njit(fn)(a.copy(), 2), want)
    f = njit(slices)
    f(a, 2)
    before = stats()["arrays_allocated"]
    f(a, 2)
    assert stats()["arrays_allocated"] - before == 2  # what overlaps, and the matrix


@njit
def chosen(a):
    return np.flatnonzero(a), np.nonzero(a)[0], np.argwhere(a)[:, 0], np.count_nonzero(a)


@njit
def kept(a, b):
    return b[a != 0]


SIZES = [0, 1, 7, 31, 32, 33, 63, 64, 65, 127, 1000, 255 * 64 - 1, 255 * 64 + 65]


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.float32, np.float64, np.complex128])
def test_masks_by_words(dtype):
    """Counting and packing pass over whole words of false items, and ask for room only where it may lack: around the ends of words, with few true items, half, and all."""
    rng = np.random.default_rng(11)
    for n in SIZES:
        for share in (0, 0.002, 0.1, 0.5, 1):
            a = ((rng.random(n) < share) * rng.integers(1, 100, n)).astype(dtype)
            if np.issubdtype(dtype, np.floating) and n > 9:
                a[3], a[7] = np.nan, -0.0
            for x in (a, a[1:], a[::-1], a[::3]):
                *places, count = chosen(x)
                want = np.flatnonzero(x)
                assert count == len(want) and all(np.array_equal(got, want) for got in places)
                b = rng.random(len(x))
                assert np.array_equal(kept(x, b), b[x != 0])


def test_masks_of_odd_bytes():
    """What is true is what is not zero, whatever it was made of."""
    bytes_ = np.random.default_rng(3).integers(0, 256, 1000).astype(np.uint8)
    bytes_[::3] = 0
    mask = bytes_.view(bool)
    *places, count = chosen(mask)
    want = np.flatnonzero(bytes_)
    assert count == len(want) and all(np.array_equal(got, want) for got in places)


def test_a_number_beside_a_counter_that_is_divided():
    """One that a loop carries, and that is divided by another size after it."""

    @njit
    def f(a, x, b):
        s = 4
        for i, _ in enumerate(x):
            if int(b[i % b.shape[0]]):
                pass
            s += 5
        return np.uint32(2.0) == s > s % len(a), s % len(a)

    args = np.zeros((3, 4), np.int16), np.arange(3.0), np.arange(12.0)
    assert f(*args) == f.py_func(*args)
