"""NumPy's functions that the oracle has no model of: NumPy computes them itself, from the oracle's values.

An expression whose outermost call is such a function, or such a method of an array, is evaluated as a whole. Its type is what NumPy gives for arguments made of its
variables' types, and what it gives in the run must have that type. What its functions do says how it is compared (`exactness`): those that hand on items and those that round
once have one right result, to the bit; what others compute, in whatever order, is compared within a bound, and nothing else may look at it. Draws of ``np.random`` are NumPy's to the bit.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy_calls
from memory import ArrayValue, addresses, watch
from rules import NONE, STRONG, WEAK, Array, IllTyped, Tuple, Unspecified, is_scalar, klass
from values import Approx, Raised, from_python, to_item

if TYPE_CHECKING:
    from oracle import Env, Fn, Frame, Instance, Program

# What the oracle's own modules say of `np.name` and of methods.
MODELLED = {
    *numpy_calls.ONE, *numpy_calls.TWO, *STRONG, "bool_", "intp", "uintp", "where", "zeros", "ones", "full", "arange", "zeros_like", "ones_like", "full_like",
    "cumsum", "cumprod", "pi", "e", "inf", "nan", "sqrt", "sin", "cos", "tan", "exp", "log", "log1p", "expm1", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan",
    "arcsinh", "arccosh", "arctanh", "arctan2", "hypot", "log2", "log10",
}  # fmt: skip
METHODS = {n for n in dir(np.ndarray) if n[0] != "_"} - {
    "fill", "astype", "copy", "any", "all", "min", "max", "argmin", "argmax", "sum", "prod", "mean", "cumsum", "cumprod", "shape", "size", "ndim", "T", "real", "imag",
}  # fmt: skip
UFUNC_METHODS = {"reduce", "outer"}
KNOWN = np.lib.NumpyVersion(np.__version__) >= "2.0.0"  # results are NumPy 2's, with either NumPy
STATE = "__random__"  # the generator, in evaluated text
SIZES = (4, 3, 12, 6, 9, 2, 1)  # extents of arguments that types are found with
LARGE = 1e4  # beyond it results that are computed have no bound that means something
BOUNDS = {"float64": 1e-9, "complex128": 1e-9, "float32": 2e-4, "complex64": 2e-4}
SIGN = 5e-324  # the bound of what may be off by a zero's sign alone

MANY = 20_000  # items: kron() of what kron() gave may have millions

# Functions that hand on what they are given, moved, chosen, repeated or converted, and that make numbers that are written out.
MOVES = set(("reshape ravel flatten transpose copy asarray array asanyarray ascontiguousarray asfortranarray asarray_chkfinite require frombuffer astype view swapaxes moveaxis rollaxis squeeze expand_dims "
             "atleast_1d atleast_2d atleast_3d flip flipud fliplr rot90 roll broadcast_to broadcast_arrays as_strided sliding_window_view diagonal diag diagflat tri tril triu matrix_transpose fftshift ifftshift "
             "concatenate stack vstack hstack dstack column_stack append block repeat tile resize meshgrid ix_ split array_split hsplit vsplit dsplit insert delete pad trim_zeros empty_like zeros ones full "
             "zeros_like ones_like full_like eye identity where take compress extract choose select take_along_axis copyto place putmask put put_along_axis fill_diagonal fill item real imag conj conjugate "
             "nan_to_num piecewise nonzero flatnonzero argwhere ndenumerate ndindex arange indices argsort lexsort argmin argmax isnan isinf isfinite isin unravel_index result_type promote_types").split())  # fmt: skip
# Of these, what puts numbers in an order: zeros of both signs are equal, so either may come out.
ORDERS = set(("minimum maximum fmin fmax min max amin amax nanmin nanmax clip sort sort_complex partition unique unique_values unique_counts unique_inverse unique_all union1d intersect1d setxor1d "
              "setdiff1d").split())  # fmt: skip
# Operations on real numbers that are rounded once.
ONCE = set(("add subtract multiply divide floor_divide remainder fmod negative positive absolute fabs abs sign square sqrt rint floor ceil trunc copysign nextafter ldexp heaviside spacing divmod modf "
            "frexp reciprocal fix diff ediff1d outer").split())  # fmt: skip
FOLDS = {"reduce", "accumulate", "reduceat", "at"}
# What else stands after a dot, and counts in a loop.
PARTS = {*STRONG, "float16", "bool_", "intp", "uintp", "T", "flat", "shape", "size", "ndim", "dtype", "strides", "newaxis", "inf", "nan", "pi", "e", "linalg", "fft", "lib", "stride_tricks"}  # fmt: skip
COUNTS = {"range", "prange", "enumerate", "zip", "len"}

Typed = tuple[Any, "Fn"]


def is_library(node: ast.expr, env: Any) -> bool:
    """True for a call, or a part of what it gives, that NumPy itself is asked for."""
    while isinstance(node, (ast.Call, ast.Subscript, ast.Attribute)):
        names = names_in_module(node, env)
        if names:
            modelled = names[1] in MODELLED and (len(names) == 2 or names[2] not in UFUNC_METHODS)
            return names[0] == "np" and not modelled
        if isinstance(node, ast.Call):
            if (
                isinstance(node.func, ast.Attribute)
                and node.func.attr in METHODS
                and not names_in_module(node.func, env)
            ):
                return True
            node = node.func
        else:
            node = node.value
    return False


def names_in_module(node: ast.expr, env: Any) -> list[str]:
    """``np``, ``linalg`` and ``solve`` of ``np.linalg.solve``; nothing for what stands in no module."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    known = isinstance(node, ast.Name) and node.id in ("np", "math") and node.id not in env and bool(names)
    return [node.id, *names] if known else []  # type: ignore[attr-defined]


def paths(node: ast.expr) -> list[str]:
    """Names in NumPy that an expression asks for: ``linalg.solve``."""
    found = []
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute):
            text = ast.unparse(part)
            if text.startswith("np.") and text.count("(") == 0:
                found.append(text[3:])
    return [p for p in found if not any(q.startswith(p + ".") for q in found)]


@functools.cache
def parameters() -> dict[str, list[str]]:
    """Parameters of each function of NumPy's that compiled code knows, as the page of them lists them."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
    import gen_numpy

    functions, _, _ = gen_numpy.rows()
    parts = (functions, gen_numpy.library())
    return {name: text.split(", ") for part in parts for rows in part.values() for name, text in rows}


def names() -> list[str]:
    """The functions that are asked of NumPy."""
    pythons = {"random.betavariate", "random.expovariate", "random.gammavariate", "random.gauss", "random.getrandbits", "random.lognormvariate", "random.normalvariate",
               "random.paretovariate", "random.randrange", "random.vonmisesvariate", "random.weibullvariate"}  # fmt: skip
    methods = {"accumulate", "at", "outer", "reduce", "reduceat"}
    return [n for n in parameters() if n not in MODELLED | pythons | methods] if KNOWN else []


class Drawn(ast.NodeTransformer):
    """Puts the program's generator in place of ``np.random``."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """``np.random.name``; two names are the module's alone."""
        if ast.unparse(node.value) == "np.random":
            name = {"ranf": "random_sample", "sample": "random_sample"}.get(node.attr, node.attr)
            return ast.Attribute(ast.Name(STATE, ast.Load()), name, ast.Load())
        self.generic_visit(node)
        return node


@functools.lru_cache(maxsize=4000)
def code_of(text: str) -> Any:
    """An expression, ready to be evaluated."""
    tree = Drawn().visit(ast.parse(text, mode="eval"))
    return compile(ast.fix_missing_locations(tree), "<library>", "eval")


def evaluate(text: str, values: dict[str, Any]) -> Any:
    """What NumPy gives."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(code_of(text), {"np": np, **values})


# --- types ---


def sample(ty: Any, n: int) -> Any:
    """A value of a type that most functions take: small numbers, well-conditioned matrices."""
    if isinstance(ty, Tuple):
        return tuple(sample(t, n) for t in ty.items)
    if isinstance(ty, Array):
        shape = (n,) * ty.ndim
        a = (np.arange(n**ty.ndim) * 7 % 5 % 4).reshape(shape)
        if ty.ndim == 2 and klass(ty.dtype) in "fc":
            a = a + a.T + 20 * np.eye(n)
        return a.astype(ty.dtype)
    if ty in WEAK:
        return {"wint": 2, "wfloat": 0.5, "wcomplex": 1j}[ty]
    if is_scalar(ty):
        return np.dtype(ty).type(2)
    raise IllTyped(f"{ty} for NumPy")


@functools.lru_cache(maxsize=20_000)
def sampled(text: str, types: tuple[tuple[str, Any], ...]) -> tuple[Any, bool, bool]:
    """The type of an expression; whether what it gives are arguments that were moved, so that others may use it; and whether it may be stored to.

    Raises
    ------
    IllTyped
        If NumPy takes no arguments of these types.
    Unspecified
        If it took none of those that were tried.
    """
    if re.search(r"histogramdd\(\w+, \d+\)", text):
        raise Unspecified("how many coordinates there are is not known before the sample")
    if re.search(r"np\.(bartlett|blackman|hamming|hanning|kaiser)\([a-z]", text):
        raise Unspecified("NumPy has no windows of lengths that floats do not count, or runs out of memory")
    if re.search(r"cross\(.*(axis|:)", text):
        raise Unspecified("vectors may have 2 or 3 items")
    if "np.roots(" in text:
        raise Unspecified("NumPy's are real where all of these are, ours complex")
    wrong: Exception | None = None
    for n in SIZES:
        values = {name: sample(ty, n) for name, ty in types}
        if "fromiter(" in text and "complex" not in text and any(map(np.iscomplexobj, values.values())):
            raise IllTyped("complex numbers into real ones")
        try:
            result = evaluate(text, values | {STATE: np.random.RandomState(1)})
        except TypeError as err:
            raise IllTyped(f"{text}: {err}") from None
        except Exception as err:
            wrong = err
            continue
        # NumPy means to forbid stores into what was made wider, in which items lie at one place.
        writable = all(a.flags.writeable for a in arrays(result)) and "broadcast_arrays(" not in text
        return type_of(result), is_drawn(text) or is_exact(text, result, tuple(values.values())), writable
    raise Unspecified(f"{text}: {wrong!r}")


def type_of(result: Any) -> Any:
    """The oracle's type of what NumPy gave."""
    if isinstance(result, (tuple, list)):
        return Tuple(tuple(type_of(r) for r in result))
    if result is None:
        return NONE
    if isinstance(result, np.ndarray):
        if result.ndim == 0 or result.dtype.name not in STRONG:
            raise Unspecified(f"an array of {result.dtype} with {result.ndim} axes")
        return Array(result.dtype.name, result.ndim)
    ty = from_python(result)[0]
    if ty not in STRONG:
        raise Unspecified(f"a number of {ty}")
    return ty


# --- values ---


def arrays(value: Any) -> list[np.ndarray]:
    """The arrays of a result."""
    if isinstance(value, (tuple, list)):
        return [a for v in value for a in arrays(v)]
    return [value] if isinstance(value, np.ndarray) else []


def floats(value: Any) -> list[np.ndarray]:
    """The numbers of arguments, or of a result."""
    if isinstance(value, (tuple, list)):
        return [a for v in value for a in floats(v)]
    if value is None or isinstance(value, (str, np.random.RandomState)):
        return []
    return [np.asarray(value).ravel()]


@functools.lru_cache(maxsize=20_000)
def exactness(text: str) -> int:
    """2 if the floats that come out of a text have one right value whatever they are, 1 if real ones have, 0 if some are computed: in an order, or by a series, that nobody says."""
    level, tree = 2, ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.For) and "prange" in ast.unparse(node.iter):  # it may accumulate in any order
            level = 0 if any(isinstance(n, ast.AugAssign) for n in ast.walk(node)) else level
        elif isinstance(node, (ast.BinOp, ast.AugAssign)):
            level = 0 if isinstance(node.op, (ast.Pow, ast.MatMult)) else min(level, 1)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            level = (
                level
                if node.func.id in COUNTS
                else min(level, 1)
                if re.fullmatch(r"s\d|abs|divmod", node.func.id)
                else 0
            )
        elif isinstance(node, ast.Attribute) and node.attr in FOLDS:
            level = level if isinstance(node.value, ast.Attribute) and node.value.attr in ORDERS else 0
        elif isinstance(node, ast.Attribute) and (
            node.attr not in MOVES | ORDERS | PARTS or ast.unparse(node) == "np.fft.fft"
        ):
            level = min(level, 1) if node.attr in ONCE else 0
        if not level:
            return 0
    return level


def is_exact(text: str, result: Any, values: Any) -> bool:
    """True if there is one right result, to the bit."""
    if not any(a.dtype.kind in "fc" for a in floats(result)):
        return True
    complexes = "complex" in text or any(a.dtype.kind == "c" for a in (*floats(result), *floats(values)))
    return exactness(text) > complexes


def tie(text: str, result: Any, values: Any) -> float:
    """The bound of an exact result: `SIGN` where an order may have met zeros of both signs."""
    tree = list(ast.walk(ast.parse(text)))
    zeros = [
        np.signbit(p[p == 0])
        for a in (*floats(result), *floats(values))
        if a.dtype.kind in "fc"
        for p in (a.real, a.imag)
    ]
    if not any(isinstance(n, ast.Attribute) and n.attr in ORDERS for n in tree) or not any(
        z.size for z in zeros
    ):
        return 0.0
    signs = np.concatenate(zeros)
    reckons = any(
        isinstance(n, (ast.BinOp, ast.AugAssign, ast.USub)) or isinstance(n, ast.Attribute) and n.attr in ONCE
        for n in tree
    )
    return SIGN if reckons or signs.any() and not signs.all() else 0.0


def bound(result: Any, values: dict[str, Any]) -> float:
    """How far a result may be off, whatever the order of its operations, relative to its type's bound."""
    scale = 1.0
    for a in floats(tuple(values.values())):
        if a.dtype.kind in "biufc" and a.size:
            finite = np.abs(a[np.isfinite(a)]).astype("float64")
            top = float(finite.max()) if finite.size else 0.0
            if top > LARGE:
                raise Unspecified("computed from large numbers")
            scale = max(scale, top * top)
    for a in floats(result):
        if a.dtype.kind in "fc" and a.size:
            finite = np.abs(a[np.isfinite(a)])
            scale = max(scale, float(finite.max()) if finite.size else 0.0)
    return scale


def crosses_pairs(text: str, arrays: list[np.ndarray]) -> bool:
    """True for a call of cross() that may get two vectors of 2 items."""
    return "cross" in text and (":" in text or any(2 in v.shape for v in arrays))


def typed(inst: Instance, node: ast.expr, env: Env) -> Typed:
    """Type of an expression and the closure that computes it."""
    if inst.numba:
        raise Unspecified("NumPy's functions by Numba's rules")
    own = {a.arg for part in ast.walk(node) if isinstance(part, ast.Lambda) for a in part.args.args}
    names = sorted({p.id for p in ast.walk(node) if isinstance(p, ast.Name)} - own - {"np"})
    parts = {n: inst.expr(ast.Name(n, ast.Load()), env) for n in names}
    text = ast.unparse(node)
    if re.search("percentile|quantile", text) and any(
        isinstance(t, Array) and t.dtype == "bool" for t, _ in parts.values()
    ):
        raise IllTyped("quantiles of truth values")
    ty, _, _ = sampled(text, tuple((n, t) for n, (t, _) in parts.items()))
    prog, asked = inst.prog, paths(node)

    def run(frame: Frame) -> Any:
        if watch.region is not None and (ty == NONE or "random" in text):
            raise Unspecified("stores or draws in a loop over a prange")
        held = {n: fn(frame) for n, (_, fn) in parts.items()}
        values = {n: plain(held[n], t) for n, (t, _) in parts.items()}
        if (
            re.search("argsort|argpartition", text)
            and "stable" not in text
            and any(has_ties(a) for a in floats(tuple(values.values())))
        ):
            raise Unspecified("the order of equal items")
        if "order" in text and any(
            v.ndim > 1 and v.flags.c_contiguous and v.flags.f_contiguous
            for v in arrays(tuple(values.values()))
        ):
            raise Unspecified("a copy of what lies in both orders")
        if "reciprocal" in text and any(
            a.dtype.kind in "iu" and (a == 0).any() for a in floats(tuple(values.values()))
        ):
            raise Unspecified("the reciprocal of an integer 0")
        if any(
            re.fullmatch(r"c\d", n) and np.abs(float(np.real(v))) > 1e4
            for n, v in values.items()
            if np.ndim(v) == 0
        ):
            raise Unspecified("a number of items that takes all memory, or wraps around in NumPy's arange")
        if re.search("require|asfortranarray|ascontiguousarray", text) and any(
            n[0] == "n" and np.ndim(v) > 1 and not v.flags.c_contiguous for n, v in values.items()
        ):
            raise Unspecified("it is a copy, or not, by the order in which NumPy left a result")
        if crosses_pairs(text, arrays(tuple(values.values()))):
            raise Unspecified("two vectors of 2 items have a number, for others there is a vector")
        if "fftfreq" in text and any(a.size == 1 and not a.any() for a in floats(tuple(values.values()))):
            raise Unspecified("1.0 / 0: Python's integers raise, NumPy's do not")
        if "round" in text and any(
            a.dtype.kind in "iu" and a.size and np.abs(a.astype("f8")).max() > 2.0**53
            for a in floats(tuple(values.values()))
        ):
            raise Unspecified("large integers are rounded as floats")
        if "partition" in text and any(a.size == 0 for a in floats(tuple(values.values()))):
            raise Unspecified("a place among no items")
        if re.search(r"matmul|@|dot\(|inner|tensordot|einsum", text):
            numbers = floats(tuple(values.values()))
            if any(a.dtype.kind == "c" for a in numbers) and not all(np.isfinite(a).all() for a in numbers):
                raise Unspecified("a BLAS multiplies what is infinite by 1 + 0j")
        before = {n: np.copy(v) if isinstance(v, np.ndarray) else v for n, v in values.items()}
        result = called(prog, text, values)
        if any(a.size > MANY for a in arrays(result)):
            raise Unspecified("more items than loops of the oracle pass in a minute")
        if type_of(result) != ty:
            raise Unspecified(f"{text} has no one type")
        for path in asked:
            prog.count("library", path)
        given = tuple(before.values())
        if is_drawn(text):
            return oracles(result, held, 0.0)
        return oracles(
            result, held, tie(text, result, given) if is_exact(text, result, given) else bound(result, before)
        )

    return ty, run


def is_drawn(text: str) -> bool:
    """True if numbers of ``np.random`` are what was drawn, to the bit; those of several normals are sums of such."""
    return "random" in text and "multivariate_normal" not in text


def has_ties(a: np.ndarray) -> bool:
    """True if items of an array are equal."""
    return a.dtype.kind != "b" and np.unique(a, equal_nan=True).size < a.size


def plain(value: Any, ty: Any) -> Any:
    """An oracle's value as NumPy takes it."""
    if isinstance(ty, Tuple):
        return tuple(plain(v, t) for v, t in zip(value, ty.items, strict=True))
    if isinstance(value, ArrayValue):
        return value.exact()
    if isinstance(value, Approx):
        raise Unspecified("approximate value used")
    return complex(*value) if ty == "wcomplex" else value if ty in WEAK else to_item(value, ty)


def called(prog: Program, text: str, values: dict[str, Any]) -> Any:
    """What NumPy gives in a program, or the exception."""
    if "np.random.seed" in text and prog.random is None:
        prog.random = np.random.RandomState(0)
    if "np.random" in text and prog.random is None:
        raise Unspecified("a draw that nobody seeded")
    try:
        return evaluate(text, values | {STATE: prog.random})
    except (np.exceptions.AxisError, TypeError, MemoryError) as err:
        raise Unspecified(f"{text}: {err!r}") from None
    except (ValueError, IndexError, ZeroDivisionError, OverflowError) as err:
        raise Raised(type(err).__name__) from None


def oracles(result: Any, held: dict[str, Any], off: float) -> Any:
    """A result as the oracle's value; floats in it may be off by this much of their type's bound, if it is not 0."""
    if isinstance(result, (tuple, list)):
        return tuple(oracles(r, held, off) for r in result)
    if result is None:
        return None
    if not isinstance(result, np.ndarray):
        ty, value = from_python(result)
        return Approx(value, error_of(off, ty)) if off and ty in BOUNDS else value
    for value in held.values():
        if isinstance(value, ArrayValue) and np.may_share_memory(value.data, result):
            return ArrayValue(result, value.marks)
    made = ArrayValue(result, {})
    if off and result.dtype.name in BOUNDS:
        made.marks = dict.fromkeys(addresses(result), error_of(off, result.dtype.name))
    return made


def error_of(off: float, ty: str) -> float:
    """By how much a float may be off."""
    return off if off == SIGN else off * BOUNDS[ty]
