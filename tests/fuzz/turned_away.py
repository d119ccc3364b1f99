"""What straight programs leave out: statements that are refused here for their types, and those of which NumPy leaves open what they give.

A new rule is an `if` here, with the reason.
"""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np
from gen_library import REAL
from library import crosses_pairs
from rules import IllTyped, Unspecified

Env = dict[str, Any]


def is_aligned(dtype: np.dtype, field: str) -> bool:
    """True if a field of an array of records lies in alignment, whatever the array."""
    of, offset = (dtype.fields or {})[field][:2]
    return offset % of.alignment == 0 and dtype.itemsize % of.alignment == 0


def names_of(text: str) -> set[str]:
    """Names in a text."""
    return {part.id for part in ast.walk(ast.parse(text)) if isinstance(part, ast.Name)}


def is_ordered(text: str) -> bool:
    """True for a statement that asks for the least or the greatest, which are refused for complex numbers."""
    names = {part.attr for part in ast.walk(ast.parse(text)) if isinstance(part, ast.Attribute)}
    return bool(names & REAL) or bool(
        names & {"minimum", "maximum"} and names & {"reduce", "reduceat", "accumulate", "at"}
    )


def arrays_in(text: str, envs: list[Env]) -> list[np.ndarray]:
    """The arrays that a statement names, in all calls."""
    used = names_of(text)
    return [v for e in envs for n, v in e.items() if n in used and isinstance(v, np.ndarray)]


def before(text: str, envs: list[Env], params: set[str]) -> None:
    """Look at a statement before it runs; `envs`: the variables of each call, `params`: which of them are the program's.

    Raises
    ------
    IllTyped
        If it is refused here.
    Unspecified
        If it has no one meaning.
    """
    first, arrays = envs[0], arrays_in(text, envs)
    if re.search(r"\.permuted\(x0\)", text) and not all(e["x0"].flags.c_contiguous for e in envs):
        raise IllTyped("permuted() of what does not lie in one piece needs an axis")
    if re.search(r"\.at\(o0", text) and first["o0"].dtype == bool:
        raise IllTyped("numbers into truth values")
    if (
        re.search(r"^ *(o0\b|np\.copyto\(o0)", text, re.M)
        and first["o0"].dtype.kind in ("biuf" if "is not None" in text else "b")
        and any(np.iscomplexobj(first.get(n)) for n in names_of(text) - {"np", "i"})
    ):
        raise IllTyped("complex numbers into real ones")
    if re.search(r"(subtract|multiply)\.at\(o0", text) and first["o0"].dtype.kind == "u":
        raise Unspecified("a step in floats may be below what an unsigned integer holds")
    if re.search(r"np\.unique\(.*axis=", text) and any(
        v.dtype.kind in "fc" and np.isnan(v).any() for v in arrays
    ):
        raise Unspecified("the order of rows with NaN")
    if re.search(r"percentile\(|quantile\(", text) and any(v.dtype == bool for v in arrays):
        raise IllTyped("quantiles of truth values")
    if re.search(r"nan(percentile|quantile)\(.*method='(lower|higher|nearest)'", text) and any(
        v.size == 0 and v.dtype.kind in "iu" for v in arrays
    ):
        raise Unspecified("NumPy's NaN is of another type than the items")
    if re.search(r"np\.(cov|corrcoef)\(", text) and any(v.ndim == 2 and 1 in v.shape for v in arrays):
        raise IllTyped("of one variable there are matrices here, numbers in NumPy")
    if re.match(r"\w+ = np\.roots\([^()]*(\(.*\))?\)$", text) or (
        "np.roots(" in text and any(np.count_nonzero(v[:5]) < 2 for v in arrays)
    ):
        raise Unspecified("NumPy's are real where all of these are or there is none, ours complex")
    if re.search(r"power|\*\*", text) and any(map(np.iscomplexobj, arrays)):
        if not all(np.isfinite(v).all() for v in arrays if v.dtype.kind in "fc"):
            raise Unspecified("powers of complex numbers that are no numbers")
    if re.search(r"histogram(dd|2d)\(", text) and any(v.size == 0 for v in arrays):
        raise Unspecified("the edges of nothing are of another type")
    if "out=u0" in text and "dtype=" in text:
        raise Unspecified("a result is cast into another kind")
    if re.search(r"cum\w+\(.*out=o0", text) and first["o0"].dtype.kind == "c":
        if first["x0"].dtype.kind != "c" and not all(np.isfinite(v).all() for v in arrays):
            raise Unspecified("NumPy computes in out's type: a NaN gets an imaginary part")
    if "out=(o0, o1)" in text and any(np.shares_memory(e["o0"], e["o1"]) for e in envs):
        raise Unspecified("two results in one place")
    if ".at(r0" in text and not is_aligned(first["r0"].dtype, "x"):
        raise IllTyped("at() of a field whose items are not aligned")
    if "reciprocal" in text and any(v.dtype.kind in "iu" and (v == 0).any() for v in arrays):
        raise Unspecified("the reciprocal of an integer 0")
    if "polyval" in text and any(v.size == 0 for v in arrays):
        raise Unspecified("NumPy's has the type of the places alone where there are no coefficients")
    if re.search(r"= np\.poly\(", text) and any(v.size == 0 for v in arrays):
        raise Unspecified("NumPy's polynomial without roots is a number")
    if re.search(r"permutation\(.*axis", text) and not all(v.flags.writeable for v in arrays):
        raise Unspecified("NumPy's permutation along an axis raises for what it only reads")
    if crosses_pairs(text, arrays):
        raise Unspecified("two vectors of 2 items have a number, for others there is a vector")
    if re.search(r"compress\(|take\(", text) and any(v.size == 0 for v in arrays):
        raise Unspecified("NumPy does not look at indices where the result has no items")
    if "np.fft." in text and any(v.size == 0 for v in arrays):
        raise Unspecified("NumPy's loop of irfft reads an item where there are none")
    if is_ordered(text) and any(np.iscomplexobj(first[n]) for n in names_of(text) if n in params):
        raise IllTyped("the order of complex numbers")


def after(text: str, name: str, envs: list[Env]) -> None:
    """Look at what a statement gave: variable `name`, if it has one.

    Raises
    ------
    Unspecified
        If it has no one value.
    """
    finite = any(v.dtype == np.float16 and np.isfinite(v).all() for v in arrays_in(text, envs))
    if finite and re.search(r"prod|sum|mean|var\(|std\(|dot|matmul|@", text):
        made = [np.asarray(e.get(name, 0)) for e in envs]
        if any(v.dtype == np.float16 and not np.isfinite(v).all() for v in made):
            raise Unspecified("NumPy rounds to float16 on the way along some axes, and overflows")
