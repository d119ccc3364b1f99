"""What the oracle knows of Python's builtins, ``math`` and NumPy: typing and values, one function per family."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy_calls
import scans
from rules import (
    FLOATS,
    INTS,
    SIGNED,
    STRONG,
    UNSIGNED,
    WEAK,
    Array,
    Const,
    Dtype,
    IllTyped,
    Tuple,
    Unspecified,
    common,
    is_scalar,
    klass,
    strong,
)
from values import Approx, Raised, compare, conv, from_item, int_range, python_int, to_f32, to_item, wrap

if TYPE_CHECKING:
    from oracle import Env, Fn, Frame, Instance

Typed = tuple[Any, "Fn"]

# Named functions: the result is compared within a few units in the last place.
APPROX = {
    "sin": math.sin, "cos": math.cos, "tan": math.tan, "exp": math.exp, "log": math.log, "log1p": math.log1p,
    "expm1": math.expm1, "sinh": math.sinh, "cosh": math.cosh, "tanh": math.tanh, "asin": math.asin,
    "acos": math.acos, "atan": math.atan, "asinh": math.asinh, "acosh": math.acosh, "atanh": math.atanh,
    "log2": math.log2, "log10": math.log10, "erf": math.erf, "erfc": math.erfc, "exp2": getattr(math, "exp2", None),
    "cbrt": getattr(math, "cbrt", None), "atan2": math.atan2, "hypot": math.hypot,
}  # fmt: skip
NP_NAMES = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh",
            "arctanh": "atanh", "arctan2": "atan2"}  # fmt: skip
_NP_TWINS = {v: k for k, v in NP_NAMES.items()}
EXACT = {"remainder", "nextafter", "sqrt", "fabs", "copysign", "fmod", "isnan", "isinf", "isfinite"}
TO_INT = {"floor": math.floor, "ceil": math.ceil, "trunc": math.trunc}
DTYPES = {t: t for t in STRONG if t != "bool"} | {"bool_": "bool", "intp": "int64", "uintp": "uint64"}
RAISES = {
    "ValueError",
    "ZeroDivisionError",
    "IndexError",
    "RuntimeError",
    "KeyError",
    "OverflowError",
    "TypeError",
}


def call(inst: Instance, node: ast.Call, env: Env) -> Typed:
    """Type a call of something that is not a function of the program."""
    func = node.func
    if isinstance(func, ast.Name):
        handler = _BUILTINS.get(func.id)
        if handler is None:
            raise IllTyped(f"call of {func.id}")
        return handler(inst, _args(inst, node, env))
    if isinstance(func, ast.Attribute):
        if isinstance(func.value, ast.Name) and func.value.id in ("np", "math") and func.value.id not in env:
            return _module_call(inst, func.value.id, func.attr, node, env)
        name = numpy_ufunc(func.value, env)
        if name and not inst.numba:
            return scans.method(inst, name, func.attr, node, env)
        ty, fn = inst.expr(func.value, env)
        if isinstance(ty, Array) and func.attr in scans.SUMS and not inst.numba:
            call = ast.Call(func, [func.value, *node.args], node.keywords)
            return scans.running(inst, scans.SUMS[func.attr], (ty, fn), call, env, None)
        return _method(inst, ty, fn, func.attr, _args(inst, node, env))
    raise IllTyped("call")


def numpy_ufunc(node: ast.expr, env: Env) -> str:
    """The name of a ufunc of NumPy whose method is called."""
    known = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "np"
    name = node.attr if known and "np" not in env else ""  # type: ignore[attr-defined]
    return name if name in numpy_calls.TWO else ""


def _args(inst: Instance, node: ast.Call, env: Env) -> list[Typed]:
    if node.keywords:
        raise IllTyped("keyword of a builtin")
    return [inst.expr(a, env) for a in node.args]


CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}


def constant(inst: Instance, node: ast.Attribute, env: Env) -> Typed | None:
    """``math.pi``, ``np.float32`` as a value; None for an attribute of something else."""
    if not isinstance(node.value, ast.Name) or node.value.id not in ("np", "math") or node.value.id in env:
        return None
    if node.value.id == "np" and node.attr in DTYPES:
        return Dtype(DTYPES[node.attr]), lambda frame: None
    if node.attr not in CONSTANTS:
        raise IllTyped(f"{node.value.id}.{node.attr}")
    value = CONSTANTS[node.attr]
    return inst.prog.weaken("float64"), lambda frame: value


def attribute(inst: Instance, ty: Any, fn: Fn, name: str) -> Typed:
    """Type an attribute of a value."""
    if isinstance(ty, Array):
        if name == "shape":
            return Tuple(("int64",) * ty.ndim), lambda frame: fn(frame).data.shape
        if name == "size":
            return "int64", lambda frame: fn(frame).data.size
        if name == "ndim":
            return "wint" if not inst.numba else "int64", lambda frame: ty.ndim
        if name == "T":
            return ty, lambda frame: fn(frame).transposed()
    if is_scalar(ty) and klass(ty) == "c" and name in ("real", "imag") and ty not in WEAK:
        part = 0 if name == "real" else 1
        return "float32" if ty == "complex64" else "float64", lambda frame: fn(frame)[part]
    raise IllTyped(f"attribute {name}")


# --- builtins ---


def _one(args: list[Typed], kinds: str = "bifc") -> tuple[str, Fn]:
    if len(args) != 1 or not is_scalar(args[0][0]) or klass(args[0][0]) not in kinds:
        raise IllTyped("argument of a builtin")
    return args[0]


def _convert(name: str) -> Callable[[Instance, list[Typed]], Typed]:
    """A conversion to the scalar type `name`."""

    def handler(inst: Instance, args: list[Typed]) -> Typed:
        ty, fn = _one(args)
        if klass(ty) == "c" and name != "bool" and klass(name) != "c":
            raise IllTyped("complex to real")
        prog = inst.prog

        def run(frame: Frame) -> Any:
            prog.count("conv", ty, name)
            value = fn(frame)
            if ty == "wint" and name in INTS and not int_range(name)[0] <= value <= int_range(name)[1]:
                raise Unspecified("literal out of range")
            return conv(value, ty, name)

        return name, run

    return handler


def _checked_int(inst: Instance, arg: Typed) -> Typed:
    ty, fn = arg
    prog = inst.prog

    def run(frame: Frame) -> int:
        prog.count("conv", ty, "int64")
        return python_int(fn(frame))

    return "int64", run


def _int(inst: Instance, args: list[Typed]) -> Typed:
    ty, _ = _one(args, "bif")
    if ty in WEAK:
        raise Unspecified("int of a literal")
    if inst.numba and ty in INTS:
        return args[0]
    if klass(ty) == "f" and not inst.numba and not inst.error_numpy:
        return _checked_int(inst, args[0])
    return _int_of_int(inst, args[0])


def _int_of_int(inst: Instance, arg: Typed) -> Typed:
    """An integer or bool as int64, which Python's int is."""
    ty, fn = arg
    prog = inst.prog

    def run(frame: Frame) -> int:
        prog.count("conv", ty, "int64")
        value = fn(frame)
        if klass(ty) == "f":  # with NumPy's error model, nothing raises
            return conv(value, ty, "int64")
        value = int(value)
        if value >= 2**63 and not inst.error_numpy:
            raise Raised("OverflowError")
        return wrap(value, "int64")

    return "int64", run


def _float(inst: Instance, args: list[Typed]) -> Typed:
    ty, _ = _one(args, "bif")
    if ty in WEAK:
        raise Unspecified("float of a literal")
    if inst.numba and ty == "bool":
        raise IllTyped("Numba's float(bool)")
    return args[0] if inst.numba and ty == "float32" else _convert("float64")(inst, args)


def _complex(inst: Instance, args: list[Typed]) -> Typed:
    if len(args) == 1 and not inst.numba:
        return _convert("complex128")(inst, args)
    (ta, fa), (tb, fb) = args
    if klass(ta) not in "bif" or klass(tb) not in "bif":
        raise IllTyped("complex of complex")
    if inst.numba:
        raise Unspecified("Numba's complex")
    return "complex128", lambda frame: (
        _plain(conv(fa(frame), ta, "float64")),
        _plain(conv(fb(frame), tb, "float64")),
    )


def _plain(value: Any) -> Any:
    if isinstance(value, Approx):
        raise Unspecified("approximate value used")
    return value


def _abs(inst: Instance, args: list[Typed]) -> Typed:
    ty, fn = _one(args)
    if ty in WEAK or inst.numba and ty == "bool":
        raise Unspecified("abs of a literal")
    if ty == "bool":
        return _convert("int64")(inst, args)
    prog = inst.prog
    out = "float32" if ty == "complex64" else "float64" if ty == "complex128" else ty

    def run(frame: Frame) -> Any:
        prog.count("abs", ty)
        value = _plain(fn(frame))
        if klass(ty) == "c":
            return Approx(_hypot(value[0], value[1], out))
        return abs(value) if klass(ty) == "f" else wrap(abs(value), ty)

    return out, run


def _hypot(x: Any, y: Any, ty: str) -> Any:
    out = math.hypot(float(x), float(y))
    return to_f32(out) if ty == "float32" else out


def _too_narrow(ty: str, args: list[Typed]) -> bool:
    """Is there a literal that the integer type does not hold?"""
    low, high = int_range("int64" if ty == "wint" else ty)
    return any(t == "wint" and not low <= _literal(fn) <= high for t, fn in args)


def _literal(fn: Fn) -> int:
    try:
        return int(fn(None))
    except (TypeError, AttributeError):
        raise Unspecified("a weak integer that is no literal") from None


def _minmax(name: str) -> Callable[[Instance, list[Typed]], Typed]:
    """``min`` or ``max`` of two or more scalars, as Python compares them from left to right."""
    op = "<" if name == "min" else ">"

    def handler(inst: Instance, args: list[Typed]) -> Typed:
        if len(args) < 2 or any(not is_scalar(t) or klass(t) == "c" for t, _ in args):
            raise IllTyped(name)
        ty = strong(args[0][0]) if inst.numba else args[0][0]
        for t, _ in args[1:]:
            ty = common(ty, strong(t) if inst.numba else t)
        whole = all(klass(t) in "bi" for t, _ in args)
        if klass(ty) == "f" and whole and inst.numba:
            raise Unspecified("min of int64 and uint64")
        if whole and not inst.numba and klass(ty) != "b" and (klass(ty) == "f" or _too_narrow(ty, args)):
            ty = "int64"
        prog = inst.prog

        def run(frame: Frame) -> Any:
            values = [_plain(fn(frame)) for _, fn in args]
            for t, _ in args:
                prog.count(name, t)
            if whole and not inst.numba:
                best = (min if name == "min" else max)(map(int, values))
                return bool(best) if ty == "bool" else wrap(best, "int64" if ty == "wint" else ty)
            values = [conv(v, t, ty) for v, (t, _) in zip(values, args, strict=True)]
            best = values[0]
            for v in values[1:]:
                if compare(op, v, ty, best, ty):
                    best = v
            return best

        return ty, run

    return handler


def _round(inst: Instance, args: list[Typed]) -> Typed:
    ty, fn = _one(args[:1], "bif")
    if ty in WEAK or inst.numba and (ty not in FLOATS or len(args) > 1):
        raise Unspecified("round of a literal")
    if len(args) > 1:
        return _round_digits(inst, ty, fn, args[1])
    if ty not in FLOATS:
        unsigned = ty.startswith("u") and not inst.numba
        return _int_of_int(inst, args[0]) if unsigned or ty == "bool" else args[0]
    prog = inst.prog

    def run(frame: Frame) -> int:
        prog.count("round", ty)
        value = _plain(fn(frame))
        if math.isfinite(value):
            value = float(round(float(value)))
        if not inst.error_numpy and not inst.numba:
            return python_int(value)
        if not math.isfinite(value) or abs(value) >= 2.0**63:
            raise Unspecified("round out of range")
        return int(value)

    return "int64", run


def _round_digits(inst: Instance, ty: str, fn: Fn, digits: Typed) -> Typed:
    if ty not in FLOATS or digits[0] != "wint" and digits[0] not in SIGNED:
        raise Unspecified("round of an integer to digits")
    prog = inst.prog

    def run(frame: Frame) -> Any:
        value, n = _plain(fn(frame)), digits[1](frame)
        prog.count("round", ty, digits[0])
        try:
            out = round(float(value), n)
        except OverflowError:
            raise Unspecified("round overflows") from None
        return to_f32(out) if ty == "float32" else out

    return ty, run


def _divmod(inst: Instance, args: list[Typed]) -> Typed:
    (ta, fa), (tb, fb) = args
    if not is_scalar(ta) or not is_scalar(tb):
        raise IllTyped("divmod")
    from rules import arith

    ty = arith("//", ta, tb, inst.numba)
    if ty in WEAK or klass(ty) == "b":
        raise Unspecified("divmod of literals")
    prog = inst.prog

    def run(frame: Frame) -> tuple:
        a, b = fa(frame), fb(frame)
        prog.count("divmod", ta, tb)
        return inst.operate("//", a, ta, b, tb), inst.operate("%", a, ta, b, tb)

    return Tuple((ty, ty)), run


def _total_of(inst: Instance, args: list[Typed]) -> Typed:
    """``sum`` of an integer array."""
    ty, fn = args[0]
    if not isinstance(ty, Array) or ty.ndim != 1 or ty.dtype not in INTS or len(args) > 1 or inst.numba:
        raise Unspecified("sum of something else")
    out = "uint64" if ty.dtype in UNSIGNED else "int64"
    return out, lambda frame: _total("sum", out, fn(frame).exact())


def _truths(name: str) -> Callable[[Instance, list[Typed]], Typed]:
    """``any`` or ``all`` of a 1-D array."""

    def handler(inst: Instance, args: list[Typed]) -> Typed:
        ty, fn = args[0]
        if not isinstance(ty, Array) or ty.ndim != 1 or inst.numba:
            raise Unspecified(f"{name} of something else")
        return "bool", lambda frame: bool(getattr(fn(frame).exact(), name)())

    return handler


def _pow(inst: Instance, args: list[Typed]) -> Typed:
    """``pow(x, y, m)`` of signed integers."""
    if len(args) != 3 or any(t not in SIGNED and t != "wint" for t, _ in args) or inst.numba:
        raise Unspecified("pow of something else")

    def run(frame: Frame) -> int:
        x, y, m = [fn(frame) for _, fn in args]
        try:
            return pow(x, y, m)
        except ValueError:
            raise Raised("ValueError") from None

    return "int64", run


def _len(inst: Instance, args: list[Typed]) -> Typed:
    ty, fn = args[0]
    if isinstance(ty, Array) and ty.ndim > 0:
        return "int64", lambda frame: fn(frame).data.shape[0]
    raise IllTyped("len")


_BUILTINS: dict[str, Callable[[Instance, list[Typed]], Typed]] = {
    "int": _int, "float": _float, "bool": _convert("bool"), "complex": _complex, "abs": _abs, "min": _minmax("min"),
    "max": _minmax("max"), "round": _round, "divmod": _divmod, "len": _len,
    "sum": _total_of, "any": _truths("any"), "all": _truths("all"), "pow": _pow,
}  # fmt: skip


# --- math and NumPy ---


def _module_call(inst: Instance, module: str, name: str, node: ast.Call, env: Env) -> Typed:
    if module == "np" and name in DTYPES:
        return _convert(DTYPES[name])(inst, _args(inst, node, env))
    if module == "np" and name in ("zeros", "ones", "full"):
        return _alloc(inst, name, node, env)
    if module == "np" and name == "arange":
        return _arange(inst, _args(inst, node, env))
    if module == "np" and name in ("zeros_like", "ones_like", "full_like"):
        return _like(inst, name, _args(inst, node, env))
    if module == "np" and not inst.numba and name in scans.SUMS:
        return scans.running(inst, scans.SUMS[name], inst.expr(node.args[0], env), node, env, None)
    args = _args(inst, node, env)
    if module == "np" and not inst.numba and name in numpy_calls.ONE + numpy_calls.TWO + ("where",):
        return _elementwise(inst, name, args)
    if module == "np":
        name = NP_NAMES.get(name, name)
        if any(is_scalar(t) and klass(t) != "f" or t in WEAK for t, _ in args):
            raise Unspecified("NumPy function of an integer")
    if any(not is_scalar(t) or klass(t) == "c" for t, _ in args):
        raise IllTyped(name)
    if module == "math" and name in ("gcd", "isqrt"):
        return _integers(inst, name, args)
    if any(t in WEAK for t, _ in args):
        raise Unspecified("math function of a literal")
    types = [t if klass(t) == "f" else "float64" for t, _ in args]
    ty = types[0] if len(set(types)) == 1 else None
    if ty is None:
        raise Unspecified("math function of mixed floats")
    values = [(t, fn) for t, fn in args]
    if module == "math" and name in TO_INT:
        return _to_int(inst, name, values)
    if module == "np" and name in ("floor", "ceil", "trunc"):
        return ty, _counted(inst, f"np.{name}", ty, values, lambda x: _np_round(name, x))
    if name in EXACT:
        out = "bool" if name.startswith("is") else ty
        return out, _counted(inst, f"{module}.{name}", ty, values, lambda *x: _exact(name, ty, x))
    if APPROX.get(name) is not None:
        return ty, _counted(inst, f"{module}.{name}", ty, values, lambda *x: _approx(name, ty, x))
    raise IllTyped(f"{module}.{name}")


def _elementwise(inst: Instance, name: str, args: list[Typed]) -> Typed:
    types = [t for t, _ in args]
    if not all(is_scalar(t) or isinstance(t, Array) for t in types):
        raise IllTyped(name)
    out = numpy_calls.call_type(name, types)
    prog = inst.prog

    def run(frame: Frame) -> Any:
        values = [fn(frame) for _, fn in args]
        prog.count(f"np.{name}", *[t if isinstance(t, str) else t.dtype for t in types])
        return numpy_calls.call(name, values, types)

    return out, run


def _counted(inst: Instance, what: str, ty: str, args: list[Typed], fn: Callable) -> Fn:
    prog = inst.prog

    def run(frame: Frame) -> Any:
        values = [_plain(conv(f(frame), t, ty)) for t, f in args]
        prog.count(what, *[t for t, _ in args])
        return fn(*values)

    return run


def _approx(name: str, ty: str, values: tuple) -> Approx:
    try:
        out = APPROX[name](*[float(v) for v in values])
    except (ValueError, OverflowError):
        out = float(
            getattr(np, _NP_TWINS.get(name, name))(*[float(v) for v in values])
        )  # nan or inf, as C has it
    return Approx(to_f32(out) if ty == "float32" else out)


def _exact(name: str, ty: str, values: tuple) -> Any:
    cast = to_f32 if ty == "float32" else float
    if name == "sqrt" and values[0] < 0:
        return cast(math.nan)
    if name == "copysign" and values[1] != values[1]:
        raise Unspecified("sign of a NaN")
    if name == "nextafter":
        return cast(np.nextafter(*values))
    if name == "sqrt" and ty == "float32":
        return np.sqrt(values[0])
    try:
        out = getattr(math, name)(*[float(v) for v in values])
    except ValueError:
        out = math.nan  # fmod of an infinity or by zero
    return out if isinstance(out, bool) else cast(out)


def _np_round(name: str, value: Any) -> Any:
    return type(value)(getattr(np, name)(value))


def _to_int(inst: Instance, name: str, args: list[Typed]) -> Typed:
    ty, fn = _one(args, "f")
    prog = inst.prog

    def run(frame: Frame) -> int:
        prog.count(f"math.{name}", ty)
        value = _plain(fn(frame))
        if math.isfinite(value):
            value = float(TO_INT[name](float(value)))
        if not inst.error_numpy and not inst.numba:
            return python_int(value)
        if not math.isfinite(value) or abs(value) >= 2.0**63:
            raise Unspecified(f"{name} out of range")
        return int(value)

    return "int64", run


def _integers(inst: Instance, name: str, args: list[Typed]) -> Typed:
    """``math.gcd`` and ``math.isqrt`` of signed integers."""
    if any(t not in SIGNED for t, _ in args):
        raise Unspecified(f"{name} of other than signed integers")

    def run(frame: Frame) -> int:
        values = [fn(frame) for _, fn in args]
        try:
            out = getattr(math, name)(*values)
        except ValueError:
            raise Raised("ValueError") from None
        if out >= 2**63:
            raise Unspecified(f"{name} beyond int64")
        return out

    return "int64", run


def _alloc(inst: Instance, name: str, node: ast.Call, env: Env) -> Typed:
    """``np.zeros(shape, dtype)``, ``ones``, ``full(shape, value, dtype)``."""
    args = list(node.args) + [k.value for k in node.keywords if k.arg == "dtype"]
    if len(args) != (3 if name == "full" else 2):
        raise IllTyped("allocation without a dtype")
    dtype = args[-1]
    if not isinstance(dtype, ast.Attribute) or dtype.attr not in DTYPES:
        raise IllTyped("dtype")
    elem = DTYPES[dtype.attr]
    shape = args[0].elts if isinstance(args[0], ast.Tuple) else [args[0]]
    dims = [inst.expr(s, env) for s in shape]
    if not all(is_scalar(t) and "int" in t for t, _ in dims):
        raise IllTyped("shape")
    value: Typed = inst.expr(args[1], env) if name == "full" else ("wint", lambda frame: int(name == "ones"))

    def run(frame: Frame) -> Any:
        sizes = [fn(frame) for _, fn in dims]
        if any(s < 0 for s in sizes):
            raise Raised("ValueError")
        _fits_or_raises(inst, elem, value, frame)
        item = to_item(_plain(conv(value[1](frame), value[0], elem)), elem)
        if any(s > 10_000 for s in sizes):
            raise Unspecified("large array")
        return inst.new_array(np.full(sizes, item, dtype=elem))

    return Array(elem, len(dims)), run


def _fits_or_raises(inst: Instance, elem: str, value: Typed, frame: Frame) -> None:
    """A literal beyond an integer type is no value of a new array."""
    if value[0] == "wint" and klass(elem) == "i" and not inst.numba:
        low, high = int_range(elem)
        if not low <= value[1](frame) <= high:
            raise Raised("OverflowError")


def _like(inst: Instance, name: str, args: list[Typed]) -> Typed:
    """``np.zeros_like(a)`` and its kind."""
    ty, fn = args[0]
    if not isinstance(ty, Array):
        raise IllTyped(name)
    value: Typed = args[1] if len(args) > 1 else ("wint", lambda frame: int(name == "ones_like"))

    def run(frame: Frame) -> Any:
        arr = fn(frame)
        _fits_or_raises(inst, ty.dtype, value, frame)
        item = to_item(_plain(conv(value[1](frame), value[0], ty.dtype)), ty.dtype)
        return inst.new_array(np.full(arr.data.shape, item, dtype=arr.data.dtype))

    return ty, run


def _arange(inst: Instance, args: list[Typed]) -> Typed:
    """``np.arange`` of signed integers."""
    if any(t != "wint" and t not in SIGNED for t, _ in args) or inst.numba:
        raise Unspecified("arange of other than signed integers")

    def run(frame: Frame) -> Any:
        values = [fn(frame) for _, fn in args]
        if len(values) == 3 and values[2] == 0:
            raise Unspecified("arange with step 0")
        if len(range(*values)) > 40_000:
            raise Unspecified("large array")
        return inst.new_array(np.array(list(range(*values)), dtype=np.int64))

    return Array("int64", 1), run


# --- methods of arrays ---


def _method(inst: Instance, ty: Any, fn: Fn, name: str, args: list[Typed]) -> Typed:
    if not isinstance(ty, Array):
        raise IllTyped(f"method {name}")
    if name == "fill" and len(args) == 1 and is_scalar(args[0][0]):
        return Const(None), lambda frame: fn(frame).fill(args[0][1](frame), args[0][0])
    if name == "astype" and len(args) == 1 and isinstance(args[0][0], Dtype):
        return _astype(inst, ty, fn, args[0][0].name)
    if args:
        raise IllTyped(f"arguments of {name}")
    dt = ty.dtype
    if name == "copy":
        return ty, lambda frame: inst.new_array(fn(frame).exact().copy())
    if name in ("any", "all"):
        return "bool", lambda frame: bool(getattr(fn(frame).exact(), name)())
    if name in ("min", "max", "argmin", "argmax") and klass(dt) in "if":
        return "int64" if name.startswith("arg") else dt, lambda frame: _extreme(name, dt, fn(frame).exact())
    if name in ("sum", "prod") and klass(dt) in "bi":
        out = "uint64" if dt.startswith("u") else "int64"
        return out, lambda frame: _total(name, out, fn(frame).exact())
    if name in ("sum", "mean") and dt in FLOATS and not inst.numba:
        return dt, lambda frame: _float_total(name, dt, fn(frame).exact())
    raise IllTyped(f"method {name}")


def _float_total(name: str, dt: str, data: np.ndarray) -> Approx:
    """Sum or mean of floats: no worse than pairwise summation; twice that is allowed here."""
    items = [float(v) for v in data.ravel()]
    size = sum(abs(v) for v in items) if all(map(math.isfinite, items)) else math.inf
    limit = 1e300 if dt == "float64" else 1e37
    if size > limit or not items:
        raise Unspecified("sum of infinities, or mean of nothing")
    total = math.fsum(items)
    eps = 2.0 ** (-52 if dt == "float64" else -23)
    error = size * eps * (2 + math.log2(len(items)))
    if name == "mean":
        total, error = total / len(items), error / len(items) + abs(total / len(items)) * eps
    return Approx(
        total if dt == "float64" else to_f32(total), error + 5e-324 + (2e-45 if dt == "float32" else 0)
    )


def _astype(inst: Instance, ty: Array, fn: Fn, dtype: str) -> Typed:
    """A converted copy."""
    if klass(ty.dtype) == "c" and klass(dtype) != "c":
        raise IllTyped("complex to real")

    def run(frame: Frame) -> Any:
        data = fn(frame).exact()
        out = np.empty(data.shape, dtype=dtype)
        for i in np.ndindex(data.shape):
            out[i] = to_item(conv(from_item(data[i], ty.dtype), ty.dtype, dtype), dtype)
        return inst.new_array(out)

    return Array(dtype, ty.ndim), run


def _extreme(name: str, dt: str, data: np.ndarray) -> Any:
    if data.size == 0:
        raise Raised("ValueError")
    if klass(dt) == "f" and (np.isnan(data).any() or name in ("min", "max") and (data == 0).any()):
        raise Unspecified("which nan or zero")
    out = getattr(data, name)()
    return int(out) if name.startswith("arg") else from_item(out, dt)


def _total(name: str, out: str, data: np.ndarray) -> int:
    total = 0 if name == "sum" else 1
    for item in data.ravel():
        total = total + int(item) if name == "sum" else total * int(item)
    return wrap(total, out)


# --- iteration ---


def iterable(inst: Instance, node: ast.Call, env: Env) -> tuple[Any, Callable[[Frame], Iterator]] | None:
    """Item type and starter of ``range``, ``enumerate``, ``zip`` and ``reversed``; None for another call."""
    name = node.func.id  # type: ignore[attr-defined]
    if name in ("range", "prange"):
        item, span = _range(inst, node, env)
        return item, lambda frame: iter(span(frame))
    if name == "enumerate":
        item, start = inst.iterable(node.args[0], env)
        ty, first = inst.expr(node.args[1], env) if len(node.args) > 1 else ("wint", lambda frame: 0)
        if ty != "wint" and ty not in SIGNED:
            raise IllTyped("start of enumerate")
        return Tuple(("int64", item)), lambda frame: counted_from(start(frame), first(frame))
    if name == "zip":
        parts = [inst.iterable(a, env) for a in node.args]
        return Tuple(tuple(t for t, _ in parts)), lambda frame: zip(*[s(frame) for _, s in parts])
    if name == "reversed":
        return _reversed(inst, node.args[0], env)
    return None


def counted_from(items: Iterator, first: int) -> Iterator:
    """``enumerate``; its start is computed after its items."""
    return enumerate(items, first)


def _range(inst: Instance, node: ast.Call, env: Env) -> tuple[Any, Callable[[Frame], range]]:
    args = [inst.expr(a, env) for a in node.args]
    if not all(is_scalar(t) and (t == "wint" or t in INTS) for t, _ in args):
        raise IllTyped("range")
    unsigned = [t for t, _ in args if t in UNSIGNED]
    if unsigned and inst.numba:
        raise Unspecified("Numba's range of an unsigned integer")
    signed = node.func.id == "prange"  # type: ignore[attr-defined]
    ty = (
        "uint64"
        if not signed and "uint64" in unsigned and all(t in UNSIGNED or t == "wint" for t, _ in args)
        else "int64"
    )

    def run(frame: Frame) -> range:
        values = [fn(frame) for _, fn in args]
        if any(v >= 2**63 for v in values) or ty == "uint64" and any(v < 0 for v in values):
            raise Unspecified("range beyond int64")
        if len(values) == 3 and values[2] == 0:
            raise Raised("ValueError")
        return range(*values)

    return ty, run


def _reversed(inst: Instance, node: ast.expr, env: Env) -> tuple[Any, Callable[[Frame], Iterator]]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("range", "prange"):
        item, span = _range(inst, node, env)
        return item, lambda frame: reversed(span(frame))
    ty, fn = inst.expr(node, env)
    if not isinstance(ty, Array) or ty.ndim != 1:
        raise IllTyped("reversed")
    return ty.dtype, lambda frame: fn(frame).backwards()
