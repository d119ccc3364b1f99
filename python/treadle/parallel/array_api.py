"""The functions of the array API standard (2024.12) that lazy arrays have: ``x.__array_namespace__()``.

All of them make nodes. What they mean is what NumPy's functions of the same names mean; of what the standard has beyond these, a name is missing
here, and getting it is an AttributeError. ``bool()``, ``float()`` and ``int()`` evaluate, as the standard lets lazy libraries do.
"""

from __future__ import annotations

from typing import Any

from treadle.parallel._standard import argsort, asarray, astype, can_cast, from_dlpack, result_type, sort
from treadle.parallel._standard import found as _found
from treadle.parallel._standard import info as __array_namespace_info__

__array_api_version__ = "2024.12"


def __getattr__(name: str) -> Any:
    raise AttributeError(f"lazy arrays have no function {name!r} of the array API")


_NAMES = _found()
__all__ = [
    "__array_api_version__",
    "__array_namespace_info__",
    "argsort",
    "asarray",
    "astype",
    "can_cast",
    "from_dlpack",
    "result_type",
    "sort",
    *_NAMES,
]
globals().update(_NAMES)
