"""The snapshot: what becomes of globals, cells, defaults and modules, and when two snapshots are the same program."""

from __future__ import annotations

import sys
import types
from collections import namedtuple

import numpy as np
import pytest
from treadle import _core

Point = namedtuple("Point", "x y")


def make(body: str, **names: object) -> types.FunctionType:
    """A function of `a` with this return expression and these globals."""
    space: dict[str, object] = {"__name__": "made", **names}
    exec(compile(f"def f(a, b=1, *, c=2):\n    return {body}\n", "made.py", "exec"), space)
    return space["f"]


def ssa(fn: object) -> str:
    """SSA text of everything that `fn` reaches."""
    kind, text = _core._front(fn)
    assert kind == "ok", text
    return text


@pytest.mark.parametrize(
    "value, text",
    [
        (3, "3"),
        (True, "True"),
        (2.5, "2.5"),
        (1j, "complex(0.0, 1.0)"),
        ("s", '"s"'),
        (None, "None"),
        ((1, 2.0), "(1, 2.0)"),
        (2**64 - 1, str(2**64 - 1)),
        (-7, "-7"),
        ((), "()"),
    ],
)
def test_plain_values(value: object, text: str) -> None:
    assert text in ssa(make("g + a", g=value)).split("binary add")[1]


if sys.version_info >= (3, 15):

    def test_lazy_imports_are_done_when_the_function_compiles() -> None:
        space: dict[str, object] = {}
        source = "lazy import math\nlazy from math import cos as c\nlazy import no_such_module\n"
        source += "def f(a): return math.sin(a) + c(a)\ndef g(a): return no_such_module.x\n"
        exec(compile(source, "m.py", "exec", dont_inherit=True), space)
        text = ssa(space["f"])
        assert "sin" in text and "cos" in text
        assert isinstance(space["c"], types.BuiltinFunctionType)
        with pytest.raises(ImportError):
            _core._front(space["g"])


@pytest.mark.parametrize(
    "value, part",
    [
        (np.float32(2), "f"),
        (np.int8(-3), "-3"),
        (np.uint64(2**63), str(2**63)),
        (np.complex64(1j), ""),
        (np.bool_(True), ""),
        (np.float32, "type(f32)"),
        (np.dtype("i2"), "type(i16)"),
        (np.zeros((2, 3), "f4"), "f32[2c,ro]"),
        (Point(1, 2), "1"),
        (Point, "Point"),
        (ValueError, "ValueError"),
        (object(), "object"),
        (2**70, ""),
        (np.zeros(2, "f2"), "f16[1c,ro]"),
        (np.zeros(2, ">f8"), ">f8"),
        (np.floating, "floating"),
        (slice(1, 2), "slice"),
    ],
)
def test_values_of_other_kinds(value: object, part: str) -> None:
    text = ssa(make("h(g, a)", g=value, h=print))
    assert part in text.split("call")[1]


def test_modules_and_their_attributes() -> None:
    inner = types.ModuleType("inner")
    inner.k = 5
    outer = types.ModuleType("outer")
    outer.inner = inner
    text = ssa(make("outer.inner.k + outer.absent + a", outer=outer))
    assert '"inner"' in text and '"k"' in text
    deps = _core._freeze_deps(make("outer.inner.k", outer=outer))
    assert [d[2] for d in deps] == ["outer", "inner", "k"]


def test_functions_are_reached_once_each_and_may_recurse() -> None:
    space: dict[str, object] = {}
    exec(
        "def even(n):\n    return n == 0 or odd(n - 1)\ndef odd(n):\n    return n != 0 and even(n - 1)\n"
        "def f(a):\n    return (even, odd)[0](a) + even(a)\n",
        space,
    )
    text = ssa(space["f"])
    assert text.count("front @even") == 1 and text.count("front @odd") == 1


def test_functions_in_tuples_defaults_and_cells() -> None:
    def one(x: float) -> float:
        return x + 1

    def two(x: float) -> float:
        return one(x)

    def root(a: float, g: object = (two,)) -> float:
        return g[0](a)

    text = ssa(root)
    assert "front @two" in text and "front @one" in text


def test_inner_function_sees_modules_of_the_cell() -> None:
    numpy = np

    def root(a: float) -> float:
        return (lambda x: numpy.linalg.absent_name + numpy.pi + x)(a)

    deps = _core._freeze_deps(root)
    assert {"linalg", "pi"} <= {d[2] for d in deps}


def test_empty_cell_is_no_failure() -> None:
    def root(a: float) -> float:
        return a + later

    text = ssa(root)
    assert "undefvar" in text
    later = 1.0
    assert "undefvar" not in ssa(root)


def test_set_of_constants_is_a_tuple() -> None:
    assert "in %a, (1,)" in ssa(make("a in {1}"))


def test_surrogates_and_long_texts() -> None:
    ssa(make("g + a", g="\ud800"))
    ssa(make("g + a", g="x" * 10000))
    ssa(make("g + a", g=10**5000))


def test_deep_and_cyclic_structures_end() -> None:
    deep: object = 1
    for _ in range(5000):
        deep = (deep,)
    ssa(make("g", g=deep))
    holder: list[object] = []
    cycle = (holder,)
    holder.append(cycle)
    ssa(make("g", g=cycle))
    m = types.ModuleType("m")
    m.m = m
    assert _core._freeze_hash(make("m.m.m.m", m=m))


def test_not_a_function() -> None:
    with pytest.raises(TypeError, match="a Python function is needed, not"):
        _core._front(3)


# --- the key ------------------------------------------------------------------------------------------------------


def key(fn: object) -> bytes:
    """Content hash of the snapshot."""
    k = _core._freeze_hash(fn)
    assert isinstance(k, bytes) and len(k) == 32
    return k


def test_same_source_same_key() -> None:
    assert key(make("a + g", g=1)) == key(make("a + g", g=1))


@pytest.mark.parametrize(
    "one, other",
    [
        (1, 2),
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        ("a", "b"),
        ((1, 2), (2, 1)),
        ((1,), ((1,),)),
        (np.float32(1), np.float64(1)),
        (np.float32, np.float64),
        (np.zeros(3), np.ones(3)),
        (np.zeros(3), np.zeros(4)),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.zeros((2, 3)), np.zeros((2, 3), order="F")),
        (Point(1, 2), (1, 2)),
        (abs, max),
        (1 + 0j, complex(1, -0.0)),
        (2**63, 2**63 + 1),
        (ValueError, IndexError),
    ],
)
def test_different_globals_different_key(one: object, other: object) -> None:
    assert key(make("h(a, g)", g=one, h=print)) != key(make("h(a, g)", g=other, h=print))


def test_key_follows_called_functions_and_their_globals() -> None:
    def program(k: int) -> types.FunctionType:
        callee = make("a * k", k=k)
        return make("callee(a)", callee=callee)

    assert key(program(1)) == key(program(1))
    assert key(program(1)) != key(program(2))


def test_key_follows_defaults_constants_and_places() -> None:
    """What is above a function, and so in which line it begins, is not part of it."""
    base = make("a + b")
    for change in ({}, {"co_firstlineno": 7}, {"co_filename": "other.py"}, {"co_name": "h"}):
        other = types.FunctionType(
            base.__code__.replace(**change), base.__globals__, base.__name__, base.__defaults__
        )
        other.__kwdefaults__ = base.__kwdefaults__
        if "co_name" not in change:
            assert (key(other) == key(base)) == ("co_filename" not in change)
    changed = make("a + b")
    changed.__defaults__ = (5,)
    assert key(changed) != key(base)
    changed = make("a + b")
    changed.__kwdefaults__ = {"c": 5}
    assert key(changed) != key(base)
    assert key(make("a + 1")) != key(make("a + 2"))


def test_large_arrays_have_no_key() -> None:
    assert _core._freeze_hash(make("g[a]", g=np.zeros(2**17 + 1))) is None
    assert key(make("g[a]", g=np.zeros(2**17)))


def test_array_content_is_frozen_when_taken() -> None:
    g = np.arange(3.0)
    fn = make("g[a]", g=g)
    before = key(fn)
    g[0] = 7
    assert key(fn) != before


# --- what was read ------------------------------------------------------------------------------------------------


def test_changes_are_noticed() -> None:
    fn = make("a + g + len(d)", g=1, d=())
    deps = _core._freeze_deps(fn)
    assert _core._freeze_current(deps)
    fn.__globals__["unrelated"] = 1
    assert _core._freeze_current(deps)
    fn.__globals__["g"] = 2
    assert not _core._freeze_current(deps)
    fn.__globals__["g"] = 1
    assert _core._freeze_current(deps)
    fn.__globals__["len"] = abs  # hides the builtin
    assert not _core._freeze_current(deps)


def test_changes_in_cells_modules_and_missing_names_are_noticed() -> None:
    m = types.ModuleType("m")
    m.x = 1
    cell = 1

    def root(a: float) -> float:
        return a + cell

    deps = _core._freeze_deps(root)
    assert _core._freeze_current(deps)
    cell = 2
    assert not _core._freeze_current(deps)
    fn = make("m.x + m.y + z + a", m=m)
    deps = _core._freeze_deps(fn)
    assert _core._freeze_current(deps)
    m.y = 1
    assert not _core._freeze_current(deps)
    del m.y
    fn.__globals__["z"] = 1
    assert not _core._freeze_current(deps)
    with pytest.raises(TypeError, match="list"):
        _core._freeze_current(())
