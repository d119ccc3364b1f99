"""`int.to_bytes` and `int.from_bytes` (python/treadle/_library/integers.py), against CPython's."""

from __future__ import annotations

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from sizes import examples
from treadle import TypingError, njit

ORDERS = st.sampled_from(["big", "little", "middle"])


def outcome(f, *args):
    try:
        value = f(*args)
    except (ValueError, OverflowError) as e:
        return type(e), str(e)
    return type(value), value


def to_bytes(n, length, order, signed):
    return n.to_bytes(length, order, signed=signed)


def from_bytes(b, order, signed):
    return int.from_bytes(b, order, signed=signed)


written, read = njit(to_bytes), njit(from_bytes)


@hypothesis.given(
    st.integers(-(2**63), 2**63 - 1) | st.integers(-300, 300), st.integers(-1, 10), ORDERS, st.booleans()
)
@hypothesis.settings(deadline=None, max_examples=examples(150))
def test_to_bytes(n, length, order, signed):
    args = (n, length, order, signed)
    assert outcome(written, *args) == outcome(to_bytes, *args)


@hypothesis.given(st.binary(max_size=9), ORDERS, st.booleans())
@hypothesis.settings(deadline=None, max_examples=examples(150))
def test_from_bytes(b, order, signed):
    want = outcome(from_bytes, b, order, signed)
    if want[0] is int and not -(2**63) <= want[1] < 2**63:
        with pytest.raises(OverflowError, match="does not fit into 64 bits"):
            read(b, order, signed)
    else:
        assert outcome(read, b, order, signed) == want


def test_of_what():
    @njit
    def f(n, b, x):
        return (
            n.to_bytes(),
            n.to_bytes(length=2, byteorder="little"),
            True.to_bytes(2, "big"),
            int.from_bytes(b[1:3]),
            int.from_bytes(x),
            int.from_bytes([1, 2], "little"),
        )

    want = (b"\xc8", b"\xc8\x00", b"\x00\x01", 258, 772, 513)
    for n in (200, np.uint8(200), np.uint64(200)):
        assert f(n, b"\x00\x01\x02\x03", np.array([3, 4], np.uint8)) == want
    assert njit(lambda n: n.to_bytes(8, "big"))(np.uint64(2**64 - 1)) == b"\xff" * 8
    with pytest.raises(ValueError, match=r"range\(0, 256\)"):
        read([1, 256], "big", False)
    with pytest.raises(TypingError, match="only integers have 'to_bytes'"):
        njit(lambda x: x.to_bytes(2, "big"))(1.5)
    with pytest.raises(TypingError, match="from_bytes"):
        njit(lambda b: float.from_bytes(b))(b"ab")
