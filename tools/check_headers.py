"""Check that each header of src/ compiles alone (twice in a row, so its guard is tested too), without a warning.

With ``--sources`` every C source of src/ and tests/c is checked as well: with a second compiler this shows the warnings
that the compiler of the build does not give. Nothing is written.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Checked without NDEBUG (asserts are code too) and with the planted faults of test builds.
FLAGS = [
    "-std=c11",
    "-D_GNU_SOURCE",
    "-DTR_PLANTS",
    '-DTR_VERSION="0"',
    "-Wall",
    "-Wextra",
    "-Wshadow",
    "-Wconversion",
    "-Werror",
    "-fsyntax-only",
    f'-DTR_SOURCE_ROOT="{ROOT}"',
    '-DTR_FAKE_CUDA=""',
]


def folder_flags(folder: str, numpy_include: str) -> list[str]:
    """Return what the sources of a folder are compiled with beside the common flags."""
    if folder == "ext":
        return [
            "-isystem",
            sysconfig.get_path("include"),
            "-isystem",
            numpy_include,
            "-DNPY_TARGET_VERSION=NPY_1_23_API_VERSION",
            "-DNPY_NO_DEPRECATED_API=NPY_1_23_API_VERSION",
        ]
    if folder in ("lower", "jit"):
        config = os.environ.get("LLVM_CONFIG", "llvm-config-19")
        return [
            "-isystem",
            subprocess.run(
                [config, "--includedir"], capture_output=True, text=True, check=True
            ).stdout.strip(),
        ]
    return []


def compile_one(cc: str, src: Path, path: Path, flags: list[str]) -> str:
    """Compile one file without output; return the compiler's complaints, empty when there are none."""
    command = [cc, *FLAGS, f"-I{src}", *flags, "-x", "c"]
    if path.suffix == ".h":
        line = f'#include "{path.relative_to(src)}"\n'
        done = subprocess.run([*command, "-"], input=line * 2, capture_output=True, text=True)
    else:
        done = subprocess.run([*command, str(path)], capture_output=True, text=True)
    return "" if done.returncode == 0 else f"{path}:\n{done.stderr}"


def check(src: Path, cc: str, numpy_include: str, sources: bool) -> list[str]:
    """Return the complaints about every header below `src` (and every source, if asked for)."""
    paths = sorted(src.rglob("*.h"))
    if sources:
        paths += sorted(src.rglob("*.c")) + sorted((ROOT / "tests" / "c").glob("*.c"))
    folders = {p: p.relative_to(src).parts[0] if p.is_relative_to(src) else "" for p in paths}
    flags = {f: folder_flags(f, numpy_include) for f in set(folders.values())}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda p: compile_one(cc, src, p, flags[folders[p]]), paths)
        return [text for text in found if text]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--src", type=Path, default=ROOT / "src")
    parser.add_argument("--cc", default="gcc")
    parser.add_argument("--numpy-include", default="")
    parser.add_argument("--sources", action="store_true")
    a = parser.parse_args()
    numpy_include = a.numpy_include
    if not numpy_include:
        import numpy

        numpy_include = numpy.get_include()
    found = check(a.src, a.cc, numpy_include, a.sources)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
