"""Finance: prices of options by simulated paths on all cores, and by the formula of Black and Scholes.

python examples/options.py [paths]
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np
from treadle import njit, prange

SPOT, RATE, VOLATILITY, YEARS, DAYS = 100.0, 0.03, 0.2, 1.0, 252


@njit
def black_scholes(strike):
    """The price of a European call."""
    wide = VOLATILITY * math.sqrt(YEARS)
    d1 = (math.log(SPOT / strike) + (RATE + 0.5 * VOLATILITY**2) * YEARS) / wide
    normal = lambda x: 0.5 * math.erfc(-x / math.sqrt(2.0))
    return SPOT * normal(d1) - strike * math.exp(-RATE * YEARS) * normal(d1 - wide)


@njit(parallel=True)
def simulate(seed, paths, strike, barrier):
    """Means and standard errors: a European call, an Asian one, and one that is lost above the barrier."""
    np.random.seed(seed)  # the same numbers on any number of cores
    step = YEARS / DAYS
    drift = (RATE - 0.5 * VOLATILITY**2) * step
    spread = VOLATILITY * math.sqrt(step)
    sums, squares = np.zeros(3), np.zeros(3)
    for _ in prange(paths):
        x, mean, price, lost = 0.0, 0.0, SPOT, False
        for _ in range(DAYS):
            x += drift + spread * np.random.standard_normal()
            price = SPOT * math.exp(x)
            mean += price
            lost = lost or price > barrier
        end = max(price - strike, 0.0)
        pays = np.array([end, max(mean / DAYS - strike, 0.0), 0.0 if lost else end])
        sums += pays
        squares += pays * pays
    mean = sums / paths
    error = np.sqrt((squares / paths - mean**2) / paths)
    discount = math.exp(-RATE * YEARS)
    return mean * discount, error * discount


def main(paths):
    print("strike  European  +-      formula   Asian     +-      barrier   +-")
    took = 0.0
    simulate(1, 10, 100.0, 150.0)  # compiles
    for strike in (90.0, 100.0, 110.0):
        start = time.perf_counter()
        price, error = simulate(7, paths, strike, 150.0)
        took += time.perf_counter() - start
        formula = black_scholes(strike)
        assert abs(price[0] - formula) < 4 * error[0], (price, error, formula)
        assert price[1] < price[0] and price[2] < price[0]
        (a, b, c), (da, db, dc) = price, error
        print(f"{strike:6.0f}  {a:8.3f}  {da:.3f}  {formula:8.3f}  {b:8.3f}  {db:.3f}  {c:8.3f}  {dc:.3f}")
    print(f"3 x {paths} paths of {DAYS} days, {3 * paths * DAYS / took / 1e6:,.0f} million steps a second")
    print("the formula lies within 4 standard errors")


if __name__ == "__main__":
    main(int((sys.argv[1:] or ["200000"])[0]))
