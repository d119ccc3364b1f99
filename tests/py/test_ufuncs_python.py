"""Ufuncs under TREADLE_DISABLE_JIT: NumPy's own objects around Python code, with the types and results of compiled ones."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from treadle import config, guvectorize, njit, ufunc_info, vectorize


def twice(x):
    return 2 * x


def affine(x, y):
    return twice(x) + y


def larger(x, y):
    return x if x > y else y


def both(x):
    return x + 1, x > 2


def fill(a, k, out):
    for i in range(len(a)):
        if a[i] > 2:
            out[i] = a[i] * k


def bump(a):
    for i in range(len(a)):
        a[i] += 1


@pytest.fixture
def as_python(monkeypatch):
    """Applies a decorator under TREADLE_DISABLE_JIT."""

    def apply(decorate, fn) -> Any:
        monkeypatch.setattr(config, "DISABLE_JIT", True)
        python = decorate(fn)
        monkeypatch.setattr(config, "DISABLE_JIT", False)
        return python

    return apply


@pytest.fixture
def make(as_python):
    """Applies a decorator twice: compiled, and as Python code."""
    return lambda decorate, fn: (decorate(fn), as_python(decorate, fn))


def same(got: Any, want: Any) -> None:
    assert type(got) is type(want)
    for g, w in zip(got, want) if isinstance(got, tuple) else [(got, want)]:
        assert np.asarray(g).dtype == np.asarray(w).dtype
        np.testing.assert_array_equal(g, w)


a, b, n = np.arange(6.0).reshape(2, 3), np.array([4.0, 1.0, 2.0]), np.arange(5)
CALLS = [
    lambda f: f(a, b),
    lambda f: f(a[:, ::-1], b[::-1].astype(">f8")),
    lambda f: f(a.astype("f4"), 2.5),
    lambda f: f(a.astype("f2"), b.astype("f2")),
    lambda f: f(n, 2),
    lambda f: f(2, 3.5),
    lambda f: f(np.zeros((0, 3)), b),
    lambda f: f(a, b, out=np.zeros((2, 3), "f4"), casting="same_kind"),
    lambda f: f(a, b, where=a > 2, out=np.full((2, 3), -1.0)),
    lambda f: f(a, b, dtype="f4", casting="same_kind"),
    lambda f: f.reduce(a),
    lambda f: f.reduce(n.astype("f8"), keepdims=True),
    lambda f: f.accumulate(a, axis=1),
    lambda f: f.reduceat(b, [0, 1]),
    lambda f: f.outer(n, b),
    lambda f: f(np.arange(3000.0), np.arange(3000.0)[::-1]),
]


@pytest.mark.parametrize("target", ["cpu", "parallel"])
@pytest.mark.parametrize("signatures", [None, ["f4(f4,f4)", "f8(f8,f8)"]], ids=["lazy", "declared"])
@pytest.mark.parametrize("fn", [affine, larger])
def test_calls(make, fn, signatures, target):
    compiled, python = make(vectorize(signatures, target=target), fn)
    assert (
        isinstance(python, np.ufunc)
        and ufunc_info(python).py_func is fn
        and ufunc_info(python).target == target
    )
    for call in CALLS:
        same(call(python), call(compiled))
    x, y = b.copy(), b.copy()
    compiled.at(x, [0, 0, 2], 3.0)
    python.at(y, [0, 0, 2], 3.0)
    same(y, x)
    assert set(ufunc_info(python).overloads.items()) == set(ufunc_info(compiled).overloads.items())


def test_several_outputs(make):
    compiled, python = make(vectorize(["Tuple((f8, b1))(f8)"]), both)
    same(python(b), compiled(b))
    same(python(3.0), compiled(3.0))


@pytest.mark.parametrize("target", ["cpu", "parallel"])
@pytest.mark.parametrize(
    "signatures", [None, ["void(f8[:],f8,f8[:])", "void(f4[:],f4,f4[:])"]], ids=["lazy", "declared"]
)
def test_gufuncs(make, signatures, target):
    compiled, python = make(guvectorize(signatures, "(n),()->(n)", target=target), fill)
    for x, k in ((b, 2.0), (a, b[:2]), (a.astype("f4"), 2), (a[::-1], 3.0)):
        for dtype in ("f8", "f4"):
            out = [np.full(x.shape, 9.0).astype(dtype) for _ in range(2)]
            assert python(x, k, out=out[0]) is out[0]
            same(out[0], compiled(x, k, out=out[1]))
    out = [np.zeros((2, 3)), np.zeros((2, 3))]
    same(python(a, 2.0, out=out[0], axis=0), compiled(a, 2.0, out=out[1], axis=0))
    x, y = a.copy(), a.copy()
    compiled, python = make(guvectorize("(n)"), bump)
    compiled(x[:, ::2])
    python(y[:, ::2])
    same(y, x)


def test_it_is_the_python_function(as_python):
    seen: list[Any] = []

    def fn(x):
        seen.append(x)
        if x > 2:
            raise KeyError(f"{x} is new")
        return len(seen)

    def core(x, out):
        seen.append((x, out))
        out[0] = 1
        if x[0]:
            raise KeyError("core")

    f = as_python(vectorize(["i8(f4)"]), fn)
    g = as_python(guvectorize(["void(f8[:], f8[:])"], "(n)->(n)"), core)
    h = as_python(njit, lambda x: f(np.float32(x)))
    assert f(np.float32(1.5)) == 1 and type(seen[0]) is np.float32 and h(0) == 2
    out = np.full(3, -1)
    with pytest.raises(KeyError, match="3.0 is new"):
        f(np.arange(1, 4, dtype="f4"), out=out)
    assert out.tolist() == [3, 4, -1]
    x, out = np.array([[0.0, 5.0], [1.0, 5.0], [0.0, 5.0]]), np.zeros((3, 2))
    with pytest.raises(KeyError, match="core"):
        g(x, out=out)
    assert out.tolist() == [[1, 0], [1, 0], [0, 0]]
    kept = seen[-1]
    del x, out
    assert kept[0].tolist() == [1, 5] and kept[1].tolist() == [1, 0]


def test_results_that_do_not_fit(as_python):
    f = as_python(vectorize(["f8(f8)"]), lambda x: x)
    text = as_python(vectorize(["f8(f8)"]), lambda x: "one")
    one = as_python(vectorize(["Tuple((f8, f8))(f8)"]), lambda x: x)
    core = as_python(guvectorize(["void(f8[:], f8[:])"], "(n)->(n)"), lambda x, out: 1)
    with pytest.raises(ValueError):
        text(1.0)
    with pytest.raises(TypeError, match="must return a tuple of 2 values"):
        one(1.0)
    with pytest.raises(TypeError, match="returns nothing"):
        core(np.ones(2))
    with pytest.raises(TypeError):
        f("a")


def test_the_variable():
    code = (
        "import numpy as np\nfrom treadle import njit, vectorize, guvectorize\n"
        "class Odd:\n    def __call__(self, x):\n        return x + 1\nodd = Odd()\n"
        "@njit\ndef f(x):\n    return odd(x)\n"
        "@vectorize(['f8(f8)'])\ndef g(x):\n    return odd(x)\n"
        "@guvectorize('(n)->()')\ndef h(x, out):\n    out[0] = odd(x[0])\n"
        "print(f(1), g(np.arange(2)), h(np.arange(2.0)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "TREADLE_DISABLE_JIT": "1"},
    )
    assert (done.stdout, done.stderr) == ("2 [1. 2.] 1.0\n", "")
