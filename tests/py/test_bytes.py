"""Bytes as values: every operation against CPython's, by every way into compiled code."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from methods import agree, method, outcome
from treadle import TypingError, UnsupportedError, njit, prange

ODD = b"aAzZ09_ \t\n\r\v\f\x1c\x1e\x85\xa0\xe9\xff\x00'\"\\b"
BYTES = st.one_of(st.binary(max_size=10), st.lists(st.sampled_from(ODD), max_size=10).map(bytes))
FEW = st.lists(st.sampled_from(b"ab\0\xff "), max_size=8).map(bytes)
INTS = st.one_of(st.none(), st.integers(-12, 12))


PLAIN = [
    method(c)
    for c in (
        *(
            f"s.{n}()"
            for n in "upper lower swapcase title capitalize isalpha isdigit isalnum islower isupper istitle isspace isascii".split()
        ),
        *(f"s.{n}()" for n in "hex strip lstrip rstrip expandtabs".split()),
        "len(s), not s, s == b'a', b'\\0' in s, 97 in s",
        "repr(s), str(s), f'{s}|{s!r}'",
        "s[:3] + s[::-1] + s[1::2] + s[-2:]",
        "s * 3 + 2 * s",
        "(s, bytes(s), b'lit\\0\\xff' + s)",
        "[c for c in s]",
        "sum(s), max(s, default=-1)",
        "s.ljust(7) + s.rjust(7, b'*') + s.center(8, b'-') + s.zfill(6)",
        "s.decode('latin-1')",
        "s.decode('L1', 'replace')",
        "s.decode('ascii', 'ignore')",
        "s.decode('US-ASCII', errors='replace')",
        "s.decode('utf-8', 'replace')",
        "s.decode(errors='ignore')",
    )
]


@settings(deadline=None, max_examples=120)
@given(s=BYTES)
def test_alone(s):
    for f in PLAIN:
        agree(f, s)


def test_every_byte():
    for f in PLAIN:
        for i in range(256):
            agree(f, bytes([i]))
            agree(f, bytes([97, i, 66]))


PAIRS = [
    method(c)
    for c in (
        "s + x",
        "x in s",
        "s == x, s != x, s < x, s <= x, s > x, s >= x",
        "s.strip(x), s.lstrip(x), s.rstrip(x)",
        "s.removeprefix(x), s.removesuffix(x)",
        "s.partition(x)",
        "s.rpartition(x)",
        "s.replace(x, b'new'), s.replace(b'a', x, 2)",
        "s.find(x), s.rfind(x), s.count(x), s.startswith(x), s.endswith(x)",
        "s.index(x)",
        "s.rindex(x)",
        "s.startswith((x, b'b')), s.endswith((x, b'ab'))",
        "s or x, s and x",
    )
]


@settings(deadline=None, max_examples=120)
@given(s=FEW, x=st.lists(st.sampled_from(b"ab\0\xff "), max_size=2).map(bytes))
def test_two(s, x):
    for f in PAIRS:
        agree(f, s, x)


BOUNDED = [method(f"s.{n}(x, y, z)") for n in "find rfind count startswith endswith index rindex".split()]
BYTE = [method(f"s.{n}(x)") for n in "find rfind count index rindex".split()] + [
    method("x in s"),
    method("s[x]"),
    method("s * x"),
    method("bytes(x)"),
]


@settings(deadline=None, max_examples=120)
@given(
    s=FEW,
    x=st.lists(st.sampled_from(b"ab\0\xff "), max_size=2).map(bytes),
    y=INTS,
    z=INTS,
    i=st.integers(-3, 9),
    c=st.sampled_from([97, 0, 255, 256, -1]),
)
def test_numbers(s, x, y, z, i, c):
    for f in BOUNDED:
        agree(f, s, x, y, z)
    for f in BYTE[:6]:
        if c < 0 or c > 255:
            assert outcome(f, s, c)[0] is ValueError
        else:
            agree(f, s, c)
    for f in BYTE[6:]:
        agree(f, s, i)


# --- encode() and decode() ---


STRICT = [method(f"s.decode({a})") for a in ("", "'utf-8'", "'ascii'", "'latin1'")]
ENCODE = [method(f"s.encode({a})") for a in ("", "'utf-8'", "'ascii'", "'latin1'")]
CODECS = ("utf-8", "ascii", "latin-1")
HANDLERS = ("replace", "ignore", "backslashreplace", "surrogateescape", "surrogatepass", "xmlcharrefreplace")
LOOSE = [method(f"s.encode('{c}', '{e}')") for c in CODECS for e in HANDLERS]
LOOSE_BYTES = [method(f"s.decode('{c}', '{e}')") for c in CODECS for e in HANDLERS[:-1]]


@settings(deadline=None, max_examples=300)
@given(s=BYTES, t=st.text(st.sampled_from("aé€😀\ud800\0\x7f\x80ÿĀ\uffff\U0010ffff"), max_size=6))
def test_encodings(s, t):
    for f in STRICT + LOOSE_BYTES:
        agree(f, s)
    for f in ENCODE + LOOSE:
        agree(f, t)
    assert STRICT[0](t.encode("utf-8", "ignore")) == t.encode("utf-8", "ignore").decode()


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.sampled_from(b"a\x80\xbf\xc2\xdf\xe0\xa0\xed\x9f\xf0\x90\xf4\x8f\xf5\xff"), max_size=7).map(
        bytes
    )
)
def test_bad_utf8(s):
    for f in (STRICT[0], PLAIN[-2], PLAIN[-1], *LOOSE_BYTES[:5]):
        agree(f, s)


@njit
def told(s, strict):
    try:
        return s.encode("ascii").decode("ascii") if strict else s.encode("latin-1").decode()
    except UnicodeDecodeError as e:
        return f"{e}, {e!r}, {e.encoding}, {e.reason}, {e.start}, {e.end}"
    except UnicodeEncodeError as e:
        return f"{e}, {e!r}, {e.encoding}, {e.reason}, {e.start}, {e.end}"


@settings(deadline=None, max_examples=200)
@given(st.text(st.sampled_from("aé€😀\ud800\x7f\x80ÿÃ©\u2028"), max_size=4), st.booleans())
def test_a_caught_error_of_a_codec(s, strict):
    agree(told, s, strict)


@njit
def by_hand(s, start, end):
    try:
        raise UnicodeEncodeError("mine", s, start, end, f"{start} is bad")
    except UnicodeError as e:
        return str(e), repr(e), e.start, e.end


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=3), st.integers(0, 4), st.integers(-1, 5))
def test_an_error_of_a_codec_by_hand(s, start, end):
    agree(by_hand, s, start, end)


@njit
def start_of(k):
    try:
        if k:
            raise ValueError("no codec")
        return b"\xff".decode()
    except ValueError as e:
        return str(e.start)


def test_which_exceptions_have_a_start():
    assert start_of(0) == "0"
    with pytest.raises(AttributeError, match="no attribute 'start'"):
        start_of(1)


@njit
def of_one(s):
    raise UnicodeDecodeError(s)


@njit
def of_a_str(s):
    raise UnicodeDecodeError("ascii", s, 0, 1, "why")


@pytest.mark.parametrize(
    ("f", "text"),
    [(of_one, r"exactly 5 arguments \(1 given\)"), (of_a_str, "argument 2 .* must be bytes, not str")],
)
def test_arguments_of_an_error_of_a_codec(f, text):
    with pytest.raises(TypeError, match=text):
        f("s")


# --- ways in and out ---


@njit
def kept(s):
    return s, (s, 1)


def test_the_very_object():
    s = b"some bytes"
    a, (b, _) = kept(s)
    assert a is s and b is s
    assert str(treadle.typeof(s)) == "bytes"


GLOBAL = b"glo\0bal"


@njit
def constants(i, d=b"default"):
    t = b"" if i < 0 else GLOBAL
    return t + d + (b"a", b"bb")[1], None if i == 3 else t


def test_constants():
    for i in (-1, 0, 3):
        agree(constants, i)
        agree(constants, i, b"x")


@njit
def joined(a, b, n):
    """Two paths, a loop that grows, an inner function."""

    def twice(x):
        return x + x

    s = a if n % 2 else b
    for i in range(n):
        s += twice(b"xy"[i % 2 : i % 2 + 1])
    return s


@njit(parallel=True)
def everywhere(data, n):
    out = np.zeros(n, np.int64)
    for i in prange(n):
        t = data[i % 3 :] + b"!"
        for c in t:
            out[i] += c
        out[i] += len(t) * (t.find(b"!") > 0)
    return out


@njit
def midway(s, n):
    t = s
    for i in range(n):
        t += s[i : i + 1]
        if s[i] == 0:
            raise ValueError(f"a zero at {i} of {s}")
    return t


def test_ways():
    for n in range(5):
        agree(joined, b"a", b"b\xff", n)
    assert (everywhere(b"abc\xfe", 100) == everywhere.py_func(b"abc\xfe", 100)).all()
    agree(midway, b"abc", 3)
    agree(midway, b"ab\0", 3)
    agree(midway, b"abc", 4)
    assert njit("bytes(bytes, int64)")(lambda s, i: s[i:])(b"abc", 1) == b"bc"
    assert njit(fastmath=True, error_model="numpy")(joined.py_func)(b"a", b"b", 3) == joined.py_func(
        b"a", b"b", 3
    )


def test_match_and_print(capfd):
    @njit
    def f(s):
        print(s, (s, 1))
        match s:
            case b"go":
                return 1
            case b"stop" | b"end":
                return 2
        return 3

    assert [f(s) for s in (b"go", b"end", b"no'")] == [1, 2, 3]
    assert capfd.readouterr().out == "b'go' (b'go', 1)\nb'end' (b'end', 1)\nb\"no'\" (b\"no'\", 1)\n"


PROGRAM = """
from treadle import njit

@njit(cache=True)
def f(s):
    return b"a\\0b" + s.upper() + bytes(2)

print(f(b"xy"), len(f.stats.cache_hits))
"""


def test_cache(tmp_path):
    path = tmp_path / "kept.py"
    path.write_text(PROGRAM)
    out = [subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True).stdout for _ in range(2)]  # fmt: skip
    assert out == [f"{b'a' + bytes(1) + b'bXY' + bytes(2)} {k}\n" for k in (0, 1)]


# --- what Python does not take, and what we do not ---


@pytest.mark.parametrize(
    "code",
    [
        "s + 'a'",
        "s[1.5]",
        "s.find('a')",
        "'a' in s",
        "s < 'a'",
        "s.upper(1)",
        "s.strip('a')",
        "s.nothing()",
        "bytes('a')",
        "'a' + s",
    ],
)
def test_wrong(code):
    with pytest.raises(TypingError):
        method(code)(b"abc")
    assert outcome(method(code).py_func, b"abc")[0] in (TypeError, AttributeError)


def test_wrong_items():
    with pytest.raises(TypingError):

        @njit
        def store(s):
            s[0] = 1

        store(b"abc")


@pytest.mark.parametrize(
    "code", ["s[:] % 1", "b'%(a)d' % {b'a': 1}", "s.decode('cp1252')", "s.decode(errors='xmlcharrefreplace')"]
)
def test_left_out(code):
    with pytest.raises(UnsupportedError):
        method(code)(b"abc")


def test_a_str_differs():
    assert method("s == 'a', s != 'a'")(b"a") == (False, True)


# --- of other things ---


@njit
def decoded(b):
    return str(b, "utf-8"), str(b, "ascii", "replace"), str(b, errors="ignore"), str(encoding="ascii")


@settings(deadline=None, max_examples=50)
@given(st.binary(max_size=4))
def test_str_of_bytes(b):
    agree(decoded, b)
    assert outcome(decoded, bytearray(b)) == outcome(decoded, b)


@pytest.mark.parametrize(
    ("x", "text"), [(5, "need a bytes-like object, int64 found"), ("s", "decoding str is not supported")]
)
def test_str_of_what_is_no_bytes(x, text):
    with pytest.raises(TypingError, match=text):
        njit(lambda x: str(x, "ascii"))(x)


@njit
def memory(a):
    return a.tobytes()


@njit
def listed(a):
    return a.tolist()


ARRAYS = [
    np.arange(3.0),
    np.arange(6, dtype=np.int32).reshape(2, 3).T,
    np.array([True, False]),
    np.array([1 + 2j], np.complex64),
    np.array(2.5),
    np.arange(10, dtype=np.uint16)[::-3],
    np.array([0.1, np.inf], np.float16),
    np.zeros((2, 0)),
    np.arange(8, dtype=np.float32).reshape(2, 2, 2),
]


@pytest.mark.parametrize("a", ARRAYS, ids=range(len(ARRAYS)))
def test_arrays_as_bytes_and_lists(a):
    for f in (memory, listed):
        agree(f, a)
        assert repr(f(a)) == repr(f.py_func(a))


def test_lists_of_strings_and_of_views_of_memory():
    for a in (np.array(["ab", "", "é"]), np.array([[b"x"], [b""]])):
        agree(listed, a)
    for x in (bytearray(b"ab"), memoryview(b"ab")):
        assert listed(x) == list(x) and memory(x) == bytes(x)


def test_what_is_no_list_and_no_bytes():
    for f, a in (
        (listed, np.array([1], "M8[s]")),
        (memory, np.array(["a"])),
        (memory, np.array([1], "M8[s]")),
    ):
        with pytest.raises((TypingError, UnsupportedError), match="tolist|tobytes"):
            f(a)
    with pytest.raises(UnsupportedError, match="order other than C"):
        njit(lambda a: a.tobytes("F"))(np.ones((2, 2)))


@pytest.mark.parametrize("call", ["append(1)", "decode()", "pop()"])
def test_a_bytearray_that_is_passed_has_advice(call):
    with pytest.raises(TypingError, match="an array of its memory"):
        njit(eval(f"lambda b: b.{call}"))(bytearray(b"a"))


# --- % ---


@njit
def laid_out(s, n, x):
    return (
        b"%d|%5d|%-4d|%+i|%x|%X|%#o|%u|%03d" % (n, n, n, n, abs(n), abs(n), abs(n), n, n),
        b"%s\0\xff%b|%5s|%-4b|%.2s" % (s, s, s, s, s),
        b"%e %.2f %g %*.*f" % (x, x, x, n % 9, abs(n) % 4, x),
        b"%a %r%%" % (s, n),
    )


@settings(deadline=None, max_examples=100)
@given(s=BYTES, n=st.integers(-300, 10**12), x=st.floats())
def test_percent(s, n, x):
    agree(laid_out, s, n, x)


@njit
def one_byte(x):
    return b"<%c>" % x, b"%4c" % (x,)


def test_percent_of_a_byte():
    for x in (0, 65, 255, 256, -1, b"a", b"", b"ab", bytearray(b"x")[0]):
        agree(one_byte, x)


TEMPLATE = b"%s=%d;"


def test_templates_of_globals_and_bytearrays():
    @njit
    def f(n):
        m = bytearray(2)
        m[0] = n
        return TEMPLATE % (m, n) * 2

    agree(f, 7)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("b'%s' % 1", "%b requires a bytes-like object"),
        ("b'%b' % 'x'", "%b requires a bytes-like object"),
        ("b'%d' % b'1'", "%d format: a real number is required"),
        ("b'%f' % b'1'", "float argument required"),
        ("b'%c' % 1.5", "%c requires an integer in range"),
        ("b'%d %d' % 1", "not enough arguments for format string"),
        ("b'%d' % (1, 2)", "not all arguments converted during bytes formatting"),
        ("b'%q' % 1", "unsupported format character 'q'"),
    ],
)
def test_what_a_template_of_bytes_does_wrong(code, text):
    with pytest.raises(TypingError, match=text):
        njit(eval(f"lambda: {code}"))()
