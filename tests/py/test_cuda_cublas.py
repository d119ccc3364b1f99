"""cuBLAS as it is called: by a library that is none (tests/fake/cublas.c), where each call that fails is one exception after which all goes on; the table of routines is compared with NVIDIA's own headers, and
with the library, where a toolkit is."""

from __future__ import annotations

import re

import pytest
from cuda_rows import ROOT, alike, exports, header, rows, with_header, with_library
from fake_gpu import RAISES, start
from treadle.cuda.blas._calls import table


def run(code, **env):
    r = start(RAISES + HEAD + code, **env)
    assert not r.returncode, r.stderr
    return r.stdout.strip()


HEAD = """
import ctypes, gc, os, threading, time
import numpy as np
from treadle import cuda
from treadle.cuda import libs
from treadle.cuda import blas as module
from treadle.cuda.blas import Blas, dot, gemm
from treadle.cuda.blas._calls import table
from treadle.cuda.blas.binding import cuBlas
driver = ctypes.CDLL(os.environ["TREADLE_CUDA_DRIVER"])
cublas = ctypes.CDLL(os.environ["TREADLE_CUDA_LIBS"].split(":")[-1])

def alive_is(n):  # a thread that was joined gives its handles back a little later
    end = time.monotonic() + 30
    while cublas.fake_cublas_alive() != n and time.monotonic() < end:
        time.sleep(0.001)
    return cublas.fake_cublas_alive() == n
"""

# --- failures ---

FAILING = """
streams = [0, cuda.stream()]
KINDS = {"op": "N", "uplo": "U", "side": "L", "diag": "N", "size": 2, "number": 2.0, "real": 2.0, "changed": 2.0, "five": np.array([-1.0, 1, 2, 3, 4]), "ld": 5, "inc": 1}

def call(blas, words, dtype, name):
    args, made = [], []
    for word, kind, use, _ in words:
        if kind in ("matrix", "vector", "packed"):
            made.append(cuda.to_device(np.ones(10, dtype)))
            args.append(made[-1])
        elif kind in KINDS:
            args.append(KINDS[kind])
    return getattr(blas, name)(*args), made

def state(result, made):
    if blas.stream:
        blas.stream.synchronize()
    return [result.tolist() if hasattr(result, "tolist") else result] + [a.copy_to_host().tolist() for a in made]

blas, tried = cuBlas(), 0
def alive():
    gc.collect()
    cuda.synchronize()
    return cublas.fake_cublas_alive(), driver.fake_alive()

for _, _, words, variants in table():
    for name, symbol, dtype, _, other in variants:
        if other:
            continue
        for blas.stream in streams:
            for _ in range(2):
                want = state(*call(blas, words, dtype, name))
            for _ in range(100 if name == "Snrm2" else 0):  # a stream has an event of its own after a while
                call(blas, words, dtype, name)
            before = alive()
            for what in (symbol, "cublasSetWorkspace_v2"):
                cublas.fake_cublas_fail(what.encode(), 1, 14)
                try:
                    call(blas, words, dtype, name)
                except libs.LibraryError as error:
                    assert (error.library, error.code, error.name) == ("cuBLAS", 14, "CUBLAS_STATUS_INTERNAL_ERROR"), error
                    assert str(error) == f"[14] cuBLAS: {what}: CUBLAS_STATUS_INTERNAL_ERROR", error
                    tried += 1
                else:
                    raise AssertionError(f"{what} did not fail")
                assert state(*call(blas, words, dtype, name)) == want, (symbol, what)
            assert alive() == before, (symbol, alive(), before)
print(tried)
"""


def test_every_routine_fails_once():
    functions = [v for row in table() for v in row[3] if not v[4]]
    assert int(run(FAILING)) == len(functions) * 2 * 2


def test_what_is_beside_routines_fails_once():
    out = run("""
x = cuda.to_device(np.arange(4.0))
s = cuda.stream()
blas = Blas()
def failing(symbol, status, name, call):
    cublas.fake_cublas_fail(symbol, 1, status)
    raises(libs.LibraryError, f"[{status}] cuBLAS: {symbol.decode()}: {name}", call)
    assert blas.nrm2(x) == np.sqrt(14)
failing(b"cublasCreate_v2", 3, "CUBLAS_STATUS_ALLOC_FAILED", lambda: blas.nrm2(x))
failing(b"cublasSetWorkspace_v2", 7, "CUBLAS_STATUS_INVALID_VALUE", lambda: blas.nrm2(x))
blas.stream = s
failing(b"cublasSetStream_v2", 1, "CUBLAS_STATUS_NOT_INITIALIZED", lambda: blas.nrm2(x))
blas.atomics_mode = 1
failing(b"cublasSetAtomicsMode", 77, "an unknown status", lambda: blas.nrm2(x))
assert cublas.fake_cublas_atomics() == 1
blas.atomics_mode = 0
blas.asum(x)
assert cublas.fake_cublas_atomics() == 0
failing(b"cublasGetVersion_v2", 1, "CUBLAS_STATUS_NOT_INITIALIZED", module.version)
assert module.version() == cuBlas().version == 130000
assert cublas.fake_cublas_alive() == cublas.fake_cublas_calls(b"cublasCreate_v2") - 1 == 1
print("done")
""")
    assert out == "done"


def test_the_drivers_own_calls_fail_once():
    out = run("""
x, y = cuda.to_device(np.arange(8.0)), cuda.to_device(np.arange(8.0))
s = cuda.stream()
for blas in (Blas(), Blas(s)):
    assert blas.dot(x, y) == 140
    for symbol in (b"cuCtxSetCurrent", b"cuMemAlloc_v2", b"cuMemAllocAsync", b"cuMemFreeAsync", b"cuStreamQuery", b"cuStreamSynchronize"):
        driver.fake_fail(symbol, 1, 1)
        try:
            blas.dot(x, y)
            cuda.synchronize()
        except (cuda.cudadrv.driver.CudaAPIError, MemoryError):
            pass
        driver.fake_fail(None, 0, 0)
        assert blas.dot(x, y) == 140
print("done")
""")
    assert out == "done"


# --- handles ---


def test_a_thread_has_a_handle_for_each_gpu():
    out = run(
        """
def work():
    for number in (0, 1, 0):
        with cuda.gpus[number]:
            d = cuda.to_device(np.arange(4.0))
            assert Blas().nrm2(d) == np.sqrt(14) and cuBlas().Dnrm2(4, d, 1) == np.sqrt(14) == np.sqrt(dot(d, d))
work()
assert cublas.fake_cublas_alive() == 2
with cuda.gpus[1]:  # a stream of the other one says where
    s = cuda.stream()
    d = cuda.to_device(np.arange(4.0))
assert Blas(s).asum(d) == 6 and cublas.fake_cublas_alive() == 2
for _ in range(3):
    t = threading.Thread(target=work)
    t.start()
    t.join()
assert alive_is(2) and cublas.fake_cublas_calls(b"cublasCreate_v2") == 8
blas = Blas()
t = threading.Thread(target=lambda: blas.asum(d) == 6)  # another thread has its own, also for the same object
t.start()
t.join()
assert alive_is(2)
print("done")
""",
        TREADLE_FAKE_GPUS="90,80",
    )
    assert out == "done"


def test_the_same_stream_is_said_once():
    out = run("""
d, s = cuda.to_device(np.ones(4)), cuda.stream()
blas = Blas(s)
before = cublas.fake_cublas_calls(b"cublasSetStream_v2")
for _ in range(10):
    blas.scal(2.0, d)
s.synchronize()
assert cublas.fake_cublas_calls(b"cublasSetStream_v2") == before + 1
assert cublas.fake_cublas_calls(b"cublasSetAtomicsMode") == 0
for _ in range(100):  # a stream has an event of its own after a while
    blas.scal(1.0, d)
s.synchronize()
before = driver.fake_alive()
for _ in range(200):
    blas.scal(1.0, d)
    s.synchronize()
assert driver.fake_alive() == before
print("done")
""")
    assert out == "done"


def test_after_a_fork_nothing_is_used():
    out = run("""
d = cuda.to_device(np.ones(4))
blas = Blas()
blas.scal(2.0, d)
pid = os.fork()
if pid == 0:
    try:
        blas.scal(2.0, d)
    except RuntimeError as error:
        os._exit(0 if "before a fork" in str(error) and cublas.fake_cublas_alive() == 1 else 2)
    os._exit(1)
assert os.waitpid(pid, 0)[1] == 0
blas.scal(2.0, d)
assert (d.copy_to_host() == 4).all()
print("done")
""")
    assert out == "done"


def test_arrays_of_the_host_go_there_and_back():
    out = run("""
a = np.asfortranarray(np.arange(6.0).reshape(2, 3))
c = np.zeros((2, 2), order="F")
for s in (0, cuda.stream()):
    c[...] = 0
    Blas(s).gemm("N", "T", 2, 2, 3, 1.0, a, a, 0.0, c)
    assert (c == a @ a.T).all()
part = np.zeros((4, 4), order="F")  # only its own items come back
Blas().gemm("N", "T", 2, 2, 3, 1.0, a, a, 0.0, part[1:3, 1:3])
assert (part[1:3, 1:3] == a @ a.T).all() and part.sum() == (a @ a.T).sum()
raises(ValueError, "Dnrm2's x is the host's", cuBlas().Dnrm2, 3, np.ones(3), 1)
x = np.ones(5, complex)  # items that lie at no multiple of their size are copies, too
d = cuda.to_device(np.ones(10))
odd = d[1:9].view(complex) if hasattr(d, "view") else None
assert Blas().asum(odd) == 8
print("done")
""")
    assert out == "done"


def test_nothing_is_here():
    out = start(
        "from treadle import cuda\nfrom treadle.cuda.blas import Blas\n"
        "try:\n    Blas()\nexcept cuda.cudadrv.error.CudaSupportError as error:\n    print(error)\n",
        TREADLE_CUDA_LIBS="/nowhere/libcublas.so.12",
    ).stdout
    assert (
        "cuBLAS cannot be used: /nowhere/libcublas.so.12" in out
        and "pip install nvidia-cublas (444 MB)" in out
    )


# --- the tables ---


@with_header("cublas_v2.h")
def test_rows_have_the_parameters_of_nvidias_header(tmp_path, includes):
    listed = rows("cublas.def")
    assert len(listed) == 6
    r = alike(tmp_path, includes, "cublas_v2.h", listed)
    assert not r.returncode, r.stderr
    few = [(symbol, params.replace(", size_t bytes", "")) for symbol, params in listed]
    assert "cublasSetWorkspace_v2" in alike(tmp_path, includes, "cublas_v2.h", few).stderr


WORDS = {
    "op": "int",
    "uplo": "int",
    "side": "int",
    "diag": "int",
    "size": "int64_t",
    "ld": "int64_t",
    "inc": "int64_t",
}


def routines():
    """Symbol and parameters of each variant."""
    return [
        (symbol, ", ".join(["void *", *(WORDS.get(kind, "void *") for _, kind, _, _ in words)]))
        for _, _, words, variants in table()
        for _, symbol, _, _, other in variants
        if not other
    ]


@with_header("cublas_v2.h")
def test_routines_have_the_parameters_of_nvidias_header(tmp_path, includes):
    listed = routines()
    assert len(listed) == 150
    r = alike(tmp_path, includes, "cublas_v2.h", listed)
    assert not r.returncode, r.stderr[:3000]
    wrong = [(symbol, params.replace("int64_t", "int", 1)) for symbol, params in listed]
    r = alike(tmp_path, includes, "cublas_v2.h", wrong)
    assert {*re.findall(r"cublas\w+_64", r.stderr)} >= {
        "cublasSgemm_v2_64",
        "cublasZgeam_64",
        "cublasDnrm2_v2_64",
    }


ELEMENT = {"float32": "float", "float64": "double", "complex64": "cuComplex", "complex128": "cuDoubleComplex"}
REAL = {"float32": "float", "float64": "double", "complex64": "float", "complex128": "double"}


@with_header("cublas_api.h")
def test_words_have_the_names_and_types_of_nvidias_header(includes):
    """In that order: what the compiler cannot see of parameters that are alike."""
    text = header(includes, "cublas_api.h")
    seen = 0
    for _, _, words, variants in table():
        for _, symbol, dtype, real, other in variants:
            (params,) = {re.sub(r"\s+", " ", p) for p in re.findall(rf"\b{symbol}\s*\(([^;]*?)\);", text)}
            theirs = [p.split("/*")[0].strip() for p in params.split(",")][1:]
            names = [re.search(r"(\w+)$", p)[1] for p in theirs]
            assert names == ["mode" if w == "side" and "dgmm" in symbol else w for w, *_ in words], symbol
            for (word, kind, use, _), param in zip(words, theirs):
                if kind in WORDS:
                    want = {
                        "op": "cublasOperation_t",
                        "uplo": "cublasFillMode_t",
                        "side": "cublasSideMode_t",
                        "diag": "cublasDiagType_t",
                    }
                    assert param.startswith(want.get(kind, "int64_t ")), (symbol, param)
                    continue
                is_real = (
                    kind in ("real", "given real", "five", "given five")
                    or (real and kind == "number")
                    or (kind == "result" and use == 1)
                )
                of = "int64_t" if kind == "result" and use == 3 else (REAL if is_real else ELEMENT)[dtype]
                written = (
                    use == 1
                    if kind in ("matrix", "vector", "packed")
                    else kind in ("changed", "given", "given real", "given five", "result")
                )
                assert param.startswith(of if written else f"const {of}*"), (symbol, param)
                assert param.startswith("const") is not written, (symbol, param)
            seen += 1
    assert seen > 150


@with_header("cublas_api.h")
def test_statuses_have_the_names_of_nvidias_header(includes):
    text = header(includes, "cublas_api.h")
    theirs = {n: name for name, n in re.findall(r"\b(CUBLAS_STATUS_\w+)\s*=\s*(\d+)", text)}
    text = (ROOT / "src" / "dev" / "statuses.def").read_text()
    ours = dict(re.findall(r'^X\(CUBLAS, (\d+), "(\w+)"\)$', text, re.M))
    assert theirs.pop("0") == "CUBLAS_STATUS_SUCCESS" and ours == theirs


@with_library("cuBLAS")
def test_the_library_exports_all_rows(library):
    symbols = [symbol for symbol, _ in rows("cublas.def") + routines()]
    assert exports(library, [*symbols, "cublasNoSuchFunction"]) == ["cublasNoSuchFunction"]


def test_the_library_that_is_none_exports_all_rows():
    import ctypes

    from built import CUBLAS

    if not CUBLAS:
        pytest.skip("no build")
    lib = ctypes.CDLL(str(CUBLAS))
    assert not [symbol for symbol, _ in rows("cublas.def") + routines() if not hasattr(lib, symbol)]
    assert not hasattr(lib, "cublasNoSuchFunction")
