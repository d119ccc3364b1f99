"""treadlec and the runner of text-IR tests: each finds what it is there to find; the page about the text is current."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUNNER = ROOT / "tools/ir_test.py"

GOOD = """\
; call: f(2, 3) -> 5
; call: f(2, 9223372036854775807) -> -9223372036854775807
; has: add
fn @f -> i64 {
b0(%a: i64, %b: i64):
  %c: i64 = add %a, %b
  ret %c
}
"""


@pytest.fixture(scope="module")
def tool() -> str:
    """Path of treadlec, as the build says."""
    return os.environ["TREADLEC"]


def treadlec(tool: str, text: str, *options: str, **env: str) -> subprocess.CompletedProcess:
    """Run treadlec over a text."""
    return subprocess.run(
        [tool, *options, "-"],
        input=text,
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        check=False,
        timeout=60,
    )


def run_test(tool: str, tmp_path: Path, text: str) -> subprocess.CompletedProcess:
    """Run the runner over one test."""
    path = tmp_path / "t.ir"
    path.write_text(text)
    return subprocess.run(
        [sys.executable, RUNNER, tool, path], capture_output=True, text=True, check=False, timeout=120
    )


def test_page_is_current() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools/gen_ir.py", "--check"], check=False)
    assert done.returncode == 0, "run tools/gen_ir.py"


def test_page_shows_valid_text(tool: str) -> None:
    page = (ROOT / "docs/ir.md").read_text()
    example = page.split("```")[1]
    shown = treadlec(tool, example, "--print")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.strip() == example.strip()


def test_runner_passes_a_good_test(tool: str, tmp_path: Path) -> None:
    done = run_test(tool, tmp_path, GOOD)
    assert done.returncode == 0 and not done.stdout


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("-> 5", "-> 6", "f(2, 3) interpreted gives '5', expected '6'"),
        ("-> 5", "-> 6", "f(2, 3) compiled gives '5', expected '6'"),
        ("; has: add", "; has: mul", "no line has 'mul'"),
        ("; has: add", "; has-not: add", "a line has 'add'"),
        ("; has: add", "; expect:\n; fn @g", "the program is"),
        ("; has: add", "; error: nothing", "expected an error"),
        ("; has: add", "; frob: add", "no such expectation: frob"),
        ("f(2, 3) -> 5", "f(2, 3)", "a call without ' -> '"),
        ("f(2, 3) -> 5", "g(2, 3) -> 5", "does not call a typed function"),
        ("ret %c", "ret %d", "%d is not defined"),
        ("add %a, %b", "add %a, 2.5", "operand 1 is f64, want i64"),
    ],
)
def test_runner_finds_faults(tool: str, tmp_path: Path, old: str, new: str, what: str) -> None:
    assert old in GOOD
    done = run_test(tool, tmp_path, GOOD.replace(old, new))
    assert done.returncode == 1
    assert what in done.stdout


def test_runner_refuses_a_test_of_nothing(tool: str, tmp_path: Path) -> None:
    done = run_test(tool, tmp_path, re.sub(r"^;.*\n", "", GOOD, flags=re.M))
    assert done.returncode == 1 and "expects nothing" in done.stdout


def test_regold(tool: str, tmp_path: Path) -> None:
    path = tmp_path / "t.ir"
    path.write_text(GOOD.replace("; has: add", "; expect:\n; old"))
    subprocess.run([sys.executable, RUNNER, "--regold", tool, path], check=True, timeout=120)
    assert "; expect:\n; fn @f -> i64 {\n; b0(%a: i64, %b: i64):\n" in path.read_text()
    assert run_test(tool, tmp_path, path.read_text()).returncode == 0


def test_emit(tool: str, tmp_path: Path) -> None:
    assert "define" in treadlec(tool, GOOD, "--emit=llvm").stdout
    assert "define" in treadlec(tool, GOOD, "--emit", "llvmopt").stdout
    assert "tr_entry" in treadlec(tool, GOOD, "--emit=asm").stdout
    out = tmp_path / "f.o"
    assert treadlec(tool, GOOD, "--emit=obj", "-o", str(out)).returncode == 0
    assert out.read_bytes()[:4] == b"\x7fELF"
    bad = treadlec(tool, GOOD, "--emit=rust")
    assert bad.returncode == 1 and "llvm, llvmopt, asm and obj" in bad.stderr


def test_print_and_passes(tool: str) -> None:
    text = GOOD.replace("%c: i64 = add %a, %b", "%d: i64 = mul %a, %b\n  %c: i64 = add %a, %b")
    assert "mul" in treadlec(tool, text, "--print").stdout
    assert "mul" not in treadlec(tool, text, "--run=dce").stdout
    assert "mul" not in treadlec(tool, text, "--run", "opt", "--print").stdout
    bad = treadlec(tool, text, "--run=frob")
    assert bad.returncode == 1 and "frob" in bad.stderr
    assert treadlec(tool, text, "--verify").stdout == ""


def test_untyped_text_is_inferred(tool: str) -> None:
    text = "front @f {\nb0(%a, %b):\n  %c = binary add %a, %b\n  ret %c\n}\n"
    typed = treadlec(tool, text, "--args", "(i4, f8)", "--print")
    assert typed.returncode == 0, typed.stderr
    assert "-> f64" in typed.stdout and "conv" in typed.stdout
    done = treadlec(tool, text, "--args", "(i4, f8)", "--interp", "f(2, 0.5)", "--exec", "f(2, 0.5)")
    assert done.stdout == "2.5\n2.5\n", done.stderr
    bad = treadlec(tool, text, "--args", "(i4, i5)")
    assert bad.returncode == 1 and "unknown type 'i5'" in bad.stderr


def test_options(tool: str, tmp_path: Path) -> None:
    assert "usage" in treadlec(tool, "", "--help").stdout
    assert treadlec(tool, "", "--version").stdout.startswith("treadlec ")
    for options, what in [
        (["--frob"], "no such option"),
        (["--interp"], "its value is missing"),
        (["--set=frob=1"], "no such option"),
        (["--set=frob"], "NAME=NUMBER"),
        ([str(tmp_path / "none.ir")], "cannot read"),
    ]:
        done = subprocess.run(
            [tool, *options], input="", capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 1 and what in done.stderr, (options, done.stderr)
    wrong = treadlec(tool, "fn @f {\nb0:\n  frob\n}\n")
    assert wrong.returncode == 1 and "-:3:3: ValueError: no instruction 'frob' in this stage" in wrong.stderr
    assert treadlec(tool, "", TREADLE_DUMP="nonsense").returncode == 1
    dumped = treadlec(tool, GOOD, "--exec", "f(1, 2)", TREADLE_DUMP="llvm@f")
    assert "define" in dumped.stderr


def test_calls(tool: str) -> None:
    text = "fn @f -> none {\nb0(%a: f32[2f], %t: (i8, c64), %n: none):\n  ret %n\n}\n"
    call = "f([[1, 2.5], [3, inf]], (-128, complex(1, 2)), none)"
    assert treadlec(tool, text, "--interp", call, "--exec", call).stdout == "none\nnone\n"
    for bad, what in [
        ("f([[1], [2, 3]], (1, 2), none)", "lists of one length"),
        ("f([[1]], (128, 2), none)", "an integer that fits"),
        ("f([[1]], (1, 2))", "none"),
        ("f([[1]], (1, 2), none", "expected ')'"),
        ("f([1], (1, 2), none)", "'['"),
        ("f", "does not call"),
    ]:
        done = treadlec(tool, text, "--interp", bad)
        assert done.returncode == 1 and what in done.stderr, (bad, done.stderr)


def test_interpreter_reports_defects(tool: str) -> None:
    loop = "fn @f -> none {\nb0:\n  br b1\nb1:\n  br b1\n}\n"
    assert "takes too many steps" in treadlec(tool, loop, "--interp", "f()").stderr
    outside = "fn @f -> f64 {\nb0(%a: f64[1c]):\n  %v: f64 = load %a[5]\n  ret %v\n}\n"
    assert "loads outside of an array" in treadlec(tool, outside, "--interp", "f([1])").stderr
    deep = "fn @f -> i64 {\nb0:\n  %x: i64 = call #0()\n  ret %x\n}\n"
    assert "nested too deeply" in treadlec(tool, deep, "--interp", "f()").stderr
