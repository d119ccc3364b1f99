"""Strings in containers: `split` and `join`, and strings as keys of dicts and items of sets, against CPython's, in all
widths of characters; every block is given back."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from treadle import njit, prange

ODD = st.text(st.sampled_from("ab \t\n\r\v\x0c\x1c\x1e\x85\xa0\u2028\u3000é漢😀\ud800"), max_size=14)
FEW = st.text(st.sampled_from("abé😀"), max_size=3)
WORDS = st.text(st.sampled_from("ab éλ😀\n"), max_size=30)


def outcome(f, *args):
    try:
        return f(*args)
    except Exception as e:  # noqa: BLE001
        return type(e), e.args


def shown(x):
    """The text of a result, which has the order of dicts; of a set the order is any."""
    if isinstance(x, tuple):
        return "".join(map(shown, x))
    return repr(sorted(x)) if isinstance(x, set) else repr(x)


def agree(f, *args):
    got, want = outcome(f, *args), outcome(f.py_func, *args)
    assert got == want and shown(got) == shown(want), (f.__name__, args, got, want)


def held() -> int:
    gc.collect()
    s = treadle.stats()
    return s["arrays_allocated"] - s["arrays_freed"]


# --- parts of strings ---


@njit
def at_spaces(s, k):
    return (
        s.split(),
        s.rsplit(),
        s.split(None, k),
        s.rsplit(None, k),
        s.split(maxsplit=k),
        s.rsplit(maxsplit=k),
    )


@njit
def at_separators(s, t, k):
    return s.split(t), s.rsplit(t), s.split(t, k), s.rsplit(t, maxsplit=k), s.split(sep=t, maxsplit=k)


@njit
def lines(s, keep):
    return s.splitlines(), s.splitlines(True), s.splitlines(keepends=keep)


@settings(deadline=None, max_examples=300)
@given(s=ODD, t=FEW, k=st.integers(-2, 5))
def test_split(s, t, k):
    agree(at_spaces, s, k)
    agree(at_separators, s, t, k)
    agree(lines, s, k)


def test_every_character_that_splits():
    for c in map(chr, range(0, 0x110000, 1)):
        if c.isspace() or len(f"a{c}b".splitlines()) > 1 or ord(c) % 499 == 0:
            agree(at_spaces, f"a{c}b{c}", 1)
            agree(lines, f"a{c}b{c}", 1)


@njit
def joined(s, t):
    l = s.split(t)
    l.append(t)
    l.append("ü😀"[: len(s) % 3])
    return (
        t.join(l),
        s.join([x.upper() for x in l if x]),
        t.join(x for x in l if x != t),
        ", ".join([]),
        "-".join(("a", s, t)),
        t.join(s),
        "+".join(sorted(set(l))),
        " ".join(reversed(l)),
    )


@settings(deadline=None, max_examples=200)
@given(s=ODD, t=st.text(st.sampled_from("abé😀"), min_size=1, max_size=2))
def test_join(s, t):
    agree(joined, s, t)


def test_parts_are_views_and_stay():
    @njit
    def kept(s):
        t = s + s
        return t.split("b")

    before = held()
    got = kept("abcabé")
    assert got == ("abcabé" * 2).split("b")
    del got
    assert held() == before


def test_join_of_what_is_no_string():
    @njit
    def f(n):
        l = [n]
        l.append(2)
        return ",".join(l)

    with pytest.raises(treadle.TypingError, match="join\\(\\) takes strings, not int64"):
        f(1)

    @njit
    def raises(s, n):
        return ",".join([c for c in s if 1 // n])

    agree(raises, "abc", 0)
    agree(raises, "abc", 1)


# --- keys ---


@njit
def counted(s):
    d = {}
    for w in s.split():
        d[w] = d.get(w, 0) + 1
    return d


@njit
def traced(s, t, n):
    d = {}
    seen = set()
    r = 0
    for k, c in enumerate(s):
        w = s[k : k + 2]
        r += d.get(w, k)
        d[w] = k
        d[c.upper()] = len(d)
        if w in seen:
            seen.remove(w)
        else:
            seen.add(w)
        if k % 5 == 4:
            d.pop(c, 0)
        if k == n:
            del d[w]
        r += d.setdefault(t, k)
    e = d.copy()
    e.update({"a": 1, "zz": 2})
    out = []
    for k in e:
        out.append(k)
    for k, v in d.items():
        r = r * 3 + v + len(k)
    r += 1 if d == e else 2
    r += 1 if "a" in d else 2
    r += 1 if t in seen else 2
    last = e.popitem()
    both = seen | {t, "a"}
    both -= {"b"}
    return d, e, out, seen, both, seen & both, last, r % 1000003, seen <= both, sorted(both), list(d.values())


@njit
def missing(s, how):
    d = {"a" + s: 1}
    u = {s}
    if how == 0:
        return d[s]
    if how == 1:
        del d[s]
    if how == 2:
        u.remove(s + s)
    if how == 3:
        return d.pop(s)
    return d["b"]


@settings(deadline=None, max_examples=200)
@given(s=WORDS, t=FEW, n=st.integers(-1, 8))
def test_tables(s, t, n):
    before = held()
    agree(counted, s)
    agree(traced, s, t, n)
    assert held() == before


@pytest.mark.parametrize("s", ["é", "x", "😀", "λb"])
def test_a_key_that_is_not_there(s):
    for how in range(5):
        agree(missing, s, how)


def test_one_key_in_all_widths():
    @njit
    def f(s):
        d = {}
        for w in ("abc" + s, "abcé" + s, "abcλ", "abc😀"):
            d[w[:3]] = d.get(w[:3], 0) + 1
        return d, "abc" in d, "abd" in d

    agree(f, "")
    assert f("")[0] == {"abc": 4}


def test_many_keys():
    @njit
    def f(n):
        d = {}
        for i in range(n):
            d[f"k{i}"] = i
        for i in range(0, n, 3):
            del d[f"k{i}"]
        for i in range(0, n, 2):
            d[f"k{i}"] = -i
        s = 0
        for i in range(n):
            s += d.get(f"k{i}", 7)
        return len(d), s, d

    f(3)
    before = held()
    agree(f, 20000)
    assert held() == before


def test_values_of_any_kind_and_a_key_of_another():
    @njit
    def f(s):
        groups = {}
        for w in s.split():
            if w[0] not in groups:
                groups[w[0]] = []
            groups[w[0]].append(w)
        names = {}
        for w in s.split():
            names[len(w)] = w
        return groups, names, 1 in groups, "a" in names, names.get(99, "none"), groups.get(s) is None

    before = held()
    agree(f, "ab ac b é éa 😀 ab")
    assert held() == before


def test_a_table_crosses_calls_and_loops():
    @njit
    def fill(d, s):
        for w in s.split():
            d[w] = len(d)
        return d

    @njit(inline="always")
    def also(d, k):
        return d.get(k, -1)

    @njit(parallel=True)
    def f(s, n):
        d = fill({}, s)
        total = 0
        for i in prange(n):
            u = set(s.split())
            u.add(str(i))
            total += also(d, "ab") + len(u)
        return d, total

    d = {"ab": 2, "cd": 1, "é": 2}
    assert f("ab cd ab é", 50) == (d, 50 * (2 + 4))


@njit
def best(s):
    w = s.split()
    d = {}
    for x in w:
        if x in d:
            d[x] += 1
        else:
            d[x] = 1
    return (
        max(w, default="none"),
        min(set(w), default="none"),
        max(s, default=""),
        min("b", s),
        max(s, "é", key=len),
        max(w, key=lambda x: x[::-1], default="?"),
        min([(len(x), x) for x in w], default=(0, "")),
        max(d, key=lambda x: d[x], default=""),
        sorted(d.items()),
        sorted(s),
        sorted(w, key=len, reverse=True),
        s in w,
        "a" in w,
        w.count("a"),
    )


@settings(deadline=None, max_examples=150)
@given(s=WORDS)
def test_the_best_and_the_sorted(s):
    before = held()
    agree(best, s)
    assert held() == before


def test_a_table_learns_from_its_default():
    @njit
    def f(s):
        d = {}
        for w in s.split():
            d[w] = d.get(w, 0) + 0.5
        e = {}
        return d, sorted(d.items()), e.get("a", 3), "a" in e, e.get(s) is None

    agree(f, "b a b é")


def test_a_mixed_key_names_both_types():
    @njit
    def f(s):
        d = {}
        d[s] = 1
        d[2] = 1
        return d

    with pytest.raises(treadle.TypingError, match="no type in common"):
        f("a")


# --- displays with names ---


@njit
def put(d, k):
    d[k] = 9
    return d


def a_name_more(s):
    d = {"a": 1, "b": 2}
    d[s] = 3
    return d


def one_less(s):
    d = {"a": 1, "b": 2}
    for c in s:
        d[c] = len(d)
    del d["b"]
    return d.pop("a"), d


def two_together(s):
    d = {"a": 1, "b": 2}
    e = d | {s: 4}
    d.update({"z": 1})
    d |= e
    return d, e, {"q": 1}.copy()


def in_a_closure(s):
    d = {"a": 1}

    def g(k):
        d[k] = 5

    g(s)
    return d


def of_lists(s):
    d = {"a": [1], "b": []}
    d.setdefault(s, []).append(4)
    return d


def one_of_two(s):
    d = {"a": 1} if len(s) > 1 else {"b": 2}
    d[s] = 1
    return d


def read_too(s):
    def g(a, b):
        return a + b[0]

    e = {"a": 1, "b": (2, 3)}
    return g(**e), e["b"], len(e), dict({"x": 1, "y": len(s)})


DISPLAYS = [a_name_more, one_less, two_together, in_a_closure, of_lists, one_of_two, read_too]


@pytest.mark.parametrize("f", DISPLAYS)
@pytest.mark.parametrize("inline", ["never", "always"])
def test_displays_with_names(f, inline):
    g, before = njit(inline=inline)(f), held()
    for s in ("b", "ab", "é😀"):
        agree(g, s)
    assert held() == before


def test_a_display_that_a_callee_changes():
    @njit
    def f(s):
        d = {"a": 1}
        put(d, s)
        return d

    assert f("b") == {"a": 1, "b": 9}


CHILD = """
import sys
from treadle import njit

@njit(cache=True)
def f(s):
    d = {}
    for w in s.split():
        d[w] = d.get(w, 0) + 1
    return d, "-".join(d)

print(ascii(f("b a é b 😀 é")), f.stats["compiled"])
"""


def test_in_a_second_process(tmp_path):
    (tmp_path / "child.py").write_text(CHILD)
    runs = [
        subprocess.run(
            [sys.executable, str(tmp_path / "child.py")],
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
        for _ in range(2)
    ]
    want = ascii(({"b": 2, "a": 1, "é": 2, "😀": 1}, "b-a-é-😀"))
    assert [r.stdout.split("\n")[0] for r in runs] == [f"{want} 1", f"{want} 0"]
