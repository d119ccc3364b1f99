"""Makes a failing program small: drops statements, calls, parameters and parts of expressions while it still fails.

Works on the syntax tree; every candidate is checked again by the oracle and the engine (in a child process), so what is
left is a well-defined program that still differs. Greedy, bounded by a number of checks.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

Calls = list[list[str]]
Test = Callable[[str, Calls], bool]
Edit = Callable[[ast.Module], bool]


def shrink(source: str, calls: Calls, fails: Test, checks: int = 600) -> tuple[str, Calls]:
    """A smaller program for which `fails` still holds.

    Parameters
    ----------
    source : str
        The program.
    calls : list of list of str
        Argument texts of each call.
    fails : callable
        Whether a program still shows the fault.
    checks : int
        Most calls of `fails`.

    Returns
    -------
    source : str
    calls : list of list of str
    """
    left = checks
    for k in range(len(calls)):
        if len(calls) > 1 and left > 0:
            left -= 1
            if fails(source, [calls[k]]):
                calls = [calls[k]]
                break
    source = ast.unparse(ast.parse(source)) + "\n"
    progress = True
    while progress and left > 0:
        progress = False
        for make in (chunk_edits, unwrap_edits, expression_edits):
            at = 0
            while left > 0:
                edits = list(make(ast.parse(source)))
                if at >= len(edits):
                    break
                text = apply(source, edits[at])
                if text is None or text == source:
                    at += 1
                    continue
                left -= 1
                if fails(text, calls):
                    source, progress = text, True
                else:
                    at += 1
        source, calls, used, changed = drop_parameters(source, calls, fails, left)
        left -= used
        progress = progress or changed
    return source, calls


def apply(source: str, edit: Edit) -> str | None:
    """The text after an edit, or None if it does not apply."""
    tree = ast.parse(source)
    if not edit(tree):
        return None
    try:
        return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    except (ValueError, AttributeError):
        return None


def blocks(tree: ast.Module) -> list[list[ast.stmt]]:
    """All lists of statements, in a fixed order."""
    out = []
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                out.append(block)
    return out


def chunk_edits(tree: ast.Module) -> Iterator[Edit]:
    """Remove runs of statements, long ones first."""
    for b, block in enumerate(blocks(tree)):
        size = len(block)
        while size >= 1:
            for start in range(0, len(block), size):
                yield remove(b, start, size)
            size //= 2


def remove(b: int, start: int, size: int) -> Edit:
    """Remove statements of block `b`."""

    def edit(tree: ast.Module) -> bool:
        block = blocks(tree)[b]
        if len(block) == 1 and isinstance(block[0], ast.Pass):
            return False
        if any(isinstance(s, ast.FunctionDef) and s.name == "main" for s in block[start : start + size]):
            return False
        del block[start : start + size]
        if not block and block is not tree.body:
            for node in ast.walk(tree):
                if getattr(node, "body", None) is block:
                    block.append(ast.Pass())
        return True

    return edit


def unwrap_edits(tree: ast.Module) -> Iterator[Edit]:
    """Put a compound statement's body, or its ``else``, in its place."""
    for b, block in enumerate(blocks(tree)):
        for k, stmt in enumerate(block):
            if isinstance(stmt, (ast.If, ast.For, ast.While)):
                yield unwrap(b, k, "body")
                if stmt.orelse:
                    yield unwrap(b, k, "orelse")


def unwrap(b: int, k: int, part: str) -> Edit:
    """Replace statement `k` of block `b` by one of its blocks."""

    def edit(tree: ast.Module) -> bool:
        block = blocks(tree)[b]
        block[k : k + 1] = getattr(block[k], part)
        return True

    return edit


def slots(tree: ast.Module) -> list[tuple[ast.AST, str, int | None]]:
    """Every place that holds an expression to be read."""
    out: list[tuple[ast.AST, str, int | None]] = []
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if name in ("decorator_list", "annotation", "returns", "func"):
                continue
            if isinstance(value, ast.expr) and readable(value):
                out.append((node, name, None))
            elif isinstance(value, list):
                out += [
                    (node, name, i) for i, v in enumerate(value) if isinstance(v, ast.expr) and readable(v)
                ]
    return out


def readable(node: ast.expr) -> bool:
    """True for an expression that is not an assignment's target."""
    return not isinstance(getattr(node, "ctx", ast.Load()), (ast.Store, ast.Del))


def expression_edits(tree: ast.Module) -> Iterator[Edit]:
    """Replace an expression by one of its parts, or by a small number; shorten tuples."""
    for s, (node, name, i) in enumerate(slots(tree)):
        value = getattr(node, name) if i is None else getattr(node, name)[i]
        parts = [c for c in ast.walk(value) if isinstance(c, ast.expr) and c is not value and readable(c)]
        for p in range(min(len(parts), 8)):
            yield replace(s, p)
        if isinstance(value, ast.Tuple):
            for k in range(len(value.elts)):
                yield shorten(s, k)
        elif not isinstance(value, (ast.Constant, ast.Name)):
            for number in (0, 1, 2.0):
                yield constant(s, number)


def put(slot: tuple[ast.AST, str, int | None], value: ast.expr) -> None:
    """Store an expression in a place."""
    node, name, i = slot
    if i is None:
        setattr(node, name, value)
    else:
        getattr(node, name)[i] = value


def current(slot: tuple[ast.AST, str, int | None]) -> ast.expr:
    """The expression in a place."""
    node, name, i = slot
    return getattr(node, name) if i is None else getattr(node, name)[i]


def replace(s: int, p: int) -> Edit:
    """Put the part number `p` of the expression in place `s` there instead."""

    def edit(tree: ast.Module) -> bool:
        slot = slots(tree)[s]
        value = current(slot)
        parts = [c for c in ast.walk(value) if isinstance(c, ast.expr) and c is not value and readable(c)]
        if isinstance(parts[p], ast.Slice):
            return False
        put(slot, parts[p])
        return True

    return edit


def shorten(s: int, k: int) -> Edit:
    """Drop an item of a tuple."""

    def edit(tree: ast.Module) -> bool:
        value = current(slots(tree)[s])
        if not isinstance(value, ast.Tuple) or len(value.elts) < 2:
            return False
        del value.elts[k]
        return True

    return edit


def constant(s: int, number: float) -> Edit:
    """Put a number in place `s`."""

    def edit(tree: ast.Module) -> bool:
        slot = slots(tree)[s]
        if isinstance(slot[0], (ast.Raise, ast.Expr)):
            return False
        put(slot, ast.Constant(number))
        return True

    return edit


def drop_parameters(source: str, calls: Calls, fails: Test, left: int) -> tuple[str, Calls, int, bool]:
    """Drop parameters of ``main`` that are not used, with their arguments."""
    used, changed = 0, False
    k = 0
    while used < left:
        tree = ast.parse(source)
        main = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "main")
        if k >= len(main.args.args):
            break
        del main.args.args[k]
        text = ast.unparse(tree) + "\n"
        fewer = [c[:k] + c[k + 1 :] for c in calls]
        used += 1
        if fails(text, fewer):
            source, calls, changed = text, fewer, True
        else:
            k += 1
    return source, calls, used, changed
