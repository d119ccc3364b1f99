"""numpy.fft in compiled code (python/treadle/_library/fourier.py) against NumPy: the same bits, types, shapes and exceptions."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import treadle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import njit, prange

sys.path.insert(0, str(Path(__file__).parent))
from library_arrays import lay  # noqa: E402
from library_check import check, check_python, compiled  # noqa: E402

SETTINGS = settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
NEW = not np.__version__.startswith("1.")  # the loops are NumPy 2's
ONE = "fft ifft rfft irfft hfft ihfft".split()
SEVERAL = "fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn".split()
DTYPES = ["f8", "c16", "f4", "c8", "f2", "i8", "u2", "i1", "?"]
NORMS = [None, "backward", "ortho", "forward"]

new = pytest.mark.skipif(not NEW, reason="NumPy 1 has no loops for it")


def numbers(rng, shape, dtype):
    """Numbers of this shape, in memory in some way."""
    a = np.asarray(rng.integers(-4, 5, shape)) + np.asarray(rng.random(shape) if dtype[0] in "fc" else 0)
    if dtype[0] == "c":
        a = a + 1j * np.asarray(rng.random(shape))
    return lay(rng, np.abs(a).astype(dtype) if dtype[0] in "u?" else a.astype(dtype))


def bits(text, *args):
    """Hold an expression to NumPy, to the last bit."""
    others = [
        np.copy(x, order="K") if isinstance(x, np.ndarray) else x for x in args
    ]  # it may store into them
    got = check(text, *args)
    if not isinstance(got, Exception):
        with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
            want = compiled(text)[0](*others)
        assert np.asarray(got).tobytes() == np.asarray(want).tobytes(), (text, args)


def shape(rng, least):
    return tuple(int(n) for n in rng.integers(0 if rng.integers(6) == 0 else 1, 6, rng.integers(least, 4)))


@new
@SETTINGS
@given(st.integers(0, 10**6), st.sampled_from(DTYPES), st.sampled_from(ONE), st.sampled_from(NORMS))
def test_one_axis(seed, dtype, name, norm):
    rng = np.random.default_rng(seed)
    a = numbers(rng, shape(rng, 1), dtype)
    axis = int(rng.integers(-a.ndim, a.ndim))
    if a.shape[axis] == 0 and name in ("irfft", "hfft"):
        return  # NumPy reads an item that is not there
    bits(f"np.fft.{name}(a, axis={axis}, norm={norm!r})", a)
    bits(f"np.fft.{name}(a, b, {axis}, {norm!r})", a, int(rng.integers(0, 9)))


@new
@SETTINGS
@given(st.integers(0, 10**6), st.sampled_from(DTYPES), st.sampled_from(SEVERAL), st.sampled_from(NORMS))
def test_several_axes(seed, dtype, name, norm):
    rng = np.random.default_rng(seed)
    a = numbers(rng, shape(rng, 2), dtype)
    if a.size == 0 and name.startswith("ir"):
        return  # NumPy reads an item that is not there
    count = 2 if name.endswith("2") else int(rng.integers(1, a.ndim + 1))
    axes = tuple(int(k) for k in rng.permutation(a.ndim)[:count] - (a.ndim if rng.integers(2) else 0))
    bits(f"np.fft.{name}(a, norm={norm!r})", a)
    bits(f"np.fft.{name}(a, axes={axes}, norm={norm!r})", a)
    s = tuple(int(n) for n in rng.integers(1, 7, count))
    places = ", ".join(f"b[{k}]" for k in range(count))
    bits(f"np.fft.{name}(a, ({places},), {axes}, {norm!r})", a, s)
    bits(f"np.fft.{name}(a, s={(-1, *s[1:])}, axes={axes})", a)


@new
@pytest.mark.parametrize("n", [1, 2, 3, 7, 16, 30, 97, 128, 1000, 1009, 4099])
def test_lengths(n):
    """Those that have large prime factors go another way in the loops."""
    a = np.random.default_rng(n).random((3, n))
    for name in ONE:
        for dtype in ("f8", "f4"):
            bits(f"np.fft.{name}(a, norm='ortho')", a.astype(dtype))
    for name in ("fft", "ifft", "irfft", "hfft"):
        for dtype in ("c16", "c8"):
            bits(f"np.fft.{name}(a, norm='ortho')", (a + 1j * a[::-1]).astype(dtype))


@new
def test_an_axis_twice_and_none():
    a = np.random.default_rng(1).random((4, 6))
    for name in ("fftn", "ifftn", "rfftn", "irfftn"):
        bits(f"np.fft.{name}(a, axes=(0, 0))", a)
        bits(f"np.fft.{name}(a, (3, 5, 2), (1, 0, 1))", a)
        bits(f"np.fft.{name}(a, (3, 5))", a)
        bits(f"np.fft.{name}(a, (None, 5), (0, 1))", a)
        bits(f"np.fft.{name}(a, (), ())", a)
        bits(f"np.fft.{name}(a)", np.array(2.5))


@new
def test_out():
    rng = np.random.default_rng(2)
    m = rng.random((4, 6))
    for dtype, other in (("c16", "c8"), ("c8", "c16")):
        for place in (np.zeros((4, 6), dtype), np.zeros((6, 4), other).T, np.zeros((4, 12), dtype)[:, ::2]):
            bits("np.fft.fft(a, out=b)", m, place.copy(order="K"))
            bits("np.fft.fft(a, axis=0, out=b)", m.astype("f4"), place.copy(order="K"))
            bits("np.fft.fftn(a, out=b, norm='ortho')", m, place.copy(order="K"))
    bits("np.fft.rfft(a, out=b)", m, np.zeros((4, 4), "c16"))
    bits("np.fft.ihfft(a, out=b)", m, np.zeros((4, 4), "c16"))
    bits("np.fft.irfft(a, out=b)", m, np.zeros((4, 10)))
    bits("np.fft.irfft(a, out=b)", m, np.zeros((4, 10), "f4"))
    for bad in (np.zeros((4, 5), "c16"), np.zeros((3, 6), "c16"), np.zeros(6, "c16")):
        bits("np.fft.fft(a, out=b)", m, bad)
    z = m + 0j

    @njit
    def in_place(z):
        r = np.fft.fft(z, axis=0, out=z)
        np.fft.ifft(z[:, ::-1], out=z)
        return r

    want = np.fft.ifft(np.fft.fft(z, axis=0)[:, ::-1])
    assert in_place(z).tobytes() == want.tobytes() == z.tobytes()
    with pytest.raises(treadle.TypingError, match="cannot store"):
        compiled("np.fft.fft(a, out=b)")[1](m, m)
    z.flags.writeable = False
    with pytest.raises(treadle.TypingError, match="read-only"):
        in_place(z)


@new
def test_bad():
    m = np.ones((4, 6))
    for text in ("np.fft.fft(a, 0)", "np.fft.fft(a, -3)", "np.fft.irfft(a[:, :1])", "np.fft.fft(a, axis=2)", "np.fft.fft(a, 3, axis=-3)",
                 "np.fft.fft(a, norm='none')", "np.fft.rfft(a + 0j)", "np.fft.ihfft(a + 0j)", "np.fft.fft(a[0, 0])", "np.fft.fft(a, 2.5)",
                 "np.fft.fftn(a, (3,), (0, 1))", "np.fft.fftn(a, axes=(0, 2))", "np.fft.fftn(a, (3, 0), (0, 1))", "np.fft.fftn(a, axes=0)",
                 "np.fft.fftn(a, 3)", "np.fft.rfftn(a[0, 0])", "np.fft.irfftn(a[0, 0])", "np.fft.fft2(a[0])", "np.fft.fft(a[:0], axis=0)"):  # fmt: skip
        assert isinstance(check(text, m), Exception), text
    for text, what in (
        ("np.fft.fft(a, axis=b * 1.0)", "must be integers"),
        ("np.fft.rfft(a + 0j)", "takes no complex"),
        ("np.fft.ihfft(a + 0j)", "takes no complex"),
    ):
        with pytest.raises(treadle.TypingError, match=what) as e:
            compiled(text)[1](*(m, 1)[: 1 + ("b" in text)])
        assert "treadle/_library" not in str(e.value)


@new
def test_axes_known_late():
    m = np.random.default_rng(4).random((4, 6))
    for axis in (0, 1, -1, 2):
        check("np.fft.fft(a, axis=b)", m, axis)
        check("np.fft.irfft(a, 5, axis=b)", m + 0j, axis)
        check("np.fft.fftn(a, axes=(0, b))", m, axis)


@new
def test_nothing_is_padded():
    """NumPy's inverse of a spectrum without items reads memory that is not the array's."""
    a = np.zeros((2, 0), "c16")
    for text in ("np.fft.irfft(a, 4)", "np.fft.hfft(a, 4)", "np.fft.irfft(a, 4, out=np.ones((2, 4)))"):
        assert compiled(text)[1](a).tolist() == [[0.0] * 4] * 2
    assert compiled("np.fft.irfft2(a, (3, 4))")[1](a).tolist() == [[0.0] * 4] * 3


@new
def test_in_python():
    """Run by Python the functions are NumPy, too."""
    m = np.random.default_rng(4).random((4, 6))
    for name in ONE:
        for more in ("", ", 5, 0, 'ortho'"):
            check_python(f"np.fft.{name}(a{more})", m)
    for name in SEVERAL:
        for more in ("", ", (3, 5), (1, 0), 'forward'"):
            check_python(f"np.fft.{name}(a{more})", m)


@new
def test_ways_in():
    m = np.random.default_rng(5).random((6, 5, 8))
    want = np.fft.fft(m)

    @njit
    def one(x):
        return np.fft.fft(x)

    @njit(nogil=True, fastmath=True, boundscheck=False)
    def calls(x):
        return one(x)

    @njit(parallel=True)
    def parallel(x):
        return np.fft.fft(x)

    @njit(parallel=True)
    def loop(x):
        out = np.empty(x.shape, np.complex128)
        for i in prange(len(x)):
            out[i] = np.fft.fft(x[i])
        return out

    inside = njit(lambda x: (lambda y: np.fft.fft(y))(x))
    for f in (one, calls, parallel, loop, inside):
        assert f(m).tobytes() == want.tobytes()

    @njit
    def convolved(a, b):
        n = len(a) + len(b) - 1
        return np.fft.irfft(np.fft.rfft(a, n) * np.fft.rfft(b, n), n)

    a, b = m[0, 0], m[1, 1]
    np.testing.assert_allclose(convolved(a, b), np.convolve(a, b), rtol=1e-12)

    @njit
    def caught(x, n):
        try:
            return np.fft.fft(x, n)
        except ValueError:
            return np.zeros(1, np.complex128)

    assert caught(a, 0).tolist() == [0] and len(caught(a, 3)) == 3


PROGRAM = """
import numpy as np, treadle
from treadle import njit

@njit(cache=True)
def f(a):
    return np.fft.rfft(a), np.fft.fft2(a)

a = np.arange(12.0).reshape(3, 4)
got = f(a)
assert got[0].tobytes() == np.fft.rfft(a).tobytes() and got[1].tobytes() == np.fft.fft2(a).tobytes()
print(treadle.stats()["compiled"])
"""


@new
def test_code_from_the_cache(tmp_path: Path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    env = dict(os.environ, TREADLE_CACHE_DIR=str(tmp_path / "cache"))
    seen = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, str(path)], env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        seen.append(done.stdout.strip())
    assert seen == ["1", "0"]


@new
def test_memory_is_given_back():
    f = njit(lambda a: np.fft.irfft2(np.fft.rfft2(a)).sum())
    a = np.ones((8, 9))
    f(a)
    before = treadle.stats()
    for _ in range(10):
        f(a)
    after = treadle.stats()
    assert (
        after["arrays_allocated"] - before["arrays_allocated"]
        == after["arrays_freed"] - before["arrays_freed"]
    )


@pytest.mark.skipif(NEW, reason="there are loops")
@pytest.mark.parametrize("name", ONE + SEVERAL)
def test_older_numpy_is_told(name):
    with pytest.raises(treadle.TypingError, match="install NumPy 2"):
        compiled(f"np.fft.{name}(a)")[1](np.ones((4, 4)))
