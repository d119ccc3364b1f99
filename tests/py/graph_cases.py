"""Random graphs, as steps that NumPy and lazy arrays both take."""

from __future__ import annotations

import random
import warnings
from typing import Any, NamedTuple

import numpy as np
import treadle.parallel as tp

UNARY = (np.negative, np.abs, np.square, np.sign)
BINARY = (np.add, np.subtract, np.multiply, np.maximum, np.less, np.equal)
REDUCTIONS = (np.sum, np.max, np.min, np.any, np.mean)
NUMBERS = (2, 3, -5, 1.5, 100)


class Step(NamedTuple):
    """What is done, with which of the values before it."""

    kind: str
    of: tuple[int, ...]
    more: Any = None


class Graph(NamedTuple):
    """Leaves, steps, and which values are asked for."""

    leaves: list[np.ndarray]
    steps: list[Step]
    roots: list[int]


def step(s: Step, values: list[Any]) -> Any:
    """What a step gives."""
    x = [values[k] for k in s.of]
    match s.kind:
        case "call":
            return s.more(*x)
        case "number":
            return s.more[0](x[0], s.more[1])
        case "slice":
            return x[0][slice(*s.more)]
        case "mask":
            return x[0][x[0] > 0]
        case "take":
            return x[0][x[1]]
        case "cumsum":
            return np.cumsum(x[0])
        case "count":
            return np.bincount(x[0], minlength=4)
        case "best":
            return best(x[0], *s.more)
    raise AssertionError(s.kind)


def best(x: Any, k: int, largest: bool, part: int) -> Any:
    """The items of topk, or their places."""
    if not isinstance(x, np.ndarray):
        return tp.topk(x, k, largest=largest)[part]
    if k > len(x) or (part and x.dtype.kind == "f"):  # how a sum is associated may say which is larger
        raise ValueError
    order = np.argsort(x[::-1] if largest else x, kind="stable")
    where = (len(x) - 1 - order[::-1] if largest else order)[:k]
    return where if part else x[where]


def values(g: Graph, leaves: list[Any]) -> list[Any]:
    """The roots' values, of NumPy's arrays or of lazy ones."""
    v = list(leaves)
    for s in g.steps:
        v.append(step(s, v))
    return [v[k] for k in g.roots]


def _draw_step(r: random.Random, n: int) -> Step:
    one, two = (r.randrange(n),), (r.randrange(n), r.randrange(n))
    kinds = [
        "call1",
        "call2",
        "call2",
        "number",
        "slice",
        "mask",
        "reduce",
        "cumsum",
        "take",
        "count",
        "best",
    ]
    match r.choice(kinds):
        case "call1":
            return Step("call", one, r.choice(UNARY))
        case "call2":
            return Step("call", two, r.choice(BINARY))
        case "number":
            return Step("number", one, (r.choice(BINARY), r.choice(NUMBERS)))
        case "slice":
            return Step("slice", one, (r.randint(-4, 4), r.randint(-4, 40), r.choice([None, None, 2, -1])))
        case "reduce":
            return Step("call", one, r.choice(REDUCTIONS))
        case "take":
            return Step("take", two)
        case "best":
            return Step("best", one, (r.choice([0, 1, 2, 5]), r.random() < 0.5, r.randrange(2)))
        case kind:
            return Step(kind, one)


def draw(seed: int, most: int = 25) -> Graph:
    """A graph without errors in NumPy, and with as many steps as it has room for. The same for the same seed."""
    r = random.Random(seed)
    n = r.choice([0, 1, 2, 5, 16, 33])
    leaves = [
        np.array([r.randint(-9, 9) for _ in range(n)]).astype(r.choice(["f4", "f8", "i4", "i8"]))
        for _ in range(2)
    ]
    leaves.append(np.array([r.randrange(max(n, 1)) for _ in range(n)], np.int64))
    v: list[Any] = list(leaves)
    steps = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for _ in range(r.randint(1, most)):
            s = _draw_step(r, len(v))
            try:
                got = step(s, v)
            except (ValueError, TypeError, IndexError, OverflowError):
                continue
            if s.kind in ("slice", "mask", "take", "best") and any(np.ndim(v[k]) == 0 for k in s.of):
                continue
            if np.asarray(got).dtype == np.float16 or np.size(got) > 10_000:
                continue
            steps.append(s)
            v.append(got)
    if not steps:  # none that was drawn has a meaning for so few items
        steps.append(Step("call", (0,), np.negative))
        v.append(-leaves[0])
    made = range(len(leaves), len(v))
    roots = r.sample(made, min(len(made), r.randint(1, 4)))
    return Graph(leaves, steps, sorted(roots))


def check(g: Graph, got: list[Any]) -> None:
    """Values are NumPy's: exactly where these are integers, else up to how sums are associated."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        want = [np.asarray(w) for w in values(g, g.leaves)]
    for k, (a, w) in enumerate(zip(map(np.asarray, got), want, strict=True)):
        assert (a.dtype, a.shape) == (w.dtype, w.shape), (k, g)
        np.testing.assert_allclose(
            a.astype("f8"), w.astype("f8"), rtol=1e-4, atol=1e-4, err_msg=f"root {k} of {g}"
        )
