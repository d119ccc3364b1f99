"""The C side of the run-time cases: builds kernels.c, elementwise.c and tables.cc and calls them by ctypes.

kernels.c is built twice: as `-O3 -march=native` says (clang then contracts a*b+c inside an
expression to one FMA), and with contraction off, which is the arithmetic that
Python, NumPy and Treadle promise.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
FLAGS = ["-O3", "-march=native", "-shared", "-fPIC", "-fvisibility=hidden"]
STANDARD = {".c": "-std=gnu11", ".cc": "-std=gnu++17"}
VARIANTS = {"c": [], "c-strict": ["-ffp-contract=off"]}
ELEMENTWISE = {"elementwise": ["-lpthread", "-ldl"]}
ABSEIL = "absl/container/flat_hash_map.h"
TABLES = {
    "tables": [
        *(
            f"-labsl_{name}"
            for name in ("raw_hash_set", "hash", "city", "low_level_hash", "hashtablez_sampler")
        ),
        "-lstdc++",
    ]
}
EMULATED: dict[str, list[str]] = {"emulated": []}
COMPILERS = ("clang-19", "/usr/lib/llvm-19/bin/clang", "gcc", "clang", "cc")


class Cell(ctypes.Union):
    """One argument of a C kernel (`cell` in cells.h)."""

    _fields_ = [
        ("p", ctypes.c_void_p),
        ("i", ctypes.c_int64),
        ("d", ctypes.c_double),
        ("f", ctypes.c_float),
    ]


def compiler() -> str | None:
    """The first C compiler found, clang 19 first; `BENCH_CC` overrides."""
    wanted = os.environ.get("BENCH_CC")
    for name in [wanted] if wanted else COMPILERS:
        found = shutil.which(name)
        if found:
            return found
    return None


def version(cc: str) -> str:
    """The compiler's first line about itself."""
    return subprocess.run([cc, "--version"], check=True, capture_output=True, text=True).stdout.splitlines()[
        0
    ]


def has_header(cc: str, name: str) -> bool:
    """Whether a compiler finds a header of C++."""
    command = [cc, "-x", "c++", STANDARD[".cc"], "-fsyntax-only", "-"]
    return (
        subprocess.run(command, input=f"#include <{name}>\n", text=True, capture_output=True).returncode == 0
    )


def build(
    cc: str, folder: Path, source: str = "kernels.c", variants: dict[str, list[str]] = VARIANTS
) -> dict[str, Path]:
    """Compile a source in each of its variants (name to extra options); unchanged builds are kept.

    Returns
    -------
    dict
        Variant name to the path of its shared library.
    """
    folder.mkdir(exist_ok=True)
    path = HERE / source
    text = path.read_bytes() + (HERE / "cells.h").read_bytes()
    out: dict[str, Path] = {}
    for name, extra in variants.items():
        command = [cc, *FLAGS, STANDARD[path.suffix], str(path), *extra, "-lm"]
        stamp = hashlib.sha256(text + "\0".join([version(cc), *command]).encode()).hexdigest()[:16]
        library = folder / f"{name}-{stamp}.so"
        if not library.exists():
            partial = library.with_suffix(f".{os.getpid()}")
            subprocess.run([*command, "-o", str(partial)], check=True)
            partial.rename(library)
        out[name] = library
    return out


def cells(args: tuple[Any, ...]) -> ctypes.Array[Cell]:
    """Lay Python arguments out as cells.h says."""
    flat: list[Cell] = []
    for value in args:
        if isinstance(value, np.ndarray):
            flat.append(Cell(p=value.ctypes.data))
            flat.extend(Cell(i=n) for n in value.shape)
            if not value.flags.c_contiguous:
                flat.extend(Cell(i=s // value.itemsize) for s in value.strides)
        elif isinstance(value, np.float32):
            flat.append(Cell(f=float(value)))
        elif isinstance(value, float):
            flat.append(Cell(d=value))
        elif isinstance(value, int):
            flat.append(Cell(i=value))
        else:
            raise TypeError(f"no C cell for {type(value).__name__}")
    return (Cell * len(flat))(*flat)


class Kernel:
    """One C kernel bound to its arguments.

    Parameters
    ----------
    library : Path
        A library from `build`.
    name : str
        The case's name.
    args : tuple
        Its arguments; arrays are shared, not copied, and kept alive here.
    result : type or None
        int, float or None: how to read the returned cell.
    wall : bool
        Measure what passes, not the calling thread's CPU time.
    """

    def __init__(
        self, library: Path, name: str, args: tuple[Any, ...], result: type | None, wall: bool = False
    ) -> None:
        lib = ctypes.CDLL(str(library))
        self._time: Callable[..., float] = lib.bench_wall if wall else lib.bench_time
        self._time.restype = ctypes.c_double
        self._time.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
        self._run = ctypes.cast(getattr(lib, f"k_{name}"), ctypes.c_void_p)
        self._args = args
        self._cells = cells(args)
        self._out = Cell()
        self._result = result

    def time(self, reps: int) -> float:
        """Seconds for `reps` runs, timed inside C."""
        return self._time(self._run, ctypes.addressof(self._cells), ctypes.addressof(self._out), reps)

    def __call__(self) -> Any:
        """Run once and return the kernel's value."""
        self.time(1)
        if self._result is int:
            return int(self._out.i)
        if self._result is float:
            return float(self._out.d)
        return None
