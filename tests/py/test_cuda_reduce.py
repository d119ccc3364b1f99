"""`cuda.reduce`: against NumPy, and functools.reduce where whole numbers make the order no matter."""

from __future__ import annotations

import functools
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from on_stack import on_stack
from treadle import TypingError, cuda, get_num_threads, njit, set_num_threads


@cuda.reduce
def total(a, b):
    """The sum."""
    return a + b


@cuda.Reduce
def largest(a, b):
    return a if a > b else b


SIZES = [0, 1, 2, 7, 8, 9, 63, 64, 65, 127, 128, 8191, 8192, 8193, 16385, 100_003]


def whole(n, dtype, seed=0):
    return np.random.default_rng(seed + n).integers(0, 100, n).astype(dtype)


@pytest.mark.parametrize(
    "dtype",
    [
        np.int8,
        np.uint8,
        np.int32,
        np.uint64,
        np.int64,
        np.float32,
        np.float64,
        np.complex64,
        np.complex128,
    ],
)
def test_sums(dtype):
    for n in SIZES:
        x = whole(n, dtype)
        want = x.sum(dtype=dtype)
        for a in (x, cuda.to_device(x)):
            got = total(a)
            assert got == want and isinstance(got, dtype)
            np.testing.assert_array_equal(x, whole(n, dtype))


def test_other_functions():
    x = whole(70_000, np.int64)
    assert largest(x) == x.max() and largest(-x) == 0 and largest(-x, init=-1000) == -x.min()
    for fn, init in (
        (lambda a, b: min(a, b), 10**6),
        (lambda a, b: a ^ b, 0),
        (lambda a, b: a * b % 1_000_003, 1),
        (lambda a, b: (a + b) % 97, 0),
    ):
        v = x % 1000 + 1
        assert cuda.reduce(fn)(v, init=init) == functools.reduce(fn, v.tolist(), init)
    truth = np.array([True] * 9000 + [False])
    assert cuda.reduce(lambda a, b: a and b)(truth, init=True) == np.False_
    assert cuda.reduce(lambda a, b: a or b)(truth) == np.True_
    assert cuda.reduce(lambda a, b: a / b)(np.array([1.0, 0.0]), init=1) == np.inf  # as on a device


def test_functions_that_call_others():
    device = cuda.jit(device=True)(lambda a, b: max(a, b))
    x = whole(1000, np.float64)
    assert cuda.reduce(device)(x) == x.max()
    assert cuda.reduce(lambda a, b: device(a, b))(x) == x.max()
    assert cuda.reduce(njit(lambda a, b: a + b))(x) == x.sum()
    weight = 2.0

    def make(w):
        return cuda.reduce(lambda a, b: max(a * w, b * w) / w)

    assert make(weight)(x) == x.max() and make(0.5)(x) == x.max()


@pytest.mark.parametrize("n", SIZES[1:])
def test_neighbours_are_joined(n):
    """Associative functions that do not commute: the first and the last item."""
    x = np.arange(n)
    assert cuda.reduce(lambda a, b: a)(x, init=-1) == 0
    assert cuda.reduce(lambda a, b: b)(x, init=n - 1) == n - 1
    gaps = np.where(x < n // 2, np.nan, x)
    assert cuda.reduce(lambda a, b: a if a == a else b)(gaps, init=np.nan) == n // 2


def test_the_order_depends_on_the_length_alone():
    x = np.random.default_rng(1).random(300_001).astype(np.float32)
    want = total(x)
    assert abs(want - x.sum(dtype=float)) < 1.0
    old = get_num_threads()
    try:
        for threads in (1, 2):
            set_num_threads(min(threads, old))
            for a in (x, cuda.to_device(x), np.repeat(x, 2)[::2]):
                assert total(a) == want
    finally:
        set_num_threads(old)


def test_size_and_res():
    x = whole(20_000, np.float64)
    d = cuda.to_device(x)
    for size in (0, 1, 100, 20_000, 30_000):
        assert total(d, size=size) == total(x, size) == x[:size].sum()
    res = cuda.to_device(np.full(3, -1.0))
    assert total(d, res=res) is None
    assert res.copy_to_host().tolist() == [x.sum(), -1, -1]
    assert total(x, size=10, res=res[1:], init=5.0, stream=cuda.stream()) is None
    assert res.copy_to_host().tolist() == [x.sum(), x[:10].sum() + 5, -1]
    assert total(x[:0], res=res, init=7) is None and res.copy_to_host()[0] == 7
    assert total(x[:0], init=7) == 7.0
    assert total(d, res=d) is None and d.copy_to_host()[0] == x.sum()


def test_layouts():
    x = whole(9000, np.int64)
    assert (
        total(x[::-1]) == x.sum()
        and total(x[::3]) == x[::3].sum()
        and total(cuda.to_device(x)[5:-5:2]) == x[5:-5:2].sum()
    )
    assert total(np.broadcast_to(np.int64(3), 5000)) == 15_000
    assert total(x.astype(">i8")) == x.sum()
    fixed = x.copy()
    fixed.flags.writeable = False
    assert total(fixed) == x.sum()


def test_in_place():
    x = whole(5000, np.float32)
    d = cuda.to_device(x)
    assert total.device_partial_inplace(d, init=2) == 1 and d.copy_to_host()[0] == x.sum() + 2
    d = cuda.to_device(x)
    assert total.device_partial_inplace(d, size=10) == 1 and d.copy_to_host()[0] == x[:10].sum()
    assert total.device_partial_inplace(d, size=0) == 0
    with pytest.raises(TypeError, match="device array"):
        total.device_partial_inplace(x)


def test_the_object():
    assert total.__name__ == "total" and total.__doc__ == "The sum." and total.__wrapped__(1, 2) == 3
    assert "total" in repr(total) and isinstance(total, cuda.Reduce) and cuda.Reduce is cuda.reduce


def test_what_is_refused():
    x = np.ones(3)
    for call, error, match in (
        (lambda: cuda.reduce(3), TypeError, "takes a Python function"),
        (lambda: cuda.reduce(max), TypeError, "takes a Python function"),
        (lambda: total([1, 2]), TypeError, "not list"),
        (lambda: total(np.ones((2, 2))), TypeError, "one axis"),
        (lambda: total(np.ones(())), TypeError, "one axis"),
        (lambda: total(x, size=1.5), TypeError, "float"),
        (lambda: total(x, size=-1), ValueError, "size is -1"),
        (lambda: total(x, res=x), TypeError, "device array"),
        (lambda: total(x, res=cuda.device_array(1, np.float32)), TypeError, "float32"),
        (lambda: total(x, res=cuda.device_array(0)), ValueError, "an item at least"),
        (lambda: total(x, res=cuda.device_array((1, 1))), ValueError, "an item at least"),
        (lambda: total(x, stream=7), TypeError, "stream"),
        (lambda: total(x, init="a"), ValueError, "float"),
        (lambda: total(np.array(["a"])), TypeError, "of strings .<U1"),
        (lambda: total(np.ones(2, np.longdouble)), TypeError, "total.*longdouble"),
        (lambda: cuda.reduce(lambda a: a), TypeError, "of two arguments, and <lambda>.. has 1"),
        (lambda: cuda.reduce(lambda a, b: (a, b))(x), TypingError, "cannot convert"),
    ):
        with pytest.raises(error, match=match):
            call()

    @cuda.reduce
    def picky(a, b):
        if b > 50_000:
            raise ValueError("too large")
        return a + b

    with pytest.raises(ValueError, match="too large"):
        picky(np.arange(60_000))
    assert picky(np.arange(10)) == 45


def test_threads_and_small_stacks():
    wrong = []

    def work(k):
        fresh = cuda.reduce(lambda a, b: a + b)
        for _ in range(5):
            if total(np.arange(k + 50_000)) != sum(range(k + 50_000)) or fresh(np.arange(k)) != sum(range(k)):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert on_stack(256, lambda: total(np.arange(100_000))) == 4999950000


@pytest.mark.emulated
def test_after_a_fork():
    program = """
        import os
        import numpy as np
        from treadle import cuda
        total = cuda.reduce(lambda a, b: a + b)
        x = np.arange(100_000)
        assert total(x) == x.sum()
        pid = os.fork()
        if pid == 0:
            os._exit(0 if total(x) == x.sum() and total(x.astype(np.int32) % 7) == (x % 7).sum() else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.strip() == "0", done.stderr
