"""Reductions and scans by functions of the user's: their order, bit for bit, on any number of threads; what raises; what is compiled."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import treadle
import treadle.parallel as tp
from on_stack import on_stack
from treadle import njit

if TYPE_CHECKING:
    from collections.abc import Callable

SUM_BLOCK, SCAN_BLOCK, GROUP = 256, 1 << 12, 4


def affine(p, q):
    return p[0] * q[0], p[1] * q[0] + q[1]


def welford(a, b):
    n = a[0] + b[0]
    d = b[1] - a[1]
    f = b[0] / max(n, 1)
    return n, a[1] + d * f, a[2] + b[2] + d * d * a[0] * f


def mixed(p, q):
    return p[0] + q[0], p[1] or q[1], p[2] if p[0] > q[0] else q[2]


def digest(p, q):
    """Not associative, so that the order shows."""
    return (3 * p + q) % 1009


# --- what is promised ---


def tree(op: Callable, items: list) -> Any:
    """Neighbours in pairs, these in pairs and so on; what has no neighbour goes on as it is."""
    while len(items) > 1:
        items = [op(*items[k : k + 2]) if k + 1 < len(items) else items[k] for k in range(0, len(items), 2)]
    return items[0]


def reduced(op: Callable, items: list, start: Any) -> Any:
    return op(start, tree(op, items)) if items else start


def before_each(op: Callable, items: list, start: Any) -> list:
    """As ir/scans.c says."""
    out = []
    for large in range(0, len(items), SCAN_BLOCK):
        block = items[large : large + SCAN_BLOCK]
        sums = None
        for small in range(0, len(block), SUM_BLOCK):
            part = block[small : small + SUM_BLOCK]
            base = start if sums is None else op(start, sums)
            for first in range(0, len(part), GROUP):
                acc, done = base, 0
                for half in (128, 64, 32, 16, 8, 4):
                    if first & half:
                        acc, done = op(acc, tree(op, part[done : done + half])), done + half
                for x in part[first : first + GROUP]:
                    out.append(acc)
                    acc = op(acc, x)
            total = tree(op, part)
            sums = total if sums is None else op(sums, total)
        start = op(start, sums)
    return out


# --- programs ---


def drawn(n: int) -> np.ndarray:
    return np.random.default_rng(n).normal(size=n)


PROGRAMS: dict[str, tuple[Callable, Callable, Any]] = {
    "welford": (
        lambda x: tp.reduce(welford, (1.0, x, 0.0), identity=(0.0, 0.0, 0.0)),
        welford,
        lambda x: [(1.0, float(v), 0.0) for v in x],
    ),
    "affine": (
        lambda x: tp.reduce(affine, (0.5, x), identity=(1.0, 0.0)),
        affine,
        lambda x: [(0.5, float(v)) for v in x],
    ),
    "digest": (
        lambda x: tp.reduce(digest, (x * 100).astype(np.int64), identity=7),
        digest,
        lambda x: [int(v * 100) for v in x],
    ),
    "mixed": (
        lambda x: tp.reduce(mixed, (x, x > 2, (x * 9).astype(np.int64)), identity=(0.0, False, 0)),
        mixed,
        lambda x: [(float(v), bool(v > 2), int(v * 9)) for v in x],
    ),
}
STARTS = {"welford": (0.0, 0.0, 0.0), "affine": (1.0, 0.0), "digest": 7, "mixed": (0.0, False, 0)}
SCANS: dict[str, Callable] = {
    "affine": lambda x: tp.scan(affine, (0.5, x), identity=(1.0, 0.0)),
    "digest": lambda x: tp.scan(digest, (x * 100).astype(np.int64), identity=7),
}
SIZES = [0, 1, 2, 3, 4, 5, 7, 255, 256, 257, 260, 511, 1000, 4099]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_order_is_the_documented_one(name):
    f, op, items = PROGRAMS[name]
    compiled, parallel = njit(f), njit(parallel=True)(f)
    for n in [*SIZES, 70_003]:
        x = drawn(n)
        want = reduced(op, items(x), STARTS[name])
        assert compiled(x) == want, n
        assert parallel(x) == want, n
        assert compiled(np.repeat(x, 2)[::2]) == want, n


@pytest.mark.parametrize("name", SCANS)
def test_the_order_of_scans_is_the_documented_one(name):
    f, (_, op, items) = SCANS[name], PROGRAMS[name]
    compiled, parallel = njit(f), njit(parallel=True)(f)
    before = njit(lambda x: tp.scan(digest, (x * 100).astype(np.int64), identity=7, exclusive=True))
    for n in [*SIZES, SCAN_BLOCK + 259]:
        x = drawn(n)
        stands = before_each(op, items(x), STARTS[name])
        after = [op(p, q) for p, q in zip(stands, items(x), strict=True)]
        want = [np.array(a) for a in zip(*after, strict=True)] if isinstance(STARTS[name], tuple) else after
        for got in (compiled(x), parallel(x), compiled(np.repeat(x, 2)[::2])):
            for g, w in zip(
                got if isinstance(got, tuple) else [got],
                want if n and isinstance(got, tuple) else [want],
                strict=False,
            ):
                assert np.array_equal(g, w), n
        if name == "digest":
            assert before(x).tolist() == stands, n


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("parallel", [False, True])
def test_lines_side_by_side_have_the_order_of_one(name, parallel):
    """Along any axis, of long lines and of short ones, whichever way they lie in memory."""
    space = {"tp": tp, "welford": welford, "affine": affine, "digest": digest, "mixed": mixed, "np": np}
    text = {
        "welford": "tp.reduce(welford, (1.0, x, 0.0), axis, identity=(0.0, 0.0, 0.0))",
        "affine": "tp.reduce(affine, (0.5, x), axis, identity=(1.0, 0.0))",
        "digest": "tp.reduce(digest, (x * 100).astype(np.int64), axis, identity=7)",
        "mixed": "tp.reduce(mixed, (x, x > 2, (x * 9).astype(np.int64)), axis, identity=(0.0, False, 0))",
    }[name]
    _, op, items = PROGRAMS[name]
    for axis in 0, 1:
        f = njit(eval(f"lambda x: {text.replace('axis', str(axis))}", space), parallel=parallel)
        for shape in (
            (0, 20),
            (20, 0),
            (1, 20),
            (2, 17),
            (3, 40),
            (7, 16),
            (15, 33),
            (16, 2100),
            (37, 20),
            (259, 18),
            (5, 3),
        ):
            x = drawn(shape[0] * shape[1]).reshape(shape)
            lines = x if axis else x.T
            want = [reduced(op, items(line), STARTS[name]) for line in lines]
            if isinstance(STARTS[name], tuple):
                want = list(zip(*want, strict=True)) or [()] * len(STARTS[name])
            for y in (x, np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x[::-1][::-1]):
                got = f(y)
                for g, w in zip(
                    got if isinstance(got, tuple) else [got],
                    want if isinstance(got, tuple) else [want],
                    strict=True,
                ):
                    assert g.tolist() == list(w), (axis, shape)


def test_types_of_lines_side_by_side():
    """Items come in the types of values, which the identity has a part in."""
    x = (np.arange(60) % 7 - 3).astype(np.int8).reshape(3, 20)
    for identity in 0, 0.5, 1j, np.float32(2):
        f = njit(lambda x: tp.reduce(lambda p, q: p + q, x, 0, identity=identity))
        lines, one = f(x), f(x[:, :1])
        assert lines.dtype == one.dtype and lines[0] == one[0]
        assert np.array_equal(lines, x.sum(axis=0, dtype=lines.dtype) + lines.dtype.type(identity))


@pytest.mark.parametrize("parallel", [False, True])
def test_what_raises_in_lines_side_by_side(parallel):
    """Of all that raise the first line is told of, as if one came after the other; and then it goes again."""

    def picky(p, q):
        if q == 5:
            raise ValueError("five")
        if q == 6:
            raise KeyError("six")
        return p + q

    f = njit(lambda x: tp.reduce(picky, x, axis=0, identity=0), parallel=parallel)
    x = np.ones((40, 30), np.int64)
    assert f(x).tolist() == [40] * 30
    for first, error in ((5, ValueError), (6, KeyError)):
        y = x.copy()
        y[39, 3], y[1, 20] = first, 11 - first
        with pytest.raises(error):
            f(y)
        lazy = tp.reduce(picky, tp.array(y), axis=0, identity=0)
        with pytest.raises(error):
            tp.evaluate(lazy, parallel=parallel)
        y[:] = 1
        assert np.asarray(lazy).tolist() == [40] * 30


def test_any_number_of_threads_gives_the_same_bits():
    x = drawn(300_001)
    fs = [njit(f) for f in [p[0] for p in PROGRAMS.values()] + list(SCANS.values())]
    ps = [njit(parallel=True)(f) for f in [p[0] for p in PROGRAMS.values()] + list(SCANS.values())]
    kept = treadle.get_num_threads()
    try:
        for f, p in zip(fs, ps, strict=True):
            want = f(x)
            for n in (1, 2, 4)[: max(1, min(3, kept))]:
                treadle.set_num_threads(n)
                got = p(x)
                for g, w in zip(
                    got if isinstance(got, tuple) else (got,),
                    want if isinstance(want, tuple) else (want,),
                    strict=True,
                ):
                    assert np.array_equal(g, w), n
    finally:
        treadle.set_num_threads(kept)


# --- what a function may do besides ---


def guarded(p, q):
    if q < 0:
        raise ValueError("below zero")
    return p + q


def test_what_raises():
    """One error, at the function's line; the graph can be evaluated again."""
    x = np.ones(5_000)
    for f in (
        njit(lambda x: tp.reduce(guarded, x, identity=0.0)),
        njit(parallel=True)(lambda x: tp.reduce(guarded, x, identity=0.0)),
        njit(lambda x: tp.scan(guarded, x, identity=0.0)[-1]),
    ):
        assert f(x) == 5_000
        y = x.copy()
        y[4_001] = -1
        with pytest.raises(ValueError, match="below zero"):
            f(y)
    lazy = tp.reduce(guarded, x, identity=0.0)
    x[3_001] = -1
    with pytest.raises(ValueError, match="below zero"):
        float(lazy)
    x[3_001] = 1
    assert float(lazy) == 5_000


def test_a_function_with_effects_is_called_for_each_item():
    @njit
    def counted(x, seen):
        def op(p, q):
            seen[0] += 1
            return p + q

        return tp.reduce(op, x, identity=0.0)

    for n in (0, 1, 300):
        seen = np.zeros(1, np.int64)
        assert counted(np.ones(n), seen) == n
        assert seen[0] == n


def test_what_makes_the_items_is_done_with_them():
    """One kernel reads the array once, and makes none."""
    x = drawn(1_000)
    said = str(tp.explain(tp.reduce(lambda p, q: min(p, q), x * 2 + 1, identity=np.inf)))
    assert "1 kernel" in said, said


def test_a_broken_promise_is_told_of_under_checks():
    """With the operator's line; what rounds, repeats NaN or raises keeps it."""
    program = textwrap.dedent("""
        import math
        import numpy as np
        import treadle.parallel as tp
        from test_joins import affine, guarded, welford

        x = np.random.default_rng(1).normal(size=300)
        def mean(p, q):
            return (p + q) / 2
        def both(p, q):
            return p[0] or q[0], max(p[1], q[1])
        good = [
            (welford, (1.0, x, 0.0), (0.0, 0.0, 0.0)), (affine, (0.5, x), (1.0, 0.0)), (both, (x > 0, x), (False, -9.0)),
            (guarded, x, 0.0), (lambda p, q: p + q, np.where(x > 1, np.nan, x), 0.0), (lambda p, q: p * q, x.astype("f"), 1.0),
            (lambda p, q: p + q, x[:0], 0.0), (mean, tp.array(x), 0.0), (np.add, x, None),
        ]
        for op, a, start in good:
            tp.reduce(op, a, identity=start)
            tp.scan(op, a, identity=start)
        for make in (tp.reduce, tp.scan):
            try:
                make(mean, x, identity=0.0)
            except ValueError as e:
                print("<string>:8: mean() is not associative" in str(e))
    """)
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={
            **os.environ,
            "TREADLE_PARALLEL_CHECK": "1",
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
        },
    )
    assert done.stdout.split() == ["True", "True"]


# --- a planted fault ---


def test_a_wrong_identity_is_found():
    """With zeros for it, what joins by multiplying comes to nothing."""
    child = subprocess.run(
        [sys.executable, __file__],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TREADLE_PLANT": "23", "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=Path(__file__).parent,
    )
    assert (child.returncode, child.stdout.split()) == (1, ["affine", "digest"]), child.stderr


def main() -> int:
    """Print the programs that differ from what is promised."""
    x = drawn(1_000)
    different = [
        name for name, (f, op, items) in PROGRAMS.items() if njit(f)(x) != reduced(op, items(x), STARTS[name])
    ]
    print(*different)
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())


# --- scatters ---

N = 50_000
PLACES = np.random.default_rng(5).integers(-40, 40, N)
VALUES = np.random.default_rng(6).integers(-3, 1000, N)


def later(a, b):
    """Associative, but not commutative: of values that are no zeros the last one."""
    return b if b != 0 else a


def in_order(op: Callable, dst: np.ndarray, i: np.ndarray, v: np.ndarray) -> np.ndarray:
    out = dst.copy()
    for k, x in zip(i, v, strict=True):
        out[k] = op(out[k], x)
    return out


SCATTERS = {
    "max": lambda a, b: a if a > b else b,
    "later": later,
    "xor": lambda a, b: a ^ b,
    "sums modulo": lambda a, b: (a + b) % 1009,
}


@pytest.mark.parametrize("name", SCATTERS)
@pytest.mark.parametrize("n", [0, 1, 700, N])
def test_scatter_joins_in_order(name, n):
    op = SCATTERS[name]
    i, v, dst = PLACES[:n], VALUES[:n] % 7, np.arange(40)
    want = in_order(op, dst, i, v)
    serial, cores = (
        njit(lambda d, i, v: tp.scatter(d, i, v, op)),
        njit(parallel=True)(lambda d, i, v: tp.scatter(d, i, v, op)),
    )
    for got in (np.asarray(tp.scatter(dst, i, v, op)), serial(dst, i, v), cores(dst, i, v)):
        assert got.tolist() == want.tolist()
    assert dst.tolist() == list(range(40))
    assert serial(dst, i, np.repeat(v, 2)[::2]).tolist() == want.tolist()


def test_scatter_of_floats_has_one_result():
    x = np.random.default_rng(7).normal(size=N)
    program = (
        "import numpy as np, treadle, treadle.parallel as tp\n"
        f"i = np.random.default_rng(5).integers(-40, 40, {N}); x = np.random.default_rng(7).normal(size={N})\n"
        "print(np.asarray(tp.scatter(np.zeros(40), i, x, lambda a, b: a + b)).tobytes().hex())"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"TREADLE_NUM_THREADS": n},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for n in "124"
    }
    serial = njit(lambda d, i, v: tp.scatter(d, i, v, lambda a, b: a + b))(np.zeros(40), PLACES, x)
    assert texts == {serial.tobytes().hex()}
    np.testing.assert_allclose(serial, in_order(lambda a, b: a + b, np.zeros(40), PLACES, x), rtol=1e-11)


def test_scatter_into_more_axes_and_by_masks():
    i, j = PLACES[:900] % 5, PLACES[:900] % 3
    dst = np.ones((5, 3))
    want = dst.copy()
    np.multiply.at(want, (i, j), 1.5)
    got = np.asarray(tp.scatter(dst, (i, j), 1.5, lambda a, b: a * b))
    np.testing.assert_allclose(got, want, rtol=1e-12)
    x = np.arange(-3.0, 4.0)
    assert (
        np.asarray(tp.scatter(x, x > 0, 10.0, lambda a, b: b - a)).tolist()
        == np.where(x > 0, 10 - x, x).tolist()
    )
    turned = np.asfortranarray(dst)[::-1]
    assert np.asarray(tp.scatter(turned, (i, j), 1.5, lambda a, b: a * b)).tolist() == got.tolist()


def test_a_map_before_a_scatter_is_in_its_loop():
    x, bias = np.random.default_rng(8).normal(size=N), 0.25
    g = tp.scatter(tp.zeros(40), PLACES, tp.map(lambda v: v * v + bias, x), lambda a, b: max(a, b))
    assert len(tp.explain(g).kernels) <= 3  # the copy, the places that are looked at, the loop
    want = in_order(max, np.zeros(40), PLACES, x * x + bias)
    assert np.asarray(g).tolist() == want.tolist()


def test_what_raises_in_a_scatter():
    def positive(a, b):
        if b < 0:
            raise ValueError("below 0", b)
        return a + b

    v = np.arange(10)
    v[[4, 7]] = -4, -7
    for f in (
        njit(lambda d, i, v: tp.scatter(d, i, v, positive)),
        njit(parallel=True)(lambda d, i, v: tp.scatter(d, i, v, positive)),
    ):
        with pytest.raises(ValueError, match="below 0") as e:
            f(np.zeros(3, "i8"), np.zeros(10, "i8"), v)
        assert e.value.args == ("below 0", -4)
        assert f(np.zeros(3, "i8"), np.ones(10, "i8"), np.abs(v)).tolist() == [0, int(np.abs(v).sum()), 0]
    with pytest.raises(IndexError, match="out of bounds"):
        tp.scatter(np.zeros(3), np.array([0, 3]), 1.0, later).evaluate()
    with pytest.raises(treadle.TypingError, match="one value of two"):
        tp.scatter(np.zeros(3), np.array([0]), 1.0, lambda a, b: (a, b)).evaluate()


def test_captured_numbers_compile_nothing_new():
    def graph(c):
        return tp.scatter(np.zeros(4), PLACES % 4, VALUES, lambda a, b: max(a, min(b, c)))

    assert np.asarray(graph(50.0)).max() == 50
    before = treadle.stats()["compiled"]
    assert np.asarray(graph(70.0)).max() == 70
    assert treadle.stats()["compiled"] == before


def test_a_scatter_in_a_prange():
    @njit(parallel=True)
    def rows(d, i, v):
        for k in treadle.prange(d.shape[0]):
            d[k] = tp.scatter(d[k], i, v, lambda a, b: a if a > b else b)

    d = np.zeros((6, 40), "i8")
    rows(d, PLACES, VALUES)
    want = np.zeros(40, "i8")
    np.maximum.at(want, PLACES, VALUES)
    assert (d == want).all()


def test_scatter_from_callers_with_other_options_and_on_a_small_stack():
    def op(a, b):
        return a if a > b else b

    @njit
    def inner(d, i, v):
        return tp.scatter(d, i, v, op)

    @njit(parallel=True, fastmath=True)
    def outer(d, i, v):
        return inner(d, i, v) + 0

    @njit(boundscheck=True)
    def outermost(d, i, v):
        return outer(d, i, v)

    d, want = np.zeros(40, "i8"), np.zeros(40, "i8")
    np.maximum.at(want, PLACES, VALUES)
    for f in (inner, outer, outermost):
        assert (f(d, PLACES, VALUES) == want).all()
        for kib in (64, 256):
            assert (on_stack(kib, lambda f=f: f(d, PLACES, VALUES)) == want).all()
