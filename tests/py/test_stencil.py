"""Stencils: what `treadle.stencil` gives is what its kernel gives at each place, called by Python.

The model below calls the kernel, a Python function, with windows of its own.
"""

from __future__ import annotations

import itertools
import os
import pickle
import subprocess
import sys
from typing import Any, Callable

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import cuda, guvectorize, njit, prange, stencil, vectorize
from treadle.errors import TypingError

# --- the model ---


class Beside:
    """An array that is indexed by what lies beside a place."""

    def __init__(self, a: np.ndarray, place: tuple[int, ...]) -> None:
        self.a, self.place = a, place
        self.shape, self.dtype = a.shape, a.dtype

    def __getitem__(self, index: Any) -> Any:
        parts = index if isinstance(index, tuple) else (index,)
        assert len(parts) == self.a.ndim
        at: list[Any] = []
        for i, p in zip(parts, self.place):
            at.append(slice(i.start + p, i.stop + p) if isinstance(i, slice) else i + p)
            assert isinstance(i, slice) or 0 <= at[-1]
        return self.a[tuple(at)]


def model(
    kernel: Callable,
    reach: tuple[tuple[int, int], ...],
    args: tuple,
    dtype: Any,
    cval: Any = 0,
    standard: tuple[int, ...] = (),
    out: np.ndarray | None = None,
) -> np.ndarray:
    """What a stencil gives. The arrays in `args` are windows to the kernel, but for the arguments of these numbers."""
    first = args[0]
    result = np.full(first.shape, cval, dtype) if out is None else out
    before = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    inside = [range(max(0, -lo), n - max(0, hi)) for n, (lo, hi) in zip(first.shape, reach)]
    for place in itertools.product(*inside):
        given = [
            Beside(a, place) if isinstance(a, np.ndarray) and k not in standard else a
            for k, a in enumerate(before)
        ]
        result[place] = kernel(*given)
    return result


def same(got: Any, want: np.ndarray) -> None:
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_array_equal(got, want)


# --- kernels ---


def blur(a):
    return (a[-1] + a[0] + a[1]) / 2


def ahead(a):
    return a[2] - a[0]


def behind(a):
    return a[-3] * 2 + a[-1]


def cross(a):
    return a[-1, 0] + a[1, 0] + a[0, -1] + a[0, 1] - 4 * a[0, 0]


def corner(a):
    return a[0, 0] - a[-2, 1]


def chosen(a):
    if a[0, 0] > a[0, 1]:
        return a[0, 0]
    return a[1, -1]


def seven(a):
    return a[-1, 0, 0] + a[1, 0, 0] + a[0, -2, 0] + a[0, 1, 0] + a[0, 0, -1] + a[0, 0, 3]


KERNELS = {
    1: [(blur, ((-1, 1),)), (ahead, ((0, 2),)), (behind, ((-3, 0),))],
    2: [(cross, ((-1, 1), (-1, 1))), (corner, ((-2, 0), (0, 1))), (chosen, ((0, 1), (-1, 1)))],
    3: [(seven, ((-1, 1), (-2, 1), (-1, 3)))],
}
COMPILED: dict[Any, Callable] = {}


def compiled(kernel: Callable, parallel: bool = False) -> Callable:
    """The stencil of a kernel, called by compiled code."""
    key = kernel, parallel
    if key not in COMPILED:
        s = stencil(kernel)

        @njit(parallel=parallel)
        def call(a):
            return s(a)

        COMPILED[key] = call
        COMPILED[kernel] = s
    return COMPILED[key]


def laid_out(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any, how: str) -> np.ndarray:
    """An array of small whole numbers, of which sums and quotients are the same in any order of vectors."""
    if how == "strided":
        whole = rng.integers(-9 if np.dtype(dtype).kind != "u" else 0, 10, [2 * n + 1 for n in shape]).astype(
            dtype
        )
        return whole[tuple(slice(1, None, 2) for _ in shape)]
    a = rng.integers(-9 if np.dtype(dtype).kind != "u" else 0, 10, shape).astype(dtype)
    if how == "F":
        return np.asfortranarray(a)
    if how == "backwards":
        return np.ascontiguousarray(a[::-1])[::-1]
    if how == "readonly":
        a.flags.writeable = False
    return a


SHAPES = {
    1: st.tuples(st.integers(0, 40)),
    2: st.tuples(st.integers(0, 9), st.integers(0, 20)),
    3: st.tuples(*[st.integers(0, 7)] * 3),
}


@pytest.mark.parametrize("parallel", [False, True])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_all_places(parallel, data):
    ndim = data.draw(st.sampled_from([1, 2, 3]))
    kernel, reach = data.draw(st.sampled_from(KERNELS[ndim]))
    shape = data.draw(SHAPES[ndim])
    dtype = data.draw(
        st.sampled_from(["f8", "f4", "i8", "c16"] if kernel is not chosen else ["f8", "f4", "i8"])
    )
    how = data.draw(st.sampled_from(["C", "F", "strided", "backwards", "readonly"]))
    a = laid_out(np.random.default_rng(data.draw(st.integers(0, 99))), shape, dtype, how)
    result = "f8" if kernel is blur and dtype == "i8" else dtype
    call = compiled(kernel, parallel)
    want = model(kernel, reach, (a,), result)
    same(call(a), want)
    same(COMPILED[kernel](a), want)


@pytest.mark.parametrize(
    ("dtype", "result"),
    [("i1", "i8"), ("i4", "i8"), ("u1", "u8"), ("u4", "u8"), ("f2", "f2"), ("f4", "f4"), ("c8", "c8")],
)
def test_the_result_has_the_type_of_what_the_kernel_gives(dtype, result):
    a = np.arange(12).astype(dtype)
    same(compiled(ahead)(a), model(ahead, ((0, 2),), (a.astype(result),), result))

    @stencil
    def above(a):
        return a[0].real > a[-1].real

    same(above(a), np.array([False] + [True] * 11))

    @stencil
    def seven(a):
        return 7 if a[1] != a[0] else 2.5

    same(seven(a), np.array([7.0] * 11 + [0.0]))


def test_of_the_guide():
    @stencil(cval=1.5)
    def smooth(a):
        return 0.25 * (a[0, -1] + a[0, 1] + a[-1, 0] + a[1, 0])

    @njit
    def twice(a):
        return smooth(smooth(a))

    a = np.arange(30.0).reshape(5, 6)
    want = np.full((5, 6), 1.5)
    want[1:-1, 1:-1] = 0.25 * (a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1])
    same(smooth(a), want)
    assert smooth.__name__ == "smooth"
    once, want[:] = want.copy(), 1.5
    want[1:-1, 1:-1] = 0.25 * (once[1:-1, :-2] + once[1:-1, 2:] + once[:-2, 1:-1] + once[2:, 1:-1])
    same(twice(a), want)


# --- arguments ---


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(0, 12),
    m=st.integers(0, 12),
    more=st.integers(0, 3),
    w=st.integers(-3, 3),
    seed=st.integers(0, 99),
)
def test_several_arrays_and_numbers(n, m, more, w, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 9, (n, m)).astype("f8"), rng.integers(0, 9, (n + more, m)).astype("i4")
    same(BOTH(a, b, w, 0.5), model(both, ((-1, 0), (0, 2)), (a, b, w, 0.5), "f8"))
    same(call_both(a, b, w), model(both, ((-1, 0), (0, 2)), (a, b, w, 0.5), "f8"))


def both(a, b, w, x):
    return a[-1, 0] * w + b[0, 2] * x


BOTH = stencil(both)


@njit
def call_both(a, b, w):
    return BOTH(a, b, w, 0.5)


def test_an_array_whose_index_is_no_relative_one():
    def weighted(a, w):
        return a[-1] * w[0] + a[0] * w[1] + a[1] * w[2]

    s = stencil("constant", standard_indexing=("w",))(weighted)
    a, w = np.arange(9.0), np.array([0.25, 0.5, 2.0])
    want = model(weighted, ((-1, 1),), (a, w), "f8", standard=(1,))
    same(s(a, w), want)
    same(njit(lambda a, w: s(a, w))(a, w), want)
    with pytest.raises(IndexError):
        s(a, w[:2])

    @stencil
    def scaled(a, w):  # not indexed at all: the array itself
        return a[0] * w.sum() + len(w) + a.shape[0] + len(a) + a.ndim

    same(scaled(a, w), a * 2.75 + 3 + 9 + 9 + 1)


def test_what_an_array_has_is_the_arrays():
    @stencil
    def f(a):
        return a[1] * a.size + a.sum() + len(a) + a.shape[0] + (a.dtype == np.float64)

    a = np.arange(4.0)
    same(f(a), np.array([19.0, 23, 27, 0]))


def test_defaults_and_globals():
    @stencil
    def f(a, w=3.0):
        return a[FAR] * w + a[-FAR + 1]

    a = np.arange(8.0)
    same(f(a), model(lambda a: a[2] * 3.0 + a[-1], ((-1, 2),), (a,), "f8"))
    same(f(a, 2), model(lambda a: a[2] * 2 + a[-1], ((-1, 2),), (a,), "f8"))


FAR = 2


# --- neighborhoods ---


def summed(a, n):
    s = 0.0
    for i in range(-n, n + 1):
        s += a[i]
    return s / (2 * n + 1)


def box(a):
    s = 0.0
    for i in range(-2, 2):
        for j in range(0, 3):
            s += a[i, j]
    return s


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(0, 30),
    m=st.integers(0, 12),
    far=st.integers(0, 3),
    seed=st.integers(0, 99),
    parallel=st.booleans(),
)
def test_neighborhood(n, m, far, seed, parallel):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 99, n).astype("f8"), rng.integers(0, 99, (n, m)).astype("f8")
    same(SUMMED(a, far), model(summed, ((-3, 3),), (a, far), "f8"))
    run = call_box_parallel if parallel else call_box
    same(run(b), model(box, ((-2, 1), (0, 2)), (b,), "f8", cval=-1.0))


SUMMED = stencil(neighborhood=((-3, 3),))(summed)
BOX = stencil(neighborhood=((-2, 1), (0, 2)), cval=-1.0)(box)


@njit
def call_box(b):
    return BOX(b)


@njit(parallel=True)
def call_box_parallel(b):
    return BOX(b)


def test_outside_of_the_neighborhood():
    for call in (SUMMED, njit(lambda a, n: SUMMED(a, n))):
        with pytest.raises(IndexError, match=r"index -4 is outside of the neighborhood \(-3, 3\) of axis 0"):
            call(np.ones(20), 4)
        call(np.ones(6), 4)  # there is no place
    with pytest.raises(TypingError, match=r"index 2 is outside of the neighborhood \(-1, 1\) of axis 0"):
        stencil(neighborhood=((-1, 1),))(lambda a: a[2])(np.ones(3))


@settings(max_examples=30, deadline=None)
@given(lo=st.integers(-3, 3), more=st.integers(0, 3), n=st.integers(0, 9))
def test_neighborhood_on_one_side(lo, more, n):
    s = stencil(neighborhood=((lo, lo + more),))(ends)
    a = np.arange(n * 1.0)
    same(s(a, lo, lo + more), model(ends, ((lo, lo + more),), (a, lo, lo + more), "f8"))


def ends(a, lo, hi):
    return a[lo] * 10 + a[hi]


@pytest.mark.parametrize("dtype", ["u8", "i8", "u1", "i2"])
def test_integers_of_all_types_are_indices(dtype):
    s = stencil(neighborhood=((-1, 2),))(lambda a, n: a[n])
    same(s(np.arange(5.0), np.dtype(dtype).type(2)), np.array([0.0, 3, 4, 0, 0]))
    for wrong in (3, 2**64 - 1) if dtype == "u8" else (3,):
        with pytest.raises(IndexError, match="outside of the neighborhood"):
            s(np.arange(5.0), np.dtype(dtype).type(wrong))
    with pytest.raises(TypingError, match="index 18446744073709551615 is outside of the neighborhood"):
        stencil(neighborhood=((-1, 2),))(lambda a: a[18446744073709551615])(np.arange(5.0))


def test_arrays_under_another_name():
    def either(a, b, flag):
        c = a if flag else b
        return c[1] - a[0]

    def inside(a):
        return max(map(lambda i: a[i], (-1, 1)))

    a, b = np.arange(5.0), np.arange(5.0) ** 2
    for k, args in ((either, (a, b, True)), (either, (a, b, False)), (inside, (a,))):
        same(stencil(neighborhood=((-1, 1),))(k)(*args), model(k, ((-1, 1),), args, "f8"))
        assert "gets another name here" in text_of(stencil(k), *args)


def test_slices():
    def middle(a):
        return np.median(a[-1:2, 0:3]) + a[0:2, 1].sum()

    s = stencil(neighborhood=((-1, 1), (0, 2)))(middle)
    for order in "CF":
        a = np.array(np.random.default_rng(0).integers(0, 9, (6, 7)), float, order=order)
        same(s(a), model(middle, ((-1, 1), (0, 2)), (a,), "f8"))
    line = stencil(neighborhood=((-2, 2),))(lambda a, n: a[-n : n + 1].sum())
    same(line(np.arange(9.0), 2), np.array([0, 0, 10, 15, 20, 25, 30, 0, 0.0]))
    with pytest.raises(IndexError, match="outside of the neighborhood"):
        line(np.arange(9.0), 3)
    part = stencil(neighborhood=((0, 1),))(lambda a, lo, hi: a[lo:hi].sum())
    a = np.arange(4.0)
    same(part(a, 0, 2), np.array([1.0, 3, 5, 0]))
    for lo, hi in ((0, 0), (5, 5), (1, 0), (-(2**63), -(2**63))):
        same(part(a, lo, hi), np.zeros(4))
    for lo, hi, index in ((-1, 1, -1), (0, 3, 2), (-(2**63), 2**63 - 1, -(2**63))):
        with pytest.raises(IndexError, match=f"index {index} is outside of the neighborhood"):
            part(a, lo, hi)
    for wrong in (lambda a: a[:1].sum(), lambda a: a[0:2:2].sum(), lambda a: a[None], lambda a: a[0.5]):
        assert "a relative index" in text_of(stencil(neighborhood=((0, 1),))(wrong), a)


# --- cval, out ---


@pytest.mark.parametrize(
    ("dtype", "cval", "fits"),
    [
        ("f8", np.nan, True), ("f4", 0.1, True), ("i8", -7, True), ("i8", 2.0, True), ("u8", 3, True), ("c16", 1j, True), ("f8", True, True), ("f8", np.float32(0.5), True),
        ("i8", 1.5, False), ("i8", np.nan, False), ("u8", -1, False), ("i8", 2**63, False), ("i8", 1e30, False), ("f8", 1j, False), ("i8", -np.inf, False),
    ],
)  # fmt: skip
def test_cval(dtype, cval, fits):
    s = stencil(cval=cval)(ahead)
    a = np.arange(5).astype(dtype)
    if fits:
        same(s(a), model(ahead, ((0, 2),), (a,), dtype, cval=np.array(cval).astype(dtype)))
        same(njit(lambda a: s(a))(a[:1]), np.full(1, cval, dtype))
    else:
        with pytest.raises(TypingError, match="does not fit the results"):
            s(a)


@pytest.mark.parametrize("cval", [None, 7])
@pytest.mark.parametrize("parallel", [False, True])
def test_out(cval, parallel):
    s = stencil(cval=cval)(cross)

    @njit(parallel=parallel)
    def call(a, out):
        return s(a, out=out)

    a = np.random.default_rng(0).integers(0, 9, (9, 12)).astype("f8")
    for dtype, order in itertools.product(["f8", "f4", "i4"], "CF"):
        for f in (call, lambda a, out: s(a, out=out)):
            out = np.full((9, 12), 3, dtype, order=order)
            want = model(
                cross,
                ((-1, 1), (-1, 1)),
                (a,),
                dtype,
                out=np.full((9, 12), 3 if cval is None else cval, dtype),
            )
            got = f(a, out)
            assert np.shares_memory(got, out)
            same(out, want)
    same(s(a, out=None), model(cross, ((-1, 1), (-1, 1)), (a,), "f8", cval=cval or 0))


@pytest.mark.parametrize("parallel", [False, True])
def test_out_may_share_memory_with_what_is_read(parallel):
    s = stencil(blur)

    @njit(parallel=parallel)
    def call(a, out):
        s(a, out=out)

    for lo, back in itertools.product([0, 1, 2], [False, True]):
        whole = np.random.default_rng(lo).integers(0, 99, 300) * 3.0
        a, out = whole[: 300 - lo], whole[lo:]
        out = out[::-1] if back else out
        want = model(blur, ((-1, 1),), (a,), "f8", out=out.copy())
        call(a, out)
        same(out, want)


def test_out_that_does_not_fit():
    s = stencil(blur)
    a = np.ones(5)
    with pytest.raises(
        ValueError, match=r"blur\(\): out has size 6 along axis 0, where the first array has 5"
    ):
        s(a, out=np.ones(6))
    for bad in (np.ones((5, 1)), 3.0, np.broadcast_to(1.0, 5)):
        with pytest.raises(TypingError, match="out is an array of 1 axis that can be written to"):
            s(a, out=bad)
    with pytest.raises(TypingError, match="results are complex128"):
        s(a * 1j, out=np.ones(5))


# --- ways in ---


def test_in_a_loop_over_a_prange_and_in_closures():
    s = stencil(blur)

    @njit(parallel=True)
    def rows(m):
        out = np.empty_like(m)
        for i in prange(len(m)):
            out[i] = s(m[i])
        return out

    m = np.random.default_rng(0).integers(0, 9, (40, 11)) * 3.0
    same(rows(m), np.array([model(blur, ((-1, 1),), (r,), "f8") for r in m]))

    @njit(inline="always", boundscheck=False, nogil=True, fastmath=True)
    def inner(a):
        def go(b):
            return s(b)

        return go(a)

    @njit(error_model="numpy")
    def outer(a):
        return inner(a) + s(a * 2)

    same(outer(m[0]), 3 * model(blur, ((-1, 1),), (m[0],), "f8"))


def test_options_are_the_callers():
    @stencil
    def ratio(a):
        return a[1] / a[0]

    a = np.array([1.0, 0.0, 2.0, 3.0])
    with pytest.raises(ZeroDivisionError):
        ratio(a)
    same(njit(lambda a: ratio(a), error_model="numpy")(a), np.array([0.0, np.inf, 1.5, 0.0]))


def test_kernels_that_call_and_raise():
    @njit
    def clip(x, lo):
        if lo < 0:
            raise ValueError("below")
        return max(x, lo)

    @stencil
    def f(a, lo):
        return clip(a[-1], lo) + np.sin(a[0]) * 0

    same(f(np.arange(6.0), 2), np.array([0.0, 2, 2, 2, 3, 4]))
    with pytest.raises(ValueError, match="below"):
        f(np.arange(6.0), -1)
    same(f(np.arange(1.0), -1), np.zeros(1))


S = stencil(blur)


@cuda.jit
def on_a_device(a, out):
    i = cuda.grid(1)
    if i < len(out):
        out[i] = S(a)[i]


@guvectorize("(n)->(n)")
def in_a_gufunc(a, out):
    out[:] = S(a)


@vectorize
def in_a_ufunc(x):
    return S(np.full(4, x))[1]


def test_in_ufuncs_kernels_and_as_an_argument():
    a = np.arange(8.0).reshape(2, 4) ** 2
    want = model(blur, ((-1, 1),), (a[0],), "f8")
    same(in_a_gufunc(a), np.array([want, model(blur, ((-1, 1),), (a[1],), "f8")]))
    same(in_a_ufunc(a), a * 1.5)
    same(njit(lambda f, a: f(a))(S, a[0]), want)
    if os.environ["TREADLE_CUDA"] == "emu":  # a GPU's kernels make no arrays
        out = np.zeros(4)
        on_a_device[1, 4](a[0], out)
        same(out, want)


@stencil
def of_a_module(a):
    return a[1]


def test_pickle():
    assert pickle.loads(pickle.dumps(of_a_module)) is of_a_module


def test_a_stencil_of_a_compiled_function():
    same(stencil(njit(blur))(np.arange(4) * 3.0), np.array([0.0, 4.5, 9, 0]))


PROGRAM = """
import numpy as np, sys
from treadle import njit, stencil

@stencil(cval=2)
def f(a):
    return a[-1] + a[0]

@njit(cache=True)
def g(a):
    return f(a)

assert g(np.arange(4.0)).tolist() == [2, 1, 3, 5]
print(g.stats["cache_hits"] if "cache_hits" in g.stats else g.stats)
"""


def test_from_the_cache(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    env = {**os.environ, "TREADLE_CACHE_DIR": str(tmp_path / "cache")}
    said = [
        subprocess.run([sys.executable, file], env=env, check=True, capture_output=True, text=True).stdout
        for _ in range(2)
    ]
    assert said[0] != said[1]
    file.write_text(PROGRAM.replace("cval=2", "cval=1").replace("[2, 1,", "[1, 1,"))
    subprocess.run([sys.executable, file], env=env, check=True)


# --- refusals ---


def text_of(f: Callable, *args: Any) -> str:
    with pytest.raises(TypingError) as e:
        f(*args)
    return str(e.value)


def test_refused_indices():
    @stencil
    def variable(a, n):
        return a[0] + a[n]  # here

    @stencil
    def computed(a):
        s = 0.0
        for i in range(2):
            s += a[i, 0]  # here
        return s

    @stencil
    def rank(a):
        return a[0]  # here

    @stencil
    def floating(a):
        return a[0] + a[0.5]  # here

    def call(a, n):
        return variable(a, n)

    wanted = "a relative index is no integer constant"
    line = variable.py_func.__closure__ is not None
    assert line
    for text in (text_of(variable, np.ones(3), 1), text_of(njit(call), np.ones(3), 1)):
        assert wanted in text and "neighborhood=" in text and "return a[0] + a[n]  # here" in text
    text = text_of(computed, np.ones((3, 3)))
    assert wanted in text and "s += a[i, 0]  # here" in text
    text = text_of(rank, np.ones((3, 3)))
    assert "has a number for each axis, 2 here, not 1" in text and "return a[0]  # here" in text
    assert wanted in text_of(floating, np.ones(3))


def test_refused_kernels():
    ones = np.ones(3)
    assert "has no relative index" in text_of(stencil(lambda a: 1.0), ones)
    assert "does not assign" in text_of(stencil(assigns), ones)
    assert "gives a number" in text_of(stencil(lambda a: (a[0], a[1])), ones)
    assert "gives a number" in text_of(stencil(gives_nothing), ones)
    assert "read-only" in text_of(stencil(standard_indexing=["w"])(assigns_standard), ones, ones)


def test_errors_of_the_kernels_own_are_told_once():
    @stencil
    def wrong(a):
        return a[0] + a[1].nothing  # here

    for f in (wrong, njit(lambda a: wrong(a))):
        text = text_of(f, np.ones(3))
        assert "# here" in text and "internal" not in text and text.count("-->") == 1


def assigns(a):
    a[0] = a[1]
    return 1.0


def gives_nothing(a):
    a[0]


def assigns_standard(a, w):
    w[0] = a[1]
    return 1.0


def test_refused_arguments():
    s = stencil(both)
    two, three = np.ones((3, 3)), np.ones((3, 3, 3))
    assert "'b' has relative indices, as the first array" in text_of(s, two, np.ones(3), 1, 2.0)
    assert "'b' has relative indices, as the first array" in text_of(s, two, 4.0, 1, 2.0)
    with pytest.raises(
        ValueError, match=r"both\(\): 'b' has size 2 along axis 1, where the first array has 3"
    ):
        s(two, two[:, :2], 1, 2.0)
    assert "is the array that it goes over" in text_of(s, 1.0, two, 1, 2.0)
    assert "is the array that it goes over" in text_of(s)
    assert "a neighborhood of 1 axes, but an array of 3" in text_of(
        stencil(neighborhood=[(0, 1)])(seven), three
    )
    with pytest.raises((TypingError, TypeError)):
        s(two, two, 1)  # an argument is missing
    with pytest.raises((TypingError, TypeError)):
        s(two, two, 1, 2.0, 3)


def test_refused_at_the_call_in_compiled_code():
    s = stencil(both)

    @njit
    def f(a):
        return s(a, 1.0, 2, 3.0)  # the call

    text = text_of(f, np.ones((3, 3)))
    assert "return s(a, 1.0, 2, 3.0)  # the call" in text and "both()" in text


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"neighbourhood": 1}, TypeError, "unknown option 'neighbourhood'"),
        ({"neighborhood": 3}, TypeError, "a pair of integers for each axis"),
        ({"neighborhood": ((1, 2, 3),)}, TypeError, "a pair of integers for each axis"),
        ({"neighborhood": ((0.5, 1),)}, TypeError, "a pair of integers for each axis"),
        ({"neighborhood": ((1, -1),)}, ValueError, "no range of indices"),
        ({"cval": "x"}, TypeError, "cval must be a number"),
        ({"standard_indexing": 3}, TypeError, "names of parameters"),
        ({"standard_indexing": ["z"]}, ValueError, "no parameter of both"),
        ({"standard_indexing": ["a"]}, ValueError, "cannot have standard indexing"),
    ],
)
def test_options_that_are_wrong(options, error, text):
    with pytest.raises(error, match=text):
        stencil(**options)(both)


def test_python_alone_has_no_stencil():
    from treadle._library import swept

    with pytest.raises(TypeError, match="compiled code"):
        swept(blur, None, 0, None, None, (np.ones(3),))


def test_decorated_things_that_are_no_functions():
    with pytest.raises(ValueError, match="func_or_mode must be 'constant'"):
        stencil("wrap")
    with pytest.raises(TypeError, match="stencil compiles Python functions, not int 3"):
        stencil(3)
    with pytest.raises(TypeError, match="starred"):
        stencil(lambda *a: a[0])
    with pytest.raises(TypeError, match="has no parameters"):
        stencil(lambda: 1)
    assert treadle.stencil is stencil
