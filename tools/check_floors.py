"""Which file of a large folder may call which: floors inside `src/lib/`, `src/lower/` and `src/opt/`, in one table.

    python3 tools/check_floors.py [--src DIR]

A file calls files of its own floor and of those below. What must be asked from below - what an operator means for one more kind of value, say -
has a door: a function that any file may call, with the reason. Exit status 1 and one line per fault, for a call upwards, a file without a floor,
and a door that nobody needs.
"""

from __future__ import annotations

import argparse
import re
import sys
from fnmatch import filter, fnmatch
from pathlib import Path

# From the ground up; names may be patterns.
FLOORS: dict[str, tuple[tuple[str, ...], ...]] = {
    "lib": (
        (
            "em",
            "kinds",
        ),  # an instruction, a constant, an error each; which kind of value is asked by what function
        ("datetext", "literals", "missing", "npcmath", "npcomplex", "patterns", "suggest", "text"),
        ("attrs", "iter"),
        ("fam",),  # what families share
        ("operators",),
        ("arrays",),
        ("index", "nparray", "kind_*"),  # kind_*: what one kind of value does
        ("fancy", "npshape"),
        # the families: a builtin is a template of one of them
        (
            "npmethods",
            "npreduce",
            "npsearch",
            "npselect",
            "npviews",
            "npgufunc",
            "pymath",
            "pycmath",
            "pyprint",
            "pyvalues",
            "pywith",
        ),
        (
            "cuda*",
            "npbins",
            "npdates",
            "npeinsum",
            "npforeign",
            "npjoin",
            "nporder",
            "nprandom",
            "npsort",
            "npufunc",
            "pybest",
            "pybuiltins",
            "pyreduce",
            "threads",
        ),
        ("npmatmul", "npscalar"),
    ),
    "lower": (
        ("debug", "few", "meta", "module"),  # a module, and what goes with it
        (
            "check",
            "handler",
            "late",
            "loops",
            "math",
            "power",
            "random",
            "room",
        ),  # ways out, calls of the runtime, room on the stack
        ("array", "conv", "device", "devprint", "reduce", "scalar"),  # operations
        (
            "chunk",
            "fission",
            "nontemporal",
            "pack",
            "par",
            "pattern",
            "red",
            "scan",
            "spread",
            "strip",
            "tile",
        ),  # the pattern node
        ("fn",),  # functions, and which file lowers which op
    ),
    "opt": (
        ("util", "loops", "repair", "outline", "own"),  # small questions and changes; the questions of `own` itself
        # one value, one loop
        ("scalar/prove", "scalar/eval", "scalar/flatten", "scalar/dce", "scalar/cse", "scalar/hoist"),
        (
            "scalar/version",
            "scalar/fold",
            "scalar/inline",
            "scalar/narrow",
            "scalar/rotate",
            "scalar/simplify",
        ),
        ("scalar/counters", "scalar/odometer"),
        ("scalar/carry",),
        ("scalar/behind",),
        ("scalar/bounds",),
        # the pattern node
        ("pattern/fuse_build", "pattern/fuse_drop", "pattern/work", "pattern/nontemporal"),
        ("pattern/fuse", "pattern/large"),
        (
            "pattern/agree",
            "pattern/batch",
            "pattern/byrow",
            "pattern/demand",
            "pattern/schedule",
            "pattern/serial",
            "pattern/twins",
        ),
        # loops over a prange
        ("prange/coords", "prange/inspect", "prange/reduction", "prange/spans"),
        ("prange/depend", "prange/joins"),
        ("prange/accumulate", "prange/extreme"),
        ("prange/inplace", "prange/ploop"),
        ("prange/prange",),
        # launches: from what a block is made of to the pass
        ("grid/build", "grid/parts", "grid/uniform"),
        ("grid/wide", "grid/cross", "grid/meet"),
        ("grid/rounds", "grid/level"),
        ("grid/stages", "grid/even_loop"),
        ("grid/ranges",),
        ("grid/even", "grid/ahead", "grid/stride"),
        ("grid/grid", "grid/trim", "grid/watch"),
        # whole functions, and the order of it all
        ("late", "split", "noheap", "rows", "own_check"),
        ("order",),
        ("run",),
    ),
}
# Functions that files below the one that has them may call.
DOORS: dict[str, dict[str, str]] = {
    "lib": {
        "tr_lib_array_binary": "an operator of arrays",
        "tr_lib_array_compare": "an operator of arrays",
        "tr_lib_each_genexpr": "a loop over what a generator expression gives",
        "tr_lib_matmul": "an operator of arrays",
        "tr_em_hint_missing": "what cannot be indexed is one of the things that there is advice about",
        "tr_lib_advise_container": "what cannot be iterated cannot be indexed either",
        "tr_lib_fancy_get": "an index that is an array",
        "tr_lib_fancy_set": "an index that is an array",
        "tr_em_assign": "what a function has changed in a copy of an array whose items are not aligned",
        "tr_em_copy": "arguments whose items are not aligned, for functions that read them alone",
        "tr_lib_date_call": "a call that dates take part in",
        "tr_lib_field": "what attributes of records are",
        "tr_fam_as_array": "tuples and ranges where an array belongs",
        "tr_fam_stack": "nested tuples where an array belongs",
    },
    "lower": {
        "tr_lower_parts": "values of the function that is being filled",
        "tr_lower_set": "values of the function that is being filled",
        "tr_lower_set1": "values of the function that is being filled",
        "tr_lower_block": "a block of the function that is being filled",
        "tr_lower_leave": "the way out of it",
        "tr_lower_claim": "the way out of it, on a device",
        "tr_lower_exit": "the way out of it",
        "tr_lower_error": "an error in it",
        "tr_lower_lambda": "a function in the place of its pattern",
        "tr_lower_inst": "a module's functions, when it is made",
        "tr_lower_end_math": "a module's end",
        "tr_lower_declare_flat": "a module's functions, where entries are flat",
        "tr_lower_plain_entry": "a module's end, where C may call",
        "tr_lower_end_handlers": "what the module needs once all sites are known",
    },
}

COMMENT = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
DEFINED = re.compile(r"^(?!static\b|typedef\b|#)[A-Za-z_][\w *]*?\b(tr_\w+)\([^;{}]*\)\s*\{", re.M)
WORD = re.compile(r"\btr_\w+\b")


def faults_of(folder: str, sources: dict[str, str]) -> list[str]:
    """Return the faults of one folder.

    Parameters
    ----------
    folder
        Its name, with a row in `FLOORS`.
    sources
        The text of each of its C files, by path in the folder without the suffix.
    """
    floors = {name: k for k, names in enumerate(FLOORS[folder]) for name in names}
    floor = {n: k for n in sources for name, k in floors.items() if fnmatch(n, name)}
    doors = DOORS.get(folder, {})
    faults = [f"src/{folder}/{n}.c: has no floor in tools/check_floors.py" for n in sources if n not in floor]
    faults += [
        f"tools/check_floors.py: src/{folder}/{n}.c is not there" for n in floors if not filter(sources, n)
    ]
    code = {
        n: COMMENT.sub(lambda m: "\n" * m.group().count("\n"), t) for n, t in sources.items() if n in floor
    }
    home = {f: n for n, t in code.items() for f in DEFINED.findall(t)}
    used = set()
    for name, text in code.items():
        for m in WORD.finditer(text):
            at = home.get(m.group())
            if at is None or floor[at] <= floor[name]:
                continue
            used.add(m.group())
            if m.group() not in doors:
                line = text.count("\n", 0, m.start()) + 1
                faults.append(
                    f"src/{folder}/{name}.c:{line}: calls {m.group()}, which {at}.c has, floors above"
                )
    faults += [f"tools/check_floors.py: nobody below needs the door {d}" for d in doors if d not in used]
    return faults


def sources_of(folder: Path) -> dict[str, str]:
    """Return the text of each C file below a folder, by its path there without the suffix."""
    files = sorted(folder.rglob("*.c"))
    return {str(p.relative_to(folder).with_suffix("")): p.read_text(encoding="utf-8") for p in files}


def check(src: Path) -> list[str]:
    """Return the faults of all folders that have floors."""
    return [fault for folder in FLOORS for fault in faults_of(folder, sources_of(src / folder))]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--src", type=Path, default=Path(__file__).resolve().parent.parent / "src")
    found = check(parser.parse_args().src)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
