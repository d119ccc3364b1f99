"""Quotients of complex numbers, bit for bit: NumPy's for complex64 and between arrays, CPython's for two numbers of 128 bits. Their functions: test_complex_functions.py."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from treadle import njit, vectorize

sys.path.insert(0, str(Path(__file__).parent))
from builtins_check import given, result_type, run  # noqa: E402
from sizes import examples

SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, 3.0, 1e30, 1e-30, math.inf, -math.inf, math.nan]
parts = st.one_of(st.sampled_from(SPECIAL), st.floats(-10, 10), st.floats(width=32))
numbers = st.builds(complex, parts, parts)


def bits(x):
    """The bits of a complex array, every NaN the same."""
    flat = np.atleast_1d(np.asarray(x))
    flat = flat.view(flat.real.dtype).copy()
    flat[np.isnan(flat)] = np.nan
    return flat.tobytes()


def numpys(x, y):
    with np.errstate(all="ignore"):
        return np.divide(x, y)


@given(x=numbers, y=numbers)
def test_complex64_is_numpys(x, y):
    with np.errstate(all="ignore"):
        x, y = np.complex64(x), np.complex64(y)
    got = np.complex64(run("a / b", x, y, error_model="numpy"))
    assert bits(got) == bits(numpys(x, y))


@given(x=numbers, y=numbers)
def test_complex128_is_cpythons(x, y):
    if y == 0 or (sys.version_info >= (3, 14) and np.isinf(y)):
        return  # from 3.14 on CPython finds quotients by infinite numbers as C99's annex G has them; ours are those of 3.11 to 3.13
    assert bits(run("a / b", x, y)) == bits(x / y)
    got = run("a / b", x, y, error_model="numpy")
    assert bits(got) == bits(x / y)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@hypothesis.settings(deadline=None, max_examples=examples(60))
@hypothesis.given(pairs=st.lists(st.tuples(numbers, numbers), min_size=1, max_size=40))
def test_arrays_are_numpys(dtype, pairs):
    with np.errstate(all="ignore"):
        x, y = np.array(pairs, dtype=dtype).T.copy()
    want = numpys(x, y)
    assert bits(run("a / b", x, y)) == bits(want)
    assert bits(run("np.divide(a, b)", x, y)) == bits(want)
    assert bits(run("a / b", x, y[:1])) == bits(numpys(x, y[:1]))


def test_long_arrays_are_numpys():
    """Long enough for every vector width and its rest."""
    rng = np.random.default_rng(5)
    for dtype in ("complex64", "complex128"):
        x, y = ((rng.standard_normal((2, 1037)) * 10.0 ** rng.integers(-9, 9, (2, 1037))) for _ in "xy")
        x, y = (x[0] + 1j * x[1]).astype(dtype), (y[0] + 1j * y[1]).astype(dtype)
        assert bits(run("a / b", x, y)) == bits(numpys(x, y))

        def into(x, y):
            x /= y

        x2 = x.copy()
        njit(into)(x2, y)
        assert bits(x2) == bits(numpys(x, y))


def test_types_and_zeros():
    one = np.complex64(1 + 2j)
    assert result_type("a / b", one, one) == "complex64"
    assert result_type("a / 2", one) == "complex64"
    assert run("a / 2", one) == 0.5 + 1j
    for zero in (0j, complex(-0.0, 0.0), complex(0.0, -0.0)):
        with pytest.raises(ZeroDivisionError, match="division by zero"):
            run("a / b", 1j, zero)
        assert bits(run("a / b", 1 + 2j, zero, error_model="numpy")) == bits(complex(math.inf, math.inf))


@pytest.mark.parametrize("name", ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"])
@given(x=numbers, y=numbers)
def test_order_is_numpys(name, x, y):
    """A NaN in an imaginary part makes every order false."""
    with np.errstate(all="ignore"):
        want = getattr(np, name)(np.complex128(x), np.complex128(y))
    assert run(f"np.{name}(a, b)", x, y) == want
    assert run(f"np.{name}(a, b)", np.array([x]), y)[0] == want


def test_exact_roots():
    f = njit(lambda z: np.sqrt(z))
    for z in (3 + 4j, -4 + 0j, complex(-4, -0.0), 5 - 12j, 2j, -2j, 1e300 * (3 + 4j), 2.0**-1060 * (3 + 4j)):
        assert f(z) == np.sqrt(z) and bits(f(z)) == bits(np.sqrt(z)), z


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("power", [np.inf, -np.inf])
def test_powers_by_an_infinity_are_numpys(dtype, power):
    """Bases within one rounding of length 1 left out: it shows in the logarithm alone."""
    z = np.array(
        [x + 1j * y for x in (2, 0.5, -0.5, -2, 0, 1, -1, np.inf, np.nan) for y in (0, 0.1, -0.3, 7, -1)]
    )
    z = np.concatenate([z, np.conj(z), -z]).astype(dtype)

    def show(values):
        return [repr(complex(v)) for v in values]

    def f(a, b):
        return a**b

    with np.errstate(all="ignore"):
        want = show(z ** dtype(power))
    assert show(njit(f)(z, power)) == want
    assert show(njit(f)(z, dtype(power))) == want
    assert show(vectorize(f)(z, dtype(power))) == want
    if dtype is np.complex128:
        assert show(njit(f)(complex(v), power) for v in z) == want
    constant = njit(lambda a: a**np.inf) if power > 0 else njit(lambda a: a**-np.inf)
    assert show(constant(z)) == want
