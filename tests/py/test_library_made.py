"""Arrays made of functions and iterators, questions about types, methods of arrays that are functions of the library, np.nditer of several arrays: held to NumPy's."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from treadle import njit, prange
from treadle.errors import TypingError

sys.path.insert(0, str(Path(__file__).parent))
from library_check import check, outcome, same  # noqa: E402

LINE = np.array([1.0, -2.0, 3.5])
TABLE = np.arange(6.0).reshape(2, 3)
NUMBERS = [
    np.bool_,
    np.int8,
    np.uint16,
    np.int32,
    np.int64,
    np.float16,
    np.float32,
    np.float64,
    np.complex64,
    np.complex128,
]


@pytest.mark.parametrize(
    "text",
    ["np.fromfunction(lambda i, j: i + 2 * j, (3, b))", "np.fromfunction(lambda i: i, (b,), dtype=np.int32)", "np.fromfunction(lambda i, j: i == j, (b, b), dtype=int)", "np.fromfunction(lambda i: 5.0, (b,))",
     "np.fromfunction(lambda i, j, k: i * j - k, (2, 0, b))",
     "np.fromiter(a, np.float32)", "np.fromiter(range(b * 20), np.int64)", "np.fromiter((1, 2.5), np.float64)", "np.fromiter(map(np.exp, a), np.float64)", "np.fromiter(a, np.float64, 2)",
     "np.fromiter(a, np.float64, 9)", "np.fromiter(a, np.float64, 0)", "np.fromiter(a, np.float64, count=3)", "np.fromiter(a[:0], np.int8)", "np.fromiter(a, np.int64)",
     "np.row_stack((a, a))", "np.row_stack((a, a), dtype=np.float32)",
     "np.lexsort((b, 1))", "np.lexsort([2, 1])", "np.lexsort(a)", "np.lexsort((a, -a))", "np.lexsort(np.stack((a, a)))", "np.lexsort(a[:0])"],
)  # fmt: skip
def test_made(text):
    if "row_stack" in text and not hasattr(np, "row_stack"):
        pytest.skip("this NumPy has none")
    check(text, LINE, 4, rtol=1e-15)


def test_an_iterator_is_used_as_far_as_it_must():
    def f(a):
        it = iter(a)
        first = np.fromiter(it, np.float64, 2)
        return first.sum(), next(it)

    same(njit(f)(LINE), f(LINE), "fromiter of an iterator")


@pytest.mark.parametrize("dtype", NUMBERS)
def test_types_asked_for(dtype):
    a = np.ones(2, dtype)
    if dtype is not np.bool_:  # NumPy has no common type with truth values
        check("np.zeros(1, np.common_type(a))", a)
        check("np.zeros(1, np.common_type(a, b))", a, np.ones(1, np.float32))
    check("np.zeros(1, np.min_scalar_type(a))", a)


@pytest.mark.parametrize(
    "number", "0 1 255 256 -1 -128 -129 65536 -40000 2**32 -2**40 True 1.0 7e4 1e300 -1e39 np.inf".split()
)
def test_the_smallest_type(number):
    check(f"np.zeros(1, np.min_scalar_type({number}))")


@pytest.mark.parametrize("text", ["np.common_type(a > 0)", "np.min_scalar_type(a[0])"])
def test_types_that_are_not_known(text):
    space = {"np": np}
    exec(f"def f(a): return np.zeros(1, {text})", space)
    with pytest.raises(TypingError):
        njit(space["f"])(LINE)


# --- methods ---


@pytest.mark.parametrize("dtype", NUMBERS)
def test_byteswap(dtype):
    whole = np.arange(1, 25).reshape(4, 6).astype(dtype)
    for a in (
        whole,
        whole[::2, 1::2],
        whole.T,
        np.asfortranarray(whole),
        whole[:0],
        whole[0, 0:1].reshape(()),
    ):
        want, got = a.byteswap(), njit(lambda a: a.byteswap())(a)
        assert got.dtype == want.dtype and got.tobytes() == want.tobytes()

        def f(a):
            return a.byteswap(True)

        kept = np.copy(a, order="K")
        assert njit(f)(kept).tobytes() == want.tobytes() == kept.tobytes()


def stored(text: str, *args: np.ndarray) -> None:
    """What a statement leaves in its arrays, compiled and not."""
    space = {"np": np}
    exec(f"def f({', '.join('abcd'[: len(args)])}):\n    {text}", space)
    want, got = [np.copy(a, order="K") for a in args], list(args)
    same(
        outcome(njit(space["f"]), tuple(got)) or tuple(got),
        outcome(space["f"], tuple(want)) or tuple(want),
        text,
    )


@pytest.mark.parametrize(
    "text",
    [
        "a.put(b, [10, 20])",
        "a.put([0, -1], 5)",
        "a.put(indices=b, values=a[0] + 1)",
        "a.put(b, b, 'clip')",
        "a.put([0, 9], 1, mode='wrap')",
        "a.put([7], 1)",
        "a.T.put([1], 9)",
        "a[:0].put([0], a[:0])",
        "np.put(a[:0], [0, 0], a[:0], mode='wrap')",
        "np.put(a[:0], a[:0].astype(np.int64), a)",
        "np.put(a, [0], a[:0])",
    ],
)
def test_put(text):
    for a in (np.arange(6.0), TABLE, np.arange(6, dtype=np.int32), np.arange(12.0)[::2]):
        stored(text, a, np.array([1, 4]))


@pytest.mark.parametrize(
    "text",
    [
        "a.choose((b, -b, b * 10))",
        "a.choose([b, 1.5, 2])",
        "a.choose((b, b), mode='wrap')",
        "a.choose(b, b, mode='clip')",
        "a.choose((b, b))",
        "a.choose(np.stack((b, b, b)))",
    ],
)
def test_choose(text):
    check(text, np.array([0, 2, 1]), LINE)
    check(text, np.array([[0], [1]]), LINE)


def test_methods_where_others_have_the_names():
    """A variable and a function of the user's may have them too, and a library function beside the method."""

    def put(a, i):
        return a[i]

    def f(a, i):
        choose = put(a, i)
        a.put([0], choose)
        np.put(a, [1], 7)
        return a.choose((a * 2, a * 3), mode="clip")

    args = np.array([1, 0, 1]), 2
    same(njit(f)(np.copy(args[0]), 2), f(*args), "put")
    assert njit(lambda t: t.put)(np.array([(3,)], [("put", np.int64)])[0]) == 3
    with pytest.raises(TypingError, match="put"):
        njit(lambda x: x.put([0], 1))(2.5)


def test_methods_in_other_code():
    @njit
    def inner(a, i):
        a.put([i], i)

    @njit(parallel=True, nogil=True, boundscheck=True, fastmath=True)
    def outer(a):
        for i in prange(len(a)):
            inner(a[i], i % 3)
        return a.byteswap()

    got = outer(np.zeros((6, 3)))
    want = np.zeros((6, 3))
    want[np.arange(6), np.arange(6) % 3] = np.arange(6) % 3
    assert got.tobytes() == want.byteswap().tobytes()


@pytest.mark.parametrize(
    "name",
    [
        "aligned",
        "behaved",
        "carray",
        "c_contiguous",
        "f_contiguous",
        "fnc",
        "forc",
        "fortran",
        "writeable",
        "contiguous",
    ],
)
def test_flags(name):
    kinds = [
        TABLE,
        np.asfortranarray(TABLE),
        TABLE[:, ::2],
        TABLE[:1],
        LINE,
        LINE[::2],
        np.zeros(()),
        np.broadcast_to(LINE, (2, 3)),
    ]
    for a in kinds:
        space: dict = {}
        exec(f"def f(a): return a.flags.{name}", space)
        assert njit(space["f"])(a) == space["f"](a), (name, a.shape, a.strides)


@pytest.mark.parametrize(
    "key",
    [
        "C_CONTIGUOUS",
        "F_CONTIGUOUS",
        "C",
        "F",
        "CONTIGUOUS",
        "FORTRAN",
        "WRITEABLE",
        "W",
        "ALIGNED",
        "A",
        "BEHAVED",
        "B",
        "CARRAY",
        "CA",
        "FNC",
        "FORC",
    ],
)
def test_flags_by_name(key):
    space: dict = {}
    exec(f"def f(a): return a.flags[{key!r}]", space)
    for a in (TABLE, TABLE.T, TABLE[:, ::2], np.broadcast_to(LINE, (2, 3))):
        assert njit(space["f"])(a) == space["f"](a), key


def test_flags_that_there_are_not():
    for text in ("a.flags['c_contiguous']", "a.flags['NONE']", "a.flags[0]", "a.flags.none"):
        space: dict = {}
        exec(f"def f(a): return {text}", space)
        with pytest.raises(TypingError):
            njit(space["f"])(TABLE)


@pytest.mark.skipif(not hasattr(np.ndarray, "mT"), reason="NumPy 2's")
def test_matrices_turned():
    check("a.mT", TABLE)
    check("a.mT @ a", TABLE)
    check("a.mT.copy()", np.arange(24.0).reshape(2, 3, 4))
    check("1 if a.device == 'cpu' else 2", TABLE)
    with pytest.raises(TypingError, match="ndim < 2"):
        njit(lambda a: a.mT)(LINE)


# --- np.nditer ---


def doubled(a):
    for x in np.nditer(a, op_flags=["readwrite"]):
        x[...] = 2 * x + 1
    return a


def doubled_in_lists(a):
    for x in np.nditer([a], op_flags=[["readwrite"]], order="C"):
        x[...] += 1
    return a


def in_turn(a):
    s, n = 0.0, 1
    for x in np.nditer(a, order="F"):
        s += n * x
        n += 1
    return s


def numbered(a, b):
    n = 0
    for x, y in np.nditer([a, b], op_flags=[["readonly"], ["readwrite"]]):
        y[...] = x + 10 * n
        n += 1
    return b


def read(a, b):
    s, n = 0.0, 1
    for x, y in np.nditer((a, b)):
        s += n * (x + 2 * y)
        n += 1
    return s


SPACE = np.arange(24.0).reshape(2, 3, 4)
KINDS = [
    TABLE,
    np.asfortranarray(TABLE),
    TABLE[:, ::-1],
    TABLE[::-1, ::2],
    LINE,
    np.zeros(()),
    TABLE[:0],
    SPACE.transpose(2, 0, 1),
    SPACE[:, ::-1, :2],
    SPACE[:, :1],
    np.arange(5),
]


@pytest.mark.parametrize("f", [doubled, doubled_in_lists, in_turn], ids=lambda f: f.__name__)
def test_items_of_one_array(f):
    g = njit(f)
    for a in KINDS:
        whole = np.zeros(tuple(2 * n for n in a.shape), a.dtype)  # views stay views
        views = [
            np.copy(a, order="K"),
            np.copy(a, order="K"),
            whole[tuple(slice(None, None, 2) for _ in a.shape)] if a.ndim else np.zeros(()),
        ]
        views[2][...] = a
        same(outcome(g, (views[0],)), outcome(f, (views[1],)), f"{f.__name__} {a.shape} {a.strides}")
        same(outcome(g, (views[2],)), outcome(f, (np.copy(a),)), f"{f.__name__} of a view, {a.shape}")
        if f is in_turn:  # which stores nothing
            same(outcome(g, (a,)), outcome(f, (a,)), f"{f.__name__} {a.shape} {a.strides}")


@pytest.mark.parametrize("f", [numbered, read], ids=lambda f: f.__name__)
def test_items_of_two_arrays(f):
    g = njit(f)
    for a in KINDS:
        for b in (*KINDS, np.zeros((2, 2)), np.zeros((2, 3, 4)), np.zeros((4, 2, 3), order="F")):
            try:
                np.broadcast_shapes(a.shape, b.shape)
            except ValueError:
                continue
            x, y = (b[...] if f is read else np.copy(b, order="K") for _ in range(2))
            same(
                outcome(g, (a, x)),
                outcome(f, (a, y)),
                f"{f.__name__} {a.shape} {a.strides} {b.shape} {b.strides}",
            )


def test_items_that_are_refused():
    for text, about in (
        ("np.nditer(a, ['multi_index'])", "no flags"), ("np.nditer(a, order='X')", "order"), ("np.nditer(a, op_flags=['allocate'])", "op_flags"), ("np.nditer(2.0)", "arrays"),
        ("np.nditer((a, 2.0), op_flags=[['readonly'], ['readwrite']])", "array"),
    ):  # fmt: skip
        space = {"np": np}
        exec(f"def f(a):\n    for x in {text}:\n        return 1\n    return 0", space)
        with pytest.raises(TypingError, match=about):
            njit(space["f"])(LINE)
    for a in (np.broadcast_to(LINE, (2, 3)), LINE):
        b = np.zeros((2, 3))
        with pytest.raises(ValueError):
            njit(numbered)(b, a)
