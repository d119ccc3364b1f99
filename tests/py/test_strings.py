"""Strings as values: every operation against CPython's, in all widths of characters, by every way into compiled code."""

import gc
import subprocess
import sys
import threading

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from methods import agree, method, outcome
from treadle import TypingError, UnsupportedError, njit, prange

# One of each width; letters of every case and class; what becomes several characters; spaces, ends of lines, digits; surrogates.
ODD = "aAzZ09_ \t\n\r\v\f\x1c\x1e\x85\xa0éÉßÿµ\u0130\u0131ǅǆŉΣσςάﬁİ\u0345\u02b0\u1e9e\u2028\u3000٣½²Ⅷ\u0660漢\ud800\udfff𝔸😀\U0001d7d8\U00010400\U00010428'\"\\"
CHARS = st.one_of(st.sampled_from(ODD), st.characters(codec=None), st.sampled_from("abcAB 1"))
TEXT = st.text(CHARS, max_size=12)
FEW = st.text(st.sampled_from("abAβ😀 "), max_size=8)  # so that things are found
INTS = st.one_of(st.none(), st.integers(-15, 15))


CASES = ("upper", "lower", "title", "capitalize", "swapcase", "casefold")
ASKS = "isalpha isdecimal isdigit isnumeric isalnum islower isupper istitle isspace isprintable isascii isidentifier".split()
PLAIN = {name: method(f"s.{name}()") for name in (*CASES, *ASKS, "strip", "lstrip", "rstrip", "expandtabs")}


@pytest.mark.parametrize("name", PLAIN)
@settings(deadline=None, max_examples=120)
@given(s=TEXT)
def test_methods_without_arguments(name, s):
    agree(PLAIN[name], s)


def test_every_character():
    for name in (*CASES, *ASKS):
        f = PLAIN[name]
        for c in map(chr, range(0, 0x110000, 1 if name in ("lower", "isprintable") else 7)):
            if f(c) != getattr(c, name)():
                pytest.fail(f"{name} of {c!r}")


SEEKS = {name: method(f"s.{name}(x)") for name in "find rfind count index rindex startswith endswith".split()}
BOUNDED = {name: method(f"s.{name}(x, y, z)") for name in SEEKS}


@pytest.mark.parametrize("name", SEEKS)
@settings(deadline=None, max_examples=150)
@given(s=FEW | TEXT, x=st.text(st.sampled_from("abAβ😀 "), max_size=2), y=INTS, z=INTS)
def test_searching(name, s, x, y, z):
    agree(SEEKS[name], s, x)
    agree(BOUNDED[name], s, x, y, z)


@settings(deadline=None, max_examples=150)
@given(s=FEW, x=st.text(st.sampled_from("abAβ😀 "), max_size=3))
def test_parts(s, x):
    for f in PARTS:
        agree(f, s, x)


PARTS = [
    method(c)
    for c in (
        "s.strip(x)",
        "s.lstrip(x)",
        "s.rstrip(x)",
        "s.removeprefix(x)",
        "s.removesuffix(x)",
        "s.partition(x)",
        "s.rpartition(x)",
        "x in s",
        "s not in x",
        "s + x",
        "x + s + x",
        "s == x",
        "s != x",
        "s < x",
        "s <= x",
        "s > x",
        "s >= x",
        "s.startswith((x, 'ab'))",
        "s.endswith((x, 'b', 'β'))",
        "x.join((s, x, 'é'))",
        "x.join(s)",
        "len(s) + len(x)",
        "not s",
        "(s or x, x and s)",
        "f'{s}-{x}'",
        "f'{s!r}, {x!r}'",
        "repr(s), str(x)",
        "f'{s:>6}|{x:_<4}|{s:^7.2}|{x:.1}'",
        "(s, x) == (x, s)",
        "s == 'a'",
        "'β' != s",
    )
]


@settings(deadline=None, max_examples=200)
@given(s=TEXT, i=st.integers(-14, 14), j=INTS, k=INTS)
def test_items_and_slices(s, i, j, k):
    agree(ITEM, s, i)
    agree(SLICE, s, j, k)
    agree(STEPPED, s, j, k, i)
    agree(REPEATED, s, i)


ITEM = method("s[x]")
SLICE = method("s[x:y]")
STEPPED = method("s[x:y:z]")
REPEATED = method("s * x + x * s")


@settings(deadline=None, max_examples=200)
@given(s=FEW, x=st.text(st.sampled_from("abAβ😀 "), max_size=2), y=TEXT, n=st.integers(-1, 4))
def test_replace(s, x, y, n):
    agree(REPLACE, s, x, y)
    agree(REPLACE_SOME, s, x, y, n)


REPLACE = method("s.replace(x, y)")
REPLACE_SOME = method("s.replace(x, y, z)")
PADS = [method(f"s.{c}") for c in ("ljust(x)", "rjust(x)", "center(x)", "zfill(x)", "expandtabs(x)")]
FILLS = [method(f"s.{c}(x, y)") for c in ("ljust", "rjust", "center")]


@settings(deadline=None, max_examples=150)
@given(
    s=TEXT | st.from_regex(r"[+-]?\d{0,4}\t?\n?", fullmatch=True),
    n=st.integers(-2, 20),
    c=st.text(CHARS, max_size=2),
)
def test_padding(s, n, c):
    for f in PADS:
        agree(f, s, n)
    for f in FILLS:
        agree(f, s, n, c)


NUMERALS = st.one_of(
    st.integers(-(2**63), 2**63 - 1).map(str),
    st.floats().map(repr),
    st.text(st.sampled_from("0123456789_+-. eExXoObBafinty٣\u3000\t\x00é"), max_size=10),
    st.from_regex(r"\s?[+-]?(0[xob])?[0-9a-f_]{1,6}\s?", fullmatch=True),
    st.from_regex(r"\s?[+-]?[0-9_]{0,5}\.?[0-9_]{0,5}(e[+-]?[0-9_]{1,3})?\s?", fullmatch=True),
    TEXT,
)
INT = method("int(s)")
INT_BASE = method("int(s, x)")
FLOAT = method("float(s)")


def same_float(f, s):
    got, want = outcome(f, s), outcome(f.py_func, s)
    assert repr(got) == repr(want), (s, got, want)


@settings(deadline=None, max_examples=500)
@given(s=NUMERALS, base=st.sampled_from([0, 2, 8, 10, 16, 36, 1, 37, -1]))
def test_numbers_of_strings(s, base):
    agree(INT, s)
    agree(INT_BASE, s, base)
    same_float(FLOAT, s)


def test_int_that_does_not_fit():
    assert INT(str(2**63 - 1)) == 2**63 - 1 and INT(str(-(2**63))) == -(2**63)
    for s in (str(2**63), str(-(2**63) - 1), "9" * 100):
        with pytest.raises(OverflowError, match="does not fit int64"):
            INT(s)


ORD = method("ord(s)")
CHR = method("chr(s)")


@settings(deadline=None)
@given(s=TEXT)
def test_ord(s):
    agree(ORD, s)


@settings(deadline=None)
@given(
    i=st.integers(-5, 0x110005)
    | st.sampled_from([2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 0xD800, 255, 256])
)
def test_chr(i):
    agree(CHR, i)


MAKES = [method(c) for c in ("str(s)", "repr(s)", "f'{s}'", "f'<{s!r:>8}>'", "'{' + str(s) + '}'")]


@settings(deadline=None)
@given(x=st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats(), st.booleans(), st.complex_numbers()))
def test_strings_of_numbers(x):
    for f in MAKES:
        agree(f, x)


@settings(deadline=None)
@given(n=st.integers(-(2**63), 2**63 - 1))
def test_bases(n):
    for f in BASES:
        agree(f, n)


BASES = [
    method(c)
    for c in ("hex(s)", "oct(s)", "bin(s)", "f'{s:,}'", "f'{s:+x}'", "format(s, '_b')", "len(str(s))")
]


# --- ways in, and where strings go ---


@njit
def characters(s):
    n = 0
    for c in s:
        if c == "a" or c == "β":
            n += 1
        elif ord(c) > 255:
            n += 100
    return n


@settings(deadline=None)
@given(s=TEXT)
def test_characters(s):
    agree(characters, s)


@njit
def reversed_words(s):
    out, word = "", ""
    for c in s + " ":
        if c == " ":
            out = word + (" " + out if out else "")
            word = ""
        else:
            word = word + c
    return out


@settings(deadline=None)
@given(s=FEW)
def test_strings_in_loops(s):
    agree(reversed_words, s)


@njit
def chosen(c, s):
    x = "yes" if c else "no"
    y = s if c else "other"
    z = None if c else s
    return x, y, z, z == s, z is None


def test_joins():
    for c in (True, False):
        for s in ("a", "é", "😀"):
            agree(chosen, c, s)


def test_one_specialisation_for_all_strings():
    f = method("len(s)")
    for k in range(50):
        assert f("x" * k) == k
    assert f("é😀") == 2
    assert len(f.signatures) == 1


def test_a_string_that_chooses_types():
    @njit
    def f(n, dtype):
        return np.zeros(n, dtype=dtype)

    for name in ("float32", "int8"):
        assert f(2, name).dtype == name


def test_the_argument_comes_back():
    @njit
    def f(s, t):
        return s, (t, 1), s[1:], s[:]

    s, t = "some text", "ü" * 50
    r = f(s, t)
    assert r[0] is s and r[1][0] is t and r[2] == s[1:] and r[3] is s


def test_in_tuples_and_calls():
    @njit
    def pair(s, k):
        return s + str(k), k

    @njit
    def f(s, t):
        a = pair(s, 1)
        b = pair(t[0], t[1])
        return a[0] + b[0], a, b, t

    agree(f, "x", ("é", 7))


def test_optional_strings():
    @njit
    def f(s, n):
        best = None
        for k in range(n):
            if best is None or s[k] > best:
                best = s[k]
        return best, best == "z"

    agree(f, "azbé", 4)
    agree(f, "az", 0)


def test_inlined_and_recursive():
    @njit
    def rev(s):
        return s if len(s) < 2 else rev(s[1:]) + s[0]

    for s in ("", "a", "abc", "aβ😀" * 5):
        agree(rev, s)


def test_in_parallel():
    @njit(parallel=True)
    def f(s, n):
        out = np.zeros(n, np.int64)
        for i in prange(n):
            t = s + str(i)
            out[i] = len(t) + t.count("1")
        return out

    want = [len("ab" + str(i)) + str(i).count("1") for i in range(500)]
    assert f("ab", 500).tolist() == want


def test_in_a_ufunc():
    @treadle.vectorize(["int64(int64)"])
    def digits(n):
        return len(str(n))

    assert digits(np.array([1, 10, -100])).tolist() == [1, 2, 4]


def test_print(capfd):
    @njit
    def f(s, n):
        print(s, n, (s, n), sep="|")
        print(f"{s:>5}{s!r}")

    f("é'x", 3)
    sys.stdout.flush()
    assert capfd.readouterr().out == "é'x|3|(\"é'x\", 3)\n  é'x\"é'x\"\n"


def test_exceptions():
    @njit
    def f(s, k):
        if k == 0:
            raise ValueError(s)
        if k == 1:
            raise KeyError(s + "!", k)
        if k == 2:
            raise IndexError(f"bad {s!r} at {k}, {s:>4}")
        try:
            raise TypeError(s * 2)
        except TypeError:
            s = s + "caught"
        if k == 3:
            raise RuntimeError("é" + s)
        return s

    for s in ("", "x", "é😀"):
        for k in range(5):
            agree(f, s, k)


def test_raised_strings_survive_their_handler():
    @njit
    def inner(s, k):
        made = s + str(k)
        if k % 2:
            raise ValueError(made)
        return made

    @njit
    def f(s, n):
        r = ""
        for k in range(n):
            try:
                r = inner(s, k)
            except ValueError:
                if k == n - 1:
                    raise
        return r

    assert f("a", 5) == "a4"
    with pytest.raises(ValueError) as e:
        f("a", 6)
    assert e.value.args == ("a5",)


def test_nothing_leaks():
    @njit
    def f(s, n):
        out = ""
        for k in range(n):
            out = (out + s + str(k))[-20:]
            if out == "never":
                return "x"
        return out.upper()

    for _ in range(3):
        assert f("é", 50) == f.py_func("é", 50)
    gc.collect()
    before = treadle.stats()
    for _ in range(20):
        f("é", 50)
    gc.collect()
    after = treadle.stats()
    made, freed = (after[k] - before[k] for k in ("arrays_allocated", "arrays_freed"))
    assert made == freed and made >= 20 * 50


def test_too_long():
    @njit
    def f(s, n):
        return s * n

    with pytest.raises(MemoryError):
        f("abc", 2**60)
    with pytest.raises(MemoryError):
        f("abc", 2**63 - 1)


def test_on_threads():
    got = []

    def work(k):
        got.extend(reversed_words(f"a{k} b{k} 😀") == f"😀 b{k} a{k}" for _ in range(200))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(got) == 800 and all(got)


def test_on_a_small_stack():
    was = threading.stack_size(256 * 1024)
    try:
        r = []
        t = threading.Thread(target=lambda: r.append(method("s.upper() + str(x)")("é", 3)))
        t.start()
        t.join()
    finally:
        threading.stack_size(was)
    assert r == ["É3"]


def test_from_the_cache(tmp_path):
    program = tmp_path / "cached.py"
    program.write_text(
        "from treadle import njit\n"
        "@njit(cache=True)\n"
        "def f(s, k):\n"
        "    if k > 2:\n"
        "        raise ValueError(s + '?')\n"
        "    return s.upper() + 'é😀' + str(k) + (s if k else 'none')\n"
        "print(ascii(f('xü', 1)), sum(s.from_cache for s in f.specializations()) if hasattr(f, 'specializations') else '')\n"
        "try:\n"
        "    f('a', 3)\n"
        "except ValueError as e:\n"
        "    print(e.args)\n"
    )
    runs = [
        subprocess.run([sys.executable, program], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert runs[0].splitlines()[0].startswith(ascii("XÜé😀1xü")) and runs[0].splitlines()[1] == "('a?',)"
    assert runs[0].splitlines()[1] == runs[1].splitlines()[1]


def test_signatures():
    @njit("int64(str)")
    def f(s):
        return len(s)

    assert f("abc") == 3
    with pytest.raises(TypeError):
        f(3)


@pytest.mark.parametrize(
    "code",
    [
        "s + 1",
        "1 + s",
        "s - s",
        "s < 1",
        "s[1.5]",
        "s.find(1)",
        "s['a']",
        "1 in s",
        "s.nothing",
        "int(1, 10)",
        "ord(1)",
        "-s",
        "s * s",
        "s.join((s, 1))",
    ],
)
def test_wrong(code):
    with pytest.raises(TypingError):
        method(code)("a")


@pytest.mark.parametrize(
    "code", ["s.encode('cp1252')", "s.upper() % 1", "s.upper().format(1)", "s.upper().format_map({})"]
)
def test_left_out(code):
    with pytest.raises(UnsupportedError):
        method(code)("a")


# --- what grows in place ---


@njit
def grown(parts, start):
    """Each string that was made on the way stays what it was."""
    s, on_the_way, branches = start, [start], [start]
    for p in parts:
        s += p
        on_the_way.append(s)
        branches.append(on_the_way[len(on_the_way) // 2] + p)
        branches.append(s[3:] + p)
    return s, on_the_way, branches


@settings(deadline=None, max_examples=60)
@given(
    parts=st.lists(FEW, min_size=1, max_size=40),
    start=st.sampled_from(["", "a" * 70, "é" * 300, "β" * 64, "😀" * 64]),
)
def test_growing(parts, start):
    agree(grown, parts, start)


@njit(parallel=True)
def branched(n):
    s = "x" * 100
    for i in range(20):
        s += "y"
    out = np.zeros(n, np.int64)
    for i in prange(n):
        t = s + "abc"[i % 3]
        t += "z"
        out[i] = len(t) * (1 if t == s + "abc"[i % 3] + "z" else -1)
    return out, s


def test_growing_on_all_cores():
    for _ in range(20):
        out, s = branched(500)
        assert (out == 122).all() and s == "x" * 100 + "y" * 20


@njit
def grown_by_one(n):
    s = ""
    for i in range(n):
        s += "c"
    return len(s)


def test_growing_is_linear():
    """A million at once: copied each time it would be half a terabyte."""
    assert grown_by_one(1_000_000) == 1_000_000


TABLES = [
    str.maketrans("abé", "xyz"),
    str.maketrans("ab", "xy", "c"),
    str.maketrans({"a": "long", "b": "", "é": "q"}),
    str.maketrans({"a": None, "b": "B"}),
    {97: 98},
]
TRANSLATE = [
    method(c)
    for c in (
        "s.translate(x)",
        "s.translate(str.maketrans('ab', 'xy')), s.translate(str.maketrans('é', 'a', 'b'))",
        "s.translate(str.maketrans({'a': 'bb', '𝔸': ''}))",
        "s.translate(str.maketrans(s, 'xy'))",
        "str.maketrans({s: 1})",
        "ascii(s), f'<{ascii(s)}>', ascii([s]), ascii((s, 1.5)), ascii(3), ascii('lit\\xe9')",
    )
]


@pytest.mark.parametrize("s", ["", "abc", "éab𝔸c", "ab", "\u20ac\n'", "\ud800"])
def test_translate_and_ascii(s):
    for table in TABLES:
        agree(TRANSLATE[0], s, dict(table))
    for f in TRANSLATE[1:]:
        agree(f, s)


@njit
def lone(s):
    if s == "\ud800":
        raise ValueError("\udfff", s)
    return (
        "\ud800" + s,
        f"\udc80{s}",
        "\ud800{!r:>5}".format(s),
        "\ud800%s" % s,
        repr("\ud800é\x85"),
        s.find("\udc80"),
    )


def test_constants_with_lone_surrogates():
    for s in ("", "a\udc80", "\ud800"):
        agree(lone, s)
