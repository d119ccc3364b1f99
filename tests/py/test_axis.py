"""Axes that an array does not have: NumPy's AxisError for every function that takes one, while compiling or at run time."""

from __future__ import annotations

import numpy as np
import pytest
import treadle
from treadle import guvectorize, njit
from treadle.errors import AxisError, TypingError

# {k}: the axis, which may be -2 to 1
CONSTANT = [
    *(
        f"a.{m}(axis={{k}})"
        for m in "sum prod mean std var min max argmin argmax any all cumsum cumprod ptp".split()
        if m != "ptp"
    ),
    *(
        f"np.{m}(a, axis={{k}})"
        for m in "sum mean amin argmax any all cumsum ptp count_nonzero diff flip".split()
    ),
    "a.sum(axis=(0, {k}))",
    "a.sum(axis={k}, keepdims=True)",
    "np.concatenate((a, a), axis={k})",
    "np.append(a, a, axis={k})",
    "np.take(a, b, axis={k})",
    "a.take(b, axis={k})",
    "np.repeat(a, 2, axis={k})",
    "np.roll(a, 1, axis={k})",
    "np.swapaxes(a, 0, {k})",
    "np.moveaxis(a, 0, {k})",
    "np.moveaxis(a, {k}, 0)",
    "np.transpose(a, (0, {k}))",
    "np.squeeze(a, axis={k})",
    "np.diagonal(a, 0, 0, {k})",
    "np.trace(a, 0, 0, {k})",
]
AT_RUN_TIME = [
    "a.sum(axis=k)",
    "np.mean(a, axis=k)",
    "a.max(axis=k)",
    "a.argmin(axis=k)",
    "np.any(a, axis=k)",
    "a.std(axis=k)",
]


def function(text: str):
    names: dict[str, object] = {"np": np}
    exec(f"def f(a, b, k):\n    return {text}\n", names)
    return names["f"]


@pytest.mark.parametrize("text", CONSTANT)
def test_constant(text):
    a, b = np.arange(6.0).reshape(2, 3), np.array([0])
    for k in (2, -3, 100):
        f = function(text.format(k=k))
        with pytest.raises(np.exceptions.AxisError) as want:
            f(a, b, 0)
        with pytest.raises(np.exceptions.AxisError) as got:
            njit(f)(a, b, 0)
        numpys = f"axis {k} is out of bounds for array of dimension 2"
        assert numpys in str(want.value) and numpys in str(got.value)
        assert "<string>:2" in str(got.value) and isinstance(got.value, TypingError)


@pytest.mark.parametrize(
    "text, k, n",
    [
        ("np.expand_dims(a, {k})", 3, 3),
        ("np.expand_dims(a, {k})", -4, 3),
        ("np.stack((a, a), axis={k})", 3, 3),
    ],
)
def test_constant_of_one_more(text, k, n):
    f = function(text.format(k=k))
    a = np.ones((2, 3))
    for g in (f, njit(f)):
        with pytest.raises(
            np.exceptions.AxisError, match=f"axis {k} is out of bounds for array of dimension {n}"
        ):
            g(a, a, 0)


@pytest.mark.parametrize("options", [{}, {"parallel": True}], ids=["cpu", "parallel"])
@pytest.mark.parametrize("text", AT_RUN_TIME)
def test_at_run_time(text, options):
    f = function(text)
    g = njit(**options)(f)
    h = njit(lambda a, k: g(a, a, k))
    a = np.arange(6.0).reshape(2, 3)
    for k in (-2, -1, 0, 1):
        np.testing.assert_array_equal(g(a, a, k), f(a, a, k))
    for k in (2, -3, 100):
        for call in (f, g, lambda a, _, k: h(a, k)):
            with pytest.raises(np.exceptions.AxisError) as e:
                call(a, a, k)
            assert str(e.value) == f"axis {k} is out of bounds for array of dimension 2"
            assert isinstance(e.value, ValueError) and isinstance(e.value, IndexError)


def test_in_a_gufunc():
    @guvectorize("(m,n),()->(n)")
    def down(a, k, out):
        out[:] = a.sum(axis=int(k))

    a = np.arange(6.0).reshape(2, 3)
    assert down(a[:, :2], 0).tolist() == [3, 5]
    with pytest.raises(np.exceptions.AxisError, match="^axis 2 is out of bounds for array of dimension 2$"):
        down(a, 2)


def test_the_class():
    assert (
        treadle.AxisError is AxisError
        and issubclass(AxisError, (TypingError,))
        and issubclass(AxisError, np.exceptions.AxisError)
    )
    assert (
        issubclass(AxisError, treadle.TreadleError)
        and issubclass(AxisError, (TypeError,))
        and issubclass(AxisError, ValueError)
    )
