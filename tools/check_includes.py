"""Enforce which folder of src/ may include which: the layers of the core, in one table.

Exit status 1 and one line per fault (``file:line: why``) when a source or header includes upward, sideways, or a
foreign API that is reserved for other folders.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

# Folder -> what it may include directly: a folder (and with it all that folder may include), or one header of a folder
# that is out of reach otherwise.
MAY_INCLUDE: dict[str, tuple[str, ...]] = {
    "base": (),
    "ty": ("base",),
    "graph": ("ty",),
    "ir": ("ty", "rt/rt.h", "rt/rt.def", "rt/layout.h"),  # which run-time functions exist, and their effects
    "target": ("ir",),
    "front": ("ir", "graph"),
    "lib": ("ir", "rt/rt.h", "rt/rt.def", "rt/layout.h"),  # which run-time functions exist, not the functions
    "infer": ("ir", "lib", "graph"),
    "opt": ("ir", "target", "graph"),  # graph: which lines are those of nodes
    "rt": ("base",),
    "vmath": ("base",),
    "code": ("rt", "vmath"),
    "dev": ("rt", "code", "exec"),
    "libs": ("dev",),
    "exec": ("rt", "code", "ty"),
    "lower": (
        "ir",
        "target",
        "rt/rt.h",
        "rt/rt.def",
        "rt/layout.h",
        "code/meta.h",
        "vmath/vmath.h",
    ),  # meta: what goes with the machine code; vmath: names of vector variants
    "jit": ("lower",),
    # The back end is a library of its own, opened at run time: the driver knows its door and nothing behind it.
    "driver": ("ir", "target", "front", "infer", "lib", "opt", "rt", "code", "dev", "jit/backend.h"),
    "ext": ("driver", "exec", "libs"),
    "main": ("driver",),
}

# First part of a foreign header -> the folders that may see it.
RESERVED: dict[str, tuple[str, ...]] = {
    "llvm-c": ("lower", "jit"),
    "llvm": ("lower", "jit"),
    "Python.h": ("ext",),
    "structmember.h": ("ext",),
    "internal": ("ext",),
    "cpython": ("ext",),
    "numpy": ("ext",),
}
# Headers of ours that only files of one name may see.
RESERVED_FILES = {"dev/cuda.def": re.compile(r"dev/cuda[^/]*$")}

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def reach(folder: str) -> tuple[set[str], set[str]]:
    """Return the folders and the single headers that `folder` may include, through the folders it builds on."""
    folders, headers = {folder}, set()
    for target in MAY_INCLUDE[folder]:
        if "/" in target:
            headers.add(target)
        else:
            below, single = reach(target)
            folders |= below
            headers |= single
    return folders, headers


def faults_of(path: str, text: str) -> list[str]:
    """Return the faults of one file.

    Parameters
    ----------
    path
        Path of the file relative to src/, as `ir/build.c`.
    text
        What it holds.
    """
    folder = path.split("/")[0]
    if folder not in MAY_INCLUDE:
        return [f"src/{path}:1: the folder `{folder}` has no row in tools/check_includes.py"]
    folders, headers = reach(folder)
    faults = []
    for m in _INCLUDE.finditer(text):
        line = text.count("\n", 0, m.start()) + 1
        name = m.group(1) or m.group(2)
        top = name.split("/")[0]
        if top in RESERVED:
            if folder not in RESERVED[top]:
                faults.append(f"src/{path}:{line}: only {' and '.join(RESERVED[top])} may include <{name}>")
        elif m.group(1) is None:
            continue
        elif name in RESERVED_FILES and not RESERVED_FILES[name].search(path):
            faults.append(f'src/{path}:{line}: "{name}" is reserved for {RESERVED_FILES[name].pattern}')
        elif top not in MAY_INCLUDE:
            faults.append(f'src/{path}:{line}: write "{name}" from src/ down, as "{folder}/{name}"')
        elif top not in folders and name not in headers:
            faults.append(
                f'src/{path}:{line}: {folder} may not include "{name}" ({top} is not below {folder})'
            )
    return faults


def check(src: Path) -> list[str]:
    """Return the faults of every C file below `src`."""
    faults = []
    for p in sorted(src.rglob("*")):
        if p.suffix in (".c", ".h", ".def", ".cpp", ".inc"):
            faults += faults_of(str(p.relative_to(src)), p.read_text(encoding="utf-8"))
    return faults


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--src", type=Path, default=Path(__file__).resolve().parent.parent / "src")
    found = check(parser.parse_args().src)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
