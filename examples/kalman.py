"""Signals: a Kalman filter follows something that moves in a plane and is seen through noise.

python examples/kalman.py [measurements [picture.svg]]
"""

from __future__ import annotations

import sys
import time

import numpy as np
from picture import write_curves
from treadle import njit

STEP, PUSH, NOISE = 0.1, 0.6, 0.8  # seconds; unknown accelerations; error of what is seen


@njit
def kalman(seen, F, H, Q, R):
    """States (x, y, and their speeds) of shape (n, 4), and how surprising each measurement was.

    That is its squared distance from what was expected, in units of its own uncertainty.
    """
    state = np.zeros(4)
    state[:2] = seen[0]
    P = np.diag(np.array([NOISE**2, NOISE**2, 10.0, 10.0]))
    states, surprise = np.empty((len(seen), 4)), np.empty(len(seen))
    for k in range(len(seen)):
        state = F @ state
        P = F @ P @ F.T + Q
        off = seen[k] - H @ state
        S = H @ P @ H.T + R
        gain = P @ H.T @ np.linalg.inv(S)
        surprise[k] = off @ np.linalg.solve(S, off)
        state = state + gain @ off
        P = P - gain @ H @ P
        states[k] = state
    return states, surprise


def matrices():
    F = np.eye(4)
    F[0, 2] = F[1, 3] = STEP
    H = np.eye(2, 4)
    G = np.vstack([0.5 * STEP**2 * np.eye(2), STEP * np.eye(2)])
    return F, H, PUSH**2 * G @ G.T, NOISE**2 * np.eye(2)


def travel(n, rng):
    """The true states: speed changes by chance."""
    F, _, Q, _ = matrices()
    states = np.empty((n, 4))
    states[0] = 0.0, 0.0, 1.0, 0.5
    push = rng.multivariate_normal(np.zeros(4), Q, n)
    for k in range(1, n):
        states[k] = F @ states[k - 1] + push[k]
    return states


def main(n, path):
    rng = np.random.default_rng(3)
    true = travel(n, rng)
    seen = true[:, :2] + NOISE * rng.standard_normal((n, 2))
    start = time.perf_counter()
    want, _ = kalman.py_func(seen[:200], *matrices())
    python = (time.perf_counter() - start) / min(n, 200)
    got, surprise = kalman(seen, *matrices())
    assert np.allclose(got[:200], want, rtol=1e-9)
    start = time.perf_counter()
    kalman(seen, *matrices())
    took = (time.perf_counter() - start) / n

    def error(a):
        return np.sqrt(((a[20:, :2] - true[20:, :2]) ** 2).sum(axis=1).mean())

    assert error(got) < 0.6 * error(seen)
    assert 1.6 < surprise[20:].mean() < 2.4  # two numbers are seen: a filter that knows its errors has 2 here
    few = slice(0, min(n, 300))
    write_curves(
        path,
        "A path, what was seen of it, and the filter's",
        [("true", true[few, 0], true[few, 1]), ("filtered", got[few, 0], got[few, 1])],
        [("seen", seen[few, 0], seen[few, 1])],
    )
    print(f"{n} measurements off by {error(seen):.2f}, filtered by {error(got):.2f}")
    print(f"surprise {surprise[20:].mean():.2f}, where 2 is right")
    print(f"{took * 1e6:.2f} us a step, in NumPy {python * 1e6:.0f} us; drawn in {path}")


if __name__ == "__main__":
    main(int((sys.argv[1:] or ["20000"])[0]), (sys.argv[2:] or ["kalman.svg"])[0])
