"""Runs a graph by every way: lazily as one program on one core, on two and four threads, in a compiled function. Each root is compared with what graphs.py says, and all threads have to give the same bits.

What this process leaves out (``TREADLE_SKIP``) is left out of all of them; `child.Pair` has a process that fuses, and one that does not.
"""

from __future__ import annotations

import linecache
import random
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import gen_graph
import graphs
import numpy as np
from gen_straight import build
from rules import Unspecified
from straight import same

# The passes that make one loop of several: what a process without them runs is each node alone.
UNFUSED = "fuse,demand,byrow,recompute,twins,product"
# What the loops of an operation are told (`treadle.parallel.schedule`); most words fit some loops alone.
WORDS = "line; chunk 1; chunk 3; chunk 64; unroll 2; unroll 4; scalar; stop 1; stop 7; cost 1; cost 5000; fission 4; strip 2; chunk 5, scalar".split(
    "; "
)
SCHEDULED = "under schedules "
BLOCK = 256  # of a sum: ranges of so many rounds change no bit of it (rt/sum.c)
HEAD = """\
import numpy as np
import treadle.parallel as tp
import treadle.parallel.random as random

shift = tp.extension(np.roll)


"""


def space() -> dict[str, Any]:
    """What a program's text may name."""
    import treadle.parallel as tp
    import treadle.parallel.random as random

    return {"np": np, "tp": tp, "random": random, "shift": tp.extension(np.roll)}


def function(source: str, tag: str) -> Any:
    """A program's `main`."""
    filename = f"<graph {tag}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    names = space()
    exec(compile(source, filename, "exec"), names)
    return names["main"]


def bits(values: list[Any]) -> bytes:
    """All bits of values; any NaN is a NaN."""
    parts = []
    for v in values:
        a = np.asarray(v)
        if a.dtype.kind in "fc":
            flat = np.ascontiguousarray(a).reshape(-1).view(a.real.dtype)
            a = np.where(np.isnan(flat), np.nan, flat).astype(flat.dtype)
        parts.append(f"{a.dtype}{np.shape(v)}".encode() + np.ascontiguousarray(a).tobytes())
    return b";".join(parts)


def compared(want: graphs.Outcome, got: list[Any], way: str) -> str:
    """Empty, or how the roots differ from what they mean."""
    for k, (w, g) in enumerate(zip(want.roots, got, strict=True)):
        value = np.asarray(w.value)
        a = np.asarray(g)
        if (
            isinstance(g, (bool, int, float, complex))
            and not isinstance(g, np.generic)
            and a.dtype.kind == value.dtype.kind.replace("u", "i")
        ):
            a = a.astype(value.dtype)
            got[k] = a
        if a.dtype != value.dtype or a.shape != value.shape:
            return f"{way}: root {k} by {w.by}: {value.dtype} {value.shape}, got {a.dtype} {a.shape}"
        if text := same(value, a, w.off):
            return f"{way}: root {k} by {w.by}, off by {w.off:.3g} at most: {text}"
    return ""


def statements(source: str) -> list[str]:
    """What a program's statements assign, first names."""
    return re.findall(r"(?m)^    (t\d+)(?:, t\d+)* = ", source)


def under(source: str, words: dict[str, str]) -> str:
    """The program with statements, by the first name that each assigns, under schedules; lines are as they were."""
    for name, text in words.items():
        source = re.sub(
            rf"(?m)^    (?={name}(?:, t\d+)* = )", f"    with tp.schedule({text!r}): ", source, count=1
        )
    return source


def ways(
    main: Any, args: list[Any], source: str, options: dict[str, Any], quick: bool
) -> Iterator[tuple[str, str, Callable[[], list[Any]]]]:
    """One way after the other: its name, what gives the roots by it until the next one is asked for, and which ways have to give the same bits. Where ranges are no blocks, sums of floats are joined in another order."""
    import treadle
    import treadle.parallel as tp
    from treadle import _core
    from treadle.errors import UnsupportedError

    grain = int(options.get("grain", 1))

    def lazily(parallel: bool = True, main: Any = main) -> list[Any]:
        roots = main(*(tp.array(a) for a in args))
        try:
            tp.evaluate(*roots, parallel=parallel)
        except UnsupportedError:  # by which nothing has been done, but what the host was given
            assert "shift(" in source or not any(r.evaluated for r in roots)
            raise
        return [np.asarray(r) for r in roots]

    yield "one core", "blocks", lambda: lazily(False)
    if "words" in options:
        told = function(under(source, options["words"]), options.get("tag", "words"))
        yield f"{SCHEDULED}{options['words']}", "blocks", lambda: lazily(options["parallel"], told)
        return
    if quick:
        return
    most, kept = _core._pool_size(), treadle.get_num_threads()
    try:
        for n, rounds, backwards in ((4, BLOCK, False), (2, grain, False), (4, grain, True)):
            treadle.set_num_threads(min(n, most))
            _core._pool_grain(rounds, backwards)
            yield f"{n} threads, ranges of {rounds}", "blocks" if rounds == BLOCK else "ranges", lazily
    finally:
        _core._pool_grain(0)
        treadle.set_num_threads(kept)
    if grain == 3 and ".at[" not in source and "shift(" not in source:
        yield (
            "njit",
            "njit",
            lambda: list(treadle.njit(error_model="numpy")(main)(*args)),
        )  # numbers are Python's


def outcome(roots: Callable[[], list[Any]], tag: str) -> tuple[list[Any], str, str]:
    """What a way gives: roots, or the exception's class with the line of the graph that it names, and its text."""
    try:
        return roots(), "", ""
    except Exception as err:
        lines = [e.tb_lineno for e in entries(err) if e.tb_frame.f_code.co_filename == f"<graph {tag}>"]
        place = max(lines, default=0)
        return [], f"{type(err).__name__} at line {place}", str(err)


def entries(err: BaseException) -> Iterator[Any]:
    """The traceback's entries."""
    tb = err.__traceback__
    while tb is not None:
        yield tb
        tb = tb.tb_next


def check_case(case: gen_graph.Case, tag: str = "", quick: bool = False) -> dict[str, Any]:
    """Run a graph; ``status`` is ok, diff or refused, ``legal`` how many schedules it was run under."""
    args = build(case.calls[0])
    before = [a.tobytes() for a in args]
    main = function(case.source, tag)
    first: dict[str, bytes] = {}
    legal = 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for way, group, roots in ways(main, args, case.source, case.options | {"tag": tag}, quick):
            got, raised, text = outcome(roots, tag)
            if way.startswith(SCHEDULED):
                if raised.startswith("UnsupportedError"):
                    continue
                legal = 1
            if raised and not case.outcome.raised:
                return {"status": "refused", "why": f"{way}: {raised}: {text}"[:1500], "call": 0}
            if raised != case.outcome.raised:
                return {
                    "status": "diff",
                    "why": f"{way}: {case.outcome.raised}, got {raised or 'values'}: {text}"[:1500],
                    "call": 0,
                }
            text = "" if raised else compared(case.outcome, got, way)
            if text:
                return {"status": "diff", "why": text[:1500], "call": 0}
            if bits(got) != first.setdefault(group, bits(got)):
                return {"status": "diff", "why": f"{way}: other bits than the way before", "call": 0}
    if before != [a.tobytes() for a in args]:
        return {"status": "diff", "why": "a leaf was stored to", "call": 0}
    return {"status": "ok", "legal": legal}


def check_seed(seed: int, quick: bool, schedules: int = 0) -> dict[str, Any]:
    """Make the graph of a seed and run it; in place of all ways under so many schedules, if that is asked for."""
    case = gen_graph.make_case(seed)
    out = check_schedules(case, seed, schedules) if schedules else check_case(case, str(seed), quick)
    seen = [*case.outcome.ran, *([case.outcome.raised.split()[0]] if case.outcome.raised else [])]
    out |= {
        "seed": seed,
        "seen": [["graph", name, 1] for name in seen],
        "ended": {seen[-1] if case.outcome.raised else "value": 1},
    }
    if out["status"] != "ok":
        out |= {"source": case.source, "calls": case.calls, "options": case.options}
    return out


def check_schedules(case: gen_graph.Case, seed: int, n: int) -> dict[str, Any]:
    """Run a graph under random schedules of one to three of its statements; a finding leaves its words in the options, a crash these two numbers (`run.py`)."""
    options = {k: v for k, v in case.options.items() if k != "schedules"}
    rng, legal = random.Random(seed), 0
    out: dict[str, Any] = {"status": "ok"}
    names = statements(case.source)
    for k in range(n):
        some = rng.sample(names, min(len(names), rng.choice((1, 1, 2, 3))))
        words = {name: rng.choice(WORDS) for name in some}
        case.options = options | {"words": words, "parallel": rng.random() < 0.5}
        out = check_case(case, f"{seed}.{k}")
        if out["status"] != "ok":
            break
        legal += out["legal"]
    return out | {"legal": legal}


def check_text(request: dict[str, Any], quick: bool) -> dict[str, Any]:
    """Run a graph that is given as text; ``status`` invalid if it has no one meaning."""
    case = gen_graph.Case(request["source"], request["calls"], request["options"])
    try:
        case.outcome = graphs.expected(case.source, build(case.calls[0]), bool(case.options.get("raises")))
    except (
        Unspecified, SyntaxError, TypeError, ValueError, IndexError, NameError, AttributeError, OverflowError, KeyError, ZeroDivisionError,
        np.exceptions.ComplexWarning, RecursionError,
    ) as err:  # fmt: skip
        return {"status": "invalid", "why": f"{type(err).__name__}: {err}"}
    if "schedules" in case.options:
        return check_schedules(case, *case.options["schedules"])
    return check_case(case, "text", quick)


def script(source: str, call: list[str]) -> str:
    """A program that shows what a graph gives, by itself."""
    arrays = []
    for name, text in zip(graphs.program(source)[0], call, strict=True):
        a = build([text])[0]
        arrays.append(
            f"{name} = np.array({a.tolist()!r}, {a.dtype.name!r}).reshape({a.shape})  # {text.split(', ')[-3] if 'mk(' in text else ''}"
        )
    names = ", ".join(f"tp.array({n})" for n in graphs.program(source)[0])
    return (
        HEAD
        + source
        + "\n\n"
        + "\n".join(arrays).replace("nan", "np.nan").replace("inf", "np.inf")
        + f"\nprint(*map(np.asarray, main({names})), sep='\\n')\n"
    )
