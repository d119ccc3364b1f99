"""`vectorize` and `guvectorize` with ``target='cuda'``: against NumPy, and against the same function on the cpu."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import treadle
from on_stack import on_stack
from treadle import cuda, float32, float64, guvectorize, int64, ufunc_info, vectorize


@cuda.jit(device=True)
def polar(rho, theta):
    return rho * math.cos(theta), rho * math.sin(theta)


@vectorize(["float32(float32, float32)", "float64(float64, float64)"], target="cuda")
def hypot2(a, b):
    return a * a + b * b


@vectorize(target="gpu")
def lazy(a, b):
    """Nothing declared."""
    return a - b


def numbers(n, dtype=np.float64, seed=0):
    return (np.random.default_rng(seed).random(n) * 100).astype(dtype)


# --- calls ---


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 1, 7, 1000, 300_000])
def test_what_goes_in_says_where_the_result_lies(dtype, n):
    x, y = numbers(n, dtype), numbers(n, dtype, 1)
    want = x * x + y * y
    host = hypot2(x, y)
    assert type(host) is np.ndarray and host.dtype == dtype
    np.testing.assert_allclose(host, want, rtol=1e-6)
    dx, dy = cuda.to_device(x), cuda.to_device(y)
    for args in ((dx, dy), (dx, y), (x, dy)):
        made = hypot2(*args)
        assert isinstance(made, cuda.DeviceNDArray) and made.dtype == dtype and made.shape == (n,)
        np.testing.assert_array_equal(made.copy_to_host(), host)
    np.testing.assert_array_equal(dx.copy_to_host(), x)


def test_results_into_what_is_given():
    x, y = numbers(50), numbers(50, seed=1)
    want = hypot2(x, y)
    for first in (x, cuda.to_device(x)):
        for out in (np.zeros(50), np.zeros(100)[::2], cuda.device_array(50)):
            for call in (
                lambda first, o: hypot2(first, y, out=o),
                lambda first, o: hypot2(first, y, out=(o,)),
                lambda first, o: hypot2(first, y, o),
            ):
                assert call(first, out) is out
                got = out if isinstance(out, np.ndarray) else out.copy_to_host()
                np.testing.assert_array_equal(got, want)
    d = cuda.to_device(x)
    assert hypot2(d, d, out=d) is d  # out is an input, too
    np.testing.assert_array_equal(d.copy_to_host(), x * x + x * x)
    d = cuda.to_device(x)
    lazy(d[:-1], 1.0, out=d[1:])  # and overlaps one
    np.testing.assert_array_equal(d.copy_to_host()[1:], x[:-1] - 1.0)


def test_broadcasting():
    b, c = np.arange(4.0)[:, None], np.arange(16.0).reshape(4, 4)
    for x, y in (
        (b, c),
        (c, b),
        (c, np.arange(4.0)),
        (c, np.float64(2)),
        (c[:, :0], b),
        (c.T, c),
        (c[::-1, ::2], b),
        (np.broadcast_to(b, (4, 4)), c),
    ):
        want = x - y
        np.testing.assert_array_equal(lazy(x, y), want)
        dx = cuda.to_device(x)
        np.testing.assert_array_equal(lazy(dx, y).copy_to_host(), want)
        if isinstance(y, np.ndarray):
            np.testing.assert_array_equal(lazy(x, cuda.to_device(y)).copy_to_host(), want)
    for d in (cuda.to_device(c), cuda.to_device(np.asfortranarray(c))):
        np.testing.assert_array_equal(
            lazy(d[1:3, ::2], d[:2, 1::2]).copy_to_host(), c[1:3, ::2] - c[:2, 1::2]
        )
    with pytest.raises(ValueError, match="broadcast"):
        lazy(cuda.to_device(np.ones(3)), np.ones(4))


def test_numbers_are_arrays_of_one_item():
    for made in (
        hypot2(3, 4),
        hypot2(3.0, 4),
        lazy(30, 5),
        hypot2(np.float32(3), np.float32(4)),
        lazy(30.0, np.array(5.0)),
    ):
        assert type(made) is np.ndarray and made.shape == (1,) and made[0] == 25
    assert lazy(np.array(3), np.array(5)) == -2
    x = numbers(5, np.float32)
    assert hypot2(x, 2.0).dtype == hypot2(x, np.float64(2)).dtype == hypot2(x, 2).dtype == np.float32
    assert lazy(x, 2.0).dtype == np.float32
    made = hypot2(cuda.to_device(x), 2)
    assert made.dtype == np.float32 and made.shape == (5,)
    point = cuda.device_array(())
    point.copy_to_device(np.array(3.0))
    for _ in range(2):
        made = lazy(point, np.array(1.0))
        assert made.shape == () and made.copy_to_host() == 2.0
        assert lazy(point, 1.0).shape == (1,)


def test_numbers_have_the_declared_type():
    @vectorize(
        ["float64(float64, float64)", "int64(int64, int64)", "boolean(boolean, boolean)"], target="cuda"
    )
    def both(a, b):
        return a + b

    i = np.arange(3)
    assert both(i, 2).dtype == np.int64 and both(i.astype(float), 2).dtype == np.float64
    assert both(i, 2.5).dtype == np.float64  # (int64, float64) is NumPy's case: float64 takes both

    one = vectorize(["int32(int32, int32)"], target="cuda")(lambda a, b: a + b)
    i = i.astype(np.int32)
    assert (one(i, 2.0) == i + 2).all() and one(i, np.int64(2)).dtype == np.int32
    for bad in (2.5, 1j, float("nan"), float("inf"), 2**31, 2**70, np.uint64(2**63), np.complex64(1)):
        with pytest.raises((TypeError, OverflowError)):
            one(i, bad)
    real = vectorize(["float32(float32, float32)"], target="cuda")(lambda a, b: a + b)
    for bad in (1j, np.ones(2)):
        with pytest.raises(TypeError, match="has no signature"):
            real(np.ones(2, np.float32), bad)
    truth = vectorize(["boolean(boolean, boolean)"], target="cuda")(lambda a, b: a and b)
    assert truth(np.array([True, False]), 1).tolist() == [True, False]
    with pytest.raises(TypeError, match="has no signature"):
        truth(np.array([True]), 2)


def test_types_as_declared():
    assert hypot2.types == ["ff->f", "dd->d"] and hypot2.ntypes == 2
    small = np.arange(3, dtype=np.int16)
    assert hypot2(small, small).dtype == np.float32  # the first that both convert to
    assert hypot2(np.arange(3), np.arange(3)).dtype == np.float64
    assert hypot2([1, 2], (3.0, 4.0)).tolist() == [10.0, 20.0]
    z = numbers(9, np.complex64) * (1 + 2j)
    mul = vectorize(["complex64(complex64, complex64)"], target="gpu")(lambda a, b: a * b)
    d = cuda.to_device(z.astype(np.complex64))
    np.testing.assert_allclose(mul(d, d, out=d).copy_to_host(), z * z, rtol=1e-5)
    for dtype in (np.int8, np.uint64, np.bool_, np.float16, np.dtype(">f8")):
        x = np.arange(5).astype(dtype)
        np.testing.assert_array_equal(
            vectorize(target="cuda")(lambda a: a * 2.5)(cuda.to_device(x)).copy_to_host(), np.asarray(x) * 2.5
        )


class Foreign:
    """An array of another package that lies where the device sees it."""

    def __init__(self, mem):
        self.mem = mem
        self.__cuda_array_interface__ = mem.__array_interface__


def test_other_arrays_that_the_device_sees():
    x = numbers(30)
    shared = cuda.mapped_array(30)
    for a in (shared, cuda.as_cuda_array(shared), Foreign(cuda.pinned_array(30))):
        getattr(a, "mem", shared)[:] = x
        shared[:] = x
        made = lazy(a, 1.0)
        assert isinstance(made, cuda.DeviceNDArray)
        np.testing.assert_array_equal(made.copy_to_host(), x - 1)
        assert lazy(x, x, out=a) is a
        np.testing.assert_array_equal(getattr(a, "mem", a), 0 * x)
        assert vectorize(target="cuda")(lambda a, b: a + b).reduce(a) == 0
    shared[:] = 0
    assert cuda.reduce(lambda a, b: a + b)(shared, init=3, res=shared) is None and shared[0] == 3


def test_division_is_the_devices():
    div = vectorize(["float64(float64, float64)"], target="cuda")(lambda a, b: a / b)
    np.testing.assert_array_equal(div(np.array([1.0, 0.0, -1.0]), 0.0), [np.inf, np.nan, -np.inf])
    floor = vectorize(["int64(int64, int64)"], target="cuda")(lambda a, b: a // b)
    assert floor(np.array([7, -7]), np.array([0, 2])).tolist() == [0, -4]
    log = vectorize(["float32(float32)"], target="cuda")(lambda a: math.log(a))
    assert log(np.zeros(1, np.float32))[0] == -np.inf

    inner = cuda.jit(device=True)(lambda a, b: a / b)
    outer = vectorize(target="cuda")(lambda a, b: inner(a, b))
    assert outer(1.0, 0.0)[0] == np.inf


@pytest.mark.parametrize("signatures", [None, ["float32(float32, float32, float32, float32)"]])
def test_device_functions(signatures):
    @vectorize(signatures, target="cuda")
    def distance(r1, t1, r2, t2):
        x1, y1 = polar(r1, t1)
        x2, y2 = polar(r2, t2)
        return ((x1 - x2) ** 2 + (y1 - y2) ** 2) ** 0.5

    r1, t1, r2, t2 = (numbers(5000, np.float32, k) for k in range(4))
    want = np.hypot(r1 * np.cos(t1) - r2 * np.cos(t2), r1 * np.sin(t1) - r2 * np.sin(t2))
    got = distance(*map(cuda.to_device, (r1, t1, r2, t2)))
    assert got.dtype == np.float32
    np.testing.assert_allclose(got.copy_to_host(), want, atol=2e-3)


def test_several_results():
    two = vectorize(["Tuple((float64, int64))(float64)"], target="cuda")(lambda x: (x * 2, 3))
    x = np.arange(4.0)
    a, b = two(cuda.to_device(x))
    assert isinstance(a, cuda.DeviceNDArray) and b.copy_to_host().tolist() == [3] * 4
    out = np.zeros(4)
    a, b = two(x, out=(out, None))
    assert a is out and out.tolist() == [0, 2, 4, 6] and b.dtype == np.int64
    assert [type(r) for r in two(1.0)] == [np.ndarray] * 2


def test_streams_and_wrong_calls():
    s = cuda.stream()
    x = np.arange(3.0)
    with s.auto_synchronize():
        d = cuda.to_device(x, s)
        made = lazy(d, d, stream=s)
    assert made.copy_to_host().tolist() == [0, 0, 0]
    lazy(x, x, stream=0)
    for call, error, match in (
        (lambda: lazy(x, x, stream=3), TypeError, "stream"),
        (lambda: lazy(x), TypeError, "2 inputs and 1 outputs, and was given 1 and 0"),
        (lambda: lazy(x, x, x, x), TypeError, "was given 2 and 2"),
        (lambda: lazy(x, x, x, out=x), TypeError, "by position and as `out`"),
        (lambda: lazy(x, x, where=x), TypeError, "where"),
        (lambda: lazy(x, x, out=np.zeros(4)), ValueError, "broadcast"),
        (lambda: lazy(x, x, out=[1, 2, 3]), TypeError, "array"),
        (lambda: lazy(x, "a"), TypeError, "cannot be compiled for argument 2"),
        (lambda: hypot2(x + 1j, x), TypeError, "has no signature"),
    ):
        with pytest.raises(error, match=match):
            call()
    fixed = cuda.to_device(x)
    fixed._mem.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        lazy(x, x, out=fixed)
    assert lazy(fixed, fixed).copy_to_host().tolist() == [0, 0, 0]


def test_what_the_function_raises():
    @vectorize(target="cuda")
    def picky(x):
        if x > 2:
            raise ValueError("too large", x)
        return x

    with pytest.raises(ValueError, match="too large"):
        picky(cuda.to_device(np.arange(5))).copy_to_host()
    with pytest.raises(ValueError, match="too large"):
        picky(np.arange(5))


# --- reduce ---


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_reduce(dtype):
    add = vectorize(
        [
            "int32(int32, int32)",
            "int64(int64, int64)",
            "float32(float32, float32)",
            "float64(float64, float64)",
        ],
        target="cuda",
    )(lambda a, b: a + b)
    for n in (1, 2, 3, 7, 8, 9, 1000, 8191, 8192, 8193, 100_000):
        x = np.random.default_rng(n).integers(0, 50, n).astype(dtype)
        want = x.sum(dtype=dtype)  # whole numbers: no order matters
        for a in (x, cuda.to_device(x), np.repeat(x, 2)[::2], x[::-1]):
            got = add.reduce(a)
            assert got == want and got.dtype == dtype
        np.testing.assert_array_equal(a, x[::-1])
    assert add.reduce(cuda.to_device(x), stream=cuda.stream()) == want


def test_reduce_joins_neighbours():
    first = vectorize(target="cuda")(lambda a, b: a if a == a else b)  # associative, not commutative
    x = np.full(70_000, np.nan)
    x[12_345:] = np.arange(57_655)
    assert first.reduce(x) == 0.0
    assert vectorize(target="cuda")(lambda a, b: b).reduce(np.arange(99_999)) == 99_998


def test_reduce_refuses():
    x = np.ones(3)
    for call, match in (
        (lambda: vectorize(target="cuda")(lambda a: a).reduce(x), "has 1 inputs"),
        (lambda: lazy.reduce(np.ones((2, 2))), "one axis"),
        (lambda: hypot2.reduce(np.arange(3)), "not declared for .int64, int64."),
        (lambda: lazy.reduce(np.ones(0)), "without items"),
        (lambda: lazy.reduce([1, 2]), "not list"),
        (lambda: lazy.reduce(x, stream="s"), "stream"),
    ):
        with pytest.raises(TypeError, match=match):
            call()


# --- guvectorize ---


@guvectorize(["void(float32[:,:], float32[:,:], float32[:,:])"], "(m,n),(n,p)->(m,p)", target="gpu")
def matmul(A, B, C):
    m, n = A.shape
    n, p = B.shape
    for i in range(m):
        for j in range(p):
            C[i, j] = 0
            for k in range(n):
                C[i, j] += A[i, k] * B[k, j]


def close(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_matmul():
    matmul.max_blocksize = 32
    assert matmul.max_blocksize == 32 and matmul.signature == "(m,n),(n,p)->(m,p)"
    A = numbers(8000, np.float32).reshape(1000, 2, 4)
    B = numbers(20_000, np.float32, 1).reshape(1000, 4, 5)
    dA, dB = cuda.to_device(A), cuda.to_device(B)
    close(matmul(A, B), A @ B)
    made = matmul(dA, dB, stream=cuda.stream())
    assert isinstance(made, cuda.DeviceNDArray)
    close(made.copy_to_host(), A @ B)
    close(matmul(dA, B[0]).copy_to_host(), A @ B[0])  # over the loop's axes
    close(matmul(A[:3, None], B[None, :4]), A[:3, None] @ B[None, :4])
    for out in (np.zeros((1000, 2, 5), np.float32), cuda.device_array((1000, 2, 5), np.float32)):
        for made in (matmul(dA, B, out=out), matmul(A, dB, out)):
            assert made is out
            got = out if isinstance(out, np.ndarray) else out.copy_to_host()
            close(got, A @ B)
    with pytest.raises(ValueError, match="mismatch"):
        matmul(A, A)
    with pytest.raises(TypeError):
        matmul(A.astype(float), B.astype(float))
    assert not hasattr(matmul, "reduce")


@pytest.mark.parametrize("signatures", [(), (["void(float64, float64[:], float64[:], float64[:])"],)])
def test_numbers_beside_arrays(signatures):
    @guvectorize(*signatures, "(),(t),(t)->(t)", target="cuda")
    def saxpy(a, x, y, out):
        for i in range(x.shape[0]):
            out[i] = polar(a * x[i], 0.0)[0] + y[i]

    x, y = numbers(10), numbers(10, seed=1)
    np.testing.assert_array_equal(saxpy(2.0, x, y), 2 * x + y)
    np.testing.assert_array_equal(saxpy(2, x, cuda.to_device(y)).copy_to_host(), 2 * x + y)
    a = np.arange(3.0)
    np.testing.assert_array_equal(saxpy(cuda.to_device(a), x, y).copy_to_host(), a[:, None] * x + y)


@pytest.mark.parametrize("a", ["int32", "int32[:]"])
def test_numbers_of_a_gufunc_have_the_declared_type(a):
    def scale(a, x, out):
        for i in range(x.size):
            out[i] = (a[0] if as_array else a) * x[i]

    as_array = a.endswith("]")
    f = guvectorize([f"void({a}, int32[:], int32[:])"], "(),(t)->(t)", target="cuda")(scale)
    x = np.arange(5, dtype=np.int32)
    for number in (2, np.int64(2), 2.0, np.uint8(2)):
        for given in (x, cuda.to_device(x)):
            got = f(number, given)
            got = got if isinstance(got, np.ndarray) else got.copy_to_host()
            assert got.dtype == np.int32 and (got == 2 * x).all()
    for bad in (2.5, np.int64(2**40), np.array(2)):
        with pytest.raises((TypeError, OverflowError)):
            f(bad, x)


def test_outputs_without_axes():
    total = guvectorize(["void(float64[:], float64[:])"], "(n)->()", target="cuda")(plus)
    a = numbers(12).reshape(3, 4)
    np.testing.assert_allclose(total(cuda.to_device(a)).copy_to_host(), a.sum(axis=1))
    one = total(cuda.to_device(a[0]))
    assert isinstance(one, cuda.DeviceNDArray) and one.shape == ()
    assert one.copy_to_host() == total(a[0])


def plus(a, out):
    out[0] = a.sum()


def test_what_is_stored_into():
    @guvectorize("(n)", target="cuda")
    def double(a):
        for i in range(a.size):
            a[i] *= 2

    d = cuda.to_device(np.arange(4.0))
    double(d)
    assert d.copy_to_host().tolist() == [0, 2, 4, 6]


# --- the objects ---


def test_what_programs_ask_for():
    assert hypot2.__name__ == hypot2.__qualname__ == "hypot2" and lazy.__doc__ == "Nothing declared."
    assert hypot2.__module__ == __name__ and hypot2.py_func(3, 4) == hypot2.__wrapped__(3, 4) == 25
    assert (hypot2.nin, hypot2.nout, hypot2.nargs) == (2, 1, 3)
    assert hypot2.signature is None and hypot2.identity is None and hypot2.max_blocksize == 2**30
    assert vectorize(target="cuda", identity=0)(lambda a, b: a + b).identity == 0
    for bad, error in ((0, ValueError), (1.5, TypeError)):
        with pytest.raises(error):
            hypot2.max_blocksize = bad
    info = ufunc_info(hypot2)
    assert info.target == "cuda" and hypot2.info().signatures == [(float32,) * 2, (float64,) * 2]
    assert "pattern" in info.inspect_ir((float64, float64)) and not info.lazy
    assert isinstance(hypot2, cuda.DeviceUfunc) and isinstance(matmul, cuda.DeviceGUfunc)
    assert pickle.loads(pickle.dumps(hypot2)) is hypot2 and "hypot2" in repr(hypot2)


def test_decorations():
    def f(x):
        return x

    for make in (
        lambda: vectorize(["f8(f8)"], target="cuda", fastmath=True)(f),
        lambda: vectorize(float64(float64), target="cuda")(f),
        lambda: vectorize([(float64,), float32(float32)], target="cuda")(f),
        lambda: vectorize(target="cuda")(treadle.njit(f)),
    ):
        assert make()(np.ones(2)).tolist() == [1, 1]
    with pytest.raises(TypeError, match="has 1 parameter, but its signature has 2"):
        vectorize([float64(float64, float64)], target="cuda")(f)
    with pytest.raises(treadle.UnsupportedError, match="builtins.dir"):
        vectorize([int64(int64)], target="cuda")(lambda x: len(dir((x,))))
    with pytest.raises(treadle.TreadleError, match="ufunc of the device"):
        treadle.njit(lambda x: hypot2(x, x))(1.0)


def run(program, *args, env=None):
    done = subprocess.run(
        [sys.executable, *args, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        env=env,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_cached(tmp_path):
    (tmp_path / "m.py").write_text(
        "from treadle import vectorize\n"
        "@vectorize(['float64(float64, float64)'], target='cuda', cache=True)\n"
        "def f(a, b): return a * b + 1\n"
    )
    program = f"""
        import os, sys
        os.environ["TREADLE_CACHE_DIR"] = {str(tmp_path / "cache")!r}
        sys.path.insert(0, {str(tmp_path)!r})
        from m import f
        print(f(2.0, 3.0)[0], f.info().stats.popitem()[1]["loaded"])
    """
    assert run(program).split() == ["7.0", "False"]
    assert run(program).split() == ["7.0", "True"]


def test_without_compiling():
    program = """
        import os
        os.environ["TREADLE_DISABLE_JIT"] = "1"
        import numpy as np
        from treadle import vectorize, cuda
        double = cuda.jit(device=True)(lambda x: 2 * x)
        @vectorize(["float64(float64)"], target="cuda")
        def f(a):
            return double(a) + 1
        print(f(cuda.to_device(np.arange(3.0))).copy_to_host().tolist())
    """
    assert run(program).strip() == "[1.0, 3.0, 5.0]"


def test_threads_and_small_stacks():
    add = vectorize(target="cuda")(lambda a, b: a + b)
    x = numbers(200_000)
    wrong = []

    def work(k):
        for _ in range(5):
            d = add(cuda.to_device(x), np.float64(k))
            if (
                not (d.copy_to_host() == x + k).all()
                or add.reduce(np.arange(k + 1000)) != (k + 1000) * (k + 999) // 2
            ):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    on_stack(256, lambda: lazy(cuda.to_device(x), x))


def test_the_program_of_numbas_documents():
    # As `python -m treadle run` sees it.
    program = """
        import runpy, sys
        from treadle.run import install
        install()
        import numpy as np
        from numba import cuda, vectorize, guvectorize
        for target in ("gpu", "cuda"):
            @vectorize(["int64(int64, int64)"], target=target, nopython=True)
            def add(x, y):
                return x + y
            @vectorize(target=target)
            def lazy(x):
                return x * 2
            assert add(12, 17) == 29 and lazy(np.arange(3)).tolist() == [0, 2, 4]
            assert add.reduce(cuda.to_device(np.arange(10))) == 45
        @cuda.reduce
        def largest(a, b):
            return max(a, b)
        assert largest(np.array([3, 1])) == 3
        from numba.cuda.kernels.reduction import Reduce
        assert Reduce is cuda.Reduce
        print("done")
    """
    assert run(program).strip() == "done"
