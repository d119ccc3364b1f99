"""libcurand's generators of the host, which need no GPU, where that library is: what `treadle.cuda.rand` is held to, in tests and benchmarks.

It is looked for where ``TREADLE_CURAND`` says, in an installed ``nvidia-curand``, and in a CUDA toolkit.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
from pathlib import Path

import numpy as np

__all__ = ["Host", "library"]

# The kinds of what is drawn: C's function, items, what follows the number of them.
_KINDS = {
    "bits": ("curandGenerate", np.uint32, ()),
    "wide": ("curandGenerateLongLong", np.uint64, ()),
    "unit32": ("curandGenerateUniform", np.float32, ()),
    "unit64": ("curandGenerateUniformDouble", np.float64, ()),
    "normal32": ("curandGenerateNormal", np.float32, (ctypes.c_float, ctypes.c_float)),
    "normal64": ("curandGenerateNormalDouble", np.float64, (ctypes.c_double, ctypes.c_double)),
    "lognormal32": ("curandGenerateLogNormal", np.float32, (ctypes.c_float, ctypes.c_float)),
    "lognormal64": ("curandGenerateLogNormalDouble", np.float64, (ctypes.c_double, ctypes.c_double)),
}


def _places() -> list[Path]:
    if named := os.environ.get("TREADLE_CURAND"):
        return [Path(named)]
    try:
        wheel = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        wheel = None
    found = [
        p
        for at in (wheel.submodule_search_locations or () if wheel else ())
        for p in Path(at).glob("*/lib/libcurand.so*")
    ]
    toolkit = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    return [*found, *sorted((toolkit / "lib64").glob("libcurand.so*"))]


@functools.cache
def library() -> ctypes.CDLL | None:
    """The library, or None."""
    for path in _places():
        try:
            return ctypes.CDLL(str(path))
        except OSError:
            continue
    return None


class Host:
    """One of its generators, in the order that is its default: of MRG32K3A that is another one than the order called LEGACY."""

    def __init__(
        self, rndtype: int, seed: int | None = None, offset: int = 0, ndim: int | None = None
    ) -> None:
        found = library()
        if found is None:
            import pytest

            pytest.skip("libcurand is not here: pip install nvidia-curand, or TREADLE_CURAND names it")
        self._lib = found
        self._handle = ctypes.c_void_p()
        self._ask("curandCreateGeneratorHost", ctypes.byref(self._handle), rndtype, of=False)
        if seed is not None:
            self._ask("curandSetPseudoRandomGeneratorSeed", ctypes.c_ulonglong(seed))
        if ndim is not None:
            self._ask("curandSetQuasiRandomGeneratorDimensions", ctypes.c_uint(ndim))
        if offset:  # MT19937 refuses any
            self._ask("curandSetGeneratorOffset", ctypes.c_ulonglong(offset))

    def _ask(self, name: str, *args: object, of: bool = True) -> None:
        status = getattr(self._lib, name)(*((self._handle,) if of else ()), *args)
        assert status == 0, f"{name}: status {status}"

    def draw(self, kind: str, n: int, *args: float) -> np.ndarray:
        """The next n items."""
        name, dtype, more = _KINDS[kind]
        out = np.empty(n, dtype)
        self._ask(
            name, ctypes.c_void_p(out.ctypes.data), ctypes.c_size_t(n), *(t(x) for t, x in zip(more, args))
        )
        return out

    def fill(self, kind: str, out: np.ndarray, *args: float) -> None:
        """The next items, into an array."""
        name, dtype, more = _KINDS[kind]
        assert out.dtype == dtype
        self._ask(
            name,
            ctypes.c_void_p(out.ctypes.data),
            ctypes.c_size_t(out.size),
            *(t(x) for t, x in zip(more, args)),
        )

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._lib.curandDestroyGenerator(self._handle)
