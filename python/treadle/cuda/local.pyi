"""Memory of each thread's own."""

from typing import Any

import numpy as np

from ._typing import DType, Shape

def array(shape: Shape, dtype: DType, alignment: int | None = None) -> np.ndarray[Any, Any]: ...
