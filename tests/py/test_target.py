"""Targets: what of the text-IR tests a GPU can run becomes PTX that assembles; what it cannot is refused, by name, from one table."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import ir_test  # noqa: E402
import treadle  # noqa: E402
from built import treadlec_path  # noqa: E402

FILES = sorted((ROOT / "tests/ir").glob("*.ir"))
IR_H = (ROOT / "src/ir/ir.h").read_text()
PROCESSORS = ("sm_75", "sm_80", "sm_90")
REFUSED = re.compile(r"LoweringError: (.+?): a GPU \(nvptx64\) does not have (.+)")
MATH = """\
fn @f -> f32 {
b0(%x: f32):
  %y: f32 = math sin %x
  %z: f32 = pow %y, %x
  ret %z
}
"""


def treadlec(*options: str, text: str | None = None, **env: str) -> subprocess.CompletedProcess:
    """Run treadlec; a crash is a failure wherever it happens."""
    done = subprocess.run(
        [treadlec_path(), *options, *(["-"] if text is not None else [])],
        input=text,
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        check=False,
        timeout=120,
    )
    assert done.returncode in (0, 1), (done.returncode, done.stderr)
    return done


def assembler() -> str:
    """Path of ptxas; skips, which is counted and shown, where there is none."""
    home = os.environ.get("CUDA_HOME")
    tool = shutil.which("ptxas", path=f"{home}/bin" if home else None)
    if not tool:
        pytest.skip("no ptxas on PATH or in CUDA_HOME: PTX is made here, but not assembled")
    return tool


def params_of(ptx: str, kernel: str) -> list[str]:
    """Types of a kernel's parameters; LLVM from 22 on says of addresses that they are that."""
    return re.findall(rf"\.param \.(\w+)(?: \.ptr[^,)\n]*)? {re.escape(kernel)}_param_\d+", ptx)


def has_libclc() -> bool:
    """Whether Treadle was built with mathematics of its own for devices."""
    return (Path(treadle.__file__).parent / "libclc.bc").exists()


def assemble(tool: str, ptx: Path, processor: str) -> None:
    """Assemble, in a process of its own."""
    out = ptx.with_suffix(".cubin")
    done = subprocess.run(
        [tool, "-O1", f"-arch={processor}", "-o", out, ptx], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr + ptx.read_text()
    assert out.stat().st_size > 0


def names() -> tuple[set[str], set[str]]:
    """Ops of the typed stage, and rows of the runtime's table."""
    ops = re.findall(r'(?m)^X\((\w+),\s*"\w+",.*\bS_T\)', (ROOT / "src/ir/op.def").read_text())
    rows = re.findall(r'(?m)^X\((\w+),\s*"tr_rt', (ROOT / "src/rt/rt.def").read_text())
    return set(ops), set(rows)


def functions(path: Path) -> tuple[list[str], list[str]]:
    """Options that make typed IR of a test, and the names of its functions; none where the test is of an error or stays untyped."""
    text = path.read_text()
    if " callx " in text:  # of functions that are linked to kernels (test_cuda_link.py)
        return [], []
    e = ir_test.read_expectations(text)
    options = [f"--set={s}" for s in e.settings] + ([f"--args={e.types}"] if e.types else [])
    if e.errors:
        return options, []
    shown = treadlec(*options, "--print", str(path)).stdout
    return options, [n.strip('"') for n in re.findall(r'(?m)^(?:\w+ )?fn @("[^"]+"|\S+)', shown)]


def test_table_has_every_op() -> None:
    ops, _ = names()
    rows = re.findall(r"(?m)^X\((\w+),", (ROOT / "src/target/legal.def").read_text())
    assert len(rows) == len(set(rows))
    assert set(rows) == ops - {"PARAM", "CONST", "UNDEF"}


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_ptx(path: Path, tmp_path: Path) -> None:
    """Every function of every test: PTX that assembles for three processors, or a refusal that names what is not there."""
    options, all_names = functions(path)
    if not all_names:
        return
    ptx = tmp_path / "o.ptx"
    done = treadlec(*options, "--target=nvptx64:sm_80", "--no-libdevice", "-o", str(ptx), str(path))
    refused = dict(REFUSED.findall(done.stderr))
    said = [line for line in done.stderr.splitlines() if not line.startswith("  hint: ")]
    assert len(refused) == len(said), done.stderr
    assert (done.returncode != 0) == bool(refused)
    kept = [n for n in all_names if n not in refused]
    for what in refused.values():
        assert re.match(
            r"'|the runtime's '|functions that call themselves: |what this calls: |launches from compiled code: |frozen",
            what,
        )
    if not kept:
        return
    tool = assembler()
    for processor in PROCESSORS:
        done = treadlec(
            *options, f"--target=nvptx64:{processor}", "--only", ",".join(kept), "-o", str(ptx), str(path)
        )
        assert done.returncode == 0, done.stderr
        assert f".target {processor}" in ptx.read_text()
        assemble(tool, ptx, processor)


CLASSES = {
    "b": ["i1"],
    "i": ["i8", "i16", "i32", "i64"],
    "u": ["u8", "u16", "u32", "u64"],
    "f": ["f32", "f64"],
    "c": ["c64", "c128"],
}
SCALARS = [t for ts in CLASSES.values() for t in ts]
PART = {"c64": "f32", "c128": "f64"}
UNARY = {"NEG", "ABS", "NOT", "RE", "IM"}


def every_op() -> list[str]:
    """A function for each op on each scalar type that the table lets through for a device, each conversion, comparison and function."""
    table = re.findall(
        r'(?m)^X\((\w+),\s*(?:ANY|"\w+"),\s*"(\w+)"\)', (ROOT / "src/target/legal.def").read_text()
    )
    names = dict(re.findall(r'(?m)^X\((\w+),\s*"(\w+)"', (ROOT / "src/ir/op.def").read_text()))
    math = re.findall(r'(?m)^X\(\w+,\s*"(\w+)",\s*(\d).*\'(.)\'\)', (ROOT / "src/ir/math.def").read_text())
    lines: list[tuple[list[str], str, str]] = []  # types of operands, type of the result, what computes it
    for op, classes in table:
        for t in (t for c in classes for t in CLASSES[c]):
            whole = {v: k for k, v in PART.items()}
            if op == "CONV":
                lines += [
                    ([t], to, "conv %0")
                    for to in SCALARS
                    if not (t in PART and to not in PART and to != "i1")
                ]
            elif op == "CMP":
                lines += [
                    ([t, t], "i1", f"cmp {p} %0, %1")
                    for p in (("eq", "ne") if t in PART else ("lt", "le", "eq", "ne", "gt", "ge"))
                ]
            elif op == "MATH":
                lines += [
                    (
                        [t] * int(n),
                        "i1" if r == "b" else t,
                        f"math {f} " + ", ".join(f"%{k}" for k in range(int(n))),
                    )
                    for f, n, r in math
                ]
            elif op == "BITCAST":
                lines += [
                    ([t], to, "bitcast %0")
                    for to in SCALARS
                    if to[1:] == t[1:] and "i1" not in (t, to) and not {t, to} & set(PART)
                ]
            elif op == "BITS":
                lines += [([t], t, f"bits {f} %0") for f in ("popc", "brev", "clz", "ctz")]
            elif op == "SELECT":
                lines.append((["i1", t, t], t, "select %0, %1, %2"))
            elif op == "CPLX":
                lines.append(([t, t], whole[t], "cplx %0, %1"))
            elif op in UNARY:
                lines.append(([t], PART.get(t, t) if op in ("ABS", "RE", "IM") else t, f"{names[op]} %0"))
            else:
                lines.append(([t, t], t, f"{names[op]} %0, %1"))
    return [
        f"fn @f{n} -> {r} {{\nb0({', '.join(f'%{k}: {t}' for k, t in enumerate(ts))}):\n  %r: {r} = {what}\n  ret %r\n}}"
        for n, (ts, r, what) in enumerate(lines)
    ]


def every_atomic() -> list[str]:
    """A kernel for each atomic operation on each type, on memory of the grid's and of the block's."""
    ops = re.findall(r'(?m)X\(\w+, "(\w+)", TR_OP_\w+, "(\w+)"\)', IR_H)
    assert {o for o, _ in ops} == {
        "add",
        "min",
        "max",
        "nanmin",
        "nanmax",
        "and",
        "or",
        "xor",
        "inc",
        "dec",
        "xchg",
    }
    wide = [(f"atomic {o} %a[0], %x", t) for o, cs in ops for c in cs for t in CLASSES[c][-2:]]
    wide += [("cas %a[0], %x, %x", t) for t in ("i32", "i64", "u32", "u64")]
    return [
        f"kernel fn @k{n} -> none {{\nb0(%a: {t}[1c], %x: {t}):\n  %s: {t}[1c] = shared 4\n  %r: {t} = {what}\n"
        f"  %q: {t} = {what.replace('%a', '%s')}\n  store %a[1], %q\n  ret undef:none\n}}"
        for n, (what, t) in enumerate(wide)
    ]


def every_meeting() -> list[str]:
    """A kernel for each operation at which threads meet, on each type."""
    ways, votes = (
        re.findall(r'X\(\w+, "(\w+)"\)', re.search(rf"define {name}\(X\)(.*?)typedef", IR_H, re.S)[1])
        for name in ("TR_SHFLS", "TR_VOTES")
    )
    assert (len(ways), len(votes)) == (4, 5)
    wide = [t for c in "iuf" for t in CLASSES[c][-2:]]
    lines = [(t, t, f"shfl {w} %m, %x, %i") for w in ways for t in wide]
    lines += [(t, "u32", f"match {v} %m, %x") for v in ("all", "any") for t in wide]
    lines += [("i1", "u32" if v == "ballot" else "i1", f"vote {v} %m, %x") for v in votes[:-1]]
    lines += [("i1", "i32", f"barvote {v} %x") for v in ("all", "any", "count")]
    lines.append(("i1", "u32", "activemask"))
    return [
        f"kernel fn @m{n} -> none {{\nb0(%a: {r}[1c], %x: {t}, %m: u32, %i: i32):\n  %r: {r} = {what}\n"
        f"  syncwarp %m\n  barrier\n  gridbarrier\n  store %a[0], %r\n  ret undef:none\n}}"
        for n, (t, r, what) in enumerate(lines)
    ]


@pytest.mark.parametrize("processor", PROCESSORS)
def test_every_op_on_every_type(processor: str, tmp_path: Path) -> None:
    """What LLVM cannot select ends its process: nothing that the table lets through may."""
    made = every_op() + every_atomic() + every_meeting()
    assert len(made) > 400
    ptx = tmp_path / "o.ptx"
    done = treadlec(f"--target=nvptx64:{processor}", "--no-libdevice", "-o", str(ptx), text="\n".join(made))
    assert done.returncode == 0, done.stderr
    tool = assembler()
    done = treadlec(f"--target=nvptx64:{processor}", "-o", str(ptx), text="\n".join(made))
    assert done.returncode == 0, done.stderr
    assert ".extern" not in ptx.read_text()
    assemble(tool, ptx, processor)


def test_most_functions_run_on_a_device() -> None:
    """The sweep above is of something: a refusal of nearly everything would pass it."""
    text = (ROOT / "tests/ir/patterns.ir").read_text()
    done = treadlec("--target=nvptx64", "--no-libdevice", text=text)
    assert {m[0] for m in REFUSED.findall(done.stderr)} == {"outer", "indices"}


# Functions that join, and are not associative, so that the order is seen: a thread has no memory for a tree.
IN_A_TREE = {("join", f) for f in ("tree", "many", "rows", "both")} | {("scan_join", "many")}


@pytest.mark.parametrize("path", [p for p in FILES if "pattern" in p.read_text()], ids=lambda p: p.stem)
def test_patterns_as_loops(path: Path) -> None:
    """What a pattern gives, its loops give: interpreted, and compiled for the host."""
    options, all_names = functions(path)
    e = ir_test.read_expectations(path.read_text())
    first = [
        p for p in ("inplace", "prange") if p in (e.passes or "").split(",")
    ]  # loops that are to be made one's
    for call, want in e.calls if all_names else []:
        if (path.stem, call.partition("(")[0]) in IN_A_TREE:
            continue
        for how in ("--interp", "--exec"):
            done = treadlec(*options, f"--run={','.join([*first, 'serial'])}", how, call, str(path))
            got = done.stdout.rstrip("\n").replace("\n", "\\n")
            got = (
                got.partition(": array ")[0] if "raises" in want else got
            )  # `watch` names what an index leaves
            assert got == want, (call, how, done.stderr)


def test_sums_as_loops_are_exact_enough() -> None:
    """What additions round off comes in at the end; zeros, infinities and NaN are what they are without."""
    text = """\
fn @f -> f64 {
b0(%a: f64[1c]):
  %n: i64 = dim %a, 0
  %s: f64 = pattern [%n] in(%a) red(add -0.0) {
    b0(%i: i64, %x: f64):
      yield %x
  }
  ret %s
}
"""
    cases = {
        "[1e16, 1.0, 1.0, -1e16]": "2.0",
        "[-0.0, -0.0]": "-0.0",
        "[1.0, inf, 3.0]": "inf",
        "[inf, -inf]": "nan",
        "[1e308, 1e308]": "inf",
        "[]": "-0.0",
    }
    for array, want in cases.items():
        done = treadlec("--run=serial,fold,cse,dce", "--interp", f"f({array})", text=text)
        assert done.stdout.strip().lstrip("-" if want == "nan" else "") == want, (array, done.stderr)


def test_mathematics_is_libdevices(tmp_path: Path) -> None:
    stays = treadlec("--target=nvptx64", "--no-libdevice", text=MATH).stdout
    assert "__nv_sinf" in stays and "__nv_powf" in stays and ".extern" in stays
    tool = assembler()
    path = tmp_path / "f.ptx"
    done = treadlec("--target=nvptx64:sm_90", "-o", str(path), text=MATH)
    assert done.returncode == 0, done.stderr
    assert ".extern" not in path.read_text()
    assemble(tool, path, "sm_90")


def test_a_library_that_is_missing_is_an_error(tmp_path: Path) -> None:
    lost = treadlec("--target=nvptx64", text=MATH, CUDA_HOME=str(tmp_path))
    if has_libclc():
        assert lost.returncode == 0 and ".extern" not in lost.stdout
    else:
        assert (
            lost.returncode == 1
            and "__nv_sinf is a function of libdevice, which was not found" in lost.stderr
        )
    wrong = tmp_path / "libdevice.bc"
    wrong.write_text("no bitcode")
    bad = treadlec("--target=nvptx64", f"--libdevice={wrong}", text=MATH)
    assert bad.returncode == 1 and "holds no bitcode" in bad.stderr
    gone = treadlec("--target=nvptx64", f"--libdevice={tmp_path}/none.bc", text=MATH)
    assert gone.returncode == 1 and "cannot read" in gone.stderr
    assert (
        treadlec(
            "--target=nvptx64",
            text=MATH.replace("math sin", "neg").replace("pow", "add"),
            CUDA_HOME=str(tmp_path),
        ).returncode
        == 0
    )


def test_names_of_targets() -> None:
    for target, want in {
        "riscv": "no target 'riscv'; there are: x86-64, nvptx64",
        "nvptx64:sm_20": "nvptx64 has no processor 'sm_20'; it has: sm_75, sm_80,",
        "x86-64:atom": "x86-64 has no processor 'atom'; it has: none by name",
    }.items():
        done = treadlec(f"--target={target}", text=MATH)
        assert done.returncode == 1 and want in done.stderr
    ptx = treadlec("--target=nvptx64:sm_120", "--no-libdevice", text=MATH).stdout
    # LLVM 19 does not know it and makes the code of a former one; versions that do make its own.
    assert re.search(r"\.version (7\.8\n\.target sm_90|8\.7\n\.target sm_120)\b", ptx)
    assert ".target sm_75" in treadlec("--target=nvptx64", "--no-libdevice", text=MATH).stdout
    assert "tr_entry" in treadlec("--target=x86-64", "--emit=asm", text=MATH).stdout
    done = treadlec("--target=nvptx64", "--only=g,h", text=MATH)
    assert done.returncode == 1 and "--only names no function of the program" in done.stderr


def test_a_kernel_has_flat_params() -> None:
    text = """\
kernel fn @k -> none {
b0(%a: f64[2a], %s: i32, %b: i1[1c]):
  ret undef:none
}
"""
    ptx = treadlec("--target=nvptx64", text=text).stdout
    assert params_of(ptx, "k") == ["u64"] + ["u64"] * 5 + ["u32"] + ["u64"] * 2
    assert ".visible .entry k(" in ptx
    host = treadlec("--exec", "k([[1.0]], 1, [true])", text=text)
    assert host.returncode == 1 and "k is a kernel function: x86-64 does not run those" in host.stderr


@pytest.mark.parametrize(
    ("head", "what"),
    [
        ("kernel fn @k -> i64 {\nb0(%x: i64):\n  ret %x\n}\n", "is a kernel and returns i64"),
        (
            "kernel fn @k -> none {\nb0(%x: (i64, slice(i64, i64, i64))):\n  ret undef:none\n}\n",
            "is a kernel and takes (i64, slice",
        ),
        (
            "kernel fn @k -> none {\nb0:\n  ret undef:none\n}\nfn @f -> none {\nb0:\n  %x: none = call #0()\n  ret %x\n}\n",
            "passes 0 values, @k takes 7",
        ),
        (
            "kernel fn @k -> none {\nb0:\n  ret undef:none\n}\ndevice fn @f -> none {\nb0:\n  %x: none = call #0(1, 1, 1, 1, 1, 1, 0)\n  ret %x\n}\n",
            "launches @k, which only a function of the host may do",
        ),
        (
            "device fn @d -> none {\nb0:\n  ret undef:none\n}\nfn @f -> none {\nb0:\n  %x: none = call #0()\n  ret %x\n}\n",
            "calls @d of a device from the host",
        ),
        ("kernel front @k {\nb0:\n  ret None\n}\n", "is of a kind that there is not"),
    ],
)
def test_kinds_are_verified(head: str, what: str) -> None:
    done = treadlec("--verify", text=head)
    assert done.returncode == 1 and what in done.stderr


DEVICE = """\
%KIND% fn @k -> none {
b0(%a: i32[1c], %b: i16[1c], %c: f64[1c], %r: i32[1c,ro], %n: i64):
  %LINE%
  ret undef:none
}
"""


@pytest.mark.parametrize(
    ("kind", "line", "what"),
    [
        ("", "%t: i64 = threadidx 0", "stands in a function of the host"),
        ("", "barrier", "stands in a function of the host"),
        ("", "%t: u32 = activemask", "stands in a function of the host"),
        ("", "%t: i32 = barvote all true", "stands in a function of the host"),
        ("kernel", "%t: i64 = activemask", "result is i64, want u32"),
        ("kernel", "%t: i64 = shfl by 1:u32, %n, 1:i32", "a way to shuffle"),
        ("kernel", "%t: i64 = shfl up 1, %n, 1:i32", "operand 0 is i64, want u32"),
        ("kernel", "%t: i64 = shfl up 1:u32, %n, 1", "operand 2 is i64, want i32"),
        ("kernel", "%t: i32 = shfl up 1:u32, %n, 1:i32", "result is i32, want i64"),
        ("kernel", "%t: i16 = shfl up 1:u32, 1:i16, 1:i32", "is not defined for i16"),
        ("kernel", "%t: i1 = vote count 1:u32, true", "is no vote of a warp"),
        ("kernel", "%t: i1 = vote ballot 1:u32, true", "result is i1"),
        ("kernel", "%t: u32 = match any 1:u32, true", "is not defined for i1"),
        ("kernel", "%t: u32 = match eq 1:u32, %n", "compares for all or any lanes"),
        ("kernel", "%t: i32 = barvote ballot true", "asks for all, any or count"),
        ("kernel", "syncwarp 1", "operand 0 is i64, want u32"),
        (
            "kernel",
            "%p: none = pattern [%n] { b0(%i: i64):\n    syncwarp 1:u32\n    yield\n  }",
            "stands in a lambda",
        ),
        ("kernel", "%t: i64 = blockidx 3", "expected a number"),
        ("kernel", "%t: i64 = atomic frob %a[0], 1:i32", "an atomic operation"),
        ("", "%s: f64[1c] = shared 4", "stands elsewhere than in the entry block of a kernel"),
        (
            "device",
            "br b1\nb1:\n  %s: f64[1c] = shared 4",
            "stands elsewhere than in the entry block of a kernel",
        ),
        (
            "kernel",
            "br b1\nb1:\n  %s: f64[1c] = shared 4",
            "stands elsewhere than in the entry block of a kernel",
        ),
        ("kernel", "%s: f64[1c] = shared %n", "size 0 is no constant"),
        ("kernel", "%s: f64[1c] = shared 0", "size 0 is no constant"),
        ("kernel", "%s: f64[1a] = shared 4", "want an array of layout c"),
        ("kernel", "%x: i16 = atomic add %b[0], 1:i16", "is not defined for i16"),
        ("kernel", "%x: f64 = atomic xor %c[0], 1.0", "is not defined for f64"),
        ("kernel", "%x: i32 = atomic inc %a[0], 1:i32", "is not defined for i32"),
        ("kernel", "%x: i32 = atomic nanmax %a[0], 1:i32", "is not defined for i32"),
        ("kernel", "%x: f64 = cas %c[0], 1.0, 2.0", "is not defined for f64"),
        ("kernel", "%x: i32 = atomic add %r[0], 1:i32", "the array is read-only"),
        ("kernel", "%x: i64 = atomic add %a[0], 1:i32", "result is i64, want i32"),
        (
            "kernel",
            "%p: none = pattern [%n] { b0(%i: i64):\n    barrier\n    yield\n  }",
            "stands in a lambda",
        ),
    ],
)
def test_ops_of_a_device_are_verified(kind: str, line: str, what: str) -> None:
    done = treadlec(
        "--verify", text=DEVICE.replace("%KIND% ", f"{kind} " if kind else "").replace("%LINE%", line)
    )
    assert done.returncode == 1 and what in done.stderr, done.stderr


def test_launches_that_cannot_be() -> None:
    text = DEVICE.replace("%KIND%", "kernel").replace("%LINE%", "barrier")
    args = "([1], [1], [1.0], [1], 1)"
    assert treadlec("--interp", f"k[2, 3]{args}", text=text).stdout == "none\n"
    for dims in ("[2]", "[2, ]", "[0, 1]", "[2, 3x1x1x1]", "[2, 3", "[1, 100000]", "[1, 32x32x2]"):
        done = treadlec("--interp", f"k{dims}{args}", text=text)
        assert done.returncode == 1 and "does not say blocks and threads" in done.stderr
    plain = treadlec("--interp", "f[1, 1](1.0)", text=MATH)
    assert plain.returncode == 1 and "launches what is no kernel" in plain.stderr
    called = (
        text.replace("kernel", "device")
        + "kernel fn @j -> none {\nb0(%a: i32[1c], %b: i16[1c], %c: f64[1c], %r: i32[1c,ro], %n: i64):\n  %x: none = call #0(%a, %b, %c, %r, %n)\n  ret %x\n}\n"
    )
    done = treadlec("--interp", f"j[1, 2]{args}", text=called)
    assert done.returncode == 1 and "waits for threads in a function that a kernel calls" in done.stderr
    assert "bar.sync" in treadlec("--target=nvptx64", text=called).stdout


MEETING = """\
kernel fn @k -> none {
b0(%q: u32[1c]):
  %t: i64 = threadidx 0
  %c: i1 = cmp lt %t, 2
  cbr %c, b1, b2
b1:
  LOW
  br b3
b2:
  HIGH
  br b3
b3:
  ret undef:none
}
"""


@pytest.mark.parametrize(
    ("low", "high", "what"),
    [
        ("syncwarp 15:u32", "barrier", "waits for lanes that are elsewhere"),
        ("syncwarp 15:u32", "syncwarp 15:u32", "waits for lanes that are elsewhere"),
        ("syncwarp 1:u32", "barrier", "a lane that its mask does not name"),
        ("%x: i32 = barvote any true", "barrier", "counts threads that are at different barriers"),
        (
            "gridbarrier",
            "gridbarrier",
            "waits for other blocks, which the interpreter runs one after the other",
        ),
        ("barrier", "barrier", None),
        ("syncwarp 3:u32", "syncwarp 12:u32", None),
        ("%x: u32 = activemask", "barrier", None),
        ("ret undef:none", "syncwarp 15:u32", None),
        ("ret undef:none", "%x: i32 = barvote any true", None),
    ],
)
def test_meetings_that_never_happen(low: str, high: str, what: str | None) -> None:
    """The interpreter says where threads wait for each other; it does not hang."""
    text = MEETING.replace("LOW", low).replace("HIGH", high)
    text = text.replace("ret undef:none\n  br b3", "ret undef:none")
    done = treadlec("--interp", "k[1, 4]([0])", text=text)
    if what:
        assert done.returncode == 1 and what in done.stderr, done.stderr
    else:
        assert done.stdout == "none\n", done.stderr


def test_shared_memory_is_found_to_be_that() -> None:
    """No access of a kernel's arrays goes by generic addresses."""
    done = treadlec("--target=nvptx64:sm_80", text=(ROOT / "tests/ir/device.ir").read_text())
    body = done.stdout.partition(".entry total")[2].partition(".entry")[0]
    assert (
        re.search(r"ld\.shared\.[fb]64", body)
        and re.search(r"st\.global\.[fb]64", body)
        and "bar.sync" in body
    )
    assert not re.search(r"\b(ld|st)\.[fub]64", body)


def test_frozen_arrays_of_a_text() -> None:
    """A text does not say what lies in them; what Python hands over has its items, and they go with the code."""
    text = """\
fn @f -> f64 {
b0(%i: i64):
  %x: f64 = load array(0, f64[1c,ro], 6:1):f64[1c,ro][%i]
  ret %x
}
"""
    done = treadlec("--target=nvptx64", text=text)
    assert (
        done.returncode == 1
        and "f: a GPU (nvptx64) does not have frozen arrays whose items are not known here" in done.stderr
    )


def test_exceptions_claim_the_launch() -> None:
    """The first exception of a launch is kept: its code by compare and exchange, then thread, block and payload."""
    text = """\
fn @deep -> i64 {
b0(%x: i64):
  %ok: i1 = cmp gt %x, 0
  check %ok, %x ! ValueError "got {0}"
  ret %x
}
kernel fn @k -> none {
b0(%x: i64, %q: i64[1c]):
  %y: i64 = call #0(%x)
  %z: i64 = call #0(%y)
  store %q[0], %z
  ret undef:none
}
"""
    ptx = treadlec("--target=nvptx64", "--only=k", text=text).stdout
    assert "atom.global.cas.b32" in ptx or "atom.cas.b32" in ptx or "atom.relaxed" in ptx
    assert "%tid.x" in ptx and "%ctaid.z" in ptx
