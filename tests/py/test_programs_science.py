"""Programs: Monte Carlo, many bodies, statistics, finance, geometry, complex numbers, clustering, named tuples as records.

PYTEST_DONT_REWRITE: the programs hold `assert`s of their own.
"""

from __future__ import annotations

import cmath
import math
import sys
from collections import namedtuple
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from programs import same  # noqa: E402
from treadle import njit  # noqa: E402

# --- Monte Carlo with a generator of one's own ---

LCG_A, LCG_C, LCG_M = 1664525, 1013904223, 2**32


def lcg(state):
    return (LCG_A * state + LCG_C) % LCG_M


def pi_monte_carlo(n, seed):
    hits = 0
    s = seed
    for _ in range(n):
        s = lcg(s)
        x = s / LCG_M
        s = lcg(s)
        y = s / LCG_M
        if x * x + y * y <= 1.0:
            hits += 1
    return 4 * hits / n


def uniform(state):
    state[0] = (LCG_A * state[0] + LCG_C) & 0xFFFFFFFF
    return state[0] / LCG_M


def normal_pair(state):
    while True:
        u = 2 * uniform(state) - 1
        v = 2 * uniform(state) - 1
        s = u * u + v * v
        if 0 < s < 1:
            f = math.sqrt(-2 * math.log(s) / s)
            return u * f, v * f


def random_walk(n, seed):
    state = np.array([seed])
    path = np.zeros((n + 1, 2))
    for i in range(n):
        dx, dy = normal_pair(state)
        path[i + 1, 0] = path[i, 0] + dx
        path[i + 1, 1] = path[i, 1] + dy
    return path, state[0]


def metropolis(spins, beta, sweeps, seed):
    n, m = spins.shape
    state = np.array([seed], dtype=np.int64)
    energy = 0
    for _ in range(sweeps):
        for i in range(n):
            for j in range(m):
                around = (
                    spins[(i + 1) % n, j]
                    + spins[(i - 1) % n, j]
                    + spins[i, (j + 1) % m]
                    + spins[i, (j - 1) % m]
                )
                d = 2 * spins[i, j] * around
                if d <= 0 or uniform(state) < math.exp(-beta * d):
                    spins[i, j] *= -1
                    energy += d
    return energy, spins.sum()


def test_monte_carlo():
    same(pi_monte_carlo, 2000, 42)
    same(random_walk, 50, 7, rtol=1e-12)
    same(metropolis, np.where(np.random.default_rng(1).random((8, 8)) < 0.5, 1, -1), 0.44, 5, 3)
    same(
        metropolis, np.where(np.random.default_rng(1).random((8, 8)) < 0.5, 1, -1).astype(np.int8), 0.44, 5, 3
    )


def shuffle(a, seed):
    s = np.uint32(seed)
    for i in range(len(a) - 1, 0, -1):
        s = np.uint32((np.uint64(s) * np.uint64(LCG_A) + np.uint64(LCG_C)) & np.uint64(0xFFFFFFFF))
        j = int(s) % (i + 1)
        a[i], a[j] = a[j], a[i]
    return a


def test_fisher_yates():
    same(shuffle, np.arange(20), 99)


# --- many bodies ---


def accelerations(pos, mass, acc, soft=1e-3):
    n = pos.shape[0]
    acc[:] = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            d = pos[j] - pos[i]
            r2 = (d * d).sum() + soft
            inv = 1.0 / (r2 * math.sqrt(r2))
            acc[i] += mass[j] * inv * d
            acc[j] -= mass[i] * inv * d


def leapfrog(pos, vel, mass, dt, steps):
    acc = np.zeros_like(pos)
    accelerations(pos, mass, acc)
    for _ in range(steps):
        vel += 0.5 * dt * acc
        pos += dt * vel
        accelerations(pos, mass, acc)
        vel += 0.5 * dt * acc


def energy(pos, vel, mass):
    kinetic = potential = 0.0
    n = len(mass)
    for i in range(n):
        kinetic += 0.5 * mass[i] * np.dot(vel[i], vel[i])
        for j in range(i):
            dx, dy, dz = pos[i, 0] - pos[j, 0], pos[i, 1] - pos[j, 1], pos[i, 2] - pos[j, 2]
            potential -= mass[i] * mass[j] / math.sqrt(dx**2 + dy**2 + dz**2)
    return kinetic + potential, kinetic, potential


def test_n_body():
    rng = np.random.default_rng(2)
    pos, vel, mass = rng.standard_normal((5, 3)), rng.standard_normal((5, 3)), rng.random(5) + 0.1
    same(leapfrog, pos, vel, mass, 0.01, 10, rtol=1e-11, atol=1e-13)
    same(energy, pos, vel, mass, rtol=1e-12)
    same(leapfrog, np.asfortranarray(pos), vel, mass, 0.01, 3, rtol=1e-11, atol=1e-13)


def lennard_jones(r, eps=1.0, sigma=1.0, cutoff=None):
    if cutoff is not None and r > cutoff:
        return 0.0
    s6 = (sigma / r) ** 6
    return 4 * eps * (s6 * s6 - s6)


def total_energy(xs, box, cutoff):
    e = 0.0
    for i in range(xs.shape[0]):
        for j in range(i):
            r2 = 0.0
            for k in range(xs.shape[1]):
                d = xs[i, k] - xs[j, k]
                d -= box * round(d / box)
                r2 += d * d
            e += lennard_jones(math.sqrt(r2), cutoff=cutoff) + 0 * lennard_jones(1.5)
    return e


def test_lennard_jones_with_none_as_default():
    same(lennard_jones, 1.2, rtol=1e-14)
    same(lennard_jones, 1.2, 1.0, 1.0, 1.1)
    same(total_energy, np.random.default_rng(3).random((6, 3)) * 5, 5.0, 2.5, rtol=1e-9)


# --- records ---


class Particle(NamedTuple):
    mass: float
    pos: tuple[float, float]
    charge: int = 1


def kick(p, dx, dy):
    x, y = p.pos
    return Particle(p.mass, (x + dx, y + dy), p.charge)


def distance(p, q):
    return math.hypot(p.pos[0] - q.pos[0], p.pos[1] - q.pos[1])


def coulomb(p, q):
    return p.charge * q.charge / distance(p, kick(q, 0.5, -0.5)) ** 2


def default_particle(m):
    return Particle(m, (0.0, 1.0))


def with_keywords(m):
    return Particle(charge=3, mass=m, pos=(m, m))


def test_records():
    p, q = Particle(1.0, (0.0, 0.0), -1), Particle(2.0, (3.0, 4.0), 2)
    same(kick, p, 1.0, 2.0)
    same(coulomb, p, q)
    same(default_particle, 2.5)
    same(with_keywords, 2.5)


Grid = namedtuple("Grid", "values dx dy")
Params = namedtuple("Params", ["alpha", "steps", "boundary"])


def diffuse(grid, params):
    u = grid.values
    for _ in range(params.steps):
        new = u.copy()
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                lap = (u[i + 1, j] - 2 * u[i, j] + u[i - 1, j]) / grid.dx**2 + (
                    u[i, j + 1] - 2 * u[i, j] + u[i, j - 1]
                ) / grid.dy**2
                new[i, j] = u[i, j] + params.alpha * lap
        if params.boundary:
            new[0], new[-1] = new[1], new[-2]
        u = new
    return Grid(u, grid.dx, grid.dy)


def test_record_of_arrays():
    same(diffuse, Grid(np.random.default_rng(4).random((6, 7)), 1.0, 2.0), Params(0.1, 5, True))


# --- statistics ---


def moments(x):
    n = x.size
    if n == 0:
        raise ValueError("empty sample")
    mean = 0.0
    m2 = 0.0
    m3 = 0.0
    for i, v in enumerate(x):
        delta = v - mean
        dn = delta / (i + 1)
        term = delta * dn * i
        mean += dn
        m3 += term * dn * (i - 1) - 3 * dn * m2
        m2 += term
    std = math.sqrt(m2 / (n - 1)) if n > 1 else float("nan")
    return mean, std, m3


def median(a):
    b = a.copy()
    for i in range(1, b.size):
        v = b[i]
        j = i
        while j > 0 and b[j - 1] > v:
            b[j] = b[j - 1]
            j -= 1
        b[j] = v
    n = b.size
    if n % 2:
        return b[n // 2]
    return (b[n // 2 - 1] + b[n // 2]) / 2


def median_of_floats(a):
    return median(a)


def histogram(x, lo, hi, bins):
    counts = np.zeros(bins, dtype=np.int64)
    width = (hi - lo) / bins
    outside = 0
    for v in x:
        if math.isnan(v) or not lo <= v <= hi:
            outside += 1
            continue
        k = int((v - lo) / width)
        counts[min(k, bins - 1)] += 1
    edges = np.empty(bins + 1)
    for i in range(bins + 1):
        edges[i] = lo + i * width
    return counts, edges, outside


def covariance(x):
    n, p = x.shape
    means = np.zeros(p)
    for j in range(p):
        means[j] = x[:, j].mean()
    c = np.zeros((p, p))
    for i in range(p):
        for j in range(i, p):
            s = 0.0
            for k in range(n):
                s += (x[k, i] - means[i]) * (x[k, j] - means[j])
            c[i, j] = c[j, i] = s / (n - 1)
    return means, c


def linear_regression(x, y):
    mx, my = x.mean(), np.mean(y)
    dx, dy = x - mx, y - my
    slope = (dx * dy).sum() / (dx**2).sum()
    intercept = my - slope * mx
    residual = y - (slope * x + intercept)
    r2 = 1 - np.sum(residual**2) / np.sum(dy**2)
    return slope, intercept, r2


def kahan(x):
    total = 0.0
    c = 0.0
    for v in x:
        y = v - c
        t = total + y
        c = (t - total) - y
        total = t
    return total


def running_quantile(x, window, q):
    n = x.shape[0] - window + 1
    out = np.full(max(n, 0), np.nan)
    buf = np.empty(window)
    for i in range(n):
        buf[:] = x[i : i + window]
        for a in range(window):
            for b in range(window - 1 - a):
                if buf[b] > buf[b + 1]:
                    buf[b], buf[b + 1] = buf[b + 1], buf[b]
        position = q * (window - 1)
        k = int(math.floor(position))
        f = position - k
        out[i] = buf[k] if k + 1 == window else buf[k] * (1 - f) + buf[k + 1] * f
    return out


def kolmogorov(a, b):
    i = j = 0
    d = 0.0
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            i += 1
        else:
            j += 1
        d = max(d, abs(i / len(a) - j / len(b)))
    return d


def mode(a):
    best, best_count = a[0], 0
    for x in a:
        c = 0
        for y in a:
            c += x == y
        if c > best_count:
            best, best_count = x, c
    return best, best_count


def test_statistics():
    rng = np.random.default_rng(5)
    x = rng.standard_normal(60)
    same(moments, x)
    same(moments, x[:1])
    same(moments, x[:0])
    same(median, x)
    same(median, x[:-1])
    same(median, np.array([5, 1]))
    same(histogram, np.append(x, [np.nan, 9, -2.0, 2.0]), -2.0, 2.0, 7)
    same(covariance, rng.random((20, 3)), rtol=1e-12)
    same(covariance, rng.random((20, 3)).T.copy().T, rtol=1e-12)
    same(linear_regression, x, 2 * x + rng.random(60), rtol=1e-12)
    same(kahan, rng.random(100) * 1e10)
    same(running_quantile, x, 9, 0.3)
    same(running_quantile, x, 5, 1.0)
    same(running_quantile, x[:3], 5, 0.5)
    same(kolmogorov, np.sort(x[:30]), np.sort(x[30:]))
    same(mode, rng.integers(0, 5, 30))


# --- finance ---


def norm_cdf(x):
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def black_scholes(s, k, t, r, sigma, kind="call"):
    d1 = (math.log(s / k) + (r + sigma**2 / 2) * t) / (sigma * math.sqrt(t))
    d2 = d1 - sigma * math.sqrt(t)
    if kind == "call":
        return s * norm_cdf(d1) - k * math.exp(-r * t) * norm_cdf(d2)
    if kind == "put":
        return k * math.exp(-r * t) * norm_cdf(-d2) - s * norm_cdf(-d1)
    raise ValueError("kind must be 'call' or 'put'")


def chain_prices(spots, strike, t, r, sigma):
    out = np.empty((2, len(spots)))
    for i in range(len(spots)):
        out[0, i] = black_scholes(spots[i], strike, t, r, sigma)
        out[1, i] = black_scholes(spots[i], strike, t, r, sigma, kind="put")
    return out


def implied_volatility(price, s, k, t, r):
    lo, hi = 1e-6, 5.0
    while hi - lo > 1e-10:
        mid = 0.5 * (lo + hi)
        if black_scholes(s, k, t, r, mid) > price:
            hi = mid
        else:
            lo = mid
    return lo


def binomial_tree(s, k, t, r, sigma, n, american):
    dt = t / n
    u = math.exp(sigma * math.sqrt(dt))
    d = 1 / u
    p = (math.exp(r * dt) - d) / (u - d)
    discount = math.exp(-r * dt)
    values = np.empty(n + 1)
    for i in range(n + 1):
        values[i] = max(k - s * u ** (2 * i - n), 0)
    for step in range(n - 1, -1, -1):
        for i in range(step + 1):
            values[i] = discount * (p * values[i + 1] + (1 - p) * values[i])
            if american:
                values[i] = max(values[i], k - s * u ** (2 * i - step))
    return values[0]


def irr(cash):
    rate = 0.1
    for _ in range(100):
        npv = 0.0
        slope = 0.0
        for t, c in enumerate(cash):
            npv += c / (1 + rate) ** t
            slope -= t * c / (1 + rate) ** (t + 1)
        step = npv / slope
        rate -= step
        if abs(step) < 1e-12:
            return rate
    return np.nan


def drawdown(prices):
    peak = prices[0]
    worst = 0.0
    for p in prices:
        if p > peak:
            peak = p
        worst = max(worst, 1 - p / peak)
    return worst


def ema(x, span):
    alpha = 2 / (span + 1)
    out = np.empty_like(x)
    if len(x):
        out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = alpha * x[i] + (1 - alpha) * out[i - 1]
    return out


def amortise(principal, rate, months):
    payment = principal * rate / (1 - (1 + rate) ** -months)
    schedule = np.zeros((months, 3))
    balance = principal
    for m in range(months):
        interest = balance * rate
        schedule[m, :] = (payment, interest, balance)
        balance -= payment - interest
    return schedule, round(payment, 2)


def test_finance():
    same(black_scholes, 100.0, 95.0, 0.5, 0.02, 0.3, rtol=1e-13)
    same(black_scholes, 100, 95, 1, 0.02, 0.3, rtol=1e-13)
    same(black_scholes, 100.0, 95.0, 0.5, 0.02, 0.3, "put", rtol=1e-12)
    same(black_scholes, 100.0, 95.0, 0.5, 0.02, 0.3, "straddle")
    same(chain_prices, np.linspace(80, 120, 9), 100.0, 0.5, 0.02, 0.3, rtol=1e-11)
    same(implied_volatility, 12.0, 100.0, 95.0, 0.5, 0.02, rtol=1e-8)
    same(binomial_tree, 100.0, 105.0, 1.0, 0.05, 0.2, 50, True, rtol=1e-12)
    same(binomial_tree, 100.0, 105.0, 1.0, 0.05, 0.2, 50, False, rtol=1e-12)
    same(irr, np.array([-100.0, 30.0, 40.0, 50.0]), rtol=1e-12)
    same(irr, (-100.0, 30.0, 40.0, 50.0), rtol=1e-12)
    same(drawdown, np.array([1.0, 3.0, 2.0, 4.0, 1.0]))
    same(ema, np.random.default_rng(6).random(20), 5)
    same(amortise, 1000.0, 0.01, 12, rtol=1e-13)


# --- geometry ---


def point_in_polygon(x, y, poly):
    inside = False
    j = len(poly) - 1
    for i in range(len(poly)):
        if (poly[i, 1] > y) != (poly[j, 1] > y) and x < (poly[j, 0] - poly[i, 0]) * (y - poly[i, 1]) / (
            poly[j, 1] - poly[i, 1]
        ) + poly[i, 0]:
            inside = not inside
        j = i
    return inside


def mask(poly, n):
    out = np.zeros((n, n), dtype=np.bool_)
    for i in range(n):
        for j in range(n):
            out[i, j] = point_in_polygon(j / n, i / n, poly)
    return out, out.sum()


def haversine(lat1, lon1, lat2, lon2, radius=6371.0):
    p1, p2 = math.radians(lat1), math.radians(lat2)
    a = (
        math.sin((p2 - p1) / 2) ** 2
        + math.cos(p1) * math.cos(p2) * math.sin(math.radians(lon2 - lon1) / 2) ** 2
    )
    return 2 * radius * math.asin(math.sqrt(a))


def pairwise(a, b, metric):
    out = np.empty((a.shape[0], b.shape[0]))
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            out[i, j] = metric(a[i], b[j])
    return out


def euclid(u, v):
    return math.sqrt(((u - v) ** 2).sum())


def manhattan(u, v):
    return np.abs(u - v).sum()


def chebyshev(u, v):
    m = 0.0
    for x, y in zip(u, v):
        m = max(m, abs(x - y))
    return m


def cross(o, a, b):
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])


def convex_hull(points):
    n = points.shape[0]
    hull = np.empty((2 * n, 2))
    k = 0
    for i in range(n):
        while k >= 2 and cross(hull[k - 2], hull[k - 1], points[i]) <= 0:
            k -= 1
        hull[k] = points[i]
        k += 1
    t = k + 1
    for i in range(n - 2, -1, -1):
        while k >= t and cross(hull[k - 2], hull[k - 1], points[i]) <= 0:
            k -= 1
        hull[k] = points[i]
        k += 1
    return hull[: k - 1]


def polygon_area(p):
    return 0.5 * abs(
        np.dot(p[:-1, 0], p[1:, 1]) - np.dot(p[1:, 0], p[:-1, 1]) + p[-1, 0] * p[0, 1] - p[0, 0] * p[-1, 1]
    )


def rotate(points, angle):
    c, s = np.cos(angle), np.sin(angle)
    m = np.array([[c, -s], [s, c]])
    out = np.zeros_like(points)
    for k in range(len(points)):
        for i in range(2):
            for j in range(2):
                out[k, i] += m[i, j] * points[k, j]
    return out


def test_geometry():
    rng = np.random.default_rng(7)
    square = np.array([[0.1, 0.1], [0.9, 0.2], [0.7, 0.9], [0.3, 0.6]])
    same(mask, square, 12)
    same(haversine, 52.5, 13.4, 48.9, 2.35, rtol=1e-13)
    same(haversine, 52, 13, 48, 2, rtol=1e-13)
    a, b = rng.random((4, 3)), rng.random((5, 3))
    for metric in (euclid, manhattan, chebyshev):
        same(pairwise, a, b, metric, rtol=1e-13)
    points = rng.random((20, 2))
    same(convex_hull, points[np.lexsort((points[:, 1], points[:, 0]))])
    same(polygon_area, square, rtol=1e-13)
    same(rotate, points, 0.3, rtol=1e-13)


# --- complex numbers ---


def julia(c, n, limit):
    out = np.zeros((n, n), dtype=np.uint8)
    for i in range(n):
        for j in range(n):
            z = complex(-1.5 + 3 * j / n, -1.5 + 3 * i / n)
            k = 0
            while abs(z) <= 2 and k < limit:
                z = z * z + c
                k += 1
            out[i, j] = k
    return out


def mandelbrot(xs, ys, limit):
    out = np.empty((ys.size, xs.size), np.int32)
    for i, y in enumerate(ys):
        for j, x in enumerate(xs):
            c = x + 1j * y
            z = 0
            for k in range(limit):
                if z.real**2 + z.imag**2 > 4:
                    break
                z = z**2 + c
            else:
                k = limit
            out[i, j] = k
    return out


def newton_fractal(n, steps):
    roots = (1 + 0j, cmath.exp(2j * math.pi / 3), cmath.exp(-2j * math.pi / 3))
    out = np.full((n, n), -1, dtype=np.int8)
    for i in range(n):
        for j in range(n):
            z = complex(2 * i / n - 1, 2 * j / n - 1)
            if z == 0:
                continue
            for _ in range(steps):
                z -= (z**3 - 1) / (3 * z**2)
            for k, r in enumerate(roots):
                if abs(z - r) < 1e-6:
                    out[i, j] = k
    return out


def impedance(freqs, r, l, c):
    out = np.empty(freqs.shape, np.complex128)
    for i, f in enumerate(freqs):
        w = 2 * math.pi * f
        out[i] = r + 1j * w * l + 1 / (1j * w * c)
    return out, np.abs(out), out.real, out.imag.copy()


def polar(z):
    r, phi = cmath.polar(z)
    return r, math.degrees(phi), cmath.rect(r, phi), z.conjugate(), abs(z)


def test_complex():
    same(julia, -0.8 + 0.156j, 16, 60)
    same(mandelbrot, np.linspace(-2, 1, 20), np.linspace(-1, 1, 14), 30)
    same(newton_fractal, 11, 30)
    same(impedance, np.array([10.0, 50.0, 1e3]), 100.0, 1e-3, 1e-6, rtol=1e-13)
    same(polar, 3 - 4j, rtol=1e-14)


def mobius(zs, a, b, c, d):
    for i in range(zs.shape[0]):
        zs[i] = (a * zs[i] + b) / (c * zs[i] + d)


def test_complex64_in_place():
    for dtype, rtol in (("c8", 1e-6), ("c16", 1e-14)):
        same(mobius, np.array([1 + 1j, 2, -0.5j], dtype), 1.0, 2.0, 0.5, 3j, rtol=rtol)


# --- clustering and learning ---


def k_means(points, k, iterations):
    n, d = points.shape
    centres = points[:k].copy()
    labels = np.zeros(n, dtype=np.int64)
    for it in range(iterations):
        moved = False
        for i in range(n):
            best = np.inf
            label = 0
            for c in range(k):
                dist = 0.0
                for j in range(d):
                    dist += (points[i, j] - centres[c, j]) ** 2
                if dist < best:
                    best, label = dist, c
            if label != labels[i]:
                labels[i] = label
                moved = True
        sums = np.zeros((k, d))
        counts = np.zeros(k, dtype=np.int64)
        for i in range(n):
            sums[labels[i]] += points[i]
            counts[labels[i]] += 1
        for c in range(k):
            if counts[c] > 0:
                centres[c] = sums[c] / counts[c]
        if not moved:
            return labels, centres, it
    return labels, centres, -1


def logistic(x, y, rate, steps):
    n, d = x.shape
    w = np.zeros(d)
    for _ in range(steps):
        g = np.zeros(d)
        for i in range(n):
            z = 0.0
            for j in range(d):
                z += w[j] * x[i, j]
            p = 1 / (1 + np.exp(-z))
            g += (p - y[i]) * x[i]
        w -= rate * g / n
    return w


def nearest_neighbours(x, q, k):
    dist = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        dist[i] = ((x[i] - q) ** 2).sum()
    out = np.empty(k, np.int64)
    for j in range(k):
        m = dist.argmin()
        out[j] = m
        dist[m] = np.inf
    return out


def perceptron(x, y, epochs=20):
    w = np.zeros(x.shape[1] + 1)
    for epoch in range(epochs):
        errors = 0
        for xi, target in zip(x, y):
            s = w[0]
            for k, v in enumerate(xi, start=1):
                s += w[k] * v
            if (s > 0) != target:
                update = 1.0 if target else -1.0
                w[0] += update
                w[1:] += update * xi
                errors += 1
        if errors == 0:
            break
    return w, epoch


def tanh_layer(w, b, x):
    out = np.empty(b.size, dtype=x.dtype)
    for i in range(b.size):
        acc = b[i]
        for j in range(x.size):
            acc += w[i, j] * x[j]
        out[i] = math.tanh(acc)
    return out


def network(layers, x):
    w1, b1 = layers[0]
    w2, b2 = layers[1]
    return tanh_layer(w2, b2, tanh_layer(w1, b1, x))


def test_learning():
    rng = np.random.default_rng(8)
    points = np.concatenate([rng.random((10, 2)), rng.random((10, 2)) + 3])
    same(k_means, points, 2, 20)
    same(k_means, points.astype("f4").astype("f8"), 3, 1)
    x, y = rng.standard_normal((30, 3)), rng.random(30) < 0.5
    same(logistic, x, y.astype(float), 0.1, 20, rtol=1e-11)
    same(nearest_neighbours, x, x[4] + 0.01, 4)
    same(perceptron, x, x[:, 0] > 0.1)
    layers = ((rng.random((4, 3)), rng.random(4)), (rng.random((2, 4)), rng.random(2)))
    same(network, layers, rng.random(3), rtol=1e-13)


# --- closures ---


def make_integrator(f, h):
    @njit
    def integrate(a, n):
        s = 0.0
        for i in range(n):
            s += f(a + i * h) * h
        return s

    return integrate


def test_closures_over_functions_and_numbers():
    square = make_integrator(lambda x: x * x, 0.01)
    wave = make_integrator(math.sin, 0.1)
    assert square(0.0, 100) == square.py_func(0.0, 100)
    assert abs(wave(0, 31) - wave.py_func(0, 31)) < 1e-14


def inner_functions(x, n):
    scale = 1.0 / n

    def weight(i):
        return math.exp(-i * scale) * x

    total = 0.0
    for i in range(n):
        total += weight(i)
    best = lambda u, v=2.0: max(u, v)  # noqa: E731
    return best(total), best(total, 1e9)


def test_inner_functions():
    same(inner_functions, 0.5, 10, rtol=1e-14)


def compose(f, g, x):
    return f(g(x)), g(f(x))


def test_functions_as_arguments():
    same(compose, math.exp, math.sqrt, 4.0, rtol=1e-15)
    same(compose, lambda x: x + 1, lambda x: 2 * x, 3)
    same(compose, np.sqrt, abs, 9.0)
