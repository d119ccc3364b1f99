"""Rows of the matrix of ways in for every other function of the tables: expressions, many in a row."""

from __future__ import annotations

import cmath  # noqa: F401 - texts of rows name it
import math  # noqa: F401
import numbers  # noqa: F401
import random  # noqa: F401
from collections import Counter, OrderedDict, defaultdict, deque

import numpy as np
import treadle
from numpy.exceptions import AxisError  # noqa: F401 - texts of rows name it
from treadle import types
from treadle.typed import Dict as TypedDict
from treadle.typed import List as TypedList
from treadle.typed import Set as TypedSet
from ways_rows import Point, feature, floats, group, ints, matrix, text_feature  # noqa: F401 - texts of rows name it

MATH_1 = "sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan atan sinh cosh tanh asinh erf erfc gamma lgamma cbrt fabs floor ceil trunc degrees radians isnan isinf isfinite ulp".split()  # fmt: skip
group("math_of_one", "x", [f"math.{f}(x)" for f in MATH_1], (1.25,), (1,), python=False)
group(
    "math_of_more",
    "x, y, n",
    [
        "math.asin(x / 9)", "math.acos(x / 9)", "math.atanh(x / 9)", "math.acosh(x)", "math.atan2(y, x)",
        "math.fmod(x, y)", "math.copysign(x, -y)", "math.remainder(x, y)", "math.nextafter(x, y)",
        "math.pow(x, y)", "math.hypot(x, y, 1.0)", "math.ldexp(x, n)", "math.frexp(x)", "math.modf(x)",
        "math.isclose(x, y)", "math.factorial(n)", "math.isqrt(n)", "math.comb(n, 2)", "math.perm(n, 2)",
        "math.gcd(n, 9)", "math.lcm(n, 9)", "math.dist((x, y), (y, x))", "math.log(x, 3.0)",
    ],
    (1.25, 3.5, 6),
    python=False,
)  # fmt: skip
if hasattr(math, "fma"):
    group("math_fma", "x, y", ["math.fma(x, y, 1.0)"], (1.25, 3.5))
if hasattr(math, "sumprod"):
    group("math_sumprod", "a, b", ["math.sumprod(a, b)"], lambda: (floats(), floats(12, 3)), rtol=1e-14)
CMATH = "sqrt exp log log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh phase polar isnan isinf isfinite".split()  # fmt: skip
group("cmath_of_one", "z", [f"cmath.{f}(z)" for f in CMATH], (1.25 - 0.5j,), python=False)
group(
    "cmath_of_more",
    "z, x",
    [
        "cmath.rect(x, 0.5)",
        "cmath.isclose(z, z + x)",
        "cmath.log(z, 3.0)",
        "z.conjugate()",
        "z.real",
        "z.imag",
    ],
    (1.25 - 0.5j, 2.5),
    python=False,
)
group(
    "generator_expressions",
    "a, m, n",
    [
        "sum(x * n for x in a if x > 2)", "any(x > n for x in a), all(x > -n for x in a)",
        "min(x * x for x in a), max(i * x for i, x in enumerate(a))", "max(a, key=abs), min((x for x in a if x > 1e9), default=2.0), max(3, a[0], key=lambda x: -x)", "math.prod(x for x in a if x)",
        "sum(m[i, j] * i for i in range(m.shape[0]) for j in range(m.shape[1]) if i != j)",
        "sum(x * y for x, y in zip((p + n for p in a), (q for q in a if q > 1)))",
        "sum(max(x * y for y in a) for x in a)", "math.fsum(x for row in m for x in row)",
        "np.array([i * n for i in range(n)])", "np.stack([a * i for i in range(1, 4)], axis=1)", "np.concatenate([a[i:] for i in range(3)])", "max([(x, i) for i, x in enumerate(a)])", "np.array([x for x in a if x > 2])",
        "np.array([[x + i for i in range(n)] for x in a])", "np.array([(i, x) for i, x in enumerate(a)], dtype=np.float32)",
        "sum([x for x in a]), len([x for x in a if x > 2])", "np.array([m[i] * n for i in range(2)])",
    ],
    lambda: (floats(), matrix(), 3),
)  # fmt: skip
group(
    "builtins",
    "x, n",
    [
        "int(x)", "float(n)", "bool(n)", "complex(x, n)", "abs(-n)", "round(x)", "round(x, 1)", "divmod(n, 3)", "pow(n, 2)",
        "x.is_integer()", "ord('G') + n, ord(chr(945 + 1))", "n.bit_count()", "n.bit_length()", "n.real", "n.conjugate()", "tuple((n, x))", "(n, x, n).count(n)", "(n, x, n).index(x)",
        "Point(n, x)._fields == ('x', 'y')", "Point(n, x)._replace(x=7).x", "Point(n, x)._asdict()['y']", "n.to_bytes(2, 'big')[1]", "int.from_bytes(n.to_bytes(3, 'little'), 'little')", "sorted(i * j for i in range(n) for j in range(3))[-1]", "complex(x, n).conjugate()", "n.imag", "x.real", "treadle.get_thread_id() >= 0",
    ],
    (2.5, 7),
    python=False,
)  # fmt: skip
group(
    "numpy_scalars",
    "x",
    ["x.item()", "x.astype(np.int64)", "x.dtype.itemsize", "x.dtype.kind == 'f'", "x.conj()", "x.dtype.name == 'float64'",
     "isinstance(x, np.floating)", "isinstance(x, np.integer)", "isinstance(x, np.number)", "isinstance(x, (np.generic, np.inexact))", "isinstance(x, np.complexfloating)",
     "isinstance(x, np.signedinteger | np.unsignedinteger)", "isinstance(x, (numbers.Number, numbers.Complex))", "isinstance(x, numbers.Real)", "isinstance(x, numbers.Integral)",
     "isinstance(x, (list, dict, set))", "x.dtype.type(3)", "x.sum()", "x.max()", "x.round(1)", "x.shape == ()", "x.T",
     "x.view(np.int64), x.view(), np.int64(x.view(np.uint64)).view(np.float64), np.float32(x).view('i4'), np.float16(x).view(np.uint16)"],
    (np.float64(2.5),),
    python=False,
)  # fmt: skip
# Seeded in the function, so that every way in has the same numbers, whatever thread it comes to.
RANDOM = [
    "random()", "normal(1.0, 2.0)", "uniform(-1.0, 3.0, size=4)", "standard_normal((2, 2))", "gamma(0.5, 2.0)", "beta(2.0, 0.5)", "rand(2, 3)", "randn(3)", "random_sample(2)", "sample()", "ranf()", "standard_gamma(3.0)", "standard_exponential(2)", "standard_cauchy()", "exponential()",
    "vonmises(1.0, 4.0)", "wald(3.0, 0.2, 3)", "triangular(0.0, 1.0, 3.0)", "standard_t(3.0)", "noncentral_chisquare(0.5, 2.0)", "noncentral_f(2.0, 3.0, 1.5)", "dirichlet((0.5, 1.5))", "chisquare(2.0, 3)", "f(2.0, 3.0)", "gumbel()", "laplace(1.0, 2.0)", "logistic()", "lognormal(0.5, 0.25)",
    "pareto(3.0)", "power(0.5)", "rayleigh(2.0)", "weibull(0.5)", "randint(10)", "randint(0, 200, 5, np.uint8)", "poisson(47.5)", "binomial(1000, 0.4, 4)", "hypergeometric(300, 200, 150)", "zipf(1.5)", "negative_binomial(3.0, 0.4)", "choice(9, 4, False)", "choice(3, 5, p=(0.2, 0.3, 0.5))",
    "permutation(7)", "multinomial(20, (0.2, 0.8))", "geometric(0.1)", "logseries(0.6)", "choice(np.arange(3.0))", "hypergeometric(30, 20, 5, 3)", "seed((3, 2))", "multivariate_normal((0.0, 1.0), ((2.0, 0.5), (0.5, 1.0)), 2)", "normal(np.arange(3.0), 2.0)", "randint((1, -4), (5, 2**40))", "hypergeometric(np.arange(30, 33), 20, 5)",
]  # fmt: skip
for k in range(0, len(RANDOM), 7):
    group(f"random_numbers_{k // 7}", "s", ["np.random.seed(s)", *(f"np.random.{x}" for x in RANDOM[k : k + 7])], (7,), python=False)  # fmt: skip
# With the Generator in the result, which no array holds: in a loop over a prange it is refused (test_generator.py).
GENERATOR = [x for x in RANDOM if x.partition("(")[0] not in ("rand", "randn", "random_sample", "sample", "ranf", "randint", "seed", "multivariate_normal")] + [
    "integers(10)", "integers(0, 200, 5, np.uint8, endpoint=True)", "random(3, np.float32)", "permuted(np.arange(12.0).reshape(4, 3), axis=1)", "normal(np.arange(3.0), 2.0)", "poisson((1.0, 30.0), (2, 2))", "integers((1, -4), (5, 100), dtype=np.int8)", "multinomial((3, 40), (0.2, 0.8))", "choice(20000, 500, replace=False)"]  # fmt: skip
for k in range(0, len(GENERATOR), 7):
    group(f"random_generator_{k // 7}", "rng", ["rng", *(f"rng.{x}" for x in GENERATOR[k : k + 7])], lambda: (np.random.default_rng(7),), lambda: (np.random.Generator(np.random.MT19937(7)),))  # fmt: skip


@feature(lambda: (np.random.default_rng(7), np.arange(9.0)))
def random_generator_order(rng, a):
    rng.shuffle(a)
    return rng.permutation(a.reshape(3, 3)), rng


@feature(lambda: (np.random.default_rng(7), np.array([[2.0, 0.5], [0.5, 1.0]])), rtol=1e-12)
def random_generator_several(rng, a):
    x = rng.multivariate_normal(a[0], a, 3)
    return x, rng.multivariate_hypergeometric(np.arange(3, 7), 5), rng


group(
    "random_python",
    "s",
    [
        "random.seed(s)", "random.random()", "random.randrange(3, 50, 4)", "random.randint(1, 6)", "random.gauss(0.0, 1.0)", "random.getrandbits(33)", "random.choice((4, 5, 6))", "random.gammavariate(0.5, 2.0)",
        "random.seed(s)", "random.uniform(1.0, 2.0)", "random.triangular(0.0, 2.0, 0.5)", "random.normalvariate(0.0, 1.0)", "random.lognormvariate(0.5, 0.25)", "random.expovariate(2.0)", "random.betavariate(2.0, 3.0)", "random.paretovariate(3.0)",
        "random.seed(s)", "random.weibullvariate(1.0, 1.5)", "random.vonmisesvariate(0.0, 4.0)",
    ],
    (7,),
    python=False,
)  # fmt: skip


@feature(lambda: (np.arange(9.0), 5), python=False)
def random_order(a, s):
    np.random.seed(s)
    random.seed(s)
    np.random.shuffle(a)
    random.shuffle(a)
    return np.random.permutation(a.reshape(3, 3))


@feature((-1.0, 3), (2.0, 3), python=False)
def random_refused(scale, s):
    np.random.seed(s)
    return np.random.normal(0.0, scale) + np.random.randint(int(scale))


group(
    "numpy_limits",
    "n",
    [
        "np.iinfo(np.int32).min + n", "np.iinfo(np.int32).max", "np.iinfo(np.int64).bits", "np.finfo(np.float64).eps",
        "np.finfo(np.float32).max", "np.finfo(np.float64).min", "np.finfo(np.float64).tiny", "np.finfo(np.float64).bits",
        "np.finfo(np.float64).smallest_normal", "np.finfo(np.float64).smallest_subnormal", "np.finfo(np.float64).epsneg",
        "np.finfo(np.float64).resolution", "np.finfo(np.float64).precision",
    ],
    (3,),
    python=False,
)  # fmt: skip

UNARY = "sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arctan sinh cosh tanh arcsinh rint floor ceil trunc fix isnan isinf isfinite signbit negative positive absolute fabs sign square reciprocal conjugate logical_not rad2deg degrees deg2rad radians spacing real imag round around".split()  # fmt: skip
group("numpy_unary_array", "a", [f"np.{f}(a)" for f in UNARY], lambda: (np.abs(floats()),), python=False)
group("numpy_unary_scalar", "x", [f"np.{f}(x)" for f in UNARY], (1.25,), python=False)
group(
    "numpy_unary_small",
    "a",
    [f"np.{f}(a)" for f in ("arcsin", "arccos", "arctanh", "modf", "frexp")]
    + ["np.arccosh(a + 1)", "np.angle(a + 1j)"],
    lambda: (np.linspace(0.1, 0.9, 7),),
    python=False,
)
BINARY = "add subtract multiply divide floor_divide remainder power arctan2 hypot copysign nextafter less less_equal equal not_equal greater greater_equal logical_and logical_or logical_xor minimum maximum fmin fmax logaddexp logaddexp2 heaviside fmod float_power divmod".split()  # fmt: skip
group("numpy_binary_array", "a, b", [f"np.{f}(a, b)" for f in BINARY], lambda: (np.abs(floats()), np.abs(floats(12, 4))), python=False)  # fmt: skip
group("numpy_binary_mixed", "a, b", [f"np.{f}(a, b)" for f in BINARY], lambda: (np.abs(matrix()), np.abs(floats(4, 4))), lambda: (np.abs(matrix()), 2), python=False)  # fmt: skip
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm"]
group("numpy_bits", "a, b", [f"np.{f}(a, b)" for f in BITS] + ["np.invert(a)", "np.ldexp(1.5, b)"], lambda: (ints(), ints(12, "i8", 9)), (12, 5))  # fmt: skip
if hasattr(np, "bitwise_count"):
    group("numpy_bit_count", "a", ["np.bitwise_count(a)"], lambda: (ints(),))
group(
    "numpy_choices",
    "a, m",
    ["np.where(m, a, 0.0)", "np.clip(a, -1.0, 1.0)", "a.clip(-1.0, 1.0)", "a.round(1)", "a.conj()", "a.conjugate()", "a.real", "a.imag"],
    lambda: (floats(), floats() > 0),
    python=False,
)  # fmt: skip
group(
    "numpy_attributes",
    "a",
    ["a.shape", "a.strides", "a.size", "a.ndim", "a.itemsize", "a.nbytes", "a.dtype.itemsize", "np.size(a)", "np.ndim(a)", "np.shape(a)", "a.item(3)", "isinstance(a, np.ndarray)"],
    lambda: (matrix(),),
)  # fmt: skip
group(
    "numpy_shapes",
    "a",
    [
        "a.reshape(4, 3)", "np.reshape(a, (2, 6))", "a.ravel()", "np.ravel(a)", "a.flatten()", "a.T", "a.transpose(1, 0)", "np.transpose(a)",
        "a.swapaxes(0, 1)", "np.swapaxes(a, 0, 1)", "np.moveaxis(a, 0, 1)", "np.squeeze(a[:1], axis=0)", "a[:1].squeeze(axis=0)",
        "np.expand_dims(a, 1)", "np.atleast_1d(a)", "np.atleast_2d(a[0])", "np.atleast_3d(a)", "np.flip(a)", "np.flipud(a)", "np.fliplr(a)",
        "np.rot90(a)", "np.broadcast_to(a, (2, 3, 4))", "np.broadcast_arrays(a, a[0])[1]", "np.diagonal(a)", "a.diagonal()", "np.diag(a[0])",
        "np.tril(a)", "np.triu(a)", "a.copy()", "a.tobytes()", "a.tolist()", "a.repeat(2)",
    ],
    lambda: (matrix(),),
)  # fmt: skip
group(
    "numpy_bins",
    "a, k",
    ["np.bincount(k)", "np.bincount(k, a, 12)", "np.bincount(k, minlength=0)", "np.histogram(a, 4)[0]", "np.histogram(a, 4)[1]", "np.histogram(a, 3, (-1.0, 1.0), density=True)[0]",
     "np.histogram(a, np.array([-2.0, 0.0, 0.5]))[0]", "np.searchsorted(np.arange(-3, 9), k)", "np.searchsorted(k[:0], a[1])", "np.digitize(a, np.array([2.0, 0.5, -1.0]))"],
    lambda: (floats(), np.abs(ints()) % 9),
    python=False,
)  # fmt: skip
group(
    "numpy_einsum",
    "a, b",
    ["np.einsum('ij,kj->ik', a, b)", "np.einsum('ij,ij->j', a, b)", "np.einsum('ij->', a)", "np.einsum('...j,j', a, b[0])"],
    lambda: (matrix(), matrix() * 2),
    rtol=1e-13,
)  # fmt: skip
group(
    "numpy_order",
    "a, m, k",
    ["np.sort(a)", "np.sort(m, 0)", "np.sort(m, None)", "np.argsort(a)", "a.argsort(kind='stable')", "np.argsort(m, axis=0)", "np.argsort(k % 3, kind='stable')",
     "np.sort_complex(k)", "np.lexsort((a, k % 3))", "np.lexsort(m)", "np.partition(m, 2)[:, 2]", "np.partition(a, (1, -2))[1]", "a[np.argpartition(a, 4)[4]]",
     "m[0, m.argpartition(1)[0, 1]]", "np.median(a)", "np.median(m, 0)", "np.median(k, keepdims=True)", "np.unique(k % 3)", "np.unique(a)",
     "np.unique(k % 3, return_counts=True)", "np.unique(k % 3, True, True)"],
    lambda: (floats(), matrix(), ints()),
)  # fmt: skip
group(
    "numpy_joins",
    "a, b",
    [
        "np.concatenate((a, b))", "np.stack((a, b))", "np.vstack((a, b))", "np.hstack((a, b))", "np.dstack((a, b))", "np.column_stack((a, b))",
        "np.append(a, b)", "np.roll(a, 1)", "np.repeat(a, 2)", "np.tile(a, 2)", "np.meshgrid(a[0], b[0])[1]",
    ],
    lambda: (matrix(), matrix() * 2),
)  # fmt: skip
group(
    "numpy_new",
    "n, x",
    [
        "np.zeros(n)", "np.ones((n, 2))", "np.full(n, x)", "np.zeros_like(np.ones(n))", "np.ones_like(np.zeros(n))", "np.full_like(np.zeros(n), x)",
        "np.arange(n)", "np.arange(0.0, x, 0.5)", "np.linspace(0.0, x, n)", "np.eye(n)", "np.identity(n)", "np.tri(n)", "np.asarray(np.ones(n))",
        "np.array([x, n])", "np.copy(np.ones(n))", "np.ascontiguousarray(np.ones((n, 2)).T)", "np.asfortranarray(np.ones((n, 2)))",
        "np.empty((n, 0))", "np.empty_like(np.ones((n, 0)))",
    ],
    (3, 2.5),
    python=False,
)  # fmt: skip


@feature(lambda: (floats(),))
def fills(a):
    a.fill(2.5)
    return a


@feature(lambda: (floats(), matrix()))
def sorts_in_place(a, m):
    m.T[::-1].sort(0)
    a.sort()
    m[0].partition(2)
    return a, m


@feature((5,))
def prints_and_threads(n):
    before = treadle.get_num_threads()
    treadle.set_num_threads(1)
    now = treadle.get_num_threads()
    treadle.set_num_threads(before)
    print("n is", n)
    return now


# --- strings ---

group(
    "strings",
    "s, t, n",
    [
        "s.upper()", "s.lower()", "s.title()", "s.capitalize()", "s.swapcase()", "s.casefold()", "s.strip()", "s.lstrip()",
        "s.rstrip(t)", "s.find(t)", "s.rfind(t, 1)", "s.count(t)", "s.index(s[2])", "s.rindex(s[2], 0, -1)", "s.startswith(t)",
        "s.endswith((t, 'x'))", "s.removeprefix(t)", "s.removesuffix(t)", "s.partition(t)", "s.rpartition(t)",
        "s.replace(t, '<>')", "s.replace(t, '', 1)", "s.ljust(12)", "s.rjust(12, '*')", "s.center(13)", "s.zfill(9)",
        "s.expandtabs(4)", "t.join((s, 'x', s))", "t.join(s)", "s.isalpha()", "s.isdecimal()", "s.isdigit()", "s.isnumeric()",
        "s.isalnum()", "s.islower()", "s.isupper()", "s.istitle()", "s.isspace()", "s.isprintable()", "s.isascii()",
        "s.isidentifier()", "s[1]", "s[-2:]", "s[::-2]", "s[n:]", "len(s)", "s + t", "s * n", "t in s", "s == t", "s < t",
        "ord(s[0])", "hash(s) == hash(s + t[:0]), hash((n, 2.5 * n))", "chr(n + 230)", "int(str(n) + '7')", "float(str(n) + '.5')", "f'{n:03d}{s!r}{t:>4}'", "s and t", "not t",
        "t if n > 1 else 'none'", "(t, n) == (s, n)", "f'{n:{n + 4}}{s:>{n + 9}}'", "'{:>{}}{k!r}'.format(n, n + 2, k=s)",
        "'%5d %-4s %r %*.1f' % (n, s, t, n + 6, n / 3)", "s.encode()", "s.encode('ascii', 'replace')", "ascii(s)",
        "'{x:>{w}}{x!a}'.format_map({'x': s, 'w': n}), f'{t!a}', '%a|%a' % (n, s)",
        "s.translate(str.maketrans('ab', 'ba'))",
    ],
    ("Abc é\tab", "ab", 3),
    ("x\U0001f600 \u03a3\u03a3ab ", "", 0),
)  # fmt: skip


group(
    "bytes",
    "s, t, n",
    [
        "s.upper()", "s.lower()", "s.title()", "s.capitalize()", "s.swapcase()", "s.strip()", "s.lstrip()", "s.rstrip(t)",
        "s.find(t)", "s.rfind(t, 1)", "s.count(97)", "s.index(s[2])", "s.rindex(s[2:3], 0)", "s.startswith(t)",
        "s.endswith((t, b'x'))", "s.removeprefix(t)", "s.removesuffix(t)", "s.partition(b'b')", "s.rpartition(b'b')",
        "s.replace(t, b'<>')", "s.ljust(12)", "s.rjust(12, b'*')", "s.center(13)", "s.zfill(9)", "b'%s|%5d|%-4b|%a' % (s, n, t, n)", "str(t, 'utf-8')", "s.expandtabs(4)",
        "s.isalpha()", "s.isdigit()", "s.isalnum()", "s.islower()", "s.isupper()", "s.istitle()", "s.isspace()", "s.isascii()",
        "s.hex()", "s.decode('latin-1')", "s.decode(errors='replace')", "s[1]", "s[-2:]", "s[::-2]", "s[n:]", "len(s)", "s + t",
        "s * n", "t in s", "97 in s", "s == t", "s < t", "bytes(n) + bytes(s)", "f'{s}'", "sum(s)", "s or t", "not t", "b'a\\0' + s",
        "s.translate(bytes.maketrans(b'ab', b'ba'), t)", "s.split()", "s.rsplit(b'b', 1)", "s.splitlines()", "t.join([s, t])",
        "bytes.fromhex(s.hex())", "bytes([n, 7])", "{s: t}[s]", "sorted([s, t])",
    ],
    (b"Abc \xe9\tab", b"ab", 3),
    (b"x\0\xff ab", b"", 0),
)  # fmt: skip


@feature(("a7",), ("7",))
def exceptions_that_are_asked(s):
    out = ""
    for k in range(4):
        try:
            if k == 0:
                raise KeyError(s)
            if k == 1:
                raise ValueError(f"{s} is {k}")
            out += str(int(s) // (k - 2))
        except Exception as e:
            out += f"{type(e).__name__} {e} {e!r} {e.__class__.__name__} {isinstance(e, ValueError)}"
            if k == 1:
                out += e.args[0]
    return out


@feature(("a\u00e9b a",), ("",))
def strings_in_loops(s):
    out, n = "", 0
    for c in s:
        if c == "a":
            n += 1
        elif c in "be":
            out += c.upper()
        else:
            out = c + str(n) + out
    best = None
    for c in s:
        if best is None or c > best:
            best = c
    return out, n, best


# --- lists ---


@feature((5,), (0,))
def lists_that_change(n):
    l = [n, 2]
    for i in range(n):
        l.append(i * i)
    l.extend((7, n))
    l.insert(1, -4)
    last, first = l.pop(), l.pop(0)
    m = l.copy()
    m.reverse()
    l[0] += 3
    s = 0
    for x in l:
        s = s * 3 + x
    k = len(m)
    m.clear()
    return s, last, first, k, len(m), 7 in l, sum(l), l[-1], l[1:3][0], np.array(l)


@feature((6,), (1,), python=True)
def lists_that_are_given_back(n):
    l = []
    for i in range(n):
        if i % 2:
            l.append(i * 0.5)
    return np.array([x * x for x in l if x > 1]).sum(), len(l)


@feature((5,), (0,))
def typed_lists(n):
    l, m, k = TypedList(), TypedList.empty_list(types.float64), TypedList((n, 2))
    for i in range(n):
        l.append(i)
        m.append(i)
    k.extend(l)
    return sum(l), sum(m, 0.0), k[-1], len(k), isinstance(l, TypedList), isinstance(n, TypedList)


@feature((5,), (0,))
def typed_tables(n):
    d, e, s, t = (
        TypedDict(),
        TypedDict.empty(types.int64, types.float64),
        TypedSet(),
        TypedSet.empty(types.int64),
    )
    for i in range(n):
        d[i] = i
        e[i % 3] = i
        s.add(i % 2)
        t.add(i)
    return sum(d), sum(e.values(), 0.0), len(s), len(t)


@feature((5,), (0,))
def texts_of_containers(n):
    l, d = [], {}
    for i in range(n):
        l.append((i, None))
        d[i] = [i]
    return len(str(l)) + len(f"{d}{[n]}"), str(l) == "[]", repr(d) == "{}"


@feature(([3, 1, 2], [0.5]), ([1.5, 2.5], [1.5]), ([True], []))
def lists_that_are_passed(l, m):
    s = 0.0
    for x in l:
        s += x
    for x in m:
        s += x
    return s, len(l), l[-1], sum(l[::-1])


@feature(([3, 1], 5), ([2.5], 1.5), ([], 2), ([1, 2], 7))
def lists_that_are_passed_and_change(l, x):
    l.append(x)
    l.insert(0, x)
    if x > 6:
        l[100] = x
    return l


# --- sets and dicts ---


@feature((5,), (0,))
def dicts_that_change(n):
    d = {n: 2, -1: 5}
    for i in range(n):
        d[i * i] = i
    d.update({7: n, -1: 6})
    d[7] += 3
    last, gone = d.popitem(), d.pop(-1) + d.pop(99, 1)
    del d[n]
    e = d.copy()
    e.setdefault(50, n)
    s = 0
    for k, v in e.items():
        s = s * 3 + k - v
    k = len(d)
    d.clear()
    return s, last[1], gone, k, len(d), 50 in e, sum(e.keys()), max(e.values()), e.get(51) is None, d == e


@feature((6,), (1,), python=True)
def dicts_that_are_given_back(n):
    counts = {i % 3: i * 0.5 for i in range(n)}
    try:
        counts[0] = counts[1] + counts[2]
    except KeyError:
        counts[0] = -1.0
    return np.array([counts[k] for k in counts]).sum(), len(counts)


@feature((5,), (0,))
def sets_that_change(n):
    s, t = {n, 1, 2}, {x * x for x in range(n)}
    s.add(9)
    s.discard(n + 1)
    s.remove(9)
    u = s.copy()
    u.update(t, (n, 4))
    u.difference_update(t)
    u.symmetric_difference_update(s)
    s.intersection_update(t)
    gone = t.union(s).pop()
    same = s.issubset(t) + 2 * s.issuperset(t) + 4 * s.isdisjoint(u) + 8 * (s <= u)
    k = (
        len(s.symmetric_difference(t))
        + len(s.difference(t))
        + len(s.intersection(u))
        + len(s | u)
        + len(s - u)
    )
    u.clear()
    return same, gone >= 0, k, len(u), sum(t), 4 in t


@feature(("a b  a c", ["x", "y"]), ("", []), ("é\nb é", ["é😀"]))
def strings_in_containers(s, l):
    counts = {}
    for w in s.split():
        counts[w] = counts.get(w, 0) + 1
    rows = [w.upper() for w in s.splitlines()] + l
    rows.extend(s.rsplit(" ", 1))
    seen = {w[:1] for w in rows}
    return counts, sorted(rows), "-".join(l), len(seen), "é" in seen, max(rows)


@feature(lambda: ([[1, 2], [3]], {1: 2.5}), lambda: ([[4], [], [5, 6]], {7: 1.0, 1: 2.0}))
def containers_that_are_passed(rows, d):
    rows.append([len(d)])
    for row in rows:
        for x in row:
            d[x] = d.get(x, 0.0) + 1.5
    rows[0].append(9)
    return rows, sum(d.values()), [r for r in rows if len(r) > 1]


@feature((5,), (0,))
def dicts_of_lists(n):
    groups = {}
    for i in range(n):
        groups.setdefault(i % 3, []).append((i, str(i)))
    return groups, [len(v) for v in groups.values()], sorted(groups)


@feature((5,), (0,))
def keys_of_many_kinds(n):
    d = {(0, "0", None): 1}
    s = set()
    for i in range(n):
        k = (i % 2, str(i % 3), None if i % 2 else i)
        d[k] = d.get(k, 0) + i
        s.add((i * 0.5, (i % 2 == 0,)))
    return len(d), sorted(d.values()), len(s), (0, "0", 0) in d, dict.fromkeys(range(n), 1.5)


@feature((5,), (0,))
def classes_of_collections(n):
    places = defaultdict(list)
    counts = Counter()
    ordered = OrderedDict()
    for i in range(n):
        places[i % 3].append(i)
        counts.update([i % 2, i % 3])
        ordered[i] = str(i)
    counts.subtract((0, 0))
    if n > 2:
        ordered.move_to_end(1)
    first = ordered.popitem(last=False) if ordered else (-1, "")
    few = frozenset(counts) | {7}
    both = few.intersection([7, 1]), few.difference([7]), few.symmetric_difference([8]), few.union([9]).copy()
    more = counts + counts.copy()
    return places.copy(), counts.total(), counts.most_common(1), list(more.elements()), ordered, first, both


@feature((6,), (0,))
def queues(n):
    q = deque([n], maxlen=4)
    r = deque()
    for i in range(n):
        q.append(i)
        r.appendleft(str(i))
    r.extend(["a", "b"])
    r.extendleft(["c"])
    r.rotate(1)
    first, last, e = r.popleft(), r.pop(), q.copy()
    q.clear()
    return first, last, e, len(q), r, e.maxlen == 4
