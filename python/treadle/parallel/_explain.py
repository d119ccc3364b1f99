"""What a graph does when it runs: its loops, what they move through memory, and what any program would have to."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from treadle._core import LazyArray, _lazy_explain

__all__ = ["Explanation", "Kernel", "explain"]

# As src/base/opts.h has them: what an event is, and what a kernel does.
_KERNEL, _NODE, _MAKE, _USE = range(4)
_FORMS = ("map", "reduce", "scan", "filter", "scatter", "top", "call")
_EVENTS = 1 << 14


@dataclass(frozen=True)
class Kernel:
    """One loop over memory, or a call of a function of a library.

    Attributes
    ----------
    forms : tuple of str
        What it does: ``map``, ``reduce``, ``scan``, ``filter``, ``scatter``, ``top``; or ``call``.
    nodes : tuple of (str, int, str)
        The operations that were fused into it: file, line, and what was called there.
    read, written : int
        Bytes.
    """

    forms: tuple[str, ...]
    nodes: tuple[tuple[str, int, str], ...]
    read: int
    written: int

    def title(self) -> str:
        """Return what it does in a word or two."""
        return " + ".join(self.forms) or "loop"

    def places(self) -> str:
        """Return the operations by line, as ``mean.py:12 multiply, add; 13 sum``."""
        lines: dict[tuple[str, int], list[str]] = {}
        for file, line, what in sorted(self.nodes, key=lambda n: (n[0], n[1])):
            lines.setdefault((file, line), []).append(what)
        said, last = [], None
        for (file, line), whats in lines.items():
            name = f"{os.path.basename(file)}:{line}" if file != last else str(line)
            said.append(f"{name} {', '.join(w for w in whats if w)}".rstrip())
            last = file
        return "; ".join(said)


@dataclass(frozen=True)
class Explanation:
    """What `explain` found. It prints as text, and shows itself as a drawing where there is HTML.

    Attributes
    ----------
    kernels : tuple of Kernel
        In the order in which they ran.
    lower_bound : int
        Bytes that any program moves: the arrays that go in, each once, and those that come out.
    peak : int
        Bytes that the arrays which the program made take at once, at most; the results among them.
    """

    kernels: tuple[Kernel, ...]
    lower_bound: int
    peak: int
    _names: tuple[str, ...] = field(default=(), repr=False)

    @property
    def moved(self) -> int:
        """Bytes that all kernels read and write."""
        return sum(k.read + k.written for k in self.kernels)

    def __str__(self) -> str:
        n = len(self.kernels)
        head = (
            f"{n} kernel{'s' * (n != 1)}, {_size(self.moved)} moved; {_size(self.lower_bound)} would be least; "
            f"arrays made: {_size(self.peak)} at most at once"
        )
        width = max([len(k.title()) for k in self.kernels], default=0)
        rows = [
            f"{i:3}  {k.title():{width}}  reads {_size(k.read):>8}  writes {_size(k.written):>8}  {k.places()}"
            for i, k in enumerate(self.kernels, 1)
        ]
        return "\n".join([head, *rows])

    def _repr_svg_(self) -> str:
        return self.svg()

    def svg(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the drawing, and write it to a file if `path` says where.

        A row for each kernel: what it does, where it was written, and bars for what it reads and writes; below
        them what the program moves in all, beside what any would have to.
        """
        text = _draw(self)
        if path is not None:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        return text


def _size(n: int) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if n < 1000 or unit == "GB":
            return f"{n} B" if unit == "B" else f"{n:.3g} {unit}"
        n = n / 1000  # type: ignore[assignment]
    raise AssertionError("the last unit takes all")


def _draw(x: Explanation) -> str:
    left, wide, row, bar = 300, 380, 46, 11
    most = max([k.read for k in x.kernels] + [k.written for k in x.kernels] + [1])
    total = max(x.moved, x.lower_bound, 1)
    y = 34
    out = []

    def text(tx: float, ty: float, s: str, kind: str = "", anchor: str = "start") -> None:
        out.append(f'<text x="{tx:g}" y="{ty:g}" class="{kind}" text-anchor="{anchor}">{escape(s)}</text>')

    def rect(rx: float, ry: float, w: float, kind: str) -> None:
        out.append(
            f'<rect x="{rx:g}" y="{ry:g}" width="{max(w, 1):.1f}" height="{bar}" rx="2" class="{kind}"/>'
        )

    text(12, 20, f"{len(x.kernels)} kernels", "h")
    text(left, 20, "reads", "r")
    text(left + 44, 20, "writes", "w")
    for i, k in enumerate(x.kernels, 1):
        out.append(f'<line x1="12" x2="{left + wide + 80}" y1="{y - 4}" y2="{y - 4}" class="rule"/>')
        text(12, y + 14, f"{i}  {k.title()}", "h")
        places = k.places()
        text(12, y + 31, places if len(places) < 48 else places[:46] + "…", "s")
        for ty, n, kind in ((y + 4, k.read, "r"), (y + 21, k.written, "w")):
            if n:
                rect(left, ty, wide * n / most, kind)
            text(left + (wide * n / most if n else 0) + 6, ty + 9, _size(n), "s")
        y += row
    out.append(f'<line x1="12" x2="{left + wide + 80}" y1="{y - 4}" y2="{y - 4}" class="rule"/>')
    for label, n, kind in (
        ("moved in all", x.moved, "t"),
        ("arrays in and out: the least", x.lower_bound, "b"),
    ):
        text(12, y + 14, label, "s")
        rect(left, y + 5, wide * n / total, kind)
        text(left + wide * n / total + 6, y + 14, _size(n), "s")
        y += 20
    text(12, y + 14, "arrays made, at most at once", "s")
    text(left, y + 14, _size(x.peak), "s")
    y += 26
    style = (
        "text{font:12px sans-serif;fill:#222}.h{font-weight:bold}.s{font-size:11px;fill:#555}.rule{stroke:#ddd}"
        "rect.r{fill:#4c78a8}rect.w{fill:#f58518}rect.t{fill:#54a24b}rect.b{fill:#bbb}text.r{fill:#4c78a8}text.w{fill:#f58518}"
    )
    size = f'width="{left + wide + 92}" height="{y}" viewBox="0 0 {left + wide + 92} {y}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"><style>{style}</style>'
        f'<rect width="100%" height="100%" style="fill:#fff"/>{"".join(out)}</svg>\n'
    )


def _peak(events: np.ndarray[Any, Any], results: int) -> int:
    """The most that arrays take at once, each from where it is made to where it is used last."""
    last = {int(e[1]): i for i, e in enumerate(events) if e[0] in (_MAKE, _USE)}
    made = {int(e[1]): int(e[2]) for e in events if e[0] == _MAKE}
    now = most = 0
    for i, e in enumerate(events):
        if e[0] == _MAKE:
            now += int(e[2])
            most = max(most, now)
        if e[0] in (_MAKE, _USE) and last[int(e[1])] == i and int(e[1]) in made:
            now -= made[int(e[1])]
    return max(most, results)


def _kernels(events: np.ndarray[Any, Any], nodes: list[tuple[str, int, str, str]]) -> tuple[Kernel, ...]:
    found: list[tuple[tuple[str, ...], list[tuple[str, int, str]], int, int]] = []
    for what, x, read, written in events.tolist():
        if what == _KERNEL:
            found.append((tuple(f for i, f in enumerate(_FORMS) if x >> i & 1), [], read, written))
        elif what == _NODE and found:
            file, line, _, called = nodes[x - 1]
            found[-1][1].append((file, line, called))
    return tuple(Kernel(forms, tuple(n), read, written) for forms, n, read, written in found)


def explain(*arrays: LazyArray, parallel: bool = True) -> Explanation:
    """Evaluate lazy arrays in one program that keeps account of what it does.

    Parameters
    ----------
    *arrays : LazyArray
        At least one, none of them evaluated before.
    parallel : bool
        Whether it runs on all cores, as in `evaluate`.

    Returns
    -------
    Explanation
        Its kernels, with the lines that were fused into each, and what they move through memory. The arrays have
        their values afterwards.

    Raises
    ------
    TypeError
        An array is not lazy, or was evaluated before: there is nothing left to explain.

    Notes
    -----
    Bytes are those of a model, not of a counter in the processor: a kernel moves each array that it goes over
    once, and what it gathers or scatters as often as it does so. What lies in a cache moves faster and counts the
    same. An array of one item, as reductions have, is 8 bytes or so.

    Examples
    --------
    >>> import numpy as np, treadle.parallel as tp
    >>> x = tp.array(np.ones(1000))
    >>> e = tp.explain((x * x + 1).sum())
    >>> len(e.kernels), e.kernels[0].forms, e.moved
    (1, ('reduce',), 8000)
    """
    room = _EVENTS
    log = np.zeros(1 + 4 * room, np.int64)
    nodes = _lazy_explain(not parallel, log, *arrays)
    n = int(log[0])
    if n > room:
        raise MemoryError(f"the program does {n} things, and {room} are written down")
    events = log[1 : 1 + 4 * n].reshape(-1, 4)
    made = {int(e[1]) for e in events if e[0] == _MAKE}
    into = {int(e[1]): int(e[2]) for e in events if e[0] == _USE and int(e[1]) not in made}
    results = sum(np.asarray(a).nbytes for a in arrays)
    kernels = _kernels(events, nodes)
    least = min(
        sum(into.values()) + results, sum(k.read + k.written for k in kernels)
    )  # of some little is looked at
    return Explanation(kernels, least, _peak(events, results))
