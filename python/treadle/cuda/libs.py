"""CUDA's libraries: which of them Treadle calls, where they lie, and how their failures are told.

>>> from treadle.cuda import libs
>>> libs.test()  # doctest: +SKIP
cuFFT: /usr/local/cuda/lib64/libcufft.so.12
True

Nothing here opens a library: that happens when one is needed. The emulated device needs none.
"""

from __future__ import annotations

from ._devices import is_emulated
from ._errors import LibraryError
from ._libs import LIBRARIES, opened, where

__all__ = ["LibraryError", "found", "test"]


def found() -> dict[str, str | None]:
    """Where each library lies.

    Returns
    -------
    dict
        Its name, and the file that is open, or would be opened; None: none was found, though the system's linker may know one.
    """
    return {name: where(name) for name in LIBRARIES}


def test() -> bool:
    """Print where each library lies: whether all that is needed is there."""
    emulated = is_emulated()
    for name, path in found().items():
        state = " (open)" if name in opened else ""
        print(
            f"{name}: {path or 'not found'}{state}" + ("; the emulated device needs none" if emulated else "")
        )
    return emulated or all(found().values())
