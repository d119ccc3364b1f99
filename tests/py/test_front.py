"""Bytecode to SSA: golden dumps, refusals, the standard library, and broken bytecode.

The dumps differ between Python versions where their compilers differ, so there is one golden file for each. To write
them anew after a change, look at the difference, and commit: ``TREADLE_REGOLD=1 pytest tests/py/test_front.py``.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import random
import re
import subprocess
import sys
import sysconfig
import textwrap
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import treadle
from treadle import _core

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CASES = "front_cases.py"
GOLDEN = HERE / "golden" / "front-{}{}.txt".format(*sys.version_info)


def load_cases() -> dict[str, types.FunctionType]:
    """Functions of front_cases.py, under a file name that is the same everywhere."""
    space: dict[str, object] = {"__name__": "front_cases"}
    exec(compile((HERE / CASES).read_text(), CASES, "exec"), space)
    return {n: f for n, f in space.items() if isinstance(f, types.FunctionType)}


def function(code: types.CodeType) -> types.FunctionType:
    """A function with this code, no globals and empty cells."""
    return types.FunctionType(code, {}, None, None, tuple(types.CellType() for _ in code.co_freevars))


def define(source: str, name: str = "f") -> types.FunctionType:
    """The function `name` that `source` defines."""
    space: dict[str, object] = {"__name__": "snippet"}
    exec(compile(textwrap.dedent(source), "snippet.py", "exec", dont_inherit=True), space)
    return space[name]


def ssa(fn: object) -> str:
    """SSA text of a function that must compile."""
    kind, text = _core._front(fn)
    assert kind == "ok", text
    return text


def functions_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """Code objects of all functions under a module's code."""
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            if const.co_flags & 0x2:  # CO_NEWLOCALS: a function, not a class body
                yield const
            yield from functions_in(const)


# --- golden dumps -------------------------------------------------------------------------------------------------


def golden_text() -> str:
    """What the golden file should hold."""
    parts = []
    for name, fn in load_cases().items():
        kind, text = _core._front(fn)
        assert kind == "ok", f"{name}: {kind} {text}"
        parts.append(f"===== {name}\n{text}")
    return "\n".join(parts)


def test_golden() -> None:
    text = golden_text()
    if os.environ.get("TREADLE_REGOLD"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


def test_code_dump_names_every_operation() -> None:
    kind, text = _core._front(load_cases()["nested"], stage="code")
    assert kind == "ok"
    for word in ("getiter", "foriter", "fornext", "subscr", "storesubscr", "line 25", "return"):
        assert word in text
    assert re.search(r" (const|common) None$", text, re.M)


def test_opcode_table_is_current() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools/gen_bc.py", "--check"])
    assert done.returncode == 0, "run tools/gen_bc.py with this interpreter"


# --- shape of the SSA ---------------------------------------------------------------------------------------------


def test_loop_has_only_counter_and_sum_as_arguments() -> None:
    text = ssa(load_cases()["sum_loop"])
    heads = re.findall(r"^b\d+\((.*)\):", text, re.M)
    assert len(heads[1].split(",")) == 2, text  # the counter and s; a, k, the range do not change


def test_loop_variable_keeps_its_name() -> None:
    assert "%i" in ssa(load_cases()["sum_loop"])


def test_unassigned_variables() -> None:
    assert "checkdef" in ssa(load_cases()["maybe"])
    assert "undefvar" in ssa(load_cases()["unassigned"])
    assert "checkdef" not in ssa(load_cases()["collatz"])


def test_spans_are_precise() -> None:
    text = ssa(
        define("""
        def f(a, b):
            return (a +
                    b * 2)
    """)
    )
    assert re.search(r"binary mul .* @4:12-4:17$", text, re.M), text
    assert re.search(r"binary add .* @3:12-4:17$", text, re.M), text


def test_empty_argument_list_and_many() -> None:
    names = ", ".join(f"a{i}" for i in range(300))
    text = ssa(define(f"def f({names}):\n    return g({names}, k=a1)\ndef g(*a, k): return k\n"))
    assert "call" in text


def test_thousand_branches() -> None:
    lines = "".join(f"    if n == {i}:\n        s += {i}\n" for i in range(1000))
    assert ssa(define(f"def f(n):\n    s = 0\n{lines}    return s\n")).count("cbr") == 1000


def test_deep_expression() -> None:
    ssa(define("def f(x):\n    return " + "(x + " * 80 + "1" + ")" * 80 + "\n"))


def test_long_display_and_call() -> None:
    items = ", ".join(f"x + {i}" for i in range(100))
    assert "buildlist" in ssa(define(f"def f(x):\n    return [{items}]\n"))
    assert "buildtuple" in ssa(define(f"def f(x):\n    return ({items})\n"))
    assert ssa(define(f"def f(x, g):\n    return g({items})\n")).count("call") >= 1


def test_closure_captures_values() -> None:
    text = ssa(load_cases()["closure"])
    assert text.count("closure") >= 2
    assert "@inner of" in text and '@"<lambda>" of' in text


def test_annotations_of_inner_functions_are_not_evaluated() -> None:
    """From 3.14 on a function computes them, which captures the variables they name: they may come later, and change."""
    late = "T" if sys.version_info >= (3, 14) else "'T'"
    text = ssa(
        define(f"""
        def f(x):
            k = 2
            def g(a: {late}) -> k:
                return a
            T = 1
            k = 3
            return g(x) + T + k
    """)
    )
    assert "undefvar" not in text and text.count("closure") == 1


def test_compiling_twice_gives_the_same() -> None:
    fn = load_cases()["triple"]
    before = ssa(fn)
    for _ in range(2000):  # specialised in place by the interpreter
        fn(5)
    assert ssa(fn) == before


# --- refusals -----------------------------------------------------------------------------------------------------

REFUSED = [
    (
        "try",
        4,
        "def f(x):\n    try:\n        y = 1 / x\n    except* ValueError:\n        y = 0\n    return y\n",
    ),
    ("generator", 1, "def f(x):\n    yield x\n"),
    ("generator", 1, "def f(x):\n    for y in x:\n        yield from y\n"),
    ("async", 1, "async def f(x):\n    return x\n"),
    ("import", 2, "def f(x):\n    import math\n    return math.sin(x)\n"),
    ("import", 2, "def f(x):\n    from math import sin\n    return sin(x)\n"),
    ("class", 2, "def f(x):\n    class A:\n        pass\n    return A\n"),
    ("del-name", 2, "def f(x):\n    del x.y\n"),
    ("store-global", 3, "def f(x):\n    global G\n    G = x\n"),
    ("reraise", 2, "def f(x):\n    raise\n"),
]


if sys.version_info >= (3, 14):
    REFUSED += [
        ("template", 2, "def f(x):\n    return t'a{x}'\n"),
    ]


@pytest.mark.parametrize("row, line, source", REFUSED, ids=[f"{r[0]}-{i}" for i, r in enumerate(REFUSED)])
def test_refused(row: str, line: int, source: str) -> None:
    kind, text = _core._front(define(source))
    assert kind == "refused", text
    rows = {row, "set"} if "{y for" in source else {row}  # from 3.12 on a set is seen first
    assert text.split(":")[0] in rows, text
    assert int(text.split(":")[1]) == line, text


def test_a_variable_that_an_inner_function_assigns_to_is_memory_of_both() -> None:
    text = ssa(
        define("""
        def f(x):
            k = 0
            def g():
                nonlocal k
                k += x
            g()
            return k
    """)
    )
    assert re.sub(r"  @.*", "", text).replace("  ", "").splitlines()[1:7] == [
        "b0(%x):",
        '%k = newvar "k"',
        'writevar %k, 0, "k"',
        "%g = closure #1(None, %k, %x)",
        "%0 = call %g()",
        '%k.1 = readvar %k, "k"',
    ]
    assert 'readvar free %k, "k"' in text
    assert 'writevar %k, %0, "k"' in text


def test_a_variable_that_is_assigned_before_the_function_is_made_is_a_value() -> None:
    text = ssa(define("def f(x):\n    k = x + 1\n    g = lambda: k\n    return g()\n"))
    assert "var" not in text, text


def test_an_inner_function_that_names_itself_is_made_of_what_it_holds() -> None:
    text = ssa(
        define("def f(x):\n    def g(n, d=2):\n        return g(n - d) if n else x\n    return g(x)\n")
    )
    assert "var" not in text, text
    assert len(re.findall(r"= closure", text)) == 2, text


def test_super_is_refused() -> None:
    kind, text = _core._front(define("class A:\n    def m(self):\n        return super().m()\n", "A").m)
    assert kind in ("refused", "ok")
    if sys.version_info >= (3, 12):
        assert text.startswith("super:")


def test_code_that_is_never_reached_is_not_refused() -> None:
    ssa(define("def f(x):\n    return x\n    with x:\n        pass\n"))
    ssa(define("def f(x):\n    if False:\n        yield_ = [y for y in x]\n    return x\n"))


# --- everything that exists ---------------------------------------------------------------------------------------


def stdlib() -> Iterator[tuple[str, types.CodeType]]:
    """All functions of the standard library but its test suites."""
    base = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(base.rglob("*.py")):
        if {"test", "tests", "site-packages", "idlelib", "lib2to3"} & set(path.parts):
            continue
        try:
            module = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            continue
        yield from ((f"{path}:{c.co_firstlineno}", c) for c in functions_in(module))


def test_standard_library() -> None:
    """Each function becomes SSA that the verifier accepts, or is refused by a row of nyi.def."""
    limits = (ROOT / "src/ir/nyi.def").read_text()
    seen: Counter[str] = Counter()
    for where, code in stdlib():
        kind, text = _core._front(function(code))
        assert kind in ("ok", "refused"), f"{where}: {kind}: {text}"
        row = text.split(":")[0] if kind == "refused" else "ok"
        seen[row] += 1
    assert all(f'"{row}"' in limits for row in seen if row != "ok")
    assert sum(seen.values()) > 5000
    # Refused for a listed construct, or SSA: nothing else happens. And nothing is refused for being unknown.
    assert seen["bytecode"] == 0
    assert seen["ok"] > 0.4 * sum(seen.values()), seen


def mutants(code: types.CodeType, rng: random.Random) -> Iterator[dict[str, bytes]]:
    """Broken versions of a code object's tables."""
    for _ in range(12):
        raw = bytearray(code.co_code)
        for _ in range(rng.choice((1, 1, 2, 6))):
            at = rng.randrange(len(raw))
            raw[at] = rng.choice(
                (0, 1, 255, rng.randrange(256), (raw[at] + rng.choice((-2, -1, 1, 2))) % 256)
            )
            if rng.random() < 0.3:  # another instruction of the same function
                at, other = (2 * rng.randrange(len(raw) // 2) for _ in range(2))
                raw[at : at + 2] = raw[other : other + 2]
        yield {"code": bytes(raw)}
    cut = rng.randrange(1, len(code.co_code))
    yield {"code": code.co_code[:cut]}
    yield {"code": rng.randbytes(rng.randrange(2, 200) * 2)}
    yield {"exctable": rng.randbytes(rng.randrange(0, 24)), "linetable": rng.randbytes(rng.randrange(0, 40))}
    table = bytearray(code.co_linetable)
    table[rng.randrange(len(table))] = rng.randrange(256)
    yield {"linetable": bytes(table)}


def test_broken_bytecode_is_an_error_at_worst() -> None:
    rng = random.Random(20)
    seeds = [f.__code__ for f in load_cases().values()]
    seeds += [c for i, (_, c) in enumerate(stdlib()) if i % 30 == 0 and _core._front(function(c))[0] == "ok"]
    seen: Counter[str] = Counter()
    for code in seeds:
        fn = function(code)
        for change in mutants(code, rng):
            kind, text = _core._front(fn, **change)
            assert kind in ("ok", "refused", "error"), f"{code.co_name} {change}: {text}"
            seen[kind] += 1
    assert min(seen["ok"], seen["refused"], seen["error"]) > 50, seen


@pytest.mark.parametrize("condition", ["x", "x > 0, 'no'", "0 < x and g(x) == 1", "not isinstance(x, int)"])
def test_asserts_that_pytest_rewrote(condition: str) -> None:
    """The message is of what the user did not write, and of the assert that he did."""
    from _pytest.assertion import rewrite

    source = f"def f(x):\n    y = x + 1\n    assert {condition}\n    return y\n"
    assert _core._front(define(source))[0] == "ok"
    tree = ast.parse(source)
    rewrite.rewrite_asserts(tree, source.encode())
    space: dict = {"g": lambda x: x}
    exec(compile(tree, "test_x.py", "exec"), space)
    kind, text = _core._front(space["f"])
    assert kind == "refused" and text.startswith("pytest-assert:3"), text
    with pytest.raises(treadle.UnsupportedError) as e:
        treadle.njit(space["f"])(1)
    assert "test_x.py:3:5 in f" in str(e.value) and "PYTEST_DONT_REWRITE" in str(e.value)


def test_what_is_refused_before_a_rewritten_assert_is_told_first() -> None:
    from _pytest.assertion import rewrite

    tree = ast.parse("def f(x):\n    import os\n    assert x\n")
    rewrite.rewrite_asserts(tree, b"")
    space: dict = {}
    exec(compile(tree, "test_x.py", "exec"), space)
    assert _core._front(space["f"])[1].startswith("import:2")


def test_every_id_in_use_has_a_row() -> None:
    rows = set(re.findall(r'^X\(\w+, "([\w-]+)"', (ROOT / "src/ir/nyi.def").read_text(), re.M))
    for path in (ROOT / "src").rglob("*.c"):
        used = re.findall(r'tr_em_unsupported\([^,;]+, "([\w-]+)"', path.read_text())
        assert set(used) <= rows, f"{path}: {set(used) - rows}"


def gen_limits():
    spec = importlib.util.spec_from_file_location("gen_limits", ROOT / "tools/gen_limits.py")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "tools"))
    return module


@pytest.mark.parametrize("module, names, instead", gen_limits().missing.functions())
def test_what_the_page_of_limits_names_is_refused_with_its_advice(module, names, instead) -> None:
    if module in ("ndarray", "ufunc"):
        for name in names:
            f = eval(f"lambda a: {'a' if module == 'ndarray' else 'np.add'}.{name}", {"np": np})
            with pytest.raises(treadle.TreadleError, match=re.escape(instead)):
                treadle.njit(f)(np.ones(2))
        return
    if module.startswith("numpy") and np.lib.NumpyVersion(np.__version__) < "2.0.0":
        pytest.skip("the names are NumPy 2's")
    try:
        place = importlib.import_module(module)
    except ImportError:
        pytest.skip(f"there is no {module}")
    for name in names if names != ["*"] else ():
        o = getattr(place, name, None)
        if o is None or name == "isnat":  # another NumPy's; a ufunc without loops for numbers, which is said
            continue
        with pytest.raises(treadle.TreadleError) as e:
            treadle.njit((lambda a: o(a)) if callable(o) else eval(f"lambda a: np.{name}[a]", {"np": np}))(
                1.0
            )
        assert instead in str(e.value), (name, str(e.value))


# What the page says of whole kinds: refused with the kind of error that it says, or compiled where it says so.
KINDS = {
    "return [x]": True,
    "return {x: 1}": True,
    "return {x}": True,
    "return frozenset((x,))": True,
    "return bytearray((x,))": True,
    "return memoryview(x)": False,
    "return [i for i in range(3)]": True,
    "return [(x, x)]": True,
    "return np.array([i * x for i in range(3)]).sum()": True,
    "return sum(i for i in range(3))": True,
    "return sum((i for i in range(3)), (j for j in range(3)))": False,
    "yield x": False,
    "return str(x)": True,
    "return np.array([x, x]).sum()": True,
    "s = 0\n    for v in [1, 2]: s += v\n    return s": True,
    "return 2 if 'ab' == 'ab' else x": True,
    "return open(x)": False,
}


@pytest.mark.parametrize("body", KINDS)
def test_what_the_page_of_limits_says_of_kinds(body: str) -> None:
    space: dict = {"np": np}
    exec(f"def f(x):\n    {body}\n", space)
    if KINDS[body]:
        assert treadle.njit(space["f"])(1) == space["f"](1)
    else:
        with pytest.raises(treadle.TreadleError):
            treadle.njit(space["f"])(1)


ARGUMENTS = {
    "list": [object()],
    "dict": {object(): 2},
    "set": {object()},
    "object": object(),
    "long": 2**70,
    "dates of a multiple": np.zeros(1, "M8[25s]"),
    "records of objects": np.zeros(1, "f8,O"),
    "strings of the other byte order": np.zeros(1, ">U1"),
    "objects": np.zeros(1, object),
    "longdouble": np.zeros(1, np.longdouble),
    "masked": np.ma.zeros(1),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_that_the_page_of_limits_names(name: str) -> None:
    with pytest.raises((TypeError, OverflowError), match=r"argument 'x(\[0\])?'"):
        treadle.njit(lambda x: x)(ARGUMENTS[name])


def test_page_of_limits_is_current() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools/gen_limits.py", "--check"])
    assert done.returncode == 0, "run tools/gen_limits.py"
