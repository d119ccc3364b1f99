"""What the system must have for a build (tools/needs.py): each thing is hidden, and told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import devenv  # noqa: E402
import needs  # noqa: E402


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)
    return str(path)


def blind(folder: Path, name: str) -> str:
    """A compiler that finds no file of this name."""
    refuse = f'case " $* " in *{name}*) echo "ld: error: cannot find {name}" >&2; exit 1;; esac\n'
    return script(folder / "blind-cc", refuse + 'exec gcc "$@"\n')


def lacks(cc: str, llvm_config: str = devenv.LLVM_CONFIG, **how: bool) -> list[tuple[str, str]]:
    return [tuple(x) for x in needs.missing([cc], llvm_config, **how)]


def test_nothing_is_missing_here() -> None:
    assert lacks("gcc") == [] and needs.python_lacks("") == []


@pytest.mark.parametrize(
    "name, package, what",
    [
        ("libz.a", "zlib1g-dev", "zlib's static library libz.a"),
        ("libzstd.a", "libzstd-dev", "zstd's static library libzstd.a"),
        ("libsleef", "libsleef-dev", "SLEEF"),
    ],
)
def test_a_library_that_is_missing(tmp_path: Path, name: str, package: str, what: str) -> None:
    cc = blind(tmp_path, name)
    ((found, said),) = lacks(cc)
    assert found == package and said.startswith(what)
    assert lacks(cc, static=False, sleef=False) == []


def test_what_no_list_has_is_what_the_linker_says(tmp_path: Path) -> None:
    ((package, said),) = lacks(blind(tmp_path, "-lrt"))
    assert package == "" and said.startswith("something that LLVM") and said.endswith("cannot find -lrt")
    assert lacks(blind(tmp_path, "-lrt"), link=False) == []


@pytest.mark.parametrize(
    "answers, what",
    [
        (None, "development files"),
        ("--includedir) echo /nowhere;;", "headers (there is no /nowhere/llvm-c/Core.h)"),
        ("--link-static) exit 1;;", "static libraries, in /"),
    ],
)
def test_a_part_of_llvm_that_is_missing(tmp_path: Path, answers: str | None, what: str) -> None:
    config = str(tmp_path / "llvm-config-21")
    if answers:
        script(
            tmp_path / "llvm-config-21", f'case $1 in {answers} *) exec {devenv.LLVM_CONFIG} "$@";; esac\n'
        )
    ((package, said),) = lacks("gcc", config)
    assert package == "llvm-21-dev" and said.startswith("LLVM 21's ") and what in said


def test_what_python_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "numpy").mkdir()
    (tmp_path / "numpy" / "_numpyconfig.h").write_text("#define NPY_ABI_VERSION 0x01000009\n")
    ((package, said),) = needs.python_lacks(str(tmp_path))
    assert package == "" and said.startswith("the headers of NumPy 2 ") and "pip install" in said
    (tmp_path / "numpy" / "_numpyconfig.h").write_text("#define NPY_ABI_VERSION 0x02000000\n")
    assert needs.python_lacks(str(tmp_path)) == []
    monkeypatch.setattr(needs.sysconfig, "get_path", lambda name: "/nowhere")
    version = "%d.%d" % sys.version_info[:2]
    for program, wanted in (("/usr/bin/python3", f"python{version}-dev"), ("/opt/python/bin/python3", "")):
        monkeypatch.setattr(needs.sys, "_base_executable", program, raising=False)
        monkeypatch.setattr(needs.os.path, "realpath", lambda p: p)
        ((package, said),) = needs.python_lacks(str(tmp_path))
        assert (
            package == wanted and said == f"the headers of Python {version} (there is no /nowhere/Python.h)"
        )


def test_what_can_be_installed_is_one_line() -> None:
    said = needs.told([needs.Lack("b-dev", "B"), needs.Lack("", "C"), needs.Lack("a-dev", "A")])
    assert said.splitlines() == [
        "Treadle cannot be built here. Missing:",
        "  - B",
        "  - C",
        "  - A",
        "On Debian and Ubuntu, as root:",
        "  apt-get install -y --no-install-recommends a-dev b-dev",
    ]
    assert "Debian" not in needs.told([needs.Lack("", "C")])


def test_meson_tells_it_before_it_builds(tmp_path: Path) -> None:
    env = {**os.environ, "CC": blind(tmp_path, "libzstd.a"), "CCACHE_DISABLE": "1"}
    setup = [sys.executable, "-m", "mesonbuild.mesonmain", "setup", tmp_path / "build", ROOT]
    options = [f"-Dllvm_config={devenv.LLVM_CONFIG}", "-Dtests=false"]
    r = subprocess.run([*setup, *options], capture_output=True, text=True, env=env)
    assert r.returncode != 0 and "  - zstd's static library libzstd.a" in r.stdout, r.stdout
    assert "apt-get install -y --no-install-recommends libzstd-dev" in r.stdout
    assert not (tmp_path / "build" / "build.ninja").exists()
