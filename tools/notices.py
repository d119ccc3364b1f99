"""What of others' is inside a wheel, and the notices that go with it.

`PARTS` lists what is linked in or lies beside: each row says by which names the linker or the wheel knows a part, from which file of this
machine it came, and so from which of Debian's packages its notice is taken (/usr/share/doc/PACKAGE/copyright) when a wheel is packed
(wheel.py). No text of others stands in the repository. A library or a file without a row, and a notice that is not to be found, are errors:
a wheel without them may not be passed on.
"""

from __future__ import annotations

import fnmatch
import functools
import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import devenv
from devenv import Stop

DOCS = Path("/usr/share/doc")
COMMON = Path("/usr/share/common-licenses")
OURS = re.compile(r"_core\.[\w.-]+\.so|libtreadle_llvm\.so")


class Part(NamedTuple):
    """What somebody else wrote.

    Attributes
    ----------
    name
        Its notice is licenses/NAME.txt.
    licence
        What it adds to the wheel's License-Expression (SPDX); empty where who passes compiled code on need not say it.
    files
        Names that it has in the wheel, as patterns.
    links
        Names by which the linker takes it (`-lNAME`, `-l:libNAME.a`), as patterns; "" is what a compiler links by itself.
    origin
        Where it came from: a name for the C compiler's `-print-file-name`, or an absolute path; {llvm} is the folder of LLVM's libraries.
    common
        Licences that Debian's text only names, of /usr/share/common-licenses.
    headers
        Headers that begin with a notice of their own, in LLVM's folder of them.
    """

    name: str
    licence: str
    files: tuple[str, ...]
    links: tuple[str, ...]
    origin: str
    common: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()


PARTS = (
    # With code of others that it has taken in: xxHash, conversions of Unicode, MD5, and regular expressions, whose notice is the one of COMMON.
    Part(
        *("LLVM", "Apache-2.0 WITH LLVM-exception AND BSD-2-Clause AND BSD-3-Clause AND Unicode-DFS-2015"),
        *((), ("LLVM*",), "{llvm}/libLLVMCore.a", ("Apache-2.0", "BSD")),
        ("llvm/Support/xxhash.h", "llvm/Support/ConvertUTF.h", "llvm/Support/MD5.h"),
    ),
    Part(
        *("libclc", "Apache-2.0 WITH LLVM-exception", ("libclc.bc",), ()),
        *("/usr/lib/clc/nvptx64--.bc", ("Apache-2.0",)),
    ),
    Part("SLEEF", "BSL-1.0", ("libsleef.so.*",), (), "libsleef.so.3"),
    Part("zlib", "Zlib", (), ("z",), "libz.a"),
    Part("zstd", "BSD-3-Clause", (), ("zstd",), "libzstd.a"),
    # libstdc++ and libgcc: by the exception that stands in the text, code that is linked with them may be passed on under any terms.
    Part("GCC", "", (), ("stdc++", "gcc", ""), "libstdc++.a", ("GPL-3",)),
)
# NumPy's headers are compiled into _core; its text comes from the package itself, up to what its own wheel holds of others.
NUMPY, NUMPY_LICENCE = "NumPy", "BSD-3-Clause"


# --- what is linked in ---


def linked(build: Path) -> set[str]:
    """Return the names of the libraries that a build folder's modules for a wheel are linked with, "" for what the compiler adds itself.

    Raises
    ------
    Stop
        When the folder was not made by Meson for Ninja.
    """
    try:
        lines = (build / "build.ninja").read_text().splitlines()
    except OSError as e:
        raise Stop(f"What is linked into the modules is not known: {e}") from e
    names, inside = {""}, False
    for line in lines:
        if line.startswith("build "):
            inside = bool(OURS.match(line.split()[1].rstrip(":")))
        if not inside or not line.startswith(("build ", " LINK_ARGS")):
            continue
        for word in line.split():
            if m := re.fullmatch(r"-l:lib(.+)\.a|-l([^:].*)|-static-lib(gcc)", word):
                names.add(m[1] or m[2] or m[3])
            elif word.endswith(".a") and not Path(word).name.startswith("libtr_"):
                names.add(Path(word).name.removesuffix(".a").removeprefix("lib"))
    return names


def parts_of(files: Iterable[str], links: set[str], always: set[str]) -> list[Part]:
    """Return what is inside of a wheel with these files, whose modules are linked with these libraries.

    Parameters
    ----------
    files
        Names of files that are no source code.
    links
        As `linked` has them.
    always
        Names of the libraries that every Linux has, which are not linked in.

    Raises
    ------
    Stop
        When no row is there for one of them.
    """
    found = []
    libraries = {n for n in links if not any(a.startswith(f"lib{n}.so.") for a in always)}
    binaries = {f for f in files if not OURS.fullmatch(f)}

    def take(names: set[str], patterns: tuple[str, ...]) -> set[str]:
        return {n for n in names if any(fnmatch.fnmatchcase(n, p) for p in patterns)}

    for part in PARTS:
        mine = take(libraries, part.links) | take(binaries, part.files)
        if mine:
            found.append(part)
            libraries -= mine
            binaries -= mine
    if libraries | binaries:
        raise Stop(
            f"Nothing is known of the licence of {', '.join(sorted(libraries | binaries))}: give it a row of PARTS in tools/notices.py."
        )
    return found


# --- their notices ---


def package_of(file: Path) -> str:
    """Return the package of Debian's that installed a file.

    Raises
    ------
    Stop
        When none did, or this is not Debian.
    """
    for path in dict.fromkeys((Path(os.path.normpath(file)), file.resolve())):
        try:
            out = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True).stdout
        except OSError as e:
            raise Stop(
                f"The notice of {file.name} is to be found by dpkg-query, which is not here ({e}): wheels to be passed on are made on "
                "Debian; `pip wheel .` makes one for this machine."
            ) from e
        for line in out.splitlines():
            if not line.startswith("diversion ") and line.endswith(f": {path}"):
                return line.split(":")[0].split(",")[0]
    raise Stop(f"{file} comes from no package of Debian's, so where its notice is cannot be told.")


@functools.cache
def _llvm(what: str) -> str:
    return subprocess.run(
        [devenv.LLVM_CONFIG, what], capture_output=True, text=True, check=True
    ).stdout.strip()


def origin_of(part: Part) -> Path:
    """Return the file of this machine that a part was taken from."""
    name = part.origin.format(llvm=_llvm("--libdir")) if "{llvm}" in part.origin else part.origin
    if not os.path.isabs(name):
        name = subprocess.run(
            ["cc", f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
    return Path(name)


def head_of(header: Path) -> str:
    """Return the comments that a header begins with, up to the last that names a copyright.

    Raises
    ------
    Stop
        When there are none.
    """
    comment = r"/\*.*?\*/\s*"
    found = re.match(f"(?:{comment})+", header.read_text() if header.is_file() else "", re.DOTALL)
    parts = re.findall(comment, found[0], re.DOTALL) if found else []
    while parts and "opyright" not in parts[-1]:
        parts.pop()
    if not parts:
        raise Stop(f"{header} does not begin with a notice, as it should.")
    return "".join(parts).rstrip() + "\n"


def notice(part: Part) -> bytes:
    """Return the text that goes with a part.

    Raises
    ------
    Stop
        When one of its files is missing; it is named.
    """
    package = package_of(origin_of(part))
    wanted = [DOCS / package / "copyright", *(COMMON / n for n in part.common)]
    for file in wanted:
        if not file.is_file():
            raise Stop(
                f"The notice of {part.name} is not complete: there is no {file}. The package {package}, or base-files, was installed "
                "without its documents: apt-get install --reinstall brings them."
            )
    texts = [file.read_text() for file in wanted]
    texts += [head_of(Path(_llvm("--includedir")) / h) for h in part.headers]
    return f"\n{'-' * 80}\n\n".join(t.rstrip() + "\n" for t in texts).encode()


def numpy_notice(include: Path) -> bytes:
    """Return NumPy's licence, from where these headers of it are installed.

    Raises
    ------
    Stop
        When it is not there.
    """
    site = include.parents[2]
    for name in ("licenses/LICENSE.txt", "LICENSE.txt"):
        for file in site.glob(f"numpy-*.dist-info/{name}"):
            return re.split(r"(?m)^----$", file.read_text())[0].rstrip().encode() + b"\n"
    raise Stop(
        f"NumPy's licence is not beside its headers: there is no {site}/numpy-*.dist-info/licenses/LICENSE.txt."
    )


def put(contents: dict[str, bytes], info: str, links: set[str], always: set[str], numpy: Path) -> None:
    """Put the notices of all that is inside into a wheel, and say so in its metadata.

    Parameters
    ----------
    contents
        The wheel's files; changed.
    info
        Its folder of metadata.
    links, always
        As in `parts_of`.
    numpy
        The folder of NumPy's headers.
    """
    names = [Path(n).name for n in contents]
    parts = parts_of((n for n in names if re.search(r"\.(so(\.|$)|bc$|a$)", n)), links, always)
    texts = {p.name: notice(p) for p in parts} | {NUMPY: numpy_notice(numpy)}
    for name, text in texts.items():
        contents[f"{info}/licenses/{name}.txt"] = text
    head, gap, rest = contents[f"{info}/METADATA"].decode().partition("\n\n")
    terms = re.search(r"(?m)^License-Expression: (.*)$", head)
    if not terms:
        raise Stop("The wheel does not say under which licence it is: pyproject.toml has to name it.")
    all_terms = " AND ".join([terms[1], *(p.licence for p in parts), NUMPY_LICENCE])
    once = dict.fromkeys(t for t in all_terms.split(" AND ") if t)
    head = head.replace(terms[0], f"License-Expression: {' AND '.join(once)}")
    head += "".join(f"\nLicense-File: {name}.txt" for name in texts)
    contents[f"{info}/METADATA"] = (head + gap + rest).encode()
