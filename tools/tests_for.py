"""Which tests see a file, and why: behind `python3 tools/dev.py test --for FILE...`.

Nothing is run and nothing is built for the answer. It is derived, from what is cheapest to what is left:

- a test sees itself, and a helper of tests those that import or include it;
- a test of the file's name does (`src/opt/pattern/fuse.c`: `test_fuse*.py`, `tests/ir/fuse*.ir`), and one whose text names the file;
- a C test does that calls a function of the file's;
- a text of the IR does that runs the file's pass; a file that is none belongs to the passes that call it;
- a test does that calls what a row of `lib/builtins.def` says the file's templates are, or a function of NumPy's that a module
  of `python/treadle/_library` has; a file of `rt/` belongs to the templates that call its rows of `rt/rt.def`;
- the table ALWAYS says what no name tells;
- and what was committed together with the file more than once.

The first reasons are sure, the last is a guess: a test that a change breaks may still be missing, and `make test` has them all.
"""

from __future__ import annotations

import ast
import functools
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What a folder's files are seen by besides: a pattern of files, tests, why.
ALWAYS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "src/front/*",
        ("tests/py/test_front.py", "tests/py/test_language.py"),
        "all that is made of bytecode",
    ),
    ("src/infer/*", ("tests/py/test_types.py", "tests/py/test_errors.py"), "types and their errors"),
    ("src/ir/p*.[ch]", ("tests/py/test_ir_text.py", "tests/c/fuzz_ir_parse.c"), "the IR's text"),
    (
        "src/ir/op.def",
        ("tests/py/test_names.py", "tests/py/test_ir_text.py", "tests/py/test_target.py"),
        "each op",
    ),
    ("src/ir/*.def", ("tests/py/test_names.py", "tests/c/test_ir.c"), "each row"),
    ("src/ir/*.c", ("tests/c/test_ir.c",), "the IR"),
    ("src/main/*", ("tests/py/test_ir_text.py", "tests/ir/text.ir"), "treadlec"),
    ("src/vmath/*", ("tests/c/test_vmath.c", "tests/py/test_vmath.py"), "vector mathematics"),
    (
        "src/lib/*.c",
        ("tests/py/test_builtins_python.py",),
        "Python's builtins, which go through most of lib/",
    ),
    ("src/lib/*.def", ("tests/py/test_names.py", "tests/py/test_array_shapes.py"), "each row"),
    (
        "src/opt/grid/*",
        ("tests/py/test_cuda_meetings.py", "tests/py/test_cuda_loops.py"),
        "kernels on the host",
    ),
    (
        "src/opt/prange/*",
        ("tests/py/test_prange.py", "tests/py/test_prange_programs.py"),
        "loops over a prange",
    ),
    ("src/opt/pattern/*", ("tests/py/test_schedule.py", "tests/py/test_fuse_bits.py"), "array expressions"),
    (
        "src/opt/versions.*",
        ("tests/py/test_exceptions.py", "tests/py/test_bounds.py", "tests/py/test_byrow.py"),
        "code in two forms",
    ),
    ("src/opt/*", ("tests/c/test_passes.c", "tests/c/fuzz_ir_opt.c"), "every pass"),
    (
        "src/lower/*",
        ("tests/c/test_lower.c", "tests/c/test_lower_ops.c", "tests/py/test_target.py"),
        "every op's lowering",
    ),
    ("src/jit/*", ("tests/c/test_lower.c", "tests/py/test_processors.py"), "every compile"),
    ("src/target/*", ("tests/py/test_target.py",), "each target"),
    (
        "src/ext/freeze*",
        ("tests/py/test_freeze.py", "tests/py/test_cache_keys.py"),
        "the snapshot and its key",
    ),
    ("src/ext/ufunc*", ("tests/py/test_ufuncs.py", "tests/py/test_ufunc_layouts.py"), "calls of ufuncs"),
    ("src/ext/*", ("tests/py/test_boundary.py", "tests/py/test_leaks.py"), "what crosses into Python"),
    ("src/driver/*", ("tests/py/test_cache_keys.py", "tests/py/test_late.py"), "every compile"),
    ("src/ext/call.c", ("tests/py/test_dispatch.py",), "every call"),
    ("src/ext/spec.c", ("tests/py/test_dispatch.py", "tests/py/test_threads.py"), "every call"),
    ("src/exec/*", ("tests/c/test_exec.c", "tests/py/test_ufunc_layouts.py"), "walks over operands"),
    ("src/base/*", ("tests/c/test_base.c",), "containers and the context"),
    ("src/ty/*", ("tests/c/test_ty.c", "tests/py/test_types.py"), "types"),
    ("src/rt/*", ("tests/c/test_rt.c",), "functions of the runtime"),
    ("src/code/*", ("tests/c/test_cache.c", "tests/c/test_elf.c"), "objects and the cache"),
    (
        "src/libs/*",
        (
            "tests/py/test_cuda_blas.py",
            "tests/py/test_cuda_cublas.py",
            "tests/py/test_cuda_fft.py",
            "tests/py/test_cuda_libs.py",
        ),
        "libraries and their twins",
    ),
    ("src/libs/sort*", ("tests/c/test_radix.c", "tests/py/test_cuda_sorting.py"), "sorting of devices"),
    ("src/dev/*", ("tests/c/test_dev.c", "tests/c/test_dev_cuda.c"), "devices"),
    (
        "python/treadle/cuda/*",
        ("tests/py/test_cuda.py", "tests/py/test_cuda_arrays.py"),
        "Python's side of devices",
    ),
    ("python/treadle/_library/*", ("tests/py/test_library.py",), "names and parameters of the library"),
    ("python/treadle/*.py*", ("tests/py/test_names.py",), "public names"),
    (
        "tests/fuzz/*",
        ("tests/py/test_fuzz_slice.py", "tests/py/test_graphs.py"),
        "a slice of the fuzzer's programs",
    ),
    ("tests/fake/*", ("tests/py/test_fake_ptx.py", "tests/c/test_dev_cuda.c"), "the driver that is none"),
    ("docs/*.md", ("tests/py/test_docs.py",), "programs and links of pages"),
    (
        "docs/cuda/*.md",
        ("tests/py/test_docs.py", "tests/py/test_docs_programs.py"),
        "programs and links of pages",
    ),
    (
        "docs/parallel/*.md",
        ("tests/py/test_docs.py", "tests/py/test_docs_programs.py"),
        "programs and links of pages",
    ),
    ("src/*", ("tests/py/test_hacking.py",), "heads, and what pages say of files"),
    ("*.md", ("tests/py/test_hacking.py", "tests/py/test_docs.py"), "names and links of pages"),
    ("tools/*", ("tests/py/test_tools.py",), "the developer's commands"),
)
# So many are taken of tests that name what a file is called by, or that were committed with it; more tests whose names begin
# with a file's are those of a whole subject.
MOST_NAMING, MOST_TOGETHER, MOST_NAMED = 6, 3, 12
# Commits of more files say nothing; so many of the latest are read.
LARGE_COMMIT, COMMITS = 40, 200

Why = dict[str, list[str]]  # of each test's path, why it is one

# What is too much for a question, unless its own files are asked for: all features by all ways.
MATRIX = ("tests/py/test_ways_in.py",)

_DEFINED = re.compile(r"^(?!typedef\b|#|else\b)[A-Za-z_][\w *]*?\b(\w+)\([^;{}]*\)\s*\{", re.M)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


class House:
    """The sources and tests below a folder, read once."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root

    @functools.cached_property
    def tests(self) -> dict[str, str]:
        """The text of each test by its path: Python, IR and C."""
        found = [
            *self.root.glob("tests/py/test_*.py"),
            *self.root.glob("tests/ir/*.ir"),
            *self.root.glob("tests/c/*.c"),
        ]
        return {str(p.relative_to(self.root)): p.read_text(errors="replace") for p in sorted(found)}

    @functools.cached_property
    def code(self) -> dict[str, str]:
        """The text of each C source and header by its path, without comments."""
        return {
            str(p.relative_to(self.root)): _COMMENT.sub(" ", p.read_text())
            for p in sorted((self.root / "src").rglob("*"))
            if p.suffix in (".c", ".h", ".cpp")
        }

    @functools.cache
    def words(self, path: str) -> frozenset[str]:
        """The words of a source or a test."""
        text = self.code[path] if path in self.code else self.tests[path]
        return frozenset(re.findall(r"\w+", text))

    @functools.cache
    def named(self, test: str) -> frozenset[str]:
        """The files that a test's text names."""
        return frozenset(re.findall(r"[\w./-]+\.\w+", self.tests[test]))

    @functools.cache
    def functions(self, path: str) -> frozenset[str]:
        """The functions that others may call of a source, or that a header declares."""
        text = self.code.get(path, "")
        if path.endswith(".h"):
            return frozenset(re.findall(r"\b(tr_\w+)\s*\(", text))
        return frozenset(n for n in _DEFINED.findall(text) if n.startswith("tr_"))

    def table(self, name: str) -> str:
        """The text of a table below src/, wherever its folder has it; "" if it is not there."""
        found = sorted((self.root / "src").rglob(name))
        return found[0].read_text() if found else ""

    @functools.cached_property
    def passes(self) -> frozenset[str]:
        return frozenset(re.findall(r"(?m)^X\((\w+),", self.table("passes.def")))

    @functools.cached_property
    def templates(self) -> dict[str, set[str]]:
        """How tests call what a template is: `np.sort`, `.sort(`, by the template's function."""
        found: dict[str, set[str]] = {}
        text = _COMMENT.sub(" ", self.table("builtins.def"))
        for owner, name, fn in re.findall(r'^F\(\w+,\s*"([\w.]+)\.(\w+)",\s*"[^"]*",\s*(\w+)', text, re.M):
            short = {"numpy": "np.", "builtins": ""}.get(owner, owner.replace("numpy.", "np.") + ".")
            found.setdefault(fn, set()).add(short + name)
        for name, fn in re.findall(r'^M\(\w+,\s*"\w+",\s*"(\w+)",\s*"[^"]*",\s*(\w+)', text, re.M):
            found.setdefault(fn, set()).add(f".{name}(")
        for name, fn in re.findall(r'^A\(\w+,\s*"\w+",\s*"(\w+)",\s*(\w+)', text, re.M):
            found.setdefault(fn, set()).add(f".{name}")
        return found

    def callers(self, path: str, within: str) -> set[str]:
        """The sources below a folder that name a function of this one's."""
        mine = self.functions(path)
        return {
            p
            for p in self.code
            if p != path and p.startswith(within) and p.endswith(".c") and mine & self.words(p)
        }


Found = Iterator[tuple[str, str]]  # tests, each with why


def _keys(path: str) -> set[str]:
    """What a test of a file may be called."""
    stem = Path(path).stem.strip("_")
    keys = {stem, *(stem.removeprefix(p) for p in ("np", "py", "kind_", "bc_", "gen_"))}
    keys |= {stem.split("_")[0]} if "_" in stem and "/opt/" in path else set()
    if path.startswith("python/treadle/cuda/"):
        keys = {f"cuda_{stem}"}
    return {k for k in keys if len(k) > 2} | {k.removesuffix("s") for k in keys if len(k) > 4}


def by_name(house: House, path: str) -> Found:
    """Tests of the file's name, and those whose text names the file."""
    whole = path.removeprefix("src/").removeprefix("python/treadle/")
    shown = {path, whole, Path(path).name} if Path(path).suffix in (".def", ".md") else {path, whole}
    keys = _keys(path)
    stems = {t: Path(t).stem.removeprefix("test_").removeprefix("fuzz_") for t in house.tests}
    longer = {t for t, s in stems.items() if any(s.startswith(k + "_") for k in keys)}
    for test in house.tests:
        if stems[test] in keys | {k + "s" for k in keys} or (test in longer and len(longer) <= MOST_NAMED):
            yield test, "its name"
        elif shown & house.named(test):
            yield test, "it names the file"


def by_itself(house: House, path: str) -> Found:
    """A test is one; of a helper, those that import or include it, through other helpers too."""
    if path in house.tests:
        yield path, "it is the file"
    if not path.startswith("tests/"):
        return
    helpers = [p for p in (house.root / "tests").glob("[pc]*/*.*") if p.suffix in (".py", ".h")]
    texts = {str(p.relative_to(house.root)): p.read_text() for p in helpers}
    queue, seen = [path], {path}
    while queue:
        at = queue.pop()
        name = re.escape(Path(at).name if at.endswith(".h") else Path(at).stem)
        uses = re.compile(
            rf'#include "(?:\w+/)*{name}"' if at.endswith(".h") else rf"^\s*(?:import|from) {name}\b", re.M
        )
        for p, text in {**texts, **house.tests}.items():
            if p not in seen and uses.search(text):
                seen.add(p)
                queue.append(p)
                if p in house.tests:
                    yield p, f"it {'includes' if at.endswith('.h') else 'imports'} {Path(at).name}"


def by_call(house: House, path: str) -> Found:
    """C tests that call a function of the file's."""
    mine = house.functions(path)
    for test in house.tests:
        if test.endswith(".c") and (called := sorted(mine & house.words(test))):
            yield test, f"it calls {called[0]}"


def passes_of(house: House, path: str) -> dict[str, str]:
    """The passes that a file of opt/ is or is called by, with what to say of it."""
    found, queue, seen = {}, [(path, "")], {path}
    while queue:
        at, way = queue.pop(0)
        stem = Path(at).stem
        if stem in house.passes:
            found.setdefault(stem, way)
            continue
        if len(way.split(", ")) < 3:
            more = sorted(house.callers(at, "src/opt/") - seen)
            seen |= set(more)
            queue += [(p, f"{way}, {Path(p).name}" if way else f" by way of {Path(p).name}") for p in more]
    return found


def by_pass(house: House, path: str) -> Found:
    """Texts of the IR that run the file's pass alone or among few, and tests that look at it or leave it out."""
    if not path.startswith("src/opt/") or not path.endswith(".c"):
        return
    found = passes_of(house, path)
    if len(found) > 4:  # what all passes share: its texts are all there are
        found = {}
    for name, way in found.items():
        runs = re.compile(rf"(?m)^; run:.*\b{name}\b")
        looks = re.compile(rf"\bopt:{name}\b|(?:SKIP|DUMP)\W[^\n]*\b{name}\b")
        for test, text in house.tests.items():
            if test.endswith(".ir") and runs.search(text):
                yield test, f"it runs the pass {name}{way}"
            elif test.endswith(".py") and looks.search(text):
                yield test, f"it looks at the pass {name}{way}"


def naming(house: House, names: set[str], way: str) -> Found:
    """The tests that call most of these: `np.sort`, `.sort(`."""
    asked = {n: re.compile(rf"(?<![\w.]){re.escape(n)}\b" if n[0] != "." else re.escape(n)) for n in names}
    called: dict[str, list[str]] = {}
    for test, text in house.tests.items():
        if test.endswith(".py"):
            called[test] = sorted(n for n, r in asked.items() if r.search(text))
    best = sorted((t for t in called if called[t]), key=lambda t: (-len(called[t]), t))
    for test in best[:MOST_NAMING]:
        few = ", ".join(n.strip(".(") for n in called[test][:3])
        yield test, f"it calls {few}{' ...' if len(called[test]) > 3 else ''}{way}"


def by_builtin(house: House, path: str) -> Found:
    """Tests that call what the file's templates are; of a file of rt/, the templates that call its rows."""
    homes = {path: ""}
    if path.startswith("src/rt/"):
        rows = re.findall(r'(?m)^X\((\w+),\s*"(\w+)"', house.table("rt.def"))
        ids = {f"TR_RT_{row}" for row, fn in rows if fn in house.functions(path)}
        homes = {
            p: f", whose template {Path(p).name} calls {sorted(ids & house.words(p))[0]}"
            for p in house.code
            if p.startswith("src/lib/") and ids & house.words(p)
        }
    elif not path.startswith("src/lib/"):
        return
    for home, way in homes.items():
        names = set().union(*(house.templates.get(fn, set()) for fn in house.functions(home)))
        if len(homes) < 6:
            yield from naming(house, names, way)


def by_library(house: House, path: str) -> Found:
    """Tests that call a function of NumPy's which a module of the library has."""
    if not path.startswith("python/treadle/_library/"):
        return
    body = ast.parse((house.root / path).read_text()).body
    names = {
        f"np.{n.name}" for n in body if isinstance(n, ast.FunctionDef) and not n.name.startswith(("_", "of_"))
    }
    yield from naming(house, names, "")


def by_module(house: House, path: str) -> Found:
    """Tests that import a module of the package, or a script of tools/."""
    if not path.startswith(("python/treadle/", "tools/")) or not path.endswith(".py"):
        return
    parts = Path(path.removeprefix("python/")).with_suffix("").parts
    name = parts[-1]
    owner = r"\.".join(parts[:-1])
    uses = re.compile(
        rf'\bload\("{name}"\)|^\s*import {name}\b'
        if path.startswith("tools/")
        else rf"\b{owner}\.{name}\b|from {owner} import [^\n]*\b{name}\b",
        re.M,
    )
    for test, text in house.tests.items():
        if test.endswith(".py") and name != "__init__" and uses.search(text):
            yield test, f"it imports {name}"


def by_table(house: House, path: str) -> Found:
    """What ALWAYS says of the patterns that fit."""
    for pattern, tests, why in ALWAYS:
        if fnmatch(path, pattern):
            for test in tests:
                if test in house.tests:
                    yield test, why


def by_history(house: House, path: str) -> Found:
    """Tests that were committed with the file more than once, the fewer files were with them the more."""
    if not path.startswith(("src/", "python/")):
        return
    top, _, name = path.partition("/")
    base, room = Path(name).name, Path(name).parent.name
    specs = [
        f":(glob){top}/**/{n}" for n in (base, f"{room}_{base}")
    ]  # wherever it was, by its room's name too
    log = subprocess.run(
        [
            "git",
            "log",
            "--no-merges",
            "--full-diff",
            f"-n{COMMITS}",
            "--format=@%h",
            "--name-only",
            "--",
            *specs,
        ],
        cwd=house.root,
        capture_output=True,
        text=True,
    )
    weight: Counter[str] = Counter()
    times: dict[str, list[str]] = {}
    for commit in log.stdout.split("@")[1:]:
        head, *files = commit.split()
        for test in files if len(files) <= LARGE_COMMIT else ():
            if test in house.tests:
                weight[test] += 1 / len(files)
                times.setdefault(test, []).append(head)
    best = [t for t, _ in weight.most_common() if len(times[t]) > 1]
    for test in best[:MOST_TOGETHER]:
        yield test, f"committed with it {len(times[test])} times, as {times[test][0]}"


RULES = (
    by_itself,
    by_name,
    by_call,
    by_pass,
    by_builtin,
    by_library,
    by_module,
    by_table,
    by_history,
)


def place(house: House, given: str) -> str:
    """Return a file's path below the root: as given, from src/ down, or the only one of that name; else raise ValueError."""
    for p in (Path(given), house.root / given, house.root / "src" / given):
        if p.is_file() and p.resolve().is_relative_to(house.root):
            return str(p.resolve().relative_to(house.root))
    named = [
        p
        for d in ("src", "python", "tests", "tools", "bench", "docs")
        for p in (house.root / d).rglob(Path(given).name)
        if not any(part.startswith(".") for part in p.relative_to(house.root).parts)
    ]
    if len(named) == 1:
        return str(named[0].relative_to(house.root))
    raise ValueError(
        f"{given}: no such file"
        + (f"; {', '.join(str(p.relative_to(house.root)) for p in named)}?" * bool(named))
    )


def tests_for(given: list[str], house: House | None = None) -> Why:
    """Return the tests that see one of these files, each with why.

    Raises
    ------
    ValueError
        One of them is not there.
    """
    house = house or House()
    found: Why = {}
    for path in [place(house, g) for g in given]:
        of = f" ({path})" if len(given) > 1 else ""
        for rule in RULES:
            for test, why in rule(house, path):
                if test in MATRIX and rule is not by_itself:
                    continue
                reasons = found.setdefault(test, [])
                if why + of not in reasons:
                    reasons.append(why + of)
    return dict(sorted(found.items()))


def kinds(tests: Why) -> tuple[list[str], list[str]]:
    """Return the names that Meson has for those in C and in text, and the files for pytest."""
    meson = [("ir/" if t.endswith(".ir") else "") + Path(t).stem for t in tests if t.endswith((".ir", ".c"))]
    return meson, [t for t in tests if t.endswith(".py")]


def text_of(tests: Why) -> str:
    """Return the answer as text: a line a test, with the first reasons."""
    width = max((len(t) for t in tests), default=0)
    return "".join(f"{t:<{width}}  {'; '.join(why[:2])}\n" for t, why in tests.items())
