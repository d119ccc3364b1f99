"""Programs: integration, differential equations, root finding, interpolation, linear algebra.

PYTEST_DONT_REWRITE: the programs hold `assert`s of their own.
"""

from __future__ import annotations

import cmath
import math
import sys
from collections import namedtuple
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from programs import same  # noqa: E402

# --- integration ---


def gaussian(x):
    return math.exp(-x * x)


def trapezoid(f, a, b, n):
    h = (b - a) / n
    total = 0.5 * (f(a) + f(b))
    for i in range(1, n):
        total += f(a + i * h)
    return total * h


def simpson(f, a, b, n=100):
    if n % 2:
        raise ValueError("n must be even")
    h = (b - a) / n
    s = f(a) + f(b)
    for i in range(1, n, 2):
        s += 4 * f(a + i * h)
    for i in range(2, n - 1, 2):
        s += 2 * f(a + i * h)
    return s * h / 3


def test_trapezoid_of_a_function_argument():
    same(trapezoid, gaussian, 0.0, 2.0, 1000, rtol=1e-13)
    same(trapezoid, math.sin, 0.0, math.pi, 64, rtol=1e-13)


def test_simpson_with_default_and_error():
    same(simpson, gaussian, 0.0, 2.0, rtol=1e-13)
    same(simpson, gaussian, 0.0, 2.0, 51)


def romberg(f, a, b, levels):
    r = np.zeros((levels, levels))
    h = b - a
    r[0, 0] = 0.5 * h * (f(a) + f(b))
    for i in range(1, levels):
        h *= 0.5
        s = 0.0
        for k in range(1, 2**i, 2):
            s += f(a + k * h)
        r[i, 0] = 0.5 * r[i - 1, 0] + h * s
        for j in range(1, i + 1):
            r[i, j] = r[i, j - 1] + (r[i, j - 1] - r[i - 1, j - 1]) / (4**j - 1)
    return r[-1, -1], r


def test_romberg_returns_a_table():
    same(romberg, gaussian, 0.0, 1.0, 7, rtol=1e-13)


def adaptive(f, a, b, eps, whole, depth):
    c = (a + b) / 2
    h = b - a
    left = (h / 12) * (f(a) + 4 * f((a + c) / 2) + f(c))
    right = (h / 12) * (f(c) + 4 * f((c + b) / 2) + f(b))
    delta = left + right - whole
    if depth <= 0 or abs(delta) <= 15 * eps:
        return left + right + delta / 15
    return adaptive(f, a, c, eps / 2, left, depth - 1) + adaptive(f, c, b, eps / 2, right, depth - 1)


def adaptive_simpson(f, a, b, eps):
    whole = (b - a) / 6 * (f(a) + 4 * f((a + b) / 2) + f(b))
    return adaptive(f, a, b, eps, whole, 20)


def test_adaptive_simpson_recurses_with_a_function():
    same(adaptive_simpson, gaussian, 0.0, 3.0, 1e-9, rtol=1e-12)


def gauss_legendre(f, a, b):
    nodes = (-0.8611363115940526, -0.3399810435848563, 0.3399810435848563, 0.8611363115940526)
    weights = (0.3478548451374538, 0.6521451548625461, 0.6521451548625461, 0.3478548451374538)
    s = 0.0
    for x, w in zip(nodes, weights):
        s += w * f(0.5 * (b - a) * x + 0.5 * (a + b))
    return 0.5 * (b - a) * s


def test_gauss_legendre_zips_tuples():
    same(gauss_legendre, gaussian, -1.0, 2.0, rtol=1e-14)


# --- differential equations ---


def lorenz(t, y, out, sigma=10.0, rho=28.0, beta=8.0 / 3.0):
    out[0] = sigma * (y[1] - y[0])
    out[1] = y[0] * (rho - y[2]) - y[1]
    out[2] = y[0] * y[1] - beta * y[2]


def rk4(rhs, y0, t0, t1, n):
    m = y0.shape[0]
    dt = (t1 - t0) / n
    y = y0.copy()
    k1 = np.empty(m)
    k2 = np.empty(m)
    k3 = np.empty_like(k1)
    k4 = np.empty_like(k1)
    path = np.empty((n + 1, m))
    path[0] = y
    for step in range(n):
        t = t0 + step * dt
        rhs(t, y, k1)
        rhs(t + dt / 2, y + dt / 2 * k1, k2)
        rhs(t + dt / 2, y + dt / 2 * k2, k3)
        rhs(t + dt, y + dt * k3, k4)
        y += dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        path[step + 1, :] = y
    return path


def test_rk4_in_array_expressions():
    same(rk4, lorenz, np.array([1.0, 1.0, 1.0]), 0.0, 1.0, 200, rtol=1e-12)


def rk4_tuple(f, y, v, dt, n):
    for _ in range(n):
        a1, b1 = f(y, v)
        a2, b2 = f(y + dt / 2 * a1, v + dt / 2 * b1)
        a3, b3 = f(y + dt / 2 * a2, v + dt / 2 * b2)
        a4, b4 = f(y + dt * a3, v + dt * b3)
        y, v = y + dt / 6 * (a1 + 2 * a2 + 2 * a3 + a4), v + dt / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
    return y, v


def pendulum(y, v):
    return v, -math.sin(y)


def test_rk4_on_tuples():
    same(rk4_tuple, pendulum, 1.0, 0.0, 0.01, 500, rtol=1e-12)
    same(rk4_tuple, pendulum, 1, 0, 0.01, 50, rtol=1e-12)


State = namedtuple("State", "position velocity energy")


def verlet(state, k, dt, steps):
    x, v = state.position, state.velocity
    a = -k * x
    for _ in range(steps):
        x += v * dt + 0.5 * a * dt * dt
        new = -k * x
        v += 0.5 * (a + new) * dt
        a = new
    return State(x, v, 0.5 * v**2 + 0.5 * k * x**2)


def test_verlet_returns_a_named_tuple():
    same(verlet, State(1.0, 0.0, 0.0), 2.0, 0.01, 300)


def lotka_volterra(prey, hunters, a=1.1, b=0.4, c=0.1, d=0.4, *, dt=0.01, steps=100):
    history = np.zeros((steps, 2), dtype=np.float64)
    for i in range(steps):
        prey, hunters = (
            prey + dt * (a * prey - b * prey * hunters),
            hunters + dt * (c * prey * hunters - d * hunters),
        )
        history[i] = prey, hunters
    return history


def lotka_by_keyword(prey, hunters):
    return lotka_volterra(prey, hunters, d=0.5, steps=20, dt=0.02)


def test_lotka_volterra_keywords_and_defaults():
    same(lotka_volterra, 10.0, 5.0)
    same(lotka_volterra, 10.0, 5.0, 1.0, 0.3)
    same(lotka_by_keyword, 10.0, 5.0)


def adaptive_euler(f, y, t_end, tol):
    t = 0.0
    h = 0.1
    steps = rejected = 0
    while t < t_end:
        if t + h > t_end:
            h = t_end - t
        full = y + h * f(y)
        half = y + h / 2 * f(y)
        half = half + h / 2 * f(half)
        error = abs(full - half)
        if error > tol:
            h *= 0.5
            rejected += 1
            continue
        t += h
        y = 2 * half - full
        steps += 1
        if error < tol / 10:
            h *= 1.5
    else:
        steps += 1000
    return y, steps, rejected


def decay(y):
    return -2.0 * y


def test_adaptive_euler():
    same(adaptive_euler, decay, 1.0, 2.0, 1e-5)


# --- roots ---


def newton(f, df, x0, tol=1e-12, maxiter=50):
    x = x0
    for it in range(maxiter):
        step = f(x) / df(x)
        x -= step
        if abs(step) < tol:
            return x, it
    raise RuntimeError("no convergence after", maxiter)


def cubic(x):
    return x * x * x - 2 * x - 5


def dcubic(x):
    return 3 * x**2 - 2


def always_one(x):
    return 1.0


def test_newton_converges_or_raises():
    same(newton, cubic, dcubic, 2.0)
    same(newton, cubic, dcubic, 2.0 + 0.1j, rtol=1e-14)
    same(newton, always_one, always_one, 0.0)


def test_newton_of_an_integer_start():
    same(newton, cubic, dcubic, 2)


def bisect(f, lo, hi, *args):
    flo = f(lo, *args)
    if flo * f(hi, *args) > 0:
        raise ValueError("no change of sign")
    while hi - lo > 1e-10:
        mid = (lo + hi) / 2
        fm = f(mid, *args)
        if fm == 0:
            break
        if (fm < 0) == (flo < 0):
            lo, flo = mid, fm
        else:
            hi = mid
    return (lo + hi) / 2


def shifted(x, a, b):
    return x * x * a - b


def test_bisection_passes_arguments_on():
    same(bisect, shifted, 0.0, 4.0, 1.0, 2.0)
    same(bisect, shifted, 0.0, 1.0, 1.0, 2.0)


def brent(f, a, b, tol):
    fa, fb = f(a), f(b)
    if abs(fa) < abs(fb):
        a, b, fa, fb = b, a, fb, fa
    c, fc, d, flag = a, fa, 0.0, True
    count = 0
    while fb != 0 and abs(b - a) > tol:
        if fa != fc and fb != fc:
            s = (
                a * fb * fc / ((fa - fb) * (fa - fc))
                + b * fa * fc / ((fb - fa) * (fb - fc))
                + c * fa * fb / ((fc - fa) * (fc - fb))
            )
        else:
            s = b - fb * (b - a) / (fb - fa)
        lo, hi = min((3 * a + b) / 4, b), max((3 * a + b) / 4, b)
        if (
            not lo < s < hi
            or (flag and abs(s - b) >= abs(b - c) / 2)
            or (not flag and abs(s - b) >= abs(c - d) / 2)
            or (flag and abs(b - c) < tol)
            or (not flag and abs(c - d) < tol)
        ):
            s = (a + b) / 2
            flag = True
        else:
            flag = False
        fs = f(s)
        d, c, fc = c, b, fb
        if fa * fs < 0:
            b, fb = s, fs
        else:
            a, fa = s, fs
        if abs(fa) < abs(fb):
            a, b, fa, fb = b, a, fb, fa
        count += 1
    return b, count


def test_brent():
    same(brent, cubic, 0.0, 5.0, 1e-12)


def durand_kerner(coeffs, n):
    degree = len(coeffs) - 1
    roots = np.empty(degree, dtype=np.complex128)
    for i in range(degree):
        roots[i] = (0.4 + 0.9j) ** i
    for _ in range(n):
        for i in range(degree):
            value = 0j
            for c in coeffs:
                value = value * roots[i] + c
            denominator = coeffs[0] + 0j
            for j in range(degree):
                if j != i:
                    denominator *= roots[i] - roots[j]
            roots[i] -= value / denominator
    return roots


def test_polynomial_roots():
    same(durand_kerner, np.array([1.0, -3.0, 3.0, -5.0, 2.0]), 30, rtol=1e-9, atol=1e-12)
    same(durand_kerner, (1.0, -6.0, 11.0, -6.0), 30, rtol=1e-9, atol=1e-12)


def quadratic(a, b, c):
    d = cmath.sqrt(b * b - 4 * a * c)
    return (-b + d) / (2 * a), (-b - d) / (2 * a)


def test_quadratic_of_ints_and_floats():
    same(quadratic, 1, 2, 5)
    same(quadratic, 1.0, -3.0, 2.0)


# --- interpolation ---


def interpolate(x, xs, ys, kind="linear"):
    lo, hi = 0, len(xs) - 1
    if x < xs[0] or x > xs[-1]:
        return np.nan
    while hi - lo > 1:
        mid = (lo + hi) >> 1
        if xs[mid] > x:
            hi = mid
        else:
            lo = mid
    t = (x - xs[lo]) / (xs[hi] - xs[lo])
    if kind == "nearest":
        return ys[lo] if t < 0.5 else ys[hi]
    elif kind == "linear":
        return ys[lo] * (1 - t) + ys[hi] * t
    elif kind == "smooth":
        t = t * t * (3 - 2 * t)
        return ys[lo] + (ys[hi] - ys[lo]) * t
    else:
        raise ValueError("unknown kind")


def nearest(x, xs, ys):
    return interpolate(x, xs, ys, "nearest"), interpolate(x, xs, ys, kind="smooth"), interpolate(x, xs, ys)


def cubicly(x, xs, ys):
    return interpolate(x, xs, ys, "cubic")


def test_interpolation_with_string_options():
    xs, ys = np.linspace(0.0, 1.0, 11), np.cos(np.linspace(0.0, 1.0, 11))
    for x in (0.0, 0.33, 0.98, 1.0, -1.0):
        same(nearest, x, xs, ys)
    same(cubicly, 0.5, xs, ys)
    same(interpolate, 0.5, xs, ys, "nearest")


def spline_coefficients(x, y):
    n = len(x)
    h = x[1:] - x[:-1]
    alpha = np.zeros(n)
    for i in range(1, n - 1):
        alpha[i] = 3 / h[i] * (y[i + 1] - y[i]) - 3 / h[i - 1] * (y[i] - y[i - 1])
    low, mu, z = np.ones(n), np.zeros(n), np.zeros(n)
    for i in range(1, n - 1):
        low[i] = 2 * (x[i + 1] - x[i - 1]) - h[i - 1] * mu[i - 1]
        mu[i] = h[i] / low[i]
        z[i] = (alpha[i] - h[i - 1] * z[i - 1]) / low[i]
    b, c, d = np.zeros(n - 1), np.zeros(n), np.zeros(n - 1)
    for j in range(n - 2, -1, -1):
        c[j] = z[j] - mu[j] * c[j + 1]
        b[j] = (y[j + 1] - y[j]) / h[j] - h[j] * (c[j + 1] + 2 * c[j]) / 3
        d[j] = (c[j + 1] - c[j]) / (3 * h[j])
    return b, c, d


def test_natural_spline():
    x = np.linspace(0, 3, 12) ** 1.5
    same(spline_coefficients, x, np.sin(x))


def bilinear(image, y, x):
    rows, cols = image.shape
    y0, x0 = int(y), int(x)
    y1, x1 = min(y0 + 1, rows - 1), min(x0 + 1, cols - 1)
    fy, fx = y - y0, x - x0
    top = image[y0, x0] * (1 - fx) + image[y0, x1] * fx
    bottom = image[y1][x0] * (1 - fx) + image[y1][x1] * fx
    return top * (1 - fy) + bottom * fy


def test_bilinear():
    image = np.arange(20.0).reshape(4, 5) ** 1.3
    for y, x in [(0.0, 0.0), (1.25, 3.5), (3.0, 4.0), (2.9, 0.1)]:
        same(bilinear, image, y, x)
        same(bilinear, np.asfortranarray(image), y, x)


def horner(coefficients, x):
    result = 0.0
    for c in coefficients[::-1]:
        result = result * x + c
    return result


def test_horner_backwards():
    same(horner, np.array([1.0, -2.0, 0.5, 3.0]), 1.7)
    same(horner, (1.0, -2.0, 0.5, 3.0), 1.7)
    same(horner, np.empty(0), 1.7)


# --- linear algebra ---


def lu(a):
    n = a.shape[0]
    assert a.shape[1] == n
    m = a.copy()
    pivots = np.arange(n)
    sign = 1
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(m[i, k]) > abs(m[p, k]):
                p = i
        if m[p, k] == 0.0:
            raise ZeroDivisionError("singular")
        if p != k:
            for j in range(n):
                m[k, j], m[p, j] = m[p, j], m[k, j]
            pivots[k], pivots[p] = pivots[p], pivots[k]
            sign = -sign
        for i in range(k + 1, n):
            m[i, k] /= m[k, k]
            m[i, k + 1 :] -= m[i, k] * m[k, k + 1 :]
    return m, pivots, sign


def solve(a, b):
    m, pivots, _ = lu(a)
    n = len(b)
    x = np.empty(n)
    for i in range(n):
        s = b[pivots[i]]
        for j in range(i):
            s -= m[i, j] * x[j]
        x[i] = s
    for i in reversed(range(n)):
        for j in range(i + 1, n):
            x[i] -= m[i, j] * x[j]
        x[i] /= m[i, i]
    return x


def test_lu_and_solve():
    rng = np.random.default_rng(1)
    a = rng.standard_normal((8, 8))
    same(lu, a)
    x = same(solve, a, rng.standard_normal(8))
    assert x.shape == (8,)
    same(lu, np.ones((3, 3)))
    same(lu, np.ones((3, 4)))


def cholesky(a):
    n = len(a)
    low = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = 0.0
            for k in range(j):
                s += low[i, k] * low[j, k]
            if i == j:
                d = a[i, i] - s
                if d <= 0:
                    raise ValueError("not positive definite at", i)
                low[i, j] = math.sqrt(d)
            else:
                low[i, j] = (a[i, j] - s) / low[j, j]
    return low


def test_cholesky():
    m = np.random.default_rng(2).standard_normal((6, 6))
    same(cholesky, m @ m.T + 6 * np.eye(6))
    same(cholesky, -np.eye(3))
    same(cholesky, np.asfortranarray(m @ m.T + 6 * np.eye(6)))


def qr(a):
    m, n = a.shape
    q = np.zeros((m, n))
    r = np.zeros((n, n))
    for j in range(n):
        v = a[:, j].copy()
        for i in range(j):
            r[i, j] = np.dot(q[:, i], a[:, j])
            v -= r[i, j] * q[:, i]
        r[j, j] = np.sqrt((v * v).sum())
        q[:, j] = v / r[j, j]
    return q, r


def test_gram_schmidt():
    a = np.random.default_rng(3).standard_normal((7, 4))
    q, r = same(qr, a, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(q @ r, a)


def householder(a):
    r = a.astype(np.float64)
    m, n = r.shape
    for k in range(min(m - 1, n)):
        x = r[k:, k]
        alpha = -math.copysign(math.sqrt(np.sum(x**2)), x[0])
        v = x.copy()
        v[0] -= alpha
        norm = np.sum(v * v)
        if norm == 0:
            continue
        for j in range(k, n):
            dot = 2 * np.sum(v * r[k:, j]) / norm
            r[k:, j] -= dot * v
    return r


def test_householder():
    same(householder, np.random.default_rng(4).standard_normal((6, 5)), rtol=1e-11, atol=1e-13)
    same(householder, np.arange(12).reshape(4, 3), rtol=1e-11, atol=1e-12)


def power_iteration(a, steps):
    v = np.ones(a.shape[0])
    value = 0.0
    for _ in range(steps):
        w = np.zeros(a.shape[0])
        for i, row in enumerate(a):
            w[i] = (row * v).sum()
        value = np.max(np.abs(w))
        v = w / value
    return value, v


def test_power_iteration_over_rows():
    same(power_iteration, np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]]), 40, rtol=1e-12)


def jacobi_eigen(a, sweeps):
    a = a.copy()
    n = a.shape[0]
    for _ in range(sweeps):
        for p in range(n - 1):
            for q in range(p + 1, n):
                if a[p, q] == 0:
                    continue
                theta = (a[q, q] - a[p, p]) / (2 * a[p, q])
                t = (1 if theta >= 0 else -1) / (abs(theta) + math.sqrt(theta * theta + 1))
                c = 1 / math.sqrt(t * t + 1)
                s = t * c
                for k in range(n):
                    x, y = a[k, p], a[k, q]
                    a[k, p], a[k, q] = c * x - s * y, s * x + c * y
                for k in range(n):
                    x, y = a[p, k], a[q, k]
                    a[p, k], a[q, k] = c * x - s * y, s * x + c * y
    d = np.empty(n)
    for i in range(n):
        d[i] = a[i, i]
    return d


def test_jacobi_eigenvalues():
    m = np.random.default_rng(5).standard_normal((5, 5))
    same(jacobi_eigen, m + m.T, 6)


def conjugate_gradient(data, indices, indptr, b, tol):
    n = len(b)
    x = np.zeros(n)
    r = b.copy()
    p = r.copy()
    rs = (r * r).sum()
    iterations = 0
    while rs > tol and iterations < 10 * n:
        ap = np.zeros(n)
        for i in range(n):
            for k in range(indptr[i], indptr[i + 1]):
                ap[i] += data[k] * p[indices[k]]
        alpha = rs / (p * ap).sum()
        x += alpha * p
        r -= alpha * ap
        new = (r * r).sum()
        p = r + new / rs * p
        rs = new
        iterations += 1
    return x, iterations


def test_conjugate_gradient_on_csr():
    n = 20
    rows = [[(j, 4.0 if j == i else -1.0) for j in (i - 1, i, i + 1) if 0 <= j < n] for i in range(n)]
    data = np.array([v for r in rows for _, v in r])
    indices = np.array([j for r in rows for j, _ in r], dtype=np.int32)
    indptr = np.cumsum([0] + [len(r) for r in rows]).astype(np.int32)
    same(conjugate_gradient, data, indices, indptr, np.arange(n, dtype=float), 1e-20, rtol=1e-9)


def thomas(a, b, c, d):
    n = d.size
    for i in range(1, n):
        w = a[i - 1] / b[i - 1]
        b[i] -= w * c[i - 1]
        d[i] -= w * d[i - 1]
    x = np.empty(n, d.dtype)
    x[-1] = d[-1] / b[-1]
    for i in range(n - 2, -1, -1):
        x[i] = (d[i] - c[i] * x[i + 1]) / b[i]
    return x


def test_tridiagonal_in_place():
    n = 9
    same(thomas, np.full(n - 1, -1.0), np.full(n, 2.5), np.full(n - 1, -1.0), np.arange(1.0, n + 1))
    same(
        thomas,
        np.full(n - 1, -1.0, "c16"),
        np.full(n, 2.5 + 1j),
        np.full(n - 1, -1j),
        np.arange(1.0, n + 1) + 0j,
        rtol=1e-14,
    )


def matmul_blocked(a, b, bs):
    n, m = a.shape
    p = b.shape[1]
    c = np.zeros((n, p), dtype=a.dtype)
    for i0 in range(0, n, bs):
        for j0 in range(0, p, bs):
            for k0 in range(0, m, bs):
                for i in range(i0, min(i0 + bs, n)):
                    for j in range(j0, min(j0 + bs, p)):
                        acc = c[i, j]
                        for k in range(k0, min(k0 + bs, m)):
                            acc += a[i, k] * b[k, j]
                        c[i, j] = acc
    return c


def test_blocked_matmul_of_layouts_and_dtypes():
    rng = np.random.default_rng(6)
    a, b = rng.integers(-9, 9, (7, 5)), rng.integers(-9, 9, (5, 6))
    same(matmul_blocked, a, b, 2)
    same(matmul_blocked, np.asfortranarray(a), b.T.copy().T, 3)
    same(matmul_blocked, a * 0.5, b * 0.25, 4)
    same(matmul_blocked, a * 0.5j, b * (0.25 + 1j), 4)
    same(matmul_blocked, a[::-1, ::2] * 1.0, b[::2][:, ::-1] * 1.0, 4)


def determinant(m):
    n = m.shape[0]
    if n == 1:
        return m[0, 0]
    total = 0.0
    for c in range(n):
        minor = np.empty((n - 1, n - 1))
        minor[:, :c] = m[1:, :c]
        minor[:, c:] = m[1:, c + 1 :]
        total += (-1) ** c * m[0, c] * determinant(minor)
    return total


def test_determinant_by_minors():
    same(determinant, np.random.default_rng(7).standard_normal((5, 5)))
