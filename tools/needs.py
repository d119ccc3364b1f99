"""What the system must have before Treadle can be built; whatever is missing is named, with the line that installs it.

    python3 tools/needs.py --llvm-config NAME [--llvm shared] [--no-sleef] [--numpy DIR] -- COMPILER...

Meson runs it before it looks at anything else (meson.build), since without a library the linker would fail at the very end, minutes later;
the commands of dev.py ask `missing` (devenv.py) and install. Standard library alone. Exit status 1, and what is missing on stdout. Half a
second where nothing is.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import NamedTuple

INSTALL = "apt-get install -y --no-install-recommends"
# Debian's packages with the libraries that LLVM's own need: a file that is linked in, what it is, and a function of it.
LIBRARIES = {
    "zlib1g-dev": ("libz.a", "zlib", "compressBound"),
    "libzstd-dev": ("libzstd.a", "zstd", "ZSTD_compressBound"),
}
_SLEEF = "#include <sleef.h>\nint main(int n, char **v) { return v == 0 || Sleef_sin_u10(n) > 1; }\n"
_LLVM = """#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
int main(void) { LLVMInitializeX86TargetInfo(); return LLVMContextCreate() == 0; }
"""


class Lack(NamedTuple):
    """Something that is missing: Debian's package, "" if none has it, and what it is in words."""

    package: str
    what: str


def _links(cc: list[str], text: str, *args: str) -> str | None:
    """Why the compiler makes no program of a text with these arguments; None if it does."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "try.c"
        source.write_text(text)
        try:
            r = subprocess.run(
                [*cc, source, "-o", Path(folder) / "try", *args],
                capture_output=True,
                text=True,
                errors="replace",
            )
        except OSError as e:
            return str(e)
        said = [t for t in r.stderr.splitlines() if "error" in t or "undefined" in t or "cannot" in t]
        return None if r.returncode == 0 else (said or r.stderr.splitlines() or ["no reason was given"])[0]


def _asked(llvm_config: str, *args: str) -> str | None:
    """What llvm-config says; None when it fails."""
    r = subprocess.run([llvm_config, *args], capture_output=True, text=True)
    return r.stdout.strip() if r.returncode == 0 else None


def _llvm(cc: list[str], llvm_config: str, static: bool, libraries: list[str] | None) -> Lack | None:
    """LLVM, if it or a part of it is missing. `libraries` are what it is linked with; None: it is not tried."""
    number = m[1] if (m := re.search(r"-(\d+)$", llvm_config)) else "19"
    name = f"LLVM {number}"

    def lack(what: str) -> Lack:
        return Lack(f"llvm-{number}-dev", f"{name}{what}")

    program = shutil.which(llvm_config)
    if not program:
        return lack(f"'s development files (there is no {llvm_config})")
    include, folder = _asked(program, "--includedir") or "", _asked(program, "--libdir") or ""
    if not Path(include, "llvm-c", "Core.h").exists():
        return lack(f"'s headers (there is no {include}/llvm-c/Core.h)")
    how = "--link-static" if static else "--link-shared"
    libs = _asked(program, how, "--libs", "core", "x86codegen", "nvptxcodegen", "passes")
    if libs is None:
        return lack(f"'s {'static' if static else 'shared'} libraries, in {folder}")
    if libraries is None:
        return None
    args = [f"-I{include}", f"-L{folder}", *libs.split(), *libraries, "-lm", "-ldl", "-lrt", "-lstdc++"]
    why = _links(cc, _LLVM, *args)
    return Lack("", f"something that {name} in {folder} needs to be linked: {why}") if why else None


def missing(
    cc: list[str], llvm_config: str, *, static: bool = True, sleef: bool = True, link: bool = True
) -> list[Lack]:
    """Return what the system lacks, but for compilers and Python.

    Parameters
    ----------
    cc
        The C compiler's command.
    llvm_config
        The program of the LLVM that is meant.
    static
        Whether LLVM is linked in.
    sleef
        Whether SLEEF is copied beside it.
    link
        Whether a program is to be linked with LLVM, which finds what no list has.
    """
    found: list[Lack] = []
    libraries = LIBRARIES if static else {}
    for package, (file, what, function) in libraries.items():
        if _links(cc, f"char {function}();\nint main(void) {{ return {function}(); }}\n", f"-l:{file}"):
            found.append(Lack(package, f"{what}'s static library {file}, which LLVM needs"))
    if sleef and _links(cc, _SLEEF, "-l:libsleef.so.3"):
        found.append(Lack("libsleef-dev", "SLEEF, the library of mathematics in vectors"))
    others = [f"-l:{file}" for file, _, _ in libraries.values()]
    llvm = _llvm(cc, llvm_config, static, others if link and not found else None)
    return [llvm, *found] if llvm else found


def python_lacks(numpy: str) -> list[Lack]:
    """Return what the running Python lacks; `numpy` is the folder of NumPy's headers, empty for those of the one that is installed."""
    found: list[Lack] = []
    include = sysconfig.get_path("include")
    if not os.path.exists(os.path.join(include, "Python.h")):
        version = "%d.%d" % sys.version_info[:2]
        program = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
        from_debian = program.startswith("/usr/bin/")
        found.append(
            Lack(
                f"python{version}-dev" if from_debian else "",
                f"the headers of Python {version} (there is no {include}/Python.h)",
            )
        )
    if not numpy:
        try:
            import numpy as np
        except ImportError:
            found.append(Lack("", "NumPy 2, for its headers (pip install 'numpy>=2,<3')"))
            return found
        numpy = np.get_include()
    config = Path(numpy, "numpy", "_numpyconfig.h")
    old = re.search(r"NPY_ABI_VERSION 0x0[01]", config.read_text()) if config.exists() else True
    if old:
        found.append(
            Lack("", f"the headers of NumPy 2 (not in {numpy}; pip install 'numpy>=2,<3' brings them)")
        )
    return found


def told(lacks: list[Lack]) -> str:
    """What is missing in words, and the line that installs what Debian has of it."""
    lines = ["Treadle cannot be built here. Missing:", *(f"  - {x.what}" for x in lacks)]
    packages = sorted({x.package for x in lacks if x.package})
    if packages:
        lines += ["On Debian and Ubuntu, as root:", f"  {INSTALL} {' '.join(packages)}"]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--llvm-config", required=True, metavar="NAME")
    parser.add_argument("--llvm", choices=["static", "shared"], default="static")
    parser.add_argument("--no-sleef", action="store_true")
    parser.add_argument("--numpy", default="", metavar="DIR")
    parser.add_argument("compiler", nargs="+")
    a = parser.parse_args()
    lacks = missing(a.compiler, a.llvm_config, static=a.llvm == "static", sleef=not a.no_sleef)
    lacks += python_lacks(a.numpy)
    if lacks:
        print(told(lacks))
    return bool(lacks)


if __name__ == "__main__":
    sys.exit(main())
