"""Keeps parts of LLVM out of a static link: definitions for functions of archive members that nothing of ours reaches.

    python3 tools/llvm_trim.py LIST OUT.s ARCHIVE...

A linker takes a member of an archive for a name that is missing. LLVM's pass builder names every pass there is, so all of them would come, and what
they need. The members that LIST (src/jit/left_out.txt) names stay away, because the functions that they have are in OUT.s already; it says what a call
does. Where somebody needs a member's data (a variable, a table of virtual functions), which no definition stands for, the member is linked after all, and
a line says so. The exception are variables that begin as zeros, which options do: a member whose options are to be off is left out with zeros in their place.
A member that this LLVM does not have needs no definition.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

HEAD = """/* Made by tools/llvm_trim.py. */
    .section .note.GNU-stack,"",@progbits
"""
BODY = {  # what a function does, by its row; `off` differs from `never` in variables alone
    "never": "    leaq .Lname{n}(%rip), %rdi\n    jmp tr_llvm_left_out\n",
    "idle": "    jmp tr_llvm_idle_pass\n",
    "none": "    xorl %eax, %eax\n    ret\n",
}
BODY["off"] = BODY["never"]
# Variables that are nothing but an address by which a pass or an analysis is known.
IDENTITY = re.compile(r"^_ZN4llvm\w+?(2ID|3Key)E$")


def read_list(text: str) -> dict[tuple[str, str], str]:
    """Return what a call does, by archive and member (both without what all of them have in their names)."""
    rows = (line.split() for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return {(archive, member): what for archive, member, what in rows}


def members(archives: list[Path]) -> dict[tuple[str, str], list[tuple[str, str, int]]]:
    """Return the symbols of each member of LLVM's archives, as `nm` tells them: kind, name and size."""
    out = subprocess.run(["nm", "-g", "-A", "-P", *archives], capture_output=True, text=True, check=True)
    found: dict[tuple[str, str], list[tuple[str, str, int]]] = defaultdict(list)
    for line in out.stdout.splitlines():
        m = re.match(r"\S*/libLLVM(\w+)\.a\[([^\]]+)\.cpp\.o\]: (\S+) (\S)(?: \S+ ([0-9a-f]+))?", line)
        if m:
            found[m[1], m[2]].append((m[4], m[3], int(m[5] or "0", 16)))
    return found


def is_off(what: str, kind: str, name: str) -> bool:
    """Return whether a symbol is a variable that zeros may stand for."""
    return kind == "B" and what == "off" and not IDENTITY.search(name)


def stubs(wanted: dict[tuple[str, str], str], found: dict) -> tuple[dict[str, str | int], list[str]]:
    """Return what to define, functions with what each does and variables of zeros with their sizes, and the members that have to stay.

    Parameters
    ----------
    wanted
        What `read_list` gave.
    found
        What `members` gave.
    """
    out = {m: what for m, what in wanted.items() if m in found}
    kept: list[str] = []
    while True:
        needed = {
            name for m, symbols in found.items() if m not in out for kind, name, _ in symbols if kind == "U"
        }
        data = [
            m
            for m, what in out.items()
            if any(
                kind in "DBR"
                and name in needed
                and not IDENTITY.search(name)
                and not is_off(what, kind, name)
                for kind, name, _ in found[m]
            )
        ]
        if not data:
            break
        for m in data:
            kept.append("/".join(m))
            del out[m]
    made: dict[str, str | int] = {}
    for m, what in out.items():
        for kind, name, size in found[m]:
            if kind == "T":
                made[name] = what
            elif kind in "DBR" and IDENTITY.search(name):
                made[name] = 8
            elif is_off(what, kind, name):
                made[name] = size
    return made, kept


def body(name: str, what: str) -> str:
    if re.match(r"_ZN4llvm\d+initialize\w+RNS_12PassRegistryE$", name):
        return "none"
    if what == "idle" and re.search(r"PassC[12]Ev$", name):  # there is nothing in such a pass
        return "none"
    if what == "off" and re.search(
        r"3runERNS_\w*AnalysisManager", name
    ):  # a pass that is off changes nothing
        return "idle"
    if what == "idle" and not re.search(r"Pass3runE", name):
        return "never"
    return what


def assembly(made: dict[str, str | int]) -> str:
    """Return the definitions, each in a section of its own, so that the linker drops those that nobody needs."""
    text = [HEAD]
    for n, (name, what) in enumerate(sorted(made.items())):
        if isinstance(what, int):
            text.append(
                f'    .section .bss.{name},"aw",@nobits\n    .globl {name}\n    .hidden {name}\n    .balign 32\n{name}: .zero {what}\n'
            )
            continue
        text.append(
            f'    .section .text.{name},"ax",@progbits\n    .globl {name}\n    .hidden {name}\n    .type {name}, @function\n{name}:\n'
        )
        how = body(name, what)
        text.append(BODY[how].format(n=n))
        text.append(f"    .size {name}, .-{name}\n")
        if how in ("never", "off"):
            text.append(f'    .section .rodata.str1.1,"aMS",@progbits,1\n.Lname{n}: .asciz "{name}"\n')
    return "".join(text)


def main() -> int:
    listed, out, *archives = map(Path, sys.argv[1:])
    made, kept = stubs(read_list(listed.read_text()), members(archives))
    for name in kept:
        print(f"llvm_trim: {name} stays: its data is needed")
    out.write_text(assembly(made))
    return 0


if __name__ == "__main__":
    sys.exit(main())
