"""Views, joining, stacking, repeating and the like, on all dtypes, ranks and layouts, against NumPy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st
from treadle import TreadleError, njit

sys.path.insert(0, str(Path(__file__).parent))
from arrays_check import ALL, agree, arrays, given  # noqa: E402
from builtins_check import rejects, run  # noqa: E402

ROOT = Path(__file__).parents[2]

# Of any array of rank 1 to 4.
ANY = """np.flip(a) | np.flip(a, 0) | np.expand_dims(a, 0) | np.expand_dims(a, -1) | np.atleast_1d(a) | np.atleast_2d(a) |
np.atleast_3d(a) | np.repeat(a, 2) | np.repeat(a, 3, axis=0) | a.repeat(2, -1) | np.repeat(a, 0) | np.tile(a, 2) |
np.tile(a, (2, 1, 3)) | np.roll(a, 1) | np.roll(a, -5) | np.roll(a, 7, axis=-1) | np.append(a, 5) | np.append(a, a, 0) |
np.concatenate((a, a)) | np.concatenate([a, a, a], -1) | np.concatenate((a, a[:1]), axis=None) | np.hstack((a, a)) |
np.vstack((a, a)) | np.dstack((a, a)) | np.column_stack((a, a)) | np.stack((a, a)) | np.stack((a, a), axis=-1) |
np.stack((a, a, a), axis=1) | np.array((a, a)) | np.tril(a) | np.triu(a, 1) | np.ravel(a, 'F') | a.flatten('F') |
np.broadcast_arrays(a, a[:1]) | np.moveaxis(a, 0, -1) | np.swapaxes(a, 0, -1) | np.broadcast_to(a, (3,) + a.shape) |
np.diff(a) | np.diff(a, axis=0) | np.diff(a, 2) | np.flipud(a) | np.concatenate((a, a), dtype=np.complex128)"""
# Of rank 2 or more.
MATRICES = """np.fliplr(a) | np.rot90(a) | np.rot90(a, 2) | np.rot90(a, -1) | np.diagonal(a) | np.diagonal(a, 1) | np.diagonal(a, -1) |
a.diagonal(0, 1, 0) | np.trace(a) | a.trace(1) | np.swapaxes(a, 0, 1) | np.moveaxis(a, (0, 1), (1, 0)) | np.flip(a, (0, 1)) |
np.expand_dims(a, (0, 2)) | np.transpose(a) | np.roll(a, -1, 1) | np.diff(a, 1, 0) | np.rot90(a, 1, (1, 0)) | np.rot90(a, 4)"""
VECTORS = """np.diag(a) | np.diag(a, 2) | np.diag(a, -1) | np.meshgrid(a, a[1:]) | np.meshgrid(a, a[1:], indexing='ij') |
np.meshgrid(a, a[:1], a) | np.column_stack((a, a, a)) | np.tril(a)"""


def expressions(text):
    return [e.strip().replace("\n", " ") for e in text.split("|")]


def check(expr, a):
    if expr.startswith(("np.diff", "np.trace")) and a.dtype.kind == "b" and "trace" not in expr:
        expr = "np.diff(a)"
    agree(expr, a)


@pytest.mark.parametrize("k", range(3))
@given(data=st.data())
def test_all_ranks(k, data):
    a = data.draw(arrays(ALL).filter(lambda x: x.ndim > 0))
    for expr in data.draw(st.lists(st.sampled_from(expressions(ANY)), min_size=4, max_size=4, unique=True)):
        check(expr, a)


@given(data=st.data())
def test_matrices(data):
    a = data.draw(arrays(ALL).filter(lambda x: x.ndim > 1))
    for expr in data.draw(
        st.lists(st.sampled_from(expressions(MATRICES)), min_size=4, max_size=4, unique=True)
    ):
        check(expr, a)
    if a.ndim == 2:
        agree("np.diag(a)", a)
        agree("np.diag(a, -1)", a)


@given(data=st.data())
def test_vectors(data):
    n = data.draw(st.sampled_from([0, 1, 2, 5]))
    a = data.draw(arrays(ALL, shape=(n,)))
    for expr in data.draw(
        st.lists(st.sampled_from(expressions(VECTORS)), min_size=3, max_size=3, unique=True)
    ):
        check(expr, a)


@pytest.mark.parametrize("text", [ANY, MATRICES, VECTORS])
def test_every_expression(text):
    a = {
        ANY: np.arange(24.0).reshape(2, 3, 4),
        MATRICES: np.arange(12).reshape(3, 4),
        VECTORS: np.arange(5.0),
    }[text]
    for expr in expressions(text):
        agree(expr, a)


@given(data=st.data())
def test_parts_of_several_types(data):
    shape = tuple(data.draw(st.lists(st.sampled_from([0, 1, 2, 3]), min_size=1, max_size=3)))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    other = list(shape)
    other[axis] = data.draw(st.sampled_from([0, 1, 4]))
    a, b = data.draw(arrays(ALL, shape=shape)), data.draw(arrays(ALL, shape=tuple(other)))
    agree(f"np.concatenate((a, b), axis={axis})", a, b)
    agree(f"np.append(a, b, axis={axis})", a, b)
    agree("np.concatenate((a, b), axis=None)", a, b)
    c = data.draw(arrays(ALL, shape=shape))
    agree(f"np.stack((a, b), axis={axis})", a, c)
    agree("np.array([a, b])", a, c)


@given(data=st.data())
def test_reshape_in_both_orders(data):
    shape = data.draw(st.sampled_from([(2, 3, 4), (24,), (4, 6), (1, 24), (2, 0, 3), ()]))
    a = data.draw(arrays(ALL, shape=shape))
    to = (
        data.draw(st.sampled_from(["6, 4", "-1", "2, -1, 2", "24, 1", "3, 8"]))
        if a.size == 24
        else f"{a.size}, 1"
    )
    for expr in (f"a.reshape({to})", f"a.reshape({to}, order='F')", f"np.reshape(a, ({to},), order='F')"):
        agree(expr, a)


def test_squeeze():
    a = np.arange(6.0).reshape(1, 2, 1, 3)
    for expr in ("np.squeeze(a, 0)", "a.squeeze(axis=2)", "np.squeeze(a, axis=(0, 2))", "np.squeeze(a, -2)"):
        agree(expr, a)
    with pytest.raises(ValueError, match="not equal to one: 2"):
        run("np.squeeze(a, axis=1)", a)
    rejects("np.squeeze(a)", a, match="without axis")


def test_made_of_numbers():
    for expr in ("np.hstack((1, 2, 3))", "np.vstack((1, 2.5))", "np.append(1, 2)", "np.tile(3, 4)", "np.repeat(2.5, 3)",
                 "np.broadcast_to(5, (2, 3))", "np.tri(3)", "np.tri(3, 4, 1)", "np.tri(3, 2, -1, dtype=np.int8)", "np.tri(0)",
                 "np.tri(-1)", "np.meshgrid(1, 2)"):  # fmt: skip
        agree(expr)


def test_views_share_memory():
    @njit
    def f(a):
        np.flip(a, 1)[0, 0] = 1
        np.swapaxes(a, 0, 1)[1, 0] = 2
        np.expand_dims(a, 0)[0, 1, 1] = 3
        np.moveaxis(a, 0, 1)[0, 1] = 4
        np.rot90(a)[0, 0] += 10
        np.atleast_2d(a)[2, 0] = 5
        return np.squeeze(np.expand_dims(a, 2), 2)

    a, b = np.zeros((3, 3)), np.zeros((3, 3))
    assert np.shares_memory(f(a), a)
    np.testing.assert_array_equal(a, f.py_func(b))


def test_views_that_cannot_be_written_to():
    for expr in ("np.broadcast_to(a, (2, 3))", "np.diagonal(a)"):
        a = np.ones((3, 3)) if "diag" in expr else np.ones(3)
        assert not run(expr, a).flags.writeable
    space: dict = {"np": np}
    exec("def f(a):\n    np.diagonal(a)[0] = 1\n", space)
    with pytest.raises(TreadleError, match="read-only"):
        njit(space["f"])(np.ones((2, 2)))


def test_sizes_that_do_not_fit():
    a = np.arange(6.0).reshape(2, 3)
    for expr in (
        "np.concatenate((a, a[:, 1:]))",
        "np.stack((a, a[1:]))",
        "np.hstack((a, a[1:]))",
        "np.array((a, a[1:]))",
    ):
        with pytest.raises(ValueError, match="dimensions|same shape"):
            run(expr, a)
    with pytest.raises(ValueError, match="broadcast"):
        run("np.broadcast_to(a, (4, 3))", a)
    with pytest.raises(ValueError, match="broadcast"):
        run("np.broadcast_arrays(a, a[:, 1:])", a)
    with pytest.raises(ValueError, match="negative"):
        run("np.repeat(a, b)", a, -1)


def test_the_page_of_functions_is_current():
    done = subprocess.run([sys.executable, ROOT / "tools/gen_numpy.py", "--check"])
    assert done.returncode == 0, "run tools/gen_numpy.py"


def test_wrong_arguments():
    a = np.arange(6.0).reshape(2, 3)
    rejects("np.concatenate(a)", a, match="takes a tuple or list of arrays")
    rejects("np.concatenate(())", match="at least one array")
    rejects("np.concatenate((a, a[0]))", a, match="same number of dimensions")
    rejects("np.concatenate((a, a), axis=2)", a, match="out of bounds")
    rejects("np.concatenate((a, a), dtype=np.int8)", a, match="cannot cast float64 to int8")
    rejects("np.concatenate((1, 2))", match="zero-dimensional arrays cannot be concatenated")
    rejects("np.moveaxis(a, 0, (0, 1))", a, match="same number of axes")
    rejects("np.moveaxis(a, (0, 0), (0, 1))", a, match="repeated axis")
    rejects("np.expand_dims(a, (0, 0))", a, match="repeated axis")
    rejects("np.flip(a, 2)", a, match="out of bounds")
    rejects("np.fliplr(a)", a[0], match="2 dimensions or more")
    rejects("np.rot90(a, b)", a, 1.0, match="k must be a constant")
    rejects("np.rot90(a, 1, (0, 0))", a, match="axes must be different")
    rejects("np.diagonal(a)", a[0], match="two dimensions or more")
    rejects("np.diagonal(a, 0, 1, 1)", a, match="cannot be the same")
    rejects("np.diag(a)", np.ones((2, 2, 2)), match="a vector or a matrix")
    rejects("np.diff(a, b)", a, 1.5, match="n must be an integer")
    rejects("np.repeat(a, b)", a, np.array([1.5, 2]), match="repeats are integers")
    rejects("np.meshgrid(a, indexing='ab')", a[0], match="indexing must be")
    rejects("np.tri(3, dtype='x')", match="not a dtype")
    rejects("np.tril(a)", np.array(1.0), match="without axes")
    rejects("np.atleast_1d(a, a)", a, match="takes one array")
    rejects("a.reshape(3, 2, order='K')", a, match="order other than 'C', 'F' and 'A'")
    rejects("np.array([[a, a], [a, a]])", a, match="number of dimensions|sequence of arrays")


@pytest.mark.parametrize("k", [-(2**63), 1 - 2**63, 2**63 - 1])
def test_diagonals_far_outside(k):
    """NumPy takes no number this large; they are what a smaller one gives that lies outside, too."""
    a, near = np.arange(1.0, 10).reshape(3, 3), 5 if k > 0 else -5
    for expr in (
        "np.diag(a, {})",
        "np.diagonal(a, {})",
        "np.trace(a, {})",
        "np.triu(a, {})",
        "np.tril(a, {})",
    ):
        want = eval(expr.format(near), {"np": np, "a": a})
        np.testing.assert_array_equal(run(expr.format("b"), a, k), want)
        np.testing.assert_array_equal(run(expr.format(k), a), want)
    for expr in ("np.eye(3, 3, a)", "np.tri(3, 3, a)"):
        np.testing.assert_array_equal(run(expr, k), eval(expr, {"np": np, "a": near}))
    with pytest.raises(ValueError):
        run("np.diag(a[0], b)", a, k)
