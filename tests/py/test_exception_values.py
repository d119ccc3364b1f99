"""What an exception that was caught holds: its texts, its class's name, its argument, and causes that are only made."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import treadle
from hypothesis import given
from hypothesis import strategies as st
from treadle import njit, prange, vectorize
from treadle.errors import UnsupportedError


class Own(ValueError):
    pass


class OwnKey(KeyError):
    pass


class Coded(Exception):
    def __init__(self, code):
        super().__init__("coded")
        self.code = code


class Spoken(Exception):
    def __str__(self):
        return "spoken"


HELD = Own("held")


def raises(k, i, x, s):
    """Raises the k-th of LAST exceptions: by `raise`, and by what the run-time library and operators check."""
    if k == 0:
        raise ValueError
    if k == 1:
        raise Own()
    if k == 2:
        raise Own("text")
    if k == 3:
        raise Own(s)
    if k == 4:
        raise Own(i, x, s, "c", None, True, (i, ("t", 1.5), ()), 2j)
    if k == 5:
        raise Own((i,))
    if k == 6:
        raise KeyError(s)
    if k == 7:
        raise OwnKey(i)
    if k == 8:
        raise KeyError(s, i)
    if k == 9:
        raise ValueError(f"{s}|{s!r}|{s:>9}|{x:.3f}|{i:+d}|{x}")
    if k == 10:
        raise ValueError(s + "!", i > 0)
    if k == 11:
        return i // (i - i)
    if k == 12:
        return int(s + "x")
    if k == 13:
        return int(float(s + "x"))
    if k == 14:
        return [1, 2][i]
    if k == 15:
        return {1: 2}[i + 5]
    if k == 16:
        return {"a": 2}[s + "a"]
    if k == 17:
        raise OSError("file")
    if k == 18:
        raise StopIteration
    if k == 19:
        raise ValueError("{0} {w} {}")
    if k == 20:
        raise ValueError("'\"\n\x7f\u20ac")
    if k == 21:
        raise TypeError(f"{x > 1}{i}", 2**63)
    if k == 22:
        raise MemoryError
    if k == 23:
        return np.arange(3)[i + 7]
    return 0


LAST = 24


def told(f, k, i, x, s):
    try:
        f(k, i, x, s)
    except Exception as e:
        kept = str(e)
        return kept + "/" + repr(e) + f"/{e}/{e!s:>20}/{e!r}/{type(e).__name__}/{e.__class__.__name__}"
    return ""


jraises = njit(raises)
inlined = njit(inline="always")(raises)
calls = njit(lambda k, i, x, s: told(jraises, k, i, x, s))
calls_inlined = njit(lambda k, i, x, s: told(inlined, k, i, x, s))


@pytest.mark.parametrize("way", [calls, calls_inlined])
@pytest.mark.parametrize("k", range(LAST + 1))
def test_texts(way, k):
    for i, x, s in [(7, 0.1, "s"), (3, 1e300, "é'\"𝔸\n"), (2, -0.0, "")]:
        assert way(k, i, x, s) == told(raises, k, i, x, s)


@given(st.integers(0, 10), st.integers(2, 2**62), st.floats(), st.text(max_size=9))
def test_texts_drawn(k, i, x, s):
    assert calls(k, i, x, s) == told(raises, k, i, x, s)


def test_print(capfd):
    def show(i, s):
        try:
            raise Own(s, i)
        except Own as e:
            print(e, "and", repr(e))
        try:
            raise KeyError(s)
        except KeyError as e:
            print(f"{e}")

    show(3, "é\0x")
    expected = capfd.readouterr().out
    njit(show)(3, "é\0x")
    assert capfd.readouterr().out == expected


def first_argument(k, s):
    try:
        if k == 0:
            raise ValueError("text")
        if k == 1:
            raise KeyError(s)
        if k == 2:
            raise Own(f"<{s}>")
        if k == 3:
            return str(int(s))
        if k == 4:
            raise Own(s, 2)
        if k == 5:
            raise Own(2)
        if k == 6:
            raise Own
    except Exception as e:
        (only,) = e.args
        return e.args[0] + only * len(e.args)
    return ""


def test_args():
    f = njit(first_argument)
    for k in range(4):
        assert f(k, "é") == first_argument(k, "é")
    for k in range(4, 7):
        with pytest.raises(NotImplementedError, match="only where they are one string"):
            f(k, "é")


def test_own_texts_are_refused_when_they_are_asked_for():
    @njit
    def f(k, asks):
        try:
            if k == 0:
                raise Coded(3)
            if k == 1:
                raise Spoken("x")
            if k == 2:
                raise HELD
            if k == 3:
                raise OSError(2, "x")
        except Exception as e:
            return str(e) if asks else type(e).__name__
        return ""

    assert [f(k, False) for k in range(4)] == ["Coded", "Spoken", "Own", "OSError"]
    for k in range(4):
        with pytest.raises(NotImplementedError, match="does not know what this exception says"):
            f(k, True)


def test_isinstance():
    def f(k):
        try:
            if k == 0:
                raise Own("x")
            if k == 1:
                raise KeyError(k)
            raise OverflowError
        except Exception as e:
            return (
                isinstance(e, ValueError),
                isinstance(e, (KeyError, ArithmeticError)),
                isinstance(e, Exception),
            )

    assert [njit(f)(k) for k in range(3)] == [f(k) for k in range(3)]


def test_refused():
    @njit
    def class_is():
        try:
            raise ValueError
        except ValueError as e:
            return type(e) is ValueError

    @njit
    def attribute():
        try:
            raise ValueError
        except ValueError as e:
            return e.code

    @njit
    def kept():
        for i in range(2):
            try:
                if i == 0:
                    raise ValueError
            except ValueError as e:
                last = e
        print(last)

    @njit
    def returned():
        try:
            raise ValueError
        except ValueError as e:
            return e, 1

    @njit
    def of_another():
        return str(returned()[0])

    @njit
    def carried():
        last = (1, 2)
        for i in range(2):
            try:
                raise ValueError(str(i))
            except ValueError as e:
                if i == 0:
                    first = (e, i)
        print(first[0], last)

    for f, words in [
        (class_is, "isinstance"),
        (attribute, "'code' of an exception"),
        (kept, "beyond its handler"),
    ]:
        with pytest.raises(UnsupportedError, match=words):
            f()


def linked(k, i, s):
    try:
        if k == 0:
            raise Own("a") from KeyError(s)
        if k == 1:
            raise Own from Own
        if k == 2:
            raise Own(s, i) from Own(s, i)
        return i // (i - i)
    except ZeroDivisionError as e:
        if k == 3:
            raise Own(f"a{i}") from Own(s, i)
        raise e from Own("made")


def passes_on(k, i, s):
    try:
        return linked(k, i, s)
    except Own as e:
        raise OwnKey("outer") from e


def tree(e):
    if e is None:
        return None
    return (
        type(e),
        e.args,
        tree(e.__cause__),
        tree(e.__context__),
        e.__suppress_context__,
        e.__traceback__ is None,
    )


def outcome(f, *args):
    try:
        return f(*args)
    except Exception as e:
        return tree(e)


@pytest.mark.parametrize("k", range(5))
def test_causes_that_are_made(k):
    f = njit(linked)
    g = njit(lambda k, i, s: f(k, i, s))
    assert outcome(f, k, 3, "é") == outcome(g, k, 3, "é") == outcome(linked, k, 3, "é")
    outer = njit(passes_on)
    assert outcome(outer, k, 3, "é") == outcome(passes_on, k, 3, "é")


def test_prange():
    def f(n):
        out = np.zeros(n, np.int64)
        for i in prange(n):
            try:
                if i % 3 == 0:
                    raise ValueError(f"at {i}")
                out[i] = 1 // (i % 3 - 1)
            except Exception as e:
                out[i] = len(str(e)) + 1000 * len(repr(e))
        return out

    assert njit(parallel=True)(f)(5000).tolist() == f(5000).tolist()


def test_ufunc():
    @vectorize
    def f(x):
        try:
            if x > 1:
                raise ValueError("big")
        except ValueError as e:
            return 1.0 * len(str(e))
        return x

    assert f(np.arange(4.0)).tolist() == [0, 1, 3, 3]


def test_nothing_is_kept():
    @njit
    def f(n):
        t = 0
        for i in range(n):
            try:
                raise Own("x" * i, i)
            except Own as e:
                t += len(str(e))
        return t

    f(3)
    before = treadle.stats()
    assert f(500) == f.py_func(500)
    after = treadle.stats()
    made = after["arrays_allocated"] - before["arrays_allocated"]
    assert made > 500
    assert made == after["arrays_freed"] - before["arrays_freed"]


def test_what_a_ufunc_of_others_left():
    special = pytest.importorskip("scipy.special")

    @njit
    def f(x):
        try:
            return str(special.gammaln(x))
        except Exception as e:
            return type(e).__name__ + ": " + str(e) + " " + repr(e)

    assert f(1.0) == "0.0"
    with special.errstate(all="raise"):
        with pytest.raises(special.SpecialFunctionError) as e:
            special.gammaln(0.0)
        assert f(0.0) == f"SpecialFunctionError: {e.value} {e.value!r}"


def test_late_code():
    @njit
    def f(k, s):
        try:
            if k:
                t = 0
                for c in s:
                    if c == "x":
                        raise Own(f"{s} has {c} at {t}")
                    t += 1
                raise KeyError(t)
        except (Own, KeyError) as e:
            return "caught " + str(e)
        return ""

    assert [f(k, s) for k, s in [(0, ""), (1, "abx"), (1, "ab")]] == ["", "caught abx has x at 2", "caught 2"]


PROGRAM = """
from treadle import njit

class Own(Exception):
    pass

class Loud(Own):
    def __str__(self):
        return "loud"

@njit(cache=True)
def f(k, s):
    try:
        if k == 0:
            raise Own(s, k)
        if k == 1:
            raise Loud(s)
        return str(int(s))
    except (Own, ValueError) as e:
        return str(e) + repr(e)

print(f(0, "e"), f(2, "x"))
try:
    print(f(1, "x"))
except NotImplementedError:
    print("not known")
"""


def test_from_the_cache(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    env = {**os.environ, "TREADLE_CACHE_DIR": str(tmp_path / "cache")}
    texts = [
        subprocess.run([sys.executable, path], env=env, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    first = "('e', 0)Own('e', 0) invalid literal for int() with base 10: 'x'ValueError(\"invalid literal"
    assert all(t.startswith(first) and "not known" in t for t in texts)
