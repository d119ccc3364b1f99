"""Every public name, option, builtin row and op is exercised by some test.

A name counts as exercised when it stands in a test as an identifier, an attribute, a keyword, or a word of a string (parametrised tests
name functions in strings). Ops may also stand in a text of tests/ir, a golden dump, or a C test.
"""

from __future__ import annotations

import ast
import functools
import pathlib
import re

import treadle
from treadle import _core, config, decorators, errors, run, types

ROOT = pathlib.Path(__file__).parents[2]
WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def _words_of(node: ast.AST) -> list[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
            return [name, *name.split(".")]
        case ast.keyword(arg=str(name)):
            return [name]
        case ast.Constant(value=str(text)):
            return WORD.findall(text)
    return []


@functools.cache
def words_in_python() -> set[str]:
    words: set[str] = set()
    for path in [*ROOT.glob("tests/py/*.py"), *ROOT.glob("tests/fuzz/*.py")]:
        if path != pathlib.Path(__file__):
            for node in ast.walk(ast.parse(path.read_text())):
                words.update(_words_of(node))
    return words


@functools.cache
def words_in_all() -> set[str]:
    words = set(words_in_python())
    for pattern in ("tests/ir/*.ir", "tests/c/*.[ch]", "tests/py/golden/**/*"):
        for path in ROOT.glob(pattern):
            if path.is_file():
                words.update(WORD.findall(path.read_text()))
    return words


def rows(path: str, pattern: str) -> list[tuple[str, ...]]:
    text = re.sub(r"/\*.*?\*/", "", (ROOT / path).read_text(), flags=re.S)
    found = re.findall(pattern, text)
    assert found, path
    return found


def missing(names, words) -> list[str]:
    return sorted({n for n in names if n not in words})


def public(cls: type) -> list[str]:
    return [n for n in vars(cls) if not n.startswith("_")]


def test_public_names():
    names = [*treadle.__all__, *types.__all__, *errors.__all__, *config.__all__, *run.__all__]
    names += [n for cls in (_core.Function, _core.Type, _core.Signature) for n in public(cls)]
    assert not missing(names, words_in_python())


def test_all_lists_exist():
    for module in (treadle, types, errors, config, run, decorators):
        for name in module.__all__:
            assert getattr(module, name) is not None, name


def test_options():
    assert not missing([*decorators._OPTIONS, *decorators._REFUSED, *decorators._FASTMATH], words_in_python())


def test_the_flags_of_fastmath_are_the_compilers():
    table = rows("src/base/opts.h", r'X\((\w+), "(\w+)", (\d+)\)')
    assert {name: 1 << int(bit) for _, name, bit in table} | {"fast": 127} == decorators._FASTMATH


def test_environment_variables():
    read = set()
    for path in [*ROOT.glob("src/**/*.c"), *ROOT.glob("python/treadle/*.py")]:
        read.update(re.findall(r"\bTREADLE_[A-Z_]+\b", path.read_text()))
    assert not missing(read - {"TREADLE_NUM_THREADS"}, words_in_python())


def test_rows_of_builtins():
    functions = [p.rpartition(".")[2] for p in rows("src/lib/builtins.def", r'(?m)^F\(\w+,\s*"([\w.]+)"')]
    members = rows("src/lib/builtins.def", r'(?m)^[MA]\(\w+,\s*"\w+",\s*"(\w+)"')
    assert not missing([*functions, *members], words_in_python())


def test_ops():
    ops = rows("src/ir/op.def", r'(?m)^X\(\w+,\s*"(\w+)"')
    assert not missing(ops, words_in_all())


def test_exceptions_of_compiled_code():
    assert not missing(rows("src/ir/exc.def", r'(?m)^X\(\w+,\s*"(\w+)"'), words_in_python())


def test_stubs_match_the_module():
    tree = ast.parse((ROOT / "python/treadle/_core.pyi").read_text())
    stubs = {node.name: node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    real = {
        n for n in dir(_core) if not n.startswith("__") and not n.startswith(("_fork", "_selftest", "_test"))
    }
    assert {n for n in stubs} <= real
    for name in ("Function", "Type", "Signature"):
        body = stubs[name].body
        members = {n.target.id for n in body if isinstance(n, ast.AnnAssign)} | {
            n.name for n in body if isinstance(n, ast.FunctionDef)
        }
        assert set(public(getattr(_core, name))) <= members, name
