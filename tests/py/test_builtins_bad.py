"""Every function, method and attribute that compiled code knows, called with values of every kind and in every number: a
result or a clear error, never a crash, never an error that blames the compiler."""

from __future__ import annotations

import collections
import importlib
import re
from pathlib import Path

import numpy as np
import pytest
from treadle import TreadleError, cuda, njit

TABLE = Path(__file__).parents[2] / "src" / "lib" / "builtins.def"
ROWS = re.findall(
    r'^([FMA])\(\w+,\s*"([^"]+)",\s*"([^"]*)"(?:,\s*"([^"]*)")?', TABLE.read_text(), re.MULTILINE
)

VALUES = {
    "1": 1, "2.5": 2.5, "True": True, "1j": 1j, "None": None, "'text'": "text", "()": (), "(1, 2.0)": (1, 2.0), "np.float32": np.float32,
    "vector": np.arange(3.0), "matrix": np.ones((2, 3), dtype=np.int8), "point": np.array(1.5), "complex": np.ones(2, dtype=np.complex64),
    "range(3)": range(3), "math": None, "len": len, "slice(1)": slice(1), "flags": np.array([True, False]), "big": np.uint64(2**63),
    "empty": np.zeros((0, 2)), "nested": ((1, 2), (3, 4)), "-1": -1,
}  # fmt: skip
SELVES = {"array": ["vector", "matrix", "point", "complex", "flags", "empty"], "number": ["1", "2.5", "True", "1j", "big"],
          "tuple": ["()", "(1, 2.0)", "nested"], "range": ["range(3)"], "slice": ["slice(1)"], "dtype": ["np.float32"],
          "str": ["'text'"], "bytes": ["b'ab'"], "bytearray": ["bytearray(b'ab')"], "object": ["len"], "dim3": ["cuda.threadIdx", "cuda.gridDim"], "gridgroup": ["cuda.cg.this_grid()"],
          "ufunc": ["np.add", "np.sin", "np.less"], "flags": ["vector.flags", "matrix.T.flags"], "iinfo": ["np.iinfo(np.int8)"], "manager": ["np.errstate()"], "finfo": ["np.finfo(np.float32)"],
          "set": ["{1, 2}", "{0.5, 2.5}"], "Dict": ["{1: 2}", "{0.5: True, 2.5: False}"],
          "dict class": ["dict"], "bytes class": ["bytes"], "exception": ["ValueError(1)"], "exception class": [], "deque": ["deque([1, 2])", "deque([0.5], 3)"], "Counter": ["Counter([1, 1])"],
          "OrderedDict": ["OrderedDict({1: 2})"], "defaultdict": ["defaultdict(int)"], "frozenset": ["frozenset({1})"],
          "list": ["[1, 2]", "[0.5 for _ in range(3)]"], "dict": ["{'a': 1, 'b': 2.5}"], "partial": ["functools.partial(np.maximum, 2)"], "ordered": ["functools.cmp_to_key(np.subtract)(1)", "functools.cmp_to_key(None)(vector)"], "typed list": ["List"], "typed dict": ["Dict"], "typed set": ["Set"]}  # fmt: skip
FROZEN = {
    "np": np,
    "cuda": cuda,
    **{k: v for k, v in VALUES.items() if k.isidentifier()},
    "List": importlib.import_module("treadle.typed").List,
    "Dict": importlib.import_module("treadle.typed").Dict,
    "Set": importlib.import_module("treadle.typed").Set,
    "math": importlib.import_module("math"),
    "functools": importlib.import_module("functools"),
    **{k: getattr(collections, k) for k in ("Counter", "OrderedDict", "defaultdict", "deque")},
}


# Those that are arguments, and no constants.
RECORDS = np.zeros(3, [("x", "f8"), ("n", "i4")])
ARGUMENTS = {
    "records": [RECORDS, RECORDS[::2]],
    "record": [RECORDS[1]],
    "Generator": [np.random.default_rng(1)],
}


def attempt(source: str, names: dict, *args) -> None:
    fn = njit(eval(f"lambda {'own' if args else ''}: {source}", {**FROZEN, **names}))
    try:
        with np.errstate(all="ignore"):
            fn(*args)
    except TreadleError as e:
        assert "internal" not in str(e).lower(), f"{source}: {e}"
        assert len(str(e)) > 20, source
    except (ValueError, ZeroDivisionError, OverflowError, IndexError, KeyError, MemoryError, TypeError):
        pass


def calls(head: str, nparams: int) -> list[str]:
    """Calls with no argument, with one of each kind, and with rotating kinds up to two more than there are parameters."""
    out = [f"{head}()"] + [f"{head}({v})" for v in VALUES]
    for n in range(2, min(nparams, 4) + 3):
        for k in range(len(VALUES)):
            args = [list(VALUES)[(k * (i + 1) + i) % len(VALUES)] for i in range(n)]
            out.append(f"{head}({', '.join(args)})")
    return out


@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r[1]}.{r[2]}" if r[0] != "F" else r[1])
def test_any_arguments(row, capfd):
    kind, path, name, params = row
    if kind == "F":
        module, fn = path.rsplit(".", 1)
        target = getattr(importlib.import_module(module), fn, None)
        if target is None:
            return  # a name that this Python or NumPy lacks
        for source in calls("target", name.count(",") + 1):
            attempt(source, {"target": target})
    else:
        given = [("own", [a]) for a in ARGUMENTS.get(path, ())] or [(own, []) for own in SELVES[path]]
        for own, args in given:
            subject = f"({own}).{name}"
            attempt(subject, {}, *args)
            if kind == "M":
                for source in calls(subject, params.count(",") + 1):
                    attempt(source, {}, *args)
    capfd.readouterr()
