"""Layout of ``Function.inspect_types()`` and ``Function.parallel_diagnostics()``; what a function says of itself under Numba's names."""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from typing import Any, TextIO

from ._core import Function

__all__ = ["Stats", "metadata", "print_parallel", "print_types", "whole_signatures"]


class Stats(dict[str, Any]):
    """``Function.stats``, which answers to Numba's names for them as well."""

    def _count(self, loaded: bool) -> Counter[Any]:
        return Counter({types: 1 for types, s in self["signatures"].items() if s["loaded"] is loaded})

    @property
    def cache_hits(self) -> Counter[Any]:
        """Specialisations that came from the cache on disk, by argument types."""
        return self._count(True)

    @property
    def cache_misses(self) -> Counter[Any]:
        """Specialisations that were compiled, by argument types."""
        return self._count(False)

    @property
    def cache_path(self) -> None:
        """No path of the function's own: there is one folder for all (``TREADLE_CACHE_DIR``)."""
        return None


def whole_signatures(function: Function) -> list[Any]:
    """The signature of each specialisation: result and arguments."""
    return [ret(*args) for args, ret in function.overloads.items()]


def metadata(function: Function, signature: Any) -> Any:
    """What ``stats`` says of a specialisation, or of each by its argument types."""
    all_of_them = function.stats["signatures"]
    return all_of_them if signature is None else all_of_them[tuple(getattr(signature, "args", signature))]


def _source(fn: Any) -> tuple[list[str], int]:
    try:
        lines, first = inspect.getsourcelines(fn)
    except (OSError, TypeError):
        return [], fn.__code__.co_firstlineno
    return [line.rstrip() for line in lines], first


def _notes(function: Function, signature: Any) -> dict[int, list[str]]:
    """Texts "name: type" by line, each once, in order."""
    notes: dict[int, list[str]] = {}
    for line, name, type_text in function._variables(signature):
        texts = notes.setdefault(line, [])
        text = f"{name}: {type_text}"
        if text not in texts:
            texts.append(text)
    return notes


def print_types(function: Function, file: TextIO | None, signature: Any) -> None:
    """Print the source of a function with the types of its variables, once for each specialisation.

    Parameters
    ----------
    function
        The compiled function.
    file
        Where to print; None is ``sys.stdout``.
    signature
        Only this specialisation; None is all.
    """
    out = sys.stdout if file is None else file
    lines, first = _source(function.py_func)
    width = max((len(line) for line in lines), default=0)
    rows = [
        (types, ret) for types, ret in function.overloads.items() if signature is None or types == signature
    ]
    for types, ret in rows:
        notes = _notes(function, types)
        print(f"{function.__qualname__}({', '.join(map(str, types))}) -> {ret}", file=out)
        print(f"# {function.py_func.__code__.co_filename}:{first}", file=out)
        head = [
            text for line in sorted(notes) if not first <= line < first + len(lines) for text in notes[line]
        ]
        if head:
            print("# " + ", ".join(head), file=out)
        for number, line in enumerate(lines, first):
            note = ", ".join(notes.get(number, []))
            print(f"{line:{width}}  # {note}" if note else line, file=out)
        print(file=out)


def print_parallel(function: Function, signature: Any, level: int = 1) -> None:
    """Print what runs on all cores, once for each specialisation.

    Parameters
    ----------
    function
        The compiled function.
    signature
        Only this specialisation; None is all.
    level
        1: loops and array expressions; 2: also which expressions were merged; 3 or 4: also why others were not.
    """
    if not isinstance(level, int) or not 1 <= level <= 4:
        raise ValueError(f"level must be 1 to 4, not {level!r}")
    texts = function.inspect("parallel", signature)
    if signature is not None:
        texts = {signature: texts}
    for types, text in texts.items():
        print(f"{function.__qualname__}({', '.join(map(str, types))})")
        if not function.options.get("parallel", False):
            print("  is compiled without parallel=True: all of it runs on one core")
        lines = dict.fromkeys(text.splitlines())  # a loop that was copied says the same twice
        merging = [line for line in lines if ": patterns of " in line]
        kept = [line for line in lines if line not in merging]
        if level > 1:
            kept += [line for line in merging if level > 2 or ": not merged: " not in line]
        for line in kept:
            print("  " + line)
