"""`treadle.cuda.rand`: words and uniform numbers are cuRAND's, bit for bit; normal ones are near; the emulated device and a GPU give the same bits."""

from __future__ import annotations

import copy
import hashlib
import math
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from curand import Host
from fake_gpu import gives_the_same_text, start
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import config, cuda
from treadle._core import _normal
from treadle.cuda import rand
from treadle.cuda.rand import PRNG, QRNG
from treadle.errors import UnsupportedError

ROOT = Path(__file__).resolve().parents[2]
PSEUDO = {"XORWOW": PRNG.XORWOW, "MRG32K3A": PRNG.MRG32K3A, "PHILOX4_32_10": PRNG.PHILOX4_32_10}
QUASI = {"SOBOL32": QRNG.SOBOL32, "SOBOL64": QRNG.SOBOL64}
DTYPES = {
    "bits": np.uint32,
    "wide": np.uint64,
    "unit32": np.float32,
    "unit64": np.float64,
    "normal32": np.float32,
    "normal64": np.float64,
    "lognormal32": np.float32,
    "lognormal64": np.float64,
}
SEED, OFFSET = 20260129, 12345
MANY = 1_000_003

# Recorded from libcurand 10.4.5 (CUDA 13): the beginning of the SHA-256 of what its generators of the host gave, of MANY items from OFFSET on, with SEED, and of 142,858 points in 7 dimensions.
KNOWN = {
    ("XORWOW", "bits"): "e0f77a61faf16615",
    ("XORWOW", "unit32"): "a023bdfc7617297d",
    ("XORWOW", "unit64"): "5481c15b4ab55edf",
    ("MRG32K3A", "bits"): "0d1f41ce56a31b8f",
    ("MRG32K3A", "unit32"): "ad82c9afb4031751",
    ("MRG32K3A", "unit64"): "301da03d9196579f",
    ("PHILOX4_32_10", "bits"): "bca4f0f622764e96",
    ("PHILOX4_32_10", "unit32"): "fa47b46a1d6af170",
    ("PHILOX4_32_10", "unit64"): "71da4e91faeae70f",
    ("SOBOL32", "bits"): "5adc84ac70f9e832",
    ("SOBOL32", "unit32"): "7e4d660a41c966f0",
    ("SOBOL32", "unit64"): "0be758533b550a12",
    ("SOBOL64", "wide"): "60abde8d85de9d72",
    ("SOBOL64", "unit32"): "7e4d660a41c966f0",
    ("SOBOL64", "unit64"): "2aaabf588644af2e",
}
# Of ours, which no library has: 200,001 items.
OWN = {
    ("XORWOW", "normal32"): "e44abbb444603c77",
    ("XORWOW", "normal64"): "c70e5a512b2468b7",
    ("XORWOW", "lognormal32"): "414bee352d2f41cf",
    ("XORWOW", "lognormal64"): "e2faa8b2eba1c58d",
    ("MRG32K3A", "normal32"): "30a1aa138aa1d8fe",
    ("MRG32K3A", "normal64"): "dd7d148065ebb506",
    ("MRG32K3A", "lognormal32"): "6ae650175cb23a54",
    ("MRG32K3A", "lognormal64"): "8e455c9821a7bbb1",
    ("PHILOX4_32_10", "normal32"): "5b915df1481fd329",
    ("PHILOX4_32_10", "normal64"): "d686995b25daf99c",
    ("PHILOX4_32_10", "lognormal32"): "4bd390cf8083f252",
    ("PHILOX4_32_10", "lognormal64"): "a732250cda017803",
}

interpreted = pytest.mark.skipif(
    config.CUDA == "gpu" and "fake" in str(config.CUDA_DRIVER),
    reason="a million items, and the GPU that is none interprets",
)


def digest(a):
    return hashlib.sha256(a.tobytes()).hexdigest()[:16]


def draw(rng, kind, n, *args, device=True):
    """The next n items of a generator, by way of the device or the host."""
    dtype = DTYPES[kind]
    method = {"bits": "generate", "wide": "generate"}.get(kind) or kind[:-2].replace("unit", "uniform")
    a = cuda.device_array(n, dtype) if device else np.empty(n, dtype)
    getattr(rng, method)(a, *args)
    return a.copy_to_host() if device else a


# --- values ---


@interpreted
@pytest.mark.parametrize(("name", "kind"), KNOWN)
def test_values_are_cudas(name, kind):
    if name in PSEUDO:
        got = draw(PRNG(PSEUDO[name], seed=SEED, offset=OFFSET), kind, MANY)
    else:
        got = draw(QRNG(QUASI[name], ndim=7, offset=OFFSET), kind, 7 * 142858)
    assert digest(got) == KNOWN[name, kind]


@interpreted
@pytest.mark.parametrize(("name", "kind"), OWN)
def test_normal_numbers_have_the_same_bits_anywhere(name, kind):
    got = draw(PRNG(PSEUDO[name], seed=SEED, offset=OFFSET), kind, 200_001, 0.5, 0.75)
    assert digest(got) == OWN[name, kind]


@interpreted
@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1, 0xAAAAAAAA55555555])
@pytest.mark.parametrize("name", PSEUDO)
def test_any_seed_and_offset_is_libcurands(name, seed):
    kinds = ["bits", "unit32", "unit64", "bits", "unit32"][seed % 3 :]
    for kind, offset in zip(kinds, (0, 3, 81920 * 3 + 4097)):
        ours, theirs = PRNG(PSEUDO[name], seed=seed, offset=offset), Host(PSEUDO[name], seed, offset)
        for n in (MANY if seed == 1 and not offset else 90_001, 1, 7, 9000):
            np.testing.assert_array_equal(draw(ours, kind, n), theirs.draw(kind, n))


@interpreted
@pytest.mark.parametrize("name", PSEUDO)
def test_kinds_in_turn_are_libcurands(name):
    """What is drawn as words and as float64 takes different numbers of steps from the same sequences."""
    ours, theirs = PRNG(PSEUDO[name], seed=5, offset=77), Host(PSEUDO[name], 5, 77)
    for kind, n in zip(
        ["unit64", "bits", "unit32", "unit64", "unit32", "bits"] * 3,
        [300_001, 2, 99_999, 70_002, 262_144, 5, 1, 3] * 3,
    ):
        np.testing.assert_array_equal(draw(ours, kind, n), theirs.draw(kind, n))


def test_an_offset_far_away_is_libcurands():
    for name, rndtype in PSEUDO.items():
        ours, theirs = PRNG(rndtype, seed=9, offset=2**40 + 5), Host(rndtype, 9, 2**40 + 5)
        np.testing.assert_array_equal(draw(ours, "bits", 5000), theirs.draw("bits", 5000), name)


@interpreted
@pytest.mark.parametrize("kind", ["normal32", "normal64"])
@pytest.mark.parametrize("name", PSEUDO)
def test_normal_numbers_are_within_four_places_of_libcurands(name, kind):
    """Places of the radius, of which both numbers of a pair are parts, or of the mean where that is larger."""
    for mean, sigma in ((0.0, 1.0), (1.5, 0.25)):
        ours = draw(PRNG(PSEUDO[name], seed=77), kind, 1_000_000, mean, sigma).astype(np.float64)
        theirs = Host(PSEUDO[name], 77).draw(kind, 1_000_000, mean, sigma)
        z = (theirs.astype(np.float64).reshape(-1, 2) - mean) / sigma
        place = np.spacing(np.maximum(np.hypot(*z.T) * sigma, mean).astype(DTYPES[kind]))
        assert (abs(ours - theirs).reshape(-1, 2).max(axis=1) / place).max() <= 4


@interpreted
@pytest.mark.parametrize("kind", ["lognormal32", "lognormal64"])
@pytest.mark.parametrize("name", PSEUDO)
def test_lognormal_numbers_are_near_libcurands(name, kind):
    ours = draw(PRNG(PSEUDO[name], seed=77), kind, 1_000_000, 0.5, 0.75)
    theirs = Host(PSEUDO[name], 77).draw(kind, 1_000_000, 0.5, 0.75)
    assert (abs(ours - theirs) / np.spacing(theirs)).max() <= 16


# --- exact normal numbers ---

NORMAL = ["normal32", "normal64", "lognormal32", "lognormal64"]


@pytest.mark.emulated
@pytest.mark.parametrize("kind", NORMAL)
@pytest.mark.parametrize("name", PSEUDO)
def test_exact_numbers_are_libcurands(name, kind):
    """Both take them from the C library."""
    for mean, sigma in ((0.0, 1.0), (-1.5, 0.25)):
        ours, theirs = PRNG(PSEUDO[name], seed=77, offset=10, exact=True), Host(PSEUDO[name], 77, 10)
        for n in (1000, 2, 170_000, 4096):
            np.testing.assert_array_equal(draw(ours, kind, n, mean, sigma), theirs.draw(kind, n, mean, sigma))


@pytest.mark.emulated
def test_exact_numbers_are_the_formulas():
    """Of a sequence's first two units, which lie 4,096 items apart."""
    units = draw(PRNG(seed=9), "unit64", 4196)
    got = draw(PRNG(seed=9, exact=True), "normal64", 200, 0.5, 3.0)
    for u, v, s, c in zip(units[:100], units[4096:], got[::2], got[1::2]):
        r, angle = math.sqrt(-2 * math.log(u)), v * (2 * math.pi)
        assert (s, c) == (0.5 + 3.0 * (r * math.sin(angle)), 0.5 + 3.0 * (r * math.cos(angle)))


@pytest.mark.emulated
@pytest.mark.parametrize("kind", NORMAL)
@pytest.mark.parametrize("name", PSEUDO)
@pytest.mark.parametrize("device", [False, True])
def test_exact_numbers_come_where_others_do(name, kind, device):
    """Of odd numbers of items, at odd places, between other kinds, on a stream; and a call that fails takes none."""
    stream = cuda.stream()
    first = PRNG(PSEUDO[name], seed=3, offset=5)
    others = [PRNG(PSEUDO[name], seed=3, offset=5, exact=True, stream=s) for s in (0, stream)]
    for of, n in [
        (kind, 3),
        (kind, 4),
        ("unit32", 7),
        (kind, 1),
        ("unit64", 2),
        (kind, 9001),
        (kind, 0),
        (kind, 2),
    ]:
        args = (0.5, 0.75) if of == kind else ()
        want = draw(first, of, n, *args)
        for rng in others:
            a = cuda.device_array(n, want.dtype) if device else np.empty(n, want.dtype)
            method = of[:-2].replace("unit", "uniform")
            if of == kind and n == 4:
                with pytest.MonkeyPatch.context() as m, pytest.raises(ZeroDivisionError):
                    m.setattr(rng, "_launch", lambda *_: 1 // 0)
                    getattr(rng, method)(a, *args)
            getattr(rng, method)(a, *args)
            got = a.copy_to_host(stream=rng.stream) if device else a
            stream.synchronize()
            np.testing.assert_allclose(got, want, rtol=0, atol=2e-5 if kind.endswith("32") else 1e-13)


@pytest.mark.emulated
def test_where_no_exact_numbers_are():
    with pytest.raises(ValueError, match="MT19937: cuRAND's normal numbers are quantiles"):
        PRNG(PRNG.MT19937, exact=True)
    a = np.zeros(4)
    locked = a.view()
    locked.flags.writeable = False
    for bad in (a[:3], a[::2], locked, a.astype(">f8"), a.astype(np.complex64), a.tolist()):
        with pytest.raises(ValueError, match="these are no pairs"):
            _normal(bad, False, 0.0, 1.0, 0)
    with pytest.raises(TypeError, match="a stream"):
        _normal(a, False, 0.0, 1.0, "s")
    done = start("from treadle.cuda.rand import PRNG\nPRNG(exact=True)")
    assert "UnsupportedError: exact normal numbers are those of the host's C library" in done.stderr


@pytest.mark.parametrize("ndim", [1, 2, 31, 1024])
@pytest.mark.parametrize("name", QUASI)
def test_points_are_libcurands(name, ndim):
    kinds = ["bits" if name == "SOBOL32" else "wide", "unit32", "unit64"]
    ours, theirs = QRNG(QUASI[name], ndim, offset=255), Host(QUASI[name], None, 255, ndim)
    for kind, n in zip(kinds * 2, [3, 1, 300, 1, 700, 2]):
        np.testing.assert_array_equal(draw(ours, kind, n * ndim), theirs.draw(kind, n * ndim))


@interpreted
@pytest.mark.parametrize(("kind", "places"), [("normal32", 2), ("normal64", 16)])
@pytest.mark.parametrize("name", QUASI)
def test_quantiles_of_points_are_near_libcurands(name, kind, places):
    """Places of a number, or of 1 for what is near the mean."""
    for offset in (0, 2**31 - 7):
        ours = draw(QRNG(QUASI[name], offset=offset), kind, 300_000)
        theirs = Host(QUASI[name], None, offset).draw(kind, 300_000, 0.0, 1.0)
        assert (abs(ours - theirs) / np.spacing(np.maximum(abs(theirs), 1))).max() <= places
        scaled = draw(QRNG(QUASI[name], offset=offset), kind, 300_000, 1.5, 0.25)
        np.testing.assert_array_equal(scaled, ours.dtype.type(1.5) + ours.dtype.type(0.25) * ours)
        log = draw(QRNG(QUASI[name], offset=offset), "log" + kind, 300_000, 1.5, 0.25)
        np.testing.assert_allclose(log, np.exp(scaled.astype(np.float64)), rtol=4 * np.finfo(log.dtype).eps)


@interpreted
def test_quantiles_are_exact_to_some_places():
    """Against the normal distribution's own function, in the middle and far out."""
    special = pytest.importorskip("scipy.special")
    for name, offset in (("SOBOL32", 0), ("SOBOL64", 2**52 - 99), ("SOBOL64", 2**62)):
        z = draw(QRNG(QUASI[name], offset=offset), "normal64", 4096)
        p = draw(QRNG(QUASI[name], offset=offset), "unit64", 4096) - (2.0**-33 if name == "SOBOL32" else 0.0)
        below = p < 0.5
        np.testing.assert_allclose(z[below], special.ndtri(p[below]), rtol=1e-14)
        assert abs(z).max() > 3.5


def test_dimensions_beyond_what_is_carried_are_scipys():
    qmc = pytest.importorskip("scipy.stats").qmc
    ndim = 1500
    for rndtype, bits, kind in ((QRNG.SOBOL32, 32, "bits"), (QRNG.SOBOL64, 64, "wide")):
        got = draw(QRNG(rndtype, ndim), kind, ndim * 16).reshape(ndim, 16)
        want = qmc.Sobol(ndim, scramble=False, bits=bits).random(16).T
        np.testing.assert_array_equal(got / 2.0**bits, want)


@pytest.mark.parametrize("table", ["sobol", "xorwow", pytest.param("mt19937", marks=pytest.mark.slow)])
def test_the_tables_are_what_the_tool_makes(table):
    pytest.importorskip("scipy.stats")
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "gen_rand.py"), "--check", table],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


SMALL = """
import hashlib
import numpy as np
from treadle import cuda
from treadle.cuda.rand import PRNG, QRNG

seen = hashlib.sha256()
for rndtype in (PRNG.XORWOW, PRNG.MRG32K3A, PRNG.PHILOX4_32_10):
    rng = PRNG(rndtype, seed=3, offset=4094)
    for dtype, method in (("u4", "generate"), ("f4", "uniform"), ("f8", "uniform"), ("f4", "normal"), ("f8", "normal"), ("f4", "lognormal"), ("f8", "lognormal")):
        for n in (131, 2):
            d = cuda.device_array(n, dtype)
            getattr(rng, method)(d)
            seen.update(d.copy_to_host().tobytes())
        h = np.zeros(5, dtype)
        getattr(rng, method)(h)
        seen.update(h.tobytes())
    d = cuda.device_array(40, "u4")
    rng.poisson(d, 7.5)
    seen.update(d.copy_to_host().tobytes())
for rndtype in (QRNG.SOBOL32, QRNG.SCRAMBLED_SOBOL32, QRNG.SOBOL64, QRNG.SCRAMBLED_SOBOL64):
    rng = QRNG(rndtype, 3)
    for dtype, method in (("u8" if rndtype > 202 else "u4", "generate"), ("f4", "uniform"), ("f8", "uniform"), ("f4", "normal"), ("f8", "normal"), ("f8", "lognormal")):
        d = cuda.device_array(150, dtype)
        getattr(rng, method)(d)
        seen.update(d.copy_to_host().tobytes())
text = seen.hexdigest()
"""


@pytest.mark.emulated
def test_a_gpu_gives_the_same_bits():
    gives_the_same_text(SMALL)


# --- the way on ---


@settings(deadline=None)
@given(
    st.sampled_from(list(PSEUDO)),
    st.sampled_from(["bits", "unit32", "unit64"]),
    st.integers(0, 2**64 - 1),
    st.integers(0, 5000),
    st.lists(st.integers(0, 700), min_size=1, max_size=4),
)
def test_parts_make_the_whole(name, kind, seed, offset, parts):
    rng = PRNG(PSEUDO[name], seed=seed, offset=offset)
    got = np.concatenate([draw(rng, kind, n, device=bool(n % 2)) for n in parts])
    np.testing.assert_array_equal(got, draw(PRNG(PSEUDO[name], seed=seed, offset=offset), kind, sum(parts)))


@pytest.mark.parametrize("name", PSEUDO)
def test_an_offset_leaves_out_so_many(name):
    whole = draw(PRNG(PSEUDO[name], seed=1), "bits", 10_000)
    for offset in (1, 2, 4095, 4096, 9_000):
        np.testing.assert_array_equal(
            draw(PRNG(PSEUDO[name], seed=1, offset=offset), "bits", 1000), whole[offset : offset + 1000]
        )


@pytest.mark.parametrize("name", PSEUDO)
@pytest.mark.parametrize("kind", ["normal32", "normal64"])
def test_of_an_odd_number_one_is_left_out(name, kind):
    for n in (1, 2, 3, 4, 5, 8193, 10_001):
        whole = draw(PRNG(PSEUDO[name], seed=1), kind, n + 1)
        np.testing.assert_array_equal(draw(PRNG(PSEUDO[name], seed=1), kind, n), whole[:n])


def test_points_go_on():
    whole = draw(QRNG(QRNG.SOBOL32, 3), "bits", 3000).reshape(3, 1000)
    rng = QRNG(QRNG.SOBOL32, 3)
    got = [draw(rng, "bits", 3 * n, device=False).reshape(3, n) for n in (1, 0, 255, 256, 300, 188)]
    np.testing.assert_array_equal(np.concatenate(got, axis=1), whole)
    np.testing.assert_array_equal(
        draw(QRNG(QRNG.SOBOL32, 3, offset=300), "bits", 90).reshape(3, 30), whole[:, 300:330]
    )


def test_a_seed_or_an_offset_that_is_set_begins_there():
    for rndtype in PSEUDO.values():
        rng = PRNG(rndtype)
        first = draw(rng, "bits", 50)
        draw(rng, "unit64", 3)
        rng.seed = 8
        assert (draw(rng, "bits", 50) != first).any()
        rng.seed = 0
        np.testing.assert_array_equal(draw(rng, "bits", 50), first)
        rng.offset = 10
        np.testing.assert_array_equal(draw(rng, "bits", 40), first[10:])
        assert (rng.seed, rng.offset) == (0, 10)
    points = QRNG(ndim=2)
    first = draw(points, "bits", 20)
    points.offset = 0
    np.testing.assert_array_equal(draw(points, "bits", 20), first)
    points.ndim = 1
    np.testing.assert_array_equal(draw(points, "bits", 10), first[:10])
    assert (points.ndim, points.offset) == (1, 0)


def test_the_default_generators():
    np.testing.assert_array_equal(
        draw(PRNG(), "bits", 20), draw(PRNG(PRNG.XORWOW, seed=0, offset=0), "bits", 20)
    )
    np.testing.assert_array_equal(draw(QRNG(), "bits", 20), draw(QRNG(QRNG.SOBOL32, 1), "bits", 20))
    assert repr(PRNG(seed=3)) == "<PRNG XORWOW, seed 3, at 0>"
    assert repr(QRNG(QRNG.SCRAMBLED_SOBOL64, 4, 9)) == "<QRNG SCRAMBLED_SOBOL64 of 4 dimensions, at 9>"


def test_streams():
    """A generator's own stream; another one comes after it."""
    s, other = cuda.stream(), cuda.stream()
    for rndtype in PSEUDO.values():
        want = draw(PRNG(rndtype, seed=2), "unit32", 30_000)
        rng = PRNG(rndtype, seed=2, stream=s)
        d = cuda.device_array(30_000, np.float32, stream=s)
        rng.uniform(d, size=10_000)
        assert rng.stream is s
        rng.stream = other
        rng.uniform(d[10_000:20_000])
        rng.stream = 0
        rng.uniform(d[20_000:])
        np.testing.assert_array_equal(d.copy_to_host(), want)
        host = np.empty(30_000, np.float32)
        PRNG(rndtype, seed=2, stream=s).uniform(host)  # is there at once
        np.testing.assert_array_equal(host, want)


def test_generators_of_threads():
    want = draw(PRNG(PRNG.PHILOX4_32_10, seed=4), "normal64", 20_000)
    got = [np.empty(20_000) for _ in range(4)]
    threads = [threading.Thread(target=lambda a=a: PRNG(PRNG.PHILOX4_32_10, seed=4).normal(a)) for a in got]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for a in got:
        np.testing.assert_array_equal(a, want)


# --- what is taken, and what is not ---


def test_what_is_filled():
    class Theirs:
        def __init__(self, d):
            self.__cuda_array_interface__ = d.__cuda_array_interface__
            self.keeps = d

    d = cuda.to_device(np.zeros(10, np.float32))
    PRNG(seed=1).uniform(Theirs(d), size=4)
    want = draw(PRNG(seed=1), "unit32", 4)
    np.testing.assert_array_equal(d.copy_to_host(), [*want, 0, 0, 0, 0, 0, 0])
    a = np.zeros(10, np.float32)
    PRNG(seed=1).uniform(a[3:7])
    np.testing.assert_array_equal(a, [0, 0, 0, *want, 0, 0, 0])
    pinned = cuda.pinned_array(4, np.float32)
    PRNG(seed=1).uniform(pinned)
    np.testing.assert_array_equal(pinned, want)
    for rng in (PRNG(), PRNG(PRNG.PHILOX4_32_10), QRNG()):
        rng.uniform(np.empty(0))
        rng.uniform(np.empty(5), size=0)
        assert rng.offset == 0
        np.testing.assert_array_equal(draw(rng, "bits", 3), draw(type(rng)(rng._type), "bits", 3))


@pytest.mark.parametrize(
    "rng", [PRNG(), PRNG(PRNG.PHILOX4_32_10), QRNG(ndim=2)], ids=["xorwow", "philox", "sobol"]
)
def test_what_is_not_filled(rng):
    readonly = np.zeros(4, np.float32)
    readonly.flags.writeable = False
    for bad, part in (
        (np.zeros(8, np.float32)[::2], "side by side"),
        (np.zeros(8, np.float32)[::-1], "side by side"),
        (cuda.device_array(8, np.float32)[::2], "side by side"),
        (np.zeros((2, 2), np.float32), "of one axis"),
        (np.zeros((), np.float32), "of one axis"),
        (np.zeros(4, np.float16), "float32 or float64, not float16"),
        (np.zeros(4, np.int32), "float32 or float64, not int32"),
        (np.zeros(4, ">f4"), "float32 or float64, not >f4"),
        (readonly, "read-only"),
        (np.zeros(17, np.uint8)[1:].view(np.float32), "aligned"),
        (cuda.to_device(np.zeros(17, np.uint8))[1:].view(np.float32), "aligned"),
        ([0.0, 0.0], "not list"),
        (None, "not NoneType"),
    ):
        with pytest.raises(TypeError, match=part):
            rng.uniform(bad)
    for bad in (np.zeros(4, np.int32), np.zeros(4, np.uint64), np.zeros(4)):
        with pytest.raises(TypeError, match="uint32"):
            rng.generate(bad)
    for size in (-1, 5):
        with pytest.raises(ValueError, match=f"size is {size}, and the array has 4 items"):
            rng.uniform(np.zeros(4), size)
    np.testing.assert_array_equal(
        draw(rng, "bits", 4), draw(type(rng)(rng._type, *([2] if type(rng) is QRNG else [])), "bits", 4)
    )
    rng.offset = 0


@pytest.mark.parametrize("name", PSEUDO)
def test_a_call_that_raises_draws_nothing(name, monkeypatch):
    """What Philox notes of its sequences it notes when they were drawn from; kinds in turn take one block and two."""
    whole = np.empty(2000)
    word = np.empty(3, np.uint32)
    first, second = PRNG(PSEUDO[name], seed=3), PRNG(PSEUDO[name], seed=3)

    def fail(*args):
        raise MemoryError

    for g in first, second:
        a = np.zeros(2000)
        g.uniform(a[:1000])
        if g is second:
            with monkeypatch.context() as m, pytest.raises(MemoryError):
                m.setattr(g, "_launch", fail)
                g.uniform(a[1000:])
        g.generate(word)
        g.uniform(a[1000:])
        if g is first:
            whole[:] = a
    np.testing.assert_array_equal(a, whole)


def test_what_makes_no_generator():
    with pytest.raises(UnsupportedError, match="MTGP32: .* not published"):
        PRNG(PRNG.MTGP32)
    for bad in (PRNG.TEST, 7, None, "XORWOW", QRNG.SOBOL32):
        with pytest.raises(ValueError, match="no generator"):
            PRNG(bad)
    for bad in (QRNG.TEST, 7, PRNG.XORWOW):
        with pytest.raises(ValueError, match="no generator"):
            QRNG(bad)
    for what in ("seed", "offset"):
        with pytest.raises(ValueError, match=f"the {what} is from 0"):
            PRNG(**{what: -1})
        with pytest.raises(ValueError, match=f"the {what} is from 0"):
            setattr(PRNG(), what, 2**64)
        with pytest.raises(TypeError, match=f"the {what} is an integer, not 1.5"):
            PRNG(**{what: 1.5})
    with pytest.raises(TypeError, match="a stream is made by"):
        PRNG(stream=3)
    with pytest.raises(TypeError, match="a stream is made by"):
        QRNG().stream = "s"
    for ndim in (0, -1, 20001):
        with pytest.raises(ValueError, match="1 to 20000 dimensions"):
            QRNG(ndim=ndim)
    with pytest.raises(ValueError, match="10 items are no whole number of points of 3 dimensions"):
        QRNG(ndim=3).uniform(np.empty(10))
    with pytest.raises(ValueError, match="no point 4294967296"):
        QRNG(offset=2**32 - 3).uniform(np.empty(4))
    got = draw(QRNG(offset=2**32 - 3), "bits", 3)
    assert len({*got.tolist()}) == 3


@pytest.mark.parametrize("rng", [PRNG(), QRNG()], ids=["prng", "qrng"])
def test_generators_are_not_copied(rng):
    for way in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="neither copied nor pickled"):
            way(rng)


def test_dimensions_without_scipy():
    code = "import sys; sys.modules['scipy'] = None\nfrom treadle.cuda.rand import QRNG\nimport numpy as np\nQRNG(ndim=1025).uniform(np.empty(1025))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ValueError: 1025 dimensions: Treadle has the numbers of 1024" in done.stderr


# --- distributions ---


def chi_square(counts, expected):
    return ((counts - expected) ** 2 / expected).sum()


@interpreted
@pytest.mark.parametrize("name", PSEUDO)
@pytest.mark.parametrize("rate", [0.01, 0.7, 5.0, 63.9, 1000.0])
def test_poissons_numbers(name, rate):
    n = 200_000
    got = np.empty(n, np.uint32)
    PRNG(PSEUDO[name], seed=11).poisson(got, rate)
    k = np.arange(int(rate + 20 * math.sqrt(rate) + 30))
    p = np.exp(k * math.log(rate) - rate - np.array([math.lgamma(i + 1.0) for i in k]))
    often = n * p >= 10
    counts = np.bincount(got, minlength=len(k))[: len(k)]
    rest = n - counts[often].sum(), n * (1 - p[often].sum())
    freedom = often.sum()
    value = chi_square(counts[often], n * p[often]) + (rest[0] - rest[1]) ** 2 / max(rest[1], 1.0)
    assert value < freedom + 6 * math.sqrt(2 * freedom) + 20  # of a seed that does not change


def test_poissons_extremes():
    rng = PRNG(seed=1)
    a = np.ones(5, np.uint32)
    rng.poisson(a, 0.0)
    assert not a.any()
    b = np.empty(4000, np.uint32)
    rng.poisson(b, 2.0**31)
    assert abs(b.mean() / 2.0**31 - 1) < 1e-5
    assert 0.9 < b.std() / 2.0**15.5 < 1.1
    rng.poisson(np.empty(0, np.uint32), 3.0)
    for bad in (-1.0, math.nan, math.inf, 2.0**31 + 1):
        with pytest.raises(ValueError, match="lmbd is from 0"):
            rng.poisson(a, bad)
    with pytest.raises(TypeError, match="uint32"):
        rng.poisson(np.empty(3), 2.0)


@pytest.mark.parametrize("given", ["1", None, 1j, np.complex64(1), [1.0], np.ones(1)], ids=repr)
@pytest.mark.parametrize("make", [PRNG, QRNG])
def test_what_is_no_real_number(make, given):
    """A mean of None filled arrays with NaNs, in silence."""
    rng, a = make(), np.zeros(4)
    for draw in (rng.normal, rng.lognormal):
        for name in ("mean", "sigma"):
            with pytest.raises(TypeError, match=f"^{name} is a real number, not "):
                draw(a, **{name: given})
    if make is PRNG:
        with pytest.raises(TypeError, match="^lmbd is a real number, not "):
            rng.poisson(np.zeros(4, np.uint32), given)
    assert not a.any()
    rng.normal(a, np.array(100.0), np.float32(1))
    assert abs(a.mean() - 100) < 10


def test_poissons_numbers_in_parts(monkeypatch):
    want = np.empty(1000, np.uint32)
    PRNG(seed=5).poisson(want, 4.5)
    monkeypatch.setattr(rand, "_AT_ONCE", 128)
    got = np.empty(1000, np.uint32)
    PRNG(seed=5).poisson(got, 4.5)
    np.testing.assert_array_equal(got, want)
    d = cuda.device_array(1000, np.uint32)
    PRNG(seed=5).poisson(d, 4.5)
    np.testing.assert_array_equal(d.copy_to_host(), want)


@interpreted
@pytest.mark.parametrize("name", PSEUDO)
def test_moments(name):
    rng = PRNG(PSEUDO[name], seed=1)
    for kind in ("normal32", "normal64"):
        a = draw(rng, kind, 400_000, 3.0, 2.0).astype(np.float64)
        assert abs(a.mean() - 3) < 0.02
        assert abs(a.std() - 2) < 0.02
        z = (a - 3) / 2
        assert abs((z**3).mean()) < 0.03
        assert abs((z**4).mean() - 3) < 0.1
    for kind in ("unit32", "unit64"):
        a = draw(rng, kind, 400_000)
        assert a.min() > 0
        assert a.max() <= 1
        assert abs(a.mean() - 0.5) < 0.003


def test_normal_numbers_of_any_mean():
    a = np.empty(10, np.float32)
    rng = PRNG(seed=1)
    rng.normal(a, 5.0, 0.0)
    assert (a == 5).all()
    rng.lognormal(a, 1000.0, 1.0)
    assert np.isinf(a).all()
    rng.lognormal(a, -1000.0, 1.0)
    assert (a == 0).all()
    rng.lognormal(a, -95.0, 0.0)
    np.testing.assert_allclose(a, np.exp(np.float64(-95.0)), rtol=0, atol=2 * np.spacing(np.float32(0)))
    b = np.empty(10)
    rng.lognormal(b, -740.0, 0.0)
    np.testing.assert_allclose(b, np.exp(-740.0), rtol=0, atol=2 * np.spacing(0.0))
    rng.lognormal(b, 709.0, 0.0)
    np.testing.assert_allclose(b, np.exp(709.0), rtol=1e-14)
    rng.normal(b, math.nan, 1.0)
    assert np.isnan(b).all()
    rng.lognormal(b, math.nan, 1.0)
    assert np.isnan(b).all()


@pytest.mark.parametrize("rndtype", [QRNG.SCRAMBLED_SOBOL32, QRNG.SCRAMBLED_SOBOL64])
def test_scrambled_points_are_even(rndtype):
    """Of 1024 points each 1024th part of an axis has one, and of two axes each of 32 by 32 boxes where the plain ones have that."""
    a = draw(QRNG(rndtype, 40), "unit64", 40 * 1024).reshape(40, 1024)
    cells = np.minimum(np.floor(a * 1024).astype(int), 1023)
    for row in cells:
        assert (np.bincount(row, minlength=1024) == 1).all()
    assert len({row.tobytes() for row in cells}) == 40
    assert (np.bincount(cells[0] // 32 * 32 + cells[1] // 32, minlength=1024) == 1).all()


# --- functions ---


def test_functions():
    for device in (False, True):
        for made, dtype in (
            (rand.uniform(1000, device=device), np.float64),
            (rand.uniform(1000, np.float32, device), np.float32),
            (rand.normal(10.0, 2.0, 1000, device=device), np.float64),
            (rand.normal(0, 1, 1000, dtype=np.float32, device=device), np.float32),
            (rand.lognormal(0.5, 0.1, 1000, np.float32, device), np.float32),
            (rand.poisson(3.5, 1000, device), np.uint32),
            (rand.quasi(1000, device=device), np.uint32),
            (rand.quasi(1000, 64, 10, device), np.uint64),
        ):
            assert isinstance(made, cuda.DeviceNDArray if device else np.ndarray)
            assert (made.dtype, made.shape) == (dtype, (1000,))
            assert len(np.unique(np.asarray(made))) > 5
    assert (rand.uniform(10) != rand.uniform(10)).any()
    assert abs(rand.normal(10.0, 0.5, 20_000).mean() - 10) < 0.05
    for size in (12, 18):  # the sequence goes on, and begins anew in other dimensions
        rand.quasi(10, nd=5)
        points = np.concatenate(
            [rand.quasi(size, nd=3).reshape(3, -1), rand.quasi(12, nd=3).reshape(3, -1)], axis=1
        )
        np.testing.assert_array_equal(points.ravel(), draw(QRNG(ndim=3), "bits", size + 12))
    assert rand.uniform(0).shape == (0,)
    with pytest.raises(ValueError, match="size is -1"):
        rand.normal(0, 1, -1)
    with pytest.raises(ValueError, match="size is -1"):
        rand.quasi(-1)
    with pytest.raises(ValueError, match="32 or 64 bits, not 16"):
        rand.quasi(8, bits=16)
    with pytest.raises(TypeError, match="float32 or float64, not int64"):
        rand.uniform(8, np.int64)


def test_nothing_is_loaded_for_who_asks_for_nothing():
    code = "import sys, treadle, treadle.cuda\nfrom treadle import cuda\nassert not [m for m in sys.modules if 'rand' in m and 'treadle' in m]\ncuda.rand.PRNG\nassert 'scipy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


DRAWS = """
import numpy as np
from treadle import cuda
from treadle.cuda.rand import PRNG, QRNG

s = cuda.stream()
for rndtype in (PRNG.XORWOW, PRNG.MRG32K3A, PRNG.PHILOX4_32_10):
    rng = PRNG(rndtype, offset=7, stream=s)
    d = cuda.device_array(90_001, "f4", stream=s)
    rng.normal(d)
    counts = cuda.device_array(100, "u4")
    rng.poisson(counts, 3.5)
    rng.stream = 0
    rng.normal(d)
d = cuda.device_array(600, "f4", stream=s)
QRNG(ndim=2, stream=s).uniform(d)
d.copy_to_host(stream=s)
s.synchronize()
"""


@pytest.mark.emulated
def test_memcheck_finds_nothing(tmp_path):
    program = tmp_path / "draws.py"
    program.write_text(DRAWS)
    done = subprocess.run(
        [sys.executable, "-m", "treadle", "memcheck", str(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no mistakes of kernels" in done.stdout + done.stderr
