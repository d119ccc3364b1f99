"""Python's lists as arguments: what the function did to them is what CPython does, and no item that it left is another object."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import textwrap
import threading
from collections import namedtuple

import numpy as np
import pytest
import treadle
from hypothesis import given, settings
from hypothesis import strategies as st
from test_lists import HELPERS, functions, statement
from treadle import njit, prange

# --- programs drawn at random ---


def program(statements: list[str]) -> str:
    lines = ["r = 0", *statements, "return l, m, r"]
    return f"@decorate\ndef f(l, m, n):\n{textwrap.indent(chr(10).join(lines), '    ')}\n"


CALLER = """
@decorate
def g(l, m, n):
    l.insert(0, n)
    a, b, r = f(l, m, n)
    return b, a, r
"""


def outcome(fn, *args):
    try:
        return repr(fn(*args))
    except Exception as e:  # of any class: both sides have to raise the same
        return type(e), e.args


def agree(ours, plain, lists: list[list], n: int, same: bool) -> None:
    """Both functions do the same to copies of the lists, and leave the same items alone."""
    a, b = [list(x) for x in lists], [list(x) for x in lists]
    if same:
        a[1], b[1] = a[0], b[0]
    assert outcome(ours, *a, n) == outcome(plain, *b, n)
    for mine, theirs, first in zip(a, b, lists):
        assert repr(mine) == repr(theirs)
        for i, (x, y, was) in enumerate(zip(mine, theirs, first)):
            assert x is was if y is was else True, (i, was)


numbers = st.lists(st.integers(-5, 5).map(lambda x: x * 1000), max_size=5)


@settings(max_examples=60, deadline=None)
@given(st.lists(statement, min_size=1, max_size=6), numbers, numbers, st.integers(0, 4), st.booleans())
def test_a_list_is_changed_as_by_cpython(statements, l, m, n, same):
    source = HELPERS + program(statements) + CALLER
    plain = functions(source, compiled=False)
    try:
        ours = functions(source)
        for name in "fg":
            agree(ours[name], plain[name], [l, m], n, same)
    except TypeError as e:  # an empty list, of which only one of its two names says what it is of
        assert same and not l and "passed twice" in str(e)


# --- each rule on its own ---


def test_an_empty_list_becomes_one_of_what_is_put_into_it():
    for put in ("[n]", "str(n)", "(n, 1)"):
        space = functions(f"@decorate\ndef f(l, n):\n    l.append({put})\n    return l\n")
        l = []
        assert space["f"](l, 2) is l
        assert l == [eval(put, {"n": 2})]
        typed = treadle.typed.List()
        assert space["f"](typed, 2) is typed and list(map(str, typed)) == list(map(str, l))


def test_items_have_a_common_type():
    @njit
    def total(l):
        s = 0
        for x in l:
            s += x
        return s

    cases = [
        ([1, 2], "list(int64)"),
        ([1.5, 2.5], "list(float64)"),
        ([1, 2.5], "list(float64)"),
        ([True, 2.5], "list(float64)"),
        ([True, 2], "list(int64)"),
        ([True], "list(bool)"),
        ([1j, 2], "list(complex128)"),
        ([], "list()"),
        ([np.float32(1.5), np.float32(2)], "list(float32)"),
        ([np.int8(1), np.int16(2)], "list(int16)"),
        ([1, np.float64(2.5)], "list(float64)"),
        ([2**70, 1.5], "list(float64)"),
    ]
    for l, text in cases:
        assert total(l) == sum(l) and repr(treadle.typeof(l)) == text, l
    assert {repr(t[0]) for t in total.signatures} == {text for _, text in cases}
    assert len(total.signatures) == len({text for _, text in cases})


class Own(list):
    pass


@pytest.mark.parametrize(
    "value, error, text",
    [
        (
            [1, "a"],
            TypeError,
            "f(): argument 'l[1]' is a value of type str, which has no type in common with",
        ),
        ([np.int64(1), np.uint64(1)], TypeError, "argument 'l[1]' is a value of type numpy.uint64"),
        ([1, 2, 2**63], OverflowError, "f(): argument 'l[2]': Python int 9223372036854775808 does not fit"),
        (([1], [2, "b"]), TypeError, "argument 'l[1][1]' is a value of type str"),
        (([1], [2, -(2**64)]), OverflowError, "argument 'l[1]': Python int -18446744073709551616 does not"),
        (Own([1]), TypeError, "argument 'l' is a value of type Own, which cannot be passed"),
    ],
)
def test_what_cannot_be_passed_is_named(value, error, text):
    @njit
    def f(l):
        return len(l)

    for _ in range(2):  # the second time there may be code for the type
        with pytest.raises(error) as e:
            f(value)
        assert text in str(e.value)


def test_a_list_of_other_numbers_than_what_is_put_in():
    @njit
    def put(l, x):
        l.append(x)
        l[0] = x

    first, second = 10**6, 10**7
    l = [0, first, second]
    put(l, 2.5)
    assert l == [2.5, first, second, 2.5] and l[1] is first and l[2] is second
    empty: list = []
    with pytest.raises(IndexError):
        njit(lambda l: l[0])(empty)
    put(empty, 3)
    assert repr(empty) == "[3]"
    flags = [True, False]
    put(flags, 7)
    assert flags == [7, False, 7] and flags[1] is False


def test_the_argument_returned_is_the_argument():
    @njit
    def both(l, t):
        l.append(5)
        return l, (l, t[0]), t, [1]

    class_ = namedtuple("class_", "a b")
    l, m = [1], [2.5]
    r = both(l, (m, 3))
    assert r[0] is l and r[1][0] is l and r[1][1] is m and r[2][0] is m and l == [1, 5] and r[3] == [1]
    r = both(l, class_(l, 4))
    assert r[2] == class_(l, 4) and r[2].a is l and l == [1, 5, 5]


def test_one_list_twice_is_one_list():
    @njit
    def f(a, b):
        a.append(1)
        b.append(2)
        return len(a)

    l = [0]
    assert f(l, l) == 3 and l == [0, 1, 2]

    @njit
    def g(a, b):
        a.append(2.5)
        return b[0]

    with pytest.raises(TypeError, match="argument 'b' is a list that is passed twice"):
        g(l, l)
    assert l == [0, 1, 2] and g([1.5], [3]) == 3


def test_who_may_have_written_is_found_through_names_calls_and_tuples():
    @njit
    def same(l):
        return l

    @njit
    def f(a, b, c, which):
        d = a if which else same(b)
        t = (d, c)
        same(t[0]).append(9)

        def inner():
            c[0] = 8

        inner()

    a, b, c = [1], [2], [3]
    f(a, b, c, False)
    f(a, b, c, True)
    assert (a, b, c) == ([1, 9], [2, 9], [8])

    @njit(parallel=True)
    def spread(l, k):
        for i in prange(len(l)):
            l[i] = l[i] * k
        return sum(l)

    l = list(range(1000))
    assert spread(l, 3) == sum(range(1000)) * 3 and l == [3 * i for i in range(1000)]


def test_after_an_exception_what_was_done_is_done():
    @njit
    def f(l, i):
        l.append(5)
        l[0] = 7
        l[i] = 1

    l = [0]
    with pytest.raises(IndexError, match="list assignment index out of range"):
        f(l, 100)
    assert l == [7, 5]


def test_a_function_that_reads_touches_nothing():
    @njit
    def f(l):
        m = l.copy()
        m.append(1.5)
        return m, l[-1:]

    l = [1.5, 2.5]
    items = [id(x) for x in l]
    assert f(l) == ([1.5, 2.5, 1.5], [2.5]) and l == [1.5, 2.5] and [id(x) for x in l] == items


def test_nothing_leaks():
    @njit
    def f(l, t, n):
        l.append(n)
        t[1].append(2.5)
        if n > 2:
            l[100] = 1
        return l, [n]

    x, y = 10**9, 2.5e9
    refs = sys.getrefcount(x), sys.getrefcount(y)
    for n in (1, 5, 1):
        l, m = [x] * 5, [y]
        try:
            f(l, (1, m), n)
        except IndexError:
            pass
        assert l == [x] * 5 + [n] and m == [y, 2.5]
        del l, m
    with pytest.raises(TypeError):
        f([x], (1, ["a"]), 1)
    with pytest.raises(OverflowError):
        f([x], (1, [y]), 2**70)
    with pytest.raises(OverflowError):
        f([x, 2**70], (1, [y]), 1)
    gc.collect()
    before = treadle.stats()
    assert (sys.getrefcount(x), sys.getrefcount(y)) == refs
    f([x, 1.5], (1, [y]), 1)
    f([x], (1, [y]), 1)
    after = treadle.stats()
    made = after["arrays_allocated"] - before["arrays_allocated"]
    assert made == after["arrays_freed"] - before["arrays_freed"] > 0


def test_ctrl_c_leaves_a_whole_list():
    @njit
    def forever(l):
        l.append(1)
        while l[0] >= 0:
            l[0] += 1
            if l[0] > 1000:
                l[0] = 1
        return 0

    def raises(*_):
        raise KeyboardInterrupt("now")

    forever([-1000])
    l = [0]
    was = signal.signal(signal.SIGALRM, raises)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt, match="now"):
            forever(l)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, was)
    assert len(l) == 2 and 0 < l[0] <= 1001 and l[1] == 1


def test_on_a_small_stack_and_with_the_gil_let_go():
    @njit(nogil=True)
    def f(l):
        for i in range(len(l)):
            l[i] += 1
        l.append(0)

    old = threading.stack_size(256 * 1024)
    lists = [[1.5] * 100 for _ in range(4)]
    try:
        threads = [threading.Thread(target=lambda l=l: [f(l) for _ in range(20)]) for l in lists]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        threading.stack_size(old)
    assert all(l[:100] == [21.5] * 100 and l[100:] == list(range(19, -1, -1)) for l in lists)


CACHED = """
from treadle import njit
@njit(cache=True)
def f(l, x):
    l.append(x)
    return l
@njit(cache=True)
def g(l):
    return sum(l)
l, m = [1], []
assert f(l, 2.5) is l and f(m, 1) is m and g([1, 2]) == 3
print(l, m)
"""


def test_from_the_cache_of_another_process(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "cached.py"
    path.write_text(CACHED + "import treadle\nprint(treadle.stats()['loaded'])\n")
    out = [
        subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert out[0].splitlines()[0] == out[1].splitlines()[0] == "[1, 2.5] [1]"
    assert [o.splitlines()[-1] for o in out] == ["0", "3"]


def test_signatures_of_lists():
    @njit("float64(List(float64))")
    def f(l):
        l.append(1)
        return sum(l)

    l = [2, 3]
    assert f(l) == 6.0 and l == [2, 3, 1] and isinstance(l[0], int)
    assert f([]) == 1.0 and f([True]) == 2.0 and f(treadle.typed.List([2.5])) == 3.5
    for wrong in ([1j], treadle.typed.List([1]), (1.5,)):
        with pytest.raises(TypeError, match="has no signature for arguments of types"):
            f(wrong)
    t = treadle.types
    for text in ("List(int64)", "ListType[int64]", "reflected_list(i8)", "list(int64)", "ListType(int64)"):
        assert (
            t.as_type(text) is t.List(t.int64) is t.ListType(int) and repr(t.as_type(text)) == "list(int64)"
        )
    assert t.as_type("list()") is treadle.typeof([]) and t.List("f4").dtype is t.float32
    assert t.as_type("List(float64[:])") is t.List(t.float64[:])
    for text in ("List", "List(List)", "List[int64", "List(int64"):
        with pytest.raises(TypeError, match="is not a type"):
            t.as_type(text)
    assert njit("List(int64)(int64)")(lambda n: [n])(3) == [3]


def test_where_no_lists_go():
    from treadle import cuda, vectorize

    @cuda.jit
    def k(l, out):
        out[0] = l[0]

    with pytest.raises(TypeError, match="argument 'l' is a value of type list that kernels do not take"):
        k[1, 1]([1], np.zeros(1))
    assert np.array_equal(vectorize(lambda x: x + 1)([1, 2]), [2, 3])  # NumPy makes an array of it


def test_without_memory():
    @njit
    def f(l, n):
        l.append(1)
        m = [0] * n
        l.append(2)
        return len(m)

    l = [0]
    with pytest.raises(MemoryError):
        f(l, 2**45)
    assert l == [0, 1]
