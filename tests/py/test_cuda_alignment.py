"""Arrays of the host whose items are not aligned, as arguments of kernels: as those that are."""

from __future__ import annotations

import numpy as np
import pytest
from treadle import cuda


def odd(a, by=4):
    """The array, with its items off their multiples."""
    raw = np.zeros(a.nbytes + by, np.uint8)
    made = raw[by:].view(a.dtype).reshape(a.shape)
    made[...] = a
    assert not made.flags.aligned
    return made


@cuda.jit
def add(a, b):
    i = cuda.grid(1)
    if i < a.shape[0]:
        a[i] += b[i]


@cuda.jit
def add_of(pair, b):
    i = cuda.grid(1)
    if i < b.shape[0]:
        pair[0][i] += b[i]


PACKED = np.dtype([("tag", "i4"), ("x", "f8")])
A = np.arange(8.0)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        lambda: odd(A),
        lambda: odd(A, 1)[::-1],
        lambda: odd(np.arange(16.0))[::2],
        lambda: np.frombuffer(bytearray(44 + 64), "<f8", offset=44),
        lambda: np.zeros(8, PACKED)["x"],
        lambda: odd(A.astype(np.complex128)),
        lambda: odd(A.astype(np.float32), 2),
        lambda: odd(np.arange(8), 4),
    ],
)
def test_written_and_read(make, stream):
    a, b = make(), make()
    before = a.copy()
    b[...] = np.arange(8) + 1
    config = (1, 8, cuda.stream()) if stream else (1, 8)
    add[config](a, b)
    assert (a == before + np.arange(8) + 1).all() and (b == np.arange(8) + 1).all()
    add[config](a, a)  # one array twice is one
    assert (a == 2 * (before + np.arange(8) + 1)).all()
    add_of[config]((a, 3), b)
    assert (a == 2 * before + 3 * (np.arange(8) + 1)).all()


def test_which_way():
    a, b = odd(A), odd(A)
    add[1, 8](cuda.In(a), b)
    assert (a == A).all()
    b.flags.writeable = False
    add[1, 8](a, b)
    assert (a == 2 * A).all()
    d = cuda.to_device(a)
    add[1, 8](d, b)
    assert (d.copy_to_host() == 3 * A).all()
    out = odd(np.zeros(8))
    d.copy_to_host(out)
    assert (out == 3 * A).all()


@pytest.mark.emulated
def test_what_is_refused_and_what_raises():
    a = odd(np.arange(9.0))
    with pytest.raises(ValueError, match="shares memory"):
        add[1, 8](a[1:], a[:-1])
    assert (a == np.arange(9)).all()

    @cuda.jit
    def bad(a):
        a[cuda.grid(1) * 2] = 5

    with pytest.raises(IndexError):
        bad[1, 8](a)
    assert a[0] == 5  # what was done before it is seen


class Plain(np.ndarray):
    pass


def mapped(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(3 + 64))
    return np.memmap(path, "<f8", "r+", 3, (8,))


COMPLEX = np.dtype([("z", "c16"), ("x", "f8")])  # 24 bytes apart


@pytest.mark.emulated
@pytest.mark.parametrize(
    "make",
    [
        mapped,
        lambda _: odd(np.zeros(8)).view(np.recarray),
        lambda _: odd(np.zeros(8)).view(Plain),
        lambda _: np.zeros(8, COMPLEX)["z"],
        lambda _: np.zeros((8, 2), COMPLEX)["z"][:, 1],
    ],
)
def test_other_classes_and_complex_items_that_lie_apart(make, tmp_path):
    a = make(tmp_path)
    b = np.arange(8.0).astype(a.dtype)
    add[1, 8](a, b)
    add_of[1, 8]((a, 1), b)
    assert (np.asarray(a) == 2 * b).all()


@pytest.mark.emulated
def test_classes_that_are_refused_are_refused():
    with pytest.raises(TypeError, match="matrix"):
        add[1, 1](odd(np.zeros((1, 1))).view(np.matrix), np.zeros(1))
