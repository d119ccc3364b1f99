"""``treadle.report(f)``: the source of a compiled function with what the compiler knows of each line.

The compiler tells it as rows of file, line, kind and text (src/base/remarks.h), which ``inspect("report")`` gives; here they are laid out: as HTML that needs nothing from elsewhere, and as text.
"""

from __future__ import annotations

import inspect
import linecache
import os
import time as _clock
from html import escape
from typing import Any, NamedTuple

from ._core import Function, Type, typeof
from .ufunc import UfuncInfo, ufunc_info

__all__ = ["Report", "ReportRow", "Variant", "report"]

_WHOLE = ("function", "time")  # kinds that are told at the head, and not beside a line
_ENOUGH = 0.2  # seconds of calls that are timed
_CALLS = 1000
_JOINED = "lines "  # how the text of a loop begins that several lines were made into
_SAME = "the one of line "


class ReportRow(NamedTuple):
    """One thing that is known of a line; line 0: of the function as a whole."""

    file: str
    line: int
    kind: str
    text: str


class Variant(NamedTuple):
    """What is known of one specialisation: its title, sentences about all of it, and its rows."""

    title: str
    head: list[str]
    rows: list[ReportRow]


class _Section(NamedTuple):
    """Lines of one function's source; without lines: those of its rows."""

    title: str
    file: str
    first: int
    lines: list[str]


def _read(text: str) -> tuple[dict[str, str], list[ReportRow]]:
    head, _, body = text.partition("\n\n")
    kinds = dict(line.split("\t", 1) for line in head.splitlines())
    rows = []
    for line in body.splitlines():
        file, number, kind, said = line.split("\t", 3)
        rows.append(ReportRow(file, int(number), kind, said))
    return kinds, rows


# --- sections ---


def _block(file: str, first: int) -> list[str]:
    """The lines of the function that begins there; none where there is no such source."""
    lines = linecache.getlines(file)[max(first - 1, 0) :]
    try:
        block = inspect.getblock(lines) if lines else []
    except (IndentationError, SyntaxError):
        block = []
    return [line.rstrip() for line in block]


def _sections(variant: Variant, root: tuple[str, int]) -> list[_Section]:
    """The root first, then what is inlined or called; a function within another one's lines is told there."""
    found: list[_Section] = []
    functions = sorted(
        (r for r in variant.rows if r.kind == "function"),
        key=lambda r: ((r.file, r.line) != root, r.file, r.line),
    )
    for r in functions:
        if any(s.file == r.file and s.first <= r.line < s.first + max(len(s.lines), 1) for s in found):
            continue
        found.append(_Section(r.text, r.file, r.line, _block(r.file, r.line)))
    shown = [(s.file, s.first, s.first + len(s.lines)) for s in found if s.lines]
    rest = {
        r.file
        for r in variant.rows
        if r.line and not any(f == r.file and a <= r.line < b for f, a, b in shown)
    }
    kept = [s for s in found if s.lines]
    for file in sorted(rest):
        names = [s.title for s in found if s.file == file and not s.lines]
        kept.append(_Section(", ".join(names) or "other lines", file, 0, []))
    return kept


def _def_line(section: _Section) -> int:
    """Where the parameters stand: the compiler counts a function from its first decorator on."""
    for k, line in enumerate(section.lines):
        if line.lstrip().startswith(("def ", "async def ")):
            return section.first + k
    return section.first


def _notes(section: _Section, variant: Variant) -> dict[int, list[tuple[str, str]]]:
    """Pairs of kind and text, by line: types and vectors of a line together, the rest each for itself. A loop of several lines is told at the first of them."""
    notes: dict[int, list[tuple[str, str]]] = {}
    loops: dict[str, int] = {}
    end = section.first + len(section.lines)
    for r in variant.rows:
        if r.file != section.file or not r.line or r.kind == "time":
            continue
        if section.lines and not section.first <= r.line < end:
            continue
        line = _def_line(section) if section.lines and r.line == section.first else r.line
        if r.kind == "function" and r.line == section.first and r.text == section.title:
            continue
        here = notes.setdefault(line, [])
        if r.kind in ("type", "vector") and here and here[-1][0] == r.kind:
            here[-1] = r.kind, f"{here[-1][1]}, {r.text}"
        elif r.kind == "loop" and loops.setdefault(r.text, line) != line:
            here.append((r.kind, f"{_SAME}{loops[r.text]}"))
        else:
            here.append((r.kind, r.text))
    return notes


def _laid_out(section: _Section, variant: Variant) -> list[tuple[int, str | None, list[tuple[str, str]]]]:
    """(line, source or None, notes) from first to last."""
    notes = _notes(section, variant)
    if not section.lines:
        return [(n, None, notes[n]) for n in sorted(notes)]
    return [(n, line, notes.get(n, [])) for n, line in enumerate(section.lines, section.first)]


def _place(section: _Section, variant: Variant) -> tuple[str, str]:
    """Title, unless the variant has said it already, and where the lines stand."""
    name = "" if section.title == variant.title else section.title
    return name, f"{section.file}:{section.first}" if section.first else f"{section.file}, without its source"


# --- HTML ---

_STYLE = (
    """
.treadle-report { color-scheme: light dark; --bg: #fff; --fg: #1b1f24; --dim: #67707b; --line: #e3e6ea; --code: #f7f8fa; --type: #57606a;
  --loop: #0a6ebd; --vector: #18794e; --cores: #7a3ea8; --check: #b35900; --memory: #ad2f45; --call: #3d6b80; --late: #7d6200; --apart: #8a5a2b; --threads: #7a3ea8;
  --g0: #4c9be8; --g1: #e0923a; --g2: #56b870; --g3: #b57edc; --g4: #d9638a; --g5: #8d99a6;
  background: var(--bg); color: var(--fg); font: 14px/1.45 system-ui, sans-serif; padding: 1em; border-radius: 6px; }
@media (prefers-color-scheme: dark) { .treadle-report { --bg: #16191d; --fg: #e4e7eb; --dim: #98a2ad; --line: #2c3238; --code: #1d2126; --type: #aab4bf;
  --loop: #6cb6ff; --vector: #5fd39a; --cores: #cf9cf5; --check: #f0a35e; --memory: #ff8d9f; --call: #8cc3da; --late: #dcc05a; --apart: #d8a878; --threads: #cf9cf5; } }
.treadle-report h3 { font-size: 1.1em; margin: 1.2em 0 .2em; overflow-wrap: anywhere; }
.treadle-report h3:first-child { margin-top: 0; }
.treadle-report h4 { font-size: 1em; margin: 1em 0 .3em; overflow-wrap: anywhere; }
.treadle-report h4 small, .treadle-report p, .treadle-report details { color: var(--dim); font-weight: normal; font-size: .9em; margin: .2em 0; }
.treadle-report .scroll { overflow-x: auto; }
.treadle-report table { border-collapse: collapse; width: 100%; background: var(--code); color: var(--fg); border: 1px solid var(--line); }
.treadle-report td { text-align: left; vertical-align: top; padding: 1px 8px; border: 0; border-top: 1px solid var(--line); background: var(--code); }
.treadle-report td.n { text-align: right; color: var(--dim); font: 12px/1.6 ui-monospace, monospace; border-left: 5px solid transparent; width: 1%; }
.treadle-report td.s { width: 1%; white-space: pre; font: 13px/1.5 ui-monospace, monospace; padding-right: 2em; }
.treadle-report td.r { min-width: 22em; font-size: 12.5px; background: var(--bg); }
.treadle-report .k { overflow-wrap: anywhere; padding-left: 5.4em; text-indent: -5.4em; }
.treadle-report .k b { font-weight: 600; display: inline-block; min-width: 5em; text-indent: 0; }
"""
    + "\n".join(
        f".treadle-report .{kind} b, .treadle-report .{kind} i {{ color: var(--{kind}); }}"
        for kind in ("type", "loop", "vector", "cores", "check", "memory", "call", "late", "apart", "threads")
    )
    + "\n"
    + "\n".join(f".treadle-report .g{k} td.n {{ border-left-color: var(--g{k}); }}" for k in range(6))
)


def _group(line: int, notes: list[tuple[str, str]], groups: dict[str, int]) -> str:
    """The colour of lines that are one loop; the first loop's, where a line is in several."""
    for kind, text in notes:
        if kind == "loop" and text.startswith(_JOINED):
            return f' class="g{groups.setdefault(str(line), len(groups)) % 6}"'
        if kind == "loop" and text.startswith(_SAME):
            return f' class="g{groups[text.removeprefix(_SAME)] % 6}"'
    return ""


def _table(section: _Section, variant: Variant) -> str:
    groups: dict[str, int] = {}
    out = []
    for number, line, notes in _laid_out(section, variant):
        said = "".join(
            f'<div class="k {escape(kind)}"><b>{escape(kind)}</b> {escape(text)}</div>'
            for kind, text in notes
        )
        source = "" if line is None else f'<td class="s">{escape(line)}</td>'
        out.append(
            f'<tr{_group(number, notes, groups)}><td class="n">{number}</td>{source}<td class="r">{said}</td></tr>'
        )
    return f'<div class="scroll"><table>{"".join(out)}</table></div>'


class Report:
    """What the compiler knows of a function's lines. Notebooks show it, ``print`` writes it as text.

    Attributes
    ----------
    variants : list of Variant
        One for each specialisation.
    kinds : dict of str
        What rows of each kind say.
    """

    def __init__(
        self, name: str, root: tuple[str, int], kinds: dict[str, str], variants: list[Variant]
    ) -> None:
        self.name = name
        self._root = root
        self.kinds = kinds
        self.variants = variants

    def _repr_html_(self) -> str:
        out = [f'<style>{_STYLE}</style><div class="treadle-report">']
        for variant in self.variants:
            out.append(f"<h3>{escape(variant.title)}</h3>")
            out += [f"<p>{escape(text)}</p>" for text in variant.head]
            for section in _sections(variant, self._root):
                name, where = _place(section, variant)
                out.append(f"<h4>{escape(name)} <small>{escape(where)}</small></h4>")
                out.append(_table(section, variant))
        used = {r.kind for v in self.variants for r in v.rows if r.kind not in _WHOLE}
        legend = "".join(
            f'<div class="k {escape(kind)}"><b>{escape(kind)}</b> {escape(what)}</div>'
            for kind, what in self.kinds.items()
            if kind in used
        )
        out.append(f"<details><summary>What the words mean</summary>{legend}</details></div>")
        return "\n".join(out)

    @property
    def html(self) -> str:
        """The report as a page of its own."""
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<meta name="color-scheme" content="light dark"><title>treadle: {escape(self.name)}</title></head>\n'
            f"<body>{self._repr_html_()}</body></html>\n"
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)

    def __str__(self) -> str:
        out = []
        for variant in self.variants:
            out += [variant.title, *(f"  {text}" for text in variant.head)]
            for section in _sections(variant, self._root):
                out += ["", "  ".join(filter(None, _place(section, variant)))]
                rows = _laid_out(section, variant)
                width = len(str(rows[-1][0])) if rows else 1
                for number, line, notes in rows:
                    out.append(f"{number:{width}}  {line or ''}".rstrip())
                    out += [f"{'':{width}}      # {kind}: {text}" for kind, text in notes]
            out.append("")
        return "\n".join(out)

    def __repr__(self) -> str:
        return f"<treadle.report of {self.name}: {len(self.variants)} specialisations; print() shows it>"


# --- making one ---


def _named(types: Any) -> str:
    return ", ".join(map(str, types))


def _variant(title: str, head: list[str], text: str) -> tuple[dict[str, str], Variant]:
    kinds, rows = _read(text)
    took = [r.text for r in rows if r.kind == "time"]
    head = [*head, *(r.text for r in rows if not r.line and r.kind not in _WHOLE)]
    if took:
        head.append(f"compiled anew for this report: {', '.join(took)}")
    return kinds, Variant(title, head, rows)


def _options(function: Any) -> list[str]:
    on = [f"{name}={value!r}" for name, value in function.options.items() if value]
    head = [f"options: {', '.join(on)}"] if on else []
    return (
        head
        if function.options.get("parallel")
        else [*head, "without parallel=True: array expressions run on one core"]
    )


def _measured(function: Any, args: tuple[Any, ...]) -> str:
    least, calls, begin = float("inf"), 0, _clock.perf_counter()
    function(*args)
    while calls < _CALLS and (calls == 0 or _clock.perf_counter() - begin < _ENOUGH):
        start = _clock.perf_counter()
        function(*args)
        least = min(least, _clock.perf_counter() - start)
        calls += 1
    unit, scale = next(
        (u, s) for u, s in (("s", 1.0), ("ms", 1e3), ("us", 1e6)) if least * s >= 1 or u == "us"
    )
    return f"a call with these arguments took {least * scale:.3g} {unit}, the least of {calls}"


def _types(args: tuple[Any, ...]) -> tuple[Type, ...]:
    return tuple(a if isinstance(a, Type) else typeof(getattr(a, "_mem", a)) for a in args)


def _of_function(
    f: Function[..., Any], args: tuple[Any, ...], head: list[str]
) -> list[tuple[str, list[str], str]]:
    if args:
        types = _types(args)
        if types not in f.overloads:
            f.compile(types)
        texts = {types: f.inspect("report", types)}
    else:
        texts = f.inspect("report")
    head = [*_options(f), *head]
    return [
        (f"{f.__qualname__}({_named(types)}) -> {f.overloads[types]}", head, text)
        for types, text in texts.items()
    ]


def _of_ufunc(info: UfuncInfo, args: tuple[Any, ...], head: list[str]) -> list[tuple[str, list[str], str]]:
    if args:
        info.ufunc(*args)
    head = ["the loop over a ufunc's elements stands around the function", *head]
    return [
        (f"{info.py_func.__qualname__}: the ufunc's loop for ({_named(types)})", head, text)
        for types, text in info.inspect("report").items()
    ]


def _of_kernel(kernel: Any, args: tuple[Any, ...]) -> list[tuple[str, list[str], str]]:
    if args:
        types = _types(args)
        if types not in kernel.overloads:
            kernel.compile(types)
        return kernel._reports(types)  # type: ignore[no-any-return]
    return [row for types in kernel.overloads for row in kernel._reports(types)]


def report(f: Any, *args: Any, time: bool = False) -> Report:
    """The source of a compiled function with what the compiler knows of each line.

    Types of what is assigned; array expressions that became one loop; how many numbers an instruction takes; what runs on all cores, or why it does not; which checks are left; which arrays are made; which functions stand in place of their calls; what is compiled only when it is reached.
    The function is compiled anew for the report, and not called but with ``time=True``.

    Parameters
    ----------
    f
        A function of ``jit``, a ufunc of ``vectorize`` or ``guvectorize``, or a kernel of ``cuda.jit``.
    *args
        Arguments, or types: the report is about the specialisation for these, which is compiled if there is none. Without them it is about all that there are.
    time
        Call the function with the arguments, for about 0.2 s, and tell how long a call takes. The calls do what they do: an argument that is written to is written to.

    Returns
    -------
    Report
        A notebook shows it, ``print`` writes it as text; ``.html`` is a page, ``.save(path)`` writes it to a file.

    Raises
    ------
    TypeError
        ``f`` is not compiled by Treadle.
    ValueError
        The function has no specialisation yet, or there is nothing to time a call with.
    """
    if time and (not args or any(isinstance(a, Type) for a in args)):
        raise ValueError("time=True calls the function: give it arguments, as in report(f, a, b, time=True)")
    kernel = callable(getattr(f, "_reports", None))
    if kernel and time:
        raise ValueError("a launch goes on while the program does: time kernels with cuda.event")
    info = None if kernel or isinstance(f, Function) else _info(f)
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", "?")
    head = [_measured(f, args)] if time else []
    if kernel:
        texts = _of_kernel(f, args)
    elif info is None:
        texts = _of_function(f, args, head)
    else:
        texts = _of_ufunc(info, args, head)
    if not texts:
        raise ValueError(
            f"{name}() was not compiled yet: call it first, or give arguments or types, as in treadle.report({name}, 1.0)"
        )
    code = (f if info is None else info).py_func.__code__
    made = [_variant(*text) for text in texts]
    return Report(name, (code.co_filename, code.co_firstlineno), made[0][0], [v for _, v in made])


def _info(f: Any) -> UfuncInfo:
    try:
        return ufunc_info(f)
    except TypeError:
        raise TypeError(
            f"report() takes a function that Treadle has compiled, not {f!r}; decorate it with treadle.njit"
        ) from None
