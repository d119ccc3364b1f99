"""Which devices there are, and which of them a thread uses: the GPUs where there are some, or the emulated device, this machine's processors, which keep the limits of a GPU of compute capability 9.0.

Each thread uses one of them, at first the first; a `with` over `selected` changes that, as `Device` and `Context` (`_context.py`) do, which need arrays and streams. Nothing here does.

Every way to a device passes `ready`, which opens it, and says once what kernels run on, or that there is nothing they could run on.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Iterator
from typing import NamedTuple

from .. import config
from .._core import _dev_about, _dev_attributes, _dev_open, _dev_select, _dev_selected
from ._errors import CudaSupportError

__all__ = [
    "PROCESSORS",
    "attributes",
    "capability",
    "cuda_error",
    "driver_version",
    "found",
    "has_code",
    "is_available",
    "is_emulated",
    "least_cc",
    "pop",
    "push",
    "ready",
    "selected",
]

# Processors of src/target/nvptx64.c. A newer one runs the code of the newest before it.
PROCESSORS = ((7, 5), (8, 0), (8, 6), (8, 7), (8, 9), (9, 0), (10, 0), (10, 3), (12, 0))


class _Found(NamedTuple):
    """How many devices there are that kernels run on, or why there is none, or why they are no GPUs."""

    emulated: bool
    count: int = 0
    why: str = ""


@functools.cache
def found() -> _Found:
    """What there is to run kernels on; asked once."""
    why = ""
    if config.CUDA != "emu":
        try:
            return _Found(False, _dev_open("cuda", config.CUDA_DRIVER or None))
        except RuntimeError as error:
            why = str(error)
    if config.CUDA == "gpu":
        return _Found(
            False, why=f"TREADLE_CUDA=gpu: {why}; TREADLE_CUDA=emu runs kernels on this machine's processors"
        )
    return _Found(True, _dev_open("emu", None), why)


@functools.cache
def ready() -> None:
    """To be passed before a device is used for the first time.

    Raises
    ------
    CudaSupportError
        ``TREADLE_CUDA=gpu``, and there is none.
    """
    there = found()
    if not there.count:
        raise CudaSupportError(there.why)
    if there.emulated and config.CUDA == "auto" and sys.stderr is not None and sys.stderr.isatty():
        print(
            f"treadle: no GPU is used ({there.why}): kernels run on this machine's processors (TREADLE_CUDA=emu is silent about it)",
            file=sys.stderr,
        )


@functools.cache
def _attributes(number: int) -> dict[str, int]:
    return _dev_attributes(number)


def attributes(number: int | None = None) -> dict[str, int]:
    """All attributes of the device of that number, or of the current one."""
    ready()
    return _attributes(_dev_selected() if number is None else number)


def capability(number: int) -> tuple[int, int]:
    """The compute capability of the device of that number."""
    has = attributes(number)
    return has["COMPUTE_CAPABILITY_MAJOR"], has["COMPUTE_CAPABILITY_MINOR"]


def has_code(number: int) -> bool:
    """There is code for the device of that number."""
    return capability(number) >= PROCESSORS[0]


@functools.cache
def least_cc() -> tuple[int, int]:
    """The compute capability that all devices have which can be used: one text of a kernel runs on each of them."""
    ready()
    return min((capability(n) for n in range(found().count) if has_code(n)), default=PROCESSORS[0])


def is_available() -> bool:
    """Whether kernels can run: without a GPU on the emulated device, unless ``TREADLE_CUDA=gpu`` asks for one."""
    return found().count > 0


def cuda_error() -> CudaSupportError | None:
    """Why no kernel can run; None where they can."""
    return None if is_available() else CudaSupportError(found().why)


def is_emulated() -> bool:
    """Whether kernels run on the emulated device."""
    return is_available() and found().emulated


def driver_version() -> tuple[int, int]:
    """That of the CUDA driver, as the newest CUDA that it knows; (-1, -1) where there is none."""
    version = _dev_about(0)[2] if is_available() else 0
    return (version // 1000, version % 1000 // 10) if version else (-1, -1)


class _Pushed(threading.local):
    """The devices that were current on this thread before each `push`, the latest last."""

    def __init__(self) -> None:
        self.numbers: list[int] = []


_PUSHED = _Pushed()


def push(number: int) -> None:
    """Make the device of that number the current one of this thread."""
    ready()
    _PUSHED.numbers.append(_dev_selected())
    try:
        _dev_select(number)
    except BaseException:
        _PUSHED.numbers.pop()
        raise


def pop() -> None:
    """Make the one current again that was so before the last `push` of this thread."""
    if not _PUSHED.numbers:
        raise RuntimeError("no context was pushed on this thread")
    _dev_select(_PUSHED.numbers.pop())


@contextlib.contextmanager
def selected(number: int) -> Iterator[None]:
    """A ``with`` in which the device of that number is the current one of this thread."""
    push(number)
    try:
        yield
    finally:
        pop()
