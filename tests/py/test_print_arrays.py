"""print() of arrays in compiled code: NumPy's text, of what was there when it was made."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from treadle import cuda, guvectorize, njit, prange, vectorize
from treadle.errors import UnsupportedError

sys.path.insert(0, str(Path(__file__).resolve().parent))
from on_stack import on_stack  # noqa: E402


def printed(capsys, f, *args):
    capsys.readouterr()
    f(*args)
    return capsys.readouterr().out


def same(capsys, f, *args, **options):
    """What is printed is what Python prints."""
    want = printed(capsys, f, *args)
    assert want
    assert printed(capsys, njit(**options)(f), *args) == want
    return want


def all_forms(a):
    print(a)
    print("a", a, (a, 1), f"<{a}>", f"{a!r}", sep="|", end="!\n")
    s = str(a) + repr(a)
    print(s)


@pytest.mark.parametrize(
    "a",
    [
        np.arange(12.0).reshape(3, 4) / 7,
        np.arange(24).reshape(2, 3, 4)[::-1, :, ::2],
        np.array(2.5),
        np.zeros((0, 3)),
        np.zeros(2000, np.int8),
        np.arange(2400.0).reshape(40, 60).T,
        np.array([1e300, np.nan, -np.inf]),
        np.array([1 + 2j, -0.0]),
        np.array([0.1, 3], np.float32),
        np.array([0.1, 3], np.float16),
        np.array([True, False]),
        np.array(["2020-01-01", "NaT"], "M8[D]"),
        np.array([3, -1], "m8[ns]"),
        np.frombuffer(b"x" + np.arange(3.0).tobytes(), offset=1),
    ],
    ids=lambda a: f"{a.dtype}{a.shape}",
)
def test_as_numpy_has_it(capsys, a):
    same(capsys, all_forms, a)


@given(st.data())
def test_random_arrays(data):
    a = data.draw(hnp.arrays(hnp.scalar_dtypes().filter(lambda d: d.kind in "biufc" and d.itemsize <= 16 and d.isnative and d.char not in "gG"),
                             hnp.array_shapes(min_dims=0, min_side=0, max_dims=3, max_side=5)))  # fmt: skip
    assert text_of(a) == f"{a!s} {(a, 0)}"


def text_of(a) -> str:
    """What show() prints, which hypothesis has no fixture for."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        show(a)
    return out.getvalue()


@njit
def show(a):
    print(a, (a, 0), end="")


def test_print_options_hold(capsys):
    a = np.arange(5) / 3
    with np.printoptions(precision=2, threshold=3, edgeitems=1):
        assert same(capsys, all_forms, a).startswith("[0.   ... 1.33]")


def test_options_that_raise():
    def bad(x):
        raise KeyError(x)

    with np.printoptions(formatter={"float": bad}), pytest.raises(KeyError):
        show(np.ones(2))
    assert text_of(np.ones(2)) == "[1. 1.] (array([1., 1.]), 0)"


def test_it_is_what_was_there(capsys):
    def f(a):
        s = f"{a}"
        a[0] = 9
        print(s, a, a[::-1])
        a[0] = 8

    want = printed(capsys, f, np.arange(3.0))
    assert printed(capsys, njit(f), np.arange(3.0)) == want == "[0. 1. 2.] [9. 1. 2.] [2. 1. 9.]\n"


@njit
def callee(a):
    print(a * 2)


def test_ways_in(capsys):
    @njit(parallel=True)
    def in_prange(a):
        for i in prange(4):
            print(i, a[:i])

    @njit(nogil=True, parallel=True)
    def from_a_caller(a):
        callee(a)

    a = np.arange(4.0)
    assert sorted(printed(capsys, in_prange, a).splitlines()) == [f"{i} {a[:i]}" for i in range(4)]
    assert printed(capsys, from_a_caller, a) == f"{a * 2}\n"
    assert printed(capsys, vectorize(lambda x: print(np.full(2, x)) or x), a) == "".join(f"[{x} {x}]\n" for x in ("0.", "1.", "2.", "3."))  # fmt: skip

    @guvectorize(["void(float64[:], float64[:])"], "(n)->()")
    def g(x, out):
        print(x)
        out[0] = x[0]

    assert printed(capsys, g, a.reshape(2, 2)) == "[0. 1.]\n[2. 3.]\n"


def test_on_a_small_stack(capsys):
    show(np.ones(2))
    capsys.readouterr()
    on_stack(64, lambda: show(np.arange(3)))
    assert capsys.readouterr().out == "[0 1 2] (array([0, 1, 2]), 0)"


def test_from_the_cache_in_a_second_process(tmp_path):
    program = tmp_path / "shows.py"
    program.write_text(
        "import numpy as np, treadle\n@treadle.njit(cache=True)\ndef f(a):\n    print(a, f'{a!r}')\n"
        "f(np.arange(4.0).reshape(2, 2))\nprint(f.stats['loaded'])\n"
    )
    env = {**os.environ, "TREADLE_CACHE_DIR": str(tmp_path / "cache")}
    for loaded in (0, 1):
        done = subprocess.run([sys.executable, program], capture_output=True, text=True, env=env, check=False)
        a = np.arange(4.0).reshape(2, 2)
        assert done.stdout == f"{a} {a!r}\n{loaded}\n", done.stderr


def test_in_a_kernel(capsys):
    @cuda.jit
    def kernel(a):
        s = cuda.shared.array(4, np.float32)
        i = cuda.threadIdx.x
        s[i] = a[i] + 1
        cuda.syncthreads()
        if i == 1:
            print(s, a)

    capsys.readouterr()
    kernel[1, 4](np.arange(4.0))
    cuda.synchronize()
    assert capsys.readouterr().out == "[1. 2. 3. 4.] [0. 1. 2. 3.]\n"


def test_what_has_no_text():
    records = np.zeros(2, [("x", "f8")])
    with pytest.raises(UnsupportedError, match=r"print\(\) of"):
        njit(lambda a: print(a))(records)
    with pytest.raises(UnsupportedError, match="format specification"):
        njit(lambda a: print(f"{a:.2f}"))(np.ones(2))
    with pytest.raises(UnsupportedError, match="exception argument"):

        @njit
        def f(a):
            raise ValueError(f"bad {a}")

        f(np.ones(2))
