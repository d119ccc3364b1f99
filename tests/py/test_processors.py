"""TREADLE_CPU: code for processors by name, what of it can be run here; and what is good code for each.

Assembly is read where a time would tell: it is the same on every machine and under any load.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from treadle._core import _CPUS

SHOW = """
import json, math, sys
import numpy as np
from treadle import njit, vectorize
{source}
f.compile({signature!r})
text = "".join(f.inspect_asm().values())
try:
    result = repr(f(*{arguments}))
except RuntimeError as error:
    result = str(error)
print(json.dumps([text, result]))
"""


def child(code, cpu, **env):
    full = {k: v for k, v in os.environ.items() if not k.startswith("TREADLE_")} | env
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=full | {"TREADLE_CPU": cpu},
        timeout=120,
    )


def shown(source, signature, arguments, cpu="native", **env):
    """Assembly of the function `f` that `source` defines, without its late parts; and what a call gives."""
    r = child(SHOW.format(source=source, signature=signature, arguments=arguments), cpu, **env)
    assert r.returncode == 0, r.stderr
    text, result = json.loads(r.stdout)
    return text.partition("# late code")[0], result


LOOP = """
@njit
def f(a, b):
    for i in range(len(a)):
        b[i] = math.exp(a[i])
    return b[0]
"""
ARRAYS = "f8(f8[::1],f8[::1])", "(np.zeros(8), np.zeros(8))"
LACKS = "TREADLE_CPU names, and this machine lacks"


@pytest.mark.parametrize("cpu", _CPUS)
def test_every_processor_has_code(cpu):
    text, result = shown(LOOP, *ARRAYS, cpu)
    assert "tr_entry" in text
    assert result == "1.0" or LACKS in result
    if cpu in ("native", "x86-64"):
        assert result == "1.0"


# The widest vectors, and those of functions of mathematics.
@pytest.mark.parametrize(
    ("cpu", "math"),
    [
        ("nehalem", None),
        ("sandybridge", None),
        ("haswell", "d4_u10avx2"),
        ("alderlake", "d4_u10avx2"),
        ("znver3", "d4_u10avx2"),
        ("skylake-avx512", "d8_u10avx512f"),
        ("znver4", "d8_u10avx512f"),
    ],
)
def test_vector_math_follows_the_processor(cpu, math):
    text, _ = shown(LOOP, *ARRAYS, cpu)
    found = set(re.findall(r"tr_vk_exp(d[248]_\w+)", text))
    if math == "d8_u10avx512f":
        found.discard("d4_u10avx2")  # for what vectors of eight leave
    assert found == ({math} if math else set())
    twin = "purecfma" if math else "purec"
    assert re.search(rf"(tr_vk|Sleef_\w+)_?expd1_u10{twin}\b", text), text


def test_what_this_machine_lacks_is_not_run():
    # No processor is both of these.
    results = {cpu: shown(LOOP, *ARRAYS, cpu)[1] for cpu in ("graniterapids", "sierraforest", "znver5")}
    assert any(LACKS in result for result in results.values()), results
    foreign = next(cpu for cpu, result in results.items() if LACKS in result)
    code = (
        "import numpy as np\nfrom treadle import vectorize, njit\n"
        "u = vectorize(['f8(f8)'])(lambda x: x + 1)\n"
        "for call in (lambda: u(np.zeros(3)), lambda: u(1.0), lambda: u.reduce(np.zeros(3)),\n"
        "             lambda: njit(parallel=True)(lambda a: a + 1)(np.zeros(3))):\n"
        "    try: print(call())\n"
        "    except Exception as e: print(type(e).__name__)\n"
    )
    r = child(code, foreign)
    assert r.stdout.split() == ["RuntimeError", "RuntimeError", "ValueError", "RuntimeError"], r


def test_code_of_another_processor_is_not_cached_where_it_cannot_run(tmp_path):
    (tmp_path / "m.py").write_text(
        "import treadle\n@treadle.njit(cache=True)\ndef f(x): return x + 1\n"
        "try: print(f(1.0))\nexcept RuntimeError: print('no')\nprint(treadle.stats()['compiled'])\n"
    )
    os.mkdir(tmp_path / "cache", 0o700)
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import m"
    for cpu in ("znver5", "sierraforest", "graniterapids", "haswell", "native"):
        first, second = (child(code, cpu, TREADLE_CACHE_DIR=str(tmp_path / "cache")) for _ in range(2))
        if first.stdout.startswith("no"):
            assert second.stdout == first.stdout == "no\n1\n"  # told by the second process too
        else:
            assert (first.stdout, second.stdout) == ("2.0\n1\n", "2.0\n0\n"), second.stderr


def test_an_unknown_name_lists_what_there_is():
    r = child("from treadle import njit", "pentium")
    assert r.returncode == 1 and f"TREADLE_CPU='pentium': must be one of {', '.join(_CPUS)}" in r.stderr


# --- good code ---

WRAP = """
@njit
def f(a, b):
    n = len(a)
    for i in range(n):
        b[i] = a[i] + a[(i + 1) % n]
    return b[0]
"""


@pytest.mark.parametrize(
    ("cpu", "gathers"), [("sapphirerapids", True), ("icelake-server", False), ("znver4", False)]
)
def test_gathers_where_they_are_fast(cpu, gathers):
    assert ("vgatherqpd" in shown(WRAP, *ARRAYS, cpu)[0]) == gathers


CONVERTS = """
@njit
def f(n, seed):
    s = 0.0
    for i in range(n):
        seed = (seed * 1103515245 + 12345) % 2147483648
        s += math.log((seed + 1) / 2147483649.0)
    return s
"""


@pytest.mark.parametrize("cpu", ["haswell", "sapphirerapids", "znver4"])
def test_a_conversion_does_not_wait_for_a_callee(cpu):
    # It leaves half of its register as it was, so that one is cleared first: callees write it too.
    text, _ = shown(CONVERTS, "f8(i8,i8)", "(10, 1)", cpu)
    converted = re.findall(r"(.*)\n\tvcvtsi2sd\t.*, (%xmm\d+), %xmm\d+", text)
    assert converted
    assert all(re.match(rf"\tvxorp[sd]\t{r}, {r}, {r}", before) for before, r in converted), text


SUMS = """
@njit
def f(x, y):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            s = 0.0
            for k in range(x.shape[1]):
                s += {term}
            total += math.sqrt(s)
    return total
"""


# Along rows four rounds, and one for what is left; and the outer sum.
@pytest.mark.parametrize(("term", "sums"), [("(x[i, k] - y[j, k]) ** 2", 6), ("x[i, k] * y[k, j]", 2)])
def test_four_rounds_of_a_short_sum_at_a_time(term, sums):
    text, result = shown(
        SUMS.format(term=term), "f8(f8[:,::1],f8[:,::1])", "(np.full((3, 3), 2.0), np.ones((3, 3)))"
    )
    assert text.count("addsd") == sums, text
    assert float(result) == pytest.approx(9 * (3**0.5 if sums == 6 else 6**0.5))
