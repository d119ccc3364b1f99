"""A kernel that calls CUDA C: prices of options, whose formula stands in another language.

python examples/cuda_linking.py [number of options]

The source is compiled by clang, or by any C++ compiler where there is no GPU; no CUDA toolkit is needed.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from treadle import cuda, njit

SOURCE = cuda.CUSource(
    """
__device__ double normal(double x) {
    return 0.5 * erfc(-x / sqrt(2.0));
}

// The price of a call by Black and Scholes. Status 1: there is none.
extern "C" __device__ int call_price(double *price, double spot, double strike, double years, double rate, double sigma) {
    if (!(spot > 0 && strike > 0 && years > 0 && sigma > 0))
        return 1;
    double width = sigma * sqrt(years);
    double d1 = (log(spot / strike) + (rate + 0.5 * sigma * sigma) * years) / width;
    *price = spot * normal(d1) - strike * exp(-rate * years) * normal(d1 - width);
    return 0;
}
""",
    name="call_price.cu",
)

call_price = cuda.declare_device(
    "call_price", "float64(float64, float64, float64, float64, float64)", link=SOURCE
)


@cuda.jit
def price_all(spots, strikes, years, rate, sigma, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = call_price(spots[i], strikes[i], years[i], rate, sigma)


@njit
def in_python(spots, strikes, years, rate, sigma):
    """The same formula, to compare with."""
    out = np.empty(spots.size)
    for i in range(spots.size):
        width = sigma * math.sqrt(years[i])
        d1 = (math.log(spots[i] / strikes[i]) + (rate + 0.5 * sigma * sigma) * years[i]) / width
        below = 0.5 * math.erfc(-(d1 - width) / math.sqrt(2.0))
        out[i] = (
            spots[i] * 0.5 * math.erfc(-d1 / math.sqrt(2.0)) - strikes[i] * math.exp(-rate * years[i]) * below
        )
    return out


def main(n: int = 1_000_000) -> None:
    rng = np.random.default_rng(1)
    spots, strikes, years = (rng.uniform(low, high, n) for low, high in ((5, 30), (1, 100), (0.25, 10)))
    prices = np.zeros(n)
    price_all.forall(n)(*(cuda.In(a) for a in (spots, strikes, years)), 0.02, 0.3, cuda.Out(prices))
    print(f"{n} options, {prices.mean():.4f} on average")

    worst = np.abs(prices - in_python(spots, strikes, years, 0.02, 0.3)).max()
    assert worst < 1e-11, worst
    try:
        price_all[1, 1](*(cuda.In(a) for a in (spots, -strikes, years)), 0.02, 0.3, cuda.Out(prices))
        cuda.synchronize()
    except RuntimeError as error:
        print(f"a strike below 0: {error}")
    else:
        raise AssertionError("no status was told")
    print("All prices are as Python has them.")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
