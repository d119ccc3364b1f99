"""Records in kernels: arrays of a structured dtype and their items as arguments, in shared and local memory, and handed to functions."""

from __future__ import annotations

import numpy as np
import pytest
from treadle import cuda
from treadle.errors import KernelCheckError, TypingError, UnsupportedError
from treadle.types import as_type

INNER = np.dtype([("a", "i2"), ("b", "c8")])
ALIGNED = np.dtype([("x", "f4"), ("y", "f8"), ("n", "i4"), ("v", "f4", 3), ("in", INNER)], align=True)
PACKED = np.dtype([("c", "i1"), ("y", "f8"), ("n", "i4")])
PAIR = np.dtype([("y", "f8"), ("n", "i4")])


def records(dtype, n=64):
    a = np.zeros(n, dtype)
    a["y"], a["n"] = np.arange(n), np.arange(n) * 2
    return a


def same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape
    for name in a.dtype.names:
        np.testing.assert_array_equal(a[name], b[name])


@cuda.jit(device=True)
def grown(r, k):
    r.n += k
    return r.y * 2


@cuda.jit
def grow(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i].y = grown(a[i], 3)


@pytest.mark.parametrize("dtype", [ALIGNED, PACKED, PAIR], ids=["aligned", "packed", "pair"])
@pytest.mark.parametrize("form", ["host", "device", "strided", "backwards", "recarray"])
def test_arrays(dtype, form):
    a = records(dtype, 60)
    want = a.copy()
    given = {
        "host": lambda: a,
        "device": lambda: cuda.to_device(a),
        "strided": lambda: a[::2],
        "backwards": lambda: a[::-1],
        "recarray": lambda: a.view(np.recarray),
    }[form]()
    part = want[::2] if form == "strided" else want
    part["n"] += 3
    part["y"] *= 2
    grow[2, 32](given)
    same(given.copy_to_host() if form == "device" else a, want)


def test_arrays_of_two_axes_and_whole_records():
    @cuda.jit
    def turn(a, b):
        i, j = cuda.grid(2)
        if i < a.shape[0] and j < a.shape[1]:
            b[j, i] = a[i, j]

    a = records(ALIGNED, 35).reshape(5, 7)
    b = np.zeros((7, 5), ALIGNED)
    turn[(1, 1), (8, 8)](a, b)
    same(b, a.T.copy())


@cuda.jit
def fill(r):
    r["n"] = 5
    r["in"].a = 3
    r["in"]["b"] = 1 + 2j
    r.v[2] = r.y + 7


def filled(r):
    return r["n"] == 5 and r["in"]["a"] == 3 and r["in"]["b"] == 1 + 2j and r["v"][2] == r["y"] + 7


def test_records():
    """One that lies in an array is written to there, one of its own too."""
    a = records(ALIGNED)
    own = np.zeros((), ALIGNED)[()]
    fill[1, 1](a[3])
    fill[1, 1](own)
    assert filled(a[3]) and filled(own) and a["n"][2] == 4
    d = cuda.to_device(a)
    fill[1, 1](d[6])
    one = cuda.to_device(a[8])
    fill[1, 1](one)
    assert filled(d.copy_to_host()[6]) and filled(one.copy_to_host()) and a["n"][6] == 12
    fill[1, 1](cuda.Out(a[9]))
    fill[1, 1](cuda.In(a[10]))
    assert a["n"][9] == 5 and a["n"][10] == 20
    a.flags.writeable = False
    with pytest.raises(TypingError, match="read-only"):
        fill[1, 1](a[4])


def test_a_record_and_the_array_that_it_lies_in():
    """They share memory on the device, too."""

    @cuda.jit
    def both(a, r, t):
        r.n = 7
        a[1].n = r.n + a[0].n
        t[0].n = t[1]

    a = records(PAIR)
    both[1, 1](a, a[0], (a[2], 9))
    assert list(a["n"][:4]) == [7, 14, 9, 6]


def test_streams():
    a = records(ALIGNED)
    d, s = cuda.to_device(a), cuda.stream()
    grow[2, 32, s](d)
    fill[1, 1, s](d[1])
    s.synchronize()
    got = d.copy_to_host()
    assert got["n"][0] == 3 and filled(got[1]) and got["y"][5] == 10


def test_signatures():
    r = as_type(ALIGNED)

    @cuda.jit((r[:], r))
    def spread(a, r):
        i = cuda.grid(1)
        if i < a.size:
            a[i].n = r.n
        if i == 0:
            r.y = 9

    a, own = records(ALIGNED), np.zeros(1, ALIGNED)[0]
    own["n"] = 77
    spread[2, 32](a, own)
    assert (a["n"] == 77).all() and own["y"] == 9
    own["n"] = 78
    one = cuda.to_device(own)
    spread[2, 32](a, one)
    assert (a["n"] == 78).all() and one.copy_to_host()["y"] == 9
    with pytest.raises(TypeError):
        spread[2, 32](records(PAIR), own)


def test_shared_and_local_memory():
    kind = as_type(ALIGNED)

    @cuda.jit
    def turn(a):
        s = cuda.shared.array(64, dtype=ALIGNED)
        mine = cuda.local.array((2, 2), dtype=kind)
        i = cuda.threadIdx.x
        s[i] = a[i]
        cuda.syncthreads()
        mine[1, 0] = s[63 - i]
        mine[0, 1].y = mine[1, 0].y + 0.5
        a[i] = mine[1, 0]
        a[i].y = mine[0, 1].y

    a = records(ALIGNED)
    want = a[::-1].copy()
    want["y"] += 0.5
    turn[1, 64](a)
    same(a, want)


def test_shared_memory_of_a_launch():
    @cuda.jit
    def turn(a):
        s = cuda.shared.array(0, dtype=PAIR)
        i = cuda.threadIdx.x
        s[i] = a[i]
        cuda.syncthreads()
        a[i] = s[s.size - 1 - i]

    a = records(PAIR, 32)
    want = a[::-1].copy()
    turn[1, 32, 0, 32 * PAIR.itemsize](a)
    same(a, want)


def test_fields_in_kernels():
    """A field of all records is an array there: atomics, sums."""

    @cuda.jit
    def gather(a, out):
        i = cuda.grid(1)
        if i < a.size:
            cuda.atomic.add(a["n"], 0, a[i].n * (i > 0))
            cuda.atomic.max(out["y"], 0, a["y"][i])

    a, out = records(ALIGNED), np.zeros(1, ALIGNED)
    want = int(a["n"].sum())
    gather[2, 32](cuda.to_device(a), out)
    assert out["y"][0] == 63
    d = cuda.to_device(a)
    gather[2, 32](d, out)
    assert d.copy_to_host()["n"][0] == want
    with pytest.raises(UnsupportedError, match="not aligned"):
        gather[2, 32](records(PACKED), out)


def test_races_and_bounds():
    @cuda.jit(debug=True)
    def far(a):
        a[cuda.threadIdx.x * 100].n = 1

    with pytest.raises(IndexError, match="index 100 is out of bounds"):
        far[1, 2](records(ALIGNED))
        cuda.synchronize()


@pytest.mark.emulated
def test_a_race_on_a_field_is_found():
    @cuda.jit(debug=True)
    def meet(a, out):
        s = cuda.shared.array(32, dtype=PAIR)
        i = cuda.threadIdx.x
        s[i].n = i
        out[i] = s[31 - i].n

    @cuda.jit(debug=True)
    def apart(a, out):
        s = cuda.shared.array(32, dtype=PAIR)
        i = cuda.threadIdx.x
        s[i].n = i
        s[i].y = i
        cuda.syncthreads()
        s[31 - i].n = 3
        out[i] = s[i].y

    out = np.zeros(32)
    apart[1, 32](records(PAIR), out)
    np.testing.assert_array_equal(out, np.arange(32))
    with pytest.raises(KernelCheckError, match="race"):
        meet[1, 32](records(PAIR), out)


def test_what_is_refused():
    for given in (np.zeros(3, [("o", "O")]), np.zeros(2, "V5")):
        with pytest.raises(TypeError):
            grow[1, 1](given)
    with pytest.raises(TypingError, match="has no field 'z'"):

        @cuda.jit
        def k(a):
            a[0].z = 1

        k[1, 1](records(PAIR))


def test_from_the_cache(tmp_path, monkeypatch):
    """Code that another process wrote is taken."""
    import subprocess
    import sys

    program = tmp_path / "program.py"
    program.write_text(
        """
import numpy as np
from treadle import cuda

@cuda.jit(cache=True)
def k(a, r):
    i = cuda.grid(1)
    if i < a.size:
        a[i].n = r.n + i

a = np.zeros(40, [("y", "f8"), ("n", "i4")])
r = np.zeros(1, a.dtype)[0]
r["n"] = 2
k[2, 32](a, r)
assert (a["n"] == np.arange(40) + 2).all()
print("right")
"""
    )
    monkeypatch.setenv("TREADLE_CACHE_DIR", str(tmp_path / "cache"))
    for _ in range(2):
        r = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
        assert r.returncode == 0 and "right" in r.stdout, r.stderr
