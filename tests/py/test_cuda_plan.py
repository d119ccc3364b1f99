"""The common call of a ufunc on a GPU, whose plan is kept (`cuda/_plan.py`): what it does is what any other call does. On the emulated device there are no plans, and results are the same."""

from __future__ import annotations

import numpy as np
import pytest
from fake_gpu import start
from treadle import cuda, vectorize

GPU = not cuda.is_emulated()


@vectorize(["float32(float32, float32, float32)", "float64(float64, float64, float64)"], target="cuda")
def saxpy(a, x, y):
    return a * x + y


@vectorize(target="cuda")
def minus(a, b):
    return a - b


@vectorize(["int64(int64, int64)", "float64(float64, float64)"], target="cuda")
def either(a, b):
    return a + b


@vectorize(["complex128(complex128, float64)"], target="cuda")
def turned(z, x):
    return z * x


def there(shape, dtype, seed=0):
    return cuda.to_device((np.random.default_rng(seed).random(shape) * 9).astype(dtype))


@pytest.fixture
def planned(monkeypatch):
    """Says of a call whether it went by a plan."""
    from treadle.cuda import _ufunc

    calls = []
    whole = _ufunc._OnDevice.__call__

    def counted(self, *args, **kwargs):
        calls.append(args)
        return whole(self, *args, **kwargs)

    monkeypatch.setattr(_ufunc._OnDevice, "__call__", counted)

    def ask(fn, *args, **kwargs):
        calls.clear()
        made = fn(*args, **kwargs)
        return made, not calls

    return ask


def host(x):
    return x.copy_to_host() if isinstance(x, cuda.DeviceNDArray) else x


@pytest.mark.parametrize("shape", [(1,), (7,), (300, 5), (2, 3, 4)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("a", [2, 2.5, np.float32(1.5), np.float64(1.5), np.int8(3)])
def test_numbers_and_arrays(planned, shape, dtype, a):
    x, y = there(shape, dtype), there(shape, dtype, 1)
    want = np.dtype(dtype).type(a) * host(x) + host(y)
    for _ in range(2):
        made, quick = planned(saxpy, a, x, y)
        assert quick == GPU and made.dtype == dtype and made.shape == shape
        np.testing.assert_allclose(host(made), want, rtol=1e-6)
    out = cuda.device_array(shape, dtype)
    made, quick = planned(saxpy, a, x, y, out=out)
    assert quick == GPU and made is out
    np.testing.assert_allclose(host(out), want, rtol=1e-6)
    made, quick = planned(saxpy, a, x, y, out=y)  # in place
    assert quick == GPU and made is y
    np.testing.assert_allclose(host(y), want, rtol=1e-6)


def test_types_that_are_cast_and_those_of_results(planned):
    i, f = there(20, "i4"), there(20, "f4")
    for args in ((i, f), (f, i), (i, i), (f, 2.0), (np.float64(0.5), f)):
        made, quick = planned(minus, *args)
        want = minus(*map(host, args))  # of host arrays, by no plan
        np.testing.assert_allclose(want, np.subtract(*map(host, args)))
        assert quick == GPU and made.dtype == want.dtype, args
        np.testing.assert_array_equal(host(made), want)
    z, x = there(9, "c16"), there(9, "f8")
    for args in ((z, x), (x, x), (1 + 2j, x), (3, x)):
        made, quick = planned(turned, *args)
        assert quick == GPU and made.dtype == "c16"
        np.testing.assert_allclose(host(made), np.multiply(*map(host, args)))
    with pytest.raises(TypeError):
        turned(z, 1j)


def test_numbers_whose_type_their_value_says(planned):
    """A float that is an integer goes to the loop of integers, another one to that of floats."""
    i = there(5, "i8")
    for a in (2.0, 2, 2.5):
        made, quick = planned(either, a, i)
        assert not quick
        assert made.dtype == ("f8" if a == 2.5 else "i8")
        np.testing.assert_array_equal(host(made), a + host(i))


def test_what_is_no_common_call(planned):
    x, y = there(12, "f4"), there(12, "f4", 1)
    want = 2 * host(x) + host(y)
    strided = cuda.to_device(np.repeat(host(x), 2))[::2]
    stream = cuda.stream()
    bound = x.bind(stream)
    for args, kwargs in (
        ((2.0, strided, y), {}),
        ((2.0, bound, y), {}),
        ((2.0, host(x), y), {}),
        ((2.0, x, y), {"stream": stream}),
        ((2.0, x, y), {"out": cuda.device_array(24, "f4")[::2]}),
        ((2.0, x, y), {"out": cuda.device_array(12, "f8")}),
        ((2.0, x, y), {"out": np.empty(12, "f4")}),
        ((2.0, x, y), {"out": (cuda.device_array(12, "f4"),)}),
        ((2.0, x, y, cuda.device_array(12, "f4")), {}),
    ):
        made, quick = planned(saxpy, *args, **kwargs)
        stream.synchronize()
        assert not quick
        np.testing.assert_allclose(host(made), want, rtol=1e-6)
    for shape in ((0,), (3, 0), ()):
        a = there(shape, "f4")
        made, quick = planned(saxpy, 2.0, a, a)
        assert not quick and made.shape == (shape or (1,))


def test_outputs_that_meet_inputs():
    """Results are what they are where the output is apart."""
    whole = there(101, "f8")
    was = host(whole)
    for out, x in ((whole[1:], whole[:-1]), (whole[:-1], whole[1:])):
        whole.copy_to_device(was)
        want = host(x) * 2.0 + host(x)
        np.testing.assert_array_equal(host(saxpy(2.0, x, x, out=out)), want)
    half = there(40, "f4")
    as_wide = half.view("f8")
    want = np.subtract(host(as_wide), host(as_wide))
    np.testing.assert_array_equal(host(minus(as_wide, as_wide, out=as_wide)), want)


def test_wrong_calls():
    x, y = there(12, "f4"), there(13, "f4")
    for args, kwargs in (
        ((2.0, x, y), {}),
        ((2.0, x, x), {"out": y}),
        ((2.0, x, x), {"out": 3}),
        ((2.0, x), {}),
        ((2.0, x, x), {"out": cuda.device_array(12, "i4")}),
    ):
        with pytest.raises((TypeError, ValueError)):
            saxpy(*args, **kwargs)
    np.testing.assert_allclose(host(saxpy(2.0, x, x)), 3 * host(x), rtol=1e-6)


def test_most_threads_of_a_block_change():
    x = there(5000, "f8")
    before = minus.max_blocksize
    try:
        for n in (32, 256, 64):
            minus.max_blocksize = n
            np.testing.assert_array_equal(host(minus(x, x)), np.zeros(5000))
    finally:
        minus.max_blocksize = before


def test_memory_that_is_gone():
    """What was mapped for a block of code is none behind it."""
    r = start(
        """
import numpy as np
from treadle import cuda, vectorize
f = vectorize(["float64(float64, float64)"], target="cuda")(lambda a, b: a + b)
x, y = cuda.to_device(np.arange(5.0)), cuda.to_device(np.ones(5))
assert f(x, y).copy_to_host()[1] == 2.0
with cuda.mapped(np.ones(5)) as z:
    print(f(x, z).copy_to_host()[4])
try:
    f(x, z)
except ValueError as error:
    print(error)
"""
    )
    print(r.stderr)
    print(r.stdout)
    assert r.returncode == 0, r.stderr
    assert "5.0" in r.stdout and "gone" in r.stdout
