"""Which tests run in quick code (`TREADLE_OPT_LEVEL=0`): LLVM's passes take more than half of the time of all tests, and few tests ask what they make.

`TREADLE_FULL` says how much is in full code: 1 (or unset) all of it but NEVER; `TREADLE_FULL=14` the files of LLVM and of LOOPS, and of the others each fourteenth test;
`TREADLE_FULL=14:llvm` the files of LLVM alone and each fourteenth of all others, where tests are slow for another reason. Which of the fourteen that is, `TREADLE_TURN`
says: `make test` counts it from the commit, so a commit sees the same ones again, and fourteen commits see all tests in full code.
"""

from __future__ import annotations

import os
import zlib

# What is asked there is what LLVM makes of a program: vectors, bytes of code, what a level is.
LLVM = frozenset(
    {
        "attack_surroundings",
        "choices",
        "complex_functions",
        "cuda_language",
        "cuda_link",
        "cuda_ptx",
        "cuda_rows",
        "few_rounds",
        "contracts",
        "late",
        "late_try",
        "nontemporal",
        "processors",
        "report",
        "split",
        "vmath",
    }
)
# What is asked there is what a program means, in loops that our passes and LLVM's change most.
LOOPS = frozenset(
    {
        "batch",
        "behind",
        "bounds",
        "bounds_guarded",
        "byrow",
        "carried",
        "contraction",
        "demand",
        "filter",
        "fold",
        "fuse",
        "fuse_bits",
        "fuse_views",
        "fuzz_slice",
        "matmul",
        "narrow",
        "prange",
        "prange_distance",
        "prange_slices",
        "programs_algorithms",
        "programs_arrays",
        "programs_expressions",
        "programs_features",
        "programs_integers",
        "programs_numeric",
        "programs_science",
        "scan",
        "scans",
        "schedule",
        "stack",
        "stencil",
        "wrapping_indices",
    }
)

# Programs that are as large as a limit is: what LLVM's passes would make of them in minutes nobody asks.
NEVER = frozenset({"limits"})

_asked, _, _only = os.environ.get("TREADLE_FULL", "1").partition(":")
EACH = int(_asked)
TURN = int(os.environ.get("TREADLE_TURN", "0"))
FULL = LLVM if _only == "llvm" else LLVM | LOOPS


def is_full(nodeid: str) -> bool:
    """Whether the test of this name runs in full code."""
    stem = nodeid.partition("::")[0].rpartition("/")[2].removeprefix("test_").removesuffix(".py")
    if stem in NEVER:
        return False
    return stem in FULL or (zlib.crc32(nodeid.encode()) + TURN) % EACH == 0


def said() -> str:
    """Return what a run's head says of it."""
    if EACH == 1:
        return f"levels: all tests in full code, but those of {len(NEVER)} file, which are in quick code"
    return f"levels: {len(FULL)} files and each test of {EACH}, turn {TURN}, in full code, the others in quick code"
