"""What holds for every Python test.

The verifier and the round trip through text run after each pass (TREADLE_VERIFY). NumPy 1.26 is asked for the promotion
rules of NumPy 2 (NEP 50), because those are the rules compiled code follows with either.

Examples of properties are the same in every run, so that a test fails for a change and not by chance. TREADLE_RANDOM=1 looks for new ones,
TREADLE_EXAMPLES=3 takes a third of them. TREADLE_SLICE=2 takes half of the tests, TREADLE_SLICE=2:1 the other one. Some run in quick code: levels.py.
"""

from __future__ import annotations

import gc
import os
import sys
import zlib
from pathlib import Path

import hypothesis
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import levels  # noqa: E402
from sizes import examples  # noqa: E402

hypothesis.settings.register_profile("same", derandomize=True, max_examples=examples(100))
if not os.environ.get("TREADLE_RANDOM"):
    hypothesis.settings.load_profile("same")

for _name in (
    "TREADLE_TALLY",
    "TREADLE_NOTES",
):  # of a run of continuous integration: tests of the tools would add to them
    os.environ.pop(_name, None)
os.environ.setdefault("TREADLE_CUDA", "emu")  # whatever the machine has; `make test-gpu` says gpu
os.environ.setdefault("TREADLE_CUDA_WARN", "0")  # kernels of tests are small
os.environ.setdefault("TREADLE_VERIFY", "1")  # read when treadle is first imported; subprocesses inherit it

if np.lib.NumpyVersion(np.__version__) < "2.0.0":
    np._set_promotion_state("weak")

import treadle  # noqa: E402
import treadle.config  # noqa: E402
from treadle import _core  # noqa: E402


def pytest_collection_modifyitems(config, items):
    """Takes a slice of the tests, the same in every run; by their names, so that no parameter is always left out."""
    slices, which = map(int, (os.environ.get("TREADLE_SLICE", "1") + ":0").split(":")[:2])
    kept, left = [], []
    for item in items:
        (left if zlib.crc32(item.nodeid.encode()) % slices != which else kept).append(item)
    items[:] = kept
    if left:
        config.hook.pytest_deselected(items=left)


def pytest_report_header():
    return levels.said()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    """A test and its fixtures have one level, in this process and in those that it starts."""
    level = 2 if levels.is_full(item.nodeid) else 0
    before = treadle.config.OPT_LEVEL, os.environ.get("TREADLE_OPT_LEVEL")
    if level < before[0]:
        treadle.config.OPT_LEVEL = level
        os.environ["TREADLE_OPT_LEVEL"] = str(level)
    try:
        return (yield)
    finally:
        treadle.config.OPT_LEVEL = before[0]
        if before[1] is None:
            os.environ.pop("TREADLE_OPT_LEVEL", None)
        else:
            os.environ["TREADLE_OPT_LEVEL"] = before[1]


def pytest_collection_finish():
    """The collected tests stay to the end: Python's collector need not look at 10,000 of them again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(params=sorted({1, treadle.get_num_threads()}))
def threads(request):
    """Runs a test on one thread and on all."""
    before = treadle.get_num_threads()
    treadle.set_num_threads(request.param)
    yield request.param
    treadle.set_num_threads(before)


EMULATED = (
    treadle.config.CUDA != "gpu"
)  # else all tests of kernels run on a GPU, or on what stands for one (fake_gpu.py)


def pytest_configure(config):
    # Where assertions are to be on (`make debug`, and under the sanitizers, by which CI runs them), they are.
    if os.environ.get("TREADLE_ASSERTS") and not _core._asserts():
        pytest.exit("TREADLE_ASSERTS is set, and the assertions of this build are off", returncode=1)
    config.addinivalue_line(
        "markers", "emulated: what only the emulated device does, or what the host does with its memory"
    )


def pytest_runtest_setup(item):
    if not EMULATED and item.get_closest_marker("emulated"):
        pytest.skip("of the emulated device")


@pytest.fixture(autouse=True)
def _a_gpu_lives_on():
    """A test that ends a GPU's context is the one that fails: the others begin in a new process."""
    yield
    if EMULATED:
        return
    from treadle import cuda

    try:
        while True:
            try:
                cuda.synchronize()
                return
            except cuda.cudadrv.driver.CudaAPIError:
                raise
            except Exception:  # what a kernel raised, and the test did not look for
                continue
    except cuda.cudadrv.driver.CudaAPIError as error:
        print(f"the GPU's context has ended: {error}", file=sys.stderr, flush=True)
        os._exit(70)
