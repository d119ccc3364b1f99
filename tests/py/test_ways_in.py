"""The matrix: every feature of ways_features.py, by every way of ways.py, gives what the same function gives when it is called plainly."""

from __future__ import annotations

import functools
import os
import pickle
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import treadle.config
from treadle import njit

sys.path.insert(0, str(Path(__file__).parent))
import ways  # noqa: E402
from ways_features import FEATURES, Feature  # noqa: E402


@functools.cache
def in_python(name: str) -> list:
    """The results in CPython as trees, but for calls that raise."""
    ft, found = FEATURES[name], []
    for call in ft.calls:
        args = call()
        got = ways.outcome(lambda ft=ft, a=args: ft.function(*a), args)
        found += [got.result] if got.error is None else []
    return found


@functools.cache
def rows() -> list[tuple[str, str]]:
    """The pairs of a feature and a way by which at least one of its calls can go."""
    out = []
    for ft in FEATURES.values():
        for name, (_, applies) in ways.WAYS.items():
            if any(applies(ft, call(), in_python(ft.name)) for call in ft.calls):
                out.append((ft.name, name))
    return out


@functools.cache
def oracle(name: str) -> list[ways.Outcome]:
    """The outcomes of plain calls."""
    return [ways.run(ways.compiled(name), call)[0] for call in FEATURES[name].calls]


@pytest.mark.parametrize("name", FEATURES)
def test_plainly(name):
    """The oracle itself: no function of the list is refused, but for arguments that a declared signature does not take."""
    for got in oracle(name):
        refused = got.error is not None and got.error[0].__module__.startswith("treadle")
        assert not refused, got.error


SLICE = int(
    os.environ.get("TREADLE_WAYS", "1")
)  # each so manieth row: runs that are slow, or one of many, take a part


@pytest.mark.parametrize("name, way", rows()[::SLICE])
def test_way(name, way, tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_CACHE_DIR", str(tmp_path))
    ft = FEATURES[name]
    go, applies = ways.WAYS[way]
    for call, want in zip(ft.calls, oracle(name), strict=True):
        if applies(ft, call(), in_python(name)):
            for got in go(ft, call, want):
                text = ways.compare(want, got, ft.rtol, ft.signature is not None)
                assert not text, f"{name} {way}, called with {call()}: {text}"


# --- ways that a whole process goes ---


def child(*args: object, **env: object) -> str:
    """What `ways.py` prints, in an environment with more in it."""
    path = str(Path(ways.__file__))
    more = {k: str(v) for k, v in env.items()}
    done = subprocess.run([sys.executable, path, *map(str, args)], capture_output=True, text=True, env={**os.environ, **more}, timeout=800)  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def differences(found: dict, of: list[Feature], **how: object) -> list[str]:
    """How the outcomes of a process are not those of plain calls in this one."""
    texts = []
    for ft in of:
        for want, got in zip(oracle(ft.name), found[ft.name], strict=True):
            got.rtol = max(got.rtol, how.get("rtol", 0.0))
            text = ways.compare(
                want, got, ft.rtol, ft.signature is not None, messages=how.get("messages", True)
            )
            texts += [f"{ft.name}: {text}"] if text else []
    return texts


@pytest.mark.slow
def test_from_the_cache_in_a_second_process(tmp_path):
    counts = []
    for k in range(2):
        child("plainly", tmp_path / f"out{k}", TREADLE_CACHE_DIR=tmp_path / "cache")
        found, stats = pickle.loads((tmp_path / f"out{k}").read_bytes())
        assert differences(found, list(FEATURES.values())) == []
        counts.append(stats)
    assert counts[0]["compiled"] > len(FEATURES) > counts[0]["loaded"]
    assert (
        counts[1]["loaded"] > 0.9 * counts[0]["compiled"]
        and counts[1]["compiled"] < 0.1 * counts[0]["compiled"]
    )


def test_without_the_jit(tmp_path):
    child("plainly", tmp_path / "out", TREADLE_DISABLE_JIT=1)
    found, _ = pickle.loads((tmp_path / "out").read_bytes())
    same = [ft for ft in FEATURES.values() if ft.python]
    assert len(same) > len(FEATURES) / 2
    assert differences(found, same, rtol=1e-12, messages=False) == []


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("env", [{"TREADLE_SKIP": "inline", "TREADLE_OPT_LEVEL": "0"}, {"TREADLE_OPT_LEVEL": "0"}], ids=["not inlined", "quick code"])  # fmt: skip
def test_calls_that_stay_calls(env):
    lines = child("check", "from_a_caller", "from_an_opposite_caller", **env).splitlines()
    assert [line for line in lines if line.startswith("differs")] == []
    assert int(lines[-1].split()[0]) > 2 * len(FEATURES)


# --- the matrix itself can fail ---


def test_each_way_is_gone_with_many_features():
    gone = Counter(way for _, way in rows())
    assert min(gone.values()) > 40, gone
    assert set(gone) == set(ways.WAYS)


@pytest.mark.parametrize("name", ["scatter_add", "reduction_sum", "loops"])
def test_late_code_is_late(name, monkeypatch):
    """The way that is named so gets to what is compiled when it is first reached; quick code has nothing of the kind."""
    monkeypatch.setattr(treadle.config, "OPT_LEVEL", 2)
    ft, a = FEATURES[name], np.ones((3, 4))
    f = njit(ways.made(ways.late_caller(len(ft.calls[0]())), f=ways.compiled(name)))
    f(a, a, *ft.calls[0]())
    before = f.stats["code_bytes"]
    f(a, a[:1], *ft.calls[0]())
    assert f.stats["code_bytes"] > before


@pytest.mark.parametrize("wrong", ["result", "dtype", "sign", "argument", "exception", "message", "identity"])
def test_a_wrong_outcome_is_seen(wrong):
    a = np.array([1.0, -0.0])
    want = ways.outcome(lambda: (a, a * 2, 3), (a,))
    assert not ways.compare(want, ways.outcome(lambda: (a, a * 2, 3), (a,)))
    b = np.array([1.0, 0.0])
    other = {
        "result": lambda: (a, a * 2, 4),
        "dtype": lambda: (a, (a * 2).astype("f4"), 3),
        "sign": lambda: (a, b * 2, 3),
        "identity": lambda: (a.copy(), a * 2, 3),
        "exception": lambda: 1 // 0,
    }
    if wrong == "argument":
        assert ways.compare(want, ways.outcome(lambda: (b, b * 2, 3), (b,)))
    elif wrong == "message":
        one, two = (ways.Outcome(None, ("tuple",), (ValueError, (text,))) for text in "ab")
        assert ways.compare(one, two)
    else:
        assert ways.compare(want, ways.outcome(other[wrong], (a,)))
