"""A CPython 3.14 without the GIL (3.14t) in a folder, built from the source package of Debian.

    python3 tools/freethreaded.py DIR                   make it, unless it is there
    python3 tools/freethreaded.py DIR --test            then test Treadle with it: threads many times over, and a slice of the suite
    TREADLE_FREETHREADED=DIR make test-all              the same among all other Pythons
    PYTHON=DIR/bin/python3.14t make build               any other command

Debian has no package of such a build, but the archive has the sources. It needs Debian's package mirror as this machine's apt
is set up for it, and root for packages that a build of CPython needs, if they are missing; ten minutes on two cores, 500 MB. To be
rid of it, delete the folder.
"""

from __future__ import annotations

import argparse
import lzma
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import devenv
from devenv import FREE_THREADED, Stop, run, say
from root import SUITE, logged, mirror

import dev

VERSION = FREE_THREADED[0]
SERIES = VERSION.removesuffix("t")
MARK = "treadle-freethreaded"  # the file that says that we made a folder, and how far
PACKAGES = ("gcc", "libc6-dev", "make", "xz-utils", "zlib1g-dev", "libssl-dev", "libffi-dev")
APT_HELPER = "/usr/lib/apt/apt-helper"  # fetches as apt does: its proxies, its certificates


def need_packages() -> None:
    """Make sure of what a build of CPython needs, else `Stop`."""
    if not (shutil.which("apt-get") and os.path.exists(APT_HELPER)):
        raise Stop("This is not a Debian system: the sources are fetched with apt.")
    ask = ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *PACKAGES]
    rows = subprocess.run(ask, capture_output=True, text=True).stdout.split("\n")
    missing = [p for p in PACKAGES if f"{p} installed" not in rows]
    if not missing:
        return
    line = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    if os.geteuid() != 0:
        raise Stop(
            f"A build of CPython needs packages.\nRun this as root, then try again:\n    {' '.join(line)}"
        )
    say(f"Installing what a build of CPython needs: {', '.join(missing)}.")
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    run(["apt-get", "update", "-q"], env=env, check=False)
    run(line, env=env)


# --- the sources --------------------------------------------------------------------------------------------------


def fetch(address: str, to: Path) -> bool:
    """Download one file of the mirror; false when it does not have it."""
    done = subprocess.run([APT_HELPER, "download-file", address, str(to)], capture_output=True, text=True)
    if done.returncode != 0 and " 404 " not in done.stdout + done.stderr:
        last = "\n    ".join(done.stderr.splitlines()[-5:])
        raise Stop(f"{address} could not be fetched:\n    {last}")
    return done.returncode == 0


def listed(index: str) -> int:
    """Return the newest patch version of the series in an index of sources."""
    stanza = rf"^Package: python{re.escape(SERIES)}$(?:\n.+)*?\nVersion: {re.escape(SERIES)}\.(\d+)-"
    found = [int(m) for m in re.findall(stanza, index, re.M)]
    if not found:
        raise Stop(f"Debian {SUITE} lists no sources of a released Python {SERIES}.")
    return max(found)


def candidates(archive: str, newest: int) -> Iterator[tuple[str, str]]:
    """Yield versions and addresses of their sources, the newest first: a mirror may lack what its index lists, and keep older ones."""
    for patch in range(newest, -1, -1):
        version = f"{SERIES}.{patch}"
        name = f"python{SERIES}_{version}.orig.tar.xz"
        yield version, f"{archive.rstrip('/')}/pool/main/p/python{SERIES}/{name}"


def get_sources(work: Path, fetch: Callable[[str, Path], bool] = fetch) -> tuple[str, Path]:
    """Fetch and unpack the newest sources that the mirror really has; return their version and folder."""
    archive, index, tarball = mirror(), work / "Sources.xz", work / "python.tar.xz"
    if not fetch(f"{archive.rstrip('/')}/dists/{SUITE}/main/source/Sources.xz", index):
        raise Stop(f"The mirror {archive} has no index of sources of Debian {SUITE}.")
    newest = listed(lzma.decompress(index.read_bytes()).decode(errors="replace"))
    for version, address in candidates(archive, newest):
        if fetch(address, tarball):
            break
    else:
        raise Stop(f"{archive} lists Python {SERIES}.{newest}, but has the sources of no Python {SERIES}.")
    say(f"Building Python {version} (the mirror lists {SERIES}.{newest}).")
    with tarfile.open(tarball) as t:
        t.extractall(work / "source", **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return version, next((work / "source").glob("*/configure")).parent


# --- the build ----------------------------------------------------------------------------------------------------


def build(source: Path, folder: Path) -> None:
    """Configure, compile and install CPython without the GIL, with pip."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PIP_TARGET", "VIRTUAL_ENV"))}
    here = source.parent.parent / "build"
    here.mkdir()
    cc = "ccache gcc" if shutil.which("ccache") else "gcc"
    options = ["--disable-gil", f"--prefix={folder}", "--disable-test-modules", "--with-ensurepip=install"]
    steps = {
        "configured": [str(source / "configure"), *options, f"CC={cc}", "CFLAGS=-O2"],
        "compiled": ["make", f"-j{min(devenv.jobs(), 2)}"],
        "installed": ["make", "install"],
    }
    for done, line in steps.items():
        logged(["env", "-C", str(here), *line], folder, env, f"CPython could not be {done}")


def checked(folder: Path) -> devenv.Interpreter:
    """Return the interpreter in there if it is what it should be, else `Stop`."""
    program = folder / "bin" / f"python{VERSION}"
    py = devenv.probe(program)
    code = "import ctypes, pip, ssl, zlib"
    if not py or py.version != VERSION or run([program, "-c", code], check=False) != 0:
        raise Stop(f"{program} is not a whole Python {VERSION}; delete {folder} and try again.")
    return py


def make(folder: Path) -> None:
    """Build the interpreter into a folder, unless it is there. A folder that is not ours is left alone."""
    mark, work = folder / MARK, Path(f"{folder}.build")
    state = mark.read_text() if mark.exists() else ""
    if folder.exists() and any(folder.iterdir()) and not state:
        raise Stop(f"{folder} exists and was not made by this script; name another folder, or delete it.")
    if state and state != "unfinished":
        say(f"{folder} has Python {state} already.")
        return
    need_packages()
    for old in (folder, work):  # nothing, or what an interrupted run left
        shutil.rmtree(old, ignore_errors=True)
    work.mkdir(parents=True)
    folder.mkdir(parents=True)
    mark.write_text("unfinished")
    version, source = get_sources(work)
    build(source, folder)
    checked(folder)
    mark.write_text(version)
    shutil.rmtree(work)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dir", type=Path, help="where the interpreter is, or shall be")
    parser.add_argument("--test", action="store_true", help="test Treadle with it, the GIL off")
    a = parser.parse_args()
    folder = a.dir.resolve()
    with devenv.locked(Path(f"{folder}.lock")):
        make(folder)
        py = checked(folder)
    if a.test:
        return dev.test_without_gil(py, [])
    say(f"To test with it: TREADLE_FREETHREADED={folder} make test-all")
    return 0


if __name__ == "__main__":
    devenv.main_guard(main)
