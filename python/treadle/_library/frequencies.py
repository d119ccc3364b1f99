"""What goes with a Fourier transform: numpy.fft.fftfreq and its like."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Constant, refuse


def fftfreq(n: Any, d: Any = 1.0) -> Any:
    """As NumPy's; without `device`."""
    if n < 0:
        raise ValueError("negative dimensions are not allowed")
    if n * d == 0:
        raise ZeroDivisionError("float division by zero")
    half = (n - 1) // 2 + 1
    k = np.arange(n)
    return np.where(k < half, k, k - n) * (1.0 / (n * d))


def rfftfreq(n: Any, d: Any = 1.0) -> Any:
    """As NumPy's; without `device`."""
    if n * d == 0:
        raise ZeroDivisionError("float division by zero")
    return np.arange(n // 2 + 1) * (1.0 / (n * d))


def fftshift(x: Any, axes: Constant = None) -> Any:
    """As NumPy's; `axes` is a constant: None, for up to three, or an axis."""
    a = np.asarray(x)
    if axes is not None:
        return np.roll(a, a.shape[axes] // 2, axes)
    out = np.roll(a, a.shape[0] // 2, 0)
    if a.ndim > 1:
        out = np.roll(out, a.shape[1] // 2, 1)
    if a.ndim > 2:
        out = np.roll(out, a.shape[2] // 2, 2)
    if a.ndim > 3:
        refuse("arrays of more than three axes need `axes`")
    return out


def ifftshift(x: Any, axes: Constant = None) -> Any:
    """As NumPy's; `axes` is a constant: None, for up to three, or an axis."""
    a = np.asarray(x)
    if axes is not None:
        return np.roll(a, -(a.shape[axes] // 2), axes)
    out = np.roll(a, -(a.shape[0] // 2), 0)
    if a.ndim > 1:
        out = np.roll(out, -(a.shape[1] // 2), 1)
    if a.ndim > 2:
        out = np.roll(out, -(a.shape[2] // 2), 2)
    if a.ndim > 3:
        refuse("arrays of more than three axes need `axes`")
    return out
