"""Streams. On the emulated device what is put on one is done when its call returns."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ._devices import ready

__all__ = ["Stream", "check_stream", "default_stream", "stream", "synchronize"]


class Stream:
    """A queue of copies and launches. On the emulated device each is done when its call returns, so what is on a stream is always finished."""

    __slots__ = ()

    def synchronize(self) -> None:
        """Wait for what is on the stream: nothing, ever."""

    @contextlib.contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """A `with` at whose end the stream is waited for."""
        yield self
        self.synchronize()

    def __repr__(self) -> str:
        return "<stream of the emulated device>"


def stream() -> Stream:
    """A new stream."""
    ready()
    return Stream()


def default_stream() -> Stream:
    """The stream of what names none."""
    ready()
    return Stream()


def check_stream(stream: Any) -> None:
    """TypeError for what is no stream; 0 and None stand for the default one."""
    if not (stream is None or isinstance(stream, Stream) or (isinstance(stream, int) and stream == 0)):
        raise TypeError(f"a stream is made by cuda.stream(), and {stream!r} is none")


def synchronize() -> None:
    """Wait for what was launched. A launch returns when all threads have ended, so there is nothing to wait for."""
    ready()
