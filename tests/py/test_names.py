"""Every public name, option, builtin row and op is exercised by some test.

A name counts as exercised when it stands in a test as an identifier, an attribute, a keyword, or a word of a string (parametrised tests
name functions in strings). Ops may also stand in a text of tests/ir, a golden dump, or a C test.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import pathlib
import pydoc
import re
import subprocess
import sys

import pytest
import treadle
from treadle import _core, _info, _library, config, cuda, decorators, errors, run, stencils, types, ufunc
from treadle.cuda import _compile, args, cudadrv
from treadle.parallel import _explain

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import ways_features  # noqa: E402

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


@functools.cache
def words_of_the_matrix() -> set[str]:
    """Words of the functions that test_ways_in.py reaches by every way."""
    words: set[str] = set()
    for module in ("ways_features", "ways_builtins", "ways_library", "ways_loops", "ways_raises"):
        for node in ast.walk(ast.parse((ROOT / f"tests/py/{module}.py").read_text())):
            words.update(_words_of(node))
    for ft in ways_features.FEATURES.values():
        words.update(ft.options, ft.function.__code__.co_names)
    return words


def missing(names, words) -> list[str]:
    return sorted({n for n in names if n not in words})


def public(cls: type) -> list[str]:
    return [n for n in vars(cls) if not n.startswith("_")]


CUDADRV = [getattr(cudadrv, name) for name in cudadrv.__all__]
CUDA_CLASSES = [
    cls
    for of in (
        cuda.DeviceNDArray,
        cuda.DeviceRecord,
        cuda.MappedNDArray,
        cuda.MemoryPointer,
        cuda.Device,
        cuda.Context,
        cuda.Kernel,
        cuda.DeviceUfunc,
        cuda.DeviceGUfunc,
        cuda.Reduce,
    )
    for cls in of.__mro__
    if cls.__module__.startswith("treadle.")
]


def test_public_names():
    names = [*treadle.__all__, *cuda.__all__, *types.__all__, *errors.__all__, *config.__all__, *run.__all__]
    names += [n for m in (args, cudadrv, cuda.random, *CUDADRV) for n in m.__all__]
    names += [n for cls in (_core.Function, _core.Type, _core.Signature, *CUDA_CLASSES) for n in public(cls)]
    assert not missing(names, words_in_python())


def test_all_lists_exist():
    for module in (treadle, cuda, args, cuda.random, *CUDADRV, types, errors, config, run, decorators):
        for name in module.__all__:
            assert getattr(module, name) is not None, name


def test_options():
    assert not missing([*decorators._OPTIONS, *decorators._REFUSED, *decorators._FASTMATH], words_in_python())


def test_the_flags_of_fastmath_are_the_compilers():
    table = rows("src/base/opts.h", r'X\((\w+), "(\w+)", (\d+)\)')
    assert {name: 1 << int(bit) for _, name, bit in table} | {"fast": 127} == decorators._FASTMATH


def test_the_checks_of_kernels_are_the_compilers():
    table = rows("src/base/opts.h", r'X\((\w+), (\d+), "(\w+)"\)')
    bits = {name: 1 << int(bit) for _, bit, name in table}
    assert bits == {**config._CHECKS, "exit": config._CHECK_EXIT}


def test_the_words_of_accounts_are_the_compilers():
    text = (ROOT / "src/base/opts.h").read_text()
    kinds = re.findall(r"(?m)^    TR_ACCOUNT_(\w+),? +/\*", text)
    assert [getattr(_explain, f"_{k}") for k in kinds] == list(range(4))
    forms = {name.lower(): int(bit) for name, bit in rows("src/base/opts.h", r"TR_ACCOUNT_(\w+) = (\d+)")}
    assert forms == {name: 1 << k for k, name in enumerate(_explain._FORMS)}


def test_decorators_set_every_option_of_the_compiler():
    fields = {name for name, _ in rows("src/base/opts.h", r"X\((\w+), (uint\d+_t), ")}
    assert set(decorators._flags({})) == fields | {"cache"}  # cache is no matter of the code


def test_options_are_documented():
    entry = re.findall(r"(?m)^(\w+) : ", inspect.getdoc(decorators.jit).split("Returns")[0])
    assert set(entry[1:]) == set(decorators._OPTIONS), "the docstring of jit"
    table = re.findall(r"(?m)^\| `([a-z_]+)` \| ", (ROOT / "docs/guide.md").read_text())
    assert set(table) == set(decorators._OPTIONS) - {"nopython"}, "the table in docs/guide.md"


def keywords_of_overloads(module) -> dict[str, list[dict[str, object]]]:
    """The keyword parameters of a module's overloads, with their defaults, by function."""
    found: dict[str, list[dict[str, object]]] = {}
    for node in ast.parse(pathlib.Path(module.__file__).read_text()).body:
        if isinstance(node, ast.FunctionDef) and any(
            getattr(d, "id", "") == "overload" for d in node.decorator_list
        ):
            assert node.args.kwarg is None, "names are what a reader and completion get"
            defaults = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            named = {a.arg: None if d is None else ast.literal_eval(d) for a, d in defaults}
            found.setdefault(node.name, []).append(named)
    return found


def test_options_have_types_and_are_shown():
    """Type checkers, help() and completion see the options that there are, with the defaults of the table."""
    table = {name: default for name, (default, _) in decorators._OPTIONS.items()}
    of_ufuncs = {name: d for name, d in table.items() if name not in ufunc._NOT_HERE}
    expected = {"jit": (2, table), "vectorize": (4, of_ufuncs), "guvectorize": (2, of_ufuncs)}
    typed = keywords_of_overloads(decorators) | keywords_of_overloads(ufunc)
    assert set(typed) == set(expected)
    for name, (count, options) in expected.items():
        assert len(typed[name]) == count, name
        for keywords in typed[name]:
            assert {k: v for k, v in keywords.items() if k in table} == options, name
            assert keywords.keys() - table.keys() <= {"identity", "target", "writable_args"}
        shown = inspect.signature(getattr(treadle, name)).parameters
        assert {k: p.default for k, p in shown.items() if k in table} == options, name
        assert all(shown[k].kind is inspect.Parameter.KEYWORD_ONLY for k in options)
    assert keywords_of_overloads(stencils) == {"stencil": [{}, stencils._DEFAULTS]}
    shown = inspect.signature(treadle.stencil).parameters
    assert {k: p.default for k, p in shown.items() if p.kind is p.KEYWORD_ONLY} == stencils._DEFAULTS
    assert inspect.signature(treadle.njit) == inspect.signature(treadle.jit)
    text = pydoc.render_doc(treadle.njit, renderer=pydoc.plaintext)
    assert "boundscheck=None" in text and "fastmath : bool or set of str" in text


def environment_variables() -> set[str]:
    read: set[str] = set()
    for path in [*ROOT.glob("src/**/*.c"), *ROOT.glob("python/treadle/*.py")]:
        read.update(re.findall(r'"(TREADLE_[A-Z_]+)"', path.read_text()))
    assert len(read) > 5
    return read


def test_environment_variables():
    assert not missing(environment_variables(), words_in_python())


def test_environment_variables_are_documented():
    guide = set(WORD.findall((ROOT / "docs/guide.md").read_text().split("## Environment")[1]))
    assert not missing(environment_variables() - {"TREADLE_PLANT"}, guide)


def test_a_report_knows_all_environment_variables():
    assert {f"TREADLE_{n}" for n in (*config.__all__, *_info._CORES)} == environment_variables()


def test_stages():
    stages = rows("src/base/dump.h", r'X\([A-Z]+, "(\w+)", ')
    assert not missing(stages, words_in_python())
    made = set(_core.Function.inspect.__doc__.replace("'", " ").replace(",", " ").split())
    assert made & set(stages) == {"infer", "opt", "parallel", "emulation", "llvm", "llvmopt", "asm", "report"}


def test_reductions_and_words_of_schedules():
    assert not missing((n for _, n in rows("src/ir/reds.def", r'(?m)^X\((\w+),\s*"(\w+)"')), words_in_all())
    assert not missing((n for _, n in rows("src/ir/sched.def", r'(?m)^X\((\w+),\s*"(\w+)"')), words_in_all())


def test_passes():
    names = rows("src/opt/passes.def", r"(?m)^X\((\w+),")
    assert not missing(names, words_in_all())
    files = [p.stem for p in (ROOT / "src/opt").rglob("*.c")]
    assert [p for p in names if files.count(p) != 1] == [], "one file per pass, in one of the rooms"


NOT_THE_HOSTS = ("treadle.cuda.", "treadle._library.")


def builtin_names(kernels: bool = True) -> list[str]:
    """Names of the rows, with or without those that mean something in kernels, or in Treadle's own library, only."""
    functions = rows("src/lib/builtins.def", r'(?m)^F\(\w+,\s*"([\w.]+)"')
    members = rows("src/lib/builtins.def", r'(?m)^[MA]\(\w+,\s*"(\w+)",\s*"(\w+)"')
    return [
        *(p.rpartition(".")[2] for p in functions if kernels or not p.startswith(NOT_THE_HOSTS)),
        *(name for cls, name in members if kernels or cls not in ("dim3", "gridgroup")),
    ]


def test_rows_of_builtins():
    assert not missing(builtin_names(), words_in_python())


def test_the_matrix_of_ways_in_has_every_feature():
    words = words_of_the_matrix()
    assert not missing(builtin_names(kernels=False), words), "builtins"
    assert not missing(_library.NAMES, words), "functions written in NumPy"
    assert not missing(decorators._OPTIONS, words), "options"
    exceptions = rows("src/ir/exc.def", r'(?m)^X\(\w+,\s*"(\w+)"')
    scalars = rows("src/ty/ty.h", r'X\([A-Z]+\d*, "\w+", "(\w+)", \d')
    rows_of_it = set(ways_features.FEATURES)
    exceptions.remove("UnsupportedError")  # there it says that a way is refused; test_prange_distance.py
    assert not missing([f"raises_{e}" for e in exceptions], rows_of_it)
    assert not missing([f"scalar_{t}" for t in scalars], rows_of_it)


def test_ops():
    ops = rows("src/ir/op.def", r'(?m)^X\(\w+,\s*"(\w+)"')
    assert not missing(ops, words_in_all())


def test_errors_are_the_compilers():
    classes = {cls for _, cls in rows("src/base/err.h", r'X\(([A-Z]+), "(\w+)"\)')}
    ours = {n for n in errors.__all__ if not issubclass(getattr(errors, n), Warning)} - {"TreadleError"}
    ours -= {"KernelCheckError", "LeafChangedError"}  # of what runs
    assert {c for c in classes if not hasattr(builtins, c)} == ours


def test_names_of_scalar_types():
    """Each kind of scalar has a name for users, and each name is in treadle.types."""
    names = dict(rows("src/ty/names.def", r'(?m)^X\("(\w+)", (\w+)\)'))
    assert set(names) == set(_core._type_names())
    kinds = set(rows("src/ty/ty.h", r'X\(([A-Z]+\d*), "\w+", "\w+", \d'))
    assert kinds <= set(names.values())


def test_the_oldest_gpu_that_is_taken_has_code():
    """The driver is asked for what the compiler's table of processors begins with."""
    least = int(re.search(r"LEAST = (\d+)", (ROOT / "src/dev/cuda.c").read_text())[1])
    table = [int(n) for n in rows("src/target/nvptx64.c", r'\{"sm_(\d+)"')]
    assert least == min(table) == 10 * _compile._OLDEST[0] + _compile._OLDEST[1]


def test_exceptions_of_compiled_code():
    assert not missing(rows("src/ir/exc.def", r'(?m)^X\(\w+,\s*"(\w+)"'), words_in_python())


def test_stubs_match_the_module():
    tree = ast.parse((ROOT / "python/treadle/_core.pyi").read_text())
    stubs = {node.name: node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    constants = {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)} - {"__version__"}
    # Hooks of the module itself and of tests have no place in the stubs.
    private = ("_fork_", "_freeze_", "_front", "_pool_run", "_pool_launch", "_pool_grain")
    real = {n for n in dir(_core) if not n.startswith(("__", *private))}
    assert set(stubs) | constants == real
    for name in ("Function", "Type", "Signature"):
        body = stubs[name].body
        members = {n.target.id for n in body if isinstance(n, ast.AnnAssign)} | {
            n.name for n in body if isinstance(n, ast.FunctionDef)
        }
        of = getattr(_core, name)
        assert set(public(of)) <= members, name
        assert {m for m in members if not m.startswith("__") and not hasattr(of, m)} == set(), name


def test_what_users_see_has_a_docstring():
    things = {
        f"{m.__name__}.{n}": getattr(m, n)
        for m in (treadle, cuda, args, *CUDADRV, types, errors)
        for n in m.__all__
    }
    things |= {
        f"{c.__name__}.{n}": vars(c)[n]
        for c in (_core.Function, _core.Type, _core.Signature, *CUDA_CLASSES)
        for n in public(c)
        if callable(vars(c)[n]) or isinstance(vars(c)[n], property) and c not in CUDA_CLASSES
    }
    assert [name for name, x in things.items() if not x.__doc__] == []


def test_the_package_is_marked_as_typed():
    assert (pathlib.Path(treadle.__file__).parent / "py.typed").exists()


# --- the tests above can fail ---


def test_a_planted_name_is_missed(monkeypatch):
    name = "name_without_a" + "_test"
    monkeypatch.setattr(treadle, "__all__", [*treadle.__all__, name])
    monkeypatch.setitem(decorators._OPTIONS, name, (False, lambda v, f: None))
    for test in (
        test_public_names,
        test_options,
        test_options_are_documented,
        test_the_matrix_of_ways_in_has_every_feature,
    ):
        with pytest.raises(AssertionError, match=name):
            test()


def test_a_planted_row_is_missed(monkeypatch):
    name = "name_without_a" + "_test"
    row = {
        "src/lib/builtins.def": f'F(NEW, "numpy.{name}", "x", tr_lib_np_x, 0)\n',
        "src/ir/op.def": f"X(NEW, \"{name}\", 0, 'v', 0, 1, S_T)\n",
        "src/ir/exc.def": f'X(NEW, "{name}")\n',
        "src/base/opts.h": f"    X({name}, uint8_t, 0) \\\n",
        "src/opt/passes.def": f'X({name}, 0, "nothing")\n',
        "src/ty/names.def": f'X("{name}", I8)\n',
        "src/base/err.h": f'    X(NEW, "{name}") \\\n',
    }
    read = pathlib.Path.read_text

    def planted(path, *args, **kwargs):
        text = read(path, *args, **kwargs)
        at = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else ""
        return text + row.get(at, "")

    monkeypatch.setattr(pathlib.Path, "read_text", planted)
    for test in (
        test_rows_of_builtins,
        test_the_matrix_of_ways_in_has_every_feature,
        test_ops,
        test_exceptions_of_compiled_code,
        test_decorators_set_every_option_of_the_compiler,
        test_passes,
        test_names_of_scalar_types,
        test_errors_are_the_compilers,
    ):
        with pytest.raises(AssertionError, match=name):
            test()


def test_dir_shows_names_of_ours():
    """No imports by accident, and no parts of the package, loaded or not: what is there can be had, and is of ours."""
    code = """if True:
        import sys, types
        import numpy as np
        import treadle
        from treadle import cuda, run, ufunc, vectorize
        for of in (treadle, cuda):
            before = dir(of)
            for name in before:
                if name.startswith("__"):
                    continue
                thing = getattr(of, name)  # loads what it is in
                home = thing.__name__ if isinstance(thing, types.ModuleType) else getattr(thing, "__module__", None) or "treadle"
                ours = home.split(".")[0] == "treadle" or (of, name, home) == (treadle, "AxisError", "numpy.exceptions")
                print(*([] if ours and not name.startswith("_") else [of.__name__, name, home]), sep=" ", end="")
            assert dir(of) == before, {*dir(of)} ^ {*before}
        for name in ("annotations", "Any", "TYPE_CHECKING", "NoReturn", "ufunc", "run", "decorators", "np", "numpy", "importlib", "bool", "none"):
            assert name not in dir(treadle) and name not in dir(cuda), name
        assert {"njit", "cuda", "float64", "__version__", "__doc__"} < {*dir(treadle)}
        assert {"jit", "atomic", "random", "Stream", "__doc__"} < {*dir(cuda)}
    """
    r = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert r.returncode == 0 and r.stdout == "", r.stdout + r.stderr
