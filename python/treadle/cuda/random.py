"""Random numbers in kernels: the generator xoroshiro128+, a state for each thread, with the names and the values of ``numba.cuda.random``.

>>> from treadle import cuda
>>> from treadle.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float64
>>> @cuda.jit
... def fill(states, out):
...     i = cuda.grid(1)
...     if i < out.size:
...         out[i] = xoroshiro128p_uniform_float64(states, i)

The algorithms are published: xoroshiro128+ by D. Blackman and S. Vigna (2016, rotations by 55, 14 and 36), seeded by splitmix64 by S. Vigna (2015).
States lie 2**64 numbers apart. A state is a record of two words.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from .._core import Function
from ..decorators import _flags
from ..types import as_type, float32, uint64  # type: ignore[attr-defined]
from ._array import DeviceNDArray, move, on_device
from ._interop import settle
from ._memory import device_array

__all__ = [
    "create_xoroshiro128p_states",
    "init_xoroshiro128p_state",
    "init_xoroshiro128p_states",
    "xoroshiro128p_dtype",
    "xoroshiro128p_jump",
    "xoroshiro128p_next",
    "xoroshiro128p_normal_float32",
    "xoroshiro128p_normal_float64",
    "xoroshiro128p_type",
    "xoroshiro128p_uniform_float32",
    "xoroshiro128p_uniform_float64",
]

xoroshiro128p_dtype = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)
"""A state."""

xoroshiro128p_type = as_type(xoroshiro128p_dtype)
"""The type of a state, in signatures."""

_TWO_PI_32 = np.float32(2 * math.pi)
_TWO_PI_64 = 2 * math.pi

P = ParamSpec("P")
R = TypeVar("R")


def _device(fn: Callable[P, R]) -> Function[P, R]:
    return Function(fn, _flags({"error_model": "numpy"}), {})


@_device
def init_xoroshiro128p_state(states: Any, index: Any, seed: Any) -> None:
    """Make the state at ``index`` of a seed of 64 bits, by splitmix64."""
    z = uint64(seed) + uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> 30)) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> 27)) * uint64(0x94D049BB133111EB)
    z = z ^ (z >> 31)
    states[index]["s0"] = z
    states[index]["s1"] = z


@_device
def xoroshiro128p_next(states: Any, index: Any) -> Any:
    """The next uint64 of the generator at ``index``."""
    s0 = states[index]["s0"]
    s1 = states[index]["s1"]
    s1x = s1 ^ s0
    states[index]["s0"] = ((s0 << 55) | (s0 >> 9)) ^ s1x ^ (s1x << 14)
    states[index]["s1"] = (s1x << 36) | (s1x >> 28)
    return s0 + s1


@_device
def xoroshiro128p_jump(states: Any, index: Any) -> None:
    """Leave out the next 2**64 numbers of the generator at ``index``."""
    s0, s1 = uint64(0), uint64(0)
    for word in (uint64(0xBEAC0467EBA5FACB), uint64(0xD86B048B86AA9922)):
        for bit in range(64):
            if (word >> uint64(bit)) & uint64(1):
                s0 ^= states[index]["s0"]
                s1 ^= states[index]["s1"]
            xoroshiro128p_next(states, index)
    states[index]["s0"] = s0
    states[index]["s1"] = s1


@_device
def xoroshiro128p_uniform_float64(states: Any, index: Any) -> Any:
    """A float64 from [0, 1): 53 bits of the next number."""
    return (xoroshiro128p_next(states, index) >> 11) * (1.0 / 9007199254740992.0)


@_device
def xoroshiro128p_uniform_float32(states: Any, index: Any) -> Any:
    """A float32 from [0, 1]: `xoroshiro128p_uniform_float64` rounded, so that 1 is possible, as it is in Numba."""
    return float32(xoroshiro128p_uniform_float64(states, index))


@_device
def xoroshiro128p_normal_float32(states: Any, index: Any) -> Any:
    """A float32 of the normal distribution, mean 0 and deviation 1, of two numbers (Box and Muller)."""
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(float32(-2.0) * math.log(u1)) * math.cos(_TWO_PI_32 * u2)


@_device
def xoroshiro128p_normal_float64(states: Any, index: Any) -> Any:
    """A float64 of the normal distribution, mean 0 and deviation 1, of two numbers (Box and Muller), which are float32 here too, as in Numba."""
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(-2.0 * float(math.log(u1))) * math.cos(_TWO_PI_64 * float(u2))


@_device
def _fill(states: Any, seed: Any, subsequence_start: Any) -> None:
    if states.shape[0] == 0:
        return
    init_xoroshiro128p_state(states, 0, seed)
    for _ in range(subsequence_start):
        xoroshiro128p_jump(states, 0)
    for i in range(1, states.shape[0]):
        states[i] = states[i - 1]
        xoroshiro128p_jump(states, i)


def create_xoroshiro128p_states(
    n: int, seed: int, subsequence_start: int = 0, stream: Any = 0
) -> DeviceNDArray:
    """States for ``n`` generators, on the device.

    Parameters
    ----------
    n : int
    seed : int
        Of 64 bits.
    subsequence_start : int
        Which of the sequences, 2**64 numbers long each, is the first one's.
    stream : Stream

    Returns
    -------
    DeviceNDArray, (n,), of `xoroshiro128p_dtype`

    Raises
    ------
    ValueError
        ``n`` or ``subsequence_start`` is negative.
    """
    if operator.index(n) < 0:
        raise ValueError(f"n must not be negative, and is {n}")
    states = device_array(n, xoroshiro128p_dtype, stream=stream)
    init_xoroshiro128p_states(states, seed, subsequence_start, stream)
    return states


def init_xoroshiro128p_states(
    states: DeviceNDArray, seed: int, subsequence_start: int = 0, stream: Any = 0
) -> None:
    """Make new states in place, as `create_xoroshiro128p_states` makes them.

    Raises
    ------
    TypeError
        ``states`` is no device array of states.
    """
    if not isinstance(states, DeviceNDArray) or states.dtype != xoroshiro128p_dtype or states.ndim != 1:
        raise TypeError(
            "`states` must be made by create_xoroshiro128p_states(), or a device array of xoroshiro128p_dtype"
        )
    settle(stream)
    if operator.index(subsequence_start) < 0:
        raise ValueError(f"subsequence_start must not be negative, and is {subsequence_start}")
    mem = states._mem
    made = np.empty(mem.shape, mem.dtype) if on_device(mem) else mem
    _fill(made, np.uint64(operator.index(seed) & (2**64 - 1)), operator.index(subsequence_start))
    if made is not mem:
        move(mem, made)
