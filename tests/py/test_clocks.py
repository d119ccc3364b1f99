"""Clocks of Python's module time in compiled code: they go on, in the units and with the beginnings that Python's have."""

from __future__ import annotations

import time

import pytest
from treadle import njit

CLOCKS = [
    (time.time, time.time_ns),
    (time.perf_counter, time.perf_counter_ns),
    (time.monotonic, time.monotonic_ns),
    (time.process_time, time.process_time_ns),
    (time.thread_time, time.thread_time_ns),
]


@pytest.mark.parametrize("clocks", CLOCKS, ids=lambda c: c[0].__name__)
def test_a_reading_lies_between_pythons(clocks):
    for clock, kind in zip(clocks, (float, int), strict=True):
        space = {"time": time}
        exec(f"def f(): return time.{clock.__name__}()", space)
        f = njit(space["f"])
        f()
        before, got, after = clock(), f(), clock()
        assert type(got) is kind
        assert before <= got <= after


def test_it_is_read_anew():
    @njit
    def f(n):
        t = time.perf_counter_ns()
        s = 0.0
        for i in range(n):
            s += 1.0 / (i + 1)
        return time.perf_counter_ns() - t, s

    spent, _ = f(10_000_000)
    assert spent > 100_000
