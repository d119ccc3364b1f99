"""Where CUDA's libraries lie, which are opened one by one when they are needed first. On the emulated device none is.

A library is looked for where ``TREADLE_CUDA_LIBS`` says; among those that the process has loaded; in packages of NVIDIA's that pip installs; in a Conda environment; in a toolkit;
last where the system looks for libraries. One that is made for a newer CUDA than the driver's is passed over.
"""

from __future__ import annotations

import glob
import os
import sys
from typing import NamedTuple

from .. import config
from .._core import _lib_open
from ._devices import driver_version, is_emulated
from ._errors import CudaSupportError

__all__ = ["LIBRARIES", "Library", "candidates", "need", "opened", "where"]


class Library(NamedTuple):
    """A library: its name, how its files are called, what pip installs it by, and its major versions, newest first, each with the CUDA that it is of."""

    name: str
    stem: str
    package: str
    megabytes: int
    majors: tuple[tuple[int, int], ...]

    def files(self, newest: int) -> list[str]:
        """Names of its files, of no newer CUDA than that."""
        return [f"lib{self.stem}.so.{major}" for major, cuda in self.majors if cuda <= newest]


LIBRARIES = {
    "cuBLAS": Library("cuBLAS", "cublas", "nvidia-cublas", 444, ((13, 13), (12, 12))),
    "cuFFT": Library("cuFFT", "cufft", "nvidia-cufft", 165, ((12, 13), (11, 12))),
}
_ANY = 1 << 30
opened: dict[str, str] = {}
"""Paths of those that were opened, by name."""


def _given(lib: Library) -> list[str]:
    """What ``TREADLE_CUDA_LIBS`` says: folders, and files whose names tell which library they are."""
    found = []
    for path in filter(None, config.CUDA_LIBS.split(os.pathsep)):
        if os.path.isdir(path):
            found += [
                p
                for name in (*lib.files(_ANY), f"lib{lib.stem}.so")
                if os.path.exists(p := os.path.join(path, name))
            ]
        elif lib.stem in os.path.basename(path):
            found.append(path)
    return found


def _loaded(names: list[str]) -> list[str]:
    """Those that the process has loaded, by the kernel's list."""
    try:
        with open("/proc/self/maps") as maps:
            paths = {line.split(None, 5)[5].strip() for line in maps if line.count("/") and ".so" in line}
    except (OSError, IndexError):
        return []
    return [p for name in names for p in sorted(paths) if os.path.basename(p).startswith(name)]


def _folders(lib: Library) -> list[str]:
    sites = [p for p in sys.path if os.path.basename(p) in ("site-packages", "dist-packages")]
    folders = [
        f for site in sites for f in sorted(glob.glob(os.path.join(site, "nvidia", "cu[0-9]*", "lib")))[::-1]
    ]
    folders += [os.path.join(site, "nvidia", lib.stem, "lib") for site in sites]
    for name, under in (("CONDA_PREFIX", "lib"), ("CUDA_HOME", "lib64"), ("CUDA_PATH", "lib64")):
        if root := os.environ.get(name):
            folders.append(os.path.join(root, under))
    return [*folders, "/usr/local/cuda/lib64"]


def candidates(name: str, newest: int = _ANY) -> list[str]:
    """Where a library of no newer CUDA than that may be, the best place first: paths of files that are there, and last names for the system to find.

    Parameters
    ----------
    name : str
        As in `LIBRARIES`.
    newest : int
        The driver's major version.
    """
    lib = LIBRARIES[name]
    names = lib.files(newest)
    found = [os.path.join(folder, n) for n in names for folder in _folders(lib)]
    return list(
        dict.fromkeys([*_given(lib), *_loaded(names), *(p for p in found if os.path.exists(p)), *names])
    )


def need(name: str) -> None:
    """Open a library, unless it is open. On the emulated device nothing is needed.

    Raises
    ------
    CudaSupportError
        It is not there, or no version that the driver can be used with.
    """
    if name in opened or is_emulated():
        return
    newest, whys = driver_version()[0], []
    for path in candidates(name, newest):
        why = _lib_open(name, path)
        if why is None:
            opened[name] = path
            return
        if os.path.dirname(path):  # other names are for the system, which may know none
            whys.append(why)
    raise CudaSupportError(_missing(LIBRARIES[name], newest, whys))


def _missing(lib: Library, newest: int, whys: list[str]) -> str:
    newer = [p for p in candidates(lib.name) if os.path.exists(p)]
    hint = f"pip install {lib.package} ({lib.megabytes} MB) gives it; TREADLE_CUDA=emu needs none"
    if whys:
        return f"{lib.name} cannot be used: {whys[0]}; {hint}"
    if newer:
        return (
            f"{lib.name} is here for a newer CUDA than the driver's {newest} ({newer[0]}): "
            f"pip install {lib.package}-cu{newest}, or a newer driver; TREADLE_CUDA=emu needs none"
        )
    return f"{lib.name} is not here: {hint}"


def where(name: str) -> str | None:
    """The path of a library that is open, or of the file that would be opened; None: only the system may know one."""
    newest = _ANY if is_emulated() else driver_version()[0]
    return opened.get(name) or next((p for p in candidates(name, newest) if os.path.exists(p)), None)
