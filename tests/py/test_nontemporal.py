"""Arrays larger than the caches are written past them: the function is compiled anew when it has made one (opt/pattern/large.c, opt/pattern/nontemporal.c)."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import traceback
from pathlib import Path

import numpy as np
import pytest
import treadle
from treadle import njit, prange

sys.path.insert(0, str(Path(__file__).parent))
from on_stack import on_stack  # noqa: E402

N = 3 * 2**20 + 13  # of float64: 24 MiB and a little; a line of the cache is not a part of it
SMALL = 10
TABLE = np.arange(7.0)
RNG = np.random.default_rng(5)
MARK = "once it has made an array of 25165824 bytes"


def plus(a):
    return a + 1


def blend(a, b, c):
    return a * 2 + b * c - a


def greater(a, b):
    return a > b


def square(z):
    return z * z


def halves(m):
    return (m + m) / 2


def filled(a, out):
    b = a * 3
    out[:] = b - a
    return b


def in_place(a):
    b = a + 1
    b *= 2
    b[1:] = b[:-1] + 1
    return b


def looked_up(a, i):
    b = a + TABLE[i]
    return b, b[i]


def tried(a, i):
    b = a * 2
    try:
        b = b + TABLE[i]
    except IndexError:
        b = b - 1
    return b


def tried_with_results(a, i):
    m = 0.0
    try:
        t = a * 2
        m = t.max()
        u = t + a[i]
        k = u.min()
        m += u[i + 1] + k
    except IndexError:
        m = -m
    return t, m


def stepped(a, times):
    for _ in range(times):
        a = a * 0.5 + 1
    return a


def columns(m, v):
    return m * v


def several(a):
    return a + 1, (a * 2).astype(np.float32), a > 0, np.modf(a)


def with_sums(a, b):
    t = a * b
    return t, t.sum(), t.max(), (t > 1).sum()


def with_places(a):
    t = a * a
    return t, t.argmax()


def twice(f, *args):
    """What the function gives when it is called for the first time with arrays that large, and then as it is compiled for them."""
    first = f(*args)
    return first, f(*args)


def check(f, *args, **options):
    """Twice as NumPy has it, bit for bit; before and after with small arrays, which are views of parts of the large ones."""
    compiled = njit(f, **options)
    few = [a[..., :SMALL] if isinstance(a, np.ndarray) else a for a in args]
    copies = [[a.copy() if isinstance(a, np.ndarray) else a for a in x] for x in (few, args, args, few)]
    wants = [[a.copy() if isinstance(a, np.ndarray) else a for a in x] for x in copies]
    for x, y in zip(copies, wants, strict=True):
        got, want = compiled(*x), f(*y)
        got, want = (r if isinstance(r, tuple) else (r,) for r in (got, want))
        for g, w in zip([*got, *x], [*want, *y], strict=True):
            assert np.asarray(g).dtype == np.asarray(w).dtype
            np.testing.assert_array_equal(g, w)
    return compiled


def numbers(dtype, n=N):
    r = RNG.integers(-100, 100, n)
    return (r / 8 + (1j * r[::-1] if dtype == "c16" else 0)).astype(dtype)


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize(
    ("dtype", "n"),
    [("f8", N), ("f4", 2 * N), ("c16", N // 2 + 1), ("i8", N), ("i2", 4 * N + 1), ("u1", 8 * N + 3)],
)
def test_types(dtype, n, parallel):
    a = numbers(dtype, n)
    check(plus if dtype != "u1" else square, a, parallel=parallel)


@pytest.mark.parametrize("parallel", [False, True])
def test_expressions(parallel):
    a, b, c = (numbers("f8") for _ in range(3))
    check(blend, a, b, c, parallel=parallel)
    check(in_place, a, parallel=parallel)
    check(stepped, a, 3, parallel=parallel)
    check(blend, a[::-1], b, c, parallel=parallel)


@pytest.mark.parametrize("parallel", [False, True])
def test_several_outputs_and_sums(parallel):
    a, b = numbers("f8"), numbers("f8")
    compiled = njit(several, parallel=parallel)
    for x in (a[:9], a, a, a[:9]):
        got, want = compiled(x), several(x)
        for g, w in zip([*got[:3], *got[3]], [*want[:3], *want[3]], strict=True):
            assert g.dtype == w.dtype
            np.testing.assert_array_equal(g, w)
    check(with_places, a, parallel=parallel)
    compiled = njit(with_sums, parallel=parallel)
    first, anew = twice(compiled, a, b)
    np.testing.assert_array_equal(first[0], a * b)
    np.testing.assert_array_equal(anew[0], a * b)
    assert first[1:] == anew[1:] and first[1] == np.sum(a * b)  # whole numbers of 1/64
    x = RNG.random(N)
    first, anew = twice(compiled, x, x)
    assert first[1:] == anew[1:]  # to the bit


def test_outputs_that_begin_at_different_places():
    @njit
    def f(a, out, other):
        b = a + 1
        for _ in range(1):
            np.modf(a, other, out)
        return b

    a = numbers("f8")
    for i, j in ((0, 1), (3, 3), (1, 9)):
        out, other = np.zeros(N + 9), np.zeros(N + 9)
        for _ in range(2):
            np.testing.assert_array_equal(f(a, out[i : i + N], other[j : j + N]), a + 1)
            np.testing.assert_array_equal(other[j : j + N], np.modf(a)[0])
            np.testing.assert_array_equal(out[i : i + N], np.modf(a)[1])


def test_truths():
    a = numbers("f4", 8 * N + 5)
    check(greater, a, a[::-1])


@pytest.mark.parametrize("order", ["C", "F"])
def test_tables(order):
    m = np.array(numbers("f8", 2049 * 1539).reshape(2049, 1539), order=order)
    check(halves, m)
    check(columns, m, np.arange(1539.0))  # no line
    check(lambda m: m[::-1] * 2, m)


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("start", [0, 1, 3, 7])
def test_what_is_stored_to_begins_anywhere(start, parallel):
    """The array that is made tells that they are large; the other one is the caller's, on no boundary, and no more of it is written."""
    a = numbers("f8")
    out = np.full(N + 20, -7.0)
    compiled = njit(filled, parallel=parallel)
    for _ in range(2):
        out[:] = -7
        b = compiled(a, out[start : start + N])
        np.testing.assert_array_equal(b, a * 3)
        np.testing.assert_array_equal(out[start : start + N], a * 2)
        assert (out[:start] == -7).all() and (out[start + N :] == -7).all()


def test_no_element_begins_with_a_line():
    """complex128 at 8 bytes beside a boundary of 16: all goes as ever."""
    raw = np.zeros(2 * N + 9)
    out = raw[1 + (raw.ctypes.data % 16 == 8) :][: 2 * (N // 2 + 1)].view("c16")
    assert out.ctypes.data % 16 == 8
    a = numbers("c16", N // 2 + 1)
    compiled = njit(filled)
    for _ in range(2):
        out[:] = 0
        compiled(a, out)
        np.testing.assert_array_equal(out, a * 2)


def section(text):
    """The part of a text that is of the function compiled anew."""
    first, _, rest = text.partition(MARK)
    assert rest
    return first, rest


def test_it_is_done():
    compiled = njit(blend)
    compiled(*(np.ones(5) for _ in range(3)))
    first, anew = section(next(iter(compiled.inspect_asm().values())))
    assert "movnt" not in first and "movnt" in anew
    first, anew = section(next(iter(compiled.inspect_llvm().values())))
    assert "nontemporal" not in first and "nontemporal" in anew and "fence seq_cst" in anew


def adds_up(a):
    return (a + 1).sum()


def fills(a, out):
    out[:] = a * 2


@njit
def steps(n):
    """It calls itself, so it is not inlined."""
    return 0 if n < 2 else 1 + steps(n // 2)


def calls(a):
    return a * 2 + steps(33)


@pytest.mark.parametrize(
    ("f", "args"),
    [(adds_up, 1), (fills, 2), (plus, 0)],
    ids=["makes none", "makes none, stores", "of numbers"],
)
def test_not_where_nothing_would_be_gained(f, args):
    compiled = njit(f)
    compiled(*(np.ones(5) for _ in range(args)) if args else (1.5,))
    assert MARK not in next(iter(compiled.inspect_asm().values()))


def test_errors_name_their_lines():
    compiled = njit(looked_up)
    a = numbers("f8")
    for _ in range(2):
        np.testing.assert_array_equal(compiled(a, 2)[0], a + 2)
    line = looked_up.__code__.co_firstlineno + 1
    for x in (a, a[:4]):
        with pytest.raises(IndexError) as e:
            compiled(x, 7)
        assert traceback.extract_tb(e.value.__traceback__)[-1].lineno == line
    with pytest.raises(IndexError) as e:
        compiled(a[:4], 5)
    assert traceback.extract_tb(e.value.__traceback__)[-1].lineno == line + 1


def test_handlers():
    a = numbers("f8")
    compiled = njit(tried)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(a, 2), a * 2 + 2)
        np.testing.assert_array_equal(compiled(a, 9), a * 2 - 1)
    for i in (3, N - 1, N):  # no error; after u was made; before
        check(tried_with_results, a, i)


def test_sizes_that_differ():
    """What hardly ever runs is left out of the code for large arrays as well."""
    a, b = numbers("f8"), numbers("f8")
    compiled = njit(blend)
    twice(compiled, a, b, b)
    np.testing.assert_array_equal(compiled(a, b[:1], b), blend(a, b[:1], b))
    with pytest.raises(ValueError, match=rf"\({N - 1},\) .*\({N},\)|\({N},\) .*\({N - 1},\)"):
        compiled(a, b[1:], b)


def test_globals_stay_what_they_were():
    """The function is made anew from what was known when it was first compiled."""
    space: dict = {}
    exec("K = 2\ndef f(a):\n    return a * K\n", space)
    compiled = njit(space["f"])
    a = numbers("f8")
    np.testing.assert_array_equal(compiled(a[:3]), a[:3] * 2)
    space["K"] = 5
    for got in twice(compiled, a):
        np.testing.assert_array_equal(got, a * 2)
    np.testing.assert_array_equal(compiled(a[:3]), a[:3] * 2)


def test_several_variants_of_one():
    """Arguments that are converted to a declared type share the code; keywords come the other way round."""
    compiled = njit("float64[:](float64[:], float64)")(lambda a, k: a * k + 1)
    a = numbers("f8")
    for k in (2, 2.0, np.float32(2), True):
        for got in twice(compiled, a, k):
            np.testing.assert_array_equal(got, a * float(k) + 1)
    np.testing.assert_array_equal(compiled(k=3, a=a), a * 3 + 1)
    compiled.recompile()
    for got in twice(compiled, a, 2):
        np.testing.assert_array_equal(got, a * 2 + 1)


def test_no_array_is_lost():
    compiled = njit(blend)
    a = numbers("f8")
    twice(compiled, a, a, a)
    gc.collect()
    before = treadle.stats()
    for x in (a, a[:5]):
        for _ in range(3):
            compiled(x, x, x)
    after = treadle.stats()
    assert [after[k] - before[k] for k in ("arrays_allocated", "arrays_freed")] == [6, 6]


@pytest.mark.parametrize("nogil", [False, True])
def test_threads(nogil):
    """All are the first at once, some with small arrays."""
    compiled = njit(stepped, nogil=nogil)
    a = numbers("f8")
    want = stepped(a, 2)
    bad = []

    def work(k):
        x = a if k % 2 else a[:1000]
        for _ in range(4):
            if not np.array_equal(compiled(x, 2), want[: len(x)]):
                bad.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not bad


@pytest.mark.parametrize("parallel", [False, True])
def test_on_a_small_stack(parallel):
    compiled = njit(blend, parallel=parallel)
    a = numbers("f8")
    for got in on_stack(256, lambda: twice(compiled, a, a, a)):
        np.testing.assert_array_equal(got, blend(a, a, a))


def test_from_a_compiled_caller():
    """Inlined, it is part of what is compiled anew; called, it is not."""
    inner = njit(plus, inline="always")
    outer = njit(lambda a: inner(a) * 2)
    a = numbers("f8")
    for got in twice(outer, a):
        np.testing.assert_array_equal(got, (a + 1) * 2)
    assert MARK in next(iter(outer.inspect_asm().values()))
    called = njit(calls)
    np.testing.assert_array_equal(called(a[:50]), calls(a[:50]))
    assert MARK not in next(iter(called.inspect_asm().values()))


def test_in_a_loop_over_a_prange():
    @njit(parallel=True)
    def f(a, out):
        b = a + 1
        for i in prange(3):
            out[i] = (b * i).max()
        return b

    a, out = numbers("f8"), np.zeros(3)
    for got in twice(f, a, out):
        np.testing.assert_array_equal(got, a + 1)
        np.testing.assert_array_equal(out, [((a + 1) * i).max() for i in range(3)])


def test_a_loop_over_a_prange_that_calls():
    """What the pattern's function calls is no more part of the text than what the function does."""

    @njit(parallel=True)
    def f(a, out):
        b = a + 1
        for i in prange(len(out)):
            out[i] = steps(i)
        return b

    a, out = numbers("f8"), np.zeros(33)
    for got in twice(f, a, out):
        np.testing.assert_array_equal(got, a + 1)
        assert out[-1] == 5
    assert MARK not in next(iter(f.inspect_asm().values()))


PROGRAM = """\
import sys
import numpy as np
from treadle import njit

@njit(cache=True)
def f(a, b):
    return a * 3 + b

a = np.arange(3.2e6)
for x in (a[:5], a, a, a[:5]):
    assert np.array_equal(f(x, x[::-1].copy()), x * 3 + x[::-1])
if "fork" in sys.argv:
    import os
    pid = os.fork()
    assert np.array_equal(f(a, a), a * 4)
    if pid:
        assert os.waitpid(pid, 0)[1] == 0
    else:
        os._exit(0)
"""


def run(path, cache, *args, **more):
    env = {**os.environ, "TREADLE_CACHE_DIR": str(cache), "TREADLE_DUMP": "time", **more}
    env.pop("TREADLE_VERIFY", None)
    r = subprocess.run(
        [sys.executable, str(path), *args], capture_output=True, text=True, env=env, timeout=120
    )
    assert r.returncode == 0, r.stderr
    return r.stderr.count(" asm ")


def test_once_for_each_process_and_from_the_cache(tmp_path):
    """The function, then for large arrays; the second process finds both."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    assert run(path, tmp_path / "cache") == 2
    assert run(path, tmp_path / "cache") == 0
    assert (
        run(path, tmp_path / "cache", TREADLE_SKIP="large") == 0
    )  # a pass that is skipped is no other program
    assert run(path, tmp_path / "other", "fork") == 2


@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3"])
def test_other_processors(cpu):
    """Vectors of 16 and of 32 bytes."""
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_nontemporal as t; a = t.numbers('f8'); t.check(t.blend, a, a[::-1].copy(), a); t.check(t.plus, t.numbers('i2', 4 * t.N)); t.test_it_is_done()"
    subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "TREADLE_CPU": cpu}, check=True, timeout=120
    )
