"""np.random.Generator in compiled code, bit for bit: each draw, and the state that it leaves, against the same object in NumPy. And np.random's distributions with arrays as parameters."""

from __future__ import annotations

import gc
import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import MT19937, PCG64, PCG64DXSM, SFC64, Generator, Philox
from treadle import cuda, njit, prange, vectorize
from treadle.errors import LoweringError, TypingError, UnsupportedError

BITS = [PCG64, PCG64DXSM, MT19937, Philox, SFC64]
bits = pytest.mark.parametrize("kind", BITS, ids=lambda k: k.__name__)
SPACE = {"np": np}


def compiled(call: str, params: str = "rng", **options):
    """The function that computes `call`, compiled and not."""
    space = dict(SPACE)
    exec(f"def f({params}):\n    return {call}", space)
    return njit(**options)(space["f"]), space["f"]


def state(rng: Generator):
    return pickle.dumps(rng.bit_generator.state)


def same(got, want, call=""):
    """Equal to the last bit, with NumPy's dtype and shape where they are arrays."""
    if isinstance(want, tuple):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            same(g, w, call)
        return
    if isinstance(want, np.ndarray):
        assert (got.dtype, got.shape) == (want.dtype, want.shape), call
    np.testing.assert_array_equal(got, want, err_msg=call)


def agree(call: str, kind=PCG64, seeds=(1, 77), times: int = 3, made=None):
    """The call, some times over, is what NumPy makes of it, and the bit generator is where NumPy leaves it."""
    f, plain = made or compiled(call)
    for seed in seeds:
        a, b = Generator(kind(seed)), Generator(kind(seed))
        for _ in range(times):
            same(f(a), plain(b), call)
            assert state(a) == state(b), call
        same(a.random(3), b.random(3))


FLOATS = [
    "random()", "random(7)", "random((2, 3))", "random(size=())", "random(0)", "random(dtype=np.float32)", "random(5, np.float32)", "random(5, dtype='f8')",
    "standard_normal()", "standard_normal(300)", "standard_normal(size=(2, 2), dtype=np.float32)", "standard_normal(dtype=np.float32)",
    "standard_exponential()", "standard_exponential(300)", "standard_exponential(9, np.float32)", "standard_exponential(9, method='inv')", "standard_exponential(method='inv')", "standard_exponential(4, np.float32, 'inv')",
    "standard_gamma(0.3)", "standard_gamma(1.0, 5)", "standard_gamma(5.5, 5)", "standard_gamma(0.5, 4, dtype=np.float32)", "standard_gamma(2.5, dtype=np.float32)",
    "normal()", "normal(2.5)", "normal(1, 3.0)", "normal(1, 3.0, 50)", "normal(scale=0.0)", "uniform()", "uniform(-3)", "uniform(-2.0, high=5)", "uniform(-2.0, 5, (3, 2))", "uniform(2, 2)",
    "beta(0.5, 0.5)", "beta(2.0, 3.0, 9)", "beta(0.5, 4)", "exponential()", "exponential(2.5)", "exponential(2.5, 40)", "exponential(0)", "chisquare(1)", "chisquare(7.5, 5)", "f(2.0, 3)", "f(0.7, 12.0, 4)",
    "gamma(0.3)", "gamma(1.0, 2.0)", "gamma(5.5, 0.5, 8)", "gamma(0.0)", "gumbel()", "gumbel(1.0, 2.0, 5)", "laplace()", "laplace(1.0, 2.0, 5)", "logistic()", "logistic(-1, 0.5, 5)", "lognormal()", "lognormal(0.5, 0.25, 5)",
    "noncentral_chisquare(3.0, 2.0)", "noncentral_chisquare(0.5, 2.0, 5)", "noncentral_f(2.0, 3.0, 1.5)", "noncentral_f(0.8, 3.0, 1.5, 5)", "pareto(0.5)", "pareto(3.0, 5)", "power(0.5)", "power(5, 5)", "rayleigh()", "rayleigh(3.0, 5)",
    "standard_cauchy()", "standard_cauchy(5)", "standard_t(1)", "standard_t(30.0, 5)", "triangular(0, 1, 3)", "triangular(-1.0, -1.0, 2.0, 5)", "vonmises(0.0, 1e-9)", "vonmises(3.0, 4.0, 5)", "wald(1.0, 1.0)", "wald(3.0, 0.2, 5)", "weibull(0.0)", "weibull(4, 5)",
]  # fmt: skip
COUNTS = [
    "binomial(10, 0.3)", "binomial(10, 0.7, 9)", "binomial(1000, 0.45)", "binomial(1000, 0.45, 9)", "binomial(0, 0.5)", "binomial(5, 1.0, 3)", "poisson()", "poisson(3.5)", "poisson(3.5, 20)", "poisson(0.0)", "poisson(200, 20)",
    "geometric(0.5)", "geometric(0.05, 9)", "logseries(0.7)", "logseries(0.95, 9)", "negative_binomial(3, 0.4)", "negative_binomial(2.5, 0.1, 9)", "zipf(2.0)", "zipf(4.5, 9)",
    "hypergeometric(10, 20, 7)", "hypergeometric(100, 200, 70, 9)", "hypergeometric(10, 20, 0)",
    "multinomial(20, np.array([0.2, 0.3, 0.5]))", "multinomial(20, (0.2, 0.3, 0.5), 4)", "multinomial(1000, np.full(5, 0.2), size=(2, 3))",
    "dirichlet(np.array([2.0, 0.3, 5.0]))", "dirichlet((2, 3), 4)", "dirichlet(np.array([0.02, 0.03, 0.05]), 40)", "dirichlet(np.array([0.0, 0.03, 0.0]), 5)", "dirichlet(np.zeros(2), 2)",
]  # fmt: skip
INTEGERS = [
    "integers(10)", "integers(1)", "integers(3, 17)", "integers(-5, 5)", "integers(0, 2**32)", "integers(0, 2**32 - 1)", "integers(0, 2**32 + 1)", "integers(0, 2**40)", "integers(-2**63, 2**63 - 1)", "integers(-2**63, 2**63 - 1, endpoint=True)",
    "integers(3 * 2**60, size=20)", "integers(1000, size=20)", "integers(0, 3, size=(2, 3))", "integers(5, endpoint=True)", "integers(0, 5, 20, endpoint=True)", "integers(7, size=0)",
    *(f"integers({low}, {high}, dtype=np.{t}{more})" for t, low, high in (("int8", -128, 127), ("int8", -3, 4), ("uint8", 0, 255), ("uint8", 7, 8), ("int16", -2**15, 2**15 - 1), ("uint16", 10, 6000), ("int32", -2**31, 2**31 - 1), ("int32", 0, 77), ("uint32", 0, 2**32 - 1), ("uint32", 5, 9), ("uint64", 0, 2**64 - 1), ("uint64", 2**63, 2**63 + 100), ("bool_", 0, 1)) for more in (", endpoint=True", ", size=13, endpoint=True")),
    "integers(0, 2, size=40, dtype=np.bool_)", "integers(2, dtype=np.bool_)",
]  # fmt: skip
ORDER = [
    "choice(10)", "choice(10, 5)", "choice(10, (2, 3))", "choice(10, 10, replace=False)", "choice(10, 4, False)", "choice(10, 4, replace=False, shuffle=False)", "choice(5, 0, replace=False)", "choice(1, 1, replace=False)",
    "choice(20000, 1000, replace=False)", "choice(20000, 1000, replace=False, shuffle=False)", "choice(20000, 300, replace=False)", "choice(20000, 300, replace=False, shuffle=False)", "choice(10**9, 50, replace=False)",
    "choice(np.arange(5.0) * 2, 3)", "choice(np.arange(5.0) * 2)", "choice(np.arange(12).reshape(6, 2), 3)", "choice(np.arange(12).reshape(6, 2), 3, axis=0, replace=False)", "choice((5, 6, 7), 4)",
    "choice(3, 40, p=np.array([0.2, 0.3, 0.5]))", "choice(3, p=np.array([0.2, 0.3, 0.5]))", "choice(4, 3, replace=False, p=np.array([0.2, 0.3, 0.0, 0.5]))", "choice(np.arange(4), (2, 2), p=np.array([0.25, 0.25, 0.25, 0.25]))",
    "permutation(10)", "permutation(0)", "permutation(1)", "permutation(np.arange(9.0))", "permutation(np.arange(9.0)[::2])", "permutation((1, 2, 3, 4))", "permutation(np.arange(12).reshape(4, 3))", "permutation(np.arange(12).reshape(4, 3), axis=1)", "permutation(np.arange(24).reshape(2, 4, 3), axis=-2)",
    "permuted(np.arange(9))", "permuted(np.arange(12.0).reshape(4, 3))", "permuted(np.asfortranarray(np.arange(12.0).reshape(4, 3)))", "permuted(np.arange(12).reshape(4, 3), axis=0)", "permuted(np.arange(12).reshape(4, 3), axis=1)", "permuted(np.arange(24).reshape(2, 4, 3), axis=1)", "permuted(np.arange(24).reshape(2, 4, 3)[:, ::2], axis=0)", "permuted(np.zeros((3, 0)), axis=1)", "permuted(np.zeros((0, 3)), axis=1)",
]  # fmt: skip
ARRAYS = [
    "normal(np.arange(5.0), 2.0)",
    "normal(2.0, np.arange(5))",
    "normal(np.arange(3.0)[:, None], np.arange(1, 5.0))",
    "normal(np.arange(3.0), size=(2, 3))",
    "normal((1.0, 2.0), 3.0)",
    "normal(np.float64(1.5) * np.ones(()), 1.0)",
    "normal(np.arange(6.0).reshape(2, 3).T)",
    "normal(np.zeros((2, 0)))",
    "uniform(np.array([1.0, 2.0]), 5.0, (3, 2))",
    "uniform(0.0, np.arange(4.0))",
    "exponential(np.arange(4.0))",
    "gamma(np.array([0.5, 3.0]), 2.0)",
    "beta(np.array([0.5, 3.0]), np.array([[1.0], [2.0]]))",
    "chisquare(np.array([1, 2, 3]))",
    "poisson(np.array([1.0, 20.0, 3.0]))",
    "poisson(np.array([1.0, 20.0]), (2, 2))",
    "binomial(np.array([1, 20, 300]), 0.3)",
    "binomial(20, np.array([0.0, 0.3, 1.0]))",
    "binomial(np.array([5, 6]), np.array([[0.1], [0.9]]), (2, 2))",
    "geometric(np.array([0.1, 0.9]))",
    "negative_binomial(np.array([3, 4.5]), 0.4)",
    "triangular(0.0, np.array([1.0, 2.0]), 5.0)",
    "triangular(np.array([-1.0, 0.0]), 0.5, np.array([[1.0], [2.0]]))",
    "lognormal(np.arange(3.0), 0.5)",
    "standard_gamma(np.array([0.2, 1.0, 4.0]))",
    "wald(np.array([1.0, 2.0]), 1.0)",
    "vonmises(np.array([0.0, 1.0]), 3.0)",
    "noncentral_f(np.array([2.0, 3.0]), 3.0, 1.5)",
    "standard_t(np.array([2.0, 3.0]))",
    "zipf(np.array([2.0, 3.0]))",
    "rayleigh(np.array([2.0, 3.0]))",
    "hypergeometric(np.array([10, 20, 300]), 15, 7)",
    "hypergeometric(10, np.array([[15], [200]]), np.array([3, 25]))",
    "hypergeometric(10, 20, np.array([1, 5]), (3, 2))",
    "hypergeometric(np.zeros(0, np.int64), 2, 1)",
]
INTEGER_ARRAYS = [
    "{i}(np.array([3, 40, 500]))",
    "{i}(np.array([[-5], [2]]), np.array([10, 2**40, 2**62]))",
    "{i}(0, np.array([1, 2, 3], np.uint8), (2, 3))",
    "{i}((1, 2), (5, 9))",
    "{i}(np.array([3]), 9, 4)",
    "{i}(np.array(7))",
    "{i}(np.zeros(0, np.int64), 5)",
    "{i}(np.arange(30).reshape(5, 6).T, 31)",
    "{i}(-2**63, np.array([2**63 - 1, 0]))",
    *(
        f"{{i}}(np.array([{low}, {low}, {high} - 1]), np.array([[{high}], [{high} - 1], [{high}]]) + 1, {size}dtype=np.{t})"
        for t, low, high in (
            ("int8", -128, 127),
            ("uint8", 0, 255),
            ("uint8", 7, 8),
            ("int16", -(2**15), 2**15 - 1),
            ("uint16", 10, 6000),
            ("int32", -(2**31), 2**31 - 1),
            ("uint32", 0, 2**32 - 1),
            ("int64", -9, 9),
        )
        for size in ("", "size=(2, 3, 3), ")
    ),
    "{i}(np.array([0, 1, 0, 0]), np.array([2, 2, 1, 2]), dtype=np.bool_)",
    "{i}(np.zeros(50, np.int64), 2, dtype=np.bool_)",
    "{i}(np.array([2**63, 5], np.uint64), np.array([2**64 - 1, 2**63], np.uint64), dtype=np.uint64)",
    "{i}(np.array([0, 3]), np.array([2**32, 2**33]), dtype=np.uint64)",
]
MULTINOMIALS = [
    "multinomial(np.array([3, 40, 5]), (0.2, 0.3, 0.5))", "multinomial(np.array([[3], [40]]), np.array([[0.2, 0.8], [0.5, 0.5], [1.0, 0.0]]))", "multinomial(7, np.array([[0.2, 0.8], [0.5, 0.5]]))", "multinomial(7, np.array([[0.2, 0.8], [0.5, 0.5]]).T[:, ::-1] / 1.5)", "multinomial(np.array([3, 4]), (0.5, 0.5), (3, 2))", "multinomial(np.zeros(0, np.int64), (0.5, 0.5))",
]  # fmt: skip


@bits
@pytest.mark.parametrize("group", range(4))
def test_draws_are_numpys(kind, group):
    arrays = ARRAYS + [c.format(i="integers") for c in INTEGER_ARRAYS] + MULTINOMIALS
    for call in (FLOATS + COUNTS + INTEGERS + ORDER + arrays)[group::4]:
        agree(f"rng.{call}", kind)


# One function that draws of every sort, so that what a draw leaves behind (half a word) meets every other draw.
STEPS = ["random()", "random(n)", "standard_normal()", "normal(1.0, 2.0, n)", "integers(0, n + 1)", "integers(0, 2**45)", "integers(0, 200, n, np.uint8)", "random(n, np.float32)", "standard_exponential(n)", "poisson(2.5)", "binomial(n, 0.3)", "gamma(2.0)", "permutation(n)", "choice(n + 1, n)", "choice(n + 5, n, replace=False)"]  # fmt: skip
MADE = [compiled(f"rng.{s}", "rng, n") for s in STEPS]


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(BITS),
    st.integers(0, 2**64 - 1),
    st.lists(st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 40), st.booleans()), max_size=12),
)
def test_a_stream_goes_back_and_forth(kind, seed, steps):
    """Some draws are compiled code's, some Python's: the stream is one."""
    a, b = Generator(kind(seed)), Generator(kind(seed))
    for which, n, here in steps:
        f, plain = MADE[which]
        same(f(a, n) if here else plain(a, n), plain(b, n), STEPS[which])
        assert state(a) == state(b)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, 2**64), st.integers(-(2**63), 2**63 - 1), st.booleans())
def test_integers_of_any_range(seed, span, low, closed):
    """A range's two ends are any that int64 holds."""
    high = min(low + span, 2**63 - 1)
    if low + (not closed) > high:
        return
    got, plain = ANY_RANGE[closed]
    for kind in BITS:
        a, b = Generator(kind(seed)), Generator(kind(seed))
        same(got(a, low, high), plain(b, low, high))
        assert state(a) == state(b)


ANY_RANGE = [
    compiled("(rng.integers(a, b, endpoint=%s), rng.integers(a, b, 7, endpoint=%s))" % (c, c), "rng, a, b")
    for c in (False, True)
]


@bits
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 311, 312, 313, 624, 1000])
def test_fills_of_any_length(kind, n):
    """Numbers in a row are made several at once; those that are left, and where the state has to be made anew, by themselves."""
    for call in ("rng.random(n)", "rng.standard_normal(n)", "rng.standard_exponential(n)"):
        f, plain = compiled(call, "rng, n")
        a, b = Generator(kind(n)), Generator(kind(n))
        for skipped in range(4):
            same(f(a, n), plain(b, n))
            assert state(a) == state(b)
            a.integers(0, 100, skipped), b.integers(0, 100, skipped)


@bits
def test_rare_numbers(kind):
    """Far out, and at the layers' rims, where a second number is drawn."""
    f, plain = compiled("(rng.standard_normal(n), rng.standard_exponential(n))", "rng, n")
    a, b = Generator(kind(5)), Generator(kind(5))
    same(f(a, 40000), plain(b, 40000))
    assert state(a) == state(b)

    @njit
    def one_by_one(rng, n):
        x = np.empty(n)
        for i in range(n):
            x[i] = rng.standard_normal() if i % 2 else rng.standard_exponential()
        return x

    same(one_by_one(a, 20000), one_by_one.py_func(b, 20000))
    assert state(a) == state(b)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32), st.integers(0, 6), st.integers(0, 5), st.sampled_from(["i1", "u2", "f4", "f8", "c8", "c16", "?"]), st.integers(1, 3), st.booleans())  # fmt: skip
def test_arrays_are_shuffled_in_place(seed, n, m, dtype, step, turned):
    for kind in (PCG64, MT19937):
        for shape in ((n * step,), (n * step, m)):
            base = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
            a, b = base.copy(), base.copy()
            x, y = (a[::step], b[::step]) if not turned else (a[::-step], b[::-step])
            r, s = Generator(kind(seed)), Generator(kind(seed))
            SHUFFLE[0](r, x)
            SHUFFLE[1](s, y)
            same(a, b)
            if len(shape) == 2:
                SHUFFLE_1[0](r, x)
                SHUFFLE_1[1](s, y)
                same(a, b)
            assert state(r) == state(s)


SHUFFLE = compiled("rng.shuffle(a)", "rng, a")
SHUFFLE_1 = compiled("rng.shuffle(a, axis=1)", "rng, a")


def test_out():
    for call, out in (
        ("rng.random(out=a)", np.zeros((2, 3))),
        ("rng.random(None, np.float32, a)", np.zeros(5, np.float32)),
        ("rng.standard_normal((2, 3), out=a)", np.zeros((2, 3))),
        ("rng.standard_exponential(out=a, method='inv')", np.zeros(4)),
        ("rng.standard_gamma(0.7, out=a, dtype=np.float32)", np.zeros(4, np.float32)),
        ("rng.permuted(np.arange(6.0).reshape(2, 3), axis=1, out=a)", np.zeros((2, 3))),
        ("rng.permuted(a, axis=0, out=a)", np.arange(6.0).reshape(2, 3)),
    ):
        f, plain = compiled(call, "rng, a")
        a, b = out.copy(), out.copy()
        r, s = Generator(PCG64(1)), Generator(PCG64(1))
        got = f(r, a)
        assert got is a
        same(got, plain(s, b), call)
        assert state(r) == state(s)
    with pytest.raises(TypingError, match="out must be a contiguous array of float64"):
        compiled("rng.random(out=a)", "rng, a")[0](r, np.zeros(3, np.float32))
    with pytest.raises(TypingError, match="out must be"):
        compiled("rng.random(out=a)", "rng, a")[0](r, np.zeros(6)[::2])
    with pytest.raises(ValueError, match="size must match out.shape"):
        compiled("rng.random(4, out=a)", "rng, a")[0](r, np.zeros(3))


# --- errors ---

ERRORS = [
    "normal(0.0, -1.0)", "exponential(-0.1)", "gamma(-1.0)", "standard_gamma(-1.0)", "beta(0.0, 1.0)", "beta(1.0, 0.0)", "chisquare(0)", "uniform(2.0, 1.0)", "uniform(-1e308, 1e308)", "poisson(-1.0)", "poisson(1e19)", "poisson(np.nan)", "binomial(-1, 0.5)", "binomial(3, 1.5)", "binomial(3, np.nan)",
    "geometric(0.0)", "geometric(1.5)", "logseries(1.0)", "negative_binomial(0, 0.5)", "negative_binomial(1e18, 1e-9)", "zipf(1.0)", "hypergeometric(-1, 5, 2)", "hypergeometric(1, 2, 4)", "hypergeometric(10**9, 2, 4)", "hypergeometric(3, 3, -1)", "triangular(2.0, 1.0, 3.0)", "triangular(0.0, 4.0, 3.0)", "triangular(1.0, 1.0, 1.0)",
    "integers(0)", "integers(-1)", "integers(5, 5)", "integers(6, 5, endpoint=True)", "integers(-1, endpoint=True)", "integers(0, 300, dtype=np.uint8)", "integers(-1, 3, dtype=np.uint8)", "integers(0, 2**63, endpoint=True)", "choice(0)", "choice(np.zeros(0))", "choice(3, 4, replace=False)", "choice(3, p=np.array([0.5, 0.5]))", "choice(2, p=np.array([-0.5, 1.5]))", "choice(2, p=np.array([0.5, np.nan]))", "choice(2, 2, replace=False, p=np.array([1.0, 0.0]))",
    "multinomial(3, np.array([0.9, 0.9, 0.1]))", "multinomial(-1, np.array([1.0]))", "multinomial(3, np.array([1.5, 0.1]))", "dirichlet(np.array([1.0, -1.0]))", "random(-1)", "normal(np.zeros(3), -np.ones(3))", "normal(np.zeros(3), np.ones(4))", "poisson(np.array([1.0, -1.0]))", "poisson(np.array([1.0, 1e19]))", "binomial(np.array([-1]), 0.5)", "uniform(np.zeros(2), np.array([1.0, np.inf]))", "uniform(np.ones(2), 0.0)", "triangular(np.array([0.0, 3.0]), 2.0, 5.0)", "normal(np.zeros(3), size=(2, 4))",
]  # fmt: skip


@pytest.mark.parametrize("group", range(4))
def test_errors_are_numpys(group):
    for call in ERRORS[group::4]:
        f, plain = compiled(f"rng.{call}")
        a, b = Generator(PCG64(1)), Generator(PCG64(1))
        with pytest.raises((ValueError, OverflowError)) as want:
            plain(b)
        with pytest.raises(want.type):
            f(a)
        assert state(a) == state(b), call


def test_messages_are_numpys():
    for call in ("normal(0.0, -1.0)", "uniform(2.0, 1.0)", "integers(5, 5)", "integers(6, 5, endpoint=True)", "integers(0)", "choice(3, 4, replace=False)", "poisson(-1.0)"):  # fmt: skip
        f, plain = compiled(f"rng.{call}")
        with pytest.raises(ValueError) as want:
            plain(Generator(PCG64(1)))
        with pytest.raises(ValueError, match=re.escape(str(want.value))):
            f(Generator(PCG64(1)))


def test_what_is_refused():
    rng = Generator(PCG64(1))
    for call, error, words in (
        ("rng.randn(3)", TypingError, r"Generator\(PCG64\) has no attribute 'randn'"),
        ("rng.bytes(3)", TypingError, "outside"),
        ("rng.integers(np.array([3.0, 4.0]))", TypingError, "high must be an integer"),
        ("rng.hypergeometric(np.array([3.0, 4.0]), 2, 1)", TypingError, "ngood must be integers"),
        ("rng.multinomial(3, 0.5)", TypingError, "'pvals' must be an array"),
        (
            "rng.standard_gamma(np.ones(3), dtype=np.float32)",
            UnsupportedError,
            "of arrays with out= or dtype",
        ),
        ("rng.integers(2.5)", TypingError, "must be an integer"),
        ("rng.integers(3, dtype=np.float64)", TypingError, "dtype must be of integers"),
        ("rng.random(3, dtype=np.int64)", TypingError, "dtype must be float64 or float32"),
        ("rng.choice(np.zeros((2, 2)), axis=1)", UnsupportedError, "another axis"),
        ("rng.permuted(np.zeros((4, 4))[::2, ::2])", UnsupportedError, "without an axis"),
        ("rng.normal(1j)", TypingError, "takes a real number"),
        ("rng.normal(np.zeros(2) * 1j)", TypingError, "must be real"),
        ("rng.shuffle((1, 2))", TypingError, "takes an array"),
    ):
        with pytest.raises(error, match=words):
            compiled(call)[0](rng)
    a = np.arange(3)
    a.flags.writeable = False
    with pytest.raises(TypingError, match="read-only"):
        compiled("rng.shuffle(a)", "rng, a")[0](rng, a)


class Own(Generator):
    pass


@pytest.mark.parametrize(
    "value, words",
    [
        (lambda: Own(PCG64(1)), "of that very class"),
        (lambda: PCG64(1), r"pass np.random.Generator\(x\)"),
        (lambda: np.random.RandomState(1), "RandomState"),
    ],
)
def test_other_objects_are_refused(value, words):
    with pytest.raises(TypeError, match=words):
        compiled("rng.random()")[0](value())


def test_a_bit_generator_without_functions_is_refused():
    class Bits:
        def __init__(self):
            self.of = PCG64(1)
            self.capsule, self.lock = self.of.capsule, self.of.lock

    f, _ = compiled("rng.random()")
    bits = Bits()
    rng = Generator(bits)
    assert f(rng) == Generator(PCG64(1)).random()
    bits.capsule = None
    with pytest.raises(TypeError, match="has no functions for C"):
        f(rng)


def test_bit_generators_of_others():
    """A class made of one of NumPy's has its functions, and is called by them."""
    for kind in BITS:
        mine = type("Mine", (kind,), {})
        a, b = Generator(mine(3)), Generator(kind(3))
        for call in ("rng.random(5)", "rng.integers(0, 100, 5)", "rng.standard_normal(5)", "rng.random()"):
            f, plain = compiled(call)
            same(f(a), plain(b))


# --- as globals ---

GLOBAL, TWIN = Generator(PCG64(1)), Generator(PCG64(1))
PAIR = (Generator(SFC64(2)), 3.0)


@njit
def of_a_global(n):
    return GLOBAL.random(n), GLOBAL.normal(), GLOBAL.integers(0, 1000, n)


@njit
def by_hand(rng, n):
    return rng.random(n)


def test_a_global_is_the_object():
    """Of a global and of a variable of an enclosing function the object itself is drawn from, by whoever has it."""
    for n in (0, 5, 5):
        same(of_a_global(n), (TWIN.random(n), TWIN.normal(), TWIN.integers(0, 1000, n)))
        assert GLOBAL.random() == TWIN.random()
        assert state(GLOBAL) == state(TWIN)

    @njit(nogil=True, fastmath=True)
    def calls(n):
        return of_a_global(n), by_hand(GLOBAL, n), GLOBAL

    got = calls(3)
    same(got[0], (TWIN.random(3), TWIN.normal(), TWIN.integers(0, 1000, 3)))
    same(got[1], TWIN.random(3))
    assert got[2] is GLOBAL
    assert njit(lambda: PAIR[0].random() * PAIR[1])() == Generator(SFC64(2)).random() * 3.0


@bits
def test_a_closure_keeps_its_generator(kind):
    def outer(rng):
        @njit
        def f():
            return rng.random(), rng.standard_normal(2)

        return f

    one, two = outer(Generator(kind(1))), outer(Generator(kind(2)))  # nobody else has these
    gc.collect()
    a, b = Generator(kind(1)), Generator(kind(2))
    for _ in range(3):
        same(one(), (a.random(), a.standard_normal(2)))
        same(two(), (b.random(), b.standard_normal(2)))


def test_ufuncs_draw_from_a_global_in_order():
    """One stream is drawn from by one core, whatever the target."""
    x = np.zeros(200_000)
    rng, twin = Generator(PCG64(5)), Generator(PCG64(5))
    for target in ("cpu", "parallel"):
        u = vectorize(["f8(f8)"], target=target)(lambda x: x + rng.random())
        same(u(x), twin.random(x.size))

        @njit(parallel=True)
        def calls(x, u=u):
            return u(x)

        same(calls(x), twin.random(x.size))


def test_where_a_global_may_not_be_drawn_from():
    @njit(parallel=True)
    def loop(n):
        a = np.zeros(n)
        for i in prange(n):
            a[i] = GLOBAL.random()
        return a

    with pytest.raises(UnsupportedError, match="draw from one np.random.Generator"):
        loop(4)

    @cuda.jit
    def kernel(a):
        a[cuda.grid(1)] = GLOBAL.random()

    with pytest.raises(LoweringError, match="cannot draw from one np.random.Generator"):
        kernel[1, 4](np.zeros(4))
    with pytest.raises(UnsupportedError, match="default_rng") as e:
        njit(lambda: np.random.default_rng(1).random())()
    assert "and pass" in str(e.value)
    bare = Generator(PCG64(1))
    with pytest.raises(TypingError, match="has no attribute 'randn'"):
        njit(lambda: bare.randn(3))()


def test_the_cache_knows_no_address(tmp_path):
    """A second process loads the code, and draws from its own object."""
    program = tmp_path / "globals.py"
    program.write_text(
        textwrap.dedent("""
        import sys
        import numpy as np
        from treadle import njit

        rng, twin = (np.random.Generator(np.random.PCG64(int(sys.argv[1]))) for _ in range(2))

        @njit(cache=True)
        def f(n):
            return rng.normal(0.0, 1.0, n)[4] + rng.random()

        print(f(5) == twin.normal(0.0, 1.0, 5)[4] + twin.random(), f.stats["loaded"])
        """)
    )
    env = dict(os.environ, TREADLE_CACHE_DIR=str(tmp_path / "cache"))
    run = [subprocess.run([sys.executable, program, seed], env=env, capture_output=True, text=True, check=True).stdout.split() for seed in "123"]  # fmt: skip
    assert run == [["True", "0"], ["True", "1"], ["True", "1"]]


# --- prange ---


def test_a_loop_on_all_cores_may_not_draw():
    @njit
    def helper(rng):
        return rng.normal()

    @njit(parallel=True)
    def direct(rng, n):
        a = np.zeros(n)
        for i in prange(n):
            a[i] = rng.random()
        return a

    @njit(parallel=True)
    def by_a_call(rng, n):
        a = np.zeros(n)
        for i in prange(n):
            if i > 2:
                a[i] = helper(rng)
        return a

    @njit(parallel=True)
    def in_an_array(rng, n):
        a = np.zeros((n, 3))
        for i in prange(n):
            a[i] = rng.random(3) * 2
        return a

    for f in (direct, by_a_call, in_an_array):
        with pytest.raises(UnsupportedError, match="draw from one np.random.Generator") as e:
            f(Generator(PCG64(1)), 5)
        assert "draw the numbers before the loop" in str(e.value)


def test_a_loop_in_order_may_draw():
    @njit
    def f(rng, n):
        a = np.zeros(n)
        for i in prange(n):
            a[i] = rng.random()
        return a

    same(f(Generator(PCG64(1)), 5), Generator(PCG64(1)).random(5))


def test_array_expressions_on_all_cores():
    """Drawn before, in order; what is made of it may go on all cores."""

    @njit(parallel=True)
    def f(rng, a):
        x = a * 2 + rng.random(a.shape[0])
        return x + rng.normal(0.0, 1.0, a.shape[0]) * a

    a = np.arange(100000.0)
    r, s = Generator(PCG64(1)), Generator(PCG64(1))
    np.testing.assert_allclose(f(r, a), f.py_func(s, a), rtol=1e-15)
    assert state(r) == state(s)


def test_kernels_refuse():
    @cuda.jit
    def kernel(rng, a):
        a[0] = rng.random()

    with pytest.raises(TypingError, match="argument 1 is Generator"):
        kernel[1, 1](Generator(PCG64(1)), np.zeros(1))


# --- ways in ---


@njit
def draws(rng, n):
    s = 0.0
    for i in range(n):
        s += rng.normal() + rng.random() * rng.integers(0, 10) + rng.random(3)[1]
    return s


def test_ways_in():
    want = draws.py_func(Generator(PCG64(9)), 20)
    assert draws(Generator(PCG64(9)), 20) == want
    assert draws(n=20, rng=Generator(PCG64(9))) == want
    for options in ({"nogil": True}, {"boundscheck": True}, {"parallel": True}, {"error_model": "numpy"}, {"inline": "always"}):  # fmt: skip

        @njit(**options)
        def caller(rng, n):
            return draws(rng, n)

        assert caller(Generator(PCG64(9)), 20) == want

        def outer(f):
            @njit(**options)
            def caller(rng, n):
                def inner():
                    return f(rng, n)

                return inner()

            return caller

        assert outer(draws)(Generator(PCG64(9)), 20) == want
        assert outer(draws.py_func)(Generator(PCG64(9)), 20) == want


def test_values_of_other_kinds_hold_them():
    """Tuples, defaults, variables that are one of two, results."""
    rng, other = Generator(PCG64(1)), Generator(MT19937(2))

    @njit
    def two(rs, n):
        s = 0.0
        for r in rs:
            s += r.random()
        return s + rs[n].random(), rs[1 - n]

    same_rng = Generator(PCG64(1)), Generator(MT19937(2))
    got = two((rng, other), 0)
    want = two.py_func(same_rng, 0)
    assert got[0] == want[0] and got[1] is other

    @njit
    def maybe(n, rng=None):
        return -1.0 if rng is None else rng.random(n)[0]

    assert maybe(3) == -1.0
    assert maybe(3, rng) == same_rng[0].random(3)[0]

    @njit
    def either(a, b, flag):
        q = a if flag else b
        return q.random(), q

    x, q = either(rng, other, False)
    assert x == same_rng[1].random() and q is other

    @njit
    def twice(rng, n):
        return rng if n == 0 else twice(rng, n - 1)

    assert twice(rng, 3) is rng


def test_results_keep_the_object():
    f, _ = compiled("(rng, rng.random())")
    before = sys.getrefcount(PCG64)
    for _ in range(1000):
        rng = f(Generator(PCG64(1)))[0]
        assert 0 <= rng.random() < 1
    del rng
    assert sys.getrefcount(PCG64) - before < 100


def test_types():
    """Bit generators whose state is known have types of their own, all others one."""
    f, _ = compiled("rng.random()")
    for kind in (*BITS, type("Mine", (PCG64,), {})):
        f(Generator(kind(1)))
    assert len(f.signatures) == 4
    names = {str(treadle.typeof(Generator(kind(1)))) for kind in BITS}
    assert names == {"Generator", "Generator(PCG64)", "Generator(MT19937)", "Generator(SFC64)"}


def test_threads_with_generators_of_their_own():
    f, plain = compiled("rng.random(n)", "rng, n", nogil=True)
    f(Generator(PCG64(0)), 3)
    got = {}

    def work(k):
        got[k] = f(Generator(PCG64(k)), 50000)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(4):
        same(got[k], plain(Generator(PCG64(k)), 50000))


def test_the_cache(tmp_path):
    """Code in the cache holds no address: a second process draws from its own object."""
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
        import numpy as np
        from treadle import njit

        @njit(cache=True)
        def f(rng, n):
            return rng.random(n).sum() + rng.normal() + rng.integers(0, 100)

        junk = [np.random.Generator(np.random.SFC64(i)) for i in range(37)]
        for kind in (np.random.PCG64, np.random.MT19937):
            print(f(np.random.Generator(kind(4)), 10) == f.py_func(np.random.Generator(kind(4)), 10))
        print(f.stats["loaded"])
        """)
    )
    env = dict(os.environ, TREADLE_CACHE_DIR=str(tmp_path / "cache"))
    first, second = (subprocess.run([sys.executable, program], env=env, capture_output=True, text=True, check=True).stdout.split() for _ in range(2))  # fmt: skip
    assert first == ["True", "True", "0"]
    assert second == ["True", "True", "2"]


# --- np.random with arrays ---

LEGACY = [c for c in ARRAYS if not c.startswith(("negative_binomial", "standard_gamma("))] + ["negative_binomial(np.array([3, 4]), 0.4)", "standard_gamma(np.array([0.2, 1.0, 4.0]))", "f(np.array([2.0, 3.0]), 3.0)", "laplace(np.arange(3.0), 2.0)", "logseries(np.array([0.5, 0.9]))", "pareto(np.array([0.5, 3.0]))", "weibull(np.array([0.0, 3.0]))"]  # fmt: skip


@pytest.mark.parametrize("group", range(3))
def test_arrays_as_parameters_of_legacy_functions(group):
    integers = [c.format(i="randint") for c in INTEGER_ARRAYS]
    for call in (LEGACY + integers)[group::3]:
        space = dict(SPACE)
        exec(
            f"def f(seed):\n    np.random.seed(seed)\n    return np.random.{call}, np.random.random()", space
        )
        r = np.random.RandomState(5)
        want = eval(f"r.{call}, r.random_sample()", {"r": r, "np": np})
        same(njit(space["f"])(5), want, call)


def test_multivariate_normal():
    """The draws are NumPy's, and so is where the stream has come to; what is made of them is a product of matrices."""
    mean, cov = np.array([1.0, 2.0, 3.0]), np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 3.0]])

    @njit
    def f(mean, cov, n):
        np.random.seed(3)
        one = np.random.multivariate_normal(mean, cov)
        return one, np.random.multivariate_normal(mean, cov, n), np.random.multivariate_normal(mean, cov, (2, n), "ignore"), np.random.random()  # fmt: skip

    r = np.random.RandomState(3)
    want = r.multivariate_normal(mean, cov), r.multivariate_normal(mean, cov, 5), r.multivariate_normal(mean, cov, (2, 5))  # fmt: skip
    got = f(mean, cov, 5)
    for g, w in zip(got, want, strict=False):
        assert g.shape == w.shape
        np.testing.assert_allclose(g, w, rtol=1e-12)
    assert got[3] == r.random_sample()
    with pytest.raises(ValueError, match="positive-semidefinite"):
        njit(lambda m, c: np.random.multivariate_normal(m, c, check_valid="raise"))(mean, -cov)
    with pytest.raises(ValueError, match="same length"):
        f(mean, cov[:2, :2].copy(), 5)
    with pytest.raises(TypingError, match="1 dimensional"):
        njit(lambda m, c: np.random.multivariate_normal(m, c))(cov, cov)


# --- drawn by compiled code itself ---


def test_draws_in_every_place_of_a_loop():
    """States kept in registers come back to memory before anything else looks at them: other methods, callees, late code, exceptions."""

    @njit
    def other(rng):
        return rng.integers(0, 10) + rng.random()

    @njit
    def f(rng, n, end):
        s, x = 0.0, np.empty(n)
        for i in range(n):
            x[i] = rng.random()
            if i % 3 == 0:
                s += rng.gamma(2.0) + rng.integers(0, 5)
            if i % 5 == 0:
                s += other(rng)
            if i % 7 == 0:
                s += rng.random(4)[3] + rng.standard_normal() - rng.standard_exponential()
            if i == end:
                raise ValueError(i)
            s += rng.normal(0.0, x[i])
        while rng.random() < 0.9:
            s += rng.random()
        return s, x

    for kind in BITS:
        a, b = Generator(kind(8)), Generator(kind(8))
        same(f(a, 200, -1), f.py_func(b, 200, -1))
        assert state(a) == state(b)
        with pytest.raises(ValueError, match="17"):
            f(a, 40, 17)
        with pytest.raises(ValueError, match="17"):
            f.py_func(b, 40, 17)
        assert state(a) == state(b)


def test_draws_are_counted_where_they_are_caught():
    @njit
    def f(rng, a, n):
        s = 0.0
        for i in range(n):
            try:
                s += a[i] + rng.random()
            except IndexError:
                s += rng.random() * 2
        return s

    a, b = Generator(PCG64(8)), Generator(PCG64(8))
    assert f(a, np.ones(3), 6) == f.py_func(b, np.ones(3), 6)
    assert state(a) == state(b)


def test_one_generator_by_two_names():
    @njit
    def f(r, q, n):
        s = 0.0
        for _ in range(n):
            s += r.random() - q.random() * 3
        return s

    a, b, c, d = (Generator(PCG64(k)) for k in (1, 1, 2, 2))
    assert f(a, a, 50) == f.py_func(b, b, 50)
    assert f(a, c, 50) == f.py_func(b, d, 50)
    shared = PCG64(5), PCG64(5)
    assert f(Generator(shared[0]), Generator(shared[0]), 50) == f.py_func(Generator(shared[1]), Generator(shared[1]), 50)  # fmt: skip
    assert shared[0].state == shared[1].state
    assert state(a) == state(b) and state(c) == state(d)


def test_a_draw_that_nobody_uses_counts():
    @njit
    def f(rng, n):
        for _ in range(n):
            rng.random()
            rng.standard_normal()

    a, b = Generator(PCG64(1)), Generator(PCG64(1))
    f(a, 10), f.py_func(b, 10)
    assert state(a) == state(b)


@pytest.mark.parametrize(
    "options", [{"fastmath": True}, {"nogil": True}, {"boundscheck": False}, {"debug": True}]
)
def test_options(options):
    f, plain = compiled("(rng.random(), rng.integers(0, 9), rng.standard_normal(3), rng.random())", **options)
    a, b = Generator(PCG64(1)), Generator(PCG64(1))
    for _ in range(50):
        same(f(a), plain(b))
    assert state(a) == state(b)


@bits
def test_ctrl_c_leaves_a_generator(kind):
    """A loop that Ctrl-C ends leaves the object a state of its stream's, and what comes after is one stream again."""

    @njit
    def f(rng, n):
        s = 0.0
        for _ in range(n):
            s += rng.random() + rng.normal()
        return s

    rng = Generator(kind(1))
    f(rng, 3)

    def raising(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, raising)
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            f(rng, 10**13)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    if kind is PCG64:
        assert rng.bit_generator.state["state"]["inc"] == PCG64(1).state["state"]["inc"]
    other = Generator(kind(2))
    other.bit_generator.state = rng.bit_generator.state
    same(f(rng, 100), f.py_func(other, 100))
    assert state(rng) == state(other)
