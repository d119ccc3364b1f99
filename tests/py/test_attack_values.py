"""Absurd tuples and texts: refused with a sentence, or right, in bounded time."""

import collections

import pytest
from treadle import TypingError, njit


def make(body, head="def f(x):"):
    space = {}
    exec(f"{head}\n{body}", space)
    return njit(space["f"])


def test_tuples_that_double():
    with pytest.raises(TypingError, match="a tuple of more than 1024 items"):
        make("    t = (1,)\n" + "    t = t + t\n" * 40 + "    return len(t)")(1)
    with pytest.raises(TypingError, match="more than 4096 items in all"):
        make("    t = (x, x)\n" + "    t = (t, t)\n" * 40 + "    return t")(1)
    t = make("    t = x\n" + "    t = (t, t)\n" * 6 + "    return t")(1)
    assert str(t).count("1") == 64


def test_tuples_that_repeat():
    with pytest.raises(TypingError, match="a tuple of more than 1024 items"):
        make("    return len((1, 2) * 9223372036854775807)")(1)
    assert make("    return len(() * 9223372036854775807)")(1) == 0
    assert make("    return len((1, 2) * 512)")(1) == 1024


def test_texts_that_double():
    with pytest.raises(TypingError, match="a text of more than"):
        make("    s = 'a'\n" + "    s = s + s\n" * 60 + "    return len(s)")(1)
    assert make("    s = 'a'\n" + "    s = s + s\n" * 10 + "    return len(s)")(1) == 1024


def test_long_tuples_as_arguments():
    f = make("    return 1")
    assert f(tuple(range(2000))) == 1
    with pytest.raises(TypeError, match="argument 'x' is a tuple of more than 4096 items in all"):
        f(tuple(range(100_000)))
    t = 1
    for _ in range(60):
        t = (t, t)
    with pytest.raises(TypeError, match="more than 4096 items in all"):
        f(t)


def test_texts_with_nul():
    """None equals its beginning; as constants they are no texts to compiled code."""
    f = make("    return s == 'a', len(s), s", "def f(x, s):")
    assert f(1, "a") == (True, 1, "a") and f(1, "a\0b") == (False, 3, "a\0b")
    with pytest.raises(TypingError):
        make("    return len('a\\0b')")(1)


@pytest.mark.parametrize("fields", [("a", 3), ("a", "\ud800"), ("a", "a\0b"), ("a", "b c")])
def test_classes_that_resemble_named_tuples(fields):
    cls = type("Fake", (tuple,), {"_fields": fields})
    with pytest.raises(TypeError, match="cannot be passed to compiled code"):
        make("    return x")(cls((1, 2)))
    real = collections.namedtuple("real", "a b")
    assert make("    return x.b")(real(1, 2)) == 2
