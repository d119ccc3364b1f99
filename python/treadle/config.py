"""Settings, read from the environment when this module is first imported.

Attributes
----------
DISABLE_JIT : bool
    ``TREADLE_DISABLE_JIT``: ``jit`` returns the function as it is, and ufuncs call theirs.
BOUNDSCHECK : bool
    ``TREADLE_BOUNDSCHECK`` (default 1): what ``boundscheck=None`` means.
PROMOTION : str
    ``TREADLE_PROMOTION`` (``"treadle"`` or ``"numba"``): what ``promotion=None`` means.
OPT_LEVEL : int
    ``TREADLE_OPT_LEVEL``: 0 quick code, 2 Treadle's own pipeline (default), 3 LLVM's default one.
CPU : int
    ``TREADLE_CPU``: number of the processor to make code for, 0 for ``"native"``, this machine (default). A wrong name's error
    lists the others. Code for one that has more than this machine can be inspected, not run.
CLANG : str
    ``TREADLE_CLANG``: the command of the clang that compiles CUDA C for kernels to link; ``none``: none does; else one is looked for.
CUDA : str
    ``TREADLE_CUDA``: what kernels run on. ``"auto"``: a GPU if there is one, else the emulated device (default); ``"gpu"``; ``"emu"``.
CUDA_DRIVER : str
    ``TREADLE_CUDA_DRIVER``: the file of CUDA's driver library, ``libcuda.so.1`` where the system has it by default.
CUDA_LIBS : str
    ``TREADLE_CUDA_LIBS``: where CUDA's libraries lie, before all other places: folders, or files, with colons between.
CUDA_WARN : str
    ``TREADLE_CUDA_WARN``: what `treadle.errors.PerformanceWarning` is given for, ``"grid"`` (tiny ones), ``"copy"`` (of arrays of the host), ``"1"`` (both), ``"0"``, or ``"auto"`` (default): both where there is a GPU.
EMU_SEED : int
    ``TREADLE_EMU_SEED``: 0, or how the blocks and threads of launches are permuted, where no mistakes are looked for
EMU_CHECK : int
    ``TREADLE_EMU_CHECK``: which mistakes of kernels are looked for while they run, some of ``bounds``, ``race``, ``uninit`` and ``barrier`` with commas
    between, or ``all``; as a number, a bit for each. What ``cuda.jit`` makes from then on is compiled for it.
PARALLEL_CHECK : bool
    ``TREADLE_PARALLEL_CHECK``: whether arrays that graphs of lazy arrays are made of are looked at for changes before
    these are evaluated, and functions that ``reduce`` and ``scan`` are given for being associative.
PLANT : int
    ``TREADLE_PLANT``: which planted fault is on; only builds made to test the tests have any.

``TREADLE_NUM_THREADS`` (the size of the thread pool; see ``treadle.get_num_threads``), ``TREADLE_DUMP``, ``TREADLE_SKIP``, ``TREADLE_VERIFY`` and ``TREADLE_CACHE_DIR`` are read by the compiler itself.
"""

from __future__ import annotations

import os

from ._core import _CPUS

__all__ = [
    "BOUNDSCHECK",
    "CLANG",
    "CPU",
    "CUDA",
    "CUDA_DRIVER",
    "CUDA_LIBS",
    "CUDA_WARN",
    "DISABLE_JIT",
    "EMU_CHECK",
    "EMU_SEED",
    "OPT_LEVEL",
    "PARALLEL_CHECK",
    "PLANT",
    "PROMOTION",
]

# As TR_WATCHES in src/base/opts.h.
_CHECKS = {"bounds": 1, "race": 2, "uninit": 4, "barrier": 8}
_CHECK_EXIT = 16
_ALL_CHECKS = sum(_CHECKS.values()) | _CHECK_EXIT


def _number(name: str, default: int, allowed: range | tuple[int, ...]) -> int:
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value not in allowed:
        raise ValueError(f"{name}={text!r}: must be one of {', '.join(map(str, allowed))}")
    return value


def _whole(name: str, most: int) -> int:
    text = os.environ.get(name, "").strip()
    if text and not (text.isdecimal() and int(text) <= most):
        raise ValueError(f"{name}={text!r}: must be a number from 0 to {most}")
    return int(text or 0)


def _choice(name: str, default: str, allowed: tuple[str, ...]) -> str:
    text = os.environ.get(name, "").strip() or default
    if text not in allowed:
        raise ValueError(f"{name}={text!r}: must be one of {', '.join(allowed)}")
    return text


def _checks(name: str) -> int:
    bits = 0
    for word in filter(None, map(str.strip, os.environ.get(name, "").split(","))):
        if word != "all" and word not in _CHECKS:
            raise ValueError(f"{name}={os.environ[name]!r}: must be some of {', '.join(_CHECKS)}, or all")
        bits |= _ALL_CHECKS if word == "all" else _CHECKS[word]
    return bits


DISABLE_JIT: bool = bool(_number("TREADLE_DISABLE_JIT", 0, (0, 1)))
BOUNDSCHECK: bool = bool(_number("TREADLE_BOUNDSCHECK", 1, (0, 1)))
PROMOTION: str = _choice("TREADLE_PROMOTION", "treadle", ("treadle", "numba"))
OPT_LEVEL: int = _number("TREADLE_OPT_LEVEL", 2, (0, 2, 3))
CPU: int = _CPUS.index(_choice("TREADLE_CPU", "native", _CPUS))
CLANG: str = os.environ.get("TREADLE_CLANG", "").strip()
CUDA: str = _choice("TREADLE_CUDA", "auto", ("auto", "gpu", "emu"))
CUDA_DRIVER: str = os.environ.get("TREADLE_CUDA_DRIVER", "").strip()
CUDA_LIBS: str = os.environ.get("TREADLE_CUDA_LIBS", "").strip()
CUDA_WARN: str = _choice("TREADLE_CUDA_WARN", "auto", ("auto", "0", "1", "grid", "copy"))
EMU_CHECK: int = _checks("TREADLE_EMU_CHECK")
EMU_SEED: int = _whole("TREADLE_EMU_SEED", 2**32 - 1)
PARALLEL_CHECK: bool = bool(_number("TREADLE_PARALLEL_CHECK", 0, (0, 1)))
PLANT: int = _number("TREADLE_PLANT", 0, range(0, 33))
