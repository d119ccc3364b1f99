"""A function keeps its own options whoever calls it. The oracle is the same function called plainly."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from treadle import guvectorize, njit, prange, vectorize

sys.path.insert(0, str(Path(__file__).parent))
from contracts_check import OPPOSITE, each_way, outcome, through_default  # noqa: E402

# --- options ---


def kahan(a):
    s = 0.0
    c = 0.0
    for i in range(len(a)):
        y = a[i] - c
        t = s + y
        c = (t - s) - y
        s = t
    return s


def whole_sum(a):
    return a.sum(), (a * 3.0 + a / 7.0).sum(), (a + 1e16 - 1e16).max()


def running(a):
    return np.cumsum(a)


def odd_numbers(a):
    return math.sin(a[0]) + math.exp(a[1]), a[0] != a[0], math.inf - a[0], -0.0 * a[0]


def extreme(a):
    return a.min(), a.max(), max(a[0], a[1])


def element(a, i):
    return a[i]


def elements(a, i):
    return a[np.array([0, i])]


def quotient(a, b):
    return a / b


def floor(a, b):
    return a // b, a % b


def whole(x):
    return int(x)


def narrow(a):
    return a[0] * 0.1


def powers(a, n):
    return a[0] ** n


A = np.full(1000, 0.1)
THIRD = np.array([1 / 3], "f4")
ODD = np.array([math.nan, 1.5, -0.0, math.inf])
CASES = [
    (kahan, (A,)),
    (whole_sum, (A,)),
    (whole_sum, (np.sin(np.arange(5000.0)),)),
    (running, (A,)),
    (odd_numbers, (ODD,)),
    (extreme, (ODD,)),
    (element, (A, 1000)),
    (element, (A, -1001)),
    (element, (A, -1)),
    (elements, (A, 1000)),
    (quotient, (1.0, 0.0)),
    (quotient, (1, 0)),
    (floor, (1, 0)),
    (floor, (1.0, 0.0)),
    (whole, (math.nan,)),
    (whole, (1e30,)),
    (narrow, (THIRD,)),
    (powers, (THIRD, 2)),
]


def case_id(case):
    return case[0].__name__ + "".join(f"-{x}" for x in case[1] if not isinstance(x, np.ndarray))


@each_way
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_options_are_the_callee_s(way, case):
    fn, args = njit(case[0]), case[1]
    assert outcome(way(fn), *args) == outcome(fn, *args)


# What a strict caller must not change: these differ from the defaults where Python can see it.
FREE = [
    ({"error_model": "numpy"}, quotient, (1.0, 0.0)),
    ({"error_model": "numpy"}, floor, (1, 0)),
    ({"promotion": "numba"}, narrow, (THIRD,)),
]


@pytest.mark.parametrize("options, fn, args", FREE)
def test_options_other_than_the_default_are_the_callee_s(options, fn, args):
    ours = njit(**options)(fn)
    assert outcome(ours, *args) != outcome(njit(fn), *args)
    assert outcome(through_default(ours), *args) == outcome(ours, *args)


def ir_of(function):
    return "".join(function.inspect_ir().values())


def test_flags_are_in_the_code_of_those_who_asked():
    def add(a, b, k):
        return a + b * k

    strict, fast, some = njit(add), njit(fastmath=True)(add), njit(fastmath={"nsz", "contract"})(add)

    @njit
    def caller(a, b):
        return strict(a, b, 3.0), fast(a, b, 5.0), some(a, b, 7.0), a - b

    caller(1.0, 2.0)
    text = ir_of(caller)
    for line in ["mul %b, 3.0", "mul.fast %b, 5.0", "mul.nsz.contract %b, 7.0", "sub %a, %b"]:
        assert line in text, text
    llvm = "".join(caller.inspect_llvm().values())
    for op in ["fmul double", "fmul fast double", "fmul nsz contract double", "fsub double"]:
        assert op in llvm


def test_unchecked_indices_stay_unchecked():
    get = njit(boundscheck=False)(element)

    @njit
    def caller(a, i):
        return get(a, i), a[i + 1]

    caller(A, 3)
    assert ir_of(caller).count("checkindex") == 1 and ir_of(caller).count("wrap unchecked") == 1


def test_a_plain_function_has_its_caller_s_options():
    strict, free = njit(quotient), njit(error_model="numpy")(quotient)

    def middle(a, b):
        return quotient(a, b)

    @njit(error_model="numpy")
    def quiet(a, b):
        return middle(a, b)

    @njit
    def loud(a, b):
        return middle(a, b)

    @njit
    def both(a, b, which):
        return quiet(a, b) if which else loud(a, b)

    assert both(1.0, 0.0, True) == math.inf == free(1.0, 0.0)
    for call in [lambda: both(1.0, 0.0, False), lambda: loud(1.0, 0.0), lambda: strict(1.0, 0.0)]:
        with pytest.raises(ZeroDivisionError):
            call()


def test_a_closure_has_the_options_of_the_function_it_stands_in():
    @njit(error_model="numpy")
    def apply(f, a, b):
        return f(a, b)

    @njit
    def strict(a, b):
        def inner(x, y):
            return x / y

        return apply(inner, a, b)

    @njit(error_model="numpy")
    def quiet(a, b):
        def inner(x, y):
            return x / y

        return run_it(inner, a, b)

    @njit
    def run_it(f, a, b):
        return f(a, b)

    @njit
    def lambdas(a, b):
        return apply(lambda x, y: x // y, a, b)

    @njit
    def both(a, b):
        return quiet(a, b), strict(a, b)

    assert quiet(1.0, 0.0) == math.inf
    for call in (strict, lambdas, both):
        with pytest.raises(ZeroDivisionError):
            call(1.0, 0.0)


def test_one_body_under_two_decorators():
    strict, quiet = njit(quotient), njit(error_model="numpy")(quotient)
    narrow8 = njit("i1(i1, i1)")(lambda a, b: a + b)

    @njit
    def caller(a, b, which):
        return quiet(a, b) if which else strict(a, b)

    assert caller(1.0, 0.0, True) == math.inf
    with pytest.raises(ZeroDivisionError):
        caller(1.0, 0.0, False)

    @njit
    def add(a, b):
        return narrow8(a, b)

    assert add(100, 100) == narrow8(100, 100) == -56


# --- ufuncs ---


def test_a_ufunc_s_options_are_its_own():
    @vectorize(boundscheck=True)
    def pick(i):
        return A[i]

    @vectorize(fastmath=True)
    def fast(x):
        return x * 2.0 + 1.0

    @vectorize
    def strict(x):
        return (x + 1e16) - 1e16

    @njit(**OPPOSITE)
    def caller(i, x):
        return pick(i).sum(), strict(x)

    @njit
    def calm(x):
        return fast(x), x - 1.0

    i = np.array([0, 1, 2])
    x = np.arange(5.0) / 7
    assert outcome(caller, i, x) == outcome(lambda: (pick(i).sum(), strict(x)))
    with pytest.raises(IndexError):
        caller(np.array([0, 1000]), x)
    calm(x)
    text = ir_of(calm)
    assert "mul.fast" in text and "sub.fast" not in text and "sub " in text


def test_a_gufunc_s_options_are_its_own():
    @guvectorize(["void(f8[:], f8[:])"], "(n)->()")
    def compensated(a, out):
        s = 0.0
        c = 0.0
        for i in range(len(a)):
            y = a[i] - c
            t = s + y
            c = (t - s) - y
            s = t
        out[0] = s

    @njit(**OPPOSITE)
    def caller(a):
        return compensated(a)

    a = np.full((3, 5000), 0.1)
    assert outcome(caller, a) == outcome(compensated, a)


def test_a_function_called_from_a_ufunc_keeps_its_own():
    ours, free = njit(quotient), njit(error_model="numpy")(quotient)
    add8 = njit("u1(u1, u1)")(lambda a, b: a + b)

    @vectorize
    def loud(a, b):
        return ours(a, b)

    @vectorize
    def quiet(a, b):
        return free(a, b)

    @vectorize
    def plain(a, b):
        return quotient(a, b)

    @vectorize
    def wraps(a, b):
        return add8(a, b)

    zero, one = np.zeros(3), np.ones(3)
    with pytest.raises(ZeroDivisionError):
        loud(one, zero)
    assert np.isinf(quiet(one, zero)).all() and np.isinf(plain(one, zero)).all()
    assert wraps(np.array([250]), np.array([10])).tolist() == [4]
    with pytest.raises(OverflowError):
        wraps(np.array([300]), np.array([10]))

    @njit(error_model="python")
    def caller(a, b):
        return plain(a, b)

    assert np.isinf(caller(one, zero)).all()


# --- what passes do with code of several functions ---


def test_merged_loops_keep_each_one_s_arithmetic():
    @njit
    def strict(a):
        return (a + 1e16) - 1e16

    @njit(fastmath=True)
    def fast(a):
        return a * 3.0 + 1.0

    @njit(fastmath=True)
    def caller(a):
        return (strict(a) + 0.0).sum(), fast(strict(a))

    a = np.arange(1000.0) / 7
    assert caller(a)[0] == (strict(a) + 0.0).sum() == math.fsum((a + 1e16) - 1e16)
    assert np.array_equal(caller(a)[1], strict(a) * 3.0 + 1.0)
    text = ir_of(caller)
    assert "add %" in text and "add.fast" in text


def test_reductions_of_prange_loops_keep_their_arithmetic(threads):
    @njit(parallel=True)
    def strict(a):
        s = 0.0
        m = 0.0
        for i in prange(len(a)):
            s += a[i]
            m = max(m, a[i])
        return s, m

    @njit(parallel=True)
    def histogram(a, k):
        h = np.zeros(3)
        for i in prange(len(a)):
            h[k[i]] += a[i]
        return h

    a = np.sin(np.arange(100_000.0))
    k = np.arange(100_000) % 3
    for options in [{}, OPPOSITE, {**OPPOSITE, "parallel": True}]:

        @njit(**options)
        def caller(a, k):
            return strict(a), histogram(a, k)

        r, h = caller(a, k)
        assert outcome(lambda: r) == outcome(strict, a)
        assert outcome(lambda: h) == outcome(histogram, a, k)


def test_a_prange_reduction_says_what_its_operations_allow():
    @njit(parallel=True, fastmath={"reassoc", "nsz"})
    def free(a):
        s = 0.0
        for i in prange(len(a)):
            s += a[i]
        return s

    @njit(parallel=True)
    def strict(a):
        s = 0.0
        for i in prange(len(a)):
            s += a[i]
        return s

    free(A), strict(A)
    assert "red(add.nsz.reassoc" in ir_of(free) and "red(add " in ir_of(strict)


def test_late_code_keeps_the_flags():
    @njit
    def strict(a, b):
        return ((a + b) + 1e16) - 1e16

    @njit(fastmath=True)
    def caller(a, b):
        return strict(a, b)

    a, b = np.arange(6.0).reshape(2, 3) / 7, np.arange(3.0) / 3
    for x, y in [(a, a), (a, b), (b, a)]:
        assert outcome(caller, x, y) == outcome(strict, x, y)
    assert ".late" in ir_of(caller)


# --- the cache ---

PROGRAM = """
import sys
import numpy as np
from treadle import njit, vectorize

@njit(**eval(sys.argv[1]))
def inner(a, i):
    return a[i] / a[0]

@vectorize(fastmath=eval(sys.argv[2]))
def ufunc(x):
    return x * 2.0 + 1.0

@njit(eval(sys.argv[3]))
def declared(x):
    return x

@njit(cache=True)
def f(a, i):
    return inner(a, i), ufunc(a).sum(), declared(300)

try:
    print(f(np.arange(3.0), 1), f.stats["loaded"])
except Exception as e:
    print(type(e).__name__, f.stats["loaded"])
"""


def test_what_reachable_functions_declare_is_in_the_key(tmp_path):
    def run(*argv):
        env = {**os.environ, "TREADLE_CACHE_DIR": str(tmp_path / "cache")}
        (tmp_path / "program.py").write_text(PROGRAM)
        r = subprocess.run(
            [sys.executable, str(tmp_path / "program.py"), *argv],
            capture_output=True,
            text=True,
            env=env,
            timeout=120,
        )
        assert r.returncode == 0, r.stderr
        return r.stdout.strip()

    rows = [
        ("{}", "False", "'i8(i8)'", "ZeroDivisionError"),
        ("{'error_model': 'numpy'}", "False", "'i8(i8)'", "(inf, 9.0, 300)"),
        ("{'error_model': 'numpy'}", "True", "'i8(i8)'", "(inf, 9.0, 300)"),
        ("{'error_model': 'numpy'}", "True", "'f8(i8)'", "(inf, 9.0, 300.0)"),
        ("{'error_model': 'numpy'}", "True", "['f8(u1)', 'f8(f8)']", "OverflowError"),
        ("{'error_model': 'numpy', 'boundscheck': False}", "True", "'f8(i8)'", "(inf, 9.0, 300.0)"),
        ("{'error_model': 'numpy', 'promotion': 'numba'}", "True", "'f8(i8)'", "(inf, 9.0, 300.0)"),
    ]
    for *argv, expected in rows:
        assert run(*argv) == f"{expected} 0", argv
    for *argv, expected in rows:
        assert run(*argv) == f"{expected} 1", argv


def test_functions_as_arguments_are_told_apart_by_their_options(tmp_path):
    source = """
import sys
from treadle import njit
def q(a, b):
    return a / b
kinds = {"plain": q, "strict": njit(q), "quiet": njit(error_model="numpy")(q), "declared": njit("i8(i8, i8)")(lambda a, b: a + b)}
@njit(cache=True)
def apply(f, a, b):
    return f(a, b)
for kind in sys.argv[1:]:
    try:
        print(apply(kinds[kind], 1, 0), apply.stats["loaded"])
    except Exception as e:
        print(type(e).__name__, apply.stats["loaded"])
"""
    (tmp_path / "program.py").write_text(source)
    env = {**os.environ, "TREADLE_CACHE_DIR": str(tmp_path / "cache")}
    for loaded in (0, 1):
        for kind, expected in [
            ("plain", "ZeroDivisionError"),
            ("quiet", "inf"),
            ("strict", "ZeroDivisionError"),
            ("declared", "1"),
        ]:
            r = subprocess.run(
                [sys.executable, str(tmp_path / "program.py"), kind],
                capture_output=True,
                text=True,
                env=env,
                timeout=120,
            )
            assert r.stdout.strip() == f"{expected} {loaded}", (kind, r.stdout, r.stderr)


def test_without_the_pass_that_inlines(tmp_path):
    """Calls that stay calls: the same program, and the backend's own inlining."""
    source = """
import math
import numpy as np
from treadle import njit
def kahan(a):
    s = c = 0.0
    for i in range(len(a)):
        y = a[i] - c
        t = s + y
        c = (t - s) - y
        s = t
    return s
ours = njit(kahan)
get = njit(lambda a, i: a[i])
add8 = njit("u1(u1, u1)")(lambda a, b: a + b)
@njit(fastmath=True, boundscheck=False)
def caller(a, i):
    return ours(a), get(a, i), add8(250, 10)
a = np.full(100_000, 0.1)
assert caller(a, 5) == (ours(a), 0.1, 4)
try:
    caller(a, 10**9)
except IndexError:
    print("fine")
"""
    for skip in ("", "inline"):
        (tmp_path / "program.py").write_text(source)
        env = {**os.environ, "TREADLE_SKIP": skip}
        r = subprocess.run(
            [sys.executable, str(tmp_path / "program.py")],
            capture_output=True,
            text=True,
            env=env,
            timeout=120,
        )
        assert r.stdout == "fine\n", r.stderr
