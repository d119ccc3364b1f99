"""What orders lanes of a warp, as the checkers see it: random kernels of accesses and meetings against the definition of happens-before, for each access the set of all that come before it.

A race is told where there is one and nowhere else, and each report is of two accesses that the model has as one.
"""

from __future__ import annotations

import functools
import operator

import numpy as np
import pytest
from cuda_check import compile_text
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples
from treadle import cuda
from treadle.errors import KernelCheckError

pytestmark = pytest.mark.emulated

WARP = 32
THREADS = 40  # a whole warp and a part of one
ALL = 0xFFFFFFFF
CELLS = 40


class Step:
    """A line of a kernel: an access of some threads, or lanes that meet."""

    def __init__(self, kind, who, place=(0, 0), mask=ALL):
        self.kind, self.who, self.place, self.mask = kind, who, place, mask

    def cell(self, t):
        """Which cell a thread touches."""
        scale, add = self.place
        return (scale * t + add) % CELLS

    def takes_part(self, t):
        """Whether the thread comes to the line."""
        return bool(self.who >> t % 32 & 1)

    def lines(self):
        """Its text."""
        test = f"if {self.who} >> t % 32 & 1:"
        at = f"s[({self.place[0]} * t + {self.place[1]}) % {CELLS}]"
        does = {
            "read": [f"x += {at}"],
            "write": [f"{at} = t"],
            "atomic": [f"cuda.atomic.add(s, ({self.place[0]} * t + {self.place[1]}) % {CELLS}, 1)"],
            "block": ["cuda.syncthreads()"],
            "warp": [f"cuda.syncwarp({self.mask})"],
            "parts": [f"cuda.syncwarp({self.mask} if {self.mask} >> t % 32 & 1 else {ALL ^ self.mask})"],
            "shuffle": [f"x += cuda.shfl_xor_sync({ALL}, t, 1)"],
            "vote": [f"x += 1 if cuda.ballot_sync({ALL}, t > 5) else 2"],
        }[self.kind]
        return does if self.who == ALL else [f"{test} {does[0]}"]


def text_of(steps, loop):
    """The kernel, and the line of each step in it. Steps of a slice stand in a loop of three rounds."""
    out = ["def k(o):", f"    s = cuda.shared.array({CELLS}, int32)", "    t = cuda.threadIdx.x", "    x = 0"]
    places = []
    for k, step in enumerate(steps):
        if k == loop.start and loop.start < loop.stop:
            out.append("    for r in range(3):")
        places.append(len(out) + 1)
        out += ["    " * (1 + (loop.start <= k < loop.stop)) + line for line in step.lines()]
    return "\n".join([*out, "    o[t] = x", ""]), places


def races_of(steps, loop, threads):
    """Pairs of (step, thread) that are a race."""
    order = [*range(loop.start), *list(range(loop.start, loop.stop)) * 3, *range(loop.stop, len(steps))]
    before = [0] * threads  # a bit for each access that comes before what the thread does now
    done = []  # (step, thread, cell, kind)
    races = set()

    def meet(group):
        together = functools.reduce(operator.or_, (before[t] for t in group), 0)
        for t in group:
            before[t] = together

    for k in order:
        step = steps[k]
        there = [t for t in range(threads) if step.takes_part(t)]
        if step.kind == "block":
            meet(there)
        elif step.kind in ("warp", "parts"):
            masks = [step.mask] if step.kind == "warp" else [step.mask, ALL ^ step.mask]
            for mask in masks:
                for warp in (0, 1):
                    meet([t for t in there if t // 32 == warp and mask >> t % 32 & 1])
        elif step.kind in ("read", "write", "atomic"):
            for t in there:
                cell = step.cell(t)
                for n, (k2, t2, cell2, kind2) in enumerate(done):
                    if cell == cell2 and t != t2 and {step.kind, kind2} not in ({"read"}, {"atomic"}):
                        if not before[t] >> n & 1:
                            races.add(frozenset([(k, t), (k2, t2)]))
                done.append((k, t, cell, step.kind))
                before[t] |= 1 << len(done) - 1
    return races


HALVES = [ALL, 0xFFFF, 0xFFFF0000, 0xFF, 0x55555555, 0xAAAAAAAA, 3, 6, 0x80000001, ALL ^ 2]
FEW = [1, 2, 4, 8, 1 << 20]  # lanes
MEET = [3, 6, 12, 7, 9, 0xF, 1 << 20 | 1, 1 << 20 | 4]


@st.composite
def steps_of(draw):
    """Lines of which half are accesses: of few lanes to few cells, or of many to cells that are mostly their own."""
    few = draw(st.booleans())
    masks = st.sampled_from([*MEET, ALL] if few else HALVES)
    out = []
    for _ in range(draw(st.integers(2, 9))):
        kind = draw(
            st.sampled_from(
                ["read", "write", "write", "atomic"]
                + ["warp"] * (5 if few else 3)
                + ["parts", "shuffle", "vote"] * (not few)
                + ["block"]
            )
        )
        if kind in ("warp", "parts"):
            mask = draw(masks)
            out.append(Step(kind, mask if kind == "warp" else ALL, mask=mask))
        elif kind in ("block", "shuffle", "vote"):
            out.append(Step(kind, ALL))
        elif few:
            out.append(Step(kind, draw(st.sampled_from(FEW)), (0, draw(st.sampled_from([0, 0, 0, 1])))))
        else:
            who = draw(st.sampled_from([*HALVES, 1, 2, 16, 1 << 20]))
            out.append(Step(kind, who, (draw(st.sampled_from([0, 1, 1, 1])), draw(st.integers(0, 3)))))
    a, b = sorted((draw(st.integers(0, len(out))), draw(st.integers(0, len(out)))))
    return out, slice(a, b)


def check(steps, loop, threads=THREADS):
    text, places = text_of(steps, loop)
    kernel = cuda.jit(debug=True)(compile_text(text, "k", int32=np.int32))
    races = races_of(steps, loop, threads)
    try:
        kernel[1, threads](cuda.to_device(np.zeros(threads, np.int64)))
        told = []
    except KernelCheckError as e:
        told = [r for r in e.reports if r.kind == "race"]
        assert {r.kind for r in e.reports} <= {"race", "uninit"}, text
    assert bool(told) == bool(races), text
    for r in told:
        pair = frozenset(
            (places.index(at), who[0]) for at, who in ((r.line, r.thread), (r.other_line, r.other_thread))
        )
        assert pair in races, (text, str(r))
    return bool(races)


@pytest.mark.parametrize("threads", [WARP, THREADS])
@settings(max_examples=examples(30), deadline=None)
@given(case=steps_of())
def test_random_kernels(threads, case):
    check(*case, threads)


def half(kind, mask, at=(1, 0)):
    return Step(kind, mask, at, mask)


EVEN = 0x55555555


FIRST = (0, 0)


@pytest.mark.parametrize(
    ("steps", "races"),
    [
        ([Step("write", ALL, (1, 0)), half("warp", 0xFFFF), half("read", 0xFFFF, (1, 3))], True),
        ([half("write", 0xFF), half("warp", 0xFFFF), half("read", 0xFFFF, (1, 3))], False),
        ([half("write", 0xFFFF), Step("parts", ALL, mask=0xFFFF), half("read", 0xFFFF0000, (1, 24))], True),
        ([half("write", 3), Step("warp", ALL), half("warp", 0xFFFF), half("write", 3), Step("warp", ALL), half("read", 0xF, FIRST)], False),
        ([half("write", 1), half("warp", 3), half("warp", 6), half("read", 4, FIRST)], False),  # by one that met both
        ([half("write", 1), half("warp", 6), half("warp", 3), half("read", 4, FIRST)], True),
        ([half("read", 3, FIRST), half("warp", 6), half("write", 4, FIRST)], True),  # of two that read, one is known
        ([half("read", 3, FIRST), half("warp", 7), half("write", 4, FIRST)], False),
        ([half("read", 3, FIRST), half("warp", 3), half("read", 1, FIRST), half("warp", 6), half("write", 4, FIRST)], True),
        ([half("write", 1), Step("shuffle", ALL), half("read", 2, FIRST)], True),  # no order of memory
        ([half("write", 1), Step("vote", ALL), half("read", 2, FIRST)], True),
        ([half("atomic", 3, FIRST), half("warp", 6), half("write", 4, FIRST)], True),
        ([half("write", EVEN), Step("block", ALL), half("warp", EVEN), half("read", ALL ^ EVEN, (1, 1))], False),
        ([half("write", 0xFF), half("warp", 0xFF), half("warp", 0x80000001), half("read", 1 << 31, (1, 14))], False),
    ],
)  # fmt: skip
def test_some_that_say_what_is_meant(steps, races):
    assert check(steps, slice(0, 0), WARP) == races


def test_more_meetings_than_a_few_thousand():
    def k(o, missing):
        s = cuda.shared.array(2, np.int32)
        t = cuda.threadIdx.x
        for i in range(5000):
            if t != missing:
                cuda.syncwarp(ALL if missing < 0 else ALL ^ 1 << missing)
            if t < 2 and i == 4500 + t:
                s[0] = t  # A
        o[t] = s[1] if t == 99 else 0

    for missing, races in ((-1, False), (1, True), (5, False)):
        kernel = cuda.jit(debug=True)(k)
        try:
            kernel[1, 32](np.zeros(32), missing)
            told = []
        except KernelCheckError as e:
            told = e.reports
        assert bool(told) == races, missing


HANDED = """
def k(a, flag, o):
    t = cuda.threadIdx.x
    if cuda.blockIdx.x == 0:
        a[t] = t  # A
        {meets}
        if t == 0:
            cuda.threadfence()
            cuda.atomic.add(flag, 0, 1)
    else:
        if t == 0:
            while cuda.atomic.add(flag, 0, 0) == 0:
                pass
            cuda.threadfence()
        {meet}
        o[t] = a[31 - t]  # B
"""


@pytest.mark.parametrize(
    ("first", "then", "races"),
    [
        (
            "cuda.syncwarp()",
            "cuda.syncwarp()",
            False,
        ),  # what all lanes wrote is handed on by one, and had by all
        ("cuda.syncthreads()", "cuda.syncthreads()", False),
        ("cuda.syncwarp()", "pass", True),
        ("pass", "cuda.syncwarp()", True),
        ("if t < 16: cuda.syncwarp(0xffff)", "cuda.syncwarp()", True),
        ("cuda.syncwarp()", "if t < 16: cuda.syncwarp(0xffff)", True),
    ],
)
def test_what_a_fence_hands_on_for_a_warp(first, then, races):
    text = HANDED.format(meets=first, meet=then)
    kernel = cuda.jit(debug=True)(compile_text(text, "k"))
    a, flag, o = np.zeros(32), np.zeros(1, np.int32), np.zeros(32)
    try:
        kernel[2, 32](a, flag, o)
        assert not races
    except KernelCheckError as e:
        assert races and {r.kind for r in e.reports} == {"race"}
    assert o.tolist() == list(range(32))[::-1]
