"""Clocks of Python's module time in compiled code: they go on, in the units and with the beginnings that Python's have."""

from __future__ import annotations

import time

import pytest
from treadle import njit

CLOCKS = ["time", "perf_counter", "monotonic", "process_time", "thread_time"]


@pytest.mark.parametrize("name", CLOCKS)
def test_a_reading_lies_between_pythons(name):
    for clock, kind in ((getattr(time, name), float), (getattr(time, name + "_ns"), int)):
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
