"""What a module's programs give without a pass, for comparison with what they give with it."""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any


def with_and_without(module: str, skip: str, tmp_path: Path) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Return ``outcomes()`` of a module of tests here, and in a process that leaves these passes out; those that differ are told by their keys."""
    path = tmp_path / "without"
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import {module} as t, pickle; "
        f"pickle.dump(t.outcomes(), open({str(path)!r}, 'wb'))"
    )
    subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "TREADLE_SKIP": skip}, check=True, timeout=300
    )
    with_it, without = importlib.import_module(module).outcomes(), pickle.loads(path.read_bytes())
    assert with_it.keys() == without.keys()
    return with_it, without
