"""A Debian root in a folder, with the CPythons that this machine lacks, and the project's commands run inside it.

    python3 tools/root.py DIR                 make it, or bring it up to date
    TREADLE_ROOT=DIR make test-all            use it

It needs root, debootstrap, and Debian's package mirror as this machine's apt is set up for it; two minutes and 1 GB, 3 GB
with what builds install. It is a chroot, and nothing stays mounted in it: to be rid of it, delete the folder. Packages that a build needs are installed
inside by the build itself (devenv.py).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
from pathlib import Path

import devenv
from devenv import ROOT, SUPPORTED, Interpreter, Stop, run, say

SUITE = "sid"  # the newest CPythons come here first
MARK = "treadle-root"  # the file that says that we made a folder, and how far
BASE = ("make", "git", "ccache")


# --- making it ----------------------------------------------------------------------------------------------------


def mirror() -> str:
    """Return the address of Debian's archive in this machine's own apt configuration."""
    ask = [
        "apt-get",
        "indextargets",
        "--format",
        "$(ORIGIN)|$(LABEL)|$(REPO_URI)",
        "Created-By: Packages",
    ]
    for update in (False, True):  # what a list is of stands in the list, which may not be there yet
        if update:
            run(["apt-get", "update", "-q"], check=False)
        lines = subprocess.run(ask, capture_output=True, text=True).stdout.splitlines()
        found = [
            uri for origin, label, uri in (t.split("|") for t in lines) if (origin, label) == ("Debian",) * 2
        ]
        if found:
            return found[0]
    raise Stop("apt on this machine knows no mirror of Debian, so a Debian root cannot be made here.")


def apt_settings() -> str:
    """Return how this machine reaches its mirror (proxies, certificates, dates), as an apt configuration."""
    dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True).stdout
    wanted = re.compile(r"Acquire::(http|https|ftp|Retries|Check-|Max-)", re.I)
    return "".join(f"{line}\n" for line in dump.splitlines() if wanted.match(line))


def need_debootstrap() -> None:
    """Make sure that a root can be made here, else `Stop`."""
    if os.geteuid() != 0:
        raise Stop("Making a Debian root needs root: run this as root.")
    if not shutil.which("apt-get"):
        raise Stop("This is not a Debian system: a Debian root is made with apt and debootstrap.")
    if not shutil.which("debootstrap"):
        say("Installing debootstrap.")
        run(["apt-get", "update", "-q"], check=False)
        line = ["apt-get", "install", "-y", "-q", "--no-install-recommends", "debootstrap"]
        if run(line, env=dict(os.environ, DEBIAN_FRONTEND="noninteractive"), check=False) != 0:
            raise Stop("debootstrap is missing and could not be installed: apt-get install debootstrap")


def copy_network(root: Path) -> None:
    """Give the root this machine's way into the network: resolver, certificates, package index."""
    files = ["/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt"]
    for f in map(Path, files):
        if f.is_file():
            target = root / f.relative_to("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            shutil.copyfile(f, target)
    for folder in map(Path, os.environ.get("PIP_FIND_LINKS", "").split()):
        if folder.is_dir():
            shutil.copytree(folder, root / folder.relative_to("/"), dirs_exist_ok=True)
    (root / "etc/apt/apt.conf.d/90machine").write_text(apt_settings())


def logged(line: list[str], root: Path, env: dict[str, str], failure: str) -> None:
    """Run a chatty command with its output in a file beside the root; `Stop` with the end of it when it fails."""
    log = Path(f"{root}.log")
    with open(log, "a") as out:
        code = subprocess.call(line, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
    if code != 0:
        last = "\n    ".join(log.read_text(errors="replace").splitlines()[-5:])
        raise Stop(f"{failure}; the end of {log}:\n    {last}")


def strap(root: Path) -> None:
    """Install the base system, unless it is there. A folder that is not ours is left alone."""
    mark = root / MARK
    state = mark.read_text() if mark.exists() else ""
    if state == SUITE:
        return
    if root.exists() and any(root.iterdir()) and not state:
        raise Stop(f"{root} exists and was not made by this script; name another folder, or delete it.")
    archive = mirror()
    shutil.rmtree(root, ignore_errors=True)  # nothing, or what an interrupted run left
    root.mkdir(parents=True)
    mark.write_text("unfinished")
    say(f"Installing Debian {SUITE} into {root}.")
    line = ["debootstrap", "--variant=minbase", "--include=ca-certificates", SUITE, str(root), archive]
    logged(line, root, dict(os.environ), "debootstrap could not make the root")
    mark.write_text(SUITE)


def make(root: Path, versions: tuple[str, ...]) -> None:
    """Make the root, or bring it up to date, with those of these CPythons that Debian has."""
    need_debootstrap()
    with devenv.locked(Path(f"{root}.lock")):
        strap(root)
        copy_network(root)
        inside = devenv.enter(root)
        env = dict(devenv.root_env(), DEBIAN_FRONTEND="noninteractive")
        if run([*inside, "true"], env=env, check=False) != 0:
            raise Stop(
                f"{root} cannot be entered: this container may neither mount /proc in there nor chroot."
            )
        logged(
            [*inside, "apt-get", "update", "-q"], root, env, "Debian's mirror cannot be reached from the root"
        )
        known = subprocess.run(
            [*inside, "apt-cache", "pkgnames", "python3."], capture_output=True, text=True, env=env
        )
        names = set(known.stdout.split())
        wanted = [p for v in versions for p in (f"python{v}-dev", f"python{v}-venv") if p in names]
        say(f"Installing {', '.join([*BASE, *wanted])} in {root}.")
        line = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *BASE, *wanted]
        logged([*inside, *line], root, env, "apt-get could not install everything in the root")
        copy_network(root)  # a package may have made its own list of certificates


# --- using it -----------------------------------------------------------------------------------------------------


def place(tree: Path) -> Path:
    """Return where the copy of a tree lies, as seen from inside a root."""
    return Path("/trees") / tree.relative_to("/")


def copy_tree(root: Path) -> Path:
    """Bring the files of this tree into the root where they changed; return where they are, as seen from inside."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode != 0:
        raise Stop(
            f"{ROOT} is no git clone, so what belongs to it is not known: clone it to test it in {root}."
        )
    inside = place(ROOT)
    base = root / inside.relative_to("/")
    base.mkdir(parents=True, exist_ok=True)
    names = {n for n in listed.stdout.split("\0") if n and (ROOT / n).is_file()}
    manifest = base / ".treadle-files"
    for gone in set(manifest.read_text().split("\0") if manifest.exists() else ()) - names - {""}:
        (base / gone).unlink(missing_ok=True)
    for name in names:
        source, target = ROOT / name, base / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not (target.exists() and _same(source, target)):
            shutil.copy2(source, target)
    manifest.write_text("\0".join(sorted(names)))
    return inside


def _same(a: Path, b: Path) -> bool:
    x, y = a.stat(), b.stat()
    return (x.st_mtime_ns, x.st_size, x.st_mode) == (y.st_mtime_ns, y.st_size, y.st_mode)


def dev(py: Interpreter, args: list[str]) -> int:
    """Run a command of dev.py with an interpreter that lives in a root, on a copy of this tree in there."""
    tree = copy_tree(py.root)
    copy_network(py.root)
    env = devenv.root_env()
    # What .ci/run collects comes out by files of the same names beside the tree.
    passed_on = {n: tree / f".{n.lower()}" for n in ("TREADLE_TALLY", "TREADLE_NOTES") if n in os.environ}
    for name, path in passed_on.items():
        (py.root / path.relative_to("/")).write_text("")
        env[name] = str(path)
    code = run(
        [*devenv.enter(py.root, tree), py.path, "tools/dev.py", args[0], "--python", py.path, *args[1:]],
        env=env,
        check=False,
    )
    for name, path in passed_on.items():
        with open(os.environ[name], "a") as f:
            f.write((py.root / path.relative_to("/")).read_text())
    return code


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dir", type=Path, help="where the root is, or shall be")
    parser.add_argument(
        "versions",
        nargs="*",
        help=f"CPythons to install; those of {', '.join(SUPPORTED)} that this machine lacks if none are named",
    )
    a = parser.parse_args()
    root = a.dir.resolve()
    lacking = [v for v in SUPPORTED if not devenv.find(v, roots=False)]
    make(root, tuple(a.versions or lacking))
    found = [p.version for v in SUPPORTED if (p := devenv.find_in_root(root, v))]
    say(f"{root} has CPython {', '.join(found)}. To use it: TREADLE_ROOT={root} make test-all")
    return 0


if __name__ == "__main__":
    devenv.main_guard(main)
