"""`python -m treadle run`: scripts written for Numba run with Treadle in its place."""

from __future__ import annotations

import os
import pathlib
import py_compile
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import treadle
from treadle.run import main

HERE = pathlib.Path(__file__).parent


def run(*argv, env=None, cwd=None):
    ours = ("NUMBA_", "TREADLE_CACHE_DIR", "TREADLE_PROMOTION")
    full = {k: v for k, v in os.environ.items() if not k.startswith(ours)} | (env or {})
    return subprocess.run(
        [sys.executable, "-m", "treadle", *map(str, argv)],
        capture_output=True,
        text=True,
        env=full,
        cwd=cwd,
        timeout=120,
    )


def script(tmp_path, text):
    path = tmp_path / "script.py"
    path.write_text(text)
    return path


def ok(result):
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


# Like the programs that must run as they stand, but whole in themselves.
BUBBLESORT = """
import os
import numpy as np
os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
from numba import jit, njit, vectorize, cuda, int32, float64

def bubblesort(X):
    N = len(X)
    for end in range(N, 1, -1):
        for i in range(end - 1):
            cur = X[i]
            if cur > X[i + 1]:
                X[i] = X[i + 1]
                X[i + 1] = cur

data = np.arange(0.0, 10.0, 0.01, dtype="f4")
for f in (jit(bubblesort), jit("void(f4[:])", nopython=True)(bubblesort), njit(bubblesort)):
    a = data[::-1].copy()
    assert f(a) is None and np.array_equal(a, data) and len(f.signatures) == 1
try:
    jit("void(f4[:])", nopython=True)(bubblesort)(data.astype("f8"))
    raise SystemExit("accepted other types")
except TypeError as e:
    print(e)

@jit(float64(int32, int32))
def f(x, y):
    return (x + y) / 3.14
assert f(1, 3) == 4 / 3.14
"""

NUMBAPRO = """
from numbapro import jit, autojit
from numba import types, typeof
from numba.core import types as t2
from numba.core.errors import TypingError
import numba, numba.core.types
assert t2.int32 is types.int32 is numba.int32 and typeof(1) is types.int64
assert numba.__version__.split(".")[0].isdigit()

from numbapro import f8, i4
g = jit(restype=f8, argtypes=[i4, i4], target="cpu", nopython=False, no_rewrites=True, no_cpython_wrapper=True)(lambda x, y: x + y)
assert g(1, 2) == 3.0 and isinstance(g(1, 2), float) and g.signatures == [(i4, i4)]

@autojit
def f(x):
    return x.nope
try:
    f(1)
    raise SystemExit("no error")
except TypingError as e:
    print("nope" in str(e))
"""


@pytest.mark.parametrize("text", [BUBBLESORT, NUMBAPRO], ids=["bubblesort", "numbapro"])
def test_programs(tmp_path, text):
    ok(run("run", script(tmp_path, text)))


def test_the_programs_that_must_run_as_they_stand():
    """Scripts of users, kept in a folder beside the repository."""
    folder = HERE.parents[2] / "shared" / "snippets"
    scripts = sorted(folder.glob("0[124]-*.py"))
    if not scripts:
        pytest.skip(f"no scripts of users beside the repository ({folder})")
    for path in scripts:
        ok(run("run", path))


def test_install_only_once():
    from treadle.run import install

    before = list(sys.meta_path)
    try:
        install()
        install()
        assert len(sys.meta_path) == len(before) + 2  # in front: numba; behind what is installed: llvmlite
    finally:
        sys.meta_path[:] = before
    assert main(["--help"]) == 0


def test_numba_rules_of_promotion(tmp_path):
    # Numba: float32 + int64 is float64; Treadle's own rule (NEP 50) knows no Python scalars among arguments either.
    program = script(
        tmp_path,
        "from numba import njit\nimport numpy as np\n"
        "a = np.full(1, 0.1, np.float32)\nprint(njit(lambda a: a[0] * 0.5 + 1)(a))",
    )
    out = ok(run("run", program))
    assert float(out) == float(np.float32(0.1)) * 0.5 + 1
    out = ok(run("run", program, env={"TREADLE_PROMOTION": "treadle"}))
    assert float(out) == float(np.float32(0.1) * np.float32(0.5) + np.float32(1))


def test_stencils(tmp_path):
    program = script(
        tmp_path,
        "import numba, numpy as np\n"
        "@numba.stencil(func_or_mode='constant', cval=np.nan, neighborhood=((-1, 1),))\n"
        "def k(a):\n    return sum(a[-1:2]) * 1.0\n"
        "@numba.njit(parallel=True)\ndef f(a): return k(a)\n"
        "print(f(np.arange(5)), numba.stencil(lambda a: a[0] - a[1])(np.arange(3)))",
    )
    assert ok(run("run", program)) == "[nan  3.  6.  9. nan] [-1 -1  0]\n"


@pytest.mark.parametrize(
    "use, name",
    [
        ("@generated_jit\ndef f(a): return a[0]\nf(3)", "numba.generated_jit, which decorates f"),
        (
            "@njit\ndef f(x): return x\n@generated_jit()\ndef g(x): return f(x)\nnjit(lambda x: g(x))(3)",
            "write the call out",
        ),
        ("for i in cuda.open_ipc_array(): pass", "numba.cuda.open_ipc_array"),
        (
            "import numba.cuda.random as r; r.rotl(1, 2)",
            "numba.cuda.random.rotl",
        ),
        (
            "from numba.experimental import jitclass\n@jitclass([('x', types.ListType(types.f8))])\nclass C: pass\nC()",
            "jitclass, which decorates C",
        ),
        ("cuda.laneid + 1", "unsupported operand"),
        ("if cuda.IpcHandle: pass", "numba.cuda.IpcHandle"),
        ("import numba.core.base as b\nissubclass(int, b.BaseContext)", "numba.core.base.BaseContext"),
    ],
)
def test_what_is_missing_fails_when_it_is_used(tmp_path, use, name):
    imports = "from numba import njit, vectorize, guvectorize, cuda, prange, generated_jit, types\nprint('imported')\n"
    r = run("run", script(tmp_path, imports + use))
    assert r.returncode == 1 and r.stdout == "imported\n"
    assert name in r.stderr.splitlines()[-1]


def test_a_traceback_begins_with_the_program(tmp_path):
    text = "def f():\n    raise ValueError('mine')\ntry:\n    f()\nexcept ValueError as e:\n    raise KeyError(2) from e\n"
    ours = run("run", script(tmp_path, text))
    plain = subprocess.run([sys.executable, script(tmp_path, text)], capture_output=True, text=True)
    assert ours.returncode == plain.returncode == 1 and ours.stderr == plain.stderr
    code = run("run", "-c", "1 / 0")
    assert (
        code.stderr == subprocess.run([sys.executable, "-c", "1 / 0"], capture_output=True, text=True).stderr
    )
    own = "import sys\nsys.excepthook = lambda *a: print('own')\n1 / 0\n"
    assert run("run", script(tmp_path, own)).stdout == "own\n"


DECORATED = """
import numpy as np
from numba import njit, vectorize, guvectorize, cuda, float64, types, optional
from numba.core.registry import CPUDispatcher
from numba.errors import TypingError, UnsupportedError
from numba.extending import overload, register_jitable, get_cython_function_address

@njit([float64(float64[:]), types.EphemeralPointer(float64)(float64)])
def tidy(x):
    return dir((x,))

@vectorize(["f8(f8)"])
def v(x): return len(dir((x,)))

@guvectorize(["(f8[:], f8[:])"], "(n)->(n)")
def g(a, out): out[0] = len(dir((a[0],)))

@vectorize(["f4(f4)"], target="cuda")
def c(x): return len(dir((x,)))

def solve(a): return None
@overload(solve)
def ov_solve(a): return lambda a: a + 1

@register_jitable
def one(): return 1
@register_jitable(inline="always")
def two(x): return x + one()

def words(**named): return 0
words = njit(words)

address = get_cython_function_address("scipy.special.cython_special", "ndtri")
class Wrapper(types.WrapperAddressProtocol):
    def __wrapper_address__(self): return address
ndtri = Wrapper()

assert cuda.is_available() and isinstance(njit(two), CPUDispatcher)
assert njit(fastmath=True)(two).targetoptions["fastmath"] and njit(signature_or_function="i8(i8)")(two)(1) == 2
assert tidy.py_func(2) == dir((2,)) and v.py_func(2) == len(dir((2,))) and "which Treadle cannot compile" in repr(v)
assert words(a=1) == 0 and solve(3) is None and njit(lambda x: two(x))(3) == 4 and two(3) == 4
for call in (lambda: tidy(np.ones(3)), lambda: njit(lambda x: tidy(x))(1.0), lambda: v(1.0), lambda: g(np.ones(3)), lambda: c(1.0),
             lambda: njit(lambda x: solve(x))(1.0), lambda: njit(lambda x: ndtri(x))(1.0)):
    for again in range(2):
        try:
            call()
            raise SystemExit("no error")
        except UnsupportedError as e:
            if not again:
                print(str(e).splitlines()[0])
"""


def test_what_cannot_be_compiled_fails_when_it_is_called(tmp_path):
    # A library compiles much that a program does not use.
    out = ok(run("run", script(tmp_path, DECORATED))).splitlines()
    assert len(out) == 7 and sum("Treadle does not" in line for line in out) == 7
    assert "builtins.dir" in out[0] and "builtins.dir" in out[1] and "builtins.dir" in out[3]
    assert "builtins.dir" in out[4] and "solve(), which numba.extending.overload redefines" in out[5]


TUPLES = """
import numba, numpy as np
from numba.np.unsafe.ndarray import to_fixed_tuple
from numba.cpython.unsafe.tuple import tuple_setitem

def converter(n):
    return numba.njit(lambda a: to_fixed_tuple(a, n))

@numba.njit
def count(rows):
    found = {}
    for r in rows:
        key = to_fixed_tuple(r, 2)
        found[key] = found.get(key, 0) + 1
    return found

a = np.array([3, 4, 5], np.int32)
assert converter(2)(a) == (3, 4) and converter(0)(a) == () and to_fixed_tuple(a, 2) == (3, 4)
assert count(np.array([[1, 2], [1, 2], [3, 4]])) == {(1, 2): 2, (3, 4): 1}
put = numba.njit(lambda t, i, v: tuple_setitem(t, i, v))
assert put((1, 2, 3), 1, 9) == (1, 9, 3) and put((1.0, 2.0), -1, 7) == (1.0, 7.0)
for call in (lambda: converter(4)(a), lambda: put((1, 2), 2, 1), lambda: numba.njit(lambda a, n: to_fixed_tuple(a, n))(a, 2)):
    try:
        call()
    except (IndexError, numba.TypingError) as e:
        print(str(e).splitlines()[0])
"""


def test_tuples_of_so_many_items(tmp_path):
    assert ok(run("run", script(tmp_path, TUPLES))).splitlines() == [
        "to_fixed_tuple(): there are not so many items",
        "tuple index out of range",
        "to_fixed_tuple(): the length must be known when the function compiles: it is part of a tuple's type",
    ]


def test_prange_inside_a_function(tmp_path):
    r = run(
        "run",
        script(
            tmp_path,
            "import numba\nfrom numba import njit, prange\nfor options in ({}, {'parallel': True}, {'parallel': {'fusion': True}}):\n"
            "    @njit(**options)\n    def f(n):\n        s = 0\n"
            "        for i in numba.prange(n):\n            s += i\n        return s\n    print(f(5))\nprint(list(prange(1, 3)))",
        ),
    )
    assert r.returncode == 0 and r.stdout == "10\n10\n10\n[1, 2]\n"


def test_arguments_and_path(tmp_path):
    (tmp_path / "helper.py").write_text("VALUE = 42\n")
    s = script(tmp_path, "import sys, helper\nprint(sys.argv[1:], helper.VALUE, __name__)\nsys.exit(3)")
    r = run("run", s, "-a", "b", cwd=tmp_path.parent)
    assert r.returncode == 3 and r.stdout == "['-a', 'b'] 42 __main__\n"


SHOW = """
import sys, os
annotated: int = 1
print(sys.modules["__main__"].__annotations__)
main = sys.modules["__main__"]
names = {k: v if isinstance(v, str) else type(v).__name__ for k, v in vars(main).items() if k not in ("__cached__", "__annotations__", "names")}
loader = main.__loader__
print(sorted(names.items()), sys.argv, sys.path[:2], __name__, vars(main) is globals(), getattr(main.__spec__, "name", None),
      loader.__name__ if isinstance(loader, type) else type(loader).__name__)
if "fail" in sys.argv:
    sys.exit("failed")
"""


@pytest.mark.parametrize(
    "argv",
    [
        "script.py a -m b",
        "./script.py fail",
        "package/link.py",
        "-m package a -c b",
        "-mpackage.inner",
        "-m package.nothing",
        "-m nothing",
        "folder a",
        "archive.zip",
        "compiled.pyc",
        "-c CODE a",
    ],
)
@pytest.mark.parametrize("options", [[], ["-P"]], ids=["", "P"])
def test_as_python_runs_it(tmp_path, argv, options):
    """sys.argv, sys.path, the module `__main__`, exit status and messages are those of Python itself."""
    script(tmp_path, SHOW)
    for folder, name in (
        ("package", "__main__"),
        ("package", "inner"),
        ("package", "__init__"),
        ("folder", "__main__"),
    ):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / f"{name}.py").write_text("" if name == "__init__" else SHOW)
    (tmp_path / "package/link.py").symlink_to("../script.py")
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as z:
        z.writestr("__main__.py", SHOW)
    py_compile.compile(str(tmp_path / "script.py"), str(tmp_path / "compiled.pyc"))
    args = [SHOW if a == "CODE" else a for a in argv.split()]

    def seen(*before):
        command = [sys.executable, *options, *before, *args]
        r = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=60)
        return r.returncode, r.stdout, r.stderr.splitlines()[-1:]

    plain = seen()
    assert seen("-m", "treadle", "run") == plain
    assert plain[1] or plain[0] == 1


def test_main_stays_until_the_process_ends(tmp_path):
    """As Python itself has it; at exit, threads and handlers look there."""
    s = script(
        tmp_path,
        "import atexit, sys\nVALUE = 42\natexit.register(lambda: print(sys.modules['__main__'].VALUE))",
    )
    assert ok(run("run", s)) == "42\n"


CHILD = (
    "import numba, sys; print(numba.__version__, numba.njit(lambda x: x + 1)(1), 'treadle' in sys.modules)"
)
CHILDREN = f"""
import json, subprocess, sys
def child(*options, **more):
    print(subprocess.run([sys.executable, *options, "-c", {CHILD!r}], capture_output=True, text=True, **more).stdout.strip() or "none")
if __name__ == "__main__":
    child()
    child("-E")
    child("-P", cwd="/")
"""


def test_processes_that_it_begins_are_followed(tmp_path):
    out = ok(run("run", script(tmp_path, CHILDREN))).splitlines()
    assert out[0] == out[2] and out[0].endswith(" 2 True")
    assert out[1] != out[0]  # Python was told to read no variables: Numba itself, or nothing
    ours = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    r = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, env=ours)
    assert "True" not in r.stdout, "without the command nothing is followed"


def test_children_of_children(tmp_path):
    s = script(
        tmp_path, f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {CHILDREN!r}], check=True)"
    )
    assert ok(run("run", s)).splitlines()[0].endswith(" 2 True")


SPAWNED = """
import multiprocessing as mp
import numba
@numba.njit
def f(x):
    return x * 2
def g(x):
    import numba
    return f(x), numba.__version__ and numba.jit.__module__
if __name__ == "__main__":
    for method in ("spawn", "forkserver", "fork"):
        with mp.get_context(method).Pool(1) as pool:
            print(pool.map(g, [1, 2]))
"""


@pytest.mark.parametrize("way", ["file", "module"])
def test_multiprocessing(tmp_path, way):
    s = script(tmp_path, SPAWNED)
    out = ok(run("run", *([s] if way == "file" else ["-m", "script"]), cwd=tmp_path))
    assert out == "[(2, 'treadle._numba'), (4, 'treadle._numba')]\n" * 3


def test_a_sitecustomize_of_the_users(tmp_path):
    """It is found and imported as without the command; its errors are told as Python tells them."""
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("print('mine', end=' ', flush=True)\nVALUE = 1\n")
    path = os.pathsep.join([str(own), os.environ.get("PYTHONPATH", "")])
    code = (
        "import sys, sitecustomize as s; print(s.VALUE, any('_hook' in p for p in sys.path), end=' '); "
        + CHILD
    )
    s = script(
        tmp_path, f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {code!r}], check=True)"
    )
    out = ok(run("run", s, env={"PYTHONPATH": path}))
    assert out.startswith("mine mine 1 False ") and out.endswith(" 2 True\n")
    (own / "sitecustomize.py").write_text("1 / 0\n")
    s.with_name("other.py").write_text(
        f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {CHILD!r}], check=True)"
    )
    r = run("run", s.with_name("other.py"), env={"PYTHONPATH": path})
    assert r.stdout.endswith(" 2 True\n") and r.stderr.count("ZeroDivisionError") == 2


HOOK = pathlib.Path(treadle.__file__).parent / "_hook" / "sitecustomize.py"


def test_a_python_of_another_version_is_left_alone(tmp_path):
    """The folder is named to whatever Python is begun: where this Treadle was not built for it, nothing is put there."""
    copy = tmp_path / "treadle" / "_hook"
    copy.mkdir(parents=True)
    (copy / "sitecustomize.py").write_text(HOOK.read_text())
    code = "import sys; print(any('Finder' == getattr(f, '__name__', '')[1:] for f in sys.meta_path), 'treadle' in sys.modules)"

    def seen(folder):
        return subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(folder)},
        ).stdout

    assert seen(copy) == "False False\n" and seen(HOOK.parent) == "True False\n"


def test_a_child_finds_treadle_where_its_parent_did():
    """A path of the parent's own does not reach children; the folder that they are told says where Treadle is."""
    lost = "import numpy, os, sys; sys.path[:] = [p for p in sys.path if not os.path.isdir(os.path.join(p, 'treadle'))]; "
    env = {**os.environ, "PYTHONPATH": str(HOOK.parent) + os.pathsep + os.environ.get("PYTHONPATH", "")}
    code = lost + CHILD + "; import treadle; print(treadle.__file__)"
    r = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert ok(r).splitlines()[1] == str(HOOK.parents[1] / "__init__.py") and " 2 True" in r.stdout


def test_usage(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for argv, said in (
        ([], "a command is missing"),
        (["walk"], "there is no command 'walk'"),
        (["run"], "the program is missing"),
        (["run", "-m"], "the module is missing"),
        (["memcheck", "-c"], "the code is missing"),
        (["run", "-O", "x.py"], "python -O -m treadle run"),
        (["run", "nothing.py"], "there is no file 'nothing.py'"),
        (["run", "package.module"], "a module is run by -m package.module"),
        (["run", str(tmp_path)], "has no __main__.py"),
        (["info", "all"], "info takes no arguments"),
        (["cache", "--purge"], "cache has no option '--purge'"),
        (["cache", "--clean", "week"], "takes a number of days, and 'week' is none"),
        (["cache", "--clean", "-1"], "takes a number of days, and '-1' is none"),
        (["cache", "--clean", "nan"], "takes a number of days, and 'nan' is none"),
        (["cache", "--clean", "1", "2"], "one number of days, and '2' is more"),
    ):
        assert main(argv) == 2, argv
        out, err = capsys.readouterr()
        assert out == "" and said in err.splitlines()[-1], argv
        assert "-m nothing" not in err
    for argv in (["--help"], ["-h"], ["run", "--help"], ["memcheck", "-h"], ["info", "-h"], ["cache", "-h"]):
        assert main(argv) == 0
        out, err = capsys.readouterr()
        assert out.startswith("usage: ") and err == ""
    r = run()
    assert r.returncode == 2 and r.stderr.startswith("usage: ")


def test_disable_jit(tmp_path):
    s = script(
        tmp_path, "from numba import njit\n@njit\ndef f(x):\n    return [x]\nprint(f(1), f.py_func is f)"
    )
    assert ok(run("run", s, env={"NUMBA_DISABLE_JIT": "1"})) == "[1] True\n"
    inside = script(tmp_path, "import os; os.environ['NUMBA_DISABLE_JIT'] = '1'\n" + s.read_text())
    assert ok(run("run", inside)) == "[1] True\n"


def test_cache_dir_and_boundscheck(tmp_path):
    s = script(
        tmp_path,
        "from numba import njit\n@njit(cache=True)\ndef f(x):\n    return x + 1\nprint(f(1), f.stats['loaded'])",
    )
    env = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert ok(run("run", s, env=env)) == "2 0\n"
    assert os.listdir(tmp_path / "cache")
    assert ok(run("run", s, env=env)) == "2 1\n"
    s = script(tmp_path, "from numba import njit, config\nprint(config.BOUNDSCHECK)")
    assert ok(run("run", s, env={"NUMBA_BOUNDSCHECK": "0"})) == "False\n"


def test_dump_variable(tmp_path):
    s = script(tmp_path, "from numba import njit\nprint(njit(lambda x: x + 1)(1))")
    r = run("run", s, env={"NUMBA_DUMP_LLVM": "1"})
    assert r.returncode == 0 and "define" in r.stderr


def test_treadles_own_modules_are_there_when_they_are_asked_for():
    code = "import treadle; from treadle import cuda, parallel; print(float(treadle.parallel.random.key(3)), float(parallel.map(abs, -3.0)))"
    r = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert r.returncode == 0 and r.stdout.split() == ["3.0", "3.0"], r.stderr


def test_what_packages_ask_when_they_are_imported(tmp_path):
    """Without these five of 29 public packages do not import."""
    program = """
import numpy as np
from numba import from_dtype, njit, typed, typeof, types, version_info
import numba
from numba.extending import is_jitted, make_attribute_wrapper, overload_method, register_model, typeof_impl, unbox
from numba.np.numpy_support import as_dtype

class Own(types.Type):
    def __init__(self):
        super().__init__(name="Own")

class Other(types.StructRef): pass
class Number(types.Integer): pass

@register_model(Own)
class Model: pass
@typeof_impl.register(Model)
def typeof_model(value, context): return Own()
@overload_method(Own, "area")
def area(own): return lambda own: 1
make_attribute_wrapper(Own, "x", "x")

assert tuple(map(int, numba.__version__.split(".")))[:3] >= (0, 61, 2) and version_info.short >= (0, 61)
assert repr(Own()) == "Own" and isinstance(Own(), types.Type) and not isinstance(types.int64, (Own, Number))
kinds = [types.Type, types.Integer, types.Float, types.Complex, types.Boolean, types.Number, types.Array, types.Tuple, types.UniTuple, types.NoneType]
for x in (3, 2.5, 1j, True, np.ones(2), (1, 2), (1, 2.5), None):
    print("".join("01"[isinstance(typeof(x), k)] for k in kinds))
assert types.Array(types.f8, 1, "C") == types.f8[::1] and types.UniTuple(types.i8, 2) == typeof((1, 2))
assert from_dtype(np.dtype("f4")) == types.float32 and as_dtype(types.int16) == np.int16
f = njit(lambda x: x + 1)
assert is_jitted(f) and not is_jitted(len)
f._compile_for_argtys((types.int64,))
assert f.signatures == [(types.int64,)], f.signatures
assert not isinstance([], typed.List) and not isinstance({}, (typed.Dict, str))
assert njit(lambda x: 1 if isinstance(x, typed.List) else 2)(3) == 2
assert njit(lambda n: len(range(n)))(5.7) == 5
"""
    out = ok(run("run", script(tmp_path, program)))
    assert out.split() == [
        "1100010000",
        "1010010000",
        "1001010000",
        "1000100000",
        "1000001000",
        "1000000010",
        "1000000100",
        "1000000001",
    ]


PROBES = """
import importlib.util, sys, warnings
import numba, numba.core, numba.cuda, numba.types
from numba import config, cuda, types

for module, name in ((numba, "nonsense"), (numba.core, "nonsense"), (types, "nonsense"), (cuda, "nonsense"), (config, "NONSENSE"),
                     (numba, "_nonsense"), (numba, "roc"), (numba, "__nonsense__")):
    assert not hasattr(module, name), (module, name)
    assert getattr(module, name, 7) == 7
for name in ("numba.no_such", "numba.core.no_such", "numba.targets", "numba.types.no_such.at_all", "numba.cuda.anything",
             "numba.cuda.random.anything", "numba.cuda.anything.at_all"):
    try:
        __import__(name)
    except ModuleNotFoundError as e:
        assert name.rpartition(".")[2] in str(e) or "no_such" in str(e) or "anything" in str(e), e
    else:
        raise SystemExit(name + " is there")
assert importlib.util.find_spec("numba.no_such") is None and importlib.util.find_spec("numba.core.ir") is not None
import numba.cuda.core.typeinfer, numba.cuda.memory_management.nrt, numba.cuda.cudadrv.devicearray, numba.cuda.cgutils  # numba-cuda's
try:
    from numba.cuda import nonsense
except ImportError as e:
    assert "nonsense" in str(e)
else:
    raise SystemExit("nonsense is there")
assert numba.__file__ == numba.cuda.__file__ and numba.__file__.endswith(".py")

@numba.njit
def unrolled(t):
    s = 0.0
    for x in numba.literal_unroll(t):
        s += x
    return s

assert unrolled((1.0, 2.5)) == unrolled.py_func((1.0, 2.5)) == 3.5
try:
    from numba import nonsense
except ImportError as e:
    assert "nonsense" in str(e)
else:
    raise SystemExit("nonsense is there")

# what Numba has and Treadle lacks: found, and told when it is used
from numba.typed import Dict, List
from numba.core import ir, cgutils, typing
from numba.core.typing.templates import AbstractTemplate
from numba.np.ufunc import parallel
from numba.experimental import structref
import numba.core.ir_utils, numba.parfors.parfor
assert hasattr(numba, "typed") and hasattr(numba.core, "ir") and hasattr(numba, "literal_unroll") and hasattr(numba, "pndindex")
for lacking in (numba.pndindex, ir.Assign, parallel.build_gufunc_wrapper):
    try:
        lacking(1)
    except Exception as e:
        assert "Treadle does not have numba." in str(e), e
    else:
        raise SystemExit("it does something")
assert hasattr(config, "THREADING_LAYER") and hasattr(numba, "float64") and hasattr(numba, "generated_jit")
assert numba.threading_layer() in ("workqueue", "omp", "tbb")
print("ok")
"""


LISTS = """
import warnings
warnings.simplefilter("error")
import numba
from numba import int64, njit, typeof, types
from numba.core import types as core_types
from numba.typed import List
from numba.typed.typedlist import List as same

@njit
def put(l, x):
    l.append(x)
    return l

@njit(types.ListType(int64)(int64))
def made(n):
    l = List.empty_list(int64)
    for i in range(n):
        l.append(i)
    return l

plain, shared = [1], List([1])
assert put(plain, 2) is plain and plain == [1, 2] and put(shared, 2) is shared and shared == [1, 2]
assert made(2) == [0, 1] and same is List is numba.typed.List
assert types.ListType(int64) == typeof(shared) and isinstance(typeof(shared), (types.ListType, types.List))
assert not isinstance(types.int64, core_types.ListType) and isinstance(typeof(plain), types.List)
assert repr(List.empty_list(types.float64)) == "ListType[float64]([])"
print("ok")
"""


def test_lists(tmp_path):
    assert ok(run("run", script(tmp_path, LISTS))) == "ok\n"


def test_names_that_numba_has_not_are_not_there(tmp_path):
    assert ok(run("run", script(tmp_path, PROBES))) == "ok\n"


def test_the_list_of_names_is_of_the_version_that_the_rules_are_of():
    head = (pathlib.Path(treadle.__file__).parent / "_numba_names.txt").read_text().partition("\n")[0]
    golden = (HERE / "golden" / "numba.txt").read_text().partition(",")[0]
    assert head.split(";")[0] == golden


ALONE = """
import warnings
import numpy as np
from numba import cuda
from numba.cuda import jit, grid as place, lanemask_lt as below, shared as room, threadIdx as me

@cuda.jit(device=True)
def helper(x):
    return x * 2

@cuda.jit(device=True)
def asks(x):
    return x * cuda.blockDim.x

@jit
def all_of_them(x):
    for i in range(x.size):
        x[i] = helper(x[i])

@cuda.jit
def by_place(x):
    x[cuda.grid(1)] = 1

@cuda.jit
def by_helper(x):
    x[0] = asks(x[0])

@cuda.jit
def by_another_name(x):
    x[place(1)] = 1

@cuda.jit
def by_thread(x):
    x[me.x] = 1

@cuda.jit
def by_vote(x):
    x[0] = cuda.syncthreads_count(1)

@cuda.jit
def by_mask(x):
    x[0] = below()

@cuda.jit
def by_one_made_later(x):
    x[later()] = 1

@cuda.jit(device=True)
def later():
    return place(1)

def make():
    @cuda.jit
    def in_a_closure(x):
        x[0] = of_one(x[0])

    @cuda.jit
    def by_one_in_a_closure(x):
        x[0] = of_many()

    @cuda.jit(device=True)
    def of_one(v):
        return v + cuda.popc(0)

    @cuda.jit(device=True)
    def of_many():
        return room.array(3, np.float64)[0]

    return in_a_closure, by_one_in_a_closure

in_a_closure, by_one_in_a_closure = make()
x = np.arange(5.0)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    all_of_them(x)
    in_a_closure(x)
assert x.tolist() == [0, 2, 4, 6, 8] and len(told) == 2, told
for kernel in (
    by_place, by_helper, by_another_name, by_thread, by_vote, by_mask, by_one_made_later, by_one_in_a_closure
):
    try:
        kernel(x)
    except ValueError as e:
        assert "launch configuration was not specified" in str(e)
    else:
        raise AssertionError(kernel)
assert x.tolist() == [0, 2, 4, 6, 8]
"""


def test_a_kernel_without_a_configuration_that_asks_for_no_place(tmp_path):
    """Runs as one thread, as it did when such programs were written; others are Numba's ValueError."""
    script = tmp_path / "script.py"
    script.write_text(ALONE)
    r = subprocess.run([sys.executable, "-m", "treadle", "run", str(script)], capture_output=True, text=True)
    assert r.returncode == 0, r.stderr


LLVMLITE = """
import llvmlite.binding
import llvmlite.ir as ir
import numba

assert llvmlite.ir is ir and callable(ir.IntType)

@numba.extending.intrinsic
def bits(context, x):
    def body(context, builder, signature, args):
        return builder.ctpop(args[0])
    return x(x), body

@numba.njit
def f(x):
    return x + 1

@numba.njit
def g(x):
    return bits(x)

print(f(3))
for fails in (lambda: ir.IntType(8), lambda: g(3)):
    try:
        fails()
    except Exception as e:
        print(type(e).__name__, str(e).splitlines()[0])
"""


def test_llvmlite_has_a_stand_in_where_there_is_none(tmp_path):
    out = ok(run("run", script(tmp_path, LLVMLITE))).splitlines()
    assert out == [
        "4",
        "UnsupportedError Treadle does not have llvmlite.ir.IntType",
        "UnsupportedError Treadle does not compile calls of numba.extending.intrinsic, which decorates bits",
    ]


def test_an_llvmlite_that_is_there_is_taken(tmp_path):
    (tmp_path / "llvmlite").mkdir()
    (tmp_path / "llvmlite" / "__init__.py").write_text("here = 5")
    text = "import numba, llvmlite, subprocess, sys\nprint(llvmlite.here)\n"
    text += "print(subprocess.check_output([sys.executable, '-c', 'import llvmlite; print(llvmlite.here)'], text=True))"
    out = ok(
        run(
            "run",
            script(tmp_path, text),
            env={"PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{tmp_path}"},
        )
    )
    assert out.split() == ["5", "5"]


STRUCTREF = """
import numba
from numba.experimental import structref

@structref.register
class PairType(numba.types.StructRef):
    pass

class Pair(structref.StructRefProxy):
    def __new__(cls, a, b):
        return structref.StructRefProxy.__new__(cls, a, b)

structref.define_proxy(Pair, PairType, ["a", "b"])
structref.define_boxing(PairType, Pair)
print(numba.njit(lambda x: x + 1)(3))
try:
    Pair(1, 2)
except Exception as e:
    print(type(e).__name__, e)
"""


def test_a_module_that_declares_structrefs_is_imported(tmp_path):
    out = ok(run("run", script(tmp_path, STRUCTREF))).splitlines()
    assert out == ["4", "UnsupportedError Treadle does not have numba.experimental.structref"]


def test_typed_containers(tmp_path):
    program = """
import numba
import numpy as np
from numba import njit, types
from numba.core import types as core
from numba.typed import Dict, List, Set

floats = types.ListType(types.float64)
d = Dict.empty(key_type=types.unicode_type, value_type=floats)

@njit([types.void(types.DictType(types.unicode_type, floats), types.unicode_type)])
def note(d, name):
    if name not in d:
        d[name] = List.empty_list(types.float64)
    d[name].append(len(name))

for name in "a bb a".split():
    note(d, name)
assert d == {"a": [1, 1], "bb": [2]} and isinstance(d, numba.typed.Dict) and not isinstance({}, Dict)
assert types.DictType(types.int32, types.float64) == core.DictType(types.int64, types.float64)
t = numba.typeof(d)
assert isinstance(t, types.DictType) and not isinstance(t, types.ListType) and Set([1]) == {1}
assert isinstance(types.Set(types.int64), types.Set) and types.Set(types.int64) == numba.typeof({1})
print(d)
"""
    assert ok(run("run", script(tmp_path, program))) == (
        "{'a': ListType[float64]([1.0, 1.0]), 'bb': ListType[float64]([2.0])}\n"
    )
