"""Random graphs of lazy arrays: NumPy's values, with the same bits on one core and on all, and what they say of themselves counted by the interpreter."""

from __future__ import annotations

import re

import graph_cases
import numpy as np
import pytest
import treadle.parallel as tp
from cuda_model import _written, treadlec
from sizes import examples
from treadle import _core

SEEDS = range(examples(60))


def lazy(g):
    return graph_cases.values(g, [tp.array(a) for a in g.leaves])


@pytest.mark.parametrize("seed", SEEDS)
def test_agree_with_numpy_on_one_core_and_on_all(seed):
    g = graph_cases.draw(seed)
    one, many = lazy(g), lazy(g)
    tp.evaluate(*one, parallel=False)
    tp.evaluate(*many)
    graph_cases.check(g, one)
    for a, b in zip(one, many, strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.parametrize("seed", range(examples(200)))
def test_accounts_are_what_the_interpreter_counts(seed):
    g = graph_cases.draw(seed)
    e = tp.explain(*lazy(g), parallel=False)
    args = _core._lazy_params(*lazy(g))
    log = np.zeros(1 + 4 * 4000, np.int64)
    ir = _core._lazy_text("infer", log, *lazy(g))
    call = f"graph({', '.join(_written(a) for a in (*args, log))})"
    done = treadlec("--set=account=1", "--run=opt", "--count", "--interp", call, text=ir)
    counted = re.search(r"read (\d+), wrote (\d+)$", done.stdout.strip())
    assert counted, done.stdout[-500:] + done.stderr[-2000:]
    loops = [k for k in e.kernels if "call" not in k.forms]
    assert (sum(k.read for k in loops), sum(k.written for k in loops)) == tuple(map(int, counted.groups()))
    graph_cases.check(g, lazy(g))
