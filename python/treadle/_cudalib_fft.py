"""``binding`` of the old Fourier transforms: plans by cuFFT's numbers, on treadle.cuda.fft."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from .cuda import fft
from .cuda.libs import LibraryError as CuFFTError

_R, _C, _D, _Z = np.dtype("f4"), np.dtype("c8"), np.dtype("f8"), np.dtype("c16")
_KINDS = {
    "CUFFT_R2C": (0x2A, _R, _C),
    "CUFFT_C2R": (0x2C, _C, _R),
    "CUFFT_C2C": (0x29, _C, _C),
    "CUFFT_D2Z": (0x6A, _D, _Z),
    "CUFFT_Z2D": (0x6C, _Z, _D),
    "CUFFT_Z2Z": (0x69, _Z, _Z),
}
_TYPES = {number: (i, o) for number, i, o in _KINDS.values()}
_TO_REAL = (0x2C, 0x6C)
_MODES = ("NATIVE", "FFTW_PADDING", "FFTW_ASYMMETRIC", "FFTW_ALL")
_NUMBERS = {
    "CUFFT_FORWARD": -1,
    "CUFFT_INVERSE": 1,
    **{name: number for name, (number, _, _) in _KINDS.items()},
    **{f"CUFFT_COMPATIBILITY_{name}": k for k, name in enumerate(_MODES)},
    "CUFFT_COMPATIBILITY_DEFAULT": 1,
}
globals().update(_NUMBERS)
# The version of cuFFT whose names and layouts there are.
_VERSION = 12000

__all__ = ["CuFFTError", "Plan", "libcufft", *_NUMBERS]  # noqa: PLE0604


class Plan:
    """A plan by cuFFT's numbers: ``one``, ``two``, ``three`` or ``many`` make it.

    ``forward`` and ``inverse`` transform from one array of the device to another, or in place.
    """

    def __init__(self, dtype: int, shape: tuple[int, ...], batch: int = 1) -> None:
        if dtype not in _TYPES:
            raise ValueError(f"{dtype!r} is none of cuFFT's kinds: CUFFT_C2C, CUFFT_R2C, ...")
        i, o = _TYPES[dtype]
        if dtype in _TO_REAL:  # cuFFT gives the sizes of the real array
            shape = (*shape[:-1], shape[-1] // 2 + 1)
        self._plan = fft.FFTPlan(shape, i, o, batch)

    @classmethod
    def one(cls, dtype: int, nx: int) -> Plan:
        """Along one axis."""
        return cls(dtype, (nx,))

    @classmethod
    def two(cls, dtype: int, nx: int, ny: int) -> Plan:
        """Along two axes."""
        return cls(dtype, (nx, ny))

    @classmethod
    def three(cls, dtype: int, nx: int, ny: int, nz: int) -> Plan:
        """Along three axes."""
        return cls(dtype, (nx, ny, nz))

    @classmethod
    def many(cls, shape: tuple[int, ...], dtype: int, batch: int = 1) -> Plan:
        """Of ``batch`` arrays of that shape."""
        return cls(dtype, tuple(shape), batch)

    def set_stream(self, stream: Any) -> None:
        """The stream of what comes."""
        self._plan.stream = stream

    def set_compatibility_mode(self, mode: int) -> None:
        """Taken and not looked at: layouts have no gaps."""

    def set_native_mode(self) -> None:
        """As set_compatibility_mode."""

    set_fftw_padding_mode = set_fftw_asymmetric_mode = set_fftw_all_mode = set_native_mode

    def exe(self, idata: Any, odata: Any, dir: int) -> Any:
        """Forward for ``CUFFT_FORWARD``, else back."""
        return (self.forward if dir == _NUMBERS["CUFFT_FORWARD"] else self.inverse)(idata, odata)

    def forward(self, idata: Any, odata: Any) -> Any:
        """``odata`` becomes the transform of ``idata``."""
        if self._plan.direction == "inverse":  # its kind says which way, whatever is called
            return self._plan.inverse(idata, odata)
        return self._plan.forward(idata, odata)

    def inverse(self, idata: Any, odata: Any) -> Any:
        """``odata`` becomes what ``idata`` is the transform of, times the number of items."""
        if self._plan.direction == "forward":
            return self._plan.forward(idata, odata)
        return self._plan.inverse(idata, odata)


def libcufft() -> Any:
    """The library, of which programs ask the version; the emulated device has none, and they ask whether it is 0."""
    return SimpleNamespace(version=fft.version() or _VERSION)
