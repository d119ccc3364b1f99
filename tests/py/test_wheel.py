"""The program that makes wheels (tools/wheel.py) and what keeps parts of LLVM out of them (tools/llvm_trim.py): each is shown what it is there to find."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.util
import io
import re
import shutil
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import pytest
import treadle._core

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))


def load(name: str):
    """Import one of the scripts in tools/."""
    spec = importlib.util.spec_from_file_location(f"tools_{name}", ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


import notices  # noqa: E402  of tools/, as wheel.py imports it

wheel = load("wheel")
trim = load("llvm_trim")
Stop = wheel.Stop


def library(folder: Path, name: str, text: str, *options: str) -> Path:
    """Compile a shared library."""
    out = folder / name
    line = [
        "gcc",
        "-shared",
        "-fPIC",
        "-x",
        "c",
        "-",
        "-x",
        "none",
        "-o",
        out,
        "-Wl,--no-as-needed",
        *options,
    ]
    subprocess.run(line, input=text, text=True, check=True)
    return out


def newer_libc(folder: Path, version: str) -> list[str]:
    """Make a libc.so.6 with a function of a version that this machine's does not have; return how to link with it."""
    place = folder / "libc"
    place.mkdir(exist_ok=True)
    (place / "map").write_text(f"{version} {{ global: tr_of_tomorrow; }};\n")
    script, name = f"-Wl,--version-script={place / 'map'}", "-Wl,-soname,libc.so.6"
    library(place, "libc.so.6", "int tr_of_tomorrow(void) { return 1; }\n", "-nostdlib", script, name)
    return ["-nostdlib", str(place / "libc.so.6")]


NEW = "int tr_of_tomorrow(void);\nint f(void) { return tr_of_tomorrow(); }\n"


# --- which C library a file runs with ---


def test_the_newest_version_decides(tmp_path: Path) -> None:
    plain = library(tmp_path, "plain.so", "int f(void) { return 1; }\n", "-nostdlib")
    new = library(tmp_path, "new.so", NEW, *newer_libc(tmp_path, "GLIBC_2.91"))
    assert wheel.needs(new) == ({"libc.so.6"}, {"GLIBC_2.91"})
    assert wheel.glibc_of(plain) == (2, 5)
    assert wheel.glibc_of(new) == (2, 91)
    assert wheel.tag([plain, new]) == "manylinux_2_91_x86_64"


def test_versions_are_compared_as_numbers(tmp_path: Path) -> None:
    new = library(tmp_path, "new.so", NEW, *newer_libc(tmp_path, "GLIBC_2.9"))
    assert wheel.tag([new]) == "manylinux_2_9_x86_64"


@pytest.mark.parametrize("version", ["GLIBC_PRIVATE", "TREADLE_1.0"])
def test_what_is_no_version_of_the_c_library_is_refused(tmp_path: Path, version: str) -> None:
    new = library(tmp_path, "new.so", NEW, *newer_libc(tmp_path, version))
    with pytest.raises(Stop, match=f"new.so needs {version}"):
        wheel.tag([new])


def test_packed_relocations_count_as_their_c_library() -> None:
    assert wheel.NAMED_VERSIONS["GLIBC_ABI_DT_RELR"] == (2, 36)


def test_a_library_that_not_every_linux_has_is_refused(tmp_path: Path) -> None:
    bad = library(tmp_path, "bad.so", "int f(void) { return 1; }\n", "-l:libz.so.1")
    with pytest.raises(Stop, match=r"bad.so needs libz.so.1, .* statically"):
        wheel.tag([bad])


def test_a_library_of_the_wheel_may_be_needed(tmp_path: Path) -> None:
    first = library(tmp_path, "libfirst.so", "int f(void) { return 1; }\n", "-nostdlib")
    second = library(
        tmp_path, "second.so", "int f(void);\nint g(void) { return f(); }\n", "-nostdlib", str(first)
    )
    with pytest.raises(Stop):
        wheel.glibc_of(second)
    named = library(
        tmp_path, "libfirst.so", "int f(void) { return 1; }\n", "-nostdlib", "-Wl,-soname,libfirst.so"
    )
    third = library(
        tmp_path, "third.so", "int f(void);\nint g(void) { return f(); }\n", "-nostdlib", str(named)
    )
    assert wheel.tag([named, third]) == "manylinux_2_5_x86_64"


def test_what_is_no_library_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "no.so").write_text("text")
    with pytest.raises(Stop, match="readelf does not read"):
        wheel.tag([tmp_path / "no.so"])


# --- a wheel's own files ---


def made(folder: Path) -> Path:
    """Write a wheel as a build back end does."""
    so = library(folder, "libtreadle_llvm.so", NEW, *newer_libc(folder, "GLIBC_2.91"))
    path = folder / "treadle-0.1.0-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("treadle/__init__.py", "")
        z.write(so, "treadle/libtreadle_llvm.so")
        z.writestr(
            "treadle-0.1.0.dist-info/METADATA",
            "Metadata-Version: 2.4\nName: treadle\nLicense-Expression: MIT\n\nText\n\nmore.\n",
        )
        z.writestr("treadle-0.1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: cp311-cp311-linux_x86_64\n")
        z.writestr("treadle-0.1.0.dist-info/RECORD", "treadle/__init__.py,sha256=wrong,0\n")
    return path


def test_a_wheel_is_packed_again_with_its_tag(tmp_path: Path) -> None:
    numpy = numpy_in(tmp_path / "site")
    out = wheel.pack(made(tmp_path), tmp_path / "out", set(), numpy)
    assert out.name == "treadle-0.1.0-cp311-cp311-manylinux_2_91_x86_64.whl"
    assert [p.name for p in (tmp_path / "out").iterdir()] == [out.name]
    with zipfile.ZipFile(out) as z:
        names = z.namelist()
        assert "Tag: cp311-cp311-manylinux_2_91_x86_64\n" in z.read("treadle-0.1.0.dist-info/WHEEL").decode()
        rows = list(csv.reader(io.StringIO(z.read("treadle-0.1.0.dist-info/RECORD").decode())))
        assert [r[0] for r in rows] == names
        for name, digest, size in rows[:-1]:
            data = z.read(name)
            want = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            assert (digest, size) == (f"sha256={want}", str(len(data)))
        assert rows[-1] == ["treadle-0.1.0.dist-info/RECORD", "", ""]
        assert z.getinfo("treadle/libtreadle_llvm.so").external_attr >> 16 & 0o777 == 0o755
        assert z.read("treadle-0.1.0.dist-info/licenses/NumPy.txt") == b"as NumPy likes\n"
    again = out.read_bytes()
    built = tmp_path / "treadle-0.1.0-cp311-cp311-linux_x86_64.whl"
    assert wheel.pack(built, tmp_path / "out", set(), numpy).read_bytes() == again


@pytest.mark.parametrize("there", [True, False])
def test_what_is_packed_comes_out_again(there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    if not there:
        monkeypatch.setattr(wheel.ctypes, "CDLL", absent)
    else:
        try:
            wheel.ctypes.CDLL("libdeflate.so.0")
        except OSError:
            pytest.skip("libdeflate0 is not installed")
    text = "".join(f"def f{i}(): return {i * i}\n" for i in range(2000)).encode()
    contents = {
        "treadle/text.py": (text, 0o100644),
        "treadle/library.so": (hashlib.sha256(b"what does not get smaller").digest(), 0o100755),
        "treadle/empty": (b"", 0o100644),
        "treadle/größe": (b"x" * 100_000, 0o100600),
    }
    whole = wheel.zipped(contents)
    assert whole == wheel.zipped(contents)
    with zipfile.ZipFile(io.BytesIO(whole)) as z:
        assert z.testzip() is None
        assert z.namelist() == list(contents)
        for info in z.infolist():
            assert (z.read(info), info.external_attr >> 16) == contents[info.filename]
            assert info.date_time == (1980, 1, 1, 0, 0, 0)
        plain = zlib.compressobj(9, zlib.DEFLATED, -15)
        most = len(plain.compress(text) + plain.flush())
        assert z.getinfo("treadle/text.py").compress_size <= most


def test_a_wheel_becomes_that_of_another_python(tmp_path: Path) -> None:
    old, core = made(tmp_path), tmp_path / "_core.cpython-314-x86_64-linux-gnu.so"
    core.write_bytes(b"new")
    with zipfile.ZipFile(old, "a") as z:
        z.writestr("treadle/_core.cpython-311-x86_64-linux-gnu.so", "the old one")
    (tmp_path / "out").mkdir()
    new = wheel.adopt(old, "3.11", "3.14", core, tmp_path / "out")
    assert new.name == "treadle-0.1.0-cp314-cp314-linux_x86_64.whl"
    with zipfile.ZipFile(new) as z, zipfile.ZipFile(old) as was:
        assert z.read("treadle/_core.cpython-314-x86_64-linux-gnu.so") == b"new"
        assert len(z.namelist()) == len(was.namelist())
        assert not [n for n in z.namelist() if "311" in n]
        assert (
            z.read("treadle-0.1.0.dist-info/WHEEL") == b"Wheel-Version: 1.0\nTag: cp314-cp314-linux_x86_64\n"
        )
        assert z.read("treadle/libtreadle_llvm.so") == was.read("treadle/libtreadle_llvm.so")


# --- notices of others ---


def numpy_in(site: Path) -> Path:
    """Make what an installed NumPy has of it: a licence, with those of what its own wheel holds below."""
    (site / "numpy" / "_core" / "include").mkdir(parents=True)
    (site / "numpy-9.9.dist-info" / "licenses").mkdir(parents=True)
    licence = site / "numpy-9.9.dist-info" / "licenses" / "LICENSE.txt"
    licence.write_text("as NumPy likes\n\n----\n\nThis binary distribution also bundles\n")
    return site / "numpy" / "_core" / "include"


@pytest.fixture
def debian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which each library is of the package `the-NAME`, and has a text."""
    for name in ("libz.a", "libsleef.so.3"):
        folder = tmp_path / "doc" / f"the-{name}"
        folder.mkdir(parents=True)
        (folder / "copyright").write_text(f"as {name} likes\n")
    monkeypatch.setattr(notices, "origin_of", lambda part: Path("/lib") / part.origin)
    monkeypatch.setattr(notices, "package_of", lambda file: f"the-{file.name}")
    monkeypatch.setattr(notices, "DOCS", tmp_path / "doc")
    return tmp_path / "doc"


def unpacked(*files: str) -> dict[str, bytes]:
    head = "Metadata-Version: 2.4\nName: treadle\nLicense-Expression: BSD-3-Clause\nLicense-File: LICENSE"
    return {f"treadle/{f}": b"" for f in files} | {"i/METADATA": f"{head}\n\nText\n\nmore.\n".encode()}


def test_notices_of_what_is_inside_come_along(debian: Path, tmp_path: Path) -> None:
    contents = unpacked("libsleef.so.3", "_core.cpython-311-x86_64-linux-gnu.so", "library.py")
    notices.put(contents, "i", {"z", "m"}, {"libm.so.6"}, numpy_in(tmp_path))
    texts = {n.rpartition("/")[2]: t for n, t in contents.items() if "/licenses/" in n}
    assert texts == {
        "SLEEF.txt": b"as libsleef.so.3 likes\n",
        "zlib.txt": b"as libz.a likes\n",
        "NumPy.txt": b"as NumPy likes\n",
    }
    head, _, rest = contents["i/METADATA"].decode().partition("\n\n")
    assert rest == "Text\n\nmore.\n" and head.splitlines()[2:] == [
        "License-Expression: BSD-3-Clause AND BSL-1.0 AND Zlib",
        "License-File: LICENSE",
        "License-File: SLEEF.txt",
        "License-File: zlib.txt",
        "License-File: NumPy.txt",
    ]


@pytest.mark.parametrize(
    "files, links, name",
    [
        ((), {"z", "lzma"}, "lzma"),
        (("libsleef.so.3", "libother.so.2"), set(), "libother.so.2"),
        (("x.bc",), set(), "x.bc"),
    ],
)
def test_what_no_row_knows_is_an_error(debian: Path, tmp_path: Path, files, links, name: str) -> None:
    with pytest.raises(notices.Stop, match=f"of the licence of {name}: .*PARTS"):
        notices.put(unpacked(*files), "i", links, set(), numpy_in(tmp_path))


def test_a_notice_that_is_not_there_is_named(debian: Path, tmp_path: Path) -> None:
    (debian / "the-libz.a" / "copyright").unlink()
    with pytest.raises(notices.Stop, match=r"notice of zlib .* no .*/the-libz.a/copyright"):
        notices.put(unpacked(), "i", {"z"}, set(), numpy_in(tmp_path))
    numpy = numpy_in(tmp_path / "other")
    (tmp_path / "other" / "numpy-9.9.dist-info" / "licenses" / "LICENSE.txt").unlink()
    with pytest.raises(notices.Stop, match="NumPy's licence is not beside its headers"):
        notices.put(unpacked(), "i", set(), set(), numpy)
    (tmp_path / "xxhash.h").write_text("#pragma once\n/* Copyright by somebody */\n")
    with pytest.raises(notices.Stop, match="xxhash.h does not begin with a notice"):
        notices.head_of(tmp_path / "xxhash.h")


def test_a_wheel_says_its_own_licence(debian: Path, tmp_path: Path) -> None:
    contents = {"i/METADATA": b"Metadata-Version: 2.1\nName: treadle\n\nText\n"}
    with pytest.raises(notices.Stop, match="under which licence"):
        notices.put(contents, "i", set(), set(), numpy_in(tmp_path))


def test_what_every_user_loads_needs_no_library_but_the_c_library() -> None:
    """Seen where a change is made, not first where wheels are."""
    core = Path(treadle._core.__file__)
    libraries = {t for t in wheel.needs(core)[0] if not re.match(r"libpython|lib[aut]+san", t)}
    assert libraries and libraries <= wheel.ALWAYS_THERE


def test_the_notice_of_a_header_is_what_it_begins_with(tmp_path: Path) -> None:
    header = tmp_path / "a.h"
    header.write_text("/* a.h */\n/* Copyright\n * somebody */\n/* what it is for */\n#pragma once\n")
    assert notices.head_of(header) == "/* a.h */\n/* Copyright\n * somebody */\n"


def test_what_is_linked_is_read_from_the_build(tmp_path: Path) -> None:
    (tmp_path / "build.ninja").write_text(
        "build libtreadle_llvm.so: cpp_LINKER a.o | libtr_base.a /opt/libextra.a\n"
        " LINK_ARGS = -Wl,--as-needed -lLLVMCore libtr_base.a -l:libz.a -static-libgcc -lm\n"
        "build clc: c_LINKER b.o\n"
        " LINK_ARGS = -lLLVM-19\n"
        "build _core.cpython-311-x86_64-linux-gnu.so: c_LINKER c.o\n"
        " ARGS = -lno\n"
        " LINK_ARGS = -ldl\n"
    )
    assert notices.linked(tmp_path) == {"", "extra", "LLVMCore", "z", "gcc", "m", "dl"}
    with pytest.raises(notices.Stop, match="What is linked"):
        notices.linked(tmp_path / "no")


def test_this_machine_has_all_notices() -> None:
    """What a wheel is made of here is found by the packages that installed it."""
    if not shutil.which("dpkg-query"):
        pytest.skip("the notices are Debian's, and there is no dpkg-query")
    here = [p for p in notices.PARTS if notices.origin_of(p).is_file()]
    assert {"LLVM", "SLEEF", "zlib", "zstd", "GCC"} <= {p.name for p in here}
    texts = {p.name: notices.notice(p).decode() for p in here}
    for name, words in {
        "LLVM": [
            "LLVM Exceptions",
            "TERMS AND CONDITIONS",
            "xxHash",
            "Unicode, Inc.",
            "Peslyak",
            "Henry Spencer",
        ],
        "SLEEF": ["Boost Software License"],
        "zlib": ["Mark Adler"],
        "zstd": ["Yann Collet"],
        "GCC": ["GCC RUNTIME LIBRARY EXCEPTION", "GNU GENERAL PUBLIC LICENSE"],
    }.items():
        assert not [w for w in words if w not in texts[name]], name
    with pytest.raises(notices.Stop, match="from no package"):
        notices.package_of(Path(__file__))


def test_stray_files_of_an_installation_are_found(tmp_path: Path) -> None:
    packed = made(tmp_path)
    before, site = {"bin/python"}, "lib/python3.11/site-packages"
    fine = {f"{site}/treadle/__init__.py", f"{site}/treadle-0.1.0.dist-info/INSTALLER"}
    assert not wheel.stray(before, before | fine, packed)
    assert wheel.stray(before, before | fine | {"bin/treadlec"}, packed) == {"bin/treadlec"}


# --- what stays out of LLVM ---


def test_functions_of_members_that_stay_out_are_defined() -> None:
    wanted = trim.read_list(
        "# a comment\n\nipo One never\nipo Two idle\nipo Three none\nipo Four off\nipo Five never\nipo Gone never\n"
    )
    found = {
        ("ipo", "One"): [
            ("T", "_ZN4llvm3oneEv", 4),
            ("T", "_ZN4llvm17initializeOnePassERNS_12PassRegistryE", 4),
        ],
        ("ipo", "Two"): [
            ("T", "_ZN4llvm7TwoPass3runERNS_6ModuleE", 4),
            ("T", "_ZN4llvm7TwoPassC2Ev", 4),
            ("T", "_ZN4llvm7TwoPassC2Ei", 4),
            ("W", "inline", 4),
            ("D", "_ZN4llvm3Two2IDE", 1),
        ],
        ("ipo", "Three"): [("T", "three", 4), ("D", "variable", 8)],
        ("ipo", "Four"): [
            ("T", "four", 4),
            ("B", "option", 0x258),
            ("T", "_ZN4llvm4Four3runERNS_6ModuleERNS_15AnalysisManagerIS1_JEEE", 4),
        ],
        ("ipo", "Five"): [("T", "five", 4), ("B", "other_option", 0xC0)],
        ("Core", "User"): [
            ("U", n, 0) for n in ("_ZN4llvm3oneEv", "variable", "option", "other_option", "_ZN4llvm3Two2IDE")
        ],
    }
    made, kept = trim.stubs(wanted, found)
    assert sorted(kept) == ["ipo/Five", "ipo/Three"]
    assert set(made) == {
        "_ZN4llvm3oneEv",
        "_ZN4llvm17initializeOnePassERNS_12PassRegistryE",
        "_ZN4llvm7TwoPass3runERNS_6ModuleE",
        "_ZN4llvm7TwoPassC2Ev",
        "_ZN4llvm7TwoPassC2Ei",
        "_ZN4llvm3Two2IDE",
        "_ZN4llvm4Four3runERNS_6ModuleERNS_15AnalysisManagerIS1_JEEE",
        "four",
        "option",
    }
    text = trim.assembly(made)
    parts = {m[1]: m[2] for m in re.finditer(r"(?m)^(\S+):\n((?: {4}[^.].*\n)*)", text)}
    nothing = ["xorl", "%eax,", "%eax", "ret"]
    assert "tr_llvm_left_out" in parts["_ZN4llvm3oneEv"]
    assert "tr_llvm_left_out" in parts["four"]
    assert "tr_llvm_idle_pass" in parts["_ZN4llvm4Four3runERNS_6ModuleERNS_15AnalysisManagerIS1_JEEE"]
    assert parts["_ZN4llvm17initializeOnePassERNS_12PassRegistryE"].split() == nothing
    assert "tr_llvm_idle_pass" in parts["_ZN4llvm7TwoPass3runERNS_6ModuleE"]
    assert parts["_ZN4llvm7TwoPassC2Ev"].split() == nothing
    assert "tr_llvm_left_out" in parts["_ZN4llvm7TwoPassC2Ei"]
    assert f"option: .zero {0x258}\n" in text
    subprocess.run(["as", "-", "-o", "/dev/null"], input=text, text=True, check=True)


def test_what_is_left_out_is_said_once() -> None:
    rows = [
        line.split()
        for line in (ROOT / "src/jit/left_out.txt").read_text().splitlines()
        if line.strip() and not line.startswith("#")
    ]
    assert all(len(r) == 3 and r[2] in trim.BODY for r in rows)
    assert len({tuple(r[:2]) for r in rows}) == len(rows)
