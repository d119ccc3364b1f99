"""Ufuncs made by vectorize against NumPy's own, over all dtypes, layouts, strides, overlaps, masks, casts and methods."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
import treadle
from hypothesis import given
from hypothesis import strategies as st
from treadle import _core, vectorize

sys.path.insert(0, str(Path(__file__).parent))
from ufunc_check import (  # noqa: E402
    DTYPES,
    FUNCTIONS,
    LAYOUTS,
    SETTINGS,
    compute_type,
    expected,
    fits,
    laid_out,
    operands,
    same,
    values,
)

BINARY = [n for n in FUNCTIONS if FUNCTIONS[n][0].__code__.co_argcount == 2]
UNARY = [n for n in FUNCTIONS if n not in BINARY]
CPU = {n: vectorize(f[0]) for n, f in FUNCTIONS.items()}
PARALLEL = {n: vectorize(f[0], target="parallel") for n, f in FUNCTIONS.items()}


@pytest.fixture(autouse=True, scope="module")
def short_ranges():
    """Calls for all cores are cut into ranges of three elements or rows."""
    _core._pool_grain(3)
    yield
    _core._pool_grain(0)


def both(name):
    return [CPU[name], PARALLEL[name]]


# --- every combination of types ---


@pytest.mark.parametrize("name", BINARY)
def test_all_pairs_of_dtypes(name):
    rng = np.random.default_rng(len(name))
    for x, y in itertools.product(DTYPES, DTYPES):
        if fits(name, x, y):
            a, b = (laid_out((5, 9), t, rng.choice(LAYOUTS), rng) for t in (x, y))
            for f in both(name):
                same(f(a, b), expected(name, a, b))


@pytest.mark.parametrize("name", UNARY)
def test_all_dtypes(name):
    rng = np.random.default_rng(len(name))
    for t, layout in itertools.product(DTYPES, LAYOUTS):
        if fits(name, t):
            a = laid_out((40,), t, layout, rng)
            for f in both(name):
                same(f(a), expected(name, a))


@pytest.mark.parametrize("number", [True, 3, 0.25, 1j], ids=str)
@pytest.mark.parametrize("name", ["add", "multiply", "equal", "divide"])
def test_python_numbers(name, number):
    """They take the kind of type that NEP 50 gives them, never a wider one."""
    if not fits(name, np.asarray(number).dtype):
        return
    rng = np.random.default_rng(1)
    for t in DTYPES:
        if not fits(name, t):
            continue
        a = laid_out((11,), t, "C", rng)
        if isinstance(number, bool):
            weak = np.array(number)
        elif a.dtype.kind in "biu" and isinstance(number, int):
            weak = np.array(number, "u8" if a.dtype.kind == "u" else "i8")
        else:
            with np.errstate(all="ignore"):
                weak = np.asarray(number).astype((a + number).dtype)
        for f in both(name):
            for args, wide in (((a, number), (a, weak)), ((number, a), (weak, a))):
                same(f(*args), expected(name, *wide))
                same(f(*args, where=True), expected(name, *wide))
                assert f(args[0], args[1], dtype=None).dtype == f(*args).dtype


# --- shapes, layouts, out, where ---


@SETTINGS
@given(st.sampled_from(BINARY), operands(2))
def test_calls(name, xy):
    if fits(name, *[x.dtype for x in xy]):
        want = expected(name, *xy)
        for f in both(name):
            same(f(*xy), want)
            same(f(*xy, where=np.array(True)), want)


@SETTINGS
@given(st.sampled_from(BINARY), operands(2), st.data())
def test_out_and_where(name, xy, data):
    """Results are converted to the dtype of out, if that is of the same kind, and stored where the mask says."""
    if not fits(name, *[x.dtype for x in xy]):
        return
    want = expected(name, *xy)
    fitting = [t for t in DTYPES if np.can_cast(want.dtype, t, "same_kind")]
    dtype, layout = data.draw(st.sampled_from(fitting)), data.draw(st.sampled_from(LAYOUTS[:-2]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    shape = (*data.draw(st.sampled_from([(), (2,)])), *want.shape)
    mask_shape = tuple(1 if data.draw(st.integers(0, 3)) == 0 else n for n in shape)
    mask = laid_out(mask_shape, "?", data.draw(st.sampled_from(LAYOUTS)), rng)
    for f in both(name):
        out = laid_out(shape, dtype, layout, rng)
        before = out.copy()
        assert f(*xy, out=out) is out
        full = before.copy()
        with np.errstate(all="ignore"):
            full[...] = want.astype(dtype)
        same(out, full)
        out[...] = before
        assert f(*xy, out=out, where=mask) is out
        same(out, np.where(mask, full, before))


@st.composite
def parts(draw, memory, count):
    """Views of one piece of memory that have the same shape; the last has no element twice."""
    one = draw(st.booleans())
    n = draw(st.integers(1, 9))
    m = draw(st.integers(1, 4))
    out = []
    for _ in range(count):
        if one:
            step = draw(st.sampled_from([1, 1, 2, 3, -1, -2]))
            low = draw(st.integers(0, len(memory) - (n - 1) * abs(step) - 1))
            view = memory[low : low + (n - 1) * abs(step) + 1 : abs(step)]
            out.append(view[::-1] if step < 0 else view)
        else:
            rows, cols = draw(st.sampled_from([(n, m), (n, m), (m, n)]))
            gap = draw(st.integers(0, 2))
            low = draw(st.integers(0, len(memory) - rows * (cols + gap)))
            view = memory[low : low + rows * (cols + gap)].reshape(rows, cols + gap)[:, :cols]
            out.append(view if (rows, cols) == (n, m) else view.T)
    return out


@SETTINGS
@given(
    st.sampled_from(["add", "subtract", "multiply", "xor"]), st.sampled_from(["i8", "f8", "u8"]), st.data()
)
def test_operands_that_overlap(name, dtype, data):
    """All is read before anything is written, whichever way the views share their memory."""
    if not fits(name, dtype):
        return
    memory = values(dtype, 60, np.random.default_rng(data.draw(st.integers(0, 2**32))))
    x, y, out = data.draw(parts(memory, 3))
    mask = data.draw(st.sampled_from([None, np.arange(out.size).reshape(out.shape) % 3 != 1]))
    want, before = expected(name, x.copy(), y.copy()), memory.copy()
    out[...] = want if mask is None else np.where(mask, want, out)
    after = memory.copy()
    for f in both(name):
        memory[:] = before
        f(x, y, out=out, **({} if mask is None else {"where": mask}))
        same(memory, after)


# --- types that are asked for ---

PAIRS = ["f4f4", "f8f8", "i8i8", "c8c8", "u1u1"]
DECLARED = {
    p: vectorize([f"{np.dtype(p[:2]).name}({np.dtype(p[:2]).name}, {np.dtype(p[:2]).name})"])(
        lambda x, y: x + y
    )
    for p in PAIRS
}


@SETTINGS
@given(
    st.sampled_from(PAIRS),
    operands(2),
    st.sampled_from(["no", "equiv", "safe", "same_kind", "unsafe"]),
    st.sampled_from([None, *DTYPES]),
)
def test_casting(pair, xy, casting, out_type):
    """Inputs and outputs convert by the same rules as those of a ufunc of NumPy's with one loop."""
    dt = pair[:2]
    char = np.dtype(dt).char
    loop = f"{char}{char}->{char}"
    out = None if out_type is None else np.zeros(np.broadcast_shapes(*[x.shape for x in xy]), out_type)
    results = []
    for f in (np.add, DECLARED[pair]):
        try:
            with np.errstate(all="ignore"):
                args = {"out": None if out is None else out.copy(), "casting": casting, "signature": loop}
                results.append(f(*xy, **args))
        except (TypeError, ValueError) as e:
            results.append(type(e).__mro__[-3])
    if isinstance(results[0], type):
        assert results[1] is results[0]
    elif not any(x.dtype.kind in "fc" and dt[0] in "iu" for x in xy) and not (
        out_type and np.dtype(dt).kind in "fc" and np.dtype(out_type).kind in "iub"
    ):  # a float that no integer holds is converted one way or another
        same(results[1], results[0])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("name", ["add", "subtract"])
def test_dtype(name, dtype):
    """`dtype=` says what is computed in."""
    rng = np.random.default_rng(5)
    for t in DTYPES:
        if not np.can_cast(t, dtype, "same_kind"):
            continue
        x, y = (laid_out((13,), t, layout, rng) for layout in ("C", "strided"))
        with np.errstate(all="ignore"):
            want = (
                getattr(np, name)(x, y, dtype=dtype)
                if t != "?"
                else getattr(np, name)(x.astype("u1"), y.astype("u1"), dtype=dtype)
            )
        for f in both(name):
            same(f(x, y, dtype=dtype), want)


# --- reduce and its kin ---

# Functions that may be applied in any order, with the identity they are told to have.
CLOSED = {
    "add": (lambda x, y: x + y, 0), "multiply": (lambda x, y: x * y, 1), "bitwise_xor": (lambda x, y: x ^ y, 0),
    "bitwise_or": (lambda x, y: x | y, 0), "maximum": (lambda x, y: x if x > y else y, "reorderable"),
}  # fmt: skip
FOLDS = {
    (n, target): vectorize(f, identity=i, target=target)
    for n, (f, i) in CLOSED.items()
    for target in ("cpu", "parallel")
}
WHOLE = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
STRICT = {target: vectorize(lambda x, y: x - y, target=target) for target in ("cpu", "parallel")}


def widened(a, name):
    """Integers are reduced in 64 bits; bits of bools and extremes stay what they are."""
    if name.startswith("bitwise") and a.dtype.kind == "b" or name == "maximum":
        return a.astype(a.dtype.newbyteorder("="))
    return a.astype(compute_type(a.dtype).newbyteorder("="))


@SETTINGS
@given(st.sampled_from(list(FOLDS)), operands(1, WHOLE), st.data())
def test_reduce(key, arrays, data):
    f, (a,) = FOLDS[key], arrays
    name = key[0]
    w = widened(a, name)
    axes = (
        st.lists(st.integers(0, a.ndim - 1), unique=True, max_size=a.ndim).map(tuple)
        if a.ndim
        else st.just(())
    )
    kw = {"axis": data.draw(st.one_of(st.none(), axes)), "keepdims": data.draw(st.booleans())}
    if name == "maximum" or data.draw(st.booleans()):
        kw["initial"] = data.draw(st.sampled_from([0, 1]))
    if data.draw(st.booleans()):
        kw["where"] = laid_out(
            a.shape, "?", data.draw(st.sampled_from(LAYOUTS)), np.random.default_rng(a.size)
        )
    want = getattr(np, name).reduce(w, dtype=w.dtype, **kw)
    same(f.reduce(a, **kw), want)
    out = laid_out(np.shape(want), w.dtype, "strided", np.random.default_rng(0))
    assert f.reduce(a, out=out, **kw) is out
    same(out, want)


@SETTINGS
@given(st.sampled_from(list(FOLDS)), operands(1, WHOLE), st.data())
def test_accumulate_and_reduceat(key, arrays, data):
    f, (a,) = FOLDS[key], arrays
    name = key[0]
    if a.ndim == 0:
        return
    w, numpys = widened(a, name), getattr(np, name)
    axis = data.draw(st.integers(-a.ndim, a.ndim - 1))
    same(f.accumulate(a, axis), numpys.accumulate(w, axis, dtype=w.dtype))
    if a.dtype == w.dtype:
        out = laid_out(a.shape, w.dtype, "strided", np.random.default_rng(0))
        same(f.accumulate(a, axis, out=out), numpys.accumulate(w, axis, dtype=w.dtype))
    if a.shape[axis]:
        at = data.draw(st.lists(st.integers(0, a.shape[axis] - 1), min_size=1, max_size=6))
        same(f.reduceat(a, at, axis), numpys.reduceat(w, at, axis, dtype=w.dtype))


@SETTINGS
@given(st.sampled_from(["cpu", "parallel"]), operands(1, ["f8", "f4", "f2", "i8", "c16"]), st.data())
def test_from_left_to_right(target, arrays, data):
    """A function for which the order matters meets the elements in order."""
    f, (a,) = STRICT[target], arrays
    if a.ndim == 0 or 0 in a.shape:
        return
    axis = data.draw(st.integers(0, a.ndim - 1))
    rows = np.moveaxis(a.astype("f4" if a.dtype == "f2" else a.dtype), axis, 0)
    with np.errstate(all="ignore"):
        steps = list(itertools.accumulate(rows, lambda x, y: x - y))
    want = np.stack(steps).astype(a.dtype.newbyteorder("="))
    if a.dtype == np.float16 and a.shape[axis] > 1:
        fits = (
            np.abs(steps).max(0) < 6e4
        )  # ours are rounded at each step, and might step over the largest number
        got = np.where(fits, f.reduce(a, axis), 0).astype("f4")
        np.testing.assert_allclose(got, np.where(fits, want[-1], 0).astype("f4"), rtol=0.01, atol=0.1)
        return
    same(f.reduce(a, axis), want[-1])
    same(f.accumulate(a, axis), np.moveaxis(want, 0, axis))


@SETTINGS
@given(st.sampled_from(list(FOLDS)), st.sampled_from(WHOLE), st.sampled_from(WHOLE), st.data())
def test_outer(key, x, y, data):
    f, name = FOLDS[key], key[0]
    if name == "maximum" and np.result_type(x, y) == "f8":  # int64 and uint64 have no type in common
        return
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    shapes = data.draw(st.tuples(*[st.lists(st.integers(0, 4), max_size=2)] * 2))
    a, b = (
        laid_out(tuple(s), t, data.draw(st.sampled_from(LAYOUTS)), rng)
        for s, t in zip(shapes, (x, y), strict=True)
    )
    got = f.outer(a, b)
    assert got.shape == a.shape + b.shape
    same(got, f(a.reshape(a.shape + (1,) * b.ndim), b))
    if x == y == "i8":
        same(got, getattr(np, name).outer(a, b))


@SETTINGS
@given(st.sampled_from(list(FOLDS)), st.sampled_from(["i8", "u8", "i4", "?"]), st.data())
def test_at(key, dtype, data):
    """One after the other, also where an index comes twice."""
    f, name = FOLDS[key], key[0]
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    shape = data.draw(st.sampled_from([(7,), (5, 4)]))
    a = laid_out(shape, dtype, data.draw(st.sampled_from(LAYOUTS[:-2])), rng)
    n = shape[0]
    index = data.draw(
        st.sampled_from([[0, 1, 1, -1, 0], slice(1, None, 2), rng.random(n) < 0.5, ([1, 1, 0],), []])
    )
    size = np.zeros(shape)[index].shape
    b = laid_out(
        size if data.draw(st.booleans()) else size[1:], dtype, data.draw(st.sampled_from(LAYOUTS)), rng
    )
    w = a.astype(widened(a, name).dtype)
    getattr(np, name).at(w, index, b.astype(w.dtype))
    f.at(a, index, b)
    same(a.astype(a.dtype.newbyteorder("=")), w.astype(a.dtype.newbyteorder("=")))


def test_types_do_not_depend_on_the_target():
    for name in FUNCTIONS:
        for t in DTYPES:
            if fits(name, t):
                a = np.ones(3, t)
                args = [a] * (2 if name in BINARY else 1)
                assert CPU[name](*args).dtype == PARALLEL[name](*args).dtype
    assert treadle.ufunc_info(PARALLEL["add"]).target == "parallel"
