"""Random graphs of lazy arrays (`tests/fuzz/gen_graph.py`): what they mean by every way, fused and not; what they say of themselves, counted by the interpreter; and that planted faults show."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import treadle.parallel as tp
from sizes import examples

FUZZ = Path(__file__).resolve().parents[1] / "fuzz"
sys.path.insert(0, str(FUZZ))
import accounts  # noqa: E402
import gen_graph  # noqa: E402
import graph_check  # noqa: E402
import graphs  # noqa: E402
from child import Child, Pair  # noqa: E402
from gen_straight import build  # noqa: E402
from library import KNOWN  # noqa: E402
from rules import Unspecified  # noqa: E402

pytestmark = pytest.mark.skipif(not KNOWN, reason="results are NumPy 2's")
SEEDS = range(1, 1 + examples(25))
PLAIN = {"TREADLE_OPT_LEVEL": "0"}  # LLVM's optimisation has tests of its own


@pytest.mark.parametrize("seed", SEEDS)
def test_agree_with_numpy_on_one_core_and_on_all(seed):
    a = graph_check.check_seed(seed, quick=False)
    assert a["status"] == "ok", f"{a['why']}\n{a['source']}\n{a['calls']}"


def test_agree_where_nothing_is_fused():
    child = Child("treadle", "treadle", {"TREADLE_SKIP": graph_check.UNFUSED, **PLAIN})
    try:
        for seed in SEEDS:
            a = child.ask({"seed": seed, "graphs": True, "quick": True})
            assert a["status"] == "ok", f"{a['why']}\n{a.get('source')}\n{a.get('calls')}"
    finally:
        child.stop()


@pytest.mark.parametrize("seed", range(examples(200)))
def test_accounts_are_what_the_interpreter_counts(seed):
    """Graphs of all groups: loops, products, sorts, searches and draws."""
    assert accounts.difference(seed) == ""


@pytest.mark.parametrize("seed", SEEDS)
def test_schedules_change_no_bit(seed):
    a = graph_check.check_seed(seed, quick=False, schedules=6)
    assert a["status"] == "ok", f"{a['why']}\n{a['source']}\n{a['calls']}"


def test_what_differs_under_a_schedule_is_found(monkeypatch):
    request = {
        "source": "def main(x0):\n    t0 = x0 * 2\n    return (t0,)\n",
        "calls": [X],
        "options": {"graph": True, "words": {"t0": "chunk 3"}, "parallel": True},
    }
    assert graph_check.under(request["source"], {"t0": "chunk 3"}).splitlines()[1:] == [
        "    with tp.schedule('chunk 3'): t0 = x0 * 2",
        "    return (t0,)",
    ]
    assert graph_check.check_text(request, True) == {"status": "ok", "legal": 1}
    refused = request | {"options": request["options"] | {"words": {"t0": "fission 4"}}}
    assert graph_check.check_text(refused, True) == {"status": "ok", "legal": 0}
    monkeypatch.setattr(graph_check, "under", lambda source, words: source.replace("2", "3"))
    a = graph_check.check_text(request, True)
    assert a["status"] == "diff" and "under schedules {'t0': 'chunk 3'}: root 0" in a["why"]


# --- the generator and its oracle ---


def test_graphs_have_all_kinds_of_nodes():
    """A seed always makes the same graph; 120 have every primitive's operation, several roots, and ends that raise."""
    cases = [gen_graph.make_case(seed) for seed in range(120)]
    again = gen_graph.make_case(119)
    assert (cases[-1].source, cases[-1].calls, cases[-1].options) == (
        again.source,
        again.calls,
        again.options,
    )
    met = {name for case in cases for name in case.outcome.ran}
    ours = {
        n for n in tp.__all__ if getattr(getattr(tp, n), "__module__", "") == "treadle.parallel._functions"
    }
    assert {f"tp.{n}" for n in ours - {"array", "evaluate", "extension", "fuse"}} <= met and len(met) > 100
    ends = {case.outcome.raised.split()[0] for case in cases if case.outcome.raised}
    assert {"ValueError", "IndexError"} <= ends <= {"ValueError", "IndexError", "OverflowError"}
    texts = "\n".join(text for case in cases for call in case.calls for text in call)
    for what in ("'S'", "'R'", "'F'", "ro(", "(0,)", "complex128", *("int8", "uint64", "bool", "float32")):
        assert what in texts, what
    roots = [len(graphs.program(case.source)[2]) for case in cases]
    assert max(roots) > 6 and min(roots) == 1


X = ["mk('float32', (40,), 'C', '" + np.arange(40, dtype="f4").tobytes().hex() + "', 0)"]
ZEROS = ["mk('float32', (2,), 'C', '" + np.array([-0.0, 1], "f4").tobytes().hex() + "', 0)"]
Y = ["mk('float32', (40,), 'C', '" + (np.arange(40, dtype="f4") / 3).tobytes().hex() + "', 0)"]


@pytest.mark.parametrize(
    ("body", "leaves", "off"),
    [
        ("t = np.sum(x0)", X, 0.0),
        ("t = np.sum(x0)", Y, 1e-2),
        ("a = np.sum(x0)\n    t = a * x0", Y, 0.1),
        ("a = x0[3:]\n    t = a * 2", Y, 0.0),
        ("t = np.exp(x0)", X, np.inf),
        ("t = np.minimum(x0, 1)", ZEROS, 0.0),
        ("t = np.minimum(x0, 0)", ZEROS, graphs.SIGN),
        ("a = x0.astype(np.int64)\n    t = np.maximum(x0, a)", ZEROS, graphs.SIGN),
    ],
)
def test_what_is_rounded_has_a_bound(body, leaves, off):
    source = f"def main(x0):\n    {body}\n    return (t,)\n"
    (root,) = graphs.expected(source, build(leaves)).roots
    assert root.off <= off and (root.off > 0) == (off > 0)


@pytest.mark.parametrize(
    "body",
    [
        "a = np.sum(x0)\n    t = x0 > a",
        "t = np.sort(x0 * 2)",
        "t = np.foo(x0)",
        "t = x0.astype(np.int8)",
        "a = np.sum(x0)\n    b = x0 * a\n    t = np.argsort(b)",
    ],
)
def test_what_has_no_one_meaning_is_no_graph(body):
    """Decisions by what was rounded; two operations in one; names that are not there; floats that an integer does not hold."""
    with pytest.raises((Unspecified, AttributeError)):
        graphs.expected(f"def main(x0):\n    {body}\n    return (t,)\n", build(Y))


def spoiled(what):
    """Roots as a wrong compiler would give them."""
    (root,) = graphs.expected("def main(x0):\n    t = np.sum(x0)\n    return (t,)\n", build(Y)).roots
    v = root.value
    return {
        "": v,
        "bits": np.nextafter(v, np.float32(9)),
        "sum": v + np.float32(1),
        "type": np.float64(v),
        "shape": v[None],
    }[what]


@pytest.mark.parametrize("what", ["", "bits", "sum", "type", "shape"])
def test_roots_are_compared(what):
    want = graphs.expected("def main(x0):\n    t = np.sum(x0)\n    return (t,)\n", build(Y))
    assert bool(graph_check.compared(want, [spoiled(what)], "")) == (what not in ("", "bits"))


# --- planted faults: the checks above find each of them ---

NUMBERS = ["mk('int64', (40,), 'C', '" + (np.arange(40) * 7 % 11).tobytes().hex() + "', 0)"]
HALVES = ["mk('float32', (40,), 'C', '" + (np.arange(40, dtype="f4") / 2).tobytes().hex() + "', 0)"]
TABLE = ["mk('float64', (6, 5), 'C', '" + np.arange(30.0).tobytes().hex() + "', 0)"]
# What is planted: a graph in which it shows, and the words that tell of it.
PLANTED = {
    "IDENTITY": (NUMBERS, "t = np.sum(x0)", "threads"),
    "EPILOGUE": (TABLE, "a = x0.sum(1)\n    t = a * 3.0", "one core"),
    "TIE": (NUMBERS, "t = tp.argsort(x0)", "one core"),
    "LOST": (NUMBERS, "t = tp.filter(lambda v: v > 3, x0)", "threads"),
    "CHAIN": (NUMBERS, "t = np.cumsum(x0)", "threads"),
    "WEAK": (HALVES, "t = x0 * 1.5", "float32 (40,), got float64"),
    "LINE": (NUMBERS, "a = x0 + 40\n    t = x0[a]", "IndexError at line 3, got IndexError at line"),
}


def numbers_of_plants():
    """The numbers of the faults by their names, as base/plant.h has them."""
    text = (Path(__file__).resolve().parents[2] / "src/base/plant.h").read_text()
    return {m[1]: m[2] for m in re.finditer(r"X\((\w+), (\d+), ", text)}


def answers_of(plant, names):
    """What a process with a fault planted (0: with none) says of graphs."""
    child = Child("treadle", "treadle", {"TREADLE_PLANT": plant, "TREADLE_NUM_THREADS": "4", **PLAIN})
    try:
        return [
            child.ask(
                {
                    "source": f"def main(x0):\n    {PLANTED[name][1]}\n    return (t,)\n",
                    "calls": [PLANTED[name][0]],
                    "options": {"graph": True, "grain": 1} | ({"raises": True} if name == "LINE" else {}),
                }
            )
            for name in names
        ]
    finally:
        child.stop()


def test_without_a_fault_these_agree():
    assert [a["status"] for a in answers_of("0", PLANTED)] == ["ok"] * len(PLANTED)


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(name):
    (a,) = answers_of(numbers_of_plants()[name], [name])
    assert a["status"] == "diff" and PLANTED[name][2] in a["why"], a


def test_every_fault_for_graphs_is_planted():
    assert {n for n, k in numbers_of_plants().items() if 14 < int(k) < 22} == set(PLANTED)


NINE = """
import sys
sys.path.insert(0, sys.argv[1])
import graph_check
from treadle._library.philox import block

whole = block.__code__
if sys.argv[2] == "9":
    block.__code__ = whole.replace(co_consts=tuple(9 if c == 10 else c for c in whole.co_consts))
    assert block.__code__ != whole
source = "def main():\\n    k = random.key(5)\\n    t = random.bits(k, 9)\\n    return (t,)\\n"
print(graph_check.check_text({"source": source, "calls": [[]], "options": {"graph": True}}, True)["status"])
"""


@pytest.mark.parametrize(("rounds", "status"), [("10", "ok"), ("9", "diff")])
def test_a_round_too_few_is_found(rounds, status):
    """Of Philox."""
    done = subprocess.run(
        [sys.executable, "-c", NINE, str(FUZZ), rounds], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == status, done.stderr


def test_two_processes_answer_for_a_graph():
    """One that fuses and one that does not; the second one's answer is told."""
    request = {
        "source": "def main(x0):\n    t = x0 * 2\n    return (t,)\n",
        "calls": [X],
        "options": {"graph": True},
    }
    pair = Pair(graph_check.UNFUSED, PLAIN)
    try:
        assert pair.ask(request)["status"] == "ok"
        assert pair.plain.served == 1
        invalid = pair.ask(request | {"source": "def main(x0):\n    t = np.foo(x0)\n    return (t,)\n"})
        assert invalid["status"] == "invalid"
    finally:
        pair.stop()
