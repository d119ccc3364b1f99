"""Mistakes of kernels that are found while they run."""

from __future__ import annotations

import inspect
import os
import pathlib
import re
import subprocess
import sys
import threading
import warnings

import numpy as np
import planted_kernels
import pytest
import treadle
from cuda_check import compile_text
from on_stack import on_stack
from planted_kernels import PLANTED
from treadle import cuda
from treadle.errors import KernelCheckError, KernelCheckWarning

pytestmark = pytest.mark.emulated


def marks_of(fn):
    """Lines by the name in the comment at their end."""
    lines, first = inspect.getsourcelines(fn)
    return {m[1]: first + k for k, line in enumerate(lines) if (m := re.search(r"# (\w+)$", line.rstrip()))}


def found_in(fn, grid, block, args):
    """What is reported, in the words of the corpus, with numbers of lines."""
    kernel = cuda.jit(debug=True)(fn)
    found = set()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", KernelCheckWarning)
        try:
            kernel[grid, block](*args)
        except IndexError as e:
            m = re.search(
                r"^index -?\d+ is out of bounds for axis \d with size \d+: array (\w+), in kernel (\w+), line (\d+), "
                r"block \(\d+, \d+, \d+\), thread \(\d+, \d+, \d+\)$",
                str(e),
            )
            assert m and m[2] == fn.__name__, str(e)
            found.add(("bounds", m[1], (int(m[3]),)))
        except KernelCheckError as e:
            for r in e.reports:
                lines = (r.line, r.other_line) if r.other_line else (r.line,)
                found.add((r.kind, r.array, tuple(sorted(lines))))
                assert r.kernel == fn.__name__
    for w in told:
        if issubclass(w.category, KernelCheckWarning):
            m = re.search(r"exit: thread .* had ended when others waited in line (\d+)", str(w.message))
            found.add(("exit", "", (int(m[1]),)))
    return found


def expected(plant):
    marks = {**marks_of(planted_kernels._load.py_func), **marks_of(plant.wrong)}
    want = set()
    for text in plant.expects:
        kind, *rest = text.split()
        array = "" if kind in ("barrier", "exit") else rest.pop(0)
        want.add((kind, array, tuple(sorted(marks[m] for m in rest))))
    return want


@pytest.mark.parametrize("plant", PLANTED, ids=lambda p: p.name)
def test_planted(plant):
    assert found_in(plant.wrong, plant.grid, plant.block, plant.args()) == expected(plant)
    assert found_in(plant.right, plant.grid, plant.block, plant.args()) == set()


def test_there_are_enough():
    assert len(PLANTED) >= 30
    assert {p.expects[0].split()[0] for p in PLANTED} == {"race", "uninit", "bounds", "barrier", "exit"}


# --- what a report says ---


def reports_of(fn, grid, block, *args, **options):
    with pytest.raises(KernelCheckError) as e:
        cuda.jit(debug=True, **options)(fn)[grid, block](*args)
    return e.value.reports


def test_a_report():
    def k(a, q):
        x, y, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
        if cuda.blockIdx.y == 1 and cuda.blockIdx.x == 2:
            q[1, x, 2] = a[x, y, z]  # A

    (r,) = reports_of(k, (3, 2), (2, 3, 2), np.zeros((2, 3, 2)), np.zeros((2, 2, 3)))
    assert isinstance(r, cuda.Report)
    line = marks_of(k)["A"]
    assert (r.kind, r.kernel, r.array, r.shape, r.shared) == ("race", "k", "q", (2, 2, 3), False)
    assert (r.line, r.other_line, r.file, r.other_file) == (line, line, __file__, __file__)
    assert r.index in ((1, 0, 2), (1, 1, 2))
    assert r.block == r.other_block == (2, 1, 0)
    assert r.thread != r.other_thread
    assert (r.does, r.other_does) == ("writes", "writes")
    assert r.times == 10
    assert re.fullmatch(
        rf"race on array q\[1, [01], 2\] of shape \(2, 2, 3\): thread \(\d, \d, \d\) writes it in line {line}, "
        rf"thread \(\d, \d, \d\) of block \(2, 1, 0\) writes it in line {line}, and no barrier is between \(10 times\)",
        str(r),
    )


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a,
        lambda a: a.T,
        lambda a: a[::-1],
        lambda a: a[::2, ::-3],
        lambda a: np.asfortranarray(a),
        lambda a: a[2:, 1:],
        lambda a: np.broadcast_to(a[:1], (4, 9)),
    ],
)
def test_items_of_arrays_that_lie_in_any_way(view):
    def k(a, q):
        q[cuda.threadIdx.x, 0] = a[1, 2]
        if cuda.threadIdx.x == 1:
            q[0, 0] = 1

    base = np.zeros((8, 9))
    (r,) = reports_of(k, 1, 2, view(base), view(base.copy()).copy())
    assert (r.array, r.index, r.shape) == ("q", (0, 0), view(base).shape)

    def w(a):
        if cuda.threadIdx.x < 2:
            a[2, 1] = cuda.threadIdx.x

    a = view(base.copy())
    if a.flags.writeable:
        (r,) = reports_of(w, 1, 4, a)
        assert (r.array, r.index, r.shape) == ("a", (2, 1), a.shape)


def test_views_are_told_as_what_they_are_of():
    def k(a):
        row = a[1]
        part = row[2:]
        part[cuda.threadIdx.x // 2] = 1

    for r in reports_of(k, 1, 4, np.zeros((2, 6))):
        assert (r.array, r.shape) == ("a", (2, 6))
        assert r.index in ((1, 2), (1, 3))


@pytest.mark.parametrize("dtype", ["i1", "u2", "f4", "f8", "c8", "c16", "?"])
def test_items_of_any_size(dtype):
    """Neighbours are no race, and one item is."""

    def right(a):
        a[cuda.grid(1)] = a[cuda.grid(1)] + a[cuda.grid(1)]

    def wrong(a):
        a[cuda.threadIdx.x // 2] = a[0]

    cuda.jit(debug=True)(right)[1, 64](np.zeros(64, dtype))
    cuda.jit(debug=True)(right)[64, 1](np.zeros(65, dtype)[1:])
    assert {r.kind for r in reports_of(wrong, 1, 64, np.zeros(64, dtype))} == {"race"}


def test_one_array_seen_with_two_sizes_of_items():
    def k(a, b):
        t = cuda.threadIdx.x
        if t == 0:
            a[0] = 1
        if t == 1:
            b[1] = 1
        if t == 2:
            b[2] = 1

    a = np.zeros(2, np.int64)
    (r,) = reports_of(k, 1, 4, a, a.view(np.int32))
    assert {r.thread[0], r.other_thread[0]} == {0, 1}


def test_atomics_are_no_race_among_themselves():
    def k(a, n):
        cuda.atomic.add(n, 0, 1)
        cuda.atomic.max(n, 1, cuda.threadIdx.x)
        cuda.atomic.exch(n, 2, 1)
        cuda.atomic.cas(n, 3, 0, 1)

    cuda.jit(debug=True)(k)[3, 64](np.zeros(1), np.zeros(4, np.int64))


def second_stage(a, q):
    s, t = cuda.shared.array(256, np.int64), cuda.threadIdx.x
    s[t] = a[t]
    cuda.syncthreads()
    if t < 32:
        v = s[t]
        for d in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, d)
        if t == 0:
            s[0] = v
    cuda.syncthreads()
    q[t] = s[0]


def flat_guard(a, q):
    s, t = cuda.shared.array(64, np.int64), cuda.threadIdx.x + cuda.blockDim.x * cuda.threadIdx.y
    s[t] = a[t] if t < a.size else 0
    cuda.syncthreads()
    q[t] = s[34 - t]


def test_one_barrier_in_two_pieces_of_code_is_one():
    """Late code comes to the barrier, too, with a text of its own for its place."""
    q = np.zeros(256, np.int64)
    cuda.jit(debug=True)(second_stage)[1, 256](np.arange(256), q)
    assert (q == 496).all()
    q = np.zeros(35, np.int64)
    cuda.jit(debug=True)(flat_guard)[1, (7, 5)](np.arange(32), q)
    assert q.tolist() == [0, 0, 0, *range(31, -1, -1)]


def test_what_is_read_alone_is_no_race():
    def k(a, q):
        q[cuda.grid(1)] = a[0] + a[cuda.threadIdx.x]

    cuda.jit(debug=True)(k)[5, 64](np.zeros(64), np.zeros(320))


def test_a_lock_that_is_taken_often():
    """By threads of one block and of others, beside many other atomics."""

    def k(lock, q, n):
        for i in range(cuda.grid(1), 5000, cuda.gridsize(1)):
            cuda.atomic.add(n, i % 700, 1)
            while cuda.atomic.cas(lock, 0, 0, 1) != 0:
                pass
            q[0] += 1
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)

    lock, q, n = (np.zeros(m, np.int64) for m in (1, 1, 700))
    cuda.jit(debug=True)(k)[4, 32](lock, q, n)
    assert q[0] == n.sum() == 5000

    def wrong(lock, q):
        own = cuda.grid(1) % 2
        for i in range(cuda.grid(1), 5000, cuda.gridsize(1)):
            while cuda.atomic.cas(lock, own, 0, 1) != 0:
                pass
            q[0] += 1
            cuda.threadfence()
            cuda.atomic.exch(lock, own, 0)

    (r,) = reports_of(wrong, 4, 32, np.zeros(2, np.int64), q)
    assert (r.kind, r.array) == ("race", "q")


def test_many_lines_are_many_reports_and_many_times_are_one():
    text = "def k(a):\n" + "".join(f"    a[{i}] = cuda.threadIdx.x\n" for i in range(80))
    with pytest.raises(KernelCheckError, match=r"and 1890 more in other lines$") as e:
        cuda.jit(debug=True)(compile_text(text, "k"))[1, 64](np.zeros(80))
    assert len(e.value.reports) == 50
    assert {r.times for r in e.value.reports} == {63}


def test_dynamic_shared_memory():
    """Arrays of it are one memory, under each name."""

    def wrong(a, q):
        x = cuda.shared.array(0, np.float32)
        y = cuda.shared.array(0, np.int32)
        t = cuda.threadIdx.x
        x[t] = a[t]  # A
        q[cuda.grid(1)] = y[31 - t] + y[33]  # B

    def right(a, q):
        x = cuda.shared.array(0, np.float32)
        y = cuda.shared.array(0, np.int32)
        t = cuda.threadIdx.x
        x[t] = a[t]
        cuda.syncthreads()
        q[cuda.grid(1)] = y[31 - t]

    a, q = np.zeros(32, np.float32), np.zeros(64)
    cuda.jit(debug=True)(right)[2, 32, 0, 256](a, q)
    with pytest.raises(KernelCheckError) as e:
        cuda.jit(debug=True)(wrong)[2, 32, 0, 256](a, q)
    marks = marks_of(wrong)
    assert {(r.kind, r.array, r.shape) for r in e.value.reports} == {
        ("race", "x", (64,)), ("race", "y", (64,)), ("uninit", "y", (64,)),
    }  # fmt: skip
    for r in e.value.reports:
        if r.kind == "uninit":
            assert (r.index, r.line) == ((33,), marks["B"])
        else:
            assert {r.line, r.other_line} == {marks["A"], marks["B"]}


# --- memory of the device ---


@pytest.fixture
def all_checks(monkeypatch):
    monkeypatch.setattr(treadle.config, "EMU_CHECK", sum(treadle.config._CHECKS.values()))


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "f4", "f8", "u8", "c8", "c16"])
def test_arrays_of_the_device_that_nobody_wrote(dtype, all_checks):
    """It is known as long as nobody writes there: from one launch to the next, and on the host."""

    @cuda.jit
    def write(a, n):
        i = cuda.grid(1)
        if i < n:
            a[i] = i

    @cuda.jit
    def read(a, q):
        i = cuda.grid(1)
        if i < a.size:
            q[i] = a[i]

    for written in (90, 91):
        a, q = cuda.device_array(100, dtype), cuda.device_array(100, dtype)
        write[4, 32](a, written)
        for _ in range(2):
            with pytest.raises(KernelCheckError, match=r"uninit: thread .* reads array a\[") as e:
                read[4, 32](a, q)
            (r,) = e.value.reports
            per_word = max(4 // np.dtype(dtype).itemsize, 1)
            first = (
                -(-written // per_word) * per_word
            )  # what shares a word with what was written is not known
            assert (r.index, r.array, r.shape) == ((first,), "a", (100,))
        read[4, 32](q, a)  # copies of it are numbers like any other
        write[4, 32](a, 100)
        read[4, 32](a, q)
        b = cuda.device_array_like(a)
        b[:] = a
        read[4, 32](b, q)
    assert (q.copy_to_host() == np.arange(100).astype(dtype)).all()
    read[4, 32](cuda.to_device(np.ones(100, dtype)), q)


def test_atomics_on_what_nobody_wrote(all_checks):
    @cuda.jit
    def add(n):
        cuda.atomic.add(n, 0, 1)

    with pytest.raises(KernelCheckError, match=r"uninit: .* array n\[0\]"):
        add[2, 32](cuda.device_array(1, np.int32))
    add[2, 32](cuda.to_device(np.zeros(1, np.int32)))


BY_THE_RUNTIME = (
    "np.argsort(a)[i]",
    "(a.reshape(2, 4) @ a.reshape(4, 2))[0, 1]",
    "np.linalg.solve(np.eye(2), a[:2])[1]",
    "np.linalg.inv(np.eye(3))[0, 0]",
    "np.median(a)",
    "np.unique(a)[i]",
    "np.searchsorted(a, a)[i]",
    "np.bincount(a.astype(np.int64))[i]",
    "np.partition(a, 3)[i]",
    "a[a > 2][0]",
    "np.nonzero(a)[0][0]",
    "np.fft.fft(a)[i].imag",
    "np.quantile(a, 0.25)",
    "np.array([x for x in a if x > 1])[1]",
    "np.add.at(b, np.array([1, 2]), 3.0) or b[i]",
)


@pytest.mark.parametrize("expression", BY_THE_RUNTIME)
def test_what_the_runtime_wrote_was_written(all_checks, expression):
    """Functions that write results, and patterns that pack and scatter, do not say where: nobody is accused of reading these."""
    text = f"def k(a, b, o):\n    i = cuda.grid(1)\n    if i < o.size:\n        b = b.copy()\n        o[i] = {expression}\n"
    fn, a = compile_text(text, "k"), np.arange(8.0) + 0.5
    got, want = np.zeros(4), np.zeros(4)
    cuda.jit(fn)[1, 4](a, np.ones(4), got)
    for i in range(4):
        want[i] = eval(expression, {"np": np, "a": a, "b": np.ones(4), "i": i})
    np.testing.assert_allclose(got, want)


def test_what_the_runtime_did_not_write(all_checks):
    @cuda.jit
    def k(o):
        a = np.empty(4)
        b = np.argsort(o)
        o[0] = a[b[0]]

    with pytest.raises(KernelCheckError, match="uninit"):
        k[1, 1](np.zeros(4))


def test_who_writes_at_the_same_time_makes_a_race_of_it(all_checks):
    @cuda.jit
    def k(a, q, first):
        i = cuda.grid(1)
        if i == first:
            a[0] = 1
        else:
            q[i] = a[0]

    for first, launch in ((0, k[1, 4]), (3, k[1, 4]), (0, k[4, 1]), (3, k[4, 1]), (2, k[2, 2])):
        with pytest.raises(KernelCheckError) as e:
            launch(cuda.device_array(1), cuda.device_array(4), first)
        assert [r.kind for r in e.value.reports] == ["race"]
        with pytest.raises(KernelCheckError) as e:
            k[4, 1](cuda.device_array(1), cuda.device_array(4), -1)
        assert [r.kind for r in e.value.reports] == ["uninit"]


def test_arrays_that_no_device_could_be_launched_with(all_checks):
    @cuda.jit
    def k(a, q):
        q[0] = a[0]

    q = cuda.to_device(np.zeros(1, np.float32))
    bytes_ = cuda.to_device(np.zeros(17, np.int8))
    k[1, 1](bytes_[4:8].view(np.float32), q)
    with pytest.raises(KernelCheckError, match="align: array a lies at an address where no float32 may") as e:
        k[1, 1](bytes_[1:5].view(np.float32), q)
    assert [(r.kind, r.array, r.shape) for r in e.value.reports] == [("align", "a", (1,))]
    memory = treadle._core._dev_alloc(64)
    a = cuda.as_cuda_array(Interface(memory.ptr, 16))
    k[1, 1](cuda.to_device(np.ones(1, np.float32)), a)
    k[1, 1](a, q)
    memory.free()
    with pytest.raises(
        KernelCheckError, match="freed: the memory of array a was given back to the device"
    ) as e:
        k[1, 1](a, q)
    assert [(r.kind, r.array) for r in e.value.reports] == [("freed", "a")]


class Interface:
    """An array of another package, which does not say whose memory it is."""

    def __init__(self, address, n):
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": (n,),
            "typestr": "<f4",
            "data": (address, False),
        }


# --- exceptions say where they come from ---


class OfTheUser(Exception):
    pass


RAISES = """
def k(a, how):
    if cuda.blockIdx.x == 1 and cuda.threadIdx.x == 5:
        if how == 0:
            assert a[5] > 100, "a message"
        if how == 1:
            assert a[5] > 100
        if how == 2:
            raise OfTheUser("text", cuda.threadIdx.x)
        if how == 3:
            raise again
        if how == 4:
            a[cuda.threadIdx.x + 100] = 1
        if how == 5:
            raise KeyError(cuda.threadIdx.x)
"""


def test_exceptions_of_kernels():
    again = ValueError("an exception that there is already")
    k = cuda.jit(debug=True)(compile_text(RAISES, "k", OfTheUser=OfTheUser, again=again))
    where = r"in kernel k, line {}, block \(1, 0, 0\), thread \(5, 0, 0\)$"
    a = np.arange(8.0)
    k[2, 8](a, -1)
    with pytest.raises(AssertionError, match="^a message: " + where.format(5)):
        k[2, 8](a, 0)
    with pytest.raises(AssertionError, match="^" + where.format(7)):
        k[2, 8](a, 1)
    with pytest.raises(OfTheUser) as e:
        k[2, 8](a, 2)
    assert e.value.args == ("text", 5)
    assert re.match(where.format(9), e.value.__notes__[0])
    for _ in range(2):
        with pytest.raises(ValueError, match="^an exception that there is already: in kernel k, line"):
            k[2, 8](a, 3)
    with pytest.raises(IndexError, match=r"axis 0 with size 8: array a, " + where.format(13)):
        k[2, 8](a, 4)
    with pytest.raises(KeyError) as f:
        k[2, 8](a, 5)
    assert f.value.args == (5,)


def test_what_was_found_before_an_exception_is_a_note():
    @cuda.jit(debug=True)
    def k(a, idx):
        s = cuda.shared.array(4, np.int64)
        a[0] = cuda.threadIdx.x
        i = s[cuda.threadIdx.x]
        if cuda.threadIdx.x == 3:
            a[i + 1000] = 1

    with pytest.raises(IndexError, match="in kernel k") as e:
        k[1, 4](np.zeros(4), np.zeros(4, np.int64))
    assert any(n.startswith("race on array a[0]") for n in e.value.__notes__)
    assert any(n.startswith("uninit: ") and "shared array s[" in n for n in e.value.__notes__)


def test_bounds_are_checked_whatever_the_options_say():
    @cuda.jit(device=True, debug=True, boundscheck=False)
    def get(a, i):
        return a[i]

    @cuda.jit(debug=True, boundscheck=False)
    def k(a, q):
        q[cuda.threadIdx.x] = get(a, cuda.threadIdx.x)

    with pytest.raises(
        IndexError, match=r"array a, in kernel k, line \d+, block \(0, 0, 0\), thread \(3, 0, 0\)"
    ):
        k[1, 8](np.zeros(3), np.zeros(8))


def test_a_try_in_a_kernel():
    @cuda.jit(debug=True)
    def k(a, n):
        try:
            a[cuda.threadIdx.x] = 1
        except IndexError:
            cuda.atomic.add(n, 0, 1)

    n = np.zeros(1, np.int64)
    k[1, 8](np.zeros(5), n)
    assert n[0] == 3


# --- ways in ---


def test_signatures_functions_threads_and_a_small_stack():
    @treadle.njit
    def put(a, i, x):
        a[i] = x

    def plain(a, i, x):
        put(a, i, x)

    def deep(a, n):
        if n > 0:
            deep(a, n - 1)
        else:
            a[0] = n

    @cuda.jit("void(float64[:])", debug=True)
    def k(a):
        plain(a, 1, cuda.threadIdx.x)

    @cuda.jit(debug=True)
    def r(a):
        deep(a, 3)

    def launch(kernel):
        with pytest.raises(KernelCheckError, match="race on array a") as e:
            kernel[1, 4](np.zeros(4))
        (found,) = e.value.reports
        assert found.other_thread in ((1, 0, 0), (2, 0, 0), (3, 0, 0))
        assert found.other_thread != found.thread

    launch(k)
    launch(r)
    on_stack(256, lambda: launch(k))
    threads = [threading.Thread(target=launch, args=(k,)) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    pid = os.fork()
    if not pid:
        try:
            launch(k)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0


SCRIPT = """
import sys
import numpy as np
from treadle import cuda, float32

@cuda.jit(cache=True)
def k(a):
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t] = a[t]
    a[t] = s[31 - t]

a = np.arange(32, dtype=np.float32)
if "twice" in sys.argv:
    k[1, 32](a)
k[1, 32](a)
print("went on")
if "out" in sys.argv:
    k[1, 64](a)
if "status" in sys.argv:
    sys.exit(7)
"""


def run_script(tmp_path, *args, check="", words=()):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    env = {**os.environ, "TREADLE_EMU_CHECK": check, "TREADLE_CACHE_DIR": str(tmp_path / "cache")}
    return subprocess.run(
        [sys.executable, *args, str(script), *words], env=env, capture_output=True, text=True, timeout=120
    )


def test_the_environment_and_the_cache(tmp_path):
    for _ in range(2):  # the second time from the cache
        p = run_script(tmp_path)
        assert (p.returncode, p.stdout) == (0, "went on\n"), p.stderr
        for check in ("all", "race", "bounds, race"):
            p = run_script(tmp_path, check=check)
            assert p.returncode == 1
            assert "KernelCheckError: kernel k" in p.stderr
            assert "race on shared array s[" in p.stderr
        for check in ("bounds", "barrier,bounds", "uninit"):
            p = run_script(tmp_path, check=check)
            assert (p.returncode, p.stdout) == (0, "went on\n"), p.stderr
    p = run_script(tmp_path, check="races")
    assert p.returncode == 1
    assert "TREADLE_EMU_CHECK='races': must be some of bounds, race, uninit, barrier, or all" in p.stderr
    assert treadle.config.EMU_CHECK in range(16)


ENDED = """
import numpy as np
from treadle import cuda
@cuda.jit
def k(a):
    t = cuda.threadIdx.x
    if t < 16:
        cuda.syncthreads()
        a[t] = 1
k[1, 32](np.zeros(32))
"""


def test_threads_that_ended_before_a_barrier_are_told_by_all_ways(tmp_path):
    script = tmp_path / "ended.py"
    script.write_text(ENDED)
    told = "exit: thread (16, 0, 0) of block (0, 0, 0) had ended when others waited in line 8 (16 times)"
    for words, check, found in (
        ((), "", False),
        ((), "all", True),
        (("-m", "treadle", "memcheck"), "", True),
        ((), "race,barrier,uninit,bounds", False),
    ):
        p = subprocess.run(
            [sys.executable, *words, str(script)],
            env={**os.environ, "TREADLE_EMU_CHECK": check},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert p.returncode == 0 and (told in p.stderr) == found, p.stderr
        assert "KernelCheckWarning" in p.stderr or not found


def test_memcheck(tmp_path):
    p = run_script(tmp_path, "-m", "treadle", "memcheck", words=["twice"])
    assert p.returncode == 1
    assert p.stdout == "went on\n"
    assert p.stderr.count("treadle memcheck: kernel k") == 1
    assert p.stderr.endswith("treadle memcheck: 1 mistake of kernels, some of them again in 1 more launch\n")
    p = run_script(tmp_path, "-m", "treadle", "memcheck", words=["out", "status"])
    assert p.returncode == 1
    assert (
        "treadle memcheck: IndexError: index 32 is out of bounds for axis 0 with size 32: array " in p.stderr
    )
    assert p.stderr.endswith(
        "treadle memcheck: 2 mistakes of kernels\n"
    )  # the race is a note of the IndexError, too
    script = tmp_path / "right.py"
    script.write_text("import sys\nprint(sys.argv[1:])\nsys.exit(int(sys.argv[1]))\n")
    for status in ("0", "3"):
        p = subprocess.run(
            [sys.executable, "-m", "treadle", "memcheck", str(script), status],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert (p.returncode, p.stdout) == (int(status), f"['{status}']\n")
        assert p.stderr == "treadle memcheck: no mistakes of kernels\n"


def test_a_warning_may_be_an_error():
    @cuda.jit(debug=True)
    def k(a):
        if cuda.threadIdx.x == 3:
            return
        cuda.syncthreads()

    with pytest.warns(
        KernelCheckWarning, match=r"kernel k: exit: thread \(3, 0, 0\) of block \(0, 0, 0\)"
    ) as w:
        k[1, 8](np.zeros(1))
    assert [x.filename for x in w] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error", KernelCheckWarning)
        with pytest.raises(KernelCheckWarning):
            k[1, 8](np.zeros(1))


def test_without_checks_there_is_nothing_of_it():
    def k(a):
        a[cuda.threadIdx.x // 2] = 1

    plain, watched = cuda.jit(k), cuda.jit(debug=True)(k)
    plain[1, 4](np.zeros(4))
    with pytest.raises(KernelCheckError):
        watched[1, 4](np.zeros(4))
    (code,) = plain._entries[1].inspect_llvm().values()
    assert "watch" not in code
    (code,) = watched._entries[1].inspect_llvm().values()
    assert "tr_rt_watch_touch" in code


def test_nothing_is_left_behind():
    @cuda.jit(debug=True)
    def k(a):
        s = cuda.shared.array(64, np.float64)
        s[cuda.threadIdx.x] = a[cuda.grid(1)]
        a[cuda.grid(1)] = s[63 - cuda.threadIdx.x]

    before = treadle.stats()
    for _ in range(3):
        with pytest.raises(KernelCheckError):
            k[20, 64](np.zeros(1280))
        with pytest.raises(IndexError):
            k[20, 65](np.zeros(1280))
    after = treadle.stats()
    assert (
        after["arrays_allocated"] - before["arrays_allocated"]
        == after["arrays_freed"] - before["arrays_freed"]
        > 0
    )


def test_blocks_go_in_order_and_the_pool_is_left_alone():
    @cuda.jit(debug=True)
    def k(order, n):
        i = cuda.atomic.add(n, 0, 1)
        order[i] = cuda.blockIdx.x
        for j in treadle.prange(3):
            order[i] += 0

    n, order = np.zeros(1, np.int64), np.zeros(5000, np.int64)
    k[5000, 1](order, n)
    assert (np.sort(order) == np.arange(5000)).all()
    assert (order == np.arange(5000)).all()


def test_the_example_of_the_page():
    page = (pathlib.Path(__file__).parents[2] / "docs/cuda.md").read_text()
    m = re.search(
        r"<!-- report: begin -->\n```python\n(.*?)```\n+```\n(.*?)```\n<!-- report: end -->", page, re.S
    )
    scope = {"cuda": cuda, "float32": treadle.float32}
    exec(compile(m[1], "matmul.py", "exec"), scope)
    a = np.ones((64, 64), np.float32)
    with pytest.raises(KernelCheckError) as e:
        scope["matmul"][(4, 4), (16, 16)](a, a, a.copy())
    assert f"treadle.errors.KernelCheckError: {e.value}\n" == m[2]


def test_the_array_is_named_without_debug():
    """Which thread it was is told where it is asked for: the message says so."""

    @cuda.jit(device=True)
    def shifted(values, i):
        return values[i + 1]

    @cuda.jit
    def k(a, b):
        i = cuda.grid(1)
        a[i] = shifted(b, i)

    with pytest.raises(IndexError) as e:
        k[3, 4](np.zeros(12), np.zeros(12))
        cuda.synchronize()
    assert e.value.args == (
        "index 12 is out of bounds for axis 0 with size 12: array values; with @cuda.jit(debug=True) the block and the thread are told",
    )
