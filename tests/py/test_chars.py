"""Arrays of fixed-width strings, dtypes S and U: what compiled code does with them is what NumPy does."""

from __future__ import annotations

import copy
import gc
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prange_check import no_array_lost
from treadle import TypingError, UnsupportedError, njit, prange

WORDS = ["", "a", "b", "ab", "abc", "é", "ÿz", "Ā", "𝔸b", "a\0b", "\0", " x", "fig"]
NARROW = [w for w in WORDS if all(ord(c) < 128 for c in w)]


def plain(r):
    """A result with the dtype and shape of each array, and values that are Python's own."""
    if isinstance(r, np.ndarray):
        return r.dtype.str, r.shape, [plain(x) for x in r.ravel().tolist()]
    if isinstance(r, dict):
        return {plain(k): plain(v) for k, v in r.items()}
    if isinstance(r, (tuple, list)):
        return [plain(x) for x in r]
    if isinstance(r, np.generic):
        return plain(r.item())
    return r


def outcome(f, args):
    """What a call gives and leaves in its arguments, or the exception's class."""
    args = copy.deepcopy(args)
    try:
        return plain((f(*args), args))
    except Exception as e:  # noqa: BLE001
        return type(e)


def agree(f, *args):
    """The compiled function does as Python's."""
    got, want = outcome(f, args), outcome(f.py_func, args)
    assert got == want, (f.__name__, args, got, want)
    return got


def compiled(params, body):
    """A compiled function of some lines."""
    d: dict = {"np": np}
    lines = body.splitlines()
    lines[-1] = f"return {lines[-1]}"
    exec(f"def f({params}):\n    " + "\n    ".join(lines) + "\n", d)
    d["f"].__name__ = body
    return njit(d["f"])


READS = [
    compiled("a", c)
    for c in (
        "a",
        "a.shape, a.ndim, a.size, a.itemsize, a.nbytes, len(a), a.dtype.kind",
        "[len(s) for s in a], sum([len(s.upper()) for s in a[::-1]])",
        "a[1:], a[::2], a[::-1], a[:0], a[...], a[None], a[1:][::-1][1:]",
        "a == a[::-1], a != a[::-1], a < a[::-1], a <= a[:1], a > a[::-1], a >= a[0]",
        "a[0] == a[1], a[0] < a[1], a[0] in a, a == a[1]",
        "np.sort(a), np.argsort(a, kind='stable'), a[np.argsort(a, kind='mergesort')], np.sort(a[::-2])",
        "np.unique(a)",
        "np.unique(a, return_index=True, return_inverse=True, return_counts=True)",
        "np.where(a == a[0])[0], a[a != a[1]], a[np.array([1, 0, 1])]",
        "np.where(a == a[0], a, a[::-1]), np.where(a != a[0], a[0], a)",
        "a.copy(), np.copy(a), np.array(a), np.asarray(a), a.ravel(), a.flatten(), a.T",
        "np.concatenate((a, a[:1])), np.zeros_like(a), np.empty_like(a).shape",
        "np.isin(a, a[:2]), np.take(a, np.array([1, 0]))",
        "n = 0\nfor i, s in enumerate(a):\n    n += i * len(s)\nfor s, t in zip(a, a[::-1]):\n    n += len(s + t) * (s < t)\nn",
        "a.reshape(1, -1)[0], a.reshape((len(a), 1)).T, np.reshape(a, (1, len(a)))",
        "a == 1, a != None, a == 2.5",
        "(a, a[:1])",
    )
]


@pytest.mark.parametrize("letter", ["U", "S"])
def test_reading(letter):
    arrays = (
        np.array(NARROW if letter == "S" else WORDS, dtype=letter),
        np.array(["b", "a", "b"], dtype=f"{letter}5"),
        np.array(["x", "y"], dtype=letter),
    )
    for f in READS:
        for a in arrays:
            agree(f, a)
            agree(f, np.repeat(a, 2)[::2])
            b = a.copy()
            b.flags.writeable = False
            agree(f, b)


STRINGS = st.lists(st.sampled_from(WORDS), min_size=2, max_size=12)


@settings(deadline=None, max_examples=60)
@given(words=STRINGS, width=st.integers(0, 4))
def test_reading_drawn(words, width):
    a = np.array(words, dtype=f"U{width}" if width else "U")
    for f in READS[2:13]:
        agree(f, a)
    latin = np.array([w.encode("utf-8") for w in words], dtype=f"S{width}" if width else "S")
    for f in READS[2:13]:
        agree(f, latin)


COUNT = compiled(
    "a", "d = {}\nfor s in a:\n    d[s] = d.get(s, 0) + 1\nd, {s for s in a}, 'ab' in a, 'ab' in d"
)
ITEM = compiled("a, i", "a[i]")
STORE = compiled("a, i, x", "a[i] = x\na")
COMPARE = compiled("a, b", "a == b, a != b, b == a")
ORDER = compiled("a, b", "a < b, a <= b, a > b, b >= a")


def test_items():
    for a in (np.array(WORDS), np.array(NARROW, "S"), np.array([["a", "bb"], ["", "é"]])):
        for i in range(-len(a) - 1, len(a) + 1):
            agree(ITEM, a, i)
    m = np.array([["a", "bb", "c"], ["", "é", "dd"]])
    for i in ((0, 1), (1,), (slice(None), 0), (slice(1), slice(None, None, -1)), 1):
        agree(ITEM, m, i)
        agree(ITEM, m.T.copy().T, i)
        agree(STORE, m, i, "qrst")
    agree(ITEM, m, np.array([[True, False, True], [False, True, False]]))
    agree(ITEM, np.array("abc"), ())
    agree(COUNT, np.array(WORDS * 2))
    assert type(ITEM(m, (0, 1))) is str
    assert type(ITEM(np.array([b"x"]), 0)) is bytes


def test_storing():
    for a in (np.array(WORDS), np.array(NARROW, "S"), np.array(["q", "w"], "U1")[::-1]):
        for x in ("", "z", "zzzzzzzzz", b"", b"zz", "é", b"\xe9", 5, 2.5, True):
            agree(STORE, a, 1, x)
            agree(STORE, a, slice(0, 2), x)
            agree(STORE, a, a == a[0], x)
        agree(STORE, a, slice(None), a[::-1])
        agree(STORE, a, slice(None), a.astype(a.dtype.char + "9"))
        agree(STORE, a, slice(0, 1), a[1:2].astype(a.dtype.char + "1"))
        agree(STORE, a, np.array([1, 0]), a[:2].copy())
        agree(STORE, a, 99, "x")
        agree(
            STORE,
            a,
            slice(0, 2),
            a[:2].astype("U9" if a.dtype.char == "S" else "S9") if a[0].isascii() else a[:2],
        )
    f = compiled("a", "a[0] = a[1]\na[1:] = a[:-1]\na[-2:] = ['pq', 'r']\na.fill(a[0])\na")
    agree(f, np.array(["ab", "c", "d"]))
    a = np.array(["ab"])
    a.flags.writeable = False
    with pytest.raises(TypingError, match="read-only"):
        STORE(a, 0, "x")


@pytest.mark.parametrize("f", [COMPARE, ORDER])
def test_comparing(f):
    u, s = np.array(WORDS), np.array(NARROW, "S")
    for a in (u, s):
        agree(f, a, a[::-1])
        agree(f, a, a.astype(a.dtype.char + "9"))
        agree(f, a, a[:1])
        agree(f, np.array([a, a[::-1]]), a)
        agree(f, np.array([a, a[::-1]]).T, a[:, None])
        for x in a:
            agree(f, a, x.item())
            agree(f, a, x)  # np.str_, np.bytes_
    agree(f, u, "a\0\0")
    if f is COMPARE:  # of another letter nothing is equal
        agree(f, u[: len(s)], s)
        agree(f, u, b"ab")
        agree(f, s, "ab")
        agree(f, u, np.arange(len(u)))
    with pytest.raises(ValueError, match="could not be broadcast together with shapes"):
        f(u, u[:3])


MADE = [
    compiled("n", c)
    for c in (
        "np.zeros(n, 'U7'), np.zeros((2, n), 'S3'), np.zeros(n, dtype=str), np.zeros(n, np.str_), np.empty(n, '<U2').shape",
        "np.full(n, 'abc'), np.full((n, 2), 'abc', 'U2'), np.full(n, b'q', dtype='S9'), np.full(n, 'é' * n)",
        "np.array(['a', 'bcd', '']), np.array([b'x', b'yy']), np.array(['a', 'bcd'], dtype='U2'), np.array(('q',)), np.array('abc')",
        "l = ['']\nfor i in range(n):\n    l.append('w' * i)\nnp.array(l), np.array(l, dtype='U2'), np.asarray(l), np.array(l, 'S')",
        "np.array('a,bb,ccc'.split(','))",
        "np.array(['a', 'b' * n]), np.full(2, 'z' * n)[0]",
    )
]


def test_made():
    for f in MADE:
        for n in (0, 1, 3):
            agree(f, n)


def test_converted():
    f = compiled("a", "a.astype('U2'), a.astype('U9'), a.astype(str), a.astype('S3'), np.asarray(a, 'U2')")
    agree(f, np.array(NARROW))
    agree(f, np.array(NARROW, "S"))
    agree(f, np.array(WORDS))  # which S cannot have
    agree(f, np.array([b"\xe9"]))


def test_a_value_of_an_item_stays():
    f = compiled("a", "s = a[0]\nt = a[1:]\na[0] = 'new'\na[1] = 'too'\ns, t[0], a")
    agree(f, np.array(["old", "one"]))


@pytest.mark.parametrize(
    "code",
    [
        "a.sum()",
        "a * 2",
        "str(a)",
        "np.empty(3, a.dtype)",
        "a.view('U1')",
        "np.max(a)",
        "a.astype(float)",
    ],
)
def test_left_out(code):
    with pytest.raises((UnsupportedError, TypingError)):
        compiled("a", code)(np.array(["a"]))


@pytest.mark.parametrize("code", ["a[1.5]", "a['x']", "a[0, 0]", "a.nothing", "len(a[0], 1)"])
def test_wrong(code):
    with pytest.raises(TypingError):
        compiled("a", code)(np.array(["a", "b"]))


def test_refused():
    with pytest.raises(TypeError, match="big-endian"):
        ITEM(np.array(["a"]).astype(">U1"), 0)
    with pytest.raises(TypeError):
        ITEM(np.array(["a", None], object), 0)


def test_no_character():
    a = np.array([0x110000, 0x41], np.uint32).view("U1")
    with pytest.raises(ValueError, match="not in range"):
        ITEM(a, 0)
    assert ITEM(a, 1) == "A"


# --- records ---

TABLE = [("name", "U7"), ("x", "f8"), ("tag", "S3"), ("two", "S2", (2,)), ("k", "i2")]


def table(dtype):
    a = np.zeros(4, dtype)
    a["name"] = ["ann", "bob", "zoë", "ann"]
    a["tag"] = [b"x", b"yy", b"", b"zzz"]
    a["x"] = [1, 2, 3, 4]
    return a


FIELDS = [
    compiled("a", c)
    for c in (
        "a['name'], a['tag'], a['name'][1], a[2]['name'], a['x'].sum()",
        "d = {}\nfor r in a:\n    d[r['name']] = d.get(r['name'], 0.0) + r['x']\nd",
        "a[2]['name'] = 'longer name'\na['tag'][0] = b'12345'\na[1]['tag'] = 'q'\na[3]['x'] = 7\na['name'], a['tag'], a['x']",
        "a['name'] = 'abcdefghij'\na['tag'] = a['tag'][::-1].copy()\na['name'], a['tag']",
        "a[a['name'] == 'ann']['x'], np.where(a['name'] != 'ann')[0], np.unique(a['name'])",
        "a['two'][1:] = b'ab'\na[1]['two'][1] = b'xyz'\na['two'], a[1]['two'], a[1]['two'][1]",
        "np.sort(a['name']), np.argsort(a['name'], kind='stable')",
        "a[0] = a[1]\na[2] = a[3]\na['name'], a['tag']",
    )
]


@pytest.mark.parametrize("align", [False, True])
def test_fields(align):
    a = table(np.dtype(TABLE, align=align))
    for f in FIELDS:
        agree(f, a)
        agree(f, a[::-1])
        agree(f, np.repeat(a, 2)[::2])


def test_fields_as_attributes():
    f = compiled("a", "s = ''\nfor r in a:\n    s += r.name + '|'\n    r.name = r.name.upper()\ns, a.name")
    agree(f, table(TABLE).view(np.recarray))


def test_sorting_records():
    a = table([("name", "U7"), ("x", "f8"), ("tag", "S3")])
    for order in ("'name'", "('tag', 'name')", "['x', 'tag']"):
        agree(compiled("a", f"np.sort(a, order={order}), np.argsort(a, order={order})"), a)
        agree(compiled("a", f"np.sort(a, order={order})"), np.repeat(a[::-1], 3))


def test_one_record():
    f = compiled("r", "r['name'] + '!', r['tag'], len(r['two'])")
    agree(f, table(TABLE)[1])


def test_fields_of_the_other_order():
    a = np.zeros(2, [("n", ">U3"), ("x", "f8")])
    agree(compiled("a", "a['x']"), a)
    with pytest.raises(UnsupportedError):
        compiled("a", "a['n']")(a)


# --- ways in ---


def test_one_specialisation_for_all_widths():
    f = compiled("a", "a[0]")
    for w in (1, 5, 9):
        f(np.array(["a"], f"U{w}"))
    assert len(f.signatures) == 1


def test_in_parallel():
    @njit(parallel=True)
    def f(a, x):
        n = 0
        out = np.zeros_like(a)
        for i in prange(len(a)):
            if a[i] == x:
                n += 1
            out[i] = a[i].upper()
        return n, out, a == x

    agree(f, np.array(WORDS * 50), "ab")


def test_called_with_other_options():
    @njit(fastmath=True)
    def g(a, x):
        return a[a == x], a[0]

    @njit(boundscheck=True)
    def f(a):
        b, s = g(a, "ab")
        return b, s, g(a[::-1], s)

    agree(f, np.array(WORDS))


def test_globals_and_constants():
    words = np.array(["x", "yy", "x"])
    wide = np.array([[b"x", b"yy"], [b"", b"q"]]).T
    seven = np.dtype("U7")

    @njit
    def f(i):
        return words[i], words == "x", wide[0, 1], wide, len(words), np.zeros(2, seven)

    agree(f, 1)


ITEMS = [
    compiled("a", c)
    for c in (
        "d = {}\nfor s in a:\n    d[s] = d.get(s, 0) + 1\nd",
        "d = {a[i]: i for i in range(len(a))}\nt = 0\nfor i in range(len(a)):\n    t += d[a[i]]\nt, a[0] in d",
        "d = {}\nfor i, s in enumerate(a):\n    d.setdefault(s, []).append(i)\nd",
        "s = set()\nfor x in a:\n    s.add(x)\nsorted(s), len(s), a[0] in s, sorted(set(a)), set(a) == s",
        "list(a), sorted(a), (a[0], a[1]), max(a), min(a), [x for x in a if x], list(zip(a, range(3)))",
        "l = []\nfor x in a:\n    l.append(x)\nl.sort()\nl, l.count(a[0]), l.index(a[1])",
        "{(a[0], 1): a[1]}, {a[0]: a[1]}[a[0]]",
        "x, *y = a\nx, y, np.array(list(a))",
    )
]


@pytest.mark.parametrize("letter", ["U", "S"])
def test_items_in_containers(letter):
    for f in ITEMS:
        agree(f, np.array(["x", "yy", "x", "", "zzz"], f"{letter}4"))
        agree(f, np.array([b"\0\xe9", b"b\0"]) if letter == "S" else np.array(["\0é", "b\0"]))


def test_lists_of_them():
    f = compiled("a", "l = [a, a[::-1]]\nl.append(a[:1])\nl[1][0], len(l), [len(x) for x in l]")
    agree(f, np.array(WORDS))


def test_nothing_leaks():
    f = compiled("a, i", "b = np.sort(a)\nc = [s + 'x' for s in b]\na[i] = c[0]\nb[i], np.unique(b), a == b")
    a = np.array(["abc", "é", "zzz"])
    f(a, 0)
    gc.collect()
    with no_array_lost(21):
        for i in (0, 1, 7, 2):
            try:
                f(a, i)
            except IndexError:
                assert i == 7
        gc.collect()


PROGRAM = """
import numpy as np
from treadle import njit

W = np.array(["q", "rs"])

@njit(cache=True)
def f(a):
    d = {}
    for s in a:
        d[s] = d.get(s, 0) + 1
    return d, np.unique(a), W[1], a == "x"

print(f(np.array(["x", "yy", "x"])), len(f.stats.cache_hits))
"""


def test_cache(tmp_path):
    path = tmp_path / "kept.py"
    path.write_text(PROGRAM)
    out = [subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True).stdout for _ in range(2)]  # fmt: skip
    assert out[0].rsplit(" ", 1)[0] == out[1].rsplit(" ", 1)[0]
    assert [int(o.rsplit(" ", 1)[1]) for o in out] == [0, 1]


@njit
def stored(a, x):
    a[0] = x
    return a


@njit
def as_bytes(a):
    return a.astype("S4")


@njit
def of_list(l):
    return np.array(l, "S4")


@njit
def as_text(a):
    return a.astype("U4")


def told(f, *args):
    """What a call gives, or the class and the arguments of its error."""
    try:
        return [*f(*args).ravel()]
    except UnicodeError as e:
        return type(e), e.args


def test_what_is_not_ascii():
    for f, *args in (
        (stored, np.array([b"abc"]), "aé€"),
        (stored, np.array([b"abc"]), "a"),
        (stored, np.array(["abc"]), b"a\xff"),
        (as_bytes, np.array([["ab", "x𝔸y"], ["é", ""]])),
        (as_bytes, np.array(["ab", "c"])),
        (of_list, ["ab", "cé"]),
        (of_list, ["ab", "c"]),
        (as_text, np.array([b"ab", b"\xe9\xe9"])),
        (as_text, np.array([b"ab"])[::-1]),
    ):
        assert told(f, *args) == told(f.py_func, *args)
