"""The price of an option by simulation, with streams: while one part of the paths takes its steps, the prices of another are copied.

Each stream has a generator of its own, which takes one sequence from another place on. The price is compared with the formula of Black and Scholes.

    python examples/cuda_pricer.py [number of paths]
"""

from __future__ import annotations

import math
import sys

import numpy as np
from treadle import cuda
from treadle.cuda.rand import PRNG

PARTS, STEPS = 4, 64
PRICE, STRIKE, RATE, VOLATILITY, YEARS = 20.83, 21.50, 0.021, 0.20, 5.0 / 12.0


@cuda.jit
def step(prices, noise, drift, spread):
    i = cuda.grid(1)
    if i < prices.size:
        prices[i] *= math.exp(drift + spread * noise[i])


def simulated(n):
    """The prices at the end of n paths."""
    prices = cuda.pinned_array(n)
    prices[:] = PRICE
    dt = YEARS / STEPS
    drift, spread = (RATE - 0.5 * VOLATILITY**2) * dt, VOLATILITY * math.sqrt(dt)
    ends = np.linspace(0, n, PARTS + 1).astype(int)
    parts = []
    for k, (first, last) in enumerate(zip(ends[:-1], ends[1:], strict=True)):
        stream = cuda.stream()
        draws = PRNG(PRNG.PHILOX4_32_10, seed=1973, offset=k << 40, stream=stream)
        mine = cuda.to_device(prices[first:last], stream=stream)
        parts.append(
            (
                stream,
                draws,
                mine,
                cuda.device_array(last - first, np.float64, stream=stream),
                prices[first:last],
            )
        )
    for _ in range(STEPS):
        for stream, draws, mine, noise, _ in parts:
            draws.normal(noise)
            step[-(-mine.size // 256), 256, stream](mine, noise, drift, spread)
    for stream, _, mine, _, out in parts:
        mine.copy_to_host(out, stream=stream)
    for stream, *_ in parts:
        stream.synchronize()
    return prices


def formula():
    """The price by Black and Scholes."""

    def below(z):
        return 0.5 * math.erfc(-z / math.sqrt(2))

    spread = VOLATILITY * math.sqrt(YEARS)
    d = (math.log(PRICE / STRIKE) + (RATE + 0.5 * VOLATILITY**2) * YEARS) / spread
    return PRICE * below(d) - STRIKE * math.exp(-RATE * YEARS) * below(d - spread)


def main(n):
    paid = np.maximum(simulated(n) - STRIKE, 0) * math.exp(-RATE * YEARS)
    price, error = paid.mean(), paid.std() / math.sqrt(n)
    assert abs(price - formula()) < 5 * error, (price, formula(), error)
    print(f"{n} paths of {STEPS} steps on {PARTS} streams: {price:.4f} +- {error:.4f}")
    print(f"by the formula: {formula():.4f}, and the simulation is as near as it should be")


if __name__ == "__main__":
    main(int((sys.argv[1:] or ["400000"])[0]))
