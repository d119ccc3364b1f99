"""Streams: parts of an array are copied to the device, worked on and copied back, each part on a stream of its own.

What is on one stream is done in its order, so the copies of one part can go beside the work on another. Where streams are done at once, the result is the same.

    python examples/cuda_streams.py [number of values]
"""

from __future__ import annotations

import math
import sys

import numpy as np
from treadle import cuda, float64, vectorize

PARTS = 4


@vectorize([float64(float64, float64)], target="cuda")
def wave(x, phase):
    return math.sin(x + phase) * math.exp(-0.1 * x)


@cuda.jit
def smooth(a, out):
    i = cuda.grid(1)
    if i < a.size:
        left, right = max(i - 1, 0), min(i + 1, a.size - 1)
        out[i] = 0.25 * a[left] + 0.5 * a[i] + 0.25 * a[right]


def main(n):
    x = np.linspace(0.0, 20.0, n).reshape(PARTS, -1)
    result = cuda.pinned_array(x.shape)
    streams = [cuda.stream() for _ in range(PARTS)]
    kept = []  # what streams work on must stay
    for part, stream in enumerate(streams):
        d = cuda.to_device(x[part], stream=stream)
        out = cuda.device_array_like(d, stream=stream)
        w = wave(d, 0.5, stream=stream)
        smooth[-(-d.size // 256), 256, stream](w, out)
        out.copy_to_host(result[part], stream=stream)
        kept.append((d, w, out))
    for stream in streams:
        stream.synchronize()

    w = np.pad(np.sin(x + 0.5) * np.exp(-0.1 * x), ((0, 0), (1, 1)), mode="edge")
    want = 0.25 * w[:, :-2] + 0.5 * w[:, 1:-1] + 0.25 * w[:, 2:]
    assert np.allclose(result, want, rtol=1e-12, atol=1e-15)
    print(f"{n} values in {PARTS} parts on {PARTS} streams: as NumPy has it")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
