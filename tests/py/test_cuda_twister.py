"""MT19937 of `treadle.cuda.rand`: words and uniform numbers are cuRAND's, bit for bit; generator 0 is NumPy's, which is always there to tell."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from curand import Host
from fake_gpu import gives_the_same_text
from treadle import config
from treadle.cuda import _rand_twister as twister
from treadle.cuda.rand import PRNG

SEED = 20260129
ROW = twister.GENERATORS * twister.LANES
FIRST = twister.BLOCK - 1_500_003  # what is drawn goes from there into the next block
KINDS = {"bits": np.uint32, "unit32": np.float32, "unit64": np.float64}

# Recorded from libcurand 10.4.5 (CUDA 13): the beginning of the SHA-256 of what its generator of the host gave, with SEED, from item FIRST on: a million of each kind in turn.
KNOWN = {"bits": "6043f6176098f286", "unit32": "506f7257cbaee094", "unit64": "1d32b17e3ff3f453"}

interpreted = pytest.mark.skipif(
    config.CUDA == "gpu" and "fake" in str(config.CUDA_DRIVER),
    reason="a million items, and the GPU that is none interprets",
)


def digest(a):
    return hashlib.sha256(a.tobytes()).hexdigest()[:16]


def draw(rng, kind, n, *args):
    a = np.empty(n, KINDS.get(kind) or (np.float32 if kind.endswith("32") else np.float64))
    method = "generate" if kind == "bits" else kind[:-2].replace("unit", "uniform")
    getattr(rng, method)(a, *args)
    return a


@interpreted
def test_values_are_cudas():
    rng = PRNG(PRNG.MT19937, seed=SEED, offset=FIRST)
    assert {kind: digest(draw(rng, kind, 1_000_000)) for kind in KNOWN} == KNOWN


@pytest.mark.slow  # cuRAND takes ten seconds to begin
@interpreted
def test_any_seed_is_libcurands():
    """And chunks of any size, kinds in turn; of a seed the lower 32 bits count. Normal numbers are within two places of float32, 16 of float64, or of the mean where that is larger."""
    places = {"normal32": 2, "normal64": 16}
    for seed in (0, 0x1_2345_6789):
        ours, theirs = PRNG(PRNG.MT19937, seed=seed), Host(PRNG.MT19937, seed)
        for kind, n in zip(
            ["unit64", "bits", "unit32", "normal32", "normal64"] * 2,
            [1, 7, 990, 64, 9, 70_000, 5, 2, 100_000, 50_001],
        ):
            args = (0.0, 1.0) if kind in places else ()
            got, want = draw(ours, kind, n, *args), theirs.draw(kind, n, *args)
            assert (
                (abs(got - want) / np.spacing(np.maximum(abs(want), 1))).max() <= places[kind]
                if args
                else np.array_equal(got, want)
            )


@pytest.mark.parametrize("block", [0, 1, 700])
@pytest.mark.parametrize("seed", [0, SEED])
def test_the_first_generator_is_numpys(block, seed):
    legacy = np.random.MT19937()
    legacy._legacy_seeding(seed)
    raw = legacy.random_raw((block + 1) * twister.WORDS)[block * twister.WORDS :].astype(np.uint32)
    assert sorted(twister.PLACES) == [*range(twister.WORDS)]
    for row in (0, 1, 50, 77):
        rng = PRNG(PRNG.MT19937, seed=seed, offset=block * twister.BLOCK + row * ROW)
        np.testing.assert_array_equal(draw(rng, "bits", 8), raw[twister.PLACES.reshape(-1, 8)[row]])


def test_an_offset_is_where_calls_come_to():
    """Also far away, and where a call asks for more generators than those before."""
    for first in (0, 2**40 // ROW * ROW):
        whole = draw(PRNG(PRNG.MT19937, seed=7, offset=first), "bits", 5000)
        assert len(np.unique(whole)) > 4990
        for offset in (1, 8, 1023, 1024, 4000):
            np.testing.assert_array_equal(
                draw(PRNG(PRNG.MT19937, seed=7, offset=first + offset), "bits", 1000)[: 5000 - offset],
                whole[offset : offset + 1000],
            )
        rng = PRNG(PRNG.MT19937, seed=7, offset=first)
        got = [draw(rng, "bits", n) for n in (3, 997, 40, 3960)]
        np.testing.assert_array_equal(np.concatenate(got), whole)
        rng.offset = first + 5
        np.testing.assert_array_equal(draw(rng, "bits", 10), whole[5:15])
        rng.seed = 8
        assert (draw(rng, "bits", 10) != whole[5:15]).any()


def test_normal_numbers_are_quantiles_of_words():
    """One of each word, as cuRAND's."""
    n = 1000
    for kind in ("normal32", "normal64"):
        z = draw(PRNG(PRNG.MT19937, seed=5), kind, n, 0.0, 1.0)
        u = draw(PRNG(PRNG.MT19937, seed=5), "unit64", n)
        assert (np.argsort(z, kind="stable")[:50] == np.argsort(u, kind="stable")[:50]).all()
        scaled = draw(PRNG(PRNG.MT19937, seed=5), kind, n, 1.5, 0.25)
        np.testing.assert_array_equal(scaled, z.dtype.type(1.5) + z.dtype.type(0.25) * z)
        log = draw(PRNG(PRNG.MT19937, seed=5), "log" + kind, n, 1.5, 0.25)
        np.testing.assert_allclose(log, np.exp(scaled.astype(np.float64)), rtol=4 * np.finfo(log.dtype).eps)
    poisson = np.empty(n, np.uint32)
    PRNG(PRNG.MT19937, seed=5).poisson(poisson, 3.5)
    assert abs(poisson.mean() - 3.5) < 0.25
    assert abs(poisson.var() - 3.5) < 0.6


SMALL = """
import hashlib
import numpy as np
from treadle import cuda
from treadle.cuda import _draws, _rand_twister as twister
from treadle.cuda.rand import PRNG

rng = PRNG(PRNG.MT19937, seed=3, offset=twister.BLOCK + 77 * 65536)
seen = hashlib.sha256()
for method, n, dtype in (("generate", 40, np.uint32), ("uniform", 30, np.float32), ("uniform", 9, np.float64), ("normal", 8, np.float64), ("lognormal", 8, np.float32)):
    d = cuda.device_array(n, dtype)
    getattr(rng, method)(d)
    seen.update(d.copy_to_host().tobytes())
words = cuda.to_device(_draws.begun(3, 0, 128).T.copy())
_draws.twist[1, 128](words)
assert np.array_equal(words.copy_to_host().T, _draws.begun(3, 1, 128))
text = seen.hexdigest()
"""


@pytest.mark.emulated
def test_a_gpu_gives_the_same_bits():
    gives_the_same_text(SMALL)
