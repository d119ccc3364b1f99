"""The guard rails of the repository find what they are there to find: each is shown a planted fault."""

from __future__ import annotations

import argparse
import importlib.util
import io
import lzma
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))  # what they import of each other


def load(name: str):
    """Import one of the scripts in tools/."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


includes = load("check_includes")
headers = load("check_headers")
calls = load("check_calls")
floors = load("check_floors")
imports = load("check_imports")
measures = load("measures")
width = load("check_width")
devenv = load("devenv")
debian = load("root")
sys.modules["root"] = debian
wheel = load("wheel")
dev = load("dev")
freethreaded = load("freethreaded")


def test_functions_that_nobody_calls_are_found() -> None:
    source = {
        "src/a/a.h": "void tr_a_used(int x);\nvoid tr_a_lost(int x); /* tr_a_lost */\nvoid *tr_a_rows(void);\n"
        "static inline int tr_a_small(void) {\n}\nstatic inline int tr_a_left(void) {\n}\ntypedef void tr_a_fn(int x);\nvoid tr_a_sum_f32(void);\n",
        "src/a/a.c": "void tr_a_used(int x) {}\nvoid tr_a_lost(int x) {}\nvoid *tr_a_rows(void) {}\n#define S(T) void tr_a_sum_##T(void) {}\n",
        "src/a/a.def": "X(ROWS, tr_a_rows)\n",
        "tests/c/t.c": "int main(void) { tr_a_used(tr_a_small()); } // tr_a_lost\n",
    }
    assert calls.unused(source) == ["src/a/a.h: nobody calls tr_a_left", "src/a/a.h: nobody calls tr_a_lost"]


@pytest.mark.parametrize(
    ("path", "line", "why"),
    [
        ("ir/a.c", '#include "front/front.h"', "front is not below ir"),
        ("front/a.c", '#include "infer/infer.h"', "infer is not below front"),
        ("lib/a.c", '#include "infer/infer.h"', "infer is not below lib"),
        ("rt/a.c", '#include "ty/ty.h"', "ty is not below rt"),
        ("base/a.h", '  #  include "ty/ty.h"', "ty is not below base"),
        ("driver/a.c", '#include "lower/lower.h"', "lower is not below driver"),
        ("lower/a.c", '#include "rt/pool.h"', "rt is not below lower"),
        ("opt/a.c", "#include <llvm-c/Core.h>", "only lower and jit"),
        ("driver/a.c", "#include <Python.h>", "only ext"),
        ("driver/a.c", "#include <numpy/arrayobject.h>", "only ext"),
        ("dev/emu.c", '#include "dev/cuda.def"', "reserved"),
        ("ir/a.c", '#include "ir.h"', 'as "ir/ir.h"'),
        ("novel/a.c", "", "no row"),
    ],
)
def test_include_rule_finds_the_planted_fault(path: str, line: str, why: str) -> None:
    faults = includes.faults_of(path, f"/* head */\n{line}\n")
    assert len(faults) == 1
    assert why in faults[0]
    assert line == "" or f"src/{path}:2:" in faults[0]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("ir/a.c", '#include "base/arena.h"'),
        ("infer/a.c", '#include "lib/em.h"'),
        ("lower/a.c", '#include "rt/rt.def"'),
        ("jit/a.c", '#include "lower/lower.h"'),
        ("jit/a.c", "#include <llvm-c/Core.h>"),
        ("ext/a.c", "#include <Python.h>"),
        ("ext/a.c", '#include "base/vec.h"'),
        ("main/a.c", '#include "driver/driver.h"'),
        ("driver/a.c", '#include "jit/backend.h"'),
        ("dev/cuda_mem.c", '#include "dev/cuda.def"'),
        ("rt/a.c", "#include <math.h>"),
    ],
)
def test_include_rule_allows_what_the_layers_allow(path: str, line: str) -> None:
    assert includes.faults_of(path, line) == []


def test_include_table_is_acyclic_and_complete() -> None:
    for folder in includes.MAY_INCLUDE:
        includes.reach(folder)  # a cycle would not end
    assert {p.name for p in (ROOT / "src").iterdir() if p.is_dir()} <= set(includes.MAY_INCLUDE)
    single = {name for may in includes.MAY_INCLUDE.values() for name in may if "/" in name}
    assert [n for n in single | set(includes.RESERVED_FILES) if not (ROOT / "src" / n).exists()] == []


def test_include_rule_walks_the_tree(tmp_path: Path) -> None:
    (tmp_path / "ir").mkdir()
    (tmp_path / "ir" / "deep").mkdir()
    (tmp_path / "ir" / "deep" / "x.h").write_text('#include "opt/opt.h"\n')
    assert len(includes.check(tmp_path)) == 1


def test_headers_compile_alone_finds_the_planted_faults(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    good = "#ifndef A\n#define A\n#include <stddef.h>\nsize_t f(void);\n#endif\n"
    (base / "good.h").write_text(good)
    assert headers.check(tmp_path, "gcc", "", False) == []
    (base / "needs.h").write_text("size_t g(void);\n")
    (base / "guard.h").write_text("struct twice { int x; };\n")
    (base / "warns.h").write_text("#ifndef B\n#define B\nstatic inline char h(int x) { return x; }\n#endif\n")
    (base / "source.c").write_text("int f(int unused) { return 0; }\n")
    assert [Path(t.split(":")[0]).name for t in headers.check(tmp_path, "gcc", "", False)] == [
        "guard.h",
        "needs.h",
        "warns.h",
    ]
    assert any("source.c" in t for t in headers.check(tmp_path, "gcc", "", True))


def test_meson_lists_every_source() -> None:
    """A source that no meson.build names would be left out of the build without a word."""
    for build in sorted((ROOT / "src").glob("*/meson.build")):
        text = build.read_text()
        listed = set(re.findall(r"'([^']+\.(?:c|cpp))'", text))
        for room, parts in re.findall(r"(?m)^  '([\w.]+)': \[(.*)\],$", text):  # rooms of a folder
            listed |= {str(Path(room) / f"{p}.c") for p in re.findall(r"'(\w+)'", parts)}
        if "fs.read('passes.def')" in text:  # a row of the table names a file, in one of the rooms
            rows = re.findall(r"(?m)^X\((\w+),", (build.parent / "passes.def").read_text())
            listed |= {str(p.relative_to(build.parent)) for n in rows for p in build.parent.rglob(f"{n}.c")}
        here = {str(p.relative_to(build.parent)) for s in ("*.c", "*.cpp") for p in build.parent.rglob(s)}
        assert listed == here, build


def test_installed_package_is_whole() -> None:
    """What Meson installs by folder is what the package has: no folder grew that would carry byte code along."""
    text = (ROOT / "meson.build").read_text()
    package = ROOT / "python" / "treadle"
    folders = {str(p.parent.relative_to(package)) for p in package.rglob("*.py")} - {"."}
    assert all(f"'{f}/__pycache__'" in text for f in folders), folders


def test_probe_sees_through_the_environment(tmp_path: Path) -> None:
    found = devenv.probe(sys.executable)
    assert found is not None
    without_gil = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    assert found.version == f"{sys.version_info[0]}.{sys.version_info[1]}{without_gil}"
    assert not found.path.is_relative_to(ROOT), (
        "the interpreter behind the virtual environment, not the one in it"
    )
    assert devenv.probe(str(tmp_path / "python3")) is None
    assert devenv.probe("/bin/false") is None


def test_the_environment_finds_its_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`.venv-X/bin/python` imports what was built for it, without a variable; PYTHONPATH names another build."""
    monkeypatch.setattr(devenv, "ROOT", tmp_path)
    found = devenv.probe(sys.executable)
    subprocess.run([found.path, "-m", "venv", "--without-pip", found.venv], check=True)
    for name in ("release", "debug"):
        (tmp_path / name / "stage").mkdir(parents=True)
        (tmp_path / name / "stage" / "treadle.py").write_text(f"NAME = {name!r}\n")
    built = [devenv.Build(found, tmp_path / name) for name in ("release", "debug")]
    devenv.link_into_venv(built[0])

    def seen(**env: str) -> str:
        command = [found.python, "-c", "import treadle; print(treadle.NAME)"]
        here = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        return subprocess.run(
            command, env={**here, **env}, cwd=tmp_path, capture_output=True, text=True
        ).stdout.strip()

    assert seen() == "release" and seen(PYTHONPATH=str(built[1].stage)) == "debug"
    said = dev.own_script(built[0])
    assert str(found.python) in said and "script.py" in said


def test_what_is_missing_is_named_with_the_line_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    py = devenv.probe(sys.executable)
    monkeypatch.setattr(devenv, "LLVM_CONFIG", "llvm-config-that-is-not-there")
    monkeypatch.setattr(devenv.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(devenv.shutil, "which", lambda name: None if "llvm" in name else f"/usr/bin/{name}")
    with pytest.raises(
        devenv.Stop, match=rf"LLVM {devenv.LLVM}.*\n.*\n +apt-get install -y .*llvm-{devenv.LLVM}-dev"
    ):
        devenv.need_system(py)


def test_tally_reaches_the_ci_script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TREADLE_TALLY", str(tmp_path / "tally"))
    good, bad = dev.Tally("good"), dev.Tally("bad")
    good.add(3, 0)
    bad.add(2, 1)
    assert (good.close(), bad.close()) == (0, 1)
    assert (tmp_path / "tally").read_text() == "3 0\n2 1\n"


# --- programs of others ---

compat = load("compat")


def git(folder: Path, *args: str) -> None:
    subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True)


def test_what_a_process_dies_of_is_told_last(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Behind all that the run prints, once more in the notes, with the inner frames of stacks alone."""
    monkeypatch.setenv("TREADLE_NOTES", str(tmp_path / "notes"))
    program = tmp_path / "run.py"
    program.write_text(
        "import sys\n"
        "xml = sys.argv[1].partition('=')[2]\n"
        'open(xml, \'w\').write(\'<a><testsuite tests="3" skipped="1" failures="1" errors="0"/></a>\')\n'
        "print('a.c:1:2: runtime error: of no use', file=sys.stderr)\n"
        "print(*(f'    #{k} 0x7 in f{k}' for k in range(90)), sep='\\n', file=sys.stderr)\n"
        "print('Fatal Python error: Aborted', file=sys.stderr, flush=True)\n"
        "print('a summary')\n"
        "sys.exit(1)\n"
    )
    tally = dev.Tally("t")
    dev.count_tests([sys.executable, program], tmp_path / "t.xml", tally, dict(os.environ))
    assert (tally.passed, tally.failed) == (1, 1)
    said = capfd.readouterr().out
    assert said.index("a summary") < said.index("a.c:1:2: runtime error: of no use") < said.index("#3 0x7")
    assert "#29 0x7" in said and "#30 0x7" not in said
    notes = (tmp_path / "notes").read_text().splitlines()
    assert notes == ["a.c:1:2: runtime error: of no use", "Fatal Python error: Aborted"]


def test_a_root_gets_the_files_of_the_tree(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tree, root = tmp_path / "tree", tmp_path / "root"
    (tree / "sub").mkdir(parents=True)
    (tree / ".gitignore").write_text("build\n")
    for name in ("a.txt", "sub/b.txt", "build"):
        (tree / name).write_text(name)
    monkeypatch.setattr(debian, "ROOT", tree)
    with pytest.raises(devenv.Stop, match="no git clone"):
        debian.copy_tree(root)
    git(tree, "init", "-q")
    copy = root / debian.copy_tree(root).relative_to("/")

    def files() -> set[str]:
        return {str(p.relative_to(copy)) for p in copy.rglob("*") if p.is_file()} - {".treadle-files"}

    assert files() == {".gitignore", "a.txt", "sub/b.txt"}
    (copy / "sub/made.o").write_text("by a build in there: it stays")
    kept = (copy / "a.txt").stat().st_ino
    (tree / "sub/b.txt").unlink()
    (tree / "sub/c.txt").write_text("new")
    debian.copy_tree(root)
    assert files() == {".gitignore", "a.txt", "sub/c.txt", "sub/made.o"}
    assert (copy / "a.txt").stat().st_ino == kept


def test_a_root_is_made_from_the_machines_own_mirror(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lists = "|Packages|http://a\nDebian|Debian-Security|http://b\nDebian|Debian|http://c\n"
    monkeypatch.setattr(debian.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, lists))
    assert debian.mirror() == "http://c"
    lists = "Others|Others|http://a\n"
    monkeypatch.setattr(debian, "run", lambda *_, **__: 0)
    with pytest.raises(devenv.Stop, match="knows no mirror of Debian"):
        debian.mirror()


def test_a_folder_of_others_is_no_root(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    with pytest.raises(devenv.Stop, match="was not made by this script"):
        debian.strap(tmp_path)
    assert (tmp_path / "mine").exists()
    assert devenv.find_in_root(tmp_path, "3.15") is None


def fake_python(path: Path, version: str) -> Path:
    """A program that answers the probe as such an interpreter."""
    path.write_text(f'#!/bin/sh\necho \'["cpython", "{version}", "{path}", true, true]\'\n')
    path.chmod(0o755)
    return path


def test_a_build_without_the_gil_is_used_when_it_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It has folders of its own, and never stands for the plain Python of its version."""
    assert "Py_GIL_DISABLED" in devenv._PROBE
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    (tmp_path / "pyenv/versions/3.14.0t/bin").mkdir(parents=True)
    fake_python(tmp_path / "pyenv/versions/3.14.0t/bin/python3", "3.14t")
    assert devenv.find("3.14", roots=False) is None
    monkeypatch.setenv("PYTHON", str(fake_python(tmp_path / "python3.14t", "3.14t")))
    assert devenv.default().venv.name == ".venv-3.14t"
    monkeypatch.setenv("PYTHON", "3.14t")
    assert devenv.default().path == tmp_path / "python3.14t"
    fake_python(tmp_path / "python3.12", "3.12")
    monkeypatch.setenv("PYTHON", str(fake_python(tmp_path / "python3.13t", "3.13t")))
    assert devenv.default().version == "3.12"


def test_sources_are_the_newest_that_the_mirror_has(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its index may list what it lacks."""
    index = "".join(
        f"Package: python{v}\nBinary: a\nVersion: {v}.{patch}-1\nFormat: b\n\n"
        for v, patch in (("3.14", "9"), ("3.14", "10"), ("3.13", "20"), ("3.15", "0~rc1"))
    )
    has, asked = ["3.14.7", "3.14.4"], []

    def fetch(address: str, to: Path) -> bool:
        if address.endswith("Sources.xz"):
            to.write_bytes(lzma.compress(index.encode()))
            return True
        assert address.startswith("http://mirror/pool/main/p/python3.14/python3.14_")
        asked.append(address.split("_")[1].removesuffix(".orig.tar.xz"))
        if asked[-1] in has:
            with tarfile.open(to, "w:xz") as t:
                t.addfile(tarfile.TarInfo(f"Python-{asked[-1]}/configure"), io.BytesIO())
        return asked[-1] in has

    monkeypatch.setattr(freethreaded, "mirror", lambda: "http://mirror/")
    version, source = freethreaded.get_sources(tmp_path, fetch)
    assert version == "3.14.7" and (source / "configure").exists()
    assert asked == ["3.14.10", "3.14.9", "3.14.8", "3.14.7"]
    has.clear()
    with pytest.raises(devenv.Stop, match="has the sources of no Python 3.14"):
        freethreaded.get_sources(tmp_path, fetch)
    index = "Package: python3.13\nVersion: 3.13.2-1\n"
    with pytest.raises(devenv.Stop, match="lists no sources of a released Python 3.14"):
        freethreaded.get_sources(tmp_path, fetch)


def test_a_folder_of_others_gets_no_interpreter(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    with pytest.raises(devenv.Stop, match="was not made by this script"):
        freethreaded.make(tmp_path)
    assert (tmp_path / "mine").exists()
    (tmp_path / freethreaded.MARK).write_text("3.14.7")
    freethreaded.make(tmp_path)  # is there: nothing to do
    with pytest.raises(devenv.Stop, match="is not a whole Python 3.14t"):
        freethreaded.checked(tmp_path)


def test_which_pythons_are_tested(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With --brief only the oldest and the newest in full; those that are not there are told of at the end."""
    notes = tmp_path / "notes"
    monkeypatch.setenv("TREADLE_NOTES", str(notes))
    here = {v: devenv.Interpreter(v, Path("python"), True, True) for v in ("3.11", "3.12", "3.15")}
    ran: dict[str, list[str]] = {}
    how: list[tuple[str, bool, str | None]] = []

    def test_one(py: devenv.Interpreter, args: list[str], in_c: bool) -> int:
        ran[py.version] = args
        how.append((py.version, in_c, os.environ.get("TREADLE_OPT_LEVEL")))
        return 0

    monkeypatch.delenv("TREADLE_OPT_LEVEL", raising=False)
    monkeypatch.setattr(dev.devenv, "find", here.get)
    monkeypatch.setattr(dev, "test_one", test_one)
    a = argparse.Namespace(python=here["3.11"], others=True, brief=True, args=["-x"])
    assert dev.cmd_test_all(a) == 0
    assert ran["3.15"] == ["-x"] and list(ran) == ["3.12", "3.15"]
    assert how == [("3.12", False, "0"), ("3.15", False, "0"), ("3.15", True, None)]
    assert "tests/py/test_front.py" in ran["3.12"] and all((ROOT / p).exists() for p in ran["3.12"][:-1])
    assert [line.split()[1] for line in notes.read_text().splitlines()] == ["3.13", "3.14", "3.14t"]


def test_threads_are_tested_without_the_gil(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Many times over, until one fails, then a slice; the GIL is not turned on for it."""
    (tmp_path / "bin").mkdir()
    fake_python(tmp_path / "bin/python3.14t", "3.14t")
    monkeypatch.setenv("TREADLE_FREETHREADED", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    py = devenv.find("3.14t", roots=False)
    assert py and py.version == "3.14t" and devenv.find("3.14", roots=False) is None
    monkeypatch.setenv("PYTHON_GIL", "1")
    monkeypatch.setattr(dev.devenv, "build", lambda py: devenv.Build(py, tmp_path))
    monkeypatch.setattr(dev.devenv, "find", lambda version: py if version == "3.14t" else None)
    slices: list[list[str]] = []
    monkeypatch.setattr(
        dev,
        "test_one",
        lambda py, args, in_c: slices.append([*args, os.environ.get("PYTHON_GIL", "off")]) or 0,
    )
    runs: list[list[str]] = []

    def py_tests(b: object, tally: dev.Tally, env: dict[str, str], args: list[str]) -> None:
        assert "PYTHON_GIL" not in env and all((ROOT / p).exists() for p in args[1:])
        runs.append(args)
        tally.add(1, len(runs) == dev.THREADS_TIMES + 2)

    monkeypatch.setattr(dev, "py_tests", py_tests)
    a = argparse.Namespace(
        python=devenv.Interpreter("3.11", Path("python"), True, True), others=True, brief=True, args=[]
    )
    assert dev.cmd_test_all(a) == 0 and len(runs) == dev.THREADS_TIMES >= 30
    assert slices == [[*dev.files(dev.BRIEF), "off"]] and os.environ["PYTHON_GIL"] == "1"
    assert dev.cmd_test_all(a) == 1 and len(runs) == dev.THREADS_TIMES + 2


def test_compat_table_is_whole():
    import tomllib

    table = tomllib.loads(compat.TABLE.read_text())
    repos = {r["name"]: r["commit"] for r in table["repository"]}
    cases = [c for row in table["case"] for c in compat.expand(row)]
    assert all(re.fullmatch("[0-9a-f]{40}", commit) for commit in repos.values())
    programs = table["program"]
    assert {c["repo"] for c in [*cases, *programs]} == set(repos)
    for c in programs:
        assert c["kind"] and c["path"] and c["what"] and ("stops" in c) == ("error" in c), c
        re.compile(c.get("error", ""))
        re.compile(c.get("prints", ""))
    for c in cases:
        assert c["kind"] and c["path"] and c["what"], c
        assert c.get("stops", "lists") in compat.CAUSES, c
        compile(c["run"], c["path"], "exec")
        assert "result" in c["run"], c
    text = compat.PAGE.read_text()
    heads = [c["repo"] for c in cases] + [f"{c['repo']}: CUDA" for c in programs]
    assert all(f"## {head}\n\nCommit `{repos[head.removesuffix(': CUDA')][:12]}`" in text for head in heads)


def test_compat_puts_long_lists_below_the_table():
    def rows(words):
        case = {"kind": "k", "path": "p.py", "row": "{each}.py", "what": "w", "run": ""}
        return [{"state": "ran", "case": case | {"word": w}} for w in words]

    below = []
    assert compat.line(rows(["a", "b"]), below).endswith("| 2 ran: a, b |\n") and below == []
    long = [f"program_{i}" for i in range(40)]
    assert compat.line(rows(long), below) == "| k | `....py` | w | Python | 40 ran, 0 stopped: below |\n"
    assert below == [f"\n`....py`: 40 ran: {', '.join(long)}.\n"]


def test_compat_runs_programs_as_they_are(tmp_path):
    import json

    folder = tmp_path / "somebody+kernels"
    folder.mkdir()
    cells = [
        "%matplotlib inline\nfrom numba import cuda",
        "import drawing",
        "raise ValueError",
        "%%time\n1 / 0",
    ]
    cells.append(
        "@cuda.jit\ndef k(a):\n    a[0] = 7\nimport numpy as np\na = np.zeros(1)\nk[1, 1](a)\nprint(a)"
    )
    book = {
        "cells": [{"cell_type": "code", "source": [c]} for c in cells]
        + [{"cell_type": "markdown", "source": []}]
    }
    (folder / "k.ipynb").write_text(json.dumps(book))
    (folder / "k.py").write_text("import sys\nif __name__ == '__main__':\n    sys.exit(3)\n")
    case = {
        "repo": "somebody/kernels",
        "path": "k.ipynb",
        "stub": ["drawing"],
        "without": [2],
        "prints": r"\[7\.\]",
    }
    assert compat.judge_program(case, tmp_path)["state"] == "ran"
    assert compat.judge_program(case | {"prints": "8"}, tmp_path)["state"] == "wrong"
    stopped = compat.judge_program(case | {"without": [], "stops": "x", "error": "ValueError"}, tmp_path)
    assert (stopped["state"], stopped["known"]) == ("stopped", True)
    assert compat.judge_program({"repo": "somebody/kernels", "path": "k.py"}, tmp_path)["state"] == "stopped"


def test_compat_sees_differences():
    import numpy as np

    a = np.array([1.0, np.nan, 3.0])
    same, other = compat.difference, [a, (1, "x", None, {"k": a})]
    assert same(other, [a.copy(), (1, "x", None, {"k": a.copy()})], 0.0) == ""
    assert "1 of 3 values of result[0] differ, first at (2,)" in same(
        [a], [np.array([1.0, np.nan, 3.1])], 1e-9
    )
    assert same(a, a * (1 + 1e-12), 1e-9) == "" and "shape" in same(a, a[:2], 1.0)
    assert (
        "expected" in same(None, 0.0, 1.0)
        and "expected" in same((1,), 1, 1.0)
        and "expected" in same("x", "y", 1.0)
    )
    assert "differ" in same(np.float64(np.inf), np.float64(1.0), 1e-3)
    record = np.zeros(2, [("x", "f8")])
    assert same(record, record, 0.0) == "" and ".x" in same(record, np.ones(2, [("x", "f8")]), 0.0)


def test_measures():
    """Circles go over other files; a function is from its opening line to the brace; what repeats is six lines in two files."""
    calls = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"a"}, "f": {"f"}}
    assert measures.circles(calls) == [["a", "b", "c"]]
    assert measures.function_lengths("int f(void) {\n    return 1;\n}\nint x[] = {\n    1,\n};\n") == [3]
    same = "".join(f"    call_{k}(x);\n" for k in range(6))
    assert measures.repeats({"a": same, "b": "/* b */\n" + same, "c": same.replace("call_3", "other")}) == 1
    said = dict(measures.measures(ROOT / "src"))
    assert len(said) == 10
    assert said["lines over 110 columns, tables aside"] == "0"
    assert said["violations of layers, of floors"] == "0 0"
    assert said["files in circles inside folders, by calls"].endswith("without floors: none")


def test_wide_lines(tmp_path, capsys):
    """Of code and of comments: 110 columns are right, 111 are told of by file and line."""
    right, wide = tmp_path / "right.c", tmp_path / "wide.c"
    right.write_text("/*" + "x" * 106 + "*/\n")
    wide.write_text("int a;\n/*" + "x" * 107 + "*/\n")
    assert width.main([str(right)]) == 0
    assert width.main([str(right), str(wide)]) == 1
    assert capsys.readouterr().out == f"{wide}:2: wider than 110 columns\n"


def test_floors(monkeypatch):
    """A call upwards is found, but through a door; so are files and doors that the table has wrong."""
    monkeypatch.setattr(floors, "FLOORS", {"a": (("ground",), ("first", "beside"))})
    monkeypatch.setattr(floors, "DOORS", {"a": {"tr_a_door": "said why"}})
    sources = {
        "ground": "void tr_a_low(void) {\n}\n",
        "first": "int tr_a_high(int x) {\n    tr_a_low();\n    return tr_a_beside(x);\n}\nvoid tr_a_door(void) {\n}\n",
        "beside": "int tr_a_beside(int x) {\n    return x ? tr_a_high(0) : 1;\n}\n",
    }
    unused = ["tools/check_floors.py: nobody below needs the door tr_a_door"]
    assert floors.faults_of("a", sources) == unused
    door = {**sources, "ground": "/* tr_a_high() */\nvoid tr_a_low(void) {\n    tr_a_door();\n}\n"}
    assert floors.faults_of("a", door) == []
    upward = {**sources, "ground": "void tr_a_low(void) {\n    tr_a_high(1);\n}\n"}
    assert floors.faults_of("a", upward) == [
        "src/a/ground.c:2: calls tr_a_high, which first.c has, floors above",
        *unused,
    ]
    assert floors.faults_of("a", {**door, "more": ""}) == [
        "src/a/more.c: has no floor in tools/check_floors.py"
    ]
    monkeypatch.setattr(floors, "FLOORS", {"a": (("ground",), ("all.h",), ("first", "beside"))})
    header = {**door, "all.h": "static inline void tr_a_all(void) {\n    tr_a_high(1);\n}\n"}
    assert floors.faults_of("a", header) == [
        "src/a/all.h:2: calls tr_a_high, which first.c has, floors above"
    ]
    header |= {"all.h": "", "ground": '#include "a/all.h"\n' + door["ground"]}
    assert floors.faults_of("a", header) == ["src/a/ground.c: includes all.h, which stands floors above"]
    monkeypatch.setattr(floors, "FLOORS", {"a": (("ground",), ("first", "beside"))})
    del door["beside"]
    assert floors.faults_of("a", door) == ["tools/check_floors.py: src/a/beside.c is not there"]


def test_floors_of_the_sources():
    assert floors.check(ROOT / "src") == []


def test_imports(monkeypatch):
    """An import upwards, or beside, is found, and one inside a function without a reason; so are modules and rows that the tables have wrong."""
    monkeypatch.setattr(
        imports, "FLOORS", (("_core", "treadle"), ("low", "sub"), ("sub.*", "side"), ("high",))
    )
    monkeypatch.setattr(imports, "LATE", {"low": {"said why": "json high"}})
    sources = {
        "treadle": "",
        "low": "from typing import TYPE_CHECKING\nimport os\nfrom . import _core\nif TYPE_CHECKING:\n    from .high import x\n"
        "def f():\n    import json\n    from . import high\n",
        "sub": "from .. import low as _\n".replace("low", "_core"),
        "sub.a": "from ..low import f\nfrom . import thing\nimport numpy.linalg\n",
        "side": "from treadle.low import f\n",
        "high": "from .sub.a import f\nfrom . import side\nclass C:\n    from .low import f\n",
    }
    assert imports.faults_of(sources) == []

    def faults(**changed: str) -> list[str]:
        return imports.faults_of({**sources, **{k.replace("__", "."): v for k, v in changed.items()}})

    package = "python/treadle"
    assert faults(sub="import os\nfrom ..high import C\n") == [
        f"{package}/sub/__init__.py:2: imports high, which is not below it"
    ]
    assert faults(sub__a="import treadle.side\n") == [
        f"{package}/sub/a.py:1: imports side, which is not below it"
    ]
    assert faults(side="try:\n    from .sub import a\nexcept ImportError:\n    pass\n") == [
        f"{package}/side.py:2: imports sub.a, which is not below it"
    ]
    assert faults(side="def f():\n    class C:\n        def g(self):\n            from .low import f\n") == [
        f"{package}/side.py:4: imports low inside a function, and tools/check_imports.py has no reason for it"
    ]
    assert faults(low="def f():\n    import json\n") == [
        "tools/check_imports.py: low does not import high inside a function"
    ]
    assert faults(more="") == [f"{package}/more.py: has no floor in tools/check_imports.py"]
    del sources["high"], sources["low"]
    assert imports.faults_of({**sources, "sub.a": "", "side": ""}) == [
        "tools/check_imports.py: low is not there",
        "tools/check_imports.py: high is not there",
        "tools/check_imports.py: there is no module low",
    ]


def test_imports_of_the_package():
    assert imports.check(ROOT / "python/treadle") == []


def test_what_was_skipped_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each reason once, with how many tests it is; a test that is expected to fail was not skipped."""
    notes = tmp_path / "notes"
    monkeypatch.setenv("TREADLE_NOTES", str(notes))
    xml = tmp_path / "pytest.xml"
    skip = '<testcase name="{}"><skipped type="pytest.skip" message="{}"/></testcase>'
    cases = [skip.format(k, "no scipy" if k else "no dask") for k in range(3)]
    cases.append(
        '<testcase name="x"><skipped type="pytest.xfail" message="known"/></testcase><testcase name="y"/>'
    )

    def run_tests(*_: object, **__: object) -> int:
        xml.write_text(
            f'<testsuites><testsuite tests="5" skipped="4" failures="0" errors="0">{"".join(cases)}</testsuite></testsuites>'
        )
        return 0

    monkeypatch.setattr(dev, "run", run_tests)
    tally = dev.Tally("these")
    dev.count_tests(["pytest"], xml, tally, {})
    assert (tally.passed, tally.failed) == (1, 0)
    assert notes.read_text().splitlines() == [
        "these: 2 tests were SKIPPED: no scipy",
        "these: 1 tests were SKIPPED: no dask",
    ]


def test_a_commit_says_which_tests_are_in_full_code(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TREADLE_FULL", "TREADLE_TURN"):
        monkeypatch.delenv(name, raising=False)
    heads = iter(["0000000a11", ""])
    monkeypatch.setattr(
        dev.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, next(heads))
    )
    assert dev.levels(dev.FULL) == {"TREADLE_FULL": "14", "TREADLE_TURN": str(10 % 14)}
    monkeypatch.setenv("TREADLE_FULL", "1")
    assert dev.levels(dev.FULL) == {}  # no git: the first turn; what the user says comes first
    chosen: list[str | None] = []
    monkeypatch.setattr(dev, "test_one", lambda *_, **__: chosen.append(os.environ.get("TREADLE_FULL")) or 0)
    monkeypatch.setattr(dev, "levels", lambda how: how)
    monkeypatch.delenv("TREADLE_FULL")
    py = devenv.Interpreter("3.11", Path("python"), True, True)
    for args in (["-k", "sum"], []):
        dev.cmd_test(argparse.Namespace(python=py, args=args, no_c=True, files=None))
    assert chosen == [None, "14"]
