"""Bar charts as SVG, written as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

WIDTH, LABEL, ROW, HEAD = 880, 260, 22, 44
COLOURS = {False: "#1d4ed8", True: "#c2410c"}  # of bars, and of those that a GPU has to do with


def bars(title: str, rows: Sequence[tuple[str, str, float]], below: str) -> str:
    """A chart of horizontal bars on a logarithmic axis that begins at or below 1.

    Parameters
    ----------
    title, below : str
        Above and below the bars.
    rows : sequence of (group, label, value)
        Values are positive; rows of a group follow each other.

    Returns
    -------
    str
        The SVG.
    """
    low = min(0.0, *(math.floor(math.log10(v)) for _, _, v in rows))
    high = max(1.0, *(math.ceil(math.log10(v)) for _, _, v in rows))
    room = WIDTH - LABEL - 90  # a value stands behind its bar

    def x(value: float) -> float:
        return LABEL + room * (math.log10(value) - low) / (high - low)

    out, y, group = [], HEAD, ""
    for name, label, value in rows:
        if name != group:
            group = name
            y += 14
            out.append(f'<text x="20" y="{y + 15}" font-size="13" font-weight="bold">{escape(name)}</text>')
            y += ROW
        colour = COLOURS["GPU" in label]
        out.append(
            f'<text x="{LABEL - 8}" y="{y + 14}" font-size="12" text-anchor="end">{escape(label)}</text>'
        )
        out.append(
            f'<rect x="{LABEL}" y="{y + 2}" width="{max(1.0, x(value) - LABEL):.1f}" height="16" fill="{colour}"/>'
        )
        shown = f"{value:.3g}" if value < 100 else f"{value:,.0f}"
        out.append(f'<text x="{x(value) + 6:.1f}" y="{y + 14}" font-size="12">{shown}</text>')
        y += ROW
    lines = [
        f'<line x1="{x(10.0**p):.1f}" y1="{HEAD}" x2="{x(10.0**p):.1f}" y2="{y + 4}" stroke="{"#444" if p == 0 else "#ddd"}"/>'
        f'<text x="{x(10.0**p):.1f}" y="{y + 18}" font-size="11" text-anchor="middle">{10.0**p:g}</text>'
        for p in range(int(low), int(high) + 1)
    ]
    height = y + 50
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            'font-family="Helvetica, Arial, sans-serif" fill="#222">',
            f"<title>{escape(title)}</title>",
            f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
            f'<text x="20" y="28" font-size="15" font-weight="bold">{escape(title)}</text>',
            *lines,
            *out,
            f'<text x="20" y="{height - 12}" font-size="11" fill="#666">{escape(below)}</text>',
            "</svg>\n",
        ]
    )
