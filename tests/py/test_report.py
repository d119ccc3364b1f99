"""treadle.report: what it tells of each line, against what the passes are known to do there; its page."""

from __future__ import annotations

import html.parser
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import treadle
from treadle import cuda, guvectorize, njit, prange, stencil, vectorize

QUICK = os.environ.get("TREADLE_OPT_LEVEL") == "0"  # no vectors, and nothing is left for later
A = np.arange(40.0)
M = np.arange(20.0).reshape(4, 5)


@njit
def square(x):
    return x * x


@njit(fastmath=True)
def total(a):
    s = 0.0
    for i in range(len(a)):
        s += square(a[i])
    return s


@njit
def ordered(a):
    s = 0.0
    for x in a:
        s += x
    return s


@njit
def fused(a, b):
    c = a * 2.0
    d = c + b
    return d.sum()


@njit
def apart(a):
    c = a + 1.0
    d = c[::-1] * c
    return d


@njit(parallel=True)
def cores(a, out):
    for i in prange(len(a)):
        out[i] = np.sqrt(a[i])
    return (a + out).max()


@njit
def gather(a, idx, out, n):
    for i in range(n):
        out[i] = a[idx[i]]


@njit
def window(a, first, n):
    s = 0.0
    for k in range(n):
        s += a[first + k]
    return s


@stencil
def near(a):
    return a[-1] + a[1]


@njit
def smooth(a):
    return near(a)


@njit
def product(a, b):
    c = a @ b
    return np.tanh(c)


@vectorize
def ufunc(x, y):
    z = x * y
    return z + 1


@guvectorize("(n)->()")
def core(a, out):
    out[0] = a[0]


@cuda.jit
def kernel(a, out):
    i = cuda.grid(1)
    if i < a.size:
        out[i] = a[i] * 2
    cuda.syncthreads()


@njit
def words(x, k):
    if k < 0:
        raise ValueError(f"k is {k}")
    name = "größer <b>&"
    y = 10 // k
    return x[k] + len(name) + y


def lines(f, *args, variant=0):
    """{line, from that of the `def` on: {kind: [text]}} of the function's own file."""
    r = treadle.report(f, *args)
    code = (getattr(f, "py_func", None) or treadle.ufunc_info(f).py_func).__code__
    source = Path(code.co_filename).read_text().splitlines()
    first = next(n for n in range(code.co_firstlineno, len(source)) if source[n - 1].startswith("def "))
    told = {}
    for row in r.variants[variant].rows:
        if row.file == code.co_filename and row.line:
            told.setdefault(row.line - first, {}).setdefault(row.kind, []).append(row.text)
    return told


def test_types_and_inlined():
    told = lines(total, A)
    assert told[3]["type"] == ["s: float64"]
    assert told[2]["type"] == ["i: int64"]
    assert told[-1]["type"] == ["a: array(float64, 1d, C)"]  # at the decorator, where the code begins
    assert told[-1]["function"] == ["total(array(float64, 1d, C)) -> float64"]
    assert told[3]["call"] == ["square() stands here in place of the call"]
    square_line = square.py_func.__code__.co_firstlineno - total.py_func.__code__.co_firstlineno - 1
    assert told[square_line]["type"] == ["x: float64"]
    assert "type" not in lines(total, A).get(0, {})


def test_a_generator_expression_is_no_call():
    f = njit(summed)
    rows = treadle.report(f, A).variants[0].rows
    assert any(r.text == "x: float64" for r in rows)
    assert not any(r.kind == "call" for r in rows)
    assert any(
        r.text == "<lambda>() stands here in place of the call"
        for r in treadle.report(njit(through), 1.0).variants[0].rows
    )


def summed(a):
    return sum(x * 2 for x in a)


twice = njit(lambda x: x * 2)


def through(x):
    return twice(x)


def test_a_specialisation_each():
    f = njit(lambda x: x + x)
    f(1.0), f(1)
    r = treadle.report(f)
    assert [v.title.partition("(")[2] for v in r.variants] == ["float64) -> float64", "int64) -> int64"]
    assert len(treadle.report(f, 1).variants) == 1
    assert "x: complex128" in str(treadle.report(f, treadle.complex128))
    assert len(f.overloads) == 3


def test_lines_that_became_one_loop():
    told = lines(fused, A, A)
    (text,) = told[1]["loop"]
    numbers = [fused.py_func.__code__.co_firstlineno + 2 + k for k in range(3)]
    assert text.startswith("lines {}, {} and {} are one loop: over 1 axis, reads 2 arrays; ".format(*numbers))
    assert told[2]["loop"] == told[3]["loop"] == [text]
    assert not any("memory" in kinds for kinds in told.values())
    assert any("found to agree before" in t for t in told[2]["check"])
    assert len(told[1].get("late", [])) == (not QUICK)


def test_without_fusion():
    program = textwrap.dedent("""
        import sys
        sys.path.insert(0, {folder!r})
        from test_report import A, fused, lines
        told = lines(fused, A, A)
        for k in (1, 2, 3):
            print(k, told[k].get("loop"), len(told[k].get("memory", [])))
    """).format(folder=str(Path(__file__).parent))
    said = {}
    for skip in ("", "fuse"):
        env = {**os.environ, "TREADLE_SKIP": skip}
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, env=env, check=True
        )
        said[skip] = done.stdout.splitlines()
    assert all("are one loop" in line and line.endswith(" 0") for line in said[""])
    assert not any("are one loop" in line for line in said["fuse"])
    assert [line.split()[-1] for line in said["fuse"]] == ["1", "1", "0"]  # c and d are made
    assert all("a loop over 1 axis" in line for line in said["fuse"])


def test_loops_that_stay_apart():
    told = lines(apart, A)
    first = apart.py_func.__code__.co_firstlineno + 1
    assert told[2]["apart"] == [
        f"not merged with line {first + 1}: the second reads the array by another view"
    ]
    assert told[1]["memory"] == ["an array is made, once: 'c', array(float64, 1d, C)"]


def test_cores():
    told = lines(cores, A, A)
    assert "the loop: runs on all cores" in told[1]["cores"]
    assert any("share memory, tested before the loop: 'out', 'a'" in t for t in told[1]["cores"])
    assert told[3]["cores"] == ["the array expression: runs on all cores"]
    (text,) = told[3]["loop"]
    assert "reads 2 arrays; reduces: max" in text
    assert not any("cores" in kinds for kinds in lines(fused, A, A).values())


def test_checks_that_are_left():
    told = lines(gather, A, np.arange(3), A, 3)
    assert "an index of 'a' is compared with the size, in each round" in told[2]["check"]
    assert not any("of 'a': tested once" in t for t in told[2]["check"])
    assert any(t.startswith("an index of 'idx': tested once before the loop") for t in told[2]["check"])
    (row,) = lines(window, A, 0, 3)[3]["check"]
    assert row.startswith("an index of 'a': tested once before the loop")
    assert not any("check" in kinds for kinds in lines(ordered, A).values())  # nothing is left of it
    words(np.arange(9), 3)
    told = lines(words)
    assert told[4]["check"] == ["tested once: ZeroDivisionError: integer division or modulo by zero"]
    assert told[5]["check"] == ["an index of 'x' is compared with the size, once"]


@pytest.mark.skipif(QUICK, reason="quick code has no vectors")
def test_vectors():
    width = re.compile(r"float64 x \d+$")
    assert any(width.match(t) for t in lines(total, A)[3]["vector"])
    assert lines(ordered, A)[3]["vector"] == ["none: one number at a time"]
    assert lines(gather, A, np.arange(3), A, 3)[2]["vector"] == ["none: one number at a time"]
    ufunc(A, A)
    told = lines(ufunc)
    assert width.match(told[1]["vector"][0]) and width.match(told[2]["vector"][0])
    single = lines(fused, A.astype("f4"), A.astype("f4"))[2]["vector"]
    assert any(t.startswith("float32 x ") for t in single) and not any("float64 x" in t for t in single)


@njit
def fill(a):
    for i in range(len(a)):
        a[i] = 0.0


@pytest.mark.skipif(QUICK, reason="quick code keeps the loop")
def test_a_loop_that_fills_memory():
    assert lines(fill, A)[2]["vector"] == ["memory is filled in one go"]


def test_stencil_and_matmul():
    r = treadle.report(smooth, A)
    assert any(row.text == "near() stands here in place of the call" for row in r.variants[0].rows)
    assert "near(readonly array(float64, 1d, C)) -> float64" in str(r)
    told = lines(product, M, M.T.copy())
    assert told[1]["call"] == ["matmul of Treadle's runtime is called, once"]
    assert len(told[1]["memory"]) == 1 and len(told[2]["memory"]) == 1
    both = [
        r.text for r in treadle.report(njit(two_arrays), M, M.T.copy()).variants[0].rows if r.kind == "memory"
    ]
    assert [t.partition(" is made")[0] for t in both] == ["an array", "another array"]


def two_arrays(a, b):
    return np.tanh(a @ b)


def test_ufuncs_and_kernels():
    ufunc(A, A)
    assert treadle.ufunc_info(ufunc).inspect("report")
    assert lines(ufunc)[1]["type"] == ["z: float64"]
    core(M)
    assert "a: array(float64, 1d, A)" in str(treadle.report(core))
    kernel[2, 32](A, A.copy())
    r = treadle.report(kernel)
    assert [v.title.split(") ", 1)[1] for v in r.variants][0] == "for a GPU"
    told = lines(kernel, variant=0)
    assert told[1]["type"] == ["i: int64"]
    assert r.variants[1].title.endswith(" on the emulated device, blocks of 32 x 1 x 1 threads")
    assert any("threads meet in line" in text for text in r.variants[1].head)
    assert ".gx" not in str(r)
    assert "i: int64" in str(treadle.report(kernel, treadle.float32[:], treadle.float32[:]))


@pytest.mark.skipif(QUICK, reason="quick code has it all")
def test_late_code():
    (text,) = lines(gather, A, np.arange(3), A, 3)[1]["late"]
    first = gather.py_func.__code__.co_firstlineno + 1
    assert text.startswith(f"lines {first + 1} and {first + 2} once more, ")
    assert text.endswith("compiled when it is first reached")


# --- how it is laid out ---


class Page(html.parser.HTMLParser):
    """Fails where tags do not match; keeps the text and the tags."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.tags = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(page):
    p = Page()
    p.feed(page)
    p.close()
    assert p.open == []
    return p


def test_page(tmp_path):
    words(np.arange(9), 3)
    r = treadle.report(words)
    r.save(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert page == r.html and r._repr_html_() in page
    p = read(page)
    assert not {tag for tag, _ in p.tags} & {"script", "link", "img"}
    assert not re.search(r"(https?:)?//", "".join(v or "" for _, attrs in p.tags for v in attrs.values()))
    text = "".join(p.text)
    assert '    name = "größer <b>&"' in text and "<b>&" not in page
    assert "prefers-color-scheme: dark" in page
    assert repr(r).startswith("<treadle.report of words: ")


def test_lines_of_a_loop_have_one_colour():
    p = read(treadle.report(fused, A, A).html)
    classes = [attrs.get("class") for tag, attrs in p.tags if tag == "tr"]
    assert classes == [None, None, "g0", "g0", "g0"]
    text = str(treadle.report(fused, A, A))
    assert text.count(" are one loop") == 1 and text.count("# loop: the one of line ") == 2


def test_all_kinds_have_a_colour_and_a_meaning():
    r = treadle.report(fused, A, A)
    page = r.html
    for kind in set(r.kinds) - {"function", "time"}:
        assert f".treadle-report .{kind} b" in page and f"--{kind}: " in page
    assert all(row.kind in r.kinds for row in r.variants[0].rows)


def test_without_source():
    names = {"njit": njit}
    exec("@njit\ndef made(a):\n    s = 0\n    for x in a:\n        s += x\n    return s\n", names)
    r = treadle.report(names["made"], np.arange(4))
    assert "<string>, without its source" in str(r) and "x: int64" in str(r)
    read(r.html)


def test_lambda():
    f = njit(lambda q: q * q)
    r = treadle.report(f, 2.0)
    assert "f = njit(lambda q: q * q)" in str(r) and "q: float64" in str(r)


def test_from_the_cache(tmp_path):
    program = tmp_path / "cached.py"
    program.write_text(
        "import numpy as np, treadle\n"
        "@treadle.njit(cache=True)\n"
        "def f(a):\n"
        "    b = a + 1\n"
        "    return b.sum()\n"
        "f(np.ones(3))\n"
        "loaded = [s['loaded'] for s in f.stats['signatures'].values()]\n"
        "r = treadle.report(f)\n"
        "print(loaded, any('are one loop' in row.text for row in r.variants[0].rows))\n"
    )
    env = {**os.environ, "TREADLE_CACHE_DIR": str(tmp_path / "cache")}
    said = [
        subprocess.run([sys.executable, program], capture_output=True, text=True, env=env, check=True).stdout
        for _ in range(2)
    ]
    assert said == ["[False] True\n", "[True] True\n"]


def test_time():
    r = treadle.report(total, A, time=True)
    assert any(
        re.match(r"a call with these arguments took [\d.e+]+ (us|ms|s), the least of \d+$", t)
        for t in r.variants[0].head
    )


def test_it_is_not_called():
    out = np.zeros(3)
    treadle.report(gather, A, np.arange(3), out, 3)
    assert not out.any()


def test_refusals():
    with pytest.raises(ValueError, match="was not compiled yet: call it first"):
        treadle.report(njit(lambda x: x))
    with pytest.raises(TypeError, match="decorate it with treadle.njit"):
        treadle.report(len)
    with pytest.raises(ValueError, match="time=True calls the function"):
        treadle.report(total, time=True)
    with pytest.raises(ValueError, match="time kernels"):
        treadle.report(kernel, A, A, time=True)
    with pytest.raises(treadle.TypingError):
        treadle.report(njit(lambda x: x.nothing), 1.0)


def test_dump():
    """TREADLE_DUMP=report prints the rows while compiling."""
    program = "import treadle\n@treadle.njit\ndef f(x):\n    y = x + 1\n    return y\nf(1.0)\n"
    env = {**os.environ, "TREADLE_DUMP": "report@f"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=env, check=True
    )
    assert "<string>\t4\ttype\ty: float64\n" in done.stderr
    assert "loop\tarray expressions" in done.stderr
