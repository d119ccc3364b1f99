"""``binding`` of the old random numbers: generators by cuRAND's numbers, on treadle.cuda.rand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .cuda import rand
from .cuda.libs import LibraryError as CuRandError

_PSEUDO = {
    "DEFAULT": 100,
    "XORWOW": 101,
    "MRG32K3A": 121,
    "MTGP32": 141,
    "MT19937": 142,
    "PHILOX4_32_10": 161,
}
_QUASI = {"DEFAULT": 200, "SOBOL32": 201, "SCRAMBLED_SOBOL32": 202, "SOBOL64": 203, "SCRAMBLED_SOBOL64": 204}
_KINDS: dict[int, Any] = {
    0: rand.PRNG,
    **dict.fromkeys(_PSEUDO.values(), rand.PRNG),
    **dict.fromkeys(_QUASI.values(), rand.QRNG),
}
_NUMBERS = {
    "CURAND_RNG_TEST": 0,
    **{f"CURAND_RNG_PSEUDO_{name}": number for name, number in _PSEUDO.items()},
    **{f"CURAND_RNG_QUASI_{name}": number for name, number in _QUASI.items()},
    "CURAND_ORDERING_PSEUDO_BEST": 100,
    "CURAND_ORDERING_PSEUDO_DEFAULT": 101,
    "CURAND_ORDERING_PSEUDO_SEEDED": 102,
    "CURAND_ORDERING_QUASI_DEFAULT": 201,
}
globals().update(_NUMBERS)
# The version of cuRAND whose numbers come out.
_VERSION = 10400

__all__ = ["CuRandError", "Generator", "libcurand", *_NUMBERS]  # noqa: PLE0604


class Generator:
    """A generator by cuRAND's number, whose methods fill the first ``num`` items of an array of the device."""

    def __init__(self, rng_type: int = 0) -> None:
        if rng_type not in _KINDS:
            raise ValueError(f"{rng_type!r} is none of cuRAND's generators: CURAND_RNG_PSEUDO_XORWOW, ...")
        self._generator = _KINDS[rng_type](rng_type)

    def set_stream(self, stream: Any) -> None:
        """The stream of what comes."""
        self._generator.stream = stream

    def set_offset(self, offset: int) -> None:
        """How many numbers to leave out."""
        self._generator.offset = offset

    def set_pseudo_random_generator_seed(self, seed: int) -> None:
        """The seed, of pseudo-random generators."""
        self._generator.seed = seed

    def set_quasi_random_generator_dimensions(self, num_dim: int) -> None:
        """How many dimensions, of quasi-random generators."""
        self._generator.ndim = num_dim

    def generate(self, devout: Any, num: int) -> None:
        """Integers without a sign, of 32 bits or, where the generator has such, of 64."""
        self._generator.generate(devout, num)

    def generate_uniform(self, devout: Any, num: int) -> None:
        """Numbers above 0 and up to 1."""
        self._generator.uniform(devout, num)

    def generate_normal(self, devout: Any, num: int, mean: float, stddev: float) -> None:
        """Normal numbers."""
        self._generator.normal(devout, mean, stddev, num)

    def generate_log_normal(self, devout: Any, num: int, mean: float, stddev: float) -> None:
        """Numbers whose logarithms are normal."""
        self._generator.lognormal(devout, mean, stddev, num)

    def generate_poisson(self, devout: Any, num: int, lmbd: float) -> None:
        """Counts, as uint32."""
        self._generator.poisson(devout, lmbd, num)


def libcurand() -> Any:
    """The library, of which programs ask the version; none is needed."""
    return SimpleNamespace(version=_VERSION)
