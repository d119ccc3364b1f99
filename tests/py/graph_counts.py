"""What a graph says of what it moves, beside what the interpreter counts of the same program, item by item."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import treadle.parallel as tp
from cuda_model import _written, treadlec
from treadle import _core


def counted(lazy: Callable[[], Any]) -> tuple[Any, tuple[int, int], tuple[int, int]]:
    """What `explain` says of the arrays that `lazy` makes anew each time; bytes that its loops read and write, by that and as the interpreter counts."""
    e = tp.explain(*lazy(), parallel=False)
    args = _core._lazy_params(*lazy())
    log = np.zeros(1 + 4 * 4000, np.int64)
    ir = _core._lazy_text("infer", log, *lazy())
    call = f"graph({', '.join(_written(a) for a in (*args, log))})"
    done = treadlec("--set=account=1", "--run=opt", "--count", "--interp", call, text=ir)
    found = re.search(r"read (\d+), wrote (\d+)$", done.stdout.strip())
    assert found, done.stdout[-500:] + done.stderr[-2000:]
    loops = [k for k in e.kernels if "call" not in k.forms]
    read, wrote = map(int, found.groups())
    return e, (sum(k.read for k in loops), sum(k.written for k in loops)), (read, wrote)
