"""`dev.py test --for FILE` says which tests see a file, and runs those."""

from __future__ import annotations

import argparse
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import tests_for  # noqa: E402


@pytest.fixture(scope="module")
def house():
    return tests_for.House()


# A file as whoever changed it would say it, a test that sees it, and how that is known.
SEEN = [
    ("fuse.c", "tests/py/test_fuse.py", "its name"),
    ("fuse.c", "tests/ir/filter.ir", "it runs the pass fuse"),
    ("fuse.c", "tests/c/test_passes.c", "every pass"),
    ("fuse_build.c", "tests/ir/fuse.ir", "its name"),
    ("odometer.c", "tests/ir/odometer.ir", "it runs the pass odometer"),
    ("src/lib/npsort.c", "tests/py/test_sort.py", "it calls argpartition"),
    ("src/lib/npeinsum.c", "tests/py/test_einsum.py", "its name"),
    ("src/rt/sort.c", "tests/py/test_sort.py", "whose template npsort.c calls TR_RT_"),
    ("src/rt/sort.c", "tests/c/test_sort.c", "its name"),
    ("src/rt/arg.c", "tests/c/test_arg.c", "its name"),
    ("src/exec/walk.c", "tests/c/test_exec.c", "it calls tr_"),
    ("src/ir/nyi.def", "tests/py/test_names.py", "each row"),
    ("src/ext/call.c", "tests/py/test_dispatch.py", "every call"),
    ("python/treadle/_library/sets.py", "tests/py/test_library_sets.py", "it calls np."),
    ("python/treadle/cuda/_order.py", "tests/py/test_cuda_order.py", "its name"),
    ("python/treadle/ufunc.py", "tests/py/test_names.py", "public names"),
    ("tools/check_floors.py", "tests/py/test_tools.py", "it imports check_floors"),
    ("docs/numpy.md", "tests/py/test_docs.py", "programs and links"),
    ("HACKING.md", "tests/py/test_hacking.py", "names and links"),
    ("tests/ir/fold.ir", "tests/ir/fold.ir", "it is the file"),
    ("tests/py/test_fold.py", "tests/py/test_fold.py", "it is the file"),
    ("tests/py/ways.py", "tests/py/test_ways_in.py", "it imports ways"),
    ("tests/py/ways_raises.py", "tests/py/test_ways_in.py", "it imports ways_features"),
    ("tests/c/lower_util.h", "tests/c/test_lower.c", "it includes lower_util.h"),
    ("tests/fuzz/gen_stmt.py", "tests/py/test_fuzz_slice.py", "a slice of the fuzzer"),
]


@pytest.mark.parametrize(("file", "test", "why"), SEEN, ids=[f"{f}-{t}" for f, t, _ in SEEN])
def test_who_sees_a_file(house, file, test, why):
    found = tests_for.tests_for([file], house)
    assert any(why in reason for reason in found[test]), found.get(test)


def test_every_source_is_seen_by_another_test_than_the_one_that_looks_at_heads(house):
    def seen(path):
        return {test for test, _ in tests_for.by_table(house, path)} - {"tests/py/test_hacking.py"}

    assert [p for p in house.code if p.endswith(".c") and not seen(p)] == []


def test_what_sees_a_pass_is_not_all_there_is(house):
    found = tests_for.tests_for(["fuse.c"], house)
    assert len(found) < 60
    assert "tests/py/test_dates.py" not in found
    assert "tests/py/test_ways_in.py" not in tests_for.tests_for(["src/lib/npsort.c"], house)


def test_the_table_names_tests_that_are_there(house):
    files = [
        str(p.relative_to(ROOT))
        for d in ("src", "python", "tests", "tools", "docs")
        for p in (ROOT / d).rglob("*.*")
    ]
    for pattern, tests, _ in tests_for.ALWAYS:
        assert set(tests) <= set(house.tests), pattern
        assert any(fnmatch(f, pattern) for f in [*files, "HACKING.md"]), pattern


def test_files_are_found_by_name_and_several_at_once(house):
    both = tests_for.tests_for(["tests/py/test_fold.py", "odometer.c"], house)
    assert both["tests/py/test_fold.py"] == ["it is the file (tests/py/test_fold.py)"]
    assert any("odometer.c)" in why for why in both["tests/ir/odometer.ir"])
    with pytest.raises(ValueError, match="no such file$"):
        tests_for.tests_for(["astray.c"], house)
    with pytest.raises(ValueError, match=r"no such file; .*src/base/README.md"):
        tests_for.tests_for(["src/nowhere/README.md"], house)


def test_what_was_committed_together_is_a_reason(tmp_path):
    def git(*args):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *args], cwd=tmp_path, check=True
        )

    git("init", "-q")
    (tmp_path / "src/a").mkdir(parents=True)
    (tmp_path / "tests/py").mkdir(parents=True)
    for k in range(2):
        (tmp_path / "src/a/one.c").write_text(f"/* {k} */")
        (tmp_path / "tests/py/test_seen.py").write_text(f"# {k}")
        (tmp_path / f"tests/py/test_once_{k}.py").write_text("")
        git("add", ".")
        git("commit", "-qm", "both")
    (tmp_path / "src/b").mkdir()
    git("mv", "src/a/one.c", "src/b/one.c")
    git("commit", "-qm", "a folder more")
    found = tests_for.tests_for(["src/b/one.c"], tests_for.House(tmp_path))
    assert [(t, why[0].partition(" as ")[0]) for t, why in found.items()] == [
        ("tests/py/test_seen.py", "committed with it 2 times,")
    ]


def test_the_command_says_and_runs_them(monkeypatch, capsys):
    import dev

    ran = {}
    build = argparse.Namespace(env=dict, py=None)
    monkeypatch.setattr(dev.devenv, "build", lambda python: build)
    monkeypatch.setattr(dev, "c_tests", lambda b, tally, env, names: ran.update(c=names))
    monkeypatch.setattr(dev, "py_tests", lambda b, tally, env, args: ran.update(py=args))
    a = argparse.Namespace(files=["odometer.c"], list=True, no_c=False, args=["-x"], python=None)
    assert dev.cmd_test(a) == 0
    said = capsys.readouterr().out
    assert ran == {}
    assert "tests/ir/odometer.ir" in said
    assert "it runs the pass odometer" in said
    a.list = False
    dev.cmd_test(a)
    assert "ir/odometer" in ran["c"]
    assert "test_passes" in ran["c"]
    assert "tests/py/test_hacking.py" in ran["py"]
    assert ran["py"][-1] == "-x"
    assert not any(t.endswith((".ir", ".c")) for t in ran["py"])
    ran.clear()
    a.no_c = True
    dev.cmd_test(a)
    assert list(ran) == ["py"]
    a.files = ["astray.c"]
    with pytest.raises(dev.devenv.Stop, match="no such file"):
        dev.cmd_test(a)
