"""`python -m treadle run`: scripts written for Numba run with Treadle in its place."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

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
g = jit(restype=f8, argtypes=[i4, i4], target="cpu", nopython=False)(lambda x, y: x + y)
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
    from treadle.run import install, main

    before = list(sys.meta_path)
    try:
        install()
        install()
        assert len(sys.meta_path) == len(before) + 1
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


@pytest.mark.parametrize(
    "use, name",
    [
        ("@stencil\ndef f(a): return a[0]\nf(3)", "numba.stencil, which decorates f"),
        (
            "@njit\ndef f(x): return x\n@stencil()\ndef g(x): return f(x)\nnjit(lambda x: g(x))(3)",
            "write the call out",
        ),
        ("for i in cuda.devices(): pass", "numba.cuda.devices"),
        ("from numba.typed import List; List()", "numba.typed.List"),
        (
            "import numba.cuda.random as r; r.rotl(1, 2)",
            "numba.cuda.random.rotl",
        ),
        (
            "from numba.experimental import jitclass\n@jitclass([('x', types.ListType(types.f8))])\nclass C: pass\nC()",
            "jitclass, which decorates C",
        ),
        ("cuda.laneid + 1", "unsupported operand"),
        ("if cuda.nothing: pass", "numba.cuda.nothing"),
        ("import numba.core.base as b\nissubclass(int, b.BaseContext)", "numba.core.base.BaseContext"),
    ],
)
def test_what_is_missing_fails_when_it_is_used(tmp_path, use, name):
    imports = (
        "from numba import njit, vectorize, guvectorize, cuda, prange, stencil, types\nprint('imported')\n"
    )
    r = run("run", script(tmp_path, imports + use))
    assert r.returncode == 1 and r.stdout == "imported\n"
    assert name in r.stderr.splitlines()[-1]


DECORATED = """
import numpy as np
from numba import njit, vectorize, guvectorize, cuda, float64, types, optional
from numba.core.registry import CPUDispatcher
from numba.errors import TypingError, UnsupportedError
from numba.extending import overload, register_jitable, get_cython_function_address

@njit([float64(float64[:]), types.ListType(float64)(float64)])
def tidy(x):
    return {x: x}

@vectorize(["f8(f8)"])
def v(x): return {x: 1}[x]

@guvectorize(["(f8[:], f8[:])"], "(n)->(n)")
def g(a, out): out[0] = {1: a}[1][0]

@vectorize(["f4(f4)"], target="cuda")
def c(x): return {x: 1}[x]

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
assert tidy.py_func(2) == {2: 2} and v.py_func(2) == 1 and "which Treadle cannot compile" in repr(v)
assert solve(3) is None and njit(lambda x: two(x))(3) == 4 and two(3) == 4
for call in (lambda: tidy(np.ones(3)), lambda: njit(lambda x: tidy(x))(1.0), lambda: v(1.0), lambda: g(np.ones(3)), lambda: c(1.0),
             lambda: njit(lambda x: solve(x))(1.0), lambda: words(a=1), lambda: njit(lambda x: ndtri(x))(1.0)):
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
    assert len(out) == 8 and sum("Treadle does not" in line for line in out) == 8
    assert "types.ListType" in out[0] and "dictionaries" in out[1] and "dictionaries" in out[3]
    assert (
        "dictionaries" in out[4]
        and "solve(), which numba.extending.overload redefines" in out[5]
        and "**kwargs" in out[6]
    )


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


def test_usage(tmp_path):
    assert run().returncode == 2 and "usage" in run().stderr
    assert run("--help").returncode == 0
    assert run("walk").returncode == 2
    r = run("run", tmp_path / "nothing.py")
    assert r.returncode == 2 and "there is no file" in r.stderr


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


def test_treadles_own_names_that_come_later():
    code = "import treadle; from treadle import cuda, parallel; print(parallel); parallel.map(3)"
    r = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert r.returncode == 1 and "UnsupportedError: Treadle does not have treadle.parallel.map" in r.stderr


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
