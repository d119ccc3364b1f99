"""Devices and contexts as programs know them: `gpus`, `select_device`, `current_context` and their kin, above arrays, streams and kernels' definitions.

Which devices there are, and which one a thread uses, is `_devices.py`.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import sys
from collections.abc import Iterator
from typing import Any, Callable, NamedTuple

from .. import types
from .._core import _dev_about, _dev_befriend, _dev_memory, _dev_select, _dev_selected
from ._array import HOST, MANAGED, MemoryPointer, allocate
from ._devices import attributes, capability, driver_version, found, has_code, is_emulated, pop, push, ready
from ._errors import CudaSupportError
from ._inspect import definition_of
from ._stream import Stream, default_stream, stream, synchronize

__all__ = [
    "Context",
    "Device",
    "DeviceList",
    "MemoryInfo",
    "close",
    "current_context",
    "defer_cleanup",
    "detect",
    "get_current_device",
    "gpus",
    "is_float16_supported",
    "is_supported_version",
    "list_devices",
    "profile_start",
    "profile_stop",
    "profiling",
    "require_context",
    "runtime",
    "select_device",
]


class MemoryInfo(NamedTuple):
    """Memory of a device, in bytes.

    Attributes
    ----------
    free, total : int
    """

    free: int
    total: int


class _Name(str):
    """A device's name. It is text; programs for releases in which it was bytes decode it."""

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The name."""
        return str(self)


def _uuid(of: bytes) -> str:
    text = of.hex()
    return "GPU-" + "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


class Device:
    """A device. Its attributes in capitals are those of CUDA's driver; a ``with`` makes it the current one of the thread.

    Attributes
    ----------
    id : int
    name, uuid : str
    compute_capability : tuple of two ints
    """

    def __init__(self, number: int) -> None:
        self.id = number
        self._context = Context(self)

    @property
    def name(self) -> str:
        """What it is called."""
        return _Name(_dev_about(self.id)[0])

    @property
    def uuid(self) -> str:
        """What tells it from all others."""
        return _uuid(_dev_about(self.id)[1])

    @property
    def compute_capability(self) -> tuple[int, int]:
        """What its kernels may use: major and minor number."""
        return capability(self.id)

    COMPUTE_CAPABILITY = compute_capability

    def __getattr__(self, name: str) -> int:
        if not name.startswith("_") and name in (known := attributes(self.id)):
            return known[name]
        raise AttributeError(f"{self.name} has no {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *attributes(self.id)})

    @property
    def supports_float16(self) -> bool:
        """Whether kernels compute with float16."""
        return is_float16_supported()

    def get_primary_context(self) -> Context:
        """The device's context."""
        return self._context

    def reset(self) -> None:
        """Wait for all that the device does. What arrays hold stays: their memory goes with the last reference."""
        self._context.reset()

    def __enter__(self) -> Device:
        self._context.push()
        return self

    def __exit__(self, *exc: object) -> None:
        self._context.pop()

    def __repr__(self) -> str:
        return f"<CUDA device {self.id} {self.name!r}>"


class _Deallocations:
    """Memory that waits to be freed: none, as it is freed with an array's last reference."""

    is_empty = True

    def clear(self) -> None:
        """Free what waits."""

    def __len__(self) -> int:
        return 0


class Context:
    """What a process has on a device.

    Attributes
    ----------
    device : Device
    deallocations, trashing
        Memory that waits to be freed; ``clear()`` frees it. On the emulated device none ever waits.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.deallocations = self.trashing = _Deallocations()

    @property
    def memory_manager(self) -> Context:
        """Who has ``deallocations``: the context."""
        return self

    @property
    def id(self) -> int:
        """The device's number."""
        return self.device.id

    def get_memory_info(self) -> MemoryInfo:
        """The memory of the device; of the emulated one as much as the machine has, or its container may use."""
        with self.device:
            return MemoryInfo(*_dev_memory())

    def memalloc(self, bytesize: int) -> MemoryPointer:
        """Memory on the device, not initialised, which a `DeviceNDArray` can be made of (``gpu_data``)."""
        with self.device:
            return MemoryPointer.of(allocate((bytesize,), "u1"))

    def memhostalloc(
        self, bytesize: int, mapped: bool = False, portable: bool = False, wc: bool = False
    ) -> MemoryPointer:
        """Memory of the host that the device sees, not initialised; what else is said tells a driver how to see it."""
        with self.device:
            return MemoryPointer.of(allocate((bytesize,), "u1", place=HOST))

    def memallocmanaged(self, bytesize: int, attach_global: bool = True) -> MemoryPointer:
        """Memory that lies where it is used, not initialised."""
        with self.device:
            return MemoryPointer.of(allocate((bytesize,), "u1", place=MANAGED))

    def synchronize(self) -> None:
        """Wait for all that was launched."""
        synchronize()

    def create_stream(self) -> Stream:
        """A new stream."""
        with self.device:
            return stream()

    def get_default_stream(self) -> Stream:
        """The stream of what names none."""
        return default_stream()

    def get_active_blocks_per_multiprocessor(
        self, func: Any, blocksize: Any, memsize: int, flags: Any = None
    ) -> int:
        """How many blocks of ``blocksize`` threads and ``memsize`` bytes of dynamic shared memory a multiprocessor runs at the same time.

        ``func`` is a kernel of one signature, or one of its ``overloads``; ``flags`` are taken, and say nothing here.
        """
        return definition_of(func).active_blocks_per_multiprocessor(blocksize, memsize)

    def get_max_potential_block_size(
        self, func: Any, b2d_func: Any, memsize: int, blocksizelimit: int, flags: Any = None
    ) -> tuple[int, int]:
        """A grid and a block, in (blocks, threads), with which the device is fullest.

        ``b2d_func`` says the bytes of dynamic shared memory for a number of threads; 0 or None: they are ``memsize``.
        """
        return definition_of(func).max_potential_block_size(b2d_func or memsize, blocksizelimit)

    @contextlib.contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        """A ``with`` in which no memory that waits is freed; on the emulated device none waits."""
        yield

    def reset(self) -> None:
        """Wait for all that was launched; what was linked to kernels with callbacks has its end (`treadle.cuda.LinkableCode`)."""
        self.synchronize()
        link = sys.modules.get(f"{__package__}._link")
        if link:
            link.end_all()

    def can_access_peer(self, peer_context: Context | int) -> bool:
        """Whether kernels on this device can use the memory of another one (a context, or a device's number), when `enable_peer_access` has been called."""
        return _dev_befriend(self.device.id, _context_of(peer_context).device.id, True)

    def enable_peer_access(self, peer_context: Context | int, flags: int = 0) -> None:
        """From now on kernels on this device may use the memory of another one (a context, or a device's number).

        Raises
        ------
        ValueError
            ``flags`` is not 0.
        CudaSupportError
            The one cannot reach the other.
        """
        if flags != 0:
            raise ValueError(f"flags of peer access are 0, not {flags!r}")
        of = _context_of(peer_context).device
        if not _dev_befriend(self.device.id, of.id, False):
            raise CudaSupportError(f"device {self.device.id} cannot use the memory of device {of.id}")

    def push(self) -> None:
        """Make it the current one of this thread."""
        push(self.device.id)

    def pop(self) -> None:
        """Make the one current again that was so before the last `push` of this thread."""
        pop()

    def __repr__(self) -> str:
        return f"<CUDA context of device {self.device.id}>"


def _context_of(given: Any) -> Context:
    if isinstance(given, int) and not isinstance(given, bool):
        return _numbered(given).get_primary_context()
    if not isinstance(given, Context):
        raise TypeError(f"a context is what cuda.current_context() gives, and {given!r} is none")
    return given


class DeviceList:
    """The devices: a sequence, whose items can stand in a ``with``.

    Attributes
    ----------
    lst : list of Device
    current : Device
    """

    @property
    def lst(self) -> list[Device]:
        """The devices, as a list."""
        ready()
        return list(_all())

    @property
    def current(self) -> Device:
        """The device that this thread uses where none is named."""
        ready()
        return _all()[_dev_selected()]

    def __getitem__(self, number: int) -> Device:
        devices = self.lst
        try:
            return devices[number]
        except IndexError:
            raise IndexError(f"there is no device {number}: {len(devices)} in all, numbered from 0") from None

    def __iter__(self) -> Iterator[Device]:
        return iter(self.lst)

    def __len__(self) -> int:
        return len(self.lst)

    def __str__(self) -> str:
        return ", ".join(map(str, self.lst))

    def __repr__(self) -> str:
        return f"<devices: {self}>"


@functools.cache
def _all() -> tuple[Device, ...]:
    return tuple(map(Device, range(found().count)))


gpus = DeviceList()


def select_device(device_id: int) -> Device:
    """Make a device the current one of this thread, by its number.

    Raises
    ------
    IndexError
        There is none of that number.
    RuntimeError
        It cannot be used.
    """
    device = _numbered(device_id)
    _dev_select(device.id)
    return device


def _numbered(device_id: int) -> Device:
    device_id = operator.index(device_id)
    if device_id < 0:
        raise IndexError(f"there is no device {device_id}: they are numbered from 0")
    return gpus[device_id]


def list_devices() -> DeviceList:
    """All devices, as `gpus`."""
    return gpus


def get_current_device() -> Device:
    """The device that is used where none is named."""
    return gpus.current


def current_context(devnum: int | None = None) -> Context:
    """The context of the current device, or of the one of that number."""
    return (gpus.current if devnum is None else _numbered(devnum)).get_primary_context()


def require_context(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator: the function is called when there is a device."""

    @functools.wraps(fn)
    def called(*args: Any, **kwargs: Any) -> Any:
        ready()
        return fn(*args, **kwargs)

    return called


def close() -> None:
    """Wait for all that was launched, and leave the device. It can be used again; arrays keep their memory as long as they are referred to."""
    current_context().synchronize()


def is_float16_supported() -> bool:
    """Whether kernels compute with float16: where Treadle has the type."""
    return "float16" in types.__all__


def detect() -> bool:
    """Print what devices there are; the result is whether there is one."""
    print(f"Found {len(gpus)} CUDA devices")
    supported = 0
    for device in gpus:
        known = has_code(device.id)
        supported += known
        print(f"id {device.id}    {device.name:>20} {'[SUPPORTED]' if known else '[NOT SUPPORTED]':>40}")
        facts = {
            "Compute Capability": "%d.%d" % device.compute_capability,
            "Multiprocessors": device.MULTIPROCESSOR_COUNT,
        }
        if known:
            facts["Memory"] = f"{device.get_primary_context().get_memory_info().total >> 20} MiB"
        if is_emulated():
            facts["Emulated on"] = "this machine's processors"
        else:
            facts["Driver's CUDA"] = "%d.%d" % driver_version()
        for what, value in facts.items():
            print(f"{what:>40}: {value}")
    print(f"Summary:\n\t{supported}/{len(gpus)} devices are supported")
    return supported > 0


class Runtime:
    """CUDA's runtime library, which Treadle does without: its version is (-1, -1)."""

    def get_version(self) -> tuple[int, int]:
        """(-1, -1): there is none."""
        return (-1, -1)

    def is_supported_version(self) -> bool:
        """Whether kernels run with this version: yes, without one."""
        return True

    @property
    def supported_versions(self) -> tuple[tuple[int, int], ...]:
        """The versions that kernels run with: that of none."""
        return ((-1, -1),)


runtime = Runtime()


def is_supported_version() -> bool:
    """Whether kernels run with CUDA's runtime library as it is here: none is needed."""
    return runtime.is_supported_version()


@contextlib.contextmanager
def defer_cleanup() -> Iterator[None]:
    """A ``with`` in which no memory that waits is freed; on the emulated device none waits."""
    with current_context().defer_cleanup():
        yield


def profile_start() -> None:
    """Tell a profiler of GPUs to begin. None sees the emulated device; a profiler of processes does."""
    ready()


def profile_stop() -> None:
    """Tell a profiler of GPUs to end."""
    ready()


@contextlib.contextmanager
def profiling() -> Iterator[None]:
    """A ``with`` between `profile_start` and `profile_stop`."""
    profile_start()
    try:
        yield
    finally:
        profile_stop()
