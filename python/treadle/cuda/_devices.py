"""Devices and contexts. There is one device, the emulated one: this machine's processors, which keep the limits of a GPU of compute capability 9.0.

Every way to a device passes `ready`, which says once what kernels run on, or that there is nothing they could run on.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import os
import sys
from collections.abc import Iterator
from typing import Any, Callable, NamedTuple

from .. import config
from ._errors import CudaSupportError

__all__ = [
    "Context",
    "Device",
    "MemoryInfo",
    "attributes",
    "close",
    "cuda_error",
    "current_context",
    "defer_cleanup",
    "detect",
    "get_current_device",
    "gpus",
    "is_available",
    "is_emulated",
    "is_float16_supported",
    "is_supported_version",
    "list_devices",
    "profile_start",
    "profile_stop",
    "profiling",
    "ready",
    "require_context",
    "runtime",
    "select_device",
]

# Attributes that the device does not tell by itself, by the names of CUDA's driver (CUdevice_attribute) without their prefix: limits of compute capability 9.0 (CUDA C
# Programming Guide, tables of technical specifications), and what is so of processors. What has no counterpart (clock rates of memory, bus widths) is not there.
_ATTRIBUTES = {
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": 228 * 1024,
    "RESERVED_SHARED_MEMORY_PER_BLOCK": 1024,
    "MAX_REGISTERS_PER_BLOCK": 65536,
    "MAX_REGISTERS_PER_MULTIPROCESSOR": 65536,
    "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
    "MAX_BLOCKS_PER_MULTIPROCESSOR": 32,
    "SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO": 2,
    "KERNEL_EXEC_TIMEOUT": 0,
    "COMPUTE_MODE": 0,
    "TCC_DRIVER": 0,
    "PCI_BUS_ID": 0,
    "PCI_DEVICE_ID": 0,
    "PCI_DOMAIN_ID": 0,
}


_NO_GPU = "TREADLE_CUDA=gpu: Treadle does not run kernels on a GPU yet; TREADLE_CUDA=emu runs them on this machine's processors"


@functools.cache
def ready() -> None:
    """To be passed before a device is used for the first time.

    Raises
    ------
    CudaSupportError
        ``TREADLE_CUDA=gpu``, and there is none.
    """
    if config.CUDA == "gpu":
        raise CudaSupportError(_NO_GPU)
    if config.CUDA == "auto" and sys.stderr is not None and sys.stderr.isatty():
        print(
            "treadle: no GPU is used: kernels run on this machine's processors (TREADLE_CUDA=emu is silent about it)",
            file=sys.stderr,
        )


class MemoryInfo(NamedTuple):
    """Memory of a device, in bytes."""

    free: int
    total: int


class _Name(str):
    """A device's name. It is text; programs for releases in which it was bytes decode it."""

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The name."""
        return str(self)


@functools.cache
def attributes() -> dict[str, int]:
    """All attributes of the device."""
    from .._core import _dev_attributes

    names = ("SC_LEVEL3_CACHE_SIZE", "SC_LEVEL2_CACHE_SIZE")
    cache = max(os.sysconf(name) if name in os.sysconf_names else 0 for name in names)
    return {**_ATTRIBUTES, "L2_CACHE_SIZE": cache, **_dev_attributes()}


class Device:
    """A device. Its attributes in capitals are those of CUDA's driver; a `with` makes it the current one.

    Attributes
    ----------
    id : int
    name, uuid : str
    compute_capability : tuple of two ints
    """

    id = 0
    uuid = "GPU-00000000-0000-0000-0000-000000000000"
    compute_capability = COMPUTE_CAPABILITY = (9, 0)
    name = _Name("Treadle's emulated device")

    def __getattr__(self, name: str) -> int:
        if name in (known := attributes()):
            return known[name]
        raise AttributeError(f"the emulated device has no {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *attributes()})

    @property
    def supports_float16(self) -> bool:
        """Whether kernels compute with float16."""
        return is_float16_supported()

    def get_primary_context(self) -> Context:
        """The device's context."""
        return _CONTEXT

    def reset(self) -> None:
        """Wait for all that the device does. What arrays hold stays: their memory goes with the last reference."""
        _CONTEXT.reset()

    def __enter__(self) -> Device:
        ready()
        return self

    def __exit__(self, *exc: object) -> None:
        pass

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
        """Who has `deallocations`: the context."""
        return self

    @property
    def id(self) -> int:
        """The device's number."""
        return self.device.id

    def get_memory_info(self) -> MemoryInfo:
        """The memory of the device: as much as the machine has, or its container may use."""
        from .._core import _dev_memory

        return MemoryInfo(*_dev_memory())

    def memalloc(self, bytesize: int) -> Any:
        """Memory on the device, not initialised, which a `DeviceNDArray` can be made of (``gpu_data``)."""
        from ._array import MemoryPointer, allocate

        return MemoryPointer.of(allocate((bytesize,), "u1"))

    def synchronize(self) -> None:
        """Wait for all that was launched."""
        from ._stream import synchronize

        synchronize()

    def create_stream(self) -> Any:
        """A new stream."""
        from ._stream import stream

        return stream()

    def get_default_stream(self) -> Any:
        """The stream of what names none."""
        from ._stream import default_stream

        return default_stream()

    @contextlib.contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        """A `with` in which no memory that waits is freed; on the emulated device none waits."""
        yield

    def reset(self) -> None:
        """Wait for all that was launched."""
        self.synchronize()

    def push(self) -> None:
        """Make it the current one. There is one."""

    def pop(self) -> None:
        """Make the former one current again. There is one."""

    def __repr__(self) -> str:
        return f"<CUDA context of device {self.device.id}>"


class DeviceList:
    """The devices: a sequence, whose items can stand in a `with`.

    Attributes
    ----------
    lst : list of Device
    current : Device
    """

    @property
    def lst(self) -> list[Device]:
        """The devices, as a list."""
        ready()
        return [_DEVICE]

    @property
    def current(self) -> Device:
        """The device that is used where none is named."""
        return self.lst[0]

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


_DEVICE = Device()
_CONTEXT = Context(_DEVICE)
gpus = DeviceList()


def select_device(device_id: int) -> Device:
    """Make a device the current one of this thread, by its number.

    Raises
    ------
    IndexError
        There is none of that number.
    """
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
    return (gpus.current if devnum is None else select_device(devnum)).get_primary_context()


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


def is_available() -> bool:
    """Whether kernels can run: on the emulated device, always; not where ``TREADLE_CUDA=gpu`` asks for a GPU."""
    return config.CUDA != "gpu"


def cuda_error() -> CudaSupportError | None:
    """Why no kernel can run; None where they can."""
    return None if is_available() else CudaSupportError(_NO_GPU)


def is_emulated() -> bool:
    """Whether kernels run on the emulated device: wherever they run, in this release."""
    return is_available()


def is_float16_supported() -> bool:
    """Whether kernels compute with float16: where Treadle has the type."""
    from .. import types

    return "float16" in types.__all__


def detect() -> bool:
    """Print what devices there are; the result is whether there is one."""
    print(f"Found {len(gpus)} CUDA devices")
    for device in gpus:
        print(f"id {device.id}    {device.name:>20} {'[SUPPORTED]':>40}")
        for what, value in {
            "Compute Capability": "%d.%d" % device.compute_capability,
            "Multiprocessors": device.MULTIPROCESSOR_COUNT,
            "Memory": f"{device.get_primary_context().get_memory_info().total >> 20} MiB",
            "Emulated on": "this machine's processors",
        }.items():
            print(f"{what:>40}: {value}")
    print(f"Summary:\n\t{len(gpus)}/{len(gpus)} devices are supported")
    return len(gpus) > 0


class Runtime:
    """CUDA's runtime library, which the emulated device does without: its version is (-1, -1)."""

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
    """A `with` in which no memory that waits is freed; on the emulated device none waits."""
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
    """A `with` between `profile_start` and `profile_stop`."""
    profile_start()
    try:
        yield
    finally:
        profile_stop()
