"""reshape, ravel and flatten give a view or a copy where NumPy does: what is stored through one reaches the array or does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from treadle import njit, prange

sys.path.insert(0, str(Path(__file__).parent))
from builtins_check import rejects, run  # noqa: E402

ROOT = Path(__file__).parents[2]

# Made of a C array of 24 or more items.
LAYOUTS = {
    "C": lambda x: x[:24].reshape(2, 3, 4),
    "F": lambda x: x[:24].reshape(2, 3, 4).T,
    "two turned": lambda x: x[:24].reshape(2, 3, 4).transpose(1, 0, 2),
    "last turned": lambda x: x[:24].reshape(2, 3, 4).transpose(0, 2, 1),
    "cut inside": lambda x: x.reshape(2, 3, 16)[:, :, :4],
    "cut in the middle": lambda x: x.reshape(2, 12, 4)[:, :3],
    "every other": lambda x: x.reshape(2, 3, 16)[:, :, ::4],
    "backwards": lambda x: x[:24][::-1].reshape(2, 3, 4),
    "one axis backwards": lambda x: x[:24].reshape(2, 3, 4)[:, ::-1],
    "ones between": lambda x: x.reshape(2, 3, 16)[:, :, :4][:, None, :, None],
    "one row": lambda x: x[:24].reshape(24, 1).T,
    "one row of every other": lambda x: x[:48:2][None, :].T.T,
    "far row of one": lambda x: x.reshape(4, 24)[1:2],
    "line": lambda x: x[:96:4],
    "empty": lambda x: x.reshape(2, 3, 16)[:, :0, ::4],
    "one item": lambda x: x.reshape(2, 3, 16)[:1, 1:2, 5:6].T,
}
SHAPES = {
    24: ((24,), (-1,), (2, 3, 4), (3, 2, 4), (6, 4), (2, -1), (4, 6), (3, 8), (24, 1), (1, 24, 1), (2, 2, 6), (4, 3, 2), (2, 1, 3, 4),
         (2, 3, 2, 2)),
    0: ((0,), (2, 0), (-1, 4)),
    1: ((1,), (1, 1), ()),
}  # fmt: skip


def filled(order, hidden):
    """A function that stores through a reshaped array; hidden: from its type the array might be of any layout."""
    source = f"""
def f(a, shape, step):
    b = {"a[::step]" if hidden else "a"}.reshape(shape, order="{order}")
    b[...] = 0.5
    return b
"""
    space: dict = {}
    exec(source, space)
    return njit(space["f"])


def base():
    return np.arange(96.0)


@pytest.mark.parametrize(("order", "hidden"), [("C", False), ("F", False), ("A", True)])
def test_stores_reach_what_they_reach_in_numpy(order, hidden):
    f, views, copies = filled(order, hidden), 0, 0
    for name, layout in LAYOUTS.items():
        for shape in SHAPES[layout(base()).size]:
            x, y = base(), base()
            theirs = layout(y)
            got, want = f(layout(x), shape, 1), theirs.reshape(shape, order=order)
            shared = np.shares_memory(want, theirs)
            want[...] = 0.5
            where = f"{name} to {shape}"
            assert np.array_equal(x, y), where
            assert got.shape == want.shape and np.array_equal(got, want), where
            if want.size:
                assert np.shares_memory(got, x) == shared, where
                steps = [
                    (s, t) for n, s, t in zip(want.shape, got.strides, want.strides, strict=True) if n > 1
                ]
                assert not shared or all(s == t for s, t in steps), where
            views, copies = views + shared, copies + (not shared)
    assert views > 70 and copies > 20


@pytest.mark.parametrize("call", ["ravel({})", "flatten({})"])
@pytest.mark.parametrize("order", "CFA")
def test_ravel_is_contiguous(call, order):
    expr = "a." + call.format(f"order='{order}'")
    for name, layout in LAYOUTS.items():
        a = layout(base())
        got, want = run(expr, a), eval(expr)
        assert np.array_equal(got, want), name
        assert got.flags.c_contiguous and np.shares_memory(got, a) == np.shares_memory(want, a), name


def test_values_are_read_where_they_are():
    """Negative strides, and items that are there more than once."""
    for a in (
        np.broadcast_to(np.arange(4.0), (6, 4)),
        np.broadcast_to(np.arange(6.0)[:, None], (6, 4)),
        np.arange(24.0).reshape(6, 4)[::-1, ::-1],
    ):
        for expr in (
            "a.reshape(3, 8)",
            "a.reshape(2, 3, 4)",
            "a.reshape(-1)",
            "a.reshape(6, 2, 2)",
            "a.T.reshape(24)",
        ):
            got, want = run(expr, a), eval(expr)
            assert np.array_equal(got, want), expr
            assert np.shares_memory(got, a) == np.shares_memory(want, a), expr


def test_what_does_not_fit():
    a = np.arange(24.0)[::2].reshape(3, 4)[:, ::2]
    for shape in ("(4,)", "(-1, 4)", "(-1, -1)", "(0, -1)", "()"):
        with pytest.raises(ValueError):
            run(f"a.reshape({shape})", a)
        with pytest.raises(ValueError):
            eval(f"a.reshape({shape})")
    rejects("a.reshape(6, order='K')", a, match="other than 'C', 'F' and 'A'")
    rejects("a.reshape(6, order='CC')", a, match="other than 'C', 'F' and 'A'")
    rejects("a.reshape(6, order='')", a, match="other than 'C', 'F' and 'A'")


def test_read_only():
    a = np.arange(12.0).reshape(3, 4)[:, :2]
    a.flags.writeable = False
    assert run("a.reshape(3, 2, 1)[1, 0, 0]", a) == 4
    rejects("a.reshape(3, 2, 1).fill(2)", a, match="read-only|readonly")


# --- ways in ---


@njit
def halves(a):
    return a.reshape(a.shape[0] // 2, 2, -1)


@njit
def through_callers(a):
    b = halves(a)
    b[0, 1] += 100
    halves(b[:, 0])[0, 0] -= 7
    return b.sum()


@njit(parallel=True)
def in_prange(a):
    for i in prange(a.shape[0]):
        b = a[i].reshape(2, -1)
        b[1] = b[0] * 2 + i


@njit(parallel=True)
def of_prange(a):
    b = a.reshape(-1, 1)
    for i in prange(b.shape[0]):
        b[i, 0] += i


@njit(parallel=True)
def expression(a, c):
    b = a.reshape(-1)
    b[:] = b * 2 + c.reshape(-1)
    return b.sum()


@njit
def caught(a, n):
    try:
        b = a.reshape(n, -1)
        b[0] = 5.0
    except ValueError:
        return -1
    return b.shape[1]


WAYS = (through_callers, in_prange, of_prange)


@pytest.mark.parametrize("f", WAYS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("layout", ["C", "columns", "turned", "backwards"])
def test_ways_in(f, layout):
    def of():
        x = np.arange(96.0)
        return x, {"C": x.reshape(8, 12), "columns": x.reshape(8, 12)[:, :8:2], "turned": x.reshape(12, 8).T,
                   "backwards": x.reshape(8, 12)[::-1, ::-2]}[layout]  # fmt: skip

    (x, a), (y, b) = of(), of()
    got, want = f(a), f.py_func(b)
    assert np.array_equal(x, y)
    assert got == want


def test_expression_over_itself():
    for cut in (np.s_[:, :4], np.s_[::2, ::2], np.s_[:, ::-1]):
        x, y = np.arange(96.0).reshape(8, 12), np.arange(96.0).reshape(8, 12)
        assert expression(x[cut], x[cut]) == expression.py_func(y[cut], y[cut])
        assert np.array_equal(x, y)
        assert expression(x[cut].T, x[cut].copy().T) == expression.py_func(y[cut].T, y[cut].copy().T)
        assert np.array_equal(x, y)


def test_caught():
    for n in (2, 5):
        x, y = np.arange(32.0).reshape(4, 8), np.arange(32.0).reshape(4, 8)
        assert caught(x[:, :4], n) == caught.py_func(y[:, :4], n)
        assert np.array_equal(x, y)


CACHED = """
import numpy as np
from treadle import njit

@njit(cache=True)
def f(a):
    b = a.reshape(2, -1, 2)
    b[1] = 0
    return b

for cut in (np.s_[:, 2:4], np.s_[:, 2:6], np.s_[::2, 2:4]):
    x, y = np.arange(64.0).reshape(8, 8), np.arange(64.0).reshape(8, 8)
    assert np.array_equal(f(x[cut]), f.py_func(y[cut])) and np.array_equal(x, y)
    print(x.sum())
"""


def test_from_the_cache(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(CACHED)
    runs = [
        subprocess.run([sys.executable, program], capture_output=True, text=True, check=True, cwd=ROOT)
        for _ in range(2)
    ]
    assert runs[0].stdout == runs[1].stdout
    assert len(set(runs[0].stdout.split())) == 3
