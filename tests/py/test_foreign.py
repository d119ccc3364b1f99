"""Ufuncs of others in compiled code: C loops that NumPy and SciPy bring, called on numbers and arrays."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
import treadle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.linalg import _umath_linalg as linalg
from sizes import examples
from treadle import guvectorize, njit, prange, vectorize
from treadle._library import checked

try:
    from numpy._core import _multiarray_umath as umath
    from numpy._core import _umath_tests as loops
except ImportError:  # NumPy < 2
    os.environ["NUMPY_EXPERIMENTAL_DTYPE_API"] = "1"  # its tests' module asks for that
    from numpy.core import _multiarray_umath as umath
    from numpy.core import _umath_tests as loops

SETTINGS = settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))

arg, clip = umath._arg, umath.clip
cross1d, inner1d, innerwt = loops.cross1d, loops.inner1d, loops.innerwt


@njit
def call_clip(x, lo, hi):
    return clip(x, lo, hi)


@njit
def call_arg(x):
    return arg(x)


@njit
def call_inner(x, y):
    return inner1d(x, y)


@njit
def call_solve(a, b):
    return linalg.solve(a, b)


def view(rng, shape, dtype):
    """An array of this shape that lies in memory in some way."""
    kind = rng.integers(4)
    base = np.asarray(rng.random(tuple(2 * n for n in shape)) * 20).astype(dtype)
    if kind == 0:
        return base[tuple(slice(0, n) for n in shape)].copy()
    if kind == 1:
        return np.asfortranarray(base[tuple(slice(0, n) for n in shape)])
    if kind == 2:
        return base[(*(slice(None, None, -2) if n else slice(0, 0) for n in shape), ...)]
    a = base[(*(slice(1, 2 * n, 2) for n in shape), ...)]
    a.flags.writeable = False
    return a


def same(got, want):
    np.testing.assert_array_equal(got, want)
    if np.ndim(want):
        assert got.dtype == want.dtype


@SETTINGS
@given(st.integers(0, 10**6), st.sampled_from(["?", "i1", "u2", "i4", "i8", "u8", "f4", "f8"]))
def test_elementwise(seed, dtype):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(0, 4, rng.integers(0, 4)))
    x, lo = view(rng, shape, dtype), view(rng, shape[len(shape) // 2 :], dtype)
    hi = view(rng, tuple(1 if rng.integers(2) else n for n in shape), dtype)
    same(call_clip(x, lo, hi), clip(x, lo, hi))
    if x.size:
        same(call_clip(x, lo, hi.flat[0]), clip(x, lo, hi.flat[0]))
        same(call_clip(x.flat[0], x.flat[0], hi.flat[0]), clip(x.flat[0], x.flat[0], hi.flat[0]))
    z = view(rng, shape, "c8") * (1 + 1j)
    same(call_arg(z.astype("c8")), arg(z.astype("c8")))
    same(call_arg(z.astype("c16")), arg(z.astype("c16")))


@SETTINGS
@given(st.integers(0, 10**6), st.sampled_from(["i4", "i8", "f4", "f8"]))
def test_generalised(seed, dtype):
    rng = np.random.default_rng(seed)
    outer = tuple(rng.integers(0, 4, rng.integers(0, 3)))
    n = int(rng.integers(0, 5))
    x, y = view(rng, (*outer, n), dtype), view(rng, (*outer[len(outer) // 2 :], n), dtype)
    same(call_inner(x, y), inner1d(x, y))


def test_types_are_found_by_the_table():
    """NumPy's rule: the first loop that all convert to safely; Python's numbers are weak."""

    @njit
    def f(x):
        return arg(x), arg(x + 1j), clip(x, 1, 3)

    for x in (np.arange(5, dtype="i1"), np.arange(5.0), np.arange(5, dtype="f4")):
        got = f(x)
        same(got[0], arg(x))
        same(got[2], clip(x, 1, 3))
    assert call_arg(1j) == arg(1j) and call_arg(2) == 0.0
    assert call_inner(np.arange(3, dtype="u1"), np.arange(3, dtype="f4")) == 5.0
    for x in ("a", (1, 2), None):
        with pytest.raises(treadle.TypingError, match="takes numbers or arrays"):
            call_arg(x)
    with pytest.raises(treadle.TypingError, match="no signature for"):
        call_inner(np.ones(3, "c16"), np.ones(3))


def test_outputs_and_overlap():
    @njit
    def out(x, lo, hi, y):
        return clip(x, lo, hi, out=y)

    @njit
    def positional(x, lo, hi, y):
        clip(x, lo, hi, y)

    for f in (out, positional):
        for part in (
            lambda v: (v, v),
            lambda v: (v[:-1], v[1:]),
            lambda v: (v[1:], v[:-1]),
            lambda v: (v[::-1], v),
        ):
            v, w = np.arange(8.0), np.arange(8.0)
            a, b = part(v)
            c, d = part(w)
            f(a, 1.0, 5.0, b)
            clip(c.copy(), 1.0, 5.0, out=d)
            np.testing.assert_array_equal(v, w)
    y = np.zeros((2, 3), "f4")
    out(np.arange(3.0), 1.0, 2.0, y)
    assert y.tolist() == [[1, 1, 2]] * 2
    with pytest.raises(treadle.TypingError, match="cannot store"):
        out(np.arange(3.0), 1.0, 2.0, np.zeros(3, "i8"))
    with pytest.raises(ValueError, match="cannot repeat"):
        out(np.arange(3.0), 1.0, 2.0, np.zeros(1))
    with pytest.raises(treadle.TypingError, match="read-only"):
        z = np.zeros(3)
        z.flags.writeable = False
        out(np.arange(3.0), 1.0, 2.0, z)
    with pytest.raises(ValueError, match="broadcast"):
        call_clip(np.arange(3.0), np.arange(2.0), 2.0)


def test_core_dimensions():
    """NumPy's text where they differ; sizes that the layout fixes; sizes that no operand has."""
    for bad in (np.ones((4, 2)), np.ones((2, 3, 1))):
        seen = []
        for f in (linalg.solve, call_solve):
            with pytest.raises(ValueError) as e:
                f(np.ones((2, 2)) if bad.ndim == 3 else np.eye(3), bad)
            seen.append(str(e.value))
        assert seen[0] == seen[1] and "mismatch in its core dimension" in seen[0]

    @njit
    def cross(a, b):
        return cross1d(a, b)

    a, b = np.random.default_rng(0).random((2, 5, 3))
    same(cross(a, b), cross1d(a, b))
    with pytest.raises(ValueError, match="core dimension 0"):
        cross(np.ones(4), np.ones(4))
    with pytest.raises(treadle.TypingError, match="dimensions, but the layout"):
        call_solve(np.eye(2), np.ones(2))
    conv = loops.conv1d_full if hasattr(loops, "conv1d_full") else loops.euclidean_pdist

    @njit
    def unknown(x):
        return conv(x, x)

    if conv.nin == 2:
        with pytest.raises(treadle.TypingError, match="give that output as out="):
            unknown(np.ones(3))


def test_what_has_no_loop_is_refused():
    made = np.frompyfunc(lambda x: x, 1, 1)

    @njit
    def f(x):
        return made(x)

    @njit
    def optional(x):
        return loops.matmul(x, x)

    for fn, text in (
        (f, "no loop of C code"),
        (optional, "optional core dimensions"),
    ):
        with pytest.raises(treadle.UnsupportedError, match=text):
            fn(np.ones((2, 2)))


def test_the_flag():
    @njit
    def f(a):
        return checked(linalg.inv, a)

    @njit(parallel=True)
    def parallel(a):
        return checked(linalg.inv, a)

    @njit
    def quiet(a):
        return linalg.inv(a)

    good, bad = np.eye(3) * 2, np.ones((3, 3))
    for a in (
        good,
        bad,
        np.array([good, bad]),
        np.array([[good, good], [bad, good]]),
        np.zeros((0, 0)),
        np.zeros((0, 3, 3)),
    ):
        for way in (f, parallel):
            got, want = way(a), checked(linalg.inv, a)
            np.testing.assert_array_equal(got[0], want[0])
            assert got[1] is want[1]
    with np.errstate(all="raise"):
        assert f(bad)[1] and not f(good)[1] and np.isnan(quiet(bad)).all()
        assert np.sqrt(4.0) == 2.0  # the flag is not left behind for NumPy

    @njit
    def out(a, b):
        return checked(linalg.inv, a, out=b)[1]

    b = np.zeros((3, 3))
    assert not out(good, b) and b[0, 0] == 0.5

    @njit
    def wrong(a):
        return checked(np.sin, a)

    with pytest.raises(treadle.TypingError, match="takes a ufunc whose loops are C code"):
        wrong(good)


def test_ways_in():
    a = np.random.default_rng(3).random((6, 9, 9))
    want = np.linalg.inv(a)

    @njit
    def one(x):
        return linalg.inv(x)

    @njit
    def calls(x):
        return one(x)

    @njit
    def passed(u, x):
        return u(x)

    @njit
    def passes(x):
        return passed(linalg.inv, x), passed(linalg.det, x)

    @njit(parallel=True)
    def loop(x):
        out = np.empty_like(x)
        for i in prange(len(x)):
            out[i] = linalg.inv(x[i])
        return out

    @njit
    def expression(x):
        return (linalg.inv(x * 2) + 1).sum()

    inside = njit(lambda x: (lambda y: linalg.inv(y))(x))
    for f in (one, calls, loop, inside):
        np.testing.assert_array_equal(f(a), want)
    np.testing.assert_array_equal(passes(a)[1], linalg.det(a))
    np.testing.assert_array_equal(passed(linalg.inv, a), want)
    np.testing.assert_array_equal(passed(linalg.det, a), linalg.det(a))
    assert np.isclose(expression(a), (want / 2 + 1).sum())

    @vectorize
    def elementwise(x):
        return arg(x) + 1

    @guvectorize("(n),(n)->()")
    def general(x, y, out):
        out[0] = inner1d(x, y)

    z = np.array([1j, 1, -1])
    np.testing.assert_array_equal(elementwise(z), arg(z) + 1)
    assert general(np.arange(3.0), np.arange(3.0)) == 5
    results = []
    threads = [threading.Thread(target=lambda: results.append(one(a))) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 4 and all(np.array_equal(r, want) for r in results)


def test_memory_is_given_back():
    a = np.random.default_rng(3).random((6, 9, 9))
    call_solve(a, a)
    before = treadle.stats()
    for _ in range(10):
        call_solve(a, a)
        call_arg(1j)
    after = treadle.stats()
    assert (
        after["arrays_allocated"] - before["arrays_allocated"]
        == after["arrays_freed"] - before["arrays_freed"]
    )


PROGRAM = """
import sys
import numpy as np, treadle
from numpy.linalg import _umath_linalg as linalg
from treadle import njit
sys.path.insert(0, {tests!r})
from test_foreign import arg

@njit(cache=True)
def f(a):
    return linalg.inv(a), arg(a + 0j)

@njit(cache=True)
def call(u, a):
    return u(a)

a = np.array([[2.0, 0], [0, -4]])
assert f(a)[0].tolist() == [[0.5, 0], [0, -0.25]], f(a)
assert f(a)[1][1, 1] == np.pi
u = getattr(linalg, sys.argv[1])
assert np.allclose(call(u, a), u(a))
print(treadle.stats()["compiled"])
"""


def test_code_from_the_cache(tmp_path: Path):
    """Another process has its loops elsewhere; what another ufunc of the same types does is not remembered of the first."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(tests=str(Path(__file__).parent)))
    env = dict(os.environ, TREADLE_CACHE_DIR=str(tmp_path / "cache"))

    def run(name: str) -> str:
        done = subprocess.run(
            [sys.executable, str(path), name], env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert [run("inv"), run("inv"), run("det"), run("inv"), run("det")] == ["2", "0", "1", "0", "0"]


def test_scipy():
    sp = pytest.importorskip("scipy.special")

    @njit
    def f(x):
        return sp.gamma(x), sp.erf(x), sp.jv(0.5, x), sp.jv(1, x), sp.sici(x)

    for x in (np.linspace(0.5, 4, 7), np.ones((3, 4), "f4"), np.arange(1, 5), np.ones((2, 2, 6))[..., ::2]):
        want = (sp.gamma(x), sp.erf(x), sp.jv(0.5, x), sp.jv(1, x), *sp.sici(x))
        got = f(x)
        for a, b in zip((*got[:4], *got[4]), want, strict=True):
            same(a, b)
    assert f(2.5)[0] == sp.gamma(2.5) and f(3)[0] == 2.0


# --- exceptions that loops leave: scipy.special's errors, warnings that are errors ---


@pytest.fixture
def special():
    sp = pytest.importorskip("scipy.special")
    with sp.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        yield sp


def raises_as(sp, call):
    """What compiled code raises is what NumPy raises for a number, and nothing stays behind."""
    with pytest.raises(sp.SpecialFunctionError) as want:
        sp.gamma(-1.0)
    with pytest.raises(sp.SpecialFunctionError) as got:
        call()
    assert str(got.value) == str(want.value) and type(got.value) is type(want.value)
    assert [1][:] == [1]  # an exception that were left behind would come up here


def test_an_exception_of_a_loop_is_raised(special):
    gamma = special.gamma

    @njit
    def plain(x):
        return gamma(x)

    @njit(nogil=True)
    def nogil(x):
        return gamma(x)

    @njit(parallel=True)
    def parallel(x):
        return gamma(x)

    @njit
    def inside(x):
        return plain(x) + 1

    @njit(parallel=True)
    def loop(x):
        out = np.empty_like(x)
        for i in prange(len(x)):
            out[i] = gamma(x[i])
        return out

    @njit
    def unused(x):
        gamma(x)
        return 1.0

    @njit
    def passed(u, x):
        return u(x)

    @njit
    def printing(x):
        print(gamma(x).sum())

    @vectorize
    def elementwise(x):
        return gamma(x)

    @guvectorize("(n)->()")
    def general(x, out):
        out[0] = gamma(x).sum()

    bad = np.full(5000, -1.0)
    for f in (plain, nogil, parallel, inside, unused, elementwise, lambda x: passed(gamma, x)):
        raises_as(special, lambda f=f: f(-1.0))
        assert f(3.0) == 2.0 or f is inside or f is unused
    for f in (plain, nogil, parallel, inside, unused, loop, elementwise, general, printing):
        raises_as(special, lambda f=f: f(bad))
        raises_as(special, lambda f=f: f(bad[:7]))
    np.testing.assert_array_equal(loop(-bad), special.gamma(-bad))
    for a in (bad[:0], np.zeros((0, 3))):
        assert plain(a).shape == a.shape
    later = threading.Thread(target=lambda: plain(-1.0))  # SciPy's errstate is a thread's own
    later.start()
    later.join()


def test_the_traceback_names_the_lines(special):
    gamma = special.gamma

    @njit
    def inner(x):
        return gamma(x)

    @njit
    def outer(x):
        return inner(x) + 1

    with pytest.raises(special.SpecialFunctionError) as e:
        outer(-1.0)
    assert [t.name for t in e.traceback][-2:] == ["outer", "inner"]


def test_an_exception_of_a_loop_is_caught(special):
    gamma, error = special.gamma, special.SpecialFunctionError

    class Other(Exception):
        pass

    @njit
    def any_one(x):
        try:
            return gamma(x)
        except Exception:
            return -5.0

    @njit
    def bare(x):
        try:
            return gamma(x)
        except:
            return -5.0

    @njit
    def its_class(x):
        try:
            return gamma(x)
        except ValueError:
            return -1.0
        except (Other, error):
            return -5.0

    @njit
    def others(x):
        try:
            return gamma(x)
        except (ValueError, Other):
            return -1.0

    @njit
    def again(x):
        try:
            return gamma(x)
        except error:
            for _ in range(3):
                try:
                    gamma(x)
                except Exception:
                    pass
            raise

    @njit
    def finally_(x, seen):
        try:
            return gamma(x)
        finally:
            seen[0] += 1

    @njit
    def raised_from(x):
        try:
            return gamma(x)
        except error as e:
            raise Other("after it") from e

    @njit(parallel=True)
    def loop(x):
        out = np.empty_like(x)
        for i in prange(len(x)):
            try:
                out[i] = gamma(x[i])
            except error:
                out[i] = -5.0
        return out

    @njit
    def passed(x):
        n = 0
        for i in range(len(x)):
            try:
                gamma(x[i])
            except Exception:
                n += 1
        return n

    for f in (any_one, bare, its_class):
        assert f(-1.0) == -5.0 and f(3.0) == 2.0
    for f in (others, again):
        raises_as(special, lambda f=f: f(-1.0))
    seen = np.zeros(1)
    raises_as(special, lambda: finally_(-1.0, seen))
    assert seen[0] == 1
    with pytest.raises(Other, match="after it") as e:
        raised_from(-1.0)
    assert type(e.value.__cause__) is error and str(e.value.__cause__).endswith("singularity")
    assert passed(np.full(2000, -1.0)) == 2000
    x = np.full(4000, 3.0)
    np.testing.assert_array_equal(loop(x), np.full(4000, 2.0))


def test_warnings_that_are_errors(special):
    """`kn` warns of an order that is no integer: with the GIL, in whatever thread it runs."""
    kn = special.kn

    @njit
    def which(n):
        try:
            return kn(n, 1.0)
        except DeprecationWarning:
            return -1.0
        except RuntimeWarning:
            return -2.0

    @njit(parallel=True)
    def loop(n):
        out = np.empty_like(n)
        for i in prange(len(n)):
            out[i] = kn(n[i], 1.0)
        return out

    @njit(parallel=True)
    def caught(n):
        out = np.empty_like(n)
        for i in prange(len(n)):
            try:
                out[i] = kn(n[i], 1.0)
            except Warning:
                out[i] = i
        return out

    assert which(2.5) == -2.0 and which(2.0) == special.kn(2, 1.0)
    n = np.full(3000, 2.0)
    np.testing.assert_array_equal(loop(n), special.kn(n.astype("i8"), 1.0))
    n[:] = 2.5
    with pytest.raises(RuntimeWarning, match="truncated to an integer"):
        loop(n)
    np.testing.assert_array_equal(caught(n), np.arange(3000.0))
    n[:-1] = 2.0  # the last range's alone
    with pytest.raises(RuntimeWarning, match="truncated to an integer"):
        loop(n)

    @vectorize(["float64(float64)"], target="parallel")
    def spread(x):
        return kn(x, 1.0)

    with pytest.raises(RuntimeWarning, match="truncated to an integer"):
        spread(n)


def test_an_interrupt_in_what_a_loop_runs_is_not_caught(special):
    kn = special.kn

    @njit
    def f(n):
        try:
            return kn(n, 1.0)
        except Exception:
            return -1.0

    def stops(*args, **kwargs):
        raise KeyboardInterrupt("in a warning")

    f(2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = stops
        with pytest.raises(KeyboardInterrupt, match="in a warning"):
            f(2.5)
    assert f(2.0) == special.kn(2, 1.0)


LEFT = """
import numpy as np, scipy.special as sp
from treadle import njit
gamma, error = sp.gamma, sp.SpecialFunctionError

@njit(cache=True)
def f(x):
    try:
        return gamma(x)
    except ZeroDivisionError:
        return 1.0
    except error:
        return -5.0

@njit(cache=True)
def late(x, n):
    y = np.zeros(4)
    for i in range(n):
        if x < 0:
            y[i % 4] = gamma(x)
    return y[:n] * 2 + np.ones(3)

with sp.errstate(all="raise"):
    assert f(-1.0) == -5.0 and f(3.0) == 2.0
    for n in (3, 1):
        try:
            late(-1.0, n)
        except error as e:
            print(e)
"""


def test_exceptions_of_loops_in_code_from_the_cache(tmp_path: Path, special):
    path = tmp_path / "program.py"
    path.write_text(LEFT)
    env = dict(os.environ, TREADLE_CACHE_DIR=str(tmp_path / "cache"))
    for _ in range(2):
        done = subprocess.run([sys.executable, str(path)], env=env, capture_output=True, text=True)
        assert done.stdout == "scipy.special/Gamma: singularity\n" * 2, done.stderr
