"""Pictures without a plotting package, for the examples: PNG of colours, and curves as SVG."""

from __future__ import annotations

import struct
import zlib
from html import escape
from pathlib import Path

import numpy as np

INK = ("#1d4ed8", "#c2410c", "#15803d", "#888888")


def write_png(path, rgb):
    """Write an array of shape (rows, columns, 3), numbers from 0 to 255, as a PNG."""
    rgb = np.ascontiguousarray(rgb, dtype=np.uint8)
    raw = b"".join(b"\0" + row.tobytes() for row in rgb)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows, cols, _ = rgb.shape
    header = struct.pack(">IIBBBBB", cols, rows, 8, 2, 0, 0, 0)
    Path(path).write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(raw, 9))
        + chunk(b"IEND", b"")
    )


def blue(values):
    """Colours from black over blue to white for numbers from 0 to 1, in 64 steps, which PNG packs well."""
    shade = np.round(np.clip(values, 0.0, 1.0) * 63) / 63
    return np.stack([255.0 * shade**power for power in (2.5, 1.4, 0.7)], axis=-1)


def write_escape_times(path, counts, limit):
    """Write the Mandelbrot set: what has not escaped within the limit is black."""
    write_png(path, np.where((counts == limit)[..., None], 0.0, blue(np.sqrt(counts / limit))))


def write_curves(path, title, curves, dots=()):
    """Write an SVG of curves, each a (label, x, y), over a scatter of dots, each a (label, x, y)."""
    width, height, edge = 640, 360, 40
    every = [*curves, *dots]
    low = [min(np.min(c[k]) for c in every) for k in (1, 2)]
    high = [max(np.max(c[k]) for c in every) for k in (1, 2)]
    x = lambda v: edge + (width - 2 * edge) * (v - low[0]) / (high[0] - low[0])
    y = lambda v: height - edge - (height - 2 * edge) * (v - low[1]) / (high[1] - low[1])
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="12">',
        f'<title>{escape(title)}</title><rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{edge}" y="22" font-size="14" font-weight="bold" fill="#222">{escape(title)}</text>',
    ]
    for label, xs, ys in dots:
        out += [f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="1.6" fill="{INK[-1]}"/>' for a, b in zip(xs, ys)]
    for colour, (label, xs, ys) in zip(INK, curves):
        line = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in zip(xs, ys))
        out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
    for k, (label, _, _) in enumerate(every):
        colour = INK[k] if k < len(curves) else INK[-1]
        place = f'x="{width - edge}" y="{22 + 16 * k}" text-anchor="end"'
        out.append(f'<text {place} fill="{colour}">{escape(label)}</text>')
    Path(path).write_text("\n".join([*out, "</svg>\n"]))
