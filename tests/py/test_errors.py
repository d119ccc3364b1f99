"""What errors look like: text, place, class, traceback."""

from __future__ import annotations

import builtins
import linecache
import traceback

import numpy as np
import pytest
import treadle
from treadle import cuda, njit

LONG = np.dtype(np.longdouble)


def message(fn, *args, error=treadle.TreadleError):
    with pytest.raises(error) as e:
        njit(fn)(*args)
    return str(e.value)


def line_of(text):
    """Number of the only line of this file that ends in `text`."""
    lines = linecache.getlines(__file__)
    hits = [i for i, line in enumerate(lines, 1) if line.rstrip().endswith(text)]
    assert len(hits) == 1
    return hits[0]


def bad_mul(a, name):
    s = 0.0
    for i in range(len(a)):
        s += a[i] * name  # here: mul
    return s


def test_the_shape_of_an_error():
    text = message(bad_mul, np.zeros(3), "x", error=treadle.TypingError)
    n = line_of("# here: " + "mul")
    lines = text.splitlines()
    assert lines[0] == "unsupported operand types for *: float64 and str"
    assert lines[1].strip().startswith(f"--> {__file__}:{n}:14 in bad_mul(array(float64, 1d, C), ")
    assert lines[2].strip() == "|"
    assert lines[3] == f" {n} | s += a[i] * name  # here: mul"
    mark = lines[4].split("|", 1)[1]
    source = lines[3].split("|", 1)[1]
    covered = source[len(mark) - len(mark.lstrip()) : len(mark)]
    assert covered == "a[i] * name" and set(mark.strip()) <= set("~^") and "^" in mark
    assert len(lines) <= 10


def test_errors_are_type_errors_where_python_would_raise_one():
    assert issubclass(treadle.TypingError, TypeError) and issubclass(
        treadle.TypingError, treadle.TreadleError
    )
    assert issubclass(treadle.UnsupportedError, treadle.TreadleError)
    assert issubclass(treadle.LoweringError, treadle.TreadleError)
    assert issubclass(treadle.InternalError, treadle.TreadleError)
    with pytest.raises(TypeError):
        njit(bad_mul)(np.zeros(3), "x")


def test_all_independent_errors_are_told():
    def f(a):
        x = a.nope
        y = a[0, 1, 2, 3]
        return x + y

    text = message(f, np.zeros(3), error=treadle.TypingError)
    assert "nope" in text and "ind" in text and text.count("-->") == 2


def test_an_error_that_goes_round_a_loop_is_told():
    """What fails is what the loop carries: nothing else is left that could say so."""

    def carried(a, x):
        for i in range(len(x)):
            a += x[i]

    def twice(a, x):
        for i in range(len(x)):
            for k in range(i):
                a *= x[k]
            a -= x[i]
        return a

    def only(a, x):
        while True:
            a /= x[0]

    for fn in (carried, twice, only):
        text = message(fn, np.ones(3, "i4"), np.ones(3), error=treadle.TypingError)
        assert text.startswith("cannot store a result of float64 into an array of int32 in place")


def test_columns_count_characters():
    def f(a):
        return len("éü€😀") + a.nope

    text = message(f, np.zeros(3))
    lines = text.splitlines()
    mark = next(
        line
        for line in lines
        if set(line.split("|")[-1].strip()) and set(line.split("|")[-1].strip()) <= set("~^")
    )
    source = lines[lines.index(mark) - 1]
    start = len(mark) - len(mark.split("|", 1)[1].lstrip())
    assert source[start : len(mark)] == "a.nope"


def test_without_source():
    namespace: dict = {}
    exec(compile("def f(a):\n    return a.nope", "<nowhere>", "exec"), namespace)
    text = message(namespace["f"], np.zeros(3))
    assert "<nowhere>:2" in text and "nope" in text and "|" not in text


def test_an_unknown_global():
    def f(x):
        return x + not_defined_anywhere  # noqa: F821

    text = message(f, 1)
    assert "not_defined_anywhere" in text


some_values = np.ones(3)


def test_names_that_may_be_meant():
    def local(x):
        total = 0.0
        return totl + x + total  # noqa: F821

    def of_the_module(x):
        return some_vaules + x  # noqa: F821

    def builtin(x):
        return lenn(x)  # noqa: F821

    def nothing_like_it(x):
        return qwertyuiop + x  # noqa: F821

    meant = {local: "'total'", of_the_module: "'some_values'", builtin: "'len'"}
    for fn, name in meant.items():
        assert f"help: did you mean {name}?" in message(fn, np.ones(2), error=treadle.TypingError)
    assert "did you mean" not in message(nothing_like_it, 1.0)


def test_options_that_may_be_meant():
    for decorate, name in (
        (lambda: njit(paralel=True), "parallel"),
        (lambda: treadle.vectorize(fastmth=True), "fastmath"),
        (lambda: treadle.stencil(neighbourhood=((0, 1),)), "neighborhood"),
        (lambda: cuda.jit(lambda x: None, opt_level=1), None),
        (lambda: cuda.jit(lambda x: None, fast_math=True), "fastmath"),
    ):
        with pytest.raises(TypeError, match="unknown option") as e:
            decorate()
        assert (f"did you mean '{name}'?" in str(e.value)) == (name is not None), e.value
        assert "here are " in str(e.value)


def test_a_list_is_refused_once():
    def appended(n):
        xs = []
        for i in range(n):
            xs.append(np.errstate(all="ignore"))
        return xs[-1] is None, len(xs)

    def in_a_loop(n):
        xs = []
        xs.append(np.errstate(all="ignore"))
        s = 0
        for x in xs:
            s += x is None
        return s + (xs[0] is None)

    for fn in appended, in_a_loop:
        text = message(fn, 3, error=treadle.UnsupportedError)
        assert text.count("-->") == 1 and "a list of" in text and "out of range" not in text


def test_the_calls_that_lead_to_an_error():
    def last(x):
        return x.nope  # here: asked

    def middle(x):
        y = last(x)  # here: last
        return y + 1

    def first(x):
        return middle(x) * 2  # here: middle

    text = message(first, 1.0, error=treadle.TypingError)
    lines = [line_of(f"# here: {word}") for word in ("asked", "last", "middle")]
    assert f":{lines[0]}:" in text and "in last(float64)" in text
    assert text.index(f"called by middle() (line {lines[1]})") < text.index(
        f"called by first() (line {lines[2]})"
    )
    assert "called by" not in message(last, 1.0)

    def refused(x):
        return dir((x,))

    def calls(x):
        return refused(x)

    assert "called by calls() (line" in message(lambda x: calls(x), 1.0, error=treadle.UnsupportedError)


class Unknown:
    nope = 3


unknown_object = Unknown()


@njit
def last_that_is_known(a):
    for i in np.ndindex(a.shape):
        for j in a.nope:
            if j:
                continue
    return a * 2


def test_an_error_in_a_called_function_is_told_alone():
    # Nothing is known to be returned, which is not the same as None.
    def caller(a):
        b = last_that_is_known(a)
        return b.shape[0] + b.sum()

    text = message(caller, np.ones((2, 3)))
    assert text.count("-->") == 1 and "no attribute 'nope'" in text


def test_what_numpy_has_and_compiled_code_lacks_is_unsupported():
    text = message(lambda a: a.tofile("x"), np.ones(3), error=treadle.UnsupportedError)
    assert text.startswith("Treadle does not compile 'tofile' of arrays")
    text = message(lambda s: s.maketrans("a"), "text", error=treadle.UnsupportedError)
    assert text.startswith("Treadle does not compile 'maketrans' of strings")
    message(lambda: sum("text"), error=treadle.TypingError)
    text = message(lambda: unknown_object.nope, error=treadle.UnsupportedError)
    assert text.startswith("Treadle does not compile 'nope' of an object of class 'Unknown'")
    message(lambda a: a.argsor(), np.ones(3), error=treadle.TypingError)
    assert "np.iinfo(int8) has no attribute" in message(lambda: np.iinfo(np.int8).nope)


def test_an_error_in_a_called_function():
    @njit
    def inner(x):
        return x.nope

    def f(x):
        return inner(x) + 1

    text = message(f, 1.0)
    assert "nope" in text and "inner(float64)" in text


@pytest.mark.parametrize(
    "source, word",
    [
        ("with open(x) as f:\n        pass", "open"),
        ("with x:\n        pass", "with"),
        ("try:\n        x = g(x)\n    except* ValueError:\n        x = 2", "exception groups"),
        ("yield x", "generator|yield"),
        ("import os", "import"),
        ("x = memoryview(x)", "memoryview"),
        ("global g\n    g = 1", "global"),
        ("class A: pass", "class"),
    ],
)
def test_unsupported_python(source, word):
    namespace: dict = {}
    exec(compile(f"def f(x):\n    {source}\n    return x", "<t>", "exec"), namespace)
    with pytest.raises(treadle.UnsupportedError, match=word):
        njit(namespace["f"])(np.zeros(3))


# --- exceptions of running code ---


def raise_index(a, i):
    return a[i]  # here: index


def outer(a, i):
    return raise_index(a, i) + 1  # here: outer


def test_an_exception_has_the_users_line():
    with pytest.raises(IndexError) as e:
        njit(raise_index)(np.zeros(3), 5)
    last = traceback.extract_tb(e.tb)[-1]
    assert (last.filename, last.lineno, last.name) == (__file__, line_of("# here: " + "index"), "raise_index")
    assert last.line == "return a[i]  # here: index"


def test_a_traceback_tells_of_its_own_places():
    """Code objects of entries are kept for the next time: also where functions came and went, with memory used again, and where there are more than are kept."""

    def made(name, line):
        scope = {}
        text = "\n" * line + f"def {name}(x):\n    if x:\n        raise ValueError(x)\n    return x\n"
        exec(compile(text, f"{name}.py", "exec"), scope)
        return njit(scope[name])

    kept = [(f"kept{k}", 3 * k) for k in range(8)]
    functions = [(name, line, made(name, line)) for name, line in kept]
    for turn in range(40):
        name = f"gone{turn % 5}"
        for one, line, f in [*functions, (name, turn, made(name, turn))]:
            with pytest.raises(ValueError) as e:
                f(turn + 1)
            last = traceback.extract_tb(e.tb)[-1]
            assert (last.name, last.lineno, last.filename) == (one, line + 3, f"{one}.py")


def test_a_traceback_goes_through_all_compiled_functions():
    with pytest.raises(IndexError) as e:
        njit(outer)(np.zeros(3), 5)
    tail = [(f.name, f.lineno) for f in traceback.extract_tb(e.tb)[-2:]]
    assert tail == [("outer", line_of("# here: " + "outer")), ("raise_index", line_of("# here: " + "index"))]


RAISES = """
def f(k, x):
    if k == 0:
        raise ValueError("bad value", x, 3)
    if k == 1:
        raise KeyError(x)
    if k == 2:
        raise RuntimeError
    if k == 3:
        raise NotImplementedError("no")
    assert k != 4, "four"
    assert k != 5
    return 1
"""


def test_exceptions_with_arguments():
    namespace: dict = {}
    exec(RAISES, namespace)  # pytest rewrites the asserts that it sees
    f = njit(namespace["f"])
    for k, cls, args in [
        (0, ValueError, ("bad value", 2.5, 3)),
        (1, KeyError, (2.5,)),
        (2, RuntimeError, ()),
        (3, NotImplementedError, ("no",)),
        (4, AssertionError, ("four",)),
        (5, AssertionError, ()),
    ]:
        with pytest.raises(cls) as e:
            f(k, 2.5)
        assert e.value.args == args and type(e.value) is cls
    assert f(6, 2.5) == 1


EXCEPTIONS = """ValueError IndexError ZeroDivisionError OverflowError TypeError KeyError AssertionError RuntimeError
NotImplementedError MemoryError ArithmeticError LookupError FloatingPointError StopIteration AttributeError NameError
UnboundLocalError OSError Exception RecursionError BufferError EOFError SystemError Warning UserWarning RuntimeWarning
DeprecationWarning FutureWarning""".split()


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_every_exception_class(name):
    namespace: dict = {}
    exec(f"def f(x):\n    if x > 1:\n        raise {name}('text', x)\n    return x", namespace)
    f = njit(namespace["f"])
    assert f(1) == 1
    cls = getattr(builtins, name)
    with pytest.raises(cls) as e:
        f(2)
    assert type(e.value) is cls and e.value.args == ("text", 2)


def test_division_by_zero():
    f = njit(lambda a, b: a // b)
    with pytest.raises(ZeroDivisionError):
        f(1, 0)
    with pytest.raises(ZeroDivisionError):
        njit(lambda a, b: a / b)(1.0, 0.0)
    assert njit(error_model="numpy")(lambda a, b: a / b)(1.0, 0.0) == float("inf")


def test_the_message_of_an_index_error():
    with pytest.raises(IndexError) as e:
        njit(raise_index)(np.zeros(3), -4)
    assert "-4" in str(e.value) and "3" in str(e.value)


def test_the_message_of_an_unsigned_index():
    f = njit(lambda a, i: a[i])
    for i in (3, 2**63, 2**64 - 1):
        with pytest.raises(IndexError, match=f"index {i} is out of bounds for axis 0 with size 3"):
            f(np.zeros(3), np.uint64(i))


def test_a_long_chain_of_calls_is_told_once(tmp_path):
    lines = [f"def f{i}(x):\n    return f{i + 1}(x) + 1\n" for i in range(300)] + [
        "def f300(x):\n    return x\n"
    ]
    path = tmp_path / "chain.py"
    path.write_text("\n".join(lines))
    namespace = {}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    text = message(namespace["f0"], 1, error=treadle.TypingError)
    assert text.count("a chain of more than 256 functions") == 1, text
    assert "chain.py" in text and "f256(x)" in text and "help:" in text, text

    def grow(t):
        return grow(t + (1,)) if len(t) < 400 else 0

    text = message(grow, (1,), error=treadle.TypingError)
    assert text.count("grow() calls itself more than 256 deep") == 1 and "same types" in text


def test_deep_recursion():
    namespace = {"njit": njit}
    exec("@njit\ndef f(n):\n    return 0 if n == 0 else 1 + f(n - 1)", namespace)
    assert namespace["f"](1000) == 1000
    with pytest.raises(RecursionError):
        namespace["f"](10**9)


def test_a_variable_that_no_path_assigns():
    """The branch that does is never taken: said where the variable is read, not as a result of unknown type."""

    def f(n):
        if bool(False):
            k = 0
        for i in range(n):
            k += i  # here: read
        return k

    def g(n):
        return f(n) + 1

    for fn in f, g:
        text = message(fn, 3, error=treadle.TypingError)
        assert text.startswith("cannot access local variable 'k' where it is not associated with a value")
        assert f":{line_of('# here: ' + 'read')}:" in text and "in f(int64)" in text


def read_on_leaving(x):
    if x > 0:
        x = 1
    else:
        k = 2
    return k


def read_in_finally(x):
    y = 0
    try:
        if x > 0:
            return 1
        k = 2
    finally:
        y = k
    return y


def read_in_a_condition(x):
    y = 0
    if x > 0:
        k = 2
    while k > y:
        y += 1
    return y


def read_after_del(x):
    k = 1
    if x > 0:
        del k
    return k


@pytest.mark.parametrize("fn", [read_on_leaving, read_in_finally, read_in_a_condition, read_after_del])
@pytest.mark.parametrize("x", [1, -1])
def test_a_variable_that_one_path_assigns(fn, x):
    """CPython's compiler copies what leaves a function (from 3.14 on), conditions of loops, and `finally`: a copy that only the
    paths without a value come to raises when it runs, as in Python."""

    def caller(x):
        return compiled(x)

    compiled = njit(fn)
    try:
        want = fn(x)
    except UnboundLocalError:
        for f in compiled, njit(caller), njit(inline="always")(fn):
            with pytest.raises(UnboundLocalError, match="'k'"):
                f(x)
    else:
        for f in compiled, njit(caller), njit(inline="always")(fn):
            assert f(x) == want


def test_a_variable_that_no_path_assigns_read_in_copies():
    def f(n):
        if n > 3:
            n = 1
        else:
            n = 2
        return k  # noqa: F821  here: copied
        k = 1  # noqa: F841

    text = message(f, 3, error=treadle.TypingError)
    assert text.startswith("cannot access local variable 'k' where it is not associated with a value")
    assert f":{line_of('here: ' + 'copied')}:" in text


def test_an_error_at_compile_time_leaves_the_function_usable():
    f = njit(lambda x: x + 1)
    with pytest.raises(treadle.TypingError):
        f(None)
    assert f(1) == 2 and len(f.signatures) == 1


def test_a_result_that_python_cannot_be_given():
    def make(a):
        left = iter(a)

        def inner(x):
            return next(left) + x

        return inner

    text = message(make, [1], error=treadle.UnsupportedError)
    assert (
        "as a result for Python that holds a value of type iterator" in text
        and "in make" in text
        and "return inner" in text
    )


def returns_big(x):
    if x:
        x = 2
    return 10**20  # here: big


def returns_either(x):
    if x > 0:
        return "positive"
    return x  # here: either


def test_a_result_that_python_cannot_be_given_is_told_where_it_is_returned():
    for fn, mark, what, advice in (
        (returns_big, "big", "returns 100000000000000000000, which", "integers have 64 bits"),
        (returns_either, "either", "returns both str and int64", "return one type"),
    ):
        text = message(fn, 3, error=treadle.TypingError)
        assert what in text and f"{__file__}:{line_of('# here: ' + mark)}:" in text
        assert f"= help: {advice}" in text


def test_bits_of_signed_and_unsigned_integers():
    a, u = np.arange(3), np.arange(3, dtype=np.uint64)
    for fn in (lambda a, u: a & u, lambda a, u: a | 0xFFFFFFFFFFFFFFFF, lambda a, u: np.left_shift(a, u)):
        text = message(fn, a, u, error=treadle.TypingError)
        assert "operand types for" in text and ": int64 and uint64" in text
        assert "= help: no integer type holds both: convert one, with .astype(np.int64)" in text
    text = message(lambda a, x: a & x, a, 1.5, error=treadle.TypingError)
    assert "for &: int64 and float64" in text and "binds tighter" in text


def test_a_dtype_is_called_one():
    text = message(lambda x: x + 1, np.dtype("f8"), error=treadle.TypingError)
    assert text.startswith("unsupported operand types for +: dtype float64 and int64")


@pytest.mark.parametrize(
    "fn",
    [
        lambda a: a.astype(np.longdouble),
        lambda a: np.zeros(3, np.longdouble),
        lambda a: np.sin(a, dtype=np.longdouble),
        lambda a: a[0].astype(LONG),
    ],
)
def test_longdouble_is_answered_by_float64(fn):
    text = message(fn, np.ones(3), error=treadle.TypingError)
    assert "is not a dtype that compiled code knows" in text and "= help: use float64" in text


def test_an_operand_is_explained_once():
    text = message(lambda a: a << a, np.zeros((2, 2)))
    assert text.count("argument 'a' is") == 1


@pytest.mark.parametrize("declared", ["f8(f8)\0", "f8(f8)\0i4", ["f8(f8)\0"], ("f8\0",)])
def test_a_signature_is_read_to_its_end(declared):
    with pytest.raises(TypeError, match="bad signature '.*': there is a NUL in it"):
        njit(declared)(lambda x: x)
    with pytest.raises(TypeError, match="there is a NUL in it"):
        njit(locals={"y": "f8\0"})(returns_big)(1)


def test_arguments_with_an_underscore_are_named_and_implicit_ones_are_not():
    def f(_a, b):
        return _a @ b

    with pytest.raises(treadle.TypingError, match="argument '_a' is array") as e:
        njit(f)(np.ones(2), 2)
    assert "argument 'b' is" in str(e.value)

    @cuda.jit("void(float32[:])")
    def k(x):
        pass

    with pytest.raises(treadle.TypingError) as e:
        k[1, 1](np.zeros(3))
    assert "argument '" not in str(e.value)
