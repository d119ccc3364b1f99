"""Numbers of several variables from a np.random.Generator (python/treadle/_library/random.py), against NumPy's."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.random import MT19937, PCG64, Generator, Philox
from treadle import njit

sys.path.insert(0, str(Path(__file__).parent))
from library_check import outcome, same  # noqa: E402
from test_generator import state  # noqa: E402

MEAN = np.array([1.0, -2.0, 0.5])
COV = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 0.5]])


def agree(text: str, *args: object, kind: type = PCG64, rtol: float = 0.0, atol: float = 0.0) -> None:
    """What is drawn, some times over, and the state that is left."""
    space = {"np": np}
    exec(f"def f({', '.join(('rng', *'abcd'[: len(args)]))}): return {text}", space)
    f, g = space["f"], njit(space["f"])
    for seed in (1, 5):
        a, b = Generator(kind(seed)), Generator(kind(seed))
        for _ in range(3):
            same(outcome(g, (a, *args)), outcome(f, (b, *args)), text, rtol, atol)
            assert state(a) == state(b), text


@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
@pytest.mark.parametrize("size", ["None", "5", "(2, 3)", "0", "np.int32(4)"])
def test_normal(method, size):
    """The root of the matrix is LAPACK's, so last bits depend on who calls it."""
    agree(f"rng.multivariate_normal(a, b, {size}, method={method!r})", MEAN, COV, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kind", [MT19937, Philox])
def test_normal_of_others(kind):
    agree("rng.multivariate_normal(a, b, 4)", MEAN.astype(np.float32), COV, kind=kind, rtol=1e-12, atol=1e-13)
    agree("rng.multivariate_normal([1, 2], [[1, 0], [0, 2]], 4)", kind=kind, rtol=1e-12, atol=1e-13)


def test_normal_that_is_none():
    bad = np.array([[1.0, 2.0], [2.0, 1.0]])
    agree("rng.multivariate_normal(a, b, 2, 'raise')", MEAN[:2], bad)
    agree("rng.multivariate_normal(a, b, 2, check_valid='raise', method='eigh')", MEAN[:2], bad)
    agree("rng.multivariate_normal(a, b, 2, 'ignore', method='eigh')", MEAN[:2], bad, rtol=1e-12, atol=1e-13)
    agree("rng.multivariate_normal(a, b)", MEAN[:2], COV)
    agree("rng.multivariate_normal(a, b)", MEAN, COV[:2])


@pytest.mark.parametrize("method", ["marginals", "count"])
@pytest.mark.parametrize("size", ["None", "7", "(2, 3)", "0"])
@pytest.mark.parametrize("n", [0, 1, 5, 9, 10, 12, 18])
def test_hypergeometric(method, size, n):
    agree(f"rng.multivariate_hypergeometric(a, b, {size}, method={method!r})", np.array([6, 3, 0, 9]), n)


@pytest.mark.parametrize("colors", [(16, 8, 4), (1000, 70000, 3), (5,), (0, 0)])
def test_hypergeometric_of_others(colors):
    for method in ("marginals", "count"):
        for dtype in (np.int64, np.uint8 if max(colors) < 256 else np.int32):
            agree(
                f"rng.multivariate_hypergeometric(a, b, 5, {method!r})",
                np.array(colors, dtype),
                sum(colors) // 3,
                kind=MT19937,
            )


def test_hypergeometric_that_is_none():
    agree("rng.multivariate_hypergeometric(a, b)", np.array([1, 2]), 4)
    agree("rng.multivariate_hypergeometric(a, b)", np.array([1, 2]), -1)
    agree("rng.multivariate_hypergeometric(a, b)", np.array([1, -2]), 1)
    agree("rng.multivariate_hypergeometric(a, b)", np.array([10**9, 2]), 1)
    agree("rng.multivariate_hypergeometric(a, b)", np.array([2**62, 2**62]), 1)
    agree("rng.multivariate_hypergeometric(a, b)", np.array([1.0, 2.0]), 1)
