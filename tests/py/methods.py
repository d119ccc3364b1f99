"""Methods of strings and bytes, called in compiled code and in Python: what they give, or raise, is the same."""

from __future__ import annotations

from treadle import njit

__all__ = ["agree", "method", "outcome"]


def outcome(f, *args):
    """What a call gives, or its exception's class and arguments."""
    try:
        return f(*args)
    except Exception as e:  # noqa: BLE001
        return type(e), e.args


def agree(f, *args):
    """The compiled function does as Python's."""
    got, want = outcome(f, *args), outcome(f.py_func, *args)
    assert got == want and type(got) is type(want), (f.__name__, args, got, want)
    return got


def method(call):
    """A compiled function of `s` and three more that calls a method."""
    d: dict = {}
    exec(f"def f(s, x=None, y=None, z=None):\n    return {call}\n", d)
    d["f"].__name__ = d["f"].__qualname__ = call
    return njit(d["f"])
