"""promotion="numba" against what Numba computed: types and values of every operator on every type, from golden/numba.txt.

`tools/record_numba.py` made the file; docs/semantics.md has the rules as a table, and the differences that are meant.
"""

from __future__ import annotations

import cmath
import collections
import functools
import math
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from treadle import TreadleError, njit, types

sys.path.insert(0, str(Path(__file__).parent))
import numba_cases as cases  # noqa: E402

GOLDEN = Path(__file__).parent / "golden" / "numba.txt"
GROUP = 24  # expressions in one function
ARGS = {0: "c", 1: "x, c", 2: "x, y, c"}
ULPS = 4
ULPS_C8 = 6  # of the larger part: powers are formulas in float32 here, and in float64 there


@functools.cache
def golden() -> dict[str, str]:
    """Rows by their keys."""
    return cases.read(GOLDEN.read_text())


def code(ty: Any) -> str:
    """A type as the golden file writes it."""
    if ty.types:
        return "(" + ",".join(code(t) for t in ty.types) + ")"
    if ty.ndim:
        return code(ty.dtype) + "[]"
    return np.dtype(str(ty)).str[1:]


def space() -> dict[str, Any]:
    names: dict[str, Any] = {"np": np, "math": math, "cmath": cmath}
    exec(cases.HELPER, names)
    names["added"] = njit(names["added"], promotion="numba")
    return names


def function(args: str, body: str) -> Any:
    names = space()
    exec(f"def f({args}):\n{body}\n", names)
    return njit(names["f"], promotion="numba")


def compiled(args: str, expressions: list[str], given: tuple[Any, ...]) -> list[tuple[Any, int, str] | None]:
    """For each expression a function that gives a tuple, its place there and its type; None where it is refused."""
    f = function(args, "    return " + "".join(e + ", " for e in expressions))
    try:
        f.compile(given)
    except TreadleError:
        if len(expressions) == 1:
            return [None]
        half = len(expressions) // 2
        return compiled(args, expressions[:half], given) + compiled(args, expressions[half:], given)
    (ret,) = f.overloads.values()
    return [(f, k, code(t)) for k, t in enumerate(ret.types)]


def near(got: str, want: str, ty: str) -> bool:
    """Both texts of results are equal but for the last places of floats."""
    if got == want:
        return True
    if "!" in got + want or ty[0] in "biu":
        return False
    split = [t.strip("()").replace(";", ",").split(",") for t in (got, want)]
    eps = 2.0**-23 if ty in ("f4", "c8", "(f4,f4)") else 2.0**-52
    size = max(abs(float(p)) for p in split[1]) if ty[0] == "c" else 0.0
    for g, w in zip(*(map(float, p) for p in split)):
        if (
            math.isnan(g) != math.isnan(w)
            or math.isinf(g) != math.isinf(w)
            or math.copysign(1, g) != math.copysign(1, w)
            and not math.isnan(g)
        ):
            return False
        if math.isfinite(g) and abs(g - w) > (ULPS_C8 if ty == "c8" else ULPS) * eps * max(abs(w), size):
            return False
    return True


def may_round(expression: str) -> bool:
    """The last places of a result are the mathematical library's."""
    return expression.startswith(("math.", "cmath.", "np.")) or "**" in expression or "pow" in expression


# Where Treadle differs and means to: a key, Treadle's result, Numba's, as regular expressions, and why. Each must be met.
MEANT = [
    (r".*// ?.*", r"-9223372036854775808", "0", "the least integer by -1 wraps"),
    (r"divmod.*", r"\(-9223372036854775808;0\)", r"\(0;0\)", "the least integer by -1 wraps"),
    (
        r".*\*\* .*",
        r"-?\d+",
        r"-9223372036854775808|18446744073709551615|!OverflowError",
        "Numba takes exponents beyond 65536 in floats, and does not look whether the result fits",
    ),
    (r"\(-1\) \*\* x \| .8", "-1", "1", "the same: the exponent's last bit is lost"),
    (r"(x \*\* y \| b1 i4|True \*\* x \| i4)", "i8", "f4", "a bool to an int32: Numba finds float32 first"),
    (r"0\.5 \*\* x \| i.", "inf", r"!(ZeroDivision|Overflow)Error", "Numba inverts a power that vanished"),
    (r"(.*\*\* .* \| c.*|2j \*\* x.*)", ".*,.*", ".*,.*", "powers of complex numbers: other formulas"),
    (
        r"math\.(hypot|pow)\(x, y\) \| [biu].*",
        ".*",
        ".*",
        "Numba's go through integers, and raise or wrap there",
    ),
    (r"math\.pow\(x, y\) \| f4 [iu][12]", "f4", "f8", "float32, as for math's other functions of two"),
    (r"np\.(sign|reciprocal).*", ".*", ".*", "np.sign of unsigned numbers above the middle, 1 // 0: NumPy's"),
    (
        r"(abs|np\.negative|np\.positive|np\.sign)\(x\) \| b1",
        ".*",
        "i1",
        "bools: NumPy refuses them, or they are int64",
    ),
    (r"-a \| b1|np\.subtract\(a\[0\], b\[0\]\) \| b1 b1", "refused", r"i1.*", "NumPy refuses bools"),
    (r"(np\.sin|cmath\.exp).*", ".*,.*", ".*nan.*", "what overflows is infinite, its other part a zero"),
    (
        r"(x \+ \(2\*\*63\)|\(2\*\*63\) \+ x) \| i.",
        r"-?\d+",
        r"-\d+",
        "a sum that wraps, which Numba leaves to LLVM",
    ),
    (
        r"(x (==|<) \(2\*\*63\)|\(2\*\*63\) == x) \| i8",
        "[TF]",
        "[TF]",
        "comparisons of int64 and uint64 are exact",
    ),
    (
        r"(round|math\.\w+)\(x\) \| [iu]8",
        r"\d+|!OverflowError",
        "-9223372036854775808",
        "Numba rounds an integer as a float64",
    ),
]
met: set[int] = set()


def meant(key: str, got: str, want: str) -> bool:
    """The difference is one of those that are meant."""
    for n, (keys, ours, theirs, _) in enumerate(MEANT):
        if re.fullmatch(keys, key) and re.fullmatch(ours, got) and re.fullmatch(theirs, want):
            met.add(n)
            return True
    return False


def compare(key: str, e: str, got: list[str]) -> list[str]:
    """What is wrong with the type and the results of a row."""
    ty, *want = golden()[key].split(" ")
    if got[0] != ty:
        if not meant(key, got[0], ty):
            return [f"{key}: {got[0]}; Numba: {ty}"]
        if got == ["refused"]:
            return []
    out = []
    for g, w in zip(got[1:], want, strict=True):
        same = g == w or w == "?" or may_round(e) and near(g, w, ty)
        if not same and not meant(key, g, w):
            out.append(f"{key}: {got[0]} {g}; Numba: {ty} {w}")
    return out


def differences(
    args: str, items: list[tuple[str, str]], given: tuple[Any, ...], values: list[tuple[Any, ...]]
) -> list[str]:
    """What differs among the rows (key, expression) of scalars."""
    rows = golden()
    items = [(k, e) for k, e in items if rows[k] != "-"]
    alone = [i for i in items if "!" in rows[i[0]] or "?" in rows[i[0]] or cases.may_raise(i[1])]
    rest = [i for i in items if i not in alone]
    out = []
    for part in [*([i] for i in alone), *(rest[k : k + GROUP] for k in range(0, len(rest), GROUP))]:
        for (key, e), found in zip(part, compiled(args, [e for _, e in part], given)):
            got = results(found, values)
            if len(part) > 1 and any(r.startswith("!") for r in got):  # another one's may be
                got = results(compiled(args, [e], given)[0], values)
            out += compare(key, e, got)
    return out


def results(found: tuple[Any, int, str] | None, values: list[tuple[Any, ...]]) -> list[str]:
    """The type and the results of one expression."""
    if not found:
        return ["refused"]
    f, k, ty = found
    return [ty, *(result(f, k, ty, v) for v in values)]


def result(f: Any, k: int, ty: str, values: tuple[Any, ...]) -> str:
    try:
        return cases.text_of(f(*values)[k], ty)
    except Exception as e:
        return "!" + type(e).__name__


def grouped(rows: Any) -> dict[tuple[str, ...], list[tuple[str, str]]]:
    groups = collections.defaultdict(list)
    for key, operands, e in rows:
        groups[tuple(operands)].append((key, e))
    return groups


def scalars() -> list[str]:
    """Differences in rows of scalars."""
    found = []
    for operands, items in grouped(cases.rows()).items():
        values = list(zip(*(f(t) for f, t in zip((cases.left, cases.right), operands))))
        given = (*(types.as_type(np.dtype(t)) for t in operands), types.bool_)
        found += differences(ARGS[len(operands)], items, given, [(*v, True) for v in values])
    return found


def literals() -> list[str]:
    """Differences in rows of two literals."""
    found = []
    for key, body in cases.literal_rows():
        if golden()[key] == "-":
            continue
        f, got = function("", body), ["refused"]
        try:
            f.compile(())
            (ret,) = f.overloads.values()
            ty = code(ret)
            got = [ty, cases.text_of(f(), ty)]
        except TreadleError:
            pass
        except Exception as e:
            got = [ty, "!" + type(e).__name__]
        found += compare(key, key, got)
    return found


def arrays() -> list[str]:
    """Differences in types of results of arrays."""
    found = []
    rows = golden()
    for operands, items in grouped(cases.array_rows()).items():
        items = [(k, e) for k, e in items if rows[k] != "-"]
        given = (*(types.as_type(np.dtype(t))[::1] for t in operands), types.bool_)
        args = ", ".join("ab"[: len(operands)]) + ", c"
        for k in range(0, len(items), GROUP):
            part = items[k : k + GROUP]
            for (key, e), one in zip(part, compiled(args, [e for _, e in part], given)):
                found += compare(key, e, [one[2] if one else "refused"])
    return found


@pytest.mark.nosan  # all operators and dtypes, for their values
def test_types_and_values():
    met.clear()
    found = scalars() + literals() + arrays()
    assert not found, "\n".join(found)
    assert met == set(range(len(MEANT))), [MEANT[n] for n in set(range(len(MEANT))) - met]


def test_the_golden_file_has_every_row():
    keys = {k for k, *_ in (*cases.rows(), *cases.literal_rows(), *cases.array_rows())}
    assert set(golden()) == keys
    assert cases.read(cases.write(golden())) == golden()


def test_the_truth_of_an_array_is_that_of_its_one_item():
    def f(a, b):
        n = 0
        while a[:1] > b and n < 3:
            a[0] -= 1
            n += 1
        return n, 1 if a else 2, bool(a == b), not a, [k for k in range(2) if a]

    compiled = njit(promotion="numba")(f)
    for a, b in ((np.array([4.0]), 1), (np.array([0]), 0), (np.array([True]), 1), (np.array([np.nan]), 1)):
        want = f(a.copy(), b)
        assert compiled(a.copy(), b) == want
    one = njit(promotion="numba")(lambda a: 1 if a else 2)
    assert one(np.array(3)) == one(np.array([[2]])) == 1 and one(np.zeros((1, 1, 1))) == 2
    with pytest.raises(ValueError, match="more than one element is ambiguous"):
        one(np.ones(2))
    with pytest.raises(ValueError, match="empty array is ambiguous"):
        one(np.ones(0))
    with pytest.raises(TreadleError, match=r"the truth of array\(float64, 1d, C\) is not defined"):
        njit(lambda a: 1 if a else 2)(np.ones(1))
