"""What type checkers know of kernels, launches and device arrays: right programs pass, wrong ones are refused, where they are wrong."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from treadle import cuda

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).with_name("typed_programs.py")
PACKAGE = ROOT / "python" / "treadle"


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What mypy says of a file's lines: a function of its path and options."""
    pytest.importorskip("mypy", reason="mypy is there for Python 3.11 alone")
    cache = tmp_path_factory.mktemp("mypy")

    def check(path: Path, *options: str) -> list[tuple[int, str]]:
        command = [
            sys.executable,
            "-m",
            "mypy",
            "--no-error-summary",
            f"--cache-dir={cache}",
            "--follow-imports=silent",
        ]
        env = {**os.environ, "MYPYPATH": str(ROOT / "python")}
        r = subprocess.run(
            [*command, *options, path.name], cwd=path.parent, env=env, capture_output=True, text=True
        )
        assert r.returncode in (0, 1), r.stdout + r.stderr
        return [(int(n), text) for n, text in re.findall(rf"(?m)^{path.name}:(\d+): (.*)$", r.stdout)]

    return check


@pytest.mark.slow
def test_programs(said):
    lines = PROGRAMS.read_text().splitlines()
    told = said(PROGRAMS)
    refused = {n for n, text in told if text.startswith("error: ")}
    wanted = {n for n, line in enumerate(lines, 1) if line.endswith("# refused")}
    assert len(wanted) > 35
    assert refused == wanted, [lines[n - 1] for n in refused ^ wanted]
    shown = {n: m[1] for n, text in told if (m := re.match(r'note: Revealed type is "(.*)"', text))}
    types = {n: line.partition("  # is ")[2] for n, line in enumerate(lines, 1) if "  # is " in line}
    assert len(types) > 30
    assert shown == types


@pytest.mark.slow
def test_strict_programs_have_the_names(said, tmp_path):
    """Under --strict names are had from where they are meant to be had, each of them."""
    program = tmp_path / "names.py"
    names = [n for n in cuda.__all__ if n not in cuda._MODULES]
    program.write_text(f"from treadle.cuda import {', '.join(names)}\nfrom treadle.cuda import absent\n")
    errors = said(program, "--strict")
    assert [n for n, _ in errors] == [2], errors


def all_of(node: ast.ImportFrom) -> list[str]:
    """What `from ._module import *` brings."""
    tree = ast.parse((PACKAGE / "cuda" / f"{node.module}.py").read_text())
    (names,) = (
        n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "__all__"
    )
    return list(ast.literal_eval(names))


def test_names_for_checkers_are_those_that_there_are():
    """What is loaded when it is first used is imported for checkers; modules that are made when the package is loaded have stubs, of the same functions."""
    tree = ast.parse((PACKAGE / "cuda" / "__init__.py").read_text())
    (block,) = [
        node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    imported = {
        name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.level
        for name in (all_of(node) if node.names[0].name == "*" else [a.name for a in node.names])
    }
    assert {n: m for n, m in imported.items() if m} == cuda._WHERE
    made = {n for n, m in imported.items() if not m} - {*cuda._MODULES}
    assert made == {p.stem for p in (PACKAGE / "cuda").glob("[!_]*.pyi")}
    for name in made:
        stub = ast.parse((PACKAGE / "cuda" / f"{name}.pyi").read_text())
        functions = {n.name: n for n in stub.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
        module = getattr(cuda, name)
        assert {n for n in vars(module) if not n.startswith("_")} == {*functions}, name
        assert module.__doc__.rstrip(".").split(".")[0] in ast.get_docstring(stub), name
        for n, node in functions.items():
            if isinstance(node, ast.FunctionDef):
                code = getattr(module, n).__code__
                assert code.co_varnames[: code.co_argcount] == tuple(a.arg for a in node.args.args), (name, n)


def test_options_of_cuda_jit():
    """The overloads that checkers read have the options, and their defaults, that there are; so has the signature."""
    import inspect

    from treadle.cuda import _kernel

    tree = ast.parse((PACKAGE / "cuda" / "_kernel.py").read_text())
    overloads = [
        n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "jit" and n.decorator_list
    ]
    options = {**_kernel._SHARED_OPTIONS, **_kernel._OF_GPU, "link": None}
    assert len(overloads) == 4
    for node in overloads:
        given = {
            a.arg: ast.literal_eval(d)
            for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults)
            if d is not None
        }
        assert given == options
    shown = inspect.signature(cuda.jit).parameters
    assert {n: p.default for n, p in shown.items() if p.kind is p.KEYWORD_ONLY} == options
    assert [*shown][:2] == ["func_or_sig", "device"]
    with pytest.raises(TypeError, match="fastmaths"):
        cuda.jit(fastmaths=True)
