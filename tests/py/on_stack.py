"""Threads with a stack of a given size."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


def on_stack(kib: int, work: Callable[[], Any]) -> Any:
    """What `work()` returns, or the RecursionError that ended it, on a thread with a stack of so many KiB."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(work())
        except RecursionError as e:
            found.append(e)

    old = threading.stack_size(kib << 10)
    try:
        t = threading.Thread(target=run)
        t.start()
    finally:
        threading.stack_size(old)
    t.join()
    return found[0]
