"""Streams and events: what is put on a stream is done in order, and the host goes on meanwhile.

What is put on the default stream is done when the call returns, and comes after all that other streams were given before. What a kernel raises on another stream is raised by
who waits for it next; what that stream was given after the kernel is not done then.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .. import _core
from . import _order
from ._devices import is_emulated, ready

if TYPE_CHECKING:
    from ._typing import StreamLike

__all__ = [
    "Event",
    "Stream",
    "check_stream",
    "default_stream",
    "event",
    "event_elapsed_time",
    "external_stream",
    "legacy_default_stream",
    "per_thread_default_stream",
    "stream",
    "synchronize",
]

_OWN, _DEFAULT, _LEGACY, _PER_THREAD, _FOREIGN = range(5)


class Stream(_core.Stream):
    """A queue of copies, launches and calls, which are done in order; the host goes on meanwhile. Made by `treadle.cuda.stream`.

    Attributes
    ----------
    handle : ctypes.c_void_p
        What tells it from others; ``int(stream)`` is the same.
    """

    __slots__ = ("__weakref__",)

    @property
    def handle(self) -> ctypes.c_void_p:
        """What tells it from others."""
        return ctypes.c_void_p(self._number)

    def __int__(self) -> int:
        return self._number

    def synchronize(self) -> None:
        """Wait until all that the stream was given is done.

        Raises
        ------
        Exception
            What a kernel on it raised.
        """
        super().synchronize()
        if _order.active:
            _order.active.host_knows(_order.active.recorded(self))
            _order.active.tell()

    def _call(self, fn: Callable[[int], object]) -> None:
        order = _order.active
        if not order:
            super()._call(fn)
            return
        clock = order.recorded(self)

        def call(status: int) -> None:
            order.host_knows(clock)
            fn(status)

        super()._call(call)

    @contextlib.contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """A ``with`` at whose end the stream is waited for."""
        yield self
        self.synchronize()

    def add_callback(self, callback: Callable[[Any, int, Any], object], arg: Any = None) -> None:
        """Call ``callback(stream, status, arg)`` when all that the stream was given so far is done.

        It is called on a thread of the stream's, which goes on when it returns, and may not wait for the device. ``status`` is 0, or 719
        (CUDA_ERROR_LAUNCH_FAILED) where a kernel before it raised. What it raises becomes a warning.
        """

        def call(status: int) -> None:
            try:
                callback(self, status, arg)
            except Exception as error:
                warnings.warn(f"Exception in stream callback: {error!r}", stacklevel=2)

        self._call(call)

    def async_done(self) -> asyncio.Future[Stream]:
        """An awaitable: the stream, when all that it was given so far is done. Awaiting it raises what a kernel raised."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Stream] = loop.create_future()

        def resolve() -> None:
            if future.done():
                return
            try:
                self._tell()
            except Exception as error:
                future.set_exception(error)
            else:
                future.set_result(self)

        def call(status: int) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(resolve)

        self._call(call)
        return future

    def __repr__(self) -> str:
        names = {
            _DEFAULT: "default stream",
            _LEGACY: "legacy default stream",
            _PER_THREAD: "per-thread default stream",
        }
        of = "the emulated device" if is_emulated() else "a GPU"
        return f"<{names.get(self._kind, f'stream {self._number:#x}')} of {of}>"


_streams: weakref.WeakValueDictionary[int, Stream] = weakref.WeakValueDictionary()


def stream() -> Stream:
    """A new stream.

    Examples
    --------
    >>> s = cuda.stream()
    >>> d = cuda.to_device(np.arange(3.0), stream=s)
    >>> a = d.copy_to_host(stream=s)
    >>> s.synchronize()
    >>> a
    array([0., 1., 2.])
    """
    ready()
    made = Stream(_OWN)
    _streams[int(made)] = made
    return made


def default_stream() -> Stream:
    """The stream of what names none: that of `legacy_default_stream`."""
    ready()
    return Stream(_DEFAULT)


def legacy_default_stream() -> Stream:
    """The default stream: what is put there comes after all that other streams were given before, and is done when the call returns."""
    ready()
    return Stream(_LEGACY)


def per_thread_default_stream() -> Stream:
    """A stream that each thread has for itself: whoever uses it means that of its own thread."""
    ready()
    return Stream(_PER_THREAD)


def external_stream(ptr: int) -> Stream:
    """The stream of that handle, which another library has made and keeps; 0, 1 and 2 are the default ones. The emulated device has no streams but its own: those that `stream` made.

    Raises
    ------
    ValueError
        There is none.
    """
    ready()
    if not isinstance(ptr, int):
        raise TypeError(f"a stream's handle is an int, not {type(ptr).__name__}")
    if ptr in (0, 1, 2):
        return Stream((_DEFAULT, _LEGACY, _PER_THREAD)[ptr])
    found = _streams.get(ptr)
    if found is None and not is_emulated():
        return Stream(_FOREIGN, ptr)
    if found is None:
        raise ValueError(f"the emulated device has no stream {ptr:#x}")
    return found


def of_others(handle: int) -> Stream:
    """The stream that another package means by a handle: its thread's own one is not ours."""
    return Stream(_FOREIGN, 2) if handle == 2 and not is_emulated() else external_stream(handle)


def check_stream(stream: Any) -> None:
    """TypeError for what is no stream; 0 and None stand for the default one."""
    if not (stream is None or isinstance(stream, Stream) or (isinstance(stream, int) and stream == 0)):
        raise TypeError(f"a stream is made by cuda.stream(), and {stream!r} is none")


def synchronize() -> None:
    """Wait for all that streams were given.

    Raises
    ------
    Exception
        What a kernel on a stream raised, and nobody was told yet: the first one, the next call the next.
    """
    ready()
    _core._dev_synchronize()
    if _order.active:
        _order.active.everything()
        _order.active.tell()


class Event(_core.Event):
    """A place in a stream: it happens when all that the stream was given before is done. Made by `treadle.cuda.event`."""

    __slots__ = ("_before",)
    _before: dict[int, int]  # under checks: what comes before it

    def record(self, stream: StreamLike = 0) -> None:
        """The event happens when all that the stream was given so far is done."""
        super().record(stream)
        if _order.active:
            self._before = _order.active.recorded(stream)

    def wait(self, stream: StreamLike = 0) -> None:
        """What the stream is given from now on comes after the event."""
        super().wait(stream)
        if _order.active:
            _order.active.waits(stream, getattr(self, "_before", {}))

    def synchronize(self) -> None:
        """Wait until it has happened.

        Raises
        ------
        Exception
            What a kernel raised that came before it on its stream.
        """
        super().synchronize()
        if _order.active:
            _order.active.host_knows(getattr(self, "_before", {}))
            _order.active.tell()

    def query(self) -> bool:
        """Whether it has happened: True if it was never recorded."""
        happened: bool = super().query()
        if happened and _order.active:
            _order.active.host_knows(getattr(self, "_before", {}))
        return happened

    def elapsed_time(self, evtend: Event) -> float:
        """Milliseconds from this event to another one, as `event_elapsed_time`."""
        return event_elapsed_time(self, evtend)


def event(timing: bool = True) -> Event:
    """A new event.

    Parameters
    ----------
    timing : bool
        It notes the time when it happens.

    Examples
    --------
    >>> begin, end = cuda.event(), cuda.event()
    >>> begin.record()
    >>> end.record()
    >>> end.synchronize()
    >>> cuda.event_elapsed_time(begin, end) >= 0.0
    True
    """
    ready()
    return Event(timing)


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Time from one event to another.

    Returns
    -------
    float
        Milliseconds.

    Raises
    ------
    ValueError
        One was not recorded, has not happened yet, or was made with ``timing=False``.
    """
    if not isinstance(evtstart, Event):
        raise TypeError(f"an event is made by cuda.event(), and {evtstart!r} is none")
    ms = evtstart._elapsed(evtend)
    if ms is None:
        raise ValueError(
            "there is a time between events that were made with timing=True, recorded, and have happened: wait for them with synchronize()"
        )
    return ms
