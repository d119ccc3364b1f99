"""Environment variables, statistics, and what importing costs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import treadle
from treadle import config, njit


def python(code, **env):
    full = {k: v for k, v in os.environ.items() if not k.startswith("TREADLE_")} | env
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=full, timeout=120)


def test_disable_jit():
    r = python(
        "from treadle import njit\n@njit('f8(f8)')\ndef f(x): return [x]\nprint(f(1), f.py_func is f)",
        TREADLE_DISABLE_JIT="1",
    )
    assert r.stdout == "[1] True\n", r.stderr


@pytest.mark.parametrize(
    "name",
    [
        "TREADLE_DISABLE_JIT",
        "TREADLE_BOUNDSCHECK",
        "TREADLE_PROMOTION",
        "TREADLE_OPT_LEVEL",
        "TREADLE_PLANT",
        "TREADLE_CPU",
    ],
)
def test_a_variable_with_a_bad_value_is_told(name):
    r = python("from treadle import njit", **{name: "perhaps"})
    assert r.returncode == 1 and f"{name}='perhaps': must be one of" in r.stderr


def test_promotion_variable():
    code = (
        "import numpy as np\nfrom treadle import njit\na = np.full(1, 0.1, np.float32)\n"
        "print(njit(lambda a: a[0] * 0.5 + 1)(a), njit(promotion='treadle')(lambda a: a[0] * 0.5 + 1)(a))"
    )
    numba, ours = python(code, TREADLE_PROMOTION="numba").stdout.split()
    assert numba != ours and ours == python(code).stdout.split()[0]


def test_boundscheck_variable():
    code = "import numpy as np\nfrom treadle import njit\nf = njit(lambda a, i: a[i])\nf(np.zeros(10)[:5], 7)"
    assert "IndexError" in python(code).stderr
    assert python(code, TREADLE_BOUNDSCHECK="0").returncode == 0


@pytest.mark.parametrize("level", ["0", "2", "3"])
def test_opt_level(level):
    r = python("from treadle import njit\nprint(njit(lambda x: x * 2 + 1)(20))", TREADLE_OPT_LEVEL=level)
    assert r.stdout == "41\n", r.stderr


def test_dump():
    code = "from treadle import njit\ndef g(x): return x + 1\nprint(njit(g)(1))"
    for stage, text in [
        ("front", "front"),
        ("infer", "i64"),
        ("llvm", "define"),
        ("asm", "tr_entry"),
        ("time", "time"),
    ]:
        r = python(code, TREADLE_DUMP=stage)
        assert r.returncode == 0 and text in r.stderr, stage
        assert r.stdout == "2\n"
    assert "define" not in python(code, TREADLE_DUMP="llvm@other").stderr
    assert (
        "stages" in python(code, TREADLE_DUMP="help").stderr.lower()
        or "front" in python(code, TREADLE_DUMP="help").stderr
    )
    r = python(code, TREADLE_DUMP="nonsense")
    assert r.stdout == "2\n" and "nonsense" in r.stderr


def test_skip_and_verify():
    code = "from treadle import njit\nprint(njit(lambda x: (x + 1) * (x + 1))(1))"
    r = python(code, TREADLE_VERIFY="1", TREADLE_DUMP="opt")
    assert r.stdout == "4\n" and "opt" in r.stderr, r.stderr
    r = python(code, TREADLE_SKIP="cse,fold", TREADLE_VERIFY="1")
    assert r.stdout == "4\n" and r.stderr == "", r.stderr
    for name, value in (
        ("TREADLE_SKIP", "cse,folds"),
        ("TREADLE_SKIP", "bound"),
        ("TREADLE_DUMP", "opt:bound"),
    ):
        r = python(code, **{name: value})
        assert r.stdout == "4\n" and r.stderr.count("\n") == 1, r.stderr
        bad = value.split(",")[-1].split(":")[-1]
        assert f"{name}: no pass is called '{bad}'; there are watch, grid, simplify, fold, " in r.stderr, (
            r.stderr
        )
        assert r.stderr.endswith(", schedule\n"), r.stderr


def test_settings_may_be_changed(monkeypatch):
    monkeypatch.setattr(config, "DISABLE_JIT", True)
    assert njit(lambda x: [x])(1) == [1]
    monkeypatch.setattr(config, "DISABLE_JIT", False)
    for level in (0, 3):
        monkeypatch.setattr(config, "OPT_LEVEL", level)
        assert njit(lambda x: x + level)(1) == 1 + level
    assert config.PLANT == 0 and config.BOUNDSCHECK and config.PROMOTION == "treadle"


def test_statistics():
    s = treadle.stats()
    assert set(s) == {"compiled", "loaded", "code_bytes", "arrays_allocated", "arrays_freed", "cached_bytes"}
    assert all(isinstance(v, int) and v >= 0 for v in s.values())
    f = treadle.njit(lambda x: x)
    f(1)
    t = treadle.stats()
    assert t["compiled"] == s["compiled"] + 1 and t["code_bytes"] > s["code_bytes"]


def test_import_is_light():
    code = (
        "import sys, numpy\nbefore = set(sys.modules)\nimport treadle\nfrom treadle import njit, float64\n"
        "print(*sorted(m for m in set(sys.modules) - before if not m.startswith('treadle')))\n"
        "print(any('treadle_llvm' in line for line in open('/proc/self/maps')))"
    )
    r = python(code)
    extra, llvm = r.stdout.splitlines()
    small = ("__future__", "cmath")  # 0.2 ms; test_threads.py says why cmath is imported here
    extra = [m for m in extra.split() if m not in small and not m.startswith("numpy.")]
    assert not extra and llvm == "False", r.stdout + r.stderr


def test_cached_functions_do_not_load_the_back_end(tmp_path):
    path = tmp_path / "mod.py"
    path.write_text(
        "from treadle import njit\n@njit(cache=True)\ndef f(x):\n    return x * 2\nprint(f(21), f.stats['loaded'])\n"
        "print(any('treadle_llvm' in line for line in open('/proc/self/maps')))"
    )

    def go():
        env = dict(os.environ, TREADLE_CACHE_DIR=str(tmp_path / "c"))
        return subprocess.run(
            [sys.executable, str(path)], capture_output=True, text=True, env=env
        ).stdout.split()

    assert go() == ["42", "0", "True"]
    assert go() == ["42", "1", "False"]


def test_interpreter_shutdown_with_live_results():
    r = python(
        "import numpy as np, atexit\nfrom treadle import njit\nf = njit(lambda n: np.ones(n))\na = f(10)\nkeep = [f, a, f(3)[1:]]\n"
        "import sys; sys.keep = keep\natexit.register(lambda: print(a.sum(), f(2).sum()))"
    )
    assert (r.stdout, r.stderr, r.returncode) == ("10.0 2.0\n", "", 0)
