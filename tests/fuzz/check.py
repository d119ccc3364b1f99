"""Runs a case on an engine and compares it with the oracle, bit for bit.

As a script it is the child process of `run.py`: requests come as JSON lines on stdin, answers leave as JSON lines on
stdout. A request is ``{"seed": n}`` (generate and check; with ``"library": true`` calls of NumPy's functions alone, with ``"only": "containers"`` of containers) or ``{"source": ..., "calls": [[text, ...], ...], "options":
{...}}`` (check). With ``"graphs": true``, and for text with the option `graph`, it is a graph of lazy arrays. If the engine crashes the process, the parent sees the end of the stream and knows which request it was.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import linecache
import math
import os
import re
import resource
import struct
import sys
import warnings
from collections import Counter
from typing import Any

import gen
import gen_containers
import gen_raises
import gen_straight
import graph_check
import memory
import numpy as np
import oracle
import reach
import straight
from library import KNOWN
from rules import Array, Const, IllTyped, Tuple, Unspecified, klass
from values import ULPS, Approx, to_item

MEMORY = 6 << 30  # bytes of addresses that a child process may have


class Refused(Exception):
    """The engine would not compile the program."""


def load_engine(name: str, promotion: str, options: dict[str, Any]) -> dict[str, Any]:
    """The decorators under test, with their options, and what else a program's text may name."""
    plain = {"np": np, "math": math, "prange": range, "host": lambda fn: fn}
    if name == "treadle":
        import treadle

        signature = options.get("signature")
        rest = {
            k: v
            for k, v in options.items()
            if k not in ("signature", "grain", "way", "views", "straight", "raises", "containers")
        }

        def jit(fn: Any, **more: Any) -> Any:
            declared = [signature] if signature and fn.__name__ == "main" else []
            return treadle.njit(*declared, promotion=promotion, **rest, **more)(fn)

        return plain | {
            "jit": jit,
            "parallel": lambda fn: jit(fn, parallel=True),
            "prange": treadle.prange,
            "vectorize": treadle.vectorize,
            "guvectorize": treadle.guvectorize,
            "stencil": treadle.stencil,
        }
    if name == "numba":
        import numba

        return plain | {"jit": numba.njit(boundscheck=True)}
    if name == "python":
        return plain | {"jit": lambda fn: fn, "parallel": lambda fn: fn}
    raise ValueError(f"unknown engine {name}")


def compile_source(source: str, engine: dict[str, Any], tag: str) -> dict[str, Any]:
    """Run the program's text with the decorators of an engine."""
    filename = f"<fuzz {tag}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    space = dict(engine)
    exec(compile(source, filename, "exec"), space)
    return space


# --- comparison ---


def ulp_key(value: float, ty: str) -> int:
    """A number that orders floats as their values and counts the steps between them."""
    fmt, size = ("<f", "<i") if ty in ("float32", "complex64") else ("<d", "<q")
    bits = struct.unpack(size, struct.pack(fmt, float(value)))[0]
    return bits if bits >= 0 else -(bits & ((1 << (31 if size == "<i" else 63)) - 1))


def same_float(want: Any, got: Any, ty: str, ulps: int = 0) -> bool:
    """True if the floats have the same bits (any NaN is a NaN), or lie within `ulps` steps."""
    want, got = float(want), float(got)
    if math.isnan(want) or math.isnan(got):
        return math.isnan(want) and math.isnan(got)
    if ulps and math.isfinite(want) and math.isfinite(got):
        return abs(ulp_key(want, ty) - ulp_key(got, ty)) <= ulps
    return struct.pack("<d", want) == struct.pack("<d", got)


def same_scalar(want: Any, got: Any, ty: str) -> bool:
    """True if an engine's scalar is the oracle's."""
    kind = klass(ty)
    if isinstance(want, Approx) and want.error == memory.OPEN:
        return True
    if isinstance(want, Approx) and isinstance(want.value, tuple):
        parts = [Approx(v, want.error) for v in want.value]
        return isinstance(got, (complex, np.complexfloating)) and all(
            same_scalar(p, float(g), "float64") for p, g in zip(parts, (got.real, got.imag))
        )
    if isinstance(want, Approx) and want.error is not None:
        if not isinstance(got, (float, np.floating)):
            return False
        return same_float(want.value, got, ty) or abs(float(got) - float(want.value)) <= want.error
    if isinstance(want, Approx):
        return isinstance(got, (float, np.floating)) and same_float(want.value, got, ty, ULPS)
    if kind == "b":
        return isinstance(got, (bool, np.bool_)) and bool(got) == want
    if kind == "i":
        return isinstance(got, (int, np.integer)) and not isinstance(got, bool) and int(got) == want
    if kind == "f":
        return isinstance(got, (float, np.floating)) and same_float(want, got, ty)
    if not isinstance(got, (complex, np.complexfloating)):
        return False
    return same_float(want[0], got.real, ty) and same_float(want[1], got.imag, ty)


def same_array(want: memory.ArrayValue, got: Any) -> str:
    """Empty, or how an array differs from the oracle's."""
    data = want.data
    if not isinstance(got, np.ndarray) or got.dtype != data.dtype or got.shape != data.shape:
        return f"array {data.dtype} {data.shape}, got {getattr(got, 'dtype', type(got))} {getattr(got, 'shape', '')}"
    ty = data.dtype.name
    for index in np.ndindex(data.shape):
        a = memory.load_item(want, index)
        if not same_scalar(a, got[index].item(), ty) and not same_scalar(a, got[index], ty):
            return f"element {list(index)}: {show(a, ty)}, got {got[index]!r}"
    return ""


def show(value: Any, ty: Any) -> str:
    """The oracle's value as text."""
    if isinstance(value, Approx):
        return f"about {value.value!r}"
    if isinstance(ty, Tuple):
        return f"({', '.join(show(v, t) for v, t in zip(value, ty.items))})"
    if isinstance(ty, str):
        return repr(to_item(value, ty))
    return repr(value.data) if isinstance(value, memory.ArrayValue) else repr(value)


def same_value(want: Any, ty: Any, got: Any) -> str:
    """Empty, or how a returned value differs."""
    if isinstance(ty, Tuple):
        if not isinstance(got, tuple) or len(got) != len(ty.items):
            return f"tuple of {len(ty.items)}, got {got!r}"
        for k, (w, t, g) in enumerate(zip(want, ty.items, got)):
            text = same_value(w, t, g)
            if text:
                return f"item {k}: {text}"
        return ""
    if isinstance(ty, Array):
        return same_array(want, got)
    if isinstance(ty, Const):
        return "" if got is ty.value or got == ty.value else f"{ty.value!r}, got {got!r}"
    return "" if same_scalar(want, got, ty) else f"{ty} {show(want, ty)}, got {type(got).__name__} {got!r}"


def compare(
    result: oracle.Result, wanted_args: list, got: Any, error: BaseException | None, args: list
) -> str:
    """Empty, or the first difference between the oracle's outcome and the engine's."""
    if result.raised is not None:
        want = result.raised
        if error is None:
            return f"raises {want.name}, got value {got!r}"
        if type(error).__name__ != want.name:
            return f"raises {want.name}, got {type(error).__name__}: {error}"
        text = compare_payload(want.payload, error.args)
        if text:
            return text
    elif error is not None:
        return f"value {show(result.value, result.ty)}, got {type(error).__name__}: {error}"
    else:
        text = same_value(result.value, result.ty, got)
        if text:
            return f"returns {text}"
    for k, (want_arg, model, arg) in enumerate(zip(wanted_args, result.args, args)):
        if isinstance(arg, np.ndarray):
            text = same_array(model, arg)
            alone = not any(
                o is not arg and np.may_share_memory(o, arg) for o in args if isinstance(o, np.ndarray)
            )
            if not text and arg.base is not None and alone and arg.base.tobytes() != want_arg.base.tobytes():
                text = neighbours(want_arg, arg, model)
            if text:
                return f"argument {k}: {text}"
    return ""


def neighbours(want: np.ndarray, got: np.ndarray, model: memory.ArrayValue) -> str:
    """Check the memory around a view: set both views to zero and compare what is left."""
    a, b = want.base.copy(), got.base.copy()
    for base, view, own in ((a, want, want.base), (b, got, got.base)):
        start = view.__array_interface__["data"][0] - own.__array_interface__["data"][0]
        np.ndarray(view.shape, view.dtype, base.data, start, view.strides)[...] = 0
    return "" if a.tobytes() == b.tobytes() else "memory beside the view was written"


def compare_payload(want: tuple | None, got: tuple) -> str:
    """Empty, or how an exception's arguments differ."""
    if want is None:
        return ""
    if len(want) != len(got):
        return f"exception arguments {want}, got {got!r}"
    for (ty, value), g in zip(want, got):
        if isinstance(ty, Const) and g != value or isinstance(ty, str) and not same_scalar(value, g, ty):
            return f"exception argument {value!r}, got {g!r}"
    return ""


# --- one case ---


def check_case(case: gen.Case, results: list, engine: str) -> dict[str, Any]:
    """Run all calls of a case; a dict with ``status`` ok, diff or refused."""
    decorators = load_engine(engine, case.promotion, case.options)
    try:
        space = compile_source(case.source, decorators, str(case.seed))
    except Exception as err:  # a declared signature compiles at once
        if is_refusal(err) and is_told(err, case):
            return {"status": "ok"}
        return {"status": "refused", "why": f"{type(err).__name__}: {err}"[:600], "call": 0}
    if case.options.get("cache"):  # the first run fills the cache, the second is loaded from it
        out = run_calls(case, results, space)
        if out["status"] != "ok":
            return out
        space = compile_source(case.source, decorators, str(case.seed))
    if engine == "treadle" and "way" in case.options:
        enter(case, space)
    if engine != "treadle" or "parallel" not in case.source:
        return run_calls(case, results, space)
    return run_threads(case, results, space)


def has_two_layouts(x: Any) -> bool:
    """True for an array whose items lie in C's order and in Fortran's."""
    return isinstance(x, np.ndarray) and x.ndim > 1 and x.flags.c_contiguous and x.flags.f_contiguous


def enter(case: gen.Case, space: dict[str, Any]) -> None:
    """Put the case's way in in front of main, where main is compiled. A compiled caller knows one layout of an array where Python sees that it has
    two, so a declared signature with such an array is called plainly."""
    import treadle

    two = any(has_two_layouts(a) for call in case.calls for a in call.build())
    if isinstance(space["main"], treadle.Function) and not (two and "signature" in case.options):
        way, n = str(case.options["way"]), len(case.calls[0].args)
        space["main"] = reach.reached(way, space["main"], n, case.options, case.promotion)


def run_threads(case: gen.Case, results: list, space: dict[str, Any]) -> dict[str, Any]:
    """The calls with one thread, two and three, with ranges so short that loops are split: the same bits every time.
    At last each iteration is a range of its own, and the last one is the first; what raises would end that loop too early."""
    import treadle

    treadle._core._pool_grain(int(str(case.options.get("grain", 1))))
    seen: list[list] = []
    try:
        for threads in range(1, min(3, treadle._core._pool_size()) + 1):
            treadle.set_num_threads(threads)
            kept: list[Any] = []
            out = run_calls(case, results, space, kept)
            if out["status"] != "ok":
                return out | {"why": f"{threads} threads: {out['why']}"}
            seen.append(kept)
        treadle._core._pool_grain(1, True)
        out = run_calls(case, results, space, quiet=True)
        if out["status"] != "ok":
            return out | {"why": f"the last iteration first: {out['why']}"}
    finally:
        treadle._core._pool_grain(0)
    for k, (result, _) in enumerate(results if not any(r.meets for r, _ in results) else []):
        if result.raised is None and not result.cut and any(not same_bits(s[k], seen[0][k]) for s in seen):
            return {"status": "diff", "why": "the number of threads shows in the results", "call": k}
    return {"status": "ok"}


def same_bits(a: Any, b: Any) -> bool:
    """True if two results are equal to the last bit; any NaN is a NaN."""
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same_bits, a, b))
    if not isinstance(a, (np.ndarray, np.generic, float, complex)):
        return type(a) is type(b) and a == b
    x, y = np.asarray(a), np.asarray(b)
    if x.dtype != y.dtype or not np.array_equal(x, y, equal_nan=x.dtype.kind in "fc"):
        return False
    parts = [(x.real, y.real), (x.imag, y.imag)] if x.dtype.kind == "c" else [(x, y)]
    return all(
        np.array_equal(np.signbit(p) & (p == 0), np.signbit(q) & (q == 0))
        for p, q in parts
        if p.dtype.kind == "f"
    )


def run_calls(
    case: gen.Case, results: list, space: dict[str, Any], kept: list | None = None, quiet: bool = False
) -> dict[str, Any]:
    """Call ``main`` with each argument set and compare; results and arguments after the calls go to `kept`. `quiet`: only where nothing raises."""
    for k, (call, (result, wanted)) in enumerate(zip(case.calls, results)):
        if quiet and (result.raised is not None or result.caught):
            continue
        args = call.build()
        got, error = None, None
        try:
            got = space["main"](*args)
        except Exception as err:  # the engine's own refusals are told apart by their class below
            error = err
        if error is not None and is_refusal(error):
            if is_foreseen(error, result, results) or is_told(error, case):
                if kept is not None:
                    kept.append((None, ()))
                continue
            return {"status": "refused", "why": f"{type(error).__name__}: {error}"[:600], "call": k}
        text = compare(result, wanted, got, error, args)
        if text and not (result.meets and "perhaps" in diagnostics(space["main"])):
            return {"status": "diff", "why": text, "call": k}
        if kept is not None:
            kept.append((got, tuple(args)))
    return {"status": "ok"}


def is_refusal(error: BaseException) -> bool:
    """True for an exception that compiling raised, not the program."""
    return (
        type(error).__module__.split(".")[0] in ("treadle", "numba")
        or type(error).__name__ == "LoweringError"
    )


def is_foreseen(error: BaseException, result: Any, results: list) -> bool:
    """True where compiling refused what the program raises, if nothing else raises before: a variable that is assigned on no path that can be taken."""
    unbound = any(r.raised and r.raised.name == "UnboundLocalError" for r, _ in results)
    return bool(result.raised and unbound and "is not associated with a value" in str(error))


def is_told(error: BaseException, case: gen.Case) -> bool:
    """True where a loop over a prange is refused because iterations may meet, in a program in which they may."""
    told = "views" in case.options and "depend on each other" in str(error)
    if told:
        case.seen["prange view", "refused"] += 1
    return told


def is_certain(error: BaseException, case: gen_straight.Case) -> bool:
    """True where compiling refused the program's last statement, which raises in every call."""
    last = next(s for s in ast.parse(case.source).body if getattr(s, "name", "") == "main").body[-2]
    place = re.search(r"--> <[^>]*>:(\d+):", str(error))
    lines = range(last.lineno, (last.end_lineno or last.lineno) + 1)
    return bool(place) and int(place[1]) in lines and all(o.raised for o in case.outcomes)


def diagnostics(fn: Any) -> str:
    """What a function says of its parallel loops."""
    with contextlib.redirect_stdout(io.StringIO()) as text:
        fn.parallel_diagnostics()
    return text.getvalue()


def check_straight(case: gen_straight.Case, engine: str, tag: str = "straight") -> dict[str, Any]:
    """Run a straight program as `check_case` runs others."""
    try:
        space = compile_source(case.source, load_engine(engine, "treadle", case.options), tag)
        if case.options.get("cache"):
            out = call_straight(case, space["main"])
            if out["status"] != "ok":
                return out
            space = compile_source(case.source, load_engine(engine, "treadle", case.options), tag)
        main = space["main"]
        if engine == "treadle" and "way" in case.options:
            main = reach.reached(str(case.options["way"]), main, len(case.calls[0]), case.options, "treadle")
        if engine != "treadle" or "@parallel" not in case.source:
            return call_straight(case, main)
        return thread_straight(case, main)
    except Exception as err:
        if is_refusal(err):
            return {"status": "refused", "why": f"{type(err).__name__}: {err}"[:600], "call": 0}
        raise


def thread_straight(case: gen_straight.Case, main: Any) -> dict[str, Any]:
    """The calls with one thread and three, with ranges of one round: the same bits."""
    import treadle

    seen: list[list] = []
    treadle._core._pool_grain(1)
    try:
        for threads in sorted({1, min(3, treadle._core._pool_size())}):
            treadle.set_num_threads(threads)
            seen.append([])
            out = call_straight(case, main, seen[-1])
            if out["status"] != "ok":
                return out | {"why": f"{threads} threads: {out['why']}"}
    finally:
        treadle._core._pool_grain(0)
    for k, (first, last) in enumerate(zip(seen[0], seen[-1], strict=True)):
        if text := straight.same(first, last, 0.0):
            return {"status": "diff", "why": f"the number of threads shows: {text}", "call": k}
    return {"status": "ok"}


def call_straight(case: gen_straight.Case, main: Any, kept: list | None = None) -> dict[str, Any]:
    """Call main with each set of arguments and compare; results and arguments go to `kept`."""
    for k, (texts, want) in enumerate(zip(case.calls, case.outcomes, strict=True)):
        args = gen_straight.build(texts)
        got, error = None, None
        try:
            got = main(*args)
        except Exception as err:  # the engine's own refusals are told apart by their class
            error = err
        if error is not None and is_refusal(error):
            if is_certain(error, case):
                continue
            return {"status": "refused", "why": f"{type(error).__name__}: {error}"[:600], "call": k}
        if text := straight.compare(want, got, error, args):
            return {"status": "diff", "why": text, "call": k}
        if kept is not None:
            kept.append((got, *args) if error is None else ())
    return {"status": "ok"}


def text_straight(request: dict[str, Any], engine: str) -> dict[str, Any]:
    """Check a straight program given as text."""
    if not KNOWN:  # results are NumPy 2's, with either NumPy
        return {"status": "ok"}
    case = gen_straight.Case(request["source"], request["calls"], request["options"])
    try:
        case.outcomes = [
            straight.expected(case.source, gen_straight.build(c), gen_straight.space()) for c in case.calls
        ]
    except Exception as err:  # what shrinking left is no program
        return {"status": "invalid", "why": f"{type(err).__name__}: {err}"}
    if case.options.get("boundscheck") is False and any(o.raised == "IndexError" for o in case.outcomes):
        return {"status": "invalid", "why": "out of range with boundscheck=False"}
    return check_straight(case, engine)


# Programs of which CPython itself says what comes out, by the option that names them.
BY_CPYTHON = {"raises": gen_raises, "containers": gen_containers}


def kind_of(options: dict[str, Any]) -> Any:
    """The module of `BY_CPYTHON` that made a program of these options, or None."""
    return next((module for name, module in BY_CPYTHON.items() if options.get(name)), None)


def kind_of_seed(seed: int, library: bool, promotion: str, only: str = "") -> Any:
    """The module that makes the program of a seed, or None; `only` names one that makes all."""
    if only:
        return BY_CPYTHON[only]
    return next((module for module in BY_CPYTHON.values() if module.is_of(seed, library, promotion)), None)


def check_by_cpython(case: gen_raises.Case, engine: str, tag: str = "cpython") -> dict[str, Any]:
    """Run such a program as `check_case` runs others."""
    kind, parallel = kind_of(case.options), "in prange(" in case.source
    try:
        main = compile_source(case.source, load_engine(engine, "treadle", case.options), tag)["main"]
        if engine == "treadle" and "way" in case.options:
            main = reach.reached(str(case.options["way"]), main, len(case.calls[0]), case.options, "treadle")
        for k, (texts, want) in enumerate(zip(case.calls, case.outcomes, strict=True)):
            if text := kind.differs(want, kind.outcome(main, texts), parallel):
                return {"status": "diff", "why": text, "call": k}
    except Exception as err:
        if is_refusal(err):
            return {"status": "refused", "why": f"{type(err).__name__}: {err}"[:600], "call": 0}
        raise
    return {"status": "ok"}


def text_by_cpython(request: dict[str, Any], engine: str) -> dict[str, Any]:
    """Check such a program given as text."""
    case = gen_raises.Case(request["source"], request["calls"], request["options"])
    try:
        case.outcomes = kind_of(case.options).expected(case.source, case.calls)
    except Exception as err:  # what shrinking left is no program
        return {"status": "invalid", "why": f"{type(err).__name__}: {err}"}
    return check_by_cpython(case, engine)


def check_text(request: dict[str, Any], engine: str) -> dict[str, Any]:
    """Check a program given as text (source, calls, promotion, options); ``status`` invalid if the oracle refuses it."""
    if request.get("options", {}).get("graph"):
        return graph_check.check_text(request, request.get("quick", False))
    if request.get("options", {}).get("straight"):
        return text_straight(request, engine)
    if kind_of(request.get("options", {})):
        return text_by_cpython(request, engine)
    calls = [gen.Call(c) for c in request["calls"]]
    case = gen.Case(0, request["source"], calls, request["promotion"], request.get("options", {}))
    results = []
    for call in case.calls:
        try:
            results.append(case.run_oracle(call))
        except (
            IllTyped,
            Unspecified,
            SyntaxError,
            TypeError,
            KeyError,
            AttributeError,
            IndexError,
            ValueError,
        ) as err:
            return {"status": "invalid", "why": f"{type(err).__name__}: {err}"}
    if case.options.get("boundscheck") is False and any(r.met("IndexError") for r, _ in results):
        return {"status": "invalid", "why": "out of range with boundscheck=False"}
    return check_case(case, results, engine)


def check_seed(
    seed: int, promotion: str, engine: str, library: bool = False, only: str = ""
) -> dict[str, Any]:
    """Generate the program of a seed and check it; with `library` every second is a straight one, `only` as of `kind_of_seed`."""
    if kind := kind_of_seed(seed, library, promotion, only):
        made = kind.make_case(seed)
        out = check_by_cpython(made, engine, str(seed))
        out |= {"seed": seed, "ended": Counter(o[0][0] if o[0] else "value" for o in made.outcomes)}
        if out["status"] != "ok":
            out |= {"source": made.source, "calls": made.calls, "options": made.options}
        return out
    if gen_straight.is_of(seed, library, promotion):
        plain = gen_straight.make_case(seed)
        out = check_straight(plain, engine, str(seed))
        out |= {
            "seed": seed,
            "rejects": plain.refused,
            "ended": Counter(o.raised or "value" for o in plain.outcomes),
            "seen": [[*k, n] for k, n in plain.seen.items()],
        }
        if out["status"] != "ok":
            out |= {"source": plain.source, "calls": plain.calls, "options": plain.options}
        return out
    case, results, refused = gen.make_case(seed, promotion, library)
    out = check_case(case, results, engine)
    out["seed"] = seed
    out["rejects"] = sum(refused.values())
    out["ended"] = Counter(r.raised.name if r.raised else "value" for r, _ in results)
    out["seen"] = [[*k, n] for k, n in case.seen.items()]
    if out["status"] != "ok":
        out |= {"source": case.source, "calls": [c.args for c in case.calls], "options": case.options}
    return out


def limit_memory() -> None:
    """A program that asks for more than a machine has is a MemoryError here, of a seed that is told, not the kernel's victim."""
    if "TREADLE_SANITIZED" not in os.environ:  # these take terabytes of addresses
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))


def main() -> None:
    """Serve requests until stdin ends."""
    engine, promotion = sys.argv[1], sys.argv[2]
    limit_memory()
    warnings.simplefilter("ignore")
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the program prints must not mix with the answers
    load_engine(engine, promotion, {})
    for line in sys.stdin:
        request = json.loads(line)
        if "seed" in request and request.get("graphs"):
            answer = graph_check.check_seed(
                request["seed"], request.get("quick", False), request.get("schedules", 0)
            )
        elif "seed" in request:
            more = request.get("library", False), request.get("only", "")
            answer = check_seed(request["seed"], promotion, engine, *more)
        else:
            answer = check_text({"promotion": promotion, **request}, engine)
        out.write(json.dumps(answer) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
