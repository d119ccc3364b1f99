"""`treadle.cuda.random` against values of Numba's, and against the published algorithm in Python's integers."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from treadle import cuda, float32, float64, njit, types, uint64, void
from treadle.cuda import random
from treadle.cuda.random import (
    create_xoroshiro128p_states,
    init_xoroshiro128p_state,
    init_xoroshiro128p_states,
    xoroshiro128p_dtype,
    xoroshiro128p_jump,
    xoroshiro128p_next,
    xoroshiro128p_normal_float32,
    xoroshiro128p_normal_float64,
    xoroshiro128p_type,
    xoroshiro128p_uniform_float32,
    xoroshiro128p_uniform_float64,
)

MASK = 2**64 - 1


class Generator:
    """xoroshiro128+ (Blackman and Vigna 2016) seeded by splitmix64 (Vigna 2015), in Python's integers."""

    def __init__(self, seed):
        z = (seed + 0x9E3779B97F4A7C15) & MASK
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        self.s0 = self.s1 = z ^ z >> 31

    def next(self):
        s0, s1 = self.s0, self.s1 ^ self.s0
        result = (self.s0 + self.s1) & MASK
        self.s0 = ((s0 << 55 | s0 >> 9) ^ s1 ^ s1 << 14) & MASK
        self.s1 = (s1 << 36 | s1 >> 28) & MASK
        return result

    def jump(self):
        t0 = t1 = 0
        for word, bit in itertools.product((0xBEAC0467EBA5FACB, 0xD86B048B86AA9922), range(64)):
            if word >> bit & 1:
                t0, t1 = t0 ^ self.s0, t1 ^ self.s1
            self.next()
        self.s0, self.s1 = t0, t1


# Recorded from numba 0.68.1 (numba.cuda.random compiled for the CPU): (n, seed, subsequence_start) and the states.
STATES = {
    (3, 1, 0): [
        (10451216379200822465, 10451216379200822465),
        (8341117667364343960, 7824662623250379246),
        (809817624983272012, 15258973161149853818),
    ],
    (2, 42, 3): [(17249457156002458569, 895864088961879842), (10833148214898112945, 14266798641763014822)],
    (2, 0, 0): [(16294208416658607535, 16294208416658607535), (1319903108697972401, 8129430270689023908)],
    (2, 2**64 - 1, 1): [
        (17324877810520127112, 6708399602603917828),
        (4980911967977892740, 14034483315415444607),
    ],
}
# The same, from two states of seed 7: three of each kind one after the other, and the states after a jump.
NEXT = [
    [14382179201784748974, 16983608492808771846, 3783465655889718873],
    [1776694608361580957, 1003667032664051039, 4408015159674180612],
]
UNIFORM_32 = [
    [0.38534048199653625, 0.8203327655792236, 0.37608522176742554],
    [0.5430215001106262, 0.6924260258674622, 0.10188419371843338],
]
UNIFORM_64 = [
    [0.5721661871356772, 0.4271574692022303, 0.30005092536604583],
    [0.11910058255521694, 0.829099824137604, 0.919501991446652],
]
NORMAL_32 = [
    [0.8618180751800537, -1.1004767417907715, -2.1460070610046387],
    [-0.10501427948474884, -0.34456974267959595, -0.938894510269165],
]
NORMAL_64 = [
    [-0.9504196113924926, -1.4110415778974073, 0.21406006664054586],
    [1.124271239313782, 1.1422077560950619, -1.5144473650247614],
]
AFTER = [(10485660645393239643, 4303908901977078880), (14026072185892337299, 1097779320373022863)]


def pairs(states):
    records = states.copy_to_host()
    assert records.dtype == xoroshiro128p_dtype and records.dtype.itemsize == 16
    return [(int(a), int(b)) for a, b in records]


def draw(states, u, f32, f64, n32, n64):
    i = cuda.grid(1)
    for j in range(u.shape[1]):
        u[i, j] = xoroshiro128p_next(states, i)
    for j in range(u.shape[1]):
        f32[i, j] = xoroshiro128p_uniform_float32(states, i)
    for j in range(u.shape[1]):
        f64[i, j] = xoroshiro128p_uniform_float64(states, i)
    for j in range(u.shape[1]):
        n32[i, j] = xoroshiro128p_normal_float32(states, i)
    for j in range(u.shape[1]):
        n64[i, j] = xoroshiro128p_normal_float64(states, i)
    xoroshiro128p_jump(states, i)


@pytest.mark.parametrize("case", STATES)
def test_states(case):
    assert pairs(create_xoroshiro128p_states(*case)) == STATES[case]


def test_states_by_the_published_algorithm():
    states = create_xoroshiro128p_states(40, 0x123456789ABCDEF0, subsequence_start=5)
    model = Generator(0x123456789ABCDEF0)
    for _ in range(5):
        model.jump()
    for pair in pairs(states):
        assert pair == (model.s0, model.s1)
        model.jump()


@pytest.mark.parametrize(
    "signature",
    [
        None,
        void(xoroshiro128p_type[:], uint64[:, :], float32[:, :], float64[:, :], float32[:, :], float64[:, :]),
    ],
)
def test_values(signature):
    kernel = cuda.jit(signature)(draw) if signature else cuda.jit(draw)
    states = create_xoroshiro128p_states(2, 7)
    u, f32, f64, n32, n64 = (np.zeros((2, 3), t) for t in ("u8", "f4", "f8", "f4", "f8"))
    kernel[2, 1](states, u, f32, f64, n32, n64)
    assert u.tolist() == NEXT and f32.tolist() == UNIFORM_32 and f64.tolist() == UNIFORM_64
    # the logarithm's and the cosine's last places are the library's: an ulp each
    np.testing.assert_allclose(n32, NORMAL_32, rtol=4e-7)
    np.testing.assert_allclose(n64, NORMAL_64, rtol=4e-7)
    assert pairs(states) == AFTER


def test_types_are_numbas():
    def all_of(s):
        return (
            xoroshiro128p_next(s, 0),
            xoroshiro128p_uniform_float32(s, 0),
            xoroshiro128p_uniform_float64(s, 0),
            xoroshiro128p_normal_float32(s, 0),
            xoroshiro128p_normal_float64(s, 0),
        )

    compiled = njit(all_of)
    states = np.array([(1, 2)], xoroshiro128p_dtype)
    compiled(states)
    (ret,) = compiled.overloads.values()
    assert ret == types.Tuple((uint64, float32, float64, float32, float64))
    init_xoroshiro128p_state(states, 0, 1)  # the functions are compiled ones, for the host's arrays, too
    assert states.tolist() == [STATES[3, 1, 0][0]]


def test_many_values():
    states = create_xoroshiro128p_states(8, 11)
    models = [Generator(11)]
    for _ in range(7):
        models.append(Generator(0))
        models[-1].s0, models[-1].s1 = models[-2].s0, models[-2].s1
        models[-1].jump()

    @cuda.jit
    def fill(states, u, f):
        i = cuda.grid(1)
        if i < u.shape[0]:
            for j in range(u.shape[1]):
                u[i, j] = xoroshiro128p_next(states, i)
                f[i, j] = xoroshiro128p_uniform_float64(states, i)

    u, f = np.zeros((8, 500), np.uint64), np.zeros((8, 500))
    fill[3, 4](states, u, f)
    for i, m in enumerate(models):
        want = [(m.next(), (m.next() >> 11) * 2.0**-53) for _ in range(500)]
        assert [(int(a), b) for a, b in zip(u[i], f[i])] == want


def test_what_normal_numbers_look_like():
    @cuda.jit
    def fill(states, out):
        i = cuda.grid(1)
        for j in range(out.shape[1]):
            out[i, j] = xoroshiro128p_normal_float32(states, i)

    out = np.zeros((256, 400), np.float32)
    fill[2, 128](create_xoroshiro128p_states(256, 3), out)
    n = out.size
    assert abs(out.mean()) < 5 / math.sqrt(n) and abs(out.var() - 1) < 5 * math.sqrt(2 / n)
    assert abs((np.abs(out) < 1).mean() - 0.6827) < 0.01 and np.isfinite(out).all()


def test_monte_carlo():
    # The example of Numba's documents.
    @cuda.jit
    def compute_pi(rng_states, iterations, out):
        thread_id = cuda.grid(1)
        inside = 0
        for i in range(iterations):
            x = xoroshiro128p_uniform_float32(rng_states, thread_id)
            y = xoroshiro128p_uniform_float32(rng_states, thread_id)
            if x**2 + y**2 <= 1.0:
                inside += 1
        out[thread_id] = 4.0 * inside / iterations

    states = create_xoroshiro128p_states(64 * 24, seed=1)
    out = np.zeros(64 * 24, dtype=np.float32)
    compute_pi[24, 64](states, 1000, out)
    assert abs(out.mean() - math.pi) < 0.01
    again = np.zeros_like(out)
    compute_pi[24, 64](create_xoroshiro128p_states(64 * 24, seed=1), 1000, again)
    assert (out == again).all()
    compute_pi[24, 64](states, 1000, again)  # the states went on
    assert (out != again).any()


def test_arrays_of_states():
    states = create_xoroshiro128p_states(4, 1)
    assert states.shape == (4,) and states.size == len(states) == 4 and states.ndim == 1
    assert states.dtype == xoroshiro128p_dtype and states.strides == (16,) and states.nbytes == 64
    saved = states.copy_to_host()
    assert states[1] == saved[1] and states[-1]["s0"] == saved[3]["s0"]
    into = np.zeros(4, xoroshiro128p_dtype)
    assert states.copy_to_host(into) is into and (into == saved).all()
    tail = states[2:]
    init_xoroshiro128p_states(tail, 9)
    assert pairs(tail) == pairs(create_xoroshiro128p_states(2, 9)) and pairs(states)[2:] == pairs(tail)
    states.copy_to_device(saved)
    assert (states.copy_to_host() == saved).all()
    states[0] = saved[3]
    assert states[0] == saved[3]
    states[:2] = states[2:]
    assert (states.copy_to_host()[:2] == saved[2:]).all()
    assert len(create_xoroshiro128p_states(0, 1).copy_to_host()) == 0


def test_device_arrays_of_the_dtype():
    for n in (0, 3):
        states = cuda.device_array(n, dtype=xoroshiro128p_dtype)
        init_xoroshiro128p_states(states, 1, stream=cuda.stream())
        assert pairs(states) == STATES[3, 1, 0][:n]
    out = np.zeros(3, np.uint64)

    @cuda.jit
    def one(states, out):
        i = cuda.grid(1)
        out[i] = xoroshiro128p_next(states, i)

    one[1, 3](states, out)
    assert out.tolist() == [(a + b) & MASK for a, b in STATES[3, 1, 0]]
    for part in (slice(4, 7), slice(0, 6, 2), slice(8, 5, -1)):  # views
        every = create_xoroshiro128p_states(9, 5)
        want = [(a + b) & MASK for a, b in pairs(every)]
        one[1, 3](every[part], out)
        assert out.tolist() == want[part]
    assert every["s0"].copy_to_host().tolist() == [a for a, _ in pairs(every)]


def test_what_is_refused():
    states = create_xoroshiro128p_states(2, 1)
    for call, error, match in (
        (lambda: create_xoroshiro128p_states(-1, 1), ValueError, "n must not be negative"),
        (lambda: create_xoroshiro128p_states(1, 1, -1), ValueError, "subsequence_start must not be negative"),
        (lambda: create_xoroshiro128p_states(1.5, 1), TypeError, "float"),
        (lambda: create_xoroshiro128p_states(1, 1.5), TypeError, "float"),
        (lambda: create_xoroshiro128p_states(1, 1, stream="s"), TypeError, "stream"),
        (lambda: init_xoroshiro128p_states(np.zeros((2, 2), np.uint64), 1), TypeError, "states"),
        (lambda: init_xoroshiro128p_states(cuda.device_array(2), 1), TypeError, "states"),
        (lambda: states.copy_to_host(np.zeros(3, xoroshiro128p_dtype)), ValueError, "shape"),
        (lambda: states.copy_to_host(np.zeros(2)), TypeError, "float64"),
    ):
        with pytest.raises(error, match=match):
            call()

    @cuda.jit(boundscheck=True)
    def beyond(states, out):
        out[0] = xoroshiro128p_uniform_float64(states, 2)

    with pytest.raises(IndexError):
        beyond[1, 1](states, np.zeros(1))
    assert set(random.__all__) <= set(dir(random))


def test_as_numbas_module():
    program = """
        from treadle.run import install
        install()
        import numpy as np
        from numba import cuda
        from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32
        import numba.cuda.random, treadle.cuda
        assert numba.cuda.random.xoroshiro128p_dtype is treadle.cuda.random.xoroshiro128p_dtype

        @cuda.jit
        def fill(states, out):
            i = cuda.grid(1)
            out[i] = xoroshiro128p_uniform_float32(states, i)

        out = cuda.device_array(64, np.float32)
        fill[1, 64](create_xoroshiro128p_states(64, seed=1), out)
        out = out.copy_to_host()
        assert 0 <= out.min() < out.max() <= 1
        print("done")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0 and done.stdout.strip() == "done", done.stderr
