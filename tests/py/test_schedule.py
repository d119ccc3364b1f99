"""Schedules: whatever one says, if it fits, no result depends on it."""

from __future__ import annotations

import itertools
import os
import subprocess

import pytest
from sizes import PART

MAP = """\
fn @f -> none {
b0(%a: i64[1a], %b: i64[1a], %c: i64[1a]):
  %n: i64 = dim %c, 0
  %p: none = pattern PAR [%n] in(%a, %b) out(%c) SCHEDULE {
  b0(%i: i64, %x: i64, %y: i64):
    %z: i64 = mul %x, %y
    %w: i64 = add %z, 1
    yield %w
  }
  ret undef:none
}
"""
LINE = MAP.replace("[1a]", "[1c]")
DOWN = """\
fn @f -> none {
b0(%a: i64[2LAY], %q: i64[1c], %r: i64[1c]):
  %n: i64 = dim %a, 0
  %m: i64 = dim %a, 1
  %p: none = pattern PAR [%n, keep %m] in(%a) red(add 1, max -9) then out(%q, %r) SCHEDULE {
  b0(%i: i64, %j: i64, %x: i64):
    %y: i64 = mul %x, %i
    yield %y, %x
  } {
  b0(%j: i64, %s: i64, %t: i64):
    yield %s, %t
  }
  ret undef:none
}
"""
# Whole numbers in floats: their sums are exact in any order.
PRODUCT = """\
fn @f -> none {
b0(%a: f64[2c], %b: f64[2c], %d: f64[2c]):
  %n: i64 = dim %a, 0
  %k: i64 = dim %a, 1
  %m: i64 = dim %b, 1
  %x: f64[3a] = restride %a, 0, %n, %k, 1, %k, 1, 0
  %y: f64[3c] = restride %b, 0, 1, %k, %m
  %p: none = pattern PAR [keep %n, %k, keep %m] in(%x, %y) red(add 10.0) then out(%d) SCHEDULE {
  b0(%i: i64, %l: i64, %j: i64, %u: f64, %w: f64):
    %z: f64 = mul %u, %w
    yield %z
  } {
  b0(%i: i64, %j: i64, %s: f64):
    yield %s
  }
  ret undef:none
}
"""
SUM = """\
fn @f -> f64 {
b0(%a: f64[1a]):
  %n: i64 = dim %a, 0
  %p: f64 = pattern PAR [%n] in(%a) red(add 0.5) SCHEDULE {
  b0(%i: i64, %x: f64):
    %y: f64 = mul %x, 2.0
    yield %y
  }
  ret %p
}
"""
SCATTER = """\
fn @f -> none {
b0(%h: f64[2f], %x: f64[1c], %k: i64[1c]):
  %n: i64 = dim %x, 0
  %p: none = pattern PAR [%n] in(%x, %k) scatter(HOW %h) SCHEDULE {
  b0(%i: i64, %v: f64, %at: i64):
    %y: f64 = mul %v, 2.0
    yield %at, 1, %y
  }
  ret undef:none
}
"""
# What rounds have in common when they are written one after the other, and what they have not.
QUARTERS = """\
fn @f -> i64 {
b0(%n: i64, %m: i64, %d: i64[2c]):
  %p: i64 = pattern PAR [%n, %m] out(%d) red(max -9) SCHEDULE {
  b0(%i: i64, %j: i64):
    %u: u64 = conv %j
    %q: u64 = shr %u, 2:u64
    %h: u64 = shr %u, 1:u64
    %w: u64 = and %u, 3:u64
    %s: u64 = mul %q, 100:u64
    %t: u64 = add %s, %w
    %o: u64 = and %h, 1:u64
    %v: u64 = mul %o, 10:u64
    %x: u64 = add %t, %v
    %y: i64 = conv %x
    %z: i64 = sub %y, %i
    yield %z, %z
  }
  ret %p
}
"""
SUMS = """\
fn @f -> f64 {
b0(%n: i64):
  %p: f64 = pattern PAR [%n] red(add 0.0) SCHEDULE {
  b0(%j: i64):
    %u: u64 = conv %j
    %q: u64 = shr %u, 1:u64
    %x: f64 = conv %q
    yield %x
  }
  ret %p
}
"""
BEST = """\
fn @f -> none {
b0(%a: i64[1a], %v: i64[1c], %w: i64[1c]):
  %n: i64 = dim %a, 0
  %k: i64 = dim %v, 0
  %p: none = pattern PAR [%n] in(%a) best(%v, %w) top(largest %k) SCHEDULE {
  b0(%i: i64, %x: i64):
    %y: i64 = mul %x, %x
    yield %x, %i, %y
  }
  ret undef:none
}
"""
BEST_OF_ROWS = """\
fn @f -> none {
b0(%a: f64[2c], %w: i64[2c]):
  %n: i64 = dim %a, 0
  %m: i64 = dim %a, 1
  %k: i64 = dim %w, 1
  %p: none = pattern PAR [keep %n, %m] in(%a) best(%w) top(smallest %k) SCHEDULE {
  b0(%i: i64, %j: i64, %x: f64):
    yield %j, %x
  }
  ret undef:none
}
"""
FEW = QUARTERS.replace("[%n, %m]", "[%n, 3]")


def numbers(n: int, step: int = 1) -> list[int]:
    return [(7 * k * step + 3) % 19 - 9 for k in range(n)]


def table(n: int, m: int, kind: type = int) -> list[list[float]]:
    return [[kind(x) for x in numbers(m, k + 1)] for k in range(n)]


# Not associative, so that another order would show.
JOIN = """\
fn @f -> (i64, i64) {
b0(%a: i64[1LAY], %b: i64[1LAY], %c: i64[1c], %k: i64):
  %n: i64 = dim %c, 0
  %id: (i64, i64) = tuple 5, 1
  %p: (i64, i64) = pattern PAR [%n] in(%a, %b) out(%c) red(join %id) cap(%k) SCHEDULE {
  b0(%i: i64, %x: i64, %y: i64, %k: i64):
    %z: i64 = mul %x, %y
    %t: (i64, i64) = tuple %z, %x
    yield %z, %t
  } {
  b0(%p: (i64, i64), %q: (i64, i64), %k: i64):
    %x: i64 = extract %p, 0
    %u: i64 = extract %p, 1
    %y: i64 = extract %q, 0
    %w: i64 = extract %q, 1
    %x3: i64 = mul %x, %k
    %z: i64 = sub %x3, %y
    %r: i64 = rem %z, 10007
    %v: i64 = sub %w, %u
    %t: (i64, i64) = tuple %r, %v
    yield %t
  }
  ret %p
}
"""


def zeros(n: int, m: int) -> list[list[float]]:
    return [[0.0] * m for _ in range(n)]


PROGRAMS = {
    "elements": (MAP, [f"f({numbers(n)}, {numbers(n, 2)}, {[0] * n})" for n in (0, 1, 7, 40)]),
    "a line": (LINE, [f"f({numbers(n)}, {numbers(n, 2)}, {[0] * n})" for n in (1, 40)]),
    "columns": (DOWN.replace("LAY", "c"), [f"f({table(n, m)}, {[0] * m}, {[0] * m})" for n, m in ((1, 3), (21, 9), (6, 1))]),
    "found columns": (DOWN.replace("LAY", "a"), [f"f({table(n, m)}, {[0] * m}, {[0] * m})" for n, m in ((1, 3), (21, 9))]),
    "a product": (
        PRODUCT,
        [f"f({table(n, k, float)}, {table(k, m, float)}, {zeros(n, m)})" for n, k, m in ((5, 3, 9), (2, 19, 8), (9, 1, 20), (3, 4, 2))],
    ),
    "joined": (JOIN.replace("LAY", "a"), [f"f({numbers(n)}, {numbers(n, 2)}, {[0] * n}, 3)" for n in (0, 1, 7, 256, 600)]),
    "a joined line": (JOIN.replace("LAY", "c"), [f"f({numbers(n)}, {numbers(n, 2)}, {[0] * n}, 3)" for n in (1, 259)]),
    "a scatter": (SCATTER.replace("HOW", "add"), [f"f({table(3, 2, float)}, {numbers(n)}, {[k * k % 3 for k in range(n)]})" for n in (0, 1, 40, 300)]),
    "a last one": (SCATTER.replace("HOW", "put"), [f"f({table(3, 2, float)}, {numbers(n)}, {[k * k % 3 for k in range(n)]})" for n in (0, 1, 300)]),
    "quarters": (QUARTERS, [f"f({n}, {m}, {[[0] * m] * n})" for n, m in ((2, 0), (1, 1), (3, 3), (2, 4), (2, 7), (1, 133))]),
    "few": (FEW, [f"f({n}, 3, {[[0] * 3] * n})" for n in (0, 1, 40)]),
    "sums of halves": (SUMS, [f"f({n})" for n in (0, 1, 2, 255, 256, 259, 1000)]),
    "the best": (BEST, [f"f({numbers(n)}, {[0] * k}, {[0] * k})" for n, k in ((1, 1), (40, 1), (40, 7), (700, 40), (2_000, 2_000))]),
    "the best of rows": (BEST_OF_ROWS, [f"f({table(n, m, float)}, {[[0] * k] * n})" for n, m, k in ((1, 1, 1), (3, 20, 4), (40, 33, 33))]),
    "a sum": (SUM, [f"f({[float(x) for x in numbers(n)]})" for n in (0, 1, 300)]),
}  # fmt: skip
# How many there are of what a comparison finds: some, none, all.
ANY = """\
fn @f -> (i1, i1) {
b0(%a: i64[2c], %v: i64):
  %n: i64 = dim %a, 0
  %m: i64 = dim %a, 1
  %p: (i1, i1) = pattern PAR [%n, %m] in(%a) red(or false, and true) cap(%v) SCHEDULE {
  b0(%i: i64, %j: i64, %x: i64, %w: i64):
    %y: i1 = cmp gt %x, %w
    %z: i1 = cmp lt %x, %w
    yield %y, %z
  }
  ret %p
}
"""
ROWS_ANY = """\
fn @f -> none {
b0(%a: i64[2c], %q: i64[1c]):
  %n: i64 = dim %a, 0
  %m: i64 = dim %a, 1
  %p: none = pattern PAR [keep %n, %m] in(%a) red(or false) then out(%q) SCHEDULE {
  b0(%i: i64, %j: i64, %x: i64):
    %y: i1 = cmp gt %x, 5
    yield %y
  } {
  b0(%i: i64, %y: i1):
    %z: i64 = conv %y
    yield %z
  }
  ret undef:none
}
"""
PROGRAMS |= {
    "any and all": (ANY, [f"f({table(n, m)}, {v})" for n, m in ((0, 3), (1, 0), (3, 4), (7, 40)) for v in (-9, 5, 99)]),
    "any of a row": (ROWS_ANY, [f"f({table(n, m)}, {[0] * n})" for n, m in ((0, 3), (3, 4), (7, 40))]),
}  # fmt: skip
TILES = ["", *(f"tile {x}, rows {rows}" for x in (0, 1, 2) for rows in (1, 4)), "tile 1, rows 4, tested"]
STRIPS = ["", "strip 1", "strip 8", "fission 7", "scalar", "unroll 2", "unroll 4", "stop 3", "stop 65536"]


def schedules(keeps: bool) -> list[str]:
    """Return those to try: without kept axes there is nothing to tile."""
    parts = itertools.product(
        ["", "line", "line, nontemporal"], ["", "chunk 7"], TILES if keeps else [""], STRIPS
    )
    return [", ".join(filter(None, p)) for p in parts]


def treadlec(text: str, *options: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [os.environ["TREADLEC"], *options, "-"], input=text, capture_output=True, text=True, timeout=60
    )


def run(text: str, how: str, calls: list[str]) -> subprocess.CompletedProcess:
    return treadlec(text, *(x for call in calls for x in (how, call)))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("cores", [False, True], ids=["one core", "all cores"])
def test_no_result_depends_on_a_schedule(name, cores):
    text, calls = PROGRAMS[name]
    text = text.replace("PAR", "par" if cores else "")
    want = run(text.replace("SCHEDULE", ""), "--interp", calls)
    assert want.returncode == 0, want.stderr
    fit = 0
    step = 1 if "top(" in text else 2  # few fit
    for k, schedule in enumerate(schedules("keep" in text)[cores * (step - 1) :: step]):
        cost = [", cost 1", ", cost 1048576"][k % 2] if cores else ""
        words = (schedule + cost).removeprefix(", ")
        whole = text.replace("SCHEDULE", f"schedule({words})" if words else "")
        check = treadlec(whole, "--verify")
        if check.returncode:
            assert "does not fit" in check.stderr
            continue
        if fit % PART == 0:
            got = run(whole, "--exec", calls)
            assert (got.returncode, got.stdout) == (0, want.stdout), (words, got.stderr)
        fit += 1
    assert fit >= 2


@pytest.mark.parametrize("name", ["quarters", "few", "sums of halves", "a sum"])
@pytest.mark.parametrize("words", ["unroll 2", "unroll 4", "unroll 4, cost 1"])
def test_rounds_that_are_written_one_after_the_other(name, words):
    text, calls = PROGRAMS[name]
    text = text.replace("PAR", "par" if "cost" in words else "")
    want = run(text.replace("SCHEDULE", ""), "--interp", calls)
    got = run(text.replace("SCHEDULE", f"schedule({words})"), "--exec", calls)
    assert (got.returncode, got.stdout) == (0, want.stdout), got.stderr


@pytest.mark.parametrize("name", ["any and all", "any of a row"])
@pytest.mark.parametrize("words", ["stop 1", "stop 3", "stop 65536", "stop 5, cost 1"])
def test_what_stops_early(name, words):
    text, calls = PROGRAMS[name]
    text = text.replace("PAR", "par" if "cost" in words else "")
    want = run(text.replace("SCHEDULE", ""), "--interp", calls)
    got = run(text.replace("SCHEDULE", f"schedule({words})"), "--exec", calls)
    assert (got.returncode, got.stdout) == (0, want.stdout), got.stderr


def test_schedules_are_read_as_printed():
    words = "chunk 7, tile 1, tested, rows 4, scalar"
    text = DOWN.replace("LAY", "a").replace("PAR", "").replace("SCHEDULE", f"schedule({words})")
    shown = treadlec(text, "--print")
    assert f"schedule({words})" in shown.stdout
    assert treadlec(shown.stdout, "--print").stdout == shown.stdout


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("chunks 7", "expected a part of a schedule"),
        ("chunk", "expected a number of at least 1"),
        ("chunk 0", "expected a number of at least 1"),
        ("tile 40, rows 1", "expected a number of at least 0"),
        ("line chunk 1", "expected ','"),
    ],
)
def test_what_is_no_schedule(words, fault):
    r = treadlec(MAP.replace("PAR", "").replace("SCHEDULE", f"schedule({words})"), "--verify")
    assert r.returncode and fault in r.stderr
