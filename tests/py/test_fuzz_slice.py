"""Differential fuzzing, a quick slice: programs against the oracle, kept findings again, and the oracle's own rules."""

from __future__ import annotations

import operator
import random
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from sizes import examples

FUZZ = Path(__file__).resolve().parents[1] / "fuzz"
sys.path.insert(0, str(FUZZ))

import array_ops  # noqa: E402
import gen  # noqa: E402
import gen_raises  # noqa: E402
import gen_straight  # noqa: E402
import library  # noqa: E402
import memory  # noqa: E402
import oracle  # noqa: E402
import rules  # noqa: E402
import straight  # noqa: E402
from check import call_straight, check_by_cpython, same_float  # noqa: E402
from child import Child  # noqa: E402
from library import KNOWN  # noqa: E402
from memory import ArrayValue  # noqa: E402
from reached import Coverage  # noqa: E402
from values import binary  # noqa: E402

SLICE = range(1, 61)
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
    """60 programs, or the part that this run takes, agree with the oracle."""
    child = Child("treadle", "treadle")
    try:
        bad = [
            a for a in (child.ask({"seed": s}) for s in SLICE[: examples(len(SLICE))]) if a["status"] != "ok"
        ]
    finally:
        child.stop()
    assert not bad, "\n\n".join(
        f"seed {a.get('seed')}: {a['status']}: {a['why']}\n{a.get('source', '')}" for a in bad[:3]
    )


numpy_2 = pytest.mark.skipif(not KNOWN, reason="results are NumPy 2's")


@numpy_2
def test_straight_slice() -> None:
    """40 straight programs, or the part that this run takes, give what CPython gives."""
    child = Child("treadle", "treadle")
    try:
        bad = [
            a
            for s in range(1, 2 * examples(40), 2)
            if (a := child.ask({"seed": s, "library": True}))["status"] != "ok"
        ]
    finally:
        child.stop()
    assert not bad, "\n\n".join(
        f"seed {a.get('seed')}: {a['status']}: {a['why']}\n{a.get('source', '')}" for a in bad[:3]
    )


@numpy_2
def test_straight_programs_have_all_kinds_of_arguments() -> None:
    """A seed always makes the same program; 60 have every type and layout that only they have."""
    cases = [gen_straight.make_case(seed) for seed in range(1, 121, 2)]
    again = gen_straight.make_case(119)
    assert (cases[-1].source, cases[-1].calls, cases[-1].options) == (
        again.source,
        again.calls,
        again.options,
    )
    texts = "\n".join(text for case in cases for call in case.calls for text in call)
    for what in (
        "'float16'",
        "rec(",
        "rng(",
        "ro(",
        "A[0]",
        "'R'",
        "'S'",
        "'F'",
        ", (), ",
        "datetime64",
        "None",
    ):
        assert what in texts, what
    source = "\n".join(case.source for case in cases)
    for what in (
        "where=",
        "out=",
        "reduceat",
        "prange(",
        "np.fft.",
        "g0.",
        "r0[",
        "@stencil",
        "is None",
        "axis=p0",
        "nditer",
    ):
        assert what in source, what


STRAIGHT = "@jit\ndef main(x0, o0):\n    t0 = np.sort(x0)\n    t1 = np.mean(x0)\n    o0[0] = 3\n    return (t0, t1)\n"


def spoiled(result: tuple, args: list, what: str) -> tuple:
    """What a wrong compiler would give."""
    t0, t1 = result
    if what == "stored":
        args[1][0] = 2.5
    return {
        "bits": (np.nextafter(t0, np.inf), t1),
        "sum": (t0, t1 + 1e-3),
        "last bits of a sum": (t0, np.nextafter(t1, 9)),
        "type": (t0.astype("f4"), t1),
        "shape": (t0[:2], t1),
        "count": (t0,),
    }.get(what, result)


@numpy_2
@pytest.mark.parametrize(
    "what",
    ["", "last bits of a sum", "bits", "sum", "type", "shape", "count", "stored", "raises", "does not raise"],
)
def test_what_a_straight_program_gives_is_compared(what: str) -> None:
    """Numbers that were moved to the bit, those that were rounded within a bound; types, shapes, arguments, exceptions."""
    source = STRAIGHT.replace("o0[0]", "o0[9]") if what == "does not raise" else STRAIGHT
    call = ["mk('float64', (3,), 'S', '9a9999999999f13f666666666666024000000000000000c0')", "np.zeros(4)"]
    case = gen_straight.Case(source, [call])
    case.outcomes = [straight.expected(source, gen_straight.build(call), gen_straight.space())]

    def main(x0: np.ndarray, o0: np.ndarray) -> tuple:
        if what == "raises":
            raise ValueError
        o0[0] = 3
        return spoiled((np.sort(x0), np.mean(x0)), [x0, o0], what)

    assert call_straight(case, main)["status"] == ("ok" if what in ("", "last bits of a sum") else "diff")


@numpy_2
def test_what_has_no_one_meaning_is_no_straight_program() -> None:
    """A number that was rounded and then read; float16 of small integers; a name that is not there."""
    for body in ("t0 = np.exp(x0)\n    t1 = np.floor(t0)", "t0 = np.sqrt(x0.astype(np.int8))", "t0 = x1 + 1"):
        with pytest.raises(rules.Unspecified):
            straight.expected(
                f"def main(x0):\n    {body}\n    return (t0,)\n", [np.array([0.5, 3.0])], gen_straight.space()
            )


@numpy_2
@pytest.mark.parametrize(
    "text", ["np.exp(x0, out=o0)", "o0[:] = np.exp(x0)", "t0 = o0[::-1]\n    np.exp(x0, out=t0)"]
)
def test_what_was_rounded_into_an_array_has_a_bound(text: str) -> None:
    """Even if it is to the bit what was there before: another rounding of it is not. And nothing may read it."""
    x = np.array([0.5, 0.0])
    o = np.exp(x)[::-1].copy() if "t0" in text else np.exp(x)
    source = f"def main(x0, o0):\n    {text}\n    return ()\n"
    out = straight.expected(source, [x, o], gen_straight.space())
    assert out.loose[0] == 0 and 0 < out.loose[1] < 1e-6
    with pytest.raises(rules.Unspecified):
        straight.expected(source.replace("return", "t1 = o0 + 1\n    return"), [x, o], gen_straight.space())


@numpy_2
def test_a_bound_reaches_what_a_tuple_holds() -> None:
    """The first of these results is o0, which is stored to again."""
    source = (
        "def main(x0, o0):\n    t0 = np.modf(x0, out=(o0, None))\n    np.exp(x0, out=o0)\n    return (t0,)\n"
    )
    out = straight.expected(source, [np.array([0.5, 0.0]), np.zeros(2)], gen_straight.space())
    assert 0 < out.bounds[0] < 1e-6


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("np.take(x0, k0)", 2), ("x0[::-1].T.copy()", 2), ("np.fft.fftshift(x0)", 2), ("np.maximum.reduce(x0)", 2), ("np.subtract(x0, x0)", 1), ("x0 * 2 + x0", 1), ("np.sort(-x0)", 2), ("s0(x0)", 1),
        ("np.fft.fft(x0)", 0), ("np.add.reduce(x0)", 0), ("x0.sum()", 0), ("np.nanpercentile(x0, 40.0)", 0), ("x0 ** 2", 0), ("x0 @ x0", 0), ("np.apply_along_axis(np.sum, 0, x0)", 0), ("np.nanprod(x0)", 0),
        ("for i in prange(4):\n    o0[0] += x0[i]", 0), ("for i in range(4):\n    o0[0] += x0[i]", 1),
    ],
)  # fmt: skip
def test_what_a_text_computes(text: str, level: int) -> None:
    """2: one result whatever is given; 1: of real numbers; 0: within a bound."""
    assert library.exactness(text) == level


def test_zeros_of_both_signs_in_an_order() -> None:
    """Either may come out; of one sign there is one result."""
    both, one = np.array([0.0, -0.0, 1.0]), np.array([0.0, 0.0, 1.0])
    assert library.tie("np.max(x0)", both[2], both) == library.SIGN
    assert library.tie("np.max(x0)", one[2], one) == 0
    assert library.tie("np.max(-x0)", one[0], one) == library.SIGN
    assert library.tie("np.flip(x0)", both[::-1], both) == 0


@numpy_2
def test_the_states_of_generators_are_compared() -> None:
    """A draw too many shows, though the numbers are right."""
    source = "def main(g0):\n    t0 = g0.random(2)\n    return (t0,)\n"
    case = gen_straight.Case(source, [["rng('PCG64', 3)"]])
    case.outcomes = [straight.expected(source, gen_straight.build(case.calls[0]), gen_straight.space())]
    assert call_straight(case, lambda g0: (g0.random(2),))["status"] == "ok"
    assert call_straight(case, lambda g0: (g0.random(3)[:2],))["status"] == "diff"


def test_calls_that_are_dropped_are_noticed() -> None:
    """Programs whose functions raise on every path: CPython's own agree, and one that goes on as if a call were not there does not."""
    ended = set()
    for seed in range(30):
        case = gen_raises.make_case(seed)
        assert case.source == gen_raises.make_case(seed).source
        assert check_by_cpython(case, "python")["status"] == "ok"
        ended |= {o[0][0] for o in case.outcomes if o[0]}
    assert {"ValueError", "KeyError", "UnboundLocalError", "Own"} <= ended
    source = (
        "@jit\ndef n0(v):\n    raise ValueError('w', v)\n@jit\ndef main(x, y, a):\n    n0(x)\n    return y\n"
    )
    calls = [["1.0", "2.0", "np.zeros(4)"]]
    case = gen_raises.Case(source, calls, {"raises": True}, gen_raises.expected(source, calls))
    assert case.outcomes == [(("ValueError", ("w", 1.0)), None, [0.0] * 4)]
    dropped = gen_raises.Case(source.replace("    n0(x)\n", ""), calls, {"raises": True}, case.outcomes)
    assert check_by_cpython(case, "treadle")["status"] == "ok"
    assert check_by_cpython(dropped, "treadle")["status"] == "diff"


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
    for seed in range(1, 151):
        case, _, _ = gen.make_case(seed)
        cover.seen.update(case.seen)
    possible = cover.possible()
    assert sum(cover.seen[k] > 0 for k in possible) > len(possible) // 4
    reached = {kind for kind, *_ in cover.seen}
    assert {"caught", "except", "finally", "raise", "scatter", "scan", "prange view", "prange"} <= reached
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


def run_loop(body: str, *args: object, first: str = "s = 0") -> oracle.Result:
    """Run a parallel function of a and h with this loop by the rules."""
    lines = "\n".join("        " + line for line in body.split("\n"))
    text = f"@parallel\ndef main(a, h):\n    {first}\n    for i in prange(len(a)):\n{lines}\n    return s\n"
    return run_oracle(text, *args)


def test_the_order_of_a_sum_may_show() -> None:
    """Sums of numbers that are never rounded are exact; others have a bound; those of integers wrap."""
    h = np.zeros(3)
    exact = run_loop("s += a[i]", np.array([0.5, 4.0, -1.25]), h, first="s = 0.0")
    assert (exact.ty, exact.value) == ("float64", 3.25)
    loose = run_loop("s += a[i]", np.array([1e16, 1.0, -1e16]), h, first="s = 0.0")
    assert loose.value.error is not None and loose.value.error > 1.0
    product = run_loop("s *= a[i]", np.array([2.0, 0.25, -1.0]), h, first="s = 1.0")
    assert product.value == -0.5
    assert run_loop("s += a[i]", np.array([2**62, 2**62]), h).value == -(2**63)


def test_iterations_that_meet_are_no_test() -> None:
    """Two iterations at one element, unless both accumulate; and a variable that is handed on."""
    a, h = np.arange(4.0), np.zeros(2, dtype=np.int8)
    for body in (
        "a[0] = i",
        "a[i] = a[i - 1]",
        "h[i % 2] = 1",
        "h[i % 2] += 1\ns += h[0]",
        "a[3 - i] = a[i]",
    ):
        with pytest.raises(rules.Unspecified):
            run_loop(body, a.copy(), h.copy())
    for body in ("a[i] = i", "a[3 - i] = i", "h[i % 2] += 1", "h[i % 2] -= len(h)", "a[i] += a[i]"):
        run_loop(body, a.copy(), h.copy())
    run_loop("h[i % 2] += 100", a, h)
    assert h.tolist() == [-56, -56]


def test_what_is_accumulated_through_views() -> None:
    """It has a bound, as what is added in another order has; where anything else is done with the array, iterations have it to themselves."""
    tiny = np.float32(1e-10)
    for body in ("a[i:i + 2][:1] += h[0]\na[i] -= h[0]", "w = a[i:]\nw[:1] += h[0]\nw[:1][0] -= h[0]"):
        run = run_loop(body, a := np.full(4, tiny), np.ones(1, np.float32))
        assert a.tolist() == [0.0] * 4 and len(run.args[0].marks) == 4
        assert all(tiny < error < 1e-5 for error in run.args[0].marks.values())
    for body in ("a[i:i + 1][0] = h[0]\na[i] += h[0]", "w = a[i:i + 1]\nw += h[0]\ns += i"):
        run = run_loop(body, np.zeros(4, np.float32), np.ones(1, np.float32))
        assert not run.args[0].marks


def test_exceptions_that_are_lost_are_met() -> None:
    """An index out of range is one, whatever a `finally` block makes of the exception: without checks the program is no test."""
    text = "def main(a, n):\n    try:\n        a[n] = 1\n    finally:\n        {last}\n    return n\n"
    for last in ("if n > 2: raise KeyError(n)", "return 2", "a[0] = 1 / (n - 3)"):
        program = text.format(last=last)
        assert run_oracle(program, np.zeros(3), 3).met("IndexError"), last
    assert not run_oracle(text.format(last="return 2"), np.zeros(3), 2).met("IndexError")


def test_what_is_open_after_an_exception() -> None:
    """Own elements of earlier iterations hold what they were given; later ones may hold anything."""
    a = np.array([1.0, 2.0, -1.0, 3.0])
    result = run_loop("h[i] = a[i]\nif a[i] < 0:\n    raise ValueError('x')", a, np.zeros(4))
    marks = result.args[1].marks
    assert result.raised is not None and result.raised.name == "ValueError"
    places = memory.addresses(result.args[1].data)
    assert [marks.get(p) for p in places] == [None, None, None, memory.OPEN]


LEAVES = """
class Own(ValueError):
    pass
def inner(n):
    if n % 4 == 1:
        raise Own('own', n)
    return 10 // (n % 3)
def main(n):
    log = 0
    for i in range(6):
        try:
            try:
                log = log * 7 + inner(n + i)
                if i == n % 5:
                    {jump}
            except (KeyError, ZeroDivisionError) as e:
                log += 100
                if i % 2:
                    raise e
            else:
                log += 3
            finally:
                log = log * 3 + 1
                if i == 5 and n % 2:
                    {last}
        except Own:
            log += 1000
            if n == 9:
                raise
        except ArithmeticError:
            log -= 7
    return log
"""


@pytest.mark.parametrize("jump", ["return log", "break", "continue", "log += 1", "raise LookupError('x')"])
@pytest.mark.parametrize("last", ["return -log", "break", "continue", "log += 1"])
def test_handlers_are_pythons(jump: str, last: str) -> None:
    """Blocks of try statements are left in every way as CPython leaves them."""
    text, space = LEAVES.format(jump=jump, last=last), {}
    exec(compile(text, "<handlers>", "exec"), space)
    for n in range(12):
        want: tuple = ()
        try:
            want = ("", space["main"](n))
        except Exception as err:
            want = (type(err).__name__, err.args)
        got = run_oracle(text, n)
        if got.raised is None:
            assert want == ("", got.value), n
        else:
            assert want[0] == got.raised.name, n
            assert got.raised.payload is None or want[1] == tuple(v for _, v in got.raised.payload), n


def test_what_a_handler_knows() -> None:
    """A variable that one of several definitions may have given a value is read if they have one type, and not if they differ."""
    text = (
        "def main(a, n):\n    x = n\n    try:\n        x = {value}\n        y = a[n]\n        x = {value}\n"
    )
    rest = "    except IndexError:\n        return x\n    return n\n"
    a = np.arange(3.0)
    assert run_oracle(text.format(value="n + 1") + rest, a, 5).value == 6
    with pytest.raises(rules.Unspecified, match="no one type"):
        run_oracle(text.format(value="a[0]") + rest, a, 5)


def test_scans_and_stores_at_places_are_numpys() -> None:
    """Several at one place, one after the other; of floats a sum's tree is known, and products to the end of a block."""
    a, at = np.arange(4.0), np.array([1, -1, 1])
    run_oracle("def main(a, at):\n    np.add.at(a, at, at * 2)\n    a[at] = a[:1]\n", a, at)
    want = np.arange(4.0)
    np.add.at(want, at, at * 2)
    want[at] = want[:1]
    assert a.tolist() == want.tolist()
    long = "def main(n):\n    return np.{scan}(np.arange(n) * {step})[-1]\n"
    assert run_oracle(long.format(scan="cumsum", step="0.25"), 20_000).value == np.arange(20_000).sum() / 4
    tree = run_oracle(long.format(scan="cumsum", step="0.1"), 4).value
    assert tree == (0.0 + 0.1) + (0.2 + 3 * 0.1)
    with pytest.raises(rules.Unspecified):
        run_oracle(long.format(scan="cumprod", step="0.1"), 20_000)


def test_iterations_that_meet_are_noted() -> None:
    """With views of views there is a result to compare with: that of plain code."""
    text = "@parallel\ndef main(a):\n    for i in prange(len(a) - 1):\n        a[i:][1:][0] = a[i]\n"
    loose, a = oracle.Program(text, loose=True), np.arange(4.0)
    loose.call("main", [a])
    assert loose.met and a.tolist() == [0.0] * 4


def test_a_loop_in_an_iteration_has_none_of_its_own() -> None:
    """A loop over a prange, in a function that an iteration calls, is a plain one: what follows it is the same iteration."""
    text = "@parallel\ndef h(n):\n    for i in prange(n):\n        pass\n    return n\n\n"
    text += "@parallel\ndef main(a):\n    for i in prange(len(a) - 1):\n        h(2)\n        a[i:][1:][0] = a[i]\n"
    loose = oracle.Program(text, loose=True)
    loose.call("main", [np.arange(4.0)])
    assert loose.met


def test_plain_code_divides_by_the_programs_rules() -> None:
    """What plain code gives where iterations meet, in a program with NumPy's error model."""
    text = "@parallel\ndef main(a):\n    for i in prange(len(a)):\n        w = a\n        w[0] /= i\n        w[1] = 3\n"
    call = gen.Call(["mk('float32', (2,), 'C', '0000c03fa27cf4be', 0)"])
    for model, raised in (("numpy", None), ("python", "ZeroDivisionError")):
        case = gen.Case(0, text, [call], "treadle", {"views": True, "error_model": model})
        result, args = case.run_loose(call)
        assert (result.raised.name if result.raised else None) == raised
    assert args[0][0] == 1.5


def test_programs_that_take_too_long_are_no_test() -> None:
    """An outer product of an outer product, of a function in which nothing is counted: two hundred million elements."""
    text = "@vectorize\ndef q(x, y):\n    return x or y\n\n@host\ndef main(a):\n    return q.outer(q.outer(a, a), a)\n"
    with pytest.raises(rules.Unspecified, match="too many steps"):
        run_oracle(text, np.arange(600))


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
                    got = array_ops.binary(op, ArrayValue(x, {}), ta, ArrayValue(y, {}), tb)
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
