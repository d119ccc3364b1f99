"""Mistakes of kernels that are found while they run."""

from __future__ import annotations

import inspect
import re
import warnings

import planted_kernels
import pytest
from planted_kernels import PLANTED
from treadle import cuda
from treadle.errors import KernelCheckError, KernelCheckWarning


def marks_of(fn):
    """Lines by the name in the comment at their end."""
    lines, first = inspect.getsourcelines(fn)
    return {m[1]: first + k for k, line in enumerate(lines) if (m := re.search(r"# (\w+)$", line.rstrip()))}


def found_in(fn, grid, block, args):
    """What is reported, in the words of the corpus, with numbers of lines."""
    kernel = cuda.jit(debug=True)(fn)
    found = set()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", KernelCheckWarning)
        try:
            kernel[grid, block](*args)
        except IndexError as e:
            m = re.search(
                r"^index -?\d+ is out of bounds for axis \d with size \d+: array (\w+), in kernel (\w+), line (\d+), "
                r"block \(\d+, \d+, \d+\), thread \(\d+, \d+, \d+\)$",
                str(e),
            )
            assert m and m[2] == fn.__name__, str(e)
            found.add(("bounds", m[1], (int(m[3]),)))
        except KernelCheckError as e:
            for r in e.reports:
                lines = (r.line, r.other_line) if r.other_line else (r.line,)
                found.add((r.kind, r.array, tuple(sorted(lines))))
                assert r.kernel == fn.__name__
    for w in told:
        if issubclass(w.category, KernelCheckWarning):
            m = re.search(r"exit: thread .* had ended when others waited in line (\d+)", str(w.message))
            found.add(("exit", "", (int(m[1]),)))
    return found


def expected(plant):
    marks = {**marks_of(planted_kernels._load.py_func), **marks_of(plant.wrong)}
    want = set()
    for text in plant.expects:
        kind, *rest = text.split()
        array = "" if kind in ("barrier", "exit") else rest.pop(0)
        want.add((kind, array, tuple(sorted(marks[m] for m in rest))))
    return want


@pytest.mark.parametrize("plant", PLANTED, ids=lambda p: p.name)
def test_planted(plant):
    assert found_in(plant.wrong, plant.grid, plant.block, plant.args()) == expected(plant)
    assert found_in(plant.right, plant.grid, plant.block, plant.args()) == set()


def test_there_are_enough():
    assert len(PLANTED) >= 30
    assert {p.expects[0].split()[0] for p in PLANTED} == {"race", "uninit", "bounds", "barrier", "exit"}
