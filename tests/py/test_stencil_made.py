"""stencil(kernel) within a compiled function is what it is outside."""

import subprocess
import sys

import numpy as np
import pytest
import treadle
from treadle import TypingError, UnsupportedError, njit, prange, stencil


def cross(a):
    return 0.25 * (a[0, 1] + a[1, 0] + a[0, -1] + a[-1, 0])


def behind(a, b, c):
    s = 0.0
    for k in range(-2, 1):
        s += a[k] * c
    return s + b[0]


SQUARE = np.arange(30.0).reshape(5, 6) ** 2


@pytest.mark.parametrize("options", [{}, {"parallel": True}, {"inline": "always"}, {"fastmath": True}])
@pytest.mark.parametrize(
    "a", [SQUARE, SQUARE.T, SQUARE[::2, ::-1], SQUARE[:2], SQUARE[:0], SQUARE.astype(np.float32)]
)
def test_it_is_the_stencil(options, a):
    want = stencil(cross)(a)

    @njit(**options)
    def at_once(a):
        return stencil(cross)(a)

    @njit(**options)
    def by_name(a):
        s = treadle.stencil(cross)
        return s(a)

    @njit(**options)
    def decorated(a):
        @stencil
        def inner(a):
            return 0.25 * (a[0, 1] + a[1, 0] + a[0, -1] + a[-1, 0])

        return inner(a)

    for f in (at_once, by_name, decorated):
        np.testing.assert_array_equal(f(a), want)
        assert f(a).dtype == want.dtype


def test_its_options():
    made = stencil(neighborhood=((-2, 0),), cval=3.0, standard_indexing=("b",))(behind)

    @njit
    def f(a, c):
        s = stencil(behind, neighborhood=((-2, 0),), cval=3.0, standard_indexing=("b",))
        out = np.zeros_like(a)
        s(a, a, c, out=out)
        return out, s(a, a, c), stencil(lambda a: a[-1] + a[1])(a)

    a = np.arange(7.0) ** 2
    out, new, plain = f(a, 0.5)
    np.testing.assert_array_equal(out, made(a, a, 0.5))
    np.testing.assert_array_equal(new, out)
    np.testing.assert_array_equal(plain, stencil(lambda a: a[-1] + a[1])(a))


def test_in_loops_and_callees():
    @njit
    def once(a):
        return stencil(cross)(a)

    @njit(parallel=True)
    def f(a):
        out = np.zeros((4, *a.shape))
        for i in prange(4):
            out[i] = stencil(cross)(a + i)
        for _ in range(2):
            a = once(a)
        return out, a

    out, a = f(SQUARE)
    for i in range(4):
        np.testing.assert_array_equal(out[i], stencil(cross)(SQUARE + i))
    np.testing.assert_array_equal(a, stencil(cross)(stencil(cross)(SQUARE)))


@pytest.mark.parametrize(
    "text,error",
    [
        ("stencil('constant')(cross)(a)", TypingError),
        ("stencil(cross, neighborhood=3)(a)", TypingError),
        ("stencil(cross, neighborhood=((1, -1), (0, 0)))(a)", TypingError),
        ("stencil(cross, neighborhood=((-1, 1),))(a)", TypingError),
        ("stencil(cross, cval=a)(a)", TypingError),
        ("stencil(cross, cval=n)(a)", TypingError),
        ("stencil(cross, neighborhood=((-n, n), (-n, n)))(a)", TypingError),
        ("stencil(cross, standard_indexing=('a',))(a)", TypingError),
        ("stencil(cross, standard_indexing=('x',))(a)", TypingError),
        ("stencil(cross)(3)", TypingError),
        ("stencil(cross)()", TypingError),
        ("stencil(lambda a: a[0, 1] + n)(a)", UnsupportedError),
        ("stencil(cross)", (TypingError, UnsupportedError)),
    ],
)
def test_what_is_refused(text, error):
    names = {"stencil": stencil, "cross": cross}
    exec(f"def f(a, n):\n    return {text}", names)
    with pytest.raises(error):
        njit(names["f"])(SQUARE, 2)


LATE = """
import sys
import numpy as np
from treadle import njit

assert njit(lambda a: a + 1)(1) == 2  # before anybody has asked for stencils
assert "treadle.stencils" not in sys.modules
from treadle import stencil

print(njit(lambda a: stencil(lambda b: b[1], cval=7)(a))(np.arange(3.0)))
"""


def test_it_is_known_whenever_it_is_imported():
    ran = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, check=True)
    assert ran.stdout == "[1. 2. 7.]\n"
