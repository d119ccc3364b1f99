"""List the names that Numba has: ``numba_names.py`` under a Python that has Numba.

    python3 -m venv /tmp/numba && /tmp/numba/bin/pip install numba==0.68.1 && /tmp/numba/bin/python tools/numba_names.py

Writes python/treadle/_numba_names.txt: a module a line, without ``numba.``, and its names; ``*`` where the module cannot be imported here, so that nobody
knows. ``python -m treadle run`` tells by it what a program may ask for and Treadle lacks from what is not there at all. Tests of Numba's are left out.
"""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from pathlib import Path
from typing import Iterator

import numba

TARGET = Path(__file__).resolve().parent.parent / "python" / "treadle" / "_numba_names.txt"


def names_of(module: str) -> list[str]:
    """The names of a module but those that all modules have."""
    try:
        m = importlib.import_module(module)
    except Exception:  # something that it needs is not installed
        return ["*"]
    found = {
        *dir(m),
        *getattr(m, "_delayed_symbols", ()),
    }  # numba.typed makes its names when they are asked for
    return sorted(name for name in found if not name.startswith("__"))


def modules(package: str) -> Iterator[str]:
    """The package and all modules in it."""
    yield package
    for m in pkgutil.iter_modules(importlib.import_module(package).__path__, package + "."):
        if m.name.endswith((".tests", ".__main__")):
            continue
        if m.ispkg:
            yield from modules(m.name)
        else:
            yield m.name


def main() -> None:
    """Write the file."""
    warnings.simplefilter("ignore")
    found = sorted(modules("numba"))
    for module in found:  # which adds names to packages
        names_of(module)
    lines = [f"# Numba {numba.__version__}; made by tools/numba_names.py"]
    lines += [" ".join([m.removeprefix("numba").lstrip(".") or ".", *names_of(m)]) for m in found]
    TARGET.write_text("\n".join(lines) + "\n")
    print(f"{TARGET.name}: {len(found)} modules")


if __name__ == "__main__":
    main()
