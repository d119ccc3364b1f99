"""Differential fuzzing, a quick slice: programs against the oracle, kept findings again, and the oracle's own rules."""

from __future__ import annotations

import operator
import random
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

FUZZ = Path(__file__).resolve().parents[1] / "fuzz"
sys.path.insert(0, str(FUZZ))

import array_ops  # noqa: E402
import gen  # noqa: E402
import oracle  # noqa: E402
import rules  # noqa: E402
from check import same_float  # noqa: E402
from child import Child  # noqa: E402
from memory import ArrayValue  # noqa: E402
from reached import Coverage  # noqa: E402
from values import binary  # noqa: E402

SLICE = range(1, 151)
OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
FINDINGS = sorted((FUZZ / "findings").glob("*.py"))


def run_oracle(source: str, *args: object) -> oracle.Result:
    """Run `main` of a program by the rules."""
    return oracle.Program(source).call("main", list(args))


def test_slice() -> None:
    """150 programs agree with the oracle."""
    child = Child("treadle", "treadle")
    try:
        bad = [a for a in (child.ask({"seed": s}) for s in SLICE) if a["status"] != "ok"]
    finally:
        child.stop()
    assert not bad, "\n\n".join(
        f"seed {a.get('seed')}: {a['status']}: {a['why']}\n{a.get('source', '')}" for a in bad[:3]
    )


def replay(paths: list[Path]) -> list[str]:
    """Run kept findings again; a line for each that does not agree with the oracle."""
    children = {promotion: Child("treadle", promotion) for promotion in ("treadle", "numba")}
    bad = []
    try:
        for path in paths:
            kept = runpy.run_path(str(path))
            answer = children[kept["PROMOTION"]].ask(
                {"source": kept["SOURCE"], "calls": kept["CALLS"], "options": kept["OPTIONS"]}
            )
            if answer["status"] != "ok":
                bad.append(f"{path.name}: {answer['status']}: {answer['why']}")
    finally:
        for child in children.values():
            child.stop()
    return bad


def test_findings() -> None:
    """Programs that once failed agree now."""
    bad = replay(FINDINGS)
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("promotion", ["treadle", "numba"])
def test_replay_notices_what_fails(promotion: str, tmp_path: Path) -> None:
    """There may be no findings to replay: a small program stands in, whole and broken."""
    source = "@jit\ndef main(a0):\n    return a0 + 1\n"
    rest = f"CALLS = [['np.int8(3)']]\nPROMOTION = {promotion!r}\nOPTIONS = {{}}\n"
    for name, text in (("good", source), ("bad", source + "this is no Python\n")):
        (tmp_path / f"{name}.py").write_text(f"SOURCE = {text!r}\n{rest}")
    bad = replay(sorted(tmp_path.glob("*.py")))
    assert len(bad) == 1 and bad[0].startswith("bad.py: "), bad


def test_generator_is_deterministic() -> None:
    """A seed always makes the same program, and it is Python."""
    for seed in range(20):
        a, b = gen.Generator(seed).make(), gen.Generator(seed).make()
        assert (a.source, a.calls) == (b.source, b.calls)
        compile(a.source, "<fuzz>", "exec")


def test_coverage_grows() -> None:
    """150 programs reach a good part of operator x type, and the report names what is left."""
    cover = Coverage()
    for seed in SLICE:
        case, _, _ = gen.make_case(seed)
        cover.seen.update(case.seen)
    possible = cover.possible()
    assert sum(cover.seen[k] > 0 for k in possible) > len(possible) // 4
    assert "never" in cover.report()


@pytest.mark.parametrize(
    ("op", "a", "b", "out"),
    [
        ("+", "int8", "int8", "int64"),
        ("+", "uint32", "uint32", "uint64"),
        ("+", "int32", "uint32", "int64"),
        ("+", "int64", "uint64", "int64"),
        ("+", "uint64", "wint", "uint64"),
        ("/", "int8", "int8", "float64"),
        ("*", "float32", "wfloat", "float32"),
        ("*", "float32", "wint", "float32"),
        ("*", "float32", "int64", "float64"),
        ("*", "float32", "wcomplex", "complex64"),
        ("+", "bool", "bool", "int64"),
        ("&", "bool", "bool", "bool"),
        ("<<", "uint8", "int64", "uint64"),
        ("+", "wint", "wfloat", "wfloat"),
    ],
)
def test_rules(op: str, a: str, b: str, out: str) -> None:
    """Rows of the table in docs/semantics.md."""
    assert rules.arith(op, a, b) == out


def test_block_argument_makes_strong() -> None:
    """A literal is weak in a straight line and strong where control flow meets."""
    a = np.arange(4, dtype=np.float32)
    straight = run_oracle("def main(a):\n    t = 0.5\n    x = a[1] * t\n    return x\n", a)
    carried = run_oracle(
        "def main(a):\n    s = 0.0\n    for v in a:\n        s += v * 0.5\n    return s\n", a
    )
    assert (straight.ty, carried.ty) == ("float32", "float64")


def test_oracle_catches_a_wrong_result() -> None:
    """Plain Python differs from the rules (its integers do not wrap), and the comparison says so."""
    source = "@jit\ndef main(x):\n    return x * x\n"
    child = Child("python", "treadle")
    try:
        same = child.ask({"source": source, "calls": [["3"]]})
        wrong = child.ask({"source": source, "calls": [["2**40"]]})
    finally:
        child.stop()
    assert (same["status"], wrong["status"]) == ("ok", "diff")


def test_array_operators_are_numpys() -> None:
    """The oracle's element-by-element operators on arrays are what NumPy computes."""
    rng = random.Random(5)
    values = {t: gen.Generator(1) for t in rules.STRONG}
    for op, fn in OPERATORS.items():
        for a in rules.STRONG:
            for b in rules.STRONG:
                ta, tb = rules.Array(a, 1), rules.Array(b, 1)
                try:
                    array_ops.binary_type(op, ta, tb)
                except (rules.IllTyped, rules.Unspecified):
                    continue
                if "complex" in a + b and op == "*":
                    continue  # NumPy may contract products of complex numbers
                x = np.array([values[a].value(a) for _ in range(6)], dtype=a)
                y = np.array([values[b].value(b) for _ in range(6)], dtype=b)
                if op in ("<<", ">>"):
                    y = np.array([rng.randint(0, 9) for _ in y], dtype=b)
                with np.errstate(all="ignore"):
                    want = fn(x, y)
                    got = array_ops.binary(op, ArrayValue(x, set()), ta, ArrayValue(y, set()), tb)
                assert got.dtype == want.dtype, (op, a, b)
                np.testing.assert_array_equal(got, want, err_msg=f"{a} {op} {b}: {x} {y}")
                assert np.array_equal(np.signbit(got.real), np.signbit(want.real)) or np.isnan(want).any()


def test_float_operators_are_pythons() -> None:
    """Division, floor division and modulo of float64 and complex128 are CPython's, bit for bit."""
    source = gen.Generator(3)
    for _ in range(2000):
        x, y = source.value("float64"), source.value("float64")
        if y != 0:
            for op in ("/", "//", "%"):
                got = binary(op, x, "float64", y, "float64")
                assert same_float(OPERATORS[op](x, y), got, "float64"), (x, op, y)
        a, b = complex(source.value("float64"), x), complex(y, source.value("float64"))
        if b != 0 and all(np.isfinite([a, b])):
            re, im = binary("/", (a.real, a.imag), "complex128", (b.real, b.imag), "complex128")
            want = a / b
            assert same_float(want.real, re, "float64") and same_float(want.imag, im, "float64"), (a, b)
