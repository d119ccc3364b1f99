"""Differences of differences of neighbours, written as slices: sizes that follow from sizes which are found equal are equal, too.

Programs of stencils, with slices of several arrays whose sizes meet at run time only. Each is compared with NumPy, item for item, for sizes that agree, sizes
that do not, sizes of one and none, and arrays that lie in one another; and the patterns that are left are counted.
"""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
import treadle
from treadle import njit


def hdiff(x, out, c):
    """Horizontal diffusion, with limited fluxes (a kernel of weather models)."""
    n, m, _ = out.shape
    lap = 4.0 * x[1 : n + 3, 1 : m + 3, :] - (
        x[2 : n + 4, 1 : m + 3, :]
        + x[0 : n + 2, 1 : m + 3, :]
        + x[1 : n + 3, 2 : m + 4, :]
        + x[1 : n + 3, 0 : m + 2, :]
    )
    r = lap[1:, 1 : m + 1, :] - lap[:-1, 1 : m + 1, :]
    fx = np.where((r * (x[2 : n + 3, 2 : m + 2, :] - x[1 : n + 2, 2 : m + 2, :])) > 0, 0, r)
    s = lap[1 : n + 1, 1:, :] - lap[1 : n + 1, :-1, :]
    fy = np.where((s * (x[2 : n + 2, 2 : m + 3, :] - x[2 : n + 2, 1 : m + 2, :])) > 0, 0, s)
    out[:, :, :] = x[2 : n + 2, 2 : m + 2, :] - c * (fx[1:] - fx[:-1] + fy[:, 1:] - fy[:, :-1])


def burgers(u, dt):
    f = 0.5 * u * u
    g = 0.5 * (f[1:] + f[:-1]) - 0.25 * np.abs(u[1:] - u[:-1])
    return u[1:-1] - dt * (g[1:] - g[:-1])


def harris(im):
    gx = im[1:-1, 2:] - im[1:-1, :-2]
    gy = im[2:, 1:-1] - im[:-2, 1:-1]
    xx, yy, xy = gx * gx, gy * gy, gx * gy
    a = xx[:-2, :-2] + xx[1:-1, 1:-1] + xx[2:, 2:]
    b = yy[:-2, :-2] + yy[1:-1, 1:-1] + yy[2:, 2:]
    c = xy[:-2, :-2] + xy[1:-1, 1:-1] + xy[2:, 2:]
    return a * b - c * c - 0.04 * (a + b) ** 2


def jacobi(a, b):
    b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
    a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])


def curvature(x, y):
    d = np.diff(y) - np.diff(x)
    e = d[1:] - d[:-1]
    return e[1:] - e[:-1] - (x[3:] - y[:-3])


def made(function, dtype=np.float64):
    """Arguments of it."""
    rng = np.random.default_rng(7)
    shapes = {
        hdiff: [(14, 11, 7), (10, 7, 7), (10, 7, 7)],
        burgers: [(50,), ()],
        harris: [(12, 17)],
        jacobi: [(9, 13), (9, 13)],
        curvature: [(40,), (40,)],
    }[function]
    return [rng.random(s).astype(dtype)[()] for s in shapes]


def patterns(f):
    """In blocks that are not cold, of the one specialisation."""
    (text,) = f.inspect_ir().values()
    hot = [
        b
        for b in text.split("late fn")[0].split("\nb")
        if not re.search("cold|seldom|rare", b.split("\n")[0])
    ]
    return sum(b.count("= pattern") for b in hot)


FEW = [(hdiff, 2), (burgers, 1), (harris, 1), (jacobi, 2), (curvature, 1)]


@pytest.mark.parametrize("function, few", FEW, ids=[f.__name__ for f, _ in FEW])
def test_few_patterns(function, few):
    f = njit(function)
    f(*made(function))
    assert patterns(f) == few


@pytest.mark.parametrize("options", [{}, {"parallel": True}], ids=["plain", "parallel"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("function", [f for f, _ in FEW], ids=[f.__name__ for f, _ in FEW])
def test_as_numpy(function, dtype, options):
    a, b = made(function, dtype), made(function, dtype)
    r, q = njit(**options)(function)(*a), function(*b)
    for x, y in zip([*a, r], [*b, q], strict=True):
        if y is None:
            assert x is None
        else:
            np.testing.assert_allclose(x, y, rtol=1e-4 if dtype == np.float32 else 1e-12)


def both(f, function, args):
    """What the compiled and the plain function do with copies of these, or the exception's class."""
    told = []
    for g in (f, function):
        own = [np.copy(x) if isinstance(x, np.ndarray) else x for x in args]
        try:
            told.append([g(*own), *own])
        except ValueError:
            told.append(ValueError)
    return told


def test_sizes_that_do_not_meet():
    """Sizes of one repeat, others raise, and none is fine."""
    f, g = njit(hdiff), njit(curvature)
    rng, seen = random.Random(3), set()
    for _ in range(150):
        n, m, k = (rng.choice([0, 1, 2, 5]) for _ in range(3))
        x = np.random.default_rng(1).random(
            [s + rng.choice([2, 3, 4, 5]) for s in (n, m)] + [rng.choice([k, 1])]
        )
        c = np.random.default_rng(2).random([rng.choice([n, 1]), rng.choice([m, 1]), rng.choice([k, 1, 3])])
        a, b = both(f, hdiff, (x, np.zeros((n, m, k)), c))
        u, v = (np.random.default_rng(k).random(rng.choice([0, 1, 2, 3, 4, 5, 9])) for k in (1, 2))
        s, t = both(g, curvature, (u, v))
        for p, q in ((a, b), (s, t)):
            assert (p is ValueError) == (q is ValueError)
            seen.add(q is ValueError)
            if q is not ValueError:
                for y, z in zip(p, q, strict=True):
                    assert y is None if z is None else np.shape(y) == np.shape(z) and np.allclose(y, z)
    assert seen == {True, False}


@pytest.mark.parametrize("parallel", [False, True])
def test_arrays_within_one_another(parallel):
    """The target lies in what is read: by the whole array, by a few rows, turned, or beside it in one block of memory."""
    f, g = njit(parallel=parallel)(hdiff), njit(parallel=parallel)(jacobi)
    for first, last in ((0, 0), (2, 2), (1, 3), (3, 1), (4, 0), (0, 4)):
        a, b = (np.random.default_rng(5).random((14, 12, 6)) for _ in range(2))
        for x, h in ((a, f), (b, hdiff)):
            h(x, x[first : first + 10, last : last + 8], x[2:-2, 2:-2])
        np.testing.assert_allclose(a, b, rtol=1e-12)
    for x in (lambda z: z[:9], lambda z: z[1:10], lambda z: z[::-1][:9], lambda z: z[9:], lambda z: z[8:17]):
        a, b = (np.random.default_rng(5).random((18, 13)) for _ in range(2))
        for z, h in ((a, g), (b, jacobi)):
            h(z[:9], x(z))
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_lazily():
    """The graph that operators build of them is as few kernels."""
    tp = treadle.parallel
    for function, few in FEW:
        if function in (hdiff, jacobi):
            continue  # they store
        args = made(function)
        lazy = function(*[tp.array(x) if np.ndim(x) else x for x in args])
        assert len(tp.explain(lazy).kernels) == few
        np.testing.assert_allclose(np.asarray(lazy), function(*args), rtol=1e-12)
