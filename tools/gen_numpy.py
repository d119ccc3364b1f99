"""Generates docs/numpy.md, the page of what compiled code knows of NumPy, from src/lib/builtins.def and
python/treadle/_library.

``--check`` writes nothing and exits with 1 when the page is not current.
"""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

import made
import missing

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "src/lib/builtins.def"
LIBRARY = ROOT / "python/treadle/_library"
PAGE = ROOT / "docs/numpy.md"
CELL = 240  # characters of a table's cell, about: more names go on in the next row

HEAD = """\
# NumPy in compiled code

The lists are made from `src/lib/builtins.def` and `python/treadle/_library` by `tools/gen_numpy.py`; the tests compare every entry with NumPy's own. Keywords that are not listed are errors
when a function compiles.

## Rules

- Element types: bool, int8 to int64, uint8 to uint64, float16, float32, float64, complex64, complex128. Operations of float16 are computed in float32 and rounded once, sums and products of matrices at the end, as in NumPy; where NumPy makes float16 of small integers (`np.sqrt` of uint8) it is float32 here.
- Result types, broadcasting, values and errors are NumPy 2's, with either NumPy installed. A literal is weak, an argument is not: `f(2)` receives an int64
  (see [semantics.md](semantics.md)). In `np.array([x, 300])` a literal is an int64, as in NumPy, but beside uint64: then
  the array is uint64, and int64 with a negative one. A literal integer that the array's type cannot hold raises `OverflowError`; in place, int64 goes into unsigned arrays, and wraps.
- Operators `+ - * / // % ** & | ^ << >> @ < <= == != > >= ~` and their in-place forms work on whole arrays. Views that overlap are handled: `a[1:] += a[:-1]` is what NumPy makes of it, and `a[1:5] = a[0:7:2]` stores what was there before (NumPy 2.4 stores over items of one axis that it has yet to read where the strides differ). So do functions that store into an argument (`put`, `putmask`, `np.add.at`, any `out=`); `place` and `fill_diagonal` store while they read where NumPy does.
- Indices: integers, slices, `...`, `np.newaxis`, arrays of integers and masks, in any mix, to read and to assign. Reductions of what a mask keeps (`a[a > 0].sum()`, `np.mean(a[m] * 2)`) make no array of it and run in vectors. Lists `[0, 2]` are arrays.
- `out[:] = a * 2 + b` makes no array where `out` lies apart from what is read, or is one of it; nor do `a[idx] = v * 2` and `np.add.at(h, idx, w * 2)` for the values.
- Expressions are fused: `np.sqrt(((a - b) ** 2).sum(axis=1))` reads both arrays once and makes one.
- A new array has C order; F order when all operands of full rank are in F order. Results without axes are numbers.
- Sums of floats are added in a tree (error no worse than NumPy's), running sums in groups of eight, running products in order, in blocks of 16,384, `np.add.at` in order, in blocks of 32,768 and more; all are the same on one core or many.
- `@`, `np.dot` and `np.matmul` call the BLAS that NumPy or SciPy has loaded, without copies for matrices in rows or in columns; rows that a loop multiplies by one matrix go there together, so how many there are may show in last bits; `TREADLE_BLAS=none` uses loops of our own.
- Random numbers: after `np.random.seed(s)` in compiled code, `np.random`'s functions give the numbers that they give in Python after `np.random.seed(s)`, bit for bit; so do those of Python's `random` after `random.seed(s)`. As in Numba,
  compiled code has generators of its own, apart from NumPy's and Python's, and each thread has its own: `seed` is for the thread that calls it. A thread that nobody seeded begins with the system's entropy. Of a loop over a `prange` in a thread that was seeded each range of rounds has a generator of its own, the one that NumPy's
  `SeedSequence(seed, spawn_key=(loops since the seed, range))` makes, so the numbers are the same for any number of threads; in a thread that was not, who takes part draws from his own. The child of a fork goes on
  with a seed that the program named, and begins anew where it named none. `size` is an integer or a tuple; a literal `None` is as if it were left out. Arrays as parameters of distributions broadcast: a number is drawn for each set of parameters, in NumPy's order.
- A `np.random.Generator` is an argument like an array, or a global or variable of an enclosing function, which is the object itself, not a copy: its methods draw from the object's own bit generator (PCG64, PCG64DXSM, MT19937, Philox, SFC64, or any other that has NumPy's functions for C), so numbers drawn in compiled code and in Python are one stream, NumPy's bit for bit, and
  `rng.bit_generator.state` is where it has come to. It may be in tuples, a default, one of two in a variable, a result (the same object); make it outside. Code in the cache serves any of them. The distributions are those of the NumPy that runs: another version of it may give other numbers, as it does in Python.
  A call that Ctrl-C ends may leave the object at a state of some draws before. Nothing locks: NumPy takes `rng.bit_generator.lock` for each call, compiled code does not, so two threads need a Generator each (`rng.spawn(n)`), as soon as one of them has `nogil=True` or NumPy lets the other go on while it fills an array. A ufunc that draws from a global one runs on one core. In a loop over a `prange` on all cores and in kernels a Generator is refused, as the order of the draws would be no one's: draw before the loop, or
  call `np.random`'s functions in it.
- Ufuncs and generalised ufuncs of others, such as those of `scipy.special`, are called by their own C loops: the loop is the first that the operands convert to safely, as in NumPy.
  An exception that a loop leaves (`scipy.special.errstate(all="raise")`, a warning that is an error) is raised where the ufunc is called, and `except` clauses take it by its class. SciPy keeps `errstate` for each thread, so the other threads of a
  parallel loop do as it says by default. Functions whose parallel parts call such ufuncs let go of the GIL, as with `nogil=True`.
  Refused are those without a loop for numbers (`np.frompyfunc`), with optional core dimensions, with more than seven operands or two core dimensions of one; `out=` is the only keyword.
  What a loop reports by raising in Python is not looked at.
- `np.linalg` calls NumPy's own loops, which call LAPACK. `solve`, `inv` and `det` of float64 (and float32) matrices of up to eight rows are loops of our own: last bits may be others, and so may what is told of a matrix that is singular but for rounding.
- `np.fft` calls NumPy's own loops, so the bits are NumPy's. Axes are constants, `n` and `s` any values. NumPy 1 has no such loops: there the transforms are refused (`fftfreq`, `fftshift` and their like are not).
- `reduce`, `accumulate` and `reduceat` of ufuncs other than `add`, `multiply`, `minimum`, `maximum` and the bits and truths go item by item, in order. Those of comparisons are for truth values alone; `power` and `arctan2` reduce every item (NumPy 2.4.6 left out those between where it was tried).

## What differs

| here | in NumPy |
|---|---|
| `squeeze` needs `axis` | takes all axes of extent 1 |
| `keepdims`, several axes that are reduced, and axes by other names than `axis`, but for those of `transpose`, `swapaxes`, `moveaxis` and `rollaxis`, are constants | any values |
| `axis=k` with a variable takes an integer, not None, and compiles what is not a reduction once for each axis of the array | any values |
| flags with a variable (`right=` of `digitize`, `endpoint=`, `replace=`) are compiled both ways, where the results have one type | any values |
| `histogramdd` of a matrix needs `bins` or `range` in a tuple, one for each coordinate, or a tuple of columns in place of the matrix; `histogram2d` takes numbers of bins in an array for edges, and refuses two | any forms |
| an integer divided by zero gives 0, `np.reciprocal(0)` too | 0, and whatever the processor makes of it |
| an index out of range raises where the result has no items, and so does `kth` of `partition` where there are none | it is not looked at |
| `where=` of ufuncs needs `out=`; ufuncs of your own and of others, `divmod`, `modf`, `frexp`, and folds (`np.hypot.reduce`) have none | everywhere; without `out=` items have no value |
| `eig` and `eigvals` give complex numbers | real ones where all imaginary parts are 0 |
| `svd(hermitian=True)` gives singular values alone, `pinv` has no `hermitian`; `multi_dot` takes two or three arrays | both, any number |
| `searchsorted` has no `sorter`; `side` is a constant | any values |
| `kind` of `sort` and `argsort` is a constant; what `partition` and `argpartition` leave beside the places asked for is in an order of its own, as NumPy says it may be | any values |
| `axis` of `median` is one axis, or none; `unique` has no `axis` but for arrays of one, sorts always (`sorted=`), and its inverse has the array's shape | several; any; NumPy 1 made it flat |
| `bins` of `histogram` is a number or edges; `bincount` with weights is float64 without items, too | the name of a rule, too; int64 |
| bounds of random integers and parameters of `hypergeometric` and `multinomial` are numbers, `axis`, `method` are constants; `random.seed` takes an integer, `random.getrandbits` up to 64 bits; where a float overflows, Python's `random` gives an infinity | arrays too; text and floats; any number; OverflowError |
| `split` and its like give a tuple where the number of parts is known when the function compiles: sections by a constant, places that are written out; else a list | a list |
| `out=` of `around` may be integers, which take what is rounded | a TypeError |
| `pad` has the modes constant, edge, reflect, symmetric, wrap, empty, and `constant_values` | more of them |
| `logspace`, `geomspace` take numbers as ends; `unique`, `trim_zeros` have no `axis` | arrays, too; an axis |
| arrays to choose from (`choose`, `select`, `piecewise`, `block`) stand in tuples or lists that are written out; the length of `multi_index` and `dims` is known | any sequences |
| `copyto` tells kinds of numbers apart (`same_kind`) or not (`unsafe`); `place`, `putmask` and `put` store numbers of any kind, as an assignment does | more rules; safe casts only |
| the subscripts of `einsum` are a constant string; `optimize` is not looked at, what is a product of two stacks of matrices is one | lists of axes, too; an order of contraction |
| `polynomial.polyroots` gives complex numbers, `polyfromroots` of no complex roots too; `deg` of fits is a degree; `fit(full=True)` gives a tuple | real ones where all are; degrees to fit, too; a list |
| whole numbers in the slices of `mgrid`, `ogrid` and `r_` are int64 where they are no literals; the text of `r_` is one such as `'-1'`, `'0,2'`, `'0,2,0'`; `fromfunction` passes no further arguments | their own types; matrices, too; any |
| `nditer` has no flags, and no arrays that it makes itself; what is not written is a number | flags; arrays without axes |
| `as_strided` reaches nothing beyond the array | whatever it is told |
| `cov` and `corrcoef` of a matrix of one variable are matrices | numbers |
| `cross` of two vectors of 2 items raises | a number each |
| `quantile` and its like have no weights, no methods `inverted_cdf` and `closest_observation`, and take one axis | they do |
| several quantiles of an array without items, NaN left out (`np.nanpercentile(a[:0], [25, 75])`), raise `ValueError` | gives one NaN for all of them |
"""


def rows() -> tuple[dict[str, list[tuple[str, str]]], list[tuple[str, str]], list[str]]:
    """Names and parameters of the functions by heading, and of the methods; the attributes."""
    functions: dict[str, list[tuple[str, str]]] = {}
    methods, attributes = [], []
    heading = ""
    for line in TABLE.read_text().splitlines():
        if m := re.fullmatch(r"/\* --- (.*?)(?: \([\w., ]+\))? --- \*/", line):
            heading = m[1]
        if m := re.match(
            r'F\(\w+,\s*"(?:numpy\.)?((?:random\.|lib\.stride_tricks\.)?\w+)",\s*"([^"]*)",\s*(\w+)', line
        ):
            if m[3] != "tr_lib_py_class":
                functions.setdefault(heading, []).append((m[1], m[2]))
        elif m := re.match(r'M\(\w+,\s*"ufunc",\s*"(\w+)",\s*"([^"]*)"', line):
            functions.setdefault(heading, []).append((m[1], m[2]))
        elif m := re.match(r'M\(\w+,\s*"Generator",\s*"(\w+)",\s*"([^"]*)"', line):
            functions.setdefault("methods of a Generator", []).append((m[1], m[2]))
        elif m := re.match(r'M\(\w+,\s*"array",\s*"(\w+)",\s*"([^"]*)"', line):
            methods.append((m[1], m[2]))
        elif m := re.match(r'A\(\w+,\s*"array",\s*"(\w+)"', line):
            attributes.append(m[1])
    rows = [
        (name, cls, *where)
        for name, of in in_library("METHODS").items()  # type: ignore[attr-defined]
        for cls, where in of.items()
        if cls in ("array", "Generator")
    ]
    for name, cls, family, function in rows:
        tree = ast.parse((LIBRARY / f"{family}.py").read_text())
        args = next(d.args for d in tree.body if isinstance(d, ast.FunctionDef) and d.name == function)
        del args.args[0]  # the object
        to = methods if cls == "array" else functions["methods of a Generator"]
        to.append((name, parameters(args)))
    return functions, methods, attributes


def in_library(name: str) -> object:
    """A variable of the library's module."""
    names: dict[str, object] = {}
    exec(compile((LIBRARY / "__init__.py").read_text(), "library", "exec"), names)
    return names[name]


def library() -> dict[str, list[tuple[str, str]]]:
    """Names and parameters of the functions written in NumPy, by the first line of their module."""
    families: dict[str, tuple[str, str]] = in_library("FAMILIES")  # type: ignore[assignment]
    out: dict[str, list[tuple[str, str]]] = {}
    for family, (owner, which) in families.items():
        if owner.partition(".")[0] not in ("numpy", "treadle"):  # of Python's library: docs/containers.md
            continue
        tree = ast.parse((LIBRARY / f"{family.partition('/')[0]}.py").read_text())
        functions = {d.name: d.args for d in tree.body if isinstance(d, ast.FunctionDef)}
        prefix = owner.removeprefix("numpy").removeprefix(".")
        title = (ast.get_docstring(tree) or family).splitlines()[0].partition(":")[0].rstrip(".")
        out.setdefault(title, []).extend(
            (f"{prefix}.{name}" if prefix else name, parameters(functions[name])) for name in which.split()
        )
    return out


def parameters(a: ast.arguments) -> str:
    """Parameters of a function, in the words of builtins.def."""
    plain = [*a.posonlyargs, *a.args]
    words = [p.arg + "=" * (i >= len(plain) - len(a.defaults)) for i, p in enumerate(plain)]
    if a.posonlyargs:
        words.insert(len(a.posonlyargs), "/")
    if a.vararg:
        words.append("*" + a.vararg.arg)
    elif a.kwonlyargs:
        words.append("*")
    words += [p.arg + "=" * (d is not None) for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True)]
    return ", ".join(words)


def table(entries: list[tuple[str, str]]) -> str:
    """A table whose rows are the names that take the same arguments."""
    by: dict[str, list[str]] = {}
    for name, params in entries:
        by.setdefault(params, []).append(f"`{name}`")
    lines = [
        f"| {part} | {f'`{params}`' if params else ''} |\n"
        for params, names in by.items()
        for part in textwrap.wrap(" ".join(names), CELL, break_on_hyphens=False)
    ]
    return "| | arguments |\n|---|---|\n" + "".join(lines)


def page() -> str:
    """Text of the page."""
    functions, methods, attributes = rows()
    out = [
        HEAD,
        "\n## Functions\n\nOther names of the same objects, such as `np.abs`, are known too. `x=` may be left out.\n",
    ]
    for heading, entries in (functions | library()).items():
        out.append(f"\n### {heading[0].upper()}{heading[1:]}\n\n{table(entries)}")
    out.append(f"\n## Methods of arrays\n\n{table(methods)}")
    out.append(f"\n## Attributes of arrays\n\n{' '.join(f'`{a}`' for a in attributes)}\n")
    out.append(
        "\n## Not there\n\nAll other public functions and classes of NumPy 2.4, methods of arrays and of a Generator, and what to do instead. Ufuncs that are in no list, as `vecdot` and `matvec`, are called by NumPy's own loops.\n\n"
        "| | instead |\n|---|---|\n"
    )
    for module, names, instead in missing.functions():
        if module.startswith("numpy") or module in ("ndarray", "Generator"):
            prefix = module.removeprefix("numpy").removeprefix(".")
            shown = [f"`{prefix}.{n}`" if prefix else f"`{n}`" for n in names]
            out.append(f"| {' '.join(shown)} | {instead} |\n")
    return "".join(out)


if __name__ == "__main__":
    raise SystemExit(made.write_or_check(PAGE, page(), __doc__))
