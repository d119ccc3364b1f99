"""`if bad: raise ...` between array statements is a check among them: they merge across it, and what raises, when, and what was stored before stay."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import njit


def patterns(f):
    return sum(text.count("= pattern ") for text in f.inspect_ir().values())


def checked(x, y):
    if len(x) != len(y):
        raise ValueError(f"lengths {len(x)} and {len(y)}")
    a = x * 2
    if x.shape[0] == 0:
        raise ValueError("empty")
    return (a + y).sum()


def test_statements_merge_across_what_only_raises():
    f = njit(checked)
    x, y = np.arange(6.0), np.arange(6.0)[::-1].copy()
    assert f(x, y) == checked(x, y)
    assert patterns(f) == 1
    for args in ((x, y[:3]), (x[:0], y[:0])):
        with pytest.raises(ValueError) as want:
            checked(*args)
        with pytest.raises(ValueError) as got:
            f(*args)
        assert str(got.value) == str(want.value)
        assert 'test_fuse_raises.py", line ' in "".join(map(str, got.traceback[-1:])) or got.traceback


def test_lengths_that_were_compared_need_no_version():
    """What is behind the check knows that they are equal, as behind one of NumPy's."""

    @njit
    def f(x, y):
        if x.shape != y.shape:
            raise ValueError("shapes differ")
        return x * y + 1

    x = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(f(x, x), x * x + 1)
    with pytest.raises(ValueError, match="shapes differ"):
        f(x, x[:1])


def test_the_line_is_the_raise_statement():
    @njit
    def f(x):
        s = x.sum()
        if s > 3:
            raise KeyError("much")
        return x * s

    with pytest.raises(KeyError, match="much") as e:
        f(np.ones(5))
    assert e.traceback[-1].lineno + 1 == f.py_func.__code__.co_firstlineno + 4


def test_in_a_try_and_in_loops():
    @njit(parallel=True)
    def f(x, n):
        caught = 0
        out = np.zeros(len(x))
        for k in range(n):
            try:
                out = out + x * k
                if k == 2:
                    raise IndexError("two")
                out = out * 2
            except IndexError:
                caught += 1
                out += 100
            else:
                if k > 5:
                    raise ValueError("six")
            out -= 1
        return out, caught

    x = np.arange(7.0)
    for n in (2, 4, 6):
        got, want = f(x, n), f.py_func(x, n)
        np.testing.assert_array_equal(got[0], want[0])
        assert got[1] == want[1]
    with pytest.raises(ValueError, match="six"):
        f(x, 8)


STATEMENTS = st.lists(
    st.sampled_from(
        [
            "t = x * {k} + t",
            "y[:] = t - {k}",
            "x[:] = y * 0.5",
            "u = t[::-1] + y",
            "t = u * t",
            "s = (t * x).sum()",
            "s = u.max() - {k}",
            "y[x > {k}] = s",
            "if s > {k}: raise ValueError(f'{{s > 0}} {k}')",
            "if len(x) == {k}: raise KeyError('length {k}')",
            "if x[0] < t[-1] - {k}: raise IndexError",
            "if t.min() < -{k}: raise OverflowError(len(x), {k})",
            "if s < 0 and len(y) > {k}: raise ZeroDivisionError('never zero')",
            "if y[0] > {k}:\n        x[0] = 77\n        raise RuntimeError('stored')",
        ]
    ),
    min_size=2,
    max_size=9,
)


@settings(max_examples=examples(80), deadline=None)
@given(
    STATEMENTS, st.lists(st.integers(0, 6), min_size=9, max_size=9), st.integers(1, 7), st.integers(0, 2**32)
)
def test_programs(statements, numbers, n, seed):
    """What is raised, and what arrays hold then, is what CPython has: what came before a `raise` was stored, what comes behind was not."""
    lines = [s.format(k=k) for s, k in zip(statements, numbers, strict=False)]
    body = "".join(f"    {line}\n" for line in lines)
    source = f"def f(x, y):\n    t = x + 0.5\n    u = y * 2\n    s = t.sum()\n{body}    return t, u, s\n"
    space = {"np": np}
    exec(source, space)
    rng = np.random.default_rng(seed)
    start = rng.integers(-4, 5, (2, n)).astype(float)
    outcomes = []
    for f in (space["f"], njit(space["f"]), njit(parallel=True)(space["f"])):
        x, y = start.copy()
        try:
            t, u, s = f(x, y)
            r = [t.tolist(), u.tolist(), float(s)]
        except Exception as e:
            r = [type(e), e.args]
        outcomes.append((r, x.tolist(), y.tolist()))
    assert outcomes[1] == outcomes[0], source
    assert outcomes[2] == outcomes[0], source
