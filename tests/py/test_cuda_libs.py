"""CUDA's libraries: where they are found, what is said where one is not, and that each call of one that fails is one exception after which all goes on. The library is one that is none
(tests/fake/cufft.c); its table is compared with NVIDIA's own header, and with the library, where a toolkit is."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from built import CUBLAS, CUFFT
from cuda_rows import ROOT, alike, exports, header, rows, with_header, with_library
from fake_gpu import RAISES, start
from treadle import cuda
from treadle.cuda import _libs, libs
from treadle.cuda._errors import CudaAPIError, LibraryError
from treadle.cuda._libs import LIBRARIES


def run(code, **env):
    r = start(RAISES + HEAD + code, **env)
    assert not r.returncode, r.stderr
    return r.stdout


HEAD = """
import ctypes, gc, os
import numpy as np
from treadle import cuda
from treadle.cuda import libs
from treadle.cuda.fft import FFTPlan, fft, fft_inplace, ifft
from treadle.cuda import fft as module
driver, cufft = ctypes.CDLL(os.environ["TREADLE_CUDA_DRIVER"]), None

def library():
    global cufft
    cufft = ctypes.CDLL(os.environ["TREADLE_CUDA_LIBS"].split(":")[0])
    return cufft
"""


# --- failures ---

FAILING = """
library()
PAIRS = {np.complex64: np.float32, np.complex128: np.float64}
x = np.arange(24).reshape(4, 6)

def kinds():
    for c, r in PAIRS.items():
        yield c, c, False
        yield c, c, True
        yield r, c, False
        yield c, r, True

def transform(i, o, inverse, stream):
    ary = x[:, :4] if np.dtype(o).kind == "f" else x
    plan = FFTPlan(ary.shape, i, o, stream=stream)
    d = cuda.to_device(ary.astype(i))
    out = cuda.device_array(plan.oshape, o)
    (plan.inverse if inverse else plan.forward)(d, out)
    if stream:
        stream.synchronize()
    return out.copy_to_host()

def alive():
    module._plans.made.clear()
    gc.collect()
    cuda.synchronize()
    return cufft.fake_cufft_alive(), driver.fake_alive()

streams = [0, cuda.stream()]
wants = {(i, o, n): transform(i, o, n, 0) for i, o, n in kinds()}
for i, o, n in kinds():
    for _ in range(30):  # a stream has an event of its own after a while
        transform(i, o, n, streams[1])
before = alive()
symbols = [line.split('"')[1] for line in open(TABLE) if line.startswith("X(")]
failed = set()
for i, o, n in kinds():
    for stream in streams:
        for symbol in symbols:
            module._plans.made.clear()
            cufft.fake_cufft_fail(symbol.encode(), 1, 5)
            try:
                got = transform(i, o, n, stream)
            except libs.LibraryError as error:
                failed.add(symbol)
                assert (error.library, error.code, error.name) == ("cuFFT", 5, "CUFFT_INTERNAL_ERROR"), error
                assert str(error) == f"[5] cuFFT: {symbol}: CUFFT_INTERNAL_ERROR", error
                assert symbol != "cufftDestroy"
            else:
                assert (got == wants[i, o, n]).all()
            cufft.fake_cufft_fail(None, 0, 0)
            for s in streams:  # each goes on
                assert (transform(i, o, n, s) == wants[i, o, n]).all(), (symbol, i, o)
cufft.fake_cufft_fail(b"cufftGetVersion", 1, 1)
raises(libs.LibraryError, "cufftGetVersion: CUFFT_INVALID_PLAN", module.version)
assert module.version() == 11200
missed = set(symbols) - failed - {"cufftDestroy", "cufftGetVersion"}
assert not missed, missed
assert alive() == before
transform(complex, complex, False, 0)
cufft.fake_cufft_fail(b"cufftDestroy", 1, 5)  # nobody is told: what cuFFT would not give back is its own
assert alive() == (before[0] + 1, before[1])
transform(complex, complex, False, 0)
cufft.fake_cufft_fail(b"cufftCreate", 1, 77)
raises(libs.LibraryError, "[77] cuFFT: cufftCreate: an unknown status", FFTPlan, (9,), complex, complex)
print("done")
"""


def test_every_call_fails_once():
    table = ROOT / "src" / "dev" / "cufft.def"
    code = FAILING.replace("TABLE", repr(str(table)))
    assert run(code).strip() == "done"


def test_the_drivers_own_calls_fail_once():
    out = run("""
library()
d = cuda.to_device(np.arange(8).astype(complex))
o = cuda.device_array(8, complex)
s = cuda.stream()
fft(d, o); fft(d, o, s); s.synchronize()
want = o.copy_to_host()
for symbol in (b"cuCtxSetCurrent", b"cuMemAlloc_v2", b"cuMemAllocAsync", b"cuMemFreeAsync", b"cuStreamQuery"):
    for stream in (0, s):
        driver.fake_fail(symbol, 1, 1)
        try:
            fft(d, o, stream)
            cuda.synchronize()
        except (cuda.cudadrv.driver.CudaAPIError, MemoryError) as error:
            pass
        driver.fake_fail(None, 0, 0)
        fft(d, o, stream)
        cuda.synchronize()
        assert (o.copy_to_host() == want).all()
print("done")
""")
    assert out.strip() == "done"


def test_one_plan_has_a_part_on_each_gpu():
    out = run(
        """
library()
plan = FFTPlan((4,), complex, complex)
want = np.fft.fft(np.arange(4))
for number in (0, 1, 0):
    with cuda.gpus[number]:
        d = cuda.to_device(np.arange(4).astype(complex))
        plan.forward(d, d)
        assert np.allclose(d.copy_to_host(), want)
assert cufft.fake_cufft_calls(b"cufftCreate") == 2 and cufft.fake_cufft_alive() == 2
with cuda.gpus[1]:  # a stream of the other one says where
    s = cuda.stream()
    d = cuda.to_device(np.arange(4).astype(complex))
plan.stream = s
plan.forward(d, d)
s.synchronize()
assert np.allclose(d.copy_to_host(), want)
del plan
module._plans.made.clear()
gc.collect()
assert cufft.fake_cufft_alive() == 0
print("done")
""",
        TREADLE_FAKE_GPUS="90,80",
    )
    assert out.strip() == "done"


def test_after_a_fork_nothing_is_used():
    out = run("""
library()
d = cuda.to_device(np.arange(8).astype(complex))
plan = FFTPlan((8,), complex, complex)
plan.forward(d, d)
pid = os.fork()
if pid == 0:
    try:
        plan.forward(d, d)
    except RuntimeError as error:
        plan = None
        module._plans.made.clear()
        os._exit(0 if "before a fork" in str(error) and cufft.fake_cufft_alive() == 1 else 2)
    os._exit(1)
assert os.waitpid(pid, 0)[1] == 0
plan.forward(d, d)
print("done")
""")
    assert out.strip() == "done"


def test_threads_end_with_plans():
    out = run("""
import threading
library()
def work():
    d = cuda.to_device(np.arange(8).astype(complex))
    fft_inplace(d)
for _ in range(3):
    t = threading.Thread(target=work)
    t.start()
    t.join()
gc.collect()
assert cufft.fake_cufft_alive() == 0, cufft.fake_cufft_alive()
print("done")
""")
    assert out.strip() == "done"


def test_what_a_plan_overwrites_is_a_copy():
    out = run("""
library()
x = np.fft.rfft2(np.arange(24.0).reshape(4, 6))
d = cuda.to_device(x)
o = cuda.device_array((4, 6))
ifft(d, o)
assert (d.copy_to_host() == x).all() and np.allclose(o.copy_to_host(), 24 * np.arange(24).reshape(4, 6))
print("done")
""")
    assert out.strip() == "done"


def test_nothing_is_allocated_twice_on_a_stream_that_goes_on():
    """The area comes from the pool, and goes there: many transforms take no more memory than few."""
    out = run("""
library()
d, s = cuda.to_device(np.arange(64).astype(complex)), cuda.stream()
plan = FFTPlan((64,), complex, complex, stream=s)
for _ in range(100):  # a stream has an event of its own after a while
    plan.forward(d, d)
s.synchronize()
before = driver.fake_alive()
for _ in range(200):
    plan.forward(d, d)
    s.synchronize()
assert driver.fake_alive() == before
print("done")
""")
    assert out.strip() == "done"


# --- where it lies ---

MISSING = """
try:
    fft_inplace(np.ones(4, complex))
except cuda.cudadrv.error.CudaSupportError as error:
    print(error)
assert not np.isnan(cuda.to_device(np.ones(3)).copy_to_host()).any()
"""


def test_a_library_that_is_not_one(tmp_path):
    said = run(MISSING, TREADLE_CUDA_LIBS=str(tmp_path / "libcufft.so.11"))
    assert said.startswith(f"cuFFT cannot be used: {tmp_path}/libcufft.so.11: cannot open")
    assert "pip install nvidia-cufft (165 MB)" in said and "TREADLE_CUDA=emu needs none" in said
    empty = tmp_path / "empty.c"
    empty.write_text("int unused;\n")
    subprocess.run(["cc", "-shared", "-o", str(tmp_path / "libcufft.so.11"), str(empty)], check=True)
    said = run(MISSING, TREADLE_CUDA_LIBS=str(tmp_path))
    assert "libcufft.so.11 has no cufftGetVersion, so it is none" in said


def test_a_folder_is_enough(tmp_path):
    for lib, name in ((CUFFT, "libcufft.so.12"), (CUBLAS, "libcublas.so.13")):
        shutil.copy(lib, tmp_path / name) if lib else pytest.skip("no build")
    out = run(
        "print(libs.found(), fft(np.ones(2, complex), np.empty(2, complex)), libs.test())",
        TREADLE_CUDA_LIBS=f"/nowhere:{tmp_path}",
    )
    assert f"'{tmp_path}/libcufft.so.12'" in out and f"cuFFT: {tmp_path}/libcufft.so.12 (open)\n" in out
    assert "] True" in out


def test_places_in_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr(
        _libs.config, "CUDA_LIBS", f"{tmp_path}/a:{tmp_path}/x/libfake_cufft.so:{tmp_path}/x/other.so"
    )
    monkeypatch.setattr(_libs.sys, "path", [str(tmp_path / "site-packages")])
    monkeypatch.setenv("CONDA_PREFIX", str(tmp_path / "conda"))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    monkeypatch.setattr(_libs, "_loaded", lambda names: [f"/loaded/{names[0]}"])
    made = [
        "a/libcufft.so.11", "site-packages/nvidia/cu13/lib/libcufft.so.12", "site-packages/nvidia/cufft/lib/libcufft.so.11",
        "conda/lib/libcufft.so.12", "toolkit/lib64/libcufft.so.11",
    ]  # fmt: skip
    for name in made:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    a, wheel, old, conda, toolkit = (str(tmp_path / name) for name in made)
    given = [a, f"{tmp_path}/x/libfake_cufft.so"]
    newest = [p for p in _libs.candidates("cuFFT") if p.startswith(str(tmp_path))]
    assert newest == [*given, wheel, conda, old, toolkit]
    assert [p for p in _libs.candidates("cuFFT", 12) if p.startswith(str(tmp_path))] == [*given, old, toolkit]
    assert _libs.candidates("cuFFT", 12)[2] == "/loaded/libcufft.so.11"
    assert _libs.candidates("cuFFT", 12)[-1] == "libcufft.so.11"


def test_what_is_loaded_is_found():
    import ctypes.util

    path = ctypes.util.find_library("m")
    ctypes.CDLL(path)
    assert any(p.endswith(path) for p in _libs._loaded([path]))
    assert _libs._loaded(["libnone.so.1"]) == []


def test_a_library_for_a_newer_driver(monkeypatch):
    monkeypatch.setattr(_libs, "candidates", lambda name, newest=99: [__file__] if newest > 12 else [])
    said = _libs._missing(LIBRARIES["cuFFT"], 12, [])
    assert said.startswith(
        f"cuFFT is here for a newer CUDA than the driver's 12 ({__file__}): pip install nvidia-cufft-cu12"
    )
    monkeypatch.setattr(_libs, "candidates", lambda name, newest=99: [])
    assert _libs._missing(LIBRARIES["cuFFT"], 13, []).startswith(
        "cuFFT is not here: pip install nvidia-cufft"
    )


def test_the_emulated_device_needs_none(capsys, monkeypatch):
    monkeypatch.setattr(libs, "is_emulated", lambda: True)
    assert cuda.cudadrv.libs.test is libs.test
    assert libs.test() is True
    assert "the emulated device needs none" in capsys.readouterr().out


def test_the_error():
    error = LibraryError("cuFFT", 6, "CUFFT_EXEC_FAILED", "cufftExecC2C")
    assert isinstance(error, CudaAPIError) and (error.code, error.library, error.name) == (
        6,
        "cuFFT",
        "CUFFT_EXEC_FAILED",
    )
    assert str(error) == "[6] cuFFT: cufftExecC2C: CUFFT_EXEC_FAILED"


# --- the tables ---


@with_header("cufft.h")
def test_rows_have_the_parameters_of_nvidias_header(tmp_path, includes):
    listed = rows("cufft.def")
    assert len(listed) == 13
    r = alike(tmp_path, includes, "cufft.h", listed)
    assert not r.returncode, r.stderr
    few = [(symbol, params.replace(", int direction", "")) for symbol, params in listed]
    r = alike(tmp_path, includes, "cufft.h", few)
    assert r.returncode and "cufftExecC2C" in r.stderr and "cufftExecR2C" not in r.stderr
    narrow = [(symbol, params.replace("long long batch", "int batch")) for symbol, params in listed]
    assert "cufftMakePlanMany64" in alike(tmp_path, includes, "cufft.h", narrow).stderr


@with_header("cufft.h")
def test_statuses_have_the_names_of_nvidias_header(includes):
    theirs = {
        name: int(n, 16)
        for name, n in re.findall(
            r"^\s*(CUFFT_\w+)\s*=\s*(0x[0-9A-Fa-f]+),?$", header(includes, "cufft.h"), re.M
        )
    }
    text = (ROOT / "src" / "dev" / "statuses.def").read_text()
    ours = {name: int(n) for n, name in re.findall(r'^X\(CUFFT, (\d+), "(\w+)"\)$', text, re.M)}
    known = {name: n for name, n in theirs.items() if n and n < 0x20 and name in ours}
    assert len(known) > 15 and all(ours[name] == n for name, n in known.items())
    assert {n for n in theirs.values() if 0 < n < 0x20} - {1} <= {*ours.values()}


@with_library("cuFFT")
def test_the_library_exports_all_rows(library):
    symbols = [symbol for symbol, _ in rows("cufft.def")]
    assert exports(library, [*symbols, "cufftNoSuchFunction"]) == ["cufftNoSuchFunction"]


def test_the_library_that_is_none_exports_all_rows():
    text = (ROOT / "tests" / "fake" / "cufft.c").read_text()
    assert {*re.findall(r"^EXPORT int (cufft\w+)\(", text, re.M)} == {
        symbol for symbol, _ in rows("cufft.def")
    }
