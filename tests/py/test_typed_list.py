"""treadle.typed.List: as a list of CPython's, step by step drawn at random, in Python and in compiled code, and shared without a copy."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
import time

import numpy as np
import pytest
import treadle
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from treadle import njit, types
from treadle.typed import List

places = st.integers(-7, 7)
numbers = st.integers(-3, 3)
slices = st.builds(slice, st.none() | places, st.none() | places, st.none() | st.sampled_from([1, 2, -1, -2]))


@njit
def append(l, x):
    l.append(x)
    return l


@njit
def pop(l, i):
    return l.pop(i)


@njit
def insert(l, i, x):
    l.insert(i, x)


@njit
def put(l, i, x):
    l[i] = x


@njit
def take(l, i):
    return l[i]


@njit
def grow(l, m):
    l.extend(m)
    return len(l)


COMPILED = {"append": append, "pop": pop, "insert": insert, "put": put, "take": take, "grow": grow}


def outcome(fn, *args):
    try:
        return repr(fn(*args))
    except Exception as e:
        return type(e), e.args


class Machine(RuleBasedStateMachine):
    """A typed list, and a list of CPython's to which the same is done."""

    def __init__(self):
        super().__init__()
        self.typed, self.plain = List.empty_list(types.int64), []

    def both(self, fn):
        assert outcome(fn, self.typed) == outcome(fn, self.plain)

    @rule(name=st.sampled_from(sorted(COMPILED)), i=places, x=numbers, compiled=st.booleans())
    def call(self, name, i, x, compiled):
        fn = COMPILED[name]
        args = {"append": (x,), "pop": (i,), "insert": (i, x), "put": (i, x), "take": (i,), "grow": ([x, i],)}
        ours = fn if compiled else fn.py_func
        if name == "append":
            assert ours(self.typed, x) is self.typed and fn.py_func(self.plain, x) is self.plain
        else:
            a = outcome(ours, self.typed, *args[name])
            assert a == outcome(fn.py_func, self.plain, *args[name])

    @rule(s=slices, xs=st.lists(numbers, max_size=3))
    def assign_slice(self, s, xs):
        self.both(lambda l: l.__setitem__(s, xs))

    @rule(s=slices | places)
    def delete(self, s):
        self.both(lambda l: l.__delitem__(s))

    @rule(s=slices)
    def slice(self, s):
        self.both(lambda l: list(l[s]))

    @rule(x=numbers, i=places)
    def ask(self, x, i):
        self.both(lambda l: (x in l, l.count(x), len(l), bool(l)))
        self.both(lambda l: l.index(x, i))

    @rule(x=numbers)
    def remove(self, x):
        self.both(lambda l: l.remove(x))

    @rule(reverse=st.booleans(), absolute=st.booleans())
    def sort(self, reverse, absolute):
        self.both(lambda l: l.sort(key=abs if absolute else None, reverse=reverse))

    @rule()
    def turn(self):
        self.both(lambda l: l.reverse())

    @rule(xs=st.lists(numbers, max_size=3), kind=st.sampled_from([list, tuple, iter, List, np.array]))
    def extend(self, xs, kind):
        if xs:
            self.typed.extend(kind(xs))
            self.plain.extend(xs)

    @rule()
    def extend_by_itself(self):
        if len(self.plain) < 50:
            self.both(lambda l: l.extend(l))

    @rule()
    def copy(self):
        was = self.typed
        self.typed = pickle.loads(pickle.dumps(copy.deepcopy(copy.copy(was.copy()))))
        was.append(77)

    @rule()
    def clear(self):
        if len(self.plain) > 20:
            self.both(lambda l: l.clear())

    @invariant()
    def same(self):
        assert list(self.typed) == self.plain == self.typed and self.typed == List(self.typed)
        assert str(self.typed) == str(self.plain) and repr(self.typed) == f"ListType[int64]({self.plain})"
        assert np.array_equal(np.asarray(self.typed), np.array(self.plain, np.int64))
        assert not (self.typed != self.plain) and (self.typed < [1]) == (self.plain < [1])


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)


def test_what_it_is_of():
    assert repr(List()) == "ListType[Undefined]([])" and not List()._typed and List()._dtype is None
    cases = [
        ([1, 2], types.int64),
        ([1, 2.5], types.float64),
        ((True, False), types.boolean),
        (range(3), types.int64),
        ((x * 1j for x in (1, 2)), types.complex128),
        (np.array([1, 2], np.float32), types.float32),
        (np.array([[1], [2]], np.int8)[::-1, 0], types.int8),
        ([np.uint8(3)], types.uint8),
        (List([1.5]), types.float64),
    ]
    for x, t in cases:
        l = List(x)
        assert l._dtype is t and l._typed and treadle.typeof(l) is types.ListType(t)
    for t in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "?"):
        a = np.arange(3).astype(t)
        l = List(a)
        assert np.asarray(l).dtype == a.dtype and list(l) == a.tolist() and pickle.loads(pickle.dumps(l)) == l
        assert np.array_equal(np.asarray(List.empty_list(types.as_type(np.dtype(t)), allocated=9)), a[:0])
    l = List()
    l.append(2.5)
    l.append(1)
    assert repr(l) == "ListType[float64]([2.5, 1.0])"
    u = List()
    assert append(u, 2.5) is u and repr(u) == "ListType[float64]([2.5])"


@pytest.mark.parametrize(
    "use, error, text",
    [
        (lambda l: l.append(2.5), TypeError, "float cannot be an item of a typed.List of int64"),
        (lambda l: l.append("a"), TypeError, "str cannot be an item of a typed.List of int64"),
        (lambda l: l.extend([1, None]), TypeError, "NoneType cannot be an item of a typed.List of int64"),
        (lambda l: l.append(2**70), OverflowError, "1180591620717411303424 does not fit int64"),
        (lambda l: List([object()]), TypeError, "object cannot be an item of a typed.List"),
        (lambda l: List(["a", 1]), TypeError, "int cannot be an item of a typed.List of str"),
        (lambda l: memoryview(List(["a"])), BufferError, "only a typed.List of numbers has a buffer"),
        (lambda l: List(3), TypeError, "'int' object is not iterable"),
        (lambda l: List([1], [2]), TypeError, "at most 1 argument"),
        (lambda l: List.empty_list("x"), TypeError, "'x' is not a type"),
        (lambda l: hash(l), TypeError, "unhashable type"),
        (lambda l: l["a"], TypeError, "list indices must be integers or slices, not str"),
        (lambda l: l[2**80], IndexError, "cannot fit 'int' into an index-sized integer"),
        (lambda l: List.empty_list(types.int64, 2**60), MemoryError, "^$"),
        (lambda l: List._from(types.int64, b"123"), ValueError, "3 bytes are no items"),
        (
            lambda l: append(l, 2.5),
            TypeError,
            r"'l' is a typed.List, a list\(int64\), and the function puts items of other",
        ),
    ],
)
def test_bad_use_is_told_and_changes_nothing(use, error, text):
    l = List([1, 2, 3])
    with pytest.raises(error, match=text):
        use(l)
    assert l == [1, 2, 3]


def test_arrays_over_it_are_no_copies():
    l = List([1, 2, 3])
    a = np.asarray(l)
    a[0] = 7
    l[1] = 8
    put(l, 2, 9)
    assert l == [7, 8, 9] and list(a) == [7, 8, 9] and a.flags.writeable
    for change in (
        lambda: l.append(1),
        lambda: l.pop(),
        lambda: l.clear(),
        lambda: l.__delitem__(0),
        lambda: l.extend([1]),
        lambda: l.insert(0, 1),
    ):
        with pytest.raises(BufferError, match="Existing exports of data: object cannot be re-sized"):
            change()
    with pytest.raises(BufferError, match="a typed.List may become longer or shorter"):
        append(l, 1)
    l.sort(reverse=True)
    assert list(a) == [9, 8, 7] == l
    del a
    assert append(l, 1) == [9, 8, 7, 1]
    assert memoryview(l).format == "l" and bytes(List(np.array([1, 2], "u1"))) == b"\x01\x02"


def test_it_is_shared_with_compiled_code():
    @njit
    def f(l, t):
        l.append(1)
        t[0].append(2)
        return t[0], len(l), [len(l)]

    l, m = List([0]), List([1.5])
    r = f(l, (m, 1))
    assert r[0] is m and r[1:] == (2, [2]) and (l, m) == ([0, 1], [1.5, 2.0])
    assert f(l, (l, 1))[0] is l and l == [0, 1, 1, 2]
    assert append([5], 1) == [5, 1] and len(append.signatures) <= 4  # one code for both
    with pytest.raises(IndexError):
        pop(l, 100)
    assert l == [0, 1, 1, 2] and pop(l, 0) == 0


def test_one_thread_changes_it_and_many_read_it():
    # state: [it has begun, it is to end]. `at` is 0, which the compiler does not know: so each round looks anew.
    @njit(nogil=True)
    def spin(l, state, at):
        s = 0.0
        for i in range(10**10):
            s = np.sin(s + l[i % len(l)])
            state[at] = 1
            if state[1]:
                break
        return s

    @njit(nogil=True)
    def fill(l, state, at):
        l.append(1)
        s = 0.0
        for i in range(10**10):
            s = np.sin(s + i)
            state[at] = 1
            if state[1]:
                break
        l[0] = int(abs(s)) + 1

    l = List([0])
    ended = np.array([0, 1])
    fill(List([0]), ended, 0), spin(l, ended, 0)

    def during(fn, use):
        state = np.zeros(2, np.int64)
        t = threading.Thread(target=fn, args=(l, state, 0))
        t.start()
        try:
            while not state[0] and t.is_alive():
                time.sleep(0.001)
            use()
            assert t.is_alive(), "it ended before it was met"
        finally:
            state[1] = 1
            t.join()

    def busy(use):
        with pytest.raises(RuntimeError, match="typed.List is in use by another thread"):
            use()

    def while_it_is_read():
        assert len(l) and take(l, 0) >= 0 and l[0] >= 0
        busy(lambda: l.append(1))
        busy(lambda: append(l, 1))
        busy(lambda: l.sort())
        busy(lambda: memoryview(l))

    def while_it_is_changed():
        for use in (lambda: len(l), lambda: l[0], lambda: take(l, 0), lambda: append(l, 1), lambda: str(l)):
            busy(use)

    during(spin, while_it_is_read)
    during(fill, while_it_is_changed)
    assert l[0] > 0 and len(l) == 2 and append(l, 5)[-1] == 5


def test_nothing_leaks():
    gc.collect()
    before = treadle.stats()
    for _ in range(20):
        l = List([1, 2])
        append(l, 3), l[1:], l.copy(), np.asarray(l), List(l)
        with pytest.raises(TypeError):
            List([object()])
    refs = sys.getrefcount(l)
    append(l, 3), put(l, 0, 1)
    with pytest.raises(IndexError):
        put(l, 100, 1)
    assert sys.getrefcount(l) == refs
    del l
    gc.collect()
    after = treadle.stats()
    made = after["arrays_allocated"] - before["arrays_allocated"]
    assert made == after["arrays_freed"] - before["arrays_freed"] >= 60
    assert sys.getsizeof(List(np.zeros(1000))) > 8000


def test_array_types_written_in_compiled_code():
    @njit
    def rows(n):
        l = List.empty_list(types.int32[::1])
        m = List.empty_list(treadle.float64[:, ::1])
        for i in range(n):
            l.append(np.full(2, i, np.int32))
            m.append(np.ones((1, i)))
        return l, m

    l, m = rows(3)
    assert [x.tolist() for x in l] == [[0, 0], [1, 1], [2, 2]] and m[2].shape == (1, 2)

    @njit
    def wrong(n):
        return List.empty_list(types.int32[2:])

    with pytest.raises(treadle.TypingError, match="dtype int32 cannot be indexed"):
        wrong(1)


@pytest.mark.parametrize("made", ["slice", "sum", "copy", "repeat"])
def test_lists_that_items_are_copied_from_are_only_read(made):
    """Calls that copy items of one typed list to lists of their own, and change these, may run beside each other."""

    @njit(nogil=True)
    def sums(seqs, how, state, at):
        total = 0.0
        for i in range(10**10):
            if how == "slice":
                part = seqs[i % 2 :]
            elif how == "sum":
                part = seqs + seqs
            elif how == "copy":
                part = seqs.copy()
            else:
                part = seqs * 2
            part.reverse()
            total += part[0][0]
            part[0][1] = 2.0
            state[at] = 1
            if state[2]:
                break
        return total

    seqs, state = List([np.ones(3), np.ones(4)]), np.zeros(3, np.int64)
    state[2] = 1
    sums(seqs, made, state, 0)
    state[:] = 0
    failed = []

    def run(at):
        try:
            sums(seqs, made, state, at)
        except RuntimeError as e:
            failed.append(e)

    threads = [threading.Thread(target=run, args=(at,)) for at in range(2)]
    for t in threads:
        t.start()
    while not state[:2].all() and not failed:
        time.sleep(0.001)
    state[2] = 1
    for t in threads:
        t.join()
    assert not failed and seqs[1].tolist() == [1.0, 2.0, 1.0, 1.0]


def test_lists_that_are_changed_by_way_of_a_copy_of_their_list():
    """A list whose items are lists changes where one of these does, whoever leads to it; Python's list sees it, too."""

    @njit
    def put(l, x):
        l[0].append(x)

    @njit
    def by_slice(l, x):
        part = l[:1]
        part[0].append(x)

    @njit
    def by_call(l, x):
        put(l[:1], x)

    @njit
    def by_sum(l, x):
        both = l + l
        both.reverse()
        put(both, x)

    for f, at in ((by_slice, 0), (by_call, 0), (by_sum, 1)):
        for l in ([[1], [2]], List([List([1]), List([2])])):
            f(l, 7)
            assert [list(x) for x in l] == [[1, 7][: 2 - at], [2, 7][: 1 + at]]


def test_arrays_that_are_looked_at_by_way_of_other_lists_are_only_read():
    """Calls that read one typed list, and collect views of its arrays, may run beside each other; what is stored into these is no change of the list."""

    @njit(nogil=True)
    def windows(seqs, state, at):
        total = 0.0
        for i in range(10**10):
            for seq in seqs:
                parts = [seq[k : k + 2] for k in range(2)]
                total += parts[1][0]
                parts[0][0] = 1.0
            state[at] = 1
            if state[2]:
                break
        return total

    seqs, state = List([np.ones(3), np.ones(4)]), np.zeros(3, np.int64)
    windows(seqs, np.ones(3, np.int64), 0)
    failed = []

    def run(at):
        try:
            windows(seqs, state, at)
        except RuntimeError as e:
            failed.append(e)

    threads = [threading.Thread(target=run, args=(at,)) for at in range(2)]
    for t in threads:
        t.start()
    while not state[:2].all() and not failed:
        time.sleep(0.001)
    state[2] = 1
    for t in threads:
        t.join()
    assert not failed
