"""What goes to a machine with a GPU: the benchmarks of kernels (bench/cuda.py), here on the driver that is none, and the command that tries a wheel there (tools/gpu_check.py)."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
import treadle
from built import DRIVER, NO_DRIVER

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import gpu_check  # noqa: E402
from devenv import Stop  # noqa: E402

BENCH = ROOT / "bench" / "cuda.py"
pytestmark = pytest.mark.skipif(DRIVER is None, reason=NO_DRIVER)


def bench(*args: str, code: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """Run bench/cuda.py on the driver that is none; `code` comes before it."""
    full = {**os.environ, "TREADLE_CUDA_DRIVER": str(DRIVER), "TREADLE_VERIFY": "0", **env}
    line = [sys.executable, str(BENCH)]
    if code:
        start = f"import runpy, sys\nsys.path.insert(0, {str(BENCH.parent)!r})\nsys.argv[0] = 'cuda.py'\n"
        line = [sys.executable, "-c", f"{start}{code}\nrunpy.run_path({str(BENCH)!r}, run_name='__main__')"]
    return subprocess.run([*line, *args], capture_output=True, text=True, env=full, timeout=240, check=False)


# --- the benchmarks ---


@pytest.mark.slow  # nvcc takes seconds, where it is
def test_figures(tmp_path):
    out = tmp_path / "figures.json"
    wanted = ["launch/4 device arrays", "memory", "kernel/reduction*", "gaussian/f32"]
    r = bench("--out", str(out), "--quick", *(x for w in wanted for x in ("--only", w)))
    assert r.returncode == 0, r.stderr + r.stdout
    report = json.loads(out.read_text())
    assert report["finished"] and report["quick"] and report["wrong"] == []
    assert report["device"]["name"] == "Fake GPU" and report["device"]["compute capability"] == "9.0"
    assert report["machine"]["cpu"] and report["versions"]["treadle"] and report["versions"]["numpy"]
    rows = {row["name"]: row for row in report["rows"]}
    assert {row["group"] for row in rows.values()} == {"launch", "memory", "kernel", "gaussian"}
    for name in ("memory/copy, grid stride (device copy)", "memory/saxpy, ufunc (device copy)"):
        assert rows[name]["value"] == rows[name]["ours"] / rows[name]["theirs"] > 0
    assert rows["gaussian/f32, out= (numpy)"]["value"] > 0
    launch = rows["launch/4 device arrays (c)"]
    if "C compiler" in report["versions"]:
        assert launch["value"] == launch["ours"] - launch["theirs"]
    if "CUDA C" in report["versions"]:
        assert rows["kernel/reduction, tree (CUDA C)"]["value"] > 0
    for row in rows.values():  # what could not be measured says so
        assert (row["value"] is None) == (row["verdict"] == "missing"), row
    assert all(name in r.stdout for name in rows) and "Fake GPU" in r.stdout
    chart = ET.parse(out.with_suffix(".svg")).getroot()
    assert chart.tag.endswith("svg") and "GPU, device arrays, out=" in "".join(chart.itertext())


WRONG = """
import emulated
def adding_up(cuda):
    @cuda.jit
    def k(a, out):
        if cuda.threadIdx.x == 0:
            out[cuda.blockIdx.x] = a[cuda.blockIdx.x * 512]
    return k
emulated.adding_up = adding_up
"""


def test_a_wrong_result_fails(tmp_path):
    out = tmp_path / "figures.json"
    r = bench("--out", str(out), "--quick", "--only", "kernel/reduction*", code=WRONG, CUDA_HOME="/nowhere")
    assert r.returncode == 1 and "WRONG: kernel/reduction, tree, treadle: wrong result" in r.stdout
    assert json.loads(out.read_text())["wrong"]


def test_what_fails_leaves_the_rest(tmp_path):
    out = tmp_path / "figures.json"
    code = "import emulated\nemulated.numbers = None"
    r = bench("--out", str(out), "--quick", "--only", "memory/copy*", "--only", "launch/empty", code=code)
    report = json.loads(out.read_text())
    assert r.returncode == 1 and report["finished"]
    assert [text.partition(":")[0] for text in report["wrong"]] == ["memory/copy, grid stride"]
    measured = {row["group"] for row in report["rows"] if row["ours"] is not None}
    assert measured == {"launch"}


def test_packages_called_cuda_are_found(tmp_path):
    """NVIDIA's are parts of a package `cuda`, in whose place the benchmark's own file must not be found."""
    (tmp_path / "cuda/pathfinder").mkdir(parents=True)
    (tmp_path / "cuda/pathfinder/__init__.py").write_text("")
    (tmp_path / "cupy.py").write_text(
        "import cuda.pathfinder\nraise RuntimeError(cuda.pathfinder.__name__)\n"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    out = str(tmp_path / "figures.json")
    r = bench("--out", out, "--quick", "--only", "launch/empty", PYTHONPATH=path)
    assert r.returncode == 0 and "note: cupy: RuntimeError: cuda.pathfinder" in r.stdout, r.stderr


def test_time_that_is_over(tmp_path):
    out = tmp_path / "figures.json"
    r = bench("--out", str(out), "--quick", "--seconds", "0", "--only", "launch/empty")
    assert r.returncode == 0 and "left out, as 0 seconds have passed: launch/empty" in r.stdout


@pytest.mark.parametrize(
    ("args", "env", "said"),
    [
        (["--only", "frob"], {}, "no row matches --only 'frob'"),
        (["--out", "/tmp/x.svg"], {}, "--out /tmp/x.svg must end in .json"),
        (["--out", "/nowhere/x.json"], {}, "the folder of --out /nowhere/x.json does not exist"),
        ([], {"TREADLE_CUDA_DRIVER": "/nowhere.so"}, "there is no GPU to measure: "),
        ([], {"TREADLE_CUDA_DRIVER": "libm.so.6"}, "libm.so.6 has no cuInit"),
    ],
)
def test_bad_input(tmp_path, args, env, said):
    out = [] if "--out" in args else ["--out", str(tmp_path / "x.json")]
    r = bench(*out, *args, **env)
    assert r.returncode == 2 and said in r.stderr and "Traceback" not in r.stderr, r.stderr
    assert not (tmp_path / "x.json").exists()


def test_a_treadle_that_cannot_be_imported(tmp_path):
    (tmp_path / "treadle.py").write_text("raise ImportError('there is none')\n")
    r = bench("--out", str(tmp_path / "x.json"), PYTHONPATH=str(tmp_path))
    assert r.returncode == 2 and "treadle cannot be imported: there is none" in r.stderr, r.stderr


def test_figures_need_a_place():
    r = bench()
    assert r.returncode == 2 and "--out FILE.json is missing" in r.stderr


# --- the wheel ---

HERE = "treadle-0.1.0-cp312-cp312-manylinux_2_34_x86_64.whl"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (HERE, ""),
        ("treadle-0.1.0-cp312-cp312-linux_x86_64.whl", ""),
        (HERE.replace("cp312-cp312", "cp311-cp311"), "it is for cp311, and this is cp312"),
        (HERE.replace("cp312-cp312", "cp312-cp312t"), "it is for cp312t, and this is cp312"),
        (HERE.replace("2_34", "2_40"), "it needs glibc 2.40, and this is 2.39"),
        (HERE.replace("x86_64", "aarch64"), "it is for manylinux_2_34_aarch64"),
        ("treadle.tar.gz", "that is no name of a wheel"),
    ],
)
def test_which_wheels_fit(monkeypatch, name, why):
    monkeypatch.setattr(gpu_check.platform, "machine", lambda: "x86_64")
    said = gpu_check.fits(Path(name), "cp312", (2, 39))
    assert said.startswith(why) and bool(said) == bool(why)


def test_the_newest_wheel_that_fits(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_check.platform, "machine", lambda: "x86_64")
    with pytest.raises(Stop, match="there is none at all.*make wheel"):
        gpu_check.choose(None, tmp_path, "cp312", (2, 39))
    other, old, new = (tmp_path / HERE.replace(*x) for x in (("312", "311"), ("0.1.0", "0.2.0"), ("", "")))
    for age, wheel in ((30, old), (20, new), (10, other)):
        wheel.write_bytes(b"")
        os.utime(wheel, (time.time() - age,) * 2)
    assert gpu_check.choose(None, tmp_path, "cp312", (2, 39)) == new
    with pytest.raises(Stop, match="it is for cp311, and this is cp313"):
        gpu_check.choose(None, tmp_path, "cp313", (2, 39))
    assert gpu_check.choose(old, tmp_path, "cp312", (2, 39)) == old
    with pytest.raises(Stop, match="cannot be installed here: it is for cp311"):
        gpu_check.choose(other, tmp_path, "cp312", (2, 39))
    with pytest.raises(Stop, match="There is no wheel"):
        gpu_check.choose(tmp_path / "none.whl", tmp_path, "cp312", (2, 39))


@pytest.mark.parametrize("pip", [True, False])
def test_installing(tmp_path, monkeypatch, pip):
    wheel = tmp_path / "thing-1.0-py3-none-any.whl"
    info = "thing-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as z:
        z.writestr("thing.py", "x = 3\n")
        z.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
        z.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr(f"{info}/RECORD", f"thing.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    here = importlib.util.find_spec
    if pip and here("pip") is None:
        pytest.skip("pip is not here")
    monkeypatch.setattr(
        gpu_check.importlib.util, "find_spec", lambda n: None if n == "pip" and not pip else here(n)
    )
    assert gpu_check.install(wheel, tmp_path / "site") == ("by pip" if pip else "unpacked")
    assert (tmp_path / "site" / "thing.py").read_text() == "x = 3\n"


# --- the tests ---

GOOD = "import pytest\n@pytest.mark.parametrize('a', ['x y', 'z'])\ndef test_good(a):\n    pass\ndef test_skipped():\n    pytest.skip('why')\n"
BAD = "def test_bad():\n    assert 0\ndef test_fine():\n    pass\n"
DIES = "import os\ndef test_first():\n    pass\ndef test_dies():\n    os._exit(70)\n"
# The second test makes a file when the first one's result has surely been told.
SLOW = "import time\ndef test_quick():\n    pass\ndef test_slow():\n    time.sleep(1)\n    open('MARK', 'w').close()\n    time.sleep(100)\n"


def tried(tmp_path, monkeypatch, xdist, **texts):
    """What gpu_check says of these files of tests."""
    files = []
    for name, text in texts.items():
        files.append(str(tmp_path / f"test_{name}.py"))
        Path(files[-1]).write_text(text)
    here = importlib.util.find_spec
    monkeypatch.setattr(
        gpu_check.importlib.util, "find_spec", lambda n: None if n == "xdist" and not xdist else here(n)
    )
    monkeypatch.setattr(gpu_check, "WORKERS", 2)
    deadline = time.monotonic() + 100
    return gpu_check.run_tests(files, dict(os.environ), tmp_path, deadline, ["-c", os.devnull])


@pytest.mark.slow  # pytest in pytest
@pytest.mark.parametrize("xdist", [True, False])
def test_counting(tmp_path, monkeypatch, xdist):
    tests = tried(tmp_path, monkeypatch, xdist, good=GOOD)
    assert tests.counts == {"PASSED": 2, "SKIPPED": 1} and tests.ok, (tmp_path / "tests.log").read_text()
    tests = tried(tmp_path, monkeypatch, xdist, good=GOOD, bad=BAD)
    assert tests.counts == {"PASSED": 3, "SKIPPED": 1, "FAILED": 1} and not tests.ok
    assert [name.rpartition("::")[2] for name in tests.failed] == ["test_bad"] and not tests.trouble
    cases = list(ET.parse(tmp_path / "tests.xml").getroot().iter("testcase"))
    assert len(cases) == 5 and sum(c.find("failure") is not None for c in cases) == 1


@pytest.mark.slow
@pytest.mark.parametrize("xdist", [True, False])
def test_a_process_that_dies(tmp_path, monkeypatch, xdist):
    """A test that ends a GPU's context ends its process: that is a failure, and the other files run."""
    tests = tried(tmp_path, monkeypatch, xdist, dies=DIES, good=GOOD)
    assert not tests.ok and tests.counts["PASSED"] == 3
    if xdist:
        assert [name.rpartition("::")[2] for name in tests.failed] == ["test_dies"]
    else:
        assert (
            len(tests.trouble) == 1 and "test_dies.py: pytest ended with exit status 70" in tests.trouble[0]
        )


@pytest.mark.slow
@pytest.mark.parametrize("xdist", [True, False])
def test_a_deadline(tmp_path, monkeypatch, xdist):
    """Time is over when a test that would take long has begun. pytest is asked to stop and writes its record, though who asks ignores interrupts."""
    mark, jumped = tmp_path / "mark", []

    def monotonic():
        now = time.monotonic()
        if mark.exists() and not jumped:
            jumped.append(101.0)  # the deadline is 100 s from its beginning
        return now + sum(jumped)

    monkeypatch.setattr(gpu_check, "time", SimpleNamespace(monotonic=monotonic, sleep=time.sleep))
    monkeypatch.setattr(gpu_check, "GRACE", 60)
    texts = {"slow": SLOW.replace("MARK", str(mark))} | ({} if xdist else {"unbegun": GOOD})
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell has it for what stands before an &
    try:
        tests = tried(tmp_path, monkeypatch, xdist, **texts)
    finally:
        signal.signal(signal.SIGINT, before)
    assert tests.counts == {"PASSED": 1} and not tests.ok
    left = "" if xdist else ", and 1 files not begun"
    assert tests.trouble == [f"the tests were stopped, as their time was over{left}"]
    assert "test_quick" in (tmp_path / "tests.xml").read_text()


def test_no_test_is_not_a_pass(tmp_path, monkeypatch):
    assert not tried(tmp_path, monkeypatch, False, empty="x = 1\n").ok


# --- the command ---

ROWS = [
    {"name": "a", "floor": 1.0, "verdict": "goal"},
    {"name": "b", "floor": 1.0, "verdict": "BELOW"},
    {"name": "c", "floor": 1.0, "verdict": "missing"},
    {"name": "d", "floor": None, "verdict": ""},
]


def command(tmp_path, monkeypatch, tests, report, trouble=(), args=()):
    """`gpu_check.main` with parts that say this."""
    wheel = tmp_path / "w.whl"
    monkeypatch.setattr(gpu_check, "choose", lambda *_: wheel)
    monkeypatch.setattr(gpu_check, "install", lambda *_: "by pip")
    monkeypatch.setattr(gpu_check, "probe", lambda *_: ["", "0.1.0", "A GPU", [9, 0]])
    monkeypatch.setattr(gpu_check, "run_tests", lambda *_: tests)
    monkeypatch.setattr(gpu_check, "run_bench", lambda *_: (report, list(trouble)))
    code = gpu_check.main(["--out", str(tmp_path / "made" / "here"), *args])
    return code, (tmp_path / "made" / "here" / "summary.txt").read_text()


def test_exit_status_and_summary(tmp_path, monkeypatch):
    good = gpu_check.Tests({"PASSED": 7, "SKIPPED": 2}, seconds=12)
    code, text = command(tmp_path, monkeypatch, good, {"rows": ROWS})
    assert code == 0 and "w.whl (by pip, treadle 0.1.0) on A GPU, compute capability 9.0" in text
    assert "Tests: passed: 7 passed, 2 skipped; 12 s." in text and "Results: right." in text
    for line in ("reach their floor: a", "are below it: b", "were not measured: c"):
        assert f"Rows that {line}." in text
    bad = gpu_check.Tests({"PASSED": 7, "FAILED": 1}, ["t.py::test_x"])
    code, text = command(tmp_path, monkeypatch, bad, {"rows": ROWS})
    assert code == 1 and "Tests: NOT PASSED" in text and "FAILED t.py::test_x" in text
    late = gpu_check.Tests({"PASSED": 7}, trouble=["the tests were stopped, as their time was over"])
    assert command(tmp_path, monkeypatch, late, {"rows": ROWS})[0] == 1
    code, text = command(tmp_path, monkeypatch, good, {"rows": ROWS}, ["wrong: kernel/x"])
    assert code == 1 and "Results: NOT RIGHT." in text and "wrong: kernel/x" in text
    assert command(tmp_path, monkeypatch, good, {})[0] == 1


def test_what_is_missing_is_named(tmp_path, monkeypatch):
    here = importlib.util.find_spec
    lacking = {"pytest", "hypothesis"}
    monkeypatch.setattr(gpu_check.importlib.util, "find_spec", lambda n: None if n in lacking else here(n))
    code, text = command(tmp_path, monkeypatch, gpu_check.Tests({"PASSED": 1}), {"rows": ROWS})
    assert code == 1 and "pytest (the tests), hypothesis (the tests' examples); bring their wheels" in text
    lacking.add("numpy")
    with pytest.raises(Stop, match="NumPy is missing"):
        command(tmp_path, monkeypatch, gpu_check.Tests(), {})


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--driver", "/nowhere.so"], "there is no file /nowhere.so"),
        (["--tests-seconds", "500"], "within --seconds, which are 470"),
    ],
)
def test_wrong_arguments(capsys, args, said):
    with pytest.raises(SystemExit) as e:
        gpu_check.main(args)
    assert e.value.code == 2 and said in capsys.readouterr().err


def test_the_gpu_is_looked_for_first():
    stage = Path(treadle.__file__).parents[1]
    found = gpu_check.probe(gpu_check.environment(stage, str(DRIVER)), stage)
    assert found[2:] == ["Fake GPU", [9, 0]]
    with pytest.raises(Stop, match="No GPU can be used here: .*no cuInit"):
        gpu_check.probe(gpu_check.environment(stage, "libm.so.6"), stage)
    with pytest.raises(Stop, match="not from the wheel"):
        gpu_check.probe(gpu_check.environment(stage, str(DRIVER)), stage / "elsewhere")


def test_a_log_that_is_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_check, "LOG_LIMIT", 10)
    log = tmp_path / "log"
    log.write_text("0123456789abcdef")
    gpu_check.shortened(log)
    assert log.read_text().endswith(")\n6789abcdef")


def test_figures_that_take_too_long(tmp_path, monkeypatch):
    """A benchmark that hangs is ended; without time it does not begin."""
    assert gpu_check.run_bench({}, tmp_path, 5, True) == ({}, ["no time was left for bench/cuda.py"])
    monkeypatch.setattr(gpu_check, "GRACE", 0)
    run = gpu_check.run_until(
        [sys.executable, "-c", "import signal, time\nsignal.signal(2, signal.SIG_IGN)\ntime.sleep(100)"],
        dict(os.environ),
        tmp_path / "log",
        time.monotonic() + 1,
    )
    assert run.late and run.code == -9
