"""Random numbers, bit for bit: np.random's against NumPy's RandomState, random's against CPython's Random, for the same seeds."""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
import threading

import numpy as np
import pytest
import treadle
from treadle import cuda, float64, njit, prange, vectorize
from treadle.errors import TreadleError, TypingError

SEED = 12345
SPACE = {"np": np, "random": random, "math": math}


def both(np_source: str, times: int = 3):
    """What a program of `np.random` (named R there) computes, compiled and under NumPy's RandomState."""
    body = ", ".join([np_source] * times)
    space = dict(SPACE)
    exec(f"def f(seed):\n    np.random.seed(seed)\n    return ({body},)", space)
    got = njit(space["f"])(SEED)
    state = np.random.RandomState(SEED)
    plain = {"np": type("np", (), {"random": state, "array": np.array, "arange": np.arange, **{t: getattr(np, t) for t in TYPES}})}  # fmt: skip
    return got, eval(f"({body},)", plain)


TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool_"]


def same(got, want):
    """Equal to the last bit, with NumPy's dtype and shape where they are arrays."""
    if isinstance(want, tuple):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            same(g, w)
        return
    if isinstance(want, np.ndarray):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_array_equal(got, want)


DISTRIBUTIONS = [
    "random()", "random_sample()", "rand()", "randn()", "standard_normal()", "standard_exponential()", "standard_cauchy()",
    "normal()", "normal(2.5)", "normal(1, 3.0)", "normal(scale=0.0)", "uniform()", "uniform(3)", "uniform(-2.0, high=5)", "uniform(2, 1)",
    "beta(0.5, 0.5)", "beta(1e-300, 1e-300)", "beta(2.0, 3.0)", "beta(0.5, 4)", "beta(1, 1)",
    "exponential()", "exponential(2.5)", "exponential(0)", "chisquare(1)", "chisquare(2.0)", "chisquare(7.5)", "chisquare(0.3)",
    "f(2.0, 3)", "f(0.7, 12.0)", "gamma(0.3)", "gamma(1.0, 2.0)", "gamma(5.5, 0.5)", "gamma(0.0)", "standard_gamma(0.01)", "standard_gamma(1)", "standard_gamma(40.0)",
    "gumbel()", "gumbel(1.0, 2.0)", "laplace()", "laplace(1.0, 2.0)", "logistic()", "logistic(-1, 0.5)", "lognormal()", "lognormal(0.5, 0.25)",
    "noncentral_chisquare(3.0, 2.0)", "noncentral_chisquare(0.5, 2.0)", "noncentral_chisquare(2.0, 0.0)", "noncentral_chisquare(0.5, 90.0)",
    "noncentral_f(2.0, 3.0, 1.5)", "noncentral_f(0.8, 3.0, 1.5)", "noncentral_f(2.0, 3.0, 0.0)", "pareto(0.5)", "pareto(3.0)", "power(0.5)", "power(5)", "rayleigh()", "rayleigh(3.0)",
    "standard_t(1)", "standard_t(0.4)", "standard_t(30.0)", "triangular(0, 1, 3)", "triangular(-1.0, -1.0, 2.0)", "triangular(0.0, 5.0, 5.0)",
    "vonmises(0.0, 1e-9)", "vonmises(1.0, 2e-6)", "vonmises(3.0, 4.0)", "vonmises(-3.0, 0.5)", "vonmises(0.5, 2000.0)", "vonmises(9.0, 1e-4)", "wald(1.0, 1.0)", "wald(3.0, 0.2)", "weibull(0.0)", "weibull(0.5)", "weibull(4)",
]  # fmt: skip
COUNTS = [
    "poisson()", "poisson(0)", "poisson(0.1)", "poisson(5.0)", "poisson(9.999)", "poisson(10)", "poisson(47.5)", "poisson(1e6)", "poisson(1e15)",
    "binomial(10, 0.3)", "binomial(10, 0.8)", "binomial(0, 0.3)", "binomial(5, 0.0)", "binomial(5, 1.0)", "binomial(5, 0.5)", "binomial(100, 0.5)", "binomial(100, 0.7)", "binomial(1000, 0.031)",
    "binomial(100000, 0.4)", "binomial(100000, 0.99)", "binomial(10**9, 0.123)", "binomial(10**12, 0.5)", "geometric(0.9)", "geometric(0.34)", "geometric(0.2)", "geometric(0.001)", "geometric(1.0)",
    "logseries(0.1)", "logseries(0.6)", "logseries(0.999)", "logseries(0.0)", "negative_binomial(3, 0.4)", "negative_binomial(0.5, 0.01)", "negative_binomial(100.0, 0.5)",
    "hypergeometric(10, 5, 3)", "hypergeometric(5, 10, 10)", "hypergeometric(15, 25, 11)", "hypergeometric(300, 200, 150)", "hypergeometric(20, 300, 310)", "hypergeometric(10**6, 10**7, 5 * 10**5)", "hypergeometric(0, 3, 2)",
    "zipf(1.2)", "zipf(2)", "zipf(5.5)",
]  # fmt: skip
RANGES = [
    "randint(7)", "randint(-3, 9)", "randint(5, 6)", "randint(0, 2**31)", "randint(0, 2**32)", "randint(0, 2**32 + 1)", "randint(-2**63, 2**63 - 1)", "randint(-2**63, 2**63)", "randint(0, 2**40)",
    *(f"randint(0, 100, dtype=np.{t})" for t in TYPES[:-1]), "randint(0, 2, dtype=np.bool_)", "randint(1, 2, dtype=np.bool_)",
    "randint(-128, 128, dtype=np.int8)", "randint(-100, 77, dtype=np.int8)", "randint(0, 256, dtype=np.uint8)", "randint(3, 65536, dtype=np.uint16)", "randint(0, 2**32, dtype=np.uint32)",
    "randint(0, 2**64, dtype=np.uint64)", "randint(2**63, 2**64 - 5, dtype=np.uint64)", "randint(low=3, high=None)",
]  # fmt: skip


def with_size(call: str, size: str) -> str:
    return call[:-1] + (", " if call[-2] != "(" else "") + f"size={size})"


@pytest.mark.parametrize("group", range(6))
def test_numbers_one_by_one(group):
    for call in (DISTRIBUTIONS + COUNTS + RANGES)[group::6]:
        got, want = both(f"np.random.{call}", 7)
        assert [float(x) for x in got] == [float(x) for x in want], call
        assert all(type(g) is (float if isinstance(w, float) else type(g)) for g, w in zip(got, want)), call


@pytest.mark.parametrize("group", range(6))
def test_arrays(group):
    plain = [c for c in DISTRIBUTIONS + COUNTS + RANGES if not c.startswith("rand")] + RANGES
    for k, call in enumerate(plain[group::6]):
        size = ["1500", "(3, 400)", "(2, 3, 5)", "0", "(0, 3)", "(700,)"][k % 6]
        got, want = both(with_size(f"np.random.{call}", size), 2)
        same(got, want)


def test_many_of_each_branch():
    """Rejections are rare: many numbers meet them all."""
    for call in (
        "hypergeometric(3000, 2000, 1500)", "hypergeometric(15, 25, 11)", "binomial(1000, 0.4)", "binomial(400, 0.9)", "poisson(12.5)", "vonmises(0.1, 3.0)", "standard_gamma(0.4)", "standard_gamma(1.1)",
        "zipf(1.05)", "beta(0.2, 0.9)", "logseries(0.97)", "binomial(60, 0.45)", "geometric(0.1)",
        "binomial(20, 0.85)", "binomial(3000000000, 1e-8)", "binomial(0, 0.3)", "binomial(5, 0.0)", "binomial(7, 1.0)", "binomial(1, 0.5)",
    ):  # fmt: skip
        got, want = both(with_size(f"np.random.{call}", "20000"), 1)
        same(got, want)


def test_whole_numbers_by_words():
    """Numbers that a word holds are taken off it without a jump, to where the generator's words end, and no word more is used up."""
    for call in (
        "randint(0, 1001)", "randint(-5, 2**32 - 5)", "randint(-2**31, 2**31, dtype=np.int32)", "randint(7, 40, dtype=np.uint32)", "randint(0, 2**31 + 1)", "randint(3, 4)",
    ):  # fmt: skip
        for size in ("1", "623", "624", "625", "70000"):
            got, want = both(with_size(f"np.random.{call}", size), 3)
            same(got, want)


def test_what_follows_from_a_mean_is_that_of_the_last_one():
    got, want = both(
        "(np.random.poisson(0.5), np.random.poisson(3.0), np.random.poisson(0.0), np.random.poisson(3.0), np.random.poisson(40.0))",
        8,
    )
    same(got, want)


TOPS = [1, 2, 3, 5, 8, 9, 600, 1000, 1001, 1024, 1025, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**40]


@njit
def mixed(seed, many, more, n):
    """Draws of the kinds that compiled code takes from the words itself, and one that the runtime makes, of both generators."""
    np.random.seed(seed)
    random.seed(seed)
    whole = np.empty((n, 2), np.int64)
    s = 0.0
    for i in range(n):
        whole[i, 0] = np.random.randint(0, many)
        if i % 7 == 0:
            s += np.random.normal()
        whole[i, 1] = random.randrange(more)
        s += np.random.random() - random.random()
    return whole, s


@pytest.mark.parametrize("top", TOPS)
def test_words_are_taken_in_place(top):
    def by_constant(seed, n):
        np.random.seed(seed)
        random.seed(seed)
        whole = np.empty((n, 2), np.int64)
        s = 0.0
        for i in range(n):
            whole[i, 0] = np.random.randint(0, top)
            if i % 7 == 0:
                s += np.random.normal()
            whole[i, 1] = random.randrange(top)
            s += np.random.random() - random.random()
        return whole, s

    for seed in (1, SEED):
        want = mixed.py_func(seed, top, top, 1500)
        same(mixed(seed, top, top, 1500), want)
        same(njit(by_constant)(seed, 1500), want)


def test_rand_takes_extents():
    for call in (
        "rand(3)",
        "rand(2, 3)",
        "randn(4, 1, 2)",
        "random((3, 2))",
        "random_sample(5)",
        "random(())",
    ):
        got, want = both(f"np.random.{call}", 2)
        same(got, want)


def test_other_names_are_the_same_functions():
    @njit
    def f():
        np.random.seed(3)
        return np.random.sample(2), np.random.ranf(2), np.random.random(2)

    want = np.random.RandomState(3).random(6).reshape(3, 2)
    same(f(), tuple(want))


@njit
def interleaved(seed):
    np.random.seed(seed)
    a = np.random.normal()
    b = np.random.random()
    c = np.random.standard_normal(3)
    d = np.random.randint(10, size=4)
    e = np.random.gamma(2.0)
    g = np.random.standard_normal()
    np.random.seed(seed)
    return a, b, c, d, e, g, np.random.normal()


def test_normal_numbers_come_in_pairs():
    s = np.random.RandomState(8)
    want = (
        s.normal(),
        s.random(),
        s.standard_normal(3),
        s.randint(10, size=4),
        s.gamma(2.0),
        s.standard_normal(),
    )
    same(interleaved(8), (*want, want[0]))


def test_seeds():
    @njit
    def by_number(seed):
        np.random.seed(seed)
        return np.random.random(700)

    @njit
    def by_row(row):
        np.random.seed(row)
        return np.random.random(5)

    for seed in (0, 1, 2**31, 2**32 - 1, np.uint64(77), True, np.int8(5)):
        same(by_number(seed), np.random.RandomState(int(seed)).random(700))
    for row in (
        np.array([1]),
        np.array([5, 6, 7], np.uint8),
        np.arange(1000),
        np.array([2**32 - 1, 0])[::-1],
    ):
        same(by_row(row), np.random.RandomState(row).random(5))
    same(
        njit(lambda: (np.random.seed([1, 2]), np.random.random())[1])(),
        np.random.RandomState([1, 2]).random(),
    )
    for bad in (-1, 2**32):
        with pytest.raises(ValueError, match="Seed must be between 0 and 2"):
            by_number(bad)
    with pytest.raises(ValueError, match="Seed must be between 0 and 2"):
        by_row(np.array([3, -1]))
    with pytest.raises(ValueError, match="Seed must be non-empty"):
        by_row(np.array([], int))
    with pytest.raises(TreadleError, match="must be an integer"):
        by_number(1.5)
    before = by_number(4)
    assert not np.array_equal(njit(lambda: (np.random.seed(), np.random.random(700))[1])(), before)
    assert not np.array_equal(njit(lambda: (np.random.seed(None), np.random.random(700))[1])(), before)


CHOICES = [
    "choice(5)", "choice(5, 9)", "choice(5, (2, 3))", "choice(8, 4, False)", "choice(8, size=(2, 4), replace=False)", "choice(1)", "choice(8, replace=False)", "choice(0, 0)",
    "choice(np.arange(6) * 1.5)", "choice(np.arange(6) * 1.5, 4)", "choice(np.arange(6), 6, replace=False)", "choice([3, 1, 2], 5)",
    "choice(4, 50, p=np.array([0.1, 0.0, 0.4, 0.5]))", "choice(4, p=[0.25, 0.25, 0.25, 0.25])", "choice(4, 3, False, np.array([0.1, 0.0, 0.4, 0.5]))", "choice(4, 4, False, p=[0.001, 0.998, 0.0005, 0.0005])",
    "choice(np.array([2.5, 9.0]), (2, 2), p=[0.5, 0.5])", "choice(3, (3, 1), False, [0.5, 0.25, 0.25])",
]  # fmt: skip


@pytest.mark.parametrize("call", CHOICES)
def test_choice(call):
    got, want = both(f"np.random.{call}")
    same(got, want)


def test_permutations():
    for call in ("permutation(10)", "permutation(0)", "permutation(-2)", "permutation(np.arange(9) * 0.5)", "permutation(np.arange(24).reshape(6, 4))", "permutation(1)", "permutation([4, 5, 6])"):  # fmt: skip
        got, want = both(f"np.random.{call}")
        same(got, want)

    @njit
    def shuffled(a, seed):
        np.random.seed(seed)
        np.random.shuffle(a)
        return np.random.random()

    for a in (
        np.arange(10), np.arange(300, dtype=np.uint8), np.arange(9, dtype=complex), np.arange(40.0)[::-3], np.arange(12, dtype=np.float16), np.zeros(0), np.ones(1), np.arange(5) > 2,
        np.arange(24).reshape(8, 3), np.arange(24.0).reshape(4, 2, 3), np.arange(24).reshape(4, 6).T, np.zeros((5, 0)), np.zeros((0, 5)),
    ):  # fmt: skip
        b, state = a.copy(), np.random.RandomState(6)
        state.shuffle(b)
        c = a.copy() if a.flags.c_contiguous else a
        rest = shuffled(c, 6)
        same(c, b)
        assert rest == state.random()
    a = np.arange(4)
    a.flags.writeable = False
    with pytest.raises(TreadleError, match="read-only"):
        shuffled(a, 6)
    with pytest.raises(TreadleError, match="takes an array"):
        shuffled(3, 6)


def test_several_at_once():
    for call in (
        "multinomial(20, [0.2, 0.3, 0.5])", "multinomial(100, np.array([0.0, 1.0, 0.0]))", "multinomial(7, [0.5, 0.25, 0.25], 3)", "multinomial(1000, [0.1, 0.2, 0.7], (2, 2))", "multinomial(0, [1.0])",
        "dirichlet([0.5, 1.5, 3.0])", "dirichlet(np.array([1, 1, 2]), 4)", "dirichlet([1.0, 2.0], (2, 3))",
    ):  # fmt: skip
        got, want = both(f"np.random.{call}")
        same(got, want)


def test_binomial_numbers_of_several_parameters_in_turn():
    """What follows from the parameters is kept from one number to the next, of both ways to draw."""
    for call in ("binomial(10, 0.3), R.binomial(10, 0.7), R.binomial(11, 0.3)", "binomial(100, 0.5), R.binomial(9, 0.5), R.binomial(100, 0.6), R.binomial(101, 0.4)",
                 "binomial(0, 0.0), R.binomial(5, 0.0), R.binomial(0, 0.5), R.binomial(5, 1.0)", "binomial(1000, 0.3, 3), R.binomial(1000, 0.3), R.multinomial(90, [0.4, 0.3, 0.3])"):  # fmt: skip
        got, want = both("np.random." + call.replace("R.", "np.random."), 4)
        same(got, want)


def test_several_of_none_at_all():
    """Where there is nothing to share out, or no chance, NumPy draws nothing: what is drawn next shows it."""
    for call in (
        "multinomial(0, [0.5, 0.5], 3)", "multinomial(0, [0.2, 0.0, 0.8])", "multinomial(7, [0.0, 1.0])", "multinomial(7, [0.0, 0.0, 1.0], 2)",
        "multinomial(1000, [0.3, 0.0, 0.7])", "multinomial(5, [0.5, 0.5, 0.0, 0.0])", "multinomial(5, [1.0, 0.0])", "binomial(0, 0.5)", "binomial(9, 0.0)",
        "binomial(0, 0.5, 200)", "poisson(0.0)", "negative_binomial(1e-9, 0.5)", "hypergeometric(0, 5, 3)", "choice(1)", "permutation(1)",
    ):  # fmt: skip
        got, want = both(f"np.random.{call}, np.random.random(), np.random.normal()")
        same(got, want)


ERRORS = [
    "normal(0.0, -1.0)", "normal(0.0, -0.0)", "exponential(-1.0)", "beta(0.0, 1.0)", "beta(1.0, -1.0)", "gamma(-1.0)", "gamma(1.0, -1.0)", "chisquare(0)", "f(0, 1)", "f(1, 0)", "uniform(-1e308, 1e308)", "uniform(0.0, math.inf)",
    "triangular(2, 1, 3)", "triangular(1, 4, 3)", "triangular(1, 1, 1)", "laplace(0, -1)", "gumbel(0, -1)", "logistic(0, -1)", "lognormal(0, -1)", "pareto(0)", "power(0)", "weibull(-1)", "rayleigh(-1)", "wald(0, 1)", "wald(1, 0)",
    "vonmises(0, -1)", "standard_t(0)", "noncentral_chisquare(0, 1)", "noncentral_chisquare(1, -1)", "noncentral_f(1, 1, -1)", "standard_gamma(-1)", "poisson(-1)", "poisson(math.nan)", "poisson(1e19)", "binomial(-1, 0.5)", "binomial(1, 1.5)",
    "binomial(1, math.nan)", "geometric(0)", "geometric(1.5)", "logseries(1.0)", "logseries(-0.1)", "negative_binomial(0, 0.5)", "negative_binomial(1, 2)", "zipf(1.0)", "zipf(math.nan)",
    "hypergeometric(1, 1, 3)", "hypergeometric(-1, 5, 1)", "hypergeometric(5, -1, 1)", "hypergeometric(5, 5, 0)", "randint(0)", "randint(-5)", "randint(5, 5)", "randint(5, 2)", "randint(-1, 5, dtype=np.uint8)", "randint(0, 300, dtype=np.uint8)",
    "randint(-200, 5, dtype=np.int8)", "randint(0, 2**63 + 1)", "choice(0)", "choice(-2)", "choice(np.zeros(0))", "choice(3, 4, replace=False)", "choice(3, 2, p=[0.5, 0.5])", "choice(2, 2, p=[0.5, 0.6])", "choice(2, 2, p=[1.5, -0.5])",
    "choice(2, 2, p=[math.nan, 1.0])", "choice(3, 3, False, [0.5, 0.5, 0.0])", "multinomial(-1, [0.5, 0.5])", "multinomial(1, [0.9, 0.9, 0.1])", "multinomial(1, [1.5, 0.1])", "dirichlet([0.0, 1.0])", "random(-1)", "random((2, -1))",
]  # fmt: skip


@pytest.mark.parametrize("group", range(4))
def test_errors_are_numpys(group):
    for call in ERRORS[group::4]:
        try:
            eval(f"np.random.{call}", SPACE)
        except (ValueError, OverflowError) as e:
            want = e
        with pytest.raises(type(want)) as got:
            njit(eval(f"lambda: np.random.{call}", SPACE))()
        assert str(got.value).lower() == str(want).split(", consider")[0].lower(), call


def test_what_is_refused():
    with pytest.raises(TypingError, match="high must be an integer"):
        njit(lambda a: np.random.randint(a))(np.ones(3))
    with pytest.raises(TypingError, match="1-dimensional"):
        njit(lambda a: np.random.multinomial(3, a))(np.ones((2, 1)))
    with pytest.raises(TypingError, match="must be an integer"):
        njit(lambda: np.random.randint(2.5))()
    with pytest.raises(TypingError, match="dtype must be of integers"):
        njit(lambda: np.random.randint(2, dtype=np.float64))()
    with pytest.raises(TypingError, match="takes a real number"):
        njit(lambda: np.random.normal(1j))()
    with pytest.raises(TypingError, match="1-dimensional"):
        njit(lambda a: np.random.choice(a))(np.ones((2, 2)))
    with pytest.raises(TypingError, match="an integer or None"):
        njit(lambda: random.seed(1.5))()
    with pytest.raises(TypingError, match="one axis"):
        njit(lambda a: random.shuffle(a))(np.ones((2, 2)))


# --- Python's ---

PYTHON = [
    "random()", "uniform(2.0, 5.0)", "uniform(3, -1)", "randint(1, 6)", "randint(-2**63, 2**63 - 1)", "randint(4, 4)", "randint(0, 2**32 - 1)", "randint(0, 2**32)", "randrange(10)", "randrange(1)", "randrange(3, 50)", "randrange(0, 100, 7)", "randrange(50, 3, -4)",
    "randrange(-2**63, 2**63 - 1)", "gauss(1.0, 2.0)", "gauss(0.0, 1.0)", "normalvariate(1.0, 2.0)", "normalvariate(0, 1)", "lognormvariate(0.5, 0.25)", "expovariate(2.0)", "expovariate(-1.0)", "betavariate(2.0, 3.0)", "betavariate(0.5, 0.5)", "betavariate(1, 4)",
    "gammavariate(0.3, 2.0)", "gammavariate(1.0, 2.0)", "gammavariate(1, 1)", "gammavariate(5.5, 0.5)", "gammavariate(1.01, 1.0)", "paretovariate(2.0)", "weibullvariate(2.0, 0.5)", "weibullvariate(1, 3)", "vonmisesvariate(1.0, 2.0)", "vonmisesvariate(0.0, 1e-7)",
    "vonmisesvariate(-7.0, 0.3)", "vonmisesvariate(2, 400)", "triangular()", "triangular(1.0, 5.0)", "triangular(1.0, 5.0, 2.0)", "triangular(0, 10, 10)", "triangular(3.0, 3.0)", "triangular(3.0, 3.0, 3.0)", "triangular(5.0, 1.0, 2.0)", "triangular(mode=0.2)",
    *(f"getrandbits({k})" for k in (0, 1, 7, 31, 32, 33, 63, 64)), "choice((5, 6, 7))", "choice(range(3, 30, 4))",
]  # fmt: skip


@pytest.mark.parametrize("group", range(4))
def test_python(group):
    for call in PYTHON[group::4]:
        space = dict(SPACE)
        exec(f"def f(seed):\n    random.seed(seed)\n    return ({f'random.{call}, ' * 12})", space)
        want = random.Random(-SEED)
        assert njit(space["f"])(-SEED) == tuple(eval(f"[R.{call} for _ in range(12)]", {"R": want})), call


def test_many_of_pythons():
    def f(seed):
        random.seed(seed)
        x = np.empty((4000, 7))
        for i in range(4000):
            x[i, 0] = random.gauss(0.0, 1.0)
            x[i, 1] = random.normalvariate(0.0, 1.0)
            x[i, 2] = random.gammavariate(0.7, 1.0)
            x[i, 3] = random.gammavariate(1.5, 1.0)
            x[i, 4] = random.vonmisesvariate(0.0, 1.0)
            x[i, 5] = random.randrange(3 * 2**30)
            x[i, 6] = random.randint(0, 5 * 2**40)
        return x

    kept = random.getstate()
    try:
        same(njit(f)(99), f(99))
    finally:
        random.setstate(kept)


def test_python_seeds():
    f = njit(lambda seed: (random.seed(seed), random.random(), random.getrandbits(64))[1:])
    for seed in (0, 1, -1, 2**31, 2**32, 2**63 - 1, -(2**63), np.uint64(2**64 - 1), True):
        want = random.Random(int(seed))
        assert f(seed) == (want.random(), want.getrandbits(64))
    before = f(1)
    assert njit(lambda: (random.seed(), random.random())[1])() != before[0]
    assert type(njit(lambda: random.getrandbits(8))()) is int
    assert type(njit(lambda k: random.getrandbits(k))(3)) is int


def test_python_sequences():
    @njit
    def pick(seed, a):
        random.seed(seed)
        random.shuffle(a)
        return random.choice(a), random.random()

    for a in (np.arange(10.0), np.arange(3, dtype=np.int8), np.arange(40)[::3]):
        want, b = random.Random(4), a.tolist()
        want.shuffle(b)
        got = pick(4, a)
        assert a.tolist() == b and got == (want.choice(b), want.random())
    with pytest.raises(IndexError, match="Cannot choose from an empty sequence"):
        pick(4, np.zeros(0))


def test_python_errors():
    for call, error, text in (
        ("randrange(0)", ValueError, "empty range"), ("randrange(5, 5)", ValueError, r"empty range in randrange\(5, 5\)"), ("randint(3, 2)", ValueError, r"empty range in randrange\(3, 3\)"), ("randrange(0, 5, 0)", ValueError, "zero step for randrange"),
        ("randrange(0, 5, -1)", ValueError, r"empty range in randrange\(0, 5, -1\)"), ("gammavariate(0.0, 1.0)", ValueError, "gammavariate: alpha and beta must be > 0.0"), ("betavariate(1.0, 0.0)", ValueError, "must be > 0.0"),
        ("expovariate(0.0)", ZeroDivisionError, "division by zero"), ("weibullvariate(1.0, 0.0)", ZeroDivisionError, "division by zero"), ("getrandbits(-1)", ValueError, "number of bits must be non-negative"), ("getrandbits(65)", OverflowError, "64 bits"),
    ):  # fmt: skip
        with pytest.raises(error, match=text):
            njit(eval(f"lambda: random.{call}", SPACE))()


# --- whose they are ---


def test_states_are_apart():
    """Of NumPy, Python, and both of compiled code."""

    @njit
    def seed(s):
        np.random.seed(s)
        random.seed(s)

    @njit
    def draw():
        return np.random.random(), random.random()

    np.random.seed(1)
    random.seed(2)
    seed(3)
    a = np.random.random(), random.random(), *draw()
    assert a == (np.random.RandomState(1).random(), random.Random(2).random(), np.random.RandomState(3).random(), random.Random(3).random())  # fmt: skip


@njit(nogil=True)
def stream(seed, n):
    if seed >= 0:
        np.random.seed(seed)
    x = np.empty(n)
    for i in range(n):
        x[i] = np.random.normal()
    return x


def test_each_thread_has_its_own():
    got = {}

    def work(k):
        got[k] = (stream(k, 1000), stream(-1, 1000))

    stream(5, 3)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(4):
        same(np.concatenate(got[k]), np.random.RandomState(k).normal(size=2000))
    same(stream(-1, 3), np.random.RandomState(5).normal(size=6)[3:])


def test_threads_are_seeded_apart():
    got = []
    threads = [threading.Thread(target=lambda: got.append(tuple(stream(-1, 4)))) for _ in range(5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(set(got)) == 5


def in_child(function) -> bytes:
    """What the function gives in the child of a fork."""
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        os.write(w, function().tobytes())
        os._exit(0)
    os.close(w)
    with os.fdopen(r, "rb") as f:
        text = f.read()
    os.waitpid(pid, 0)
    return text


@pytest.mark.nosan("forks, and a sanitizer's own threads are not there in the child")
def test_fork():
    stream(7, 5)
    here = in_child(
        lambda: stream(-1, 5)
    )  # with a seed of the program's: the child goes on as the parent does
    assert here == stream(-1, 5).tobytes()
    code = (
        "import os, numpy as np\nfrom treadle import njit\n"
        "f = njit(lambda: np.random.random(4))\nf()\n"
        "for _ in range(2):\n"
        "    pid = os.fork()\n"
        "    if not pid:\n"
        "        print(f().tolist(), flush=True)\n"
        "        os._exit(0)\n"
        "    os.waitpid(pid, 0)\n"
        "print(f().tolist())\n"
    )
    lines = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split("\n")  # fmt: skip
    assert len(set(lines[:3])) == 3 and len(lines) == 4


# --- ways in ---


@njit
def drawn():
    return np.random.normal() + np.random.randint(5)


def test_from_compiled_code():
    @njit
    def outer(seed, n):
        np.random.seed(seed)
        total = 0.0
        for _ in range(n):
            total += drawn()
        return total

    state, want = np.random.RandomState(2), 0.0
    for _ in range(50):
        want += state.normal() + state.randint(5)
    assert outer(2, 50) == want
    want = np.random.RandomState(2)
    np_seed = njit(lambda s: np.random.seed(s))
    np_seed(2)
    assert drawn() == want.normal() + want.randint(5)
    assert drawn() == want.normal() + want.randint(5)


from random import gauss as py_gauss  # noqa: E402

from numpy.random import normal as np_normal  # noqa: E402


def test_functions_under_names_of_their_own():
    f = njit(lambda: (np.random.seed(3), random.seed(3), np_normal(1.0, 2.0), py_gauss(1.0, 2.0))[2:])
    assert f() == (np.random.RandomState(3).normal(1.0, 2.0), random.Random(3).gauss(1.0, 2.0))


def test_prange(threads):
    """No two ranges, and no two threads, draw the same numbers."""

    @njit(parallel=True)
    def f(n):
        x = np.empty(n)
        for i in prange(n):
            x[i] = np.random.random()
        return x

    x = f(100_000)
    assert len(np.unique(x)) == 100_000 and abs(x.mean() - 0.5) < 0.01 and 0 <= x.min() and x.max() < 1

    @njit(parallel=True)
    def pi(n):
        inside = 0
        for _ in prange(n):
            x, y = np.random.random(), np.random.random()
            if x * x + y * y < 1:
                inside += 1
        return 4 * inside / n

    assert abs(pi(400_000) - math.pi) < 0.03


@njit(parallel=True)
def in_ranges(seed, n):
    np.random.seed(seed)
    random.seed(seed)
    x, y = np.empty(n), np.empty(n)
    for i in prange(n):
        x[i] = np.random.normal()
        y[i] = random.random()
    z = np.empty(n)
    for i in prange(n):
        z[i] = np.random.random()
    return x, y, z, np.random.random()


def test_prange_is_the_same_for_any_number_of_threads():
    most, got = treadle.get_num_threads(), []
    try:
        for k in {1, min(2, most), most}:
            treadle.set_num_threads(k)
            got += [in_ranges(17, 60_000), in_ranges(17, 60_000)]
    finally:
        treadle.set_num_threads(most)
    for g in got[1:]:
        same(g, got[0])
    assert got[0][3] == np.random.RandomState(17).random()
    assert not np.array_equal(in_ranges(18, 60_000)[0], got[0][0])


def test_ranges_are_what_numpy_would_spawn():
    x, _, z, _ = in_ranges(17, 60_000)

    def child(region, k):
        return np.random.RandomState(np.random.MT19937(np.random.SeedSequence(17, spawn_key=(region, k))))

    for got, region, method in ((x, 1, "normal"), (z, 2, "random")):
        first = getattr(child(region, 0), method)(size=60_000)
        grain = int(np.argmax(got != first))
        assert 0 < grain < 60_000, "there is one range only"
        for k in range(-(-60_000 // grain)):
            part = got[k * grain : (k + 1) * grain]
            same(part, getattr(child(region, k), method)(size=len(part)))


def test_regions_inside_of_ranges():
    @njit(parallel=True)
    def inner(x):
        for j in prange(len(x)):
            x[j] = np.random.random()

    @njit(parallel=True)
    def f(seed, n):
        np.random.seed(seed)
        x = np.empty((n, 40_000))
        for i in prange(n):
            inner(x[i])
        return x

    most = treadle.get_num_threads()
    try:
        a = f(3, 5)
        treadle.set_num_threads(1)
        same(f(3, 5), a)
    finally:
        treadle.set_num_threads(most)
    assert len(np.unique(a)) == a.size


def test_a_region_that_raises_gives_the_generator_back():
    @njit(parallel=True)
    def f(seed, n, bad):
        np.random.seed(seed)
        x = np.empty(n)
        for i in prange(n):
            x[i] = np.random.normal(0.0, -1.0 if i == bad else 1.0)
        return x

    with pytest.raises(ValueError, match="scale < 0"):
        f(5, 60_000, 59_000)
    assert njit(lambda: np.random.random())() == np.random.RandomState(5).random()


def test_order_in_array_expressions():
    """Patterns may not change the order in which numbers are drawn."""

    @njit(parallel=True)
    def f(seed, a):
        np.random.seed(seed)
        b = np.random.random(5) * 2 + np.random.normal(size=5)
        c = a + np.random.random()
        d = np.random.random(5) - np.random.random(5)
        return b, c, d, b + d

    s, a = np.random.RandomState(4), np.arange(3.0)
    b = s.random(5) * 2 + s.normal(size=5)
    c = a + s.random()
    d = s.random(5) - s.random(5)
    same(f(4, a), (b, c, d, b + d))


def test_ufunc():
    @vectorize(["float64(float64)"])
    def noisy(x):
        return x + np.random.random()

    seed = njit(lambda s: np.random.seed(s))
    seed(9)
    same(noisy(np.zeros(100)), np.random.RandomState(9).random(100))


def test_cache(tmp_path):
    """A second process takes the code from the disk, and its numbers are the same."""
    (tmp_path / "drawn.py").write_text(
        "import random\nimport numpy as np\nfrom treadle import njit\n"
        "@njit(cache=True)\ndef f(s):\n    np.random.seed(s)\n    random.seed(s)\n    return np.random.normal(size=2), np.random.randint(9), random.gauss(0.0, 1.0)\n"
        "print(f(5))\nprint(f.stats)\n"
    )
    env = {
        **os.environ,
        "TREADLE_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    runs = [
        subprocess.run([sys.executable, tmp_path / "drawn.py"], capture_output=True, text=True, env=env, check=True).stdout.split("\n")
        for _ in range(2)
    ]  # fmt: skip
    assert runs[0][0] == runs[1][0]
    state = np.random.RandomState(5)
    assert runs[0][0] == str((state.normal(size=2), state.randint(9), random.Random(5).gauss(0.0, 1.0)))


def test_modules_are_not_imported_for_it():
    """Who asks for no random numbers does not wait for the modules that have them; who does may import them later."""
    code = (
        "import sys, numpy as np\nfrom treadle import njit\n"
        "before = {m for m in ('random', 'numpy.random') if m in sys.modules}\n"
        "assert njit(lambda x: x + 1)(1) == 2\n"
        "assert {m for m in ('random', 'numpy.random') if m in sys.modules} == before\n"
        "f = njit(lambda: (np.random.seed(1), np.random.random())[1])\n"
        "print(f() == np.random.RandomState(1).random())\n"
        "import random\n"
        "g = njit(lambda: (random.seed(1), random.random())[1])\n"
        "print(g() == random.Random(1).random())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "True\nTrue\n", done.stderr


def test_ctrl_c_leaves_a_whole_state():
    """A call that ends in the middle has changed the generator by whole numbers."""
    code = (
        "import signal\nimport numpy as np\nfrom treadle import njit\n"
        "@njit\ndef f(n):\n    s = 0.0\n    for i in range(n):\n        s += np.random.normal()\n    return s\n"
        "seed = njit(lambda s: np.random.seed(s))\n"
        "g = njit(lambda n: np.random.normal(size=n))\n"
        "f(1); g(1); seed(1)\n"
        "signal.signal(signal.SIGALRM, signal.default_int_handler)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.3)\n"
        "try:\n    f(10**12)\nexcept KeyboardInterrupt:\n    pass\n"
        "x = g(10**5)\n"
        "print(abs(x.mean()) < 0.05, abs(x.std() - 1) < 0.05)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "True True\n", done.stderr


def test_a_gpu_has_no_generators():
    def f(a):
        a[0] = np.random.random()

    with pytest.raises(TreadleError, match="a GPU .* does not have the runtime's 'NP_RANDOM'"):
        cuda.compile_ptx(f, (float64[:],))


@pytest.mark.parametrize("name", ["get_state", "bytes"])
def test_what_is_not_there_is_said(name):
    with pytest.raises(TreadleError):
        njit(eval(f"lambda: np.random.{name}()", SPACE))()
