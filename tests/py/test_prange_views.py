"""prange loops that reach one array through several views: what is apart runs as it is, what meets is refused, copied or told.

Iterations run one by one, the last one first, so whatever depends on their order shows.
"""

from __future__ import annotations

import contextlib
import io
import math
import random

import numpy as np
import pytest
from treadle import UnsupportedError, _core, njit, prange

LAYOUTS = ("C", "F", "A")

HELPERS = """
@njit
def get(t, i, n):
    return get(t, i, n - 1) if n > 0 else t[0][i]
@njit
def ident(a, n):
    return ident(a, n - 1) if n > 0 else a
"""


@pytest.fixture(autouse=True)
def backwards():
    _core._pool_grain(1, True)
    yield
    _core._pool_grain(0)


def laid_out(a, layout):
    if layout == "A":
        return np.repeat(a, 2, axis=-1)[..., ::2]
    return a.copy() if layout == "C" else np.asfortranarray(a)


def both(source):
    """The function run by Python, and compiled."""
    out = []
    for over in range, prange:
        names = {"np": np, "math": math, "prange": over, "njit": (lambda f: f) if over is range else njit}
        exec(HELPERS + source, names)
        out.append(names["f"])
    return out[0], njit(parallel=True)(out[1])


def told(f):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        f.parallel_diagnostics()
    return text.getvalue()


def verdict(source, shape, layout):
    """apart, copies, perhaps or refused; results are compared where it is not `perhaps`."""
    python, compiled = both(source)
    base = np.arange(float(np.prod(shape))).reshape(shape) % 13
    mine, theirs = laid_out(base, layout), laid_out(base, layout)
    try:
        compiled(mine)
    except UnsupportedError as e:
        assert "depend on each other: line" in str(e)
        return "refused"
    said = told(compiled)
    if "perhaps" in said:
        return "perhaps"
    python(theirs)
    np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    return "copies" if "copies" in said else "apart"


def loop(*body, over="len(a)", before=()):
    lines = [*(f"    {x}" for x in before), f"    for i in prange({over}):", *(f"        {x}" for x in body)]
    return "def f(a):\n" + "\n".join(lines) + "\n"


ROWS = [
    # rows of other iterations, whole arrays, what iterations before have stored
    ("refused", loop("a[i] = a[i + 1]", over="len(a) - 1")),
    ("refused", loop("a[i + 1] = a[i]", over="len(a) - 1")),
    ("refused", loop("a[i, :] = a[i + 1, :]", over="len(a) - 1")),
    ("refused", loop("a[i, 0] = a[i + 1].sum()", over="len(a) - 1")),
    ("refused", loop("a[i] += a[i + 1, 1]", over="len(a) - 1")),
    ("refused", loop("a[:, i] = a[:, i + 1]", over="a.shape[1] - 1")),
    ("refused", loop("a[i:i + 1] = a[i + 1:i + 2]", over="len(a) - 1")),
    ("refused", loop("a[i] += a[:, 1].max()")),
    ("refused", loop("b[i] = b.sum()", before=["b = a[:, 0]"])),
    ("refused", loop("b[i] = b[:i].sum() + 1", before=["b = a[:, 0]"])),
    ("apart", loop("a[i, 0] = a[i].sum()")),
    ("apart", loop("a[i, 1:] = a[i, 0]")),
    # a row and an element of it
    ("apart", loop("a[i] -= 1", "a[i, 1] += 1")),
    ("apart", loop("a[i, 1:3] += 1", "a[i, 2] *= 3")),
    ("apart", loop("a[i][1] = a[i, 0] + 1")),
    ("apart", loop("a[i][:] = 1", "a[i] += a[i, ::-1]")),
    ("apart", loop("a[:, i] += 1", "a[0, i] *= 2", over="a.shape[1]")),
    ("apart", loop("a[::-1, i] = a[:, i] + i", over="a.shape[1]")),
    ("apart", loop("for j in range(4):", "    a[i][j] += a[i, j - 1]")),
    # other views of one array
    ("apart", loop("b[i] = a[i, 0] + 1", "a[i, 2] += b[i]", before=["b = a[:, 1]"])),
    ("apart", loop("b[0, i] = a[i, 1] + 1", before=["b = a.T"])),
    ("apart", loop("b[:, i] += a[i]", before=["b = a.T"])),
    ("apart", loop("b[i, -1] = c[0, i] + 1", before=["b = a[:, 1:]", "c = a.T"])),
    # rows that overlap
    ("refused", loop("a[i:i + 2] = i", over="len(a) - 1")),
    ("refused", loop("a[i:i + 2, 1] = i", over="len(a) - 1")),
    ("refused", loop("b[i, 0] = a[i, 0] + 1", before=["b = a[1:]"], over="len(a) - 1")),
    # the same number everywhere
    ("apart", loop("a[i:i + 2] = 5", over="len(a) - 1")),
]
LINES = [
    ("apart", loop("a[i * 4:(i + 1) * 4] += 1", over="len(a) // 4")),
    ("apart", loop("a[i * m:(i + 1) * m] += a[i * m]", over="len(a) // m", before=["m = int(a[3])"])),
    ("apart", loop("a[2 * i:2 * i + 2] += 1", "a[2 * i + 1] *= 3", over="len(a) // 2")),
    ("apart", loop("a[::2][i] += 1", "a[1::2][i] *= 3", over="len(a) // 2")),
    ("apart", loop("e[i] = o[i] + 1", before=["e, o = a[::2], a[1::2]"], over="len(a) // 2")),
    ("apart", loop("b[i] = a[i + 1] + 1", before=["b = a[1:]"], over="len(b)")),
    ("refused", loop("b[i] = a[i] + 1", before=["b = a[1:]"], over="len(b)")),
    ("refused", loop("b[i] = a[i] + 1", before=["b = a[3:-2]"], over="len(b)")),
    ("refused", loop("a[i:i + 2][1] = a[i] + 1", over="len(a) - 1")),
    ("refused", loop("a[i:i + 2] = a[i]", over="len(a) - 1")),
    ("refused", loop("a[i:i + 3] = i", over="len(a) - 2")),
    ("apart", loop("a[::-1][i] = a[i] + 1")),
    ("perhaps", loop("b[i] = a[i] + 1", before=["b = a[1:] if a[1] > 0 else a"], over="len(b)")),
    (
        "perhaps",
        loop("b[i + 1] = a[i] + 1", before=["b = a", "while b[0] > 9: b = b[1:]"], over="len(b) - 1"),
    ),
    ("refused", loop("a[i * m:(i + 2) * m] = i", over="len(a) // m - 1", before=["m = int(a[3])"])),
    ("apart", loop("a[max(i - 5, 0):][0] = i")),
    ("apart", loop("a[min(i, 5)] = i")),
]


K = "k = int(a[3])"
STARTS = [  # known when the loop begins, wherever that is
    ("apart", loop("a[i] = a[i + 20] * 2", over="len(a) - 20")),
    ("refused", loop("a[i] = a[i + 18] * 2", over="len(a) - 18")),
    ("apart", loop("a[i] = a[i - 20]", over="20")),
    ("refused", loop("a[i] = a[i - 36]", over="30")),
    ("apart", loop("a[i] = a[i - k]", before=["k = len(a) // 2"], over="20")),
    ("refused", loop("a[i] = a[i - k]", before=["k = len(a) - 4"], over="30")),
    ("apart", loop("b[i] = i", before=[K, "b = a[k:]"], over="10")),
    ("apart", loop("b[i] = i", before=[K, "b = a[max(k - 1, 0):]"], over="10")),
    ("apart", loop("b[i + 1] = i", before=[K, "b = a[k::2]"], over="10")),
    ("apart", loop("b[i] = i", before=[K, "b = a[k:int(a[20])]"], over="len(b)")),
    ("apart", loop("b[i] = i", before=["b = a[-10:]"], over="10")),
    ("apart", loop("b[i] = i", before=["b = a[-1:0:1]"], over="len(b)")),
    ("apart", loop("a[k:][i] = i", before=[K], over="10")),
    ("refused", loop("b[i] = b[i - 1]", before=[K, "b = a[k:]"], over="1, 10")),
    ("refused", loop("b[i] = a[i] + 1", before=[K, "b = a[k:]"], over="10")),
    ("apart", loop("b[i] = a[i] + 1", before=[K, "b = a[k:]"], over="3")),
    (
        "apart",
        loop("lo[i], hi[i] = hi[i], lo[i]", before=["h = len(a) // 2", "lo, hi = a[:h], a[h:]"], over="h"),
    ),
]
IDX = "idx = np.arange(6) * 3 % 7"
B = "b = a.copy()"
ELSEWHERE = [  # accesses that are no load or store of the loop's own
    ("perhaps", loop("a[i] = a[idx].sum()", before=[IDX], over="1, 12")),
    ("perhaps", loop("a[i] = np.take(a, idx).sum()", before=[IDX], over="1, 12")),
    ("perhaps", loop("a[idx] = i", before=[IDX], over="12")),
    ("perhaps", loop("a[idx] += 1", before=[IDX], over="12")),
    ("perhaps", loop("a[a > 3] = i * 1.0", over="1, 12")),
    ("perhaps", loop("a[i] = get((a, b), i - 1, 1) + 1", before=[B], over="1, len(a)")),
    ("refused", loop("h[i % 3] += get((h, b), i % 5, 1)", before=[B, "h = a"], over="1, len(a)")),
    # arrays that were chosen
    ("perhaps", loop("x = a if i % 2 else b", "x[0] = i", before=[B], over="10")),
    ("perhaps", loop("s = a if b[i] > 6 else b", "a[i] = s[i - 1] * 0.5", before=[B], over="1, 39")),
    ("perhaps", loop("for x in (a, b):", "    x[0] = i", before=[B], over="10")),
    ("perhaps", loop("t[i % 2][0] = i", before=["t = (a, a[1:])"], over="10")),
    ("perhaps", loop("b[i] = a[i - 1] + 1", before=["b = ident(a, 2)"], over="1, len(a)")),
    ("refused", loop("h[i % 3] += g[i % 4] * 0.5", before=["h = a", "g = ident(h, 1)"])),
    (
        "perhaps",
        loop("x[i] = y[i - 1] + 1", before=[B, "x, y = (a, b) if a[1] > 50 else (a, a)"], over="1, 10"),
    ),
    # indices that count from the end
    ("apart", loop("a[i] = a[-1] + i")),
    ("apart", loop("b[2 * i] = b[2 * i - 1] + 1", before=["b = a[1:]"], over="(len(b) + 1) // 2")),
    ("apart", loop("a[i:i - 30] = i", over="31")),
]


@pytest.mark.parametrize("layout", ("C", "A"))
@pytest.mark.parametrize(("want", "source"), STARTS + ELSEWHERE)
def test_starts_and_what_is_elsewhere(want, source, layout):
    assert verdict(source, (40,), layout) == want


def test_blocks_of_one_array_beside_elements_of_another():
    """The prover that views are looked at with is that of these accesses: this once ended the process."""

    @njit(parallel=True)
    def f(z, y, n, bs):
        for i in prange(n):
            z[i * bs : i * bs + bs] = 2
            y[i] = 1.0
        for i in prange(n):
            z[i * bs : (i + 1) * bs] = y[i]

    z, y = np.zeros(20), np.zeros(20)
    f(z, y, 5, 3)
    assert (z == np.repeat([1.0, 0], [15, 5])).all() and (y == np.repeat([1.0, 0], [5, 15])).all()


def test_all_of_an_array_is_read():
    """By a pattern that is seen; by a function of the runtime what it reads is not."""
    source = loop("a[i] = math.fsum(a)", over="9")
    assert verdict(source, (40,), "A") == "refused"
    assert verdict(source, (40,), "C") == "perhaps"


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("want", "source"), ROWS)
def test_rows(want, source, layout):
    assert verdict(source, (40, 4), layout) == want


@pytest.mark.parametrize("layout", ("C", "A"))
@pytest.mark.parametrize(("want", "source"), LINES)
def test_lines(want, source, layout):
    assert verdict(source, (40,), layout) == want


def test_sums_in_rows_that_overlap():
    """Each thread adds to a copy, however the array lies."""
    source = loop("a[i:i + 2] += 1", over="len(a) - 1")
    assert [verdict(source, (40,), layout) for layout in ("C", "A")] == ["copies", "copies"]


def test_arrays_that_change_places_are_two():
    source = """\
def f(a):
    b = a.copy()
    for k in range(3):
        for i in prange(len(a)):
            b[i] = a[i - 1] + k
        a, b = b, a
"""
    assert verdict(source, (40,), "C") == "apart"
    assert verdict(source.replace(".copy()", ""), (40,), "C") == "perhaps"
    assert verdict(source.replace("a, b = b, a", "a = b"), (40,), "C") == "perhaps"


@pytest.mark.parametrize(
    "statement, want",
    [
        ("a.ravel()[i] = a.ravel()[i - 1] + 1", "refused"),
        ("b[i] = b[i - 1] + 1", "refused"),
        ("b[i] = c[i - 1] + 1", "refused"),
        ("c[1:][i] = b[i] + 1", "refused"),
        ("a.flat[i] = a.flat[i - 1] + 1", "refused"),
        ("d[i % 10, 1] = d[i % 10, 0]", "apart"),
        ("a.ravel()[i] += 1", "apart"),
        ("a.flat[i] = c[i] * 2", "apart"),
        ("c[2 * i] = b[2 * i + 1]", "apart"),
        ("b[i:i + 2] += 1", "copies"),
        ("a[0, 0] = b[i]", "refused"),
        ("b[i] = a[i % 8, 3]", "perhaps"),
    ],
)
def test_the_same_items_in_other_axes(statement, want):
    """Items of an array in one axis are one by one the same however that was made; those of another shape if it is one view."""
    source = loop(
        statement,
        before=["b = a.ravel()", "c = a.reshape(-1)", "d = a.reshape(-1, 4)"],
        over="1, a.size // 2 - 1",
    )
    assert verdict(source, (8, 10), "C") == want


def test_an_index_that_comes_round():
    """Beginning at -1 a loop reaches the last item again if it is longer than the axis."""
    for over, want in (
        ("len(a) + 1", "apart"),
        ("len(a)", "apart"),
        ("1, len(a)", "apart"),
        ("a.shape[0]", "apart"),
    ):
        assert verdict(loop("a[i - 1] = i", over=over), (40,), "C") == want


def test_rows_of_a_reshaped_array():
    for inside, want in (("b[i, 0] = b[i, 1]", "apart"), ("b[i, 0] = b[i - 1, 1] + b[i - 1, 0]", "refused")):
        assert verdict(loop(inside, before=["b = a.reshape(-1, 4)"], over="1, len(b)"), (8, 10), "C") == want


def test_the_reshaped_array_is_told():
    source = loop("b[i] += 1", "a[4 * i] = 2", before=["b = a.reshape(-1, 4)"], over="len(b)")
    assert verdict(source, (40,), "C") == "perhaps"


def test_sums_into_an_array_and_what_it_was_reshaped_to():
    source = loop("b[i] += 1", "a[4 * i] += 1", before=["b = a.reshape(-1, 4)"], over="len(b)")
    assert verdict(source, (40,), "C") == "copies"


# --- any two accesses ---

INDICES = [
    "i",
    "i+1",
    "0",
    "1",
    "-1",
    ":",
    "2*i",
    "i:i+2",
    "1:",
    "::2",
    "n-1-i",
    "i*2:i*2+2",
    "::-1",
    "i*m:(i+1)*m",
]
INDICES += ["max(i-2,0):i+1", "i:"]
SLICES = [":", "1:", ":-1", "::2", "::-1", "1::2", "2:6"]


def make(r):
    ndim = r.choice([1, 1, 2, 2, 3])
    views, lines = ["a"], []
    for name in "bc":
        if r.random() < 0.7:
            of = r.choice(views)
            how = r.choice(["slice", "slice", ".T", "[:]"])
            part = "[" + ", ".join(r.choice(SLICES) for _ in range(ndim)) + "]" if how == "slice" else how
            lines.append(f"{name} = {of}{part}")
            views.append(name)
    body = []
    for _ in range(r.choice([1, 2])):
        to, of = (
            "[".join((r.choice(views), ", ".join(r.choice(INDICES) for _ in range(ndim)))) + "]" for _ in "ab"
        )
        value = r.choice([f"np.sum({of}) + i", f"np.sum({of}) * 0.5 + 1", "i", "7"])
        body.append(f"{to} {r.choice(['=', '=', '+='])} {value}")
    return ndim, loop(*body, before=[*lines, f"n, m = {5 if ndim == 3 else 16}, 2"], over="n")


def outcome(f, a):
    try:
        f(a)
    except UnsupportedError:
        return "refused"
    except (IndexError, ValueError) as e:
        return type(e).__name__
    return "done"


@pytest.mark.parametrize("seed", range(0, 120, 10))
def test_any_two_accesses(seed):
    for k in range(seed, seed + 10):
        ndim, source = make(random.Random(k))
        python, _ = both(source)
        base = (
            np.arange(14.0**ndim if ndim == 3 else 40.0**ndim).reshape((14 if ndim == 3 else 40,) * ndim) % 13
        )
        for layout in LAYOUTS:
            _, compiled = both(source)
            mine, theirs = laid_out(base, layout), laid_out(base, layout)
            want, got = outcome(python, theirs), outcome(compiled, mine)
            if got == "refused" or "perhaps" in told(compiled):
                continue
            assert got == want, source
            if got == "done":
                np.testing.assert_allclose(mine, theirs, rtol=1e-12, err_msg=f"{layout}\n{source}")
