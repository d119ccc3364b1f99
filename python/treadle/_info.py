"""``python -m treadle info``: what a report of a fault has to say of the place where it happened.

Nothing here may fail: what cannot be told is a line that says why, since broken places are what reports are about.
"""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path
from typing import Callable

__all__ = ["facts", "show"]

# Settings that the compiler itself reads; the others are those of treadle.config.
_CORES = ("BLAS", "CACHE_DIR", "DUMP", "NUM_THREADS", "SKIP", "VERIFY")
_OF_OTHERS = ("CUDA_HOME", "CUDA_VISIBLE_DEVICES", "XDG_CACHE_HOME")
_WIDTH, _INDENT = 110, 14


def _first_line(path: str, start: str = "") -> str:
    """The first line of a file that begins so, or nothing."""
    try:
        with open(path, errors="replace") as lines:
            return next((line.strip() for line in lines if line.startswith(start)), "")
    except OSError:
        return ""


def _many(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _treadle() -> str:
    from . import _core

    return f"{_core.__version__}, {Path(_core.__file__).parent}"


def _python() -> str:
    import platform
    import sysconfig

    free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    gil = ""
    if free:
        gil = ", free-threaded, the GIL is " + ("on" if sys._is_gil_enabled() else "off")  # type: ignore[attr-defined, unused-ignore]
    return f"{platform.python_implementation()} {platform.python_version()}{gil}, {sys.executable}"


def _numpy() -> str:
    import numpy

    return f"{numpy.__version__}, {Path(numpy.__file__).parent}"


def _system() -> str:
    import platform

    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        name = "Linux of an unknown name"
    return f"{name}, {platform.system()} {platform.release()}, {os.confstr('CS_GNU_LIBC_VERSION')}"


def _llvm() -> str:
    from . import _core

    about = _core._about()
    return str(about["llvm"] or about["no_llvm"]).removeprefix("llvm ")


def _sleef() -> str:
    from . import _core

    beside = Path(_core.__file__).parent / "libsleef.so.3"
    if beside.exists():
        return f"{_core._about()['sleef'] or 'of an unknown version'}, in the package"
    return "libsleef.so.3 of the system"


def _processor() -> str:
    from . import _core

    model = _first_line("/proc/cpuinfo", "model name").partition(":")[2].strip()
    name, _, rest = str(_core._about()["processor"] or "").partition(" ")
    features, _, bits = rest.rpartition(" v")
    has = " ".join(sorted(f[1:] for f in features.split(",") if f[:1] == "+" and not f.startswith("+prefer")))
    known = f"; to LLVM {name}, in vectors of {bits} bits: {has}" if name else ""
    return f"{model or 'of an unknown kind'}, {os.cpu_count()} in all{known}"


def _threads() -> str:
    from . import _core

    size = _core._pool_size()
    if os.environ.get("TREADLE_NUM_THREADS", "").strip():
        return f"{size}, by TREADLE_NUM_THREADS"
    may = len(os.sched_getaffinity(0))
    granted = f", and its control group grants it the time of {size}" if size < may else ""
    return f"{size}: this process may use {_many(may, 'processor')}{granted}"


def _gpu() -> str:
    from . import config
    from .cuda import _context, _devices

    driver = _first_line("/proc/driver/nvidia/version").removeprefix("NVRM version:").strip()
    said = f"; the driver says {driver}" if driver else ""
    found = _devices.found()
    if not found.count:
        return f"none: {found.why}{said}"
    if found.emulated:
        why = "TREADLE_CUDA=emu" if config.CUDA == "emu" else found.why
        return f"none is used ({why}): kernels run on the processors{said}"
    names = (f"{d.id}: {d.name}, compute capability {'%d.%d' % d.compute_capability}" for d in _context.gpus)
    return f"{'; '.join(names)}; the driver's CUDA is {'%d.%d' % _devices.driver_version()}{said}"


def _mathematics() -> str:
    from . import _core

    return (
        _core._about()["libdevice"]
        or "none: no CUDA toolkit is here, and libclc was not when Treadle was built"
    )


def _cache() -> str:
    from . import _core

    about = _core._about()
    folder, why = about["cache"], about["no_cache"]
    if why or not folder:
        return f"cannot be used: {why}"
    if not os.path.isdir(folder):
        return f"{folder}, which is not there yet"
    with os.scandir(folder) as files:
        sizes = [f.stat().st_size for f in files if f.name.endswith(".trc")]
    return f"{folder}: {_many(len(sizes), 'function')}, {sum(sizes) / 1e6:.2f} MB"


def _settings() -> str:
    try:
        from . import config
    except Exception:  # one of them is a mistake, which other lines tell
        known = None
    else:
        known = {f"TREADLE_{name}" for name in (*config.__all__, *_CORES)}

    def told(name: str) -> str:
        strange = known is not None and name.startswith("TREADLE_") and name not in known
        return f"{name}={os.environ[name]}{' (Treadle has no such setting)' if strange else ''}"

    names = [n for n in os.environ if n.startswith(("TREADLE_", "NUMBA_")) or n in _OF_OTHERS]
    return ", ".join(map(told, sorted(names))) or "none"


_ROWS: dict[str, Callable[[], str]] = {
    "Treadle": _treadle,
    "Python": _python,
    "NumPy": _numpy,
    "LLVM": _llvm,
    "SLEEF": _sleef,
    "system": _system,
    "processor": _processor,
    "threads": _threads,
    "GPU": _gpu,
    "PTX's math": _mathematics,
    "cache": _cache,
    "environment": _settings,
}


def facts() -> dict[str, str]:
    """What a report needs, by subject.

    Returns
    -------
    dict of str
        A text for each; where one cannot be told, it says why.
    """

    def told(of: Callable[[], str]) -> str:
        try:
            return of()
        except Exception as e:
            return f"cannot be told: {type(e).__name__}: {e}"

    return {name: told(of) for name, of in _ROWS.items()}


def show() -> None:
    """Print the facts, a subject to a line or more."""
    for name, text in facts().items():
        print(
            textwrap.fill(
                f"{name:{_INDENT}}{text}",
                _WIDTH,
                subsequent_indent=" " * _INDENT,
                break_long_words=False,
                break_on_hyphens=False,
            )
        )
