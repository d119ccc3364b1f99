"""numba.cuda.cudadrv.driver._Linker, which programs use to look at PTX: what is linked to what, without a kernel."""

from __future__ import annotations

import re
from typing import Any, NoReturn

from .cuda._compile import current_cc, target_of
from .cuda._errors import LinkerError
from .cuda._link import CUSource, LinkableCode, PTXSource, ptx_of
from .errors import UnsupportedError

__all__ = ["Linker"]


class Linker:
    """Texts of PTX, and CUDA C of which PTX is made, for GPUs of one compute capability.

    Parameters
    ----------
    max_registers : int, optional
        Of a thread; 0 and None: as many as there are. It is for machine code, of which none is made here.
    lineinfo, lto : bool
        Likewise.
    cc : tuple of two ints, optional
        The current device's where it is not given.
    """

    def __init__(
        self,
        max_registers: int | None = None,
        lineinfo: bool = False,
        cc: tuple[int, int] | None = None,
        lto: bool | None = None,
        additional_flags: Any = None,
    ) -> None:
        self.cc = current_cc() if cc is None else cc
        target_of(self.cc)  # TypeError for what is none
        self.max_registers, self.lineinfo, self.lto = max_registers or 0, lineinfo, bool(lto)
        self._parts: list[bytes] = []
        self.info_log = self.error_log = ""

    def add_ptx(self, ptx: Any, name: str = "<ptx>") -> None:
        """Add a text of PTX; LinkerError: it is for other GPUs."""
        text = PTXSource(ptx, name).data.rstrip(b"\0")
        made = re.search(rb"\.target\s+sm_(\d+)", text)
        if made and int(made[1]) > self.cc[0] * 10 + self.cc[1]:
            raise LinkerError(f"{name} is made for sm_{int(made[1])}, not for sm_{self.cc[0]}{self.cc[1]}")
        self._parts.append(text)

    def add_cu(self, cu: Any, name: str = "<cu>") -> None:
        """Add CUDA C; LinkerError: it does not compile."""
        self._parts.append(ptx_of(CUSource(cu, name), self.cc))

    def add_file_guess_ext(self, path_or_code: Any, ignore_nonlto: bool = False) -> None:
        """Add a file by what its name ends with, or `treadle.cuda.LinkableCode`."""
        code = LinkableCode.from_path_or_obj(path_or_code)
        if isinstance(code, CUSource):
            self._parts.append(ptx_of(code, self.cc))
        elif isinstance(code, PTXSource):
            self.add_ptx(code.data, code.name)
        else:
            raise UnsupportedError(
                f"{code.name}: PTX is made of .cu and .ptx files, not of .{code.kind} ones"
            )

    add_cu_file = add_file_guess_ext

    def get_linked_ptx(self) -> bytes:
        """The text of the one part that there is.

        Raises
        ------
        UnsupportedError
            There are several: these are linked into a kernel, by ``link=`` of `treadle.cuda.jit`.
        """
        if len(self._parts) != 1:
            raise UnsupportedError(
                f"a linker with {len(self._parts)} parts: PTX is linked with a kernel here, by link= of cuda.jit"
            )
        return self._parts[0]

    def complete(self) -> NoReturn:
        """UnsupportedError: machine code is made by a GPU's driver when a kernel is loaded."""
        raise UnsupportedError(
            "machine code is made by a GPU's driver, when a kernel is loaded; get_linked_ptx() has the text"
        )

    def close(self) -> None:
        """Forget what was added."""
        self._parts.clear()
