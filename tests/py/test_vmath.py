"""Vector math: vectors, scalars and remainders of loops agree bit for bit, on this processor and on narrower ones.

How far the functions are from exact values is measured in tests/c/test_vmath.c and in test_builtins_math.py.
"""

from __future__ import annotations

import functools
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from treadle import config, njit

ROOT = Path(__file__).parents[2]
DTYPES = (np.float64, np.float32)
LEVELS = {"native": 0, "x86-64": 1, "x86-64-v2": 2, "x86-64-v3": 3, "x86-64-v4": 4}
LANES = {"x86-64": "sse2", "x86-64-v2": "sse4", "x86-64-v3": "avx2", "x86-64-v4": "avx512f"}
NAMES = {"tgamma": "math.gamma(x)", "nextafter": "math.nextafter(x, y)", "pow": "x ** y"}


def table():
    """Rows of the table: name, arity, fast, families of float64 and of float32."""
    text = re.sub(r"/\*.*?\*/", "", (ROOT / "src/vmath/vmath_x86_64.def").read_text(), flags=re.S)
    own = [(n, int(k), False, "f", "f") for n, k in re.findall(r"VM_OWN\((\w+), *(\d)\)", text)]
    row = r"VM_(?:FN|MENDED)\((\w+), *(\d), *\w*, *(EXACT|FAST), *\"(\w*)\", *\"(\w*)\""
    return own + [(n, int(k), use == "FAST", d, f) for n, k, use, d, f in re.findall(row, text)]


EXACT: dict[str, tuple[int, str, str]] = {}
for _n, _k, _fast, _d, _f in table():
    if not _fast:
        _, _d0, _f0 = EXACT.get(_n, (_k, "", ""))
        EXACT[_n] = _k, _d0 + _d, _f0 + _f
FAST = {n for n, _, fast, _, _ in table() if fast}


def runs(level):
    """True if this machine has the level."""
    flags = set(re.search(r"^flags\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)[1].split())
    need = {"x86-64-v2": {"sse4_2"}, "x86-64-v3": {"avx2", "fma", "bmi2"}}
    need["x86-64-v4"] = need["x86-64-v3"] | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
    return need.get(level, set()) <= flags


def expression(name):
    arguments = "x, y" if EXACT[name][0] == 2 else "x"
    return NAMES.get(name, f"math.{name}({arguments})")


@functools.cache
def compiled(expr, level, fast=False):
    """A loop over arrays, and the same for two numbers."""
    before, config.CPU = config.CPU, LEVELS[level]
    try:
        space = {"math": math}
        exec(f"def one(x, y):\n    return {expr}\n", space)
        exec(
            "def loop(a, b, out):\n    for i in range(len(a)):\n        x = a[i]\n        y = b[i]\n"
            f"        out[i] = {expr}\n",
            space,
        )
        return tuple(njit(fastmath=fast)(space[n]) for n in ("loop", "one"))
    finally:
        config.CPU = before


def samples(dtype, n):
    rng = np.random.default_rng(7)
    special = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        1e-40,
        -1e-40,
        5e-324,
        0.5,
        1,
        -1,
        710.3,
        89.2,
        -746,
        1e30,
        -2.5,
    ]
    bits = rng.integers(0, 2**63, n, dtype=np.int64).view(np.float64)
    plain = rng.uniform(-10, 10, n)
    with np.errstate(all="ignore"):
        return np.where(
            rng.random(n) < 0.3, rng.choice(special, n), np.where(rng.random(n) < 0.3, bits, plain)
        ).astype(dtype)


def bits(a):
    """The bits of an array, with one nan for all."""
    return np.where(np.isnan(a), np.array(np.nan, a.dtype), a).view(f"i{a.itemsize}").tolist()


def check_lengths(loop, one, dtype, lengths, offsets):
    a, b = samples(dtype, 64), samples(dtype, 64)[::-1].copy()
    want = bits(np.array([one(x, y) for x, y in zip(a, b, strict=True)], dtype))
    for off in offsets:
        for n in lengths:
            out = np.full(n, 77, dtype)
            loop(a[off : off + n], b[off : off + n], out)
            assert bits(out) == want[off : off + n], (off, n)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", EXACT)
def test_a_value_does_not_depend_on_its_place(name, dtype):
    loop, one = compiled(expression(name), "native")
    check_lengths(loop, one, dtype, range(41), (0, 1, 3))
    if name in FAST:
        loop, one = compiled(expression(name), "native", True)
        check_fast(loop, one, dtype)


def check_fast(loop, one, dtype):
    """On finite numbers: fastmath promises nothing of nan and infinities."""
    a = np.random.default_rng(3).uniform(0.01, 0.99, 64).astype(dtype)
    want = bits(np.array([one(x, x) for x in a], dtype))
    for n in (1, 7, 31, 40):
        out = np.zeros(n, dtype)
        loop(a[2 : 2 + n], a[2 : 2 + n], out)
        assert bits(out) == want[2 : 2 + n], n


@pytest.mark.parametrize("level", LANES)
@pytest.mark.parametrize("name", ["exp", "log", "tanh", "erf", "pow", "sin", "sinh", "atan2"])
def test_narrower_processors(name, level):
    if not runs(level):
        return  # told by test_a_processor_that_is_not_there
    loop, one = compiled(expression(name), level)
    for dtype in DTYPES:
        check_lengths(loop, one, dtype, (0, 1, 5, 16, 33, 40), (0, 1))
        letter = "f" if dtype is np.float32 else "d"
        family = "f" if level in ("x86-64-v3", "x86-64-v4") else "c"
        variants = set(re.findall(rf"\w+_{name}{letter}\d+_\w+{LANES[level]}\b", "".join(assembly(loop))))
        assert bool(variants) == (family in EXACT[name][1]), variants


def assembly(f):
    text = f.inspect_asm()
    return text.values() if isinstance(text, dict) else [text]


def test_a_processor_that_is_not_there():
    # Code for a level that the machine lacks is not run; number 250 is no processor at all.
    out = subprocess.run(
        [os.environ["TREADLEC"], "--set", "cpu=250", "--exec", "f(1.0)"],
        input="fn @f -> f64 {\nb0(%x: f64):\n  ret %x\n}\n",
        capture_output=True,
        text=True,
    )
    assert out.returncode != 0 and "TREADLE_CPU" in out.stderr
    for level in LANES:
        code = "from treadle import njit\nprint(njit(lambda x: x + 1)(1.0))"
        r = child(code, TREADLE_CPU=level)
        assert (r.stdout == "2.0\n") == runs(level), r.stderr
        assert runs(level) or "TREADLE_CPU" in r.stderr


def child(code, **env):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **env}, timeout=120
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_loop_is_vectorised(dtype):
    letter = "f" if dtype is np.float32 else "d"
    for name, (_, d, f) in EXACT.items():
        loop, _ = compiled(expression(name), "native")
        loop(*[np.ones(3, dtype)] * 3)
        text = "".join(assembly(loop))
        found = re.search(rf"_{name}{letter}([2-9]|1\d)_", text)
        family = "f" if runs("x86-64-v3") else "c"
        assert bool(found) == (family in (f if dtype is np.float32 else d)), name


def test_vectors_round_calls_are_aligned_on_the_stack():
    @njit(error_model="numpy")
    def f(a, b, out):
        for i in range(len(a)):
            out[i] = a[i] * math.exp(b[i]) + b[i] * math.log(a[i]) - math.tanh(a[i])

    a = np.linspace(1, 2, 40)
    f(a, a, np.empty(40))
    text = "".join(assembly(f))
    assert re.search(r"vmova\w+\s+%[yz]mm\d+, \d*\(%rsp\)", text) or not runs("x86-64-v3")
    assert not re.search(r"vmovu\w+\s+%[yz]mm\d+, \d*\(%rsp\)", text)


def test_conditional_code_is_vectorised():
    @njit
    def f(a, out):
        for i in range(len(a)):
            if a[i] > 0:
                out[i] = math.log(a[i])
            else:
                out[i] = -1

    a = np.linspace(-1, 5, 99)
    out = np.empty_like(a)
    f(a, out)
    assert re.search(r"_logd[248]_", "".join(assembly(f)))
    one = njit(lambda x: math.log(x))
    assert bits(out) == bits(np.array([one(x) if x > 0 else -1.0 for x in a]))


def test_fastmath_uses_the_faster_functions():
    def f(a, out):
        for i in range(len(a)):
            out[i] = math.sin(a[i])

    a, out = np.linspace(-9, 9, 50), np.empty(50)
    for flags, accuracy in ((False, "u10"), (True, "u35"), ({"afn"}, "u35"), ({"nsz", "contract"}, "u10")):
        g = njit(fastmath=flags)(f)
        g(a, out)
        assert {s[-3:] for s in re.findall(r"_sind\d_u\d\d", "".join(assembly(g)))} == (
            {accuracy} if runs("x86-64-v3") else {"u10"}
        )
        np.testing.assert_allclose(out, np.sin(a), rtol=1e-15, atol=1e-16)


def test_whole_arrays_and_default_passes(monkeypatch):
    a = samples(np.float64, 40)
    want = bits(np.array([njit(math_exp)(x) for x in a]))
    assert bits(njit(lambda a: np.exp(a))(a)) == want
    assert bits(njit(lambda a: np.exp(a))(np.repeat(a, 2)[::2])) == want
    monkeypatch.setattr(config, "OPT_LEVEL", 3)
    loop = njit(lambda a: np.exp(a))
    assert bits(loop(a)) == want
    monkeypatch.setattr(config, "OPT_LEVEL", 0)
    assert bits(njit(lambda a: np.exp(a))(a)) == want


def math_exp(x):
    return math.exp(x)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_power_of_two_is_a_product(dtype, level):
    if not runs(level):
        return  # told by test_a_processor_that_is_not_there
    loop, one = compiled("x ** y", level)
    a, out = samples(dtype, 64), np.empty(64, dtype)
    loop(a, np.full(64, 2, dtype), out)
    with np.errstate(all="ignore"):
        assert bits(out) == bits(a * a) == bits(np.array([one(x, dtype(2)) for x in a], dtype))


def test_sleef_is_opened_by_code_that_needs_it():
    code = (
        "import math, numpy as np\nfrom treadle import njit\n"
        "def there(): return 'libsleef' in open('/proc/self/maps').read()\n"
        "njit(lambda a: np.sqrt(a).sum() + abs(a[0]))(np.ones(9))\nprint(there())\n"
        "njit(lambda a: math.exp(a))(1.0)\nprint(there())\n"
        "njit(lambda a: math.log2(a))(1.0)\nprint(there())\n"
    )
    r = child(code)
    own = runs("x86-64-v3")  # there exp is a kernel of ours
    assert r.stdout.split() == ["False", str(not own), "True"], r.stderr


def test_cached_code_finds_its_functions(tmp_path):
    (tmp_path / "cached.py").write_text(
        "import math\nimport numpy as np\nimport treadle\n\n@treadle.njit(cache=True)\ndef f(a):\n"
        "    s = 0.0\n    for i in range(len(a)):\n        s += math.sinh(a[i]) + math.exp(a[i])\n    return s\n\n"
        "print(f(np.linspace(-1, 1, 37)).hex(), treadle.stats()['compiled'])\n"
    )
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import cached"
    env = {"TREADLE_CACHE_DIR": str(tmp_path / "cache")}
    os.mkdir(tmp_path / "cache", 0o700)
    first, second = (child(code, **env) for _ in range(2))
    assert first.stdout.split()[1] == "1" and second.stdout.split() == [first.stdout.split()[0], "0"], (
        second.stderr
    )
    assert child(code, **env, TREADLE_CPU="x86-64").stdout.split()[1] == "1"  # another key
    assert child(code, **env).stdout.split()[1] == "0"


@pytest.mark.parametrize("dtype", DTYPES)
def test_hypot(dtype):
    f = njit(lambda x, y: math.hypot(x, y))
    for x in samples(dtype, 300):
        for y in samples(dtype, 12):
            with np.errstate(all="ignore"):
                want = dtype(np.hypot(np.longdouble(x), np.longdouble(y)))
                got = f(x, y)
                near = np.isnan(want) and np.isnan(got) or want == got or abs(want - got) <= np.spacing(want)
            assert near, (x, y, got, want)
    assert f(dtype(np.inf), dtype(np.nan)) == f(dtype(np.nan), dtype(-np.inf)) == np.inf


@pytest.mark.slow
def test_tables_are_those_that_the_generator_makes():
    r = subprocess.run([sys.executable, ROOT / "tools/gen_vmath.py", "--check"], timeout=300)
    assert r.returncode == 0, "run tools/gen_vmath.py"


def test_the_page_lists_every_function():
    page = (ROOT / "docs/math.md").read_text().split("<!-- table -->")[1].split("<!-- end -->")[0]
    cells = re.findall(r"^\| `(\w+)` \|(.*)\|$", page, re.M)
    assert [name for name, _ in cells] == list(EXACT)
    for name, row in cells:
        exact64, exact32, fast64, fast32 = row.split("|")[:4]
        k, d, f = EXACT[name]
        for text, families, limit in ((exact64, d, 1), (exact32, f, 1), (fast64, d, 4), (fast32, f, 4)):
            figures = [float(x) for x in re.findall(r"\d\.\d\d", text)]
            assert all(x <= limit for x in figures), (name, row)
            assert bool(families) == (bool(figures) or "same" in text), (name, row)


def test_the_page_says_how_far_calls_on_single_numbers_are_off():
    page = (ROOT / "docs/math.md").read_text().split("<!-- scalars -->")[1].split("<!-- end -->")[0]
    rows = {name: row.split("|") for name, row in re.findall(r"^\| `(\w+)` \|(.*)\|$", page, re.M)}
    libm = {"erfc", "lgamma", "asinh", "acosh"}
    assert set(rows) == set(EXACT) - {"fmod", "nextafter"} | libm
    for name, (d, _, f, _, whose) in rows.items():
        assert (whose.strip() == "libm") == (name in libm)
        assert max(float(d), float(f)) <= (6 if name in libm else 1), name
