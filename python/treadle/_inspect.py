"""Layout of ``Function.inspect_types()``: the source, and beside each line the types of the variables it sets."""

from __future__ import annotations

import inspect
import sys
from typing import Any, TextIO

from ._core import Function

__all__ = ["print_types"]


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
