"""Records: arrays and scalars of structured dtypes in compiled functions, held to NumPy over random dtypes, layouts and fields."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import UnsupportedError, njit, prange
from treadle.errors import TypingError

PACKED = np.dtype([("x", "f8"), ("n", "i4")])
ALIGNED = np.dtype([("x", "f8"), ("n", "i4")], align=True)
POINT = np.dtype([("x", "f8"), ("y", "f8"), ("z", "f8")])
NESTED = np.dtype([("id", "u1"), ("at", POINT), ("v", "f4", (3,)), ("inner", [("a", "i2"), ("b", "c8")])])
SPREAD = np.dtype(
    {"names": ["a", "b", "c"], "formats": ["f8", "i4", "f4"], "offsets": [8, 0, 20], "itemsize": 32}
)
UNION = np.dtype({"names": ["f", "u"], "formats": ["f8", "u8"], "offsets": [0, 0]})

SCALARS = ("?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16")


def filled(a: np.ndarray, seed: int = 1) -> np.ndarray:
    """Fill every field, sub-arrays and nested records too, with numbers that each type holds."""
    r = np.random.default_rng(seed)
    for name in a.dtype.names:
        field = a[name]
        if field.dtype.names:
            filled(field, seed + 7)
        elif field.dtype.kind == "b":
            field[...] = r.integers(0, 2, field.shape)
        elif field.dtype.kind in "iu":
            field[...] = r.integers(0, 100, field.shape)
        elif field.dtype.kind == "c":
            field[...] = r.integers(-9, 9, field.shape) + 1j * r.integers(-9, 9, field.shape)
        elif field.dtype.kind == "f":
            field[...] = r.integers(-40, 40, field.shape) / 4
        elif field.dtype.kind == "S":
            field[...] = b"ab"
        else:
            field[...] = np.zeros((), field.dtype)
    return a


def leaves(dtype: np.dtype, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], tuple[int, ...]]]:
    """Return the ways to all numbers of a record: names, and the shape of a sub-array at the end."""
    out = []
    for name in dtype.names:
        field = dtype.fields[name][0]
        base, shape = field.base, field.shape
        if base.names and not shape:
            out += leaves(base, (*path, name))
        elif base in [np.dtype(scalar) for scalar in SCALARS]:
            out.append(((*path, name), shape))
    return out


def items(path: tuple[str, ...]) -> str:
    """Return the text of `[...]` for each name."""
    return "".join(f"[{name!r}]" for name in path)


def attributes(path: tuple[str, ...]) -> str:
    """Return the text of `.name` for each name."""
    return "".join(f".{name}" for name in path)


MADE: dict[str, object] = {}


def function(text: str) -> object:
    """Return the function `f` of a text, made once."""
    if text not in MADE:
        space = {"np": np, "prange": prange}
        exec(compile(textwrap.dedent(text), "<records>", "exec"), space)
        MADE[text] = space["f"]
    return MADE[text]


@st.composite
def dtypes(draw, depth: int = 1) -> np.dtype:
    """Draw a structured dtype."""
    names = draw(
        st.lists(
            st.sampled_from(["x", "y", "n", "flag", "T", "shape", "é", "_1"]),
            min_size=1,
            max_size=4,
            unique=True,
        )
    )
    formats = []
    for _ in names:
        kind = draw(st.integers(0, 9))
        if kind == 0 and depth:
            formats.append(draw(dtypes(depth=depth - 1)))
        elif kind == 1:
            formats.append((draw(st.sampled_from(SCALARS)), draw(st.sampled_from([(3,), (2, 2), (1,)]))))
        elif kind == 2:
            formats.append(draw(st.sampled_from(["S3", "M8[s]", ">i4", "U2"])))
        else:
            formats.append(draw(st.sampled_from(SCALARS)))
    plain = np.dtype(list(zip(names, formats)), align=draw(st.booleans()))
    if draw(st.integers(0, 3)) == 0:
        gap = draw(st.integers(0, 5))
        offsets = [plain.fields[n][1] + gap for n in names]
        return np.dtype(
            {
                "names": names,
                "formats": [plain.fields[n][0] for n in names],
                "offsets": offsets,
                "itemsize": plain.itemsize + gap + draw(st.integers(0, 3)),
            }
        )
    return plain


LAYOUTS = (
    "c",
    "step",
    "back",
    "empty",
    "one",
    "misaligned",
    "2c",
    "2f",
    "2part",
    "field",
    "readonly",
    "recarray",
)


def laid(dtype: np.dtype, how: str) -> np.ndarray:
    """Return filled records that lie in memory as the word says."""
    if how == "step":
        return filled(np.zeros(12, dtype))[1::3]
    if how == "back":
        return filled(np.zeros(5, dtype))[::-1]
    if how == "empty":
        return np.zeros(0, dtype)
    if how == "one":
        return filled(np.zeros(1, dtype))
    if how == "misaligned":
        raw = np.zeros(5 * dtype.itemsize + 1, "u1")
        return filled(raw[1:].view(dtype))
    if how == "2c":
        return filled(np.zeros((3, 4), dtype))
    if how == "2f":
        return filled(np.zeros((3, 4), dtype, order="F"))
    if how == "2part":
        return filled(np.zeros((5, 6), dtype))[1:4, ::2]
    if how == "field":  # as far apart as other records are
        return filled(np.zeros(5, np.dtype([("q", "i2"), ("it", dtype)])))["it"]
    a = filled(np.zeros(5, dtype))
    if how == "readonly":
        a.flags.writeable = False
    return a.view(np.recarray) if how == "recarray" else a


def same(got: object, want: object) -> None:
    """Check that two results are the same, bit for bit."""
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
    if isinstance(want, np.ndarray):
        assert got.dtype == want.dtype


def memory(a: np.ndarray) -> bytes:
    """Return all bytes of the memory that an array is a view of, those between fields too."""
    while isinstance(a.base, np.ndarray):
        a = a.base
    return a.tobytes(order="A")


def twice(text: str, make: Callable[[], np.ndarray]) -> tuple[object, np.ndarray, object, np.ndarray]:
    """Run a text's function compiled and in NumPy, each on records of its own; return results and what became of the records."""
    mine, theirs = make(), make()
    return jit(text)(mine), mine, function(text)(theirs), theirs


JITTED: dict[str, object] = {}


def jit(text: str) -> object:
    """Return the compiled function of a text, made once."""
    if text not in JITTED:
        JITTED[text] = njit(function(text))
    return JITTED[text]


@settings(max_examples=examples(60), deadline=None)
@given(dtype=dtypes(), how=st.sampled_from(LAYOUTS), data=st.data())
def test_fields_are_read_as_numpy_reads_them(dtype, how, data):
    a = laid(dtype, how)
    ways = leaves(dtype)
    if not ways:
        return
    path, shape = data.draw(st.sampled_from(ways))
    at = items(path)
    one = "[0]" * len(shape)
    index = "[i]" if a.ndim == 1 else "[i, 0]"
    got, _, want, _ = twice(f"def f(a):\n    return a{at}", lambda: laid(dtype, how))
    same(got, want)
    text = f"""
    def f(a):
        out = np.zeros((2, len(a)), np.complex128)
        for i in range(len(a)):
            out[0, i] = a{index}{at}{one}
            out[1, i] = a{at}{index}{one}
        return out
    """
    got, _, want, _ = twice(text, lambda: laid(dtype, how))
    same(got, want)
    if a.ndim == 1:
        text = f"""
        def f(a):
            s = 0j
            for r in a:
                s += r{at}{one}
            return s
        """
        got, _, want, _ = twice(text, lambda: laid(dtype, how))
        assert complex(got) == complex(want)


@settings(max_examples=examples(60), deadline=None)
@given(dtype=dtypes(), how=st.sampled_from(LAYOUTS), data=st.data())
def test_fields_are_written_where_numpy_writes_them(dtype, how, data):
    a = laid(dtype, how)
    ways = leaves(dtype)
    if not ways or not a.flags.writeable:
        return
    path, shape = data.draw(st.sampled_from(ways))
    at = items(path)
    one = "[0]" * len(shape)
    index = "[i]" if a.ndim == 1 else "[i, 0]"
    text = f"""
    def f(a):
        for i in range(len(a)):
            a{index}{at}{one} = i % 2
        for i in range(0, len(a), 2):
            a{at}{index}{one} = 1
    """
    _, mine, _, theirs = twice(text, lambda: laid(dtype, how))
    assert memory(mine) == memory(theirs)
    _, mine, _, theirs = twice(f"def f(a):\n    a{at}[...] = 1", lambda: laid(dtype, how))
    assert memory(mine) == memory(theirs)
    _, mine, _, theirs = twice(f"def f(a):\n    a{at}[1:] = a{at}[:-1]", lambda: laid(dtype, how))
    assert memory(mine) == memory(theirs)


@settings(max_examples=examples(60), deadline=None)
@given(dtype=dtypes(), how=st.sampled_from(LAYOUTS))
def test_whole_records_are_copied(dtype, how):
    a = laid(dtype, how)
    if not a.flags.writeable:
        return
    if len(a) > 1:
        index = ("[0]", "[1]", "[-1]") if a.ndim == 1 else ("[0, 1]", "[1, 0]", "[-1, -1]")
        text = f"def f(a):\n    a{index[0]} = a{index[1]}\n    a{index[2]} = a{index[0]}"
        _, mine, _, theirs = twice(text, lambda: laid(dtype, how))
        same_fields(mine, theirs)
    _, mine, _, theirs = twice("def f(a):\n    a[1:] = a[:-1]", lambda: laid(dtype, how))
    same_fields(mine, theirs)
    _, mine, _, theirs = twice("def f(a):\n    a[::-1] = a", lambda: laid(dtype, how))
    same_fields(mine, theirs)
    got, _, want, _ = twice(
        "def f(a):\n    return a.copy(), a[::2], a.T, a.shape, a.size, a.itemsize", lambda: laid(dtype, how)
    )
    for x, y in zip(got[:3], want[:3]):
        assert x.shape == y.shape and x.dtype == y.dtype
        same_fields(x, y)
    assert got[3:] == want[3:]


def same_fields(x: np.ndarray, y: np.ndarray) -> None:
    """Check that two arrays of records have the same items; what lies between fields does not count."""
    for name in x.dtype.names:
        if x[name].dtype.names:
            same_fields(x[name], y[name])
        else:
            assert np.ascontiguousarray(x[name]).tobytes() == np.ascontiguousarray(y[name]).tobytes()


@settings(max_examples=examples(40), deadline=None)
@given(dtype=dtypes(), n=st.integers(0, 4))
def test_new_records(dtype, n):
    @njit
    def zeros(n):
        return np.zeros(n, dtype)

    @njit
    def more(n):
        a = np.zeros((n, 2), dtype=dtype)
        b = np.zeros_like(a)
        c = np.empty_like(a)
        c[...] = a
        d = np.empty(n, dtype)
        d[:] = a[:, 1]
        return a, b, c, d

    got = zeros(n)
    assert got.dtype == dtype and got.shape == (n,)
    same_fields(got, np.zeros(n, dtype))
    for x, shape in zip(more(n), [(n, 2)] * 3 + [(n,)]):
        assert x.dtype == dtype and x.shape == shape
        same_fields(x, np.zeros(shape, dtype))


def test_numbers_like_records():
    @njit
    def f(a):
        return (
            np.zeros_like(a, dtype=np.int16),
            np.ones_like(a, np.float64),
            np.full_like(a, 3, dtype=np.int64),
            np.zeros_like(a, dtype=bool, shape=(2, 3)),
        )

    dtype = [("x", "f8"), ("y", "i4")]
    for a in (np.zeros(3, dtype), np.zeros((2, 3), dtype, order="F"), np.zeros((4, 3), dtype)[::2]):
        for x, y in zip(f(a), f.py_func(a), strict=True):
            assert x.dtype == y.dtype and x.flags.f_contiguous == y.flags.f_contiguous
            np.testing.assert_array_equal(x, y)
    with pytest.raises(TypingError, match="items must be numbers"):
        njit(lambda a: np.ones_like(a))(np.zeros(2, dtype))


@settings(max_examples=examples(40), deadline=None)
@given(dtype=dtypes(), how=st.sampled_from(LAYOUTS))
def test_records_go_in_and_out(dtype, how):
    a = laid(dtype, how)
    if not a.size:
        return
    one = (0,) * a.ndim

    got = jit("def f(a):\n    return a" + ("[0]" if a.ndim == 1 else "[0, 0]"))(a)
    assert type(got) is type(a[one]) and got.dtype == dtype
    assert got.tobytes() == a[one].tobytes()
    assert jit("def f(r):\n    return r")(a[one]).tobytes() == a[one].tobytes()
    ways = leaves(dtype)
    for path, _ in ways[:2]:
        same(
            jit(f"def f(r):\n    return r{items(path)}")(a[one]),
            function(f"def f(r):\n    return r{items(path)}")(a[one]),
        )


def test_a_record_is_a_view_of_its_place():
    @njit
    def f(a):
        r = a[1]
        r.x = 5
        a[1]["n"] = 6
        return r["n"], r

    a = np.zeros(3, PACKED)
    n, r = f(a)
    assert n == 6 and a[1].item() == (5.0, 6)
    r["x"] = 9
    assert a[1]["x"] == 9 and r.base is not None


def test_a_record_outlives_its_array():
    @njit
    def f(n):
        a = np.zeros(n, PACKED)
        a[1].x = 3
        return a[1], a["n"]

    r, n = f(4)
    n[1] = 8
    assert r.item() == (3.0, 8)


def test_scalars_are_arguments_that_functions_write_to():
    @njit
    def f(r, v):
        r.x += v
        r["n"] = 7
        return r.x

    r = np.zeros(2, PACKED)[1]
    assert f(r, 2.5) == 2.5 and r.item() == (2.5, 7)
    a = np.zeros(2, PACKED)
    a.flags.writeable = False
    with pytest.raises(TypingError, match="read-only"):
        f(a[1], 1.0)
    own = np.void((1.0, 2), dtype=PACKED)
    assert f(own, 1.0) == 2.0 and own["n"] == 7


def test_records_of_numpy_rec():
    @njit
    def f(a):
        a.x[0] = 4
        a.n += 2
        for r in a:
            r.x += r.n
        return a.x.sum(), a[0]

    a = np.rec.array([(1.0, 2), (3.0, 4)], dtype=PACKED)
    total, r = f(a)
    assert total == 8.0 + 9.0
    assert type(r) is np.record and r.x == 8.0 and a.n.tolist() == [4, 6]


@pytest.mark.parametrize("dtype", [PACKED, ALIGNED, SPREAD], ids=["packed", "aligned", "spread"])
def test_fields_are_arrays(dtype):
    x, n = dtype.names[:2]
    text = f"""
    def f(a):
        x, n = a[{x!r}], a[{n!r}]
        y = x * 2 + n
        x += n
        x[1:3] -= 1
        x[::2] *= 2
        m = x[x > 1]
        return (y, np.sqrt(np.abs(x)), x.sum(), x.mean(), x.max(), x.min(), (x > 2).any(), x.copy(), x.astype(np.float32), m,
                x[np.array([1, 0, 2])], np.maximum(x, n), x.argmax(), x @ x, x.strides, len(x), -x, x[::-1], np.zeros_like(x))
    """
    got, mine, want, theirs = twice(text, lambda: filled(np.zeros(9, dtype)))
    same_fields(mine, theirs)
    for k, (g, w) in enumerate(zip(got, want)):
        np.testing.assert_allclose(g, w, rtol=1e-15, err_msg=str(k))


def test_tuples_are_stored_by_fields():
    @njit
    def f(a, x):
        a[0] = (x, 3)
        a[1:3] = (2 * x, 4)
        r = a[3]
        r["x"] = 1
        return a

    a = f(np.zeros(4, PACKED), 1.5)
    assert a.tolist() == [(1.5, 3), (3.0, 4), (3.0, 4), (1.0, 0)]


def test_nested_records():
    @njit
    def f(a):
        for i in range(len(a)):
            a[i].at.x = a[i].at.y + a[i].v[1]
            a[i].v[:] = i
            a["inner"][i].a = a[i]["inner"]["a"] + 1
        a[0].at = a[1].at
        return a["at"]["x"].sum(), a["inner"]["b"], a["v"]

    def g(a):
        for i in range(len(a)):
            a[i]["at"]["x"] = a[i]["at"]["y"] + a[i]["v"][1]
            a[i]["v"][:] = i
            a["inner"]["a"][i] = a[i]["inner"]["a"] + 1
        a["at"][0] = a["at"][1]
        return a["at"]["x"].sum(), a["inner"]["b"], a["v"]

    mine, theirs = filled(np.zeros(4, NESTED)), filled(np.zeros(4, NESTED))
    got, want = f(mine), g(theirs)
    same_fields(mine, theirs)
    assert got[0] == want[0]
    same(got[1], want[1])
    same(got[2], want[2])


def test_fields_may_share_bytes():
    @njit
    def f(a):
        a[0].f = 1.5
        bits = a[0].u
        a[1].u = bits
        return a[1].f

    assert f(np.zeros(2, UNION)) == 1.5


def test_loops_over_prange():
    @njit(parallel=True)
    def f(a, b):
        for i in prange(len(a)):
            a[i].x = b[i].x * 2 + a[i].n
            a["n"][i] += 1
        s = 0.0
        for i in prange(len(a)):
            s += a[i].x
        return s

    @njit(parallel=True)
    def other_field(a):
        for i in prange(len(a) - 1):
            a[i].x = a[i + 1].n

    @njit(parallel=True)
    def same_field(a):
        for i in prange(len(a) - 1):
            a[i].x = a[i + 1].x

    for dtype in (PACKED, ALIGNED):
        a, b = filled(np.zeros(5000, dtype), 2), filled(np.zeros(5000, dtype), 3)
        want = b["x"] * 2 + a["n"]
        n = a["n"].copy()
        total = f(a, b)
        assert (a["x"] == want).all() and (a["n"] == n + 1).all()
        assert total == pytest.approx(want.sum())
        other_field(a)
        assert (a["x"][:-1] == a["n"][1:]).all()
        with pytest.raises(UnsupportedError, match="depend on each other"):
            same_field(a)


def test_array_expressions_on_all_cores():
    @njit(parallel=True)
    def f(a):
        a["x"][:] = np.sqrt(a["x"] * 2 + a["n"])
        return (a["x"] + a["n"]).sum()

    for dtype in (PACKED, ALIGNED):
        a = filled(np.zeros(100_000, dtype))
        a["x"] = np.abs(a["x"])
        b = a.copy()
        got = f(a)
        b["x"] = np.sqrt(b["x"] * 2 + b["n"])
        np.testing.assert_allclose(a["x"], b["x"], rtol=1e-15)
        assert got == pytest.approx((b["x"] + b["n"]).sum())


def test_compiled_callers_and_options():
    @njit
    def move(r, dt):
        r.x += dt * r.n
        return r

    @njit(inline="always")
    def get(a, i):
        return a[i]

    def total(a):
        s = 0.0
        for i in range(len(a)):
            s += move(get(a, i), 0.5).x
        return s

    want = None
    for options in ({}, {"nogil": True}, {"fastmath": True}, {"boundscheck": False}, {"parallel": True}):
        a = filled(np.zeros(50, PACKED))
        got = njit(**options)(total)(a)
        want = got if want is None else want
        assert got == pytest.approx(want) and want == pytest.approx(a["x"].sum())


def test_indices_are_checked():
    @njit
    def f(a, i):
        return a[i].x

    a = np.zeros(3, PACKED)
    a["x"] = [1, 2, 3]
    assert f(a, -1) == 3
    for i in (3, -4):
        with pytest.raises(IndexError, match="out of bounds"):
            f(a, i)


def test_the_type_of_records_is_part_of_a_call():
    @njit
    def f(a):
        return a[0].x

    for dtype in (
        PACKED,
        ALIGNED,
        np.dtype([("n", "i4"), ("x", "f8")]),
        np.dtype([("x", "f4"), ("n", "i4")]),
        np.dtype([("x", "f8"), ("m", "i4")]),
        np.dtype([("x", "i8"), ("n", "i4")]),
    ):
        a = np.zeros(2, dtype)
        a["x"] = 7
        for b in (a, a.view(np.recarray), a.copy()):
            assert f(b) == 7
    assert len(f.signatures) == 12
    assert (
        f(np.array([(7, 1)], dtype=[("x", "f8"), ("n", "i4")])) == 7
    )  # another dtype object of the same fields
    assert len(f.signatures) == 12


def test_offsets_alone_tell_dtypes_apart():
    @njit
    def f(a):
        return a[1].a, a["b"][1]

    for offsets in ([0, 4], [0, 8], [8, 4], [4, 0]):
        a = np.zeros(
            2, np.dtype({"names": ["a", "b"], "formats": ["i4", "i4"], "offsets": offsets, "itemsize": 12})
        )
        a["a"], a["b"] = 5, 6
        assert f(a) == (5, 6) and f(a.copy()) == (5, 6)


def test_classes_of_nested_records_are_told_apart():
    """To NumPy a dtype with fields of numpy.record is the same as one without; what is taken of them is not."""

    @njit
    def part(a):
        return a[0]["in"]

    @njit
    def copied(a):
        return a.copy()

    plain = np.dtype([("in", PACKED), ("more", PACKED, (2,))])
    first = np.dtype([("in", np.dtype((np.record, PACKED))), ("more", PACKED, (2,))])
    deep = np.dtype([("in", PACKED), ("more", np.dtype((np.record, PACKED)), (2,))])
    assert plain == first == deep
    for dtype in (plain, first, deep, plain, first):
        a = np.zeros(3, dtype)
        assert type(part(a)) is type(part.py_func(a))
        got = copied(a).dtype
        for name in ("in", "more"):
            assert got[name].base.type is dtype[name].base.type


def test_a_dtype_may_be_an_argument():
    @njit
    def f(n, dtype):
        return np.zeros(n, dtype)

    for dtype in (PACKED, ALIGNED, POINT, PACKED, np.dtype((np.record, PACKED)), PACKED):
        a = f(2, dtype)
        assert a.dtype == dtype and type(a[0]) is dtype.type


def test_types_and_signatures():
    from treadle import as_type, float64, typeof

    assert str(typeof(np.zeros(2, PACKED))) == "array(record(x: float64, n: int32), 1d, C)"
    assert str(typeof(np.zeros(2, PACKED)[0])) == "record(x: float64, n: int32)"
    assert typeof(np.zeros(2, PACKED)) is not typeof(np.zeros(2, ALIGNED))
    t = typeof(np.zeros((2, 2), PACKED, order="F"))
    assert t.dtype is typeof(np.void((1, 2), PACKED)) and (t.ndim, t.layout, t.mutable) == (2, "F", True)

    record = as_type(PACKED)
    f = njit(float64(record[::1], record))(lambda a, r: a[1].x + r.n)
    a = np.array([(1, 2), (3, 4), (5, 6)], PACKED)
    assert f(a, a[0]) == 5.0
    for wrong in (a.astype(ALIGNED), a[::2], np.zeros(2)):
        with pytest.raises(TypeError, match="no signature"):
            f(wrong, a[0])


CACHED = """
import sys
import numpy as np
from treadle import njit, stats

dt = np.dtype([("x", "f8"), ("n", sys.argv[1])])

@njit(cache=True)
def f(a):
    return a[1].x + a[1].n

@njit(cache=True)
def g(n):
    a = np.zeros(n, dt)
    a[1].n = 3
    return a

a = np.zeros(3, dt)
a["x"], a["n"] = 0.5, 2
print(f(a), g(2)[1].item(), g(2).dtype == dt)
print(stats()["compiled"])
"""


def test_the_cache_tells_dtypes_apart(tmp_path):
    program = tmp_path / "cached.py"
    program.write_text(CACHED)
    seen = []
    for kind in ("i4", "i4", "i8", "i8", "i4"):
        run = subprocess.run(
            [sys.executable, str(program), kind], capture_output=True, text=True, cwd=tmp_path, timeout=120
        )
        assert run.returncode == 0, run.stderr
        lines = run.stdout.splitlines()
        assert lines[0] == "2.5 (0.0, 3) True"
        seen.append(int(lines[1]))
    assert seen[0] > 0 and seen[2] > 0 and seen[1] == seen[3] == seen[4] == 0


REFUSED = [
    ("unknown field", "a[0].xx", TypingError, "no field or attribute 'xx'(.|\n)*did you mean 'x'"),
    ("unknown item", "a['y']", TypingError, "no field 'y'"),
    ("unknown method", "a.sum()", TypingError, "no field or attribute 'sum'"),
    ("a name at run time", "a[0][i]", TypingError, "known when the function compiles"),
    ("whole records computed with", "a + a", TypingError, r"\+"),
    ("records compared", "a[0] == a[1]", TypingError, "unsupported operand types for =="),
    ("the truth of a record", "1 if a[0] else 2", TypingError, "truth of record"),
    ("a date of a multiple", "a['d']", UnsupportedError, "field 'd', whose dtype is <M8"),
    ("a function of arrays", "np.cumsum(a)", TypingError, "items must be numbers"),
    (
        "sorting by a date of a multiple",
        "np.sort(a, order='x')",
        UnsupportedError,
        "field 'd', whose dtype is <M8",
    ),
    (
        "sorting by no field",
        "np.argsort(a, order='xx')",
        TypingError,
        "unknown field name: 'xx'(.|\n)*did you mean 'x'",
    ),
    ("sorting by a field twice", "np.sort(a, order=('n', 'n'))", TypingError, "duplicate field: 'n'"),
    ("sorting by what is no name", "np.sort(a, order=i)", TypingError, "names of fields, as constants"),
    ("a ufunc", "np.sqrt(a)", TypingError, "takes numbers or arrays, not array.record"),
]


@pytest.mark.parametrize(("what", "text", "error", "match"), REFUSED, ids=[r[0] for r in REFUSED])
def test_refused(what, text, error, match):
    dtype = np.dtype([("x", "f8"), ("n", "i4"), ("s", "S4"), ("d", "M8[25s]")])
    with pytest.raises(error, match=match):
        jit(f"def f(a, i):\n    return {text}")(np.zeros(3, dtype), 0)


ORDERS = [
    "",
    "order='n'",
    "order=('n', 'x')",
    "order=['x']",
    "kind='stable'",
    "axis=0, order='t'",
    "order='b', kind='heapsort'",
]
KEYS = np.dtype([("x", "f4"), ("n", "i2"), ("t", "M8[s]"), ("b", "?"), ("z", "c16"), ("u", "u8")])


@pytest.mark.parametrize("how", ORDERS)
@pytest.mark.parametrize("align", [False, True])
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from([0.0, 1.5, -2.0, np.nan, np.inf]),
            st.integers(-2, 2),
            st.sampled_from([0, 3, "NaT"]),
            st.booleans(),
            st.sampled_from([0j, 1 + 2j, 1 - 2j, complex(1, np.nan)]),
            st.sampled_from([0, 1, 2**64 - 1]),
        ),
        max_size=40,
    ),
    step=st.sampled_from([1, 2, -1]),
)
@settings(max_examples=examples(20), deadline=None)
def test_sorted(how, align, rows, step):
    """By the fields that are named, then by the others: np.sort, argsort and both methods."""
    a = np.zeros(len(rows), np.dtype(KEYS.descr, align=align))
    for k, row in enumerate(rows):
        a[k] = row
    a = a[::step]
    want = np.sort(a.copy(), **eval(f"dict({how})"))
    text = f"""
def f(a):
    b = a.copy()
    b.sort({how})
    return np.sort(a, {how}), a[np.argsort(a, {how})], a[a.argsort({how})], b
"""
    for got in jit(text)(a):
        assert got.dtype == want.dtype
        for name in KEYS.names:  # what lies between fields is nobody's
            assert got[name].tobytes() == want[name].tobytes(), (name, got, want)


def test_sorting_changes_the_array_itself():
    @njit
    def f(a):
        a[1:]["at"].sort(order="y")
        a["at"][:2].sort()

    dtype = np.dtype([("id", "i4"), ("at", POINT)])
    a, b = filled(np.zeros(20, dtype), 3), filled(np.zeros(20, dtype), 3)
    f(a)
    f.py_func(b)
    assert a.tobytes() == b.tobytes()
    with pytest.raises(TypingError, match="read-only"):
        a.flags.writeable = False
        f(a)
    with pytest.raises(TypingError, match="only an array of one axis"):
        jit("def f(a):\n    return np.sort(a)")(np.zeros((2, 2), PACKED))


def test_names_with_a_nul_are_refused():
    a = np.zeros(2, np.dtype([("a\0b", "i4"), ("a\0c", "f8")]))
    with pytest.raises(TypeError, match="NUL in the name of a field"):
        njit(lambda a: a[0])(a)


def test_refused_arguments():
    f = njit(lambda a: 1)
    with pytest.raises(TypeError, match="fields of objects"):
        f(np.zeros(2, [("x", "f8"), ("o", "O")]))
    with pytest.raises(TypeError, match="titles"):
        f(np.zeros(2, [(("title", "x"), "f8")]))
    with pytest.raises(TypeError, match="no structure"):
        f(np.zeros(2, "V8"))


def test_attributes_of_other_values_are_not_assigned():
    @njit
    def f(x):
        x.y = 1

    with pytest.raises(UnsupportedError, match="assignment to 'y' of array(.|\n)*return the new value"):
        f(np.zeros(3))


def test_other_fields_are_not_stored():
    @njit
    def f(a, b):
        a[0] = b[0]

    with pytest.raises(TypingError, match="same fields"):
        f(np.zeros(2, PACKED), np.zeros(2, ALIGNED))
    with pytest.raises(TypingError, match="cannot store int64"):
        jit("def f(a):\n    a[0] = 1")(np.zeros(2, PACKED))
    f(np.zeros(2, PACKED), np.zeros(2, PACKED).view(np.recarray))


def test_unaligned_fields_and_functions_that_take_none():
    @njit
    def f(a):
        a["x"].sort()
        return a["x"].reshape(5, 1)

    @njit
    def g(a):
        return np.sort(a["x"].copy())

    a = filled(np.zeros(5, PACKED))
    with pytest.raises(UnsupportedError, match="(?s)not aligned.*copy it first"):
        f(a)
    assert (g(a) == np.sort(a["x"])).all()
    for text in (
        "np.lib.stride_tricks.as_strided(x, (2,))",
        "x.view(np.int64)",
        "np.put(x, 0, 1)",
    ):
        h = jit(f"def f(a):\n    x = a['x']\n    return {text}")
        with pytest.raises((UnsupportedError, TypingError), match="not aligned"):
            h(a)
    b = filled(np.zeros(5, ALIGNED))
    want = np.sort(b["x"])
    assert (f(b)[:, 0] == want).all() and (b["x"] == want).all()


@pytest.mark.parametrize("dtype", [PACKED, ALIGNED, SPREAD], ids=["packed", "aligned", "spread"])
@pytest.mark.parametrize(
    "text",
    [
        "np.sort(x), np.argsort(x), np.unique(n), np.median(x)",
        "np.concatenate((x, n)), np.stack((x, x[::-1])), np.vstack((x, x)), np.hstack((n, x))",
        "np.where(x > 0, x, n), np.nonzero(x), np.argwhere(x), np.flatnonzero(x)",
        "np.clip(x, -1, 1), x.clip(0, 2), np.round(x), x.round(1), np.cumsum(x), x.cumprod()",
        "np.dot(x, n), np.outer(x, n), np.inner(x, x), np.diff(x), np.ptp(x), np.repeat(x, 2), np.tile(n, 2)",
        "np.searchsorted(np.sort(x), n), np.digitize(x, np.sort(n)), np.take(x, np.array([0, 2])), np.argmin(x)",
        "np.array_equal(x, n), np.allclose(x, x), np.interp(n, np.sort(x), x), np.trapezoid(x), np.average(x, weights=n)",
        "np.nanmean(x), np.isin(x, n), np.count_nonzero(x), np.linalg.norm(x), np.std(x), np.prod(x), x.var(), np.matmul(x, n)",
    ],
)
def test_functions_of_fields(dtype, text):
    if "trapezoid" in text and not hasattr(np, "trapezoid"):
        text = text.replace("np.trapezoid", "np.trapz")
    names = dtype.names[:2] if dtype is not SPREAD else ("a", "b")
    text = f"def f(a):\n    x, n = a[{names[0]!r}], a[{names[1]!r}]\n    return {text}"
    got, _, want, _ = twice(text, lambda: filled(np.zeros(9, dtype)))
    for k, (g, w) in enumerate(zip(got, want)):
        np.testing.assert_allclose(g, w, rtol=1e-13, err_msg=str(k))
