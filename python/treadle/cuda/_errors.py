"""What goes wrong with devices, under the names that programs catch it by."""

from __future__ import annotations

__all__ = [
    "CudaAPIError",
    "CudaDriverError",
    "CudaRuntimeError",
    "CudaSupportError",
    "DeviceMemoryError",
    "LaunchSizeError",
    "LibraryError",
    "LinkerError",
    "MissingFile",
]


class CudaSupportError(ImportError):
    """There is no device of the kind that was asked for."""


class CudaDriverError(Exception):
    """Something that a device did not do."""


class CudaRuntimeError(Exception):
    """What CUDA's runtime library reports: nothing, on the emulated device."""


class CudaAPIError(CudaDriverError):
    """A failure that has a number: ``code``, as CUDA's driver has it, and ``msg``."""

    def __init__(self, code: int, msg: str) -> None:
        super().__init__(code, msg)
        self.code = code
        self.msg = msg

    def __str__(self) -> str:
        return f"[{self.code}] {self.msg}"


class DeviceMemoryError(CudaAPIError, MemoryError):
    """The device has no room for an array. Its code is 2, CUDA_ERROR_OUT_OF_MEMORY."""

    def __init__(self, nbytes: int) -> None:
        super().__init__(2, f"CUDA_ERROR_OUT_OF_MEMORY: no room for {nbytes} bytes on the device")


class LaunchSizeError(CudaAPIError, ValueError):
    """A grid, a block or its shared memory is of a size that the device does not take. Its code is 1, CUDA_ERROR_INVALID_VALUE."""

    def __init__(self, why: str) -> None:
        super().__init__(1, f"CUDA_ERROR_INVALID_VALUE: {why}")


class LibraryError(CudaAPIError):
    """A call that one of CUDA's libraries did not do.

    Attributes
    ----------
    library : str
        Which library: ``"cuFFT"``.
    code : int
        Its status, as the library's reference has it.
    name : str
        What the library calls that: ``"CUFFT_EXEC_FAILED"``.
    """

    def __init__(self, library: str, code: int, name: str, what: str) -> None:
        super().__init__(code, f"{library}: {what}: {name}")
        self.args = library, code, name, what
        self.library = library
        self.name = name


class LinkerError(RuntimeError):
    """Something cannot be linked to a kernel."""


class MissingFile(LinkerError, FileNotFoundError):
    """A file that was to be linked is not there."""
