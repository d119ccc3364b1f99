"""Kernels on the driver that is none (tests/fake): their PTX is interpreted. ctypes over the driver's own functions; arguments are packed here."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import treadle
from built import DRIVER, NO_DRIVER
from treadle.cuda import _compile

RECORD = 256  # bytes, and more than an exception's record has
NAMES = {218: "invalid PTX", 700: "illegal address", 702: "timeout", 715: "illegal instruction"} | {
    716: "misaligned address",
    719: "launch failed",
}


class Failed(Exception):
    """A status of the driver's that is not 0."""

    def __init__(self, status: int, what: str, said: str = "") -> None:
        super().__init__(f"{what}: {NAMES.get(status, status)} {said}".strip())
        self.status, self.said = status, said


class Driver:
    """The fake's device: memory, modules, launches."""

    def __init__(self, library: Path | None = DRIVER) -> None:
        if library is None:
            pytest.skip(NO_DRIVER)
        self.lib = ctypes.CDLL(str(library))
        self.call("cuInit", 0)

    def call(self, name: str, *args: Any) -> None:
        status = getattr(self.lib, name)(*args)
        if status:
            raise Failed(status, name)

    def reset(self) -> None:
        """A failed launch ends everything; this begins anew."""
        self.lib.fake_reset()

    def new(self, nbytes: int) -> int:
        at = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(max(nbytes, 1)))
        return at.value

    def free(self, at: int) -> None:
        self.call("cuMemFree_v2", ctypes.c_uint64(at))

    def put(self, at: int, data: bytes) -> None:
        held = ctypes.create_string_buffer(data, len(data))
        self._copy(at, ctypes.addressof(held), len(data))

    def get(self, at: int, nbytes: int) -> bytes:
        held = ctypes.create_string_buffer(nbytes)
        self._copy(ctypes.addressof(held), at, nbytes)
        return held.raw

    def _copy(self, to: int, origin: int, nbytes: int) -> None:
        if nbytes:
            self.call(
                "cuMemcpyAsync",
                ctypes.c_uint64(to),
                ctypes.c_uint64(origin),
                ctypes.c_size_t(nbytes),
                None,
            )

    def load(self, ptx: str) -> ctypes.c_void_p:
        """A module; what is wrong with the text is told as ``Failed.said``."""
        module, log = ctypes.c_void_p(), ctypes.create_string_buffer(500)
        options, values = (ctypes.c_int * 2)(5, 6), (ctypes.c_void_p * 2)(ctypes.addressof(log), 500)
        status = self.lib.cuModuleLoadDataEx(ctypes.byref(module), ptx.encode(), 2, options, values)
        if status:
            raise Failed(status, "cuModuleLoadDataEx", log.value.decode())
        return module

    def function(self, module: ctypes.c_void_p, name: str) -> ctypes.c_void_p:
        found = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(found), module, name.encode())
        return found

    def launch(
        self,
        function: ctypes.c_void_p,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        params: bytes,
        shared: int = 0,
    ) -> None:
        size, held = ctypes.c_size_t(len(params)), ctypes.create_string_buffer(params, len(params))
        extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(held), 2, ctypes.addressof(size), None)
        self.call("cuLaunchKernel", function, *grid, *block, shared, None, None, extra)


def _three(n: Any) -> tuple[int, int, int]:
    items = tuple(n) if isinstance(n, (tuple, list)) else (n,)
    return (*items, *(1,) * (3 - len(items)))  # type: ignore[return-value]


def _bounds(x: np.ndarray) -> tuple[int, int]:
    """Where an array begins and ends."""
    lo = hi = x.ctypes.data
    if x.size:
        lo += sum((n - 1) * s for n, s in zip(x.shape, x.strides) if s < 0)
        hi += sum((n - 1) * s for n, s in zip(x.shape, x.strides) if s > 0) + x.itemsize
    return lo, hi


class _Arguments:
    """Arguments of a launch: arrays get memory of the device's, all of them parts as the compiler counts them."""

    def __init__(self, driver: Driver, args: tuple[Any, ...]) -> None:
        self.driver = driver
        self.arrays: list[tuple[Any, int, np.ndarray]] = []
        self.parts = [self.parts_of(a) for a in args]

    def parts_of(self, x: Any) -> list[Any]:
        if isinstance(x, tuple):
            return [p for item in x for p in self.parts_of(item)]
        if isinstance(x, np.ndarray):
            strides = [] if treadle.typeof(x).layout in "CF" else [s // x.itemsize for s in x.strides]
            return [0, self.place(x), *x.shape, *strides]
        if isinstance(x, (complex, np.complexfloating)):
            part = np.float32 if isinstance(x, np.complex64) else np.float64
            return [part(x.real), part(x.imag)]
        return [x]

    def place(self, x: np.ndarray) -> int:
        """The array as it lies, with what is between its items; once, if it is given twice (arrays that overlap otherwise are taken apart)."""
        lo, hi = _bounds(x)
        for y, at, _ in self.arrays:
            if _bounds(y) == (lo, hi):
                return at + (x.ctypes.data - lo)
        whole = np.ctypeslib.as_array((ctypes.c_uint8 * (hi - lo)).from_address(lo)) if hi > lo else None
        held = whole.tobytes() if whole is not None else b""
        at = self.driver.new(len(held))
        self.driver.put(at, held)
        if whole is not None:
            self.arrays.append((x, at, whole))
        return at + (x.ctypes.data - lo)

    def packed(self, layout: list[tuple[int, int, int, int]], record: int) -> bytes:
        out = bytearray(max(at + size for _, _, size, at in layout))
        for arg, part, size, at in layout:
            v = record if arg < 0 else self.parts[arg][part]
            if isinstance(v, np.generic):
                raw = v.tobytes()
            elif isinstance(v, float):
                raw = np.float64(v).tobytes()
            else:
                raw = (int(v) & (1 << 64) - 1).to_bytes(8, "little")
            out[at : at + size] = raw[:size]
        return bytes(out)

    def read(self) -> None:
        for x, at, whole in self.arrays:
            if x.flags.writeable:
                whole[:] = np.frombuffer(self.driver.get(at, whole.size), np.uint8)


def run(
    driver: Driver,
    kernel: Any,
    grid: Any,
    block: Any,
    args: tuple[Any, ...],
    shared: int = 0,
    cc: Any = (8, 0),
) -> int:
    """Run a kernel's PTX on NumPy arrays, which are worked on in place, and scalars.

    Returns
    -------
    int
        The number of what a thread raised; 0: none did.
    """
    sig = tuple(treadle.typeof(a) for a in args)
    text = _compile.text_of(kernel._kernel, sig, "ptx", True, _compile.device_flags(kernel.targetoptions), cc)
    module = driver.load(text.text)
    name = text.text.split(".visible .entry ")[1].split("(")[0].strip()
    placed = _Arguments(driver, args)
    record = driver.new(RECORD)
    driver.put(record, bytes(RECORD))
    try:
        driver.launch(
            driver.function(module, name),
            _three(grid),
            _three(block),
            placed.packed(text.params, record),
            shared,
        )
        placed.read()
        return int.from_bytes(driver.get(record, 4), "little")
    finally:
        driver.reset()
        for at in (record, *(at for _, at, _ in placed.arrays)):
            driver.free(at)
        driver.call("cuModuleUnload", module)
