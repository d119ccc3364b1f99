"""How many blocks a multiprocessor holds, and with which it is fullest; grids of ufuncs and reductions on a GPU are chosen by it."""

from __future__ import annotations

import numpy as np
import pytest
from fake_gpu import start
from treadle import cuda, float32, int64


@cuda.jit
def scale(a, x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= a


@cuda.jit("void(float32[::1])", launch_bounds=128)
def bounded(x):
    x[cuda.grid(1)] = 1


def launched():
    """The only overload of `scale`."""
    scale[1, 4](2.0, cuda.to_device(np.ones(4, np.float32)))
    (d,) = scale.overloads.values()
    return d


HAS = cuda.get_current_device()
MANY = HAS.MULTIPROCESSOR_COUNT


@pytest.mark.parametrize(
    "block, nbytes, blocks",
    [
        (32, 0, 32),
        (1, 0, 32),
        (64, 0, 32),
        (65, 0, 21),  # three warps each
        ((8, 8, 2), 0, 16),
        ([1024], 0, 2),
        (96, 0, 21),
        (64, 60 << 10, 3),
        (64, 227 << 10, 1),
    ],
)
def test_blocks_that_a_multiprocessor_holds(block, nbytes, blocks):
    """By the limits of compute capability 9.0, which the emulated device and the fake one have; a GPU's own are its driver's."""
    d = launched()
    assert d.active_blocks_per_multiprocessor(block, nbytes) == blocks
    assert scale.get_active_blocks_per_multiprocessor(block, nbytes, signature=d.signature) == blocks
    assert scale.get_active_blocks_per_multiprocessor(block, nbytes) == {d.signature: blocks}
    assert d.max_cooperative_grid_blocks(block, nbytes) == blocks * MANY
    assert cuda.current_context().get_active_blocks_per_multiprocessor(d, block, nbytes) == blocks


@pytest.mark.parametrize(
    "nbytes, limit, want",
    [
        (0, 0, (2, 1024)),
        (0, 1024, (2, 1024)),
        (0, 5000, (2, 1024)),
        (0, 256, (8, 256)),
        (0, 300, (8, 256)),  # 2,048 threads; six blocks of 300 are 1,800
        (0, 100, (32, 64)),
        (0, 1, (32, 1)),
        (0, 31, (32, 31)),
        (100 << 10, 0, (2, 1024)),
        (100 << 10, 512, (2, 512)),
        (200 << 10, 0, (1, 1024)),
    ],
)
def test_the_size_of_a_block(nbytes, limit, want):
    d = launched()
    want = want[0] * MANY, want[1]
    assert d.max_potential_block_size(nbytes, limit) == want
    assert d.max_potential_block_size(lambda threads: nbytes, limit) == want
    assert scale.get_max_potential_block_size(nbytes, limit, d.signature) == want
    assert scale.get_max_potential_block_size(nbytes, blocksizelimit=limit) == {d.signature: want}
    context = cuda.current_context()
    assert context.get_max_potential_block_size(scale, 0, nbytes, limit) == want
    assert context.get_max_potential_block_size(d, None, nbytes, limit) == want


def test_shared_memory_by_the_size_of_a_block():
    """Each thread has so many bytes, so the block is as large as there is room."""
    d = launched()
    asked = []

    def bytes_of(threads):
        asked.append(threads)
        return threads * 512

    blocks, threads = d.max_potential_block_size(bytes_of)
    assert asked[0] == 1024 and {n % 32 for n in asked} == {0} and asked == sorted(asked, reverse=True)
    fullest = max(
        n * min(32, 2048 // n, (228 << 10) // (n * 512 + 1024)) for n in asked if n * 512 <= 227 << 10
    )
    assert threads * blocks == fullest * MANY
    assert blocks == d.active_blocks_per_multiprocessor(threads, threads * 512) * MANY
    assert cuda.current_context().get_max_potential_block_size(d, bytes_of, 0, 128) == (13 * MANY, 32)
    assert d.max_potential_block_size(lambda threads: 1 << 20 if threads > 64 else 0) == (32 * MANY, 64)


def test_launch_bounds():
    """On the fake GPU a kernel may have 1,024 threads, whatever it says."""
    (d,) = bounded.overloads.values()
    if cuda.is_emulated():
        assert d.max_potential_block_size() == (16 * MANY, 128)
        assert d.max_potential_block_size(0, 64) == (32 * MANY, 64)
    specialized = scale.specialize(2.0, np.ones(4, np.float32))
    assert specialized.get_max_potential_block_size() == (2 * MANY, 1024)
    assert specialized.get_active_blocks_per_multiprocessor(512) == 4


@pytest.mark.parametrize(
    "wrong, error, said",
    [
        (lambda d: d.active_blocks_per_multiprocessor(0), ValueError, "a block of 0 threads"),
        (lambda d: d.active_blocks_per_multiprocessor((-1, -32)), ValueError, "one to three sizes"),
        (lambda d: d.active_blocks_per_multiprocessor((1, 2, 3, 4)), ValueError, "one to three sizes"),
        (lambda d: d.active_blocks_per_multiprocessor(1025), ValueError, "takes 1 to 1024"),
        (lambda d: d.active_blocks_per_multiprocessor((32, -1)), ValueError, "a block of -32 threads"),
        (lambda d: d.active_blocks_per_multiprocessor(32, -1), ValueError, "-1 bytes"),
        (lambda d: d.active_blocks_per_multiprocessor(32, 1 << 20), ValueError, "a block has 0 to 232448"),
        (lambda d: d.active_blocks_per_multiprocessor(1.5), TypeError, None),
        (lambda d: d.active_blocks_per_multiprocessor(32, 1.5), TypeError, None),
        (lambda d: d.max_potential_block_size(-1), ValueError, "-1 bytes"),
        (lambda d: d.max_potential_block_size(0, -1), ValueError, "-1 threads at most"),
        (lambda d: d.max_potential_block_size(0, 2.0), TypeError, None),
        (lambda d: d.max_potential_block_size("0"), TypeError, None),
        (lambda d: d.max_potential_block_size(lambda n: -n), ValueError, "-1024 bytes"),
        (lambda d: d.max_potential_block_size(lambda n: 1 << 20), ValueError, "more dynamic shared memory"),
        (lambda d: d.max_potential_block_size(lambda n: 1 // 0), ZeroDivisionError, None),
        (lambda d: scale.get_max_potential_block_size(signature=(int64,)), KeyError, "not compiled"),
        (
            lambda d: scale.get_active_blocks_per_multiprocessor(32, signature=(float32, int64)),
            KeyError,
            "not compiled",
        ),
        (lambda d: cuda.current_context().get_max_potential_block_size(3, 0, 0, 0), TypeError, "not int"),
        (
            lambda d: cuda.current_context().get_active_blocks_per_multiprocessor(scale, 0, 0),
            ValueError,
            "a block of 0",
        ),
    ],
)
def test_what_is_no_block(wrong, error, said):
    with pytest.raises(error, match=said):
        wrong(launched())


def test_a_kernel_of_no_signature_or_several():
    @cuda.jit
    def k(x):
        x[0] = 1

    ask = cuda.current_context().get_max_potential_block_size
    assert k.get_max_potential_block_size() == {}
    with pytest.raises(ValueError, match="has 0 signatures"):
        ask(k, 0, 0, 0)
    k[1, 1](np.zeros(1))
    assert ask(k, 0, 0, 0) == (2 * MANY, 1024)
    k[1, 1](np.zeros(1, np.int32))
    with pytest.raises(ValueError, match="has 2 signatures"):
        ask(k, 0, 0, 0)


GRIDS = """
import ctypes, os
import numpy as np
import treadle
from treadle import cuda
from treadle.cuda import _loops

fake = ctypes.CDLL(os.environ["TREADLE_CUDA_DRIVER"])
asked = lambda: (fake.fake_calls(b"cuOccupancyMaxPotentialBlockSize"), fake.fake_calls(b"cuOccupancyMaxActiveBlocksPerMultiprocessor"))
grids = []
class Told(_loops.Kernel):
    def __getitem__(self, config):
        grids.append(config[:2])
        return super().__getitem__(config)
_loops.Kernel = Told

@treadle.vectorize(target="cuda")
def plus(a, b):
    return a + b

for n in (1, 256, 257, 1000, 40_000):
    d = cuda.to_device(np.arange(n, dtype=np.float32))
    assert (plus(d, d).copy_to_host() == np.arange(n) * 2).all()
held = 16 * 8  # multiprocessors of the fake GPU, and blocks of 256 threads that each holds
assert grids == [(1, 256), (1, 256), (2, 256), (4, 256), (157, 256)], grids
most = held * _loops.WAVES
assert [_loops.blocks_for(n, most, 256) for n in (most * 256, most * 256 + 1, 4 * most * 256 + 1)] == [most, most // 4 + 1, most // 2 + 1]
assert asked() == (1, 0), asked()
plus.max_blocksize = 100
assert (plus(d, d).copy_to_host() == np.arange(n) * 2).all() and grids.pop() == (625, 64)
i = cuda.to_device(np.arange(10))
assert plus(i, i).copy_to_host().tolist() == [2 * k for k in range(10)] and grids.pop() == (1, 64)
assert asked() == (3, 0), asked()
plus(i, i), plus(d, d)
assert asked() == (3, 0), asked()

# What a reduction gives depends on the length alone: here no more blocks run at once than the driver says.
x = np.random.default_rng(1).random(300_000).astype(np.float32)
d = cuda.to_device(x)
grids.clear()
want = plus.reduce(d)
assert grids == [(held, 256), (1, 256)] and abs(want - x.sum(dtype=np.float64)) < 1, (grids, want)
assert asked() == (3, 1), asked()
grids.clear()
assert plus.reduce(d[:1000]) == plus.reduce(d[:1000]) and grids == [(1, 256)] * 2 and asked() == (3, 1)
few = treadle.vectorize(target="cuda")(lambda a, b: a + b)
_loops.Definition.active_blocks_per_multiprocessor = lambda self, block: 1
grids.clear()
assert few.reduce(d) == want and grids == [(16, 256), (1, 256)], grids

# A driver that does not say it.
symbol = b"cuOccupancyMaxPotentialBlockSize"
fake.fake_fail(symbol, 1, 1)
other = treadle.vectorize(target="cuda")(lambda a: a * 3)
try:
    other(i)
except cuda.cudadrv.driver.CudaAPIError as e:
    assert "cuOccupancyMaxPotentialBlockSize: CUDA_ERROR_INVALID_VALUE" in str(e), e
else:
    raise AssertionError
assert other(i).copy_to_host().tolist() == [3 * k for k in range(10)]
print("done")
"""


def test_grids_of_ufuncs_and_reductions():
    """The driver is asked once for each kernel and types, and the grid is no larger than the work."""
    r = start(GRIDS)
    assert r.returncode == 0 and r.stdout == "done\n", r.stderr
