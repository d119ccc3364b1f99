"""What tests of the tables of CUDA's libraries share: rows of a .def file are compared with NVIDIA's headers by a compiler, and with a library's names."""

from __future__ import annotations

import mmap
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from treadle.cuda import _libs

__all__ = ["ROOT", "alike", "exports", "header", "rows", "with_header", "with_library"]

ROOT = Path(__file__).parents[2]
TOOLKIT = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))

SAME = """
#include <type_traits>
template <class T> constexpr int kind = std::is_pointer_v<T> ? 1 : std::is_enum_v<T> || std::is_integral_v<T> ? 2 : std::is_floating_point_v<T> ? 3 : 4;
template <class A, class B> struct alike;
template <class R, class... A, class S, class... B> struct alike<R (*)(A...), S (*)(B...)> {
    static constexpr bool all() {
        if constexpr (sizeof...(A) != sizeof...(B))
            return false;
        else
            return sizeof(R) == sizeof(S) && ((sizeof(A) == sizeof(B) && kind<A> == kind<B>) && ...);
    }
};
"""


def rows(name):
    """Symbol and parameters of each row of a table."""
    text = (ROOT / "src" / "dev" / name).read_text()
    return re.findall(r'^X\(\w+, "(\w+)", \w+, \((.*)\)\)$', text, re.M)


def _includes() -> dict[str, list[Path]]:
    """Folders of NVIDIA's headers, by whose they are: a toolkit's, and those of pip's packages, which are together for a CUDA from 13 on and apart for 12."""
    found = {"toolkit": [TOOLKIT / "include"]}
    for site in (Path(p) for p in sys.path if os.path.basename(p) in ("site-packages", "dist-packages")):
        found |= {f"{p.parent.name} of pip": [p] for p in site.glob("nvidia/cu[0-9]*/include")}
        if apart := sorted(
            p for p in site.glob("nvidia/*/include") if not re.match(r"cu\d+$", p.parent.name)
        ):
            found["cu12 of pip"] = apart
    return found


def with_header(name: str) -> pytest.MarkDecorator:
    """Tests of a header: of all that are here, of different versions of CUDA, each given as the folders that ``includes`` are; they are skipped where none is."""
    found = {of: paths for of, paths in _includes().items() if any((p / name).exists() for p in paths)}
    why = f"{name} is not here: the tables are not compared with NVIDIA's headers (CUDA_HOME names a toolkit; pip's packages are seen on sys.path)"
    none = [pytest.param([], id="none", marks=pytest.mark.skip(why))]
    return pytest.mark.parametrize("includes", [pytest.param(p, id=of) for of, p in found.items()] or none)


def header(includes, name):
    """Its text."""
    return next(p / name for p in includes if (p / name).exists()).read_text()


def alike(tmp_path, includes, name, listed):
    """What the compiler says of these rows."""
    lines = [
        f'static_assert(alike<decltype(&{symbol}), int (*)({params})>::all(), "{symbol}");'
        for symbol, params in listed
    ]
    source = tmp_path / "rows.cpp"
    source.write_text(f"#include <cstdint>\n#include <{name}>\n{SAME}" + "\n".join(lines) + "\n")
    return subprocess.run(
        ["c++", "-std=c++17", "-fsyntax-only", *(f"-I{p}" for p in includes), str(source)],
        capture_output=True,
        text=True,
        check=False,
    )


def with_library(name: str) -> pytest.MarkDecorator:
    """Tests of a library's file, of each that is here; they are skipped where none is."""
    found = [p for p in _libs.candidates(name) if os.path.exists(p) and "fake" not in p]
    files = {os.path.realpath(p): os.path.basename(p) for p in reversed(found)}
    none = [
        pytest.param(
            "", id="none", marks=pytest.mark.skip(f"no {name} is here whose symbols could be looked at")
        )
    ]
    return pytest.mark.parametrize("library", [pytest.param(p, id=of) for p, of in files.items()] or none)


def exports(library, symbols):
    """Which of these a library of NVIDIA's has not; its file is not opened as one."""
    with open(library, "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as text:
        return [symbol for symbol in symbols if text.find(b"\0" + symbol.encode() + b"\0") < 0]
