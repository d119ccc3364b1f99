"""Run programs that others wrote for Numba with Treadle in its place, and say what became of them: docs/compat.md.

    python tools/compat.py fetch FOLDER          clone the repositories of tools/compat.toml (git and a network)
    python tools/compat.py FOLDER                run every case, print a table
    python tools/compat.py FOLDER -k nbody       only cases whose repository, path or kind contains the text
    python tools/compat.py FOLDER --write        write docs/compat.md too
    python tools/compat.py FOLDER --peer PYTHON  also time the cases, beside Numba in that interpreter
    python tools/compat.py FOLDER --cuda         run the CUDA programs; with --write, their part of docs/compat.md

FOLDER holds each repository as a folder ``owner+name``. The programs are not changed. A case is a few lines of Python that load
a program's files, call its functions with data, and leave what came out in ``result``. They run twice, each time in a process of its
own under ``python -m treadle run``: compiled, and with TREADLE_DISABLE_JIT=1 as the plain Python functions they are. Both results must be
the same, bit for bit or within the case's ``rtol``. What a program imports must be installed beside Treadle; modules
in the case's ``stub`` are replaced by empty ones, so that programs that draw pictures need nothing to draw with.

A CUDA program runs as it is, once, on the emulated device: a script, the tests that a file has, or a notebook's cells one after the other but for those that
it names. It has to come to its end without an error, and to print what its ``prints`` says.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TABLE = Path(__file__).resolve().with_suffix(".toml")
PAGE = ROOT / "docs" / "compat.md"
LIMIT_S = 240


# Why programs stop, and how the error that says so is known.
CAUSES = {
    "comprehensions": "comprehensions",
    "lists": r"append\(\) of a list|typed\.List|lists as values",
    "dictionaries": r"dictionaries|typed\.Dict",
    "jitclass": r"jitclass|deferred_type",
    "the result of compile()": "'NoneType' object is not callable",
    "overload": r"numba\.extending\.overload",
    "intrinsic": r"numba\.extending\.intrinsic",
    "structured arrays": r"dtype \|V\d+|record|void|structured",
    "compiled functions of SciPy": r"class 'ndtri'|get_cython_function_address|an object of class",
    "a read past an edge, by the program": r"IndexError: index \d+ is out of bounds",
    "a number that is called, by the program": "is not callable",
    "inputs that a gufunc without outputs repeats": "output operand requires a reduction",
    "literal_unroll": "literal_unroll",
    "sets": r"calls of set\(\)",
    "a race in the program": "iterations of a prange loop depend on each other",
}


# --- in the process of one case ---


def _stub(names: list[str]) -> None:
    """Make modules that swallow whatever is done with them; ``a.b=c.d`` is one more name of a class that is here."""
    from importlib import import_module
    from unittest.mock import MagicMock

    for given in names:
        name, _, ours = given.partition("=")
        if ours:
            name, _, attribute = name.rpartition(".")
            made = sys.modules.setdefault(name, MagicMock())
            module, _, own = ours.rpartition(".")
            setattr(made, attribute, getattr(import_module(module), own))
        for part in range(name.count(".") + 1):
            sys.modules.setdefault(".".join(name.split(".")[: part + 1]), MagicMock())


def _namespace(folder: Path) -> dict[str, Any]:
    """The names a case can use."""
    import importlib
    import importlib.util
    import runpy

    import numpy as np

    def load(path: str, name: str = "") -> Any:
        """The module in a file of the repository, which may import its neighbours."""
        file = folder / path
        name = name or file.stem
        if name in sys.modules:
            return sys.modules[name]
        sys.path.insert(0, str(file.parent))
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module

    def package(name: str, path: str, *submodules: str) -> Any:
        """A module of a package without what the package's __init__ imports: the folders on the way count as bare packages."""
        from types import ModuleType

        parts = name.split(".")
        for i in range(1, len(parts)):
            bare = ModuleType(".".join(parts[:i]))
            bare.__path__ = [str(folder / path / Path(*parts[:i]))]
            sys.modules.setdefault(bare.__name__, bare)
            if i > 1:
                setattr(sys.modules[".".join(parts[: i - 1])], parts[i - 1], sys.modules[bare.__name__])
        return importlib.import_module(name)

    def installed(path: str, name: str) -> Any:
        """A package of the repository, imported as a user would import it."""
        sys.path.insert(0, str(folder / path))
        return importlib.import_module(name)

    def script(path: str, *args: str) -> dict[str, Any]:
        """Runs a file as a script; its variables."""
        sys.argv = [path, *args]
        sys.path.insert(0, str((folder / path).parent))
        return runpy.run_path(str(folder / path), run_name="__main__")

    def snippet(path: str, **names: Any) -> dict[str, Any]:
        """Runs a file that was cut out of a notebook, with the names that the notebook had; all of them."""
        exec(compile((folder / path).read_text(), path, "exec"), names)
        return names

    def own_tests(*args: str) -> bool:
        """Runs tests of the repository with pytest, compiled; their own expectations are what counts."""
        if os.environ.get("TREADLE_DISABLE_JIT") == "1":
            return True
        import pytest

        os.chdir(folder)
        sys.path.insert(0, str(folder))
        told: list[str] = []

        class Listener:
            def pytest_runtest_logreport(self, report: Any) -> None:
                told.extend([report.longreprtext] if report.failed else [])

            def pytest_collectreport(self, report: Any) -> None:
                told.extend([report.longreprtext] if report.failed else [])

        options = ["-q", "-x", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(folder)]
        status = pytest.main([*options, *args], plugins=[Listener()])
        assert status == 0, f"its tests end with status {status}\n" + "\n".join(told)
        return True

    def elementwise(function: Any, *args: Any) -> Any:
        """What a ufunc's Python function makes of each element."""
        f = getattr(function, "py_func", None) or _py_func(function)
        return np.vectorize(f)(*args)

    def seed(n: int) -> None:
        """Seeds np.random: Python's, and that of compiled code, which is apart from it."""
        import numba

        np.random.seed(n)
        numba.njit(lambda n: np.random.seed(n))(n)

    return {
        "np": np,
        "load": load,
        "seed": seed,
        "package": package,
        "installed": installed,
        "script": script,
        "snippet": snippet,
        "own_tests": own_tests,
        "elementwise": elementwise,
        "rng": np.random.default_rng(7),
        "compiled": os.environ.get("TREADLE_DISABLE_JIT") != "1",
        "folder": folder,
    }


def _py_func(ufunc: Any) -> Any:
    from treadle import ufunc_info

    return ufunc_info(ufunc).py_func


def child(argv: list[str]) -> int:
    """Runs one case; what came out goes to a file."""
    code, folder, stubs, out, times = argv
    _stub([s for s in stubs.split(",") if s])
    answer: dict[str, Any]
    try:
        seconds = []
        for _ in range(int(times)):
            names = _namespace(Path(folder))
            start = time.perf_counter()
            exec(compile(code, "<case>", "exec"), names)
            seconds.append(time.perf_counter() - start)
        answer = {"result": names["result"], "seconds": seconds}
    except Exception as e:
        import traceback

        answer = {"error": f"{type(e).__name__}: {e}", "trace": traceback.format_exc()}
    Path(out).write_bytes(pickle.dumps(answer))
    return 0


def cells(path: Path, without: set[int]) -> str:
    """The code of a notebook, without what is no Python."""
    book = json.loads(path.read_text())
    code = [c for c in book["cells"] if c["cell_type"] == "code"]
    texts = ["".join(c["source"]) for k, c in enumerate(code) if k not in without]
    texts = [t for t in texts if not t.lstrip().startswith("%%")]
    return "\n".join(re.sub(r"(?m)^(\s*)[%!].*$", r"\1pass", t) for t in texts)


def program(argv: list[str]) -> int:
    """Runs one CUDA program, as if it had been started."""
    path, without, stubs = Path(argv[0]), argv[1], argv[2]
    _stub([s for s in stubs.split(",") if s])
    sys.argv[:] = [str(path), *argv[3:]]
    sys.path.insert(0, str(path.parent))
    text = (
        cells(path, {int(k) for k in without.split(",") if k})
        if path.suffix == ".ipynb"
        else path.read_text()
    )
    main = sys.modules["__main__"]
    vars(main)["__file__"] = str(path)
    exec(compile(text, str(path), "exec"), vars(main))
    return 0


# --- in the process that asks ---


def run_case(case: dict[str, Any], folder: Path, mode: str, python: str, times: int = 1) -> dict[str, Any]:
    """mode: compiled, plain, or peer (python has Numba)."""
    env = {k: v for k, v in os.environ.items() if k not in ("TREADLE_DISABLE_JIT", "PYTHONPATH")}
    env |= {"MPLBACKEND": "Agg", **case.get("env", {})}
    if mode != "peer":
        env["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
    if mode == "plain":
        env["TREADLE_DISABLE_JIT"] = "1"
    command = [python] if mode == "peer" else [python, "-m", "treadle", "run"]
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "answer"
        command += [__file__, "--child", case["run"], str(folder / case["repo"].replace("/", "+"))]
        command += [",".join(case.get("stub", [])), str(out), str(times)]
        try:
            done = subprocess.run(
                command, env=env, cwd=scratch, capture_output=True, text=True, timeout=LIMIT_S
            )
        except subprocess.TimeoutExpired:
            return {"error": f"no answer within {LIMIT_S} s"}
        if not out.exists():
            return {"error": f"died with status {done.returncode}: {(done.stdout + done.stderr)[-2000:]}"}
        return pickle.loads(out.read_bytes())


def difference(a: Any, b: Any, rtol: float, where: str = "result") -> str:
    """Where two results differ; "" when they do not."""
    import numpy as np

    if isinstance(a, (tuple, list)) or isinstance(b, (tuple, list)):
        if not isinstance(a, (tuple, list)) or not isinstance(b, (tuple, list)) or len(a) != len(b):
            return f"{where} is a {type(a).__name__}, expected a {type(b).__name__}"
        for i, (x, y) in enumerate(zip(a, b)):
            if found := difference(x, y, rtol, f"{where}[{i}]"):
                return found
        return ""
    if isinstance(a, dict) and isinstance(b, dict):
        return difference(list(a.items()), list(b.items()), rtol, where)
    if a is None or b is None or isinstance(a, str):
        return "" if type(a) is type(b) and a == b else f"{where} is {a!r}, expected {b!r}"
    x, y = np.asarray(a), np.asarray(b)
    if x.dtype.kind == "O" or y.dtype.kind == "O":
        return "" if a == b else f"{where} is {a!r}, expected {b!r}"
    if x.shape != y.shape:
        return f"{where} has shape {x.shape}, expected {y.shape}"
    if x.dtype.names:
        return next((d for n in x.dtype.names if (d := difference(x[n], y[n], rtol, f"{where}.{n}"))), "")
    if x.size == 0 or np.array_equal(x, y, equal_nan=x.dtype.kind in "fc"):
        return ""
    finite = np.isfinite(y)
    scale = np.abs(y[finite]).max(initial=0.0)
    if x.dtype.kind in "fc" and np.allclose(x, y, rtol=rtol, atol=rtol * scale, equal_nan=True):
        return ""
    wrong = ~np.isclose(x, y, rtol=rtol, atol=0, equal_nan=True)
    first = tuple(int(i[0]) for i in np.nonzero(wrong)) if x.ndim else ()
    return f"{wrong.sum()} of {x.size} values of {where} differ, first at {first}: {x[first]!r}, expected {y[first]!r}"


def expand(case: dict[str, Any]) -> list[dict[str, Any]]:
    """A case with ``each`` is one for each of these words, which takes the place of {each}; after a colon stands why a word's case stops."""
    found = []
    for word in case.get("each", [""]):
        word, _, stops = word.partition(":")
        one = {k: v.replace("{each}", word) if isinstance(v, str) else v for k, v in case.items()}
        one |= {"row": case["path"], "word": word}
        found.append(one | ({"stops": stops} if stops else {}))
    return found


def judge(case: dict[str, Any], folder: Path, peer: str) -> dict[str, Any]:
    """Runs a case in all modes; what became of it."""
    times = 2 if peer else 1
    compiled = run_case(case, folder, "compiled", sys.executable, times)
    verdict: dict[str, Any] = {
        "case": case,
        "seconds": compiled.get("seconds"),
        "trace": compiled.get("trace", ""),
    }
    if "error" in compiled:
        cause = CAUSES.get(case.get("stops", ""))
        known = cause is not None and re.search(cause, compiled["error"]) is not None
        return verdict | {"state": "stopped", "why": compiled["error"], "known": known}
    plain = run_case(case, folder, "plain", sys.executable)
    if "error" in plain:
        return verdict | {"state": "no reference", "why": plain["error"], "trace": plain.get("trace", "")}
    found = difference(compiled["result"], plain["result"], case.get("rtol", 1e-12))
    if peer:
        verdict["peer"] = run_case(case, folder, "peer", peer, times)
    return verdict | ({"state": "wrong", "why": found} if found else {"state": "ran", "why": ""})


def judge_program(case: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Runs a CUDA program; what became of it."""
    path = folder / case["repo"].replace("/", "+") / case["path"]
    env = {**os.environ, "MPLBACKEND": "Agg", "TREADLE_CUDA": "emu", "TREADLE_CUDA_WARN": "0"}
    without = ",".join(map(str, case.get("without", [])))
    command = [sys.executable, "-m", "treadle", "run", __file__, "--program", str(path), without]
    command += [",".join(case.get("stub", []))]
    try:
        for args in [*case.get("before", []), case.get("args", [])]:  # before: what makes its data
            done = subprocess.run(
                [*command, *args], env=env, cwd=path.parent, capture_output=True, text=True, timeout=LIMIT_S
            )
    except subprocess.TimeoutExpired:
        return {
            "case": case,
            "state": "stopped",
            "why": f"no end within {LIMIT_S} s",
            "known": False,
            "trace": "",
        }
    said = done.stdout + done.stderr
    verdict = {"case": case, "trace": said[-3000:], "why": (done.stderr.strip().splitlines() or [""])[-1]}
    if done.returncode:
        return verdict | {
            "state": "stopped",
            "known": "stops" in case and re.search(case["error"], said) is not None,
        }
    wrong = "prints" in case and not re.search(case["prints"], said)
    return verdict | {
        "state": "wrong" if wrong else "ran",
        "why": f"printed {said[-300:]!r}" if wrong else "",
    }


def fetch(table: dict[str, Any], folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for repo in table["repository"]:
        where = folder / repo["name"].replace("/", "+")
        if not where.exists():
            subprocess.run(
                ["git", "clone", "-q", f"https://github.com/{repo['name']}", str(where)], check=True
            )
        subprocess.run(["git", "-C", str(where), "checkout", "-q", repo["commit"]], check=True)
    return 0


def show(v: dict[str, Any], long: bool) -> None:
    case = v["case"]
    expected = " (expected: " + case["stops"] + ")" if v.get("known") else ""
    print(f"{v['state']:13}{case['repo']} {case['path']}: {case['what']}{expected}")
    if v["why"] and (long or not expected):
        print("    " + v["why"].replace("\n", "\n    "))
    if long and v["trace"]:
        print("    " + v["trace"].replace("\n", "\n    "))
    if "peer" in v:
        theirs = v["peer"].get("seconds")
        mine = v["seconds"]
        text = v["peer"].get("error", "").partition("\n")[0] if not theirs else ""
        if theirs:
            text = f"first {mine[0]:.3f} s (Numba {theirs[0]:.3f}), second {mine[1] * 1e3:.2f} ms (Numba {theirs[1] * 1e3:.2f})"
        print("    " + text, flush=True)


HEAD = """\
# Programs written for Numba

Programs from public repositories, unchanged, under `python -m treadle run`: what ran, and what stopped the rest. Made by
`python tools/compat.py FOLDER --write`, which repeats it (`python tools/compat.py fetch FOLDER` gets the repositories). Each function is
called with data, compiled and as plain Python; results must be equal, or within the case's tolerance where `math` functions or `fastmath` are involved. Ufuncs
are compared with their Python function element by element or with NumPy. *Its tests* means the repository's own, with everything compiled.
Modules for drawing are replaced by empty ones.
"""


LONG = 300  # characters of a cell: longer lists of programs stand below the table


def line(vs: list[dict[str, Any]], below: list[str]) -> str:
    """The cases of one row of the table; what is too long for a cell of it goes below."""
    case = vs[0]["case"]
    against = (
        "its tests"
        if "own_tests(" in case["run"]
        else "Python" + (f", to {case['rtol']:g}" if "rtol" in case else "")
    )
    ran = [v["case"]["word"] for v in vs if v["state"] == "ran"]
    stopped = [
        f"{v['case']['word']} ({v['case'].get('stops', '?')})".strip() for v in vs if v["state"] != "ran"
    ]
    if len(vs) == 1:
        end = "ran" if ran else f"stopped: {case.get('stops', '?')}"
        return f"| {case['kind']} | `{case['path']}` | {case['what']} | {against} | {end} |\n"
    end = f"{len(ran)} ran: {', '.join(ran)}" + (f"; stopped: {', '.join(stopped)}" if stopped else "")
    path = case["row"].replace("{each}", "...")
    if len(end) > LONG:
        below.append(f"\n`{path}`: {end}.\n")
        end = f"{len(ran)} ran, {len(stopped)} stopped: below"
    return f"| {case['kind']} | `{path}` | {case['what']} | {against} | {end} |\n"


def page(table: dict[str, Any], verdicts: list[dict[str, Any]]) -> str:
    """Text of docs/compat.md."""
    commits = {r["name"]: r["commit"] for r in table["repository"]}
    ran = [v for v in verdicts if v["state"] == "ran"]
    repos = {v["case"]["repo"] for v in verdicts}
    kinds = {v["case"]["kind"] for v in ran}
    out = [
        HEAD,
        f"\n{len(ran)} of {len(verdicts)} programs ran, from {len(repos)} repositories and of {len(kinds)} kinds.\n",
    ]
    stopped: dict[str, list[str]] = {}
    for v in verdicts:
        if v["state"] != "ran":
            stopped.setdefault(v["case"].get("stops", "?"), []).append(
                f"{v['case']['repo']} {Path(v['case']['path']).name}"
            )
    out.append("\n## What stops programs most often\n\n| | programs |\n|---|---|\n")
    out += [f"| {why} | {len(who)} |\n" for why, who in sorted(stopped.items(), key=lambda i: -len(i[1]))]
    out.append(
        "\nEach is refused with an error that names it, but for `compile()`, which returns nothing here, and mistakes of the programs themselves (an index out of range is an exception here). [limits.md](limits.md) and "
        "[numpy.md](numpy.md) say what is there. Programs whose `prange` loops race are refused on purpose.\n"
    )
    for repo in sorted(repos):
        out.append(
            f"\n## {repo}\n\nCommit `{commits[repo][:12]}`.\n\n| kind | file | what | against | |\n|---|---|---|---|---|\n"
        )
        rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for v in verdicts:
            if v["case"]["repo"] == repo:
                rows.setdefault((v["case"]["row"], v["case"]["what"]), []).append(v)
        below: list[str] = []
        out += [line(vs, below) for vs in rows.values()]
        out += below
    return "".join(out)


CUDA = "\n# CUDA programs\n"


def cuda_page(table: dict[str, Any], verdicts: list[dict[str, Any]]) -> str:
    """The part of docs/compat.md on CUDA programs."""
    commits = {r["name"]: r["commit"] for r in table["repository"]}
    ran = sum(v["state"] == "ran" for v in verdicts)
    repos = sorted({v["case"]["repo"] for v in verdicts})
    out = [
        CUDA,
        f"""
Programs with kernels, unchanged, under `python -m treadle run` on the emulated device (`python tools/compat.py FOLDER --cuda --write`): {ran} of {len(verdicts)} ran, from {len(repos)} repositories.
Each has to come to its end, its assertions and tests included; of notebooks the cells of code, without commands of IPython. Modules for drawing are replaced by empty ones.
""",
    ]
    for repo in repos:
        out.append(
            f"\n## {repo}: CUDA\n\nCommit `{commits[repo][:12]}`.\n\n| kind | file | what | |\n|---|---|---|---|\n"
        )
        for v in verdicts:
            case = v["case"]
            if case["repo"] == repo:
                end = "ran" if v["state"] == "ran" else f"stopped: {case.get('stops', '?')}"
                out.append(f"| {case['kind']} | `{case['path']}` | {case['what']} | {end} |\n")
    return "".join(out)


def main(argv: list[str]) -> int:
    if argv and argv[0] == "--child":
        return child(argv[1:])
    if argv and argv[0] == "--program":
        return program(argv[1:])
    table = tomllib.loads(TABLE.read_text())
    if argv and argv[0] == "fetch":
        return fetch(table, Path(argv[1]))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("-k", default="", help="only cases with this text")
    parser.add_argument("-j", type=int, default=1, help="cases at once")
    parser.add_argument("-v", action="store_true", help="whole messages")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    parser.add_argument("--cuda", action="store_true", help="the CUDA programs")
    parser.add_argument("--peer", default="", help="an interpreter that has Numba")
    args = parser.parse_args(argv)
    words = args.k.split()
    cases = [c for row in table["program" if args.cuda else "case"] for c in expand(row)]
    cases = [c for c in cases if all(w in f"{c['repo']} {c['path']} {c['kind']} {c['what']}" for w in words)]
    folder = args.folder.resolve()
    verdicts = []
    with ThreadPoolExecutor(args.j) as pool:
        run = judge_program if args.cuda else lambda c, folder: judge(c, folder, args.peer)
        for v in pool.map(lambda c: run(c, folder), cases):
            show(v, args.v)
            verdicts.append(v)
    bad = [v for v in verdicts if not (v.get("known") if "stops" in v["case"] else v["state"] == "ran")]
    if args.write:
        first, _, second = PAGE.read_text().partition(CUDA)
        if args.cuda:
            PAGE.write_text(first + cuda_page(table, verdicts))
        else:
            PAGE.write_text(page(table, verdicts) + (CUDA + second if second else ""))
    print(
        f"{len(verdicts)} cases, {sum(v['state'] == 'ran' for v in verdicts)} ran, {len(bad)} not as expected"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
