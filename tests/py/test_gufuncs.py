"""Generalised ufuncs made by guvectorize: layouts, axes, write-back, lazy ones, errors."""

from __future__ import annotations

import numpy as np
import pytest
import treadle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import float32, float64, guvectorize, int64, njit, types, ufunc_info

SETTINGS = settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))


@guvectorize([(float64[:], float64[:]), "void(float32[:], float32[:])", "void(i8[:], i8[:])"], "(n)->()")
def total(a, out):
    """Sum of the last axis."""
    s = a[0] * 0
    for i in range(len(a)):
        s += a[i]
    out[0] = s


@guvectorize("(m,n),(n,p)->(m,p)")
def matmul(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = 0
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


@guvectorize("(n),()->(n)")
def scale(a, k, out):
    for i in range(len(a)):
        out[i] = a[i] * k


def view(rng, shape, dtype):
    """An array of this shape with strides of some kind."""
    perm = rng.permutation(len(shape))
    base = np.empty([shape[p] * 2 for p in perm], dtype).transpose(np.argsort(perm))
    kind = rng.integers(4)
    if kind == 0:
        base = np.empty(base.shape, np.dtype([("pad", "u1"), ("v", dtype)]))["v"]
    if kind == 1:
        base = base.astype(base.dtype.newbyteorder())
    base[...] = rng.integers(0, 20, base.shape)
    return base[tuple(slice(None, None, 2) if rng.integers(2) else slice(None, n) for n in shape)][
        tuple(slice(0, n) for n in shape)
    ]


def test_it_is_a_gufunc():
    assert type(total) is np.ufunc and total.signature == "(n)->()" and "Sum of the last" in total.__doc__
    assert total.types == ["d->d", "f->f", "l->l"] and not ufunc_info(total).lazy
    info = ufunc_info(matmul)
    assert info.generalized and info.lazy
    assert matmul(np.ones((2, 2)), np.ones((2, 2))).tolist() == [[2, 2], [2, 2]]
    assert "call" in info.inspect_ir((float64[:, :],) * 3) or "mul" in info.inspect_ir((float64[:, :],) * 3)


@SETTINGS
@given(st.integers(0, 10**6), st.sampled_from(["f8", "f4", "i8", "c16", "i2"]))
def test_against_numpy(seed, dt):
    rng = np.random.default_rng(seed)
    m, n, p, outer = (int(rng.integers(1, 5)) for _ in range(4))
    a, b = view(rng, (outer, m, n), dt), view(rng, (n, p) if rng.integers(2) else (outer, n, p), dt)
    got = matmul(a, b)
    assert got.dtype == np.result_type(a.dtype, b.dtype) and np.array_equal(
        got, np.matmul(a, b).astype(got.dtype)
    )
    out = view(rng, got.shape, got.dtype.newbyteorder("="))
    assert matmul(a, b, out) is out and np.array_equal(out, got)
    if dt in ("f8", "f4", "i8"):
        for axis in range(3):
            assert np.array_equal(total(a, axis=axis), a.sum(axis))
        assert total(a, keepdims=True).shape == (outer, m, 1)
        assert np.array_equal(total(a, axes=[(0,)]), a.sum(0))
    assert np.array_equal(scale(a, b[..., :1, :1].ravel()[0]), a * b[..., :1, :1].ravel()[0])


def test_casting_and_types():
    assert total(np.ones(3, "i4")).dtype == np.float64  # the first signature that is safe
    assert total(np.ones(3, "i8")).dtype == np.int64  # an exact one comes before
    assert total(np.ones(3, "f4")).dtype == np.float32
    assert total(np.ones(3, "f2")).dtype == np.float64
    assert total([1.0, 2.0]) == 3.0
    assert scale(np.ones(3, "f4"), 2.5).dtype == np.float32
    assert scale(np.ones(3, "f4"), 2).dtype == np.float32
    assert scale(np.ones(3, "i4"), 2.5).dtype == np.float64
    assert scale(np.ones(3, "f2"), 2.0).dtype == np.float32
    assert scale(np.ones(3, "f4"), np.float64(2)).dtype == np.float64
    assert matmul(np.ones((2, 2), "f4"), np.ones((2, 2)), dtype="f4", casting="same_kind").dtype == np.float32
    with pytest.raises(TypeError, match="cannot be compiled for argument 1 of dtype str_"):
        scale(np.array(["a"]), 1)
    with pytest.raises(TypeError, match="has no signature"):
        total(np.ones(3, "c16"))


def test_given_outputs_of_a_lazy_one():
    # The function is handed the array that was given: it has its own type, and what was in it is there.
    @guvectorize("(n),(),(m)->(m),()")
    def add(x, k, t, y, n):
        for i in range(len(t)):
            y[i] += x[0] * t[i] * k
        n[0] += 1

    x, t = np.full((5, 3), 2, np.float32), np.arange(4.0)
    for y_type, n_type in ((np.float32, np.float64), (np.float64, np.float32), (np.complex64, np.float64)):
        for how in range(4):
            y, n = np.full((5, 4), 10, y_type), np.full(5, 100, n_type)
            r = [
                lambda: add(x, 3, t, y, n),
                lambda: add(x, 3.0, t, out=(y, n)),
                lambda: add(x, np.int8(3), t, out=(y, n), casting="same_kind"),
                lambda: add(x.astype(">f4"), 3, t[::-1][::-1], y, n),
            ][how]()
            assert r[0] is y and r[1] is n
            assert np.array_equal(y, np.broadcast_to(10 + 6 * t, (5, 4))) and np.array_equal(
                n, np.full(5, 101)
            )
    # Nothing is promised about outputs that NumPy makes, or has to convert.
    assert [a.dtype for a in add(x, 3, t)] == [np.float64, np.float64]
    y = np.full((5, 4), 1, np.float32)
    assert add(x, 3, t, out=(y, None))[0] is y and np.array_equal(y[0], 1 + 6 * t)
    with pytest.raises(TypeError, match="Cannot cast"):
        add(x, 3, t, np.zeros((5, 4), int), np.zeros(5))
    assert len({tuple(l) for l in ufunc_info(add).signatures}) == len(ufunc_info(add).signatures)
    y, n = np.zeros((5, 4)), np.zeros(5)
    add(x, 3, t, y, n, signature=(None, None, None, np.float64, np.float64))
    assert np.array_equal(y[0], 6 * t)


def test_several_outputs_and_numbers():
    @guvectorize(
        [(float64[:], float64, float64[:], float64[:], int64[:])], " ( n ) , ( ) -> ( ) ,\n () , ( )"
    )
    def stats(a, limit, low, high, count):
        low[0], high[0] = a.min(), a.max()
        count[0] = 0
        for x in a:
            count[0] += x > limit

    m = np.arange(12.0).reshape(3, 4)
    low, high, count = stats(m, [1.0, 5.0, 100.0])
    assert (low.tolist(), high.tolist(), count.tolist()) == ([0, 4, 8], [3, 7, 11], [2, 2, 0])
    assert stats.signature == "(n),()->(),(),()" and count.dtype == np.int64
    assert [float(x) for x in stats(m[0], 0.5)] == [0, 3, 3]


def test_constant_axes():
    @guvectorize([(float64[:], float64[:], float64[:])], "(3),(3)->(3)")
    def cross(a, b, c):
        c[0] = a[1] * b[2] - a[2] * b[1]
        c[1] = a[2] * b[0] - a[0] * b[2]
        c[2] = a[0] * b[1] - a[1] * b[0]

    a, b = np.random.default_rng(0).random((2, 5, 3))
    assert np.allclose(cross(a, b), np.cross(a, b))
    with pytest.raises(ValueError, match="core dimension"):
        cross(np.ones(4), np.ones(4))


def test_storing_into_inputs():
    @guvectorize([(float64[:],)], "(n)")
    def twice(a):
        for i in range(len(a)):
            a[i] *= 2

    @guvectorize([(float64[:], float64[:], float64[:])], "(n),(n)->()", writable_args=("a",))
    def shift(a, b, out):
        out[0] = a.sum()
        for i in range(len(a)):
            a[i] += b[i]

    m = np.arange(6.0).reshape(2, 3)
    twice(m)
    assert m.tolist() == [[0, 2, 4], [6, 8, 10]]
    packed = np.zeros(3, np.dtype([("pad", "u1"), ("v", "f8")]))["v"]
    packed[...] = [1, 2, 3]
    twice(packed)
    assert packed.tolist() == [2, 4, 6]
    swapped = np.array([1.0, 2.0]).astype(">f8")
    twice(swapped)
    assert swapped.tolist() == [2, 4]
    a = np.zeros((2, 3))
    assert shift(a, np.ones(3)).tolist() == [0, 0] and a.tolist() == [[1, 1, 1], [1, 1, 1]]
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only|not writeable"):
        twice(frozen)
    for bad in ("c", 7):
        with pytest.raises(ValueError, match="has no input"):
            guvectorize("(n)->()", writable_args=(bad,))(lambda a, out: None)


def test_empty_and_zero_d():
    assert total(np.ones((0, 3))).shape == (0,)
    assert scale(np.ones((2, 0)), 2.0).shape == (2, 0)
    assert isinstance(total(np.ones(3)), np.float64)

    @guvectorize("()->()")
    def succ(a, out):
        out[0] = a + 1

    assert succ(1.5) == 2.5 and succ(np.arange(3)).tolist() == [1, 2, 3]


def test_exceptions_reach_the_caller():
    @guvectorize("(n)->()")
    def first_after(a, out):
        out[0] = a[5]

    with pytest.raises(IndexError, match="index 5"):
        first_after(np.ones((4, 3)))
    assert first_after(np.arange(8.0)) == 5


def test_arrays_made_inside():
    @guvectorize("(n)->(n)")
    def smooth(a, out):
        t = np.empty(len(a) + 2)
        t[0], t[-1] = a[0], a[-1]
        t[1:-1] = a
        out[:] = (t[:-2] + t[1:-1] + t[2:]) / 3

    m = np.random.default_rng(1).random((50, 7))
    t = np.pad(m, ((0, 0), (1, 1)), mode="edge")
    before = treadle.stats()
    assert np.allclose(smooth(m), (t[:, :-2] + t[:, 1:-1] + t[:, 2:]) / 3)
    after = treadle.stats()
    assert (
        after["arrays_allocated"] - before["arrays_allocated"]
        == after["arrays_freed"] - before["arrays_freed"]
    )


def test_what_does_not_compile():
    with pytest.raises(treadle.TypingError, match="returns nothing"):
        guvectorize([(float64[:], float64[:])], "(n)->()")(lambda a, out: a[0])
    with pytest.raises(treadle.TypingError):
        guvectorize([(float64[:], float64[:])], "(n)->()")(lambda a, out: a.nothing)
    lazy = guvectorize("(n)->()")(lambda a, out: a.nothing)
    for _ in range(2):
        with pytest.raises(treadle.TypingError, match="nothing"):
            lazy(np.ones(3))


def _sum(a, out):
    out = a.sum()  # noqa: F841


def _constant(a, out):
    out = 0.0  # noqa: F841


def _loop(a, out):
    for i in range(out.shape[0] + len(out) - 1):
        out = out + a[i]


def _branch(a, out):
    if a[0] > 0:
        out = a.max()
    else:
        out = a.min()
    a[0] = out


def _item(a, out):
    last = out[0]
    out = last + a[0]  # noqa: F841


def _pass(a, out):
    pass


@pytest.mark.parametrize(
    "fn, line, value",
    [
        (_sum, 1, "a.sum()"),
        (_constant, 0, None),
        (_loop, 2, "out + a[i]"),
        (_branch, 2, "a.max()"),
        (_item, 2, "last + a[0]"),
        (_pass, 0, None),
    ],
)
@pytest.mark.parametrize("lazy", [False, True])
def test_an_output_that_nothing_is_stored_to(fn, line, value, lazy):
    """A value given to the name would be lost, and the output hold whatever was in memory."""
    with pytest.raises(treadle.TypingError) as e:
        if lazy:
            guvectorize("(n)->()")(fn)(np.ones(3))
        else:
            guvectorize([(float64[:], float64[:])], "(n)->()")(fn)
    text = str(e.value)
    assert f"'out' is an output of {fn.__name__}(), and nothing is stored to it" in text
    assert f":{fn.__code__.co_firstlineno + line}" in text
    assert "write out[...] = ..." in text
    if value:
        assert text.split("\n")[-2].endswith("^" * len(value)) and "this gives 'out' another value" in text


def test_one_of_several_outputs_is_forgotten():
    def extent(a, lo, hi):
        lo[...] = a.min()
        hi = a.max()  # noqa: F841

    def neither(a, lo, hi):
        lo = hi = a[0]  # noqa: F841

    with pytest.raises(treadle.TypingError, match="'hi' is an output") as e:
        guvectorize("(n)->(),()")(extent)(np.ones(3))
    assert "'lo'" not in str(e.value)
    with pytest.raises(treadle.TypingError, match="(?s)'lo' is an output.*'hi' is an output"):
        guvectorize("(n)->(),()")(neither)(np.ones(3))


def test_a_forgotten_output_in_compiled_code():
    lazy = guvectorize("(n)->()")(_sum)

    @njit
    def f(a):
        return lazy(a) + lazy(a * 2)

    with pytest.raises(treadle.TypingError, match="'out' is an output of _sum") as e:
        f(np.ones(3))
    assert str(e.value).count("'out' is an output") == 1


@njit
def _put(out, x):
    out[0] = x


def test_outputs_that_are_stored_to_in_other_ways():
    def branch(a, out):
        if a[0] > 100:
            out[0] = a[0]

    def helper(a, out):
        _put(out, a.sum())

    def view(a, out):
        part = out[:]
        part[0] = a.sum()

    def transposed(a, out):
        out.T[0] = a.sum()

    def other_name(a, out):
        b = out if a[0] > 0 else a
        b[0] = a.sum()

    def inplace(a, out):
        out *= 0
        out += a.sum()

    def loop(a, out):
        for i in range(3):
            rows = out
            rows[0] = a.sum()

    def then_rebound(a, out):
        out[...] = a.sum()
        out = 5  # noqa: F841

    def method(a, out):
        out.fill(a.sum())

    a = np.array([1.0, 2.0, 3.0])
    kept = np.array([7.0])
    guvectorize("(n)->()")(branch)(a, kept[0:1].reshape(()))
    assert kept[0] == 7.0
    for fn in (helper, view, transposed, other_name, inplace, loop, then_rebound, method):
        assert guvectorize("(n)->()")(fn)(a) == 6.0, fn.__name__


LAYOUTS = [
    ("(n", r"',' or '\)' is expected here\n  \(n\n    \^"),
    ("n->n", r"'\(' is expected here\n  n->n\n  \^"),
    ("(n)->(m)", r"the size of 'm' is not known: no input has it\n  \(n\)->\(m\)\n        \^"),
    ("(n)->(n))", r"nothing more is expected here\n  \(n\)->\(n\)\)\n          \^"),
    ("(n)-(n)", r"',' or '->' is expected here\n  \(n\)-\(n\)\n     \^"),
    ("(n,)->()", "the name or size of an axis is expected here"),
    ("(n?)->()", "optional axes are not supported"),
    ("(0)->()", "an axis of size 0 holds nothing"),
    ("(n)\n->(n", r"',' or '\)' is expected here\n  ->\(n\n      \^"),
    ("", r"'\(' is expected here"),
]


@pytest.mark.parametrize(("layout", "match"), LAYOUTS)
def test_bad_layouts(layout, match):
    with pytest.raises(ValueError, match="bad layout: " + match):
        guvectorize(layout)


def test_bad_decorations():
    def f(a, out):
        out[0] = a[0]

    def three(a, b, out):
        out[0] = 0

    cases = [
        (lambda: guvectorize(), TypeError, "takes signatures and a layout"),
        (lambda: guvectorize([], "(n)->()", 3), TypeError, "takes signatures and a layout"),
        (lambda: guvectorize([], 3), TypeError, "a layout is text"),
        (
            lambda: guvectorize("(n)->()")(lambda a: None),
            TypeError,
            r"1 parameters, but the layout '\(n\)->\(\)' has 2",
        ),
        (lambda: guvectorize([(float64, float64[:])], "(n)->()")(f), TypeError, "gives it 1 axis"),
        (lambda: guvectorize([(float64[:, :], float64[:])], "(n)->()")(f), TypeError, "gives it 1 axis"),
        (lambda: guvectorize([(float64[:], float64)], "(n)->()")(f), TypeError, "an output is stored to"),
        (
            lambda: guvectorize([(float64[:, ::1], float64[:])], "(m,n)->()")(f),
            TypeError,
            "may have any strides",
        ),
        (
            lambda: guvectorize([(float64[:],) * 3], "(n)->()")(f),
            TypeError,
            "2 operands, but its signature has 3",
        ),
        (lambda: guvectorize(["f8(f8[:], f8[:])"], "(n)->()")(f), TypeError, r"declare it void\(...\)"),
        (lambda: guvectorize(["void(f9[:], f8[:])"], "(n)->()"), TypeError, "unknown type 'f9'"),
        (
            lambda: guvectorize(
                ",".join(f"({','.join(f'n{i}_{k}' for k in range(20))})" for i in range(2)) + "->()"
            )(three),
            ValueError,
            "more than 32 different axes",
        ),
        (lambda: guvectorize("(n)->()", target="x"), ValueError, "'cpu' or 'parallel' or 'cuda'"),
        (lambda: guvectorize("(n)->()", shade=1), TypeError, "unknown option 'shade'"),
    ]
    for make, error, match in cases:
        with pytest.raises(error, match=match):
            make()


def test_targets_and_types_as_objects():
    for target in ("cpu", "parallel"):
        g = guvectorize([types.void(float32[:, :], float32[:])], "(m,n)->(m)", target=target)(rows)
        a = np.random.default_rng(2).random((2000, 3, 4)).astype("f4")
        assert np.allclose(g(a), a.sum(-1), rtol=1e-5) and ufunc_info(g).target == target


def rows(a, out):
    for i in range(a.shape[0]):
        out[i] = a[i].sum()


def test_an_output_that_is_an_input():
    """The input is copied, as for any other overlap; what the function writes back into stays itself."""

    @guvectorize(["void(f8[:], f8[:])"], "(n)->(n)")
    def backwards(a, c):
        for i in range(len(a)):
            c[i] = a[len(a) - 1 - i]

    for out in (lambda a: (a, a), lambda a: (a[1:], a[:-1]), lambda a: (a[::-1], a)):
        for named in (True, False):
            x, y = out(np.arange(12.0).reshape(4, 3))
            want = x[:, ::-1].copy()
            got = backwards(x, out=y) if named else backwards(x, y)
            assert got is y
            np.testing.assert_array_equal(y, want)
    with pytest.raises(TypeError):
        backwards()
    with pytest.raises(TypeError):
        backwards(np.ones(3), np.ones(3), np.ones(3))


def test_given_outputs_do_not_decide_later_results():
    """A loop that was made for the type of an output is not that of calls that give none, in whatever order they come."""

    def make():
        @guvectorize("(),(n)->(n)")
        def scale(a, x, out):
            for i in range(len(x)):
                out[i] = a * x[i]

        return scale

    a, x = np.array(3, np.uint64), np.arange(4, dtype=np.complex64)
    plain, mixed = make(), make()
    for outs in ("c8", "c16", "c8"):
        got = mixed(a, x, out=np.empty(4, outs))
        assert got.dtype == outs and np.array_equal(got, 3 * x)
        assert mixed(a, x).dtype == plain(a, x).dtype == np.complex128
        assert mixed(3, x).dtype == plain(3, x).dtype == np.complex64
        assert mixed(3, 2 * x.real.astype("i4")).dtype == plain(3, x.real.astype("i4")).dtype
        np.testing.assert_array_equal(mixed(a, x[:, None]), plain(a, x[:, None]))
    assert mixed(3.0, [1, 2]).tolist() == [3, 6]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "c16", ">f8"])
def test_lazy_without_outputs(dtype):
    """A layout without an arrow: the inputs with axes are stored into."""

    @guvectorize("(n),()")
    def add_to(a, x):
        for i in range(len(a)):
            a[i] += x

    a = np.arange(6).astype(dtype).reshape(2, 3)
    b = a.copy()
    assert add_to(b, 2) == () and (b == a + 2).all()
    assert add_to(b[:, ::2], 1) == () and b.tolist() == [[3, 3, 5], [6, 6, 8]]


# --- what the function leaves as it is ---


@guvectorize("void(f8[:], u1[:])", "(n)->(n)")
def mark(a, out):
    for i in range(len(a)):
        if a[i] > 0:
            out[i] = 7


@guvectorize("void(f8[:], u1[:])", "(n)->(n)", target="parallel")
def mark_parallel(a, out):
    for i in range(len(a)):
        if a[i] > 0:
            out[i] = 7


@njit
def mark_compiled(a, out):
    return mark(a, out)


@njit(parallel=True)
def mark_compiled_parallel(a, out):
    mark(a, out=out)
    return out


WAYS_TO_MARK = [mark, mark_parallel, mark_compiled, mark_compiled_parallel]


def turned(a: np.ndarray) -> np.ndarray:
    return a[::-1].copy()[::-1]


def unaligned(a: np.ndarray) -> np.ndarray:
    room = np.zeros(a.nbytes + 1, np.uint8)[1:].view(a.dtype).reshape(a.shape)
    room[...] = a
    return room


@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.parametrize("f", WAYS_TO_MARK, ids=["numpy", "parallel", "compiled", "compiled parallel"])
@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", "u8", "f4", "c16", ">i4", ">f8"])
def test_an_output_keeps_what_is_not_stored(f, dtype):
    """Outputs of other types and layouts go through copies, which hold what was there before."""
    compiled = f in WAYS_TO_MARK[2:]
    old = np.arange(50, 74).reshape(2, 3, 4).astype(dtype)
    a = np.where(np.arange(24).reshape(2, 3, 4) % 5 == 0, 1.0, 0.0)
    want = np.where(a > 0, 7, old)
    for way in (np.copy, np.asfortranarray, turned, lambda x: np.repeat(x, 2, -1)[..., ::2], unaligned):
        out = way(old)
        if compiled and (not out.dtype.isnative or not out.flags.aligned):
            continue
        got = f(a, out)
        assert got is out or compiled
        np.testing.assert_array_equal(out, want)
    if not compiled:
        out = old.copy()
        f(a, out=out, axis=1)
        np.testing.assert_array_equal(out, want)


def test_a_new_output_is_made_for_what_is_stored():
    """Its items hold nothing in particular until they are stored to, as those of np.empty do; nothing is read from it."""
    assert mark(np.ones((3, 4))).tolist() == [[7] * 4] * 3
    assert mark(np.zeros((3, 4))).shape == (3, 4)


def test_outputs_that_share_memory_with_inputs_are_kept_too():
    @guvectorize("void(f8[:], f8[:])", "(n)->(n)")
    def second(a, out):
        out[1] = a[0] + 100

    @njit
    def compiled(a, out):
        second(a, out)

    for f in (second, compiled):
        for view in (lambda x: x, lambda x: x[::-1]):
            a = np.arange(5.0)
            want = view(a.copy())
            want[1] = 100
            f(a, view(a))
            np.testing.assert_array_equal(view(a), want)


def total_into(a, out):
    out[0] = a.sum()


@pytest.mark.parametrize("value", [None, 0, 1.5, "reorderable"])
def test_identity(value):
    f = guvectorize("(n)->()", identity=value)(total_into)
    assert f.identity == (None if value == "reorderable" else value)
    assert f(np.arange(4.0)) == 6
    with pytest.raises(RuntimeError, match="signature"):
        f.reduce(np.arange(4.0))


@pytest.mark.parametrize(
    "options, error, text",
    [
        ({"identity": "none"}, ValueError, "identity must be None, 'reorderable' or a number, not 'none'"),
        ({"writable_args": 1.5}, TypeError, "writable_args must be names or positions of inputs, not 1.5"),
        ({"writable_args": (True,)}, ValueError, "has no input True"),
        (
            {"writable": ("a",)},
            TypeError,
            "unknown option 'writable'; did you mean 'writable_args'\\? There are nopython, .*, identity, target, writable_args$",
        ),
        ({"forceobj": True}, TypeError, "no object mode"),
    ],
)
def test_options_that_are_none(options, error, text):
    with pytest.raises(error, match=text):
        guvectorize("(n)->()", **options)(total_into)


def test_the_first_input_may_be_the_writable_one():
    """Position 0 is a position, alone too."""

    @guvectorize("(n),()", writable_args=0)
    def add_to(a, x):
        for i in range(len(a)):
            a[i] += x

    for dtype in ("f8", ">f8", "i2"):
        a = np.arange(3).astype(dtype)
        add_to(a, 2)
        assert a.tolist() == [2, 3, 4]


@pytest.mark.parametrize("first", ["f8", "c8", "c16", None])
def test_a_given_output_gets_a_loop_of_its_inputs(first):
    """Whatever loops there are already that its inputs would convert to."""

    @guvectorize("(n),(n)->()")
    def size(a, b, out):
        out[0] = a.itemsize

    if first:
        size(np.ones(2, first), np.ones(2, "u4"))
    for dtype in ("?", "i1", "i4", "f4"):
        for kept in ("f8", "c16"):
            out = np.zeros((), kept)
            size(np.ones(2, dtype), np.ones(2, "u4"), out=out)
            assert out == np.dtype(dtype).itemsize
