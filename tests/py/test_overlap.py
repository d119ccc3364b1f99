"""Functions that store into an argument while they read others: what shares memory with it is read as it was before."""

import itertools

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import njit
from treadle._library import separate

# Views of 24 numbers, ten each, and four by four.
LINES = {
    "first": lambda x: x[:10],
    "next": lambda x: x[1:11],
    "far": lambda x: x[14:],
    "every second": lambda x: x[:20:2],
    "the others": lambda x: x[1:20:2],
    "backwards": lambda x: x[9::-1],
    "backwards, next": lambda x: x[10:0:-1],
}
MATRICES = {
    "whole": lambda x: x[:16].reshape(4, 4),
    "transposed": lambda x: x[:16].reshape(4, 4).T,
    "next": lambda x: x[1:17].reshape(4, 4),
    "next row": lambda x: x[4:20].reshape(4, 4),
    "wide": lambda x: x.reshape(4, 6)[:, :4],
    "wide, far": lambda x: x.reshape(4, 6)[:, 2:],
    "upside down": lambda x: x[:16].reshape(4, 4)[::-1],
}


def put_values(x, a, b):
    np.put(x, np.array([3, 1, 2, 7, 5, 9, 8, 0]), a)


def put_at(x, a, b):
    np.put(x, a, 77)


def put(x, a, b):
    np.put(x, a, b)


def put_clip(x, a, b):
    np.put(x, a + 3, b, mode="clip")


def put_wrap(x, a, b):
    x.put(a * 3, b, mode="wrap")


def put_along_none(x, a, b):
    np.put_along_axis(x, a, b, None)


def put_along(x, a, b):
    np.put_along_axis(x, a, b, 0)


def putmask(x, a, b):
    np.putmask(x, b > 4, a)


def putmask_few(x, a, b):
    np.putmask(x, b > 4, a[:3])


def putmask_of(x, a, b):
    np.putmask(x, a, b[:4])


def copyto_where(x, a, b):
    np.copyto(x, a + 1, where=b > 4)


def assign_at(x, a, b):
    x[a] = b


def assign_at_itself(x, a, b):
    x[a] = x + b


def add_at(x, a, b):
    np.add.at(x, a, b)


def subtract_at(x, a, b):
    np.subtract.at(x, a, b)


def maximum_at(x, a, b):
    np.maximum.at(x, a, b)


def choose(x, a, b):
    np.choose(a % 3, (b + 1, a, b), out=x)


def choose_wrap(x, a, b):
    np.choose(a, (b, a, a + 5), out=x, mode="wrap")


def take(x, a, b):
    np.take(a, b, out=x)


def take_wrap(x, a, b):
    a.take(b * 3, out=x, mode="wrap")


def cumsum(x, a, b):
    np.cumsum(a, out=x)


def cumulative_sum(x, a, b):
    np.cumulative_sum(a, out=x)


def cumulative_sum_from_0(x, a, b):
    np.cumulative_sum(a[:-1], out=x, include_initial=True)


def cumulative_prod(x, a, b):
    np.cumulative_prod(a, axis=0, out=x)


def nancumsum(x, a, b):
    np.nancumsum(a, out=x)


def accumulate(x, a, b):
    np.subtract.accumulate(a, out=x)


def reduceat(x, a, b):
    np.add.reduceat(a, b, out=x)


def reduceat_folded(x, a, b):
    np.subtract.reduceat(a, b, out=x)


def clip(x, a, b):
    np.clip(a, b, b + 2, out=x)


def add(x, a, b):
    np.add(a, b, out=x, where=a > 4)


def at_mask(x, a, b):
    x[a > 4] += b[a > 4]


OF_LINES = [
    put_values,
    put_at,
    put,
    put_clip,
    put_wrap,
    put_along_none,
    put_along,
    putmask,
    putmask_few,
    putmask_of,
    copyto_where,
    assign_at,
    assign_at_itself,
    add_at,
    subtract_at,
    maximum_at,
    choose,
    choose_wrap,
    take,
    take_wrap,
    cumsum,
    nancumsum,
    accumulate,
    reduceat,
    reduceat_folded,
    clip,
    add,
    at_mask,
]
if hasattr(np, "cumulative_sum"):
    OF_LINES += [cumulative_sum, cumulative_sum_from_0, cumulative_prod]


def dot(x, a, b):
    np.matmul(a, b, out=x)


def dot_vector(x, a, b):
    np.matmul(a, b[:, 1], out=x[:, 2])


def multi_dot(x, a, b):
    x[...] = np.linalg.multi_dot((a, b, a))


def outer(x, a, b):
    np.outer(a[:, 0], b[1], out=x)


def sum_rows(x, a, b):
    np.sum(a, axis=0, out=x[1])


def argmax(x, a, b):
    np.argmax(a, axis=1, out=x[0])


def ptp(x, a, b):
    np.ptp(a, axis=0, out=x[1])


def sums(x, a, b):
    np.cumsum(a, axis=0, out=x)


def folds(x, a, b):
    np.subtract.accumulate(a, axis=1, out=x)


def fold(x, a, b):
    np.subtract.reduce(a, axis=0, out=x[2])


def reduceat_rows(x, a, b):
    np.add.reduceat(a, np.array([0, 2, 1, 3]), axis=1, out=x)


def take_columns(x, a, b):
    np.take(a, b[0] % 4, axis=1, out=x)


def take_clip(x, a, b):
    np.take(a, b[:, 1], axis=0, out=x, mode="clip")


def put_matrix(x, a, b):
    np.put(x, a, b, mode="wrap")


def put_along_rows(x, a, b):
    np.put_along_axis(x, a % 4, b, 1)


def putmask_matrix(x, a, b):
    np.putmask(x, b > 4, a[0])


def rows(x, a, b):
    x[a[0] % 4] = b


def items(x, a, b):
    x[a % 4, b % 4] = b + 1


def add_at_items(x, a, b):
    np.add.at(x, (a % 4, b % 4), a)


def choose_rows(x, a, b):
    np.choose(a % 4, (a[0], b[1], a, b), out=x)


def nan_extreme(x, a, b):
    np.nanmax(a, axis=1, out=x[0])


OF_MATRICES = [
    dot,
    dot_vector,
    multi_dot,
    outer,
    sum_rows,
    argmax,
    ptp,
    sums,
    folds,
    fold,
    reduceat_rows,
    take_columns,
    take_clip,
    put_matrix,
    put_along_rows,
    putmask_matrix,
    rows,
    items,
    add_at_items,
    choose_rows,
    nan_extreme,
]


def floats(x, a, b):
    np.median(a, axis=0, out=x[1])
    np.nanmedian(x, axis=1, out=b[2])
    np.mean(b, axis=0, out=x[:, 1])
    np.nanstd(x, axis=1, out=b[0])
    np.quantile(b, np.array([0.3, 0.4, 0.5, 0.75]), axis=0, out=x)


def place(x, a, b):
    np.place(x, b > 4, a)


def place_few(x, a, b):
    np.place(x, b > 4, a[:3])


def place_of(x, a, b):
    np.place(x, a, b)


def diagonal(x, a, b):
    np.fill_diagonal(x[:9].reshape(3, 3), a[:3])


def diagonal_matrix(x, a, b):
    np.fill_diagonal(x, a)


def diagonal_column(x, a, b):
    np.fill_diagonal(x[:, :3], a[:, 1], wrap=True)


COMPILED = {}


def compiled(f, views, dtype):
    """With arrays of any layout, so that all views run one code."""
    if (f, dtype) not in COMPILED:
        t = f"{dtype}[:]" if views is LINES else f"{dtype}[:,:]"
        COMPILED[f, dtype] = njit(f"void({t},{t},{t})")(f)
    return COMPILED[f, dtype]


def numbers(seed, dtype="i8"):
    if seed == 0:
        return (np.arange(24) * 7 % 10).astype(dtype)
    return (np.random.default_rng(seed).permutation(24) % 10).astype(dtype)


def put_along_none_by_hand(x, a, b):
    if a.max() >= x.size:
        raise IndexError
    for i, v in zip(a, b):
        x[i] = v


def choose_wrap_by_hand(x, a, b):
    x[...] = [(b, a, a + 5)[i % 3][k] for k, i in enumerate(a)]


# Where NumPy refuses strided arrays (put_along_axis), and stores them as if they were not (choose).
BY_HAND = {put_along_none: put_along_none_by_hand, choose_wrap: choose_wrap_by_hand}


def outcome(f, views, pick, seed, dtype="i8", read_before=False):
    """What 24 numbers become, or the class of what was raised."""
    base = numbers(seed, dtype)
    x, a, b = (views[k](base) for k in pick)
    if read_before:
        a, b = a.copy(), b.copy()
        f = BY_HAND.get(f, f)
    try:
        f(x, a, b)
    except (IndexError, ValueError) as e:
        return type(e)  # what was stored before differs
    return base.tolist()


def check(f, views, pick, seed):
    want = outcome(f, views, pick, seed, read_before=True)
    assert outcome(compiled(f, views, "i8"), views, pick, seed) == want
    assert outcome(njit_of(f), views, pick, seed) == want


def njit_of(f):
    """With what is known of each argument."""
    if f not in COMPILED:
        COMPILED[f] = njit(f)
    return COMPILED[f]


@pytest.mark.parametrize("f", OF_LINES)
def test_lines(f):
    g = compiled(f, LINES, "i8")
    for pick, seed in itertools.product(itertools.product(LINES, repeat=3), (0, 1)):
        want = outcome(f, LINES, pick, seed, read_before=True)
        assert outcome(g, LINES, pick, seed) == want, (pick, seed)


@pytest.mark.parametrize("f", OF_MATRICES)
def test_matrices(f):
    g = compiled(f, MATRICES, "i8")
    for pick, seed in itertools.product(itertools.product(MATRICES, repeat=3), (0, 1)):
        want = outcome(f, MATRICES, pick, seed, read_before=True)
        assert outcome(g, MATRICES, pick, seed) == want, (pick, seed)


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_any(data):
    views, functions = data.draw(st.sampled_from([(LINES, OF_LINES), (MATRICES, OF_MATRICES)]))
    pick = data.draw(st.tuples(*[st.sampled_from(sorted(views))] * 3))
    check(data.draw(st.sampled_from(functions)), views, pick, data.draw(st.integers(0, 50)))


@pytest.mark.parametrize("f", [place, place_few, place_of, diagonal])
def test_as_numpy_stores_lines(f):
    """What NumPy stores while it reads; but where it stores in a copy of the target."""
    for pick, seed in itertools.product(itertools.product(LINES, repeat=3), (0, 1)):
        want = outcome(f, LINES, pick, seed)
        assert outcome(compiled(f, LINES, "i8"), LINES, pick, seed) == want, (pick, seed)


@pytest.mark.parametrize("f", [diagonal_matrix, diagonal_column])
def test_as_numpy_stores_matrices(f):
    for pick, seed in itertools.product(itertools.product(MATRICES, repeat=3), (0, 1)):
        want = outcome(f, MATRICES, pick, seed)
        assert outcome(compiled(f, MATRICES, "i8"), MATRICES, pick, seed) == want, (pick, seed)


def test_floats():
    for pick in itertools.product(MATRICES, repeat=2):
        got, want = numbers(3, "f8"), numbers(3, "f8")
        for f, base in ((njit_of(floats), got), (floats, want)):
            a, b = MATRICES[pick[0]](base), MATRICES[pick[1]](base)
            f(a, a, b)
        np.testing.assert_allclose(got, want, rtol=1e-12)


@njit
def apart_from(x, to):
    y = separate(x, to)
    to[:] = 0
    return y


@pytest.mark.parametrize("view", LINES.values())
def test_what_is_read_meanwhile_is_separate(view):
    for f in (apart_from, apart_from.py_func):
        base = numbers(1)
        want = view(base).tolist()
        assert f(view(base), base[:12]).tolist() == want
    assert apart_from(3, np.ones(2)) == 3


@njit
def of_other_types(x, a):
    np.put(x, a, a + 1)
    np.place(x, x > 2, a)
    np.fill_diagonal(x[:4].reshape(2, 2), a)


def test_arrays_of_other_types():
    """Memory is shared by arrays of two types: what NumPy converts, it has read before."""
    got, want = np.arange(12) % 5, np.arange(12) % 5
    of_other_types(got, got.view("i4")[:12:2])
    of_other_types.py_func(want, want.view("i4")[:12:2])
    assert got.tolist() == want.tolist()


@njit
def shuffled(x, seed):
    np.random.seed(seed)
    np.random.shuffle(x)
    x.sort()
    x.partition(3)
    np.nan_to_num(x, copy=False)
    return x


def test_in_place():
    for view in LINES.values():
        base = numbers(5)
        want = base.copy()
        view(want).sort()
        shuffled(view(base), 3)
        assert base.tolist() == want.tolist()


@njit
def sums_into(a, out):
    return np.cumulative_sum(a, axis=1, out=out, include_initial=True)


@pytest.mark.skipif(not hasattr(np, "cumulative_sum"), reason="NumPy 1 has no cumulative_sum")
def test_sums_into_an_array_that_is_given():
    a, got = np.arange(12).reshape(3, 4), np.ones((3, 5), np.int64)
    assert sums_into(a, got) is got
    assert got.tolist() == np.hstack((np.zeros((3, 1), int), np.cumsum(a, 1))).tolist()


@njit
def taken_into(a, i, out):
    return np.take(a, i, axis=0, out=out)


def test_items_into_an_array_that_is_given():
    a, out = np.arange(12.0).reshape(3, 4), np.zeros((2, 4))
    assert taken_into(a, np.array([2, 0]), out) is out
    assert out.tolist() == a[[2, 0]].tolist()
    with pytest.raises(ValueError, match="output array has an axis"):
        taken_into(a, np.array([2, 0, 1]), out)
    with pytest.raises(treadle.TypingError, match="out must be an array of 2 dimensions"):
        taken_into(a, np.array([2, 0]), np.zeros(4))
