"""Functions of NumPy's written in NumPy (python/treadle/_library): how they get into a program, and what is said of them."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from treadle import _library, njit, prange
from treadle.errors import TypingError

sys.path.insert(0, str(Path(__file__).parent))
from library_check import same  # noqa: E402

ROOT = Path(__file__).parents[2]
ALL = [
    (owner, family.partition("/")[0], name)
    for family, (owner, names) in _library.FAMILIES.items()
    for name in names.split()
]
# Parameters that ours lacks, as compiled code has no meaning for them.
LEFT_OUT = {"where", "like", "subok"}
# Parameters that older NumPys, and Pythons, lack.
NEWER = {"unique": {"sorted"}, "batched": {"strict"}}


def theirs(owner: str, name: str):
    module, _, cls = owner.partition(".") if owner == "itertools.chain" else (owner, "", "")
    inside = importlib.import_module(module)
    return getattr(getattr(inside, cls) if cls else inside, name, None)


def test_each_stands_once():
    assert len(set(ALL)) == len(ALL)


@pytest.mark.parametrize(("owner", "family", "name"), ALL)
def test_each_is_numpys(owner, family, name):
    """Under its name and with its parameters, in order; defaults are the same but where NumPy has a marker."""
    theirs_ = theirs(owner, name)
    ours = getattr(importlib.import_module(f"treadle._library.{family}"), name)
    if theirs_ is None:
        pytest.skip(f"this NumPy has no {owner}.{name}")
    assert _library.find(theirs_)[0] is ours
    try:
        want = inspect.signature(theirs_).parameters
    except (ValueError, TypeError):  # written in C, without a text; or subscripted
        return
    got = inspect.signature(ours).parameters
    got = {p: got[p] for p in got if p in want or p not in NEWER.get(name, ())}
    if any(p.kind is p.VAR_KEYWORD for p in want.values()):  # ours have names
        want = {name: p for name, p in want.items() if p.kind is not p.VAR_KEYWORD}
        got = {name: p for name, p in got.items() if name in want or p.kind is not p.KEYWORD_ONLY}
    assert list(got) == [p for p in want if p in got], "other parameters, or in another order"
    assert not set(want) - set(got) - LEFT_OUT or all(
        want[p].default is not inspect.Parameter.empty for p in set(want) - set(got)
    ), "one that has no default is missing"
    for p in got:
        if want[p].default in (None, True, False) or isinstance(want[p].default, (int, float, str)):
            assert got[p].default == want[p].default or got[p].default is None, p


def public() -> list[tuple[str, str]]:
    """Functions and classes of NumPy's that programs call; not its types, exceptions and modules."""
    out = []
    for module in (np, np.linalg, np.fft, np.random, np.lib.stride_tricks):
        for name in getattr(module, "__all__", ["as_strided", "sliding_window_view"]):
            o = getattr(module, name, None)
            is_type = isinstance(o, type) and issubclass(
                o, (np.generic, BaseException, np.dtype, np.ufunc, np.flatiter)
            )
            if callable(o) and not is_type and name != "test" and not name.startswith("_"):
                out.append((module.__name__, name))
    return out


def missing() -> list[tuple[str, list[str]]]:
    text = (ROOT / "src/lib/missing.def").read_text()
    return [(m, names.split()) for m, names in re.findall(r'(?m)^M\("([\w.]+)", "([^"]+)"', text)]


def in_rows() -> set[int]:
    """Identities of what rows of builtins.def name."""
    text = (ROOT / "src/lib/builtins.def").read_text()
    found = set()
    for path in re.findall(r'(?m)^F\(\w+,\s*"(numpy\.[\w.]+)"', text):
        try:
            found.add(id(functools.reduce(getattr, path.split(".")[1:], np)))
        except AttributeError:  # another NumPy's
            pass
    return found


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="the lists are NumPy 2.4's")
def test_every_public_function_stands_in_one_list():
    rows, ours = in_rows(), {(owner, name) for owner, _, name in ALL}
    named = {(m, n) for m, names in missing() for n in names}
    none, twice = [], []
    for owner, name in public():
        compiled = (
            id(getattr(sys.modules[owner], name)) in rows or (owner, name) in ours or is_ufunc(owner, name)
        )
        absent = (owner, name) in named or (owner, "*") in named and not compiled
        if compiled and absent:
            twice.append(f"{owner}.{name}")
        if not compiled and not absent:
            none.append(f"{owner}.{name}")
    assert (none, twice) == ([], [])


def is_ufunc(owner: str, name: str) -> bool:
    """Those that have no row are called by their own loops."""
    o = getattr(sys.modules[owner], name)
    return isinstance(o, np.ufunc) and not {"isnat"} & {name}


def test_only_numpys_own_is_replaced():
    def nansum(a):
        return a.size

    f = njit(lambda a: nansum(a))
    assert f(np.ones(3)) == 3
    assert _library.find(nansum) is None


@njit
def total(a):
    return np.nansum(a) + np.nansum(a, axis=0)[1] + np.nansum(a, axis=0, keepdims=True)[0, 0]


def test_a_constant_stays_one():
    x = np.array([[1.0, np.nan, 2.0], [np.nan, 5.0, 6.0]])
    assert total(x) == 14 + 5 + 1


def test_what_is_wrong_is_told_at_the_call():
    def f(a, k):
        b = a + 1
        return np.nansum(b, 0, keepdims=k)

    with pytest.raises(TypingError, match=r"nansum\(\): .*keepdims must be a constant") as e:
        njit(f)(np.ones((2, 2)), True)
    line = inspect.getsourcelines(f)[1] + 2
    assert f"test_library.py:{line}:" in str(e.value)
    assert "return np.nansum(b, 0, keepdims=k)" in str(e.value)
    assert "treadle/_library" not in str(e.value)


def test_a_constant_stays_one_within():
    """In what a function of the library calls, in tuples, and when it was met before under NumPy's name."""

    @njit
    def f(a):
        x, y = np.array_split(a, 2)
        return (
            np.hsplit(a, (2,))[1].sum()
            + np.vsplit(a, 2)[1].sum()
            + x.size
            + np.tensordot(a, a, ((0,), (0,))).size
        )

    a = np.arange(12).reshape(4, 3)
    assert f(a) == f.py_func(a)


def test_what_the_library_asks():
    """Constants are known, and what is refused is an error of the compile; run by Python everything is known."""

    def f(a):
        return _library.is_constant(3), _library.is_constant(None), _library.is_constant(a)

    assert njit(f)(1.0) == (True, True, False) and f(1.0) == (True, True, True)

    def g(a):
        return _library.refuse("not that") if a.ndim == 1 else a.ndim

    assert njit(g)(np.ones((2, 2))) == 2
    with pytest.raises(TypingError, match="not that"):
        njit(g)(np.ones(2))
    with pytest.raises(TypeError, match="not that"):
        g(np.ones(2))


def test_it_is_inlined_and_fused():
    f = njit(lambda a: np.nansum(a * 2))
    f(np.ones(3))
    (text,) = f.inspect_ir().values()
    assert text.count("pattern") == 1 and "alloc" not in text


def test_in_a_parallel_loop():
    @njit(parallel=True)
    def f(a, out):
        for i in prange(a.shape[0]):
            out[i] = np.nansum(a[i])

    a = np.arange(12.0).reshape(4, 3)
    a[1, 1] = np.nan
    out = np.empty(4)
    f(a, out)
    assert out.tolist() == np.nansum(a, axis=1).tolist()


def test_what_a_module_has_counts(monkeypatch):
    """A function that was put in place of NumPy's is what is called."""
    f = njit(lambda a: np.nansum(a))
    assert f(np.ones(3)) == 3
    monkeypatch.setattr(np, "nansum", lambda a: a.size + 100)
    g = njit(lambda a: np.nansum(a))
    assert g(np.ones(3)) == 103


PROGRAM = """
import numpy as np
from treadle import njit

@njit(cache=True)
def f(a):
    return np.nansum(a)

print(f(np.array([1.0, np.nan])), f.stats["loaded"])
"""


def test_from_the_cache(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    env = dict(os.environ, TREADLE_CACHE_DIR=str(tmp_path / "cache"))
    out = []
    for _ in range(2):
        run = subprocess.run(
            [sys.executable, tmp_path / "program.py"],
            env=env,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        out.append(run.stdout.split())
    assert out == [["1.0", "0"], ["1.0", "1"]]


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (np.ones(3), np.ones(4)),
        (np.ones(3), np.ones(3, "f4")),
        (1.0, 2.0),
        ((1, 2), (1,)),
        (1, ValueError()),
        (IndexError(), ValueError()),
        (ValueError(), KeyError()),
        (None, 0),
    ],
)
def test_differences_are_seen(got, want):
    with pytest.raises(AssertionError):
        same(got, want, "planted")
