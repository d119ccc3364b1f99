"""``python -m treadle cache``: the compiled code that ``cache=True`` has kept, listed and removed.

Files that the cache did not make are never touched, whatever their names; other processes may read and write entries meanwhile. The age of an entry is that of its
last use, which is noted once a day.
"""

from __future__ import annotations

import os
import sys
import time
from typing import NamedTuple

__all__ = ["clean", "show"]

_A_DAY = 24 * 60 * 60
_LEFT = 60 * 60  # a file that nobody has finished in that many seconds was left by a process that ended


class _Entry(NamedTuple):
    """A file of the cache's: what code it holds, or that it is another version's or a broken one."""

    path: str
    title: str
    where: str
    size: int
    used: float
    is_whole: bool  # else it is a file that a process is writing, or has left


def _entries(folder: str) -> list[_Entry]:
    """What the cache has in its folder, the latest used first; other files are left out."""
    from . import _core

    found = []
    with os.scandir(folder) as files:
        for f in files:
            what = _core._cache_file(folder, f.name)
            try:
                stat = f.stat(follow_symlinks=False)
            except FileNotFoundError:  # removed since
                continue
            if what is None:
                continue
            title, file, line = (
                what if isinstance(what, tuple) else ("(of another version, or broken)", "", 0)
            )
            where = f"{file}:{line}" if file else ""
            found.append(_Entry(f.path, title, where, stat.st_size, stat.st_mtime, what != "new"))
    return sorted(found, key=lambda e: (-e.used, e.title))


def _folder() -> tuple[str, str]:
    """Where the cache is, or ``""``; and why there is nothing to show."""
    from . import _core

    about = _core._about()
    folder, why = about["cache"], about["no_cache"]
    if why or not folder:
        return "", why or ""
    return folder, "" if os.path.isdir(folder) else f"{folder} is not there yet"


def _sum(entries: list[_Entry]) -> str:
    n = len(entries)
    return f"{n} {'entry' if n == 1 else 'entries'}, {sum(e.size for e in entries) / 1e6:.2f} MB"


def _ago(seconds: float) -> str:
    for size, what in ((_A_DAY, "day"), (60 * 60, "hour"), (60, "minute")):
        if seconds >= size:
            n = int(seconds / size)
            return f"{n} {what}{'s' * (n > 1)} ago"
    return "now"


def _say(text: str, to_stderr: bool = False) -> None:
    """Print what may hold any file's name."""
    stream = sys.stderr if to_stderr else sys.stdout
    coding = stream.encoding or "utf-8"
    print(text.encode(coding, "backslashreplace").decode(coding), file=stream)


def show() -> int:
    """Print the entries of the cache; the exit status is 1 where it cannot be used."""
    folder, why = _folder()
    if why:
        _say(f"treadle cache: {why}", to_stderr=not folder)
        return 0 if folder else 1
    entries = [e for e in _entries(folder) if e.is_whole]
    _say(f"{folder}: {_sum(entries)}")
    now = time.time()
    rows = [(_ago(now - e.used), f"{e.size / 1e3:.1f} kB", e.title, e.where) for e in entries]
    widths = [max((len(row[k]) for row in rows), default=0) for k in range(3)]
    for used, size, title, where in rows:
        _say(f"{used:>{widths[0]}}  {size:>{widths[1]}}  {title:<{widths[2]}}  {where}".rstrip())
    return 0


def clean(days: float | None) -> int:
    """Remove all entries, or those that were not used for some days; the exit status is 1 where one could not be removed, or the cache cannot be used."""
    folder, why = _folder()
    if why:
        _say(f"treadle cache: {why}", to_stderr=not folder)
        return 0 if folder else 1
    gone, kept, failed = [], [], 0
    before = time.time() - (days or 0) * _A_DAY
    for e in _entries(folder):
        try:
            used = os.stat(e.path, follow_symlinks=False).st_mtime  # somebody may have used it since
            if used > time.time() - _LEFT if not e.is_whole else days is not None and used > before:
                kept.append(e)
                continue
            os.unlink(e.path)
            gone.append(e)
        except FileNotFoundError:  # by another process
            continue
        except OSError as error:
            _say(f"treadle cache: {error}", to_stderr=True)
            kept.append(e)
            failed = 1
    stay = [e for e in kept if e.is_whole]
    _say(f"{folder}: removed {_sum(gone)}" + (f"; {_sum(stay)} stay" if stay else ""))
    return failed
