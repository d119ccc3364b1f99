"""Record what Numba computes, for promotion="numba" to be compared with: ``record_numba.py`` under a Python that has Numba.

    python3 -m venv /tmp/numba && /tmp/numba/bin/pip install numba==0.68.1 && /tmp/numba/bin/python tools/record_numba.py

Writes tests/py/golden/numba.txt from the expressions of tests/py/numba_cases.py, in about ten minutes. Treadle is not needed, and tests do not
need Numba.
"""

from __future__ import annotations

import cmath
import collections
import math
import sys
import warnings
from pathlib import Path
from typing import Any

import numba
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "py"))

import numba_cases as cases  # noqa: E402

GOLDEN = ROOT / "tests" / "py" / "golden" / "numba.txt"
GROUP = 24  # expressions in one function
ARGS = {1: "x, c", 2: "x, y, c"}


def code(ty: Any) -> str:
    """A Numba type as the golden file writes it."""
    if isinstance(ty, numba.types.BaseTuple):
        return "(" + ",".join(code(t) for t in ty) + ")"
    if isinstance(ty, numba.types.Array):
        return code(ty.dtype) + "[]"
    ty = numba.types.unliteral(ty)
    if ty == numba.types.boolean:
        return "b1"
    return np.dtype(str(ty)).str[1:]


class Recorder:
    """Compiles expressions and collects their rows."""

    def __init__(self) -> None:
        self.space: dict[str, Any] = {"np": np, "math": math, "cmath": cmath}
        exec(cases.HELPER, self.space)
        self.space["added"] = numba.njit(self.space["added"])

    def function(self, args: str, body: str) -> Any:
        exec(f"def f({args}):\n{body}\n", self.space)
        return numba.njit(self.space["f"])

    def compiled(
        self, args: str, expressions: list[str], values: list[Any]
    ) -> list[tuple[Any, list[str]] | None]:
        """For each expression a function that gives a tuple, and the types in it; None where it is refused."""
        f = self.function(args, "    return " + "".join(e + ", " for e in expressions))
        try:
            f.compile(tuple(numba.typeof(v) for v in values))
        except Exception:
            if len(expressions) == 1:
                return [None]
            half = len(expressions) // 2
            return self.compiled(args, expressions[:half], values) + self.compiled(
                args, expressions[half:], values
            )
        types = [code(t) for t in f.nopython_signatures[0].return_type]
        return [(f, k, t) for k, t in enumerate(types)]

    def one_by_one(self, args: str, expressions: list[str], values: list[list[Any]]) -> list[str]:
        """The rows of scalar expressions: result types and the results for each list of values."""
        out = []
        alone = [e for e in expressions if cases.may_raise(e)]
        rest = [e for e in expressions if not cases.may_raise(e)]
        found: dict[str, Any] = {}
        for k in range(0, len(rest), GROUP):
            part = rest[k : k + GROUP]
            found.update(zip(part, self.compiled(args, part, [*values[0], True])))
        for e in alone:
            found[e] = self.compiled(args, [e], [*values[0], True])[0]
        for e in expressions:
            if found[e] is None:
                out.append("-")
                continue
            f, k, ty = found[e]
            out.append(" ".join([ty, *(self.result(f, k, ty, e, v) for v in values)]))
        return out

    def result(self, f: Any, k: int, ty: str, expression: str, values: list[Any]) -> str:
        if cases.undefined(expression, tuple(values)):
            return "?"
        try:
            return cases.text_of(f(*values, True)[k], ty)
        except Exception as e:
            return "!" + type(e).__name__


def scalars(r: Recorder, out: dict[str, str]) -> None:
    groups: dict[tuple[str, ...], list[tuple[str, str]]] = collections.defaultdict(list)
    for key, operands, e in cases.rows():
        groups[tuple(operands)].append((key, e))
    for operands, items in groups.items():
        print(*operands, file=sys.stderr)
        values = [list(v) for v in zip(*(f(t) for f, t in zip((cases.left, cases.right), operands)))]
        rows = r.one_by_one(ARGS[len(operands)], [e for _, e in items], values)
        out.update(zip((key for key, _ in items), rows))


def literals(r: Recorder, out: dict[str, str]) -> None:
    for key, body in cases.literal_rows():
        f = r.function("", body)
        try:
            f.compile(())
        except Exception:
            out[key] = "-"
            continue
        ty = code(f.nopython_signatures[0].return_type)
        try:
            open_value = "<<" in key and not 0 <= int(eval(key.split("<<")[1].strip(" |"))) < 64
            out[key] = f"{ty} {'?' if open_value else cases.text_of(f(), ty)}"
        except Exception as e:
            out[key] = f"{ty} !{type(e).__name__}"


def arrays(r: Recorder, out: dict[str, str]) -> None:
    groups: dict[tuple[str, ...], list[tuple[str, str]]] = collections.defaultdict(list)
    for key, operands, e in cases.array_rows():
        groups[tuple(operands)].append((key, e))
    context = numba.core.registry.cpu_target.typing_context
    for operands, items in groups.items():
        print("arrays", *operands, file=sys.stderr)
        types = [numba.types.Array(numba.from_dtype(np.dtype(t)), 1, "C") for t in operands]
        args = ", ".join("ab"[: len(types)]) + ", c"
        for key, e in items:
            f = r.function(args, f"    return {e}")
            try:  # types alone: nothing is compiled
                pipeline = numba.core.typed_passes
                ir = numba.core.compiler.run_frontend(f.py_func)
                _, ret, _, _ = pipeline.type_inference_stage(
                    context,
                    numba.core.registry.cpu_target.target_context,
                    ir,
                    (*types, numba.types.boolean),
                    None,
                )
                out[key] = code(ret)
            except Exception:
                out[key] = "-"


def main() -> int:
    warnings.simplefilter("ignore")
    r, out = Recorder(), {}
    scalars(r, out)
    literals(r, out)
    arrays(r, out)
    head = f"# Numba {numba.__version__}, NumPy {np.__version__}; made by tools/record_numba.py\n"
    GOLDEN.write_text(head + cases.write(out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
