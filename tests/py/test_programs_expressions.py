"""Programs as scientists write them in NumPy: statistics, images, grids, time series, linear algebra, graphs, networks.

Array expressions, masks, index arrays and reductions along axes; each is compared with the same function under NumPy.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from programs import same  # noqa: E402
from treadle import prange  # noqa: E402

PARALLEL = {"parallel": True}
rng = np.random.default_rng(1)
X, I = rng.normal(size=(200, 7)), rng.random((60, 70))
U = rng.integers(0, 256, (30, 40, 3)).astype(np.uint8)
P = np.exp(np.cumsum(rng.normal(size=500) * 0.01))
M = rng.normal(size=(30, 30))
S = M @ M.T + 40 * np.eye(30)
D = np.where(rng.random((40, 40)) < 0.5, np.inf, rng.random((40, 40)))
LINKS = rng.random((200, 200)) < 0.05
INDPTR, INDICES = np.r_[0, LINKS.sum(1).cumsum()], np.nonzero(LINKS)[1]
FIXED = np.zeros((30, 30), bool)
FIXED[0] = FIXED[10:12, 10:15] = True
HOT = np.where(FIXED, 1.0, 0.0)
A = np.log(rng.dirichlet(np.ones(5), 5))
B = np.log(rng.dirichlet(np.ones(6), 5))
NANS = np.where(rng.random((40, 6)) < 0.2, np.nan, rng.random((40, 6)))
RING = np.linspace(0, 2 * np.pi, 20)[:-1]
MARKS = rng.normal(size=(250, 4)) * 0.01
Z = rng.normal(size=300)


def zscore(x, axis=0, ddof=1):
    mu = x.mean(axis=axis, keepdims=True)
    sd = x.std(axis=axis, ddof=ddof, keepdims=True)
    return (x - mu) / sd


def bootstrap2(x, idx):
    means = x[idx].mean(axis=1)
    return means.mean(), means.std(ddof=1), means.max() - means.min()


def gd(X, y, lr=0.1, steps=100):
    w = np.zeros(X.shape[1])
    n = len(y)
    for _ in range(steps):
        r = X @ w - y
        w -= lr * (X.T @ r) / n
    return (w, np.sqrt(np.mean(r**2)))


def kmeans(pts, k, iters):
    c = pts[:k].copy()
    for _ in range(iters):
        d = ((pts[:, None, :] - c[None, :, :]) ** 2).sum(axis=2)
        lab = d.argmin(axis=1)
        for j in range(k):
            m = lab == j
            if m.any():
                c[j] = pts[m].mean(axis=0)
    return (c, lab)


def softmax(z, axis=-1):
    z = z - z.max(axis=axis, keepdims=True)
    e = np.exp(z)
    return e / e.sum(axis=axis, keepdims=True)


def mlp(x, y, w1, b1, w2, b2, lr=0.05):
    h = np.maximum(x @ w1 + b1, 0)
    p = softmax(h @ w2 + b2)
    n = x.shape[0]
    loss = -np.log(p[np.arange(n), y]).mean()
    dz = p.copy()
    dz[np.arange(n), y] -= 1
    dz /= n
    dw2 = h.T @ dz
    db2 = dz.sum(axis=0)
    dh = dz @ w2.T
    dh[h <= 0] = 0
    dw1 = x.T @ dh
    db1 = dh.sum(0)
    w1 -= lr * dw1
    b1 -= lr * db1
    w2 -= lr * dw2
    b2 -= lr * db2
    return loss


def pairwise(a, b=None):
    if b is None:
        b = a
    aa = (a * a).sum(axis=1)[:, np.newaxis]
    bb = (b * b).sum(axis=1)[np.newaxis, :]
    d2 = aa + bb - 2 * (a @ b.T)
    return np.sqrt(np.maximum(d2, 0))


def to_uint8(img, lo=None, hi=None):
    lo = img.min() if lo is None else lo
    hi = img.max() if hi is None else hi
    return np.clip((img - lo) / (hi - lo) * 255, 0, 255).round().astype(np.uint8)


def blend(a, b, alpha=0.5):
    return (a * alpha + b * (1 - alpha)).astype(a.dtype)


def invert_where(img, thr=128):
    m = img > thr
    img[m] = 255 - img[m]
    return (m.sum(), img.mean(axis=(0, 1)))


def sobel(a):
    gx = a[:-2, 2:] + 2 * a[1:-1, 2:] + a[2:, 2:] - (a[:-2, :-2] + 2 * a[1:-1, :-2] + a[2:, :-2])
    gy = a[2:, :-2] + 2 * a[2:, 1:-1] + a[2:, 2:] - (a[:-2, :-2] + 2 * a[:-2, 1:-1] + a[:-2, 2:])
    mag = np.hypot(gx, gy)
    ang = np.rad2deg(np.arctan2(gy, gx)) % 180
    return (mag / mag.max(), ang)


def equalise2(img):
    hist = np.zeros(256, dtype=np.int64)
    np.add.at(hist, img.ravel(), 1)
    cdf = np.cumsum(hist)
    return cdf[img] * 255 // img.size


def bilinear(img, y, x):
    y0 = np.floor(y).astype(int)
    x0 = np.floor(x).astype(int)
    y1 = np.minimum(y0 + 1, img.shape[0] - 1)
    x1 = np.minimum(x0 + 1, img.shape[1] - 1)
    fy = y - y0
    fx = x - x0
    return (
        img[y0, x0] * (1 - fy) * (1 - fx)
        + img[y1, x0] * fy * (1 - fx)
        + img[y0, x1] * (1 - fy) * fx
        + img[y1, x1] * fy * fx
    )


def label(mask):
    lab = np.where(mask, np.arange(mask.size).reshape(mask.shape) + 1, 0)
    while True:
        new = lab.copy()
        new[1:] = np.where(mask[1:], np.maximum(new[1:], lab[:-1]), 0)
        new[:-1] = np.where(mask[:-1], np.maximum(new[:-1], lab[1:]), 0)
        new[:, 1:] = np.where(mask[:, 1:], np.maximum(new[:, 1:], lab[:, :-1]), 0)
        new[:, :-1] = np.where(mask[:, :-1], np.maximum(new[:, :-1], lab[:, 1:]), 0)
        if (new == lab).all():
            return new
        lab = new


def life(b, n):
    for _ in range(n):
        nb = (
            np.roll(b, 1, 0)
            + np.roll(b, -1, 0)
            + np.roll(b, 1, 1)
            + np.roll(b, -1, 1)
            + np.roll(np.roll(b, 1, 0), 1, 1)
            + np.roll(np.roll(b, 1, 0), -1, 1)
            + np.roll(np.roll(b, -1, 0), 1, 1)
            + np.roll(np.roll(b, -1, 0), -1, 1)
        )
        b = ((nb == 3) | (b == 1) & (nb == 2)).astype(b.dtype)
    return b


def rule(n, steps, number=30):
    bits = number >> np.arange(8) & 1
    row = np.zeros(n, dtype=np.int64)
    row[n // 2] = 1
    out = np.empty((steps, n), dtype=np.int8)
    for t in range(steps):
        out[t] = row
        idx = 4 * np.roll(row, 1) + 2 * row + np.roll(row, -1)
        row = bits[idx]
    return out


def jacobi(u, fixed, tol=0.0001, maxiter=500):
    for it in range(maxiter):
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        new[fixed] = u[fixed]
        diff = np.abs(new - u).max()
        u = new
        if diff < tol:
            break
    return (u, it, diff)


def upwind(q, v, dx, dt, steps):
    q = q.copy()
    vp, vm = (np.maximum(v, 0), np.minimum(v, 0))
    for _ in range(steps):
        fl = vp[1:] * q[:-1] + vm[1:] * q[1:]
        q[1:-1] -= dt / dx * (fl[1:] - fl[:-1])
    return q


def acc(pos, mass, G=1.0, eps=0.05):
    d = pos[None, :, :] - pos[:, None, :]
    r2 = (d**2).sum(-1) + eps**2
    inv = r2 ** (-1.5)
    return G * (d * (mass[None, :] * inv)[:, :, None]).sum(axis=1)


def asian(z, s0=100.0, k=100.0, r=0.03, sig=0.2, T=1.0):
    n, m = z.shape
    dt = T / m
    paths = s0 * np.exp(np.cumsum((r - sig * sig / 2) * dt + sig * math.sqrt(dt) * z, axis=1))
    avg = paths.mean(axis=1)
    return np.exp(-r * T) * np.where(avg > k, avg - k, 0).mean()


def drawdown(p):
    peak = np.maximum.accumulate(p)
    dd = (p - peak) / peak
    i = dd.argmin()
    j = p[: i + 1].argmax()
    return (dd.min(), i, j)


def rolling_std(x, w=10):
    n = x.size - w + 1
    idx = np.arange(w)[None, :] + np.arange(n)[:, None]
    win = x[idx]
    return (win.std(1), np.ptp(win, axis=1), win.max(1) - win.min(1))


def bollinger(p, n=20, k=2):
    out = np.full((3, len(p)), np.nan)
    for i in range(n - 1, len(p)):
        w = p[i - n + 1 : i + 1]
        m, s = (w.mean(), w.std())
        out[:, i] = (m - k * s, m, m + k * s)
    return out


def crossings(fast, slow):
    above = fast > slow
    change = np.diff(above.astype(np.int8))
    (buy,) = np.where(change == 1)
    (sell,) = np.nonzero(change == -1)
    return (buy + 1, sell + 1)


def portfolio(ret, w):
    w = np.asarray(w) / np.sum(w)
    pr = ret @ w
    cov = np.dot((ret - ret.mean(0)).T, ret - ret.mean(0)) / (ret.shape[0] - 1)
    vol = np.sqrt(w @ cov @ w)
    return ((1 + pr).prod() - 1, vol, pr.mean() / pr.std() * np.sqrt(252))


def dft(x):
    n = len(x)
    k = np.arange(n)
    return np.exp(-2j * np.pi * k * k.reshape(-1, 1) / n) @ x


def fir(x, h):
    y = np.zeros(len(x) + len(h) - 1)
    for k, c in enumerate(h):
        y[k : k + len(x)] += c * x
    return y


def iir(b, a, x):
    y = np.zeros_like(x)
    nb, na = (len(b), len(a))
    for n in range(len(x)):
        lo = max(0, n - nb + 1)
        y[n] = np.dot(b[: n - lo + 1], x[lo : n + 1][::-1])
        if n:
            lo = max(0, n - na + 1)
            y[n] -= np.dot(a[1 : n - lo + 1], y[lo:n][::-1])
        y[n] /= a[0]
    return y


def gridsearch(x, y, bws):
    n = len(x)
    errs = np.zeros(len(bws))
    for k in prange(len(bws)):
        bw = bws[k]
        e = 0.0
        for i in range(n):
            w = np.exp(-0.5 * ((x - x[i]) / bw) ** 2)
            w[i] = 0
            e += (y[i] - (w * y).sum() / w.sum()) ** 2
        errs[k] = e / n
    j = np.argmin(errs)
    return (bws[j], errs)


def kde(grid, data, bw=None):
    if bw is None:
        bw = 1.06 * data.std() * data.size ** (-0.2)
    out = np.empty_like(grid)
    for i in prange(grid.size):
        u = (grid[i] - data) / bw
        out[i] = np.exp(-0.5 * u * u).sum()
    out /= data.size * bw * np.sqrt(2 * np.pi)
    return out


def hist2d(x, y, nx, ny):
    h = np.zeros((nx, ny), dtype=np.int64)
    for i in prange(len(x)):
        a = int(x[i] * nx)
        b = int(y[i] * ny)
        if 0 <= a < nx and 0 <= b < ny:
            h[a, b] += 1
    return (h, h.sum(0), h.sum(1))


def spmv(indptr, indices, data, x):
    y = np.zeros(len(indptr) - 1)
    for i in prange(len(y)):
        lo, hi = (indptr[i], indptr[i + 1])
        y[i] = (data[lo:hi] * x[indices[lo:hi]]).sum()
    return y


def pagerank(indptr, indices, d=0.85, n_iter=30):
    n = indptr.size - 1
    deg = np.diff(indptr)
    r = np.full(n, 1 / n)
    for _ in range(n_iter):
        new = np.zeros(n)
        for i in range(n):
            if deg[i] == 0:
                continue
            new[indices[indptr[i] : indptr[i + 1]]] += r[i] / deg[i]
        dangling = r[deg == 0].sum()
        new = (1 - d) / n + d * (new + dangling / n)
        delta = np.abs(new - r).sum()
        r = new
        if delta < 1e-10:
            break
    return r / r.sum()


def cg(A, b, tol=1e-10):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    for k in range(len(b) * 2):
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        rsn = r @ r
        if np.sqrt(rsn) < tol:
            return (x, k + 1)
        p = r + rsn / rs * p
        rs = rsn
    raise ArithmeticError("CG did not converge after", k)


def lu(A):
    A = A.astype(float).copy()
    n = A.shape[0]
    p = np.arange(n)
    for k in range(n - 1):
        m = k + np.abs(A[k:, k]).argmax()
        if A[m, k] == 0:
            raise ValueError("singular")
        if m != k:
            A[[k, m]] = A[[m, k]]
            p[[k, m]] = p[[m, k]]
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    return (A, p)


def power_iter(A, k=3, iters=200):
    n = len(A)
    A = A.copy()
    vals = np.zeros(k)
    vecs = np.zeros((n, k))
    for j in range(k):
        v = np.ones(n) / np.sqrt(n)
        for _ in range(iters):
            v = A @ v
            v /= np.sqrt((v**2).sum())
        lam = v @ A @ v
        vals[j] = lam
        vecs[:, j] = v
        A -= lam * np.outer(v, v)
    return (vals, vecs)


def gram_schmidt(V):
    Q = V.copy()
    for i in range(Q.shape[1]):
        for j in range(i):
            Q[:, i] -= Q[:, j] * np.dot(Q[:, j], Q[:, i])
        Q[:, i] /= np.sqrt(np.dot(Q[:, i], Q[:, i]))
    return Q


def chol(A):
    L = np.zeros_like(A)
    for j in range(A.shape[0]):
        L[j, j] = np.sqrt(A[j, j] - np.sum(L[j, :j] ** 2))
        L[j + 1 :, j] = (A[j + 1 :, j] - L[j + 1 :, :j] @ L[j, :j]) / L[j, j]
    return L


def knap(w, v, cap):
    best = np.zeros(cap + 1, dtype=v.dtype)
    for wi, vi in zip(w, v):
        best[wi:] = np.maximum(best[wi:], best[: cap + 1 - wi] + vi)
    return (best[-1], best)


def floyd2(D):
    for k in range(len(D)):
        np.minimum(D, D[:, k : k + 1] + D[k : k + 1], out=D)
    return D


def bfs(adj, s):
    n = adj.shape[0]
    dist = -np.ones(n, dtype=int)
    front = np.zeros(n, dtype=bool)
    front[s] = True
    dist[s] = 0
    d = 0
    while front.any():
        d += 1
        nxt = adj[front].any(axis=0) & (dist < 0)
        dist[nxt] = d
        front = nxt
    return dist


def dijkstra(W, s=0):
    n = W.shape[0]
    dist = np.full(n, np.inf)
    done_ = np.zeros(n, bool)
    prev = np.full(n, -1)
    dist[s] = 0
    for _ in range(n):
        u = np.where(done_, np.inf, dist).argmin()
        if not np.isfinite(dist[u]):
            break
        done_[u] = True
        alt = dist[u] + W[u]
        better = alt < dist
        dist[better] = alt[better]
        prev[better] = u
    return (dist, prev)


def viterbi(obs, logA, logB, logpi):
    T = len(obs)
    K = logpi.size
    delta = np.empty((T, K))
    psi = np.zeros((T, K), dtype=np.intp)
    delta[0] = logpi + logB[:, obs[0]]
    for t in range(1, T):
        s = delta[t - 1][:, None] + logA
        psi[t] = s.argmax(axis=0)
        delta[t] = s.max(axis=0) + logB[:, obs[t]]
    path = np.zeros(T, np.int64)
    path[-1] = delta[-1].argmax()
    for t in range(T - 2, -1, -1):
        path[t] = psi[t + 1, path[t + 1]]
    return (path, delta[-1].max())


def kalman(zs, F, H, Q, R, x, P):
    out = np.empty((len(zs), len(x)))
    I = np.eye(len(x))
    for k, z in enumerate(zs):
        x = F @ x
        P = F @ P @ F.T + Q
        S = (H @ P @ H.T)[0, 0] + R
        K = P @ H.T / S
        x = x + K[:, 0] * (z - (H @ x)[0])
        P = (I - K @ H) @ P
        out[k] = x
    return (out, P)


def polygon(p):
    x, y = p.T
    a = 0.5 * (x @ np.roll(y, -1) - y @ np.roll(x, -1))
    c = np.roll(p, -1, axis=0)
    w = p[:, 0] * c[:, 1] - c[:, 0] * p[:, 1]
    cen = ((p + c) * w[:, None]).sum(axis=0) / (6 * a)
    per = np.sqrt(((c - p) ** 2).sum(axis=1)).sum()
    return (abs(a), cen, per)


def cross(a, b):
    return np.stack(
        (
            a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1],
            a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2],
            a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0],
        ),
        axis=-1,
    )


def normals(v, t):
    n = cross(v[t[:, 1]] - v[t[:, 0]], v[t[:, 2]] - v[t[:, 0]])
    L = np.sqrt((n * n).sum(-1, keepdims=True))
    return (np.where(L > 0, n / L, 0.0), 0.5 * L[:, 0])


def nanstuff(x):
    ok = ~np.isnan(x)
    n = ok.sum(axis=0)
    s = np.where(ok, x, 0).sum(axis=0)
    mean = s / n
    out = x.copy()
    i, j = np.nonzero(np.isnan(x))
    out[i, j] = mean[j]
    return (out, mean, n)


def laplace_sphere(T, dx, periodic=True):
    if periodic:
        xp = np.concatenate((T[:, -1:], T, T[:, :1]), axis=1)
        d2x = xp[:, 2:] - 2 * T + xp[:, :-2]
    else:
        d2x = np.zeros_like(T)
        d2x[:, 1:-1] = np.diff(T, n=2, axis=1)
    d2y = np.zeros_like(T)
    d2y[1:-1] = np.diff(T, 2, axis=0)
    return (d2x + d2y) / dx**2


def mixb(a, m):
    return (
        a * m,
        m * 2,
        m + m,
        m.sum(),
        (a > 0) * 1.5,
        m.mean(),
        -a * ~m,
        m & (a > 0),
        np.sum(m * a),
        m.astype(int).cumsum(),
        np.where(m)[0],
        m.any(),
        (~m).all(),
        1 - m,
        m * m,
        m ^ True,
    )


def im2col(x, k, stride=1):
    n, c, h, w = x.shape
    oh = (h - k) // stride + 1
    ow = (w - k) // stride + 1
    cols = np.empty((n, c, k, k, oh, ow), dtype=x.dtype)
    for i in range(k):
        for j in range(k):
            cols[:, :, i, j] = x[:, :, i : i + stride * oh : stride, j : j + stride * ow : stride]
    return cols.transpose(0, 4, 5, 1, 2, 3).reshape(n * oh * ow, -1)


def conv(x, W, b, stride=1):
    f, c, k, _ = W.shape
    n, _, h, w = x.shape
    cols = im2col(x, k, stride)
    out = cols @ W.reshape(f, -1).T + b
    oh = (h - k) // stride + 1
    return out.reshape(n, oh, -1, f).transpose(0, 3, 1, 2)


def maxpool(x):
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).max(axis=(3, 5))


def batchnorm(x, gamma, beta, eps=1e-05, axis=(0, 2, 3)):
    mu = x.mean(axis=(0, 2, 3), keepdims=True)
    var = x.var(axis=(0, 2, 3), keepdims=True)
    return gamma.reshape(1, -1, 1, 1) * (x - mu) / np.sqrt(var + eps) + beta.reshape(1, -1, 1, 1)


def attention(q, k, v, causal=False):
    s = q @ k.T / np.sqrt(q.shape[-1])
    if causal:
        s = np.where(np.tri(len(s)) > 0, s, -np.inf)
    s -= s.max(1, keepdims=True)
    p = np.exp(s)
    p /= p.sum(axis=1, keepdims=True)
    return p @ v


def mha(x, Wq, Wk, Wv, heads):
    n, d = x.shape
    h = d // heads
    q = (x @ Wq).reshape(n, heads, h).transpose(1, 0, 2)
    k = (x @ Wk).reshape(n, heads, h).transpose(1, 2, 0)
    v = (x @ Wv).reshape(n, heads, h).transpose(1, 0, 2)
    s = q @ k / np.sqrt(h)
    s = np.exp(s - s.max(axis=-1, keepdims=True))
    s /= s.sum(axis=-1, keepdims=True)
    return (s @ v).transpose(1, 0, 2).reshape(n, d)


class Adam(NamedTuple):
    lr: float = 0.001
    b1: float = 0.9
    b2: float = 0.999
    eps: float = 1e-08


def adam(w, g, m, v, t, opt=Adam()):  # noqa: B008
    m[:] = opt.b1 * m + (1 - opt.b1) * g
    v[:] = opt.b2 * v + (1 - opt.b2) * g**2
    mh = m / (1 - opt.b1**t)
    vh = v / (1 - opt.b2**t)
    w -= opt.lr * mh / (np.sqrt(vh) + opt.eps)


def sig(z):
    return np.where(z >= 0, 1 / (1 + np.exp(-z)), np.exp(z) / (1 + np.exp(z)))


def lstm(x, h, c, Wx, Wh, b):
    H = h.shape[0]
    out = np.zeros((x.shape[0], H))
    for t in range(x.shape[0]):
        z = Wx @ x[t] + Wh @ h + b
        i, f, o = (sig(z[:H]), sig(z[H : 2 * H]), sig(z[2 * H : 3 * H]))
        g = np.tanh(z[3 * H :])
        c = f * c + i * g
        h = o * np.tanh(c)
        out[t] = h
    return (out, (h, c))


def confusion(t, p, n):
    m = np.zeros((n, n), int)
    for a, b in zip(t, p):
        m[a, b] += 1
    prec = np.diag(m) / np.maximum(m.sum(0), 1)
    rec = m.diagonal() / np.maximum(m.sum(1), 1)
    return (m, prec, rec, m.trace() / m.sum())


def runs(x):
    e = np.flatnonzero(np.diff(x)) + 1
    starts = np.concatenate((np.array([0]), e))
    ends = np.append(e, len(x))
    return (x[starts], ends - starts)


def bits(x):
    return (x[:, None] >> np.arange(8)[::-1] & 1).astype(np.uint8)


def inner(a):

    def norm(v):
        return np.sqrt((v**2).sum(axis=-1))

    total = norm(a)
    sc = lambda v: v / norm(v)[..., None]
    return (sc(a), total)


CASES = [
    (zscore, X, 0),
    (zscore, X, 1),
    (zscore, X.astype(np.int8)),
    (bootstrap2, Z, rng.integers(0, 300, (50, 300))),
    (gd, X, X @ np.arange(7.0)),
    (kmeans, rng.normal(size=(300, 2)), 4, 5),
    (softmax, X),
    (softmax, X, 0),
    (pairwise, X[:40], X[40:90]),
    (
        mlp,
        X,
        rng.integers(0, 3, 200),
        rng.normal(size=(7, 16)) * 0.1,
        np.zeros(16),
        rng.normal(size=(16, 3)) * 0.1,
        np.zeros(3),
    ),
    (to_uint8, I),
    (to_uint8, I, 0.2, 0.8),
    (blend, U, U[::-1]),
    (invert_where, U),
    (sobel, I),
    (equalise2, U[..., 1]),
    (bilinear, I, rng.random(99) * 59, rng.random(99) * 69),
    (label, I > 0.5),
    (life, (I > 0.5).astype(np.uint8), 3),
    (rule, 101, 20, 110),
    (jacobi, HOT, FIXED),
    (upwind, rng.random(100), rng.normal(size=100), 0.1, 0.01, 20),
    (laplace_sphere, I, 0.1),
    (laplace_sphere, I, 0.1, False),
    (acc, X[:20, :3], rng.random(20)),
    (asian, rng.normal(size=(100, 50))),
    (drawdown, P),
    (rolling_std, P),
    (bollinger, P),
    (crossings, P[10:], P[:-10]),
    (portfolio, MARKS, np.array([1, 2, 3, 4])),
    (portfolio, MARKS, (0.25, 0.25, 0.25, 0.25)),
    (dft, Z[:64]),
    (fir, Z, Z[:31]),
    (iir, np.array([0.1, 0.2, 0.1]), np.array([1.0, -0.5, 0.2]), Z),
    (pagerank, INDPTR, INDICES),
    (cg, S, Z[:30]),
    (lu, M),
    (lu, np.zeros((3, 3))),
    (power_iter, S, 2, 100),
    (gram_schmidt, M),
    (chol, S),
    (knap, rng.integers(1, 20, 30), rng.random(30).astype(np.float32), 100),
    (floyd2, D),
    (dijkstra, D),
    (bfs, LINKS, 3),
    (viterbi, rng.integers(0, 6, 50), A, B, np.log(np.ones(5) / 5)),
    (
        kalman,
        Z[:50],
        np.array([[1.0, 1], [0, 1]]),
        np.array([[1.0, 0]]),
        np.eye(2) * 0.01,
        0.5,
        np.zeros(2),
        np.eye(2),
    ),
    (polygon, np.stack((np.cos(RING), 2 * np.sin(RING)), 1) + 3),
    (normals, rng.random((30, 3)), rng.integers(0, 30, (50, 3))),
    (nanstuff, NANS),
    (mixb, Z[:9], Z[:9] > 0.2),
    (mixb, rng.integers(-5, 5, 9).astype(np.int16), Z[:9] > 0.2),
    (conv, rng.random((2, 3, 9, 9)), rng.random((4, 3, 3, 3)), rng.random(4), 2),
    (maxpool, rng.random((2, 3, 8, 8))),
    (batchnorm, rng.random((2, 3, 8, 8)), rng.random(3), rng.random(3)),
    (attention, X[:6], X[6:12], X[12:18], True),
    (mha, rng.random((6, 8)), rng.random((8, 8)), rng.random((8, 8)), rng.random((8, 8)), 2),
    (adam, I.copy(), I[::-1].copy(), np.zeros_like(I), np.zeros_like(I), 1),
    (adam, I.copy(), I[::-1].copy(), np.zeros_like(I), np.zeros_like(I), 1, Adam(lr=0.01)),
    (
        lstm,
        rng.normal(size=(10, 3)),
        np.zeros(4),
        np.zeros(4),
        rng.normal(size=(16, 3)),
        rng.normal(size=(16, 4)),
        np.zeros(16),
    ),
    (confusion, rng.integers(0, 3, 50), rng.integers(0, 3, 50), 3),
    (runs, rng.integers(0, 2, 50).astype(np.uint8)),
    (bits, U[0, :, 0].copy()),
    (inner, X[:4, :3].copy()),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].__name__)
def test_program(case):
    same(*case, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    "case",
    [
        (gridsearch, P[:100], Z[:100], np.linspace(0.01, 0.5, 20)),
        (kde, np.linspace(-3, 3, 50), Z),
        (kde, np.linspace(-3, 3, 50), Z, 0.2),
        (hist2d, rng.random(5000), rng.normal(size=5000), 10, 12),
        (spmv, INDPTR.astype(np.int32), INDICES.astype(np.int32), rng.random(INDICES.size), rng.random(200)),
    ],
    ids=lambda c: c[0].__name__,
)
def test_parallel_program(case):
    same(*case, rtol=1e-9, atol=1e-9, options=PARALLEL)
