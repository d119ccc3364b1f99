"""NumPy's functions, written in NumPy, and some of Python's: what compiled code runs in place of them.

A function of NumPy's that is no row of ``src/lib/builtins.def`` may stand in a module here, as a Python function of
the same name and parameters; so may one of Python's own library, of which that is said as well. Where the snapshot
meets NumPy's function it takes ours (``src/ext/freeze.c``), which is compiled with the program as a function of the
user's would be: specialised to the types of its arguments, inlined, fused, cached. So it works in every place where
the user's own functions do, and nothing is loaded before a program needs it.

What holds for these functions:

- They are NumPy: run by Python they give NumPy's results, which the tests make use of.
- Divisions are NumPy's, nothing raises for one; other options (``fastmath``, ``boundscheck``) are the caller's.
- A parameter whose annotation is `Constant` is a constant in the body where the caller writes one (a number, a bool,
  a tuple of these), so ``if keepdims:`` chooses between results of different types. Others are strong: ``f(x, 2)``
  receives an int64. None and strings are always constants. That holds for functions that these are made of, too, so
  what must be decided for each item of a tuple is a function that calls itself with the rest.
- ``is_constant(x)`` tells whether x is known when the function compiles, ``refuse(text)`` ends the compile with an
  error at the user's call. Branches that constants and types decide are not compiled, so both cost nothing.
- What they raise they raise as Python does, with a traceback that ends here.
"""

from __future__ import annotations

import _thread
import functools
import os
import sys
from collections import deque
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy as np

__all__ = [
    "FAMILIES",
    "METHODS",
    "NAMES",
    "TOLD",
    "Constant",
    "Items",
    "best",
    "cells",
    "chained",
    "checked",
    "drawn",
    "find",
    "folded",
    "given_by",
    "has_identity",
    "is_constant",
    "is_ufunc",
    "mapped",
    "method",
    "ordered",
    "refuse",
    "scattered",
    "separate",
    "swept",
    "tabulated",
    "together",
    "unique_items",
]

#: Values that have a text, which an error may tell.
TOLD = (bool, int, float, complex, str, bytes, tuple, list, set, frozenset, deque)

#: Marks a parameter that stays a constant where the caller writes one.
Constant = Any

#: Marks an ``*args`` that is a list where the caller has one behind a star, and else a tuple.
Items = Any

# Which module here has which functions of which module of NumPy's. What stands behind a "/" tells rows of one module apart.
FAMILIES: dict[str, tuple[str, str]] = {
    "linalg": (
        "numpy.linalg",
        "solve inv det slogdet cholesky eig eigvals eigh eigvalsh svd svdvals cond matrix_rank pinv lstsq qr "
        "matrix_power multi_dot norm tensorinv tensorsolve",
    ),
    "dtypes": ("numpy", "issubdtype promote_types result_type can_cast isdtype common_type min_scalar_type"),
    "questions": (
        "numpy",
        "isfortran iterable broadcast_shapes mask_indices apply_over_axes require frombuffer nditer",
    ),
    "random": ("numpy.random", "multivariate_normal"),
    "polynomial": ("numpy", "polyadd polysub polymul polydiv polyder polyint poly roots polyfit"),
    "series": (
        "numpy.polynomial.polynomial",
        "polyadd polysub polymul polymulx polydiv polypow polyder polyint polyfromroots polyroots polyval polyvalfromroots "
        "polyvander polyfit",
    ),
    "series/2": ("numpy.polynomial.chebyshev", "chebval chebvander chebfit chebgauss chebpts1 chebpts2"),
    "series/3": ("numpy.polynomial.legendre", "legval legder legvander legfit leggauss"),
    "series/4": ("numpy.polynomial.hermite", "hermval hermvander hermfit hermgauss"),
    "series/5": ("numpy.polynomial.hermite_e", "hermeval hermevander hermefit hermegauss"),
    "series/6": ("numpy.polynomial.laguerre", "lagval lagder lagvander lagfit laggauss"),
    "array_api": (
        "numpy",
        "cumulative_sum cumulative_prod matrix_transpose astype unique_values unique_counts unique_inverse unique_all "
        "asarray_chkfinite",
    ),
    "linalg_names": (
        "numpy.linalg",
        "matmul outer cross matrix_transpose diagonal trace tensordot vecdot vector_norm matrix_norm",
    ),
    "frequencies": ("numpy.fft", "fftfreq rfftfreq fftshift ifftshift"),
    "fourier": (
        "numpy.fft",
        "fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn",
    ),
    "arrangements": (
        "numpy",
        "split array_split hsplit vsplit dsplit rollaxis trim_zeros kron tensordot vander logspace geomspace indices ix_ "
        "tril_indices triu_indices tril_indices_from triu_indices_from diag_indices diag_indices_from diagflat "
        "fill_diagonal ravel_multi_index unravel_index pad delete insert resize block",
    ),
    "made": ("numpy", "fromfunction fromiter"),
    "lists": ("builtins", "sorted"),
    "indexers": ("numpy", "r_ c_ s_ index_exp mgrid ogrid"),
    "choices": (
        "numpy",
        "choose select piecewise copyto place putmask put take_along_axis put_along_axis apply_along_axis",
    ),
    "histograms": ("numpy", "histogram2d histogramdd histogram_bin_edges"),
    "bits": ("numpy", "packbits unpackbits"),
    # Which numpy.strings has too, as the same objects, all but three.
    "texts": (
        "numpy.char",
        "upper lower swapcase capitalize title strip lstrip rstrip isalpha isalnum isdigit isspace islower isupper "
        "istitle isdecimal isnumeric str_len startswith endswith find rfind index rindex count replace ljust rjust "
        "center zfill multiply expandtabs translate encode decode partition rpartition",
    ),
    "texts/1": ("numpy.strings", "multiply"),
    "cuts": ("numpy.strings", "partition rpartition"),
    "windows": ("numpy.lib.stride_tricks", "sliding_window_view"),
    "sets": ("numpy", "unique union1d intersect1d setxor1d setdiff1d isin in1d"),
    "nan": (
        "numpy",
        "nansum nanprod nancumsum nancumprod nanmin nanmax nanargmin nanargmax nanmean nanvar nanstd",
    ),
    "calculus": (
        "numpy",
        "interp convolve correlate gradient ediff1d trapezoid trapz cross unwrap polyval",
    ),
    "statistics": ("numpy", "average cov corrcoef quantile percentile nanquantile nanpercentile nanmedian"),
    "heaps": ("heapq", "heappush heappop heapreplace heappushpop heapify nsmallest nlargest merge"),
    "iterators": (
        "itertools",
        "accumulate batched chain combinations combinations_with_replacement compress count cycle dropwhile filterfalse groupby "
        "islice pairwise permutations product repeat starmap takewhile tee zip_longest",
    ),
    "iterators/chain": ("itertools.chain", "from_iterable"),
    "operators": ("operator", "itemgetter attrgetter methodcaller countOf indexOf delitem"),
    "operators/2": ("functools", "cmp_to_key"),
    "bisections": ("bisect", "bisect_left bisect_right insort_left insort_right"),
    "primitives": (
        "treadle.parallel",
        "map reduce reduce_by_key scan filter stable_partition take scatter sort argsort sort_by_key merge topk run_length_encode "
        "unique_values unique_counts unique_inverse unique_all histogram bincount searchsorted where arange full "
        "zeros ones tabulate fuse",
    ),
    "philox": (
        "treadle.parallel.random",
        "key split fold_in bits uniform normal randint choice permutation",
    ),
    "compare": (
        "numpy",
        "isclose allclose array_equal array_equiv isposinf isneginf isreal iscomplex nan_to_num sinc i0"
        " hanning hamming blackman bartlett kaiser",
    ),
}

# For each name of a function the modules of NumPy's that have one here, and the module here.
NAMES: dict[str, tuple[tuple[str, str], ...]] = {}
for _family, (_owner, _names) in FAMILIES.items():
    for _name in _names.split():
        NAMES[_name] = (*NAMES.get(_name, ()), (_owner, _family.partition("/")[0]))

# Methods of arrays, containers and Generators: for each class, as builtins.def has it, the module and function here, whose first
# parameter is the object, and one of which at least is a `Constant`.
METHODS: dict[str, dict[str, tuple[str, str]]] = {
    "choose": {"array": ("choices", "of_array_choose")},
    "put": {"array": ("choices", "of_array_put")},
    "byteswap": {"array": ("questions", "byteswap")},
    "tolist": {"array": ("lists", "of_array_tolist")},
    "sort": {"list": ("lists", "of_list_sort")},
    "index": {"list": ("lists", "of_list_index"), "deque": ("counting", "of_deque_index")},
    "remove": {"list": ("lists", "of_list_remove"), "deque": ("counting", "of_deque_remove")},
    "count": {"list": ("lists", "of_list_count"), "deque": ("lists", "of_list_count")},
    "insert": {"deque": ("counting", "of_deque_insert")},
    "reverse": {"deque": ("counting", "of_deque_reverse")},
    "translate": {"str": ("strings", "of_str_translate")},
    "to_bytes": {"number": ("integers", "of_number_to_bytes")},
    "from_bytes": {"int class": ("integers", "of_int_from_bytes")},
    "maketrans": {"str class": ("strings", "of_str_maketrans")},
    "rotate": {"deque": ("counting", "of_deque_rotate")},
    "most_common": {"Counter": ("counting", "of_counter_most_common")},
    "elements": {"Counter": ("counting", "of_counter_elements")},
    "total": {"Counter": ("counting", "of_counter_total")},
    "move_to_end": {"OrderedDict": ("counting", "of_ordered_move_to_end")},
    "<genexpr>": {"generator": ("iterators", "from_iterable")},
    "multivariate_normal": {"Generator": ("random", "of_generator_multivariate_normal")},
    "multivariate_hypergeometric": {"Generator": ("random", "of_generator_multivariate_hypergeometric")},
}


# Held while a module here is imported. A fork waits for it: its child would find the module half imported, and its
# lock in the hand of a thread that is not there.
_importing = _thread.RLock()
os.register_at_fork(
    before=_importing.acquire, after_in_parent=_importing.release, after_in_child=_importing.release
)


def member(family: str, name: str) -> FunctionType:
    """Return a function of a module here, which is imported first."""
    from importlib import import_module

    with _importing:
        module = import_module(f"{__name__}.{family}")
    return getattr(module, name)


def method(name: str) -> tuple[tuple[str, FunctionType], ...]:
    """Return the classes that have a method in `METHODS`, each with the function."""
    return tuple((cls, member(family, function)) for cls, (family, function) in METHODS[name].items())


def find(o: object) -> tuple[FunctionType, bytes, bool, tuple[str, ...], bool] | None:
    """Return what is compiled in place of a function of NumPy's.

    Parameters
    ----------
    o : object
        A function, or an object of a class of ``numpy.lib``.

    Returns
    -------
    tuple of (function, bytes, bool, tuple of str, bool) or None
        The function, for each of its parameters its mark (`MARKS`), whether it is subscripted, which
        attributes it has, and whether it takes lists for arrays; None if `o` is nothing that stands here.
    """
    name = getattr(o, "__name__", None)
    if name is None:
        owner, names = FAMILIES["indexers"]
        name = next((n for n in names.split() if getattr(sys.modules[owner], n, None) is o), "")
    for owner, family in NAMES.get(name, ()):
        if stands_at(owner, name, o) and is_of(owner, o):
            arrays = owner.partition(".")[0] in ("numpy", "treadle")
            inside = FAMILIES.get(f"{family}/{name}", ("", ""))[1]
            return with_constants(member(family, name), family == "indexers", tuple(inside.split()), arrays)
    if (getattr(o, "__module__", None) or "").startswith(
        f"{__name__}."
    ) and "Constant" in o.__annotations__.values():
        return with_constants(o)  # type: ignore[arg-type]
    return None


def stands_at(owner: str, name: str, o: object) -> bool:
    """Whether `o` is what a module, or a class of one, has under that name."""
    module, _, cls = owner.partition(".")
    if owner not in sys.modules and cls:  # a method of a class is another object each time
        return getattr(getattr(sys.modules.get(module), cls, None), name, None) == o
    return getattr(sys.modules.get(owner), name, None) is o


def is_of(owner: str, o: object) -> bool:
    """Whether what stands in a module's place is its own (or its half's in C), and not what somebody put there."""
    # functools.wraps copies the name of the module, but not the names that the code sees.
    home = o.__globals__.get("__name__") if isinstance(o, FunctionType) else getattr(o, "__module__", None)
    first = str(home).partition(".")[0]
    return home is None or first in ("numpy", "treadle", "builtins") or first.removeprefix("_") == owner


# What the snapshot is told of a parameter: src/infer/calls.c and stars.c read it.
MARKS = {"Constant": 1, "Items": 2}


def with_constants(
    fn: FunctionType, subscripted: bool = False, inside: tuple[str, ...] = (), arrays: bool = True
) -> tuple[FunctionType, bytes, bool, tuple[str, ...], bool]:
    """A function, for each of its parameters what `MARKS` says, whether it is subscripted, its attributes, whether it takes arrays."""
    code, notes = fn.__code__, fn.__annotations__
    # The tuple that an *args makes comes after all others.
    params = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4)]
    return fn, bytes(MARKS.get(str(notes.get(p)), 0) for p in params), subscripted, inside, arrays


def is_constant(x: object) -> bool:
    """Return whether `x` is known when the function compiles; in Python everything is."""
    return True


def given_by(function: Any, *args: Any) -> Any:
    """Return zeros of the types of what a function gives for numbers; compiled code calls nothing for it."""
    r = function(*args)
    return tuple(type(v)(0) for v in r) if isinstance(r, tuple) else type(r)(0)


def best(x: Any, keys: Any, k: int, largest: bool = True, numbers: bool = False) -> tuple[Any, Any]:
    """Return the k items along the last axis with the best keys, best first, and where they stand.

    In compiled code ``src/lib/primitives.c``. Of equal keys the first is the best; NaN is the largest, or with
    `numbers`, which goes with the largest, comes last.

    Parameters
    ----------
    x : array
        The items.
    keys : array
        What they are compared by, of the same shape: numbers that have an order.
    k : int
        How many, not more than there are.
    largest, numbers : bool
        Which are best; constants.

    Returns
    -------
    tuple of array
        Items, and their places along the axis (int64), both with k in place of the last axis.
    """
    import numpy as np

    if k < 0 or k > keys.shape[-1]:
        raise ValueError(f"topk(): k is {k}, and there are {keys.shape[-1]} items along the axis")
    last = np.isnan(keys) if largest and numbers else np.zeros(keys.shape, bool)
    order = np.argsort(keys[..., ::-1] if largest else keys, axis=-1, kind="stable")
    if largest:
        order = keys.shape[-1] - 1 - order[..., ::-1]
    behind = np.argsort(np.take_along_axis(last, order, -1), axis=-1, kind="stable")
    order = np.take_along_axis(order, behind, -1)[..., :k]
    return np.take_along_axis(x, order, -1), order


def folded(function: Any, start: tuple[Any, ...], line: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a function makes of all items of a line, arrays of one axis and numbers; in compiled code ``src/lib/primitives.c``."""
    from numpy import broadcast_arrays

    items = list(zip(*broadcast_arrays(*line), strict=True))
    while len(items) > 1:  # neighbours in pairs; one without a neighbour goes on as it is
        pairs = [function(*items[k : k + 2]) for k in range(0, len(items) - 1, 2)]
        items = pairs + items[2 * len(pairs) :]
    return function(start, items[0]) if items else start


def chained(
    function: Any, start: tuple[Any, ...], line: tuple[Any, ...], outs: tuple[Any, ...], before: bool
) -> None:
    """Into arrays what a function makes of each item of a line and all before it, or of these alone; as `folded`."""
    from numpy import broadcast_arrays

    for i, item in enumerate(zip(*broadcast_arrays(*line), strict=True)):
        after = function(start, item)
        for out, value in zip(outs, start if before else after, strict=True):
            out[i] = value
        start = after


def scattered(function: Any, out: Any, places: Any, values: Any, keys: bool = False) -> None:
    """Into an array what a function makes of what is there and of each value; in compiled code ``src/lib/fancy.c``.

    The function may be a ufunc; with `keys` places do not count from the end, and a negative one is a ValueError.
    """
    from numpy import arange, broadcast_to, min, ravel

    if keys and min(places, initial=0) < 0:
        raise ValueError("a key is negative: keys are places of a result of `size` rows")
    if is_ufunc(function):
        function.at(out, places, values)
        return
    flat = out.reshape(-1)
    at = arange(out.size).reshape(out.shape)[places]
    for k, v in zip(ravel(at), ravel(broadcast_to(values, at.shape).astype(out.dtype)), strict=True):
        flat[k] = function(flat[k], v)


def tabulated(function: Any, shape: tuple[int, ...]) -> Any:
    """What a function gives for the places of a shape; in compiled code ``src/lib/primitives.c``."""
    from numpy import indices

    return mapped(function, *indices(shape))


def is_ufunc(x: object) -> bool:
    """Return whether `x` is a ufunc, NumPy's or Treadle's, and so has ``reduce``, ``accumulate`` and ``at``; a constant."""
    return hasattr(x, "accumulate")


def has_identity(ufunc: Any) -> bool:
    """Return whether a ufunc has an identity, which it joins with anything to give that back; a constant."""
    return getattr(ufunc, "identity", None) is not None


def refuse(text: str) -> NoReturn:
    """End the compile with an error at the user's call; in Python a TypeError."""
    raise TypeError(text)


def cells(a: np.ndarray, /) -> Iterator[np.ndarray]:
    """Return the items of an array in C order, each an array without axes that can be written to."""
    return (a[(*at, ...)] for at in np.ndindex(a.shape))


def mapped(function: Any, *args: Any) -> Any:
    """What a function gives for the items of arrays, which are broadcast; in compiled code ``src/lib/primitives.c``."""
    from numpy import vectorize

    return vectorize(function)(*args)


def drawn(step: Callable[[], tuple[Any] | None], /) -> Iterator[Any]:
    """Return an iterator over the items that calls of `step` give in tuples of one, until one gives None; in compiled code ``src/lib/kind_drawn.c``."""
    for item in iter(step, None):
        yield from item


def ordered(function: Callable[[Any, Any], Any], obj: Any, /) -> Any:
    """Return an object that is compared by a function; in compiled code ``src/lib/kind_ordered.c``."""
    return functools.cmp_to_key(function)(obj)


def together(*walks: Iterable[Any]) -> Iterable[Any]:
    """Return tuples of the items of all, which can be walked again where these can."""
    return zip(*walks)


def unique_items(
    ar: Any,
    return_index: Constant = False,
    return_inverse: Constant = False,
    return_counts: Constant = False,
    equal_nan: Constant = True,
) -> Any:
    """What `numpy.unique` gives without an axis; in compiled code ``src/lib/npsort.c``."""
    from numpy import unique

    return unique(ar, return_index, return_inverse, return_counts, equal_nan=equal_nan)


def checked(ufunc: np.ufunc, *args: Any, out: Any = None) -> tuple[Any, bool]:
    """Call a ufunc, and tell whether a loop of it raised the floating-point flag "invalid".

    Loops of ``numpy.linalg`` say so that a matrix is singular, not positive definite, or that an iteration did not
    converge. In compiled code the ufunc must be one of C loops (``src/lib/npforeign.c``).

    Parameters
    ----------
    ufunc : numpy.ufunc
        What is called.
    *args : array or number
        Its inputs.
    out : array, tuple of arrays or None
        Where results go.

    Returns
    -------
    tuple
        The result, and a bool.
    """
    from numpy import errstate

    seen: list[str] = []
    with errstate(
        call=lambda kind, flag: seen.append(kind),
        invalid="call",
        divide="ignore",
        over="ignore",
        under="ignore",
    ):
        result = ufunc(*args) if out is None else ufunc(*args, out=out)
    return result, bool(seen)


def separate(x: Any, to: Any) -> Any:
    """Return what can be read while an array is stored to.

    Parameters
    ----------
    x : array or number
        What is read.
    to : array
        What is stored to, item by item.

    Returns
    -------
    array or number
        `x`, or a copy of it where it may share memory with `to`; in compiled code ``src/lib/npselect.c``.
    """
    from numpy import may_share_memory

    return x.copy() if may_share_memory(x, to) else x


def swept(kernel: Any, neighborhood: Any, standard: int, cval: Any, out: Any, args: Any, /) -> Any:
    """Return a stencil's result; compiled code alone has it (``src/lib/kind_window.c``)."""
    raise TypeError("a stencil is for compiled code")
