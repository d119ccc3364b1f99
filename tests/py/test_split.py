"""Functions with very many array statements are compiled in pieces: the work grows with their number, and nothing else changes."""

from __future__ import annotations

import re
import traceback

import numpy as np
import pytest
from treadle import njit


def made(body, n, head="", tail="return a, b, s", depth=1, **options):
    """f(a, b, k) with n times `body`, `#` being the number: the plain one and ours. `depth`: how far in it stands."""
    lines = [" " * depth + line for i in range(n) for line in body.replace("#", str(i)).split("\n")]
    names = {"np": np}
    exec("\n".join(["def f(a, b, k):", " s = 0.0", head, *lines, " " + tail]), names)
    return names["f"], njit(**options)(names["f"])


def arrays(n=10):
    return np.arange(float(n)) * 1e-3, np.arange(float(n))[::-1].copy() / 7


def texts(found):
    return found if isinstance(found, str) else "".join(found.values())


def blocks(function):
    """Of each LLVM function made of it: how many blocks it has."""
    bodies = re.findall(r"^define [^\n]*@([^\s(]+)\(.*?^}", texts(function.inspect_llvm()), re.M | re.S)
    whole = re.findall(r"^define .*?^}", texts(function.inspect_llvm()), re.M | re.S)
    return [
        (name, 1 + len(re.findall(r"^\S+:", text, re.M))) for name, text in zip(bodies, whole, strict=True)
    ]


def pieces(function):
    return [n for name, n in blocks(function) if ".piece" in name]


def run(f, args):
    copies = [x.copy() if isinstance(x, np.ndarray) else x for x in args]
    return [*f(*copies), *copies]


def check(plain, ours, *args):
    for want, got in zip(run(plain, args), run(ours, args), strict=True):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


# Maxima instead of sums, which NumPy adds up in another order.
BODIES = {
    "reduced": "s += (a * # - s).max()",  # each waits for the one before
    "sliced": "a[# % 7:# % 7 + 3] = b[# % 5:# % 5 + 3] * #",
    "in place": "a += b * #",
    "fancy": "s += a[np.array([# % 5, 1, 2])].max()",
    "named": "c# = a * # - b; s += c#.min()",
    "branches": "if k != #:\n a = a + b * #\nelse:\n b = b * 0.5",
    "raises": "if k == #: raise ValueError('#')\na += b * #",
    "loops": "for i in range(#, len(b)):\n s += b[i]\na += b * s",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_values(body):
    plain, ours = made(body, 60)
    check(plain, ours, *arrays(), -1)
    if "k != #" in body:
        check(plain, ours, *arrays(), 30)


# Per statement LLVM gets a constant amount of code, in functions of a bounded size; a few statements stay one function.
@pytest.mark.nosan  # counts what LLVM is given, minutes of it
@pytest.mark.parametrize("name", ["reduced", "raises"])
def test_work_grows_with_the_number_of_statements(name):
    sizes = []
    for n in (12, 48, 120):
        _, ours = made(BODIES[name], n)
        ours(*arrays(), -1)
        sizes.append((pieces(ours), sum(k for _, k in blocks(ours))))
    (none, _), (few, total), (many, total_of_many) = sizes
    assert none == []
    assert len(few) >= 3 and len(many) >= 2 * len(few)
    assert max(many) <= 1.25 * max(few)
    assert total_of_many <= 2.9 * total


def test_long_functions_fuse_as_short_ones_do():
    counts = []
    for n in (50, 250):
        plain, ours = made("a = a * 0.5 + b", n)
        check(plain, ours, *arrays(), 0)
        text = texts(ours.inspect_ir())
        main = text[text.index("fn @f ") :]
        counts.append(main[: main.index("\n}\n")].count("= pattern "))
    assert counts[0] <= 6 and counts[1] <= 5 * counts[0]


def test_a_loop_around_many_statements():
    plain, ours = made("a = a[::-1] * 0.5 + b[# % 10]; s += a.max()", 60, " for t in range(k):", depth=2)
    check(plain, ours, *arrays(), 5)
    check(plain, ours, *arrays(), 0)
    assert len(pieces(ours)) >= 3


def test_sizes_that_differ():
    plain, ours = made("a = a * 0.5 + b", 220)
    check(plain, ours, arrays()[0], np.ones(1), 0)
    plain, ours = made("s += (a * # + b).max()", 60)
    check(plain, ours, arrays()[0], np.ones(1), 0)
    with pytest.raises(ValueError, match=r"could not be broadcast together with shapes \(10,\) \(3,\)"):
        ours(arrays()[0], np.ones(3), 0)


def test_all_arrays_are_used_at_the_end():
    use = "s += " + " + ".join(f"c{i}[{i % 10}]" for i in range(100))
    plain, ours = made("c# = a[::-1] * # + b", 100, tail=use + "\n return a, b, s")
    check(plain, ours, *arrays(), 0)


def test_errors_name_the_line_and_no_piece():
    _, ours = made("a[# % 10 : # % 10 + 1] += b[k + # :][:1].max()", 60)
    ours(*arrays(100), 0)
    assert len(pieces(ours)) >= 3
    with pytest.raises(ValueError) as e:
        ours(*arrays(100), 60)
    frames = traceback.extract_tb(e.value.__traceback__)[1:]
    assert [(f.name, f.lineno) for f in frames] == [("f", 4 + 40)]


def test_parallel_and_nested_calls():
    plain, ours = made("a = np.sqrt(a * a + b) + s", 60, parallel=True)
    check(plain, ours, *arrays(100_000), 0)

    calls = {"inner": ours}
    exec("def outer(a, b, k):\n x, y, s = inner(a, b, k)\n return inner(y, x, k + 1)", calls)
    outer = njit(calls["outer"])
    want = plain(*plain(*arrays(), 0)[1::-1], 1)
    for x, y in zip(want, outer(*arrays(), 0), strict=True):
        np.testing.assert_array_equal(x, y)
