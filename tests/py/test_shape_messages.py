"""Errors of shapes and places say what NumPy's say: both shapes, the place and the size of the axis."""

import numpy as np
import pytest
from treadle import njit, prange


def compiled(text, **options):
    names = {"np": np, "prange": prange}
    exec(f"def f(a, b):\n    {text}", names)
    return njit(**options)(names["f"]), names["f"]


def message(f, *args):
    with pytest.raises((ValueError, IndexError)) as caught:
        f(*args)
    return type(caught.value), str(caught.value).strip()


def ones(*shape):
    return np.ones(shape)


# Where NumPy's own text says all, it is this one.
AS_NUMPY = [
    ("return a + b", ones(3), ones(4)),
    ("return a + b", ones(2, 3), ones(4)),
    ("return a * b", ones(2, 3, 4), ones(2, 1, 5)),
    ("a[:] = b", ones(3), ones(2)),
    ("a[1:, :] = b", ones(3, 4), ones(3, 4)),
    ("a[:] = (1.0, 2.0)", ones(3), ones(2)),
    ("return np.dot(a, b)", ones(3), ones(4)),
    ("return np.dot(a, b)", ones(3, 2), ones(3, 2)),
    ("return np.dot(a, b)", ones(3, 2), ones(3)),
    ("return np.dot(a, b)", ones(2, 3, 2), ones(2, 3, 4)),
    ("return np.concatenate((a, b))", ones(3, 2), ones(3, 3)),
    ("return np.concatenate((a, a, b), axis=1)", ones(3, 2), ones(4, 3)),
    ("return np.vstack((a, b))", ones(2), ones(3)),
    ("return np.hstack((a, b))", ones(3, 2), ones(2, 2)),
    ("return np.column_stack((a, b))", ones(3), ones(2)),
    ("return np.append(a, b, axis=0)", ones(3, 2), ones(3, 3)),
    ("return a.reshape(4)", ones(6), ones(1)),
    ("return np.reshape(a, (4, 2))", ones(2, 3), ones(1)),
    ("return a[b.astype(np.int64), np.arange(2)]", ones(3, 3), ones(3)),
    ("np.put(a, np.array([1, 5]), 1.0)", ones(3), ones(1)),
    ("np.put(a, np.array([1, -5]), 1.0)", ones(3), ones(1)),
    ("return np.delete(a, 7, axis=1)", ones(2, 3), ones(1)),
    ("return np.insert(a, -7, 1.0, axis=1)", ones(2, 3), ones(1)),
    ("return np.take(a, np.array([7]))", ones(3), ones(1)),
]


@pytest.mark.parametrize("text,a,b", AS_NUMPY, ids=[row[0] for row in AS_NUMPY])
@pytest.mark.parametrize("parallel", [False, True])
def test_a_message_is_numpys(text, a, b, parallel):
    f, plain = compiled(text, parallel=parallel)
    assert message(f, a, b) == message(plain, a, b)


# Where NumPy names no shape, or operands that there are not here, both are in it all the same.
BOTH = [
    ("return np.where(a > 0, b, b)", ones(2, 3), ones(3, 3), "with shapes (2,3) (3,3)"),
    ("return a @ b", ones(3, 2), ones(3, 2), "shapes (3,2) and (3,2) not aligned: 2 (dim 1) != 3 (dim 0)"),
    ("return np.inner(a, b)", ones(2, 3), ones(4, 2), "(2,3) and (4,2) not aligned: 3 (dim 1) != 2 (dim 1)"),
    ("return np.stack((a, b))", ones(3, 2), ones(3, 3), "(3,2) and (3,3)"),
    ("return np.stack((a, b), axis=-1)", ones(3), ones(2), "(3,) and (2,)"),
    ("a += b", ones(2, 3), ones(2), "from shape (2,) into shape (2,3)"),
    ("return np.broadcast_to(a, (2, 4))", ones(3), ones(1), "from shape (3,) into shape (2,4)"),
    ("return np.broadcast_arrays(a, b)[0]", ones(3), ones(2), "(3,) (2,)"),
    ("return np.matmul(a, b)", ones(3, 2, 2), ones(2, 2, 2), "shapes (3,) (2,)"),
    ("return np.random.normal(a, b)", ones(3), ones(2), "(3,) (2,)"),
    ("return a + b", ones(1, 2, 3, 4, 5), ones(1, 2, 3, 4, 6), "of 5 and 5 axes, with sizes 5 and 6 of one"),
    ("return a + b", ones(1, 2, 3, 4), ones(1, 2, 3, 6), "shapes (1,2,3,4) (1,2,3,6)"),
    ("return a.reshape(4, -1)", ones(6), ones(1), "size 6 into shape (4,-1)"),
    (
        "for i in prange(3):\n        a[i] = (a[i] + b)[0]",
        ones(3, 2),
        ones(3),
        "shapes (2,) (3,)",
    ),
]


@pytest.mark.parametrize("text,a,b,said", BOTH, ids=[row[0] for row in BOTH])
@pytest.mark.parametrize("parallel", [False, True])
def test_a_message_has_both_shapes(text, a, b, said, parallel):
    f, _ = compiled(text, parallel=parallel)
    assert said in message(f, a, b)[1]


def test_a_message_from_within_an_inlined_callee_and_a_handler():
    @njit(inline="always")
    def add(a, b):
        return a + b

    @njit
    def again(a, b):
        try:
            return add(a, b)[0, 0]
        except ValueError:
            a[0] = 7.0
            raise

    a = ones(2, 3)
    assert message(again, a, ones(3, 4)) == (
        ValueError,
        "operands could not be broadcast together with shapes (2,3) (3,4)",
    )
    assert a[0, 0] == 7
