"""What tests of the tables of CUDA's libraries share: rows of a .def file are compared with NVIDIA's headers by a compiler, and with a library's names."""

from __future__ import annotations

import mmap
import os
import re
import subprocess
from pathlib import Path

import pytest
from treadle.cuda import _libs

__all__ = ["ROOT", "TOOLKIT", "alike", "exports", "rows"]

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


def alike(tmp_path, name, listed):
    """What the compiler says of these rows."""
    header = TOOLKIT / "include" / name
    if not header.exists():
        pytest.skip(f"{header} is not here: the tables are not compared with NVIDIA's headers")
    lines = [
        f'static_assert(alike<decltype(&{symbol}), int (*)({params})>::all(), "{symbol}");'
        for symbol, params in listed
    ]
    source = tmp_path / "rows.cpp"
    source.write_text(f"#include <cstdint>\n#include <{name}>\n{SAME}" + "\n".join(lines) + "\n")
    return subprocess.run(
        ["c++", "-std=c++17", "-fsyntax-only", f"-I{TOOLKIT}/include", str(source)],
        capture_output=True,
        text=True,
        check=False,
    )


def exports(library, symbols):
    """Which of these a library of NVIDIA's has not; its file is not opened as one."""
    found = [p for p in _libs.candidates(library) if os.path.exists(p) and "fake" not in p]
    if not found:
        pytest.skip(f"no {library} is here whose symbols could be looked at")
    with open(found[0], "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as text:
        return [symbol for symbol in symbols if text.find(b"\0" + symbol.encode() + b"\0") < 0]
