"""Which file of a large folder may call which: floors inside the folders of `src/` that have rows in one table.

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

# From the ground up; names may be patterns. A header that is all functions stands among them with its suffix.
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
        ("index", "nparray", "nplist", "kind_*", "shown", "template"),  # kind_*: what one kind of value does
        ("fancy", "npshape", "unpack"),
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
            "typed",
            "shared",
        ),
        (
            "cuda*",
            "npbins",
            "extern",
            "npdates",
            "npeinsum",
            "npforeign",
            "npjoin",
            "nporder",
            "primitives",
            "nprandom",
            "npsort",
            "npufunc",
            "primitives",
            "pybest",
            "pybuiltins",
            "pyreduce",
            "pybytes",
            "pyhash",
            "pystr",
            "threads",
        ),
        ("npmatmul", "npscalar"),
        ("npchars",),
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
        ("array", "conv", "device", "devprint", "extern", "list", "reduce", "scalar", "string"),  # operations
        (
            "chunk",
            "few_sums",
            "fission",
            "flat",
            "join",
            "look",
            "nontemporal",
            "pack",
            "par",
            "pattern",
            "red",
            "scan",
            "spread",
            "table",
            "strip",
            "tile",
            "topk",
            "unroll",
        ),  # the pattern node
        ("fn",),  # functions, and which file lowers which op
    ),
    "opt": (
        (
            "util",
            "repair",
            "outline",
            "own",
        ),  # small questions and changes; the questions of `own` itself
        ("versions",),
        # one value, one loop
        ("scalar/prove", "scalar/eval", "scalar/flatten", "scalar/dce", "scalar/cse", "scalar/hoist"),
        (
            "scalar/version",
            "scalar/expand",
            "scalar/fold",
            "scalar/inline",
            "scalar/narrow",
            "scalar/raises",
            "scalar/rotate",
            "scalar/simplify",
        ),
        ("scalar/counters", "scalar/odometer"),
        ("scalar/carry",),
        ("scalar/behind",),
        ("scalar/bounds",),
        # the pattern node
        (
            "pattern/fuse_build",
            "pattern/fuse_drop",
            "pattern/fuse_order",
            "pattern/point",
            "pattern/work",
            "pattern/nontemporal",
        ),
        ("pattern/fuse", "pattern/large"),
        (
            "pattern/agree",
            "pattern/batch",
            "pattern/byrow",
            "pattern/byrow_block",
            "pattern/byrow_product",
            "pattern/byrow_scatter",
            "pattern/byrow_row",
            "pattern/demand",
            "pattern/fit",
            "pattern/product",
            "pattern/recompute",
            "pattern/schedule",
            "pattern/vectors",
            "pattern/serial",
            "pattern/twins",
        ),
        ("pattern/room",),
        # loops over a prange
        ("prange/coords", "prange/inspect", "prange/reduction", "prange/spans", "prange/unbound"),
        ("prange/lists", "prange/switched"),
        ("prange/slots",),
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
        ("account", "borrow", "late", "split", "noheap", "offload", "rows", "own_check"),
        ("order",),
        ("run",),
    ),
    "ext": (
        ("about", "left", "printed", "sorts", "state", "watch"),  # the ground: state.h, py.h, compat.h
        ("frame", "pyerr", "threads"),  # the end of a frame; errors become exceptions
        # which type a value has, and values in and out: containers have items of all kinds
        (
            "box",
            "chars",
            "date",
            "face",
            "generator",
            "items",
            "lists",
            "ntclass",
            "number",
            "partial",
            "record",
            "typed_items",
            "unbox",
            "value",
        ),
        ("lazynode",),  # nodes and plans as data
        ("freeze", "freeze_*"),  # the snapshot
        ("sig", "types"),
        ("constant", "typed", "typed_table"),  # treadle.typed, and what is made of it
        ("device", "dlpack", "exchange", "stream"),  # the device's memory, and that of others
        ("blas", "libs", "librand", "libsort", "libsparse"),  # what libraries do there
        ("bind", "hands", "job"),
        ("take.h",),  # arguments into slots, for calls and launches
        ("call", "function", "ptx", "spec"),  # class Function
        ("far", "launch"),
        ("ufunc_loop", "ufunc_python"),
        ("ufunc", "ufunc_call", "ufunc_types"),
        ("lazyplan",),  # lazy arrays: the plan of a graph,
        ("lazyrun",),  # its value,
        ("lazy", "lazymodule"),  # and the type
        ("selftest",),
        ("module",),
    ),
    "driver": (
        ("backend", "kernel", "lines", "report", "stack"),
        ("cuda", "key"),
        ("compile",),  # the pipeline
        ("late",),  # what was left for later, and compiled anew
    ),
    "dev": (
        ("cuda_load", "dev", "emu_mem", "host", "libs"),
        ("emu_queue", "cuda_mem"),
        ("emu", "cuda_code"),
        ("cuda_queue",),
        ("cuda",),  # the device
    ),
    "libs": (
        ("blas_table", "fft_line", "rand", "sort", "sparse"),
        ("blas_cuda", "blas_emu", "fft_cuda", "fft_emu"),  # a device's part
        ("blas", "fft"),
    ),
    "infer": (
        ("cells", "match", "optional", "sizes", "stars", "unroll"),
        ("contract", "step"),  # one instruction
        ("outputs",),
        ("infer",),  # the table of instances, and the fixed point
        ("axes", "calls", "ufuncs"),  # a call
        ("launch", "results"),
        ("emit",),
    ),
    "ir": (
        ("build", "cfg", "interp_meet", "nyi", "tables"),
        ("alias", "interp_ops", "loops", "ports", "reds"),
        ("edit", "print", "prog", "rtinfo", "simplify"),
        ("scans",),
        ("scatters", "sched"),  # what a pattern may be
        ("summary",),
        ("nest",),  # and how its loops go
        ("interp", "interp_pattern", "parse", "parse_ops", "verify", "verify_ops"),
    ),
    "rt": (
        (
            "arg*",
            "bins",
            "blas",
            "blocks",
            "clock",
            "copy",
            "cplx",
            "cpus",
            "late",
            "link",
            "look",
            "loop",
            "num",
            "pack",
            "placed",
            "places",
            "scan",
            "select",
            "shape",
            "matsmall",
            "small",
            "stack",
            "tile",
            "topk",
            "unicode",
            "unicode_newest",
            "words",
        ),
        ("fspec", "math", "matmul", "mem", "sort"),
        ("dict", "far", "list", "shadow", "str", "str_type.h"),
        ("bytes", "chars", "codecs", "print", "pyhash", "str_case", "str_number"),
        ("told",),  # by all of these
        ("date", "enter", "order"),  # enter: the way into compiled code
        ("mt", "tick", "watch"),
        ("pool", "pyrandom"),
        ("parallel", "radix", "random", "sum"),  # what runs on all cores
        ("gen",),
    ),
    "ty": (
        ("ty",),  # the table
        ("bigint", "date", "parts", "record", "slot"),
        ("cell", "obj", "promote"),
        ("accept", "parse", "pick", "print", "sig"),
    ),
}
# Functions that files below the one that has them may call.
DOORS: dict[str, dict[str, str]] = {
    "driver": {
        "tr_driver_late_texts": "texts of what a module left for later, asked for with its own",
    },
    "lib": {
        "tr_em_string": "what is asked of a string that is known, or in pieces, is asked of one that is made",
        "tr_lib_binary_string": "what is asked of a string that is known, or in pieces, is asked of one that is made",
        "tr_lib_compare_string": "what is asked of a string that is known, or in pieces, is asked of one that is made",
        "tr_lib_contains_string": "what is asked of a string that is known, or in pieces, is asked of one that is made",
        "tr_lib_get_string": "what is asked of a string that is known, or in pieces, is asked of one that is made",
        "tr_lib_show_string": "what is asked of a string that is known, or in pieces, is asked of one that is made",
        "tr_em_make_string": "a specification that running makes makes a string",
        "tr_em_bytes": "a constant that is bytes",
        "tr_chars_check_ascii": "what an array of strings cannot hold is an error of a codec",
        "tr_lib_str_decoded": "str() of bytes and an encoding is decode()",
        "tr_lib_put_piece": "a string is made of what print() writes",
        "tr_lib_array_binary": "an operator of arrays",
        "tr_lib_array_compare": "an operator of arrays",
        "tr_lib_each_genexpr": "a loop over what a generator expression gives",
        "tr_em_has_loops": "a generator expression is asked for what all its loops give",
        "tr_lib_type_of_values": "what all loops of a generator expression give",
        "tr_lib_matmul": "an operator of arrays",
        "tr_em_hint_missing": "what cannot be indexed is one of the things that there is advice about",
        "tr_lib_advise_container": "what cannot be iterated cannot be indexed either",
        "tr_lib_fancy_get": "an index that is an array",
        "tr_lib_fancy_set": "an index that is an array",
        "tr_em_assign": "what a function has changed in a copy of an array whose items are not aligned",
        "tr_em_copy": "arguments whose items are not aligned, for functions that read them alone",
        "tr_lib_date_call": "a call that dates take part in",
        "tr_lib_chars_call": "a call that strings in arrays take part in",
        "tr_lib_field": "what attributes of records are",
        "tr_fam_as_array": "tuples and ranges where an array belongs",
        "tr_fam_stack": "nested tuples where an array belongs",
    },
    "lower": {
        "tr_lower_owners": "a string that is raised stays the frame's",
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
    "ext": {
        "tr_box_string": "arguments of an exception",
        "tr_box_bytes": "the same",
        "tr_ext_definition": "by which a class that is inherited from finds the module",
    },
    "dev": {
        "cuda_do": "a job is a launch, a copy or a call",
        "cuda_enter_on": "which GPU the thread uses",
        "cuda_gives_back": "which GPU the thread uses",
        "cuda_here": "which GPU the thread uses",
        "cuda_name_of": "what the driver said",
        "cuda_reached": "code goes when what it was launched for has ended",
        "cuda_refused": "what the driver said",
        "cuda_refused_with": "what the driver said",
        "emu_do": "a job is a launch, a copy or a call",
    },
    "infer": {
        "tr_infer_call": "the fixed point goes through the instructions of a function",
        "tr_infer_emit": "the end of the fixed point",
        "tr_infer_kinds": "which functions are a device's",
        "tr_infer_launch": "the fixed point goes through the instructions of a function",
        "tr_infer_tell_unknown_results": "the fixed point has an instance without a result",
    },
    "ir": {},
    "rt": {
        "tr_rt_ask": "whoever runs for long asks whether to go on",
        "tr_rt_region_forked": "the pool's threads are a region's",
        "tr_rt_region_serve": "the pool's threads are a region's",
    },
    "ty": {
        "tr_obj_copy": "literal types mention objects",
        "tr_obj_equal": "literal types mention objects",
        "tr_obj_hash": "literal types mention objects",
        "tr_ty_strong": "what a literal type is without its value",
    },
}

COMMENT = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
DEFINED = re.compile(
    r"^(?!static\b|typedef\b|#)[A-Za-z_][\w *]*?\b((?:tr|cuda|emu)_\w+)\([^;{}]*\)\s*\{", re.M
)
WORD = re.compile(r"\b(?:tr|cuda|emu)_\w+\b")


def file_of(name: str) -> str:
    """Return the name of a file as the table has it, with its suffix."""
    return name if name.endswith(".h") else f"{name}.c"


def faults_of(folder: str, sources: dict[str, str]) -> list[str]:
    """Return the faults of one folder.

    Parameters
    ----------
    folder
        Its name, with a row in `FLOORS`.
    sources
        The text of each of its C files, by path in the folder without the suffix, and of headers that have floors, by their whole name.
    """
    floors = {name: k for k, names in enumerate(FLOORS[folder]) for name in names}
    floor = {n: k for n in sources for name, k in floors.items() if fnmatch(n, name)}
    doors = DOORS.get(folder, {})
    faults = [
        f"src/{folder}/{file_of(n)}: has no floor in tools/check_floors.py" for n in sources if n not in floor
    ]
    faults += [
        f"tools/check_floors.py: src/{folder}/{file_of(n)} is not there"
        for n in floors
        if not filter(sources, n)
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
                    f"src/{folder}/{file_of(name)}:{line}: calls {m.group()}, which {at}.c has, floors above"
                )
        for header in (n for n in floor if n.endswith(".h") and floor[n] > floor[name]):
            if f'#include "{folder}/{header}"' in sources[name]:
                faults.append(f"src/{folder}/{file_of(name)}: includes {header}, which stands floors above")
    faults += [f"tools/check_floors.py: nobody below needs the door {d}" for d in doors if d not in used]
    return faults


def sources_of(folder: Path) -> dict[str, str]:
    """Return the text of each C file below a folder, by its path there without the suffix."""
    files = sorted(folder.rglob("*.c"))
    return {str(p.relative_to(folder).with_suffix("")): p.read_text(encoding="utf-8") for p in files}


def check(src: Path) -> list[str]:
    """Return the faults of all folders that have floors."""
    faults = []
    for folder, floors in FLOORS.items():
        headers = [n for names in floors for n in names if n.endswith(".h") and (src / folder / n).exists()]
        texts = {n: (src / folder / n).read_text(encoding="utf-8") for n in headers}
        faults += faults_of(folder, {**sources_of(src / folder), **texts})
    return faults


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--src", type=Path, default=Path(__file__).resolve().parent.parent / "src")
    found = check(parser.parse_args().src)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)
