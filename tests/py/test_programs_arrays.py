"""Programs: stencils, images, transforms, signals; views, layouts, empty and read-only arrays, special floats.

PYTEST_DONT_REWRITE: the programs hold `assert`s of their own.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from programs import same  # noqa: E402
from treadle import njit  # noqa: E402

# --- stencils ---


def heat_1d(u, r, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:-1] += r * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def heat_2d(u, alpha, steps):
    new = u.copy()
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                new[i, j] = u[i, j] + alpha * (
                    u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j]
                )
        u, new = new, u
    return u


def heat_slices(u, alpha):
    out = np.zeros_like(u)
    out[1:-1, 1:-1] = u[1:-1, 1:-1] + alpha * (
        u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
    )
    out[0, :], out[-1, :] = u[0, :], u[-1, :]
    out[:, 0] = u[:, 0]
    out[:, -1] = u[:, -1]
    return out


def wave(n, c, steps):
    u = np.zeros((3, n))
    x = np.linspace(0, 1, n)
    u[0] = np.exp(-100 * (x - 0.5) ** 2)
    u[1] = u[0]
    for t in range(steps):
        new, now, old = (t + 2) % 3, (t + 1) % 3, t % 3
        for i in range(1, n - 1):
            u[new, i] = (
                2 * now * 0
                + 2 * u[now, i]
                - u[old, i]
                + c**2 * (u[now, i + 1] - 2 * u[now, i] + u[now, i - 1])
            )
        u[new, 0] = u[new, -1] = 0
    return u[(steps + 1) % 3]


def life(board, generations):
    rows, cols = board.shape
    for _ in range(generations):
        new = np.zeros_like(board)
        for i in range(rows):
            for j in range(cols):
                n = 0
                for di in (-1, 0, 1):
                    for dj in (-1, 0, 1):
                        if di == dj == 0:
                            continue
                        n += board[(i + di) % rows, (j + dj) % cols]
                new[i, j] = n == 3 or (board[i, j] and n == 2)
        board = new
    return board


def laplace(phi, tol):
    n, m = phi.shape
    iterations = 0
    delta = 1.0
    while delta > tol:
        delta = 0.0
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                old = phi[i, j]
                phi[i, j] = 0.25 * (phi[i + 1, j] + phi[i - 1, j] + phi[i, j + 1] + phi[i, j - 1])
                delta = max(delta, abs(phi[i, j] - old))
        iterations += 1
    return iterations


def laplacian_3d(a):
    out = np.zeros_like(a)
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            for k in range(1, a.shape[2] - 1):
                out[i, j, k] = (
                    a[i + 1, j, k]
                    + a[i - 1, j, k]
                    + a[i, j + 1, k]
                    + a[i, j - 1, k]
                    + a[i, j, k + 1]
                    + a[i, j, k - 1]
                    - 6 * a[i, j, k]
                )
    return out


def upwind(u, c):
    out = np.empty_like(u)
    for i in range(len(u)):
        out[i] = u[i] - c * (u[i] - u[i - 1])
    return out


def test_stencils():
    rng = np.random.default_rng(1)
    u = rng.random((9, 8))
    same(heat_1d, rng.random(20), 0.25, 7)
    for layout in (u, np.asfortranarray(u), u[::-1], u[::2, ::-1], u.T):
        same(heat_2d, layout, 0.1, 3)
        same(heat_slices, layout, 0.1)
    same(heat_2d, u, 0.1, 4)
    same(wave, 30, 0.5, 12, rtol=1e-13, atol=1e-15)
    for dtype in (np.uint8, np.int64, np.bool_):
        same(life, (rng.random((8, 9)) < 0.4).astype(dtype), 3)
    phi = np.zeros((8, 8))
    phi[0] = 1
    same(laplace, phi, 1e-4)
    same(laplacian_3d, rng.random((4, 5, 6)))
    same(upwind, rng.random(12), 0.5)


# --- images ---


def blur(image, radius):
    h, w = image.shape
    out = np.empty_like(image)
    for i in range(h):
        for j in range(w):
            s = np.float32(0)
            n = 0
            for y in range(max(0, i - radius), min(h, i + radius + 1)):
                for x in range(max(0, j - radius), min(w, j + radius + 1)):
                    s += image[y, x]
                    n += 1
            out[i, j] = s / n
    return out


def grey(rgb):
    h, w, _ = rgb.shape
    out = np.empty((h, w), dtype=np.float32)
    for i in range(h):
        for j in range(w):
            r, g, b = rgb[i, j]
            out[i, j] = 0.299 * r + 0.587 * g + 0.114 * b
    return out


def grey_indexed(rgb):
    out = np.empty(rgb.shape[:2], dtype=np.uint8)
    for i in range(rgb.shape[0]):
        for j in range(rgb.shape[1]):
            p = rgb[i, j]
            out[i, j] = (p[0] * 77 + p[1] * 151 + p[2] * 28) >> 8
    return out


def sobel(a):
    gx = np.zeros(a.shape, np.float64)
    gy = np.zeros(a.shape, np.float64)
    kx = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            for u in range(3):
                for v in range(3):
                    gx[i, j] += kx[u, v] * a[i + u - 1, j + v - 1]
                    gy[i, j] += kx[v, u] * a[i + u - 1, j + v - 1]
    return np.sqrt(gx * gx + gy * gy)


def threshold(image, level):
    out = np.zeros(image.shape, dtype=np.bool_)
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            out[i, j] = image[i, j] > level
    return out, out.sum(), image.mean()


def gamma_correct(image, gamma):
    table = np.empty(256, dtype=np.uint8)
    for i in range(256):
        table[i] = round(255 * (i / 255) ** gamma)
    flat = image.ravel()
    out = np.empty_like(flat)
    for k, v in enumerate(flat):
        out[k] = table[v]
    return out.reshape(image.shape)


def rotate_quarter(image):
    h, w = image.shape
    out = np.empty((w, h), image.dtype)
    for i in range(h):
        out[:, h - 1 - i] = image[i]
    return out


def otsu(image):
    hist = np.zeros(256)
    for v in image.flat:
        hist[v] += 1
    total = image.size
    weighted = 0.0
    for i in range(256):
        weighted += i * hist[i]
    background, weight, best, level = 0.0, 0.0, -1.0, 0
    for t in range(256):
        weight += hist[t]
        if weight == 0:
            continue
        rest = total - weight
        if rest == 0:
            break
        background += t * hist[t]
        m0, m1 = background / weight, (weighted - background) / rest
        between = weight * rest * (m0 - m1) ** 2
        if between > best:
            best, level = between, t
    return level


def median_filter(a):
    out = a.copy()
    window = np.empty(9, a.dtype)
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            window[:] = a[i - 1 : i + 2, j - 1 : j + 2].copy().reshape(9)
            for p in range(5):
                for q in range(p + 1, 9):
                    if window[q] < window[p]:
                        window[p], window[q] = window[q], window[p]
            out[i, j] = window[4]
    return out


def sepia(rgb):
    out = np.empty_like(rgb)
    m = ((0.393, 0.769, 0.189), (0.349, 0.686, 0.168), (0.272, 0.534, 0.131))
    for i in range(rgb.shape[0]):
        for j in range(rgb.shape[1]):
            for c, row in enumerate(m):
                v = 0.0
                for k in range(3):
                    v += row[k] * rgb[i, j, k]
                out[i, j, c] = min(v, 255.0)
    return out


def test_images():
    rng = np.random.default_rng(2)
    image = rng.random((10, 12)).astype(np.float32)
    rgb = rng.integers(0, 256, (5, 6, 3)).astype(np.uint8)
    same(blur, image, 1, rtol=1e-6)
    same(grey, rgb.astype(np.float64))
    same(grey_indexed, rgb.astype(np.int64))
    same(sobel, image.astype(float), rtol=1e-15)
    same(threshold, image.astype(float), 0.5, rtol=1e-14)
    same(gamma_correct, rgb[:, :, 0], 2.2)
    same(gamma_correct, rgb[:, :, 0].copy(), 0.45)
    same(rotate_quarter, image)
    same(otsu, rgb[..., 1])
    same(median_filter, image)
    same(sepia, rgb)


def float32_stays(a, k):
    out = np.empty_like(a)
    for i in range(a.size):
        x = a[i] * 0.5 + 1
        y = x if x > 1 else -x
        out[i] = y * k[0] - 2 * a[i] ** 2
    return out, a[0] * 0.5


def test_float32_arithmetic_is_float32():
    a = np.random.default_rng(3).random(9).astype(np.float32)
    same(float32_stays, a, a[:1])


# --- transforms and signals ---


def fft(x):
    n = x.shape[0]
    a = x.astype(np.complex128)
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
        if i < j:
            a[i], a[j] = a[j], a[i]
    length = 2
    while length <= n:
        w = np.exp(-2j * np.pi / length)
        for start in range(0, n, length):
            f = 1 + 0j
            for k in range(start, start + length // 2):
                u, v = a[k], a[k + length // 2] * f
                a[k], a[k + length // 2] = u + v, u - v
                f *= w
        length <<= 1
    return a


def fft_recursive(x):
    n = len(x)
    if n == 1:
        return x.copy()
    even, odd = fft_recursive(x[::2]), fft_recursive(x[1::2])
    out = np.empty(n, dtype=np.complex128)
    for k in range(n // 2):
        t = np.exp(-2j * np.pi * k / n) * odd[k]
        out[k] = even[k] + t
        out[k + n // 2] = even[k] - t
    return out


def dft(x):
    n = len(x)
    out = np.zeros(n, dtype=complex)
    for k in range(n):
        for t in range(n):
            angle = 2 * math.pi * t * k / n
            out[k] += x[t] * complex(math.cos(angle), -math.sin(angle))
    return out


def dct(x):
    n = x.size
    return_value = np.zeros(n)
    for k in range(n):
        for i in range(n):
            return_value[k] += x[i] * math.cos(math.pi * k * (2 * i + 1) / (2 * n))
    return 2 * return_value


def test_fourier():
    x = np.random.default_rng(4).standard_normal(16)
    got = same(fft, x, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(got, np.fft.fft(x), atol=1e-12)
    same(fft, x.astype(np.complex64), rtol=1e-11, atol=1e-13)
    same(fft_recursive, x + 0j, rtol=1e-11, atol=1e-13)
    same(dft, x[:7], rtol=1e-11, atol=1e-13)
    same(dct, x[::2], rtol=1e-11, atol=1e-13)


def convolve(x, h, mode="full"):
    n, m = len(x), len(h)
    full = np.zeros(n + m - 1)
    for i in range(n):
        for j in range(m):
            full[i + j] += x[i] * h[j]
    if mode == "full":
        return full
    if mode == "same":
        start = (m - 1) // 2
        return full[start : start + n]
    if mode == "valid":
        return full[m - 1 : n]
    raise ValueError("mode")


def convolve_2d(image, kernel):
    kh, kw = kernel.shape
    out = np.zeros((image.shape[0] - kh + 1, image.shape[1] - kw + 1), dtype=image.dtype)
    flipped = kernel[::-1, ::-1]
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = (image[i : i + kh, j : j + kw] * flipped).sum()
    return out


def iir(x, b, a):
    y = np.zeros_like(x)
    z = np.zeros(len(a) - 1)
    for n, v in enumerate(x):
        y[n] = b[0] * v + z[0]
        for i in range(1, len(z)):
            z[i - 1] = b[i] * v + z[i] - a[i] * y[n]
        z[-1] = b[-1] * v - a[-1] * y[n]
    return y


def biquad(x, coefficients, state=(0.0, 0.0)):
    b0, b1, b2, a1, a2 = coefficients
    s1, s2 = state
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = b0 * x[i] + s1
        s1 = b1 * x[i] - a1 * y[i] + s2
        s2 = b2 * x[i] - a2 * y[i]
    return y, (s1, s2)


def moving_average(x, n):
    c = np.zeros(x.size + 1)
    for i in range(x.size):
        c[i + 1] = c[i] + x[i]
    return (c[n:] - c[:-n]) / n


def savitzky(x):
    w = np.array([-3, 12, 17, 12, -3]) / 35
    out = x.copy()
    for i in range(2, len(x) - 2):
        out[i] = np.sum(w * x[i - 2 : i + 3])
    return out


def peaks(x, height):
    found = np.empty(x.size, dtype=np.int64)
    n = 0
    for i in range(1, x.size - 1):
        if x[i - 1] < x[i] > x[i + 1] and x[i] >= height:
            found[n] = i
            n += 1
    return found[:n].copy()


def zero_crossings(x):
    count = 0
    for a, b in zip(x[:-1], x[1:]):
        if a * b < 0 or a == 0.0:
            count += 1
    return count


def autocorrelation(x, lags):
    x = x - x.mean()
    out = np.empty(lags)
    for k in range(lags):
        out[k] = (x[k:] * x[: x.size - k]).sum()
    return out / out[0]


def hann(n):
    w = np.empty(n)
    for i in range(n):
        w[i] = 0.5 - 0.5 * np.cos(2 * np.pi * i / (n - 1))
    return w


def haar(x):
    out = x.copy()
    n = len(x)
    while n > 1:
        half = n // 2
        tmp = out[:n].copy()
        out[:half] = (tmp[0::2] + tmp[1::2]) / 2
        out[half:n] = (tmp[0::2] - tmp[1::2]) / 2
        n = half
    return out


def goertzel(x, k):
    w = 2 * math.pi * k / len(x)
    c = 2 * math.cos(w)
    s1 = s2 = 0.0
    for v in x:
        s1, s2 = v + c * s1 - s2, s1
    return s1**2 + s2**2 - c * s1 * s2


def dtw(a, b):
    d = np.full((a.size + 1, b.size + 1), np.inf)
    d[0, 0] = 0
    for i in range(1, a.size + 1):
        for j in range(1, b.size + 1):
            d[i, j] = abs(a[i - 1] - b[j - 1]) + min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1])
    return d[a.size, b.size]


def test_signals():
    rng = np.random.default_rng(5)
    x, h = rng.standard_normal(20), rng.standard_normal(4)
    same(convolve, x, h)
    same(convolve, x, h, "same")
    same(convolve, x, h, "valid")
    same(convolve, x, h, "circular")
    same(convolve_2d, rng.random((6, 7)), rng.random((3, 3)), rtol=1e-13)
    same(iir, x, np.array([0.2, 0.3, 0.2]), np.array([1.0, -0.5, 0.2]))
    same(biquad, x, (0.2, 0.3, 0.2, -0.5, 0.2))
    same(biquad, x, (0.2, 0.3, 0.2, -0.5, 0.2), (1.0, 2.0))
    same(moving_average, x, 4)
    same(savitzky, x, rtol=1e-12, atol=1e-14)
    same(peaks, x, 0.2)
    same(zero_crossings, x)
    same(autocorrelation, x, 5, rtol=1e-12)
    same(hann, 9, rtol=1e-12, atol=1e-15)
    same(haar, x[:16])
    same(goertzel, x, 3, rtol=1e-11)
    same(dtw, x[:9], x[5:])


# --- views of views ---


def view_games(a):
    b = a[1:-1]
    c = b[::-2]
    c[0] = 100
    d = c[1:][::-1]
    d[:] = d * 2
    b[1:3][::-1][0] -= 7
    return b, c, d.sum(), d.shape, a[-1]


def blocks(a):
    n = a.shape[0] // 2
    quarter = a[:n, n:]
    quarter[...] = quarter.T.copy()
    a[n:, :n].T[0, 1] = -1
    a[..., 0] += 10
    a[:, np.newaxis, 1][0, 0] = 77
    return quarter


def diagonal_blocks(a):
    total = 0.0
    for i in range(0, a.shape[0], 2):
        b = a[i : i + 2, i : i + 2]
        total += b[0, 0] * b[1, 1] - b[0][1] * b[1][0]
        b[0][:] = 0
    return total


def slices_as_values(a, k):
    s = slice(k, None, 2)
    t = (slice(None), s) if a.ndim == 2 else s
    return a[t], a[s]


def shifts(a):
    out = np.zeros((3, a.size))
    out[0, 1:] = a[:-1]
    out[1, :-1] = a[1:]
    out[2] = a[::-1]
    return out


def overlapping(a):
    a[1:] = a[:-1]
    a[:-2] += a[2:]
    return a


def out_of_range_slices(a):
    return a[5:100], a[100:], a[-100:2], a[3:1], a[::-1][:3], a[-1:-4:-1]


def swap_rows(a, i, j):
    tmp = a[i].copy()
    a[i] = a[j]
    a[j] = tmp


def column_sums(a):
    out = np.zeros(a.shape[1])
    for row in a:
        out += row
    return out


def same_object(a):
    a[0] = 1
    return a


def broadcast_rows(a, row, column):
    a += row
    a[:] = a * column.reshape(column.size, 1)
    a[1:, 2] = 5
    return a


def test_views():
    a = np.arange(12.0)
    same(view_games, a)
    same(view_games, np.arange(24)[::2])
    same(blocks, np.arange(36.0).reshape(6, 6))
    same(blocks, np.arange(36.0).reshape(6, 6, order="F"))
    same(diagonal_blocks, np.random.default_rng(6).random((6, 6)))
    same(slices_as_values, np.arange(20).reshape(4, 5), 1)
    same(slices_as_values, np.arange(9), 2)
    same(shifts, np.arange(5.0))
    same(overlapping, np.arange(9.0))
    same(out_of_range_slices, np.arange(8))
    same(swap_rows, np.arange(12).reshape(4, 3), 0, -1)
    same(column_sums, np.arange(12).reshape(4, 3).T)
    same(broadcast_rows, np.ones((3, 4)), np.arange(4.0), np.arange(3.0))
    assert njit(same_object)(a) is a


# --- tuples of arrays ---


def dot_all(arrays, weights=(1.0, 2.0, 3.0)):
    total = 0.0
    for i in range(len(arrays)):
        total += weights[i] * arrays[i].sum()
    return total


def split(a, k):
    return a[:k], a[k:], (a.size, a[0])


def min_max(*arrays):
    lo, hi = np.inf, -np.inf
    for a in arrays:
        for x in a:
            lo, hi = min(lo, x), max(hi, x)
    return lo, hi


def all_of(a, b):
    return min_max(a, b, a[1:]), min_max(b)


def gram(vectors):
    n = len(vectors)
    g = np.empty((n, n))
    for i, u in enumerate(vectors):
        for j, v in enumerate(vectors):
            s = 0.0
            for k in range(len(u)):
                s += u[k] * v[k]
            g[i, j] = s
    return g


def stacked(n):
    a, b = np.zeros(n), np.ones(n)
    pair = (a, b)
    for i in range(10):
        pair = (pair[1], pair[0] + pair[1])
    return pair


def test_tuples_of_arrays():
    a, b, c = np.arange(4.0), np.ones(3), np.arange(2.0)
    same(dot_all, (a, b, c))
    same(split, a, 2)
    same(all_of, a, b)
    same(gram, (a, a + 1, a * 2))
    same(stacked, 3)


# --- edges ---


def summary(a):
    n = a.size
    if n == 0:
        return 0, 0.0, -1
    s = 0.0
    for v in a.flat:
        s += v
    return n, s, a.ndim


def ranks(a, b, c):
    return a.ndim, b.ndim, c.ndim, a.shape, c.shape, a.item() + b.item(), a[()] * 2, c.size


def fill_zero_d(a):
    a[()] = 3.5
    a[...] += 1
    return a


def special(x, y):
    return x + y, x - y, x * y, x < y, x == y, x != y, min(x, y), max(x, y), abs(x), -x, math.copysign(1.0, x)


def sign_of_zero(x):
    z = -0.0
    return z, z + 0.0, z * x, -x * 0.0, math.atan2(z, -1.0), 0.0 - z, z == 0.0, round(-0.4), math.floor(-0.0)


def nan_aware_mean(a):
    s, n = 0.0, 0
    for v in a:
        if v == v and not np.isinf(v):
            s += v
            n += 1
    return s / n if n else np.nan


def nan_reductions(a):
    return (
        a.sum(),
        a.max(),
        a.min(),
        np.mean(a),
        a.argmax(),
        a.argmin(),
        np.any(np.isnan(a)),
        a.any(),
        a.all(),
    )


def empty_reductions(a):
    return a.sum(), a.prod(), a.any(), a.all(), a.shape, a.copy()


def empty_max(a):
    return a.max()


def empty_made(n):
    z = np.zeros((n, 3))
    t = 0
    for row in z:
        t += 1
    for i in range(z.shape[0] - 1, -1, -1):
        t += 10
    return z, z.T, z[:, 1:], t, np.arange(n), np.empty((0, n))


def test_edges():
    for a in (
        np.empty(0),
        np.empty((0, 3)),
        np.array(2.5),
        np.arange(6).reshape(2, 3)[:, ::2],
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    ):
        same(summary, a)
    same(ranks, np.array(1.5), np.array([[2]]), np.empty((2, 0, 3)))
    same(fill_zero_d, np.array(0.0))
    nan, inf = float("nan"), float("inf")
    for x in (nan, inf, -inf, 0.0, -0.0, 1.5):
        for y in (nan, inf, 0.0, -0.0, -2.5):
            same(special, x, y)
        same(sign_of_zero, x) if x == x else None
    same(nan_aware_mean, np.array([1.0, nan, inf, 3.0]))
    same(nan_aware_mean, np.array([nan]))
    same(nan_reductions, np.array([1.0, nan, 3.0]))
    same(nan_reductions, np.array([1.0, -inf, 3.0]))
    same(nan_reductions, np.array([2.0, 1.0, 2.0]))
    same(empty_reductions, np.empty(0))
    same(empty_made, 0)
    same(empty_made, 2)


def test_empty_max_raises():
    with pytest.raises(ValueError, match="zero-size"):
        njit(empty_max)(np.empty(0))


def write_first(a):
    a[0] = 1


def read_all(a):
    return a.sum() + a[-1]


def test_read_only():
    a = np.arange(4.0)
    a.flags.writeable = False
    same(read_all, a)
    with pytest.raises((TypeError, ValueError), match="read-only"):
        njit(write_first)(a)


def integer_edges(a, b):
    return (
        a // b,
        a % b,
        divmod(a, b),
        a / b,
        a >> 1,
        a << 2,
        a ^ b,
        a & b,
        a | b,
        ~a,
        -a,
        abs(a),
        a**2,
        a == b,
    )


def test_integer_edges():
    for a in (-7, 7, 0, -1, 2**31, -(2**31)):
        for b in (-3, 3, 1, -1):
            same(integer_edges, a, b)
        same(integer_edges, a, 0)


def conversions(x):
    return (
        int(x),
        float(int(x)),
        bool(x),
        round(x),
        round(x, 1),
        math.floor(x),
        math.ceil(x),
        math.trunc(x),
        int(x) % 7,
    )


def test_conversions():
    for x in (0.0, -0.5, 2.5, 3.5, -2.5, 1e15, -1234.5678):
        same(conversions, x)


def element_errors(a, i, j):
    return a[i, j]


def test_index_errors_have_numpys_kind():
    a = np.arange(6.0).reshape(2, 3)
    for i, j in [(1, 2), (-1, -3), (0, -1)]:
        same(element_errors, a, i, j)
    for i, j in [(2, 0), (0, 3), (-3, 0), (0, -4)]:
        with pytest.raises(IndexError):
            njit(element_errors)(a, i, j)


def checked(x, lo=0, hi=10):
    if x < lo:
        raise ValueError("too small")
    if x > hi:
        raise OverflowError("too large", x, hi)
    if x == 5:
        raise RuntimeError
    assert x != 7, "seven"
    assert x != 8
    return x


def checked_twice(x):
    y = checked(x, hi=20)
    return checked(y - 1) + y


def test_errors_carry_their_arguments():
    for x in (0, 1, 5, 6, 7, 8, 12, -1, 30):
        same(checked, x)
        same(checked_twice, x)


def partly(a, k):
    for i in range(a.size):
        if i == k:
            raise StopIteration("at", i)
        a[i] = -1


def test_stores_before_an_error_stay():
    same(partly, np.arange(6), 3)
    same(partly, np.arange(6), 9)


def while_else(a, x):
    i = 0
    while i < len(a):
        if a[i] == x:
            break
        i += 1
    else:
        return -1
    return i


def nested_else(a):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] < 0:
                break
        else:
            return i
    return -1


def early(a, b):
    if a > b:
        return a - b, True
    for i in range(b):
        if i * i > a:
            return i, False
    return 0, False


def test_control_flow():
    same(while_else, np.array([3, 1, 2]), 2)
    same(while_else, np.array([3, 1, 2]), 5)
    same(while_else, np.empty(0, int), 5)
    same(nested_else, np.array([[1, -1], [2, -2], [3, 4]]))
    same(nested_else, np.array([[1, -1], [2, -2]]))
    same(early, 5, 3)
    same(early, 2, 9)
    same(early, 9, 9)
