"""What promotion="numba" is compared by: expressions, the types and values they meet, and how results are written.

`tools/record_numba.py` runs them under Numba and writes `golden/numba.txt`; `test_numba_rules.py` runs them under Treadle and compares.
Nothing here needs either of them.

In the golden file an expression is followed by a line for each type of its first operand, and in it, between bars, by a cell for each
type of the second: the result's type, and the results for the values below in order. `-`: Numba does not compile it; `!ZeroDivisionError`: what
it raises; `?`: LLVM leaves the value open, so what was seen says nothing; `~`: the cell before it once more.
"""

from __future__ import annotations

import math
from typing import Any, Iterator

import numpy as np

DTYPES = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16")

COMPARE = ("<", "<=", "==", "!=", ">", ">=")
NP_TWO = (
    "add subtract multiply divide floor_divide remainder power minimum maximum bitwise_and left_shift right_shift "
    "less arctan2 hypot"
).split()
MATH_ONE = (
    "acos acosh asin asinh atan atanh ceil cos cosh degrees erf erfc exp expm1 fabs floor gamma isfinite isinf isnan lgamma "
    "log log10 log1p log2 radians sin sinh sqrt tan tanh trunc frexp modf"
).split()
NP_ONE = (
    "abs negative positive invert square sign sqrt exp sin floor ceil rint reciprocal conj logical_not isnan signbit real imag"
).split()
CMATH_ONE = "exp sqrt phase polar isnan".split()

UNARY = "-x +x ~x; not x; abs(x) int(x) float(x) bool(x) complex(x) round(x); round(x, 1); round(x, -1); min(x, x, 3); max(0, x)"
ONE = tuple(
    e
    for part in UNARY.split("; ")
    for e in ([part] if " " in part and not part.startswith(("-", "abs")) else part.split())
)
ONE += tuple(f"math.{f}(x)" for f in MATH_ONE) + tuple(f"np.{f}(x)" for f in NP_ONE)
ONE += tuple(f"cmath.{f}(x)" for f in CMATH_ONE)

TWO = tuple(f"x {op} y" for op in ("+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", *COMPARE))
TWO += ("divmod(x, y)", "min(x, y)", "max(x, y)", "sum((x, y))", "(x if c else y)")
TWO += tuple(f"math.{f}(x, y)" for f in ("atan2", "copysign", "fmod", "hypot", "pow"))

# A literal on either side, and two that meet in variables, where CPython does not fold them.
LITERALS = ("2", "(-1)", "(-2)", "200", "(2**40)", "(2**63)", "True", "0.5", "2j")
WITH_LITERAL = tuple(f"{{}} {op} {{}}" for op in ("+", "-", "/", "//", "**", "<<", "&", "<", "==")) + (
    "min({}, {})",
    "np.add({}, {})",
)

# Arrays: only types are compared; the values are NumPy's in either.
ARRAY_ONE = (
    "sum(a)",
    "a.sum()",
    "np.sum(a)",
    "a.prod()",
    "a.mean()",
    "a.min()",
    "a.cumsum()",
    "-a",
    "~a",
    "abs(a)",
    "np.sqrt(a)",
    "a * a[0]",
    "added(0, a)",
    "added(0.0, a)",
    "added(a[0], a)",
)
ARRAY_TWO = ("a + b", "a / b[0]", "a ** b[0]", "a << b[0]", *(f"np.{f}(a[0], b[0])" for f in NP_TWO))
ARRAY_TWO += (
    "np.minimum(a, b[0])",
    "added(a[0], b)",
    "np.array((a[0], b[0]))",
    "np.where(c, a, b)",
)
ARRAY_LITERAL = ("a + {}", "a / {}", "a << {}", "np.minimum(a, {})")

HELPER = """
def added(s, items):
    for v in items:
        s = s + v
    return s
"""

# How the expressions can raise: they are called alone.
RAISING = ("/", "//", "%", "**", "divmod")


def may_raise(expression: str) -> bool:
    """The expression raises for some values, so that it needs a function of its own."""
    return not expression.startswith("math.") and any(s in expression for s in RAISING)


def left(dtype: str) -> list[Any]:
    """Values of the first operand."""
    t = np.dtype(dtype)
    if t.kind == "b":
        return [t.type(v) for v in (1, 0, 1, 0, 1)]
    if t.kind == "u":
        return [t.type(v) for v in (3, np.iinfo(t).max, 2 ** (8 * t.itemsize - 1), 0, 77)]
    if t.kind == "i":
        return [t.type(v) for v in (3, np.iinfo(t).max, np.iinfo(t).min, 0, -77)]
    if t.kind == "f":
        return [t.type(v) for v in (1.5, -0.0, math.inf, math.nan, -7.25)]
    return [
        t.type(v)
        for v in (1.5 + 2j, complex(-0.0, 1.0), complex(math.inf, 0.0), 3 - 4j, complex(-0.25, math.nan))
    ]


def right(dtype: str) -> list[Any]:
    """Values of the second operand, one for each of `left`."""
    t = np.dtype(dtype)
    if t.kind == "b":
        return [t.type(v) for v in (1, 1, 0, 1, 1)]
    if t.kind == "u":
        return [t.type(v) for v in (2, 1, np.iinfo(t).max, 3, 0)]
    if t.kind == "i":
        return [t.type(v) for v in (2, 1, -1, -2, 0)]
    if t.kind == "f":
        return [t.type(v) for v in (2.0, 0.5, -3.0, -math.inf, 0.0)]
    return [t.type(v) for v in (2 - 1j, 0.5 + 0j, -1j, complex(0.0, -0.0), 1.5 + 1j)]


def rows() -> Iterator[tuple[str, list[str], str]]:
    """Every row but arrays': the key, the operands' types, and the source of the expression."""
    for e in ONE:
        for x in DTYPES:
            yield f"{e} | {x}", [x], e
    for e in TWO:
        for x in DTYPES:
            for y in DTYPES:
                yield f"{e} | {x} {y}", [x, y], e
    for form in WITH_LITERAL:
        for value in LITERALS:
            for x in DTYPES:
                for text in (form.format("x", value), form.format(value, "x")):
                    yield f"{text} | {x}", [x], text


def literal_rows() -> Iterator[tuple[str, str]]:
    """Rows of two literals that meet in variables: the key and the body of a function."""
    for form in WITH_LITERAL:
        for p in LITERALS:
            for q in LITERALS:
                text = form.format(p, q)
                yield f"{text} |", f"    p = {p}\n    q = {q}\n    return {form.format('p', 'q')}"


def array_rows() -> Iterator[tuple[str, list[str], str]]:
    """Rows of arrays: the key, the dtypes, and the expression."""
    for e in ARRAY_ONE:
        for x in DTYPES:
            yield f"{e} | {x}", [x], e
    for e in ARRAY_TWO:
        for x in DTYPES:
            for y in DTYPES:
                yield f"{e} | {x} {y}", [x, y], e
    for form in ARRAY_LITERAL:
        for value in LITERALS:
            for x in DTYPES:
                yield f"{form.format(value)} | {x}", [x], form.format(value)


def undefined(expression: str, values: tuple[Any, ...]) -> bool:
    """LLVM says nothing about the result in Numba: shift counts out of range, floats that no integer type holds."""
    if "<<" in expression or ">>" in expression or "_shift" in expression:
        count = values[-1]
        if len(values) == 1:  # x << 200, 200 << x
            text = expression.split("<<")[1].strip()
            count = values[0] if text == "x" else eval(text)
        return not isinstance(count, complex) and not 0 <= int(count) < 64
    if expression.startswith(("int(", "round(x)", "math.floor", "math.ceil", "math.trunc")):
        x = values[0]
        return isinstance(x, np.floating) and not abs(x) < 2.0**63
    return False


def text_of(value: Any, code: str) -> str:
    """A result as it is written, by its type's code."""
    if code.startswith("("):
        return "(" + ";".join(text_of(v, c) for v, c in zip(value, code[1:-1].split(","))) + ")"
    if code == "b1":
        return "T" if value else "F"
    if code[0] in "iu":
        return str(int(value))
    if code[0] == "c":
        part = "f4" if code == "c8" else "f8"
        return f"{text_of(value.real, part)},{text_of(value.imag, part)}"
    text = str(np.float32(value)) if code == "f4" else repr(float(value))
    return text.removesuffix(".0") if text != "-0.0" else "-0"


def write(rows: dict[str, str]) -> str:
    """The golden file's text for rows by key."""
    lines: list[str] = []
    last = where = before = None
    for key, row in rows.items():
        expression, operands = key.rsplit(" |", 1)
        if expression != last:
            lines.append(f"= {expression}")
        first, *second = operands.split() or [""]
        if second and (expression, first) == where:
            lines[-1] += "|" + ("~" if row == before else row)
        else:
            lines.append(f"{first}:{row}" if first else row)
        last, where, before = expression, (expression, first), row
    return "\n".join(lines) + "\n"


def read(text: str) -> dict[str, str]:
    """What `write` wrote."""
    rows: dict[str, str] = {}
    expression = ""
    for line in text.splitlines():
        if line.startswith("= "):
            expression = line[2:]
        elif line.startswith("#"):
            continue
        elif ":" not in line:
            rows[f"{expression} |"] = line
        else:
            first, _, cells = line.partition(":")
            row = ""
            many = cells.split("|")
            for second, cell in zip(DTYPES if len(many) > 1 else [""], many):
                row = row if cell == "~" else cell
                rows[f"{expression} | {first} {second}".rstrip()] = row
    return rows
