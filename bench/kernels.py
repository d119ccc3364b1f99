"""The run-time cases: one source for Treadle, Numba and plain Python.

Each case is a maker: given a decorator it returns the compiled function, so
the same text is compiled by every peer and can also be run by CPython.  A
case knows its inputs and an independent way to the right answer, written with
NumPy where that is another algorithm; a wrong result fails the benchmark.

Every kernel leaves its inputs as they were (sorts copy first) or is safe to
repeat (saxpy), because timing calls it thousands of times.  Short kernels
repeat inside, so that the cost of the call stays below a thousandth.
`kernels.c` has the same loops in C, in the same order of operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
Arguments = tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """One run-time case.

    Attributes
    ----------
    name : str
        Row name; `k_<name>` is the C function.
    make : callable
        Takes a decorator, returns the decorated kernel.
    inputs : callable
        Takes a random generator and `full` (bool; False gives sizes that plain
        Python finishes at once); returns the arguments.
    expected : callable
        Takes fresh arguments; returns what `observe` should give.
    observe : callable
        Takes the arguments after a call and the returned value; returns the
        array or scalar to compare.
    rtol : float
        Tolerance against `expected`; 0 asks for equality.
    contracted : float
        Tolerance for C compiled with contraction to FMA.
    loose_share : float
        Share of elements that may differ under contraction (an escape count
        flips where a point lies on the border).
    """

    name: str
    make: Callable[[Decorator], Callable[..., Any]]
    inputs: Callable[[np.random.Generator, bool], Arguments]
    expected: Callable[..., Any]
    observe: Callable[[Arguments, Any], Any]
    rtol: float = 0.0
    contracted: float = 1e-12
    loose_share: float = 0.0


CASES: dict[str, Case] = {}
PAGE = 4096
COLOUR = 22 * 64  # successive arrays start a third of a page apart
_placed = count()


def aligned(shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
    """A zeroed C-order array on a 64-byte boundary: placement must not be luck.

    Arrays at equal offsets in their pages make the CPU take a load for one that
    depends on a store to the other (saxpy then takes twice as long), so that
    successive arrays start far apart within a page.
    """
    dims = (shape,) if isinstance(shape, int) else shape
    nbytes = math.prod(dims) * np.dtype(dtype).itemsize
    raw = np.zeros(nbytes + 2 * PAGE, np.uint8)
    start = -raw.ctypes.data % PAGE + next(_placed) * COLOUR % PAGE
    return raw[start : start + nbytes].view(dtype).reshape(dims)


def place(values: np.ndarray) -> np.ndarray:
    """Copy `values` into an aligned array of the same shape and dtype."""
    out = aligned(values.shape, values.dtype)
    out[...] = values
    return out


def returned(args: Arguments, result: Any) -> Any:
    return result


def argument(index: int) -> Callable[[Arguments, Any], Any]:
    return lambda args, result: args[index]


def case(**options: Any) -> Callable[[Callable[[Decorator], Any]], Callable[[Decorator], Any]]:
    """Register a maker under its own name."""

    def register(make: Callable[[Decorator], Any]) -> Callable[[Decorator], Any]:
        CASES[make.__name__] = Case(name=make.__name__, make=make, **options)
        return make

    return register


# --- dense loops over two dimensions ---------------------------------------


@case(
    inputs=lambda rng, full: (place(rng.random((512, 512) if full else (5, 7))),),
    expected=lambda a: math.fsum(a.ravel()),
    observe=returned,
    rtol=1e-11,
)
def sum2d(jit: Decorator) -> Any:
    @jit
    def sum2d(a):
        rows, cols = a.shape
        s = 0.0
        for i in range(rows):
            for j in range(cols):
                s += a[i, j]
        return s

    return sum2d


def matmul_inputs(n: int) -> Callable[[np.random.Generator, bool], Arguments]:
    def inputs(rng: np.random.Generator, full: bool) -> Arguments:
        m = n if full else 6
        return place(rng.random((m, m))), place(rng.random((m, m))), aligned((m, m), np.float64)

    return inputs


@case(
    inputs=matmul_inputs(192),
    expected=lambda a, b, c: a @ b,
    observe=argument(2),
    rtol=1e-12,
)
def matmul_ijk(jit: Decorator) -> Any:
    @jit
    def matmul_ijk(a, b, c):
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                s = 0.0
                for k in range(a.shape[1]):
                    s += a[i, k] * b[k, j]
                c[i, j] = s

    return matmul_ijk


@case(
    inputs=matmul_inputs(256),
    expected=lambda a, b, c: a @ b,
    observe=argument(2),
    rtol=1e-12,
)
def matmul_ikj(jit: Decorator) -> Any:
    @jit
    def matmul_ikj(a, b, c):
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                c[i, j] = 0.0
            for k in range(a.shape[1]):
                x = a[i, k]
                for j in range(b.shape[1]):
                    c[i, j] += x * b[k, j]

    return matmul_ikj


def stencil_expected(u: np.ndarray, v: np.ndarray, reps: int) -> np.ndarray:
    out = np.zeros_like(u)
    out[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return out


def stencil_inputs(rng: np.random.Generator, full: bool) -> Arguments:
    n = 128 if full else 6
    return place(rng.random((n, n))), aligned((n, n), np.float64), 100 if full else 2


@case(inputs=stencil_inputs, expected=stencil_expected, observe=argument(1))
def stencil(jit: Decorator) -> Any:
    @jit
    def stencil(u, v, reps):
        rows, cols = u.shape
        for _ in range(reps):
            for i in range(1, rows - 1):
                for j in range(1, cols - 1):
                    v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])

    return stencil


def strided_inputs(rng: np.random.Generator, full: bool) -> Arguments:
    n = 96 if full else 4
    whole = place(rng.random((2 * n, n + 8)))
    return whole[::2, :n], aligned((n, n), np.float64), 100 if full else 2


@case(
    inputs=strided_inputs,
    expected=lambda a, out, reps: a * 2.0 + 1.0,
    observe=argument(1),
)
def strided_rows(jit: Decorator) -> Any:
    @jit
    def strided_rows(a, out, reps):
        rows, cols = a.shape
        for _ in range(reps):
            for i in range(rows):
                for j in range(cols):
                    out[i, j] = a[i, j] * 2.0 + 1.0

    return strided_rows


# --- one-dimensional loops, all arrays together in the first-level cache ----


def saxpy_expected(a: np.float32, x: np.ndarray, y: np.ndarray, reps: int) -> np.ndarray:
    out = y.copy()
    for _ in range(reps):
        out = a * x + out
    return out


def saxpy_inputs(rng: np.random.Generator, full: bool) -> Arguments:
    n = 2048 if full else 9
    x, y = (place(rng.random(n).astype(np.float32)) for _ in range(2))
    return np.float32(1.25), x, y, 800 if full else 2


@case(inputs=saxpy_inputs, expected=saxpy_expected, observe=argument(2), contracted=1e-4)
def saxpy(jit: Decorator) -> Any:
    @jit
    def saxpy(a, x, y, reps):
        for _ in range(reps):
            for i in range(x.shape[0]):
                y[i] = a * x[i] + y[i]

    return saxpy


def vector_inputs(rng: np.random.Generator, full: bool) -> Arguments:
    n = 1024 if full else 9
    return place(rng.random(n)), aligned(n, np.float64), 800 if full else 2


@case(inputs=vector_inputs, expected=lambda a, out, reps: a[::-1], observe=argument(1))
def reversed_copy(jit: Decorator) -> Any:
    @jit
    def reversed_copy(a, out, reps):
        n = a.shape[0]
        for _ in range(reps):
            for i in range(n):
                out[i] = a[n - 1 - i]

    return reversed_copy


@case(inputs=vector_inputs, expected=lambda a, out, reps: a + np.roll(a, -1), observe=argument(1))
def wrap_around(jit: Decorator) -> Any:
    @jit
    def wrap_around(a, out, reps):
        n = a.shape[0]
        for _ in range(reps):
            for i in range(n):
                out[i] = a[i] + a[(i + 1) % n]

    return wrap_around


def gather_inputs(rng: np.random.Generator, full: bool) -> Arguments:
    n = 1024 if full else 9
    index = place(rng.integers(0, n, n, dtype=np.int64))
    return place(rng.random(n)), index, aligned(n, np.float64), 800 if full else 2


@case(
    inputs=gather_inputs,
    expected=lambda a, index, out, reps: a[index],
    observe=argument(2),
)
def gather(jit: Decorator) -> Any:
    @jit
    def gather(a, index, out, reps):
        for _ in range(reps):
            for i in range(index.shape[0]):
                out[i] = a[index[i]]

    return gather


# --- branches, integers, recurrences ---------------------------------------


def mandelbrot_inputs(rng: np.random.Generator, full: bool) -> Arguments:
    n = 96 if full else 8
    return aligned((n, n), np.int32), -2.0, 0.75, -1.25, 1.25, 100


def mandelbrot_expected(
    out: np.ndarray, x0: float, x1: float, y0: float, y1: float, limit: int
) -> np.ndarray:
    # In real arithmetic: NumPy's complex product may fuse, which moves points across the border.
    height, width = out.shape
    cr = np.broadcast_to(x0 + np.arange(width) * ((x1 - x0) / width), out.shape)
    ci = np.broadcast_to((y0 + np.arange(height) * ((y1 - y0) / height))[:, None], out.shape)
    zr, zi = np.zeros(out.shape), np.zeros(out.shape)
    count = np.full(out.shape, limit, np.int32)
    with np.errstate(all="ignore"):
        for step in range(limit):
            zr, zi = (zr * zr - zi * zi) + cr, (zr * zi + zi * zr) + ci
            count[(count == limit) & (zr * zr + zi * zi >= 4.0)] = step
    return count


@case(
    inputs=mandelbrot_inputs,
    expected=mandelbrot_expected,
    observe=argument(0),
    loose_share=0.02,
)
def mandelbrot(jit: Decorator) -> Any:
    @jit
    def escape(x, y, limit):
        c = complex(x, y)
        z = 0.0j
        for step in range(limit):
            z = z * z + c
            if z.real * z.real + z.imag * z.imag >= 4.0:
                return step
        return limit

    @jit
    def mandelbrot(out, x0, x1, y0, y1, limit):
        height, width = out.shape
        dx = (x1 - x0) / width
        dy = (y1 - y0) / height
        for row in range(height):
            y = y0 + row * dy
            for col in range(width):
                out[row, col] = escape(x0 + col * dx, y, limit)

    return mandelbrot


def sort_inputs(n: int, dtype: Any) -> Callable[[np.random.Generator, bool], Arguments]:
    def inputs(rng: np.random.Generator, full: bool) -> Arguments:
        m = n if full else 11
        return place(rng.permutation(m).astype(dtype)), aligned(m, dtype)

    return inputs


@case(
    inputs=sort_inputs(1000, np.float32),
    expected=lambda source, a: np.sort(source),
    observe=argument(1),
)
def bubble_sort(jit: Decorator) -> Any:
    @jit
    def bubble_sort(source, a):
        n = source.shape[0]
        for i in range(n):
            a[i] = source[i]
        for end in range(n, 1, -1):
            for i in range(end - 1):
                current = a[i]
                if current > a[i + 1]:
                    a[i] = a[i + 1]
                    a[i + 1] = current

    return bubble_sort


@case(
    inputs=sort_inputs(8192, np.float64),
    expected=lambda source, a: np.sort(source),
    observe=argument(1),
)
def heap_sort(jit: Decorator) -> Any:
    @jit
    def sift(a, root, end):
        value = a[root]
        child = 2 * root + 1
        while child < end:
            if child + 1 < end and a[child + 1] > a[child]:
                child += 1
            if a[child] <= value:
                break
            a[root] = a[child]
            root = child
            child = 2 * root + 1
        a[root] = value

    @jit
    def heap_sort(source, a):
        n = source.shape[0]
        for i in range(n):
            a[i] = source[i]
        for root in range(n // 2 - 1, -1, -1):
            sift(a, root, n)
        for end in range(n - 1, 0, -1):
            top = a[0]
            a[0] = a[end]
            a[end] = top
            sift(a, 0, end)

    return heap_sort


def collatz_expected(limit: int) -> int:
    lengths = {1: 0}
    for start in range(2, limit):
        path, n = [], start
        while n not in lengths:
            path.append(n)
            n = 3 * n + 1 if n & 1 else n >> 1
        base = lengths[n]
        for back, member in enumerate(reversed(path), 1):
            lengths[member] = base + back
    return max(lengths[n] for n in range(1, limit))


@case(
    inputs=lambda rng, full: (8000 if full else 30,),
    expected=collatz_expected,
    observe=returned,
)
def collatz(jit: Decorator) -> Any:
    @jit
    def collatz(limit):
        longest = 0
        for start in range(1, limit):
            n = start
            steps = 0
            while n != 1:
                if n % 2 == 0:
                    n = n // 2
                else:
                    n = 3 * n + 1
                steps += 1
            if steps > longest:
                longest = steps
        return longest

    return collatz


def edit_inputs(rng: np.random.Generator, full: bool) -> Arguments:
    n, m = (600, 500) if full else (9, 7)
    s, t = (place(rng.integers(97, 101, k).astype(np.uint8)) for k in (n, m))
    return s, t, aligned(m + 1, np.int64)


def edit_expected(s: np.ndarray, t: np.ndarray, row: np.ndarray) -> int:
    # Row by row with NumPy: the running minimum resolves the dependence on the left neighbour.
    steps = np.arange(len(t) + 1)
    old = steps.copy()
    for i, letter in enumerate(s, 1):
        new = np.minimum(old[1:] + 1, old[:-1] + (t != letter))
        old = np.minimum.accumulate(np.concatenate(([i], new)) - steps) + steps
    return int(old[-1])


@case(inputs=edit_inputs, expected=edit_expected, observe=returned)
def edit_distance(jit: Decorator) -> Any:
    @jit
    def edit_distance(s, t, row):
        n = s.shape[0]
        m = t.shape[0]
        for j in range(m + 1):
            row[j] = j
        for i in range(1, n + 1):
            diagonal = row[0]
            row[0] = i
            for j in range(1, m + 1):
                above = row[j]
                cost = 0 if s[i - 1] == t[j - 1] else 1
                row[j] = min(above + 1, row[j - 1] + 1, diagonal + cost)
                diagonal = above
        return row[m]

    return edit_distance


# --- floating point with structure -----------------------------------------


def nbody_inputs(rng: np.random.Generator, full: bool) -> Arguments:
    start, speed = place(rng.normal(size=(5, 3)) * 10), place(rng.normal(size=(5, 3)))
    mass = place(rng.random(5) + 0.5)
    places = aligned((5, 3), np.float64), aligned((5, 3), np.float64)
    return start, speed, mass, *places, 1000 if full else 3, 0.001


def nbody_expected(start, speed, mass, pos, vel, steps, dt) -> np.ndarray:
    p, v = start.copy(), speed.copy()
    for _ in range(steps):
        d = p[:, None, :] - p[None, :, :]
        d2 = (d * d).sum(-1)
        np.fill_diagonal(d2, 1.0)
        v = v - (d * (mass[None, :] * (dt / (d2 * np.sqrt(d2))))[:, :, None]).sum(1)
        p = p + dt * v
    return p


@case(
    inputs=nbody_inputs,
    expected=nbody_expected,
    observe=argument(3),
    rtol=1e-9,
    contracted=1e-9,
)
def nbody(jit: Decorator) -> Any:
    @jit
    def nbody(start, speed, mass, pos, vel, steps, dt):
        n = mass.shape[0]
        for i in range(n):
            for axis in range(3):
                pos[i, axis] = start[i, axis]
                vel[i, axis] = speed[i, axis]
        for _ in range(steps):
            for i in range(n):
                for j in range(i + 1, n):
                    dx = pos[i, 0] - pos[j, 0]
                    dy = pos[i, 1] - pos[j, 1]
                    dz = pos[i, 2] - pos[j, 2]
                    d2 = dx * dx + dy * dy + dz * dz
                    pull = dt / (d2 * math.sqrt(d2))
                    mi = mass[i] * pull
                    mj = mass[j] * pull
                    vel[i, 0] -= dx * mj
                    vel[i, 1] -= dy * mj
                    vel[i, 2] -= dz * mj
                    vel[j, 0] += dx * mi
                    vel[j, 1] += dy * mi
                    vel[j, 2] += dz * mi
            for i in range(n):
                for axis in range(3):
                    pos[i, axis] += dt * vel[i, axis]

    return nbody


def fft_inputs(rng: np.random.Generator, full: bool) -> Arguments:
    n = 4096 if full else 16
    x = place(rng.normal(size=n) + 1j * rng.normal(size=n))
    roots = place(np.exp(-2j * np.pi * np.arange(n // 2) / n))
    return x, aligned(n, np.complex128), roots


@case(
    inputs=fft_inputs,
    expected=lambda x, y, roots: np.fft.fft(x),
    observe=argument(1),
    rtol=1e-11,
    contracted=1e-11,
)
def fft(jit: Decorator) -> Any:
    @jit
    def fft(x, y, roots):
        n = x.shape[0]
        j = 0
        y[0] = x[0]
        for i in range(1, n):
            bit = n >> 1
            while (j & bit) != 0:
                j ^= bit
                bit >>= 1
            j |= bit
            y[i] = x[j]
        half = 1
        while half < n:
            stride = n // (2 * half)
            for base in range(0, n, 2 * half):
                for k in range(half):
                    even = y[base + k]
                    odd = y[base + k + half] * roots[k * stride]
                    y[base + k] = even + odd
                    y[base + k + half] = even - odd
            half *= 2

    return fft


# --- short inner loops, functions of mathematics one at a time ---------------


def bilateral_expected(img: Any, out: Any, radius: Any, space: Any, tone: Any) -> Any:
    height, width = img.shape
    total, weights = np.zeros_like(img), np.zeros_like(img)
    for dy in range(-radius, radius + 1):
        for dx in range(-radius, radius + 1):
            rows = np.clip(np.arange(height) + dy, 0, height - 1)
            columns = np.clip(np.arange(width) + dx, 0, width - 1)
            near = img[np.ix_(rows, columns)]
            weight = np.exp(-(dx * dx + dy * dy) * space - (near - img) ** 2 * tone)
            total += weight * near
            weights += weight
    return total / weights


@case(
    inputs=lambda rng, full: (
        place(rng.random((48, 48) if full else (7, 9))),
        aligned((48, 48) if full else (7, 9), np.float64),
        3,
        0.1,
        5.0,
    ),
    expected=bilateral_expected,
    observe=argument(1),
    rtol=1e-13,
)
def bilateral(jit: Decorator) -> Any:
    @jit
    def bilateral(img, out, radius, space, tone):
        height, width = img.shape
        for y in range(height):
            for x in range(width):
                here = img[y, x]
                total = 0.0
                weights = 0.0
                for dy in range(-radius, radius + 1):
                    for dx in range(-radius, radius + 1):
                        near = img[min(max(y + dy, 0), height - 1), min(max(x + dx, 0), width - 1)]
                        d = near - here
                        weight = math.exp(-(dx * dx + dy * dy) * space - d * d * tone)
                        total += weight * near
                        weights += weight
                out[y, x] = total / weights

    return bilateral


@case(
    inputs=lambda rng, full: (
        place(rng.random((250 if full else 5, 8))),
        place(rng.random((200 if full else 6, 8))),
        aligned((250, 200) if full else (5, 6), np.float64),
    ),
    expected=lambda x, y, out: np.linalg.norm(x[:, None] - y[None], axis=-1),
    observe=argument(2),
    rtol=1e-13,
)
def distances(jit: Decorator) -> Any:
    @jit
    def distances(x, y, out):
        n, m, size = x.shape[0], y.shape[0], x.shape[1]
        for i in range(n):
            for j in range(m):
                s = 0.0
                for k in range(size):
                    d = x[i, k] - y[j, k]
                    s += d * d
                out[i, j] = math.sqrt(s)

    return distances


def life_expected(a: Any, b: Any, reps: Any) -> Any:
    around = sum(np.roll(a, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1)) - a
    out = b.copy()
    out[1:-1, 1:-1] = ((around == 3) | (a == 1) & (around == 2))[1:-1, 1:-1]
    return out


@case(
    inputs=lambda rng, full: (
        place((rng.random((200, 300) if full else (6, 9)) < 0.3).astype(np.uint8)),
        aligned((200, 300) if full else (6, 9), np.uint8),
        10 if full else 2,
    ),
    expected=life_expected,
    observe=argument(1),
)
def life(jit: Decorator) -> Any:
    @jit
    def life(a, b, reps):
        height, width = a.shape
        for _ in range(reps):
            for y in range(1, height - 1):
                for x in range(1, width - 1):
                    n = a[y - 1, x - 1] + a[y - 1, x] + a[y - 1, x + 1] + a[y, x - 1] + a[y, x + 1]
                    n += a[y + 1, x - 1] + a[y + 1, x] + a[y + 1, x + 1]
                    if a[y, x] == 1 and (n == 2 or n == 3):
                        b[y, x] = 1
                    elif a[y, x] == 0 and n == 3:
                        b[y, x] = 1
                    else:
                        b[y, x] = 0

    return life


def waiting_expected(n: Any, seed: Any, counts: Any) -> Any:
    seeds = [seed]
    for _ in range(n):
        seeds.append(seeds[-1] * 1103515245 + 12345 & 0x7FFFFFFF)
    return -np.log((np.array(seeds[1:]) + 1) / 2147483649.0).sum()


@case(
    inputs=lambda rng, full: (50_000 if full else 40, 42, aligned(64, np.int64)),
    expected=waiting_expected,
    observe=returned,
    rtol=1e-12,
)
def waiting_times(jit: Decorator) -> Any:
    @jit
    def waiting_times(n, seed, counts):
        total = 0.0
        for _ in range(n):
            seed = (seed * 1103515245 + 12345) % 2147483648
            wait = -math.log((seed + 1) / 2147483649.0)
            counts[int(wait * 4.0) & 63] += 1
            total += wait
        return total

    return waiting_times


def difference(case: Case, got: Any, want: Any, contracted: bool) -> str | None:
    """Say how `got` differs from `want` beyond the case's tolerance, or None.

    Tolerances are relative to the largest magnitude, because sums that cancel
    have no digits of their own to compare.
    """
    got_array, want_array = np.asarray(got), np.asarray(want)
    if got_array.shape != want_array.shape:
        return f"shape {got_array.shape} instead of {want_array.shape}"
    rtol = max(case.rtol, case.contracted) if contracted else case.rtol
    scale = float(np.max(np.abs(want_array))) if want_array.size else 0.0
    bad = ~(np.abs(got_array - want_array) <= rtol * scale)
    allowed = case.loose_share * bad.size if contracted else 0.0
    if np.count_nonzero(bad) <= allowed:
        return None
    first = tuple(int(k) for k in np.argwhere(np.atleast_1d(bad))[0])
    return (
        f"{np.count_nonzero(bad)} of {bad.size} values differ; at {first}: "
        f"{np.atleast_1d(got_array)[first]!r} instead of {np.atleast_1d(want_array)[first]!r}"
    )
