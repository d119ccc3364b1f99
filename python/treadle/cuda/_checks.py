"""Mistakes of kernels that are found while they run: what is looked for, and how it is told."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core, config
from ..errors import KernelCheckError, KernelCheckWarning
from ._devices import is_emulated
from ._extent import extent

__all__ = ["Report", "look_at_arguments", "of_streams", "passes", "safe", "sow", "told", "wanted", "warn"]

# As tr_mistake in src/rt/watch.h, and TR_TOUCH_* in src/rt/layout.h.
_KINDS = ("race", "uninit", "barrier", "exit", "lost")
_DOES = ("reads", "writes", "changes atomically", "changes atomically")

Place = tuple[int, int, int]


@dataclass(frozen=True)
class Report:
    """One mistake of a kernel.

    Attributes
    ----------
    kind : str
        ``"race"``, ``"uninit"``, ``"barrier"``, ``"exit"`` (no error), ``"streams"`` (a race between two of them), ``"freed"`` and ``"align"`` (an array that the kernel is launched with), or
        ``"lost"``: there was no memory to watch the launch to its end.
    kernel, other_kernel : str
        The kernel's name; of a race between streams what both do: ``"kernel k"``, ``"a copy"``.
    line, other_line : int
        Where it is in the source; of a race and of barriers that differ two places, the one that came first first. 0: there is none.
    file, other_file : str
        The files of these lines.
    array, other_array : str
        The array's name; empty where it has none that is known.
    index, shape : tuple of int
        Which of its items, and how many it has.
    block, thread, other_block, other_thread : tuple of int
        Whose mistake it is.
    dtype : str
        The items' type, where it matters.
    does, other_does : str
        What they do to the item.
    times : int
        How often it was found.
    """

    kind: str
    kernel: str
    file: str = ""
    line: int = 0
    other_file: str = ""
    other_line: int = 0
    array: str = ""
    shared: bool = False
    index: tuple[int, ...] = ()
    shape: tuple[int, ...] = ()
    block: Place = (0, 0, 0)
    thread: Place = (0, 0, 0)
    other_block: Place = (0, 0, 0)
    other_thread: Place = (0, 0, 0)
    dtype: str = ""
    does: str = ""
    other_does: str = ""
    times: int = 1
    other_kernel: str = ""
    other_array: str = ""

    def _item(self) -> str:
        if not self.shape and not self.index:
            return f"array {self.array}" if self.array else "an array"
        kind = "shared array" if self.shared else "array"
        return f"{kind} {self.array}[{', '.join(map(str, self.index))}] of shape {self.shape}"

    def _lines(self) -> tuple[str, str]:
        """Where it is, with the file where there are two."""
        one = not self.other_file or self.file == self.other_file
        return (
            f"line {self.line}" + ("" if one else f" of {self.file}"),
            f"line {self.other_line}" + ("" if one else f" of {self.other_file}"),
        )

    def __str__(self) -> str:
        line, other = self._lines()
        if self.kind == "race":
            one = self.block == self.other_block
            text = (
                f"race on {self._item()}: thread {self.thread}{'' if one else f' of block {self.block}'} {self.does} it in {line}, "
                f"thread {self.other_thread} of block {self.other_block} {self.other_does} it in {other}, "
                f"and {'no barrier is between' if one else 'nothing orders blocks'}"
            )
        elif self.kind == "uninit":
            text = f"uninit: thread {self.thread} of block {self.block} reads {self._item()} in {line}, before anybody wrote it"
        elif self.kind == "barrier":
            text = (
                f"barrier: threads of block {self.block} wait at different barriers: thread {self.thread} in {line} "
                f"and thread {self.other_thread} in {other}"
            )
        elif self.kind == "exit":
            text = f"exit: thread {self.thread} of block {self.block} had ended when others waited in {line}"
        elif self.kind == "streams":
            text = (
                f"race between streams: {self.kernel} of {line} {self.does} {self.array or 'an array'}, {self.other_kernel} of {other} "
                f"{self.other_does} {'it' if self.other_array == self.array else self.other_array or 'it'}, and nothing orders the two: "
                "record an event behind one, and let the other's stream wait for it"
            )
        elif self.kind == "freed":
            text = f"freed: the memory of array {self.array} was given back to the device"
        elif self.kind == "align":
            text = f"align: array {self.array} lies at an address where no {self.dtype} may"
        else:
            text = "there was no memory to watch the launch to its end"
        return text + (f" ({self.times} times)" if self.times > 1 else "")


def wanted(options: dict[str, Any]) -> int:
    """What is looked for in a kernel with these options of ``cuda.jit``, as a set of bits."""
    return config.EMU_CHECK | (config._ALL_CHECKS if options.get("debug") is True else 0)


def safe(options: dict[str, Any], watch: int) -> dict[str, Any]:
    """The options, with indices checked where that is looked for."""
    return {**options, "boundscheck": True} if watch & config._CHECKS["bounds"] else options


def sow(memory: Any) -> None:
    """Where reads of what nobody wrote are looked for: new memory of the device gets, in each of its words, a number that says where it is.

    Parameters
    ----------
    memory : treadle._core.DeviceMemory
    """
    n = memory.nbytes // 4
    if config.EMU_CHECK & config._CHECKS["uninit"] and n and is_emulated():
        at = np.arange(memory.ptr // 4, memory.ptr // 4 + n, dtype=np.uint64)
        words = at * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(44) | np.uint64(
            0xFF900000
        )  # as in src/rt/watch.c
        np.frombuffer(memory, np.uint32, n)[:] = words


def _wrong_arguments(kernel: Any, args: tuple[Any, ...]) -> list[Report]:
    """Arrays that a device could not be launched with."""
    found = []
    code = kernel.py_func.__code__
    for name, a in zip(code.co_varnames, args):
        mem = getattr(a, "_mem", None)
        if not isinstance(mem, np.ndarray) or not mem.size:
            continue
        lo, hi = extent(mem)
        block = _core._dev_find(lo) if _core._dev_owns(lo) else (lo, hi - lo)
        kind = "freed" if not block or hi > block[0] + block[1] else "align" if not mem.flags.aligned else ""
        if kind:
            where = {"file": code.co_filename, "line": code.co_firstlineno}
            found.append(
                Report(kind, kernel.__name__, **where, array=name, shape=mem.shape, dtype=str(mem.dtype))
            )
    return found


class Collected:
    """What was found so far in all launches of the process, for ``python -m treadle memcheck``: the same lines and array once."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.ended = 0
        self.again = 0
        self._told: set[tuple[Any, ...]] = set()

    def add(self, text: str, reports: list[Report], ended: bool = False) -> None:
        """Print what one launch reports, unless all of that was told before, and keep it. ``ended``: it ended with an exception."""
        new = {(r.kind, r.kernel, r.array, r.file, r.line, r.other_file, r.other_line): r for r in reports}
        known = self._told & new.keys()
        if len(known) == len(new) and not ended:
            self.again += 1
            return
        self._told |= new.keys()
        self.reports += [r for key, r in new.items() if key not in known]
        print(f"treadle memcheck: {text}", file=sys.stderr)


collected: Collected | None = None


def passes(exc: BaseException) -> bool:
    """Whether what a launch ended with is nobody's to catch. Under ``memcheck`` a script goes on after what was reported."""
    return collected is not None and isinstance(exc, KernelCheckError)


def look_at_arguments(launcher: Any, args: tuple[Any, ...]) -> None:
    """KernelCheckError unless the arrays of a launch are such as a kernel may have."""
    wrong = _wrong_arguments(launcher.kernel, args)
    if wrong:
        raise _error(wrong)


def _error(reports: list[Report], more: int = 0) -> KernelCheckError:
    lines = [f"kernel {reports[0].kernel} ({reports[0].file}):"] + [f"  {r}" for r in reports]
    if more:
        lines.append(f"  and {more} more in other lines")
    error = KernelCheckError("\n".join(lines), reports)
    if collected is not None:
        collected.add(str(error), reports)
    return error


def of_streams(reports: list[Report]) -> KernelCheckError:
    """What two streams do to each other."""
    error = KernelCheckError(
        "\n".join([f"streams ({reports[0].file}):"] + [f"  {r}" for r in reports]), reports
    )
    if collected is not None:
        collected.add(str(error), reports)
    return error


def _report(kernel: str, found: tuple[Any, ...]) -> Report:
    kind, array, shared, index, size, first, second, times = found
    known: dict[str, Any] = {}
    for prefix, side in (("", first), ("other_", second)):
        if side is None:
            continue
        site, block, thread, how = side
        line, _, name, _, file = site.split("|", 4) if site else ("0", "", "", "", "")
        known |= {
            prefix + "file": file,
            prefix + "line": int(line),
            prefix + "block": block,
            prefix + "thread": thread,
            prefix + "does": _DOES[how],
        }
        array = array or name
    return Report(
        kind=_KINDS[kind],
        kernel=kernel,
        array=array,
        shared=bool(shared),
        index=index,
        shape=size,
        times=times,
        **known,
    )


def _innermost_line(exc: BaseException) -> int:
    tb, line = exc.__traceback__, 0
    while tb:
        line, tb = tb.tb_lineno, tb.tb_next
    return line


def _place(exc: BaseException, where: str) -> None:
    """The exception names the place. What was raised before, and is raised again, names the latest one."""
    args = vars(exc).setdefault("_args_in_kernel", exc.args)
    if not args:
        exc.args = ("in " + where,)
    elif len(args) == 1 and isinstance(args[0], str):
        exc.args = (f"{args[0]}{',' if ': array ' in args[0] else ':'} in {where}",)
    else:
        exc.__notes__ = ["in " + where]


def told(
    exc: BaseException | None,
    kernel: str,
    block: Place,
    thread: Place,
    ended: int,
    found: list[tuple[Any, ...]],
    more: int,
) -> BaseException | None:
    """The exception with which a watched launch ends: `exc`, which knows where it was then, or what was found.

    Called by ext/watch.c. ``kernel`` is ``"line|function|file"``.
    """
    name = kernel.split("|", 2)[1]
    reports = [_report(name, r) for r in found]
    wrong = [r for r in reports if r.kind != "exit"]
    if ended or (type(exc) is RuntimeError and any(r.kind == "barrier" for r in wrong)):
        return _error(wrong, more).with_traceback(exc.__traceback__ if exc else None)
    if isinstance(exc, Exception):
        _place(exc, f"kernel {name}, line {_innermost_line(exc)}, block {block}, thread {thread}")
        for r in wrong:
            exc.add_note(str(r))
        if collected is not None:
            collected.ended += 1
            notes = "".join(f"\n  {note}" for note in getattr(exc, "__notes__", ()))
            collected.add(f"{type(exc).__name__}: {exc}{notes}", wrong, ended=True)
    return exc


def warn(
    exc: None,
    kernel: str,
    block: Place,
    thread: Place,
    ended: int,
    found: list[tuple[Any, ...]],
    more: int,
) -> None:
    """Warn of what is no error. Called by ext/watch.c in a launch that ended well."""
    name = kernel.split("|", 2)[1]
    for r in found:
        warnings.warn(f"kernel {name}: {_report(name, r)}", KernelCheckWarning, stacklevel=2)
