"""Which module of the package may import which: floors inside `python/treadle/`, in one table.

    python3 tools/check_imports.py [--package DIR]

A module imports modules of the floors below its own, where it is loaded: never of its own floor, so there is no circle. What is imported inside a function is in
the second table, with the reason: it is optional, or loading it where nobody asks for it costs more than it should. Imports for annotations alone (`TYPE_CHECKING`) are free.
Exit status 1 and one line per fault: an import upwards, one inside a function without a row, a module without a floor, a row that nobody needs.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator
from fnmatch import filter, fnmatch
from pathlib import Path
from typing import NamedTuple

# From the ground up; names may be patterns. `_core` is the extension module.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("_core", "_library", "cuda", "treadle"),  # packages load what is in them when it is asked for
    (
        "errors",
        "config",
        "typed",
        "types",
        "_inspect",
        "_library.arrangements",
        "_library.calculus",
        "_library.lists",
        "_library.parts",
        "_library.texts",
    ),
    ("_library.philox", "_library.primitives"),
    ("_ddt", "_standin", "decorators", "_library.*", "parallel._checks"),
    (
        "_closure",
        "_pickle",
        "parallel._functions",
        "parallel._progress",
        "stencils",
        "ufunc",
        "cuda._errors",
        "cuda._extent",
        "cuda._vector",
    ),
    # kernels: devices, what is done there in what order, arrays, what a launch does, devices as programs know them
    ("cuda._devices", "cuda._rand_state", "cuda._rand_twister"),
    ("cuda._checks", "cuda._compile", "cuda._link", "cuda._warn"),
    ("cuda._order", "cuda._inspect", "cuda._libs"),
    ("cuda._stream", "cuda.libs"),
    ("cuda._array",),
    ("cuda._interop", "cuda._context", "parallel._device"),
    ("cuda._memory", "cuda.args"),
    ("cuda._stage", "cuda.random", "cuda.cudadrv.*", "cuda.fft", "cuda.blas._calls"),
    ("cuda.blas._routines", "cuda.blas.binding"),
    ("cuda.blas",),
    ("cuda._kernel", "cuda.cudadrv"),
    ("cuda._loops",),
    ("cuda._plan", "cuda._reduce"),
    ("cuda._ufunc", "cuda._draws", "cuda._sorts", "cuda._sparse_forms"),
    ("cuda.rand", "cuda.sorting", "cuda._sparse_math"),
    ("cuda._sparse_call",),
    ("cuda.sparse",),
    ("_report",),  # what is known of functions, ufuncs and kernels
    (
        "parallel._explain",
        "parallel._at",
        "parallel._block",
        "parallel._pickle",
        "parallel._schedule",
        "parallel._dask",
        "parallel._standard",
        "parallel.random",
    ),
    ("parallel.array_api",),
    ("parallel._forms",),
    ("parallel._cut",),
    ("parallel._evaluate",),
    ("parallel", "parallel._spca"),
    # programs that were written for Numba, and commands
    ("_cu", "_cudalib", "_cudalib_blas", "_cudalib_fft", "_cudalib_rand", "_numba", "_numba_types"),
    ("_numba_link",),
    ("_numba_cuda",),
    ("_cache", "_info", "run"),
    ("__main__", "_hook.sitecustomize"),
)
# Imports inside of functions: of a module, for a reason, what.
LATE: dict[str, dict[str, str]] = {
    "treadle": {
        "`import treadle` loads names when they are first used": "importlib types",
    },
    "cuda": {
        "loads names when they are first used": "importlib",
        "of a name of kernels that is called outside of them": "errors",
    },
    "_library": {
        "a function's module is loaded when the function is met": "importlib",
        "names that compiled code has, and nobody runs in Python but tests": "numpy",
    },
    "_standin": {
        "the core reads its settings when it is first imported, and `run` sets some before": "_core",
        "of programs that ask for a name which Numba lacks, too": "importlib.resources",
    },
    "cuda._kernel": {"most kernels link nothing": "cuda._link"},
    "decorators": {
        "of who mistypes an option: 0.8 ms": "difflib",
        "of who pickles a function: 1.1 ms": "_pickle",
    },
    "stencils": {"of who makes a stencil": "_library.stencils"},
    "cuda.sparse": {"SciPy's matrices are made where somebody asks for them": "scipy.sparse"},
    "cuda._rand_state": {"of who asks for more dimensions than are carried": "scipy.stats"},
    "ufunc": {"of target='cuda' alone": "cuda._ufunc"},
    "_numba_cuda": {"of a program that asks for a linker": "_numba_link"},
    "_numba": {"of target='cuda' alone": "_numba_cuda"},
    "_cu": {
        "`import numbapro` is no import of cuda": "cuda cuda.rand",
        "of units of the host": "_core decorators",
    },
    "_cudalib": {
        "the core reads its settings when it is first imported, and `run` sets some before": "errors"
    },
    "_cache": {"commands load what they show": "_core"},
    "_info": {
        "what cannot be loaded is a line of the report": "_core config cuda._context cuda._devices numpy platform sysconfig"
    },
    "run": {
        "the core reads its settings when it is first imported, and a program's own are set before": "_core config",
        "of a program that asks for them": "_library.iterators errors typed types cuda cuda._array cuda._checks decorators stencils _cu _ddt _numba _numba_cuda _numba_types collections importlib unittest",
        "of other commands": "_cache _info traceback",
        "of other ways to name a program": "runpy zipfile",
    },
    "_hook.sitecustomize": {
        "it stands in any Python's way, and nothing of ours is loaded where it is not for us": "importlib.util importlib.machinery run sitecustomize"
    },
}


class Import(NamedTuple):
    line: int
    what: str  # of the package without its name, of others whole
    own: bool
    late: bool  # inside a function


def _targets(
    node: ast.Import | ast.ImportFrom, where: list[str], modules: set[str]
) -> Iterator[tuple[str, bool]]:
    """What a statement in the package `where` imports, and whether that is the package's own."""
    if isinstance(node, ast.Import):
        for a in node.names:
            own = a.name.split(".")[0] == "treadle"
            yield (a.name.removeprefix("treadle.") if own else a.name), own
        return
    if not node.level:
        path = (node.module or "").split(".")
        own = path[0] == "treadle"
        yield ".".join(path[1:] if own and len(path) > 1 else path), own
        return
    base = where[: len(where) - (node.level - 1)] + (node.module.split(".") if node.module else [])
    for a in node.names:
        inside = ".".join([*base, a.name])
        yield (inside if inside in modules else ".".join(base) or "treadle"), True


def imports_of(text: str, where: list[str], modules: set[str]) -> list[Import]:
    """The imports of a module, but for those that only annotations need."""
    found: list[Import] = []

    def walk(node: ast.AST, late: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                continue
            if isinstance(child, (ast.Import, ast.ImportFrom)):
                for what, own in _targets(child, where, modules):
                    if what != "__future__":
                        found.append(Import(child.lineno, what, own, late))
            walk(child, late or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)))

    walk(ast.parse(text), False)
    return sorted({*found})


def faults_of(sources: dict[str, str]) -> list[str]:
    """Return the faults of a package.

    Parameters
    ----------
    sources
        The text of each of its modules, by name without the package's; a package's own is that of its folder.
    """
    modules = {*sources, "_core"}
    floors = {name: k for k, names in enumerate(FLOORS) for name in names}
    floor = {
        m: floors.get(m, max((k for n, k in floors.items() if fnmatch(m, n)), default=-1)) for m in modules
    }
    packages = {m.rpartition(".")[0] for m in modules} | {"treadle"}

    def file_of(m: str) -> str:
        parts = [] if m == "treadle" else m.split(".")
        return "/".join(["python/treadle", *parts]) + ("/__init__.py" if m in packages else ".py")

    faults = [
        f"{file_of(m)}: has no floor in tools/check_imports.py" for m in sorted(modules) if floor[m] < 0
    ]
    faults += [f"tools/check_imports.py: {n} is not there" for n in floors if not filter(modules, n)]
    for m, text in sources.items():
        where = [] if m == "treadle" else m.split(".") if m in packages else m.split(".")[:-1]
        rows = {w: why for why, names in LATE.get(m, {}).items() for w in names.split()}
        used = set()
        for i in imports_of(text, where, modules):
            if i.late:
                used.add(i.what)
                if i.what not in rows:
                    faults.append(
                        f"{file_of(m)}:{i.line}: imports {i.what} inside a function, and tools/check_imports.py has no reason for it"
                    )
            elif i.own and i.what != "treadle" and floor.get(i.what, len(FLOORS)) >= floor[m]:
                faults.append(f"{file_of(m)}:{i.line}: imports {i.what}, which is not below it")
        faults += [
            f"tools/check_imports.py: {m} does not import {w} inside a function"
            for w in rows
            if w not in used
        ]
    faults += [f"tools/check_imports.py: there is no module {m}" for m in LATE if m not in modules]
    return faults


def check(package: Path) -> list[str]:
    """Return the faults of the package in that folder."""
    sources = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        sources[name or "treadle"] = path.read_text()
    return faults_of(sources)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--package", type=Path, default=Path(__file__).resolve().parent.parent / "python" / "treadle"
    )
    found = check(parser.parse_args().package)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
