"""CUDA's libraries under the names that NumbaPro, Accelerate and pyculib had for them, and NumbaPro's compute units, as `treadle run` gives them to programs."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
from contextlib import closing

import numpy as np
import pytest
import treadle
from treadle import _cu, _cudalib, _ddt, cuda
from treadle._cu import CU


def run(text, **env):
    """The program under `treadle run`."""
    return subprocess.run(
        [sys.executable, "-m", "treadle", "run", "-c", text],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **env},
    )


def printed(text, **env):
    done = run(text, **env)
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- the roots ---

SAME = """
import numbapro.cudalib.cufft, numbapro.cudalib.curand as curand
import accelerate, accelerate.cuda.fft as fft
import pyculib.fft.api, pyculib
from accelerate.cuda.rand import PRNG
from accelerate.cuda.rand.api import QRNG
from numbapro.cudalib import cufft
from pyculib import rand
from accelerate.cuda import cuda
from numbapro.testsupport import unittest
assert cuda.jit and unittest.TestCase
assert cufft.FFTPlan is fft.FFTPlan is pyculib.fft.api.FFTPlan is numbapro.cudalib.cufft.FFTPlan
assert PRNG is curand.PRNG is rand.PRNG and QRNG is rand.QRNG
print(accelerate.__version__, pyculib.__version__)
"""


def test_roots_are_one_library():
    assert printed(SAME).split() == ["2.3.1", "1.0.2"]


def test_all_names_of_the_libraries():
    """Each library under each root has what treadle.cuda's has."""
    for package, libraries in _cudalib._PACKAGES.items():
        for name, library in libraries.items():
            ours = getattr(cuda, library, None)
            if ours is None:
                assert not _cudalib.is_ours(f"{package}.{name}")
                continue
            for inside in ("", ".api"):
                assert _cudalib.is_ours(f"{package}.{name}{inside}")
                assert set(_cudalib.names_of(f"{package}.{name}{inside}")) == set(ours.__all__)
            assert _cudalib.is_ours(f"{package}.{name}.binding") == (
                name not in ("sorting", "sparse", "cusparse")
            )
        assert not _cudalib.is_ours(f"{package}.nothing") and not _cudalib.is_ours(f"{package}.fft.nothing")


def test_hugging_face_keeps_its_package(tmp_path):
    """A package accelerate that is installed is itself, and the libraries are beside it."""
    package = tmp_path / "accelerate"
    package.mkdir()
    (package / "__init__.py").write_text("class Accelerator: pass\n")
    (package / "utils.py").write_text("here = 1\n")
    text = """
import accelerate, accelerate.utils
from accelerate import Accelerator
from accelerate.cuda.fft import FFTPlan
import accelerate.cuda
print(accelerate.__file__, accelerate.utils.here, FFTPlan.__module__)
"""
    path = os.pathsep.join([str(tmp_path), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    assert printed(text, PYTHONPATH=path).split() == [str(package / "__init__.py"), "1", "treadle.cuda.fft"]


def test_what_is_not_there_is_not_found():
    done = run("import pyculib.fft.nothing")
    assert done.returncode and "No module named 'pyculib.fft.nothing'" in done.stderr


def test_modules_beside_the_libraries():
    text = """
import pyculib.config, pyculib.warnings, pyculib.utils, warnings
assert pyculib.warnings.warn is warnings.warn
print(pyculib.config.WARNINGS, issubclass(pyculib.warnings.PerformanceWarning, Warning))
"""
    assert printed(text, PYCULIB_WARNINGS="1").split() == ["1", "True"]


# --- the bindings ---


def test_plans_by_number():
    names = _cudalib.names_of("pyculib.fft.binding")
    plan = names["Plan"]
    rng = np.random.default_rng(3)
    for make, shape in ((plan.one, (12,)), (plan.two, (4, 6)), (plan.three, (2, 3, 8))):
        x = (rng.random(shape) + 1j * rng.random(shape)).astype(np.complex64)
        d = cuda.to_device(x)
        p = make(names["CUFFT_C2C"], *shape)
        p.set_stream(cuda.stream())
        p.set_native_mode()
        p.forward(d, d)
        np.testing.assert_allclose(d.copy_to_host(), np.fft.fftn(x), rtol=1e-4, atol=1e-4)
        p.exe(d, d, names["CUFFT_INVERSE"])
        np.testing.assert_allclose(d.copy_to_host() / x.size, x, rtol=1e-4)
    x = rng.random((3, 10))
    half = cuda.device_array((3, 6), np.complex128)
    plan.many((10,), names["CUFFT_D2Z"], 3).forward(cuda.to_device(x), half)
    np.testing.assert_allclose(half.copy_to_host(), np.fft.rfft(x), rtol=1e-12, atol=1e-12)
    back = cuda.device_array((3, 10), np.float64)
    plan.many((10,), names["CUFFT_Z2D"], 3).inverse(half, back)
    np.testing.assert_allclose(back.copy_to_host() / 10, x, rtol=1e-12)
    with pytest.raises(ValueError, match="none of cuFFT's kinds"):
        plan.one(7, 4)
    assert names["libcufft"]().version >= 12000


def test_generators_by_number():
    names = _cudalib.names_of("numbapro.cudalib.curand.binding")
    made = names["Generator"](names["CURAND_RNG_PSEUDO_MRG32K3A"])
    made.set_pseudo_random_generator_seed(1234)
    made.set_offset(123)
    ours = cuda.rand.PRNG(cuda.rand.PRNG.MRG32K3A, seed=1234, offset=123)
    for method, dtype, args in (
        ("generate_uniform", np.float32, ()),
        ("generate_uniform", np.float64, ()),
        ("generate_normal", np.float64, (1.0, 2.0)),
        ("generate_log_normal", np.float32, (0.0, 0.5)),
        ("generate_poisson", np.uint32, (3.0,)),
    ):
        d, e = cuda.to_device(np.zeros(20, dtype)), cuda.to_device(np.zeros(20, dtype))
        getattr(made, method)(d, 10, *args)
        getattr(ours, method.removeprefix("generate_").replace("log_", "log"))(e, *args, size=10)
        np.testing.assert_array_equal(d.copy_to_host(), e.copy_to_host())
        assert d.copy_to_host()[:10].any() and not d.copy_to_host()[10:].any()
    quasi = names["Generator"](names["CURAND_RNG_QUASI_SOBOL64"])
    quasi.set_quasi_random_generator_dimensions(2)
    d = cuda.to_device(np.zeros(8, np.uint64))
    quasi.generate(d, 8)
    assert d.copy_to_host()[1] == 2**63
    with pytest.raises(ValueError, match="none of cuRAND's generators"):
        names["Generator"](7)
    assert names["libcurand"]().version > 0


def test_matrices_are_what_their_memory_is():
    """Rows one behind the other are the transposed matrix to BLAS: programs ask for 'T', or give the operands in the other order."""
    blas = _cudalib.names_of("accelerate.cuda.blas")["Blas"]()
    rng = np.random.default_rng(2)
    a, b = rng.random((5, 7)), rng.random((7, 4))
    for on in (lambda x: x, cuda.to_device):
        x, y, z = on(a), on(b), on(np.zeros((5, 4), order="F"))
        blas.gemm("T", "T", 5, 4, 7, 1.0, x, y, 0.0, z)
        np.testing.assert_allclose(z if on is not cuda.to_device else z.copy_to_host(), a @ b, rtol=1e-13)
        z = on(np.zeros((5, 4)))
        blas.gemm("N", "N", 4, 5, 7, 1.0, y, x, 0.0, z)  # the transposed product
        np.testing.assert_allclose(z if on is not cuda.to_device else z.copy_to_host(), a @ b, rtol=1e-13)
    f = np.asfortranarray(a)
    z = np.zeros((5, 4), order="F")
    blas.gemm("N", "T", 5, 4, 7, 1.0, f, b, 0.0, z)
    np.testing.assert_allclose(z, a @ b, rtol=1e-13)
    with pytest.raises(ValueError):
        blas.gemm("N", "N", 5, 4, 7, 1.0, a, b, 0.0, z)


# --- tests with data ---


def test_data_of_tests():
    seen = []

    @_ddt.ddt
    class Tests(unittest.TestCase):
        @_ddt.data(1, 2)
        def test_one(self, x):
            seen.append(x)

        @_ddt.data((1, 2), [3, 4])
        @_ddt.unpack
        def test_two(self, x, y):
            seen.append(x * 10 + y)

        @_ddt.data({"x": 5})
        @_ddt.unpack
        def test_named(self, x):
            seen.append(x)
            self.fail("on purpose")

    done = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Tests).run(done)
    assert (done.testsRun, len(done.failures), sorted(seen)) == (5, 1, [1, 2, 5, 12, 34])
    assert "ddt" in printed("from numba.testing.ddt import ddt, data, unpack\nprint(ddt.__name__)")


# --- compute units ---


def product(tid, a, b, out):
    out[tid] = a[tid] * b[tid]


def add(tid, a, b, out):
    out[tid] = a[tid] + b[tid]


def increase(tid, a, by):
    a[tid] += by


TARGETS = pytest.mark.parametrize("target", ["cpu", "gpu"])


@TARGETS
@pytest.mark.parametrize("n", [0, 1, 255, 256, 1000])
def test_units(target, n):
    a, b, out = np.arange(n), np.arange(n) * 0.5, np.empty(n)
    with closing(CU(target)) as cu:
        x, y = cu.input(a), cu.input(b)
        scratch = cu.scratch_like(out)
        z = cu.output(out)
        cu.enqueue(product, ntid=n, args=(x, y, scratch))
        cu.enqueue(add, ntid=n, args=(scratch, y, z))
        cu.wait()
        np.testing.assert_array_equal(out, a * b + b)
        cu.enqueue(increase, ntid=n, args=(z, 2))  # once more after a wait
    np.testing.assert_array_equal(out, a * b + b + 2)


@TARGETS
def test_columns_and_what_is_dropped(target):
    """Arrays with steps are written back, and those that nobody holds any more."""
    a = np.zeros((50, 3))
    with closing(CU(target)) as cu:
        for k in range(3):
            cu.enqueue(increase, 50, (cu.inout(a[:, k]), k + 1.0))
    np.testing.assert_array_equal(a, np.tile([1.0, 2.0, 3.0], (50, 1)))


@TARGETS
def test_random_numbers(target):
    drawn = []
    for seed in (1, 1, 2):
        with closing(CU(target)) as cu:
            cu.configure(_cu._Random.seed, seed)
            u, v = np.zeros(20_000), np.zeros(20_000)
            x, y = cu.output(u), cu.output(v)
            cu.enqueue(_cu._Random.uniform, 20_000, (x,))
            cu.enqueue(_cu._Random.normal, 20_000, (y, 5.0, 2.0))
        assert 0 < u.min() and u.max() <= 1 and abs(u.mean() - 0.5) < 0.02
        assert abs(v.mean() - 5) < 0.1 and abs(v.std() - 2) < 0.1
        drawn.append(u)
    assert (drawn[0] == drawn[1]).all() and (drawn[0] != drawn[2]).any()


@TARGETS
def test_refused(target):
    with pytest.raises(ValueError, match="'cpu' or 'gpu', and not 'tpu'"):
        CU("tpu")
    cu = CU(target)
    a = np.zeros(3)
    with pytest.raises(TypeError, match="list is none"):
        cu.input([1, 2])
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        cu.output(a)
    with pytest.raises(ValueError, match="-1 threads"):
        cu.enqueue(increase, -1, (cu.input(a), 1.0))
    with pytest.raises(TypeError, match="int is none"):
        cu.enqueue(3, 1, ())
    with pytest.raises(ValueError, match="no setting"):
        cu.configure(_cu._Random.normal, 1)
    with pytest.raises(ValueError, match="set by configure"):
        cu.enqueue(_cu._Random.seed, 1, (cu.input(a),))
    cu.close()
    cu.close()
    with pytest.raises(ValueError, match="closed"):
        cu.wait()


@TARGETS
@pytest.mark.parametrize("name", ["f", "n", "i", "a0", "cuda", "prange", "each", "range"])
def test_functions_are_called_anything(target, name):
    """One that was called ``f`` took the place of itself: on the host nothing was done, on the device it was a recursion."""
    space: dict = {}
    exec(f"def {name}(tid, a, k):\n    a[tid] = k * tid\n", space)
    a = np.empty(4)
    with closing(CU(target)) as cu:
        cu.enqueue(space[name], 4, (cu.output(a), 2.0))
        cu.wait()
    assert a.tolist() == [0, 2, 4, 6]


@TARGETS
@pytest.mark.parametrize("compiled", [lambda f: f, treadle.njit, cuda.jit, cuda.jit(device=True)])
def test_functions_without_a_name_and_compiled_ones(target, compiled):
    a = np.empty(4)
    with closing(CU(target)) as cu:
        cu.enqueue(compiled(lambda tid, a: square(tid, a)), 4, (cu.output(a),))
        cu.wait()
    assert a.tolist() == [0, 1, 4, 9]


def square(tid, a):
    a[tid] = tid * tid


def test_names_of_units():
    text = """
from numbapro import CU
from numbapro.parallel.kernel import CU as again, builtins
import numbapro.parallel.kernel.builtins as inside
assert CU is again and inside.random is builtins.random
print(builtins.random.seed)
"""
    assert "random.seed" in printed(text)
