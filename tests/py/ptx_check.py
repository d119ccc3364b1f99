"""Compiles kernels to PTX in a process of its own: what LLVM cannot select ends the process that asked for it.

    python ptx_check.py FOLDER suite FILE...     the kernels that a test file's tests launch, for the types they are launched with
    python ptx_check.py FOLDER programs FILE...  the same of programs
    python ptx_check.py FOLDER texts             kernels of standard input: JSON of [text, signature]

Each PTX goes into FOLDER as NUMBER-sm_XX.ptx. The last line is JSON: how many kernels, and the refusals.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

PROCESSORS = {"sm_75": (7, 5), "sm_80": (8, 0), "sm_90": (9, 0)}


def write(folder: Path, number: int, make: Any) -> str | None:
    """The texts of one kernel; why there are none."""
    from treadle import errors

    try:
        for name, cc in PROCESSORS.items():
            (folder / f"{number}-{name}.ptx").write_text(make(cc))
    except (errors.TypingError, errors.LoweringError, errors.UnsupportedError, TypeError) as e:
        return f"{type(e).__name__}: {e}"
    return None


def launched(run: Any) -> list[Any]:
    """What the kernels that were made while it ran were launched with, each text of a kernel once."""
    from treadle.cuda import _kernel

    kernels: list[Any] = []
    before = _kernel.Kernel.__init__

    def init(self: Any, *args: Any, **kw: Any) -> None:
        before(self, *args, **kw)
        kernels.append(self)

    _kernel.Kernel.__init__ = init  # type: ignore[method-assign]
    run()
    seen: dict[Any, Any] = {}
    for k in kernels:
        for types, d in k.overloads.items():
            seen.setdefault((k.py_func.__code__, str(k.py_func.__closure__), str(k.targetoptions), types), d)
    return list(seen.values())


def suite(files: list[str]) -> None:
    import pytest

    os.environ.pop("TREADLE_SLICE", None)  # all of them, however small a part the caller runs
    assert pytest.main(["-q", "-n0", "-p", "no:cacheprovider", "-k", "not any_kernel", *files]) == 0


def programs(files: list[str]) -> None:
    import runpy

    from treadle import run as ways

    ways.install()
    for f in files:
        runpy.run_path(f, run_name="__main__")


def main() -> None:
    folder, how, files = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    sys.path.insert(0, str(Path(__file__).parent))
    refused: list[str | None] = []
    if how == "texts":
        from cuda_check import compile_text
        from treadle import cuda

        for n, (text, sig, options) in enumerate(json.load(sys.stdin)):
            fn = compile_text(text, "k")
            refused.append(
                write(folder, n, lambda cc: cuda.compile_ptx(fn, sig, cc=cc, **options)[0])  # noqa: B023
            )
    else:
        for n, d in enumerate(launched(lambda: (suite if how == "suite" else programs)(files))):
            refused.append(write(folder, n, d.inspect_asm))
    print(json.dumps({"kernels": len(refused), "refused": [r for r in refused if r]}))


if __name__ == "__main__":
    main()
