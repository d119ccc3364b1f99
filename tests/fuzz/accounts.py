"""What graphs say of themselves (`treadle.parallel.explain`: bytes that their loops and calls read and write) against what the interpreter of typed IR counts while it runs the same program.

    python tests/fuzz/accounts.py --n 200 --seed 0

Prints each graph that differs, and exits with 1 if there was one.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from typing import Any

import gen_graph
import graph_check
import numpy as np
import treadle.parallel as tp
from cuda_model import _written, treadlec
from gen_straight import build
from treadle import _core

EVENTS = 4000


def laid_out(a: np.ndarray) -> np.ndarray:
    """An array as treadlec reads it from a text: one that is neither in rows nor in columns has every second place."""
    if a.flags.c_contiguous or a.flags.f_contiguous:
        return a
    wide = np.zeros(2 * a.size, a.dtype)[::2].reshape(a.shape)
    wide[...] = a
    return wide


def counted(roots: Callable[[], Any]) -> tuple[Any, list[int], list[int]]:
    """What `explain` says of the arrays that `roots` makes anew each time; bytes read and written, as it says and as the interpreter counts.

    Raises
    ------
    ValueError
        With what the interpreter says where it does not get to the end.
    """
    e = tp.explain(*roots(), parallel=False)
    log = np.zeros(1 + 4 * EVENTS, np.int64)
    args = [*_core._lazy_params(*roots()), log]
    call = f"graph({', '.join(map(_written, args))})"
    done = treadlec("--count", "--interp", call, text=_core._lazy_text("opt", log, *roots()))
    found = re.search(r"read (\d+), wrote (\d+)$", done.stdout.strip())
    if not found:
        raise ValueError(f"cannot be counted: {done.stdout[-300:]}{done.stderr[-1000:]}")
    said = [sum(k.read for k in e.kernels), sum(k.written for k in e.kernels)]
    return e, said, [int(n) for n in found.groups()]


def difference(seed: int) -> str:
    """Empty, or how the two differ for the graph of a seed."""
    case = gen_graph.make_case(seed, gen_graph.PROGRAMS, most=20)
    main = graph_check.function(case.source, "accounts")
    leaves = [laid_out(a) for a in build(case.calls[0])]
    try:
        _, want, got = counted(lambda: main(*(tp.array(a) for a in leaves)))
    except ValueError as e:
        return str(e)
    return "" if got == want else f"read and written {want}, counted {got}\n{case.source}{case.calls}"


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--n", type=int, default=200, help="graphs")
    parser.add_argument("--seed", type=int, default=0, help="first seed")
    options = parser.parse_args()
    differ = 0
    for seed in range(options.seed, options.seed + options.n):
        if text := difference(seed):
            print(f"seed {seed}: {text}", flush=True)
            differ += 1
    print(f"{options.n} graphs, {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
