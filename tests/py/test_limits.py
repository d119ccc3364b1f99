"""Limits of the compiler: what lies on both sides of each `MAX_...` of the sources.

A row of `LIMITS` names the constant and its file, and has a program that needs so much of what is limited; the value is the source's own. At the limit and
one past it the result is what Python gives. Where the limit is the user's, one past it is an error that says so; elsewhere it costs speed, and the program is
as right. What no test reaches stands in `NOT_REACHED`, with the reason.
"""

from __future__ import annotations

import re
import tempfile
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import treadle.config
import treadle.parallel as tp
from treadle import cuda, njit, vectorize

SRC = Path(__file__).resolve().parents[2] / "src"


class Limit(NamedTuple):
    """A constant of a file; a program that needs `n`, which asserts that its result is right; what is raised one past the limit, or nothing."""

    file: str
    name: str
    reach: Callable[[int], object]
    error: str = ""


def made(text: str, **names: object) -> types.FunctionType:
    """Return the function `f` of this text."""
    space: dict[str, object] = dict(names)
    exec(text, space)
    return space["f"]


def same(f: types.FunctionType, *args: object, parallel: bool = False) -> None:
    """A compiled function gives what Python gives, and does to its arguments what Python does."""
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    want, got = f(*copies), njit(f, parallel=parallel)(*args)
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
    for a, c in zip(args, copies, strict=True):
        np.testing.assert_array_equal(a, c)


def nested(n: int, inner: object) -> object:
    for _ in range(n):
        inner = (inner,)
    return inner


# --- what users meet ---


def tuple_made(n: int) -> None:
    same(made(f"def f(x):\n    t = (x,) * {n}\n    return len(t), t[-1]"), 3)


def mixed_items(n: int) -> None:
    same(
        made(
            f"def f(a):\n    s = 0.0\n    for x in ({'1, ' * (n - 1)}a):\n        s = s * 2 + np.sum(x)\n    return s",
            np=np,
        ),
        np.ones(3),
    )


def loop_written_out(n: int) -> None:
    """A statement of the body is four instructions, once as it is and once for each of 16 items; past the limit, some more."""
    lines = (n - 1000) // 68 + 40 * (n > value("front/unroll.c", "MAX_WRITTEN_OUT"))
    body = "        s += x\n" * lines
    same(
        made(f"def f(a):\n    s = 0.0\n    for x, y in ({'(1.0, 2), ' * 15}(2.0, a)):\n{body}    return s"),
        np.ones(3),
    )


def tuple_passed(n: int) -> None:
    same(made("def f(t):\n    return len(t), t[-1]"), (1,) * n)


def axes(n: int) -> None:
    same(made("def f(a):\n    return a.ndim, a.size"), np.ones((1,) * n))


def lists_in_lists(n: int) -> None:
    same(made(f"def f(x):\n    l = {'[' * n}x{']' * n}\n    l.append(l[0])\n    return l"), 1)


def operands(n: int) -> None:
    names = ", ".join(f"x{k}" for k in range(n - 1))
    f = made(f"def f({names}):\n    return {names.replace(',', ' +')}")
    values = [np.arange(3.0) + k for k in range(n - 1)]
    np.testing.assert_array_equal(vectorize(f)(*values), f(*values))


def field_axes(n: int) -> None:
    a = np.zeros(2, [("x", np.float64, (1,) * n)])
    same(made("def f(a):\n    return a.size"), a)


def records_in_records(n: int) -> None:
    d = np.dtype([("x", np.float64)])
    for _ in range(n - 1):
        d = np.dtype([("x", d)])
    same(made("def f(a):\n    return a.size"), np.zeros(2, d))


def record_bytes(n: int) -> None:
    d = np.dtype({"names": ["x"], "formats": [np.int8], "itemsize": n})
    same(made("def f(a):\n    return a.size"), np.zeros(0, d))


def frozen_tuple(n: int) -> None:
    same(made(f"def f():\n    return G{'[0]' * n}", G=nested(n, 7)))


def frozen_list(n: int) -> None:
    same(made(f"def f():\n    return G[{n - 1}], G[-1]", G=list(range(n))))


def raised_values(n: int) -> None:
    f = made(f"def f():\n    raise ValueError({', '.join('1' * n)})")
    with pytest.raises(ValueError) as e:
        njit(f)()
    assert e.value.args == (1,) * n


def raised_text(n: int) -> None:
    pieces = "".join("{x}" if k % 2 else "{{" for k in range(n))  # a brace is a value of its own there
    f = made(f"def f(x):\n    raise ValueError(f'{pieces}')")
    with pytest.raises(ValueError) as e:
        njit(f)(3)
    assert e.value.args == (pieces.replace("{x}", "3").replace("{{", "{"),)


def text_made(n: int) -> None:
    same(made("def f():\n    return len(G + 'y')", G="x" * (n - 1)))


def shared_bytes(n: int) -> None:
    kernel = made(
        f"def f(out):\n    a = cuda.shared.array({n}, np.uint8)\n    a[{n - 1}] = 7\n    out[0] = a[{n - 1}]",
        cuda=cuda,
        np=np,
    )
    out = np.zeros(1)
    cuda.jit(kernel)[1, 1](out)
    assert out[0] == 7


def local_bytes(n: int) -> None:
    kernel = made(
        f"def f(out):\n    a = cuda.local.array({n}, np.uint8)\n    a[{n - 1}] = 7\n    out[0] = a[{n - 1}]",
        cuda=cuda,
        np=np,
    )
    out = np.zeros(1)
    cuda.jit(kernel)[1, 1](out)
    assert out[0] == 7


def signature_depth(n: int) -> None:
    assert (
        treadle.typeof(nested(n, 1))
        == njit(f"({'(' * n}int64{',)' * n},)")(made("def f(x):\n    return x")).signatures[0][0]
    )


def long_integer(n: int) -> None:
    same(made(f"def f():\n    return G >> {64 * n - 8}", G=(1 << 64 * n) - 1))


def chain_of_calls(n: int) -> None:
    f = made("def f(x):\n    return x + 1.5")
    for _ in range(n - 1):
        f = made("def f(x):\n    return g(x)", g=njit(f))
    assert njit(f)(2.0) == 3.5


def errors_told(n: int) -> None:
    lines = "".join(f"    x + 'a{k}'\n" for k in range(n))
    with pytest.raises(treadle.TypingError) as e:
        njit(made(f"def f(x):\n{lines}"))(1)
    assert str(e.value).count("unsupported operand") == min(n, 8) and ("and 1 more" in str(e.value)) == (
        n > 8
    )


def frozen_bytes(n: int) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        pytest.MonkeyPatch.context() as m,
        warnings.catch_warnings(),
    ):
        m.setenv("TREADLE_CACHE_DIR", folder)
        warnings.simplefilter("error")
        f = made("def f(i):\n    return G[i]", G=np.full(n, 3, np.uint8))
        assert njit(cache=True)(f)(n - 1) == 3 and list(Path(folder).iterdir())


def columns(n: int) -> None:
    items = ", ".join(f"x + {k}" for k in range(n))
    loop = f"    for t in [({items}) for x in a]:\n        s += t[0] * t[{n - 1}]\n"
    same(made(f"def f(a):\n    s = 0.0\n{loop}    return s"), np.arange(4.0))


def extreme_ways(n: int) -> None:
    largest(n - 2)


def in_place(n: int) -> None:
    steps = "".join(f"        s = s + b[i] * {k}\n" for k in range(n - 1))
    text = f"def f(a, b):\n    s = a * 1\n    for i in prange(8):\n{steps}    return s"
    same(made(text, prange=treadle.prange), np.arange(20), np.arange(160).reshape(8, 20), parallel=True)


# --- what costs speed ---


def power(n: int) -> None:
    f, x = made(f"def f(x):\n    return x ** {n}"), 1.37
    assert njit(f)(x) == pytest.approx(f(x), rel=1e-15)


def reductions(n: int) -> None:
    sums = ", ".join(f"(a * {k + 1}).sum()" for k in range(n))
    same(made(f"def f(a):\n    return {sums}"), np.arange(100))


def arrays_in_one(n: int) -> None:
    names = [
        f"x{k}" for k in range((n + 1) // 2 + 1)
    ]  # what two patterns of a sum have: theirs, and what is between
    same(
        made(f"def f({', '.join(names)}):\n    return {' + '.join(names)}"),
        *(np.arange(9) + k for k in range(len(names))),
    )


def behind_a_scan(n: int) -> None:
    e = "b"
    for k in range(n - 2):
        e = f"({e} {'*' if k % 2 else '+'} 3)"
    same(made(f"def f(a, b):\n    s = np.cumsum(a)\n    return {e} + s", np=np), np.arange(50), np.arange(50))


def patterns_between(n: int) -> None:
    between = "".join(f"    u{k} = b * {k + 2}\n    v += u{k}[{k % 3}]\n" for k in range(n))
    same(made(f"def f(a, b, v):\n    t = a * 2\n{between}    return t + v"), np.arange(50), np.arange(4), 1)


def rows_chained(n: int) -> None:
    steps = "    m = m - m.max(axis=1)[:, None]\n" * (n - 1)
    same(made(f"def f(m):\n{steps}    return m"), np.arange(4096 * 33).reshape(4096, 33) % 7)


def products_chained(n: int) -> None:
    steps = "    m = m @ w\n    m = m - m.max(axis=1)[:, None]\n" * n
    same(
        made(f"def f(m, w):\n{steps}    return m"),
        np.arange(4096.0 * 33).reshape(4096, 33) % 7,
        np.eye(33)[::-1],
    )


def targets_scattered(n: int) -> None:
    made_of = "\n    ".join(f"s{k} = np.zeros((3, 2))\n    np.add.at(s{k}, lab, x * {k}.5)" for k in range(n))
    sums = ", ".join(f"s{k}" for k in range(n))
    text = f"def f(x, c):\n    lab = ((x[:, None] - c[None]) ** 2).sum(axis=2).argmin(axis=1)\n    {made_of}\n    return np.stack(({sums},))"
    x = np.arange(60_000.0).reshape(-1, 2) % 7
    same(made(text, np=np), x, x[:3].copy())


def terms(n: int) -> None:
    text = f"def f(a, b):\n    return topk(a.reshape(-1, {n}) @ b.reshape({n}, -1), 2, axis=1)[0]"
    same(made(text, topk=treadle.parallel.topk), np.arange(6.0 * n) % 7, np.arange(5.0 * n) % 11)


def largest(tests: int) -> None:
    """Where the largest is, among items that one of so many tests takes."""
    taken = "".join(
        f"            {'el' if k else ''}if a[i] % {tests} == {k}:\n                s = a[i]\n                p = i\n"
        for k in range(tests)
    )
    text = f"def f(a):\n    s = a[0]\n    p = 0\n    for i in prange(a.size):\n        if a[i] > s:\n{taken}    return s, p"
    same(made(text, prange=treadle.prange), np.arange(100) * 37 % 101, parallel=True)


def ways(n: int) -> None:
    largest(n - 1)


def accesses(n: int) -> None:
    # and one that is written; from the limit on the search gives up
    terms = " + ".join(f"b[i + {k}]" for k in range(n - 2))
    text = f"def f(a, b):\n    for i in prange(a.size):\n        a[i] = {terms}\n    return a.sum()"
    with pytest.MonkeyPatch.context() as m:  # what is asked comes before LLVM, which takes long for so many
        m.setattr(treadle.config, "OPT_LEVEL", 0)
        same(made(text, prange=treadle.prange), np.arange(30), np.arange(30 + n), parallel=True)


def rounds(n: int) -> None:
    text = f"def f(a):\n    s = 0\n    for i in range(a.size - {n}):\n        for k in range({n}):\n            s += a[i + k] * k\n    return s"
    same(made(text), np.arange(200))


def views(n: int) -> None:
    text = f"def f(a, b):\n    for i in prange(b.size):\n        b[i] = a{'[1:]' * n}[i]\n    return b.sum()"
    same(made(text, prange=treadle.prange), np.arange(n + 5), np.zeros(4, np.int64), parallel=True)


def sums_on_a_device(n):
    x = tp.array(cuda.to_device(np.arange(100.0)))
    sums = tp.evaluate(*((x * k).sum() for k in range(n)))
    assert [float(s) for s in sums] == [4950.0 * k for k in range(n)]


LIMITS = [
    Limit("opt/offload.c", "MAX_REDS", sums_on_a_device),
    Limit("lib/kind_tuple.c", "MAX_ITEMS", tuple_made, "a tuple of more than 1024 items"),
    Limit("infer/unroll.c", "MAX_UNROLLED", mixed_items, "have no common type"),
    Limit("front/unroll.c", "MAX_WRITTEN_OUT", loop_written_out, "have no common type"),
    Limit("ty/ty.h", "TR_MAX_ITEMS", tuple_passed, "a tuple of more than 4096 items in all"),
    Limit("ty/ty.h", "TR_MAX_LISTS", lists_in_lists, "lists lie in lists, more than 8 deep"),
    Limit("ty/ty.h", "TR_MAX_NDIM", axes, "33 axes|maximum supported dimension"),
    Limit("ty/ty.h", "TR_MAX_OPERANDS", operands, "at most 32 inputs and outputs, not 33"),
    Limit("ty/ty.h", "TR_MAX_FIELD_AXES", field_axes, "a field of more than 8 axes"),
    Limit("ext/record.c", "MAX_DEPTH", records_in_records, "too large"),
    Limit("ext/record.c", "MAX_BYTES", record_bytes, "too large"),
    Limit("ext/freeze_values.c", "MAX_TUPLE_DEPTH", frozen_tuple, "a tuple that stands in 32 others"),
    Limit("ext/freeze_own.h", "MAX_WRITTEN", frozen_list),
    Limit("ext/freeze_hash.c", "MAX_ARRAY_BYTES", frozen_bytes, "is not cached"),
    Limit("ext/pyerr.c", "MAX_ERRORS", errors_told),
    Limit("infer/step.c", "MAX_ARGS", raised_values, "more than 256 values in an exception"),
    Limit("infer/step.c", "MAX_HOLES", raised_text, "more than ten values in an exception"),
    Limit("infer/priv.h", "MAX_DEPTH", chain_of_calls, "a chain of more than 256 functions"),
    Limit("lib/text.c", "MAX_TEXT", text_made, "a text of more than 65536 bytes"),
    Limit("lib/families.h", "TR_MAX_SHARED", shared_bytes, "48 KiB of static shared memory"),
    Limit("lib/families.h", "TR_MAX_LOCAL", local_bytes, "512 KiB of local memory"),
    Limit("ty/sig.c", "MAX_DEPTH", signature_depth, "too deeply nested"),
    Limit("ty/bigint.c", "MAX_LIMBS", long_integer, "more than 65,536 bits"),
    Limit("lib/kind_genexpr.c", "MAX_COLUMNS", columns),
    Limit("lib/operators.c", "MAX_POWER", power),
    Limit("ir/ir.h", "TR_MAX_REDS", reductions),
    Limit("opt/pattern/fuse.c", "MAX_ARRAYS", arrays_in_one),
    Limit("opt/pattern/fuse.c", "MAX_CHAINED", behind_a_scan),
    Limit("opt/pattern/fuse.c", "MAX_BACK", patterns_between),
    Limit("opt/pattern/byrow.h", "TR_MAX_CHAIN", rows_chained),
    Limit("opt/pattern/byrow.h", "TR_MAX_CHAIN_PRODUCTS", products_chained),
    Limit("opt/pattern/byrow.h", "TR_MAX_CHAIN_TARGETS", targets_scattered),
    Limit("opt/pattern/product.c", "MAX_TERMS", terms),
    Limit(
        "opt/prange/inplace.c",
        "MAX_CHAIN",
        in_place,
        "handed from one iteration of a prange loop to the next",
    ),
    Limit("opt/prange/depend.c", "MAX_ACCESSES", accesses),
    Limit("opt/prange/reduction.c", "MAX_WAYS", ways),
    Limit(
        "opt/prange/extreme.c",
        "MAX_WAYS",
        extreme_ways,
        "handed from one iteration of a prange loop to the next",
    ),
    Limit("lower/few.c", "MAX_ROUNDS", rounds),
    Limit("opt/prange/coords.c", "MAX_VIEWS", views),
]

# Why no test here reaches them, and past what.
NOT_REACHED: list[tuple[str, dict[str, str]]] = [
    (
        "a buffer that what is put there cannot fill: an assertion or a static one says so",
        {
            "base/meet.c": "MAX_TERMS",
            "exec/walk.c": "MAX_ITEM",
            "lib/attrs.c": "MAX_PARAMS",
            "lib/fancy.c": "MAX_PARTS",
            "lib/npreduce.c": "MAX_RED MAX_IN MAX_CAP",
            "lower/math.c": "MAX_ARGS",
            "opt/scalar/bounds.c": "MAX_OWN MAX_TRUSTED",
            "opt/pattern/byrow.h": "TR_MAX_CHAIN_ARRAYS",
        },
    ),
    (
        "hundreds of megabytes, millions of items, or thousands of functions away",
        {
            "base/arena.c": "MAX_CHUNK",
            "code/cache.c": "MAX_FILE",
            "code/elf_x86_64.c": "MAX_IMAGE",
            "code/meta.h": "TR_MAX_LINE",
            "exec/loop.c": "MAX_VARIANTS",
            "infer/priv.h": "MAX_INSTANCES",
            "lower/few.c": "MAX_APART",
            "opt/prange/accumulate.c": "MAX_ITEMS",
            "opt/scalar/prove.h": "TR_MAX_DIM",
        },
    ),
    (
        "a text or a type's name is cut, or no more is told: there is nothing to get wrong but the words",
        {
            "driver/report.c": "MAX_LINES",
            "ext/freeze_values.c": "MAX_REPR",
            "ext/pyerr.c": "MAX_LINES",
            "infer/infer.c": "MAX_INSTANCE_TEXT MAX_CALLERS",
            "rt/watch.c": "MAX_REPORTS",
            "ty/print.c": "MAX_USER_TEXT",
        },
    ),
    (
        "of programs that are text (treadlec, tests/ir, the interpreter that tells what IR means), which users do not write",
        {
            "ir/interp.c": "MAX_DEPTH MAX_BYTES",
            "ir/interp_run.h": "MAX_PARTS",
            "ir/ir.h": "TR_MAX_CHUNK TR_MAX_STRIP TR_MAX_UNROLL TR_MAX_STOP TR_MAX_COST",
            "ir/parse_ops.c": "MAX_LAMBDAS",
            "ir/print.c": "MAX_CHAIN",
            "main/calls.c": "MAX_SLOTS MAX_STEPS MAX_LAUNCH MAX_DYNAMIC",
            "main/treadlec.c": "MAX_CALLS",
            "ty/parse.c": "MAX_DEPTH",
        },
    ),
    (
        "how large or how many instructions pay a copy, rounds that are written out, or vectors: a measure of cost, where both ways are tests' elsewhere",
        {
            "lower/check.c": "MAX_ASIDE",
            "lower/few.c": "MAX_WHOLE",
            "lower/loops.c": "MAX_SIZE MAX_SUM MAX_SCAN MAX_BYTES MAX_SHORT MAX_SEEN",
            "opt/prange/accumulate.c": "MAX_CHUNKS MAX_OLDS",
            "opt/pattern/agree.c": "MAX_GROWTH",
            "opt/scalar/behind.c": "MAX_BEHIND MAX_PLACES",
            "opt/scalar/bounds.h": "MAX_LOOP MAX_GROWTH",
            "opt/pattern/demand.c": "MAX_VIEWS MAX_ROUNDS",
            "opt/scalar/flatten.c": "MAX_SIDE MAX_VALUES",
            "opt/pattern/fuse.c": "MAX_SIZE",
            "opt/scalar/inline.c": "MAX_CALLER",
            "opt/late.c": "MAX_RESULTS",
            "opt/scalar/odometer.c": "MAX_LOOP MAX_SIZES",
            "opt/prange/ploop.h": "TR_MAX_EXTREME TR_MAX_EXTREMES",
            "opt/scalar/rotate.c": "MAX_HEAD",
            "opt/pattern/schedule.c": "MAX_SELDOM",
            "opt/split.c": "MAX_RESULTS",
        },
    ),
    (
        "how far a search goes: what it does not find keeps its check, its copy or its loop, as what it never looks for",
        {
            "base/meet.c": "MAX_STEPS",
            "front/share.c": "MAX_KIN",
            "ir/simplify.c": "MAX_ROUND",
            "lib/pyreduce.c": "MAX_TYPES",
            "opt/pattern/agree.c": "MAX_TESTS MAX_DEPTH MAX_APART",
            "opt/pattern/batch.c": "MAX_PATH MAX_CONDS MAX_NEST",
            "opt/scalar/behind.c": "MAX_DEPTH",
            "opt/scalar/bounds.c": "MAX_TRIES MAX_GOALS",
            "opt/scalar/bounds.h": "MAX_CONDS MAX_NEEDS",
            "opt/pattern/byrow.h": "TR_MAX_CHAIN_OPERANDS",
            "opt/scalar/carry.c": "MAX_KEPT",
            "opt/scalar/counters.c": "MAX_GUESSES",
            "opt/prange/depend.c": "MAX_CHOICES MAX_SPANS",
            "opt/pattern/fuse.c": "MAX_ROUNDS",
            "opt/pattern/fuse_order.c": "MAX_BEHIND",
            "opt/prange/inspect.c": "MAX_VIEWS MAX_AXES MAX_DEPTH MAX_TOUCHES MAX_REDS",
            "opt/scalar/raises.c": "MAX_BEFORE",
            "opt/scalar/narrow.c": "MAX_SHIFT",
            "opt/prange/lists.c": "MAX_LISTS",
            "opt/prange/ploop.h": "TR_MAX_PLIKE",
            "opt/prange/prange.c": "MAX_TESTS",
            "opt/prange/switched.c": "MAX_CONDITIONS MAX_CHECKS",
            "opt/pattern/product.c": "MAX_MAPS",
            "opt/prange/spans.c": "MAX_DEPTH MAX_CLAMPS",
            "opt/pattern/twins.c": "MAX_BACK MAX_DEPTH MAX_PACKED",
            "opt/util.c": "MAX_DEPTH",
            "opt/scalar/version.c": "MAX_TERMS",
        },
    ),
]

# --- the sources ---

ENUM = re.compile(r"\benum\b[^;{}()]*\{([^{}]*)\}")
ROW = re.compile(r"\b(\w+)\s*=\s*([^,}]+)")
DEFINE = re.compile(r"^#define +(\w+) +(\(.+|\d.*)$", re.M)


def constants() -> dict[tuple[str, str], str]:
    """Return what each enumerator and macro of a number is: by file, as "opt/pattern/fuse.c", and name."""
    found = {}
    for path in sorted(p for p in SRC.rglob("*") if p.suffix in (".c", ".h")):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        file = str(path.relative_to(SRC))
        for body in ENUM.findall(text):
            found |= {(file, name): said.strip() for name, said in ROW.findall(body)}
        found |= {(file, name): said.strip() for name, said in DEFINE.findall(text)}
    return found


CONSTANTS = constants()


def value(file: str, name: str) -> int:
    """Return the value of a constant, which may be said by others."""
    said = CONSTANTS.get((file, name)) or next(s for (f, n), s in CONSTANTS.items() if n == name)
    return int(eval(re.sub(r"[A-Za-z_]\w*", lambda m: str(value(file, m[0])), said).replace("/", "//")))


def test_every_limit_is_reached_or_says_why_not():
    named = [(x.file, x.name) for x in LIMITS]
    named += [(f, n) for _, files in NOT_REACHED for f, names in files.items() for n in names.split()]
    assert len(set(named)) == len(named)
    assert set(named) == {(f, n) for f, n in CONSTANTS if re.match(r"(TR_)?MAX_", n)}


@pytest.mark.parametrize("limit", LIMITS, ids=lambda x: f"{x.file}:{x.name}")
def test_both_sides(limit):
    n = value(limit.file, limit.name)
    limit.reach(n)
    if not limit.error:
        limit.reach(n + 1)
        return
    with pytest.raises(Exception, match=limit.error) as e:
        limit.reach(n + 1)
    assert not isinstance(e.value, AssertionError), "the result past the limit is wrong"


@pytest.mark.parametrize("n", [1, 16, 17, 200])
def test_a_chain_of_names_has_no_limit(n):
    m = types.ModuleType("m")
    m.m, m.x = m, 5
    same(made(f"def f():\n    return m{'.m' * (n - 1)}.x", m=m))
