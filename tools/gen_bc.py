"""Generates src/front/bc_VVV.def, the table that maps one CPython version's opcodes to the neutral operations.

Run it with the interpreter whose table is wanted::

    python3.12 tools/gen_bc.py            # writes src/front/bc_312.def
    python3.12 tools/gen_bc.py --check    # exit status 1 when the file is not current

The rules are keyed by CPython's opcode names and shared by all versions, so a new version needs rules only for the
names it adds; a name without a rule stops the generator.
"""

from __future__ import annotations

import opcode
import sys
from pathlib import Path

import made

# Neutral operation and transform (front/decode.c: XF_*) for each of CPython's names.
MAP: dict[str, tuple[str, str]] = {}
# Names that are refused, with the row of ir/nyi.def that says so.
REFUSE: dict[str, str] = {}
# Never in co_code: made at run time, or meaningful to the interpreter's own loop alone.
INTERNAL = ("CACHE", "RESERVED", "INTERPRETER_EXIT", "ENTER_EXECUTOR", "EXIT_INIT_CHECK", "TRACE_RECORD")
# Objects that LOAD_COMMON_CONSTANT numbers, by their repr: rows of TR_COMMONS (front/internal.h).
COMMON = {
    "<class 'AssertionError'>": "ASSERTION_ERROR",
    "<class 'NotImplementedError'>": "NOT_IMPLEMENTED_ERROR",
    "None": "NONE",
    "''": "EMPTY_STRING",
    "True": "TRUE",
    "False": "FALSE",
    "-1": "MINUS_ONE",
    # Loaded only to ask whether the `any` of `any(... for ...)` is the builtin, and the like.
    "<built-in function all>": "CONSUMER",
    "<built-in function any>": "CONSUMER",
    "<class 'tuple'>": "CONSUMER",
    "<class 'list'>": "CONSUMER",
    "<class 'set'>": "CONSUMER",
}


def rule(op: str, transform: str, *names: str) -> None:
    """Map CPython's `names` to the neutral `op`."""
    MAP.update(dict.fromkeys(names, (op, transform)))


def refuse(row: str, *names: str) -> None:
    """Refuse CPython's `names` by a row of nyi.def."""
    REFUSE.update(dict.fromkeys(names, row))


rule("NOP", "SKIP", "NOP", "NOT_TAKEN", "RESUME", "PRECALL", "COPY_FREE_VARS", "MAKE_CELL")
rule("NOP", "EXT", "EXTENDED_ARG")
rule("CONST", "ARG", "LOAD_CONST")
rule("INT", "ARG", "LOAD_SMALL_INT")
rule("COMMON", "ZERO", "LOAD_ASSERTION_ERROR")
rule("COMMON", "COMMON", "LOAD_COMMON_CONSTANT")
rule("LOAD", "ARG", "LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_CLOSURE")
rule("LOAD", "LOADLOAD", "LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW")
rule("STORE", "STORESTORE", "STORE_FAST_STORE_FAST")
rule("STORE", "STORELOAD", "STORE_FAST_LOAD_FAST")
rule("LOADCLEAR", "ARG", "LOAD_FAST_AND_CLEAR")
rule("STORE", "ARG", "STORE_FAST")
rule("DEL", "ARG", "DELETE_FAST")
rule("LOADDEREF", "ARG", "LOAD_DEREF")
rule("STOREDEREF", "ARG", "STORE_DEREF")
rule("GLOBAL", "GLOBAL", "LOAD_GLOBAL")
rule("ATTR", "ATTR", "LOAD_ATTR")
rule("ATTR", "METHOD", "LOAD_METHOD")
rule("PUSHNULL", "ZERO", "PUSH_NULL")
rule("POP", "ZERO", "POP_TOP")
rule("COPY", "ARG", "COPY")
rule("SWAP", "ARG", "SWAP")
rule("UNOP", "POS", "UNARY_POSITIVE")
rule("UNOP", "NEG", "UNARY_NEGATIVE")
rule("UNOP", "NOT", "UNARY_NOT")
rule("UNOP", "INVERT", "UNARY_INVERT")
rule("TOBOOL", "ZERO", "TO_BOOL")
rule("BINOP", "BINOP", "BINARY_OP")
rule("CMP", "CMP", "COMPARE_OP")
rule("IS", "ARG", "IS_OP")
rule("IN", "ARG", "CONTAINS_OP")
rule("SUBSCR", "ZERO", "BINARY_SUBSCR")
rule("SUBSCR", "SLICED", "BINARY_SLICE")
rule("STORESUBSCR", "ZERO", "STORE_SUBSCR")
rule("DELSUBSCR", "ZERO", "DELETE_SUBSCR")
rule("STOREATTR", "ARG", "STORE_ATTR")
rule("STORESUBSCR", "SLICED", "STORE_SLICE")
rule("SLICE", "ARG", "BUILD_SLICE")
rule("TUPLE", "ARG", "BUILD_TUPLE")
rule("LIST", "ARG", "BUILD_LIST")
rule("LISTAPPEND", "ONTOP", "LIST_APPEND")
rule("LISTEXTEND", "ONTOP", "LIST_EXTEND")
rule("SET", "ARG", "BUILD_SET")
rule("SETUPDATE", "ONTOP", "SET_UPDATE")
rule("SETUPDATE", "ADDED", "SET_ADD")
rule("MAPUPDATE", "ONTOP", "DICT_UPDATE")
rule("MAPUPDATE", "ADDED", "MAP_ADD")
rule("LISTTUPLE", "ZERO", "LIST_TO_TUPLE")
rule("NOP", "INTRINSIC1", "CALL_INTRINSIC_1")
rule("MAP", "ARG", "BUILD_MAP")
rule("KEYMAP", "ARG", "BUILD_CONST_KEY_MAP")
rule("MAPMERGE", "MAPMERGE", "DICT_MERGE")
rule("STRING", "ARG", "BUILD_STRING")
rule("FORMAT", "FORMAT", "FORMAT_VALUE")
rule("FORMAT", "ZERO", "FORMAT_SIMPLE")
rule("SPEC", "ZERO", "FORMAT_WITH_SPEC")
rule("CONVERT", "CONVERT", "CONVERT_VALUE")
rule("UNPACK", "ARG", "UNPACK_SEQUENCE")
rule("UNPACKEX", "ARG", "UNPACK_EX")
rule("KWNAMES", "ARG", "KW_NAMES")
rule("LENOF", "ZERO", "GET_LEN")
rule("MATCHSEQ", "ZERO", "MATCH_SEQUENCE")
rule("MATCHCLASS", "ARG", "MATCH_CLASS")
rule("MATCHMAP", "ZERO", "MATCH_MAPPING")
rule("MATCHKEYS", "ZERO", "MATCH_KEYS")
rule("CALL", "ARG", "CALL")
rule("CALLKW", "ARG", "CALL_KW")
rule("CALLEX", "CALLEX", "CALL_FUNCTION_EX")
rule("MAKEFN", "ARG", "MAKE_FUNCTION")
rule("SETFNATTR", "ARG", "SET_FUNCTION_ATTRIBUTE")
rule("GETITER", "GETITER", "GET_ITER")
rule("FORITER", "FORITER", "FOR_ITER")
rule("ENDFOR", "ZERO", "END_FOR")
rule("POP", "POPITER", "POP_ITER")
rule("JUMP", "FORWARD", "JUMP_FORWARD")
rule("JUMP", "BACKWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
for _op, _cond in (("BRTRUE", "TRUE"), ("BRFALSE", "FALSE"), ("BRNONE", "NONE"), ("BRNOTNONE", "NOT_NONE")):
    rule(_op, "FORWARD", f"POP_JUMP_IF_{_cond}", f"POP_JUMP_FORWARD_IF_{_cond}")
    rule(_op, "BACKWARD", f"POP_JUMP_BACKWARD_IF_{_cond}")
rule("BRTRUE", "ORPOP", "JUMP_IF_TRUE_OR_POP")
rule("BRFALSE", "ORPOP", "JUMP_IF_FALSE_OR_POP")
rule("YIELD", "ZERO", "YIELD_VALUE")
rule("RETURN", "ZERO", "RETURN_VALUE")
rule("RETURN", "CONSTRET", "RETURN_CONST")
rule("RAISE", "ARG", "RAISE_VARARGS")
rule("RERAISE", "ZERO", "RERAISE")
rule("PUSHEXC", "ZERO", "PUSH_EXC_INFO")
rule("POPEXC", "ZERO", "POP_EXCEPT")
rule("EXCMATCH", "ZERO", "CHECK_EXC_MATCH")
rule("WITHENTER", "ZERO", "BEFORE_WITH")
rule("SPECIAL", "SPECIAL", "LOAD_SPECIAL")
rule("WITHEXIT", "WITHEXIT", "WITH_EXCEPT_START")

refuse("TRY", "CHECK_EG_MATCH", "PREP_RERAISE_STAR", "CLEANUP_THROW")
refuse(
    "ASYNC", "BEFORE_ASYNC_WITH", "GET_AITER", "GET_ANEXT", "GET_AWAITABLE", "END_ASYNC_FOR", "ASYNC_GEN_WRAP"
)
refuse("GENERATOR", "RETURN_GENERATOR", "SEND", "END_SEND", "GET_YIELD_FROM_ITER")
refuse("IMPORT", "IMPORT_NAME", "IMPORT_FROM", "IMPORT_STAR")
refuse(
    "CLASS",
    "LOAD_BUILD_CLASS",
    "LOAD_NAME",
    "STORE_NAME",
    "LOAD_CLASSDEREF",
    "LOAD_LOCALS",
    "SETUP_ANNOTATIONS",
    "LOAD_FROM_DICT_OR_DEREF",
    "LOAD_FROM_DICT_OR_GLOBALS",
    "PRINT_EXPR",
)
refuse("SUPER", "LOAD_SUPER_ATTR")
refuse("DEL_NAME", "DELETE_ATTR", "DELETE_GLOBAL", "DELETE_NAME", "DELETE_DEREF")
refuse("STORE_GLOBAL", "STORE_GLOBAL")
refuse("TEMPLATE", "BUILD_TEMPLATE", "BUILD_INTERPOLATION")
refuse("ANNOTATION_SCOPE", "CALL_INTRINSIC_2")


def common() -> list[str]:
    """Rows of the objects that LOAD_COMMON_CONSTANT numbers; none before 3.14."""
    objects = [repr(o) for o in getattr(opcode, "_common_constants", ())]
    for o in objects:
        if o not in COMMON:
            raise SystemExit(f"gen_bc.py: no rule for the common constant {o}")
    return [f"K({i}, {COMMON[o]})" for i, o in enumerate(objects)]


def table() -> str:
    """Text of the table for the running interpreter."""
    real = {name: code for name, code in opcode.opmap.items() if code < 256}
    rows = []
    for name, code in sorted(real.items(), key=lambda item: item[1]):
        if name in INTERNAL or name.startswith("INSTRUMENTED_"):
            continue
        if name in MAP:
            rows.append(f"X({code}, {name}, {', '.join(MAP[name])})")
        elif name in REFUSE:
            rows.append(f"R({code}, {name}, {REFUSE[name]})")
        else:
            raise SystemExit(
                f"gen_bc.py: no rule for {name} of Python {sys.version_info.major}.{sys.version_info.minor}"
            )
    version = "{}.{}".format(*sys.version_info)
    head = f"/* Opcodes of CPython {version}. Generated by tools/gen_bc.py; do not edit.\n"
    head += " * X(number, NAME, neutral op, transform), R(number, NAME, row of nyi.def) and K(number, row of TR_COMMONS). */\n"
    return head + "\n".join(rows + common()) + "\n"


if __name__ == "__main__":
    OUT = Path(__file__).parents[1] / "src/front/bc_{}{}.def".format(*sys.version_info)
    raise SystemExit(made.write_or_check(OUT, table(), __doc__))
