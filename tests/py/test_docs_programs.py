"""The programs of docs/cuda-lessons.md, docs/from-numba-cuda.md, docs/scipy.md, docs/parallel/ and docs/cuda/ run as they stand there.

What the pages show of them is what is printed, and the picture of the README is the bench's.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from treadle import cuda

DOCS = Path(__file__).resolve().parents[2] / "docs"
# Under Treadle's own choice of a device, without checks, and of the functions that programs ask for.
QUIET = ("TREADLE_EMU_CHECK", "TREADLE_EMU_SEED", "TREADLE_CUDA_WARN", "TREADLE_PROMOTION")


def blocks(page: str) -> list[str]:
    return re.findall(r"(?m)^```python\n(.*?)^```$", (DOCS / page).read_text(), re.S)


def named(page: str) -> dict[str, str]:
    """The programs of a page whose first line is a comment with their file's name."""
    return {text.split("\n")[0].removeprefix("# "): text for text in blocks(page)}


def python(folder: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k not in QUIET}
    kept |= {"TREADLE_CACHE_DIR": str(folder / "code"), "TREADLE_VERIFY": "0", "TREADLE_CUDA_WARN": "0"}
    return subprocess.run(
        [sys.executable, *args], cwd=folder, env=kept | env, capture_output=True, text=True, timeout=240
    )


# --- treadle.parallel, and the libraries of treadle.cuda ---


@pytest.mark.parametrize(
    "page", sorted(f"{d}/{p.name}" for d in ("parallel", "cuda") for p in (DOCS / d).glob("*.md"))
)
def test_primitives(tmp_path: Path, page: str) -> None:
    """A page begins with a program, and those after it go on with what it has."""
    programs = blocks(page)
    assert "assert " in programs[0]
    (tmp_path / "script.py").write_text("\n".join(programs))
    done = python(tmp_path, "script.py")
    assert done.returncode == 0, done.stdout + done.stderr


# --- CUDA in six lessons ---

LESSONS = named("cuda-lessons.md")
# The mistakes that the page plants: what is changed of a lesson, or nothing where the program itself has it.
PLANTED = {
    "lesson1.py": ("if i < a.size:  ", "if True:  "),
    "lesson3.py": (r"\n[^\n]*# all sums of this round are there", ""),
    "lesson5.py": (r"cuda.atomic.add\(counts, (.*), 1\)", r"counts[\1] += 1"),
    "order.py": ("", ""),
}


def memcheck(folder: Path, name: str, text: str) -> tuple[int, str]:
    """The exit status of memcheck and its reports, without the tracebacks of what was raised."""
    (folder / name).write_text(text)
    done = python(folder, "-m", "treadle", "memcheck", name, TREADLE_CUDA="emu")
    lines = done.stderr.replace(f"{folder}{os.sep}", "").splitlines()
    return done.returncode, "".join(f"{x}\n" for x in lines if re.match("treadle memcheck: |  race ", x))


@pytest.mark.parametrize("name", LESSONS)
def test_lessons(tmp_path: Path, name: str) -> None:
    for file, text in LESSONS.items():
        (tmp_path / file).write_text(text)
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", name] if name.startswith("test_") else [name]
    done = python(tmp_path, *command)
    assert done.returncode == 0, done.stdout + done.stderr


def test_lessons_have_no_mistakes(tmp_path: Path) -> None:
    text = "".join(text for name, text in LESSONS.items() if name.startswith("lesson"))
    assert text.count("assert ") >= 6
    assert memcheck(tmp_path, "all.py", text) == (0, "treadle memcheck: no mistakes of kernels\n")


@pytest.mark.parametrize("name", PLANTED)
def test_planted_mistakes_are_named(tmp_path: Path, name: str) -> None:
    what, by = PLANTED[name]
    broken = re.sub(what, by, LESSONS[name]) if what else LESSONS[name]
    assert (broken != LESSONS[name]) == bool(what)
    status, report = memcheck(tmp_path, name, broken)
    assert status == 1
    assert (
        f"```\n$ python -m treadle memcheck {name}\n{report}```" in (DOCS / "cuda-lessons.md").read_text()
    ), report


def test_the_event_orders(tmp_path: Path) -> None:
    launch = r"(scale\[8, 128, first\].*\n)"
    text, n = re.subn(
        launch, r"\1done = cuda.event()\ndone.record(first)\ndone.wait(second)\n", LESSONS["order.py"]
    )
    assert n == 1
    assert memcheck(tmp_path, "order.py", text) == (0, "treadle memcheck: no mistakes of kernels\n")


def test_own_tests_under_checks(tmp_path: Path) -> None:
    """As the page says: pytest with all checks passes, and fails where a kernel has a race."""
    text, test = LESSONS["kernels.py"], "test_kernels.py"
    (tmp_path / test).write_text(LESSONS[test])
    racy = text.replace("out[i] = (a[left]", "out[0] = out[i] = (a[left]")
    assert racy != text
    for kernels, passes in ((text, True), (racy, False)):
        (tmp_path / "kernels.py").write_text(kernels)
        command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", test)
        done = python(tmp_path, *command, TREADLE_CUDA="emu", TREADLE_EMU_CHECK="all")
        assert (done.returncode == 0) == passes, done.stdout
        assert ("KernelCheckError" in done.stdout) != passes


# --- coming from numba.cuda ---

KERNELS = named("from-numba-cuda.md")


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_for_numba(tmp_path: Path, name: str) -> None:
    """As they stand under `treadle run`, and with the import changed."""
    text = KERNELS[name]
    ours = text.replace("from numba import", "from treadle import")
    assert "assert " in text and ours != text
    for program, how in ((text, ("-m", "treadle", "run")), (ours, ())):
        (tmp_path / name).write_text(program)
        done = python(tmp_path, *how, name)
        assert done.returncode == 0, done.stdout + done.stderr


def test_kernels_for_numba_have_no_mistakes(tmp_path: Path) -> None:
    assert len(KERNELS) == 5
    text = "".join(KERNELS.values())
    assert memcheck(tmp_path, "all.py", text) == (0, "treadle memcheck: no mistakes of kernels\n")


# What numba.cuda has and Treadle lacks: a pattern for the names, what they are, what to do.
LACKING = {
    r"libdevice": ("a module", "`math`, which kernels have"),
    r"IpcHandle|GetIpcHandleMixin|open_ipc_array": ("memory of other processes", "-"),
    r".*Manager|MappedMemory|PinnedMemory|set_memory_manager": ("memory managers", "the driver's own pool"),
    r"KernelRuntimeError": ("an exception", "what the kernel raises"),
    r"nvvm|shfl_sync_intrinsic|vote_sync_intrinsic|reduction|implementation": ("parts of its compiler", "-"),
    r"alias|prepare_shape_strides_dtype|runtests|test": ("its own use", "-"),
}


def names_of_numba_cuda() -> tuple[list[str], dict[str, list[str]]]:
    """Public names that both have, and those that Treadle lacks, by the patterns above."""
    from treadle import _numba_cuda, _standin

    listed = _standin._numba_names()
    modules = {m.removeprefix("cuda.") for m in listed if m.startswith("cuda.")} - {"libdevice"}
    imported = sys.stdlib_module_names | {"np", "numba", "config"}
    theirs = {n for n in listed["cuda"] if n[0] != "_"} - modules - imported
    ours = set(_numba_cuda.names_of([])) | {"HAS_NUMBA"}
    lacking = {p: sorted(n for n in theirs - ours if re.fullmatch(p, n)) for p in LACKING}
    assert theirs - ours == {n for names in lacking.values() for n in names}
    return sorted(theirs & ours), lacking


def test_names_of_numba_cuda() -> None:
    same, lacking = names_of_numba_cuda()
    vectors = sorted(n for n in same if n in cuda.__all__ and cuda._WHERE.get(n) == "_vector")
    shown = ", ".join(f"`{n}`" for n in same if n not in vectors)
    lines = [
        f"**The same, {len(same)} names:** {shown}, and {len(vectors)} vector types, `{vectors[0]}` to `{vectors[-1]}`.",
        "",
    ]
    lines += ["| missing | what | instead |", "|---|---|---|"]
    for pattern, names in lacking.items():
        assert names, pattern
        shown = ", ".join(f"`{n}`" for n in names)
        if len(names) > 8:
            shown = f"{len(names)} names, `{names[0]}` to `{names[-1]}`"
        lines.append(f"| {shown} | {LACKING[pattern][0]} | {LACKING[pattern][1]} |")
    text = (DOCS / "from-numba-cuda.md").read_text()
    made = "<!-- names: begin -->\n" + "\n".join(lines) + "\n<!-- names: end -->"
    assert made in text, made


# --- callbacks for SciPy ---

CALLBACKS = named("scipy.md")


@pytest.mark.parametrize("name", CALLBACKS)
def test_callbacks(tmp_path: Path, name: str) -> None:
    pytest.importorskip("scipy")
    assert CALLBACKS[name].count("assert ") >= 1
    (tmp_path / name).write_text(CALLBACKS[name])
    done = python(tmp_path, name)
    assert done.returncode == 0, done.stdout + done.stderr


# --- the picture of the README ---


def test_the_picture_is_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/first-call.svg is what bench/picture.py draws of the first table of bench/README.md."""
    spec = importlib.util.spec_from_file_location("picture", DOCS.parent / "bench" / "picture.py")
    picture = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(picture)
    processor, table = next(iter(picture.tables().items()))
    drawn = picture.draw(processor)
    assert picture.OUT.read_text() == drawn, "python bench/picture.py"
    assert "](docs/first-call.svg)" in (DOCS.parent / "README.md").read_text()
    words = "".join(ET.fromstring(drawn).itertext())
    assert processor in words and table.count("\nrun/") == 21
    assert picture.figures("run/x y   1,285 us    2.5 ms numba  0.5\nc/x  1 us  2 us c  0.5\n") == {
        "run/x y": (1285e-6, 2.5e-3)
    }
    monkeypatch.setattr(picture, "tables", lambda: {processor: table.replace("\ncached call ", "\ncached ")})
    with pytest.raises(SystemExit, match="lacks rows"):
        picture.draw(processor)


# --- the pictures of graphs ---


@pytest.mark.parametrize("page", ["primitives", "random"])
def test_pictures_of_graphs_are_of_the_programs(page: str) -> None:
    """docs/parallel/*.svg are what tools/draw_graphs.py draws of the programs of their pages."""
    spec = importlib.util.spec_from_file_location("draw_graphs", DOCS.parent / "tools" / "draw_graphs.py")
    draw_graphs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(draw_graphs)
    assert page in draw_graphs.pages()
    assert (DOCS / "parallel" / f"{page}.svg").read_text() == draw_graphs.picture(page), (
        "python tools/draw_graphs.py"
    )
    for other in draw_graphs.pages():
        text = (DOCS / "parallel" / f"{other}.md").read_text()
        assert f"]({other}.svg)" in text and (DOCS / "parallel" / f"{other}.svg").exists()
