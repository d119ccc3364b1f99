"""Arrays that are part of the kernel."""

from typing import Any

import numpy as np

def array_like(ndarray: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]: ...
