"""What orders the work of streams, and what nothing orders: races between streams.

Happens-before by vector clocks: each operation on a stream comes after those that the stream was given before, after the events that the stream was told to wait for, and
after all that the host had waited for when it gave the operation. Two operations of which neither comes after the other, and of which one writes what the other reads or writes, are a
race, whatever came first this time. What a kernel touches, the runtime tells when it has run (`src/rt/watch.c`); of copies it is known before.
The default stream comes after everything, and the host waits for it, so work there is ordered with all else.

It is there under ``TREADLE_EMU_CHECK=race`` and ``memcheck``; `active` is None otherwise, and nothing is noted.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import config
from . import _checks
from ._extent import extent

__all__ = ["Order", "active", "before", "spans", "spans_of"]

Clock = dict[int, int]
_DEFAULTS = (0, 1)
_PER_THREAD = 2
_MOST_ROWS = 1024  # of an array with gaps are looked at one by one; of more it counts as without


@dataclass(frozen=True)
class Span:
    """Bytes from ``lo`` to before ``hi`` that are read, or written; ``array`` is what they are called."""

    lo: int
    hi: int
    writes: bool
    array: str = ""


@dataclass(eq=False)
class Operation:
    """One on a stream: the ``number``-th there, with what it comes after."""

    stream: int
    number: int
    clock: Clock
    what: str
    file: str
    line: int
    spans: list[Span] = field(default_factory=list)
    known: bool = False  # its spans are
    keep: tuple[
        Any, ...
    ] = ()  # whose memory it is: while it is remembered nothing else may come to lie there

    def follows(self, other: Operation) -> bool:
        """Whether it comes after the other."""
        return self.clock.get(other.stream, 0) >= other.number


def _caller() -> tuple[str, int]:
    """File and line of who asked, outside of the package."""
    frame = sys._getframe(1)
    own = __package__.split(".")[0]
    while frame.f_back and str(frame.f_globals.get("__name__", "")).split(".")[0] == own:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _later(clock: Clock, other: Clock) -> None:
    """Makes ``clock`` come after ``other`` too."""
    for stream, number in other.items():
        if clock.get(stream, 0) < number:
            clock[stream] = number


def spans(a: np.ndarray[Any, Any], writes: bool, name: str) -> list[Span]:
    """Where the items of an array lie."""
    if not a.size:
        return []
    if a.flags.c_contiguous or a.flags.f_contiguous or a.size // max(a.shape[-1], 1) > _MOST_ROWS:
        return [Span(*extent(a), writes, name)]
    if a.strides[-1] == a.itemsize or a.ndim == 1:
        rows = a.reshape(1, -1) if a.ndim == 1 else a
        items = (rows[at] for at in np.ndindex(rows.shape[:-1]))
        if a.strides[-1] == a.itemsize:
            return [Span(*extent(row), writes, name) for row in items]
    return [Span(*extent(a), writes, name)]


def spans_of(at: int, size: int, pitch: int, count: int, writes: bool, name: str) -> list[Span]:
    """Where ``count`` times ``size`` bytes lie that are ``pitch`` apart."""
    if count <= 0:
        return []
    if pitch == size or count > _MOST_ROWS:
        return [Span(at, at + (count - 1) * pitch + size, writes, name)]
    return [Span(at + k * pitch, at + k * pitch + size, writes, name) for k in range(count)]


class Order:
    """What is known of the streams of the process."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._host: Clock = {}
        self._given: Clock = {}  # how many operations each stream was given
        self._clocks: dict[int, Clock] = {}  # what the next one comes after
        self._operations: list[Operation] = []
        self._found: list[_checks.Report] = []

    @staticmethod
    def _key(stream: Any) -> int | None:
        """What tells streams apart; None for the default one."""
        number = 0 if stream is None else int(stream)
        if number in _DEFAULTS:
            return None
        return -threading.get_ident() if number == _PER_THREAD else number

    def _give(self, key: int, what: str, keep: tuple[Any, ...] = ()) -> Operation:
        clock = self._clocks.setdefault(key, {})
        _later(clock, self._host)
        self._given[key] = number = self._given.get(key, 0) + 1
        op = Operation(key, number, dict(clock), what, *_caller(), keep=keep)
        clock[key] = number
        self._operations.append(op)
        return op

    def launch(
        self, launcher: Any, arrays: tuple[Any, ...]
    ) -> Callable[[list[tuple[int, int, bool]]], None] | None:
        """A kernel is put on a stream. Returns what is to be called with what it touched, when it has run."""
        with self._lock:
            key = self._key(launcher.stream)
            if key is None:
                return None
            op = self._give(key, f"kernel {launcher.kernel.__name__}", arrays)
        code = launcher.kernel.py_func.__code__
        names = [
            (a.__array_interface__["data"][0], name)
            for name, a in zip(code.co_varnames, arrays)
            if isinstance(a, np.ndarray)
        ]

        def ran(touched: list[tuple[int, int, bool]]) -> None:
            def name_of(lo: int) -> str:
                return max(((at, name) for at, name in names if at <= lo), default=(0, ""))[1]

            self._know(op, [Span(lo, hi, writes, name_of(lo)) for lo, hi, writes in touched])

        return ran

    def begins(self, launcher: Any) -> None:
        """A launch is about to be given: one on the default stream waits for all others."""
        if self._key(launcher.stream) is None:
            self.everything()
            self.tell()

    def copy(self, to: Any, source: Any, stream: Any) -> None:
        """Items are copied on a stream."""
        key = self._key(stream)
        if key is None:
            self.everything()
            return
        with self._lock:
            op = self._give(key, "a copy", (to, source))
            self._know(op, spans(source, False, "its source") + spans(to, True, "its target"))

    def work(self, what: str, spans: list[Span], keep: tuple[Any, ...], stream: Any) -> None:
        """A library is given work on a stream, which touches these bytes, of the memory of ``keep``."""
        key = self._key(stream)
        if key is None:
            self.everything()
            return
        with self._lock:
            self._know(self._give(key, what, keep), spans)

    def recorded(self, stream: Any) -> Clock:
        """What comes before the next operation on a stream."""
        with self._lock:
            key = self._key(stream)
            if key is None:
                return dict(self._given)
            clock = dict(self._clocks.get(key, {}))
            _later(clock, self._host)
            return clock

    def waits(self, stream: Any, clock: Clock) -> None:
        """A stream waits for what comes before an event."""
        with self._lock:
            key = self._key(stream)
            _later(self._host if key is None else self._clocks.setdefault(key, {}), clock)

    def host_knows(self, clock: Clock) -> None:
        """The host has waited for it."""
        with self._lock:
            _later(self._host, clock)
            self._forget()

    def everything(self) -> None:
        """The host has waited for all streams."""
        self.host_knows(dict(self._given))

    def _forget(self) -> None:
        """What nothing that is still to come, or to become known, can meet."""
        open_ones = [op for op in self._operations if not op.known]
        self._operations = [
            op
            for op in self._operations
            if not op.known
            or self._host.get(op.stream, 0) < op.number
            or any(not one.follows(op) for one in open_ones)
        ]

    def _know(self, op: Operation, spans: list[Span]) -> None:
        with self._lock:
            op.spans, op.known = spans, True
            for other in self._operations:
                if (
                    other.stream != op.stream
                    and other.known
                    and not op.follows(other)
                    and not other.follows(op)
                ):
                    self._look(*sorted((other, op), key=lambda one: (one.file, one.line)))

    def _look(self, first: Operation, then: Operation) -> None:
        for a in first.spans:
            for b in then.spans:
                if a.lo < b.hi and b.lo < a.hi and (a.writes or b.writes):
                    report = _checks.Report(
                        "streams",
                        first.what,
                        file=first.file,
                        line=first.line,
                        other_file=then.file,
                        other_line=then.line,
                        array=a.array,
                        other_kernel=then.what,
                        other_array=b.array,
                        does="writes" if a.writes else "reads",
                        other_does="writes" if b.writes else "reads",
                    )
                    if report not in self._found:
                        self._found.append(report)
                    return

    def tell(self) -> None:
        """Raises what was found since it was asked last."""
        with self._lock:
            found, self._found = self._found, []
        if found:
            error = _checks.of_streams(found)
            if _checks.collected is None:
                raise error


active: Order | None = Order() if config.EMU_CHECK & config._CHECKS["race"] else None


def before(launcher: Any, args: tuple[Any, ...]) -> None:
    """Asked before each launch of a kernel whose memory is watched, and of all kernels where streams are."""
    if active:
        active.begins(launcher)
    _checks.look_at_arguments(launcher, args)
