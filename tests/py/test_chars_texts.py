"""Functions of numpy.strings (numpy.char in NumPy 1) on arrays of fixed-width strings: what compiled code gives is what NumPy gives."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prange_check import no_array_lost
from test_chars import agree, compiled
from treadle import TypingError, UnsupportedError, njit, prange

# `~` stands for b where the array is one of bytes.
CALLS = [
    "upper(a)",
    "lower(a)",
    "title(a)",
    "capitalize(a)",
    "swapcase(a)",
    "strip(a)",
    "lstrip(a)",
    "rstrip(a)",
    "strip(a, ~'a c')",
    "rstrip(a, ~'bc')",
    "isalpha(a)",
    "isalnum(a)",
    "isdigit(a)",
    "isspace(a)",
    "islower(a)",
    "isupper(a)",
    "istitle(a)",
    "str_len(a)",
    "startswith(a, ~'a')",
    "endswith(a, ~'b', 1)",
    "find(a, ~'b')",
    "find(a, ~'b', 1, 3)",
    "rfind(a, ~'')",
    "count(a, ~'a')",
    "count(a, ~'')",
    "index(a, ~'')",
    "rindex(a, ~'b')",
    "index(a, ~'nowhere')",
    "replace(a, ~'a', ~'xyz')",
    "replace(a, ~'', ~'-')",
    "replace(a, ~'b', ~'', 1)",
    "ljust(a, 4)",
    "rjust(a, 7, '*')",
    "center(a, 6, ~'-')",
    "multiply(a, 3)",
    "multiply(a, 0)",
    "partition(a, ~'b')",
    "rpartition(a, ~'b')",
]
OF = {
    letter: [compiled("a", "np.char." + c.replace("~", "b" * (letter == "S"))) for c in CALLS]
    for letter in "US"
}
WORDS = ["ab", " c ", "Xy1", "  \tq", "7", "", "-5", "Ab Cd", "bab", "a\0b"]


@pytest.mark.parametrize("letter", ["U", "S"])
def test_functions(letter):
    a = np.array([*WORDS, "é", "ß", "ǆx", "𝔸b"] if letter == "U" else WORDS, f"{letter}6")
    for f in OF[letter]:
        agree(f, a)
        agree(f, a[::-2])
        agree(f, a[:6].reshape(2, 3).T)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text("aAbB c1-\t", max_size=6), min_size=1, max_size=6), st.sampled_from("US"))
def test_drawn(words, letter):
    for f in OF[letter]:
        agree(f, np.array(words, letter))


# One behind the other; the second ones change the array, where what is too long is cut.
SUMS = [
    "a + a",
    "a + a[::-1]",
    "a + ~'xy'",
    "~'xy' + a",
    "a + ~''",
    "a[0] + a",
    "a + a[:1]",
    "a.reshape(-1, 1) + a, (a.reshape(1, -1)[:, ::-1] + a)[0]",
    "np.add(a, a), np.char.add(a, ~'x')",
    "a + a + ~'-'",
    "a[:0] + ~'x'",
    "a + [~'x', ~'y', ~'z'], a + (~'x', ~'y', ~'z')",
    "a + a[1:]",
    "a += ~'x'\na",
    "b = a\nb += a\na",
    "a[1:] += ~'yyyyyy'\na",
    "a[0] += ~'zz'\na",
    "a[::-1][1:] += a[1:]\na",
    "a[:1] += a\na",
    "b = ~'q'\nb += a\na, b",
]


@pytest.mark.skipif(not hasattr(np, "strings"), reason="NumPy 2 has the operator")
@pytest.mark.parametrize("letter", ["U", "S"])
def test_sums(letter):
    for code in SUMS:
        f = compiled("a", code.replace("~", "b" * (letter == "S")))
        agree(f, np.array(["a", "bb", ""], f"{letter}5"))
        agree(f, np.array(["é", "\0x", "𝔸"]) if letter == "U" else np.array([b"\xe9", b"\0x", b"c"]))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.text("aé\0𝔸", max_size=4), st.text("aé\0𝔸", max_size=4)), min_size=1, max_size=5)
)
def test_sums_drawn(pairs):
    a, b = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
    got = ADD(a, b)
    want = [str(x) + str(y) for x, y in zip(a, b, strict=True)]
    assert got.tolist() == np.array(want, got.dtype).tolist()
    assert got.dtype == f"U{a.itemsize // 4 + b.itemsize // 4}"


ADD = compiled("a, b", "a + b")


@pytest.mark.parametrize("code", ["a - a", "a + 1", "a + None", "a + b'x'", "a += a.reshape(1, -1)\na", "np.subtract(a, a)"])  # fmt: skip
def test_no_sums(code):
    with pytest.raises((TypingError, UnsupportedError)):
        compiled("a", code)(np.array(["a", "b"]))


def test_a_sum_in_an_array_that_is_only_read():
    a = np.array(["a"])
    a.flags.writeable = False
    with pytest.raises((TypingError, ValueError)):
        compiled("a", "a += 'x'\na")(a)
    assert a[0] == "a"


def test_filled_with_zeros():
    """Not of empty items: NumPy 2.4 looks for their sign in what lies behind them."""
    f = compiled("a", "np.char.zfill(a, 5), np.char.zfill(a, 1)")
    words = [w for w in WORDS if w]
    agree(f, np.array(words))
    agree(f, np.array(words, "S"))
    assert f(np.array(["", "-5"]))[0].tolist() == ["00000", "-0005"]


def test_of_strings_of_their_own():
    agree(compiled("a", "np.char.isdecimal(a), np.char.isnumeric(a)"), np.array(["1", "½", "x"]))
    agree(compiled("", "np.char.upper(['a', 'bc']), np.char.find(np.array(['ab', 'b']), 'b')"))


def test_of_no_items():
    f = compiled("a", "np.char.upper(a), np.char.str_len(a), np.char.find(a, 'x')")
    agree(f, np.array([], "U3"))
    more = compiled("a", "np.char.replace(a, 'x', 'y'), np.char.ljust(a, 3)")  # of which NumPy raises
    assert [x.shape for x in more(np.array([], "U3"))] == [(0,), (0,)]


@pytest.mark.skipif(not hasattr(np, "strings"), reason="NumPy 2 has the module")
def test_names_of_numpy_2():
    agree(compiled("a", "np.strings.multiply(a, 2), np.strings.upper(a)"), np.array(["a", "bc"]))


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("np.char.upper('a')", "has the method itself"),
        ("np.char.upper(np.arange(3))", "none of strings"),
        ("np.char.find(a, a)", "one string for all items"),
        ("np.char.ljust(a, 5, 'ab')", None),
        ("np.char.find(a, b'x')", None),
    ],
)
def test_wrong(code, says):
    with pytest.raises((TypingError, UnsupportedError, TypeError), match=says):
        compiled("a", code)(np.array(["a", "b"]))


def test_nothing_leaks():
    f = compiled(
        "a, i", "b = np.char.upper(a) + a\nb += np.char.replace(a, 'a', 'xy')\nb[i], np.char.find(b, 'A')"
    )
    a = np.array(["abc", "é", "zza"])
    f(a, 0)
    gc.collect()
    with no_array_lost(21):
        for i in (0, 7, 2):
            try:
                f(a, i)
            except IndexError:
                assert i == 7
        gc.collect()


def test_in_parallel_and_inlined():
    @njit(inline="always")
    def loud(a):
        return np.char.upper(a)

    @njit(parallel=True)
    def f(a, n):
        out = np.zeros(n, np.int64)
        for i in prange(n):
            out[i] = np.char.count(loud(a[i : i + 2]), "A").sum()
        return out

    a = np.array(["a", "ba", "aa", "x"] * 50)
    assert f(a, 199).tolist() == [sum(s.count("a") for s in a[i : i + 2]) for i in range(199)]


def test_tabs():
    """NumPy's items are wider than their longest text."""
    f = compiled("a", "np.char.expandtabs(a), np.char.expandtabs(a, 3)")
    for letter in "US":
        a = np.array(["a\tb", "\t", "", "x\n\ty"], letter)
        for got, want in zip(f(a), f.py_func(a), strict=True):
            assert (got == want).all() and got.dtype.kind == letter


def test_tables_of_characters():
    f = compiled("a", "np.char.translate(a, str.maketrans('ab', 'βc'))")
    agree(f, np.array(["ab", "c", "", "bab"]))
    f = compiled("a", "np.char.translate(a, bytes.maketrans(b'ab', b'xy'), b'c')")
    agree(f, np.array([b"abc", b"c", b"bab"]))


ENCODED = compiled(
    "a", "np.char.encode(a), np.char.encode(a, 'latin-1'), np.char.encode(a, 'ascii', 'replace')"
)
DECODED = compiled(
    "a", "np.char.decode(a), np.char.decode(a, 'latin-1'), np.char.decode(a, 'ascii', 'ignore')"
)


def test_encodings():
    agree(ENCODED, np.array(["aé", "", "ÿ"]))
    agree(DECODED, np.array([b"a", b"\xc3\xa9", b""]))
    with pytest.raises(UnicodeEncodeError, match="can't encode character '.u20ac' in position 1"):
        ENCODED(np.array(["a€"]))
    with pytest.raises(UnicodeDecodeError, match="invalid start byte"):
        DECODED(np.array([b"\xff"]))


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="numpy.strings is of NumPy 2")
@pytest.mark.parametrize("letter", ["U", "S"])
def test_partitions_of_numpy_strings(letter):
    b = "b" * (letter == "S")
    f = compiled("a", f"np.strings.partition(a, {b}'b'), np.strings.rpartition(a, {b}'b')")
    a = np.array(["abc", "c", "", "bab"], letter)
    for got, want in zip(f(a), f.py_func(a), strict=True):
        for x, y in zip(got, want, strict=True):
            assert (x == y).all() and x.dtype == y.dtype


def every_text(a):
    print(a)
    print("of", a, sep=": ")
    print((a, 1), a[:1], a[:0], a[0])


@pytest.mark.parametrize(
    "a",
    [
        np.array(["ab", "", "it's", "é𝔸\n\0x"]),
        np.array([["a b", "c"], ["d", '"']]),
        np.array([b"ab", b"\xff'", b""]),
        np.array(["a word"] * 40)[::3],
        np.array([f"item {i}" for i in range(1500)]).reshape(2, 750),
        np.array(["x"] * 8, "U9").reshape(2, 2, 2),
    ],
    ids=["U", "two axes", "S", "lines", "summary", "three axes"],
)
def test_print(capsys, a):
    every_text(a)
    want = capsys.readouterr().out.replace("np.str_(", "").replace("np.bytes_(", "")
    njit(every_text)(a)
    assert capsys.readouterr().out == want
